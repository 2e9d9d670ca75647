//! One run on disk: reads it without a lock, and locks it for writing.

use std::path::{Path, PathBuf};

use crate::codec::{LogEnd, LogScan, is_lfs_pointer};
use crate::disk::{Dir, DiskError, File, FilePart, FileType, Operation, Rename, read_exact_at};
use crate::model::{Event, Number, RunId, Seq, Timestamp, limits};
use crate::store::address::{Address, Document};
use crate::store::error::{Result, StoreError};
use crate::store::local::layout::{ACTIVITIES, EVIDENCE, LOCK, LOG, QUARANTINE, RUN_FILE};
use crate::store::local::lines::Read;
use crate::store::local::lock::note_of;
use crate::store::local::log::{LogTail, scan, scan_from};
use crate::store::local::log_file::{LockedLog, log_fault, unread};
use crate::store::request::WriteRequest;
use crate::store::run_store::{LogSinceCommit, ReadPosition, RunParts, RunWriter, StoredRun};

/// The directory of a run.
#[derive(Debug)]
pub struct RunDir {
    pub(super) dir: Dir,
    /// The directory that contains `dir`.
    pub(super) runs: Dir,
    pub(super) id: RunId,
}

impl RunDir {
    /// Its path, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The path of one of its files, for messages.
    #[must_use]
    pub fn file_path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Locks the run for writing and repairs the end of its log. The projections may still be behind the log;
    /// [`RunWriter::end`] has the events that they lack.
    ///
    /// # Errors
    /// [`StoreError::Held`] when another process holds the lock for too long; others when files cannot be used.
    pub fn lock(&self, request: &WriteRequest) -> Result<LockedRun<'_>> {
        let log = LockedLog::take(&self.dir, request)?;
        self.check_place()?;
        let (activities, _) = self.dir.ensure_dir(ACTIVITIES)?;
        Ok(LockedRun { run: self, log, activities })
    }

    /// Fails with [`StoreError::Replaced`] if the run was moved away, or another directory took its place, before it was locked.
    pub(super) fn check_place(&self) -> Result<()> {
        match self.runs.look(self.id.as_str()) {
            Ok(there) if there.is_same(&self.dir.stat()?) => return Ok(()),
            Err(error) if !error.is_not_found() => return Err(error.into()),
            Ok(_) | Err(_) => {}
        }
        Err(StoreError::Replaced { at: self.path().into() })
    }

    /// The log's end with the events after `since`, and its place in the file; `None` without a log.
    ///
    /// # Errors
    /// [`StoreError`] when there is a log that cannot be read.
    pub fn tail(&self, since: Seq) -> Result<Option<LogTail>> {
        self.read(|file| LogTail::read(&**file, since))
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&File) -> Read<T>) -> Result<Option<T>> {
        let Some(file) = self.dir.open_read(LOG)? else { return Ok(None) };
        read(&file).map(Some).map_err(|fault| unread(&self.dir, fault))
    }
}

impl StoredRun for RunDir {
    fn id(&self) -> &RunId {
        &self.id
    }

    fn address(&self, document: Document<'_>) -> Address {
        match document {
            Document::Run => self.path().into(),
            Document::Text => self.file_path(RUN_FILE).into(),
            Document::Log => self.file_path(LOG).into(),
            Document::Activity(name) => self.file_path(ACTIVITIES).join(name).into(),
        }
    }

    fn parts(&self) -> RunParts {
        if is_leftover(&self.dir) {
            return RunParts::Away;
        }
        if is_emptied_run(&self.dir) {
            return RunParts::Emptied;
        }
        if self.dir.exists(LOG).unwrap_or(true) {
            return RunParts::Whole;
        }
        if self.dir.exists(RUN_FILE).unwrap_or(true) { RunParts::WithoutLog } else { RunParts::Nothing }
    }

    fn noted(&self) -> Seq {
        note_of(&self.dir).map(|note| note.seq).unwrap_or_default()
    }

    fn log_since_commit(&self) -> LogSinceCommit {
        let noted = note_of(&self.dir).map(|note| note.log_len).unwrap_or_default();
        match self.dir.look(LOG) {
            Ok(log) if noted > 0 && log.len != noted => LogSinceCommit::Changed,
            Ok(_) if noted > 0 => LogSinceCommit::Same,
            _ => LogSinceCommit::Unknown,
        }
    }

    fn text(&self) -> Result<Option<String>> {
        contents(&self.dir, RUN_FILE, self.dir.read_text(RUN_FILE, limits::RUN_BYTES)?)
    }

    fn log(&self) -> Result<LogScan> {
        Ok(self.read(|file| scan(&**file))?.unwrap_or_default())
    }

    fn end(&self, since: Seq) -> Result<Option<LogEnd>> {
        Ok(self.tail(since)?.map(|tail| tail.end))
    }

    fn orderly_end(&self, since: Seq) -> Result<Option<LogEnd>> {
        let tail = self.read(|file| LogTail::orderly(&**file, since))?.flatten();
        Ok(tail.map(|tail| tail.end))
    }

    fn log_from(&self, position: &mut ReadPosition, after: Seq) -> Result<LogScan> {
        Ok(self.read(|file| scan_from(&**file, position, after))?.unwrap_or_default())
    }

