use serde_json::{Value, json};

use super::*;
use crate::model::{Event, Seq, SessionId, Timestamp};

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
        Event::from_object(object.as_object().unwrap()).unwrap()
    });
    events.collect()
}

fn record(phase: &str, id: &str, status: &str) -> (&'static str, Value) {
    let activity = json!({"metadata": {"id": id, "phase": phase}, "activity": {"status": status}});
    ("activity_recorded", json!({"number": "001", "phase": phase, "activity": activity}))
}

/// As [`record`], with when the work began.
fn record_since(phase: &str, id: &str, status: &str, began: &str) -> (&'static str, Value) {
    let began = format!("2026-05-{began}:00.000Z");
    let activity = json!({"metadata": {"id": id, "phase": phase}, "activity": {"status": status, "started_at": began}});
    ("activity_recorded", json!({"number": "001", "phase": phase, "activity": activity}))
}

fn report(step: &str, unit: Option<&str>, status: &str, phase: Option<&str>) -> (&'static str, Value) {
    let report = json!({"id": "x", "type": "status_change", "step": step, "unit": unit, "data": {"status": status}});
    ("emitted", json!({"reports": [report], "phase": phase}))
}

fn at<'a>(time: &'a str, event: (&'a str, Value)) -> (&'a str, &'a str, Value) {
    (time, event.0, event.1)
}

/// The lanes, a line each: where the run was, what waited, and what was worked.
fn shown(events: &[Event], now: &str, is_alive: bool) -> Vec<String> {
    let timeline = timeline(events, now, is_alive);
    let time = |at: Timestamp| at.to_string()[8..16].to_owned();
    let until = |to: Option<Timestamp>| to.map_or("…".to_owned(), time);
    let lanes = timeline.lanes.iter().map(|lane| {
        let mut line = lane.unit.as_ref().map_or(lane.step.to_string(), |unit| format!("{}/{unit}", lane.step));
        for stay in &lane.stays {
            line += &format!("; {}–{}", time(stay.from), until(stay.to));
        }
        for wait in &lane.waits {
            line += &format!("; {:?} {}–{}", wait.state, time(wait.from), until(wait.to));
        }
        for span in &lane.spans {
            let what = span.activity.as_deref().unwrap_or("itself");
            let outcome = span.outcome.map_or(String::new(), |outcome| format!(" {outcome}"));
            let (attempt, state, from) = (span.attempt, span.state, time(span.from));
            line += &format!("; {what} {attempt} {state:?} {from}–{}{outcome}", until(span.to));
        }
        line
    });
    lanes.collect()
}

fn timeline(events: &[Event], now: &str, is_alive: bool) -> Timeline {
    let now = format!("2026-05-{now}:00.000Z").parse().unwrap();
    let order = ["explore".parse().unwrap(), "code".parse().unwrap()];
    Timekeeper::of(events).timeline(&order, now, &|_| is_alive)
}

fn worked_minutes(events: &[Event], now: &str, is_alive: bool) -> u64 {
    timeline(events, now, is_alive).worked_ms / 60_000
}

#[test]
fn work_is_from_the_beginning_of_an_activity_to_its_end() {
    let log = log(&[
        at("20T10:05", record("explore", "look", "running")),
        at("20T10:20", record("explore", "look", "passed")),
        at("20T10:50", record_since("code", "parser", "passed", "20T10:30")),
    ]);
    assert_eq!(
        shown(&log, "20T11:00", true),
        [
            "explore; 20T10:00–20T10:50; look 1 Running 20T10:05–20T10:20 completed",
            "code; 20T10:50–…; parser 1 Running 20T10:30–20T10:50 completed"
        ]
    );
    assert_eq!(worked_minutes(&log, "20T11:00", true), 35);
}

#[test]
fn a_record_without_a_beginning_is_a_point_and_being_in_a_phase_is_not_work() {
    let log =
        log(&[at("20T10:20", record("explore", "look", "passed")), at("20T10:50", record("code", "parser", "passed"))]);
    assert_eq!(
        shown(&log, "20T11:00", true),
        [
            "explore; 20T10:00–20T10:50; look 1 Running 20T10:20–20T10:20 completed",
            "code; 20T10:50–…; parser 1 Running 20T10:50–20T10:50 completed"
        ]
    );
    assert_eq!(worked_minutes(&log, "20T11:00", true), 0);
}

#[test]
fn there_is_no_attempt_that_nobody_recorded() {
    let log = log(&[at("20T10:20", record("explore", "look", "failed"))]);
    assert_eq!(shown(&log, "20T10:40", true), ["explore; 20T10:00–…; look 1 Running 20T10:20–20T10:20 failed", "code"]);
}

#[test]
fn what_is_recorded_after_a_failure_is_another_attempt() {
    let log = log(&[
        at("20T10:20", record("explore", "look", "failed")),
        at("20T10:25", record("explore", "look", "running")),
        at("20T10:30", record("explore", "look", "passed")),
        at("20T10:35", record("explore", "more", "passed")),
    ]);
    assert_eq!(
        shown(&log, "20T10:40", true)[0],
        "explore; 20T10:00–…; look 1 Running 20T10:20–20T10:20 failed; look 2 Running 20T10:25–20T10:30 completed; \
         more 1 Running 20T10:35–20T10:35 completed"
    );
}

