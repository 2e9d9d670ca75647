//! `drive`: an agent's loop through a graph (ARKOS), made durable. What a state gave is recorded before the next one is
//! chosen, so the same command goes on where it was, and repeats no state that is done.

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
use crate::drive::chooser::{AskCommand, AskEndpoint, AskNobody};
use crate::drive::commands::registry;
use crate::drive::error::{Error, Result};
use crate::drive::http::server;
use crate::drive::known::{Known, run_to_drive, take_up};
use crate::drive::notebook::RunNotebook;
use crate::drive::{Choose, Endpoint};
use crate::engine::{Caller, Refusal};
use crate::host::Setting;
use crate::model::{Explain as _, RunId, RunStatus, SessionId, StateName, pairs, seconds, slug};
use crate::runs::select::open_run_exactly;
use crate::runs::view::for_reading;
use crate::runs::workflow::{is_file, workflow_machine};
use crate::runs::{self, Context, end_in};
use crate::store::Project;

/// What to drive.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveRequest {
    /// The graph: a file, or a workflow by its name.
    pub graph: String,
    /// The run; otherwise the open one of that workflow, or a new one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// The command for each type of state.
    #[serde(with = "pairs", default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub on: Vec<(String, String)>,
    /// Types of states that a person does, unless they have a command: they are asked for what came out.
    #[serde(default)]
    pub types: Vec<String>,
    /// Who chooses among several states.
    #[serde(default)]
    pub choose: Choose,
    /// How many states may be run.
    pub max_iter: usize,
    /// How long one command may take, in seconds.
    #[serde(with = "seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub timeout: Duration,
    /// What a new run is for.
    pub goal: Option<String>,
    /// Who drives; otherwise a session of its own.
    pub session: Option<SessionId>,
}

/// Where a driver stopped.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DriveReport {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: String,
    /// Why it stopped, in one word.
    pub stop: DriveStop,
    /// In which state, or before which.
    pub state: Option<StateName>,
    /// Why it stopped.
    pub reason: String,
    /// How many states it ran.
    pub ran: usize,
    /// What was given last, when a person is needed.
    pub given: Option<Given>,
    /// What went wrong beside the work itself.
    pub warnings: Vec<String>,
}

/// What a state gave, as people are shown it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Given {
    /// The state.
    pub state: StateName,
    /// Its output; a long one ends with `…`.
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
    /// A state is not done yet, and is to be run again later.
    NotReady,
    /// A state failed.
    Failed,
    /// It ran as many states as it was allowed to.
    Limit,
}

impl DriveStop {
    /// As in reports.
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

/// What a driver needs from the person before it.
pub trait Person {
    /// What a state gave.
    fn learn(&mut self, given: &Given);
    /// The answer to `prompt`; none when no one is there. `last` is what was given last, to which the question may refer.
    fn ask(&mut self, last: Option<&Given>, prompt: &str) -> Option<String>;
    /// Something that a person may like to know now.
    fn tell(&mut self, line: &str);
}

/// The variables by which the commands of a driver are known, also when it is gone.
pub(super) const DRIVEN_DIR: &str = "FLOW_DRIVEN_DIR";
pub(super) const DRIVEN_STATE: &str = "FLOW_DRIVEN_STATE";

/// A person, as states and chooser share them.
pub(super) type Audience<'p> = Rc<RefCell<&'p mut dyn Person>>;

/// Which run is driven, and by whom; what its commands have in their environment.
#[derive(Debug, Clone)]
pub(super) struct Drive {
    pub(super) run: RunId,
    /// The run's directory, which is there from the first state on.
    pub(super) dir: PathBuf,
    pub(super) workflow: String,
    pub(super) session: SessionId,
    pub(super) epoch: u64,
    pub(super) timeout: Duration,
}

/// A model that chooses, as the environment names it.
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
/// [`Error::NoNetwork`] when a model chooses and this build cannot ask one, [`runs::Error::Usage`] for a type of state without
/// command, [`runs::Error::Refused`] when another session holds the run,
/// [`runs::Error::Catalog`] and [`runs::Error::Store`] as for any verb. What was recorded stays.
pub fn drive(cx: &Context, request: &DriveRequest, person: &mut dyn Person) -> Result<DriveReport> {
    if matches!(request.choose, Choose::Endpoint(_)) {
        need_network()?;
    }
    // A command for a type declares it.
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
        // A run keeps the graph that it began with.
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
        // The run is free again; when this cannot be noted, the driver's end shows it.
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
    let Known { machine, standing, context, answer, mut warnings, .. } = known;
    let machine = machine.expect("BUG: a driver without a graph");
    warnings.extend(unused(&machine, request));
    let registry = registry(&machine, request, drive, &audience, answer)?;
    unhandled(&machine, &registry)?;
    let handler = StateHandler::new(machine.clone(), &registry).map_err(missing)?;
    let notebook = RunNotebook::new(cx, drive, &machine, request, Rc::clone(&audience));
    let mut agent = match &request.choose {
        Choose::Nobody => Agent::new(handler, AskNobody { run: drive.run.clone() }, notebook),
        Choose::Command(command) => {
            let (command, drive, audience) = (command.clone(), drive.clone(), Rc::clone(&audience));
            let ask = AskCommand { command, machine: machine.clone(), drive, audience };
            Agent::new(handler, ask, notebook)
        }
        Choose::Endpoint(endpoint) => Agent::new(handler, AskEndpoint::new(endpoint.clone(), drive.timeout), notebook),
    };
    if standing != Position::New {
        // The run is there, and may stop before another state of it begins.
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
        Stop::Ended { state } => (DriveStop::Ended, state.clone(), format!("`{state}` is done, and the run with it")),
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

/// The run was ended or moved while a state was at work, so the result of the state has no place in it.
fn overtaken(cx: &Context, drive: &Drive, done: &Done, refusal: &Refusal, ran: usize) -> Result<DriveReport> {
    let project = cx.project()?;
    let view = for_reading(cx, &project, &*open_run_exactly(&project, drive.run.as_str())?)?;
    let state = view.history.state();
    let meanwhile = match state.status() {
        RunStatus::Active => refusal.to_string(),
        status => format!("the run is {status} since"),
    };
    let output: String = done.output.as_deref().unwrap_or("nothing").chars().take(SHOWN).collect();
    let reason = format!("what `{}` gave is not recorded: {meanwhile}. It gave: {output}", done.state);
    Ok(report(drive, DriveStop::Failed, state.phase().cloned(), reason, ran))
}

/// How much of an output that is not recorded is shown, in characters.
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

/// What was given last, before a person is asked.
pub(super) fn given_last(context: &agent::Context) -> Option<Given> {
    context.done.iter().rev().find_map(given)
}

/// What a state gave, as far as people are shown it.
pub(super) fn given(done: &Done) -> Option<Given> {
    let output = done.output.as_deref().filter(|output| !output.trim().is_empty())?;
    let mut shown: String = output.chars().take(GIVEN).collect();
    if shown.len() < output.len() {
        shown.push('…');
    }
    Some(Given { state: done.state.clone(), output: shown })
}

/// How much of an output people are shown, in characters; the run has all of it.
const GIVEN: usize = 8000;

fn from_agent(error: AgentError<Error>) -> Error {
    match error {
        AgentError::Notebook(error) => error,
        other => Error::NoWayOn(other.to_string()),
    }
}
