//! Reports on steps: a batch leaves a run where its reports would leave it one by one, what is noted reads back, and no
//! place is left of which nothing is recorded.

use std::path::Path;

use flowrun::codec::{RunText, seal};
use flowrun::engine::{
    Caller, Decision, Drift, Emit, History, HoldState, Lives, MayEnd, Outlook, Refusal, Report, RunState, Supply,
    decide_emit, resume,
};
use flowrun::machine::{Form, Machine, StateTypes, compile_text};
use flowrun::model::{
    ActivityId, Emitted, Event, EventId, EventKind, Number, RunId, RunStarted, Seq, StepStatus, Timestamp, WorkflowId,
};
use flowrun::runs::{ReportRequest, parse_batch};
use serde_json::{Map, Value};

/// Two branches that meet, a way back, a state on its own, and two ends.
const MACHINE: &str =
    "stateDiagram-v2\n[*] --> a\na --> b\na --> c\nb --> d\nc --> d\nd --> a\nd --> e\nd --> f\ne --> [*]\nf --> [*]\n";

/// The input is a batch.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let requests = match parse_batch(text, None).map(|batch| batch.reports) {
        Ok(requests) => requests,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut reports = Vec::new();
    for (n, request) in requests.iter().enumerate() {
        match check(request, n) {
            Ok(report) => reports.push(report),
            Err(error) => return assert!(!error.to_string().is_empty()),
        }
    }
    let machine = compile_text(Form::Mermaid, MACHINE, "branches", &StateTypes::default()).machine;
    assert!(machine.is_some(), "the machine is sound");
    holds_in(machine.as_ref(), &reports);
    // Steps are free without a machine.
    holds_in(None, &reports);
}

fn check(request: &ReportRequest, n: usize) -> flowrun::runs::Result<Report> {
    request.check(&flowrun::disk::Os, EventId::new(format!("r{n}")).expect("an id"), Path::new("/nowhere"))
}

fn holds_in(machine: Option<&Machine>, reports: &[Report]) {
    let mut at_once = Rehearsal::new(machine);
    let refused = at_once.emit(reports.to_vec()).err();
    let mut each = Rehearsal::new(machine);
    let refused_alone = each.take_all(reports);
    match (refused, refused_alone) {
        (None, None) => assert_eq!(at_once.outcome(), each.outcome(), "a batch ends elsewhere"),
        // A batch that ends its run may say more of it, and not its end twice.
        (None, Some(Refusal::Terminal { .. })) | (Some(Refusal::Terminal { .. }), None) => {}
        (refused, refused_alone) => {
            let in_words = |refusal: Option<Refusal>| refusal.map(|refusal| refusal.to_string());
            let (refused, alone) = (in_words(refused), in_words(refused_alone));
            assert_eq!(refused.is_some(), alone.is_some(), "{refused:?}, and one by one {alone:?}");
        }
    }
}

/// A run without files.
struct Rehearsal<'a> {
    machine: Option<&'a Machine>,
    events: Vec<Event>,
    state: RunState,
    ids: usize,
    last: Number,
}

impl<'a> Rehearsal<'a> {
    fn new(machine: Option<&'a Machine>) -> Self {
        let started = RunStarted {
            run_id: RunId::new("r1").expect("an id"),
            workflow: WorkflowId::new("branches").expect("an id"),
            workflow_version: 1,
            phase: None,
            goal: None,
            context: Map::new(),
            limits: Map::new(),
            session: None,
            holder: None,
            token: None,
            machine: machine.map_or(Value::Null, Machine::to_value),
        };
        let id = EventId::new("e1").expect("an id");
        let first = Event {
            seq: Seq(1),
            id,
            at: now(),
            kind: EventKind::RunStarted(Box::new(started)),
            run: None,
            recap: None,
        };
        let state = RunState::begin(&first).expect("a start begins a run");
        Self { machine, events: vec![first], state, ids: 0, last: Number(0) }
    }

    /// Each report on its own, until one is refused.
    fn take_all(&mut self, reports: &[Report]) -> Option<Refusal> {
        reports.iter().find_map(|report| self.emit(vec![report.clone()]).err())
    }

    fn emit(&mut self, reports: Vec<Report>) -> Result<(), Refusal> {
        let history = History::fold(&self.events).expect("it began");
        assert_eq!(*history.state(), self.state, "the fold of the log is another state");
        let emit = Emit { reports, request: None, now: now(), answers_documents: false, may_end: MayEnd::Each };
        let caller = Caller::default();
        let before = self.state.clone();
        let decision = decide_emit(&before, self.machine, &caller, emit, &history, self);
        let kind = match decision.inspect_err(|refusal| assert!(!refusal.to_string().is_empty()))? {
            Decision::Already => return Ok(()),
            Decision::Commit(kind) => kind,
        };
        let EventKind::Emitted(emitted) = kind.clone() else { panic!("reports are no reports: {kind:?}") };
        let seq = Seq(self.events.len() as u64 + 1);
        let event = Event { seq, id: self.event_id(), at: now(), kind, run: None, recap: None };
        let line = seal(&event);
        assert_eq!(super::event_line::event(line.trim_end().as_bytes()).as_ref(), Ok(&event), "{line}");
        self.state.apply(&event);
        self.events.push(event);
        self.assert_recorded(&history, &before, &emitted);
        self.assert_shown();
        Ok(())
    }

    /// No place changes without an activity in the log, but from a step that was reported as not started: that is told as
    /// left undone.
    fn assert_recorded(&self, history: &History, before: &RunState, emitted: &Emitted) {
        let owned = &before.document().state;
        let stays = |here: &_| emitted.phase.as_ref() == Some(here) || emitted.beside.contains(here);
        let now = History::fold(&self.events).expect("it began");
        let undone = now.left_undone(None);
        let is_told = |here: &_| undone.iter().any(|left| left.phase == *here && left.status == StepStatus::NotStarted);
        let left = owned.positions().any(|here| !stays(here) && !is_told(here));
        let any = !emitted.records.is_empty() || !history.attempts().is_empty();
        assert!(emitted.phase.is_none() || self.machine.is_none() || !left || any, "{emitted:?}");
    }

    /// The state can be written, and asked for what is next.
    fn assert_shown(&self) {
        let text = RunText::create(self.state.document());
        let read = RunText::parse(text.text()).map(|read| read.document().clone());
        assert_eq!(read.as_ref(), Ok(self.state.document()), "{}", text.text());
        let history = History::fold(&self.events).expect("it began");
        let outlook = Outlook {
            machine: self.machine,
            drift: Drift::None,
            damage: None,
            hold_state: HoldState::Free,
            now: now(),
            lives: Lives::default(),
            unproved: None,
        };
        assert!(!resume(&history, &outlook).reason.is_empty());
    }

    /// Where the reports left the run; not when, nor in how many lines.
    fn outcome(&self) -> flowrun::model::OwnedState {
        let mut owned = self.state.document().state.clone();
        owned.last_seq = None;
        owned
    }
}

impl Supply for Rehearsal<'_> {
    fn event_id(&mut self) -> EventId {
        self.ids += 1;
        EventId::new(format!("new{}", self.ids)).expect("an id")
    }

    fn number(&mut self, _: &ActivityId) -> Number {
        self.last = self.last.next();
        self.last
    }
}

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().expect("a time")
}
