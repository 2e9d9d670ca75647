//! Stores, and what persons and other programs do to the runs in them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use flowrun::codec::{LogEnd, LogScan};
use flowrun::disk::{Disk, Os, Trust};
use flowrun::host::{BareRepository, Clock, Env, Git, Ids};
use flowrun::model::RunId;
use flowrun::remote::GitCarrier;
use flowrun::runs::{self, Context, InitRequest, Options};
use flowrun::store::shared::{Carrier, Shared, ShownText};
use flowrun::store::{Project, RunStore, StoreError};
use tempfile::TempDir;

use crate::bucket::Bucket;
use crate::git_server::GitServer;
use crate::memory_carrier::MemoryCarrier;
use crate::memory_store::MemoryStore;

/// A store with nothing in it.
pub trait TestedStore: Sync {
    /// The store.
    fn store(&self) -> Arc<dyn RunStore>;

    /// What verbs need to work on its runs.
    fn context(&self) -> Context;

    /// A person saves `run.yaml`, or removes it.
    fn save(&self, run: &RunId, text: Option<&str>);

    /// Whether a run gets back what another program took from it.
    fn brings_back_what_was_lost(&self) -> bool {
        false
    }

    /// Another program puts its version of the log in place.
    fn put_log(&self, run: &RunId, change: &dyn Fn(&str) -> String);
}

fn context(project: &TempDir) -> Context {
    context_at(project, "2026-05-20T14:30:00Z", "ids")
}

/// The context at this moment, with ids of this seed.
fn context_at(project: &TempDir, start: &str, seed: &str) -> Context {
    let options = Options { project: Some(project.path().to_owned()), command: "a test".into(), ..Options::default() };
    let start = start.parse().unwrap();
    Context::new(Clock::fixed(start), Ids::seeded(seed), Env::default(), Git::new("no\0git"), options)
}

/// Runs in the files of a project.
pub struct Local {
    project: TempDir,
}

impl Default for Local {
    fn default() -> Self {
        let project = tempfile::tempdir().unwrap();
        // A project is looked for no higher than here, whatever is beside it.
        fs::create_dir(project.path().join(".git")).unwrap();
        runs::init(&context(&project), &InitRequest::default()).unwrap();
        Self { project }
    }
}

impl Local {
    fn file(&self, run: &RunId, name: &str) -> std::path::PathBuf {
        Project::path_of_run(&Project::path_in(self.project.path()), run).join(name)
    }
}

impl TestedStore for Local {
    fn store(&self) -> Arc<dyn RunStore> {
        Arc::new(Project::open(&Os, self.project.path(), Trust::OwnFiles).unwrap())
    }

    fn context(&self) -> Context {
        context(&self.project)
    }

    fn save(&self, run: &RunId, text: Option<&str>) {
        save(&self.file(run, "run.yaml"), text);
    }

    fn put_log(&self, run: &RunId, change: &dyn Fn(&str) -> String) {
        put_log(&self.file(run, "events.jsonl"), change);
    }
}

/// Runs in memory, in a project that has its other files on a disk.
pub struct Memory {
    project: TempDir,
    store: MemoryStore,
}

impl Default for Memory {
    fn default() -> Self {
        let Local { project } = Local::default();
        Self { project, store: MemoryStore::default() }
    }
}

impl TestedStore for Memory {
    fn store(&self) -> Arc<dyn RunStore> {
        Arc::new(self.store.clone())
    }

    fn context(&self) -> Context {
        context(&self.project).with_runs_in(self.store())
    }

    fn save(&self, run: &RunId, text: Option<&str>) {
        self.store.save(run, text.map(str::to_owned));
    }

    fn put_log(&self, run: &RunId, change: &dyn Fn(&str) -> String) {
        self.store.put_log(run, change);
    }
}

/// Keeps the logs of shared runs for machines.
pub trait Place: Sync {
    /// A carrier to it for the machine whose project this is.
    fn carrier(&self, project: &Path) -> Box<dyn Carrier>;
}

impl Place for MemoryCarrier {
    fn carrier(&self, _: &Path) -> Box<dyn Carrier> {
        Box::new(self.clone())
    }
}

/// A bare repository.
#[derive(Clone)]
pub struct Remote {
    dir: Arc<TempDir>,
}

impl Default for Remote {
    fn default() -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let made = Command::new("git").args(["init", "--quiet", "--bare"]).arg(dir.path()).status().unwrap();
        assert!(made.success());
        Self { dir }
    }
}

impl Remote {
    /// The names of its references.
    pub fn refs(&self) -> Vec<String> {
        Self::refs_in(self.dir.path())
    }

