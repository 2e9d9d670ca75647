//! Replaces `run.yaml` while a person may be saving it.

use crate::disk::{DiskError, Rename, flush};
use crate::model::{Timestamp, limits};
use crate::store::batch::Merge;
use crate::store::error::Result;
use crate::store::local::layout::{RUN_FILE, RUN_MERGE_TMP, RUN_TMP};
use crate::store::local::run_dir::LockedRun;

/// How often to merge a `run.yaml` that a person saves again and again, before the next command has to do it.
const MERGE_TRIES: usize = 3;

impl LockedRun<'_> {
    /// Exchanges `.run.tmp`, which holds `new` and is flushed, with `run.yaml`. If the text that was exchanged is neither
    /// `old` nor one that flow wrote (`is_own`), a person saved it since flow read the file, and it is merged.
    pub(super) fn publish_run(
        &self,
        old: Option<&str>,
        new: &str,
        is_own: impl Fn(&str) -> bool,
        now: Timestamp,
        merge: Merge<'_>,
    ) -> Result<()> {
        let dir = &self.run.dir;
        if dir.rename(RUN_TMP, RUN_FILE, Rename::Exchange).is_err() {
            return self.publish_without_exchange(old, merge);
        }
        if let Some(old) = old
            && dir.holds(RUN_TMP, old.as_bytes())?
        {
            return Ok(dir.remove(RUN_TMP)?);
        }
        let mut expected = old.map(str::to_owned);
        let mut placed = new.to_owned();
        for merged_before in 0..MERGE_TRIES {
            let swapped_out = dir.read_text(RUN_TMP, limits::RUN_BYTES)?;
            if swapped_out == expected || merged_before == 0 && swapped_out.as_deref().is_some_and(&is_own) {
                // After two merges, this text is the first merge. The second replaced it, but was made from a save
                // whose author had not seen the save in the first. So the first is kept aside.
                return if merged_before > 1 { self.set_text_aside(RUN_TMP, now) } else { Ok(dir.remove(RUN_TMP)?) };
            }
            let Some(merged) = swapped_out.as_deref().and_then(&mut *merge) else {
                return self.give_back(&placed, new, now);
            };
            self.write_merged(&merged)?;
            dir.rename(RUN_MERGE_TMP, RUN_FILE, Rename::Exchange)?;
            // The person's text was merged into `run.yaml`, so the copy that is overwritten here holds nothing new.
            dir.rename(RUN_MERGE_TMP, RUN_TMP, Rename::Replace)?;
            expected = Some(std::mem::replace(&mut placed, merged));
        }
        // Still being saved: the next writer moves the leftover to quarantine.
        Ok(())
    }

    /// Puts a person's text back unchanged. The log has the record, so the next command merges it or reports a problem.
    fn give_back(&self, placed: &str, new: &str, now: Timestamp) -> Result<()> {
        let dir = &self.run.dir;
        dir.rename(RUN_TMP, RUN_FILE, Rename::Exchange)?;
        match dir.read_text(RUN_TMP, limits::RUN_BYTES)? {
            Some(text) if text == placed && placed == new => Ok(dir.remove(RUN_TMP)?),
            // It was saved once more meanwhile, or an earlier save is in the way.
            _ => self.set_text_aside(RUN_TMP, now),
        }
    }

    /// For a missing `run.yaml`, and for file systems that cannot exchange two names (NFS). There, a text saved between
    /// the check and the rename is lost; see `docs/durability.md`.
    fn publish_without_exchange(&self, old: Option<&str>, merge: Merge<'_>) -> Result<()> {
        let dir = &self.run.dir;
        match dir.read_text(RUN_FILE, limits::RUN_BYTES)? {
            Some(text) if Some(text.as_str()) != old => {
                let Some(merged) = merge(&text) else { return Ok(dir.remove(RUN_TMP)?) };
                self.write_merged(&merged)?;
                dir.rename(RUN_MERGE_TMP, RUN_FILE, Rename::Replace)?;
                Ok(dir.remove(RUN_TMP)?)
            }
            _ => Ok(dir.rename(RUN_TMP, RUN_FILE, Rename::Replace)?),
        }
    }

    fn write_merged(&self, merged: &str) -> Result<(), DiskError> {
        let dir = &self.run.dir;
        let new = dir.create(RUN_MERGE_TMP, merged.as_bytes(), dir.mode_of(RUN_FILE))?;
        flush(&*new, || dir.join(RUN_MERGE_TMP))
    }
}
