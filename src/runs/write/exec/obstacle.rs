//! What keeps a required command from being a proof, however often it is run.

use crate::engine::files_before;
use crate::model::{Execution, ExecutionEnd, Explain as _, MissingProof, Obstacle};
use crate::runs::context::OpenedProject;
use crate::runs::error::Error;
use crate::runs::mask::Mask;
use crate::runs::write::exec::trust::trusted;

/// Why running the command once more shows nothing, as far as this is known without a look at the files.
pub(in crate::runs) fn obstacle(project: &OpenedProject, missing: &MissingProof) -> Option<Obstacle> {
    let exec = &missing.exec;
    let argv = match trusted(project, exec) {
        Ok(argv) => argv,
        Err(error) => return Some(of_refused(&error)),
    };
    let last = missing.last.as_deref();
    if last.is_some_and(|last| last.masked) && Mask::default().words(&argv) != argv {
        let how = format!(
            "a person takes the secret out of `{exec}` in .flow/config.yaml, and gives it in a variable or a file"
        );
        return Some(Obstacle::Configuration(how));
    }
    if !missing.wrote.is_empty() && last.is_some_and(|last| last.argv == argv) {
        let how = "if it changes them each time, let git ignore them, or let it write elsewhere";
        return Some(Obstacle::WritesFiles(how.to_owned()));
    }
    let names_files = last.is_some_and(|last| !last.inputs.is_empty() && files_before(last).is_ok());
    if missing.asks_files && !names_files && project.cx.git.top(project.root()).is_none() {
        let how = "outside of a git repository it has to name the files that count with --input GLOB";
        return Some(Obstacle::NoFiles(how.to_owned()));
    }
    // As with files that it writes: whether the next run could tell them would need a look at all of them.
    if missing.asks_files && last.is_some_and(|last| has_passed(last) && files_before(last).is_err()) {
        let how =
            "a person sees to it that flow can tell the files, or lets the workflow require it with `fresh: false`";
        return Some(Obstacle::UnknownFiles(how.to_owned()));
    }
    None
}

fn has_passed(last: &Execution) -> bool {
    last.end.as_ref().is_some_and(ExecutionEnd::is_good)
}

/// Why the project's command may not be run here.
fn of_refused(error: &Error) -> Obstacle {
    let problem = error.problem();
    match problem.code {
        "command_not_trusted" => Obstacle::NotAccepted(problem.message),
        "command_not_found" => {
            let how = "a person names it under `commands` in .flow/config.yaml";
            Obstacle::Configuration(format!("{}: {how}", problem.message))
        }
        _ => Obstacle::Configuration(problem.message),
    }
}
