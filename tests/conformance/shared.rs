//! Runs that several machines share, through a carrier that loses, delays and repeats requests.

use std::fs;
use std::thread;
use std::time::Duration;

use flowrun::model::{ActivityId, Explain as _, Issue, RunId, Seq};
use flowrun::runs::{self, Context, RecordReport, RecordRequest, StartRequest, StatusRequest, StatusVerb};
use flowrun::store::shared::{BrokenPromise, Carrier, Tip, probe};
use flowrun::store::{NewRun, RefreshScope, SharedRuns as _, StoreFlaw, WorkKey, WriteRequest};

use crate::bucket::{Bucket, Fault};
use crate::git_server::{self, GitServer};
use crate::memory_carrier::{Broken, MemoryCarrier, TROUBLES, Trouble};
use crate::promises;
use crate::support::scaled;
use crate::tested_store::{Machine, Place, Remote, SharedInGit, TestedStore as _};

pub const RUN: &str = "run-1";
/// How often two machines race for one issue where everything is tried.
const ALL_RACES: usize = 100;

/// A place that loses, delays and repeats requests.
pub trait Faulty: Place + Clone + Default {
    /// Its address.
    const CALLED: &'static str;
    /// How its answer begins and ends when a request changes nothing for certain.
    const NO_ANSWER: [&'static str; 2];
    /// What happens to a second request, and how often two machines race.
    const SECOND: &'static [Trouble];
    const RACES: usize;
    /// How much each of many writers records.
    const EACH: usize;
    /// Milliseconds in which a commit is sent, and no more.
    const SHORT: u64;
    /// How many bytes are more than is read of one commit.
    const TOO_LONG: usize;

    /// This happens to the next requests, one after the other.
    fn trouble(&self, next: &[Trouble]);
    /// Everything that is late arrives.
    fn settle(&self);
    /// The log of a run.
    fn log(&self, run: &RunId) -> String;
    /// Puts another log in place.
    fn put_log(&self, run: &RunId, log: String);
    /// It cannot give the lines of this run from now on, as from a bad disk.
    fn fails_at(&self, run: &RunId);
}

impl Faulty for MemoryCarrier {
    const CALLED: &'static str = "memory:carrier";
    const NO_ANSWER: [&'static str; 2] = ["was not reached: ", "the network is down"];
    const SECOND: &'static [Trouble] = &TROUBLES;
    const RACES: usize = 20;
    const EACH: usize = 4;
    const SHORT: u64 = 0;
    const TOO_LONG: usize = 1;

    fn trouble(&self, next: &[Trouble]) {
        Self::trouble(self, next);
    }

    fn settle(&self) {
        Self::settle(self);
    }

    fn log(&self, run: &RunId) -> String {
        Self::log(self, run)
    }

    fn put_log(&self, run: &RunId, log: String) {
        Self::put_log(self, run, log);
    }

    fn fails_at(&self, run: &RunId) {
        Self::fails_at(self, run);
    }
}

impl Faulty for Bucket {
    const CALLED: &'static str = "s3://runs/team";
    const NO_ANSWER: [&'static str; 2] =
        ["refuses the request: ", "the bucket does not exist: create it, or name another one"];
    // Here a commit is several requests, so that the second one is a hint most times.
    const SECOND: &'static [Trouble] = &[Trouble::AnswerLost];
    const RACES: usize = 4;
    const EACH: usize = 1;
    const SHORT: u64 = 150;
    const TOO_LONG: usize = 33 << 20;

    fn trouble(&self, next: &[Trouble]) {
        let fault = |trouble: &Trouble| match trouble {
            Trouble::None => Fault::None,
            Trouble::NotReached => Fault::Says(404, "NoSuchBucket"),
            Trouble::RequestLost => Fault::RequestLost,
            Trouble::AnswerLost => Fault::AnswerLost,
            Trouble::Late => Fault::Late,
            Trouble::Twice => Fault::Twice,
        };
        self.faults(&next.iter().map(fault).collect::<Vec<_>>());
    }

    fn settle(&self) {
        self.deliver();
    }

    fn log(&self, run: &RunId) -> String {
        Self::log(self, run)
    }

    fn put_log(&self, run: &RunId, log: String) {
        Self::put_log(self, run, &log);
    }

    fn fails_at(&self, run: &RunId) {
        self.cannot_read(&format!("logs/{run}/"));
    }
}

macro_rules! with_every_carrier {
    ($($sentence:ident),* $(,)?) => {
        mod in_memory {
            $(#[test] fn $sentence() { super::$sentence::<super::MemoryCarrier>(); })*
        }
        mod in_a_bucket {
            $(#[test] fn $sentence() { super::$sentence::<super::Bucket>(); })*
        }
        mod in_git_behind_http {
            $(#[test] fn $sentence() {
                if super::git_server::is_here(concat!("conformance: behind HTTP, ", stringify!($sentence))) {
                    super::$sentence::<super::GitServer>();
                }
            })*
        }
    };
}

with_every_carrier! {
    what_one_machine_records_the_other_one_sees_and_goes_on_with,
    whatever_happens_to_two_requests_an_acknowledged_record_is_there_once,
    whatever_happens_to_a_request_a_record_without_an_id_is_there_once,
    a_carrier_that_is_not_reached_changes_nothing_here,
    when_the_time_is_up_the_record_is_unconfirmed_and_the_same_id_is_recorded_once,
    a_copy_that_is_behind_is_never_the_reason_of_a_refusal,
    of_two_machines_that_begin_a_run_for_one_issue_one_does,
    of_two_runs_about_the_same_work_the_store_takes_one,
    work_that_a_run_has_ended_is_free_for_another_one,
    a_copy_that_was_deleted_is_made_again,
    a_copy_that_lost_its_end_gets_it_back_before_the_next_record,
    a_copy_that_loses_its_end_after_it_was_read_gets_it_back_before_anything_is_decided,
    a_copy_that_differs_is_put_aside_and_read_again,
    an_edit_by_hand_on_one_machine_reaches_the_other_one,
    four_machines_with_three_writers_each_lose_nothing,
    evidence_that_one_machine_records_the_other_one_reads,
    what_a_store_has_lost_or_damaged_is_found,
    a_log_that_cannot_be_read_is_a_fault_of_its_run_alone,
    a_log_that_the_store_cannot_give_is_a_fault_of_its_run_alone,
}

pub fn run_id() -> RunId {
    RunId::new(RUN).unwrap()
}

pub fn start_as(cx: &Context, id: &str, issue: Option<u64>) -> runs::Result<RunId> {
    let request = StartRequest {
        workflow: "debug".to_owned(),
        id: Some(RunId::new(id).unwrap()),
        repo: Some("parser".to_owned()),
        issue: issue.map(Issue::Number),
        ..StartRequest::default()
    };
    Ok(runs::start(cx, &request)?.run_id)
}

pub fn record(cx: &Context, id: &str) -> runs::Result<RecordReport> {
    let id = Some(ActivityId::new(id).unwrap());
    runs::record_activity(cx, &RecordRequest { run: Some(RUN.to_owned()), id, ..RecordRequest::default() })
}

pub fn end(cx: &Context, verb: StatusVerb) -> runs::Result<runs::StatusReport> {
    let (run, reason) = (Some(RUN.to_owned()), Some("for the test".to_owned()));
    runs::change_status(cx, &StatusRequest { run, reason, ..StatusRequest::new(verb) })
}

/// A machine that waits so long for the carrier.
pub fn patient<P: Place>(machine: &Machine<P>, wait: u64) -> Context {
    machine.context().for_a_person(Duration::from_millis(wait))
}

pub fn ask<P: Place>(machine: &Machine<P>) -> Vec<String> {
    machine.shared().refresh(RefreshScope::All, &request()).unwrap()
}

pub fn request() -> WriteRequest {
    let since = "2026-05-20T14:30:00Z".parse().unwrap();
    let writer = flowrun::store::Writer { pid: std::process::id(), command: "a test".into(), since };
    WriteRequest { wait: Duration::from_secs(30), writer, boot: "this boot".into() }
}

/// Two machines that share runs, of which the first one has begun one.
fn two<F: Faulty>() -> (F, Machine<F>, Machine<F>) {
    let carrier = F::default();
    let (one, other) = (Machine::with(carrier.clone()), Machine::with(carrier.clone()));
    start_as(&one.context(), RUN, Some(7)).unwrap();
    ask(&other);
    (carrier, one, other)
}

/// Both copies have the same files, which say what the carrier's log says.
pub fn assert_same<F: Faulty>(carrier: &F, machines: [&Machine<F>; 2]) {
    for machine in machines {
        ask(machine);
        assert_eq!(fs::read_to_string(machine.file(&run_id(), "events.jsonl")).unwrap(), carrier.log(&run_id()));
    }
    let files = machines.map(|machine| {
        let run = machine.store().open(&run_id()).unwrap();
        let names = run.activity_names().unwrap();
        let activities: Vec<_> = names.into_iter().map(|(_, name)| run.activity(&name).unwrap().unwrap()).collect();
        (run.text().unwrap(), activities)
    });
    assert_eq!(files[0], files[1]);
}

/// The ids of the activities in the carrier's log, in order.
pub fn recorded<F: Faulty>(carrier: &F) -> Vec<String> {
    let log = flowrun::codec::LogScan::parse(carrier.log(&run_id()).as_bytes());
    assert_eq!((log.gaps(), log.doubles(), log.skipped.len()), (vec![], vec![], 0));
    log.events().flat_map(|event| event.kind.records()).map(|record| record.id().to_string()).collect()
}

fn what_one_machine_records_the_other_one_sees_and_goes_on_with<F: Faulty>() {
    let (carrier, one, other) = two::<F>();
    record(&one.context(), "first").unwrap();
    record(&other.context(), "second").unwrap();
    record(&one.context(), "third").unwrap();
    assert_eq!(recorded(&carrier), ["first", "second", "third"]);
    assert_same(&carrier, [&one, &other]);
}

#[test]
fn a_record_with_nobody_else_is_one_request_and_asking_without_news_one() {
    let (carrier, one, _) = two::<MemoryCarrier>();
    record(&one.context(), "first").unwrap();
    carrier.requests();
    record(&one.context(), "second").unwrap();
    assert_eq!(carrier.requests(), 1);
    ask(&one);
    carrier.requests();
    ask(&one);
    assert_eq!(carrier.requests(), 1);
}

fn whatever_happens_to_two_requests_an_acknowledged_record_is_there_once<F: Faulty>() {
    for first in TROUBLES {
        for second in F::SECOND.iter().copied() {
            let (carrier, one, other) = two::<F>();
            record(&other.context(), "before").unwrap();
            carrier.trouble(&[first, second]);
            let done = record(&patient(&one, 2000), "work");
            carrier.trouble(&[]);
            carrier.settle();
            let known = recorded(&carrier);
            let times = known.iter().filter(|id| *id == "work").count();
            match done {
                Ok(_) => assert_eq!(times, 1, "{first:?}, {second:?}: {known:?}"),
                Err(error) => assert!(times <= 1, "{first:?}, {second:?}: {error}"),
            }
            // The next machine and a second try find their place, whatever is there.
            record(&other.context(), "after").unwrap();
            record(&one.context(), "work").unwrap();
            let known = recorded(&carrier);
            assert_eq!(known.iter().filter(|id| *id == "work").count(), 1, "{first:?}, {second:?}: {known:?}");
            assert_same(&carrier, [&one, &other]);
        }
    }
}

/// No id tells such a record from another one, so its own lines have to be known again.
fn whatever_happens_to_a_request_a_record_without_an_id_is_there_once<F: Faulty>() {
    for first in TROUBLES {
        let (carrier, one, _) = two::<F>();
        carrier.trouble(&[first]);
        let request =
            RecordRequest { run: Some(RUN.to_owned()), name: Some("Work".to_owned()), ..RecordRequest::default() };
        let done = runs::record_activity(&patient(&one, 2000), &request);
        carrier.trouble(&[]);
        carrier.settle();
        let times = recorded(&carrier).len();
        match done {
            Ok(_) => assert_eq!(times, 1, "{first:?}"),
            Err(error) => assert!(times <= 1, "{first:?}: {error}"),
        }
    }
}

fn a_carrier_that_is_not_reached_changes_nothing_here<F: Faulty>() {
    let (carrier, one, _) = two::<F>();
    let log = fs::read_to_string(one.file(&run_id(), "events.jsonl")).unwrap();
    carrier.trouble(&[Trouble::NotReached]);
    let error = record(&one.context(), "work").unwrap_err();
    let said = error.to_string();
    let [begin, end] = F::NO_ANSWER;
    assert!(said.starts_with(&format!("{} {begin}", F::CALLED)) && said.ends_with(end), "{said}");
    assert_eq!(fs::read_to_string(one.file(&run_id(), "events.jsonl")).unwrap(), log);
}

fn when_the_time_is_up_the_record_is_unconfirmed_and_the_same_id_is_recorded_once<F: Faulty>() {
    let (carrier, one, _) = two::<F>();
    carrier.trouble(&[&[Trouble::Late][..], &[Trouble::RequestLost; 10]].concat());
    let error = record(&patient(&one, F::SHORT), "work").unwrap_err();
    assert_eq!(error.to_string(), format!("the record in run run-1 in {} could not be confirmed", F::CALLED));
    carrier.trouble(&[]);
    carrier.settle();
    record(&one.context(), "work").unwrap();
    assert_eq!(recorded(&carrier), ["work"]);
}

fn a_copy_that_is_behind_is_never_the_reason_of_a_refusal<F: Faulty>() {
    let (carrier, one, other) = two::<F>();
    end(&one.context(), StatusVerb::Cancel).unwrap();
    ask(&other);
    end(&one.context(), StatusVerb::Reopen).unwrap();
    // The copy says that the run is cancelled.
    record(&other.context(), "work").unwrap();
    assert_eq!(recorded(&carrier), ["work"]);
    end(&one.context(), StatusVerb::Cancel).unwrap();
    let error = record(&other.context(), "more").unwrap_err();
    assert_eq!(error.to_string(), "run run-1: the run is cancelled; it accepts no more records");
    assert_same(&carrier, [&one, &other]);
}

/// Two machines begin a run for one issue at the same moment. One does, and the other one names that run.
pub fn begin_for_one_issue<P: Place + Clone>(place: &P) {
    let machines = ["run-a", "run-b"].map(|id| (id, Machine::with(place.clone())));
    let begun = thread::scope(|scope| {
        let threads = machines.each_ref().map(|(id, one)| scope.spawn(|| start_as(&one.context(), id, Some(42))));
        threads.map(|thread| thread.join().unwrap())
    });
    let (winner, error) = match begun {
        [Ok(winner), Err(error)] | [Err(error), Ok(winner)] => (winner, error),
        both => panic!("{both:?}"),
    };
    assert_eq!(error.to_string(), format!("{winner} is open and is about issue 42 as well"));
}

fn of_two_machines_that_begin_a_run_for_one_issue_one_does<F: Faulty>() {
    for _ in 0..scaled(F::RACES, ALL_RACES) {
        begin_for_one_issue(&F::default());
    }
}

fn of_two_runs_about_the_same_work_the_store_takes_one<F: Faulty>() {
    let (_, one, other) = two::<F>();
    let create = |machine: &Machine<F>, id: &str| {
        let new = || NewRun { work: vec![WorkKey("issue 9".to_owned())], ..promises::new(id) };
        machine.store().create(&request(), None, &mut |_| Some(new())).map(|run| run.id().to_string())
    };
    assert_eq!(create(&one, "run-2").unwrap(), "run-2");
    let error = create(&other, "run-3").unwrap_err();
    assert_eq!(error.to_string(), "run run-2 is open and also about issue 9");
}

fn work_that_a_run_has_ended_is_free_for_another_one<F: Faulty>() {
    let (_, one, other) = two::<F>();
    let error = start_as(&other.context(), "run-2", Some(7)).unwrap_err();
    assert_eq!(error.to_string(), "run-1 is open and is about issue 7 as well");
    end(&one.context(), StatusVerb::Cancel).unwrap();
    start_as(&other.context(), "run-2", Some(7)).unwrap();
    let error = end(&one.context(), StatusVerb::Reopen).unwrap_err();
    assert_eq!(error.to_string(), "run-2 is open and is about issue 7 as well");
}

fn a_copy_that_was_deleted_is_made_again<F: Faulty>() {
    let (carrier, one, other) = two::<F>();
    record(&one.context(), "first").unwrap();
    fs::remove_dir_all(one.file(&run_id(), "").join("../..")).unwrap();
    ask(&one);
    record(&one.context(), "second").unwrap();
    assert_same(&carrier, [&one, &other]);
}

fn a_copy_that_lost_its_end_gets_it_back_before_the_next_record<F: Faulty>() {
    let (carrier, one, other) = two::<F>();
    record(&one.context(), "first").unwrap();
    one.put_log(&run_id(), &|log| log.lines().take(1).map(|line| format!("{line}\n")).collect());
    record(&one.context(), "second").unwrap();
    assert_eq!(recorded(&carrier), ["first", "second"]);
    assert_same(&carrier, [&one, &other]);
}

fn a_copy_that_loses_its_end_after_it_was_read_gets_it_back_before_anything_is_decided<F: Faulty>() {
    let (carrier, one, _) = two::<F>();
    record(&one.context(), "first").unwrap();
    let run = one.store().open(&run_id()).unwrap();
    run.catch_up(&request()).unwrap();
    one.put_log(&run_id(), &|log| log.lines().take(1).map(|line| format!("{line}\n")).collect());
    drop(run.begin(&request()).unwrap());
    assert_eq!(fs::read_to_string(one.file(&run_id(), "events.jsonl")).unwrap(), carrier.log(&run_id()));
}

fn what_a_store_has_lost_or_damaged_is_found<F: Faulty>() {
    let (carrier, one, other) = two::<F>();
    record(&one.context(), "first").unwrap();
    record(&one.context(), "second").unwrap();
    ask(&other);
    let flaws = |machine: &Machine<F>| machine.shared().flaws(None, &|_| Vec::new(), &request()).unwrap();
    assert_eq!(flaws(&one), []);
    let whole = carrier.log(&run_id());
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    // The end is gone: the copies keep it, and nothing is written in its place.
    carrier.put_log(&run_id(), lines[..2].concat());
    assert_eq!(flaws(&one), [StoreFlaw::Lost { run: run_id() }]);
    let lost = format!("{} has lost run {RUN}, or the end of it, of which a copy is here", F::CALLED);
    assert_eq!(ask(&other), [lost]);
    // In a bucket the next object brings the lines of its window back.
    if F::CALLED == MemoryCarrier::CALLED {
        assert_eq!(record(&one.context(), "third").unwrap_err().problem().code, "run_lost");
    }
    assert_eq!(fs::read_to_string(other.file(&run_id(), "events.jsonl")).unwrap(), whole);
    one.shared().take_in(&run_id(), Vec::new(), &request()).unwrap();
    assert_eq!((flaws(&one), carrier.log(&run_id())), (vec![], whole.clone()));
    // A line in the middle is gone.
    carrier.put_log(&run_id(), [lines[0], lines[2]].concat());
    let found = flaws(&one);
    assert!(matches!(&*found, [StoreFlaw::Damaged { .. }, ..]), "{found:?}");
}

fn a_copy_that_differs_is_put_aside_and_read_again<F: Faulty>() {
    let (carrier, one, other) = two::<F>();
    record(&one.context(), "first").unwrap();
    record(&other.context(), "second").unwrap();
    // Another history, as from a store that was set up anew.
    let log = carrier.log(&run_id());
    let fresh = F::default();
    let third: Machine<F> = Machine::with(fresh.clone());
    start_as(&third.context(), RUN, None).unwrap();
    record(&third.context(), "other").unwrap();
    assert_ne!(fresh.log(&run_id()), log);
    carrier.put_log(&run_id(), fresh.log(&run_id()));
    let told = ask(&one);
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("a copy of run-1 that differed from the shared run was put into "), "{told:?}");
    assert_eq!(ask(&other).len(), 1);
    record(&one.context(), "third").unwrap();
    assert_same(&carrier, [&one, &other]);
    assert_eq!(recorded(&carrier), ["other", "third"]);
}

#[test]
fn lines_that_are_no_events_are_refused_and_touch_nothing() {
    let (carrier, one, _) = two::<MemoryCarrier>();
    let whole = carrier.log(&run_id());
    carrier.put_log(&run_id(), format!("{whole}{{\"v\":1,\"seq\":2}}\n"));
    assert_eq!(ask(&one), ["run run-1 in memory:carrier has a line after event 1 that is not an event"]);
    assert_eq!(fs::read_to_string(one.file(&run_id(), "events.jsonl")).unwrap(), whole);
}

fn an_edit_by_hand_on_one_machine_reaches_the_other_one<F: Faulty>() {
    let (carrier, one, other) = two::<F>();
    let text = fs::read_to_string(one.file(&run_id(), "run.yaml")).unwrap();
    one.save(&run_id(), Some(&text.replace("max_iterations: 10", "max_iterations: 12")));
    record(&one.context(), "first").unwrap();
    record(&other.context(), "second").unwrap();
    assert_same(&carrier, [&one, &other]);
    let text = fs::read_to_string(other.file(&run_id(), "run.yaml")).unwrap();
    assert!(text.contains("max_iterations: 12"), "{text}");
}

fn four_machines_with_three_writers_each_lose_nothing<F: Faulty>() {
    let carrier = F::default();
    let machines: Vec<Machine<F>> = (0..4).map(|_| Machine::with(carrier.clone())).collect();
    start_as(&machines[0].context(), RUN, None).unwrap();
    thread::scope(|scope| {
        for (nth, machine) in machines.iter().enumerate() {
            ask(machine);
            for writer in 0..3 {
                scope.spawn(move || {
                    for work in 0..F::EACH {
                        record(&machine.context(), &format!("work-{nth}-{writer}-{work}")).unwrap();
                    }
                });
            }
        }
    });
    let mut ids = recorded(&carrier);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4 * 3 * F::EACH);
    assert_same(&carrier, [&machines[0], &machines[3]]);
}

pub fn probed(carrier: &dyn Carrier) -> Result<(), BrokenPromise> {
    probe(carrier, "2026-05-20T14:30:00Z".parse().unwrap(), Duration::from_secs(120))
}

#[test]
fn a_probe_passes_a_carrier_that_keeps_its_promises_and_leaves_nothing() {
    let carrier = MemoryCarrier::default();
    probed(&carrier).unwrap();
    assert_eq!(carrier.tips(RefreshScope::All, Duration::from_secs(1)).unwrap(), []);
}

#[test]
fn a_probe_names_the_promise_that_a_carrier_breaks() {
    let said = |promise| {
        let carrier = MemoryCarrier::default();
        carrier.breaks(promise);
        probed(&carrier).unwrap_err().to_string()
    };
    let all = "16 of 16 writers got one position at the beginning of a run, where one may";
    assert_eq!(said(Broken::IgnoresConditions), all);
    // At the beginning of a run most times; which race two of them win first is theirs.
    assert!(said(Broken::LooksBeforeItStores).contains("writers got one position"));
    assert_eq!(said(Broken::KeepsTheLastLines), "it does not give back the lines that it took");
    assert_eq!(said(Broken::ListsNothing), "it does not list a run that it has");
}

#[test]
fn a_git_repository_keeps_its_promises() {
    let project = tempfile::tempdir().unwrap();
    let remote = Remote::default();
    let carrier = remote.carrier(project.path());
    probed(&*carrier).unwrap();
    assert_eq!(carrier.tips(RefreshScope::All, Duration::from_secs(30)).unwrap(), []);
}

/// Two machines with the same repository, of which the first one has begun a run.
fn two_with_git() -> (Remote, SharedInGit, SharedInGit) {
    let remote = Remote::default();
    let (one, other): (SharedInGit, SharedInGit) = (Machine::with(remote.clone()), Machine::with(remote.clone()));
    start_as(&one.context(), RUN, Some(7)).unwrap();
    other.shared().refresh(RefreshScope::All, &request()).unwrap();
    (remote, one, other)
}

#[test]
fn in_git_two_machines_write_one_run_and_its_references_say_whether_it_is_over() {
    let (remote, one, other) = two_with_git();
    record(&one.context(), "first").unwrap();
    record(&other.context(), "second").unwrap();
    let work = "work/9b4a4b62108f4680b2f58e47f776bc46b0e53de5b8a8e2743246c1e05ee42774";
    assert_eq!(remote.refs(), ["refs/flow/open/run-1", &format!("refs/flow/{work}")]);
    let error = start_as(&other.context(), "run-2", Some(7)).unwrap_err();
    assert_eq!(error.to_string(), "run-1 is open and is about issue 7 as well");
    end(&one.context(), StatusVerb::Cancel).unwrap();
    assert_eq!(remote.refs(), ["refs/flow/over/run-1"]);
    // The copy of the other machine does not know that yet.
    start_as(&other.context(), "run-2", Some(7)).unwrap();
    end(&one.context(), StatusVerb::Reopen).unwrap_err();
    end(&other.context(), StatusVerb::Reopen).unwrap_err();
    let files = [&one, &other].map(|machine| {
        machine.shared().refresh(RefreshScope::All, &request()).unwrap();
        ["events.jsonl", "run.yaml"].map(|name| fs::read_to_string(machine.file(&run_id(), name)).unwrap())
    });
    assert_eq!(files[0], files[1]);
}

#[test]
fn in_git_of_two_machines_that_begin_a_run_for_one_issue_one_does() {
    for _ in 0..scaled(5, ALL_RACES) {
        begin_for_one_issue(&Remote::default());
    }
}

#[test]
fn in_git_machines_that_write_at_once_lose_nothing() {
    let (_, one, other) = two_with_git();
    thread::scope(|scope| {
        for (nth, machine) in [&one, &other].into_iter().enumerate() {
            for writer in 0..2 {
                scope.spawn(move || {
                    for work in 0..3 {
                        record(&machine.context(), &format!("work-{nth}-{writer}-{work}")).unwrap();
                    }
                });
            }
        }
    });
    one.shared().refresh(RefreshScope::All, &request()).unwrap();
    let log = one.store().open(&run_id()).unwrap().log().unwrap();
    assert_eq!((log.gaps(), log.doubles()), (vec![], vec![]));
    assert_eq!(log.events().flat_map(|event| event.kind.records()).count(), 12);
}

#[test]
fn a_git_repository_that_is_gone_is_named_and_nothing_happens() {
    let (remote, one, _) = two_with_git();
    let log = fs::read_to_string(one.file(&run_id(), "events.jsonl")).unwrap();
    remote.remove();
    let error = record(&one.context(), "work").unwrap_err().to_string();
    assert!(error.starts_with("git:origin was not reached: '"), "{error}");
    assert!(error.ends_with("' does not appear to be a git repository"), "{error}");
    assert_eq!(fs::read_to_string(one.file(&run_id(), "events.jsonl")).unwrap(), log);
}

/// A record of what is in `evidence/test.log`.
pub fn record_evidence<P: Place>(machine: &Machine<P>, id: &str, bytes: &[u8]) {
    fs::write(machine.file(&run_id(), "evidence/test.log"), bytes).unwrap();
    let request = RecordRequest {
        run: Some(RUN.to_owned()),
        id: Some(ActivityId::new(id).unwrap()),
        evidence: vec!["evidence/test.log".to_owned()],
        ..RecordRequest::default()
    };
    assert_eq!(runs::record_activity(&machine.context(), &request).unwrap().warnings, [""; 0]);
}

/// The bytes of the evidence that was recorded last, which is listed as there before it is read.
fn evidence_at<P: Place>(machine: &Machine<P>) -> Option<Vec<u8>> {
    let asked = runs::EvidenceRequest { run: Some(RUN.to_owned()), ..Default::default() };
    for item in runs::evidence(&machine.context(), &asked).unwrap().evidence {
        assert!(item.exists == Some(true) && item.bytes.is_some(), "{item:?}");
    }
    let run = machine.store().open(&run_id()).unwrap();
    let log = run.log().unwrap();
    let records = log.events().flat_map(|event| event.kind.records());
    let kept: Vec<_> = records.flat_map(|record| &record.evidence).cloned().collect();
    assert_eq!(run.bring_evidence(&kept[kept.len() - 1..], &request()).unwrap().lacking, [""; 0]);
    run.read_evidence("test.log", 0, 1 << 20).unwrap().map(|part| part.bytes)
}

fn evidence_that_one_machine_records_the_other_one_reads<P: Faulty>() {
    evidence_travels(P::default());
}

#[test]
fn evidence_travels_with_commits_of_git() {
    evidence_travels(Remote::default());
}

fn evidence_travels<P: Place + Clone>(place: P) {
    let (one, other) = (Machine::with(place.clone()), Machine::with(place));
    start_as(&one.context(), RUN, None).unwrap();
    for (id, bytes) in [("first", &b"passed"[..]), ("second", &b"passed"[..]), ("third", &b"\0\xff failed\n"[..])] {
        record_evidence(&one, id, bytes);
        ask(&other);
        assert_eq!(evidence_at(&other).as_deref(), Some(bytes), "{id}");
    }
    // As long as the one before, which is here.
    record_evidence(&one, "as-long", b"\0\xff failed!");
    ask(&other);
    assert_eq!(evidence_at(&other).as_deref(), Some(&b"\0\xff failed!"[..]));
    // Both can be repeated, and go on from the other machine.
    record_evidence(&other, "fourth", b"from the other machine");
    ask(&one);
    assert_eq!(evidence_at(&one).as_deref(), Some(&b"from the other machine"[..]));
}

fn a_log_that_cannot_be_read_is_a_fault_of_its_run_alone<F: Faulty>() {
    let (carrier, one, _) = two::<F>();
    carrier.put_log(&RunId::new("broken").unwrap(), "x".repeat(F::TOO_LONG));
    let new: Machine<F> = Machine::with(carrier);
    for machine in [&one, &new] {
        for scope in [RefreshScope::Open, RefreshScope::All] {
            let told = machine.shared().refresh(scope, &request()).unwrap();
            assert!(matches!(told.as_slice(), [one] if one.contains("broken")), "{told:?}");
        }
        assert!(machine.file(&run_id(), "run.yaml").exists());
    }
    start_as(&new.context(), "run-2", Some(8)).unwrap();
    record(&new.context(), "first").unwrap();
    let found = new.shared().flaws(None, &|_| Vec::new(), &request()).unwrap();
    let is_of_it = |flaw: &StoreFlaw| matches!(flaw, StoreFlaw::Damaged { run, .. } if run.as_str() == "broken");
    assert!(found.iter().any(is_of_it), "{found:?}");
}

fn a_log_that_the_store_cannot_give_is_a_fault_of_its_run_alone<F: Faulty>() {
    let (carrier, one, other) = two::<F>();
    start_as(&one.context(), "run-2", Some(8)).unwrap();
    record(&one.context(), "first").unwrap();
    let whole = carrier.log(&run_id());
    carrier.fails_at(&run_id());
    let new: Machine<F> = Machine::with(carrier.clone());
    for machine in [&new, &other] {
        for scope in [RefreshScope::Open, RefreshScope::All] {
            let told = machine.shared().refresh(scope, &request()).unwrap();
            let begin = format!("what is new of run {RUN} is not here, since {} failed: ", F::CALLED);
            assert!(matches!(told.as_slice(), [one] if one.starts_with(&begin)), "{told:?}");
        }
        assert!(machine.file(&RunId::new("run-2").unwrap(), "run.yaml").exists());
    }
    start_as(&new.context(), "run-3", Some(9)).unwrap();
    let flaws = new.shared().flaws(None, &|_| Vec::new(), &request()).unwrap();
    assert!(matches!(flaws.as_slice(), [StoreFlaw::Unread { run, .. }] if *run == run_id()), "{flaws:?}");
    // It is there all the same: its id is taken, and the next position is not free.
    let code = start_as(&patient(&new, 1000), RUN, None).unwrap_err().problem().code;
    assert!(["unconfirmed", "store_not_reached"].contains(&code), "{code}");
    let code = record(&patient(&other, 2000), "late").unwrap_err().problem().code;
    assert_eq!(code, "unconfirmed");
    if F::CALLED != GitServer::CALLED {
        assert_eq!(carrier.log(&run_id()), whole);
    }
}

#[test]
fn a_bucket_that_fails_as_a_whole_is_not_the_fault_of_one_run() {
    let (bucket, _, other) = two::<Bucket>();
    let new: Machine<Bucket> = Machine::with(bucket.clone());
    bucket.cannot_read("logs/");
    // It lists, and when it is asked whether it still does, it fails.
    let listed = [Fault::None; 3];
    bucket.faults(&[&listed[..], &[Fault::Says(500, "InternalError"); 12]].concat());
    let error = new.shared().refresh(RefreshScope::Open, &request()).unwrap_err();
    assert_eq!(error.problem().code, "store_not_reached");
    bucket.faults(&[]);
    assert_eq!(ask(&new).len(), 1);
    assert_eq!(ask(&other), [""; 0]);
}

#[test]
fn a_push_without_an_answer_leaves_time_to_find_out_what_became_of_it() {
    if !git_server::is_here("a_push_without_an_answer_leaves_time_to_find_out_what_became_of_it") {
        return;
    }
    let (server, one, _) = two::<GitServer>();
    server.keep_silent(1);
    record(&patient(&one, 6000), "work").unwrap();
    assert_eq!(recorded(&server), ["work"]);
}

#[test]
fn a_machine_that_asks_for_open_runs_does_not_fetch_those_that_are_over() {
    let (remote, one, _) = two_with_git();
    end(&one.context(), StatusVerb::Cancel).unwrap();
    start_as(&one.context(), "run-2", None).unwrap();
    let other = Machine::with(remote);
    let fetched = || Remote::refs_in(&other.file(&RunId::new("run-2").unwrap(), "../../../.cache/runs.git"));
    let refresh = |scope| other.shared().refresh(scope, &request()).unwrap();
    refresh(RefreshScope::Open);
    assert_eq!(fetched(), ["refs/flow/open/run-2"]);
    // Its id is taken all the same.
    let error = start_as(&other.context(), RUN, None).unwrap_err();
    assert_eq!(error.to_string(), "run run-1 in git:origin exists already");
    refresh(RefreshScope::All);
    assert_eq!(fetched(), ["refs/flow/open/run-2", "refs/flow/over/run-1"]);
    end(&one.context(), StatusVerb::Reopen).unwrap();
    refresh(RefreshScope::Open);
    record(&other.context(), "after").unwrap();
    end(&one.context(), StatusVerb::Cancel).unwrap();
    // What ended elsewhere is fetched by its name.
    refresh(RefreshScope::Open);
    let files = [&one, &other].map(|machine| fs::read_to_string(machine.file(&run_id(), "run.yaml")).unwrap());
    assert_eq!(files[0], files[1]);
}

#[test]
fn in_git_a_record_is_one_push_and_asking_without_news_one_fetch() {
    if !git_server::is_here("in_git_a_record_is_one_push_and_asking_without_news_one_fetch") {
        return;
    }
    let (carrier, one, _) = two::<GitServer>();
    for run in 0..8 {
        start_as(&one.context(), &format!("other-{run}"), None).unwrap();
    }
    record(&one.context(), "first").unwrap();
    ask(&one);
    // Each is two requests.
    for nth in 0..3 {
        carrier.requests();
        record(&one.context(), &format!("work-{nth}")).unwrap();
        assert_eq!(carrier.requests(), 2);
    }
    ask(&one);
    carrier.requests();
    one.shared().refresh(RefreshScope::Open, &request()).unwrap();
    assert_eq!(carrier.requests(), 2);
}

#[test]
fn in_git_the_histories_of_many_runs_are_read_at_once() {
    let (remote, one, other) = two_with_git();
    for run in 0..4 {
        start_as(&one.context(), &format!("other-{run}"), None).unwrap();
    }
    for work in 0..3 {
        record(&one.context(), &format!("work-{work}")).unwrap();
    }
    let carrier = remote.carrier(&other.file(&run_id(), "../../.."));
    let left = Duration::from_secs(30);
    let tips = carrier.tips(RefreshScope::All, left).unwrap();
    let wanted: Vec<_> = tips.into_iter().map(|tip| (tip, Seq(2))).collect();
    let lines = |tip: &Tip| carrier.lines(&tip.run, Seq(2), Some(&tip.mark), left).unwrap();
    let one_by_one: Vec<_> = wanted.iter().map(|(tip, _)| lines(tip)).collect();
    carrier.expect(&wanted, left);
    assert_eq!(wanted.iter().map(|(tip, _)| lines(tip)).collect::<Vec<_>>(), one_by_one);
    assert_eq!(one_by_one.iter().flatten().map(|lines| lines.lines().count()).sum::<usize>(), 3);
}
