//! Durations and times in words.

use std::borrow::Cow;

use chrono::{Datelike as _, Timelike as _};

use crate::model::{Timestamp, counted, is_terminal_control};
use crate::runs::{Alternative, BegunWork, Card, CardGroup, ListedRun, Need, NextReport, UnitCounts, Who};

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A duration in its two largest units, or in the largest one if that is enough: `8 s`, `12 min`, `1 h 48 min`, `31 h`,
/// `9 d`.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        ..MINUTE => format!("{} s", ms / SECOND),
        MINUTE..HOUR => format!("{} min", ms / MINUTE),
        // The longer it took, the less minutes matter.
        HOUR..DAY if ms % HOUR >= MINUTE && ms < 10 * HOUR => {
            format!("{} h {} min", ms / HOUR, ms % HOUR / MINUTE)
        }
        _ if ms < 2 * DAY => format!("{} h", ms / HOUR),
        _ => format!("{} d", ms / DAY),
    }
}

/// How long ago something was.
pub(crate) fn age(at: Timestamp, now: Timestamp) -> String {
    duration(at.milliseconds_until(now))
}

/// Why a run is where it is, with how long work has been going on that the reason is about.
pub(crate) fn reason_now(reason: &str, begun_at: Option<Timestamp>, now: Timestamp) -> Cow<'_, str> {
    match begun_at {
        Some(at) => format!("begun {} ago; {reason}", age(at, now)).into(),
        None => reason.into(),
    }
}

/// What a run waits for: the question, the blocker or what went wrong as it was recorded, the work that goes on or has no known
/// outcome, what a gate is for, otherwise the reason; of a run that is over, how long it took. Its group and its need say the rest.
pub(crate) fn waits_for(card: &Card, now: Timestamp) -> String {
    if card.group == CardGroup::Over {
        return took(&card.run);
    }
    if let Some(cause) = &card.cause {
        return cause.in_words();
    }
    if let Some(work) = &card.work {
        return work_in_words(work, card, now);
    }
    match &card.next.description {
        Some(description) if card.need == Some(Need::Approval) => format!("{description} · {}", card.reason),
        _ => reason_now(&card.reason, card.begun_at, now).into_owned(),
    }
}

/// What a list says of a run that is over: how long it took.
pub(crate) fn took(run: &ListedRun) -> String {
    format!("took {}", duration(run.took_ms()))
}

/// What was begun, when, and how its units stand.
fn work_in_words(work: &BegunWork, card: &Card, now: Timestamp) -> String {
    let mut parts = Vec::new();
    match &work.title {
        Some(title) => parts.push(title.clone()),
        None => parts.push(reason_now(&card.reason, card.begun_at, now).into_owned()),
    }
    if let Some(at) = work.at {
        let unknown = if card.group == CardGroup::InDoubt { ", outcome unknown" } else { "" };
        parts.push(format!("begun {} ago{unknown}", age(at, now)));
    }
    if let Some(UnitCounts { all, done, failing }) = work.units {
        let failing = if failing > 0 { format!(", {} failing", count(failing)) } else { String::new() };
        parts.push(format!("{} of {} done{failing}", count(done), counted(all, "unit")));
    }
    parts.join(" · ")
}

/// Why a run is in its group, as its own page says it: of a run at work, what is done.
pub(crate) fn verdict_reason(card: &Card, now: Timestamp) -> Cow<'_, str> {
    if card.group == CardGroup::AtWork && card.work.is_some() {
        return waits_for(card, now).into();
    }
    reason_now(&card.reason, card.begun_at, now)
}

/// The name of the work in a run whose outcome is unknown, which the reason has not.
pub(crate) fn title_in_doubt(card: &Card) -> Option<&str> {
    let work = card.work.as_ref().filter(|_| card.group == CardGroup::InDoubt)?;
    work.title.as_deref()
}

