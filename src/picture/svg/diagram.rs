//! A workflow's diagram as SVG, with the marks of a run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, html};

use crate::model::{StateName, counted};
use crate::picture::text::{FONT, SMALL_FONT, in_one_line, rounded};
use crate::picture::{Diagram, DiagramEdge, DiagramNode, NodeKind, Tone};

/// The radius of the corners of boxes, in pixels.
const BOX_CORNER: f64 = 6.0;
/// The radius of the corners of lines, in pixels.
const LINE_CORNER: f64 = 18.0;
/// Where the letters of a line of text stand, as a part of the font size below its middle.
const BASELINE: f64 = 0.35;
/// The most visits that are counted in a state.
const VISITS: u64 = 99;
/// The most states that are named as the run's position.
const NAMED: usize = 5;

/// What is said about the states of a diagram.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marks {
    /// What the ids in the picture begin with, so that a page can have several pictures: letters, digits, `-` and `_`.
    pub prefix: String,
    /// The marks of states. A state without one is untouched.
    pub states: BTreeMap<StateName, Mark>,
}

/// What is said about a state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// How often the run was in it. Shown if it is more than once.
    pub visits: u64,
    /// How far the run is with it.
    pub progress: Progress,
}

/// How far a run is with a state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Progress {
    /// It was not there yet.
    #[default]
    Untouched,
    /// It was there and moved on.
    Done,
    /// It is there.
    Here(Tone),
    /// It is there, and its work there is done.
    HereDone(Tone),
    /// It left it out.
    Skipped,
    /// It was there without success, and is elsewhere.
    Failed,
}

impl Progress {
    /// The shape that stands before the state's label.
    fn symbol(self) -> Option<&'static str> {
        match self {
            Self::Untouched => None,
            Self::Done | Self::HereDone(_) => Some("✓"),
            Self::Here(tone) => Some(tone.symbol()),
            Self::Skipped => Some("–"),
            Self::Failed => Some("✕"),
        }
    }

    fn class(self) -> String {
        match self {
            Self::Untouched => "node untouched".to_owned(),
            Self::Done => "node done".to_owned(),
            Self::Here(tone) => format!("node here {}", tone.class()),
            // Its colour is that of done work, unless it needs someone.
            Self::HereDone(Tone::Ready | Tone::Work) => "node here done".to_owned(),
            Self::HereDone(tone) => format!("node here {}", tone.class()),
            Self::Skipped => "node skipped".to_owned(),
            Self::Failed => "node failed bad".to_owned(),
        }
    }

    fn words(self) -> Option<String> {
        match self {
            Self::Untouched => None,
            Self::Done => Some("done".to_owned()),
            Self::Here(tone) => Some(format!("the run is here, {}", tone.words())),
            Self::HereDone(tone) => Some(format!("the run is here, its work is done, {}", tone.words())),
            Self::Skipped => Some("skipped".to_owned()),
            Self::Failed => Some("failed".to_owned()),
        }
    }

    /// How wide the line around the state is, in pixels.
    fn stroke(self) -> u8 {
        if matches!(self, Self::Here(_) | Self::HereDone(_)) { 3 } else { 1 }
    }

    fn dashes(self) -> Option<&'static str> {
        (self == Self::Skipped).then_some("4 3")
    }
}

/// Draws a diagram.
///
/// Classes: `diagram` (the picture); `edge` (a line), `arrow` (its head), `edge-label` (its text); `begin` and `end`
/// (where runs begin and end); `node` (a state, with a `rect` and a `text` in it) with `untouched`, `done`, `skipped`,
/// `failed` and `bad`, or `here` and the class of its [`Tone`].
#[must_use]
pub fn diagram_svg(diagram: &Diagram, marks: &Marks) -> Markup {
    let title = title(diagram, marks);
    let arrow = marks.prefix.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "-") + "arrow";
    let Diagram { width, height, .. } = diagram;
    html! {
        svg xmlns="http://www.w3.org/2000/svg" class="diagram" role="img" aria-label=(title)
            width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
            font-family="system-ui, sans-serif" font-size=(FONT) fill="currentColor" {
            title { (title) }
            defs {
                marker id=(arrow) viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"
                    markerUnits="userSpaceOnUse" orient="auto" {
                    path class="arrow" d="M0 0L8 4L0 8z" {}
                }
            }
            @for edge in &diagram.edges { (line(edge, &arrow)) }
            @for node in &diagram.nodes { (node_svg(node, marks)) }
            // Behind the states, so that no line covers a label.
            @for edge in &diagram.edges { (label(edge)) }
        }
    }
}

/// What the picture shows, for those who do not see it.
fn title(diagram: &Diagram, marks: &Marks) -> String {
    let states = diagram.nodes.iter().filter(|node| node.kind == NodeKind::State).count();
    let mut title = format!("State diagram with {}", counted(states, "state"));
    let here: Vec<String> = marks.states.iter().filter_map(|(name, mark)| position(name, *mark)).collect();
    if !here.is_empty() {
        let _ = write!(title, "; the run is in {}", here[..here.len().min(NAMED)].join(", "));
    }
    if here.len() > NAMED {
        let _ = write!(title, " and {} more", here.len() - NAMED);
    }
    if diagram.left_out > 0 {
        let _ = write!(title, "; {} not drawn", counted(diagram.left_out, "more state"));
    }
    title
}

