//! A recap and the end of the log answer every question about a run's present as the whole log does.

use std::sync::Arc;

use flowrun::catalog::Catalog;
use flowrun::disk::Os;
use flowrun::engine::{
    Advance, Caller, Claim, Command, Decide, Decision, Emit, History, HoldState, Lives, MayEnd, Outlook, Recap, Record,
    Report, RunState, Supply, decide, decide_emit, requests_of, resume,
};
use flowrun::engine::{Drift, Plan, RECENT};
use flowrun::machine::Machine;
use flowrun::model::{
    Activity, ActivityId, ActivityStatus, Event, EventId, EventKind, Execution, ForkPoint, GateStatus, Number,
    RunForked, RunId, RunStatus, Seq, StateName, Timestamp,
};
use proptest::prelude::*;
use serde_json::json;

use crate::support::storm::Dice;
use crate::support::{Sandbox, quick, scaled};

/// A command, or an edit by hand.
#[derive(Debug, Clone)]
enum Deed {
    Record {
        id: &'static str,
        phase: Option<usize>,
        status: ActivityStatus,
        onwards: bool,
        settles: Option<&'static str>,
        ran: Ran,
    },
    Report {
        kind: &'static str,
        step: Option<usize>,
        unit: Option<&'static str>,
        agent: bool,
        status: &'static str,
    },
    Decide {
        approves: bool,
    },
    Status(&'static str),
    Claim(Option<&'static str>),
    /// A person takes an entry off `completed_activities`.
    TakeOff(usize),
    /// So many other activities pass in a phase, after which a recap forgets what came before them.
    Others(usize, Option<usize>, Ran),
}

/// Whether flow ran the work.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ran {
    /// It did not.
    No,
    /// As a command of the caller.
    Own,
    /// As a command that the project names.
    Named(&'static str),
}

fn ran() -> impl Strategy<Value = Ran> {
    let named = prop::sample::select(vec!["test", "lint"]).prop_map(Ran::Named);
    prop_oneof![4 => Just(Ran::No), 2 => Just(Ran::Own), 1 => named]
}

/// What is recorded of a command that flow ran.
fn execution(ran: Ran, has_ended: bool) -> Option<Box<Execution>> {
    let name = match ran {
        Ran::No => return None,
        Ran::Own => None,
        Ran::Named(name) => Some(name),
    };
    let end = json!({ "at": at(2), "status": 0, "stdout_sha256": "", "stderr_sha256": "", "output_bytes": 0 });
    let end = has_ended.then_some(end);
    let exec = json!({ "argv": ["true"], "name": name, "dir": ".", "started_at": at(1), "end": end });
    Some(serde_json::from_value(exec).unwrap())
}

fn deeds() -> impl Strategy<Value = Deed> {
    let ids = || prop::sample::select(vec!["a", "b", "c", "preflight", "verify"]);
    let step = || prop::option::weighted(0.8, 0..5_usize);
    let record = (
        ids(),
        step(),
        prop::sample::select(ActivityStatus::ALL.to_vec()),
        any::<bool>(),
        prop::option::weighted(0.2, ids()),
        ran(),
    )
        .prop_map(|(id, phase, status, onwards, settles, ran)| Deed::Record {
            id,
            phase,
            status,
            onwards,
            settles,
            ran,
        });
    let others = (1..2 * RECENT, prop::option::weighted(0.2, 0..5_usize), ran())
        .prop_map(|(count, phase, ran)| Deed::Others(count, phase, ran));
    let kinds =
        vec!["status_change", "status_change", "status_change", "waiting_for_user", "user_answered", "btw_update"];
    let statuses = vec!["running", "running", "completed", "completed", "waiting", "failed", "skipped"];
    let unit = prop::option::weighted(0.3, prop::sample::select(vec!["T1", "T2"]));
    let report = (prop::sample::select(kinds), step(), unit, prop::bool::weighted(0.2), prop::sample::select(statuses))
        .prop_map(|(kind, step, unit, agent, status)| Deed::Report { kind, step, unit, agent, status });
    prop_oneof![
        12 => record,
        6 => report,
        2 => any::<bool>().prop_map(|approves| Deed::Decide { approves }),
        1 => prop::sample::select(vec!["block", "unblock", "complete", "reopen", "fail"]).prop_map(Deed::Status),
        1 => prop::option::of(prop::sample::select(vec!["s1", "s2"])).prop_map(Deed::Claim),
        1 => any::<usize>().prop_map(Deed::TakeOff),
        3 => others,
    ]
}

/// A run without files.
struct Play {
    machine: Machine,
    events: Vec<Event>,
    state: RunState,
    ids: usize,
    last: Number,
}

impl Supply for Play {
    fn event_id(&mut self) -> EventId {
        self.ids += 1;
        EventId::new(format!("r{}", self.ids)).unwrap()
    }

    fn number(&mut self, _: &ActivityId) -> Number {
        self.last = self.last.next();
        self.last
    }
}

fn at(second: u64) -> Timestamp {
    format!("2026-05-20T14:{:02}:{:02}Z", second / 60 % 60, second % 60).parse().unwrap()
}

impl Play {
    fn new(workflow: &str) -> Self {
        let machine = Catalog::new(Arc::new(Os), None).find(workflow).unwrap().machine;
        let started = json!({
            "v": 1, "seq": 1, "id": "e1", "at": at(1), "type": "run_started", "run_id": "run-1",
            "workflow": machine.id(), "workflow_version": 1, "phase": machine.initial().first(), "goal": null,
            "context": {}, "limits": { "max_iterations": 3 }, "machine": machine.to_value(),
        });
        let first = Event::from_object(started.as_object().unwrap()).unwrap();
        let state = RunState::begin(&first).unwrap();
        Self { machine, events: vec![first], state, ids: 0, last: Number(0) }
    }

    fn phase(&self, at: usize) -> StateName {
        let states = self.machine.states();
        states[at % states.len()].name.clone()
    }

    fn commit(&mut self, kind: EventKind) {
        let seq = Seq(self.events.len() as u64 + 1);
        let event =
            Event { seq, id: EventId::new(format!("e{seq}")).unwrap(), at: at(seq.0), kind, run: None, recap: None };
        self.state.apply(&event);
        self.events.push(event);
    }

    fn act(&mut self, deed: &Deed) {
        let history = History::fold(&self.events).unwrap();
        self.last = self.state.document().state.last_number;
        let now = at(self.events.len() as u64 + 1);
        let mut caller = Caller::default();
        let reason = || Some("why".to_owned());
        let command = match deed {
            Deed::Record { id, phase, status, onwards, settles, ran } => {
                let phase = phase.map(|phase| self.phase(phase));
                let mut record = self.record(id, phase, *status, *onwards, *settles);
                record.exec = execution(*ran, *status != ActivityStatus::Running);
                Command::Record(Box::new(record))
            }
            Deed::Report { .. } => return self.report(deed, &history, now),
            Deed::TakeOff(which) => return self.take_off(*which, now),
            Deed::Others(count, phase, ran) => return self.pass_others(*count, *phase, *ran),
            Deed::Decide { approves } => {
                let approval = json!({ "by": "ada", "how": "terminal", "seen": self.events.len() });
                let approval = serde_json::from_value(approval).unwrap();
                let number = self.last.next();
                let decide = Decide { approves: *approves, reason: reason(), approval, request: None, number, now };
                Command::Decide(Box::new(decide))
            }
            Deed::Status("block") => Command::Block { reason: reason() },
            Deed::Status("unblock") => Command::Unblock { reason: reason() },
            Deed::Status("complete") => Command::Complete { reason: reason(), skip: None },
            Deed::Status("reopen") => Command::Reopen { reason: reason() },
            Deed::Status(_) => Command::Fail { reason: reason() },
            Deed::Claim(session) => {
                caller.session = session.map(|session| session.parse().unwrap());
                Command::Claim(Claim { holder: None, take_over: true })
            }
        };
        if let Ok(Decision::Commit(kind)) = decide(&self.state, Some(&self.machine), &caller, command, &history) {
            self.commit(kind);
        }
    }

    /// So many activities pass, also in a run that was blocked or had ended.
    fn pass_others(&mut self, count: usize, phase: Option<usize>, ran: Ran) {
        let reason = || Some("why".to_owned());
        self.try_to(Command::Unblock { reason: reason() });
        self.try_to(Command::Reopen { reason: reason() });
        for _ in 0..count {
            self.last = self.state.document().state.last_number;
            let id = format!("other{}", self.events.len());
            let phase = phase.map(|phase| self.phase(phase));
            let record = self.record(&id, phase, ActivityStatus::Passed, false, None);
            self.try_to(Command::Record(Box::new(Record { exec: execution(ran, true), ..record })));
        }
    }

    fn try_to(&mut self, command: Command) {
        let history = History::fold(&self.events).unwrap();
        let decision = decide(&self.state, Some(&self.machine), &Caller::default(), command, &history);
        if let Ok(Decision::Commit(kind)) = decision {
            self.commit(kind);
        }
    }

    fn record(
        &self,
        id: &str,
        phase: Option<StateName>,
        status: ActivityStatus,
        onwards: bool,
        settles: Option<&str>,
    ) -> Record {
        let document = json!({
            "apiVersion": "flow.synapti.ai/v1", "kind": "FlowActivity",
            "metadata": { "id": id, "phase": phase },
            "activity": { "type": "task", "status": status },
        });
        Record {
            advance: onwards.then_some(Advance::Next),
            skip: (id == "c").then(|| "it was agreed".to_owned()),
            settles: settles.iter().map(|id| ActivityId::new(*id).unwrap()).collect(),
            ..Record::new(Activity::new(document.as_object().unwrap().clone()).unwrap(), self.last.next())
        }
    }

    fn report(&mut self, deed: &Deed, history: &History, now: Timestamp) {
        let Deed::Report { kind, step, unit, agent, status } = deed else { panic!("{deed:?}") };
        let step = step.map(|step| self.phase(step).to_string());
        let step = if *agent { step.map(|step| format!("helper:{step}")) } else { step };
        let data = match *kind {
            "status_change" => json!({ "status": status }),
            "waiting_for_user" => json!({ "prompt": "red?" }),
            "user_answered" => json!({ "answer": "yes" }),
            _ => json!({ "message": "so" }),
        };
        let report = Report {
            id: self.event_id(),
            kind: kind.parse().unwrap(),
            step: step.map(|step| step.parse().unwrap()),
            unit: unit.map(|unit| unit.parse().unwrap()),
            data: data.as_object().unwrap().clone(),
        };
        let emit = Emit { reports: vec![report], request: None, now, answers_documents: false, may_end: MayEnd::Each };
        let (before, machine) = (self.state.clone(), self.machine.clone());
        let decision = decide_emit(&before, Some(&machine), &Caller::default(), emit, history, self);
        if let Ok(Decision::Commit(kind)) = decision {
            self.commit(kind);
        }
    }

    fn take_off(&mut self, which: usize, now: Timestamp) {
        let ids = &self.state.document().state.completed_activities;
        let mut left: Vec<String> = ids.iter().map(str::to_owned).collect();
        if left.is_empty() {
            return;
        }
        left.remove(which % left.len());
        let edit = json!({
            "v": 1, "seq": 1, "id": "x", "at": now, "type": "run_edited", "text": "",
            "changes": { "completed_activities": left },
        });
        self.commit(Event::from_object(edit.as_object().unwrap()).unwrap().kind);
    }
}

/// What `resume` says of a run that nothing around it troubles.
fn plan_of(history: &History, machine: &Machine) -> Plan {
    let outlook = Outlook {
        machine: Some(machine),
        drift: Drift::None,
        damage: None,
        hold_state: HoldState::Free,
        now: at(3000),
        lives: Lives::default(),
        unproved: None,
    };
    resume(history, &outlook)
}

/// Every answer about the present, without the completed activities that only the whole log has.
fn answers(history: &History, machine: &Machine) -> Vec<String> {
    let plan = plan_of(history, machine);
    let completed = plan.completed[plan.completed.len().saturating_sub(RECENT)..].to_vec();
    let plan = Plan { completed, ..plan };
    let mut answers =
        vec![format!("{plan:#?}"), format!("{:?}", history.state()), format!("{}", history.completed_count())];
    answers.push(format!("{:?} {:?} {:?}", history.end_reason(), history.children(), history.open_workers()));
    answers.push(format!("{:?} {:?}", history.units(), history.left_undone(Some(machine))));
    answers.push(format!("{:?} {:?}", history.hold(), history.reports().is_empty()));
    let latest = history.latest();
    for seen in history.seen_last() {
        answers.push(format!("{} {} {}", seen.number, seen.id, latest.contains(&seen)));
    }
    answers.push(format!("{} more were seen", history.seen_before()));
    for question in &history.state().document().state.questions {
        answers.push(format!("{:?} {:?}", history.document_of(question), history.number_of(question)));
    }
    for state in machine.states() {
        let name = &state.name;
        answers.push(format!("{name} {:#?}", history.work(name)));
        answers.push(format!("{name} {:?} {:?}", history.message(name), history.reported_at(name)));
        answers.push(format!("{name} {:?} {:?}", history.gate(name), history.waits_for_a_person(Some(machine), name)));
    }
    answers
}

fn holds(play: &Play, cut: usize) -> Result<(), TestCaseError> {
    let (begun, rest) = play.events.split_at(cut);
    let recap = Recap::of(begun).unwrap();
    let Some(mut read) = Recap::read(&recap.text()) else { panic!("{} cannot be read", recap.text()) };
    prop_assert_eq!(read.seq(), begun.last().unwrap().seq);
    prop_assert_eq!(read.text(), recap.text(), "a recap of a recap is another one");
    for event in rest {
        if read.take(event).is_none() {
            // A person's edit: the whole log is read.
            return Ok(());
        }
    }
    let whole = Recap::of(&play.events).unwrap();
    prop_assert_eq!(read.text(), whole.text(), "behind event {}", cut);
    let history = read.history(play.state.clone()).unwrap();
    let full = History::fold(&play.events).unwrap();
    for (told, wanted) in answers(&history, &play.machine).iter().zip(&answers(&full, &play.machine)) {
        prop_assert_eq!(told, wanted, "behind event {}", cut);
    }
    Ok(())
}

/// The run that goes on from the event `cut` of another one, and does what that one did afterwards.
fn fork_of(play: &Play, cut: usize) -> Play {
    let (begun, rest) = play.events.split_at(cut);
    let past = History::fold(begun).unwrap();
    let id: RunId = "run-2".parse().unwrap();
    let forked = RunForked {
        parent: ForkPoint { run_id: "run-1".parse().unwrap(), seq: Seq(cut as u64) },
        parent_digest: String::new(),
        reason: None,
        holder: None,
        token: None,
        machine: play.machine.to_value(),
        document: past.forked(id, at(cut as u64), None),
        past: past.inheritance(&"run-1".parse().unwrap(), requests_of(begun)),
    };
    let kind = EventKind::RunForked(Box::new(forked));
    let first =
        Event { seq: Seq(1), id: EventId::new("f1").unwrap(), at: at(cut as u64), kind, run: None, recap: None };
    // As it is read from its line.
    let first = Event::of_line(&serde_json::to_vec(&first).unwrap()).unwrap();
    let mut fork = Play {
        machine: play.machine.clone(),
        state: RunState::begin(&first).unwrap(),
        events: vec![first],
        ids: play.ids,
        last: play.last,
    };
    rest.iter().for_each(|event| fork.commit(event.kind.clone()));
    fork
}

/// Every answer about the work of a run, apart from what tells a fork from its parent: its name, its times and positions.
fn answers_of_fork(history: &History, machine: &Machine) -> Vec<String> {
    let plan = plan_of(history, machine);
    let entries = plan.completed.iter().rev().take(RECENT);
    let completed: Vec<_> = entries.map(|one| (&one.number, &one.id, &one.phase, one.status)).collect();
    let in_doubt: Vec<_> = plan.in_doubt.iter().map(|doubt| (&doubt.number, &doubt.id, &doubt.phase)).collect();
    let mut told = vec![
        format!("{:?} {} {:?} {:?}", plan.verdict, plan.reason, plan.next.action, plan.next.phase),
        format!("{completed:?} {in_doubt:?} {:?}", plan.left_undone),
        format!("{} {:?} {:?}", history.completed_count(), history.children(), history.open_workers()),
        format!(
            "{:?} {:?}",
            history.units(),
            history.state().document().state.completed_activities.iter().collect::<Vec<_>>()
        ),
    ];
    for state in machine.states() {
        let name = &state.name;
        let work = history.work(name);
        told.push(format!("{name} {:?} {:?} {:?}", work.status, work.reported, work.skipped));
        told.push(format!("{name} {:?} {:?}", history.message(name), history.gate(name)));
        told.push(format!("{name} {:?}", history.waits_for_a_person(Some(machine), name)));
    }
    told
}

proptest! {
    #![proptest_config(ProptestConfig { cases: scaled(200, 10_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_fork_goes_on_as_its_parent_does_and_has_recaps_as_it(
        workflow in prop::sample::select(vec!["start-issue", "merge-pr", "build", "debug"]),
        deeds in prop::collection::vec(deeds(), 1..70),
        cut in any::<prop::sample::Index>(),
        again in any::<prop::sample::Index>(),
    ) {
        let mut play = Play::new(workflow);
        deeds.iter().for_each(|deed| play.act(deed));
        let cut = cut.index(play.events.len()) + 1;
        // A fork of a run that is over is open again, so there it goes another way. Of what a person takes off later, a fork
        // knows the latest of each phase.
        let over = History::fold(&play.events[..cut]).unwrap().state().status().is_terminal();
        let edited = play.events[cut..].iter().any(|event| matches!(event.kind, EventKind::RunEdited(_)));
        let fork = fork_of(&play, cut);
        let full = History::fold(&play.events).unwrap();
        let own = History::fold(&fork.events).unwrap();
        prop_assert_eq!(own.state(), &fork.state);
        if !over && !edited {
            let (told, wanted) = (answers_of_fork(&own, &play.machine), answers_of_fork(&full, &play.machine));
            for (told, wanted) in told.iter().zip(&wanted) {
                prop_assert_eq!(told, wanted, "a fork of event {}", cut);
            }
        }
        holds(&fork, again.index(fork.events.len()) + 1)?;
        // A fork of a fork needs neither.
        let second = fork_of(&fork, again.index(fork.events.len()) + 1);
        holds(&second, 1)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: scaled(150, 10_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_recap_and_the_events_behind_it_answer_as_the_whole_log_does(
        workflow in prop::sample::select(vec!["start-issue", "merge-pr", "build", "debug"]),
        deeds in prop::collection::vec(deeds(), 1..70),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 3),
    ) {
        let mut play = Play::new(workflow);
        deeds.iter().for_each(|deed| play.act(deed));
        for cut in cuts {
            holds(&play, cut.index(play.events.len()) + 1)?;
        }
    }
}

/// The person had not seen why the run goes on after its end.
#[test]
fn what_was_decided_at_a_gate_counts_in_a_fork_unless_the_run_had_ended_there() {
    let mut play = Play::new("merge-pr");
    let passes = |phase| Deed::Record {
        id: "a",
        phase: Some(phase),
        status: ActivityStatus::Passed,
        onwards: phase == 1,
        settles: None,
        ran: Ran::No,
    };
    for deed in [passes(0), passes(1), Deed::Decide { approves: true }] {
        play.act(&deed);
    }
    let gate = "confirm".parse().unwrap();
    let decided = play.events.len();
    play.act(&Deed::Status("fail"));
    assert_eq!(play.events.len(), decided + 1, "{:?}", play.state);
    let of = |cut| History::fold(&fork_of(&play, cut).events[..1]).unwrap();
    assert_eq!(of(decided).gate(&gate), Some(GateStatus::Approved));
    let again = of(decided + 1);
    assert_eq!((again.gate(&gate), again.state().status()), (Some(GateStatus::Closed), RunStatus::Active));
}

/// What random runs hardly ever do: something that would be left out counts for what is kept.
#[test]
fn what_counts_for_something_that_a_recap_keeps_is_kept_as_well() {
    use ActivityStatus::{Blocked, Failed, Passed, Pending, Running};
    let deed = |phase, id, status, onwards, settles| Deed::Record { id, phase, status, onwards, settles, ran: Ran::No };
    let record_in = |phase, id, status| deed(phase, id, status, false, None);
    let record = |id, status| record_in(None, id, status);
    let onwards = || deed(None, "b", Passed, true, None);
    let report =
        |step, agent, status| Deed::Report { kind: "status_change", step: Some(step), unit: None, agent, status };
    let others = |phase| Deed::Others(RECENT + 5, phase, Ran::No);
    // The later one of two records of an activity that passed twice is withdrawn.
    let withdrawn = vec![record("a", Passed), record("a", Failed), record("a", Passed), Deed::TakeOff(1), others(None)];
    // What failed is settled by something else.
    let settles = deed(None, "b", Passed, false, Some("a"));
    let settled = vec![record("a", Failed), settles, others(None)];
    // Work that was begun in one phase ends in the next one.
    let ended_elsewhere = vec![record("a", Running), onwards(), record_in(Some(1), "a", Passed), others(None)];
    // What passed in a gate, while its step waits and much is recorded in the phase before it.
    let mut passed_in_a_gate = vec![record("c", Running), onwards(), onwards(), record("a", Passed)];
    passed_in_a_gate.extend([report(2, false, "waiting"), record_in(Some(0), "c", Failed), others(Some(0))]);
    // An agent reports between two visits of steps that the run knew before.
    let mut visits: Vec<_> = (0..4).map(|step| report(step, false, "completed")).collect();
    let round = || [report(4, false, "running"), report(3, false, "running"), report(3, false, "completed")];
    visits.extend(round().into_iter().chain([report(4, false, "running"), report(0, true, "running")]).chain(round()));
    visits.push(report(4, false, "running"));
    // What passed in a phase is withdrawn, begun again there, and passed in another one meanwhile.
    let mut passed_elsewhere = vec![record("a", Passed), onwards(), record("a", Passed), record("a", Running)];
    passed_elsewhere.extend([Deed::TakeOff(0), others(None), record_in(Some(0), "a", Running), others(None)]);
    // A command that was planned in another phase passes here, and is planned once more later on.
    let planned =
        |phase, ran| Deed::Record { id: "c", phase: Some(phase), status: Pending, onwards: false, settles: None, ran };
    let mut planned_again = vec![record("a", Passed), onwards(), planned(2, Ran::Own), record("c", Passed)];
    planned_again.extend([Deed::Others(RECENT, None, Ran::No), planned(3, Ran::No)]);
    // A named command that was blocked passes, and is done once more in the next phase.
    let ran = Ran::Named("test");
    let blocked = Deed::Record { id: "c", phase: None, status: Blocked, onwards: false, settles: None, ran };
    let mut blocked_before = vec![blocked, record("c", Passed), Deed::Others(RECENT, None, Ran::No)];
    blocked_before.extend([deed(Some(1), "c", Passed, true, None), record("a", Pending), record("a", Passed)]);
    let plays = [
        ("debug", planned_again),
        ("build", blocked_before),
        ("start-issue", passed_elsewhere),
        ("debug", withdrawn),
        ("debug", settled),
        ("start-issue", ended_elsewhere),
        ("release", passed_in_a_gate),
        ("start-issue", visits),
    ];
    for (workflow, deeds) in plays {
        let mut play = Play::new(workflow);
        for deed in &deeds {
            let before = play.events.len();
            play.act(deed);
            assert!(play.events.len() > before, "{workflow} refuses {deed:?}");
        }
        for cut in 1..=play.events.len() {
            holds(&play, cut).unwrap();
        }
    }
}

/// Every reader's answer about a run.
fn told(sandbox: &Sandbox) -> Vec<String> {
    let readers = [
        "resume r1 --json",
        "resume r1",
        "next r1 --json",
        "attention --json",
        "list --json",
        "hud",
        "show r1 --json",
        "log r1 --limit 3 --json",
    ];
    let prompt = json!({ "session_id": "s1", "source": "startup", "cwd": sandbox.root() }).to_string();
    let past = sandbox.now();
    let mut told: Vec<String> = readers
        .iter()
        .map(|line| {
            // At the same time each, since some tell how long ago something was.
            sandbox.put_clock(past);
            sandbox.inside(line.split(' ')).ok().stdout
        })
        .collect();
    sandbox.put_clock(past);
    told.push(sandbox.flow_with(["hook", "claude-code", "session-start"], &prompt).ok().stdout);
    told
}

/// A run with a past: other phases, something in doubt, something that failed, a question, and many records.
fn long_run(sandbox: &Sandbox, records: usize) {
    let inside = |line: &str| sandbox.inside(line.split(' ')).ok();
    inside("init");
    inside("start start-issue --id r1 --issue 7");
    inside("record-activity --run-id r1 --id begun --status running");
    inside("record-activity --run-id r1 --id red --status failed");
    inside("record-activity --run-id r1 --id red");
    for nth in 0..records {
        inside(&format!("record-activity --run-id r1 --id w{nth}"));
    }
}

#[test]
fn a_missing_stale_torn_or_forged_recap_changes_no_answer() {
    let sandbox = Sandbox::within(&quick());
    long_run(&sandbox, 40);
    let kept = sandbox.path(".flow/.cache/recaps/r1.json");
    let stale = std::fs::read_to_string(&kept).unwrap();
    for nth in 40..80 {
        sandbox.inside(["record-activity", "--run-id", "r1", "--id", &format!("w{nth}")]).ok();
    }
    let fresh = std::fs::read_to_string(&kept).unwrap();
    assert_ne!(fresh, stale);
    std::fs::remove_file(&kept).unwrap();
    let wanted = told(&sandbox);
    assert!(wanted[0].contains("\"in_doubt\":[{") && wanted[0].contains("begun"), "{}", wanted[0]);
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), fresh, "a reader of the whole log makes it again");
    let forged = [
        ("fresh", fresh.clone()),
        ("stale", stale.clone()),
        ("torn", fresh[..fresh.len() / 2].to_owned()),
        ("empty", String::new()),
        ("of another position", fresh.replace("\"last_seq\":64", "\"last_seq\":63")),
        ("without what is in doubt", fresh.replace("running", "passed")),
        ("of another version", fresh.replace("\"v\":2", "\"v\":1")),
        ("not even text", "\u{0}".repeat(100)),
    ];
    for (what, text) in forged {
        std::fs::write(&kept, text).unwrap();
        assert_eq!(told(&sandbox), wanted, "{what}");
    }
    sandbox.inside(["verify", "r1"]).ok();
}

