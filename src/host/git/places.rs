//! Where a repository is.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::host::git::command::Git;
use crate::host::git::running::Silence;
use crate::host::git::worktrees::{git_dir, shared_dir};

/// Where a repository is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) top: PathBuf,
    /// The directory of git's files for this worktree.
    pub(super) git_dir: PathBuf,
    /// The directory that all its worktrees share.
    pub(super) common: PathBuf,
}

impl Git {
    /// Whether `dir` is what git itself takes for a repository: a bare one, or git's own files of another one.
    pub fn is_bare(&self, dir: &Path) -> bool {
        dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
    }

    /// Whether `dir` has a `.git` that leads to no repository.
    pub fn is_broken(&self, dir: &Path) -> bool {
        dir.join(".git").is_file() && git_dir(&dir.join(".git")).is_none_or(|leads_to| !leads_to.is_dir())
    }

    /// Where the repository that contains `dir` is, from its files; `None` if they do not look as git makes them.
    pub(super) fn places(&self, dir: &Path) -> Option<Places> {
        let top = self.top(dir)?;
        let git_dir = git_dir(&top.join(".git"))?.canonicalize().ok()?;
        let common = shared_dir(&git_dir)?;
        // By these git tells a repository from a directory of this name.
        let is_whole = git_dir.join("HEAD").symlink_metadata().is_ok()
            && ["objects", "refs"].iter().all(|name| common.join(name).is_dir());
        let top = top.canonicalize().ok()?;
        is_whole.then_some(Places { top, git_dir, common })
    }

    /// As [`Self::places`], for a repository whose files do not tell.
    pub(super) fn places_from_git(&self, dir: &Path, deadline: Instant) -> Result<Places, String> {
        let question = ["rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"];
        let out = self.start(&[], dir, &question).map_err(Silence::why)?.output(deadline)?;
        let lines: Vec<_> = out.strip_suffix(b"\n").unwrap_or(&out).split(|&byte| byte == b'\n').collect();
        let [top, git_dir, common] = lines[..] else {
            return Err("the path of the repository has a line break in it".to_owned());
        };
        // git prints this one relative to where it was started.
        let common = dir.join(path_of(common)).canonicalize().map_err(|error| error.to_string())?;
        Ok(Places { top: path_of(top), git_dir: path_of(git_dir), common })
    }
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_owned()))
}
