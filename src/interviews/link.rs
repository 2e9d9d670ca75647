//! The run of an interview: each question and answer is logged there, and the interview is one of its activities.
//!
//! The document is authoritative and is written first. If a command ends before it has updated the log, the next
//! command does so; each report has a key made from its content, so a repeated update has no effect.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::codec::digest;
use crate::engine::{BegunInterview, History, all_asked, begun_about, interview_activity};
use crate::interviews::document_file::{DocumentFile, script_of};
use crate::interviews::error::{Error, Result};
use crate::interviews::gone::{is_mentioned, known_as};
use crate::interviews::known::note;
use crate::interviews::next::InterviewState;
use crate::interviews::pad::{InterviewAnswer, InterviewDocument, PadEntry, Step};
use crate::model::{
    Activity, ActivityId, ActivityStatus, ActivityType, EventId, Explain as _, RunId, StateName, Unit, is_beginning,
};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::open::name::open_run_exactly;
use crate::runs::open::reading::Runs;
use crate::runs::open::view::{View, for_reading};
use crate::runs::{
    self, EmitRequest, MissingRun, RecordRequest, ReportRequest, Reporter, Source, emit_by, record_interview,
};
use crate::store::StoredRun;

/// How an interview ended.
#[derive(Debug, Clone)]
pub(super) enum InterviewEnd {
    /// The answers are in the document.
    Finished,
    /// It was abandoned.
    Abandoned {
        /// The copy of the document with all answers.
        copy: PathBuf,
    },
    /// The document no longer exists.
    Gone,
}

/// An interview, as the run's log has it.
struct Link<'p> {
    /// That of the project.
    cx: &'p Context,
    run: RunId,
    workflow: String,
    /// The step that waits for the answers.
    step: StateName,
    unit: Unit,
    /// The document's path in the project.
    document: String,
    activity: ActivityId,
    /// The prefix of the keys of its reports.
    key: String,
    /// The ids of all events in the log.
    known: HashSet<EventId>,
    /// The open question about it, if any.
    open: Option<String>,
    /// The status of the activity, if it is recorded.
    recorded: Option<ActivityStatus>,
}

/// Updates the run of `document` with new questions and answers, and with the end of the interview if this is its end;
/// before that, notes the interview in the project. The document still has its scratch pad. Gives failures of the first
/// as warnings.
pub(super) fn update_run(
    file: &DocumentFile,
    document: &InterviewDocument<'_>,
    ending: Option<&InterviewEnd>,
) -> Vec<String> {
    let Some(pad) = document.pad() else { return Vec::new() };
    let mut warnings = Vec::new();
    // The document has everything, so a run that cannot be updated does not stop the command.
    if let Some(run) = &pad.head.run
        && let Err(error) = report_to_run(file, document, run, ending)
    {
        warnings.push(not_updated(run, &error));
    }
    if ending.is_none() {
        note(file);
    }
    warnings
}

fn report_to_run(
    file: &DocumentFile,
    document: &InterviewDocument<'_>,
    run: &str,
    ending: Option<&InterviewEnd>,
) -> Result<()> {
    let project = file.cx.project()?;
    let known = known_as(file, &project)?;
    let mut link = link_of(&project, &*open_run_exactly(&project, run)?, known)?;
    let script = script_of(file, document)?;
    let standing = InterviewState::of(file, document, &script)?;
    link.begin()?;
    link.report_answers(&standing, ending.is_some())?;
    match ending {
        Some(ending) => link.end(ending),
        None => Ok(()),
    }
}

/// Ends the interview in runs that still wait for it although the document no longer has it: the interview was finished
/// and the command ended before it updated the run, or the document is gone.
pub(super) fn end_in_waiting_runs(file: &DocumentFile, ending: &InterviewEnd) -> LateEnd {
    let mut late = LateEnd::default();
    let Ok(project) = file.cx.project() else { return late };
    let Ok(runs) = Runs::read_open(&project) else { return late };
    for run in runs.open() {
        let id = &run.head.run_id;
        match end_in_run(file, &project, id, ending) {
            Ok(waited) => late.was_open |= waited,
            Err(error) => late.not_updated.push((id.to_string(), error)),
        }
    }
    late
}

fn end_in_run(file: &DocumentFile, project: &OpenedProject, run: &RunId, ending: &InterviewEnd) -> Result<bool> {
    let Some(mut link) = link_that_waits(file, project, run)? else { return Ok(false) };
    link.end(ending)?;
    Ok(true)
}

/// The interview as a run has it that waits for it.
fn link_that_waits<'p>(file: &DocumentFile, project: &'p OpenedProject, run: &RunId) -> Result<Option<Link<'p>>> {
    let run = project.runs().open(run)?;
    let (document, unit) = known_as(file, project)?;
    // Most runs do not concern the document, and searching their text is faster than reading their log.
    let Some(text) = run.text()? else { return Ok(None) };
    if !is_mentioned(&document, &unit, &text) {
        return Ok(None);
    }
    let link = link_of(project, &*run, (document, unit))?;
    Ok(Some(link).filter(|link| link.open.is_some() || link.recorded.is_some()))
}