    fn first_event(&self) -> Result<Option<Event>> {
        let Some(file) = self.dir.open_read(LOG)? else { return Ok(None) };
        let mut window = limits::TAIL_BYTES;
        let first = loop {
            let mut head = vec![0; window];
            let len = file.read_at(&mut head, 0).map_err(|errno| log_fault(&self.dir, Operation::Read, errno))?;
            match head[..len].iter().position(|&byte| byte == b'\n') {
                Some(end) => break LogScan::parse(&head[..=end]).lines.pop().map(|line| line.event),
                None if len < window || window > limits::LINE_BYTES => break None,
                None => window = (window * 8).min(limits::LINE_BYTES + 1),
            }
        };
        match first {
            Some(event) if event.seq == Seq(1) => Ok(Some(event)),
            // The first line is unusual or longer than the window.
            _ => Ok(self.log()?.events().next().filter(|first| first.seq == Seq(1)).cloned()),
        }
    }

    fn activity_names(&self) -> Result<Vec<(Number, String)>> {
        let Some(dir) = self.dir.find_dir(ACTIVITIES)? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for name in dir.names()? {
            if let Some(number) = Number::of_file(&name) {
                names.push((number, name));
            }
        }
        names.sort();
        Ok(names)
    }

    fn activity(&self, name: &str) -> Result<Option<String>> {
        let Some(dir) = self.dir.find_dir(ACTIVITIES)? else { return Ok(None) };
        contents(&dir, name, dir.read_text(name, limits::ACTIVITY_BYTES)?)
    }

    fn evidence(&self) -> Result<Vec<(String, u64)>> {
        let Some(dir) = self.dir.find_dir(EVIDENCE)? else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        for name in dir.names()? {
            if let Ok(stat) = dir.look(&name)
                && stat.kind == FileType::RegularFile
            {
                files.push((name, stat.len));
            }
        }
        files.sort();
        Ok(files)
    }

    fn read_evidence(&self, name: &str, offset: u64, limit: usize) -> Result<Option<FilePart>> {
        // One name: anything else could lead out of the directory.
        let is_one = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
        if !is_one || name.len() > limits::NAME_BYTES {
            return Ok(None);
        }
        match self.dir.find_dir(EVIDENCE)? {
            Some(dir) => Ok(dir.read_part(name, offset, limit)?),
            None => Ok(None),
        }
    }

    fn begin(&self, request: &WriteRequest) -> Result<Box<dyn RunWriter + '_>> {
        Ok(Box::new(self.lock(request)?))
    }
}

/// A locked run, the only way to write one.
#[derive(Debug)]
#[must_use]
pub struct LockedRun<'a> {
    pub(super) run: &'a RunDir,
    pub(super) log: LockedLog,
    pub(super) activities: Dir,
}

impl LockedRun<'_> {
    /// Whether a power cut lost the file of a recorded activity: it is missing, empty, or ends in a zero byte.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be read.
    pub(super) fn is_lost(&self, name: &str) -> Result<bool> {
        let Some((file, stat)) = self.activities.find_file(name)? else { return Ok(true) };
        let mut last = [0];
        if stat.len > 0 {
            read_exact_at(&*file, &mut last, stat.len - 1)
                .map_err(|error| DiskError::io(Operation::Read, self.activities.join(name), error))?;
        }
        Ok(last == [0])
    }

    /// Moves a leftover beside `run.yaml` into quarantine, if it exists.
    pub(super) fn set_text_aside(&self, name: &str, now: Timestamp) -> Result<()> {
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

/// What was read of a file, unless Git LFS has its contents.
pub(super) fn contents<T: AsRef<[u8]>>(dir: &Dir, name: &str, read: Option<T>) -> Result<Option<T>> {
    match read {
        Some(bytes) if is_lfs_pointer(bytes.as_ref()) => Err(StoreError::LfsPointer { at: dir.join(name).into() }),
        read => Ok(read),
    }
}

/// Whether a run's directory has only files that git ignores.
pub(super) fn is_leftover(run: &Dir) -> bool {
    if run.exists(RUN_FILE).unwrap_or(true) {
        return false;
    }
    let Ok(names) = run.names() else { return false };
    // A run in which this checkout recorded nothing has no lock: git then leaves the empty directories.
    let has_trace = names.iter().any(|name| [LOCK, EVIDENCE].contains(&name.as_str()));
    has_trace && names.iter().all(|name| is_never_committed(name) || is_emptied(run, name))
}

/// Whether a run's directory has only files that git ignores, or of which it does not know.
pub(super) fn is_left_behind(run: &Dir) -> bool {
    is_leftover(run) || is_emptied_run(run)
}

/// Whether a run's directory has neither `run.yaml` nor the log, and other files. What cannot be looked at may be there.
fn is_emptied_run(run: &Dir) -> bool {
    let lacks_both = !run.exists(RUN_FILE).unwrap_or(true) && !run.exists(LOG).unwrap_or(true);
    lacks_both && run.names().is_ok_and(|names| names.iter().any(|name| !is_emptied(run, name)))
}

/// Whether `name` is a directory of a run from which git removed all files.
fn is_emptied(run: &Dir, name: &str) -> bool {
    if ![ACTIVITIES, EVIDENCE].contains(&name) {
        return false;
    }
    let names = run.open_dir(name).and_then(|dir| dir.names());
    names.is_ok_and(|names| names.iter().all(|name| is_never_committed(name)))
}

/// Whether `.flow/.gitignore` keeps a name of a run out of version control.
fn is_never_committed(name: &str) -> bool {
    [LOCK, QUARANTINE].contains(&name) || name.starts_with('.') && name.ends_with(".tmp")
}
