//! The files of one run, read without a lock and without judging them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::codec::RunText;
use crate::disk::inspect::{Entry, FileKind, entries};
use crate::disk::{Disk, Links, USER, both, lock_holder, make_it_yours, owner_in_words, read_plain};
use crate::engine::{Fault, Reconciled, Repair, read_run, reconcile};
use crate::model::{Explain as _, Number, RunId, Seq};
use crate::store::local::layout::{ACTIVITIES, EVIDENCE, LOCK, LOG, QUARANTINE};
use crate::store::local::{RunDir, WriterNote};
use crate::store::{LogScan, Noted, StoreError, StoredRun as _};

/// The content of a file, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FileState<T> {
    Missing,
    Here(T),
    /// The file can be read, but not used: it is not UTF-8 text, for instance. Holds the reason.
    Unusable(String),
    /// The file could not be read, because of the disk or a permission, so its content is unknown. Holds the reason.
    Unread(String),
}

impl<T> FileState<T> {
    fn of(read: Result<Option<T>, StoreError>) -> Self {
        match read {
            Ok(Some(content)) => Self::Here(content),
            Ok(None) => Self::Missing,
            Err(error) if error.is_io() => Self::Unread(error.one_line()),
            Err(StoreError::LfsPointer { .. }) => Self::Unread(POINTER.to_owned()),
            Err(error) => Self::Unusable(error.one_line()),
        }
    }

    pub(super) fn here(&self) -> Option<&T> {
        match self {
            Self::Here(content) => Some(content),
            Self::Missing | Self::Unusable(_) | Self::Unread(_) => None,
        }
    }

    fn is_unread(&self) -> bool {
        matches!(self, Self::Unread(_))
    }
}

/// Everything on disk that belongs to a run.
#[derive(Debug)]
pub(super) struct RunFacts {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) id: RunId,
    pub(super) dir: PathBuf,
    /// What a record has to write and this caller may not.
    pub(super) unwritable: Vec<PathBuf>,
    pub(super) entries: Vec<Entry>,
    pub(super) activities: Vec<Entry>,
    pub(super) evidence: Vec<Entry>,
    pub(super) quarantined: Vec<Entry>,
    pub(super) text: FileState<String>,
    pub(super) log: FileState<Vec<u8>>,
    pub(super) scan: LogScan,
    /// Regular files in `activities/`.
    pub(super) files: BTreeMap<String, FileState<Vec<u8>>>,
    pub(super) note: Option<WriterNote>,
    /// The last event of the log in the checked-out commit, where nothing is noted and that log goes on behind this one.
    pub(super) committed: Option<Seq>,
    /// The process that holds the run's lock. It is alive, and may be in the middle of a commit.
    pub(super) writer: Option<u32>,
    /// Whether the run is a copy of one that several machines share.
    pub(super) is_copy: bool,
    /// Directories that cannot be read, and the reasons.
    pub(super) unreadable: Vec<(PathBuf, String)>,
}

/// That a file has none of its contents here.
pub(super) const POINTER: &str = "the file is a pointer of Git LFS; `git lfs pull` brings its contents";

/// How often a run that changes while it is read is read again, and the pause in between.
const TRIES: usize = 200;
const PAUSE: Duration = Duration::from_millis(10);
/// After this many identical reads, a writer that holds the lock is considered stopped or waiting.
const STILL: usize = 10;

/// From this many events or activities on, two threads share the work: for fewer, threads cost more than they save.
pub(super) const TWO_THREADS: usize = 1_000;

impl RunFacts {
    /// Reconciles the files with each other; also gives `run.yaml` as it was read.
    pub(super) fn reconcile(&self) -> (Reconciled, Option<RunText>) {
        let file = match &self.text {
            FileState::Here(text) => read_run(&self.id, Some(text.clone())),
            FileState::Missing => Ok(None),
            FileState::Unusable(_) | FileState::Unread(_) => Err(Fault::Unread),
        };
        let read = file.clone().unwrap_or_default();
        (reconcile(&self.id, file, &self.scan, self.noted().seq), read)
    }

