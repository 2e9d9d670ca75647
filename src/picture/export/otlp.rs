//! The timeline as a trace of OpenTelemetry: the run is the root, each stretch of recorded work a span below it.
//!
//! The form is OTLP in JSON (`ExportTraceServiceRequest`): ids are hexadecimal, times are nanoseconds as text.

use std::collections::HashMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::engine::{Lane, Span, SpanState, Timeline};
use crate::model::{Event, RunStatus, StepStatus, Timestamp, UsageSum, UsageTotals, hex};
use crate::picture::event::event_in_words;
use crate::picture::export::used::UsedBySpan;
use crate::picture::words::shortened;
use crate::runs::{RunReport, WholeRun};

/// The kind of a span that neither calls nor is called.
const INTERNAL: u8 = 1;
/// The status codes of spans.
const UNSET: u8 = 0;
const OK: u8 = 1;
const ERROR: u8 = 2;
/// Says that a span goes on, and that its end is the time of the report.
const OPEN: &str = "flow.open";
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
    let used = UsedBySpan::of(whole);
    for (at, (lane, ids)) in whole.run.timeline.lanes.iter().zip(&trace.ids).enumerate() {
        for (nth, (span, id)) in lane.spans.iter().zip(ids).enumerate() {
            spans.push(trace.work(lane, span, id, used.by(at, nth)));
        }
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
    /// The ids of all spans, by lane.
    ids: Vec<Vec<String>>,
}

impl<'r> Trace<'r> {
    fn of(run: &'r RunReport) -> Self {
        let own = format!("{}\n{}", run.card.run.head.run_id, run.card.run.head.created_at);
        let id = id_of(&own, TRACE_BYTES);
        let ids = run.timeline.lanes.iter().map(|lane| ids_of(&id, lane)).collect();
        Self { id, root: id_of(&format!("{own}\nroot"), SPAN_BYTES), timeline: &run.timeline, ids }
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
        if let Some(goal) = &summary.goal {
            attributes.push(said("flow.goal", &shortened(goal, WORDS)));
        }
        attributes.extend(used_by_run(&run.usage.sum.totals));
        if !summary.head.status.is_terminal() {
            attributes.push(truth(OPEN));
        }
        let code = match summary.head.status {
            RunStatus::Completed => OK,
            RunStatus::Failed => ERROR,
            RunStatus::Active | RunStatus::Blocked | RunStatus::Cancelled => UNSET,
        };
        let events = whole.log.events.iter().map(logged).collect();
        let name = format!("{} {}", summary.head.workflow, summary.head.run_id);
        let span = self.span(&self.root, &name, (timeline.from, timeline.to), attributes);
        finished(span, code, &run.card.reason, events)
    }

    fn work(&self, lane: &Lane, one: &Span, id: &str, used: Option<&UsageSum>) -> Value {
        let mut attributes =
            vec![said("flow.step", lane.step.as_str()), number("flow.attempt", u64::from(one.attempt))];
        if let Some(unit) = &lane.unit {
            attributes.push(said("flow.unit", unit.as_str()));
        }
        if let Some(activity) = &one.activity {
            attributes.push(said("flow.activity", activity));
        }
        if let Some(outcome) = one.outcome {
            attributes.push(said("flow.outcome", outcome.as_str()));
        }
        if one.state == SpanState::InDoubt {
            attributes.push(truth("flow.in_doubt"));
        }
        attributes.extend([number("flow.first_event", one.first.0), number("flow.last_event", one.last.0)]);
        attributes.extend(one.to.is_none().then(|| truth(OPEN)));
        attributes.extend(used.into_iter().flat_map(used_by_work));
        let code = match one.outcome {
            Some(StepStatus::Completed) => OK,
            Some(StepStatus::Failed) => ERROR,
            _ => UNSET,
        };
        let mut span = self.span(id, lane.work_of(one), one.stretch(self.timeline.to), attributes);
        span["parentSpanId"] = json!(self.parent(lane, one));
        finished(span, code, "failed", Vec::new())
    }

    fn span(&self, id: &str, name: &str, (from, to): (Timestamp, Timestamp), attributes: Vec<Value>) -> Value {
        json!({
            "traceId": self.id,
            "spanId": id,
            "name": shortened(name, WORDS),
            "kind": INTERNAL,
            "startTimeUnixNano": nanoseconds(from),
            "endTimeUnixNano": nanoseconds(to),
            "attributes": attributes,
        })
    }

