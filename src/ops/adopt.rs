//! `workflow adopt`: a run moves over to today's definition of its workflow.

use crate::engine::{Command, Decision};
use crate::model::{EventKind, SessionId};
use crate::ops::error::Result;
use crate::ops::flow::Flow;
use crate::ops::load::for_writing;
use crate::report::WorkflowAdoptReport;

/// Which run moves over.
#[derive(Debug, Clone, Default)]
pub struct AdoptRequest {
    /// The run; otherwise the session's or the only active one.
    pub run: Option<String>,
    /// Who asks.
    pub session: Option<SessionId>,
    /// The epoch under which the caller holds the run.
    pub epoch: Option<u64>,
}

impl Flow {
    /// Pins today's definition in a run, whose position has to exist in it; a run that follows it already stays as it is.
    ///
    /// # Errors
    /// [`crate::ops::Error::Catalog`] when the definition is gone or does not compile, [`crate::ops::Error::Refused`] when
    /// a rule forbids it, [`crate::ops::Error::Store`] when it cannot be written.
    pub fn workflow_adopt(&self, request: &AdoptRequest) -> Result<WorkflowAdoptReport> {
        let project = self.project()?;
        let caller = self.caller(request.session.clone(), request.epoch)?;
        let now = self.clock.now();
        let run = self.select_to_write(&project, request.run.as_deref(), caller.session.as_ref(), now)?;
        let mut loaded = for_writing(self, &project, &run, now)?;
        let caller = self.judge_holder(&loaded, caller)?;
        let newer = self.catalog(Some(&project)).find(loaded.state.document().workflow.as_str())?.machine;
        let command = Command::AdoptWorkflow(Box::new(newer));
        let decision = loaded.decide(self, &project, &caller, command)?;
        let mut differences = Vec::new();
        if let Decision::Commit(kind) = decision {
            if let EventKind::WorkflowAdopted(adopted) = &kind {
                differences.clone_from(&adopted.differences);
            }
            self.replace_dead_holder(&mut loaded, &caller, now)?;
            loaded.commit(self, kind, None, now, Vec::new())?;
        }
        let state = loaded.state.document();
        Ok(WorkflowAdoptReport {
            run_id: state.id.clone(),
            workflow: state.workflow.clone(),
            phase: state.state.current_phase.clone(),
            seq: state.state.last_seq.unwrap_or_default(),
            changed: !differences.is_empty(),
            differences,
            warnings: loaded.warnings.clone(),
        })
    }
}
