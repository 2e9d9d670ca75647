//! `workflow adopt`: moves a run to the current definition of its workflow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalog::CatalogError;
use crate::engine::{Command, Decision};
use crate::machine::Machine;
use crate::model::{
    EventKind, Help, Kind, Problem, RunDocument, RunId, Seq, SessionId, StateName, Suggestion, WorkflowId,
};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::open::select::select_run_to_write;
use crate::runs::workflow::workflow_machine;
use crate::runs::write::required_here::as_project_asks;
use crate::runs::write::transaction::attempts::transact;

/// Which run to move, and to which definition.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdoptRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// A file with the definition; otherwise the workflow is looked up by its name.
    pub from: Option<String>,
    /// The session that calls.
    pub session: Option<SessionId>,
    /// The epoch under which the caller holds the run.
    pub epoch: Option<u64>,
}

/// A run that follows the current definition of its workflow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkflowAdoptReport {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// The current phase.
    pub phase: Option<StateName>,
    /// The position of its last event.
    pub seq: Seq,
    /// Whether anything changed.
    pub changed: bool,
    /// How the two definitions differ, one line each.
    pub differences: Vec<String>,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// The definition that the run is to follow: that of the file `from`, otherwise what its workflow is now.
fn newer(project: &OpenedProject, run: &RunDocument, from: Option<&str>) -> Result<Machine> {
    let Some(from) = from else {
        return match project.catalog().find(run.workflow.as_str()) {
            Ok(found) => Ok(found.machine),
            Err(CatalogError::Unknown { .. }) => {
                let (id, workflow) = (&run.id, &run.workflow);
                let message = format!("the definition of `{workflow}`, which the run {id} follows, is no longer here");
                let help = Help::from(format!(
                    "put it back as .flow/workflows/{workflow}.workflow.yaml, or name its file with --from; \
                     without it the run goes on under the definition that it started with, as "
                ));
                Err(Problem::new(Kind::NotFound, "unknown_workflow", message)
                    .help(help + Suggestion::flow("resume") + " says")
                    .into())
            }
            Err(error) => Err(error.into()),
        };
    };
    let machine = workflow_machine(&project.cx, from, &[])?;
    if *machine.id() != run.workflow {
        let (id, follows) = (machine.id(), &run.workflow);
        return Err(Error::Usage(format!("{from} defines the workflow {id}, and run {} follows {follows}", run.id)));
    }
    Ok(machine)
}

/// Pins the current definition in a run. It must contain the run's current phase. A run that follows it already stays
/// unchanged.
///
/// # Errors
/// [`Error::Usage`] when a file is named that defines another workflow, `unknown_workflow` when its definition is gone,
/// [`Error::Catalog`] when the definition does not compile, [`Error::Refused`] when a rule forbids it,
/// [`Error::Store`] when it cannot be written.
pub fn workflow_adopt(cx: &Context, request: &AdoptRequest) -> Result<WorkflowAdoptReport> {
    let project = cx.project()?;
    let caller = cx.caller(request.session.clone(), request.epoch)?;
    let now = cx.now();
    let run = select_run_to_write(&project, request.run.as_deref(), caller.session.as_ref())?;
    transact(&project, &*run, caller, now, |tx| {
        let newer = newer(&project, tx.state.document(), request.from.as_deref())?;
        let newer = as_project_asks(Some(&project), newer)?;
        let newer = newer.spelled_as(tx.state.document().state.positions());
        let mut differences = Vec::new();
        if let Decision::Commit(kind) = tx.decide(Command::AdoptWorkflow(Box::new(newer)))? {
            if let EventKind::WorkflowAdopted(adopted) = &kind {
                differences.clone_from(&adopted.differences);
            }
            // The claim comes first in the log: it gives the caller the right to the change.
            tx.replace_dead_holder()?;
            tx.append(kind, None)?;
            tx.commit()?;
        }
        let state = tx.state.document();
        Ok(WorkflowAdoptReport {
            run_id: state.id.clone(),
            workflow: state.workflow.clone(),
            phase: state.state.current_phase.clone(),
            seq: state.state.last_seq.unwrap_or_default(),
            changed: !differences.is_empty(),
            differences,
            warnings: tx.warnings.clone(),
        })
    })
}
