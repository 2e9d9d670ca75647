//! The versions of a file that git has on other branches and elsewhere.

use std::fmt;
use std::path::Path;

use crate::host::git::command::Git;
use crate::host::git::running::is_cut;

/// How many references are searched.
const BRANCHES: usize = 100;

/// Where references are, in the order in which they are named.
const PLACES: [&str; 4] = ["refs/heads", "refs/stash", "refs/remotes", "refs/tags"];

/// A reference to a version of a repository's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitRef {
    /// A branch of this repository: `main`.
    Branch(String),
    /// What `git stash` put aside.
    Stash,
    /// A remote-tracking branch: `origin/main`.
    Remote(String),
    /// A tag, such as `v1`.
    Tag(String),
    /// A commit that is no longer the end of a branch: its short id.
    Commit(String),
}

/// The latest stash, and the commit in which it has what was untracked.
pub(super) const STASH: &str = "refs/stash";
const STASHED_UNTRACKED: &str = "refs/stash^3";

impl GitRef {
    fn of(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("refs/")?;
        match rest.split_once('/') {
            None if rest == "stash" => Some(Self::Stash),
            Some(("heads", branch)) => Some(Self::Branch(branch.to_owned())),
            // `origin/HEAD` is another name for one of the remote's branches.
            Some(("remotes", branch)) if branch.ends_with("/HEAD") => None,
            Some(("remotes", branch)) => Some(Self::Remote(branch.to_owned())),
            Some(("tags", tag)) => Some(Self::Tag(tag.to_owned())),
            None | Some(_) => None,
        }
    }
}

impl GitRef {
    /// Where something is that it has, in words.
    #[must_use]
    pub fn place(&self) -> String {
        match self {
            Self::Stash => format!("in {self} (`git stash pop`)"),
            _ => format!("on {self}"),
        }
    }

    /// Its name as an argument of git.
    #[must_use]
    pub fn revision(&self) -> String {
        match self {
            Self::Branch(name) => format!("refs/heads/{name}"),
            Self::Stash => STASH.to_owned(),
            Self::Remote(name) => format!("refs/remotes/{name}"),
            Self::Tag(name) => format!("refs/tags/{name}"),
            Self::Commit(id) => id.clone(),
        }
    }
}

impl fmt::Display for GitRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branch(name) => write!(f, "branch {name}"),
            Self::Stash => write!(f, "the stash"),
            Self::Remote(name) => write!(f, "{name}"),
            Self::Tag(name) => write!(f, "tag {name}"),
            Self::Commit(id) => write!(f, "commit {id}"),
        }
    }
}

impl Git {
    /// The references whose version of `path` below `dir` contains `text`: branches, the stash, remote-tracking
    /// branches and tags, in this order, the latest first. Empty if it is unknown.
    #[must_use]
    pub fn refs_with(&self, dir: &Path, path: &Path, text: &str) -> Vec<GitRef> {
        let count = format!("--count={BRANCHES}");
        let list = ["for-each-ref", "--sort=-creatordate", &count, "--format=%(refname)"];
        let listed = match self.ask(dir, &[&list[..], &PLACES].concat()) {
            Ok(answer) if self.top(dir).is_some() => String::from_utf8_lossy(&answer.out).into_owned(),
            _ => return Vec::new(),
        };
        let mut refs = Vec::new();
        for name in listed.lines() {
            if let Some(reference) = GitRef::of(name) {
                refs.push((name, reference));
            }
        }
        if refs.is_empty() {
            return Vec::new();
        }
        let path = format!(":(literal){}", path.display());
        let mut question = vec!["grep", "--no-textconv", "-l", "-F", "-e", text];
        question.extend(refs.iter().map(|(name, _)| *name));
        question.extend(["--", &path]);
        // git fails if it finds nothing.
        let Ok(answer) = self.ask(dir, &question) else { return Vec::new() };
        let found = String::from_utf8_lossy(&answer.out);
        // `refs/heads/main:PATH`; git allows no colon in the name of a reference.
        let with_text: Vec<_> = found.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
        refs.retain(|(name, _)| with_text.contains(name));
        if refs.is_empty() {
            // `git stash -u` has the files that were untracked in a commit of its own.
            let has_stash = listed.lines().any(|name| name == STASH);
            if has_stash && self.has_in(dir, STASHED_UNTRACKED, &path, text) {
                return vec![GitRef::Stash];
            }
            return Vec::new();
        }
        refs.sort_by_key(|(name, _)| PLACES.iter().position(|place| name.starts_with(place)));
        refs.into_iter().map(|(_, reference)| reference).collect()
    }

