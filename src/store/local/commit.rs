//! The commit: appends sealed lines to the log, then updates the projections.

use crate::codec::RunText;
use crate::disk::{DiskError, File, NEW_FILE, Operation, Rename, Wait};
use crate::model::{Explain as _, Seq, Timestamp, limits};
use crate::store::batch::{ActivityFile, Batch, CommitReceipt, Merge};
use crate::store::error::{Result, StoreError};
use crate::store::local::layout::{ACTIVITY_TMP, RUN_FILE, RUN_TMP, run_tmp_of};
use crate::store::local::run_dir::LockedRun;

impl LockedRun<'_> {
    /// Implements [`RunWriter::commit`](crate::store::RunWriter::commit).
    pub(super) fn commit_batch(&mut self, batch: &Batch<'_>, merge: Merge<'_>) -> Result<CommitReceipt> {
        let lines = batch.sealed(self.log.tail.end.last)?;
        let last = batch.last();
        batch.refuse_full(&self.run.id)?;
        if self.log.has_moved_on {
            return Err(StoreError::Conflict { run: self.run.id.clone(), races: 1 });
        }
        self.log.check_place()?;
        if self.log.tail.end.last <= Seq(1) {
            // The process that created the run may have been killed before it flushed the run's name.
            self.run.runs.sync()?;
        }
        let lagging = if self.log.is_held() || !batch.earlier.is_empty() {
            self.commit_with_others(batch, &lines, merge)?
        } else {
            self.commit_alone(batch, &lines, merge)?
        };
        self.log.tail.end.advance(last);
        Ok(CommitReceipt { seq: last.seq, lagging })
    }

    /// Commits while no one else waits for the lock. Returns why the projections could not be updated, if so: the record
    /// counts in any case.
    fn commit_alone(&mut self, batch: &Batch<'_>, lines: &str, merge: Merge<'_>) -> Result<Option<String>> {
        let last = batch.last();
        let files = ActivityFile::of_records(batch.events);
        let new_run = self.prepare(batch.new_text, files.first(), last.at)?;
        // On file systems with a journal this allocates the blocks now, so that the flush of the log also writes the
        // file. The second flush below then has almost nothing to do.
        new_run.write_soon();
        self.log.commit(lines, || new_run.sync_all()).inspect_err(|_| self.discard())?;
        // The record is acknowledged from here on: nothing below may fail the operation.
        let published = self.publish(batch, &files, files.len().min(1), last.at, merge);
        self.log.lock.note_commit(last.seq, batch.last_number(), self.log.tail.len);
        Ok(published.err().map(|error| error.one_line()))
    }

    /// Appends lines that are durable elsewhere, and shows them. Nothing is flushed. Returns why the projections could not be
    /// updated, if so.
    pub(in crate::store) fn commit_unflushed(
        &mut self,
        batch: &Batch<'_>,
        lines: &str,
        merge: Merge<'_>,
    ) -> Result<Option<String>> {
        let last = batch.last();
        let files = ActivityFile::of_records(batch.events);
        self.prepare(batch.new_text, files.first(), last.at)?;
        self.log.check_place().and_then(|()| self.log.append(lines)).inspect_err(|_| self.discard())?;
        let published = self.publish(batch, &files, files.len().min(1), last.at, merge);
        self.log.lock.note_commit(last.seq, batch.last_number(), self.log.tail.len);
        self.log.tail.end.advance(last);
        Ok(published.err().map(|error| error.one_line()))
    }

    /// As [`Self::commit_alone`], while others append and flush as well: the lock is free during the flush. The first one
    /// to publish shows all events up to its own, so that the others have nothing left to do.
    fn commit_with_others(&mut self, batch: &Batch<'_>, lines: &str, merge: Merge<'_>) -> Result<Option<String>> {
        let last = batch.last();
        let name = run_tmp_of(last.seq);
        let dir = &self.run.dir;
        // A file of this name is a dead writer's: no living one has this position.
        dir.remove(&name)?;
        let new_run = dir.create(&name, batch.new_text.as_bytes(), dir.mode_of(RUN_FILE))?;
        // By this lock others see that this writer lives.
        let committed = match new_run.lock(Wait::No) {
            Ok(()) => self.log.commit_with_others(lines, &new_run),
            Err(errno) => Err(DiskError::io(Operation::Lock, dir.join(&name), errno).into()),
        };
        let flushed = committed.inspect_err(|_| drop(dir.remove(&name)))?;
        // The numbers first: another writer may acknowledge its own record as soon as it sees that it is published.
        self.log.lock.note_counters(last.seq, batch.last_number());
        let published = match flushed {
            Ok(()) => self.publish_unless_shown(batch, &name, merge),
            Err(errno) => Err(DiskError::io(Operation::Flush, self.run.dir.join(&name), errno).into()),
        };
        let _ = self.run.dir.remove(&name);
        Ok(published.err().map(|error| error.one_line()))
    }

    fn publish_unless_shown(&self, batch: &Batch<'_>, name: &str, merge: Merge<'_>) -> Result<()> {
        let (dir, last) = (&self.run.dir, batch.last());
        let text = dir.read_text(RUN_FILE, limits::RUN_BYTES)?;
        let shown = text.as_deref().and_then(RunText::shown_in);
        // Another writer has published it, and `run.yaml` must not go back.
        if shown >= Some(last.seq) {
            return Ok(());
        }
        self.set_text_aside(RUN_TMP, last.at)?;
        dir.rename(name, RUN_TMP, Rename::NoReplace)?;
        self.publish(batch, &ActivityFile::of_records(batch.events), 0, last.at, merge)
    }

    /// Writes `run.yaml` and the first activity file under temporary names. Few commits have more than one activity.
    fn prepare(&self, new_text: &str, first: Option<&ActivityFile>, now: Timestamp) -> Result<File> {
        let dir = &self.run.dir;
        // A leftover here is what a person saved during an earlier commit under this lock.
        self.set_text_aside(RUN_TMP, now)?;
        let new_run = dir.create(RUN_TMP, new_text.as_bytes(), dir.mode_of(RUN_FILE))?;
        if let Some(file) = first {
            self.activities.create(ACTIVITY_TMP, file.text.as_bytes(), NEW_FILE).inspect_err(|_| self.discard())?;
        }
        Ok(new_run)
    }

    fn discard(&self) {
        let _ = self.run.dir.remove(RUN_TMP);
        let _ = self.activities.remove(ACTIVITY_TMP);
    }

    /// Renames all files into place, the activities first: while `run.yaml` shows the older position, the next command
    /// restores what is missing. The first `prepared` activity files are there under their temporary name.
    fn publish(
        &self,
        batch: &Batch<'_>,
        files: &[ActivityFile],
        prepared: usize,
        now: Timestamp,
        merge: Merge<'_>,
    ) -> Result<()> {
        for file in ActivityFile::of_records(batch.earlier) {
            // A writer in between may have put it into place already.
            if !self.activities.exists(&file.name)? {
                self.put_activity(&file, false)?;
            }
        }
        for (at, file) in files.iter().enumerate() {
            self.put_activity(file, at < prepared)?;
        }
        self.publish_run(Some(batch.old_text), batch.new_text, |text| batch.knows(text), now, merge)
    }

    /// Puts an activity file into place; it never replaces one.
    fn put_activity(&self, file: &ActivityFile, is_prepared: bool) -> Result<(), DiskError> {
        if !is_prepared {
            self.activities.create(ACTIVITY_TMP, file.text.as_bytes(), NEW_FILE)?;
        }
        self.activities.rename(ACTIVITY_TMP, &file.name, Rename::NoReplace)
    }
}
