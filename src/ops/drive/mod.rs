//! `drive`: an agent's loop through a graph (seed 002), made durable. What a state gave is recorded before the next one is
//! chosen, so the same command goes on where it was, and repeats no state that is done.

mod chooser;
mod commands;
mod notebook;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde_json::json;

use crate::agent::{Agent, AgentError, Context, Done, Registry, RegistryError, Standing, StateHandler, Stop};
use crate::engine::{Caller, Drift, History, Presence, Refusal};
use crate::host::{Setting, server};
use crate::machine::{Machine, State};
use crate::model::{ReportType, RunId, RunStatus, SessionId, StateName, StepReport, StepStatus, slug};
use crate::ops::advice::{DRIVER, adopt};
use crate::ops::claim::ClaimRequest;
use crate::ops::drive::chooser::{AskCommand, AskEndpoint, AskNobody};
use crate::ops::drive::commands::registry;
use crate::ops::drive::notebook::RunNotebook;
use crate::ops::error::{Error, Result};
use crate::ops::flow::Flow;
use crate::ops::problem::one_line;
use crate::ops::select::Runs;
use crate::ops::view::for_reading;
use crate::report::{Alternative, DriveReport, DriveStop, Given};
use crate::store::{Project, layout};

pub use chooser::{Choose, Endpoint};

/// What to drive.
#[derive(Debug, Clone, Default)]
pub struct DriveRequest {
    /// The graph: a file, or a workflow by its name.
    pub graph: String,
    /// The run; otherwise the open one of that workflow, or a new one.
    pub run: Option<String>,
    /// The command for each type of state.
    pub on: Vec<(String, String)>,
    /// Types of states that a person does, unless they have a command: they are asked for what came out.
    pub types: Vec<String>,
    /// Who chooses among several states.
    pub choose: Choose,
    /// How many states may be run.
    pub max_iter: usize,
    /// How long one command may take.
    pub timeout: Duration,
    /// What a new run is for.
    pub goal: Option<String>,
    /// Who drives; otherwise a session of its own.
    pub session: Option<SessionId>,
}

/// What a driver needs from the person before it.
pub trait Person {
    /// What a state gave.
    fn learn(&mut self, given: &Given);
    /// The answer to `prompt`; none when nobody is there. `last` is what was given last, to which the question may refer.
    fn ask(&mut self, last: Option<&Given>, prompt: &str) -> Option<String>;
    /// Something that a person may like to know now.
    fn tell(&mut self, line: &str);
}

/// The variables by which the commands of a driver are known, also when it is gone.
const DRIVEN_DIR: &str = "FLOW_DRIVEN_DIR";
const DRIVEN_STATE: &str = "FLOW_DRIVEN_STATE";

/// A person, as states and chooser share them.
type Audience<'p> = Rc<RefCell<&'p mut dyn Person>>;

/// Which run is driven, and by whom; what its commands have in their environment.
#[derive(Debug, Clone)]
struct Drive {
    run: RunId,
    /// The run's directory, which is there from the first state on.
    dir: PathBuf,
    workflow: String,
    session: SessionId,
    epoch: u64,
    timeout: Duration,
}

impl Flow {
    /// A model that chooses, as the environment names it.
    ///
    /// # Errors
    /// [`Error::Usage`] when `url` is no address of a server or no model is named; [`Error::Setting`] when a variable is no text.
    pub fn endpoint(&self, url: String) -> Result<Endpoint> {
        let text = |setting: &Option<Setting>| setting.as_ref().map(Setting::parse::<String>).transpose();
        let unnamed = || Error::Usage("--choose-url needs a model: name it in FLOW_CHOOSE_MODEL".to_owned());
        server(&url).map_err(|why| Error::Usage(format!("--choose-url is {why}")))?;
        let model = text(&self.env.choose_model)?.ok_or_else(unnamed)?;
        Ok(Endpoint { url, model, key: text(&self.env.choose_key)? })
    }

