use serde_json::{Value, json};

use super::*;
use crate::model::Event;

/// A log whose events are given as the time of day and the body.
fn log(events: &[(&str, &str, Value)]) -> Vec<Event> {
    let begin = json!({"run_id": "r", "workflow": "w", "workflow_version": 1, "goal": null, "context": {}, "limits": {},
        "phase": "explore", "session": "s1", "machine": null});
    let all = std::iter::once(("20T10:00", "run_started", begin)).chain(events.iter().cloned());
    let events = all.zip(1..).map(|((at, kind, mut body), seq)| {
        let at = format!("2026-05-{at}:00.000Z");
        if let Some(reports) = body.get_mut("reports").and_then(Value::as_array_mut) {
            reports.iter_mut().for_each(|report| report["at"] = json!(at));
        }
        let mut object = json!({"v": 1, "seq": seq, "id": format!("e{seq}"), "at": at, "type": kind});
        object.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        Event::from_object(object.as_object().unwrap().clone()).unwrap()
    });
    events.collect()
}

fn record(phase: &str, id: &str, status: &str) -> (&'static str, Value) {
    let activity = json!({"metadata": {"id": id, "phase": phase}, "activity": {"status": status}});
    ("activity_recorded", json!({"number": "001", "phase": phase, "activity": activity}))
}

fn report(step: &str, unit: Option<&str>, status: &str, phase: Option<&str>) -> (&'static str, Value) {
    let report = json!({"id": "x", "type": "status_change", "step": step, "unit": unit, "data": {"status": status}});
    ("emitted", json!({"reports": [report], "phase": phase}))
}

fn at<'a>(time: &'a str, event: (&'a str, Value)) -> (&'a str, &'a str, Value) {
    (time, event.0, event.1)
}

/// The lanes, a line each.
fn shown(events: &[Event], now: &str, in_doubt: bool) -> Vec<String> {
    let timeline = timeline(events, now, in_doubt);
    let time = |at: Timestamp| at.to_string()[8..16].to_owned();
    let lanes = timeline.lanes.iter().map(|lane| {
        let mut line = lane.unit.as_ref().map_or(lane.step.to_string(), |unit| format!("{}/{unit}", lane.step));
        for span in &lane.spans {
            let to = span.to.map_or("…".to_owned(), time);
            let outcome = span.outcome.map_or(String::new(), |outcome| format!(" {outcome}"));
            line += &format!("; {} {:?} {}–{to}{outcome}", span.attempt, span.state, time(span.from));
        }
        line
    });
    lanes.collect()
}

fn timeline(events: &[Event], now: &str, in_doubt: bool) -> Timeline {
    let now = format!("2026-05-{now}:00.000Z").parse().unwrap();
    Timekeeper::of(events).timeline(&["explore".parse().unwrap(), "code".parse().unwrap()], now, in_doubt)
}

#[test]
fn what_a_record_enters_was_worked_on_since_the_event_before() {
    let log =
        log(&[at("20T10:20", record("explore", "look", "passed")), at("20T10:50", record("code", "parser", "passed"))]);
    assert_eq!(
        shown(&log, "20T11:00", false),
        ["explore; 1 Running 20T10:00–20T10:20 completed", "code; 1 Running 20T10:20–…"]
    );
}

#[test]
fn what_is_recorded_after_a_failure_is_another_attempt() {
    let log = log(&[
        at("20T10:20", record("explore", "look", "failed")),
        at("20T10:30", record("explore", "look", "passed")),
    ]);
    assert_eq!(
        shown(&log, "20T10:40", false),
        ["explore; 1 Running 20T10:00–20T10:20 failed; 2 Running 20T10:20–…", "code"]
    );
}

#[test]
fn a_step_that_failed_and_is_left_has_no_further_attempt() {
    let log = log(&[
        at("20T10:20", record("explore", "look", "failed")),
        at("20T10:30", record("code", "mend", "passed")),
        at("20T10:40", record("explore", "look", "passed")),
    ]);
    assert_eq!(
        shown(&log, "20T10:50", false),
        [
            "explore; 1 Running 20T10:00–20T10:20 failed; 2 Running 20T10:30–…",
            "code; 1 Running 20T10:20–20T10:30 completed"
        ]
    );
}