#[test]
fn what_was_seen_before_much_other_work_is_told_with_and_without_a_recap() {
    let sandbox = Sandbox::within(&quick());
    sandbox.inside(["init"]).ok();
    sandbox.inside(["start", "start-issue", "--id", "r1"]).ok();
    sandbox.inside(["exec", "--run-id", "r1", "--id", "lint", "--", "true"]).ok();
    for nth in 0..40 {
        sandbox.inside(["record-activity", "--run-id", "r1", "--id", &format!("w{nth}")]).ok();
    }
    let recap = sandbox.path(".flow/.cache/recaps/r1.json");
    let resumed = || sandbox.inside(["resume", "r1"]).ok().stdout;
    std::fs::remove_file(&recap).unwrap();
    let without = resumed();
    assert!(recap.exists() && without.contains("lint"), "{without}");
    assert_eq!(resumed(), without);
    for nth in 0..RECENT + 5 {
        sandbox.inside(["exec", "--run-id", "r1", "--id", &format!("x{nth}"), "--", "true"]).ok();
    }
    std::fs::remove_file(&recap).unwrap();
    let without = resumed();
    assert!(without.contains("flow saw the end of 6 commands before these: `flow evidence r1`"), "{without}");
    assert_eq!(resumed(), without);
}

#[test]
fn that_flow_saw_work_fail_before_it_was_said_to_have_passed_is_told_from_a_recap_as_well() {
    let sandbox = Sandbox::new();
    sandbox.without_gates();
    sandbox.inside(["start", "start-issue", "--id", "r1"]).ok();
    sandbox.inside(["exec", "--run-id", "r1", "--id", "test", "--", "false"]).exits(1);
    for nth in 0..60 {
        sandbox.inside(["record-activity", "--run-id", "r1", "--id", &format!("w{nth}")]).ok();
    }
    let recap = sandbox.path(".flow/.cache/recaps/r1.json");
    sandbox.inside(["resume", "r1"]).ok();
    assert!(recap.exists());
    sandbox.inside(["record-activity", "--run-id", "r1", "--id", "test", "--summary", "it is green"]).ok();
    let told = || sandbox.inside(["resume", "r1"]).ok().stdout;
    let with = told();
    assert!(with.contains("passed, claimed; flow saw 002 fail"), "{with}");
    std::fs::remove_file(&recap).unwrap();
    assert_eq!(told(), with);
}

