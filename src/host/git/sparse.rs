//! What git has of the files of flow: what a sparse checkout leaves out of the working tree, and what was committed.

use std::path::Path;
use std::time::Instant;

use crate::host::git::command::Git;
use crate::host::git::worktrees::git_dir;

/// How many runs are read from git's index.
const FILES: usize = 50;

impl Git {
    /// Whether a sparse checkout may leave out files of the working tree of `dir`. Does not run git.
    #[must_use]
    pub fn may_be_sparse(&self, dir: &Path) -> bool {
        let Some(top) = self.top(dir) else { return false };
        let Some(own) = git_dir(&top.join(".git")) else { return false };
        own.join("info/sparse-checkout").is_file()
    }

    /// The files below `path` that git has and a sparse checkout leaves out, relative to `dir`; `path` may be a pattern with
    /// stars. Empty if there is no sparse checkout.
    #[must_use]
    pub fn left_out(&self, dir: &Path, path: &str) -> Vec<String> {
        if !self.may_be_sparse(dir) {
            return Vec::new();
        }
        let listed = self.ask(dir, &["ls-files", "-t", "-z", "--", &format!(":(glob){path}")]);
        let Ok(answer) = listed else { return Vec::new() };
        let mut left_out = Vec::new();
        for entry in answer.out.split(|&byte| byte == 0) {
            // `S` marks what is not in the tree on purpose.
            if let Some(name) = entry.strip_prefix(b"S ")
                && let Ok(name) = std::str::from_utf8(name)
                && !dir.join(name).exists()
            {
                left_out.push(name.to_owned());
            }
        }
        left_out
    }

    /// Whether git's index has the file `path`, relative to `dir`.
    #[must_use]
    pub fn tracks(&self, dir: &Path, path: &str) -> bool {
        let listed = self.ask(dir, &["ls-files", "-z", "--", &format!(":(literal){path}")]);
        listed.is_ok_and(|answer| answer.status.success() && !answer.out.is_empty())
    }

    /// Those of `files` in git's index that contain `word`, in whatever case, with their contents.
    #[must_use]
    pub fn indexed_with(&self, dir: &Path, files: &[String], word: &str) -> Vec<(String, String)> {
        let deadline = Instant::now() + self.limit;
        let word = word.to_lowercase();
        let mut found = Vec::new();
        for file in files.iter().take(FILES) {
            let Ok(asked) = self.start(&[], dir, &["cat-file", "blob", &format!(":./{file}")]) else { break };
            // One deadline for all: a git that is slow once would be so for each file.
            let Ok(answer) = asked.answer(deadline) else { break };
            let text = String::from_utf8_lossy(&answer.out).into_owned();
            if answer.status.success() && text.to_lowercase().contains(&word) {
                found.push((file.clone(), text));
            }
        }
        found
    }
}
