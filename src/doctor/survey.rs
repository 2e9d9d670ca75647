//! What an examination of a project finds.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::disk::DiskError;
use crate::doctor::diagnosis::{Diagnosis, diagnose};
use crate::doctor::finding::{Finding, Findings};
use crate::doctor::report::Severity;
use crate::doctor::{project, shared};
use crate::model::{Explain as _, Help, Kind, Problem, Suggestion};
use crate::runs::open::checkout::may_be_elsewhere;
use crate::runs::open::name::{Purpose, open_run};
use crate::runs::{OpenedProject, Result};
use crate::store::local::RunDir;
use crate::store::local::layout::RUNS;
use crate::store::{Document, StoreError, StoredRun};

/// How often a repair looks at what cannot be read.
const LOOKS: usize = 3;

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

/// All findings: those of the project first, then run by run.
pub(super) struct Survey {
    pub(super) parts: Vec<Findings>,
    /// How many runs were examined.
    pub(super) runs: usize,
}

impl Survey {
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.parts.iter().flat_map(|part| &part.list)
    }

    /// Whether `path` is, or is in, something that could not be read.
    pub(super) fn is_unread(&self, path: &Path) -> bool {
        self.parts.iter().flat_map(|part| &part.unread).any(|unread| path.starts_with(unread))
    }
}

/// Examines again what could not be read: the fault may pass.
pub(super) fn whole_survey(project: &OpenedProject, request: &DoctorRequest) -> Result<Survey> {
    let mut found = survey(project, request)?;
    for _ in 1..LOOKS {
        if found.parts.iter().all(|part| part.unread.is_empty()) {
            break;
        }
        found = survey(project, request)?;
    }
    Ok(found)
}

/// The copies of shared runs.
fn copies(project: &OpenedProject, count: &mut usize) -> Result<Vec<RunDir>> {
    let mut copies = Vec::new();
    let Some(shared) = project.runs().shared().accepted() else { return Ok(copies) };
    for id in project.runs().ids()? {
        if shared.copies_with(&id).is_some() {
            *count += 1;
            copies.push(project.with_files_of(&id)?.run(&id)?);
        }
    }
    Ok(copies)
}

/// The error that the log of a copy is not repaired: a repair would make another history of the run.
pub(super) fn copy_is_read_again(run: &dyn StoredRun) -> Problem {
    let message = format!("run {} is shared, and only its copy can be repaired here", run.id());
    let place = run.address(Document::Run);
    let help = Help::from(format!("remove {place}, and "))
        + Suggestion::flow("remote fetch").value(run.id())
        + " reads it again";
    Problem::new(Kind::Refused, "shared_copy", message).help(help)
}

/// Examines the run that the request names, or the project and all of its runs.
pub(super) fn survey(project: &OpenedProject, request: &DoctorRequest) -> Result<Survey> {
    let mut survey = Survey { parts: Vec::new(), runs: 0 };
    let now = project.cx.now();
    if let Some(id) = &request.run {
        let named = open_run(project, id, Purpose::Read)?;
        let run = project.with_files_of(named.id())?.run(named.id())?;
        survey.runs = 1;
        let Diagnosis { findings, rewrite } = diagnose(project, &run, None, true, now);
        if request.repair && rewrite.is_some() && project.runs().shared().has(named.id()) {
            return Err(copy_is_read_again(&*named).into());
        }
        survey.parts.push(findings);
        let mut found = Findings::default();
        shared::check_run(project, named.id(), &mut found);
        survey.parts.push(found);
        return Ok(survey);
    }
    let mut found = Findings::default();
    project::check(project, &mut found);
    let mut runs = Vec::new();
    let ids = project.run_ids();
    let listed = ids.and_then(|ids| {
        project.each_of(&ids, |id, run| {
            survey.runs += 1;
            match run {
                Ok(run) => runs.push(run),
                // The check of the project has reported an unsafe name already; a run that cannot be opened for another
                // reason is reported here.
                Err(StoreError::Disk(DiskError::Unsafe { .. })) => {}
                Err(error) => {
                    let path = project.path().join(RUNS).join(id.as_str());
                    found.add_unread(&path, error.one_line());
                }
            }
        })
    });
    // If the directory of runs cannot be listed, the check of the project mostly says why.
    if let Err(error) = listed
        && found.list.iter().all(|finding| finding.severity() != Severity::Error)
    {
        return Err(error.into());
    }
    shared::check(project, &mut found);
    runs.extend(copies(project, &mut survey.runs)?);
    survey.parts.push(found);
    runs.sort_by(|a, b| a.id().cmp(b.id()));
    for run in runs.iter().filter(|run| !is_pruned(project, run)) {
        survey.parts.push(diagnose(project, run, None, false, now).findings);
    }
    Ok(survey)
}

/// Whether git removed the files of a run because it was pruned: there is nothing to look for.
fn is_pruned(project: &OpenedProject, run: &RunDir) -> bool {
    may_be_elsewhere(project, run) && matches!(project.runs().pruned(run.id()), Ok(Some(_)))
}
