//! The interface to a file system.
//!
//! [`Os`](crate::disk::Os) is the real one. Tests use others, which know what a power cut may still lose, and whose
//! calls fail on demand. So the interface is small and has only what every POSIX file system has: open directories,
//! single names in them, and errors as error numbers.

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use rustix::fs::FileType;
pub use rustix::io::Errno;

/// The result of a call.
pub type Answer<T> = Result<T, Errno>;

/// A file system.
pub trait Disk: Debug + Send + Sync {
    /// Opens a directory by its path. Symbolic links on the way are followed.
    ///
    /// # Errors
    /// `ENOENT` if it does not exist, `ENOTDIR` if it is not a directory, and others.
    fn open(&self, path: &Path) -> Answer<Arc<dyn DiskDir>>;

    /// The metadata of what a path leads to.
    ///
    /// # Errors
    /// `ENOENT` if it does not exist, and others.
    fn look(&self, path: &Path, links: Links) -> Answer<Stat>;

    /// Opens the file at `path`, as [`DiskDir::open_file`] does.
    ///
    /// # Errors
    /// As there; `ELOOP` for a symbolic link with [`Links::Refuse`].
    fn open_file(&self, path: &Path, how: Open, links: Links) -> Answer<Arc<dyn DiskFile>>;

    /// The path without symbolic links, `.` and `..`. Everything on it must exist.
    ///
    /// # Errors
    /// `ENOENT` if something does not exist, and others.
    fn canonical(&self, path: &Path) -> Answer<PathBuf>;

    /// The tree below `root`, beginning with `root` itself: sorted by name, and each directory before its contents.
    /// Leaves out everything named `skip`, with its contents. Follows no links.
    ///
    /// # Errors
    /// Any error number, from any directory.
    fn walk(&self, root: &Path, skip: &OsStr) -> Answer<Vec<(PathBuf, FileType)>>;

    /// Whether this process may write `path`, by its mode, its file system and the capabilities of the process.
    fn may_write(&self, path: &Path) -> bool;

    /// The kind of file system of `path`, as the magic number of `statfs`; `None` if unknown.
    fn magic(&self, _path: &Path) -> Option<u32> {
        None
    }
}

impl dyn Disk {
    /// Whether `path` is a directory. Follows symbolic links.
    #[must_use]
    pub fn is_dir(&self, path: &Path) -> bool {
        self.look(path, Links::Follow).is_ok_and(|stat| stat.kind == FileType::Directory)
    }

    /// Whether `path` is a regular file. Follows symbolic links.
    #[must_use]
    pub fn is_file(&self, path: &Path) -> bool {
        self.look(path, Links::Follow).is_ok_and(|stat| stat.kind == FileType::RegularFile)
    }
}

/// An open directory. It stays the same directory when it is moved, and its lock ends with the last handle that shares
/// it.
pub trait DiskDir: Debug + Send + Sync {
    /// The metadata of the directory itself.
    ///
    /// # Errors
    /// Any error number.
    fn stat(&self) -> Answer<Stat>;

    /// The metadata of `name`, without following a symbolic link.
    ///
    /// # Errors
    /// `ENOENT` if it does not exist, and others.
    fn look(&self, name: &OsStr) -> Answer<Stat>;

    /// The metadata of `name` in the directory `dir` inside this one, without following a symbolic link `name`. The
    /// caller must know that `dir` is a directory and not a link to one.
    ///
    /// # Errors
    /// As [`Self::look`].
    fn look_into(&self, dir: &OsStr, name: &OsStr) -> Answer<Stat> {
        self.open_dir(dir)?.look(name)
    }

    /// Opens the directory `name`; `.` opens this one again.
    ///
    /// # Errors
    /// `ENOTDIR` or `ELOOP` for a symbolic link and other kinds of files, `ENOENT`, and others.
    fn open_dir(&self, name: &OsStr) -> Answer<Arc<dyn DiskDir>>;

    /// Opens the file `name`. Never blocks and follows no symbolic link; children do not inherit the file.
    ///
    /// # Errors
    /// `ELOOP` for a symbolic link, `EISDIR` or `ENXIO` for other kinds of files, `EEXIST`, `ENOENT`, and others.
    fn open_file(&self, name: &OsStr, how: Open) -> Answer<Arc<dyn DiskFile>>;

    /// Makes the directory `name` with these permission bits, less the umask.
    ///
    /// # Errors
    /// `EEXIST` if the name is taken, and others.
    fn make_dir(&self, name: &OsStr, mode: u32) -> Answer<()>;

    /// Renames `from` to `to` in `into`, a directory of the same file system, atomically.
    ///
    /// # Errors
    /// `EEXIST` with [`Rename::NoReplace`]; `EINVAL`, `ENOSYS` or `EOPNOTSUPP` if only [`Rename::Replace`] is
    /// supported.
    fn rename(&self, from: &OsStr, into: &dyn DiskDir, to: &OsStr, how: Rename) -> Answer<()>;

    /// Removes the file `name`.
    ///
    /// # Errors
    /// `ENOENT` if it does not exist, and others.
    fn remove(&self, name: &OsStr) -> Answer<()>;

    /// Gives the file or directory `name` to a user and a group. Follows no link.
    ///
    /// # Errors
    /// `EPERM` if this user may not do that, and others.
    fn give(&self, name: &OsStr, user: u32, group: u32) -> Answer<()>;

