//! `serve` and clients that want to harm it: none keeps others out or takes its memory, and no failure says where on this
//! machine something is.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::server::Server;
use crate::support::{HeldLock, Sandbox};

/// How many files and connections the server has open.
fn open_files(server: &Server) -> usize {
    fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count()
}

/// The memory of the server, in KiB.
fn memory(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Writes until the server takes nothing more, for at most this long. Returns how the connection ended, if it did.
fn flood(stream: &mut TcpStream, bytes: &[u8], time: Duration) -> Option<ErrorKind> {
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let begun = Instant::now();
    while begun.elapsed() < time {
        match stream.write_all(bytes).map_err(|error| error.kind()) {
            Ok(()) | Err(ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(ended) => return Some(ended),
        }
    }
    None
}

#[test]
fn clients_that_read_nothing_are_cut_off_and_keep_nobody_out_meanwhile() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let server = Server::of(&sandbox);
    let before = open_files(&server);
    let request = format!("GET /flow.js HTTP/1.1\r\nHost: {}\r\n\r\n", server.address());
    let requests = request.repeat(1000);
    let begun = Instant::now();
    let deaf: Vec<_> = (0..64)
        .map(|_| {
            let mut stream = server.connect();
            stream.set_nonblocking(true).unwrap();
            let _ = stream.write(requests.as_bytes());
            stream
        })
        .collect();
    while open_files(&server) < before + 64 && begun.elapsed() < Duration::from_secs(4) {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(server.get("/").status, 200, "there is room for one who reads");
    while open_files(&server) > before {
        assert!(begun.elapsed() < Duration::from_secs(20), "{} are still there", open_files(&server) - before);
        thread::sleep(Duration::from_millis(50));
    }
    drop(deaf);
}

#[test]
fn no_frame_of_a_client_that_reads_nothing_takes_memory_and_who_sends_pings_is_cut_off() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let server = Server::of(&sandbox);
    // What a client sends is masked, here with zeros.
    let frame = |head: u8, payload: &[u8]| {
        let len = 0x80 | u8::try_from(payload.len()).unwrap();
        [&[head, len, 0, 0, 0, 0], payload].concat()
    };
    let wish = json!({ "type": "watch", "list": {} }).to_string();
    let (ping, pong, text) = (frame(0x89, &[b'x'; 125]), frame(0x8a, &[b'x'; 125]), frame(0x81, wish.as_bytes()));
    let parts = [frame(0x01, b""), frame(0x00, b"").repeat(10), ping.clone()].concat();
    for (what, frames) in [("ping", &ping), ("pong", &pong), ("text", &text), ("parts", &parts)] {
        let mut socket = server.socket();
        let before = memory(&server);
        // Nothing comes back for a pong, so the client goes on until it has had enough.
        let patience = Duration::from_secs(if what == "pong" { 4 } else { 40 });
        let ended = flood(socket.stream(), &frames.repeat(200), patience);
        let after = memory(&server);
        assert!(after < before + (16 << 10), "{what}: {before} KiB became {after} KiB");
        if what != "pong" {
            assert!(ended.is_some(), "{what}: it was not cut off");
        }
    }
    assert_eq!(server.socket().next()["type"], "hello");
}

/// The log of a run with its last event changed, and sealed again.
fn forge(sandbox: &Sandbox, run: &str, from: &str, to: &str) {
    let log = sandbox.run_dir(run).join("events.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let (others, last) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(last.contains(from), "{last}");
    let mut event: serde_json::Map<String, Value> = serde_json::from_str(&last.replace(from, to)).unwrap();
    event.remove("crc");
    fs::write(&log, format!("{others}\n{}", flowrun::codec::seal(&event))).unwrap();
}

fn register(sandbox: &Sandbox, path: &str) {
    let data = json!({ "path": path }).to_string();
    let run = ["emit", "--workflow", "debug", "--run-id", "r1", "--type", "artifact_registered", "--data", &data];
    sandbox.flow(run).ok();
}

#[test]
fn no_failure_says_where_on_this_machine_something_is() {
    let sandbox = Sandbox::new();
    for run in ["r1", "bad-yaml", "a-directory", "no-log", "junk", "held"] {
        sandbox.flow(["start", "debug", "--id", run]).ok();
    }
    fs::write(sandbox.run_dir("r1").join("evidence/ok.txt"), "x").unwrap();
    let long = "n".repeat(300);
    register(&sandbox, &long);
    register(&sandbox, "a.txt_b");
    forge(&sandbox, "r1", "a.txt_b", "a.txt\\u0000b");
    fs::write(sandbox.run_dir("bad-yaml").join("run.yaml"), "a: [\n").unwrap();
    fs::remove_file(sandbox.run_dir("a-directory").join("run.yaml")).unwrap();
    fs::create_dir(sandbox.run_dir("a-directory").join("run.yaml")).unwrap();
    fs::remove_file(sandbox.run_dir("no-log").join("events.jsonl")).unwrap();
    fs::write(sandbox.run_dir("junk").join("events.jsonl"), "\0\n".repeat(300_000)).unwrap();
    fs::create_dir_all(sandbox.path(".flow/workflows/odd.workflow.yaml")).unwrap();
    fs::write(sandbox.path(".flow/workflows/bad.workflow.yaml"), "phases: [\n").unwrap();
    fs::write(sandbox.path(".flow/config.yaml"), "workflows: [\n").unwrap();
    fs::write(sandbox.path(".flow/workflows/modes.yaml"), "modes: [\n").unwrap();
    let server = Server::with(&sandbox, &["--port", "0", "--allow-actions"]);
    let file = "/api/v1/demo/runs/r1/file?";
    let mut targets: Vec<String> = [
        format!("{file}evidence=ok.txt&from=9223372036854775807"),
        format!("{file}evidence=ok.txt&from=18446744073709551615"),
        format!("{file}artifact=a.txt%00b"),
        format!("{file}artifact={long}"),
        format!("{file}evidence={long}"),
        format!("{file}evidence=a%00b"),
        format!("{file}artifact=..%2f..%2fetc%2fpasswd"),
        "/demo/runs/r1/file?artifact=a.txt%00b".to_owned(),
        "/".to_owned(),
        "/api/v1/runs".to_owned(),
        "/api/v1/demo/workflows/bad".to_owned(),
        "/api/v1/demo/workflows/odd".to_owned(),
        "/demo/workflows/bad".to_owned(),
        "/demo/interview?document=%2fetc%2fpasswd".to_owned(),
    ]
    .into();
    targets.extend(
        ["sessions", "workflows", "interviews"].iter().flat_map(|of| [format!("/{of}"), format!("/api/v1/{of}")]),
    );
    for run in ["r1", "bad-yaml", "a-directory", "no-log", "junk", "none"] {
        targets.push(format!("/demo/runs/{run}"));
        targets.extend(
            ["", "/activities", "/log", "/evidence", "/diagram"].map(|of| format!("/api/v1/demo/runs/{run}{of}")),
        );
    }
    let mut failed = 0;
    for target in &targets {
        let reply = server.get(target);
        assert_unplaced(&sandbox, target, &reply.body);
        assert_ne!(reply.status, 0, "{target}");
        failed += usize::from(reply.status >= 400);
    }
    assert!(failed > 20, "only {failed} failed");
    assert_eq!(server.get(&targets[0]).status, 416);
    assert_eq!(server.get(&targets[2]).status, 404);
    let _lock = HeldLock::take(sandbox.run_dir("held").join(".lock"));
    let mut codes = Vec::new();
    for run in ["held", "bad-yaml", "a-directory", "junk"] {
        let reply = act(&server, &format!("/api/v1/demo/runs/{run}/cancel"), &json!({ "id": "k", "seen": 1 }));
        assert_unplaced(&sandbox, run, &reply.to_string());
        codes.push(reply["error"]["code"].clone());
    }
    assert_eq!(codes[0], "lock_timeout", "{codes:?}");
    let mut socket = server.socket();
    socket.send(&json!({ "type": "watch", "list": {}, "runs": [{ "project": "demo", "run": "junk" }] }));
    for kind in ["snapshot", "reset"] {
        assert_unplaced(&sandbox, kind, &socket.next_of(kind).to_string());
    }
}

#[track_caller]
fn assert_unplaced(sandbox: &Sandbox, what: &str, text: &str) {
    for place in [sandbox.root(), fs::canonicalize(sandbox.root()).unwrap()] {
        let home = place.parent().unwrap_or(Path::new("/nowhere")).to_string_lossy().into_owned();
        assert!(!text.contains(&home), "{what}: {text}");
    }
}

fn act(server: &Server, target: &str, body: &Value) -> Value {
    let (bearer, origin) = (format!("Bearer {}", server.token()), format!("http://{}", server.address()));
    let headers = [("Authorization", bearer.as_str()), ("Origin", &origin), ("Content-Type", "application/json")];
    server.send(target, &headers, &body.to_string()).json()
}

#[test]
fn a_part_that_a_file_does_not_have_is_no_part() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    fs::write(sandbox.run_dir("r1").join("evidence/one.txt"), "x").unwrap();
    fs::write(sandbox.run_dir("r1").join("evidence/none.txt"), "").unwrap();
    let server = Server::of(&sandbox);
    let get = |name: &str, from: &str| {
        let reply = server.get(&format!("/api/v1/demo/runs/r1/file?evidence={name}.txt&from={from}"));
        let range = reply.head.lines().find_map(|line| line.strip_prefix("content-range: ")).map(str::to_owned);
        (reply.status, range, reply.body)
    };
    assert_eq!(get("one", "0"), (200, None, "x".to_owned()));
    assert_eq!(get("none", "0"), (200, None, String::new()));
    for from in ["1", "5", "9223372036854775807", "18446744073709551615"] {
        let (status, range, body) = get("one", from);
        assert_eq!((status, range.as_deref()), (416, Some("bytes */1")), "{from}");
        assert!(body.contains(&format!("the file has 1 bytes, so it has no byte {from}")), "{body}");
    }
    for from in ["-1", "x", "18446744073709551616"] {
        assert_eq!(get("one", from).0, 400, "{from}");
    }
}

#[test]
fn an_action_that_waits_for_a_writer_holds_up_no_reader() {
    let sandbox = Sandbox::new();
    for run in ["r1", "r2"] {
        sandbox.flow(["start", "debug", "--id", run]).ok();
    }
    let server = Server::with(&sandbox, &["--port", "0", "--allow-actions"]);
    let _lock = HeldLock::take(sandbox.run_dir("r1").join(".lock"));
    let mut socket = server.socket();
    socket.send(&json!({ "type": "watch", "list": {} }));
    socket.next_of("snapshot");
    thread::scope(|scope| {
        let waits: Vec<_> = ["a", "b", "c"]
            .map(|id| {
                let server = &server;
                scope.spawn(move || {
                    let reply = act(server, "/api/v1/demo/runs/r1/cancel", &json!({ "id": id, "seen": 1 }));
                    (reply["error"]["code"].clone(), Instant::now())
                })
            })
            .into();
        // The actions are on their way; readers and another run's action come after them.
        thread::sleep(Duration::from_millis(300));
        assert_eq!(server.get("/demo/runs/r1").status, 200);
        assert_eq!(
            act(&server, "/api/v1/demo/runs/r2/cancel", &json!({ "id": "d", "seen": 1 }))["status"],
            "cancelled"
        );
        assert_eq!(socket.next_of("run")["card"]["run_id"], "r2");
        let read = Instant::now();
        for wait in waits {
            let (code, answered) = wait.join().unwrap();
            assert_eq!(code, "lock_timeout");
            assert!(read < answered, "readers waited for the action");
        }
    });
}
