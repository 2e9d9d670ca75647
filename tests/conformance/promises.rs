//! What a store does with the events that it is given.

use std::thread;
use std::time::Duration;

use flowrun::codec::LogEnd;
use flowrun::model::{
    Activity, ActivityRecorded, Event, EventId, EventKind, Number, RunId, RunStatus, Seq, StatusChange,
};
use flowrun::store::RunStamp;
use flowrun::store::{
    ActivityFile, Batch, CommitReceipt, NewRun, Noted, ReadPosition, RunWriter, StoreError, StoredRun, WorkChange,
    WriteRequest, Writer,
};
use serde_json::json;

use crate::tested_store::TestedStore;

fn run_id(id: &str) -> RunId {
    RunId::new(id).unwrap()
}

fn request() -> WriteRequest {
    let writer = Writer { pid: std::process::id(), command: "a test".into(), since: now() };
    WriteRequest { wait: Duration::from_secs(30), writer, boot: "this boot".into() }
}

fn now() -> flowrun::model::Timestamp {
    "2026-05-20T14:30:00Z".parse().unwrap()
}

/// An event without an activity.
fn plain(seq: u64, reason: &str) -> Event {
    let kind = EventKind::RunBlocked(StatusChange {
        from: RunStatus::Active,
        reason: Some(reason.to_owned()),
        skipped: None,
        session: None,
    });
    Event { seq: Seq(seq), id: EventId::new(format!("event-{seq}")).unwrap(), at: now(), kind, run: None, recap: None }
}

/// The record of an activity.
fn record(seq: u64, number: u64) -> Event {
    let activity = json!({
        "apiVersion": "flow.synapti.ai/v1",
        "kind": "FlowActivity",
        "metadata": { "id": format!("work-{number}"), "run_id": "run-1" },
        "activity": { "type": "task", "status": "passed" },
    });
    let activity = Activity::new(activity.as_object().unwrap().clone()).unwrap();
    let kind =
        EventKind::ActivityRecorded(Box::new(ActivityRecorded::new(Number(number), "plan".parse().unwrap(), activity)));
    Event { kind, ..plain(seq, "") }
}

fn text(seq: u64) -> String {
    format!("shows: {seq}\n")
}

pub fn new(id: &str) -> NewRun {
    NewRun { id: run_id(id), text: text(1), events: vec![plain(1, "begun")], work: Vec::new() }
}

/// The run `run-1` with its first event.
fn begun(tested: &dyn TestedStore) -> Box<dyn StoredRun> {
    tested.store().create(&request(), None, &mut |_| Some(new("run-1"))).unwrap()
}

/// Commits these events on top of the text that shows the one before.
fn commit(writer: &mut dyn RunWriter, events: &[Event]) -> Result<CommitReceipt, StoreError> {
    let (before, last) = (events[0].seq.0 - 1, events.last().unwrap().seq.0);
    let (old_text, new_text, work) = (&text(before), &text(last), WorkChange::default());
    writer.commit(&Batch { events, earlier: &[], old_text, new_text, work }, &mut |_| None)
}

/// A run with the events 1 to 3, of which the third one records an activity.
fn three(tested: &dyn TestedStore) -> Box<dyn StoredRun> {
    let run = begun(tested);
    let mut writer = run.begin(&request()).unwrap();
    assert_eq!(commit(&mut *writer, &[plain(2, "waits")]).unwrap().seq, Seq(2));
    assert_eq!(commit(&mut *writer, &[record(3, 1)]).unwrap().seq, Seq(3));
    drop(writer);
    run
}

pub fn a_run_that_was_created_is_listed_and_can_be_opened(tested: &dyn TestedStore) {
    let store = tested.store();
    assert_eq!(store.ids().unwrap(), []);
    assert_eq!(begun(tested).id(), &run_id("run-1"));
    assert_eq!(store.ids().unwrap(), [run_id("run-1")]);
    assert_eq!(store.maybe_open(None).unwrap().ids, [run_id("run-1")]);
    let others = store.listing(&|finished| assert_eq!(finished, [], "it is not over")).unwrap();
    assert_eq!(others, [run_id("run-1")]);
    let run = store.open(&run_id("run-1")).unwrap();
    assert_eq!(run.text().unwrap(), Some(text(1)));
    assert_eq!(run.log().unwrap().events().cloned().collect::<Vec<_>>(), [plain(1, "begun")]);
    assert_eq!(run.first_event().unwrap(), Some(plain(1, "begun")));
    assert_eq!(run.activity_names().unwrap(), []);
}