/// The run that machines share and that waits for an interview whose document is not here: it may be in another checkout.
///
/// # Errors
/// When the document or the runs cannot be read.
pub fn run_that_waits_elsewhere(cx: &Context, document: &Path) -> Result<Option<RunId>> {
    let (file, project) = (DocumentFile::at(cx, document)?, cx.project()?);
    if file.read()?.is_some() {
        return Ok(None);
    }
    for run in Runs::read_open(&project)?.open() {
        let id = &run.head.run_id;
        if project.runs().shared().has(id) && link_that_waits(&file, &project, id)?.is_some() {
            return Ok(Some(id.clone()));
        }
    }
    Ok(None)
}

fn link_of<'p>(project: &'p OpenedProject, run: &dyn StoredRun, (document, unit): (String, Unit)) -> Result<Link<'p>> {
    let View { history, log, .. } = for_reading(project, run)?;
    let state = &history.state().document().state;
    let open = state.questions.iter().find(|question| question.unit.as_ref() == Some(&unit));
    let step = match (open, &state.current_phase) {
        (Some(question), _) => question.step.clone(),
        (None, Some(phase)) => phase.clone(),
        (None, None) => return Err(runs::Error::Usage("it has entered no phase yet".to_owned()).into()),
    };
    let (id, recorded) = activity_of(&history, &document);
    Ok(Link {
        cx: &project.cx,
        workflow: history.state().document().workflow.to_string(),
        step,
        unit,
        key: format!("interview-{}", digest(format!("{document} {id}").as_bytes())),
        document,
        known: log.events().map(|event| event.id.clone()).collect(),
        open: open.map(|question| question.prompt.clone()),
        recorded,
        activity: ActivityId::new(id)?,
        run: run.id().clone(),
    })
}

/// The id of the activity for the interview about a document, and its status if it is recorded.
fn activity_of(history: &History, document: &str) -> (String, Option<ActivityStatus>) {
    let name = interview_activity(document);
    let mut id = name.clone();
    let mut nth = 1;
    while let Some(last) = history.attempts().iter().rfind(|attempt| attempt.id == id) {
        // Documents with similar names can have the same activity name.
        if last.status == ActivityStatus::Running && last.summary.as_ref() == Some(&begun_about(document)) {
            return (id, Some(last.status));
        }
        // Another interview about the same document is another activity.
        nth += 1;
        id = format!("{name}-{nth}");
    }
    (id, None)
}

/// The runs that still waited for an interview that was over.
#[derive(Debug, Default)]
pub(super) struct LateEnd {
    /// Whether there was such a run; it is updated now.
    pub(super) was_open: bool,
    /// The runs that could not be updated, and why.
    pub(super) not_updated: Vec<(String, Error)>,
}

impl LateEnd {
    pub(super) fn warnings(&self) -> Vec<String> {
        self.not_updated.iter().map(|(run, error)| not_updated(run, error)).collect()
    }
}

fn not_updated(run: &str, error: &Error) -> String {
    format!("could not update run {run}: {}", error.one_line())
}

/// An interview that a run waits for.
pub(super) struct AwaitedInterview {
    /// The document's path in the project.
    pub(super) document: PathBuf,
    /// The step that waits.
    pub(super) step: Option<StateName>,
    /// The open question, as the run has it.
    pub(super) prompt: Option<String>,
}

/// The interviews that a run waits for.
pub(super) fn awaited(history: &History) -> Vec<AwaitedInterview> {
    let mut awaited = Vec::new();
    for BegunInterview { attempt, document, question } in history.begun_interviews() {
        let (step, prompt) = match question {
            Some(question) => (Some(question.step.clone()), Some(question.prompt.clone())),
            None => (attempt.phase.clone(), None),
        };
        awaited.push(AwaitedInterview { document: document.into(), step, prompt });
    }
    awaited
}

