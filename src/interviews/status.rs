//! `interview status`: the questions, the answers and the sections of an interview.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::interviews::document_file::{DocumentFile, script_of};
use crate::interviews::error::Result;
use crate::interviews::next::{InterviewEntry, InterviewNext, InterviewState, entry, next_of};
use crate::interviews::pad::{Fault, Fill, Mode, Pad, PadHead, SectionView};
use crate::runs::context::Context;

/// A section of the script, as it is in the document.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterviewSection {
    /// Its id in the script.
    pub id: String,
    /// Its heading.
    pub heading: String,
    /// How complete it is.
    pub fill: Fill,
    /// The line of its heading, from 1; none if the document does not have it.
    pub line: Option<usize>,
}

/// The report of `interview status`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterviewStatusReport {
    /// The document, as it was named.
    pub document: PathBuf,
    /// How the interview began.
    pub mode: Mode,
    /// The script.
    pub script: String,
    /// When the interview began, as the document says.
    pub started: Option<String>,
    /// The run that the interview belongs to.
    pub run_id: Option<String>,
    /// The questions, in the order of the document.
    pub entries: Vec<InterviewEntry>,
    /// The sections.
    pub sections: Vec<InterviewSection>,
    /// Problems in the scratch pad.
    pub problems: Vec<Fault>,
    /// The next step.
    pub next: InterviewNext,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// The state of an interview. Writes nothing.
///
/// # Errors
/// As [`next()`](crate::interviews::next()).
pub fn status(cx: &Context, document: &Path) -> Result<InterviewStatusReport> {
    let file = DocumentFile::at(cx, document)?;
    let text = file.text()?;
    let document = file.document(&text);
    let script = script_of(&file, &document)?;
    let standing = InterviewState::of(&file, &document, &script)?;
    let PadHead { started, run: run_id, .. } = standing.pad.head.clone();
    let mut sections = Vec::new();
    for SectionView { id, heading, fill, line, .. } in document.sections(&script) {
        sections.push(InterviewSection { id, heading, fill, line });
    }
    let Pad { entries, faults, .. } = standing.pad;
    let (entries, problems) = (entries.iter().map(entry).collect(), faults.clone());
    let (mode, script, next) = (standing.pad.mode(), script.id().to_owned(), next_of(&file, &standing));
    let (document, warnings) = (file.named.clone(), Vec::new());
    Ok(InterviewStatusReport { document, mode, script, started, run_id, entries, sections, problems, next, warnings })
}
