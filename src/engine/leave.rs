//! Whether a run may leave a phase: its work must be done, and a gate needs a person's decision.
//!
//! This is the one rule for every way to leave: a record, a report, `advance` and `complete`. A phase is done when the
//! latest attempt at everything in it passed or was skipped. In a state diagram, reports complete the steps that they
//! leave (rp1), and `advance` completes a state of a graph or diagram by leaving it.

use crate::engine::doubt::in_doubt;
use crate::engine::gate_rules::{is_doubtful, turn_of_held};
use crate::engine::past::interviews::may_be_interview;
use crate::engine::proof::Leaving;
use crate::engine::{History, PhaseWork, Refusal, RunState, Trail, UnansweredQuestion, Undone, held_by};
use crate::machine::Machine;
use crate::model::{Activity, ActivityId, ActivityStatus, OwnedState, RunDocument, StateName, StepStatus};

/// What is not done in `from`, if the run may not leave it for `to` because of that. Going back for another round is
/// always allowed.
pub(super) fn undone(machine: Option<&Machine>, from: &StateName, to: &StateName, trail: &dyn Trail) -> Option<Undone> {
    let history = trail.history()?;
    // Going back claims nothing, so it needs no work that is done.
    if is_way_back(machine, from, to) {
        return None;
    }
    let work = history.work(from);
    if is_undone(history, machine, &work) { Some(Undone::new(machine, from, &work).before(to, machine)) } else { None }
}

/// What is open in `phase` besides the activity `id`, which is about to be recorded as done; `None` if that record
/// settles all of it.
pub(super) fn open_beside(
    history: &History,
    machine: Option<&Machine>,
    phase: &StateName,
    id: &str,
    settles: &[ActivityId],
) -> Option<Undone> {
    let mut work = history.work(phase);
    work.open.retain(|open| open.id != id);
    let mut unsettled = work.open.clone();
    unsettled.retain(|open| settles.iter().all(|settled| settled.as_str() != open.id));
    if unsettled.is_empty() {
        return None;
    }
    work.latest = work.open.last().copied();
    let latest = work.latest?;
    work.withdrawn = latest.status.is_completed();
    work.status = latest.status.into();
    Some(Undone::new(machine, phase, &work))
}

/// Whether the work of a phase is not done. In a workflow written as phases, a report that a phase begins says no more
/// than that, so its records decide; in a diagram a step that is reported as running runs. Work from before flow's log
/// began, or that was lost with a part of the log, may be unknown; then `completed_activities` is believed.
pub(super) fn is_undone(history: &History, machine: Option<&Machine>, work: &PhaseWork<'_>) -> bool {
    if work.is_done() || is_strict(machine) && work.is_worked() {
        return false;
    }
    let is_unknown = work.older || history.has_unrecorded();
    !(work.is_untouched() && is_unknown)
}

/// Refuses the activity of an interview that goes on or was given up, unless it is given up: its document says how it ends.
///
/// # Errors
/// [`Refusal::InterviewOpen`].
pub(super) fn refuse_of_interview(run: &RunDocument, trail: &dyn Trail, activity: &Activity) -> Result<(), Refusal> {
    let id = activity.id();
    let gives_up = matches!(activity.status(), ActivityStatus::Failed | ActivityStatus::Skipped);
    if gives_up || !may_be_interview(id.as_str()) || !run.state.open_activities.contains(id.as_str()) {
        return Ok(());
    }
    match trail.history().and_then(|history| history.interview_under(id.as_str())) {
        Some(document) => Err(Refusal::InterviewOpen { id: id.to_string(), document: document.to_owned() }),
        None => Ok(()),
    }
}

/// The phases that a record in `phase` leaves, which comes from `left`.
pub(super) fn left_by(left: &[StateName], phase: &StateName, advanced_to: Option<&StateName>) -> Vec<StateName> {
    let mut all = left.to_vec();
    if advanced_to.is_some_and(|to| to != phase) {
        all.push(phase.clone());
    }
    all
}

/// Refuses to leave one of `phases`, in any direction, while a command goes on that flow began there: flow sees how it ends,
/// and records it.
///
/// # Errors
/// [`Refusal::InDoubt`].
pub(super) fn refuse_at_work(run: &OwnedState, phases: &[StateName], trail: &dyn Trail) -> Result<(), Refusal> {
    // The log is read only where something is open: it may be long.
    if phases.is_empty() || run.open_activities.is_empty() {
        return Ok(());
    }
    let Some(history) = trail.history() else { return Ok(()) };
    for attempt in history.latest_run_by_flow() {
        let is_begun = attempt.status == ActivityStatus::Running;
        let is_here = attempt.phase.as_ref().is_some_and(|phase| phases.contains(phase));
        if is_begun && is_here && trail.is_at_work(attempt) {
            return Err(Refusal::InDoubt { ids: vec![attempt.id.clone()] });
        }
    }
    Ok(())
}

