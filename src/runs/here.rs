//! Spells files and projects for command lines: as seen by the caller, or from the project.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use crate::catalog::names_a_file;
use crate::codec::line_with;
use crate::disk::inspect::{FileKind, entries};
use crate::disk::{Links, read_named};
use crate::engine::History;
use crate::machine::merge_mark;
use crate::model::{Explain as _, RunId, Suggestion, limits};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::path::path_argument;
use crate::store::Project;

/// A file of the project as the caller can name it: relative to the working directory if it is below, otherwise by its
/// absolute path.
pub(super) fn named_here(project: &OpenedProject, file: &Path) -> String {
    let whole: PathBuf = project.root().join(file).components().collect();
    let below = project.cx.env.cwd.as_ref().and_then(|cwd| whole.strip_prefix(cwd).ok());
    path_argument(below.unwrap_or(&whole))
}

/// How a command that runs in `start` has to name the project; none if the search for a project from there finds it.
pub(super) fn place_from(project: &OpenedProject, start: &Path) -> Option<String> {
    let found = Project::find(&*project.cx.disk, start, || project.cx.git.top(start)).ok().flatten();
    // `FLOW_DIR` names the project wherever the command runs.
    let is_found = project.cx.env.flow_dir.is_some() || found.as_deref() == Some(project.root());
    if is_found { None } else { Some(path_argument(project.root())) }
}

/// How the caller has to name the project in a command; none if the search from the working directory finds it.
pub(crate) fn place_of_caller(project: &OpenedProject) -> Option<String> {
    place_from(project, project.cx.env.cwd.as_ref()?)
}

/// What `FLOW_DIR` has to be for the caller's commands, where without it they would find another project, or none.
pub(crate) fn flow_dir_of_caller(cx: &Context) -> Option<String> {
    let given = cx.named().ok().flatten().and(cx.env.flow_dir.as_ref())?;
    let (project, start) = (cx.project().ok()?, cx.env.cwd.as_ref()?);
    let found = Project::find(&*cx.disk, start, || cx.git.top(start)).ok().flatten();
    let is_found = found.is_some_and(|parent| Project::path_in(&parent) == project.path());
    if is_found { None } else { Some(path_argument(given)) }
}

/// As [`place_of_caller`], for a caller whose project is not open yet.
pub(crate) fn place_of_project(cx: &Context) -> Option<String> {
    place_of_caller(&cx.project().ok()?)
}

/// A file that the caller named, relative to the project's directory; its absolute path if it is outside. None if the
/// name is not UTF-8.
pub(crate) fn named_in(project: &OpenedProject, file: &str) -> Option<String> {
    let named = project.cx.env.cwd.clone().unwrap_or_default().join(file);
    // Resolve links in the directory only: the name of the file itself, even of a link, is the name of the workflow.
    let whole = project.cx.disk.canonical(named.parent()?).ok()?.join(named.file_name()?);
    let root = project.cx.disk.canonical(project.root()).ok()?;
    let named = whole.strip_prefix(root).unwrap_or(&whole).to_str()?;
    // Without a slash it would be taken for the name of a workflow.
    Some(if names_a_file(named) { named.to_owned() } else { format!("./{named}") })
}

/// The command that continues an interview. If its document does not exist, what a person has to decide.
pub(crate) fn interview_command(project: &OpenedProject, run: &RunId, document: &str) -> Result<Suggestion, String> {
    let path = project.root().join(document);
    // A document in another project belongs to the interviews of that project.
    let place = place_from(project, path.parent().unwrap_or(project.root()));
    let named = named_here(project, Path::new(document));
    let go_on = Suggestion::flow("interview run").value(named.clone()).in_project(place.as_deref());
    let command = go_on.option("run-id", run.as_str());
    if project.cx.disk.look(&path, Links::Follow).is_ok() {
        // Until then the command would be refused.
        let text = read_named(&*project.cx.disk, &path, limits::INTERVIEW_BYTES).unwrap_or_default();
        if merge_mark(&String::from_utf8_lossy(&text)).is_some() {
            return Err(format!(
                "{document} has the conflict markers of a merge: settle it, then go on with `{command}`"
            ));
        }
        return Ok(command);
    }
    if let Err(left_out) = project.cx.refuse_left_out_path(&path) {
        let help = left_out.problem().help.unwrap_or_default();
        return Err(format!("{}: {help}", left_out.one_line()));
    }
    // Its document stays in the checkout where it began.
    let gone = if project.runs().shared().has(run) {
        "is not in this checkout: go on in the one where it is, or if it is gone"
    } else {
        "is gone:"
    };
    // Hooks and status lines do not wait for git.
    let may_ask = project.cx.options.budget.is_whole();
    let restore = if may_ask && project.cx.git.tracks(project.root(), document) {
        format!(" with `git restore -- {named}`")
    } else {
        String::new()
    };
    Err(format!(
        "{document} {gone} put it back{restore}, begin again with `{command}`, or end the interview with `{}`",
        Suggestion::flow("interview abandon").value(named).in_project(place.as_deref())
    ))
}

