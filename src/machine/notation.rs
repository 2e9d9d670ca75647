//! The notations in which a workflow can be written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::named;

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

named!(Notation {
    Phases => "phases",
    Mermaid => "mermaid",
    Graph => "graph",
});
