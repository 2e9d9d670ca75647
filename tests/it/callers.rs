//! Who calls: every known agent is an agent, whether its host names its session or not.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::support::{Answer, Sandbox, answered, run};

/// What the commands of an agent have in their environment, by host.
const SIGNS: &[(&str, &str)] = &[
    ("CLAUDE_CODE_SESSION_ID", "c2"),
    ("CODEX_SESSION_ID", "x1"),
    ("CODEX_THREAD_ID", "x1"),
    ("COPILOT_AGENT_SESSION_ID", "p1"),
    ("COPILOT_CLI", "1"),
    ("QWEN_CODE_SESSION_ID", "q1"),
    ("QWEN_CODE", "1"),
    ("AMP_CURRENT_THREAD_ID", "T-1"),
    ("GEMINI_CLI", "1"),
    ("OPENCODE", "1"),
    ("CURSOR_AGENT", "1"),
    ("AUGMENT_AGENT", "1"),
    ("ANTIGRAVITY_AGENT", "1"),
    ("PI_CODING_AGENT", "true"),
    ("CRUSH", "1"),
    ("AI_AGENT", "some"),
    ("AGENT", "amp"),
];

fn with(sandbox: &Sandbox, variables: &[(&str, &str)], args: &[&str]) -> Answer {
    let mut command = sandbox.flow_command();
    command.args(args).envs(variables.iter().copied());
    run(command, "")
}

/// A run that a living session holds.
fn held() -> Sandbox {
    let sandbox = Sandbox::new();
    let own = std::process::id().to_string();
    with(&sandbox, &[("CLAUDE_CODE_SESSION_ID", "c1"), ("FLOW_HOLDER_PID", &own)], &["start", "debug", "--id", "r1"])
        .ok();
    sandbox
}

#[test]
fn no_agent_of_any_host_writes_in_a_run_that_another_one_holds() {
    let sandbox = held();
    for sign in SIGNS {
        let refused = with(&sandbox, &[*sign], &["record-activity", "--id", "a", "--json"]).exits(5);
        let error = refused.error();
        assert_eq!(error["code"], "run_held", "{sign:?}");
        let message = format!("run r1: session c1 holds the run, and {} shows another agent", sign.0);
        assert_eq!(error["message"], message, "{sign:?}");
        for args in [&["block", "--reason", "x"][..], &["set", "--goal", "x"], &["resume", "--claim"]] {
            with(&sandbox, &[*sign], args).exits(5);
        }
        assert_eq!(with(&sandbox, &[*sign], &["resume", "--json"]).json()["verdict"], "held", "{sign:?}");
    }
    // Neither a setting that people export nor an editor's terminal makes an agent.
    for nobody in [("COPILOT_MODEL", "x"), ("COPILOT_ALLOW_ALL", "1"), ("TERM_PROGRAM", "vscode"), ("REPL_ID", "x")] {
        with(&sandbox, &[nobody], &["set", "--goal", nobody.0]).ok();
    }
}

#[test]
fn a_session_that_its_host_names_is_its_session_and_flows_own_variable_comes_first() {
    for (variable, id) in SIGNS.iter().filter(|(variable, _)| variable.ends_with("_ID")) {
        let sandbox = Sandbox::new();
        let session = |more: &[(&str, &str)], run: &str| {
            with(&sandbox, &[&[(*variable, *id)], more].concat(), &["start", "debug", "--id", run, "--another"]).ok();
            sandbox.flow(["show", run, "--json"]).ok().json()["state"]["session"].clone()
        };
        assert_eq!(session(&[], "r1"), **id, "{variable}");
        assert_eq!(session(&[("FLOW_SESSION", "mine")], "r2"), "mine", "{variable}");
    }
}

/// A program `name`, which runs flow with the arguments in each line that it reads.
fn host(sandbox: &Sandbox, name: &str) -> Command {
    let program = sandbox.path(name);
    std::fs::write(&program, "#!/bin/sh\nwhile read -r line; do sh -c \"$line\"; done\n").unwrap();
    sandbox.command("chmod").args(["+x", name]).status().unwrap();
    let flow = sandbox.flow_command();
    let mut command = sandbox.command(program.to_str().unwrap());
    command.env("FLOW", flow.get_program());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Lets a living host run this, and waits until it has.
fn tell(host: &mut Child, sandbox: &Sandbox, line: &str) -> String {
    let done = sandbox.path("done");
    let text = format!("{line} > said 2>&1; echo $? >> said; mv said done\n");
    host.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !done.exists() {
        assert!(std::time::Instant::now() < deadline, "{line}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let said = std::fs::read_to_string(&done).unwrap();
    std::fs::remove_file(done).unwrap();
    said
}

#[test]
fn an_agent_whose_host_names_no_session_is_known_by_the_process_of_its_host() {
    let sandbox = Sandbox::new();
    let mut one = host(&sandbox, "gemini").env("GEMINI_CLI", "1").spawn().unwrap();
    tell(&mut one, &sandbox, "$FLOW start debug --id r1");
    let session = sandbox.flow(["show", "r1", "--json"]).ok().json()["state"]["session"].clone();
    assert!(session.as_str().unwrap().starts_with(&format!("gemini-{}-", one.id())), "{session}");
    // Each of its commands is its own, also behind other programs.
    assert!(tell(&mut one, &sandbox, "timeout 60 env X=1 $FLOW record-activity --id a").ends_with("\n0\n"));
    // Another one of the same host is another session, and a third host as well.
    with(&sandbox, &[("GEMINI_CLI", "1")], &["record-activity", "--id", "b"]).exits(5);
    with(&sandbox, &[("OPENCODE", "1")], &["record-activity", "--id", "b"]).exits(5);
    sandbox.flow(["record-activity", "--id", "by-a-person"]).ok();
    // The end of its process ends what it holds.
    drop(one.stdin.take());
    answered(one);
    with(&sandbox, &[("GEMINI_CLI", "1")], &["record-activity", "--id", "b"]).ok();
    let log = sandbox.flow(["log", "r1", "--json"]).ok().json();
    let types: Vec<_> = log["events"].as_array().unwrap().iter().map(|event| event["type"].clone()).collect();
    let expected = ["run_started", "activity_recorded", "activity_recorded", "run_claimed", "activity_recorded"]
        .map(|one| json!(one));
    assert_eq!(types, expected);
}
