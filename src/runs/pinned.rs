//! The workflow that a run follows: the one that its events pin, or today's where they pin none.

use crate::machine::Machine;
use crate::model::{Event, EventKind, RunDocument};
use crate::runs::context::Flow;
use crate::store::Project;

/// Today's definition of the run's workflow, when it knows the run's phase.
pub(crate) fn catalog_machine(
    flow: &Flow,
    project: &Project,
    run: &RunDocument,
    warnings: &mut Vec<String>,
) -> Option<Machine> {
    let found = flow.catalog(Some(project)).find(run.workflow.as_str()).ok();
    let found = found.map(|found| found.machine.spelled_as(run.state.positions()));
    let fits = |machine: &Machine| run.state.current_phase.as_ref().is_none_or(|phase| machine.contains(phase));
    let machine = found.filter(fits);
    warnings.push(match &machine {
        Some(_) => format!("the run pins no workflow; phases are checked against today's {}", run.workflow),
        None => format!("workflow {} does not fit this run; phases are not checked", run.workflow),
    });
    machine
}

/// The workflow that a run's events pin: the one that was pinned last.
pub(crate) fn pinned<'a>(
    events: impl DoubleEndedIterator<Item = &'a Event>,
    warnings: &mut Vec<String>,
) -> Option<Machine> {
    events.rev().find_map(|event| machine_of(event, warnings))
}

/// Whether a run was started with a workflow that has no state machine, so that its steps are free.
pub(crate) fn is_free(event: &Event) -> bool {
    matches!(&event.kind, EventKind::RunStarted(started) if started.machine.is_null())
}

/// The workflow that an event pins.
pub(crate) fn machine_of(event: &Event, warnings: &mut Vec<String>) -> Option<Machine> {
    if is_free(event) {
        return None;
    }
    let pinned = match &event.kind {
        EventKind::RunStarted(started) => Some(&started.machine),
        EventKind::RunAdopted(adopted) => adopted.machine.as_ref(),
        EventKind::LogRepaired(repair) => repair.machine.as_ref(),
        EventKind::WorkflowAdopted(adopted) => Some(&adopted.machine),
        _ => None,
    }?;
    match Machine::from_value(pinned) {
        Ok(machine) => Some(machine),
        Err(error) => {
            warnings.push(format!("{error}; phases are not checked"));
            None
        }
    }
}
