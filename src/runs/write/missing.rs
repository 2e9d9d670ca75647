//! Tells a caller at once which of the files are not there that a record refers to.

use std::path::Path;

use crate::model::{Activity, quoted};
use crate::runs::context::OpenedProject;
use crate::runs::open::reference::{PathState, Referent, is_path, path_state, referent, without_line};
use crate::runs::path::quoted_path;
use crate::store::StoredRun;

/// The most files that are named.
const NAMED: usize = 10;

/// A warning about each piece of evidence and each changed file that is not there. A mistake in a name is seen only now: later
/// it looks like a file that was removed.
pub(in crate::runs) fn missing(project: &OpenedProject, run: &dyn StoredRun, activity: &Activity) -> Vec<String> {
    let mut warnings = missing_evidence(project, run, activity);
    for file in activity.files() {
        if !file.is_empty() && is_nowhere(project, Path::new(file)) {
            warnings
                .push(format!("the changed file {} is not there, which is right only if it was removed", quoted(file)));
        }
    }
    let more = warnings.len().saturating_sub(NAMED);
    warnings.truncate(NAMED);
    if more > 0 {
        warnings.push(format!("and {more} more files are not there"));
    }
    warnings
}

fn missing_evidence(project: &OpenedProject, run: &dyn StoredRun, activity: &Activity) -> Vec<String> {
    let mut references = activity.evidence().peekable();
    if references.peek().is_none() {
        return Vec::new();
    }
    // What cannot be listed is reported by the command that reads it.
    let files = run.evidence().unwrap_or_default().into_iter().collect();
    references.filter_map(|reference| warning(project, reference, &referent(project, run, reference, &files))).collect()
}

fn warning(project: &OpenedProject, reference: &str, referent: &Referent) -> Option<String> {
    let path = Path::new(without_line(reference));
    match referent {
        Referent::Missing | Referent::Evidence { bytes: None, .. } => {
            let Some(here) = found_here(project, path) else {
                return Some(format!(
                    "the evidence {} is missing: it is neither in the run's evidence/ nor in the project",
                    quoted(reference)
                ));
            };
            Some(format!(
                "the evidence {} is missing: references begin at the top of the project, where this is {here}",
                quoted(reference)
            ))
        }
        Referent::Outside if is_path(reference) && is_nowhere(project, path) => {
            Some(format!("the evidence {} is missing", quoted(reference)))
        }
        Referent::Outside
        | Referent::Evidence { .. }
        | Referent::InProject { .. }
        | Referent::Link
        | Referent::Text => None,
    }
}

/// Whether nothing is at `path`, neither in the project nor as seen from the caller's working directory.
fn is_nowhere(project: &OpenedProject, path: &Path) -> bool {
    let is_missing = |root: &Path| path_state(&project.cx, &root.join(path)) == PathState::Missing;
    is_missing(project.root()) && project.cx.env.cwd.as_deref().is_none_or(is_missing)
}

/// The name in the project of what is at `path` as seen from the caller's working directory.
fn found_here(project: &OpenedProject, path: &Path) -> Option<String> {
    let place = project.cx.env.cwd.as_ref()?.join(path);
    match path_state(&project.cx, &place) {
        PathState::There { .. } => Some(quoted_path(&project.relative(&place))),
        PathState::Missing | PathState::Unknown => None,
    }
}
