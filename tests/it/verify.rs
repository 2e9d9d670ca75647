//! `verify`: a run's files are the fold of its log, byte for byte, or the first line that differs is named.

use serde_json::{Value, json};

use crate::support::clinic::whole;
use crate::support::{HeldLock, Past, Sandbox};

/// The report, which must not be ok, without having changed anything.
#[track_caller]
fn differences(past: &Past) -> Vec<Value> {
    let before = whole(&past.sandbox);
    let report = past.sandbox.flow(["verify", &past.run, "--json"]).exits(65).json();
    assert!(whole(&past.sandbox) == before, "it wrote");
    assert_eq!(report["ok"], false);
    report["differences"].as_array().unwrap().clone()
}

#[test]
fn every_state_of_a_healthy_run_is_proven() {
    let past = Past::new();
    let proven = |events: u64| {
        let report = past.sandbox.flow(["verify", &past.run, "--json"]).ok().json();
        assert_eq!((&report["ok"], &report["differences"]), (&json!(true), &json!([])), "{report:#}");
        assert_eq!((report["checked"]["events"].as_u64(), &report["run_id"]), (Some(events), &json!(past.run)));
        assert_eq!(report["checked"]["run_digests"].as_u64(), Some(events), "{report:#}");
    };
    proven(4);
    past.sandbox.edit(&past.run, "goal: null", "goal: more # says Ada");
    past.sandbox.edit(&past.run, "completed_activities:", "completed_activities: # in order");
    past.go_on();
    proven(6);
    past.sandbox.flow(["block", &past.run, "--reason", "a: [b]\n# c"]).ok();
    past.sandbox.flow(["unblock", &past.run]).ok();
    past.sandbox.edit(&past.run, "    - explore-done\n", "");
    past.sandbox.flow(["resume", &past.run, "--claim", "--session", "s1"]).ok();
    past.sandbox.flow(["session-end", "--session", "s1"]).ok();
    proven(11);
    past.put_back("run.yaml", 2);
    past.sandbox.flow(["unblock", &past.run]).ok();
    past.remove("run.yaml");
    past.sandbox.flow(["unblock", &past.run]).ok();
    assert_eq!(past.sandbox.flow(["complete", &past.run, "--json"]).exits(1).error()["code"], "phase_not_done");
    past.sandbox.flow(["complete", &past.run, "--skip-reason", "explored elsewhere"]).ok();
    past.sandbox.flow(["verify", &past.run]).ok();
}

#[test]
fn the_page_is_short() {
    let past = Past::new();
    let page = past.sandbox.flow(["verify", &past.run]).ok().stdout;
    insta::assert_snapshot!(page, @r"
    ok  2026-05-20T143003Z-issue-42
      log         4 sealed events
      run.yaml    917 bytes; the log has the digests of 4 versions
      activities  3 files
    ");
    past.put_back("run.yaml", 2);
    past.put("activities/001-preflight-done.yaml", "mine: true\n");
    let page = past.sandbox.flow(["verify", &past.run]).exits(65).stdout;
    insta::assert_snapshot!(page, @r"
    differs  2026-05-20T143003Z-issue-42
      log         4 sealed events
      run.yaml    907 bytes; the log has the digests of 4 versions
      activities  3 files
    .flow/runs/2026-05-20T143003Z-issue-42/run.yaml:20: run.yaml shows event 3; the next command that writes the run brings it up to 4
      expected    current_phase: plan
      found       current_phase: explore
    .flow/runs/2026-05-20T143003Z-issue-42/activities/001-preflight-done.yaml:1: a person edited the activity file
      expected  apiVersion: flow.synapti.ai/v1
      found     mine: true
    ");
}

#[test]
fn a_byte_more_or_less_is_a_difference() {
    let past = Past::new();
    let name = "activities/002-explore-done.yaml";
    past.put(name, past.read(name) + " ");
    let found = differences(&past);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["path"].as_str().unwrap(), past.shown_path(name).to_str().unwrap());
    assert_eq!(found[0]["why"], "a person edited the activity file");
    past.trees[3].restore(&past.sandbox.run_dir(&past.run));
    past.sandbox.edit(&past.run, "goal: null", "goal: ~");
    let found = differences(&past);
    assert_eq!(
        found,
        [json!({
            "path": past.shown_path("run.yaml"), "line": 9, "expected": "  goal: null", "found": "  goal: ~",
            "why": "run.yaml was edited by hand, and no command has adopted the edit yet",
        })]
    );
}

#[test]
fn a_run_that_only_an_edit_ended_is_shown_with_what_its_log_says() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.record("r1", "preflight", "look");
    sandbox.edit("r1", "status: active", "status: completed");
    let told = "run.yaml was edited by hand and says completed, and the log says active; the next command that writes the run \
                records the edit";
    for verb in ["show", "report", "resume"] {
        let json = sandbox.flow([verb, "r1", "--json"]).stdout;
        assert!(json.contains(told), "{verb}: {json}");
        assert!(sandbox.flow([verb, "r1"]).stdout.contains(told), "{verb}");
    }
    // An edit of anything else is how people correct a run, and needs no word.
    sandbox.edit("r1", "status: completed", "status: active");
    sandbox.edit("r1", "goal: null", "goal: mine");
    assert!(!sandbox.flow(["show", "r1"]).stdout.contains("by hand"));
}

#[test]
fn every_single_changed_byte_of_a_log_is_a_difference() {
    let past = Past::new();
    let log = past.read("events.jsonl").into_bytes();
    for at in (0..log.len()).step_by(211) {
        let mut bytes = log.clone();
        bytes[at] ^= 1;
        past.put("events.jsonl", &bytes);
        past.sandbox.flow(["verify", &past.run]).exits(65);
    }
}

#[test]
fn missing_files_and_strange_ones_are_differences() {
    let past = Past::new();
    past.remove("activities/001-preflight-done.yaml");
    past.put("activities/007-mine.yaml", "mine: true\n");
    past.remove("run.yaml");
    let why: Vec<_> = differences(&past).iter().map(|one| one["why"].as_str().unwrap().to_owned()).collect();
    let wanted = ["run.yaml is missing", "the activity file is missing", "the log has no such activity"];
    assert_eq!(why, wanted);
    past.trees[3].restore(&past.sandbox.run_dir(&past.run));
    past.remove("events.jsonl");
    assert_eq!(differences(&past)[0]["why"], "nothing can be proven without a log");
}

#[test]
fn a_version_of_run_yaml_that_was_not_the_fold_is_found_in_the_log() {
    let past = Past::new();
    let log = past.read("events.jsonl");
    let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
    let mut object = flowrun::codec::unseal(lines[2].as_bytes()).unwrap();
    object.insert("run".into(), "7-00000000".into());
    lines[2] = flowrun::codec::seal(&object).trim_end().to_owned();
    past.put("events.jsonl", lines.join("\n") + "\n");
    let found = differences(&past);
    assert_eq!((found.len(), found[0]["line"].as_u64(), &found[0]["found"]), (1, Some(3), &json!("7-00000000")));
}

#[test]
fn what_a_living_writer_is_doing_is_no_difference() {
    let past = Past::new();
    let lock = HeldLock::take(past.real_path(".lock"));
    // A held lock does not matter while the files match the log.
    past.sandbox.flow(["verify", &past.run]).ok();
    past.remove("activities/003-plan-done.yaml");
    let held = past.sandbox.flow(["verify", &past.run, "--lock-timeout", "0.1"]).exits(5);
    assert!(held.stderr.contains("is held by another process"), "{held:?}");
    drop(lock);
    past.sandbox.flow(["verify", &past.run]).exits(65);
}
