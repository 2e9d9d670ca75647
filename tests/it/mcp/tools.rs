//! Each tool does what the command of the command line does, and says the same.

use serde_json::{Value, json};

use crate::mcp::client::{Client, call};
use crate::support::{Sandbox, run};

/// A sandbox with a run `r1` of `debug`.
fn begun() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1", "--goal", "Find it"]).ok();
    sandbox
}

#[test]
fn messages_name_the_arguments_of_tools() {
    let sandbox = Sandbox::new();
    let client = Client::of(&sandbox);
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let emit = json!({ "workflow": "debug", "run_id": "r1", "reports": [{ "step": "preflight", "data": {} }] });
    for (tool, arguments) in [
        ("flow_resume", json!({ "run_id": "r1", "claim": "claim" })),
        ("flow_emit", emit),
        ("flow_finish", json!({ "verb": "fail", "run_id": "r1" })),
    ] {
        let told = client.answer(tool, arguments)["error"].to_string();
        assert!(told != "null" && !told.contains("--"), "{tool}: {told}");
    }
}

#[test]
fn a_project_that_a_tool_makes_is_told_without_where_it_is() {
    let sandbox = Sandbox::new();
    let client = Client::of(&sandbox);
    let begun = client.answer("flow_start", json!({ "workflow": "debug", "goal": "Find it" }));
    assert!(begun["data"]["made"]["place"].is_string(), "{begun}");
    assert!(!begun.to_string().contains(sandbox.root().to_str().unwrap()), "{begun}");
}

#[test]
fn tools_that_read_give_the_reports_of_the_command_line() {
    let sandbox = begun();
    sandbox.flow(["start", "release", "--id", "r2"]).ok();
    let client = Client::of(&sandbox);
    for (tool, arguments, args) in [
        ("flow_list", json!({}), &["list"][..]),
        ("flow_list", json!({ "status": ["blocked"] }), &["list", "--status", "blocked"]),
        ("flow_list", json!({ "workflow": "release", "limit": 1 }), &["list", "--workflow", "release"]),
        ("flow_show", json!({ "run_id": "r1" }), &["show", "r1"]),
        ("flow_show", json!({ "run_id": "r1", "at": 1 }), &["show", "r1", "--at", "1"]),
        ("flow_next", json!({ "run_id": "r2" }), &["next", "r2"]),
    ] {
        let printed = sandbox.flow(args.iter().chain(&["--json"])).ok().json();
        assert_eq!(client.data(tool, arguments), printed, "{args:?}");
    }
    let mut printed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    let mut resumed = client.data("flow_resume", json!({ "run_id": "r1", "session": null }));
    for report in [&mut printed, &mut resumed] {
        report["next"].as_object_mut().unwrap().retain(|key, _| key != "command" && key != "alternatives");
    }
    assert_eq!(resumed, printed);
}

#[test]
fn tools_refuse_what_the_command_line_refuses() {
    let sandbox = begun();
    let client = Client::of(&sandbox);
    let start = |issue: Value, pr: Value| json!({ "workflow": "debug", "run_id": "x", "issue": issue, "pr": pr });
    let asked = json!([{ "type": "user_answered", "step": "preflight", "data": { "answer": " " } }]);
    let report = |reports: Value| json!({ "workflow": "debug", "run_id": "r1", "reports": reports });
    for (tool, arguments, message) in [
        (
            "flow_start",
            start(json!(0), Value::Null),
            "\"0\" is not an issue: give a number (42), a key (PROJ-123) or a URL",
        ),
        (
            "flow_start",
            start(json!("a b"), Value::Null),
            "\"a b\" is not an issue: give a number (42), a key (PROJ-123) or a URL",
        ),
        (
            "flow_start",
            start(json!(""), Value::Null),
            "\"\" is not an issue: give a number (42), a key (PROJ-123) or a URL",
        ),
        (
            "flow_start",
            start(Value::Null, json!(0)),
            "0 is not a pull request: give a whole number from 1 to 281474976710656",
        ),
        ("flow_emit", report(json!([])), "there is no report to record"),
        ("flow_emit", report(asked), "the answer is empty"),
        (
            "flow_record",
            json!({ "run_id": "r1", "id": "a", "epoch": 9 }),
            "run r1: the run was never in epoch 9; it is in epoch 0",
        ),
    ] {
        assert_eq!(client.error(tool, arguments)["message"], message, "{tool}");
    }
    assert_eq!(sandbox.runs().len(), 1);
    assert_eq!(sandbox.events("r1").len(), 1);
}

