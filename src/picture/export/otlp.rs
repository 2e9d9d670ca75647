//! The timeline as a trace of OpenTelemetry: the run is the root, each attempt at a step or unit a span below it.
//!
//! The form is OTLP in JSON (`ExportTraceServiceRequest`): ids are hexadecimal, times are nanoseconds as text.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::engine::{Lane, Span, SpanState, Timeline};
use crate::model::{RunStatus, StepStatus, Timestamp, hex};
use crate::picture::event::{event_in_words, seq_in, text_in};
use crate::picture::words::shortened;
use crate::runs::{RunReport, WholeRun};

/// The kind of a span that neither calls nor is called.
const INTERNAL: u8 = 1;
/// The status codes of spans.
const UNSET: u8 = 0;
const OK: u8 = 1;
const ERROR: u8 = 2;
/// The bytes of the ids of traces and spans.
const TRACE_BYTES: usize = 16;
const SPAN_BYTES: usize = 8;
/// The most characters of what is said about an event.
const WORDS: usize = 1000;

/// The request.
pub(super) fn request(whole: &WholeRun) -> Value {
    let run = &whole.run.card.run;
    let trace = Trace::of(&whole.run);
    let mut spans = vec![trace.root(whole)];
    for lane in &whole.run.timeline.lanes {
        spans.extend(attempts(lane).map(|attempt| trace.attempt(lane, attempt)));
    }
    let resource = [said("service.name", "flow"), said("flow.run.id", run.head.run_id.as_str())];
    let scope = json!({ "name": "flow", "version": env!("CARGO_PKG_VERSION") });
    json!({
        "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{ "scope": scope, "spans": spans }],
        }],
    })
}

/// What all spans of a run share.
struct Trace<'r> {
    id: String,
    root: String,
    timeline: &'r Timeline,
}

impl<'r> Trace<'r> {
    fn of(run: &'r RunReport) -> Self {
        let own = format!("{}\n{}", run.card.run.head.run_id, run.card.run.head.created_at);
        Self { id: id_of(&own, TRACE_BYTES), root: id_of(&format!("{own}\nroot"), SPAN_BYTES), timeline: &run.timeline }
    }

    fn root(&self, whole: &WholeRun) -> Value {
        let (run, timeline) = (&whole.run, self.timeline);
        let summary = &run.card.run;
        let mut attributes = vec![
            said("flow.run.id", summary.head.run_id.as_str()),
            said("flow.workflow", summary.head.workflow.as_str()),
            said("flow.status", summary.head.status.as_str()),
            number("flow.worked_ms", timeline.worked_ms),
        ];
        attributes.extend(summary.goal.as_deref().map(|goal| said("flow.goal", &shortened(goal, WORDS))));
        attributes.extend((!summary.head.status.is_terminal()).then(open));
        let code = match summary.head.status {
            RunStatus::Completed => OK,
            RunStatus::Failed => ERROR,
            RunStatus::Active | RunStatus::Blocked | RunStatus::Cancelled => UNSET,
        };
        let events = whole.log.events.iter().filter_map(logged).collect();
        let name = format!("{} {}", summary.head.workflow, summary.head.run_id);
        let span = self.span(&self.root, &name, [timeline.from, timeline.to], attributes);
        finished(span, code, &run.card.reason, events)
    }

    /// An attempt: neighbouring spans of the timeline. Stretches in which it waited are events in it.
    fn attempt(&self, lane: &Lane, spans: &[Span]) -> Value {
        let (first, last) = (&spans[0], &spans[spans.len() - 1]);
        let mut attributes =
            vec![said("flow.step", lane.step.as_str()), number("flow.attempt", u64::from(first.attempt))];
        attributes.extend(lane.unit.as_ref().map(|unit| said("flow.unit", unit.as_str())));
        attributes.extend(last.outcome.map(|outcome| said("flow.outcome", outcome.as_str())));
        attributes.extend([number("flow.first_event", first.first.0), number("flow.last_event", last.last.0)]);
        attributes.extend(last.to.is_none().then(open));
        let code = match last.outcome {
            Some(StepStatus::Completed) => OK,
            Some(StepStatus::Failed) => ERROR,
            _ => UNSET,
        };
        let waits = spans.iter().filter(|span| span.state != SpanState::Running);
        let events = waits.map(|span| point(span.from, span.state.as_str(), Vec::new())).collect();
        let times = [first.from, last.to.unwrap_or(self.timeline.to)];
        let mut span = self.span(&self.id_of(lane, first.attempt), lane.name(), times, attributes);
        span.insert("parentSpanId".to_owned(), json!(self.parent(lane, first.from)));
        finished(span, code, "failed", events)
    }

