//! `interview next`: what comes next in an interview, which every other verb tells as well.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::interviews::document_file::{DocumentFile, pad, script_of};
use crate::interviews::error::Result;
use crate::interviews::pad::{Answer, Document, Entry, Metadata, Mode, Outlook, Pad, Script, Step};
use crate::model::Suggestion;
use crate::runs::context::Context;

/// What comes next, in one word (rp1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterviewStep {
    /// A question waits for its answer, or is to be asked.
    NextQuestion,
    /// There is nothing to ask.
    Skip,
    /// All is asked.
    Success,
}

/// The answer of `interview next`, and what other answers say of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterviewNext {
    /// In one word.
    #[serde(rename = "type")]
    pub kind: InterviewStep,
    /// The document, as it was named.
    pub document: PathBuf,
    /// How the interview began.
    pub mode: Mode,
    /// The question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_question: Option<String>,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// What to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When all is asked: whether all that the script needs is there or answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
    /// When all is asked: what sections will hold by the answers, as Markdown, by their ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
    /// How far the interview is.
    pub metadata: Metadata,
    /// The next command.
    pub command: Option<Suggestion>,
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryStatus {
    /// Nothing yet.
    Open,
    /// It was answered.
    Answered,
    /// It was passed over.
    Skipped,
}

impl EntryStatus {
    /// As in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered => "answered",
            Self::Skipped => "skipped",
        }
    }
}

/// A question of the scratch pad.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterviewEntry {
    /// Its number.
    pub number: u32,
    /// What it is about.
    pub topic: String,
    /// What was asked.
    pub asked: String,
    /// What became of it.
    pub status: EntryStatus,
    /// The answer, or why it was passed over.
    pub answer: Option<String>,
    /// The line of its heading.
    pub line: usize,
}

/// What is known about a document in one moment.
pub(super) struct InterviewState<'d> {
    pub(super) document: &'d Document<'d>,
    pub(super) pad: &'d Pad,
    pub(super) script: &'d Script,
    pub(super) outlook: Outlook,
}

impl<'d> InterviewState<'d> {
    pub(super) fn of(file: &DocumentFile, document: &'d Document<'_>, script: &'d Script) -> Result<Self> {
        let pad = pad(document).map_err(|fault| file.fault(fault))?;
        Ok(Self { document, pad, script, outlook: script.outlook(document, pad) })
    }
}

/// What comes next. Writes nothing.
///
/// # Errors
/// [`Error::Stopped`](crate::interviews::Error::Stopped) when there is no interview in the document, or it cannot be read.
pub fn next(cx: &Context, document: &Path) -> Result<InterviewNext> {
    let file = DocumentFile::at(cx, document)?;
    let text = file.text()?;
    let document = file.document(&text);
    let script = script_of(cx, &file, &document)?;
    Ok(next_of(&file, &InterviewState::of(&file, &document, &script)?))
}

pub(super) fn entry(entry: &Entry) -> InterviewEntry {
    let (status, answer) = match &entry.answer {
        Answer::Open => (EntryStatus::Open, None),
        Answer::Given(text) => (EntryStatus::Answered, Some(text.clone())),
        Answer::Skipped(why) => (EntryStatus::Skipped, Some(why.clone())),
    };
    let Entry { number, topic, asked, line, .. } = entry.clone();
    InterviewEntry { number, topic, asked, status, answer, line }
}

/// What in a pad cannot be read, a warning each.
pub(super) fn faults(pad: &Pad) -> Vec<String> {
    pad.faults.iter().map(|fault| format!("line {} of the scratch pad: {}", fault.line, fault.message)).collect()
}

/// What comes next, as callers see it.
pub(super) fn next_of(file: &DocumentFile, standing: &InterviewState<'_>) -> InterviewNext {
    let InterviewState { document, pad, script, outlook } = standing;
    let blank = InterviewNext {
        kind: InterviewStep::NextQuestion,
        document: file.named.clone(),
        mode: pad.mode(),
        next_question: None,
        topic: None,
        message: None,
        complete: None,
        content: None,
        metadata: outlook.metadata,
        command: None,
    };
    match &outlook.step {
        Step::Open { number, question } | Step::Ask { number, question } => InterviewNext {
            next_question: Some(question.asked.clone()),
            topic: Some(question.topic.clone()),
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

/// Why nothing is asked.
pub(super) fn why_nothing(outlook: &Outlook) -> &'static str {
    match outlook {
        Outlook { metadata: Metadata { gaps_remaining: 0, .. }, .. } => {
            "every section is filled, so there is nothing to ask"
        }
        Outlook { is_enough: true, .. } => "all that is needed is there, so there is nothing to ask",
        _ => "the script has no question about what is missing",
    }
}

/// A document in which no interview is begun.
pub(super) fn nothing(file: &DocumentFile, why: &str, metadata: Metadata) -> InterviewNext {
    InterviewNext {
        kind: InterviewStep::Skip,
        document: file.named.clone(),
        mode: Mode::Update,
        next_question: None,
        topic: None,
        message: Some(why.to_owned()),
        complete: None,
        content: None,
        metadata,
        command: None,
    }
}
