//! The states of a machine by number, and what leads from which to which.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::machine::Machine;
use crate::model::StateName;

/// The states of a machine by their index in [`Machine::states`], with one way for all transitions between two of them.
pub(super) struct Ways<'m> {
    index: HashMap<&'m StateName, usize>,
    /// The states to which each state leads, in the order of the definition.
    next: Vec<Vec<usize>>,
    /// The states that lead to each state.
    before: Vec<Vec<usize>>,
    initial: Vec<usize>,
    terminal: HashSet<usize>,
    /// How many ways there are.
    pub(super) count: usize,
}

impl<'m> Ways<'m> {
    pub(super) fn of(machine: &'m Machine) -> Self {
        let states = machine.states();
        let index: HashMap<_, _> = states.iter().enumerate().map(|(at, state)| (&state.name, at)).collect();
        let initial = machine.initial().iter().filter_map(|name| index.get(name).copied()).collect();
        let terminal = machine.terminal().iter().filter_map(|name| index.get(name).copied()).collect();
        let (mut next, mut before) = (vec![Vec::new(); states.len()], vec![Vec::new(); states.len()]);
        let mut seen = HashSet::new();
        for one in machine.transitions() {
            let (Some(&from), Some(&to)) = (index.get(&one.from), index.get(&one.to)) else { continue };
            // Several transitions between two states are one line.
            if seen.insert((from, to)) {
                next[from].push(to);
                before[to].push(from);
            }
        }
        Self { index, next, before, initial, terminal, count: seen.len() }
    }

    /// How many states there are.
    pub(super) fn states(&self) -> usize {
        self.next.len()
    }

    /// The states with these names; the initial ones if there are none.
    pub(super) fn named(&self, names: &[StateName]) -> VecDeque<usize> {
        let known: VecDeque<usize> = names.iter().filter_map(|name| self.index.get(name).copied()).collect();
        if known.is_empty() { self.initial.iter().copied().collect() } else { known }
    }

    /// The states at the other ends of the ways from and to a state: first those to which it leads.
    pub(super) fn neighbours(&self, at: usize) -> impl Iterator<Item = usize> {
        self.next[at].iter().chain(&self.before[at]).copied()
    }

    /// How many corners the lines of a drawing of these states have, roughly: one for each half layer that they cross.
    pub(super) fn corners(&self, shown: &[usize]) -> usize {
        let mut heights = Heights { ways: self, shown: shown.iter().copied().collect(), found: HashMap::new() };
        // From where runs begin, as in a layout: what leads back depends on where one comes from.
        for &at in self.initial.iter().chain(shown) {
            if heights.shown.contains(&at) {
                heights.find(at);
            }
        }
        let mut corners = 0;
        for &at in shown {
            let height = heights.find(at);
            for &to in &self.next[at] {
                if heights.shown.contains(&to) {
                    corners += corners_between(height, heights.find(to));
                }
            }
            // The end of runs stands below all states.
            if self.terminal.contains(&at) {
                corners += corners_between(height, 0);
            }
        }
        corners
    }
}

fn corners_between(height: usize, other: usize) -> usize {
    (2 * height.abs_diff(other)).saturating_sub(1)
}

/// How far above the lowest layer each state stands.
struct Heights<'w, 'm> {
    ways: &'w Ways<'m>,
    shown: HashSet<usize>,
    /// 0 while it is not known: a way to such a state leads back.
    found: HashMap<usize, usize>,
}

impl Heights<'_, '_> {
    /// Goes at most as deep as there are states in a drawing.
    fn find(&mut self, at: usize) -> usize {
        if let Some(&height) = self.found.get(&at) {
            return height;
        }
        // Before the search: a way back to this state ends here instead of going round for ever.
        self.found.insert(at, 0);
        let ways = self.ways;
        let mut below = 0;
        for &to in &ways.next[at] {
            if self.shown.contains(&to) {
                below = below.max(self.find(to));
            }
        }
        self.found.insert(at, below + 1);
        below + 1
    }
}
