//! A project's `.flow`: finds it, creates it, and recognises another program's.

use std::cell::LazyCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::codec::LINE_START;
use crate::disk::{
    Dir, Disk, DiskError, Errno, FileType, Hazard, Links, NEW_FILE, Operation, Rename, Trust, flush, replace_unflushed,
};
use crate::model::{RunId, limits};
use crate::store::error::{Result, StoreError};
use crate::store::local::layout::{
    ACTIVITIES, CACHE, EVIDENCE, FLOW, GITATTRIBUTES, GITATTRIBUTES_FILE, GITIGNORE, GITIGNORE_FILE, INIT_TMP, LOCK,
    LOG, NEW_RUN, OUT_OF_LFS, OWN_NAMES, RUN_FILE, RUNS, SCHEMAS, SHARED, WORKFLOWS,
};
use crate::store::local::lock::Lock;
use crate::store::local::run_dir::{RunDir, is_left_behind, is_leftover};
use crate::store::request::WriteRequest;
use crate::store::run_store::RunStore;

/// A project with a `.flow` directory that belongs to flow.
#[derive(Debug, Clone)]
pub struct Project {
    pub(crate) flow: Dir,
    /// Whether its `.gitignore` contains [`MARK`].
    is_marked: bool,
    /// The store of its runs, if they are not in `.flow`.
    elsewhere: Option<Arc<dyn RunStore>>,
}

/// The result of `init`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitOutcome {
    /// The `.flow` directory.
    pub path: PathBuf,
    /// Names that were created in it; empty when nothing was missing.
    pub created: Vec<String>,
}

/// The text in `.gitignore` by which flow recognises its own `.flow`.
const MARK: &str = "# Written by flow";
/// The `.gitignore` of the copies of shared runs.
const IGNORE_COPIES: &str = "# Written by flow: copies of runs that several machines share.\n*\n";
/// How many runs to inspect to decide whether a `.flow` without [`MARK`] is flow's.
const RUNS_LOOKED_AT: usize = 20;

/// Whether the run in this directory is one of flow's by its own words.
fn says_that_it_is_flows(run: &Dir) -> bool {
    if let Ok(Some(text)) = run.read_text(RUN_FILE, limits::RUN_BYTES) {
        return text.contains("apiVersion: flow.synapti.ai/");
    }
    let log = run.read_part(LOG, 0, LINE_START.len());
    matches!(log, Ok(Some(part)) if part.bytes == LINE_START.as_bytes())
}

/// Whether the file of this name in `.flow` contains [`MARK`].
fn has_mark(flow: &Dir, name: &str) -> bool {
    let text = flow.read_text(name, limits::JOURNAL_BYTES);
    matches!(text, Ok(Some(text)) if text.contains(MARK))
}

impl Project {
    /// The lines of `.flow/.gitattributes` that keep runs out of Git LFS.
    pub const OUT_OF_LFS: &str = OUT_OF_LFS;

    /// The directory that holds the `.flow` nearest to `start`: `start` or a directory above it, up to the one that
    /// `top` returns. `top` is called only when `start` itself has no `.flow`.
    ///
    /// # Errors
    /// [`DiskError::Io`] when a directory cannot be inspected: a project that cannot be read must not count as absent.
    pub fn find(disk: &dyn Disk, start: &Path, top: impl FnOnce() -> Option<PathBuf>) -> Result<Option<PathBuf>> {
        let top = LazyCell::new(top);
        for dir in start.ancestors() {
            let path = dir.join(FLOW);
            match disk.look(&path, Links::Refuse) {
                Ok(_) => return Ok(Some(dir.to_owned())),
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(errno) => return Err(DiskError::io(Operation::Inspect, path, errno).into()),
            }
            if top.as_deref() == Some(dir) {
                break;
            }
        }
        Ok(None)
    }

    /// Where the `.flow` in `parent` is or would be.
    #[must_use]
    pub fn path_in(parent: &Path) -> PathBuf {
        parent.join(FLOW)
    }

