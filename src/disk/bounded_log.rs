//! Logs that stay small: nothing depends on them, and they are never flushed.

use crate::disk::dir::{Dir, NEW_FILE, write_all};
use crate::disk::error::{DiskError, Operation};
use crate::disk::file_system::Open;
use crate::disk::unflushed::replace_unflushed;

/// Adds `line`, which ends with a line break, to the log `name`. If the log would be longer than `limit` bytes, it goes on
/// with its second half.
pub(crate) fn append_bounded(dir: &Dir, name: &str, line: &str, limit: usize) -> Result<(), DiskError> {
    let len = dir.look(name).map_or(0, |stat| stat.len);
    if len + line.len() as u64 > limit as u64 {
        // One that another program made too long is dropped.
        let text = dir.read_text(name, limit).ok().flatten().unwrap_or_default();
        let half = text.ceil_char_boundary(text.len() / 2);
        // The first line of the half may be cut.
        let kept = text[half..].split_once('\n').map_or("", |(_, kept)| kept);
        replace_unflushed(dir, name, kept)?;
    }
    let log = dir.open_own(name, Open::Append { mode: NEW_FILE })?;
    write_all(&*log, line.as_bytes()).map_err(|error| DiskError::io(Operation::Write, dir.join(name), error))
}
