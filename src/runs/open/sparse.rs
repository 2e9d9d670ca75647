//! Files that git has and a sparse checkout leaves out: to flow they are neither missing nor free to be written.

use crate::codec::RunText;
use crate::model::{RunDocument, RunId};
use crate::runs::context::OpenedProject;
use crate::runs::error::{Error, Result};

/// The `run.yaml` of every run.
const RUN_FILES: &str = ".flow/runs/*/run.yaml";

/// The error for a name of a run that this sparse checkout leaves out.
pub(super) fn left_out_run(project: &OpenedProject, given: &str) -> Option<Error> {
    let end = format!("-{given}");
    for file in project.cx.git.left_out(project.root(), RUN_FILES) {
        // `.flow/runs/<id>/run.yaml`
        let id = file.split('/').nth_back(1).unwrap_or_default();
        if id == given || !given.is_empty() && (id.starts_with(given) || id.ends_with(&end)) {
            return Some(project.cx.left_out(project.root(), &format!(".flow/runs/{id}")));
        }
    }
    None
}

/// Refuses if a run that this sparse checkout leaves out `is_meant`. `word` is in the text of every run that may be.
pub(super) fn refuse_left_out_run(
    project: &OpenedProject,
    but: Option<&RunId>,
    word: &str,
    is_meant: impl Fn(&RunDocument) -> bool,
) -> Result<()> {
    let files = project.cx.git.left_out(project.root(), RUN_FILES);
    for (_, text) in project.cx.git.indexed_with(project.root(), &files, word) {
        let Ok(run) = RunText::parse(text) else { continue };
        let run = run.document();
        if Some(&run.id) != but && !run.state.status.is_terminal() && is_meant(run) {
            return Err(project.cx.left_out(project.root(), &format!(".flow/runs/{}", run.id)));
        }
    }
    Ok(())
}
