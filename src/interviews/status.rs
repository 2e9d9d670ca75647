//! `interview status`: the questions, the answers and the sections of an interview.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::interviews::document_file::{DocumentFile, script_of};
use crate::interviews::error::Result;
use crate::interviews::gone::text_of;
use crate::interviews::next::{InterviewEntry, InterviewNext, InterviewState, entry, next_of};
use crate::interviews::pad::{Fault, Fill, PadHead, PadMode, SectionView};
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
    pub mode: PadMode,
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
    let text = text_of(&file)?;
    let document = file.document(&text);
    let script = script_of(&file, &document)?;
    let standing = InterviewState::of(&file, &document, &script)?;
    let PadHead { started, run, .. } = standing.pad.head.clone();
    let mut sections = Vec::new();
    for SectionView { id, heading, fill, line, .. } in document.sections(&script) {
        sections.push(InterviewSection { id, heading, fill, line });
    }
    Ok(InterviewStatusReport {
        mode: standing.pad.mode(),
        script: script.id().to_owned(),
        started,
        run_id: run,
        entries: standing.pad.entries.iter().map(entry).collect(),
        sections,
        problems: standing.pad.faults.clone(),
        next: next_of(&file, &standing),
        document: file.named.clone(),
        warnings: Vec::new(),
    })
}
