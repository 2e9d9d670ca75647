//! What programs are told when the API of `flow serve` does not do what they ask: one kind of object, a stable code, and
//! words that name what they sent.

use serde_json::json;

use crate::support::Sandbox;
use crate::support::server::{Reply, Server};

const CANCEL: &str = "/api/v1/demo/runs/r1/cancel";

/// A served project with the run `r1`, whose pages may act.
fn served() -> (Sandbox, Server) {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    std::fs::write(sandbox.run_dir("r1").join("evidence/one.txt"), "x").unwrap();
    let server = Server::with(&sandbox, &["--port", "0", "--allow-actions"]);
    (sandbox, server)
}

/// The status, the code and the message of an answer, which must be the object of an error.
#[track_caller]
fn error(reply: &Reply) -> (u16, String, String) {
    assert!(reply.head.contains("content-type: application/json"), "{reply:?}");
    let error = reply.json()["error"].clone();
    let text = |name: &str| error[name].as_str().unwrap_or_else(|| panic!("{name}: {reply:?}")).to_owned();
    assert!(error["causes"].is_array(), "{reply:?}");
    (reply.status, text("code"), text("message"))
}

#[test]
fn whatever_is_wrong_below_the_api_is_told_as_an_error_object_with_a_code() {
    let (sandbox, server) = served();
    sandbox.flow(["start", "debug", "--id", "gone", "--another"]).ok();
    sandbox.flow(["cancel", "gone"]).ok();
    sandbox.flow(["prune", "--older-than", "0d", "--yes"]).ok();
    let bearer = format!("Bearer {}", server.token());
    let origin = format!("http://{}", server.address());
    let known = [("Authorization", bearer.as_str())];
    let from = |origin| [("Authorization", bearer.as_str()), ("Origin", origin)];
    let typed = |kind| [("Authorization", bearer.as_str()), ("Origin", origin.as_str()), ("Content-Type", kind)];
    let path = "/api/v1/runs";
    for (reply, status, code) in [
        (server.request("GET", path, &[]), 401, "wrong_token"),
        (server.request("GET", "/api/nowhere", &[]), 401, "wrong_token"),
        (server.request("GET", path, &[("Authorization", "Bearer 0")]), 401, "wrong_token"),
        (server.request("GET", path, &from("http://evil.example")), 403, "foreign_request"),
        (server.request("OPTIONS", path, &[]), 403, "foreign_request"),
        (server.request("PUT", path, &known), 405, "wrong_method"),
        (server.send(path, &typed("application/json"), "{}"), 405, "wrong_method"),
        (server.request("GET", CANCEL, &known), 405, "wrong_method"),
        (server.send(CANCEL, &typed("text/plain"), "{}"), 415, "wrong_content_type"),
        (server.request("POST", CANCEL, &typed("application/json")), 411, "wrong_length"),
        (server.request("GET", path, &[known[0], ("Content-Length", "2")]), 400, "wrong_length"),
        (server.raw(format!("GET {path} HTTP/1.0\r\nHost: evil.example\r\n\r\n").as_bytes()), 421, "wrong_host"),
        (server.get("/api"), 404, "not_found"),
        (server.get("/api/"), 404, "not_found"),
        (server.get("/api/v1"), 404, "not_found"),
        (server.get("/api/v2/runs"), 404, "not_found"),
        (server.get("/api/v1/demo/runs/r1/none"), 404, "not_found"),
        (server.get("/api/v1/none/runs/r1"), 404, "not_found"),
        (server.get("/api/v1/demo/runs/none"), 404, "run_not_found"),
        (server.get("/api/v1/demo/runs/gone"), 404, "run_pruned"),
        (server.get("/api/v1/demo/runs/%FF"), 400, "usage"),
        (server.get("/api/v1/demo/runs/r1/file?evidence=one.txt&from=9"), 416, "no_such_part"),
        (server.get("/api/v1/demo/runs/r1/file?evidence=none.txt"), 404, "file_not_found"),
        (server.get("/api/v1/demo/runs/r1/file"), 400, "usage"),
    ] {
        let (given, told, message) = error(&reply);
        assert_eq!((given, told.as_str()), (status, code), "{message}");
    }
    // A method that an address does not take is told with those that it takes.
    assert!(server.request("GET", CANCEL, &known).head.contains("allow: post"));
    // What is not for programs is not an object.
    assert!(server.get("/apiary").head.contains("content-type: text/html"));
}

