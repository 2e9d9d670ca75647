//! The digests of the checkout's files, and the clock of the file system that says which of them hold.

use crate::disk::replace_unflushed;
use crate::model::DiskTime;
use crate::store::error::StoreError;
use crate::store::local::layout::{CACHE, INPUTS, TREE, TREE_CLOCK};
use crate::store::local::project::Project;

/// The largest cache of digests, in bytes; enough for some million files.
const TREE_BYTES: usize = 512 << 20;

/// Which files a cache of digests has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeCache {
    /// Those that git lists.
    Listed,
    /// Those and files that inputs name. Apart from the others: a look without inputs would forget these files.
    WithInputs,
}

impl TreeCache {
    fn name(self) -> &'static str {
        match self {
            Self::Listed => TREE,
            Self::WithInputs => INPUTS,
        }
    }
}

impl Project {
    /// The cache of digests of the checkout's files; empty if there is none.
    pub(crate) fn tree_cache(&self, which: TreeCache) -> Vec<u8> {
        let Ok(Some(cache)) = self.flow.find_dir(CACHE) else { return Vec::new() };
        cache.read(which.name(), TREE_BYTES).ok().flatten().unwrap_or_default()
    }

    /// Keeps the digests of the checkout's files.
    pub(crate) fn keep_tree_cache(&self, which: TreeCache, bytes: &[u8]) -> Result<(), StoreError> {
        Ok(replace_unflushed(&self.cache()?, which.name(), bytes)?)
    }

    /// The time by the clock of the file system that has `.flow`.
    pub(crate) fn file_system_time(&self) -> Result<DiskTime, StoreError> {
        let cache = self.cache()?;
        replace_unflushed(&cache, TREE_CLOCK, "")?;
        let stat = cache.look(TREE_CLOCK)?;
        Ok(DiskTime { changed: stat.changed, device: stat.device })
    }
}
