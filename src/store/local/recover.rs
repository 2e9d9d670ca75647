//! Recovery of a run: removes what a dead writer left, and restores files that a power cut damaged.

use std::collections::HashSet;

use crate::codec::{RunText, digest};
use crate::disk::{DiskError, NEW_FILE, Rename, flush};
use crate::model::{Event, EventKind, Explain as _, Seq, TextDigest, Timestamp, limits};
use crate::store::batch::{ActivityFile, last_number};
use crate::store::chores::LocalChores;
use crate::store::error::Result;
use crate::store::local::layout::{
    ACTIVITY_TMP, LOG_TMP, QUARANTINE, RUN_FILE, RUN_MERGE_TMP, RUN_TMP, is_run_tmp_of_one,
};
use crate::store::local::mend::{keep_copy, set_aside};
use crate::store::local::run_dir::{LockedRun, RunDir};

impl LocalChores for LockedRun<'_> {
    fn is_flushed_elsewhere(&self) -> Result<bool> {
        self.run.has_writer_at_work()
    }

    fn settle(&mut self) -> Result<()> {
        self.log.flush_newer()?;
        let end = &self.log.tail.end;
        let (last, number) = (end.last, last_number(&end.newer));
        // Their writers may die before they note what they used.
        self.log.lock.note_counters(last, number);
        Ok(())
    }

    fn clear_leftovers(&mut self, shown: Seq, now: Timestamp) -> Result<()> {
        if !self.has_leftovers()? {
            return Ok(());
        }
        // Files beside `run.yaml` may hold a person's text that was just exchanged: they are removed only if flow wrote
        // them, and go to quarantine otherwise.
        let log = self.log.read()?;
        let written: HashSet<_> = log.events().flat_map(texts_of).collect();
        let last = log.last_seq().max(shown);
        let dir = &self.run.dir;
        dir.remove(LOG_TMP)?;
        self.activities.remove(ACTIVITY_TMP)?;
        let mut names = dir.names()?;
        names.retain(|name| [RUN_TMP, RUN_MERGE_TMP].contains(&&**name) || self.run.is_of_dead_writer(name));
        for name in &names {
            let ours = match dir.read_text(name, limits::RUN_BYTES) {
                // One without a text is what a power cut left.
                Ok(Some(text)) => {
                    text.trim_matches('\0').trim().is_empty()
                        || written.contains(&TextDigest(digest(text.as_bytes())))
                        || shows_later(&text, last)
                }
                Ok(None) => continue,
                Err(_) => false,
            };
            if ours { dir.remove(name)? } else { self.set_text_aside(name, now)? }
        }
        Ok(())
    }

    fn restore_lost(&mut self) -> Result<Option<String>> {
        // A power cut may have lost files of earlier records: their commits do not flush them, and usually only the
        // latest is checked.
        if self.log.lock.is_another_boot() { self.restore_all() } else { self.restore_latest().map(|()| None) }
    }

    fn restore(&mut self, files: &[ActivityFile]) -> Result<()> {
        files.iter().try_for_each(|file| self.restore_activity(file))?;
        Ok(self.activities.sync()?)
    }

    fn keep_text(&mut self, now: Timestamp) -> Result<()> {
        if let Some(kept) = keep_copy(&self.run.dir, RUN_FILE, now)? {
            let quarantine = self.run.dir.open_dir(QUARANTINE)?;
            self.log.note("a run.yaml with a change that a newer event had made otherwise", &quarantine, &kept);
        }
        Ok(())
    }

    fn set_aside(&mut self, name: &str, now: Timestamp) -> Result<()> {
        set_aside(&self.activities, name, &self.run.dir, now)?;
        Ok(())
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.log.take_notes()
    }
}

impl RunDir {
    /// Whether a writer that lives has released the lock and will publish what it appended.
    pub(super) fn has_writer_at_work(&self) -> Result<bool> {
        let names = self.dir.names()?;
        Ok(names.iter().any(|name| is_run_tmp_of_one(name) && !self.is_of_dead_writer(name)))
    }

