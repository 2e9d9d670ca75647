//! What an event did, in words.

use serde_json::{Map, Value};

use crate::model::{ActivityStatus, answer_in};

/// A text of an event as it is in the log; empty if there is none.
pub(super) fn text_in<'e>(event: &'e Map<String, Value>, key: &str) -> &'e str {
    event.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The position of an event as it is in the log.
pub(super) fn seq_in(event: &Map<String, Value>) -> u64 {
    event.get("seq").and_then(Value::as_u64).unwrap_or_default()
}

/// What matters about an event of this type, in one line without position, time and type; `event` is as in the log.
#[must_use]
pub fn event_in_words(event: &Map<String, Value>) -> String {
    let text = |key: &str| text_in(event, key);
    let inner = |outer: &str, section: &str, key: &str| {
        event.get(outer).and_then(|value| value.get(section)?.get(key)?.as_str()).unwrap_or_default()
    };
    match text("type") {
        "run_started" if text("phase").is_empty() => text("workflow").to_owned(),
        "run_started" => format!("{} in {}", text("workflow"), text("phase")),
        "emitted" => reports(event),
        "activity_recorded" => {
            let advanced = match text("advanced_to") {
                "" => String::new(),
                phase => format!(", on to {phase}"),
            };
            let (id, status) = (inner("activity", "metadata", "id"), outcome(event));
            format!("{} {id} {status} in {}{advanced}{}", text("number"), text("phase"), skipped(event))
        }
        "session_end" => text("session").to_owned(),
        "run_claimed" => {
            let epoch = event.get("epoch").and_then(Value::as_u64).unwrap_or_default();
            format!("by {}, epoch {epoch}", text("session"))
        }
        "run_edited" => {
            let changes = event.get("changes").and_then(Value::as_object);
            let keys: Vec<_> = changes.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
            if keys.is_empty() { "comments or own keys".to_owned() } else { keys.join(", ") }
        }
        "workflow_adopted" => {
            let lines = event.get("differences").and_then(Value::as_array).into_iter().flatten();
            lines.filter_map(Value::as_str).collect::<Vec<_>>().join("; ")
        }
        "log_repaired" => {
            let lost = event.get("lost").and_then(Value::as_array).map_or(0, Vec::len);
            let renumbered = event.get("renumbered").and_then(Value::as_array).map_or(0, Vec::len);
            format!("{} (ranges lost: {lost}, lines renumbered: {renumbered})", text("reason"))
        }
        _ => format!("{}{}", text("reason"), skipped(event)),
    }
}

/// The status of a recorded activity, with the exit code of its command.
fn outcome(event: &Map<String, Value>) -> String {
    let inner = |section: &str, key: &str| event.get("activity")?.get(section)?.get(key);
    let text = inner("activity", "status").and_then(Value::as_str).unwrap_or_default();
    let exit_code = inner("outputs", "command_exit_code").and_then(Value::as_i64);
    text.parse().map_or_else(|()| text.to_owned(), |status: ActivityStatus| status.with_exit_code(exit_code))
}

/// Reports on steps, in one line.
fn reports(event: &Map<String, Value>) -> String {
    let text = |report: &Value, key: &str| report.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let reports = event.get("reports").and_then(Value::as_array).into_iter().flatten().map(|report| {
        let data = report.get("data").cloned().unwrap_or_default();
        let what = match text(report, "type").as_str() {
            "status_change" => text(&data, "status"),
            "artifact_registered" => format!("{}{}", text(&data, "path"), text(&data, "url")),
            "waiting_for_user" => format!("asks: {}", text(&data, "prompt")),
            "user_answered" => format!("answer: {}", data.as_object().map(answer_in).unwrap_or_default()),
            "btw_update" => text(&data, "message"),
            other => other.to_owned(),
        };
        let words = [text(report, "step"), text(report, "unit"), what];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    });
    let mut all = reports.collect::<Vec<_>>().join("; ");
    if event.get("ends").and_then(Value::as_bool) == Some(true) {
        all.push_str("; the run is completed");
    }
    all
}

/// The phases that an event skipped, and why.
fn skipped(event: &Map<String, Value>) -> String {
    let Some(skipped) = event.get("skipped").and_then(Value::as_object) else { return String::new() };
    let phases = skipped.get("phases").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let reason = skipped.get("reason").and_then(Value::as_str).unwrap_or_default();
    format!("; left undone: {} ({reason})", phases.collect::<Vec<_>>().join(", "))
}
