//! What hooks of agents' hosts remember: a note for each session, and a log of trouble. Both are in the cache: they are
//! never flushed, may be deleted, and nothing depends on them.

use crate::disk::{Dir, append_bounded, overwrite_unflushed, replace_unflushed, sweep_unflushed};
use crate::model::Timestamp;
use crate::store::error::Result;
use crate::store::local::layout::{CACHE, HOOK_LOG, HOSTS};
use crate::store::local::lock::Lock;
use crate::store::local::project::Project;
use crate::store::request::WriteRequest;

/// Largest note about a session, in bytes.
const NOTE_BYTES: usize = 16 << 10;
/// Largest log of trouble, in bytes. Of a longer one the second half is kept.
const LOG_BYTES: usize = 64 * 1024;

impl Project {
    fn hosts(&self) -> Option<Dir> {
        self.flow.find_dir(CACHE).ok()??.find_dir(HOSTS).ok()?
    }

    /// The note `name`; `None` if it is missing or cannot be read.
    pub(crate) fn host_note(&self, name: &str) -> Option<String> {
        self.hosts()?.read_text(name, NOTE_BYTES).ok()?
    }

    /// The names of the notes that end in `end`.
    pub(crate) fn host_note_names(&self, end: &str) -> Vec<String> {
        let mut names = self.hosts().and_then(|hosts| hosts.names().ok()).unwrap_or_default();
        names.retain(|name| name.ends_with(end));
        names
    }

    /// Writes the note `name`.
    pub(crate) fn keep_host_note(&self, name: &str, text: &str) -> Result<()> {
        let (hosts, _) = self.cache()?.ensure_dir(HOSTS)?;
        Ok(replace_unflushed(&hosts, name, text)?)
    }

    /// As [`Self::keep_host_note`], for a short text that always has the same length.
    pub(crate) fn overwrite_host_note(&self, name: &str, text: &str) -> Result<()> {
        let (hosts, _) = self.cache()?.ensure_dir(HOSTS)?;
        Ok(overwrite_unflushed(&hosts, name, text)?)
    }

    /// Replaces the note `name` by what `change` makes of it, under the project's lock. Returns whether it did.
    pub(crate) fn change_host_note(
        &self,
        request: &WriteRequest,
        name: &str,
        change: &mut dyn FnMut(Option<String>) -> Option<String>,
    ) -> Result<bool> {
        let _lock = Lock::take(&self.flow, request)?;
        // Read under the lock, so that nothing which another hook noted is lost.
        match change(self.host_note(name)) {
            Some(text) => self.keep_host_note(name, &text)?,
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Deletes the note `name`, if it can.
    pub(crate) fn forget_host_note(&self, name: &str) {
        let _ = self.hosts().map(|hosts| hosts.remove(name));
    }

    /// Removes what commands left that were killed while they wrote.
    pub(crate) fn sweep_cache(&self, now: Timestamp) {
        let cache = self.flow.find_dir(CACHE).ok().flatten();
        for dir in cache.into_iter().chain(self.hosts()).chain(self.recaps()) {
            sweep_unflushed(&dir, now);
        }
    }

    /// Adds a line to the log of trouble that hooks had.
    pub(crate) fn log_hook(&self, line: &str) -> Result<()> {
        Ok(append_bounded(&self.cache()?, HOOK_LOG, line, LOG_BYTES)?)
    }
}
