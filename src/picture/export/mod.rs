//! Runs in forms that other programs read. Pure: reports in, text out.

mod chrome_trace;
mod cloudevents;
mod gantt;
mod html;
mod mermaid;
mod otlp;
mod svg;

use serde_json::{Map, Value};

use crate::engine::{Lane, Span, SpanState};
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

/// What a span's lane was doing, as in reports.
fn state_word(state: SpanState) -> &'static str {
    match state {
        SpanState::Running => "running",
        SpanState::Waiting => "waiting",
        SpanState::Blocked => "blocked",
        SpanState::InDoubt => "in_doubt",
    }
}

/// What a lane is called: a unit, or else a step.
fn name_of(lane: &Lane) -> &str {
    lane.unit.as_ref().map_or(lane.step.as_str(), |unit| unit.as_str())
}

/// The spans of a lane, those of one attempt together.
fn attempts(lane: &Lane) -> impl Iterator<Item = &[Span]> {
    lane.spans.chunk_by(|one, next| one.attempt == next.attempt)
}

/// A text in an event of the log; empty if there is none.
fn text<'e>(event: &'e Map<String, Value>, key: &str) -> &'e str {
    event.get(key).and_then(Value::as_str).unwrap_or_default()
}
