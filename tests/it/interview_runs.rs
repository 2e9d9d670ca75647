//! Interviews whose run ends, begins again or is forked: the document goes on, and only it ends its interview well.

use serde_json::{Value, json};

use crate::support::{Sandbox, Tree};

/// A run with an interview whose first question is open.
fn asking() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["interview", "start", "c.md", "--run-id", "r1"]).ok();
    sandbox
}

/// Answers what is asked and writes the document.
fn finish(sandbox: &Sandbox, document: &str) {
    sandbox.flow(["interview", "answer", document, "A task app."]).ok();
    sandbox.flow(["interview", "finish", document, "--early"]).ok();
}

fn resumed(sandbox: &Sandbox, run: &str) -> Value {
    sandbox.flow(["resume", run, "--json"]).json()
}

/// The documents of the interviews that runs wait for, with the runs.
fn listed(sandbox: &Sandbox) -> Vec<Value> {
    let listed = sandbox.flow(["interview", "list", "--json"]).ok().json();
    listed["interviews"].as_array().unwrap().iter().map(|one| json!([one["document"], one["run_id"]])).collect()
}

#[test]
fn an_interview_goes_on_with_its_run_when_that_is_reopened() {
    for verb in ["cancel", "fail"] {
        let sandbox = asking();
        sandbox.flow([verb, "r1", "--reason", "x"]).ok();
        sandbox.flow(["reopen", "r1", "--reason", "y"]).ok();
        let told = resumed(&sandbox, "r1");
        assert_eq!((&told["verdict"], &told["next"]["action"]), (&json!("needs_human"), &json!("answer")), "{told}");
        assert_eq!(told["reason"], "the interview about c.md is not finished");
        let ways = told["next"]["alternatives"].as_array().unwrap();
        assert_eq!((ways.len(), &ways[0]["command"]), (1, &json!("flow interview run c.md --run-id r1")), "{told}");
        assert_eq!(listed(&sandbox), [json!(["c.md", "r1"])]);
        let attention = sandbox.flow(["attention", "--json"]).json();
        assert_eq!(attention["runs"][0]["need"], "question", "{attention}");
        // The command asks the same question as before.
        sandbox.flow(["interview", "run", "c.md", "--run-id", "r1"]).exits(4);
        let told = resumed(&sandbox, "r1");
        assert!(told["reason"].as_str().unwrap().contains("(question 1 of 5 in c.md)"), "{told}");
        finish(&sandbox, "c.md");
        assert_eq!(resumed(&sandbox, "r1")["next"]["action"], "start_phase");
        assert!(listed(&sandbox).is_empty());
        sandbox.flow(["verify", "r1"]).ok();
    }
}

#[test]
fn a_document_that_was_finished_while_its_run_was_over_is_told_to_the_run_by_what_resume_proposes() {
    let sandbox = asking();
    sandbox.flow(["cancel", "r1", "--reason", "x"]).ok();
    finish(&sandbox, "c.md");
    sandbox.flow(["reopen", "r1", "--reason", "y"]).ok();
    let told = resumed(&sandbox, "r1");
    let command = told["next"]["alternatives"][0]["command"].as_str().unwrap().to_owned();
    assert_eq!(command, "flow interview run c.md --run-id r1");
    sandbox.flow(command.split(' ').skip(1)).ok();
    let told = resumed(&sandbox, "r1");
    assert_eq!((&told["next"]["action"], &told["in_doubt"]), (&json!("start_phase"), &json!([])), "{told}");
}

#[test]
fn only_its_document_ends_an_interview_well() {
    for is_reopened in [false, true] {
        let sandbox = asking();
        if is_reopened {
            sandbox.flow(["cancel", "r1", "--reason", "x"]).ok();
            sandbox.flow(["reopen", "r1", "--reason", "y"]).ok();
        }
        let before = sandbox.events("r1");
        let record = ["record-activity", "--run-id", "r1", "--id", "interview-c", "--summary", "all said"];
        for status in ["passed", "running", "blocked", "pending"] {
            let error = sandbox.flow(record.iter().chain(&["--status", status, "--json"])).exits(1).error();
            assert_eq!(error["code"], "interview_open", "{status}: {error}");
            assert_eq!(error["message"], "run r1: `interview-c` is the interview about c.md, which is not finished");
            let help = "it ends with `flow interview finish c.md`; to give it up: `flow interview abandon c.md`, or record \
                        `interview-c` as skipped or failed";
            assert_eq!(error["help"], help);
        }
        for way in [
            &["complete", "r1", "--skip-reason", "enough"][..],
            &["exec", "--run-id", "r1", "--id", "interview-c", "--", "true"],
        ] {
            let refused = sandbox.flow(way).exits(1);
            assert!(refused.stderr.contains("`flow interview finish c.md`"), "{way:?}: {refused:?}");
        }
        assert_eq!(sandbox.events("r1"), before, "nothing of it is in the log");
        // Work of another name is none of it, whatever it says of itself.
        let other = ["record-activity", "--run-id", "r1", "--id", "other", "--summary", "interview about c.md"];
        sandbox.flow(other.iter().chain(&["--status", "running"])).ok();
        sandbox.flow(other.iter().chain(&["--status", "passed"])).ok();
    }
}

