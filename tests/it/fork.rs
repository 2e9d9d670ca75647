//! A run that goes on from an event of another one.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, Tree, quick, scaled};

/// A run with two phases done and one at work, whose latest record has evidence.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "start-issue", "--id", "r1", "--issue", "42", "--goal", "the parser"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "preflight", "--id", "clean"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "--phase", "explore", "--id", "look", "--", "echo", "seen"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "plan", "--id", "draft", "--status", "running"]).ok();
    sandbox
}

fn forked(sandbox: &Sandbox, options: &[&str]) -> Value {
    sandbox.flow(["fork", "r1", "--json"].iter().chain(options)).ok().json()
}

/// What `resume` says of a run, without its name.
fn verdict(sandbox: &Sandbox, run: &str) -> Value {
    let told = sandbox.flow(["resume", run, "--json"]).json();
    json!([told["verdict"], told["reason"], told["phase"], told["completed"], told["in_doubt"], told["next"]["action"]])
}

#[test]
fn a_fork_names_its_parent_where_that_may_have_the_end_of_a_command() {
    let sandbox = sandbox();
    sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "plan", "--id", "draft", "--status", "passed"]).ok();
    // Killed with its flow: nothing has its end.
    let _ = sandbox.flow(["exec", "--run-id", "r1", "--id", "test", "--", "sh", "-c", "kill -9 $PPID"]);
    let refused = |run: &str| {
        let refused = sandbox.flow(["exec", "--run-id", run, "--id", "test", "--", "true"]).exits(1).stderr;
        (refused, sandbox.flow(["resume", run, "--json"]).json()["next"]["first"].as_str().unwrap().to_owned())
    };
    let (told, first) = refused("r1");
    assert!(!told.contains("flow show") && !first.contains("flow show"), "{told}{first}");
    forked(&sandbox, &["--id", "r2"]);
    let (told, first) = refused("r2");
    insta::assert_snapshot!(format!("{told}{first}"), @"
    error: 006 test began, and its end was not seen
      help: `flow show r1` may tell how it ended there; --again runs the command once more
    look whether `test` was done: in the working tree, and at what `flow evidence r2` lists, and whether `flow show r1` has its end; then say how it ended
    ");
}

