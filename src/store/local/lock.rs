//! The lock of a run: the file `.lock`, which is never deleted, with a note of its last writer.

use std::time::{Duration, Instant};

use crate::disk::{Dir, File, FileLock, LockOutcome, is_running, lock_holder};
use crate::model::{Number, Seq, limits};
use crate::store::error::{Result, StoreError};
use crate::store::local::layout::LOCK;
use crate::store::local::note::WriterNote;
use crate::store::request::{WriteRequest, Writer};
use crate::store::run_store::Noted;

/// A held lock. Dropping it releases it.
#[derive(Debug)]
pub(crate) struct Lock {
    /// `None` while it is released; see [`Self::release`].
    lock: Option<FileLock>,
    /// How long to wait for another writer.
    wait: Duration,
    note: WriterNote,
    /// Identifies the current boot of the machine; empty if unknown.
    boot: String,
}

const NOTE_BYTES: usize = 512;

impl Lock {
    /// Locks `dir`. Waits for another writer as long as `request` allows.
    pub(crate) fn take(dir: &Dir, request: &WriteRequest) -> Result<Self> {
        Self::take_or_tell(dir, request, || None)
    }

    /// As [`Self::take`]. When it has to wait, `tell` tells others so, as long as the file lives that it returns.
    pub(crate) fn take_or_tell(dir: &Dir, request: &WriteRequest, tell: impl Fn() -> Option<File>) -> Result<Self> {
        let started = Instant::now();
        let lock = match FileLock::take_or_tell(dir, LOCK, request.wait, tell)? {
            LockOutcome::Ours(lock) => lock,
            LockOutcome::Theirs(file) => {
                let holder = holder_of(&file).map(Box::new);
                return Err(StoreError::Held { at: dir.join(LOCK).into(), holder, waited: started.elapsed() });
            }
        };
        let mut note = WriterNote::first(request);
        match read_note(&lock.file) {
            Some(before) => note = WriterNote { writer: note.writer, ..before },
            // It is not known whether activity files were checked in this boot.
            None => note.boot = String::new(),
        }
        let lock = Self { lock: Some(lock), wait: request.wait, note, boot: request.boot.clone() };
        lock.write();
        Ok(lock)
    }

    /// Lets other writers go on, until [`Self::take_again`].
    pub(crate) fn release(&mut self) {
        self.lock = None;
    }

    /// Takes the lock that was released, with what others noted meanwhile. False if another writer holds it for too long.
    pub(crate) fn take_again(&mut self, dir: &Dir) -> Result<bool> {
        let LockOutcome::Ours(lock) = FileLock::take(dir, LOCK, self.wait)? else { return Ok(false) };
        if let Some(before) = read_note(&lock.file) {
            self.note = WriterNote { writer: self.note.writer.clone(), ..before };
        }
        self.lock = Some(lock);
        self.write();
        Ok(true)
    }

    pub(crate) fn noted(&self) -> Noted {
        Noted { seq: self.note.seq, number: Number(self.note.number) }
    }

    /// The length of the log that the last writer noted, in bytes; 0 if unknown.
    pub(crate) fn log_len(&self) -> u64 {
        self.note.log_len
    }

    /// Whether the machine was restarted since all activity files were last checked.
    pub(crate) fn is_another_boot(&self) -> bool {
        self.note.boot != self.boot
    }

    /// Notes that all activity files were checked in this boot.
    pub(crate) fn note_boot(&mut self) {
        self.note.boot.clone_from(&self.boot);
        self.write();
    }

    /// Notes a position and a number that were used.
    pub(crate) fn note_counters(&mut self, seq: Seq, number: Number) {
        self.note.seq = self.note.seq.max(seq);
        self.note.number = self.note.number.max(number.0);
        self.write();
    }

    /// Notes the position and number of a commit, and the length of the log after it in bytes.
    pub(crate) fn note_commit(&mut self, seq: Seq, number: Number, len: u64) {
        self.note.log_len = len;
        self.note_counters(seq, number);
    }

    /// Forgets what was noted of the log, which another one replaces.
    pub(crate) fn forget_log(&mut self) {
        (self.note.seq, self.note.number, self.note.log_len) = (Seq(0), 0, 0);
        self.write();
    }

    /// Notes the length of the log, in bytes, after an append that is not flushed yet.
    pub(crate) fn note_len(&mut self, len: u64) {
        self.note.log_len = len;
        self.write();
    }

    /// Notes a position that was used or that `run.yaml` shows.
    pub(crate) fn note_seq(&mut self, seq: Seq) {
        self.note_counters(seq, Number(self.note.number));
    }

    /// Whether the log has to be copied to a new file before the next append.
    pub(crate) fn is_log_suspect(&self) -> bool {
        self.note.suspect
    }

    /// Notes whether the log is suspect: a flush of it failed or its end is being repaired, and no copy has been
    /// flushed since. Returns `false` if the note could not be written; unlike the other notes, callers must handle
    /// that. A power cut may lose the note, but it also drops the pages in memory that were in doubt.
    pub(crate) fn note_suspect(&mut self, suspect: bool) -> bool {
        self.note.suspect = suspect;
        self.write()
    }

    /// Returns `false` if the note could not be written. A full disk must not prevent a record, so most callers ignore
    /// that.
    fn write(&self) -> bool {
        let (Some(lock), Some(padded)) = (&self.lock, padded(&self.note)) else { return false };
        lock.file.write_at(&padded, 0) == Ok(padded.len())
    }
}

/// Who holds a lock that this process did not get. The note in it is that of the last writer, which may be over.
fn holder_of(file: &File) -> Option<Writer> {
    let writer = read_note(file)?.writer;
    let holds = match file.stat().ok().and_then(|stat| lock_holder(stat.inode)) {
        Some(holder) => holder == writer.pid,
        None => writer.pid != std::process::id() && is_running(writer.pid),
    };
    holds.then_some(writer)
}

fn padded(note: &WriterNote) -> Option<Vec<u8>> {
    let mut bytes = serde_json::to_vec(note).ok()?;
    // A note that is cut counts as none. A shorter one must leave nothing of a longer one.
    bytes.resize(NOTE_BYTES - 1, b' ');
    bytes.push(b'\n');
    Some(bytes)
}

/// The note of the last writer in the lock of `dir`, read without locking.
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
