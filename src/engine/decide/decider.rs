//! What every decision looks at, and what several of them refuse.

use crate::engine::proof::{Leaving, requires};
use crate::engine::refusal::refuse_empty;
use crate::engine::{Caller, Decision, Refusal, RunState, Trail, Undone};
use crate::machine::Machine;
use crate::model::{MissingProof, OwnedState, Skip, StateName, StatusChange};

/// What becomes of a command.
pub type Result<T = Decision> = std::result::Result<T, Refusal>;

/// What a command is decided on: the run's state and workflow, who gives it, and the log.
pub struct Decider<'a> {
    pub(super) state: &'a RunState,
    pub(super) machine: Option<&'a Machine>,
    pub(super) caller: &'a Caller,
    pub(super) trail: &'a dyn Trail,
}

impl<'a> Decider<'a> {
    pub(super) fn owned(&self) -> &'a OwnedState {
        &self.state.document().state
    }

    pub(super) fn refuse_terminal(&self) -> Result<()> {
        let status = self.state.status();
        if status.is_terminal() { Err(Refusal::Terminal { status }) } else { Ok(()) }
    }

    /// Refuses a command to a run that has ended or that another session holds.
    pub(super) fn refuse_ended_or_held(&self) -> Result<()> {
        self.refuse_terminal()?;
        refuse_other_session(self.state, self.caller)
    }

    pub(super) fn change(&self, reason: Option<String>) -> StatusChange {
        StatusChange { from: self.state.status(), reason, skipped: None, session: self.caller.session.clone() }
    }

    pub(super) fn unproved(&self, phase: &StateName, to: Option<&StateName>) -> Result<Vec<MissingProof>> {
        // The log may be long.
        if !requires(self.machine, phase) {
            return Ok(Vec::new());
        }
        self.leaving(phase, to).unproved()
    }

    pub(super) fn leaving<'l>(&'l self, from: &'l StateName, to: Option<&'l StateName>) -> Leaving<'l> {
        Leaving { machine: self.machine, from, to, history: self.trail.history(), trail: self.trail }
    }
}

/// Refuses a caller of another session, unless the session that holds the run is dead. A caller without a session is a
/// person and is not refused.
///
/// # Errors
/// [`Refusal::StaleEpoch`], [`Refusal::NoSuchEpoch`] and [`Refusal::Held`].
pub fn refuse_other_session(state: &RunState, caller: &Caller) -> Result<()> {
    let held = &state.document().state;
    let current = held.epoch;
    match caller.epoch {
        Some(given) if given < current => return Err(Refusal::StaleEpoch { given, current }),
        Some(given) if given > current => return Err(Refusal::NoSuchEpoch { given, current }),
        _ => {}
    }
    match (&held.session, &caller.session) {
        (Some(holder), Some(session)) if holder != session && !caller.holder_dead => {
            Err(Refusal::Held { session: holder.clone(), shown_by: caller.shown_by.clone() })
        }
        _ => Ok(()),
    }
}

/// The phases that are left although their work is not done, or not proved; an error if there are any and the caller gives
/// no reason.
pub(super) fn skipped(
    undone: Vec<Undone>,
    unproved: Vec<MissingProof>,
    reason: Option<String>,
) -> Result<Option<Skip>> {
    refuse_empty(reason.as_deref())?;
    if undone.is_empty() && unproved.is_empty() {
        return Ok(None);
    }
    if let Some(reason) = reason {
        return Ok(Some(Skip { phases: undone.into_iter().map(|one| one.phase).collect(), reason, unproved }));
    }
    // The command that a phase requires is its work, too, and only that settles it.
    if undone.iter().all(|one| unproved.iter().any(|missing| missing.phase == one.phase)) {
        return Err(Refusal::NotProved { missing: unproved, looked: true });
    }
    Err(Refusal::NotDone(undone))
}
