//! Every call of a record fails, is cut short, or is the last one; and after that the power fails too.

use flowrun::disk::Errno;

use super::cut::{Order, leftovers_now};
use super::disk::Trouble;
use super::world::{Deed, World};
use crate::support::faulty::Mistake;

/// So many choices of a power cut are tried after each trouble.
const CHOICES: usize = 6;

fn record(id: &str) -> Deed {
    Deed::Record(id.to_owned(), 20)
}

/// Records `b1` in trouble and `b2` without any, and lets the power fail then. Says what is wrong.
pub fn violations(before: &World, troubles: &[Trouble], mistake: Option<Mistake>) -> Vec<String> {
    let mut world = before.rest().broken_by(mistake);
    world.disk.plan(troubles);
    let _ = world.act(&record("b1"));
    let told = world.was_acknowledged();
    let mut wrong = Vec::new();
    if told && world.records_of("b1") != 1 {
        wrong.push(format!("b1 was acknowledged and is there {} times", world.records_of("b1")));
    }
    if let Err(error) = world.act(&record("b2")) {
        wrong.push(format!("the next record: {error}"));
        return wrong;
    }
    let (base, changes) = world.disk.history();
    leftovers_now(&base, &changes, CHOICES, &mut |leftover| {
        let mut world = World::left(leftover.image, 1, Order::Any);
        let lost: Vec<_> = ["b1", "b2"].into_iter().filter(|id| world.records_of(id) == 0).collect();
        if lost.contains(&"b2") || told && lost.contains(&"b1") {
            wrong.push(format!("the power cut took {lost:?} without {:?}", leftover.lost));
            return;
        }
        let again = world.act(&record("b1")).and_then(|()| world.act(&record("b3")));
        let broken = again.err().map(|error| error.to_string()).or_else(|| world.broken_promise());
        if let Some(broken) = broken {
            wrong.push(format!("{broken} without {:?}", leftover.lost));
        }
    });
    wrong
}

/// How many calls a record makes.
fn calls(before: &World) -> usize {
    let mut world = before.rest();
    world.disk.plan(&[]);
    world.act(&record("b1")).unwrap();
    world.disk.calls().len()
}

/// What is wrong after the trouble that `troubles` makes at each call.
pub fn at_every_call(
    before: &World,
    mistake: Option<Mistake>,
    troubles: impl Fn(usize) -> Vec<Trouble>,
) -> impl Iterator<Item = String> {
    let tell = |at| move |wrong| format!("call {at}: {wrong}");
    (1..=calls(before)).flat_map(move |at| violations(before, &troubles(at), mistake).into_iter().map(tell(at)))
}

#[track_caller]
fn all_is_well(troubles: impl Fn(usize) -> Vec<Trouble>) {
    let wrong: Vec<_> = at_every_call(&World::begun(), None, troubles).collect();
    assert!(wrong.is_empty(), "{} violations: {:#?}", wrong.len(), &wrong[..wrong.len().min(3)]);
}

#[test]
fn a_call_that_fails_loses_nothing_that_was_acknowledged() {
    all_is_well(|at| vec![Trouble::Failure { at, errno: Errno::IO }]);
    all_is_well(|at| vec![Trouble::Failure { at, errno: Errno::NOSPC }]);
}

#[test]
fn calls_that_fail_from_some_time_on_lose_nothing_that_was_acknowledged() {
    all_is_well(|at| vec![Trouble::Failures { at, errno: Errno::IO }]);
}

#[test]
fn a_process_that_dies_after_a_failure_leaves_nothing_that_a_later_flush_only_seems_to_save() {
    all_is_well(|at| vec![Trouble::Failure { at, errno: Errno::IO }, Trouble::Death { at: at + 1 }]);
}

#[test]
fn a_process_that_dies_at_any_call_loses_nothing() {
    all_is_well(|at| vec![Trouble::Death { at }]);
}

#[test]
fn a_write_that_is_cut_short_is_taken_back() {
    all_is_well(|at| vec![Trouble::ShortWrite { at }]);
}
