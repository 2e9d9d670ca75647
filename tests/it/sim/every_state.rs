//! One operation, or a few, and every state that a kill or a power cut at any moment can leave of it; recovery from each
//! of them, and every state that a power cut during that recovery can leave.

use std::fmt::Debug;

use flowrun::runs::Error;
use flowrun::store::StoreError;
use serde_json::Value;

use super::cut::{Dice, Leftover, Order, every_leftover};
use super::image::{Change, Image};
use super::world::{COMMENT, Deed, World};
use crate::support::faulty::Mistake;
use crate::support::scaled;

/// So many choices a moment are tried in the campaign: all of them after a record.
const CHOICES: usize = 1 << 9;
/// So many every day, and so many after several records.
const FEW_CHOICES: (usize, usize) = (1 << 5, 1 << 4);
/// So many of a moment in a recovery.
const NESTED_CHOICES: usize = 3;

/// What a search through states gave.
#[derive(Debug, Default)]
pub struct Search {
    /// Moments and choices.
    pub tried: usize,
    /// Different states among them.
    pub states: usize,
    /// What was wrong.
    pub violations: Vec<String>,
}

/// Deeds that are tried together, and what `resume` says before, between and after them.
struct Story<'a> {
    deeds: &'a [Deed],
    told: Vec<Value>,
    commented: bool,
    order: Order,
    nested: bool,
}

/// Does `deeds` after `before` and looks at what every crash leaves.
pub fn search(before: &World, deeds: &[Deed], order: Order, nested: bool, mistake: Option<Mistake>) -> Search {
    let mut world = before.rest().broken_by(mistake);
    let commented = world.file("run.yaml").is_some_and(|text| String::from_utf8_lossy(&text).contains(COMMENT));
    let mut told = vec![world.resumed().unwrap()];
    for deed in deeds {
        world.act(deed).unwrap();
        told.push(world.resumed().unwrap());
    }
    let story = Story { deeds, told, commented, order, nested };
    let (base, changes) = world.disk.history();
    let mut search = Search::default();
    let mut dice = Dice(1);
    // Three records have a hundred moments with thousands of choices each.
    let choices = scaled(if deeds.len() > 2 { FEW_CHOICES.1 } else { FEW_CHOICES.0 }, CHOICES);
    search.tried = every_leftover(&base, &changes, order, choices, &mut dice, &mut |leftover| {
        search.states += 1;
        if mistake.is_some() && !search.violations.is_empty() {
            // One is enough.
            return;
        }
        if let Err(wrong) = story.check(&leftover, 0) {
            let lost: Vec<_> = leftover.lost.iter().map(|&at| shortened(&changes[at])).collect();
            search.violations.push(format!("{wrong}\n  after change {} without {lost:?}", leftover.after));
        }
    });
    search
}

/// A change, without most of its bytes.
pub fn shortened(change: &impl Debug) -> String {
    format!("{change:?}").chars().take(120).collect()
}

