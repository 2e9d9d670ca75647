//! Which states of a large machine are drawn.

use std::collections::{HashSet, VecDeque};

use crate::model::StateName;
use crate::picture::diagram::ways::Ways;

/// The most states of a machine that is drawn as a whole.
const WHOLE: usize = 150;
/// The most states that are drawn of a larger one.
const NEAR: usize = 60;
/// The most lines between states. Beyond that they cannot be followed by eye, and the time to place them grows faster
/// than their number.
const LINES: usize = 300;
/// The most corners of all lines together: a second goes by for about five thousand of them.
const CORNERS: usize = 2000;

/// The states to draw, by index and in the order of the definition: all of them, or those that are nearest to `around`.
pub(super) fn shown_states(ways: &Ways, around: &[StateName]) -> Vec<usize> {
    let all: Vec<usize> = (0..ways.states()).collect();
    if all.len() <= WHOLE && ways.count <= LINES && ways.corners(&all) <= CORNERS {
        return all;
    }
    let mut most = NEAR;
    loop {
        let shown = nearest(ways, ways.named(around), most);
        // A few states cannot have so many corners, so that this ends.
        if ways.corners(&shown) <= CORNERS {
            return shown;
        }
        most = most * 3 / 4;
    }
}

/// The `most` states that are nearest to those that are open, along transitions in both directions.
fn nearest(ways: &Ways, mut open: VecDeque<usize>, most: usize) -> Vec<usize> {
    let mut shown = HashSet::new();
    let mut seen = HashSet::new();
    let mut lines = 0;
    while let Some(at) = open.pop_front() {
        if shown.len() == most {
            break;
        }
        if !seen.insert(at) {
            continue;
        }
        let more = ways.neighbours(at).filter(|near| *near == at || shown.contains(near)).count();
        if lines + more <= LINES {
            lines += more;
            shown.insert(at);
            open.extend(ways.neighbours(at));
        }
    }
    let mut shown: Vec<usize> = shown.into_iter().collect();
    shown.sort_unstable();
    shown
}