pub fn a_run_that_is_not_there_is_not_found(tested: &dyn TestedStore) {
    let _ = begun(tested);
    assert!(tested.store().open(&run_id("run-2")).unwrap_err().is_not_found());
    let mut seen = Vec::new();
    let both = [run_id("run-2"), run_id("run-1")];
    tested.store().each(&both, &mut |id, run| seen.push((id.clone(), run.is_ok()))).unwrap();
    assert_eq!(seen, [(run_id("run-1"), true)]);
}

pub fn an_id_that_is_taken_is_not_given_again(tested: &dyn TestedStore) {
    let store = tested.store();
    let _ = begun(tested);
    let again = store.create(&request(), None, &mut |nth| (nth == 1).then(|| new("run-1")));
    assert!(matches!(again, Err(StoreError::Taken { .. })), "{again:?}");
    let next = store.create(&request(), None, &mut |nth| Some(new(&format!("run-{nth}")))).unwrap();
    assert_eq!(next.id(), &run_id("run-2"));
}

pub fn of_many_creators_of_one_id_one_succeeds(tested: &dyn TestedStore) {
    // Each is another operation: one that is repeated would succeed again.
    let new_by = |creator: usize| {
        let mut new = new("run-1");
        new.events[0].id = EventId::new(format!("creator-{creator}")).unwrap();
        new
    };
    let create = |creator: usize| {
        tested.store().create(&request(), None, &mut |nth| (nth == 1).then(|| new_by(creator))).is_ok()
    };
    let created = thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|creator| scope.spawn(move || create(creator))).collect();
        all.into_iter().map(|one| one.join().unwrap()).filter(|created| *created).count()
    });
    assert_eq!(created, 1);
}

pub fn events_come_back_as_they_were_committed(tested: &dyn TestedStore) {
    let run = three(tested);
    let read = |run: &dyn StoredRun| run.log().unwrap().events().cloned().collect::<Vec<_>>();
    let all = [plain(1, "begun"), plain(2, "waits"), record(3, 1)];
    assert_eq!(read(&*run), all);
    assert_eq!(read(&*tested.store().open(run.id()).unwrap()), all);
    assert_eq!(run.noted(), Seq(3));
}

pub fn a_batch_is_committed_as_a_whole_or_not_at_all(tested: &dyn TestedStore) {
    let run = begun(tested);
    let mut writer = run.begin(&request()).unwrap();
    let too_long = "x".repeat(flowrun::model::limits::LINE_BYTES);
    let refused = commit(&mut *writer, &[plain(2, "short"), plain(3, &too_long)]);
    assert!(matches!(refused, Err(StoreError::TooLong { .. })), "{refused:?}");
    assert_eq!(run.log().unwrap().last_seq(), Seq(1));
    assert_eq!(run.text().unwrap(), Some(text(1)));
    assert_eq!(commit(&mut *writer, &[plain(2, "short"), record(3, 1), plain(4, "last")]).unwrap().seq, Seq(4));
    assert_eq!(run.log().unwrap().last_seq(), Seq(4));
    assert_eq!(run.text().unwrap(), Some(text(4)));
    assert_eq!(run.activity_names().unwrap().len(), 1);
}

pub fn the_text_and_the_activity_files_follow_a_commit(tested: &dyn TestedStore) {
    let run = three(tested);
    assert_eq!(run.text().unwrap(), Some(text(3)));
    assert_eq!(run.activity_names().unwrap(), [(Number(1), "001-work-1.yaml".to_owned())]);
    let [file] = ActivityFile::of_all(&[record(3, 1)]).try_into().unwrap();
    assert_eq!(run.activity(&file.name).unwrap(), Some(file.text));
    assert_eq!(run.activity("002-work-2.yaml").unwrap(), None);
    let writer = run.begin(&request()).unwrap();
    assert!(!writer.is_free("001-work-1.yaml").unwrap());
    assert!(writer.is_free("002-work-2.yaml").unwrap());
}

pub fn the_end_of_a_log_says_what_the_whole_log_says(tested: &dyn TestedStore) {
    let run = three(tested);
    let log = run.log().unwrap();
    let mut writer = run.begin(&request()).unwrap();
    assert!(writer.is_as_left());
    for since in [0, 1, 2, 3, u64::MAX].map(Seq) {
        assert_eq!(run.end(since).unwrap(), Some(LogEnd::of(&log, since)), "{since}");
        writer.read_end(since).unwrap();
        assert_eq!(writer.end(), &LogEnd::of(&log, since), "{since}");
    }
    assert_eq!(writer.log().unwrap(), log);
}

