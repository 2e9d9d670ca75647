//! Runs that were pruned: what stays of them is one line, which keeps their ids from being given again.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::{RunId, Timestamp};
use crate::store::error::StoreError;

/// A run that was taken out of its project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrunedRun {
    /// The run that was taken away.
    pub run_id: RunId,
    /// When that was.
    pub at: Timestamp,
    /// The directory like `.flow` that has it now, relative to the project if it is inside; none if it was removed.
    pub to: Option<PathBuf>,
}

impl PrunedRun {
    /// Why no command can be about this run.
    #[must_use]
    pub fn refusal(self) -> StoreError {
        StoreError::Pruned { run: self.run_id, at: self.at, to: self.to }
    }
}

/// A run that was not pruned, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StayingRun {
    /// The run that was not taken away.
    pub run_id: RunId,
    /// Why it stays, as the end of a sentence about it.
    pub why: String,
}

/// Which of the runs that were to be pruned are gone, and which stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruning {
    /// Those that stay after all.
    pub stay: Vec<StayingRun>,
    /// Problems that did not stop it.
    pub warnings: Vec<String>,
}
