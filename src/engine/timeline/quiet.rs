//! Stretches of time: how long work went on, and where nothing happened.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Timestamp;

/// A stretch without events and without work that is longer than this is folded: an hour, in milliseconds.
const FOLDED_MS: u64 = 60 * 60 * 1000;
/// The most folds of a timeline: the longest ones.
const FOLDS: usize = 24;

/// A stretch in which nothing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fold {
    /// Its beginning: an event, or the end of work.
    pub from: Timestamp,
    /// Its end: an event, or the beginning of work.
    pub to: Timestamp,
}

/// Stretches in order, none of which touches another.
pub(super) fn union(stretches: impl Iterator<Item = (Timestamp, Timestamp)>) -> Vec<(Timestamp, Timestamp)> {
    let mut sorted: Vec<_> = stretches.collect();
    sorted.sort_unstable();
    let mut apart: Vec<(Timestamp, Timestamp)> = Vec::new();
    for (from, to) in sorted {
        match apart.last_mut() {
            Some(before) if from <= before.1 => before.1 = before.1.max(to),
            _ => apart.push((from, to)),
        }
    }
    apart
}

/// The length of stretches that do not overlap, in milliseconds.
pub(super) fn length(apart: &[(Timestamp, Timestamp)]) -> u64 {
    apart.iter().map(|(from, to)| from.milliseconds_until(*to)).sum()
}

/// Whether a stretch without events is worth keeping.
pub(super) fn is_long(from: Timestamp, to: Timestamp) -> bool {
    from.milliseconds_until(to) > FOLDED_MS
}

/// The stretches to fold: parts of `gaps`, which have no events, in which no one worked. `worked` is in order.
pub(super) fn folds(gaps: impl Iterator<Item = Fold>, worked: &[(Timestamp, Timestamp)]) -> Vec<Fold> {
    let mut folds = Vec::new();
    for gap in gaps {
        let mut from = gap.from;
        let first = worked.partition_point(|(_, to)| *to <= gap.from);
        for (begun, ended) in worked[first..].iter().take_while(|(begun, _)| *begun < gap.to) {
            folds.push(Fold { from, to: (*begun).max(from) });
            from = *ended;
        }
        folds.push(Fold { from, to: gap.to.max(from) });
    }
    folds.retain(|fold| is_long(fold.from, fold.to));
    folds.sort_by_key(|fold| std::cmp::Reverse(fold.from.milliseconds_until(fold.to)));
    folds.truncate(FOLDS);
    // They were sorted by length, to keep the longest ones.
    folds.sort_by_key(|fold| fold.from);
    folds
}
