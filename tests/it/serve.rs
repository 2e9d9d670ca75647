//! `serve`: what the dashboard shows, to whom, and that it cannot be kept busy.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::server::Server;
use crate::support::{Sandbox, answered, spawned};

fn demo() -> (Sandbox, Server) {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1", "--goal", "find it"]).ok();
    sandbox.record("r1", "preflight", "look");
    let server = Server::of(&sandbox);
    (sandbox, server)
}

fn memory(sandbox: &Sandbox) -> PathBuf {
    let dir = sandbox.path("../.local/state/flow");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    // What git said of the repository stands beside it.
    files.retain(|file| !file.file_name().unwrap().to_string_lossy().starts_with("asked-"));
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn who_has_no_token_sees_the_shell_of_a_page_and_nothing_else() {
    let (_sandbox, server) = demo();
    for page in [
        "/",
        "/?group=over",
        "/demo/runs/r1",
        "/demo/runs/none",
        "/nowhere",
        "/sessions",
        "/workflows",
        "/demo/workflows/debug",
        "/interviews",
        "/demo/interview?document=a.md",
        "/demo/runs/r1/file?evidence=a.txt",
    ] {
        let reply = server.request("GET", page, &[]);
        assert_eq!(reply.status, 200, "{page}");
        assert!(!reply.body.contains("r1") && !reply.body.contains("debug"), "{page}: {}", reply.body);
    }
    for page in [
        "/api/v1/runs",
        "/api/v1/demo/runs/r1",
        "/api/v1/demo/runs/r1/log",
        "/ws",
        "/api/v1/demo/runs/r1/activities",
        "/api/v1/demo/runs/r1/evidence",
        "/api/v1/demo/runs/r1/diagram",
        "/api/v1/demo/runs/r1/file?evidence=a.txt",
        "/api/v1/sessions",
        "/api/v1/workflows",
        "/api/v1/demo/workflows/debug",
        "/api/v1/interviews",
    ] {
        let reply = server.request("GET", page, &[]);
        assert!([401, 403].contains(&reply.status), "{page}: {}", reply.status);
    }
    let wrong = server.request("GET", "/", &[("Authorization", "Bearer 0123")]);
    assert_eq!((wrong.status, wrong.body.as_str()), (401, "the token is not the one of this server\n"));
}

#[test]
fn pages_and_answers_to_programs_say_what_the_commands_say() {
    let (sandbox, server) = demo();
    sandbox.flow(["block", "r1", "--reason", "no access"]).ok();
    sandbox.flow(["start", "debug", "--id", "r2"]).ok();
    sandbox.flow(["cancel", "r2", "--reason", "enough"]).ok();
    let mut socket = server.socket();
    socket.send(&json!({ "type": "watch", "list": {} }));
    while server.get("/api/v1/runs").json()["projects"][0]["cards"]["groups"][5]["total"] != 1 {}
    let cards = &server.get("/api/v1/runs").json()["projects"][0]["cards"]["groups"];
    let attention = sandbox.flow(["attention", "--json"]).ok().json();
    assert_eq!(cards[0]["cards"], attention["runs"]);
    let run = server.get("/api/v1/demo/runs/r1").json();
    let shown = sandbox.flow(["show", "r1", "--json"]).ok().json();
    assert_eq!((&run["steps"], &run["artifacts"]), (&shown["steps"], &shown["artifacts"]));
    assert_eq!(server.get("/api/v1/demo/runs/r1/activities").json(), shown["activities"]);
    assert_eq!(
        server.get("/api/v1/demo/runs/r1/log?limit=500").json(),
        sandbox.flow(["log", "r1", "--json"]).ok().json()
    );
    let part = sandbox.flow(["log", "r1", "--json", "--after", "1", "--limit", "1"]).ok().json();
    assert_eq!(server.get("/api/v1/demo/runs/r1/log?after=1&limit=1").json(), part);
    assert_eq!((&part["next"], part["events"].as_array().unwrap().len()), (&json!(2), 1));
    let then = server.get("/api/v1/demo/runs/r1?at=1").json();
    let shown = sandbox.flow(["show", "r1", "--json", "--at", "1"]).ok().json();
    assert_eq!((&then["steps"], &then["group"]), (&shown["steps"], &json!("can_go_on")));
    let list = server.get("/").body;
    for text in [
        "1 run needs you",
        "<title>(1) demo · flow</title>",
        "Waits for you",
        "<span class=\"reason\">no access</span>",
        "href=\"/demo/runs/r1\"",
    ] {
        assert!(list.contains(text), "{text}: {list}");
    }
    assert!(!list.contains("runs/r2") && server.get("/?group=over").body.contains("runs/r2"));
    assert!(server.get("/?search=no+access").body.contains("runs/r1"));
    assert!(!server.get("/?search=elsewhere").body.contains("runs/r1"));
    let page = server.get("/demo/runs/r1").body;
    for text in [
        "flow unblock r1",
        "class=\"timeline\"",
        "class=\"diagram\"",
        "events 1 to 3 of 3",
        "001 look passed in preflight",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let then = server.get("/demo/runs/r1?at=1").body;
    assert!(then.contains("1 of 3"));
    // What was to be done then is not to be copied today.
    assert!(!then.contains("data-copy") && !then.contains("data-command") && !then.contains("<form class=\"act"));
    assert!(then.contains("data-none=\"this is the run after event 1, and its commands are those of then\""), "{then}");
    assert!(server.get("/demo/runs/r1").body.contains("data-copy"));
    assert_eq!(server.get("/demo/runs/r1?at=9").status, 404);
    assert_eq!(server.get("/demo/runs/none").status, 404);
}

#[test]
fn sessions_workflows_and_interviews_are_what_the_commands_say() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1", "--session", "monday"]).ok();
    sandbox.flow(["mode", "request", "forge", "--session", "monday"]).ok();
    sandbox.flow(["start", "debug", "--id", "r2"]).ok();
    sandbox.flow(["cancel", "r2", "--reason", "enough"]).ok();
    sandbox.flow(["interview", "start", "docs/a.md", "--run-id", "r1"]).ok();
    let question = r#"{"prompt":"Which one?"}"#;
    let asks = ["emit", "--workflow", "debug", "--run-id", "r1", "--type", "waiting_for_user", "--step", "preflight"];
    sandbox.flow([&asks[..], &["--data", question]].concat()).ok();
    // Not a workflow, whatever a file of this name says.
    std::fs::write(sandbox.path("secret.yaml"), "a: secret\n").unwrap();
    let server = Server::of(&sandbox);
    let of = |path: &str| server.get(path).json()["projects"][0].clone();

    let sessions = of("/api/v1/sessions");
    assert_eq!(sessions["sessions"], sandbox.flow(["sessions", "--json"]).ok().json());
    assert_eq!(sessions["policy"], sandbox.flow(["mode", "policy", "--json"]).ok().json());
    let monday = &sessions["sessions"]["sessions"][0];
    assert_eq!((&monday["session"], &monday["runs"][0]["run_id"]), (&json!("monday"), &json!("r1")));
    assert_eq!((&monday["modes"][0]["mode"], &monday["modes"][0]["active"]), (&json!("forge"), &json!(true)));
    let page = server.get("/sessions").body;
    for text in ["monday", "href=\"/demo/runs/r1\"", "<b>forge</b>", "deep-interview"] {
        assert!(page.contains(text), "{text}: {page}");
    }

    let workflows = of("/api/v1/workflows")["workflows"].as_array().unwrap().clone();
    let listed = sandbox.flow(["workflow", "list", "--json"]).ok().json();
    assert_eq!(workflows.len(), listed["workflows"].as_array().unwrap().len());
    let debug = workflows.iter().find(|one| one["id"] == "debug").unwrap();
    assert_eq!(
        debug["runs"],
        json!({ "open": 1, "over": 1, "phases": { "preflight": 1 }, "completed": 0, "failed": 0, "took_ms": null })
    );
    let debug = server.get("/api/v1/demo/workflows/debug").json();
    assert_eq!(debug["workflow"], sandbox.flow(["workflow", "show", "debug", "--json"]).ok().json());
    assert!(debug["diagram"]["nodes"].as_array().unwrap().len() > 3, "{debug:#}");
    assert!(server.get("/workflows").body.contains("1 open, 1 over"));
    let page = server.get("/demo/workflows/debug").body;
    assert!(page.contains("class=\"diagram\"") && page.contains("href=\"/demo/runs/r1\""), "{page}");
    for name in ["secret.yaml", "..%2Fsecret.yaml", "nothing"] {
        let reply = server.get(&format!("/demo/workflows/{name}"));
        assert!(reply.status == 404 && !reply.body.contains("a: secret"), "{name}: {}", reply.body);
    }

    let interviews = of("/api/v1/interviews");
    assert_eq!(interviews["interviews"], sandbox.flow(["interview", "list", "--json"]).ok().json());
    assert_eq!(interviews["interviews"]["interviews"][0]["document"], "docs/a.md");
    assert_eq!(interviews["interviews"]["questions"][0]["prompt"], "Which one?");
    let page = server.get("/interviews").body;
    assert!(page.contains("question 1 of 5") && page.contains("Which one?"), "{page}");
    let page = server.get("/demo/interview?document=docs%2Fa.md").body;
    assert!(page.contains("flow interview answer docs/a.md --question 1"), "{page}");
    assert_eq!(server.get("/demo/interview?document=README.md").status, 404);
}

/// A run whose evidence and artifacts are what other people, programs and a mean person put there.
fn with_files() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let evidence = sandbox.path(".flow/runs/r1/evidence");
    let write = |name: &str, bytes: &[u8]| std::fs::write(evidence.join(name), bytes).unwrap();
    write("page.html", b"<script>alert(1)</script>");
    write("screen.txt", b"\x89PNG\r\n\x1a\nrest");
    write("picture.svg", b"<svg/>");
    write("long.log", "ä".repeat(600 << 10).as_bytes());
    write("zero", b"a\0b");
    std::os::unix::fs::symlink("/etc/passwd", evidence.join("link")).unwrap();
    std::fs::create_dir_all(sandbox.path("docs")).unwrap();
    for name in ["docs/tasks.md", "secret.md", "docs/gone.md"] {
        std::fs::write(sandbox.path(name), format!("text of {name}")).unwrap();
    }
    let register = |path: &str| {
        let args = ["emit", "--workflow", "debug", "--run-id", "r1", "--type", "artifact_registered", "--data"];
        let data = json!({ "path": path }).to_string();
        sandbox.flow([&args[..], &[&data, "--step", "preflight"]].concat()).ok();
    };
    ["docs/tasks.md", "docs/gone.md", ".git/config", ".flow/runs/r1/run.yaml"].iter().for_each(|path| register(path));
    std::fs::remove_file(sandbox.path("docs/gone.md")).unwrap();
    std::os::unix::fs::symlink(sandbox.path("secret.md"), sandbox.path("docs/gone.md")).unwrap();
    let args = ["record-activity", "--run-id", "r1", "--phase", "preflight", "--id", "look", "--status", "passed"];
    sandbox.flow([&args[..], &["--evidence", "page.html", "--evidence", "evidence/none.txt"]].concat()).ok();
    sandbox
}

