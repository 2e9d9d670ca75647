//! The verb `doctor`: examine, repair, examine again, report.

use std::path::Path;

use crate::disk::DiskError;
use crate::doctor::finding::{Finding, Findings, ReportView};
use crate::doctor::repair::Mending;
use crate::doctor::report::{DoctorReport, FindingReport, FindingState, Severity};
use crate::doctor::survey::{DoctorRequest, Survey, survey, whole_survey};
use crate::model::{Explain as _, Help};
use crate::runs::{Context, Error, Result, in_other_worktrees, other_worktrees, place_of_caller};
use crate::store::StoreError;

/// Why a finding is left that the second examination does not have.
const NOT_SEEN_AFTER: &str = "it could not be looked at again after the repair; run the repair again";
/// Why a finding is left that only the second examination has.
const NOT_SEEN_BEFORE: &str = "it could not be looked at before the repair; run the repair again";

/// Examines the project and, on request, repairs it.
///
/// # Errors
/// [`Error::NoSuchRun`] when the named run does not exist, and [`Error::Store`] when a directory of runs cannot be
/// read. Everything else that is wrong is in the report, including the reasons why a repair failed.
pub fn doctor(cx: &Context, request: &DoctorRequest) -> Result<DoctorReport> {
    let mut all = doctor_here(cx, request)?;
    all.worktrees = other_worktrees(cx, if request.worktrees { usize::MAX } else { 0 });
    if !request.worktrees {
        return Ok(all);
    }
    for (root, there) in in_other_worktrees(cx) {
        let mut report = doctor_here(&there, request)?;
        for finding in &mut report.findings {
            // Paths are relative to the caller's project, and this one is another.
            finding.path = root.join(&finding.path);
        }
        all.ok &= report.ok;
        all.runs += report.runs;
        all.findings.append(&mut report.findings);
        all.plan.append(&mut report.plan);
    }
    Ok(all)
}

fn doctor_here(cx: &Context, request: &DoctorRequest) -> Result<DoctorReport> {
    let project = match cx.project() {
        Ok(project) => project,
        Err(error) => return no_project(cx, error, request),
    };
    let place = place_of_caller(&project);
    let by = ReportView { root: project.root(), place: place.as_deref() };
    let mut mending = Mending::new(&project, request);
    if request.repair && !request.dry_run {
        let before = whole_survey(&project, request)?;
        mending.mend(&before)?;
        let after = whole_survey(&project, request)?;
        return Ok(report_repair(&by, request, &before, after, mending));
    }
    let mut before = survey(&project, request)?;
    if request.dry_run {
        for findings in &before.parts {
            mending.note(findings);
        }
    }
    for part in &mut before.parts {
        part.list.sort_by_key(Finding::severity);
    }
    let findings = before.findings().map(|one| one.report(&by, FindingState::Found, None)).collect();
    Ok(report(request, before.runs, findings, mending))
}

/// The report for a project that cannot be opened.
fn no_project(cx: &Context, error: Error, request: &DoctorRequest) -> Result<DoctorReport> {
    if request.run.is_some() {
        return Err(error);
    }
    if let Error::NoProject { .. } = error
        && let Some(elsewhere) = cx.project_elsewhere()
    {
        return Err(elsewhere);
    }
    let mut found = Findings::default();
    let line = error.one_line();
    match &error {
        Error::NoProject { start, .. } => {
            let help = error.problem().help.unwrap_or_default();
            found.add("flow_missing", start, Help::from(line + "; ") + help);
        }
        Error::Store(StoreError::Foreign { path, .. }) => {
            found.add("flow_foreign", path, line);
        }
        Error::Store(StoreError::Disk(DiskError::Unsafe { path, .. })) => {
            let help = error.problem().help.unwrap_or_default();
            found.add("flow_unsafe", path, Help::from(line + "; ") + help);
        }
        _ => return Err(error),
    }
    let by = ReportView { root: Path::new(""), place: None };
    let findings = found.list.iter().map(|finding| finding.report(&by, FindingState::Found, None)).collect();
    Ok(DoctorReport { ok: false, runs: 0, findings, plan: Vec::new(), repaired: false, worktrees: Vec::new() })
}

/// Compares the findings before and after a repair: what is repaired, what is left, what is new.
fn report_repair(
    by: &ReportView<'_>,
    request: &DoctorRequest,
    before: &Survey,
    after: Survey,
    mending: Mending<'_>,
) -> DoctorReport {
    let mut findings = Vec::new();
    let mut left: Vec<&Finding> = after.findings().collect();
    for one in before.findings() {
        if one.severity() == Severity::Info || left.iter().any(|now| now.is(one)) {
            continue;
        }
        if after.is_unread(&one.path) {
            findings.push(one.report(by, FindingState::Left, Some(NOT_SEEN_AFTER.to_owned())));
            continue;
        }
        // Without a repair it went by itself: a fault of the system that passed, or a person was faster.
        let is_ours = one.repair.is_some() || matches!(&one.run, Some(run) if mending.has_touched(run));
        if is_ours && !before.is_unread(&one.path) {
            findings.push(one.report(by, FindingState::Mended, mending.trouble_with(one)));
        }
    }
    // Findings that are left are reported as the second examination found them.
    left.sort_by_key(|one| one.severity());
    for one in left {
        let mut why = mending.trouble_with(one);
        let mut state = FindingState::Found;
        if one.severity() != Severity::Info {
            state = FindingState::Left;
            if why.is_none() && one.repair.is_some() && before.is_unread(&one.path) {
                why = Some(NOT_SEEN_BEFORE.to_owned());
            }
        }
        findings.push(one.report(by, state, why));
    }
    DoctorReport { repaired: true, ..report(request, before.runs, findings, mending) }
}

fn report(request: &DoctorRequest, runs: usize, findings: Vec<FindingReport>, mending: Mending<'_>) -> DoctorReport {
    let mut ok = true;
    for one in &findings {
        let is_bad = match one.severity {
            Severity::Error => true,
            // A repair that was requested and failed is never ok.
            Severity::Warning => request.strict || one.why.is_some(),
            Severity::Info => false,
        };
        ok &= one.state == FindingState::Mended || !is_bad;
    }
    DoctorReport { ok, runs, findings, plan: mending.plan, repaired: false, worktrees: Vec::new() }
}
