//! What an event did, in words.

use serde_json::Value;

use crate::model::{ActivityRecorded, Emitted, Event, EventKind, RunEdited, Skip, StepReport, answer_in};

/// What matters about an event of this type, in one line without position, time and type.
#[must_use]
pub fn event_in_words(event: &Event) -> String {
    match &event.kind {
        EventKind::RunStarted(started) => match &started.phase {
            Some(phase) => format!("{} in {phase}", started.workflow),
            None => started.workflow.to_string(),
        },
        EventKind::ActivityRecorded(record) => recorded(record),
        EventKind::Emitted(emitted) => reports(emitted),
        EventKind::RunBlocked(change)
        | EventKind::RunUnblocked(change)
        | EventKind::RunCompleted(change)
        | EventKind::RunFailed(change)
        | EventKind::RunCancelled(change)
        | EventKind::RunReopened(change) => {
            format!("{}{}", change.reason.as_deref().unwrap_or_default(), skipped(change.skipped.as_ref()))
        }
        EventKind::SessionEnded(ended) => text_of(ended.session.as_ref()),
        EventKind::RunClaimed(claim) => format!("by {}, epoch {}", text_of(claim.session.as_ref()), claim.epoch),
        EventKind::RunEdited(edit) => edited(edit),
        EventKind::WorkflowAdopted(adopted) => adopted.differences.join("; "),
        EventKind::LogRepaired(repair) => {
            let (lost, renumbered) = (repair.lost.len(), repair.renumbered.len());
            format!("{} (ranges lost: {lost}, lines renumbered: {renumbered})", repair.reason)
        }
        EventKind::RunAdopted(_) | EventKind::ModesChanged(_) => String::new(),
        EventKind::Unknown(event) => event.body.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned(),
    }
}

fn text_of(value: Option<&impl ToString>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

/// A recorded activity with the exit code of its command.
fn recorded(record: &ActivityRecorded) -> String {
    let ActivityRecorded { number, phase, activity, .. } = record;
    let status = activity.status().with_exit_code(activity.exit_code());
    let mut words = format!("{number} {} {status} in {phase}", record.id());
    if let Some(next) = &record.advanced_to {
        words.push_str(&format!(", on to {next}"));
    }
    words.push_str(&skipped(record.skipped.as_ref()));
    words
}

/// The fields that a person changed.
fn edited(edit: &RunEdited) -> String {
    let changes = serde_json::to_value(&edit.changes).unwrap_or_default();
    let keys: Vec<_> = changes.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    if keys.is_empty() { "comments or own keys".to_owned() } else { keys.join(", ") }
}

/// Reports on steps, in one line.
fn reports(emitted: &Emitted) -> String {
    let reports: Vec<_> = emitted.reports.iter().map(reported).collect();
    let mut all = reports.join("; ");
    if emitted.ends {
        all.push_str("; the run is completed");
    }
    all
}

fn reported(report: &StepReport) -> String {
    let what = match report.kind.as_str() {
        "status_change" => data_of(report, "status").to_owned(),
        // An artifact has one of the two.
        "artifact_registered" => format!("{}{}", data_of(report, "path"), data_of(report, "url")),
        "waiting_for_user" => format!("asks: {}", data_of(report, "prompt")),
        "user_answered" => format!("answer: {}", answer_in(&report.data)),
        "btw_update" => data_of(report, "message").to_owned(),
        other => other.to_owned(),
    };
    let mut words = vec![text_of(report.step.as_ref()), text_of(report.unit.as_ref()), what];
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

fn data_of<'r>(report: &'r StepReport, key: &str) -> &'r str {
    report.data.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The phases that an event skipped, and why.
fn skipped(skip: Option<&Skip>) -> String {
    let Some(Skip { phases, reason }) = skip else { return String::new() };
    let phases: Vec<_> = phases.iter().map(|phase| phase.as_str()).collect();
    format!("; left undone: {} ({reason})", phases.join(", "))
}
