//! The current definition of a workflow, for a run whose log does not pin one ([`crate::engine::pinned`]).

use crate::machine::Machine;
use crate::model::RunDocument;
use crate::runs::context::Context;
use crate::store::Project;

/// The current definition of the run's workflow, if it contains the run's phase.
pub(crate) fn catalog_machine(
    cx: &Context,
    project: &Project,
    run: &RunDocument,
    warnings: &mut Vec<String>,
) -> Option<Machine> {
    let found = cx.catalog(Some(project)).find(run.workflow.as_str()).ok();
    let found = found.map(|found| found.machine.spelled_as(run.state.positions()));
    let fits = |machine: &Machine| run.state.current_phase.as_ref().is_none_or(|phase| machine.contains(phase));
    let machine = found.filter(fits);
    warnings.push(match &machine {
        Some(_) => format!("the run pins no workflow; phases are checked against today's {}", run.workflow),
        None => format!("workflow {} does not fit this run; phases are not checked", run.workflow),
    });
    machine
}
