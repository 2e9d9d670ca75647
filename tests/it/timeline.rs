//! Pictures show what was recorded: whatever happens in a run, no bar is there that no event is behind.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use flowrun::engine::{Lane, OpenWork, Span, SpanState, Timekeeper, Timeline};
use flowrun::host::{Clock, Env, Git, Ids};
use flowrun::model::{Event, EventKind, Seq, StateName, StepStatus, Timestamp};
use flowrun::picture::export;
use flowrun::runs::{Context, ExportFormat, Options, RunRequest, WholeRun, whole_run};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::support::{Sandbox, scaled};

const STEPS: [&str; 3] = ["plan", "build", "check"];
const IDS: [&str; 3] = ["a", "b", "c"];
const SESSIONS: [&str; 2] = ["s1", "s2"];
const RECORDED: [&str; 6] = ["running", "running", "passed", "failed", "skipped", "blocked"];
const REPORTED: [&str; 7] = ["running", "running", "completed", "failed", "waiting", "skipped", "not_started"];

/// A thing that happens: what, three choices, the minutes since the event before, and how long before it work began.
type Happening = (u8, usize, usize, usize, i64, Option<i64>);

fn histories() -> impl Strategy<Value = Vec<Happening>> {
    let minutes = prop_oneof![8 => 0..40_i64, 1 => 100..2000_i64, 1 => -20..0_i64];
    let before = prop::option::weighted(0.3, -10..120_i64);
    prop::collection::vec((0..14_u8, 0..6_usize, 0..7_usize, 0..4_usize, minutes, before), 0..24)
}

fn begin() -> Timestamp {
    "2026-05-20T10:00:00Z".parse().unwrap()
}

/// A log in which these things happened one after the other.
fn log_of(happenings: &[Happening]) -> Vec<Event> {
    let started = json!({"type": "run_started", "run_id": "r", "workflow": "w", "workflow_version": 1, "goal": null,
        "context": {}, "limits": {}, "phase": "plan", "session": "s1", "machine": null});
    let mut bodies = vec![(begin(), started)];
    for (nth, &(what, one, two, three, minutes, before)) in happenings.iter().enumerate() {
        let at = bodies.last().map_or(begin(), |(at, _)| *at).later(minutes * 60_000);
        bodies.push((at, body(at, nth, (what, one, two, three), before)));
    }
    let events = bodies.into_iter().zip(1_u64..).map(|((at, mut body), seq)| {
        let head = [("v", json!(1)), ("seq", json!(seq)), ("id", json!(format!("e{seq}"))), ("at", json!(at))];
        head.into_iter().for_each(|(key, value)| body[key] = value);
        Event::from_object(body.as_object().unwrap()).unwrap()
    });
    events.collect()
}