#[test]
fn a_fork_goes_on_where_the_run_was_and_leaves_it_as_it_is() {
    let sandbox = sandbox();
    let before = Tree::of(&sandbox.run_dir("r1"));
    let now = verdict(&sandbox, "r1");
    let told = sandbox.flow(["fork", "r1", "--id", "r2"]).ok();
    insta::assert_snapshot!(told.stderr, @"r2 goes on from event 5 of r1, in phase plan, with 2 completed activities");
    assert_eq!(told.stdout, "r2\n");
    assert_eq!(verdict(&sandbox, "r2"), now);
    assert_eq!(Tree::of(&sandbox.run_dir("r1")), before);
    let at_three = forked(&sandbox, &["--at", "3", "--id", "r3"]);
    assert_eq!(at_three["forked_from"], json!({ "run_id": "r1", "seq": 3 }));
    assert_eq!((&at_three["phase"], &at_three["completed_activities"]), (&json!("explore"), &json!(1)));
    insta::assert_snapshot!(sandbox.flow(["list"]).ok().stdout, @"
    fork: the parser  r3  start-issue  begun  explore 2/5  1 s  echo seen · begun 5 s ago, outcome unknown
    fork: the parser  r2  start-issue  begun  plan 3/5     3 s  004 draft was begun and its outcome is unknown
    the parser        r1  start-issue  begun  plan 3/5     5 s  004 draft was begun and its outcome is unknown
    ");
    let listed = sandbox.flow(["list", "--json"]).ok().json();
    assert_eq!(listed["runs"][0]["forked_from"], json!({ "run_id": "r1", "seq": 3 }));
    let log = sandbox.flow(["log", "r3"]).ok().stdout;
    insta::assert_snapshot!(log, @"   1  2026-05-20T14:30:10.000Z  run_forked         from r1 at event 3");
    sandbox.flow(["fork", "r1", "--at", "99"]).exits(3);
    // Each goes its own way, with numbers that go on.
    sandbox.flow(["record-activity", "--run-id", "r2", "--id", "draft", "--status", "passed", "--advance"]).ok();
    let recorded = sandbox.flow(["record-activity", "--run-id", "r1", "--id", "draft", "--status", "failed", "--json"]);
    assert_eq!(recorded.ok().json()["number"], "005");
    assert_eq!(verdict(&sandbox, "r2")[2], "code");
    sandbox.flow(["doctor"]).ok();
}

#[test]
fn a_fork_is_read_and_verified_without_its_parent_and_misses_only_the_evidence() {
    let sandbox = sandbox();
    forked(&sandbox, &["--id", "r2"]);
    sandbox.flow(["fork", "r2", "--id", "r3"]).ok();
    let told = sandbox.flow(["evidence", "r2"]).ok().stderr;
    insta::assert_snapshot!(told, @"warning: r2 is a fork: what it took over is kept in r1");
    let evidence = |run: &str| {
        let told = sandbox.flow(["evidence", run, "--json"]).ok().json();
        json!([told["evidence"][0]["run_id"], told["evidence"][0]["exists"], told["seen"][0]["freshness"]])
    };
    for run in ["r2", "r3"] {
        assert_eq!(evidence(run), json!(["r1", true, "fresh"]), "it is read where it is");
    }
    let before = [verdict(&sandbox, "r2"), verdict(&sandbox, "r3")];
    fs::remove_dir_all(sandbox.run_dir("r1")).unwrap();
    assert_eq!([verdict(&sandbox, "r2"), verdict(&sandbox, "r3")], before);
    for run in ["r2", "r3"] {
        sandbox.flow(["verify", run]).ok();
        assert_eq!(evidence(run), json!(["r1", false, "gone"]));
    }
    sandbox.flow(["doctor"]).ok();
}

#[test]
fn the_first_event_names_the_lines_of_the_parent_as_others_can_check_them() {
    let sandbox = sandbox();
    forked(&sandbox, &["--at", "3", "--id", "r2", "--reason", "the other way"]);
    let log = sandbox.flow(["log", "r2", "--json"]).ok().json();
    let first = &log["events"][0];
    assert_eq!((&first["type"], &first["reason"]), (&json!("run_forked"), &json!("the other way")));
    let text = fs::read_to_string(sandbox.run_dir("r1").join("events.jsonl")).unwrap();
    let lines: String = text.split_inclusive('\n').take(3).collect();
    assert_eq!(first["parent_digest"], sha256(&lines));
}

fn sha256(text: &str) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn one_id_is_one_fork_however_often_it_is_asked_for() {
    let sandbox = sandbox();
    let first = forked(&sandbox, &["--id", "r2"]);
    assert_eq!(first["created"], true);
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "later"]).ok();
    let again = forked(&sandbox, &["--id", "r2"]);
    assert_eq!((&again["created"], &again["forked_from"]), (&json!(false), &first["forked_from"]));
    for other in [&["fork", "r1", "--id", "r2", "--at", "2"][..], &["fork", "r2", "--id", "r1"]] {
        assert_eq!(sandbox.flow(other.iter().chain(&["--json"])).exits(1).error()["code"], "run_exists", "{other:?}");
    }
    // Without an id each is another one.
    let ids = [forked(&sandbox, &[]), forked(&sandbox, &[])].map(|fork| fork["run_id"].clone());
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_fork_of_a_run_that_is_over_is_open_again() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "a"]).ok();
    sandbox.flow(["cancel", "r1", "--reason", "enough"]).ok();
    forked(&sandbox, &["--id", "r2"]);
    let shown = sandbox.flow(["show", "r2", "--json"]).ok().json();
    assert_eq!((&shown["state"]["status"], &shown["state"]["blocked_reason"]), (&json!("active"), &Value::Null));
    assert_eq!(sandbox.flow(["show", "r1", "--json"]).ok().json()["state"]["status"], "cancelled");
    sandbox.flow(["record-activity", "--run-id", "r2", "--id", "b"]).ok();
}

