//! Checks that every type of state has a command, and that every command has a state.

use crate::drive::agent::{Registry, RegistryError};
use crate::drive::report::DriveRequest;
use crate::machine::{Machine, State};
use crate::model::StateName;
use crate::runs::{self, Error, Result};

/// Warnings about commands for types that no state has: a typo, or a script for several graphs.
pub(super) fn unused(machine: &Machine, request: &DriveRequest) -> Vec<String> {
    // States of a diagram have no type of their own.
    let kinds: Vec<_> = machine.states().iter().map(|state| state.kind.as_deref().unwrap_or(State::USUAL)).collect();
    let mut warnings = Vec::new();
    for (kind, _) in &request.on {
        if kinds.contains(&kind.as_str()) {
            continue;
        }
        let meant = match crate::codec::similar(kind, kinds.iter().copied()) {
            Some(meant) => format!("; did you mean `{meant}`?"),
            None => String::new(),
        };
        warnings.push(format!("--on {kind}: no state of the graph has this type{meant}"));
    }
    warnings
}

/// Refuses a graph with states that have no command. The error names all of their types.
pub(super) fn unhandled(machine: &Machine, request: &DriveRequest) -> Result<()> {
    let usual = Registry::new();
    let mut open: Vec<(&str, &StateName)> = Vec::new();
    for state in machine.states() {
        let kind = state.kind.as_deref().unwrap_or(State::USUAL);
        let is_handled = usual.knows(kind)
            || request.types.iter().any(|known| known == kind)
            || request.on.iter().any(|(known, _)| known == kind);
        if !is_handled && open.iter().all(|(known, _)| *known != kind) {
            open.push((kind, &state.name));
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    let types = open.iter().map(|(kind, state)| format!("`{kind}` (state `{state}`)")).collect::<Vec<_>>().join(", ");
    let options = open.iter().map(|(kind, _)| format!("--on {kind}='COMMAND'")).collect::<Vec<_>>().join(" ");
    Err(Error::Usage(format!(
        "there is no command for states of the type {types}: give one for each with {options}, or leave a type to a person \
         with --type TYPE"
    )))
}

pub(super) fn missing(error: RegistryError) -> runs::Error {
    match &error {
        RegistryError::Missing { .. } => Error::Usage(error.to_string()),
        RegistryError::Twice { .. } => Error::Usage(format!("{error}; --on names it twice")),
    }
}
