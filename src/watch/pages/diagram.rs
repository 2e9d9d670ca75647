//! The workflow of a run as text: its states from the first to the last, and where each one leads.

use crate::picture::{Diagram, DiagramEdge, DiagramNode, NodeKind, look_of, look_of_step};
use crate::runs::RunReport;
use crate::watch::line::{Look, PageLine};
use crate::watch::pages::run::status_words;

/// The states in the order of the drawing, with the marks of the run and their transitions as `→ state`, and as
/// `↩ state` where they lead back.
pub(in crate::watch) fn diagram(run: &RunReport, diagram: &Diagram) -> Vec<PageLine> {
    let mut order: Vec<usize> = (0..diagram.nodes.len()).collect();
    order.sort_by(|&one, &other| {
        let (one, other) = (&diagram.nodes[one], &diagram.nodes[other]);
        // From left to right in each layer, as the drawing is read.
        (one.y, one.x).partial_cmp(&(other.y, other.x)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut lines = Vec::new();
    for at in order {
        let node = &diagram.nodes[at];
        if node.kind == NodeKind::State {
            lines.push(state(run, node));
            lines.extend(diagram.edges.iter().filter(|edge| edge.from == at).map(|edge| way(diagram, edge)));
        }
    }
    if diagram.left_out > 0 {
        lines.push(PageLine::new().dim(format!("  {} more states are not drawn", diagram.left_out)));
    }
    lines
}

fn state(run: &RunReport, node: &DiagramNode) -> PageLine {
    let step = run.steps.iter().find(|step| Some(&step.step) == node.name.as_ref());
    let Some(step) = step else { return PageLine::new().dim("  ◦ ").plain(&node.label) };
    let visits = run.visits(&step.step);
    let times = if visits > 1 { format!("  ×{visits}") } else { String::new() };
    if step.current && run.card.group.is_open() {
        let (symbol, class, word) = look_of(&run.card);
        let look = Look::of_class(class);
        let (symbol, done) = if step.status.is_done() { ("✓", "done, ") } else { (symbol, "") };
        return PageLine::new()
            .with(look, format!("▶ {symbol} "))
            .with(Look::Strong, &node.label)
            .with(look, format!("  here: {done}{word}"))
            .dim(times);
    }
    let (symbol, class) = look_of_step(step.status);
    PageLine::new()
        .with(Look::of_class(class), format!("  {symbol} "))
        .plain(&node.label)
        .dim(format!("  {}{times}", status_words(step.status)))
}

/// Where a state leads.
fn way(diagram: &Diagram, edge: &DiagramEdge) -> PageLine {
    let (here, there) = (&diagram.nodes[edge.from], &diagram.nodes[edge.to]);
    let arrow = if there.y <= here.y { "↩" } else { "→" };
    let name = if there.kind == NodeKind::End { "end" } else { &there.label };
    let label = edge.label.as_ref().map(|label| format!("  {}", label.text)).unwrap_or_default();
    PageLine::new().dim(format!("      {arrow} ")).plain(name).dim(label)
}
