//! What verbs make of a store.

use std::thread;
use std::time::Duration;

use flowrun::model::{ActivityId, Issue, RunId, RunStatus, Seq, SessionId};
use flowrun::runs::{
    self, CardFilter, CardGroup, ClaimRequest, Context, Cursor, EmitRequest, Feed, ListFilter, LogRequest,
    RecordRequest, ReportRequest, ResumeRequest, RunReport, RunRequest, SetRequest, ShowRequest, StartRequest,
    StatusRequest, StatusVerb,
};
use flowrun::store::StoredRun;
use serde_json::json;

use crate::tested_store::TestedStore;

const RUN: &str = "run-1";

fn started(cx: &Context) -> RunId {
    let id = Some(RunId::new(RUN).unwrap());
    // Otherwise the directory of the test would be the name of the repository.
    let (workflow, repo) = ("debug".to_owned(), Some("parser".to_owned()));
    let request = StartRequest { workflow, id, repo, issue: Some(Issue::Number(7)), ..StartRequest::default() };
    runs::start(cx, &request).unwrap().run_id
}

fn work(id: &str, advance: bool) -> RecordRequest {
    let id = Some(ActivityId::new(id).unwrap());
    let advance = advance.then_some(runs::Advance::Next);
    RecordRequest { run: Some(RUN.to_owned()), id, advance, ..RecordRequest::default() }
}

fn status(verb: StatusVerb) -> StatusRequest {
    let (run, reason) = (Some(RUN.to_owned()), Some("for the test".to_owned()));
    StatusRequest { run, reason, skip_reason: reason_of(verb), ..StatusRequest::new(verb) }
}

fn reason_of(verb: StatusVerb) -> Option<String> {
    (verb == StatusVerb::Complete).then(|| "the rest is of no use here".to_owned())
}

fn stored(tested: &dyn TestedStore) -> Box<dyn StoredRun> {
    tested.store().open(&RunId::new(RUN).unwrap()).unwrap()
}

/// All that a run says: its text, its log and its activities.
fn all_of(run: &dyn StoredRun) -> Vec<String> {
    let log = run.log().unwrap();
    let lines = log.events().map(|event| json!(event).to_string());
    let names = run.activity_names().unwrap();
    let activities = names.iter().map(|(_, name)| format!("{name}\n{}", run.activity(name).unwrap().unwrap()));
    run.text().unwrap().into_iter().chain(lines).chain(activities).collect()
}

/// A run with some of everything, as its store has it in the end.
pub fn whole_run(tested: &dyn TestedStore) -> Vec<String> {
    let cx = &tested.context();
    started(cx);
    runs::record_activity(cx, &work("look-around", true)).unwrap();
    let text = stored(tested).text().unwrap().unwrap();
    tested.save(&RunId::new(RUN).unwrap(), Some(&text.replace("issue: 7", "issue: 8 # the right one")));
    runs::record_activity(cx, &work("reproduced", false)).unwrap();
    runs::set(cx, &SetRequest { run: Some(RUN.into()), goal: Some("no crash".into()), ..SetRequest::default() })
        .unwrap();
    for verb in [StatusVerb::Block, StatusVerb::Unblock, StatusVerb::Complete, StatusVerb::Reopen, StatusVerb::Cancel] {
        runs::change_status(cx, &status(verb)).unwrap();
    }
    all_of(&*stored(tested))
}

pub fn a_run_goes_from_its_start_to_its_end(tested: &dyn TestedStore) {
    let said = whole_run(tested);
    assert!(said[0].contains("issue: 8 # the right one") && said[0].contains("status: cancelled"), "{}", said[0]);
    let cx = &tested.context();
    let list = runs::list(cx, &ListFilter::default()).unwrap();
    assert_eq!((list.runs.len(), list.unreadable), (1, vec![]));
    assert_eq!(list.runs[0].run.head.status, RunStatus::Cancelled);
    assert_eq!(runs::log(cx, &LogRequest { run: Some(RUN.into()), ..LogRequest::default() }).unwrap().skipped, []);
}

pub fn many_writers_at_once_lose_nothing_and_use_no_position_twice(tested: &dyn TestedStore) {
    started(&tested.context());
    let writer = |writer: usize| {
        let cx = tested.context();
        let record =
            |nth: usize| runs::record_activity(&cx, &work(&format!("work-{writer}-{nth}"), false)).unwrap().seq;
        (0..5).map(record).collect::<Vec<_>>()
    };
    let mut given: Vec<Seq> = thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|nth| scope.spawn(move || writer(nth))).collect();
        all.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });
    given.sort_unstable();
    assert_eq!(given, (2..42).map(Seq).collect::<Vec<_>>());
    let run = stored(tested);
    let log = run.log().unwrap();
    assert_eq!((log.last_seq(), log.gaps(), log.doubles()), (Seq(41), vec![], vec![]));
    let numbers: Vec<_> = run.activity_names().unwrap().into_iter().map(|(number, _)| number.0).collect();
    assert_eq!(numbers, (1..41).collect::<Vec<_>>());
}

