//! Directory handles, the only way to files below `.flow`.
//!
//! A file is opened by one name below an open directory, without following links: so replacing a directory
//! with a symbolic link redirects nothing. Anything but regular files and directories is refused. [`Disk`] makes the system
//! calls.

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
    /// Those, and root's: no other user can make a file look like root's.
    OwnFilesAndRoots,
    /// Files of any owner in a directory of the user's, in which no one else may write: they were put there by the user, by
    /// root, or by someone to whom one of them gave the directory.
    OwnDirectory,
    /// Files of any owner, because the caller allowed it.
    AnyOwner,
}

/// An open directory.
#[derive(Debug, Clone)]
pub(crate) struct Dir {
    handle: Arc<dyn DiskDir>,
    path: PathBuf,
    trust: Trust,
    /// To whom root gives what it makes here: the user and group of the directory. None for other users, and where the
    /// directory is root's.
    heir: Option<(u32, u32)>,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePart {
    /// As many as were asked for, or those up to its end.
    pub bytes: Vec<u8>,
    /// The length of the whole file.
    pub len: u64,
}

/// An open regular file.
pub(crate) type File = Arc<dyn DiskFile>;

/// The user who runs flow. Cached, because the owners of thousands of directories are compared with it.
pub(crate) static USER: LazyLock<u32> = LazyLock::new(|| rustix::process::geteuid().as_raw());

/// Mode of a new file, before the umask.
pub(crate) const NEW_FILE: u32 = 0o666;

impl Dir {
    /// Opens a directory by its path. Follows links, because the path to a project is the user's choice.
    pub(crate) fn open_path(disk: &dyn Disk, path: &Path, trust: Trust) -> Result<Self, DiskError> {
        let handle = disk.open(path).map_err(|errno| fault(Operation::Open, path.to_owned(), errno))?;
        let stat = handle.stat().map_err(|errno| fault(Operation::Inspect, path.to_owned(), errno))?;
        let trust = trust.in_directory(&stat);
        Ok(Self { handle, path: path.to_owned(), trust, heir: heir(trust, &stat) })
    }

    /// The path, for messages only.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn trust(&self) -> Trust {
        self.trust
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
        let mut dir = Self { handle, path, trust: self.trust, heir: None };
        // Checked behind the opening: a name that is checked first may lead elsewhere when it is opened.
        let stat = dir.stat()?;
        dir.check_owner(&stat)?;
        dir.trust = self.trust.inside(&stat);
        dir.heir = heir(dir.trust, &stat);
        Ok(dir)
    }

    /// As [`Self::open_dir`]; `None` if `name` does not exist.
    pub(crate) fn find_dir(&self, name: &str) -> Result<Option<Self>, DiskError> {
        match self.open_dir(name) {
            Err(error) if error.is_not_found() => Ok(None),
            found => found.map(Some),
        }
    }

    /// Creates the directory `name`.
    pub(crate) fn make_dir(&self, name: &str) -> Result<(), DiskError> {
        let made = self.handle.make_dir(name.as_ref(), 0o777);
        made.map_err(|errno| self.fault_at(Operation::Create, name, errno))?;
        if let Some((user, group)) = self.heir {
            // Where root may not do that, the directory stays root's, as it was made.
            let _ = self.handle.give(name.as_ref(), user, group);
        }
        Ok(())
    }

    /// Opens the directory `name`, and creates it first if it is missing. Returns whether it was created.
    pub(crate) fn ensure_dir(&self, name: &str) -> Result<(Self, bool), DiskError> {
        if let Some(dir) = self.find_dir(name)? {
            return Ok((dir, false));
        }
        let created = match self.make_dir(name) {
            Ok(()) => true,
            // Another process has made it in between.
            Err(DiskError::Exists { .. }) => false,
            Err(error) => return Err(error),
        };
        Ok((self.open_dir(name)?, created))
    }

    /// Changes nothing but the time of change of `name`: it is given to its owner.
    ///
    /// # Errors
    /// `EPERM` for those who do not own it, and others.
    pub(crate) fn touch(&self, name: &str) -> Result<(), DiskError> {
        let Stat { owner, group, .. } = self.look(name)?;
        let touched = self.handle.give(name.as_ref(), owner, group);
        touched.map_err(|errno| self.fault_at(Operation::Write, name, errno))
    }

    /// The metadata of the directory itself.
    pub(crate) fn stat(&self) -> Result<Stat, DiskError> {
        self.handle.stat().map_err(|errno| fault(Operation::Inspect, self.path.clone(), errno))
    }

