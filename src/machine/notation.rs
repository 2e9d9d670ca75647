//! The notations in which a workflow can be written.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The notation of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Notation {
    /// Ordered phases in YAML.
    Phases,
    /// A Mermaid state diagram.
    Mermaid,
    /// A graph of states in YAML.
    Graph,
}

impl Notation {
    /// The name, as in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Phases => "phases",
            Self::Mermaid => "mermaid",
            Self::Graph => "graph",
        }
    }
}

impl fmt::Display for Notation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
