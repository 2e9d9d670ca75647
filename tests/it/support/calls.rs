//! System calls of the program: seeing them, and making a chosen one fail or the last one.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::OnceLock;

use super::sandbox::run;
use super::{Answer, Lack, Sandbox, skipped};

/// One system call of the program's main thread.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// The how-manieth call of that name it is, from 1.
    pub nth: usize,
    /// As strace shows it.
    pub shown: String,
    /// Whether it only asks the machine about itself, in `/proc` or `/sys`. When that fails, flow knows less and works on.
    pub asks_the_machine: bool,
}

impl Call {
    /// Whether files, locks or output may be different after it. A kill before any other call leaves the same files as
    /// a kill before the next one that does.
    pub fn changes_something(&self) -> bool {
        match self.name.as_str() {
            "openat" | "open" => self.shown.contains("O_CREAT") || self.shown.contains("O_TRUNC"),
            name => CHANGING.contains(&name),
        }
    }

    /// Whether it names a file, so that permissions may stand in its way.
    pub fn names_a_file(&self) -> bool {
        let at = ["openat", "open", "statx", "newfstatat", "stat", "lstat", "readlink", "mkdirat", "unlinkat"];
        at.contains(&self.name.as_str()) || self.name.starts_with("rename")
    }

    /// Whether it puts something on stable storage.
    pub fn is_a_flush(&self) -> bool {
        ["fsync", "fdatasync"].contains(&self.name.as_str())
    }

    /// Whether it deals with files at all.
    pub fn touches_files(&self) -> bool {
        self.changes_something() || READING.contains(&self.name.as_str())
    }
}

const CHANGING: [&str; 24] = [
    "write", "pwrite64", "writev", "pwritev", "fsync", "fdatasync", "sync_file_range", "rename", "renameat",
    "renameat2", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "ftruncate", "flock", "link", "linkat",
    "symlinkat", "fchmod", "fchmodat", "copy_file_range", "exit_group",
];
const READING: [&str; 14] = [
    "openat", "open", "read", "pread64", "fstat", "stat", "lstat", "newfstatat", "statx", "getdents64", "lseek",
    "close", "readlink", "fcntl",
];

/// Whether strace is here and may trace; says so loudly when not.
pub fn can_inject(test: &str) -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    let works = *WORKS.get_or_init(|| {
        let mut probe = Command::new("strace");
        probe.args(["-qq", "-o", "/dev/null", "-e", "inject=getppid:error=EIO:when=1", "--", "true"]);
        probe.output().is_ok_and(|output| output.status.success())
    });
    if !works {
        skipped(test, &Lack::of("strace", "strace is missing or may not trace"));
    }
    works
}

/// The calls of `flow ARGS` from the first one that names the sandbox's files on. What comes before is the loader's.
pub fn calls(sandbox: &Sandbox, args: &[&str]) -> (Answer, Vec<Call>) {
    calls_of(sandbox, &[], |command| {
        command.arg(env!("CARGO_BIN_EXE_flow")).args(args);
    })
}

/// As [`calls`], of the program and the arguments that `complete` appends, while strace does `injects` to it.
pub fn calls_of(sandbox: &Sandbox, injects: &[String], complete: impl FnOnce(&mut Command)) -> (Answer, Vec<Call>) {
    let trace = sandbox.root().with_file_name("trace");
    let mut command = sandbox.command("strace");
    command.args(["-qq", "-s", "200", "-e", "signal=none", "-o"]).arg(&trace);
    for inject in injects {
        command.arg("-e").arg(format!("inject={inject}"));
    }
    complete(command.arg("--"));
    let answer = run(command, "");
    let mut calls = parse(&std::fs::read_to_string(&trace).unwrap());
    let root = sandbox.root().display().to_string();
    let first = calls.iter().position(|call| call.shown.contains(&root) && !call.name.starts_with("exec"));
    calls.drain(..first.expect("the program touched no file of the project"));
    (answer, calls)
}

fn parse(trace: &str) -> Vec<Call> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    // Descriptors of files that the machine makes up.
    let mut made_up = BTreeSet::new();
    let mut calls = Vec::new();
    for line in trace.lines() {
        let Some((name, rest)) = line.split_once('(') else {
            continue;
        };
        let nth = seen.entry(name).or_default();
        *nth += 1;
        let names_one = ["\"/proc/", "\"/sys/", "\"/dev/"].iter().any(|dir| rest.contains(dir));
        let descriptor = rest.split([',', ')']).next().unwrap_or_default().to_owned();
        let asks_the_machine = names_one || made_up.contains(&descriptor);
        match (name, rest.rsplit_once(" = ")) {
            ("open" | "openat", Some((_, opened))) if names_one => drop(made_up.insert(opened.trim().to_owned())),
            ("close", _) => drop(made_up.remove(&descriptor)),
            _ => {}
        }
        calls.push(Call { name: name.to_owned(), nth: *nth, shown: line.to_owned(), asks_the_machine });
    }
    calls
}

/// Runs `flow ARGS` while strace does `inject` to it: `fsync:error=EIO:when=2`, `write:signal=KILL:when=1`, …
pub fn injected(sandbox: &Sandbox, inject: &str, args: &[&str]) -> Answer {
    run(injecting(sandbox, &[inject], args), "")
}

/// As [`injected`], not yet started and with more than one injection.
pub fn injecting(sandbox: &Sandbox, injects: &[&str], args: &[&str]) -> Command {
    let mut command = sandbox.command("strace");
    command.args(["-qq", "-o", "/dev/null"]);
    for inject in injects {
        command.arg("-e").arg(format!("inject={inject}"));
    }
    command.arg("--").arg(env!("CARGO_BIN_EXE_flow")).args(args);
    command
}

/// Kills `flow ARGS` just before the call.
pub fn killed_at(sandbox: &Sandbox, call: &Call, args: &[&str]) -> Answer {
    injected(sandbox, &format!("{}:signal=KILL:when={}", call.name, call.nth), args)
}
