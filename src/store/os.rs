//! The file system of the operating system.

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::retry_on_intr;

use crate::store::disk::{Answer, Disk, DiskDir, DiskFile, Errno, FileType, Onto, Open, Stat, Wait};

/// The file system of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Os;

#[derive(Debug)]
struct OsDir(OwnedFd);

#[derive(Debug)]
struct OsFile(File);

const DIR_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// With `O_NONBLOCK` a FIFO cannot make the open wait.
const FILE_FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

impl Disk for Os {
    fn open(&self, path: &Path) -> Answer<Arc<dyn DiskDir>> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?;
        Ok(Arc::new(OsDir(fd)))
    }

    fn look(&self, path: &Path) -> Answer<Stat> {
        rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map(|stat| picked(&stat))
    }
}

impl DiskDir for OsDir {
    fn stat(&self) -> Answer<Stat> {
        rustix::fs::fstat(&self.0).map(|stat| picked(&stat))
    }

    fn look(&self, name: &str) -> Answer<Stat> {
        rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| picked(&stat))
    }

    fn open_dir(&self, name: &str) -> Answer<Arc<dyn DiskDir>> {
        let fd = retry_on_intr(|| rustix::fs::openat(&self.0, name, DIR_FLAGS, Mode::empty()))?;
        Ok(Arc::new(Self(fd)))
    }

    fn open_file(&self, name: &str, how: Open) -> Answer<Arc<dyn DiskFile>> {
        let (flags, mode) = match how {
            Open::Read => (OFlags::RDONLY, 0),
            Open::Write { mode } => (OFlags::RDWR | OFlags::CREATE, mode),
            Open::Append { mode } => (OFlags::RDWR | OFlags::CREATE | OFlags::APPEND, mode),
            Open::New { mode } => (OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode),
        };
        let mode = Mode::from_raw_mode(mode);
        let fd = retry_on_intr(|| rustix::fs::openat(&self.0, name, flags | FILE_FLAGS, mode))?;
        Ok(Arc::new(OsFile(File::from(fd))))
    }

    fn make_dir(&self, name: &str) -> Answer<()> {
        rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777))
    }

    fn rename(&self, from: &str, into: &dyn DiskDir, to: &str, onto: Onto) -> Answer<()> {
        let Some(into) = into.as_any().downcast_ref::<Self>() else { return Err(Errno::XDEV) };
        match onto {
            Onto::Whatever => rustix::fs::renameat(&self.0, from, &into.0, to),
            Onto::Nothing => rustix::fs::renameat_with(&self.0, from, &into.0, to, RenameFlags::NOREPLACE),
            Onto::Exchange => rustix::fs::renameat_with(&self.0, from, &into.0, to, RenameFlags::EXCHANGE),
        }
    }

    fn remove(&self, name: &str) -> Answer<()> {
        rustix::fs::unlinkat(&self.0, name, AtFlags::empty())
    }

    fn remove_dir(&self, name: &str) -> Answer<()> {
        rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)
    }

    fn names(&self) -> Answer<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn sync(&self) -> Answer<()> {
        retry_on_intr(|| rustix::fs::fsync(&self.0))
    }

    fn lock(&self, wait: Wait) -> Answer<()> {
        let how = match wait {
            Wait::No => FlockOperation::NonBlockingLockExclusive,
            Wait::Forever => FlockOperation::LockExclusive,
        };
        retry_on_intr(|| rustix::fs::flock(&self.0, how))
    }

    fn unlock(&self) -> Answer<()> {
        rustix::fs::flock(&self.0, FlockOperation::Unlock)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl DiskFile for OsFile {
    fn stat(&self) -> Answer<Stat> {
        rustix::fs::fstat(&self.0).map(|stat| picked(&stat))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Answer<usize> {
        retry_on_intr(|| self.0.read_at(buffer, offset).map_err(errno))
    }

    fn append(&self, bytes: &[u8]) -> Answer<usize> {
        retry_on_intr(|| rustix::io::write(&self.0, bytes))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Answer<usize> {
        retry_on_intr(|| self.0.write_at(bytes, offset).map_err(errno))
    }

    fn set_len(&self, len: u64) -> Answer<()> {
        self.0.set_len(len).map_err(errno)
    }

    fn set_mode(&self, mode: u32) -> Answer<()> {
        retry_on_intr(|| rustix::fs::fchmod(&self.0, Mode::from_raw_mode(mode)))
    }

    fn write_soon(&self) {
        // Linux begins to write when it is told that the pages will not be needed; they stay until they are written.
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(&self.0, 0, None, rustix::fs::Advice::DontNeed);
    }

    fn sync_data(&self) -> Answer<()> {
        // On Apple's systems this is F_FULLFSYNC: a plain flush stays in the drive's cache there.
        self.0.sync_data().map_err(errno)
    }

    fn sync_all(&self) -> Answer<()> {
        self.0.sync_all().map_err(errno)
    }

    fn lock(&self, wait: Wait) -> Answer<()> {
        retry_on_intr(|| match wait {
            Wait::No => fs2::FileExt::try_lock_exclusive(&self.0).map_err(errno),
            Wait::Forever => fs2::FileExt::lock_exclusive(&self.0).map_err(errno),
        })
    }

    fn unlock(&self) -> Answer<()> {
        fs2::FileExt::unlock(&self.0).map_err(errno)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

#[allow(clippy::useless_conversion, reason = "the types of the fields differ between platforms")]
fn picked(stat: &rustix::fs::Stat) -> Stat {
    Stat {
        kind: FileType::from_raw_mode(stat.st_mode),
        mode: stat.st_mode & 0o7777,
        owner: stat.st_uid,
        links: stat.st_nlink.into(),
        device: stat.st_dev.into(),
        inode: stat.st_ino.into(),
        len: u64::try_from(stat.st_size).unwrap_or(0),
        changed: (stat.st_ctime.into(), i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
    }
}
