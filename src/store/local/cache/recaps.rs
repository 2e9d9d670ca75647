//! The recaps of long runs. One that no event of the log names does not count.

use crate::disk::{Dir, replace_unflushed};
use crate::model::RunId;
use crate::store::error::Result;
use crate::store::local::layout::{CACHE, RECAPS};
use crate::store::local::project::Project;

/// The largest recap, in bytes. A run with a larger one is read whole.
const RECAP_BYTES: usize = 1 << 20;

impl Project {
    pub(in crate::store::local) fn recaps(&self) -> Option<Dir> {
        self.flow.find_dir(CACHE).ok()??.find_dir(RECAPS).ok()?
    }

    /// The recap of the run `id`; `None` if it is missing or cannot be read.
    pub(crate) fn recap(&self, id: &RunId) -> Option<String> {
        self.recaps()?.read_text(&name_of(id), RECAP_BYTES).ok()?
    }

    /// Keeps the recap of the run `id`, unless it is too large.
    pub(crate) fn keep_recap(&self, id: &RunId, text: &str) -> Result<()> {
        if text.len() > RECAP_BYTES {
            return Ok(());
        }
        let (recaps, _) = self.cache()?.ensure_dir(RECAPS)?;
        Ok(replace_unflushed(&recaps, &name_of(id), text)?)
    }

    /// Removes the recaps of runs that are gone.
    pub(in crate::store::local) fn forget_recaps(&self, ids: &[RunId]) {
        let Some(recaps) = self.recaps() else { return };
        for id in ids {
            // Nothing depends on them.
            let _ = recaps.remove(&name_of(id));
        }
    }
}

fn name_of(id: &RunId) -> String {
    format!("{id}.json")
}
