//! `set`.

use crate::cli::args::{CallerArgs, SetArgs};
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{TextPage, unquoted};
use crate::runs::{self, Context, SetReport, SetRequest};

pub(super) fn run(cx: &Context, args: SetArgs, out: &mut Out) -> CliResult {
    let SetArgs { run, issue, pr, branch, repo, feature, goal, limit: limits, another, caller } = args;
    let CallerArgs { session, epoch } = caller;
    let run = run.name();
    let request = SetRequest { run, issue, pr, branch, repo, feature, goal, limits, another, session, epoch };
    let report = runs::set(cx, &request)?;
    if report.changed {
        out.committed(format!("{} is changed", report.run_id));
    }
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| fill(&report, page)))
}

fn fill(report: &SetReport, page: &mut TextPage) {
    page.cut_long_values();
    let already = if report.changed { "is changed" } else { "is so already" };
    page.line(&format!("{} {already}", report.run_id));
    let mut fields = Vec::new();
    if let Some(goal) = &report.goal {
        fields.push(("goal", goal.clone()));
    }
    for (key, value) in report.context.iter().chain(&report.limits) {
        if !value.is_null() {
            fields.push((key.as_str(), unquoted(value)));
        }
    }
    page.fields(&fields);
}
