//! The pure core: whatever happens, the state is the fold of its events, and documents show exactly the state.

use flowrun::catalog::Catalog;
use flowrun::codec::{RunText, seal, unseal};
use flowrun::engine::{
    Advance, Caller, Claim, Command, Decision, History, NoTrail, Record, Refusal, RunState, asks_workflow, decide,
};
use flowrun::machine::Machine;
use flowrun::model::{
    Activity, ActivityStatus, Event, EventId, EventKind, Number, RunId, RunStarted, RunStatus, Seq, SessionId,
    StateName, Timestamp,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn machine() -> Machine {
    Catalog::new(std::sync::Arc::new(flowrun::disk::Os), None).find("start-issue").unwrap().machine
}

fn at(second: u64) -> Timestamp {
    format!("2026-05-20T14:{:02}:{:02}Z", 30 + second / 60 % 30, second % 60).parse().unwrap()
}

fn event(seq: Seq, kind: EventKind) -> Event {
    Event { seq, id: EventId::new(format!("e{seq}")).unwrap(), at: at(seq.0), kind, run: None, recap: None }
}

fn started() -> Event {
    let machine = machine();
    event(
        Seq(1),
        EventKind::RunStarted(Box::new(RunStarted {
            run_id: RunId::new("run-1").unwrap(),
            workflow: machine.id().clone(),
            workflow_version: 1,
            phase: Some(machine.initial()[0].clone()),
            goal: None,
            context: Map::new(),
            limits: Map::new(),
            session: None,
            holder: None,
            token: None,
            machine: machine.to_value(),
        })),
    )
}

fn activity(id: &str, phase: Option<&str>, status: ActivityStatus) -> Activity {
    let document = json!({
        "apiVersion": "flow.synapti.ai/v1", "kind": "FlowActivity",
        "metadata": {"id": id, "phase": phase},
        "activity": {"type": "task", "status": status.as_str()},
    });
    Activity::new(document.as_object().unwrap().clone()).unwrap()
}

fn commands() -> impl Strategy<Value = (Command, Caller)> {
    let phases = prop::sample::select(vec!["preflight", "explore", "plan", "code", "verify", "nowhere"]);
    let ids = prop::sample::select(vec!["a", "b", "c-1", "123", "null"]);
    let statuses = prop::sample::select(ActivityStatus::ALL.to_vec());
    let advance = prop_oneof![
        4 => Just(None),
        1 => Just(Some(Advance::Next)),
        1 => phases.clone().prop_map(|phase| Some(Advance::To(StateName::new(phase).unwrap()))),
    ];
    let record = (ids, prop::option::of(phases), statuses, advance).prop_map(|(id, phase, status, advance)| {
        Command::Record(Box::new(Record {
            advance,
            skip: (id == "c-1").then(|| "it was agreed".to_owned()),
            ..Record::new(activity(id, phase, status), Number(0))
        }))
    });
    let reason = prop::option::of("[a-z: #\n\"']{0,12}");
    let sessions = prop::option::of(prop::sample::select(vec!["s1", "s2"]));
    let command = prop_oneof![
        12 => record,
        1 => reason.clone().prop_map(|reason| Command::Block { reason }),
        1 => reason.clone().prop_map(|reason| Command::Unblock { reason }),
        1 => reason.clone().prop_map(|reason| Command::Complete { reason, skip: None }),
        1 => reason.clone().prop_map(|reason| Command::Reopen { reason }),
        1 => reason.clone().prop_map(|reason| Command::Fail { reason }),
        1 => reason.clone().prop_map(|reason| Command::Cancel { reason }),
        2 => reason.prop_map(|reason| Command::EndSession { reason }),
        2 => any::<bool>().prop_map(|take_over| Command::Claim(Claim { holder: None, take_over })),
    ];
    (command, sessions).prop_map(|(command, session)| {
        let session = session.map(|name| SessionId::new(name).unwrap());
        (command, Caller { session, ..Caller::default() })
    })
}

/// Decides on every command in turn and gives the events that came of it.
fn play(commands: Vec<(Command, Caller)>) -> (Vec<Event>, RunState) {
    let machine = machine();
    let mut events = vec![started()];
    let mut state = RunState::begin(&events[0]).unwrap();
    for (mut command, caller) in commands {
        if let Command::Record(record) = &mut command {
            record.number = state.document().state.last_number.next();
        }
        let trail = History::fold(&events).unwrap();
        if let Ok(Decision::Commit(kind)) = decide(&state, Some(&machine), &caller, command, &trail) {
            let event = event(Seq(events.len() as u64 + 1), kind);
            state.apply(&event);
            events.push(event);
        }
    }
    (events, state)
}

/// A line of a batch that is complete and sound, of steps that the property knows.
fn report_line() -> impl Strategy<Value = String> {
    let step = prop::sample::select(vec!["a", "b", "c", "d", "e", "f", "x:y"]);
    let status = prop::sample::select(vec!["running", "running", "completed", "waiting", "failed", "not_started"]);
    let unit = prop::option::weighted(0.1, Just("T1"));
    (0..8_u8, step, status, unit, any::<bool>()).prop_map(|(kind, step, status, unit, named)| {
        let step = (named || kind > 2).then_some(step);
        let (kind, data) = match kind {
            0 => ("waiting_for_user", json!({ "prompt": "red?" })),
            1 => ("user_answered", json!({ "answer": "yes" })),
            2 => ("btw_update", json!({ "message": "so" })),
            _ => ("status_change", json!({ "status": status })),
        };
        json!({ "type": kind, "step": step, "unit": unit, "data": data }).to_string()
    })
}

#[test]
fn a_step_that_is_left_after_it_was_reported_as_not_started_is_told_as_left_undone() {
    let lines = [
        r#"{"type":"status_change","step":"a","unit":null,"data":{"status":"running"}}"#,
        r#"{"type":"status_change","step":"a","unit":null,"data":{"status":"not_started"}}"#,
        r#"{"type":"status_change","step":"b","unit":null,"data":{"status":"running"}}"#,
    ];
    crate::properties::emit::holds(lines.join("\n").as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_state_is_the_fold_of_its_events(commands in prop::collection::vec(commands(), 0..40)) {
        let (events, state) = play(commands);
        prop_assert_eq!(RunState::fold(&events), Some(state));
    }

    #[test]
    fn what_does_not_ask_for_the_workflow_is_decided_the_same_without_it(
        commands in prop::collection::vec(commands(), 0..20),
        (command, caller) in commands(),
    ) {
        let (events, state) = play(commands);
        let trail = History::fold(&events).unwrap();
        if !asks_workflow(&state, &command) {
            let unasked = decide(&state, None, &caller, command.clone(), &trail);
            prop_assert_eq!(decide(&state, Some(&machine()), &caller, command, &trail), unasked);
        }
    }

    #[test]
    fn a_document_shows_exactly_its_state(commands in prop::collection::vec(commands(), 0..40)) {
        let (_, state) = play(commands);
        let text = RunText::create(state.document());
        let read = RunText::parse(text.text()).unwrap();
        prop_assert_eq!(RunState::from_document(read.document().clone()), state);
    }

    #[test]
    fn a_text_changed_step_by_step_equals_one_changed_at_once(commands in prop::collection::vec(commands(), 0..12)) {
        let (events, state) = play(commands);
        let mut now = RunState::begin(&events[0]).unwrap();
        let first = RunText::create(now.document());
        let mut text = first.clone();
        for event in &events[1..] {
            now.apply(event);
            text = text.with_state(&now.document().state).unwrap();
        }
        let at_once = first.with_state(&state.document().state).unwrap();
        prop_assert_eq!(text.text(), at_once.text());
    }

    #[test]
    fn a_batch_is_its_reports_one_by_one(lines in prop::collection::vec(report_line(), 1..8)) {
        crate::properties::emit::holds(lines.join("\n").as_bytes());
    }

    #[test]
    fn events_survive_the_line(commands in prop::collection::vec(commands(), 0..20)) {
        for event in play(commands).0 {
            let line = seal(&event);
            let back = Event::from_object(&unseal(line.trim_end().as_bytes()).unwrap()).unwrap();
            prop_assert_eq!(back, event);
        }
    }

    #[test]
    fn rules_hold_in_every_history(commands in prop::collection::vec(commands(), 0..60)) {
        let machine = machine();
        let (events, state) = play(commands);
        let mut before = RunState::begin(&events[0]).unwrap();
        let mut numbers = 0;
        for event in &events[1..] {
            let goes_on = matches!(event.kind, EventKind::RunReopened(_));
            prop_assert_eq!(before.status().is_terminal(), goes_on, "an event after the end: {:?}", event);
            let mut after = before.clone();
            after.apply(event);
            let moved = after.phase() != before.phase();
            match &event.kind {
                EventKind::ActivityRecorded(record) => {
                    numbers += 1;
                    prop_assert_eq!(record.number, Number(numbers));
                    let from = before.phase().unwrap();
                    let step = record.phase == *from || machine.successors(from).any(|next| next.to == record.phase);
                    let step = step || record.late && !moved;
                    prop_assert!(step, "{} to {}", from, record.phase);
                    prop_assert!(!(moved && before.status() == RunStatus::Blocked), "a blocked run moved");
                }
                // FlowRun's iron law: no phase changes without an activity.
                _ => prop_assert!(!moved, "{:?} moved the run", event),
            }
            let completed = |state: &RunState| state.document().state.completed_activities.len();
            prop_assert!(completed(&after) >= completed(&before));
            prop_assert!(after.document().state.epoch >= before.document().state.epoch);
            let shown = &after.document().state;
            for record in event.kind.records() {
                let (id, done) = (record.id(), record.activity.status().is_completed());
                prop_assert_eq!(shown.open_activities.contains(id.as_str()), !done, "open: {}", id);
            }
            // Nobody holds what is over, and nothing waits for an answer there.
            let free = shown.session.is_none() && shown.blocked_reason.is_none() && shown.questions.is_empty();
            prop_assert!(!after.status().is_terminal() || free, "{:?}", shown);
            before = after;
        }
        if state.status() == RunStatus::Completed {
            prop_assert!(numbers > 0, "completed with nothing done");
        }
    }
}

/// What each command does to a run of each status: `=` nothing, `→ status`, or the rule that refuses it.
fn matrix() -> Vec<String> {
    let machine = machine();
    let reason = Some("why".to_owned());
    let activity = activity("a", Some("preflight"), ActivityStatus::Passed);
    let record = Command::Record(Box::new(Record::new(activity, Number(2))));
    let commands = [
        ("record", record),
        ("block", Command::Block { reason: reason.clone() }),
        ("unblock", Command::Unblock { reason: reason.clone() }),
        ("complete", Command::Complete { reason: reason.clone(), skip: Some("enough".to_owned()) }),
        ("fail", Command::Fail { reason: reason.clone() }),
        ("cancel", Command::Cancel { reason: reason.clone() }),
        ("reopen", Command::Reopen { reason: reason.clone() }),
        ("session-end", Command::EndSession { reason }),
        ("claim", Command::Claim(Claim { holder: None, take_over: false })),
    ];
    let caller = Caller { session: Some(SessionId::new("s1").unwrap()), ..Caller::default() };
    let mut lines = Vec::new();
    for status in RunStatus::ALL {
        let mut state = RunState::begin(&started()).unwrap().document().clone();
        state.state.status = status;
        state.state.last_number = Number(1);
        state.state.completed_activities.push("before");
        state.state.blocked_reason = (status == RunStatus::Blocked).then(|| "waiting".to_owned());
        let state = RunState::from_document(state);
        for (name, command) in &commands {
            let outcome = match decide(&state, Some(&machine), &caller, command.clone(), &NoTrail) {
                Ok(Decision::Already) => "=".to_owned(),
                Ok(Decision::Commit(kind)) => {
                    let mut after = state.clone();
                    after.apply(&event(Seq(9), kind.clone()));
                    format!("{} → {}", kind.name(), after.status())
                }
                Err(Refusal::Terminal { .. }) => "refused: terminal".to_owned(),
                Err(refusal) => format!("refused: {refusal}"),
            };
            lines.push(format!("{status:<10}{name:<12}{outcome}"));
        }
    }
    lines
}

#[test]
fn every_command_meets_every_status_as_agreed() {
    let agreed = "\
active    record      activity_recorded → active
active    block       run_blocked → blocked
active    unblock     =
active    complete    run_completed → completed
active    fail        run_failed → failed
active    cancel      run_cancelled → cancelled
active    reopen      =
active    session-end session_end → active
active    claim       run_claimed → active
blocked   record      activity_recorded → blocked
blocked   block       run_blocked → blocked
blocked   unblock     run_unblocked → active
blocked   complete    refused: the run is blocked, so it cannot be completed
blocked   fail        run_failed → failed
blocked   cancel      run_cancelled → cancelled
blocked   reopen      =
blocked   session-end =
blocked   claim       run_claimed → blocked
completed record      refused: terminal
completed block       refused: terminal
completed unblock     refused: the run is completed, not blocked
completed complete    =
completed fail        refused: terminal
completed cancel      refused: terminal
completed reopen      run_reopened → active
completed session-end =
completed claim       refused: terminal
failed    record      refused: terminal
failed    block       refused: terminal
failed    unblock     refused: the run is failed, not blocked
failed    complete    refused: terminal
failed    fail        =
failed    cancel      refused: terminal
failed    reopen      run_reopened → active
failed    session-end =
failed    claim       refused: terminal
cancelled record      refused: terminal
cancelled block       refused: terminal
cancelled unblock     refused: the run is cancelled, not blocked
cancelled complete    refused: terminal
cancelled fail        refused: terminal
cancelled cancel      =
cancelled reopen      run_reopened → active
cancelled session-end =
cancelled claim       refused: terminal";
    assert_eq!(matrix().join("\n"), agreed);
}

#[test]
fn an_event_of_a_newer_flow_is_kept_and_changes_nothing() {
    let line = json!({
        "v": 2, "seq": 2, "id": "x", "at": "2026-05-20T14:30:00Z", "type": "run_teleported", "to": {"phase": "moon"},
    });
    let event = Event::from_object(line.as_object().unwrap()).unwrap();
    let mut state = RunState::begin(&started()).unwrap();
    let before = state.phase().cloned();
    state.apply(&event);
    assert_eq!(state.phase().cloned(), before);
    let body = serde_json::to_value(&event).unwrap();
    assert_eq!(body["to"], json!({"phase": "moon"}));
    assert_eq!(body["type"], Value::from("run_teleported"));
}
