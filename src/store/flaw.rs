//! What can be wrong with what a store has that several machines share, or with a copy of it.

use crate::model::RunId;
use crate::store::work::WorkKey;

/// Something that is not as it could be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreFlaw {
    /// It has lost a run, or the end of it, of which a copy is here.
    Lost {
        /// The run of which a copy is here.
        run: RunId,
    },
    /// It has the log of a run and does not list it, so that machines without a copy do not see the run.
    Unlisted {
        /// The run that lists do not show.
        run: RunId,
    },
    /// The store has no run at all, although there are copies of runs here.
    Emptied {
        /// How many.
        copies: usize,
    },
    /// A run of this checkout goes into the store, and is not known to be there: who moved it has died, or is at it.
    Unfinished {
        /// The run that is half there.
        run: RunId,
    },
    /// The copy here lacks events that the store has. Nothing is damaged: the next command about the run brings them.
    Behind {
        /// The run that goes on there.
        run: RunId,
        /// How many events the copy lacks, at least.
        events: usize,
    },
    /// The log of a run is damaged there.
    Damaged {
        /// The run whose log it is.
        run: RunId,
        /// In what way.
        why: String,
        /// Whether a repair mends it: a whole copy has what is missing in the middle of it, or an older reference beside it is to go.
        is_gap: bool,
    },
    /// It cannot give the log of a run now, such as from a bad disk, and gives others.
    Unread {
        /// The run.
        run: RunId,
        /// What it answered.
        why: String,
    },
    /// An open run is not marked as being about something, so that another machine could begin a second one.
    Unmarked {
        /// The open run.
        run: RunId,
        /// What it is about.
        about: WorkKey,
        /// The run that is marked instead, if any.
        instead: Option<RunId>,
    },
    /// It has the mark that a run is about something, and not the run.
    LeftMark {
        /// The run that the mark names.
        run: RunId,
        /// What that was about.
        about: WorkKey,
    },
    /// Something deletes what it has after a time.
    Deletes {
        /// What deletes it, in words.
        why: String,
    },
}
