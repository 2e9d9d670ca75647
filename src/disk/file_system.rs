//! What is asked of a file system.
//!
//! [`Os`](crate::disk::Os) is the real one. Tests bring another one, with a memory of what a power cut may still take,
//! and calls that fail when they shall. So nothing here is more than a POSIX file system has: directories that are held
//! open, single names in them, and errors as error numbers.

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use rustix::fs::FileType;
pub use rustix::io::Errno;

/// What a call answers.
pub type Answer<T> = Result<T, Errno>;

/// A file system.
pub trait Disk: Debug + Send + Sync {
    /// Opens a directory by its path. Symbolic links on the way are followed.
    ///
    /// # Errors
    /// `ENOENT` without one, `ENOTDIR` for something else, and others.
    fn open(&self, path: &Path) -> Answer<Arc<dyn DiskDir>>;

    /// What a path leads to.
    ///
    /// # Errors
    /// `ENOENT` when there is nothing, and others.
    fn look(&self, path: &Path, links: Links) -> Answer<Stat>;

    /// Opens the file at `path`, as [`DiskDir::open_file`] does.
    ///
    /// # Errors
    /// As there; `ELOOP` for a symbolic link with [`Links::Refuse`].
    fn open_file(&self, path: &Path, how: Open, links: Links) -> Answer<Arc<dyn DiskFile>>;

    /// The path without symbolic links, dots and double dots; everything on it must exist.
    ///
    /// # Errors
    /// `ENOENT` when something does not, and others.
    fn canonical(&self, path: &Path) -> Answer<PathBuf>;

    /// What is below the directory `root`, after `root` itself, by name and each directory before what is in it. What is
    /// called `skip` is left out, with everything in it. No link is followed.
    ///
    /// # Errors
    /// Any error number, of any directory.
    fn walk(&self, root: &Path, skip: &OsStr) -> Answer<Vec<(PathBuf, FileType)>>;

    /// Whether this process may write `path`: its mode, its file system and the capabilities of the process together.
    fn may_write(&self, path: &Path) -> bool;

    /// Which kind of file system `path` is on, as the magic number of `statfs`; `None` when that cannot be told.
    fn magic(&self, _path: &Path) -> Option<u32> {
        None
    }
}

impl dyn Disk {
    /// Whether there is a directory at `path`, maybe behind a symbolic link.
    #[must_use]
    pub fn is_dir(&self, path: &Path) -> bool {
        self.look(path, Links::Follow).is_ok_and(|stat| stat.kind == FileType::Directory)
    }

    /// Whether there is a regular file at `path`, maybe behind a symbolic link.
    #[must_use]
    pub fn is_file(&self, path: &Path) -> bool {
        self.look(path, Links::Follow).is_ok_and(|stat| stat.kind == FileType::RegularFile)
    }
}

/// An open directory. It stays the same one wherever it is moved, and its lock ends with the last handle that shares it.
pub trait DiskDir: Debug + Send + Sync {
    /// The directory itself.
    ///
    /// # Errors
    /// Any error number.
    fn stat(&self) -> Answer<Stat>;

    /// What `name` is; a symbolic link is not followed.
    ///
    /// # Errors
    /// `ENOENT` when there is nothing, and others.
    fn look(&self, name: &OsStr) -> Answer<Stat>;

    /// What `name` in the directory `dir` inside this one is; a symbolic link of that name is not followed. That `dir` is a
    /// directory and not a link to one is the caller's to check.
    ///
    /// # Errors
    /// As [`Self::look`].
    fn look_into(&self, dir: &OsStr, name: &OsStr) -> Answer<Stat> {
        self.open_dir(dir)?.look(name)
    }

    /// Opens the directory `name`, or this one again as `.`.
    ///
    /// # Errors
    /// `ENOTDIR` or `ELOOP` for a symbolic link and other kinds of files, `ENOENT`, and others.
    fn open_dir(&self, name: &OsStr) -> Answer<Arc<dyn DiskDir>>;

    /// Opens the file `name`. Never waits, follows no symbolic link, and is not inherited by children.
    ///
    /// # Errors
    /// `ELOOP` for a symbolic link, `EISDIR` or `ENXIO` for what cannot be opened so, `EEXIST`, `ENOENT`, and others.
    fn open_file(&self, name: &OsStr, how: Open) -> Answer<Arc<dyn DiskFile>>;

    /// Makes the directory `name` with these permission bits, less the umask.
    ///
    /// # Errors
    /// `EEXIST` when there is something, and others.
    fn make_dir(&self, name: &OsStr, mode: u32) -> Answer<()>;

    /// Renames `from` to `to` in `into`, a directory of the same file system, at once.
    ///
    /// # Errors
    /// `EEXIST` with [`Rename::NoReplace`]; `EINVAL`, `ENOSYS` or `EOPNOTSUPP` when only [`Rename::Replace`] is known here.
    fn rename(&self, from: &OsStr, into: &dyn DiskDir, to: &OsStr, how: Rename) -> Answer<()>;