fn body(at: Timestamp, nth: usize, choices: (u8, usize, usize, usize), before: Option<i64>) -> Value {
    let (what, one, two, three) = choices;
    let (step, session) = (STEPS[one % STEPS.len()], SESSIONS.get(three));
    let change = json!({"from": "active", "reason": "so", "session": session});
    let typed = |kind: &str, mut body: Value| {
        body["type"] = json!(kind);
        body
    };
    match what {
        0..5 => {
            let mut activity = json!({"status": RECORDED[two % RECORDED.len()]});
            if let Some(before) = before {
                activity["started_at"] = json!(at.later(-before * 60_000));
            }
            let activity = json!({"metadata": {"id": IDS[three % IDS.len()], "phase": step}, "activity": activity});
            let to = (nth.is_multiple_of(5)).then(|| STEPS[two % STEPS.len()]);
            typed(
                "activity_recorded",
                json!({"number": format!("{:03}", nth + 1), "phase": step, "advanced_to": to, "late": nth.is_multiple_of(7),
                    "session": session, "activity": activity}),
            )
        }
        5..9 => {
            let unit = ["T1", "T2"].get(three);
            let agent = if three == 3 { "helper:look" } else { step };
            let reports: Vec<_> = (0..=usize::from(nth.is_multiple_of(3)))
                .map(|more| {
                    // Flow itself reports only that a step is completed, because another one began.
                    let is_auto = what == 8 && unit.is_none() && three == 2;
                    let status = if is_auto { "completed" } else { REPORTED[(two + more) % REPORTED.len()] };
                    json!({"id": format!("x{nth}-{more}"), "at": at.later(-1), "type": "status_change", "step": agent,
                        "unit": unit, "data": {"status": status}, "auto": is_auto})
                })
                .collect();
            typed("emitted", json!({"reports": reports, "phase": (unit.is_none() && three != 3).then_some(step)}))
        }
        9 => {
            let kind = ["waiting_for_user", "user_answered", "btw_update"][two % 3];
            let unit = (three == 0).then_some("T1");
            let report = json!({"id": format!("q{nth}"), "at": at, "type": kind, "step": step, "unit": unit,
                "data": {"prompt": "?"}});
            typed("emitted", json!({"reports": [report], "session": session}))
        }
        10 => typed(["run_blocked", "run_unblocked"][two % 2], change),
        11 => typed("session_end", json!({"session": SESSIONS[three % 2], "reason": null})),
        12 => typed("run_claimed", json!({"session": SESSIONS[three % 2], "epoch": nth, "from": session})),
        _ => typed(["run_failed", "run_reopened", "run_cancelled"][two % 3], change),
    }
}

/// What an event says of one thing that is worked on.
#[derive(Debug, Clone, PartialEq)]
struct Said {
    seq: Seq,
    /// The times that the event may stand for.
    at: BTreeSet<Timestamp>,
    /// The beginning that its record gives.
    began: Option<Timestamp>,
    /// Whether it says that work begins or goes on.
    begins: bool,
    /// Whether it says that work ended.
    ends: bool,
    /// Whether it was made by someone, and not by flow.
    is_own: bool,
}

/// All that is said, by the lane (a step, `unit T1` or `agent helper`) and the activity.
type Everything = BTreeMap<(String, Option<String>), Vec<Said>>;

fn everything(events: &[Event]) -> (Everything, BTreeMap<Seq, Timestamp>) {
    let (mut all, mut times) = (Everything::new(), BTreeMap::new());
    let mut last = begin();
    for event in events {
        let before = last;
        last = last.max(event.at);
        times.insert(event.seq, last);
        match &event.kind {
            EventKind::ActivityRecorded(record) => {
                let began = record.activity.started_at().filter(|began| *began <= last);
                let status = record.activity.status();
                all.entry((record.phase.to_string(), Some(record.id().to_string()))).or_default().push(Said {
                    seq: event.seq,
                    at: BTreeSet::from([last]),
                    began,
                    begins: status.as_str() == "running",
                    ends: status.is_settled(),
                    is_own: true,
                });
            }
            EventKind::Emitted(emitted) => {
                for report in &emitted.reports {
                    let step = report.step.as_ref().unwrap();
                    let lane = match (&report.unit, step.agent()) {
                        (Some(unit), _) => format!("unit {unit}"),
                        (None, Some(agent)) => format!("agent {agent}"),
                        (None, None) => step.to_string(),
                    };
                    let status = report.status();
                    all.entry((lane, None)).or_default().push(Said {
                        seq: event.seq,
                        at: BTreeSet::from([report.at.clamp(before, last)]),
                        began: None,
                        begins: status == Some(StepStatus::Running) || report.kind == "user_answered",
                        ends: status.is_some_and(|status| status != StepStatus::Running),
                        is_own: !report.auto,
                    });
                }
            }
            _ => {}
        }
    }
    (all, times)
}

