//! A run as the notebook of a driver.

use serde_json::{Map, Value};

use crate::drive::DriveRequest;
use crate::drive::agent::{self, Done, Notebook};
use crate::drive::command::driver;
use crate::drive::drive::{Audience, Drive, given, given_last};
use crate::drive::error::{Error, Result};
use crate::engine::History;
use crate::machine::{Machine, State};
use crate::model::{Explain as _, Question, ReportType, StateName, StepStatus};
use crate::runs::advice::{DRIVER, UNKNOWN_DRIVER};
use crate::runs::open::name::open_run_exactly;
use crate::runs::open::view::for_reading;
use crate::runs::workflow::is_file;
use crate::runs::{Context, EmitRequest, ReportRequest, Reporter, change_context, emit_by, named_in};

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
    /// The state that asked a person.
    asks: Option<StateName>,
}

impl<'a, 'p> RunNotebook<'a, 'p> {
    pub(super) fn new(
        cx: &'a Context,
        drive: &'a Drive,
        machine: &'a Machine,
        request: &'a DriveRequest,
        audience: Audience<'p>,
        asks: Option<StateName>,
    ) -> Self {
        let warnings = Vec::new();
        Self { cx, drive, machine, request, audience, is_known: false, ran: 0, warnings, unrecorded: None, asks }
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

    fn emit(&mut self, reports: Vec<ReportRequest>) -> Result<()> {
        let request = EmitRequest {
            workflow: self.drive.workflow.clone(),
            run: self.drive.run.to_string(),
            reports,
            id: None,
            seen: None,
            name: self.request.goal.clone(),
            session: Some(self.drive.session.clone()),
            epoch: Some(self.drive.epoch),
        };
        let answer = emit_by(self.cx, &request, &Reporter { definition: Some(self.machine), ..Reporter::default() })?;
        self.warnings.extend(answer.data.warnings);
        Ok(())
    }

    fn status(&mut self, state: &StateName, status: StepStatus, more: &[(&str, Option<&str>)]) -> Result<()> {
        self.emit(vec![status_report(state, status, more)])
    }

    fn history(&self) -> Result<History> {
        let project = self.cx.project()?;
        let run = open_run_exactly(&project, self.drive.run.as_str())?;
        Ok(for_reading(self.cx, &project, &*run)?.history)
    }

    /// Whether the run has an open question of a state.
    fn is_asking(&self, state: &StateName, is_meant: impl Fn(&Question) -> bool) -> Result<bool> {
        let history = self.history()?;
        let mut questions = history.state().document().state.questions.iter();
        Ok(questions.any(|question| question.is_of(state, None) && is_meant(question)))
    }

    /// Whether a person does a state: its type is `user`, or was declared without a command.
    fn is_of_person(&self, state: &StateName) -> bool {
        let kind = self.machine.state(state).and_then(|state| state.kind.as_deref()).unwrap_or(State::USUAL);
        let has_command = self.request.on.iter().any(|(done, _)| done == kind);
        !has_command && (kind == "user" || self.request.types.iter().any(|declared| declared == kind))
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
        let mut reports = vec![status_report(&done.state, StepStatus::Completed, &more)];
        if self.asks.take_if(|asks| *asks == done.state).is_some() && self.is_asking(&done.state, |_| true)? {
            // What the person typed, or what the state found out without an answer.
            let answer = done.output.as_deref().unwrap_or_default();
            reports.insert(0, report(ReportType::UserAnswered, &done.state, [("answer", Some(answer))]));
        }
        let recorded = self.emit(reports);
        recorded.inspect_err(|_| self.unrecorded = Some(done.clone()))?;
        self.ran += 1;
        self.tell(&format!("{} is done", done.state));
        // A person need not be shown what they typed.
        if let Some(given) = given(done).filter(|_| !self.is_of_person(&done.state)) {
            self.audience.borrow_mut().learn(&given);
        }
        Ok(())
    }

    fn fail(&mut self, state: &StateName, why: &str) -> Result<()> {
        self.status(state, StepStatus::Failed, &[("message", Some(why))])
    }

    fn ask(&mut self, state: &StateName, prompt: &str) -> Result<()> {
        self.asks = Some(state.clone());
        // The state asks the same again after a repeated command; do not record that twice.
        if self.is_asking(state, |question| question.asks(prompt))? {
            return Ok(());
        }
        self.emit(vec![report(ReportType::WaitingForUser, state, [("prompt", Some(prompt))])])
    }

    fn answer(&mut self, state: &StateName, prompt: &str, context: &agent::Context) -> Option<String> {
        // A command that asks runs again with the answer, so it is not for this process to wait for it.
        if !self.is_of_person(state) {
            return None;
        }
        self.audience.borrow_mut().ask(given_last(context).as_ref(), prompt)
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
