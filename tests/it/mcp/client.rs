//! A small client: it writes lines, and reads lines.

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, run};

/// The version of the protocol that begins with `initialize`.
pub const OLD: &str = "2025-06-18";
/// The version in which each request says who asks.
pub const NEW: &str = "2026-07-28";

/// A request.
pub fn request(id: u32, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The request that begins a conversation in the old version.
pub fn initialize(id: u32) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    request(id, "initialize", json!({ "protocolVersion": OLD, "capabilities": {}, "clientInfo": client }))
}

/// What each request of the new version says about the client.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A call of a tool.
pub fn call(tool: &str, arguments: Value) -> Value {
    request(7, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// A call in which Codex names its session.
pub fn call_of_codex(session: &Value, tool: &str, arguments: Value) -> Value {
    let meta = json!({ "x-codex-turn-metadata": { "session_id": session } });
    request(7, "tools/call", json!({ "name": tool, "arguments": arguments, "_meta": meta }))
}

/// A server: the sandbox in which it runs, its arguments, and its environment.
pub struct Client<'a> {
    pub sandbox: &'a Sandbox,
    pub args: &'a [&'a str],
    pub variables: &'a [(&'a str, &'a str)],
}

impl<'a> Client<'a> {
    pub fn of(sandbox: &'a Sandbox) -> Self {
        Self { sandbox, args: &[], variables: &[] }
    }

    /// Lets a server answer this input, to its end.
    pub fn served(&self, input: &str) -> Answer {
        let mut command = self.sandbox.flow_command();
        command.arg("mcp").args(self.args).envs(self.variables.iter().copied());
        run(command, input)
    }

    /// What the server answers to these lines.
    #[track_caller]
    pub fn lines(&self, lines: &[String]) -> Vec<Value> {
        let answer = self.served(&lines.join("\n")).ok();
        assert_eq!(answer.stderr, "");
        answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The answers to these requests, each of which gets one.
    #[track_caller]
    pub fn ask(&self, requests: &[Value]) -> Vec<Value> {
        let answers = self.lines(&requests.iter().map(Value::to_string).collect::<Vec<_>>());
        assert_eq!(answers.len(), requests.len(), "{answers:#?}");
        for (request, answer) in requests.iter().zip(&answers) {
            assert_eq!((&answer["id"], &answer["jsonrpc"]), (&request["id"], &json!("2.0")));
        }
        answers
    }

    /// The result of one request.
    #[track_caller]
    pub fn result(&self, method: &str, params: Value) -> Value {
        let [answer] = self.ask(&[request(1, method, params)]).try_into().unwrap();
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// What a call answers: its structured content, which its text repeats.
    #[track_caller]
    pub fn answers(&self, calls: &[Value]) -> Vec<Value> {
        self.ask(calls).iter().map(content).collect()
    }

    /// The answer to one call.
    #[track_caller]
    pub fn answer(&self, tool: &str, arguments: Value) -> Value {
        let [answer] = self.answers(&[call(tool, arguments)]).try_into().unwrap();
        answer
    }

    /// The field `data` of the answer to one call.
    #[track_caller]
    pub fn data(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.answer(tool, arguments);
        assert!(answer["data"].is_object(), "{answer}");
        answer["data"].clone()
    }

    /// The error of one call.
    #[track_caller]
    pub fn error(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.answer(tool, arguments);
        assert!(answer["error"].is_object(), "{answer}");
        answer["error"].clone()
    }
}

#[track_caller]
fn content(answer: &Value) -> Value {
    let result = &answer["result"];
    let structured = &result["structuredContent"];
    assert_eq!(result["isError"], structured["error"].is_object(), "{answer}");
    assert_eq!(result["content"][0]["type"], "text");
    assert_eq!(result["content"][0]["text"], structured.to_string());
    structured.clone()
}