    fn span(&self, id: &str, name: &str, [from, to]: [Timestamp; 2], attributes: Vec<Value>) -> Map<String, Value> {
        let members = [
            ("traceId", json!(self.id)),
            ("spanId", json!(id)),
            ("name", json!(shortened(name, WORDS))),
            ("kind", json!(INTERNAL)),
            ("startTimeUnixNano", json!(nanoseconds(from))),
            ("endTimeUnixNano", json!(nanoseconds(to))),
            ("attributes", json!(attributes)),
        ];
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn id_of(&self, lane: &Lane, attempt: u32) -> String {
        // A unit and a sub-agent stay the same when their work goes on in another step.
        let (kind, name) = match (&lane.unit, &lane.below) {
            (Some(unit), _) => ("unit", unit.as_str()),
            (None, Some(_)) => ("agent", lane.step.agent().unwrap_or(lane.step.as_str())),
            (None, None) => ("step", lane.step.as_str()),
        };
        id_of(&format!("{}\n{kind}\n{name}\n{attempt}", self.id), SPAN_BYTES)
    }

    /// The attempt at the step below which a unit is shown that went on when the unit began; otherwise the run.
    fn parent(&self, lane: &Lane, from: Timestamp) -> String {
        let step = lane.below.as_ref().and_then(|step| self.timeline.lane_of(step));
        let around = step.and_then(|step| {
            let attempt = step.spans.iter().rfind(|span| span.from <= from && span.to.is_none_or(|to| from <= to))?;
            Some(self.id_of(step, attempt.attempt))
        });
        around.unwrap_or_else(|| self.root.clone())
    }
}

/// The spans of a lane, those of one attempt together.
fn attempts(lane: &Lane) -> impl Iterator<Item = &[Span]> {
    lane.spans.chunk_by(|one, next| one.attempt == next.attempt)
}

/// A span with its status and events. What has not gone wrong has no message.
fn finished(mut span: Map<String, Value>, code: u8, why: &str, events: Vec<Value>) -> Value {
    let status = match code {
        ERROR => json!({ "code": code, "message": shortened(why, WORDS) }),
        UNSET => json!({}),
        code => json!({ "code": code }),
    };
    span.insert("events".to_owned(), json!(events));
    span.insert("status".to_owned(), status);
    Value::Object(span)
}

/// An event of the log as an event of the root.
fn logged(event: &Map<String, Value>) -> Option<Value> {
    let at: Timestamp = text_in(event, "at").parse().ok()?;
    let seq = seq_in(event);
    let about = shortened(&event_in_words(event), WORDS).into_owned();
    Some(point(at, text_in(event, "type"), vec![number("flow.seq", seq), said("flow.about", &about)]))
}

fn point(at: Timestamp, name: &str, attributes: Vec<Value>) -> Value {
    json!({ "timeUnixNano": nanoseconds(at), "name": name, "attributes": attributes })
}

/// Says that a span goes on, and that its end is the time of the report.
fn open() -> Value {
    json!({ "key": "flow.open", "value": { "boolValue": true } })
}

fn said(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

/// An id that is the same in every export.
fn id_of(text: &str, bytes: usize) -> String {
    hex(&Sha256::digest(text.as_bytes())[..bytes])
}

/// The protocol has no times before 1970.
fn nanoseconds(at: Timestamp) -> String {
    let since = u64::try_from(at.as_datetime().timestamp_millis()).unwrap_or(0);
    since.saturating_mul(1_000_000).to_string()
}
