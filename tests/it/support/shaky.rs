//! A file system on which calls fail, are cut short, or are the last ones of their process: another one, with a memory of
//! what was asked of it.
//!
//! What a flush does is left to the machine, which does not die here: power cuts are tried in `sim/` and `power/`.

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use flowrun::disk::{Answer, Disk, DiskDir, DiskFile, Errno, FileType, Links, Open, Rename, Stat, Wait};

/// What a process that must not go on unwinds with.
#[derive(Debug)]
pub struct Died;

/// What is to go wrong. Calls are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ill {
    /// The process dies before this call.
    Death(usize),
    /// This call fails, and changes nothing.
    Failure(usize, Errno),
    /// From this call on, every call of this name fails, until the process was told so [`ENOUGH`] times: whoever asks again
    /// and again for as long as it waits for others learns nothing more from the rest of that time.
    Failures(usize, &'static str, Errno),
    /// This call, a write, writes only half, and whoever writes then finds the disk full.
    ShortWrite(usize),
    /// Renames know no flags.
    NoFlags(Errno),
}

/// A call, as the kernel names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskCall {
    /// Its name among the system calls of Linux.
    pub name: &'static str,
    /// The names that it was given.
    pub files: Vec<String>,
    /// Whether files or locks may be different after it. A flush changes nothing that another process sees.
    pub changes: bool,
}

/// A file system in trouble.
#[derive(Debug, Clone)]
pub struct Shaky {
    inner: Arc<dyn Disk>,
    fate: Arc<Mutex<Fate>>,
}

#[derive(Debug, Default)]
struct Fate {
    ills: Vec<Ill>,
    calls: Vec<DiskCall>,
    dead: bool,
    full: bool,
}

#[derive(Debug)]
struct Held<T: ?Sized> {
    inner: Arc<T>,
    fate: Arc<Mutex<Fate>>,
}

impl Shaky {
    /// `inner` with these troubles.
    pub fn new(inner: Arc<dyn Disk>, ills: &[Ill]) -> Self {
        let fate = Fate { ills: ills.to_vec(), ..Fate::default() };
        Self { inner, fate: Arc::new(Mutex::new(fate)) }
    }

    /// All calls so far.
    pub fn calls(&self) -> Vec<DiskCall> {
        self.fate.lock().unwrap_or_else(PoisonError::into_inner).calls.clone()
    }
}

/// Whether a call goes on, and how much of what it writes.
fn meets(fate: &Mutex<Fate>, name: &'static str, files: &[&str], changes: bool) -> Answer<bool> {
    let mut fate = fate.lock().unwrap_or_else(PoisonError::into_inner);
    if fate.dead {
        // Handles are closed on the way out, as the kernel closes those of a dead process.
        return Err(Errno::IO);
    }
    let files = files.iter().map(|&file| file.to_owned()).collect();
    fate.calls.push(DiskCall { name, files, changes });
    let (at, full) = (fate.calls.len(), fate.full && matches!(name, "write" | "pwrite64"));
    let ills = fate.ills.clone();
    for ill in ills {
        match ill {
            Ill::Death(when) if when == at => {
                fate.dead = true;
                drop(fate);
                // Without the panic's message, and without the commit's own ways out of an error.
                std::panic::resume_unwind(Box::new(Died));
            }
            Ill::Failure(when, errno) if when == at => return Err(errno),
            Ill::Failures(from, what, errno) if from <= at && what == name => return Err(errno),
            Ill::NoFlags(errno) if name == "renameat2" => return Err(errno),
            Ill::ShortWrite(when) if when == at => {
                fate.full = true;
                return Ok(false);
            }
            _ => {}
        }
    }
    if full { Err(Errno::NOSPC) } else { Ok(true) }
}

impl<T: ?Sized> Held<T> {
    fn meets(&self, name: &'static str, files: &[&str], changes: bool) -> Answer<bool> {
        meets(&self.fate, name, files, changes)
    }

    fn dir(&self, inner: Arc<dyn DiskDir>) -> Arc<dyn DiskDir> {
        Arc::new(Held { inner, fate: Arc::clone(&self.fate) })
    }
}

impl Disk for Shaky {
    fn open(&self, path: &Path) -> Answer<Arc<dyn DiskDir>> {
        meets(&self.fate, "open", &[&path.to_string_lossy()], false)?;
        Ok(Arc::new(Held { inner: self.inner.open(path)?, fate: Arc::clone(&self.fate) }))
    }

    fn look(&self, path: &Path, links: Links) -> Answer<Stat> {
        meets(&self.fate, "newfstatat", &[&path.to_string_lossy()], false)?;
        self.inner.look(path, links)
    }

    fn open_file(&self, path: &Path, how: Open, links: Links) -> Answer<Arc<dyn DiskFile>> {
        meets(&self.fate, "openat", &[&path.to_string_lossy()], how != Open::Read)?;
        Ok(Arc::new(Held { inner: self.inner.open_file(path, how, links)?, fate: Arc::clone(&self.fate) }))
    }

    fn canonical(&self, path: &Path) -> Answer<PathBuf> {
        meets(&self.fate, "readlink", &[&path.to_string_lossy()], false)?;
        self.inner.canonical(path)
    }

