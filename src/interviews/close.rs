//! Ends an interview: `finish` writes the answers into the document, `abandon` removes them and keeps a copy.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::codec::parse_json;
use crate::interviews::document_file::{DocumentFile, pad, script_of};
use crate::interviews::error::{Error, Result};
use crate::interviews::fault::InterviewFault;
use crate::interviews::gone::text_of;
use crate::interviews::link::{InterviewEnd, end_in_waiting_runs, update_run};
use crate::interviews::pad::{InterviewAnswer, InterviewProgress, SectionChange, Step};
use crate::model::{Help, Kind, Problem};
use crate::runs::context::Context;
use crate::runs::{self, Source};

/// How to finish an interview.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishRequest {
    /// The document.
    pub document: PathBuf,
    /// Texts for sections, by section id, which replace the answers.
    pub content: Option<Map<String, Value>>,
    /// Whether to finish even if questions are open.
    #[serde(default)]
    pub early: bool,
    /// The text of the document for which `content` was made; if the document has changed since, it is not finished.
    pub seen: Option<String>,
}

/// How often `abandon` starts again when the document is saved at the same time.
const TRIES: usize = 3;

/// The report of `interview finish`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterviewFinishReport {
    /// The document, as it was named.
    pub document: PathBuf,
    /// How many questions were answered.
    pub answered: usize,
    /// How many questions were skipped.
    pub skipped: usize,
    /// The sections, and how they changed.
    pub sections: Vec<SectionChange>,
    /// Whether the document was finished earlier, and this only updated its run.
    pub already: bool,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// The report of `interview abandon`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterviewAbandonReport {
    /// The document, as it was named.
    pub document: PathBuf,
    /// The copy with all answers; none if the document does not exist.
    pub copy: Option<PathBuf>,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Writes the answers into their sections and removes the scratch pad, in one atomic replacement.
///
/// # Errors
/// [`crate::interviews::Error::Stopped`] when questions are open, or when something in the pad cannot be read and would
/// be lost.
pub fn finish(cx: &Context, request: &FinishRequest) -> Result<InterviewFinishReport> {
    let file = DocumentFile::at(cx, &request.document)?;
    let seen = text_of(&file)?;
    let before = file.document(&seen);
    if before.settled().is_ok() && before.is_without_pad() {
        // An earlier command may have ended before it updated the run.
        let late = end_in_waiting_runs(&file, &InterviewEnd::Finished);
        if late.was_open {
            let (document, sections, warnings) = (file.named, Vec::new(), late.warnings());
            let (answered, skipped, already) = (0, 0, true);
            return Ok(InterviewFinishReport { document, answered, skipped, sections, already, warnings });
        }
    }
    let script = script_of(&file, &before)?;
    let mut sections = Vec::new();
    let mut last = String::new();
    file.update(&mut |old| {
        let text = old.ok_or_else(InterviewFault::missing)?;
        // An agent may take minutes for its texts, and an answer that came meanwhile would be removed with the pad.
        if let Some(seen) = &request.seen
            && seen != text
        {
            return Err(InterviewFault::ChangedMeanwhile);
        }
        let document = file.document(text);
        let InterviewProgress { step, metadata, .. } = script.outlook(&document, pad(&document)?);
        if !request.early
            && let Step::Open { number, question } | Step::Ask { number, question } = step
        {
            let message = format!(
                "question {number} of {} in {} is open: {}",
                metadata.total_questions,
                file.named.display(),
                question.topic
            );
            let help = Help::from("answer or skip it, or finish with --early; ") + file.suggest("interview next");
            return Err(Problem::new(Kind::Refused, "questions_left", message).help(help + " shows it").into());
        }
        let (finished, made) = document.finish(&script, request.content.as_ref())?;
        (sections, last) = (made, text.to_owned());
        Ok(finished)
    })?;
    let document = file.document(&last);
    let (mut answered, mut skipped) = (0, 0);
    for entry in document.entries() {
        match entry.answer {
            InterviewAnswer::Given(_) => answered += 1,
            InterviewAnswer::Skipped(_) => skipped += 1,
            InterviewAnswer::Open => {}
        }
    }
    // The run comes last: if this command ends before it, the question that is open there shows what is missing.
    let warnings = update_run(&file, &document, Some(&InterviewEnd::Finished));
    Ok(InterviewFinishReport { document: file.named, answered, skipped, sections, already: false, warnings })
}

