//! A case that has been carried out under strace: what it did, and what it should come to.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::check::journal;
use super::commands::{Case, LONG, RECOVERY, RUN, START, long};
use super::disk::Operation;
use super::history::History;
use super::materialise::scratch;
use super::reference::{Again, Reference};
use super::trace::{Call, mistaken, traced};
use crate::support::faulty::Mistake;
use crate::support::{Answer, Sandbox, Tree};

/// A history and its reference.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// What the commands did.
    pub history: History,
    /// What they should come to.
    pub reference: Reference,
    /// The files before them.
    pub before: Tree,
    /// Git's own files: what a command asks git is a part of what it writes.
    pub repository: Tree,
    /// The environment of the first one. Under it the same command writes the same bytes.
    pub environment: Vec<(OsString, OsString)>,
}

/// How commands are carried out.
#[derive(Debug, Clone, Copy)]
pub struct How {
    /// Size of the pieces in which bytes are lost.
    pub block: usize,
    /// A mistake that the disk makes.
    pub mistake: Option<Mistake>,
}

impl How {
    /// Blocks of a page, no mistakes.
    pub const USUAL: Self = Self { block: 4096, mistake: None };
}

/// The arguments of a command for this run.
pub fn arguments(args: &[&str], run: &str) -> Vec<String> {
    let argument = |arg: &&str| match *arg {
        RUN => run.to_owned(),
        LONG => long(),
        other => other.to_owned(),
    };
    args.iter().map(argument).collect()
}

/// Carries a command out under strace.
fn trace_flow(strace: Command, args: &[String]) -> (Answer, Vec<Call>) {
    let program: Vec<_> = std::iter::once(env!("CARGO_BIN_EXE_flow")).chain(args.iter().map(String::as_str)).collect();
    traced(strace, &program, "")
}

impl Recorded {
    /// Carries `case` out.
    pub fn of(case: &Case, how: How) -> Self {
        let sandbox = Sandbox::new();
        let run = (case.scene)(&sandbox);
        let before = files(&sandbox.root());
        let mut history = History::begin(&sandbox.root(), how.block);
        let reference = Reference {
            run: run.clone(),
            lines: Vec::new(),
            ends: vec![lines(&sandbox.root(), &run).len()],
            told: Vec::new(),
            goes_on: Vec::new(),
            journals: vec![journal(&sandbox.root())],
            kept: case.kept,
            others: Default::default(),
            again: case.again,
            by_id: case.by_id,
        };
        let repository = Tree::of(&sandbox.path(".git")).without("hooks");
        let mut recorded = Self { history: history.clone(), reference, before, repository, environment: Vec::new() };
        for args in case.commands {
            let mut strace = sandbox.command("strace");
            // Otherwise whoever claims a run is held to be its strace, which is another one each time.
            strace.env("FLOW_HOLDER_PID", std::process::id().to_string());
            if recorded.environment.is_empty() {
                recorded.environment = environment(&strace);
            }
            let (answer, calls) = trace_flow(strace, &arguments(args, &run));
            answer.ok();
            history.add(&match how.mistake {
                Some(mistake) => mistaken(calls, mistake),
                None => calls,
            });
            recorded.reference.add(&sandbox.root());
        }
        assert_eq!(acknowledged(&history.operations), case.commands.len(), "every command says what it did");
        recorded.history = history;
        recorded.finish(&sandbox);
        recorded
    }

    /// The next command in the files of a sandbox that a crash of this history left: what it did, on top of `history`.
    /// `before` are the files at the history's beginning.
    pub fn next(&self, sandbox: &Sandbox, history: History, before: &Tree, again: Option<Again>) -> Self {
        let run = &self.reference.run;
        let there = sandbox.run_dir(run).is_dir();
        let args = if there { RECOVERY } else { START };
        let home = scratch();
        before.restore(&home.path().join("before"));
        let root = home.path().join("before");
        let reference = Reference {
            lines: Vec::new(),
            ends: vec![lines(&root, run).len()],
            told: Vec::new(),
            goes_on: Vec::new(),
            journals: vec![journal(&root)],
            again,
            by_id: true,
            ..self.reference.clone()
        };
        let (before, repository) = (before.clone(), self.repository.clone());
        let mut recorded = Self { history, reference, before, repository, environment: Vec::new() };
        let (answer, calls) = trace_flow(sandbox.command("strace"), &arguments(args, run));
        answer.ok();
        if recorded.history.operations.is_empty() {
            recorded.history.add(&calls);
        } else {
            recorded.history.go_on(&calls);
        }
        recorded.reference.add(&sandbox.root());
        recorded.finish(sandbox);
        recorded
    }

    fn finish(&mut self, sandbox: &Sandbox) {
        self.history.assert_explains(&sandbox.root());
        let after = files(&sandbox.root());
        self.reference.lines = lines(&sandbox.root(), &self.reference.run);
        self.reference.others = others(&after, &self.reference.run);
        let home = scratch();
        self.reference.tell(&home.path().join("project"), &self.before, &after);
    }
}

impl Reference {
    /// Notes what a command came to.
    fn add(&mut self, root: &Path) {
        self.ends.push(lines(root, &self.run).len());
        self.journals.push(journal(root));
    }
}

/// How many commands had said something.
pub fn acknowledged(operations: &[Operation]) -> usize {
    let mut said = 0;
    let mut quiet = false;
    for operation in operations {
        match operation {
            Operation::Begin => quiet = true,
            Operation::Said if quiet => {
                said += 1;
                quiet = false;
            }
            _ => {}
        }
    }
    said
}

fn environment(command: &Command) -> Vec<(OsString, OsString)> {
    command.get_envs().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))).collect()
}

/// The files of a project, without its repository.
pub fn files(root: &Path) -> Tree {
    Tree::of(root).without(".git")
}

/// The sealed lines of a run's log.
fn lines(root: &Path, run: &str) -> Vec<String> {
    let log = std::fs::read(root.join(".flow/runs").join(run).join("events.jsonl")).unwrap_or_default();
    let log = String::from_utf8(log).unwrap();
    let sealed = |line: &&str| line.ends_with('\n') && flowrun::codec::unseal(line.trim_end().as_bytes()).is_ok();
    log.split_inclusive('\n').filter(sealed).map(str::to_owned).collect()
}

/// All files but the run's, the decision journal and locks.
fn others(tree: &Tree, run: &str) -> std::collections::BTreeMap<String, Vec<u8>> {
    let run = format!(".flow/runs/{run}/");
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let all = tree.contents().map(|(name, bytes)| (path(name), bytes.to_vec()));
    all.filter(|(name, _)| {
        !name.starts_with(&run)
            && !name.starts_with(".decisions")
            && !name.ends_with(".lock")
            && !name.starts_with(".flow/.cache")
    })
    .collect()
}
