//! What `flow session-end` is told, by whom, and which runs it marks.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Answer, HeldLock, Person, Sandbox, answered, can_inject, has_terminals, injected, run, spawned};

/// A project with a run that nobody holds and one that the session `s1` holds.
fn two_runs() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "free"]).ok();
    sandbox.flow(["start", "debug", "--id", "held", "--session", "s1"]).ok();
    sandbox
}

fn marked(sandbox: &Sandbox) -> Vec<&'static str> {
    let is_marked = |run: &&str| sandbox.read(run, "run.yaml").contains("blocked_reason: session ended");
    ["free", "held"].into_iter().filter(is_marked).collect()
}

fn session_end(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.flow_command();
    command.arg("session-end").args(args);
    command
}

fn notice(run: &str) -> String {
    format!("Active FlowRun {run} persisted; use /flow:resume to continue\n")
}

#[test]
fn a_session_that_ended_is_not_said_to_have_lost_its_process() {
    let sandbox = Sandbox::new();
    sandbox.flow(["mode", "request", "blueprint", "--session", "s1"]).ok();
    sandbox.flow(["session-end", "--session", "s1"]).ok();
    assert_eq!(sandbox.flow(["sessions"]).ok().stdout, "s1  it ended\n  mode  blueprint  active  planning\n");
    assert_eq!(sandbox.flow(["sessions", "--json"]).ok().json()["sessions"][0]["life"], "ended");
}

#[test]
fn what_to_do_is_said_once_for_all_runs_of_a_session() {
    let sandbox = two_runs();
    sandbox.flow(["start", "debug", "--id", "also", "--session", "s1"]).ok();
    let told = sandbox.flow(["session-end", "--session", "s1"]).ok().stdout;
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(
        lines[0].ends_with(" persisted") && lines[1].ends_with(" persisted; use /flow:resume to continue"),
        "{told}"
    );
}

#[test]
fn an_input_that_is_no_payload_marks_nothing_and_says_so() {
    let sandbox = two_runs();
    for garbage in
        ["garbage{", "[]", "null", "\"s1\"", r#"{"session_id":"s1""#, r#"{"session_id":"a/b"}"#, r#"{"session_id":3}"#]
    {
        for args in [&[][..], &["--unowned"], &["--session", "s1"]] {
            let answer = run(session_end(&sandbox, args), garbage).ok();
            assert_eq!(answer.stdout, "", "{garbage} {args:?}");
            let told = "warning: standard input does not say which session ended, so nothing is marked: it";
            assert!(answer.stderr.starts_with(told), "{garbage} {args:?}: {answer:?}");
            assert_eq!(marked(&sandbox), [""; 0], "{garbage} {args:?}");
        }
    }
}

#[test]
fn a_payload_marks_the_runs_of_its_session_and_one_without_a_session_nothing() {
    for (payload, ends) in [
        ("{\"session_id\":\"s1\"}", &["held"][..]),
        ("\u{feff}{\"session_id\":\"s1\"}", &["held"]),
        ("{\"reason\":\"other\"}", &[]),
        ("{\"session_id\":null}", &[]),
        ("{\"session_id\":\"\"}", &[]),
    ] {
        let sandbox = two_runs();
        let answer = run(session_end(&sandbox, &[]), payload).ok();
        assert_eq!(answer.stdout, ends.iter().map(|run| notice(run)).collect::<String>(), "{payload}");
        assert_eq!(answer.stderr.is_empty(), !ends.is_empty(), "{answer:?}");
        assert_eq!(marked(&sandbox), ends, "{payload}");
    }
}

/// Writes these pieces on standard input, each after a pause, and leaves the pipe open until flow has answered.
fn in_pieces(mut command: Command, pieces: &[(&str, u64)]) -> Answer {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut flow = command.spawn().unwrap();
    let mut stdin = flow.stdin.take().unwrap();
    for (piece, pause) in pieces {
        std::thread::sleep(Duration::from_millis(*pause));
        // It may have ended.
        let _ = stdin.write_all(piece.as_bytes());
    }
    let answer = answered(flow);
    drop(stdin);
    answer
}

#[test]
fn a_payload_is_whole_with_its_last_brace_and_comes_in_pieces() {
    let payload = r#"{"session_id":"s1","reason":"exit"}"#;
    for pieces in [
        &[(payload, 0)][..],
        &[("\u{feff}", 20), (payload, 20)],
        &[(&payload[..7], 100), (&payload[7..20], 100), (&payload[20..], 0)],
        &[("\n ", 0), (payload, 0), ("\n{}", 0)],
    ] {
        let sandbox = two_runs();
        let answer = in_pieces(session_end(&sandbox, &[]), pieces).ok();
        assert_eq!((answer.stdout, answer.stderr.as_str()), (notice("held"), ""), "{pieces:?}");
        assert_eq!(marked(&sandbox), ["held"], "{pieces:?}");
    }
}

#[test]
fn where_no_whole_payload_comes_in_time_the_variable_of_the_host_decides() {
    for pieces in [&[][..], &[("{\"session_id\"", 0)], &[("{\"session_id\"", 400), (":\"s1\"}", 2000)]] {
        let sandbox = two_runs();
        let answer = in_pieces(session_end(&sandbox, &[]), pieces).ok();
        assert_eq!(answer.stdout, "", "{pieces:?}");
        assert_eq!(marked(&sandbox), [""; 0], "{pieces:?}");
        for verb in [&["session-end"][..], &["hook", "claude-code", "session-end"]] {
            let sandbox = two_runs();
            let mut command = sandbox.flow_command();
            command.args(verb).env("CLAUDE_CODE_SESSION_ID", "s1");
            in_pieces(command, pieces).ok();
            assert_eq!(marked(&sandbox), ["held"], "{verb:?} {pieces:?}");
        }
    }
}

#[test]
fn an_empty_pipe_ends_a_session_that_is_known_otherwise_and_no_other_run() {
    for empty in ["", "\n"] {
        let sandbox = two_runs();
        let answer = run(session_end(&sandbox, &[]), empty).ok();
        let told = "warning: it is not known which session ended, so nothing is marked; --unowned marks the runs \
                    without a holder\n";
        assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("", told));
        assert_eq!(marked(&sandbox), [""; 0]);
        let ends = |command: Command, run_id: &str| {
            assert_eq!(run(command, empty).ok().stdout, notice(run_id));
        };
        ends(session_end(&sandbox, &["--unowned"]), "free");
        ends(session_end(&sandbox, &["--session", "s1"]), "held");
        // So do the variables, flow's own and those of hosts.
        for variable in ["FLOW_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID"] {
            let sandbox = two_runs();
            let mut command = session_end(&sandbox, &["--unowned"]);
            command.env(variable, "s1");
            ends(command, "held");
            assert_eq!(marked(&sandbox), ["held"], "{variable}");
        }
    }
}

