//! Facts about the checkout, asked of the `git` program.
//!
//! A repository is untrusted: git is kept from starting the helpers that a repository can name, from locking the index
//! and from asking anyone anything. It gets a time limit, and what it prints is bounded. The questions here start no
//! helper, whatever is configured; the one that would, for changed files, is asked in `tree`.
#![expect(clippy::disallowed_methods, reason = "git is the one program that flow runs")]

mod tree;
mod worktrees;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::child::kill;
use super::remote::repository_name;

pub use tree::WorkingTree;

/// How long one question may take.
const LIMIT: Duration = Duration::from_secs(5);
/// How much of an answer is read, in bytes.
const OUTPUT_BYTES: u64 = 8 << 20;
/// How much of git's complaint is read, in bytes.
const COMPLAINT_BYTES: u64 = 4 << 10;
/// How many branches are searched.
const BRANCHES: usize = 100;
/// Longest reason, in characters.
const REASON: usize = 200;

/// Git waits for no lock, asks nobody anything, and fetches nothing that a partial clone left out.
const QUIET: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("LC_ALL", "C"),
];

/// How `git config` exits when there is no such key.
const NO_SUCH_KEY: i32 = 1;
/// Set while git runs a hook; they name the repository of that git, which need not be the one asked about.
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

/// A place at which a repository keeps a version of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitRef {
    /// A branch.
    Branch(String),
    /// The stash.
    Stash,
    /// A branch of a remote as it was fetched: `origin/main`.
    Remote(String),
    /// A tag.
    Tag(String),
}

impl GitRef {
    fn of(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("refs/")?;
        match rest.split_once('/') {
            None => (rest == "stash").then_some(Self::Stash),
            Some(("heads", branch)) => Some(Self::Branch(branch.to_owned())),
            // `origin/HEAD` is another name of one of its branches.
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

/// What a run notes of its checkout when it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitFacts {
    /// `owner/name` of the remote `origin`, else the name of the top directory, or of the directory itself outside of a
    /// checkout. None when that could not be told: a git that fails is no reason to call it by another name.
    pub repo: Option<String>,
    /// The branch, also before its first commit; the short commit id when none is checked out.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub head: Option<String>,
}

impl Default for Git {
    fn default() -> Self {
        Self::new("git")
    }
}

struct Answer {
    status: ExitStatus,
    out: Vec<u8>,
    complaint: Vec<u8>,
}

impl Git {
    /// Git under another name or path.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), limit: LIMIT, environment: Vec::new() }
    }

    /// The top of the checkout that `dir` is in: the nearest directory with a `.git` entry. Asks no program.
    #[must_use]
    pub fn top(&self, dir: &Path) -> Option<PathBuf> {
        self.find_top(dir).ok().flatten()
    }

    /// As [`Self::top`].
    ///
    /// # Errors
    /// When it cannot be told whether there is one.
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

    /// What is checked out at `dir`. What cannot be told is absent.
    #[must_use]
    pub fn facts(&self, dir: &Path) -> GitFacts {
        let top = match self.find_top(dir) {
            Ok(Some(top)) => top,
            Ok(None) => return GitFacts { repo: own_name(dir), ..GitFacts::default() },
            Err(_) => return GitFacts::default(),
        };
        let branch = self.line(dir, &["symbolic-ref", "--quiet", "HEAD"]);
        GitFacts {
            repo: self.repository(dir, &top),
            branch: match branch {
                Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned()),
                None => self.line(dir, &["rev-parse", "--quiet", "--verify", "--short", "HEAD"]),
            },
            head: self.line(dir, &["rev-parse", "--quiet", "--verify", "HEAD"]),
        }
    }

    /// As in [`GitFacts`].
    fn repository(&self, dir: &Path, top: &Path) -> Option<String> {
        // Where it cannot find the repository, git would look into the user's configuration alone and say that there is
        // no origin.
        let question = ["config", "--local", "--includes", "--get", "remote.origin.url"];
        let answer = match self.ask(dir, &question) {
            Ok(answer) => answer,
            Err(Silence::NoProgram(_)) => return own_name(top),
            Err(Silence::NoAnswer(_)) => return None,
        };
        match answer.status.code()? {
            0 => repository_name(String::from_utf8_lossy(&answer.out).trim()).or_else(|| own_name(top)),
            NO_SUCH_KEY => own_name(top),
            _ => None,
        }
    }

