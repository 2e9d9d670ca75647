//! Histories of many processes with kills, failures, power cuts and people in between, against a model that is a list.

use std::collections::BTreeSet;

use flowrun::disk::Errno;
use proptest::prelude::*;

use super::cut::{Dice, Order, some_leftover};
use super::disk::Trouble;
use super::world::{COMMENT, Deed, World};
use crate::support::scaled;

/// What another program writes into the log.
const FOREIGN: &str = "{\"note\":\"hi\"}";

#[derive(Debug, Clone)]
enum Step {
    /// A record of so many bytes.
    Record(usize),
    /// A record in trouble.
    Hindered(Trouble),
    /// The last record that nobody confirmed, given again.
    Retry,
    /// Another command.
    Other(Deed),
    /// A power cut, with the seed that decides what it takes.
    Cut(u64),
    /// A person writes a comment into `run.yaml`.
    Comment,
    /// A person removes the file of the n-th record.
    RemoveActivity(usize),
    /// A person removes `run.yaml`.
    RemoveRun,
    /// Another program writes into the log.
    Foreign(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let at = 1..70_usize;
    let errno = prop::sample::select(vec![Errno::IO, Errno::NOSPC, Errno::ROFS]);
    let trouble = prop_oneof![
        3 => at.clone().prop_map(|at| Trouble::Death { at }),
        2 => (at.clone(), errno.clone()).prop_map(|(at, errno)| Trouble::Failure { at, errno }),
        1 => (at.clone(), errno).prop_map(|(at, errno)| Trouble::Failures { at, errno }),
        1 => at.prop_map(|at| Trouble::ShortWrite { at }),
    ];
    let others = vec![Deed::Block, Deed::Unblock, Deed::SessionEnd];
    let step = prop_oneof![
        6 => (1..6_000_usize).prop_map(Step::Record),
        6 => trouble.prop_map(Step::Hindered),
        3 => Just(Step::Retry),
        2 => prop::sample::select(others).prop_map(Step::Other),
        4 => any::<u64>().prop_map(Step::Cut),
        1 => Just(Step::Comment),
        1 => (0..8_usize).prop_map(Step::RemoveActivity),
        1 => Just(Step::RemoveRun),
        1 => any::<bool>().prop_map(Step::Foreign),
    ];
    prop::collection::vec(step, 1..14)
}

/// What must be there.
#[derive(Debug, Default)]
struct Model {
    /// Acknowledged records, in order.
    acknowledged: Vec<String>,
    /// Those of them that were acknowledged late: they may have been there before others.
    retried: BTreeSet<String>,
    /// A record of which nobody knows.
    unconfirmed: Option<String>,
    /// Files that a person removed.
    removed: BTreeSet<String>,
    /// Whether a comment was saved, and whether an event tells of it.
    commented: bool,
    adopted: bool,
    /// Whether another program wrote into the log.
    foreign: bool,
    /// What another program's line and one that nobody confirmed came to.
    mixed: Mixed,
}

/// When another program appends behind a line that was not flushed, and the power is cut before any command comes, each
/// of both may survive in parts. What is left of the two is no line of anybody's; it is skipped and kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
enum Mixed {
    #[default]
    No,
    /// A record left a line that was not flushed, or its remains.
    Unflushed,
    /// Another program wrote behind it.
    Behind,
    /// The power was cut then.
    Torn,
}

struct Play {
    world: World,
    model: Model,
    records: usize,
    cuts: usize,
}

impl Play {
    fn record(&mut self, id: String, size: usize, troubles: &[Trouble]) {
        self.world.disk.plan(troubles);
        let answer = self.world.act(&Deed::Record(id.clone(), size));
        if self.world.was_acknowledged() {
            self.flushed();
            self.model.acknowledged.push(id);
            self.model.adopted |= self.model.commented;
        } else {
            assert!(!troubles.is_empty(), "{id}: {answer:?}");
            self.model.unconfirmed = Some(id);
            if self.model.mixed == Mixed::No {
                self.model.mixed = Mixed::Unflushed;
            }
        }
    }

    /// A command put the log on stable storage as it is.
    fn flushed(&mut self) {
        if self.model.mixed < Mixed::Torn {
            self.model.mixed = Mixed::No;
        }
    }

    fn take(&mut self, step: &Step) {
        self.records += 1;
        let id = format!("r{}", self.records);
        match step {
            Step::Record(size) => self.record(id, *size, &[]),
            Step::Hindered(trouble) => self.record(id, 20, &[*trouble]),
            Step::Retry => {
                if let Some(id) = self.model.unconfirmed.take() {
                    self.model.retried.insert(id.clone());
                    // Hindered records are all of this size.
                    self.record(id, 20, &[]);
                }
            }
            Step::Other(deed) => {
                self.world.act(deed).unwrap();
                if *deed == Deed::Block {
                    self.world.act(&Deed::Unblock).unwrap();
                }
                self.flushed();
                self.model.adopted |= self.model.commented;
            }
            Step::Cut(seed) => {
                let (base, changes) = self.world.disk.history();
                self.cuts += 1;
                let left = some_leftover(&base, &changes, &mut Dice(*seed));
                self.world = World::left(left, self.cuts, Order::Any);
                self.model.mixed = match self.model.mixed {
                    Mixed::Behind | Mixed::Torn => Mixed::Torn,
                    Mixed::No | Mixed::Unflushed => Mixed::No,
                };
            }
            Step::Comment => {
                let Some(text) = self.world.file("run.yaml") else { return };
                let text = String::from_utf8(text).unwrap().replacen("state:\n", &format!("{COMMENT}state:\n"), 1);
                self.world.save("run.yaml", &text);
                self.model.commented = true;
                self.model.adopted = false;
            }
            Step::RemoveActivity(nth) => {
                let Some((number, id)) = self.world.recorded().get(*nth).cloned() else { return };
                let name = format!("{number}-{id}.yaml");
                if self.world.file(&format!("activities/{name}")).is_some() {
                    self.world.remove("activities", &name);
                    self.model.removed.insert(format!("activities/{name}"));
                }
            }
            Step::RemoveRun => {
                if self.world.file("run.yaml").is_some() {
                    self.world.remove("", "run.yaml");
                    self.model.commented &= self.model.adopted;
                }
            }
            Step::Foreign(ended) => {
                self.world.append(FOREIGN);
                if *ended {
                    self.world.append("\n");
                }
                self.model.foreign = true;
                if self.model.mixed == Mixed::Unflushed {
                    self.model.mixed = Mixed::Behind;
                }
            }
        }
    }

