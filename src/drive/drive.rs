//! `drive`: an agent's loop through a graph (ARKOS), made durable. The output of a state is recorded before the next
//! state is chosen, so repeating the command continues where it stopped, and runs no state again that is done.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::drive::agent::{self, Agent, AgentError, Done, Position, StateHandler, Stop};
use crate::drive::check::{missing, unhandled, unused};
use crate::drive::chooser::{AskCommand, AskEndpoint, LeaveToPerson};
use crate::drive::commands::registry;
use crate::drive::error::{Error, Result};
use crate::drive::http::server;
use crate::drive::known::{Known, run_to_drive, take_up};
use crate::drive::notebook::RunNotebook;
use crate::drive::{Choose, Endpoint};
use crate::engine::{Caller, Refusal};
use crate::host::Setting;
use crate::model::{Explain as _, RunId, RunStatus, SessionId, StateName, pairs, seconds, slug};
use crate::runs::open::name::open_run_exactly;
use crate::runs::open::view::for_reading;
use crate::runs::workflow::{is_file, workflow_machine};
use crate::runs::{self, Context, end_in};
use crate::store::Project;

/// What to drive.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveRequest {
    /// The graph: a file, or the name of a workflow.
    pub graph: String,
    /// The run; otherwise the open one of that workflow, or a new one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// The command for each type of state.
    #[serde(with = "pairs", default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub on: Vec<(String, String)>,
    /// Types of states that a person does, unless they have a command.
    #[serde(default)]
    pub types: Vec<String>,
    /// Who chooses among several states.
    #[serde(default)]
    pub choose: Choose,
    /// The highest number of states to run.
    pub max_iter: usize,
    /// The time limit for one command, in seconds.
    #[serde(with = "seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub timeout: Duration,
    /// The goal of a new run.
    pub goal: Option<String>,
    /// The session that drives; otherwise a new one.
    pub session: Option<SessionId>,
}

/// The report of `drive`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DriveReport {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: String,
    /// Why the driver stopped, as a code.
    pub stop: DriveStop,
    /// The current state, or the next one.
    pub state: Option<StateName>,
    /// Why the driver stopped, as a sentence.
    pub reason: String,
    /// How many states were run.
    pub ran: usize,
    /// The latest output of a state, if a person is needed.
    pub given: Option<Given>,
    /// Problems that did not stop the driver.
    pub warnings: Vec<String>,
}

/// The output of a state, as it is shown to people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Given {
    /// The state.
    pub state: StateName,
    /// The output; a long one is cut, and ends with `…`.
    pub output: String,
}

/// Why a driver stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DriveStop {
    /// The run is completed.
    Ended,
    /// A person has to answer or to choose.
    NeedsHuman,
    /// A state is not done yet, and has to run again later.
    NotReady,
    /// A state failed.
    Failed,
    /// The highest number of states was run.
    Limit,
}

impl DriveStop {
    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::NeedsHuman => "needs_human",
            Self::NotReady => "not_ready",
            Self::Failed => "failed",
            Self::Limit => "limit",
        }
    }
}

/// The person who called the driver, if any.
pub trait Person {
    /// Shows the output of a state.
    fn learn(&mut self, given: &Given);
    /// The answer to `prompt`; none if no person is there. `last` is the latest output, to which the question may
    /// refer.
    fn ask(&mut self, last: Option<&Given>, prompt: &str) -> Option<String>;
    /// Shows a line about the progress.
    fn tell(&mut self, line: &str);
}

/// Environment variables by which the processes of a driver can be found after the driver is gone.
pub(super) const DRIVEN_DIR: &str = "FLOW_DRIVEN_DIR";
pub(super) const DRIVEN_STATE: &str = "FLOW_DRIVEN_STATE";

/// The person, shared by the states and the chooser.
pub(super) type Audience<'p> = Rc<RefCell<&'p mut dyn Person>>;

/// The run that is driven and the session that drives it; commands get them in their environment.
#[derive(Debug, Clone)]
pub(super) struct Drive {
    pub(super) run: RunId,
    /// The run's directory, which exists from the first state on.
    pub(super) dir: PathBuf,
    pub(super) workflow: String,
    pub(super) session: SessionId,
    pub(super) epoch: u64,
    pub(super) timeout: Duration,
}

