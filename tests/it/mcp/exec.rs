//! The tool that runs commands of the project.

use std::fs;

use serde_json::{Value, json};

use crate::mcp::client::{Client, call, request};
use crate::support::Sandbox;

const CONFIG: &str = "commands:\n  test: \"sh -c 'echo out; echo err >&2; cat; exit 3'\"\n  slow: sleep 60\n  ok: 'true'\n  \
     input: readlink /proc/self/fd/0\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    fs::write(sandbox.path(".flow/config.yaml"), CONFIG).unwrap();
    sandbox
}

/// The tool as it is listed.
fn listed(client: &Client<'_>) -> Option<Value> {
    let listed = client.result("tools/list", json!({}));
    listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "flow_exec").cloned()
}

#[test]
fn only_commands_that_were_accepted_as_they_are_are_offered_and_run() {
    let sandbox = sandbox();
    let client = Client::of(&sandbox);
    assert_eq!(listed(&client), None);
    let refused = client.error("flow_exec", json!({ "name": "test" }));
    assert_eq!(refused["code"], "command_not_trusted");
    let help = refused["help"].as_str().unwrap();
    assert!(help.ends_with("a person reads it and accepts it with `flow trust`"), "{refused}");
    // It is not the agent's to do.
    assert!(!refused.to_string().contains("--yes") && refused["suggestions"].is_null(), "{refused}");
    sandbox.flow(["trust", "--yes"]).ok();
    let tool = listed(&client).unwrap();
    assert_eq!(tool["inputSchema"]["properties"]["name"], json!({ "enum": ["test", "slow", "ok", "input"] }));
    assert_eq!(tool["annotations"], json!({ "destructiveHint": true, "openWorldHint": true }));
    let ran = client.data("flow_exec", json!({ "name": "test", "id": "t" }));
    let told = ["status", "exit_code", "output", "evidence", "repeated"].map(|key| ran[key].clone());
    assert_eq!(told, [json!("failed"), json!(3), json!("out\nerr\n"), json!("002-t.log"), json!(false)]);
    assert_eq!(sandbox.read("r1", "evidence/002-t.log"), "out\nerr\n");
    let again = client.data("flow_exec", json!({ "name": "test", "id": "t" }));
    assert_eq!((&again["repeated"], &again["exit_code"]), (&json!(true), &json!(3)));
    // Another command under the name has to be accepted as well.
    fs::write(sandbox.path(".flow/config.yaml"), CONFIG.replace("exit 3", "exit 4")).unwrap();
    let tool = listed(&client).unwrap();
    assert_eq!(tool["inputSchema"]["properties"]["name"], json!({ "enum": ["slow", "ok", "input"] }));
    assert_eq!(client.error("flow_exec", json!({ "name": "test", "id": "u" }))["code"], "command_not_trusted");
    let unknown = client.error("flow_exec", json!({ "name": "tset" }));
    assert_eq!(unknown["help"], "`name` is one of slow, ok, input", "{unknown}");
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn no_call_runs_a_line_of_its_own() {
    let sandbox = sandbox();
    sandbox.flow(["trust", "--yes"]).ok();
    let client = Client::of(&sandbox);
    for arguments in [
        json!({ "argv": ["touch", "made"] }),
        json!({ "name": "ok", "argv": ["touch", "made"] }),
        json!({ "name": "ok", "command": "touch made" }),
        json!({ "name": ["touch", "made"] }),
        json!({}),
        json!({ "name": "ok", "timeout": 0 }),
        json!({ "name": "ok", "timeout": 100_000 }),
        json!({ "name": "ok", "inputs": ["../x"] }),
    ] {
        assert_eq!(client.error("flow_exec", arguments.clone())["code"], "usage", "{arguments}");
    }
    for name in ["touch made", "sh", "/bin/sh", "", "--", "ok made"] {
        assert_eq!(client.error("flow_exec", json!({ "name": name }))["code"], "command_not_found", "{name}");
    }
    assert!(!sandbox.path("made").exists());
    assert_eq!(sandbox.flow(["show", "r1", "--json"]).ok().json()["activities"], json!([]));
}

#[test]
fn a_command_that_is_too_slow_is_ended_and_the_server_goes_on() {
    let sandbox = sandbox();
    sandbox.flow(["trust", "--yes"]).ok();
    let calls = [
        call("flow_exec", json!({ "name": "slow", "id": "s", "timeout": 1 })),
        // What the command reads is not the next line of the client.
        call("flow_exec", json!({ "name": "input", "id": "t" })),
        call("flow_show", json!({ "run_id": "r1" })),
    ];
    let answers = Client::of(&sandbox).answers(&calls);
    assert_eq!(
        (&answers[0]["data"]["status"], &answers[0]["data"]["exec"]["end"]["timed_out"]),
        (&json!("failed"), &json!(true))
    );
    assert_eq!(answers[1]["data"]["output"], "/dev/null\n");
    assert_eq!(answers[2]["data"]["activities"].as_array().unwrap().len(), 4);
}

#[test]
fn a_server_of_the_core_or_that_only_reads_runs_nothing() {
    let sandbox = sandbox();
    sandbox.flow(["trust", "--yes"]).ok();
    for args in [&["--read-only"][..], &["--tools", "core"]] {
        let client = Client { args, ..Client::of(&sandbox) };
        assert_eq!(listed(&client), None);
        let answers =
            client.ask(&[request(1, "tools/call", json!({ "name": "flow_exec", "arguments": { "name": "ok" } }))]);
        assert_eq!(answers[0]["error"], json!({ "code": -32602, "message": "there is no tool flow_exec" }));
    }
}