    /// What holds at any time, before anybody repairs anything.
    fn check(&mut self) {
        let (shown, logged) = self.world.shown_and_logged();
        assert!(shown <= logged, "run.yaml shows {shown}, the log ends at {logged}");
        let told = self.world.resumed().unwrap();
        let completed = told["completed"].as_array().unwrap_or_else(|| panic!("{told}"));
        let ids: Vec<_> = completed.iter().map(|one| one["id"].as_str().unwrap()).collect();
        let sure: Vec<_> = ids.iter().copied().filter(|id| self.model.acknowledged.iter().any(|a| a == id)).collect();
        let all: BTreeSet<_> = self.model.acknowledged.iter().map(String::as_str).collect();
        assert_eq!(sure.iter().copied().collect::<BTreeSet<_>>(), all, "of what was acknowledged");
        let prompt = |id: &&str| !self.model.retried.contains(*id);
        let in_order: Vec<_> = self.model.acknowledged.iter().map(String::as_str).filter(prompt).collect();
        assert_eq!(sure.into_iter().filter(prompt).collect::<Vec<_>>(), in_order, "the order");
        let distinct: BTreeSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len(), "twice: {ids:?}");
    }

    /// What holds after one more record.
    fn finish(&mut self) {
        self.record("last".to_owned(), 1, &[]);
        self.check();
        let foreign = self.model.foreign.then_some(FOREIGN);
        let broken = self.world.broken_promise_but(&self.model.removed, foreign);
        if self.model.mixed == Mixed::Torn {
            assert!(broken.is_none() || broken.as_deref() == Some("a line of the log does not verify"), "{broken:?}");
        } else {
            assert_eq!(broken, None);
        }
        if self.model.commented {
            assert!(self.world.text().contains(COMMENT), "a person's comment is gone");
        }
    }
}

fn cases() -> u32 {
    std::env::var("FLOW_HISTORIES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(scaled(200, 2000))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_acknowledged_is_ever_lost_doubled_or_reordered(steps in steps()) {
        let mut play = Play { world: World::begun(), model: Model::default(), records: 0, cuts: 0 };
        for step in &steps {
            play.take(step);
            play.check();
        }
        play.finish();
    }
}

/// Found at random: the remains of a line that nobody confirmed stay behind another program's.
#[test]
fn a_line_behind_one_that_was_not_flushed_may_be_torn_with_it_and_harms_no_other() {
    for seed in (0..60_u64).map(|nth| nth.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
        let mut play = Play { world: World::begun(), model: Model::default(), records: 0, cuts: 0 };
        let failure = Trouble::Failure { at: 52, errno: Errno::IO };
        for step in [Step::Cut(0), Step::Hindered(failure), Step::Foreign(true), Step::Cut(seed), Step::Record(20)] {
            play.take(&step);
            play.check();
        }
        play.finish();
    }
}

#[test]
fn what_others_appended_before_a_failed_flush_does_not_endanger_what_is_recorded_after_it() {
    let mut begun = Play { world: World::begun(), model: Model::default(), records: 0, cuts: 0 };
    // A line of another program's has the log read once more.
    begun.take(&Step::Foreign(true));
    begun.record("first".to_owned(), 20, &[]);
    let calls = begun.world.disk.calls();
    let flush = 1 + calls.iter().position(|call| *call == "sync_data").unwrap();
    for errno in [Errno::IO, Errno::NOSPC] {
        for seed in 0..40 {
            let mut play = Play { world: World::begun(), model: Model::default(), records: 0, cuts: 0 };
            play.take(&Step::Foreign(true));
            play.take(&Step::Hindered(Trouble::Failure { at: flush, errno }));
            assert!(play.model.unconfirmed.is_some(), "the flush did not fail");
            for step in [Step::Retry, Step::Cut(seed)] {
                play.take(&step);
                play.check();
            }
            play.finish();
        }
    }
}

#[test]
fn what_is_recorded_behind_a_mended_end_is_safe_wherever_its_mender_died() {
    for at in 1..60 {
        for seed in 0..4 {
            let mut play = Play { world: World::begun(), model: Model::default(), records: 0, cuts: 0 };
            let death = Step::Hindered(Trouble::Death { at });
            for step in [Step::Foreign(false), death, Step::Record(1), Step::Cut(seed)] {
                play.take(&step);
                play.check();
            }
            play.finish();
        }
    }
}
