//! What a store has to do for a run that it keeps as files, besides what every store promises.

use std::fmt;

use crate::model::{Seq, Timestamp};
use crate::store::batch::ActivityFile;
use crate::store::error::StoreError;

/// The chores of a store that keeps runs as files. Others have none: see [`RunWriter::chores`](super::RunWriter::chores).
pub trait LocalChores: fmt::Debug {
    /// Whether another writer that lives has released the lock, is still flushing what it appended, and will then
    /// publish it.
    ///
    /// # Errors
    /// [`StoreError`] when the run cannot be inspected.
    fn is_flushed_elsewhere(&self) -> Result<bool, StoreError>;

    /// Brings the newer events of the log's end to stable storage, whose writers may be about to do so.
    ///
    /// # Errors
    /// [`StoreError::Unconfirmed`] if they may not be there.
    fn settle(&mut self) -> Result<(), StoreError>;

    /// Removes temporary files of dead writers, and moves those that flow did not write to quarantine. `shown` is a
    /// position that `run.yaml` shows beyond the log's end.
    ///
    /// # Errors
    /// [`StoreError`] when something cannot be read or removed.
    fn clear_leftovers(&mut self, shown: Seq, now: Timestamp) -> Result<(), StoreError>;

    /// Restores files of recorded activities that a power cut damaged. Returns a warning if some could not be checked.
    ///
    /// # Errors
    /// [`StoreError`] when the latest file cannot be read or written: later commands will not check it again.
    fn restore_lost(&mut self) -> Result<Option<String>, StoreError>;

    /// Writes those of the given files that are missing or were cut off, and flushes their names. Any other difference
    /// is a person's edit and stays.
    ///
    /// # Errors
    /// [`StoreError`] when a file cannot be read or written.
    fn restore(&mut self, files: &[ActivityFile]) -> Result<(), StoreError>;

    /// Keeps a copy of `run.yaml` in quarantine: what a person changed in it gives way to an event.
    ///
    /// # Errors
    /// [`StoreError`] when the copy is not durable.
    fn keep_text(&mut self, now: Timestamp) -> Result<(), StoreError>;

    /// Moves the activity file of this name, which is in the way, to quarantine.
    ///
    /// # Errors
    /// [`StoreError`]; the file then stays in its place.
    fn set_aside(&mut self, name: &str, now: Timestamp) -> Result<(), StoreError>;

    /// Messages about what was moved to quarantine since the last call.
    fn take_notes(&mut self) -> Vec<String>;
}
