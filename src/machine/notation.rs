//! The notations in which a workflow can be written.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::named;

named! {
    /// The notation of a definition.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
    pub enum Notation {
        /// Ordered phases in YAML.
        Phases = "phases",
        /// A Mermaid state diagram.
        Mermaid = "mermaid",
        /// A graph of states in YAML.
        Graph = "graph",
    }
}
