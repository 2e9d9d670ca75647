//! `serve --allow-actions`: what pages may do, through the same verbs as the command line.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::server::{Reply, Server};
use crate::support::{Lack, Sandbox, skipped};

struct Desk {
    sandbox: Sandbox,
    server: Server,
}

impl Desk {
    /// A project with the run `r1`, whose pages may act.
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.flow(["start", "debug", "--id", "r1"]).ok();
        let server = Server::with(&sandbox, &["--port", "0", "--allow-actions"]);
        Self { sandbox, server }
    }

    fn act(&self, path: &str, body: &Value) -> Reply {
        let bearer = format!("Bearer {}", self.server.token());
        let origin = format!("http://{}", self.server.address());
        let headers = [("Authorization", bearer.as_str()), ("Origin", &origin), ("Content-Type", "application/json")];
        self.server.send(path, &headers, &body.to_string())
    }

    /// The error's code.
    #[track_caller]
    fn refused(&self, path: &str, body: &Value, status: u16) -> String {
        let reply = self.act(path, body);
        assert_eq!(reply.status, status, "{reply:?}");
        reply.json()["error"]["code"].as_str().unwrap().to_owned()
    }

    fn last(&self, run: &str) -> u64 {
        self.sandbox.flow(["show", run, "--json"]).ok().json()["state"]["last_seq"].as_u64().unwrap()
    }

    /// The page of a run that has been changed by others; the server may not have noticed yet.
    fn page_with(&self, path: &str, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let page = self.server.get(path).body;
            if page.contains(text) {
                return page;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{text} is not in {page}");
        }
    }
}

const CANCEL: &str = "/api/v1/demo/runs/r1/cancel";