fn lane_name(lane: &Lane) -> String {
    match (&lane.unit, lane.step.agent()) {
        (Some(unit), _) => format!("unit {unit}"),
        (None, Some(agent)) => format!("agent {agent}"),
        (None, None) => lane.step.to_string(),
    }
}

/// Every span begins with an event of its own or at the `started_at` of its record, and ends with an event; what only ends
/// is a point; what goes on is alive; and there are no more attempts than were recorded.
fn is_recorded(events: &[Event], timeline: &Timeline, is_alive: bool, asked: &BTreeSet<Seq>) {
    let (all, times) = everything(events);
    for lane in &timeline.lanes {
        let mut attempts: BTreeMap<Option<&str>, BTreeSet<u32>> = BTreeMap::new();
        for span in &lane.spans {
            let said = all.get(&(lane_name(lane), span.activity.clone())).map(Vec::as_slice).unwrap_or_default();
            let behind: Vec<_> = said.iter().filter(|said| said.seq == span.first).collect();
            let at_event = behind.iter().any(|said| said.at.contains(&span.from));
            let at_start = behind.iter().any(|said| said.began == Some(span.from));
            assert!(at_event || at_start, "no event is behind the beginning of {span:?}");
            is_ended(span, &times, said, is_alive && asked.contains(&span.first));
            let begins = behind.iter().any(|said| said.begins || said.began.is_some());
            assert!(begins || span.is_point(), "nothing says that it began: {span:?}");
            attempts.entry(span.activity.as_deref()).or_default().insert(span.attempt);
        }
        for (activity, attempts) in attempts {
            let said = &all[&(lane_name(lane), activity.map(str::to_owned))];
            let recorded = said.iter().filter(|said| said.is_own && (said.begins || said.ends)).count();
            assert!(attempts.len() <= recorded, "{} attempts of {recorded} at {activity:?}", attempts.len());
            assert_eq!(attempts.iter().copied().collect::<Vec<_>>(), (1..).take(attempts.len()).collect::<Vec<_>>());
        }
        assert!(lane.spans.is_sorted_by_key(|span| span.from));
        assert!(lane.stays.windows(2).all(|two| two[0].to.is_some_and(|to| to <= two[1].from)), "{:?}", lane.stays);
        assert!(lane.waits.windows(2).all(|two| two[0].to.is_some_and(|to| to <= two[1].from)), "{:?}", lane.waits);
    }
    assert_eq!(timeline.worked_ms, worked(timeline));
    let spans: Vec<&Span> = timeline.lanes.iter().flat_map(|lane| &lane.spans).collect();
    for fold in &timeline.folds {
        let is_within = |span: &&Span| {
            let (from, to) = span.stretch(timeline.to);
            from < fold.to && fold.from < to
        };
        assert!(!spans.iter().any(is_within), "work is folded: {fold:?}");
        assert!(!times.values().any(|at| fold.from < *at && *at < fold.to), "an event is folded: {fold:?}");
    }
}

fn is_ended(span: &Span, times: &BTreeMap<Seq, Timestamp>, said: &[Said], may_go_on: bool) {
    let Some(to) = span.to else {
        assert!(may_go_on, "nobody is known to work on {span:?}");
        assert!(span.state == SpanState::Running && span.outcome.is_none(), "{span:?}");
        let over = said.iter().any(|said| said.ends && said.seq > span.first);
        assert!(!over, "{span:?} goes on and is over");
        return;
    };
    let own = said.iter().filter(|said| said.seq == span.last).any(|said| said.at.contains(&to));
    assert!(own || times.get(&span.last) == Some(&to), "no event is behind the end of {span:?}");
    assert!(span.from <= to && span.first <= span.last, "{span:?}");
}

/// How long anything was worked on, counted from one boundary to the next.
fn worked(timeline: &Timeline) -> u64 {
    let spans: Vec<_> =
        timeline.lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.stretch(timeline.to)).collect();
    let bounds: BTreeSet<Timestamp> = spans.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let bounds: Vec<_> = bounds.into_iter().collect();
    let is_worked = |two: &&[Timestamp]| spans.iter().any(|(from, to)| *from <= two[0] && two[1] <= *to);
    bounds.windows(2).filter(is_worked).map(|two| two[0].milliseconds_until(two[1])).sum()
}

