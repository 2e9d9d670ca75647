//! What the writers of all notations share: their answer, and what a notation cannot say.

use serde_json::Value;

use crate::machine::Machine;
use crate::model::{StateName, counted};

/// A definition made from a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenDefinition {
    /// The definition.
    pub text: String,
    /// What the definition lacks compared with the machine, a sentence fragment for each.
    pub losses: Vec<String>,
}

/// Reports that the notation has only one initial state.
pub(super) fn several_initial(machine: &Machine, losses: &mut Vec<String>) {
    for name in &machine.initial()[1..] {
        losses.push(format!("runs can no longer begin in `{name}`: there is one initial state"));
    }
}

/// Reports that the notation has no labels of transitions.
pub(super) fn labels(machine: &Machine, losses: &mut Vec<String>) {
    let labelled = machine.transitions().iter().filter(|one| one.label.is_some()).count();
    if labelled > 0 {
        losses.push(format!("the labels of {}", counted(labelled, "transition")));
    }
    let targets: usize = machine.states().iter().map(|state| machine.next_of(&state.name).len()).sum();
    if targets < machine.transitions().len() {
        losses.push("transitions that differ by their label only are one".to_owned());
    }
}

/// What a state requires, as all notations write it; `None` if it is nothing.
pub(super) fn requires_of(machine: &Machine, state: &StateName) -> Option<Value> {
    let of_state = machine.requires().iter().filter(|one| one.state == *state);
    let required: Vec<Value> = of_state.map(|one| one.written()).collect();
    if required.is_empty() { None } else { Some(Value::Array(required)) }
}
