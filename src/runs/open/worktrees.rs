//! The runs in other worktrees of the repository, each of which has its own `.flow`.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Explain as _, Suggestion};
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::open::listed::{ListedRun, ShortNames};
use crate::runs::open::own_files::below_top;
use crate::runs::open::reading::{Runs, passed_over_in_words};
use crate::runs::path::path_argument;
use crate::store::Project;

/// Another worktree of the repository with its own `.flow`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OtherWorktree {
    /// The directory of its project.
    pub path: PathBuf,
    /// How many runs are open there.
    pub open_runs: usize,
    /// The newest of them; how many depends on the request.
    pub runs: Vec<ListedRun>,
    /// Their names there.
    #[serde(skip)]
    pub(crate) names: ShortNames,
    /// Why its runs cannot be read.
    pub error: Option<String>,
}

/// The other worktrees of the repository that have a `.flow`, each with a context for it. Empty if `FLOW_DIR` names one
/// `.flow` for all of them.
pub(crate) fn in_other_worktrees(cx: &Context) -> Vec<(PathBuf, Context)> {
    if cx.env.flow_dir.is_some() && cx.options.project.is_none() {
        return Vec::new();
    }
    let Ok(root) = cx.root() else { return Vec::new() };
    let below = below_top(cx, &root);
    let mut others = Vec::new();
    for top in cx.git.other_worktrees(&root) {
        // Collecting the components drops an empty last part.
        let root: PathBuf = top.join(&below).components().collect();
        if cx.disk.is_dir(&Project::path_in(&root)) {
            // What is shared is here as well.
            let there = cx.in_project(&root).locally();
            others.push((root, there));
        }
    }
    others
}

/// How many runs of another worktree are named without being asked for.
pub(crate) const RUNS_NAMED: usize = 5;

/// Says that the repository around this one, of which this one is a submodule, has a project, with the command that asks it.
pub(crate) fn project_around(root: Option<&Path>, verb: &'static str) -> Vec<String> {
    let Some(root) = root else { return Vec::new() };
    let there = Suggestion::flow(verb).in_project(Some(&path_argument(root)));
    vec![format!("the repository around this one has a .flow; `{there}` looks there")]
}

/// The other worktrees with open runs, and the newest of these runs. Asks git nothing.
pub(crate) fn other_worktrees(cx: &Context, named: usize) -> Vec<OtherWorktree> {
    let mut others = Vec::new();
    for (path, cx) in in_other_worktrees(cx) {
        match open_runs(&cx, path.clone(), named) {
            Ok(worktree) if worktree.open_runs == 0 && worktree.error.is_none() => {}
            Ok(worktree) => others.push(worktree),
            Err(error) => {
                let error = Some(error.one_line());
                others.push(OtherWorktree {
                    path,
                    open_runs: 0,
                    runs: Vec::new(),
                    names: ShortNames::default(),
                    error,
                });
            }
        }
    }
    others
}

/// The open runs of a project, and why others are missing.
fn open_runs(cx: &Context, path: PathBuf, named: usize) -> Result<OtherWorktree> {
    let project = cx.project()?;
    let found = Runs::read_open(&project)?;
    let error = match found.unreadable.first() {
        Some(run) => Some(run.in_words()),
        None => passed_over_in_words(found.passed_over),
    };
    let open_runs = found.open().count();
    let runs: Vec<_> = found.open().take(named).cloned().map(ListedRun::from).collect();
    let names = ShortNames::of(&project, runs.iter().map(|run| &run.head.run_id));
    Ok(OtherWorktree { path, open_runs, runs, names, error })
}
