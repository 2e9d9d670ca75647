//! What a repair does to files. Nothing is deleted: what is in the way, or is replaced, goes to quarantine first, and
//! is on stable storage there before its old name says something else.

use crate::disk::{Dir, DiskError, NEW_FILE, Rename, flush};
use crate::model::{Number, Seq, Timestamp, limits};
use crate::store::error::StoreError;
use crate::store::local::layout::{ACTIVITIES, INIT_TMP, LOG, LOG_TMP, QUARANTINE, RUNS};
use crate::store::local::lock::{Lock, note_of};
use crate::store::local::note::WriterNote;
use crate::store::local::project::Project;
use crate::store::local::run_dir::{LockedRun, RunDir};
use crate::store::request::WriteRequest;

/// Where a name stands that goes to quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    /// In the directory itself.
    Top,
    /// In its `activities/`, or in the project's `runs/`.
    Inner,
}

/// What a file holds; `None` when it is missing.
pub type FileBytes = Result<Option<Vec<u8>>, StoreError>;

/// Longest beginning of a name that is kept in quarantine, in bytes; the time goes behind it.
const STEM_BYTES: usize = 200;

impl RunDir {
    /// The log as it is, damaged or not; `None` when it is missing.
    ///
    /// # Errors
    /// [`StoreError`] when there is something that cannot be read.
    pub fn log_bytes(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.dir.read(LOG, limits::LOG_BYTES)?)
    }

    /// Activity files as they are, text or not, each with its name; `None` for one that is missing.
    pub fn activity_bytes<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<(&'n str, FileBytes)> {
        let open = || self.dir.find_dir(ACTIVITIES);
        // With everything that flow adds, a document may grow beyond its bound.
        let read = |dir: &Dir, name: &str| dir.read(name, limits::ACTIVITY_BYTES * 2);
        let opened = open();
        let bytes_of = |name| match &opened {
            Ok(Some(dir)) => read(dir, name),
            Ok(None) => Ok(None),
            Err(_) => open().and_then(|dir| dir.map_or(Ok(None), |dir| read(&dir, name))),
        };
        names.map(|name| (name, bytes_of(name).map_err(StoreError::from))).collect()
    }

    /// What the last writer left in `.lock`.
    #[must_use]
    pub fn writer_note(&self) -> Option<WriterNote> {
        note_of(&self.dir)
    }

    /// Locks the run for mending. No file is opened but the lock: each may be what has to be mended.
    ///
    /// # Errors
    /// As [`RunDir::lock`].
    pub fn lock_for_repair(&self, request: &WriteRequest) -> Result<Mender<'_>, StoreError> {
        Ok(Mender { lock: Lock::take(&self.dir, request)?, run: self })
    }
}

/// A run under its lock whose files cannot be trusted.
#[derive(Debug)]
#[must_use]
pub struct Mender<'a> {
    run: &'a RunDir,
    lock: Lock,
}

impl Mender<'_> {
    /// The highest position and number that any writer noted.
    #[must_use]
    pub fn high_water(&self) -> (Seq, Number) {
        self.lock.high_water()
    }

    /// Moves a name of the run into its quarantine, and gives its name there.
    ///
    /// # Errors
    /// [`StoreError`]; it stands where it stood then.
    pub fn set_aside(&self, shelf: Shelf, name: &str, now: Timestamp) -> Result<String, StoreError> {
        let aside = match shelf {
            Shelf::Top => set_aside(&self.run.dir, name, &self.run.dir, now),
            Shelf::Inner => set_aside(&self.run.dir.open_dir(ACTIVITIES)?, name, &self.run.dir, now),
        };
        Ok(aside?)
    }

    /// Gives the log a file of its own when another name elsewhere leads to the same one. The other name keeps it.
    ///
    /// # Errors
    /// [`StoreError`]; the log is as it was then.
    pub fn own_log(&self) -> Result<(), StoreError> {
        let Some(bytes) = self.run.log_bytes()? else { return Ok(()) };
        Ok(self.put_log(&bytes)?)
    }

    /// Puts `bytes` in the place of the log, whose old file is kept in quarantine under the name that is given to
    /// `bytes`. The last step is one rename: before it the run is as it was, behind it the log is the new one.
    ///
    /// # Errors
    /// [`StoreError`]; the log is as it was then, or the new one.
    pub fn replace_log(
        &mut self,
        bytes: impl FnOnce(Option<&str>) -> Vec<u8>,
        last: (Seq, Number),
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let kept = keep_copy(&self.run.dir, LOG, now)?;
        self.put_log(&bytes(kept.as_deref()))?;
        self.lock.note_counters(last.0, last.1);
        Ok(kept)
    }

    fn put_log(&self, bytes: &[u8]) -> Result<(), DiskError> {
        let dir = &self.run.dir;
        dir.remove(LOG_TMP)?;
        let new = dir.create(LOG_TMP, bytes, dir.mode_of(LOG))?;
        flush(&*new, || dir.join(LOG_TMP)).inspect_err(|_| drop(dir.remove(LOG_TMP)))?;
        dir.rename(LOG_TMP, LOG, Rename::Replace)?;
        dir.sync()
    }
}

