//! A run as the notebook of a driver: every step is recorded in it before the next one.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::drive::agent::{
    self, Agent, Chooser, FinishedState, GraphPosition, Notebook, Registry, RegistryError, StateHandler,
};
use crate::drive::command::{DriverCommands, things};
use crate::drive::driven::{Audience, Drive, given, given_last, tell};
use crate::drive::known::{DrivenRun, RunCheck, run_to_drive, take_up};
use crate::drive::report::DriveReport;
use crate::engine::{Caller, END, History, MayEnd, Refusal, in_doubt};
use crate::machine::{Machine, State};
use crate::model::{Explain as _, Question, ReportType, RunId, SessionId, StateName, StepStatus, slug};
use crate::runs::driver::{DRIVER, DRIVER_DIR};
use crate::runs::open::name::open_run_exactly;
use crate::runs::open::view::for_reading;
use crate::runs::{
    self, Context, EmitRequest, Error, MissingRun, OpenedProject, ReportRequest, Reporter, Result, accept,
    change_context, emit_by, end_in,
};
use crate::store::Project;

/// Which run a program drives.
#[derive(Debug, Clone, Default)]
pub struct NotebookRequest {
    /// The run; it begins with its first state if there is none of this id. Otherwise the open run of the workflow, or a
    /// new one.
    pub run: Option<String>,
    /// The goal of a new run.
    pub goal: Option<String>,
    /// The session that drives; otherwise a new one, which ends with the notebook.
    pub session: Option<SessionId>,
}

/// A run that was opened to be driven.
#[derive(Debug)]
pub enum OpenedNotebook<'p> {
    /// It can be driven.
    Ready(Box<RunNotebook<'p>>),
    /// There is nothing to drive, or a person is needed first: the report says why.
    Stopped(DriveReport),
}

/// What a driver brings to a run that it opens.
pub(super) struct Opening {
    /// The graph as it is today.
    pub(super) definition: runs::Result<Machine>,
    /// The workflow of the run.
    pub(super) workflow: String,
    /// The file that holds the graph, if the caller named one.
    pub(super) file: Option<String>,
    pub(super) request: NotebookRequest,
}

/// Records the steps of an agent in a run, as reports on steps. While it exists, it holds the run, so that no other
/// driver works on it; the run is free again when it is dropped or its process ends.
///
/// A program that is killed at any point opens the run again and goes on: what was finished is not repeated, and a state
/// that was begun and not finished runs again. The guide to driving (`docs/drive.md`) has an example.
pub struct RunNotebook<'p> {
    cx: Context,
    pub(super) drive: Drive,
    machine: Machine,
    /// What else was known of the run when it was opened.
    pub(super) known: DrivenRun,
    goal: Option<String>,
    audience: Audience<'p>,
    /// Whether the run was there once: if it is gone, it was removed.
    has_begun: bool,
    /// The types of states that a person does.
    pub(super) done_by_a_person: Vec<String>,
    /// The commands of the driver, until the run stores them.
    pub(super) commands: Option<DriverCommands<'p>>,
    /// How many states are done.
    pub(super) ran: usize,
    /// The output of a state that the run refused to record.
    pub(super) unrecorded: Option<FinishedState>,
}

impl RunNotebook<'static> {
    /// Opens the run that `request` names for a program that drives it through `graph`. Nothing is written for a run that
    /// does not exist yet: it begins with its first state.
    ///
    /// # Errors
    /// [`Error::Refused`] when another session holds the run, [`Error::Usage`] when the run follows another
    /// workflow, and errors of the store.
    pub fn open(cx: &Context, graph: &Machine, request: &NotebookRequest) -> Result<OpenedNotebook<'static>> {
        let opening = Opening {
            definition: Ok(graph.clone()),
            workflow: graph.id().to_string(),
            file: None,
            request: request.clone(),
        };
        Self::open_watched(cx, opening, Audience::default(), &|_| Ok(()))
    }
}

