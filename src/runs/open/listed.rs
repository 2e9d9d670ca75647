//! A run in a list.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{ForkPoint, Issue, RunHead, RunId, RunSummary, SessionId, StateName};
use crate::runs::open::shared::Sharing;

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ListedRun {
    /// Which run it is, and where it is.
    #[serde(flatten)]
    pub head: RunHead,
    /// How many activities are completed.
    pub completed_activities: usize,
    /// The session that holds it.
    pub session: Option<SessionId>,
    /// Its goal.
    pub goal: Option<String>,
    /// The issue that it is about.
    pub issue: Option<Issue>,
    /// The pull request that it is about.
    pub pr: Option<u64>,
    /// The feature that it is about.
    pub feature: Option<String>,
    /// The event of another run after which it goes on, if it is a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
    /// Where it is shared, and as of when; nothing if it is of this checkout alone.
    #[serde(flatten)]
    pub sharing: Option<Sharing>,
}

impl From<RunSummary> for ListedRun {
    fn from(run: RunSummary) -> Self {
        Self {
            head: run.head,
            completed_activities: run.completed_activities,
            session: run.session,
            goal: run.goal,
            issue: run.issue,
            pr: run.pr,
            feature: run.feature,
            forked_from: run.forked_from,
            sharing: None,
        }
    }
}

impl ListedRun {
    /// What the run is about, in a few words: its goal, otherwise its issue or pull request, and its workflow. A fork is about
    /// the same as its parent.
    #[must_use]
    pub fn title(&self) -> String {
        let about = self.about();
        if self.forked_from.is_some() { format!("fork: {about}") } else { about }
    }

    fn about(&self) -> String {
        let workflow = &self.head.workflow;
        match (&self.goal, &self.issue, self.pr) {
            (Some(goal), ..) if !goal.trim().is_empty() => goal.clone(),
            (_, Some(Issue::Number(number)), _) => format!("issue {number} {workflow}"),
            (_, Some(issue), _) => format!("{} {workflow}", issue.key(None)),
            (_, None, Some(pr)) => format!("PR {pr} {workflow}"),
            (_, None, None) => workflow.to_string(),
        }
    }

    /// How long it took from its start to its last change, in milliseconds.
    #[must_use]
    pub fn took_ms(&self) -> u64 {
        self.head.created_at.milliseconds_until(self.head.updated_at)
    }
}

/// Whether a run has this text in what a list shows of it, or is about the issue or pull request of this number.
pub(in crate::runs) fn mentions(run: &ListedRun, text: &str) -> bool {
    if let Ok(issue) = text.parse::<Issue>() {
        let key = Some(issue.key(None));
        if run.issue.as_ref().map(|issue| issue.key(None)) == key || run.pr.map(|pr| pr.to_string()) == key {
            return true;
        }
    }
    let issue = run.issue.as_ref().map(Issue::to_string);
    let texts = [
        Some(run.head.run_id.as_str()),
        Some(run.head.workflow.as_str()),
        run.head.phase.as_ref().map(StateName::as_str),
        run.goal.as_deref(),
        run.feature.as_deref(),
        issue.as_deref(),
        run.head.blocked_reason.as_deref(),
    ];
    let text = text.to_lowercase();
    texts.into_iter().flatten().any(|shown| shown.to_lowercase().contains(&text))
}

/// The names of runs that are shown together: without the time of their start where that is enough to tell them apart.
#[derive(Debug)]
pub(crate) struct ShortNames<'a>(HashMap<&'a str, usize>);

impl<'a> ShortNames<'a> {
    /// The names of these runs.
    pub(crate) fn of(runs: impl Iterator<Item = &'a RunId>) -> Self {
        let mut times = HashMap::new();
        for run in runs {
            *times.entry(run.name()).or_default() += 1;
        }
        Self(times)
    }

    /// The name of one of them.
    pub(crate) fn of_run<'r>(&self, run: &'r RunId) -> &'r str {
        // A number would be that of an issue.
        let is_number = run.name().bytes().all(|byte| byte.is_ascii_digit());
        if is_number || self.0.get(run.name()).is_none_or(|times| *times > 1) { run.as_str() } else { run.name() }
    }
}