/// Refuses to complete a run with work of which no outcome is known.
///
/// # Errors
/// [`Refusal::InterviewOpen`] and [`Refusal::InDoubt`].
pub(super) fn refuse_begun(history: &History) -> Result<(), Refusal> {
    if let Some(begun) = history.begun_interviews().first() {
        return Err(Refusal::of_interview(begun));
    }
    let ids: Vec<_> = in_doubt(history).into_iter().map(|doubt| doubt.id).collect();
    if ids.is_empty() { Ok(()) } else { Err(Refusal::InDoubt { ids }) }
}

/// Refuses to go on in a run that is past a gate without a person's decision.
///
/// # Errors
/// [`Refusal::NeedsApproval`].
pub fn refuse_held(state: &RunState, machine: Option<&Machine>) -> Result<(), Refusal> {
    // Most runs have no gates: then the workflow need not be walked through.
    if !is_doubtful(state) {
        return Ok(());
    }
    let phases = held_by(state, machine);
    let Some(first) = phases.first() else { return Ok(()) };
    let turn = turn_of_held(state, first);
    Err(Refusal::NeedsApproval { phases, turn })
}

/// Whether reports on the steps of this workflow obey the rule for phases. In a diagram or graph they are rp1's.
pub(super) fn is_strict(machine: Option<&Machine>) -> bool {
    machine.is_some_and(Machine::is_phases)
}

/// Checks that the state that the run leaves may count as completed. Its work must be done, or nothing may show that it
/// is not; an open question shows it. In a graph, where `advance` is the usual way to complete a state, no record is
/// needed. In phases, whose work is recorded, one is. A summary completes the state unless an attempt is open. Going
/// back for another round only requires that no question is open.
///
/// # Errors
/// [`Refusal::NeedsApproval`], [`Refusal::NotProved`], [`Refusal::Unanswered`] and [`Refusal::NotDone`].
pub fn complete_by_leaving(
    history: &History,
    trail: &dyn Trail,
    machine: Option<&Machine>,
    from: Option<&StateName>,
    to: &StateName,
    has_summary: bool,
) -> Result<(), Refusal> {
    let Some(from) = from else { return Ok(()) };
    let run = history.state().document();
    let leaving = Leaving { machine, from, to: Some(to), history: Some(history), trail };
    leaving.refuse(&run.state.gates)?;
    let work = history.work(from);
    if has_summary && work.open.is_empty() {
        return Ok(());
    }
    let is_begun = work.reported && matches!(work.status, StepStatus::Running | StepStatus::NotStarted);
    let completes = work.is_untouched() || is_begun || work.reported && work.status == StepStatus::Waiting;
    let question = run.state.questions.iter().find(|question| question.step == *from);
    if completes && let Some(question) = question {
        let in_document = history.document_of(question).is_some();
        let unanswered = UnansweredQuestion { question: question.clone(), workflow: run.workflow.clone(), in_document };
        return Err(Refusal::Unanswered(Box::new(unanswered)));
    }
    if work.is_done() || work.is_worked() || is_way_back(machine, from, to) {
        return Ok(());
    }
    let shows_nothing = work.is_untouched() || is_begun && work.open.is_empty();
    if shows_nothing && !is_strict(machine) {
        return Ok(());
    }
    // The command that a phase requires is its work, too.
    let missing = leaving.unproved()?;
    if !missing.is_empty() {
        return Err(Refusal::NotProved { missing, looked: true });
    }
    Err(Refusal::NotDone(vec![Undone::new(machine, from, &work).before(to, machine)]))
}

/// Whether `to` is behind `from`, so that the run goes back for another round.
pub(super) fn is_way_back(machine: Option<&Machine>, from: &StateName, to: &StateName) -> bool {
    machine.is_some_and(|machine| machine.leads_back(from, to))
}

/// Whether a transition leads from `from` to `to`.
pub(super) fn has_transition(machine: &Machine, from: &StateName, to: &StateName) -> bool {
    machine.successors(from).any(|transition| transition.to == *to)
}