    /// Removes the empty directory `name`.
    ///
    /// # Errors
    /// `ENOTEMPTY`, `ENOENT`, and others.
    fn remove_dir(&self, name: &OsStr) -> Answer<()>;

    /// All names except `.` and `..`, in no particular order.
    ///
    /// # Errors
    /// Any error number.
    fn names(&self) -> Answer<Vec<OsString>>;

    /// Calls `each` with the names of [`Self::names`] and their types, or [`FileType::Unknown`] if only [`Self::look`]
    /// can tell it.
    ///
    /// # Errors
    /// Any error number.
    fn entries(&self, each: &mut dyn FnMut(&OsStr, FileType)) -> Answer<()> {
        for name in self.names()? {
            each(&name, self.look(&name).map_or(FileType::Unknown, |stat| stat.kind));
        }
        Ok(())
    }

    /// Flushes the names in this directory to stable storage.
    ///
    /// # Errors
    /// Any error number.
    fn sync(&self) -> Answer<()>;

    /// Locks the directory exclusively for this handle.
    ///
    /// # Errors
    /// `EWOULDBLOCK` with [`Wait::No`] if another handle holds the lock; others if directories cannot be locked.
    fn lock(&self, wait: Wait) -> Answer<()>;

    /// The value itself, so that [`DiskDir::rename`] can check that `into` has the same type.
    fn as_any(&self) -> &dyn Any;
}

/// An open file.
pub trait DiskFile: Debug + Send + Sync {
    /// The metadata of the file itself.
    ///
    /// # Errors
    /// Any error number.
    fn stat(&self) -> Answer<Stat>;

    /// Reads at `offset`, and returns how many bytes: maybe fewer than fit into `buffer`, and 0 at the end.
    ///
    /// # Errors
    /// Any error number but `EINTR`.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Answer<usize>;

    /// One write at the end of a file opened with [`Open::Append`] or just created. Returns how many bytes were
    /// written.
    ///
    /// # Errors
    /// Any error number but `EINTR`.
    fn append(&self, bytes: &[u8]) -> Answer<usize>;

    /// One write at `offset`. Returns how many bytes were written.
    ///
    /// # Errors
    /// Any error number but `EINTR`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Answer<usize>;

    /// Truncates the file, or extends it with zeros.
    ///
    /// # Errors
    /// Any error number but `EINTR`.
    fn set_len(&self, len: u64) -> Answer<()>;

    /// Sets the permission bits.
    ///
    /// # Errors
    /// Any error number.
    fn set_mode(&self, mode: u32) -> Answer<()>;

    /// Changes the file's user or group; `None` keeps the current one.
    ///
    /// # Errors
    /// `EPERM` if this user may not do that, and others.
    fn set_owner(&self, user: Option<u32>, group: Option<u32>) -> Answer<()>;

    /// Asks the system to start writing cached data, without waiting. Only a hint: nothing may depend on it.
    fn write_soon(&self) {}

    /// Flushes the data to stable storage, with the metadata needed to find it.
    ///
    /// # Errors
    /// Any error number but `EINTR`. After an error, earlier writes may be lost, even if a later flush succeeds.
    fn sync_data(&self) -> Answer<()>;

    /// As [`DiskFile::sync_data`], with all metadata.
    ///
    /// # Errors
    /// As [`DiskFile::sync_data`].
    fn sync_all(&self) -> Answer<()>;

    /// Locks the file exclusively for this handle.
    ///
    /// # Errors
    /// `EWOULDBLOCK` with [`Wait::No`] if another handle holds the lock, and others.
    fn lock(&self, wait: Wait) -> Answer<()>;

    /// Locks the file together with other handles that share it, without waiting.
    ///
    /// # Errors
    /// `EWOULDBLOCK` if another handle has it exclusively, and others.
    fn share(&self) -> Answer<()>;

    /// Whether another handle has locked the file or shares it. This handle must do neither.
    ///
    /// # Errors
    /// Any error number.
    fn is_held(&self) -> Answer<bool>;
}

/// The metadata of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Whether it is a file, a directory or something else.
    pub kind: FileType,
    /// Its permission bits.
    pub mode: u32,
    /// Its owner's user id.
    pub owner: u32,
    /// Its group's id.
    pub group: u32,
    /// How many names (hard links) it has.
    pub links: u64,
    /// The device number of its file system.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
    /// Its length in bytes.
    pub len: u64,
    /// When it was last changed in any way, in seconds and nanoseconds since 1970.
    pub changed: (i64, i64),
}

impl Stat {
    /// Whether both are the same file.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// Whether a symbolic link at the end of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// It is followed.
    Follow,
    /// No: [`Disk::look`] returns the link itself, and opening it fails.
    Refuse,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// For reading; it must exist.
    Read,
    /// For reading and writing. A missing file is created with these permission bits, less the umask.
    Write {
        /// The permission bits of a new file.
        mode: u32,
    },
    /// As [`Open::Write`]. Every [`DiskFile::append`] goes to the current end, even while others write.
    Append {
        /// The permission bits of a new file.
        mode: u32,
    },
    /// For writing a new file; it must not exist.
    New {
        /// Its permission bits, less the umask.
        mode: u32,
    },
}

/// What a rename does if the new name exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rename {
    /// Fail.
    NoReplace,
    /// Replace it.
    Replace,
    /// Exchange both files.
    Exchange,
}

/// How long to wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// Until it is free.
    Forever,
}
