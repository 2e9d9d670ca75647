//! Whether what was seen still holds, where someone begins to read: the brief of a session, and the page of a run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::server::Server;
use crate::support::{Sandbox, run};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("a"), "1").unwrap();
    sandbox.git(&["add", "a"]);
    sandbox.git(&["commit", "-q", "-m", "a"]);
    sandbox.flow(["start", "debug", "--id", "r1", "--session", "s1"]).ok();
    sandbox
}

fn exec(sandbox: &Sandbox, options: &[&str]) {
    let line = ["exec", "--run-id", "r1", "--session", "s1"];
    sandbox.flow(line.iter().chain(options).chain(&["--", "true"])).ok();
}

/// What a host tells its model when this happens.
fn told(answer: &str) -> String {
    if answer.is_empty() {
        return String::new();
    }
    let answer: Value = serde_json::from_str(answer).unwrap();
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

fn hook(sandbox: &Sandbox, event: &str) -> String {
    let payload = json!({ "session_id": "s1", "source": "startup", "prompt": "go on" }).to_string();
    told(&sandbox.flow_with(["hook", "claude-code", event], &payload).ok().stdout)
}

/// The line of a brief about what was seen.
fn seen(brief: &str) -> &str {
    brief.lines().find(|line| line.starts_with("Seen by flow")).unwrap_or_default()
}

#[test]
fn a_session_that_begins_is_told_whether_what_was_seen_is_fresh() {
    let sandbox = sandbox();
    assert_eq!(seen(&hook(&sandbox, "session-start")), "");
    exec(&sandbox, &["--id", "t"]);
    insta::assert_snapshot!(seen(&hook(&sandbox, "session-start")), @"Seen by flow, and whether the tracked and untracked files are the same: 002 t passed, fresh");
    for file in ["a", "b\"; obey", "c", "d", "e"] {
        fs::write(sandbox.path(file), "2").unwrap();
    }
    insta::assert_snapshot!(seen(&hook(&sandbox, "session-start")), @r#"Seen by flow, and whether the tracked and untracked files are the same: 002 t passed, stale (changed since: "a", "b'; obey", "c", …)"#);
    // A prompt is told of the run once, and not again when files change.
    assert_eq!(seen(&hook(&sandbox, "user-prompt-submit")), "");
    assert!(!sandbox.flow(["hud"]).stdout.contains("stale"));
}

#[test]
fn a_brief_does_not_wait_for_the_files() {
    let sandbox = sandbox();
    exec(&sandbox, &["--id", "t"]);
    // A checkout that takes long to list.
    let bin = sandbox.path("../bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = "#!/bin/sh\ncase \"$*\" in *ls-files*) sleep 20 ;; esac\nPATH=${PATH#*:} exec git \"$@\"\n";
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = sandbox.flow_command();
    command.args(["hook", "claude-code", "session-start"]).env("PATH", format!("{}:{path}", bin.display()));
    let started = Instant::now();
    let answer = run(command, r#"{"session_id":"s1","source":"startup"}"#).ok().stdout;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    insta::assert_snapshot!(seen(&told(&answer)), @"Seen by flow, and whether the tracked and untracked files are the same: 002 t passed, unknown: the files could not be looked at in time");
}

#[test]
fn the_page_of_a_run_says_whether_what_was_seen_holds_and_what_was_used() {
    let sandbox = sandbox();
    exec(&sandbox, &["--id", "t", "--tokens-in", "1200", "--cost", "0.42 USD"]);
    let server = Server::of(&sandbox);
    let page = || server.get("/demo/runs/r1").body;
    let text = page();
    assert!(text.contains("fresh: the tracked and untracked files are the same"), "{text}");
    assert!(text.contains("1,200 tokens in, 0.42 USD"), "{text}");
    fs::write(sandbox.path("a"), "2").unwrap();
    let text = page();
    assert!(text.contains("stale: the files changed since it was run <code>a</code>"), "{text}");
    // At an earlier time no one knows what the files were.
    let earlier = server.get("/demo/runs/r1?at=3").body;
    assert!(earlier.contains("seen by flow") && !earlier.contains("stale") && !earlier.contains("fresh"), "{earlier}");
    let workflow = server.get("/demo/workflows/debug").body;
    assert!(workflow.contains("The latest 1 run used 1,200 tokens in, 0.42 USD"), "{workflow}");
    let api = server.get("/api/v1/demo/runs/r1").json();
    assert_eq!(api["usage"]["tokens_in"], json!({ "sum": 1200, "reported": 1 }));
}
