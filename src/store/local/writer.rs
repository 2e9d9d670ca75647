//! The writer of the local store.

use std::path::PathBuf;

use crate::codec::{LogEnd, LogScan};
use crate::disk::{NEW_FILE, Rename, flush, replace_unflushed};
use crate::model::{Event, RunId, Seq, Timestamp};
use crate::store::batch::{ActivityFile, Batch, CommitReceipt, Merge, last_number};
use crate::store::chores::LocalChores;
use crate::store::error::Result;
use crate::store::local::layout::{ACTIVITIES, ACTIVITY_TMP, EVIDENCE, LOG, QUARANTINE, RUN_FILE, RUN_TMP};
use crate::store::local::mend::set_aside;
use crate::store::local::run_dir::LockedRun;
use crate::store::run_store::{Noted, RunWriter, StoredRun as _};

/// What a store does that has its logs elsewhere and keeps copies here. Nothing of it is flushed.
impl LockedRun<'_> {
    /// The run's id.
    pub(in crate::store) fn id(&self) -> &RunId {
        &self.run.id
    }

    /// The lines of the events after `since`, as they are in the log.
    pub(in crate::store) fn lines_after(&self, since: Seq) -> Result<String> {
        if self.log.tail.end.last <= since {
            return Ok(String::new());
        }
        self.log.lines_after(since)
    }

    /// Adds to the messages about what was moved to quarantine.
    pub(in crate::store) fn tell(&self, told: Vec<String>) {
        self.log.tell(told);
    }

    /// Appends sealed lines that are durable elsewhere.
    pub(in crate::store) fn append_unflushed(&mut self, lines: &str) -> Result<()> {
        self.log.check_place()?;
        let before = self.log.tail.end.last;
        self.log.append(lines)?;
        self.log.reread_tail(before)?;
        let end = &self.log.tail.end;
        let (last, number) = (end.last, last_number(&end.newer));
        self.log.lock.note_commit(last, number, self.log.tail.len);
        Ok(())
    }

    /// Replaces the `run.yaml` that was read by `new`, and writes activity files that are missing.
    pub(in crate::store) fn show_unflushed(
        &mut self,
        old: Option<&str>,
        new: &str,
        files: &[ActivityFile],
        now: Timestamp,
    ) -> Result<()> {
        for file in files {
            if self.activities.exists(&file.name)? {
                continue;
            }
            replace_unflushed(&self.activities, &file.name, &file.text)?;
        }
        self.set_text_aside(RUN_TMP, now)?;
        self.run.dir.create(RUN_TMP, new.as_bytes(), self.run.dir.mode_of(RUN_FILE))?;
        // What a person saves meanwhile stays as it is, and the next command merges it.
        self.publish_run(old, new, |_| false, now, &mut |_| None)
    }

    /// Removes `run.yaml`.
    pub(in crate::store) fn remove_text(&self) -> Result<()> {
        Ok(self.run.dir.remove(RUN_FILE)?)
    }

    /// Moves a copy into quarantine, so that another one takes its place, and returns where that is.
    pub(in crate::store) fn set_copy_aside(mut self, now: Timestamp) -> Result<PathBuf> {
        // The other one may be shorter. It would look as if an older version of it was put back.
        self.log.lock.forget_log();
        self.set_contents_aside(now)
    }

    /// Moves everything that the run has into quarantine, and returns where that is.
    pub(in crate::store) fn set_contents_aside(&self, now: Timestamp) -> Result<PathBuf> {
        let dir = &self.run.dir;
        // The log last: without it the others look like those of a copy that is behind.
        for name in [RUN_FILE, ACTIVITIES, LOG] {
            if dir.exists(name)? {
                set_aside(dir, name, dir, now)?;
            }
        }
        Ok(dir.join(QUARANTINE))
    }
}

impl RunWriter for LockedRun<'_> {
    fn text(&self) -> Result<Option<String>> {
        self.run.text()
    }

    fn end(&self) -> &LogEnd {
        &self.log.tail.end
    }

    fn read_end(&mut self, since: Seq) -> Result<()> {
        self.log.reread_tail(since)
    }

    fn log(&self) -> Result<LogScan> {
        self.log.read()
    }

    fn with_text(&self, text: &str, enough: &dyn Fn(&Event) -> bool) -> Result<Vec<Event>> {
        self.log.with_text(text, enough)
    }

    fn noted(&self) -> Noted {
        self.log.lock.noted()
    }

    fn is_as_left(&self) -> bool {
        self.log.tail.len > 0 && self.log.tail.len == self.log.lock.log_len()
    }

    fn is_free(&self, name: &str) -> Result<bool> {
        Ok(!self.activities.exists(name)?)
    }

    fn put_evidence(&mut self, name: &str, bytes: &[u8], now: Timestamp) -> Result<()> {
        let (evidence, is_new) = self.run.dir.ensure_dir(EVIDENCE)?;
        if is_new {
            self.run.dir.sync()?;
        }
        if evidence.holds(name, bytes)? {
            // A person or another program put it there, and maybe did not flush it.
            if let Some(file) = evidence.open_read(name)? {
                flush(&*file, || evidence.join(name))?;
            }
            return Ok(evidence.sync()?);
        }
        if evidence.exists(name)? {
            set_aside(&evidence, name, &self.run.dir, now)?;
        }
        // Beside the activities, where recovery looks for what dead writers left.
        self.activities.remove(ACTIVITY_TMP)?;
        flush(&*self.activities.create(ACTIVITY_TMP, bytes, NEW_FILE)?, || self.activities.join(ACTIVITY_TMP))?;
        self.activities.rename_into(ACTIVITY_TMP, &evidence, name, Rename::NoReplace)?;
        Ok(evidence.sync()?)
    }

    fn commit(&mut self, batch: &Batch<'_>, merge: Merge<'_>) -> Result<CommitReceipt> {
        self.commit_batch(batch, merge)
    }

    fn roll_forward(
        &mut self,
        old: Option<&str>,
        new: &str,
        files: &[ActivityFile],
        now: Timestamp,
        merge: Merge<'_>,
    ) -> Result<()> {
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