    /// Whether the latest stash has files below the directory `path`, relative to `dir`. Starts git only if there is a stash.
    #[must_use]
    pub fn has_stashed(&self, dir: &Path, path: &str) -> bool {
        if !self.has_stash(dir) {
            return false;
        }
        // Every file of a run has a line.
        let pattern = format!(":(literal){path}");
        [STASH, STASHED_UNTRACKED].iter().any(|revision| self.has_in(dir, revision, &pattern, ""))
    }

    /// Whether the version of `path` below `dir` at `place` contains `text`.
    #[must_use]
    pub fn has_text(&self, dir: &Path, place: &GitRef, path: &Path, text: &str) -> bool {
        self.has_in(dir, &place.revision(), &format!(":(literal){}", path.display()), text)
    }

    /// Whether the version of `path` below `dir` in the commit that is checked out contains `text`.
    #[must_use]
    pub fn has_committed(&self, dir: &Path, path: &Path, text: &str) -> bool {
        self.top(dir).is_some() && self.has_in(dir, "HEAD", &format!(":(literal){}", path.display()), text)
    }

    /// The version of `path` below `dir` in the commit that is checked out; `None` if there is none.
    #[must_use]
    pub fn committed(&self, dir: &Path, path: &str) -> Option<Vec<u8>> {
        self.version_in(dir, "HEAD", path)
    }

    /// The version of `path` below `dir` at `place`; `None` if there is none.
    #[must_use]
    pub fn version(&self, dir: &Path, place: &GitRef, path: &str) -> Option<Vec<u8>> {
        let tracked = self.version_in(dir, &place.revision(), path);
        match place {
            GitRef::Stash => tracked.or_else(|| self.version_in(dir, STASHED_UNTRACKED, path)),
            _ => tracked,
        }
    }

    /// Whether a version is so long that its end was not read.
    #[must_use]
    pub fn is_cut(&self, version: &[u8]) -> bool {
        is_cut(version)
    }

    fn version_in(&self, dir: &Path, revision: &str, path: &str) -> Option<Vec<u8>> {
        let answer = self.ask(dir, &["cat-file", "blob", &format!("{revision}:./{path}")]).ok()?;
        answer.status.success().then_some(answer.out)
    }

    /// Whether the files that `pattern` fits contain `text` in a revision.
    fn has_in(&self, dir: &Path, revision: &str, pattern: &str, text: &str) -> bool {
        let question = ["grep", "--no-textconv", "-q", "-F", "-e", text, revision, "--", pattern];
        self.ask(dir, &question).is_ok_and(|answer| answer.status.success())
    }

    /// Whether another worktree has this branch checked out.
    #[must_use]
    pub fn is_in_other_worktree(&self, dir: &Path, branch: &str) -> bool {
        let reference = format!("refs/heads/{branch}");
        self.line(dir, &["for-each-ref", "--format=%(worktreepath)", &reference]).is_some()
    }

    /// Whether the commit that is checked out contains the commit `name`.
    #[must_use]
    pub fn is_merged(&self, dir: &Path, name: &str) -> bool {
        let asked = self.ask(dir, &["merge-base", "--is-ancestor", "--end-of-options", name, "HEAD"]);
        asked.is_ok_and(|answer| answer.status.success())
    }

    /// The last commit that brought `text` into `path` below `dir`, or before the one that took it away, on any branch or in the
    /// reflog.
    #[must_use]
    pub fn commit_with(&self, dir: &Path, path: &Path, text: &str) -> Option<GitRef> {
        self.top(dir)?;
        let path = &format!(":(literal){}", path.display());
        // The last commit that brought the text or took it away. A merge is compared with each of its parents.
        let search = ["log", "--all", "--reflog", "-m", "--no-renames", "-1", "--format=%H %P"];
        let found = self.line(dir, &[&search[..], &["-S", text, "--", path]].concat())?;
        // Of a merge there is a line for each parent.
        for commit in found.lines().next()?.split(' ') {
            if self.has_in(dir, commit, path, text) {
                return Some(GitRef::Commit(self.line(dir, &["rev-parse", "--short", commit])?));
            }
        }
        None
    }
}