/// The timeline of a log, and the beginnings that it asked about.
fn timeline_of(events: &[Event], now: Timestamp, is_alive: bool) -> (Timeline, BTreeSet<Seq>) {
    let order: Vec<StateName> = STEPS.iter().map(|step| step.parse().unwrap()).collect();
    let asked = RefCell::new(BTreeSet::new());
    let alive = |work: &OpenWork<'_>| {
        asked.borrow_mut().insert(work.begun);
        is_alive
    };
    let timeline = Timekeeper::of(events).timeline(&order, now, &alive);
    (timeline, asked.into_inner())
}

/// The stretches of time and the events of everything in a timeline that is not a line.
fn drawn(timeline: &Timeline) -> Vec<(Timestamp, Timestamp, Seq, Seq)> {
    let mut all = Vec::new();
    for lane in &timeline.lanes {
        let work = lane.spans.iter().map(|span| (span.stretch(timeline.to), span.first, span.last));
        let waits = lane.waits.iter().map(|wait| ((wait.from, wait.to.unwrap_or(timeline.to)), wait.first, wait.last));
        all.extend(work.chain(waits).map(|((from, to), first, last)| (from, to, first, last)));
    }
    all.sort_unstable();
    all
}

fn text(whole: &WholeRun, format: ExportFormat) -> String {
    export(whole, format).unwrap()
}

fn exports_show_only(whole: &WholeRun) {
    let timeline = &whole.run.timeline;
    let there = drawn(timeline);
    in_chrome_trace(&text(whole, ExportFormat::ChromeTrace), timeline);
    in_otlp(&text(whole, ExportFormat::OtlpJson), timeline);
    let gantt = text(whole, ExportFormat::Gantt);
    let tasks: Vec<_> = gantt.lines().filter(|line| line.contains(" · ") || line.contains('▲')).collect();
    assert_eq!(tasks.len(), there.len(), "{gantt}");
    for task in tasks {
        let mut ends = task.rsplit(", ").take(2).map(|time| format!("{time}Z").parse::<Timestamp>().unwrap());
        let (to, from) = (ends.next().unwrap(), ends.next().unwrap());
        assert!(there.iter().any(|one| (one.0, one.1) == (from, to)), "{task}");
        let goes_on = timeline.lanes.iter().any(|lane| {
            lane.spans.iter().any(|span| span.to.is_none()) || lane.waits.iter().any(|wait| wait.to.is_none())
        });
        assert!(goes_on || !task.contains("active"), "{task}");
    }
    for format in [ExportFormat::Svg, ExportFormat::Html] {
        in_svg(&text(whole, format), timeline);
    }
}

fn in_chrome_trace(text: &str, timeline: &Timeline) {
    let trace: Value = serde_json::from_str(text).unwrap();
    let slices = trace["traceEvents"].as_array().unwrap().iter();
    let slices: Vec<_> = slices.filter(|event| event["ph"] == "X" && event["tid"] != 0).collect();
    let number = |value: &Value| value.as_i64().unwrap();
    let mut shown: Vec<_> = slices
        .iter()
        .map(|slice| {
            let (from, about) = (number(&slice["ts"]), &slice["args"]);
            let seqs = [number(&about["first_event"]), number(&about["last_event"])];
            (from, from + number(&slice["dur"]), seqs)
        })
        .collect();
    shown.sort_unstable();
    let micros = |at: Timestamp| at.as_datetime().timestamp_micros();
    let seq = |seq: Seq| i64::try_from(seq.0).unwrap();
    let mut there: Vec<_> = drawn(timeline)
        .into_iter()
        .map(|(from, to, first, last)| (micros(from), micros(to), [seq(first), seq(last)]))
        .collect();
    there.sort_unstable();
    assert_eq!(shown, there);
    let mut threads: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    for slice in slices {
        let from = number(&slice["ts"]);
        threads.entry(number(&slice["tid"])).or_default().push((from, from + number(&slice["dur"])));
    }
    for spans in threads.values() {
        assert!(spans.windows(2).all(|two| two[0].1 <= two[1].0), "slices of a thread overlap: {spans:?}");
    }
}

