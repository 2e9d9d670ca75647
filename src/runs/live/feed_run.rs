//! A run of a feed, and places in its log.

use std::fmt;
use std::str::FromStr;

use crate::engine::Attempt;
use crate::machine::Machine;
use crate::model::{Event, EventId, RunId, Seq, WorkflowId};
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::live::observe::{Observed, RunReport};
use crate::runs::look::evidence::{EvidenceFile, EvidenceItem, FileContent};
use crate::runs::look::log::{LogReport, page_of};
use crate::runs::look::outlook::Definitions;
use crate::store::Project;

/// A run of a feed. All that it says is of one moment.
#[derive(Debug, Clone, Copy)]
pub struct FeedRun<'f> {
    pub(in crate::runs) cx: &'f Context,
    pub(in crate::runs) project: &'f Project,
    pub(in crate::runs) definitions: &'f Definitions,
    pub(in crate::runs) observed: &'f Observed,
}

impl FeedRun<'_> {
    /// The run with everything that a page about it shows, now or after the event `at`.
    ///
    /// # Errors
    /// [`Error::NoSuchEvent`](crate::runs::Error::NoSuchEvent).
    pub fn report(&self, at: Option<Seq>) -> Result<RunReport> {
        self.observed.report(self.cx, self.project, self.definitions, at)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &RunId {
        self.observed.id()
    }

    /// The name of the workflow that it follows.
    #[must_use]
    pub fn workflow(&self) -> &WorkflowId {
        self.observed.workflow()
    }

    /// The workflow that it follows; none if it has no state machine.
    #[must_use]
    pub fn machine(&self) -> Option<&Machine> {
        self.observed.machine()
    }

    /// Records of activities up to the event `until`, the latest first, without the first `skip`, at most `limit`.
    #[must_use]
    pub fn activities(&self, until: Option<Seq>, skip: usize, limit: usize) -> Vec<Attempt> {
        let all = self.observed.activities().iter().rev();
        let known = all.filter(|attempt| until.is_none_or(|until| attempt.seq.is_none_or(|seq| seq <= until)));
        known.skip(skip).take(limit).cloned().collect()
    }

    /// What it refers to as evidence and artifacts, as of the time of `report`.
    ///
    /// # Errors
    /// [`Error::Store`](crate::runs::Error::Store) when its evidence cannot be listed.
    pub fn evidence(&self, report: &RunReport) -> Result<Vec<EvidenceItem>> {
        self.observed.evidence(self.cx, self.project, report)
    }

    /// At most `limit` bytes of a file that it refers to, from `offset` on.
    ///
    /// # Errors
    /// [`Error::NoSuchFile`](crate::runs::Error::NoSuchFile) if it does not refer to this file, or if the file is not there.
    pub fn content(&self, file: &EvidenceFile, offset: u64, limit: usize) -> Result<FileContent> {
        self.observed.content(self.cx, self.project, file, (offset, limit))
    }

    /// A part of its log: at most `limit` events after the position `after`.
    #[must_use]
    pub fn log(&self, after: Seq, limit: usize) -> LogReport {
        page_of(self.observed.log(), after, Some(limit))
    }

    /// The events after a cursor, at most `limit`.
    #[must_use]
    pub fn events_after(&self, cursor: &Cursor, limit: usize) -> EventsAfter {
        let log = self.observed.log();
        let is_there = |event: &Event| event.seq == cursor.seq && Some(&event.id) == cursor.id.as_ref();
        let reset = cursor.seq != Seq(0) && !log.events().any(is_there);
        let start = if reset { Cursor::default() } else { cursor.clone() };
        let mut newer = log.events().filter(|event| event.seq > start.seq);
        let shown: Vec<&Event> = newer.by_ref().take(limit).collect();
        let more = newer.next().is_some();
        let end = shown.last().map(|event| Cursor { seq: event.seq, id: Some(event.id.clone()) });
        EventsAfter { events: shown.into_iter().cloned().collect(), cursor: end.unwrap_or(start), reset, more }
    }
}

/// A place in the log of a run: an event, by its position and its id, so that a log that was repaired or replaced is
/// noticed. As a text, `SEQ:ID`. The default is before the first event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The position.
    pub seq: Seq,
    /// The id; none before the first event.
    pub id: Option<EventId>,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.id.as_ref().map_or("", |id| id.as_str()))
    }
}

impl FromStr for Cursor {
    type Err = ();
    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let (seq, id) = text.split_once(':').ok_or(())?;
        Ok(Self { seq: Seq(seq.parse().map_err(|_| ())?), id: Some(id.parse().map_err(|_| ())?) })
    }
}

/// Events of a run after a cursor.
#[derive(Debug, Clone, PartialEq)]
pub struct EventsAfter {
    /// The events, as `log` reports them.
    pub events: Vec<Event>,
    /// Where they end.
    pub cursor: Cursor,
    /// Whether the event at the given cursor is not in the log any more. Then these are the events from the beginning.
    pub reset: bool,
    /// Whether there are more.
    pub more: bool,
}
