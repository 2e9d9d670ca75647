//! Power cuts after a killed `doctor --repair`, which was given again: what is recorded in the mended run stays.

use std::path::Path;

use super::enumerate::{Row, look_at_all};
use super::history::History;
use super::materialise::States;
use super::model::{Effort, Model};
use super::nested::{after, again_after_kill, before_flushes, kill_points};
use super::trace::{Call, traced};
use crate::support::{Answer, Sandbox, alone};

const REPAIR: [&str; 2] = ["doctor", "--repair"];
const NEXT: [&str; 5] = ["record-activity", "--run-id", "r1", "--id", "next"];
/// Bytes are lost in pieces of a page.
const BLOCK: usize = 4096;

/// Power cuts after a repair was killed where names were about to be flushed, or right before its answer, was given again, and
/// something was recorded behind it. Only that record was promised.
pub fn cut_repair_after_kill(inner: &Effort) -> Row {
    let (repaired, history) = Repaired::by();
    let mut states = States::of(&history);
    let mut sum = Row { what: "doctor --repair, killed, then a power cut".to_owned(), ..Row::default() };
    let unanswered = kill_points(&history.operations);
    let most = before_flushes(&history.operations, &unanswered);
    for &until in most.iter().chain(unanswered.last()) {
        let sandbox = Sandbox::new();
        sandbox.put_clock(repaired.clock);
        let both = again_after_kill(&history, &mut states, until, &sandbox, |sandbox| {
            let mut calls = asked(sandbox, &REPAIR);
            calls.retain(|call| !(call.name == "write" && call.number(0) == Some(1)));
            calls.extend(asked(sandbox, &NEXT));
            calls
        });
        for row in
            look_at_all("doctor --repair", &both, &[Model::Weak], inner, |root, acked| repaired.look(root, acked))
        {
            sum.add(after(row, &format!("killed before operation {until}")));
        }
    }
    sum
}

fn asked(sandbox: &Sandbox, args: &[&str]) -> Vec<Call> {
    let program: Vec<&str> = [env!("CARGO_BIN_EXE_flow")].iter().chain(args).copied().collect();
    let (answer, calls) = traced(sandbox.command("strace"), &program, "");
    answer.ok();
    calls
}

/// A run whose log a merge has damaged, after its repair.
struct Repaired {
    sandbox: Sandbox,
    /// When that was.
    clock: u64,
}

impl Repaired {
    fn by() -> (Self, History) {
        let sandbox = Sandbox::new();
        sandbox.flow(["start", "debug", "--id", "r1"]).ok();
        sandbox.record("r1", "preflight", "seen");
        sandbox.record("r1", "preflight", "more");
        let log = sandbox.run_dir("r1").join("events.jsonl");
        let text = std::fs::read_to_string(&log).unwrap();
        std::fs::write(&log, text.replacen('\n', "\n<<<<<<< HEAD\n", 1)).unwrap();
        std::fs::write(sandbox.run_dir("r1").join("activities/001-seen.yaml"), "").unwrap();
        let clock = sandbox.now();
        let mut history = History::begin(&sandbox.root(), BLOCK);
        history.add(&asked(&sandbox, &REPAIR));
        history.assert_explains(&sandbox.root());
        (Self { sandbox, clock }, history)
    }

    fn look(&self, root: &Path, acked: bool) -> Result<(), String> {
        let log = std::fs::read_to_string(root.join(".flow/runs/r1/events.jsonl")).unwrap_or_default();
        if acked && (!log.contains("\"id\":\"next\"") || log.contains("<<<<<<<")) {
            return Err(format!("the acknowledged record is not in a mended log: {log}"));
        }
        // At the same time, so that it writes the same.
        self.sandbox.put_clock(self.clock);
        self.must(root, &REPAIR)?;
        self.must(root, &NEXT)?;
        self.must(root, &["verify", "r1"])?;
        let shown = self.must(root, &["log", "r1"])?.stdout;
        for id in ["seen", "more", "next"] {
            let times = shown.matches(&format!(" {id} ")).count();
            if times != 1 {
                return Err(format!("{id} is there {times} times: {shown}"));
            }
        }
        Ok(())
    }

    fn must(&self, root: &Path, args: &[&str]) -> Result<Answer, String> {
        let answer = self.sandbox.inside_of(root, alone(), &[], args);
        if answer.code == Some(0) { Ok(answer) } else { Err(format!("{args:?} fails: {answer:?}")) }
    }
}