#[test]
fn a_reader_of_a_long_run_reads_its_recap_and_the_end_of_its_log() {
    let sandbox = Sandbox::within(&quick());
    long_run(&sandbox, 200);
    let log = sandbox.read("r1", "events.jsonl");
    // What is not read cannot be missed.
    let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
    let wanted = told(&sandbox)[..6].to_vec();
    lines[6] = "x".repeat(lines[6].len());
    std::fs::write(sandbox.run_dir("r1").join("events.jsonl"), lines.join("\n") + "\n").unwrap();
    assert_eq!(told(&sandbox)[..6], wanted);
    // But it is found by who looks at everything.
    sandbox.inside(["verify", "r1"]).exits(65);
    std::fs::remove_file(sandbox.path(".flow/.cache/recaps/r1.json")).unwrap();
    sandbox.inside(["resume", "r1"]).exits(65);
}

#[test]
fn a_reader_of_a_short_log_of_long_batches_reads_its_recap_as_well() {
    let sandbox = Sandbox::within(&quick());
    sandbox.inside(["init"]).ok();
    for nth in 0..4 {
        let reports: Vec<_> = (0..200)
            .map(|unit| {
                json!({"type": "status_change", "step": "requirements", "unit": format!("u{unit}"),
                "data": {"status": "running", "note": format!("try {nth}")}})
            })
            .collect();
        let batch = serde_json::to_string(&reports).unwrap();
        sandbox.inside(["emit", "--workflow", "build", "--run-id", "r1", "--batch", &batch]).ok();
    }
    let log = sandbox.read("r1", "events.jsonl");
    let named = log.lines().filter(|line| line.contains("\"recap\":")).count();
    // What begins a run names none.
    assert_eq!((log.lines().count(), named), (5, 3));
    let wanted = told(&sandbox);
    std::fs::remove_file(sandbox.path(".flow/.cache/recaps/r1.json")).unwrap();
    assert_eq!(told(&sandbox), wanted);
    sandbox.inside(["verify", "r1"]).ok();
}

