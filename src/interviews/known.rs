//! The documents of a project in which an interview began, and which `interview list` finds without a run.

use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::disk::Links;
use crate::interviews::document_file::DocumentFile;
use crate::interviews::next::InterviewNext;
use crate::interviews::status::status;
use crate::model::Explain as _;
use crate::runs::context::{Context, OpenedProject};
use crate::runs::{self, UserNote};

/// An interview that no open run waits for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct KnownInterview {
    /// The document, as a path in the project.
    pub document: PathBuf,
    /// The run that the document names, which is over or waits for nothing.
    pub run_id: Option<String>,
    /// The next step; null if it cannot be read.
    pub next: Option<InterviewNext>,
    /// Why the document cannot be read.
    pub error: Option<String>,
}

/// Notes that there is an interview in the document, if that is in a project. Whether that works does not matter to the
/// caller: the document has everything.
pub(super) fn note(file: &DocumentFile) {
    let cx = &file.cx;
    let project = match cx.project() {
        Ok(project) => project,
        Err(runs::Error::NoProject { .. }) => return note_outside(file),
        Err(_) => return,
    };
    let Some(document) = path_in(file, project.root()) else { return };
    // Every answer would otherwise take the project's lock.
    if project.noted_interviews().last() == Some(&document) {
        return;
    }
    let Ok(wait) = cx.lock_wait() else { return };
    let _ = project.note_interview(&cx.write_request(cx.now(), wait), &document, &|known| {
        cx.disk.look(&project.root().join(known), Links::Follow).is_ok()
    });
}

/// How many documents outside of projects are noted for the user.
const OUTSIDE: usize = 50;

/// The user's note of documents in which an interview began before there was a project.
fn outside_note() -> UserNote {
    UserNote::about("interviews", "outside")
}

fn note_outside(file: &DocumentFile) {
    let document = file.path();
    let mut noted: Vec<PathBuf> = outside_note().read(&file.cx).unwrap_or_default();
    if noted.last() == Some(&document) {
        return;
    }
    noted.retain(|known| *known != document);
    noted.push(document);
    let from = noted.len().saturating_sub(OUTSIDE);
    outside_note().write(&file.cx, &&noted[from..]);
}

/// The noted documents below `root` that no project knew of when their interviews began, as paths in it.
fn noted_outside(cx: &Context, root: &Path) -> Vec<String> {
    let root = cx.disk.canonical(root).unwrap_or_else(|_| root.to_owned());
    let mut found = Vec::new();
    for document in outside_note().read::<Vec<PathBuf>>(cx).unwrap_or_default() {
        if let Ok(path) = document.strip_prefix(&root)
            && let Some(path) = path.to_str()
        {
            found.push(path.to_owned());
        }
    }
    found
}

/// The interviews in noted documents that are still there and have a scratch pad, except in `listed` ones. `named` makes
/// the path for the caller.
pub(super) fn known(
    project: &OpenedProject,
    listed: &[&Path],
    named: &dyn Fn(&Path) -> PathBuf,
) -> Vec<KnownInterview> {
    let noted = project.noted_interviews();
    // The project's own notes are the later ones.
    let mut all = noted_outside(&project.cx, project.root());
    all.retain(|document| !noted.contains(document));
    all.extend(noted);
    known_in(&project.cx, project.root(), all, listed, named)
}

/// Those that began below `root`, where no project is.
pub(super) fn known_without_project(cx: &Context, root: &Path) -> Vec<KnownInterview> {
    known_in(cx, root, noted_outside(cx, root), &[], &|document| root.join(document))
}

fn known_in(
    cx: &Context,
    root: &Path,
    noted: Vec<String>,
    listed: &[&Path],
    named: &dyn Fn(&Path) -> PathBuf,
) -> Vec<KnownInterview> {
    let mut found = Vec::new();
    for noted in noted.into_iter().rev() {
        let document = PathBuf::from(&noted);
        // The note is a file like any other, and a clone could bring one: it may not lead out of the project.
        let is_plain = document.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || listed.contains(&&*document) {
            continue;
        }
        let Ok(file) = DocumentFile::at(cx, &named(&document)) else { continue };
        // Lists are no place to ask git for one that a sparse checkout leaves out.
        if !cx.disk.is_file(&file.path()) {
            continue;
        }
        let Ok(Some(text)) = file.read() else { continue };
        // A link could lead out of it as well.
        if path_in(&file, root) != Some(noted) || file.document(&text).is_without_pad() {
            continue;
        }
        found.push(match status(cx, &file.named) {
            Ok(status) => KnownInterview {
                run_id: status.run_id,
                next: Some(InterviewNext { document: document.clone(), ..status.next }),
                error: None,
                document,
            },
            Err(error) => KnownInterview { document, run_id: None, next: None, error: Some(error.one_line()) },
        });
    }
    found
}

/// The path of the document below `root`; `None` if it is not there.
fn path_in(file: &DocumentFile, root: &Path) -> Option<String> {
    let root = file.cx.disk.canonical(root).unwrap_or_else(|_| root.to_owned());
    let path = file.path();
    Some(path.strip_prefix(root).ok()?.to_str()?.to_owned())
}
