//! The `git` program, and how it is started.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::host::git::running::{GitAnswer, LIMIT, RunningGit, Silence, SilentRepositories};

/// Makes git wait for no lock, never prompt, fetch nothing that a partial clone left out, and take no commit or file for another
/// one that the repository put in its place.
const QUIET: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("LC_ALL", "C"),
];

/// The exit status of `git config` if the key does not exist.
pub(super) const NO_SUCH_KEY: i32 = 1;
/// Refuses what is not the whole id of a commit, such as an option of git: it comes from a log, which anyone may have written.
pub(super) fn check_commit_id(commit: &str) -> Result<(), String> {
    if commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    Err("a commit has no valid id".to_owned())
}

/// Variables that git sets while it runs a hook. They name that git's repository, which may be another one than the one
/// asked about, or say how that git reads paths and attributes: what flow asks of git would mean something else.
pub(super) const FOREIGN: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_ATTR_SOURCE",
];

/// Variables that configure git. Who asks would decide which files are there: `core.excludesFile` hides some.
const CONFIGURING: [&str; 3] = ["GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"];

/// The `git` program.
#[derive(Debug, Clone)]
pub struct Git {
    pub(in crate::host) program: OsString,
    pub(in crate::host) limit: Duration,
    /// How long it may do nothing, where the limit is longer.
    pub(in crate::host) idle: Duration,
    pub(in crate::host) environment: Vec<(OsString, OsString)>,
    pub(in crate::host) silent: SilentRepositories,
}

impl Default for Git {
    fn default() -> Self {
        Self::new("git")
    }
}

impl Git {
    /// Uses another name or path for git.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            limit: LIMIT,
            idle: LIMIT,
            environment: Vec::new(),
            silent: SilentRepositories::default(),
        }
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

    /// The one line of git's output; `None` if git fails or prints nothing.
    pub(super) fn line(&self, dir: &Path, question: &[&str]) -> Option<String> {
        let answer = self.ask(dir, question).ok()?;
        let line = String::from_utf8_lossy(&answer.out).trim().to_owned();
        (answer.status.success() && !line.is_empty()).then_some(line)
    }

    pub(super) fn ask(&self, dir: &Path, question: &[&str]) -> Result<GitAnswer, Silence> {
        self.start(&[], dir, question)?.answer(Instant::now() + self.limit)
    }

    /// Starts git in the repository that the variables in `repository` name, or in the one that contains `dir`.
    pub(super) fn start(
        &self,
        repository: &[(&str, OsString)],
        dir: &Path,
        question: &[&str],
    ) -> Result<RunningGit, Silence> {
        self.start_with(repository, dir, question, Stdio::null())
    }

    /// As [`Self::start`], with something to read.
    pub(super) fn start_with(
        &self,
        repository: &[(&str, OsString)],
        dir: &Path,
        question: &[&str],
        input: Stdio,
    ) -> Result<RunningGit, Silence> {
        let mut command = Command::new(&self.program);
        command
            .arg("-C")
            .arg(dir)
            .args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"])
            // git would not look at a repository of another owner. Whether flow may is decided by its own rule, and no
            // command here starts what such a repository configures.
            .args(["-c", "safe.directory=*"])
            .args(question);
        for variable in FOREIGN.iter().chain(&CONFIGURING) {
            command.env_remove(variable);
        }
        command.envs(QUIET.iter().copied());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.envs(repository.iter().map(|(name, value)| (name, value)));
        // Whatever it waits for, such as a pipe in place of a file, it would wait for again.
        let top = self.top(dir).unwrap_or_else(|| dir.to_owned());
        if self.silent.has(&top) {
            return Err(Silence::NoAnswer("git did not answer before, so it is not asked again".to_owned()));
        }
        let asked = RunningGit::start(&mut command, input, self.limit)?;
        Ok(asked.idle_at_most(self.idle).noting_silence(&self.silent, top))
    }
}
