//! `docs/mcp.md` against the server.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::mcp::client::{Client, initialize};
use crate::support::{Sandbox, run};

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mcp.md")).unwrap()
}

/// The JSON blocks of the page.
fn blocks() -> Vec<Value> {
    let page = page();
    let blocks = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(|block| serde_json::from_str(block).unwrap()).collect()
}

/// The first cells of the rows of the table with this head, and the last ones.
fn table(head: &str) -> Vec<(String, String)> {
    let page = page();
    let at = page.find(&format!("\n| {head} |")).unwrap();
    let rows = page[at + 1..].lines().take_while(|line| line.starts_with('|')).skip(2);
    let cell = |cell: Option<&str>| cell.unwrap().trim().trim_matches('`').to_owned();
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|');
        (cell(cells.next()), cell(cells.next_back()))
    })
    .collect()
}

#[test]
fn its_settings_start_a_server() {
    let sandbox = Sandbox::new();
    let server = &blocks()[0]["mcpServers"]["flow"];
    assert_eq!(server["command"], "flow");
    let mut command: Command = sandbox.flow_command();
    command.args(server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()));
    let answer = run(command, &initialize(1).to_string()).ok();
    assert_eq!(answer.json()["result"]["serverInfo"]["name"], "flow");
    assert!(page().contains("    [mcp_servers.flow]\n    command = \"flow\"\n    args = [\"mcp\"]\n"));
}

#[test]
fn its_calls_get_its_answers() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let blocks = blocks();
    assert_eq!(blocks.len(), 5);
    for pair in blocks[1..].chunks(2) {
        let [call, answer] = pair else { panic!("a call without an answer") };
        let given = Client::of(&sandbox).answer(call["name"].as_str().unwrap(), call["arguments"].clone());
        assert_eq!(given, *answer);
    }
}

#[test]
fn its_tables_name_what_there_is() {
    let sandbox = Sandbox::new();
    let client = Client::of(&sandbox);
    let tools = client.result("tools/list", json!({}));
    let tools = tools["tools"].as_array().unwrap().iter().map(|tool| {
        let reads = tool["annotations"]["readOnlyHint"] == true;
        let claims = !tool["inputSchema"]["properties"]["claim"].is_null();
        let reads = if claims {
            "unless `claim` is offered"
        } else if reads {
            "yes"
        } else {
            "no"
        };
        (tool["name"].as_str().unwrap().to_owned(), reads.to_owned())
    });
    assert_eq!(table("tool"), tools.collect::<Vec<_>>());
    let names = |rows: Vec<(String, String)>| rows.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let prompts = client.result("prompts/list", json!({}));
    let prompts =
        prompts["prompts"].as_array().unwrap().iter().map(|prompt| prompt["name"].as_str().unwrap().to_owned());
    assert_eq!(names(table("prompt")), prompts.collect::<Vec<_>>());
    let templates = client.result("resources/templates/list", json!({}));
    let templates = templates["resourceTemplates"].as_array().unwrap().iter();
    let uris = templates.map(|template| template["uriTemplate"].as_str().unwrap().to_owned());
    assert_eq!(names(table("resource")), ["flow://runs".to_owned()].into_iter().chain(uris).collect::<Vec<_>>());
}
