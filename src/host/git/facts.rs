//! What is checked out, and where it comes from.

use std::path::{Path, PathBuf};

use crate::host::git::command::Git;
use crate::host::git::head::Head;
use crate::model::Remote;

/// What a run records about its checkout when it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitFacts {
    /// The remote `origin`.
    pub remote: Option<Remote>,
    /// `owner/name` of the remote `origin`; without one, the name of the top directory, or of the directory itself
    /// outside of a checkout. `None` if it is unknown because git failed: the name of the directory might be wrong
    /// then.
    pub repo: Option<String>,
    /// The branch, even before its first commit. The short commit id if no branch is checked out.
    pub branch: Option<String>,
    /// The id of the commit that is checked out.
    pub head: Option<String>,
}

impl Git {
    /// What is checked out at `dir`. Unknown facts are `None`. `state` gives the user's state directory, where git's answers
    /// are kept.
    #[must_use]
    pub fn facts(&self, dir: &Path, state: impl FnOnce() -> Option<PathBuf>) -> GitFacts {
        let top = match self.find_top(dir) {
            Ok(Some(top)) => top,
            Ok(None) => return GitFacts { repo: own_name(dir), ..GitFacts::default() },
            Err(_) => return GitFacts::default(),
        };
        let head = self.any_head(dir);
        let (remote, is_answered) = self.ask_for_remote(dir, state());
        let repo = match &remote {
            Some(remote) => Some(remote.name()),
            None if is_answered => own_name(&top),
            None => None,
        };
        GitFacts { remote, repo, branch: head.name(), head: head.commit }
    }

    /// The remote `origin` of the repository that contains `dir`. `state` is as in [`Self::facts`].
    #[must_use]
    pub fn remote(&self, dir: &Path, state: impl FnOnce() -> Option<PathBuf>) -> Option<Remote> {
        self.top(dir)?;
        self.ask_for_remote(dir, state()).0
    }

    /// The branch that is checked out at `dir`, even before its first commit, or the short id of the commit.
    #[must_use]
    pub fn branch(&self, dir: &Path) -> Option<String> {
        self.top(dir)?;
        self.any_head(dir).name()
    }

    fn any_head(&self, dir: &Path) -> Head {
        self.head(dir).unwrap_or_else(|| self.head_from_git(dir))
    }

    /// As [`Self::head`], for a repository whose files do not tell.
    pub(super) fn head_from_git(&self, dir: &Path) -> Head {
        let branch = self.line(dir, &["symbolic-ref", "--quiet", "HEAD"]);
        let branch = branch.map(|name| name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned());
        Head { branch, commit: self.line(dir, &["rev-parse", "--quiet", "--verify", "HEAD"]) }
    }

    /// The remote `origin`, and whether git has answered; without the program there is none.
    fn ask_for_remote(&self, dir: &Path, state: Option<PathBuf>) -> (Option<Remote>, bool) {
        match self.remote_url("origin", dir, state) {
            Ok(url) => (url.and_then(|url| Remote::parse(&url)), true),
            Err(silence) => (None, silence.is_without_git()),
        }
    }
}

fn own_name(dir: &Path) -> Option<String> {
    Some(dir.file_name()?.to_string_lossy().into_owned())
}