#[test]
fn files_that_a_run_refers_to_are_shown_as_text_or_images_and_no_other_file_is() {
    let sandbox = with_files();
    for program in ["true", "false"] {
        let _ = sandbox.flow(["exec", "--run-id", "r1", "--id", program, "--", program]);
    }
    let server = Server::of(&sandbox);
    let raw = |query: &str| server.get(&format!("/api/v1/demo/runs/r1/file?{query}"));

    let listed = sandbox.flow(["evidence", "r1", "--json"]).ok().json();
    assert_eq!(listed["seen"].as_array().unwrap().len(), 2);
    assert_eq!(server.get("/api/v1/demo/runs/r1/evidence").json(), listed);
    let page = server.get("/demo/runs/r1").body;
    for text in ["runs/r1/file?evidence=page.html\"", "✕ missing", "file?artifact=docs%2Ftasks.md", "001 look"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    for (query, kind, body) in [
        ("evidence=page.html", "text/plain; charset=utf-8", "<script>alert(1)</script>"),
        ("evidence=picture.svg", "text/plain; charset=utf-8", "<svg/>"),
        ("artifact=docs%2Ftasks.md", "text/plain; charset=utf-8", "text of docs/tasks.md"),
    ] {
        let reply = raw(query);
        assert_eq!((reply.status, reply.body.as_str()), (200, body), "{query}");
        for header in [&format!("content-type: {kind}"), "sandbox", "x-content-type-options: nosniff"] {
            assert!(reply.head.contains(header), "{query}, {header}: {}", reply.head);
        }
    }
    assert!(raw("evidence=screen.txt").head.contains("content-type: image/png"));
    let part = raw("evidence=long.log");
    assert_eq!((part.status, part.body.len()), (206, 1 << 20));
    assert!(part.head.contains("content-range: bytes 0-1048575/1228800"), "{}", part.head);
    assert_eq!(raw("evidence=long.log&from=1048576").body.len(), (1200 << 10) - (1 << 20));
    let page = server.get("/demo/runs/r1/file?evidence=page.html").body;
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(
        server.get("/demo/runs/r1/file?evidence=screen.txt").body.contains("data-src=\"/api/v1/demo/runs/r1/file?")
    );
    assert!(server.get("/demo/runs/r1/file?evidence=zero").body.contains("neither text nor an image"));
    for query in [
        "evidence=link",
        "evidence=..%2Frun.yaml",
        "evidence=..",
        "evidence=.",
        "evidence=none.txt",
        "evidence=%2Fetc%2Fpasswd",
        "evidence=page.html%00",
        "artifact=secret.md",
        "artifact=docs%2F..%2Fsecret.md",
        "artifact=docs%2Fgone.md",
        "artifact=.git%2Fconfig",
        "artifact=.flow%2Fruns%2Fr1%2Frun.yaml",
        "artifact=%2Fetc%2Fpasswd",
    ] {
        assert_eq!(raw(query).status, 404, "{query}");
        assert_eq!(server.get(&format!("/demo/runs/r1/file?{query}")).status, 404, "{query}");
    }
    for query in ["", "evidence=", "evidence=a&artifact=b"] {
        assert_eq!(raw(query).status, 400, "{query}");
        assert_eq!(server.get(&format!("/demo/runs/r1/file?{query}")).status, 400, "{query}");
    }
}

#[test]
fn every_answer_forbids_scripts_of_others_frames_and_caches() {
    let (_sandbox, server) = demo();
    let replies = [
        server.get("/"),
        server.request("GET", "/", &[]),
        server.get("/flow.js"),
        server.get("/flow.css"),
        server.get("/flow.svg"),
        server.get("/api/v1/runs"),
        server.get("/nowhere"),
        server.get("/?skip=x"),
        server.request("POST", "/", &[]),
        server.request("OPTIONS", "/", &[("Origin", "http://evil.example")]),
        server.request("GET", "/", &[("Content-Length", "3")]),
        server.request("GET", "/api/v1/runs", &[]),
        server.raw(b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
    ];
    let statuses: Vec<_> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 404, 400, 405, 403, 400, 401, 421]);
    for reply in replies {
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'",
            "require-trusted-types-for 'script'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(reply.head.contains(header), "{header}: {}", reply.head);
        }
        assert!(!reply.head.contains("access-control"), "{}", reply.head);
    }
}

