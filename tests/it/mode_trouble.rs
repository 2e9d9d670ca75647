//! `flow mode` where something is broken: nobody is trapped in a mode, and nothing is lost.

use serde_json::{Value, json};

use crate::mode_commands::Modes;

/// Who is shown in the visible set of the root scope.
fn shown(modes: &Modes) -> Vec<Value> {
    let set = modes.state("skill-active-state.json");
    set["active_skills"].as_array().unwrap().iter().map(|entry| entry["session_id"].clone()).collect()
}

/// The modes that a command ended.
fn ended(report: &Value) -> Vec<&str> {
    report["ended"].as_array().unwrap().iter().map(|ended| ended["mode"].as_str().unwrap()).collect()
}

#[test]
fn a_broken_policy_keeps_nobody_from_ending_a_mode() {
    let modes = Modes::new();
    modes.ok(&["request", "forge"]);
    modes.ok(&["request", "ultrawork", "--session", "s1"]);
    modes.put("sessions/s1/team-state.json", "torn {");
    modes.put("run-state.json", r#"{"phase":"another program's"}"#);
    std::fs::write(modes.0.path(".flow/modes.yaml"), "modes: [").unwrap();
    assert_eq!(modes.mode(&["request", "team"]).exits(1).error()["code"], "invalid_policy");
    let report = modes.ok(&["cancel", "--session", "s1"]);
    assert_eq!(ended(&report), ["team", "ultrawork"]);
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("modes.yaml"), "{report}");
    assert_eq!(modes.state("sessions/s1/ultrawork-state.json")["active"], false);
    assert_eq!(ended(&modes.ok(&["clear", "forge"])), ["forge"]);
    assert_eq!(ended(&modes.ok(&["clear", "forge"])), [""; 0]);
    modes.ok(&["clear", "--all"]);
    assert_eq!(modes.state("run-state.json")["phase"], "another program's");
    std::fs::remove_file(modes.0.path(".flow/modes.yaml")).unwrap();
    assert_eq!(modes.ok(&["list", "--all"])["modes"], json!([]));
}

#[test]
fn sessions_and_the_status_line_show_runs_beside_modes_that_cannot_be_read() {
    let modes = Modes::new();
    modes.ok(&["request", "forge", "--session", "s1"]);
    modes.0.flow(["start", "debug", "--id", "r1", "--session", "s1"]).ok();
    let line = || modes.0.flow(["hud", "--session", "s1"]).ok().stdout;
    assert_eq!(line(), "debug  r1  preflight 1/5  at work  forge  now\n");
    std::fs::write(modes.0.path(".flow/modes.yaml"), "modes: [").unwrap();
    let shown = modes.0.flow(["sessions"]).ok();
    assert_eq!(shown.stdout.lines().next(), Some("s1  alive"), "{shown:?}");
    assert!(shown.stdout.contains("r1"), "{shown:?}");
    assert!(shown.stderr.starts_with("warning: modes are not shown: the policy in "), "{shown:?}");
    assert_eq!(line(), "debug  r1  preflight 1/5  at work  now  modes  unreadable\n");
    std::fs::remove_file(modes.0.path(".flow/modes.yaml")).unwrap();
    modes.put("sessions/s1/forge-state.json", "torn {");
    assert_eq!(line(), "debug  r1  preflight 1/5  at work  now  modes  unreadable\n");
    let report = modes.0.flow(["hud", "--session", "s1", "--json"]).ok().json();
    assert!(report["modes_unreadable"].as_str().unwrap().contains("not JSON"), "{report}");
}

#[test]
fn a_broken_policy_is_no_matter_for_a_prompt_that_names_no_skill() {
    let modes = Modes::new();
    std::fs::write(modes.0.path(".flow/modes.yaml"), "modes: [").unwrap();
    let prompt = |text: &str| modes.0.flow_with(["mode", "prompt", "--json"], text);
    let report = prompt("fix the callers").ok().json();
    assert_eq!((&report["skills"], &report["error"]), (&json!([]), &Value::Null));
    assert!(report["warnings"][0].as_str().unwrap().contains("modes.yaml"), "{report}");
    prompt("$forge fix them").exits(1);
}

