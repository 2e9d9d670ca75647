//! The command lines by which `flow exec` runs commands: those that phases require, and those that ran before.

use crate::model::{Execution, RunId, Suggestion, Unproved};

/// The command that shows what is missing. It names the phase if the run is not there.
pub(crate) fn prove(run: &RunId, missing: &Unproved) -> Suggestion {
    let phase = missing.is_elsewhere.then_some(&missing.phase);
    let command = Suggestion::flow("exec").option("run-id", run).maybe("phase", phase);
    asked_as(command, missing.last.as_deref()).value(&missing.exec)
}

/// The command with the options with which it ran the last time: without its inputs, it would prove less.
fn asked_as(mut command: Suggestion, last: Option<&Execution>) -> Suggestion {
    let Some(last) = last else { return command };
    for glob in &last.inputs {
        command = command.option("input", glob);
    }
    command = command.maybe("timeout", last.limit_ms.map(in_seconds));
    if last.no_output { command.flag("no-output") } else { command }
}

/// A time in milliseconds, as options name it.
fn in_seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) { (ms / 1000).to_string() } else { format!("{}.{:03}", ms / 1000, ms % 1000) }
}

/// The command that runs the one of the activity `id` once more.
pub(super) fn exec_again(run: &RunId, id: &str, exec: &Execution) -> Suggestion {
    let again = Suggestion::flow("exec").option("run-id", run).option("id", id).flag("again");
    let again = asked_as(again, Some(exec));
    match &exec.name {
        Some(name) => again.value(name),
        None => exec.argv.iter().fold(again.value("--"), Suggestion::value),
    }
}

/// Where a command has to run, if that is not everywhere.
pub(super) fn place_of(exec: &Execution) -> String {
    let is_anywhere = exec.dir == "." || exec.name.is_some();
    if is_anywhere { String::new() } else { format!(", in {}", exec.dir) }
}
