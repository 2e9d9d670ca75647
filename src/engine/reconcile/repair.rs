//! What a writer does before anything else.

use crate::codec::RunText;
use crate::engine::RunState;
use crate::model::{RunChanges, Seq};

/// A step by which a writer brings a run in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Repair {
    /// `run.yaml` is missing, and this text takes its place.
    Rebuild {
        /// What the log demands.
        text: RunText,
    },
    /// The log was repaired, and whoever did it died before this text took the place of `run.yaml`.
    EndRepair {
        /// The text that it takes the place of.
        old: RunText,
        /// What the repair demands.
        text: RunText,
        /// Whether flow wrote the text that is replaced; otherwise a copy of it is kept.
        is_own: bool,
    },
    /// Another program made the run; the log begins with what it says.
    AdoptRun,
    /// `run.yaml` is behind the log.
    RollForward {
        /// The event that it shows.
        since: Seq,
        /// What it is.
        old: RunText,
        /// The text that shows the last event.
        text: RunText,
    },
    /// A person changed `run.yaml`, which is logged.
    AdoptEdit {
        /// The state that the log gives.
        log: Box<RunState>,
        /// What is changed in it; nothing when only comments, order or unknown keys were.
        changes: Box<RunChanges>,
    },
}
