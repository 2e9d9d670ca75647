//! `block`, `unblock`, `complete`, `fail`, `cancel`: changes of a run's status.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{Command, Decision, History, Trail};
use crate::model::{EventKind, RunId, RunStatus, Seq, SessionId, StateName, Timestamp};
use crate::runs::context::Flow;
use crate::runs::decide::LoadedTrail;
use crate::runs::error::Result;
use crate::runs::journal;
use crate::runs::load::{Loaded, for_writing};
use crate::runs::select::Runs;
use crate::runs::start::SameWork;
use crate::store::Project;

/// A change of status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// What to do with it.
    pub verb: StatusVerb,
    /// Why.
    pub reason: Option<String>,
    /// Why phases whose work is not done may be completed with the run; logged, and shown from then on.
    pub skip_reason: Option<String>,
    /// Whether a run may be reopened while another one about the same work is open.
    #[serde(default)]
    pub another: bool,
    /// Who asks.
    pub session: Option<SessionId>,
    /// The epoch under which the caller holds the run.
    pub epoch: Option<u64>,
}

/// A run whose status was to change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StatusReport {
    /// The run.
    pub run_id: RunId,
    /// Its status now.
    pub status: RunStatus,
    /// Where it stands.
    pub phase: Option<StateName>,
    /// Its latest event.
    pub seq: Seq,
    /// Whether anything was written; `false` when it was so already.
    pub changed: bool,
    /// Why it is blocked.
    pub blocked_reason: Option<String>,
    /// What went wrong beside the work itself.
    pub warnings: Vec<String>,
}

impl Flow {
    /// Changes a run's status; a run that is there already stays as it is.
    ///
    /// # Errors
    /// [`crate::runs::Error::Refused`] when a rule forbids it, [`crate::runs::Error::Store`] when it cannot be written.
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
            let told = self.observers.iter().flat_map(|observer| observer.run_ended(self, &project, run.id()));
            report.warnings.extend(told);
        }
        if request.verb == StatusVerb::Reopen {
            forget();
        }
        if changed && (document.state.status.is_terminal() || request.verb == StatusVerb::Reopen) {
            report.warnings.extend(journal::note(&*self.disk, &project, &document, now));
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