    /// Drives a run through its graph until it ends, a person is needed, a state fails or the limit is reached.
    ///
    /// # Errors
    /// [`Error::Usage`] for a type of state without command, [`Error::Refused`] when somebody else holds the run,
    /// [`Error::Catalog`] and [`Error::Store`] as for any verb. What was recorded stays.
    pub fn drive(&self, request: &DriveRequest, person: &mut dyn Person) -> Result<DriveReport> {
        // A command for a type declares it.
        let types: Vec<_> = request.on.iter().map(|(kind, _)| kind).chain(&request.types).cloned().collect();
        let definition = self.workflow_machine(&request.graph, &types);
        let workflow = definition.as_ref().map_or_else(|_| request.graph.clone(), |machine| machine.id().to_string());
        let project = match self.project() {
            Ok(project) => Some(project),
            Err(Error::NoProject { .. }) => None,
            Err(error) => return Err(error),
        };
        let found = match &project {
            Some(project) => self.run_to_drive(project, &workflow, request.run.as_deref())?,
            None => None,
        };
        let (definition, unusable) = match (definition, &found) {
            (Ok(definition), _) => (Some(definition), None),
            // A run keeps the graph that it began with.
            (Err(error), Some(_)) => (None, Some(error)),
            (Err(error), None) => return Err(error),
        };
        let own = request.session.is_none() && self.env.session_id()?.is_none();
        let session = match self.caller(request.session.clone(), None)?.session {
            Some(session) => session,
            None => SessionId::new(format!("drive-{}", self.ids.next(self.now())))?,
        };
        let mut drive = Drive {
            run: match (&found, &request.run) {
                (Some(run), _) => run.clone(),
                (None, Some(id)) => RunId::new(id.as_str())?,
                (None, None) => {
                    let end = slug(&workflow, 80).unwrap_or_else(|| "run".to_owned());
                    RunId::new(format!("{}-{end}", self.now().compact()))?
                }
            },
            dir: PathBuf::new(),
            workflow,
            session,
            epoch: 1,
            timeout: request.timeout,
        };
        let flow_dir = match &project {
            Some(project) => project.path().to_owned(),
            None => self.root_to_be()?.join(layout::FLOW),
        };
        drive.dir = std::path::absolute(flow_dir.join(layout::RUNS).join(drive.run.as_str())).unwrap_or(flow_dir);
        let mut known = Known::new(definition);
        known.file = self.is_file(&request.graph).then(|| request.graph.clone());
        known.context.about = json!({ "goal": request.goal });
        if let (Some(project), Some(run)) = (&project, &found) {
            match self.take_up(project, run, &mut drive, &mut known)? {
                None => {}
                Some(report) => return Ok(report),
            }
        }
        match (unusable, &known.machine) {
            (Some(error), None) => return Err(error),
            (Some(error), Some(_)) => {
                let why = one_line(&error);
                known.warnings.push(format!("the run goes on with the graph that it began with: {why}"));
            }
            (None, _) => {}
        }
        known.context.about["run_id"] = json!(drive.run);
        known.context.about["workflow"] = json!(drive.workflow);
        let driven = self.go_through(request, &drive, known, person);
        if own && let Ok(project) = self.project() {
            let caller = Caller { session: Some(drive.session.clone()), ..Caller::default() };
            // The run is free again; when this cannot be noted, the driver's end shows it.
            let _ = self.end_in(&project, &drive.run, caller, Some("the driver stopped".to_owned()), self.now());
        }
        driven
    }

    /// The run that the same command drove before: the one that is named, or the only open one of the workflow.
    fn run_to_drive(&self, project: &Project, workflow: &str, named: Option<&str>) -> Result<Option<RunId>> {
        if let Some(id) = named {
            return match self.run_exactly(project, id) {
                Ok(run) => Ok(Some(run.id().clone())),
                Err(Error::NoSuchRun { .. }) => Ok(None),
                Err(error) => Err(error),
            };
        }
        let runs = Runs::read_open(self, project)?;
        let of_it: Vec<_> =
            runs.open().filter(|run| run.workflow.as_str() == workflow).map(|run| run.id.clone()).collect();
        match of_it.as_slice() {
            [] if runs.unreadable.is_empty() => Ok(None),
            // One of them may be it, and a second run would do everything again.
            [] => {
                let lines = runs.unreadable.iter().map(|run| format!("{}: {}", run.run_id, run.reason));
                Err(Error::NoActiveRun { unreadable: lines.collect() })
            }
            [only] => Ok(Some(only.clone())),
            several => Err(Error::SeveralRuns { candidates: several.to_vec() }),
        }
    }