impl<'p> RunNotebook<'p> {
    /// Opens a run for a driver whose steps are shown to `audience`, if it passes `check`.
    pub(super) fn open_watched(
        cx: &Context,
        opening: Opening,
        audience: Audience<'p>,
        check: &RunCheck<'_>,
    ) -> Result<OpenedNotebook<'p>> {
        // A driver holds its run exactly as long as its own process lives.
        let mut cx = cx.clone();
        cx.options.holder_pid.get_or_insert_with(std::process::id);
        let Opening { definition, workflow, file, request: NotebookRequest { run, goal, session } } = opening;
        let project = cx.project_if_any()?;
        let found = match &project {
            Some(project) => run_to_drive(project, &workflow, run.as_deref())?,
            None => None,
        };
        // A run keeps its pinned graph, so today's may be unreadable.
        if found.is_none()
            && let Err(error) = definition
        {
            return Err(error);
        }
        let id = match (&found, &run) {
            (Some(found), _) => found.clone(),
            (None, Some(named)) => RunId::new(named.as_str())?,
            (None, None) => {
                let end = slug(&workflow, 80).unwrap_or_else(|| "run".to_owned());
                RunId::new(format!("{}-{end}", cx.now().compact()))?
            }
        };
        let mut drive = driver_of(&cx, project.as_ref(), id, workflow, session)?;
        let mut known = DrivenRun::new(definition.as_ref().ok().cloned());
        known.file = file;
        known.context.about = json!({ "goal": goal });
        if let (Some(project), Some(run)) = (&project, &found)
            && let Some(report) = take_up(project, run, &mut drive, &mut known, check)?
        {
            return Ok(OpenedNotebook::Stopped(report));
        }
        let machine = match (known.machine.take(), definition) {
            (Some(machine), Ok(_)) | (None, Ok(machine)) => machine,
            (Some(machine), Err(error)) => {
                let why = error.one_line();
                known.warnings.push(format!("the run goes on with the graph that it began with: {why}"));
                machine
            }
            (None, Err(error)) => return Err(error),
        };
        known.context.about["run_id"] = json!(drive.run);
        known.context.about["workflow"] = json!(drive.workflow);
        Ok(OpenedNotebook::Ready(Box::new(Self {
            cx,
            drive,
            machine,
            known,
            goal,
            audience,
            has_begun: found.is_some(),
            done_by_a_person: vec!["user".to_owned()],
            commands: None,
            ran: 0,
            unrecorded: None,
        })))
    }

    /// The run.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.drive.run
    }

    /// The graph of the run: the one that it began with, even if its file has changed since.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Problems that did not stop the driver.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.known.warnings
    }

    /// The agent that drives the run from where it is, with the states that `registry` makes for its graph.
    ///
    /// # Errors
    /// [`RegistryError::Missing`] if the type of a state is not registered.
    pub fn agent<'m>(
        mut self,
        registry: &Registry<'m>,
        chooser: impl Chooser + 'm,
    ) -> std::result::Result<Agent<'m, Self>, RegistryError> {
        let handler = StateHandler::new(self.machine.clone(), registry)?;
        let standing = std::mem::replace(&mut self.known.standing, GraphPosition::New);
        let context = std::mem::take(&mut self.known.context);
        if standing != GraphPosition::New {
            // The run exists, and may stop before another state begins.
            self.remember();
        }
        Ok(Agent::new(handler, chooser, self).resumed_at(standing, context))
    }

    /// Stores in the run the command line that drives it, so that `resume` can suggest it, and notes that this machine runs
    /// it.
    fn remember(&mut self) {
        let Some(commands) = self.commands.take() else { return };
        // A failure here does not stop the work.
        if let Err(error) = self.store_command(&commands) {
            self.known.warnings.push(format!("cannot store in the run which command drives it: {}", error.one_line()));
        }
    }

    fn store_command(&self, commands: &DriverCommands<'_>) -> runs::Result<()> {
        let Drive { run, session, epoch, .. } = &self.drive;
        let project = self.cx.project()?;
        // Accepted on this machine, since a run may come from a clone with commands of someone else. A command that could not be
        // noted is shown as one that never ran here.
        let _ = accept(&project, &things(commands.request, commands.dir.as_deref()));
        let line = commands.line(&project, run);
        change_context(&self.cx, run, session, *epoch, |context: &mut Map<String, Value>| {
            context.insert(DRIVER.to_owned(), line.as_str().into());
            if let Some(dir) = &commands.dir {
                context.insert(DRIVER_DIR.to_owned(), dir.as_str().into());
            }
        })
    }

    fn emit(&mut self, reports: Vec<ReportRequest>, may_end: MayEnd) -> Result<()> {
        let request = EmitRequest {
            workflow: self.drive.workflow.clone(),
            run: self.drive.run.to_string(),
            reports,
            name: self.goal.clone(),
            session: Some(self.drive.session.clone()),
            epoch: Some(self.drive.epoch),
            ..EmitRequest::default()
        };
        let missing = if self.has_begun { MissingRun::Gone } else { MissingRun::BeginsWith(&self.machine) };
        let reporter = Reporter { missing, may_end, is_driver: true, ..Reporter::default() };
        let answer = emit_by(&self.cx, &request, &reporter)?;
        self.has_begun = true;
        for warning in answer.data.warnings {
            // What stays as it is, is said once.
            if !self.known.warnings.contains(&warning) {
                self.known.warnings.push(warning);
            }
        }
        Ok(())
    }

    fn status(&mut self, state: &StateName, status: StepStatus, more: &[(&str, Option<&str>)]) -> Result<()> {
        self.emit(vec![status_report(state, status, more)], MayEnd::Each)
    }

    fn history(&self) -> Result<History> {
        let project = self.cx.project()?;
        let run = open_run_exactly(&project, self.drive.run.as_str())?;
        Ok(for_reading(&project, &*run)?.history)
    }

    /// Why the run is still open; none if it is not.
    pub(super) fn keeps_open(&self) -> Result<Option<String>> {
        let history = self.history()?;
        if history.state().status().is_terminal() {
            return Ok(None);
        }
        let ids: Vec<_> = in_doubt(&history).into_iter().map(|doubt| doubt.id).collect();
        if ids.is_empty() {
            return Ok(Some("its last state has not ended".to_owned()));
        }
        Ok(Some(Refusal::InDoubt { ids }.to_string()))
    }

    /// Whether the run has an open question of a state.
    fn is_asking(&self, state: &StateName, is_meant: impl Fn(&Question) -> bool) -> Result<bool> {
        let history = self.history()?;
        let mut questions = history.state().document().state.questions.iter();
        Ok(questions.any(|question| question.is_of(state, None) && is_meant(question)))
    }

    fn is_of_person(&self, state: &StateName) -> bool {
        let kind = self.machine.state(state).and_then(|state| state.kind.as_deref()).unwrap_or(State::USUAL);
        self.done_by_a_person.iter().any(|done| done == kind)
    }
}