pub fn events_in_which_a_text_stands_are_found_latest_first(tested: &dyn TestedStore) {
    let run = three(tested);
    let mut writer = run.begin(&request()).unwrap();
    commit(&mut *writer, &[record(4, 2), plain(5, "\"work-2\", again")]).unwrap();
    let found = |text: &str| {
        let found = writer.with_text(text, &|_| false).unwrap();
        found.iter().map(|event| event.seq.0).collect::<Vec<_>>()
    };
    assert_eq!(found("\"work-2\""), [4], "a text in another text is written otherwise");
    assert_eq!(found("\"event-"), [5, 4, 3, 2, 1]);
    assert_eq!(found("\"work-1\""), [3]);
    assert_eq!(found("\"work-3\""), [0; 0]);
    let up_to = writer.with_text("\"event-", &|event| event.seq == Seq(4)).unwrap();
    assert_eq!(up_to.iter().map(|event| event.seq.0).collect::<Vec<_>>(), [5, 4]);
}

pub fn a_follower_sees_every_event_once(tested: &dyn TestedStore) {
    let run = begun(tested);
    let mut position = ReadPosition::default();
    let mut follow =
        || run.log_from(&mut position, Seq(0)).unwrap().events().map(|event| event.seq.0).collect::<Vec<_>>();
    assert_eq!(follow(), [1]);
    assert_eq!(follow(), [0; 0]);
    let mut writer = run.begin(&request()).unwrap();
    commit(&mut *writer, &[plain(2, "waits"), plain(3, "waits")]).unwrap();
    assert_eq!(follow(), [2, 3]);
    commit(&mut *writer, &[record(4, 1)]).unwrap();
    assert_eq!(follow(), [4]);
    assert_eq!(follow(), [0; 0]);
}

pub fn a_follower_that_begins_behind_an_event_sees_every_later_one_once(tested: &dyn TestedStore) {
    let run = three(tested);
    for after in 0..=5 {
        let mut position = ReadPosition::default();
        let mut follow = || -> Vec<_> {
            let scan = run.log_from(&mut position, Seq(after)).unwrap();
            scan.events().map(|event| event.seq.0).filter(|seq| *seq > after).collect()
        };
        assert_eq!(follow(), (after + 1..=3).collect::<Vec<_>>(), "after {after}");
        assert_eq!(follow(), [0; 0], "after {after}");
    }
    let mut position = ReadPosition::default();
    run.log_from(&mut position, Seq(3)).unwrap();
    let mut writer = run.begin(&request()).unwrap();
    commit(&mut *writer, &[plain(4, "waits")]).unwrap();
    let newer = run.log_from(&mut position, Seq(3)).unwrap();
    assert_eq!(newer.events().map(|event| event.seq.0).collect::<Vec<_>>(), [4]);
}

pub fn a_follower_reads_a_log_from_its_beginning_that_was_replaced(tested: &dyn TestedStore) {
    let run = three(tested);
    let mut position = ReadPosition::default();
    assert_eq!(run.log_from(&mut position, Seq(0)).unwrap().last_seq(), Seq(3));
    tested.put_log(run.id(), &|log| log.lines().take(2).map(|line| format!("{line}\n")).collect());
    let again = run.log_from(&mut position, Seq(0)).unwrap();
    assert_eq!(again.events().map(|event| event.seq.0).collect::<Vec<_>>(), [1, 2]);
}

pub fn of_two_writers_of_one_run_the_second_one_waits_or_decides_again(tested: &dyn TestedStore) {
    let run = begun(tested);
    let mut first = run.begin(&request()).unwrap();
    let second = run.begin(&WriteRequest { wait: Duration::ZERO, ..request() });
    commit(&mut *first, &[plain(2, "first")]).unwrap();
    drop(first);
    match second {
        Err(StoreError::Held { holder, .. }) => assert_eq!(holder.unwrap().command, "a test"),
        Err(other) => panic!("{other}"),
        Ok(mut second) => {
            let refused = commit(&mut *second, &[plain(2, "second")]);
            assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
        }
    }
    let mut again = run.begin(&request()).unwrap();
    assert_eq!(again.end().last, Seq(2));
    commit(&mut *again, &[plain(3, "second")]).unwrap();
    assert_eq!(run.log().unwrap().doubles(), []);
}

pub fn a_text_that_a_person_saves_during_a_commit_is_merged(tested: &dyn TestedStore) {
    let run = begun(tested);
    let mut writer = run.begin(&request()).unwrap();
    tested.save(run.id(), Some("saved: 1\n"));
    let (old, new) = (text(1), text(2));
    let (events, work) = (&[plain(2, "waits")], WorkChange::default());
    let batch = Batch { events, earlier: &[], old_text: &old, new_text: &new, work };
    let committed = writer.commit(&batch, &mut |saved| Some(format!("{saved}merged: 2\n"))).unwrap();
    assert_eq!(committed, CommitReceipt { seq: Seq(2), lagging: None });
    assert_eq!(run.text().unwrap().as_deref(), Some("saved: 1\nmerged: 2\n"));
}

