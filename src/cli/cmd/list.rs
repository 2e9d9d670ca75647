//! `list`.

use crate::cli::args::ListArgs;
use crate::cli::cmd::look::usage::usage_or_dash;
use crate::cli::cmd::run_rows::{Looked, no_project, rows, short_names};
use crate::cli::cmd::worktrees;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::TextPage;
use crate::cli::progress::while_waiting;
use crate::model::{Timestamp, counted, quoted};
use crate::runs::{self, Context, Error, ListFilter, ListReport, ListUsage, ShortNames, parse_since, similar};

/// How many runs are shown unless a limit is given; programs get all.
const SHOWN: usize = 20;

pub(super) fn run(cx: &Context, args: ListArgs, out: &mut Out) -> CliResult {
    let ListArgs { attention, worktrees, status, feature, search, workflow, session, since, sort, usage, limit } = args;
    let since = match since.map(|text| parse_since(&text, cx.now())).transpose() {
        Ok(since) => since,
        Err(message) => return Err(Error::Usage(format!("--since: {message}")).into()),
    };
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let filter = ListFilter {
        attention,
        status,
        feature,
        search,
        workflow,
        session,
        since,
        sort: sort.into(),
        limit,
        worktrees,
        usage,
    };
    let now = cx.now();
    // Programs get what every run needs.
    let looked_at = if out.is_json() { usize::MAX } else { filter.limit.unwrap_or(SHOWN) };
    let report = while_waiting("reading the runs", || runs::list_looking_at(cx, &filter, looked_at))?;
    out.warnings(&report.notes);
    for run in &report.unreadable {
        out.warnings(&[run.in_words()]);
    }
    // Who asks for none knows that none is shown.
    if report.runs.is_empty() && report.unreadable.is_empty() && filter.limit != Some(0) {
        let none = if filter.is_all() { "no runs here".to_owned() } else { no_match(cx, &filter) };
        out.aside(&format!("{}\n", no_project(cx).unwrap_or(none)));
    }
    // A run may be open in another worktree when none is here.
    worktrees::hint(&report.worktrees, out);
    let shown = filter.limit.unwrap_or(SHOWN).min(report.runs.len());
    let names = short_names(cx, report.runs[..shown].iter().map(|listed| &listed.run.head.run_id));
    let exit = out.answer(&report, |page| {
        fill(&report, &names, shown, now, page);
        worktrees::show(&report.worktrees, &runs::cards_in_worktrees(cx, &report.worktrees), now, page);
    });
    if shown < report.runs.len() {
        let more = report.runs.len() - shown;
        out.aside(&format!("{more} more; `flow list --limit {}` shows all\n", report.runs.len()));
    }
    Ok(exit)
}

/// That no run matches, with the name that was probably meant.
fn no_match(cx: &Context, filter: &ListFilter) -> String {
    let all =
        runs::list_looking_at(&cx.offline(), &ListFilter::default(), 0).map(|report| report.runs).unwrap_or_default();
    let defined = runs::workflow_list(cx).map(|report| report.workflows).unwrap_or_default();
    let workflows =
        defined.into_iter().map(|one| one.id).chain(all.iter().map(|listed| listed.run.head.workflow.to_string()));
    let features = all.iter().filter_map(|listed| listed.run.feature.clone());
    let sessions = all.iter().filter_map(|listed| listed.run.session.as_ref().map(ToString::to_string));
    let session = filter.session.as_ref().map(ToString::to_string);
    for (option, given, known) in [
        ("workflow", &filter.workflow, workflows.collect::<Vec<_>>()),
        ("feature", &filter.feature, features.collect()),
        ("session", &session, sessions.collect()),
    ] {
        let Some(given) = given else { continue };
        // A name that is there has runs, but none of these.
        if !known.contains(given)
            && let Some(meant) = similar(given, known.iter().map(String::as_str))
        {
            return format!("no run matches; did you mean `--{option} {}`?", quoted(meant));
        }
    }
    "no run matches".to_owned()
}

fn fill(report: &ListReport, names: &ShortNames, shown: usize, now: Timestamp, page: &mut TextPage) {
    page.cut_long_values();
    let listed = report.runs[..shown].iter().map(|listed| &listed.run);
    rows(listed, names, Looked::All(&report.cards), now, 0, page);
    if let Some(used) = &report.usage {
        usage(used, names, shown, page);
    }
}

/// What the work of the shown runs used, then that of all listed runs.
fn usage(used: &ListUsage, names: &ShortNames, shown: usize, page: &mut TextPage) {
    let mut rows = Vec::new();
    for run in used.runs.iter().take(shown) {
        rows.push([names.of_run(&run.run_id).to_owned(), usage_or_dash(&run.sum.totals)]);
    }
    page.line("usage");
    page.table(2, rows);
    let mut sums = Vec::new();
    for one in &used.workflows {
        sums.push([format!("{}, {}", one.workflow, counted(one.listed, "run")), usage_or_dash(&one.sum.totals)]);
    }
    for one in &used.total.models {
        sums.push([format!("with {}", one.model), usage_or_dash(&one.totals)]);
    }
    sums.push([format!("all {}", counted(used.runs.len(), "run")), usage_or_dash(&used.total.totals)]);
    page.line("usage together");
    page.table(2, sums);
}
