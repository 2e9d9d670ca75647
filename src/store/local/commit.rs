//! The commit: appends sealed lines to the log, then updates the projections.

use crate::codec::seal;
use crate::disk::{File, NEW_FILE, Rename};
use crate::model::{Seq, Timestamp, limits};
use crate::store::batch::{ActivityFile, Batch, Committed, Merge};
use crate::store::error::StoreError;
use crate::store::local::layout::{ACTIVITY_TMP, RUN_FILE, RUN_TMP};
use crate::store::local::run_dir::LockedRun;

impl LockedRun<'_> {
    /// Implements [`RunWriter::commit`](crate::store::RunWriter::commit).
    pub(super) fn commit_batch(&mut self, batch: &Batch<'_>, merge: Merge<'_>) -> Result<Committed, StoreError> {
        let lines = self.sealed(batch)?;
        let last = batch.events.last().expect("BUG: nothing is committed");
        batch.refuse_full(&self.run.id)?;
        self.log.check_place()?;
        if self.log.tail.end.last <= Seq(1) {
            // The process that created the run may have been killed before it flushed the run's name.
            self.run.runs.sync()?;
        }
        let files = ActivityFile::of_records(batch.events);
        let now = last.at;
        let new_run = self.prepare(batch.new_text, files.first(), now)?;
        // On file systems with a journal this allocates the blocks now, so that the flush of the log also writes the
        // file. The second flush below then has almost nothing to do.
        new_run.write_soon();
        self.log.commit(&lines, || new_run.sync_all()).inspect_err(|_| self.discard())?;
        // The record is acknowledged from here on: nothing below may fail the operation.
        let lagging = self.publish(batch, &files, now, merge).err().map(|error| error.in_words());
        let records = batch.events.iter().flat_map(|event| event.kind.records());
        let number = records.map(|record| record.number).max();
        let len = self.log.tail.len;
        self.log.lock.note_commit(last.seq, number.unwrap_or_default(), len);
        self.log.tail.end.advance(last);
        Ok(Committed { seq: last.seq, lagging })
    }

    /// The events as sealed lines.
    fn sealed(&self, batch: &Batch<'_>) -> Result<String, StoreError> {
        let mut lines = String::new();
        let mut before = self.log.tail.end.last;
        for event in batch.events {
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

    /// Writes `run.yaml` and the first activity file under temporary names. Few commits have more than one activity.
    fn prepare(&self, new_text: &str, first: Option<&ActivityFile>, now: Timestamp) -> Result<File, StoreError> {
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
    /// restores what is missing.
    fn publish(
        &self,
        batch: &Batch<'_>,
        files: &[ActivityFile],
        now: Timestamp,
        merge: Merge<'_>,
    ) -> Result<(), StoreError> {
        for (at, file) in files.iter().enumerate() {
            if at > 0 {
                self.activities.create(ACTIVITY_TMP, file.text.as_bytes(), NEW_FILE)?;
            }
            self.activities.rename(ACTIVITY_TMP, &file.name, Rename::NoReplace)?;
        }
        self.publish_run(Some(batch.old_text), batch.new_text, now, merge)
    }
}
