//! What one operation writes, and its result.

use crate::codec::{digest, emit, seal};
use crate::model::{ActivityRecorded, Event, EventKind, Number, RunId, Seq, TextDigest, limits};
use crate::store::error::{Result, StoreError};
use crate::store::work::{WorkChange, WorkKey};

/// The file of a recorded activity in the directory of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ActivityFile {
    /// Its name, `NNN-id.yaml`.
    pub name: String,
    /// Its text, as it is written.
    pub text: String,
}

impl ActivityFile {
    /// The file of a record.
    #[must_use]
    pub fn of(record: &ActivityRecorded) -> Self {
        Self { name: record.number.file_name(&record.id()), text: emit(&record.activity) }
    }

    /// The files that a commit of these events writes.
    #[must_use]
    pub fn of_records(events: &[Event]) -> Vec<Self> {
        events.iter().flat_map(|event| event.kind.records()).map(Self::of).collect()
    }

    /// The files of all records of these events, including those that a repair recovered from activity files.
    pub fn of_all<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Self> {
        let mut files = Vec::new();
        for event in events {
            let records = match &event.kind {
                EventKind::LogRepaired(repair) => &repair.salvaged,
                kind => kind.records(),
            };
            files.extend(records.iter().map(Self::of));
        }
        files
    }
}

/// Everything that one operation writes; complete before the first write.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The events, at least one. Their positions continue the log without gaps.
    pub events: &'a [Event],
    /// Events of the log that `old_text` does not show yet, because others who append at the same time have not published
    /// theirs. The decision is based on them as well.
    pub earlier: &'a [Event],
    /// The `run.yaml` that was read.
    pub old_text: &'a str,
    /// The `run.yaml` after the events.
    pub new_text: &'a str,
    /// What the run is about from now on, and what it is no longer about.
    pub work: WorkChange,
}

impl Batch<'_> {
    /// The last event.
    #[must_use]
    pub(in crate::store) fn last(&self) -> &Event {
        self.events.last().expect("BUG: nothing is committed")
    }

    /// The highest number of an activity in it; 0 without one.
    #[must_use]
    pub(in crate::store) fn last_number(&self) -> Number {
        last_number(self.events)
    }

    /// The events as sealed lines, for a log that ends at `last`.
    ///
    /// # Errors
    /// [`StoreError::TooLong`].
    ///
    /// # Panics
    /// As [`RunWriter::commit`](super::RunWriter::commit).
    pub fn sealed(&self, last: Seq) -> Result<String> {
        let mut lines = String::new();
        let mut before = last;
        for event in self.events {
            assert!(event.seq > before, "BUG: event {} does not follow {before}", event.seq);
            before = event.seq;
            let line = seal(event);
            if line.len() > limits::LINE_BYTES {
                return Err(StoreError::TooLong { limit: limits::LINE_BYTES });
            }
            lines.push_str(&line);
        }
        Ok(lines)
    }

    /// Whether flow wrote this `run.yaml` with one of the events, or it is the one that was read.
    #[must_use]
    pub(in crate::store) fn knows(&self, text: &str) -> bool {
        if text == self.old_text || self.earlier.is_empty() {
            return text == self.old_text;
        }
        // Only a commit among others is published by another writer, so the digest is rarely needed.
        let digest = Some(TextDigest(digest(text.as_bytes())));
        self.earlier.iter().chain(self.events).any(|event| event.run == digest)
    }

    /// Refuses to add work to a run whose `run.yaml` is as large as it may be. What ends a run always fits.
    ///
    /// # Errors
    /// [`StoreError::Full`]; [`StoreError::NoRoom`] if the same with a shorter text would fit.
    pub fn refuse_full(&self, run: &RunId) -> Result<()> {
        let adds_work = self
            .events
            .iter()
            .any(|event| matches!(event.kind, EventKind::ActivityRecorded(_) | EventKind::Emitted(_)));
        let limit = if adds_work { limits::FULL_RUN_BYTES } else { limits::RUN_BYTES };
        if self.new_text.len() <= limit {
            return Ok(());
        }
        let room = limit.saturating_sub(self.old_text.len());
        if room >= ROOM {
            return Err(StoreError::NoRoom { run: run.clone(), room });
        }
        Err(StoreError::Full { run: run.clone(), limit })
    }
}

/// How much every command may let `run.yaml` grow, if its texts are short.
const ROOM: usize = 2 << 10;

/// The highest number of an activity in these events; 0 without one.
pub(in crate::store) fn last_number(events: &[Event]) -> Number {
    let records = events.iter().flat_map(|event| event.kind.records());
    records.map(|record| record.number).max().unwrap_or_default()
}

/// The result of a commit: its events are on stable storage.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitReceipt {
    /// The position of its last event.
    pub seq: Seq,
    /// Why a projection could not be updated, if so. The next command updates it.
    pub lagging: Option<String>,
}

/// A run to create.
#[derive(Debug)]
pub struct NewRun {
    /// The id under which it is created, if that is free.
    pub id: RunId,
    /// `run.yaml`.
    pub text: String,
    /// The first events.
    pub events: Vec<Event>,
    /// What it is about. A store that several machines share refuses it with [`StoreError::WorkTaken`] when another open
    /// run is about the same; in others `propose` sees to that.
    pub work: Vec<WorkKey>,
}

/// Merges the change into a text that a person saved meanwhile. `None` leaves that to the next command.
pub type Merge<'a> = &'a mut dyn FnMut(&str) -> Option<String>;
