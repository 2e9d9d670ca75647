//! `doctor`.

use crate::cli::args::DoctorArgs;
use crate::cli::cmd::worktrees;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::{BAD, CARE, FAINT, GOOD, Page};
use crate::doctor::{self, DoctorReport, DoctorRequest, FindingReport, FindingState, Severity};
use crate::runs::Context;

pub(super) fn run(cx: &Context, args: DoctorArgs, out: &mut Out) -> Exit {
    let request = DoctorRequest {
        run: args.run,
        repair: args.repair,
        dry_run: args.dry_run,
        strict: args.strict,
        worktrees: args.worktrees,
    };
    match doctor::doctor(cx, &request) {
        Ok(report) => {
            if report.repaired && !report.plan.is_empty() {
                out.committed("the repair is done".to_owned());
            }
            if !args.worktrees {
                worktrees::hint(&report.worktrees, out);
            }
            match out.answer(&report, || page(&report)) {
                Exit::Done if !report.ok => status(&report),
                exit => exit,
            }
        }
        Err(error) => out.error(&error),
    }
}

/// The exit status of a report that is not ok. A problem because of which no command works has the status that commands
/// give for it.
fn status(report: &DoctorReport) -> Exit {
    match report.findings.first().map(|finding| finding.code) {
        Some("flow_missing") => Exit::NotFound,
        Some("flow_foreign" | "flow_unsafe") => Exit::Unsafe,
        _ => Exit::Damaged,
    }
}

fn page(report: &DoctorReport) -> String {
    let mut page = Page::default();
    for finding in &report.findings {
        lines(finding, &mut page);
    }
    if !report.plan.is_empty() {
        page.line(if report.repaired { "done:" } else { "to do:" });
        let step = |run: Option<&crate::model::RunId>, step: &str| match run {
            Some(run) => format!("  {run}: {step}"),
            None => format!("  {step}"),
        };
        report.plan.iter().for_each(|one| page.line(&step(one.run_id.as_ref(), &one.step)));
    }
    let count = |wanted: &dyn Fn(&FindingReport) -> bool| report.findings.iter().filter(|one| wanted(one)).count();
    let of = |severity| count(&|one| one.severity == severity && one.state != FindingState::Mended);
    let counted = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let mut words = vec![format!("{} checked", counted(report.runs, "run"))];
    match count(&|one| one.state == FindingState::Mended) {
        0 => {}
        n => words.push(format!("{n} mended")),
    }
    words.push(counted(errors, "error"));
    words.push(counted(warnings, "warning"));
    let (style, word) = if report.ok { (GOOD, "ok") } else { (BAD, "damaged") };
    page.head(style, word, &words.join(", "));
    let repairable = count(&|one| one.repair.is_some() && one.state == FindingState::Found);
    if repairable > 0 && report.plan.is_empty() {
        page.line("`flow doctor --dry-run` shows what a repair would do, `flow doctor --repair` does it");
    }
    page.finish()
}

fn lines(finding: &FindingReport, page: &mut Page) {
    let (style, word) = match (finding.state, finding.severity) {
        (FindingState::Mended, _) => (GOOD, "mended"),
        (_, Severity::Error) => (BAD, "error"),
        (_, Severity::Warning) => (CARE, "warning"),
        (_, Severity::Info) => (FAINT, "info"),
    };
    let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
    let column = finding.column.map(|column| format!(":{column}")).unwrap_or_default();
    page.head(style, word, &format!("{}  {}{line}{column}", finding.code, finding.path.display()));
    page.line(&format!("  {}", finding.message));
    if let (Some(repair), FindingState::Found) = (&finding.repair, finding.state) {
        page.line(&format!("  repair: {repair}"));
    }
    if let Some(why) = &finding.why {
        let label = if finding.state == FindingState::Mended { "at another try, after" } else { "left" };
        page.line(&format!("  {label}: {why}"));
    }
}
