//! Crashes on top of crashes: a power cut while a power cut is recovered from, and a power cut after a command made good
//! what a killed one began.

use super::commands::{Case, recover};
use super::disk::Operation;
use super::enumerate::{Row, crashes, enumerate, sample};
use super::history::History;
use super::materialise::{States, reboot, scratch};
use super::model::{Effort, Model};
use super::recorded::{How, Recorded, files};
use super::trace::Call;
use crate::support::Sandbox;

/// Crashes inside the command that recovers from a crash of `case`. `outer` says how many first crashes are tried,
/// `inner` how many second ones for each.
pub fn crash_in_recovery(case: &Case, outer: &Effort, inner: &Effort) -> Row {
    let recorded = Recorded::of(case, How::USUAL);
    let mut states = States::of(&recorded.history);
    let (crashes, _) = crashes(&mut states, &recorded.history.operations, Model::Weak, outer);
    let mut sum = Row { what: format!("{}, crash in its recovery", case.name), ..Row::default() };
    for crash in sample(&crashes, outer.states) {
        let sandbox = Sandbox::new();
        states.write(&sandbox.root(), crash.state);
        reboot(&sandbox.root());
        let before = files(&sandbox.root());
        let history = History::begin(&sandbox.root(), How::USUAL.block);
        let again = sandbox.run_dir(&recorded.reference.run).is_dir().then_some(recover as _);
        let recovery = recorded.next(&sandbox, history, &before, again);
        for row in enumerate(case.name, &recovery, &[Model::Weak], inner) {
            sum.add(after(row, &format!("first crash before operation {}", crash.until)));
        }
    }
    sum
}

/// Power cuts after `case` was killed and made good by the next command. The kernel kept what the killed command had
/// written, and nothing of it was flushed.
pub fn cut_after_kill(case: &Case, kills: usize, inner: &Effort) -> Row {
    let recorded = Recorded::of(case, How::USUAL);
    let operations = &recorded.history.operations;
    let mut states = States::of(&recorded.history);
    let base = scratch();
    let state = states_at(&mut states, 0);
    states.write(base.path(), state);
    let before = files(base.path());
    let unanswered = kill_points(operations);
    let mut sum = Row { what: format!("{}, killed, then a power cut", case.name), ..Row::default() };
    // The last one leaves the most behind that nobody flushed.
    for &until in sample(&unanswered, kills).chain(unanswered.last()) {
        let sandbox = Sandbox::new();
        let state = states_at(&mut states, until);
        states.write(&sandbox.root(), state);
        let history = recorded.history.killed(until, &sandbox.root());
        let both = recorded.next(&sandbox, history, &before, None);
        for row in enumerate(case.name, &both, &[Model::Weak], inner) {
            sum.add(after(row, &format!("killed before operation {until}")));
        }
    }
    sum
}

/// Puts what a kill before operation `until` leaves into `sandbox`, and gives the command again there: the history of both.
pub fn again_after_kill(
    history: &History,
    states: &mut States<'_>,
    until: usize,
    sandbox: &Sandbox,
    again: impl FnOnce(&Sandbox) -> Vec<Call>,
) -> History {
    let state = states_at(states, until);
    states.write(&sandbox.root(), state);
    let mut both = history.killed(until, &sandbox.root());
    both.go_on(&again(sandbox));
    both.assert_explains(&sandbox.root());
    both
}

/// Where a kill leaves other files than one before, and no answer.
pub fn kill_points(operations: &[Operation]) -> Vec<usize> {
    let changes = |at: &usize| operations[at - 1].is_name() || operations[at - 1].file().is_some();
    let answered = |at: &usize| operations[..*at].iter().any(|operation| matches!(operation, Operation::Said));
    (1..=operations.len()).filter(changes).take_while(|at| !answered(at)).collect()
}

/// Those of the points at which the killed command had changed names and was about to flush them.
pub fn before_flushes(operations: &[Operation], points: &[usize]) -> Vec<usize> {
    let is_due = |at: &usize| operations[at - 1].is_name() && matches!(operations.get(*at), Some(Operation::Sync(_)));
    points.iter().copied().filter(is_due).collect()
}

/// The state that a kill before operation `until` leaves.
fn states_at(states: &mut States<'_>, until: usize) -> super::materialise::State {
    states.state(&(0..until).collect::<Vec<_>>())
}

/// A row of crashes that came after something else.
pub fn after(mut row: Row, what: &str) -> Row {
    row.violations.iter_mut().for_each(|violation| *violation = format!("{what}: {violation}"));
    row
}
