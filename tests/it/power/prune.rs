//! Power cuts while runs are pruned: each run is in one place, whole, and its id is never given again once it left.

use std::path::Path;

use super::enumerate::{Row, look_at_all};
use super::history::History;
use super::materialise::States;
use super::model::{Effort, Model};
use super::nested::{after, again_after_kill, before_flushes, kill_points};
use super::trace::{Call, traced};
use crate::support::{Answer, Sandbox, alone};

/// A way to prune.
#[derive(Debug, Clone, Copy)]
pub struct PruneCase {
    /// What it is called in a report.
    pub name: &'static str,
    /// Its arguments.
    pub args: &'static [&'static str],
    /// Where the runs go.
    pub to: Option<&'static str>,
}

/// Every way to prune that differs in the files it writes.
pub const PRUNE_CASES: [PruneCase; 2] = [
    PruneCase { name: "prune", args: &["prune", "--older-than", "0d", "--yes", "--json"], to: None },
    PruneCase {
        name: "prune --to",
        args: &["prune", "--older-than", "0d", "--to", "archive", "--json"],
        to: Some("archive"),
    },
];

/// The runs that are over.
const OVER: [&str; 2] = ["r2", "r3"];
/// Bytes are lost in pieces of a page.
const BLOCK: usize = 4096;

/// Every state that a crash in `case` can leave, under each model. `without` leaves out flushes of that name.
pub fn cut_prune(case: &PruneCase, effort: &Effort, without: Option<&str>) -> Vec<Row> {
    let (pruned, history) = Pruned::by(case, without);
    look_at_all(case.name, &history, &Model::ALL, effort, |root, acked| pruned.look(root, acked))
}

/// Power cuts after `case` was killed where names were about to be flushed, or right before its answer, and given again.
pub fn cut_prune_after_kill(case: &PruneCase, inner: &Effort) -> Row {
    let (pruned, history) = Pruned::by(case, None);
    let mut states = States::of(&history);
    let mut sum = Row { what: format!("{}, killed, then a power cut", case.name), ..Row::default() };
    let unanswered = kill_points(&history.operations);
    let most = before_flushes(&history.operations, &unanswered);
    for &until in most.iter().chain(unanswered.last()) {
        let sandbox = Sandbox::new();
        sandbox.put_clock(pruned.clock);
        let both = again_after_kill(&history, &mut states, until, &sandbox, |sandbox| case.traced(sandbox));
        for row in look_at_all(case.name, &both, &[Model::Weak], inner, |root, acked| pruned.look(root, acked)) {
            sum.add(after(row, &format!("killed before operation {until}")));
        }
    }
    sum
}

impl PruneCase {
    fn traced(&self, sandbox: &Sandbox) -> Vec<Call> {
        let program: Vec<&str> = [env!("CARGO_BIN_EXE_flow")].iter().chain(self.args).copied().collect();
        let (answer, calls) = traced(sandbox.command("strace"), &program, "");
        answer.ok();
        calls
    }
}

/// Runs that were pruned.
struct Pruned<'a> {
    case: &'a PruneCase,
    sandbox: Sandbox,
    /// When that was.
    clock: u64,
}

impl<'a> Pruned<'a> {
    /// Carries `case` out under strace.
    fn by(case: &'a PruneCase, without: Option<&str>) -> (Self, History) {
        let sandbox = Sandbox::new();
        for run in ["r1", "r2", "r3"] {
            sandbox.flow(["start", "debug", "--another", "--id", run]).ok();
            sandbox.record(run, "preflight", "seen");
        }
        for run in OVER {
            sandbox.flow(["cancel", run]).ok();
        }
        let clock = sandbox.now();
        let mut history = History::begin(&sandbox.root(), BLOCK);
        let mut calls = case.traced(&sandbox);
        calls.retain(|call| Some(call.name.as_str()) != without);
        history.add(&calls);
        history.assert_explains(&sandbox.root());
        (Self { case, sandbox, clock }, history)
    }

    fn look(&self, root: &Path, acked: bool) -> Result<(), String> {
        self.in_one_place(root, acked)?;
        // At the same time, so that it writes the same.
        self.sandbox.put_clock(self.clock);
        self.must(root, None, self.case.args, 0)?;
        self.in_one_place(root, true)?;
        self.must(root, None, &["record-activity", "--run-id", "r1", "--id", "next"], 0)?;
        self.must(root, None, &["doctor", "--strict"], 0).map(drop)
    }

    fn in_one_place(&self, root: &Path, gone: bool) -> Result<(), String> {
        let notes = std::fs::read_to_string(root.join(".flow/pruned.jsonl")).unwrap_or_default();
        for run in OVER {
            let here = root.join(".flow/runs").join(run).exists();
            let there = self.case.to.is_some_and(|to| root.join(to).join("runs").join(run).exists());
            if here && (there || gone) {
                return Err(format!("{run} is still here, acknowledged: {gone}"));
            }
            if !here && !there && self.case.to.is_some() {
                return Err(format!("{run} is nowhere"));
            }
            if !here && !notes.contains(&format!("\"{run}\"")) {
                return Err(format!("{run} left without a note"));
            }
            if here {
                self.must(root, None, &["verify", run], 0)?;
            } else {
                let late = ["record-activity", "--run-id", run, "--id", "late", "--json"];
                let answer = self.must(root, None, &late, 3)?;
                if !answer.stderr.contains("run_pruned") {
                    return Err(format!("a late report is not told: {answer:?}"));
                }
            }
            if there {
                self.must(root, self.case.to, &["verify", run], 0)?;
            }
        }
        Ok(())
    }

    /// The answer of a command, which exits so. `flow` names the directory like `.flow`.
    fn must(&self, root: &Path, flow: Option<&str>, args: &[&str], code: i32) -> Result<Answer, String> {
        let env = flow.map(|flow| ("FLOW_DIR", root.join(flow).display().to_string()));
        let answer = self.sandbox.inside_of(root, alone(), env.as_slice(), args);
        if answer.code == Some(code) { Ok(answer) } else { Err(format!("{args:?} does not exit {code}: {answer:?}")) }
    }
}
