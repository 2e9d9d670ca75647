//! The writer of a run that several machines share.

use std::time::Instant;

use crate::codec::{LogEnd, LogScan};
use crate::model::{Event, Explain as _, Number, Seq, Timestamp};
use crate::store::batch::{ActivityFile, Batch, Committed, Merge};
use crate::store::chores::LocalChores;
use crate::store::error::StoreError;
use crate::store::local::LockedRun;
use crate::store::run_store::{RunWriter, StoredRun as _};
use crate::store::shared::carrier::Put;
use crate::store::shared::copy::shows_end;
use crate::store::shared::run::SharedRun;
use crate::store::shared::settle::{Settled, settle};

/// A locked copy, and the run that it is a copy of.
#[derive(Debug)]
pub(super) struct SharedWriter<'a> {
    run: &'a SharedRun,
    copy: LockedRun<'a>,
    /// How long to wait for the carrier.
    deadline: Instant,
    /// Whether the copy lacks a commit of this writer.
    is_behind: bool,
}

impl<'a> SharedWriter<'a> {
    pub(super) fn new(run: &'a SharedRun, copy: LockedRun<'a>, deadline: Instant) -> Self {
        Self { run, copy, deadline, is_behind: false }
    }
}

impl RunWriter for SharedWriter<'_> {
    fn text(&self) -> Result<Option<String>, StoreError> {
        self.copy.text()
    }

    fn end(&self) -> &LogEnd {
        self.copy.end()
    }

    fn read_end(&mut self, since: Seq) -> Result<(), StoreError> {
        self.copy.read_end(since)
    }

    fn log(&self) -> Result<LogScan, StoreError> {
        RunWriter::log(&self.copy)
    }

    fn with_text(&self, text: &str) -> Result<Vec<Event>, StoreError> {
        self.copy.with_text(text)
    }

    fn noted(&self) -> (Seq, Number) {
        self.copy.noted()
    }

    fn is_as_left(&self) -> bool {
        self.copy.is_as_left()
    }

    fn is_free(&self, name: &str) -> Result<bool, StoreError> {
        self.copy.is_free(name)
    }

    fn commit(&mut self, batch: &Batch<'_>, merge: Merge<'_>) -> Result<Committed, StoreError> {
        let conflict = || StoreError::Conflict { run: self.run.id().clone(), races: 1 };
        let lines = batch.sealed(self.copy.end().last)?;
        batch.refuse_full(self.run.id())?;
        if self.is_behind {
            return Err(conflict());
        }
        let (first, last) = (&batch.events[0], batch.events.last().expect("BUG: nothing is committed"));
        let before = self.copy.end().last;
        let put =
            Put { run: self.run.id(), before, lines: &lines, is_over: shows_end(batch.new_text), work: &batch.work };
        let copies = &self.run.copies;
        if let Settled::Theirs(theirs) = settle(&*copies.carrier, &put, &first.id, self.deadline)? {
            copies.append(&mut self.copy, &theirs, first.at)?;
            return Err(conflict());
        }
        // The record is acknowledged from here on: nothing below may fail the operation.
        let lagging = match self.copy.commit_unflushed(batch, &lines, merge) {
            Ok(lagging) => lagging,
            Err(error) => {
                self.is_behind = true;
                Some(error.one_line())
            }
        };
        Ok(Committed { seq: last.seq, lagging })
    }

    fn roll_forward(
        &mut self,
        old: Option<&str>,
        new: &str,
        files: &[ActivityFile],
        now: Timestamp,
        merge: Merge<'_>,
    ) -> Result<(), StoreError> {
        self.copy.roll_forward(old, new, files, now, merge)
    }

    fn chores(&mut self) -> Option<&mut dyn LocalChores> {
        self.copy.chores()
    }
}
