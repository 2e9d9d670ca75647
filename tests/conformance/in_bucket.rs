//! What runs in a bucket cost, and what a server may do wrong.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use flowrun::codec::{LogScan, seal};
use flowrun::doctor::{DoctorRequest, doctor};
use flowrun::host::CloudEnv;
use flowrun::model::{Event, EventId, EventKind, Explain as _, KeptEvidence, RunId, RunStatus, Seq, StatusChange};
use flowrun::remote::{S3Carrier, S3Place};
use flowrun::runs::{Context, ShowRequest, StatusVerb, show};
use flowrun::store::shared::{Carrier, LogFault, NoAnswer, Put, PutAnswer, window_of};
use flowrun::store::{RefreshScope, SharedRuns as _, StoreFlaw, WorkChange, WorkKey};

use crate::bucket::{Bucket, Fault, Lax};
use crate::shared::{RUN, ask, end, patient, probed, record, record_evidence, request, run_id, start_as};
use crate::tested_store::{Machine, SharedInBucket, TestedStore as _};

const LEFT: Duration = Duration::from_secs(20);

fn id(text: &str) -> RunId {
    RunId::new(text).unwrap()
}

/// The sealed line of an event.
fn line(seq: u64, name: &str) -> String {
    let change = StatusChange { from: RunStatus::Active, reason: None, skipped: None, session: None };
    let (id, at) = (EventId::new(name).unwrap(), "2026-05-20T14:30:00Z".parse().unwrap());
    let kind = if seq % 2 == 1 { EventKind::RunBlocked(change) } else { EventKind::RunUnblocked(change) };
    seal(&Event { seq: Seq(seq), id, at, kind, run: None, recap: None })
}

/// Fills the bucket with a run of so many commits of one event.
fn fill(bucket: &Bucket, run: &str, events: u64) {
    go_on(bucket, run, String::new(), 1..=events);
}

/// Puts commits of one event behind the ones in `window`. Objects that nobody has to read have their own line alone.
fn go_on(bucket: &Bucket, run: &str, mut window: String, events: RangeInclusive<u64>) {
    let end = *events.end();
    for seq in events {
        if window_of(Seq(seq - 1)) == Seq(seq - 1) {
            window.clear();
        }
        let own = line(seq, &format!("e{seq}"));
        window.push_str(&own);
        let is_last = seq % 64 == 0 || seq == end;
        bucket.insert(&format!("logs/{run}/{seq:010}"), if is_last { &window } else { &own }, Some("open"));
    }
    bucket.insert(&format!("open/{run}"), &format!("{end}"), None);
}

fn put_one(carrier: &dyn Carrier, run: &str, before: u64, work: &WorkChange) -> PutAnswer {
    put_as(carrier, run, before, &format!("e{}", before + 1), work)
}

/// Puts an event of this name behind the position `before`.
fn put_as(carrier: &dyn Carrier, run: &str, before: u64, name: &str, work: &WorkChange) -> PutAnswer {
    let earlier: String = (window_of(Seq(before)).0 + 1..=before).map(|seq| line(seq, &format!("e{seq}"))).collect();
    let own = line(before + 1, name);
    let put = Put {
        run: &id(run),
        before: Seq(before),
        earlier: &earlier,
        lines: &own,
        is_over: false,
        evidence: &[],
        work,
        again: false,
    };
    carrier.put(&put, LEFT)
}

