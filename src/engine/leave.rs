//! With what a run may leave a phase: whose work is done, or nothing says that it is not.
//!
//! A record leaves a phase whose latest attempts settled well; `advance` says that a state is done by leaving it.

use crate::engine::{History, PhaseWork, Refusal, Trail, Unanswered, Undone};
use crate::machine::{Machine, Notation};
use crate::model::{StateName, StepStatus};

/// What is not done in `from`, when the run may not leave it for `to` with that. Going back for another round says nothing
/// of the work that is left.
pub(super) fn undone(machine: Option<&Machine>, from: &StateName, to: &StateName, trail: &dyn Trail) -> Option<Undone> {
    let history = trail.history()?;
    let work = history.work(from);
    let back = is_way_back(machine, from, to);
    (!back && is_undone(history, &work)).then(|| Undone::new(machine, from, &work))
}

/// What is open in `phase` beside the activity `id`, of which a record is about to say that it is done.
pub(super) fn open_beside(history: &History, machine: Option<&Machine>, phase: &StateName, id: &str) -> Option<Undone> {
    let mut work = history.work(phase);
    work.open.retain(|open| open.id != id);
    work.latest = Some(*work.open.last()?);
    let latest = work.latest?;
    work.withdrawn = latest.status.is_completed();
    work.status = latest.status.into();
    Some(Undone::new(machine, phase, &work))
}

/// Whether the work of a phase is not done. What was done before flow kept the log, and what damage took from it, may not
/// be known; then `completed_activities` is believed.
pub(super) fn is_undone(history: &History, work: &PhaseWork<'_>) -> bool {
    let unknown = || work.older || history.completed().iter().any(|(_, record)| record.is_none());
    !(work.is_done() || work.is_untouched() && unknown())
}

/// Whether the state that the run leaves may be taken as completed: its work is done, or nothing says that it is not, as a
/// question that is open does. Nothing at all is enough in a graph, whose states are what `advance` is for, and not in
/// phases, whose work is recorded. A summary says that it is done, unless records say otherwise, and going back for
/// another round says nothing about it.
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
    // The begin of a phase is reported by the advance into it, and says nothing of its work.
    let is_worked = !is_phase || work.latest.is_some();
    if work.is_done() || work.is_untouched() && !is_phase || at_work && work.open.is_empty() && is_worked || back {
        return Ok(());
    }
    Err(Refusal::NotDone(vec![Undone::new(machine, from, &work)]))
}

/// Going back for another round says nothing of the work that is left.
pub(super) fn is_way_back(machine: Option<&Machine>, from: &StateName, to: &StateName) -> bool {
    machine.is_some_and(|machine| machine.leads_back(from, to))
}