#[test]
fn a_page_cancels_and_unblocks_what_its_reader_saw_and_a_retry_does_nothing_more() {
    let desk = Desk::new();
    desk.sandbox.flow(["block", "r1", "--reason", "no access"]).ok();
    let unblock = json!({ "id": "k1", "seen": 2, "reason": "access was given" });
    for changed in [true, false] {
        let report = desk.act("/api/v1/demo/runs/r1/unblock", &unblock).json();
        assert_eq!((&report["status"], &report["changed"]), (&json!("active"), &json!(changed)), "{report}");
    }
    assert_eq!(desk.refused(CANCEL, &json!({ "id": "k2", "seen": 2 }), 409), "run_moved_on");
    assert_eq!(desk.refused(CANCEL, &json!({ "id": "k1", "seen": 3 }), 409), "id_reused");
    let report = desk.act(CANCEL, &json!({ "id": "k2", "seen": 3, "reason": "  " })).json();
    assert_eq!((&report["status"], &report["seq"]), (&json!("cancelled"), &json!(4)), "{report}");
    let log = desk.sandbox.flow(["log", "r1", "--json"]).ok().json()["events"].clone();
    assert_eq!(log[2]["id"], "k1");
    assert_eq!((&log[3]["id"], &log[3]["reason"], &log[3]["session"]), (&json!("k2"), &Value::Null, &Value::Null));
    desk.sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn a_page_answers_questions_of_runs() {
    let desk = Desk::new();
    let emit = |args: &[&str]| {
        let run = ["emit", "--workflow", "build", "--run-id", "b1", "--step", "requirements"];
        desk.sandbox.flow(run.iter().chain(args)).ok()
    };
    emit(&["--type", "status_change", "--data", r#"{"status": "running"}"#]);
    for unit in ["T1", "T2"] {
        let prompt = json!({ "prompt": format!("Which way for {unit}?") }).to_string();
        emit(&["--unit", unit, "--type", "waiting_for_user", "--data", &prompt]);
    }
    let answer = "/api/v1/demo/runs/b1/answer";
    let page = desk.page_with("/demo/runs/b1", "Answer to T2: Which way for T2?");
    let seen = desk.last("b1");
    for unit in ["T1", "T2"] {
        let sent = json!({ "seen": seen, "step": "requirements", "unit": unit }).to_string().replace('"', "&quot;");
        assert!(page.contains(&sent), "{sent}: {page}");
    }
    let body =
        json!({ "id": "k1", "seen": seen, "step": "requirements", "unit": "T1", "answer": "the \"first\"\nway" });
    for _ in 0..2 {
        let reply = desk.act(answer, &body);
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    assert_eq!(desk.last("b1"), seen + 1);
    let log = desk.sandbox.flow(["log", "b1", "--json"]).ok().json()["events"].clone();
    let report = &log.as_array().unwrap().last().unwrap()["reports"][0];
    assert_eq!((&report["unit"], &report["data"]["answer"]), (&json!("T1"), &body["answer"]), "{report}");
    let late = json!({ "id": "k2", "seen": seen, "step": "requirements", "unit": "T2", "answer": "any" });
    assert_eq!(desk.refused(answer, &late, 409), "run_moved_on");
    let twice = json!({ "id": "k3", "seen": seen + 1, "step": "requirements", "unit": "T1", "answer": "any" });
    assert_eq!(desk.refused(answer, &twice, 409), "no_question");
    let page = desk.page_with("/demo/runs/b1", &format!("{{&quot;seen&quot;:{}", seen + 1));
    assert!(page.contains("act-answer-T2") && !page.contains("act-answer-T1"), "{page}");
}

#[test]
fn a_page_answers_the_question_of_an_interview() {
    let desk = Desk::new();
    std::fs::create_dir(desk.sandbox.path("docs")).unwrap();
    desk.sandbox.flow(["interview", "start", "docs/a.md", "--run-id", "r1"]).ok();
    let page = desk.page_with("/demo/interview?document=docs/a.md", "act-answer-1");
    let next = desk.sandbox.flow(["interview", "next", "docs/a.md", "--json"]).ok().json();
    let asked = json!({ "topic": next["topic"], "asked": next["next_question"] });
    let sent = json!({ "document": "docs/a.md", "question": 1, "asked": asked }).to_string();
    assert!(page.contains(&sent.replace('"', "&quot;")), "{sent}: {page}");
    // A run whose question belongs into a document is not answered on its own page.
    assert!(!desk.page_with("/demo/runs/r1", "docs/a.md").contains("act-answer"));
    let answer = "/api/v1/demo/interview/answer";
    let first =
        json!({ "document": "docs/a.md", "question": 1, "asked": asked, "answer": "A shelf that sorts itself" });
    for repeated in [false, true] {
        assert_eq!(desk.act(answer, &first).json()["repeated"], repeated);
    }
    let other = json!({ "document": "docs/a.md", "question": 1, "answer": "Another" });
    assert_eq!(desk.refused(answer, &other, 409), "already_answered");
    let unseen = json!({ "topic": "Other", "asked": "What else?" });
    let other =
        json!({ "document": "docs/a.md", "question": 1, "asked": unseen, "answer": "A shelf that sorts itself" });
    assert_eq!(desk.refused(answer, &other, 409), "other_question");
    for document in ["docs/b.md", "../demo/docs/a.md", "/etc/passwd", ""] {
        let body = json!({ "document": document, "question": 1, "answer": "x" });
        assert_eq!(desk.refused(answer, &body, 404), "not_found", "{document}");
    }
    desk.page_with("/demo/interview?document=docs/a.md", "act-answer-2");
}

#[test]
fn a_person_at_a_page_belongs_to_no_session_whoever_started_the_server() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1", "--session", "monday"]).ok();
    let mut command = sandbox.flow_command();
    command.env("FLOW_SESSION", "tuesday").env("FLOW_EPOCH", "9");
    let server = Server::of_command(command, &["--port", "0", "--allow-actions"]);
    let desk = Desk { sandbox, server };
    let report = desk.act(CANCEL, &json!({ "id": "k1", "seen": 1, "reason": "enough" })).json();
    assert_eq!(report["status"], "cancelled", "{report}");
    let log = desk.sandbox.flow(["log", "r1", "--json"]).ok().json()["events"].clone();
    assert_eq!(log[1]["session"], Value::Null, "{log}");
}

#[test]
fn a_server_that_only_shows_does_nothing_and_offers_nothing() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let desk = Desk { server: Server::of(&sandbox), sandbox };
    assert_eq!(desk.act(CANCEL, &json!({ "id": "k1", "seen": 1 })).status, 405);
    assert!(!desk.server.get("/demo/runs/r1").body.contains("act-"));
    assert_eq!(desk.server.socket().next_of("hello")["actions"], false);
    assert_eq!((&desk.server.report["actions"], desk.last("r1")), (&json!(false), 1));
    let desk = Desk::new();
    assert_eq!(desk.server.socket().next_of("hello")["actions"], true);
    assert!(desk.server.get("/demo/runs/r1").body.contains("act-cancel"));
    // What was is shown without what could be done about it.
    assert!(!desk.server.get("/demo/runs/r1?at=1").body.contains("act-"));
}

#[test]
fn an_action_that_is_not_understood_changes_nothing() {
    let desk = Desk::new();
    for body in [
        json!({}),
        json!({ "id": "k1" }),
        json!({ "seen": 1 }),
        json!({ "id": "", "seen": 1 }),
        json!({ "id": "k1", "seen": -1 }),
        json!({ "id": "k1", "seen": 1, "verb": "fail" }),
        json!({ "id": "k1", "seen": 1, "reason": 3 }),
        json!([]),
        json!("k1"),
    ] {
        assert_eq!(desk.refused(CANCEL, &body, 400), "usage", "{body}");
    }
    let good = json!({ "id": "k1", "seen": 1 });
    for path in ["/api/v1/none/runs/r1/cancel", "/api/v1/demo/runs/r/cancel", "/api/v1/demo/runs/@latest/cancel"] {
        assert!(["not_found", "run_not_found"].contains(&desk.refused(path, &good, 404).as_str()), "{path}");
    }
    for path in ["/api/v1/demo/runs/r1/fail", "/api/v1/demo/runs/r1", "/api/v1/runs"] {
        assert!([404, 405].contains(&desk.act(path, &good).status), "{path}");
    }
    assert_eq!(desk.last("r1"), 1);
}

#[test]
fn an_action_of_another_page_or_without_the_token_changes_nothing() {
    let desk = Desk::new();
    let good = json!({ "id": "k1", "seen": 1 }).to_string();
    let bearer = format!("Bearer {}", desk.server.token());
    let origin = format!("http://{}", desk.server.address());
    let full = [("Authorization", bearer.as_str()), ("Origin", &origin), ("Content-Type", "application/json")];
    for (name, value, status) in [
        ("Authorization", None, 401),
        ("Authorization", Some("Bearer 0"), 401),
        ("Origin", None, 403),
        ("Origin", Some("null"), 403),
        ("Origin", Some("http://evil.example"), 403),
        ("Sec-Fetch-Site", Some("cross-site"), 403),
        ("Content-Type", None, 415),
        ("Content-Type", Some("text/plain"), 415),
        ("Content-Type", Some("application/x-www-form-urlencoded"), 415),
    ] {
        let mut headers: Vec<_> = full.into_iter().filter(|(known, _)| *known != name).collect();
        headers.extend(value.map(|value| (name, value)));
        assert_eq!(desk.server.send(CANCEL, &headers, &good).status, status, "{name} {value:?}");
    }
    assert_eq!(desk.last("r1"), 1);
    assert_eq!(desk.server.send(CANCEL, &full, &good).status, 200);
}

#[test]
fn an_action_that_does_not_come_to_its_end_is_given_up_and_one_that_is_too_long_is_refused() {
    let desk = Desk::new();
    let head = |len: usize| {
        format!(
            "POST {CANCEL} HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nAuthorization: Bearer {1}\r\n\
             Content-Type: application/json\r\nContent-Length: {len}\r\n\r\n",
            desk.server.address(),
            desk.server.token()
        )
    };
    assert_eq!(desk.server.raw(head((1 << 20) + 1).as_bytes()).status, 413);
    let begun = Instant::now();
    let mut slow = desk.server.connect();
    slow.write_all(head(40).as_bytes()).unwrap();
    slow.write_all(b"{\"id\": \"k1\"").unwrap();
    // Others are served meanwhile.
    assert_eq!(desk.server.get("/api/v1/runs").status, 200);
    let mut answer = Vec::new();
    slow.read_to_end(&mut answer).unwrap();
    assert_eq!(Reply::of(&answer).status, 408);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(desk.last("r1"), 1);
}

#[test]
fn a_page_asks_again_with_buttons_that_name_what_they_do() {
    let desk = Desk::new();
    let ask = ["emit", "--workflow", "debug", "--run-id", "r1", "--type", "waiting_for_user", "--step", "preflight"];
    desk.sandbox.flow(ask.iter().chain(&["--data", r#"{"prompt":"Drop the old table?"}"#])).ok();
    desk.sandbox.flow(["block", "r1", "--reason", "no access"]).ok();
    let page = desk.page_with("/demo/runs/r1", "no access");
    for (does, leaves) in
        [("Send answer", "Back"), ("Unblock the run", "Leave it blocked"), ("Cancel the run", "Keep it")]
    {
        assert!(page.contains(&format!(r#"data-do="{does}" data-leave="{leaves}""#)), "{does}: {page}");
    }
    assert!(page.contains("Send this answer to preflight in the run r1? It asks: Drop the old table?"), "{page}");
    assert!(!page.contains(">Yes<") && !page.contains(">No<"), "{page}");
}

/// A run that waits in a gate.
fn waiting(sandbox: &Sandbox) {
    sandbox.flow(["start", "merge-pr", "--id", "m1"]).ok();
    for phase in ["preflight", "verify", "confirm"] {
        sandbox.record("m1", phase, phase);
    }
}

const APPROVE: &str = "/api/v1/demo/runs/m1/approve";
const REJECT: &str = "/api/v1/demo/runs/m1/reject";

#[test]
fn a_page_decides_at_a_gate() {
    let desk = Desk::new();
    waiting(&desk.sandbox);
    // Who runs this test may be an agent, whose server decides nothing.
    if desk.sandbox.flow(["approve", "m1"]).exits(4).stderr.contains("an agent began this") {
        return skipped("a_page_decides_at_a_gate", &Lack::of("person", "an agent runs this test"));
    }
    let page = desk.page_with("/demo/runs/m1", "/m1/approve");
    assert!(page.contains("/m1/reject") && page.contains("waits for a person's decision"), "{page}");
    assert_eq!(desk.refused(REJECT, &json!({ "id": "k1", "seen": 4 }), 400), "reason_missing");
    let report = desk.act(REJECT, &json!({ "id": "k1", "seen": 4, "reason": "red" })).json();
    assert_eq!((&report["approved"], &report["how"]), (&json!(false), &json!("page")), "{report}");
    desk.sandbox.record("m1", "confirm", "again");
    assert_eq!(desk.refused(APPROVE, &json!({ "id": "k2", "seen": 5 }), 409), "run_moved_on");
    for repeated in [false, true] {
        let report = desk.act(APPROVE, &json!({ "id": "k2", "seen": 6 })).json();
        assert_eq!((&report["approved"], &report["repeated"]), (&json!(true), &json!(repeated)), "{report}");
    }
    desk.page_with("/demo/runs/m1", "on a page, having seen event 6");
    desk.sandbox.record("m1", "merge", "merge");
    desk.sandbox.flow(["verify", "m1"]).ok();
}

#[test]
fn the_pages_of_a_server_that_an_agent_began_decide_nothing() {
    let sandbox = Sandbox::new();
    waiting(&sandbox);
    let mut command = sandbox.flow_command();
    command.env("CLAUDECODE", "1");
    let server = Server::of_command(command, &["--port", "0", "--allow-actions"]);
    let desk = Desk { sandbox, server };
    assert_eq!(desk.refused(APPROVE, &json!({ "id": "k1", "seen": 4 }), 409), "needs_approval");
    assert_eq!(desk.last("m1"), 4);
}
