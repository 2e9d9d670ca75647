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
        lines.extend(asked(&question.run_id, &place, question.updated_at, &question.prompt, now, width));
    }
    for interview in &report.interviews {
        let place = interview.document.to_string_lossy();
        lines.extend(asked(&interview.run_id, &place, interview.updated_at, words(interview), now, width));
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

fn asked(run: &RunId, place: &str, at: Timestamp, words: &str, now: Timestamp, width: usize) -> Vec<PageLine> {
    let head = PageLine::new().with(Look::Need, "  ▲ ").with(Look::Strong, run.as_str());
    let mut lines = vec![PageLine::new(), head.plain(format!("  {place}")).dim(format!("  {}", age(at, now)))];
    if let Some(head) = lines.last_mut() {
        head.run = Some(run.clone());
    }
    for line in wrapped(words, width.saturating_sub(INDENT)) {
        lines.push(PageLine::new().plain(" ".repeat(INDENT)).plain(line));
    }
    lines
}
