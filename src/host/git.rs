//! Facts about the checkout, from the `git` program.
//!
//! A repository is untrusted. So git must not start helpers that a repository can name, must not lock the index, and
//! must not prompt. It has a time limit, and its output is bounded. The commands in this file start no helper, however
//! git is configured. The one that would, to find changed files, is in `tree`.
#![expect(clippy::disallowed_methods, reason = "git is the one program that flow runs")]

mod asked;
mod common;
mod head;
mod settings;
mod sparse;
mod tree;
mod worktrees;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use asked::{Answer, Asked, Silence};

use crate::model::Remote;

pub use head::Head;
pub use tree::{AskedForChanges, WorkingTree};

/// The time limit of one git command.
const LIMIT: Duration = Duration::from_secs(5);
/// How many references are searched.
const BRANCHES: usize = 100;
/// The longest reason, in characters.
const REASON: usize = 200;

/// Makes git wait for no lock, never prompt, and fetch nothing that a partial clone left out.
const QUIET: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("LC_ALL", "C"),
];

/// The exit status of `git config` if the key does not exist.
const NO_SUCH_KEY: i32 = 1;
/// Variables that git sets while it runs a hook. They name that git's repository, which may be another one than the one
/// asked about.
const FOREIGN: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// A reference to a version of a repository's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitRef {
    /// A branch.
    Branch(String),
    /// The stash.
    Stash,
    /// A remote-tracking branch: `origin/main`.
    Remote(String),
    /// A tag.
    Tag(String),
    /// A commit that no branch's end has any more: its short id.
    Commit(String),
}