fn in_otlp(text: &str, timeline: &Timeline) {
    let request: Value = serde_json::from_str(text).unwrap();
    let spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let nanos = |at: Timestamp| (at.as_datetime().timestamp_millis() * 1_000_000).to_string();
    let mut there: Vec<_> = timeline
        .lanes
        .iter()
        .flat_map(|lane| &lane.spans)
        .map(|span| {
            let (from, to) = span.stretch(timeline.to);
            (nanos(from), nanos(to), span.to.is_none())
        })
        .collect();
    there.sort_unstable();
    let is_open = |span: &Value| span["attributes"].as_array().unwrap().iter().any(|one| one["key"] == "flow.open");
    let time = |value: &Value| value.as_str().unwrap().to_owned();
    let mut shown: Vec<_> = spans[1..]
        .iter()
        .map(|span| (time(&span["startTimeUnixNano"]), time(&span["endTimeUnixNano"]), is_open(span)))
        .collect();
    shown.sort_unstable();
    assert_eq!(shown, there);
    let ids: BTreeSet<_> = spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), spans.len());
}

fn in_svg(text: &str, timeline: &Timeline) {
    let events: BTreeSet<_> =
        drawn(timeline).into_iter().map(|(.., first, last)| format!("(events {first} to {last})")).collect();
    let bars: Vec<_> = text.split("<rect class=\"bar ").skip(1).collect();
    assert!(bars.len() <= drawn(timeline).len());
    let spans = || timeline.lanes.iter().flat_map(|lane| &lane.spans);
    for bar in bars {
        let about = bar.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
        assert!(events.iter().any(|events| about.contains(events.as_str())), "{about}");
        let look = bar.split_once('"').unwrap().0;
        assert!(look != "running" || spans().any(|span| span.to.is_none()), "{about}");
        assert!(look != "doubt" || spans().any(|span| span.state == SpanState::InDoubt), "{about}");
    }
}

/// A run to put timelines into.
fn template() -> (Sandbox, WholeRun) {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    sandbox.flow(["start", "debug", "--id", "r"]).ok();
    let env = Env { cwd: Some(sandbox.root()), ..Env::default() };
    let ids = Ids::seeded([1]);
    let cx = Context::new(Clock::fixed(begin()), ids, env, Git::new("no\0git"), Options::default());
    let (whole, _) = whole_run(&cx, &RunRequest { run: Some("r".to_owned()), ..RunRequest::default() }).unwrap();
    (sandbox, whole)
}

#[test]
fn behind_every_bar_of_every_picture_are_events() {
    let (_sandbox, whole) = template();
    let whole = RefCell::new(whole);
    let config = ProptestConfig { cases: scaled(256, 5_000), failure_persistence: None, ..ProptestConfig::default() };
    let cases = (histories(), 0..600_i64, any::<bool>());
    let holds = TestRunner::new(config).run(&cases, |(happenings, rest, is_alive)| {
        let events = log_of(&happenings);
        let now = events.last().unwrap().at.later(rest * 60_000);
        let (timeline, asked) = timeline_of(&events, now, is_alive);
        is_recorded(&events, &timeline, is_alive, &asked);
        let mut whole = whole.borrow_mut();
        whole.run.timeline = timeline;
        exports_show_only(&whole);
        Ok(())
    });
    if let Err(error) = holds {
        panic!("{error}");
    }
}
