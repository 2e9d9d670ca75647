//! What the latest runs of a workflow show of its phases.

use crate::model::RunId;
use crate::runs::live::cards::CardFilter;
use crate::runs::live::feed::Feed;
use crate::runs::live::stats::{PhaseUse, PhaseUses};
use crate::runs::look::card::CardGroup;

/// The most events of all runs that are looked at: a feed keeps as many in memory, so that they are read once.
const EVENTS: u64 = 6_000;

/// What the latest runs of a workflow show of its phases: at most `limit` that are over, and as many open ones. Of long runs
/// there are fewer.
pub fn phase_uses(feed: &mut Feed, workflow: &str, limit: usize) -> PhaseUses {
    let mut uses = PhaseUses::default();
    for id in latest_runs(feed, workflow, limit) {
        // One that cannot be read is reported in the list of runs.
        let Ok(run) = feed.run(&id) else { continue };
        uses.runs += 1;
        let used = run.usage();
        uses.usage.join(&used.sum);
        for of_phase in used.phases {
            let Some(phase) = of_phase.phase else { continue };
            uses.phases.entry(phase).or_default().usage.join(&of_phase.sum);
        }
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
    uses.phases.values_mut().for_each(PhaseUse::finish);
    uses
}

fn latest_runs(feed: &Feed, workflow: &str, limit: usize) -> Vec<RunId> {
    let mut ids: Vec<RunId> = Vec::new();
    let mut events = 0;
    // Those that are over first: of them it is known how long they took.
    for group in [Some(CardGroup::Over), None] {
        let filter = CardFilter { group, workflow: Some(workflow.to_owned()), limit, ..CardFilter::default() };
        let cards = feed.cards(&filter).groups.into_iter().flat_map(|group| group.cards);
        for card in cards.take(limit) {
            events += card.last_seq.map_or(0, |seq| seq.0);
            if events <= EVENTS {
                ids.push(card.run.head.run_id);
            }
        }
    }
    ids
}