#[test]
fn blocked_and_waiting_stretches_belong_to_the_attempt_in_which_they_are() {
    let asks =
        json!({"reports": [{"id": "q", "type": "waiting_for_user", "step": "explore", "data": {"prompt": "?"}}]});
    let answers =
        json!({"reports": [{"id": "a", "type": "user_answered", "step": "explore", "data": {"answer": "!"}}]});
    let change = json!({"from": "active", "reason": "access"});
    let log = log(&[
        ("20T10:10", "emitted", asks),
        ("20T10:15", "emitted", answers),
        ("20T10:20", "run_blocked", change.clone()),
        ("20T10:30", "run_unblocked", change.clone()),
        ("20T10:40", "run_failed", change),
    ]);
    assert_eq!(
        shown(&log, "20T10:50", false),
        [
            "explore; 1 Running 20T10:00–20T10:10 failed; 1 Waiting 20T10:10–20T10:15 failed; \
             1 Running 20T10:15–20T10:20 failed; 1 Blocked 20T10:20–20T10:30 failed; 1 Running 20T10:30–20T10:40 failed",
            "code"
        ]
    );
}

#[test]
fn work_that_was_begun_when_its_session_ended_is_in_doubt_until_the_next_record() {
    let log = log(&[
        at("20T10:05", record("explore", "look", "running")),
        ("20T10:10", "session_end", json!({"session": "s1"})),
        ("20T10:20", "run_claimed", json!({"session": "s2", "epoch": 2})),
        at("20T10:30", record("explore", "look", "passed")),
    ]);
    assert_eq!(
        shown(&log, "20T10:40", false)[0],
        "explore; 1 Running 20T10:00–20T10:10; 1 InDoubt 20T10:10–20T10:30; 1 Running 20T10:30–…"
    );
    let sessions = timeline(&log, "20T10:40", false).sessions;
    assert_eq!(
        sessions.iter().map(|span| (span.session.as_str(), span.to.is_some())).collect::<Vec<_>>(),
        [("s1", true), ("s2", false)]
    );
}

#[test]
fn begun_work_whose_holder_is_dead_is_in_doubt_since_the_last_event() {
    let log = log(&[at("20T10:05", record("explore", "look", "running"))]);
    assert_eq!(shown(&log, "20T10:40", true)[0], "explore; 1 Running 20T10:00–20T10:05; 1 InDoubt 20T10:05–…");
    assert_eq!(shown(&log, "20T10:40", false)[0], "explore; 1 Running 20T10:00–…");
}

#[test]
fn units_and_sub_agents_have_lanes_below_their_steps() {
    let log = log(&[
        at("20T10:05", report("explore", None, "running", Some("explore"))),
        at("20T10:06", report("explore", Some("T1"), "running", None)),
        at("20T10:08", report("builder:build", None, "running", None)),
        at("20T10:10", report("explore", Some("T1"), "failed", None)),
        at("20T10:12", report("explore", Some("T1"), "running", None)),
        at("20T10:20", report("code", None, "running", Some("code"))),
    ]);
    assert_eq!(
        shown(&log, "20T10:40", false),
        [
            "explore; 1 Running 20T10:00–20T10:20 completed",
            "explore/T1; 1 Running 20T10:06–20T10:10 failed; 2 Running 20T10:12–…",
            "builder:build; 1 Running 20T10:08–…",
            "code; 1 Running 20T10:20–…"
        ]
    );
}

#[test]
fn stretches_without_events_are_folded_and_do_not_count_as_work() {
    let log = log(&[
        at("20T10:20", record("explore", "look", "passed")),
        at("21T17:20", record("code", "parser", "passed")),
        at("21T18:20", record("code", "more", "passed")),
    ]);
    let timeline = timeline(&log, "22T18:20", false);
    let hours: Vec<_> = timeline.folds.iter().map(|fold| fold.from.minutes_until(fold.to) / 60).collect();
    assert_eq!((hours, timeline.worked_ms / 60_000), (vec![31, 24], 80));
}

#[test]
fn a_clock_that_goes_backwards_gives_no_negative_span() {
    let log = log(&[
        at("20T10:20", record("explore", "look", "passed")),
        at("20T09:00", record("code", "parser", "passed")),
        at("20T10:30", record("code", "more", "failed")),
    ]);
    assert_eq!(
        shown(&log, "20T08:00", false),
        ["explore; 1 Running 20T10:00–20T10:20 completed", "code; 1 Running 20T10:20–20T10:30 failed"]
    );
}
