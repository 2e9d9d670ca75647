//! Projects of a known size, and the commands that are timed in them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use flowrun::host::{Clock, Env, Git, Ids};
use flowrun::runs::{
    self, Context, EmitRequest, Options, RecordRequest, ReportRequest, StartRequest, StatusRequest, StatusVerb,
};

use super::{flow, install};

/// Programs that do the least that is possible.
pub struct Floor {
    writer: PathBuf,
    reader: PathBuf,
    log: PathBuf,
}

impl Floor {
    /// Compiles them as flow is compiled: optimised and static.
    pub fn build(home: &Path) -> Self {
        let compiled = |name: &str| {
            let program = home.join(name);
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/ratios").join(name).with_extension("rs");
            let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
            let mut command = Command::new(rustc);
            command.args(["--edition", "2024", "-O", "-C", "lto=fat", "-C", "codegen-units=1", "-C", "strip=symbols"]);
            command
                .args(["-C", "target-feature=+crt-static", "-C", "relocation-model=static", "-o"])
                .arg(&program)
                .arg(source);
            assert!(command.status().unwrap().success(), "{command:?}");
            install(&program, home)
        };
        Self { writer: compiled("floor"), reader: compiled("reader"), log: home.join("floor.log") }
    }

    /// The same programs, for files in another directory.
    pub fn at(&self, dir: &Path) -> Self {
        Self { writer: self.writer.clone(), reader: self.reader.clone(), log: dir.join("floor.log") }
    }

    /// Appends a line to a file and flushes it.
    pub fn append(&self) -> Command {
        let mut command = Command::new(&self.writer);
        command.arg(&self.log);
        command
    }

    /// Reads every `run.yaml`.
    pub fn read(&self, project: &Project) -> Command {
        let mut command = Command::new(&self.reader);
        command.arg(project.root.join(".flow/runs"));
        command
    }
}

const REPORT: [&str; 7] = ["emit", "--workflow", "build", "--run-id", "reported", "--type", "status_change"];
const RUNNING: &str = r#"{"status":"running"}"#;

/// A directory with a `.flow`, in which one run is open.
pub struct Project {
    root: PathBuf,
    open: String,
    used: AtomicUsize,
    last: OnceLock<usize>,
}

impl Project {
    /// Its open run has so many activities.
    pub fn with_activities(home: &Path, activities: usize) -> Self {
        Self::with_events(home, activities, activities)
    }

    /// As [`Self::with_activities`], of so many events in all. The others are notes in the middle, so that the first activity
    /// is at the beginning of the log, and the last one at its end.
    pub fn with_events(home: &Path, activities: usize, events: usize) -> Self {
        let project = Self::new(home);
        let flow = project.flow();
        let data = serde_json::json!({ "message": "still at it" });
        let note = ReportRequest { kind: Some("btw_update".to_owned()), data: Some(data), ..ReportRequest::default() };
        let half = activities / 2;
        for nth in 0..half {
            project.record_in_process(&flow, &project.open, nth);
        }
        for _ in activities..events {
            let request = EmitRequest {
                workflow: "debug".to_owned(),
                run: project.open.clone(),
                reports: vec![note.clone()],
                ..EmitRequest::default()
            };
            runs::emit(&flow, &request).unwrap();
        }
        for nth in half..activities {
            project.record_in_process(&flow, &project.open, nth);
        }
        project
    }

