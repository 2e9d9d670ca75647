//! `flow mode`, as agents and people use it.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::Sandbox;

/// A project in which modes can be asked for.
pub struct Modes(pub Sandbox);

impl Modes {
    pub fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.flow(["init"]).ok();
        Self(sandbox)
    }

    pub fn mode(&self, args: &[&str]) -> crate::support::Answer {
        self.0.flow(["mode"].iter().chain(args).chain(&["--json"]))
    }

    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> Value {
        self.mode(args).ok().json()
    }

    /// Active modes of a session, or of nobody.
    #[track_caller]
    pub fn active(&self, scope: &[&str]) -> Value {
        self.ok(&[&["list"], scope].concat())["active"].clone()
    }

    pub fn state(&self, path: &str) -> Value {
        let text = std::fs::read_to_string(self.0.path(".flow/state").join(path)).unwrap_or_else(|_| "null".to_owned());
        serde_json::from_str(&text).unwrap()
    }

    pub fn put(&self, path: &str, text: &str) {
        let path = self.0.path(".flow/state").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

const S1: [&str; 2] = ["--session", "s1"];

#[test]
fn a_handover_completes_the_source_and_begins_the_destination() {
    let modes = Modes::new();
    modes.ok(&["request", "blueprint", "--session", "s1"]);
    let asked = json!({ "obligation_id": "o1", "status": "pending" });
    let mut plan = modes.state("sessions/s1/blueprint-state.json");
    plan["question_enforcement"] = asked;
    plan["draft"] = json!("the callers");
    modes.put("sessions/s1/blueprint-state.json", &plan.to_string());
    let report = modes.ok(&["request", "forge", "--session", "s1"]);
    assert_eq!(report["decision"], "auto_complete");
    assert_eq!(report["message"], "mode transiting: blueprint -> forge");
    let source = modes.state("sessions/s1/blueprint-state.json");
    insta::assert_snapshot!(serde_json::to_string_pretty(&source).unwrap(), @r#"
    {
      "mode": "blueprint",
      "active": false,
      "current_phase": "completed",
      "started_at": "2026-05-20T14:30:05.000Z",
      "updated_at": "2026-05-20T14:30:06.000Z",
      "session_id": "s1",
      "question_enforcement": {
        "obligation_id": "o1",
        "status": "cleared",
        "clear_reason": "handoff",
        "cleared_at": "2026-05-20T14:30:06.000Z"
      },
      "draft": "the callers",
      "completed_at": "2026-05-20T14:30:06.000Z",
      "auto_completed_reason": "mode transiting: blueprint -> forge",
      "completion_note": "blueprint was completed because it handed over to forge",
      "transition_source": "workflow-transition",
      "transition_target_mode": "forge",
      "lifecycle_outcome": "finished",
      "run_outcome": "finish"
    }
    "#);
    let shown = modes.state("sessions/s1/skill-active-state.json");
    assert_eq!((&shown["skill"], shown["active_skills"].as_array().unwrap().len()), (&json!("forge"), 1));
    assert_eq!(modes.active(&S1), json!(["forge"]));
}

#[test]
fn a_denial_says_what_is_in_the_way_and_its_hint_works() {
    let modes = Modes::new();
    modes.ok(&["request", "team", "--session", "s1"]);
    let denied = modes.mode(&["request", "blueprint", "--session", "s1"]).exits(1).json();
    assert_eq!((&denied["decision"], &denied["kind"]), (&json!("deny"), &json!("rollback")));
    let message = denied["message"].as_str().unwrap();
    insta::assert_snapshot!(message, @"Cannot activate blueprint: team is already active in session s1. Execution-to-planning rollback auto-complete is not allowed. First clear current state and retry if this action is intended: `flow mode clear team --session s1`");
    let hint = message.split('`').nth(1).unwrap();
    let args: Vec<&str> = hint.split(' ').skip(1).collect();
    modes.0.flow(args).ok();
    modes.ok(&["request", "blueprint", "--session", "s1"]);
    assert_eq!(modes.active(&S1), json!(["blueprint"]));
}

#[test]
fn a_denied_request_writes_nothing() {
    let modes = Modes::new();
    modes.ok(&["request", "forge"]);
    let before = crate::support::Tree::of(&modes.0.path(".flow/state")).without(".lock");
    modes.mode(&["request", "ultraqa"]).exits(1);
    modes.mode(&["prompt", "$ultrawork $ultraqa"]).exits(1);
    modes.mode(&["write", "ultraqa", "--active", "true"]).exits(1);
    assert_eq!(crate::support::Tree::of(&modes.0.path(".flow/state")).without(".lock"), before);
}

#[test]
fn sessions_neither_see_nor_end_each_others_modes() {
    let modes = Modes::new();
    modes.ok(&["request", "forge", "--session", "a"]);
    modes.ok(&["request", "autopilot", "--session", "b"]);
    assert_eq!(modes.active(&["--session", "a"]), json!(["forge"]));
    assert_eq!(modes.active(&["--session", "b"]), json!(["autopilot"]));
    modes.ok(&["clear", "--session", "a"]);
    modes.ok(&["cancel", "--session", "a"]);
    assert_eq!(modes.active(&["--session", "b"]), json!(["autopilot"]));
    let all = modes.state("skill-active-state.json");
    let shown: Vec<_> = all["active_skills"].as_array().unwrap().iter().map(|entry| &entry["session_id"]).collect();
    assert_eq!(shown, ["b"]);
}

#[test]
fn a_session_sees_the_modes_of_everybody_unless_it_has_its_own() {
    let modes = Modes::new();
    modes.ok(&["request", "deep-interview"]);
    let with_env = |args: &[&str]| {
        let mut command = modes.0.flow_command();
        command.arg("mode").args(args).arg("--json").env("FLOW_SESSION", "s1");
        crate::support::run(command, "").ok().json()
    };
    assert_eq!(with_env(&["list"])["active"], json!(["deep-interview"]));
    modes.put("sessions/s1/deep-interview-state.json", r#"{"active":false,"current_phase":"cleared"}"#);
    assert_eq!(with_env(&["list"])["active"], json!([]));
    let started = with_env(&["request", "team"]);
    assert_eq!((&started["decision"], &started["active"]), (&json!("start"), &json!(["team"])));
}

#[test]
fn a_session_that_was_named_and_is_there_speaks_for_itself_alone() {
    let modes = Modes::new();
    modes.ok(&["request", "forge"]);
    assert_eq!(modes.mode(&["show", "forge", "--session", "s1"]).ok().json()["exists"], true);
    modes.ok(&["write", "blueprint", "--active", "false", "--session", "s1"]);
    assert_eq!(modes.mode(&["show", "forge", "--session", "s1"]).exits(3).json()["exists"], false);
}

#[test]
fn a_cleared_mode_stays_hidden_where_everybody_has_it() {
    let modes = Modes::new();
    modes.ok(&["request", "ultrawork"]);
    modes.ok(&["request", "forge", "--session", "s1"]);
    modes.put("sessions/s1/ultrawork-state.json", r#"{"active":true}"#);
    modes.ok(&["clear", "ultrawork", "--session", "s1"]);
    assert_eq!(modes.active(&S1), json!(["forge"]));
    let again = modes.ok(&["clear", "ultrawork", "--session", "s1"]);
    assert_eq!(again["changed"], false);
    modes.ok(&["clear", "ultrawork", "--root"]);
    assert_eq!(modes.state("ultrawork-state.json"), Value::Null);
}

#[test]
fn a_file_that_nobody_can_read_stops_a_request_and_no_clear_or_cancel() {
    for verb in ["clear", "cancel"] {
        let modes = Modes::new();
        modes.put("blueprint-state.json", "{ not json");
        let error = modes.mode(&["request", "forge"]).exits(65).error();
        assert_eq!(error["code"], "unreadable_state");
        assert!(error["help"].as_str().unwrap().contains("`flow mode clear blueprint --root`"), "{error}");
        assert!(modes.0.flow(["mode", "list"]).ok().stdout.contains("unreadable"));
        let ended = modes.ok(&[verb, "blueprint"]);
        assert_eq!(ended["changed"], true);
        assert_eq!(modes.0.assert_modes_sound(), ["{ not json"]);
        modes.ok(&["request", "forge"]);
    }
}

#[test]
fn whatever_stands_in_the_place_of_a_file_can_be_cleared() {
    let modes = Modes::new();
    modes.ok(&["request", "ultrawork"]);
    let state = modes.0.path(".flow/state");
    std::fs::write(state.join("forge-state.json"), "x".repeat(2 << 20)).unwrap();
    std::fs::create_dir(state.join("team-state.json")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", state.join("blueprint-state.json")).unwrap();
    std::os::unix::fs::symlink("nowhere", state.join("ultraqa-state.json")).unwrap();
    for mode in ["forge", "team", "blueprint", "ultraqa"] {
        let error = modes.mode(&["request", "autoresearch"]).exits(65).error();
        assert_eq!(error["code"], "unreadable_state", "{error}");
        modes.mode(&["write", mode, "--active", "true"]).exits(65);
    }
    assert_eq!(modes.ok(&["clear"])["ended"].as_array().unwrap().len(), 5);
    assert_eq!(std::fs::read_dir(state.join(".quarantine")).unwrap().count(), 4);
    modes.ok(&["request", "autoresearch"]);
}

#[test]
fn an_unknown_session_and_a_project_without_modes_have_nothing_to_end() {
    let modes = Modes::new();
    for verb in ["clear", "cancel"] {
        assert_eq!(modes.ok(&[verb, "--session", "nobody"])["changed"], false);
        assert_eq!(modes.ok(&[verb, "--all"])["changed"], false);
    }
    assert!(!modes.0.path(".flow/state/sessions").exists());
    for session in ["bad/id", "", "a b", "é", "..", &"x".repeat(65)] {
        modes.mode(&["clear", &format!("--session={session}")]).exits(2);
    }
}

#[test]
fn what_is_written_is_checked_before_anything_else_happens() {
    let modes = Modes::new();
    modes.ok(&["request", "blueprint"]);
    let before = modes.state("blueprint-state.json");
    let refused = |args: &[&str], code: &str| {
        let error = modes.mode(&[&["write"], args].concat()).exits(1).error();
        assert_eq!(error["code"], code, "{args:?}: {error}");
        assert_eq!(modes.state("blueprint-state.json"), before);
    };
    refused(&["forge", "--active", "true", "--phase", "definitely-invalid"], "invalid_phase");
    refused(&["forge", "--data", r#"{"max_iterations":0}"#], "invalid_field");
    refused(&["forge", "--data", r#"{"iteration":-1}"#], "invalid_field");
    refused(&["blueprint", "--phase", "complete", "--active", "true"], "terminal_requires_inactive");
    refused(&["blueprint", "--data", r#"{"run_outcome":"continue","active":false}"#], "running_requires_active");
    refused(&["blueprint", "--outcome", "bananas"], "invalid_lifecycle_outcome");
    refused(&["blueprint", "--data", "[1]"], "invalid_document");
    assert_eq!(modes.state("forge-state.json"), Value::Null);
    let phase = modes.ok(&["write", "forge", "--active", "true", "--phase", "Verify"]);
    assert_eq!((&phase["state"]["current_phase"], &phase["decision"]), (&json!("verifying"), &json!("auto_complete")));
    assert_eq!(modes.active(&[]), json!(["forge"]));
}

#[test]
fn a_mode_that_begins_anew_has_no_end_left() {
    let modes = Modes::new();
    modes.ok(&["request", "blueprint"]);
    modes.ok(&["request", "forge"]);
    modes.ok(&["write", "forge", "--outcome", "finished"]);
    let again = modes.ok(&["write", "blueprint", "--active", "true", "--phase", "planning"]);
    for gone in ["completed_at", "lifecycle_outcome", "auto_completed_reason", "completion_note", "transition_source"] {
        assert!(again["state"].get(gone).is_none(), "{gone} is left");
    }
    assert_eq!(again["outcome"], Value::Null);
}

#[test]
fn a_mode_and_its_run_end_one_without_the_other_and_never_in_silence() {
    let modes = Modes::new();
    let run = modes.0.start("debug");
    modes.mode(&["request", "blueprint", "--run-id", "nothing"]).exits(3);
    modes.ok(&["request", "blueprint", "--run-id", &run]);
    let handed = modes.ok(&["request", "forge", "--run-id", &run]);
    let warning = handed["warnings"][0].as_str().unwrap();
    assert!(warning.contains("still active") && warning.contains(&run), "{warning}");
    modes.0.record(&run, "preflight", "seen");
    let ended = modes.0.flow(["complete", &run, "--skip-reason", "enough", "--json"]).ok().json();
    let told = ended["warnings"].to_string();
    insta::assert_snapshot!(told, @r#"["completed in `preflight`; the workflow ends in `verify`","forge is still active for this run: `flow mode clear forge --root` ends it"]"#);
    assert_eq!(modes.ok(&["cancel", "forge"])["warnings"], json!([]));
}

#[test]
fn a_prompt_is_taken_up_wholly_or_not_at_all() {
    let modes = Modes::new();
    modes.ok(&["request", "blueprint"]);
    let denied = modes.mode(&["prompt", "$team $autopilot x"]).exits(1).json();
    assert_eq!((&denied["error"]["kind"], &denied["active"]), (&json!("overlap"), &json!(["blueprint"])));
    assert_eq!(denied["deferred"], json!([]));
    let taken = modes.ok(&["prompt", "$forge $team go"]);
    assert_eq!((&taken["active"], &taken["completed"]), (&json!(["forge", "team"]), &json!(["blueprint"])));
    let ended = modes.ok(&["prompt", "$cancel $blueprint"]);
    assert_eq!((&ended["cancelled"], &ended["deferred"]), (&json!(["team", "forge"]), &json!(["blueprint"])));
    assert_eq!(modes.active(&[]), json!([]));
}

#[test]
fn the_answer_to_a_prompt_says_what_happened() {
    let modes = Modes::new();
    let told = modes.0.flow(["mode", "prompt", "$blueprint $team $forge ship this fix"]).ok().stdout;
    insta::assert_snapshot!(told, @r#"
    detected workflow keywords: "$blueprint", "$team", "$forge"
    planning preserved over simultaneous execution follow-up; deferred skills: team, forge
    skill: blueprint activated and initial state initialized at .flow/state/blueprint-state.json; write subsequent updates with `flow mode write blueprint --root`
    active skills: blueprint
    "#);
    let said = modes.0.flow(["mode", "prompt", "hello there, how are you"]).ok().stdout;
    assert_eq!(said, "the prompt asks for no skill\n");
}

#[test]
fn a_hooks_payload_names_the_prompt_and_the_session() {
    let modes = Modes::new();
    let hook = json!({ "hook_event_name": "UserPromptSubmit", "session_id": "s9", "prompt": "$forge go" }).to_string();
    let mut command = modes.0.flow_command();
    command.args(["mode", "prompt", "--json"]);
    let report = crate::support::run(command, &hook).ok().json();
    assert_eq!(report["active"], json!(["forge"]));
    assert_eq!(modes.state("sessions/s9/forge-state.json")["session_id"], "s9");
}

#[test]
fn a_payload_without_a_prompt_or_with_an_odd_session_begins_nothing() {
    let modes = Modes::new();
    let hook = |payload: Value| {
        let mut command = modes.0.flow_command();
        command.args(["mode", "prompt", "--json"]);
        crate::support::run(command, &payload.to_string())
    };
    // A host takes 2 for a reason to throw the prompt away.
    assert_eq!(
        hook(json!({ "session_id": "abc.def", "prompt": "$forge go" })).exits(1).error()["code"],
        "invalid_document"
    );
    assert_eq!(hook(json!({ "hook_event_name": "Stop", "text": "a \" $forge b" })).ok().json()["skills"], json!([]));
    assert_eq!(hook(json!({ "prompt": ["$forge"], "t": "x $forge" })).ok().json()["skills"], json!([]));
    assert_eq!(modes.active(&[]), json!([]));
    let told = hook(json!({ "session_id": "s1", "prompt": "$forge go" })).ok().json();
    let hint = told["messages"][1].as_str().unwrap().split('`').nth(1).unwrap().to_owned();
    modes.0.flow(hint.split(' ').skip(1).chain(["--phase", "verify"])).ok();
    assert_eq!(modes.state("sessions/s1/forge-state.json")["current_phase"], "verifying");
    assert_eq!(modes.state("forge-state.json"), Value::Null);
}

#[test]
fn a_session_that_hides_a_mode_has_no_say_in_it() {
    let modes = Modes::new();
    modes.ok(&["write", "forge", "--active", "false", "--session", "s1"]);
    modes.ok(&["request", "blueprint", "--session", "s1"]);
    assert_eq!(modes.ok(&["request", "forge", "--root"])["decision"], "start");
    assert_eq!(modes.active(&S1), json!(["blueprint"]));
    assert_eq!(modes.ok(&["request", "forge", "--root"])["decision"], "no_change");
}

#[test]
fn what_is_everybodys_is_named_when_a_session_ends_its_own() {
    let modes = Modes::new();
    modes.ok(&["request", "forge"]);
    for args in [
        &["clear", "forge", "--session", "s9"][..],
        &["cancel", "--session", "s9"],
        &["prompt", "$cancel", "--session", "s9"],
    ] {
        let report = modes.ok(args);
        assert_eq!(report["active"], json!(["forge"]), "{args:?}");
        assert_eq!(
            report["warnings"],
            json!(["forge is active in every session: `flow mode cancel forge --root` ends it"]),
            "{args:?}"
        );
    }
}

#[test]
fn a_terminal_phase_ends_a_mode() {
    let modes = Modes::new();
    let own = "apiVersion: flow.synapti.ai/v1\nkind: FlowModes\nmodes:\n  - name: ship\n    kind: execution\n    \
               start: { current_phase: building }\n    phases: [building]\n    terminal_phases: [shipped]\n";
    std::fs::write(modes.0.path(".flow/modes.yaml"), own).unwrap();
    modes.ok(&["request", "ship"]);
    let error = modes.mode(&["write", "ship", "--phase", "shipped", "--active", "true"]).exits(1).error();
    assert_eq!(error["code"], "terminal_requires_inactive");
    let written = modes.ok(&["write", "ship", "--phase", "shipped"]);
    assert_eq!((&written["outcome"], &written["state"]["active"]), (&json!("finished"), &json!(false)));
}

#[test]
fn a_cleared_mode_does_not_come_back_with_the_loss_of_what_shows_the_position() {
    let modes = Modes::new();
    modes.ok(&["request", "forge"]);
    let mut edited = modes.state("forge-state.json");
    edited["current_phase"] = json!("executing");
    modes.put("forge-state.json", &edited.to_string());
    modes.ok(&["clear", "forge"]);
    for lost in ["skill-active-state.json", ".lock"] {
        std::fs::remove_file(modes.0.path(".flow/state").join(lost)).unwrap();
    }
    assert_eq!(modes.active(&[]), json!([]));
    assert_eq!(modes.ok(&["request", "team"])["decision"], "start");
    assert_eq!(modes.0.assert_modes_sound(), [""; 0]);
}

#[test]
fn what_stands_where_files_go_keeps_nobody_from_ending_a_mode() {
    let modes = Modes::new();
    modes.ok(&["request", "forge", "--session", "s1"]);
    std::fs::write(modes.0.path(".flow/state/sessions/stray"), "").unwrap();
    for path in ["skill-active-state.json", "sessions/s1/skill-active-state.json"] {
        let path = modes.0.path(".flow/state").join(path);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
    }
    modes.ok(&["request", "ultrawork", "--session", "s2"]);
    modes.ok(&["cancel", "--session", "s1"]);
    modes.ok(&["clear", "--all"]);
    assert_eq!(modes.ok(&["list", "--all"])["active"], json!([]));
    assert_eq!(modes.state("skill-active-state.json")["active_skills"], json!([]));
}

#[test]
fn readers_never_see_a_half_of_a_handover() {
    let modes = Modes::new();
    for nth in 0..200 {
        std::fs::create_dir_all(modes.0.path(format!(".flow/state/sessions/x{nth}"))).unwrap();
    }
    for _ in 0..5 {
        modes.ok(&["clear", "--all"]);
        modes.ok(&["request", "blueprint"]);
        let mut command = modes.0.flow_command();
        command.args(["mode", "request", "forge", "--session", "zz"]).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        loop {
            let over = child.try_wait().unwrap().is_some();
            let active = modes.ok(&["list", "--all"])["active"].clone();
            assert!(active == json!(["blueprint"]) || active == json!(["forge"]), "{active}");
            if over {
                break;
            }
        }
    }
}

#[test]
fn another_programs_visible_set_neither_brings_a_mode_back_nor_hides_one() {
    let modes = Modes::new();
    modes.ok(&["request", "blueprint"]);
    modes.ok(&["request", "forge"]);
    modes.put(
        "skill-active-state.json",
        r#"{"active":true,"skill":"blueprint","active_skills":[{"skill":"blueprint"}]}"#,
    );
    assert_eq!(modes.active(&[]), json!(["forge"]));
    modes.ok(&["request", "team"]);
    let shown = modes.state("skill-active-state.json");
    let skills: Vec<_> = shown["active_skills"].as_array().unwrap().iter().map(|entry| &entry["skill"]).collect();
    assert_eq!(skills, ["forge", "team"]);
    modes.put("skill-active-state.json", "torn {");
    modes.ok(&["request", "ultrawork"]);
    assert_eq!(modes.state("skill-active-state.json")["active_skills"].as_array().unwrap().len(), 3);
}

#[test]
fn an_edit_by_hand_counts() {
    let modes = Modes::new();
    modes.ok(&["request", "forge"]);
    let mut state = modes.state("forge-state.json");
    state["active"] = json!(false);
    state["current_phase"] = json!("complete");
    modes.put("forge-state.json", &state.to_string());
    assert_eq!(modes.active(&[]), json!([]));
    assert_eq!(modes.ok(&["request", "blueprint"])["decision"], "start");
    std::fs::remove_file(modes.0.path(".flow/state/blueprint-state.json")).unwrap();
    assert_eq!(modes.ok(&["request", "ultraqa"])["decision"], "start");
}

#[test]
fn a_projects_own_policy_counts_and_a_broken_one_stops_everything() {
    let modes = Modes::new();
    let own = "apiVersion: flow.synapti.ai/v1\nkind: FlowModes\nmodes:\n  - { name: draft, kind: planning }\n  \
               - { name: ship, kind: execution, aliases: [deliver] }\nhandoffs:\n  - { from: draft, to: ship }\n";
    std::fs::write(modes.0.path(".flow/modes.yaml"), own).unwrap();
    modes.0.flow(["validate"]).ok();
    modes.ok(&["request", "draft"]);
    assert_eq!(modes.ok(&["request", "Deliver"])["completed"], json!(["draft"]));
    modes.mode(&["request", "forge"]).exits(2);
    let table = modes.0.flow(["mode", "policy", "--table"]).ok().stdout;
    insta::assert_snapshot!(table, @r"
    policy  .flow/modes.yaml
    active \ asked  draft  ship
    draft           =      A
    ship            R      =
    = no change   A the active one is completed   O both are active   D denied   R denied, no rollback
    behind | stands what happens if the review was clean
    ");
    std::fs::write(modes.0.path(".flow/modes.yaml"), own.replace("to: ship", "to: shop")).unwrap();
    let error = modes.mode(&["request", "draft"]).exits(1).error();
    assert_eq!(error["code"], "invalid_policy");
    assert!(error["message"].as_str().unwrap().ends_with("line 7: there is no mode `shop`"), "{error}");
    let told = modes.0.flow(["validate", ".flow/modes.yaml"]).exits(1).stdout;
    insta::assert_snapshot!(told, @r"
    .flow/modes.yaml:7:24: there is no mode `shop`
    1 file checked, 1 not valid
    ");
}

/// Every process asks for another mode or for another session's; whoever is refused is refused by the rules.
#[test]
fn sixteen_processes_leave_valid_files_and_every_sessions_entries() {
    let modes = Modes::new();
    let ask = |session: usize, mode: &str| -> Child {
        let mut command = modes.0.flow_command();
        command.args(["mode", "request", mode, "--session", &format!("s{session}"), "--json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let pairs = ["forge", "team"];
    let asked: Vec<_> = (0..16).map(|nth| ask(nth / 2, pairs[nth % 2])).collect();
    for child in asked {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    for session in 0..8 {
        let session = format!("s{session}");
        let mut active: Vec<String> = serde_json::from_value(modes.active(&["--session", &session])).unwrap();
        active.sort();
        assert_eq!(active, pairs);
    }
    let all = modes.state("skill-active-state.json");
    assert_eq!(all["active_skills"].as_array().unwrap().len(), 16);
    assert_eq!(modes.0.mode_events().len(), 16);
    assert_eq!(modes.0.assert_modes_sound(), [""; 0]);
}

#[test]
fn of_two_modes_that_exclude_each_other_one_begins() {
    for _ in 0..8 {
        let modes = Modes::new();
        let ask = |mode: &str| {
            let mut command = modes.0.flow_command();
            command.args(["mode", "request", mode, "--json"]).stdin(Stdio::null()).stdout(Stdio::piped());
            command.stderr(Stdio::piped()).spawn().unwrap()
        };
        let asked = ["autopilot", "ultraqa"].map(ask);
        let codes = asked.map(|child| child.wait_with_output().unwrap().status.code());
        assert!(codes == [Some(0), Some(1)] || codes == [Some(1), Some(0)], "{codes:?}");
        assert_eq!(modes.active(&[]).as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_large_prompt_is_read_in_a_moment() {
    let modes = Modes::new();
    let quoted = format!("> a\n{}{}", " ".repeat(200_000), "*b* ".repeat(100_000));
    let denied = format!("{}n't {}", "a".repeat(400_000), "$forge ".repeat(80_000));
    let repeated = [("$forge ", 100_000), ("\"", 700_000), ("“'", 150_000), ("> ", 300_000)];
    for prompt in repeated.map(|(part, times)| part.repeat(times)).into_iter().chain([quoted, denied]) {
        let mut command = modes.0.flow_command();
        command.args(["mode", "prompt", "--json"]);
        crate::support::run(command, &prompt).ok();
    }
    let long = "$forge ".repeat((1 << 20) / 7 + 1);
    let error = modes.0.flow_with(["mode", "prompt", "--json"], &long).exits(1).error();
    assert_eq!(error["causes"], json!(["is larger than 1048576 bytes"]));
}

#[test]
fn a_request_for_everybody_ends_no_work_of_a_session_in_silence() {
    let sandbox = Sandbox::new();
    sandbox.flow(["mode", "request", "autopilot", "--session", "s4"]).ok();
    let denied = sandbox.flow(["mode", "request", "blueprint", "--root"]).exits(1);
    assert!(denied.stdout.contains("session s4") || denied.stderr.contains("session s4"), "{denied:?}");
    let list = sandbox.flow(["mode", "list", "--session", "s4", "--json"]).ok().json();
    assert_eq!(list["active"], serde_json::json!(["autopilot"]));
    // What a session left behind is put aside, and not called finished.
    sandbox.flow(["session-end", "--session", "s4"]).ok();
    let report = sandbox.flow(["mode", "request", "blueprint", "--root", "--json"]).ok().json();
    assert_eq!(report["decision"], "start", "{report}");
    let list = sandbox.flow(["mode", "list", "--all", "--json"]).ok().json();
    let autopilot = list["modes"].as_array().unwrap().iter().find(|mode| mode["mode"] == "autopilot").unwrap().clone();
    assert_eq!(autopilot["outcome"], "userinterlude", "{autopilot}");
}
