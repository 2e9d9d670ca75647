//! A project's `.flow`: finding it, making it, and telling it from another program's.

use std::cell::LazyCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Dir, Disk, DiskError, Errno, Hazard, Links, NEW_FILE, Operation, Rename, Trust, flush};
use crate::model::{RunId, limits};
use crate::store::error::StoreError;
use crate::store::local::layout::{
    CACHE, FLOW, GITATTRIBUTES, GITIGNORE, INIT_TMP, INTERVIEWS, LOCK, NEW_RUN, QUARANTINE, RUN_FILE, RUNS, SCHEMAS,
    STATE, WORKFLOWS,
};
use crate::store::local::lock::Lock;
use crate::store::local::run_dir::{RunDir, is_leftover};
use crate::store::request::WriteRequest;
use crate::store::run_store::RunStore;

/// A project with a `.flow` that is flow's own.
#[derive(Debug)]
pub struct Project {
    pub(crate) flow: Dir,
    /// Whether its `.gitignore` says that it is flow's.
    is_marked: bool,
    /// Where its runs are when they are not in it.
    elsewhere: Option<Arc<dyn RunStore>>,
}

/// What `init` did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialised {
    /// The `.flow` directory.
    pub path: PathBuf,
    /// Names that were created in it; empty when everything was there.
    pub created: Vec<String>,
}

/// The line by which flow knows its own `.flow`.
const MARK: &str = "# Written by flow";
/// What flow and the original scripts keep in `.flow`.
const OWN_NAMES: [&str; 16] = [
    CACHE,
    RUNS,
    WORKFLOWS,
    INTERVIEWS,
    SCHEMAS,
    LOCK,
    INIT_TMP,
    QUARANTINE,
    STATE,
    "goals",
    "triggers",
    "config.yaml",
    "modes.yaml",
    ".gitignore",
    ".gitattributes",
    "README.md",
];
/// How many runs are looked at to tell whose a `.flow` without mark is.
const RUNS_LOOKED_AT: usize = 20;