#[test]
fn requests_that_name_another_host_are_not_answered() {
    let (_sandbox, server) = demo();
    let own = server.address();
    let evil = |head: &str| server.raw(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).status;
    for head in [
        "GET / HTTP/1.1\r\nHost: evil.example".to_owned(),
        "GET / HTTP/1.1\r\nHost: localhost.evil.example".to_owned(),
        format!("GET / HTTP/1.1\r\nHost: {own}."),
        format!("GET / HTTP/1.1\r\nHost: user@{own}"),
        format!("GET / HTTP/1.1\r\nHost: {own}\r\nHost: {own}"),
        format!("GET http://evil.example/ HTTP/1.1\r\nHost: {own}"),
        format!("GET /flow.css HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://{own}"),
        "GET / HTTP/1.1".to_owned(),
        "GET / HTTP/1.0".to_owned(),
    ] {
        assert_eq!(evil(&head), 421, "{head}");
    }
    assert_eq!(evil(&format!("GET http://{own}/ HTTP/1.1\r\nHost: {own}")), 200);
    let forwarded = Server::with(&_sandbox, &["--port", "0", "--allow-host", "localhost:8080"]);
    assert_eq!(forwarded.raw(b"GET / HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n\r\n").status, 200);
}

#[test]
fn no_address_leads_to_a_file() {
    let (_sandbox, server) = demo();
    for path in [
        "/..%2f..%2fetc/passwd",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/demo/runs/..%2f..%2f..%2fREADME.md",
        "/demo/runs/%2e%2e",
        "/demo/runs/r1%00",
        "/demo/runs/r1%0a",
        "/demo/runs/r1\\..\\..",
        "/demo/runs/%ff",
        "/api/v1/demo/runs/..%2fr1",
        "/api/v1/..%2fdemo/runs/r1",
        "/flow.js/",
        "/flow.js%2f",
        "/assets/flow.js",
        "/.flow/runs/r1/run.yaml",
    ] {
        let reply = server.get(path);
        assert!([400, 404].contains(&reply.status), "{path}: {}", reply.status);
        assert!(!reply.body.contains("root:") && !reply.body.contains("apiVersion"), "{path}: {}", reply.body);
        assert!(!reply.body.contains(".flow/"), "{path} says where files are: {}", reply.body);
    }
}

