//! What is noted of a store that several machines share.

use crate::disk::replace_unflushed;
use crate::store::error::Result;
use crate::store::local::layout::{CACHE, SEEN_AT_CARRIER, STORE_OF_COPIES};
use crate::store::local::project::Project;

/// The largest note of what was seen at a carrier, in bytes; enough for a million runs.
const SEEN_BYTES: usize = 128 << 20;

/// The largest note of which store copies are from, in bytes: it has one digest.
const STORE_BYTES: usize = 4 << 10;

impl Project {
    /// Which store the copies of shared runs are from. `None` if that is not known.
    pub(in crate::store) fn store_of_copies(&self) -> Option<String> {
        self.flow.find_dir(CACHE).ok()??.read_text(STORE_OF_COPIES, STORE_BYTES).ok()?
    }

    /// Keeps which store the copies of shared runs are from.
    pub(in crate::store) fn keep_store_of_copies(&self, of: &str) -> Result<()> {
        Ok(replace_unflushed(&self.cache()?, STORE_OF_COPIES, of)?)
    }

    /// What was seen when a store that several machines share was last asked. `None` if that is not known.
    pub(in crate::store) fn seen_at_carrier(&self) -> Option<String> {
        self.flow.find_dir(CACHE).ok()??.read_text(SEEN_AT_CARRIER, SEEN_BYTES).ok()?
    }

    /// Keeps what was seen when a store that several machines share was asked.
    pub(in crate::store) fn keep_seen_at_carrier(&self, text: &str) -> Result<()> {
        Ok(replace_unflushed(&self.cache()?, SEEN_AT_CARRIER, text)?)
    }
}
