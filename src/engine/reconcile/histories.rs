//! The histories in a log after a merge.

use std::collections::BTreeSet;

use crate::codec::LogScan;
use crate::engine::Histories;
use crate::engine::reconcile::replay::Replay;
use crate::engine::reconcile::text::is_repair;
use crate::model::{Event, EventKind, Seq};

/// The histories in a log. Their indices refer to [`LogScan::lines`].
pub(crate) fn histories(scan: &LogScan) -> Histories {
    // A scan sorts its lines by position, and what a merge did shows in the order of the file.
    let mut places: Vec<usize> = (0..scan.lines.len()).collect();
    places.sort_by_key(|&at| scan.lines[at].number);
    let in_file: Vec<&Event> = places.iter().map(|&at| &scan.lines[at].event).collect();
    let mut found = Histories::of(&in_file);
    if !found.are_joined() || scan.doubles().is_empty() && is_one(scan) {
        return Histories { main: (0..scan.lines.len()).collect(), ..Histories::default() };
    }
    let sides = found.sides.iter_mut().flat_map(|side| side.whole.iter_mut().chain(&mut side.new));
    for at in found.main.iter_mut().chain(sides) {
        *at = places[*at];
    }
    found
}

/// How it shows that a merge joined two histories in a log; `None` if it has only one.
pub(crate) fn joined(log: &LogScan) -> Option<String> {
    let histories = histories(log);
    if !histories.are_joined() {
        return None;
    }
    Some(match log.doubles().first() {
        Some(seq) => format!("event {seq} is in its log twice with different content"),
        None => match histories.sides.first().and_then(|side| side.new.first()) {
            Some(&at) => format!("event {} does not follow from the events before it", log.lines[at].event.seq),
            None => "an event is in its log twice, at the positions that it had on each branch".to_owned(),
        },
    })
}

/// Whether the events form one history when sorted by position, whatever the order of the lines: the `run.yaml` of
/// every event follows from the events before it.
fn is_one(scan: &LogScan) -> bool {
    if Histories::of(&scan.events().collect::<Vec<_>>()).are_joined() {
        return false;
    }
    let blind = blind_spots(scan);
    let mut replay = Replay::default();
    for event in scan.events() {
        if replay.take(event).is_err() {
            return false;
        }
        let Some(written) = &event.run else { continue };
        if !blind.contains(&event.seq) && replay.digest().is_some_and(|digest| digest != written.0) {
            return false;
        }
    }
    true
}

/// Positions whose `run.yaml` cannot be reproduced, because some event before them is missing.
pub(crate) fn blind_spots(scan: &LogScan) -> BTreeSet<Seq> {
    let mut blind = BTreeSet::new();
    for event in scan.events() {
        let EventKind::LogRepaired(repair) = &event.kind else { continue };
        let lost = repair.lost.iter().map(|range| range.from);
        if let Some(from) = lost.chain(repair.renumbered.iter().map(|line| line.seq)).min() {
            blind.extend(positions(scan).filter(|&seq| from <= seq && seq < event.seq));
        }
    }
    if let Some(from) = scan.gaps().into_iter().map(|(from, _)| from).chain(scan.doubles()).min() {
        // The last repair has the whole document, so it depends on no event before it.
        let repaired = scan.events().rfind(|event| is_repair(event)).map(|event| event.seq);
        blind.extend(positions(scan).filter(|&seq| from <= seq && Some(seq) != repaired));
    }
    blind
}

fn positions(scan: &LogScan) -> impl Iterator<Item = Seq> {
    scan.events().map(|event| event.seq)
}
