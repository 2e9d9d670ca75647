//! The writer of the local store.

use crate::codec::{LogEnd, LogScan};
use crate::model::{Event, Number, Seq, Timestamp};
use crate::store::batch::{ActivityFile, Batch, Committed, Merge};
use crate::store::chores::LocalChores;
use crate::store::error::StoreError;
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
        let lines = batch.sealed(self.log.tail.end.last)?;
        self.commit_sealed(batch, &lines, merge, || Ok(()))
    }

    fn roll_forward(
        &mut self,
        old: Option<&str>,
        new: &str,
        files: &[ActivityFile],
        now: Timestamp,
        merge: Merge<'_>,
    ) -> Result<(), StoreError> {
        self.bring_forward(old, new, files, now, merge)
    }

    fn chores(&mut self) -> Option<&mut dyn LocalChores> {
        Some(self)
    }
}
