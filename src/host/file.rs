//! Files that somebody named: read within bounds, and never waited for.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The bytes of the regular file at `path`, where no symbolic link may stand.
///
/// # Errors
/// `InvalidInput` for anything else than a regular file, `FileTooLarge` beyond `limit`, and what the system says.
pub(crate) fn read_plain(path: &Path, limit: usize) -> Result<Vec<u8>> {
    read(path, OFlags::NOFOLLOW, limit)
}

/// As [`read_plain`], also through a symbolic link.
///
/// # Errors
/// As [`read_plain`].
pub(crate) fn read_named(path: &Path, limit: usize) -> Result<Vec<u8>> {
    read(path, OFlags::empty(), limit)
}

/// Adds `line` to the file at `path`, which is made when it is not there, and puts it on stable storage. What a dead
/// writer left of a line stays a line of its own.
///
/// # Errors
/// As [`read_plain`].
pub(crate) fn append_line(path: &Path, line: &str) -> Result<()> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o666))?);
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "is not a regular file"));
    }
    let mut last = [0];
    let is_whole = match file.seek(SeekFrom::End(-1)) {
        Ok(_) => file.read(&mut last)? == 0 || last[0] == b'\n',
        Err(_) => true,
    };
    let start = if is_whole { "" } else { "\n" };
    file.write_all(format!("{start}{line}\n").as_bytes())?;
    file.sync_data()
}

fn read(path: &Path, flags: OFlags, limit: usize) -> Result<Vec<u8>> {
    // Opened first and looked at afterwards: what is looked at first may be another file by then. Without waiting for
    // the writer of a FIFO.
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let odd = || Error::new(ErrorKind::InvalidInput, "is not a regular file");
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(handle) => File::from(handle),
        Err(Errno::LOOP | Errno::NXIO) => return Err(odd()),
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(odd());
    }
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large, also when it grows while it is read.
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    file.take(bound).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("is larger than {limit} bytes")));
    }
    Ok(bytes)
}