    /// Refuses a directory of a user whom root does not trust: that user could not write what root makes in it.
    pub(crate) fn refuse_to_root(&self) -> Result<(), DiskError> {
        if *USER == 0 { self.check_owner(&self.stat()?) } else { Ok(()) }
    }

    fn check_owner(&self, stat: &Stat) -> Result<(), DiskError> {
        if self.trust.takes(stat.owner) {
            return Ok(());
        }
        Err(DiskError::Unsafe { path: self.path.clone(), hazard: Hazard::ForeignOwner { owner: stat.owner } })
    }

    /// The error of a call about `name`. One that the system does not allow names the other user whose file it is.
    fn fault_at(&self, action: Operation, name: &str, errno: Errno) -> DiskError {
        if !matches!(errno, Errno::ACCESS | Errno::PERM) {
            return fault(action, self.join(name), errno);
        }
        // For a name that does not exist yet, the directory decides.
        let stat = self.handle.look(name.as_ref()).or_else(|_| self.handle.stat());
        match stat {
            Ok(stat) if stat.owner != *USER => {
                DiskError::NotOurs { action, path: self.join(name), owner: stat.owner, source: errno.into() }
            }
            _ => fault(action, self.join(name), errno),
        }
    }

    /// The error that says what `name` is instead of what was expected.
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

    /// Opens `name` without checking its type.
    fn open_any(&self, name: &str, how: Open, action: Operation) -> Result<File, DiskError> {
        self.handle.open_file(name.as_ref(), how).map_err(|errno| match errno {
            Errno::LOOP | Errno::ISDIR | Errno::NXIO => self.why_not(name),
            _ => self.fault_at(action, name, errno),
        })
    }

    /// Opens the regular file `name`.
    fn open_file(&self, name: &str, how: Open, action: Operation) -> Result<(File, Stat), DiskError> {
        let file = self.open_any(name, how, action)?;
        // A FIFO or a device is opened without an error, so only the type shows it.
        let stat = self.stat_file(&file, name)?;
        if stat.kind != FileType::RegularFile {
            return Err(self.why_not(name));
        }
        Ok((file, stat))
    }

    fn stat_file(&self, file: &File, name: &str) -> Result<Stat, DiskError> {
        file.stat().map_err(|errno| fault(Operation::Inspect, self.join(name), errno))
    }

    /// Opens `name` for reading, with its metadata; `None` if it does not exist.
    pub(crate) fn find_file(&self, name: &str) -> Result<Option<(File, Stat)>, DiskError> {
        match self.open_file(name, Open::Read, Operation::Read) {
            Err(error) if error.is_not_found() => Ok(None),
            found => found.map(Some),
        }
    }

    /// As [`Self::find_file`], without the metadata.
    pub(crate) fn open_read(&self, name: &str) -> Result<Option<File>, DiskError> {
        Ok(self.find_file(name)?.map(|(file, _)| file))
    }

    /// Opens or creates `name` for reading and writing. Refuses a file with a second name (a hard link), because a
    /// write here would change that file too.
    pub(crate) fn open_own(&self, name: &str, how: Open) -> Result<File, DiskError> {
        let (file, stat) = self.open_file(name, how, Operation::Open)?;
        if stat.links > 1 {
            return Err(DiskError::Unsafe { path: self.join(name), hazard: Hazard::HardLink });
        }
        if !self.trust.takes(stat.owner) {
            let hazard = Hazard::ForeignOwner { owner: stat.owner };
            return Err(DiskError::Unsafe { path: self.join(name), hazard });
        }
        // Root may have made it when flow did not give such files to the owner of the directory yet.
        if stat.owner == 0 {
            self.give(&file);
        }
        Ok(file)
    }

