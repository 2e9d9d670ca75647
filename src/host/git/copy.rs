//! A commit of a repository, checked out apart from it.
#![expect(
    clippy::disallowed_methods,
    reason = "a repository of its own in a temporary directory, and the git that makes it"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::host::git::command::{FOREIGN, Git, check_commit_id};
use crate::host::script::empty_directory;

/// A repository in a temporary directory with one commit checked out, removed when it is dropped. It borrows the objects of
/// another repository, and nothing that this one configures counts in it: no hook, no filter.
#[derive(Debug)]
pub struct CommitCopy {
    dir: PathBuf,
}

impl CommitCopy {
    /// Its top.
    #[must_use]
    pub fn top(&self) -> &Path {
        &self.dir
    }
}

impl Drop for CommitCopy {
    fn drop(&mut self) {
        // A file that cannot be removed stays among the temporary ones.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Git {
    /// Checks `commit` of the repository that contains `dir` out on its own.
    ///
    /// # Errors
    /// Why that cannot be done, in one line.
    pub fn copy_of(&self, dir: &Path, commit: &str) -> Result<CommitCopy, String> {
        check_commit_id(commit)?;
        let common = self.line(dir, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let objects = PathBuf::from(common.ok_or("the repository cannot be found")?).join("objects");
        let copy =
            empty_directory(None, "flow-replay-").map_err(|error| format!("cannot make a directory: {error}"))?;
        let copy = CommitCopy { dir: copy };
        self.in_copy(&copy, &["init", "--quiet", "--template=", "."])?;
        let borrows = copy.top().join(".git/objects/info/alternates");
        let written = fs::create_dir_all(copy.top().join(".git/objects/info"))
            .and_then(|()| fs::write(&borrows, format!("{}\n", objects.display())));
        written.map_err(|error| format!("cannot write {}: {error}", borrows.display()))?;
        self.in_copy(&copy, &["checkout", "--quiet", "--detach", commit])?;
        Ok(copy)
    }

    fn in_copy(&self, copy: &CommitCopy, arguments: &[&str]) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        command.current_dir(copy.top()).args(["-c", "core.hooksPath=/dev/null"]).args(arguments);
        for variable in FOREIGN {
            command.env_remove(variable);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Not within the usual limit: a commit may have any number of files.
        let output = command.output().map_err(|error| format!("cannot run git: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(complaint.lines().next().unwrap_or("git failed").trim_start_matches("fatal: ").to_owned())
    }
}
