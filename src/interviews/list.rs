//! `interview list`: the interviews that open runs wait for, other interviews of the project, and the other open questions of
//! runs.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::interviews::error::Result;
use crate::interviews::known::{KnownInterview, known, known_without_project};
use crate::interviews::link::{AwaitedInterview, awaited};
use crate::interviews::next::InterviewNext;
use crate::interviews::status::status;
use crate::model::{Explain as _, RunId, RunSummary, StateName, Timestamp, Unit, WorkflowId};
use crate::runs::context::Context;
use crate::runs::open::reading::{Unreadable, maybe_open, read_runs};
use crate::runs::open::view::for_reading;
use crate::runs::{self, ListedRun, ShortNames};

/// The report of `interview list`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterviewListReport {
    /// The interviews that open runs wait for; those of the run that changed last first.
    pub interviews: Vec<OpenInterview>,
    /// The other interviews that began in this checkout; the one that was written to last first.
    pub documents: Vec<KnownInterview>,
    /// The other open questions of runs.
    pub questions: Vec<OpenQuestion>,
    /// Runs that cannot be read.
    pub unreadable: Vec<Unreadable>,
}

/// An interview that a run waits for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OpenInterview {
    /// The run.
    pub run_id: RunId,
    /// What the run is about, in a few words.
    pub title: String,
    /// A short name of it that commands take.
    pub name: String,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// The step that waits.
    pub step: Option<StateName>,
    /// The document, as a path in the project.
    pub document: PathBuf,
    /// The open question, as the run has it.
    pub prompt: Option<String>,
    /// The next step, as the document has it; null if it cannot be read.
    pub next: Option<InterviewNext>,
    /// Why the document cannot be read.
    pub error: Option<String>,
    /// When the run last changed.
    pub updated_at: Timestamp,
}

/// An open question of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenQuestion {
    /// The run.
    pub run_id: RunId,
    /// What the run is about, in a few words.
    pub title: String,
    /// A short name of it that commands take.
    pub name: String,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// The step that asks.
    pub step: StateName,
    /// The unit that asks.
    pub unit: Option<Unit>,
    /// The question.
    pub prompt: String,
    /// When the run last changed.
    pub updated_at: Timestamp,
}

/// Finds the interviews and questions of the open runs. Writes nothing.
///
/// # Errors
/// When the runs cannot be read; a single unreadable run or document is in the report.
pub fn list(cx: &Context) -> Result<InterviewListReport> {
    let project = match cx.project() {
        Ok(project) => project,
        Err(error) => return begun_outside(cx, error),
    };
    let open = maybe_open(&project)?;
    let (found, unreadable) = read_runs(&project, &open, |run| {
        // Most runs ask nothing, and searching their text is faster than reading their log.
        if let Some(text) = run.text()?
            && !text.contains("questions:")
            && !text.contains("interview")
        {
            return Ok(None);
        }
        let history = for_reading(&project, run)?.history;
        Ok(if history.state().status().is_terminal() { None } else { Some(history) })
    })?;
    // So that its commands name documents as they are named in the working directory.
    let is_here = cx.env.cwd.as_deref() == Some(project.root());
    let named = |document: &Path| if is_here { document.to_owned() } else { project.root().join(document) };
    let mut report =
        InterviewListReport { interviews: Vec::new(), documents: Vec::new(), questions: Vec::new(), unreadable };
    let names = ShortNames::of(&project, found.iter().map(|history| &history.state().document().id));
    for history in found {
        let run = history.state().document();
        let (run_id, workflow) = (run.id.clone(), run.workflow.clone());
        let (title, name) = (ListedRun::from(RunSummary::from(run)).title(), names.of_run(&run.id).to_owned());
        let updated_at = run.state.updated_at.unwrap_or(run.created_at);
        for AwaitedInterview { document, step, prompt } in awaited(&history) {
            let (next, error) = match status(cx, &named(&document)) {
                Ok(status) => (Some(InterviewNext { document: document.clone(), ..status.next }), None),
                Err(error) => (None, Some(error.one_line())),
            };
            let (run_id, workflow) = (run_id.clone(), workflow.clone());
            let (title, name) = (title.clone(), name.clone());
            report.interviews.push(OpenInterview {
                run_id,
                title,
                name,
                workflow,
                step,
                document,
                prompt,
                next,
                error,
                updated_at,
            });
        }
        for question in &run.state.questions {
            // It is in the list already, with its document.
            if question.is_of_interview() {
                continue;
            }
            report.questions.push(OpenQuestion {
                run_id: run_id.clone(),
                title: title.clone(),
                name: name.clone(),
                workflow: workflow.clone(),
                step: question.step.clone(),
                unit: question.unit.clone(),
                prompt: question.prompt.clone(),
                updated_at,
            });
        }
    }
    // Runs that changed at the same moment are told apart by their ids, so the order is always the same.
    report.interviews.sort_by_cached_key(|one| (Reverse((one.updated_at, one.run_id.clone())), one.document.clone()));
    report.questions.sort_by_cached_key(|one| (Reverse((one.updated_at, one.run_id.clone())), one.step.clone()));
    let listed: Vec<&Path> = report.interviews.iter().map(|one| &*one.document).collect();
    report.documents = known(&project, &listed, &named);
    Ok(report)
}

/// The interviews that began here before there was a project; without any, `error` says that there is none.
fn begun_outside(cx: &Context, error: runs::Error) -> Result<InterviewListReport> {
    let mut report = InterviewListReport {
        interviews: Vec::new(),
        documents: Vec::new(),
        questions: Vec::new(),
        unreadable: Vec::new(),
    };
    if matches!(error, runs::Error::NoProject { .. })
        && let Some(here) = &cx.env.cwd
    {
        report.documents = known_without_project(cx, here);
    }
    if report.documents.is_empty() { Err(error.into()) } else { Ok(report) }
}
