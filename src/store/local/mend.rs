//! What a repair does to files. It deletes nothing: a file that is in the way or is replaced is first moved or copied
//! to quarantine and flushed there.

use std::path::PathBuf;

use crate::disk::{Dir, DiskError, NEW_FILE, Rename, flush};
use crate::model::{RunId, Timestamp, limits};
use crate::store::error::Result;
use crate::store::local::layout::{ACTIVITIES, EVIDENCE, INIT_TMP, LOG, LOG_TMP, QUARANTINE, RUNS, SHARED};
use crate::store::local::lock::{Lock, note_of};
use crate::store::local::log::check;
use crate::store::local::note::WriterNote;
use crate::store::local::project::{Project, remove_all};
use crate::store::local::run_dir::{RunDir, contents};
use crate::store::request::WriteRequest;
use crate::store::run_store::Noted;

/// Which directory of a run or project a file is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DirLevel {
    /// In the directory itself.
    Top,
    /// In its `activities/`, or in the project's `runs/`.
    Inner,
}

/// The bytes of a file; `None` if it is missing.
pub type FileBytes = Result<Option<Vec<u8>>>;

/// How many bytes of a file's name its name in quarantine keeps; the time follows.
const STEM_BYTES: usize = 200;
/// How the name of a log in quarantine begins and ends; in between is the time.
const LOG_STEM: &str = "events-";
const LOG_ENDING: &str = ".jsonl";

impl RunDir {
    /// The bytes of the log, damaged or not; `None` if it is missing.
    ///
    /// # Errors
    /// [`StoreError`] when the log cannot be read.
    pub fn log_bytes(&self) -> Result<Option<Vec<u8>>> {
        self.read(|file| check(&**file))?;
        contents(&self.dir, LOG, self.dir.read(LOG, limits::LOG_BYTES)?)
    }

    /// The logs in the run's quarantine, the oldest first, each with its path.
    pub(in crate::store) fn logs_aside(&self) -> Result<Vec<(PathBuf, Vec<u8>)>> {
        let Some(quarantine) = self.dir.find_dir(QUARANTINE)? else { return Ok(Vec::new()) };
        let (mut names, mut logs) = (quarantine.names()?, Vec::new());
        names.retain(|name| name.starts_with(LOG_STEM) && name.ends_with(LOG_ENDING));
        names.sort();
        for name in names {
            if let Some(bytes) = quarantine.read(&name, limits::LOG_BYTES)? {
                logs.push((quarantine.join(&name), bytes));
            }
        }
        Ok(logs)
    }

    /// The bytes of activity files, damaged or not, each with the file's name.
    pub fn activity_bytes<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<(&'n str, FileBytes)> {
        let opened = self.dir.find_dir(ACTIVITIES);
        let mut files = Vec::new();
        for name in names {
            let bytes = match &opened {
                Ok(dir) => activity_bytes(dir.as_ref(), name),
                // Tried again, so that each file has an error of its own.
                Err(_) => match self.dir.find_dir(ACTIVITIES) {
                    Ok(dir) => activity_bytes(dir.as_ref(), name),
                    Err(error) => Err(error.into()),
                },
            };
            files.push((name, bytes));
        }
        files
    }

    /// The note that the last writer left in `.lock`.
    #[must_use]
    pub fn writer_note(&self) -> Option<WriterNote> {
        note_of(&self.dir)
    }

    /// Locks the run for repair. Opens no other file, because any of them may be damaged.
    ///
    /// # Errors
    /// As [`RunDir::lock`].
    pub fn lock_for_repair(&self, request: &WriteRequest) -> Result<RepairLock<'_>> {
        let lock = Lock::take(&self.dir, request)?;
        self.check_place()?;
        Ok(RepairLock { lock, run: self })
    }
}

fn activity_bytes(dir: Option<&Dir>, name: &str) -> FileBytes {
    let Some(dir) = dir else { return Ok(None) };
    // flow adds fields to a document, so that a file may be larger than the limit for documents that it accepts.
    contents(dir, name, dir.read(name, limits::ACTIVITY_BYTES * 2)?)
}

