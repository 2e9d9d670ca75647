//! `block`, `unblock`, `complete`, `fail`, `cancel`: changes of a run's status.

use std::time::Duration;

use crate::engine::{Command, Decision, History, Trail};
use crate::model::{EventKind, RunId, SessionId, Timestamp};
use crate::ops::decide::LoadedTrail;
use crate::ops::error::Result;
use crate::ops::flow::Flow;
use crate::ops::journal;
use crate::ops::load::{Loaded, for_writing};
use crate::ops::select::Runs;
use crate::ops::start::SameWork;
use crate::report::StatusReport;
use crate::store::Project;

/// A change of status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusVerb {
    /// Wait for a person.
    Block,
    /// Go on after a block.
    Unblock,
    /// End well.
    Complete,
    /// End badly.
    Fail,
    /// Give up.
    Cancel,
    /// Go on with a run that is over.
    Reopen,
}

/// Whose status to change, and why.
#[derive(Debug, Clone)]
pub struct StatusRequest {
    /// The run; otherwise the session's or the only active one.
    pub run: Option<String>,
    /// What to do with it.
    pub verb: StatusVerb,
    /// Why.
    pub reason: Option<String>,
    /// Why phases whose work is not done may be completed with the run; logged, and shown from then on.
    pub skip_reason: Option<String>,
    /// Whether a run may be reopened while another one about the same work is open.
    pub another: bool,
    /// Who asks.
    pub session: Option<SessionId>,
    /// The epoch under which the caller holds the run.
    pub epoch: Option<u64>,
}

impl Flow {
    /// Changes a run's status; a run that is there already stays as it is.
    ///
    /// # Errors
    /// [`crate::ops::Error::Refused`] when a rule forbids it, [`crate::ops::Error::Store`] when it cannot be written.
    pub fn change_status(&self, request: &StatusRequest) -> Result<StatusReport> {
        let project = self.project()?;
        let caller = self.caller(request.session.clone(), request.epoch)?;
        let now = self.clock.now();
        let run = self.select_to_write(&project, request.run.as_deref(), caller.session.as_ref(), now)?;
        let forget = || {
            let wait = self.lock_wait().unwrap_or_default();
            project.forget_open(&self.lock_request(now, wait));
        };
        if request.verb == StatusVerb::Reopen {
            // Before, since this command may die; and after, since another one may have looked in between.
            forget();
        }
        let mut loaded = for_writing(self, &project, &run, now)?;
        let caller = self.judge_holder(&loaded, caller)?;
        if request.verb == StatusVerb::Reopen && !request.another {
            let document = loaded.state.document();
            self.refuse_second_run(&project, Some(run.id()), &SameWork::of(document))?;
        }
        let reason = request.reason.clone();
        let command = match request.verb {
            StatusVerb::Block => Command::Block { reason },
            StatusVerb::Unblock => Command::Unblock { reason },
            StatusVerb::Complete => Command::Complete { reason, skip: request.skip_reason.clone() },
            StatusVerb::Fail => Command::Fail { reason },
            StatusVerb::Cancel => Command::Cancel { reason },
            StatusVerb::Reopen => Command::Reopen { reason },
        };
        let decision = loaded.decide(self, &project, &caller, command)?;
        let mut changed = false;
        if matches!(decision, Decision::Commit(EventKind::RunCompleted(_))) {
            self.warn_of_early_end(&project, &mut loaded)?;
        }
        if let Decision::Commit(kind) = decision {
            if !matches!(request.verb, StatusVerb::Cancel) {
                self.replace_dead_holder(&mut loaded, &caller, now)?;
            }
            loaded.commit(self, kind, None, now, Vec::new())?;
            changed = true;
        }
        let mut report = report(&loaded, changed);
        let document = loaded.state.document().clone();
        // Others may record while the journal is written.
        drop(loaded);
        if changed && document.state.status.is_terminal() {
            self.remember_end(&project, run.id(), now);
            report.warnings.extend(self.modes_on(&project, run.id()));
        }
        if request.verb == StatusVerb::Reopen {
            forget();
        }
        if changed && (document.state.status.is_terminal() || request.verb == StatusVerb::Reopen) {
            report.warnings.extend(journal::note(&project, &document, document.state.status, now));
        }
        Ok(report)
    }
}

impl Flow {
    /// Keeps the cache of open runs up to date; nothing that goes wrong with it matters.
    pub(crate) fn remember_end(&self, project: &Project, run: &RunId, now: Timestamp) {
        let request = self.lock_request(now, Duration::ZERO);
        if !project.remember_end(&request, run, self.outside(project).as_deref()) {
            let _ = Runs::read_open_and_remember(self, project, now);
        }
    }

    /// Ending before the last phase, or over units that are not done, is the caller's decision, but not a silent one.
    fn warn_of_early_end(&self, project: &Project, loaded: &mut Loaded<'_>) -> Result<()> {
        let units = LoadedTrail::of(loaded).history().map(History::open_workers).unwrap_or_default();
        if !units.is_empty() {
            loaded.warnings.push(format!("completed while these are not done: {}", units.join(", ")));
        }
        let machine = loaded.machine(self, project)?;
        if let (Some(phase), Some(machine)) = (loaded.state.phase(), machine)
            && !machine.is_terminal(phase)
            && !machine.terminal().is_empty()
        {
            let last = machine.terminal().iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            loaded.warnings.push(format!("completed in `{phase}`; the workflow ends in {last}"));
        }
        Ok(())
    }
}

fn report(loaded: &Loaded<'_>, changed: bool) -> StatusReport {
    let state = loaded.state.document();
    StatusReport {
        run_id: state.id.clone(),
        status: state.state.status,
        phase: state.state.current_phase.clone(),
        seq: state.state.last_seq.unwrap_or_default(),
        changed,
        blocked_reason: state.state.blocked_reason.clone(),
        warnings: loaded.warnings.clone(),
    }
}