#[test]
fn the_visible_set_forgets_sessions_whose_files_are_gone() {
    let modes = Modes::new();
    for session in ["s1", "s2", "s3"] {
        modes.ok(&["request", "forge", "--session", session]);
    }
    std::fs::remove_dir_all(modes.0.path(".flow/state/sessions/s2")).unwrap();
    std::fs::write(modes.0.path(".flow/state/sessions/s1/forge-state.json"), r#"{"active":false}"#).unwrap();
    modes.ok(&["request", "ultrawork", "--session", "s4"]);
    assert_eq!(shown(&modes), ["s3", "s4"]);
    modes.put("skill-active-state.json", r#"{"active_skills":[]}"#);
    modes.ok(&["request", "ultrawork", "--session", "s5"]);
    assert_eq!(shown(&modes), ["s3", "s4", "s5"], "a set of another program tells nothing of the others");
}

#[test]
fn the_visible_set_shows_those_sessions_in_which_something_happened_last() {
    let modes = Modes::new();
    let mode = |nth: usize| {
        let at = format!("2026-05-20T1{}:{:02}:00.000Z", nth / 60, nth % 60);
        json!({ "mode": "forge", "active": true, "started_at": at, "updated_at": at }).to_string()
    };
    for nth in 0..120 {
        modes.put(&format!("sessions/s{nth:03}/forge-state.json"), &mode(nth));
    }
    modes.ok(&["request", "ultrawork", "--session", "mine"]);
    let shown = shown(&modes);
    assert_eq!(shown.len(), 100);
    assert_eq!((&shown[0], &shown[99]), (&json!("mine"), &json!("s119")));
    assert_eq!(modes.ok(&["list", "--all"])["active"].as_array().unwrap().len(), 121);
}

#[test]
fn a_file_called_quarantine_keeps_nobody_from_ending_a_mode() {
    let modes = Modes::new();
    modes.put("forge-state.json", "torn {");
    modes.put(".quarantine", "mine");
    let report = modes.ok(&["clear", "forge"]);
    assert_eq!(report["ended"][0]["mode"], "forge");
    assert_eq!(modes.ok(&["request", "blueprint"])["decision"], "start");
    let state = modes.0.path(".flow/state");
    assert_eq!(std::fs::read_to_string(state.join(".quarantine")).unwrap(), "mine");
    let texts = std::fs::read_dir(state).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap_or_default());
    assert_eq!(texts.filter(|text| text == b"torn {").count(), 1, "the broken file is kept");
}

#[test]
fn each_file_that_cannot_be_read_is_told_once() {
    let modes = Modes::new();
    modes.put("forge-state.json", "torn {");
    modes.put("sessions/s1/team-state.json", r#"{"active":true}"#);
    modes.put("sessions/s2/team-state.json", r#"{"active":true}"#);
    let list = modes.ok(&["list", "--all"]);
    assert_eq!(list["warnings"].as_array().unwrap().len(), 1, "{list}");
}

#[test]
fn doctor_passes_over_files_that_are_no_modes() {
    let modes = Modes::new();
    modes.put("run-state.json", "torn {");
    assert_eq!(modes.0.flow(["doctor", "--json"]).ok().json()["findings"], json!([]));
}

#[test]
fn what_stands_in_the_place_of_another_session_is_no_matter() {
    let modes = Modes::new();
    modes.ok(&["request", "forge", "--session", "s1"]);
    modes.ok(&["request", "team", "--session", "s2"]);
    std::fs::remove_dir_all(modes.0.path(".flow/state/sessions/s1")).unwrap();
    modes.put("sessions/s1", "");
    assert_eq!(modes.ok(&["request", "forge", "--session", "s2"])["decision"], "overlap");
    assert_eq!(ended(&modes.ok(&["cancel", "--session", "s2"])), ["team", "forge"]);
    modes.ok(&["clear", "--all"]);
}

/// A phase is no end: a mode that failed has not finished because somebody notes where it was.
#[test]
fn how_a_mode_ended_outlives_a_later_phase() {
    let modes = Modes::new();
    for (outcome, legacy) in [("failed", "failed"), ("userinterlude", "cancelled")] {
        modes.ok(&["request", "forge"]);
        modes.ok(&["write", "forge", "--outcome", outcome]);
        modes.ok(&["write", "forge", "--phase", "executing"]);
        modes.ok(&["write", "forge", "--data", r#"{"lifecycle_outcome":null}"#]);
        let state = modes.state("forge-state.json");
        assert_eq!((&state["lifecycle_outcome"], &state["run_outcome"]), (&json!(outcome), &json!(legacy)), "{state}");
        assert_eq!(modes.ok(&["write", "forge", "--phase", "completed"])["outcome"], "finished");
    }
}

#[test]
fn very_large_files_and_many_of_them_can_be_given_up() {
    let modes = Modes::new();
    let large = |mode: &str| json!({ "mode": mode, "active": true, "note": "n".repeat(900_000) }).to_string();
    for mode in ["deep-interview", "blueprint", "autoresearch", "team", "forge", "autopilot", "ultrawork", "ultraqa"] {
        modes.put(&format!("{mode}-state.json"), &large(mode));
    }
    for nth in 0..12 {
        modes.put(
            &format!("sessions/s{nth}/forge-state.json"),
            &json!({ "active": true, "note": "\t".repeat(120_000) }).to_string(),
        );
    }
    assert_eq!(ended(&modes.ok(&["cancel", "--root"])).len(), 8);
    let kept = std::fs::read_dir(modes.0.path(".flow/state/.quarantine")).unwrap().count();
    assert_eq!(kept, 8, "what was large is kept");
    assert_eq!(ended(&modes.ok(&["cancel", "--all"])).len(), 12);
    assert_eq!(modes.active(&["--all"]), json!([]));
}

#[test]
fn a_payload_that_is_cut_off_or_has_an_odd_session_begins_nothing() {
    let modes = Modes::new();
    for payload in [
        r#"{"session_id":123,"prompt":"$forge"}"#,
        r#"{"session_id":["x"],"prompt":"$forge"}"#,
        r#"{"session_id":"s1","prompt":"$forge do it"#,
        r#"{"session_id":"a/b","prompt":"$forge"}"#,
        r#"{"session_id":"","prompt":"$forge"}"#,
        r#"{"session_id":null,"prompt":"$forge"}"#,
        r#"{"prompt":"$forge"}"#,
    ] {
        let error = modes.0.flow_with(["mode", "prompt", "--json"], payload).exits(1).error();
        assert_eq!(error["code"], "invalid_document", "{payload}: {error}");
        assert_eq!(modes.active(&["--all"]), json!([]), "{payload}");
    }
    // Who names the scope needs no session in the payload, and a prompt without a skill asks for nothing.
    modes.0.flow_with(["mode", "prompt", "--root"], r#"{"prompt":"$forge"}"#).ok();
    assert_eq!(modes.active(&["--root"]), json!(["forge"]));
    modes.0.flow_with(["mode", "prompt"], r#"{"prompt":"go on"}"#).ok();
}

#[test]
fn a_session_s_file_that_says_cleared_and_active_can_be_cleared() {
    let modes = Modes::new();
    modes.ok(&["request", "forge"]);
    modes.put("sessions/s1/forge-state.json", r#"{"active":true,"current_phase":"cleared"}"#);
    assert_eq!(ended(&modes.ok(&["clear", "forge", "--session", "s1"])), ["forge"]);
    assert_eq!(modes.active(&["--session", "s1"]), json!([]));
}

#[test]
fn a_policy_whose_modes_begin_in_their_end_is_refused() {
    let modes = Modes::new();
    let policy = "apiVersion: flow.synapti.ai/v1\nkind: FlowModes\nmodes:\n  - { name: ask, kind: planning, start: { active: false, run_id: 7 } }\n  \
                  - { name: tell, kind: planning, start: { current_phase: question }, phases: [question, thinking], terminal_phases: [over] }\n";
    std::fs::write(modes.0.path(".flow/modes.yaml"), policy).unwrap();
    let told = modes.0.flow(["validate", ".flow/modes.yaml"]).exits(1).stdout;
    for flaw in ["`active` is for flow to fill", "`run_id` is for", "`question` means that `tell` has ended, so"] {
        assert!(told.contains(flaw), "{flaw}: {told}");
    }
    let policy = "apiVersion: flow.synapti.ai/v1\nkind: FlowModes\nmodes:\n  - { name: tell, kind: planning, start: { current_phase: Thinking }, \
                  phases: [Thinking], terminal_phases: [Over], phase_aliases: { Think: Thinking } }\n";
    std::fs::write(modes.0.path(".flow/modes.yaml"), policy).unwrap();
    modes.ok(&["request", "tell"]);
    for (word, phase) in [("think", "Thinking"), ("thinking", "Thinking"), ("over", "Over")] {
        assert_eq!(modes.ok(&["write", "tell", "--phase", word])["state"]["current_phase"], phase);
    }
}

#[test]
fn a_run_is_linked_to_a_mode_that_is_active_already_and_never_lost_in_silence() {
    let modes = Modes::new();
    let (one, other) = (modes.0.start("start-issue"), modes.0.start("debug"));
    modes.ok(&["request", "forge"]);
    assert_eq!(modes.ok(&["request", "forge", "--run-id", &one])["decision"], "no_change");
    assert_eq!(modes.state("forge-state.json")["run_id"], one.as_str());
    let report = modes.ok(&["request", "forge", "--run-id", &other]);
    assert!(report["warnings"][0].as_str().unwrap().contains(&one), "{report}");
    let report = modes.ok(&["write", "forge", "--run-id", &one]);
    assert!(report["warnings"][0].as_str().unwrap().contains(&other), "{report}");
    std::fs::write(modes.0.path(".flow/modes.yaml"), "modes: [").unwrap();
    let told = modes.0.flow(["cancel", &one, "--reason", "enough", "--json"]).ok().json();
    assert!(told["warnings"].to_string().contains("forge is still active for this run"), "{told}");
}

#[test]
fn a_file_that_cannot_be_read_hides_no_other_mode() {
    let modes = Modes::new();
    modes.ok(&["request", "team"]);
    modes.ok(&["request", "forge"]);
    modes.put("blueprint-state.json", "x");
    let report = modes.ok(&["cancel", "forge"]);
    assert_eq!(report["active"], json!(["team"]));
    assert!(report["warnings"][0].as_str().unwrap().contains("flow mode clear blueprint --root"), "{report}");
    assert_eq!(modes.ok(&["prompt", "hello"])["active"], json!(["team"]));
    let report = modes.mode(&["prompt", "$ultrawork go"]).exits(1).json();
    assert_eq!(report["error"]["mode"], "ultrawork");
}

#[test]
fn what_is_no_file_is_called_by_its_name() {
    let modes = Modes::new();
    std::fs::create_dir_all(modes.0.path(".flow/state/forge-state.json")).unwrap();
    let list = modes.ok(&["list"]);
    let why = list["modes"][0]["error"].as_str().unwrap();
    assert!(!why.contains("JSON"), "{why}");
}

#[test]
fn what_is_active_can_be_given_up_by_a_prompt_without_a_policy() {
    let modes = Modes::new();
    modes.ok(&["request", "forge", "--session", "s1"]);
    std::fs::write(modes.0.path(".flow/modes.yaml"), "modes: [").unwrap();
    let report = modes.ok(&["prompt", "$cancel", "--session", "s1"]);
    assert_eq!(report["cancelled"], json!(["forge"]));
    std::fs::remove_file(modes.0.path(".flow/modes.yaml")).unwrap();
    assert_eq!(modes.active(&["--session", "s1"]), json!([]));
}

#[test]
fn a_mode_that_left_the_policy_can_be_ended() {
    let modes = Modes::new();
    modes.ok(&["request", "forge"]);
    let policy = "apiVersion: flow.synapti.ai/v1\nkind: FlowModes\nmodes:\n  - { name: ship, kind: execution }\n";
    std::fs::write(modes.0.path(".flow/modes.yaml"), policy).unwrap();
    assert_eq!(ended(&modes.ok(&["clear", "forge"])), ["forge"]);
    assert_eq!(modes.state("forge-state.json"), Value::Null);
}

#[test]
fn an_odd_session_in_the_environment_is_no_matter_where_everybody_is_meant() {
    let modes = Modes::new();
    modes.ok(&["request", "forge"]);
    let flow = |args: &[&str]| {
        let mut command = modes.0.flow_command();
        command.env("FLOW_SESSION", "bad/id").args(args);
        crate::support::run(command, "")
    };
    flow(&["mode", "list", "--all"]).ok();
    flow(&["mode", "clear", "--all"]).ok();
    assert_eq!(modes.active(&["--all"]), json!([]));
    modes.mode(&["request", "forge", "--session", "--json"]).exits(2);
}

#[test]
fn a_denied_skill_is_told() {
    let modes = Modes::new();
    let report = modes.ok(&["prompt", "The build doesn't work, please fix it with $forge"]);
    assert_eq!(report["skills"], json!([]));
    let warning = report["warnings"][0].as_str().unwrap();
    assert_eq!(warning, "$forge is not taken up: \"doesn't\" stands before it in the same clause");
    modes.ok(&["prompt", "- use $forge"]);
    assert_eq!(modes.active(&[]), json!(["forge"]));
}

#[test]
fn a_list_tells_of_files_that_contradict_themselves() {
    let modes = Modes::new();
    modes.put("forge-state.json", r#"{"active":"yes"}"#);
    modes.put("team-state.json", r#"{"active":true,"lifecycle_outcome":"finished"}"#);
    insta::assert_snapshot!(modes.0.flow(["mode", "list"]).ok().stdout, @r#"
    team   active    -  active is true, though lifecycle_outcome says that it ended (finished)
    forge  inactive  -  active is "yes", neither true nor false, and does not count
    "#);
}

#[test]
fn files_of_other_programs_are_nobody_s_to_end() {
    let modes = Modes::new();
    let theirs = r#"{"version":1,"active":true,"data":[1,2,3]}"#;
    modes.put("run-state.json", theirs);
    modes.ok(&["request", "forge"]);
    assert_eq!(ended(&modes.ok(&["cancel"])), ["forge"]);
    assert_eq!(ended(&modes.ok(&["clear"])), ["forge"]);
    std::fs::write(modes.0.path(".flow/modes.yaml"), "modes: [").unwrap();
    assert_eq!(ended(&modes.ok(&["clear", "--all"])), [""; 0]);
    assert_eq!(modes.state("run-state.json").to_string(), theirs);
}

#[test]
fn what_is_ended_without_a_policy_takes_nobody_else_out_of_the_visible_set() {
    let modes = Modes::new();
    modes.ok(&["request", "ultrawork", "--root"]);
    for (mode, session) in [("forge", "s1"), ("forge", "s2"), ("blueprint", "s4")] {
        modes.ok(&["request", mode, "--session", session]);
    }
    std::fs::write(modes.0.path(".flow/modes.yaml"), "modes: [").unwrap();
    let report = modes.ok(&["clear", "forge", "--session", "s1"]);
    assert_eq!((ended(&report), &report["active"]), (vec!["forge"], &json!(["ultrawork"])));
    assert_eq!(shown(&modes), [json!("s2"), json!("s4"), Value::Null]);
    assert_eq!(ended(&modes.ok(&["clear", "autopilot"])), [""; 0]);
    assert_eq!(ended(&modes.ok(&["clear", "crew", "--session", "zz"])), [""; 0]);
}

#[test]
fn what_took_the_place_of_a_session_after_a_crash_stops_nobody() {
    let modes = Modes::new();
    modes.ok(&["request", "forge", "--session", "s1"]);
    modes.ok(&["request", "team", "--session", "s2"]);
    // As if the last commit had not been put into place.
    let mut set = modes.state("skill-active-state.json");
    set["flow"]["seq"] = json!(1);
    modes.put("skill-active-state.json", &set.to_string());
    std::fs::remove_file(modes.0.path(".flow/state/.lock")).unwrap();
    std::fs::remove_dir_all(modes.0.path(".flow/state/sessions/s2")).unwrap();
    modes.put("sessions/s2", "");
    assert_eq!(ended(&modes.ok(&["cancel", "--session", "s1"])), ["forge"]);
    assert_eq!(modes.ok(&["request", "team", "--session", "s5"])["decision"], "start");
}

#[test]
fn a_phase_in_which_a_mode_has_ended_ends_it_anew() {
    let modes = Modes::new();
    let policy = "apiVersion: flow.synapti.ai/v1\nkind: FlowModes\nmodes:\n  - { name: ship, kind: execution, start: { current_phase: building }, \
                  phases: [building], terminal_phases: [shipped, Dropped], phase_aliases: { done: Dropped } }\n";
    std::fs::write(modes.0.path(".flow/modes.yaml"), policy).unwrap();
    modes.ok(&["request", "ship"]);
    for phase in ["done", "Dropped", "shipped"] {
        modes.ok(&["write", "ship", "--outcome", "failed"]);
        assert_eq!(modes.ok(&["write", "ship", "--phase", phase])["outcome"], "finished", "{phase}");
    }
    std::fs::write(
        modes.0.path(".flow/modes.yaml"),
        policy.replace("done:", "Building: shipped, DONE: shipped, done:"),
    )
    .unwrap();
    let told = modes.0.flow(["validate", ".flow/modes.yaml"]).exits(1).stdout;
    insta::assert_snapshot!(told, @r"
    .flow/modes.yaml:4:156: `Building` is a phase itself
    .flow/modes.yaml:4:186: `done` is there twice, in large and small letters
    1 file checked, 1 not valid
    ");
}

#[test]
fn an_older_log_of_modes_put_back_leads_to_no_used_position() {
    let modes = Modes::new();
    modes.ok(&["request", "forge"]);
    let names = ["events.jsonl", "skill-active-state.json"].map(|name| modes.0.path(".flow/state").join(name));
    let old = names.clone().map(|name| std::fs::read(name).unwrap());
    modes.ok(&["clear", "forge"]);
    modes.ok(&["request", "team"]);
    let last = || modes.0.mode_events().last().unwrap()["seq"].clone();
    assert_eq!(last(), 3);
    names.iter().zip(&old).for_each(|(name, bytes)| std::fs::write(name, bytes).unwrap());
    modes.ok(&["request", "ultrawork", "--session", "s1"]);
    assert_eq!(last(), 4);
    modes.ok(&["clear", "ultrawork", "--session", "s1"]);
    assert_eq!(last(), 5);
}

#[test]
fn a_list_of_all_modes_tells_of_an_active_one_that_the_policy_does_not_have() {
    let modes = Modes::new();
    modes.ok(&["request", "forge"]);
    modes.ok(&["request", "ultrawork", "--session", "s1"]);
    let shipped = include_str!("../../workflows/modes.yaml");
    let other = shipped.replace("forge", "smithy").replace("ultrawork", "proving");
    std::fs::write(modes.0.path(".flow/modes.yaml"), other).unwrap();
    let listed = modes.0.flow(["mode", "list", "--all"]).ok();
    assert_eq!(listed.stdout, "no mode of the policy has begun here\n");
    insta::assert_snapshot!(listed.stderr, @"
    warning: its file says that forge is active, and the policy has no such mode; `flow mode clear forge --root` ends it
    warning: its file says that ultrawork is active, and the policy has no such mode; `flow mode clear ultrawork --session s1` ends it
    ");
    modes.ok(&["clear", "forge", "--root"]);
    modes.ok(&["clear", "ultrawork", "--session", "s1"]);
    assert_eq!(modes.0.flow(["mode", "list", "--all"]).ok().stderr, "");
}
