//! What every store of runs promises.
//!
//! A run is a log of sealed events, and what follows from the log: `run.yaml`, which people edit, and a file for each
//! activity. Only the log counts. A store appends events at consecutive positions, gives no position twice, and
//! acknowledges events only when they are durable. Writers of one run are serialised: either the second one waits, or
//! its commit fails with [`StoreError::Conflict`] and it decides again on the new state. Every store has to pass
//! `tests/conformance/`.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::codec::{LogEnd, LogScan};
use crate::disk::{FilePart, Stat};
use crate::model::{Event, KeptEvidence, Number, RunId, RunSummary, Seq, Timestamp, limits};
use crate::store::address::{Address, Document};
use crate::store::batch::{ActivityFile, Batch, CommitReceipt, Merge, NewRun};
use crate::store::chores::LocalChores;
use crate::store::displaced::DisplacedEvents;
use crate::store::error::{HiddenRun, StoreError};
use crate::store::pruned::PrunedRun;
use crate::store::request::{LOCK_WAIT, WriteRequest};
use crate::store::shared_runs::{AsOf, SharedStore};

/// Tells whether a run changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStamp {
    /// A number that is the same as long as its log and its `run.yaml` are.
    Known(u64),
    /// The run has to be read.
    Unknown,
    /// It was not due.
    NotDue,
}

/// The runs of a project.
pub trait RunStore: fmt::Debug + Send + Sync {
    /// The ids of all runs, in no particular order.
    ///
    /// # Errors
    /// [`StoreError`] when the runs cannot be listed.
    fn ids(&self) -> Result<Vec<RunId>, StoreError>;

    /// Opens a run.
    ///
    /// # Errors
    /// An error with [`StoreError::is_not_found`] if the run does not exist; others if it cannot be used.
    fn open(&self, id: &RunId) -> Result<Box<dyn StoredRun>, StoreError>;

    /// Opens those of the given runs that exist, one after the other. The error of a single run goes to `visit`.
    ///
    /// # Errors
    /// [`StoreError`] when no run can be opened.
    fn each(&self, ids: &[RunId], visit: Visit<'_>) -> Result<(), StoreError> {
        for id in ids {
            match self.open(id) {
                Err(error) if error.is_not_found() => {}
                opened => visit(id, opened),
            }
        }
        Ok(())
    }

    /// The stamps of these runs, otherwise of all. Reads no file, and looks only at those that are `due`.
    ///
    /// # Errors
    /// As [`Self::ids`].
    fn stamps(&self, ids: Option<&[RunId]>, due: &dyn Fn(&RunId) -> bool)
    -> Result<Vec<(RunId, RunStamp)>, StoreError>;

    /// The directory of a run: something in it changes when the run changes. `None` for a store without directories.
    fn place(&self, _id: &RunId) -> Option<PathBuf> {
        None
    }

