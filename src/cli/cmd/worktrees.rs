//! The open runs of the repository's other worktrees.

use crate::cli::cmd::list::rows;
use crate::cli::out::Out;
use crate::cli::page::Page;
use crate::runs::OtherWorktree;

/// One line that says how many runs are open in other worktrees; nothing if there are none, or if they are shown.
pub(super) fn hint(worktrees: &[OtherWorktree], out: &mut Out) {
    let counted: usize =
        worktrees.iter().filter(|worktree| worktree.runs.is_empty()).map(|other| other.open_runs).sum();
    let runs = match counted {
        0 => return,
        1 => "1 run is".to_owned(),
        n => format!("{n} runs are"),
    };
    out.aside(&format!("{runs} open in other worktrees; --worktrees shows them\n"));
}

/// Each worktree, and its runs.
pub(super) fn show(worktrees: &[OtherWorktree], page: &mut Page) {
    for worktree in worktrees {
        if let Some(error) = &worktree.error {
            page.line(&format!("  in worktree {}: {error}", worktree.path.display()));
        } else if !worktree.runs.is_empty() {
            page.line(&format!("  in worktree {}", worktree.path.display()));
        }
        rows(&worktree.runs, 4, page);
    }
}
