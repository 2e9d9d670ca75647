//! Rows about commands of which flow saw the end.

use std::cmp::Reverse;

use crate::cli::page::{TextPage, brief, or_empty};
use crate::engine::{EvidenceState, Freshness};
use crate::model::{ActivityStatus, NotCovered};
use crate::picture::ran_as;
use crate::runs::SeenEvidence;

/// The most paths that are named for each.
const SHOWN: usize = 10;
/// The most commands that are shown of a run: those that do not hold come first, then the latest ones.
const ROWS: usize = 10;

/// One command: its number, its id, its phase, what it was, how it ended, and whether that still holds.
pub(in crate::cli::cmd) fn seen_row(seen: &SeenEvidence) -> [String; 6] {
    let status = seen.status.with_exit_code(seen.exit_code);
    let freshness = match (&seen.state.why, seen.latest) {
        (_, false) => "followed by a later record".to_owned(),
        (Some(why), true) => format!("{}: {why}", seen.state.freshness),
        (None, true) => seen.state.freshness.to_string(),
    };
    let inputs = match seen.inputs.as_slice() {
        [] => String::new(),
        inputs => format!("; inputs: {}", inputs.join(", ")),
    };
    let (phase, status) = (or_empty(seen.phase.as_ref()), format!("{status}, seen"));
    let command = brief(&ran_as(seen.name.as_deref(), &seen.command, Some(&seen.dir))).into_owned();
    [seen.number.to_string(), seen.id.clone(), phase, command, status, freshness + &inputs]
}

/// What changed since these commands ran, once for those since which the same did; and what was not looked at.
pub(in crate::cli::cmd) fn changes<'s>(all: impl IntoIterator<Item = &'s SeenEvidence>, page: &mut TextPage) {
    let mut by_state: Vec<(&EvidenceState, Vec<String>)> = Vec::new();
    let mut left_out: Vec<&NotCovered> = Vec::new();
    for seen in all {
        for one in &seen.not_covered {
            if !left_out.contains(&one) {
                left_out.push(one);
            }
        }
        if seen.state.freshness != Freshness::Stale {
            continue;
        }
        match by_state.iter_mut().find(|(state, _)| **state == seen.state) {
            Some((_, numbers)) => numbers.push(seen.number.to_string()),
            None => by_state.push((&seen.state, vec![seen.number.to_string()])),
        }
    }
    for (state, numbers) in by_state {
        for path in state.changed.iter().take(SHOWN) {
            page.line(&format!("    changed since {}: {path}", numbers.join(", ")));
        }
        if state.changed.is_empty() && state.more_changed {
            page.line(&format!("    changed since {}: which files cannot be told", numbers.join(", ")));
        } else if state.changed.len() > SHOWN || state.more_changed {
            page.line("    … and more");
        }
    }
    for one in left_out.iter().take(SHOWN) {
        page.line(&format!("    not covered: {}: {}", one.path, one.why));
    }
    if left_out.len() > SHOWN {
        page.line("    … and more that is not covered");
    }
}

fn holds(seen: &SeenEvidence) -> bool {
    seen.status == ActivityStatus::Passed && seen.state.freshness == Freshness::Fresh
}

/// The commands of a run, if there are any.
pub(in crate::cli::cmd) fn seen_table(title: &str, all: &[SeenEvidence], page: &mut TextPage) {
    if all.is_empty() {
        return;
    }
    let mut latest: Vec<_> = all.iter().filter(|seen| seen.latest).collect();
    if latest.is_empty() {
        page.prose(title);
    } else {
        let same = EvidenceState::what_is_the_same(latest.iter().map(|seen| &seen.state));
        page.prose(&format!("{title} (fresh: {same})"));
    }
    let followed = all.len() - latest.len();
    let more = latest.len().saturating_sub(ROWS);
    if more > 0 {
        latest.sort_by_key(|seen| (holds(seen), Reverse(seen.number)));
        latest.truncate(ROWS);
        latest.sort_by_key(|seen| (holds(seen), seen.number));
    }
    let left_out = match (more, followed) {
        (0, 0) => None,
        (0, _) => Some(format!("{followed} followed by a later record")),
        (_, 0) => Some(format!("and {more} more")),
        (_, _) => Some(format!("and {more} more, and {followed} followed by a later record")),
    };
    if let Some(left_out) = left_out {
        page.line(&format!("    … {left_out}; `flow verify --evidence` lists all"));
    }
    page.table(4, latest.iter().map(|seen| seen_row(seen)));
    changes(latest, page);
}
