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
    assert_eq!(modes.mode(&["clear", "forge", "--root"]).exits(2).error()["code"], "unknown_mode");
    modes.ok(&["clear", "--all"]);
    assert_eq!(modes.state("run-state.json")["phase"], "another program's");
    std::fs::remove_file(modes.0.path(".flow/modes.yaml")).unwrap();
    assert_eq!(modes.ok(&["list", "--all"])["modes"], json!([]));
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