    fn walk(&self, root: &Path, skip: &OsStr) -> Answer<Vec<(PathBuf, FileType)>> {
        meets(&self.fate, "getdents64", &[&root.to_string_lossy()], false)?;
        self.inner.walk(root, skip)
    }

    fn may_write(&self, path: &Path) -> bool {
        self.inner.may_write(path)
    }

    fn magic(&self, path: &Path) -> Option<u32> {
        self.inner.magic(path)
    }
}

impl DiskDir for Held<dyn DiskDir> {
    fn stat(&self) -> Answer<Stat> {
        self.meets("fstat", &[], false)?;
        self.inner.stat()
    }

    fn look(&self, name: &OsStr) -> Answer<Stat> {
        self.meets("newfstatat", &[&name.to_string_lossy()], false)?;
        self.inner.look(name)
    }

    fn open_dir(&self, name: &OsStr) -> Answer<Arc<dyn DiskDir>> {
        self.meets("openat", &[&name.to_string_lossy()], false)?;
        Ok(self.dir(self.inner.open_dir(name)?))
    }

    fn open_file(&self, name: &OsStr, how: Open) -> Answer<Arc<dyn DiskFile>> {
        self.meets("openat", &[&name.to_string_lossy()], how != Open::Read)?;
        Ok(Arc::new(Held { inner: self.inner.open_file(name, how)?, fate: Arc::clone(&self.fate) }))
    }

    fn make_dir(&self, name: &OsStr, mode: u32) -> Answer<()> {
        self.meets("mkdirat", &[&name.to_string_lossy()], true)?;
        self.inner.make_dir(name, mode)
    }

    fn rename(&self, from: &OsStr, into: &dyn DiskDir, to: &OsStr, how: Rename) -> Answer<()> {
        let name = if how == Rename::Replace { "renameat" } else { "renameat2" };
        self.meets(name, &[&from.to_string_lossy(), &to.to_string_lossy()], true)?;
        let into = into.as_any().downcast_ref::<Self>().ok_or(Errno::XDEV)?;
        self.inner.rename(from, &*into.inner, to, how)
    }

    fn remove(&self, name: &OsStr) -> Answer<()> {
        self.meets("unlinkat", &[&name.to_string_lossy()], true)?;
        self.inner.remove(name)
    }

    fn give(&self, name: &OsStr, user: u32, group: u32) -> Answer<()> {
        self.meets("fchownat", &[&name.to_string_lossy()], true)?;
        self.inner.give(name, user, group)
    }

    fn remove_dir(&self, name: &OsStr) -> Answer<()> {
        self.meets("unlinkat", &[&name.to_string_lossy()], true)?;
        self.inner.remove_dir(name)
    }

    fn look_into(&self, dir: &OsStr, name: &OsStr) -> Answer<Stat> {
        self.meets("newfstatat", &[&Path::new(dir).join(name).to_string_lossy()], false)?;
        self.inner.look_into(dir, name)
    }

    fn names(&self) -> Answer<Vec<OsString>> {
        self.meets("getdents64", &[], false)?;
        self.inner.names()
    }

    fn entries(&self, each: &mut dyn FnMut(&OsStr, FileType)) -> Answer<()> {
        self.meets("getdents64", &[], false)?;
        self.inner.entries(each)
    }

    fn sync(&self) -> Answer<()> {
        self.meets("fsync", &[], false).map(drop)
    }

    fn lock(&self, wait: Wait) -> Answer<()> {
        self.meets("flock", &[], true)?;
        self.inner.lock(wait)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl DiskFile for Held<dyn DiskFile> {
    fn stat(&self) -> Answer<Stat> {
        self.meets("fstat", &[], false)?;
        self.inner.stat()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Answer<usize> {
        self.meets("pread64", &[], false)?;
        self.inner.read_at(buffer, offset)
    }

    fn append(&self, bytes: &[u8]) -> Answer<usize> {
        let whole = self.meets("write", &[], true)?;
        self.inner.append(if whole { bytes } else { &bytes[..bytes.len() / 2] })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Answer<usize> {
        let whole = self.meets("pwrite64", &[], true)?;
        self.inner.write_at(if whole { bytes } else { &bytes[..bytes.len() / 2] }, offset)
    }

    fn set_len(&self, len: u64) -> Answer<()> {
        self.meets("ftruncate", &[], true)?;
        self.inner.set_len(len)
    }

    fn set_mode(&self, mode: u32) -> Answer<()> {
        self.meets("fchmod", &[], true)?;
        self.inner.set_mode(mode)
    }

    fn set_owner(&self, user: Option<u32>, group: Option<u32>) -> Answer<()> {
        self.meets("fchown", &[], true)?;
        self.inner.set_owner(user, group)
    }

    fn sync_data(&self) -> Answer<()> {
        self.meets("fdatasync", &[], false).map(drop)
    }

    fn sync_all(&self) -> Answer<()> {
        self.meets("fsync", &[], false).map(drop)
    }

    fn lock(&self, wait: Wait) -> Answer<()> {
        self.meets("flock", &[], true)?;
        self.inner.lock(wait)
    }

    fn share(&self) -> Answer<()> {
        self.meets("flock", &[], true)?;
        self.inner.share()
    }

    fn is_held(&self) -> Answer<bool> {
        self.meets("flock", &[], true)?;
        self.inner.is_held()
    }
}