    /// Takes a run that is there, and finds out where it stands. A report when there is nothing to drive.
    fn take_up(
        &self,
        project: &Project,
        run: &RunId,
        drive: &mut Drive,
        known: &mut Known,
    ) -> Result<Option<DriveReport>> {
        let run = project.run(run)?;
        let view = for_reading(self, project, &run)?;
        let state = view.history.state();
        let follows = &state.document().workflow;
        if follows.as_str() != drive.workflow {
            let (run, named) = (run.id(), &drive.workflow);
            return Err(Error::Usage(match known.machine {
                Some(_) => format!("run {run} follows the workflow {follows}, not {named}"),
                None => format!(
                    "there is no workflow {named}; run {run} keeps the one that it follows, and \
                     `flow drive {follows} --run-id {run}` goes on with it"
                ),
            }));
        }
        let phase = state.phase().cloned();
        let stopped = |stop, reason: String| Ok(Some(report(drive, stop, phase.clone(), reason, 0)));
        match state.status() {
            RunStatus::Active => {}
            RunStatus::Blocked => {
                let why = state.document().state.blocked_reason.clone().unwrap_or_default();
                return stopped(DriveStop::NeedsHuman, format!("the run is blocked: {why}"));
            }
            RunStatus::Completed => return stopped(DriveStop::Ended, "the run is completed".to_owned()),
            over => return stopped(DriveStop::Failed, format!("the run is {over}")),
        }
        if let [first, ..] = state.document().state.other_phases.as_slice() {
            let message =
                format!("run {} stands in several states, `{first}` among them; a driver goes through one", run.id());
            return Err(Error::Usage(message));
        }
        let drift = match (&view.machine, &known.machine) {
            (Some(pinned), Some(today)) => Drift::between(pinned, today, state.document().state.positions()),
            _ => Drift::None,
        };
        let mut warnings = Vec::new();
        match drift {
            Drift::None => {}
            Drift::Elsewhere(lines) => {
                warnings.push(format!(
                    "the run goes on with the graph that it began with; since then: {}",
                    lines.join("; ")
                ));
            }
            Drift::AtPosition(lines) => {
                let Alternative { command, .. } = adopt(run.id(), known.file.as_deref());
                let reason = format!(
                    "run {} began with another graph, and where it stands they differ ({}): move it over with `{command}`, or \
                     begin another one with --run-id",
                    run.id(),
                    lines.join("; ")
                );
                return stopped(DriveStop::NeedsHuman, reason);
            }
        }
        // Whoever drives it is said by the claim; only when nobody does, what a dead driver left running matters.
        let caller = Caller { session: Some(drive.session.clone()), ..Caller::default() };
        let held = self.presence(view.history.hold(), &caller)? == Presence::HeldByOther;
        let begun =
            phase.as_ref().filter(|here| state.document().state.steps.get(here).is_some_and(StepStatus::is_open));
        if let (Some(here), false) = (begun, held) {
            let left = [(DRIVEN_DIR, drive.dir.as_os_str()), (DRIVEN_STATE, here.as_str().as_ref())];
            if let Some(&pid) = crate::host::processes_with(&left).first() {
                return Err(Error::StillRuns { run: run.id().clone(), pid });
            }
        }
        drive.epoch = self.claim(project, &run, Some(drive.session.clone()), ClaimRequest::Claim)?.epoch;
        known.machine = view.machine.or(known.machine.take());
        known.warnings = warnings;
        known.read(&view.history);
        Ok(None)
    }

