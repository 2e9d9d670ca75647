//! Every call of a record fails, is cut short, or is the last one; and after that the power fails too.

use flowrun::disk::Errno;

use super::cut::{Order, leftovers_now};
use super::disk::Trouble;
use super::every_state::shortened;
use super::image::Image;
use super::world::{COMMENT, Deed, World};
use crate::support::faulty::Mistake;
use crate::support::scaled;

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

/// A start that died at any call, and a record in what it left. What was acknowledged is there after every power cut.
#[test]
fn a_first_record_makes_safe_what_a_killed_start_left() {
    let start = Deed::Start("debug");
    let mut counted = World::holding(Image::new());
    counted.disk.plan(&[]);
    counted.act(&start).unwrap();
    let mut recorded = 0;
    for at in 1..=counted.disk.calls().len() {
        let mut world = World::holding(Image::new());
        world.disk.plan(&[Trouble::Death { at }]);
        let _ = world.act(&start);
        if world.file("run.yaml").is_none() {
            continue;
        }
        recorded += 1;
        world.act(&record("b1")).unwrap();
        let (base, changes) = world.disk.history();
        leftovers_now(&base, &changes, scaled(60, 200), &mut |leftover| {
            let mut world = World::left(leftover.image, 1, Order::Any);
            let lost: Vec<_> = leftover.lost.iter().map(|&at| shortened(&changes[at])).collect();
            assert_eq!(world.records_of("b1"), 1, "killed at call {at}, and the power cut took {lost:#?}");
            world.act(&record("b2")).unwrap();
            assert_eq!(world.broken_promise(), None);
        });
    }
    assert!(recorded > 0, "no death left a run");
}

/// Git or an editor puts another file in the log's place at any moment before the record is on stable storage: whoever is
/// told that it is done finds it there.
#[test]
fn a_record_into_a_log_that_was_replaced_is_never_acknowledged() {
    let (calls, flushed) = flushed();
    for at in 1..=flushed {
        let mut world = World::begun();
        let editor = World::also(&world);
        let log = String::from_utf8(world.file("events.jsonl").unwrap()).unwrap();
        world.disk.plan(&[]);
        world.disk.between(Some(Box::new(move |now| {
            if now == at {
                editor.save("events.jsonl", &log);
            }
        })));
        let answer = world.act(&record("b1"));
        let told = world.was_acknowledged();
        world.disk.between(None);
        let found = world.records_of("b1");
        assert_eq!(found, usize::from(told), "replaced at call {at} of {calls:?}: {answer:?}");
        world.act(&record("b1")).unwrap();
        assert_eq!(world.records_of("b1"), 1, "replaced at call {at}, and recorded again");
        assert_eq!(world.broken_promise(), None, "replaced at call {at}");
    }
}

/// The calls of a record, and which of them, from 1, comes behind its flushes: it looks for the log's place again.
fn flushed() -> (Vec<&'static str>, usize) {
    let mut world = World::begun();
    world.disk.plan(&[]);
    world.act(&record("b1")).unwrap();
    let calls = world.disk.calls();
    let written = calls.iter().rposition(|call| *call == "sync_data").unwrap();
    let flushed = written + calls[written..].iter().position(|call| *call == "sync_all").unwrap();
    (calls, flushed + 1)
}

#[test]
fn a_record_that_is_on_stable_storage_is_done_whatever_fails_then() {
    let (calls, flushed) = flushed();
    let placed = flushed + 1 + calls[flushed..].iter().position(|call| *call == "rename").unwrap();
    for at in placed..=calls.len() {
        for errno in [Errno::IO, Errno::NOSPC] {
            let mut world = World::begun();
            world.disk.plan(&[Trouble::Failure { at, errno }]);
            world.act(&record("b1")).unwrap_or_else(|error| panic!("call {at} of {calls:?}: {error}"));
            world.act(&record("b2")).unwrap();
            assert_eq!(world.broken_promise(), None, "call {at}");
        }
    }
}

#[test]
fn a_record_that_was_refused_leaves_no_temporary_file() {
    let (calls, flushed) = flushed();
    for at in 1..=flushed {
        let mut world = World::begun();
        world.disk.plan(&[Trouble::Failure { at, errno: Errno::IO }]);
        if world.act(&record("b1")).is_err() {
            for name in [".run.tmp", "activities/.act.tmp"] {
                assert!(world.file(name).is_none(), "{name} stays when call {at} of {calls:?} fails");
            }
        }
    }
}

#[test]
fn where_names_cannot_be_exchanged_a_save_before_the_commit_is_kept() {
    let (calls, flushed) = flushed();
    for at in 1..=flushed {
        let mut world = World::begun();
        let editor = World::also(&world);
        let text = world.text().replacen("state:\n", &format!("{COMMENT}state:\n"), 1);
        world.disk.plan(&[Trouble::NoFlags]);
        world.disk.between(Some(Box::new(move |now| {
            if now == at {
                editor.save("run.yaml", &text);
            }
        })));
        world.act(&record("b1")).unwrap();
        world.disk.between(None);
        assert!(world.text().contains(COMMENT), "saved before call {at} of {calls:?}");
        world.act(&record("b2")).unwrap();
        assert!(world.text().contains(COMMENT), "saved before call {at} of {calls:?}");
        assert_eq!(world.broken_promise(), None);
    }
}
