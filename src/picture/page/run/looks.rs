//! How steps, activities and decisions look, for every face.

use crate::model::{ActivityStatus, StepStatus};
use crate::runs::ShownApproval;

/// The shape and the class of a step's status.
pub(crate) fn look_of_step(status: StepStatus) -> (&'static str, &'static str) {
    match status {
        StepStatus::Completed => ("✓", "done"),
        StepStatus::Failed => ("✕", "bad"),
        StepStatus::Running => ("●", "run"),
        StepStatus::Waiting => ("▲", "need"),
        StepStatus::Skipped => ("–", "dim"),
        StepStatus::NotStarted => ("◦", "dim"),
    }
}

/// The shape, the class and the words of an activity's status.
pub(crate) fn look_of_activity(status: ActivityStatus, exit_code: Option<i64>) -> (&'static str, &'static str, String) {
    let (symbol, class, word) = match status {
        ActivityStatus::Passed => ("✓", "done", "passed"),
        ActivityStatus::Failed => ("✕", "bad", "failed"),
        ActivityStatus::Skipped => ("–", "dim", "skipped"),
        ActivityStatus::Running => ("◆", "doubt", "begun"),
        ActivityStatus::Blocked => ("▲", "need", "blocked"),
        ActivityStatus::Pending => ("◦", "dim", "planned"),
    };
    (symbol, class, status.word_with_exit_code(word, exit_code))
}

/// A person's decision at a gate, in words.
pub(crate) fn decision(one: &ShownApproval) -> String {
    let phase = one.phase.as_ref().map_or("", |phase| phase.as_str());
    let verb = if one.approved { "approved" } else { "rejected" };
    let why = one.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{phase}: {verb} by {} {}, having seen event {}{why}", one.approval.by, one.approval.how, one.approval.seen)
}
