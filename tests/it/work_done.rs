//! Nothing looks done that is not: what may be left, what may be completed, and what `resume` proposes.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::storm::Dice;
use crate::support::{Answer, Sandbox, run, scaled};

const SHIPPED: [&str; 6] = ["start-issue", "debug", "address-pr", "review-pr", "merge-pr", "release"];

fn resume(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.flow(["resume", id, "--json"]).json()
}

/// The commands of the alternatives that everybody may run, with the words when to take them.
fn ways(report: &Value) -> Vec<(String, String)> {
    let ways = report["next"]["alternatives"].as_array().unwrap().iter().filter(|way| way["by"].is_null());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    ways.map(|way| (text(&way["when"]), text(&way["command"]))).collect()
}

#[track_caller]
fn way(report: &Value, when: &str) -> String {
    let found = ways(report).into_iter().find(|(words, _)| words.contains(when));
    found.unwrap_or_else(|| panic!("nothing is proposed for {when:?} in {report:#}")).1
}

/// Runs a command line as a shell does, in `root`.
fn shell(sandbox: &Sandbox, root: &Path, line: &str) -> Answer {
    let program = Path::new(env!("CARGO_BIN_EXE_flow")).parent().unwrap();
    let mut command = sandbox.command("sh");
    let path = std::env::var("PATH").unwrap_or_default();
    command.args(["-c", line]).env("PATH", format!("{}:{path}", program.display())).current_dir(root);
    run(command, "")
}

#[track_caller]
fn follow(sandbox: &Sandbox, line: &str) -> Answer {
    let answer = shell(sandbox, &sandbox.root(), line);
    assert_eq!(answer.code, Some(0), "{line}\n{answer:?}");
    answer
}

#[test]
fn a_phase_is_left_only_when_its_latest_attempt_settled_well() {
    for status in ["failed", "blocked", "running", "pending"] {
        let sandbox = Sandbox::new();
        let id = sandbox.start("start-issue");
        let record = |more: &[&str]| sandbox.flow(["record-activity", "--json"].iter().chain(more));
        let refused = record(&["--id", "t", "--status", status, "--advance"]).exits(1).error();
        assert_eq!(refused["code"], "phase_not_done", "{status}");
        record(&["--id", "good"]).ok();
        record(&["--id", "t", "--status", status]).ok();
        let refused = record(&["--id", "x", "--phase", "explore"]).exits(1).error();
        assert_eq!(refused["code"], "phase_not_done", "{status}");
        assert!(refused["message"].as_str().unwrap().contains("`preflight` is not done: "), "{refused}");
        // Nothing of it was written.
        assert_eq!(sandbox.flow(["log", &id, "--json"]).ok().json()["events"].as_array().unwrap().len(), 3);
        let why = "the owner said so";
        record(&["--id", "x", "--phase", "explore", "--skip-reason", why]).ok();
        let log = sandbox.flow(["log", &id, "--json"]).ok().json();
        assert_eq!(log["events"][3]["skipped"], json!({ "phases": ["preflight"], "reason": why }));
        // It is shown from then on.
        record(&["--id", "y", "--phase", "plan"]).ok();
        let shown = sandbox.flow(["show", &id, "--json"]).ok().json();
        assert_eq!((&shown["steps"][0]["status"], &shown["steps"][0]["skip_reason"]), (&json!("skipped"), &json!(why)));
        let notes = resume(&sandbox, &id)["notes"].to_string();
        assert!(notes.contains("`preflight` was left undone (event 4): the owner said so"), "{notes}");
    }
}

#[test]
fn a_phase_without_any_record_is_not_left_and_a_reason_that_was_not_needed_is_not_logged() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    let refused = sandbox.flow(["record-activity", "--id", "x", "--phase", "reproduce", "--json"]).exits(1).error();
    assert_eq!(refused["message"], format!("run {id}: `preflight` is not done: nothing is recorded in it"));
    let done = ["record-activity", "--id", "a", "--advance", "--skip-reason", "no", "--json"];
    let report = sandbox.flow(done).ok().json();
    assert_eq!(report["warnings"], json!(["--skip-reason was not needed: nothing is left undone"]));
    assert_eq!(sandbox.flow(["log", &id, "--json"]).ok().json()["events"][1]["skipped"], Value::Null);
}

#[test]
fn a_run_is_completed_only_when_its_phase_is_done_or_a_reason_is_given() {
    let sandbox = Sandbox::new();
    sandbox.without_gates();
    let id = sandbox.start("merge-pr");
    for phase in ["preflight", "verify", "confirm"] {
        sandbox.record(&id, phase, phase);
    }
    sandbox.flow(["record-activity", "--phase", "merge", "--id", "merge", "--status", "failed"]).ok();
    let refused = sandbox.flow(["complete", &id, "--json"]).exits(1).error();
    assert_eq!(refused["code"], "phase_not_done");
    let help = refused["help"].as_str().unwrap();
    insta::assert_snapshot!(help, @"begin another attempt: `flow record-activity --run-id 2026-05-20T143004Z-issue-42 --phase merge --id merge --status running --name 'merge, after 004'`, with --status skipped if it is given up, or go back to `verify` with --phase; `flow complete 2026-05-20T143004Z-issue-42 --skip-reason 'TEXT'` completes the run without it; `flow resume 2026-05-20T143004Z-issue-42` shows the commands");
    sandbox.flow(["complete", &id, "--skip-reason", "merged by hand"]).ok();
    let done = resume(&sandbox, &id);
    assert!(done["notes"].to_string().contains("merged by hand"), "{done:#}");
    // A run that was completed too early goes on.
    sandbox.flow(["reopen", &id]).exits(2);
    sandbox.flow(["reopen", &id, "--reason", "it was not merged"]).ok();
    assert_eq!(resume(&sandbox, &id)["verdict"], "continue");
    assert_eq!(sandbox.flow(["resume", "--json"]).ok().json()["run_id"], id.as_str(), "it is found without its name");
    assert_eq!(sandbox.flow(["log", &id, "--json"]).ok().json()["events"][6]["type"], "run_reopened");
    sandbox.flow(["verify", &id]).ok();
}

#[test]
fn the_command_that_a_refusal_prints_for_failed_work_does_not_say_that_it_passed() {
    let leave: [&[&str]; 3] = [
        &["record-activity", "--run-id", "r1", "--phase", "reproduce", "--id", "x"],
        &["advance", "r1"],
        &["complete", "r1"],
    ];
    for status in ["failed", "pending"] {
        for leave in leave {
            let sandbox = Sandbox::new();
            sandbox.flow(["start", "debug", "--id", "r1"]).ok();
            sandbox.record("r1", "preflight", "look");
            sandbox.flow(["record-activity", "--run-id", "r1", "--id", "tree", "--status", status]).ok();
            let refused = sandbox.flow(leave.iter().chain(&["--json"])).exits(1).error();
            assert_eq!(refused["code"], "phase_not_done", "{leave:?}");
            let help = refused["help"].as_str().unwrap();
            let printed = help.split('`').find(|part| part.contains("--id tree ")).unwrap_or_else(|| panic!("{help}"));
            // As `resume` has it: one begins the work, and only its outcome settles it.
            let proposed = resume(&sandbox, "r1")["next"]["command"].as_str().unwrap().to_owned();
            assert!(printed.starts_with(&proposed), "{proposed}\n{printed}");
            follow(&sandbox, printed).ok();
            let refused = sandbox.flow(leave.iter().chain(&["--json"])).exits(1).error();
            assert!(refused["message"].as_str().unwrap().contains("tree"), "{refused:#}");
            assert_eq!(resume(&sandbox, "r1")["verdict"], "reconcile");
        }
    }
}

