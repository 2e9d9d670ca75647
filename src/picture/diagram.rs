//! The places of a workflow's states and transitions in a diagram.

mod around;
mod layout;
mod routes;
mod shape;
mod ways;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::machine::{Machine, State};
use crate::model::StateName;
use crate::picture::text::{FONT, SMALL_FONT, fits, in_one_line, pixels, shortened};
use around::shown_states;
use layout::{Line, place};
use shape::Shape;
use ways::Ways;

/// The most columns of a label.
const COLUMNS: usize = 24;
/// The most columns of what is said about a state.
const ABOUT: usize = 160;
/// The height of a state, in pixels.
const HEIGHT: f64 = 30.0;
/// The room in a state beside its label, in pixels: for a mark, a number of visits and some space.
const ROOM: f64 = 60.0;
/// The diameter of the circles where runs begin and end, in pixels.
const CIRCLE: f64 = 14.0;
/// The height of a transition's label, in pixels.
const LABEL_HEIGHT: f64 = 14.0;
/// The space around the whole, in pixels.
const MARGIN: f64 = 8.0;

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

/// Places the states and transitions of `machine`. Of a large machine only what is near the states in `around` is
/// drawn, or near the initial states if `around` names no state of the machine.
#[must_use]
pub fn diagram(machine: &Machine, around: &[StateName]) -> Diagram {
    let shown = shown_states(&Ways::of(machine), around);
    let mut draft = Draft::default();
    draft.add_begins(machine, &shown);
    draft.add_states(machine, &shown);
    draft.add_edges(machine);
    draft.add_end(machine);
    draft.finish(machine.states().len() - shown.len())
}

/// A diagram whose nodes and edges have no places yet.
#[derive(Default)]
struct Draft<'m> {
    nodes: Vec<DiagramNode>,
    edges: Vec<DiagramEdge>,
    /// The index of the node of each drawn state.
    index: HashMap<&'m StateName, usize>,
}

impl<'m> Draft<'m> {
    /// Adds a node before each initial state. They come first, because a layout follows the edges from the first nodes
    /// to find out which ones lead back.
    fn add_begins(&mut self, machine: &'m Machine, shown: &[usize]) {
        let names = shown.iter().map(|&at| &machine.states()[at].name);
        let begins = names.filter(|name| machine.initial().contains(name)).count();
        self.nodes.extend((0..begins).map(|_| circle(NodeKind::Begin)));
    }

    fn add_states(&mut self, machine: &'m Machine, shown: &[usize]) {
        let mut begin = 0;
        for state in shown.iter().map(|&at| &machine.states()[at]) {
            let at = self.nodes.len();
            self.index.insert(&state.name, at);
            self.nodes.push(node_of(state));
            if machine.initial().contains(&state.name) {
                self.add_edge(begin, at, None);
                begin += 1;
            }
        }
    }

    /// Adds an edge for all transitions between the same two states.
    fn add_edges(&mut self, machine: &'m Machine) {
        let mut labels: HashMap<(usize, usize), Vec<String>> = HashMap::new();
        let mut order = Vec::new();
        for one in machine.transitions() {
            let (Some(&from), Some(&to)) = (self.index.get(&one.from), self.index.get(&one.to)) else { continue };
            let joined = labels.entry((from, to)).or_insert_with(|| {
                order.push((from, to));
                Vec::new()
            });
            let label = one.label.as_deref().map(in_one_line).unwrap_or_default();
            if !label.is_empty() && !joined.contains(&label) && joined.len() < COLUMNS {
                joined.push(label);
            }
        }
        for (from, to) in order {
            let text = labels.get(&(from, to)).filter(|texts| !texts.is_empty()).map(|texts| texts.join(", "));
            self.add_edge(from, to, text);
        }
    }

    fn add_end(&mut self, machine: &Machine) {
        let terminal: Vec<usize> = machine.terminal().iter().filter_map(|name| self.index.get(name).copied()).collect();
        if terminal.is_empty() {
            return;
        }
        let end = self.nodes.len();
        self.nodes.push(circle(NodeKind::End));
        for from in terminal {
            self.add_edge(from, end, None);
        }
    }

    fn add_edge(&mut self, from: usize, to: usize, text: Option<String>) {
        let label = text.map(|text| {
            let text = shortened(&text, COLUMNS);
            DiagramLabel { width: pixels(&text, SMALL_FONT), height: LABEL_HEIGHT, text, x: 0.0, y: 0.0 }
        });
        self.edges.push(DiagramEdge { from, to, label, points: Vec::new() });
    }

