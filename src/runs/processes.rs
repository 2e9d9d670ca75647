//! The processes of commands that flow began for a run. Their environment says for what, so that they are found after the
//! flow that began them is gone.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::engine::InDoubt;
use crate::host::processes_with;
use crate::model::{Kind, Number, Problem, RunDocument, RunId, StateName};
use crate::runs::context::OpenedProject;
use crate::runs::driver::DRIVER;
use crate::store::Project;

/// The run's directory, in the environment of a driver's commands.
const DRIVEN_DIR: &str = "FLOW_DRIVEN_DIR";
/// The run's directory, in the environment of what `exec` runs.
const EXEC_DIR: &str = "FLOW_EXEC_DIR";

/// An addition to the environment of a command.
type Variable = (&'static str, OsString);

/// The variable of all commands of a driver of the run whose directory this is.
pub(crate) fn of_driver(run_dir: PathBuf) -> Variable {
    (DRIVEN_DIR, run_dir.into())
}

/// The variable of the commands that a driver runs in a state.
pub(crate) fn of_state(state: &StateName) -> Variable {
    ("FLOW_DRIVEN_STATE", state.as_str().into())
}

/// The variables of the command that `exec` recorded under a number.
pub(in crate::runs) fn of_exec(project: &OpenedProject, run: &RunId, number: Number) -> [Variable; 2] {
    [(EXEC_DIR, dir_of(project, run).into()), ("FLOW_EXEC_NUMBER", number.to_string().into())]
}

/// The directory of a run, as the environment of its commands names it.
pub(in crate::runs) fn dir_of(project: &OpenedProject, run: &RunId) -> PathBuf {
    let dir = Project::path_of_run(project.path(), run);
    std::path::absolute(&dir).unwrap_or(dir)
}

/// A process that goes on with work whose outcome is not recorded, of a command that flow began and no longer waits for.
pub(in crate::runs) fn left_at(project: &OpenedProject, run: &RunDocument, doubt: &InDoubt) -> Option<u32> {
    match (&doubt.exec, doubt.number, &doubt.phase) {
        (Some(exec), Some(number), _) if exec.end.is_none() => {
            left_of_exec(project, doubt.of.as_ref().unwrap_or(&run.id), number)
        }
        (None, None, Some(step)) if run.context.contains_key(DRIVER) => left_in(dir_of(project, &run.id), step),
        _ => None,
    }
}

/// The process of the command that `exec` recorded under a number.
pub(in crate::runs) fn left_of_exec(project: &OpenedProject, run: &RunId, number: Number) -> Option<u32> {
    processes_with(&of_exec(project, run, number)).first().copied()
}

/// The process of a command that an earlier driver began in a state, and that still runs.
pub(crate) fn left_in(run_dir: PathBuf, state: &StateName) -> Option<u32> {
    processes_with(&[of_driver(run_dir), of_state(state)]).first().copied()
}

/// The refusal of what has to wait for a process that a driver left.
pub(crate) fn driver_left(process: u32, work: &str) -> Problem {
    Problem::new(Kind::Held, "still_running", still_works(process, work, "its driver")).help(until_done(process))
}

/// The same for a process that `exec` left.
pub(in crate::runs) fn exec_left(process: u32, work: &str) -> Problem {
    Problem::new(Kind::Held, "exec_runs", still_works(process, work, "its flow")).help(until_done(process))
}

fn still_works(process: u32, work: &str, began: &str) -> String {
    format!("process {process} still works on {work}: {began} is gone, what it began is not")
}

fn until_done(process: u32) -> String {
    format!("wait until it is done, or end it: kill {process}")
}