/// How long a driver that stops waits for the store that machines share.
const STOPPING: Duration = Duration::from_secs(2);

impl Drop for RunNotebook<'_> {
    fn drop(&mut self) {
        if !self.drive.owns_session {
            return;
        }
        if let Ok(project) = self.cx.project() {
            let caller = Caller { session: Some(self.drive.session.clone()), ..Caller::default() };
            // If this fails, the run is free once this process has ended.
            let _ = end_in(&project, &self.drive.run, caller, Some("the driver stopped"), self.cx.now(), STOPPING);
        }
    }
}

impl std::fmt::Debug for RunNotebook<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunNotebook").field("drive", &self.drive).field("ran", &self.ran).finish_non_exhaustive()
    }
}

/// The driver of a run: its session is the caller's, or a new one.
fn driver_of(
    cx: &Context,
    project: Option<&OpenedProject>,
    run: RunId,
    workflow: String,
    session: Option<SessionId>,
) -> Result<Drive> {
    let callers = cx.caller(session, None)?.session;
    let owns_session = callers.is_none();
    let session = match callers {
        Some(session) => session,
        None => SessionId::new(format!("drive-{}", cx.ids.next(cx.now())))?,
    };
    let flow_dir = match project {
        Some(project) => project.path().to_owned(),
        None => Project::path_in(&cx.root_to_be()?),
    };
    let run_dir = std::path::absolute(Project::path_of_run(&flow_dir, &run)).unwrap_or(flow_dir);
    Ok(Drive { run, run_dir, workflow, session, epoch: 1, owns_session })
}