/// How many of the other ways to go on are shown, at most `usual`; the others are folded. None is where the first thing to do is
/// known: a command, or a look at what the work left. A run at work needs nothing, least of all to be taken over.
pub(crate) fn ways_shown(card: &Card, usual: usize) -> usize {
    let next = &card.next;
    let is_known = next.command.is_some() || next.first.is_some() || card.group == CardGroup::AtWork;
    if is_known { 0 } else { usual.min(next.alternatives.len()) }
}

/// A time of day in UTC, `14:30`.
pub(super) fn time_of_day(at: Timestamp) -> String {
    let at = at.as_datetime();
    format!("{:02}:{:02}", at.hour(), at.minute())
}

/// A command that flow ran: the name that the project gives it, if it has one, before it, and where it ran if that was not the
/// top of the checkout.
pub(crate) fn ran_as(name: Option<&str>, command: &str, dir: Option<&str>) -> String {
    let named = match name {
        Some(name) => format!("{name} = {command}"),
        None => command.to_owned(),
    };
    match dir {
        None | Some(".") => named,
        Some(dir) => format!("{named} (in {dir})"),
    }
}

/// A time of day in UTC with its day, `Wed 20 May 14:30`.
pub(crate) fn day_and_time(at: Timestamp) -> String {
    let day = at.as_datetime();
    format!("{} {} {}", day.weekday(), day.format("%-d %b"), time_of_day(at))
}

/// Whether two times are on the same day in UTC.
pub(super) fn is_same_day(one: Timestamp, other: Timestamp) -> bool {
    one.as_datetime().date_naive() == other.as_datetime().date_naive()
}

/// A text without characters that a page cannot show, or that would change the direction of what follows.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let is_hidden =
        |c: char| c != '\n' && c != '\t' && (is_terminal_control(c) || matches!(c, '\u{fffe}' | '\u{ffff}'));
    if text.contains(is_hidden) { text.replace(is_hidden, "\u{fffd}").into() } else { text.into() }
}

/// A text of many lines, without control characters.
pub(super) fn clean_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| clean(&line.replace('\t', "    ")).into_owned()).collect();
    lines.join("\n")
}

/// The beginning of a text of at most `limit` characters.
pub(super) fn shortened(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        None => clean(text),
        Some((end, _)) => format!("{}…", clean(text[..end].trim_end())).into(),
    }
}

/// Why there is no command that could be run unread, as the end of a sentence.
pub(crate) fn why_no_command(next: &NextReport) -> &'static str {
    if next.alternatives.is_empty() {
        "there is nothing to run now"
    } else {
        "which command is right depends on what happened, so choose it yourself"
    }
}

/// By whom a command has to be run, in brackets; empty if anyone may run it.
pub(crate) fn for_whom(way: &Alternative) -> &'static str {
    if way.by == Some(Who::Person) { " (you, in your own terminal)" } else { "" }
}

/// A number with separators of thousands, `9,974`.
pub(crate) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut separated = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            separated.push(',');
        }
        separated.push(digit);
    }
    separated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_as_exact_as_people_need() {
        let minutes = |minutes: u64| duration(minutes * MINUTE);
        let shown = [minutes(0), minutes(12), minutes(108), minutes(31 * 60 + 5), minutes(9 * 24 * 60 + 80)];
        assert_eq!(shown, ["0 s", "12 min", "1 h 48 min", "31 h", "9 d"]);
        assert_eq!([minutes(60), minutes(14 * 60 + 9)], ["1 h", "14 h"]);
    }

    #[test]
    fn numbers_have_separators() {
        assert_eq!([0, 999, 1000, 9974, 1_234_567].map(count), ["0", "999", "1,000", "9,974", "1,234,567"]);
    }

    #[test]
    fn what_would_change_the_direction_of_text_is_replaced() {
        assert_eq!(clean("a\u{202e}b\u{1b}[1m\nc\u{ffff}"), "a\u{fffd}b\u{fffd}[1m\nc\u{fffd}");
        assert_eq!(shortened("abc def", 4), "abc…");
    }
}
