//! Workflows as callers see them.

use serde::Serialize;

use crate::machine::{Diagnostic, Notation, State, Transition};
use crate::model::{RunId, Seq, StateName, WorkflowId};

/// The known workflows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkflowListReport {
    /// By id.
    pub workflows: Vec<WorkflowEntry>,
}

/// One known workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkflowEntry {
    /// Its id.
    pub id: String,
    /// Its notation.
    pub notation: Notation,
    /// `shipped`, or the file.
    pub origin: String,
    /// What it is for.
    pub description: Option<String>,
    /// Why it cannot be used.
    pub error: Option<String>,
}

/// A compiled workflow, or what is wrong with it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkflowReport {
    /// Its id.
    pub id: Option<WorkflowId>,
    /// Its notation.
    pub notation: Notation,
    /// `shipped`, or the file.
    pub origin: String,
    /// Its states in order.
    pub states: Vec<State>,
    /// Where runs begin.
    pub initial: Vec<StateName>,
    /// Where runs can end.
    pub terminal: Vec<StateName>,
    /// The transitions in order.
    pub transitions: Vec<Transition>,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// A run that follows another definition of its workflow, or does so already.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkflowAdoptReport {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// Where it stands.
    pub phase: Option<StateName>,
    /// Its last event.
    pub seq: Seq,
    /// Whether anything changed.
    pub changed: bool,
    /// What changed.
    pub differences: Vec<String>,
    /// What went wrong beside that.
    pub warnings: Vec<String>,
}

/// A workflow drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkflowGraphReport {
    /// Its id.
    pub id: WorkflowId,
    /// A Mermaid diagram.
    pub mermaid: String,
    /// A picture of characters.
    pub picture: String,
}

/// A workflow in another notation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkflowConvertReport {
    /// Its id.
    pub id: WorkflowId,
    /// The notation it was written in.
    pub from: Notation,
    /// The notation it is written in now.
    pub to: Notation,
    /// The definition.
    pub text: String,
    /// What the other notation does not say.
    pub losses: Vec<String>,
}