#[test]
fn after_advance_in_a_workflow_of_phases_the_work_is_done_and_recorded() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let refused = sandbox.flow(["advance", "r1", "--json"]).exits(1).error();
    assert!(refused["help"].as_str().unwrap().contains("with --summary TEXT of `flow advance`"), "{refused}");
    sandbox.record("r1", "preflight", "tree");
    sandbox.flow(["advance", "r1"]).ok();
    let begun = resume(&sandbox, "r1");
    assert_eq!(begun["verdict"], "reconcile");
    let (when, first) = ways(&begun).swap_remove(0);
    assert_eq!(when, "the work of `reproduce` is to be done, and its outcome recorded then");
    assert_eq!(first, "flow record-activity --run-id r1 --phase reproduce --id reproduce --status running");
    follow(&sandbox, &first).ok();
    let passed = way(&resume(&sandbox, "r1"), "it ended well");
    assert!(passed.starts_with("flow record-activity --run-id r1 --phase reproduce --id reproduce "), "{passed}");
    follow(&sandbox, &passed).ok();
    // Its record says how it ended, so no report has to say it once more.
    let done = resume(&sandbox, "r1");
    assert_eq!((&done["verdict"], &done["next"]["phase"]), (&json!("continue"), &json!("diagnose")), "{done:#}");
}

#[test]
fn a_forgotten_advance_is_made_up_for_with_the_command_that_the_refusal_names() {
    for to in [&["--advance"][..], &["--advance", "reproduce"]] {
        let sandbox = Sandbox::new();
        sandbox.flow(["start", "debug", "--id", "r1"]).ok();
        let record = ["record-activity", "--run-id", "r1", "--id", "tree", "--summary", "clean"];
        sandbox.flow(record).ok();
        let refused = sandbox.flow(record.iter().chain(to).chain(&["--json"])).exits(1).error();
        assert_eq!(refused["code"], "id_reused");
        let help = refused["help"].as_str().unwrap();
        assert!(help.starts_with("only --advance differs: the work is recorded, and `flow advance r1"), "{help}");
        follow(&sandbox, help.split('`').nth(1).unwrap()).ok();
        assert_eq!(resume(&sandbox, "r1")["phase"], "reproduce");
        // From there it would lead elsewhere.
        let moved = sandbox.flow(record.iter().chain(to).chain(&["--json"])).exits(1).error();
        assert!(!moved["help"].to_string().contains("flow advance"), "{moved}");
    }
}

#[test]
fn a_narrow_log_has_the_date_and_a_wait_says_for_which_run_it_waits() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let mut narrow = sandbox.flow_command();
    narrow.args(["log", "r1"]).env("COLUMNS", "30");
    let told = run(narrow, "").ok().stdout;
    assert!(told.starts_with("2026-05-20\n   1  14:3"), "{told}");
    let waited = sandbox.flow(["wait", "--timeout", "0.1"]).exits(5).stderr;
    assert!(waited.starts_with("r1 (the open run)\n"), "{waited}");
}

#[test]
fn a_refusal_for_a_command_that_failed_proposes_no_record_in_its_place() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "--id", "tree", "--", "false"]).exits(1);
    let refused = sandbox.flow(["advance", "r1", "--json"]).exits(1).error();
    let help = refused["help"].as_str().unwrap();
    assert!(help.starts_with("run the command of `tree` again; "), "{help}");
    assert!(!help.contains("--id tree"), "{help}");
    assert!(way(&resume(&sandbox, "r1"), "to be run again").contains("--again -- false"));
}

#[test]
fn advance_completes_a_state_only_when_nothing_says_that_it_is_not_done() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    sandbox.flow(["record-activity", "--id", "look", "--status", "running"]).ok();
    assert_eq!(sandbox.flow(["advance", &id, "--json"]).exits(1).error()["code"], "phase_not_done");
    sandbox.flow(["record-activity", "--id", "look", "--status", "failed"]).ok();
    sandbox.flow(["advance", &id]).exits(1);
    // Words alone do not make good what failed.
    sandbox.flow(["advance", &id, "--summary", "it can be reproduced after all"]).exits(1);
    sandbox.flow(["record-activity", "--id", "look"]).ok();
    sandbox.flow(["advance", &id, "--summary", "it can be reproduced after all"]).ok();
    let shown = sandbox.flow(["show", &id, "--json"]).ok().json();
    assert_eq!(
        (&shown["steps"][0]["status"], &shown["state"]["current_phase"]),
        (&json!("completed"), &json!("reproduce"))
    );
    // A phase in which nothing was recorded is not passed, a person's confirmation least of all; a state of a graph is.
    let fresh = sandbox.start("merge-pr");
    assert_eq!(sandbox.flow(["advance", &fresh, "--json"]).exits(1).error()["code"], "phase_not_done");
    sandbox.flow(["advance", &fresh, "--summary", "the checks are green"]).ok();
    let graph = "initial: a\nstates:\n  a: { type: agent, transition: { next: b } }\n  b: { type: terminal }\n";
    std::fs::write(sandbox.path(".flow/workflows/graph.yaml"), graph).unwrap();
    let fresh = sandbox.start("graph");
    sandbox.flow(["advance", &fresh]).ok();
}

#[test]
fn rework_goes_back_without_a_reason_and_what_comes_after_is_done_again() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("start-issue");
    for phase in ["preflight", "explore", "plan", "code"] {
        sandbox.record(&id, phase, phase);
    }
    sandbox.flow(["record-activity", "--phase", "verify", "--id", "tests", "--status", "failed"]).ok();
    let report = resume(&sandbox, &id);
    assert_eq!(report["next"]["action"], "retry_phase");
    let back = way(&report, "`code` needs more work");
    follow(&sandbox, &back);
    assert_eq!(resume(&sandbox, &id)["in_doubt"][0]["phase"], "code");
    // The code that passed before does not count for this round.
    let refused = sandbox.flow(["record-activity", "--phase", "verify", "--id", "tests-2", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "phase_not_done");
    follow(&sandbox, &way(&resume(&sandbox, &id), "it ended well"));
    let report = resume(&sandbox, &id);
    assert_eq!((&report["next"]["action"], &report["next"]["phase"]), (&json!("start_phase"), &json!("verify")));
    // The same by --advance: there is no record that could be taken for the work of the new round.
    sandbox.flow(["record-activity", "--phase", "verify", "--id", "t", "--status", "failed", "--advance", "code"]).ok();
    let report = resume(&sandbox, &id);
    assert_eq!((&report["next"]["action"], &report["next"]["phase"]), (&json!("work_phase"), &json!("code")));
    assert_eq!(sandbox.flow(["complete", &id, "--json"]).exits(1).error()["code"], "phase_not_done");
}

#[test]
fn an_outcome_is_recorded_under_the_phase_in_which_the_work_was_begun() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("start-issue");
    sandbox.flow(["record-activity", "--id", "build", "--status", "running"]).ok();
    sandbox.record(&id, "preflight", "look");
    sandbox.record(&id, "explore", "read");
    let report = resume(&sandbox, &id);
    assert_eq!(report["verdict"], "reconcile");
    follow(&sandbox, &way(&report, "it ended well"));
    let shown = sandbox.flow(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["state"]["current_phase"], "explore", "an outcome moves nothing");
    assert_eq!(
        (&shown["activities"][3]["id"], &shown["activities"][3]["phase"]),
        (&json!("build"), &json!("preflight"))
    );
    // Without a phase it goes where the work was begun as well.
    sandbox.flow(["record-activity", "--id", "scan", "--status", "running"]).ok();
    sandbox.record(&id, "explore", "more");
    sandbox.record(&id, "plan", "steps");
    let report = sandbox.flow(["record-activity", "--id", "scan", "--status", "failed", "--json"]).ok().json();
    assert_eq!(report["phase"], "plan");
    let shown = sandbox.flow(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["activities"][7]["phase"], "explore");
    // What failed behind the run is said before the run goes on.
    let report = resume(&sandbox, &id);
    assert_eq!((&report["next"]["action"], &report["next"]["phase"]), (&json!("retry_phase"), &json!("explore")));
    follow(&sandbox, report["next"]["command"].as_str().unwrap());
    follow(&sandbox, &way(&resume(&sandbox, &id), "it ended well"));
    assert_eq!(resume(&sandbox, &id)["next"]["phase"], "code");
    sandbox.flow(["verify", &id]).ok();
}

