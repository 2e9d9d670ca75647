//! The reply of an interviewer: a question, nothing to ask, the content of the sections, or an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The progress of an interview.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Metadata {
    /// The number of the question; of the last one, if there is no next one.
    pub question_number: u32,
    /// The number of questions, as far as it is known.
    pub total_questions: u32,
    /// The number of sections that are neither filled nor answered.
    pub gaps_remaining: u32,
}

/// The JSON object with which an interviewer replies (rp1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reply {
    /// Ask a question.
    NextQuestion {
        /// The question.
        next_question: String,
        /// The topic, by which the section for the answer is found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        topic: Option<String>,
        /// The progress of the interview.
        #[serde(default)]
        metadata: Metadata,
    },
    /// There is nothing to ask: the document is complete as it is.
    Skip {
        /// Why.
        message: String,
        /// The progress of the interview.
        #[serde(default)]
        metadata: Metadata,
    },
    /// All questions are asked.
    Success {
        /// A message for people.
        #[serde(default)]
        message: String,
        /// Whether no gap is left.
        #[serde(default, alias = "charter_complete", skip_serializing_if = "Option::is_none")]
        complete: Option<bool>,
        /// Texts for sections, by section id.
        #[serde(default, alias = "charter_content")]
        content: Map<String, Value>,
        /// The progress of the interview.
        #[serde(default)]
        metadata: Metadata,
    },
    /// The interviewer cannot continue.
    Error {
        /// Why not.
        message: String,
        /// The progress of the interview.
        #[serde(default)]
        metadata: Metadata,
    },
}