#[test]
fn what_a_run_says_is_never_markup() {
    let sandbox = Sandbox::new();
    let evil = "</script><img src=x onerror=alert(1)>\"'&\u{202e}";
    sandbox.flow(["start", "build", "--id", "evil", "--goal", evil]).ok();
    let emit = |kind: &str, data: &Value| {
        let data = data.to_string();
        let args = ["emit", "--workflow", "build", "--run-id", "evil", "--step", "requirements", "--unit", "<b>T1</b>"];
        sandbox.flow([&args[..], &["--type", kind, "--data", &data]].concat()).ok();
    };
    emit("status_change", &json!({ "status": "running", "message": evil }));
    emit("artifact_registered", &json!({ "url": "https://e.example/", "label": evil, "relationship": "output" }));
    emit("artifact_registered", &json!({ "path": "<script>alert(1)</script>", "relationship": "output" }));
    emit("waiting_for_user", &json!({ "prompt": evil }));
    sandbox.flow(["block", "evil", "--reason", evil]).ok();
    let server = Server::of(&sandbox);
    for page in [
        "/",
        "/demo/runs/evil",
        "/?search=%3Cscript%3Ealert(1)%3C/script%3E",
        "/%3Cscript%3E",
        "/demo/runs/%3Cscript%3E",
    ] {
        let body = server.get(page).body;
        for piece in ["<img", "<script>", "</script><img", "<b>T1", "href=\"javascript", "\u{202e}"] {
            assert!(!body.contains(piece), "{page} has {piece}: {body}");
        }
    }
    assert!(server.get("/demo/runs/evil").body.contains("&lt;/script&gt;&lt;img"));
}

