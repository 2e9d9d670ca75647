//! The writer of the local store.

use crate::codec::{LogEnd, LogScan};
use crate::model::{Event, Number, Seq, Timestamp};
use crate::store::batch::{ActivityFile, Batch, Committed, Merge, last_number};
use crate::store::error::StoreError;
use crate::store::local::layout::RUN_FILE;
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

    fn is_flushed_elsewhere(&self) -> Result<bool, StoreError> {
        LockedRun::is_flushed_elsewhere(self)
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        self.log.flush_newer()?;
        let end = &self.log.tail.end;
        let (last, number) = (end.last, last_number(&end.newer));
        // Their writers may die before they note what they used.
        self.log.lock.note_counters(last, number);
        Ok(())
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
        self.bring_forward(old, new, files, now, merge)
    }

    fn clear_leftovers(&mut self, shown: Seq, now: Timestamp) -> Result<(), StoreError> {
        if self.has_leftovers()? { self.clear(shown, now) } else { Ok(()) }
    }

    fn restore_lost(&mut self) -> Result<Option<String>, StoreError> {
        // A power cut may have lost files of earlier records: their commits do not flush them, and usually only the
        // latest is checked.
        if self.log.lock.is_another_boot() { self.restore_all() } else { self.restore_latest().map(|()| None) }
    }

    fn restore(&mut self, files: &[ActivityFile]) -> Result<(), StoreError> {
        files.iter().try_for_each(|file| self.restore_activity(file))?;
        Ok(self.activities.sync()?)
    }

    fn keep_text(&mut self, now: Timestamp) -> Result<(), StoreError> {
        self.keep_copy(RUN_FILE, now).map(drop)
    }

    fn set_aside(&mut self, name: &str, now: Timestamp) -> Result<(), StoreError> {
        self.set_activity_aside(name, now).map(drop)
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.log.take_notes()
    }
}
