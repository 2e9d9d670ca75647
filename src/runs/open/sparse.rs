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
    let files = match project.cx.left_out_files(project.root(), RUN_FILES) {
        Ok(files) => files,
        Err(unknown) => return Some(unknown),
    };
    for file in files {
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
    let (cx, root) = (&project.cx, project.root());
    let files = cx.left_out_files(root, RUN_FILES)?;
    if files.is_empty() {
        return Ok(());
    }
    // Any of them may be the one that is meant if git does not have their contents here, as in a partial clone.
    let Ok(possible) = cx.git.indexed_with(root, RUN_FILES, word) else { return Err(cx.left_out(root, ".flow/runs")) };
    for (file, text) in possible {
        if !files.contains(&file) {
            continue;
        }
        let Ok(run) = RunText::parse(text) else { continue };
        let run = run.document();
        if Some(&run.id) != but && !run.state.status.is_terminal() && is_meant(run) {
            return Err(cx.left_out(root, &format!(".flow/runs/{}", run.id)));
        }
    }
    Ok(())
}
