//! `flow hook`: what agents' hosts get to read, and that no event disturbs them.

use std::io::Write as _;
use std::process::Stdio;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use flowrun::runs::Budget;

use crate::support::shaky::{DiskCall, Shaky};
use crate::support::{Answer, HeldLock, HostProcess, Sandbox, alone, can_inject, injecting, quick, scaled};

/// Lets a host report an event. A hook always succeeds, and what it prints is empty or one of the shapes of its host.
pub fn hook(sandbox: &Sandbox, host: &str, event: &str, payload: &Value) -> String {
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

pub fn started(sandbox: &Sandbox) -> String {
    let args = ["start", "start-issue", "--issue", "7", "--session", "s1"];
    let run = sandbox.flow(args).ok().line().to_owned();
    sandbox.flow(["record-activity", "--run-id", &run, "--id", "look", "--session", "s1"]).ok();
    run
}

const EVENTS: [&str; 7] =
    ["session-start", "user-prompt-submit", "pre-compact", "stop", "subagent-start", "subagent-stop", "session-end"];

#[test]
fn a_host_is_answered_in_its_own_words_also_by_hooks_of_another_one() {
    let sandbox = in_use();
    started(&sandbox);
    let answer = |host: &str, variables: &[(&str, &str)], event: &str, more: Value| {
        let mut payload = json!({ "session_id": "h1" });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut command = sandbox.flow_command();
        command.args(["hook", host, event]).envs(variables.iter().copied());
        let stdout = crate::support::run(command, &payload.to_string()).ok().stdout;
        serde_json::from_str::<Value>(&stdout).unwrap()
    };
    let prompt = || json!({ "prompt": "$ultrawork go" });
    let copilot = ("COPILOT_CLI", "1");
    for (host, variables) in [("claude-code", &[copilot][..]), ("auto", &[copilot]), ("copilot", &[])] {
        let told = answer(host, variables, "user-prompt-submit", prompt());
        assert_eq!(told.as_object().unwrap().len(), 1, "{told}");
        assert!(told["additionalContext"].as_str().unwrap().contains("ultrawork"), "{told}");
        sandbox.flow(["mode", "cancel", "--session", "h1"]).ok();
    }
    let claude = ("CLAUDE_CODE_SESSION_ID", "h1");
    for (host, variables) in [
        ("claude-code", &[][..]),
        ("claude-code", &[copilot, claude]),
        ("auto", &[("GEMINI_SESSION_ID", "h1")]),
        ("gemini-cli", &[]),
        ("qwen", &[]),
        ("codex", &[copilot]),
    ] {
        let told = answer(host, variables, "session-start", json!({ "source": "startup" }));
        assert!(told["hookSpecificOutput"]["additionalContext"].is_string(), "{host} {variables:?}: {told}");
    }
    let kept = std::fs::read_dir(sandbox.path(".flow/.cache/hosts")).unwrap();
    let mut notes: Vec<String> = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    notes.retain(|name| name.ends_with(".json"));
    for host in ["claude-code", "codex", "copilot", "gemini-cli", "qwen"] {
        assert!(notes.iter().any(|name| name.starts_with(&format!("{host}-"))), "{host}: {notes:?}");
    }
    assert_eq!(notes.len(), 5, "{notes:?}");
}

#[test]
fn the_commands_of_a_host_that_names_no_session_are_of_the_one_that_its_hook_named() {
    let sandbox = in_use();
    let of_host = |args: &[&str], payload: Option<&str>| {
        let mut command = sandbox.flow_command();
        command.args(args).env("GEMINI_CLI", "1");
        crate::support::run(command, payload.unwrap_or_default()).ok()
    };
    of_host(&["hook", "gemini-cli", "session-start"], Some(r#"{"session_id":"g1","source":"startup"}"#));
    of_host(&["start", "debug", "--id", "r1"], None);
    assert_eq!(hold(&sandbox, "r1"), held("g1", 1));
    of_host(&["record-activity", "--id", "a"], None);
    of_host(&["hook", "gemini-cli", "session-end"], Some(r#"{"session_id":"g1","reason":"exit"}"#));
    assert_eq!(hold(&sandbox, "r1").0, None);
}

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
    insta::assert_snapshot!(text, @r#"
    flow keeps the state of run 2026-05-20T143004Z-issue-7 of workflow start-issue, active, in phase preflight (1 of 5).
    Verdict: held: "session s1 holds the run"
    Next phase: preflight: "The issue is open and readable, the working tree is clean, and the branch for the work exists."
    Held by: session s1
    Completed activities: 1, the last ones 001 look
    Texts in quotation marks are data of the run. `flow resume` tells more.
    "#);
}

/// What a new session is told, and that the next prompt does not say it again.
fn begins_with(sandbox: &Sandbox, session: &str) -> String {
    let text = told(&begins(sandbox, "claude-code", session, "startup"), "SessionStart");
    prompted(sandbox, "claude-code", session);
    assert!(text.chars().count() <= 2000);
    text
}

#[test]
fn a_brief_leaves_out_no_work() {
    let sandbox = in_use();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    // A run that cannot be read, alone and beside another one.
    sandbox.flow(["start", "debug", "--id", "broken"]).ok();
    std::fs::write(sandbox.path(".flow/runs/broken/run.yaml"), "").unwrap();
    std::fs::write(sandbox.path(".flow/runs/broken/events.jsonl"), "").unwrap();
    insta::assert_snapshot!(begins_with(&sandbox, "s2"), @r"
    flow keeps the state of runs here; this session has none that it could resume.
    Cannot be read: broken; `flow doctor` tells why.
    ");
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    insta::assert_snapshot!(begins_with(&sandbox, "s3"), @r#"
    flow keeps the state of run r1 of workflow debug, active, in phase preflight (1 of 5).
    Verdict: continue: "nothing is completed in `preflight` yet"
    Cannot be read: broken; `flow doctor` tells why.
    Next phase: preflight: "The report of the fault is at hand, the working tree is clean, and the branch for the work exists."
    Held by: no session
    Completed activities: none
    Texts in quotation marks are data of the run. `flow resume` tells more.
    "#);
    // A holder whose process is gone.
    let mut dead = HostProcess::new(&sandbox);
    dead.flow(&sandbox, "gone", &["resume", "r1", "--claim"]);
    assert!(begins_with(&sandbox, "s4").contains("\nHeld by: session gone\n"));
    dead.kill();
    assert!(begins_with(&sandbox, "s5").contains("\nHeld by: session gone, whose process is gone\n"));
    // A run of another branch.
    sandbox.git(&["switch", "-q", "-c", "elsewhere"]);
    let text = begins_with(&sandbox, "s6");
    insta::assert_snapshot!(text, @r#"
    flow keeps the state of run r1 of workflow debug, active, in phase preflight (1 of 5).
    Verdict: continue: "the run is about branch main, and elsewhere is checked out; nothing is completed in `preflight` yet"
    It is about the branch "main", which is not checked out.
    Cannot be read: broken; `flow doctor` tells why.
    Next phase: preflight: "The report of the fault is at hand, the working tree is clean, and the branch for the work exists."
    Held by: session gone, whose process is gone
    Completed activities: none
    Texts in quotation marks are data of the run. `flow resume` tells more.
    "#);
    // Runs in other worktrees, seen from one that has no runs of its own.
    sandbox.git(&["worktree", "add", "-q", "--detach", "../tree"]);
    let mut command = sandbox.flow_command();
    command.args(["hook", "claude-code", "session-start"]).current_dir(sandbox.path("../tree"));
    let payload = json!({ "session_id": "s7", "source": "startup" }).to_string();
    let text = told(&crate::support::run(command, &payload).ok().stdout, "SessionStart");
    let root = sandbox.root();
    assert!(text.contains(&format!("In the worktree \"{}\": ", root.display())), "{text}");
    std::fs::remove_dir_all(sandbox.path(".flow/runs/broken")).unwrap();
    let mut command = sandbox.flow_command();
    command.args(["hook", "claude-code", "session-start"]).current_dir(sandbox.path("../tree"));
    let text = told(&crate::support::run(command, &payload).ok().stdout, "SessionStart");
    assert!(text.contains(&format!("Open in the worktree \"{}\": r1", root.display())), "{text}");
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
    insta::assert_snapshot!(text, @r#"
    flow keeps the state of run 2026-05-20T143003Z-issue-7 of workflow start-issue, blocked, in phase preflight (1 of 5).
    Verdict: needs_human: "blocked: which one?"
    Next phase: preflight: "The issue is open and readable, the working tree is clean, and the branch for the work exists."
    Waits for a person: "which one?"
    Held by: this session
    Completed activities: 1, the last ones 001 look
    Texts in quotation marks are data of the run. `flow resume` tells more.
    "#);
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
    insta::assert_snapshot!(text, @r#"
    detected workflow keyword: "$blueprint"

    skill: blueprint activated and initial state initialized at .flow/state/sessions/s1/blueprint-state.json; write subsequent updates with `flow mode write blueprint --session s1`

    active skills: blueprint
    "#);
    let log = std::fs::read_to_string(sandbox.path(".flow/.cache/hooks.log")).unwrap();
    assert_eq!(log.lines().filter(|line| !line.contains("hosts")).count(), 0, "{log}");
    assert_eq!(log.lines().count(), 4, "{log}");
}

#[test]
fn a_prompt_begins_the_modes_that_it_names() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let payload = json!({ "session_id": "s1", "prompt": "$blueprint the parser" });
    let text = told(&hook(&sandbox, "claude-code", "user-prompt-submit", &payload), "UserPromptSubmit");
    insta::assert_snapshot!(text, @r#"
    detected workflow keyword: "$blueprint"

    skill: blueprint activated and initial state initialized at .flow/state/sessions/s1/blueprint-state.json; write subsequent updates with `flow mode write blueprint --session s1`

    active skills: blueprint
    "#);
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
    insta::assert_snapshot!(text, @r#"
    flow keeps the state of run 2026-05-20T143003Z-issue-7 of workflow start-issue, active, in phase preflight (1 of 5).
    Verdict: continue: "`preflight` is done; `explore` comes next"
    Next phase: explore: "The parts of the code that the issue touches are known, and every open question about its meaning is answered or written down."
    Held by: no session
    Completed activities: 1, the last ones 001 look
    Texts in quotation marks are data of the run. `flow resume` tells more.
    "#);
}

/// A project in which flow was used before.
pub fn in_use() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    sandbox
}

/// The holder of a run, and the epoch of its claim.
pub fn hold(sandbox: &Sandbox, run: &str) -> (Option<String>, u64) {
    let state = sandbox.flow(["show", run, "--json"]).ok().json()["state"].clone();
    (state["session"].as_str().map(str::to_owned), state["epoch"].as_u64().unwrap())
}

pub fn begins(sandbox: &Sandbox, host: &str, session: &str, source: &str) -> String {
    hook(sandbox, host, "session-start", &json!({ "session_id": session, "source": source }))
}

pub fn ends(sandbox: &Sandbox, host: &str, session: &str, reason: &str) {
    assert_eq!(hook(sandbox, host, "session-end", &json!({ "session_id": session, "reason": reason })), "");
}

pub fn held(session: &str, epoch: u64) -> (Option<String>, u64) {
    (Some(session.to_owned()), epoch)
}

#[test]
fn runs_of_a_cleared_session_pass_to_the_one_that_follows_it_in_the_same_process() {
    // Codex 0.169.0 reports no end of the session whose conversation is cleared; Claude Code's report may be lost.
    let ways = [("claude-code", true), ("claude-code", false), ("codex", true), ("codex", false)];
    for (host, reports_the_end) in ways {
        let sandbox = in_use();
        begins(&sandbox, host, "s1", "startup");
        let run = started(&sandbox);
        for (epoch, old, new) in [(2, "s1", "s2"), (3, "s2", "s3")] {
            if reports_the_end {
                ends(&sandbox, host, old, "clear");
            }
            let text = told(&begins(&sandbox, host, new, "clear"), "SessionStart");
            assert!(text.contains("\nHeld by: this session\n"), "{text}");
            assert_eq!(hold(&sandbox, &run), held(new, epoch), "{host}");
        }
        // The next one begins beside the last one, and follows none.
        begins(&sandbox, host, "s4", "startup");
        assert_eq!(hold(&sandbox, &run), held("s3", 3));
    }
}

#[test]
fn where_a_process_of_codex_has_several_sessions_none_passes_its_runs_to_the_one_after_a_cleared_one() {
    let sandbox = in_use();
    begins(&sandbox, "codex", "s1", "startup");
    let run = started(&sandbox);
    begins(&sandbox, "codex", "s2", "startup");
    // The latest is not the one that was cleared.
    hook(&sandbox, "codex", "user-prompt-submit", &json!({ "session_id": "s1", "prompt": "go on" }));
    begins(&sandbox, "codex", "s3", "clear");
    assert_eq!(hold(&sandbox, &run), held("s1", 1));
    // The end of the cleared session was reported, so the one that is left is not it.
    ends(&sandbox, "codex", "s2", "clear");
    ends(&sandbox, "codex", "s3", "other");
    begins(&sandbox, "codex", "s5", "clear");
    assert_eq!(hold(&sandbox, &run), held("s1", 1));
    // Two of them end, and only the first one is left. A prompt tells that it goes on.
    ends(&sandbox, "codex", "s1", "other");
    ends(&sandbox, "codex", "s5", "other");
    hook(&sandbox, "codex", "user-prompt-submit", &json!({ "session_id": "s1", "prompt": "go on" }));
    sandbox.flow(["resume", &run, "--claim", "--session", "s1"]).ok();
    begins(&sandbox, "codex", "s4", "clear");
    assert_eq!(hold(&sandbox, &run), held("s4", 3));
}

#[test]
fn of_several_sessions_in_a_process_the_last_one_or_the_only_one_left_is_followed() {
    // The last one of Claude Code, which holds nothing here.
    let sandbox = in_use();
    begins(&sandbox, "claude-code", "s1", "startup");
    let run = started(&sandbox);
    begins(&sandbox, "claude-code", "s2", "startup");
    begins(&sandbox, "claude-code", "s3", "clear");
    assert_eq!(hold(&sandbox, &run), held("s1", 1));
    // The only one of Codex whose end was not reported.
    let sandbox = in_use();
    begins(&sandbox, "codex", "s1", "startup");
    let run = started(&sandbox);
    begins(&sandbox, "codex", "s2", "startup");
    ends(&sandbox, "codex", "s2", "other");
    begins(&sandbox, "codex", "s3", "clear");
    assert_eq!(hold(&sandbox, &run), held("s3", 2));
}

#[test]
fn a_session_that_is_resumed_gets_back_what_it_held_unless_another_one_holds_it() {
    let sandbox = in_use();
    begins(&sandbox, "codex", "s1", "startup");
    let run = started(&sandbox);
    ends(&sandbox, "codex", "s1", "other");
    assert_eq!(hold(&sandbox, &run), (None, 1));
    // A session with its conversation is another one.
    let text = told(&begins(&sandbox, "codex", "s2", "fork"), "SessionStart");
    insta::assert_snapshot!(text, @r#"
    flow keeps the state of run 2026-05-20T143005Z-issue-7 of workflow start-issue, active, in phase preflight (1 of 5).
    Verdict: continue: "`preflight` is done; `explore` comes next"
    Next phase: explore: "The parts of the code that the issue touches are known, and every open question about its meaning is answered or written down."
    Held by: no session
    Completed activities: 1, the last ones 001 look
    Texts in quotation marks are data of the run. `flow resume` tells more.
    "#);
    begins(&sandbox, "codex", "s1", "resume");
    assert_eq!(hold(&sandbox, &run), held("s1", 2));
    begins(&sandbox, "codex", "s1", "compact");
    begins(&sandbox, "codex", "s1", "resume");
    assert_eq!(hold(&sandbox, &run), held("s1", 2), "it is in the same process still");
    ends(&sandbox, "codex", "s1", "other");
    sandbox.flow(["resume", &run, "--claim", "--session", "s3"]).ok();
    begins(&sandbox, "codex", "s1", "resume");
    assert_eq!(hold(&sandbox, &run), held("s3", 3));
}

#[test]
fn a_resumed_session_is_told_of_the_run_that_it_gets_back_and_not_of_a_newer_one() {
    for source in ["resume", "clear"] {
        let sandbox = in_use();
        begins(&sandbox, "codex", "s1", "startup");
        let run = started(&sandbox);
        ends(&sandbox, "codex", "s1", if source == "clear" { "clear" } else { "other" });
        let newer = sandbox.flow(["start", "debug", "--id", "newer", "--json"]).json();
        assert_eq!(newer["run_id"], "newer");
        let session = if source == "clear" { "s2" } else { "s1" };
        let text = told(&begins(&sandbox, "codex", session, source), "SessionStart");
        assert!(
            text.contains(&format!("run {run} ")) && text.contains("\nHeld by: this session\n"),
            "{source}: {text}"
        );
        assert!(text.contains("\nOther open runs: 1\n"), "{source}: {text}");
    }
}

#[test]
fn a_resumed_session_gets_its_run_with_the_next_prompt_if_another_writer_had_it() {
    for (host, source) in [("codex", "resume"), ("claude-code", "resume"), ("claude-code", "clear")] {
        let sandbox = in_use();
        begins(&sandbox, host, "s1", "startup");
        let run = started(&sandbox);
        ends(&sandbox, host, "s1", if source == "clear" { "clear" } else { "other" });
        let session = if source == "clear" { "s2" } else { "s1" };
        let lock = HeldLock::take(sandbox.path(format!(".flow/runs/{run}/.lock")));
        begins(&sandbox, host, session, source);
        assert_eq!(hold(&sandbox, &run), (None, 1));
        prompted(&sandbox, host, session);
        assert_eq!(hold(&sandbox, &run), (None, 1));
        drop(lock);
        prompted(&sandbox, host, session);
        assert_eq!(hold(&sandbox, &run), held(session, 2), "{host} {source}");
        // Only once: what another session claims stays there.
        sandbox.flow(["resume", &run, "--take-over", "--session", "s3"]).ok();
        prompted(&sandbox, host, session);
        assert_eq!(hold(&sandbox, &run), held("s3", 3));
    }
}

#[test]
fn a_resumed_session_whose_hook_was_killed_gets_its_run_the_next_time() {
    if !can_inject("a_resumed_session_whose_hook_was_killed_gets_its_run_the_next_time") {
        return;
    }
    let sandbox = in_use();
    begins(&sandbox, "codex", "s1", "startup");
    let run = started(&sandbox);
    let payload = json!({ "session_id": "s1", "source": "resume" }).to_string();
    let mut epoch = 1;
    for call in ["rename,renameat,renameat2", "write,pwrite64", "fdatasync,fsync", "unlink,unlinkat"] {
        for nth in 1..8 {
            ends(&sandbox, "codex", "s1", "other");
            let kill = format!("{call}:signal=KILL:when={nth}");
            crate::support::run(injecting(&sandbox, &[&kill], &["hook", "codex", "session-start"]), &payload);
            if nth % 2 == 0 {
                prompted(&sandbox, "codex", "s1")
            } else {
                drop(begins(&sandbox, "codex", "s1", "resume"))
            }
            let now = hold(&sandbox, &run);
            if nth % 2 == 0 && now.0.is_none() {
                // Killed before anything was noted: then nothing is lost either.
                begins(&sandbox, "codex", "s1", "resume");
            }
            let now = hold(&sandbox, &run);
            assert_eq!(now.0.as_deref(), Some("s1"), "{kill}");
            assert!(now.1 > epoch, "{kill}");
            epoch = now.1;
        }
    }
    sandbox.assert_sound(&run);
}

#[test]
fn sessions_at_once_lose_no_note_and_none_has_that_of_another() {
    let sandbox = in_use();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let sessions: Vec<String> = (0..8).map(|one| format!("s{one}")).collect();
    let at_once = |event: &str, more: &Value| {
        let mut running = Vec::new();
        for session in &sessions {
            let mut command = sandbox.flow_command();
            command.args(["hook", "codex", event]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut hook = command.spawn().unwrap();
            let mut payload = json!({ "session_id": session });
            payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            hook.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
            running.push(hook);
        }
        running.iter_mut().for_each(|hook| assert!(hook.wait().unwrap().success()));
    };
    at_once("session-start", &json!({ "source": "startup" }));
    for _ in 0..10 {
        at_once("user-prompt-submit", &json!({ "prompt": "go on" }));
        at_once("stop", &json!({ "stop_hook_active": false }));
    }
    at_once("session-end", &json!({ "reason": "other" }));
    let log = std::fs::read_to_string(sandbox.path(".flow/.cache/hooks.log")).unwrap_or_default();
    assert_eq!(log, "");
    let dir = sandbox.path(".flow/.cache/hosts");
    let mut noted: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        if path.extension().is_some_and(|extension| extension == "json") {
            let note: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(note["over"], "ended", "{text}");
            noted.push(note["session"].as_str().unwrap().to_owned());
        } else {
            assert!(path.extension().is_some_and(|extension| extension == "txt"), "{}", path.display());
        }
    }
    noted.sort();
    assert_eq!(noted, sessions);
}

#[test]
fn a_session_whose_host_was_killed_is_known_to_be_dead_even_if_its_commands_could_not_see_the_host() {
    let sandbox = in_use();
    let mut host = HostProcess::new(&sandbox);
    host.hook(&sandbox, "session-start", &json!({ "session_id": "s1", "source": "startup" }));
    let run = started(&sandbox);
    let verdict = || sandbox.flow(["resume", "--session", "s2", "--json"]).json()["verdict"].clone();
    assert_eq!(verdict(), "held");
    host.kill();
    assert_eq!(verdict(), "continue");
    sandbox.flow(["record-activity", "--session", "s2", "--id", "more"]).ok();
    assert_eq!(hold(&sandbox, &run), held("s2", 2));
}

#[test]
fn a_session_in_two_processes_ends_when_the_one_that_has_it_ends() {
    let sandbox = in_use();
    let (mut one, mut two) = (HostProcess::new(&sandbox), HostProcess::new(&sandbox));
    one.hook(&sandbox, "session-start", &json!({ "session_id": "s1", "source": "startup" }));
    let run = started(&sandbox);
    two.hook(&sandbox, "session-start", &json!({ "session_id": "s1", "source": "resume" }));
    assert_eq!(hold(&sandbox, &run), held("s1", 2));
    // The old one ends late.
    one.hook(&sandbox, "session-end", &json!({ "session_id": "s1", "reason": "other" }));
    assert_eq!(hold(&sandbox, &run), held("s1", 2));
    // It goes on instead, and the new one is killed: the session lives.
    one.hook(&sandbox, "user-prompt-submit", &json!({ "session_id": "s1", "prompt": "go on" }));
    two.kill();
    sandbox.flow(["record-activity", "--session", "s2", "--id", "more"]).exits(5);
    let verdict = || sandbox.flow(["resume", "--session", "s2", "--json"]).json()["verdict"].clone();
    assert_eq!(verdict(), "held");
    one.kill();
    assert_eq!(verdict(), "continue");
}

#[test]
fn a_session_that_cannot_be_one_ends_nothing() {
    let sandbox = in_use();
    let run = sandbox.flow(["start", "debug"]).ok().line().to_owned();
    for id in [json!("a/b"), json!(3), json!("")] {
        hook(&sandbox, "codex", "session-end", &json!({ "session_id": id }));
        assert!(!sandbox.read(&run, "run.yaml").contains("session ended"), "{id}");
    }
    for payload in [json!({ "reason": "other" }), json!({ "session_id": null })] {
        for event in ["session-start", "user-prompt-submit", "session-end"] {
            assert_eq!(hook(&sandbox, "codex", event, &payload), "", "{event} {payload}");
        }
    }
    assert!(!sandbox.read(&run, "run.yaml").contains("session ended"));
    let log = std::fs::read_to_string(sandbox.path(".flow/.cache/hooks.log")).unwrap();
    assert!(log.lines().all(|line| line.ends_with(": the payload names no session")), "{log}");
    assert_eq!(log.lines().count(), 9);
}

#[test]
fn a_resumed_session_gets_back_a_run_in_which_a_person_worked_meanwhile() {
    let sandbox = in_use();
    begins(&sandbox, "codex", "s1", "startup");
    let run = started(&sandbox);
    ends(&sandbox, "codex", "s1", "other");
    sandbox.flow(["record-activity", "--run-id", &run, "--id", "by-hand"]).ok();
    begins(&sandbox, "codex", "s1", "resume");
    assert_eq!(hold(&sandbox, &run), held("s1", 2));
}

#[test]
fn the_directory_in_which_a_session_works_counts_before_that_of_its_hooks() {
    let sandbox = in_use();
    let run = started(&sandbox);
    let other = sandbox.path("other");
    std::fs::create_dir(&other).unwrap();
    sandbox.command("git").args(["init", "-q", "other"]).status().unwrap();
    sandbox.flow(["init", "-C", "other"]).ok();
    let mut hook = sandbox.flow_command();
    hook.args(["hook", "codex", "session-end"]).current_dir(&other);
    crate::support::run(hook, &json!({ "session_id": "s1", "cwd": sandbox.root() }).to_string()).ok();
    assert!(sandbox.read(&run, "run.yaml").contains("session ended"));
}

#[test]
fn notes_are_kept_of_the_sessions_that_live_and_of_the_latest() {
    let sandbox = in_use();
    begins(&sandbox, "codex", "living", "startup");
    let mut dead = HostProcess::new(&sandbox);
    for session in 0..110 {
        dead.hook(&sandbox, "session-start", &json!({ "session_id": format!("s-{session}"), "source": "startup" }));
    }
    dead.kill();
    begins(&sandbox, "codex", "last", "startup");
    let names = std::fs::read_dir(sandbox.path(".flow/.cache/hosts")).unwrap();
    let notes = names.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect::<Vec<_>>();
    assert!(notes.iter().any(|note| note.contains("\"living\"")));
    assert!(!notes.iter().any(|note| note.contains("\"s-0\"")));
    assert!(notes.iter().any(|note| note.contains("\"s-109\"")));
    assert!(notes.len() < 110, "{}", notes.len());
}

#[test]
fn a_session_that_records_work_in_a_run_that_no_session_holds_claims_it() {
    let sandbox = Sandbox::new();
    let run = sandbox.flow(["start", "debug", "--id", "r1"]).ok().line().to_owned();
    sandbox.flow(["record-activity", "--id", "by-hand"]).ok();
    assert_eq!(hold(&sandbox, &run), (None, 0));
    sandbox.flow(["record-activity", "--id", "look", "--session", "s1"]).ok();
    assert_eq!(hold(&sandbox, &run), held("s1", 1));
    let log = sandbox.flow(["log", "r1", "--json"]).ok().json();
    let types: Vec<_> = log["events"].as_array().unwrap().iter().map(|event| &event["type"]).collect();
    assert_eq!(types, ["run_started", "activity_recorded", "run_claimed", "activity_recorded"]);
    // A retry changes nothing, and another session is refused.
    sandbox.flow(["record-activity", "--id", "look", "--session", "s1"]).ok();
    sandbox.flow(["record-activity", "--id", "other", "--session", "s2"]).exits(5);
    assert_eq!(hold(&sandbox, &run), held("s1", 1));
}

/// What a host does after a turn: `None` if it stops, otherwise the text with which its model goes on.
fn stops(sandbox: &Sandbox, host: &str, session: &str, more: Value) -> Option<String> {
    let mut payload = json!({ "session_id": session, "stop_hook_active": false });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let Answer { stdout, stderr, .. } =
        sandbox.flow_with(["hook", host, "stop", "--continue"], &payload.to_string()).ok();
    assert_eq!(stderr, "");
    if stdout.is_empty() {
        return None;
    }
    if host == "claude-code" {
        return Some(told(&stdout, "Stop"));
    }
    let answer: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(answer, json!({ "decision": "block", "reason": answer["reason"] }));
    Some(answer["reason"].as_str().unwrap().to_owned())
}

pub fn prompted(sandbox: &Sandbox, host: &str, session: &str) {
    hook(sandbox, host, "user-prompt-submit", &json!({ "session_id": session, "prompt": "go on" }));
}

pub fn works(sandbox: &Sandbox, run: &str, id: &str) {
    sandbox.flow(["record-activity", "--run-id", run, "--id", id, "--session", "s1"]).ok();
}

#[test]
fn a_session_goes_on_once_after_a_prompt_and_three_times_in_all() {
    for host in ["claude-code", "codex"] {
        let sandbox = Sandbox::new();
        let run = started(&sandbox);
        assert_eq!(stops(&sandbox, host, "s1", json!({})), None, "there was no prompt");
        for round in 0..5 {
            prompted(&sandbox, host, "s1");
            assert_eq!(stops(&sandbox, host, "s1", json!({})), None, "nothing was done since the prompt");
            works(&sandbox, &run, &format!("work-{round}"));
            let text = stops(&sandbox, host, "s1", json!({}));
            assert_eq!(text.is_some(), round < 3, "{host} {round}");
            if let Some(text) = text {
                assert!(text.starts_with(&format!("flow keeps the state of run {run} of workflow")), "{text}");
            }
            works(&sandbox, &run, &format!("more-{round}"));
            begins(&sandbox, host, "s1", "compact");
            assert_eq!(stops(&sandbox, host, "s1", json!({})), None, "{host} {round}");
        }
    }
}

#[test]
fn only_what_a_person_says_is_a_prompt() {
    let sandbox = Sandbox::new();
    let run = started(&sandbox);
    let says =
        |text: &str| hook(&sandbox, "codex", "user-prompt-submit", &json!({ "session_id": "s1", "prompt": text }));
    says("go on");
    works(&sandbox, &run, "one");
    assert_eq!(says(""), "", "Qwen Code says so after each call of a tool");
    let own = stops(&sandbox, "codex", "s1", json!({})).unwrap();
    assert_eq!(says(&own), "", "the Gemini CLI repeats what let it go on");
    works(&sandbox, &run, "two");
    assert_eq!(stops(&sandbox, "codex", "s1", json!({})), None, "no person has said anything since");
}

#[test]
fn a_session_stops_when_anything_speaks_against_going_on() {
    type Prepare = fn(&Sandbox, &str);
    let nothing: Prepare = |_, _| ();
    let cases: [(&str, Value, Prepare); 10] = [
        ("it goes on already", json!({ "stop_hook_active": true }), nothing),
        ("it will be woken up", json!({ "background_tasks": [{ "id": "t" }] }), nothing),
        ("it only plans", json!({ "permission_mode": "plan" }), nothing),
        ("a sub-agent stops", json!({ "agent_id": "a1" }), nothing),
        ("the run is blocked", json!({}), |sandbox, run| {
            drop(sandbox.flow(["block", "--run-id", run, "--reason", "r", "--session", "s1"]).ok());
        }),
        ("the run was blocked", json!({}), |sandbox, run| {
            sandbox.flow(["block", "--run-id", run, "--reason", "r", "--session", "s1"]).ok();
            sandbox.flow(["unblock", "--run-id", run, "--session", "s1"]).ok();
        }),
        ("the run is cancelled", json!({}), |sandbox, run| {
            drop(sandbox.flow(["cancel", "--run-id", run, "--reason", "r"]).ok());
        }),
        ("another session holds it", json!({}), |sandbox, run| {
            drop(sandbox.flow(["resume", run, "--take-over", "--session", "s2"]).ok());
        }),
        ("it holds two runs", json!({}), |sandbox, _| {
            drop(sandbox.flow(["start", "debug", "--session", "s1"]).ok());
        }),
        ("the budget cannot be noted", json!({}), |sandbox, _| {
            std::fs::remove_dir_all(sandbox.path(".flow/.cache/hosts")).unwrap();
            std::fs::write(sandbox.path(".flow/.cache/hosts"), "").unwrap();
        }),
    ];
    for (what, payload, prepare) in cases {
        let sandbox = Sandbox::new();
        let run = started(&sandbox);
        prompted(&sandbox, "codex", "s1");
        works(&sandbox, &run, "work");
        prepare(&sandbox, &run);
        assert_eq!(stops(&sandbox, "codex", "s1", payload), None, "{what}");
    }
    // And none of it is in the way otherwise.
    let sandbox = Sandbox::new();
    let run = started(&sandbox);
    prompted(&sandbox, "codex", "s1");
    works(&sandbox, &run, "work");
    let mut off = sandbox.flow_command();
    off.args(["hook", "codex", "stop", "--continue"]).env("FLOW_HOOK_CONTINUE", "0");
    let payload = json!({ "session_id": "s1", "stop_hook_active": false });
    assert_eq!(crate::support::run(off, &payload.to_string()).ok().stdout, "");
    assert_eq!(hook(&sandbox, "codex", "stop", &payload), "", "it was not asked to");
    assert!(stops(&sandbox, "codex", "s1", json!({})).is_some());
}

#[test]
fn a_status_line_shows_the_run_of_its_session_and_the_modes() {
    let sandbox = Sandbox::new();
    let line = |args: &[&str], input: &str| sandbox.flow_with([&["hud"], args].concat(), input).ok().stdout;
    assert_eq!(line(&[], ""), "", "there is no project");
    sandbox.flow(["init"]).ok();
    assert_eq!(line(&[], "{}"), "", "there is no run");
    let run = started(&sandbox);
    hook(&sandbox, "codex", "user-prompt-submit", &json!({ "session_id": "s1", "prompt": "$blueprint" }));
    sandbox.flow(["start", "debug", "--id", "other", "--session", "s2"]).ok();
    let own = json!({ "session_id": "s1", "cwd": sandbox.root(), "model": { "id": "m" } }).to_string();
    assert_eq!(line(&[], &own), "issue 7 start-issue  issue-7  preflight 1/5  at work  blueprint  now\n");
    assert_eq!(line(&[], r#"{"session_id": "s2"}"#), "debug  other  preflight 1/5  at work  now\n");
    assert_eq!(line(&["--session", "s2", "--format", "{run}|{others}|{modes}|{"], &own), "other|1||{\n");
    sandbox.put_clock(sandbox.now() + 7200);
    assert_eq!(line(&["--format", "{age} {workflow} {status}"], &own), "2 h start-issue active\n");
    let report = sandbox.flow_with(["hud", "--json"], &own).ok().json();
    assert_eq!((&report["run"]["run_id"], &report["others"]), (&json!(run), &json!(1)));
    let refused = sandbox.flow_with(["hud", "--format", "{what}"], "").exits(2);
    assert!(
        refused.stderr.starts_with("error: --format: {what} is not known; known are title, run, name,"),
        "{refused:?}"
    );
    sandbox.flow(["cancel", &run, "--reason", "r"]).ok();
    sandbox.flow(["cancel", "other", "--reason", "r"]).ok();
    assert_eq!(line(&[], r#"{"session_id": "s3"}"#), "");
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

/// Another status than 0 would stop a prompt or a turn of some hosts, and a newer flow may have written the line.
#[test]
fn a_line_of_a_hook_that_is_not_understood_stops_no_host() {
    let sandbox = Sandbox::new();
    for line in ["hook claude-code stop --contine", "hook claude-code", "hook", "hook --help-me claude-code stop"] {
        let answer = sandbox.flow(line.split(' ')).ok();
        assert!(answer.stdout.is_empty() && answer.stderr.starts_with("error: "), "{line}: {answer:?}");
    }
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
            "emacs stop: the host is auto or one of claude-code, codex, qwen, gemini-cli, copilot, opencode, cursor, kiro",
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

/// What happens in a session between the calls of its hooks, and which hook is called.
#[derive(Debug, Clone, Copy)]
enum Happens {
    Prompt,
    Work,
    Block,
    Unblock,
    Compaction,
    SecondRun,
    Stop,
}

fn happens() -> impl Strategy<Value = Happens> {
    use Happens::{Block, Compaction, Prompt, SecondRun, Stop, Unblock, Work};
    prop_oneof![
        4 => Just(Prompt),
        6 => Just(Work),
        1 => Just(Block),
        1 => Just(Unblock),
        1 => Just(Compaction),
        1 => Just(SecondRun),
        8 => Just(Stop),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: scaled(12, 200), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_a_session_goes_on_at_most_once_after_a_prompt(
        all in proptest::collection::vec(happens(), 1..24),
        host in prop_oneof![Just("claude-code"), Just("codex")],
    ) {
        let sandbox = Sandbox::within(&quick());
        let run = started(&sandbox);
        let (mut since_prompt, mut in_all) = (None, 0);
        for (nth, what) in all.into_iter().enumerate() {
            let flow = |args: &[&str]| drop(sandbox.flow(args));
            match what {
                Happens::Prompt => {
                    prompted(&sandbox, host, "s1");
                    since_prompt = Some(0);
                }
                Happens::Work => {
                    flow(&["record-activity", "--run-id", &run, "--id", &format!("w{nth}"), "--session", "s1"]);
                }
                Happens::Block => flow(&["block", "--run-id", &run, "--reason", "r", "--session", "s1"]),
                Happens::Unblock => flow(&["unblock", "--run-id", &run, "--session", "s1"]),
                Happens::Compaction => drop(begins(&sandbox, host, "s1", "compact")),
                Happens::SecondRun => flow(&["start", "debug", "--session", "s1"]),
                Happens::Stop => {
                    if stops(&sandbox, host, "s1", json!({})).is_some() {
                        in_all += 1;
                        since_prompt = since_prompt.map(|times| times + 1);
                        prop_assert_eq!(since_prompt, Some(1));
                        prop_assert!(in_all <= 3);
                    }
                }
            }
        }
    }
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

/// The lines of the user's own log of trouble, without their times.
fn users_log(sandbox: &Sandbox) -> Vec<String> {
    let log = std::fs::read_to_string(sandbox.path("../.local/state/flow/hooks.log")).unwrap_or_default();
    log.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
}

#[test]
fn hooks_in_a_project_that_is_refused_say_once_why_they_are_silent() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.path("../elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, sandbox.path(".flow")).unwrap();
    let begin = r#"{"session_id":"s1","source":"startup","prompt":"hello"}"#;
    for event in ["session-start", "user-prompt-submit", "session-start", "session-end"] {
        let answer = sandbox.flow_with(["hook", "claude-code", event], begin).ok();
        assert_eq!((answer.stdout, answer.stderr), (String::new(), String::new()), "{event}");
    }
    let place = sandbox.root().display().to_string();
    let of_link = format!("hooks say nothing in {place}: {place}/.flow is a symbolic link");
    assert_eq!(users_log(&sandbox), std::slice::from_ref(&of_link));
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    // Another reason is told as well.
    std::fs::remove_file(sandbox.path(".flow")).unwrap();
    std::fs::write(sandbox.path(".flow"), "").unwrap();
    sandbox.flow_with(["hook", "claude-code", "session-start"], begin).ok();
    assert_eq!(users_log(&sandbox).len(), 2, "{:?}", users_log(&sandbox));
    // It stays small, and a directory that is no project is no trouble.
    std::fs::remove_file(sandbox.path(".flow")).unwrap();
    sandbox.flow_with(["hook", "claude-code", "session-start"], begin).ok();
    assert_eq!(users_log(&sandbox).len(), 2);
    std::os::unix::fs::symlink(&elsewhere, sandbox.path(".flow")).unwrap();
    std::fs::write(sandbox.path("../.local/state/flow/hooks.log"), "t other trouble\n".repeat(4095)).unwrap();
    sandbox.flow_with(["hook", "claude-code", "session-start"], begin).ok();
    let log = users_log(&sandbox);
    assert_eq!((log.last(), (2000..2100).contains(&log.len())), (Some(&of_link), true), "{}", log.len());
}

#[test]
fn trouble_that_the_projects_log_cannot_take_is_in_the_users_log() {
    let sandbox = Sandbox::new();
    started(&sandbox);
    std::fs::remove_dir_all(sandbox.path(".flow/.cache")).unwrap();
    std::fs::write(sandbox.path(".flow/.cache"), "").unwrap();
    for _ in 0..2 {
        sandbox.flow_with(["hook", "codex", "tool-use"], "{}").ok();
    }
    let log = users_log(&sandbox);
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(
        log[0].contains("codex tool-use: flow does not know this event; its own log cannot be written: "),
        "{log:?}"
    );
}

/// Calls a hook in this process that may look at the time so often.
fn hook_with(budget: Budget, sandbox: &Sandbox, event: &str, payload: &Value) -> String {
    let answer = sandbox.hooked_reading(budget, alone(), &[], ("codex", event), payload).unwrap();
    let log = std::fs::read_to_string(sandbox.path(".flow/.cache/hooks.log")).unwrap_or_default();
    assert!(log.lines().all(|line| line.contains("not looked at")), "{event}: {log}");
    answer
}

#[test]
fn a_hook_without_time_for_all_runs_reads_those_of_its_session_and_counts_the_others() {
    let sandbox = Sandbox::within(&quick());
    sandbox.inside(["init"]).ok();
    sandbox.inside(["start", "debug", "--id", "a-own", "--session", "s1"]).ok();
    for nth in 0..68 {
        sandbox.inside(["start", "debug", "--id", &format!("b{nth}"), "--another"]).ok();
    }
    let session = json!({ "session_id": "s1", "prompt": "go on", "stop_hook_active": false });
    let none = || {
        // What another hook read of runs that have not changed would take no time.
        let _ = std::fs::remove_file(sandbox.path(".flow/.cache/open-runs.json"));
        Budget::of_times(0)
    };
    let enough = || Budget::of_times(1000);
    // The run is not noted yet, and its name comes last.
    let text = told(&hook_with(none(), &sandbox, "session-start", &session), "SessionStart");
    insta::assert_snapshot!(text, @r#"
    flow keeps the state of run b67 of workflow debug, active, in phase preflight (1 of 5).
    Verdict: continue: "nothing is completed in `preflight` yet"
    5 runs were not looked at within 0.5 s; `flow list` shows them
    Next phase: preflight: "The report of the fault is at hand, the working tree is clean, and the branch for the work exists."
    Held by: no session
    Completed activities: none
    Other open runs: 63
    Texts in quotation marks are data of the run. `flow resume` tells more.
    "#);
    let text = told(&hook_with(enough(), &sandbox, "user-prompt-submit", &session), "UserPromptSubmit");
    insta::assert_snapshot!(text, @r#"
    flow keeps the state of run a-own of workflow debug, active, in phase preflight (1 of 5).
    Verdict: continue: "nothing is completed in `preflight` yet"
    Next phase: preflight: "The report of the fault is at hand, the working tree is clean, and the branch for the work exists."
    Held by: this session
    Completed activities: none
    Other open runs: 68
    Texts in quotation marks are data of the run. `flow resume` tells more.
    "#);
    let text = told(&hook_with(none(), &sandbox, "session-start", &session), "SessionStart");
    insta::assert_snapshot!(text, @r#"
    flow keeps the state of run a-own of workflow debug, active, in phase preflight (1 of 5).
    Verdict: continue: "nothing is completed in `preflight` yet"
    5 runs were not looked at within 0.5 s; `flow list` shows them
    Next phase: preflight: "The report of the fault is at hand, the working tree is clean, and the branch for the work exists."
    Held by: this session
    Completed activities: none
    Other open runs: 63
    Texts in quotation marks are data of the run. `flow resume` tells more.
    "#);
    // How many were not reached is no news.
    assert_eq!(hook_with(none(), &sandbox, "user-prompt-submit", &session), "");
    // There may be another run of the session among those.
    sandbox.inside(["record-activity", "--run-id", "a-own", "--id", "look", "--session", "s1"]).ok();
    assert_eq!(hook_with(none(), &sandbox, "stop", &session), "");
    hook_with(none(), &sandbox, "session-end", &session);
    assert!(sandbox.read("a-own", "run.yaml").contains("session ended"));
}

/// How often a hook opens the documents of runs in a project with so many open ones, of which its session holds one.
fn documents_opened(runs: usize, event: &str, source: &str) -> usize {
    let sandbox = Sandbox::within(&quick());
    sandbox.inside(["init"]).ok();
    sandbox.inside(["start", "debug", "--id", "a-own", "--session", "s1"]).ok();
    for nth in 0..runs {
        sandbox.inside(["start", "debug", "--id", &format!("b{nth}"), "--another"]).ok();
    }
    let payload = json!({ "session_id": "s1", "source": source, "prompt": "go on", "stop_hook_active": false });
    let hooked = |disk, event: &str| sandbox.hooked(disk, &[], ("codex", event), &payload).unwrap();
    hooked(alone(), "session-start");
    match event {
        "session-start" => drop(hooked(alone(), "session-end")),
        "stop" => {
            hooked(alone(), "user-prompt-submit");
            sandbox.inside(["record-activity", "--run-id", "a-own", "--id", "look", "--session", "s1"]).ok();
        }
        _ => {}
    }
    let watched = Shaky::new(alone(), &[]);
    let answer = hooked(Arc::new(watched.clone()), event);
    let says = matches!(event, "session-start" | "stop");
    assert_eq!(answer.contains("flow keeps the state of run"), says, "{event} {source}: {answer}");
    let is_text = |call: &&DiskCall| call.name == "openat" && call.files.iter().any(|file| file == "run.yaml");
    watched.calls().iter().filter(is_text).count()
}

#[test]
fn a_hook_reads_each_open_run_once() {
    let events = [
        ("session-start", "startup"),
        ("session-start", "resume"),
        ("user-prompt-submit", "startup"),
        ("stop", "startup"),
        ("session-end", "startup"),
    ];
    for (event, source) in events {
        let [few, many] = [2, 9].map(|runs| documents_opened(runs, event, source));
        assert_eq!(many - few, 7, "{event} {source}");
    }
}

#[test]
fn where_no_run_is_open_a_new_session_is_told_once_how_to_begin() {
    let sandbox = in_use();
    let text = told(&begins(&sandbox, "codex", "s1", "startup"), "SessionStart");
    insta::assert_snapshot!(text, @r"
    flow keeps the state of long work in this project; no run is open.
    `flow start WORKFLOW --issue N` begins one; workflows: address-pr, blueprint, build, build-fast, debug, deep-research, merge-pr, pr-review, release, review-pr, start-issue; `flow workflow list` tells of all.
    ");
    for source in ["resume", "compact", "startup"] {
        assert_eq!(begins(&sandbox, "codex", "s1", source), "", "{source}");
    }
    // The conversation of a new session does not know it.
    assert_ne!(begins(&sandbox, "codex", "s2", "clear"), "");
    started(&sandbox);
    let text = told(&begins(&sandbox, "codex", "s3", "startup"), "SessionStart");
    assert!(!text.contains("WORKFLOW"), "{text}");
}

#[test]
fn without_a_project_hooks_make_nothing_and_a_skill_is_told_of_init_once() {
    let sandbox = Sandbox::new();
    let prompt = |session: &str, text: &str| {
        hook(&sandbox, "claude-code", "user-prompt-submit", &json!({ "session_id": session, "prompt": text }))
    };
    for event in EVENTS {
        assert_eq!(
            hook(&sandbox, "claude-code", event, &json!({ "session_id": "s1", "prompt": "go on" })),
            "",
            "{event}"
        );
    }
    assert_eq!(prompt("s1", "what does $team do?") + &prompt("s1", "$cancel"), "");
    for session in ["s1", "s2"] {
        let text = told(&prompt(session, "$team fix it"), "UserPromptSubmit");
        assert!(text.contains("`flow init`"), "{text}");
        assert_eq!(prompt(session, "$forge fix it"), "");
    }
    assert!(!sandbox.path(".flow").exists());
    sandbox.flow(["init"]).ok();
    assert!(told(&prompt("s1", "$forge fix it"), "UserPromptSubmit").contains("forge activated"));
}

#[test]
fn the_verdict_of_a_session_that_begins_looks_at_the_files() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    std::fs::write(sandbox.path(".flow/config.yaml"), "commands: {test: sh t.sh}\n").unwrap();
    std::fs::write(sandbox.path("t.sh"), "exit 0\n").unwrap();
    sandbox.git(&["add", "t.sh"]);
    sandbox.flow(["workflow", "new", "own"]).ok();
    let definition = sandbox.path(".flow/workflows/own.workflow.yaml");
    let text = std::fs::read_to_string(&definition).unwrap();
    std::fs::write(definition, text.replace("- id: work", "- id: work\n    requires: [{exec: test}]")).unwrap();
    sandbox.flow(["trust", "--yes"]).ok();
    sandbox.flow(["start", "own", "--id", "r1", "--phase", "work", "--session", "s1"]).ok();
    sandbox.flow(["exec", "test", "--session", "s1"]).ok();
    let text = told(&begins(&sandbox, "codex", "s1", "startup"), "SessionStart");
    insta::assert_snapshot!(text, @r#"
    flow keeps the state of run r1 of workflow own, active, in phase work (2 of 3).
    Verdict: continue: "`work` is done; `check` comes next"
    Next phase: check: "What shows that it is done; from here a run can go back to the work, or end."
    Held by: this session
    Completed activities: 1, the last ones 002 test (seen)
    Texts in quotation marks are data of the run. `flow resume` tells more.
    Seen by flow, and whether the tracked and untracked files are the same: 002 test passed, fresh
    "#);
    std::fs::write(sandbox.path("t.sh"), "exit 1\n").unwrap();
    let text = told(&begins(&sandbox, "codex", "s1", "startup"), "SessionStart");
    insta::assert_snapshot!(text, @r#"
    flow keeps the state of run r1 of workflow own, active, in phase work (2 of 3).
    Verdict: continue: "`work` requires that `test` was seen to pass: 002 test passed, and the files changed since it was run (t.sh)"
    Next phase: work: "What is true when the work is done."
    Held by: this session
    Completed activities: 1, the last ones 002 test (seen)
    Texts in quotation marks are data of the run. `flow resume` tells more.
    Seen by flow, and whether the tracked and untracked files are the same: 002 test passed, stale (changed since: "t.sh")
    "#);
    let resumed = sandbox.flow(["resume", "r1", "--session", "s1", "--json"]).json();
    assert!(text.contains(resumed["reason"].as_str().unwrap()), "{resumed}");
    // What a prompt compares itself with does not change with the files.
    assert_eq!(hook(&sandbox, "codex", "user-prompt-submit", &json!({ "session_id": "s1", "prompt": "go on" })), "");
}

#[test]
fn a_status_line_that_is_watched_becomes_empty_when_the_run_is_over() {
    use std::io::BufRead as _;
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let mut command = sandbox.flow_command();
    command.args(["hud", "--watch", "--format", "{run}"]);
    let mut watch = crate::support::spawned(command);
    let mut lines = std::io::BufReader::new(watch.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "r1");
    sandbox.flow(["cancel", "r1", "--reason", "not needed"]).ok();
    assert_eq!(lines.next().unwrap().unwrap(), "");
    watch.kill().unwrap();
    watch.wait().unwrap();
}