#[test]
fn an_entry_that_a_person_removes_counts_in_every_phase_for_resume_and_show() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("start-issue");
    for (phase, name) in [("preflight", "p1"), ("explore", "e1"), ("plan", "plan-1")] {
        sandbox.record(&id, phase, name);
    }
    sandbox.edit(&id, "    - e1\n", "");
    // Before the edit is adopted, and after.
    for _ in 0..2 {
        let report = resume(&sandbox, &id);
        assert_eq!((&report["next"]["action"], &report["next"]["phase"]), (&json!("work_phase"), &json!("explore")));
        assert_eq!(report["reason"], "`explore` is to be done again: 002 e1 is not in completed_activities");
        let shown = sandbox.flow(["show", &id, "--json"]).ok().json();
        assert_eq!(shown["steps"][1]["status"], "not_started", "{shown:#}");
        assert_eq!(sandbox.flow(["complete", &id, "--json"]).exits(1).error()["code"], "phase_not_done");
        sandbox.flow(["set", &id, "--pr", "7"]).ok();
    }
    follow(&sandbox, resume(&sandbox, &id)["next"]["command"].as_str().unwrap());
    follow(&sandbox, &way(&resume(&sandbox, &id), "it ended well"));
    let report = resume(&sandbox, &id);
    assert_eq!((&report["phase"], &report["next"]["phase"]), (&json!("plan"), &json!("code")));
    let shown = sandbox.flow(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["steps"][1]["status"], "completed");
}

#[test]
fn what_a_run_is_about_is_changed_by_a_command_and_every_other_byte_survives() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("start-issue");
    sandbox.edit(&id, "  branch: main", "  branch: main # where it began");
    let set =
        ["set", &id, "--pr", "7", "--branch", "issue-42", "--goal", "Ship: \"it\"", "--limit", "max_iterations=20"];
    let report = sandbox.flow(set.into_iter().chain(["--limit", "max_runtime_minutes=90", "--json"])).ok().json();
    assert_eq!((&report["changed"], &report["context"]["pr"]), (&json!(true), &json!(7)));
    let text = sandbox.read(&id, "run.yaml");
    assert!(text.contains("  branch: issue-42 # where it began\n") && text.contains("max_iterations: 20"), "{text}");
    assert_eq!(sandbox.flow(set).ok().stdout.lines().next(), Some(format!("{id} is so already").as_str()));
    let events = sandbox.flow(["log", &id, "--json"]).ok().json()["events"].as_array().unwrap().len();
    assert_eq!(events, 3, "the hand edit and the change");
    sandbox.flow(["set", &id, "--limit", "max_runtime_minutes=none"]).ok();
    assert!(sandbox.read(&id, "run.yaml").contains("max_runtime_minutes: null"));
    std::fs::remove_file(sandbox.run_dir(&id).join("run.yaml")).unwrap();
    sandbox.record(&id, "preflight", "x");
    assert!(sandbox.read(&id, "run.yaml").contains("  branch: issue-42 # where it began\n"));
    sandbox.flow(["verify", &id]).ok();
    for bad in
        [&["set", &id][..], &["set", &id, "--limit", "max_speed=3"], &["set", &id, "--limit", "max_iterations=0"]]
    {
        sandbox.flow(bad).exits(2);
    }
}

#[test]
fn a_reached_limit_is_raised_by_the_proposed_command() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    sandbox.flow(["set", &id, "--limit", "max_iterations=1"]).ok();
    sandbox.flow(["record-activity", "--id", "a", "--status", "failed"]).ok();
    let report = resume(&sandbox, &id);
    assert_eq!((&report["verdict"], &report["next"]["command"]), (&json!("needs_human"), &Value::Null));
    follow(&sandbox, &way(&report, "lets the run go on"));
    assert_eq!(resume(&sandbox, &id)["verdict"], "continue");
}

