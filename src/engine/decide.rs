//! Decides whether a command is allowed, and which event it becomes.

mod complete;
pub(super) mod decider;
mod record;

use crate::engine::approve::decide_at_gate;
use crate::engine::decide::decider::{Decider, Result, refuse_other_session};
use crate::engine::gate_rules::{bypassed, is_doubtful};
use crate::engine::leave::refuse_of_interview;
use crate::engine::refusal::{instead_of, needed};
use crate::engine::{Caller, Claim, Command, Decision, Refusal, RunState, Trail, held_by};
use crate::machine::{Difference, Machine};
use crate::model::{EventKind, RunClaimed, RunStatus, SESSION_ENDED, SessionEnded, WorkflowAdopted};

/// Decides on `command`. `machine` is the run's pinned workflow; if it is `None` because the workflow is unknown,
/// phases are not checked. It may be `None` as well for a command that does not [need](asks_workflow) it. `trail` is
/// asked only if a phase is left or the run is completed.
///
/// # Errors
/// A [`Refusal`] that names the rule. The result depends only on the arguments.
pub fn decide(
    state: &RunState,
    machine: Option<&Machine>,
    caller: &Caller,
    command: Command,
    trail: &dyn Trail,
) -> Result {
    let decider = Decider { state, machine, caller, trail };
    match command {
        Command::Claim(claim) => decider.claim(claim),
        // Anyone may cancel a run, even one that a session holds.
        Command::Cancel { reason } => decider.end(RunStatus::Cancelled, reason),
        Command::EndSession { reason } => Ok(decider.end_session(reason)),
        Command::Record(record) => {
            decider.refuse_ended_or_held()?;
            if !record.of_interview {
                refuse_of_interview(state.document(), trail, &record.activity)?;
            }
            decider.record(*record)
        }
        Command::Decide(decision) => {
            // An edit may say of a run that is past a gate that it is completed: a person still decides there.
            if state.status() != RunStatus::Completed || held_by(state, machine).is_empty() {
                decider.refuse_terminal()?;
            }
            refuse_other_session(state, caller)?;
            decide_at_gate(state, machine, *decision, trail)
        }
        Command::AdoptWorkflow(newer) => {
            decider.refuse_ended_or_held()?;
            decider.adopt_workflow(&newer)
        }
        Command::Block { reason } => {
            decider.refuse_ended_or_held()?;
            decider.block(reason)
        }
        Command::Unblock { reason } => match state.status() {
            RunStatus::Blocked => {
                refuse_other_session(state, caller)?;
                Ok(Decision::Commit(EventKind::RunUnblocked(decider.change(reason))))
            }
            RunStatus::Active => Ok(Decision::Already),
            status => Err(Refusal::NotBlocked { status }),
        },
        Command::Complete { reason, skip } => decider.complete(reason, skip),
        Command::Reopen { reason } => {
            if !state.status().is_terminal() {
                return Ok(Decision::Already);
            }
            let reason = Some(needed(reason)?);
            Ok(Decision::Commit(EventKind::RunReopened(decider.change(reason))))
        }
        Command::Fail { reason } => {
            let reason = Some(needed(reason)?);
            decider.end(RunStatus::Failed, reason)
        }
    }
}

/// Whether [`decide`] needs the run's workflow for `command`: to adopt another workflow, to complete the run, and for a
/// record that is not in the current phase or moves the run.
#[must_use]
pub fn asks_workflow(state: &RunState, command: &Command) -> bool {
    match command {
        Command::Record(record) => {
            let phase = record.activity.phase();
            let elsewhere = phase.is_some() && phase.as_ref() != state.phase();
            state.phase().is_none() || elsewhere || record.advance.is_some() || is_doubtful(state)
        }
        Command::Decide(_) | Command::AdoptWorkflow(_) | Command::Complete { .. } => true,
        _ => false,
    }
}

impl Decider<'_> {
    fn adopt_workflow(&self, newer: &Machine) -> Result {
        let run = self.state.document();
        if newer.id() != &run.workflow {
            return Err(Refusal::mismatch("workflow", run.workflow.as_str(), newer.id().as_str()));
        }
        if let Some(phase) = run.state.positions().find(|phase| !newer.contains(phase)) {
            let (known, suggestion) = instead_of(phase, newer);
            return Err(Refusal::PositionGone { phase: phase.clone(), known, suggestion });
        }
        let differences = match self.machine {
            Some(pinned) => pinned.changes(newer),
            None => Vec::new(),
        };
        // What differs from an unknown definition is not known, so then the run adopts this one.
        if self.machine.is_some() && differences.is_empty() {
            return Ok(Decision::Already);
        }
        Ok(Decision::Commit(EventKind::WorkflowAdopted(Box::new(WorkflowAdopted {
            differences: differences.iter().map(Difference::to_string).collect(),
            bypassed: bypassed(&run.state.gates, self.machine, newer),
            session: self.caller.session.clone(),
            machine: newer.to_value(),
        }))))
    }

    fn block(&self, reason: Option<String>) -> Result {
        let reason = needed(reason)?;
        let same = self.state.status() == RunStatus::Blocked
            && self.owned().blocked_reason.as_deref() == Some(reason.as_str());
        if same {
            return Ok(Decision::Already);
        }
        Ok(Decision::Commit(EventKind::RunBlocked(self.change(Some(reason)))))
    }

    fn end(&self, to: RunStatus, reason: Option<String>) -> Result {
        if self.state.status() == to {
            return Ok(Decision::Already);
        }
        self.refuse_terminal()?;
        let change = self.change(reason);
        if to == RunStatus::Cancelled {
            return Ok(Decision::Commit(EventKind::RunCancelled(change)));
        }
        refuse_other_session(self.state, self.caller)?;
        Ok(Decision::Commit(EventKind::RunFailed(change)))
    }

    fn end_session(&self, reason: Option<String>) -> Decision {
        let held = self.owned();
        let mine = held.session.is_none() || held.session == self.caller.session;
        let marked = held.session.is_none() && held.blocked_reason.as_deref() == Some(SESSION_ENDED);
        if self.state.status() != RunStatus::Active || !mine || marked {
            return Decision::Already;
        }
        Decision::Commit(EventKind::SessionEnded(SessionEnded { session: held.session.clone(), reason }))
    }

    fn claim(&self, claim: Claim) -> Result {
        self.refuse_terminal()?;
        let (held, caller) = (self.owned(), self.caller);
        let same = held.session == caller.session;
        if same && held.session.is_some() && !claim.take_over {
            return Ok(Decision::Already);
        }
        let rival = if same { None } else { held.session.as_ref() };
        if !claim.take_over
            && !caller.holder_dead
            && let Some(session) = rival
        {
            // In doubt a holder counts as alive: two sessions in one run are worse than one question to a person.
            return Err(Refusal::Held { session: session.clone(), shown_by: caller.shown_by.clone() });
        }
        Ok(Decision::Commit(EventKind::RunClaimed(RunClaimed {
            session: caller.session.clone(),
            epoch: held.epoch + 1,
            from: held.session.clone(),
            holder: claim.holder,
            // Taking what a dead session held takes nothing from anyone.
            took_over: claim.take_over && rival.is_some() && !caller.holder_dead,
        })))
    }
}
