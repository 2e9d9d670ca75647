//! A record: the phase it is in, and where it moves the run.

use crate::engine::decide::decider::{Decider, Result, skipped};
use crate::engine::gates::gate_of;
use crate::engine::leave::{has_transition, is_way_back, left_by, open_beside, refuse_at_work, refuse_held, undone};
use crate::engine::past::work::has_phase;
use crate::engine::step_id::step_after;
use crate::engine::{Advance, Decision, GateTurn, Record, Refusal, Undone};
use crate::machine::Machine;
use crate::model::{
    APPROVAL, Activity, ActivityId, ActivityRecorded, EventKind, Gate, GateStatus, MissingProof, RunDocument,
    RunStatus, StateName,
};

impl Decider<'_> {
    pub(super) fn record(&self, record: Record) -> Result {
        let Record { mut activity, advance, skip, settles, evidence, exec, replay, request, number, .. } = record;
        let Self { state, machine, trail, .. } = *self;
        let run = state.document();
        refuse_held(state, machine)?;
        refuse_of_other_run(run, &activity)?;
        let id = activity.id();
        let phase = self.phase_of(&activity);
        let late = advance.is_none() && self.is_late(id.as_str(), &phase);
        let left = if late { Vec::new() } else { self.check_move(&phase)? };
        let advanced_to = advance.map(|advance| next_phase(machine, &phase, advance)).transpose()?;
        if let (RunStatus::Blocked, Some(from)) = (state.status(), state.phase())
            && !late
            && (!run.state.is_in(&phase) || advanced_to.is_some())
        {
            return Err(Refusal::BlockedRun { phase: from.clone(), reason: run.state.blocked_reason.clone() });
        }
        // A record with this id would look like a person's decision.
        if id.as_str() == APPROVAL && gate_of(&run.state.gates, &phase).is_some() {
            return Err(Refusal::NeedsApproval { phases: vec![phase], turn: GateTurn::Now });
        }
        self.refuse_settling(&settles, &activity, &phase)?;
        refuse_at_work(&run.state, &left_by(&left, &phase, advanced_to.as_ref()), trail)?;
        // All gates before any phase that is not done: a reason can skip work, but no gate.
        for from in &left {
            self.leaving(from, Some(&phase)).refuse(&run.state.gates)?;
        }
        let mut unfinished: Vec<_> = left.iter().filter_map(|from| undone(machine, from, &phase, trail)).collect();
        if let Some(to) = advanced_to.as_ref().filter(|to| **to != phase) {
            self.refuse_advance(&phase, to, &activity)?;
            unfinished.extend(self.undone_by_record(&phase, to, &activity, &settles));
        }
        let unproved = self.unproved_by_record(&left, &phase, advanced_to.as_ref())?;
        let skipped = skipped(unfinished, unproved, skip)?;
        let (advanced_to, beside) = if late {
            // The outcome of work that the run has left does not move it.
            (state.phase().cloned(), run.state.other_phases.clone())
        } else {
            let mut beside: Vec<_> = run.state.positions().cloned().collect();
            beside.retain(|here| advanced_to.as_ref() != Some(here) && *here != phase && !left.contains(here));
            (advanced_to, beside)
        };
        activity.fill_place(&run.id, &run.workflow, &phase);
        let session = self.caller.session.clone();
        let step = step_after(self.owned(), &phase, &activity, late);
        Ok(Decision::Commit(EventKind::ActivityRecorded(Box::new(ActivityRecorded {
            advanced_to,
            beside,
            late,
            skipped,
            settles,
            step,
            session,
            request,
            evidence,
            exec,
            replay,
            ..ActivityRecorded::new(number, phase, activity)
        }))))
    }

    /// What is not done in `phase` when this record in it leads on to `to`: its own work, or what is open beside it.
    fn undone_by_record(
        &self,
        phase: &StateName,
        to: &StateName,
        activity: &Activity,
        settles: &[ActivityId],
    ) -> Option<Undone> {
        let Self { state, machine, trail, .. } = *self;
        if is_way_back(machine, phase, to) {
            return None;
        }
        let (id, status) = (activity.id(), activity.status());
        let undone = if !status.is_completed() {
            Undone::of_record(machine, phase, id.as_str(), status)
        } else if state.document().state.is_in(phase) {
            open_beside(trail.history()?, machine, phase, id.as_str(), settles)?
        } else {
            return None;
        };
        Some(undone.before(to, machine))
    }

    /// What is required of the phases that a record in `phase` leaves, and is missing.
    fn unproved_by_record(
        &self,
        left: &[StateName],
        phase: &StateName,
        advanced_to: Option<&StateName>,
    ) -> Result<Vec<MissingProof>> {
        let mut missing = Vec::new();
        for from in left {
            missing.extend(self.unproved(from, Some(phase))?);
        }
        if let Some(to) = advanced_to.filter(|to| *to != phase) {
            missing.extend(self.unproved(phase, Some(to))?);
        }
        Ok(missing)
    }

    /// The phase of a record: the one that it names, otherwise the one in which its work began, otherwise the current
    /// one.
    fn phase_of(&self, activity: &Activity) -> StateName {
        if let Some(phase) = activity.phase() {
            return phase;
        }
        let id = activity.id();
        // The log is read only for an id that is open: it may be long.
        if self.owned().open_activities.contains(id.as_str())
            && let Some(history) = self.trail.history()
            && let Some(begun) = history.begun_in(id.as_str())
        {
            return begun.clone();
        }
        match (self.state.phase(), self.machine) {
            (Some(phase), _) => phase.clone(),
            (None, Some(machine)) => machine.initial()[0].clone(),
            (None, None) => StateName::unknown(),
        }
    }

    /// Refuses to leave the gate `phase` with the record `activity`: the record is newer than any decision there. A
    /// gate that does not wait lets the run go back.
    fn refuse_advance(&self, phase: &StateName, to: &StateName, activity: &Activity) -> Result<()> {
        if gate_of(&self.owned().gates, phase).is_none() {
            return Ok(());
        }
        // What passed may be what the gate waits for.
        if activity.status().is_completed() {
            let refusal = Refusal::NeedsApproval { phases: vec![phase.clone()], turn: GateTurn::AfterRecord };
            return Err(self.leaving(phase, Some(to)).command_first(refusal));
        }
        let closed = [Gate { phase: phase.clone(), status: GateStatus::Closed }];
        self.leaving(phase, Some(to)).refuse(&closed)
    }

    /// Checks that a record can settle these ids: its work is done, and they failed or are blocked in the same phase
    /// and round.
    fn refuse_settling(&self, settles: &[ActivityId], activity: &Activity, phase: &StateName) -> Result<()> {
        if settles.is_empty() {
            return Ok(());
        }
        let status = activity.status();
        if !status.is_completed() {
            return Err(Refusal::SettlesUndone { status });
        }
        let open = self.trail.history().map(|history| history.work(phase).open).unwrap_or_default();
        for id in settles {
            if !open.iter().any(|open| open.id == id.as_str() && !open.status.is_completed()) {
                return Err(Refusal::NothingToSettle { id: id.to_string(), phase: phase.clone() });
            }
        }
        Ok(())
    }

    /// Whether a record belongs to a phase that the run has left: it is the outcome of work that began there, or
    /// repeats work that is not done there, or a command that is still required. Such a record does not move the run.
    fn is_late(&self, id: &str, phase: &StateName) -> bool {
        let run = self.owned();
        if run.current_phase.is_none() || run.is_in(phase) {
            return false;
        }
        let Some(history) = self.trail.history() else { return false };
        if history.begun_in(id) == Some(phase) || has_phase(&history.undone_behind(), phase) {
            return true;
        }
        // If a transition leads to the phase, the run enters it again for another round instead.
        let Some(machine) = self.machine else { return false };
        let lacks_work = has_phase(&history.unsettled(), phase) || history.is_required_behind(machine, phase);
        lacks_work && !run.positions().any(|here| has_transition(machine, here, phase))
    }

    /// Checks that the run is in `to` or one transition away from it. Returns the phases that the run leaves.
    fn check_move(&self, to: &StateName) -> Result<Vec<StateName>> {
        let run = self.owned();
        if run.is_in(to) {
            return Ok(Vec::new());
        }
        let mut left: Vec<_> = run.positions().cloned().collect();
        let Some(machine) = self.machine else { return Ok(left) };
        if !machine.contains(to) {
            return Err(Refusal::unknown_phase(machine, to));
        }
        left.retain(|from| has_transition(machine, from, to));
        match run.positions().next() {
            Some(_) if !left.is_empty() => Ok(left),
            Some(from) => {
                let choices = machine.next_of(from);
                Err(Refusal::InvalidTransition { from: from.clone(), to: to.clone(), choices })
            }
            None if machine.initial().contains(to) => Ok(left),
            None => Err(Refusal::NotBegun { phase: to.clone(), first: machine.initial().to_vec() }),
        }
    }
}

