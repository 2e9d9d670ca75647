//! No record says more than it knows: a status and its exit code, and documents that contradict themselves.

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::server::Server;

fn record(sandbox: &Sandbox, more: &[&str]) -> Value {
    sandbox.flow(["record-activity", "--json"].iter().chain(more)).ok().json()
}

#[test]
fn without_a_status_the_exit_code_decides() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    for (exit_code, status) in [("1", "failed"), ("101", "failed"), ("-1", "failed"), ("0", "passed")] {
        let id = format!("tests{exit_code}");
        let report = record(&sandbox, &["--id", &id, "--exit-code", exit_code, "--summary", "tests ran"]);
        assert_eq!(
            (&report["status"], &report["exit_code"]),
            (&json!(status), &json!(exit_code.parse::<i64>().unwrap()))
        );
    }
    // A failed command does not let the run go on.
    let refused = sandbox.flow(["record-activity", "--id", "more", "--exit-code", "1", "--advance", "--json"]).exits(1);
    assert_eq!(refused.error()["code"], "phase_not_done");
    let text = sandbox.flow(["record-activity", "--id", "more", "--exit-code", "1"]).ok();
    assert_eq!(text.line(), format!("recorded 005 more (failed, exit 1); {id} is in preflight, 1 completed"));
    assert_eq!(sandbox.flow(["resume", &id, "--json"]).ok().json()["next"]["action"], "retry_phase");
}

#[test]
fn a_status_that_the_exit_code_contradicts_needs_a_summary() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    for (status, exit_code, by_exit_code) in
        [("passed", "1", "failed"), ("failed", "0", "passed"), ("blocked", "0", "passed")]
    {
        let args = ["--id", status, "--status", status, "--exit-code", exit_code];
        for blank in [&[][..], &["--summary", " "]] {
            let refused = sandbox.flow(["record-activity", "--json"].iter().chain(&args).chain(blank)).exits(1).error();
            assert_eq!(refused["code"], "exit_code_contradicts");
            let message = format!("run {id}: the status is {status}, and the exit code {exit_code} says the opposite");
            assert_eq!(refused["message"], message);
            let help = format!(
                "leave out the status, and it is recorded as {by_exit_code}; or say with --summary TEXT why the status is \
                 right all the same"
            );
            assert_eq!(refused["help"], help);
        }
        let report = record(&sandbox, &[&args[..], &["--summary", "it is meant to be so"]].concat());
        assert_eq!((&report["status"], &report["warnings"]), (&json!(status), &json!([])));
        // A retry gets the same answer.
        let again = record(&sandbox, &[&args[..], &["--summary", "it is meant to be so"]].concat());
        assert_eq!((&again["repeated"], &again["seq"]), (&json!(true), &report["seq"]));
    }
    record(&sandbox, &["--id", "given-up", "--status", "skipped", "--exit-code", "1"]);
    let log = sandbox.flow(["log", &id, "--json"]).ok().json();
    assert_eq!(log["events"].as_array().unwrap().len(), 5, "{log:#}");
}

#[test]
fn every_face_shows_the_exit_code_of_work_that_passed_all_the_same() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    record(&sandbox, &["--id", "red", "--status", "passed", "--exit-code", "101", "--summary", "fails as it must"]);
    record(&sandbox, &["--id", "green", "--exit-code", "0"]);
    record(&sandbox, &["--id", "tries", "--status", "running", "--exit-code", "3"]);
    for (args, wanted) in [
        (&["show", "r1"][..], "passed, exit 101"),
        (&["resume", "r1"], "passed, exit 101"),
        (&["resume", "r1"], "running, exit 3"),
        (&["log", "r1"], "001 red passed, exit 101 in preflight"),
        (&["watch", "--run-id", "r1", "--once"], "✓ passed, exit 101 red"),
        (&["export", "r1", "--format", "html"], "✓ passed, exit 101"),
    ] {
        let shown = sandbox.flow(args).ok().stdout;
        assert!(shown.contains(wanted), "{args:?}: {shown}");
        // What opens on a page has everything that was recorded.
        assert!(args[0] == "export" || !shown.contains("exit 0"), "{args:?}: {shown}");
    }
    let shown = sandbox.flow(["show", "r1", "--json"]).ok().json();
    let codes: Vec<_> = shown["activities"].as_array().unwrap().iter().map(|one| one["exit_code"].clone()).collect();
    assert_eq!(codes, [json!(101), json!(0), json!(3)]);
    let resume = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(resume["completed"][0]["exit_code"], 101);
    assert_eq!(resume["in_doubt"][0]["exit_code"], 3);
    let server = Server::of(&sandbox);
    assert!(server.get("/demo/runs/r1").body.contains("✓ passed, exit 101"));
}

#[test]
fn a_document_that_contradicts_itself_is_recorded_with_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.start("debug");
    let document = |status: &str, exit_code: i64, completed: &str| {
        format!(
            "apiVersion: flow.synapti.ai/v1\nkind: FlowActivity\nmetadata:\n  id: tests\nactivity:\n  type: bash\n  \
             status: {status}\n  started_at: 2026-05-20T14:30:00Z\n  completed_at: {completed}\noutputs:\n  \
             command_exit_code: {exit_code}\nresult:\n  summary: They ran\n"
        )
    };
    let args = ["record-activity", "--json", "--activity-file", "-"];
    let warnings = |text: &str| sandbox.flow_with(args, text).ok().json()["warnings"].clone();
    // Zones are compared as well.
    assert_eq!(warnings(&document("passed", 0, "2026-05-20T16:31:00+02:00")), json!([]));
    let contradicts = "the document contradicts itself: its status is passed, and its exit code 1";
    assert_eq!(warnings(&document("passed", 1, "2026-05-20T14:31:00Z")), json!([contradicts]));
    let early = "the work ends at 2026-05-20T14:29:59Z, before it began at 2026-05-20T14:30:00Z";
    assert_eq!(warnings(&document("failed", 1, "2026-05-20T14:29:59Z")), json!([early]));
    // An option over the document is the caller's own word.
    let over = args.iter().chain(&["--exit-code", "1"]);
    let refused = sandbox.flow_with(over, &document("passed", 0, "2026-05-20T14:31:00Z")).exits(1).error();
    assert_eq!(refused["code"], "exit_code_contradicts");
    let late = record(&sandbox, &["--id", "later", "--started-at", "2026-05-20T23:00:00Z"]);
    assert!(late["warnings"][0].as_str().unwrap().ends_with("before it began at 2026-05-20T23:00:00Z"), "{late}");
}

