//! The runs of this checkout that go into a store which several machines share.
//!
//! The copy of such a run is made before the store has the run, so that nothing is recorded meanwhile that the store would lack.
//! Its note distinguishes a copy that the store does not have yet from one that the store has lost.

use crate::disk::{NEW_FILE, flush};
use crate::model::RunId;
use crate::store::error::Result;
use crate::store::local::layout::{CACHE, PUSHING};
use crate::store::local::project::Project;
use crate::store::work::WorkKey;

/// The largest note, in bytes.
const BYTES: usize = 64 << 10;

impl Project {
    /// What a run is about that goes into the store and may not be there yet; `None` for any other.
    pub(in crate::store) fn pushing(&self, id: &RunId) -> Option<Vec<WorkKey>> {
        let notes = self.flow.find_dir(CACHE).ok()??.find_dir(PUSHING).ok()??;
        let text = notes.read_text(id.as_str(), BYTES).ok()??;
        // A process that dies while it writes the note has not made the copy yet.
        let keys: Vec<String> = serde_json::from_str(&text).unwrap_or_default();
        Some(keys.into_iter().map(WorkKey).collect())
    }

    /// Notes that a run goes into the store, and what it is about. The run is locked. The note is flushed: after a power cut
    /// the copy may be there.
    pub(in crate::store) fn note_pushing(&self, id: &RunId, about: &[WorkKey]) -> Result<()> {
        let keys: Vec<&str> = about.iter().map(|key| &*key.0).collect();
        let text = serde_json::to_string(&keys).unwrap_or_default();
        let cache = self.cache()?;
        let (notes, _) = cache.ensure_dir(PUSHING)?;
        notes.remove(id.as_str())?;
        flush(&*notes.create(id.as_str(), text.as_bytes(), NEW_FILE)?, || notes.join(id.as_str()))?;
        notes.sync()?;
        cache.sync()?;
        Ok(self.flow.sync()?)
    }

    /// Forgets that a run goes into the store: it is there, or it stays here.
    pub(in crate::store) fn forget_pushing(&self, id: &RunId) -> Result<()> {
        let Some(cache) = self.flow.find_dir(CACHE)? else { return Ok(()) };
        match cache.find_dir(PUSHING)? {
            Some(notes) => Ok(notes.remove(id.as_str())?),
            None => Ok(()),
        }
    }
}
