//! A bare repository of flow's own, through which commits go to a repository elsewhere and come from there.
//!
//! The user's own repository is not touched, and nothing that it configures is run: no hook, no command. What the user
//! configured for themselves counts, such as how to log in. Nothing asks on a terminal. The address of the other
//! repository may hold a password, so git gets it through its environment, where other users cannot read it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::host::git::command::{FOREIGN, Git};
use crate::host::git::running::{GitAnswer, LIMIT, RunningGit, file_with, is_cut, reason};
use crate::model::{secrets_in, sha256_hex, without_secrets};

/// The name by which git knows the other repository.
const OTHER: &str = "flow";
/// What the name of a directory begins with that is being made.
const NEW: &str = ".new-git-";
/// The tree without files, which git knows in every repository of a format.
const NO_FILES: [(&str, &str); 2] = [
    (SHA1, "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
    (SHA256, "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"),
];
/// How git names objects. Both repositories have to do so in the same way.
const SHA1: &str = "sha1";
const SHA256: &str = "sha256";
/// What git says of two repositories that do not.
const OTHER_FORMAT: [&str; 2] = ["mismatched algorithms", "does not support this repository's hash algorithm"];
/// How old a lock is that a process of git left which was killed: none of them works so long.
const OLD_LOCK: Duration = Duration::from_secs(60);
/// The lines of the configuration of a new repository: sections, and keys without their values.
const OF_A_NEW_ONE: [&str; 10] = [
    "",
    "[core]",
    "bare",
    "filemode",
    "ignorecase",
    "precomposeunicode",
    "repositoryformatversion",
    "[extensions]",
    "objectformat",
    "refstorage",
];
/// Files of a repository that name another configuration, or an address.
const LEADING_ELSEWHERE: [&str; 4] = ["commondir", "config.worktree", "remotes", "branches"];
/// What a server says that takes nothing from this user, before anything is sent.
const FORBIDDEN: [&str; 2] = ["returned error: 403", "marked as read only"];
/// How many lines of a hook are quoted.
const WORDS: usize = 3;
/// What git is told for all its commands.
const SETTINGS: [(&str, &str); 7] = [
    ("core.hooksPath", "/dev/null"),
    ("gc.autoDetach", "false"),
    ("i18n.commitEncoding", "UTF-8"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
    // None of those that the user configured for pushes of their own: many servers take none.
    ("push.pushOption", ""),
];

/// A bare repository, and the one elsewhere.
#[derive(Debug, Clone)]
pub struct BareRepository {
    git: Git,
    pub(super) dir: PathBuf,
    address: String,
    /// The user's repository, whose headers log in at the address.
    users: Option<PathBuf>,
    headers: OnceLock<Vec<(String, String)>>,
    has_own_ssh: OnceLock<bool>,
}

/// What a commit says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageOf {
    /// The id of the commit.
    pub id: String,
    /// That of the commit before it.
    pub parent: Option<String>,
    /// Its message.
    pub message: String,
}

/// A reference that is to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefChange {
    /// Its whole name.
    pub name: String,
    /// The commit that it names now; `None` if it does not exist.
    pub from: Option<String>,
    /// The commit that it is to name; `None` to delete it.
    pub to: Option<String>,
}

/// The outcome of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushOutcome {
    /// All references have changed.
    Done,
    /// One of them names another commit than was said, so none has changed.
    Stale,
    /// The other repository refuses it, and would refuse it again. The text has its words.
    Refused(String),
    /// Nothing was sent. The text says why.
    NotSent(String),
    /// They may have changed, or change later. The text says why that is not known.
    Unknown(String),
}

impl BareRepository {
    /// The one in `dir`, for the repository at `address`. Of the repository in `users`, what it sends to log in counts there.
    /// Touches none of them.
    #[must_use]
    pub fn new(git: Git, dir: PathBuf, address: String, users: Option<PathBuf>) -> Self {
        Self { git, dir, address, users, headers: OnceLock::new(), has_own_ssh: OnceLock::new() }
    }

    /// Makes the directory, if it is missing, and once more if git would read more settings in it than those of a new one. It
    /// is in the checkout, so a commit may bring one that sends everything elsewhere, or names commands.
    ///
    /// # Errors
    /// Why git could not make it.
    pub fn ensure(&self) -> Result<(), String> {
        let is_there = self.dir.join("HEAD").exists();
        if is_there && has_no_settings(&self.dir) {
            return Ok(());
        }
        self.make(SHA1)
    }

