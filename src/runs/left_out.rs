//! Files that git has and a sparse checkout leaves out: to flow they are neither missing nor free to be written.

use std::io::ErrorKind;
use std::path::Path;

use crate::catalog::{Catalog, FoundWorkflow, Origin, names_a_file};
use crate::disk::{Absence, Links};
use crate::host::GitRef;
use crate::model::{Explain as _, Help, Kind, Problem, RunId, Suggestion, WorkflowId, first_few, quoted};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::store::Project;

/// The file that tells git how to merge what flow writes.
pub(crate) const ATTRIBUTES: &str = ".flow/.gitattributes";

impl Context {
    /// Refuses to go on as if `path`, relative to `root`, did not exist, if git has it or something below it and a sparse
    /// checkout leaves that out.
    pub(crate) fn refuse_left_out(&self, root: &Path, path: &str) -> Result<()> {
        let left_out = self.git.left_out_at(root, path).map_err(unknown)?;
        // By cones, only directories can be added.
        let is_file = left_out.iter().all(|file| file == path);
        if left_out.is_empty() { Ok(()) } else { Err(self.left_out_entry(root, path, is_file)) }
    }

    /// As [`Self::refuse_left_out`], for the path of a file or directory that may be in a checkout.
    pub(crate) fn refuse_left_out_path(&self, path: &Path) -> Result<()> {
        // Most checkouts are not sparse, and this is looked up without git.
        let Some(top) = path.parent().and_then(|parent| self.git.top(parent)) else { return Ok(()) };
        match path.strip_prefix(&top).ok().and_then(Path::to_str) {
            Some(path) => self.refuse_left_out(&top, path),
            None => Ok(()),
        }
    }

    /// Refuses to begin a run with an id that a caller brought, if git has a run of this id whose files were removed here.
    pub(crate) fn refuse_id_in_git(&self, root: &Path, id: &RunId) -> Result<()> {
        let path = format!(".flow/runs/{id}");
        self.refuse_left_out(root, &path)?;
        // What is there, or was pruned, is refused with what can be done about that.
        if self.disk.is_dir(&root.join(&path)) {
            return Ok(());
        }
        if !self.git.has_files(root, &path) {
            return self.refuse_stashed(root, id, &path);
        }
        let is_pruned = self.project().is_ok_and(|project| project.runs().pruned(id).is_ok_and(|run| run.is_some()));
        match self.removed_run(root, id, ", or use another id; nothing was written") {
            Some(removed) if !is_pruned => Err(removed),
            _ => Ok(()),
        }
    }

    /// The error that git has a run whose files were removed from the checkout at `root`, if that is so. `instead` ends the
    /// sentence about what brings it back.
    pub(crate) fn removed_run(&self, root: &Path, id: &RunId, instead: &str) -> Option<Error> {
        let restore = self.restore_of_removed(root, &format!(".flow/runs/{id}"))?;
        let message = format!("git has run {id}, whose files were removed from this checkout");
        let help = format!("bring it back with `{restore}`{instead}");
        Some(Problem::new(Kind::NotFound, "run_elsewhere", message).help(help).into())
    }

    /// The command that brings back `path`, which was removed from the checkout at `root`, if git's index or the commit that is
    /// checked out has it.
    fn restore_of_removed(&self, root: &Path, path: &str) -> Option<String> {
        if !self.git.has_files(root, path) {
            return None;
        }
        let source = if self.git.tracks(root, path) { "" } else { "--source=HEAD --staged --worktree " };
        let skipped = if self.git.is_skipped(root, path) { "--ignore-skip-worktree-bits " } else { "" };
        Some(self.git_command(root, &format!("restore {source}{skipped}-- {}", quoted(path))))
    }

    /// Refuses to begin a run whose files would be in the way when the stash is brought back.
    fn refuse_stashed(&self, root: &Path, id: &RunId, path: &str) -> Result<()> {
        if !self.git.has_stashed(root, path) {
            return Ok(());
        }
        let message = format!("run {id} is in the stash");
        let pop = self.git_command(root, "stash pop");
        Err(Problem::new(Kind::NotFound, "run_elsewhere", message)
            .help(format!("bring it back with `{pop}`, or use another id; nothing was written"))
            .into())
    }

    /// The files below `path` that a sparse checkout leaves out, relative to `root`; `path` may be a pattern with stars.
    ///
    /// # Errors
    /// `left_out_unknown` if the checkout may be sparse and git does not tell.
    pub(crate) fn left_out_files(&self, root: &Path, path: &str) -> Result<Vec<String>> {
        self.git.left_out(root, path).map_err(unknown)
    }

    /// The error that git has the `.flow` that is not in this checkout, for a caller who found none: a sparse checkout leaves it
    /// out, or it was removed. Asks git.
    pub(crate) fn project_in_git(&self) -> Option<Error> {
        if self.options.project.is_none() && self.env.flow_dir.is_some() {
            return None;
        }
        let start = self.search_from().ok()?;
        let top = self.git.top(&start)?;
        for dir in start.ancestors().take_while(|dir| dir.starts_with(&top)) {
            if let Err(left_out) = self.refuse_left_out(dir, ".flow") {
                return Some(left_out);
            }
            if let Some(restore) = self.restore_of_removed(dir, ".flow") {
                let message =
                    format!("git has {}, which was removed from this checkout", Project::path_in(dir).display());
                let help = format!("bring it back with `{restore}`");
                return Some(Problem::new(Kind::NotFound, "flow_elsewhere", message).help(help).into());
            }
        }
        None
    }

