//! The command that drives a run, for a caller in this project, and whether this machine ever ran its commands.

use std::path::Path;

use crate::catalog::names_a_file;
use crate::model::{EventKind, RunDocument, Suggestion};
use crate::runs::accepted::{Thing, is_accepted};
use crate::runs::context::OpenedProject;
use crate::runs::driver::{CommandSource, DRIVER, DRIVER_DIR, DRIVES, Driver, is_driver};
use crate::runs::here::named_here;
use crate::runs::open::view::View;

/// The command that drives a run. None if the run does not store it.
pub(in crate::runs) fn driver_from_here(project: &OpenedProject, view: &View) -> Option<Driver> {
    let run = view.history.state().document();
    let stored = run.context_text(DRIVER)?;
    if !is_driver(stored) {
        return None;
    }
    let words = shlex::split(stored.strip_prefix(DRIVES)?)?;
    let (graph, options) = words.split_first()?;
    let named = if names_a_file(graph) { named_here(project, Path::new(graph)) } else { graph.clone() };
    let mut command = Suggestion::flow("drive").value(named);
    let mut words = options.iter();
    while let Some(word) = words.next() {
        command = match (word.strip_prefix("--"), words.clone().next()) {
            (Some(name), Some(value)) => {
                words.next();
                // A fork has the command of its parent.
                let value = if name == "run-id" { run.id.as_str() } else { value };
                command.option(name, value)
            }
            _ => command.value(word),
        };
    }
    let place = run.context_text(DRIVER_DIR).unwrap_or_default();
    // A cloned repository can bring commands: those that never ran on this machine are marked, with their source.
    let never_run_here = match things_of(graph, options, place) {
        Some(things) if is_accepted(project, &things) => None,
        _ => Some(source(view, run)),
    };
    let chooses = options.iter().any(|option| option == "--choose" || option == "--choose-url");
    Some(Driver { command, never_run_here, chooses })
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
            "--on" => things.push(Thing::command(value.split_once('=')?.1, place)),
            "--choose" => things.push(Thing::command(value, place)),
            "--choose-url" => things.push(Thing::endpoint(value)),
            "--run-id" | "--type" | "--timeout" => {}
            _ => return None,
        }
    }
    Some(things)
}

/// The file that names the command: the log if an event has it, otherwise `run.yaml`, whose edits come later.
fn source(view: &View, run: &RunDocument) -> CommandSource {
    for event in view.log.events() {
        let context = match &event.kind {
            EventKind::RunStarted(started) => Some(&started.context),
            EventKind::RunForked(forked) => Some(&forked.document.context),
            EventKind::RunAdopted(adopted) => Some(&adopted.document.context),
            EventKind::RunEdited(edited) => edited.changes.context.as_ref(),
            _ => None,
        };
        if let Some(context) = context
            && [DRIVER, DRIVER_DIR].iter().all(|key| context.get(*key) == run.context.get(*key))
        {
            return CommandSource::Log;
        }
    }
    CommandSource::RunYaml
}
