//! Open questions that a command does not answer: reported, so that none is passed over in silence.

use serde_json::Map;

use crate::engine::{Report, RunState, ask_or_answer, concerns, goes_on, may_be_interview};
use crate::model::{ActivityRecorded, Emitted, EventKind, Question, ReportType, Seq, StateName, StepReport};
use crate::runs::error::Result;
use crate::runs::write::transaction::Transaction;

/// Appends an event, with warnings about the questions that it leaves without an answer.
///
/// # Errors
/// Those of [`Transaction::append`].
pub(in crate::runs) fn append_and_warn(tx: &mut Transaction<'_>, kind: EventKind, key: Option<&str>) -> Result<Seq> {
    if kind.reports().is_empty() && tx.state.document().state.questions.is_empty() {
        return tx.append(kind, key);
    }
    // The event may close the questions that it leaves without an answer.
    let (before, reports) = (tx.state.clone(), kind.reports().to_vec());
    let seq = tx.append(kind, key)?;
    tx.warnings.extend(unanswered(&before, &tx.state, &reports));
    Ok(seq)
}

/// Closes the question of the interview that `recorded` gives up: its document goes on asking, and the run no longer waits.
///
/// # Errors
/// Those of reading the log and of [`Transaction::append`].
pub(super) fn close_interview(tx: &mut Transaction<'_>, recorded: &ActivityRecorded) -> Result<()> {
    let id = recorded.id();
    if !may_be_interview(id.as_str()) {
        return Ok(());
    }
    let Some(history) = tx.history()? else { return Ok(()) };
    let Some(question) = history.begun_interview(id.as_str()).and_then(|begun| begun.question) else { return Ok(()) };
    let mut data = Map::new();
    data.insert("answer".to_owned(), format!("{id} was recorded as {}", recorded.activity.status()).into());
    let report = Report {
        id: tx.project.cx.ids.next(tx.now),
        kind: ReportType::UserAnswered,
        step: Some(question.step.clone()),
        unit: question.unit.clone(),
        data,
    };
    let reports = vec![report.logged_at(tx.now)];
    let session = tx.caller.session.clone();
    let closed = Emitted { reports, keeps_questions: true, session, ..Emitted::default() };
    tx.append(EventKind::Emitted(Box::new(closed)), None)?;
    Ok(())
}

/// Warnings about questions that work went past, and about those that were closed without an answer: by another question
/// of the same asker, or by the end of the run. `reports` led from `before` to `after`; a record has none.
pub(in crate::runs) fn unanswered(before: &RunState, after: &RunState, reports: &[StepReport]) -> Vec<String> {
    let mut open = before.document().state.questions.clone();
    let mut passed = Vec::new();
    let mut warnings = Vec::new();
    for report in reports {
        for question in &open {
            if replaces(report, question) {
                let (step, unit) = (&question.step, unit(question));
                warnings.push(format!("`{step}`{unit} asked before, and got no answer: {}", question.prompt));
            }
        }
        // Only then: the new question takes the place of the old one.
        ask_or_answer(&mut open, report);
        for question in &open {
            if goes_on(report) && concerns(report, question) {
                passed.push(question.clone());
            }
        }
    }
    let ended = after.status().is_terminal() && !before.status().is_terminal();
    for question in &open {
        if ended {
            warnings.push(format!("the run is {}, and {}", after.status(), no_answer(question)));
        } else if passed.contains(question) || is_left(question, before, after) {
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

fn no_answer(question: &Question) -> String {
    format!("`{}`{} got no answer to: {}", question.step, unit(question), question.prompt)
}

fn unit(question: &Question) -> String {
    question.unit.as_ref().map(|unit| format!(" ({unit})")).unwrap_or_default()
}
