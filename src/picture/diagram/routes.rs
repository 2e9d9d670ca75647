//! The corners of lines between boxes that have their places.
//!
//! Boxes and labels stand in layers. Within a layer a line goes straight up or down, in a column of its own; it changes
//! its column only between layers, where nothing else stands. So no line crosses a box or a label.

use std::collections::HashMap;

use crate::picture::diagram::drawn::{DiagramLabel, DiagramNode};

/// How far a loop leads away from its box, in pixels.
pub(super) const LOOP: f64 = 22.0;
/// The space between a line and its label, in pixels.
pub(super) const GAP: f64 = 5.0;
/// How far lines stay away from the corners of a box, in pixels.
const EDGE: f64 = 10.0;

/// The way of a line.
pub(super) struct Route {
    /// Its corners, at least two.
    pub(super) points: Vec<[f64; 2]>,
    /// The left upper corner of its label.
    pub(super) label: Option<[f64; 2]>,
}

/// How high the layers are.
#[derive(Default)]
pub(super) struct Layers {
    /// By the middle of a layer, in tenths of a pixel: half of its height.
    halves: HashMap<i64, f64>,
}

impl Layers {
    /// Notes that something of this height stands in a layer.
    pub(super) fn add(&mut self, middle: f64, height: f64) {
        let half = self.halves.entry(tenths(middle)).or_default();
        *half = half.max(height / 2.0);
    }

    fn half(&self, middle: f64) -> f64 {
        self.halves.get(&tenths(middle)).copied().unwrap_or_default()
    }

    /// The corners of a line, from those that a layout found: one on the edge of each box, and one in the middle of each
    /// layer between them.
    pub(super) fn route(&self, found: &[[f64; 2]], from: &DiagramNode, to: &DiagramNode) -> Option<Vec<[f64; 2]>> {
        let [first, between @ .., last] = found else { return None };
        let (start, end) = (between.first().unwrap_or(last), between.last().unwrap_or(first));
        let mut points = self.port(from, *first, *start).to_vec();
        let mut above = from.middle()[1];
        for &[x, y] in between {
            // A line may also lead up.
            let half = if above < y { self.half(y) } else { -self.half(y) };
            points.extend([[x, y - half], [x, y + half]]);
            above = y;
        }
        // The ports of a box are given from the box away, and the line comes to this one.
        points.extend(self.port(to, *last, *end).iter().rev());
        Some(without_straight(points))
    }

    /// Where a line to `next` leaves a box, and where it leaves the box's layer: at the upper or lower side, straight
    /// above or below `next` if it can. The lines of a layout point to the middle of a box, where several come too close
    /// to each other. At a circle they may; there one of them was `found`.
    fn port(&self, at: &DiagramNode, found: [f64; 2], next: [f64; 2]) -> [[f64; 2]; 2] {
        let DiagramNode { width, height, .. } = at;
        let [middle, level] = at.middle();
        let half = self.half(level).max(height / 2.0);
        // Heights are sums of fractions, so they are compared with some tolerance.
        let has_room = half < height / 2.0 + 0.1;
        if at.is_round() && has_room {
            return [found, found];
        }
        let x = if at.is_round() { middle } else { next[0].min(at.x + width - EDGE).max(at.x + EDGE) };
        let direction = if next[1] < level { -1.0 } else { 1.0 };
        [[x, level + direction * height / 2.0], [x, level + direction * half]]
    }
}

fn tenths(value: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a picture is far smaller")]
    let tenths = (value * 10.0).round() as i64;
    tenths
}

/// A loop at the right side of a box.
pub(super) fn loop_beside(node: &DiagramNode, label: Option<&DiagramLabel>) -> Route {
    let DiagramNode { width, height, .. } = node;
    let right = node.x + width;
    let (upper, lower) = (node.y + height * 0.25, node.y + height * 0.75);
    let out = right + LOOP;
    let label = label.map(|label| [out + GAP, node.y + (height - label.height) / 2.0]);
    Route { points: vec![[right, upper], [out, upper], [out, lower], [right, lower]], label }
}

/// The way from box to box if the layout found none.
pub(super) fn straight(from: &DiagramNode, to: &DiagramNode) -> Route {
    let (start, end) = (from.middle(), to.middle());
    let middle = [f64::midpoint(start[0], end[0]) + GAP, f64::midpoint(start[1], end[1])];
    Route { points: vec![start, end], label: Some(middle) }
}

/// The corners of a way without the points between them.
fn without_straight(points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    let mut kept: Vec<[f64; 2]> = Vec::new();
    for [x, y] in points {
        // Three points are on one line as far as anyone sees.
        if let [.., [ax, ay], [bx, by]] = kept[..]
            && ((bx - ax) * (y - by) - (by - ay) * (x - bx)).abs() < 0.01
        {
            kept.pop();
        }
        kept.push([x, y]);
    }
    kept
}
