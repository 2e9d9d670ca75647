//! Rows about commands of which flow saw the end.

use crate::cli::page::{TextPage, or_empty};
use crate::engine::Freshness;
use crate::runs::SeenEvidence;

/// The most paths that are named for each.
const SHOWN: usize = 10;

/// One command: its number, its id, how it ended, and whether that still holds.
pub(in crate::cli::cmd) fn seen_row(seen: &SeenEvidence) -> [String; 5] {
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
    [seen.number.to_string(), seen.id.clone(), phase, status, freshness + &inputs]
}

/// What changed since, and what was not looked at.
pub(in crate::cli::cmd) fn changes(seen: &SeenEvidence, page: &mut TextPage) {
    if seen.state.freshness != Freshness::Stale {
        return;
    }
    let changed = &seen.state.changed;
    for path in changed.iter().take(SHOWN) {
        page.line(&format!("    changed since {}: {path}", seen.number));
    }
    let rest = changed.len().saturating_sub(SHOWN);
    if rest > 0 || seen.state.more_changed {
        page.line("    … and more");
    }
}

/// The commands of a run, if there are any.
pub(in crate::cli::cmd) fn seen_table(title: &str, all: &[SeenEvidence], page: &mut TextPage) {
    let latest: Vec<_> = all.iter().filter(|seen| seen.latest).collect();
    if latest.is_empty() {
        return;
    }
    page.line(&format!("  {title} (fresh: the tracked and untracked files are the same)"));
    page.table(4, latest.iter().map(|seen| seen_row(seen)));
    for seen in latest {
        changes(seen, page);
    }
}
