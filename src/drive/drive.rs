//! `drive`: an agent's loop through a graph (ARKOS), made durable. The output of a state is recorded before the next
//! state is chosen, so repeating the command continues where it stopped, and runs no state again that is done.

use std::cell::RefCell;
use std::rc::Rc;

use crate::drive::agent::{AgentError, FinishedState, Stop};
use crate::drive::check::{missing, unhandled, unused};
use crate::drive::chooser::{AskCommand, AskEndpoint, LeaveToPerson};
use crate::drive::command::DriverCommands;
use crate::drive::commands::{CommandRunner, registry};
use crate::drive::directory::command_dir;
use crate::drive::driven::{Audience, Drive, Person, given_last};
use crate::drive::http::server;
use crate::drive::known::DrivenRun;
use crate::drive::notebook::{NotebookRequest, OpenedNotebook, Opening, RunNotebook};
use crate::drive::report::{Choose, DriveReport, DriveRequest, DriveStop, Endpoint, report};
use crate::engine::Refusal;
use crate::host::Setting;
use crate::model::{Explain as _, Kind, Problem, RunStatus, StateName, counted};
use crate::runs::open::name::open_run_exactly;
use crate::runs::open::view::for_reading;
use crate::runs::workflow::{is_file, workflow_machine};
use crate::runs::{Context, Error, Result};

/// The endpoint at `url`, with the model and the key that the environment names.
///
/// # Errors
/// [`Error::Usage`] when `url` is not the address of a server or no model is named; [`Error::Setting`] when a
/// variable is not text; `no_network` in a build without the feature `network`.
pub fn endpoint(cx: &Context, url: String) -> Result<Endpoint> {
    need_network()?;
    server(&url).map_err(|why| Error::Usage(format!("--choose-url is {why}")))?;
    let Some(model) = &cx.env.choose_model else {
        return Err(Error::Usage("--choose-url needs a model: name it in FLOW_CHOOSE_MODEL".to_owned()));
    };
    let model = model.parse::<String>()?;
    let key = cx.env.choose_key.as_ref().map(Setting::parse::<String>).transpose()?;
    Ok(Endpoint { url, model, key })
}

fn need_network() -> Result<()> {
    if cfg!(feature = "network") {
        return Ok(());
    }
    let message = "this build of flow has no network, so it cannot ask an endpoint which state follows";
    Err(Problem::new(Kind::Usage, "no_network", message)
        .help("choose with --choose COMMAND, or install a flow that is built with the feature `network`")
        .into())
}

/// Drives a run through its graph until it ends, a person is needed, a state fails or the limit is reached.
///
/// # Errors
/// `no_network` when an endpoint is to choose and this build has no network, [`Error::Usage`] for a type
/// of state without a command, [`Error::Refused`] when another session holds the run, [`Error::Catalog`] and
/// [`Error::Store`] as for any verb. What was recorded stays.
pub fn drive(cx: &Context, request: &DriveRequest, person: &mut dyn Person) -> Result<DriveReport> {
    // Before a run begins that could only stop at its first choice.
    if matches!(request.choose, Choose::Endpoint(_)) {
        need_network()?;
    }
    // A command for a type also declares the type.
    let types: Vec<_> = request.on.iter().map(|(kind, _)| kind).chain(&request.types).cloned().collect();
    let definition = workflow_machine(cx, &request.graph, &types);
    let opening = Opening {
        workflow: match &definition {
            Ok(machine) => machine.id().to_string(),
            // A run keeps its graph, so it may go on by this name.
            Err(_) => request.graph.clone(),
        },
        definition,
        file: if is_file(cx, &request.graph) { Some(request.graph.clone()) } else { None },
        request: NotebookRequest {
            run: request.run.clone(),
            goal: request.goal.clone(),
            session: request.session.clone(),
        },
    };
    let audience: Audience<'_> = Rc::new(RefCell::new(Some(person)));
    let opened =
        RunNotebook::open_watched(cx, opening, Rc::clone(&audience), &|known| can_be_driven(cx, request, known))?;
    let mut notebook = match opened {
        OpenedNotebook::Ready(notebook) => *notebook,
        OpenedNotebook::Stopped(report) => return Ok(report),
    };
    notebook.done_by_a_person = types_of_a_person(request);
    go_through(cx, request, notebook, &audience)
}

/// Refuses a run whose states have no commands, or whose directory for the commands is not here.
fn can_be_driven(cx: &Context, request: &DriveRequest, known: &DrivenRun) -> Result<()> {
    if let Some(machine) = &known.machine {
        unhandled(machine, request)?;
    }
    command_dir(cx, request, known.stored_dir.as_deref())?;
    Ok(())
}

/// The types of states that a person does: `user` and those that were declared, unless they have a command.
fn types_of_a_person(request: &DriveRequest) -> Vec<String> {
    let mut types = Vec::new();
    for kind in std::iter::once("user").chain(request.types.iter().map(String::as_str)) {
        if !request.on.iter().any(|(commanded, _)| commanded == kind) {
            types.push(kind.to_owned());
        }
    }
    types
}

