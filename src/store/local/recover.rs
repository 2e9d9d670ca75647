//! Recovery of one run: what a dead writer left goes, and projections follow the log.

use std::collections::HashSet;

use crate::codec::{RunText, digest};
use crate::disk::{DiskError, NEW_FILE, Rename, flush};
use crate::model::{Event, EventKind, Explain as _, Seq, TextDigest, Timestamp, limits};
use crate::store::batch::{ActivityFile, Merge};
use crate::store::error::StoreError;
use crate::store::local::layout::{ACTIVITY_TMP, LOG_TMP, RUN_FILE, RUN_MERGE_TMP, RUN_TMP};
use crate::store::local::run_dir::LockedRun;

impl LockedRun<'_> {
    /// Removes temporary files of dead writers. Those beside `run.yaml` may hold a person's text that was just swapped
    /// out: they are removed only when they are known to be flow's own, and quarantined otherwise.
    pub(super) fn clear(&mut self, shown: Seq, now: Timestamp) -> Result<(), StoreError> {
        let log = self.log.read()?;
        let written: HashSet<_> = log.events().flat_map(texts_of).collect();
        let last = log.last_seq().max(shown);
        let is_ours = |text: &str| {
            // A text that shows an event which never made it into the log was being written when its writer died.
            let unsaid = || RunText::parse(text).is_ok_and(|text| text.document().state.last_seq > Some(last));
            written.contains(&TextDigest(digest(text.as_bytes()))) || unsaid()
        };
        let dir = &self.run.dir;
        dir.remove(LOG_TMP)?;
        self.activities.remove(ACTIVITY_TMP)?;
        for name in [RUN_TMP, RUN_MERGE_TMP] {
            let ours = match dir.read_text(name, limits::RUN_BYTES) {
                Ok(Some(text)) => text.trim_matches('\0').trim().is_empty() || is_ours(&text),
                Ok(None) => continue,
                Err(_) => false,
            };
            if ours { dir.remove(name)? } else { self.set_text_aside(name, now)? }
        }
        Ok(())
    }

    /// Whether a temporary file of an earlier writer is there.
    ///
    /// # Errors
    /// [`StoreError`] when the directory cannot be inspected.
    pub(super) fn has_leftovers(&self) -> Result<bool, StoreError> {
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
    pub(super) fn bring_forward(
        &mut self,
        old: Option<&str>,
        new: &str,
        files: &[ActivityFile],
        now: Timestamp,
        merge: Merge<'_>,
    ) -> Result<(), StoreError> {
        self.log.renew_once()?;
        for file in files {
            self.restore_activity(file)?;
        }
        let mode = self.run.dir.mode_of(RUN_FILE);
        let file = self.run.dir.create(RUN_TMP, new.as_bytes(), mode)?;
        flush(&*file, || self.run.dir.join(RUN_TMP))?;
        self.publish_run(old, new, now, merge)?;
        Ok(self.run.dir.sync()?)
    }

    /// Writes all files anew that a power cut took, once after a start of the machine.
    pub(super) fn restore_all(&mut self) -> Result<Option<String>, StoreError> {
        for file in ActivityFile::of_all(self.log.read()?.events()) {
            if let Err(error) = self.restore_activity(&file) {
                // The record itself is in the log. The next writer tries again.
                return Ok(Some(format!("an activity file may be damaged: {}", error.one_line())));
            }
        }
        self.log.lock.note_boot();
        Ok(None)
    }

    pub(super) fn restore_latest(&self) -> Result<(), StoreError> {
        let Some(event) = &self.log.tail.end.at else { return Ok(()) };
        for record in event.kind.records() {
            let lost = match self.is_lost(&record.number.file_name(&record.id())) {
                // The next record is the latest then, and no one looks at this one again.
                Err(error) if error.is_io() => return Err(error),
                found => found.unwrap_or(false),
            };
            if lost {
                self.restore_activity(&ActivityFile::of(record))?;
            }
        }
        Ok(())
    }

    /// Writes an activity file that is missing or was cut off; any other difference is a person's and stays.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read or written.
    pub(super) fn restore_activity(&self, file: &ActivityFile) -> Result<(), StoreError> {
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

/// Digests of what flow wrote with an event, and of what a person saved and the event keeps word for word.
fn texts_of(event: &Event) -> impl Iterator<Item = TextDigest> {
    let adopted = match &event.kind {
        EventKind::RunEdited(edit) => Some(TextDigest(digest(edit.text.as_bytes()))),
        _ => None,
    };
    event.run.clone().into_iter().chain(adopted)
}

/// Whether a power cut may have made this of a file that was written as `wanted`: a part, and zeros where any block should
/// be. Any other difference is a person's.
#[must_use]
pub fn is_cut_off(found: &[u8], wanted: &[u8]) -> bool {
    let written = found.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let fits = |(found, wanted): (&u8, &u8)| found == wanted || *found == 0;
    found != wanted && written <= wanted.len() && found[..written].iter().zip(wanted).all(fits)
}
