//! What every store of runs does, wherever it keeps them.
//!
//! A run is a log of sealed events, which alone counts, and what follows from it: `run.yaml`, which people edit, and a file
//! for each activity. A store appends events at positions that rise without gaps and are given once, and says that they are
//! safe only when they are. Two writers of one run come one after the other: either the second one waits, or its commit is
//! a [`StoreError::Conflict`] and it decides again on what is there then. `tests/it/conformance/` is what a store has to pass.

use std::fmt;

use crate::codec::{LogEnd, LogScan};
use crate::model::{Event, Number, RunId, RunSummary, Seq, Timestamp};
use crate::store::address::{Address, Document};
use crate::store::batch::{ActivityFile, Batch, Committed, Merge, NewRun};
use crate::store::error::StoreError;
use crate::store::request::WriteRequest;

/// The runs of a project.
pub trait RunStore: fmt::Debug + Send + Sync {
    /// All runs, in no order.
    ///
    /// # Errors
    /// [`StoreError`] when that cannot be told.
    fn ids(&self) -> Result<Vec<RunId>, StoreError>;

    /// Opens a run.
    ///
    /// # Errors
    /// One that [`StoreError::is_not_found`] when there is no such run, others when it cannot be used.
    fn open(&self, id: &RunId) -> Result<Box<dyn StoredRun>, StoreError>;

    /// Opens those of these runs that are there, one after the other; one that cannot be opened is `visit`'s business.
    ///
    /// # Errors
    /// [`StoreError`] when none can be opened.
    fn each(&self, ids: &[RunId], visit: Visit<'_>) -> Result<(), StoreError> {
        for id in ids {
            match self.open(id) {
                Err(error) if error.is_not_found() => {}
                opened => visit(id, opened),
            }
        }
        Ok(())
    }

    /// Creates a run, wholly or not at all. `propose` is called with 1, 2, 3, … until the id that it proposes is free; when
    /// it answers `None` the run cannot be created under another id. No other run is created meanwhile, so `propose` may
    /// look at those that are there. `outside` is as in [`Self::maybe_open`].
    ///
    /// # Errors
    /// [`StoreError::Taken`] when every proposal is taken; others when it cannot be written, and nothing is left
    /// behind. [`StoreError::Unconfirmed`] when the run is there, but maybe not after a power cut.
    fn create(
        &self,
        request: &WriteRequest,
        outside: Option<&str>,
        propose: &mut dyn FnMut(usize) -> Option<NewRun>,
    ) -> Result<Box<dyn StoredRun>, StoreError>;

    /// The runs that may be open, which others are left out of as far as the store knows them to be over. `outside` is what
    /// else, changed, may have changed runs; `None` when that cannot be told. Writes nothing.
    ///
    /// # Errors
    /// As [`Self::ids`].
    fn maybe_open(&self, outside: Option<&str>) -> Result<MaybeOpen, StoreError> {
        let _ = outside;
        Ok(MaybeOpen { ids: self.ids()?, found: None })
    }

    /// All runs, with the summaries that the store keeps of those that are over; none by default. Writes nothing.
    ///
    /// # Errors
    /// As [`Self::ids`].
    fn listing(&self) -> Result<Listing, StoreError> {
        Ok(Listing::of(self.ids()?))
    }

    /// Remembers which of the runs that were read are over. `over` gives the summary of such a run, when it follows from
    /// `run.yaml` alone. Nothing rests on it, so nothing that goes wrong matters.
    fn remember_over(
        &self,
        request: &WriteRequest,
        read: MaybeOpen,
        outside: Option<&str>,
        over: &dyn Fn(&RunId) -> Option<RunSummary>,
    ) {
        let _ = (request, read, outside, over);
    }

    /// Remembers that a run is over. `read` reads it and answers as `over` does in [`Self::remember_over`]. `false` when too
    /// little is known about it or the others.
    fn remember_end(
        &self,
        request: &WriteRequest,
        id: &RunId,
        outside: Option<&str>,
        read: &dyn Fn() -> Option<RunSummary>,
    ) -> bool {
        let _ = (request, id, outside, read);
        true
    }

    /// Forgets which runs are over: one of them goes on.
    fn forget_over(&self, request: &WriteRequest) {
        let _ = request;
    }
}