pub fn a_repeated_record_with_an_id_is_recorded_once(tested: &dyn TestedStore) {
    let cx = &tested.context();
    started(cx);
    let first = runs::record_activity(cx, &work("once", false)).unwrap();
    let second = runs::record_activity(cx, &work("once", false)).unwrap();
    assert_eq!((first.seq, first.repeated), (Seq(2), false));
    assert_eq!((second.seq, second.number, second.repeated), (Seq(2), first.number, true));
}

pub fn an_edit_by_hand_is_adopted_by_the_next_record(tested: &dyn TestedStore) {
    let cx = &tested.context();
    let id = started(cx);
    let text = stored(tested).text().unwrap().unwrap();
    tested.save(&id, Some(&text.replace("issue: 7", "issue: 9")));
    assert_eq!(runs::record_activity(cx, &work("after", false)).unwrap().seq, Seq(3));
    let log = stored(tested).log().unwrap();
    let kinds: Vec<_> = log.events().map(|event| event.kind.name().to_owned()).collect();
    assert_eq!(kinds, ["run_started", "run_edited", "activity_recorded"]);
    assert!(stored(tested).text().unwrap().unwrap().contains("issue: 9"));
}

pub fn a_run_without_its_text_is_rebuilt_from_its_log(tested: &dyn TestedStore) {
    let cx = &tested.context();
    let id = started(cx);
    runs::record_activity(cx, &work("before", false)).unwrap();
    tested.save(&id, None);
    let report = runs::record_activity(cx, &work("after", false)).unwrap();
    assert_eq!((report.seq, report.completed_activities), (Seq(3), 2));
    assert!(report.warnings.iter().any(|warning| warning.contains("rebuilt")), "{:?}", report.warnings);
}

pub fn who_lost_a_run_to_a_claim_cannot_write_to_it(tested: &dyn TestedStore) {
    let cx = &tested.context();
    started(cx);
    let claim = |session: &str, how| {
        let (session, run, claim) = (Some(SessionId::new(session).unwrap()), Some(RUN.to_owned()), Some(how));
        runs::resume(cx, &ResumeRequest { run, session, claim, ..ResumeRequest::default() }).unwrap().claim.unwrap()
    };
    let first = claim("first", ClaimRequest::Claim);
    let second = claim("second", ClaimRequest::TakeOver);
    assert_eq!(second.epoch, first.epoch + 1);
    let late = RecordRequest {
        session: Some(SessionId::new("first").unwrap()),
        epoch: Some(first.epoch),
        ..work("too-late", false)
    };
    let refused = runs::record_activity(cx, &late).unwrap_err();
    assert!(matches!(refused, runs::Error::Refused { .. }), "{refused}");
    let last = stored(tested).log().unwrap().last_seq();
    assert_eq!(last, Seq(3));
}

pub fn a_run_that_ends_is_open_no_more_and_goes_on_when_it_is_reopened(tested: &dyn TestedStore) {
    let cx = &tested.context();
    let id = started(cx);
    runs::change_status(cx, &status(StatusVerb::Cancel)).unwrap();
    let meant = || runs::meant_run(cx, None, None).unwrap();
    assert_eq!((meant().run_id, meant().is_sure), (id.clone(), false));
    let reopen = StatusRequest { run: Some(id.to_string()), ..status(StatusVerb::Reopen) };
    runs::change_status(cx, &reopen).unwrap();
    assert_eq!((meant().run_id, meant().is_sure), (id, true));
    assert!(runs::record_activity(cx, &work("again", false)).is_ok());
}

pub fn reports_begin_a_run_and_carry_it_to_its_end(tested: &dyn TestedStore) {
    let cx = &tested.context();
    let report = |step: &str, status: &str| {
        let report = ReportRequest {
            kind: Some("status_change".to_owned()),
            step: Some(step.to_owned()),
            unit: None,
            data: Some(json!({ "status": status, "feature": "parser" })),
        };
        let (workflow, run) = ("debug".to_owned(), RUN.to_owned());
        runs::emit(cx, &EmitRequest { workflow, run, reports: vec![report], ..EmitRequest::default() }).unwrap().data
    };
    assert!(report("preflight", "running").created);
    let second = report("preflight", "completed");
    assert_eq!((second.created, second.seq, second.activities.len()), (false, Seq(3), 1));
    let found = runs::list(cx, &ListFilter { feature: Some("parser".into()), ..ListFilter::default() }).unwrap();
    assert_eq!(found.runs.len(), 1);
    runs::change_status(cx, &status(StatusVerb::Fail)).unwrap();
    assert_eq!(
        runs::show(cx, &ShowRequest { run: Some(RUN.to_owned()), ..ShowRequest::default() }).unwrap().document["state"]
            ["status"],
        "failed"
    );
}