#[test]
fn a_step_that_is_left_and_entered_again_has_two_stays() {
    let log = log(&[
        at("20T10:20", record("explore", "look", "failed")),
        at("20T10:30", record("code", "mend", "passed")),
        at("20T10:40", record("explore", "look", "passed")),
    ]);
    assert_eq!(
        shown(&log, "20T10:50", true),
        [
            "explore; 20T10:00–20T10:30; 20T10:40–…; look 1 Running 20T10:20–20T10:20 failed; \
             look 2 Running 20T10:40–20T10:40 completed",
            "code; 20T10:30–20T10:40; mend 1 Running 20T10:30–20T10:30 completed"
        ]
    );
}

#[test]
fn waiting_is_not_work_and_interrupts_what_was_begun() {
    let asks =
        json!({"reports": [{"id": "q", "type": "waiting_for_user", "step": "explore", "data": {"prompt": "?"}}]});
    let answers =
        json!({"reports": [{"id": "a", "type": "user_answered", "step": "explore", "data": {"answer": "!"}}]});
    let change = json!({"from": "active", "reason": "access"});
    let log = log(&[
        at("20T10:02", report("explore", None, "running", Some("explore"))),
        ("20T10:10", "emitted", asks),
        ("20T10:15", "emitted", answers),
        at("20T10:18", report("explore", None, "completed", Some("explore"))),
        ("20T10:20", "run_blocked", change.clone()),
        ("20T10:30", "run_unblocked", change.clone()),
        ("20T10:40", "run_failed", change),
    ]);
    assert_eq!(
        shown(&log, "20T10:50", true),
        [
            "explore; 20T10:00–20T10:40; Waiting 20T10:10–20T10:15; Blocked 20T10:20–20T10:30; \
             itself 1 Running 20T10:02–20T10:10 completed; itself 1 Running 20T10:15–20T10:18 completed",
            "code"
        ]
    );
    assert_eq!(worked_minutes(&log, "20T10:50", true), 11);
}

#[test]
fn a_question_before_any_work_is_no_attempt() {
    let asks =
        json!({"reports": [{"id": "q", "type": "waiting_for_user", "step": "explore", "data": {"prompt": "?"}}]});
    let log = log(&[("20T10:10", "emitted", asks)]);
    assert_eq!(shown(&log, "20T10:50", true)[0], "explore; 20T10:00–…; Waiting 20T10:10–…");
}

#[test]
fn a_blocked_activity_waits_until_its_next_record() {
    let log = log(&[
        at("20T10:05", record("explore", "look", "running")),
        at("20T10:10", record("explore", "look", "blocked")),
        at("20T10:30", record("explore", "look", "running")),
        at("20T10:35", record("explore", "look", "passed")),
    ]);
    assert_eq!(
        shown(&log, "20T10:40", true)[0],
        "explore; 20T10:00–…; Blocked 20T10:10–20T10:30; look 1 Running 20T10:05–20T10:10 completed; \
         look 1 Running 20T10:30–20T10:35 completed"
    );
}

#[test]
fn work_that_was_begun_ends_with_its_session_and_its_outcome_comes_later() {
    let mut events = vec![
        at("20T10:05", record("explore", "look", "running")),
        ("20T10:10", "session_end", json!({"session": "s1"})),
        ("20T10:20", "run_claimed", json!({"session": "s2", "epoch": 2})),
    ];
    assert_eq!(shown(&log(&events), "20T10:40", true)[0], "explore; 20T10:00–…; look 1 InDoubt 20T10:05–20T10:10");
    let mut again = events.clone();
    again.push(at("20T10:30", record("explore", "look", "running")));
    assert_eq!(
        shown(&log(&again), "20T10:40", true)[0],
        "explore; 20T10:00–…; look 1 InDoubt 20T10:05–20T10:10; look 2 Running 20T10:30–…"
    );
    events.push(at("20T10:30", record("explore", "look", "passed")));
    let log = log(&events);
    assert_eq!(
        shown(&log, "20T10:40", true)[0],
        "explore; 20T10:00–…; look 1 Running 20T10:05–20T10:10 completed; look 1 Running 20T10:30–20T10:30 completed"
    );
    let sessions = timeline(&log, "20T10:40", true).sessions;
    assert_eq!(
        sessions.iter().map(|span| (span.session.as_str(), span.to.is_some())).collect::<Vec<_>>(),
        [("s1", true), ("s2", false)]
    );
}

