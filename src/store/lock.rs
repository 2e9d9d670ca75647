//! The lock of a run, and who holds it.
//!
//! `.lock` is locked with `flock`, which ends with its holder: after a kill nobody waits for a dead process. The file is
//! never deleted. On top of it the directory itself is locked, which closes the hole that opens when somebody removes
//! `.lock` while it is held (`git clean -fdx`). Waiting blocks in the kernel, which is fair; polling is not.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::model::{Number, Seq, Timestamp, limits};
use crate::store::StoreError;
use crate::store::canary::Canary;
use crate::store::dir::{Dir, File, NEW_FILE};
use crate::store::disk::{DiskDir, Errno, Open, Wait};
use crate::store::layout::LOCK;

/// What a writer leaves in `.lock`: who it is, the highest counters it has seen, so that neither is used again even when
/// somebody puts back an older log, and what the next writer has to look after. A lost note is no error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WriterNote {
    /// Process id.
    pub pid: u32,
    /// What it runs: `flow record-activity`.
    pub command: String,
    /// When it took the lock.
    pub since: Timestamp,
    /// The highest event position given so far.
    #[serde(default)]
    pub seq: Seq,
    /// The highest activity number given so far.
    #[serde(default)]
    pub number: u64,
    /// The boot of the machine since which no power cut can have taken activity files: all were looked at in it.
    #[serde(default)]
    pub boot: String,
    /// Whether a flush of the log failed or its end was mended: what the system holds of it may count as written without
    /// being on the disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspect: bool,
    /// How long the log is that the last writer here left, in bytes; 0 when that is not known. Another length means that
    /// version control, or another program, was at it.
    #[serde(default)]
    pub log_len: u64,
}

/// How to wait for a lock.
#[derive(Debug, Clone, PartialEq)]
pub struct LockRequest {
    /// At most so long.
    pub wait: Duration,
    /// Written into the lock for those who wait.
    pub note: WriterNote,
    /// What to do wrong under the lock, in a test of the tests.
    pub canary: Option<Canary>,
}

/// The held lock; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    /// A handle of its own: the lock ends with it, and not only with the last handle to the directory.
    dir: Arc<dyn DiskDir>,
    note: WriterNote,
    /// This boot of the machine; empty where that cannot be told.
    boot: String,
}

const NOTE_BYTES: usize = 512;

impl Lock {
    /// Locks `dir`, waiting as `request` says.
    pub(crate) fn take(dir: &Dir, request: &LockRequest) -> Result<Self, StoreError> {
        let started = Instant::now();
        loop {
            let file = dir.open_own(LOCK, Open::Write { mode: NEW_FILE })?;
            let handle = dir.another_handle()?;
            let left = request.wait.saturating_sub(started.elapsed());
            if !lock_both(&dir.join(LOCK), &handle, &file, left)? {
                let holder = read_note(&file).map(Box::new);
                return Err(StoreError::Held { path: dir.join(LOCK), holder, waited: started.elapsed() });
            }
            // Whoever removed the file meanwhile made the next process lock another one.
            if dir.is_still(LOCK, &file)? {
                let before = read_note(&file);
                let mut note = request.note.clone();
                if let Some(before) = before {
                    note.seq = before.seq;
                    note.number = before.number;
                    note.boot = before.boot;
                    note.suspect = before.suspect;
                    note.log_len = before.log_len;
                } else {
                    note.boot = String::new();
                }
                let boot = request.note.boot.clone();
                let lock = Self { file, dir: handle, note, boot };
                lock.write();
                return Ok(lock);
            }
        }
    }

    /// The highest event position and activity number that earlier writers noted.
    pub(crate) fn high_water(&self) -> (Seq, Number) {
        (self.note.seq, Number(self.note.number))
    }

    /// How long the log was when it was noted last; 0 when that is not known.
    pub(crate) fn log_len(&self) -> u64 {
        self.note.log_len
    }

    /// Whether the machine was started anew since all activity files were looked at.
    pub(crate) fn is_another_boot(&self) -> bool {
        self.note.boot != self.boot
    }

    /// Notes that all activity files are there.
    pub(crate) fn note_boot(&mut self) {
        self.note.boot.clone_from(&self.boot);
        self.write();
    }

    /// Notes the counters that were just used.
    pub(crate) fn note_counters(&mut self, seq: Seq, number: Number) {
        self.note.seq = self.note.seq.max(seq);
        self.note.number = self.note.number.max(number.0);
        self.write();
    }

