//! Runs in forms that other programs read. Pure: reports in, text out.

mod chrome_trace;
mod cloudevents;
mod gantt;
mod html;
mod mermaid;
mod otlp;
mod svg;

use serde_json::Value;

use crate::runs::{ExportFormat, WholeRun};

/// The text of a run in `format`, which ends with a line break; none if the run has no diagram.
#[must_use]
pub fn export(whole: &WholeRun, format: ExportFormat) -> Option<String> {
    Some(match format {
        ExportFormat::Mermaid => mermaid::write(&whole.run, whole.machine.as_ref()?),
        ExportFormat::Gantt => gantt::write(&whole.run),
        ExportFormat::Svg => svg::write(&whole.run.timeline),
        ExportFormat::Html => html::write(whole),
        ExportFormat::ChromeTrace => chrome_trace::write(whole),
        ExportFormat::Cloudevents => in_lines(cloudevents::batch(whole)) + "\n",
        // Collectors read files with one request a line.
        ExportFormat::OtlpJson => format!("{}\n", otlp::request(whole)),
    })
}

/// A JSON array with a line for each item.
fn in_lines(items: impl Iterator<Item = Value>) -> String {
    let items: Vec<_> = items.map(|item| item.to_string()).collect();
    format!("[\n{}\n]", items.join(",\n"))
}
