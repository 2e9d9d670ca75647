//! A git repository of its own, in which the real program runs with an environment of its own.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use tempfile::TempDir;

use super::hostile::copy;
use super::{Tree, whole};

/// A temporary repository. Each command runs one second after the one before, with ids of its own.
pub struct Sandbox {
    home: TempDir,
    commands: AtomicU64,
}

/// What a command answered.
#[derive(Debug)]
pub struct Answer {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit status; none when a signal ended it.
    pub code: Option<i32>,
}

impl Answer {
    /// The answer, when the exit status is this one.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// The answer, when all went well.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.exits(0)
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The error object of standard error.
    #[track_caller]
    pub fn error(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error} in {self:?}"));
        value["error"].clone()
    }

    /// Standard output without its line break.
    pub fn line(&self) -> &str {
        self.stdout.trim_end()
    }
}

impl Sandbox {
    /// A repository `demo` with one commit on the branch `main`: every day in memory, since what a test asks of a command is
    /// the same there and no flush waits, and where files usually are when all is to be tried.
    pub fn new() -> Self {
        Self::within(&if whole() { temporary() } else { quick() })
    }

    /// As [`Self::new`], in a directory of the caller's, for instance on another file system.
    pub fn within(dir: &Path) -> Self {
        static BEGUN: OnceLock<(Tree, u64)> = OnceLock::new();
        let (begun, clock) = BEGUN.get_or_init(|| {
            let first = Self::empty(&temporary());
            std::fs::create_dir(first.root()).unwrap();
            first.git(&["init", "-q", "-b", "main"]);
            first.git(&["remote", "add", "origin", "git@example.com:acme/widgets.git"]);
            first.git(&["commit", "-q", "--allow-empty", "-m", "begin"]);
            // Its samples are more files than the rest.
            std::fs::remove_dir_all(first.path(".git/hooks")).unwrap();
            std::fs::create_dir(first.path(".git/hooks")).unwrap();
            // A project that keeps decisions, so that what writes their journals is tried with all the rest.
            std::fs::create_dir(first.path(".decisions")).unwrap();
            (Tree::of(&first.root()), first.now())
        });
        Self::of(begun, *clock, dir)
    }

    /// These files as a repository in a new directory in `dir`, and so many commands later.
    pub fn of(files: &Tree, clock: u64, dir: &Path) -> Self {
        let sandbox = Self::empty(dir);
        files.restore(&sandbox.root());
        sandbox.put_clock(clock);
        sandbox
    }

    fn empty(dir: &Path) -> Self {
        Self { home: tempfile::tempdir_in(dir).unwrap(), commands: AtomicU64::new(0) }
    }

    /// Removes what git's answers left in the user's state directory, and the directory if nothing else is in it: a command
    /// that finds them makes fewer calls.
    pub fn forget_answers_of_git(&self) {
        let state = self.home.path().join(".local/state/flow");
        for entry in std::fs::read_dir(&state).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("git-") {
                std::fs::remove_dir_all(entry.path()).unwrap();
            } else if name.starts_with("asked-") {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        // A command that was killed may have made the outer ones only.
        for dir in state.ancestors().take(3) {
            let _ = std::fs::remove_dir(dir);
        }
    }

    /// The repository.
    pub fn root(&self) -> PathBuf {
        self.home.path().join("demo")
    }

    /// `text` without what is another one in each run of a test: the directory, and short ids of commits and files.
    pub fn masked(&self, text: &str) -> String {
        let text = text.replace(self.root().to_str().unwrap(), "ROOT");
        let is_id = |word: &str| word.len() == 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let words: Vec<_> = text.split('`').map(|word| if is_id(word) { "ID" } else { word }).collect();
        words.join("`")
    }

    /// A path inside the repository.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root().join(relative)
    }

    /// A run's directory.
    pub fn run_dir(&self, run: &str) -> PathBuf {
        self.path(".flow/runs").join(run)
    }

    /// A file of a run.
    pub fn read(&self, run: &str, file: &str) -> String {
        std::fs::read_to_string(self.run_dir(run).join(file)).unwrap()
    }

    /// Replaces `from` in a run's `run.yaml` as an editor would.
    #[track_caller]
    pub fn edit(&self, run: &str, from: &str, to: &str) {
        let text = self.read(run, "run.yaml");
        assert!(text.contains(from), "{from:?} is not in\n{text}");
        std::fs::write(self.run_dir(run).join("run.yaml"), text.replacen(from, to, 1)).unwrap();
    }