#[test]
fn where_no_host_writes_the_runs_that_nobody_holds_are_meant() {
    let sandbox = two_runs();
    assert_eq!(answered(spawned(session_end(&sandbox, &[]))).ok().stdout, notice("free"));
    assert_eq!(marked(&sandbox), ["free"]);
    if !has_terminals("where_no_host_writes_the_runs_that_nobody_holds_are_meant") {
        return;
    }
    let sandbox = two_runs();
    let mut person = Person::before(&session_end(&sandbox, &[]));
    assert_eq!(person.ended().code(), Some(0));
    assert!(person.seen().contains("Active FlowRun free persisted"), "{}", person.seen());
    assert_eq!(marked(&sandbox), ["free"]);
}

/// Runs a script of a shell in which `flow` is found.
fn script(sandbox: &Sandbox, text: &str, args: &[&str], stdin: Option<&str>) -> Answer {
    std::fs::write(sandbox.path("session-end-state.sh"), text).unwrap();
    let flow = Path::new(env!("CARGO_BIN_EXE_flow")).parent().unwrap().to_str().unwrap().to_owned();
    let path = std::env::var("PATH").unwrap();
    let mut command = sandbox.command("sh");
    command.arg("session-end-state.sh").args(args).env("PATH", format!("{flow}:{path}"));
    match stdin {
        Some(stdin) => run(command, stdin),
        None => {
            command.stdin(Stdio::null());
            answered(spawned(command))
        }
    }
}

const PAYLOAD: &str = r#"{"session_id":"s1","hook_event_name":"SessionEnd","reason":"exit"}"#;

#[test]
fn the_hook_of_flowrun_persists_its_session() {
    // FlowRun: append an event, set `blocked_reason`, print one line.
    let sandbox = two_runs();
    let answer = script(&sandbox, "#!/bin/sh\nexec flow session-end\n", &[], Some(PAYLOAD)).ok();
    assert_eq!((answer.stdout, answer.stderr.as_str()), (notice("held"), ""));
    let last = sandbox.events("held").pop().unwrap();
    assert_eq!((&last["type"], &last["reason"]), (&"session_end".into(), &"exit".into()));
    assert_eq!(marked(&sandbox), ["held"]);
    sandbox.assert_sound("held");
}

/// The scripts in the section of the documentation about scripts.
fn documented() -> Vec<String> {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/hosts.md")).unwrap();
    let (_, section) = page.split_once("## A script of your own").unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks.map(|block| block.split_once("```").unwrap().0.to_owned()).collect()
}