/// Puts another digest of a recap into a log.
fn name_another_recap(sandbox: &Sandbox, digest: &str) {
    let path = sandbox.run_dir("r1").join("events.jsonl");
    let log = std::fs::read_to_string(&path).unwrap();
    let forged = log.lines().map(|line| {
        let mut event: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
        let Some(recap) = event.get_mut("recap") else { return format!("{line}\n") };
        *recap = json!(digest);
        event.remove("crc");
        flowrun::codec::seal(&event)
    });
    std::fs::write(&path, forged.collect::<String>()).unwrap();
}

#[test]
fn a_digest_of_another_recap_is_found_by_verify_and_misleads_no_reader() {
    let sandbox = Sandbox::within(&quick());
    long_run(&sandbox, 40);
    let wanted = told(&sandbox)[0].clone();
    // A version that left out something else named it.
    for digest in ["10-00000000", "1:10-00000000", "10:10-00000000"] {
        name_another_recap(&sandbox, digest);
        sandbox.inside(["verify", "r1"]).ok();
        assert_eq!(told(&sandbox)[0], wanted);
    }
    name_another_recap(&sandbox, "12:10-00000000");
    let report = sandbox.inside(["verify", "r1", "--json"]).exits(65).json();
    let why = &report["differences"][0]["why"];
    assert_eq!(why, "the recap of the run up to here has another digest", "{report}");
    assert_eq!(told(&sandbox)[0], wanted);
}

