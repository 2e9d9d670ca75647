//! The timeline as a Gantt diagram of Mermaid.

use std::fmt::Write as _;

use crate::engine::{Lane, Span, SpanState, Timeline};
use crate::model::{StepStatus, Timestamp};
use crate::picture::text::{in_one_line, shortened};
use crate::runs::RunReport;

/// The most bytes of all tasks. Mermaid refuses texts of more than 50,000 characters.
const BYTES: usize = 40_000;
/// The most columns of a name.
const COLUMNS: usize = 40;

/// A task of the diagram.
struct Task {
    /// The step below which it is.
    section: String,
    from: Timestamp,
    line: String,
}

/// The diagram: a section for each step with its units, a task for each span. Of a long run it has the latest tasks.
pub(super) fn write(run: &RunReport) -> String {
    let timeline = &run.timeline;
    let all = tasks(timeline);
    let shown = latest(&all);
    let mut text = "gantt\n".to_owned();
    let _ = writeln!(text, "    title {} (times in UTC)", name(run.card.run.head.run_id.as_str()));
    // Mermaid takes a time without a zone for one of the reader's zone, and shows it as it stands here.
    text.push_str("    dateFormat YYYY-MM-DDTHH:mm:ss.SSS\n    axisFormat %d %b %H:%M\n");
    if shown.len() < all.len() {
        let _ = writeln!(text, "    %% {} earlier spans are left out", all.len() - shown.len());
    }
    let mut section = None;
    for task in shown {
        if section.replace(&task.section) != Some(&task.section) {
            let _ = writeln!(text, "    section {}", task.section);
        }
        text.push_str(&task.line);
    }
    text
}

fn tasks(timeline: &Timeline) -> Vec<Task> {
    let of_lane = |lane: &Lane| {
        let section = name(lane.below.as_ref().unwrap_or(&lane.step).as_str());
        let tasks = lane.spans.iter().map(|span| {
            let line = line(lane, span, timeline.to);
            Task { section: section.clone(), from: span.from, line }
        });
        tasks.collect::<Vec<_>>()
    };
    timeline.lanes.iter().flat_map(of_lane).collect()
}

/// The latest tasks for which there is room, in their order.
fn latest(all: &[Task]) -> Vec<&Task> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(all[at].from));
    let mut room = BYTES;
    let fits = |at: &usize| {
        let size = all[*at].line.len();
        let has_room = size <= room;
        room = room.saturating_sub(size);
        has_room
    };
    let mut kept: Vec<usize> = order.into_iter().take_while(fits).collect();
    kept.sort_unstable();
    kept.into_iter().map(|at| &all[at]).collect()
}

/// `1 · code waits :crit, active, 2026-05-20T10:00:00.000, 2026-05-20T10:20:00.000`. A name at the beginning of a line
/// could be a keyword, so the attempt stands before it.
fn line(lane: &Lane, span: &Span, now: Timestamp) -> String {
    let state = match (span.state, span.outcome) {
        (SpanState::Waiting, _) => " waits",
        (SpanState::Blocked, _) => " blocked",
        (SpanState::InDoubt, _) => " outcome unknown",
        (SpanState::Running, Some(StepStatus::Failed)) => " failed",
        (SpanState::Running, Some(StepStatus::Skipped)) => " skipped",
        (SpanState::Running, _) => "",
    };
    let (from, to) = (time(span.from), time(span.to.unwrap_or(now)));
    format!("    {} · {}{state} :{}, {from}, {to}\n", span.attempt, name(lane.name()), tags(span))
}

/// What goes on is `active`, all else `done`; what failed, waits or is in doubt is `crit`.
fn tags(span: &Span) -> &'static str {
    let is_critical = span.state != SpanState::Running || span.outcome == Some(StepStatus::Failed);
    match (is_critical, span.to.is_none()) {
        (true, true) => "crit, active",
        (true, false) => "crit, done",
        (false, true) => "active",
        (false, false) => "done",
    }
}

fn time(at: Timestamp) -> String {
    at.to_string().trim_end_matches('Z').to_owned()
}

/// A text on one line without what ends a name or begins something else in the grammar of Mermaid.
fn name(text: &str) -> String {
    let is_odd = |c: char| matches!(c, ':' | ';' | '#' | '%' | '{' | '}' | '<' | '>' | '`' | '"' | '\\');
    let plain = in_one_line(&text.replace(is_odd, " "));
    if plain.is_empty() { "…".to_owned() } else { shortened(&plain, COLUMNS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_its_line_or_begins_a_directive() {
        for (text, written) in [
            ("API: list; show #1", "API list show 1"),
            ("%%{init: {}}%%\n---\nx", "init --- x"),
            ("a\u{202e}b</script>-->", "a b /script --"),
            (":;#", "…"),
        ] {
            assert_eq!(name(text), written);
        }
    }

    #[test]
    fn of_many_spans_the_latest_are_written() {
        let from: Timestamp = "2026-05-20T14:30:00Z".parse().unwrap();
        let task = |at: i64| Task { section: "s".to_owned(), from: from.later(at), line: "x".repeat(BYTES / 4) };
        let all: Vec<_> = [5, 1, 2, 3, 4].map(task).into();
        let shown: Vec<_> = latest(&all).iter().map(|task| from.milliseconds_until(task.from)).collect();
        assert_eq!(shown, [5, 2, 3, 4]);
    }
}
