//! What an interviewer answers: a question, that there is none, what it made of the answers, or that it cannot go on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How far an interview is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Metadata {
    /// The number of the question; of the last one, when none comes.
    pub question_number: u32,
    /// How many there are, as far as is known.
    pub total_questions: u32,
    /// How many sections are neither filled nor answered.
    pub gaps_remaining: u32,
}

/// The one JSON object of an interviewer (rp1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reply {
    /// Ask this.
    NextQuestion {
        /// The question.
        next_question: String,
        /// What it is about; by it the section is found that its answer fills.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        topic: Option<String>,
        /// How far the interview is.
        #[serde(default)]
        metadata: Metadata,
    },
    /// There is nothing to ask: the document is complete as it is.
    Skip {
        /// Why.
        message: String,
        /// How far the interview is.
        #[serde(default)]
        metadata: Metadata,
    },
    /// All is asked.
    Success {
        /// What to tell.
        #[serde(default)]
        message: String,
        /// Whether no gap is left.
        #[serde(default, alias = "charter_complete", skip_serializing_if = "Option::is_none")]
        complete: Option<bool>,
        /// What belongs into the sections, by their ids.
        #[serde(default, alias = "charter_content")]
        content: Map<String, Value>,
        /// How far the interview is.
        #[serde(default)]
        metadata: Metadata,
    },
    /// It cannot go on.
    Error {
        /// Why not.
        message: String,
        /// How far the interview is.
        #[serde(default)]
        metadata: Metadata,
    },
}