    /// Removes the file `name`.
    ///
    /// # Errors
    /// `ENOENT` when there is nothing, and others.
    fn remove(&self, name: &OsStr) -> Answer<()>;

    /// Removes the empty directory `name`.
    ///
    /// # Errors
    /// `ENOTEMPTY`, `ENOENT`, and others.
    fn remove_dir(&self, name: &OsStr) -> Answer<()>;

    /// All names except `.` and `..`, in no order.
    ///
    /// # Errors
    /// Any error number.
    fn names(&self) -> Answer<Vec<OsString>>;

    /// As [`Self::names`], each with what it is, or [`FileType::Unknown`] when only a look at it tells.
    ///
    /// # Errors
    /// Any error number.
    fn entries(&self) -> Answer<Vec<(OsString, FileType)>> {
        let kind = |name: &OsString| self.look(name).map_or(FileType::Unknown, |stat| stat.kind);
        Ok(self.names()?.into_iter().map(|name| (name.clone(), kind(&name))).collect())
    }

    /// Puts the names in this directory on stable storage.
    ///
    /// # Errors
    /// Any error number.
    fn sync(&self) -> Answer<()>;

    /// Locks the directory for this handle alone.
    ///
    /// # Errors
    /// `EWOULDBLOCK` when another handle has it and [`Wait::No`]; others where directories cannot be locked.
    fn lock(&self, wait: Wait) -> Answer<()>;

    /// Itself, so that [`DiskDir::rename`] can tell whether `into` is of the same kind.
    fn as_any(&self) -> &dyn Any;
}

/// An open file.
pub trait DiskFile: Debug + Send + Sync {
    /// The file itself.
    ///
    /// # Errors
    /// Any error number.
    fn stat(&self) -> Answer<Stat>;

    /// Reads at `offset`, maybe less than `buffer` holds; 0 at the end.
    ///
    /// # Errors
    /// Any error number but `EINTR`.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Answer<usize>;

    /// One write at the end of a file that is opened with [`Open::Append`] or was just created. Says how much was written.
    ///
    /// # Errors
    /// Any error number but `EINTR`.
    fn append(&self, bytes: &[u8]) -> Answer<usize>;

    /// One write at `offset`. Says how much was written.
    ///
    /// # Errors
    /// Any error number but `EINTR`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Answer<usize>;

    /// Cuts the file off, or extends it with zeros.
    ///
    /// # Errors
    /// Any error number but `EINTR`.
    fn set_len(&self, len: u64) -> Answer<()>;

    /// Sets the permission bits.
    ///
    /// # Errors
    /// Any error number.
    fn set_mode(&self, mode: u32) -> Answer<()>;

    /// Gives the file to another user or group; `None` leaves the one that it has.
    ///
    /// # Errors
    /// `EPERM` when this user may not, and others.
    fn set_owner(&self, user: Option<u32>, group: Option<u32>) -> Answer<()>;

    /// Lets the system begin to write what it still holds, without waiting. Only a hint: nothing may rest on it.
    fn write_soon(&self) {}

    /// Puts data on stable storage, and what is needed to find it.
    ///
    /// # Errors
    /// Any error number but `EINTR`. What was written before may be lost then, whatever a later flush says.
    fn sync_data(&self) -> Answer<()>;

    /// As [`DiskFile::sync_data`], with all metadata.
    ///
    /// # Errors
    /// As [`DiskFile::sync_data`].
    fn sync_all(&self) -> Answer<()>;

    /// Locks the file for this handle alone.
    ///
    /// # Errors
    /// `EWOULDBLOCK` when another handle has it and [`Wait::No`], and others.
    fn lock(&self, wait: Wait) -> Answer<()>;
}

/// What is looked at in a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: FileType,
    /// Its permission bits.
    pub mode: u32,
    /// Its owner's user id.
    pub owner: u32,
    /// Its group's id.
    pub group: u32,
    /// How many names it has.
    pub links: u64,
    /// The file system that it is on.
    pub device: u64,
    /// Its number there.
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

/// What becomes of a symbolic link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// It is followed.
    Follow,
    /// It is not: a look sees the link itself, and nothing is opened.
    Refuse,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// For reading; it must exist.
    Read,
    /// For reading and writing; made with these permission bits, less the umask, when it does not exist.
    Write {
        /// The permission bits of a new file.
        mode: u32,
    },
    /// As [`Open::Write`]; every [`DiskFile::append`] goes to the end, also when others write.
    Append {
        /// The permission bits of a new file.
        mode: u32,
    },
    /// Made now, for writing; it must not exist.
    New {
        /// Its permission bits, less the umask.
        mode: u32,
    },
}

/// What a rename does with a file that has the new name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rename {
    /// It must not exist.
    NoReplace,
    /// It is replaced.
    Replace,
    /// It takes the old name.
    Exchange,
}

/// Whether to wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Come back at once.
    No,
    /// As long as it takes.
    Forever,
}