/// What the feed shows of a run, and that it is what reading everything anew shows.
fn seen(cx: &Context, feed: &mut Feed) -> RunReport {
    let run = RunId::new(RUN).unwrap();
    let request = RunRequest { run: Some(RUN.to_owned()), ..RunRequest::default() };
    let mut anew = runs::run_report(cx, &request).unwrap();
    let kept = feed.run(&run).unwrap().report(None).unwrap();
    // The clock goes on between the two.
    (anew.timeline.to, anew.timeline.worked_ms) = (kept.timeline.to, kept.timeline.worked_ms);
    assert_eq!(kept, anew);
    assert_eq!(feed.card(&run).as_ref(), Some(&anew.card));
    let mut log = runs::log(cx, &LogRequest { run: Some(RUN.into()), ..LogRequest::default() }).unwrap();
    // The pages have the verdict beside the log.
    log.warnings.clear();
    assert_eq!(feed.run(&run).unwrap().log(Seq(0), usize::MAX), log);
    let shown = runs::show(cx, &ShowRequest { run: Some(RUN.to_owned()), ..ShowRequest::default() }).unwrap();
    let mut activities = feed.run(&run).unwrap().activities(None, 0, usize::MAX);
    activities.reverse();
    assert_eq!((activities, &anew.steps), (shown.activities, &shown.steps));
    for at in 1..=anew.last.0 {
        let then = runs::show(
            cx,
            &ShowRequest { at: Some(at), ..ShowRequest { run: Some(RUN.to_owned()), ..Default::default() } },
        );
        assert_eq!(feed.run(&run).unwrap().report(Some(Seq(at))).unwrap().steps, then.unwrap().steps, "event {at}");
    }
    anew
}

pub fn a_feed_shows_what_reading_anew_shows(tested: &dyn TestedStore) {
    let cx = &tested.context();
    let mut feed = Feed::open(cx).unwrap();
    started(cx);
    let run = RunId::new(RUN).unwrap();
    assert_eq!(feed.look().unwrap(), std::slice::from_ref(&run));
    seen(cx, &mut feed);
    assert_eq!(feed.look().unwrap(), []);
    let start = feed.run(&run).unwrap().events_after(&Cursor { seq: Seq(0), id: None }, 10);
    assert_eq!((start.events.len(), start.reset, start.more), (1, false, false));
    runs::record_activity(cx, &work("look-around", true)).unwrap();
    assert_eq!(feed.look_at(std::slice::from_ref(&run)).unwrap(), std::slice::from_ref(&run));
    seen(cx, &mut feed);
    let next = feed.run(&run).unwrap().events_after(&start.cursor, 10);
    assert_eq!((next.events.len(), next.reset), (1, false));
    let text = stored(tested).text().unwrap().unwrap();
    tested.save(&run, Some(&text.replace("status: active", "status: blocked")));
    feed.look().unwrap();
    assert_eq!(seen(cx, &mut feed).card.group, CardGroup::Waits);
    runs::change_status(cx, &status(StatusVerb::Unblock)).unwrap();
    feed.look().unwrap();
    seen(cx, &mut feed);
    // Another history takes the place of the last two events.
    tested.put_log(&run, &|log| log.lines().take(2).map(|line| format!("{line}\n")).collect());
    feed.look().unwrap();
    assert_eq!(seen(cx, &mut feed).card.group, CardGroup::Waits);
    let after = feed.run(&run).unwrap().events_after(&Cursor { seq: Seq(4), id: None }, 10);
    assert_eq!((after.events.len(), after.reset), (2, true));
    let kept = feed.run(&run).unwrap().events_after(&next.cursor, 10);
    assert_eq!((kept.events.len(), kept.reset), (0, false));
}

pub fn a_feed_counts_the_runs_of_each_group(tested: &dyn TestedStore) {
    let cx = &tested.context();
    started(cx);
    let mut feed = Feed::open(cx).unwrap();
    let counts = |feed: &Feed, filter: &CardFilter| -> Vec<usize> {
        feed.cards(filter).groups.iter().map(|group| group.total).collect()
    };
    assert_eq!(counts(&feed, &CardFilter::default()), [0, 0, 0, 0, 1, 0]);
    let of = |search: &str| CardFilter { search: Some(search.to_owned()), ..CardFilter::default() };
    assert_eq!(counts(&feed, &of("#7")), [0, 0, 0, 0, 1, 0]);
    assert_eq!(counts(&feed, &of("elsewhere")), [0; 6]);
    runs::change_status(cx, &status(StatusVerb::Cancel)).unwrap();
    feed.look().unwrap();
    assert_eq!(counts(&feed, &CardFilter::default()), [0, 0, 0, 0, 0, 1]);
    assert_eq!(feed.cards(&CardFilter::default()).groups[5].cards, []);
    let over = CardFilter { group: Some(CardGroup::Over), ..CardFilter::default() };
    assert_eq!(feed.cards(&over).groups[5].cards.len(), 1);
}

pub fn a_followed_log_ends_with_its_run(tested: &dyn TestedStore) {
    let cx = &tested.context();
    started(cx);
    let request = LogRequest { run: Some(RUN.into()), ..LogRequest::default() };
    let mut follow = runs::follow(cx, &request).unwrap();
    assert_eq!(follow.poll().unwrap().events.len(), 1);
    assert!(!follow.is_over().unwrap());
    runs::change_status(cx, &status(StatusVerb::Cancel)).unwrap();
    assert!(follow.is_over().unwrap());
    assert_eq!(follow.poll().unwrap().events.len(), 1);
    thread::sleep(Duration::ZERO);
}