    /// The directories in which the directories of runs are: something in them changes when a run begins.
    fn places(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Creates a run, whole or not at all. Calls `propose` with 1, 2, 3, … until the proposed id is free or `propose`
    /// returns `None`. No other run is created meanwhile, so `propose` may look at the existing runs. `outside` is as
    /// in [`Self::maybe_open`].
    ///
    /// # Errors
    /// [`StoreError::Taken`] when every proposed id is taken, [`StoreError::Pruned`] when the last one was that of a pruned run; others when the run cannot be written, and then nothing
    /// is left behind. [`StoreError::Unconfirmed`] when the run exists but may not survive a power cut.
    fn create(
        &self,
        request: &WriteRequest,
        outside: Option<&str>,
        propose: NewRuns<'_>,
    ) -> Result<Box<dyn StoredRun>, StoreError>;

    /// What is known of a run whose files are not here because it was pruned. No run is created with its id. By default none
    /// was.
    ///
    /// # Errors
    /// [`StoreError`] when that cannot be read.
    fn pruned(&self, _id: &RunId) -> Result<Option<PrunedRun>, StoreError> {
        Ok(None)
    }

    /// The same by a part of an id, by which people name runs: its beginning, or its end behind a `-`. Of several runs the one that was
    /// pruned last.
    ///
    /// # Errors
    /// [`StoreError`] when that cannot be read.
    fn pruned_named(&self, _name: &str) -> Result<Option<PrunedRun>, StoreError> {
        Ok(None)
    }

    /// The runs that may be open. The store leaves out those that it knows to be finished, and has the summaries of those
    /// that it knows otherwise. `outside` stands for
    /// everything else that may change runs, such as git's index: if it differs from last time, runs may have changed.
    /// `None` if it is unknown. Writes nothing.
    ///
    /// # Errors
    /// As [`Self::ids`].
    fn maybe_open(&self, _outside: Option<&str>) -> Result<MaybeOpen, StoreError> {
        Ok(MaybeOpen { ids: self.ids()?, ..MaybeOpen::default() })
    }

    /// Calls `known` with the cached summaries, and returns the other runs. A summary is the same as reading the run
    /// would give now. `known` gets many at a time, possibly on several threads at once. By default
    /// nothing is cached. Writes nothing.
    ///
    /// # Errors
    /// As [`Self::ids`].
    fn listing(&self, _known: &(dyn Fn(Vec<RunSummary>) + Sync)) -> Result<Vec<RunId>, StoreError> {
        self.ids()
    }

    /// The store that several machines share. By default there is none.
    fn shared(&self) -> SharedStore<'_> {
        SharedStore::None
    }

    /// How long a command waits by default for other writers, and for the store that machines share.
    fn patience(&self) -> Duration {
        LOCK_WAIT
    }

    /// The cache of what lists show. By default nothing is cached.
    fn run_cache(&self) -> Option<&dyn RunCache> {
        None
    }
}

/// A cache that spares [`RunStore::maybe_open`] and [`RunStore::listing`] from having every run read. Nothing depends on it,
/// so errors are ignored.
pub trait RunCache {
    /// Caches what was read of these runs. `summary_of` returns the summary of a run that was read, if it follows from the
    /// run's files alone.
    fn remember(&self, read: MaybeOpen, summary_of: &dyn Fn(&RunId) -> Option<RunSummary>);

    /// Caches that a run has finished. `read` reads the run and returns its summary, if it follows from `run.yaml` alone.
    /// Returns `false` if that failed, for example because the cache is out of date.
    fn remember_end(&self, id: &RunId, outside: Option<&str>, read: &dyn Fn() -> Option<RunSummary>) -> bool;

    /// Called before a finished run is reopened and afterwards, so that no cache hides it. If the process is killed in
    /// between, the run is looked at from then on.
    fn remember_reopening(&self, request: &WriteRequest, id: &RunId, reopening: Reopening);
}

/// When a store is told that a finished run is reopened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reopening {
    /// Before.
    Begins,
    /// Afterwards, also if it failed.
    Ended,
}

/// Called with each run that was opened, or with the error of opening it.
pub type Visit<'a> = &'a mut dyn FnMut(&RunId, Result<Box<dyn StoredRun>, StoreError>);

/// Proposes the run to create; see [`RunStore::create`].
pub type NewRuns<'a> = &'a mut dyn FnMut(usize) -> Option<NewRun>;

/// One run, as readers see it: they take no lock and see whatever writers have published so far.
pub trait StoredRun: fmt::Debug + Send + Sync {
    /// The run's id.
    fn id(&self) -> &RunId;

