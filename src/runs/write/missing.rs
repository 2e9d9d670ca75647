//! Tells a caller at once which of the files are not there that a record refers to.

use std::path::Path;

use crate::model::Activity;
use crate::runs::context::Context;
use crate::runs::open::reference::{Named, Presence, at, is_path, named, without_line};
use crate::runs::path::quoted_path;
use crate::store::{Project, StoredRun};

/// The most files that are named.
const NAMED: usize = 10;

/// A warning about each piece of evidence and each changed file that is not there. A mistake in a name is seen only now: later
/// it looks like a file that somebody removed.
pub(in crate::runs) fn missing(
    cx: &Context,
    project: &Project,
    run: &dyn StoredRun,
    activity: &Activity,
) -> Vec<String> {
    let mut warnings = missing_evidence(cx, project, run, activity);
    for file in activity.files() {
        let path = Path::new(file);
        if !file.is_empty() && is_missing(cx, &project.root().join(path)) && is_missing_here(cx, path) {
            warnings
                .push(format!("the changed file {} is not there, which is right only if it was removed", shown(file)));
        }
    }
    let more = warnings.len().saturating_sub(NAMED);
    warnings.truncate(NAMED);
    if more > 0 {
        warnings.push(format!("and {more} more files are not there"));
    }
    warnings
}

fn missing_evidence(cx: &Context, project: &Project, run: &dyn StoredRun, activity: &Activity) -> Vec<String> {
    let mut references = activity.evidence().peekable();
    if references.peek().is_none() {
        return Vec::new();
    }
    // What cannot be listed is reported by whoever reads it.
    let files = run.evidence().unwrap_or_default().into_iter().collect();
    references
        .filter_map(|reference| warning(cx, project, reference, &named(cx, project, run, reference, &files)))
        .collect()
}

fn warning(cx: &Context, project: &Project, reference: &str, named: &Named) -> Option<String> {
    let path = Path::new(without_line(reference));
    match named {
        Named::Missing | Named::Evidence { bytes: None, .. } => {
            let Some(here) = found_here(cx, project, path) else {
                return Some(format!(
                    "the evidence {} is missing: it is neither in the run's evidence/ nor in the project",
                    shown(reference)
                ));
            };
            Some(format!(
                "the evidence {} is missing: references begin at the top of the project, where this is {here}",
                shown(reference)
            ))
        }
        Named::Outside
            if is_path(reference) && is_missing(cx, &project.root().join(path)) && is_missing_here(cx, path) =>
        {
            Some(format!("the evidence {} is missing", shown(reference)))
        }
        Named::Outside | Named::Evidence { .. } | Named::InProject { .. } | Named::Link | Named::Text => None,
    }
}

fn is_missing(cx: &Context, path: &Path) -> bool {
    at(cx, path) == Presence::Missing
}

/// Whether nothing is at `path` as seen from the caller's working directory.
fn is_missing_here(cx: &Context, path: &Path) -> bool {
    cx.env.cwd.as_ref().is_none_or(|cwd| is_missing(cx, &cwd.join(path)))
}

/// The name in the project of what is at `path` as seen from the caller's working directory.
fn found_here(cx: &Context, project: &Project, path: &Path) -> Option<String> {
    let place = cx.env.cwd.as_ref()?.join(path);
    let is_there = matches!(at(cx, &place), Presence::There { .. });
    is_there.then(|| quoted_path(&project.relative(&place)))
}

fn shown(reference: &str) -> String {
    crate::model::quoted(reference)
}
