use serde_json::json;

use super::*;
use crate::model::{LogRepaired, Number, RenumberedEvent, SessionId, UnknownEvent};

fn event(seq: u64, id: &str) -> Event {
    let kind = EventKind::Unknown(UnknownEvent { version: 1, kind: "noted".to_owned(), body: Map::new() });
    let at = "2026-05-20T14:30:00Z".parse().unwrap();
    Event { seq: Seq(seq), id: EventId::new(id).unwrap(), at, kind, run: None, recap: None }
}

fn begin() -> Event {
    let started = json!({"v": 1, "seq": 1, "id": "begin", "at": "2026-05-20T14:30:00Z", "type": "run_started",
        "run_id": "r", "workflow": "w", "workflow_version": 1, "goal": null, "context": {}, "limits": {},
        "phase": "a", "session": null, "machine": null});
    Event::from_object(started.as_object().unwrap()).unwrap()
}

fn document() -> RunDocument {
    RunState::begin(&begin()).unwrap().into_document()
}

fn repair(seq: u64, id: &str, lost: Vec<LostRange>, renumbered: Vec<RenumberedEvent>) -> Event {
    let repair = LogRepaired {
        lost,
        renumbered,
        salvaged: Vec::new(),
        reason: String::new(),
        settled: Vec::new(),
        quarantined: None,
        machine: None,
        document: document(),
        text: String::new(),
    };
    Event { kind: EventKind::LogRepaired(Box::new(repair)), ..event(seq, id) }
}

fn ids(lines: &[Event]) -> (Vec<&str>, Vec<Vec<&str>>, usize) {
    let names: Vec<&Event> = lines.iter().collect();
    let found = Histories::of(&names);
    let id = |&at: &usize| lines[at].id.as_str();
    let sides = found.sides.iter().map(|side| side.new.iter().map(id).collect()).collect();
    (found.main.iter().map(id).collect(), sides, found.repeats)
}

#[test]
fn a_log_whose_positions_rise_is_one_history() {
    let lines = [event(1, "a"), event(2, "b"), event(5, "c")];
    assert_eq!(ids(&lines), (vec!["a", "b", "c"], Vec::<Vec<&str>>::new(), 0));
}

#[test]
fn where_positions_start_over_another_history_begins() {
    let lines = [event(1, "a"), event(2, "ours"), event(3, "ours-2"), event(2, "theirs"), event(3, "theirs-2")];
    assert_eq!(ids(&lines), (vec!["a", "ours", "ours-2"], vec![vec!["theirs", "theirs-2"]], 0));
}

#[test]
fn whoever_calls_an_event_lost_that_is_there_was_on_another_branch() {
    let lost = vec![LostRange { from: Seq(2), to: Seq(2) }];
    let lines = [begin(), event(2, "theirs"), repair(3, "gap", lost, Vec::new()), event(4, "ours")];
    assert_eq!(ids(&lines), (vec!["begin", "theirs"], vec![vec!["gap", "ours"]], 0));
    // Unless a repair has joined both since.
    let moved = |id: &str, seq| RenumberedEvent {
        id: EventId::new(id).unwrap(),
        seq_before: Seq(seq),
        seq: Seq(seq),
        number_before: None,
        number: None,
    };
    let joined = repair(5, "joined", Vec::new(), vec![moved("gap", 3), moved("ours", 4)]);
    let [first, theirs, gap, ours] = lines;
    let lines = [first, theirs, gap, ours, joined];
    assert_eq!(ids(&lines), (vec!["begin", "theirs", "gap", "ours", "joined"], Vec::<Vec<&str>>::new(), 0));
}

#[test]
fn an_event_that_was_moved_before_is_known_by_its_id_and_time() {
    let lines = [event(1, "a"), event(2, "ours"), event(3, "theirs"), event(2, "theirs"), event(3, "new")];
    assert_eq!(ids(&lines), (vec!["a", "ours", "theirs"], vec![vec!["new"]], 1));
}

