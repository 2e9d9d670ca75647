//! Runs and workflows as pictures and pages. Pure: reports in, text out.
//!
//! A [`diagram`](fn@diagram) has the places of a workflow's states and transitions, for every face.

mod axis;
mod diagram;
mod event;
mod export;
mod fit;
mod graph;
pub mod page;
mod report;
pub mod svg;
mod text;
mod timeline;
mod timeline_text;
mod tone;
mod usage;
mod words;

pub use diagram::{Diagram, DiagramEdge, DiagramLabel, DiagramNode, NodeKind, diagram};
pub use event::{LogFilter, event_in_words};
pub(crate) use event::{event_class, event_title};
pub use export::export;
pub(crate) use fit::{FittedColumns, RunColumns, Shrink};
pub use graph::WorkflowGraphReport;
pub(crate) use page::decision;
pub(crate) use page::{heading, hint, look_of, look_of_activity, look_of_group, look_of_step, look_of_verdict};
pub use report::work_report;
pub(crate) use text::{columns, cut, in_ascii};
pub use timeline::timeline_svg;
pub(crate) use timeline_text::timeline_text;
pub use tone::Tone;
pub(crate) use usage::{totals_in_words, usage_in_words};
#[cfg(feature = "watch")]
pub(crate) use words::why_no_command;
pub(crate) use words::{
    age, clean, count, day_and_time, duration, for_whom, ran_as, reason_now, title_in_doubt, took, verdict_reason,
    waits_for, ways_shown,
};
