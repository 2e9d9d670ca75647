//! The activity that is recorded with a report on a step, and what records of work make of a step.

use crate::model::{Activity, OwnedState, StateName, StepStatus, slug};

/// The longest id of such an activity, in bytes.
const STEP_ID: usize = 80;

/// The id of the activity of a step; `None` if its name has no letter or digit that an id may have.
pub(super) fn step_id(step: &StateName) -> Option<String> {
    slug(step.as_str(), STEP_ID)
}

/// As [`step_id`], with an id for every step.
pub(super) fn recorded_step_id(step: &StateName) -> String {
    step_id(step).unwrap_or_else(|| "step".to_owned())
}

/// How the reported step of `phase` stands after a record of `activity`; `None` in a run whose steps are not reported. Work
/// within a step does not begin it, since its end would not end the step, and does not end one that runs.
pub(super) fn step_after(run: &OwnedState, phase: &StateName, activity: &Activity, late: bool) -> Option<StepStatus> {
    if run.steps.is_empty() {
        return None;
    }
    let status = activity.status().into();
    if step_id(phase).as_deref() == Some(activity.id().as_str()) {
        return Some(status);
    }
    let enters = !late && !run.is_in(phase);
    let before = if enters { None } else { run.steps.get(phase) };
    match (before, status) {
        (Some(StepStatus::Running), _) => before,
        (_, StepStatus::Running) => Some(before.unwrap_or(StepStatus::NotStarted)),
        _ => Some(status),
    }
}