#[test]
fn a_fork_follows_the_definition_of_its_parent_or_that_of_today() {
    let sandbox = Sandbox::new();
    let define = |phases: &str| {
        let own =
            format!("apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: own\nphases: {phases}\n");
        fs::create_dir_all(sandbox.path(".flow/workflows")).unwrap();
        fs::write(sandbox.path(".flow/workflows/own.workflow.yaml"), own).unwrap();
    };
    sandbox.flow(["init"]).ok();
    define("[{id: one}, {id: two}]");
    sandbox.flow(["start", "own", "--id", "r1"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "a"]).ok();
    define("[{id: one}, {id: between}, {id: two}]");
    forked(&sandbox, &["--id", "r2"]);
    let today = forked(&sandbox, &["--id", "r3", "--workflow-now"]);
    assert_eq!(today["seq"], 2);
    let steps = |run: &str| {
        let shown = sandbox.flow(["show", run, "--json"]).ok().json();
        shown["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| step["step"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (steps("r2"), steps("r3")),
        (vec!["one".into(), "two".into()], vec!["one".into(), "between".into(), "two".into()])
    );
    // If the definition of today does not have the phase, the fork is refused.
    define("[{id: zero}, {id: two}]");
    sandbox.flow(["fork", "r1", "--id", "r4", "--workflow-now"]).exits(1);
    assert!(!sandbox.run_dir("r4").exists());
    sandbox.flow(["doctor"]).ok();
}

#[test]
fn a_fork_of_a_long_run_is_small_and_forks_of_forks_verify() {
    let sandbox = Sandbox::within(&quick());
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let records = scaled(300, 10_000);
    for nth in 0..records {
        sandbox.inside(["record-activity", "--run-id", "r1", "--id", &format!("w{nth}")]).ok();
    }
    sandbox.flow(["fork", "r1", "--id", "r2"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r2", "--id", "more"]).ok();
    sandbox.flow(["fork", "r2", "--id", "r3"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r3", "--id", "last"]).ok();
    for run in ["r2", "r3"] {
        sandbox.flow(["verify", run]).ok();
    }
    let line = fs::read_to_string(sandbox.run_dir("r3").join("events.jsonl")).unwrap();
    let first = line.lines().next().unwrap().len();
    assert!(first < 20_000 + 60 * records, "{first} bytes for {records} activities");
    let told = sandbox.flow(["resume", "r3", "--json"]).ok().json();
    assert_eq!(told["completed"].as_array().unwrap().last().unwrap()["id"], "last");
    sandbox.flow(["doctor"]).ok();
}

#[test]
fn a_fork_of_a_damaged_log_is_refused_for_what_is_wrong_with_it() {
    let sandbox = sandbox();
    let run = sandbox.start("start-issue");
    sandbox.record(&run, "preflight", "one");
    sandbox.record(&run, "preflight", "two");
    let log = sandbox.run_dir(&run).join("events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("\"seq\":2", "\"seq\":7", 1)).unwrap();
    let error = sandbox.flow(["fork", &run, "--json"]).exits(65).error();
    assert_eq!(error["code"], "log_damaged", "{error}");
    assert!(error["help"].as_str().unwrap().contains("flow doctor"), "{error}");
}

#[test]
fn a_fork_keeps_the_key_of_the_issue_in_its_name() {
    let sandbox = Sandbox::new();
    let run = sandbox.flow(["start", "debug", "--issue", "proj-123", "--json"]).ok().json()["run_id"].clone();
    let fork = sandbox.flow(["fork", run.as_str().unwrap(), "--json"]).ok().json()["run_id"].clone();
    assert!(fork.as_str().unwrap().ends_with("Z-issue-PROJ-123"), "{fork}");
}

#[test]
fn an_id_that_a_fork_took_over_is_a_promise_to_run_once_there_too() {
    let sandbox = sandbox();
    let look =
        |run, word| ["exec", "--run-id", run, "--phase", "explore", "--id", "look", "--json", "--", "echo", word];
    sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "plan", "--id", "notes", "--summary", "one"]).ok();
    for nth in 0..30 {
        sandbox.inside(["record-activity", "--run-id", "r1", "--id", &format!("w{nth}")]).ok();
    }
    forked(&sandbox, &["--id", "r2"]);
    sandbox.flow(["fork", "r2", "--id", "r3"]).ok();
    let completed = |run| sandbox.flow(["show", run, "--json"]).ok().json()["state"]["completed_activities"].clone();
    let before = completed("r1");
    for run in ["r2", "r3"] {
        let again = sandbox.flow(look(run, "seen")).ok().json();
        assert_eq!((&again["repeated"], &again["number"]), (&json!(true), &json!("003")), "{again}");
        assert_eq!(sandbox.flow(look(run, "other")).exits(1).error()["code"], "id_reused");
        let notes = ["record-activity", "--run-id", run, "--phase", "plan", "--id", "notes", "--json", "--summary"];
        let again = sandbox.flow(notes.iter().chain(&["one"])).ok().json();
        assert_eq!((&again["repeated"], &again["seq"]), (&json!(true), &json!(1)), "{again}");
        assert!(run != "r2" || sandbox.path(again["path"].as_str().unwrap()).exists(), "{again}");
        assert_eq!(sandbox.flow(notes.iter().chain(&["two"])).exits(1).error()["code"], "id_reused");
        // A record that was not taken over is still known by its id.
        let first = sandbox.flow(["record-activity", "--run-id", run, "--id", "w1", "--json"]).ok().json();
        assert_eq!(first["repeated"], true, "{first}");
        assert_eq!(completed(run), before);
    }
    sandbox.flow(["doctor"]).ok();
}

#[test]
fn a_command_does_not_get_the_id_of_another_one_that_failed_before_the_fork() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "--id", "true", "--", "false"]).exits(1);
    forked(&sandbox, &["--id", "r2"]);
    let told = sandbox.flow(["exec", "--run-id", "r2", "--json", "--", "true"]).ok().json();
    assert_eq!(told["activity"], "true-2");
    sandbox.flow(["record-activity", "--run-id", "r2", "--phase", "reproduce", "--id", "v"]).exits(1);
}

