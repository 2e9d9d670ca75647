//! `list`.

use crate::cli::args::ListArgs;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::Page;
use crate::ops::{Error, Flow, ListFilter, parse_since};
use crate::report::ListReport;

pub(super) fn run(flow: &Flow, args: ListArgs, out: &mut Out) -> Exit {
    let since = match args.since.map(|text| parse_since(&text, flow.now())).transpose() {
        Ok(since) => since,
        Err(message) => return out.error(&Error::Usage(format!("--since: {message}"))),
    };
    let filter = ListFilter {
        status: args.status.into_iter().map(Into::into).collect(),
        workflow: args.workflow,
        session: args.session,
        since,
        limit: args.limit.and_then(|limit| usize::try_from(limit).ok()),
    };
    match flow.list(&filter) {
        Ok(report) => {
            let unreadable = report.unreadable.iter();
            let warnings = unreadable.map(|run| format!("{} cannot be read: {}", run.run_id, run.reason));
            out.warnings(&warnings.collect::<Vec<_>>());
            out.answer(&report, || page(&report))
        }
        Err(error) => out.error(&error),
    }
}

fn page(report: &ListReport) -> String {
    let mut page = Page::default();
    let rows = report.runs.iter().map(|run| {
        vec![
            run.run_id.to_string(),
            run.workflow.to_string(),
            run.status.to_string(),
            run.phase.as_ref().map(ToString::to_string).unwrap_or_default(),
            format!("{} completed", run.completed_activities),
            run.blocked_reason.clone().unwrap_or_default(),
        ]
    });
    page.table(0, &rows.collect::<Vec<_>>());
    page.finish()
}
