//! Directory handles: the only way to files below `.flow`.
//!
//! A handle plus one name, opened without following links, cannot be led elsewhere by anybody who swaps directories for
//! symbolic links meanwhile. What is no regular file is refused. The calls themselves are a [`Disk`]'s.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use crate::disk::error::{DiskError, Hazard, Operation};
use crate::disk::file_system::{Disk, DiskDir, DiskFile, Errno, FileType, Open, Rename, Stat};

/// Whether files of other users may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Only files of the user who runs flow.
    OwnFiles,
    /// Files of any owner, because the caller said so.
    AnyOwner,
}

/// An open directory.
#[derive(Debug, Clone)]
pub(crate) struct Dir {
    handle: Arc<dyn DiskDir>,
    path: PathBuf,
    trust: Trust,
}

/// An open regular file.
pub(crate) type File = Arc<dyn DiskFile>;

/// Who runs flow; asked once, since thousands of directories are compared with it.
pub(crate) static USER: LazyLock<u32> = LazyLock::new(|| rustix::process::geteuid().as_raw());

/// Mode of a new file, before the umask.
pub(crate) const NEW_FILE: u32 = 0o666;

impl Dir {
    /// Opens a directory by its path. Links on the way to a project are the user's own business.
    pub(crate) fn open_path(disk: &dyn Disk, path: &Path, trust: Trust) -> Result<Self, DiskError> {
        let handle = disk.open(path).map_err(|errno| fault(Operation::Open, path.to_owned(), errno))?;
        Ok(Self { handle, path: path.to_owned(), trust })
    }

    /// The path, for messages only.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Opens the directory `name` inside this one.
    pub(crate) fn open_dir(&self, name: &str) -> Result<Self, DiskError> {
        let path = self.join(name);
        let handle = self.handle.open_dir(name.as_ref()).map_err(|errno| match errno {
            // With O_DIRECTORY a symbolic link is reported as "not a directory".
            Errno::LOOP | Errno::NOTDIR => self.why_not(name),
            _ => fault(Operation::Open, path.clone(), errno),
        })?;
        let dir = Self { handle, path, trust: self.trust };
        dir.check_owner(&dir.stat()?)?;
        Ok(dir)
    }

    /// As [`Self::open_dir`]; `None` when there is nothing of that name.
    pub(crate) fn find_dir(&self, name: &str) -> Result<Option<Self>, DiskError> {
        match self.open_dir(name) {
            Err(error) if error.is_not_found() => Ok(None),
            found => found.map(Some),
        }
    }

    /// Creates the directory `name`.
    pub(crate) fn make_dir(&self, name: &str) -> Result<(), DiskError> {
        self.handle.make_dir(name.as_ref(), 0o777).map_err(|errno| fault(Operation::Create, self.join(name), errno))
    }

    /// Opens the directory `name`, creating it first when it is missing. Says whether it was created.
    pub(crate) fn ensure_dir(&self, name: &str) -> Result<(Self, bool), DiskError> {
        if let Some(dir) = self.find_dir(name)? {
            return Ok((dir, false));
        }
        let created = match self.make_dir(name) {
            Ok(()) => true,
            Err(DiskError::Exists { .. }) => false,
            Err(error) => return Err(error),
        };
        Ok((self.open_dir(name)?, created))
    }

    /// What the directory itself looks like.
    pub(crate) fn stat(&self) -> Result<Stat, DiskError> {
        self.handle.stat().map_err(|errno| fault(Operation::Inspect, self.path.clone(), errno))
    }

    fn check_owner(&self, stat: &Stat) -> Result<(), DiskError> {
        if self.trust == Trust::OwnFiles && stat.owner != *USER {
            return Err(DiskError::Unsafe { path: self.path.clone(), hazard: Hazard::ForeignOwner });
        }
        Ok(())
    }