pub fn a_text_that_cannot_be_merged_stays_as_the_person_saved_it(tested: &dyn TestedStore) {
    let run = begun(tested);
    let mut writer = run.begin(&request()).unwrap();
    tested.save(run.id(), Some("neither: [yaml\n"));
    assert_eq!(commit(&mut *writer, &[plain(2, "waits")]).unwrap().seq, Seq(2));
    assert_eq!(run.text().unwrap().as_deref(), Some("neither: [yaml\n"));
    assert_eq!(run.log().unwrap().last_seq(), Seq(2));
}

pub fn how_far_writers_got_is_known_after_an_older_log_was_put_back(tested: &dyn TestedStore) {
    let run = three(tested);
    tested.put_log(run.id(), &|log| log.lines().take(2).map(|line| format!("{line}\n")).collect());
    assert_eq!(run.noted(), Seq(3));
    let writer = run.begin(&request()).unwrap();
    assert_eq!(writer.noted(), Noted { seq: Seq(3), number: Number(1) });
    let last = if tested.brings_back_what_was_lost() { Seq(3) } else { Seq(2) };
    assert_eq!((writer.end().last, writer.is_as_left()), (last, tested.brings_back_what_was_lost()));
}

/// Of a store with files, since only there one can be in the way.
pub fn an_activity_file_that_was_set_aside_is_written_again(tested: &dyn TestedStore) {
    let run = three(tested);
    let files = ActivityFile::of_all(run.log().unwrap().events());
    let mut writer = run.begin(&request()).unwrap();
    let chores = writer.chores().expect("a store with files has chores");
    chores.set_aside(&files[0].name, now()).unwrap();
    assert_eq!(run.activity(&files[0].name).unwrap(), None);
    assert!(writer.is_free(&files[0].name).unwrap());
    writer.chores().unwrap().restore(&files).unwrap();
    assert_eq!(run.activity(&files[0].name).unwrap().as_ref(), Some(&files[0].text));
}

pub fn a_stamp_differs_after_every_change(tested: &dyn TestedStore) {
    let run = three(tested);
    let stamp = |ids: Option<&[RunId]>| {
        let stamps = tested.store().stamps(ids, &|_| true).unwrap();
        assert_eq!((stamps.len(), &stamps[0].0), (1, run.id()));
        assert!(matches!(stamps[0].1, RunStamp::Known(_)));
        stamps[0].1
    };
    let mut seen = vec![stamp(None)];
    assert_eq!(stamp(Some(&[run.id().clone()])), seen[0]);
    let mut is_new = || {
        let now = stamp(None);
        assert!(!seen.contains(&now), "{now:?}");
        seen.push(now);
    };
    let mut writer = run.begin(&request()).unwrap();
    commit(&mut *writer, &[plain(4, "again")]).unwrap();
    is_new();
    tested.save(run.id(), Some("saved by hand\n"));
    is_new();
    tested.put_log(run.id(), &|log| log.lines().take(2).map(|line| format!("{line}\n")).collect());
    is_new();
    tested.put_log(run.id(), &str::to_owned);
    is_new();
    assert_eq!(tested.store().stamps(None, &|_| false).unwrap(), [(run.id().clone(), RunStamp::NotDue)]);
    assert_eq!(tested.store().stamps(Some(&[]), &|_| true).unwrap(), []);
}

pub fn a_file_of_evidence_is_there_with_the_commit_that_names_it(tested: &dyn TestedStore) {
    let run = begun(tested);
    let read = || run.read_evidence("001-test.log", 2, 100).unwrap().map(|part| (part.bytes, part.len));
    assert_eq!((run.evidence().unwrap(), read()), (vec![], None));
    for (seq, bytes) in [(2, "passed"), (3, "passed"), (4, "failed twice")] {
        let mut writer = run.begin(&request()).unwrap();
        writer.put_evidence("001-test.log", bytes.as_bytes(), now()).unwrap();
        commit(&mut *writer, &[record(seq, seq)]).unwrap();
        drop(writer);
        assert_eq!(run.evidence().unwrap(), [("001-test.log".to_owned(), bytes.len() as u64)]);
        assert_eq!(read(), Some((bytes.as_bytes()[2..].to_vec(), bytes.len() as u64)));
    }
    assert!(run.evidence_limit() >= 1 << 20);
}
