//! What can be wrong with what a store has that several machines share.

use crate::model::RunId;
use crate::store::work::WorkKey;

/// Something that is wrong with what the store has that machines share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreFlaw {
    /// It has lost a run, or the end of it, of which a copy is here.
    Lost {
        /// The run.
        run: RunId,
    },
    /// The log of a run is damaged there.
    Damaged {
        /// The run.
        run: RunId,
        /// In what way.
        why: String,
    },
    /// An open run is not marked as being about something, so that another machine could begin a second one.
    Unmarked {
        /// The run.
        run: RunId,
        /// What it is about.
        about: WorkKey,
        /// The run that is marked instead, if any.
        instead: Option<RunId>,
    },
    /// Something deletes what it has after a time.
    Deletes {
        /// What.
        why: String,
    },
}
