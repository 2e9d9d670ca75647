//! Every order in which the calls of two writers reach a store, with each of their answers lost, late or doubled; and every call
//! before which a writer dies that records on its copy.
//!
//! Each writer is a machine with a copy of its own. A call waits for its turn, so that an execution follows from its choices: who comes
//! next, and what happens to the call. Executions are repeated with other choices until none is left.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use flowrun::codec::LogScan;
use flowrun::disk::Os;
use flowrun::model::{Event, EventKind, Explain as _, KeptEvidence, RunId, Seq};
use flowrun::runs::{self, Context, StatusRequest, StatusVerb};
use flowrun::store::shared::{Carrier, NoAnswer, Put, PutAnswer, Tip};
use flowrun::store::{Address, RefreshScope, WorkKey};

use crate::memory_carrier::{MemoryCarrier, Trouble};
use crate::shared::{RUN, ask, assert_same, record, recorded, run_id, start_as};
use crate::support::scaled;
use crate::support::shaky::{Died, Ill, Shaky};
use crate::tested_store::{Machine, Place, TestedStore as _};

/// What may happen to a call that writes, and to one that reads.
const WRITES: [Trouble; 5] = [Trouble::None, Trouble::AnswerLost, Trouble::Late, Trouble::Twice, Trouble::RequestLost];
const READS: [Trouble; 2] = [Trouble::None, Trouble::AnswerLost];
/// How many executions are tried at a time: most of their time they wait.
const AT_ONCE: usize = 8;
/// How many calls something happens to, at most one of each writer.
const TROUBLED: usize = 1;
/// The same where everything is tried, and then to calls that read as well.
const ALL_TROUBLED: usize = 2;

fn what_may_happen_to_writes() -> &'static [Trouble] {
    &WRITES[..scaled(WRITES.len() - 1, WRITES.len())]
}

/// A read that fails is repeated or ends the command, and changes nothing.
fn what_may_happen_to_reads() -> &'static [Trouble] {
    &READS[..scaled(1, READS.len())]
}

/// What a writer does.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// It records work with this id in the run.
    Record(&'static str),
    /// It completes the run.
    Complete,
    /// It begins a run of this id, about an issue.
    Start(&'static str),
}

impl Act {
    /// Does it. The position of its event, if it was acknowledged; otherwise the code of the error.
    fn run(self, cx: &Context) -> Result<Seq, &'static str> {
        let done = match self {
            Self::Record(id) => record(cx, id).map(|report| report.seq),
            Self::Start(id) => start_as(cx, id, Some(42)).map(|_| Seq(1)),
            Self::Complete => {
                let skip_reason = Some("for the test".to_owned());
                let request = StatusRequest {
                    run: Some(RUN.to_owned()),
                    skip_reason,
                    ..StatusRequest::new(StatusVerb::Complete)
                };
                runs::change_status(cx, &request).map(|report| report.seq)
            }
        };
        done.map_err(|error| error.problem().code)
    }
}