    /// The highest event position and activity number that are known to have been given.
    pub(super) fn noted(&self) -> Noted {
        let (seq, number) = self.note.as_ref().map(|note| (note.seq, Number(note.number))).unwrap_or_default();
        Noted { seq: seq.max(self.committed.unwrap_or_default()), number }
    }

    /// Whether another program made the run, and flow has not written to it.
    pub(super) fn is_not_adopted(&self, found: &Reconciled) -> bool {
        found.repairs.contains(&Repair::AdoptRun) && self.scan.damaged().next().is_none()
    }

    /// Reads a run without asking who is writing to it; `None` if it changes meanwhile. A writer may have stopped between
    /// two files, so only facts that fit together are of use.
    ///
    /// To ask is slow: the kernel waits for a quiet moment before it lists the locks, as long as reading 200 files takes.
    pub(super) fn glance(disk: &Arc<dyn Disk>, run: &RunDir) -> Option<Self> {
        let facts = Self::read(disk, run, |_| None);
        if facts.is_picture(&**disk, run) { Some(facts) } else { None }
    }

    /// Reads a run. If the run changes meanwhile, reads it again.
    pub(super) fn gather(disk: &Arc<dyn Disk>, run: &RunDir) -> Self {
        let mut still = 0;
        for _ in 1..TRIES {
            let facts = Self::read(disk, run, lock_holder);
            let unchanged = facts.is_picture(&**disk, run);
            still = if unchanged { still + 1 } else { 0 };
            if unchanged && (facts.writer.is_none() || still == STILL) {
                return facts;
            }
            thread::sleep(PAUSE);
        }
        let mut facts = Self::read(disk, run, lock_holder);
        // The run changed during every read, so there is a writer, even if none holds the lock just now.
        if let (None, Some(note)) = (facts.writer, &facts.note) {
            facts.writer = Some(note.writer.pid);
        }
        facts
    }

    /// Whether the run's directories have not changed since they were read: every commit changes a name, a length or an
    /// inode.
    fn is_picture(&self, disk: &dyn Disk, run: &RunDir) -> bool {
        // `read` lists the directories before it reads any file.
        entries(disk, run.path()).unwrap_or_default() == self.entries
            && entries(disk, &run.path().join(ACTIVITIES)).unwrap_or_default() == self.activities
    }

    fn read(disk: &Arc<dyn Disk>, run: &RunDir, holder: impl Fn(u64) -> Option<u32>) -> Self {
        let mut unreadable = Vec::new();
        let dir = run.path().to_owned();
        let top = list(&**disk, dir.clone(), &mut unreadable);
        let activities = list(&**disk, dir.join(ACTIVITIES), &mut unreadable);
        let evidence = list(&**disk, dir.join(EVIDENCE), &mut unreadable);
        let quarantined = list(&**disk, dir.join(QUARANTINE), &mut unreadable);
        // A writer that has released the lock during its flush shares the log.
        let locks = top.iter().filter(|entry| [Some(LOCK), Some(LOG)].contains(&entry.text()));
        // The lock of a repair is the doctor's own.
        let writer = locks.filter_map(|lock| holder(lock.id.1)).find(|&pid| pid != std::process::id());
        // Every reader reads run.yaml before the log.
        let text = FileState::of(run.text());
        let ((log, scan), files) = if activities.len() < TWO_THREADS {
            (log_of(run), activity_files(run, &activities))
        } else {
            both(|| log_of(run), || activity_files(run, &activities))
        };
        Self {
            disk: Arc::clone(disk),
            id: run.id().clone(),
            unwritable: unwritable(&**disk, &dir, &top),
            dir,
            entries: top,
            activities,
            evidence,
            quarantined,
            text,
            log,
            scan,
            files,
            note: run.writer_note(),
            committed: None,
            writer,
            is_copy: false,
            unreadable,
        }
    }

