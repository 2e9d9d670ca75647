//! What an operation writes, and what comes of it.

use crate::codec::emit;
use crate::model::{ActivityRecorded, Event, EventKind, RunId, Seq};

/// An activity file.
#[derive(Debug, Clone, PartialEq)]
pub struct ActivityFile {
    /// Its name, `NNN-id.yaml`.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl ActivityFile {
    /// The file of a record.
    #[must_use]
    pub fn of(record: &ActivityRecorded) -> Self {
        Self { name: record.number.file_name(&record.id()), text: emit(&record.activity) }
    }

    /// The files that a commit of these events writes.
    pub(in crate::store) fn of_records(events: &[Event]) -> Vec<Self> {
        events.iter().flat_map(|event| event.kind.records()).map(Self::of).collect()
    }

    /// The files of all records of these events, and of those that a repair found again.
    pub fn of_all<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Self> {
        let records = |event: &'a Event| match &event.kind {
            EventKind::LogRepaired(repair) => &repair.salvaged,
            kind => kind.records(),
        };
        events.into_iter().flat_map(records).map(Self::of).collect()
    }
}

/// All that one operation writes, built before anything is written.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The events, at least one. The position of the first must be the next one, and so on.
    pub events: &'a [Event],
    /// The `run.yaml` on which the decision was made.
    pub old_text: &'a str,
    /// The `run.yaml` that shows the events.
    pub new_text: &'a str,
}

/// An operation that is on stable storage.
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    /// The position of its last event.
    pub seq: Seq,
    /// Why a projection could not be brought up to it; the next command will.
    pub lagging: Option<String>,
}

/// The beginning of a run.
#[derive(Debug)]
pub struct NewRun {
    /// Its id.
    pub id: RunId,
    /// `run.yaml`.
    pub text: String,
    /// The first events.
    pub events: Vec<Event>,
}

/// Makes the new text from one that a person saved meanwhile; `None` when that has to wait for the next command.
pub type Merge<'a> = &'a mut dyn FnMut(&str) -> Option<String>;