fn counts(counts: &[(&'static str, usize)]) -> BTreeMap<&'static str, usize> {
    counts.iter().copied().collect()
}

#[test]
fn a_record_is_two_requests_and_asking_without_news_one() {
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    start_as(&one.context(), RUN, None).unwrap();
    for run in 0..30 {
        fill(&bucket, &format!("other-{run}"), 1);
    }
    ask(&one);
    for nth in 0..3 {
        let cx = one.context();
        bucket.counts();
        record(&cx, &format!("work-{nth}")).unwrap();
        assert_eq!(bucket.counts(), counts(&[("PUT", 2)]));
    }
    let open = |one: &SharedInBucket| one.shared().refresh(RefreshScope::Open, &request()).unwrap();
    open(&one);
    bucket.counts();
    open(&one);
    assert_eq!(bucket.counts(), counts(&[("LIST", 1)]));
}

#[test]
fn a_machine_that_asks_for_the_first_time_reads_many_runs_at_once() {
    let bucket = Bucket::default();
    for run in 0..30 {
        fill(&bucket, &format!("other-{run}"), 3);
    }
    let carrier = bucket.own_carrier();
    let wanted: Vec<_> = carrier.tips(RefreshScope::All, LEFT).unwrap().into_iter().map(|tip| (tip, Seq(1))).collect();
    let lines = |run: &RunId, mark| carrier.lines(run, Seq(1), mark, LEFT).unwrap().unwrap();
    let one_by_one: Vec<_> = wanted.iter().map(|(tip, _)| lines(&tip.run, None)).collect();
    carrier.expect(&wanted, LEFT);
    bucket.counts();
    let at_once: Vec<_> = wanted.iter().map(|(tip, _)| lines(&tip.run, Some(&tip.mark))).collect();
    assert_eq!((wanted.len(), bucket.requests()), (30, 0));
    assert_eq!(at_once, one_by_one);
    // What was expected is as of the mark, so it never stands for what is there now.
    let (run, tip) = (id("other-1"), wanted.iter().find(|(tip, _)| tip.run == id("other-1")).unwrap().0.clone());
    carrier.expect(&wanted, LEFT);
    go_on(&bucket, "other-1", lines(&run, None), 4..=4);
    assert_eq!(lines(&run, None).lines().count(), 4);
    assert_eq!(lines(&run, Some(&tip.mark)).lines().count(), 3);
}

#[test]
fn a_run_about_an_issue_begins_with_its_marker_and_ends_with_its_hint() {
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    bucket.counts();
    start_as(&one.context(), RUN, Some(7)).unwrap();
    // The open runs; the marker, the hint, the lines.
    assert_eq!(bucket.counts(), counts(&[("LIST", 1), ("PUT", 3)]));
    end(&one.context(), StatusVerb::Cancel).unwrap();
    assert_eq!(bucket.counts(), counts(&[("PUT", 2), ("DELETE", 1)]));
}

#[test]
fn a_run_whose_hint_was_deleted_is_listed_again_after_a_push() {
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    start_as(&one.context(), RUN, None).unwrap();
    let push = || one.shared().take_in(&run_id(), Vec::new(), &request()).unwrap();
    for (state, is_over) in [("open", false), ("over", true)] {
        if is_over {
            end(&one.context(), StatusVerb::Cancel).unwrap();
        }
        bucket.delete(&format!("{state}/{RUN}"));
        assert_eq!(bucket.own_carrier().tips(RefreshScope::All, LEFT).unwrap(), []);
        push();
        let tips = bucket.own_carrier().tips(RefreshScope::All, LEFT).unwrap();
        assert_eq!(tips.iter().map(|tip| (tip.run.as_str(), tip.is_over)).collect::<Vec<_>>(), [(RUN, is_over)]);
    }
}

#[test]
fn a_run_whose_hint_was_deleted_is_found_by_its_log_on_a_machine_without_a_copy_and_listed_again() {
    for is_over in [false, true] {
        let bucket = Bucket::default();
        let one: SharedInBucket = Machine::with(bucket.clone());
        start_as(&one.context(), RUN, Some(7)).unwrap();
        record(&one.context(), "first").unwrap();
        if is_over {
            end(&one.context(), StatusVerb::Cancel).unwrap();
        }
        // A writer that died before its lines left nothing to find.
        bucket.insert("logs/run-2/0000000001", "", None);
        for name in bucket.names() {
            if !name.contains("logs/") {
                bucket.delete(&name);
            }
        }
        let tips = || bucket.own_carrier().tips(RefreshScope::All, LEFT).unwrap();
        let other: SharedInBucket = Machine::with(bucket.clone());
        ask(&other);
        assert_eq!((tips(), other.file(&run_id(), "").exists()), (vec![], false));
        let found = other.shared().flaws(None, &|_| Vec::new(), &request()).unwrap();
        assert_eq!(found, [StoreFlaw::Unlisted { run: run_id() }]);
        let status = store_flaws(&one);
        assert!(status.contains(&"store_unlisted".to_owned()), "{status:?}");
        // Of more that is here the store has lost the end.
        bucket.delete(&format!("logs/{RUN}/0000000002"));
        if !is_over {
            assert_eq!(store_flaws(&one), ["store_lost_run"]);
            one.shared().take_in(&run_id(), Vec::new(), &request()).unwrap();
            for name in bucket.names().into_iter().filter(|name| !name.contains("logs/")) {
                bucket.delete(&name);
            }
        }
        // By its whole id it is found.
        let reads = ShowRequest { run: Some(RUN.to_owned()), ..ShowRequest::default() };
        let reader: SharedInBucket = Machine::with(bucket.clone());
        show(&reader.context(), &reads).unwrap();
        assert!(reader.file(&run_id(), "").exists() && tips().is_empty());
        let repaired = doctor(&other.context(), &DoctorRequest { repair: true, ..DoctorRequest::default() }).unwrap();
        assert!(repaired.ok, "{repaired:?}");
        let listed = tips();
        assert_eq!(listed.iter().map(|tip| (tip.run.as_str(), tip.is_over)).collect::<Vec<_>>(), [(RUN, is_over)]);
        assert_eq!(store_flaws(&one), [""; 0]);
        let third: SharedInBucket = Machine::with(bucket.clone());
        ask(&third);
        assert_eq!(start_as(&third.context(), "run-3", Some(7)).is_ok(), is_over);
    }
}

/// The codes of what the doctor finds in the store.
fn store_flaws(machine: &SharedInBucket) -> Vec<String> {
    let report = doctor(&machine.context(), &DoctorRequest::default()).unwrap();
    let mut codes: Vec<_> = report.findings.iter().map(|finding| finding.code.to_string()).collect();
    codes.retain(|code| code.starts_with("store_"));
    codes
}

#[test]
fn the_first_record_in_an_empty_container_is_at_most_ten_requests() {
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    start_as(&one.context(), RUN, None).unwrap();
    go_on(&bucket, RUN, bucket.log(&run_id()), 2..=200);
    let other: SharedInBucket = Machine::with(bucket.clone());
    bucket.counts();
    other.shared().refresh(RefreshScope::Open, &request()).unwrap();
    record(&other.context(), "first").unwrap();
    // The open runs, the log of the one with its four windows, the lines, the hint.
    assert_eq!(bucket.counts(), counts(&[("LIST", 2), ("GET", 4), ("PUT", 2)]));
}

#[test]
fn a_log_of_ten_thousand_events_is_read_with_one_request_for_each_window() {
    let bucket = Bucket::default();
    fill(&bucket, "long", 10_000);
    let carrier = bucket.own_carrier();
    let lines = carrier.lines(&id("long"), Seq(1), None, LEFT).unwrap().unwrap();
    assert_eq!(LogScan::parse(lines.as_bytes()).events().count(), 10_000);
    assert_eq!(bucket.counts(), counts(&[("LIST", 10), ("GET", 157)]));
    let end = carrier.lines(&id("long"), Seq(9_998), None, LEFT).unwrap().unwrap();
    assert_eq!(end, lines.split_inclusive('\n').skip(9_997).collect::<String>());
    assert_eq!(bucket.counts(), counts(&[("LIST", 1), ("GET", 1)]));
}

#[test]
fn objects_that_repeat_nothing_are_read_one_by_one_and_a_missing_one_is_named() {
    let bucket = Bucket::default();
    fill(&bucket, "short", 10);
    bucket.insert("logs/short/0000000010", &line(10, "e10"), None);
    // Names that flow did not make are not read.
    bucket.insert("logs/short/0000000010.bak", "x", None);
    let carrier = bucket.own_carrier();
    bucket.counts();
    let lines = carrier.lines(&id("short"), Seq(4), None, LEFT).unwrap().unwrap();
    assert_eq!(
        LogScan::parse(lines.as_bytes()).events().map(|event| event.seq.0).collect::<Vec<_>>(),
        [4, 5, 6, 7, 8, 9, 10]
    );
    assert_eq!(bucket.counts(), counts(&[("LIST", 1), ("GET", 7)]));
    bucket.delete("logs/short/0000000006");
    assert_eq!(carrier.lines(&id("short"), Seq(1), None, LEFT), Err(missing("short", 6)));
    bucket.delete("logs/short/0000000001");
    fill(&bucket, "long", 70);
    bucket.delete("logs/long/0000000064");
    assert_eq!(carrier.lines(&id("long"), Seq(1), None, LEFT), Err(missing("long", 64)));
    // An empty object in its place hides it no more than none.
    bucket.insert("logs/long/0000000064", "", None);
    assert_eq!(carrier.lines(&id("long"), Seq(1), None, LEFT), Err(missing("long", 64)));
}

/// That an object of a log is missing.
fn missing(run: &str, at: u64) -> NoAnswer {
    let fault = LogFault { why: format!("the object at position {at} is missing"), is_gap: true };
    NoAnswer::Damaged { run: id(run), fault }
}

#[test]
fn a_missing_object_is_put_there_again_from_a_whole_copy_and_hides_no_other_run() {
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    start_as(&one.context(), RUN, None).unwrap();
    go_on(&bucket, RUN, bucket.log(&run_id()), 2..=70);
    start_as(&one.context(), "other", None).unwrap();
    ask(&one);
    let name = format!("logs/{RUN}/0000000064");
    let body = bucket.body(&name);
    bucket.delete(&name);
    let new: SharedInBucket = Machine::with(bucket.clone());
    let told = ask(&new);
    let why = "the log of run run-1 in s3://runs/team is damaged: the object at position 64 is missing";
    assert_eq!((told, new.file(&id("other"), "").exists()), (vec![why.to_owned()], true));
    start_as(&new.context(), "run-2", Some(7)).unwrap();
    assert_eq!(store_flaws(&one), ["store_log_damaged"]);
    let repaired = doctor(&one.context(), &DoctorRequest { repair: true, ..DoctorRequest::default() }).unwrap();
    assert!(repaired.ok, "{repaired:?}");
    assert_eq!(bucket.body(&name), body);
    assert_eq!((ask(&new), store_flaws(&one)), (vec![], vec![]));
    // Nothing is proved by a copy that differs from what is there.
    bucket.delete(&name);
    bucket.insert(&format!("logs/{RUN}/0000000063"), &line(63, "other"), None);
    let error = one.shared().take_in(&run_id(), Vec::new(), &request()).unwrap_err();
    assert_eq!((error.to_string(), bucket.body(&name)), (why.to_owned(), None));
}

#[test]
fn what_is_missing_is_put_there_as_it_was_and_closes_every_position() {
    for (gone, missed) in [(vec![1], 1), (vec![63, 64], 63), (vec![1, 2, 3], 1), (vec![40, 63, 64, 66, 67], 66)] {
        let bucket = Bucket::default();
        fill(&bucket, "long", 66);
        go_on(&bucket, "long", line(65, "e65") + &line(66, "e66"), 67..=70);
        // The end of a window repeats nothing, as where it would be too long.
        bucket.insert("logs/long/0000000064", &line(64, "e64"), Some("open"));
        bucket.insert("logs/long/0000000070", &line(70, "e70"), Some("open"));
        let carrier = bucket.own_carrier();
        let lines = carrier.lines(&id("long"), Seq(1), None, LEFT).unwrap().unwrap();
        let name = |at: u64| format!("logs/long/{at:010}");
        gone.iter().for_each(|at| bucket.delete(&name(*at)));
        assert_eq!(carrier.lines(&id("long"), Seq(1), None, LEFT), Err(missing("long", missed)));
        // A copy that ends before what is missing does not prove it.
        let short: String = lines.split_inclusive('\n').take(usize::try_from(missed).unwrap() - 1).collect();
        carrier.fill_gaps(&id("long"), &short, LEFT).unwrap();
        assert!(carrier.lines(&id("long"), Seq(1), None, LEFT).is_err());
        carrier.fill_gaps(&id("long"), &lines, LEFT).unwrap();
        assert_eq!(carrier.lines(&id("long"), Seq(1), None, LEFT), Ok(Some(lines)));
        assert!(gone.iter().all(|at| bucket.body(&name(*at)).is_some()));
        assert_eq!(carrier.faults_of_log(&id("long"), LEFT), Ok(Vec::new()));
    }
}

#[test]
fn a_log_that_could_not_be_read_has_no_faults_for_that() {
    let bucket = Bucket::default();
    fill(&bucket, "short", 9);
    let carrier = bucket.own_carrier();
    assert_eq!(carrier.faults_of_log(&id("short"), LEFT), Ok(Vec::new()));
    let busy = [Fault::Says(503, "SlowDown"); 3];
    // The list of its objects is read, then all that are looked at, then the ones that are joined.
    for read in 0..11 {
        bucket.faults(&[&vec![Fault::None; read][..], &busy].concat());
        let answer = carrier.faults_of_log(&id("short"), LEFT);
        assert!(!answer.as_ref().is_ok_and(|faults| !faults.is_empty()), "{read}: {answer:?}");
    }
}

#[test]
fn the_doctor_names_a_run_whose_log_the_bucket_cannot_give_and_checks_the_others() {
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    start_as(&one.context(), RUN, None).unwrap();
    start_as(&one.context(), "other", Some(7)).unwrap();
    bucket.delete("work/9b4a4b62108f4680b2f58e47f776bc46b0e53de5b8a8e2743246c1e05ee42774");
    bucket.cannot_read("logs/run-1/");
    let mut found = store_flaws(&one);
    found.sort();
    assert_eq!(found, ["store_log_unread", "store_unmarked"]);
}

#[test]
fn a_late_commit_has_the_requests_of_an_early_one() {
    let bucket = Bucket::default();
    let carrier = bucket.own_carrier();
    fill(&bucket, "long", 2_999);
    fill(&bucket, "short", 9);
    bucket.counts();
    for (run, before) in [("short", 9), ("long", 2_999)] {
        assert_eq!(put_one(&carrier, run, before, &WorkChange::default()), PutAnswer::Done);
        assert_eq!(bucket.counts(), counts(&[("PUT", 2)]), "{run}");
    }
}

#[test]
fn ten_thousand_runs_that_are_over_are_listed_in_eleven_requests() {
    let bucket = Bucket::default();
    for run in 0..9_998 {
        bucket.insert(&format!("over/run-{run}"), "x", None);
    }
    for other in ["over/.x", "over/a b", "open/a/b", "open/", "flow.json", "open/a.b"] {
        bucket.insert(other, "x", None);
    }
    fill(&bucket, "run-7", 1);
    let carrier = bucket.own_carrier();
    let tips = carrier.tips(RefreshScope::All, LEFT).unwrap();
    assert_eq!(bucket.counts(), counts(&[("LIST", 11)]));
    assert_eq!(tips.len(), 9_998);
    // A run that was reopened is open, whatever is said of its end.
    assert_eq!(tips.iter().filter(|tip| !tip.is_over).map(|tip| tip.run.as_str()).collect::<Vec<_>>(), ["run-7"]);
}

#[test]
fn runs_that_are_over_are_listed_however_many_there_are_and_too_many_keep_no_open_run_away() {
    let bucket = Bucket::default();
    for run in 0..100_500 {
        bucket.insert(&format!("over/run-{run}"), "x", None);
    }
    assert_eq!(bucket.own_carrier().tips(RefreshScope::All, LEFT).unwrap().len(), 100_500);
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    start_as(&one.context(), RUN, None).unwrap();
    bucket.lists_for_ever("over/");
    let error = one.shared().refresh(RefreshScope::All, &request()).unwrap_err();
    let why = "s3://runs/team has too much to be listed: more than 2 million names begin with team/over/";
    assert_eq!((error.to_string(), error.problem().code), (why.to_owned(), "store_too_large"));
    assert_eq!(one.shared().refresh(RefreshScope::Open, &request()).unwrap(), [""; 0]);
    // What is below one run is about that run.
    bucket.lists_for_ever(&format!("logs/{RUN}/"));
    let other: SharedInBucket = Machine::with(bucket);
    let told = other.shared().refresh(RefreshScope::Open, &request()).unwrap();
    let why =
        "the log of run run-1 in s3://runs/team is damaged: more than 2 million names begin with team/logs/run-1/";
    assert_eq!(told, [why]);
}

#[test]
fn a_run_that_has_ended_elsewhere_is_caught_up_when_it_is_not_listed_as_open_any_more() {
    let bucket = Bucket::default();
    let (one, other): (SharedInBucket, SharedInBucket) = (Machine::with(bucket.clone()), Machine::with(bucket.clone()));
    start_as(&one.context(), RUN, Some(7)).unwrap();
    let shared = other.shared();
    shared.refresh(RefreshScope::Open, &request()).unwrap();
    end(&one.context(), StatusVerb::Cancel).unwrap();
    assert_eq!(bucket.names().iter().filter(|name| name.starts_with("open/")).count(), 0);
    shared.refresh(RefreshScope::Open, &request()).unwrap();
    let files = [&one, &other].map(|machine| fs::read_to_string(machine.file(&run_id(), "run.yaml")).unwrap());
    assert_eq!(files[0], files[1]);
    bucket.counts();
    shared.refresh(RefreshScope::Open, &request()).unwrap();
    assert_eq!(bucket.requests(), 1);
    // An id that is taken by a run that is over, which this machine does not know.
    assert_eq!(put_one(&bucket.own_carrier(), RUN, 0, &WorkChange::default()), PutAnswer::Taken);
    assert_eq!(bucket.names().iter().filter(|name| name.starts_with("open/")).count(), 0);
    bucket.counts();
    start_as(&one.context(), "run-9", Some(9)).unwrap();
    // The open runs; the marker, the hint and the lines.
    assert_eq!(bucket.counts(), counts(&[("LIST", 1), ("PUT", 3)]));
    end(&other.context(), StatusVerb::Reopen).unwrap();
    let tips = bucket.own_carrier().tips(RefreshScope::All, LEFT).unwrap();
    assert_eq!(tips.iter().map(|tip| tip.is_over).collect::<Vec<_>>(), [false; 2]);
}

#[test]
fn sixteen_recorders_with_a_cache_each_lose_nothing_and_stay_within_their_requests() {
    let bucket = Bucket::default();
    let machines: Vec<SharedInBucket> = (0..16).map(|_| Machine::with(bucket.clone())).collect();
    start_as(&machines[0].context(), RUN, None).unwrap();
    machines.iter().for_each(|machine| drop(ask(machine)));
    bucket.counts();
    let records = 1;
    thread::scope(|scope| {
        for (nth, machine) in machines.iter().enumerate() {
            scope.spawn(move || {
                for work in 0..records {
                    record(&machine.context(), &format!("work-{nth}-{work}")).unwrap();
                }
            });
        }
    });
    let counts = bucket.counts();
    let log = LogScan::parse(bucket.log(&run_id()).as_bytes());
    assert_eq!((log.gaps(), log.doubles(), log.skipped.len()), (vec![], vec![], 0));
    let all = 16 * records;
    assert_eq!(log.events().flat_map(|event| event.kind.records()).count(), all);
    let reads = counts.get("GET").unwrap_or(&0) + counts.get("LIST").unwrap_or(&0);
    assert!(counts["PUT"] <= 6 * all && reads <= 9 * all, "{counts:?}");
}

#[test]
fn a_server_keeps_its_promises_or_is_refused() {
    let bucket = Bucket::default();
    probed(&bucket.own_carrier()).unwrap();
    assert_eq!(bucket.names(), [""; 0]);
    bucket.is_lax(Lax::IgnoresConditions);
    let error = probed(&bucket.own_carrier()).unwrap_err().to_string();
    assert_eq!(error, "16 of 16 writers got one position at the beginning of a run, where one may");
    bucket.is_lax(Lax::LooksBeforeItStores);
    let error = probed(&bucket.own_carrier()).unwrap_err().to_string();
    assert!(error.ends_with(" of 16 writers got one position at the beginning of a run, where one may"), "{error}");
}

#[test]
fn evidence_that_a_dead_client_left_half_sent_is_put_again() {
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    start_as(&one.context(), RUN, None).unwrap();
    let sha256 = KeptEvidence::of("test.log", b"passed").sha256;
    bucket.insert(&format!("evidence/{sha256}"), "pas", None);
    record_evidence(&one, "first", b"passed");
    assert_eq!(bucket.body(&format!("evidence/{sha256}")).unwrap(), "passed");
    // What is there already is looked at, and not written again.
    bucket.counts();
    record_evidence(&one, "second", b"passed");
    assert_eq!(bucket.counts(), counts(&[("GET", 1), ("PUT", 3)]));
}

#[test]
fn windows_that_disagree_and_rules_that_delete_are_found() {
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    start_as(&one.context(), RUN, Some(7)).unwrap();
    record(&one.context(), "first").unwrap();
    record(&one.context(), "second").unwrap();
    let work = |_: &RunId| vec![WorkKey("issue 7".to_owned())];
    let flaws = || one.shared().flaws(None, &work, &request()).unwrap();
    assert_eq!(flaws(), []);
    let rule = |status: &str, prefix: &str| {
        format!(
            "<LifecycleConfiguration><Rule><ID>old</ID><Filter><Prefix>{prefix}</Prefix></Filter><Status>{status}</Status><Expiration><Days>30</Days></Expiration></Rule></LifecycleConfiguration>"
        )
    };
    for (status, prefix, is_found) in
        [("Enabled", "other/", false), ("Disabled", "", false), ("Enabled", "", true), ("Enabled", "team/lo", true)]
    {
        bucket.rules(&rule(status, prefix));
        assert_eq!(matches!(&flaws()[..], [StoreFlaw::Deletes { .. }]), is_found, "{status} {prefix}");
    }
    let report = doctor(&one.context(), &DoctorRequest::default()).unwrap();
    assert!(report.findings.iter().any(|finding| finding.code == "store_deletes"), "{:?}", report.findings);
    bucket.rules("");
    // An object whose beginning another program has changed.
    let second = format!("logs/{RUN}/0000000002");
    bucket.insert(&second, &bucket.body(&format!("logs/{RUN}/0000000001")).unwrap(), None);
    let third = format!("logs/{RUN}/0000000003");
    let other = bucket.body(&third).unwrap();
    let lines: Vec<&str> = other.split_inclusive('\n').collect();
    bucket.insert(&second, &[lines[2], lines[0]].concat(), None);
    let found = flaws();
    assert!(matches!(&found[..], [StoreFlaw::Damaged { why, .. }] if why.contains("position 2")), "{found:?}");
    // The marker is gone.
    bucket.insert(&second, &lines[..2].concat(), None);
    let marker = bucket.names().into_iter().find(|name| name.contains("work/")).unwrap();
    bucket.delete(&marker);
    assert!(matches!(&flaws()[..], [StoreFlaw::Unmarked { instead: None, .. }]));
}

#[test]
fn a_void_object_is_replaced_and_hides_nothing() {
    let bucket = Bucket::default();
    let (one, other): (SharedInBucket, SharedInBucket) = (Machine::with(bucket.clone()), Machine::with(bucket.clone()));
    start_as(&one.context(), RUN, None).unwrap();
    bucket.faults(&[Fault::Void]);
    record(&one.context(), "first").unwrap();
    // A writer that died leaves a void one for others.
    bucket.insert(&format!("logs/{RUN}/0000000003"), "", None);
    ask(&other);
    record(&other.context(), "second").unwrap();
    record(&one.context(), "third").unwrap();
    let log = LogScan::parse(bucket.log(&run_id()).as_bytes());
    assert_eq!(log.events().flat_map(|event| event.kind.records()).count(), 3);
    // What is whole is never replaced, also if this flow does not know what it is.
    let newer = seal(&serde_json::json!({ "v": 9, "seq": 5, "what": "unknown" }));
    bucket.insert(&format!("logs/{RUN}/0000000005"), &newer, None);
    let error = record(&one.context(), "fourth").unwrap_err().to_string();
    assert_eq!(error, "run run-1 in s3://runs/team has a line after event 4 that is not an event");
    assert_eq!(bucket.body(&format!("logs/{RUN}/0000000005")), Some(newer));
}

#[test]
fn a_copy_that_ends_within_a_commit_gets_the_rest_before_the_next_record() {
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    start_as(&one.context(), RUN, None).unwrap();
    ask(&one);
    let (first, work) = (bucket.log(&run_id()), WorkChange::default());
    let lines = [2, 3, 4].map(|seq| line(seq, &format!("e{seq}"))).concat();
    let put = Put {
        run: &run_id(),
        before: Seq(1),
        earlier: &first,
        lines: &lines,
        is_over: false,
        evidence: &[],
        work: &work,
        again: false,
    };
    assert_eq!(bucket.own_carrier().put(&put, LEFT), PutAnswer::Done);
    // A power cut left two of the lines that were appended together.
    let log = first + &lines;
    one.put_log(&run_id(), &|_| log.split_inclusive('\n').take(3).collect());
    record(&one.context(), "work").unwrap();
    let names = ["0000000001", "0000000002", "0000000005"].map(|name| format!("logs/{RUN}/{name}"));
    assert_eq!(bucket.names()[..3], names);
    assert_eq!(fs::read_to_string(one.file(&run_id(), "events.jsonl")).unwrap(), bucket.log(&run_id()));
}

#[test]
fn answers_say_whether_anything_may_have_happened() {
    let bucket = Bucket::default();
    let carrier = bucket.own_carrier();
    let put = |fault| {
        bucket.faults(&[fault]);
        put_one(&carrier, "short", 9, &WorkChange::default())
    };
    fill(&bucket, "short", 9);
    for (status, code) in [(500, "InternalError"), (503, "SlowDown"), (429, ""), (409, "ConditionalRequestConflict")] {
        assert!(matches!(put(Fault::Says(status, code)), PutAnswer::Unknown(_)), "{status}");
    }
    assert!(matches!(put(Fault::RequestLost), PutAnswer::Unknown(_)));
    assert_eq!(put(Fault::Says(412, "PreconditionFailed")), PutAnswer::Taken);
    for (status, code, why) in [
        (
            403,
            "RequestTimeTooSkewed",
            "the clock of this machine and that of the server differ too much: set the clock",
        ),
        (404, "NoSuchBucket", "the bucket does not exist: create it, or name another one"),
        (403, "SignatureDoesNotMatch", "it does not know this access key, or the secret is another one"),
        (301, "PermanentRedirect", "the bucket is elsewhere: set AWS_REGION or AWS_ENDPOINT_URL_S3 to where it is"),
        (501, "NotImplemented", "it does not know conditional writes, which runs that are shared rest on"),
        (400, "InvalidRequest", "it answered 400 InvalidRequest"),
    ] {
        assert_eq!(put(Fault::Says(status, code)), PutAnswer::Not(NoAnswer::Refused(why.to_owned())), "{code}");
    }
    assert_eq!(put(Fault::None), PutAnswer::Done);
    assert_eq!(put(Fault::None), PutAnswer::Taken);
    // What has expired is refused, also where another try might have had new credentials.
    let expired = NoAnswer::Refused("the credentials have expired: get new ones".to_owned());
    bucket.faults(&[Fault::Says(403, "ExpiredToken"); 3]);
    assert_eq!(carrier.tips(RefreshScope::Open, LEFT), Err(expired.clone()));
    bucket.faults(&[Fault::Says(403, "ExpiredToken"); 2]);
    assert_eq!(put_one(&carrier, "short", 10, &WorkChange::default()), PutAnswer::Not(expired));
    bucket.faults(&[]);
    // Who gets an answer has reached the server.
    let busy = Fault::Says(503, "SlowDown");
    let why = "it answered 503 SlowDown, which asks for fewer requests".to_owned();
    bucket.faults(&[busy; 3]);
    assert_eq!(carrier.tips(RefreshScope::Open, LEFT), Err(NoAnswer::Failed(why.clone())));
    // Nothing but its hint can be there of a run whose lines were not sent.
    bucket.faults(&[busy; 3]);
    assert_eq!(put_one(&carrier, "new", 0, &WorkChange::default()), PutAnswer::Not(NoAnswer::Failed(why)));
    // What only reads is sent again.
    bucket.faults(&[Fault::Says(503, "SlowDown"), Fault::AnswerLost]);
    assert!(carrier.lines(&id("short"), Seq(1), None, LEFT).unwrap().is_some());
}

#[test]
fn a_record_that_a_failing_server_leaves_in_doubt_says_what_the_server_answered() {
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    start_as(&one.context(), RUN, None).unwrap();
    bucket.faults(&[Fault::Says(503, "SlowDown"); 1000]);
    let problem = record(&patient(&one, 400), "work").unwrap_err().problem();
    let why = "it answered 503 SlowDown, which asks for fewer requests".to_owned();
    assert_eq!((problem.code, problem.causes), ("unconfirmed", vec![why]));
    bucket.faults(&[]);
    record(&one.context(), "work").unwrap();
    let log = LogScan::parse(bucket.log(&run_id()).as_bytes());
    assert_eq!(log.events().flat_map(|event| event.kind.records()).count(), 1);
}

#[test]
fn work_whose_writer_died_is_free_after_its_place_was_taken() {
    let bucket = Bucket::default();
    let key = WorkKey("issue 7".to_owned());
    let work = WorkChange { taken: vec![key], freed: Vec::new() };
    let (dead, living) = (bucket.own_carrier(), bucket.own_carrier());
    // The first one wrote its marker and its hint, and nothing more.
    bucket.faults(&[Fault::None, Fault::None, Fault::RequestLost]);
    assert!(matches!(put_one(&dead, "dead", 0, &work), PutAnswer::Unknown(_)));
    let begin = Instant::now();
    assert_eq!(put_one(&living, "living", 0, &work), PutAnswer::Done);
    assert!(begin.elapsed() < Duration::from_secs(10));
    // It was not dead. It learns that it lost its place, and who has it.
    assert_eq!(put_one(&dead, "dead", 0, &work), {
        let about = work.taken[0].clone();
        PutAnswer::WorkTaken { run: id("living"), about }
    });
    assert_eq!(dead.lines(&id("dead"), Seq(1), None, LEFT), Ok(None));
    assert!(bucket.body("logs/dead/0000000001").unwrap().starts_with("void "));
    // Without another run about the same, the void object is in nobody's way.
    let free = WorkChange::default();
    assert_eq!(put_one(&dead, "dead", 0, &free), PutAnswer::Taken);
    assert_eq!(dead.lines_behind(&id("dead"), Seq(0), LEFT), Ok(None));
    assert_eq!(put_one(&dead, "dead", 0, &free), PutAnswer::Done);
}

#[test]
fn a_command_that_is_repeated_after_no_answer_is_seen_by_machines_that_trust_the_hint() {
    let bucket = Bucket::default();
    let (one, other): (SharedInBucket, SharedInBucket) = (Machine::with(bucket.clone()), Machine::with(bucket.clone()));
    start_as(&one.context(), RUN, None).unwrap();
    let seen_by = |machine: &SharedInBucket| {
        machine.shared().refresh(RefreshScope::Open, &request()).unwrap();
        fs::read_to_string(machine.file(&run_id(), "events.jsonl")).unwrap()
    };
    for ends in [false, true] {
        let command = |cx: &Context| {
            if ends { end(cx, StatusVerb::Cancel).map(drop) } else { record(cx, "work").map(drop) }
        };
        seen_by(&other);
        bucket.faults(&[&[Fault::AnswerLost][..], &[Fault::RequestLost; 20]].concat());
        command(&one.context().for_a_person(Duration::from_millis(150))).unwrap_err();
        bucket.faults(&[]);
        let log = bucket.log(&run_id());
        assert_ne!(seen_by(&other), log);
        command(&one.later()).unwrap();
        assert_eq!((seen_by(&other), bucket.log(&run_id())), (log.clone(), log));
    }
    assert_eq!(bucket.own_carrier().tips(RefreshScope::Open, LEFT).unwrap(), []);
    // What was told is asked for, and not told again.
    bucket.counts();
    end(&one.later(), StatusVerb::Cancel).unwrap();
    assert!(!bucket.counts().contains_key("PUT"));
}

/// That a run is about issue 7 from now on.
fn takes_issue_7() -> WorkChange {
    WorkChange { taken: vec![WorkKey("issue 7".to_owned())], freed: Vec::new() }
}

/// The answer that `run` has taken issue 7.
fn issue_7_is_of(run: &str) -> PutAnswer {
    PutAnswer::WorkTaken { run: id(run), about: WorkKey("issue 7".to_owned()) }
}

#[test]
fn who_loses_a_position_leaves_the_marker_of_the_commit_that_has_it() {
    for before in [0, 1] {
        let bucket = Bucket::default();
        let (winner, loser, third) = (bucket.own_carrier(), bucket.own_carrier(), bucket.own_carrier());
        fill(&bucket, "same", before);
        assert_eq!(put_one(&winner, "same", before, &takes_issue_7()), PutAnswer::Done);
        assert_eq!(put_as(&loser, "same", before, "other", &takes_issue_7()), PutAnswer::Taken);
        assert_eq!(put_one(&third, "second", 0, &takes_issue_7()), issue_7_is_of("same"), "{before}");
    }
}

#[test]
fn of_two_writers_that_take_one_issue_at_one_position_one_does_and_has_it() {
    for round in 0..10 {
        let bucket = Bucket::default();
        fill(&bucket, "same", round % 2);
        let answers = thread::scope(|scope| {
            let put = |name| {
                let (bucket, before) = (bucket.clone(), round % 2);
                scope.spawn(move || put_as(&bucket.own_carrier(), "same", before, name, &takes_issue_7()))
            };
            ["one", "other"].map(put).map(|thread| thread.join().unwrap())
        });
        assert!(answers.contains(&PutAnswer::Done) && answers.contains(&PutAnswer::Taken), "{answers:?}");
        let third = bucket.own_carrier();
        assert_eq!(put_one(&third, "second", 0, &takes_issue_7()), issue_7_is_of("same"), "{answers:?}");
    }
}

#[test]
fn a_commit_whose_answer_was_lost_keeps_its_marker_when_it_is_tried_again() {
    let bucket = Bucket::default();
    let (one, third) = (bucket.own_carrier(), bucket.own_carrier());
    // Its marker, its hint, its lines.
    bucket.faults(&[Fault::None, Fault::None, Fault::AnswerLost]);
    assert!(matches!(put_one(&one, "same", 0, &takes_issue_7()), PutAnswer::Unknown(_)));
    assert_eq!(put_one(&one, "same", 0, &takes_issue_7()), PutAnswer::Taken);
    assert_eq!(put_one(&third, "second", 0, &takes_issue_7()), issue_7_is_of("same"));
    // Nor does a refusal take it that comes before a late commit.
    fill(&bucket, "late", 1);
    let work = WorkChange { taken: vec![WorkKey("issue 8".to_owned())], freed: Vec::new() };
    bucket.faults(&[Fault::None, Fault::Late]);
    assert!(matches!(put_one(&one, "late", 1, &work), PutAnswer::Unknown(_)));
    bucket.faults(&[Fault::None, Fault::None, Fault::None, Fault::Says(403, "AccessDenied")]);
    assert!(!matches!(put_one(&one, "late", 1, &work), PutAnswer::Done));
    bucket.deliver();
    let about = work.taken[0].clone();
    assert_eq!(put_one(&third, "third", 0, &work), PutAnswer::WorkTaken { run: id("late"), about });
}

#[test]
fn a_marker_whose_commit_lost_its_position_is_free_at_once() {
    let bucket = Bucket::default();
    let (dead, one, other) = (bucket.own_carrier(), bucket.own_carrier(), bucket.own_carrier());
    fill(&bucket, "same", 1);
    // It wrote its marker, and nothing more. Another writer of its run has the position, with what is about nothing.
    bucket.faults(&[Fault::None, Fault::RequestLost]);
    assert!(matches!(put_as(&dead, "same", 1, "dead", &takes_issue_7()), PutAnswer::Unknown(_)));
    assert_eq!(put_one(&one, "same", 1, &WorkChange::default()), PutAnswer::Done);
    assert_eq!(put_one(&other, "second", 0, &takes_issue_7()), PutAnswer::Done);
}

#[test]
fn a_writer_whose_process_died_is_followed_by_another_one_of_its_run() {
    let bucket = Bucket::default();
    let (dead, one) = (bucket.own_carrier(), bucket.own_carrier());
    fill(&bucket, "same", 1);
    bucket.faults(&[Fault::None, Fault::RequestLost]);
    assert!(matches!(put_as(&dead, "same", 1, "dead", &takes_issue_7()), PutAnswer::Unknown(_)));
    // The place of the dead one is taken, and then its own.
    assert_eq!(put_one(&one, "same", 1, &takes_issue_7()), PutAnswer::Taken);
    assert!(one.lines_behind(&id("same"), Seq(1), LEFT).unwrap().is_some_and(|behind| behind.lines.is_empty()));
    assert_eq!(put_one(&one, "same", 1, &takes_issue_7()), PutAnswer::Done);
    assert_eq!(put_one(&dead, "second", 0, &takes_issue_7()), issue_7_is_of("same"));
}

/// Why a server is not reached.
#[track_caller]
fn not_reached(carrier: &S3Carrier) -> String {
    match carrier.tips(RefreshScope::Open, Duration::from_secs(1)) {
        Err(NoAnswer::NotReached(why)) => why,
        answer => panic!("{answer:?}"),
    }
}

#[test]
fn no_message_shows_a_secret_or_a_signed_address() {
    let bucket = Bucket::default();
    let place = |variables: &[(&'static str, &str)]| {
        let mut all = BTreeMap::from(bucket.variables());
        all.extend(variables.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let env = CloudEnv::from_lookup(|name| all.get(name).map(Into::into));
        let place = S3Place::from_environment("s3://runs", &env).unwrap();
        (format!("{env:?}{place:?}"), S3Carrier::new(&place, env))
    };
    let wrong = [("AWS_SECRET_ACCESS_KEY", "another-secret"), ("AWS_SESSION_TOKEN", "a-token")];
    let (shown, carrier) = place(&wrong);
    let carrier = carrier.unwrap();
    let NoAnswer::Refused(why) = carrier.tips(RefreshScope::Open, LEFT).unwrap_err() else { panic!("it was reached") };
    assert_eq!(why, "it does not know this access key, or the secret is another one");
    // Nothing listens there any more.
    let gone = { Bucket::default().variables()[3].1.clone() };
    let refused = not_reached(&place(&[("AWS_ENDPOINT_URL_S3", &gone)]).1.unwrap());
    let (_, proxied) = place(&[("HTTP_PROXY", "http://user:pass-word@127.0.0.1:1")]);
    let proxied = proxied.unwrap();
    let by_proxy = not_reached(&proxied);
    let (_, no_file) = place(&[("SSL_CERT_FILE", "/nowhere/ca.pem")]);
    let no_file = no_file.unwrap_err();
    assert_eq!(no_file, "SSL_CERT_FILE names /nowhere/ca.pem, which does not exist");
    for text in [&shown, &why, &refused, &by_proxy, &format!("{carrier:?}"), &format!("{proxied:?}")] {
        for secret in ["another-secret", "a-token", "X-Amz", "pass-word", "it/is+secret"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

/// A proxy that connects its clients with whom they ask for. Says how many asked. It ends with the process.
fn proxy() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let mut from = BufReader::new(client.try_clone().unwrap());
            let mut head = String::new();
            while from.read_line(&mut head).unwrap() > 2 {}
            count.fetch_add(1, Ordering::SeqCst);
            let server = TcpStream::connect(head.split(' ').nth(1).unwrap()).unwrap();
            (&client).write_all(b"HTTP/1.1 200 ok\r\n\r\n").unwrap();
            let (mut to, mut back) = (server.try_clone().unwrap(), server);
            thread::spawn(move || std::io::copy(&mut from, &mut to));
            thread::spawn(move || std::io::copy(&mut back, &mut &client));
        }
    });
    (format!("http://{address}"), asked)
}

#[test]
fn requests_go_through_the_proxy_that_the_environment_names_unless_the_host_is_exempt() {
    let bucket = Bucket::default();
    let (proxy, asked) = proxy();
    let ask = |exempt: &str| {
        let mut all = BTreeMap::from(bucket.variables());
        all.extend([("HTTP_PROXY", proxy.clone()), ("NO_PROXY", exempt.to_owned())]);
        let env = CloudEnv::from_lookup(|name| all.get(name).map(Into::into));
        let carrier = S3Carrier::from_environment("s3://runs/team", env).unwrap();
        assert_eq!(carrier.tips(RefreshScope::All, LEFT), Ok(vec![]));
        asked.swap(0, Ordering::SeqCst)
    };
    // Both requests use one connection.
    assert_eq!((ask("example.com"), ask("example.com, 127.0.0.1")), (1, 0));
}

#[test]
fn a_name_with_a_dot_is_a_run_like_others() {
    let bucket = Bucket::default();
    let carrier = bucket.own_carrier();
    assert_eq!(put_one(&carrier, "a.b", 0, &WorkChange::default()), PutAnswer::Done);
    assert_eq!(bucket.names(), ["logs/a%2Eb/0000000001", "open/a%2Eb"]);
    assert_eq!(carrier.tips(RefreshScope::Open, LEFT).unwrap()[0].run, id("a.b"));
    assert!(carrier.lines(&id("a.b"), Seq(1), None, LEFT).unwrap().is_some());
    assert_eq!(carrier.lines(&id("a.c"), Seq(1), None, LEFT), Ok(None));
    carrier.remove(&id("a.b"), LEFT).unwrap();
    assert_eq!(bucket.names(), [""; 0]);
}

#[test]
fn a_run_that_is_listed_and_was_never_begun_is_no_lost_one() {
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    bucket.insert(&format!("open/{RUN}"), "{\"seq\":0,\"event\":null,\"at\":null}\n", None);
    assert_eq!(one.shared().refresh(RefreshScope::All, &request()).unwrap(), [""; 0]);
    start_as(&one.context(), RUN, Some(7)).unwrap();
    assert_eq!(one.shared().refresh(RefreshScope::All, &request()).unwrap(), [""; 0]);
}

#[test]
fn the_log_of_a_run_that_is_over_is_looked_at_when_the_run_is_named() {
    let [bucket, other] = [Bucket::default(), Bucket::default()];
    for (bucket, work) in [(&bucket, "work"), (&other, "other")] {
        let machine: SharedInBucket = Machine::with(bucket.clone());
        start_as(&machine.context(), RUN, None).unwrap();
        record(&machine.context(), work).unwrap();
        end(&machine.context(), StatusVerb::Cancel).unwrap();
    }
    let machine: SharedInBucket = Machine::with(bucket.clone());
    ask(&machine);
    let flaws = |of: Option<&RunId>| machine.shared().flaws(of, &|_| Vec::new(), &request()).unwrap();
    assert_eq!((flaws(Some(&run_id())), flaws(None)), (vec![], vec![]));
    let changed = "logs/run-1/0000000002";
    bucket.insert(changed, &other.body(changed).unwrap(), None);
    let found = flaws(Some(&run_id()));
    assert!(matches!(&*found, [StoreFlaw::Damaged { .. }]), "{found:?}");
    // Of all runs those are many, and each costs several requests.
    assert_eq!(flaws(None), []);
}