    /// Makes the directory with objects that are named in this way, in place of the one that is there.
    fn make(&self, format: &str) -> Result<(), String> {
        // Others may make it at the same time, so it appears whole.
        let parent = self.dir.parent().unwrap_or(Path::new("/"));
        let new = tempfile::Builder::new().prefix(NEW).tempdir_in(parent);
        let new = new.map_err(|error| format!("cannot make a directory in {}: {error}", parent.display()))?;
        let mut command = Command::new(&self.git.program);
        command.args(["init", "--quiet", "--bare", "--template=", "--"]).arg(new.path());
        // Whatever the user prefers for repositories of their own.
        command.env("GIT_DEFAULT_HASH", format).env("GIT_DEFAULT_REF_FORMAT", "files");
        self.run(command, None, LIMIT)?;
        // Removed with all that is in it.
        let _old = if self.dir.symlink_metadata().is_ok() { Some(self.set_aside(parent)?) } else { None };
        match fs::rename(new.path(), &self.dir) {
            Err(error) if !self.dir.join("HEAD").exists() => {
                Err(format!("cannot make {}: {error}", self.dir.display()))
            }
            _ => Ok(()),
        }
    }

    /// Mends what may be the reason of a failure here: the other repository names objects in another way, a process of git that
    /// was killed has left a lock, or the directory is damaged. Whether it mended something.
    ///
    /// # Errors
    /// Why it could not be mended.
    pub fn mend(&self, why: &str) -> Result<bool, String> {
        if OTHER_FORMAT.iter().any(|words| why.contains(words)) {
            self.make(if self.format() == SHA1 { SHA256 } else { SHA1 })?;
            return Ok(true);
        }
        if let Some(lock) = self.lock_in(why) {
            let age = fs::metadata(&lock).and_then(|lock| lock.modified()).ok().and_then(|since| since.elapsed().ok());
            return Ok(age.is_some_and(|age| age > OLD_LOCK) && fs::remove_file(&lock).is_ok());
        }
        if is_of_the_other(why) || self.is_whole() {
            return Ok(false);
        }
        self.make(self.format())?;
        Ok(true)
    }

    /// The lock of this repository that git complains about.
    fn lock_in(&self, why: &str) -> Option<PathBuf> {
        let (_, rest) = why.split_once("Unable to create '")?;
        let lock = PathBuf::from(rest.split_once('\'')?.0);
        (lock.starts_with(&self.dir) && lock.extension().is_some_and(|ending| ending == "lock")).then_some(lock)
    }

    /// Whether git can read all that the references here name.
    fn is_whole(&self) -> bool {
        let mut command = self.command();
        command.args(["rev-list", "--objects", "--quiet", "--all"]);
        self.run(command, None, LIMIT * 6).is_ok()
    }