/// Runs that are to be listed.
pub struct Listing {
    /// The runs, in no order.
    pub ids: Vec<RunId>,
    /// What is known of them without reading them.
    pub known: Summaries,
}

/// The summary of a run that is over: the one that reading it would give now. `None` when it has to be read.
pub type Summaries = Box<dyn Fn(&RunId) -> Option<RunSummary> + Send + Sync>;

impl Listing {
    /// These runs, of which nothing is known.
    #[must_use]
    pub fn of(ids: Vec<RunId>) -> Self {
        Self { ids, known: Box::new(|_| None) }
    }
}

impl fmt::Debug for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listing").field("ids", &self.ids).finish_non_exhaustive()
    }
}

/// What is done with each run that was opened.
pub type Visit<'a> = &'a mut dyn FnMut(&RunId, Result<Box<dyn StoredRun>, StoreError>);

/// One run, as readers see it: without a lock, whatever writers do meanwhile.
pub trait StoredRun: fmt::Debug + Send + Sync {
    /// The run.
    fn id(&self) -> &RunId;

    /// Where it or a document of it is, for messages.
    fn address(&self, document: Document<'_>) -> Address;

    /// Which of its parts are there.
    fn presence(&self) -> Presence;

    /// How far any writer got here, as far as that was noted; more than the log shows when an older one was put back.
    fn noted(&self) -> Seq;

    /// `run.yaml` alone; `None` when it is missing.
    ///
    /// # Errors
    /// [`StoreError`] when there is something that cannot be read as text.
    fn text(&self) -> Result<Option<String>, StoreError>;

    /// The whole log; empty without one.
    ///
    /// # Errors
    /// [`StoreError`] when there is a log that cannot be read.
    fn log(&self) -> Result<LogScan, StoreError>;

    /// The log's end behind `since`; `None` without a log.
    ///
    /// # Errors
    /// As [`Self::log`].
    fn end(&self, since: Seq) -> Result<Option<LogEnd>, StoreError>;

    /// The whole lines of the log behind `position`, which moves on. A log that was replaced is read from its beginning.
    ///
    /// # Errors
    /// As [`Self::log`].
    fn log_from(&self, position: &mut Position) -> Result<LogScan, StoreError>;

    /// The first event of the log, which pins the workflow; `None` when it cannot be read.
    ///
    /// # Errors
    /// As [`Self::log`].
    fn first_event(&self) -> Result<Option<Event>, StoreError>;

    /// Names of activity files in the order of their numbers, also of those that other programs wrote.
    ///
    /// # Errors
    /// [`StoreError`] when that cannot be told.
    fn activity_names(&self) -> Result<Vec<(Number, String)>, StoreError>;

    /// An activity file's text; `None` when it is missing.
    ///
    /// # Errors
    /// [`StoreError`] when there is something that cannot be read as text.
    fn activity(&self, name: &str) -> Result<Option<String>, StoreError>;

    /// Begins to write: brings the log in order, so that events can be appended. What follows from the log is not touched
    /// yet.
    ///
    /// # Errors
    /// [`StoreError::Held`] when another writer keeps the run for too long; others when it cannot be used.
    fn begin(&self, request: &WriteRequest) -> Result<Box<dyn RunWriter + '_>, StoreError>;
}

/// A run while it is written.
pub trait RunWriter: fmt::Debug {
    /// `run.yaml` as it is now; `None` when it is missing.
    ///
    /// # Errors
    /// As [`StoredRun::text`].
    fn text(&self) -> Result<Option<String>, StoreError>;

    /// The log's end, behind the position that was asked for last.
    fn end(&self) -> &LogEnd;

    /// Reads the log's end again, behind another position.
    ///
    /// # Errors
    /// As [`StoredRun::log`].
    fn read_end(&mut self, since: Seq) -> Result<(), StoreError>;

    /// The whole log.
    ///
    /// # Errors
    /// As [`StoredRun::log`].
    fn log(&self) -> Result<LogScan, StoreError>;

    /// The highest position and activity number that any writer noted, also when the run shows less.
    fn noted(&self) -> (Seq, Number);

    /// Whether the log is as the last writer here left it, so that what was checked then holds.
    fn is_as_left(&self) -> bool;

