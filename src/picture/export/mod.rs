//! Runs in forms that other programs read. Pure: reports in, text out.

mod chrome_trace;
mod cloudevents;
mod formats;
mod gantt;
mod html;
mod in_toto;
mod lines;
mod mermaid;
mod otlp;
mod svg;
mod used;

pub use formats::export;
