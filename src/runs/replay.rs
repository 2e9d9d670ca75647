//! A log played again: the `run.yaml` of every event, and the histories that a merge left in it.

use std::collections::BTreeSet;

use crate::codec::{RunText, RunTextError, digest};
use crate::engine::{Histories, RunState};
use crate::model::{Event, EventKind, Seq, TextDigest};
use crate::runs::load::text_of;
use crate::store::LogScan;

/// The histories in a log. The places are those among [`LogScan::lines`].
pub(crate) fn histories(scan: &LogScan) -> Histories {
    let mut places: Vec<usize> = (0..scan.lines.len()).collect();
    places.sort_by_key(|&at| scan.lines[at].number);
    let in_file: Vec<&Event> = places.iter().map(|&at| &scan.lines[at].event).collect();
    let found = Histories::of(&in_file);
    if !found.are_joined() || scan.doubles().is_empty() && is_one(scan) {
        return Histories { main: (0..scan.lines.len()).collect(), ..Histories::default() };
    }
    let by_place = |list: &mut Vec<usize>| list.iter_mut().for_each(|at| *at = places[*at]);
    let Histories { mut main, mut sides, repeats } = found;
    by_place(&mut main);
    for side in &mut sides {
        by_place(&mut side.whole);
        by_place(&mut side.new);
    }
    Histories { main, sides, repeats }
}

/// Whether the events make one history in the order of their positions, whatever the order of the lines: every one of
/// them wrote the `run.yaml` that follows from those before it.
fn is_one(scan: &LogScan) -> bool {
    if Histories::of(&scan.events().collect::<Vec<_>>()).are_joined() {
        return false;
    }
    let blind = blind_spots(scan);
    let mut replay = Replay::default();
    scan.events().all(|event| {
        let taken = replay.take(event).is_ok();
        let (Some(text), Some(written)) = (&replay.text, &event.run) else { return taken };
        taken && (blind.contains(&event.seq) || TextDigest(digest(text.text().as_bytes())) == *written)
    })
}

/// Positions whose `run.yaml` cannot be written again: the events before them are not all there.
pub(crate) fn blind_spots(scan: &LogScan) -> BTreeSet<Seq> {
    let mut blind = BTreeSet::new();
    for event in scan.events() {
        let EventKind::LogRepaired(repair) = &event.kind else { continue };
        let lost = repair.lost.iter().map(|range| range.from);
        if let Some(from) = lost.chain(repair.renumbered.iter().map(|line| line.seq)).min() {
            blind.extend(scan.events().map(|event| event.seq).filter(|&seq| from <= seq && seq < event.seq));
        }
    }
    let damaged = scan.gaps().into_iter().map(|(from, _)| from).chain(scan.doubles()).min();
    let repaired = scan.events().rfind(|event| matches!(event.kind, EventKind::LogRepaired(_))).map(|event| event.seq);
    if let Some(from) = damaged {
        blind.extend(scan.events().map(|event| event.seq).filter(|&seq| from <= seq && Some(seq) != repaired));
    }
    blind
}

/// `run.yaml` as it was written with event after event.
#[derive(Default)]
pub(crate) struct Replay {
    state: Option<RunState>,
    pub(crate) text: Option<RunText>,
}

impl Replay {
    /// Goes on with the next event.
    pub(crate) fn take(&mut self, event: &Event) -> std::result::Result<(), RunTextError> {
        let state = match (RunState::begin(event), self.state.take()) {
            (Some(begun), _) => begun,
            (None, Some(mut state)) => {
                state.apply(event);
                state
            }
            (None, None) => return Ok(()),
        };
        let text = match (text_of(event), &event.kind, self.text.take()) {
            (Some(text), ..) => RunText::parse(text)?,
            (None, EventKind::RunStarted(_), _) | (None, _, None) => RunText::create(state.document()),
            (None, _, Some(text)) => text,
        };
        self.text = Some(text.with_state(&state.document().state)?);
        self.state = Some(state);
        Ok(())
    }
}
