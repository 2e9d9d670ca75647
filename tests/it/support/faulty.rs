//! Disks that break a promise: what a test of durability must notice.

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use flowrun::disk::{Answer, Disk, DiskDir, DiskFile, Errno, FileType, Links, Open, Rename, Stat, Wait};

/// What a disk does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// Flushes say that they are done, and do nothing.
    NoFlush,
    /// A flush that fails says that it is done.
    UncheckedFlush,
    /// Everybody gets every lock.
    NoLocks,
    /// What is appended to the log, and its flush, come only behind the next new `run.yaml`.
    LateAppend,
    /// The flush of the log comes only behind the next new `run.yaml`.
    LateFlush,
    /// A copy of the log never takes its place.
    OldLog,
}

/// A disk with a mistake around one without, for one process.
#[derive(Debug)]
pub struct FaultyDisk {
    inner: Arc<dyn Disk>,
    fault: Arc<Fault>,
}

#[derive(Debug)]
struct Fault {
    mistake: Mistake,
    late: Mutex<Option<Late>>,
}

/// The log, and what was appended to it, whose time has not come.
type Late = (Arc<dyn DiskFile>, Vec<u8>);

#[derive(Debug)]
struct FaultyDir {
    inner: Arc<dyn DiskDir>,
    fault: Arc<Fault>,
}

#[derive(Debug)]
struct FaultyFile {
    inner: Arc<dyn DiskFile>,
    is_log: bool,
    fault: Arc<Fault>,
}

const LOG: &str = "events.jsonl";

impl FaultyDisk {
    /// Makes this mistake on `inner`.
    pub fn new(inner: Arc<dyn Disk>, mistake: Mistake) -> Self {
        Self { inner, fault: Arc::new(Fault { mistake, late: Mutex::new(None) }) }
    }

    fn dir(&self, inner: Arc<dyn DiskDir>) -> Arc<dyn DiskDir> {
        Arc::new(FaultyDir { inner, fault: Arc::clone(&self.fault) })
    }
}

impl Fault {
    fn flush(&self, flush: impl FnOnce() -> Answer<()>) -> Answer<()> {
        match self.mistake {
            Mistake::NoFlush => Ok(()),
            Mistake::UncheckedFlush => flush().or(Ok(())),
            _ => flush(),
        }
    }

    fn lock(&self, lock: impl FnOnce() -> Answer<()>) -> Answer<()> {
        if self.mistake == Mistake::NoLocks { Ok(()) } else { lock() }
    }

    /// Does what was put off.
    fn catch_up(&self) -> Answer<()> {
        let Some((file, bytes)) = self.late.lock().unwrap().take() else { return Ok(()) };
        if !bytes.is_empty() {
            file.append(&bytes)?;
        }
        file.sync_data()
    }
}

impl Disk for FaultyDisk {
    fn open(&self, path: &Path) -> Answer<Arc<dyn DiskDir>> {
        self.inner.open(path).map(|dir| self.dir(dir))
    }

    fn look(&self, path: &Path, links: Links) -> Answer<Stat> {
        self.inner.look(path, links)
    }

    fn open_file(&self, path: &Path, how: Open, links: Links) -> Answer<Arc<dyn DiskFile>> {
        self.inner.open_file(path, how, links)
    }

    fn canonical(&self, path: &Path) -> Answer<PathBuf> {
        self.inner.canonical(path)
    }

    fn walk(&self, root: &Path, skip: &OsStr) -> Answer<Vec<(PathBuf, FileType)>> {
        self.inner.walk(root, skip)
    }

    fn may_write(&self, path: &Path) -> bool {
        self.inner.may_write(path)
    }
}

impl DiskDir for FaultyDir {
    fn stat(&self) -> Answer<Stat> {
        self.inner.stat()
    }

    fn look(&self, name: &OsStr) -> Answer<Stat> {
        self.inner.look(name)
    }

