//! The recaps of long runs, and other texts in the cache: never flushed, may be deleted. A recap that no event of the log
//! names does not count.

use crate::disk::{Dir, replace_unflushed};
use crate::model::{DiskTime, RunId};
use crate::store::error::StoreError;
use crate::store::local::layout::{CACHE, INPUTS, RECAPS, SEEN_AT_CARRIER, STORE_OF_COPIES, TREE, TREE_CLOCK};
use crate::store::local::project::Project;

/// The largest recap, in bytes. A run with a larger one is read whole.
const RECAP_BYTES: usize = 1 << 20;

/// The largest note of what was seen at a carrier, in bytes; enough for a million runs.
const SEEN_BYTES: usize = 128 << 20;

/// The largest cache of digests, in bytes; enough for some million files.
const TREE_BYTES: usize = 512 << 20;

impl Project {
    /// The cache of digests of the checkout's files; empty if there is none. Looks with inputs have one of their own: a look
    /// without them would forget their files.
    pub(crate) fn tree_cache(&self, with_inputs: bool) -> Vec<u8> {
        let Ok(Some(cache)) = self.flow.find_dir(CACHE) else { return Vec::new() };
        cache.read(tree_cache_name(with_inputs), TREE_BYTES).ok().flatten().unwrap_or_default()
    }

    /// Keeps the digests of the checkout's files.
    pub(crate) fn keep_tree_cache(&self, with_inputs: bool, bytes: &[u8]) -> Result<(), StoreError> {
        Ok(replace_unflushed(&self.cache()?, tree_cache_name(with_inputs), bytes)?)
    }

    /// The time by the clock of the file system that has `.flow`.
    pub(crate) fn file_system_time(&self) -> Result<DiskTime, StoreError> {
        let cache = self.cache()?;
        replace_unflushed(&cache, TREE_CLOCK, "")?;
        let stat = cache.look(TREE_CLOCK)?;
        Ok(DiskTime { changed: stat.changed, device: stat.device })
    }

    pub(super) fn recaps(&self) -> Option<Dir> {
        self.flow.find_dir(CACHE).ok()??.find_dir(RECAPS).ok()?
    }

    /// The recap of the run `id`; `None` if it is missing or cannot be read.
    pub(crate) fn recap(&self, id: &RunId) -> Option<String> {
        self.recaps()?.read_text(&name_of(id), RECAP_BYTES).ok()?
    }

    /// Keeps the recap of the run `id`, unless it is too large.
    pub(crate) fn keep_recap(&self, id: &RunId, text: &str) -> Result<(), StoreError> {
        if text.len() > RECAP_BYTES {
            return Ok(());
        }
        let (recaps, _) = self.cache()?.ensure_dir(RECAPS)?;
        Ok(replace_unflushed(&recaps, &name_of(id), text)?)
    }

    /// Removes the recaps of runs that are gone.
    pub(super) fn forget_recaps(&self, ids: &[RunId]) {
        let Some(recaps) = self.recaps() else { return };
        for id in ids {
            // Nothing depends on them.
            let _ = recaps.remove(&name_of(id));
        }
    }

    /// Which store the copies of shared runs are from. `None` if that is not known.
    pub(in crate::store) fn store_of_copies(&self) -> Option<String> {
        self.flow.find_dir(CACHE).ok()??.read_text(STORE_OF_COPIES, SEEN_BYTES).ok()?
    }

    /// Keeps which store the copies of shared runs are from.
    pub(in crate::store) fn keep_store_of_copies(&self, of: &str) -> Result<(), StoreError> {
        Ok(replace_unflushed(&self.cache()?, STORE_OF_COPIES, of)?)
    }

    /// What was seen when a store that several machines share was last asked. `None` if that is not known.
    pub(in crate::store) fn seen_at_carrier(&self) -> Option<String> {
        self.flow.find_dir(CACHE).ok()??.read_text(SEEN_AT_CARRIER, SEEN_BYTES).ok()?
    }

    /// Keeps what was seen when a store that several machines share was asked.
    pub(in crate::store) fn keep_seen_at_carrier(&self, text: &str) -> Result<(), StoreError> {
        Ok(replace_unflushed(&self.cache()?, SEEN_AT_CARRIER, text)?)
    }
}

fn tree_cache_name(with_inputs: bool) -> &'static str {
    if with_inputs { INPUTS } else { TREE }
}

fn name_of(id: &RunId) -> String {
    format!("{id}.json")
}
