//! Files that a caller names: reads are bounded and never block.

use std::io::{Error, ErrorKind, Result};
use std::path::Path;

use crate::disk::dir::{NEW_FILE, read_exact_at, read_up_to, write_all};
use crate::disk::file_system::{Disk, Errno, FileType, Links, Open};

/// The bytes of the regular file at `path`. Refuses a symbolic link.
///
/// # Errors
/// `InvalidInput` for anything but a regular file, `FileTooLarge` beyond `limit` bytes, and errors of the system.
pub(crate) fn read_plain(disk: &dyn Disk, path: &Path, limit: usize) -> Result<Vec<u8>> {
    read(disk, path, Links::Refuse, limit)
}

/// As [`read_plain`], but follows symbolic links.
///
/// # Errors
/// As [`read_plain`].
pub(crate) fn read_named(disk: &dyn Disk, path: &Path, limit: usize) -> Result<Vec<u8>> {
    read(disk, path, Links::Follow, limit)
}

/// Appends `line` to the file at `path`, which is created if it is missing, and flushes it. If a dead writer left a
/// partial line, a line break is put after it.
///
/// # Errors
/// As [`read_plain`].
pub(crate) fn append_line(disk: &dyn Disk, path: &Path, line: &str) -> Result<()> {
    let file = disk.open_file(path, Open::Append { mode: NEW_FILE }, Links::Follow)?;
    let stat = file.stat()?;
    if stat.kind != FileType::RegularFile {
        return Err(odd());
    }
    let mut last = [b'\n'];
    if stat.len > 0 {
        read_exact_at(&*file, &mut last, stat.len - 1)?;
    }
    let start = if last == [b'\n'] { "" } else { "\n" };
    write_all(&*file, format!("{start}{line}\n").as_bytes())?;
    Ok(file.sync_data()?)
}

fn odd() -> Error {
    Error::new(ErrorKind::InvalidInput, "is not a regular file")
}

fn read(disk: &dyn Disk, path: &Path, links: Links, limit: usize) -> Result<Vec<u8>> {
    // Open first and check the type afterwards: a file that is checked first may be replaced before it is opened.
    let file = match disk.open_file(path, Open::Read, links) {
        Ok(file) => file,
        Err(Errno::LOOP | Errno::NXIO) => return Err(odd()),
        Err(errno) => return Err(errno.into()),
    };
    let stat = file.stat()?;
    if stat.kind != FileType::RegularFile {
        return Err(odd());
    }
    let bytes = read_up_to(&*file, 0, stat.len, limit)?;
    if bytes.len() > limit {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("is larger than {limit} bytes")));
    }
    Ok(bytes)
}
