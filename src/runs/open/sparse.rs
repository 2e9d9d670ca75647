//! Runs that git has and that are not in the checkout: a sparse one leaves them out, or they were removed.

use std::path::Path;

use crate::codec::RunText;
use crate::model::{RunDocument, RunId};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;

/// The `run.yaml` of every run.
const RUN_FILES: &str = ".flow/runs/*/run.yaml";

/// The ids of the runs that this sparse checkout leaves out.
pub(in crate::runs) fn left_out_ids(project: &OpenedProject) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for file in project.cx.left_out_files(project.root(), RUN_FILES)? {
        // `.flow/runs/<id>/run.yaml`
        ids.extend(file.split('/').nth_back(1).map(str::to_owned));
    }
    Ok(ids)
}

/// Refuses a name of a run that this sparse checkout leaves out.
pub(super) fn refuse_left_out_name(project: &OpenedProject, given: &str) -> Result<()> {
    let end = format!("-{given}");
    for id in left_out_ids(project)? {
        if id == given || !given.is_empty() && (id.starts_with(given) || id.ends_with(&end)) {
            return Err(project.cx.left_out(project.root(), &format!(".flow/runs/{id}")));
        }
    }
    Ok(())
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
        if Some(&run.id) != but && is_meant(run) {
            return Err(cx.left_out(root, &format!(".flow/runs/{}", run.id)));
        }
    }
    Ok(())
}

/// Refuses if a run `is_meant` that was removed from the checkout at `root`, and that git still has. `word` is in the text of every
/// run that may be.
pub(super) fn refuse_removed_run(
    cx: &Context,
    root: &Path,
    word: &str,
    is_meant: impl Fn(&RunDocument) -> bool,
) -> Result<()> {
    // Almost every checkout has all of its files, so a git that does not answer refuses nothing.
    for (_, text) in cx.git.removed_with(root, RUN_FILES, word).unwrap_or_default() {
        let Ok(run) = RunText::parse(text) else { continue };
        let run = run.document();
        let instead = ", or have two with --another; nothing was written";
        if !is_meant(run) {
            continue;
        }
        cx.refuse_left_out(root, &format!(".flow/runs/{}", run.id))?;
        if let Some(removed) = cx.removed_run(root, &run.id, instead) {
            return Err(removed);
        }
    }
    Ok(())
}