    /// Says in words why `name` is not what it should be.
    fn why_not(&self, name: &str) -> DiskError {
        let kind = self.handle.look(name.as_ref()).map(|stat| stat.kind);
        let hazard = match kind {
            Ok(FileType::Symlink) => Hazard::Symlink,
            Ok(FileType::Directory) => Hazard::Directory,
            Ok(FileType::RegularFile) => Hazard::File,
            Ok(FileType::Fifo) => Hazard::Fifo,
            Ok(FileType::Socket) => Hazard::Socket,
            Ok(FileType::CharacterDevice | FileType::BlockDevice) => Hazard::Device,
            Ok(_) | Err(_) => Hazard::Other,
        };
        DiskError::Unsafe { path: self.join(name), hazard }
    }

    /// Opens `name`, whatever it turns out to be.
    fn open_any(&self, name: &str, how: Open, action: Operation) -> Result<File, DiskError> {
        self.handle.open_file(name.as_ref(), how).map_err(|errno| match errno {
            Errno::LOOP | Errno::ISDIR | Errno::NXIO => self.why_not(name),
            _ => fault(action, self.join(name), errno),
        })
    }

    /// Opens the regular file `name`.
    fn open_file(&self, name: &str, how: Open, action: Operation) -> Result<(File, Stat), DiskError> {
        let file = self.open_any(name, how, action)?;
        let stat = self.stat_file(&file, name)?;
        if stat.kind != FileType::RegularFile {
            return Err(self.why_not(name));
        }
        Ok((file, stat))
    }

    fn stat_file(&self, file: &File, name: &str) -> Result<Stat, DiskError> {
        file.stat().map_err(|errno| fault(Operation::Inspect, self.join(name), errno))
    }

    /// Opens `name` for reading, with what it looks like; `None` when there is nothing of that name.
    pub(crate) fn find_file(&self, name: &str) -> Result<Option<(File, Stat)>, DiskError> {
        match self.open_file(name, Open::Read, Operation::Read) {
            Err(error) if error.is_not_found() => Ok(None),
            found => found.map(Some),
        }
    }

    /// As [`Self::find_file`], without a look.
    pub(crate) fn open_read(&self, name: &str) -> Result<Option<File>, DiskError> {
        Ok(self.find_file(name)?.map(|(file, _)| file))
    }

    /// Opens or creates `name` for reading and writing. A file with another name elsewhere (a hard link) is refused:
    /// what is written here would appear there.
    pub(crate) fn open_own(&self, name: &str, how: Open) -> Result<File, DiskError> {
        let (file, stat) = self.open_file(name, how, Operation::Open)?;
        if stat.links > 1 {
            return Err(DiskError::Unsafe { path: self.join(name), hazard: Hazard::HardLink });
        }
        if self.trust == Trust::OwnFiles && stat.owner != *USER {
            return Err(DiskError::Unsafe { path: self.join(name), hazard: Hazard::ForeignOwner });
        }
        Ok(file)
    }

