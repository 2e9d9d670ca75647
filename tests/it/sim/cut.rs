//! What a power cut can leave.
//!
//! A change is safe when its file or directory was flushed after it. Of the others, any may be there and any may be
//! missing, each block by itself and in any order: what POSIX allows, and more than the usual file systems do. A change
//! that a failed flush passed over is never safe, whatever is flushed later: the kernel may count its pages as written.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::image::{Change, Image, Inode, Tree};

/// Numbers that look random, the same ones for the same seed.
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below `bound`. (SplitMix64.)
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// In what order changes reach the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// All of them did: the process was killed, not the machine.
    Killed,
    /// Names in order; the contents of each file in order, but behind or ahead of names and other files.
    Journal,
    /// Any part of what was not flushed.
    Any,
}

/// A state after a power cut.
pub struct Leftover {
    /// How many changes had been made.
    pub after: usize,
    /// Which of them are missing.
    pub lost: Vec<usize>,
    /// How many times the program had answered.
    pub acknowledged: usize,
    /// What is stored.
    pub image: Image,
}

/// Calls `visit` once with every state that can be there after a power cut at any moment of `changes`. Says how many
/// moments and choices led to them. When a moment has more than `limit` choices, so many of them are taken at random.
pub fn every_leftover(
    base: &Image,
    changes: &[Change],
    order: Order,
    limit: usize,
    dice: &mut Dice,
    visit: &mut dyn FnMut(Leftover),
) -> usize {
    leftovers_of(base, changes, 0..=changes.len(), order, limit, dice, visit)
}

/// As [`every_leftover`], of a power cut now.
pub fn leftovers_now(base: &Image, changes: &[Change], limit: usize, visit: &mut dyn FnMut(Leftover)) -> usize {
    leftovers_of(base, changes, changes.len()..=changes.len(), Order::Any, limit, &mut Dice(3), visit)
}

fn leftovers_of(
    base: &Image,
    changes: &[Change],
    moments: std::ops::RangeInclusive<usize>,
    order: Order,
    limit: usize,
    dice: &mut Dice,
    visit: &mut dyn FnMut(Leftover),
) -> usize {
    let mut seen: HashSet<(Tree, usize)> = HashSet::new();
    let mut tried = 0;
    for after in moments {
        let acknowledged = changes[..after].iter().filter(|change| **change == Change::Acknowledged).count();
        let fate = Fate::of(&changes[..after]);
        for lost in fate.choices(changes, order, limit, dice) {
            tried += 1;
            let image = remaining(base, &changes[..after], &lost);
            if seen.insert((image.tree(), acknowledged)) {
                visit(Leftover { after, lost: lost.into_iter().collect(), acknowledged, image });
            }
        }
    }
    tried
}

/// One state that can be there after a power cut now.
pub fn some_leftover(base: &Image, changes: &[Change], dice: &mut Dice) -> Image {
    let unsafe_ones = Fate::of(changes).pending;
    let odds = 1 + dice.below(9);
    let lost = unsafe_ones.into_iter().filter(|_| dice.below(10) < odds).collect();
    remaining(base, changes, &lost)
}

/// What running programs see after these changes.
pub fn all_of(base: &Image, changes: &[Change]) -> Image {
    remaining(base, changes, &BTreeSet::new())
}

fn remaining(base: &Image, changes: &[Change], lost: &BTreeSet<usize>) -> Image {
    let mut image = base.clone();
    for (at, change) in changes.iter().enumerate() {
        if !lost.contains(&at) {
            image.apply(change);
        }
    }
    image
}

/// Which changes a power cut may still take.
struct Fate {
    pending: Vec<usize>,
}

impl Fate {
    fn of(changes: &[Change]) -> Self {
        let mut waiting: BTreeMap<Inode, Vec<usize>> = BTreeMap::new();
        let mut safe = BTreeSet::new();
        for (at, change) in changes.iter().enumerate() {
            match change {
                Change::Flushed(inode) => safe.extend(waiting.remove(inode).unwrap_or_default()),
                Change::FlushFailed(inode) => drop(waiting.remove(inode)),
                _ => nodes(change).into_iter().for_each(|node| waiting.entry(node).or_default().push(at)),
            }
        }
        let is_pending = |at: &usize| !safe.contains(at) && !nodes(&changes[*at]).is_empty();
        Self { pending: (0..changes.len()).filter(is_pending).collect() }
    }

    /// Sets of changes that are lost together: all, or about `limit` of them.
    fn choices(&self, changes: &[Change], order: Order, limit: usize, dice: &mut Dice) -> Vec<BTreeSet<usize>> {
        match order {
            Order::Killed => vec![BTreeSet::new()],
            Order::Journal => self.in_order(changes, limit, dice),
            Order::Any => self.in_any_order(limit, dice),
        }
    }

    fn in_order(&self, changes: &[Change], limit: usize, dice: &mut Dice) -> Vec<BTreeSet<usize>> {
        let mut queues: BTreeMap<Option<Inode>, Vec<usize>> = BTreeMap::new();
        for &at in &self.pending {
            let file = match &changes[at] {
                Change::Len { file, .. } | Change::Data { file, .. } => Some(*file),
                _ => None,
            };
            queues.entry(file).or_default().push(at);
        }
        let with = |lost: &BTreeSet<usize>, tail: &[usize]| lost.iter().chain(tail).copied().collect();
        if queues.values().map(|queue| queue.len() + 1).product::<usize>() > limit {
            let mut cut = |queue: &Vec<usize>| queue[dice.below(queue.len() as u64 + 1) as usize..].to_vec();
            return (0..limit).map(|_| queues.values().flat_map(&mut cut).collect()).collect();
        }
        let mut choices = vec![BTreeSet::new()];
        for queue in queues.values() {
            let tails = |lost| (0..=queue.len()).map(move |kept| with(lost, &queue[kept..]));
            choices = choices.iter().flat_map(tails).collect();
        }
        choices
    }

    fn in_any_order(&self, limit: usize, dice: &mut Dice) -> Vec<BTreeSet<usize>> {
        let pending = &self.pending;
        if pending.len() < 30 && 1 << pending.len() <= limit {
            let picked = |mask: usize| pending.iter().enumerate().filter(move |(bit, _)| mask >> bit & 1 == 1);
            return (0..1 << pending.len()).map(|mask| picked(mask).map(|(_, at)| *at).collect()).collect();
        }
        let mut choices: Vec<BTreeSet<_>> = Vec::new();
        for cut in 0..=pending.len() {
            choices.push(pending[cut..].iter().copied().collect());
        }
        for &one in pending {
            choices.push(pending.iter().copied().filter(|at| *at != one).collect());
            choices.push(BTreeSet::from([one]));
        }
        choices.extend((0..limit).map(|_| pending.iter().copied().filter(|_| dice.below(2) == 0).collect()));
        while choices.len() > limit {
            choices.swap_remove(dice.below(choices.len() as u64) as usize);
        }
        choices
    }
}

/// The files and directories of which a flush makes a change safe.
fn nodes(change: &Change) -> Vec<Inode> {
    match change {
        Change::Name { at: (dir, _), .. } => vec![*dir],
        Change::Move { from, to, .. } => vec![from.0, to.0],
        Change::Swap { one, other } => vec![one.0.0, other.0.0],
        Change::Len { file, .. } | Change::Data { file, .. } => vec![*file],
        Change::Flushed(_) | Change::FlushFailed(_) | Change::Acknowledged => vec![],
    }
}
