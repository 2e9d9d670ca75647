//! Stores, and what persons and other programs do to the runs in them.

use std::fs;
use std::sync::Arc;

use flowrun::disk::{Os, Trust};
use flowrun::host::{Clock, Env, Git, Ids};
use flowrun::model::RunId;
use flowrun::runs::{self, Context, Options};
use flowrun::store::{Project, RunStore};
use tempfile::TempDir;

use crate::memory_store::MemoryStore;

/// A store with nothing in it.
pub trait Keeper: Sync {
    /// The store.
    fn store(&self) -> Arc<dyn RunStore>;

    /// What verbs need to work on its runs.
    fn context(&self) -> Context;

    /// A person saves `run.yaml`, or removes it.
    fn save(&self, run: &RunId, text: Option<&str>);

    /// Another program puts its version of the log in place.
    fn put_log(&self, run: &RunId, change: &dyn Fn(&str) -> String);
}

fn context(project: &TempDir) -> Context {
    let options = Options { project: Some(project.path().to_owned()), command: "a test".into(), ..Options::default() };
    let start = "2026-05-20T14:30:00Z".parse().unwrap();
    Context::new(Clock::fixed(start), Ids::seeded("ids"), Env::default(), Git::new("no\0git"), options)
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
        runs::init(&context(&project)).unwrap();
        Self { project }
    }
}

impl Local {
    fn file(&self, run: &RunId, name: &str) -> std::path::PathBuf {
        Project::path_of_run(&Project::path_in(self.project.path()), run).join(name)
    }
}

impl Keeper for Local {
    fn store(&self) -> Arc<dyn RunStore> {
        Arc::new(Project::open(&Os, self.project.path(), Trust::OwnFiles).unwrap())
    }

    fn context(&self) -> Context {
        context(&self.project)
    }

    fn save(&self, run: &RunId, text: Option<&str>) {
        let file = self.file(run, "run.yaml");
        match text {
            Some(text) => fs::write(file, text).unwrap(),
            None => fs::remove_file(file).unwrap(),
        }
    }

    fn put_log(&self, run: &RunId, change: &dyn Fn(&str) -> String) {
        let (log, new) = (self.file(run, "events.jsonl"), self.file(run, "new"));
        fs::write(&new, change(&fs::read_to_string(&log).unwrap())).unwrap();
        fs::rename(new, log).unwrap();
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

impl Keeper for Memory {
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
