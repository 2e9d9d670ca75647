//! `start`.

use crate::cli::args::StartArgs;
use crate::cli::out::{Ended, Out};
use crate::cli::progress::while_waiting;
use crate::runs::{self, Context, StartReport, StartRequest};

pub(super) fn run(cx: &Context, args: StartArgs, out: &mut Out) -> Ended {
    let StartArgs { workflow, issue, pr, goal, branch, repo, journal, slug, phase, session, id, another, local } = args;
    let request =
        StartRequest { workflow, issue, pr, goal, branch, repo, journal, slug, phase, session, id, another, local };
    let report = while_waiting("starting", || runs::start(cx, &request))?;
    out.committed(format!("the run was started as {}", report.run_id));
    out.warnings(&report.warnings);
    let StartReport { phase, phase_number, phases, description, .. } = &report;
    let description = description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
    out.aside(&format!("in phase {phase} ({phase_number} of {phases}){description}\n"));
    // The id alone, so that `RUN=$(flow start …)` works.
    Ok(out.answer(&report, |page| page.line(report.run_id.as_str())))
}