/// Whose call comes next, and what happens to it.
type Turn = (usize, Trouble);
/// What must be so after two writers have done this, with these answers.
type Check = fn(&Scene, [Act; 2], [Result<Seq, &'static str>; 2]);

/// A carrier whose calls wait for their turn.
#[derive(Debug, Clone)]
struct Ordered {
    carrier: MemoryCarrier,
    turns: Arc<Turns>,
    writer: usize,
}

#[derive(Debug, Default)]
struct Turns {
    state: Mutex<TurnState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct TurnState {
    /// What may happen to the call with which each writer waits, if it does.
    waiting: [Option<&'static [Trouble]>; 2],
    /// Whose call comes next, and what happens to it.
    next: Option<Turn>,
    is_over: [bool; 2],
}

impl Turns {
    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'t>(&self, state: MutexGuard<'t, TurnState>) -> MutexGuard<'t, TurnState> {
        let (state, timeout) =
            self.changed.wait_timeout(state, Duration::from_secs(60)).unwrap_or_else(PoisonError::into_inner);
        assert!(!timeout.timed_out(), "a writer neither calls nor ends");
        state
    }

    fn end(&self, writer: usize) {
        self.state().is_over[writer] = true;
        self.changed.notify_all();
    }

    /// Gives turns until both writers have ended: those of `plan`, then the first that is possible. Returns the plans that go on
    /// otherwise behind this one. Something happens to at most `troubled` calls.
    fn give(&self, plan: &[Turn], troubled: usize) -> Vec<Vec<Turn>> {
        let (mut given, mut others): (Vec<Turn>, Vec<Vec<Turn>>) = (Vec::new(), Vec::new());
        let (mut was_read_of_second, reads) = (false, what_may_happen_to_reads());
        loop {
            let mut state = self.state();
            while state.next.is_some() || (0..2).any(|writer| state.waiting[writer].is_none() && !state.is_over[writer])
            {
                state = self.wait(state);
            }
            let mut possible = Vec::new();
            let met: Vec<_> = given.iter().filter(|(_, what)| *what != Trouble::None).collect();
            for (writer, may_happen) in state.waiting.iter().enumerate() {
                let is_spent = met.len() == troubled || met.iter().any(|(of, _)| *of == writer);
                for what in may_happen.unwrap_or_default() {
                    if *what == Trouble::None || !is_spent {
                        possible.push((writer, *what));
                    }
                }
            }
            // Two calls that read change nothing for each other, so that one order of them is enough. Behind a read what is late arrives.
            let is_late = met.iter().any(|(_, what)| *what == Trouble::Late);
            if was_read_of_second && !is_late && state.waiting == [Some(reads), Some(reads)] {
                possible.retain(|(writer, _)| *writer == 1);
            }
            let Some(first) = possible.first().copied() else { return others };
            let next = plan.get(given.len()).copied().unwrap_or(first);
            assert!(possible.contains(&next), "another execution of the same choices came to other calls");
            if given.len() >= plan.len() {
                others.extend(possible[1..].iter().map(|other| [&given[..], &[*other]].concat()));
            }
            given.push(next);
            was_read_of_second = next == (1, Trouble::None) && state.waiting == [Some(reads); 2];
            state.next = Some(next);
            self.changed.notify_all();
        }
    }
}

impl Ordered {
    fn call<T>(&self, may_happen: &'static [Trouble], call: impl FnOnce(&MemoryCarrier) -> T) -> T {
        let mut state = self.turns.state();
        state.waiting[self.writer] = Some(may_happen);
        self.turns.changed.notify_all();
        let trouble = loop {
            match state.next {
                Some((writer, trouble)) if writer == self.writer => break trouble,
                _ => state = self.turns.wait(state),
            }
        };
        self.carrier.trouble(&[trouble]);
        let answer = call(&self.carrier);
        (state.waiting[self.writer], state.next) = (None, None);
        self.turns.changed.notify_all();
        answer
    }
}

impl Carrier for Ordered {
    fn address(&self) -> Address {
        self.carrier.address()
    }

    fn tips(&self, scope: RefreshScope, left: Duration) -> Result<Vec<Tip>, NoAnswer> {
        self.call(what_may_happen_to_reads(), |carrier| carrier.tips(scope, left))
    }

    fn lines(&self, run: &RunId, first: Seq, mark: Option<&str>, left: Duration) -> Result<Option<String>, NoAnswer> {
        self.call(what_may_happen_to_reads(), |carrier| carrier.lines(run, first, mark, left))
    }

    fn marked(&self, keys: &[WorkKey], left: Duration) -> Result<Vec<Option<RunId>>, NoAnswer> {
        self.call(what_may_happen_to_reads(), |carrier| carrier.marked(keys, left))
    }

    fn mark_again(&self, run: &RunId, last: Seq, keys: &[WorkKey], left: Duration) -> Result<(), NoAnswer> {
        self.call(what_may_happen_to_reads(), |carrier| carrier.mark_again(run, last, keys, left))
    }

    fn evidence(&self, run: &RunId, kept: &KeptEvidence, left: Duration) -> Result<Option<Vec<u8>>, NoAnswer> {
        self.call(what_may_happen_to_reads(), |carrier| carrier.evidence(run, kept, left))
    }

    fn put(&self, put: &Put<'_>, left: Duration) -> PutAnswer {
        self.call(what_may_happen_to_writes(), |carrier| carrier.put(put, left))
    }

    fn remove(&self, run: &RunId, left: Duration) -> Result<(), NoAnswer> {
        self.call(what_may_happen_to_reads(), |carrier| carrier.remove(run, left))
    }
}

impl Place for Ordered {
    fn carrier(&self, _: &Path) -> Box<dyn Carrier> {
        Box::new(self.clone())
    }
}

/// Two machines and their store, as every execution finds them.
struct Scene {
    carrier: MemoryCarrier,
    machines: [Machine<MemoryCarrier>; 2],
}

impl Scene {
    /// Both have the copy of a run, and the second one is told of nothing later.
    fn new() -> Self {
        let carrier = MemoryCarrier::default();
        let machines = [Machine::with(carrier.clone()), Machine::with(carrier.clone())];
        start_as(&machines[0].context(), RUN, Some(7)).unwrap();
        ask(&machines[1]);
        Self { carrier, machines }
    }

    /// A carrier and machines of their own that have the same.
    fn copy(&self) -> Self {
        let carrier = self.carrier.copy();
        let machines = self.machines.each_ref().map(|machine| machine.copy(carrier.clone()));
        Self { carrier, machines }
    }
}

/// Tries all that two writers may meet who do this.
fn try_all_orders(acts: [Act; 2], check: Check) {
    let (scene, troubled) = (Scene::new(), scaled(TROUBLED, ALL_TROUBLED));
    // Plans that are left, and how many are under way.
    let plans = Mutex::new((vec![Vec::new()], 0));
    let lock = || plans.lock().unwrap_or_else(PoisonError::into_inner);
    let tried = AtomicUsize::new(0);
    let work = || {
        loop {
            let mut left = lock();
            let Some(plan) = left.0.pop() else {
                if left.1 == 0 {
                    return;
                }
                drop(left);
                thread::sleep(Duration::from_millis(1));
                continue;
            };
            left.1 += 1;
            drop(left);
            let others = catch_unwind(AssertUnwindSafe(|| execute(&scene, acts, check, &plan, troubled)));
            tried.fetch_add(1, Ordering::Relaxed);
            let mut left = lock();
            left.1 -= 1;
            let Ok(others) = others else {
                left.0.clear();
                panic!("{acts:?} in the order {plan:?}");
            };
            left.0.extend(others);
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let tried = tried.into_inner();
    assert!(tried > 20, "only {tried} orders");
}

/// Follows one plan to its end, and returns the plans that begin like it and then differ.
fn execute(scene: &Scene, acts: [Act; 2], check: Check, plan: &[Turn], troubled: usize) -> Vec<Vec<Turn>> {
    let scene = scene.copy();
    let turns = Arc::<Turns>::default();
    let (others, done) = thread::scope(|scope| {
        let writers = [0, 1].map(|writer| {
            let place = Ordered { carrier: scene.carrier.clone(), turns: Arc::clone(&turns), writer };
            let (machine, turns) = (&scene.machines[writer], &turns);
            scope.spawn(move || {
                let done = catch_unwind(AssertUnwindSafe(|| acts[writer].run(&machine.context_with(&place))));
                turns.end(writer);
                done
            })
        });
        let others = turns.give(plan, troubled);
        (others, writers.map(|writer| writer.join().unwrap().unwrap()))
    });
    scene.carrier.trouble(&[]);
    scene.carrier.settle();
    check(&scene, acts, done);
    others
}

/// The positions of the records with this id in the run's log.
fn positions_of(scene: &Scene, id: &str) -> Vec<Seq> {
    let log = scene.carrier.log(&run_id());
    let log = LogScan::parse(log.as_bytes());
    let is_it = |event: &&Event| event.kind.records().iter().any(|record| record.id().as_str() == id);
    log.events().filter(is_it).map(|event| event.seq).collect()
}

fn events_of_its_end(scene: &Scene) -> Vec<Seq> {
    let log = scene.carrier.log(&run_id());
    let log = LogScan::parse(log.as_bytes());
    log.events().filter(|event| matches!(event.kind, EventKind::RunCompleted(_))).map(|event| event.seq).collect()
}

/// What was acknowledged is there once, at its position; what was not is there at most once. The log has no gap, and both copies have
/// the same bytes.
fn check_the_run(scene: &Scene, acts: [Act; 2], done: [Result<Seq, &'static str>; 2]) {
    recorded(&scene.carrier);
    for (act, done) in acts.iter().zip(&done) {
        let found = match act {
            Act::Record(id) => positions_of(scene, id),
            Act::Complete => events_of_its_end(scene),
            Act::Start(_) => unreachable!("no run begins here"),
        };
        match done {
            Ok(at) => assert_eq!(found, [*at], "{act:?}"),
            Err(_) => assert!(found.len() <= 1, "{act:?}: {found:?}"),
        }
    }
    let [one, other] = &scene.machines;
    assert_same(&scene.carrier, [one, other]);
}

#[test]
fn two_records_at_once_are_there_once_each_in_every_order() {
    try_all_orders([Act::Record("one"), Act::Record("other")], check_the_run);
}

#[test]
fn a_run_that_ends_while_another_machine_records_says_the_same_everywhere_in_every_order() {
    try_all_orders([Act::Complete, Act::Record("work")], |scene, acts, done| {
        check_the_run(scene, acts, done);
        // A run that is over takes no record, and only that is a reason of a refusal.
        let (end, record) = (events_of_its_end(scene), positions_of(scene, "work"));
        if let ([end], [record]) = (&*end, &*record) {
            assert!(record < end, "event {record} follows the end {end}");
        }
        if let Err(code) = done[1]
            && record.is_empty()
            && code != "store_not_reached"
        {
            assert!(!end.is_empty(), "{code}");
        }
    });
}

#[test]
fn of_two_runs_that_begin_for_one_issue_one_is_there_in_every_order() {
    try_all_orders([Act::Start("run-a"), Act::Start("run-b")], |scene, _, done| {
        let runs = ["run-a", "run-b"].map(|id| RunId::new(id).unwrap());
        let there: Vec<_> = runs.iter().filter(|run| !scene.carrier.log(run).is_empty()).collect();
        assert!(there.len() <= 1, "both are open");
        for (run, done) in runs.iter().zip(done) {
            let lines = scene.carrier.log(run).lines().count();
            assert!(lines <= 1 && (done.is_err() || lines == 1), "{run}: {lines} lines, {done:?}");
        }
        for machine in &scene.machines {
            ask(machine);
            for run in &there {
                assert_eq!(fs::read_to_string(machine.file(run, "events.jsonl")).unwrap(), scene.carrier.log(run));
            }
        }
        for run in there {
            let [one, other] =
                scene.machines.each_ref().map(|machine| fs::read(machine.file(run, "run.yaml")).unwrap());
            assert_eq!(one, other);
        }
    });
}

#[test]
fn wherever_a_writer_dies_both_copies_end_the_same_and_its_record_is_there_once() {
    let scene = Scene::new();
    let mut states = BTreeSet::new();
    for nth in (1..).step_by(scaled(3, 1)) {
        let Scene { carrier, machines: [one, other] } = &scene.copy();
        let disk = Shaky::new(Arc::new(Os), &[Ill::Death(nth)]);
        let died = catch_unwind(AssertUnwindSafe(|| record(&one.context_on(&disk), "work").unwrap()));
        let lived = match died {
            Ok(_) => true,
            Err(died) => {
                assert!(died.is::<Died>(), "call {nth}");
                false
            }
        };
        states.insert(carrier.log(&run_id()).lines().count());
        record(&other.context(), "between").unwrap();
        record(&one.context(), "after").unwrap();
        record(&one.context(), "work").unwrap();
        let mut known = recorded(carrier);
        known.sort();
        assert_eq!(known, ["after", "between", "work"], "call {nth}");
        assert_same(carrier, [one, other]);
        if lived {
            break;
        }
    }
    // It died before the store had its record, and after.
    assert_eq!(states.into_iter().collect::<Vec<_>>(), [1, 2]);
}
