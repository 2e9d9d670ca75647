//! The end of a run whose work is done.

use crate::engine::decide::decider::{Decider, Result, skipped};
use crate::engine::gate_rules::refuse_end;
use crate::engine::leave::{is_undone, refuse_begun, refuse_held};
use crate::engine::past::units::UnitsAlone;
use crate::engine::proof::{phases_ahead, phases_to_prove};
use crate::engine::{Decision, Refusal, Undone};
use crate::model::{EventKind, MissingProof, RunStatus, Skip, StateName, StatusChange};

impl Decider<'_> {
    pub(super) fn complete(&self, reason: Option<String>, skip: Option<String>) -> Result {
        let Self { state, machine, trail, .. } = *self;
        let run = self.owned();
        if state.status() == RunStatus::Completed {
            return Ok(Decision::Already);
        }
        self.refuse_ended_or_held()?;
        if state.status() == RunStatus::Blocked {
            return Err(Refusal::Blocked { reason: run.blocked_reason.clone() });
        }
        if let Some(history) = trail.history() {
            refuse_begun(history)?;
        }
        let ahead = phases_ahead(run, machine);
        refuse_held(state, machine)?;
        refuse_end(run, machine, &ahead, trail)?;
        if run.completed_activities.is_empty() {
            UnitsAlone::check_done(trail.history())?;
        }
        let mut undone = Vec::new();
        if let Some(history) = trail.history() {
            for (phase, work) in history.unsettled() {
                // Where the run can go back to from there does not matter: it is elsewhere.
                undone.push(Undone::new(None, phase, &work).at_end());
            }
            for phase in run.positions() {
                let work = history.work(phase);
                if is_undone(history, machine, &work) {
                    undone.push(Undone::new(machine, phase, &work).at_end());
                }
            }
        }
        // To end before the workflow does is the caller's decision, but not a silent one.
        if let (None, Some(first)) = (&skip, ahead.first())
            && undone.is_empty()
        {
            let mut missing = Vec::new();
            for phase in run.positions() {
                missing.extend(self.unproved(phase, None)?);
            }
            if !missing.is_empty() {
                return Err(Refusal::NotProved { missing, looked: true });
            }
            let last = machine.map_or_else(|| vec![first.clone()], |machine| machine.terminal().to_vec());
            return Err(Refusal::NotAtEnd { phase: run.current_phase.clone(), last });
        }
        let mut skipped = skipped(undone, self.unproved_by_end(&ahead)?, skip.clone())?;
        if let Some(reason) = skip
            && !ahead.is_empty()
        {
            let skip = skipped.get_or_insert_with(|| Skip { phases: Vec::new(), reason, unproved: Vec::new() });
            for phase in ahead {
                if !skip.phases.contains(&phase) {
                    skip.phases.push(phase);
                }
            }
        }
        Ok(Decision::Commit(EventKind::RunCompleted(StatusChange { skipped, ..self.change(reason) })))
    }

    /// What is required of the phases in which a run is completed, and is missing. Phases `ahead` are passed over as a whole.
    fn unproved_by_end(&self, ahead: &[StateName]) -> Result<Vec<MissingProof>> {
        let mut missing = Vec::new();
        if let (Some(machine), Some(history)) = (self.machine, self.trail.history()) {
            missing.extend(history.unproved_behind(machine, self.trail)?);
        }
        for phase in phases_to_prove(self.owned(), self.machine) {
            if !ahead.contains(&phase) {
                missing.extend(self.unproved(&phase, None)?);
            }
        }
        Ok(missing)
    }
}
