//! The events of a run as a batch of CloudEvents 1.0 in JSON, with the extension `sequence`.

use serde_json::{Value, json};

use crate::model::{Event, EventKind};
use crate::runs::WholeRun;

/// What the types of events begin with.
const TYPES: &str = "ai.synapti.flow.";
/// The members of an event that are attributes of its CloudEvent, or that say how it is kept.
const HEAD: [&str; 6] = ["v", "seq", "id", "at", "type", "run"];
/// The digits of a position, so that positions have the same order as texts and as numbers.
const DIGITS: usize = 15;

/// All events, in the order of the log.
pub(super) fn batch(whole: &WholeRun) -> impl Iterator<Item = Value> {
    // An id of a run has no characters that a URI would have to escape.
    let source = format!("urn:flow:run:{}", whole.run.card.run.head.run_id);
    whole.log.events.iter().map(move |event| cloud_event(&source, event))
}

fn cloud_event(source: &str, event: &Event) -> Value {
    let mut shown = json!({
        "specversion": "1.0",
        "id": event.id,
        "source": source,
        "type": format!("{TYPES}{}", event.kind.name()),
        "time": event.at,
        "sequence": format!("{:0DIGITS$}", event.seq.0),
    });
    if let Some(subject) = subject(event) {
        shown["subject"] = subject.into();
    }
    shown["datacontenttype"] = "application/json".into();
    let mut body = json!(event);
    if let Some(body) = body.as_object_mut() {
        body.retain(|key, _| !HEAD.contains(&key.as_str()));
    }
    shown["data"] = body;
    shown
}

/// The activity that is recorded, or else the step that the event is about; none if it is about several or none.
fn subject(event: &Event) -> Option<String> {
    match &event.kind {
        EventKind::ActivityRecorded(record) => Some(record.id().to_string()),
        EventKind::Emitted(emitted) => {
            let mut steps: Vec<_> = emitted.reports.iter().filter_map(|report| report.step.as_ref()).collect();
            steps.dedup();
            match steps[..] {
                [only] => Some(only.to_string()),
                _ => Some(emitted.phase.as_ref()?.to_string()),
            }
        }
        EventKind::RunStarted(started) => Some(started.phase.as_ref()?.to_string()),
        _ => None,
    }
}
