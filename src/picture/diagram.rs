//! The places of a workflow's states and transitions in a diagram.

mod around;
mod drawn;
mod layout;
mod routes;
mod ways;

use std::collections::HashMap;

use crate::machine::{Machine, State};
use crate::model::StateName;
use crate::picture::text::{FONT, SMALL_FONT, cut, fits, in_one_line, pixels, rounded};
use around::shown_states;
pub use drawn::{Diagram, DiagramEdge, DiagramLabel, DiagramNode, NodeKind};
use layout::place;
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
        for &at in shown {
            if machine.initial().contains(&machine.states()[at].name) {
                self.nodes.push(circle(NodeKind::Begin));
            }
        }
    }

    fn add_states(&mut self, machine: &'m Machine, shown: &[usize]) {
        // The nodes of begins are the first ones, in the order of their states.
        let mut begin = 0;
        for &index in shown {
            let state = &machine.states()[index];
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
        // In the order of the definition, which no map of pairs has.
        let mut pairs: Vec<((usize, usize), Vec<String>)> = Vec::new();
        let mut known: HashMap<(usize, usize), usize> = HashMap::new();
        for one in machine.transitions() {
            let (Some(&from), Some(&to)) = (self.index.get(&one.from), self.index.get(&one.to)) else { continue };
            let at = *known.entry((from, to)).or_insert(pairs.len());
            if at == pairs.len() {
                pairs.push(((from, to), Vec::new()));
            }
            let labels = &mut pairs[at].1;
            let label = in_one_line(one.label.as_deref().unwrap_or_default());
            // Each label takes a column at least, so no more of them are shown.
            if !label.is_empty() && !labels.contains(&label) && labels.len() < COLUMNS {
                labels.push(label);
            }
        }
        for ((from, to), labels) in pairs {
            let text = if labels.is_empty() { None } else { Some(labels.join(", ")) };
            self.add_edge(from, to, text);
        }
    }

    fn add_end(&mut self, machine: &Machine) {
        let terminal: Vec<usize> = machine.terminal().iter().filter_map(|name| self.index.get(name).copied()).collect();
        // Of a large machine the ends may be too far away to be drawn.
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
            let text = cut(&text, COLUMNS);
            DiagramLabel { width: pixels(&text, SMALL_FONT), height: LABEL_HEIGHT, text, x: 0.0, y: 0.0 }
        });
        self.edges.push(DiagramEdge { from, to, label, points: Vec::new() });
    }

    /// The diagram with the places that a layout gives.
    fn finish(mut self, left_out: usize) -> Diagram {
        place(&mut self.nodes, &mut self.edges);
        let mut diagram = Diagram { width: 0.0, height: 0.0, nodes: self.nodes, edges: self.edges, left_out };
        diagram.move_to_margin();
        diagram
    }
}

impl Diagram {
    /// Moves everything to the margin, rounds it, and sets the size.
    fn move_to_margin(&mut self) {
        let mut least = [f64::INFINITY; 2];
        for [x, y] in self.corners() {
            least = [least[0].min(x), least[1].min(y)];
        }
        let shift = [MARGIN - least[0], MARGIN - least[1]];
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
        // Only now, since rounding moves the corners.
        let mut most = [0.0_f64; 2];
        for [x, y] in self.corners() {
            most = [most[0].max(x), most[1].max(y)];
        }
        self.width = rounded(most[0] + MARGIN);
        self.height = rounded(most[1] + MARGIN);
    }

    /// The left upper and right lower corners of everything.
    fn corners(&self) -> Vec<[f64; 2]> {
        let mut corners = Vec::new();
        for node in &self.nodes {
            corners.extend([[node.x, node.y], [node.x + node.width, node.y + node.height]]);
        }
        for edge in &self.edges {
            corners.extend(&edge.points);
            if let Some(label) = &edge.label {
                corners.extend([[label.x, label.y], [label.x + label.width, label.y + label.height]]);
            }
        }
        corners
    }
}

fn moved(x: &mut f64, y: &mut f64, shift: [f64; 2]) {
    *x = rounded(*x + shift[0]);
    *y = rounded(*y + shift[1]);
}

fn circle(kind: NodeKind) -> DiagramNode {
    DiagramNode { kind, name: None, label: String::new(), about: None, x: 0.0, y: 0.0, width: CIRCLE, height: CIRCLE }
}

fn node_of(state: &State) -> DiagramNode {
    let given = in_one_line(state.label.as_deref().unwrap_or_default());
    let description = in_one_line(state.description.as_deref().unwrap_or_default());
    // A long label is a description: its beginning would not name the state.
    let label = if !given.is_empty() && fits(&given, COLUMNS) {
        given.clone()
    } else {
        cut(&in_one_line(state.name.as_str()), COLUMNS)
    };
    let about = if given.is_empty() || given == label { description } else { given };
    let about = if about.is_empty() { None } else { Some(cut(&about, ABOUT)) };
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