    /// The address of the run or one of its documents, for messages.
    fn address(&self, document: Document<'_>) -> Address;

    /// Which parts of the run exist.
    fn parts(&self) -> RunParts;

    /// The highest position that any writer noted. It is beyond the log's end when an older log was put back.
    fn noted(&self) -> Seq;

    /// Whether git or another program changed the log after the last commit of this checkout.
    fn log_since_commit(&self) -> LogSinceCommit;

    /// `run.yaml`; `None` if it is missing.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read as text.
    fn text(&self) -> Result<Option<String>, StoreError>;

    /// The whole log; empty if it is missing.
    ///
    /// # Errors
    /// [`StoreError`] when the log cannot be read.
    fn log(&self) -> Result<LogScan, StoreError>;

    /// The log's end with the events after `since`; `None` if the log is missing.
    ///
    /// # Errors
    /// As [`Self::log`].
    fn end(&self, since: Seq) -> Result<Option<LogEnd>, StoreError>;

    /// The position of its last event; 0 without a log.
    ///
    /// # Errors
    /// As [`Self::log`].
    fn last(&self) -> Result<Seq, StoreError> {
        // No event is behind that one.
        Ok(self.end(Seq(u64::MAX))?.map(|end| end.last).unwrap_or_default())
    }

    /// As [`Self::end`]; `None` as well if the log is not in order there. For callers who then read all of it: no more is read
    /// than shows that.
    ///
    /// # Errors
    /// As [`Self::log`].
    fn orderly_end(&self, since: Seq) -> Result<Option<LogEnd>, StoreError> {
        Ok(self.end(since)?.filter(|end| end.ordered))
    }

    /// The whole lines of the log after `position`, which advances past them. A log that was replaced is read from its
    /// beginning. A reader that begins may be spared the events up to `after`.
    ///
    /// # Errors
    /// As [`Self::log`].
    fn log_from(&self, position: &mut ReadPosition, after: Seq) -> Result<LogScan, StoreError>;

    /// The first event of the log, which pins the workflow; `None` when it cannot be read.
    ///
    /// # Errors
    /// As [`Self::log`].
    fn first_event(&self) -> Result<Option<Event>, StoreError>;

    /// The activity files in the order of their numbers, including those of other programs.
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be listed.
    fn activity_names(&self) -> Result<Vec<(Number, String)>, StoreError>;

    /// The text of an activity file; `None` if it is missing.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read as text.
    fn activity(&self, name: &str) -> Result<Option<String>, StoreError>;

    /// The files that others put beside the run as evidence, by name, each with its length. By default there are none.
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be listed.
    fn evidence(&self) -> Result<Vec<(String, u64)>, StoreError> {
        Ok(Vec::new())
    }

    /// At most `limit` bytes of the evidence `name` from `offset` on; `None` if there is none of this name.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    fn read_evidence(&self, _name: &str, _offset: u64, _limit: usize) -> Result<Option<FilePart>, StoreError> {
        Ok(None)
    }

    /// The largest file of evidence that the store keeps, in bytes.
    fn evidence_limit(&self) -> usize {
        limits::EVIDENCE_BYTES
    }

    /// Brings files of evidence that other machines recorded, unless they are here as they were recorded.
    ///
    /// # Errors
    /// [`StoreError::Unreached`] when the store cannot be asked; others when they cannot be written.
    fn bring_evidence(&self, _kept: &[KeptEvidence], _request: &WriteRequest) -> Result<BroughtEvidence, StoreError> {
        Ok(BroughtEvidence::default())
    }

    /// Whether what readers see is all that the store has. A copy of a run that other machines write may be behind.
    fn is_current(&self) -> bool {
        true
    }

    /// Brings a copy that may be behind up to date, so that it is current. Returns messages about what was moved to
    /// quarantine.
    ///
    /// # Errors
    /// [`StoreError::Unreached`] when the store cannot be asked; others when the copy cannot be written.
    fn catch_up(&self, _request: &WriteRequest) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// Up to when a copy is known to be current; `None` for a run that is not a copy.
    fn as_of(&self) -> Option<AsOf> {
        None
    }

    /// Whether the store had lost this shared run, or its end, when it was asked last.
    fn is_lost(&self) -> bool {
        false
    }

    /// The run of this checkout alone that is not shown because this one has its id. A run that hides one is not written.
    fn hides(&self) -> Option<HiddenRun> {
        None
    }

    /// The events that were acknowledged in this shared run, and that its store has lost and has others in place of.
    fn displaced(&self) -> Option<DisplacedEvents> {
        None
    }

    /// Begins to write: repairs the end of the log, so that events can be appended. The projections are not touched
    /// yet.
    ///
    /// # Errors
    /// [`StoreError::Held`] when another writer holds the run for too long; others when the run cannot be used.
    fn begin(&self, request: &WriteRequest) -> Result<Box<dyn RunWriter + '_>, StoreError>;
}

