//! The rules of modes, on every set of them (RCS).

use flowrun::catalog::Catalog;
use flowrun::model::{ModeName, Scope, Timestamp};
use flowrun::modes::policy::{Admission, DenialKind, ModeOutcome, Policy, PolicyDocument, read_outcome, settle};
use flowrun::modes::policy_of;
use flowrun::modes::state::{Board, ModeDraft, ModeRefusal, ModeState, RequestDetails, Visible};
use serde_json::{Map, Value, json};

const ALL: [&str; 8] =
    ["deep-interview", "blueprint", "autoresearch", "autopilot", "team", "forge", "ultrawork", "ultraqa"];
const PLANNING: [&str; 3] = ["deep-interview", "blueprint", "autoresearch"];

/// RCS's list of hand-offs.
fn hands_over(from: &str, to: &str, clean: bool) -> bool {
    match (from, to) {
        ("deep-interview", "blueprint") | ("blueprint", "team" | "forge" | "autopilot") => true,
        ("autopilot", "blueprint") => !clean,
        _ => false,
    }
}

/// RCS's list of overlaps.
fn overlaps(one: &str, other: &str) -> bool {
    matches!((one, other), ("team", "forge") | ("forge", "team") | ("ultrawork", _) | (_, "ultrawork"))
}

fn shipped() -> Policy {
    policy_of(&Catalog::new(std::sync::Arc::new(flowrun::disk::Os), None)).unwrap().0
}

fn now() -> Timestamp {
    "2026-05-20T14:30:00Z".parse().unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("no object: {value}") };
    object
}

fn name(mode: &str) -> ModeName {
    mode.parse().unwrap()
}

/// A board on which these began one after the other.
fn board(scope: &Scope, active: &[&str]) -> Board {
    let mut board = Board::default();
    for (at, mode) in active.iter().enumerate() {
        let state =
            json!({ "mode": mode, "active": true, "started_at": format!("2026-05-20T14:00:0{at}.000Z"), "mine": at });
        board.set(scope, &name(mode), Some(ModeState::Known(object(state))));
    }
    board
}

/// Every set of modes, each asked for every mode, with a review of either result, for a session and for everybody.
#[test]
fn every_set_of_modes_answers_every_request_as_rcs_says() {
    let policy = shipped();
    let scopes = [Scope::Root, Scope::Session("s1".parse().unwrap())];
    let mut asked = 0;
    for set in 0..1_u32 << ALL.len() {
        let mut active: Vec<&str> =
            ALL.into_iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, m)| m).collect();
        for requested in ALL {
            for clean in [false, true] {
                for scope in &scopes {
                    active.reverse();
                    ask(&policy, scope, &active, requested, clean);
                    asked += 1;
                }
            }
        }
    }
    assert_eq!(asked, (1 << 8) * 8 * 2 * 2);
}

