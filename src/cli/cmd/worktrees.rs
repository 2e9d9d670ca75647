//! The open runs of the repository's other worktrees.

use crate::cli::cmd::run_rows::{Looked, rows};
use crate::cli::out::Out;
use crate::cli::page::TextPage;
use crate::model::Timestamp;
use crate::runs::{Card, OtherWorktree};

/// One line that says how many runs are open in other worktrees and are not shown.
pub(super) fn hint(worktrees: &[OtherWorktree], out: &mut Out) {
    let shown: usize = worktrees.iter().map(|worktree| worktree.runs.len()).sum();
    let open: usize = worktrees.iter().map(|worktree| worktree.open_runs).sum();
    let more = if shown > 0 { " more" } else { "" };
    let runs = match open - shown {
        0 => return,
        1 => format!("1{more} run is"),
        n => format!("{n}{more} runs are"),
    };
    out.aside(&format!("{runs} open in other worktrees; --worktrees shows them\n"));
}

/// Each worktree, and its runs. `cards` has those that were looked at, for each worktree.
pub(super) fn show(worktrees: &[OtherWorktree], cards: &[Vec<Card>], now: Timestamp, page: &mut TextPage) {
    for (nth, worktree) in worktrees.iter().enumerate() {
        if let Some(error) = &worktree.error {
            page.line(&format!("  in worktree {}: {error}", worktree.path.display()));
        } else if !worktree.runs.is_empty() {
            page.line(&format!("  in worktree {}", worktree.path.display()));
        }
        let cards = cards.get(nth).map(Vec::as_slice).unwrap_or_default();
        rows(&worktree.runs, &worktree.names, Looked::Some(cards), now, 4, page);
    }
}