    /// Whether no activity file has this name.
    ///
    /// # Errors
    /// [`StoreError`] when that cannot be told.
    fn is_free(&self, name: &str) -> Result<bool, StoreError>;

    /// Commits events, and puts `run.yaml` and the files of their activities in place. All of the events are safe then, or
    /// it fails, and a part of them is at most there that nobody was told of. `merge` makes the new `run.yaml` from a text
    /// that a person saved after the decision.
    ///
    /// # Errors
    /// Before the commit point: any [`StoreError`], and nothing has happened; [`StoreError::Conflict`] when another writer was
    /// faster. At it: [`StoreError::Unconfirmed`], the events may or may not be there, and a retry with the same operation id
    /// is safe. Behind it there are no errors: see [`Committed::lagging`].
    ///
    /// # Panics
    /// When the position of an event is not behind the log's last one: a caller's mistake that must never reach a log.
    fn commit(&mut self, batch: &Batch<'_>, merge: Merge<'_>) -> Result<Committed, StoreError>;

    /// Brings what follows from the log up to it: `old` is the `run.yaml` that was read, `new` the one that the log demands,
    /// `files` those of the activities that the old one lacked.
    ///
    /// # Errors
    /// [`StoreError`]; the next writer starts over.
    fn roll_forward(
        &mut self,
        old: Option<&str>,
        new: &str,
        files: &[ActivityFile],
        now: Timestamp,
        merge: Merge<'_>,
    ) -> Result<(), StoreError>;

    /// Removes what dead writers left of texts that they were writing, and puts aside what is not flow's own. `shown` is a
    /// position that `run.yaml` shows beyond the log's end.
    ///
    /// # Errors
    /// [`StoreError`] when something cannot be read or removed.
    fn clear_leftovers(&mut self, shown: Seq, now: Timestamp) -> Result<(), StoreError>;

    /// Writes files of recorded activities anew that a power cut took. Gives what could not be looked at, in words.
    ///
    /// # Errors
    /// [`StoreError`] when the latest one cannot be looked at or written: nobody comes back to it.
    fn restore_lost(&mut self) -> Result<Option<String>, StoreError>;

    /// Writes those of these files that are missing or were cut off, and makes sure that all names are safe; any other
    /// difference is a person's and stays.
    ///
    /// # Errors
    /// [`StoreError`] when one cannot be looked at or written.
    fn restore(&mut self, files: &[ActivityFile]) -> Result<(), StoreError>;

    /// Puts a copy of `run.yaml` aside.
    ///
    /// # Errors
    /// [`StoreError`] when the copy is not safe.
    fn keep_text(&mut self, now: Timestamp) -> Result<(), StoreError>;

    /// Puts the activity file of this name aside, which stands in the way.
    ///
    /// # Errors
    /// [`StoreError`]; it is where it was then.
    fn set_aside(&mut self, name: &str, now: Timestamp) -> Result<(), StoreError>;

    /// What was put aside since the last call, in words for people.
    fn take_notes(&mut self) -> Vec<String>;
}

/// Which parts of a run are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// What flow needs.
    Whole,
    /// All but the log.
    WithoutLog,
    /// Nothing but what version control never knew: a checkout of another branch, or a stash, took its files away.
    Away,
}

/// Runs that are to be read to know which are open.
#[derive(Debug)]
pub struct MaybeOpen {
    /// The runs.
    pub ids: Vec<RunId>,
    /// What the store found out about the others; none when there is nothing to remember.
    pub(in crate::store) found: Option<Found>,
}

impl MaybeOpen {
    /// Whether reading the runs tells something that [`RunStore::remember_over`] can keep.
    #[must_use]
    pub fn is_news(&self) -> bool {
        self.found.is_some()
    }
}

/// What a store saw of its runs when it was asked which may be open.
#[derive(Debug)]
pub(in crate::store) struct Found {
    /// What the whole looked like.
    pub(in crate::store) world: String,
    /// What runs looked like that are over, and their summaries.
    pub(in crate::store) over: Vec<(String, RunSummary)>,
    /// The others.
    pub(in crate::store) looked_at: Vec<(RunId, String)>,
}

/// How far a log was read by one who follows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    /// Which of the logs that had this place, as its store tells them apart.
    pub(in crate::store) log: u64,
    /// How much of it.
    pub(in crate::store) offset: u64,
}
