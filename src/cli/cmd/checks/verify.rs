//! `verify`.

use anstyle::Style;

use crate::cli::args::VerifyArgs;
use crate::cli::cmd::look::seen::{changes, seen_row};
use crate::cli::cmd::meant::meant;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{BAD, CARE, GOOD, TextPage, place};
use crate::doctor::{self, VerifyReport, VerifyRequest};
use crate::engine::{EvidenceState, Freshness};
use crate::model::{ActivityStatus, counted};
use crate::runs::{self, Context, VerifyEvidenceReport, VerifyEvidenceRequest};

pub(in crate::cli::cmd) fn run(cx: &Context, args: VerifyArgs, out: &mut Out) -> CliResult {
    let run = Some(meant(cx, args.run, out, true)?);
    if args.evidence {
        return evidence(cx, run, out);
    }
    let report = doctor::verify(cx, &VerifyRequest { run, session: None })?;
    let status = if report.ok { Exit::Done } else { Exit::Damaged };
    Ok(out.answer(&report, |page| fill(&report, page)).then(status))
}

fn evidence(cx: &Context, run: Option<String>, out: &mut Out) -> CliResult {
    let report = runs::verify_evidence(cx, &VerifyEvidenceRequest { run, session: None })?;
    let status = match (&report.damage, report.ok) {
        (Some(_), _) => Exit::Damaged,
        (None, true) => Exit::Done,
        (None, false) => Exit::Refused,
    };
    Ok(out.answer(&report, |page| fill_evidence(&report, page)).then(status))
}

fn fill_evidence(report: &VerifyEvidenceReport, page: &mut TextPage) {
    let (style, word) = headline(report);
    page.head(style, word, report.run_id.as_str());
    page.each("why", &report.damage);
    page.table(2, report.evidence.iter().map(|seen| seen_row(seen).to_vec()));
    for one in &report.required {
        let why = match (&one.why, &one.skip_reason) {
            (None, None) => continue,
            (Some(why), None) => why.clone(),
            (Some(why), Some(reason)) => format!("{why}; left without it: {reason}"),
            (None, Some(reason)) => format!("seen to pass since; left without it: {reason}"),
        };
        page.line(&format!("  {} requires {}: {why}", one.phase, one.exec));
        if let Some(command) = &one.command {
            page.command(&command.to_string());
        }
    }
    changes(report.evidence.iter().filter(|seen| seen.latest), page);
    let mut claimed = Vec::new();
    for one in &report.claimed {
        let failed = one.seen_to_fail.map(|failed| format!(" (flow saw {failed} fail)")).unwrap_or_default();
        claimed.push(format!("{} {}{failed}", one.number, one.id));
    }
    if !claimed.is_empty() {
        page.field("claimed", &claimed.join(", "));
    }
    let has_inputs = report.evidence.iter().any(|seen| !seen.inputs.is_empty());
    let ignored = match (report.evidence.iter().any(|seen| seen.state.only_inputs), has_inputs) {
        (true, _) => "",
        (false, true) => "; of ignored ones, only inputs are looked at",
        (false, false) => "; ignored ones are not looked at",
    };
    let same = EvidenceState::what_is_the_same(report.evidence.iter().map(|seen| &seen.state));
    page.line(&format!("  fresh means: {same}{ignored}"));
    page.each("note", &report.notes);
}

/// The word for all of it.
fn headline(report: &VerifyEvidenceReport) -> (Style, &'static str) {
    if report.damage.is_some() {
        return (BAD, "damaged");
    }
    if report.ok {
        let has_any = !(report.evidence.is_empty() && report.required.is_empty());
        return if has_any { (GOOD, "ok") } else { (CARE, "nothing seen") };
    }
    let mut last = report.evidence.iter().filter(|seen| seen.latest);
    if last.clone().any(|seen| seen.status != ActivityStatus::Passed) {
        return (BAD, "failed");
    }
    let are_fresh = last.all(|seen| seen.state.freshness == Freshness::Fresh);
    (BAD, if are_fresh { "not proved" } else { "not fresh" })
}

fn fill(report: &VerifyReport, page: &mut TextPage) {
    let (style, word) = if report.ok { (GOOD, "ok") } else { (BAD, "differs") };
    page.head(style, word, report.run_id.as_str());
    let checked = &report.checked;
    page.field("log", &counted(checked.events, "sealed event"));
    let versions = counted(checked.run_digests, "version");
    page.field("run.yaml", &format!("{} bytes; the log has the digests of {versions}", checked.run_bytes));
    page.field("activities", &counted(checked.activity_files, "file"));
    for difference in &report.differences {
        let line = place(difference.line, None);
        page.line(&format!("{}{line}: {}", difference.path.display(), difference.why));
        page.line(&format!("  expected  {}", difference.expected));
        page.line(&format!("  found     {}", difference.found));
    }
    page.each("note", &report.notes);
}
