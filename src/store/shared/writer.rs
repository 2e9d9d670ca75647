//! The writer of a run that several machines share.

use std::time::{Duration, Instant};

use crate::codec::{LogEnd, LogScan};
use crate::model::{Event, Explain as _, Seq, Timestamp};
use crate::store::batch::{ActivityFile, Batch, CommitReceipt, Merge};
use crate::store::chores::LocalChores;
use crate::store::error::{Result, StoreError};
use crate::store::local::LockedRun;
use crate::store::run_store::{Noted, RunWriter};
use crate::store::shared::carrier::{Put, window_of};
use crate::store::shared::copy::{Copies, shows_end};
use crate::store::shared::delegate::answered_by;
use crate::store::shared::settle::{PositionOwner, left_until, settle};

/// How long a repeated command waits to tell others what it repeats.
const TELLING: Duration = Duration::from_secs(5);

/// A locked copy, and the run that it is a copy of.
#[derive(Debug)]
pub(super) struct SharedWriter<'a> {
    copies: &'a Copies,
    copy: LockedRun<'a>,
    /// The boot of the machine.
    boot: String,
    /// How long to wait for the carrier.
    deadline: Instant,
    /// Whether the copy lacks a commit of this writer.
    is_behind: bool,
    /// The files that go to the carrier with the next commit.
    evidence: Vec<Vec<u8>>,
}

impl<'a> SharedWriter<'a> {
    pub(super) fn new(copies: &'a Copies, copy: LockedRun<'a>, boot: String, deadline: Instant) -> Self {
        Self { copies, copy, boot, deadline, is_behind: false, evidence: Vec::new() }
    }

    /// Whether this is the last line of the copy.
    fn ends_with(&self, line: &str) -> bool {
        let before = Seq(self.copy.end().last.0.saturating_sub(1));
        self.copy.lines_after(before).is_ok_and(|last| last == line)
    }
}

impl RunWriter for SharedWriter<'_> {
    answered_by! { copy:
        fn text(&self) -> Result<Option<String>>;
        fn end(&self) -> &LogEnd;
        fn with_text(&self, text: &str, enough: &dyn Fn(&Event) -> bool) -> Result<Vec<Event>>;
        fn noted(&self) -> Noted;
        fn is_as_left(&self) -> bool;
        fn is_free(&self, name: &str) -> Result<bool>;
    }

    fn read_end(&mut self, since: Seq) -> Result<()> {
        self.copy.read_end(since)
    }

    fn log(&self) -> Result<LogScan> {
        RunWriter::log(&self.copy)
    }

    fn put_evidence(&mut self, name: &str, bytes: &[u8], now: Timestamp) -> Result<()> {
        self.copy.put_evidence(name, bytes, now)?;
        self.evidence.push(bytes.to_vec());
        Ok(())
    }

    fn commit(&mut self, batch: &Batch<'_>, merge: Merge<'_>) -> Result<CommitReceipt> {
        let run = self.copy.id().clone();
        let lines = batch.sealed(self.copy.end().last)?;
        batch.refuse_full(&run)?;
        if self.is_behind {
            return Err(StoreError::Conflict { run, races: 1 });
        }
        let (first, last) = (&batch.events[0], batch.last());
        let (before, is_over) = (self.copy.end().last, shows_end(batch.new_text));
        let earlier = self.copy.lines_after(window_of(before))?;
        let evidence = &std::mem::take(&mut self.evidence);
        let (work, again) = (&batch.work, false);
        let put = Put { run: &run, before, earlier: &earlier, lines: &lines, is_over, evidence, work, again };
        if let PositionOwner::Theirs(theirs) = settle(&*self.copies.carrier, &put, self.deadline)? {
            // Behind another event than the one here, which the carrier had once, nothing may follow it.
            if theirs.at.is_some_and(|at| !self.ends_with(&at)) {
                return Err(StoreError::CopyDiffers { run });
            }
            self.copies.append(&mut self.copy, &theirs.lines, first.at)?;
            return Err(StoreError::Conflict { run, races: 1 });
        }
        // The record is acknowledged from here on: nothing below may fail the operation.
        let lagging = match self.copy.commit_unflushed(batch, &lines, merge) {
            Ok(lagging) => {
                self.copies.project.note_copy(&run, &self.boot);
                lagging
            }
            Err(error) => {
                self.is_behind = true;
                Some(error.one_line())
            }
        };
        Ok(CommitReceipt { seq: last.seq, lagging })
    }

    fn tell_again(&mut self) {
        let last = self.copy.end().last;
        let (Ok(Some(text)), Ok(lines)) = (self.copy.text(), self.copy.lines_after(Seq(last.0.saturating_sub(1))))
        else {
            return;
        };
        let left = left_until(self.deadline).min(TELLING);
        let _ = self.copies.carrier.list_again(self.copy.id(), &lines, shows_end(&text), left);
    }

    fn roll_forward(
        &mut self,
        old: Option<&str>,
        new: &str,
        files: &[ActivityFile],
        now: Timestamp,
        merge: Merge<'_>,
    ) -> Result<()> {
        self.copy.roll_forward(old, new, files, now, merge)
    }

    fn chores(&mut self) -> Option<&mut dyn LocalChores> {
        self.copy.chores()
    }
}
