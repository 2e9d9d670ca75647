//! Workflows as callers see them.

use serde::Serialize;

use crate::machine::{Diagnostic, Notation};
use crate::model::{StateName, WorkflowId};

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
    pub states: Vec<StateReport>,
    /// Where runs begin.
    pub initial: Vec<StateName>,
    /// Where runs can end.
    pub terminal: Vec<StateName>,
    /// The transitions in order.
    pub transitions: Vec<TransitionReport>,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// A state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StateReport {
    /// Its name.
    pub name: StateName,
    /// Its title.
    pub label: Option<String>,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// What it is about.
    pub description: Option<String>,
}

/// A transition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransitionReport {
    /// From.
    pub from: StateName,
    /// To.
    pub to: StateName,
    /// Its label.
    pub label: Option<String>,
}