impl Notebook for RunNotebook<'_> {
    type Error = Error;

    fn begin(&mut self, state: &StateName) -> Result<()> {
        self.status(state, StepStatus::Running, &[])?;
        // Not before the first record: only then is there a run that can store it.
        self.remember();
        tell(&self.audience, &format!("{state} begins"));
        Ok(())
    }

    fn finish(&mut self, done: &FinishedState, named: Option<&str>, ends: bool) -> Result<()> {
        let more = [("output", done.output.as_deref()), ("next_state", named)];
        let mut reports = vec![status_report(&done.state, StepStatus::Completed, &more)];
        if self.known.asks.take_if(|asks| *asks == done.state).is_some() && self.is_asking(&done.state, |_| true)? {
            // What the person typed, or what the state found out without an answer.
            let answer = done.output.as_deref().unwrap_or_default();
            reports.insert(0, report(ReportType::UserAnswered, &done.state, [("answer", Some(answer))]));
        }
        // Where the run can end or go on, the chooser decides, and not the report that the state is done.
        let recorded = self.emit(reports, if ends { MayEnd::Each } else { MayEnd::Never });
        recorded.inspect_err(|_| self.unrecorded = Some(done.clone()))?;
        self.ran += 1;
        tell(&self.audience, &format!("{} is done", done.state));
        // A person need not be shown what they typed.
        if !self.is_of_person(&done.state)
            && let Some(given) = given(done)
            && let Some(person) = &mut *self.audience.borrow_mut()
        {
            person.learn(&given);
        }
        Ok(())
    }

    fn fail(&mut self, state: &StateName, why: &str) -> Result<()> {
        self.status(state, StepStatus::Failed, &[("message", Some(why))])
    }

    fn ask(&mut self, state: &StateName, prompt: &str) -> Result<()> {
        self.known.asks = Some(state.clone());
        // The state asks the same again after a repeated command; do not record that twice.
        if self.is_asking(state, |question| question.asks(prompt))? {
            return Ok(());
        }
        self.emit(vec![report(ReportType::WaitingForUser, state, [("prompt", Some(prompt))])], MayEnd::Each)
    }

    fn answer(&mut self, state: &StateName, prompt: &str, context: &agent::Context) -> Option<String> {
        // A command that asks runs again with the answer, so it is not for this process to wait for it.
        if !self.is_of_person(state) {
            return None;
        }
        self.audience.borrow_mut().as_mut()?.ask(given_last(context).as_ref(), prompt)
    }

    fn wait(&mut self, state: &StateName, why: &str) -> Result<()> {
        // The state waits for the same after a repeated command; do not record that twice.
        let history = self.history()?;
        let waits = history.state().document().state.steps.get(state) == Some(StepStatus::Waiting);
        if waits && history.message(state) == Some(why) {
            return Ok(());
        }
        self.status(state, StepStatus::Waiting, &[("message", Some(why))])
    }

    fn end(&mut self, state: &StateName) -> Result<()> {
        self.status(state, StepStatus::Completed, &[("next_state", Some(END))])
    }
}

fn status_report(state: &StateName, status: StepStatus, more: &[(&str, Option<&str>)]) -> ReportRequest {
    let status = [("status", Some(status.as_str()))];
    report(ReportType::StatusChange, state, status.into_iter().chain(more.iter().copied()))
}

/// A report with the texts that there are.
fn report<'t>(
    kind: ReportType,
    state: &StateName,
    texts: impl IntoIterator<Item = (&'t str, Option<&'t str>)>,
) -> ReportRequest {
    let texts = texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), Value::from(text?))));
    ReportRequest {
        kind: Some(kind.as_str().to_owned()),
        step: Some(state.to_string()),
        unit: None,
        data: Some(Value::Object(texts.collect())),
    }
}