/// A locked run whose files may be damaged.
#[derive(Debug)]
#[must_use]
pub struct RepairLock<'a> {
    run: &'a RunDir,
    lock: Lock,
}

impl RepairLock<'_> {
    /// What writers noted.
    #[must_use]
    pub fn noted(&self) -> Noted {
        self.lock.noted()
    }

    /// Moves a file or directory of the run into the run's quarantine. Returns its name there.
    ///
    /// # Errors
    /// [`StoreError`]; the file then stays in its place.
    pub fn set_aside(&self, shelf: DirLevel, name: &str, now: Timestamp) -> Result<String> {
        let aside = match shelf {
            DirLevel::Top => set_aside(&self.run.dir, name, &self.run.dir, now),
            DirLevel::Inner => set_aside(&self.run.dir.open_dir(ACTIVITIES)?, name, &self.run.dir, now),
        };
        Ok(aside?)
    }

    /// Replaces the log by a copy of itself, so that a hard link elsewhere no longer shares its file.
    ///
    /// # Errors
    /// [`StoreError`]; the log is then unchanged.
    pub fn own_log(&self) -> Result<()> {
        let Some(bytes) = self.run.log_bytes()? else { return Ok(()) };
        Ok(self.put_log(&bytes)?)
    }

    /// Replaces the log. A copy of the old log goes to quarantine first; `bytes` gets the copy's name, if there was a
    /// log, and makes the new log. The last step is one rename, so that the run has either the old or the new log.
    ///
    /// # Errors
    /// [`StoreError`]; the log is then the old or the new one.
    pub fn replace_log(
        &mut self,
        bytes: impl FnOnce(Option<&str>) -> Vec<u8>,
        last: Noted,
        now: Timestamp,
    ) -> Result<Option<String>> {
        let kept = keep_copy(&self.run.dir, LOG, now)?;
        self.put_log(&bytes(kept.as_deref()))?;
        self.lock.note_counters(last.seq, last.number);
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

impl Project {
    /// Locks the project for repair. Until the lock is dropped, no run can be created.
    ///
    /// # Errors
    /// As for creating a run.
    pub fn lock_for_repair(&self, request: &WriteRequest) -> Result<ProjectMender<'_>> {
        Ok(ProjectMender { _lock: Lock::take(&self.flow, request)?, flow: &self.flow })
    }
}

/// A locked project.
#[derive(Debug)]
#[must_use]
pub struct ProjectMender<'a> {
    flow: &'a Dir,
    _lock: Lock,
}

impl ProjectMender<'_> {
    /// Moves a file or directory of `.flow` or its `runs/` into the project's quarantine. Returns its name there.
    ///
    /// # Errors
    /// [`StoreError`]; the file then stays in its place.
    pub fn set_aside(&self, shelf: DirLevel, name: &str, now: Timestamp) -> Result<String> {
        let aside = match shelf {
            DirLevel::Top => set_aside(self.flow, name, self.flow, now),
            DirLevel::Inner => set_aside(&self.flow.open_dir(RUNS)?, name, self.flow, now),
        };
        Ok(aside?)
    }

    /// Appends lines to a file of `.flow` and keeps its contents.
    ///
    /// # Errors
    /// [`StoreError`]; the file is then unchanged.
    pub fn add_lines(&self, name: &str, lines: &[String]) -> Result<()> {
        // As bytes: lines that are not text stay as they are.
        let mut text = self.flow.read(name, limits::PRUNED_BYTES)?.unwrap_or_default();
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        for line in lines {
            text.extend_from_slice(line.as_bytes());
            text.push(b'\n');
        }
        self.flow.remove(INIT_TMP)?;
        let new = self.flow.create(INIT_TMP, &text, self.flow.mode_of(name))?;
        flush(&*new, || self.flow.join(name))?;
        self.flow.rename(INIT_TMP, name, Rename::Replace)?;
        Ok(self.flow.sync()?)
    }
}

