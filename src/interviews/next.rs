//! `interview next`: the next step of an interview, which the reports of other verbs contain too.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::interviews::document_file::{DocumentFile, pad, script_of};
use crate::interviews::error::Result;
use crate::interviews::gone::text_of;
use crate::interviews::pad::{
    InterviewAnswer, InterviewDocument, InterviewProgress, Metadata, Pad, PadEntry, PadMode, Script, Step,
};
use crate::model::{Suggestion, named};
use crate::runs::context::Context;

/// The type of the next step (rp1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterviewStep {
    /// A question is open, or has to be asked.
    NextQuestion,
    /// There is nothing to ask.
    Skip,
    /// All questions are asked.
    Success,
}

/// The next step of an interview.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterviewNext {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: InterviewStep,
    /// The document, as it was named.
    pub document: PathBuf,
    /// How the interview began.
    pub mode: PadMode,
    /// The text of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_question: Option<String>,
    /// The topic of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// A message for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// With `success`: whether everything that the script requires is present or answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
    /// With `success`: the future content of sections, as Markdown, by section id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
    /// The progress of the interview.
    pub metadata: Metadata,
    /// The next command.
    pub command: Option<Suggestion>,
}

impl InterviewNext {
    /// What it says to people: the question, otherwise the message.
    #[must_use]
    pub fn words(&self) -> &str {
        self.next_question.as_deref().or(self.message.as_deref()).unwrap_or_default()
    }
}

named! {
    /// The status of a question.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    pub enum EntryStatus {
        /// Not answered yet.
        Open = "open",
        /// It was answered.
        Answered = "answered",
        /// It was skipped.
        Skipped = "skipped",
    }
}

/// A question in the scratch pad.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterviewEntry {
    /// Its number.
    pub number: u32,
    /// Its topic.
    pub topic: String,
    /// The text of the question.
    pub asked: String,
    /// Its status.
    pub status: EntryStatus,
    /// The answer, or the reason why it was skipped.
    pub answer: Option<String>,
    /// The line of its heading, from 1.
    pub line: usize,
}

/// A document, its script and its scratch pad at one moment.
pub(super) struct InterviewState<'d> {
    pub(super) document: &'d InterviewDocument<'d>,
    pub(super) pad: &'d Pad,
    pub(super) script: &'d Script,
    pub(super) outlook: InterviewProgress,
}

impl<'d> InterviewState<'d> {
    pub(super) fn of(file: &DocumentFile, document: &'d InterviewDocument<'_>, script: &'d Script) -> Result<Self> {
        let pad = pad(document).map_err(|fault| file.fault(fault))?;
        Ok(Self { document, pad, script, outlook: script.outlook(document, pad) })
    }
}

/// The next step. Writes nothing.
///
/// # Errors
/// [`Error::Stopped`](crate::interviews::Error::Stopped) when the document has no interview, or one that cannot be
/// read.
pub fn next(cx: &Context, document: &Path) -> Result<InterviewNext> {
    let file = DocumentFile::at(cx, document)?;
    let text = text_of(&file)?;
    let document = file.document(&text);
    let script = script_of(&file, &document)?;
    Ok(next_of(&file, &InterviewState::of(&file, &document, &script)?))
}

pub(super) fn entry(entry: &PadEntry) -> InterviewEntry {
    let (status, answer) = match &entry.answer {
        InterviewAnswer::Open => (EntryStatus::Open, None),
        InterviewAnswer::Given(text) => (EntryStatus::Answered, Some(text.clone())),
        InterviewAnswer::Skipped(why) => (EntryStatus::Skipped, Some(why.clone())),
    };
    let PadEntry { number, topic, asked, line, .. } = entry.clone();
    InterviewEntry { number, topic, asked, status, answer, line }
}

/// A warning for everything in a pad that cannot be read.
pub(super) fn faults(pad: &Pad) -> Vec<String> {
    pad.faults.iter().map(|fault| format!("line {} of the scratch pad: {}", fault.line, fault.message)).collect()
}

/// The next step as reports show it.
pub(super) fn next_of(file: &DocumentFile, standing: &InterviewState<'_>) -> InterviewNext {
    let InterviewState { document, pad, script, outlook } = standing;
    let blank = blank(file, InterviewStep::NextQuestion, pad.mode(), outlook.metadata);
    match &outlook.step {
        Step::Open { number, question } | Step::Ask { number, question } => InterviewNext {
            next_question: Some(question.asked.clone()),
            topic: Some(question.topic.clone()),
            // With the number, so that a late answer cannot meet another question.
            command: Some(file.suggest("interview answer").option("question", number).example_value("TEXT")),
            ..blank
        },
        Step::Complete => InterviewNext {
            kind: InterviewStep::Success,
            message: Some("all questions are asked".to_owned()),
            complete: Some(outlook.is_enough),
            content: Some(document.content(script)),
            command: Some(file.suggest("interview finish")),
            ..blank
        },
        Step::Nothing => InterviewNext {
            kind: InterviewStep::Skip,
            message: Some(why_nothing(outlook).to_owned()),
            command: Some(file.suggest("interview finish")),
            ..blank
        },
    }
}

/// Why there is nothing to ask.
pub(super) fn why_nothing(outlook: &InterviewProgress) -> &'static str {
    if outlook.metadata.gaps_remaining == 0 {
        "every section is filled, so there is nothing to ask"
    } else if outlook.is_enough {
        "all that is needed is there, so there is nothing to ask"
    } else {
        "the script has no question about what is missing"
    }
}

/// The next step for a document in which no interview begins.
pub(super) fn nothing(file: &DocumentFile, why: &str, metadata: Metadata) -> InterviewNext {
    let message = Some(why.to_owned());
    InterviewNext { message, ..blank(file, InterviewStep::Skip, PadMode::Update, metadata) }
}

fn blank(file: &DocumentFile, kind: InterviewStep, mode: PadMode, metadata: Metadata) -> InterviewNext {
    InterviewNext {
        kind,
        document: file.named.clone(),
        mode,
        next_question: None,
        topic: None,
        message: None,
        complete: None,
        content: None,
        metadata,
        command: None,
    }
}