    /// How objects are named here.
    fn format(&self) -> &'static str {
        let config = fs::read_to_string(self.dir.join("config")).unwrap_or_default();
        if config.to_ascii_lowercase().contains(SHA256) { SHA256 } else { SHA1 }
    }

    /// Moves the directory into one that is removed.
    fn set_aside(&self, parent: &Path) -> Result<TempDir, String> {
        let aside = tempfile::Builder::new().prefix(NEW).tempdir_in(parent);
        let moved = aside.and_then(|aside| fs::rename(&self.dir, aside.path().join("old")).map(|()| aside));
        moved.map_err(|error| format!("{} is not one that flow made, and cannot be moved: {error}", self.dir.display()))
    }

    /// Brings the references that these patterns name, and forgets those that are gone.
    ///
    /// # Errors
    /// Why git did not bring them.
    pub fn fetch(&self, patterns: &[String], limit: Duration) -> Result<(), String> {
        let mut command = self.command();
        command.args(["fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--force", OTHER]);
        command.args(patterns);
        self.run(command, None, limit).map(drop)
    }

    /// The references of the other repository that match these patterns, each with the object that it names.
    ///
    /// # Errors
    /// Why git did not list them.
    pub fn listed(&self, patterns: &[String], limit: Duration) -> Result<Vec<(String, String)>, String> {
        let mut command = self.command();
        command.args(["ls-remote", "--refs", "--quiet", OTHER]).args(patterns);
        let out = self.run(command, None, limit)?;
        let out = String::from_utf8_lossy(&out);
        Ok(out.lines().filter_map(|line| line.split_once('\t')).map(|(id, name)| (name.into(), id.into())).collect())
    }

    /// The messages of `commit` and the ones before it, the latest first: `count` of them after `skip`. Fewer if they would
    /// be very long together; `None` if the first one is too long alone.
    ///
    /// # Errors
    /// Why git did not show them.
    pub fn messages(&self, commit: &str, skip: usize, count: usize) -> Result<Option<Vec<String>>, String> {
        let mut count = count;
        loop {
            let mut command = self.command();
            command.args(["rev-list", "--first-parent", "--format=%B%x00"]);
            command.args([format!("--skip={skip}"), format!("--max-count={count}"), commit.to_owned()]);
            let answer = self.answer(command, None, LIMIT * 6)?;
            if is_cut(&answer.out) && count > 1 {
                count /= 2;
                continue;
            }
            if is_cut(&answer.out) {
                return Ok(None);
            }
            if !answer.status.success() {
                return Err(self.complaint(&answer));
            }
            let out = String::from_utf8_lossy(&answer.out);
            let mut messages = Vec::new();
            for part in out.split('\0') {
                // In front of each message stands the line `commit ID`.
                if let Some((_, message)) = part.trim_start_matches('\n').split_once('\n') {
                    messages.push(format!("{}\n", message.trim_end_matches('\n')));
                }
            }
            return Ok(Some(messages));
        }
    }

    /// The commits of these tips and the ones before them, each with the one before it and its message. In no particular
    /// order.
    ///
    /// # Errors
    /// Why git did not show them, also if they are very long together.
    pub fn histories(&self, tips: &[&str]) -> Result<Vec<MessageOf>, String> {
        let mut command = self.command();
        command.args(["rev-list", "--first-parent", "--parents", "--format=%x01%B%x00", "--ignore-missing", "--stdin"]);
        let out = self.run(command, Some(tips.join("\n").as_bytes()), LIMIT * 6)?;
        if is_cut(&out) {
            return Err("the messages of these commits are too long".to_owned());
        }
        let out = String::from_utf8_lossy(&out);
        let mut all = Vec::new();
        for part in out.split('\0') {
            // In front of each message stands the line `commit ID PARENT`.
            let Some((head, message)) = part.split_once('\u{1}') else { continue };
            let mut ids = head.split_whitespace().skip(1).map(str::to_owned);
            let Some(id) = ids.next() else { continue };
            all.push(MessageOf { id, parent: ids.next(), message: format!("{}\n", message.trim_end_matches('\n')) });
        }
        Ok(all)
    }

    /// Makes a commit with these files, each under its SHA-256, and returns its id. `at` is in seconds since 1970: the same
    /// arguments make the same commit.
    ///
    /// # Errors
    /// Why git did not make it.
    pub fn commit(&self, parent: Option<&str>, files: &[Vec<u8>], message: &str, at: i64) -> Result<String, String> {
        let tree = self.tree(files)?;
        let mut command = self.command();
        command.args(["commit-tree", &tree]);
        if let Some(parent) = parent {
            command.args(["-p", parent]);
        }
        let date = format!("@{at} +0000");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "flow");
            command.env(format!("GIT_{who}_EMAIL"), "flow@localhost");
            command.env(format!("GIT_{who}_DATE"), &date);
        }
        self.id_from(command, message.as_bytes())
    }

    /// The tree of these files.
    fn tree(&self, files: &[Vec<u8>]) -> Result<String, String> {
        if files.is_empty() {
            let format = self.format();
            let tree = NO_FILES.iter().find(|(of, _)| *of == format).map_or(NO_FILES[0].1, |(_, tree)| *tree);
            return Ok(tree.to_owned());
        }
        let mut entries = BTreeMap::new();
        for file in files {
            let mut command = self.command();
            command.args(["hash-object", "-w", "--stdin"]);
            entries.insert(sha256_hex(file), self.id_from(command, file)?);
        }
        let mut command = self.command();
        command.arg("mktree");
        let lines: String = entries.iter().map(|(name, id)| format!("100644 blob {id}\t{name}\n")).collect();
        self.id_from(command, lines.as_bytes())
    }

    /// The file that `commit`, or the first one before it that has one of this name, has under `name`.
    ///
    /// # Errors
    /// Why git did not show it.
    pub fn file(&self, commit: &str, name: &str) -> Result<Option<Vec<u8>>, String> {
        let mut command = self.command();
        // The commit behind the one that has it is listed as well, as it lacks it.
        command.args(["rev-list", "--first-parent", "--reverse", commit, "--", name]);
        let out = self.run(command, None, LIMIT * 6)?;
        let Some(first) = String::from_utf8_lossy(&out).lines().next().map(str::to_owned) else { return Ok(None) };
        let mut command = self.command();
        command.args(["cat-file", "blob", &format!("{first}:{name}")]);
        self.run(command, None, LIMIT * 6).map(Some)
    }

    /// Runs a command that reads `input` and prints the id of an object.
    fn id_from(&self, command: Command, input: &[u8]) -> Result<String, String> {
        let out = self.run(command, Some(input), LIMIT)?;
        Ok(String::from_utf8_lossy(&out).trim().to_owned())
    }

    /// Changes references of the other repository, all or none.
    #[must_use]
    pub fn push(&self, changes: &[RefChange], limit: Duration) -> PushOutcome {
        let mut command = self.command();
        command.args(["push", "--porcelain", "--no-verify", "--atomic", "--no-follow-tags", "--signed=no"]);
        for RefChange { name, from, .. } in changes {
            command.arg(format!("--force-with-lease={name}:{}", from.as_deref().unwrap_or_default()));
        }
        command.arg(OTHER);
        command
            .args(changes.iter().map(|change| format!("{}:{}", change.to.as_deref().unwrap_or_default(), change.name)));
        let answer = match self.answer(command, None, limit) {
            Ok(answer) => answer,
            Err(why) => return PushOutcome::Unknown(why),
        };
        if answer.status.success() {
            return PushOutcome::Done;
        }
        let out = String::from_utf8_lossy(&answer.out);
        // One line for each reference: flag, names, and in brackets whether it was updated.
        let refused: Vec<_> = out.lines().filter(|line| line.starts_with('!')).collect();
        // What a rule of the repository declined, it will decline the next time. Of the others in the push git says that as well.
        let declined = refused.iter().find(|line| !is_stale(line) && !line.contains("atomic"));
        let (why, complaint) = (self.complaint(&answer), String::from_utf8_lossy(&answer.complaint));
        // A reference that would stand below another one cannot be made by any writer.
        let is_in_the_way = complaint.contains("' exists; cannot create '");
        if declined.is_none() && !is_in_the_way && refused.iter().any(|line| is_stale(line)) {
            return PushOutcome::Stale;
        }
        if let Some(line) = declined.or(refused.first()) {
            let mut said = line.rsplit('\t').next().unwrap_or(line).to_owned();
            for own in complaint.lines().filter_map(words_of_the_other).take(WORDS) {
                said += &format!("; {own}");
            }
            return PushOutcome::Refused(self.without_password(said));
        }
        if FORBIDDEN.iter().any(|words| complaint.contains(words)) {
            return PushOutcome::Refused(why);
        }
        if is_before_sending(&complaint) { PushOutcome::NotSent(why) } else { PushOutcome::Unknown(why) }
    }

    /// Git for this repository.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.git.program);
        command.arg("--git-dir").arg(&self.dir).arg("--no-pager");
        command
    }

    pub(super) fn run(&self, command: Command, input: Option<&[u8]>, limit: Duration) -> Result<Vec<u8>, String> {
        let answer = self.answer(command, input, limit)?;
        if answer.status.success() { Ok(answer.out) } else { Err(self.complaint(&answer)) }
    }

    pub(super) fn answer(
        &self,
        mut command: Command,
        input: Option<&[u8]>,
        limit: Duration,
    ) -> Result<GitAnswer, String> {
        for variable in FOREIGN {
            command.env_remove(variable);
        }
        command.env("GIT_TERMINAL_PROMPT", "0").env("SSH_ASKPASS_REQUIRE", "never").env("LC_ALL", "C");
        // No address may name a program.
        command.env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
        let place = self.dir.parent().unwrap_or(Path::new("/"));
        let is_set = ["GIT_SSH_COMMAND", "GIT_SSH"].iter().any(|name| std::env::var_os(name).is_some());
        // A variable would take the place of what the user configured.
        if self.is_by_ssh() && !is_set && !self.has_own_ssh.get_or_init(|| self.git.has_own_ssh(place)) {
            command.env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
        }
        command.envs(self.git.environment.iter().map(|(name, value)| (name, value)));
        command.envs(self.settings());
        // What is in the way of git's own directories is not this one's.
        command.current_dir(place);
        let input = match input {
            Some(bytes) => file_with(bytes).map_err(|error| format!("cannot write what git is to read: {error}"))?,
            None => Stdio::null(),
        };
        let asked = RunningGit::start(&mut command, input, limit).map_err(|silence| silence.why())?;
        asked.answer(Instant::now() + limit).map_err(|silence| self.without_password(silence.why()))
    }

    /// The settings, as variables that git reads.
    fn settings(&self) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(String, String)> = vec![(format!("remote.{OTHER}.url"), self.address.clone())];
        all.extend(SETTINGS.map(|(key, value)| (key.to_owned(), value.to_owned())));
        all.extend(self.headers().iter().cloned());
        let mut variables = vec![("GIT_CONFIG_COUNT".into(), all.len().to_string().into())];
        for (nth, (key, value)) in all.into_iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{nth}").into(), key.into()));
            variables.push((format!("GIT_CONFIG_VALUE_{nth}").into(), value.into()));
        }
        variables
    }

    fn headers(&self) -> &[(String, String)] {
        self.headers.get_or_init(|| match &self.users {
            Some(users) if self.address.starts_with("http") => self.git.headers(users),
            _ => Vec::new(),
        })
    }

    /// The other repository, where it is a directory of this machine.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        if self.address.contains(':') { None } else { Some(self.address.clone().into()) }
    }

    fn is_by_ssh(&self) -> bool {
        self.address.starts_with("ssh://") || !self.address.contains("://") && self.address.contains(':')
    }

    /// What git complained about, without what may be a password.
    pub(super) fn complaint(&self, answer: &GitAnswer) -> String {
        self.without_password(reason(answer))
    }

    fn without_password(&self, said: String) -> String {
        let mut said = said.replace(&self.address, &without_secrets(&self.address));
        for secret in secrets_in(&self.address) {
            said = said.replace(secret, "…");
        }
        said
    }
}

