//! The timeline in the trace event format of Chrome: the run is a process, each lane a thread, or several where work went
//! on at the same time. Times are microseconds since 1970.

use serde_json::{Value, json};

use crate::engine::{Lane, SessionSpan, Span, SpanState, Timeline, Wait};
use crate::model::{Event, EventKind, ReportType, StepReport, Timestamp, UsageSum};
use crate::picture::event::event_in_words;
use crate::picture::export::lines::in_lines;
use crate::picture::export::used::UsedBySpan;
use crate::picture::words::clean;
use crate::runs::WholeRun;

/// The number of the process.
const PROCESS: u64 = 1;

/// The object format, with an event a line.
pub(super) fn write(whole: &WholeRun) -> String {
    let run = &whole.run.card.run;
    let about =
        json!({ "run": run.head.run_id, "workflow": run.head.workflow, "status": run.head.status, "goal": run.goal });
    let events = in_lines(events(whole));
    format!("{{\"displayTimeUnit\":\"ms\",\"otherData\":{about},\"traceEvents\":{events}}}\n")
}

fn events(whole: &WholeRun) -> impl Iterator<Item = Value> {
    let timeline = &whole.run.timeline;
    let process =
        metadata("process_name", 0, json!({ "name": format!("flow run {}", whole.run.card.run.head.run_id) }));
    let sessions = thread(0, "sessions").into_iter();
    let sessions = sessions.chain(timeline.sessions.iter().map(|session| session_slice(session, timeline.to)));
    let instants = whole.log.events.iter().filter_map(instant);
    std::iter::once(process).chain(sessions).chain(lanes(timeline, &UsedBySpan::of(whole))).chain(instants)
}

/// The threads with their slices. Slices of one thread must not overlap, and work in a lane may.
fn lanes(timeline: &Timeline, used: &UsedBySpan) -> Vec<Value> {
    let mut events = Vec::new();
    let mut number = 0;
    for (at, lane) in timeline.lanes.iter().enumerate() {
        let work = lane.spans.iter().enumerate();
        let work = work.map(|(nth, span)| (span.stretch(timeline.to), Slice::Work(span, used.by(at, nth))));
        let waits = lane.waits.iter().map(|wait| (wait.stretch(timeline.to), Slice::Wait(wait)));
        let mut slices: Vec<_> = work.chain(waits).collect();
        // In the order of time, so that a thread is free again when what it shows is over.
        slices.sort_by_key(|(stretch, _)| *stretch);
        let mut rows: Vec<(Timestamp, Vec<Slice<'_>>)> = vec![(timeline.from, Vec::new())];
        for ((from, to), slice) in slices {
            // Into the first thread that is free by then.
            match rows.iter_mut().find(|(end, _)| *end <= from) {
                Some((end, row)) => {
                    *end = to;
                    row.push(slice);
                }
                None => rows.push((to, vec![slice])),
            }
        }
        for (_, row) in rows {
            number += 1;
            events.extend(thread(number, lane.name()));
            events.extend(row.into_iter().map(|slice| slice.event(lane, number, timeline.to)));
        }
    }
    events
}

/// What a slice shows.
enum Slice<'t> {
    Work(&'t Span, Option<&'t UsageSum>),
    Wait(&'t Wait),
}

/// The name and the place of a lane.
fn thread(number: u64, name: &str) -> [Value; 2] {
    [
        metadata("thread_name", number, json!({ "name": clean(name) })),
        metadata("thread_sort_index", number, json!({ "sort_index": number })),
    ]
}

fn metadata(what: &str, thread: u64, about: Value) -> Value {
    json!({ "ph": "M", "name": what, "pid": PROCESS, "tid": thread, "ts": 0, "args": about })
}

impl Slice<'_> {
    fn event(&self, lane: &Lane, thread: u64, now: Timestamp) -> Value {
        match self {
            Self::Work(span, used) => {
                let (name, state) = (clean(lane.work_of(span)), span.state.as_str());
                let is_known = span.state == SpanState::Running;
                let name = if is_known { name.into_owned() } else { format!("{name}: {state}") };
                let mut about = json!({
                    "step": lane.step,
                    "activity": span.activity,
                    "attempt": span.attempt,
                    "outcome": span.outcome,
                    "open": span.to.is_none(),
                    "first_event": span.first,
                    "last_event": span.last,
                });
                if let Some(used) = used {
                    about["usage"] = json!(used);
                }
                complete(&name, state, thread, span.stretch(now), &about)
            }
            Self::Wait(wait) => {
                let state = wait.state.as_str();
                let about = json!({
                    "step": lane.step,
                    "open": wait.to.is_none(),
                    "first_event": wait.first,
                    "last_event": wait.last,
                });
                let name = format!("{}: {state}", clean(lane.name()));
                complete(&name, state, thread, wait.stretch(now), &about)
            }
        }
    }
}

fn session_slice(session: &SessionSpan, now: Timestamp) -> Value {
    let about = json!({ "open": session.to.is_none() });
    complete(session.session.as_str(), "session", 0, (session.from, session.to.unwrap_or(now)), &about)
}

fn complete(name: &str, category: &str, thread: u64, (from, to): (Timestamp, Timestamp), about: &Value) -> Value {
    json!({
        "ph": "X", "name": name, "cat": category, "pid": PROCESS, "tid": thread,
        "ts": microseconds(from), "dur": from.milliseconds_until(to) * 1000, "args": about,
    })
}

/// A point for a question, a blockade and its end.
fn instant(event: &Event) -> Option<Value> {
    let name = match &event.kind {
        EventKind::RunBlocked(_) => "blocked",
        EventKind::RunUnblocked(_) => "unblocked",
        EventKind::Emitted(emitted) if emitted.reports.iter().any(is_question) => "question",
        _ => return None,
    };
    let (kind, at) = (event.kind.name(), microseconds(event.at));
    let about = json!({ "event": event.seq, "about": clean(&event_in_words(event)) });
    Some(json!({
        "ph": "i", "name": name, "cat": kind, "pid": PROCESS, "tid": 0, "ts": at, "s": "p", "args": about,
    }))
}

fn is_question(report: &StepReport) -> bool {
    report.kind() == Some(ReportType::WaitingForUser)
}

fn microseconds(at: Timestamp) -> i64 {
    at.as_datetime().timestamp_micros()
}
