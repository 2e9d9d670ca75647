//! Which activities failed or are blocked, as `run.yaml` shows it, so that a list need not read the log.

use crate::engine::step_id::{recorded_step_id, step_id};
use crate::model::{
    ActivityRecorded, Event, EventKind, OwnedState, StateName, StepReport, StepStatus, UnsettledActivity,
};

/// Follows an event; `before` are the places of the run before it. What failed in a phase is reported until it is settled, or
/// until the run leaves the phase; then it is left undone, as the log shows. An outcome that came after the run had left
/// is reported until it is settled.
pub(super) fn follow(state: &mut OwnedState, event: &Event, before: &[StateName]) {
    // These begin the run again, with all that is unsettled.
    if event.kind.begins_a_run() {
        return;
    }
    if let EventKind::Emitted(emitted) = &event.kind {
        // Within one batch the run may leave a step and come back.
        for report in &emitted.reports {
            follow_report(&mut state.unsettled, report);
        }
        return;
    }
    leave(state, before);
    for record in event.kind.records() {
        note(state, record);
    }
}

/// Follows the run out of the phases that it has left.
pub(super) fn leave(state: &mut OwnedState, before: &[StateName]) {
    if state.unsettled.is_empty() {
        return;
    }
    let here: Vec<StateName> = state.positions().cloned().collect();
    state.unsettled.retain(|one| before.contains(&one.phase) == here.contains(&one.phase));
}

fn note(state: &mut OwnedState, record: &ActivityRecorded) {
    let id = record.id();
    state.unsettled.retain(|one| one.id != id.as_str());
    for settled in &record.settles {
        state.unsettled.retain(|one| one.id != settled.as_str());
    }
    // A record that ends a reported step settles what the step itself reported.
    if state.steps.get(&record.phase).is_some_and(StepStatus::is_done) {
        let own = step_id(&record.phase);
        state.unsettled.retain(|one| one.phase != record.phase || own.as_deref() != Some(one.id.as_str()));
    }
    if record.late || state.is_in(&record.phase) {
        let unsettled = UnsettledActivity::of(id.as_str(), &record.phase, record.activity.status());
        state.unsettled.extend(unsettled);
    }
}

/// Follows a report on a step, which stands for the activity that is recorded with it.
fn follow_report(unsettled: &mut Vec<UnsettledActivity>, report: &StepReport) {
    let Some((step, status)) = report.own_step() else { return };
    if let Some(from) = report.from.as_ref().filter(|from| *from != step) {
        unsettled.retain(|one| one.phase != *from && one.phase != *step);
    }
    let id = recorded_step_id(step);
    let blocked = match status {
        StepStatus::Waiting => true,
        StepStatus::Failed => false,
        StepStatus::Completed | StepStatus::Skipped => return unsettled.retain(|one| one.id != id),
        StepStatus::Running | StepStatus::NotStarted => return,
    };
    unsettled.retain(|one| one.id != id);
    unsettled.push(UnsettledActivity { id, phase: step.clone(), blocked });
}
