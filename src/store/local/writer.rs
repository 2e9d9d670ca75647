//! The writer of the local store.

use crate::codec::{LogEnd, LogScan};
use crate::disk::flush;
use crate::model::{Event, Number, Seq, Timestamp};
use crate::store::batch::{ActivityFile, Batch, Committed, Merge};
use crate::store::chores::LocalChores;
use crate::store::error::StoreError;
use crate::store::local::layout::{RUN_FILE, RUN_TMP};
use crate::store::local::run_dir::LockedRun;
use crate::store::run_store::{RunWriter, StoredRun as _};

impl RunWriter for LockedRun<'_> {
    fn text(&self) -> Result<Option<String>, StoreError> {
        self.run.text()
    }

    fn end(&self) -> &LogEnd {
        &self.log.tail.end
    }

    fn read_end(&mut self, since: Seq) -> Result<(), StoreError> {
        self.log.reread_tail(since)
    }

    fn log(&self) -> Result<LogScan, StoreError> {
        self.log.read()
    }

    fn with_text(&self, text: &str) -> Result<Vec<Event>, StoreError> {
        self.log.with_text(text)
    }

    fn noted(&self) -> (Seq, Number) {
        self.log.lock.high_water()
    }

    fn is_as_left(&self) -> bool {
        self.log.tail.len > 0 && self.log.tail.len == self.log.lock.log_len()
    }

    fn is_free(&self, name: &str) -> Result<bool, StoreError> {
        Ok(!self.activities.exists(name)?)
    }

    fn commit(&mut self, batch: &Batch<'_>, merge: Merge<'_>) -> Result<Committed, StoreError> {
        self.commit_batch(batch, merge)
    }

    fn roll_forward(
        &mut self,
        old: Option<&str>,
        new: &str,
        files: &[ActivityFile],
        now: Timestamp,
        merge: Merge<'_>,
    ) -> Result<(), StoreError> {
        // Recovery, step R3. Copies the log to a new file first: after a failed flush the kernel may report pages as clean
        // that never reached the disk, so only freshly written bytes can be flushed reliably.
        self.log.renew_once()?;
        for file in files {
            self.restore_activity(file)?;
        }
        let mode = self.run.dir.mode_of(RUN_FILE);
        let file = self.run.dir.create(RUN_TMP, new.as_bytes(), mode)?;
        flush(&*file, || self.run.dir.join(RUN_TMP))?;
        // A command that is repeated and whose line this is gets an answer.
        self.log.lock.note_seq(self.log.tail.end.last);
        self.publish_run(old, new, |_| false, now, merge)?;
        Ok(self.run.dir.sync()?)
    }

    fn chores(&mut self) -> Option<&mut dyn LocalChores> {
        Some(self)
    }
}
