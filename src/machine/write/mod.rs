//! A machine written as a definition, in any notation, as far as the notation can say it.

mod graph;
mod mermaid;
mod phases;
mod picture;

use crate::machine::{Machine, Notation};

pub use picture::picture;

/// A definition that was made of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The definition.
    pub text: String,
    /// What it does not say of the machine, a sentence fragment each.
    pub losses: Vec<String>,
}

/// Writes `machine` in `notation`; `description` is what the workflow is for, which a diagram does not say.
#[must_use]
pub fn write(machine: &Machine, notation: Notation, description: Option<&str>) -> Written {
    match notation {
        Notation::Mermaid => mermaid::write(machine),
        Notation::Graph => graph::write(machine, description),
        Notation::Phases => phases::write(machine, description),
    }
}

/// A number of things, for people.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Says that a notation keeps only one initial state.
fn several_initial(machine: &Machine, losses: &mut Vec<String>) {
    for name in &machine.initial()[1..] {
        losses.push(format!("runs cannot begin in `{name}` any more: there is one initial state"));
    }
}

/// Says that a notation has no labels of transitions.
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
