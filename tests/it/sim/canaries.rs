//! A search that finds nothing in a broken commit would find nothing in ours.
#![cfg(debug_assertions)]

use std::sync::{Arc, Mutex};

use flowrun::store::Canary;
use flowrun::store::disk::Errno;

use super::cut::Order;
use super::disk::Trouble;
use super::every_state::search;
use super::trouble::at_every_call;
use super::world::{Deed, World};

fn record(id: &str) -> Deed {
    Deed::Record(id.to_owned(), 20)
}

#[track_caller]
fn is_caught(canary: Canary, order: Order) {
    let found = search(&World::begun(), &[record("b1")], order, false, Some(canary));
    assert!(!found.violations.is_empty(), "{canary:?} was not noticed in {} states", found.states);
}

#[test]
fn power_cuts_catch_a_commit_that_flushes_nothing() {
    is_caught(Canary::NoFlush, Order::Any);
    is_caught(Canary::NoFlush, Order::Journal);
}

#[test]
fn kills_catch_a_commit_that_shows_before_it_says() {
    is_caught(Canary::RunFirst, Order::Killed);
}

#[test]
fn power_cuts_catch_a_commit_that_shows_before_it_is_safe() {
    is_caught(Canary::PublishBeforeFlush, Order::Any);
}

#[test]
fn failing_flushes_catch_a_commit_that_does_not_look() {
    let failing = |at| vec![Trouble::Failure { at, errno: Errno::IO }];
    assert!(at_every_call(&World::begun(), Some(Canary::UncheckedFlush), failing).next().is_some());
}

#[test]
fn failing_flushes_catch_a_recovery_that_trusts_old_pages() {
    let dying = |at| vec![Trouble::Failure { at, errno: Errno::IO }, Trouble::Death { at: at + 1 }];
    assert!(at_every_call(&World::begun(), Some(Canary::ReuseLog), dying).next().is_some());
}

/// Lets a second process record at each call of a first one, and gives the worst that happened.
fn interleaved(canary: Option<Canary>) -> Option<String> {
    let mut counted = World::begun();
    counted.disk.plan(&[]);
    counted.act(&record("b1")).unwrap();
    (1..=counted.disk.calls().len()).find_map(|at| {
        let mut first = World::begun().broken_by(canary);
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
fn a_second_process_catches_a_position_that_is_chosen_without_the_lock() {
    assert!(interleaved(Some(Canary::SequenceOutsideLock)).is_some());
}
