//! The timeline as a Gantt diagram of Mermaid.

use std::fmt::Write as _;

use crate::engine::{Lane, Span, SpanState, Timeline, Wait, WaitState};
use crate::model::{StepStatus, Timestamp};
use crate::picture::text::{cut, in_one_line};
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

/// The diagram: a section for each step with its units, a task for each span of work and each wait. Of a long run it has
/// the latest tasks.
pub(super) fn write(run: &RunReport) -> String {
    let timeline = &run.timeline;
    let all = tasks(timeline);
    let shown = latest(&all);
    let mut text = "gantt\n".to_owned();
    let _ = writeln!(text, "    title {} (times in UTC)", name(run.card.run.head.run_id.as_str()));
    // Mermaid takes a time without a zone for one of the reader's zone, and shows it as it stands here.
    text.push_str("    dateFormat YYYY-MM-DDTHH:mm:ss.SSS\n    axisFormat %d %b %H:%M\n");
    if shown.len() < all.len() {
        let _ = writeln!(text, "    %% {} earlier tasks are left out", all.len() - shown.len());
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
    let mut tasks = Vec::new();
    for lane in &timeline.lanes {
        let section = name(lane.below.as_ref().unwrap_or(&lane.step).as_str());
        let begin = tasks.len();
        for span in &lane.spans {
            tasks.push(Task { section: section.clone(), from: span.from, line: line(lane, span, timeline.to) });
        }
        for wait in &lane.waits {
            tasks.push(Task { section: section.clone(), from: wait.from, line: wait_line(lane, wait, timeline.to) });
        }
        // Stable: of what began at the same time, work comes before waits.
        tasks[begin..].sort_by_key(|task| task.from);
    }
    tasks
}

/// The latest tasks for which there is room, in their order.
fn latest(all: &[Task]) -> Vec<&Task> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(all[at].from));
    let (mut room, mut kept) = (BYTES, Vec::new());
    for at in order {
        let size = all[at].line.len();
        // An earlier one might fit, but then there would be a gap between the tasks.
        if size > room {
            break;
        }
        room -= size;
        kept.push(at);
    }
    kept.sort_unstable();
    kept.into_iter().map(|at| &all[at]).collect()
}

/// `1 · tests failed :crit, done, 2026-05-20T10:00:00.000, 2026-05-20T10:20:00.000`. A name at the beginning of a line
/// could be a keyword, so the attempt stands before it. What only one event is about is a milestone.
fn line(lane: &Lane, span: &Span, now: Timestamp) -> String {
    let (state, is_critical) = match (span.state, span.outcome) {
        (SpanState::InDoubt, _) => (" outcome unknown", true),
        (SpanState::Running, Some(StepStatus::Failed)) => (" failed", true),
        (SpanState::Running, Some(StepStatus::Skipped)) => (" skipped", false),
        (SpanState::Running, _) => ("", false),
    };
    let milestone = if span.is_point() { "milestone, " } else { "" };
    let (from, to) = span.stretch(now);
    let tags = tags(is_critical, span.to.is_none());
    format!(
        "    {} · {}{state} :{milestone}{tags}, {}, {}\n",
        span.attempt,
        name(lane.work_of(span)),
        time(from),
        time(to)
    )
}

/// `▲ code waits :crit, active, 2026-05-20T10:00:00.000, 2026-05-20T10:20:00.000`. Waiting belongs to no attempt.
fn wait_line(lane: &Lane, wait: &Wait, now: Timestamp) -> String {
    let state = match wait.state {
        WaitState::Waiting => "waits",
        WaitState::Blocked => "is blocked",
    };
    let (from, to) = wait.stretch(now);
    let tags = tags(true, wait.to.is_none());
    format!("    ▲ {} {state} :{tags}, {}, {}\n", name(lane.name()), time(from), time(to))
}

/// What goes on is `active`, all else `done`; what failed, waits or is in doubt is `crit`.
fn tags(is_critical: bool, is_open: bool) -> &'static str {
    if is_open {
        if is_critical { "crit, active" } else { "active" }
    } else if is_critical {
        "crit, done"
    } else {
        "done"
    }
}

fn time(at: Timestamp) -> String {
    at.to_string().trim_end_matches('Z').to_owned()
}

/// A text on one line without what ends a name or begins something else in the grammar of Mermaid.
fn name(text: &str) -> String {
    let plain = in_one_line(&text.replace([':', ';', '#', '%', '{', '}', '<', '>', '`', '"', '\\'], " "));
    if plain.is_empty() { "…".to_owned() } else { cut(&plain, COLUMNS) }
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