    /// The whole of the regular file `name`; `None` when there is none.
    pub(crate) fn read(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>, DiskError> {
        let Some((file, stat)) = self.find_file(name)? else { return Ok(None) };
        let fault = |source| DiskError::Io { action: Operation::Read, path: self.join(name), source };
        let bytes = read_up_to(&*file, 0, stat.len, limit).map_err(fault)?;
        if bytes.len() > limit {
            return Err(DiskError::TooLarge { path: self.join(name), limit });
        }
        Ok(Some(bytes))
    }

    /// As [`Self::read`], as text.
    pub(crate) fn read_text(&self, name: &str, limit: usize) -> Result<Option<String>, DiskError> {
        let Some(bytes) = self.read(name, limit)? else {
            return Ok(None);
        };
        String::from_utf8(bytes).map(Some).map_err(|_| DiskError::NotUtf8 { path: self.join(name) })
    }

    /// Whether `name` is there and holds exactly `bytes`. Compares a piece at a time: fresh memory for a whole file
    /// costs more than reading it.
    pub(crate) fn holds(&self, name: &str, bytes: &[u8]) -> Result<bool, DiskError> {
        let Some((file, stat)) = self.find_file(name)? else { return Ok(false) };
        if stat.len != bytes.len() as u64 {
            return Ok(false);
        }
        let mut piece = vec![0; bytes.len().clamp(1, 32 << 10)];
        for (nth, wanted) in bytes.chunks(piece.len()).enumerate() {
            let at = (nth * piece.len()) as u64;
            match read_exact_at(&*file, &mut piece[..wanted.len()], at) {
                Ok(()) if piece[..wanted.len()] == *wanted => {}
                Ok(()) => return Ok(false),
                // It was cut off just now.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                Err(source) => return Err(DiskError::Io { action: Operation::Read, path: self.join(name), source }),
            }
        }
        Ok(true)
    }

    /// Creates `name` with `bytes`; it must not exist. Not flushed.
    pub(crate) fn create(&self, name: &str, bytes: &[u8], mode: u32) -> Result<File, DiskError> {
        let file = self.open_any(name, Open::New { mode }, Operation::Create)?;
        self.fill(&file, name, bytes, mode).inspect_err(|_| {
            // The half-written file would only be found and removed later.
            let _ = self.remove(name);
        })?;
        Ok(file)
    }

    fn fill(&self, file: &File, name: &str, bytes: &[u8], mode: u32) -> Result<(), DiskError> {
        // The mode of a file that is replaced is its owner's choice, not the umask's.
        if mode != NEW_FILE && self.stat_file(file, name)?.mode & 0o777 != mode {
            file.set_mode(mode).map_err(|errno| fault(Operation::Create, self.join(name), errno))?;
        }
        write_all(&**file, bytes).map_err(|source| DiskError::Io {
            action: Operation::Write,
            path: self.join(name),
            source,
        })
    }

    /// What `name` looks like; a symbolic link is not followed.
    pub(crate) fn look(&self, name: &str) -> Result<Stat, DiskError> {
        self.handle.look(name.as_ref()).map_err(|errno| fault(Operation::Inspect, self.join(name), errno))
    }

    /// What the file `file` in the directory `name` looks like, without opening either. That `name` is a directory is what the
    /// caller saw.
    pub(crate) fn look_into(&self, name: &str, file: &str) -> Result<Stat, DiskError> {
        let found = self.handle.look_into(name.as_ref(), file.as_ref());
        let stat = found.map_err(|errno| fault(Operation::Inspect, self.join(name).join(file), errno))?;
        self.check_owner(&stat)?;
        Ok(stat)
    }

    /// The mode bits of `name`, or those of a new file.
    pub(crate) fn mode_of(&self, name: &str) -> u32 {
        let stat = self.handle.look(name.as_ref()).ok().filter(|stat| stat.kind == FileType::RegularFile);
        stat.map_or(NEW_FILE, |stat| stat.mode & 0o777)
    }

    /// Whether anything of that name exists.
    pub(crate) fn exists(&self, name: &str) -> Result<bool, DiskError> {
        match self.handle.look(name.as_ref()) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(fault(Operation::Inspect, self.join(name), errno)),
        }
    }

    /// A name that is free: `stem` and `ending`, with a number between them when that is taken.
    pub(crate) fn free_name(&self, stem: &str, ending: &str) -> Result<String, DiskError> {
        let mut name = format!("{stem}{ending}");
        let mut n = 1;
        while self.exists(&name)? {
            n += 1;
            name = format!("{stem}-{n}{ending}");
        }
        Ok(name)
    }

    /// Renames `from` to `to` inside this directory.
    pub(crate) fn rename(&self, from: &str, to: &str, how: Rename) -> Result<(), DiskError> {
        self.rename_into(from, self, to, how)
    }

