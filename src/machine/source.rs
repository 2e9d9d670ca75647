//! The output of every front end: the names in a definition, with their places.

use std::ops::Range;

use serde::Deserialize;
use serde_json::{Map, Value};
use smol_str::SmolStr;

use crate::codec::{Node, Place};
use crate::machine::notation::Notation;

/// The value of `gate` for a state that only a person lets a run leave.
pub(super) const PERSON: &str = "person";

/// A definition before any checks. It is read as a run pins it, in the format of
/// [`Machine::to_value`](crate::machine::Machine::to_value).
#[derive(Debug, Clone, PartialEq, Deserialize)]
// So that messages about what a run pinned stay as they were.
#[serde(expecting = "struct Pinned")]
pub struct MachineSource {
    /// The workflow's id.
    pub id: Name,
    /// The workflow's version.
    pub version: u64,
    /// The notation of the definition.
    pub notation: Notation,
    /// The states, in the order of their declarations.
    pub states: Vec<SourceState>,
    /// The states in which a run can start. Repeats are ignored.
    pub initial: Vec<Name>,
    /// The states in which a run can end. Repeats are ignored.
    #[serde(default)]
    pub terminal: Vec<Name>,
    /// The states that only a person lets a run leave. Repeats are ignored.
    #[serde(default)]
    pub gates: Vec<Name>,
    /// What must have been seen to pass before a run leaves a state. Repeats are ignored.
    #[serde(default)]
    pub requires: Vec<SourceRequirement>,
    /// The transitions in the order of the text.
    #[serde(default)]
    pub transitions: Vec<SourceTransition>,
}

impl MachineSource {
    /// A definition of version 1 without states.
    pub(super) fn new(id: Name, notation: Notation) -> Self {
        Self {
            id,
            version: 1,
            notation,
            states: Vec::new(),
            initial: Vec::new(),
            terminal: Vec::new(),
            gates: Vec::new(),
            requires: Vec::new(),
            transitions: Vec::new(),
        }
    }
}

/// A declared state.
#[derive(Debug, Clone, PartialEq, Deserialize)]
// As above.
#[serde(expecting = "struct PinnedState")]
pub struct SourceState {
    /// Its name.
    pub name: Name,
    /// A label to show instead of the name.
    pub label: Option<String>,
    /// Its type, as the notation calls it.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// A description.
    pub description: Option<String>,
    /// Further settings, for whatever runs the state.
    #[serde(default)]
    pub config: Map<String, Value>,
}

impl SourceState {
    /// A state of which only the name is known.
    pub(super) fn named(name: Name) -> Self {
        Self { name, label: None, kind: None, description: None, config: Map::new() }
    }
}

/// A command that must have been seen to pass before a run leaves a state.
#[derive(Debug, Clone, PartialEq, Deserialize)]
// As above.
#[serde(expecting = "struct PinnedRequirement")]
pub struct SourceRequirement {
    /// The state.
    pub state: Name,
    /// The name of the command.
    pub exec: Name,
    /// Whether it must have passed on the files as they are then.
    #[serde(default = "by_default")]
    pub fresh: bool,
    /// Whether it is asked for only where the project names the command.
    #[serde(default)]
    pub if_named: bool,
}

fn by_default() -> bool {
    true
}

/// A declared transition.
#[derive(Debug, Clone, PartialEq, Deserialize)]
// As above.
#[serde(expecting = "struct PinnedTransition")]
pub struct SourceTransition {
    /// The state that it leaves.
    pub from: Name,
    /// The state to which it leads. Problems of the transition are reported here.
    pub to: Name,
    /// A label: when it is taken, for people.
    pub label: Option<String>,
}

/// A name in a text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Name {
    /// The name.
    pub text: SmolStr,
    /// Its bytes in the text.
    pub span: Range<usize>,
    /// Its place in the text.
    pub place: Place,
}

impl Name {
    /// A name without a place in the text. Its problems are reported at the beginning of the text.
    #[must_use]
    pub fn nowhere(text: impl Into<SmolStr>) -> Self {
        Self { text: text.into(), span: 0..0, place: Place { line: 1, column: 1 } }
    }

    /// The name in a YAML node.
    #[must_use]
    pub fn of_node(node: &Node) -> Self {
        Self { text: node.text().unwrap_or_default().into(), span: node.span.clone(), place: node.place }
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self::nowhere(text)
    }
}
