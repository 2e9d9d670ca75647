//! The lock of a run, and who holds it: `.lock`, which is never deleted, with a note of its last writer.

use std::time::Instant;

use crate::disk::{Dir, File, FileLock, Taken};
use crate::model::{Number, Seq, limits};
use crate::store::error::StoreError;
use crate::store::local::layout::LOCK;
use crate::store::local::note::WriterNote;
use crate::store::request::WriteRequest;

/// The held lock; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    lock: FileLock,
    note: WriterNote,
    /// This boot of the machine; empty where that cannot be told.
    boot: String,
}

const NOTE_BYTES: usize = 512;

impl Lock {
    /// Locks `dir`, waiting as `request` says.
    pub(crate) fn take(dir: &Dir, request: &WriteRequest) -> Result<Self, StoreError> {
        let started = Instant::now();
        let lock = match FileLock::take(dir, LOCK, request.wait)? {
            Taken::Ours(lock) => lock,
            Taken::Theirs(file) => {
                let holder = read_note(&file).map(|note| Box::new(note.writer));
                return Err(StoreError::Held { at: dir.join(LOCK).into(), holder, waited: started.elapsed() });
            }
        };
        let mut note = WriterNote::first(request);
        match read_note(&lock.file) {
            Some(before) => {
                let WriterNote { seq, number, boot, suspect, log_len, .. } = before;
                note = WriterNote { seq, number, boot, suspect, log_len, ..note };
            }
            None => note.boot = String::new(),
        }
        let lock = Self { lock, note, boot: request.boot.clone() };
        lock.write();
        Ok(lock)
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
        self.lock.file.write_at(padded.as_bytes(), 0) == Ok(padded.len())
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