    /// The diagram with the places that a layout gives.
    fn finish(mut self, left_out: usize) -> Diagram {
        let shape = |node: &DiagramNode| Shape {
            width: node.width,
            height: node.height,
            is_round: node.kind != NodeKind::State,
        };
        let line = |edge: &DiagramEdge| Line {
            from: edge.from,
            to: edge.to,
            label: edge.label.as_ref().map(|label| (label.width, label.height)),
        };
        let shapes: Vec<Shape> = self.nodes.iter().map(shape).collect();
        let lines: Vec<Line> = self.edges.iter().map(line).collect();
        let layout = place(&shapes, &lines);
        for (node, corner) in self.nodes.iter_mut().zip(layout.nodes) {
            [node.x, node.y] = corner;
        }
        for (edge, route) in self.edges.iter_mut().zip(layout.routes) {
            edge.points = route.points;
            if let (Some(label), Some(corner)) = (&mut edge.label, route.label) {
                [label.x, label.y] = corner;
            }
        }
        let mut diagram = Diagram { width: 0.0, height: 0.0, nodes: self.nodes, edges: self.edges, left_out };
        diagram.move_to_margin();
        diagram
    }
}

impl Diagram {
    /// Moves everything to the margin, rounds it, and sets the size.
    fn move_to_margin(&mut self) {
        let corners: Vec<[f64; 2]> = self.corners().collect();
        let least = |axis: usize| corners.iter().map(|corner| corner[axis]).fold(f64::INFINITY, f64::min);
        let shift = [MARGIN - least(0), MARGIN - least(1)];
        for node in &mut self.nodes {
            moved(&mut node.x, &mut node.y, shift);
            node.width = rounded(node.width);
        }
        for edge in &mut self.edges {
            for [x, y] in &mut edge.points {
                moved(x, y, shift);
            }
            if let Some(label) = &mut edge.label {
                moved(&mut label.x, &mut label.y, shift);
                label.width = rounded(label.width);
            }
        }
        let corners: Vec<[f64; 2]> = self.corners().collect();
        let most = |axis: usize| corners.iter().map(|corner| corner[axis]).fold(0.0, f64::max);
        self.width = rounded(most(0) + MARGIN);
        self.height = rounded(most(1) + MARGIN);
    }

    /// The left upper and right lower corners of everything.
    fn corners(&self) -> impl Iterator<Item = [f64; 2]> {
        let both = |x: f64, y: f64, width: f64, height: f64| [[x, y], [x + width, y + height]];
        let nodes = self.nodes.iter().flat_map(move |node| both(node.x, node.y, node.width, node.height));
        let labels = self.edges.iter().filter_map(|edge| edge.label.as_ref());
        let labels = labels.flat_map(move |label| both(label.x, label.y, label.width, label.height));
        nodes.chain(labels).chain(self.edges.iter().flat_map(|edge| edge.points.iter().copied()))
    }
}

fn moved(x: &mut f64, y: &mut f64, shift: [f64; 2]) {
    *x = rounded(*x + shift[0]);
    *y = rounded(*y + shift[1]);
}

/// A tenth of a pixel is as much as anyone sees, and short as text.
fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn circle(kind: NodeKind) -> DiagramNode {
    DiagramNode { kind, name: None, label: String::new(), about: None, x: 0.0, y: 0.0, width: CIRCLE, height: CIRCLE }
}

fn node_of(state: &State) -> DiagramNode {
    let given = state.label.as_deref().map(in_one_line).filter(|label| !label.is_empty());
    // A long label is a description: its beginning would not name the state.
    let label = given.clone().filter(|label| fits(label, COLUMNS));
    let label = label.unwrap_or_else(|| shortened(&in_one_line(state.name.as_str()), COLUMNS));
    let about = state.description.as_deref().map(in_one_line).filter(|about| !about.is_empty());
    let about = given.filter(|given| *given != label).or(about).map(|about| shortened(&about, ABOUT));
    DiagramNode {
        kind: NodeKind::State,
        name: Some(state.name.clone()),
        width: pixels(&label, FONT) + ROOM,
        height: HEIGHT,
        label,
        about,
        x: 0.0,
        y: 0.0,
    }
}

#[cfg(test)]
mod tests;
