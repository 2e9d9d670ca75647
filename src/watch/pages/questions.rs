//! What runs ask: questions, and the interviews that they wait for.

use crate::interviews::{InterviewListReport, OpenInterview};
use crate::model::{RunId, Timestamp};
use crate::picture::age;
use crate::watch::line::{Look, PageLine, wrapped};

/// The columns before a question.
const INDENT: usize = 4;

/// The questions with the runs that ask, which can be opened.
pub(in crate::watch) fn questions(report: &InterviewListReport, now: Timestamp, width: usize) -> Vec<PageLine> {
    let mut lines = Vec::new();
    for question in &report.questions {
        let place = match &question.unit {
            Some(unit) => format!("{} ({unit})", question.step),
            None => question.step.to_string(),
        };
        let run =
            AskingRun { id: &question.run_id, title: &question.title, name: &question.name, at: question.updated_at };
        lines.extend(asked(&run, &place, &question.prompt, now, width));
    }
    for interview in &report.interviews {
        let place = interview.document.to_string_lossy();
        let OpenInterview { run_id: id, title, name, updated_at, .. } = interview;
        lines.extend(asked(&AskingRun { id, title, name, at: *updated_at }, &place, words(interview), now, width));
    }
    if lines.is_empty() {
        lines.extend([PageLine::new(), PageLine::new().dim("  no run asks anything")]);
    }
    lines
}

fn words(interview: &OpenInterview) -> &str {
    match (&interview.error, &interview.next) {
        (Some(error), _) => error,
        (None, Some(next)) => next.words(),
        (None, None) => interview.prompt.as_deref().unwrap_or_default(),
    }
}

/// The run that asks.
struct AskingRun<'a> {
    id: &'a RunId,
    title: &'a str,
    name: &'a str,
    /// When it last changed.
    at: Timestamp,
}

fn asked(run: &AskingRun<'_>, place: &str, words: &str, now: Timestamp, width: usize) -> Vec<PageLine> {
    let head = PageLine::new().with(Look::Need, "  ▲ ").with(Look::Strong, run.title);
    let head = head.plain(format!("  {}  {place}", run.name)).dim(format!("  {}", age(run.at, now)));
    let mut lines = vec![PageLine::new(), head];
    if let Some(head) = lines.last_mut() {
        head.run = Some(run.id.clone());
    }
    for line in wrapped(words, width.saturating_sub(INDENT)) {
        lines.push(PageLine::new().plain(" ".repeat(INDENT)).plain(line));
    }
    lines
}
