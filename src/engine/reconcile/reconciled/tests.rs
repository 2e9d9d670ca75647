//! For any `run.yaml` and log, readers see the state that a writer makes of them, and one write makes all repairs.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::codec::{LogLine, seal};
use crate::engine::Replay;
use crate::model::{EventKind, RunEdited, TextDigest};

const PHASES: [&str; 4] = ["plan", "code", "verify", "elsewhere"];
const IDS: [&str; 5] = ["a", "b", "c-1", "123", "null"];

/// A run with all that was ever written of it.
#[derive(Clone)]
struct Past {
    events: Vec<Event>,
    states: Vec<RunState>,
    texts: Vec<RunText>,
}

impl Past {
    fn new() -> Self {
        let machine = json!({"id": "w", "version": 1, "notation": "phases", "states": [], "transitions": []});
        let body = json!({"type": "run_started", "run_id": "r", "workflow": "w", "workflow_version": 1, "goal": null,
            "context": {"repo": "x"}, "limits": {}, "phase": "plan", "session": null, "machine": machine});
        let mut past = Self { events: Vec::new(), states: Vec::new(), texts: Vec::new() };
        let event = event(1, body);
        let state = RunState::begin(&event).unwrap();
        let text = RunText::create(state.document());
        past.commit(event, state, text);
        past
    }

    fn commit(&mut self, mut event: Event, state: RunState, base: RunText) {
        let text = base.with_state(&state.document().state).unwrap();
        event.run = Some(TextDigest(digest(text.text().as_bytes())));
        self.events.push(event);
        self.states.push(state);
        self.texts.push(text);
    }

    fn add(&mut self, kind: Value) {
        let event = event(self.events.len() as u64 + 1, kind);
        let (mut state, text) = (self.states.last().unwrap().clone(), self.texts.last().unwrap().clone());
        state.apply(&event);
        self.commit(event, state, text);
    }

    /// Does what a person may do: records, changes of status, edits that are adopted.
    fn go_on(&mut self, (what, id, phase): (usize, usize, usize)) {
        let (id, phase) = (IDS[id % IDS.len()], PHASES[phase % PHASES.len()]);
        let session = json!("s1");
        match what {
            0..6 => {
                let status = ["passed", "failed", "running", "skipped", "passed", "passed"][what];
                let activity = json!({"metadata": {"id": id, "phase": phase}, "activity": {"status": status}});
                let number = format!("{:03}", self.events.len());
                self.add(json!({"type": "activity_recorded", "number": number, "phase": phase, "activity": activity}));
            }
            6 => self.add(json!({"type": "run_blocked", "from": "active", "reason": "a: [b]\n# c"})),
            7 => self.add(json!({"type": "run_unblocked", "from": "blocked", "reason": null})),
            8 => self.add(json!({"type": "run_claimed", "session": session, "epoch": self.events.len()})),
            9 => self.add(json!({"type": "session_end", "session": session, "reason": null})),
            10 => self.add(json!({"type": "something_newer", "of": "a later flow"})),
            11 => self.repair(),
            _ => self.adopt(phase),
        }
    }

    /// As the doctor ends a log that it repaired.
    fn repair(&mut self) {
        let now = event(self.events.len() as u64 + 1, json!({"type": "noted"}));
        let (text, mut document) = (self.texts.last().unwrap(), self.states.last().unwrap().document().clone());
        (document.state.last_seq, document.state.updated_at) = (Some(now.seq), Some(now.at));
        let text = text.with_state(&document.state).unwrap().text().to_owned();
        self.add(json!({"type": "log_repaired", "lost": [], "renumbered": [], "salvaged": [], "reason": "",
            "document": document, "text": text}));
    }

    fn adopt(&mut self, word: &str) {
        let text = edited_by_hand(self.texts.last().unwrap().text(), word.len());
        let (files, log) = (Files::of(&text), self.log());
        *self = settle(files, self.clone(), &log, log.last_seq()).1;
    }

    fn log(&self) -> LogScan {
        let line = |(at, event): (usize, &Event)| LogLine { number: at + 1, event: event.clone() };
        LogScan { lines: self.events.iter().enumerate().map(line).collect(), ..LogScan::default() }
    }

    fn bytes(&self) -> String {
        self.events.iter().map(seal).collect()
    }
}

impl std::fmt::Debug for Past {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.bytes())
    }
}