    /// All bytes of the regular file `name`; `None` if it does not exist. Fails beyond `limit` bytes.
    pub(crate) fn read(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>, DiskError> {
        let Some((file, stat)) = self.find_file(name)? else { return Ok(None) };
        let bytes = read_up_to(&*file, 0, stat.len, limit)
            .map_err(|error| DiskError::io(Operation::Read, self.join(name), error))?;
        if bytes.len() > limit {
            return Err(DiskError::TooLarge { path: self.join(name), limit });
        }
        Ok(Some(bytes))
    }

    /// At most `limit` bytes of the regular file `name` from `offset` on, and its whole length; `None` if it does not
    /// exist.
    pub(crate) fn read_part(&self, name: &str, offset: u64, limit: usize) -> Result<Option<FilePart>, DiskError> {
        let Some((file, stat)) = self.find_file(name)? else { return Ok(None) };
        let Some(expected) = stat.len.checked_sub(offset) else {
            return Ok(Some(FilePart { bytes: Vec::new(), len: stat.len }));
        };
        let mut bytes = read_up_to(&*file, offset, expected, limit)
            .map_err(|error| DiskError::io(Operation::Read, self.join(name), error))?;
        bytes.truncate(limit);
        Ok(Some(FilePart { bytes, len: stat.len }))
    }

    /// As [`Self::read`], as text.
    pub(crate) fn read_text(&self, name: &str, limit: usize) -> Result<Option<String>, DiskError> {
        let Some(bytes) = self.read(name, limit)? else { return Ok(None) };
        String::from_utf8(bytes).map(Some).map_err(|_| DiskError::NotUtf8 { path: self.join(name) })
    }

    /// Whether `name` exists and holds exactly `bytes`. Compares piece by piece: memory for a whole file costs more
    /// than reading it.
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
                // The file was truncated just now.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                Err(error) => return Err(DiskError::io(Operation::Read, self.join(name), error)),
            }
        }
        Ok(true)
    }

    /// Creates `name` with `bytes`, and does not flush it. `name` must not exist.
    pub(crate) fn create(&self, name: &str, bytes: &[u8], mode: u32) -> Result<File, DiskError> {
        let file = self.open_any(name, Open::New { mode }, Operation::Create)?;
        self.give(&file);
        self.fill(&file, name, bytes, mode).inspect_err(|_| {
            // Without this, the half-written file would stay until the next writer removes it.
            let _ = self.remove(name);
        })?;
        Ok(file)
    }

    /// Gives what root made or finds as its own to the owner of the directory.
    fn give(&self, file: &File) {
        if let Some((user, group)) = self.heir {
            // Where root may not do that, the file stays root's, as it was made.
            let _ = file.set_owner(Some(user), Some(group));
        }
    }

    fn fill(&self, file: &File, name: &str, bytes: &[u8], mode: u32) -> Result<(), DiskError> {
        // The mode of a replaced file was chosen by its owner, so the umask must not change it.
        if mode != NEW_FILE && self.stat_file(file, name)?.mode & 0o777 != mode {
            file.set_mode(mode).map_err(|errno| fault(Operation::Create, self.join(name), errno))?;
        }
        write_all(&**file, bytes).map_err(|error| DiskError::io(Operation::Write, self.join(name), error))
    }

    /// The metadata of `name`, without following a symbolic link.
    pub(crate) fn look(&self, name: &str) -> Result<Stat, DiskError> {
        self.handle.look(name.as_ref()).map_err(|errno| fault(Operation::Inspect, self.join(name), errno))
    }

    /// The metadata of `file` in the directory `name`, without opening either. The caller must know that `name` is a
    /// directory.
    pub(crate) fn look_into(&self, name: &str, file: &str) -> Result<Stat, DiskError> {
        let found = self.handle.look_into(name.as_ref(), file.as_ref());
        let stat = found.map_err(|errno| fault(Operation::Inspect, self.join(name).join(file), errno))?;
        self.check_owner(&stat)?;
        Ok(stat)
    }

    /// The mode bits of `name`, or of a new file if `name` is not a regular file.
    pub(crate) fn mode_of(&self, name: &str) -> u32 {
        match self.handle.look(name.as_ref()) {
            Ok(stat) if stat.kind == FileType::RegularFile => stat.mode & 0o777,
            _ => NEW_FILE,
        }
    }

    /// Whether anything with this name exists.
    pub(crate) fn exists(&self, name: &str) -> Result<bool, DiskError> {
        match self.handle.look(name.as_ref()) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(fault(Operation::Inspect, self.join(name), errno)),
        }
    }

    /// A free name: `stem` and `ending`, with a number in between if that is taken.
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
            // This file system has no such flag. The caller's lock keeps the name free after the check.
            return self.rename_into(from, into, to, Rename::Replace);
        }
        result.map_err(|errno| match errno {
            Errno::EXIST => DiskError::Exists { path: into.join(to) },
            // The other directory may be the one that may not be written.
            Errno::ACCESS | Errno::PERM if into.stat().is_ok_and(|stat| stat.owner != *USER) => {
                into.fault_at(Operation::Rename, to, errno)
            }
            _ => self.fault_at(Operation::Rename, from, errno),
        })
    }

    /// Removes the file `name`, if it exists.
    pub(crate) fn remove(&self, name: &str) -> Result<(), DiskError> {
        match self.handle.remove(name.as_ref()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.fault_at(Operation::Remove, name, errno)),
        }
    }

    /// Removes the empty directory `name`.
    pub(crate) fn remove_dir(&self, name: &str) -> Result<(), DiskError> {
        self.handle.remove_dir(name.as_ref()).map_err(|errno| fault(Operation::Remove, self.join(name), errno))
    }

    /// The names in this directory, in no particular order. Leaves out names that are not UTF-8, which flow never uses.
    pub(crate) fn names(&self) -> Result<Vec<String>, DiskError> {
        let names = self.handle.names().map_err(|errno| fault(Operation::List, self.path.clone(), errno))?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    /// Calls `each` with the names of [`Self::names`] and their types, if the directory entry has it.
    pub(crate) fn entries(&self, mut each: impl FnMut(&str, FileType)) -> Result<(), DiskError> {
        let listed = self.handle.entries(&mut |name, kind| {
            if let Some(name) = name.to_str() {
                each(name, kind);
            }
        });
        listed.map_err(|errno| fault(Operation::List, self.path.clone(), errno))
    }

    /// Flushes this directory's entries.
    pub(crate) fn sync(&self) -> Result<(), DiskError> {
        self.handle.sync().map_err(|errno| fault(Operation::Flush, self.path.clone(), errno))
    }

    /// Whether `name` still leads to the open `file`.
    pub(crate) fn is_still(&self, name: &str, file: &File) -> Result<bool, DiskError> {
        let open = self.stat_file(file, name)?;
        match self.handle.look(name.as_ref()) {
            Ok(named) => Ok(named.is_same(&open) && open.links > 0),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(fault(Operation::Inspect, self.join(name), errno)),
        }
    }

    /// A second handle to this directory, so that a lock taken through it ends when it is closed.
    pub(crate) fn another_handle(&self) -> Result<Arc<dyn DiskDir>, DiskError> {
        self.handle.open_dir(".".as_ref()).map_err(|errno| fault(Operation::Open, self.path.clone(), errno))
    }
}