/// Whether git reads no settings in a bare repository but what `git init` wrote.
fn has_no_settings(dir: &Path) -> bool {
    if LEADING_ELSEWHERE.iter().any(|name| dir.join(name).symlink_metadata().is_ok()) {
        return false;
    }
    let Ok(config) = fs::read_to_string(dir.join("config")) else { return false };
    config.lines().all(|line| {
        let line = line.trim().to_ascii_lowercase();
        let key = line.split_once('=').map_or(line.as_str(), |(key, _)| key.trim_end());
        OF_A_NEW_ONE.contains(&key)
    })
}

/// What a hook of the other repository said in a line of git's complaint.
fn words_of_the_other(line: &str) -> Option<&str> {
    let said = line.strip_prefix("remote:")?.trim();
    if said.is_empty() { None } else { Some(said) }
}

/// Whether a line of a push says that a reference names another commit than was said, or is being changed.
fn is_stale(line: &str) -> bool {
    [
        "stale info",
        "cannot lock ref",
        "failed to update ref",
        "incorrect old value",
        "already exists",
        "fetch first",
        "atomic transaction failed",
    ]
    .iter()
    .any(|word| line.contains(word))
}

/// Whether a failure certainly is about the other repository, or about the way there.
fn is_of_the_other(why: &str) -> bool {
    let words = [
        "git took longer",
        "no time was left",
        "unable to access",
        "Could not resolve",
        "Could not read from remote repository",
        "Authentication failed",
        "could not read Username",
        "could not read Password",
        "does not appear to be a git repository",
        "Connection",
        "refused the push",
    ];
    words.iter().any(|word| why.contains(word))
}

/// Whether a push failed before anything was sent.
fn is_before_sending(complaint: &str) -> bool {
    // git itself refuses to send, and hangs up.
    if complaint.contains("the receiving end does not support") {
        return true;
    }
    let is_before = [
        "unable to access",
        "Could not resolve",
        "Authentication failed",
        "could not read Username",
        "could not read Password",
        "does not appear to be a git repository",
        "Repository not found",
        "Permission denied",
        "not allowed",
    ];
    let is_during = ["RPC failed", "send-pack", "unpack", "hung up unexpectedly"];
    is_before.iter().any(|word| complaint.contains(word)) && !is_during.iter().any(|word| complaint.contains(word))
}