    fn go_through(
        &self,
        request: &DriveRequest,
        drive: &Drive,
        known: Known,
        person: &mut dyn Person,
    ) -> Result<DriveReport> {
        let audience: Audience<'_> = Rc::new(RefCell::new(person));
        let Known { machine, standing, context, answer, mut warnings, .. } = known;
        let machine = machine.expect("BUG: a driver without a graph");
        warnings.extend(unused(&machine, request));
        let registry = registry(&machine, request, drive, &audience, answer)?;
        unhandled(&machine, &registry)?;
        let handler = StateHandler::new(machine.clone(), &registry).map_err(missing)?;
        let notebook = RunNotebook::new(self, drive, &machine, request, Rc::clone(&audience));
        let mut agent = match &request.choose {
            Choose::Nobody => Agent::new(handler, AskNobody { run: drive.run.clone() }, notebook),
            Choose::Command(command) => {
                let (command, drive, audience) = (command.clone(), drive.clone(), Rc::clone(&audience));
                let ask = AskCommand { command, machine: machine.clone(), drive, audience };
                Agent::new(handler, ask, notebook)
            }
            Choose::Endpoint(endpoint) => {
                Agent::new(handler, AskEndpoint::new(endpoint.clone(), drive.timeout), notebook)
            }
        };
        if standing != Standing::New {
            // The run is there, and may stop before another state of it begins.
            agent.notebook.remember();
        }
        agent = agent.going_on(standing, context);
        let stopped = agent.run(request.max_iter);
        let ran = agent.notebook.ran;
        warnings.append(&mut agent.notebook.warnings);
        let stopped = match (stopped, agent.notebook.unrecorded.take()) {
            (Err(AgentError::Notebook(Error::Refused { refusal, .. })), Some(done)) => {
                let mut report = self.overtaken(drive, &done, &refusal, ran)?;
                report.warnings = warnings;
                return Ok(report);
            }
            (stopped, _) => stopped.map_err(from_agent)?,
        };
        let (stop, state, reason) = match stopped {
            Stop::Ended { state } => {
                (DriveStop::Ended, state.clone(), format!("`{state}` is done, and the run with it"))
            }
            Stop::NeedsHuman { state, why } => (DriveStop::NeedsHuman, state, why),
            Stop::Failed { state, why } => {
                let reason = format!("`{state}` failed: {why}; the same command tries it again");
                (DriveStop::Failed, state, reason)
            }
            Stop::NotReady { state, why } => {
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                let reason = format!("`{state}` is not ready{why}; the same command looks again");
                (DriveStop::NotReady, state, reason)
            }
            Stop::Limit { state } => {
                let reason = format!("{ran} states were run, the last one is `{state}`; the same command goes on");
                (DriveStop::Limit, state, reason)
            }
        };
        let mut report = report(drive, stop, Some(state), reason, ran);
        report.given = (stop == DriveStop::NeedsHuman).then(|| given_last(agent.context())).flatten();
        report.warnings = warnings;
        Ok(report)
    }
}

impl Flow {
    /// Somebody ended or moved the run while a state was at work, so what it gave has no place in it.
    fn overtaken(&self, drive: &Drive, done: &Done, refusal: &Refusal, ran: usize) -> Result<DriveReport> {
        let project = self.project()?;
        let view = for_reading(self, &project, &self.run_exactly(&project, drive.run.as_str())?)?;
        let state = view.history.state();
        let meanwhile = match state.status() {
            RunStatus::Active => refusal.to_string(),
            status => format!("the run is {status} since"),
        };
        let output: String = done.output.as_deref().unwrap_or("nothing").chars().take(SHOWN).collect();
        let reason = format!("what `{}` gave is not recorded: {meanwhile}. It gave: {output}", done.state);
        Ok(report(drive, DriveStop::Failed, state.phase().cloned(), reason, ran))
    }
}

/// How much of an output that is not recorded is shown, in characters.
const SHOWN: usize = 2000;

/// What is known of a run that is to be driven.
struct Known {
    /// The graph; none of a run that has none, when today's cannot be used either.
    machine: Option<Machine>,
    standing: Standing,
    context: Context,
    /// What the user answered in the state where the run stands.
    answer: Option<String>,
    /// What a person should know.
    warnings: Vec<String>,
    /// The file that holds the graph, when it is named.
    file: Option<String>,
}

impl Known {
    fn new(machine: Option<Machine>) -> Self {
        let (standing, context) = (Standing::New, Context::default());
        Self { machine, standing, context, answer: None, warnings: Vec::new(), file: None }
    }

    fn read(&mut self, history: &History) {
        let document = history.state().document();
        let mut context = document.context.clone();
        // What a driver is called with may hold what is not for its commands, or for a model.
        context.shift_remove(DRIVER);
        self.context.about = json!({ "goal": document.goal, "context": context });
        let run = &document.state;
        let mut answers = Answers::default();
        let mut begun = None;
        for report in history.reports() {
            match report.own_step() {
                Some((state, StepStatus::Running)) => begun = Some(state),
                Some((state, StepStatus::Completed)) => {
                    // Whoever completed the step by hand may have answered before.
                    let output = report.text("output").map(str::to_owned).or_else(|| answers.0.get(state).cloned());
                    let done = &mut self.context.done;
                    match done.last_mut().filter(|last| last.state == *state && begun.take() != Some(state)) {
                        // The state's command may have said that it is done before the driver did.
                        Some(last) => last.output = output.or(last.output.take()),
                        None => done.push(Done { state: state.clone(), output }),
                    }
                }
                _ => {}
            }
            answers.note(report);
        }
        let Some(here) = run.current_phase.clone() else { return };
        self.answer = answers.0.remove(&here);
        self.standing = match run.steps.get(&here) {
            Some(StepStatus::Running | StepStatus::Waiting) => Standing::In(here),
            Some(StepStatus::Completed | StepStatus::Skipped) => {
                let own = |report: &&StepReport| report.own_step().is_some_and(|(state, _)| *state == here);
                let latest = history.reports().iter().rev().find(own);
                let named = latest.and_then(|report| report.text("next_state")).map(str::to_owned);
                Standing::Behind { state: here, named }
            }
            // It has to begin, once more or at all.
            Some(StepStatus::Failed | StepStatus::NotStarted) | None => Standing::At(here),
        };
    }
}

