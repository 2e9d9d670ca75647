//! The directory of a document: every name in it is opened by itself, and no symlink is followed.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::dir::{File, Trust, USER, heir, read_up_to};
use crate::disk::error::{DiskError, Operation};
use crate::disk::fault::DocumentFault;
use crate::disk::file_system::{Answer, Disk, DiskDir, Errno, FileType, Open, Rename, Stat};
use crate::disk::rights::Rights;

/// An open directory; the path is for messages and for naming temporary files.
pub(super) struct DocumentDir {
    pub(super) handle: Arc<dyn DiskDir>,
    pub(super) path: PathBuf,
    /// The directories above it, from the root on.
    above: Vec<Arc<dyn DiskDir>>,
}

/// A document as it was read.
pub(super) struct OldDocument {
    pub(super) text: String,
    pub(super) rights: Rights,
    /// Whether the file has a second name (a hard link).
    pub(super) is_linked: bool,
}

impl DocumentDir {
    /// Opens `parents` below `root` one by one; `None` if one of them is missing.
    pub(super) fn open(disk: &dyn Disk, root: &Path, parents: &[&OsStr]) -> Result<Option<Self>, DocumentFault> {
        let mut dir = Self::at(disk, root)?;
        for part in parents {
            dir = match dir.handle.open_dir(part) {
                Err(Errno::NOENT) => return Ok(None),
                opened => dir.below(part, opened)?,
            };
        }
        Ok(Some(dir))
    }

    /// Opens `parents` below `root` one by one, and makes those that are missing.
    pub(super) fn ensure(disk: &dyn Disk, root: &Path, parents: &[&OsStr]) -> Result<Self, DocumentFault> {
        let mut dir = Self::at(disk, root)?;
        for part in parents {
            let opened = match dir.handle.open_dir(part) {
                Err(Errno::NOENT) => dir.make(part).and_then(|()| dir.handle.open_dir(part)),
                opened => opened,
            };
            dir = dir.below(part, opened)?;
        }
        Ok(dir)
    }

    fn at(disk: &dyn Disk, root: &Path) -> Result<Self, DocumentFault> {
        let handle = disk.open(root).map_err(|errno| DocumentFault::io(Operation::Open, root, errno))?;
        Ok(Self { handle, path: root.to_owned(), above: Vec::new() })
    }

    /// The directory `part` in this one, as it was `opened`.
    fn below(mut self, part: &OsStr, opened: Answer<Arc<dyn DiskDir>>) -> Result<Self, DocumentFault> {
        let path = self.path.join(part);
        match opened {
            Ok(handle) => {
                self.above.push(self.handle);
                Ok(Self { handle, path, above: self.above })
            }
            Err(Errno::LOOP | Errno::NOTDIR) => Err(self.unsafe_component(part, "is not a directory")),
            Err(errno) => Err(DocumentFault::io(Operation::Open, &path, errno)),
        }
    }

    /// Flushes the names of the directories on the way to it, and that of the root: who made one may have been killed before
    /// that, and the deepest directory that is there already may be taken for the root.
    pub(super) fn flush_above(&self, disk: &dyn Disk, root: &Path) -> Answer<()> {
        // Where it cannot be opened, nothing was made either.
        if let Some(dir) = root.parent().and_then(|parent| disk.open(parent).ok()) {
            dir.sync()?;
        }
        self.above.iter().try_for_each(|dir| dir.sync())
    }

