//! The verb `doctor`: examine, repair, examine again, report.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::disk::DiskError;
use crate::doctor::diagnosis::diagnose;
use crate::doctor::finding::{Caller, Finding, Findings};
use crate::doctor::project;
use crate::doctor::repair::{Mending, mend};
use crate::doctor::report::{DoctorReport, FindingReport, FindingState, Severity};
use crate::model::{Explain as _, Help, Suggestion};
use crate::runs::open::name::{Purpose, open_run};
use crate::runs::{Context, Error, Result, in_other_worktrees, other_worktrees, place_of_caller};
use crate::store::{Project, StoreError, StoredRun as _};

/// How often a repair looks at what cannot be read.
const LOOKS: usize = 3;
/// Why a finding is left that the second examination does not have.
const NOT_SEEN_AFTER: &str = "it could not be looked at again after the repair; run the repair again";
/// Why a finding is left that only the second examination has.
const NOT_SEEN_BEFORE: &str = "it could not be looked at before the repair; run the repair again";

/// What to examine, and whether to repair it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DoctorRequest {
    /// Only this run; otherwise the project and all of its runs.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// Repair what can be repaired.
    pub repair: bool,
    /// Only report what a repair would do.
    pub dry_run: bool,
    /// Warnings count as errors.
    pub strict: bool,
    /// Examine the repository's other worktrees as well.
    pub worktrees: bool,
}

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
        report.findings.iter_mut().for_each(|finding| finding.path = root.join(&finding.path));
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
        Err(error) => return no_project(error, request),
    };
    let place = place_of_caller(cx, &project);
    let by = Caller { root: project.root(), place: place.as_deref() };
    let mut mending = Mending::default();
    if request.repair && !request.dry_run {
        let before = whole_survey(cx, &project, request)?;
        mend(cx, &project, request, &before, &mut mending)?;
        let after = whole_survey(cx, &project, request)?;
        return Ok(report_repair(&by, request, &before, after, mending));
    }
    let mut before = survey(cx, &project, request)?;
    if request.dry_run {
        for findings in &before.parts {
            mending.note(findings);
        }
    }
    before.parts.iter_mut().for_each(|part| part.list.sort_by_key(Finding::severity));
    let findings = before.findings().map(|one| one.report(&by, FindingState::Found, None)).collect();
    Ok(report(request, before.runs, findings, mending))
}

/// The report for a project that cannot be opened.
fn no_project(error: Error, request: &DoctorRequest) -> Result<DoctorReport> {
    if request.run.is_some() {
        return Err(error);
    }
    let mut found = Findings::default();
    let line = error.one_line();
    match &error {
        Error::NoProject { start, .. } => {
            let init = Suggestion::flow("init");
            found.add("flow_missing", start, Help::from(line + "; ") + init + " makes one");
        }
        Error::Store(StoreError::Foreign { path, .. }) => drop(found.add("flow_foreign", path, line)),
        Error::Store(StoreError::Disk(DiskError::Unsafe { path, .. })) => {
            found.add("flow_unsafe", path, line);
        }
        _ => return Err(error),
    }
    let by = Caller { root: Path::new(""), place: None };
    let findings = found.list.iter().map(|finding| finding.report(&by, FindingState::Found, None)).collect();
    Ok(DoctorReport { ok: false, runs: 0, findings, plan: Vec::new(), repaired: false, worktrees: Vec::new() })
}

/// Examines again what could not be read: the fault may pass.
fn whole_survey(cx: &Context, project: &Project, request: &DoctorRequest) -> Result<Survey> {
    let mut found = survey(cx, project, request)?;
    for _ in 1..LOOKS {
        if found.parts.iter().all(|part| part.unread.is_empty()) {
            break;
        }
        found = survey(cx, project, request)?;
    }
    Ok(found)
}

fn survey(cx: &Context, project: &Project, request: &DoctorRequest) -> Result<Survey> {
    let mut survey = Survey { parts: Vec::new(), runs: 0 };
    let now = cx.clock.now();
    if let Some(id) = &request.run {
        let run = project.run(open_run(cx, project, id, Purpose::Read)?.id())?;
        survey.runs = 1;
        survey.parts.push(diagnose(cx, project, &run, None, true, now).findings);
        return Ok(survey);
    }
    let mut found = Findings::default();
    project::check(cx, project, &mut found);
    let mut runs = Vec::new();
    let listed = project.each_run(|id, run| {
        survey.runs += 1;
        match run {
            Ok(run) => runs.push(run),
            // The check of the project has reported an unsafe name already; a run that cannot be opened for another
            // reason is reported here.
            Err(StoreError::Disk(DiskError::Unsafe { .. })) => {}
            Err(error) => {
                let path = project.path().join(crate::store::local::layout::RUNS).join(id.as_str());
                found.add_unread(&path, error.one_line());
            }
        }
    });
    if let Err(error) = listed
        && found.list.iter().all(|finding| finding.severity() != Severity::Error)
    {
        return Err(error.into());
    }
    survey.parts.push(found);
    runs.sort_by(|a, b| a.id().cmp(b.id()));
    survey.parts.extend(runs.iter().map(|run| diagnose(cx, project, run, None, false, now).findings));
    Ok(survey)
}

/// Compares the findings before and after a repair: what is repaired, what is left, what is new.
fn report_repair(
    by: &Caller<'_>,
    request: &DoctorRequest,
    before: &Survey,
    after: Survey,
    mending: Mending,
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
        let is_ours = one.repair.is_some() || one.run.as_ref().is_some_and(|run| mending.has_touched(run));
        if is_ours && !before.is_unread(&one.path) {
            findings.push(one.report(by, FindingState::Mended, mending.trouble_with(one)));
        }
    }
    // Findings that are left are reported as the second examination found them.
    left.sort_by_key(|one| one.severity());
    for one in left {
        let missed = || (one.repair.is_some() && before.is_unread(&one.path)).then(|| NOT_SEEN_BEFORE.to_owned());
        let (state, why) = match one.severity() {
            Severity::Info => (FindingState::Found, mending.trouble_with(one)),
            _ => (FindingState::Left, mending.trouble_with(one).or_else(missed)),
        };
        findings.push(one.report(by, state, why));
    }
    DoctorReport { repaired: true, ..report(request, before.runs, findings, mending) }
}

fn report(request: &DoctorRequest, runs: usize, findings: Vec<FindingReport>, mending: Mending) -> DoctorReport {
    let bad = |one: &FindingReport| match one.severity {
        Severity::Error => true,
        // A repair that was requested and failed is never ok.
        Severity::Warning => request.strict || one.why.is_some(),
        Severity::Info => false,
    };
    let ok = findings.iter().all(|one| one.state == FindingState::Mended || !bad(one));
    DoctorReport { ok, runs, findings, plan: mending.plan, repaired: false, worktrees: Vec::new() }
}

/// All findings: those of the project first, then run by run.
pub(super) struct Survey {
    pub(super) parts: Vec<Findings>,
    runs: usize,
}

impl Survey {
    fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.parts.iter().flat_map(|part| &part.list)
    }

    /// Whether `path` is, or is in, something that could not be read.
    fn is_unread(&self, path: &Path) -> bool {
        self.parts.iter().flat_map(|part| &part.unread).any(|unread| path.starts_with(unread))
    }
}
