//! `doctor`.

use crate::cli::args::DoctorArgs;
use crate::cli::cmd::worktrees;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{BAD, CARE, FAINT, GOOD, TextPage, place};
use crate::doctor::{self, DoctorReport, DoctorRequest, FindingReport, FindingState, Severity};
use crate::model::counted;
use crate::runs::Context;

pub(in crate::cli::cmd) fn run(cx: &Context, args: DoctorArgs, out: &mut Out) -> CliResult {
    let DoctorArgs { run, repair, dry_run, strict, worktrees } = args;
    let request = DoctorRequest { run, repair, dry_run, strict, worktrees };
    let report = doctor::doctor(cx, &request)?;
    if report.repaired && !report.plan.is_empty() {
        out.committed("the repair is done".to_owned());
    }
    // Otherwise their findings are in the report.
    if !worktrees {
        worktrees::hint(&report.worktrees, out);
    }
    Ok(out.answer(&report, |page| fill(&report, page)).then(status(&report)))
}

/// The exit status of a report. A problem because of which no command works has the status that commands give for it.
fn status(report: &DoctorReport) -> Exit {
    if report.ok {
        return Exit::Done;
    }
    match report.findings.first().map(|finding| finding.code) {
        Some("flow_missing") => Exit::NotFound,
        Some("flow_foreign" | "flow_unsafe") => Exit::Unsafe,
        _ => Exit::Damaged,
    }
}

fn fill(report: &DoctorReport, page: &mut TextPage) {
    for (nth, finding) in report.findings.iter().enumerate() {
        let next = report.findings.get(nth + 1).filter(|next| next.state == finding.state);
        // Of several that one repair mends, the last one tells it.
        lines(
            finding,
            next.is_some_and(|next| (&next.run_id, &next.repair) == (&finding.run_id, &finding.repair)),
            page,
        );
    }
    if !report.plan.is_empty() {
        page.line(if report.repaired { "done:" } else { "to do:" });
        for one in &report.plan {
            page.line(&match &one.run_id {
                Some(run) => format!("  {run}: {}", one.step),
                None => format!("  {}", one.step),
            });
        }
    }
    let (mut errors, mut warnings, mut mended) = (0, 0, 0);
    for finding in &report.findings {
        match (finding.state, finding.severity) {
            // What was mended is an error or a warning no longer.
            (FindingState::Mended, _) => mended += 1,
            (_, Severity::Error) => errors += 1,
            (_, Severity::Warning) => warnings += 1,
            (_, Severity::Info) => {}
        }
    }
    let mut words = vec![format!("{} checked", counted(report.runs, "run"))];
    if mended > 0 {
        words.push(format!("{mended} mended"));
    }
    words.push(counted(errors, "error"));
    words.push(counted(warnings, "warning"));
    // The finding says it as every other command does; nothing is damaged.
    if report.findings.iter().any(|finding| finding.code == "flow_missing") {
        page.head(CARE, "no runs here", "nothing was checked");
        return;
    }
    let (style, word) = if report.ok { (GOOD, "ok") } else { (BAD, "damaged") };
    page.head(style, word, &words.join(", "));
    let is_repairable = report.findings.iter().any(|one| one.repair.is_some() && one.state == FindingState::Found);
    // With a plan, the caller has asked for the repair already.
    if is_repairable && report.plan.is_empty() {
        page.line("`flow doctor --dry-run` shows what a repair would do, `flow doctor --repair` does it");
    }
}

fn lines(finding: &FindingReport, is_told: bool, page: &mut TextPage) {
    let (style, word) = match (finding.state, finding.severity) {
        (FindingState::Mended, _) => (GOOD, "mended"),
        (_, Severity::Error) => (BAD, "error"),
        (_, Severity::Warning) => (CARE, "warning"),
        (_, Severity::Info) => (FAINT, "info"),
    };
    let place = place(finding.line, finding.column);
    page.head(style, word, &format!("{}  {}{place}", finding.code, finding.path.display()));
    page.line(&format!("  {}", finding.message));
    if let (Some(repair), FindingState::Found, false) = (&finding.repair, finding.state, is_told) {
        page.line(&format!("  repair: {repair}"));
    }
    if let Some(why) = &finding.why {
        let label = if finding.state == FindingState::Mended { "at another try, after" } else { "left" };
        page.line(&format!("  {label}: {why}"));
    }
}