    /// As [`Self::project_in_git`], also for a `.flow` that another branch or the stash has at the top of the repository.
    pub(crate) fn project_elsewhere(&self) -> Option<Error> {
        if let Some(here) = self.project_in_git() {
            return Some(here);
        }
        if self.env.flow_dir.is_some() {
            return None;
        }
        let places = self.git.refs_with(&self.root_to_be().ok()?, ATTRIBUTES.as_ref(), "# Written by flow");
        if places.is_empty() {
            return None;
        }
        let places: Vec<_> = places.iter().map(GitRef::place).collect();
        let help =
            Help::from(format!("they are {}; ", first_few(&places, 3))) + Suggestion::flow("start").value("WORKFLOW");
        let message = "the files of .flow are not in this checkout";
        let help = help + " begins a run here";
        Some(Problem::new(Kind::NotFound, "flow_elsewhere", message).help(help).into())
    }

    /// The error that a sparse checkout leaves out `path`, relative to `root`.
    pub(crate) fn left_out(&self, root: &Path, path: &str) -> Error {
        let is_file = [".md", ".gitattributes", ".yaml", ".mmd", ".jsonl"].iter().any(|end| path.ends_with(end));
        self.left_out_entry(root, path, is_file)
    }

    fn left_out_entry(&self, root: &Path, path: &str, is_file: bool) -> Error {
        let message = format!("{path} is not in this sparse checkout, and git has it");
        let add = self.adds(root, path, is_file);
        Problem::new(Kind::NotFound, "left_out", message)
            .help(format!("bring it with `{add}`; nothing was written"))
            .into()
    }

    /// The command that adds `path`, relative to `root`, to a sparse checkout.
    pub(crate) fn adds(&self, root: &Path, path: &str, is_file: bool) -> String {
        let dir = match path.rsplit_once('/') {
            Some((dir, _)) if is_file && self.git.has_cones(root) => dir,
            _ => path,
        };
        // Patterns can be added at the top alone.
        let top = self.git.top(root).unwrap_or_else(|| root.to_owned());
        let below = root.strip_prefix(&top).unwrap_or(Path::new("")).join(dir);
        self.git_command(&top, &format!("sparse-checkout add {}", quoted(&below.to_string_lossy())))
    }

    /// The workflow called `name` in `catalog`, that of the project in `root`.
    ///
    /// # Errors
    /// Those of [`Catalog::find`], and `left_out` if a sparse checkout leaves out the project's own definition.
    pub(crate) fn find_workflow(&self, root: &Path, catalog: &Catalog, name: &str) -> Result<FoundWorkflow> {
        let found = catalog.find(name);
        if found.is_err()
            && names_a_file(name)
            && self.disk.look(&self.env.cwd.clone().unwrap_or_default().join(name), Links::Follow).is_err()
        {
            return Err(Error::input(name, &ErrorKind::NotFound.into()));
        }
        let is_own = matches!(&found, Ok(FoundWorkflow { origin: Origin::Project(_), .. }));
        // To git, other names may be patterns.
        if !is_own && WorkflowId::new(name).is_ok() {
            let files = self.left_out_files(root, &format!(".flow/workflows/{name}.*"))?;
            if let Some(file) = files.first() {
                return Err(self.left_out(root, file));
            }
        }
        Ok(found?)
    }

    /// Refuses to begin a run where what says where runs are, or which ids were used, is left out.
    pub(super) fn refuse_half_a_project(&self, root: &Path) -> Result<()> {
        for file in self.left_out_files(root, ".flow/*")? {
            if file.ends_with("/config.yaml") || file.ends_with("/pruned.jsonl") {
                return Err(self.left_out(root, &file));
            }
        }
        Ok(())
    }

    /// The rules that keep the runs of the project in `root` out of Git LFS, where those of the project give them to it.
    pub(crate) fn rules_against_lfs(&self, root: &Path) -> Vec<String> {
        let files = [".flow/runs/r/events.jsonl", ".flow/runs/r/run.yaml", ".flow/runs/r/activities/001-a.yaml"];
        let is_for_lfs = self.git.top(root).is_some() && self.git.is_for_lfs(root, &files);
        if is_for_lfs { Project::OUT_OF_LFS.lines().map(str::to_owned).collect() } else { Vec::new() }
    }

    /// The files in `.flow` of the project in `root` that tell git what to do, and that a sparse checkout leaves out.
    pub(crate) fn left_out_rules(&self, root: &Path) -> Result<Vec<&'static str>> {
        let left_out = self.left_out_files(root, ".flow/.git*")?;
        let rules = [".gitattributes", ".gitignore"].into_iter();
        Ok(rules.filter(|name| left_out.iter().any(|file| file.ends_with(name))).collect())
    }
}

impl Absence for Context {
    fn elsewhere(&self, path: &Path) -> Option<Problem> {
        self.refuse_left_out_path(path).err().map(|left_out| left_out.problem())
    }
}

fn unknown(why: String) -> Error {
    let message = format!("git does not tell which files this sparse checkout leaves out: {why}");
    Problem::new(Kind::Io, "left_out_unknown", message)
        .help("make git work here and run the command again; nothing was written")
        .into()
}
