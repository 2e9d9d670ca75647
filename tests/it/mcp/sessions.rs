//! Whose call it is.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::mcp::client::{Client, call, call_of_codex};
use crate::support::{HeldLock, Sandbox, run};

/// The session that holds a run which this call starts.
fn holder(variables: &[(&str, &str)], call: &Value) -> Value {
    let sandbox = Sandbox::new();
    let client = Client { variables, ..Client::of(&sandbox) };
    let [answer] = client.answers(std::slice::from_ref(call)).try_into().unwrap();
    answer["data"]["session"].clone()
}

#[test]
fn the_argument_goes_before_the_hosts_metadata_and_that_before_the_environment() {
    let start = |session: Value| json!({ "workflow": "debug", "session": session });
    let codex = json!("codex-1");
    let env = [("CLAUDE_CODE_SESSION_ID", "claude-1")];
    for (variables, call, session) in [
        (&env[..], call_of_codex(&codex, "flow_start", start(json!("own"))), json!("own")),
        (&env, call_of_codex(&codex, "flow_start", start(Value::Null)), codex.clone()),
        (&[("FLOW_SESSION", "flow-1")], call_of_codex(&codex, "flow_start", start(Value::Null)), codex.clone()),
        (&env, call("flow_start", start(Value::Null)), json!("claude-1")),
        (&[], call("flow_start", start(Value::Null)), Value::Null),
        // What is not a session is no session.
        (&env, call_of_codex(&json!("../s"), "flow_start", start(Value::Null)), json!("claude-1")),
        (&env, call_of_codex(&json!(3), "flow_start", start(Value::Null)), json!("claude-1")),
    ] {
        assert_eq!(holder(variables, &call), session, "{call}");
    }
}

