//! `list`.

use std::borrow::Cow;

use crate::cli::args::ListArgs;
use crate::cli::cmd::worktrees;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::{Page, brief};
use crate::model::StateName;
use crate::runs::{self, Context, Error, ListFilter, ListReport, ListedRun, parse_since};

pub(super) fn run(cx: &Context, args: ListArgs, out: &mut Out) -> Exit {
    let since = match args.since.map(|text| parse_since(&text, cx.now())).transpose() {
        Ok(since) => since,
        Err(message) => return out.error(&Error::Usage(format!("--since: {message}"))),
    };
    let filter = ListFilter {
        attention: args.attention,
        status: args.status.into_iter().map(Into::into).collect(),
        feature: args.feature,
        search: args.search,
        workflow: args.workflow,
        session: args.session,
        since,
        limit: args.limit.and_then(|limit| usize::try_from(limit).ok()),
        worktrees: args.worktrees,
    };
    match runs::list(cx, &filter) {
        Ok(report) => {
            let unreadable = report.unreadable.iter();
            let warnings = unreadable.map(|run| format!("{} cannot be read: {}", run.run_id, run.reason));
            out.warnings(&warnings.collect::<Vec<_>>());
            if report.runs.is_empty() && report.unreadable.is_empty() && filter.limit != Some(0) {
                out.aside(if filter.is_all() { "there are no runs\n" } else { "no run matches\n" });
            }
            worktrees::hint(&report.worktrees, out);
            out.answer(&report, || page(&report))
        }
        Err(error) => out.error(&error),
    }
}

fn page(report: &ListReport) -> String {
    let mut page = Page::clipping();
    rows(&report.runs, 0, &mut page);
    worktrees::show(&report.worktrees, &mut page);
    page.finish()
}

/// One line for each run.
pub(super) fn rows(runs: &[ListedRun], indent: usize, page: &mut Page) {
    let rows = runs.iter().map(|run| {
        let completed = format!("{} completed", run.completed_activities);
        [
            Cow::from(run.head.run_id.as_str()),
            run.head.workflow.as_str().into(),
            run.head.word().into(),
            run.head.phase.as_ref().map_or("", StateName::as_str).into(),
            completed.into(),
            run.feature.as_deref().unwrap_or_default().into(),
            brief(run.head.blocked_reason.as_deref().unwrap_or_default()),
        ]
    });
    page.table(indent, &rows.collect::<Vec<_>>());
}
