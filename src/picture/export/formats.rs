//! Writes a run in the format that is asked for.

use crate::picture::export::lines::in_lines;
use crate::picture::export::{chrome_trace, cloudevents, gantt, html, in_toto, mermaid, otlp, svg};
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
        ExportFormat::InToto => in_toto::lines(whole),
        // Collectors read files with one request a line.
        ExportFormat::OtlpJson => format!("{}\n", otlp::request(whole)),
    })
}