fn ask(policy: &Policy, scope: &Scope, active: &[&str], requested: &str, clean: bool) {
    let what = format!("{requested} while {active:?}, review clean: {clean}, {scope}");
    let before = board(scope, active);
    let mut draft = ModeDraft::new(policy, before.clone(), now(), "test");
    let wanted = RequestDetails { review_clean: Some(clean), run: None };
    let answer = draft.request(scope, policy.named(requested).unwrap(), &wanted);
    let sources: Vec<&str> = active.iter().copied().filter(|from| hands_over(from, requested, clean)).collect();
    let rest: Vec<&str> = active.iter().copied().filter(|one| !sources.contains(one)).collect();
    let fits = rest.iter().all(|one| overlaps(one, requested));
    let answer = match answer {
        Err(ModeRefusal::Denied { denial, .. }) => {
            assert!(!active.contains(&requested) && !fits, "{what}: denied");
            let back = PLANNING.contains(&requested) && active.iter().any(|one| !PLANNING.contains(one));
            assert_eq!(denial.kind, if back { DenialKind::Rollback } else { DenialKind::Overlap }, "{what}");
            assert!(draft.is_empty() && *draft.board() == before, "{what}: a denial changes nothing");
            return;
        }
        answer => answer.unwrap(),
    };
    let names: Vec<String> = answer.active.iter().map(ToString::to_string).collect();
    if active.contains(&requested) {
        assert_eq!(answer.admission, Admission::NoChange, "{what}");
        assert!(draft.is_empty(), "{what}");
        return;
    }
    assert!(fits, "{what}: admitted");
    let wanted: Vec<&str> = rest.iter().copied().chain([requested]).collect();
    assert_eq!(names, wanted, "{what}");
    match answer.admission {
        Admission::Start => assert!(active.is_empty(), "{what}"),
        Admission::Overlap => assert!(sources.is_empty() && !rest.is_empty(), "{what}"),
        Admission::AutoComplete(completed) => {
            let completed: Vec<String> = completed.iter().map(ToString::to_string).collect();
            assert_eq!(completed, sources, "{what}");
        }
        other => panic!("{what}: {other:?}"),
    }
    for source in &sources {
        let Some(ModeState::Known(state)) = draft.board().file(scope, &name(source)) else {
            panic!("{what}: {source}")
        };
        assert_eq!(state["active"], false, "{what}");
        assert_eq!(state["transition_target_mode"], requested, "{what}");
        assert_eq!(read_outcome(state).outcome, Some(ModeOutcome::Finished), "{what}");
        assert!(state.contains_key("mine"), "{what}: a field is gone");
    }
    for one in rest {
        assert_eq!(draft.board().file(scope, &name(one)), before.file(scope, &name(one)), "{what}: {one} was touched");
    }
    let files = draft.finish(&|_| Visible::default());
    let last = files.last().unwrap();
    assert_eq!((last.name.as_str(), &last.scope), ("skill-active-state.json", &Scope::Root), "{what}");
    let ended = files.iter().take(sources.len());
    assert!(ended.clone().all(|file| file.value.as_ref().unwrap()["active"] == false), "{what}: sources come first");
}

#[test]
fn whatever_is_active_can_be_ended() {
    let policy = shipped();
    let scope = Scope::Session("s1".parse().unwrap());
    for set in 0..1_u32 << ALL.len() {
        let active: Vec<&str> =
            ALL.into_iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, m)| m).collect();
        for clear in [false, true] {
            let mut start = board(&scope, &active);
            start.set(&Scope::Root, &name("forge"), Some(ModeState::Broken("torn".to_owned())));
            let mut draft = ModeDraft::new(&policy, start, now(), "test");
            for mode in ALL {
                let end = if clear { ModeDraft::clear } else { ModeDraft::cancel };
                assert_eq!(end(&mut draft, &scope, &name(mode)), active.contains(&mode), "{mode} of {active:?}");
            }
            assert_eq!(draft.board().own_active(&policy, &scope), [], "{active:?}");
        }
    }
}

#[test]
fn a_request_for_everybody_is_decided_for_every_session_or_not_at_all() {
    let policy = shipped();
    let (a, b) = (Scope::Session("a".parse().unwrap()), Scope::Session("b".parse().unwrap()));
    let mut both = board(&a, &["blueprint"]);
    both.set(&b, &name("autopilot"), Some(ModeState::Known(object(json!({ "active": true })))));
    let mut draft = ModeDraft::new(&policy, both, now(), "test");
    let forge = policy.named("forge").unwrap();
    let refused = draft.request(&Scope::Root, forge, &RequestDetails::default()).unwrap_err();
    // In one session it would hand over, which only that session may do.
    assert!(matches!(refused, ModeRefusal::Denied { scope, .. } if scope == a));
    assert!(draft.is_empty());
    assert!(draft.cancel(&a, &name("blueprint")));
    let refused = draft.request(&Scope::Root, forge, &RequestDetails::default()).unwrap_err();
    assert!(matches!(refused, ModeRefusal::Denied { scope, .. } if scope == b));
    assert!(draft.cancel(&b, &name("autopilot")));
    let answer = draft.request(&Scope::Root, forge, &RequestDetails::default()).unwrap();
    assert_eq!(answer.admission, Admission::Start);
}