#[test]
fn a_key_of_a_document_that_is_almost_a_known_one_is_told() {
    let sandbox = Sandbox::new();
    sandbox.start("debug");
    let document = "apiVersion: flow.synapti.ai/v1\nkind: FlowActivity\nmetadata: {id: a, run-id: r1}\n\
                    activity: {type: agent, status: passed}\n\
                    outputs: {files: [], usage: {token_in: 5, tokens_out: 4, tokens_cached: 7}}\n\
                    result: {sumary: It works, confidense: low, confidence: high}\n";
    let recorded = sandbox.flow_with(["record-activity", "--json", "--activity-file", "-"], document).ok().json();
    let told: Vec<_> = recorded["warnings"].as_array().unwrap().iter().map(|told| told.as_str().unwrap()).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    in the document, `metadata.run-id` means nothing to flow; did you mean `run_id`?
    in the document, `outputs.usage.token_in` means nothing to flow; did you mean `tokens_in`?
    in the document, `result.sumary` means nothing to flow; did you mean `summary`?
    ");
}

/// A run that another program wrote, with one activity of this status.
fn of_another_program(status: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let api = "apiVersion: flow.synapti.ai/v1\nkind:";
    let activities = sandbox.run_dir("r1").join("activities");
    std::fs::create_dir_all(&activities).unwrap();
    let run = format!(
        "{api} FlowRun\nmetadata: {{id: r1, workflow: start-issue, goal: it, created_at: '2026-05-20T14:30:00.000Z'}}\n\
         context: {{}}\nlimits: {{}}\nstate: {{status: active, current_phase: preflight, completed_activities: []}}\n"
    );
    std::fs::write(sandbox.run_dir("r1").join("run.yaml"), run).unwrap();
    let activity = format!(
        "{api} FlowActivity\nmetadata: {{id: b, run_id: r1, phase: preflight}}\nactivity: {{type: bash, status: {status}}}\n"
    );
    std::fs::write(activities.join("001-b.yaml"), activity).unwrap();
    sandbox
}

#[test]
fn work_that_another_program_left_open_is_told_by_lists_and_reports() {
    for (status, doing) in [("failed", json!("failing")), ("blocked", json!("waiting")), ("running", Value::Null)] {
        let sandbox = of_another_program(status);
        for is_adopted in [false, true] {
            if is_adopted {
                sandbox.flow(["set", "r1", "--goal", "that"]).ok();
            }
            let listed = sandbox.flow(["list", "--json"]).ok().json();
            assert_eq!(listed["runs"][0]["doing"], doing, "{status} {is_adopted}");
            let word = doing.as_str().unwrap_or("active");
            assert!(sandbox.flow(["show", "r1"]).ok().stdout.starts_with(word), "{status} {is_adopted}");
            let found = sandbox.flow(["list", "--status", word, "--json"]).ok().json();
            assert_eq!(found["runs"].as_array().unwrap().len(), 1, "{status} {is_adopted}");
            let report = sandbox.flow(["report", "r1", "--format", "json"]).ok().json();
            assert_eq!(report["open"][0]["id"], "b", "{status} {is_adopted}: {report}");
            sandbox.flow(["verify", "r1"]).ok();
        }
        sandbox.flow(["record-activity", "--run-id", "r1", "--id", "b", "--status", "passed"]).ok();
        assert_eq!(sandbox.flow(["list", "--json"]).ok().json()["runs"][0]["doing"], Value::Null, "{status}");
        assert_eq!(sandbox.flow(["report", "r1", "--format", "json"]).ok().json()["open"], json!([]), "{status}");
        sandbox.flow(["verify", "r1"]).ok();
    }
}

#[test]
fn of_a_run_without_a_log_nothing_is_said_that_only_a_log_can_do() {
    let sandbox = of_another_program("passed");
    let told = |args: &[&str]| sandbox.flow(args).stderr;
    insta::assert_snapshot!(told(&["show", "r1", "--at", "0"]), @"
    error: r1 has no event yet: another program wrote it
      help: `flow show r1` shows how it is now
    ");
    insta::assert_snapshot!(told(&["fork", "r1"]), @"
    error: r1 has no event yet to go on from: another program wrote it
      help: record something in it first, as `flow resume r1` says; or take it over for a session: `flow resume r1 --claim --session 'ID'`
    ");
    let len = sandbox.read("r1", "run.yaml").len();
    let proof = sandbox.flow(["verify", "r1"]).ok().stdout;
    assert!(proof.contains(&format!("{len} bytes")), "{proof}");
    sandbox.edit("r1", ", created_at: '2026-05-20T14:30:00.000Z'", "");
    let error = sandbox.flow(["resume", "r1", "--json"]).exits(65).error();
    assert!(!error["help"].as_str().unwrap().contains("doctor"), "{error}");
}
