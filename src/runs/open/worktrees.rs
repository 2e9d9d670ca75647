//! The runs in other worktrees of the repository, each of which has its own `.flow`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Explain, RunHead, RunId, Suggestion, Timestamp};
use crate::runs::context::{Context, OpenedProject};
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

/// What a status line shows for the place of a worktree.
pub(crate) fn place_name(root: &Path) -> String {
    root.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// How many runs of another worktree are named without being asked for.
pub(crate) const RUNS_NAMED: usize = 5;

/// Says that the repository around this one, of which this one is a submodule, has a project, with the command that asks it.
pub(crate) fn project_around(root: Option<&Path>, verb: &'static str) -> Vec<String> {
    let Some(root) = root else { return Vec::new() };
    let there = Suggestion::flow(verb).in_project(Some(&path_argument(root)));
    vec![format!("the repository around this one has a .flow; `{there}` looks there")]
}

/// Open runs of another worktree.
pub(crate) struct OpenThere {
    /// How many there are.
    pub(crate) open_runs: usize,
    /// Those that are named, in their order.
    pub(crate) runs: Vec<ListedRun>,
    /// Why others are missing.
    pub(crate) error: Option<String>,
}

/// The open runs of this checkout. Another worktree may have the same ones from the same commit.
pub(crate) struct OpenHere(HashMap<RunId, Timestamp>);

impl OpenHere {
    fn of(cx: &Context) -> Self {
        let read = cx.project().and_then(|project| Runs::read_open(&project));
        let heads = read.iter().flat_map(Runs::open).map(|run| &run.head);
        Self(heads.map(|head| (head.run_id.clone(), head.updated_at)).collect())
    }

    /// Whether a run of another worktree is open here and has come as far.
    pub(crate) fn has(&self, run: &RunHead) -> bool {
        self.0.get(&run.run_id).is_some_and(|at| *at >= run.updated_at)
    }
}

/// How many runs of other worktrees are named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedRuns {
    /// Of each worktree.
    pub(crate) each: usize,
    /// Of all together.
    pub(crate) all: usize,
}

impl NamedRuns {
    /// As many of each worktree.
    pub(crate) fn of_each(each: usize) -> Self {
        Self { each, all: usize::MAX }
    }
}

/// The other worktrees with open runs, and the newest of these runs. Asks git nothing.
pub(crate) fn other_worktrees(cx: &Context, named: usize) -> Vec<OtherWorktree> {
    worktrees_with(cx, NamedRuns::of_each(named), newest_open)
}

/// The other worktrees with open runs that `open_there` takes, which gets the runs that are here, and how many it has to name.
pub(crate) fn worktrees_with(
    cx: &Context,
    mut named: NamedRuns,
    open_there: impl Fn(&OpenedProject, &OpenHere, usize) -> Result<OpenThere>,
) -> Vec<OtherWorktree> {
    let mut others = Vec::new();
    let worktrees = in_other_worktrees(cx);
    if worktrees.is_empty() {
        return others;
    }
    let here = OpenHere::of(cx);
    for (path, cx) in worktrees {
        let project = cx.project();
        let found = project.as_ref().map_err(Explain::one_line).and_then(|project| {
            let room = named.each.min(named.all);
            open_there(project, &here, room).map_err(|error| error.one_line())
        });
        let there = found.unwrap_or_else(|error| OpenThere { open_runs: 0, runs: Vec::new(), error: Some(error) });
        if there.open_runs == 0 && there.error.is_none() {
            continue;
        }
        named.all -= there.runs.len().min(named.all);
        let OpenThere { open_runs, runs, error } = there;
        let names = match &project {
            Ok(project) => ShortNames::of(project, runs.iter().map(|run| &run.head.run_id)),
            Err(_) => ShortNames::default(),
        };
        others.push(OtherWorktree { path, open_runs, runs, names, error });
    }
    others
}

/// The newest open runs of another worktree's project.
pub(crate) fn newest_open(project: &OpenedProject, here: &OpenHere, named: usize) -> Result<OpenThere> {
    let found = Runs::read_open(project)?;
    let error = match found.unreadable.first() {
        Some(run) => Some(run.in_words()),
        None => passed_over_in_words(found.passed_over),
    };
    let open: Vec<_> = found.open().filter(|run| !here.has(&run.head)).collect();
    let runs = open.iter().take(named).map(|run| ListedRun::from((*run).clone())).collect();
    Ok(OpenThere { open_runs: open.len(), runs, error })
}
