//! Writes a machine as a definition in any notation.

mod graph;
mod mermaid;
mod phases;
mod picture;

use std::collections::HashMap;

use crate::machine::{Machine, Notation};
use crate::model::StateName;

pub use picture::picture;

/// A definition made from a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The definition.
    pub text: String,
    /// What the definition lacks compared with the machine, a sentence fragment for each.
    pub losses: Vec<String>,
}

/// Writes `machine` in `notation`. `description` is the workflow's description, which a diagram cannot have.
#[must_use]
pub fn write(machine: &Machine, notation: Notation, description: Option<&str>) -> Written {
    match notation {
        Notation::Mermaid => mermaid::write(machine),
        Notation::Graph => graph::write(machine, description),
        Notation::Phases => phases::write(machine, description),
    }
}

/// Writes `machine` as a Mermaid diagram in which these states have classes. The caller adds a `classDef` for each class.
#[must_use]
pub fn mermaid_with_classes(machine: &Machine, classes: &HashMap<StateName, &str>) -> String {
    mermaid::write_with(machine, classes).text
}

/// A number of things, for messages.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Reports that the notation has only one initial state.
fn several_initial(machine: &Machine, losses: &mut Vec<String>) {
    for name in &machine.initial()[1..] {
        losses.push(format!("runs cannot begin in `{name}` any more: there is one initial state"));
    }
}

/// Reports that the notation has no labels of transitions.
fn labels(machine: &Machine, losses: &mut Vec<String>) {
    let labelled = machine.transitions().iter().filter(|one| one.label.is_some()).count();
    if labelled > 0 {
        losses.push(format!("the labels of {}", counted(labelled, "transition")));
    }
    let doubled = |name| machine.next_of(name).len() < machine.successors(name).count();
    let doubled = machine.states().iter().any(|state| doubled(&state.name));
    if doubled {
        losses.push("transitions that differ by their label only are one".to_owned());
    }
}

#[cfg(test)]
mod tests;
