//! Directory handles: the only way to files below `.flow`.
//!
//! A handle plus one name, opened without following links, cannot be led elsewhere by anybody who swaps directories for
//! symbolic links meanwhile. `O_NONBLOCK` keeps a FIFO from hanging the open; what is no regular file is refused.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use crate::store::StoreError;

/// Whether files of other users may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Only files of the user who runs flow.
    OwnFiles,
    /// Files of any owner, because the caller said so.
    AnyOwner,
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct Dir {
    fd: OwnedFd,
    path: PathBuf,
    trust: Trust,
}

/// How a rename treats a file of the new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Onto {
    /// It must not exist.
    Nothing,
    /// It is replaced.
    Whatever,
    /// It takes the old name.
    Exchange,
}

/// Mode of a new file, before the umask.
pub(crate) const NEW_FILE: u32 = 0o666;

const DIR_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE_FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

impl Dir {
    /// Opens a directory by its path. Links on the way to a project are the user's own business.
    pub(crate) fn open_path(path: &Path, trust: Trust) -> Result<Self, StoreError> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| fault("open", path.to_owned(), errno))?;
        Ok(Self { fd, path: path.to_owned(), trust })
    }

    /// The path, for messages only.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Opens the directory `name` inside this one.
    pub(crate) fn open_dir(&self, name: &str) -> Result<Self, StoreError> {
        let path = self.join(name);
        let fd = rustix::fs::openat(&self.fd, name, DIR_FLAGS, Mode::empty()).map_err(|errno| match errno {
            // With O_DIRECTORY a symbolic link is reported as "not a directory".
            Errno::LOOP | Errno::NOTDIR => self.why_not(name),
            _ => fault("open", path.clone(), errno),
        })?;
        let dir = Self { fd, path, trust: self.trust };
        dir.check_owner(&dir.stat()?)?;
        Ok(dir)
    }

    /// As [`Self::open_dir`]; `None` when there is nothing of that name.
    pub(crate) fn find_dir(&self, name: &str) -> Result<Option<Self>, StoreError> {
        match self.open_dir(name) {
            Err(error) if error.is_not_found() => Ok(None),
            found => found.map(Some),
        }
    }

    /// Creates the directory `name`.
    pub(crate) fn make_dir(&self, name: &str) -> Result<(), StoreError> {
        rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777))
            .map_err(|errno| fault("create", self.join(name), errno))
    }

    /// Opens the directory `name`, creating it first when it is missing. Says whether it was created.
    pub(crate) fn ensure_dir(&self, name: &str) -> Result<(Self, bool), StoreError> {
        if let Some(dir) = self.find_dir(name)? {
            return Ok((dir, false));
        }
        let created = match self.make_dir(name) {
            Ok(()) => true,
            Err(StoreError::Exists { .. }) => false,
            Err(error) => return Err(error),
        };
        Ok((self.open_dir(name)?, created))
    }

    fn stat(&self) -> Result<Stat, StoreError> {
        rustix::fs::fstat(&self.fd).map_err(|errno| fault("inspect", self.path.clone(), errno))
    }

    fn check_owner(&self, stat: &Stat) -> Result<(), StoreError> {
        if self.trust == Trust::OwnFiles && stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(StoreError::Unsafe { path: self.path.clone(), why: "belongs to another user" });
        }
        Ok(())
    }

    /// Says in words why `name` is not what it should be.
    fn why_not(&self, name: &str) -> StoreError {
        let kind = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| file_type(&stat));
        let why = match kind {
            Ok(FileType::Symlink) => "is a symbolic link",
            Ok(FileType::Directory) => "is a directory",
            Ok(FileType::RegularFile) => "is a file, not a directory",
            Ok(FileType::Fifo) => "is a FIFO",
            Ok(FileType::Socket) => "is a socket",
            Ok(FileType::CharacterDevice | FileType::BlockDevice) => "is a device",
            Ok(_) | Err(_) => "is not a regular file",
        };
        StoreError::Unsafe { path: self.join(name), why }
    }

    /// Opens the regular file `name` with `flags`.
    fn open_file(&self, name: &str, flags: OFlags, mode: u32, action: &'static str) -> Result<File, StoreError> {
        let fd =
            rustix::fs::openat(&self.fd, name, flags | FILE_FLAGS, Mode::from_raw_mode(mode)).map_err(|errno| {
                match errno {
                    Errno::LOOP | Errno::ISDIR | Errno::NXIO => self.why_not(name),
                    _ => fault(action, self.join(name), errno),
                }
            })?;
        let file = File::from(fd);
        if file_type(&self.stat_file(&file, name)?) != FileType::RegularFile {
            return Err(self.why_not(name));
        }
        Ok(file)
    }

    fn stat_file(&self, file: &File, name: &str) -> Result<Stat, StoreError> {
        rustix::fs::fstat(file).map_err(|errno| fault("inspect", self.join(name), errno))
    }

    /// Opens `name` for reading; `None` when there is nothing of that name.
    pub(crate) fn open_read(&self, name: &str) -> Result<Option<File>, StoreError> {
        match self.open_file(name, OFlags::RDONLY, 0, "read") {
            Err(error) if error.is_not_found() => Ok(None),
            found => found.map(Some),
        }
    }

    /// Opens or creates `name` for reading and writing. A file with another name elsewhere (a hard link) is refused:
    /// what is written here would appear there.
    pub(crate) fn open_own(&self, name: &str, flags: OFlags, mode: u32) -> Result<File, StoreError> {
        let file = self.open_file(name, flags | OFlags::RDWR | OFlags::CREATE, mode, "open")?;
        let stat = self.stat_file(&file, name)?;
        if stat.st_nlink > 1 {
            let why = "is a hard link: writing to it would change another file too";
            return Err(StoreError::Unsafe { path: self.join(name), why });
        }
        if self.trust == Trust::OwnFiles && stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(StoreError::Unsafe { path: self.join(name), why: "belongs to another user" });
        }
        Ok(file)
    }

    /// The whole of the regular file `name`; `None` when there is none.
    pub(crate) fn read(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(mut file) = self.open_read(name)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let hint = file.metadata().map_or(0, |meta| meta.len().min(bound));
        bytes.reserve_exact(usize::try_from(hint).unwrap_or(0) + 1);
        Read::by_ref(&mut file).take(bound).read_to_end(&mut bytes).map_err(|source| StoreError::Io {
            action: "read",
            path: self.join(name),
            source,
        })?;
        if bytes.len() > limit {
            return Err(StoreError::TooLarge { path: self.join(name), limit });
        }
        Ok(Some(bytes))
    }

    /// As [`Self::read`], as text.
    pub(crate) fn read_text(&self, name: &str, limit: usize) -> Result<Option<String>, StoreError> {
        let Some(bytes) = self.read(name, limit)? else {
            return Ok(None);
        };
        String::from_utf8(bytes).map(Some).map_err(|_| StoreError::NotUtf8 { path: self.join(name) })
    }

    /// Creates `name` with `bytes`; it must not exist. Not flushed.
    pub(crate) fn create(&self, name: &str, bytes: &[u8], mode: u32) -> Result<File, StoreError> {
        let file = self.open_file(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode, "create")?;
        let wanted = Mode::from_raw_mode(mode);
        if mode != NEW_FILE && self.stat_file(&file, name)?.st_mode & 0o777 != mode {
            // The mode of a file that is replaced is its owner's choice, not the umask's.
            rustix::fs::fchmod(&file, wanted).map_err(|errno| fault("create", self.join(name), errno))?;
        }
        write_all(&file, bytes).map_err(|source| {
            // The half-written file would only be found and removed later.
            let _ = self.remove(name);
            StoreError::Io { action: "write", path: self.join(name), source }
        })?;
        Ok(file)
    }

    /// The mode bits of `name`, or those of a new file.
    pub(crate) fn mode_of(&self, name: &str) -> u32 {
        rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)
            .ok()
            .filter(|stat| file_type(stat) == FileType::RegularFile)
            .map_or(NEW_FILE, |stat| stat.st_mode & 0o777)
    }

    /// Whether anything of that name exists.
    pub(crate) fn exists(&self, name: &str) -> Result<bool, StoreError> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(fault("inspect", self.join(name), errno)),
        }
    }

    /// Renames `from` to `to` inside this directory.
    pub(crate) fn rename(&self, from: &str, to: &str, onto: Onto) -> Result<(), StoreError> {
        self.rename_into(from, self, to, onto)
    }

    /// Renames `from` to `to` in the directory `into`, which must be on the same file system.
    pub(crate) fn rename_into(&self, from: &str, into: &Self, to: &str, onto: Onto) -> Result<(), StoreError> {
        let result = match onto {
            Onto::Whatever => rustix::fs::renameat(&self.fd, from, &into.fd, to),
            Onto::Nothing => rustix::fs::renameat_with(&self.fd, from, &into.fd, to, RenameFlags::NOREPLACE),
            Onto::Exchange => rustix::fs::renameat_with(&self.fd, from, &into.fd, to, RenameFlags::EXCHANGE),
        };
        let unsupported = matches!(result, Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP));
        if onto == Onto::Nothing && unsupported && !into.exists(to)? {
            // A file system without that flag: the caller's lock keeps the name free after the look.
            return self.rename_into(from, into, to, Onto::Whatever);
        }
        result.map_err(|errno| match errno {
            Errno::EXIST => StoreError::Exists { path: into.join(to) },
            _ => fault("rename", self.join(from), errno),
        })
    }

    /// Removes the file `name`; nothing of that name is fine.
    pub(crate) fn remove(&self, name: &str) -> Result<(), StoreError> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(fault("remove", self.join(name), errno)),
        }
    }

    /// Removes the empty directory `name`.
    pub(crate) fn remove_dir(&self, name: &str) -> Result<(), StoreError> {
        rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)
            .map_err(|errno| fault("remove", self.join(name), errno))
    }

    /// Names in this directory, except `.` and `..`, in no order. Names that are not UTF-8 are left out: no file of
    /// flow's has one.
    pub(crate) fn names(&self) -> Result<Vec<String>, StoreError> {
        let io = |errno| fault("list", self.path.clone(), errno);
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd).map_err(io)? {
            let entry = entry.map_err(io)?;
            match entry.file_name().to_str() {
                Ok("." | "..") | Err(_) => {}
                Ok(name) => names.push(name.to_owned()),
            }
        }
        Ok(names)
    }

    /// Puts this directory's entries on stable storage.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        rustix::fs::fsync(&self.fd).map_err(|errno| fault("flush", self.path.clone(), errno))
    }

    /// Whether the open `file` still is what `name` leads to.
    pub(crate) fn is_still(&self, name: &str, file: &File) -> Result<bool, StoreError> {
        let open = self.stat_file(file, name)?;
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) => Ok((named.st_dev, named.st_ino) == (open.st_dev, open.st_ino) && open.st_nlink > 0),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(fault("inspect", self.join(name), errno)),
        }
    }

    /// A second handle that shares nothing with this one, for a lock that ends before this one is closed.
    pub(crate) fn another_handle(&self) -> Result<OwnedFd, StoreError> {
        rustix::fs::openat(&self.fd, ".", DIR_FLAGS, Mode::empty())
            .map_err(|errno| fault("open", self.path.clone(), errno))
    }
}

fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn fault(action: &'static str, path: PathBuf, errno: Errno) -> StoreError {
    match errno {
        Errno::NOENT => StoreError::NotFound { path },
        Errno::EXIST => StoreError::Exists { path },
        _ => StoreError::Io { action, path, source: errno.into() },
    }
}

/// Writes all of `bytes`; an interrupted call is repeated.
pub(crate) fn write_all(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    io::Write::write_all(&mut file, bytes)
}

/// Puts a file's data, and what is needed to find it, on stable storage.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    // On Apple's systems this is F_FULLFSYNC: a plain flush stays in the drive's cache there.
    file.sync_data()
}

/// Puts a file's data and metadata on stable storage.
pub(crate) fn sync_all(file: &File) -> io::Result<()> {
    file.sync_all()
}
