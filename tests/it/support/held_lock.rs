//! A lock that a test holds in place of another process.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// An exclusive lock, until it is dropped.
pub struct HeldLock(File);

impl HeldLock {
    /// Takes the lock of a file, which is made if there is none.
    pub fn take(path: impl AsRef<Path>) -> Self {
        let file = File::options().write(true).create(true).truncate(false).open(path).unwrap();
        flock(&file, FlockOperation::LockExclusive).unwrap();
        Self(file)
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        // To close the file is not enough: a process that another test begins at this moment has it open until it runs its program.
        flock(&self.0, FlockOperation::Unlock).unwrap();
    }
}
