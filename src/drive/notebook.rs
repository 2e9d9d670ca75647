//! A run as the notebook of a driver.

use serde_json::{Map, Value};

use crate::drive::DriveRequest;
use crate::drive::agent::{Done, Notebook};
use crate::drive::command::driver;
use crate::drive::drive::{Audience, Drive, given};
use crate::drive::error::{Error, Result};
use crate::machine::{Machine, State};
use crate::model::{Explain as _, ReportType, StateName, StepStatus};
use crate::runs::advice::{DRIVER, UNKNOWN_DRIVER};
use crate::runs::open::select::open_run;
use crate::runs::workflow::is_file;
use crate::runs::{Context, EmitRequest, ReportRequest, change_context, emit_by, named_in};

/// Records the steps of a driver as reports on steps.
pub(super) struct RunNotebook<'a, 'p> {
    cx: &'a Context,
    drive: &'a Drive,
    machine: &'a Machine,
    request: &'a DriveRequest,
    audience: Audience<'p>,
    /// Whether the run already stores the command line that drives it.
    is_known: bool,
    /// How many states are done.
    pub(super) ran: usize,
    pub(super) warnings: Vec<String>,
    /// The output of a state that the run refused to record.
    pub(super) unrecorded: Option<Done>,
}

impl<'a, 'p> RunNotebook<'a, 'p> {
    pub(super) fn new(
        cx: &'a Context,
        drive: &'a Drive,
        machine: &'a Machine,
        request: &'a DriveRequest,
        audience: Audience<'p>,
    ) -> Self {
        let warnings = Vec::new();
        Self { cx, drive, machine, request, audience, is_known: false, ran: 0, warnings, unrecorded: None }
    }

    /// Stores in the run the command line that drives it, so that `resume` can suggest it.
    pub(super) fn remember(&mut self) {
        if std::mem::replace(&mut self.is_known, true) {
            return;
        }
        let Drive { run, session, epoch, .. } = self.drive;
        let graph = match is_file(self.cx, &self.request.graph) {
            true => self.cx.project().ok().and_then(|project| named_in(self.cx, &project, &self.request.graph)),
            false => Some(self.request.graph.clone()),
        };
        let command = graph.and_then(|graph| driver(run, &graph, self.request));
        let command = command.unwrap_or_else(|| UNKNOWN_DRIVER.to_owned());
        let change =
            |context: &mut Map<String, Value>| drop(context.insert(DRIVER.to_owned(), command.as_str().into()));
        let remembered = change_context(self.cx, run, session, *epoch, change);
        // A failure here does not stop the work.
        self.warnings.extend(
            remembered
                .err()
                .map(|error| format!("cannot store in the run which command drives it: {}", error.one_line())),
        );
    }

    fn emit(&mut self, kind: ReportType, state: &StateName, data: Map<String, Value>) -> Result<()> {
        let report = ReportRequest {
            kind: Some(kind.as_str().to_owned()),
            step: Some(state.to_string()),
            unit: None,
            data: Some(Value::Object(data)),
        };
        let request = EmitRequest {
            workflow: self.drive.workflow.clone(),
            run: self.drive.run.to_string(),
            reports: vec![report],
            id: None,
            seen: None,
            name: self.request.goal.clone(),
            session: Some(self.drive.session.clone()),
            epoch: Some(self.drive.epoch),
        };
        let answer = emit_by(self.cx, &request, Some(self.machine), None)?;
        self.warnings.extend(answer.data.warnings);
        Ok(())
    }

    fn status(&mut self, state: &StateName, status: StepStatus, more: &[(&str, Option<&str>)]) -> Result<()> {
        let mut data = Map::from_iter([("status".to_owned(), Value::from(status.as_str()))]);
        for (key, text) in more {
            data.extend(text.map(|text| ((*key).to_owned(), Value::from(text))));
        }
        self.emit(ReportType::StatusChange, state, data)
    }

    fn tell(&self, line: &str) {
        self.audience.borrow_mut().tell(line);
    }
}

impl Notebook for RunNotebook<'_, '_> {
    type Error = Error;

    fn begin(&mut self, state: &StateName) -> Result<()> {
        self.status(state, StepStatus::Running, &[])?;
        self.remember();
        self.tell(&format!("{state} begins"));
        Ok(())
    }

    fn finish(&mut self, done: &Done, named: Option<&str>, _: bool) -> Result<()> {
        let more = [("output", done.output.as_deref()), ("next_state", named)];
        let recorded = self.status(&done.state, StepStatus::Completed, &more);
        recorded.inspect_err(|_| self.unrecorded = Some(done.clone()))?;
        self.ran += 1;
        self.tell(&format!("{} is done", done.state));
        // A person need not be shown what they typed.
        let kind = self.machine.state(&done.state).and_then(|state| state.kind.as_deref()).unwrap_or(State::USUAL);
        let is_left_to_person = self.request.types.iter().any(|declared| declared == kind)
            && self.request.on.iter().all(|(done, _)| done != kind);
        let is_answer = kind == "user" || is_left_to_person;
        if let Some(given) = given(done).filter(|_| !is_answer) {
            self.audience.borrow_mut().learn(&given);
        }
        Ok(())
    }

    fn fail(&mut self, state: &StateName, why: &str) -> Result<()> {
        self.status(state, StepStatus::Failed, &[("message", Some(why))])
    }

    fn ask(&mut self, state: &StateName, prompt: &str) -> Result<()> {
        // The state asks the same again after a repeated command; do not record that twice.
        let project = self.cx.project()?;
        let run = open_run(self.cx, &project, self.drive.run.as_str())?;
        let view = crate::runs::open::view::for_reading(self.cx, &project, &*run)?;
        let questions = &view.history.state().document().state.questions;
        if questions.iter().any(|question| question.is_of(state, None) && question.asks(prompt)) {
            return Ok(());
        }
        let data = Map::from_iter([("prompt".to_owned(), Value::from(prompt))]);
        self.emit(ReportType::WaitingForUser, state, data)
    }

    fn wait(&mut self, state: &StateName, why: &str) -> Result<()> {
        // The state waits for the same after a repeated command; do not record that twice.
        let project = self.cx.project()?;
        let run = open_run(self.cx, &project, self.drive.run.as_str())?;
        let history = crate::runs::open::view::for_reading(self.cx, &project, &*run)?.history;
        let waits = history.state().document().state.steps.get(state) == Some(StepStatus::Waiting);
        if waits && history.message(state) == Some(why) {
            return Ok(());
        }
        self.status(state, StepStatus::Waiting, &[("message", Some(why))])
    }
}