#[test]
fn what_one_side_changed_is_taken_and_what_both_changed_is_said() {
    let base = document();
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.goal = Some("ours".to_owned());
    theirs.goal = Some("theirs".to_owned());
    theirs.context.insert("pr".to_owned(), json!(7));
    ours.state.completed_activities.push("one");
    theirs.state.completed_activities.push("two");
    theirs.state.current_phase = Some(StateName::new("b").unwrap());
    let join = join([&base, &ours, &theirs], &[], None);
    assert_eq!(join.settled, ["goal was \"ours\" and \"theirs\": it is \"ours\""]);
    assert_eq!(join.document.context["pr"], 7);
    assert_eq!(join.document.state.completed_activities.iter().collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(join.document.state.current_phase, theirs.state.current_phase);
}

#[test]
fn an_entry_that_one_side_took_off_and_one_that_both_have_are_not_repeated() {
    let list = |ids: &[&str]| {
        let mut run = document();
        ids.iter().for_each(|id| run.state.completed_activities.push(id));
        run
    };
    let (base, ours, theirs) = (list(&["a", "b"]), list(&["a", "b", "c", "d"]), list(&["b", "d", "e"]));
    let join = join([&base, &ours, &theirs], &["d".to_owned()], None);
    assert_eq!(join.document.state.completed_activities.iter().collect::<Vec<_>>(), ["b", "c", "d", "e"]);
}

#[test]
fn an_end_counts_more_than_a_block_and_leaves_nothing_open() {
    let base = document();
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.state.status = RunStatus::Blocked;
    ours.state.blocked_reason = Some("a key".to_owned());
    theirs.state.status = RunStatus::Completed;
    let join = join([&base, &ours, &theirs], &[], None);
    assert_eq!((join.document.state.status, join.document.state.blocked_reason), (RunStatus::Completed, None));
    assert_eq!(join.settled, ["the run was completed and blocked: it is completed"]);
}

#[test]
fn the_later_claim_stands_and_no_number_is_given_twice() {
    let base = document();
    let of = |session: &str, epoch, number| {
        let mut run = base.clone();
        run.state.session = Some(SessionId::new(session).unwrap());
        (run.state.epoch, run.state.last_number) = (epoch, Number(number));
        run
    };
    let (early, late) = (of("s1", 1, 5), of("s2", 2, 3));
    for (ours, theirs) in [(&early, &late), (&late, &early)] {
        let state = join([&base, ours, theirs], &[], None).document.state;
        assert_eq!(state.session.as_ref().map(SessionId::as_str), Some("s2"));
        assert_eq!((state.epoch, state.last_number), (2, Number(5)));
    }
}

#[test]
fn what_failed_in_either_history_is_told_until_one_of_them_settled_it_or_left_its_phase() {
    let unsettled = |ids: &[(&str, &str)]| {
        let one = |(id, phase): &(&str, &str)| UnsettledActivity {
            id: (*id).to_owned(),
            phase: StateName::new(*phase).unwrap(),
            blocked: false,
        };
        let mut run = document();
        run.state.unsettled = ids.iter().map(one).collect();
        run
    };
    let ids = |run: &RunDocument| run.state.unsettled.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    let base = unsettled(&[("old", "a"), ("kept", "a")]);
    let ours = unsettled(&[("old", "a"), ("kept", "a"), ("ours", "a")]);
    let theirs = unsettled(&[("kept", "a"), ("theirs", "a"), ("late", "z")]);
    assert_eq!(ids(&join([&base, &ours, &theirs], &[], None).document), ["kept", "ours", "theirs", "late"]);
    // One of them went on to another phase.
    let mut moved = ours.clone();
    moved.state.current_phase = Some(StateName::new("b").unwrap());
    moved.state.unsettled.clear();
    assert_eq!(ids(&join([&base, &moved, &theirs], &[], None).document), ["late"]);
}
