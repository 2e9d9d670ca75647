//! What is said to people: nothing longer than they read, no silence where a setting is wrong, and an end when nobody
//! reads any more.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Answer, Sandbox, run};

fn with(sandbox: &Sandbox, variable: &str, value: &str, args: &[&str]) -> Answer {
    let mut command = sandbox.flow_command();
    command.env(variable, value).args(args);
    run(command, "")
}

#[test]
fn a_flow_dir_that_is_not_there_is_an_error_until_it_is_made() {
    let sandbox = Sandbox::new();
    sandbox.start("debug");
    for args in [&["resume"][..], &["list"], &["show"], &["doctor"], &["mode", "list"]] {
        let refused = with(&sandbox, "FLOW_DIR", "/nonexist/.flow", args).exits(2);
        let told = "FLOW_DIR is /nonexist/.flow, and there is no such directory; correct or unset it, or make one with `flow init`";
        assert!(refused.stderr.contains(told), "{args:?}: {refused:?}");
    }
    for args in [&["start", "debug"][..], &["mode", "request", "forge"]] {
        with(&sandbox, "FLOW_DIR", "typo/.flow", args).exits(2);
    }
    assert!(!sandbox.path("typo").exists());
    with(&sandbox, "FLOW_DIR", "/nonexist/.flow", &["session-end", "--unowned"]).ok();
    with(&sandbox, "FLOW_DIR", "other/.flow", &["resume"]).exits(2);
    std::fs::create_dir(sandbox.path("other")).unwrap();
    with(&sandbox, "FLOW_DIR", "other/.flow", &["init"]).ok();
    with(&sandbox, "FLOW_DIR", "other/.flow", &["resume"]).exits(3);
}

#[test]
fn commands_that_need_flow_dir_as_well_say_so_once() {
    let sandbox = Sandbox::new();
    sandbox.start("debug");
    with(&sandbox, "FLOW_DIR", "old", &["init"]).ok();
    with(&sandbox, "FLOW_DIR", "old", &["start", "debug", "--id", "p"]).ok();
    let note = "flow: give FLOW_DIR=old with these commands as well, unless it is exported\n";
    assert_eq!(with(&sandbox, "FLOW_DIR", "old", &["resume"]).ok().stderr, note);
    let refused = with(&sandbox, "FLOW_DIR", "old", &["complete", "p"]).exits(1).stderr;
    assert!(refused.ends_with(note) && refused.matches("FLOW_DIR").count() == 1, "{refused}");
    // No command is printed, a program reads it, or the search finds the same directory.
    for (dir, args) in [("old", &["list"][..]), ("old", &["resume", "--json"]), (".flow", &["resume"])] {
        assert_eq!(with(&sandbox, "FLOW_DIR", dir, args).ok().stderr, "", "{dir} {args:?}");
    }
}

#[test]
fn trust_that_is_neither_yes_nor_no_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.start("debug");
    let refused = with(&sandbox, "FLOW_TRUST_OWNER", "maybe", &["list"]).exits(2);
    insta::assert_snapshot!(refused.stderr, @r#"error: FLOW_TRUST_OWNER is "maybe": it is 1 or 0 (true or false, yes or no, on or off)"#);
    with(&sandbox, "FLOW_TRUST_OWNER", "true", &["list"]).ok();
    with(&sandbox, "FLOW_TRUST_OWNER", "maybe", &["session-end", "--unowned"]).ok();
}

#[test]
fn what_is_long_beyond_reading_is_cut_for_people_and_whole_for_programs() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let long = "ä".repeat(60_000);
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "one", "--status", "failed", "--summary", &long]).ok();
    sandbox.flow(["block", "r1", "--reason", &long]).ok();
    for args in [&["show", "r1"][..], &["list"], &["log", "r1"]] {
        let page = sandbox.flow(args).ok().stdout;
        let longest = page.lines().map(|line| line.chars().count()).max().unwrap();
        let most = if args[0] == "list" { 200 } else { 700 };
        assert!(longest < most, "{args:?}: a line of {longest} characters");
        assert!(page.contains("… (59500 more characters)") || args[0] != "show", "{args:?}: {page}");
        let whole = sandbox.flow(args.iter().chain(&["--json"])).ok().stdout;
        assert!(whole.contains(&long), "{args:?} --json is cut");
    }
    assert!(sandbox.flow(["log", "r1"]).ok().stdout.contains("more characters)"));
}

