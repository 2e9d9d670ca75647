//! Evidence and changed files that are not there are told of at once, and called missing from then on.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, run};

fn warnings(sandbox: &Sandbox, more: &[&str]) -> Value {
    let args = ["record-activity", "--run-id", "r1", "--json"];
    sandbox.flow(args.iter().chain(more)).ok().json()["warnings"].clone()
}

/// What `flow evidence` says of each reference: kind, whether it exists, and its length.
fn listed(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    let report = sandbox.flow(["evidence", "--json"].iter().chain(args)).ok().json();
    let items = report["evidence"].as_array().unwrap().iter();
    items.map(|item| json!([item["reference"], item["kind"], item["exists"], item["bytes"]])).collect()
}

#[test]
fn what_is_not_there_is_told_at_once_and_called_missing() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let told = warnings(&sandbox, &["--id", "a", "--evidence", "nosuch.log", "--file", "nosuch.rs"]);
    assert_eq!(
        told,
        json!([
            "the evidence nosuch.log is missing: it is neither in the run's evidence/ nor in the project",
            "the changed file nosuch.rs is not there, which is right only if it was removed",
        ])
    );
    let text = sandbox.flow(["record-activity", "--run-id", "r1", "--id", "b", "--evidence", "evidence/gone"]).ok();
    insta::assert_snapshot!(text.stderr, @"warning: the evidence evidence/gone is missing: it is neither in the run's evidence/ nor in the project");
    // A retry says it again, and records nothing.
    let again = ["record-activity", "--run-id", "r1", "--id", "b", "--evidence", "evidence/gone", "--json"];
    let again = sandbox.flow(again).ok().json();
    assert_eq!((&again["repeated"], again["warnings"].as_array().unwrap().len()), (&json!(true), 1));
    let shown = sandbox.flow(["evidence", "r1"]).ok().stdout;
    assert_eq!(shown, "nosuch.log     missing  001 a\nevidence/gone  missing  002 b\n");
    // It is there by now.
    fs::write(sandbox.path("nosuch.log"), "text").unwrap();
    assert_eq!(listed(&sandbox, &["r1"])[0], json!(["nosuch.log", "file", true, 4]));
}

#[test]
fn what_is_there_and_what_is_no_path_is_not_told_of() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    fs::create_dir_all(sandbox.path("logs/build")).unwrap();
    fs::write(sandbox.path("logs/test.log"), "passed").unwrap();
    fs::write(sandbox.run_dir("r1").join("evidence/run.txt"), "ran").unwrap();
    let absolute = sandbox.path("logs/test.log").display().to_string();
    let references = [
        ("logs/test.log", json!(["file", true, 6])),
        ("./logs/test.log:12", json!(["file", true, 6])),
        (absolute.as_str(), json!(["file", true, 6])),
        ("logs/build", json!(["file", true, null])),
        ("run.txt", json!(["file", true, 3])),
        (".flow/runs/r1/evidence/run.txt", json!(["file", true, 3])),
        ("/etc/passwd", json!(["file", null, null])),
        ("https://ci.example.com/17.log", json!(["link", null, null])),
        ("ci/17", json!(["text", null, null])),
        ("acme/widgets#42", json!(["text", null, null])),
        ("the tests are green.", json!(["text", null, null])),
    ];
    let mut args = vec!["--id", "a", "--file", "logs/test.log"];
    references.iter().for_each(|(reference, _)| args.extend(["--evidence", reference]));
    assert_eq!(warnings(&sandbox, &args), json!([]));
    let wanted: Vec<_> = references.iter().map(|(name, what)| json!([name, what[0], what[1], what[2]])).collect();
    assert_eq!(listed(&sandbox, &["r1"]), wanted);
    let gone = warnings(&sandbox, &["--id", "b", "--evidence", "/nosuch/place"]);
    assert_eq!(gone, json!(["the evidence /nosuch/place is missing"]));
}

#[test]
fn a_name_that_is_right_only_from_the_working_directory_is_told_of() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    fs::create_dir(sandbox.path("sub")).unwrap();
    fs::write(sandbox.path("sub/out.log"), "text").unwrap();
    let mut command = sandbox.flow_command();
    command.args(["record-activity", "--id", "a", "--evidence", "out.log", "--file", "out.log", "--json"]);
    command.current_dir(sandbox.path("sub"));
    let told = run(command, "").ok().json()["warnings"].clone();
    let wanted =
        "the evidence out.log is missing: references begin at the top of the project, where this is sub/out.log";
    assert_eq!(told, json!([wanted]));
}

#[test]
fn many_missing_files_are_counted() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let files: Vec<_> = (0..13).flat_map(|n| ["--file".to_owned(), format!("{n}.rs")]).collect();
    let args: Vec<_> = ["--id", "a"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let told = warnings(&sandbox, &args);
    assert_eq!((told.as_array().unwrap().len(), &told[10]), (11, &json!("and 3 more files are not there")));
}

#[test]
fn the_evidence_of_all_runs_has_those_that_are_over_and_can_be_that_of_a_feature() {
    let sandbox = Sandbox::new();
    for id in ["open", "over", "other"] {
        sandbox.flow(["start", "debug", "--id", id]).ok();
        sandbox.flow(["record-activity", "--run-id", id, "--id", "a", "--evidence", id]).ok();
    }
    sandbox.flow(["set", "over", "--feature", "search"]).ok();
    sandbox.flow(["cancel", "over"]).ok();
    let artifact = r#"{"path":"plan.md","feature":"search","storage":"project"}"#;
    let emit = ["emit", "--workflow", "debug", "--run-id", "open", "--type", "artifact_registered", "--data", artifact];
    sandbox.flow(emit).ok();
    let of = |args: &[&str]| {
        listed(&sandbox, args).into_iter().map(|item| item[0].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of(&["--all"]), ["other", "over", "open", "plan.md"]);
    assert_eq!(of(&["--feature", "search"]), ["over", "open", "plan.md"]);
    assert_eq!(of(&["--all", "--feature", "search"]), ["over", "open", "plan.md"]);
    assert!(of(&["--feature", "none"]).is_empty());
    sandbox.flow(["evidence", "over", "--feature", "search"]).exits(2);
}

#[test]
fn the_text_counts_the_commands_that_a_later_record_follows() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "merge-pr", "--id", "r1"]).ok();
    let told = || {
        let text = sandbox.flow(["evidence", "r1"]).ok().stdout;
        text[text.find("commands that flow ran").unwrap()..].to_owned()
    };
    sandbox.flow(["exec", "--run-id", "r1", "--id", "t", "--", "false"]).exits(1);
    sandbox.flow(["exec", "--run-id", "r1", "--id", "t", "--again", "--", "false"]).exits(1);
    insta::assert_snapshot!(told(), @"
    commands that flow ran (fresh: the tracked and untracked files are the same)
        … 1 followed by a later record; `flow verify --evidence` lists all
        004  t  preflight  false  failed, exit 1, seen  fresh
    ");
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "t"]).ok();
    insta::assert_snapshot!(told(), @"
    commands that flow ran
        … 2 followed by a later record; `flow verify --evidence` lists all
    ");
    let seen = sandbox.flow(["evidence", "r1", "--json"]).ok().json()["seen"].clone();
    assert_eq!(seen.as_array().unwrap().len(), 2, "{seen}");
}
