//! Files that are replaced and never flushed: caches and notes, on which nothing depends.

use crate::disk::dir::{Dir, NEW_FILE};
use crate::disk::error::{DiskError, Operation};
use crate::disk::file_system::{FileType, Open, Rename};
use crate::model::Timestamp;

/// What the name of a temporary file begins and ends with. Between them are the process and a number: processes that replace
/// the same file at the same time have a temporary file each.
const BEGINS: &str = ".cache.";
const ENDS: &str = ".tmp";
/// How many temporary names a process tries: other threads of it use some, and a dead process with its number left others.
const NAMES: u32 = 100;
/// A temporary file that is older, in milliseconds, belongs to no living process.
const LEFT_AFTER: u64 = 60 * 60 * 1000;

/// Replaces `name` by a file with these bytes in one step.
pub(crate) fn replace_unflushed(dir: &Dir, name: &str, bytes: impl AsRef<[u8]>) -> Result<(), DiskError> {
    let mut number = 0;
    let new = loop {
        let new = format!("{BEGINS}{}-{number}{ENDS}", std::process::id());
        match dir.create(&new, bytes.as_ref(), NEW_FILE) {
            Ok(_) => break new,
            Err(DiskError::Exists { .. }) if number < NAMES => number += 1,
            Err(error) => return Err(error),
        }
    };
    dir.rename(&new, name, Rename::Replace).inspect_err(|_| {
        // Otherwise it would stay until a sweep that comes an hour later.
        let _ = dir.remove(&new);
    })
}

/// Puts `text` in place of one of the same length, such as a time, which takes a fortieth of the time of [`replace_unflushed`].
/// A reader may see a part of either.
pub(crate) fn overwrite_unflushed(dir: &Dir, name: &str, text: &str) -> Result<(), DiskError> {
    match dir.look(name) {
        Ok(stat) if stat.kind == FileType::RegularFile && stat.len == text.len() as u64 => {}
        _ => return replace_unflushed(dir, name, text),
    }
    let file = dir.open_own(name, Open::Write { mode: NEW_FILE })?;
    let written = file.write_at(text.as_bytes(), 0);
    written.map(drop).map_err(|errno| DiskError::io(Operation::Write, dir.join(name), errno))
}

/// Removes the temporary files that dead processes left in `dir`.
pub(crate) fn sweep_unflushed(dir: &Dir, now: Timestamp) {
    for name in dir.names().unwrap_or_default() {
        if !name.starts_with(BEGINS) || !name.ends_with(ENDS) {
            continue;
        }
        // A younger one may belong to a process that is about to rename it.
        if let Ok(stat) = dir.look(&name)
            && let Some(changed) = Timestamp::of_unix(stat.changed.0)
            && changed.milliseconds_until(now) > LEFT_AFTER
        {
            let _ = dir.remove(&name);
        }
    }
}
