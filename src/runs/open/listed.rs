//! A run in a list.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{ForkPoint, Issue, Remote, RunHead, RunId, RunSummary, SessionId, StateName};
use crate::runs::open::shared::Sharing;
use crate::store::Project;

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

/// Whether a run has this text in what a list shows of it, or is about the issue or pull request that the text names. `own`
/// is the remote of the runs' repository, without which a number and an address are never the same.
pub(in crate::runs) fn mentions(run: &ListedRun, text: &str, own: Option<&Remote>) -> bool {
    if let Ok(issue) = text.parse::<Issue>() {
        let is_about = run.issue.as_ref().is_some_and(|other| other.key(own) == issue.key(own));
        let pr = issue.pull_request(own);
        if is_about || pr.is_some() && run.pr == pr {
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

/// The runs that a name without the time of their start is enough for: every command takes it for this run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ShortNames(HashSet<RunId>);

impl ShortNames {
    /// The names of these runs of a project. Where its runs cannot be listed, they are their ids.
    pub(crate) fn of<'r>(project: &Project, shown: impl IntoIterator<Item = &'r RunId>) -> Self {
        let mut by_name = HashMap::new();
        for run in shown {
            // A number would be that of an issue.
            if !run.name().bytes().all(|byte| byte.is_ascii_digit()) {
                by_name.insert(run.name(), run);
            }
        }
        if by_name.is_empty() {
            return Self::default();
        }
        let Ok(mut ids) = project.runs().ids() else { return Self::default() };
        ids.sort_unstable();
        for id in &ids {
            for (dash, _) in id.as_str().match_indices('-') {
                let end = &id.as_str()[dash + 1..];
                if by_name.get(end).is_some_and(|run| *run != id) {
                    by_name.remove(end);
                }
            }
        }
        by_name.retain(|name, run| {
            let first = ids.partition_point(|id| id.as_str() < *name);
            ids[first..].iter().take_while(|id| id.as_str().starts_with(*name)).all(|id| id == *run)
        });
        Self(by_name.into_values().cloned().collect())
    }

    /// The name of one of them.
    pub(crate) fn of_run<'r>(&self, run: &'r RunId) -> &'r str {
        if self.0.contains(run) { run.name() } else { run.as_str() }
    }
}