impl Link<'_> {
    /// Records the activity as running.
    fn begin(&mut self) -> Result<()> {
        // A command that ended early may have recorded it.
        if self.recorded.is_none() {
            self.record(ActivityStatus::Running, begun_about(&self.document))?;
        }
        Ok(())
    }

    fn record(&mut self, status: ActivityStatus, summary: String) -> Result<()> {
        let mut activity = Activity::of_work(&self.activity, ActivityType::Task, Some("Interview"), status);
        activity.fill("result", "summary", summary);
        activity.fill("result", "evidence", json!([self.document]));
        // Not with an idempotency key: the beginning and the end of the activity are two records.
        let source = Some(Source { origin: "the interview".to_owned(), text: json!(activity).to_string() });
        record_interview(
            self.cx,
            &RecordRequest { run: Some(self.run.to_string()), source, ..RecordRequest::default() },
        )?;
        self.recorded = Some(status);
        Ok(())
    }

    /// Reports each answer that the log does not have yet. The last report also says which question is open now,
    /// because both are visible in the document at the same time.
    fn report_answers(&mut self, standing: &InterviewState<'_>, is_over: bool) -> Result<()> {
        let (next, prompt) = match &standing.outlook.step {
            Step::Open { number, question } | Step::Ask { number, question } => {
                (Some(*number), self.prompt(*number, standing, &question.asked))
            }
            Step::Complete | Step::Nothing => (None, all_asked(&self.document)),
        };
        let mut unknown = Vec::new();
        for entry in &standing.pad.entries {
            let answer = match &entry.answer {
                InterviewAnswer::Given(text) => text.clone(),
                InterviewAnswer::Skipped(why) => format!("(skipped) {why}").trim_end().to_owned(),
                InterviewAnswer::Open => continue,
            };
            let id = EventId::new(format!("{}-q{}-{}", self.key, entry.number, digest(answer.as_bytes())))?;
            if !self.known.contains(&id) {
                unknown.push((id, entry, answer));
            }
        }
        let count = unknown.len();
        for (nth, (id, PadEntry { number, topic, asked, .. }, answer)) in unknown.into_iter().enumerate() {
            let mut reports = Vec::new();
            // A report can only answer a question that the run has.
            if self.open.is_none() {
                reports.push(self.waits(Some(*number), &self.prompt(*number, standing, asked)));
            }
            let data = json!({ "question": number, "topic": topic, "asked": asked, "answer": answer });
            reports.push(self.report("user_answered", data));
            self.open = None;
            if nth + 1 == count && !is_over {
                reports.push(self.waits(next, &prompt));
                self.open = Some(prompt.clone());
            }
            self.emit(id, reports)?;
        }
        // The run may have cut a long prompt.
        let is_known = self.open.as_deref().is_some_and(|open| is_beginning(open, &prompt));
        if is_over || is_known {
            return Ok(());
        }
        // Count the reports for a key of its own: the question can come again when someone removes its answer.
        let nth = self.known.iter().filter(|id| id.as_str().starts_with(&self.key)).count();
        let id = EventId::new(format!("{}-asked-{nth}-{}", self.key, digest(prompt.as_bytes())))?;
        let reports = vec![self.waits(next, &prompt)];
        self.emit(id, reports)
    }

    fn prompt(&self, number: u32, standing: &InterviewState<'_>, asked: &str) -> String {
        let total = standing.outlook.metadata.total_questions.max(number);
        // The question first: a list cuts the end.
        format!("{asked} (question {number} of {total} in {})", self.document)
    }

    fn waits(&self, number: Option<u32>, prompt: &str) -> ReportRequest {
        let mut data = json!({ "prompt": prompt, "document": self.document });
        if let Some(number) = number {
            data["question"] = number.into();
        }
        self.report("waiting_for_user", data)
    }

    fn report(&self, kind: &str, data: Value) -> ReportRequest {
        ReportRequest {
            kind: Some(kind.to_owned()),
            step: Some(self.step.to_string()),
            unit: Some(self.unit.as_str().to_owned()),
            data: Some(data),
        }
    }

    fn emit(&mut self, id: EventId, reports: Vec<ReportRequest>) -> Result<()> {
        let request = EmitRequest {
            workflow: self.workflow.clone(),
            run: self.run.to_string(),
            reports,
            id: Some(id.clone()),
            ..EmitRequest::default()
        };
        let reporter = Reporter { answers_documents: true, missing: MissingRun::Gone, ..Reporter::default() };
        emit_by(self.cx, &request, &reporter)?;
        self.known.insert(id);
        Ok(())
    }

    /// Closes the open question, and records the outcome of the activity.
    fn end(&mut self, ending: &InterviewEnd) -> Result<()> {
        let document = &self.document;
        let (status, summary) = match ending {
            InterviewEnd::Finished => (ActivityStatus::Passed, format!("{document} is finished")),
            InterviewEnd::Abandoned { copy } => {
                let copy = copy.file_name().unwrap_or_default().display();
                let summary = format!("the interview about {document} was abandoned; a copy is {copy}");
                (ActivityStatus::Failed, summary)
            }
            InterviewEnd::Gone => {
                (ActivityStatus::Failed, format!("the interview was abandoned, since {document} is gone"))
            }
        };
        if self.open.is_some() {
            let id = EventId::new(format!("{}-over-{}", self.key, digest(summary.as_bytes())))?;
            let reports = vec![self.report("user_answered", json!({ "answer": summary }))];
            self.emit(id, reports)?;
        }
        self.record(status, summary)
    }
}