    /// The names of the references of a bare repository.
    pub fn refs_in(dir: &Path) -> Vec<String> {
        let mut git = Command::new("git");
        let out = git.arg("--git-dir").arg(dir).args(["for-each-ref", "--format=%(refname)"]).output().unwrap();
        String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Removes all that is in it.
    pub fn remove(&self) {
        fs::remove_dir_all(self.dir.path()).unwrap();
    }
}

impl Place for Remote {
    fn carrier(&self, project: &Path) -> Box<dyn Carrier> {
        git_carrier(project, self.dir.path().to_str().unwrap().to_owned())
    }
}

/// A bare repository that is named by a URL, so that git talks to it as to one of another machine.
#[derive(Clone, Default)]
pub struct RemoteByUrl(Remote);

impl Place for RemoteByUrl {
    fn carrier(&self, project: &Path) -> Box<dyn Carrier> {
        git_carrier(project, format!("file://{}", self.0.path().display()))
    }
}

/// The carrier of a project's machine to the repository at `address`.
pub fn git_carrier(project: &Path, address: String) -> Box<dyn Carrier> {
    let bare = Project::path_in(project).join(".cache/runs.git");
    fs::create_dir_all(bare.parent().unwrap()).unwrap();
    let repository = BareRepository::new(Git::default(), bare, address, None);
    Box::new(GitCarrier::new(repository, "git:origin".to_owned()))
}

/// Runs that are kept elsewhere for several machines, seen from one of them.
pub struct Machine<P> {
    local: Local,
    place: P,
}

impl<P: Default> Default for Machine<P> {
    fn default() -> Self {
        Self::with(P::default())
    }
}

impl<P> Machine<P> {
    /// A machine with nothing on it but an empty project.
    pub fn with(place: P) -> Self {
        Self { local: Local::default(), place }
    }

    /// What a program finds that knows no store.
    pub fn alone(&self) -> Context {
        context(&self.local.project)
    }

    /// Whether a run is in the files of this machine's project, shared or not.
    pub fn has_here(&self, run: &RunId) -> bool {
        self.local.file(run, "").exists()
    }

    /// What a command needs that is repeated later.
    pub fn later(&self) -> Context
    where
        P: Place,
    {
        context_at(&self.local.project, "2026-05-20T14:40:00Z", "later").with_runs_in(self.store())
    }

    /// A machine with the same project in another directory.
    pub fn copy(&self, place: P) -> Self {
        let project = tempfile::tempdir().unwrap();
        copy_files(self.local.project.path(), project.path());
        Self { local: Local { project }, place }
    }

    /// The file of a copy.
    pub fn file(&self, run: &RunId, name: &str) -> std::path::PathBuf {
        let flow = Project::path_in(self.local.project.path());
        Project::path_of_run(&flow.join("shared"), run).join(name)
    }
}

/// As the program shows events; the texts of some tests only name a position.
fn show(
    run: &RunId,
    text: Option<String>,
    end: &LogEnd,
    log: &dyn Fn() -> Result<LogScan, StoreError>,
) -> Option<ShownText> {
    let is_plain = text.as_ref().is_none_or(|text| text.starts_with("shows: "));
    let plain =
        if is_plain { Some(ShownText { text: format!("shows: {}\n", end.last), drops_edit: false }) } else { None };
    runs::show_events(run, text, end, log).or(plain)
}

impl<P: Place> Machine<P> {
    /// The store.
    pub fn shared(&self) -> Shared {
        self.shared_on(&Os)
    }

    /// The store, with its files on this disk.
    pub fn shared_on(&self, disk: &dyn Disk) -> Shared {
        self.shared_with(disk, &self.place)
    }

    fn shared_with(&self, disk: &dyn Disk, place: &dyn Place) -> Shared {
        let here = Project::open(disk, self.local.project.path(), Trust::OwnFiles).unwrap();
        let carrier = place.carrier(self.local.project.path());
        Shared::new(here, carrier, show, "test", "2026-05-20T14:30:00Z".parse().unwrap()).unwrap()
    }

    /// What verbs need whose shared files are on this disk.
    pub fn context_on(&self, disk: &dyn Disk) -> Context {
        context(&self.local.project).with_runs_in(Arc::new(self.shared_on(disk)))
    }

    /// What verbs need that reach the same logs through another place.
    pub fn context_with(&self, place: &dyn Place) -> Context {
        context(&self.local.project).with_runs_in(Arc::new(self.shared_with(&Os, place)))
    }
}

fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&to).unwrap();
            copy_files(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

impl<P: Place> TestedStore for Machine<P> {
    fn store(&self) -> Arc<dyn RunStore> {
        Arc::new(self.shared())
    }

    fn context(&self) -> Context {
        context(&self.local.project).with_runs_in(self.store())
    }

    fn save(&self, run: &RunId, text: Option<&str>) {
        save(&self.file(run, "run.yaml"), text);
    }

    fn put_log(&self, run: &RunId, change: &dyn Fn(&str) -> String) {
        put_log(&self.file(run, "events.jsonl"), change);
    }

    fn brings_back_what_was_lost(&self) -> bool {
        true
    }
}

/// [`Machine`] with a carrier in memory.
pub type SharedInMemory = Machine<MemoryCarrier>;
/// [`Machine`] with a git repository.
pub type SharedInGit = Machine<Remote>;
/// [`Machine`] with a git repository that is named by a URL.
pub type SharedInGitByUrl = Machine<RemoteByUrl>;
/// [`Machine`] with a git repository behind HTTP.
pub type SharedInGitBehindHttp = Machine<GitServer>;
/// [`Machine`] with a bucket.
pub type SharedInBucket = Machine<Bucket>;

fn save(file: &Path, text: Option<&str>) {
    match text {
        Some(text) => fs::write(file, text).unwrap(),
        None => fs::remove_file(file).unwrap(),
    }
}

fn put_log(log: &Path, change: &dyn Fn(&str) -> String) {
    let new = log.with_file_name("new");
    fs::write(&new, change(&fs::read_to_string(log).unwrap())).unwrap();
    fs::rename(new, log).unwrap();
}
