//! A document that is gone while a run waits for the answers in it: it was moved, renamed or deleted.

use crate::engine::{interview_activity, interview_unit};
use crate::interviews::document_file::DocumentFile;
use crate::interviews::error::Result;
use crate::interviews::fault::InterviewFault;
use crate::model::{RunId, Unit};
use crate::runs::context::OpenedProject;
use crate::runs::open::reading::Runs;
use crate::runs::open::view::for_reading;
use crate::runs::{interview_command, moved_document};
use crate::store::Project;

/// The content of a document in which an interview goes on.
///
/// # Errors
/// When it cannot be read, or does not exist.
pub(super) fn text_of(file: &DocumentFile) -> Result<String> {
    file.read()?.ok_or_else(|| file.fault(InterviewFault::Missing { notes: notes(file, false) }))
}

/// The content of a document in which an interview may begin; empty if the document does not exist. A caller who names the run
/// may begin again, unless another document has the answers.
///
/// # Errors
/// When it cannot be read, or does not exist while a run waits for the answers in it.
pub(super) fn text_to_begin(file: &DocumentFile, names_run: bool) -> Result<String> {
    if let Some(text) = file.read()? {
        return Ok(text);
    }
    let notes = notes(file, names_run);
    if notes.is_empty() { Ok(String::new()) } else { Err(file.fault(InterviewFault::Missing { notes })) }
}

/// What is said of a document that is gone by the run that waits for it; only of answers that are elsewhere if the caller may
/// begin again.
fn notes(file: &DocumentFile, begins_again: bool) -> Vec<String> {
    let Ok(project) = file.cx.project() else { return Vec::new() };
    let Ok(runs) = Runs::read_open(&project) else { return Vec::new() };
    for run in runs.open() {
        match notes_of(file, &project, &run.head.run_id, begins_again) {
            Ok(notes) if !notes.is_empty() => return notes,
            // Another run may wait for it.
            _ => {}
        }
    }
    Vec::new()
}

fn notes_of(file: &DocumentFile, project: &OpenedProject, run: &RunId, begins_again: bool) -> Result<Vec<String>> {
    let (document, unit) = known_as(file, project)?;
    let opened = project.runs().open(run)?;
    if !is_mentioned(&document, &unit, &opened.text()?.unwrap_or_default()) {
        return Ok(Vec::new());
    }
    let history = for_reading(project, &*opened)?.history;
    if !history.begun_interviews().iter().any(|begun| begun.document == document) {
        return Ok(Vec::new());
    }
    let moved = moved_document(project, run, &history, &document);
    if begins_again && moved.is_none() {
        return Ok(Vec::new());
    }
    Ok(moved.into_iter().chain(interview_command(project, run, &document).err()).collect())
}

/// The document's path in the project, and its unit in runs.
pub(super) fn known_as(file: &DocumentFile, project: &Project) -> Result<(String, Unit)> {
    let path = file.path();
    let root = file.cx.disk.canonical(project.root()).unwrap_or_else(|_| project.root().to_owned());
    let document = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
    let unit = interview_unit(&document)?;
    Ok((document, unit))
}

/// Whether the text of a run has to do with the document. Most runs have not, and this is faster than to read their log.
pub(super) fn is_mentioned(document: &str, unit: &Unit, text: &str) -> bool {
    text.contains(unit.as_str()) || text.contains(&interview_activity(document))
}
