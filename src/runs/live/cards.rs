//! The cards of a project: which of them are shown, in which order, and the report of them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Remote, RunStatus, named};
use crate::runs::look::card::{Card, CardGroup, says};
use crate::runs::open::listed::{ListedRun, mentions};
use crate::runs::open::reading::Unreadable;
use crate::runs::open::shared::UnseenStore;

/// Which cards to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CardFilter {
    /// Only runs of this group; otherwise those of all groups, and of each one the first.
    pub group: Option<CardGroup>,
    /// Only runs with this text in the id, workflow, phase, goal, feature or reason, or about this issue or pull
    /// request (`#42`).
    pub search: Option<String>,
    /// Only runs of this workflow.
    pub workflow: Option<String>,
    /// Only runs that ended with this status, of those that are over.
    pub status: Option<RunStatus>,
    /// In which order the runs of a group come.
    pub sort: CardSort,
    /// How many runs of each group to leave out.
    pub skip: usize,
    /// The highest number of runs of each group.
    pub limit: usize,
}

named! {
    /// The order of runs in their groups.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
    pub enum CardSort {
        /// The one that changed last comes first.
        #[default]
        Changed = "changed",
        /// The one that was started last comes first.
        Started = "started",
        /// The one that took longest comes first.
        Longest = "longest",
    }
}

impl CardSort {
    /// What runs are ordered by: the highest comes first.
    #[must_use]
    pub fn key(self, run: &ListedRun) -> i64 {
        match self {
            Self::Changed => run.head.updated_at.as_datetime().timestamp_millis(),
            Self::Started => run.head.created_at.as_datetime().timestamp_millis(),
            Self::Longest => i64::try_from(run.took_ms()).unwrap_or(i64::MAX),
        }
    }
}

impl Default for CardFilter {
    fn default() -> Self {
        Self { group: None, search: None, workflow: None, status: None, sort: CardSort::Changed, skip: 0, limit: 30 }
    }
}

impl CardFilter {
    /// Whether it leaves out runs that are at work.
    pub(crate) fn is_narrow(&self) -> bool {
        self.search.is_some() || self.workflow.is_some()
    }

    /// Whether it takes a run that is in its group for this reason. `own` is the remote of its repository. Groups and numbers
    /// are for lists.
    pub(in crate::runs) fn takes<'r>(
        &self,
        run: &ListedRun,
        own: Option<&Remote>,
        reason: impl FnOnce() -> Cow<'r, str>,
    ) -> bool {
        self.search.as_ref().is_none_or(|text| mentions(run, text, own) || says(&reason(), text))
            && (self.workflow.is_none() || self.workflow.as_deref() == Some(run.head.workflow.as_str()))
            && (self.status.is_none() || !run.head.is_over() || self.status == Some(run.head.status))
    }
}

/// The cards of a project.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CardsReport {
    /// The groups in the order of urgency.
    pub groups: Vec<CardsOfGroup>,
    /// Runs that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// The workflows of all runs.
    pub workflows: BTreeSet<String>,
    /// The store that the project names and whose runs are not seen.
    pub unseen_store: Option<UnseenStore>,
    /// That the store of shared runs was not reached when it was asked last.
    pub store_away: Option<String>,
}

/// The cards of one group, the one that changed last first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CardsOfGroup {
    /// The group.
    pub group: CardGroup,
    /// How many runs of the group the filter takes.
    pub total: usize,
    /// Some of them.
    pub cards: Vec<Card>,
}

impl CardsReport {
    /// How many runs need a person.
    #[must_use]
    pub fn needs_a_person(&self) -> usize {
        let totals = self.groups.iter().map(|cards| if cards.group.needs_a_person() { cards.total } else { 0 });
        totals.sum::<usize>() + self.unreadable.len()
    }
}
