//! Interviews.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::interview::{Fault, Fill, Metadata, Mode, SectionChange};
use crate::model::RunId;

/// What comes next, in one word (seed 004).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    pub command: Option<String>,
}

/// The answer of `interview start`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InterviewStartReport {
    /// The document, as it was named.
    pub document: PathBuf,
    /// What was found: nothing, a document, or an interview.
    pub mode: Mode,
    /// The script.
    pub script: String,
    /// The run that it belongs to.
    pub run_id: Option<RunId>,
    /// Whether an interview was begun: not when one goes on, nor when there is nothing to ask.
    pub begun: bool,
    /// What comes next.
    pub next: InterviewNext,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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

/// The answer of `interview answer` and `interview skip`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InterviewAnswerReport {
    /// The document, as it was named.
    pub document: PathBuf,
    /// The number of the question.
    pub question: u32,
    /// What it is about.
    pub topic: String,
    /// What became of it.
    pub status: EntryStatus,
    /// Whether the same stood there already.
    pub repeated: bool,
    /// What comes next.
    pub next: InterviewNext,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// A question of the scratch pad.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// A section of the script, as the document has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InterviewSection {
    /// Its name in the script.
    pub id: String,
    /// Its heading.
    pub heading: String,
    /// How much stands in it.
    pub fill: Fill,
    /// The line of its heading; none when the document has no such section.
    pub line: Option<usize>,
}

/// The answer of `interview status`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InterviewStatusReport {
    /// The document, as it was named.
    pub document: PathBuf,
    /// How the interview began.
    pub mode: Mode,
    /// The script.
    pub script: String,
    /// When it began, as the document says.
    pub started: Option<String>,
    /// The run that it belongs to.
    pub run_id: Option<String>,
    /// The questions, in the order in which they stand.
    pub entries: Vec<InterviewEntry>,
    /// The sections.
    pub sections: Vec<InterviewSection>,
    /// What in the pad cannot be read.
    pub problems: Vec<Fault>,
    /// What comes next.
    pub next: InterviewNext,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// The answer of `interview finish`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InterviewFinishReport {
    /// The document, as it was named.
    pub document: PathBuf,
    /// How many questions were answered.
    pub answered: usize,
    /// How many were passed over.
    pub skipped: usize,
    /// The sections.
    pub sections: Vec<SectionChange>,
    /// Whether it was finished already, and only its run did not know.
    pub already: bool,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// The answer of `interview abandon`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InterviewAbandonReport {
    /// The document, as it was named.
    pub document: PathBuf,
    /// The copy with everything that was answered; none when the document was gone.
    pub copy: Option<PathBuf>,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// Why a conversation stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InterviewStop {
    /// The document is finished.
    Finished,
    /// There was nothing to ask.
    Nothing,
    /// A question waits, and nobody is there to answer it.
    NeedsHuman,
    /// The interviewer cannot go on.
    Failed,
}

impl InterviewStop {
    /// As in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Nothing => "nothing",
            Self::NeedsHuman => "needs_human",
            Self::Failed => "failed",
        }
    }
}

/// The answer of `interview run`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InterviewRunReport {
    /// The document, as it was named.
    pub document: PathBuf,
    /// Why it stopped, in one word.
    pub stop: InterviewStop,
    /// Why it stopped.
    pub reason: String,
    /// How many questions were answered or passed over in this conversation.
    pub answered: usize,
    /// The sections, when it is finished.
    pub sections: Vec<SectionChange>,
    /// What is odd.
    pub warnings: Vec<String>,
}
