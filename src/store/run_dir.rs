//! One run on disk: reading it without a lock, and the guard under which it is written.

use std::io;

use crate::codec::LogScan;
use crate::disk::{Dir, DiskError, Rename, read_exact_at};
use crate::model::{Event, Number, RunId, Seq, Timestamp, limits};
use crate::store::error::StoreError;
use crate::store::layout::{ACTIVITIES, EVIDENCE, LOCK, LOG, QUARANTINE, RUN_FILE};
use crate::store::log::{LogPosition, LogTail, scan};
use crate::store::log_file::{LockedLog, log_fault};
use crate::store::note::LockRequest;

/// The directory of a run.
#[derive(Debug)]
pub struct RunDir {
    pub(super) dir: Dir,
    /// The directory that its name is in.
    pub(super) runs: Dir,
    pub(super) id: RunId,
}

impl RunDir {
    /// The run.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Where it is, for messages.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// The path of one of its files, for messages.
    #[must_use]
    pub fn file_path(&self, name: &str) -> std::path::PathBuf {
        self.dir.join(name)
    }

    /// `run.yaml` alone; `None` when it is missing.
    ///
    /// # Errors
    /// [`StoreError`] when there is something that cannot be read as text.
    pub fn read_text(&self) -> Result<Option<String>, StoreError> {
        Ok(self.dir.read_text(RUN_FILE, limits::RUN_BYTES)?)
    }

    /// The log's end behind `since`; `None` without a log.
    ///
    /// # Errors
    /// [`StoreError`] when there is a log that cannot be read.
    pub fn read_tail(&self, since: Seq) -> Result<Option<LogTail>, StoreError> {
        let Some(file) = self.dir.open_read(LOG)? else {
            return Ok(None);
        };
        LogTail::read(&*file, since).map(Some).map_err(|source| self.log_fault("read", source))
    }

    /// The whole log; empty without one.
    ///
    /// # Errors
    /// [`StoreError`] when there is a log that cannot be read.
    pub fn read_log(&self) -> Result<LogScan, StoreError> {
        let Some(file) = self.dir.open_read(LOG)? else {
            return Ok(LogScan::default());
        };
        scan(&*file).map_err(|source| self.log_fault("read", source))
    }

    /// The whole lines of the log behind `position`, which moves on. Recovery and git put other files in the log's
    /// place: those are read from their beginning.
    ///
    /// # Errors
    /// [`StoreError`] when there is a log that cannot be read.
    pub fn read_log_from(&self, position: &mut LogPosition) -> Result<LogScan, StoreError> {
        let Some(file) = self.dir.open_read(LOG)? else {
            return Ok(LogScan::default());
        };
        position.read(&*file).map_err(|source| self.log_fault("read", source))
    }

    /// The first event of the log, which pins the workflow; `None` when it cannot be read.
    ///
    /// # Errors
    /// [`StoreError`] when there is a log that cannot be read.
    pub fn first_event(&self) -> Result<Option<Event>, StoreError> {
        let Some(file) = self.dir.open_read(LOG)? else {
            return Ok(None);
        };
        let mut window = limits::TAIL_BYTES;
        let first = loop {
            let mut head = vec![0; window];
            let len = file.read_at(&mut head, 0).map_err(|errno| self.log_fault("read", errno.into()))?;
            match head[..len].iter().position(|&byte| byte == b'\n') {
                Some(end) => break LogScan::parse(&head[..=end]).lines.pop().map(|line| line.event),
                None if len < window || window > limits::LINE_BYTES => break None,
                None => window *= 8,
            }
        };
        match first {
            Some(event) if event.seq == Seq(1) => Ok(Some(event)),
            // An unusual head, or a first line longer than the window.
            _ => {
                Ok(self.read_log()?.lines.into_iter().next().map(|line| line.event).filter(|first| first.seq == Seq(1)))
            }
        }
    }

    /// Names in `activities/` in the order of their numbers; empty without the directory.
    ///
    /// # Errors
    /// [`StoreError`] when there is a directory that cannot be read.
    pub fn activity_names(&self) -> Result<Vec<(Number, String)>, StoreError> {
        let Some(dir) = self.dir.find_dir(ACTIVITIES)? else {
            return Ok(Vec::new());
        };
        let numbered = |name: String| {
            let number: Number = name.split_once('-').filter(|_| name.ends_with(".yaml"))?.0.parse().ok()?;
            if number.0 > limits::COUNTER {
                return None;
            }
            Some((number, name))
        };
        let mut names: Vec<_> = dir.names()?.into_iter().filter_map(numbered).collect();
        names.sort();
        Ok(names)
    }

    /// An activity file's text; `None` when it is missing.
    ///
    /// # Errors
    /// [`StoreError`] when there is something that cannot be read as text.
    pub fn read_activity(&self, name: &str) -> Result<Option<String>, StoreError> {
        let Some(dir) = self.dir.find_dir(ACTIVITIES)? else {
            return Ok(None);
        };
        Ok(dir.read_text(name, limits::ACTIVITY_BYTES)?)
    }

    /// Whether nothing is left of the run but what flow keeps out of version control: a checkout of another branch, or a
    /// stash, took its files away.
    #[must_use]
    pub fn is_leftover(&self) -> bool {
        is_leftover(&self.dir)
    }

    /// Whether the log alone is missing.
    #[must_use]
    pub fn lacks_log(&self) -> bool {
        !self.dir.exists(LOG).unwrap_or(true) && self.dir.exists(RUN_FILE).unwrap_or(false)
    }