fn go_through<'p>(
    cx: &Context,
    request: &'p DriveRequest,
    mut notebook: RunNotebook<'p>,
    audience: &Audience<'p>,
) -> Result<DriveReport> {
    let (machine, drive) = (notebook.machine().clone(), notebook.drive.clone());
    let dir = command_dir(cx, request, notebook.known.stored_dir.as_deref())?;
    if dir.is_elsewhere {
        let path = dir.path.display();
        notebook.known.warnings.push(format!("the commands run in {path}, where the run was first driven"));
    }
    let (path, timeout, audience) = (dir.path.clone(), request.timeout, Rc::clone(audience));
    let runner = CommandRunner { drive: drive.clone(), dir: path, timeout, audience };
    notebook.known.warnings.extend(unused(&machine, request));
    unhandled(&machine, request)?;
    let registry = registry(&machine, request, &runner)?;
    notebook.commands = Some(DriverCommands { request, dir: dir.name });
    let mut agent = match &request.choose {
        Choose::Person => notebook.agent(&registry, LeaveToPerson { run: drive.run.clone() }),
        Choose::Command(command) => notebook.agent(&registry, AskCommand { command: command.clone(), machine, runner }),
        Choose::Endpoint(endpoint) => {
            notebook.agent(&registry, AskEndpoint { endpoint: endpoint.clone(), timeout: request.timeout })
        }
    }
    .map_err(missing)?;
    let stopped = agent.run(request.max_iter);
    let ran = agent.notebook.ran;
    let warnings = std::mem::take(&mut agent.notebook.known.warnings);
    let keeps_open = match stopped {
        Ok(Stop::Ended { .. }) => agent.notebook.keeps_open()?,
        _ => None,
    };
    let stopped = match (stopped, agent.notebook.unrecorded.take()) {
        // The run ended or moved meanwhile: what the state answered is shown, or it would be lost.
        (Err(AgentError::Notebook(Error::Refused { refusal, by_older: false, .. })), Some(done)) => {
            let mut report = overtaken(cx, &drive, &done, &refusal, ran)?;
            report.warnings = warnings;
            return Ok(report);
        }
        (Err(AgentError::Notebook(error)), Some(done)) => {
            let problem = error.problem();
            let message = not_recorded(&done, &problem.message);
            return Err(Problem { message, ..problem }.into());
        }
        (stopped, _) => stopped.map_err(from_agent)?,
    };
    let (stop, state, reason) = stop_in_words(stopped, keeps_open, ran);
    let mut report = report(&drive, stop, Some(state), reason, ran);
    // The question may refer to it.
    if stop == DriveStop::NeedsHuman {
        report.given = given_last(agent.context());
    }
    report.warnings = warnings;
    Ok(report)
}

/// How the driver stops, in which state, and why. `keeps_open` says why the run goes on although its last state is done.
fn stop_in_words(stopped: Stop, keeps_open: Option<String>, ran: usize) -> (DriveStop, StateName, String) {
    match stopped {
        Stop::Ended { state } => match keeps_open {
            None => (DriveStop::Ended, state.clone(), format!("`{state}` is done, and the run is completed")),
            Some(why) => {
                (DriveStop::NeedsHuman, state.clone(), format!("`{state}` is done, and the run stays open: {why}"))
            }
        },
        Stop::NeedsHuman { state, why, .. } => (DriveStop::NeedsHuman, state, why),
        Stop::Failed { state, why } => {
            let reason = format!("`{state}` failed: {why}; the same command tries it again");
            (DriveStop::Failed, state, reason)
        }
        Stop::NotReady { state, why } => {
            let reason = match why {
                Some(why) => format!("`{state}` is not ready: {why}; the same command looks again"),
                None => format!("`{state}` is not ready; the same command looks again"),
            };
            (DriveStop::NotReady, state, reason)
        }
        Stop::Limit { state } => {
            let were = if ran == 1 { "was" } else { "were" };
            let reason =
                format!("{} {were} run, the last one is `{state}`; the same command goes on", counted(ran, "state"));
            (DriveStop::Limit, state, reason)
        }
    }
}

/// The report when the run ended or moved while a state was at work, so that the result of the state cannot be
/// recorded.
fn overtaken(cx: &Context, drive: &Drive, done: &FinishedState, refusal: &Refusal, ran: usize) -> Result<DriveReport> {
    let project = cx.project()?;
    let view = for_reading(&project, &*open_run_exactly(&project, drive.run.as_str())?)?;
    let state = view.history.state();
    let meanwhile = match state.status() {
        RunStatus::Active => refusal.to_string(),
        status => format!("the run is {status} now"),
    };
    let reason = not_recorded(done, &meanwhile);
    Ok(report(drive, DriveStop::Failed, state.phase().cloned(), reason, ran))
}

/// That what a state put out is in no record, with it: it would be lost otherwise.
fn not_recorded(done: &FinishedState, why: &str) -> String {
    let output: String = done.output.as_deref().unwrap_or("nothing").chars().take(SHOWN).collect();
    format!("the output of `{}` is not recorded: {why}. The output is: {output}", done.state)
}

/// How much of an unrecorded output is shown, in characters.
const SHOWN: usize = 2000;

fn from_agent(error: AgentError<Error>) -> Error {
    match error {
        AgentError::Notebook(error) => error,
        other => Problem::new(Kind::Refused, "no_way_on", other)
            .help("correct the graph or what the state answers; what is done stays done")
            .into(),
    }
}
