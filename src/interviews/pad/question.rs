//! A question of an interview, and the form in which its topic is compared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question of an interview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Question")]
pub struct InterviewQuestion {
    /// Its topic, in a few words.
    pub topic: String,
    /// The text of the question.
    pub asked: String,
}

/// The form in which headings, topics and ids are compared.
pub(super) fn folded(name: &str) -> String {
    // People write a colon behind a heading, or leave it out.
    name.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(':').to_lowercase()
}
