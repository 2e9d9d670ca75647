//! What an event did, in words.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::model::{
    ActivityRecorded, ActivityStatus, Emitted, Event, EventKind, ReportType, RunEdited, Skip, StepReport, answer_in,
    named,
};

named! {
    /// Which events of a log are shown.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
    pub enum LogFilter {
        /// All of them.
        #[default]
        All = "all",
        /// What failed, what was blocked, what was damaged, and what went on after it.
        Trouble = "trouble",
        /// Questions, answers, decisions, edits, and changes of the run's status.
        People = "people",
        /// Records of activities.
        Activities = "activities",
    }
}

impl LogFilter {
    /// The words for a choice.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::All => "Every event",
            Self::Trouble => "Trouble",
            Self::People => "People",
            Self::Activities => "Activities",
        }
    }

    /// Whether it takes an event.
    #[must_use]
    pub fn takes(self, event: &Event) -> bool {
        match self {
            Self::All => true,
            Self::Trouble => is_trouble(&event.kind),
            Self::People => is_of_people(&event.kind),
            Self::Activities => matches!(event.kind, EventKind::ActivityRecorded(_)),
        }
    }
}

fn is_trouble(kind: &EventKind) -> bool {
    match kind {
        EventKind::ActivityRecorded(record) => {
            matches!(record.activity.status(), ActivityStatus::Failed | ActivityStatus::Blocked)
        }
        EventKind::Emitted(emitted) => emitted.reports.iter().any(|report| data_of(report, "status") == "failed"),
        EventKind::RunBlocked(_) | EventKind::RunUnblocked(_) | EventKind::RunFailed(_) | EventKind::LogRepaired(_) => {
            true
        }
        _ => false,
    }
}

fn is_of_people(kind: &EventKind) -> bool {
    match kind {
        EventKind::ActivityRecorded(record) => record.approval.is_some(),
        EventKind::Emitted(emitted) => emitted.reports.iter().any(is_asked_or_answered),
        EventKind::SessionEnded(_) | EventKind::LogRepaired(_) | EventKind::ModesChanged(_) | EventKind::Unknown(_) => {
            false
        }
        _ => true,
    }
}

fn is_asked_or_answered(report: &StepReport) -> bool {
    matches!(report.kind(), Some(ReportType::WaitingForUser | ReportType::UserAnswered))
}

/// What an event did, in a word or two for people.
#[must_use]
pub fn event_title(event: &Event) -> &str {
    match &event.kind {
        EventKind::RunStarted(_) => "started",
        EventKind::RunForked(_) => "forked",
        EventKind::RunAdopted(_) => "taken over from another program",
        EventKind::ActivityRecorded(record) => match (&record.approval, record.activity.status()) {
            (Some(_), status) if status.is_completed() => "approved",
            (Some(_), _) => "rejected",
            (None, ActivityStatus::Running) => "begun",
            (None, ActivityStatus::Pending) => "planned",
            (None, status) => status.as_str(),
        },
        EventKind::Emitted(emitted) => match emitted.reports.as_slice() {
            [only] => report_title(only),
            _ => "reported",
        },
        EventKind::RunBlocked(_) => "run blocked",
        EventKind::RunUnblocked(_) => "run unblocked",
        EventKind::RunCompleted(_) => "run completed",
        EventKind::RunFailed(_) => "run failed",
        EventKind::RunCancelled(_) => "run cancelled",
        EventKind::RunReopened(_) => "run reopened",
        EventKind::SessionEnded(_) => "session ended",
        EventKind::RunClaimed(_) => "claimed",
        EventKind::RunEdited(edit) if edit.by_command => "edited",
        EventKind::RunEdited(_) => "edited by hand",
        EventKind::WorkflowAdopted(_) => "workflow changed",
        EventKind::LogRepaired(_) => "log repaired",
        EventKind::ModesChanged(_) => "modes changed",
        EventKind::Unknown(event) => &event.kind,
    }
}

fn report_title(report: &StepReport) -> &str {
    match report.kind() {
        Some(ReportType::WaitingForUser) => "asks",
        Some(ReportType::UserAnswered) => "answered",
        Some(ReportType::ArtifactRegistered) => "artifact",
        _ => "reported",
    }
}

/// The class of the colour for an event's title.
#[must_use]
pub fn event_class(event: &Event) -> &'static str {
    match event_title(event) {
        "failed" | "run failed" | "rejected" | "log repaired" => "bad",
        "passed" | "approved" | "run completed" => "done",
        "blocked" | "run blocked" | "asks" => "need",
        "begun" => "run",
        _ => "dim",
    }
}

/// What matters about an event of this type, in one line without position, time and type.
#[must_use]
pub fn event_in_words(event: &Event) -> String {
    match &event.kind {
        EventKind::RunStarted(started) => match &started.phase {
            Some(phase) => format!("{} in {phase}", started.workflow),
            None => started.workflow.to_string(),
        },
        EventKind::RunForked(forked) => match &forked.reason {
            Some(reason) => format!("from {} at event {}: {reason}", forked.parent.run_id, forked.parent.seq),
            None => format!("from {} at event {}", forked.parent.run_id, forked.parent.seq),
        },
        EventKind::ActivityRecorded(record) => recorded(record),
        EventKind::Emitted(emitted) => reports(emitted),
        EventKind::RunBlocked(change)
        | EventKind::RunUnblocked(change)
        | EventKind::RunCompleted(change)
        | EventKind::RunFailed(change)
        | EventKind::RunCancelled(change)
        | EventKind::RunReopened(change) => {
            let said = format!("{}{}", change.reason.as_deref().unwrap_or_default(), skipped(change.skipped.as_ref()));
            // Without a reason of its own, what was skipped stands alone.
            said.strip_prefix("; ").unwrap_or(&said).to_owned()
        }
        EventKind::SessionEnded(ended) => text_of(ended.session.as_ref()),
        EventKind::RunClaimed(claim) => match (&claim.session, &claim.from) {
            (Some(session), _) => format!("by {session}, epoch {}", claim.epoch),
            (None, from) => format!("for no session, from {}, epoch {}", text_of(from.as_ref()), claim.epoch),
        },
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
    // A late one leaves the run where it is.
    if !record.late
        && let Some(next) = &record.advanced_to
    {
        words.push_str(&format!(", on to {next}"));
    }
    words.push_str(&skipped(record.skipped.as_ref()));
    words
}

/// The fields that were changed, and whether a command of flow did that.
fn edited(edit: &RunEdited) -> String {
    let changes = serde_json::to_value(&edit.changes).unwrap_or_default();
    let keys: Vec<_> = changes.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    let by = if edit.by_command { ", by a command" } else { "" };
    if keys.is_empty() { "comments, own keys or line ends".to_owned() } else { format!("{}{by}", keys.join(", ")) }
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
    let Some(Skip { phases, reason, unproved }) = skip else { return String::new() };
    let mut left: Vec<_> = phases.iter().map(ToString::to_string).collect();
    left.extend(unproved.iter().map(|one| format!("{} without {}", one.phase, one.exec)));
    format!("; left undone: {} ({reason})", left.join(", "))
}
