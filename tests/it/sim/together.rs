//! Several writers of one run, who release its lock before they flush: in every order of their calls nothing is lost that
//! was acknowledged, whatever dies, fails or is cut.

use std::sync::{Arc, Mutex};

use super::cut::{Dice, Order, all_of, some_leftover};
use super::image::Change;
use super::turns::{Fate, Turns};
use super::world::{Deed, World};
use crate::support::faulty::Mistake;
use crate::support::scaled;

const IDS: [&str; 3] = ["b1", "b2", "b3"];
/// How many power cuts are tried in each history.
const CUTS: usize = 12;

fn record(id: &str) -> Deed {
    Deed::Record(id.to_owned(), 20)
}

/// What is wrong after these writers recorded at the same time.
pub fn violations(seed: u64, ids: [&'static str; 3], fates: [Fate; 3], mistake: Option<Mistake>) -> Vec<String> {
    let world = World::begun().rest().broken_by(mistake);
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let mut writer = world.clone();
    let mut writers: Vec<(Fate, Box<dyn FnOnce() + Send>)> = Vec::new();
    for (id, fate) in ids.into_iter().zip(fates) {
        writer = World::also(&writer);
        let (mut one, told) = (writer.clone(), Arc::clone(&acknowledged));
        let act = move || {
            let _ = one.act(&record(id));
            if one.was_acknowledged() {
                told.lock().unwrap().push(id);
            }
        };
        writers.push((fate, Box::new(act)));
    }
    // One more waits for the lock all the time.
    let waiting = world.waiting();
    Turns::run(&world.disk, seed, writers);
    drop(waiting);
    let acknowledged = acknowledged.lock().unwrap().clone();
    let mut wrong = Vec::new();
    if fates.iter().all(|fate| matches!(fate, Fate::Lives)) {
        wrong.extend(world.broken_promise().map(|why| format!("with nobody after them: {why}")));
        if acknowledged.len() < fates.len() {
            wrong.push(format!("nothing went wrong, and only {acknowledged:?} are acknowledged"));
        }
    }
    let (base, changes) = world.disk.history();
    let mut after = World::also(&writer);
    wrong.extend(broken(&mut after, &acknowledged).map(|why| format!("at rest: {why}")));
    let mut dice = Dice(seed ^ 0x5eed);
    for _ in 0..CUTS {
        let moment = usize::try_from(dice.below(changes.len() as u64 + 1)).unwrap();
        let told = changes[..moment].iter().filter(|change| **change == Change::Acknowledged).count();
        let told = &acknowledged[..told.min(acknowledged.len())];
        let noted = World::left(all_of(&base, &changes[..moment]), 0, Order::Killed).noted_less_than(told);
        wrong.extend(noted.map(|why| format!("after change {moment}: {why}")));
        let image = some_leftover(&base, &changes[..moment], &mut dice);
        let mut left = World::left(image, 1, Order::Any);
        wrong.extend(broken(&mut left, told).map(|why| format!("after a power cut at change {moment}: {why}")));
    }
    wrong
}

/// What is broken for those who come next; `told` are acknowledged.
fn broken(world: &mut World, told: &[&str]) -> Option<String> {
    for id in told {
        if world.records_of(id) != 1 {
            return Some(format!("{id} was acknowledged and is there {} times", world.records_of(id)));
        }
    }
    let (shown, logged) = world.shown_and_logged();
    if shown > logged {
        return Some(format!("run.yaml shows event {shown} of {logged}"));
    }
    for id in IDS.into_iter().chain(["b4"]) {
        if let Err(error) = world.act(&record(id)) {
            return Some(format!("{id}, given once more: {error}"));
        }
        if world.records_of(id) != 1 {
            return Some(format!("{id} is there {} times", world.records_of(id)));
        }
    }
    world.broken_promise()
}

#[track_caller]
fn all_is_well(ids: [&'static str; 3], fates: impl Fn(&mut Dice) -> [Fate; 3]) {
    for seed in 0..scaled(120, 2_000) as u64 {
        let fates = fates(&mut Dice(seed));
        let wrong = violations(seed, ids, fates, None);
        assert!(wrong.is_empty(), "seed {seed}, {fates:?}: {:#?}", &wrong[..wrong.len().min(3)]);
    }
}

#[test]
fn writers_that_flush_at_the_same_time_lose_nothing() {
    all_is_well(IDS, |_| [Fate::Lives; 3]);
}

#[test]
fn a_writer_that_dies_among_others_takes_nothing_of_theirs_along() {
    all_is_well(IDS, |dice| {
        let at = 1 + usize::try_from(dice.below(90)).unwrap();
        let also = 1 + usize::try_from(dice.below(180)).unwrap();
        [Fate::Dies { at }, Fate::Lives, Fate::Dies { at: also }]
    });
}

#[test]
fn a_flush_that_fails_takes_nothing_of_others_along() {
    all_is_well(IDS, |dice| {
        let at = 1 + usize::try_from(dice.below(4)).unwrap();
        [Fate::FailsToFlush { at }, Fate::Lives, Fate::Lives]
    });
}

#[test]
fn a_command_that_is_given_twice_at_the_same_time_is_acknowledged_when_it_is_safe() {
    all_is_well(["b1", "b1", "b2"], |dice| match dice.below(3) {
        0 => [Fate::Lives; 3],
        1 => [Fate::Dies { at: 1 + usize::try_from(dice.below(90)).unwrap() }, Fate::Lives, Fate::Lives],
        _ => [Fate::FailsToFlush { at: 1 + usize::try_from(dice.below(4)).unwrap() }, Fate::Lives, Fate::Lives],
    });
}
