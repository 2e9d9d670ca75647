//! The events of a run as a batch of CloudEvents 1.0 in JSON, with the extension `sequence`.

use serde_json::{Map, Value, json};

use crate::picture::event::{seq_in, text_in};
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

fn cloud_event(source: &str, event: &Map<String, Value>) -> Value {
    let seq = seq_in(event);
    let mut shown = Map::new();
    shown.insert("specversion".to_owned(), json!("1.0"));
    shown.insert("id".to_owned(), json!(text_in(event, "id")));
    shown.insert("source".to_owned(), json!(source));
    shown.insert("type".to_owned(), json!(format!("{TYPES}{}", text_in(event, "type"))));
    shown.insert("time".to_owned(), json!(text_in(event, "at")));
    shown.insert("sequence".to_owned(), json!(format!("{seq:0DIGITS$}")));
    if let Some(subject) = subject(event) {
        shown.insert("subject".to_owned(), json!(subject));
    }
    shown.insert("datacontenttype".to_owned(), json!("application/json"));
    let body = event.iter().filter(|(key, _)| !HEAD.contains(&key.as_str()));
    let body: Map<String, Value> = body.map(|(key, value)| (key.clone(), value.clone())).collect();
    shown.insert("data".to_owned(), Value::Object(body));
    Value::Object(shown)
}

/// The activity that is recorded, or else the step that the event is about; none if it is about several or none.
fn subject(event: &Map<String, Value>) -> Option<&str> {
    let activity = event.get("activity").and_then(|activity| activity.get("metadata")?.get("id")?.as_str());
    let reports = event.get("reports").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut steps = reports.iter().filter_map(|report| report.get("step")?.as_str());
    let step = steps.next().filter(|first| steps.all(|step| step == *first));
    let phase = Some(text_in(event, "phase")).filter(|phase| !phase.is_empty());
    activity.or(step).or(phase)
}