#[test]
fn a_second_run_for_the_same_issue_is_started_only_on_purpose() {
    let sandbox = Sandbox::new();
    let first = sandbox.flow(["start", "start-issue", "--issue", "7"]).ok().line().to_owned();
    let refused = sandbox.flow(["start", "debug", "--issue", "7", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "run_open");
    assert!(
        refused["message"].as_str().unwrap().contains(&first)
            && refused["help"].as_str().unwrap().contains("--another")
    );
    sandbox.flow(["start", "debug", "--issue", "8"]).ok();
    sandbox.flow(["start", "debug", "--issue", "7", "--another"]).ok();
    sandbox.flow(["cancel", &first]).ok();
    let pr = ["start", "merge-pr", "--pr", "3"];
    sandbox.flow(pr).ok();
    sandbox.flow(["start", "review-pr", "--pr", "3"]).ok();
    sandbox.flow(pr).exits(1);
    // Of many at once one begins.
    let starts: Vec<_> = (0..8)
        .map(|_| {
            let mut command = sandbox.flow_command();
            command.args(["start", "debug", "--issue", "99"]);
            crate::support::spawned(command)
        })
        .collect();
    let codes: Vec<_> = starts.into_iter().map(|child| crate::support::answered(child).code).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
}

#[test]
fn a_run_is_named_by_the_beginning_of_its_id_or_as_the_latest() {
    let sandbox = Sandbox::new();
    for id in ["alpha-1", "alpha-2", "beta"] {
        sandbox.flow(["start", "debug", "--id", id]).ok();
    }
    assert_eq!(sandbox.flow(["show", "b", "--json"]).ok().json()["metadata"]["id"], "beta");
    let refused = sandbox.flow(["show", "alpha", "--json"]).exits(2).error();
    assert_eq!(refused["code"], "ambiguous_run");
    assert_eq!(sandbox.flow(["show", "alpha-1", "--json"]).ok().json()["metadata"]["id"], "alpha-1");
    for command in ["show", "log", "verify", "resume", "next", "doctor"] {
        sandbox.flow([command, "@latest", "--json"]).ok();
    }
    let recorded = sandbox.flow(["record-activity", "--run-id", "@latest", "--id", "x", "--json"]).ok().json();
    assert_eq!(recorded["run_id"], "beta");
    // A report begins a run of its own when no run has exactly this id.
    let emit = ["emit", "--workflow", "build-fast", "--type", "status_change", "--step", "plan", "--data"];
    let emit = |id: &str| sandbox.flow(emit.iter().chain(&[r#"{"status":"running"}"#, "--run-id", id])).ok().json();
    assert_eq!(emit("alpha")["data"]["created"], true);
    assert_eq!(
        sandbox.flow(["show", "alpha", "--json"]).ok().json()["metadata"]["id"],
        "alpha",
        "the exact id goes first"
    );
}

#[test]
fn show_log_and_verify_take_the_latest_run_when_all_are_over_and_say_which() {
    let sandbox = Sandbox::new();
    sandbox.flow(["show"]).exits(3);
    let empty = sandbox.flow(["list"]).ok();
    let none = format!("no runs here: there is no .flow in {} or above\n", sandbox.root().display());
    assert_eq!((empty.stdout, empty.stderr), (String::new(), none));
    for id in ["one", "two"] {
        sandbox.flow(["start", "debug", "--id", id]).ok();
        sandbox.flow(["cancel", id]).ok();
    }
    for command in ["show", "log", "verify"] {
        let answer = sandbox.flow([command]).ok();
        assert_eq!(answer.stderr, "two (no run is open; this one is the latest)\n", "{command}");
    }
    sandbox.flow(["start", "debug", "--id", "three"]).ok();
    assert_eq!(sandbox.flow(["log"]).ok().stderr, "three (the open run)\n");
    // What writes never guesses so far.
    sandbox.flow(["cancel", "three"]).ok();
    assert_eq!(sandbox.flow(["unblock", "--json"]).exits(3).error()["code"], "no_active_run");
}

#[test]
fn resume_tells_of_the_last_twenty_completed_activities_and_of_all_on_request() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    for n in 0..25 {
        sandbox.record(&id, "preflight", &format!("a{n}"));
    }
    let report = resume(&sandbox, &id);
    assert_eq!((report["completed"].as_array().unwrap().len(), &report["completed_activities"]), (20, &json!(25)));
    assert_eq!(report["completed"][19]["id"], "a24");
    let page = sandbox.flow(["resume", &id]).ok().stdout;
    assert!(page.contains("  completed (the last 20 of 25; --all shows every one)\n"), "{page}");
    let all = sandbox.flow(["resume", &id, "--all", "--json"]).ok().json();
    assert_eq!(all["completed"].as_array().unwrap().len(), 25);
}

#[test]
fn an_agent_that_follows_resume_blindly_completes_nothing() {
    for workflow in SHIPPED {
        let sandbox = Sandbox::new();
        sandbox.without_gates();
        let id = sandbox.start(workflow);
        let mut steps = 0;
        let last = loop {
            let report = resume(&sandbox, &id);
            let Some(command) = report["next"]["command"].as_str() else { break report };
            follow(&sandbox, command);
            steps += 1;
            assert!(steps < 20, "{workflow} never asks: {command}");
        };
        assert_eq!(last["verdict"], "reconcile", "{workflow}");
        assert_eq!((&last["completed"], &last["status"]), (&json!([]), &json!("active")), "{workflow}");
    }
}

#[test]
fn an_agent_that_does_the_work_comes_to_the_end_of_every_shipped_workflow() {
    for workflow in SHIPPED {
        let sandbox = Sandbox::new();
        sandbox.without_gates();
        let id = sandbox.start(workflow);
        let phases =
            sandbox.flow(["workflow", "show", workflow, "--json"]).ok().json()["states"].as_array().unwrap().len();
        let mut steps = 0;
        loop {
            let report = resume(&sandbox, &id);
            if report["verdict"] == "done" {
                break;
            }
            let command = match report["next"]["command"].as_str() {
                Some(command) => command.to_owned(),
                None => ways(&report)[0].1.clone(),
            };
            follow(&sandbox, &command);
            steps += 1;
            assert!(steps <= 2 * phases + 1, "{workflow} leads in a circle: {command}");
        }
        assert_eq!(resume(&sandbox, &id)["completed"].as_array().unwrap().len(), phases, "{workflow}");
        sandbox.flow(["verify", &id]).ok();
    }
}

/// What a walk does between two looks at a run.
struct Walk<'a> {
    sandbox: &'a Sandbox,
    id: &'a str,
    workflow: &'a str,
    /// Whether its steps are reported as well as its activities recorded.
    reports: bool,
}

impl Walk<'_> {
    /// Tries every command that the verdict prints in a copy, and says how many there were.
    fn try_all(&self, report: &Value, place: &str) -> usize {
        let next = report["next"]["command"].as_str().map(str::to_owned);
        let lines: Vec<_> = next.iter().cloned().chain(ways(report).into_iter().map(|(_, command)| command)).collect();
        for line in &lines {
            let copy = tempfile::tempdir().unwrap();
            copy_tree(&self.sandbox.root(), copy.path());
            let answer = shell(self.sandbox, copy.path(), line);
            assert_eq!(answer.code, Some(0), "{place}: {line}\n{answer:?}\n{report:#}");
            if next.as_ref() == Some(line) {
                let after = shell(self.sandbox, copy.path(), &format!("flow show {} --json", self.id)).json();
                let completed = after["state"]["completed_activities"].as_array().map_or(0, Vec::len);
                assert_eq!(
                    json!(completed),
                    report["completed_activities"],
                    "{place}: {line} completed something\n{report:#}"
                );
                assert_eq!(json!(after["state"]["status"]), report["status"], "{place}: {line} ended the run");
            }
        }
        lines.len()
    }

    /// Does something that may be refused.
    fn act(&self, dice: &mut Dice, report: &Value) {
        let id = self.id;
        let states = self.sandbox.flow(["workflow", "show", self.workflow, "--json"]).ok().json()["states"].clone();
        let state = |dice: &mut Dice| {
            let all: Vec<_> = states.as_array().unwrap().iter().map(|state| state["name"].as_str().unwrap()).collect();
            (*dice.pick(&all)).to_owned()
        };
        let ways = ways(report);
        match dice.below(10) {
            0 => drop(self.sandbox.flow(["block", id, "--reason", "x"])),
            1 => drop(self.sandbox.flow(["unblock", id])),
            2 => match dice.below(4) {
                0 => drop(self.sandbox.flow(["set", id, "--limit", "max_iterations=1"])),
                1 => drop(self.sandbox.flow(["reopen", id, "--reason", "x"])),
                2 => drop(self.sandbox.flow(["fail", id, "--reason", "x"])),
                _ => self.withdraw(dice),
            },
            3..=5 if !ways.is_empty() => {
                let (_, command) = dice.pick(&ways);
                drop(shell(self.sandbox, &self.sandbox.root(), command));
            }
            6.. if self.reports => {
                let status = *dice.pick(&["running", "running", "completed", "waiting", "failed", "skipped"]);
                let (step, data) = (state(dice), json!({ "status": status }).to_string());
                let args = ["emit", "--workflow", self.workflow, "--run-id", id, "--type", "status_change", "--step"];
                drop(self.sandbox.flow(args.iter().chain(&[step.as_str(), "--data", &data])));
            }
            _ => {
                let here = report["phase"].as_str().map(str::to_owned);
                let phase = here.unwrap_or_else(|| state(dice));
                let name = *dice.pick(&["a", "b", "c"]);
                let status = *dice.pick(&["running", "passed", "failed", "blocked", "pending", "skipped"]);
                let args = ["record-activity", "--run-id", id, "--phase", &phase, "--id", name, "--status", status];
                drop(self.sandbox.flow(args));
            }
        }
    }

    /// Every reader gives one status for the run.
    fn has_one_status(&self, report: &Value) {
        let of = |args: &[&str], at: &str| {
            let answer = self.sandbox.flow(args).ok().json();
            answer.pointer(at).map(|run| (run["doing"].clone(), run["phase"].clone()))
        };
        let told = (report["doing"].clone(), report["phase"].clone());
        assert_eq!(of(&["list", "--json"], "/runs/0").as_ref(), Some(&told), "{report:#}");
        let shown = self.sandbox.flow(["show", self.id, "--json"]).ok().json();
        assert_eq!(shown["doing"], told.0, "{report:#}");
        if let Some(card) = of(&["attention", "--json"], "/runs/0") {
            assert_eq!(card, told, "{report:#}");
        }
    }

    /// A person takes an entry off `completed_activities`.
    fn withdraw(&self, dice: &mut Dice) {
        let text = self.sandbox.read(self.id, "run.yaml");
        let entries: Vec<_> = text.lines().filter(|line| line.starts_with("    - ") && !line.contains(':')).collect();
        if !entries.is_empty() {
            let entry = format!("{}\n", dice.pick(&entries));
            let file = self.sandbox.run_dir(self.id).join("run.yaml");
            std::fs::write(file, text.replacen(&entry, "", 1)).unwrap();
        }
    }
}

/// Every verdict of random histories: each command that is printed is accepted where it is printed, and the one that is
/// safe to run unread completes nothing.
#[test]
fn every_command_that_a_verdict_prints_is_accepted_from_that_state() {
    let walks = std::env::var("FLOW_TEST_WALKS").ok().and_then(|walks| walks.parse().ok()).unwrap_or(scaled(4, 40));
    let seed = std::env::var("FLOW_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let mut dice = Dice::new(seed);
    for walk in 0..walks {
        let sandbox = Sandbox::new();
        let reports = walk % 2 == 1;
        let reported = ["build", "blueprint", "build-fast", "start-issue"];
        let workflow = if reports { reported[walk / 2 % 4] } else { SHIPPED[walk / 2 % SHIPPED.len()] };
        let id = sandbox.start(workflow);
        let it = Walk { sandbox: &sandbox, id: &id, workflow, reports };
        let mut tried = 0;
        for step in 0..8 {
            let report = resume(&sandbox, &id);
            it.has_one_status(&report);
            tried += it.try_all(&report, &format!("walk {walk} of {workflow}, step {step}"));
            it.act(&mut dice, &report);
        }
        assert!(tried > 8, "walk {walk} tried {tried} commands");
    }
}

fn copy_tree(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}

#[test]
fn a_blocked_run_is_not_completed() {
    let sandbox = Sandbox::new();
    sandbox.without_gates();
    let run = sandbox.start("merge-pr");
    for phase in ["preflight", "verify", "confirm", "merge"] {
        sandbox.record(&run, phase, phase);
    }
    sandbox.flow(["block", &run, "--reason", "the build is red"]).ok();
    let refused = sandbox.flow(["complete", &run, "--json"]).exits(4).error();
    assert_eq!(refused["code"], "run_blocked");
    assert!(refused["help"].as_str().unwrap().contains("the build is red"), "{refused}");
    sandbox.flow(["unblock", &run]).ok();
    sandbox.flow(["complete", &run]).ok();
}

#[test]
fn a_phase_that_failed_and_was_left_for_another_round_keeps_the_run_from_being_completed() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    for phase in ["preflight", "explore", "plan", "code"] {
        sandbox.record(&run, phase, phase);
    }
    let record = |phase: &str, id: &str, status: &str| {
        sandbox.flow(["record-activity", "--run-id", &run, "--phase", phase, "--id", id, "--status", status]).ok();
    };
    record("verify", "tests", "failed");
    record("code", "fix", "passed");
    let refused = sandbox.flow(["complete", &run, "--json"]).exits(1).error();
    assert_eq!(refused["code"], "phase_not_done");
    assert!(refused["message"].as_str().unwrap().contains("`verify`"), "{refused}");
    sandbox.flow(["complete", &run, "--skip-reason", "checked by hand"]).ok();
    let notes = sandbox.flow(["resume", &run, "--json"]).ok().json()["notes"].to_string();
    insta::assert_snapshot!(notes, @r#"["`verify` was left undone (event 8): checked by hand","it was completed in `code`; its workflow ends in `verify`"]"#);
}

/// When the run came into its phase is lost as well.
#[test]
fn work_that_failed_before_the_beginning_of_the_log_was_lost_is_still_to_be_done() {
    for lost in [1, 2, usize::MAX] {
        let sandbox = Sandbox::new();
        let id = sandbox.start("debug");
        sandbox.record(&id, "preflight", "one");
        sandbox.flow(["record-activity", "--id", "bad", "--type", "bash", "--exit-code", "1"]).ok();
        let onwards = ["record-activity", "--phase", "reproduce", "--id", "n", "--json"];
        let refused = sandbox.flow(onwards).exits(1).error();
        let log = sandbox.run_dir(&id).join("events.jsonl");
        let kept: String =
            sandbox.read(&id, "events.jsonl").lines().skip(lost).map(|line| format!("{line}\n")).collect();
        std::fs::write(&log, kept).unwrap();
        sandbox.flow(["doctor", &id, "--repair"]).ok();
        assert_eq!(sandbox.flow(onwards).exits(1).error()["message"], refused["message"], "without {lost} lines");
        sandbox.flow(["record-activity", "--id", "bad", "--type", "bash", "--exit-code", "0"]).ok();
        let report = resume(&sandbox, &id);
        assert_eq!(report["reason"], "`preflight` is done; `reproduce` comes next", "without {lost} lines: {report:#}");
        sandbox.flow(onwards).ok();
    }
}

#[test]
fn a_run_is_over_for_the_reason_of_its_last_end_alone() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    let reason = || sandbox.flow(["resume", &id, "--json"]).ok().json()["reason"].as_str().unwrap().to_owned();
    sandbox.flow(["fail", &id, "--reason", "the limit is reached"]).ok();
    assert_eq!(reason(), "the run is failed: the limit is reached");
    sandbox.flow(["reopen", &id, "--reason", "the fault is back"]).ok();
    sandbox.edit(&id, "status: active", "status: completed");
    sandbox.flow(["set", &id, "--goal", "None"]).ok();
    assert_eq!(reason(), "the run is completed");
    sandbox.flow(["reopen", &id, "--reason", "again"]).ok();
    sandbox.flow(["cancel", &id, "--reason", "not needed"]).ok();
    sandbox.edit(&id, "status: cancelled", "status: failed");
    sandbox.flow(["set", &id, "--goal", "Nothing"]).ok();
    assert_eq!(reason(), "the run is failed");
    // A report that ends the run has none either.
    let id = sandbox.start("start-issue");
    sandbox.flow(["fail", &id, "--reason", "the limit is reached"]).ok();
    sandbox.flow(["reopen", &id, "--reason", "the fault is back"]).ok();
    for phase in ["preflight", "explore", "plan", "code"] {
        sandbox.record(&id, phase, phase);
    }
    let report = ["emit", "--workflow", "start-issue", "--run-id", &id, "--type", "status_change", "--step", "verify"];
    sandbox.flow(report.iter().chain(&["--data", r#"{"status":"completed"}"#])).ok();
    assert_eq!(resume(&sandbox, &id)["reason"], "the run is completed");
}

#[test]
fn a_second_open_run_about_the_same_work_comes_neither_by_reopen_nor_by_set_in_silence() {
    let sandbox = Sandbox::new();
    let first = sandbox.flow(["start", "start-issue", "--issue", "7"]).ok().line().to_owned();
    sandbox.flow(["cancel", &first]).ok();
    let second = sandbox.flow(["start", "start-issue", "--issue", "7"]).ok().line().to_owned();
    let refused = sandbox.flow(["reopen", &first, "--reason", "x", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "run_open");
    assert!(refused["message"].as_str().unwrap().contains(&second), "{refused}");
    sandbox.flow(["reopen", &first, "--reason", "x", "--another"]).ok();
    let other = sandbox.flow(["start", "debug", "--issue", "8"]).ok().line().to_owned();
    assert_eq!(sandbox.flow(["set", &other, "--issue", "7", "--json"]).exits(1).error()["code"], "run_open");
    sandbox.flow(["set", &other, "--issue", "7", "--another"]).ok();
    // What does not touch the issue asks nothing.
    sandbox.flow(["set", &other, "--goal", "x"]).ok();
}

#[test]
fn a_refused_record_is_not_called_by_a_number_and_a_skip_is_in_the_log_for_people() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    let refused = sandbox.flow(["record-activity", "--id", "t", "--status", "failed", "--advance", "--json"]);
    assert_eq!(refused.exits(1).error()["message"], format!("run {id}: `preflight` is not done: t failed"));
    let skip = ["record-activity", "--id", "t", "--status", "failed", "--advance", "--skip-reason", "it is known"];
    sandbox.flow(skip).ok();
    let log = sandbox.flow(["log", &id]).ok().stdout;
    insta::assert_snapshot!(log, @r"
    1  2026-05-20T14:30:03.000Z  run_started        debug in preflight
    2  2026-05-20T14:30:05.000Z  activity_recorded  001 t failed in preflight, on to reproduce; left undone: preflight (it is known)
    ");
}

#[test]
fn an_edit_of_when_a_run_was_made_is_adopted_like_any_other() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    let text = sandbox.read(&id, "run.yaml");
    let made = text.lines().find(|line| line.contains("  created_at:")).unwrap().to_owned();
    sandbox.edit(&id, &made, "  created_at: 2026-05-01T00:00:00Z");
    sandbox.edit(&id, "workflow_version: 2", "workflow_version: 3");
    sandbox.flow(["set", &id, "--pr", "7"]).ok();
    sandbox.flow(["set", &id, "--pr", "8"]).ok();
    sandbox.flow(["verify", &id]).ok();
    let shown = sandbox.flow(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["metadata"]["created_at"], "2026-05-01T00:00:00Z");
    std::fs::remove_file(sandbox.run_dir(&id).join("run.yaml")).unwrap();
    sandbox.flow(["set", &id, "--pr", "9"]).ok();
    sandbox.flow(["verify", &id]).ok();
}

#[test]
fn what_failed_or_waits_is_settled_under_its_own_id() {
    let sandbox = Sandbox::new();
    sandbox.without_gates();
    let id = sandbox.flow(["start", "merge-pr", "--phase", "confirm"]).ok().line().to_owned();
    let record = |more: &[&str]| sandbox.flow(["record-activity", "--json"].iter().chain(more));
    record(&["--id", "ask", "--status", "blocked", "--summary", "may it be merged?"]).ok();
    record(&["--id", "note"]).ok();
    let refused = record(&["--phase", "merge", "--id", "merge"]).exits(1).error();
    assert_eq!(refused["message"], format!("run {id}: `confirm` is not done: 001 ask is blocked"));
    let report = resume(&sandbox, &id);
    assert_eq!(
        (&report["verdict"], &report["reason"]),
        (&json!("needs_human"), &json!("001 ask is blocked: may it be merged?"))
    );
    assert_eq!(sandbox.flow(["show", &id, "--json"]).ok().json()["steps"][2]["status"], "waiting");
    follow(&sandbox, &way(&report, "the work is done"));
    // Failed work as well: another id says nothing of it.
    record(&["--phase", "merge", "--id", "push", "--status", "failed"]).ok();
    record(&["--id", "lint"]).ok();
    assert_eq!(sandbox.flow(["complete", &id, "--json"]).exits(1).error()["code"], "phase_not_done");
    let report = resume(&sandbox, &id);
    assert_eq!(report["next"]["action"], "retry_phase");
    follow(&sandbox, report["next"]["command"].as_str().unwrap());
    follow(&sandbox, &way(&resume(&sandbox, &id), "it ended well"));
    sandbox.flow(["complete", &id]).ok();
}

#[test]
fn a_phase_is_shown_as_to_be_done_again_when_the_run_went_back_behind_it() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("start-issue");
    for phase in ["preflight", "explore", "plan", "code", "verify"] {
        sandbox.record(&id, phase, phase);
    }
    sandbox.record(&id, "code", "fix");
    let statuses = || {
        let shown = sandbox.flow(["show", &id, "--json"]).ok().json();
        let steps = shown["steps"].as_array().unwrap().iter();
        steps.map(|step| step["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(statuses(), ["completed", "completed", "completed", "completed", "not_started"]);
    // The command of the first round is a retry of that, which is said.
    let again = sandbox.record(&id, "verify", "verify");
    assert_eq!(again["repeated"], true);
    let told = "005 verify is a record of an earlier round; work of this round needs another --id";
    assert_eq!(again["warnings"], json!([told]));
    sandbox.record(&id, "verify", "verify-2");
    assert_eq!(statuses()[4], "completed");
    sandbox.flow(["complete", &id]).ok();
}

#[test]
fn a_limit_of_attempts_binds_only_as_long_as_the_phase_is_not_done() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    sandbox.flow(["set", &id, "--limit", "max_iterations=1"]).ok();
    sandbox.flow(["record-activity", "--id", "a", "--status", "failed"]).ok();
    assert_eq!(resume(&sandbox, &id)["verdict"], "needs_human");
    sandbox.flow(["record-activity", "--id", "a"]).ok();
    assert_eq!(resume(&sandbox, &id)["verdict"], "continue");
}

#[test]
fn an_advance_looks_at_everything_in_the_phase_and_not_only_at_its_own_record() {
    for status in ["blocked", "failed", "pending"] {
        let sandbox = Sandbox::new();
        sandbox.without_gates();
        let id = sandbox.flow(["start", "merge-pr", "--phase", "confirm"]).ok().line().to_owned();
        let record = |more: &[&str]| sandbox.flow(["record-activity", "--json"].iter().chain(more));
        record(&["--id", "ask", "--status", status, "--summary", "may it?"]).ok();
        let refused = record(&["--id", "note", "--advance"]).exits(1).error();
        assert_eq!(refused["code"], "phase_not_done", "{status}");
        let help = refused["help"].as_str().unwrap();
        assert!(help.contains("--id ask ") || help.contains("under the same --id"), "{help}");
        // The record that settles it may move on.
        record(&["--id", "ask", "--advance"]).ok();
        assert_eq!(resume(&sandbox, &id)["phase"], "merge");
    }
}

#[test]
fn every_attempt_that_is_open_is_named_and_counts_in_its_own_phase() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("start-issue");
    let record = |more: &[&str]| sandbox.flow(["record-activity", "--json"].iter().chain(more));
    for name in ["check-1", "check-2", "check-3"] {
        record(&["--id", name, "--status", "failed"]).ok();
    }
    let refused = record(&["--id", "x", "--phase", "explore"]).exits(1).error();
    let told = "`preflight` is not done: 003 check-3 failed (also not settled: 001 check-1, 002 check-2)";
    assert_eq!(refused["message"], format!("run {id}: {told}"));
    for name in ["check-2", "check-3"] {
        record(&["--id", name, "--status", "skipped"]).ok();
    }
    // The same id in another phase says nothing of this one.
    record(&["--id", "x", "--phase", "explore", "--skip-reason", "known"]).ok();
    record(&["--id", "check-1"]).ok();
    let shown = sandbox.flow(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["steps"][0]["skip_reason"], "known", "{shown:#}");
}

#[test]
fn each_entry_that_a_person_removes_is_done_again_under_its_id() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    for name in ["tests", "lint"] {
        sandbox.record(&id, "preflight", name);
    }
    sandbox.edit(&id, "    - tests\n", "");
    let report = resume(&sandbox, &id);
    assert_eq!(report["reason"], "`preflight` is to be done again: 001 tests is not in completed_activities");
    let done = way(&report, "the work of `preflight` is done");
    insta::assert_snapshot!(done, @"flow record-activity --run-id 2026-05-20T143003Z-issue-42 --phase preflight --id tests --status passed --name 'tests, after 001'");
    follow(&sandbox, &done);
    assert_eq!(resume(&sandbox, &id)["next"]["phase"], "reproduce");
    sandbox.flow(["verify", &id]).ok();
}

#[test]
fn what_is_recorded_beside_the_reports_of_a_step_counts_as_well() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("merge-pr");
    sandbox.flow(["advance", &id, "--summary", "clean"]).ok();
    // To begin a phase is not to work in it.
    assert_eq!(sandbox.flow(["advance", &id, "--json"]).exits(1).error()["code"], "phase_not_done");
    sandbox.flow(["record-activity", "--run-id", &id, "--id", "ci", "--status", "failed"]).ok();
    assert_eq!(sandbox.flow(["advance", &id, "--json"]).exits(1).error()["code"], "phase_not_done");
    sandbox.flow(["record-activity", "--run-id", &id, "--id", "ci"]).ok();
    sandbox.flow(["advance", &id]).ok();
    assert_eq!(resume(&sandbox, &id)["phase"], "confirm");
}

#[test]
fn a_step_whose_first_report_is_that_it_failed_keeps_the_run_from_its_end() {
    let sandbox = Sandbox::new();
    let emit = |step: &str, status: &str| {
        let data = json!({ "status": status }).to_string();
        let args = ["emit", "--workflow", "build-fast", "--run-id", "r1", "--type", "status_change", "--step", step];
        sandbox.flow(args.iter().chain(&["--data", &data])).ok().json()["data"]["warnings"].clone()
    };
    emit("plan", "failed");
    assert_eq!(emit("build", "running"), json!(["the run goes on, and `plan` is not done: 001 plan failed"]));
    emit("build", "completed");
    let refused = sandbox.flow(["complete", "r1", "--json"]).exits(1).error();
    assert!(refused["message"].as_str().unwrap().contains("`plan` is not done"), "{refused}");
}

#[test]
fn a_repeated_advance_does_not_complete_the_state_that_it_came_to() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let graph = "initial: plan\nstates:\n  plan: { type: agent, transition: { next: write } }\n  \
                 write: { type: agent, transition: { next: end } }\n  end: { type: terminal }\n";
    std::fs::write(sandbox.path(".flow/workflows/two.yaml"), graph).unwrap();
    let id = sandbox.start("two");
    let advance = ["advance", &id, "--to", "write", "--summary", "planned", "--json"];
    sandbox.flow(advance).ok();
    assert_eq!(sandbox.flow(advance).exits(1).error()["code"], "invalid_transition");
    assert_eq!(resume(&sandbox, &id)["completed_activities"], 1);
}

#[test]
fn what_another_program_recorded_counts_for_the_end_of_a_run_as_well() {
    let sandbox = Sandbox::new();
    let id = "o1";
    std::fs::create_dir_all(sandbox.run_dir(id).join("activities")).unwrap();
    let text = "apiVersion: flow.synapti.ai/v1\nkind: FlowRun\nmetadata:\n  id: o1\n  workflow: start-issue\n  \
                workflow_version: 1\n  created_at: 2026-05-20T14:30:00Z\ncontext:\n  repo: r\n  branch: b\n\
                state:\n  status: active\n  current_phase: verify\n  completed_activities: [v]\nlimits: {}\n";
    std::fs::write(sandbox.run_dir(id).join("run.yaml"), text).unwrap();
    for (name, status) in [("001-v", "passed"), ("002-tests", "failed")] {
        let activity = format!(
            "apiVersion: flow.synapti.ai/v1\nkind: FlowActivity\nmetadata:\n  id: {}\n  run_id: o1\n  phase: verify\n\
             activity:\n  type: bash\n  status: {status}\n",
            &name[4..]
        );
        std::fs::write(sandbox.run_dir(id).join(format!("activities/{name}.yaml")), activity).unwrap();
    }
    let why = "the run is about branch b, and main is checked out; 002 tests failed in `verify`";
    assert_eq!(resume(&sandbox, id)["reason"], why);
    let refused = sandbox.flow(["complete", id, "--json"]).exits(1).error();
    assert_eq!(refused["code"], "phase_not_done", "{refused}");
    sandbox.flow(["record-activity", "--run-id", id, "--id", "tests"]).ok();
    sandbox.flow(["complete", id]).ok();
}

#[test]
fn reports_walk_through_no_phase_whose_work_is_not_done() {
    let sandbox = Sandbox::new();
    let status = |run: &str, step: &str, status: &str| {
        let data = json!({ "status": status }).to_string();
        let args = ["emit", "--workflow", "start-issue", "--run-id", run, "--type", "status_change", "--step", step];
        sandbox.flow(args.iter().chain(&["--data", &data]))
    };
    let refused = |answer: Answer, what: &str| {
        let answer = answer.exits(1);
        assert!(answer.stderr.contains("`preflight` is not done: "), "{what}: {answer:?}");
        assert!(answer.stderr.contains("--skip-reason"), "{what}: {answer:?}");
    };
    // Neither in a run that was started, nor in one that the reports begin, nor in a batch that begins one.
    sandbox.flow(["start", "start-issue", "--id", "r1"]).ok();
    refused(status("r1", "explore", "running"), "nothing reported");
    status("r1", "preflight", "running").ok();
    refused(status("r1", "explore", "running"), "only begun");
    status("r1", "preflight", "failed").ok();
    refused(status("r1", "explore", "completed"), "failed");
    status("r2", "preflight", "waiting").ok();
    refused(status("r2", "explore", "running"), "waiting");
    let reports = ["preflight", "explore", "plan", "code", "verify"]
        .map(|step| json!({ "type": "status_change", "step": step, "data": { "status": "running" } }));
    let batch = json!(reports).to_string();
    let begun =
        sandbox.flow(["emit", "--workflow", "start-issue", "--run-id", "r3", "--batch", &batch]).exits(1).stderr;
    insta::assert_snapshot!(begun, @r"
    Error: event 2 of the batch: run r3: `preflight` is not done: it is reported as running; nothing of the batch was recorded
      help: report how `preflight` ended, or only what comes up to it, which begins the run
    ");
    assert!(!sandbox.run_dir("r3").exists());
    // Work that is reported as done counts, and the last report ends the run.
    for step in ["preflight", "explore", "plan", "code"] {
        status("r1", step, "completed").ok();
    }
    let last = status("r1", "verify", "completed").ok().json();
    assert_eq!(last["data"]["runStatus"], "completed");
}

#[test]
fn what_was_entered_over_is_told_until_it_is_settled() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let diagram = "stateDiagram-v2\n[*] --> a\na --> b\nb --> c\nc --> [*]\n";
    std::fs::write(sandbox.path(".flow/workflows/own.mmd"), diagram).unwrap();
    let status = |step: &str, status: &str| {
        let data = json!({ "status": status }).to_string();
        let args = ["emit", "--workflow", "own", "--run-id", "r1", "--type", "status_change", "--step", step, "--data"];
        sandbox.flow(args.iter().copied().chain([data.as_str()])).ok().json()
    };
    status("a", "not_started");
    assert_eq!(status("b", "running")["data"]["completedPredecessors"], json!([]));
    status("b", "failed");
    status("c", "running");
    let left = json!([
        { "phase": "a", "number": null, "id": null, "status": "not_started" },
        { "phase": "b", "number": null, "id": null, "status": "failed" },
    ]);
    let report = resume(&sandbox, "r1");
    assert_eq!(report["left_undone"], left, "{report:#}");
    insta::assert_snapshot!(sandbox.flow(["resume", "r1"]).ok().stdout, @r#"
    reconcile  r1  own
      why         `c` was begun and its outcome is unknown
      phase       c
      first       look whether `c` was done: in the working tree, and at what `flow evidence r1` lists; then say how it ended
      if it ended well:
        flow emit --workflow own --run-id r1 --type status_change --step c --data '{"status":"completed"}'
      if it failed:
        flow emit --workflow own --run-id r1 --type status_change --step c --data '{"status":"failed"}'
      if it cannot go on without a person:
        flow emit --workflow own --run-id r1 --type status_change --step c --data '{"status":"waiting","message":"what is needed"}'
      in doubt
        -  c  c  running
      left undone
        -  -  a  not_started
        -  -  b  failed
    "#);
    assert_eq!(sandbox.flow(["show", "r1", "--json"]).ok().json()["left_undone"], left);
    insta::assert_snapshot!(sandbox.flow(["hud"]).ok().stdout, @"own  r1  c 3/3  begun  2 undone  now");
    sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "c", "--id", "c-work"]).ok();
    let waits = sandbox.flow(["attention", "--json"]).ok().json();
    assert_eq!(waits["runs"][0]["left_undone"], left, "{waits:#}");
    let refused = sandbox.flow(["complete", "r1", "--json"]).exits(1).error();
    assert!(["phase_not_done", "outcome_unknown"].contains(&refused["code"].as_str().unwrap()), "{refused}");
}

