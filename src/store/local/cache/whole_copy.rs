//! The copies of shared runs of which the whole log was read, or written, by flow.
//!
//! A copy is never flushed, and other programs can change it. A writer reads only its end, so what is damaged further up would
//! decide what goes into the shared log. The stamp of the log and the boot of the machine tell whether it is still the one that
//! was looked at.

use crate::disk::replace_unflushed;
use crate::model::RunId;
use crate::store::local::layout::{CACHE, RUNS, WHOLE_COPIES};
use crate::store::local::project::Project;
use crate::store::local::stamps::{log_in, stamp};

/// The largest note, in bytes.
const BYTES: usize = 1 << 10;

impl Project {
    /// Whether the log of a copy is the one that was noted last.
    pub(in crate::store) fn is_copy_as_noted(&self, id: &RunId, boot: &str) -> bool {
        let Some(now) = self.log_of_copy(id, boot) else { return false };
        let Ok(Some(cache)) = self.flow.find_dir(CACHE) else { return false };
        let Ok(Some(notes)) = cache.find_dir(WHOLE_COPIES) else { return false };
        notes.read_text(id.as_str(), BYTES).ok().flatten().is_some_and(|noted| noted == now)
    }

    /// Notes that the log of a copy is whole. Without the note it is read once more.
    pub(in crate::store) fn note_copy(&self, id: &RunId, boot: &str) {
        let Some(now) = self.log_of_copy(id, boot) else { return };
        if let Ok(cache) = self.cache()
            && let Ok((notes, _)) = cache.ensure_dir(WHOLE_COPIES)
        {
            let _ = replace_unflushed(&notes, id.as_str(), now);
        }
    }

    fn log_of_copy(&self, id: &RunId, boot: &str) -> Option<String> {
        let runs = self.flow.find_dir(RUNS).ok()??;
        Some(format!("{boot} {}", stamp(&log_in(&runs, id)?)))
    }
}