/// What a policy with this change is told.
fn flaws(change: impl FnOnce(&mut Value)) -> String {
    let mut document = json!({
        "modes": [
            { "name": "plan", "kind": "planning", "aliases": ["p"] },
            { "name": "work", "kind": "execution", "start": { "current_phase": "going" },
              "phases": ["going"], "terminal_phases": ["over"], "phase_aliases": { "gone": "over" } },
            { "name": "test", "kind": "execution" },
        ],
        "handoffs": [{ "from": "plan", "to": "work" }],
        "overlaps": [["work", "test"]],
        "skills": ["analyze"],
    });
    change(&mut document);
    let document: PolicyDocument = serde_json::from_value(document).unwrap();
    let flaws = Policy::build(document).err().unwrap_or_default();
    flaws.iter().map(|flaw| format!("{} {}\n", flaw.pointer, flaw.message)).collect()
}

#[test]
fn a_policy_is_proved_sane_when_it_is_loaded() {
    assert_eq!(flaws(|_| {}), "");
    let tell = |change: fn(&mut Value)| flaws(change);
    let told = [
        tell(|policy| policy["handoffs"] = json!([{ "from": "plan", "to": "wrok" }, { "from": "plan", "to": "plan" }])),
        tell(|policy| policy["overlaps"] = json!([["plan", "work"], ["test", "test"], ["*", "nothing"]])),
        tell(|policy| policy["handoffs"] = json!([{ "from": "plan", "to": "work" }, { "from": "plan", "to": "work" }])),
        tell(|policy| policy["modes"][1]["terminal_phases"] = json!([])),
        tell(|policy| policy["modes"][1]["start"] = json!({})),
        tell(|policy| policy["modes"][1]["phase_aliases"] = json!({ "going": "over", "x": "y" })),
        tell(|policy| policy["modes"][0]["aliases"] = json!(["test", "Cancel", "analyze"])),
    ];
    insta::assert_snapshot!(told.concat(), @r"
    /handoffs/0/to there is no mode `wrok`
    /handoffs/1 `plan` hands over to itself
    /overlaps/1 `test` overlaps with itself
    /overlaps/2/1 there is no mode `nothing`
    /handoffs/0 `plan` to `work` is an overlap as well; only one of them can hold
    /handoffs/1 `plan` to `work` is decided twice
    /modes/1 `work` can never be left: it has phases, and none of `terminal_phases`
    /modes/1/phase_aliases/gone `work` has no phase `over`
    /modes/1 `work` has to begin in one of its phases: `start` needs such a `current_phase`
    /modes/1/phase_aliases/going `going` is a phase itself
    /modes/1/phase_aliases/x `work` has no phase `y`
    /modes/0/aliases/0 `test` is taken already
    /modes/0/aliases/1 `cancel` is reserved: what is active can always be ended
    /skills/0 `analyze` is taken already
    ");
}

#[test]
fn every_pair_of_the_shipped_policy_is_decided_once() {
    let policy = shipped();
    for active in ALL {
        for requested in ALL.into_iter().filter(|one| *one != active) {
            let (a, b) = (name(active), name(requested));
            let decided = policy.admit(std::slice::from_ref(&a), &b, &|_, _| false);
            match decided {
                Admission::Overlap => {
                    assert!(overlaps(active, requested), "{active}, {requested}");
                    assert_eq!(policy.admit(&[b], &a, &|_, _| false), Admission::Overlap, "{active}, {requested}");
                }
                Admission::AutoComplete(_) => assert!(hands_over(active, requested, false), "{active}, {requested}"),
                Admission::Deny(_) => {
                    assert!(
                        !overlaps(active, requested) && !hands_over(active, requested, false),
                        "{active}, {requested}"
                    );
                }
                other => panic!("{active}, {requested}: {other:?}"),
            }
        }
    }
}

#[test]
fn an_outcome_is_read_in_the_order_of_precedence() {
    let read = |state: Value| {
        let reading = read_outcome(&object(state));
        (reading.outcome.map(ModeOutcome::as_str), reading.notes.len())
    };
    let question = json!({ "obligation_id": "o1", "status": "pending" });
    let cases = [
        (json!({ "lifecycle_outcome": "finished", "run_outcome": "failed", "active": false }), Some("finished"), 1),
        (json!({ "lifecycle_outcome": " ", "terminal_outcome": "Blocked", "active": false }), Some("blocked"), 0),
        (json!({ "lifecycle_outcome": "bananas", "run_outcome": "failed" }), Some("failed"), 1),
        (json!({ "lifecycle_outcome": 7, "active": false }), Some("finished"), 1),
        (json!({ "lifecycle_outcome": "continue", "active": true }), None, 1),
        (json!({ "run_outcome": "continue", "current_phase": "failed", "active": false }), Some("failed"), 0),
        (json!({ "run_outcome": "blocked_on_user" }), Some("blocked"), 0),
        (json!({ "run_outcome": "blocked_on_user", "question_enforcement": question }), Some("askuserQuestion"), 0),
        (
            json!({ "current_phase": "planning", "active": true, "question_enforcement": question }),
            Some("askuserQuestion"),
            1,
        ),
        (json!({ "current_phase": "executing", "error": "boom" }), Some("failed"), 0),
        (json!({ "current_phase": "executing", "error": "boom", "active": true }), None, 0),
        (json!({ "current_phase": "cleared", "active": false }), Some("userinterlude"), 0),
        (json!({ "current_phase": "progress", "active": true }), None, 0),
        (json!({ "completed_at": "2026-05-20T14:30:00Z" }), Some("finished"), 0),
        (json!({}), None, 0),
        (json!({ "lifecycle_outcome": "failed", "active": true }), Some("failed"), 1),
    ];
    for (state, outcome, notes) in cases {
        assert_eq!(read(state.clone()), (outcome, notes), "{state}");
    }
}

/// What is written reads back as it was meant, and writing it again changes nothing.
#[test]
fn a_settled_state_says_one_thing() {
    let words = [
        "finished", "finish", "done", "blocked", "failed", "error", "userinterlude", "abort", "askuserQuestion",
        "blocked-on-user", "Continue", "progress", "bananas", "",
    ];
    let phases = ["planning", "complete", "cancelled", "cleared"];
    let mut settled = 0;
    for lifecycle in words {
        for run in words {
            for phase in phases {
                for active in [json!(true), json!(false), Value::Null] {
                    let given = json!({
                        "lifecycle_outcome": lifecycle, "run_outcome": run, "current_phase": phase, "active": active,
                        "terminal_outcome": "failed",
                    });
                    let mut state = object(given.clone());
                    let before = read_outcome(&state);
                    let Ok(_) = settle(&mut state, now()) else { continue };
                    settled += 1;
                    let reading = read_outcome(&state);
                    assert_eq!(reading.outcome, before.outcome, "{given}");
                    assert_eq!(reading.notes, [""; 0], "{given}");
                    assert_eq!(state["active"], json!(reading.outcome.is_none()), "{given}");
                    assert_eq!(state.contains_key("completed_at"), reading.outcome.is_some(), "{given}");
                    let mut again = state.clone();
                    assert_eq!(settle(&mut again, now().later(5)).unwrap(), [""; 0], "{given}");
                    assert_eq!(again, state, "{given}");
                }
            }
        }
    }
    assert!(settled > 200, "only {settled} states can be written");
}