    /// Runs git in the repository.
    #[track_caller]
    pub fn git(&self, args: &[&str]) {
        let mut command = self.command("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A command that sees nothing of this machine but the program path.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let (now, seed) = self.tick();
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("LC_ALL", "C.UTF-8")
            .env("__FLOW_NOW", now)
            .env("__FLOW_SEED", seed)
            .current_dir(self.root());
        command
    }

    /// The time of the next command, and the seed of its ids.
    pub(super) fn tick(&self) -> (String, String) {
        let at = self.commands.fetch_add(1, Ordering::Relaxed);
        (clock(at), format!("seed {at}"))
    }

    /// How many commands there were, which is what their clock shows.
    pub fn now(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    /// Puts the clock to where it was after so many commands, so that the next one writes the very same bytes again.
    pub fn put_clock(&self, to: u64) {
        self.commands.store(to, Ordering::Relaxed);
    }

    /// The program under test.
    pub fn flow_command(&self) -> Command {
        self.command(env!("CARGO_BIN_EXE_flow"))
    }

    /// Runs flow with `args`.
    pub fn flow<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Answer {
        self.flow_with(args, "")
    }

    /// Runs flow with `args` and this standard input.
    pub fn flow_with<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, stdin: &str) -> Answer {
        let mut command = self.flow_command();
        command.args(args);
        run(command, stdin)
    }

    /// Starts a run and gives its id.
    #[track_caller]
    pub fn start(&self, workflow: &str) -> String {
        self.flow(["start", workflow, "--issue", "42", "--another"]).ok().line().to_owned()
    }

    /// Shadows the shipped workflows that wait for a person by the same ones without gates.
    pub fn without_gates(&self) {
        self.flow(["init"]).ok();
        for name in ["merge-pr", "release"] {
            let file = format!("{name}.workflow.yaml");
            let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows").join(&file);
            let text = std::fs::read_to_string(shipped).unwrap().replace("gate: person", "gate: blocking");
            std::fs::write(self.path(".flow/workflows").join(file), text).unwrap();
        }
    }

    /// Defines the workflow `own` of the project, with these phases one behind the other.
    pub fn define_own(&self, phases: &[&str]) {
        let phases: String = phases.iter().map(|phase| format!("  - id: {phase}\n")).collect();
        let text =
            format!("apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: own\nphases:\n{phases}");
        std::fs::write(self.path(".flow/workflows/own.workflow.yaml"), text).unwrap();
    }

    /// Copies the run `r1` into another checkout, as git or a shared store would, and gives how fresh its first evidence is
    /// there.
    #[track_caller]
    pub fn freshness_in(&self, checkout: &Path) -> Value {
        let to = checkout.join(".flow/runs/r1");
        std::fs::create_dir_all(&to).unwrap();
        copy(&self.run_dir("r1"), &to);
        let mut command = self.flow_command();
        command.args(["verify", "r1", "--evidence", "--json"]).current_dir(checkout);
        run(command, "").json()["evidence"][0]["freshness"].clone()
    }

    /// Records a passed activity.
    #[track_caller]
    pub fn record(&self, run: &str, phase: &str, id: &str) -> Value {
        self.flow(["record-activity", "--run-id", run, "--phase", phase, "--id", id, "--json"]).ok().json()
    }
}

/// Where repositories are when nobody says otherwise.
pub fn temporary() -> PathBuf {
    std::env::temp_dir()
}

/// Where repositories are of which nothing is asked but to be restored again and again: in memory where there is room, since
/// a real disk makes every flush wait and shows these tests nothing else.
pub fn quick() -> PathBuf {
    const ENOUGH: u64 = 256 << 20;
    let memory = PathBuf::from("/dev/shm");
    let has_room = rustix::fs::statvfs(&memory).is_ok_and(|now| now.f_bavail * now.f_frsize > ENOUGH);
    let is_ours = tempfile::tempdir_in(&memory).is_ok();
    if has_room && is_ours { memory } else { temporary() }
}

/// The time `at` seconds after half past two, on the same day.
fn clock(at: u64) -> String {
    let minutes = 14 * 60 + 30 + at / 60;
    format!("2026-05-20T{:02}:{:02}:{:02}Z", minutes / 60, minutes % 60, at % 60)
}

/// Runs a command to its end.
pub fn run(mut command: Command, stdin: &str) -> Answer {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that does not read its input closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    answered(child)
}

/// Starts a command with nothing on standard input.
pub fn spawned(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end of a command and says what it answered.
pub fn answered(child: Child) -> Answer {
    let output = child.wait_with_output().unwrap();
    Answer {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code(),
    }
}
