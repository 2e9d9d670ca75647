//! `record-activity`.

use std::path::Path;

use crate::cli::args::RecordArgs;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::TextPage;
use crate::cli::progress::while_waiting;
use crate::runs::{self, Context, Error, RecordReport, RecordRequest, Source};

pub(super) fn run(cx: &Context, args: RecordArgs, out: &mut Out) -> CliResult {
    let request = request(cx, args)?;
    let report = while_waiting("recording", || runs::record_activity(cx, &request))?;
    out.committed(format!("the activity is recorded as event {} ({})", report.seq, report.number));
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| fill(&report, page)))
}

fn fill(report: &RecordReport, page: &mut TextPage) {
    let RecordReport { number, activity, run_id, phase, completed_activities, .. } = report;
    let status = report.status.with_exit_code(report.exit_code);
    let verb = if report.repeated { "already recorded:" } else { "recorded" };
    page.line(&format!(
        "{verb} {number} {activity} ({status}); {run_id} is in {phase}, {completed_activities} completed"
    ));
}

fn request(cx: &Context, args: RecordArgs) -> Result<RecordRequest, Error> {
    let usage = args.usage.usage();
    Ok(RecordRequest {
        run: args.run_id,
        source: args.activity_file.as_deref().map(|file| source(cx, file)).transpose()?,
        id: args.id,
        phase: args.phase,
        kind: args.kind.map(Into::into),
        status: args.status.map(Into::into),
        name: args.name,
        summary: args.summary,
        confidence: args.confidence.map(Into::into),
        evidence: args.evidence,
        files: args.file,
        exit_code: args.exit_code,
        usage: if usage.is_unknown() { None } else { Some(usage) },
        started_at: args.started_at,
        advance: args.advance,
        settles: args.settles,
        skip_reason: args.skip_reason,
        session: args.caller.session,
        epoch: args.caller.epoch,
    })
}

/// The document in a file, or on standard input when it is called `-`.
pub(super) fn source(cx: &Context, path: &Path) -> Result<Source, Error> {
    if path == Path::new("-") { Source::of_standard_input() } else { runs::read_source(cx, path) }
}
