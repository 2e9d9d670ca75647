//! A search that finds nothing on a broken disk would find nothing on a sound one.

use std::sync::{Arc, Mutex};

use flowrun::disk::Errno;

use super::cut::Order;
use super::disk::Trouble;
use super::every_state::search;
use super::trouble::at_every_call;
use super::world::{Deed, World};
use crate::support::faulty::Mistake;

fn record(id: &str) -> Deed {
    Deed::Record(id.to_owned(), 20)
}

#[track_caller]
fn is_caught(mistake: Mistake, order: Order) {
    let found = search(&World::begun(), &[record("b1")], order, false, Some(mistake));
    assert!(!found.violations.is_empty(), "{mistake:?} was not noticed in {} states", found.states);
}

#[test]
fn power_cuts_catch_a_disk_that_flushes_nothing() {
    is_caught(Mistake::NoFlush, Order::Any);
    is_caught(Mistake::NoFlush, Order::Journal);
}

#[test]
fn kills_catch_a_disk_that_shows_before_it_says() {
    is_caught(Mistake::LateAppend, Order::Killed);
}

#[test]
fn power_cuts_catch_a_disk_that_shows_before_it_is_safe() {
    is_caught(Mistake::LateFlush, Order::Any);
}

#[test]
fn failing_flushes_catch_a_disk_that_keeps_them_to_itself() {
    let failing = |at| vec![Trouble::Failure { at, errno: Errno::IO }];
    assert!(at_every_call(&World::begun(), Some(Mistake::UncheckedFlush), failing).next().is_some());
}

#[test]
fn failing_flushes_catch_a_recovery_that_keeps_old_pages() {
    let dying = |at| vec![Trouble::Failure { at, errno: Errno::IO }, Trouble::Death { at: at + 1 }];
    assert!(at_every_call(&World::begun(), Some(Mistake::OldLog), dying).next().is_some());
}

/// Lets a second process record at each call of a first one, and gives the worst that happened.
fn interleaved(mistake: Option<Mistake>) -> Option<String> {
    let mut counted = World::begun();
    counted.disk.plan(&[]);
    counted.act(&record("b1")).unwrap();
    (1..=counted.disk.calls().len()).find_map(|at| {
        let mut first = World::begun().broken_by(mistake);
        let second = Arc::new(Mutex::new(World::also(&first)));
        let answer = Arc::new(Mutex::new(None));
        let (inner, told) = (Arc::clone(&second), Arc::clone(&answer));
        first.disk.plan(&[]);
        first.disk.between(Some(Box::new(move |now| {
            if now == at {
                *told.lock().unwrap() = Some(inner.lock().unwrap().act(&record("c1")));
            }
        })));
        let one = first.act(&record("b1"));
        first.disk.between(None);
        let other = answer.lock().unwrap().take().expect("the second process never ran");
        if let Err(error) = one {
            return Some(format!("call {at}: the first process: {error}"));
        }
        if let Err(error) = other
            && !error.to_string().contains("held")
        {
            return Some(format!("call {at}: the second process: {error}"));
        }
        first.broken_promise().map(|broken| format!("call {at}: {broken}"))
    })
}

#[test]
fn a_second_process_at_any_moment_waits_or_comes_after() {
    assert_eq!(interleaved(None), None);
}

#[test]
fn a_second_process_catches_a_disk_whose_locks_exclude_nobody() {
    assert!(interleaved(Some(Mistake::NoLocks)).is_some());
}
