//! Decides whether a command is allowed, and which event it becomes.

use crate::engine::approve::decide_at_gate;
use crate::engine::gate_rules::{bypassed, command_first, is_doubtful, refuse_end, refuse_leaving};
use crate::engine::gates::gate_of;
use crate::engine::leave::{
    has_transition, is_undone, is_way_back, left_by, open_beside, refuse_at_work, refuse_begun, refuse_held,
    refuse_of_interview, undone,
};
use crate::engine::past::units::UnitsAlone;
use crate::engine::past::work::has_phase;
use crate::engine::proof::{phases_ahead, phases_to_prove, requires, unproved};
use crate::engine::refusal::{instead_of, needed, refuse_empty};
use crate::engine::step_id::step_after;
use crate::engine::{
    Advance, Caller, Claim, Command, Decision, GateTurn, Record, Refusal, RunState, Trail, Undone, held_by,
};
use crate::machine::{Difference, Machine};
use crate::model::{
    APPROVAL, Activity, ActivityId, ActivityRecorded, EventKind, Gate, GateStatus, Owned, RunClaimed, RunDocument,
    RunStatus, SESSION_ENDED, SessionEnded, Skip, StateName, StatusChange, Unproved, WorkflowAdopted,
};

type Result<T = Decision> = std::result::Result<T, Refusal>;

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

/// What a command is decided on: the run's state and workflow, who gives it, and the log.
struct Decider<'a> {
    state: &'a RunState,
    machine: Option<&'a Machine>,
    caller: &'a Caller,
    trail: &'a dyn Trail,
}

impl<'a> Decider<'a> {
    fn owned(&self) -> &'a Owned {
        &self.state.document().state
    }

    fn refuse_terminal(&self) -> Result<()> {
        let status = self.state.status();
        if status.is_terminal() { Err(Refusal::Terminal { status }) } else { Ok(()) }
    }

    /// Refuses a command to a run that has ended or that another session holds.
    fn refuse_ended_or_held(&self) -> Result<()> {
        self.refuse_terminal()?;
        refuse_other_session(self.state, self.caller)
    }

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

    fn change(&self, reason: Option<String>) -> StatusChange {
        StatusChange { from: self.state.status(), reason, skipped: None, session: self.caller.session.clone() }
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
        if let Some(session) = rival.filter(|_| !claim.take_over && !caller.holder_dead) {
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

    fn record(&self, record: Record) -> Result {
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
            refuse_leaving(&run.state.gates, machine, from, Some(&phase), trail.history(), trail)?;
        }
        let mut unfinished: Vec<_> = left.iter().filter_map(|from| undone(machine, from, &phase, trail)).collect();
        if let Some(to) = advanced_to.as_ref().filter(|to| **to != phase) {
            self.refuse_advance(&phase, to, &activity)?;
            let back = is_way_back(machine, &phase, to);
            if !activity.status().is_completed() && !back {
                unfinished.push(Undone::of_record(machine, &phase, id.as_str(), activity.status()));
            } else if !back
                && run.state.is_in(&phase)
                && let Some(history) = trail.history()
            {
                unfinished.extend(open_beside(history, machine, &phase, id.as_str(), &settles));
            }
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
        activity.fill("metadata", "run_id", run.id.as_str());
        activity.fill("metadata", "workflow", run.workflow.as_str());
        activity.fill("metadata", "phase", phase.as_str());
        let session = self.caller.session.clone();
        let step = step_after(self.owned(), &phase, &activity, late);
        Ok(Decision::Commit(EventKind::ActivityRecorded(Box::new(ActivityRecorded {
            number,
            phase,
            advanced_to,
            beside,
            late,
            skipped,
            settles,
            step,
            approval: None,
            session,
            by: Vec::new(),
            request,
            evidence,
            exec,
            replay,
            activity,
        }))))
    }

    /// What is required of the phases that a record in `phase` leaves, and is missing.
    fn unproved_by_record(
        &self,
        left: &[StateName],
        phase: &StateName,
        advanced_to: Option<&StateName>,
    ) -> Result<Vec<Unproved>> {
        let mut missing = Vec::new();
        for from in left {
            missing.extend(self.unproved(from, Some(phase))?);
        }
        if let Some(to) = advanced_to.filter(|to| *to != phase) {
            missing.extend(self.unproved(phase, Some(to))?);
        }
        Ok(missing)
    }

    fn unproved(&self, phase: &StateName, to: Option<&StateName>) -> Result<Vec<Unproved>> {
        // The log may be long.
        if !requires(self.machine, phase) {
            return Ok(Vec::new());
        }
        unproved(self.machine, phase, to, self.trail.history(), self.trail)
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
            return Err(command_first(refusal, self.machine, phase, Some(to), self.trail.history(), self.trail));
        }
        let closed = [Gate { phase: phase.clone(), status: GateStatus::Closed }];
        refuse_leaving(&closed, self.machine, phase, Some(to), self.trail.history(), self.trail)
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

    /// What is required of the phases in which a run is completed, and is missing. Phases `ahead` are passed over as a whole.
    fn unproved_by_end(&self, ahead: &[StateName]) -> Result<Vec<Unproved>> {
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

    fn complete(&self, reason: Option<String>, skip: Option<String>) -> Result {
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

/// The phases that are left although their work is not done, or not proved; an error if there are any and the caller gives
/// no reason.
fn skipped(undone: Vec<Undone>, unproved: Vec<Unproved>, reason: Option<String>) -> Result<Option<Skip>> {
    refuse_empty(reason.as_deref())?;
    if undone.is_empty() && unproved.is_empty() {
        return Ok(None);
    }
    match reason {
        Some(reason) => Ok(Some(Skip { phases: undone.into_iter().map(|one| one.phase).collect(), reason, unproved })),
        None if undone.is_empty() => Err(Refusal::NotProved { missing: unproved, looked: true }),
        None => Err(Refusal::NotDone(undone)),
    }
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