/// How many directories, and how many documents in them, are looked through for one that was moved.
const PLACES: usize = 32;
const DOCUMENTS: usize = 100;

/// That another document has the answers of an interview whose own is gone.
pub(crate) fn moved_document(project: &OpenedProject, run: &RunId, history: &History, gone: &str) -> Option<String> {
    let others: Vec<_> = history.begun_interviews().iter().map(|begun| begun.document).collect();
    if project.cx.disk.look(&project.root().join(gone), Links::Follow).is_ok() {
        return None;
    }
    let found = document_with_answers(project, run, gone, &others)?;
    Some(format!("{found} has the answers that {gone} had: move it back before anything else"))
}

/// A document with the answers of an interview of the run whose own document is gone: it was moved or renamed. It is looked for
/// beside that one, at the top of the project, where other documents are known, and one directory below. `others` are the
/// documents of the run's other interviews.
fn document_with_answers(project: &OpenedProject, run: &RunId, gone: &str, others: &[&str]) -> Option<String> {
    let disk = &*project.cx.disk;
    let mut places = vec![parent_of(gone), PathBuf::new()];
    places.extend(project.noted_interviews().iter().rev().map(|document| parent_of(document)));
    // The note is a file like any other: it may not lead out of the project.
    places.retain(|place| place.components().all(|part| matches!(part, Component::Normal(_))));
    let mark = format!("<!-- Run: {run} -->");
    let (mut seen, mut left, mut at) = (HashSet::new(), DOCUMENTS, 0);
    let named = places.len();
    while at < places.len() && seen.len() < PLACES {
        let (place, is_named) = (places[at].clone(), at < named);
        at += 1;
        if !seen.insert(place.clone()) {
            continue;
        }
        for entry in entries(disk, &project.root().join(&place)).unwrap_or_default() {
            let Some(name) = entry.text().filter(|name| !name.starts_with('.')) else { continue };
            let document = place.join(name);
            if entry.kind == FileKind::Directory && is_named {
                places.push(document);
                continue;
            }
            let Some(path) = document.to_str().filter(|path| path.ends_with(".md") && !others.contains(path)) else {
                continue;
            };
            left = left.checked_sub(1)?;
            let text = read_named(disk, &project.root().join(path), limits::INTERVIEW_BYTES).unwrap_or_default();
            if line_with(&text, &mark).is_some() {
                return Some(path.to_owned());
            }
        }
    }
    None
}

fn parent_of(document: &str) -> PathBuf {
    Path::new(document).parent().unwrap_or(Path::new("")).to_owned()
}

/// The command that finishes an interview.
pub(in crate::runs) fn finish_command(project: &OpenedProject, document: &str) -> Suggestion {
    let path = project.root().join(document);
    let place = place_from(project, path.parent().unwrap_or(project.root()));
    let named = named_here(project, Path::new(document));
    Suggestion::flow("interview finish").value(named).in_project(place.as_deref())
}

/// The directories in which a project is looked for, as errors name them.
#[cfg(feature = "mcp")]
pub(crate) fn places_to_look(cx: &Context) -> Vec<PathBuf> {
    let given = [&cx.options.project, &cx.env.flow_dir, &cx.env.cwd].into_iter().flatten().cloned();
    given.chain(cx.search_from().ok()).collect()
}
