//! `set`.

use crate::cli::args::SetArgs;
use crate::cli::out::{Ended, Out};
use crate::cli::page::{TextPage, unquoted};
use crate::runs::{self, Context, SetReport, SetRequest};

pub(super) fn run(cx: &Context, args: SetArgs, out: &mut Out) -> Ended {
    let request = SetRequest {
        run: args.run.name(),
        issue: args.issue,
        pr: args.pr,
        branch: args.branch,
        repo: args.repo,
        feature: args.feature,
        goal: args.goal,
        limits: args.limit,
        another: args.another,
        session: args.caller.session,
        epoch: args.caller.epoch,
    };
    let report = runs::set(cx, &request)?;
    if report.changed {
        out.committed(format!("{} is changed", report.run_id));
    }
    out.warnings(&report.warnings);
    Ok(out.answer(&report, || page(&report)))
}

fn page(report: &SetReport) -> String {
    let mut page = TextPage::clipping();
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
    page.finish()
}