/// The highest numbers that any writer of a run noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Noted {
    /// The position of an event.
    pub seq: Seq,
    /// The number of an activity.
    pub number: Number,
}

/// A run while it is written.
pub trait RunWriter: fmt::Debug {
    /// `run.yaml` as it is now; `None` when it is missing.
    ///
    /// # Errors
    /// As [`StoredRun::text`].
    fn text(&self) -> Result<Option<String>, StoreError>;

    /// The log's end, with the events after the position of the last [`Self::read_end`].
    fn end(&self) -> &LogEnd;

    /// Reads the log's end again, with the events after `since`.
    ///
    /// # Errors
    /// As [`StoredRun::log`].
    fn read_end(&mut self, since: Seq) -> Result<(), StoreError>;

    /// The whole log.
    ///
    /// # Errors
    /// As [`StoredRun::log`].
    fn log(&self) -> Result<LogScan, StoreError>;

    /// The events whose lines have `text` in them, latest first. Only these lines are parsed. The search begins at the end of
    /// the log and stops behind an event that is `enough`.
    ///
    /// # Errors
    /// As [`StoredRun::log`].
    fn with_text(&self, text: &str, enough: &dyn Fn(&Event) -> bool) -> Result<Vec<Event>, StoreError>;

    /// What writers noted, even if the log shows lower numbers.
    fn noted(&self) -> Noted;

    /// Whether the log is unchanged since the last commit of this checkout, so that checks made then still hold.
    fn is_as_left(&self) -> bool;

    /// Whether no activity file has this name.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be looked up.
    fn is_free(&self, name: &str) -> Result<bool, StoreError>;

    /// Puts a file among the run's evidence, under the name of one file. It is durable when the next commit of this writer is
    /// acknowledged. Another file of this name is first moved to quarantine.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be written; nothing was committed then.
    fn put_evidence(&mut self, name: &str, bytes: &[u8], now: Timestamp) -> Result<(), StoreError>;

    /// Commits events, and updates `run.yaml` and the activity files. On success all events are durable. After a
    /// failure the log may have some of them, but none is acknowledged. `merge` merges the change into a text that a
    /// person saved after the decision.
    ///
    /// # Errors
    /// Before the commit point: any [`StoreError`], and nothing has changed; [`StoreError::Conflict`] when another
    /// writer committed first. At the commit point: [`StoreError::Unconfirmed`]; the events may or may not be durable,
    /// and a retry with the same operation id is safe. After the commit point there are no errors; see
    /// [`CommitReceipt::lagging`].
    ///
    /// # Panics
    /// If the position of an event is not after the log's last one. That is a bug in the caller, and must never reach a
    /// log.
    fn commit(&mut self, batch: &Batch<'_>, merge: Merge<'_>) -> Result<CommitReceipt, StoreError>;

    /// Announces the run's last position again, in case the writer that should have done so died. If this fails, readers
    /// still find the events in the log. By default all readers look at the log.
    fn tell_again(&mut self) {}

    /// Updates the projections from a log that is ahead of them. `old` is the `run.yaml` that was read, `new` the one
    /// that follows from the log, `files` are those of the activities that `old` lacks.
    ///
    /// # Errors
    /// [`StoreError`]; the next writer then starts over.
    fn roll_forward(
        &mut self,
        old: Option<&str>,
        new: &str,
        files: &[ActivityFile],
        now: Timestamp,
        merge: Merge<'_>,
    ) -> Result<(), StoreError>;

    /// The chores for a run that is kept as files: programs die and people edit, so there is something to tidy. By default
    /// there is nothing to do.
    fn chores(&mut self) -> Option<&mut dyn LocalChores> {
        None
    }
}

/// The names of files of evidence that a store was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BroughtEvidence {
    /// Those that came.
    pub came: Vec<String>,
    /// Those that the store does not have.
    pub lacking: Vec<String>,
}

