//! Recovery of one run: what a dead writer left goes, and projections follow the log.

use crate::disk::{DiskError, NEW_FILE, Rename, flush};
use crate::model::{Timestamp, limits};
use crate::store::batch::{ActivityFile, Merge};
use crate::store::error::StoreError;
use crate::store::layout::{ACTIVITY_TMP, LOG_TMP, RUN_FILE, RUN_MERGE_TMP, RUN_TMP};
use crate::store::run_dir::LockedRun;

impl LockedRun<'_> {
    /// Removes temporary files of dead writers. Those beside `run.yaml` may hold a person's text that was just swapped
    /// out: they are removed only when they are known to be flow's own, and quarantined otherwise.
    ///
    /// # Errors
    /// [`StoreError`] when a file cannot be read or removed.
    pub fn clear_leftovers(&mut self, is_ours: impl Fn(&str) -> bool, now: Timestamp) -> Result<(), StoreError> {
        let dir = &self.run.dir;
        dir.remove(LOG_TMP)?;
        self.activities.remove(ACTIVITY_TMP)?;
        for name in [RUN_TMP, RUN_MERGE_TMP] {
            let ours = match dir.read_text(name, limits::RUN_BYTES) {
                Ok(Some(text)) => text.trim_matches('\0').trim().is_empty() || is_ours(&text),
                Ok(None) => continue,
                Err(_) => false,
            };
            if ours { dir.remove(name)? } else { self.set_aside(name, now)? }
        }
        Ok(())
    }

    /// Whether a temporary file of an earlier writer is there.
    ///
    /// # Errors
    /// [`StoreError`] when the directory cannot be inspected.
    pub fn has_leftovers(&self) -> Result<bool, StoreError> {
        let dir = &self.run.dir;
        Ok(dir.exists(RUN_TMP)?
            || dir.exists(RUN_MERGE_TMP)?
            || dir.exists(LOG_TMP)?
            || self.activities.exists(ACTIVITY_TMP)?)
    }

    /// Brings projections up to a log that is ahead of them (recovery, step R3). `old` is the `run.yaml` that was read,
    /// `new` the one that the log demands; `activities` are the files of the events that the old one lacked.
    ///
    /// The log is first copied to a new file: after a failed flush the kernel may call pages clean that never reached
    /// the disk, and only fresh bytes can be flushed with certainty.
    ///
    /// # Errors
    /// [`StoreError`]; the next writer starts over.
    pub fn roll_forward(
        &mut self,
        old: Option<&str>,
        new: &str,
        activities: &[ActivityFile],
        now: Timestamp,
        merge: Merge<'_>,
    ) -> Result<(), StoreError> {
        self.log.renew_once()?;
        for file in activities {
            self.restore_activity(file)?;
        }
        let mode = self.run.dir.mode_of(RUN_FILE);
        let file = self.run.dir.create(RUN_TMP, new.as_bytes(), mode)?;
        flush(&*file, || self.run.dir.join(RUN_TMP))?;
        self.publish_run(old, new, now, merge)?;
        Ok(self.run.dir.sync()?)
    }

    /// Writes an activity file that is missing or was cut off; any other difference is a person's and stays.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read or written.
    pub fn restore_activity(&self, file: &ActivityFile) -> Result<(), StoreError> {
        let found = match self.activities.read(&file.name, limits::ACTIVITY_BYTES * 2) {
            Ok(found) => found,
            Err(error @ DiskError::Io { .. }) => return Err(error.into()),
            // A directory or a link of that name is a person's doing.
            Err(_) => return Ok(()),
        };
        let wanted = file.text.as_bytes();
        if !found.is_none_or(|found| is_cut_off(&found, wanted)) {
            return Ok(());
        }
        self.activities.remove(ACTIVITY_TMP)?;
        let new = self.activities.create(ACTIVITY_TMP, wanted, NEW_FILE)?;
        flush(&*new, || self.activities.join(&file.name))?;
        Ok(self.activities.rename(ACTIVITY_TMP, &file.name, Rename::Replace)?)
    }
}

/// Whether a power cut may have made this of a file that was written as `wanted`: a part, and zeros where any block should
/// be. Any other difference is a person's.
#[must_use]
pub fn is_cut_off(found: &[u8], wanted: &[u8]) -> bool {
    let written = found.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let fits = |(found, wanted): (&u8, &u8)| found == wanted || *found == 0;
    found != wanted && written <= wanted.len() && found[..written].iter().zip(wanted).all(fits)
}