    /// Renames `from` to `to` in the directory `into`, which must be on the same file system.
    pub(crate) fn rename_into(&self, from: &str, into: &Self, to: &str, how: Rename) -> Result<(), DiskError> {
        let result = self.handle.rename(from.as_ref(), &*into.handle, to.as_ref(), how);
        let unsupported = matches!(result, Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP));
        if how == Rename::NoReplace && unsupported && !into.exists(to)? {
            // A file system without that flag: the caller's lock keeps the name free after the look.
            return self.rename_into(from, into, to, Rename::Replace);
        }
        result.map_err(|errno| match errno {
            Errno::EXIST => DiskError::Exists { path: into.join(to) },
            _ => fault(Operation::Rename, self.join(from), errno),
        })
    }

    /// Removes the file `name`; nothing of that name is fine.
    pub(crate) fn remove(&self, name: &str) -> Result<(), DiskError> {
        match self.handle.remove(name.as_ref()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(fault(Operation::Remove, self.join(name), errno)),
        }
    }

    /// Removes the empty directory `name`.
    pub(crate) fn remove_dir(&self, name: &str) -> Result<(), DiskError> {
        self.handle.remove_dir(name.as_ref()).map_err(|errno| fault(Operation::Remove, self.join(name), errno))
    }

    /// Names in this directory, in no order. Names that are not UTF-8 are left out: no file of flow's has one.
    pub(crate) fn names(&self) -> Result<Vec<String>, DiskError> {
        let names = self.handle.names().map_err(|errno| fault(Operation::List, self.path.clone(), errno))?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    /// As [`Self::names`], each with what it is as far as the directory says.
    pub(crate) fn entries(&self) -> Result<Vec<(String, FileType)>, DiskError> {
        let entries = self.handle.entries().map_err(|errno| fault(Operation::List, self.path.clone(), errno))?;
        Ok(entries.into_iter().filter_map(|(name, kind)| Some((name.into_string().ok()?, kind))).collect())
    }

    /// Puts this directory's entries on stable storage.
    pub(crate) fn sync(&self) -> Result<(), DiskError> {
        self.handle.sync().map_err(|errno| fault(Operation::Flush, self.path.clone(), errno))
    }

    /// Whether the open `file` still is what `name` leads to.
    pub(crate) fn is_still(&self, name: &str, file: &File) -> Result<bool, DiskError> {
        let open = self.stat_file(file, name)?;
        match self.handle.look(name.as_ref()) {
            Ok(named) => Ok(named.is_same(&open) && open.links > 0),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(fault(Operation::Inspect, self.join(name), errno)),
        }
    }

    /// A second handle that shares nothing with this one, for a lock that ends before this one is closed.
    pub(crate) fn another_handle(&self) -> Result<Arc<dyn DiskDir>, DiskError> {
        self.handle.open_dir(".".as_ref()).map_err(|errno| fault(Operation::Open, self.path.clone(), errno))
    }
}

fn fault(action: Operation, path: PathBuf, errno: Errno) -> DiskError {
    match errno {
        Errno::NOENT => DiskError::NotFound { path },
        Errno::EXIST => DiskError::Exists { path },
        _ => DiskError::Io { action, path, source: errno.into() },
    }
}

/// Puts a new file on stable storage.
pub(crate) fn flush(file: &dyn DiskFile, path: impl FnOnce() -> PathBuf) -> Result<(), DiskError> {
    file.sync_all().map_err(|errno| DiskError::Io { action: Operation::Flush, path: path(), source: errno.into() })
}

/// Writes all of `bytes` at the end.
pub(crate) fn write_all(file: &dyn DiskFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.append(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    Ok(())
}

/// Fills `buffer` from `offset` on.
pub(crate) fn read_exact_at(file: &dyn DiskFile, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match file.read_at(buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                buffer = &mut buffer[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}

/// Everything from `offset` on, but not much more than `limit` bytes. `expected` is how much it may be.
pub(crate) fn read_up_to(file: &dyn DiskFile, offset: u64, expected: u64, limit: usize) -> io::Result<Vec<u8>> {
    let room = usize::try_from(expected).unwrap_or(usize::MAX).min(limit) + 1;
    let mut bytes = vec![0; room];
    let mut filled = 0;
    while filled <= limit {
        if filled == bytes.len() {
            bytes.resize((2 * filled).min(limit + 1), 0);
        }
        let read = file.read_at(&mut bytes[filled..], offset + filled as u64)?;
        filled += read;
        // At the length that was expected, a read that came up short has seen the end.
        if read == 0 || (filled < bytes.len() && filled as u64 == expected) {
            break;
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
