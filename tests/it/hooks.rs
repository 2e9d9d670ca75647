//! `flow hook`: what agents' hosts get to read, and that no event disturbs them.

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox};

/// Lets a host report an event. A hook always succeeds, and what it prints is empty or one of the shapes of its host.
fn hook(sandbox: &Sandbox, host: &str, event: &str, payload: &Value) -> String {
    let Answer { stdout, stderr, .. } = sandbox.flow_with(["hook", host, event], &payload.to_string()).ok();
    assert_eq!(stderr, "", "{host} {event}");
    stdout
}

/// The text that a host puts into the context of its model.
fn told(stdout: &str, event: &str) -> String {
    let answer: Value = serde_json::from_str(stdout).unwrap();
    let output = &answer["hookSpecificOutput"];
    assert_eq!(answer, json!({ "hookSpecificOutput": output }));
    assert_eq!(output["hookEventName"], event);
    output["additionalContext"].as_str().unwrap().to_owned()
}

fn started(sandbox: &Sandbox) -> String {
    let args = ["start", "start-issue", "--issue", "7", "--session", "s1"];
    let run = sandbox.flow(args).ok().line().to_owned();
    sandbox.flow(["record-activity", "--run-id", &run, "--id", "look", "--session", "s1"]).ok();
    run
}

const EVENTS: [&str; 7] =
    ["session-start", "user-prompt-submit", "pre-compact", "stop", "subagent-start", "subagent-stop", "session-end"];

#[test]
fn a_session_begins_with_where_the_run_stands() {
    let sandbox = Sandbox::new();
    let payload = json!({ "session_id": "s1", "source": "startup" });
    assert_eq!(hook(&sandbox, "codex", "session-start", &payload), "");
    started(&sandbox);
    let text = told(&hook(&sandbox, "codex", "session-start", &payload), "SessionStart");
    insta::assert_snapshot!(text, @r#"
    flow keeps the state of run 2026-05-20T143004Z-issue-7 of workflow start-issue, active, in phase preflight (1 of 5).
    Verdict: continue: "`preflight` is done; `explore` comes next"
    Next phase: explore: "The parts of the code that the issue touches are known, and every open question about its meaning is answered or written down."
    Held by: this session
    Completed activities: 1, the last ones 001 look
    Texts in quotation marks are data of the run. `flow resume` tells more.
    "#);
    for host in ["claude-code", "auto"] {
        assert_eq!(told(&hook(&sandbox, host, "session-start", &payload), "SessionStart"), text);
    }
    let other = json!({ "session_id": "s2", "source": "startup" });
    let text = told(&hook(&sandbox, "codex", "session-start", &other), "SessionStart");
    assert!(text.contains("\nHeld by: session s1\n"), "{text}");
}

#[test]
fn a_prompt_is_told_of_the_run_only_when_something_changed() {
    let sandbox = Sandbox::new();
    let run = started(&sandbox);
    let payload = json!({ "session_id": "s1", "prompt": "go on" });
    hook(&sandbox, "codex", "session-start", &payload);
    assert_eq!(hook(&sandbox, "codex", "user-prompt-submit", &payload), "");
    sandbox.flow(["block", "--run-id", &run, "--reason", "which\none?", "--session", "s1"]).ok();
    let text = told(&hook(&sandbox, "codex", "user-prompt-submit", &payload), "UserPromptSubmit");
    assert!(text.contains("\nWaits for a person: \"which one?\"\n"), "{text}");
    assert_eq!(hook(&sandbox, "codex", "user-prompt-submit", &payload), "");
    // The other host has shown nothing yet.
    told(&hook(&sandbox, "claude-code", "user-prompt-submit", &payload), "UserPromptSubmit");
}

#[test]
fn without_a_place_for_notes_a_start_is_told_and_a_prompt_only_of_modes() {
    let sandbox = Sandbox::new();
    started(&sandbox);
    std::fs::create_dir_all(sandbox.path(".flow/.cache")).unwrap();
    std::fs::write(sandbox.path(".flow/.cache/hosts"), "in the way").unwrap();
    let payload = json!({ "session_id": "s1", "prompt": "$blueprint" });
    told(&hook(&sandbox, "codex", "session-start", &payload), "SessionStart");
    let text = told(&hook(&sandbox, "codex", "user-prompt-submit", &payload), "UserPromptSubmit");
    assert!(text.contains("blueprint activated") && !text.contains("flow keeps"), "{text}");
    let log = std::fs::read_to_string(sandbox.path(".flow/.cache/hooks.log")).unwrap();
    assert_eq!(log.lines().count(), 2, "{log}");
}

#[test]
fn a_prompt_begins_the_modes_that_it_names() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let payload = json!({ "session_id": "s1", "prompt": "$blueprint the parser" });
    let text = told(&hook(&sandbox, "claude-code", "user-prompt-submit", &payload), "UserPromptSubmit");
    assert!(text.contains("blueprint activated"), "{text}");
    let modes = sandbox.flow(["mode", "list", "--session", "s1", "--json"]).ok().json();
    assert_eq!(modes["active"], json!(["blueprint"]));
}

