//! Places boxes and the lines between them in layers, from top to bottom.
//!
//! The work is done by the crate `dagre`: layers, their order, and a column for each line in each layer that it passes.
//! `routes` makes the corners of the lines from that.

use dagre::graph::{Graph, GraphOptions};
use dagre::layout::types::LabelPos;
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, Ranker, layout};

use crate::picture::diagram::routes::{GAP, LOOP, Layers, Placed, Route, straight};
use crate::picture::diagram::shape::Shape;

/// The space between boxes of a layer, in pixels.
const BESIDE: f64 = 24.0;
/// The space between lines, in pixels.
const BETWEEN_LINES: f64 = 14.0;
/// The space between layers, in pixels.
const BELOW: f64 = 32.0;

/// A line from a box to another one or to itself, by index. Two boxes have at most one line in each direction.
pub(super) struct Line {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The width and height of its label.
    pub(super) label: Option<(f64, f64)>,
}

/// The places of boxes and lines, in their order.
pub(super) struct Layout {
    /// The left upper corner of each box.
    pub(super) nodes: Vec<[f64; 2]>,
    pub(super) routes: Vec<Route>,
}

/// Finds a place for everything.
pub(super) fn place(shapes: &[Shape], lines: &[Line]) -> Layout {
    let mut graph = graph_of(shapes, lines);
    let options = LayoutOptions {
        nodesep: BESIDE,
        edgesep: BETWEEN_LINES,
        ranksep: BELOW,
        // The usual ranker shortens lines as long as it can, and panics where it is wrong. This one ends after as many
        // rounds as there are boxes.
        ranker: Ranker::TightTree,
        ..LayoutOptions::default()
    };
    layout(&mut graph, Some(options));
    let boxes: Vec<Placed> = shapes.iter().enumerate().map(|(at, shape)| box_of(&graph, at, shape)).collect();
    let layers = layers_of(&graph, &boxes, lines);
    let mut routes = Vec::with_capacity(lines.len());
    for line in lines {
        let (from, to) = (&boxes[line.from], &boxes[line.to]);
        routes.push(if line.from == line.to {
            from.loop_beside(line.label)
        } else {
            route_of(&graph, &layers, line, from, to).unwrap_or_else(|| straight(from, to, line.label))
        });
    }
    Layout { routes, nodes: boxes.iter().map(|one| [one.x, one.y]).collect() }
}

fn key(at: usize) -> String {
    at.to_string()
}

fn graph_of(shapes: &[Shape], lines: &[Line]) -> Graph<NodeLabel, EdgeLabel> {
    // A line against the direction is turned round for the layout. Only in a multigraph it stays apart from a line that
    // is there already.
    let mut graph = Graph::with_options(GraphOptions { multigraph: true, ..GraphOptions::default() });
    for (at, shape) in shapes.iter().enumerate() {
        let round = shape.is_round.then(|| "start".to_owned());
        let node = NodeLabel { width: shape.width, height: shape.height, shape: round, ..NodeLabel::default() };
        graph.set_node(key(at), Some(node));
    }
    for line in lines {
        graph.set_edge(key(line.from), key(line.to), Some(edge_of(line)), None);
    }
    graph
}

fn edge_of(line: &Line) -> EdgeLabel {
    let (width, height) = line.label.unwrap_or_default();
    if line.from == line.to {
        return EdgeLabel { width: LOOP + GAP + width, height, labelpos: LabelPos::Center, ..EdgeLabel::default() };
    }
    let offset = if line.label.is_some() { GAP } else { 0.0 };
    EdgeLabel { width, height, labelpos: LabelPos::Right, label_offset: offset, ..EdgeLabel::default() }
}

fn box_of<'s>(graph: &Graph<NodeLabel, EdgeLabel>, at: usize, shape: &'s Shape) -> Placed<'s> {
    let (x, y) = match graph.node(&key(at)) {
        Some(node) => (node.x.unwrap_or_default(), node.y.unwrap_or_default()),
        None => (0.0, 0.0),
    };
    // The layout gives the middle of a box.
    Placed { x: x - shape.width / 2.0, y: y - shape.height / 2.0, shape }
}

/// What the layout found for a line between two boxes.
fn found<'g>(graph: &'g Graph<NodeLabel, EdgeLabel>, line: &Line) -> Option<&'g EdgeLabel> {
    graph.edge(&key(line.from), &key(line.to), None)
}

fn layers_of(graph: &Graph<NodeLabel, EdgeLabel>, boxes: &[Placed], lines: &[Line]) -> Layers {
    let mut layers = Layers::default();
    for one in boxes {
        layers.add(one.middle()[1], one.shape.height);
    }
    for line in lines {
        let Some((_, height)) = line.label else { continue };
        // The label of a loop stands in the layer of its box, and is part of the box's width.
        if line.from != line.to
            && let Some(EdgeLabel { y: Some(middle), .. }) = found(graph, line)
        {
            layers.add(*middle, height);
        }
    }
    layers
}

fn route_of(
    graph: &Graph<NodeLabel, EdgeLabel>,
    layers: &Layers,
    line: &Line,
    from: &Placed,
    to: &Placed,
) -> Option<Route> {
    let edge = found(graph, line)?;
    let points: Vec<[f64; 2]> = edge.points.iter().map(|point| [point.x, point.y]).collect();
    let label = line.label.and_then(|(width, height)| Some([edge.x? - width / 2.0, edge.y? - height / 2.0]));
    Some(Route { points: layers.route(&points, from, to)?, label })
}
