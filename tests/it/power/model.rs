//! Which operations a crash may lose.

use std::collections::BTreeSet;

use super::disk::{Ino, Operation};

/// What kind of crash, and how much it may reorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Model {
    /// The process is killed: the kernel keeps all it did.
    Kill,
    /// A power cut on a file system with a journal: names change in order, the bytes and the length of each file lag
    /// behind them as far as they like.
    Journal,
    /// A power cut on the weakest file system that POSIX allows: whatever was not flushed is there or not, in any order.
    Weak,
}

impl Model {
    /// All of them, from the mildest on.
    pub const ALL: [Self; 3] = [Self::Kill, Self::Journal, Self::Weak];

    /// Its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Journal => "journal",
            Self::Weak => "weak",
        }
    }
}

/// So many pending operations are tried in all combinations.
const COMPLETE: usize = 13;

/// How hard to try where not everything can be tried.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Combinations drawn at each crash point with more pending operations than are tried completely.
    pub drawn: usize,
    /// At most so many states are checked; the rest is passed over at equal distances.
    pub states: usize,
    /// What the draws depend on.
    pub seed: u64,
}

/// For the operations before `until`: those that a completed flush keeps, and those that may be lost.
pub fn part(operations: &[Operation], until: usize) -> (BTreeSet<usize>, Vec<usize>) {
    let mut forced = BTreeSet::new();
    for (at, operation) in operations[..until].iter().enumerate() {
        if let Operation::Sync(ino) = operation {
            forced.extend((0..at).filter(|&before| operations[before].forced_by(*ino)));
        }
    }
    let changes = |at: &usize| operations[*at].is_name() || operations[*at].file().is_some();
    let pending = (0..until).filter(changes).filter(|at| !forced.contains(at)).collect();
    (forced, pending)
}

/// Calls `visit` with every set of operations that may have reached the disk by a crash before operation `until`.
pub fn survivors(
    operations: &[Operation],
    until: usize,
    model: Model,
    effort: &Effort,
    visit: &mut dyn FnMut(&[usize]),
) {
    let (forced, pending) = part(operations, until);
    // Marked and then read in order: sorting each of so many sets would take most of the time.
    let mut here = vec![false; until];
    let mut all = Vec::with_capacity(until);
    let mut with = |some: &mut dyn Iterator<Item = usize>| {
        here.fill(false);
        forced.iter().for_each(|&at| here[at] = true);
        some.for_each(|at| here[at] = true);
        all.clear();
        all.extend((0..until).filter(|&at| here[at]));
        visit(&all);
    };
    match model {
        Model::Kill => with(&mut pending.iter().copied()),
        Model::Journal => in_order(operations, &forced, &pending, &mut with),
        Model::Weak if pending.len() <= COMPLETE => {
            for chosen in 0_u32..1 << pending.len() {
                with(&mut pending.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1).map(|(_, &one)| one));
            }
        }
        Model::Weak => some(&pending, until, effort, &mut with),
    }
}

type With<'a> = &'a mut dyn FnMut(&mut dyn Iterator<Item = usize>);

/// Names in order; of each file a beginning of what happened to it.
fn in_order(operations: &[Operation], forced: &BTreeSet<usize>, pending: &[usize], with: With<'_>) {
    let (names, rest): (Vec<usize>, Vec<usize>) = pending.iter().partition(|&&at| operations[at].is_name());
    // A name that was flushed brings those before it along.
    let last_flushed = forced.iter().rev().find(|&&at| operations[at].is_name()).copied();
    let least = names.iter().filter(|&&at| Some(at) < last_flushed).count();
    let files: BTreeSet<Ino> = rest.iter().filter_map(|&at| operations[at].file()).collect();
    let of = |ino: Ino| rest.iter().copied().filter(move |&at| operations[at].file() == Some(ino));
    let files: Vec<Vec<usize>> = files.into_iter().map(|ino| of(ino).collect()).collect();
    for kept in least..=names.len() {
        let mut reached = vec![0; files.len()];
        loop {
            let of_files = files.iter().zip(&reached).flat_map(|(file, &len)| file[..len].iter().copied());
            with(&mut names[..kept].iter().copied().chain(of_files));
            // The next combination, as an odometer counts.
            let Some(turn) = (0..files.len()).find(|&at| reached[at] < files[at].len()) else { break };
            reached[turn] += 1;
            reached[..turn].fill(0);
        }
    }
}

/// Every beginning, all but one or two, only one or two, and draws.
fn some(pending: &[usize], until: usize, effort: &Effort, with: With<'_>) {
    for len in 0..=pending.len() {
        with(&mut pending[..len].iter().copied());
    }
    for (at, &first) in pending.iter().enumerate() {
        for &second in &pending[at..] {
            with(&mut pending.iter().copied().filter(|&one| one != first && one != second));
            with(&mut pending.iter().copied().filter(|&one| one == first || one == second));
        }
    }
    let mut dice = Dice(effort.seed ^ until as u64);
    for _ in 0..effort.drawn {
        let odds = [50, 128, 205][usize::from(dice.roll() % 3)];
        with(&mut pending.iter().copied().filter(|_| dice.roll() < odds));
    }
}

/// Numbers that look random and are the same for the same seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u8 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) as u8
    }
}