#[test]
fn slow_and_silent_clients_are_cut_off_and_others_are_served_meanwhile() {
    let (_sandbox, server) = demo();
    let begun = Instant::now();
    thread::scope(|scope| {
        let cut = |first: &'static [u8], then: &'static [u8]| {
            let mut stream = server.connect();
            scope.spawn(move || {
                stream.write_all(first).unwrap();
                let mut more = then.iter();
                stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
                let mut answer = [0; 4096];
                loop {
                    match stream.read(&mut answer) {
                        Ok(0) => break,
                        Ok(_) => {}
                        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                        Err(_) => break,
                    }
                    if let Some(byte) = more.next()
                        && stream.write_all(&[*byte]).is_err()
                    {
                        break;
                    }
                }
                assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", String::from_utf8_lossy(first));
            });
        };
        cut(b"", b"");
        cut(b"GET / HTTP/1.1\r\nHost: 127.", b"");
        cut(
            b"GET / HTTP/1.1\r\nHost: ",
            b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        );
        assert_eq!(server.get("/").status, 200);
    });
}

#[test]
fn connections_and_heads_of_requests_are_limited() {
    let (_sandbox, server) = demo();
    let mut held: Vec<_> = (0..64).map(|_| server.connect()).collect();
    // The last ones may not be accepted yet.
    thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    assert_eq!(server.get("/").status, 200);
    assert!(held[0].read(&mut [0]).is_ok_and(|read| read == 0), "the one that was silent longest has lost its place");
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    drop(held);
    let long = server.get(&format!("/{}", "a".repeat(100_000)));
    assert!([414, 431].contains(&long.status), "{}", long.status);
    let many: Vec<_> = (0..200).map(|n| (format!("X-{n}"), "1")).collect();
    let many: Vec<_> = many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert_eq!(server.request("GET", "/", &many).status, 431);
    let large = "a".repeat(1 << 20);
    assert!([0, 431].contains(&server.request("GET", "/", &[("X-Large", &large)]).status));
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn the_feed_tells_of_every_change_and_goes_on_where_a_client_was() {
    let (sandbox, server) = demo();
    let mut socket = server.socket();
    let hello = socket.next();
    assert_eq!(
        (&hello["type"], &hello["projects"], &hello["actions"]),
        (&json!("hello"), &json!(["demo"]), &json!(false))
    );
    socket.send(&json!({ "type": "watch", "list": {}, "runs": [{ "project": "demo", "run": "r1" }] }));
    let snapshot = socket.next();
    assert_eq!(snapshot["projects"][0]["cards"]["groups"][4]["cards"][0]["run_id"], "r1");
    let events = socket.next();
    assert_eq!((&events["type"], events["events"].as_array().unwrap().len()), (&json!("events"), 2));
    sandbox.record("r1", "preflight", "again");
    let card = socket.next_of("run");
    assert_eq!((&card["card"]["run_id"], &card["card"]["last_seq"]), (&json!("r1"), &json!(3)));
    let more = socket.next_of("events");
    assert_eq!((more["events"].as_array().unwrap().len(), &more["events"][0]["seq"]), (1, &json!(3)));
    // Another client has missed the last two, and gets just these.
    let mut other = server.socket();
    let since = format!("{}:{}", hello["feed"].as_str().unwrap(), hello["n"]);
    let after = format!("1:{}", events["events"][0]["id"].as_str().unwrap());
    let runs = json!([{ "project": "demo", "run": "r1", "after": after }]);
    other.send(&json!({ "type": "watch", "list": {}, "since": since, "runs": runs }));
    assert_eq!(other.next_of("run")["card"]["last_seq"], 3);
    assert_eq!(other.next()["events"].as_array().unwrap().len(), 2);
    // A cursor that is not in the log begins anew.
    let mut lost = server.socket();
    let runs = json!([{ "project": "demo", "run": "r1", "after": "2:somebody-elses" }]);
    lost.send(&json!({ "type": "watch", "runs": runs }));
    assert_eq!(lost.next_of("reset")["run"], "r1");
    assert_eq!(lost.next()["events"].as_array().unwrap().len(), 3);
    std::fs::remove_dir_all(sandbox.run_dir("r1")).unwrap();
    assert_eq!(socket.next_of("gone")["run"], "r1");
}

#[test]
fn a_page_says_how_far_it_knows_the_feed_so_that_nothing_is_told_twice() {
    let (sandbox, server) = demo();
    let page = server.get("/");
    let since = page.head.lines().find_map(|line| line.strip_prefix("flow-since: ")).unwrap();
    let mut socket = server.socket();
    socket.send(&json!({ "type": "watch", "list": { "limit": 0 }, "since": since }));
    assert_eq!(socket.next()["type"], "hello");
    sandbox.record("r1", "preflight", "more");
    let next = socket.next();
    assert_eq!((&next["type"], &next["card"]["run_id"]), (&json!("run"), &json!("r1")), "{next}");
    // Of another start of the server.
    socket.send(&json!({ "type": "watch", "list": { "limit": 0 }, "since": "0123456789abcdef:1" }));
    assert_eq!(socket.next_of("snapshot")["projects"][0]["cards"]["groups"][4]["total"], 1);
}

#[test]
fn edits_by_hand_and_replaced_logs_are_told_as_well() {
    let (sandbox, server) = demo();
    let mut socket = server.socket();
    socket.send(&json!({ "type": "watch", "list": {} }));
    socket.next_of("snapshot");
    sandbox.edit("r1", "status: active", "status: blocked");
    assert_eq!(socket.next_of("run")["card"]["group"], "waits");
    let log = sandbox.read("r1", "events.jsonl");
    let shorter = log.lines().next().unwrap().to_owned() + "\n";
    std::fs::write(sandbox.run_dir("r1").join("new"), shorter).unwrap();
    std::fs::rename(sandbox.run_dir("r1").join("new"), sandbox.run_dir("r1").join("events.jsonl")).unwrap();
    assert_eq!(socket.next_of("run")["card"]["need"], "damaged");
    let card = &sandbox.flow(["attention", "--json"]).ok().json()["runs"][0];
    assert_eq!(server.get("/api/v1/runs").json()["projects"][0]["cards"]["groups"][0]["cards"][0], *card);
}

#[test]
fn a_run_whose_directory_was_moved_away_and_back_is_shown_again() {
    let (sandbox, server) = demo();
    let mut socket = server.socket();
    socket.send(&json!({ "type": "watch", "list": {} }));
    socket.next_of("snapshot");
    sandbox.record("r1", "preflight", "again");
    assert_eq!(socket.next_of("run")["card"]["last_seq"], 3);
    let (run, away) = (sandbox.run_dir("r1"), sandbox.path("away"));
    let copy = |from: &Path, to: &Path| crate::support::Tree::of(from).restore(to);
    // Another directory with the same files takes its place at once.
    copy(&run, &away);
    std::fs::rename(&run, sandbox.path("old")).unwrap();
    std::fs::rename(&away, &run).unwrap();
    sandbox.record("r1", "preflight", "in-another-directory");
    while socket.next_of("run")["card"]["last_seq"] != 4 {}
    std::fs::rename(&run, &away).unwrap();
    assert_eq!(socket.next_of("gone")["run"], "r1");
    std::fs::rename(&away, &run).unwrap();
    assert_eq!(socket.next_of("run")["card"]["last_seq"], 4);
}

#[test]
fn damage_in_the_middle_of_a_log_is_found_while_it_is_watched() {
    let (sandbox, server) = demo();
    let mut socket = server.socket();
    socket.send(&json!({ "type": "watch", "list": {} }));
    socket.next_of("snapshot");
    let log = sandbox.run_dir("r1").join("events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("find it", "lost it", 1)).unwrap();
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "more"]);
    while socket.next_of("run")["card"]["need"] != "damaged" {}
}