    fn make(&self, part: &OsStr) -> Answer<()> {
        // In the project of a group, the group may write into it as well.
        let mode = self.handle.stat().map_or(0o755, |stat| stat.mode & 0o777 | 0o700);
        match self.handle.make_dir(part, mode) {
            // Another process was faster, and flushes what it made.
            Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno),
            Ok(()) => {
                if let Some((user, group)) = self.heir() {
                    // Where root may not do that, the directory stays root's, as it was made.
                    let _ = self.handle.give(part, user, group);
                }
                self.handle.sync()
            }
        }
    }

    /// Why a file could not be made here for the document at `path`.
    pub(super) fn not_made(&self, path: &Path, source: io::Error) -> DocumentFault {
        match self.handle.stat() {
            Ok(stat) if source.kind() == io::ErrorKind::PermissionDenied && stat.owner != *USER => {
                let (action, path) = (Operation::Write, self.path.clone());
                DocumentFault::NotOurs(DiskError::NotOurs { action, path, owner: stat.owner, source })
            }
            _ => DocumentFault::io(Operation::WriteBeside, path, source),
        }
    }

    /// Why the file `name` could not be opened, or made: what belongs to another user is named with the owner.
    fn not_opened(&self, name: &OsStr, errno: Errno) -> DocumentFault {
        let path = self.path.join(name);
        // For a name that does not exist yet, the directory decides.
        let (decides, stat) = match self.handle.look(name) {
            Ok(stat) => (path.clone(), Ok(stat)),
            Err(_) => (self.path.clone(), self.handle.stat()),
        };
        match stat {
            Ok(stat) if matches!(errno, Errno::ACCESS | Errno::PERM) && stat.owner != *USER => {
                let (action, source) = (Operation::Open, errno.into());
                DocumentFault::NotOurs(DiskError::NotOurs { action, path: decides, owner: stat.owner, source })
            }
            _ => DocumentFault::io(Operation::Open, &path, errno),
        }
    }

    /// To whom root gives what it makes here: the user and group of the directory, unless it is root's.
    pub(super) fn heir(&self) -> Option<(u32, u32)> {
        heir(Trust::AnyOwner, &self.handle.stat().ok()?)
    }

    fn unsafe_component(&self, part: &OsStr, why: &'static str) -> DocumentFault {
        let is_link = self.handle.look(part).is_ok_and(|stat| stat.kind == FileType::Symlink);
        DocumentFault::Unsafe {
            path: self.path.join(part),
            why: if is_link { "is a symlink, which is not followed" } else { why },
        }
    }

    /// Opens a regular file; `None` if it does not exist.
    pub(super) fn file(&self, name: &OsStr, how: Open) -> Result<Option<(File, Stat)>, DocumentFault> {
        let path = self.path.join(name);
        let file = match self.handle.open_file(name, how) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => {
                return Err(self.unsafe_component(name, "is not a regular file"));
            }
            Err(errno) => return Err(self.not_opened(name, errno)),
        };
        // The type is checked on the open file: a name that is checked first may lead elsewhere when it is opened.
        let stat = file.stat().map_err(|errno| DocumentFault::io(Operation::Inspect, &path, errno))?;
        if stat.kind != FileType::RegularFile {
            return Err(self.unsafe_component(name, "is not a regular file"));
        }
        Ok(Some((file, stat)))
    }

    /// Removes a file, if that can be done.
    pub(super) fn remove(&self, name: &OsStr) {
        let _ = self.handle.remove(name);
    }

    pub(super) fn rename(&self, from: &OsStr, to: &OsStr, how: Rename) -> Answer<()> {
        self.handle.rename(from, &*self.handle, to, how)
    }

    /// The document `name`; `None` if it does not exist.
    pub(super) fn read(&self, name: &OsStr, limit: usize) -> Result<Option<OldDocument>, DocumentFault> {
        let path = self.path.join(name);
        let Some((file, stat)) = self.file(name, Open::Read)? else { return Ok(None) };
        let bytes =
            read_up_to(&*file, 0, stat.len, limit).map_err(|error| DocumentFault::io(Operation::Read, &path, error))?;
        if bytes.len() > limit {
            return Err(DocumentFault::TooLarge { path, limit });
        }
        let text = String::from_utf8(bytes)
            .map_err(|error| DocumentFault::NotText { path, valid: error.utf8_error().valid_up_to() })?;
        Ok(Some(OldDocument { text, rights: Rights::of(&stat), is_linked: stat.links > 1 }))
    }

    /// Whether `file` exists and holds exactly this text.
    pub(super) fn holds(&self, file: &OsStr, text: &str) -> Result<bool, DocumentFault> {
        // A longer text is another one, so no more than this is read of it.
        match self.read(file, text.len()) {
            Ok(Some(held)) => Ok(held.text == text),
            // A failed read does not show what the file holds.
            Err(error @ DocumentFault::Io { .. }) => Err(error),
            Ok(None) | Err(_) => Ok(false),
        }
    }

    /// The rights of a file; `None` if it does not exist.
    pub(super) fn rights(&self, name: &OsStr) -> Result<Option<Rights>, DocumentFault> {
        match self.handle.look(name) {
            Ok(stat) => Ok(Some(Rights::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(DocumentFault::io(Operation::Inspect, &self.path.join(name), errno)),
        }
    }
}