/// The environment of a server is that of the session in which its host started it.
#[test]
fn after_a_clear_a_call_is_about_the_new_session_of_the_host() {
    let start = call("flow_start", json!({ "workflow": "debug" }));
    for (host, variable, session) in [
        ("claude-code", "CLAUDE_CODE_SESSION_ID", "new"),
        ("claude-code", "FLOW_SESSION", "old"),
        ("codex", "CLAUDE_CODE_SESSION_ID", "old"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.flow(["init"]).ok();
        for (id, source) in [("old", "startup"), ("new", "clear")] {
            let payload = json!({ "session_id": id, "source": source }).to_string();
            sandbox.flow_with(["hook", host, "session-start"], &payload).ok();
        }
        let client = Client { variables: &[(variable, "old")], ..Client::of(&sandbox) };
        let [answer] = client.answers(std::slice::from_ref(&start)).try_into().unwrap();
        assert_eq!(answer["data"]["session"], session, "{host} {variable}");
    }
}

#[test]
fn a_server_belongs_to_the_nearest_host_of_several() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let start = call("flow_start", json!({ "workflow": "debug", "run_id": "r1" }));
    std::fs::write(sandbox.path("call"), format!("{start}\n")).unwrap();
    for id in ["inner", "outer"] {
        let payload = json!({ "session_id": id, "source": "startup" });
        std::fs::write(sandbox.path(id), payload.to_string()).unwrap();
    }
    // The shell stands for the inner host, and this process for the outer one, which was at work last.
    let script = format!(
        "FLOW_HOLDER_PID=$$ flow hook claude-code session-start <inner\n\
         FLOW_HOLDER_PID={} flow hook claude-code session-start <outer\nflow mcp <call\ntrue\n",
        std::process::id()
    );
    let mut shell = sandbox.command("sh");
    let bin = Path::new(env!("CARGO_BIN_EXE_flow")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    shell.args(["-c", &script]).current_dir(sandbox.root()).env("PATH", format!("{}:{path}", bin.display()));
    run(shell, "").ok();
    let holder = sandbox.flow(["show", "r1", "--json"]).ok().json()["state"]["session"].clone();
    assert_eq!(holder, "inner");
}

#[test]
fn one_server_serves_several_sessions() {
    let sandbox = Sandbox::new();
    let client = Client::of(&sandbox);
    let [one, two] = ["s1", "s2"].map(Value::from);
    let answers = client.answers(&[
        call_of_codex(&one, "flow_start", json!({ "workflow": "debug", "run_id": "r1" })),
        call_of_codex(&two, "flow_start", json!({ "workflow": "debug", "run_id": "r2" })),
        call_of_codex(&one, "flow_record", json!({ "id": "a" })),
        call_of_codex(&two, "flow_record", json!({ "id": "b" })),
        call_of_codex(&two, "flow_record", json!({ "id": "c", "run_id": "r1" })),
        call_of_codex(&one, "flow_resume", json!({})),
        call_of_codex(&two, "flow_resume", json!({ "run_id": "r1" })),
        call_of_codex(&one, "state_write", json!({ "mode": "forge" })),
        call_of_codex(&two, "state_list_active", json!({})),
    ]);
    assert_eq!((&answers[2]["data"]["run_id"], &answers[3]["data"]["run_id"]), (&json!("r1"), &json!("r2")));
    assert_eq!(answers[4]["error"]["code"], "run_held");
    assert_eq!((&answers[5]["data"]["run_id"], &answers[5]["data"]["verdict"]), (&json!("r1"), &json!("continue")));
    assert_eq!(answers[6]["data"]["verdict"], "held");
    assert_eq!(answers[7]["success"], true);
    assert_eq!(answers[8]["active_modes"], json!([]));
}

#[test]
fn an_epoch_that_has_passed_is_refused() {
    let sandbox = Sandbox::new();
    let client = Client::of(&sandbox);
    let answers = client.answers(&[
        call("flow_start", json!({ "workflow": "debug", "run_id": "r1", "session": "s1" })),
        call("flow_record", json!({ "id": "a", "session": "s1", "epoch": 1 })),
        call("flow_resume", json!({ "claim": "take_over", "session": "s2" })),
        call("flow_record", json!({ "id": "b", "session": "s1", "epoch": 1 })),
        call("flow_record", json!({ "id": "c", "session": "s2", "epoch": 1 })),
        call("flow_record", json!({ "id": "d", "session": "s2", "epoch": 2 })),
    ]);
    assert_eq!(answers[1]["data"]["activity"], "a");
    assert_eq!(answers[2]["data"]["claim"], json!({ "session": "s2", "epoch": 2, "changed": true }));
    assert!(answers[3]["error"].is_object(), "{}", answers[3]);
    assert_eq!(answers[4]["error"]["code"], "stale_epoch");
    assert_eq!(answers[5]["data"]["activity"], "d");
}

#[test]
fn a_call_waits_for_another_writer_as_a_command_does() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["record-activity", "--id", "look"]).ok();
    let lock = HeldLock::take(sandbox.run_dir("r1").join(".lock"));
    let client = Client { args: &["--lock-timeout", "0.05"], ..Client::of(&sandbox) };
    let printed = sandbox.flow(["record-activity", "--id", "a", "--lock-timeout", "0.05", "--json"]).error();
    let answers = client.answers(&[call("flow_record", json!({ "id": "a" })), call("flow_show", json!({}))]);
    assert_eq!((&answers[0]["error"]["code"], &printed["code"]), (&json!("lock_timeout"), &json!("lock_timeout")));
    assert_eq!(answers[1]["data"]["metadata"]["id"], "r1");
    drop(lock);
    assert_eq!(client.data("flow_record", json!({ "id": "a" }))["activity"], "a");
}

#[test]
fn a_signal_ends_the_server_and_what_was_answered_stays() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.flow_command();
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let start = call("flow_start", json!({ "workflow": "debug", "run_id": "r1" }));
    writeln!(stdin, "{start}").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    assert!(answer.contains("r1"), "{answer}");
    sandbox.flow(["verify", "r1"]).ok();
}