fn event(seq: u64, mut body: Value) -> Event {
    let at = format!("2026-05-20T14:{:02}:{:02}Z", 30 + seq / 60 % 30, seq % 60);
    for (key, value) in [("v", json!(1)), ("seq", json!(seq)), ("id", json!(format!("e{seq}"))), ("at", json!(at))] {
        body[key] = value;
    }
    Event::from_object(body.as_object().unwrap()).unwrap()
}

/// One of the changes that people make.
fn edited_by_hand(text: &str, which: usize) -> String {
    let lines = |keep: fn(&str) -> bool| text.split_inclusive('\n').filter(|line| keep(line)).collect::<String>();
    match which % 9 {
        0 => text.replacen("state:", "# ask Ada first\nstate:", 1),
        1 => text.replacen("goal: null", "goal: more # says Ada", 1),
        2 => text.replacen("status: active", "status: blocked", 1),
        3 => lines(|line| !line.contains("last_seq:")),
        4 => lines(|line| !line.starts_with("  session:") && !line.starts_with("  epoch:")),
        5 => lines(|line| line != "    - a\n"),
        6 => text.replacen("last_seq: ", "last_seq: 9", 1),
        7 => text.replacen("current_phase: plan", "current_phase: code", 1),
        _ => text.replacen("repo: x", "repo: y\n  mine: 1", 1),
    }
}

/// What is on disk beside the log.
#[derive(Debug, Clone)]
struct Files {
    text: Option<String>,
}

impl Files {
    fn of(text: &str) -> Self {
        Self { text: Some(text.to_owned()) }
    }

    fn reconcile(&self, log: &LogScan, noted: Seq) -> Reconciled {
        let id = RunId::new("r").unwrap();
        reconcile(&id, read_run(&id, self.text.clone()), log, noted)
    }
}

/// Does what a writer does, and gives what is on disk afterwards. Only an event changes what is noted.
fn settle(mut files: Files, mut past: Past, log: &LogScan, mut noted: Seq) -> (Files, Past, Seq) {
    let found = files.reconcile(log, noted);
    let Some(current) = found.run else { return (files, past, noted) };
    let (base, _) = current.into_parts();
    past.events = log.events().cloned().collect();
    for repair in found.repairs {
        match repair {
            Repair::Rebuild { text } | Repair::EndRepair { text, .. } | Repair::RollForward { text, .. } => {
                files = Files::of(text.text());
            }
            Repair::AdoptEdit { log: mut state, changes } => {
                let kind = RunEdited { changes: *changes, by_command: false, session: None, text: base.text().into() };
                let mut event = event(log.last_seq().0 + 1, json!({"type": "noted"}));
                event.kind = EventKind::RunEdited(Box::new(kind));
                state.apply(&event);
                past.commit(event, *state, base.clone());
                files = Files::of(past.texts.last().unwrap().text());
                noted = log.last_seq().next();
            }
            Repair::AdoptRun => {}
        }
    }
    (files, past, noted)
}

/// All but when it was changed, and by which event.
fn essence(current: &Current) -> (RunState, RunText) {
    let mut document = current.state.document().clone();
    (document.state.last_seq, document.state.updated_at) = (None, None);
    let text = current.text().with_state(&document.state).unwrap();
    (RunState::from_document(document), text)
}

fn pasts() -> impl Strategy<Value = Past> {
    prop::collection::vec((0..13_usize, 0..5_usize, 0..4_usize), 0..12).prop_map(|steps| {
        let mut past = Past::new();
        steps.into_iter().for_each(|step| past.go_on(step));
        past
    })
}