impl Trust {
    /// Whether a file of this user may be used.
    #[must_use]
    pub fn takes(self, owner: u32) -> bool {
        match self {
            Self::OwnFiles => owner == *USER,
            Self::OwnFilesAndRoots => owner == *USER || owner == 0,
            Self::OwnDirectory | Self::AnyOwner => true,
        }
    }

    /// The trust in what is in the directory of a project.
    fn in_directory(self, stat: &Stat) -> Self {
        if self != Self::OwnFiles || stat.owner != *USER {
            return self;
        }
        Self::OwnDirectory.inside(stat)
    }

    /// The trust in what is in a directory below: less where others may write.
    fn inside(self, stat: &Stat) -> Self {
        const OTHERS_WRITE: u32 = 0o022;
        let is_shared = stat.mode & OTHERS_WRITE != 0;
        if self == Self::OwnDirectory && is_shared { Self::OwnFilesAndRoots } else { self }
    }
}

/// To whom root gives what it makes in a directory that it may use, and that belongs to another user.
pub(super) fn heir(trust: Trust, stat: &Stat) -> Option<(u32, u32)> {
    let is_given = *USER == 0 && stat.owner != 0 && trust.takes(stat.owner);
    is_given.then_some((stat.owner, stat.group))
}

fn fault(action: Operation, path: PathBuf, errno: Errno) -> DiskError {
    match errno {
        Errno::NOENT => DiskError::NotFound { path },
        Errno::EXIST => DiskError::Exists { path },
        _ => DiskError::io(action, path, errno),
    }
}

/// Flushes a new file with its metadata.
pub(crate) fn flush(file: &dyn DiskFile, path: impl FnOnce() -> PathBuf) -> Result<(), DiskError> {
    file.sync_all().map_err(|errno| DiskError::io(Operation::Flush, path(), errno))
}

/// Appends all of `bytes`.
pub(crate) fn write_all(file: &dyn DiskFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.append(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    Ok(())
}

/// Fills `buffer` with the bytes from `offset` on.
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

/// Reads from `offset` to the end, and stops soon after `limit` bytes. `expected` is the likely length.
pub(crate) fn read_up_to(file: &dyn DiskFile, offset: u64, expected: u64, limit: usize) -> io::Result<Vec<u8>> {
    let room = usize::try_from(expected).unwrap_or(usize::MAX).min(limit) + 1;
    // One byte more than expected: if it stays empty, the end is known without another call.
    let mut bytes = vec![0; room];
    let mut filled = 0;
    while filled <= limit {
        if filled == bytes.len() {
            bytes.resize((2 * filled).min(limit + 1), 0);
        }
        let read = file.read_at(&mut bytes[filled..], offset + filled as u64)?;
        filled += read;
        // A read that was short and ended at the expected length has reached the end.
        if read == 0 || (filled < bytes.len() && filled as u64 == expected) {
            break;
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
