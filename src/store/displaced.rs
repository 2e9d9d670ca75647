//! Events that were acknowledged in a run that machines share, and that its store has lost.

use std::fmt;
use std::path::PathBuf;

use crate::model::{RunId, counted};
use crate::store::address::Address;

/// Events of a shared run that its store has lost, and others in their places: it was put back to an older state, and went on
/// from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplacedEvents {
    /// The run.
    pub run: RunId,
    /// The store.
    pub at: Address,
    /// How many.
    pub events: usize,
    /// The log that has them here.
    pub file: PathBuf,
}

impl DisplacedEvents {
    /// What to do now.
    #[must_use]
    pub fn help(&self) -> &'static str {
        "look whether what they say still counts, record that again, and move the file elsewhere"
    }
}

impl fmt::Display for DisplacedEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, at, events, file } = self;
        let (events, file) = (counted(*events, "acknowledged event"), file.display());
        write!(
            f,
            "{at} was put back to an older state and has another history of run {run}: it lacks {events}, kept in {file}"
        )
    }
}
