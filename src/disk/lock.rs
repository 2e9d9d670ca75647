//! Locks that end with their holder.
//!
//! A file is locked with `flock`, so a kill frees the lock. The file is never deleted. Its directory is locked as well,
//! in case another program removes the file while it is held (`git clean -fdx`). Waiters block in the kernel, which is
//! fair; polling would not be.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::disk::dir::{Dir, File, NEW_FILE};
use crate::disk::error::{DiskError, Operation};
use crate::disk::file_system::{DiskDir, Errno, Open, Wait};

/// A held lock. Dropping it releases it.
#[derive(Debug)]
pub(crate) struct FileLock {
    /// The locked file.
    pub(crate) file: File,
    /// A handle of the lock's own, so that the lock ends with it and not with the last handle to the directory.
    _dir: Arc<dyn DiskDir>,
}

/// The result of waiting for a lock.
#[derive(Debug)]
pub(crate) enum LockOutcome {
    /// This process holds it.
    Ours(FileLock),
    /// Another process held it until the timeout; this is the lock file.
    Theirs(File),
}

impl FileLock {
    /// Locks the file `name` of `dir`, which is created if it is missing, and `dir` itself. Waits at most `wait`.
    pub(crate) fn take(dir: &Dir, name: &str, wait: Duration) -> Result<LockOutcome, DiskError> {
        Self::take_or_tell(dir, name, wait, || None)
    }

    /// As [`Self::take`]. When it has to wait, `tell` tells others so, as long as the file lives that it returns.
    pub(crate) fn take_or_tell(
        dir: &Dir,
        name: &str,
        wait: Duration,
        tell: impl Fn() -> Option<File>,
    ) -> Result<LockOutcome, DiskError> {
        let started = Instant::now();
        loop {
            let file = match dir.open_own(name, Open::Write { mode: NEW_FILE }) {
                // The lock of another user can be taken without writing into it; only the note of the writer is lost.
                Err(DiskError::NotOurs { .. }) if dir.exists(name)? => dir.open_own(name, Open::Read)?,
                opened => opened?,
            };
            let handle = dir.another_handle()?;
            // The time that was spent on a lock file which is gone counts as well.
            let left = wait.saturating_sub(started.elapsed());
            if !lock_both(&dir.join(name), &handle, &file, left, &tell)? {
                return Ok(LockOutcome::Theirs(file));
            }
            // If the file was removed in the meantime, the next process locks a new one.
            if dir.is_still(name, &file)? {
                return Ok(LockOutcome::Ours(Self { file, _dir: handle }));
            }
        }
    }
}

/// Locks the file and then the directory, always in this order. `false` after the timeout.
fn lock_both(
    path: &Path,
    dir: &Arc<dyn DiskDir>,
    file: &File,
    wait: Duration,
    tell: impl Fn() -> Option<File>,
) -> Result<bool, DiskError> {
    match file.lock(Wait::No) {
        Ok(()) if lock_dir(&**dir, Wait::No) => return Ok(true),
        // A file that is locked stays so while the directory is waited for.
        Ok(()) | Err(Errno::WOULDBLOCK) => {}
        Err(errno) => return Err(DiskError::io(Operation::Lock, path.to_owned(), errno)),
    }
    if wait.is_zero() {
        return Ok(false);
    }
    let _told = tell();
    // A blocking flock has no timeout, so another thread waits. If it gets the lock too late it holds the last handle,
    // and dropping that frees the lock.
    let (locked, wait_for) = mpsc::channel();
    let (file, dir) = (Arc::clone(file), Arc::clone(dir));
    thread::spawn(move || {
        let result = file.lock(Wait::Forever);
        lock_dir(&*dir, Wait::Forever);
        let _ = locked.send(result);
    });
    match wait_for.recv_timeout(wait) {
        Ok(Ok(())) => Ok(true),
        Ok(Err(errno)) => Err(DiskError::io(Operation::Lock, path.to_owned(), errno)),
        Err(_) => Ok(false),
    }
}

/// Locks a directory; `false` if another process holds it. A file system that cannot lock directories (NFS) counts as
/// locked, because the lock file suffices there.
fn lock_dir(dir: &dyn DiskDir, wait: Wait) -> bool {
    dir.lock(wait) != Err(Errno::WOULDBLOCK)
}
