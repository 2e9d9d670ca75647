//! Commands of someone who has seen a run up to an event, and commands that are repeated.

use serde_json::Value;

use crate::support::Sandbox;

/// A run with a question, at event 2.
fn asking() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let report = |kind: &str, data: &str| {
        let args =
            ["emit", "--workflow", "build", "--run-id", "r1", "--step", "requirements", "--type", kind, "--data", data];
        args.map(str::to_owned).to_vec()
    };
    sandbox.flow(report("status_change", r#"{"status": "running"}"#)).ok();
    sandbox.flow(report("waiting_for_user", r#"{"prompt": "Which one?"}"#)).ok();
    (sandbox, report("user_answered", r#"{"answer": "the first"}"#))
}

fn last(sandbox: &Sandbox) -> u64 {
    sandbox.flow(["log", "r1", "--json"]).ok().json()["events"].as_array().unwrap().last().unwrap()["seq"]
        .as_u64()
        .unwrap()
}

#[test]
fn a_change_that_was_decided_before_something_happened_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.record("r1", "preflight", "look");
    let late = ["cancel", "r1", "--reason", "enough", "--seen", "1"];
    let refused = sandbox.flow(late).exits(5);
    insta::assert_snapshot!(refused.stderr, @r"
    error: run r1: it moved on: it was seen up to event 1, and is at event 2 now
      help: look at what happened, and decide again: `flow log r1 --after 1`
    ");
    // Nothing came behind an event that the run does not have.
    let refused = sandbox.flow(["cancel", "r1", "--seen", "77"]).exits(5);
    insta::assert_snapshot!(refused.stderr, @r"
    error: run r1: it has no event 77: its last one is 2
      help: look at it, and decide again: `flow resume r1`
    ");
    assert_eq!(last(&sandbox), 2);
    sandbox.flow(["cancel", "r1", "--reason", "enough", "--seen", "2"]).ok();
    assert_eq!(last(&sandbox), 3);
}

#[test]
fn an_edit_that_the_caller_did_not_see_counts_as_something_that_happened() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1", "--goal", "find it"]).ok();
    let path = sandbox.path(".flow/runs/r1/run.yaml");
    let edited = std::fs::read_to_string(&path).unwrap().replace("find it", "find it, and mend it");
    std::fs::write(&path, edited).unwrap();
    sandbox.flow(["block", "r1", "--reason", "wait", "--seen", "1"]).exits(5);
    assert_eq!(last(&sandbox), 2);
    sandbox.flow(["block", "r1", "--reason", "wait", "--seen", "2"]).ok();
}

#[test]
fn a_change_that_is_repeated_with_its_id_happens_once() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    for (verb, status) in [("block", "blocked"), ("unblock", "active"), ("cancel", "cancelled"), ("reopen", "active")] {
        let seen = last(&sandbox).to_string();
        let change = [verb, "r1", "--reason", "as agreed", "--id", verb, "--seen", &seen, "--json"];
        let changed = |first: bool| {
            let report = sandbox.flow(change).ok().json();
            assert_eq!((&report["changed"], &report["status"]), (&Value::from(first), &Value::from(status)), "{verb}");
        };
        changed(true);
        changed(false);
        let other = [verb, "r1", "--reason", "otherwise", "--id", verb];
        assert!(sandbox.flow(other).exits(1).stderr.contains("is taken"), "{verb}");
        assert_eq!(last(&sandbox).to_string(), (seen.parse::<u64>().unwrap() + 1).to_string());
    }
    // Of another command.
    sandbox.flow(["block", "r1", "--reason", "as agreed", "--id", "unblock"]).exits(1);
    assert_eq!(last(&sandbox), 5);
}

#[test]
fn an_answer_to_a_run_that_went_on_is_refused_and_a_repeated_one_is_recorded_once() {
    let (sandbox, answer) = asking();
    let seen = last(&sandbox);
    sandbox.flow(["set", "r1", "--goal", "another"]).ok();
    let with = |seen: u64| {
        let more = ["--id".to_owned(), "k1".to_owned(), "--seen".to_owned(), seen.to_string()];
        sandbox.flow(answer.iter().cloned().chain(more))
    };
    insta::assert_snapshot!(with(seen).exits(5).stderr, @r"
    Error: run r1: it moved on: it was seen up to event 3, and is at event 4 now
      help: look at what happened, and decide again: `flow log r1 --after 3`
    ");
    with(seen + 1).ok();
    // The answer itself is a newer event, which a retry need not have seen.
    let again = with(seen + 1).ok().json();
    assert_eq!(again["data"]["repeated"], true, "{again}");
    assert_eq!(last(&sandbox), seen + 2);
}