    /// Whether something could not be read, so that what seems missing or damaged may be sound.
    pub(super) fn is_partial(&self) -> bool {
        let unread = self.text.is_unread() || self.log.is_unread() || self.files.values().any(FileState::is_unread);
        unread || !self.unreadable.is_empty()
    }

    /// Whether the directory `name` of the run could not be read: nothing that it should have is missing then.
    pub(super) fn is_unread(&self, name: &str) -> bool {
        let path = self.path(name);
        self.unreadable.iter().any(|(unread, _)| *unread == path)
    }

    /// The path of a file of the run.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The entry called `name` in the run's directory.
    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.text() == Some(name))
    }

    /// Whether the run's directory has a plain file called `name`.
    pub(super) fn has_file(&self, name: &str) -> bool {
        matches!(self.entry(name), Some(entry) if entry.kind == FileKind::File)
    }
}

fn log_of(run: &RunDir) -> (FileState<Vec<u8>>, LogScan) {
    let log = FileState::of(run.log_bytes());
    let scan = log.here().map(|bytes| LogScan::parse(bytes)).unwrap_or_default();
    (log, scan)
}

/// The regular files among the activities. Anything else under a name may block its reader, as a FIFO does.
fn activity_files(run: &RunDir, activities: &[Entry]) -> BTreeMap<String, FileState<Vec<u8>>> {
    let plain = activities.iter().filter(|entry| entry.kind == FileKind::File).filter_map(Entry::text);
    let files = run.activity_bytes(plain).into_iter();
    files.map(|(name, bytes)| (name.to_owned(), FileState::of(bytes))).collect()
}

/// The entries of a directory. If it cannot be read, it is noted as unreadable.
fn list(disk: &dyn Disk, path: PathBuf, unreadable: &mut Vec<(PathBuf, String)>) -> Vec<Entry> {
    match entries(disk, &path) {
        Ok(entries) => entries,
        Err(error) => {
            unreadable.push((path, error.to_string()));
            Vec::new()
        }
    }
}

/// More than a lock has, in bytes.
const LOCK_BYTES: usize = 4096;

/// What of the directory of a run, or of the modes, a writer has to write and this caller may not.
pub(super) fn unwritable(disk: &dyn Disk, dir: &Path, top: &[Entry]) -> Vec<PathBuf> {
    // Without it, nothing in it can be written either.
    if !disk.may_write(dir) {
        return vec![dir.to_owned()];
    }
    let mut paths = Vec::new();
    for entry in top {
        let is_needed = match (entry.text(), entry.kind) {
            (Some(LOG), FileKind::File) | (Some(ACTIVITIES), FileKind::Directory) => true,
            (Some(LOCK), FileKind::File) if !may_take(disk, entry) => {
                paths.push(entry.path.clone());
                continue;
            }
            _ => false,
        };
        if is_needed && !disk.may_write(&entry.path) {
            paths.push(entry.path.clone());
        }
    }
    paths
}

/// That something cannot be written, and what helps where it belongs to another user.
pub(super) fn unwritable_in_words(disk: &dyn Disk, path: &Path, what: &str) -> String {
    let message = format!("{what} cannot be written; commands that only read work");
    match disk.look(path, Links::Refuse) {
        Ok(stat) if stat.owner != *USER => {
            format!("{message}. It belongs to {}: {}", owner_in_words(stat.owner), make_it_yours(path))
        }
        _ => message,
    }
}

/// Whether this caller may take a lock.
pub(super) fn may_take(disk: &dyn Disk, lock: &Entry) -> bool {
    // That of another user is taken without a note in it.
    disk.may_write(&lock.path) || !lock.is_own() && read_plain(disk, &lock.path, LOCK_BYTES).is_ok()
}