#[test]
fn a_server_that_polls_sees_the_same() {
    let (sandbox, _) = demo();
    let server = Server::with(&sandbox, &["--port", "0", "--poll"]);
    let mut socket = server.socket();
    socket.send(&json!({ "type": "watch", "list": {} }));
    socket.next_of("snapshot");
    sandbox.record("r1", "preflight", "again");
    assert_eq!(socket.next_of("run")["card"]["last_seq"], 3);
    sandbox.flow(["start", "debug", "--id", "r2", "--another"]).ok();
    assert_eq!(socket.next_of("run")["card"]["run_id"], "r2");
}

#[test]
fn port_and_token_are_remembered_for_the_user_alone_and_not_in_the_project() {
    let (sandbox, server) = demo();
    let (port, token) = (server.port(), server.token().to_owned());
    drop(server);
    let again = Server::with(&sandbox, &[]);
    assert_eq!((again.port(), again.token()), (port, token.as_str()));
    drop(again);
    let file = memory(&sandbox);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!in_files(&sandbox.root(), &token));
    let new = Server::with(&sandbox, &["--new-token"]);
    assert_ne!(new.token(), token);
    let bearer = format!("Bearer {token}");
    assert_eq!(new.request("GET", "/", &[("Authorization", &bearer)]).status, 401);
    let newer = new.token().to_owned();
    drop(new);
    // What others could read is not a secret any more.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let wary = Server::with(&sandbox, &[]);
    assert_ne!(wary.token(), newer);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Whether a file below `dir` has this text.
