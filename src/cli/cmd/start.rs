//! `start`.

use crate::cli::args::StartArgs;
use crate::cli::out::{Ended, Out};
use crate::runs::{self, Context, StartReport, StartRequest};

pub(super) fn run(cx: &Context, args: StartArgs, out: &mut Out) -> Ended {
    let request = StartRequest {
        workflow: args.workflow,
        issue: args.issue,
        pr: args.pr,
        goal: args.goal,
        branch: args.branch,
        repo: args.repo,
        journal: args.journal,
        slug: args.slug,
        phase: args.phase,
        session: args.session,
        id: args.id,
        another: args.another,
    };
    let report = runs::start(cx, &request)?;
    out.committed(format!("the run was started as {}", report.run_id));
    out.warnings(&report.warnings);
    let StartReport { phase, phase_number, phases, description, .. } = &report;
    let description = description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
    out.aside(&format!("in phase {phase} ({phase_number} of {phases}){description}\n"));
    // The id alone, so that `RUN=$(flow start …)` works.
    Ok(out.answer(&report, || format!("{}\n", report.run_id)))
}
