//! Open questions that a command does not answer: told of, so that none is passed over in silence.

use crate::engine::{RunState, ask_or_answer, concerns, goes_on};
use crate::model::{EventKind, Question, ReportType, Seq, StateName, StepReport};
use crate::runs::error::Result;
use crate::runs::write::transaction::Transaction;

/// Appends an event, with warnings about the questions that it leaves without an answer. `reports` are those of the event.
///
/// # Errors
/// Those of [`Transaction::append`].
pub(in crate::runs) fn append_and_warn(
    tx: &mut Transaction<'_>,
    kind: EventKind,
    key: Option<&str>,
    reports: &[StepReport],
) -> Result<Seq> {
    if reports.is_empty() && tx.state.document().state.questions.is_empty() {
        return tx.append(kind, key);
    }
    let before = tx.state.clone();
    let seq = tx.append(kind, key)?;
    tx.warnings.extend(unanswered(&before, &tx.state, reports));
    Ok(seq)
}

/// Warnings about questions that work went past, and about those that were closed without an answer: by another question
/// of the same asker, or by the end of the run. `reports` led from `before` to `after`; a record has none.
pub(in crate::runs) fn unanswered(before: &RunState, after: &RunState, reports: &[StepReport]) -> Vec<String> {
    let mut open = before.document().state.questions.clone();
    let mut passed = Vec::new();
    let mut warnings = Vec::new();
    for report in reports {
        let replaced = open.iter().filter(|question| replaces(report, question));
        warnings
            .extend(replaced.map(|question| format!("{}, and got no answer: {}", asked(question), question.prompt)));
        ask_or_answer(&mut open, report);
        let about = open.iter().filter(|question| goes_on(report) && concerns(report, question));
        passed.extend(about.cloned());
    }
    if after.status().is_terminal() && !before.status().is_terminal() {
        let status = after.status();
        let closed = open.iter().map(|question| format!("the run is {status}, and {}", no_answer(question)));
        warnings.extend(closed);
        return warnings;
    }
    for question in &open {
        if passed.contains(question) || is_left(question, before, after) {
            warnings.push(format!("the work goes on, and {}", no_answer(question)));
        }
    }
    warnings
}

/// Whether `report` asks something else in the place of `question`.
fn replaces(report: &StepReport, question: &Question) -> bool {
    let asks = report.kind() == Some(ReportType::WaitingForUser);
    asks && report.step.as_ref().is_some_and(|step| question.is_of(step, report.unit.as_ref()))
}

/// Whether the run moved on from the place of a question. A sub-agent asks for the step that the run is in.
fn is_left(question: &Question, before: &RunState, after: &RunState) -> bool {
    let [before, after] = [before, after].map(|run| run.document().state.positions().collect::<Vec<&StateName>>());
    if question.step.agent().is_some() {
        return before.iter().any(|here| !after.contains(here));
    }
    before.contains(&&question.step) && !after.contains(&&question.step)
}

/// Who asked.
fn asked(question: &Question) -> String {
    format!("`{}`{} asked before", question.step, unit(question))
}

fn no_answer(question: &Question) -> String {
    format!("`{}`{} got no answer to: {}", question.step, unit(question), question.prompt)
}

fn unit(question: &Question) -> String {
    question.unit.as_ref().map(|unit| format!(" ({unit})")).unwrap_or_default()
}