#[test]
fn a_line_of_another_program_is_no_damage_to_a_fork_and_a_prune() {
    let sandbox = sandbox();
    let log = sandbox.run_dir("r1").join("events.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, format!("{text}{{\"type\":\"note\"}}\n")).unwrap();
    assert_eq!(forked(&sandbox, &["--id", "r2"])["forked_from"]["seq"], 5);
    sandbox.flow(["cancel", "r1", "--reason", "not needed"]).ok();
    sandbox.flow(["cancel", "r2", "--reason", "not needed"]).ok();
    let pruned = sandbox.flow(["prune", "--older-than", "0d", "--yes", "--json"]).ok().json();
    assert_eq!(pruned["pruned"].as_array().unwrap().len(), 2, "{pruned}");
}

#[test]
fn a_fork_that_cannot_follow_todays_definition_names_the_run_that_is_there() {
    let sandbox = Sandbox::new();
    sandbox.flow(["workflow", "new", "own"]).ok();
    sandbox.flow(["start", "own", "--id", "r1", "--phase", "work"]).ok();
    let definition = sandbox.path(".flow/workflows/own.workflow.yaml");
    let text = fs::read_to_string(&definition).unwrap();
    let refused = || {
        let error = sandbox.flow(["fork", "r1", "--workflow-now", "--json"]).error();
        format!("{}\n{}", error["message"].as_str().unwrap(), error["help"].as_str().unwrap())
    };
    fs::write(&definition, text.replace("work", "done")).unwrap();
    insta::assert_snapshot!(refused(), @"
    run r1: the run is in `work`, which today's workflow does not have
    leave --workflow-now away: then the fork follows the definition that the run follows there
    ");
    fs::remove_file(&definition).unwrap();
    insta::assert_snapshot!(refused(), @"
    the definition of `own`, which r1 follows, is no longer here
    put it back as .flow/workflows/own.workflow.yaml; or leave --workflow-now away: then the fork follows the definition that the run follows there
    ");
    assert_eq!(sandbox.flow(["fork", "r1", "--reason", " ", "--json"]).exits(2).error()["code"], "reason_missing");
}
