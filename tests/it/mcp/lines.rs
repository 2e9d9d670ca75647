//! No line ends the server or leaves a request without an answer.

use std::io::{Cursor, Write};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use flowrun::host::{Clock, Env, Git, Ids};
use flowrun::mcp::{Offer, serve};
use flowrun::model::limits::{MESSAGE_BYTES, MESSAGE_DEPTH};
use flowrun::runs::{Context, Options};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::mcp::client::{Client, initialize, meta, request};
use crate::support::Sandbox;

/// What is written here can be read when the writer is gone.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a server within this process answers to this input, in a directory without a project.
fn served(input: Vec<u8>) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { project: Some(dir.path().to_owned()), ..Options::default() };
    let clock = Clock::fixed("2026-05-20T14:30:00Z".parse().unwrap());
    let cx = Context::new(clock, Ids::seeded("mcp"), Env::default(), Git::default(), options);
    let written = Written::default();
    serve(&cx, Offer::default(), Cursor::new(input), written.clone()).unwrap();
    let written = written.0.lock().unwrap();
    let lines = written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// A line that is JSON but for its depth.
fn deep(levels: usize) -> Vec<u8> {
    let open = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"#;
    format!("{open}{}0{}}}", r#"{"a":"#.repeat(levels - 1), "}".repeat(levels - 1)).into_bytes()
}

/// A ping of this many bytes.
fn long(bytes: usize) -> Vec<u8> {
    let (start, end) = (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":""#, r#""}}"#);
    format!("{start}{}{end}", "x".repeat(bytes - start.len() - end.len())).into_bytes()
}

/// Lines that are no good requests: what they are, the id of the answer, and its code.
const HOSTILE: [(&str, &str, &str, i64); 27] = [
    ("cut off", r#"{"jsonrpc":"2.0","id":1"#, r#"null"#, -32700),
    ("two in one line", r#"{} {}"#, r#"null"#, -32700),
    ("a number", r#"3"#, r#"null"#, -32600),
    ("null", r#"null"#, r#"null"#, -32600),
    ("a list", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, r#"null"#, -32600),
    ("empty", r#"{}"#, r#"null"#, -32600),
    ("another version", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, r#"1"#, -32600),
    ("no version", r#"{"id":"a","method":"ping"}"#, r#""a""#, -32600),
    ("no method", r#"{"jsonrpc":"2.0","id":1}"#, r#"1"#, -32600),
    ("a method that is no text", r#"{"jsonrpc":"2.0","id":1,"method":{}}"#, r#"1"#, -32600),
    ("an id that is null", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, r#"null"#, -32600),
    ("an id that is a list", r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, r#"null"#, -32600),
    ("an id that is broken", r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, r#"1.5"#, -32600),
    ("an id that is huge", r#"{"jsonrpc":"2.0","id":1e300,"method":"ping"}"#, r#"1e300"#, -32600),
    ("an unknown method", r#"{"jsonrpc":"2.0","id":1,"method":"tools/destroy"}"#, r#"1"#, -32601),
    (
        "a notification that wants an answer",
        r#"{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}"#,
        r#"1"#,
        -32601,
    ),
    (
        "a level for logs",
        r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}"#,
        r#"1"#,
        -32601,
    ),
    (
        "a subscription",
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"flow://runs"}}"#,
        r#"1"#,
        -32601,
    ),
    ("parameters that are a number", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":3}"#, r#"1"#, -32602),
    ("no parameters", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, r#"1"#, -32602),
    (
        "a name that is a number",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#,
        r#"1"#,
        -32602,
    ),
    (
        "a list of arguments",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"flow_list","arguments":[]}}"#,
        r#"1"#,
        -32602,
    ),
    ("an unknown tool", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}"#, r#"1"#, -32602),
    (
        "metadata that is a text",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":"x"}}"#,
        r#"1"#,
        -32602,
    ),
    (
        "a number for an address",
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":1}}"#,
        r#"1"#,
        -32602,
    ),
    ("nobody asks", r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}"#, r#"1"#, -32602),
    (
        "metadata without the client",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        r#"1"#,
        -32602,
    ),
];

/// The same as bytes, and lines that are no text or at a limit; 0 stands for a result.
fn hostile() -> Vec<(&'static str, Vec<u8>, Value, i64)> {
    let mut lines = vec![
        ("as deep as allowed", deep(MESSAGE_DEPTH), json!(1), 0),
        ("too deep", deep(MESSAGE_DEPTH + 1), json!(null), -32700),
        ("far too deep", deep(100_000), json!(null), -32700),
        ("as long as allowed", long(MESSAGE_BYTES), json!(1), 0),
        ("too long", long(MESSAGE_BYTES + 1), json!(null), -32700),
        ("far too long", long(5 * MESSAGE_BYTES), json!(null), -32700),
        ("not UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec(), json!(null), -32700),
        ("a null byte", vec![0], json!(null), -32700),
        ("a byte order mark", "\u{feff}{}".as_bytes().to_vec(), json!(null), -32700),
    ];
    let texts = HOSTILE.iter();
    lines.extend(
        texts.map(|(what, line, id, code)| (*what, line.as_bytes().to_vec(), serde_json::from_str(id).unwrap(), *code)),
    );
    lines
}

#[test]
fn hostile_lines_get_errors_and_the_server_goes_on() {
    for (what, line, id, code) in hostile() {
        let ping = request(99, "ping", json!({})).to_string();
        let answers = served([line.as_slice(), b"\n", ping.as_bytes(), b"\n"].concat());
        let [answer, pong] = answers.as_slice() else { panic!("{what}: {answers:?}") };
        assert_eq!(answer["id"], id, "{what}");
        assert_eq!(answer["error"]["code"].as_i64().unwrap_or(0), code, "{what}: {answer}");
        assert_eq!((&pong["id"], &pong["result"]), (&json!(99), &json!({})), "{what}");
    }
}

/// The same to the real program, in one conversation.
#[test]
fn hostile_lines_do_not_end_the_program() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.flow_command();
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = hostile();
    let count = lines.len();
    let writer = std::thread::spawn(move || {
        for (_, line, ..) in lines {
            stdin.write_all(&line).unwrap();
            stdin.write_all(b"\r\n").unwrap();
        }
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    assert_eq!(output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count(), count);
}

#[test]
fn what_asks_for_nothing_gets_no_answer() {
    let sandbox = Sandbox::new();
    let lines = [
        "",
        "   ",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"flow_start","arguments":{"workflow":"debug"}}}"#,
        r#"{"jsonrpc":"2.0","method":"whatever"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}"#,
    ];
    assert_eq!(Client::of(&sandbox).lines(&lines.map(str::to_owned)), [] as [Value; 0]);
    assert!(!sandbox.path(".flow").exists());
}

#[test]
fn the_end_of_the_input_ends_the_server_well() {
    let sandbox = Sandbox::new();
    let client = Client::of(&sandbox);
    let discover = request(1, "server/discover", json!({ "_meta": meta() })).to_string();
    for (input, answers) in [
        (String::new(), 0),
        ("\n".to_owned(), 0),
        (initialize(1).to_string(), 1),
        (discover.clone(), 1),
        (format!("{discover}\n{}", &discover[..20]), 2),
    ] {
        let answer = client.served(&input).ok();
        assert_eq!((answer.stdout.lines().count(), answer.stderr.as_str()), (answers, ""), "{input}");
    }
}

#[test]
fn a_client_that_reads_no_more_ends_the_server_well() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.flow_command();
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // The input stays open. A process that another test is just starting may hold the output a moment longer, so one
    // answer may still find a reader.
    let ping = format!("{}\n", request(1, "ping", json!({})));
    while child.try_wait().unwrap().is_none() && stdin.write_all(ping.as_bytes()).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Methods, among them those of the server.
fn method() -> impl Strategy<Value = String> {
    let known = [
        "initialize",
        "server/discover",
        "ping",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "prompts/list",
        "prompts/get",
        "notifications/cancelled",
        "subscriptions/listen",
        "completion/complete",
        "tasks/get",
        "skills/list",
    ];
    prop_oneof![4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "[a-z/]{0,12}"]
}

fn json_value() -> impl Strategy<Value = Value> {
    let name = || {
        let known = ["name", "arguments", "uri", "_meta", "run_id", "protocolVersion", "capabilities", "clientInfo"];
        prop_oneof![3 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "[a-z_]{0,6}"]
    };
    let words = ["flow_list", "flow_resume", "state_read", "flow://runs", "resume", "2026-07-28", "x"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(words.to_vec()).prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A message, with or without an id and with anything for parameters.
fn message() -> impl Strategy<Value = Value> {
    let id = prop_oneof![(0..5_i64).prop_map(Value::from), "[a-b]".prop_map(Value::from)];
    (proptest::option::of(id), method(), proptest::option::of(json_value())).prop_map(|(id, method, params)| {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if let Some(id) = id {
            message["id"] = id;
        }
        if let Some(params) = params {
            message["params"] = params;
        }
        message
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::scaled(64, 2000)))]

    #[test]
    fn each_request_gets_one_answer_in_order(messages in proptest::collection::vec(message(), 0..12)) {
        let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
        let answers = served(input.into_bytes());
        let asked: Vec<_> = messages.iter().filter_map(|message| message.get("id").cloned()).collect();
        let answered: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
        prop_assert_eq!(asked, answered);
        for answer in answers {
            prop_assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{}", answer);
        }
    }

    #[test]
    fn no_bytes_end_the_server(bytes in proptest::collection::vec(any::<u8>(), 0..200), value in json_value()) {
        let ping = request(99, "ping", json!({})).to_string();
        let answers = served([&bytes, b"\n".as_slice(), value.to_string().as_bytes(), b"\n", ping.as_bytes()].concat());
        prop_assert_eq!(answers.last().map(|answer| answer["id"].clone()), Some(json!(99)));
    }
}
