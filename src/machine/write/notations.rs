//! Writes a machine in the notation that is asked for.

use std::collections::HashMap;

use crate::machine::write::written::WrittenDefinition;
use crate::machine::write::{graph, mermaid, phases};
use crate::machine::{Machine, Notation};
use crate::model::StateName;

/// Writes `machine` in `notation`. `description` is the workflow's description, which a diagram cannot have.
#[must_use]
pub fn write(machine: &Machine, notation: Notation, description: Option<&str>) -> WrittenDefinition {
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
