//! What a writer repairs before anything else.

use crate::codec::RunText;
use crate::engine::RunState;
use crate::model::{RunChanges, Seq};

/// A step to repair a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Repair {
    /// `run.yaml` is missing: write this text.
    Rebuild {
        /// The text that follows from the log.
        text: RunText,
    },
    /// A repair of the log was interrupted before `run.yaml` was replaced: replace it.
    EndRepair {
        /// The text to replace.
        old: RunText,
        /// The text that the repair demands.
        text: RunText,
        /// Whether flow wrote the old text. If not, a copy of it is kept.
        is_own: bool,
    },
    /// Another program made the run: begin the log with its document.
    AdoptRun,
    /// `run.yaml` is behind the log: update it.
    RollForward {
        /// The position that it shows.
        since: Seq,
        /// The current text.
        old: RunText,
        /// The text that shows the last event.
        text: RunText,
        /// Whether a person's change in the old text gives way to a newer event. Then a copy of it is kept.
        drops_edit: bool,
    },
    /// A person edited `run.yaml`: log the edit.
    AdoptEdit {
        /// The state of the log.
        log: Box<RunState>,
        /// The changes; empty if only comments, order or unknown keys changed.
        changes: Box<RunChanges>,
    },
}