#[test]
fn the_documented_scripts_end_the_sessions_that_they_name() {
    let [of_host, of_terminal] = <[String; 2]>::try_from(documented()).unwrap();
    let sandbox = two_runs();
    assert_eq!(script(&sandbox, &of_host, &[], Some(PAYLOAD)).ok().stdout, notice("held"));
    assert_eq!(marked(&sandbox), ["held"]);
    // A host that writes nothing ends nothing, and the script does not fail.
    let sandbox = two_runs();
    assert_eq!(script(&sandbox, &of_host, &[], Some("")).ok().stdout, "");
    assert_eq!(marked(&sandbox), [""; 0]);
    // The shell holds a run until it ends.
    let sandbox = two_runs();
    let answer = script(&sandbox, &format!("set -e\n{of_terminal}"), &[], None).ok();
    assert!(answer.stdout.ends_with(&notice("free")), "{answer:?}");
    assert_eq!(marked(&sandbox), ["free"]);
    let types = |event: &serde_json::Value| event["type"].as_str().unwrap().to_owned();
    let events: Vec<_> = sandbox.events("free").iter().map(types).collect();
    assert_eq!(events, ["run_started", "run_claimed", "session_end"]);
}

#[test]
fn a_session_with_many_runs_ends_in_time_and_says_which_of_them_it_left() {
    if !can_inject("a_session_with_many_runs_ends_in_time_and_says_which_of_them_it_left") {
        return;
    }
    let sandbox = Sandbox::new();
    let runs: Vec<_> = (10..22).map(|n| format!("r{n}")).collect();
    for run in &runs {
        sandbox.flow(["start", "debug", "--id", run, "--another", "--session", "s1"]).ok();
    }
    // Each mark waits for its flush; all of them would take twice the time that a host gives.
    let answer = injected(&sandbox, "fdatasync:delay_enter=100000", &["session-end", "--session", "s1"]).ok();
    let mut left = 0;
    for run in &runs {
        let is_marked = sandbox.read(run, "run.yaml").contains("blocked_reason: session ended");
        let is_left = answer.stderr.contains(&format!("warning: run {run}: no time was left to mark it; "));
        assert_eq!(
            (answer.stdout.contains(&format!("Active FlowRun {run} persisted")), is_left),
            (is_marked, !is_marked),
            "{run}: {answer:?}"
        );
        left += usize::from(is_left);
    }
    assert!(left > 0, "{answer:?}");
}

#[test]
fn a_host_that_keeps_its_pipe_open_and_writes_nothing_is_not_waited_for() {
    let sandbox = two_runs();
    let mut command = session_end(&sandbox, &["--unowned"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pipe = child.stdin.take();
    let until = Instant::now() + Duration::from_secs(30);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("it waits");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(pipe);
    assert_eq!(marked(&sandbox), ["free"]);
}

/// What flow knows of a session's modes: whether they count as those of a session that is over, and whether their files say so.
fn over(sandbox: &Sandbox, session: &str) -> (bool, bool) {
    let list = sandbox.inside(["mode", "list", "--all", "--json"]).ok().json();
    let scope = format!("session {session}");
    let own: Vec<_> = list["modes"].as_array().unwrap().iter().filter(|mode| mode["scope"] == scope.as_str()).collect();
    assert!(!own.is_empty(), "{list}");
    let counts = own.iter().all(|mode| mode["session_over"] == true);
    let is_said = |mode: &&serde_json::Value| {
        let file = format!(".flow/state/sessions/{session}/{}-state.json", mode["mode"].as_str().unwrap());
        std::fs::read_to_string(sandbox.path(&file)).unwrap().contains("session_ended_at")
    };
    (counts, own.iter().all(is_said))
}

/// Ends the session while another writer has the modes.
fn ends_beside_a_writer(sandbox: &Sandbox) {
    sandbox.flow(["mode", "request", "forge", "--session", "s1"]).ok();
    let _lock = HeldLock::take(sandbox.path(".flow/state/.lock"));
    assert_eq!(sandbox.flow(["session-end", "--session", "s1"]).ok().stderr, "");
}

#[test]
fn an_end_counts_while_another_writer_has_the_modes_and_the_next_one_writes_it() {
    let sandbox = two_runs();
    ends_beside_a_writer(&sandbox);
    assert_eq!(over(&sandbox, "s1"), (true, false));
    assert_eq!(marked(&sandbox), ["held"]);
    sandbox.flow(["mode", "request", "blueprint", "--session", "s2"]).ok();
    assert_eq!(over(&sandbox, "s1"), (true, true));
    let left = std::fs::read_dir(sandbox.path(".flow/.cache/hosts")).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn a_session_at_work_again_has_its_modes_back_although_its_end_was_not_written_yet() {
    for again in [&["mode", "prompt"][..], &["mode", "request", "forge"]] {
        let sandbox = two_runs();
        ends_beside_a_writer(&sandbox);
        let args = again.iter().chain(&["--session", "s1"]);
        sandbox.flow_with(args, "go on").ok();
        sandbox.flow(["mode", "request", "blueprint", "--session", "s2"]).ok();
        assert_eq!(over(&sandbox, "s1"), (false, false), "{again:?}");
    }
}