    /// Notes the counters that were just used in a log that is `len` bytes long with that.
    pub(crate) fn note_commit(&mut self, seq: Seq, number: Number, len: u64) {
        self.note.log_len = len;
        self.note_counters(seq, number);
    }

    /// Notes a position that was used, or that all files show.
    pub(crate) fn note_seq(&mut self, seq: Seq) {
        self.note_counters(seq, Number(self.note.number));
    }

    /// Frees the lock and keeps the handles: a mistake, see [`Canary::SequenceOutsideLock`].
    pub(crate) fn release(&self) -> Result<(), StoreError> {
        let fault = |errno: Errno| StoreError::Io { action: "unlock", path: LOCK.into(), source: errno.into() };
        self.dir.unlock().and_then(|()| self.file.unlock()).map_err(fault)
    }

    /// Takes the lock that was freed.
    pub(crate) fn again(&self) -> Result<(), StoreError> {
        let fault = |errno: Errno| StoreError::Io { action: "lock", path: LOCK.into(), source: errno.into() };
        self.file.lock(Wait::Forever).and_then(|()| self.dir.lock(Wait::Forever)).map_err(fault)
    }

    /// Whether the log has to be copied before anything is appended to it.
    pub(crate) fn is_log_suspect(&self) -> bool {
        self.note.suspect
    }

    /// Notes that a flush of the log failed or that its end is being mended, or that a copy of it was flushed. Unlike
    /// what else is noted here, this matters: `false` when it could not be noted. A power cut may take the note, but it
    /// ends the doubt as well.
    pub(crate) fn note_suspect(&mut self, suspect: bool) -> bool {
        self.note.suspect = suspect;
        self.write()
    }

    /// `false` when it was not written. A full disk must not keep anybody from recording, so most callers go on.
    fn write(&self) -> bool {
        let Ok(mut text) = serde_json::to_string(&self.note) else {
            return false;
        };
        text.truncate(NOTE_BYTES - 1);
        let padded = format!("{text:<width$}\n", width = NOTE_BYTES - 1);
        self.file.write_at(padded.as_bytes(), 0) == Ok(padded.len())
    }
}

/// What the last writer left in the lock of `dir`, read without taking it.
pub(crate) fn note_of(dir: &Dir) -> Option<WriterNote> {
    let bytes = dir.read(LOCK, limits::TAIL_BYTES).ok()??;
    serde_json::from_slice(bytes.trim_ascii()).ok()
}

fn read_note(file: &File) -> Option<WriterNote> {
    let mut bytes = [0; NOTE_BYTES];
    let len = file.read_at(&mut bytes, 0).ok()?;
    let text = std::str::from_utf8(&bytes[..len]).ok()?;
    serde_json::from_str(text.trim()).ok()
}

/// Locks file and directory, in this order everywhere. `false` when the time is over.
fn lock_both(path: &Path, dir: &Arc<dyn DiskDir>, file: &File, wait: Duration) -> Result<bool, StoreError> {
    let fault = |errno: Errno| StoreError::Io { action: "lock", path: path.to_owned(), source: errno.into() };
    match file.lock(Wait::No) {
        Ok(()) if lock_dir(&**dir, Wait::No) => return Ok(true),
        Ok(()) | Err(Errno::WOULDBLOCK) => {}
        Err(errno) => return Err(fault(errno)),
    }
    if wait.is_zero() {
        return Ok(false);
    }
    // A blocking flock has no time limit, so another thread waits. When it gets the lock too late it holds the last
    // handle, and dropping that frees the lock.
    let (locked, wait_for) = mpsc::channel();
    let (file, dir) = (Arc::clone(file), Arc::clone(dir));
    thread::spawn(move || {
        let result = file.lock(Wait::Forever);
        lock_dir(&*dir, Wait::Forever);
        let _ = locked.send(result);
    });
    match wait_for.recv_timeout(wait) {
        Ok(result) => result.map(|()| true).map_err(fault),
        Err(_) => Ok(false),
    }
}

/// Locks a directory; `false` when another process holds it. File systems that cannot lock directories (NFS) count as
/// locked: the lock file does the work there.
fn lock_dir(dir: &dyn DiskDir, wait: Wait) -> bool {
    dir.lock(wait) != Err(Errno::WOULDBLOCK)
}