/// What the user answered in each state: to what it asked last, until it is done. A state that fails, waits or is begun
/// once more asked for the answer all the same, and no one gives it twice.
#[derive(Default)]
struct Answers<'a>(HashMap<&'a StateName, String>);

impl<'a> Answers<'a> {
    fn note(&mut self, report: &'a StepReport) {
        // Units ask and answer for themselves.
        let Some(step) = report.step.as_ref().filter(|_| report.unit.is_none()) else { return };
        // The run comes from elsewhere: what was answered belongs to the round before.
        let is_over = report.status().is_some_and(StepStatus::is_done) || report.from.is_some();
        match report.answer() {
            Some(answer) => drop(self.0.insert(step, answer)),
            None if is_over || report.kind() == Some(ReportType::WaitingForUser) => drop(self.0.remove(step)),
            None => {}
        }
    }
}

fn report(drive: &Drive, stop: DriveStop, state: Option<StateName>, reason: String, ran: usize) -> DriveReport {
    DriveReport {
        run_id: drive.run.clone(),
        workflow: drive.workflow.clone(),
        stop,
        state,
        reason,
        ran,
        given: None,
        warnings: Vec::new(),
    }
}

/// What was given last, before a person is asked.
fn given_last(context: &Context) -> Option<Given> {
    context.done.iter().rev().find_map(given)
}

/// What a state gave, as far as people are shown it.
fn given(done: &Done) -> Option<Given> {
    let output = done.output.as_deref().filter(|output| !output.trim().is_empty())?;
    let mut shown: String = output.chars().take(GIVEN).collect();
    if shown.len() < output.len() {
        shown.push('…');
    }
    Some(Given { state: done.state.clone(), output: shown })
}

/// How much of an output people are shown, in characters; the run has all of it.
const GIVEN: usize = 8000;

/// Commands for types that no state has: a slip of the pen, or a script for many graphs.
fn unused(machine: &Machine, request: &DriveRequest) -> Vec<String> {
    let kinds: Vec<_> = machine.states().iter().filter_map(|state| state.kind.as_deref()).collect();
    let unused = request.on.iter().map(|(kind, _)| kind.as_str()).filter(|kind| !kinds.contains(kind));
    let told = unused.map(|kind| {
        let meant = crate::codec::similar(kind, kinds.iter().copied());
        let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        format!("--on {kind}: no state of the graph has this type{meant}")
    });
    told.collect()
}

/// Refuses a graph with states that nobody knows how to do, and names every type at once.
fn unhandled(machine: &Machine, registry: &Registry<'_>) -> Result<()> {
    let mut open: Vec<(&str, &StateName)> = Vec::new();
    for state in machine.states() {
        let kind = state.kind.as_deref().unwrap_or(State::USUAL);
        if !registry.knows(kind) && open.iter().all(|(known, _)| *known != kind) {
            open.push((kind, &state.name));
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    let types = open.iter().map(|(kind, state)| format!("`{kind}` (state `{state}`)")).collect::<Vec<_>>().join(", ");
    let options = open.iter().map(|(kind, _)| format!("--on {kind}='COMMAND'")).collect::<Vec<_>>().join(" ");
    Err(Error::Usage(format!(
        "there is no command for states of the type {types}: give one for each with {options}, or leave a type to a person \
         with --type TYPE"
    )))
}

fn missing(error: RegistryError) -> Error {
    match &error {
        RegistryError::Missing { .. } => Error::Usage(error.to_string()),
        RegistryError::Twice { .. } => Error::Usage(format!("{error}; --on names it twice")),
    }
}

fn from_agent(error: AgentError<Error>) -> Error {
    match error {
        AgentError::Notebook(error) => error,
        other => Error::Agent(other.to_string()),
    }
}