fn in_files(dir: &Path, text: &str) -> bool {
    let files = walkdir::WalkDir::new(dir).into_iter().map(|entry| entry.unwrap().into_path());
    files
        .filter(|path| path.is_file())
        .any(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).contains(text))
}

#[test]
fn a_port_that_is_taken_and_an_address_for_others_are_refused() {
    let (sandbox, server) = demo();
    let port = server.port().to_string();
    let serve = |args: &[&str]| {
        let mut command = sandbox.flow_command();
        command.args(["serve"]).args(args);
        answered(spawned(command))
    };
    let taken = serve(&["--port", &port]);
    assert!(
        taken.stderr.contains("cannot listen on 127.0.0.1:") && taken.code == Some(74),
        "{:?} {}",
        taken.code,
        taken.stderr
    );
    let remote = serve(&["--listen", "0.0.0.0"]);
    assert!(
        remote.stderr.contains("can be reached from other machines") && remote.code == Some(2),
        "{:?} {}",
        remote.code,
        remote.stderr
    );
    let nowhere = serve(&["/nowhere"]);
    assert!(nowhere.code != Some(0) && nowhere.stderr.contains("/nowhere"), "{}", nowhere.stderr);
    // Only this machine reaches it.
    let sockets = std::fs::read_to_string(format!("/proc/{}/net/tcp", server.id())).unwrap();
    let own = format!(":{:04X} 00000000:0000 0A", server.port());
    let listening: Vec<_> = sockets.lines().filter(|line| line.contains(&own)).collect();
    assert!(listening.len() == 1 && listening[0].contains("0100007F:"), "{listening:?}");
}