#[test]
fn a_run_waits_no_more_for_an_interview_that_was_given_up_in_it() {
    for (status, next) in [("skipped", "start_phase"), ("failed", "retry_phase")] {
        for is_reopened in [false, true] {
            let sandbox = asking();
            if is_reopened {
                sandbox.flow(["cancel", "r1", "--reason", "x"]).ok();
                sandbox.flow(["reopen", "r1", "--reason", "y"]).ok();
            }
            let record = ["record-activity", "--run-id", "r1", "--id", "interview-c", "--status", status];
            sandbox.flow(record.iter().chain(&["--summary", "Ada knows"])).ok();
            assert_eq!(resumed(&sandbox, "r1")["next"]["action"], next, "{status} {is_reopened}");
            assert!(listed(&sandbox).is_empty());
            sandbox.flow(record.iter().chain(&["--summary", "Ada knows"])).ok();
            sandbox.flow(["verify", "r1"]).ok();
            // An answer in the document still counts, and the interview goes on.
            sandbox.flow(["interview", "answer", "c.md", "A task app."]).ok();
            assert_eq!(listed(&sandbox), [json!(["c.md", "r1"])]);
            sandbox.flow(["interview", "finish", "c.md", "--early"]).ok();
            assert!(listed(&sandbox).is_empty());
        }
    }
}

#[test]
fn a_fork_leaves_an_interview_to_the_run_that_its_document_names() {
    for is_over in [false, true] {
        let sandbox = asking();
        if is_over {
            sandbox.flow(["cancel", "r1", "--reason", "x"]).ok();
        }
        let before = Tree::of(&sandbox.run_dir("r1"));
        let made = sandbox.flow(["fork", "r1", "--id", "f1"]).ok().stderr;
        let own = "`flow interview start 'OTHER.md' --run-id f1` begins one of the fork";
        assert!(made.contains(&format!("warning: the interview about c.md stays with r1; {own}\n")), "{made}");
        let told = resumed(&sandbox, "f1");
        assert_eq!((&told["verdict"], &told["next"]["action"]), (&json!("continue"), &json!("work_phase")), "{told}");
        assert_eq!((&told["in_doubt"], &told["doing"]), (&json!([]), &json!(null)), "{told}");
        assert_eq!(listed(&sandbox), if is_over { vec![] } else { vec![json!(["c.md", "r1"])] });
        sandbox.flow(["interview", "start", "d.md", "--run-id", "f1"]).ok();
        assert_eq!(
            resumed(&sandbox, "f1")["next"]["alternatives"][0]["command"],
            "flow interview run d.md --run-id f1"
        );
        for document in ["c.md", "d.md"] {
            if document == "d.md" {
                finish(&sandbox, document);
                assert_eq!(resumed(&sandbox, "f1")["next"]["action"], "start_phase");
            } else {
                assert_eq!(Tree::of(&sandbox.run_dir("r1")), before);
                finish(&sandbox, document);
                assert_eq!(resumed(&sandbox, "f1")["next"]["action"], "answer", "that of the fork goes on");
            }
        }
        sandbox.flow(["verify"]).ok();
    }
}

#[test]
fn an_interview_that_was_given_up_does_not_pass_by_a_record() {
    for ends in [
        &["record-activity", "--id", "interview-p", "--status", "failed"][..],
        &["interview", "abandon", "p.md", "--yes"],
    ] {
        let sandbox = Sandbox::new();
        sandbox.flow(["start", "start-issue", "--id", "r1"]).ok();
        sandbox.flow(["interview", "start", "p.md", "--run-id", "r1"]).ok();
        sandbox.flow(ends).ok();
        let next = sandbox.flow(["resume", "r1", "--json"]).ok().json()["next"].clone();
        assert_eq!(next["command"], Value::Null);
        let ways: Vec<_> =
            next["alternatives"].as_array().unwrap().iter().map(|way| way["command"].as_str().unwrap()).collect();
        assert_eq!(ways[0], "flow interview run p.md --run-id r1", "{ends:?}");
        assert!(ways.iter().all(|way| !way.contains("passed")), "{ways:?}");
        for status in ["passed", "running"] {
            let record = ["record-activity", "--id", "interview-p", "--status", status, "--json"];
            assert_eq!(sandbox.flow(record).exits(1).error()["code"], "interview_open", "{ends:?} {status}");
        }
        sandbox.flow(["record-activity", "--id", "interview-p", "--status", "skipped", "--summary", "not needed"]).ok();
        sandbox.flow(["record-activity", "--id", "explore", "--phase", "explore"]).ok();
    }
}