impl GitRef {
    fn of(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("refs/")?;
        match rest.split_once('/') {
            None => (rest == "stash").then_some(Self::Stash),
            Some(("heads", branch)) => Some(Self::Branch(branch.to_owned())),
            // `origin/HEAD` is another name for one of the remote's branches.
            Some(("remotes", branch)) => (!branch.ends_with("/HEAD")).then(|| Self::Remote(branch.to_owned())),
            Some(("tags", tag)) => Some(Self::Tag(tag.to_owned())),
            Some(_) => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Branch(_) => 0,
            Self::Stash => 1,
            Self::Remote(_) => 2,
            Self::Tag(_) => 3,
            Self::Commit(_) => 4,
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

/// The `git` program.
#[derive(Debug, Clone)]
pub struct Git {
    program: OsString,
    limit: Duration,
    environment: Vec<(OsString, OsString)>,
}

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

impl Default for Git {
    fn default() -> Self {
        Self::new("git")
    }
}

impl Git {
    /// Uses another name or path for git.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), limit: LIMIT, environment: Vec::new() }
    }

    /// The top of the checkout that contains `dir`: the nearest directory with a `.git` entry. Does not run git.
    #[must_use]
    pub fn top(&self, dir: &Path) -> Option<PathBuf> {
        self.find_top(dir).ok().flatten()
    }

    /// As [`Self::top`].
    ///
    /// # Errors
    /// If a directory cannot be inspected.
    pub fn find_top(&self, dir: &Path) -> io::Result<Option<PathBuf>> {
        let dir = std::path::absolute(dir)?;
        for dir in dir.ancestors() {
            match dir.join(".git").symlink_metadata() {
                Ok(_) => return Ok(Some(dir.to_owned())),
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

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
    fn head_from_git(&self, dir: &Path) -> Head {
        let branch = self.line(dir, &["symbolic-ref", "--quiet", "HEAD"]);
        Head {
            branch: branch.map(|name| name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned()),
            commit: self.line(dir, &["rev-parse", "--quiet", "--verify", "HEAD"]),
        }
    }

    /// The remote `origin`, and whether git has answered; without the program there is none.
    fn ask_for_remote(&self, dir: &Path, state: Option<PathBuf>) -> (Option<Remote>, bool) {
        let of_silence = |silence: Silence| (None, matches!(silence, Silence::NoProgram(_)));
        if let Some(places) = self.places(dir) {
            match self.own_settings(&places, state.as_deref(), Instant::now() + self.limit) {
                Ok(Some(settings)) => {
                    let url = settings.into_iter().rev().find(|(key, _)| key == settings::REMOTE);
                    let url = url.and_then(|(_, url)| url).unwrap_or_default();
                    return (Remote::parse(&String::from_utf8_lossy(&url)), true);
                }
                Ok(None) => {}
                Err(silence) => return of_silence(silence),
            }
        }
        // `--local`: if git does not find the repository, it would otherwise read only the user's configuration and
        // report that there is no origin.
        let question = ["config", "--local", "--includes", "--get", "remote.origin.url"];
        let answer = match self.ask(dir, &question) {
            Ok(answer) => answer,
            Err(silence) => return of_silence(silence),
        };
        match answer.status.code() {
            Some(0) => (Remote::parse(&String::from_utf8_lossy(&answer.out)), true),
            Some(NO_SUCH_KEY) => (None, true),
            _ => (None, false),
        }
    }

    /// The references whose version of `path` below `dir` contains `text`: branches, the stash, remote-tracking
    /// branches and tags, in this order, the latest first. Empty if it is unknown.
    #[must_use]
    pub fn refs_with(&self, dir: &Path, path: &Path, text: &str) -> Vec<GitRef> {
        let count = format!("--count={BRANCHES}");
        let list = ["for-each-ref", "--sort=-creatordate", &count, "--format=%(refname)"];
        let places = ["refs/heads", "refs/stash", "refs/remotes", "refs/tags"];
        let refs = match self.ask(dir, &[&list[..], &places].concat()) {
            Ok(answer) if self.top(dir).is_some() => String::from_utf8_lossy(&answer.out).into_owned(),
            _ => return Vec::new(),
        };
        let refs: Vec<&str> = refs.lines().filter(|name| GitRef::of(name).is_some()).collect();
        if refs.is_empty() {
            return Vec::new();
        }
        let path = format!(":(literal){}", path.display());
        let mut question = vec!["grep", "--no-textconv", "-l", "-F", "-e", text];
        question.extend(&refs);
        question.extend(["--", &path]);
        // git fails if it finds nothing.
        let Ok(answer) = self.ask(dir, &question) else { return Vec::new() };
        let found = String::from_utf8_lossy(&answer.out).into_owned();
        let has =
            |name: &&str| found.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')));
        let mut found: Vec<_> = refs.into_iter().filter(has).filter_map(GitRef::of).collect();
        found.sort_by_key(GitRef::rank);
        if found.is_empty() { self.commit_with(dir, &path, text).into_iter().collect() } else { found }
    }

    /// The last commit before one that removed `path`, if its version of that contains `text`.
    fn commit_with(&self, dir: &Path, path: &str, text: &str) -> Option<GitRef> {
        let removal = ["log", "--all", "--diff-filter=D", "--no-renames", "-1", "--format=%P", "--", path];
        let parent = self.line(dir, &removal)?.split(' ').next()?.to_owned();
        let has = self.ask(dir, &["grep", "--no-textconv", "-q", "-F", "-e", text, &parent, "--", path]).ok()?;
        let id = self.line(dir, &["rev-parse", "--short", &parent])?;
        has.status.success().then_some(GitRef::Commit(id))
    }

    /// The one line of git's output; `None` if git fails or prints nothing.
    fn line(&self, dir: &Path, question: &[&str]) -> Option<String> {
        let answer = self.ask(dir, question).ok()?;
        let line = String::from_utf8_lossy(&answer.out).trim().to_owned();
        (answer.status.success() && !line.is_empty()).then_some(line)
    }

    fn ask(&self, dir: &Path, question: &[&str]) -> Result<Answer, Silence> {
        self.start(&[], dir, question)?.answer(Instant::now() + self.limit)
    }

    /// Starts git in the repository that the variables in `repository` name, or in the one that contains `dir`.
    fn start(&self, repository: &[(&str, OsString)], dir: &Path, question: &[&str]) -> Result<Asked, Silence> {
        let mut command = Command::new(&self.program);
        command
            .arg("-C")
            .arg(dir)
            .args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"])
            // git would not look at a repository of another owner. Whether flow may is decided by its own rule, and no
            // command here starts what such a repository configures.
            .args(["-c", "safe.directory=*"])
            .args(question);
        for variable in FOREIGN {
            command.env_remove(variable);
        }
        command
            .envs(QUIET.iter().copied())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .envs(repository.iter().map(|(name, value)| (name, value)));
        Asked::start(&mut command, self.limit)
    }
}

fn own_name(dir: &Path) -> Option<String> {
    dir.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn reason(answer: &Answer) -> String {
    let complaint = String::from_utf8_lossy(&answer.complaint);
    match complaint.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => line.trim_start_matches("fatal: ").chars().take(REASON).collect(),
        None => format!("git failed ({})", answer.status),
    }
}

#[cfg(test)]
mod tests;
