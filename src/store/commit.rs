//! The commit: one sealed line, two projections.

use crate::codec::seal;
use crate::disk::{DiskError, File, NEW_FILE, Rename};
use crate::model::{Seq, limits};
use crate::store::batch::{Batch, Committed, Merge};
use crate::store::error::StoreError;
use crate::store::layout::{ACTIVITY_TMP, RUN_FILE, RUN_TMP};
use crate::store::run_dir::LockedRun;

impl LockedRun<'_> {
    /// Commits `batch`. `merge` makes the new `run.yaml` from a text that a person saved after the decision.
    ///
    /// # Errors
    /// Before the commit point: any [`StoreError`], and nothing has happened. At it: [`StoreError::Unconfirmed`], the
    /// operation may or may not have happened, and a retry with the same operation id is safe. Behind it there are no
    /// errors: see [`Committed::lagging`].
    ///
    /// # Panics
    /// When the event's position is not the next one: a caller's mistake that must never reach a log.
    pub fn commit(&mut self, batch: &Batch<'_>, merge: Merge<'_>) -> Result<Committed, StoreError> {
        let seq = batch.event.seq;
        assert!(seq > self.log.tail.last_seq, "BUG: event {seq} does not follow {}", self.log.tail.last_seq);
        let line = seal(&batch.event.to_object());
        if line.len() > limits::LINE_BYTES {
            return Err(StoreError::TooLong { limit: limits::LINE_BYTES });
        }
        if batch.new_text.len() > limits::RUN_BYTES {
            return Err(DiskError::TooLarge { path: self.run.dir.join(RUN_FILE), limit: limits::RUN_BYTES }.into());
        }
        self.log.check_place()?;
        if self.log.tail.last_seq <= Seq(1) {
            // Whoever created the run may have been killed before its name was on stable storage.
            self.run.runs.sync()?;
        }
        let new_run = self.prepare(batch)?;
        // File systems with a journal give the file its blocks now, and the flush of the log takes them along: the
        // second flush below then finds almost nothing to do.
        new_run.write_soon();
        let before = self.log.tail.len;
        self.log.append(&line).inspect_err(|_| self.discard())?;
        if let Err(errno) = self.log.sync().and_then(|()| new_run.sync_all()) {
            self.discard();
            return Err(self.log.unflushed(before, errno.into()));
        }
        match self.log.check_place() {
            // Git or an editor put another file there: the line went into the old one.
            Err(StoreError::Replaced { .. }) => {
                self.discard();
                return Err(self.log.misplaced(before));
            }
            placed => placed?,
        }
        // Acknowledged from here on: nothing below may fail the operation.
        let lagging = self.publish(batch, merge).err().map(|error| error.in_words());
        let number = batch.event.kind.records().iter().map(|record| record.number).max();
        let len = self.log.tail.len;
        self.log.lock.note_commit(seq, number.unwrap_or_default(), len);
        self.log.tail.advance(batch.event);
        Ok(Committed { seq, lagging })
    }

    /// Writes `run.yaml` and the first activity under their temporary names. Few events record more than one.
    fn prepare(&self, batch: &Batch<'_>) -> Result<File, StoreError> {
        let dir = &self.run.dir;
        // Somebody saved run.yaml during an earlier commit under this lock.
        self.set_aside(RUN_TMP, batch.event.at)?;
        let new_run = dir.create(RUN_TMP, batch.new_text.as_bytes(), dir.mode_of(RUN_FILE))?;
        if let Some(file) = batch.activities.first() {
            self.activities.create(ACTIVITY_TMP, file.text.as_bytes(), NEW_FILE).inspect_err(|_| self.discard())?;
        }
        Ok(new_run)
    }

    fn discard(&self) {
        let _ = self.run.dir.remove(RUN_TMP);
        let _ = self.activities.remove(ACTIVITY_TMP);
    }

    /// Puts all files into their places, the activities first: while `run.yaml` shows the older position, the next command
    /// restores whatever is missing.
    fn publish(&self, batch: &Batch<'_>, merge: Merge<'_>) -> Result<(), StoreError> {
        for (at, file) in batch.activities.iter().enumerate() {
            if at > 0 {
                self.activities.create(ACTIVITY_TMP, file.text.as_bytes(), NEW_FILE)?;
            }
            self.activities.rename(ACTIVITY_TMP, &file.name, Rename::NoReplace)?;
        }
        self.publish_run(Some(batch.old_text), batch.new_text, batch.event.at, merge)
    }
}
