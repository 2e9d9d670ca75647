//! Power cuts in changes of modes: several files that one line makes one.

use std::collections::BTreeSet;
use std::path::Path;

use flowrun::modes::{self, Error, ModeListRequest, ModeRequest, ModeScope};
use flowrun::runs::{self, Context};
use serde_json::{Value, json};

use super::enumerate::{Row, crashes, look_at_all, sample};
use super::history::History;
use super::materialise::{States, reboot};
use super::model::{Effort, Model};
use super::nested::{after, again_after_kill, before_flushes, kill_points};
use super::reference::{cause, flow};
use super::trace::{Call, traced};
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

impl ModeCase {
    /// Carries it out in the files of a sandbox, and gives its calls.
    fn traced(&self, sandbox: &Sandbox) -> Vec<Call> {
        let program: Vec<&str> = [env!("CARGO_BIN_EXE_flow"), "mode"].iter().chain(self.args).copied().collect();
        let (answer, calls) = traced(sandbox.command("strace"), &program, "");
        answer.ok();
        calls
    }
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

/// Every state that a crash in `case` can leave, under each model. `without` leaves out flushes of that name.
pub fn cut_modes(case: &ModeCase, effort: &Effort, without: Option<&str>) -> Vec<Row> {
    let (changed, history) = Changed::by(case, without);
    changed.enumerate(&history, &Model::ALL, effort)
}

/// Crashes inside the command that recovers from a crash of `case`. `outer` says how many first crashes are tried,
/// `inner` how many second ones for each.
pub fn crash_in_recovery_of_modes(case: &ModeCase, outer: &Effort, inner: &Effort) -> Row {
    let (changed, history) = Changed::by(case, None);
    let mut states = States::of(&history);
    let (crashes, _) = crashes(&mut states, &history.operations, Model::Weak, outer);
    let mut sum = Row { what: format!("{}, crash in its recovery", case.name), ..Row::default() };
    for crash in sample(&crashes, outer.states) {
        let sandbox = later();
        states.write(&sandbox.root(), crash.state);
        reboot(&sandbox.root());
        let mut recovery = History::begin(&sandbox.root(), BLOCK);
        recovery.add(&case.traced(&sandbox));
        recovery.assert_explains(&sandbox.root());
        for row in changed.enumerate(&recovery, &[Model::Weak], inner) {
            sum.add(after(row, &format!("first crash before operation {}", crash.until)));
        }
    }
    sum
}

/// Power cuts after `case` was killed and made good by the same command. The kernel kept what the killed command had
/// written, and nothing of it was flushed.
pub fn cut_modes_after_kill(case: &ModeCase, kills: usize, inner: &Effort) -> Row {
    let (changed, history) = Changed::by(case, None);
    let mut states = States::of(&history);
    let mut sum = Row { what: format!("{}, killed, then a power cut", case.name), ..Row::default() };
    let unanswered = kill_points(&history.operations);
    // At these points and at the last one, the most names are not flushed yet.
    let most = before_flushes(&history.operations, &unanswered);
    let points: BTreeSet<_> = sample(&unanswered, kills).chain(&most).chain(unanswered.last()).copied().collect();
    for until in points {
        let inner =
            if most.contains(&until) { &Effort { states: inner.states.saturating_mul(6), ..*inner } } else { inner };
        let sandbox = later();
        let both = again_after_kill(&history, &mut states, until, &sandbox, |sandbox| case.traced(sandbox));
        for row in changed.enumerate(&both, &[Model::Weak], inner) {
            sum.add(after(row, &format!("killed before operation {until}")));
        }
    }
    sum
}

/// A sandbox whose clock shows a time after all commands of a case.
fn later() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put_clock(100);
    sandbox
}

/// Bytes are lost in pieces of a page.
const BLOCK: usize = 4096;

/// A change of modes that was carried out.
struct Changed<'a> {
    case: &'a ModeCase,
    /// What readers say before it.
    old: Value,
    /// What they say after it.
    new: Value,
    sandbox: Sandbox,
}

impl<'a> Changed<'a> {
    /// Carries `case` out under strace.
    fn by(case: &'a ModeCase, without: Option<&str>) -> (Self, History) {
        let sandbox = Sandbox::new();
        // The first command of a project makes `.flow`, which rows of their own are about.
        sandbox.flow(["init"]).ok();
        for args in case.before {
            sandbox.flow(["mode"].iter().chain(*args)).ok();
        }
        let told = || told(&flow(&sandbox.root())).unwrap();
        let old = told();
        let mut history = History::begin(&sandbox.root(), BLOCK);
        let mut calls = case.traced(&sandbox);
        calls.retain(|call| Some(call.name.as_str()) != without);
        history.add(&calls);
        history.assert_explains(&sandbox.root());
        let new = told();
        (Self { case, old, new, sandbox }, history)
    }

    /// Checks every state that a crash in `history` can leave.
    fn enumerate(&self, history: &History, models: &[Model], effort: &Effort) -> Vec<Row> {
        look_at_all(self.case.name, history, models, effort, |root, acked| self.look(root, acked))
    }

    /// Looks at a state as the next session would: the modes are the old ones or the new ones, the same command comes to
    /// the new ones, and another one works.
    fn look(&self, root: &Path, acked: bool) -> Result<(), String> {
        let flow = flow(root);
        let seen = told(&flow)?;
        if acked && seen != self.new {
            return Err(format!("acknowledged, but lost: {seen}"));
        }
        if seen != self.old && seen != self.new {
            return Err(format!("neither old nor new: {seen}"));
        }
        let again = ["-C", root.to_str().unwrap(), "mode"];
        let answer = self.sandbox.inside(again.iter().chain(self.case.args));
        if answer.code != Some(0) {
            return Err(format!("the command again fails: {answer:?}"));
        }
        let seen = told(&flow)?;
        if seen != self.new {
            return Err(format!("the command again comes to something else: {seen}"));
        }
        let scope = ModeScope { session: Some("s2".parse().unwrap()), root: false };
        let request = ModeRequest { mode: "ultrawork".to_owned(), scope, ..ModeRequest::default() };
        modes::request(&flow, &request).map_err(|error| format!("the next request fails: {}", cause(&error)))?;
        match modes_sound(root)?.as_slice() {
            [] => Ok(()),
            aside => Err(format!("put aside: {aside:?}")),
        }
    }
}

/// Which modes there are, by the library, without times.
fn told(flow: &Context) -> Result<Value, String> {
    match modes::list(flow, &ModeListRequest { all: true, ..ModeListRequest::default() }) {
        Ok(list) if list.warnings.is_empty() => Ok(json!(list)),
        Ok(list) => Err(format!("readers complain: {:?}", list.warnings)),
        Err(Error::Run(runs::Error::NoProject { .. })) => Ok(Value::Null),
        Err(error) => Err(format!("list fails: {}", cause(&error))),
    }
}