    /// In a checkout of git with so many files.
    pub fn in_checkout(home: &Path, files: usize) -> Self {
        let project = Self::new(home);
        for nth in 0..files {
            let dir = project.root.join(format!("dir-{}", nth / 100));
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join(format!("file-{nth}.txt")), format!("text {nth}\n")).unwrap();
        }
        let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "gc.auto=0"];
        for line in [&["init", "-q"][..], &["add", "dir-*"], &["commit", "-q", "-m", "files"]] {
            let mut git = Command::new("git");
            git.arg("-C").arg(&project.root).args(identity).args(line);
            assert!(git.status().unwrap().success(), "{git:?}");
        }
        // git looks into files that are as new as its index.
        std::thread::sleep(std::time::Duration::from_secs(2));
        assert!(project.git_status().output().unwrap().status.success());
        project
    }

    /// Changes so many of its files.
    pub fn change_files(&self, files: usize) {
        for nth in 0..files {
            std::fs::write(self.root.join(format!("dir-{}/file-{}.txt", nth, nth * 100)), "another text\n").unwrap();
        }
    }

    /// `git status` of the checkout.
    pub fn git_status(&self) -> Command {
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.root).args(["status", "--porcelain"]);
        git
    }

    /// Besides the open run, so many are finished.
    pub fn with_runs(home: &Path, runs: usize) -> Self {
        let project = Self::new(home);
        let flow = project.flow();
        for nth in 0..runs {
            let run = start(&flow, format!("finished-{nth}"));
            project.record_in_process(&flow, &run, nth);
            let request = StatusRequest::new(StatusVerb::Cancel);
            let reason = Some("enough".to_owned());
            runs::change_status(&flow, &StatusRequest { run: Some(run), reason, ..request }).unwrap();
        }
        project
    }

    /// So many runs are open.
    pub fn with_open_runs(home: &Path, runs: usize) -> Self {
        let project = Self::new(home);
        let flow = project.flow();
        for nth in 1..runs {
            start(&flow, format!("open-{nth}"));
        }
        project
    }

    fn new(home: &Path) -> Self {
        let root = tempfile::tempdir_in(home).unwrap().keep();
        // Whatever is above: this is the project.
        std::fs::create_dir(root.join(".flow")).unwrap();
        let mut project = Self { root, open: String::new(), used: AtomicUsize::new(0), last: OnceLock::new() };
        project.open = start(&project.flow(), "open".to_owned());
        project
    }

    fn flow(&self) -> Context {
        let options = Options { project: Some(self.root.clone()), ..Options::default() };
        Context::new(Clock::real(), Ids::random(), Env::default(), Git::default(), options)
    }

    fn record_in_process(&self, flow: &Context, run: &str, nth: usize) {
        let id = Some(format!("done-{nth}").parse().unwrap());
        runs::record_activity(flow, &RecordRequest { run: Some(run.to_owned()), id, ..RecordRequest::default() })
            .unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = flow();
        // A working directory of its own would cost a fork of this process instead of a spawn.
        command.arg("-C").arg(&self.root).args(args);
        command
    }

    /// One more record in the open run.
    pub fn record(&self) -> Command {
        let id = format!("timed-{}", self.used.fetch_add(1, Ordering::Relaxed));
        self.command(&["record-activity", "--run-id", &self.open, "--id", &id, "--summary", "what came out of it"])
    }

    /// The same by another flow.
    pub fn record_by(&self, flow: &Path) -> Command {
        let (ours, mut command) = (self.record(), Command::new(flow));
        command.args(ours.get_args());
        command
    }

    /// One more report on a step of the run `reported`, which goes back and forth between two steps: each begins one and
    /// completes the other.
    pub fn emit(&self) -> Command {
        let nth = self.used.fetch_add(1, Ordering::Relaxed);
        let step = ["build", "verify"][nth % 2];
        self.command(&[&REPORT[..], &["--step", step, "--data", RUNNING]].concat())
    }

    /// Brings the run `reported` to the first of these steps.
    pub fn begin_reports(&self) {
        for step in ["requirements", "design", "tasks", "build", "verify"] {
            let status = self.command(&[&REPORT[..], &["--step", step, "--data", RUNNING]].concat()).output().unwrap();
            assert!(status.status.success(), "{status:?}");
        }
        self.used.store(0, Ordering::Relaxed);
    }

    /// `resume`, `start` or `list`.
    pub fn verb(&self, verb: &str) -> Command {
        let slug = format!("timed-{}", self.used.fetch_add(1, Ordering::Relaxed));
        match verb {
            "start" => self.command(&["start", "debug", "--slug", &slug]),
            verb => self.command(&[verb]),
        }
    }

    /// A command line.
    pub fn call(&self, line: &str) -> Command {
        self.command(&line.split(' ').collect::<Vec<_>>())
    }

    /// A command line in the project's directory, where commands that flow runs run as well.
    pub fn call_there(&self, line: &str) -> Command {
        let mut command = self.call(line);
        command.current_dir(&self.root);
        command
    }

    /// The record of this number again.
    pub fn retry(&self, nth: usize) -> Command {
        self.command(&["record-activity", "--run-id", &self.open, "--id", &format!("done-{nth}")])
    }

    /// The last five events.
    pub fn log_after(&self) -> Command {
        let last = self.last.get_or_init(|| {
            let log = self.root.join(".flow/runs").join(&self.open).join("events.jsonl");
            std::fs::read_to_string(log).unwrap().lines().count() - 5
        });
        self.command(&["log", &self.open, "--after", &last.to_string()])
    }

    /// A command line, for which the cache is as after a clone.
    pub fn call_without_cache(&self, line: &str) -> Command {
        let _ = std::fs::remove_dir_all(self.root.join(".flow/.cache"));
        self.call(line)
    }

    /// `list`, with the cache that the finished runs left or without one.
    pub fn list(&self, cached: bool) -> Command {
        let (here, away) = (self.root.join(".flow/.cache"), self.root.join("cache-away"));
        if here.exists() != cached {
            let (from, to) = if cached { (&away, &here) } else { (&here, &away) };
            std::fs::rename(from, to).unwrap();
        }
        self.command(&["list"])
    }

    /// `log`, `verify` or `fork` of the open run.
    pub fn of_run(&self, verb: &str) -> Command {
        self.command(&[verb, &self.open])
    }

    /// `workflow check` of a name or a path.
    pub fn check(&self, workflow: &str) -> Command {
        self.command(&["workflow", "check", workflow])
    }

    /// Definitions of almost so many bytes, and Markdown of half as many: what each is made of, and its file.
    pub fn large_definitions(&self, bytes: usize) -> Vec<(&'static str, PathBuf)> {
        let words = "word ".repeat(40);
        let words = words.trim();
        let phases =
            "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: large\n  version: 1\nphases:\n";
        let diagram = "stateDiagram-v2\n[*] --> s1\n";
        let last = "\n\n## STATE-MACHINE\n\n```mermaid\nstateDiagram-v2\n[*] --> a\na --> [*]\n```\n";
        // Arrows between few states, since there are bounds on both.
        let arrow = |nth: usize| {
            let (from, round) = (nth % 9000, nth / 9000);
            format!("s{from:010} --> s{:010}\n", from + 1 + round)
        };
        let large = |of, name: &str, head: &str, item: &dyn Fn(usize) -> String, end: &str| {
            let mut text = head.to_owned();
            let bytes = if name.ends_with(".md") { bytes / 2 } else { bytes };
            for nth in 1.. {
                if text.len() + 512 >= bytes {
                    break;
                }
                text.push_str(&item(nth));
            }
            let path = self.root.join(name);
            std::fs::write(&path, text + end).unwrap();
            (of, path)
        };
        vec![
            large(
                "phases",
                "large.workflow.yaml",
                phases,
                &|nth| format!("  - id: phase-{nth}\n    type: mixed\n    description: {words}\n"),
                "",
            ),
            large(
                "a state graph",
                "large.yaml",
                "initial: s1\nstates:\n",
                &|nth| format!("  s{nth}: {{type: agent, description: {words}, transition: {{next: [s{nth}, s1]}}}}\n"),
                "",
            ),
            large(
                "a state diagram with labels",
                "labels.mmd",
                diagram,
                &|nth| format!("s{nth} --> s{} : {words}\n", nth + 1),
                "",
            ),
            large(
                "a state diagram of nothing but arrows",
                "arrows.mmd",
                "stateDiagram-v2\n[*] --> s0000000001\n",
                &arrow,
                "",
            ),
            large(
                "Markdown (half of that), most of it hostile, around a diagram",
                "large.md",
                "",
                &|_| "[a](".repeat(16),
                last,
            ),
        ]
    }
}

fn start(flow: &Context, slug: String) -> String {
    let request = StartRequest { workflow: "debug".to_owned(), slug: Some(slug), ..StartRequest::default() };
    runs::start(flow, &request).unwrap().run_id.to_string()
}