    /// The work that was reported of the step itself and went on when this work began; otherwise the run.
    fn parent(&self, lane: &Lane, one: &Span) -> String {
        let step = lane.below.as_ref().unwrap_or(&lane.step);
        if lane.below.is_none() && one.activity.is_none() {
            return self.root.clone();
        }
        for (other, ids) in self.timeline.lanes.iter().zip(&self.ids) {
            if other.below.is_some() || other.step != *step {
                continue;
            }
            // The latest one: an attempt may begin when the one before it ends.
            for (span, id) in other.spans.iter().zip(ids).rev() {
                let (from, to) = span.stretch(self.timeline.to);
                if span.activity.is_none() && from <= one.from && one.from <= to {
                    return id.clone();
                }
            }
        }
        self.root.clone()
    }
}

/// The ids of the spans of a lane, which are the same in every export.
fn ids_of(trace: &str, lane: &Lane) -> Vec<String> {
    // A unit and a sub-agent stay the same when their work goes on in another step.
    let (kind, name) = match (&lane.unit, &lane.below) {
        (Some(unit), _) => ("unit", unit.as_str()),
        (None, Some(_)) => ("agent", lane.step.agent().unwrap_or(lane.step.as_str())),
        (None, None) => ("step", lane.step.as_str()),
    };
    let mut parts: HashMap<(&str, u32), usize> = HashMap::new();
    let mut ids = Vec::new();
    for span in &lane.spans {
        let activity = span.activity.as_deref().unwrap_or_default();
        let part = parts.entry((activity, span.attempt)).or_default();
        ids.push(id_of(&format!("{trace}\n{kind}\n{name}\n{activity}\n{}\n{part}", span.attempt), SPAN_BYTES));
        *part += 1;
    }
    ids
}

/// A span with its status and events. What has not gone wrong has no message.
fn finished(mut span: Value, code: u8, why: &str, events: Vec<Value>) -> Value {
    let status = match code {
        ERROR => json!({ "code": code, "message": shortened(why, WORDS) }),
        UNSET => json!({}),
        code => json!({ "code": code }),
    };
    span["events"] = Value::Array(events);
    span["status"] = status;
    span
}

/// An event of the log as an event of the root.
fn logged(event: &Event) -> Value {
    let about = shortened(&event_in_words(event), WORDS).into_owned();
    let attributes = [number("flow.seq", event.seq.0), said("flow.about", &about)];
    json!({ "timeUnixNano": nanoseconds(event.at), "name": event.kind.name(), "attributes": attributes })
}

/// What a stretch of work used, by the names that OpenTelemetry has for it, and by flow's where it has none.
fn used_by_work(used: &UsageSum) -> Vec<Value> {
    let totals = &used.totals;
    let mut attributes = Vec::new();
    for (key, measured) in [
        ("gen_ai.usage.input_tokens", totals.tokens_in),
        ("gen_ai.usage.output_tokens", totals.tokens_out),
        ("flow.usage.duration_ms", totals.duration_ms),
    ] {
        attributes.extend(measured.map(|measured| number(key, measured.sum)));
    }
    // Of work with several models, no one model is that of the whole.
    if let [only] = used.models.as_slice() {
        attributes.push(said("gen_ai.request.model", &only.model));
    }
    attributes.extend(costs("flow.usage.cost", totals));
    attributes
}

/// What the whole run used, by names that no other span has: who adds up the spans must not count it twice.
fn used_by_run(totals: &UsageTotals) -> Vec<Value> {
    let mut attributes = Vec::new();
    if totals.is_unknown() {
        return attributes;
    }
    attributes.push(number("flow.run.usage.work", totals.work));
    for (key, measured) in
        [("tokens_in", totals.tokens_in), ("tokens_out", totals.tokens_out), ("duration_ms", totals.duration_ms)]
    {
        let Some(measured) = measured else { continue };
        attributes.push(number(&format!("flow.run.usage.{key}"), measured.sum));
        attributes.push(number(&format!("flow.run.usage.{key}.reported"), measured.reported));
    }
    attributes.extend(costs("flow.run.usage.cost", totals));
    for cost in &totals.costs {
        attributes.push(number(&format!("flow.run.usage.cost.{}.reported", cost.currency), cost.reported));
    }
    attributes
}

/// Exact amounts, each under `name` and its currency.
fn costs(name: &str, totals: &UsageTotals) -> Vec<Value> {
    let costs = totals.costs.iter();
    costs.map(|cost| said(&format!("{name}.{}", cost.currency), &cost.amount.to_string())).collect()
}

fn truth(key: &str) -> Value {
    json!({ "key": key, "value": { "boolValue": true } })
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
