//! The workflow that a run follows, from the events that pin it.

use serde_json::Value;

use crate::machine::Machine;
use crate::model::{Event, EventKind};

/// The workflow that was pinned last.
pub(crate) fn pinned<'a>(
    events: impl DoubleEndedIterator<Item = &'a Event>,
    warnings: &mut Vec<String>,
) -> Option<Machine> {
    events.rev().find_map(|event| machine_of(event, warnings))
}

/// Whether a run was started with a workflow that has no state machine, so that its steps are not checked.
pub(crate) fn is_free(event: &Event) -> bool {
    match &event.kind {
        EventKind::RunStarted(started) => started.machine.is_null(),
        EventKind::RunForked(forked) => forked.machine.is_null(),
        _ => false,
    }
}

/// The workflow that an event pins.
pub(crate) fn machine_of(event: &Event, warnings: &mut Vec<String>) -> Option<Machine> {
    if is_free(event) {
        return None;
    }
    match Machine::from_value(pinned_value(event)?) {
        Ok(machine) => Some(machine),
        Err(error) => {
            warnings.push(format!("{error}; phases are not checked"));
            None
        }
    }
}

/// The same as the event has it.
pub(in crate::engine) fn pinned_value(event: &Event) -> Option<&Value> {
    match &event.kind {
        EventKind::RunStarted(started) => Some(&started.machine),
        EventKind::RunForked(forked) => Some(&forked.machine),
        EventKind::RunAdopted(adopted) => adopted.machine.as_ref(),
        EventKind::LogRepaired(repair) => repair.machine.as_ref(),
        EventKind::WorkflowAdopted(adopted) => Some(&adopted.machine),
        _ => None,
    }
}
