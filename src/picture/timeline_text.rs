//! A timeline in characters, for terminals.

use crate::engine::{Lane, Timeline};
use crate::picture::axis::Axis;
use crate::picture::timeline::{bars, outcome_of, stays, waits};

/// The width of a character on the axis, so that a fold takes three.
const CHARACTER: f64 = 7.5;

/// A lane of a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaneText {
    /// The name of the step or of the unit.
    pub(crate) name: String,
    /// Whether it is a unit or a sub-agent below a step.
    pub(crate) is_unit: bool,
    /// Its bars: `█` recorded work, `?` work whose outcome is unknown, `▒` waiting, `─` the run was there, `┊` time that is
    /// folded, `·` nothing.
    pub(crate) bars: String,
    /// How it ended and how long it took.
    pub(crate) outcome: String,
}

/// Draws the lanes that the run entered, with bars of about this many characters; many folds make them wider.
#[must_use]
pub(crate) fn timeline_text(timeline: &Timeline, characters: usize) -> Vec<LaneText> {
    #[expect(clippy::cast_precision_loss, reason = "a terminal has some hundred columns")]
    let axis = Axis::new(timeline, characters.max(1) as f64 * CHARACTER);
    timeline.lanes.iter().filter(|lane| !lane.is_empty()).map(|lane| lane_text(lane, &axis, timeline)).collect()
}

fn lane_text(lane: &Lane, axis: &Axis, timeline: &Timeline) -> LaneText {
    let mut cells = vec!['·'; column(axis.width).max(1)];
    // What comes later is drawn over what comes before it: recorded work matters most.
    for (from, to) in stays(lane, axis, timeline.to) {
        fill(&mut cells, from, to - from, '─');
    }
    for gap in axis.gaps() {
        fill(&mut cells, gap.at, gap.width, '┊');
    }
    for wait in waits(lane, axis, timeline.to) {
        fill(&mut cells, wait.x, wait.width, '▒');
    }
    for bar in bars(lane, axis, timeline.to) {
        fill(&mut cells, bar.x, bar.width, if bar.look == "doubt" { '?' } else { '█' });
    }
    let outcome = outcome_of(lane, timeline.to);
    let name = lane.name().to_owned();
    LaneText { name, is_unit: lane.below.is_some(), bars: cells.into_iter().collect(), outcome }
}

/// Fills the cells of a stretch, at least one.
fn fill(cells: &mut [char], at: f64, width: f64, with: char) {
    let first = column(at).min(cells.len() - 1);
    // Work of a moment is seen, too.
    let end = column(at + width).clamp(first + 1, cells.len());
    cells[first..end].fill(with);
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "places are small and not negative")]
fn column(place: f64) -> usize {
    (place / CHARACTER).round().max(0.0) as usize
}