    /// The branches, the stash, the branches of remotes and the tags, in this order and each latest first, whose version of
    /// `path` below `dir` contains `text`. Nothing when that cannot be told.
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
        // It fails when nothing is found.
        let Ok(answer) = self.ask(dir, &question) else { return Vec::new() };
        let found = String::from_utf8_lossy(&answer.out).into_owned();
        let has =
            |name: &&str| found.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')));
        let mut found: Vec<_> = refs.into_iter().filter(has).filter_map(GitRef::of).collect();
        found.sort_by_key(GitRef::rank);
        found
    }

    /// The one line that git answers; `None` when it fails or says nothing.
    fn line(&self, dir: &Path, question: &[&str]) -> Option<String> {
        let answer = self.ask(dir, question).ok()?;
        let line = String::from_utf8_lossy(&answer.out).trim().to_owned();
        (answer.status.success() && !line.is_empty()).then_some(line)
    }

    fn ask(&self, dir: &Path, question: &[&str]) -> Result<Answer, Silence> {
        self.ask_of(&[], dir, question, Instant::now() + self.limit)
    }

    /// Asks of the repository that these variables name, or else of the one that `dir` is in.
    fn ask_of(
        &self,
        repository: &[(&str, OsString)],
        dir: &Path,
        question: &[&str],
        deadline: Instant,
    ) -> Result<Answer, Silence> {
        let mut command = Command::new(&self.program);
        command
            .arg("-C")
            .arg(dir)
            .args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"])
            .args(question)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for variable in FOREIGN {
            command.env_remove(variable);
        }
        command
            .envs(QUIET.iter().copied())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .envs(repository.iter().map(|(name, value)| (name, value)));
        // A group of its own, so that the time limit also ends what git started.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| cannot_start(&self.program, &error))?;
        collect(&mut child, deadline).unwrap_or_else(|| {
            kill(&mut child);
            Err(Silence::NoAnswer(format!("git took longer than {} s", self.limit.as_secs_f32())))
        })
    }
}

/// Why git said nothing, in words.
#[derive(Debug)]
enum Silence {
    /// It is not installed.
    NoProgram(String),
    /// It did not come to an answer.
    NoAnswer(String),
}

impl Silence {
    fn why(self) -> String {
        match self {
            Self::NoProgram(why) | Self::NoAnswer(why) => why,
        }
    }
}

fn own_name(dir: &Path) -> Option<String> {
    dir.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// Reads what `child` prints until it ends; `None` when the time is over.
fn collect(child: &mut Child, deadline: Instant) -> Option<Result<Answer, Silence>> {
    let out = bounded(child.stdout.take()?, OUTPUT_BYTES, false);
    let complaint = bounded(child.stderr.take()?, COMPLAINT_BYTES, true);
    let left = || deadline.saturating_duration_since(Instant::now());
    let out = out.recv_timeout(left()).ok()?;
    let complaint = complaint.recv_timeout(left()).ok()?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(Ok(Answer { status, out, complaint })),
            Ok(None) if left().is_zero() => return None,
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => return Some(Err(Silence::NoAnswer(format!("cannot wait for git: {error}")))),
        }
    }
}

/// Reads `from` up to `limit` bytes in a thread of its own, since two pipes cannot be read in turn. Behind the limit
/// the rest is passed over, or the pipe closed.
fn bounded(from: impl Read + Send + 'static, limit: u64, drain: bool) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut head = from.take(limit);
        // What was read before a failure is worth as much as a short answer; git's status tells.
        let _ = head.read_to_end(&mut bytes);
        if drain {
            let _ = io::copy(&mut head.into_inner(), &mut io::sink());
        } else {
            drop(head);
        }
        let _ = send.send(bytes);
    });
    receive
}

fn cannot_start(program: &OsStr, error: &io::Error) -> Silence {
    let program = program.to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => Silence::NoProgram(format!("there is no program `{program}`")),
        _ => Silence::NoAnswer(format!("cannot start `{program}`: {error}")),
    }
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