/// The endpoint at `url`, with the model and the key that the environment names.
///
/// # Errors
/// [`runs::Error::Usage`] when `url` is not the address of a server or no model is named; [`runs::Error::Setting`] when a
/// variable is not text; [`Error::NoNetwork`] in a build without the feature `network`.
pub fn endpoint(cx: &Context, url: String) -> Result<Endpoint> {
    need_network()?;
    let text = |setting: &Option<Setting>| setting.as_ref().map(Setting::parse::<String>).transpose();
    let unnamed = || runs::Error::Usage("--choose-url needs a model: name it in FLOW_CHOOSE_MODEL".to_owned());
    server(&url).map_err(|why| runs::Error::Usage(format!("--choose-url is {why}")))?;
    let model = text(&cx.env.choose_model)?.ok_or_else(unnamed)?;
    Ok(Endpoint { url, model, key: text(&cx.env.choose_key)? })
}

fn need_network() -> Result<()> {
    if cfg!(feature = "network") { Ok(()) } else { Err(Error::NoNetwork) }
}

/// Drives a run through its graph until it ends, a person is needed, a state fails or the limit is reached.
///
/// # Errors
/// [`Error::NoNetwork`] when an endpoint is to choose and this build has no network, [`runs::Error::Usage`] for a type
/// of state without a command, [`runs::Error::Refused`] when another session holds the run, [`runs::Error::Catalog`] and
/// [`runs::Error::Store`] as for any verb. What was recorded stays.
pub fn drive(cx: &Context, request: &DriveRequest, person: &mut dyn Person) -> Result<DriveReport> {
    if matches!(request.choose, Choose::Endpoint(_)) {
        need_network()?;
    }
    // A command for a type also declares the type.
    let types: Vec<_> = request.on.iter().map(|(kind, _)| kind).chain(&request.types).cloned().collect();
    let definition = workflow_machine(cx, &request.graph, &types);
    let workflow = definition.as_ref().map_or_else(|_| request.graph.clone(), |machine| machine.id().to_string());
    let project = match cx.project() {
        Ok(project) => Some(project),
        Err(runs::Error::NoProject { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let found = match &project {
        Some(project) => run_to_drive(cx, project, &workflow, request.run.as_deref())?,
        None => None,
    };
    let (definition, unusable) = match (definition, &found) {
        (Ok(definition), _) => (Some(definition), None),
        // A run keeps its pinned graph, so today's may be unreadable.
        (Err(error), Some(_)) => (None, Some(error)),
        (Err(error), None) => return Err(error.into()),
    };
    let own = request.session.is_none() && cx.env.session_id()?.is_none();
    let session = match cx.caller(request.session.clone(), None)?.session {
        Some(session) => session,
        None => SessionId::new(format!("drive-{}", cx.ids.next(cx.now())))?,
    };
    let mut drive = Drive {
        run: match (&found, &request.run) {
            (Some(run), _) => run.clone(),
            (None, Some(id)) => RunId::new(id.as_str())?,
            (None, None) => {
                let end = slug(&workflow, 80).unwrap_or_else(|| "run".to_owned());
                RunId::new(format!("{}-{end}", cx.now().compact()))?
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
        None => Project::path_in(&cx.root_to_be()?),
    };
    drive.dir = std::path::absolute(Project::path_of_run(&flow_dir, &drive.run)).unwrap_or(flow_dir);
    let mut known = Known::new(definition);
    known.file = is_file(cx, &request.graph).then(|| request.graph.clone());
    known.context.about = json!({ "goal": request.goal });
    if let (Some(project), Some(run)) = (&project, &found) {
        match take_up(cx, project, run, &mut drive, &mut known)? {
            None => {}
            Some(report) => return Ok(report),
        }
    }
    match (unusable, &known.machine) {
        (Some(error), None) => return Err(error.into()),
        (Some(error), Some(_)) => {
            let why = error.one_line();
            known.warnings.push(format!("the run goes on with the graph that it began with: {why}"));
        }
        (None, _) => {}
    }
    known.context.about["run_id"] = json!(drive.run);
    known.context.about["workflow"] = json!(drive.workflow);
    let driven = go_through(cx, request, &drive, known, person);
    if own && let Ok(project) = cx.project() {
        let caller = Caller { session: Some(drive.session.clone()), ..Caller::default() };
        // Release the run. If that fails, the run is free once this process has ended.
        let _ = end_in(cx, &project, &drive.run, caller, Some("the driver stopped"), cx.now());
    }
    driven
}

fn go_through(
    cx: &Context,
    request: &DriveRequest,
    drive: &Drive,
    known: Known,
    person: &mut dyn Person,
) -> Result<DriveReport> {
    let audience: Audience<'_> = Rc::new(RefCell::new(person));
    let Known { machine, standing, context, answer, asks, mut warnings, .. } = known;
    let machine = machine.expect("BUG: a driver without a graph");
    warnings.extend(unused(&machine, request));
    let registry = registry(&machine, request, drive, &audience, answer)?;
    unhandled(&machine, &registry)?;
    let handler = StateHandler::new(machine.clone(), &registry).map_err(missing)?;
    let notebook = RunNotebook::new(cx, drive, &machine, request, Rc::clone(&audience), asks);
    let mut agent = match &request.choose {
        Choose::Person => Agent::new(handler, LeaveToPerson { run: drive.run.clone() }, notebook),
        Choose::Command(command) => {
            let (command, drive, audience) = (command.clone(), drive.clone(), Rc::clone(&audience));
            let ask = AskCommand { command, machine: machine.clone(), drive, audience };
            Agent::new(handler, ask, notebook)
        }
        Choose::Endpoint(endpoint) => Agent::new(handler, AskEndpoint::new(endpoint.clone(), drive.timeout), notebook),
    };
    if standing != Position::New {
        // The run exists, and may stop before another state begins.
        agent.notebook.remember();
    }
    agent = agent.resumed_at(standing, context);
    let stopped = agent.run(request.max_iter);
    let ran = agent.notebook.ran;
    warnings.append(&mut agent.notebook.warnings);
    let stopped = match (stopped, agent.notebook.unrecorded.take()) {
        (Err(AgentError::Notebook(Error::Run(runs::Error::Refused { refusal, .. }))), Some(done)) => {
            let mut report = overtaken(cx, drive, &done, &refusal, ran)?;
            report.warnings = warnings;
            return Ok(report);
        }
        (stopped, _) => stopped.map_err(from_agent)?,
    };
    let (stop, state, reason) = match stopped {
        Stop::Ended { state } => {
            (DriveStop::Ended, state.clone(), format!("`{state}` is done, and the run is completed"))
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

/// The report when the run ended or moved while a state was at work, so that the result of the state cannot be
/// recorded.
fn overtaken(cx: &Context, drive: &Drive, done: &Done, refusal: &Refusal, ran: usize) -> Result<DriveReport> {
    let project = cx.project()?;
    let view = for_reading(cx, &project, &*open_run_exactly(&project, drive.run.as_str())?)?;
    let state = view.history.state();
    let meanwhile = match state.status() {
        RunStatus::Active => refusal.to_string(),
        status => format!("the run is {status} now"),
    };
    let output: String = done.output.as_deref().unwrap_or("nothing").chars().take(SHOWN).collect();
    let reason = format!("the output of `{}` is not recorded: {meanwhile}. The output is: {output}", done.state);
    Ok(report(drive, DriveStop::Failed, state.phase().cloned(), reason, ran))
}

/// How much of an unrecorded output is shown, in characters.
const SHOWN: usize = 2000;

pub(super) fn report(
    drive: &Drive,
    stop: DriveStop,
    state: Option<StateName>,
    reason: String,
    ran: usize,
) -> DriveReport {
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

/// The latest output of a state, for a person who is asked.
pub(super) fn given_last(context: &agent::Context) -> Option<Given> {
    context.done.iter().rev().find_map(given)
}

/// The output of a state, cut for people; none if it is empty.
pub(super) fn given(done: &Done) -> Option<Given> {
    let output = done.output.as_deref().filter(|output| !output.trim().is_empty())?;
    let mut shown: String = output.chars().take(GIVEN).collect();
    if shown.len() < output.len() {
        shown.push('…');
    }
    Some(Given { state: done.state.clone(), output: shown })
}

/// How much of an output is shown to people, in characters; the run has all of it.
const GIVEN: usize = 8000;

fn from_agent(error: AgentError<Error>) -> Error {
    match error {
        AgentError::Notebook(error) => error,
        other => Error::NoWayOn(other.to_string()),
    }
}