/// A command that may be refused.
fn some_command(dice: &mut Dice) -> Vec<String> {
    let phases = ["preflight", "explore", "plan", "code", "verify"];
    let words = |line: String| line.split(' ').map(str::to_owned).collect();
    let session = dice.pick(&["", " --session s1", " --session s2"]);
    let phase = dice.pick(&phases).to_owned();
    let id = dice.pick(&["a", "b", "c", "preflight", "verify"]);
    let status = dice.pick(&["running", "passed", "passed", "passed", "failed", "blocked", "pending", "skipped"]);
    let report = "emit --workflow start-issue --run-id r1 --type";
    match dice.below(20) {
        0 => words(format!("block r1 --reason x{session}")),
        1 => words(format!("unblock r1{session}")),
        2 => words(format!("resume r1 --claim{session}")),
        3 => words(format!("session-end{session}")),
        4 => words(format!("complete r1{session}")),
        5 => words(format!("reopen r1 --reason x{session}")),
        6 => words("set r1 --limit max_iterations=4".to_owned()),
        7 => words(format!("advance {phase} --run-id r1 --summary x{session}")),
        8 => words(format!("{report} waiting_for_user --step {phase} --data {{\"prompt\":\"red?\"}}{session}")),
        9 => words(format!("{report} user_answered --step {phase} --data {{\"answer\":\"yes\"}}{session}")),
        10 | 11 => {
            let unit = dice.pick(&["", " --unit T1", " --unit T2"]);
            let status = dice.pick(&["running", "completed", "waiting", "failed"]);
            let data = format!("{{\"status\":\"{status}\"}}");
            words(format!("{report} status_change --step {phase}{unit} --data {data}{session}"))
        }
        12..=14 => words(format!("record-activity --run-id r1 --id {id} --status {status} --advance{session}")),
        15 => words(format!("record-activity --run-id r1 --id {id} --phase {phase} --status {status}{session}")),
        16 => words(format!("record-activity --run-id r1 --id d --settles {id}{session}")),
        _ => words(format!("record-activity --run-id r1 --id {id} --status {status}{session}")),
    }
}