    fn open_dir(&self, name: &OsStr) -> Answer<Arc<dyn DiskDir>> {
        let inner = self.inner.open_dir(name)?;
        Ok(Arc::new(Self { inner, fault: Arc::clone(&self.fault) }))
    }

    fn open_file(&self, name: &OsStr, how: Open) -> Answer<Arc<dyn DiskFile>> {
        let is_log = name == LOG && matches!(how, Open::Append { .. });
        let inner = self.inner.open_file(name, how)?;
        Ok(Arc::new(FaultyFile { inner, is_log, fault: Arc::clone(&self.fault) }))
    }

    fn make_dir(&self, name: &OsStr, mode: u32) -> Answer<()> {
        self.inner.make_dir(name, mode)
    }

    fn rename(&self, from: &OsStr, into: &dyn DiskDir, to: &OsStr, how: Rename) -> Answer<()> {
        let into = into.as_any().downcast_ref::<Self>().ok_or(Errno::XDEV)?;
        if self.fault.mistake == Mistake::OldLog && to == LOG {
            return self.inner.remove(from);
        }
        self.inner.rename(from, &*into.inner, to, how)?;
        if to == "run.yaml" { self.fault.catch_up() } else { Ok(()) }
    }

    fn remove(&self, name: &OsStr) -> Answer<()> {
        self.inner.remove(name)
    }

    fn give(&self, name: &OsStr, user: u32, group: u32) -> Answer<()> {
        self.inner.give(name, user, group)
    }

    fn remove_dir(&self, name: &OsStr) -> Answer<()> {
        self.inner.remove_dir(name)
    }

    fn look_into(&self, dir: &OsStr, name: &OsStr) -> Answer<Stat> {
        self.inner.look_into(dir, name)
    }

    fn names(&self) -> Answer<Vec<OsString>> {
        self.inner.names()
    }

    fn entries(&self, each: &mut dyn FnMut(&OsStr, FileType)) -> Answer<()> {
        self.inner.entries(each)
    }

    fn sync(&self) -> Answer<()> {
        self.fault.flush(|| self.inner.sync())
    }

    fn lock(&self, wait: Wait) -> Answer<()> {
        self.fault.lock(|| self.inner.lock(wait))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl DiskFile for FaultyFile {
    fn stat(&self) -> Answer<Stat> {
        self.inner.stat()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Answer<usize> {
        self.inner.read_at(buffer, offset)
    }

    fn append(&self, bytes: &[u8]) -> Answer<usize> {
        if self.is_log && self.fault.mistake == Mistake::LateAppend {
            *self.fault.late.lock().unwrap() = Some((Arc::clone(&self.inner), bytes.to_vec()));
            return Ok(bytes.len());
        }
        self.inner.append(bytes)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Answer<usize> {
        self.inner.write_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> Answer<()> {
        self.inner.set_len(len)
    }

    fn set_mode(&self, mode: u32) -> Answer<()> {
        self.inner.set_mode(mode)
    }

    fn set_owner(&self, user: Option<u32>, group: Option<u32>) -> Answer<()> {
        self.inner.set_owner(user, group)
    }

    fn sync_data(&self) -> Answer<()> {
        match self.fault.mistake {
            Mistake::LateAppend if self.is_log => Ok(()),
            Mistake::LateFlush if self.is_log => {
                *self.fault.late.lock().unwrap() = Some((Arc::clone(&self.inner), Vec::new()));
                Ok(())
            }
            _ => self.fault.flush(|| self.inner.sync_data()),
        }
    }

    fn sync_all(&self) -> Answer<()> {
        self.fault.flush(|| self.inner.sync_all())
    }

    fn lock(&self, wait: Wait) -> Answer<()> {
        self.fault.lock(|| self.inner.lock(wait))
    }

    fn share(&self) -> Answer<()> {
        self.fault.lock(|| self.inner.share())
    }

    fn is_held(&self) -> Answer<bool> {
        self.inner.is_held()
    }
}