impl LockedRun<'_> {
    /// Copies a file of the run into quarantine, unless an equal copy is there. Gives the copy's name; `None` when
    /// there is no such file.
    ///
    /// # Errors
    /// [`StoreError`] when the copy is not on stable storage.
    pub(super) fn keep_copy(&self, name: &str, now: Timestamp) -> Result<Option<String>, StoreError> {
        Ok(keep_copy(&self.run.dir, name, now)?)
    }

    /// Moves a file of `activities/` into quarantine, and gives its name there.
    ///
    /// # Errors
    /// [`StoreError`]; it stands where it stood then.
    pub(super) fn set_activity_aside(&self, name: &str, now: Timestamp) -> Result<String, StoreError> {
        Ok(set_aside(&self.activities, name, &self.run.dir, now)?)
    }
}

impl Project {
    /// Locks the project for mending, which keeps runs from being created meanwhile.
    ///
    /// # Errors
    /// As for creating a run.
    pub fn lock_for_repair(&self, request: &WriteRequest) -> Result<ProjectMender<'_>, StoreError> {
        Ok(ProjectMender { _lock: Lock::take(&self.flow, request)?, flow: &self.flow })
    }
}

/// A project under its lock.
#[derive(Debug)]
#[must_use]
pub struct ProjectMender<'a> {
    flow: &'a Dir,
    _lock: Lock,
}

impl ProjectMender<'_> {
    /// Moves a name of `.flow`, or of its `runs/`, into the project's quarantine, and gives its name there.
    ///
    /// # Errors
    /// [`StoreError`]; it stands where it stood then.
    pub fn set_aside(&self, shelf: Shelf, name: &str, now: Timestamp) -> Result<String, StoreError> {
        let aside = match shelf {
            Shelf::Top => set_aside(self.flow, name, self.flow, now),
            Shelf::Inner => set_aside(&self.flow.open_dir(RUNS)?, name, self.flow, now),
        };
        Ok(aside?)
    }

    /// Adds lines to a file of `.flow`; what is in it stays.
    ///
    /// # Errors
    /// [`StoreError`]; the file is as it was then.
    pub fn add_lines(&self, name: &str, lines: &[String]) -> Result<(), StoreError> {
        let mut text = self.flow.read_text(name, limits::JOURNAL_BYTES)?.unwrap_or_default();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        self.flow.remove(INIT_TMP)?;
        let new = self.flow.create(INIT_TMP, text.as_bytes(), self.flow.mode_of(name))?;
        flush(&*new, || self.flow.join(name))?;
        self.flow.rename(INIT_TMP, name, Rename::Replace)?;
        Ok(self.flow.sync()?)
    }
}

/// Moves `name` out of `from` into the quarantine of `owner`. A rename alone: whatever it is, it is not opened.
fn set_aside(from: &Dir, name: &str, owner: &Dir, now: Timestamp) -> Result<String, DiskError> {
    let quarantine = quarantine(owner)?;
    let free = free_name_like(&quarantine, name, now)?;
    from.rename_into(name, &quarantine, &free, Rename::NoReplace)?;
    quarantine.sync()?;
    from.sync()?;
    Ok(free)
}

/// Copies the file `name` of `dir` into its quarantine and flushes it. An equal copy is taken for this one: a repair
/// that died behind this step comes back.
fn keep_copy(dir: &Dir, name: &str, now: Timestamp) -> Result<Option<String>, DiskError> {
    let Some(bytes) = dir.read(name, limits::LOG_BYTES)? else { return Ok(None) };
    let quarantine = quarantine(dir)?;
    let stem = name.split('.').next().unwrap_or(name);
    let mut names = quarantine.names()?;
    names.sort();
    for kept in names.into_iter().filter(|kept| kept.starts_with(stem)) {
        if let Ok(Some(copy)) = quarantine.read(&kept, bytes.len())
            && copy == bytes
            && let Some(file) = quarantine.open_read(&kept)?
        {
            // Whoever wrote it may have died before flushing it.
            flush(&*file, || quarantine.join(&kept))?;
            quarantine.sync()?;
            return Ok(Some(kept));
        }
    }
    let free = free_name_like(&quarantine, name, now)?;
    let copy = quarantine.create(&free, &bytes, NEW_FILE)?;
    // Flushed once more, it may look safe without being so; the original is where it was.
    flush(&*copy, || quarantine.join(&free)).inspect_err(|_| drop(quarantine.remove(&free)))?;
    quarantine.sync()?;
    Ok(Some(free))
}

fn quarantine(owner: &Dir) -> Result<Dir, DiskError> {
    let (quarantine, made) = owner.ensure_dir(QUARANTINE)?;
    if made {
        owner.sync()?;
    }
    Ok(quarantine)
}

/// A free name that begins and ends as `name` does.
fn free_name_like(quarantine: &Dir, name: &str, now: Timestamp) -> Result<String, DiskError> {
    let plain = name.trim_start_matches('.');
    let (stem, extension) = plain.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).unwrap_or((plain, ""));
    let cut = (0..=STEM_BYTES.min(stem.len())).rev().find(|&at| stem.is_char_boundary(at)).unwrap_or(0);
    let ending = if extension.is_empty() || extension.len() > 16 { String::new() } else { format!(".{extension}") };
    quarantine.free_name(&format!("{}-{}", &stem[..cut], now.compact()), &ending)
}