/// Refuses a document that says it is of another run or workflow.
fn refuse_of_other_run(run: &RunDocument, activity: &Activity) -> Result<()> {
    let own = [("run", run.id.as_str(), activity.run_id()), ("workflow", run.workflow.as_str(), activity.workflow())];
    for (what, own, found) in own {
        if let Some(found) = found.filter(|&found| found != own) {
            return Err(Refusal::mismatch(what, own, found));
        }
    }
    Ok(())
}

fn next_phase(machine: Option<&Machine>, phase: &StateName, advance: Advance) -> Result<StateName> {
    let Some(machine) = machine else {
        return match advance {
            Advance::To(to) => Ok(to),
            Advance::Next => Err(Refusal::NextUnknown { phase: phase.clone() }),
        };
    };
    let choices = machine.next_of(phase);
    match advance {
        Advance::To(to) if choices.contains(&to) => Ok(to),
        Advance::To(to) if !machine.contains(&to) => Err(Refusal::unknown_phase(machine, &to)),
        Advance::To(to) => Err(Refusal::InvalidTransition { from: phase.clone(), to, choices }),
        Advance::Next => match machine.usual_next(phase) {
            Some(next) => Ok(next),
            None if machine.ahead_of(phase).is_empty() => Err(Refusal::NoNextPhase { phase: phase.clone() }),
            None => Err(Refusal::AmbiguousNext { phase: phase.clone(), choices }),
        },
    }
}
