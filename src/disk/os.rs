//! The file system of the operating system.

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::retry_on_intr;
use rustix::path::Arg;

use crate::disk::file_system::{Answer, Disk, DiskDir, DiskFile, Errno, FileType, Links, Open, Rename, Stat, Wait};

/// The file system of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Os;

#[derive(Debug)]
struct OsDir(OwnedFd);

#[derive(Debug)]
struct OsFile(File);

const DIR_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// With `O_NONBLOCK`, opening a FIFO does not block.
const FILE_FLAGS: OFlags = OFlags::NOCTTY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

impl Disk for Os {
    fn open(&self, path: &Path) -> Answer<Arc<dyn DiskDir>> {
        // Without NOFOLLOW: the path to a project is the user's choice.
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?;
        Ok(Arc::new(OsDir(fd)))
    }

    fn look(&self, path: &Path, links: Links) -> Answer<Stat> {
        let flags = if links == Links::Follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        Ok(picked(&rustix::fs::statat(CWD, path, flags)?))
    }

    fn open_file(&self, path: &Path, how: Open, links: Links) -> Answer<Arc<dyn DiskFile>> {
        let stay = if links == Links::Follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        open_file(CWD, path, how, stay)
    }

    fn canonical(&self, path: &Path) -> Answer<PathBuf> {
        std::fs::canonicalize(path).map_err(errno)
    }

    fn walk(&self, root: &Path, skip: &OsStr) -> Answer<Vec<(PathBuf, FileType)>> {
        let walk = walkdir::WalkDir::new(root).follow_links(false).sort_by_file_name();
        let mut found = Vec::new();
        for entry in walk.into_iter().filter_entry(|entry| entry.file_name() != skip) {
            // An error without one of the system is a circle of links.
            let entry = entry.map_err(|error| error.into_io_error().map_or(Errno::LOOP, errno))?;
            let kind = match entry.file_type() {
                kind if kind.is_dir() => FileType::Directory,
                kind if kind.is_file() => FileType::RegularFile,
                kind if kind.is_symlink() => FileType::Symlink,
                _ => FileType::Unknown,
            };
            found.push((entry.into_path(), kind));
        }
        Ok(found)
    }

    fn may_write(&self, path: &Path) -> bool {
        rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
    }

    fn magic(&self, path: &Path) -> Option<u32> {
        u32::try_from(rustix::fs::statfs(path).ok()?.f_type & 0xffff_ffff).ok()
    }
}

fn open_file(at: impl AsFd, path: impl Arg + Copy, how: Open, flags: OFlags) -> Answer<Arc<dyn DiskFile>> {
    let (access, mode) = match how {
        Open::Read => (OFlags::RDONLY, 0),
        Open::Write { mode } => (OFlags::RDWR | OFlags::CREATE, mode),
        Open::Append { mode } => (OFlags::RDWR | OFlags::CREATE | OFlags::APPEND, mode),
        Open::New { mode } => (OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode),
    };
    let mode = Mode::from_raw_mode(mode);
    let fd = retry_on_intr(|| rustix::fs::openat(&at, path, access | FILE_FLAGS | flags, mode))?;
    Ok(Arc::new(OsFile(File::from(fd))))
}

impl DiskDir for OsDir {
    fn stat(&self) -> Answer<Stat> {
        Ok(picked(&rustix::fs::fstat(&self.0)?))
    }

    fn look(&self, name: &OsStr) -> Answer<Stat> {
        Ok(picked(&rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    fn look_into(&self, dir: &OsStr, name: &OsStr) -> Answer<Stat> {
        // One call instead of three.
        Ok(picked(&rustix::fs::statat(&self.0, Path::new(dir).join(name), AtFlags::SYMLINK_NOFOLLOW)?))
    }

    fn open_dir(&self, name: &OsStr) -> Answer<Arc<dyn DiskDir>> {
        let fd = retry_on_intr(|| rustix::fs::openat(&self.0, name, DIR_FLAGS, Mode::empty()))?;
        Ok(Arc::new(Self(fd)))
    }

    fn open_file(&self, name: &OsStr, how: Open) -> Answer<Arc<dyn DiskFile>> {
        open_file(&self.0, name, how, OFlags::NOFOLLOW)
    }

    fn make_dir(&self, name: &OsStr, mode: u32) -> Answer<()> {
        rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(mode))
    }

    fn rename(&self, from: &OsStr, into: &dyn DiskDir, to: &OsStr, how: Rename) -> Answer<()> {
        // A directory of another implementation is one of another file system.
        let Some(into) = into.as_any().downcast_ref::<Self>() else { return Err(Errno::XDEV) };
        match how {
            Rename::Replace => rustix::fs::renameat(&self.0, from, &into.0, to),
            Rename::NoReplace => rustix::fs::renameat_with(&self.0, from, &into.0, to, RenameFlags::NOREPLACE),
            Rename::Exchange => rustix::fs::renameat_with(&self.0, from, &into.0, to, RenameFlags::EXCHANGE),
        }
    }

    fn remove(&self, name: &OsStr) -> Answer<()> {
        rustix::fs::unlinkat(&self.0, name, AtFlags::empty())
    }

    fn give(&self, name: &OsStr, user: u32, group: u32) -> Answer<()> {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        rustix::fs::chownat(&self.0, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
    }

    fn remove_dir(&self, name: &OsStr) -> Answer<()> {
        rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)
    }

    fn names(&self) -> Answer<Vec<OsString>> {
        let mut names = Vec::new();
        self.entries(&mut |name, _| names.push(name.to_owned()))?;
        Ok(names)
    }

    fn entries(&self, each: &mut dyn FnMut(&OsStr, FileType)) -> Answer<()> {
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                each(name, entry.file_type());
            }
        }
        Ok(())
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

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl DiskFile for OsFile {
    fn stat(&self) -> Answer<Stat> {
        Ok(picked(&rustix::fs::fstat(&self.0)?))
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

    fn set_owner(&self, user: Option<u32>, group: Option<u32>) -> Answer<()> {
        rustix::fs::fchown(&self.0, user.map(Uid::from_raw), group.map(Gid::from_raw))
    }

    fn write_soon(&self) {
        // On Linux this advice starts writing dirty pages; they stay in memory until they are written.
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(&self.0, 0, None, rustix::fs::Advice::DontNeed);
    }

    fn sync_data(&self) -> Answer<()> {
        // On Apple systems this is F_FULLFSYNC: a plain fsync leaves the data in the drive's cache.
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

    fn share(&self) -> Answer<()> {
        retry_on_intr(|| fs2::FileExt::try_lock_shared(&self.0).map_err(errno))
    }

    fn is_held(&self) -> Answer<bool> {
        match self.lock(Wait::No) {
            // It was free, so this handle has locked it now.
            Ok(()) => fs2::FileExt::unlock(&self.0).map(|()| false).map_err(errno),
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(errno) => Err(errno),
        }
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
        group: stat.st_gid,
        links: stat.st_nlink.into(),
        device: stat.st_dev.into(),
        inode: stat.st_ino.into(),
        len: u64::try_from(stat.st_size).unwrap_or(0),
        changed: (stat.st_ctime.into(), i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
    }
}
