//! `list`.

use crate::cli::args::ListArgs;
use crate::cli::cmd::run_rows::rows;
use crate::cli::cmd::worktrees;
use crate::cli::out::{Ended, Out};
use crate::cli::page::TextPage;
use crate::cli::progress::while_waiting;
use crate::runs::{self, Context, Error, ListFilter, ListReport, parse_since};

pub(super) fn run(cx: &Context, args: ListArgs, out: &mut Out) -> Ended {
    let ListArgs { attention, worktrees, status, feature, search, workflow, session, since, limit } = args;
    let since = match since.map(|text| parse_since(&text, cx.now())).transpose() {
        Ok(since) => since,
        Err(message) => return Err(Error::Usage(format!("--since: {message}")).into()),
    };
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let filter = ListFilter { attention, status, feature, search, workflow, session, since, limit, worktrees };
    let report = while_waiting("reading the runs", || runs::list(cx, &filter))?;
    out.warnings(&report.notes);
    for run in &report.unreadable {
        out.warnings(&[format!("{} cannot be read: {}", run.run_id, run.reason)]);
    }
    // Who asks for none knows that none is shown.
    if report.runs.is_empty() && report.unreadable.is_empty() && filter.limit != Some(0) {
        out.aside(if filter.is_all() { "no runs here\n" } else { "no run matches\n" });
    }
    // A run may be open in another worktree when none is here.
    worktrees::hint(&report.worktrees, out);
    Ok(out.answer(&report, |page| fill(&report, page)))
}

fn fill(report: &ListReport, page: &mut TextPage) {
    page.cut_long_values();
    rows(&report.runs, 0, page);
    worktrees::show(&report.worktrees, page);
}
