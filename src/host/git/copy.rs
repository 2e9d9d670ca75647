//! A commit of a repository, checked out apart from it.
#![expect(
    clippy::disallowed_methods,
    reason = "a repository of its own in a temporary directory, and the git that makes it"
)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use tempfile::TempDir;

use crate::host::git::command::{FOREIGN, Git, check_commit_id};
use crate::host::git::common::temporary_dir_of;
use crate::host::git::running::Silence;
use crate::host::git::tree::DEPTH;

/// What names of copies begin with; the process that made it follows.
const COPY: &str = "flow-replay-";

/// A repository in a temporary directory with one commit checked out, removed when it is dropped. It borrows the objects of
/// another repository, and nothing that this one configures counts in it: no hook, no filter.
#[derive(Debug)]
pub struct CommitCopy {
    dir: TempDir,
}

impl CommitCopy {
    /// The top directory of the working tree.
    #[must_use]
    pub fn top(&self) -> &Path {
        self.dir.path()
    }
}

impl Git {
    /// Checks `commit` of the repository that contains `dir` out on its own, with the submodules that are checked out here.
    ///
    /// # Errors
    /// Why that cannot be done, in one line.
    pub fn copy_of(&self, dir: &Path, commit: &str) -> Result<CommitCopy, String> {
        let copy = temporary_dir_of(COPY).map_err(|error| format!("cannot make a directory: {error}"))?;
        let copy = CommitCopy { dir: copy };
        let top = self.top(dir).ok_or("the repository cannot be found")?;
        self.check_out(&top, commit, copy.top(), DEPTH)?;
        Ok(copy)
    }

    /// Checks `commit` of the repository at `top` out into the directory `at`, and its submodules so many levels deep.
    fn check_out(&self, top: &Path, commit: &str, at: &Path, depth: usize) -> Result<(), String> {
        check_commit_id(commit)?;
        let common = self.line(top, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let objects = PathBuf::from(common.ok_or("the repository cannot be found")?).join("objects");
        let format = self.line(top, &["rev-parse", "--show-object-format"]).unwrap_or_else(|| "sha1".to_owned());
        self.in_copy(at, &["init", "--quiet", "--template=", &format!("--object-format={format}"), "."])?;
        let borrows = at.join(".git/objects/info/alternates");
        let written = fs::create_dir_all(at.join(".git/objects/info"))
            .and_then(|()| fs::write(&borrows, format!("{}\n", objects.display())));
        written.map_err(|error| format!("cannot write {}: {error}", borrows.display()))?;
        if self.in_copy(at, &["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_err() {
            return Err(format!(
                "the commit {commit} is not in the repository: git removes commits that no branch has; fetch it from where \
                 it was pushed"
            ));
        }
        self.in_copy(at, &["checkout", "--quiet", "--detach", commit])?;
        // git succeeds although it cannot read a file of the commit, as in a partial clone, and leaves it out.
        let missing = self.in_copy(at, &["ls-files", "--deleted", "-z"])?;
        if let Some(first) = missing.split(|&byte| byte == 0).find(|path| !path.is_empty()) {
            return Err(format!("the commit's files are not all here: {}", String::from_utf8_lossy(first)));
        }
        let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
        for (path, commit) in self.submodules_of(at, commit)? {
            let (inner, copy) = (top.join(&path), at.join(&path));
            // One that is not checked out here is empty here as well.
            if inner.join(".git").symlink_metadata().is_ok() && is_plain_dir(&copy) {
                self.check_out(&inner, &commit, &copy, depth)
                    .map_err(|why| format!("the submodule {}: {why}", path.display()))?;
            }
        }
        Ok(())
    }

    /// The submodules of a commit: their paths and commits.
    fn submodules_of(&self, dir: &Path, commit: &str) -> Result<Vec<(PathBuf, String)>, String> {
        let asked = self.start(&[], dir, &["ls-tree", "-r", "-z", commit]).map_err(Silence::why)?;
        let mut found = Vec::new();
        for entry in asked.output(Instant::now() + self.limit)?.split(|&byte| byte == 0) {
            // `160000 commit <id>\t<path>`
            let Some(entry) = entry.strip_prefix(b"160000 commit ") else { continue };
            let Some(tab) = entry.iter().position(|&byte| byte == b'\t') else { continue };
            let id = String::from_utf8_lossy(&entry[..tab]).into_owned();
            found.push((PathBuf::from(OsStr::from_bytes(&entry[tab + 1..])), id));
        }
        Ok(found)
    }

    /// What git prints there.
    fn in_copy(&self, at: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let mut command = Command::new(&self.program);
        command.current_dir(at).args(["-c", "core.hooksPath=/dev/null"]).args(arguments);
        for variable in FOREIGN {
            command.env_remove(variable);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Not within the usual limit: a commit may have any number of files.
        let output = command.output().map_err(|error| format!("cannot run git: {error}"))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(complaint.lines().next().unwrap_or("git failed").trim_start_matches("fatal: ").to_owned())
    }
}

/// Whether it is a directory and no link: what a commit has there must not lead out of the copy.
fn is_plain_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|entry| entry.is_dir())
}
