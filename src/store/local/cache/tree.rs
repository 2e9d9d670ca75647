//! The digests of the checkout's files, and the clock of the file system that says which of them hold.

use crate::disk::replace_unflushed;
use crate::model::DiskTime;
use crate::store::error::Result;
use crate::store::local::layout::{CACHE, INPUTS, TREE, TREE_CLOCK};
use crate::store::local::project::Project;

/// The largest cache of digests, in bytes; enough for some hundred thousand files. A larger one is none.
const TREE_BYTES: usize = 64 << 20;

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
    /// The cache of digests of the checkout's files; empty if there is none that `begins` as one does.
    pub(crate) fn tree_cache(&self, which: TreeCache, begins: &[u8]) -> Vec<u8> {
        let Ok(Some(cache)) = self.flow.find_dir(CACHE) else { return Vec::new() };
        match cache.read_part(which.name(), 0, begins.len()) {
            Ok(Some(part)) if part.bytes == begins && part.len <= TREE_BYTES as u64 => {}
            _ => return Vec::new(),
        }
        cache.read(which.name(), TREE_BYTES).ok().flatten().unwrap_or_default()
    }

    /// Keeps the digests of the checkout's files.
    pub(crate) fn keep_tree_cache(&self, which: TreeCache, bytes: &[u8]) -> Result<()> {
        if bytes.len() > TREE_BYTES {
            return Ok(());
        }
        Ok(replace_unflushed(&self.cache()?, which.name(), bytes)?)
    }

    /// The time by the clock of the file system that has `.flow`.
    pub(crate) fn file_system_time(&self) -> Result<DiskTime> {
        let cache = self.cache()?;
        replace_unflushed(&cache, TREE_CLOCK, "")?;
        let stat = cache.look(TREE_CLOCK)?;
        Ok(DiskTime { changed: stat.changed, device: stat.device })
    }
}
