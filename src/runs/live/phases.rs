//! What the latest runs of a workflow tell of its phases.

use crate::model::RunId;
use crate::runs::live::feed::{CardFilter, Feed};
use crate::runs::live::stats::PhaseUses;
use crate::runs::look::card::CardGroup;

/// What the latest runs of a workflow tell of its phases: at most `limit` that are over, and as many open ones.
pub fn phase_uses(feed: &mut Feed, workflow: &str, limit: usize) -> PhaseUses {
    let mut ids: Vec<RunId> = Vec::new();
    for group in [None, Some(CardGroup::Over)] {
        let filter = CardFilter { group, workflow: Some(workflow.to_owned()), limit, ..CardFilter::default() };
        let cards = feed.cards(&filter).groups.into_iter().flat_map(|group| group.cards);
        ids.extend(cards.map(|card| card.run.head.run_id).take(limit));
    }
    let mut uses = PhaseUses::default();
    for id in ids {
        // One that cannot be read is told in the list of runs.
        let Ok(run) = feed.run(&id) else { continue };
        uses.runs += 1;
        for lane in run.timeline().lanes {
            if lane.is_empty() {
                continue;
            }
            let phase = lane.below.clone().unwrap_or_else(|| lane.step.clone());
            let of = uses.phases.entry(phase).or_default();
            if lane.below.is_none() {
                of.add(&lane);
            }
            of.add_attempts(&lane);
        }
    }
    uses
}
