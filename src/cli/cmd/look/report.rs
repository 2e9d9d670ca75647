//! `report`.

use crate::cli::args::{ReportArgs, ReportFormatArg};
use crate::cli::cmd::meant::meant;
use crate::cli::out::{CliResult, Out};
use crate::picture;
use crate::runs::{self, Context, WorkReportRequest};

pub(in crate::cli::cmd) fn run(cx: &Context, args: ReportArgs, out: &mut Out) -> CliResult {
    let run = Some(meant(cx, args.run, out, true)?);
    let report = runs::work_report(cx, &WorkReportRequest { run, session: None })?;
    // Also with JSON, which has no word of it.
    for warning in &report.asked {
        out.show(&format!("warning: {warning}\n"));
    }
    if out.is_json() || args.format == ReportFormatArg::Json {
        return Ok(out.json(&report));
    }
    Ok(out.plain(&picture::work_report(&report)))
}
