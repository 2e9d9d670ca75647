//! `block`, `unblock`, `complete`, `fail`, `cancel`: changes of a run's status.

use std::time::Duration;

use crate::engine::{Command, Decision, History, Refusal, decide};
use crate::model::{ActivityStatus, RunId, SessionId, Timestamp};
use crate::ops::error::{Error, Result};
use crate::ops::flow::Flow;
use crate::ops::journal;
use crate::ops::load::{Loaded, for_writing};
use crate::ops::select::Runs;
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
    /// Who asks.
    pub session: Option<SessionId>,
    /// The epoch under which the caller holds the run.
    pub epoch: Option<u64>,
}

impl Flow {
    /// Changes a run's status; a run that is there already stays as it is.
    ///
    /// # Errors
    /// [`Error::Refused`] when a rule forbids it, [`Error::Store`] when it cannot be written.
    pub fn change_status(&self, request: &StatusRequest) -> Result<StatusReport> {
        let project = self.project()?;
        let caller = self.caller(request.session.clone(), request.epoch)?;
        let now = self.clock.now();
        let run = self.select_to_write(&project, request.run.as_deref(), caller.session.as_ref(), now)?;
        let mut loaded = for_writing(self, &project, &run, now)?;
        let caller = self.judge_holder(&loaded, caller)?;
        let reason = request.reason.clone();
        let command = match request.verb {
            StatusVerb::Block => Command::Block { reason },
            StatusVerb::Unblock => Command::Unblock { reason },
            StatusVerb::Complete => Command::Complete { reason },
            StatusVerb::Fail => Command::Fail { reason },
            StatusVerb::Cancel => Command::Cancel { reason },
        };
        let refused = |refusal| Error::Refused { run: run.id().clone(), refusal };
        if request.verb == StatusVerb::Complete && !loaded.state.status().is_terminal() {
            self.check_completion(&project, &mut loaded)?;
        }
        let decision = decide(&loaded.state, None, &caller, command).map_err(refused)?;
        let mut changed = false;
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

    /// Completing a run whose begun work has no known outcome would hide that work; ending before the last phase is the
    /// caller's decision, but not a silent one.
    fn check_completion(&self, project: &Project, loaded: &mut Loaded<'_>) -> Result<()> {
        let state = &loaded.state.document().state;
        let ids: Vec<_> = state.running_steps().map(ToString::to_string).collect();
        if !ids.is_empty() {
            return Err(Error::Refused { run: loaded.state.id().clone(), refusal: Refusal::InDoubt { ids } });
        }
        if !state.open_activities.is_empty()
            && let Some(history) = History::fold(loaded.locked.read_log()?.events())
        {
            let latest = history.latest();
            let ids = latest.iter().filter(|attempt| attempt.status == ActivityStatus::Running);
            let ids: Vec<_> = ids.map(|attempt| attempt.id.clone()).collect();
            if !ids.is_empty() {
                return Err(Error::Refused { run: loaded.state.id().clone(), refusal: Refusal::InDoubt { ids } });
            }
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
