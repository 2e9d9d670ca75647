//! The log of a run in people's words.

use maud::{Markup, html};
use serde_json::Value;

use crate::model::{Event, percent_encoded};
use crate::picture::event::{LogFilter, event_class, event_in_words, event_title};
use crate::picture::page::document::Place;
use crate::picture::page::pieces::{Clock, time, zone};
use crate::picture::page::run::view::{LogPart, RunPage};
use crate::picture::words::{clean, clean_lines, shortened};

/// How many events a page of a log has.
pub const LOG_PAGE: usize = 50;
/// The most characters of an event that opens.
const WHOLE: usize = 4000;

/// Whether an event has this text in what the log says of it.
#[must_use]
pub fn says(event: &Event, text: &str) -> bool {
    let words = format!("{} {} {}", event_title(event), event.kind.name(), event_in_words(event));
    words.to_lowercase().contains(&text.to_lowercase())
}

pub(super) fn log(view: &RunPage<'_>) -> Markup {
    let LogPart { report, filter, find, earlier } = view.log;
    let events = &report.events;
    let (first, last) = (events.first().map_or(0, |event| event.seq.0), events.last().map_or(0, |event| event.seq.0));
    let is_alone = view.place() == Place::Alone;
    let is_narrowed = filter != LogFilter::All || find.is_some();
    let total = if is_alone { view.run.at.unwrap_or(view.run.last).0 } else { view.run.last.0 };
    let id = &view.run.card.run.head.run_id;
    html! {
        section #log data-key="log" {
            h2 { "Log "
                span.dim {
                    @if is_narrowed { (events.len()) " events of " (total) }
                    @else { "events " (first) " to " (last) " of " (total) }
                }
                (zone())
            }
            (narrow(view))
            div.scroll tabindex="0" role="region" aria-label="Log" {
                table.log {
                    tbody { @for event in events.iter().rev() { (event_row(event, view.place())) } }
                }
                @if events.is_empty() { p.dim { "No event here is like that." } }
            }
            @if let (Place::Served, Some(address)) = (view.place(), &view.address) {
                p.more {
                    @if last < total && !is_narrowed {
                        a href=(part(view, address, last + LOG_PAGE as u64)) { "Newer" } " "
                    }
                    @if earlier { a href=(part(view, address, first - 1)) { "Older" } }
                }
            }
            @if is_alone && earlier {
                p.dim { "Earlier events are left out. All: " code { "flow log " (id) } }
            }
            @if !report.skipped.is_empty() {
                p.bad { "✕ " (report.skipped.len() + report.more_skipped) " lines are not events of flow: "
                    code { "flow log " (id) } " shows them" }
            }
        }
    }
}

/// Which events are shown.
fn narrow(view: &RunPage<'_>) -> Markup {
    let Some(address) = &view.address else { return html! {} };
    let LogPart { filter, find, .. } = view.log;
    html! {
        form.bar method="get" action=(address) data-key="narrow" {
            @if let Some(at) = view.run.at { input type="hidden" name="at" value=(at); }
            input type="search" name="find" aria-label="Search in the log" placeholder="Search in the log…   /"
                value=(find.unwrap_or_default());
            select name="only" aria-label="Which events" {
                @for one in LogFilter::ALL {
                    option value=(if one == LogFilter::All { "" } else { one.as_str() }) selected[one == filter] { (one.title()) }
                }
            }
        }
    }
}

/// The address of the part of the log that ends with this event.
fn part(view: &RunPage<'_>, address: &str, end: u64) -> String {
    let LogPart { filter, find, .. } = view.log;
    let mut query = format!("?log={end}");
    if filter != LogFilter::All {
        query.push_str(&format!("&only={}", filter.as_str()));
    }
    if let Some(find) = find {
        query.push_str(&format!("&find={}", percent_encoded(find)));
    }
    format!("{address}{query}#log")
}

fn event_row(event: &Event, place: Place) -> Markup {
    let words = event_in_words(event);
    // What opens needs a name.
    let words = if words.is_empty() { event_title(event).to_owned() } else { words };
    html! {
        tr data-key={ "e" (event.seq) "/" (event.id) } {
            td.mono { (event.seq) }
            td.dim { (time(event.at, Clock::Second)) }
            td { span class={ "tag " (event_class(event)) } { (clean(event_title(event))) } }
            td {
                @match place {
                    Place::Served => details { summary { (shortened(&words, 400)) } pre { (whole(event)) } },
                    Place::Alone => (shortened(&words, 400)),
                }
            }
        }
    }
}

/// All that the log has of an event.
fn whole(event: &Event) -> String {
    let mut value = serde_json::to_value(event).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        // The row says these.
        for known in ["v", "seq"] {
            fields.shift_remove(known);
        }
    }
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    clean_lines(&shortened(&text, WHOLE))
}