impl Story<'_> {
    /// What is wrong with a state in which `done` of the deeds were acknowledged earlier.
    fn check(&self, leftover: &Leftover, done: usize) -> Result<(), String> {
        let done = done + leftover.acknowledged;
        self.check_readers(leftover, done)?;
        let (base, changes) = self.check_recovery(leftover, done)?;
        if self.nested {
            self.check_nested(&base, &changes, done)?;
        }
        Ok(())
    }

    fn world(&self, leftover: &Leftover) -> World {
        let boot = if self.nested { 1 } else { 2 };
        World::left(leftover.image.clone(), boot, self.order)
    }

    /// Before anybody repairs anything, readers say the old or the new.
    fn check_readers(&self, leftover: &Leftover, done: usize) -> Result<(), String> {
        let mut world = self.world(leftover);
        let (shown, logged) = world.shown_and_logged();
        if shown > logged {
            return Err(format!("run.yaml shows {shown}, the log ends at {logged}"));
        }
        let told = world.resumed().map_err(|error| format!("resume: {error}"))?;
        let allowed = &self.told[done..(done + 2).min(self.told.len())];
        if !allowed.contains(&told) {
            return Err(format!("with {done} acknowledged, resume says {told}"));
        }
        world.listed().map(drop).map_err(|error| format!("list: {error}"))
    }

    /// What was not acknowledged is done again, and is there once.
    fn check_recovery(&self, leftover: &Leftover, done: usize) -> Result<(Image, Vec<Change>), String> {
        let mut world = self.world(leftover);
        for deed in &self.deeds[done..] {
            match world.act(deed) {
                Err(error) if matches!((deed, &*error), (Deed::Start(_), Error::Store(StoreError::Taken { .. }))) => {}
                result => result.map_err(|error| format!("{deed:?} again: {error}"))?,
            }
        }
        let recovery = world.disk.history();
        match world.resumed() {
            Ok(told) if Some(&told) == self.told.last() => {}
            other => return Err(format!("in the end, resume says {other:?}")),
        }
        // Also when everything was acknowledged, the next writer repairs.
        if self.told.last().is_some_and(|told| told["verdict"] == "continue") {
            world
                .act(&Deed::Record("afterwards".to_owned(), 1))
                .map_err(|error| format!("the next record: {error}"))?;
            world.broken_promise().map_or(Ok(()), Err)?;
        }
        if self.commented && !world.text().contains(COMMENT) {
            return Err("a person's comment is gone".to_owned());
        }
        for deed in self.deeds {
            if let Deed::Record(id, _) | Deed::Advance(id) = deed
                && world.records_of(id) != 1
            {
                return Err(format!("{id} is recorded {} times", world.records_of(id)));
            }
        }
        Ok(recovery)
    }

    /// A power cut at any moment of the recovery.
    fn check_nested(&self, base: &Image, changes: &[Change], done: usize) -> Result<(), String> {
        let once = Self { deeds: self.deeds, told: self.told.clone(), nested: false, ..*self };
        let mut wrong = None;
        every_leftover(base, changes, self.order, NESTED_CHOICES, &mut Dice(2), &mut |leftover| {
            if wrong.is_none() {
                wrong = once.check(&leftover, done).err();
            }
        });
        wrong.map_or(Ok(()), |wrong| Err(format!("in the recovery: {wrong}")))
    }
}

fn all_is_well(before: &World, deeds: &[Deed], order: Order, nested: bool, at_least: usize) {
    let started = std::time::Instant::now();
    let search = search(before, deeds, order, nested, None);
    let first: Vec<_> = search.violations.iter().take(3).collect();
    assert!(first.is_empty(), "{} of {} states: {first:#?}", search.violations.len(), search.states);
    assert!(search.states >= at_least, "only {} states of {} were tried", search.states, search.tried);
    #[expect(clippy::print_stdout, reason = "shown with --nocapture: how far a search reaches")]
    {
        println!(
            "{deeds:?} {order:?}: {} moments and choices, {} states, {:?}",
            search.tried,
            search.states,
            started.elapsed()
        );
    }
}

fn commented() -> World {
    let world = World::begun();
    world.save("run.yaml", &world.text().replacen("state:\n", &format!("{COMMENT}state:\n"), 1));
    world
}

fn record(id: &str) -> Deed {
    Deed::Record(id.to_owned(), 20)
}

#[test]
fn a_record_survives_every_power_cut() {
    for order in [Order::Killed, Order::Journal, Order::Any] {
        all_is_well(&World::begun(), &[record("b1")], order, false, 5);
    }
}

#[test]
fn a_record_of_several_blocks_survives_every_power_cut() {
    all_is_well(&World::begun(), &[Deed::Record("b1".to_owned(), 4_000)], Order::Any, false, 50);
}

#[test]
fn a_record_that_moves_on_survives_every_power_cut() {
    all_is_well(&World::begun(), &[Deed::Advance("b1".to_owned())], Order::Any, false, 10);
}

#[test]
fn records_in_a_row_survive_every_power_cut() {
    all_is_well(&World::begun(), &[record("b1"), record("b2")], Order::Journal, false, 10);
    all_is_well(&World::begun(), &[record("b1"), record("b2"), record("b3")], Order::Any, false, 10);
}

#[test]
fn a_record_over_a_hand_edit_keeps_both_in_every_power_cut() {
    for order in [Order::Killed, Order::Any] {
        all_is_well(&commented(), &[record("b1")], order, false, 10);
    }
}

#[test]
fn a_first_run_is_there_wholly_or_not_at_all() {
    for order in [Order::Killed, Order::Journal, Order::Any] {
        all_is_well(&World::holding(Image::new()), &[Deed::Start("debug")], order, false, 10);
    }
}

#[test]
fn every_other_change_of_a_run_survives_every_power_cut() {
    for deed in [Deed::Block, Deed::Complete, Deed::Cancel, Deed::Claim("s1"), Deed::SessionEnd] {
        for order in [Order::Killed, Order::Any] {
            all_is_well(&World::begun(), std::slice::from_ref(&deed), order, false, 5);
        }
    }
    all_is_well(&World::begun(), &[Deed::Block, Deed::Unblock], Order::Any, false, 5);
}