#[test]
fn other_work_settles_what_failed_when_it_says_so() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("start-issue");
    let record = |more: &[&str]| sandbox.flow(["record-activity", "--json"].iter().chain(more));
    record(&["--id", "checks", "--status", "failed"]).ok();
    record(&["--id", "lint", "--status", "blocked", "--summary", "no rights"]).ok();
    let refused = record(&["--id", "fix", "--settles", "nothing"]).exits(1).error();
    assert_eq!(refused["code"], "nothing_to_settle");
    assert_eq!(
        record(&["--id", "fix", "--status", "failed", "--settles", "checks"]).exits(1).error()["code"],
        "nothing_to_settle"
    );
    assert_eq!(record(&["--id", "fix", "--settles", "checks", "--advance"]).exits(1).error()["code"], "phase_not_done");
    record(&["--id", "fix", "--settles", "checks", "--settles", "lint"]).ok();
    let shown = sandbox.flow(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["activities"][2]["settles"], json!(["checks", "lint"]));
    assert_eq!((&shown["state"]["open_activities"], &shown["doing"]), (&json!([]), &json!(null)));
    assert!(sandbox.read(&id, "activities/003-fix.yaml").contains("settles:"), "in the document");
    let again = record(&["--id", "other", "--settles", "checks"]).exits(1).error();
    assert_eq!(again["code"], "nothing_to_settle", "{again}");
    record(&["--phase", "explore", "--id", "explore"]).ok();
    sandbox.flow(["verify", &id]).ok();
}

