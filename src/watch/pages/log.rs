//! The log of a run, the latest event last.

use crate::model::{Event, Seq};
use crate::picture::{day_and_time, event_in_words};
use crate::runs::LogReport;
use crate::watch::line::{Line, Look};

/// The events that have this text in their type or their words.
pub(in crate::watch) fn log(run: &str, log: &LogReport, search: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    if log.events.first().is_some_and(|event| event.seq > Seq(1)) {
        lines.push(Line::new().dim(format!("  earlier events: `flow log {run}`")));
    }
    let found = log.events.iter().filter(|event| {
        search.is_empty() || event.kind.name().contains(search) || event_in_words(event).contains(search)
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
pub(super) fn line(event: &Event) -> Line {
    Line::new()
        .dim(format!("{:>6}  {:<16}  ", event.seq.0, day_and_time(event.at)))
        .with(Look::Strong, format!("{:<18}", event.kind.name()))
        .plain(" ")
        .plain(event_in_words(event))
}