#[test]
fn commands_are_calls_with_what_the_caller_has_to_replace() {
    let sandbox = begun();
    let resumed = Client::of(&sandbox).data("flow_resume", json!({}));
    insta::assert_snapshot!(format!("{:#}", resumed["next"]), @r#"
    {
      "action": "work_phase",
      "phase": "preflight",
      "choices": [
        "reproduce"
      ],
      "description": "The report of the fault is at hand, the working tree is clean, and the branch for the work exists.",
      "command": {
        "tool": "flow_record",
        "arguments": {
          "run_id": "r1",
          "phase": "preflight",
          "id": "preflight",
          "status": "running"
        }
      },
      "alternatives": [
        {
          "when": "the work of `preflight` is done",
          "command": {
            "tool": "flow_record",
            "arguments": {
              "run_id": "r1",
              "phase": "preflight",
              "id": "preflight",
              "status": "passed"
            }
          }
        },
        {
          "when": "`preflight` needs no work in this run",
          "command": {
            "tool": "flow_record",
            "arguments": {
              "run_id": "r1",
              "phase": "preflight",
              "id": "preflight",
              "status": "skipped",
              "summary": "why"
            },
            "replace": [
              "summary"
            ]
          }
        }
      ]
    }
    "#);
}

#[test]
fn an_answer_that_the_caller_has_to_give_is_not_one_to_send_as_it_is() {
    let sandbox = begun();
    let client = Client::of(&sandbox);
    let asked = json!([{ "type": "waiting_for_user", "step": "preflight", "data": { "prompt": "Which one?" } }]);
    client.data("flow_emit", json!({ "workflow": "debug", "run_id": "r1", "reports": asked }));
    let way = client.data("flow_resume", json!({}))["next"]["alternatives"][0]["command"].clone();
    assert_eq!((&way["tool"], &way["replace"]), (&json!("flow_emit"), &json!(["reports"])), "{way}");
}

/// A run from its start to its end, by what `flow_resume` proposes alone.
#[test]
fn a_run_can_be_done_by_following_the_advice() {
    let sandbox = Sandbox::new();
    let client = Client::of(&sandbox);
    client.data("flow_start", json!({ "workflow": "debug", "run_id": "r1" }));
    let mut calls = Vec::new();
    loop {
        let resumed = client.data("flow_resume", json!({}));
        let next = &resumed["next"];
        if resumed["verdict"] == "none" || calls.len() > 40 {
            break;
        }
        let ways = next["alternatives"].as_array().unwrap();
        let done = ways.iter().find(|way| way["when"].as_str().unwrap().contains("is done"));
        let ahead = ways.iter().find(|way| way["when"].as_str().unwrap().contains("comes next"));
        let command = done.or(ahead).map_or(&next["command"], |way| &way["command"]);
        client.data(command["tool"].as_str().unwrap_or_else(|| panic!("{next}")), command["arguments"].clone());
        calls.push(command["tool"].as_str().unwrap().to_owned());
    }
    assert_eq!(calls.last().map(String::as_str), Some("flow_finish"), "{calls:?}");
    let shown = client.data("flow_show", json!({ "run_id": "r1" }));
    assert_eq!(shown["state"]["status"], "completed");
}

#[test]
fn every_tool_that_writes_a_run_changes_it_as_its_command_does() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let client = Client::of(&sandbox);
    let started =
        client.data("flow_start", json!({ "workflow": "debug", "run_id": "r1", "issue": 7, "goal": "Find it" }));
    insta::assert_snapshot!(format!("{started:#}"), @r#"
    {
      "run_id": "r1",
      "workflow": "debug",
      "phase": "preflight",
      "phase_number": 1,
      "phases": 5,
      "description": "The report of the fault is at hand, the working tree is clean, and the branch for the work exists.",
      "seq": 1,
      "session": null,
      "epoch": 0,
      "created": true,
      "warnings": []
    }
    "#);
    let record = json!({
        "id": "look", "type": "agent", "status": "passed", "name": "Look", "summary": "Seen", "confidence": "high",
        "evidence": ["log"], "files": ["a.rs"], "exit_code": 0, "advance": "next", "usage": { "tokens_in": 12, "duration": "2s" },
    });
    let recorded = client.data("flow_record", record);
    insta::assert_snapshot!(format!("{recorded:#}"), @r#"
    {
      "run_id": "r1",
      "seq": 2,
      "number": "001",
      "activity": "look",
      "phase": "reproduce",
      "status": "passed",
      "exit_code": 0,
      "completed_activities": 1,
      "repeated": false,
      "warnings": [
        "the changed file a.rs is not there, which is right only if it was removed"
      ]
    }
    "#);
    let advanced = client.data("flow_advance", json!({ "summary": "Why it happens is known" }));
    assert_eq!((&advanced["run_id"], &advanced["repeated"]), (&json!("r1"), &json!(false)));
    let blocked = client.data("flow_block", json!({ "reason": "Which one?" }));
    insta::assert_snapshot!(format!("{blocked:#}"), @r#"
    {
      "run_id": "r1",
      "status": "blocked",
      "phase": "diagnose",
      "seq": 4,
      "changed": true,
      "blocked_reason": "Which one?",
      "warnings": []
    }
    "#);
    assert_eq!(client.data("flow_block", json!({ "verb": "unblock" }))["status"], "active");
    let ended = client.data("flow_finish", json!({ "verb": "cancel", "reason": "Not needed" }));
    assert_eq!((&ended["status"], &ended["changed"]), (&json!("cancelled"), &json!(true)));
    let reports = json!([{ "type": "status_change", "step": "preflight", "data": { "status": "running" } }]);
    let emitted = client.answer("flow_emit", json!({ "workflow": "debug", "run_id": "r2", "reports": reports }));
    assert_eq!(
        (&emitted["data"]["success"], &emitted["data"]["data"]["created"]),
        (&json!(true), &json!(true)),
        "{emitted}"
    );
    let checked = sandbox.flow(["verify", "r1"]).ok();
    assert!(checked.stdout.starts_with("ok"), "{checked:?}");
}

#[test]
fn an_exit_code_decides_and_begun_work_has_its_process() {
    let sandbox = begun();
    let pid = std::process::id().to_string();
    let client = Client { variables: &[("FLOW_HOLDER_PID", &pid)], ..Client::of(&sandbox) };
    let failed = json!({ "id": "tests", "exit_code": 2 });
    assert_eq!(client.data("flow_record", failed)["status"], "failed");
    let contradicted = json!({ "id": "tests", "status": "passed", "exit_code": 2 });
    assert_eq!(client.error("flow_record", contradicted)["code"], "exit_code_contradicts");
    let explained = json!({ "id": "tests", "status": "passed", "exit_code": 2, "summary": "They have to fail" });
    assert_eq!(client.data("flow_record", explained)["status"], "passed");
    client.data("flow_record", json!({ "id": "work", "status": "running" }));
    let resumed = client.data("flow_resume", json!({}));
    assert_eq!((&resumed["verdict"], &resumed["in_doubt"][0]["alive"]), (&json!("reconcile"), &json!(true)));
}

#[test]
fn errors_are_those_of_the_command_line_with_calls_in_their_help() {
    let sandbox = begun();
    let client = Client::of(&sandbox);
    let root = format!("{}/", sandbox.root().display());
    sandbox.flow(["cancel", "r1"]).ok();
    for (tool, arguments, args) in [
        ("flow_start", json!({ "workflow": "nope" }), &["start", "nope"][..]),
        ("flow_start", json!({ "workflow": "debug", "run_id": "r1" }), &["start", "debug", "--id", "r1"]),
        ("flow_show", json!({ "run_id": "r9" }), &["show", "r9"]),
        ("flow_show", json!({ "run_id": "r1", "at": 99 }), &["show", "r1", "--at", "99"]),
        (
            "flow_record",
            json!({ "run_id": "r1", "id": "late", "status": "running" }),
            &["record-activity", "--run-id", "r1", "--id", "late", "--status", "running"],
        ),
        ("flow_block", json!({ "run_id": "r1" }), &["block", "r1"]),
        ("flow_advance", json!({ "run_id": "r1" }), &["advance", "r1"]),
    ] {
        let printed = sandbox.flow(args.iter().chain(&["--json"])).error();
        let error = client.error(tool, arguments);
        for field in ["code", "message", "causes"] {
            assert_eq!(error[field].to_string(), printed[field].to_string().replace(&root, ""), "{args:?}");
        }
        assert_eq!(error["help"].is_null(), printed["help"].is_null(), "{args:?}");
    }
    let held = {
        sandbox.flow(["start", "debug", "--id", "r3", "--session", "s1"]).ok();
        client.error("flow_record", json!({ "run_id": "r3", "id": "a", "session": "s2" }))
    };
    insta::assert_snapshot!(format!("{held:#}"), @r#"
    {
      "code": "run_held",
      "message": "run r3: session s1 holds the run",
      "help": "let that session go on, or work in another run; `flow_resume {\"run_id\":\"r3\"}` says what a person can do",
      "causes": [],
      "suggestions": [
        {
          "tool": "flow_resume",
          "arguments": {
            "run_id": "r3"
          }
        }
      ]
    }
    "#);
}

#[test]
fn arguments_that_do_not_fit_are_explained_to_the_model() {
    let sandbox = begun();
    let client = Client::of(&sandbox);
    for (tool, arguments, message) in [
        ("flow_next", json!({ "run": "r1" }), "flow_next: it has no argument `run`; it has run_id, session"),
        ("flow_show", json!({ "run_id": 5 }), "flow_show: `run_id` must be a text"),
        ("flow_start", json!({}), "flow_start: `workflow` is missing"),
        ("flow_list", json!({ "limit": -1 }), "flow_list: `limit` must be a whole number from 0"),
        ("flow_list", json!({ "status": "active" }), "flow_list: `status` must be a list"),
        ("flow_list", json!({ "status": ["odd"] }), "flow_list: `status[0]` must be one of active, "),
        ("flow_record", json!({ "files": "a.rs" }), "flow_record: `files` must be a list"),
        ("flow_record", json!({ "advance": 3 }), "flow_record: `advance` must be \"next\" or an object with `to`"),
        ("flow_record", json!({ "phase": "a/b" }), "flow_record: `phase`: "),
        ("flow_interview", json!({}), "flow_interview: `document` is missing"),
        ("state_write", json!({ "mode": "forge", "active": "yes" }), "state_write: `active` must be true or false"),
        ("flow_block", json!({ "verb": "cancel" }), "flow_block: `verb` must be one of block, unblock"),
        ("flow_finish", json!({ "verb": "reopen" }), "flow_finish: `verb` must be one of complete, fail, cancel"),
        ("flow_record", json!({ "source": {} }), "flow_record: it has no argument `source`; it has"),
        ("flow_interview", json!({ "document": "C.md", "verb": "answer" }), "flow_interview: `answer` is missing"),
        (
            "flow_interview",
            json!({ "document": "C.md", "verb": "answer", "answer": "a", "asked": "b" }),
            "flow_interview: a question of your own has both `asked` and `topic`",
        ),
        ("state_read", json!({}), "state_read: `mode` is missing"),
        (
            "state_read",
            json!({ "mode": "forge", "workingDirectory": "/" }),
            "state_read: `workingDirectory` is not in the project of this server",
        ),
    ] {
        let error = client.error(tool, arguments);
        assert_eq!(error["code"], "usage");
        assert!(error["message"].as_str().unwrap().starts_with(message), "{error}");
    }
}

#[test]
fn a_repeated_call_with_an_id_has_no_further_effect() {
    let sandbox = begun();
    let client = Client::of(&sandbox);
    let reports = json!([{ "type": "status_change", "step": "reproduce", "data": { "status": "running" } }]);
    for (tool, arguments, repeated) in [
        ("flow_record", json!({ "run_id": "r1", "id": "look" }), "/repeated"),
        ("flow_emit", json!({ "workflow": "debug", "run_id": "r1", "reports": reports, "id": "e1" }), "/data/repeated"),
        ("flow_advance", json!({ "run_id": "r1", "summary": "Seen", "id": "e2" }), "/repeated"),
    ] {
        let [first, second] = [(); 2].map(|()| client.data(tool, arguments.clone()));
        let repeats = |report: &Value| report.pointer(repeated).cloned();
        assert_eq!((repeats(&first), repeats(&second)), (Some(json!(false)), Some(json!(true))), "{tool}");
    }
}

#[test]
fn an_interview_is_held_with_one_tool() {
    let sandbox = begun();
    let client = Client::of(&sandbox);
    let ask = |arguments: Value| client.data("flow_interview", arguments);
    let document = "CHARTER.md";
    let mut next = ask(json!({ "verb": "start", "document": document, "run_id": "r1" }))["next"].clone();
    assert_eq!(next["type"], "next_question");
    let own = json!({ "verb": "answer", "document": document, "asked": "By when?", "topic": "Dates", "answer": "May" });
    assert_eq!(ask(own)["status"], "answered");
    let mut asked = 0;
    next = ask(json!({ "document": document }));
    while next["type"] == "next_question" {
        let call = &next["command"];
        assert_eq!((&call["tool"], &call["replace"]), (&json!("flow_interview"), &json!(["answer"])));
        let mut arguments = call["arguments"].clone();
        arguments["answer"] = format!("Answer {asked}").into();
        next = if asked == 1 {
            ask(json!({ "verb": "skip", "document": document, "reason": "Later" }))["next"].clone()
        } else {
            ask(arguments)["next"].clone()
        };
        asked += 1;
    }
    assert_eq!(next["command"]["arguments"], json!({ "verb": "finish", "document": document }));
    let status = ask(json!({ "verb": "status", "document": document }));
    assert_eq!(status["entries"].as_array().unwrap().len(), asked + 1);
    let finished = ask(json!({ "verb": "finish", "document": document, "early": true }));
    assert_eq!((&finished["answered"], &finished["skipped"]), (&json!(asked), &json!(1)));
    assert!(std::fs::read_to_string(sandbox.path(document)).unwrap().contains("Answer 0"));
    let error = client.error("flow_interview", json!({ "document": "none.md" }));
    assert_eq!(error["code"], sandbox.flow(["interview", "next", "none.md", "--json"]).error()["code"]);
}

#[test]
fn the_question_of_an_interview_is_answered_with_its_own_tool() {
    let sandbox = begun();
    let client = Client::of(&sandbox);
    client.data("flow_interview", json!({ "verb": "start", "document": "CHARTER.md", "run_id": "r1" }));
    let answer = json!([{ "type": "user_answered", "data": { "answer": "May" } }]);
    let error = client.error("flow_emit", json!({ "workflow": "debug", "run_id": "r1", "reports": answer }));
    assert_eq!(error["code"], "answer_in_document", "{error}");
    let help = error["help"].as_str().unwrap();
    assert!(help.contains("flow_interview") && help.contains(r#""document":"CHARTER.md""#), "{help}");
    assert!(help.contains(r#""question":1"#), "{help}");
}

#[test]
fn an_interview_writes_nothing_but_markdown_in_the_project() {
    let sandbox = begun();
    std::fs::create_dir_all(sandbox.path("docs")).unwrap();
    let outside = sandbox.root().parent().unwrap().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, sandbox.path("docs/link")).unwrap();
    let absolute = sandbox.path("a.md");
    let refused = [
        absolute.to_str().unwrap(),
        "../a.md",
        "docs/../a.md",
        ".claude/skills/a.md",
        "docs/.a.md",
        "settings.json",
        "Makefile",
        "docs/link/a.md",
        "",
    ];
    let client = Client::of(&sandbox);
    for document in refused {
        let error = client.error("flow_interview", json!({ "verb": "start", "document": document }));
        assert_eq!(error["code"], "unsafe_path", "{document}: {error}");
        assert!(!error.to_string().contains(sandbox.root().to_str().unwrap()) || document.starts_with('/'), "{error}");
    }
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    // The project's directory counts, not that of the server.
    let elsewhere = sandbox.path("docs");
    let mut server = sandbox.flow_command();
    server.args(["mcp", "-C", ".."]).current_dir(&elsewhere);
    let start = call("flow_interview", json!({ "verb": "start", "document": "a.md" }));
    run(server, &start.to_string()).ok();
    assert!(absolute.exists());
}

#[test]
fn the_state_tools_answer_as_those_of_rcs_and_the_policy_decides() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let client = Client::of(&sandbox);
    let s1 = |arguments: Value| {
        let mut arguments = arguments;
        arguments["session_id"] = "s1".into();
        arguments
    };
    assert_eq!(
        client.answer("state_read", s1(json!({ "mode": "forge" }))),
        json!({ "exists": false, "mode": "forge" })
    );
    let fields = json!({ "mode": "blueprint", "current_phase": "planning", "iteration": 2, "state": { "note": "n" } });
    let written = client.answer("state_write", s1(fields));
    assert_eq!(
        (&written["success"], &written["mode"], &written["transition"]),
        (&json!(true), &json!("blueprint"), &Value::Null)
    );
    let read = client.answer("state_read", s1(json!({ "mode": "blueprint" })));
    assert_eq!((&read["active"], &read["iteration"], &read["note"]), (&json!(true), &json!(2), &json!("n")));
    assert_eq!(client.answer("state_list_active", s1(json!({})))["active_modes"], json!(["blueprint"]));
    // The policy completes what hands over, and refuses the rest, as on the command line.
    let refused = client.error("state_write", s1(json!({ "mode": "deep-interview" })));
    let printed = sandbox.flow(["mode", "write", "deep-interview", "--data", "{}", "--session", "s1", "--json"]);
    assert_eq!((&refused["code"], &refused["message"]), (&json!("mode_denied"), &printed.error()["message"]));
    let moved = client.answer("state_write", s1(json!({ "mode": "forge" })));
    assert_eq!(moved["transition"], "mode transiting: blueprint -> forge");
    let statuses = client.answer("state_get_status", s1(json!({})))["statuses"].clone();
    assert_eq!((&statuses["forge"]["active"], &statuses["blueprint"]["phase"]), (&json!(true), &json!("completed")));
    let one = client.answer("state_get_status", s1(json!({ "mode": "forge" })))["statuses"].clone();
    assert_eq!(one.as_object().unwrap().keys().collect::<Vec<_>>(), ["forge"]);
    // Another session sees its own.
    assert_eq!(client.answer("state_list_active", json!({ "session_id": "s2" }))["active_modes"], json!([]));
    let here = sandbox.root();
    let cleared = client.answer("state_clear", s1(json!({ "mode": "forge", "workingDirectory": here })));
    assert_eq!((&cleared["cleared"], &cleared["mode"]), (&json!(true), &json!("forge")));
    let all = client.answer("state_clear", json!({ "mode": "blueprint", "all_sessions": true }));
    assert_eq!((&all["all_sessions"], &all["removed"]), (&json!(true), &json!(1)));
    assert_eq!(all["ended"], json!([{ "mode": "blueprint", "scope": "session s1" }]));
    assert_eq!(client.error("state_read", json!({ "mode": "../evil" }))["code"], "unknown_mode");
}

#[test]
fn no_answer_says_where_the_project_is() {
    let sandbox = begun();
    let root = sandbox.root().to_string_lossy().into_owned();
    sandbox.flow(["start", "release", "--id", "r2", "--session", "s1"]).ok();
    std::fs::create_dir(sandbox.path("elsewhere")).unwrap();
    std::fs::write(sandbox.path(".flow/workflows/broken.yaml"), "[").unwrap();
    std::fs::write(sandbox.run_dir("r2").join("run.yaml"), "[").unwrap();
    let calls = [
        call("flow_resume", json!({})),
        call("flow_resume", json!({ "run_id": "r2" })),
        call("flow_list", json!({})),
        call("flow_show", json!({ "run_id": "r1" })),
        call("flow_show", json!({ "run_id": "r2" })),
        call("flow_start", json!({ "workflow": "broken" })),
        call("flow_record", json!({ "run_id": "r1", "id": "look" })),
        call("flow_record", json!({ "run_id": "r2" })),
        call("state_write", json!({ "mode": "forge" })),
        call("state_get_status", json!({})),
    ];
    for client in [Client::of(&sandbox), Client { args: &["-C", &root], ..Client::of(&sandbox) }] {
        for answer in client.answers(&calls) {
            assert!(!answer.to_string().contains(&root), "{answer}");
            assert!(answer.get("data").is_none_or(|data| data.get("path").is_none()), "{answer}");
            assert!(!answer.to_string().contains("session_holder"), "{answer}");
        }
    }
    // Where no project can be opened.
    std::fs::remove_dir_all(sandbox.path(".flow")).unwrap();
    let nowhere = sandbox.path("nowhere");
    let nowhere = nowhere.to_str().unwrap();
    for client in [
        Client::of(&sandbox),
        Client { args: &["-C", nowhere], ..Client::of(&sandbox) },
        Client { variables: &[("FLOW_DIR", nowhere)], ..Client::of(&sandbox) },
    ] {
        for answer in client.answers(&calls[..5]) {
            assert!(!answer.to_string().contains(&root), "{answer}");
        }
    }
}

#[test]
fn what_a_phase_requires_is_told_without_commands_that_are_not_tools() {
    let sandbox = begun();
    let workflow = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata: {id: w}\nphases:\n\
                    - {id: verify, requires: [{exec: test}]}\n- {id: report}\n";
    std::fs::write(sandbox.path(".flow/workflows/w.workflow.yaml"), workflow).unwrap();
    std::fs::write(sandbox.path(".flow/config.yaml"), "commands: {test: 'true'}\n").unwrap();
    sandbox.flow(["start", "w", "--id", "r2"]).ok();
    sandbox.record("r2", "verify", "look");
    let client = Client::of(&sandbox);
    let error = client.answer("flow_record", json!({ "run_id": "r2", "phase": "report", "id": "x" }))["error"].clone();
    assert_eq!(error["code"], "not_proved", "{error}");
    let help = error["help"].as_str().unwrap();
    assert!(help.contains("\"skip_reason\":\"TEXT\"}` goes on without it"), "{help}");
    assert!(!help.contains("flow complete") && !help.contains("record-activity"), "{help}");
}

#[test]
fn a_record_that_says_nothing_of_the_work_is_refused_and_no_page_of_the_command_line_is_named() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let client = Client::of(&sandbox);
    for (tool, arguments) in [
        ("flow_record", json!({})),
        ("flow_record", json!({ "advance": "next" })),
        ("flow_start", json!({ "workflow": "debug", "another": true, "phase": "none" })),
        ("flow_emit", json!({ "workflow": "debug", "run_id": "r1", "reports": [] })),
        ("flow_resume", json!({ "run_id": "r1", "claim": "claim" })),
    ] {
        let error = client.error(tool, arguments.clone());
        let (help, suggestions) = (&error["help"], &error["suggestions"]);
        assert_eq!((&error["code"], help, suggestions), (&json!("usage"), &Value::Null, &Value::Null), "{arguments}");
    }
    let log = sandbox.flow(["log", "r1", "--json"]).ok().json();
    assert_eq!(log["events"].as_array().unwrap().len(), 1, "{log}");
}

#[test]
fn a_denied_mode_is_told_with_the_call_that_makes_room() {
    let sandbox = Sandbox::new();
    let client = Client::of(&sandbox);
    client.answer("state_write", json!({ "mode": "team", "active": true, "session_id": "s1" }));
    let error = client.error("state_write", json!({ "mode": "autopilot", "active": true, "session_id": "s1" }));
    insta::assert_snapshot!(error["message"].as_str().unwrap(), @"Cannot write autopilot: team is already active in session s1. Unsupported workflow overlap: team + autopilot. Current state is unchanged.");
    let room = &error["suggestions"][0];
    assert_eq!(*room, json!({ "tool": "state_clear", "arguments": { "mode": "team", "session_id": "s1" } }), "{error}");
    assert!(client.answer("state_clear", room["arguments"].clone())["error"].is_null());
}

#[test]
fn a_server_of_a_directory_that_is_not_there_names_it() {
    let sandbox = Sandbox::new();
    let client = Client { args: &["-C", "nowhere"], ..Client::of(&sandbox) };
    let error = client.error("flow_list", json!({}));
    assert!(error["message"].as_str().unwrap().ends_with("nowhere"), "{error}");
}