#[test]
fn another_programs_run_that_breaks_the_schema_is_not_read() {
    let text = Past::new().texts[0].text().replace("context:", "(ontext:").replace("last_seq: 1", "");
    let found = Files { text: Some(text) }.reconcile(&LogScan::default(), Seq(0));
    assert!(matches!(found.faults.as_slice(), [Fault::Schema(_)]), "{:?}", found.faults);
    assert!(found.run.is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn readers_see_what_a_writer_makes_and_a_writer_is_done_at_once(
        past in pasts(),
        shown in any::<prop::sample::Index>(),
        edit in prop::option::of(0..9_usize),
        missing in prop::bool::weighted(0.1),
        cut in 0..3_usize,
        lost in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        noted in 0..3_u64,
    ) {
        let mut log = past.log().until(Seq((past.events.len().saturating_sub(cut)).max(1) as u64));
        if let Some(lost) = lost.map(|lost| lost.index(log.lines.len())).filter(|&lost| lost > 0) {
            log.lines.remove(lost);
        }
        let text = past.texts[shown.index(past.texts.len())].text();
        let text = edit.map_or_else(|| text.to_owned(), |which| edited_by_hand(text, which));
        let files = Files { text: (!missing).then_some(text) };
        let noted = Seq(log.last_seq().0.saturating_sub(1) + noted);
        let found = files.reconcile(&log, noted);
        // The end of the log says the same, or nothing.
        if let Some(text) = files.text.as_ref().and_then(|text| RunText::parse(text.as_str()).ok())
            && let Some(shown) = text.document().state.last_seq
        {
            let end = LogEnd { ordered: true, ..LogEnd::of(&log, shown) };
            if let Ok(short) = reconcile_end(text, &end, noted) {
                prop_assert_eq!((&short.run, &short.repairs), (&found.run, &found.repairs));
            }
        }
        if found.faults.iter().any(Fault::forbids_writing) {
            return Ok(());
        }
        let before = found.run.expect("nothing forbids reading");
        let (files, past, noted) = settle(files, past, &log, noted);
        let log = past.log();
        let after = files.reconcile(&log, noted);
        prop_assert_eq!(after.repairs, []);
        let after = after.run.expect("nothing forbids reading");
        prop_assert_eq!(essence(&after), essence(&before));
        prop_assert_eq!(Some(after.text().text().to_owned()), files.text);
    }

    #[test]
    fn an_edit_that_leaves_a_phase_is_shown_as_it_will_be_adopted(what in 1..3_usize, phase in 1..3_usize) {
        let mut past = Past::new();
        past.go_on((what, 0, phase));
        let text = past.texts[1].text();
        let edited = text.replacen(&format!("current_phase: {}", PHASES[phase]), "current_phase: plan", 1);
        prop_assert_ne!(&edited, text);
        let (files, log) = (Files::of(&edited), past.log());
        let before = files.reconcile(&log, log.last_seq()).run.expect("an edit can be read");
        let (files, past, noted) = settle(files, past, &log, log.last_seq());
        let after = files.reconcile(&past.log(), noted).run.expect("it was adopted");
        prop_assert_eq!(essence(&after), essence(&before));
    }

    #[test]
    fn a_shorter_log_gives_the_run_of_then(past in pasts()) {
        for (state, text) in past.states.iter().zip(&past.texts) {
            let last = state.document().state.last_seq.unwrap();
            let then = reconcile(&RunId::new("r").unwrap(), Ok(None), &past.log().until(last), Seq(0)).run.unwrap();
            prop_assert_eq!(&then.state, state);
            prop_assert_eq!(then.text().text().to_owned(), text.text());
        }
    }

    #[test]
    fn a_replay_writes_every_text_again(past in pasts()) {
        let mut replay = Replay::default();
        for (event, text) in past.events.iter().zip(&past.texts) {
            replay.take(event).unwrap();
            prop_assert_eq!(replay.digest(), Some(digest(text.text().as_bytes())));
            prop_assert_eq!(replay.text(), Some(text.text().to_owned()));
        }
    }

    #[test]
    fn every_text_and_every_log_gets_an_answer(
        past in pasts(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        in_log in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        joined in any::<bool>(),
        noted in 0..20_u64,
    ) {
        let changed = |bytes: &str, changes: &[(prop::sample::Index, u8)]| {
            let mut bytes = bytes.as_bytes().to_vec();
            changes.iter().for_each(|(at, byte)| {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            });
            bytes
        };
        let mut log = changed(&past.bytes(), &in_log);
        if joined {
            log.extend(changed(&past.bytes(), &in_log));
        }
        let text = String::from_utf8_lossy(&changed(past.texts.last().unwrap().text(), &changes)).into_owned();
        for text in [Some(text), None] {
            let found = Files { text }.reconcile(&LogScan::parse(&log), Seq(noted));
            let forbids_reading = found.faults.iter().any(Fault::forbids_reading);
            prop_assert_eq!(found.run.is_none(), forbids_reading, "{:?}", found.faults);
            let _ = found.run.map(|current| (current.text(), current.history(&LogScan::parse(&log))));
        }
    }
}