#[test]
fn a_schema_that_is_missing_is_called_missing() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init", "--schemas"]).ok();
    std::fs::remove_file(sandbox.path(".flow/schemas/run.schema.json")).unwrap();
    std::fs::write(sandbox.path(".flow/schemas/event.schema.json"), "{}").unwrap();
    let told = sandbox.flow(["doctor"]).stdout;
    insta::assert_snapshot!(told, @r"
    warning  schema_outdated  .flow/schemas/run.schema.json
      run.schema.json is missing
    warning  schema_outdated  .flow/schemas/event.schema.json
      event.schema.json is not the one of this version of flow
      repair: complete .flow as `flow init` does
    ok  0 runs checked, 0 errors, 2 warnings
    `flow doctor --dry-run` shows what a repair would do, `flow doctor --repair` does it
    ");
}

/// The log of `r1`, followed.
fn followed(sandbox: &Sandbox) -> Child {
    let mut follow = sandbox.flow_command();
    follow.args(["log", "-f", "r1"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    follow.spawn().unwrap()
}

/// Waits for the end of a command; its exit status.
#[track_caller]
fn ended(child: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("it goes on for ever");
}

#[test]
fn a_followed_log_ends_when_nobody_reads_it_any_more() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let mut follow = followed(&sandbox);
    let mut first = String::new();
    let mut reader = BufReader::new(follow.stdout.take().unwrap());
    reader.read_line(&mut first).unwrap();
    insta::assert_snapshot!(first, @"   1  2026-05-20T14:30:03.000Z  run_started        debug in preflight");
    drop(reader);
    assert_eq!(ended(&mut follow), Some(0));
}

#[test]
fn a_followed_log_ends_with_the_run_and_says_when_the_run_was_removed() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let mut follow = followed(&sandbox);
    sandbox.flow(["cancel", "r1", "--reason", "enough"]).ok();
    assert_eq!(ended(&mut follow), Some(0));
    let mut told = String::new();
    follow.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    insta::assert_snapshot!(told, @r"
    1  2026-05-20T14:30:03.000Z  run_started        debug in preflight
    2  2026-05-20T14:30:05.000Z  run_cancelled      enough
    ");
    sandbox.flow(["reopen", "r1", "--reason", "not enough"]).ok();
    let mut follow = followed(&sandbox);
    let mut reader = BufReader::new(follow.stdout.take().unwrap());
    reader.read_line(&mut String::new()).unwrap();
    std::fs::rename(sandbox.run_dir("r1"), sandbox.path("gone")).unwrap();
    assert_eq!(ended(&mut follow), Some(3));
}

#[test]
fn a_definition_that_is_gone_is_called_missing_and_what_to_do_is_said() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let file = sandbox.path(".flow/workflows/mine.workflow.yaml");
    let text = include_str!("../../workflows/debug.workflow.yaml").replace("id: debug", "id: mine");
    std::fs::write(&file, &text).unwrap();
    sandbox.flow(["start", "mine", "--id", "r1"]).ok();
    std::fs::remove_file(&file).unwrap();
    // The run goes on under what it pinned.
    sandbox.flow(["resume", "r1"]).ok();
    let error = sandbox.flow(["workflow", "adopt", "r1", "--json"]).exits(3).error();
    assert_eq!(error["code"], "unknown_workflow");
    assert_eq!(error["message"], "the definition of `mine`, which the run r1 follows, is no longer here");
    assert!(error["help"].as_str().unwrap().contains("put it back as .flow/workflows/mine.workflow.yaml"), "{error}");
    // One that never pinned any, as those of the original scripts.
    let run = sandbox.read("r1", "run.yaml");
    let foreign: String = run.lines().filter(|line| !line.contains("last_")).map(|line| format!("{line}\n")).collect();
    std::fs::write(sandbox.run_dir("r1").join("run.yaml"), foreign).unwrap();
    std::fs::remove_file(sandbox.run_dir("r1").join("events.jsonl")).unwrap();
    std::fs::remove_file(sandbox.run_dir("r1").join(".lock")).unwrap();
    let told = sandbox.flow(["resume", "r1"]).ok().stdout;
    let missing = "the definition of its workflow is missing, so phases are not checked; put it back as \
                   .flow/workflows/mine.workflow.yaml";
    assert!(told.contains(missing), "{told}");
    std::fs::write(&file, &text).unwrap();
    assert!(!sandbox.flow(["resume", "r1"]).ok().stdout.contains("is missing"));
}
