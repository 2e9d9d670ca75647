//! Runs and workflows as pictures and pages. Pure: reports in, text out.

mod axis;
mod event;
pub mod page;
mod timeline;
mod tone;
mod words;

pub use event::event_in_words;
pub use timeline::timeline_svg;
pub use tone::Tone;