#[test]
fn several_projects_are_shown_together_under_their_names() {
    let (sandbox, _) = demo();
    let other = Sandbox::new();
    other.flow(["start", "debug", "--id", "r1", "--goal", "another"]).ok();
    let (one, two) = (sandbox.root(), other.root());
    let server = Server::with(&sandbox, &["--port", "0", one.to_str().unwrap(), two.to_str().unwrap()]);
    assert_eq!(server.report["projects"], json!(["demo", "demo-2"]));
    assert!(server.get("/demo-2/runs/r1").body.contains("another"));
    assert!(!server.get("/demo/runs/r1").body.contains("another"));
    let list = server.get("/").body;
    assert!(list.contains("/demo/runs/r1") && list.contains("/demo-2/runs/r1"));
}

#[test]
fn a_project_is_shown_once_under_the_name_of_its_directory() {
    let sandbox = Sandbox::new();
    let dir = sandbox.path("../My-Project");
    std::fs::create_dir_all(dir.join("src")).unwrap();
    sandbox.flow(["-C", dir.to_str().unwrap(), "start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["-C", dir.to_str().unwrap(), "fail", "r1", "--reason", "the disk is full"]).ok();
    let inner = dir.join("src");
    let again = dir.join("src/..");
    let dirs = [&dir, &inner, &again].map(|dir| dir.to_str().unwrap());
    let server = Server::with(&sandbox, &["--port", "0", dirs[0], dirs[1], dirs[2]]);
    assert_eq!(server.report["projects"], json!(["My-Project"]));
    // The page of a run that is over says why it ended.
    let page = server.get("/My-Project/runs/r1").body;
    assert!(page.contains("the run is failed: the disk is full"), "{page}");
}

#[test]
fn runs_of_several_projects_are_merged_by_what_a_person_has_to_do() {
    let (one, two) = (Sandbox::new(), Sandbox::new());
    for (sandbox, run) in [(&one, "a"), (&two, "b")] {
        sandbox.flow(["start", "debug", "--id", run]).ok();
        sandbox.flow(["start", "debug", "--id", "free"]).ok();
        sandbox.flow(["block", run, "--reason", "no access"]).ok();
    }
    let dirs = [one.root(), two.root()].map(|root| root.to_str().unwrap().to_owned());
    let server = Server::with(&one, &["--port", "0", &dirs[0], &dirs[1]]);
    let names: Vec<_> =
        server.report["projects"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let list = server.get("/").body;
    let places =
        [format!("/{}/runs/a\"", names[0]), format!("/{}/runs/b\"", names[1])].map(|run| list.find(&run).unwrap());
    let rest = list.find("data-key=\"all/can_go_on\"").unwrap();
    assert!(places.iter().all(|place| *place < rest), "{list}");
    assert!(
        list.contains(&format!("<b>{}</b>", names[1])) && list.contains("<a class=\"need\" href=\"#waits\">"),
        "{list}"
    );
}

#[test]
fn the_pages_are_opened_in_the_users_browser_by_a_file_that_they_alone_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let (browser, given) = (sandbox.path("browser"), sandbox.path("given"));
    std::fs::write(&browser, format!("#!/bin/sh\necho \"$1\" >'{}.new'\nmv '{0}.new' '{0}'\n", given.display()))
        .unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = sandbox.flow_command();
    command.env("BROWSER", &browser);
    let server = Server::of_command(command, &["--port", "0", "--open"]);
    assert_eq!(server.report.get("not_opened"), None);
    let file = soon(|| std::fs::read_to_string(&given).ok());
    let page = std::fs::read_to_string(file.trim_end()).unwrap();
    assert!(page.contains(server.report["url"].as_str().unwrap()), "{page}");
    assert_eq!(std::fs::metadata(file.trim_end()).unwrap().permissions().mode() & 0o777, 0o600);
    let mut command = sandbox.flow_command();
    command.env("BROWSER", sandbox.path("none"));
    let server = Server::of_command(command, &["--port", "0", "--open"]);
    assert!(server.report["not_opened"].as_str().unwrap().starts_with("the pages were not opened in a browser: "));
}

/// What `read` finds, which may take a moment.
fn soon<T>(read: impl Fn() -> Option<T>) -> T {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        if let Some(found) = read() {
            return found;
        }
        assert!(std::time::Instant::now() < end, "it did not come");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