#[test]
fn a_writer_decides_with_a_recap_as_it_does_with_the_whole_log() {
    for seed in 0..scaled(2, 100) {
        let mut dice = Dice::new(seed);
        let (with, without) = (Sandbox::within(&quick()), Sandbox::within(&quick()));
        let mut used = 0;
        for nth in 0..300 {
            let line = match nth {
                0 => ["init"].map(str::to_owned).to_vec(),
                1 => "start start-issue --id r1 --issue 7".split(' ').map(str::to_owned).collect(),
                _ => some_command(&mut dice),
            };
            let _ = std::fs::remove_dir_all(without.path(".flow/.cache/recaps"));
            used += usize::from(with.path(".flow/.cache/recaps/r1.json").exists());
            let (one, other) = (with.inside(&line), without.inside(&line));
            let shown = |sandbox: &Sandbox, text: &str| text.replace(sandbox.root().to_str().unwrap(), "");
            let place = format!("seed {seed}, command {nth}: {}", line.join(" "));
            assert_eq!(one.code, other.code, "{place}: {one:?} {other:?}");
            assert_eq!(shown(&with, &one.stdout), shown(&without, &other.stdout), "{place}");
            assert_eq!(shown(&with, &one.stderr), shown(&without, &other.stderr), "{place}");
        }
        assert_eq!(with.read("r1", "events.jsonl"), without.read("r1", "events.jsonl"), "seed {seed}");
        assert!(used > 20, "seed {seed} had a recap {used} times");
        with.inside(["verify", "r1"]).ok();
    }
}
