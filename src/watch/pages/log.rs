//! The log of a run, the latest event last.

use crate::model::{Event, Seq};
use crate::picture::page::says;
use crate::picture::{day_and_time, event_class, event_in_words, event_title};
use crate::runs::LogReport;
use crate::watch::line::{Look, PageLine};

/// The events that have this text in their type or their words.
pub(in crate::watch) fn log(run: &str, log: &LogReport, search: &str) -> Vec<PageLine> {
    let mut lines = Vec::new();
    if let Some(first) = log.events.first()
        && first.seq > Seq(1)
    {
        lines.push(PageLine::new().dim(format!("  earlier events: `flow log {run}`")));
    }
    for event in &log.events {
        if search.is_empty() || says(event, search) {
            lines.push(line(event));
        }
    }
    let skipped = log.skipped.len() + log.more_skipped;
    if skipped > 0 {
        let words = format!("✕ {skipped} lines are not events of flow: `flow log {run}` shows them");
        lines.push(PageLine::new().with(Look::Bad, words));
    }
    if lines.is_empty() {
        lines.push(PageLine::new().dim("  no event has this text"));
    }
    lines
}

/// An event in one line.
pub(super) fn line(event: &Event) -> PageLine {
    PageLine::new()
        .dim(format!("{:>6}  {:<16}  ", event.seq.0, day_and_time(event.at)))
        .with(Look::of_class(event_class(event)), format!("{:<16}", event_title(event)))
        .plain(" ")
        .plain(event_in_words(event))
}