#[test]
fn a_summary_of_claude_code_keeps_the_run() {
    let sandbox = Sandbox::new();
    let run = started(&sandbox);
    let payload = json!({ "session_id": "s1", "trigger": "auto" });
    assert_eq!(
        hook(&sandbox, "claude-code", "pre-compact", &payload),
        format!("flow keeps the state of run {run} of workflow start-issue, active, in phase preflight (1 of 5).\n")
    );
    assert_eq!(hook(&sandbox, "codex", "pre-compact", &payload), "");
}

#[test]
fn a_session_that_ends_releases_its_runs_and_no_others() {
    let sandbox = Sandbox::new();
    let run = started(&sandbox);
    let end = |session: &str| hook(&sandbox, "codex", "session-end", &json!({ "session_id": session }));
    assert_eq!(end("s2"), "");
    assert!(!sandbox.read(&run, "run.yaml").contains("session ended"));
    assert_eq!(end("s1"), "");
    assert!(sandbox.read(&run, "run.yaml").contains("session ended"));
    let text = told(&hook(&sandbox, "codex", "session-start", &json!({ "session_id": "s1" })), "SessionStart");
    assert!(text.contains("\nHeld by: no session\n"), "{text}");
}

#[test]
fn a_sub_agent_is_told_nothing_and_ends_nothing() {
    let sandbox = Sandbox::new();
    let run = started(&sandbox);
    for event in EVENTS {
        let payload = json!({ "session_id": "s1", "agent_id": "a1", "prompt": "$blueprint" });
        assert_eq!(hook(&sandbox, "claude-code", event, &payload), "", "{event}");
    }
    assert!(!sandbox.read(&run, "run.yaml").contains("session ended"));
}

#[test]
fn trouble_is_logged_and_never_told_to_the_host() {
    let sandbox = Sandbox::new();
    started(&sandbox);
    for (host, event, input) in [
        ("codex", "stop", "junk \u{1b}"),
        ("codex", "stop", "[]"),
        ("emacs", "stop", "{}"),
        ("codex", "tool-use", "{}"),
    ] {
        let answer = sandbox.flow_with(["hook", host, event], input).ok();
        assert_eq!((answer.stdout, answer.stderr), (String::new(), String::new()));
    }
    let log = std::fs::read_to_string(sandbox.path(".flow/.cache/hooks.log")).unwrap();
    let lines: Vec<_> = log.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(
        lines,
        [
            "codex stop: the payload is not JSON",
            "codex stop: the payload is not a JSON object",
            "emacs stop: the host is claude-code, codex or auto",
            "codex tool-use: flow does not know this event",
        ]
    );
    // It stays small.
    for _ in 0..20 {
        sandbox.flow_with(["hook", &"x".repeat(5000), "stop"], "{}").ok();
    }
    let long = "y".repeat(66_000);
    std::fs::write(sandbox.path(".flow/.cache/hooks.log"), format!("{long}\n")).unwrap();
    sandbox.flow_with(["hook", "emacs", "stop"], "{}").ok();
    let len = std::fs::metadata(sandbox.path(".flow/.cache/hooks.log")).unwrap().len();
    assert!(len < 1000, "{len}");
}

fn damage(sandbox: &Sandbox, file: &str) {
    let run = started(sandbox);
    std::fs::write(sandbox.run_dir(&run).join(file), "[").unwrap();
}

/// A state of a project: what it is, and how it comes about.
type State = (&'static str, fn(&Sandbox));

/// Whatever the state of the project and the payload.
#[test]
fn no_event_fails_or_says_what_its_host_does_not_read() {
    let states: [State; 6] = [
        ("no project", |_| ()),
        ("no run", |sandbox| drop(sandbox.flow(["init"]).ok())),
        ("a run", |sandbox| drop(started(sandbox))),
        ("a blocked run", |sandbox| {
            let run = started(sandbox);
            sandbox.flow(["block", "--run-id", &run, "--reason", "r", "--session", "s1"]).ok();
        }),
        ("a damaged document", |sandbox| damage(sandbox, "run.yaml")),
        ("a damaged log", |sandbox| damage(sandbox, "events.jsonl")),
    ];
    let payloads = [
        json!({}),
        json!({ "session_id": "s1", "prompt": "$forge", "source": "compact" }),
        json!({ "session_id": "../s1", "prompt": 3, "cwd": [] }),
        json!({ "session_id": "s2", "cwd": "/nowhere", "prompt": "$cancel \u{0}" }),
    ];
    for (what, prepare) in states {
        for host in ["claude-code", "codex"] {
            let sandbox = Sandbox::new();
            prepare(&sandbox);
            for event in EVENTS {
                for payload in &payloads {
                    let stdout = hook(&sandbox, host, event, payload);
                    match (event, host) {
                        ("session-start", _) if !stdout.is_empty() => drop(told(&stdout, "SessionStart")),
                        ("user-prompt-submit", _) if !stdout.is_empty() => drop(told(&stdout, "UserPromptSubmit")),
                        ("pre-compact", "claude-code") => assert!(stdout.lines().count() <= 1, "{what}: {stdout}"),
                        _ => assert_eq!(stdout, "", "{what}: {host} {event}"),
                    }
                    assert!(stdout.chars().count() < 4000, "{what}: {stdout}");
                }
            }
        }
    }
}
