//! The lock of a document while it is replaced.
//!
//! The original scripts write journals under the lock `<file>.lock`, so flow uses the same lock. It is taken before the
//! document is opened, so that no one edits a text that was replaced during the wait. flow removes a lock that it made:
//! a process that waited for it checks that the lock file still has its name, and otherwise waits for the new one. The
//! scripts do not check that and never remove their lock, so a lock without the permissions that flow uses is theirs
//! and stays.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::disk::dir::File;
use crate::disk::document_dir::DocumentDir;
use crate::disk::error::Operation;
use crate::disk::fault::DocumentFault;
use crate::disk::file_system::{Answer, DiskDir, Errno, Open, Wait};
use crate::disk::rights::Rights;

/// Time between two attempts to lock.
const PAUSE: Duration = Duration::from_millis(10);

/// The permissions of a lock that flow makes; the original scripts use those of any new file.
const LOCK_MODE: u32 = 0o600;

/// The lock that keeps other writers away while a document is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// The file `<document>.lock`, which the original scripts use too.
    LockFile,
    /// The document's directory, so that no file is left behind; the lock file where directories cannot be locked.
    Directory,
}

/// A lock that is held.
pub(super) enum DocumentLock {
    Directory(#[expect(dead_code, reason = "the lock ends with it")] Arc<dyn DiskDir>),
    File { file: File, name: OsString },
}

impl DocumentLock {
    pub(super) fn take(
        dir: &DocumentDir,
        document: &OsStr,
        guard: Guard,
        wait: Duration,
    ) -> Result<Self, DocumentFault> {
        let deadline = Instant::now() + wait;
        if guard == Guard::Directory {
            // A handle of the lock's own, so that the lock ends with it and not with the last handle to the directory.
            let own = dir.handle.open_dir(".".as_ref());
            let own = own.map_err(|errno| DocumentFault::io(Operation::Open, &dir.path, errno))?;
            match lock_until(deadline, &dir.path, || own.lock(Wait::No)) {
                Ok(()) => return Ok(Self::Directory(own)),
                // Not every file system can lock directories (NFS).
                Err(DocumentFault::Io { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        let mut name = document.to_owned();
        name.push(".lock");
        let path = dir.path.join(&name);
        loop {
            let Some((file, own)) = dir.file(&name, Open::Write { mode: LOCK_MODE })? else {
                return Err(DocumentFault::io(Operation::Make, &path, Errno::NOENT));
            };
            lock_until(deadline, &path, || file.lock(Wait::No))?;
            // The holder may have removed the file during the wait, and another process may hold a new one.
            match dir.handle.look(&name) {
                Ok(named) if named.is_same(&own) => return Ok(Self::File { file, name }),
                Ok(_) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(DocumentFault::io(Operation::Inspect, &path, errno)),
            }
            if Instant::now() >= deadline {
                return Err(DocumentFault::Busy { path });
            }
        }
    }

    /// Removes a lock file that flow made, while it is still held. A process that waited for it notices that.
    pub(super) fn release(&self, dir: &DocumentDir) {
        if let Self::File { file, name } = self
            && let Ok(stat) = file.stat()
            && Rights::of(&stat).mode == LOCK_MODE
            && stat.len == 0
        {
            dir.remove(name);
        }
    }
}

/// Tries to lock until the deadline.
fn lock_until(deadline: Instant, path: &Path, lock: impl Fn() -> Answer<()>) -> Result<(), DocumentFault> {
    loop {
        match lock() {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) => {}
            Err(errno) => return Err(DocumentFault::io(Operation::Lock, path, errno)),
        }
        if Instant::now() >= deadline {
            return Err(DocumentFault::Busy { path: path.to_owned() });
        }
        std::thread::sleep(PAUSE);
    }
}