    /// The path of a run's files, whether or not they exist, for programs that work with them. `flow` is a `.flow`
    /// directory.
    #[must_use]
    pub fn path_of_run(flow: &Path, id: &RunId) -> PathBuf {
        flow.join(RUNS).join(id.as_str())
    }

    /// Whether a path leads into a `.flow`. Ignores case, as some file systems do.
    #[must_use]
    pub fn is_inside(path: &Path) -> bool {
        path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(FLOW))
    }

    /// Opens the `.flow` in `parent`.
    ///
    /// # Errors
    /// [`DiskError::NotFound`] if there is none, [`StoreError::Foreign`] if it belongs to another program, and
    /// [`DiskError::Unsafe`] if it is not a plain directory of this user.
    pub fn open(disk: &dyn Disk, parent: &Path, trust: Trust) -> Result<Self> {
        Self::open_named(disk, &Self::path_in(parent), trust)
    }

    /// Opens a `.flow` directory by its own path, `flow`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_named(disk: &dyn Disk, flow: &Path, trust: Trust) -> Result<Self> {
        let (parent, name) = split(flow)?;
        Self::open_flow(&Dir::open_path(disk, &parent, trust)?, &name)
    }

    fn open_flow(parent: &Dir, name: &str) -> Result<Self> {
        let flow = parent.open_dir(name)?;
        let is_marked = has_mark(&flow, GITIGNORE_FILE);
        let project = Self { flow, is_marked, elsewhere: None };
        match project.foreign()? {
            Some(evidence) => Err(StoreError::Foreign { path: project.path().to_owned(), evidence }),
            None => Ok(project),
        }
    }

    /// Creates the `.flow` directory `flow`, or completes an existing one. Names in it that are `left_out` are not made: a
    /// sparse checkout leaves them out, and git has them.
    ///
    /// # Errors
    /// As [`Self::open`], and when something cannot be created. Nothing is written into another program's `.flow`.
    pub fn init(
        disk: &dyn Disk,
        flow: &Path,
        trust: Trust,
        schemas: &[(&str, &str)],
        left_out: &[&str],
        request: &WriteRequest,
    ) -> Result<(Self, InitOutcome)> {
        let (parent, name) = split(flow)?;
        let parent = Dir::open_path(disk, &parent, trust)?;
        if parent.find_dir(&name)?.is_none() {
            parent.refuse_to_root()?;
        }
        parent.ensure_dir(&name)?;
        let project = Self::open_flow(&parent, &name)?;
        let created = project.complete(schemas, left_out, request)?;
        // Flush even if the directory existed: the process that made it may have been killed before its flush.
        parent.sync()?;
        Ok((project, InitOutcome { path: parent.join(&name), created }))
    }

    /// The directory in which the carrier of shared runs can keep what it needs. Everything in it can be lost.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn cache_of_carrier(&self) -> Result<PathBuf> {
        Ok(self.copies()?.cache()?.path().to_owned())
    }

    /// The project in it that has the copies of shared runs, which is made if it is missing. git never sees it.
    pub(in crate::store) fn copies(&self) -> Result<Self> {
        let (copies, _) = self.flow.ensure_dir(SHARED)?;
        if !copies.holds(GITIGNORE_FILE, IGNORE_COPIES.as_bytes())? {
            replace_unflushed(&copies, GITIGNORE_FILE, IGNORE_COPIES)?;
        }
        Self::open_flow(&self.flow, SHARED)
    }

    /// The directory of a run, made if it is missing. Nothing is flushed.
    pub(in crate::store) fn make_run_dir(&self, id: &RunId) -> Result<RunDir> {
        let (runs, _) = self.flow.ensure_dir(RUNS)?;
        let (dir, _) = runs.ensure_dir(id.as_str())?;
        dir.ensure_dir(ACTIVITIES)?;
        dir.ensure_dir(EVIDENCE)?;
        Ok(RunDir { dir, runs, id: id.clone() })
    }

    /// Creates what is missing, and returns the names.
    fn complete(&self, schemas: &[(&str, &str)], left_out: &[&str], request: &WriteRequest) -> Result<Vec<String>> {
        let mut created = Vec::new();
        let wanted: &[&str] = if schemas.is_empty() { &[RUNS, WORKFLOWS] } else { &[RUNS, WORKFLOWS, SCHEMAS] };
        for dir in wanted.iter().copied() {
            if self.flow.ensure_dir(dir)?.1 {
                created.push(format!("{dir}/"));
            }
        }
        if self.outdated(schemas, left_out)?.is_empty() && created.is_empty() {
            return Ok(created);
        }
        // Two first commands at once must not use one temporary file. Look again under the lock: the other one may be
        // done.
        let _lock = Lock::take(&self.flow, request)?;
        for (dir, name, text) in self.outdated(schemas, left_out)? {
            let into = self.flow.open_dir(dir)?;
            put(&into, name, text)?;
            // Otherwise a power cut could restore the temporary name, which only another `init` removes.
            into.sync()?;
            created.push(if dir == "." { name.to_owned() } else { format!("{dir}/{name}") });
        }
        self.flow.sync()?;
        Ok(created)
    }

    /// Files that are missing or empty, and schemas of another version. A writer that died leaves an empty file.
    fn outdated<'a>(
        &self,
        schemas: &[(&'a str, &'a str)],
        left_out: &[&str],
    ) -> Result<Vec<(&'a str, &'a str, &'a str)>, DiskError> {
        let mut outdated = Vec::new();
        for (name, text) in schemas {
            let dir = self.flow.open_dir(SCHEMAS)?;
            // Schemas describe the documents of this version of the program.
            if dir.read(name, limits::WORKFLOW_BYTES)?.as_deref() != Some(text.as_bytes()) {
                outdated.push((SCHEMAS, *name, *text));
            }
        }
        for (name, text) in [(GITATTRIBUTES_FILE, GITATTRIBUTES), (GITIGNORE_FILE, GITIGNORE)] {
            if !left_out.contains(&name)
                && self.flow.read(name, limits::JOURNAL_BYTES)?.is_none_or(|bytes| bytes.is_empty())
            {
                outdated.push((".", name, text));
            }
        }
        Ok(outdated)
    }

    /// Removes `.flow` if nothing is in it but what [`Self::init`] puts there, locks and caches. Whether it did.
    ///
    /// # Errors
    /// When it cannot be read, or something in it cannot be removed.
    pub fn remove_unused(&self, disk: &dyn Disk, schemas: &[(&str, &str)]) -> Result<bool> {
        let beside_lfs = [GITATTRIBUTES, OUT_OF_LFS].concat();
        let files = [
            (GITATTRIBUTES_FILE, GITATTRIBUTES),
            (GITATTRIBUTES_FILE, beside_lfs.as_str()),
            (GITIGNORE_FILE, GITIGNORE),
        ];
        for name in self.flow.names()? {
            let is_unused = match name.as_str() {
                RUNS | WORKFLOWS => self.flow.open_dir(&name)?.names()?.is_empty(),
                SCHEMAS => {
                    let dir = self.flow.open_dir(&name)?;
                    dir.names()?.iter().all(|name| is_one_of(schemas, &dir, name))
                }
                LOCK | CACHE => true,
                name => is_one_of(&files, &self.flow, name),
            };
            if !is_unused {
                return Ok(false);
            }
        }
        // A directory with something in it is not removed: a run that begins just now keeps its place.
        for dir in [RUNS, WORKFLOWS] {
            if let Err(error) = self.flow.remove_dir(dir)
                && !error.is_not_found()
            {
                return Ok(false);
            }
        }
        // What is left can be made again by `init`.
        remove_all(&self.flow)?;
        let (parent, name) = split(self.path())?;
        Dir::open_path(disk, &parent, self.trust())?.remove_dir(&name)?;
        Ok(true)
    }

    /// Completes a `.flow` without flow's `.gitignore`, as another program or a clone makes it: locks must stay out of
    /// git. Writers call this before they take a lock.
    ///
    /// # Errors
    /// As [`Self::init`].
    pub fn keep_out_of_git(&self, left_out: &[&str], request: &WriteRequest) -> Result<()> {
        if !self.is_marked {
            self.complete(&[], left_out, request)?;
        }
        Ok(())
    }

    /// Whether `.flow` has flow's `.gitignore`.
    #[must_use]
    pub fn is_kept_out_of_git(&self) -> bool {
        self.is_marked
    }

    /// The same project with its runs in another store.
    #[must_use]
    pub fn with_runs_in(self, store: Arc<dyn RunStore>) -> Self {
        Self { elsewhere: Some(store), ..self }
    }

    /// The store of its runs.
    #[must_use]
    pub fn runs(&self) -> &dyn RunStore {
        self.elsewhere.as_deref().unwrap_or(self)
    }

    /// Whose files may be used.
    #[must_use]
    pub fn trust(&self) -> Trust {
        self.flow.trust()
    }

    /// The path of `.flow`, for messages and for reading definitions.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.flow.path()
    }

    /// The directory that holds `.flow`.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.path().parent().unwrap_or(Path::new("."))
    }

    /// `path` relative to the project, if it is inside; otherwise `path`.
    #[must_use]
    pub fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.root()).unwrap_or(path).to_owned()
    }

    /// The names in `.flow` that may be flow's, if others stand beside them; `None` if all that is there is flow's.
    #[must_use]
    pub fn own_names(&self) -> Option<Vec<String>> {
        let (mut own, mut has_other) = (OWN_NAMES.map(str::to_owned).to_vec(), false);
        for name in self.flow.names().unwrap_or_default() {
            if OWN_NAMES.contains(&name.as_str()) {
                continue;
            }
            // Temporary files of flow begin with a dot.
            if name.starts_with('.') {
                own.push(name);
            } else {
                has_other = true;
            }
        }
        has_other.then_some(own)
    }

    /// Whether it has flow's mark, as what [`Self::init`] makes and a clone of it.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        // A clone has the file that is committed alone.
        self.is_marked || has_mark(&self.flow, GITATTRIBUTES_FILE)
    }

    /// A name in `.flow` that shows that the directory is another program's; `None` if it is flow's.
    fn foreign(&self) -> Result<Option<String>, DiskError> {
        if self.is_marked() {
            return Ok(None);
        }
        let mut names = self.flow.names()?.into_iter();
        let mut first = names.find(|name| !OWN_NAMES.contains(&name.as_str()) && !name.starts_with(NEW_RUN));
        let has_other = first.is_some();
        let Some(runs) = self.flow.find_dir(RUNS)? else { return Ok(first) };
        let mut looked_at = 0;
        for name in runs.names()? {
            if looked_at == RUNS_LOOKED_AT {
                break;
            }
            // A checkout of another branch leaves parts of a run's directory behind; they are flow's as well.
            if name.starts_with('.') || runs.open_dir(&name).is_ok_and(|run| is_leftover(&run)) {
                continue;
            }
            looked_at += 1;
            let is_run = match runs.open_dir(&name) {
                Err(_) => false,
                // People put files of their own beside runs. Then names alone do not show whose the runs are.
                Ok(run) if has_other => says_that_it_is_flows(&run),
                Ok(run) => {
                    run.exists(RUN_FILE).unwrap_or(false)
                        || run.exists(ACTIVITIES).unwrap_or(false)
                        || says_that_it_is_flows(&run)
                }
            };
            if is_run {
                return Ok(None);
            }
            first = first.or_else(|| Some(format!("{RUNS}/{name}")));
        }
        Ok(first)
    }

    /// Whether `.flow` has only files that git does not know: a checkout of a branch without `.flow` removed the others.
    #[must_use]
    pub fn is_leftover(&self) -> bool {
        // Where one of them cannot be looked at, it may be there.
        if self.flow.exists(GITATTRIBUTES_FILE).unwrap_or(true) || self.flow.exists(SCHEMAS).unwrap_or(true) {
            return false;
        }
        let Ok(Some(runs)) = self.flow.find_dir(RUNS) else { return false };
        let names = runs.names().unwrap_or_default();
        !names.is_empty() && names.iter().all(|name| runs.open_dir(name).is_ok_and(|run| is_left_behind(&run)))
    }

    /// Opens a run.
    ///
    /// # Errors
    /// [`DiskError::NotFound`] if the directory does not exist, others if it cannot be used.
    pub fn run(&self, id: &RunId) -> Result<RunDir> {
        let Some(runs) = self.flow.find_dir(RUNS)? else {
            return Err(DiskError::NotFound { path: self.flow.join(RUNS).join(id.as_str()) }.into());
        };
        Ok(RunDir { dir: runs.open_dir(id.as_str())?, runs, id: id.clone() })
    }

    /// Calls `visit` with those of the given runs that exist, opened or with the error of opening it, in no particular order.
    ///
    /// # Errors
    /// [`StoreError`] when the directory of runs cannot be read. The error of a single run goes to `visit`.
    pub fn each_of(&self, ids: &[RunId], mut visit: impl FnMut(&RunId, Result<RunDir>)) -> Result<()> {
        let Some(runs) = self.flow.find_dir(RUNS)? else { return Ok(()) };
        for id in ids {
            match runs.open_dir(id.as_str()) {
                Ok(dir) => visit(id, Ok(RunDir { dir, runs: runs.clone(), id: id.clone() })),
                // Plain files are not runs.
                Err(DiskError::Unsafe { hazard: Hazard::File, .. }) => {}
                Err(error) if error.is_not_found() => {}
                Err(error) => visit(id, Err(error.into())),
            }
        }
        Ok(())
    }

    /// The ids of the runs, without the names of plain files.
    pub(in crate::store) fn run_dirs(&self) -> Result<Vec<RunId>> {
        let Some(runs) = self.flow.find_dir(RUNS)? else { return Ok(Vec::new()) };
        let mut ids = Vec::new();
        runs.entries(|name, kind| {
            if kind == FileType::Directory {
                ids.extend(RunId::new(name).ok());
            }
        })?;
        Ok(ids)
    }

    /// The ids of all runs, in no particular order.
    ///
    /// # Errors
    /// [`StoreError`] when the directory of runs cannot be read.
    pub fn run_ids(&self) -> Result<Vec<RunId>> {
        let Some(runs) = self.flow.find_dir(RUNS)? else { return Ok(Vec::new()) };
        // Names with a dot are runs that are being created; they are not valid ids.
        Ok(runs.names()?.into_iter().filter_map(|name| RunId::new(name).ok()).collect())
    }
}

