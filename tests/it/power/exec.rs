//! Power cuts while flow runs a command: it never counts as passed without an end that was seen, and what was answered for
//! stays.

use std::path::Path;

use serde_json::{Value, json};

use super::enumerate::{Row, look_at_all};
use super::history::History;
use super::model::{Effort, Model};
use super::trace::traced;
use crate::support::{Answer, Sandbox};

/// A command that flow runs.
#[derive(Debug, Clone, Copy)]
pub struct ExecCase {
    /// What it is called in a report.
    pub name: &'static str,
    /// What a shell is given to run.
    script: &'static str,
    /// Its exit status.
    code: i32,
    /// How that is recorded.
    status: &'static str,
}

/// One that ends well, and one that does not.
pub const EXEC_CASES: [ExecCase; 2] = [
    ExecCase { name: "exec", script: "echo made", code: 0, status: "passed" },
    ExecCase { name: "exec, of a command that fails", script: "echo made; exit 3", code: 3, status: "failed" },
];

impl ExecCase {
    fn line(&self) -> [&str; 9] {
        ["exec", "--run-id", "r1", "--id", "t", "--json", "--", "sh", "-c"]
    }
}

/// Bytes are lost in pieces of a page.
const BLOCK: usize = 4096;

/// Every state that a crash in `case` can leave, under each model. `without` leaves out flushes of that name.
pub fn cut_exec(case: &ExecCase, effort: &Effort, without: Option<&str>) -> Vec<Row> {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.record("r1", "preflight", "seen");
    let mut history = History::begin(&sandbox.root(), BLOCK);
    let program: Vec<&str> = [env!("CARGO_BIN_EXE_flow")].into_iter().chain(case.line()).chain([case.script]).collect();
    let (answer, mut calls) = traced(sandbox.command("strace"), &program, "");
    answer.exits(case.code);
    calls.retain(|call| Some(call.name.as_str()) != without);
    history.add(&calls);
    history.assert_explains(&sandbox.root());
    let executed = Executed { case, sandbox };
    look_at_all(case.name, &history, &Model::ALL, effort, |root, acked| executed.look(root, acked))
}

/// A command that was run.
struct Executed<'a> {
    case: &'a ExecCase,
    sandbox: Sandbox,
}

impl Executed<'_> {
    fn look(&self, root: &Path, acked: bool) -> Result<(), String> {
        let shown = self.must(root, &["show", "r1", "--json"], 0)?.json();
        let statuses = self.statuses(&shown);
        let ended = ["running", self.case.status];
        if acked && statuses != ended {
            return Err(format!("acknowledged, but lost: {statuses:?}"));
        }
        if !ended.starts_with(&statuses.iter().map(String::as_str).collect::<Vec<_>>()) {
            return Err(format!("neither of the states that there were: {statuses:?}"));
        }
        if statuses.len() == 2 {
            self.end_was_seen(root)?;
        }
        if statuses.len() == 1 {
            let resumed = self.must(root, &["resume", "r1", "--json"], 0)?.json();
            if resumed["verdict"] != "reconcile" || resumed["next"]["command"] != Value::Null {
                return Err(format!("it is not in doubt: {resumed}"));
            }
        }
        // The same line runs nothing again of which something is recorded.
        if !statuses.is_empty() {
            let line: Vec<&str> = self.case.line().into_iter().chain([self.case.script]).collect();
            self.must(root, &line, if statuses.len() == 2 { self.case.code } else { 1 })?;
        }
        self.must(root, &["record-activity", "--run-id", "r1", "--id", "next"], 0)?;
        let shown = self.must(root, &["show", "r1", "--json"], 0)?.json();
        if self.statuses(&shown) != statuses {
            return Err(format!("the next record changed what is known of it: {:?}", self.statuses(&shown)));
        }
        self.must(root, &["verify", "r1"], 0).map(drop)
    }

    /// What is recorded of the command.
    fn statuses(&self, shown: &Value) -> Vec<String> {
        let activities = shown["activities"].as_array().unwrap().iter().filter(|one| one["id"] == "t");
        activities.map(|one| one["status"].as_str().unwrap().to_owned()).collect()
    }

    /// The record has the end, and what was kept of the output is what it says.
    fn end_was_seen(&self, root: &Path) -> Result<(), String> {
        let log = self.must(root, &["log", "r1", "--json"], 0)?.json();
        let last = log["events"].as_array().unwrap().iter().rfind(|event| event["exec"]["end"].is_object());
        let end = last.map(|event| event["exec"]["end"]["status"].clone());
        if end != Some(json!(self.case.code)) {
            return Err(format!("it ended as nobody saw: {end:?}"));
        }
        let kept = std::fs::read_to_string(root.join(".flow/runs/r1/evidence/003-t.log")).unwrap_or_default();
        if kept == "made\n" { Ok(()) } else { Err(format!("the evidence is {kept:?}")) }
    }

    /// The answer of a command, which exits so.
    fn must(&self, root: &Path, args: &[&str], code: i32) -> Result<Answer, String> {
        let answer = self.sandbox.inside_at(root, args);
        if answer.code == Some(code) { Ok(answer) } else { Err(format!("{args:?} does not exit {code}: {answer:?}")) }
    }
}
