//! Events that were acknowledged in a run that machines share, and that its store has lost.

use std::fmt;
use std::path::PathBuf;

use crate::model::{ActivityId, RunId, counted, first_few};
use crate::store::address::Address;

/// How many records are named.
const NAMED: usize = 3;

/// Events of a shared run that its store has lost, and others in their places: it was put back to an older state, and went on
/// from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplacedEvents {
    /// The run that lost them.
    pub run: RunId,
    /// The store.
    pub at: Address,
    /// How many.
    pub events: usize,
    /// The activities that they record.
    pub records: Vec<ActivityId>,
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
        let Self { run, at, events, records, file } = self;
        let events = counted(*events, "acknowledged event");
        write!(f, "{at} was put back to an older state and has another history of run {run}: it lacks {events}")?;
        if !records.is_empty() {
            write!(f, " (records {})", first_few(records, NAMED))?;
        }
        write!(f, ", kept in {}", file.display())
    }
}
