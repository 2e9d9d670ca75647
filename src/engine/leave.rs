//! Whether a run may leave a phase: its work must be done, or at least nothing may show that it is not.
//!
//! A record may leave a phase whose latest attempts passed or were skipped. `advance` completes a state by leaving it.

use crate::engine::{History, PhaseWork, Refusal, Trail, Unanswered, Undone};
use crate::machine::{Machine, Notation};
use crate::model::{StateName, StepStatus};

/// What is not done in `from`, if the run may not leave it for `to` because of that. Going back for another round is
/// always allowed.
pub(super) fn undone(machine: Option<&Machine>, from: &StateName, to: &StateName, trail: &dyn Trail) -> Option<Undone> {
    let history = trail.history()?;
    let work = history.work(from);
    let back = is_way_back(machine, from, to);
    (!back && is_undone(history, &work)).then(|| Undone::new(machine, from, &work))
}

/// What is open in `phase` besides the activity `id`, which is about to be recorded as done.
pub(super) fn open_beside(history: &History, machine: Option<&Machine>, phase: &StateName, id: &str) -> Option<Undone> {
    let mut work = history.work(phase);
    work.open.retain(|open| open.id != id);
    work.latest = Some(*work.open.last()?);
    let latest = work.latest?;
    work.withdrawn = latest.status.is_completed();
    work.status = latest.status.into();
    Some(Undone::new(machine, phase, &work))
}

/// Whether the work of a phase is not done. Work from before flow's log began, or that was lost with a part of the log,
/// may be unknown; then `completed_activities` is believed.
pub(super) fn is_undone(history: &History, work: &PhaseWork<'_>) -> bool {
    let unknown = || work.older || history.completed().iter().any(|(_, record)| record.is_none());
    !(work.is_done() || work.is_untouched() && unknown())
}

/// Checks that the state that the run leaves may count as completed. Its work must be done, or nothing may show that it
/// is not; an open question shows it. In a graph, where `advance` is the usual way to complete a state, no record is
/// needed. In phases, whose work is recorded, one is. A summary completes the state unless an attempt is open. Going
/// back for another round only requires that no question is open.
///
/// # Errors
/// [`Refusal::Unanswered`] and [`Refusal::NotDone`].
pub fn complete_by_leaving(
    history: &History,
    machine: Option<&Machine>,
    from: Option<&StateName>,
    to: &StateName,
    has_summary: bool,
) -> Result<(), Refusal> {
    let Some(from) = from else { return Ok(()) };
    let work = history.work(from);
    if has_summary && work.open.is_empty() {
        return Ok(());
    }
    let at_work = work.reported && matches!(work.status, StepStatus::Running | StepStatus::NotStarted);
    let completes = work.is_untouched() || at_work || work.reported && work.status == StepStatus::Waiting;
    let run = history.state().document();
    let question = run.state.questions.iter().find(|question| question.step == *from);
    if let Some(question) = question.filter(|_| completes) {
        let in_document = history.document_of(question).is_some();
        let unanswered = Unanswered { question: question.clone(), workflow: run.workflow.clone(), in_document };
        return Err(Refusal::Unanswered(Box::new(unanswered)));
    }
    let back = is_way_back(machine, from, to);
    let is_phase = machine.is_some_and(|machine| machine.notation() == Notation::Phases);
    // `advance` reports that a phase begins; that does not mean that any of its work was done.
    let is_worked = !is_phase || work.latest.is_some();
    if work.is_done() || work.is_untouched() && !is_phase || at_work && work.open.is_empty() && is_worked || back {
        return Ok(());
    }
    Err(Refusal::NotDone(vec![Undone::new(machine, from, &work)]))
}

/// Whether `to` is behind `from`, so that the run goes back for another round.
pub(super) fn is_way_back(machine: Option<&Machine>, from: &StateName, to: &StateName) -> bool {
    machine.is_some_and(|machine| machine.leads_back(from, to))
}