    /// Locks the run for writing and brings its log in order: what a dead writer left is removed or quarantined, and a
    /// torn tail is cut off. Projections are not touched yet; [`LockedRun::tail`] says what they lack.
    ///
    /// # Errors
    /// [`StoreError::Held`] when another process keeps the lock; others when files cannot be used.
    pub fn lock(&self, request: &LockRequest) -> Result<LockedRun<'_>, StoreError> {
        let log = LockedLog::take(&self.dir, request)?;
        let (activities, _) = self.dir.ensure_dir(ACTIVITIES)?;
        Ok(LockedRun { run: self, log, activities })
    }

    fn log_fault(&self, action: &'static str, source: io::Error) -> StoreError {
        log_fault(&self.dir, action, source)
    }
}

/// A run under its lock: the only way to write it.
#[derive(Debug)]
#[must_use]
pub struct LockedRun<'a> {
    pub(super) run: &'a RunDir,
    pub(super) log: LockedLog,
    pub(super) activities: Dir,
}

impl LockedRun<'_> {
    /// What went to quarantine since the last call, in words for people.
    #[must_use]
    pub fn take_notes(&self) -> Vec<String> {
        self.log.take_notes()
    }

    /// Whether the file of a recorded activity was lost in a power cut: missing, empty, or ending in zeros.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be looked at.
    pub fn is_lost(&self, name: &str) -> Result<bool, StoreError> {
        let Some((file, stat)) = self.activities.find_file(name)? else { return Ok(true) };
        let mut last = [0];
        if stat.len > 0 {
            let fault = |source| DiskError::Io { action: "read", path: self.activities.join(name), source };
            read_exact_at(&*file, &mut last, stat.len - 1).map_err(fault)?;
        }
        Ok(last == [0])
    }

    /// Whether the log is as the last writer here left it, so that what was checked then holds.
    #[must_use]
    pub fn is_log_as_left(&self) -> bool {
        self.log.tail.len > 0 && self.log.tail.len == self.log.lock.log_len()
    }

    /// The log's end.
    #[must_use]
    pub fn tail(&self) -> &LogTail {
        &self.log.tail
    }

    /// The path of `run.yaml`, for messages.
    #[must_use]
    pub fn run_file(&self) -> std::path::PathBuf {
        self.run.file_path(RUN_FILE)
    }

    /// The path of an activity file, for messages.
    #[must_use]
    pub fn activity_path(&self, name: &str) -> std::path::PathBuf {
        self.activities.join(name)
    }

    /// Reads the log's end again, behind another position.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn reread_tail(&mut self, since: Seq) -> Result<(), StoreError> {
        self.log.reread_tail(since)
    }

    /// The whole log.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn read_log(&self) -> Result<LogScan, StoreError> {
        self.log.read()
    }

    /// `run.yaml` as it is now.
    ///
    /// # Errors
    /// As [`RunDir::read_text`].
    pub fn read_text(&self) -> Result<Option<String>, StoreError> {
        self.run.read_text()
    }

    /// The highest position and number that any writer noted, also when the files show less.
    #[must_use]
    pub fn high_water(&self) -> (Seq, Number) {
        self.log.lock.high_water()
    }

    /// Whether a power cut may have taken activity files that were recorded a while ago: their bytes are not flushed by
    /// their commits, and only the newest one is looked at every time.
    #[must_use]
    pub fn may_lack_activities(&self) -> bool {
        self.log.lock.is_another_boot()
    }

    /// Notes that all activity files were looked at since the machine was started.
    pub fn note_activities_checked(&mut self) {
        self.log.lock.note_boot();
    }

    /// Whether the activity file name of this number is free.
    ///
    /// # Errors
    /// [`StoreError`] when the directory cannot be inspected.
    pub fn is_free(&self, name: &str) -> Result<bool, StoreError> {
        Ok(!self.activities.exists(name)?)
    }

    /// Moves a leftover beside `run.yaml` into quarantine; nothing of that name is fine.
    pub(super) fn set_aside(&self, name: &str, now: Timestamp) -> Result<(), StoreError> {
        if !self.run.dir.exists(name)? {
            return Ok(());
        }
        let (quarantine, _) = self.run.dir.ensure_dir(QUARANTINE)?;
        let free = quarantine.free_name(&format!("run-{}", now.compact()), ".yaml")?;
        self.run.dir.rename_into(name, &quarantine, &free, Rename::Replace)?;
        self.log.note("a text saved while run.yaml was being written", &quarantine, &free);
        Ok(())
    }
}

/// Whether a run's directory holds nothing that version control would know.
pub(super) fn is_leftover(run: &Dir) -> bool {
    if run.exists(RUN_FILE).unwrap_or(true) {
        return false;
    }
    let is_empty = |name: &str| {
        run.open_dir(name)
            .and_then(|dir| dir.names())
            .is_ok_and(|names| names.iter().all(|name| is_never_committed(name)))
    };
    let own =
        |name: &String| is_never_committed(name) || [ACTIVITIES, EVIDENCE].contains(&name.as_str()) && is_empty(name);
    // Without its lock where nothing was recorded in this checkout: then git leaves the empty directories.
    let is_trace = |name: &String| [LOCK, EVIDENCE].contains(&name.as_str());
    run.names().is_ok_and(|names| names.iter().any(is_trace) && names.iter().all(own))
}

/// Whether `.flow/.gitignore` keeps a name of a run out of version control.
fn is_never_committed(name: &str) -> bool {
    [LOCK, QUARANTINE].contains(&name) || name.starts_with('.') && name.ends_with(".tmp")
}