#[test]
fn a_run_is_completed_before_its_end_only_with_a_reason() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("start-issue");
    sandbox.record(&id, "preflight", "x");
    let refused = sandbox.flow(["complete", &id, "--json"]).exits(1).error();
    assert_eq!(refused["code"], "not_at_end");
    sandbox.flow(["complete", &id, "--skip-reason", "the issue is gone"]).ok();
    let notes = resume(&sandbox, &id)["notes"].to_string();
    assert!(notes.contains("`explore` was left undone (event 3): the issue is gone"), "{notes}");
    // Where a workflow names no end, it ends anywhere.
    std::fs::write(sandbox.path(".flow/workflows/own.mmd"), "stateDiagram-v2\n[*] --> a\na --> b\nb --> a\n").unwrap();
    sandbox.flow(["start", "own", "--id", "r1"]).ok();
    sandbox.record("r1", "a", "work");
    sandbox.flow(["complete", "r1"]).ok();
}

#[test]
fn a_record_that_did_not_end_well_in_a_reported_step_is_told_as_it_is_recorded() {
    for (status, recorded) in [("failed", "failed"), ("blocked", "blocked")] {
        let sandbox = Sandbox::new();
        sandbox.flow(["start", "debug", "--id", "r1"]).ok();
        let report =
            ["emit", "--workflow", "debug", "--run-id", "r1", "--type", "status_change", "--step", "preflight"];
        sandbox.flow(report.iter().chain(&["--data", r#"{"status":"running"}"#])).ok();
        sandbox.flow(["record-activity", "--run-id", "r1", "--id", "t", "--status", status, "--summary", "no"]).ok();
        let left = ["record-activity", "--run-id", "r1", "--phase", "reproduce", "--id", "d"];
        let error = sandbox.flow(left.iter().chain(&["--json"])).exits(1).error();
        let wanted = format!("`preflight` is not done: it is reported as running, and 001 t is recorded as {recorded}");
        assert_eq!(error["message"], format!("run r1: {wanted}"));
        // What the help says leads on.
        let is_open = status == "blocked";
        let help = error["help"].as_str().unwrap();
        assert!(help.starts_with(if is_open { "record how it ended" } else { "begin another attempt" }), "{help}");
        sandbox.flow(["record-activity", "--run-id", "r1", "--id", "t"]).ok();
        sandbox.flow(left).ok();
    }
}

#[test]
fn what_the_end_of_a_run_passed_over_is_to_be_done_when_the_run_goes_on() {
    for how in ["reopen", "edit", "fork"] {
        let sandbox = Sandbox::new();
        let mut id = sandbox.start("start-issue");
        sandbox.record(&id, "preflight", "look");
        let failed = ["record-activity", "--run-id", &id, "--phase", "explore", "--id", "t", "--status", "failed"];
        sandbox.flow(failed).ok();
        sandbox.flow(["complete", &id, "--skip-reason", "enough"]).ok();
        match how {
            "reopen" => drop(sandbox.flow(["reopen", &id, "--reason", "more"]).ok()),
            "edit" => sandbox.edit(&id, "status: completed", "status: active"),
            _ => {
                sandbox.flow(["fork", &id, "--id", "again"]).ok();
                id = "again".to_owned();
            }
        }
        let record = |more: &[&str]| sandbox.flow(["record-activity", "--run-id", &id, "--json"].iter().chain(more));
        assert_eq!(resume(&sandbox, &id)["next"]["action"], "retry_phase", "{how}");
        // Neither the phase in which the run stood nor one that lay ahead may be left for what was said at the end.
        let refused = record(&["--phase", "plan", "--id", "p"]).exits(1).error();
        assert_eq!(refused["code"], "phase_not_done", "{how}");
        record(&["--phase", "explore", "--id", "t", "--advance"]).ok();
        assert_eq!(resume(&sandbox, &id)["next"]["phase"], "plan", "{how}");
        let refused = record(&["--phase", "code", "--id", "c"]).exits(1).error();
        assert!(refused["message"].as_str().unwrap().contains("`plan` is not done"), "{how}: {refused}");
    }
}

#[test]
fn the_way_around_that_a_refusal_names_says_of_no_work_that_it_passed() {
    let graph = "initial: plan\nstates:\n  plan: {type: agent, transition: {next: [look, write]}}\n  look: {type: agent, transition: {next: [write]}}\n  \
                 write: {type: terminal}\n";
    for (workflow, phase, to) in [("start-issue", "preflight", "explore"), ("job", "plan", "write")] {
        let sandbox = Sandbox::new();
        std::fs::create_dir_all(sandbox.path(".flow/workflows")).unwrap();
        std::fs::write(sandbox.path(".flow/workflows/job.graph.yaml"), graph).unwrap();
        sandbox.flow(["start", workflow, "--id", "r1"]).ok();
        sandbox.flow(["record-activity", "--id", phase, "--status", "failed"]).ok();
        let help = sandbox.flow(["advance", "r1", "--to", to, "--json"]).exits(1).error()["help"].clone();
        let around = format!(
            "`flow record-activity --run-id r1 --phase {to} --id {to} --status running --skip-reason 'TEXT'` goes on without it"
        );
        assert!(help.as_str().unwrap().contains(&around), "{help}");
        let way = ["record-activity", "--run-id", "r1", "--phase", to, "--id", to, "--status", "running"];
        sandbox.flow([&way[..], &["--skip-reason", "the tests are red"]].concat()).ok();
        let shown = sandbox.flow(["show", "r1", "--json"]).ok().json();
        assert_eq!(
            (&shown["state"]["current_phase"], &shown["state"]["open_activities"]),
            (&json!(to), &json!([phase, to]))
        );
        assert_eq!(shown["steps"][0]["skip_reason"], "the tests are red", "{workflow}");
        assert!(sandbox.flow(["report", "r1"]).ok().stdout.contains("the tests are red"), "{workflow}");
    }
}

#[test]
fn reports_do_not_end_a_run_in_which_the_outcome_of_recorded_work_is_unknown() {
    let graph = "initial: plan\nstates:\n  plan: {type: agent, transition: {next: [end]}}\n  end: {type: terminal}\n";
    for way in ["advance", "emit", "drive", "interview"] {
        let sandbox = Sandbox::new();
        std::fs::create_dir_all(sandbox.path(".flow/workflows")).unwrap();
        std::fs::write(sandbox.path(".flow/workflows/job.graph.yaml"), graph).unwrap();
        sandbox.flow(["start", "job", "--id", "r1"]).ok();
        let mut id = "deploy";
        if way == "interview" {
            sandbox.flow(["interview", "start", "p.md", "--run-id", "r1"]).ok();
            id = "interview-p";
        } else {
            sandbox.flow(["record-activity", "--id", id, "--status", "running"]).ok();
        }
        let why = format!("the run stays open, since the outcome of {id} is not recorded");
        match way {
            "drive" => {
                let report =
                    sandbox.flow(["drive", "job", "--run-id", "r1", "--on", "agent=true", "--json"]).exits(4).json();
                let reason = format!("`end` is done, and the run stays open: the outcome of {id} is not recorded");
                assert_eq!((&report["stop"], &report["reason"]), (&json!("needs_human"), &json!(reason)));
            }
            "emit" => {
                for step in ["plan", "end"] {
                    let args =
                        ["emit", "--workflow", "job", "--run-id", "r1", "--type", "status_change", "--step", step];
                    sandbox.flow([&args[..], &["--data", r#"{"status":"completed"}"#]].concat()).ok();
                }
            }
            _ => {
                let report = sandbox.flow(["advance", "r1", "--summary", "done", "--json"]).ok().json();
                assert!(report["warnings"].as_array().unwrap().contains(&json!(why)), "{report}");
            }
        }
        assert_eq!(sandbox.flow(["show", "r1", "--json"]).ok().json()["state"]["status"], "active", "{way}");
        if way == "interview" {
            assert_eq!(sandbox.flow(["complete", "r1", "--json"]).exits(1).error()["code"], "interview_open");
            continue;
        }
        assert_eq!(sandbox.flow(["complete", "r1", "--json"]).exits(1).error()["code"], "outcome_unknown");
        sandbox.flow(["record-activity", "--id", id]).ok();
        sandbox.flow(["complete", "r1"]).ok();
        sandbox.flow(["verify", "r1"]).ok();
    }
}
