//! The activity that is recorded with a report on a step.

use crate::model::{StateName, slug};

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