/// Whether the file is one of these, each with its text, and was not changed.
fn is_one_of(files: &[(&str, &str)], dir: &Dir, name: &str) -> bool {
    files.iter().any(|(own, text)| *own == name && dir.holds(name, text.as_bytes()).unwrap_or(false))
}

/// Removes everything in `dir`.
pub(super) fn remove_all(dir: &Dir) -> Result<(), DiskError> {
    for name in dir.names()? {
        match dir.find_dir(&name) {
            Ok(Some(inner)) => {
                remove_all(&inner)?;
                dir.remove_dir(&name)?;
            }
            _ => dir.remove(&name)?,
        }
    }
    Ok(())
}

/// Writes a small file so that it appears whole or not at all.
fn put(dir: &Dir, name: &str, text: &str) -> Result<(), DiskError> {
    dir.remove(INIT_TMP)?;
    flush(&*dir.create(INIT_TMP, text.as_bytes(), NEW_FILE)?, || dir.join(name))?;
    dir.rename(INIT_TMP, name, Rename::Replace)
}

fn split(flow: &Path) -> Result<(PathBuf, String), DiskError> {
    let (Some(name), Some(parent)) = (flow.file_name().and_then(OsStr::to_str), flow.parent()) else {
        return Err(DiskError::NotFound { path: flow.to_owned() });
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    Ok((parent.to_owned(), name.to_owned()))
}
