//! The answer of `drive`.

use serde::Serialize;

use crate::model::{RunId, StateName};

/// Where a driver stopped.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriveReport {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: String,
    /// Why it stopped, in one word.
    pub stop: DriveStop,
    /// In which state, or before which.
    pub state: Option<StateName>,
    /// Why it stopped.
    pub reason: String,
    /// How many states it ran.
    pub ran: usize,
    /// What was given last, when a person is needed.
    pub given: Option<Given>,
    /// What went wrong beside the work itself.
    pub warnings: Vec<String>,
}

/// What a state gave, as people are shown it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Given {
    /// The state.
    pub state: StateName,
    /// Its output; a long one ends with `…`.
    pub output: String,
}

/// Why a driver stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DriveStop {
    /// The run is completed.
    Ended,
    /// A person has to answer or to choose.
    NeedsHuman,
    /// A state is not done yet, and is to be run again later.
    NotReady,
    /// A state failed.
    Failed,
    /// It ran as many states as it was allowed to.
    Limit,
}

impl DriveStop {
    /// As in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::NeedsHuman => "needs_human",
            Self::NotReady => "not_ready",
            Self::Failed => "failed",
            Self::Limit => "limit",
        }
    }
}