/// Abandons an interview: makes a copy of the document beside it, and then removes the scratch pad. If the document
/// does not exist, updates only the runs that still wait for the interview.
///
/// # Errors
/// [`crate::interviews::Error::Stopped`] when there is no interview, or when the document keeps changing.
pub fn abandon(cx: &Context, document: &Path) -> Result<InterviewAbandonReport> {
    let file = DocumentFile::at(cx, document)?;
    for _ in 0..TRIES {
        let Some(text) = file.read()? else {
            let late = end_in_waiting_runs(&file, &InterviewEnd::Gone);
            let warnings = late.warnings();
            if late.was_open {
                return Ok(InterviewAbandonReport { document: file.named, copy: None, warnings });
            }
            return Err(match late.not_updated.into_iter().next() {
                Some((_, error)) => error,
                None => file.fault(InterviewFault::missing()),
            });
        };
        let before = file.document(&text);
        before.only_pad().map_err(|error| file.fault(error.into()))?;
        let copy = copy(&file, &text)?;
        // Update the run first: once the pad is gone, the document can no longer tell how the interview ended.
        let warnings = update_run(&file, &before, Some(&InterviewEnd::Abandoned { copy: copy.clone() }));
        let removed = file.update(&mut |now| {
            // The copy does not have what was saved since, so try again with a new one.
            if now != Some(text.as_str()) {
                return Err(InterviewFault::ChangedMeanwhile);
            }
            Ok(before.without_pad()?)
        });
        match removed {
            Err(Error::Stopped { fault: InterviewFault::ChangedMeanwhile, .. }) => {}
            Err(error) => return Err(error),
            Ok(()) => {
                return Ok(InterviewAbandonReport { document: file.named, copy: Some(copy), warnings });
            }
        }
    }
    Err(file.fault(InterviewFault::ChangedMeanwhile))
}

/// Copies the document to a file beside it, with the time in its name.
fn copy(file: &DocumentFile, text: &str) -> Result<PathBuf> {
    let stem = file.named.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = file.named.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    let now = file.cx.now().compact();
    let mut nth = 1;
    loop {
        let more = if nth > 1 { format!("-{nth}") } else { String::new() };
        let copy = file.copy(&format!("{stem}.abandoned-{now}{more}{ending}"));
        let made = copy.update(&mut |there| match there {
            // Another copy of the same second, which must not be overwritten.
            Some(other) if other != text => Err(InterviewFault::ChangedMeanwhile),
            _ => Ok(text.to_owned()),
        });
        match made {
            Err(Error::Stopped { fault: InterviewFault::ChangedMeanwhile, .. }) if nth < 100 => nth += 1,
            made => return made.map(|()| copy.named),
        }
    }
}

/// Reads texts for sections: an object with section ids as keys, or a whole reply of an interviewer with such an
/// object.
///
/// # Errors
/// `invalid_document` for anything else.
pub fn read_content(source: &Source) -> Result<Map<String, Value>> {
    let value = parse_json(&source.text).map_err(|error| bad_content(source, format!("it is not JSON: {error}")))?;
    let Value::Object(mut sections) = value else {
        return Err(bad_content(source, "it is not an object of sections".to_owned()));
    };
    for key in ["content", "charter_content"] {
        // A section may have such an id; its text is a string.
        if let Some(Value::Object(_)) = sections.get(key)
            && let Some(Value::Object(inner)) = sections.shift_remove(key)
        {
            sections = inner;
            break;
        }
    }
    for (id, text) in &sections {
        if !text.is_string() && !text.is_null() {
            let id: String = id.chars().take(60).collect();
            return Err(bad_content(source, format!("the section `{id}` is not a string")));
        }
    }
    Ok(sections)
}

fn bad_content(source: &Source, why: String) -> Error {
    Error::Run(runs::Error::input_json(&source.origin, why))
}
