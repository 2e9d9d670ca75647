//! The log of a run, the latest event last.

use serde_json::{Map, Value};

use crate::model::Timestamp;
use crate::picture::{day_and_time, event_in_words};
use crate::runs::LogReport;
use crate::watch::line::{Line, Look};

/// The events that have this text in their type or their words.
pub(in crate::watch) fn log(run: &str, log: &LogReport, search: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    if log.events.first().is_some_and(|event| seq(event) > 1) {
        lines.push(Line::new().dim(format!("  earlier events: `flow log {run}`")));
    }
    let found = log.events.iter().filter(|event| {
        search.is_empty() || text(event, "type").contains(search) || event_in_words(event).contains(search)
    });
    lines.extend(found.map(line));
    let skipped = log.skipped.len() + log.more_skipped;
    if skipped > 0 {
        let words = format!("✕ {skipped} lines are not events of flow: `flow log {run}` shows them");
        lines.push(Line::new().with(Look::Bad, words));
    }
    if lines.is_empty() {
        lines.push(Line::new().dim("  no event has this text"));
    }
    lines
}

/// An event in one line.
pub(super) fn line(event: &Map<String, Value>) -> Line {
    let at = text(event, "at").parse::<Timestamp>().map(day_and_time).unwrap_or_default();
    Line::new()
        .dim(format!("{:>6}  {at:<16}  ", seq(event)))
        .with(Look::Strong, format!("{:<18}", text(event, "type")))
        .plain(" ")
        .plain(event_in_words(event))
}

fn seq(event: &Map<String, Value>) -> u64 {
    event.get("seq").and_then(Value::as_u64).unwrap_or_default()
}

fn text<'e>(event: &'e Map<String, Value>, key: &str) -> &'e str {
    event.get(key).and_then(Value::as_str).unwrap_or_default()
}