impl Project {
    /// The directory that holds the `.flow` nearest to `start`: there or above, but not above what `top` gives, which is
    /// asked only when there is none in `start` itself.
    ///
    /// # Errors
    /// [`DiskError::Io`] when it cannot be told whether there is one: a project that cannot be looked at is not absent.
    pub fn find(
        disk: &dyn Disk,
        start: &Path,
        top: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<Option<PathBuf>, StoreError> {
        let top = LazyCell::new(top);
        for dir in start.ancestors() {
            let path = dir.join(FLOW);
            match disk.look(&path, Links::Refuse) {
                Ok(_) => return Ok(Some(dir.to_owned())),
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(errno) => {
                    return Err(DiskError::Io { action: Operation::Inspect, path, source: errno.into() }.into());
                }
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

    /// Where the files of a run are or would be, for programs that work with them. `flow` is a `.flow` directory.
    #[must_use]
    pub fn path_of_run(flow: &Path, id: &RunId) -> PathBuf {
        flow.join(RUNS).join(id.as_str())
    }

    /// Whether a path leads into a `.flow`, also on a file system that does not distinguish case.
    #[must_use]
    pub fn is_inside(path: &Path) -> bool {
        path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(FLOW))
    }

    /// Opens the `.flow` in `parent`.
    ///
    /// # Errors
    /// [`DiskError::NotFound`] without one, [`StoreError::Foreign`] when it is another program's, and
    /// [`DiskError::Unsafe`] when it is no plain directory of this user.
    pub fn open(disk: &dyn Disk, parent: &Path, trust: Trust) -> Result<Self, StoreError> {
        Self::open_flow(&Dir::open_path(disk, parent, trust)?, FLOW)
    }

    /// Opens a `.flow` directory that is called `flow` itself.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_named(disk: &dyn Disk, flow: &Path, trust: Trust) -> Result<Self, StoreError> {
        let (parent, name) = split(flow)?;
        Self::open_flow(&Dir::open_path(disk, &parent, trust)?, &name)
    }

    fn open_flow(parent: &Dir, name: &str) -> Result<Self, StoreError> {
        let flow = parent.open_dir(name)?;
        let text = flow.read_text(".gitignore", limits::JOURNAL_BYTES).ok().flatten();
        let is_marked = text.is_some_and(|text| text.contains(MARK));
        let project = Self { flow, is_marked, elsewhere: None };
        match project.foreign()? {
            Some(evidence) => Err(StoreError::Foreign { path: project.path().to_owned(), evidence }),
            None => Ok(project),
        }
    }

    /// Makes `.flow` in `parent`, or completes the one that is there.
    ///
    /// # Errors
    /// As [`Self::open`], and when something cannot be created. Nothing is written into another program's `.flow`.
    pub fn init(
        disk: &dyn Disk,
        parent: &Path,
        trust: Trust,
        schemas: &[(&str, &str)],
        request: &WriteRequest,
    ) -> Result<(Self, Initialised), StoreError> {
        Self::init_in(&Dir::open_path(disk, parent, trust)?, FLOW, schemas, request)
    }

    /// As [`Self::init`], for a `.flow` directory that is called `flow` itself.
    ///
    /// # Errors
    /// As [`Self::init`].
    pub fn init_named(
        disk: &dyn Disk,
        flow: &Path,
        trust: Trust,
        schemas: &[(&str, &str)],
        request: &WriteRequest,
    ) -> Result<(Self, Initialised), StoreError> {
        let (parent, name) = split(flow)?;
        Self::init_in(&Dir::open_path(disk, &parent, trust)?, &name, schemas, request)
    }

    fn init_in(
        parent: &Dir,
        name: &str,
        schemas: &[(&str, &str)],
        request: &WriteRequest,
    ) -> Result<(Self, Initialised), StoreError> {
        parent.ensure_dir(name)?;
        let project = Self::open_flow(parent, name)?;
        let created = project.complete(schemas, request)?;
        // Also when it was there: whoever made it may have been killed before this.
        parent.sync()?;
        Ok((project, Initialised { path: parent.join(name), created }))
    }

    /// Makes what is missing, and says what that was.
    fn complete(&self, schemas: &[(&str, &str)], request: &WriteRequest) -> Result<Vec<String>, StoreError> {
        let mut created = Vec::new();
        for dir in [RUNS, WORKFLOWS, SCHEMAS] {
            if self.flow.ensure_dir(dir)?.1 {
                created.push(format!("{dir}/"));
            }
        }
        if self.outdated(schemas)?.is_empty() && created.is_empty() {
            return Ok(created);
        }
        // Two first commands at once must not use one temporary file. Looked at again, since the other one was first.
        let _lock = Lock::take(&self.flow, request)?;
        for (dir, name, text) in self.outdated(schemas)? {
            let into = self.flow.open_dir(dir)?;
            put(&into, name, text)?;
            // Otherwise a power cut could bring the temporary name back, which only another `init` removes.
            into.sync()?;
            created.push(if dir == "." { name.to_owned() } else { format!("{dir}/{name}") });
        }
        self.flow.sync()?;
        Ok(created)
    }

    /// Files that are missing or, for schemas, of another version. An empty file was left by a writer that died.
    fn outdated<'a>(&self, schemas: &[(&'a str, &'a str)]) -> Result<Vec<(&'a str, &'a str, &'a str)>, DiskError> {
        let mut outdated = Vec::new();
        let dir = self.flow.open_dir(SCHEMAS)?;
        for (name, text) in schemas {
            // Schemas describe this program's documents, so they follow its version.
            if dir.read(name, limits::WORKFLOW_BYTES)?.as_deref() != Some(text.as_bytes()) {
                outdated.push((SCHEMAS, *name, *text));
            }
        }
        for (name, text) in [(".gitattributes", GITATTRIBUTES), (".gitignore", GITIGNORE)] {
            if self.flow.read(name, limits::JOURNAL_BYTES)?.is_none_or(|bytes| bytes.is_empty()) {
                outdated.push((".", name, text));
            }
        }
        Ok(outdated)
    }

    /// Completes a `.flow` that has no `.gitignore` of flow's, since another program or a clone made it: locks must stay out
    /// of version control. For writers, before they take a lock.
    ///
    /// # Errors
    /// As [`Self::init`].
    pub fn keep_out_of_git(&self, request: &WriteRequest) -> Result<(), StoreError> {
        if self.is_marked { Ok(()) } else { self.complete(&[], request).map(|_| ()) }
    }

    /// The same with its runs in another store.
    #[must_use]
    pub fn with_runs_in(self, store: Arc<dyn RunStore>) -> Self {
        Self { elsewhere: Some(store), ..self }
    }

    /// Its runs.
    #[must_use]
    pub fn runs(&self) -> &dyn RunStore {
        self.elsewhere.as_deref().unwrap_or(self)
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

    /// `path` relative to the project, when it is inside.
    #[must_use]
    pub fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.root()).unwrap_or(path).to_owned()
    }