fn position(name: &StateName, mark: Mark) -> Option<String> {
    let (Progress::Here(tone) | Progress::HereDone(tone)) = mark.progress else { return None };
    Some(format!("{} ({})", in_one_line(name.as_str()), tone.words()))
}

fn line(edge: &DiagramEdge, arrow: &str) -> Markup {
    html! {
        path class="edge" d=(path(&edge.points)) fill="none" stroke="currentColor"
            marker-end={ "url(#" (arrow) ")" } {}
    }
}

/// The label of an edge, after the states so that no line covers it.
fn label(edge: &DiagramEdge) -> Markup {
    html! {
        @if let Some(label) = &edge.label {
            text class="edge-label" x=(label.x) y=(baseline(label.y, label.height, SMALL_FONT)) font-size=(SMALL_FONT) {
                (label.text)
            }
        }
    }
}

fn node_svg(node: &DiagramNode, marks: &Marks) -> Markup {
    let (x, y) = (rounded(node.x + node.width / 2.0), rounded(node.y + node.height / 2.0));
    let radius = rounded(node.width / 2.0);
    match node.kind {
        NodeKind::Begin => html! { circle class="begin" cx=(x) cy=(y) r=(radius) {} },
        NodeKind::End => html! {
            g class="end" {
                circle cx=(x) cy=(y) r=(radius) fill="none" stroke="currentColor" {}
                circle cx=(x) cy=(y) r=(rounded(radius / 2.0)) {}
            }
        },
        NodeKind::State => state(node, node.name.as_ref().and_then(|name| marks.states.get(name)), x),
    }
}

fn state(node: &DiagramNode, mark: Option<&Mark>, middle: f64) -> Markup {
    let mark = mark.copied().unwrap_or_default();
    let progress = mark.progress;
    html! {
        g class=(progress.class()) {
            title { (about(node, mark)) }
            rect x=(node.x) y=(node.y) width=(node.width) height=(node.height) rx=(BOX_CORNER)
                fill="none" stroke="currentColor" stroke-width=(progress.stroke())
                stroke-dasharray=[progress.dashes()] {}
            text x=(middle) y=(baseline(node.y, node.height, FONT)) text-anchor="middle" { (text_of(node, mark)) }
        }
    }
}

/// The text in a state: its mark, its label, and how often the run was there.
fn text_of(node: &DiagramNode, mark: Mark) -> String {
    let symbol = mark.progress.symbol().map(|symbol| format!("{symbol} ")).unwrap_or_default();
    let visits = match mark.visits {
        0 | 1 => String::new(),
        2..=VISITS => format!(" ×{}", mark.visits),
        _ => format!(" ×{VISITS}+"),
    };
    format!("{symbol}{}{visits}", node.label)
}

/// What is shown about a state under the pointer.
fn about(node: &DiagramNode, mark: Mark) -> String {
    let name = node.name.as_ref().map(|name| in_one_line(name.as_str())).unwrap_or_default();
    let mut words: Vec<String> = mark.progress.words().into_iter().collect();
    if mark.visits > 1 {
        words.push(format!("visited {} times", mark.visits));
    }
    words.extend(node.about.clone());
    if words.is_empty() { name } else { format!("{name}: {}", words.join("; ")) }
}

fn baseline(top: f64, height: f64, font: f64) -> f64 {
    rounded(top + height / 2.0 + font * BASELINE)
}

/// The commands of a path along these points, with round corners.
fn path(points: &[[f64; 2]]) -> String {
    let mut path = String::new();
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return path };
    let _ = write!(path, "M{}", pair(first));
    for corner in points.windows(3) {
        let &[before, at, after] = corner else { continue };
        // Half of a side at most: the next corner needs the other half.
        let radius = LINE_CORNER.min(distance(before, at) / 2.0).min(distance(at, after) / 2.0);
        let (enter, leave) = (towards(at, before, radius), towards(at, after, radius));
        let _ = write!(path, "L{}Q{} {}", pair(enter), pair(at), pair(leave));
    }
    let _ = write!(path, "L{}", pair(last));
    path
}

fn pair([x, y]: [f64; 2]) -> String {
    format!("{} {}", rounded(x), rounded(y))
}

fn distance([ax, ay]: [f64; 2], [bx, by]: [f64; 2]) -> f64 {
    (bx - ax).hypot(by - ay)
}

/// The point that is so far from `from` on the way to `to`.
fn towards(from: [f64; 2], to: [f64; 2], far: f64) -> [f64; 2] {
    let whole = distance(from, to);
    let part = if whole > 0.0 { far / whole } else { 0.0 };
    [from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part]
}

#[cfg(test)]
mod tests;
