//! Inspects names, types, owners and the file system without opening anything.
//!
//! For diagnosis only. It uses paths and follows no links. Nothing may be written because of what it returns: code that
//! changes files checks again, with handles and under a lock.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::dir::USER;
use crate::disk::file_system::{Disk, Errno, FileType, Links, Stat};

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, a socket or a device.
    Special,
}

/// A directory entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The last part of its path, which need not be UTF-8.
    pub name: OsString,
    /// Its path.
    pub path: PathBuf,
    /// Its type.
    pub kind: FileKind,
    /// How many names (hard links) the file has.
    pub links: u64,
    /// The owner's user id.
    pub owner: u32,
    /// Length in bytes.
    pub len: u64,
    /// Device and inode.
    pub id: (u64, u64),
}

impl Entry {
    /// Inspects `path`; `None` if it does not exist.
    ///
    /// # Errors
    /// When it cannot be inspected.
    pub fn of(disk: &dyn Disk, path: &Path) -> io::Result<Option<Self>> {
        match disk.look(path, Links::Refuse) {
            Ok(stat) => Ok(Some(Self::seen(path.to_owned(), &stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether it belongs to the user of this process.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.owner == *USER
    }

    fn seen(path: PathBuf, stat: &Stat) -> Self {
        let kind = match stat.kind {
            FileType::Symlink => FileKind::Link,
            FileType::Directory => FileKind::Directory,
            FileType::Fifo | FileType::Socket | FileType::BlockDevice | FileType::CharacterDevice => FileKind::Special,
            _ => FileKind::File,
        };
        let name = path.file_name().unwrap_or_default().to_owned();
        let (links, owner, len, id) = (stat.links, stat.owner, stat.len, (stat.device, stat.inode));
        Self { name, path, kind, links, owner, len, id }
    }

    /// The name, if it is UTF-8, as all names of flow are.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.name.to_str()
    }
}

/// The entries of `dir`, sorted by name; empty if it is missing or not a directory.
///
/// # Errors
/// When it cannot be read.
pub fn entries(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<Entry>> {
    match Entry::of(disk, dir)? {
        Some(entry) if entry.kind == FileKind::Directory => {}
        _ => return Ok(Vec::new()),
    }
    let mut entries = Vec::new();
    for name in disk.open(dir)?.names()? {
        // An entry that was removed meanwhile is left out.
        entries.extend(Entry::of(disk, &dir.join(name))?);
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// The name of the file system of `path`, if locks or flushes may be unreliable on it.
#[must_use]
pub fn doubtful_file_system(disk: &dyn Disk, path: &Path) -> Option<&'static str> {
    doubtful(disk.magic(path)?)
}

/// The name for a magic number of `statfs(2)`.
fn doubtful(magic: u32) -> Option<&'static str> {
    match magic {
        0x6969 => Some("NFS"),
        0xfe53_4d42 => Some("SMB2"),
        0xff53_4d42 => Some("CIFS"),
        0x517b => Some("SMB"),
        0x0102_1997 => Some("9p"),
        0x6573_5546 => Some("FUSE"),
        0x00c3_6400 => Some("Ceph"),
        0x5346_414f => Some("AFS"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::os::Os;

    #[test]
    fn file_systems_are_told_by_their_magic_number() {
        assert_eq!(doubtful(0x6969), Some("NFS"));
        assert_eq!(doubtful(0x6573_5546), Some("FUSE"));
        assert_eq!(doubtful(0xef53), None, "ext4");
        assert_eq!(doubtful(0x0102_1994), None, "tmpfs");
    }

    #[test]
    fn kinds_are_told_without_following_anything() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
        std::fs::create_dir(dir.path().join("dir")).unwrap();
        let seen = entries(&Os, dir.path()).unwrap();
        assert_eq!(seen.iter().map(|entry| entry.kind).collect::<Vec<_>>(), [FileKind::Directory, FileKind::Link]);
        assert_eq!(Entry::of(&Os, &dir.path().join("no")).unwrap(), None);
        assert_eq!(entries(&Os, &dir.path().join("no")).unwrap(), []);
    }
}
