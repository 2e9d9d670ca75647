//! What every front end produces: the names of a definition, with the places where they stand.

use std::ops::Range;

use serde_json::{Map, Value};
use smol_str::SmolStr;

use crate::codec::{Node, Place};
use crate::machine::Notation;

/// A definition as it was written, before any check.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineSource {
    /// The workflow's id.
    pub id: Name,
    /// The workflow's version.
    pub version: u64,
    /// The notation it was written in.
    pub notation: Notation,
    /// The states in the order of the text, each where it is declared.
    pub states: Vec<SourceState>,
    /// The states a run can start in; a repeat counts once.
    pub initial: Vec<Name>,
    /// The states a run can end in; a repeat counts once.
    pub terminal: Vec<Name>,
    /// The transitions in the order of the text.
    pub transitions: Vec<SourceTransition>,
}

/// A declared state.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceState {
    /// Its name.
    pub name: Name,
    /// What people read instead of the name.
    pub label: Option<String>,
    /// Its type, in the words of the notation.
    pub kind: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// What else it says, for whoever does it.
    pub config: Map<String, Value>,
}

/// A declared transition.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceTransition {
    /// Where it leaves.
    pub from: Name,
    /// Where it leads; problems with the transition are reported here.
    pub to: Name,
    /// When it is taken, for people.
    pub label: Option<String>,
}

/// A name in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: SmolStr,
    /// Its bytes in the text.
    pub span: Range<usize>,
    /// Its place in the text.
    pub place: Place,
}

impl Name {
    /// A name that stands in no text; it is reported at the text's beginning.
    #[must_use]
    pub fn nowhere(text: impl Into<SmolStr>) -> Self {
        Self { text: text.into(), span: 0..0, place: Place { line: 1, column: 1 } }
    }

    /// The name that a YAML node holds.
    #[must_use]
    pub fn of_node(node: &Node) -> Self {
        Self { text: node.text().unwrap_or_default().into(), span: node.span.clone(), place: node.place }
    }
}
