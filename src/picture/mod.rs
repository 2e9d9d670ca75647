//! Runs and workflows as pictures and pages. Pure: reports in, text out.
//!
//! A [`diagram`](fn@diagram) has the places of a workflow's states and transitions, for every face.

mod axis;
mod diagram;
mod event;
mod export;
pub mod page;
pub mod svg;
mod text;
mod timeline;
mod tone;
mod words;

pub use diagram::{Diagram, DiagramEdge, DiagramLabel, DiagramNode, NodeKind, diagram};
pub use event::event_in_words;
pub use export::export;
pub use timeline::timeline_svg;
pub use tone::Tone;
