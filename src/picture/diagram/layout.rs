//! Places boxes and the lines between them in layers, from top to bottom.
//!
//! The work is done by the crate `dagre`: layers, their order, and a column for each line in each layer that it passes.
//! `routes` makes the corners of the lines from that.

use dagre::graph::{Graph, GraphOptions};
use dagre::layout::types::LabelPos;
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, Ranker, layout};

use crate::picture::diagram::drawn::{DiagramEdge, DiagramNode};
use crate::picture::diagram::routes::{GAP, LOOP, Layers, Route, loop_beside, straight};

/// The space between boxes of a layer, in pixels.
const BESIDE: f64 = 24.0;
/// The space between lines, in pixels.
const BETWEEN_LINES: f64 = 14.0;
/// The space between layers, in pixels.
const BELOW: f64 = 32.0;

/// Finds a place for everything. Two nodes have at most one edge in each direction.
pub(super) fn place(nodes: &mut [DiagramNode], edges: &mut [DiagramEdge]) {
    let mut graph = graph_of(nodes, edges);
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
    for (at, node) in nodes.iter_mut().enumerate() {
        let found = graph.node(&key(at));
        // The layout gives the middle of a box.
        node.x = found.and_then(|found| found.x).unwrap_or_default() - node.width / 2.0;
        node.y = found.and_then(|found| found.y).unwrap_or_default() - node.height / 2.0;
    }
    let layers = layers_of(&graph, nodes, edges);
    for edge in edges {
        let (from, to) = (&nodes[edge.from], &nodes[edge.to]);
        let route = if edge.from == edge.to {
            loop_beside(from, edge.label.as_ref())
        } else {
            route_of(&graph, &layers, edge, from, to).unwrap_or_else(|| straight(from, to))
        };
        edge.points = route.points;
        if let (Some(label), Some(corner)) = (&mut edge.label, route.label) {
            [label.x, label.y] = corner;
        }
    }
}

fn key(at: usize) -> String {
    at.to_string()
}

fn graph_of(nodes: &[DiagramNode], edges: &[DiagramEdge]) -> Graph<NodeLabel, EdgeLabel> {
    // A line against the direction is turned round for the layout. Only in a multigraph it stays apart from a line that
    // is there already.
    let mut graph = Graph::with_options(GraphOptions { multigraph: true, ..GraphOptions::default() });
    for (at, node) in nodes.iter().enumerate() {
        let shape = node.is_round().then(|| "start".to_owned());
        let (width, height) = (node.width, node.height);
        graph.set_node(key(at), Some(NodeLabel { width, height, shape, ..NodeLabel::default() }));
    }
    for edge in edges {
        graph.set_edge(key(edge.from), key(edge.to), Some(edge_of(edge)), None);
    }
    graph
}

fn edge_of(edge: &DiagramEdge) -> EdgeLabel {
    let (width, height) = edge.label.as_ref().map_or((0.0, 0.0), |label| (label.width, label.height));
    if edge.from == edge.to {
        return EdgeLabel { width: LOOP + GAP + width, height, labelpos: LabelPos::Center, ..EdgeLabel::default() };
    }
    let offset = if edge.label.is_some() { GAP } else { 0.0 };
    EdgeLabel { width, height, labelpos: LabelPos::Right, label_offset: offset, ..EdgeLabel::default() }
}

/// What the layout found for a line between two boxes.
fn found<'g>(graph: &'g Graph<NodeLabel, EdgeLabel>, edge: &DiagramEdge) -> Option<&'g EdgeLabel> {
    graph.edge(&key(edge.from), &key(edge.to), None)
}

fn layers_of(graph: &Graph<NodeLabel, EdgeLabel>, nodes: &[DiagramNode], edges: &[DiagramEdge]) -> Layers {
    let mut layers = Layers::default();
    for node in nodes {
        layers.add(node.middle()[1], node.height);
    }
    for edge in edges {
        // The label of a loop stands in the layer of its box, and is part of the box's width.
        if edge.from != edge.to
            && let Some(label) = &edge.label
            && let Some(EdgeLabel { y: Some(middle), .. }) = found(graph, edge)
        {
            layers.add(*middle, label.height);
        }
    }
    layers
}

/// The way of an edge between two boxes, as the layout found it.
fn route_of(
    graph: &Graph<NodeLabel, EdgeLabel>,
    layers: &Layers,
    edge: &DiagramEdge,
    from: &DiagramNode,
    to: &DiagramNode,
) -> Option<Route> {
    let found = found(graph, edge)?;
    let corners: Vec<_> = found.points.iter().map(|point| [point.x, point.y]).collect();
    let points = layers.route(&corners, from, to)?;
    // The layout gives the middle of a label, too.
    let label =
        edge.label.as_ref().and_then(|label| Some([found.x? - label.width / 2.0, found.y? - label.height / 2.0]));
    Some(Route { points, label })
}