/// Which parts of a run exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunParts {
    /// All that flow needs.
    Whole,
    /// All but the log.
    WithoutLog,
    /// Only files that git ignores: a checkout of another branch, or a stash, removed the others.
    Away,
    /// Nothing: the directory is empty.
    Nothing,
    /// Neither `run.yaml` nor the log, and other files. If git removed these two, the others were not committed yet.
    Emptied,
}

/// Whether a log has the length that it had after the last commit of this checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSinceCommit {
    /// It has.
    Same,
    /// It has not: git or another program changed it, or a writer is at work.
    Changed,
    /// No commit of this checkout is known.
    Unknown,
}

/// The runs among which the open ones are.
#[derive(Debug, Default)]
pub struct MaybeOpen {
    /// The summaries of those that have not changed since they were read. They are open.
    pub known: Vec<RunSummary>,
    /// Those that have to be read.
    pub ids: Vec<RunId>,
    /// What the store found out about the runs; `None` if it cannot cache anything.
    pub(in crate::store) seen: Option<SeenRuns>,
    /// How many at the end of each list are copies of shared runs.
    pub(in crate::store) copies: CopyCounts,
}

/// How many runs of a [`MaybeOpen`] are copies of shared runs, and what was found out about these.
#[derive(Debug, Default)]
pub(in crate::store) struct CopyCounts {
    pub(in crate::store) known: usize,
    pub(in crate::store) ids: usize,
    pub(in crate::store) seen: Option<SeenRuns>,
}

/// From how many runs on it is worth the while to cache what was found out about them.
pub const WORTH_CACHING: usize = 32;
/// The same in bytes of `run.yaml`: some four thousand activities.
const LONG: u64 = 64 << 10;

impl MaybeOpen {
    /// Whether every run was looked at, so that [`RunCache::remember`] saves the next caller from that.
    #[must_use]
    pub fn is_news(&self) -> bool {
        matches!(&self.seen, Some(seen) if matches!(seen.finished, SeenFinished::All { .. }))
    }

    /// Whether so many or so long runs were looked at or have to be read that even a caller who only reads should call
    /// [`RunCache::remember`].
    #[must_use]
    pub fn is_much(&self) -> bool {
        let Some(seen) = &self.seen else { return false };
        let looked_at = match &seen.finished {
            SeenFinished::All { known, .. } => known.len() + self.known.len(),
            // The cache is up to date but for the runs that have to be read.
            SeenFinished::Recent(_) => 0,
        };
        let to_read: u64 = seen.looked_at.iter().filter_map(|files| files.text).map(|text| text.len).sum();
        looked_at + self.ids.len() >= WORTH_CACHING || to_read >= LONG
    }

    /// The ids of all of them.
    #[must_use]
    pub fn all_ids(self) -> Vec<RunId> {
        let known = self.known.into_iter().map(|run| run.head.run_id);
        known.chain(self.ids).collect()
    }
}

/// What the store saw when it looked for open runs.
#[derive(Debug)]
pub(in crate::store) struct SeenRuns {
    /// The stamps of all that shows whether other runs may be open, from before they were looked at.
    pub(in crate::store) world: String,
    /// The stamps of [`MaybeOpen::known`].
    pub(in crate::store) stamps: Vec<u64>,
    /// What was seen of [`MaybeOpen::ids`].
    pub(in crate::store) looked_at: Vec<FileStats>,
    /// The finished runs.
    pub(in crate::store) finished: SeenFinished,
}

/// The metadata of a run's files from before it is read.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::store) struct FileStats {
    /// That of `run.yaml`.
    pub(in crate::store) text: Option<Stat>,
    /// That of the log.
    pub(in crate::store) log: Option<Stat>,
}

/// The finished runs that a store saw.
#[derive(Debug)]
pub(in crate::store) enum SeenFinished {
    /// All of them, each with its stamp.
    All {
        known: Vec<(String, RunSummary)>,
        /// Whether the cache has many that are gone.
        is_outdated: bool,
    },
    /// Those that finished last, each with its stamp.
    Recent(Vec<(RunId, String)>),
}

/// How far a reader that follows a log has read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadPosition {
    /// Identifies the log file, which may be replaced.
    pub log: u64,
    /// The offset in bytes.
    pub offset: u64,
}
