//! Power cuts while the document of an interview is replaced: a file that has no log.

use std::path::Path;

use super::enumerate::{Row, look_at_all};
use super::history::History;
use super::materialise::States;
use super::model::{Effort, Model};
use super::nested::{after, again_after_kill, kill_points};
use super::trace::{Call, traced};
use crate::support::Sandbox;

/// A command about an interview.
#[derive(Debug, Clone, Copy)]
pub struct InterviewCase {
    /// What it is called in a report.
    pub name: &'static str,
    /// Commands before it.
    pub before: &'static [&'static [&'static str]],
    /// Its arguments behind `interview`.
    pub args: &'static [&'static str],
    /// How it exits when it is given again after it did its work.
    pub again: i32,
}

const DOC: &str = "docs/charter.md";
const START: &[&str] = &["start", DOC];
const FIRST: &[&str] = &["answer", DOC, "--question", "1", "Tasks for remote teams."];

/// Every way to replace a document that differs in the files it writes.
pub const INTERVIEW_CASES: [InterviewCase; 4] = [
    InterviewCase { name: "interview start", before: &[], args: START, again: 0 },
    InterviewCase {
        name: "interview answer",
        before: &[START, FIRST],
        args: &["answer", DOC, "--question", "2", "Managers."],
        again: 0,
    },
    InterviewCase { name: "interview finish", before: &[START, FIRST], args: &["finish", DOC, "--early"], again: 3 },
    InterviewCase { name: "interview abandon", before: &[START, FIRST], args: &["abandon", DOC, "--yes"], again: 3 },
];

/// Every state that a crash in `case` can leave, under each model. `flushes` leaves out flushes of that name.
pub fn cut_interview(case: &InterviewCase, effort: &Effort, without: Option<&str>) -> Vec<Row> {
    let (done, history) = Done::by(case, without);
    look_at_all(case.name, &history, &Model::ALL, effort, |root, acked| done.look(root, acked))
}

/// Power cuts after `case` was killed and given again. The kernel kept what the killed command had written, and nothing of it
/// was flushed.
pub fn cut_interview_after_kill(case: &InterviewCase, inner: &Effort) -> Row {
    let (done, history) = Done::by(case, None);
    let mut states = States::of(&history);
    let mut sum = Row { what: format!("{}, killed, then a power cut", case.name), ..Row::default() };
    for until in kill_points(&history.operations) {
        let sandbox = Sandbox::new();
        sandbox.put_clock(done.clock);
        let both = again_after_kill(&history, &mut states, until, &sandbox, |sandbox| case.traced(sandbox));
        for row in look_at_all(case.name, &both, &[Model::Weak], inner, |root, acked| done.look(root, acked)) {
            sum.add(after(row, &format!("killed before operation {until}")));
        }
    }
    sum
}

/// Bytes are lost in pieces of a page.
const BLOCK: usize = 4096;

impl InterviewCase {
    fn traced(&self, sandbox: &Sandbox) -> Vec<Call> {
        let program: Vec<&str> = [env!("CARGO_BIN_EXE_flow"), "interview"].iter().chain(self.args).copied().collect();
        let (answer, calls) = traced(sandbox.command("strace"), &program, "");
        answer.ok();
        calls
    }
}

/// A command that was carried out.
struct Done<'a> {
    case: &'a InterviewCase,
    old: Option<String>,
    new: Option<String>,
    sandbox: Sandbox,
    /// When it was given.
    clock: u64,
}

impl<'a> Done<'a> {
    /// Carries `case` out under strace.
    fn by(case: &'a InterviewCase, without: Option<&str>) -> (Self, History) {
        let sandbox = Sandbox::new();
        for args in case.before {
            sandbox.flow(["interview"].iter().chain(*args)).ok();
        }
        let old = document(&sandbox.root());
        let clock = sandbox.now();
        let mut history = History::begin(&sandbox.root(), BLOCK);
        let mut calls = case.traced(&sandbox);
        calls.retain(|call| Some(call.name.as_str()) != without);
        history.add(&calls);
        history.assert_explains(&sandbox.root());
        (Self { case, old, new: document(&sandbox.root()), sandbox, clock }, history)
    }

    /// The document is the old one or the new one, the same command comes to the new one, and nothing stays beside it.
    fn look(&self, root: &Path, acked: bool) -> Result<(), String> {
        let seen = document(root);
        if acked && seen != self.new {
            return Err(format!("acknowledged, but lost: {seen:?}"));
        }
        if seen != self.old && seen != self.new {
            return Err(format!("neither old nor new: {seen:?}"));
        }
        // At the same time, so that it writes the same.
        self.sandbox.put_clock(self.clock);
        let answer = self.sandbox.inside_at(root, ["interview"].iter().chain(self.case.args));
        let wanted = if seen == self.new { self.case.again } else { 0 };
        if answer.code != Some(wanted) {
            return Err(format!("the command again fails: {answer:?}"));
        }
        if document(root) != self.new {
            return Err(format!("the command again comes to something else: {:?}", document(root)));
        }
        let answer = self.sandbox.inside_at(root, ["interview", "start", DOC]);
        if answer.code != Some(0) {
            return Err(format!("the next command fails: {answer:?}"));
        }
        let beside = std::fs::read_dir(root.join("docs")).unwrap().map(|file| file.unwrap().file_name());
        let beside: Vec<_> = beside.filter(|name| name.to_string_lossy().starts_with('.')).collect();
        if beside.is_empty() { Ok(()) } else { Err(format!("left beside the document: {beside:?}")) }
    }
}

fn document(root: &Path) -> Option<String> {
    std::fs::read(root.join(DOC)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
