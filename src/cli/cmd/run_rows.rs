//! Runs as lines of a list.

use std::borrow::Cow;

use crate::cli::page::{CARE, TextPage, brief};
use crate::model::StateName;
use crate::runs::{ListedRun, Unreadable};

/// One line for each run.
pub(super) fn rows(runs: &[ListedRun], indent: usize, page: &mut TextPage) {
    let rows = runs.iter().map(|run| {
        let completed = format!("{} completed", run.completed_activities);
        [
            Cow::from(run.head.run_id.as_str()),
            run.head.workflow.as_str().into(),
            run.head.word().into(),
            run.head.phase.as_ref().map_or("", StateName::as_str).into(),
            completed.into(),
            run.feature.as_deref().unwrap_or_default().into(),
            brief(run.head.blocked_reason.as_deref().unwrap_or_default()),
        ]
    });
    page.table(indent, rows);
}

/// The runs that cannot be read, and why.
pub(super) fn unreadable(runs: &[Unreadable], page: &mut TextPage) {
    if !runs.is_empty() {
        page.head(CARE, "Unreadable", &runs.len().to_string());
        page.table(2, runs.iter().map(|run| [run.run_id.as_str(), run.reason.as_str()]));
    }
}
