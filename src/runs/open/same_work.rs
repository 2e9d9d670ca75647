//! Two open runs about the same issue or pull request.

use crate::model::{Issue, RunDocument, RunId, RunSummary, WorkflowId};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::open::name::IssueKeys;
use crate::runs::open::reading::Runs;
use crate::runs::open::sparse::refuse_left_out_run;
use crate::store::Project;

/// What two open runs should not share: an issue, or a pull request in the same workflow.
pub(crate) struct SameWork<'a> {
    issue: Option<Issue>,
    pr: Option<u64>,
    workflow: &'a str,
}

impl<'a> SameWork<'a> {
    /// The work of a new run.
    pub(crate) fn new(issue: Option<Issue>, pr: Option<u64>, workflow: &'a WorkflowId) -> Self {
        Self { issue, pr, workflow: workflow.as_str() }
    }

    /// The issue and pull request of a run.
    pub(crate) fn of(run: &'a RunDocument) -> Self {
        Self { issue: run.issue(), pr: run.context_number("pr"), workflow: run.workflow.as_str() }
    }

    /// What of it is new to a run that was about `before`.
    pub(crate) fn without(mut self, before: &Self) -> Self {
        self.issue = self.issue.filter(|issue| before.issue.as_ref() != Some(issue));
        self.pr = self.pr.filter(|pr| before.pr != Some(*pr));
        self
    }
}

/// Refuses `run` if another open run is about the same work. A retry of a start with the same id gets the error that
/// the run exists, not this one.
pub(crate) fn refuse_second_run(
    cx: &Context,
    project: &Project,
    run: Option<&RunId>,
    work: &SameWork<'_>,
) -> Result<()> {
    if work.issue.is_none() && work.pr.is_none() {
        return Ok(());
    }
    let runs = Runs::read_open(cx, project)?;
    let keys = IssueKeys::of(cx, project);
    let key = work.issue.as_ref().map(|issue| keys.key(issue));
    let same_issue = |other: &RunSummary| key.is_some() && other.issue.as_ref().map(|issue| keys.key(issue)) == key;
    let word = work.issue.as_ref().filter(|issue| !issue.is_address()).map(|issue| issue.to_string());
    let word = word.or_else(|| work.pr.map(|pr| pr.to_string())).unwrap_or_default();
    refuse_left_out_run(cx, project, run, &word, |other| {
        let other = RunSummary::from(other);
        same_issue(&other) || work.pr.is_some() && other.pr == work.pr && other.head.workflow.as_str() == work.workflow
    })?;
    let same_pr =
        |other: &RunSummary| work.pr.is_some() && other.pr == work.pr && other.head.workflow.as_str() == work.workflow;
    for other in runs.open().filter(|other| Some(&other.head.run_id) != run) {
        let about = match (same_issue(other), same_pr(other)) {
            (true, _) => format!("issue {}", key.as_deref().unwrap_or_default()),
            (_, true) => format!("pull request {}", work.pr.unwrap_or_default()),
            _ => continue,
        };
        return Err(Error::SecondRun { run: other.head.run_id.clone(), about });
    }
    Ok(())
}

/// Whether another open run is about the same work as this one.
pub(crate) fn has_second_run(cx: &Context, project: &Project, run: &RunDocument) -> bool {
    let found = refuse_second_run(cx, project, Some(&run.id), &SameWork::of(run));
    matches!(found, Err(Error::SecondRun { .. }))
}
