//! A diagram: its nodes and edges with their places.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::StateName;

/// A workflow as a diagram, in pixels from the left upper corner. It is the same for the same machine.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Diagram {
    /// How wide it is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
    /// The states in the order of the definition, between where runs begin and where they end.
    pub nodes: Vec<DiagramNode>,
    /// What leads from node to node.
    pub edges: Vec<DiagramEdge>,
    /// How many states of the workflow are not drawn.
    pub left_out: usize,
}

/// A state, or a place where runs begin or end.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DiagramNode {
    /// What it is.
    pub kind: NodeKind,
    /// The state's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<StateName>,
    /// The text in it: the state's label if that is short, otherwise its name, shortened.
    pub label: String,
    /// More about the state: its label or description, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Its left side.
    pub x: f64,
    /// Its upper side.
    pub y: f64,
    /// How wide it is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
}

/// What a node of a diagram is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// A run can begin here: an edge leads to an initial state.
    Begin,
    /// A state.
    State,
    /// A run can end here: edges lead here from the terminal states.
    End,
}

/// One or more transitions from a state to another one or to itself, or a begin or an end.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DiagramEdge {
    /// The index of the node that it leaves.
    pub from: usize,
    /// The index of the node to which it leads.
    pub to: usize,
    /// Its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<DiagramLabel>,
    /// The corners of its way, each as `[x, y]`: at least two.
    pub points: Vec<[f64; 2]>,
}

/// The label of an edge.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DiagramLabel {
    /// The labels of its transitions, joined and shortened.
    pub text: String,
    /// Its left side.
    pub x: f64,
    /// Its upper side.
    pub y: f64,
    /// How wide it is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
}

impl DiagramNode {
    /// Whether lines end at a circle.
    pub(super) fn is_round(&self) -> bool {
        self.kind != NodeKind::State
    }

    pub(super) fn middle(&self) -> [f64; 2] {
        [self.x + self.width / 2.0, self.y + self.height / 2.0]
    }
}