impl Project {
    /// Moves the copies of shared runs into quarantine. Returns where they are now.
    pub(in crate::store) fn set_copies_aside(&self, now: Timestamp) -> Result<PathBuf> {
        let name = set_aside(&self.flow, SHARED, &self.flow, now)?;
        Ok(self.path().join(QUARANTINE).join(name))
    }

    /// Moves a run into quarantine whose evidence goes to its copy.
    pub(in crate::store) fn set_run_aside(&self, id: &RunId, copy: &RunDir, now: Timestamp) -> Result<()> {
        let runs = self.flow.open_dir(RUNS)?;
        if let Some(dir) = runs.find_dir(id.as_str())?
            && dir.exists(EVIDENCE)?
            && copy.dir.ensure_dir(EVIDENCE)?.0.names()?.is_empty()
        {
            dir.rename_into(EVIDENCE, &copy.dir, EVIDENCE, Rename::Replace)?;
        }
        set_aside(&runs, id.as_str(), &self.flow, now)?;
        Ok(())
    }

    /// Removes the copy of a run that was never shared.
    pub(in crate::store) fn remove_copy(&self, id: &RunId) -> Result<()> {
        let runs = self.flow.open_dir(RUNS)?;
        if let Some(dir) = runs.find_dir(id.as_str())? {
            remove_all(&dir)?;
            runs.remove_dir(id.as_str())?;
        }
        Ok(())
    }
}

/// Moves `name` from `from` into the quarantine of `owner`. Only renames it, because it may be anything.
pub(super) fn set_aside(from: &Dir, name: &str, owner: &Dir, now: Timestamp) -> Result<String, DiskError> {
    let quarantine = quarantine(owner)?;
    let free = free_name_like(&quarantine, name, now)?;
    from.rename_into(name, &quarantine, &free, Rename::NoReplace)?;
    // The new name first: a power cut in between must not lose both.
    quarantine.sync()?;
    from.sync()?;
    Ok(free)
}

/// Copies the file `name` of `dir` into its quarantine and flushes the copy. Reuses an equal copy: a repair that was
/// killed after this step starts over.
pub(super) fn keep_copy(dir: &Dir, name: &str, now: Timestamp) -> Result<Option<String>, DiskError> {
    let Some(bytes) = dir.read(name, limits::LOG_BYTES)? else { return Ok(None) };
    let quarantine = quarantine(dir)?;
    let stem = name.split('.').next().unwrap_or(name);
    let mut names = quarantine.names()?;
    names.retain(|kept| kept.starts_with(stem));
    names.sort();
    for kept in names {
        if let Ok(Some(copy)) = quarantine.read(&kept, bytes.len())
            && copy == bytes
            && let Some(file) = quarantine.open_read(&kept)?
        {
            // The process that wrote the copy may have been killed before it flushed it.
            flush(&*file, || quarantine.join(&kept))?;
            quarantine.sync()?;
            return Ok(Some(kept));
        }
    }
    let free = free_name_like(&quarantine, name, now)?;
    let copy = quarantine.create(&free, &bytes, NEW_FILE)?;
    // After a failed flush a second one may succeed although the data is lost, so remove the copy; the original is in
    // place.
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

/// A free name in quarantine with the same beginning and extension as `name`.
fn free_name_like(quarantine: &Dir, name: &str, now: Timestamp) -> Result<String, DiskError> {
    let plain = name.trim_start_matches('.');
    let (stem, extension) = plain.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).unwrap_or((plain, ""));
    // A name may be as long as the file system allows, so the time has to find room in it.
    let stem = &stem[..stem.floor_char_boundary(STEM_BYTES)];
    let ending = if extension.is_empty() || extension.len() > 16 { String::new() } else { format!(".{extension}") };
    quarantine.free_name(&format!("{stem}-{}", now.compact()), &ending)
}