#[test]
fn a_query_that_does_not_fit_is_refused_and_says_what_fits() {
    let (_sandbox, server) = served();
    for (query, why) in [
        ("runs?limit=-1", "`limit` must be a whole number from 0"),
        ("runs?skip=x", "`skip` must be a whole number from 0"),
        ("runs?status=nope", "`status` must be one of active, blocked, completed, failed, cancelled"),
        ("runs?sort=bogus", "`sort` must be one of changed, started, longest"),
        ("runs?group=all", "`group` must be one of waits, in_doubt, left_behind, at_work, can_go_on, over"),
        (
            "runs?staus=failed",
            "unknown field `staus`; the fields are group, search, workflow, status, sort, skip, limit",
        ),
        ("runs?limit=1&limit=2", "the query has `limit` more than once"),
        ("demo/runs/r1?at=1.5", "`at` must be a whole number from 0"),
        ("demo/runs/r1/log?after=x", "`after` must be a whole number from 0"),
        ("demo/runs/r1/activities?limit=99999999999999999999", "`limit` must be a whole number from 0"),
        ("demo/runs/r1/file?evidence=one.txt&from=-1", "`from` must be a whole number from 0"),
    ] {
        let (status, code, message) = error(&server.get(&format!("/api/v1/{query}")));
        assert_eq!((status, code.as_str()), (400, "usage"), "{query}: {message}");
        assert!(message.ends_with(why), "{query}: {message}");
    }
    // An empty field of a form is none, and a page says the same.
    assert_eq!(server.get("/api/v1/runs?status=&sort=&search=").status, 200);
    assert_eq!(server.get("/?status=failed&group=over").status, 200);
    let page = server.get("/?status=nope");
    assert_eq!(page.status, 400);
    assert!(page.body.contains("<h1>") && page.body.contains("`status` must be one of active"), "{}", page.body);
}

#[test]
fn the_content_of_an_action_that_does_not_fit_is_told_without_types_of_the_program() {
    let (_sandbox, server) = served();
    let bearer = format!("Bearer {}", server.token());
    let origin = format!("http://{}", server.address());
    let headers = [("Authorization", bearer.as_str()), ("Origin", &origin), ("Content-Type", "application/json")];
    let answer = "/api/v1/demo/runs/r1/answer";
    for (path, body, why) in [
        (CANCEL, json!([]).to_string(), "is not a JSON object"),
        (CANCEL, "{".to_owned(), "is not valid JSON: EOF while parsing an object at line 1 column 1"),
        (CANCEL, json!({ "id": 3, "seen": 1 }).to_string(), "`id` must be a text"),
        (CANCEL, json!({ "id": "k1" }).to_string(), "`seen` is missing"),
        (CANCEL, json!({ "id": "k1", "seen": true }).to_string(), "`seen` must be a whole number from 0 or a text"),
        (
            CANCEL,
            json!({ "id": "k1", "seen": "x" }).to_string(),
            "give the number of an event, or what `flow resume` names there",
        ),
        (
            CANCEL,
            json!({ "id": "k1", "seen": 1, "by": 1 }).to_string(),
            "unknown field `by`; the fields are id, seen, reason",
        ),
        (answer, json!({ "id": "k1", "seen": 1, "step": 1, "answer": "x" }).to_string(), "`step` must be a text"),
    ] {
        let (status, code, message) = error(&server.send(path, &headers, &body));
        assert_eq!((status, code.as_str()), (400, "usage"), "{message}");
        assert!(message.starts_with("the content of the action ") && message.ends_with(why), "{message}");
    }
}

#[test]
fn what_is_wrong_in_a_file_is_told_without_the_path_of_the_project() {
    let (sandbox, server) = served();
    sandbox.flow(["start", "debug", "--id", "broken", "--another"]).ok();
    sandbox.flow(["mode", "request", "autopilot", "--session", "b"]).ok();
    let state = sandbox.path(".flow/state/sessions/b/autopilot-state.json");
    assert!(state.exists());
    for (file, text) in [
        (sandbox.path(".flow/modes.yaml"), "a: ["),
        (sandbox.path(".flow/config.yaml"), "a: ["),
        (sandbox.path(".flow/workflows/own.yaml"), "a: ["),
        (sandbox.run_dir("broken").join("run.yaml"), "a: ["),
        (state, "{"),
    ] {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let root = sandbox.path("");
    let here = root.to_str().unwrap().trim_end_matches('/');
    for place in ["runs", "sessions", "workflows", "interviews"] {
        let addresses = [format!("/{place}"), format!("/api/v1/{place}")];
        let of_one = ["/demo/workflows/own".to_owned(), "/api/v1/demo/workflows/own".to_owned()];
        for address in addresses.iter().chain(&of_one) {
            let told = format!("{:?}", server.get(address));
            assert!(!told.contains(here), "{address}: {told}");
        }
    }
    let told = server.get("/api/v1/sessions").json()["projects"].to_string();
    assert!(told.contains("modes are not shown: the policy in .flow/modes.yaml cannot be used"), "{told}");
}
