//! A workflow drawn in every way, for `flow workflow graph`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::machine::{Machine, Notation, picture, write};
use crate::model::WorkflowId;
use crate::picture::diagram::{Diagram, diagram};

/// A drawing of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkflowGraphReport {
    /// Its id.
    pub id: WorkflowId,
    /// A Mermaid diagram.
    pub mermaid: String,
    /// A picture made of characters.
    pub picture: String,
    /// The places of its states and transitions.
    pub diagram: Diagram,
}

impl WorkflowGraphReport {
    /// The drawing of `machine`.
    #[must_use]
    pub fn new(machine: &Machine) -> Self {
        Self {
            id: machine.id().clone(),
            mermaid: write(machine, Notation::Mermaid, None).text,
            picture: picture(machine),
            diagram: diagram(machine, &[]),
        }
    }
}
