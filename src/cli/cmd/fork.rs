//! `fork`.

use crate::cli::args::ForkArgs;
use crate::cli::out::{CliResult, Out};
use crate::cli::progress::while_waiting;
use crate::runs::{self, Context, ForkReport, ForkRequest};

pub(super) fn run(cx: &Context, args: ForkArgs, out: &mut Out) -> CliResult {
    let ForkArgs { run, at, id, reason, workflow_now, session, local } = args;
    let request = ForkRequest { run, at, id, reason, workflow_now, session, local };
    let report = while_waiting("forking", || runs::fork(cx, &request))?;
    out.committed(format!("the run was forked as {}", report.run_id));
    out.warnings(&report.warnings);
    out.aside(&in_words(&report));
    // The id alone, so that `RUN=$(flow fork …)` works.
    Ok(out.answer(&report, |page| page.line(report.run_id.as_str())))
}

fn in_words(report: &ForkReport) -> String {
    let ForkReport { run_id, forked_from: from, phase, completed_activities: completed, created, .. } = report;
    let made = if *created { "goes on from" } else { "was made already, and goes on from" };
    let place = phase.as_ref().map(|phase| format!(", in phase {phase}")).unwrap_or_default();
    let activities = if *completed == 1 { "activity" } else { "activities" };
    let store = report.store.as_ref().map(|store| format!("; it is shared in {store}")).unwrap_or_default();
    let (seq, parent) = (from.seq, &from.run_id);
    format!("{run_id} {made} event {seq} of {parent}{place}, with {completed} completed {activities}{store}\n")
}