#[test]
fn begun_work_goes_on_only_if_whoever_began_it_is_known_to_be_alive() {
    let log = log(&[
        at("20T10:05", record_since("explore", "look", "running", "20T10:03")),
        at("20T10:20", record("explore", "other", "passed")),
    ]);
    let other = "other 1 Running 20T10:20–20T10:20 completed";
    assert_eq!(shown(&log, "20T10:40", true)[0], format!("explore; 20T10:00–…; look 1 Running 20T10:03–…; {other}"));
    assert_eq!(
        shown(&log, "20T10:40", false)[0],
        format!("explore; 20T10:00–…; look 1 InDoubt 20T10:03–20T10:05; {other}")
    );
    assert_eq!([true, false].map(|is_alive| worked_minutes(&log, "20T10:40", is_alive)), [37, 2]);
    let order = ["explore".parse().unwrap()];
    let of_look = |work: &OpenWork<'_>| {
        assert_eq!(
            (work.activity, work.begun, work.session.map(SessionId::as_str)),
            (Some("look"), Seq(2), Some("s1"))
        );
        true
    };
    let asked = Timekeeper::of(&log).timeline(&order, "2026-05-20T10:40:00Z".parse().unwrap(), &of_look);
    assert_eq!(asked.worked_ms / 60_000, 37);
}

#[test]
fn work_without_an_outcome_ends_with_the_run_only_if_its_own_session_ended_it() {
    let ends = |session: &str| {
        let change = json!({"from": "active", "reason": "enough", "session": session});
        let log = log(&[at("20T10:05", record("explore", "look", "running")), ("20T10:30", "run_cancelled", change)]);
        shown(&log, "20T10:40", true)[0].clone()
    };
    assert_eq!(ends("s1"), "explore; 20T10:00–20T10:30; look 1 Running 20T10:05–20T10:30");
    assert_eq!(ends("s2"), "explore; 20T10:00–20T10:30; look 1 InDoubt 20T10:05–20T10:05");
}

#[test]
fn units_and_sub_agents_have_lanes_below_their_steps() {
    let log = log(&[
        at("20T10:05", report("explore", None, "running", Some("explore"))),
        at("20T10:06", report("explore", Some("T1"), "running", None)),
        at("20T10:08", report("builder:build", None, "running", None)),
        at("20T10:10", report("explore", Some("T1"), "failed", None)),
        at("20T10:12", report("explore", Some("T1"), "running", None)),
        at("20T10:18", report("explore", None, "completed", Some("explore"))),
        at("20T10:20", report("code", None, "running", Some("code"))),
    ]);
    assert_eq!(
        shown(&log, "20T10:40", true),
        [
            "explore; 20T10:00–20T10:20; itself 1 Running 20T10:05–20T10:18 completed",
            "explore/T1; itself 1 Running 20T10:06–20T10:10 failed; itself 2 Running 20T10:12–…",
            "builder:build; itself 1 Running 20T10:08–…",
            "code; 20T10:20–…; itself 1 Running 20T10:20–…"
        ]
    );
    assert_eq!(worked_minutes(&log, "20T10:40", true), 35);
    assert_eq!(shown(&log, "20T10:40", false)[3], "code; 20T10:20–…; itself 1 InDoubt 20T10:20–20T10:20");
}

#[test]
fn a_report_that_repeats_a_status_tells_of_no_other_attempt() {
    let log = log(&[
        at("20T10:05", report("explore", None, "running", Some("explore"))),
        at("20T10:10", report("explore", None, "running", Some("explore"))),
        at("20T10:18", report("explore", None, "completed", Some("explore"))),
        at("20T10:19", report("explore", None, "completed", Some("explore"))),
    ]);
    assert_eq!(shown(&log, "20T10:40", true)[0], "explore; 20T10:00–…; itself 1 Running 20T10:05–20T10:18 completed");
}

#[test]
fn stretches_without_events_and_without_work_are_folded() {
    let log = log(&[
        at("20T10:20", record("explore", "look", "passed")),
        at("21T17:20", record_since("code", "parser", "passed", "21T14:20")),
        at("21T18:20", record("code", "more", "running")),
    ]);
    let hours = |is_alive: bool| {
        let timeline = timeline(&log, "22T18:20", is_alive);
        let hours: Vec<_> = timeline.folds.iter().map(|fold| fold.from.minutes_until(fold.to) / 60).collect();
        (hours, timeline.worked_ms / 3_600_000)
    };
    assert_eq!(hours(false), (vec![28, 24], 3));
    assert_eq!(hours(true), (vec![28], 27));
}

#[test]
fn work_that_began_before_the_run_is_on_its_axis() {
    let log = log(&[at("20T10:20", record_since("explore", "look", "passed", "20T09:00"))]);
    let timeline = timeline(&log, "20T10:30", true);
    assert_eq!((timeline.from.to_string(), timeline.worked_ms), ("2026-05-20T09:00:00.000Z".to_owned(), 80 * 60_000));
}

#[test]
fn a_clock_that_goes_backwards_gives_no_negative_span() {
    let log = log(&[
        at("20T10:20", record("explore", "look", "running")),
        at("20T09:00", record("explore", "look", "passed")),
        at("20T10:30", record_since("code", "more", "failed", "20T11:00")),
    ]);
    assert_eq!(
        shown(&log, "20T08:00", true),
        [
            "explore; 20T10:00–20T10:30; look 1 Running 20T10:20–20T10:20 completed",
            "code; 20T10:30–…; more 1 Running 20T10:30–20T10:30 failed"
        ]
    );
}
