//! Facts about the checkout, asked of the `git` program.
//!
//! A repository is untrusted: git is kept from starting the helpers that a repository can name, from locking the index
//! and from asking anyone anything. It gets a time limit, and what it prints is bounded.
#![expect(clippy::disallowed_methods, reason = "git is the one program that flow runs")]

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::child::kill;
use super::remote::repository_name;

/// How long one question may take.
const LIMIT: Duration = Duration::from_secs(5);
/// How much of an answer is read, in bytes.
const OUTPUT_BYTES: u64 = 8 << 20;
/// How much of git's complaint is read, in bytes.
const COMPLAINT_BYTES: u64 = 4 << 10;
/// How many changed paths are listed.
const PATHS: usize = 1000;
/// How many branches are searched.
const BRANCHES: usize = 100;
/// Longest reason, in characters.
const REASON: usize = 200;

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

/// Whether something is not committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkingTree {
    /// Nothing but flow's own files.
    Clean,
    /// These paths, relative to the repository's top; the first thousand.
    Dirty(Vec<String>),
    /// It cannot be told; the reason in one line.
    Unknown(String),
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

    /// Whether anything at `dir`'s checkout is changed, staged or untracked outside `own`: prefixes of paths relative
    /// to the top, such as `.flow/`. A renamed file counts where it is now.
    #[must_use]
    pub fn working_tree(&self, dir: &Path, own: &[&str]) -> WorkingTree {
        if self.top(dir).is_none() {
            return WorkingTree::Unknown("not a git repository".to_owned());
        }
        let tracked = ["status", "--porcelain=v1", "-z", "--untracked-files=no", "--renames"];
        // Left out by git itself: walking thousands of runs would cost more than the answer is worth. (Asked apart, since
        // a rename is only seen when both names are looked at.)
        let mut others = vec!["ls-files", "--others", "--exclude-standard", "-z", "--full-name", "--", ":(top)"];
        let left_out: Vec<_> =
            own.iter().map(|prefix| format!(":(top,exclude,literal){}", prefix.trim_end_matches('/'))).collect();
        others.extend(left_out.iter().map(String::as_str));
        let mut out = match self.listing(dir, &tracked) {
            Ok(out) => out,
            Err(reason) => return WorkingTree::Unknown(reason),
        };
        let untracked = match self.listing(dir, &others) {
            Ok(out) => out,
            Err(reason) => return WorkingTree::Unknown(reason),
        };
        for path in untracked.split(|&byte| byte == 0).filter(|path| !path.is_empty()) {
            out.extend_from_slice(b"?? ");
            out.extend_from_slice(path);
            out.push(0);
        }
        let cut = out.len() as u64 >= OUTPUT_BYTES;
        let paths = changed_paths(&out, own);
        match (paths.is_empty(), cut) {
            (false, _) => WorkingTree::Dirty(paths),
            (true, false) => WorkingTree::Clean,
            (true, true) => WorkingTree::Unknown("git lists too many changed files".to_owned()),
        }
    }

    /// The local branches, latest first, and the stash, whose version of `path` below `dir` contains `text`. Nothing
    /// when that cannot be told.
    #[must_use]
    pub fn branches_with(&self, dir: &Path, path: &Path, text: &str) -> Vec<String> {
        let count = format!("--count={BRANCHES}");
        let format = "--format=%(refname:short)";
        let list = ["for-each-ref", "--sort=-committerdate", &count, format, "refs/heads", "refs/stash"];
        let refs = match self.listing(dir, &list) {
            Ok(out) if self.top(dir).is_some() => String::from_utf8_lossy(&out).into_owned(),
            _ => return Vec::new(),
        };
        let refs: Vec<&str> = refs.lines().filter(|name| !name.is_empty()).collect();
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
        refs.into_iter().filter(has).map(str::to_owned).collect()
    }

    /// What git lists, entries ended by NUL; or why it does not.
    fn listing(&self, dir: &Path, question: &[&str]) -> Result<Vec<u8>, String> {
        let answer = self.ask(dir, question).map_err(Silence::why)?;
        // Git is stopped by the closed pipe when it has more to say than is read.
        let cut = answer.out.len() as u64 >= OUTPUT_BYTES;
        if !cut && !answer.status.success() {
            return Err(reason(&answer));
        }
        Ok(answer.out)
    }

    /// The one line that git answers; `None` when it fails or says nothing.
    fn line(&self, dir: &Path, question: &[&str]) -> Option<String> {
        let answer = self.ask(dir, question).ok()?;
        let line = String::from_utf8_lossy(&answer.out).trim().to_owned();
        (answer.status.success() && !line.is_empty()).then_some(line)
    }

    fn ask(&self, dir: &Path, question: &[&str]) -> Result<Answer, Silence> {
        let mut command = Command::new(&self.program);
        command
            .arg("-C")
            .arg(dir)
            .args(["-c", "core.fsmonitor=false", "-c", "core.quotePath=false"])
            .args(question)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            // A partial clone must not go to the network for what it lacks.
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("LC_ALL", "C")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for variable in FOREIGN {
            command.env_remove(variable);
        }
        // A group of its own, so that the time limit also ends what git started.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| cannot_start(&self.program, &error))?;
        let deadline = Instant::now() + self.limit;
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

/// The paths in the output of `git status -z` that are not below `own`.
fn changed_paths(out: &[u8], own: &[&str]) -> Vec<String> {
    // Without its end, the last entry may be half a name.
    let whole = out.iter().rposition(|&byte| byte == 0).unwrap_or(0);
    let mut entries = out[..whole].split(|&byte| byte == 0);
    let mut paths = Vec::new();
    while let Some(entry) = entries.next() {
        let [x, y, b' ', path @ ..] = entry else {
            continue;
        };
        if [x, y].iter().any(|state| matches!(state, b'R' | b'C')) {
            entries.next(); // where it was before
        }
        let path = String::from_utf8_lossy(path);
        let is_own = |prefix: &&str| path.starts_with(prefix) || path == prefix.trim_end_matches('/');
        if !own.iter().any(is_own) {
            paths.push(path.into_owned());
        }
        if paths.len() == PATHS {
            break;
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const OWN: &[&str] = &[".flow/", ".decisions/"];

    /// A temporary repository, or an empty directory, untouched by the machine's git configuration.
    struct Sandbox {
        dir: tempfile::TempDir,
    }

    impl Sandbox {
        fn empty() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join("repo")).unwrap();
            Self { dir }
        }

        fn new() -> Self {
            let sandbox = Self::empty();
            sandbox.run(&["init", "--quiet", "--initial-branch=main"]);
            sandbox
        }

        fn repo(&self) -> PathBuf {
            self.dir.path().join("repo")
        }

        fn git(&self) -> Git {
            let environment = [
                ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
                ("GIT_CONFIG_NOSYSTEM", "1".into()),
                ("GIT_CEILING_DIRECTORIES", self.dir.path().into()),
                ("HOME", self.dir.path().into()),
            ];
            Git { environment: environment.map(|(name, value)| (name.into(), value)).into(), ..Git::default() }
        }

        fn run(&self, args: &[&str]) {
            let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
            let args: Vec<_> = identity.iter().chain(args).copied().collect();
            let answer = self.git().ask(&self.repo(), &args).unwrap();
            assert!(answer.status.success(), "{args:?}: {}", reason(&answer));
        }

        fn write(&self, path: &str) {
            let path = self.repo().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "a text long enough to be recognised after a rename\n").unwrap();
        }

        fn commit(&self) {
            self.run(&["add", "--all"]);
            self.run(&["commit", "--quiet", "--message=x"]);
        }

        fn facts(&self) -> GitFacts {
            self.git().facts(&self.repo())
        }

        fn tree(&self) -> WorkingTree {
            self.git().working_tree(&self.repo(), OWN)
        }
    }

    fn dirty(paths: &[&str]) -> WorkingTree {
        WorkingTree::Dirty(paths.iter().map(|path| (*path).to_owned()).collect())
    }

    #[test]
    fn a_new_repository_has_a_branch_and_no_commit() {
        let sandbox = Sandbox::new();
        let facts = sandbox.facts();
        assert_eq!(facts.repo.as_deref(), Some("repo"));
        assert_eq!(facts.branch.as_deref(), Some("main"));
        assert_eq!(facts.head, None);
        assert_eq!(sandbox.tree(), WorkingTree::Clean);
    }

    #[test]
    fn a_commit_is_known_also_when_no_branch_is() {
        let sandbox = Sandbox::new();
        sandbox.write("a");
        sandbox.commit();
        sandbox.run(&["tag", "main"]);
        sandbox.run(&["remote", "add", "origin", "git@example.org:owner/name.git"]);
        let facts = sandbox.facts();
        assert_eq!(facts.repo.as_deref(), Some("owner/name"));
        assert_eq!(facts.branch.as_deref(), Some("main"));
        let head = facts.head.unwrap();
        assert_eq!(head.len(), 40);
        sandbox.run(&["checkout", "--quiet", "--detach"]);
        let facts = sandbox.facts();
        assert!(head.starts_with(facts.branch.as_deref().unwrap()), "{facts:?}");
        assert_eq!(facts.head, Some(head));
    }

    #[test]
    fn a_worktree_and_a_subdirectory_find_their_top() {
        let sandbox = Sandbox::new();
        sandbox.write("sub/dir/a");
        sandbox.commit();
        sandbox.run(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
        let side = sandbox.dir.path().join("side");
        assert!(side.join(".git").is_file());
        let git = sandbox.git();
        assert_eq!(git.top(&side.join("sub/dir")), Some(side.clone()));
        assert_eq!(git.top(&sandbox.repo().join("sub")), Some(sandbox.repo()));
        assert_eq!(git.facts(&side.join("sub")).branch.as_deref(), Some("side"));
        fs::write(side.join("new"), "x").unwrap();
        assert_eq!(git.working_tree(&side.join("sub/dir"), OWN), dirty(&["new"]));
        assert_eq!(sandbox.tree(), WorkingTree::Clean);
    }

    #[test]
    fn only_changes_outside_flows_files_count() {
        let sandbox = Sandbox::new();
        sandbox.write("a");
        sandbox.commit();
        sandbox.write(".flow/runs/r/run.yaml");
        sandbox.write(".decisions/issue-1.md");
        assert_eq!(sandbox.tree(), WorkingTree::Clean);
        sandbox.write("new/b");
        fs::write(sandbox.repo().join("a"), "changed").unwrap();
        assert_eq!(sandbox.tree(), dirty(&["a", "new/b"]));
        assert_eq!(
            sandbox.git().working_tree(&sandbox.repo(), &["new/"]),
            dirty(&["a", ".decisions/issue-1.md", ".flow/runs/r/run.yaml"])
        );
    }

    #[test]
    fn a_staged_rename_counts_where_the_file_is_now() {
        let sandbox = Sandbox::new();
        sandbox.write("old name");
        sandbox.write(".flow/x");
        sandbox.commit();
        sandbox.run(&["mv", "old name", "neuer Name ü\n日本"]);
        assert_eq!(sandbox.tree(), dirty(&["neuer Name ü\n日本"]));
        sandbox.run(&["mv", "neuer Name ü\n日本", ".flow/y"]);
        assert_eq!(sandbox.tree(), WorkingTree::Clean);
        sandbox.run(&["config", "status.renames", "false"]);
        assert_eq!(sandbox.tree(), WorkingTree::Clean);
    }

    #[test]
    fn at_most_a_thousand_paths_are_listed() {
        let sandbox = Sandbox::new();
        for n in 0..PATHS + 5 {
            fs::write(sandbox.repo().join(format!("f{n}")), "").unwrap();
        }
        let WorkingTree::Dirty(paths) = sandbox.tree() else {
            panic!("{:?}", sandbox.tree());
        };
        assert_eq!(paths.len(), PATHS);
    }

    #[test]
    fn what_cannot_be_told_is_unknown_with_a_reason() {
        let unknown = |git: &Git, dir: &Path| match git.working_tree(dir, OWN) {
            WorkingTree::Unknown(reason) => reason,
            known => panic!("{known:?}"),
        };
        let outside = Sandbox::empty();
        assert_eq!(unknown(&outside.git(), &outside.repo()), "not a git repository");
        assert_eq!(outside.facts(), GitFacts { repo: Some("repo".to_owned()), ..GitFacts::default() });

        let no_path = "x/".repeat(5000);
        assert_eq!(outside.git().facts(Path::new(&no_path)), GitFacts::default(), "it was not looked for");

        let sandbox = Sandbox::new();
        let missing = Git::new("no-such-git");
        assert_eq!(unknown(&missing, &sandbox.repo()), "there is no program `no-such-git`");
        assert_eq!(missing.facts(&sandbox.repo()).repo.as_deref(), Some("repo"));

        // Nobody writes into it, so whoever opens it to read waits.
        let config = sandbox.repo().join(".git/config");
        fs::remove_file(&config).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &config, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        let mut hurried = sandbox.git();
        hurried.limit = Duration::from_millis(50);
        assert_eq!(unknown(&hurried, &sandbox.repo()), "git took longer than 0.05 s");
        assert_eq!(hurried.facts(&sandbox.repo()), GitFacts::default(), "it has a name that nobody gave it");

        fs::write(outside.repo().join(".git"), "gitdir: /nowhere\n").unwrap();
        let reason = unknown(&outside.git(), &outside.repo());
        assert!(reason.contains("/nowhere") && !reason.contains('\n'), "{reason}");
    }

    #[test]
    fn helpers_that_the_repository_names_are_not_started() {
        let sandbox = Sandbox::new();
        sandbox.run(&["config", "core.fsmonitor", "touch started #"]);
        assert_eq!(sandbox.tree(), WorkingTree::Clean);
    }

    #[test]
    fn half_an_entry_is_not_taken_for_a_path() {
        assert_eq!(changed_paths(b"?? a\0R  new\0old\0 M b", &[]), ["a", "new"]);
        assert!(changed_paths(b"", &[]).is_empty());
        assert!(changed_paths(b"?? a", &[]).is_empty());
    }
}
