//! One file of a tree: what it is, and how its bytes are read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::model::FileTime;

/// The largest file that is read, in bytes.
pub(super) const FILE_BYTES: u64 = 1 << 30;
/// How often a file is read that changes meanwhile.
const TRIES: usize = 3;
/// How much is read at a time, in bytes.
const PART: usize = 64 << 10;

/// Why a path is not covered. The word is part of the digest, so it must not change.
pub(super) const NESTED: &str = "a repository of its own";
const TOO_LARGE: &str = "larger than 1 GiB";
pub(super) const UNREADABLE: &str = "cannot be read";
const UNSTEADY: &str = "changed while it was read";
const SPECIAL: &str = "neither a file nor a link";

/// The kind of an entry. The number is part of the digest and of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File = b'f' as isize,
    Executable = b'x' as isize,
    Link = b'l' as isize,
}

impl EntryKind {
    pub(super) fn byte(self) -> u8 {
        self as u8
    }

    pub(super) fn of_byte(byte: u8) -> Option<Self> {
        match byte {
            b'f' => Some(Self::File),
            b'x' => Some(Self::Executable),
            b'l' => Some(Self::Link),
            _ => None,
        }
    }
}

/// What differs after a change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) kind: EntryKind,
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) len: u64,
    pub(super) modified: FileTime,
    pub(super) changed: FileTime,
}

impl FileStamp {
    /// `None` for what is neither a file nor a link.
    #[allow(clippy::useless_conversion, reason = "the types of the fields differ between platforms")]
    fn of(stat: &Stat) -> Option<Self> {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => EntryKind::Link,
            // As git does it: the owner's right decides.
            FileType::RegularFile if stat.st_mode & 0o100 != 0 => EntryKind::Executable,
            FileType::RegularFile => EntryKind::File,
            _ => return None,
        };
        Some(Self {
            kind,
            device: stat.st_dev.into(),
            inode: stat.st_ino.into(),
            len: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (stat.st_mtime.into(), i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            changed: (stat.st_ctime.into(), i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
        })
    }
}

/// What is known of the content of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Its kind and the SHA-256 of its bytes, or of the target of a link.
    Covered(EntryKind, [u8; 32]),
    /// Why it is not covered.
    NotCovered(&'static str),
}

/// A path that exists, with its stamp if that may be cached.
pub(super) struct ReadFile {
    pub(super) content: Content,
    pub(super) stamp: Option<FileStamp>,
    /// Whether the content is from the cache.
    pub(super) is_known: bool,
}

impl ReadFile {
    pub(super) fn not_covered(why: &'static str) -> Self {
        Self { content: Content::NotCovered(why), stamp: None, is_known: false }
    }
}

/// Looks at the file `name` in a directory. `known` gives the digest that the cache has for a stamp. `None` if nothing is
/// there: a tracked file that was removed, or in whose place is a directory.
pub(super) fn look(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    known: impl Fn(&FileStamp) -> Option<[u8; 32]>,
) -> Option<ReadFile> {
    for _ in 0..TRIES {
        let stat = match stat(dir, name) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => return None,
            Ok(stat) => stat,
            Err(Errno::NOENT) => return None,
            Err(_) => return Some(ReadFile::not_covered(UNREADABLE)),
        };
        let Some(stamp) = FileStamp::of(&stat) else { return Some(ReadFile::not_covered(SPECIAL)) };
        if let Some(digest) = known(&stamp) {
            let content = Content::Covered(stamp.kind, digest);
            return Some(ReadFile { content, stamp: Some(stamp), is_known: true });
        }
        if stamp.len > FILE_BYTES {
            return Some(ReadFile::not_covered(TOO_LARGE));
        }
        let read = match stamp.kind {
            EntryKind::Link => digest_of_link(dir, name),
            EntryKind::File | EntryKind::Executable => digest_of_file(dir, name, &stamp),
        };
        match read {
            Ok(Some(digest)) if is_still(dir, name, &stamp) => {
                let content = Content::Covered(stamp.kind, digest);
                return Some(ReadFile { content, stamp: Some(stamp), is_known: false });
            }
            // It changed meanwhile.
            Ok(_) => {}
            Err(error) if is_missing(&error) => {}
            Err(_) => return Some(ReadFile::not_covered(UNREADABLE)),
        }
    }
    Some(ReadFile::not_covered(UNSTEADY))
}

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn stat(dir: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<Stat> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_still(dir: BorrowedFd<'_>, name: &OsStr, stamp: &FileStamp) -> bool {
    stat(dir, name).is_ok_and(|stat| FileStamp::of(&stat).as_ref() == Some(stamp))
}

fn digest_of_link(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<[u8; 32]>> {
    let target = rustix::fs::readlinkat(dir, name, Vec::new())?;
    Ok(Some(Sha256::digest(target.as_bytes()).into()))
}

/// The digest of the file's bytes; `None` if it is another file by now.
fn digest_of_file(dir: BorrowedFd<'_>, name: &OsStr, stamp: &FileStamp) -> io::Result<Option<[u8; 32]>> {
    // Without blocking: a FIFO may have taken its place.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(dir, name, flags, Mode::empty()) {
        // It became a link.
        Err(Errno::LOOP) => return Ok(None),
        opened => opened?,
    };
    if FileStamp::of(&rustix::fs::fstat(&file)?).as_ref() != Some(stamp) {
        return Ok(None);
    }
    digest_of(&mut File::from(file), stamp.len)
}

/// `None` if the file has not the length `len`.
fn digest_of(file: &mut File, len: u64) -> io::Result<Option<[u8; 32]>> {
    let mut digest = Sha256::new();
    let mut part = [0; PART];
    let mut read = 0;
    loop {
        match file.read(&mut part) {
            Ok(0) => break,
            Ok(more) => {
                digest.update(&part[..more]);
                read += more as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // A file that grows all the time must not keep this process.
        if read > len {
            return Ok(None);
        }
    }
    Ok((read == len).then(|| digest.finalize().into()))
}

/// The name of a path that need not be UTF-8.
pub(super) fn os(path: &[u8]) -> &OsStr {
    OsStr::from_bytes(path)
}
