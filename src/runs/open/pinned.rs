//! The current definition of a workflow, for a run whose log does not pin one ([`crate::engine::pinned`]).

use crate::catalog::CatalogError;
use crate::machine::Machine;
use crate::model::RunDocument;
use crate::runs::context::OpenedProject;

/// The current definition of the run's workflow, if it contains the run's phase.
pub(crate) fn catalog_machine(
    project: &OpenedProject,
    run: &RunDocument,
    warnings: &mut Vec<String>,
) -> Option<Machine> {
    let found = project.catalog().find(run.workflow.as_str());
    if let Err(CatalogError::Unknown { .. }) = found {
        warnings.push(format!("there is no workflow {}; phases are not checked", run.workflow));
        return None;
    }
    if let Ok(found) = found {
        let machine = found.machine.spelled_as(run.state.positions());
        if run.state.current_phase.as_ref().is_none_or(|phase| machine.contains(phase)) {
            warnings.push(format!("the run pins no workflow; phases are checked against today's {}", run.workflow));
            return Some(machine);
        }
    }
    // A definition without the run's phase would refuse every record.
    warnings.push(format!("workflow {} does not fit this run; phases are not checked", run.workflow));
    None
}