    /// Whether this is the next `run.yaml` of a writer that has died: one that lives holds a lock on it.
    fn is_of_dead_writer(&self, name: &str) -> bool {
        if !is_run_tmp_of_one(name) {
            return false;
        }
        match self.dir.open_read(name) {
            Ok(Some(file)) => !file.is_held().unwrap_or_default(),
            Ok(None) => false,
            // What cannot be opened goes to quarantine.
            Err(_) => true,
        }
    }
}

impl LockedRun<'_> {
    /// Whether a temporary file of an earlier writer is there.
    fn has_leftovers(&self) -> Result<bool> {
        for name in self.run.dir.names()? {
            if [RUN_TMP, RUN_MERGE_TMP, LOG_TMP].contains(&&*name) || self.run.is_of_dead_writer(&name) {
                return Ok(true);
            }
        }
        Ok(self.activities.exists(ACTIVITY_TMP)?)
    }

    /// Restores all activity files that a power cut damaged; runs once after each boot. Returns a warning if one could
    /// not be restored.
    fn restore_all(&mut self) -> Result<Option<String>> {
        for file in ActivityFile::of_all(self.log.read()?.events()) {
            if let Err(error) = self.restore_activity(&file) {
                // The log has the record. The next writer tries again.
                return Ok(Some(format!("an activity file may be damaged: {}", error.one_line())));
            }
        }
        self.log.lock.note_boot();
        Ok(None)
    }

    fn restore_latest(&self) -> Result<()> {
        let Some(event) = &self.log.tail.end.at else { return Ok(()) };
        for record in event.kind.records() {
            let lost = match self.is_lost(&record.number.file_name(&record.id())) {
                // After the next record this file is no longer the latest and would not be checked again.
                Err(error) if error.is_io() => return Err(error),
                found => found.unwrap_or(false),
            };
            if lost {
                self.restore_activity(&ActivityFile::of(record))?;
            }
        }
        Ok(())
    }

    /// Writes an activity file if it is missing or was cut off. Any other difference is a person's edit and stays.
    pub(super) fn restore_activity(&self, file: &ActivityFile) -> Result<()> {
        let found = match self.activities.read(&file.name, limits::ACTIVITY_BYTES * 2) {
            Ok(found) => found,
            Err(error @ DiskError::Io { .. }) => return Err(error.into()),
            // A person put a directory or a link there.
            Err(_) => return Ok(()),
        };
        let wanted = file.text.as_bytes();
        if let Some(found) = found
            && !is_cut_off(&found, wanted)
        {
            return Ok(());
        }
        self.activities.remove(ACTIVITY_TMP)?;
        let new = self.activities.create(ACTIVITY_TMP, wanted, NEW_FILE)?;
        flush(&*new, || self.activities.join(&file.name))?;
        Ok(self.activities.rename(ACTIVITY_TMP, &file.name, Rename::Replace)?)
    }
}

/// Whether a `run.yaml` shows a later event than the log has: its writer died before the event was in the log.
fn shows_later(text: &str, last: Seq) -> bool {
    RunText::shown_in(text) > Some(last)
}

/// Digests of the texts that flow wrote with an event, and of a person's text that the event contains.
fn texts_of(event: &Event) -> impl Iterator<Item = TextDigest> {
    let adopted = match &event.kind {
        EventKind::RunEdited(edit) => Some(TextDigest(digest(edit.text.as_bytes()))),
        _ => None,
    };
    event.run.clone().into_iter().chain(adopted)
}

/// Whether `found` may be what a power cut left of `wanted`: a prefix, in which any block may be zeros. Any other
/// difference is a person's edit.
#[must_use]
pub fn is_cut_off(found: &[u8], wanted: &[u8]) -> bool {
    let written = found.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    if found == wanted || written > wanted.len() {
        return false;
    }
    found[..written].iter().zip(wanted).all(|(found, wanted)| found == wanted || *found == 0)
}
