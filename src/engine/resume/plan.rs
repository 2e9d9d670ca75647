//! The answer: a verdict, its reason, and the next action.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::past::attempt::seen_or_claimed;
use crate::engine::verdict::{Action, Verdict};
use crate::engine::{InDoubt, LeftUndone};
use crate::model::{ActivityStatus, MissingProof, Number, StateName, Timestamp};

/// The next action as data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Next {
    /// What to do.
    pub action: Action,
    /// In which phase.
    pub phase: Option<StateName>,
    /// The valid next phases.
    pub choices: Vec<StateName>,
}

/// A completed activity.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CompletedActivity {
    /// Its number; absent if a person wrote the entry.
    pub number: Option<Number>,
    /// Its id.
    pub id: String,
    /// The phase in which it was done.
    pub phase: Option<StateName>,
    /// How it ended.
    pub status: Option<ActivityStatus>,
    /// The exit code of the command that it was.
    pub exit_code: Option<i64>,
    /// Whether flow ran that command, and saw its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub seen: bool,
    /// Whether it is said to have passed, and flow did not see it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub claimed: bool,
    /// The record in which flow saw the same work fail before, which it did not see pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub seen_to_fail: Option<Number>,
}

impl CompletedActivity {
    /// What pages say of it behind its status.
    pub(crate) fn seen_or_claimed(&self) -> String {
        seen_or_claimed(self.seen, self.claimed, self.seen_to_fail)
    }
}

/// What to do next, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Whether the run can go on, and if not, why.
    pub verdict: Verdict,
    /// The reason, a sentence without a full stop.
    pub reason: String,
    /// What to do.
    pub next: Next,
    /// The completed activities, in order; in a history from a recap the last ones.
    pub completed: Vec<CompletedActivity>,
    /// Work with an unknown outcome; what to look at first comes first.
    pub in_doubt: Vec<InDoubt>,
    /// What the run left behind without settling it.
    pub left_undone: Vec<LeftUndone>,
    /// When the work began that the verdict is about, if its process still runs.
    pub begun_at: Option<Timestamp>,
    /// The limit that is reached, if any.
    pub limit: Option<Limit>,
    /// What is missing of what phases require, if that is all that keeps the run from going on.
    pub unproved: Vec<MissingProof>,
    /// Notes that do not affect the verdict.
    pub notes: Vec<String>,
}

/// A limit of the run that has been reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Its name in `limits`.
    pub name: &'static str,
    /// A higher limit to propose.
    pub raised: u64,
    /// That it is reached.
    pub(super) reason: String,
}
