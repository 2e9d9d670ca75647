//! Power cuts in changes of modes: several files that one line makes one.

use std::collections::HashMap;
use std::path::Path;

use flowrun::ops::{Error, Flow, ModeListRequest, ModeRequest, ModeScope};
use serde_json::{Value, json};

use super::enumerate::{Row, crashes, sample};
use super::history::History;
use super::materialise::{States, lost, reboot, scratch};
use super::model::{Effort, Model};
use super::reference::{cause, flow};
use super::trace::traced;
use crate::support::{Sandbox, modes_sound};

/// A command that changes modes.
#[derive(Debug, Clone, Copy)]
pub struct ModeCase {
    /// What it is called in a report.
    pub name: &'static str,
    /// Commands before it.
    pub before: &'static [&'static [&'static str]],
    /// Its arguments behind `mode`.
    pub args: &'static [&'static str],
}

const S1: [&str; 2] = ["--session", "s1"];

/// Every way to change modes that differs in the files it writes.
pub const MODE_CASES: [ModeCase; 5] = [
    ModeCase { name: "mode request (first)", before: &[], args: &["request", "blueprint"] },
    ModeCase {
        name: "mode request (handing over)",
        before: &[&["request", "blueprint"], &["request", "ultrawork", S1[0], S1[1]]],
        args: &["request", "forge", S1[0], S1[1]],
    },
    ModeCase { name: "mode clear", before: &[&["request", "forge"]], args: &["clear", "forge"] },
    ModeCase {
        name: "mode cancel",
        before: &[&["request", "team", S1[0], S1[1]], &["request", "forge", S1[0], S1[1]]],
        args: &["cancel", S1[0], S1[1]],
    },
    ModeCase {
        name: "mode prompt",
        before: &[&["request", "blueprint", S1[0], S1[1]]],
        args: &["prompt", "$team $forge go", S1[0], S1[1]],
    },
];

/// Every state that a crash in `case` can leave, under each model. `canary` is a mistake that the program is to make.
pub fn cut_modes(case: &ModeCase, effort: &Effort, canary: Option<&str>) -> Vec<Row> {
    let sandbox = Sandbox::new();
    // The first command of a project makes `.flow`, which rows of their own are about.
    sandbox.flow(["init"]).ok();
    for args in case.before {
        sandbox.flow(["mode"].iter().chain(*args)).ok();
    }
    let told = |root: &Path| told(&flow(root)).unwrap();
    let old = told(&sandbox.root());
    let mut history = History::begin(&sandbox.root(), 4096);
    let program: Vec<&str> = [env!("CARGO_BIN_EXE_flow"), "mode"].iter().chain(case.args).copied().collect();
    let mut strace = sandbox.command("strace");
    strace.envs(canary.map(|canary| ("__FLOW_CANARY", canary)));
    let (answer, calls) = traced(strace, &program, "");
    answer.ok();
    history.add(&calls);
    history.assert_explains(&sandbox.root());
    let new = told(&sandbox.root());
    let mut states = States::of(&history);
    let home = scratch();
    let mut looked_at = HashMap::new();
    let mut rows = Vec::new();
    for model in Model::ALL {
        let (crashes, count) = crashes(&mut states, &history.operations, model, effort);
        let what = format!("{}, {}", case.name, model.name());
        let mut row = Row { what, states: count, distinct: crashes.len(), ..Row::default() };
        for crash in sample(&crashes, effort.states) {
            let cut = model != Model::Kill;
            let acked = crash.acked > 0;
            let seen = looked_at.entry((crash.state.clone(), acked, cut)).or_insert_with(|| {
                states.write(home.path(), &crash.state);
                if cut {
                    reboot(home.path());
                }
                look(home.path(), &old, &new, acked, case.args, &sandbox)
            });
            row.checked += 1;
            if let Err(what) = seen {
                row.broken += 1;
                let after = crash.until.checked_sub(1).map_or_else(|| "none".to_owned(), |at| history.tell(at));
                let lost = lost(&history, crash.until, &crash.survivors).join(", ");
                row.violations.push(format!("{what}; crash after operation {after}; lost: {lost}"));
            }
        }
        rows.push(row);
    }
    rows
}

/// Which modes there are, by the library, without times.
fn told(flow: &Flow) -> Result<Value, String> {
    match flow.mode_list(&ModeListRequest { all: true, ..ModeListRequest::default() }) {
        Ok(list) if list.warnings.is_empty() => Ok(json!(list)),
        Ok(list) => Err(format!("readers complain: {:?}", list.warnings)),
        Err(Error::NoProject { .. }) => Ok(Value::Null),
        Err(error) => Err(format!("list fails: {}", cause(&error))),
    }
}

/// Looks at a state as the next session would: the modes are the old ones or the new ones, the same command comes to the
/// new ones, and another one works.
fn look(root: &Path, old: &Value, new: &Value, acked: bool, args: &[&str], at: &Sandbox) -> Result<(), String> {
    let flow = flow(root);
    let seen = told(&flow)?;
    if acked && seen != *new {
        return Err(format!("acknowledged, but lost: {seen}"));
    }
    if seen != *old && seen != *new {
        return Err(format!("neither old nor new: {seen}"));
    }
    let mut again = at.flow_command();
    again.arg("-C").arg(root).arg("mode").args(args);
    let answer = crate::support::run(again, "");
    if answer.code != Some(0) {
        return Err(format!("the command again fails: {answer:?}"));
    }
    let seen = told(&flow)?;
    if seen != *new {
        return Err(format!("the command again comes to something else: {seen}"));
    }
    let scope = ModeScope { session: Some("s2".parse().unwrap()), root: false };
    let request = ModeRequest { mode: "ultrawork".to_owned(), scope, ..ModeRequest::default() };
    flow.mode_request(&request).map_err(|error| format!("the next request fails: {}", cause(&error)))?;
    match modes_sound(root)?.as_slice() {
        [] => Ok(()),
        aside => Err(format!("put aside: {aside:?}")),
    }
}
