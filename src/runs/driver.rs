//! The command that drives a run, as the run stores it for the next session.
//!
//! It is text in files that git carries from one machine to another, so it may be anybody's. What its commands are that this
//! machine never ran, advice says.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::{EventKind, RunDocument, Suggestion};
use crate::runs::accepted::{AcceptedKind, Thing, is_accepted};
use crate::runs::context::Context;
use crate::runs::here::named_here;
use crate::runs::open::view::View;
use crate::runs::workflow::names_a_file;
use crate::store::Project;

/// The key in a run's context with the command that drives it.
pub(crate) const DRIVER: &str = "drive";
/// The key in a run's context with the directory in which the driver's commands run, relative to the project.
pub(crate) const DRIVER_DIR: &str = "drive_dir";
/// The longest driver command that is stored, in bytes.
const DRIVER_BYTES: usize = 4000;
/// The beginning of a driver command.
pub(crate) const DRIVES: &str = "flow drive ";
/// Stored instead of a command that is too long: the command of an earlier driver would do something else.
pub(crate) const UNKNOWN_DRIVER: &str = "unknown";

/// A file of the checkout that names a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum CommandSource {
    /// The log.
    #[serde(rename = "log")]
    Log,
    /// `run.yaml`, which somebody edited.
    #[serde(rename = "run.yaml")]
    RunYaml,
}

/// The command that drives a run, as the caller can give it.
#[derive(Debug)]
pub(in crate::runs) struct Driver {
    pub(in crate::runs) command: Suggestion,
    /// Where it comes from, if this machine never ran its commands in this project.
    pub(in crate::runs) never_run_here: Option<CommandSource>,
}

impl Driver {
    /// The case in which to give the command.
    pub(in crate::runs) fn when(&self) -> &'static str {
        match self.never_run_here {
            None => "the driver is to go on, with the commands by which the run was driven",
            Some(CommandSource::Log) => "the driver is to go on, with these commands (from the log, never run here)",
            Some(CommandSource::RunYaml) => {
                "the driver is to go on, with these commands (from run.yaml, never run here)"
            }
        }
    }
}

/// Whether a text is a driver command: people and other programs may edit `run.yaml`.
pub(crate) fn is_driver(command: &str) -> bool {
    command.starts_with(DRIVES) && command.len() <= DRIVER_BYTES && !command.chars().any(char::is_control)
}

/// Whether the run was driven by a command that it does not store.
pub(in crate::runs) fn is_unknown_driver(run: &RunDocument) -> bool {
    run.context_text(DRIVER) == Some(UNKNOWN_DRIVER)
}

/// The command that drives a run. None if the run does not store it.
pub(in crate::runs) fn driver_from_here(cx: &Context, project: &Project, view: &View) -> Option<Driver> {
    let run = view.history.state().document();
    let stored = run.context_text(DRIVER).filter(|command| is_driver(command))?;
    let words = shlex::split(stored.strip_prefix(DRIVES)?)?;
    let (graph, options) = words.split_first()?;
    let named = if names_a_file(graph) { named_here(cx, project, Path::new(graph)) } else { graph.clone() };
    let mut command = Suggestion::flow("drive").value(named);
    let mut words = options.iter();
    while let Some(word) = words.next() {
        command = match (word.strip_prefix("--"), words.clone().next()) {
            (Some(name), Some(value)) => {
                words.next();
                command.option(name, value)
            }
            _ => command.value(word),
        };
    }
    let place = run.context_text(DRIVER_DIR).unwrap_or_default();
    let things = things_of(graph, options, place);
    let is_known = things.is_some_and(|things| is_accepted(cx, project, &things));
    Some(Driver { command, never_run_here: (!is_known).then(|| source(view, run)) })
}

/// What a driver command runs and asks. None if it is not written as flow writes it: then nothing is known of it.
fn things_of(graph: &str, options: &[String], place: &str) -> Option<Vec<Thing>> {
    if graph.starts_with('-') {
        return None;
    }
    let mut things = Vec::new();
    for pair in options.chunks(2) {
        let [name, value] = pair else { return None };
        match name.as_str() {
            "--on" => things.push(command(value.split_once('=')?.1, place)),
            "--choose" => things.push(command(value, place)),
            "--choose-url" => things.push(endpoint(value)),
            "--run-id" | "--type" | "--timeout" => {}
            _ => return None,
        }
    }
    Some(things)
}

/// A command that a driver runs in the directory `place`, which is named as the run stores it.
pub(crate) fn command(what: &str, place: &str) -> Thing {
    Thing { kind: AcceptedKind::Command, what: what.to_owned(), place: place.to_owned() }
}

/// A server that a driver asks.
pub(crate) fn endpoint(url: &str) -> Thing {
    Thing { kind: AcceptedKind::Endpoint, what: url.to_owned(), place: String::new() }
}

/// The file that names the command: the log if an event has it, otherwise `run.yaml`, whose edits come later.
fn source(view: &View, run: &RunDocument) -> CommandSource {
    let keys = [DRIVER, DRIVER_DIR];
    let has = |context: &Map<String, Value>| keys.iter().all(|key| context.get(*key) == run.context.get(*key));
    for event in view.log.events() {
        let is_there = match &event.kind {
            EventKind::RunStarted(started) => has(&started.context),
            EventKind::RunAdopted(adopted) => has(&adopted.document.context),
            EventKind::RunEdited(edited) => edited.changes.context.as_ref().is_some_and(has),
            _ => false,
        };
        if is_there {
            return CommandSource::Log;
        }
    }
    CommandSource::RunYaml
}