    /// Something in `.flow` that flow never puts there, when nothing says that it is flow's.
    fn foreign(&self) -> Result<Option<String>, DiskError> {
        if self.is_marked {
            return Ok(None);
        }
        let names = self.flow.names()?;
        if let Some(name) = names.iter().find(|name| !OWN_NAMES.contains(&name.as_str()) && !name.starts_with(NEW_RUN))
        {
            return Ok(Some(name.clone()));
        }
        let Some(runs) = self.flow.find_dir(RUNS)? else {
            return Ok(None);
        };
        let names = runs.names()?;
        // What a checkout of another branch leaves of runs is flow's as well.
        let foreign =
            |name: &&String| !name.starts_with('.') && !runs.open_dir(name).is_ok_and(|run| is_leftover(&run));
        let mut some = names.iter().filter(foreign).take(RUNS_LOOKED_AT).peekable();
        let first = some.peek().map(|name| format!("{RUNS}/{name}"));
        let any = some.any(|name| {
            let run = runs.open_dir(name);
            run.is_ok_and(|run| run.exists(RUN_FILE).unwrap_or(false) || run.exists("activities").unwrap_or(false))
        });
        Ok(first.filter(|_| !any))
    }

    /// Whether nothing is left of `.flow` but what flow keeps out of version control: a checkout of a branch without it
    /// took its files away.
    #[must_use]
    pub fn is_leftover(&self) -> bool {
        let kept = |name: &str| self.flow.exists(name).unwrap_or(true);
        let runs = || self.flow.find_dir(RUNS).ok().flatten();
        let all_left = |runs: Dir| {
            let names = runs.names().unwrap_or_default();
            !names.is_empty() && names.iter().all(|name| runs.open_dir(name).is_ok_and(|run| is_leftover(&run)))
        };
        !kept(".gitattributes") && !kept(SCHEMAS) && runs().is_some_and(all_left)
    }

    /// Opens a run.
    ///
    /// # Errors
    /// [`DiskError::NotFound`] when there is no such directory, others when it cannot be used.
    pub fn run(&self, id: &RunId) -> Result<RunDir, StoreError> {
        let missing = || DiskError::NotFound { path: self.flow.join(RUNS).join(id.as_str()) };
        let runs = self.flow.find_dir(RUNS)?.ok_or_else(missing)?;
        Ok(RunDir { dir: runs.open_dir(id.as_str())?, runs, id: id.clone() })
    }

    /// Calls `visit` with every run, opened or the reason why it cannot be, in no order.
    ///
    /// # Errors
    /// [`StoreError`] when the directory of runs cannot be read; a single bad run is `visit`'s business.
    pub fn each_run(&self, visit: impl FnMut(&RunId, Result<RunDir, StoreError>)) -> Result<(), StoreError> {
        self.each_of(&self.run_ids()?, visit)
    }

    /// As [`Self::each_run`], with those of these runs that are there.
    ///
    /// # Errors
    /// As [`Self::each_run`].
    pub fn each_of(
        &self,
        ids: &[RunId],
        mut visit: impl FnMut(&RunId, Result<RunDir, StoreError>),
    ) -> Result<(), StoreError> {
        let Some(runs) = self.flow.find_dir(RUNS)? else {
            return Ok(());
        };
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

    /// All runs, in no order.
    ///
    /// # Errors
    /// [`StoreError`] when the directory of runs cannot be read.
    pub fn run_ids(&self) -> Result<Vec<RunId>, StoreError> {
        let Some(runs) = self.flow.find_dir(RUNS)? else {
            return Ok(Vec::new());
        };
        // Dot names are flow's own half-made things.
        Ok(runs.names()?.into_iter().filter_map(|name| RunId::new(name).ok()).collect())
    }
}

/// Writes a small file so that it is there wholly or not at all.
fn put(dir: &Dir, name: &str, text: &str) -> Result<(), DiskError> {
    dir.remove(INIT_TMP)?;
    flush(&*dir.create(INIT_TMP, text.as_bytes(), NEW_FILE)?, || dir.join(name))?;
    dir.rename(INIT_TMP, name, Rename::Replace)
}

fn split(flow: &Path) -> Result<(PathBuf, String), DiskError> {
    let name = flow.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    match (name, flow.parent()) {
        (Some(name), Some(parent)) if parent.as_os_str().is_empty() => Ok((PathBuf::from("."), name)),
        (Some(name), Some(parent)) => Ok((parent.to_owned(), name)),
        _ => Err(DiskError::NotFound { path: flow.to_owned() }),
    }
}
