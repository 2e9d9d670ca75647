//! The commands as their users meet them: arguments, answers, files.

use serde_json::{Value, json};

use crate::support::{Sandbox, can_inject, injecting, run};

#[test]
fn init_makes_what_is_missing_and_nothing_else() {
    let sandbox = Sandbox::new();
    let report = sandbox.flow(["init", "--json"]).ok().json();
    assert!(report["created"].as_array().unwrap().iter().any(|name| name == ".gitignore"));
    std::fs::write(sandbox.path(".flow/.gitignore"), "# Written by flow, changed by me\n").unwrap();
    std::fs::remove_file(sandbox.path(".flow/.gitattributes")).unwrap();
    let again = sandbox.flow(["init", "--json"]).ok().json();
    assert_eq!(again["created"], json!([".gitattributes"]));
    assert_eq!(sandbox.flow(["init", "--json"]).ok().json()["created"], json!([]));
    let kept = std::fs::read_to_string(sandbox.path(".flow/.gitignore")).unwrap();
    assert_eq!(kept, "# Written by flow, changed by me\n");
}

#[test]
fn start_finds_repository_and_branch_and_prints_the_id_alone() {
    let sandbox = Sandbox::new();
    let answer = sandbox.flow(["start", "start-issue", "--issue", "42", "--goal", "no crash"]).ok();
    let run = "2026-05-20T143003Z-issue-42";
    assert_eq!(answer.stdout, format!("{run}\n"));
    let phase = "The issue is open and readable, the working tree is clean, and the branch for the work exists.";
    assert!(answer.stderr.ends_with(&format!("\nin phase preflight (1 of 5): {phase}\n")), "{answer:?}");
    let text = sandbox.read(run, "run.yaml");
    for line in ["repo: acme/widgets", "branch: main", "issue: 42", "journal: .decisions/issue-42.md", "goal: no crash"]
    {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let report =
        sandbox.flow(["start", "review-pr", "--pr", "7", "--branch", "b", "--repo", "r", "--json"]).ok().json();
    let id = "2026-05-20T143004Z-review-pr-7";
    let wanted = json!({
        "run_id": id, "path": format!(".flow/runs/{id}"), "workflow": "review-pr", "phase": "preflight",
        "phase_number": 1, "phases": 4, "description": report["description"], "seq": 1, "session": null, "epoch": 0, "created": true,
        "warnings": [],
    });
    assert_eq!(report, wanted);
    assert!(report["description"].as_str().is_some_and(|text| !text.is_empty()));
}

#[test]
fn an_unknown_workflow_is_answered_with_the_one_that_is_meant() {
    let sandbox = Sandbox::new();
    let answer = sandbox.flow(["start", "start-isue"]).exits(3);
    assert_eq!(
        answer.stderr,
        "error: there is no workflow `start-isue`\n  help: did you mean `start-issue`? `flow workflow list` shows all\n"
    );
    std::fs::write(sandbox.path("t.mmd"), "stateDiagram-v2\n[*] --> a\na --> [*]\n").unwrap();
    assert_eq!(
        sandbox.flow(["workflow", "show", "t.mmd"]).exits(3).stderr,
        "error: there is no workflow `t.mmd`\n  help: to start it, put it into .flow/workflows/ and name it without its ending; `flow workflow check t.mmd` looks at a file anywhere; `flow workflow list` shows all\n"
    );
    let answer = sandbox.flow(["start", "nothing-like-it"]).exits(3);
    assert!(answer.stderr.ends_with("\n  help: `flow workflow list` shows all\n"), "{}", answer.stderr);
    assert!(!sandbox.path(".flow").exists());
}

#[test]
fn a_command_that_names_what_is_not_there_makes_no_project() {
    let sandbox = Sandbox::new();
    for command in [
        "start start-isue",
        "start debug --phase nowhere",
        "mode request nothing",
        "mode request forge --run r1",
        "mode write nothing --active true",
        "remote use git:nothing",
        "remote use s3://",
        "workflow new new --notation phases --from nothing",
        "emit --run-id r1 --workflow nothing --step a --status passed",
        "interview start nothing.txt",
        "record-activity --run-id r1 --name test --status passed",
        "exec --run-id r1 -- true",
    ] {
        let answer = sandbox.flow(command.split(' '));
        assert!(matches!(answer.code, Some(1..=3)), "{command}: {answer:?}");
        assert!(!sandbox.path(".flow").exists(), "{command}");
    }
}

#[test]
fn a_name_of_the_environment_and_a_file_for_a_directory_are_told_as_what_they_are() {
    let sandbox = Sandbox::new();
    sandbox.start("debug");
    let mut show = sandbox.flow_command();
    show.arg("show").env("FLOW_RUN", "a b");
    let told = run(show, "").exits(2).stderr;
    insta::assert_snapshot!(told, @r#"
    error: FLOW_RUN cannot name a run: the run id "a b" contains ' '; allowed are letters, digits, `.`, `_` and `-`, with a letter or digit first; correct or unset it
      help: see `flow help show`
    "#);
    std::fs::write(sandbox.path("file"), "").unwrap();
    for args in [["-C", "file", "list"], ["-C", "file", "init"]] {
        let told = sandbox.flow(args).exits(74).stderr;
        assert!(told.contains("/file\n") && told.contains("Not a directory"), "{args:?}: {told}");
    }
}

#[test]
fn a_second_start_in_the_same_second_gets_the_next_suffix() {
    let sandbox = Sandbox::new();
    let start = || {
        let mut command = sandbox.flow_command();
        command.args(["start", "debug", "--issue", "1", "--another"]).env("__FLOW_NOW", "2026-05-20T14:30:00Z");
        crate::support::run(command, "").ok().line().to_owned()
    };
    let ids = [start(), start(), start()];
    assert_eq!(ids, ["2026-05-20T143000Z-issue-1", "2026-05-20T143000Z-issue-1-2", "2026-05-20T143000Z-issue-1-3"]);
    for id in &ids {
        assert!(sandbox.read(id, "run.yaml").contains(&format!("id: {id}\n")));
    }
    // A run id that the caller chose is used once.
    sandbox.flow(["start", "debug", "--id", "run-A"]).ok();
    assert_eq!(sandbox.flow(["start", "debug", "--id", "run-A", "--json"]).exits(1).error()["code"], "run_exists");
    sandbox.flow(["start", "debug", "--id", "RUN-a"]).exits(1);
}

#[test]
fn a_record_is_one_file_one_event_and_a_line_in_the_run() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    std::fs::create_dir(sandbox.path("src")).unwrap();
    std::fs::write(sandbox.path("src/a.rs"), "").unwrap();
    let report = sandbox
        .flow([
            "record-activity",
            "--id",
            "run-tests",
            "--type",
            "bash",
            "--name",
            "Run the tests",
            "--status",
            "passed",
            "--summary",
            "all green",
            "--confidence",
            "high",
            "--evidence",
            "ci/1",
            "--evidence",
            "ci/2",
            "--file",
            "src/a.rs",
            "--exit-code",
            "0",
            "--started-at",
            "2026-05-20T14:00:00Z",
            "--advance",
            "--json",
        ])
        .ok()
        .json();
    let wanted = json!({
        "run_id": run, "seq": 2, "number": "001", "activity": "run-tests",
        "path": format!(".flow/runs/{run}/activities/001-run-tests.yaml"), "phase": "explore", "status": "passed", "exit_code": 0,
        "completed_activities": 1, "repeated": false, "warnings": [],
    });
    assert_eq!(report, wanted);
    let file = "\
apiVersion: flow.synapti.ai/v1
kind: FlowActivity
metadata:
  id: run-tests
  run_id: 2026-05-20T143003Z-issue-42
  workflow: start-issue
  phase: preflight
activity:
  type: bash
  name: Run the tests
  status: passed
  started_at: \"2026-05-20T14:00:00Z\"
  completed_at: \"2026-05-20T14:30:04.000Z\"
outputs:
  evidence_refs:
  - ci/1
  - ci/2
  files_changed:
  - src/a.rs
  command_exit_code: 0
result:
  summary: all green
  confidence: high
";
    assert_eq!(sandbox.read(&run, "activities/001-run-tests.yaml"), file);
    let state = sandbox.flow(["show", &run, "--json"]).ok().json()["state"].clone();
    assert_eq!(state["current_phase"], "explore");
    assert_eq!(state["completed_activities"], json!(["run-tests"]));
    assert_eq!(state["last_seq"], 2);
}

#[test]
fn flowruns_activity_file_is_recorded_from_a_file_and_from_standard_input() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let document = format!(
        "apiVersion: flow.synapti.ai/v1\nkind: FlowActivity\nmetadata:\n  id: preflight-checks\n  run_id: {run}\n  \
         workflow: start-issue\n  phase: preflight\nactivity:\n  type: bash\n  name: 'Preflight'\n  status: passed\n  \
         started_at: 2026-05-20T14:30:00Z\n  completed_at: 2026-05-20T14:31:00Z\noutputs:\n  evidence_refs: []\n  \
         files_changed: [a.rs, b.rs]\n  command_exit_code: 0\nresult:\n  summary: 'fine'\n  confidence: high\n"
    );
    std::fs::write(sandbox.path("activity.yaml"), &document).unwrap();
    let args = ["record-activity", "--run-id", &run, "--activity-file"];
    sandbox.flow(args.iter().chain(&["activity.yaml"])).ok();
    // Without --id the same file is another record, as with the original scripts.
    sandbox.flow_with(args.iter().chain(&["-"]), &document).ok();
    // With --id it is a retry.
    let once = sandbox.flow(args.iter().chain(&["activity.yaml", "--id", "again", "--json"])).ok().json();
    let twice = sandbox.flow(args.iter().chain(&["activity.yaml", "--id", "again", "--json"])).ok().json();
    assert_eq!((once["number"].as_str(), once["repeated"].as_bool()), (Some("003"), Some(false)));
    assert_eq!((twice["number"].as_str(), twice["repeated"].as_bool()), (Some("003"), Some(true)));
    assert_eq!((once["seq"].as_u64(), twice["seq"].as_u64()), (Some(4), Some(4)));
    assert!(sandbox.read(&run, "activities/001-preflight-checks.yaml").contains("2026-05-20T14:30:00Z"));
}

#[test]
fn the_same_id_with_other_content_is_refused_and_nothing_is_lost() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    let record = |summary: &str, status: &str| {
        sandbox.flow(["record-activity", "--id", "x", "--summary", summary, "--status", status, "--json"])
    };
    record("one", "failed").ok();
    assert!(record("one", "failed").ok().json()["repeated"].as_bool().unwrap());
    // What failed is tried again under the same id, and a retry of any attempt is answered with its record.
    assert_eq!(record("two", "failed").ok().json()["number"], "002");
    let late = record("one", "failed").ok().json();
    assert_eq!((&late["number"], &late["repeated"]), (&json!("001"), &json!(true)));
    assert_eq!(record("done", "passed").ok().json()["number"], "003");
    assert_eq!(record("two", "failed").ok().json()["number"], "002");
    let refused = record("done otherwise", "passed").exits(1).error();
    assert_eq!(refused["code"], "id_reused");
    assert_eq!(sandbox.flow(["log", &run, "--json"]).ok().json()["events"].as_array().unwrap().len(), 4);
}

#[test]
fn a_retry_is_answered_also_after_an_activity_was_recorded_under_its_id() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let record = |id: &str| sandbox.flow(["record-activity", "--run-id", "r1", "--id", id, "--json"]).ok().json();
    let block = || sandbox.flow(["block", "r1", "--reason", "why", "--id", "b1"]);
    let unblock = || sandbox.flow(["unblock", "r1", "--reason", "why", "--id", "u1"]);
    let advance = || sandbox.flow(["advance", "r1", "--id", "a1", "--json"]);
    let emit = || {
        let data = r#"{"message": "so"}"#;
        let args =
            ["emit", "--workflow", "debug", "--run-id", "r1", "--type", "btw_update", "--id", "e1", "--data", data];
        sandbox.flow(args)
    };
    let _ = (block().ok(), unblock().ok(), emit().ok(), record("work"));
    advance().ok();
    for id in ["b1", "u1", "e1", "a1"] {
        assert_eq!(record(id)["repeated"], false);
    }
    let before = sandbox.read("r1", "events.jsonl");
    let _ = (block().ok(), unblock().ok());
    for repeated in [emit().ok().json()["data"]["repeated"].clone(), advance().ok().json()["repeated"].clone()] {
        assert_eq!(repeated, true);
    }
    for id in ["b1", "u1", "e1", "a1"] {
        assert_eq!(record(id)["repeated"], true);
    }
    assert_eq!(sandbox.read("r1", "events.jsonl"), before);
    let other = sandbox.flow(["block", "r1", "--reason", "another", "--id", "b1", "--json"]);
    assert_eq!(other.exits(1).error()["code"], "id_reused");
}

#[test]
fn phases_are_checked_against_the_pinned_workflow() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let skip = sandbox.flow(["record-activity", "--phase", "plan", "--id", "x"]).exits(1);
    assert_eq!(
        skip.stderr,
        format!(
            "error: run {run}: the run cannot go from `preflight` to `plan`\n  help: from `preflight` it can go to \
             explore; you can also record more in `preflight`\n"
        )
    );
    let typo = sandbox.flow(["record-activity", "--phase", "exlore", "--id", "x", "--json"]).exits(1).error();
    assert_eq!(typo["code"], "unknown_phase");
    assert_eq!(typo["help"], "did you mean `explore`? The phases are preflight, explore, plan, code, verify");
    sandbox.flow(["record-activity", "--id", "x", "--advance", "verify"]).exits(1);
    assert!(sandbox.flow(["log", &run, "--json"]).ok().json()["events"].as_array().unwrap().len() == 1);
    for phase in ["preflight", "explore", "plan", "code", "verify"] {
        sandbox.record(&run, phase, phase);
    }
    let last = sandbox.flow(["record-activity", "--id", "y", "--advance", "--json"]).exits(1).error();
    assert_eq!(last["code"], "no_next_phase");
}

#[test]
fn hand_edits_are_adopted_and_bad_ones_refused_with_line_and_column() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    sandbox.record(&run, "preflight", "one");
    sandbox.edit(&run, "  current_phase: preflight", "  current_phase: plan # skip ahead, agreed with Ann");
    sandbox.edit(&run, "metadata:", "x-team: blue\nmetadata:");
    // `x-team` is not a key that the document may have on its top level.
    let refused = sandbox.flow(["record-activity", "--run-id", &run, "--id", "two"]).exits(65);
    let file = sandbox.run_dir(&run).join("run.yaml");
    let message = format!("error: {}:4:1 is not a valid run: ", file.display());
    assert!(refused.stderr.starts_with(&message), "{}", refused.stderr);
    sandbox.edit(&run, "x-team: blue\n", "");
    sandbox.edit(&run, "  id: ", "  x-team: blue # ours\n  id: ");
    sandbox.flow(["record-activity", "--id", "two"]).ok();
    let text = sandbox.read(&run, "run.yaml");
    assert!(text.contains("  current_phase: plan # skip ahead, agreed with Ann\n"), "{text}");
    assert!(text.contains("  x-team: blue # ours\n"), "{text}");
    let log = sandbox.flow(["log", &run, "--json"]).ok().json();
    let kinds: Vec<_> = log["events"].as_array().unwrap().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["run_started", "activity_recorded", "run_edited", "activity_recorded"]);
    assert_eq!(log["events"][2]["changes"], json!({"current_phase": "plan"}));

    sandbox.edit(&run, "current_phase: plan", "current_phase: paln");
    let refused = sandbox.flow(["record-activity", "--run-id", &run, "--id", "three", "--json"]).exits(65).error();
    assert_eq!(refused["code"], "edit_refused");
    assert!(
        refused["message"].as_str().unwrap().contains("run.yaml:20:18: state.current_phase is `paln`"),
        "{refused}"
    );
    assert!(refused["help"].as_str().unwrap().starts_with("did you mean `plan`?"), "{refused}");
    let kept = sandbox.read(&run, "run.yaml");
    assert!(kept.contains("current_phase: paln"));
}

#[test]
fn the_journal_gets_an_artifact_at_both_ends_and_nothing_else_changes() {
    let sandbox = Sandbox::new();
    let journal = sandbox.path(".decisions/issue-42.md");
    let before = "---\nissue: 42 # ours\ncreated: 2026-05-01T00:00:00Z\nartifacts:\n  - type: specification\n    \
                  captured_at: 2026-05-01T00:00:00Z\n---\n# Why\n\ntext\n";
    std::fs::write(&journal, before).unwrap();
    let run = sandbox.start("start-issue");
    sandbox.record(&run, "preflight", "x");
    sandbox.flow(["complete", &run, "--skip-reason", "enough"]).ok();
    let after = std::fs::read_to_string(&journal).unwrap();
    let entry = |at: &str, status: &str| {
        format!(
            "  - type: workflow-run\n    captured_at: \"{at}\"\n    workflow: start-issue\n    run_id: {run}\n    \
             status: {status}\n"
        )
    };
    let added = entry("2026-05-20T14:30:03.000Z", "active") + &entry("2026-05-20T14:30:05.000Z", "completed");
    assert_eq!(after, before.replace("00:00:00Z\n---\n#", &format!("00:00:00Z\n{added}---\n#")));
    // Values change their type as in the original's entries.
    sandbox.flow(["start", "debug", "--issue", "42", "--id", "123"]).ok();
    assert!(std::fs::read_to_string(&journal).unwrap().contains("    run_id: 123\n"));
    // Its loss is a warning.
    std::fs::write(&journal, "---\nissue: [\n").unwrap();
    let answer = sandbox.flow(["start", "debug", "--issue", "42", "--another"]).ok();
    assert!(answer.stderr.starts_with("warning: the journal .decisions/issue-42.md was not updated"), "{answer:?}");
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), "---\nissue: [\n");
}

#[test]
fn lists_are_newest_first_and_filtered() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.flow(["list", "--json"]).ok().json(), json!({"runs": [], "unreadable": [], "worktrees": []}));
    let first = sandbox.flow(["start", "debug", "--session", "s1"]).ok().line().to_owned();
    let second = sandbox.flow(["start", "release"]).ok().line().to_owned();
    sandbox.record(&first, "preflight", "x");
    sandbox.flow(["cancel", &second]).ok();
    let ids = |args: &[&str]| -> Vec<String> {
        let report = sandbox.flow(["list", "--json"].iter().chain(args)).ok().json();
        report["runs"].as_array().unwrap().iter().map(|run| run["run_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&[]), [second.clone(), first.clone()]);
    assert_eq!(ids(&["--status", "active"]), [first.as_str()]);
    assert_eq!(ids(&["--status", "cancelled,completed"]), [second.as_str()]);
    assert_eq!(ids(&["--workflow", "debug"]), [first.as_str()]);
    assert_eq!(ids(&["--session", "s1"]), [first.as_str()]);
    assert_eq!(ids(&["--since", "2026-05-20T14:30:07Z"]), [second.as_str()]);
    assert_eq!(ids(&["--since", "1d", "-n", "1"]), [second]);
    sandbox.flow(["list", "--since", "yesterday"]).exits(2);
    let human = sandbox.flow(["list"]).ok().stdout;
    assert!(human.lines().last().unwrap().contains("at work"), "{human}");
    // The word that a list shows is a status to ask for, too.
    assert_eq!(ids(&["--status", "at work"]), [first.as_str()]);
    assert_eq!(ids(&["--status", "ready"]), [""; 0]);
}

#[test]
fn show_goes_back_to_any_event() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.record(&run, "preflight", "one");
    sandbox.record(&run, "reproduce", "two");
    let at = |seq: &str| sandbox.flow(["show", &run, "--at", seq, "--json"]).ok().json();
    assert_eq!(at("1")["state"]["current_phase"], "preflight");
    assert_eq!(at("2")["state"]["completed_activities"], json!(["one"]));
    assert_eq!(at("2")["activities"].as_array().unwrap().len(), 1);
    assert_eq!(at("3")["state"], sandbox.flow(["show", &run, "--json"]).ok().json()["state"]);
    assert_eq!(sandbox.flow(["show", &run, "--at", "9", "--json"]).exits(3).error()["code"], "event_not_found");
    sandbox.flow(["show", &run, "--at", "0"]).exits(3);
}

#[test]
fn a_followed_log_prints_events_as_they_happen() {
    use std::io::{BufRead, BufReader};
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    let mut command = sandbox.flow_command();
    command.args(["log", &run, "--follow", "--json"]).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["type"], "run_started");
    sandbox.record(&run, "preflight", "one");
    assert_eq!(next()["activity"]["metadata"]["id"], "one");
    sandbox.record(&run, "preflight", "two");
    assert_eq!(next()["number"], "002");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn validate_names_every_violation_with_its_place() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.record(&run, "preflight", "one");
    assert_eq!(sandbox.flow(["validate"]).ok().stdout, "3 files checked, all valid\n");
    sandbox.edit(&run, "status: active", "status: Active");
    sandbox.edit(&run, "max_iterations: 10", "max_iterations: 0");
    let report = sandbox.flow(["validate", &run, "--json"]).exits(1).json();
    let found: Vec<_> = report["files"][0]["violations"].as_array().unwrap().iter().collect();
    assert_eq!(report["ok"], false);
    assert_eq!(found.iter().map(|one| one["line"].as_u64().unwrap()).collect::<Vec<_>>(), [18, 31]);
    let human = sandbox.flow(["validate"]).exits(1).stdout;
    assert!(human.contains(&format!(".flow/runs/{run}/run.yaml:18:11: ")), "{human}");
    sandbox.edit(&run, "status: Active", "status: active");
    sandbox.edit(&run, "max_iterations: 0", "max_iterations: 10");
    sandbox.edit(&run, "current_phase: preflight", "current_phase: prefligth");
    let human = sandbox.flow(["validate", &run]).exits(1).stdout;
    insta::assert_snapshot!(human, @r"
    .flow/runs/2026-05-20T143003Z-issue-42/run.yaml:19:18: state.current_phase is `prefligth`, which the workflow does not have
    3 files checked, 1 not valid
    ");
    assert_eq!(sandbox.flow(["validate", "no/such.yaml", "--json"]).exits(3).error()["code"], "input_unreadable");
    sandbox.flow(["validate", "no-such-run"]).exits(3);
}

#[test]
fn validate_knows_workflows_in_every_notation() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let graph = "initial: a\nstates:\n  a: {type: agent, transition: {next: b}}\n  b: {type: terminal}\n";
    let diagram = "stateDiagram-v2\n[*] --> a\na --> [*]\n";
    let skill = format!("# s\n\n## STATE-MACHINE\n\n```mermaid\n{diagram}```\n");
    let files = [("g.graph.yaml", graph), ("other.yaml", graph), ("d.mmd", diagram), ("SKILL.md", &skill)];
    for (name, text) in files {
        std::fs::write(sandbox.path(name), text).unwrap();
        sandbox.flow(["validate", name]).ok();
        std::fs::write(sandbox.path(name), text.replace("a", "a b")).unwrap();
        sandbox.flow(["validate", name]).exits(1);
    }
    for (name, broken) in [
        ("d.mmd", "stateDiagram-v2\n[*] --> a\na --> b c\n"),
        ("g.yaml", "initial: z\nstates: {a: {type: terminal}}\n"),
    ] {
        std::fs::write(sandbox.path(format!(".flow/workflows/{name}")), broken).unwrap();
    }
    for all in [&["validate", "--json"][..], &["validate", ".flow/workflows", "--json"]] {
        let report = sandbox.flow(all).exits(1).json();
        let files = report["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap());
        assert_eq!(files.collect::<Vec<_>>(), [".flow/workflows/d.mmd", ".flow/workflows/g.yaml"]);
    }
}

#[test]
fn no_second_run_begins_beside_one_that_cannot_be_read() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "one", "--issue", "42"]).ok();
    let dir = sandbox.run_dir("one");
    let start =
        |issue: &str, options: &[&str]| sandbox.flow([&["start", "debug", "--issue", issue][..], options].concat());
    std::fs::write(dir.join("run.yaml"), "{\n").unwrap();
    assert_eq!(start("42", &["--json"]).exits(1).error()["code"], "run_open");
    start("7", &["--id", "seven"]).ok();
    std::fs::write(dir.join("events.jsonl"), "").unwrap();
    let refused = start("8", &["--json"]).exits(65).error();
    assert_eq!(refused["code"], "run_unreadable", "{refused}");
    assert!(refused["message"].as_str().unwrap().ends_with("so it may be about the same"), "{refused}");
    start("8", &["--another"]).ok();
}

#[test]
fn validate_judges_files_as_the_commands_do_that_read_them() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    let here = |name: &str, text: &str| std::fs::write(sandbox.path(name), text).unwrap();
    // Neither is a definition to the catalog.
    here(".flow/workflows/README.md", "# Our workflows\n\nNo diagram.\n");
    here(".flow/workflows/other.yml", "a: 1\n");
    assert_eq!(sandbox.flow(["validate"]).ok().stdout, "2 files checked, all valid\n");
    sandbox.flow(["validate", ".flow/workflows/README.md"]).exits(1);

    here(".flow/config.yaml", "commands: {test: [cargo, test]}\n");
    sandbox.flow(["validate", ".flow/config.yaml"]).ok();
    here(".flow/config.yaml", "commands: 7\n");
    let report = sandbox.flow(["validate", ".flow/config.yaml", "--json"]).exits(1).json();
    assert_eq!(report["files"][0]["kind"], "configuration", "{report}");
    std::fs::remove_file(sandbox.path(".flow/config.yaml")).unwrap();

    let activity = "apiVersion: flow.synapti.ai/v1\nkind: FlowActivity\nmetadata: {id: a, phase: preflight}\n\
                    activity: {type: agent, status: passed}\n";
    here("a.yaml", activity);
    sandbox.flow(["validate", "a.yaml"]).ok();
    sandbox.flow(["record-activity", "--activity-file", "a.yaml"]).ok();
    here("a.yaml", &activity.replace("passed", "perfect"));
    sandbox.flow(["validate", "a.yaml"]).exits(1);
    here("a.yaml", &activity.replace("passed}", "passed, completed_at: yesterday}").replace("id: a", "id: b"));
    let recorded = sandbox.flow(["record-activity", "--activity-file", "a.yaml"]).ok();
    insta::assert_snapshot!(recorded.stderr, @"warning: completed_at is `yesterday`, which is not a time such as 2026-05-20T14:30:00Z");

    let log = sandbox.run_dir(&run).join("events.jsonl");
    std::fs::File::options().write(true).open(&log).unwrap().set_len(900 << 20).unwrap();
    let report = sandbox.flow(["validate", &run, "--json"]).exits(1).json();
    let message = report["files"][0]["violations"][0]["message"].as_str().unwrap();
    assert_eq!(message, "has 9 MB without an event, so it is not read any further");
}

#[test]
fn the_state_machine_of_a_skill_is_found_checked_and_started() {
    let sandbox = Sandbox::new();
    let skill = "---\nname: scan\ndescription: Look for things.\n---\n# Scan\n\n## STATE-MACHINE\n\n```mermaid\n\
                 stateDiagram-v2\n[*] --> scan\nscan --> analyze : scan_complete\n\
                 analyze --> report : analysis_complete\nreport --> [*] : done\n```\n\nOn each transition, report it.\n";
    let path = sandbox.path(".claude/skills/scan/SKILL.md");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, skill).unwrap();
    let checked = sandbox.flow(["workflow", "check", ".claude/skills/scan/SKILL.md", "--json"]).ok().json();
    assert_eq!(
        checked,
        json!({
            "id": "scan", "notation": "mermaid", "origin": ".claude/skills/scan/SKILL.md",
            "description": "Look for things.",
            "states": [
                {"name": "scan", "label": null, "type": null, "description": null},
                {"name": "analyze", "label": null, "type": null, "description": null},
                {"name": "report", "label": null, "type": null, "description": null},
            ],
            "initial": ["scan"], "terminal": ["report"], "gates": [],
            "requires": [],
            "transitions": [
                {"from": "scan", "to": "analyze", "label": "scan_complete"},
                {"from": "analyze", "to": "report", "label": "analysis_complete"},
            ],
            "diagnostics": [],
        })
    );
    let run = sandbox.flow(["start", "scan", "--json"]).ok().json();
    assert_eq!((&run["workflow"], &run["phase"]), (&json!("scan"), &json!("scan")));
    let run = run["run_id"].as_str().unwrap();
    sandbox.record(run, "scan", "scanned");
    sandbox.flow(["record-activity", "--run-id", run, "--phase", "analyze", "--id", "a"]).ok();
    sandbox.flow(["record-activity", "--run-id", run, "--phase", "scan", "--id", "b"]).exits(1);
    // What the heading of a skill almost says is no reason to take another workflow.
    std::fs::write(&path, skill.replace("## STATE", "### STATE")).unwrap();
    let refused = sandbox.flow(["start", "scan"]).exits(1);
    assert!(
        refused.stderr.contains("line 7: `### STATE-MACHINE` is not the heading of a state machine"),
        "{}",
        refused.stderr
    );
    std::fs::write(&path, "# Scan\n").unwrap();
    let error = sandbox.flow(["start", "scan", "--json"]).exits(1).error();
    assert_eq!(error["code"], "no_state_machine");
    assert!(
        error["help"].as_str().unwrap().ends_with("only `flow emit` reports steps of a run without one"),
        "{error}"
    );
    // Its steps are free, and every command says so.
    let running = ["--type", "status_change", "--step", "look", "--data", r#"{"status":"completed"}"#];
    sandbox.flow(["emit", "--workflow", "scan", "--run-id", "free"].iter().chain(&running)).ok();
    let told = sandbox.flow(["resume", "free"]).ok().stdout;
    insta::assert_snapshot!(told, @r"
    continue  free  scan
      why         `look` is done; no definition says what follows
      phase       look
      next        look
      if the run is at its end:
        flow complete free
      completed
        001  look  look  passed, claimed
      uncommitted: 1 file outside flow's own files
        .claude/skills/scan/SKILL.md
      note        its workflow has no state machine: its steps are free, and `flow complete free` ends the run
      other open runs
        2026-05-20T143004Z-scan  scan  ready  analyze 2/3
    ");
    assert!(sandbox.flow(["next", "free"]).ok().stdout.contains("no definition says what follows"));
    let error = sandbox.flow(["advance", "free", "--json"]).exits(1).error();
    assert_eq!(error["message"], "run free: no definition says what follows `look`");
    assert_eq!(error["help"], "name the phase that follows, or end the run: `flow complete free`");
}

#[test]
fn a_list_of_workflows_fits_the_columns_that_there_are() {
    let sandbox = Sandbox::new();
    for args in [&["workflow", "list"][..], &["start"]] {
        let mut command = sandbox.flow_command();
        command.args(args).env("COLUMNS", "40");
        let answer = run(command, "");
        let rows = answer.stdout + &answer.stderr;
        let mut rows = rows.lines().filter(|line| !line.starts_with('`'));
        assert!(rows.all(|line| line.chars().count() <= 40), "{args:?}");
    }
}

#[test]
fn a_name_that_is_a_file_is_sent_to_the_check_of_files() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("docs")).unwrap();
    for file in ["x.yaml", "x.yml", "docs/x", "docs/x.mmd"] {
        std::fs::write(sandbox.path(file), "").unwrap();
        let error = sandbox.flow(["start", file, "--json"]).error();
        assert!(error["help"].as_str().unwrap().contains(&format!("`flow workflow check {file}`")), "{file}: {error}");
    }
}

#[test]
fn no_password_of_an_address_gets_into_a_run() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1", "--issue", "https://u:p@h.example/o/n/issues/7?x=1"]).ok();
    let text = sandbox.read("r1", "run.yaml") + &sandbox.read("r1", "events.jsonl");
    assert!(text.contains("https://h.example/o/n/issues/7?x=1") && !text.contains("u:p"), "{text}");
}

#[test]
fn a_workflow_is_drawn_and_written_in_every_notation() {
    let sandbox = Sandbox::new();
    let drawn = sandbox.flow(["workflow", "graph", "build-fast"]).ok().stdout;
    insta::assert_snapshot!(drawn, @r"
    stateDiagram-v2
        plan : The change and its check are written down
        build : The change is made, and its check passes
        review : Somebody else has read the change
        [*] --> plan
        plan --> build : plan_ready
        build --> review : build_complete
        review --> [*]
    ");
    let json = sandbox.flow(["workflow", "graph", "build-fast", "--json"]).ok().json();
    insta::assert_snapshot!(json["picture"].as_str().unwrap(), @r"
      ●
      ▼
      plan   The change and its check are written down
      │ plan_ready
      ▼
      build   The change is made, and its check passes
      │ build_complete
      ▼
      review   Somebody else has read the change
      ◉
    ");
    let phases = sandbox.flow(["workflow", "convert", "build-fast", "--to", "phases"]).ok();
    insta::assert_snapshot!(format!("{}{}", phases.stdout, phases.stderr), @r"
    apiVersion: flow.synapti.ai/v1
    kind: FlowWorkflow
    metadata:
      id: build-fast
      version: 1
      description: Make a small change in three steps.
    phases:
    - id: plan
      label: The change and its check are written down
    - id: build
      label: The change is made, and its check passes
    - id: review
      label: Somebody else has read the change
    warning: left out or changed in the phases notation: the labels of 2 transitions
    warning: left out or changed in the phases notation: the label of 1 beginning or end (`[*]`)
    ");
    std::fs::write(sandbox.path("build-fast.workflow.yaml"), &phases.stdout).unwrap();
    let graph =
        sandbox.flow(["workflow", "convert", "build-fast.workflow.yaml", "--to", "graph", "--json"]).ok().json();
    assert_eq!((&graph["from"], &graph["to"]), (&json!("phases"), &json!("graph")));
    assert_eq!(graph["losses"], json!(["`agent` is the type of 3 states without one"]));
    std::fs::write(sandbox.path("fast.yaml"), "initial: a\nstates:\n  a: {type: planner, transition: {next: [b]}}\n")
        .unwrap();
    let refused = sandbox.flow(["workflow", "graph", "fast.yaml", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "invalid_workflow");
    assert!(refused["message"].as_str().unwrap().ends_with("line 3: there is no state `b`"), "{refused}");
    assert_eq!(refused["causes"], json!([]), "the sentence has it");
    let typed = sandbox.flow(["workflow", "check", "fast.yaml", "--type", "planner", "--json"]).exits(1).json();
    assert_eq!(typed["diagnostics"][0]["code"], "next_unknown");
}

#[test]
fn every_shipped_workflow_ends_in_every_notation() {
    let sandbox = Sandbox::new();
    let list = sandbox.flow(["workflow", "list", "--json"]).ok().json();
    for entry in list["workflows"].as_array().unwrap() {
        let id = entry["id"].as_str().unwrap();
        // A file of phases is named after its workflow.
        let own = format!("metadata:\n  id: {id}\n");
        for (to, file) in [("graph", "w.graph.yaml"), ("phases", "w.workflow.yaml"), ("mermaid", "w.mmd")] {
            let convert = |from: &str, to: &str| sandbox.flow(["workflow", "convert", from, "--to", to]).ok().stdout;
            let checked = |file: &str, text: String| {
                std::fs::write(sandbox.path(file), text.replace(&own, "metadata:\n  id: w\n")).unwrap();
                let checked = sandbox.flow(["workflow", "check", file, "--json"]).ok().json();
                let codes: Vec<_> = checked["diagnostics"].as_array().unwrap().iter().map(|one| &one["code"]).collect();
                let bad = ["no_path_to_terminal", "unreachable_state"];
                assert!(!codes.iter().any(|code| bad.contains(&code.as_str().unwrap())), "{id} as {to}: {checked}");
            };
            let text = convert(id, to);
            checked(file, text.clone());
            // And back.
            for (again, other) in [("graph", "w.graph.yaml"), ("phases", "w.workflow.yaml"), ("mermaid", "w.mmd")] {
                std::fs::write(sandbox.path(file), text.replace(&own, "metadata:\n  id: w\n")).unwrap();
                checked(other, convert(file, again));
            }
        }
    }
}

#[test]
fn a_conversion_says_what_is_lost_and_nothing_else() {
    let sandbox = Sandbox::new();
    let convert = |file: &str, to: &str| sandbox.flow(["workflow", "convert", file, "--to", to, "--json"]).ok().json();
    let graph = "description: A long way\ninitial: a\nstates:\n  a: {type: agent, transition: {next: []}}\n";
    std::fs::write(sandbox.path("w.graph.yaml"), graph).unwrap();
    let phases = convert("w.graph.yaml", "phases");
    assert_eq!(phases["losses"], json!([]));
    assert!(phases["text"].as_str().unwrap().contains("  description: A long way\n"), "{phases}");
    std::fs::write(sandbox.path("w.workflow.yaml"), phases["text"].as_str().unwrap()).unwrap();
    let back = convert("w.workflow.yaml", "graph");
    assert_eq!(back["losses"], json!([]));
    assert!(back["text"].as_str().unwrap().starts_with("description: A long way\n"), "{back}");
    assert_eq!(convert("w.graph.yaml", "mermaid")["losses"], json!(["the types of 1 state", "`description`"]));
    assert_eq!(
        convert("w.workflow.yaml", "mermaid")["losses"],
        json!(["the types of 1 state", "`metadata.description`"])
    );
    // What a skill is for is said above its diagram.
    let diagram = "stateDiagram-v2\n[*] --> a : begin\na --> b : go\nb --> [*] : done\n";
    let skill = format!("---\ndescription: A skill\n---\n## STATE-MACHINE\n```mermaid\n{diagram}```\n");
    std::fs::write(sandbox.path("skill.md"), skill).unwrap();
    std::fs::write(sandbox.path("w.mmd"), diagram).unwrap();
    let ends = "the labels of 2 beginnings and ends (`[*]`)";
    for file in ["skill.md", "w.mmd"] {
        assert_eq!(convert(file, "mermaid")["losses"], json!([ends]), "{file}");
        let lost = json!(["the labels of 1 transition", "`agent` is the type of 2 states without one", ends]);
        assert_eq!(convert(file, "graph")["losses"], lost, "{file}");
    }
    assert!(convert("skill.md", "graph")["text"].as_str().unwrap().starts_with("description: A skill\n"));
}

#[test]
fn workflows_are_listed_shown_and_checked() {
    let sandbox = Sandbox::new();
    let list = sandbox.flow(["workflow", "list", "--json"]).ok().json();
    let ids: Vec<_> = list["workflows"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    assert!(ids.is_sorted() && ids.len() == 15 && ids.contains(&"build") && ids.contains(&"debug"));
    let shown = sandbox.flow(["workflow", "show", "review-pr", "--json"]).ok().json();
    let states: Vec<_> =
        shown["states"].as_array().unwrap().iter().map(|state| state["name"].as_str().unwrap()).collect();
    assert_eq!(states, ["preflight", "fan-out", "consolidate", "report"]);
    assert_eq!((&shown["initial"], &shown["terminal"]), (&json!(["preflight"]), &json!(["report"])));
    sandbox.flow(["init"]).ok();
    let text = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: own\nphases:\n  - id: build\n    \
                next: [tset]\n  - id: test\n  - id: build\n";
    std::fs::write(sandbox.path(".flow/workflows/own.workflow.yaml"), text).unwrap();
    let report = sandbox.flow(["workflow", "check", "own", "--json"]).exits(1).json();
    let codes: Vec<_> = report["diagnostics"].as_array().unwrap().iter().map(|one| one["code"].clone()).collect();
    assert_eq!(codes, ["next_unknown", "duplicate_state"]);
    let human = sandbox.flow(["workflow", "check", ".flow/workflows/own.workflow.yaml"]).exits(1).stdout;
    insta::assert_snapshot!(human, @r"
    error[next_unknown]: there is no state `tset`
     --> .flow/workflows/own.workflow.yaml:7:12
      |
    7 |     next: [tset]
      |            ^^^^
      |
      = help: did you mean `test`?

    error[duplicate_state]: the state `build` is declared twice
     --> .flow/workflows/own.workflow.yaml:9:9
      |
    9 |   - id: build
      |         ^^^^^
      |
      = help: it is declared on line 6 already
    ");
    assert_eq!(sandbox.flow(["start", "own", "--json"]).exits(1).error()["code"], "invalid_workflow");
}

#[test]
fn documents_of_the_original_scripts_open_resume_and_are_adopted() {
    let sandbox = Sandbox::new();
    let run = "2026-05-20T143000Z-issue-42";
    std::fs::create_dir_all(sandbox.run_dir(run).join("activities")).unwrap();
    let text = "apiVersion: flow.synapti.ai/v1\nkind: FlowRun\nmetadata:\n  id: 2026-05-20T143000Z-issue-42\n  \
                workflow: start-issue\n  workflow_version: 1\n  goal: null\n  created_at: 2026-05-20T14:30:00Z\n\
                context:\n  repo: acme/widgets\n  branch: main\n  issue: 42\n  pr: null\n  journal: \n\
                state:\n  status: active # by hand\n  current_phase: explore\n  current_activity: null\n  \
                completed_activities: [preflight-checks, explore-code]\n  blocked_reason: null\n\
                limits:\n  max_iterations: 10\n  max_runtime_minutes: null\nevents:\n  - at: 2026-05-20T14:30:00Z\n    \
                type: run_started\n";
    let write = |name: &str, text: &str| std::fs::write(sandbox.run_dir(run).join(name), text).unwrap();
    write("run.yaml", text);
    write(
        "events.jsonl",
        "{\"activity\": \"preflight-checks\", \"at\": \"2026-05-20T14:31:00Z\", \"type\": \"activity_recorded\"}\n",
    );
    for (name, phase) in [("001-preflight-checks", "preflight"), ("002-explore-code", "explore")] {
        let activity = format!(
            "apiVersion: flow.synapti.ai/v1\nkind: FlowActivity\nmetadata:\n  id: {}\n  run_id: {run}\n  phase: {phase}\n\
             activity:\n  type: bash\n  status: passed\n",
            &name[4..]
        );
        write(&format!("activities/{name}.yaml"), &activity);
    }
    let proof = sandbox.flow(["verify", run, "--json"]).ok().json();
    assert!(proof["notes"].to_string().contains("another program made the run"), "{proof}");
    let report = sandbox.flow(["resume", "--json"]).ok().json();
    assert_eq!(report["verdict"], "continue", "{report:#}");
    assert_eq!(report["completed"][1]["number"], "002");
    // Adopting pins the workflow; from then on it is a run like any other.
    let record = sandbox.record(run, "plan", "plan");
    assert_eq!(record["number"], "003");
    let report = sandbox.flow(["resume", "--json"]).ok().json();
    assert_eq!(report["next"]["phase"], "code", "{report:#}");
    assert_eq!(report["completed"].as_array().unwrap().len(), 3);
    assert_eq!(report["completed"][0]["id"], "preflight-checks");
    assert!(sandbox.read(run, "run.yaml").contains("status: active # by hand\n"));
    let log = sandbox.flow(["log", run, "--json"]).ok().json();
    assert_eq!(log["events"][0]["type"], "run_adopted");
    assert_eq!(log["skipped"].as_array().unwrap().len(), 1);
    sandbox.flow(["record-activity", "--phase", "verify", "--id", "x"]).exits(1);
}

#[test]
fn a_phase_that_the_original_scripts_spelled_with_an_underscore_goes_on_like_any_other() {
    let sandbox = Sandbox::new();
    let run = "2026-05-20T143000Z-pr-7";
    std::fs::create_dir_all(sandbox.run_dir(run).join("activities")).unwrap();
    let text = "apiVersion: flow.synapti.ai/v1\nkind: FlowRun\nmetadata:\n  id: 2026-05-20T143000Z-pr-7\n  \
                workflow: review-pr\n  workflow_version: 1\n  created_at: 2026-05-20T14:30:00Z\n\
                context:\n  repo: acme/widgets\n  branch: main\nstate:\n  status: active\n  current_phase: fan_out\n  \
                current_activity: null\n  completed_activities: []\n  blocked_reason: null\n\
                limits:\n  max_iterations: 10\n";
    std::fs::write(sandbox.run_dir(run).join("run.yaml"), text).unwrap();
    let report = sandbox.flow(["resume", "--json"]).ok().json();
    assert_eq!((&report["next"]["phase"], &report["next"]["choices"]), (&json!("fan_out"), &json!(["consolidate"])));
    sandbox.record(run, "fan_out", "reviews");
    let report = sandbox.flow(["resume", "--json"]).ok().json();
    assert_eq!((&report["next"]["phase"], &report["notes"]), (&json!("consolidate"), &json!([])), "{report:#}");
    sandbox.record(run, "consolidate", "merged");
    let report = sandbox.flow(["resume", "--json"]).ok().json();
    assert_eq!((&report["next"]["phase"], &report["notes"]), (&json!("report"), &json!([])), "{report:#}");
    sandbox.flow(["verify", run]).ok();
}

#[test]
fn session_end_marks_only_its_own_runs_and_never_fails() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.flow(["session-end", "--unowned"]).ok().stdout, "");
    let mine = sandbox.flow(["start", "debug", "--session", "s1", "--slug", "mine"]).ok().line().to_owned();
    let other = sandbox.flow(["start", "debug", "--session", "s2", "--slug", "other"]).ok().line().to_owned();
    let free = sandbox.flow(["start", "debug", "--slug", "free"]).ok().line().to_owned();
    let broken = sandbox.flow(["start", "debug", "--slug", "broken"]).ok().line().to_owned();
    std::fs::write(sandbox.run_dir(&broken).join("run.yaml"), "[").unwrap();
    let answer = sandbox.flow_with(["session-end"], r#"{"session_id": "s1", "reason": "clear"}"#).ok();
    let notice = |run: &str| format!("Active FlowRun {run} persisted; use /flow:resume to continue\n");
    assert_eq!(answer.stdout, notice(&mine));
    insta::assert_snapshot!(sandbox.masked(&answer.stderr), @"warning: run 2026-05-20T143007Z-broken cannot be read: ROOT/.flow/runs/2026-05-20T143007Z-broken/run.yaml:1:1 is not valid YAML: unclosed bracket '['");
    assert!(sandbox.read(&mine, "run.yaml").contains("blocked_reason: session ended"));
    assert!(!sandbox.read(&other, "run.yaml").contains("session ended"));
    assert!(!sandbox.read(&free, "run.yaml").contains("session ended"));
    // Without a session, the runs that nobody holds are meant.
    assert_eq!(sandbox.flow(["session-end", "--unowned"]).ok().stdout, notice(&free));
    // Again there is nothing to say; garbage on standard input is no reason to fail.
    assert_eq!(sandbox.flow_with(["session-end", "--session", "s1"], "\u{1}garbage").ok().stdout, "");
    // Work goes on: the mark goes with the next record.
    sandbox.record(&mine, "preflight", "x");
    assert!(sandbox.read(&mine, "run.yaml").contains("blocked_reason: null"));
}

#[test]
fn help_completions_manual_and_schemas_are_there() {
    let sandbox = Sandbox::new();
    assert!(sandbox.flow(["--help"]).ok().stdout.contains("Exit status:"));
    assert!(sandbox.flow(["record-activity", "--help"]).ok().stdout.contains("--advance"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(sandbox.flow(["completions", shell]).ok().stdout.contains("FLOW_COMPLETE"), "{shell}");
    }
    assert!(sandbox.flow(["man"]).ok().stdout.contains(".TH flow"));
    let schema: Value = serde_json::from_str(&sandbox.flow(["schema", "run"]).ok().stdout).unwrap();
    assert!(schema["$id"].as_str().unwrap().ends_with("run.schema.json"));
    let error = sandbox.flow(["--json", "frobnicate"]).exits(2).error();
    assert_eq!(error["code"], "usage");
}

/// What a shell offers for the last of these words, without options.
fn completed(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let mut command = sandbox.flow_command();
    command.args(["--", "flow"]).args(words).env("FLOW_COMPLETE", "fish");
    let answer = run(command, "").ok();
    assert_eq!(answer.stderr, "");
    answer.stdout.lines().filter(|line| !line.starts_with('-')).map(str::to_owned).collect()
}

#[test]
fn a_shell_completes_runs_phases_and_workflows() {
    let sandbox = Sandbox::new();
    assert_eq!(completed(&sandbox, &["show", ""]), [""; 0], "there is no project");
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["cancel", "r1", "--reason", "enough"]).ok();
    sandbox.flow(["start", "review-pr", "--id", "r2"]).ok();
    for words in [&["show", ""][..], &["resume", ""], &["record-activity", "--run-id", ""], &["advance", "r"]] {
        assert_eq!(completed(&sandbox, words), ["r2\treview-pr active", "r1\tdebug cancelled"], "{words:?}");
    }
    assert_eq!(completed(&sandbox, &["show", "r1"]), ["r1\tdebug cancelled"]);
    let names = |words: &[&str]| -> Vec<String> {
        completed(&sandbox, words).iter().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    for option in ["--phase", "--advance"] {
        let phases = ["preflight", "fan-out", "consolidate", "report"];
        assert_eq!(names(&["record-activity", option, ""]), phases, "{option}");
    }
    // A run moves only to what can follow.
    assert_eq!(names(&["advance", "r2", "--to", ""]), ["fan-out"]);
    assert_eq!(names(&["advance", "--to", ""]), ["fan-out"]);
    assert_eq!(names(&["start", "re"]), ["release", "review-pr"]);
    // By any part of a name: the names that flow makes all begin with a date.
    sandbox.flow(["start", "start-issue", "--issue", "42"]).ok();
    assert_eq!(names(&["resume", "issue-4"]).len(), 1);
    for words in [
        &["workflow", "show", "re"][..],
        &["drive", "re"],
        &["emit", "--workflow", "re"],
        &["list", "--workflow", "re"],
    ] {
        assert_eq!(names(words), ["release", "review-pr"], "{words:?}");
    }
    assert_eq!(names(&["emit", "--type", "user"]), ["user_answered"]);
    assert_eq!(names(&["emit", "--step", "pre"]), ["preflight"]);
    std::fs::write(sandbox.path(".flow/config.yaml"), "commands: {test: cargo test, lint: cargo clippy}\n").unwrap();
    assert_eq!(completed(&sandbox, &["exec", "t"]), ["test\tcargo test"]);
    assert!(names(&["mode", "request", ""]).contains(&"blueprint".to_owned()));
    assert_eq!(names(&["start", "start-issue", "--phase", "c"]), ["code"]);
    assert_eq!(names(&["interview", "start", "notes.md", "--run-id", "issue-4"]).len(), 1);
    assert_eq!(names(&["interview", "start", "notes.md", "--script", ""]), ["charter"]);
    assert_eq!(names(&["man", "st"]), ["start"]);
    assert_eq!(names(&["man", "workflow", "ch"]), ["check"]);
    assert_eq!(names(&["hook", "a"]), ["auto"]);
    assert_eq!(names(&["hook", "codex", "session"]), ["session-start", "session-end"]);
    sandbox.flow(["start", "debug", "--id", "r3", "--session", "monday"]).ok();
    for words in [&["list", "--session", "m"][..], &["resume", "--session", "mon"], &["mode", "list", "--session", ""]]
    {
        assert_eq!(completed(&sandbox, words), ["monday\tr3"], "{words:?}");
    }
    assert!(names(&["rec"]).contains(&"record-activity".to_owned()));
    // No project, or one that cannot be read, is nothing to complete, and no error.
    std::fs::remove_dir_all(sandbox.path(".flow/runs")).unwrap();
    std::fs::write(sandbox.path(".flow/runs"), "").unwrap();
    assert_eq!(completed(&sandbox, &["show", ""]), [""; 0]);
}

#[test]
fn small_words_are_the_right_ones() {
    let sandbox = Sandbox::new();
    // Without a project no mode is active, so there is nothing to end.
    for args in [&["mode", "clear", "blueprint"][..], &["mode", "cancel"]] {
        let answer = sandbox.flow(args).ok();
        assert!(!answer.stderr.contains("no runs here"), "{answer:?}");
    }
    assert!(!sandbox.path(".flow").exists());
    for word in ["delete", "remove", "rm"] {
        assert!(sandbox.flow([word, "r1"]).exits(2).stderr.contains("did you mean `flow prune`"), "{word}");
    }
    let manual = sandbox.flow(["man", "start"]).ok().stdout;
    assert!(manual.contains(concat!("\"flow ", env!("CARGO_PKG_VERSION"), "\"")), "{manual}");
    assert!(sandbox.flow(["help", "sources"]).ok().stdout.starts_with("# "));
    sandbox.flow(["start", "start-issue", "--issue", "42"]).ok();
    sandbox.flow(["start", "review-pr", "--pr", "42"]).ok();
    // A bare `#` begins a comment in a shell.
    let message = sandbox.flow(["show", "#42", "--json"]).exits(2).error()["message"].clone();
    assert!(message.as_str().unwrap().starts_with("'#42' fits several runs: "), "{message}");
    std::fs::write(sandbox.path(".flow/config.yaml"), "journal: yes please\n").unwrap();
    let error = sandbox.flow(["start", "debug", "--json"]).exits(1).error();
    assert!(error["message"].as_str().unwrap().ends_with("`journal` must be true or false"), "{error}");
}

#[test]
fn a_shell_completes_for_the_run_and_the_project_that_the_line_names() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["start", "review-pr", "--id", "r2"]).ok();
    let names = |words: &[&str]| -> Vec<String> {
        completed(&sandbox, words).iter().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    let of_r1 = ["preflight", "reproduce", "diagnose", "verify"].map(str::to_owned);
    for words in [
        &["record-activity", "--run-id", "r1", "--phase", ""][..],
        &["record-activity", "--run-id=r1", "--summary", "x", "--advance", ""],
        &["exec", "--run-id", "r1", "--phase", ""],
        &["emit", "--run-id", "r1", "--step", ""],
        &["emit", "--workflow", "debug", "--step", ""],
    ] {
        let offered = names(words);
        assert!(
            of_r1.iter().all(|phase| offered.contains(phase)) && !offered.contains(&"fan-out".into()),
            "{words:?} {offered:?}"
        );
    }
    assert!(names(&["advance", "r2", "--to", "fan"]).contains(&"fan-out".to_owned()));
    // The project is the one that the line names, before the command or behind it.
    let other = sandbox.path("../other");
    std::fs::create_dir(&other).unwrap();
    let dir = other.to_str().unwrap();
    sandbox.flow(["-C", dir, "start", "release", "--id", "o1"]).ok();
    for words in [
        &["-C", dir, "show", ""][..],
        &["show", "-C", dir, ""],
        &[&format!("--project={dir}"), "show", ""],
        &["resume", "--json", "-C", dir, "--run-id", ""],
    ] {
        assert_eq!(names(words), ["o1"], "{words:?}");
    }
    // Workflows of agents report into the runs of others, so none of them is begun; they can be looked at.
    std::fs::create_dir_all(sandbox.path(".claude/agents")).unwrap();
    std::fs::write(
        sandbox.path(".claude/agents/scout.md"),
        "# scout\n\n## STATE-MACHINE\n\n```mermaid\nstateDiagram-v2\n[*] --> look\nlook --> [*] : done\n```\n",
    )
    .unwrap();
    assert_eq!(names(&["workflow", "show", "sco"]), ["scout"]);
    for words in
        [&["start", "sco"][..], &["drive", "sco"], &["list", "--workflow", "sco"], &["emit", "--workflow", "sco"]]
    {
        assert_eq!(names(words), [""; 0], "{words:?}");
    }
    let topics = names(&["help", ""]);
    for topic in ["record-activity", "glossary", "drive", "drive.md", "claude-code"] {
        assert!(topics.contains(&topic.to_owned()), "{topic}: {topics:?}");
    }
    assert!(names(&["help", "workflow", ""]).contains(&"check".to_owned()));
}

#[test]
fn a_working_directory_that_cannot_be_read_is_told_as_what_it_is() {
    if !can_inject("a_working_directory_that_cannot_be_read_is_told_as_what_it_is") {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let doc = ["interview", "start", "doc.md", "--json"];
    let skill = ["hooks", "plugin", "there", "--json"];
    let export = ["export", "r1", "--format", "html", "-o", "x.html", "--json"];
    for args in [&["resume", "--json"][..], &["init", "--json"], &doc, &skill, &export] {
        for (errno, words) in [("EMFILE", "Too many open files"), ("EIO", "Input/output"), ("ENOSPC", "No space left")]
        {
            let fails = format!("getcwd:error={errno}");
            let error = run(injecting(&sandbox, &[&fails], args), "").exits(74).error();
            assert_eq!(error["message"], "cannot read the path of the working directory", "{args:?}");
            assert!(error["causes"][0].as_str().unwrap().contains(words), "{error}");
        }
        let gone = run(injecting(&sandbox, &["getcwd:error=ENOENT"], args), "").exits(2).error();
        assert!(gone["message"].as_str().unwrap().starts_with("the working directory does not exist"), "{gone}");
    }
    // A command that names the project needs no working directory.
    let named = ["-C", sandbox.root().to_str().unwrap(), "list"].map(str::to_owned);
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    run(injecting(&sandbox, &["getcwd:error=EMFILE"], &named), "").ok();
    // But that in which it runs is needed all the same.
    let exec = ["-C", named[1], "exec", "--json", "--", "true"];
    let gone = run(injecting(&sandbox, &["getcwd:error=ENOENT"], &exec), "").exits(2).error();
    let wanted = "the working directory does not exist; go to one in which the command can run";
    assert_eq!(gone["message"], wanted);
}

#[test]
fn what_a_project_defines_in_vain_is_told_where_it_is_missed() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let graph = "initial: a\nstates: {a: {type: agent, Gate: person, transition: {next: []}}}\n";
    std::fs::write(sandbox.path(".flow/workflows/mine.yml"), graph).unwrap();
    std::fs::write(sandbox.path(".flow/workflows/debug.yml"), graph).unwrap();
    std::fs::write(sandbox.path(".flow/workflows/open.yaml"), graph).unwrap();
    std::fs::write(sandbox.path(".flow/config.yaml"), "definitions: [skills]\n").unwrap();
    let absent = "config.yaml: `definitions` names skills, which does not exist";
    let gate = "the workflow `open`, line 2: flow does not know the key `Gate`; did you mean `gate`?";
    let unread = "flow does not read debug.yml; rename it to debug.yaml";
    let mine = "flow does not read mine.yml; rename it to mine.yaml";
    let refused = sandbox.flow(["start", "mine", "--json"]).exits(3).error();
    assert_eq!(refused["help"], format!("{mine}; `flow workflow list` shows all"));
    let told = |args: &[&str]| sandbox.flow(args).ok().json()["warnings"].clone();
    assert_eq!(told(&["workflow", "list", "--json"]), serde_json::json!([absent, unread, mine, gate]));
    assert_eq!(told(&["start", "debug", "--json"]), serde_json::json!([absent, unread]));
    assert_eq!(told(&["start", "open", "--json"]), serde_json::json!([absent, gate]));
}

#[test]
fn a_file_or_directory_in_the_place_of_a_workflow_is_told_for_what_it_is() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    for dir in [".flow/workflows", "./.flow"] {
        let error = sandbox.flow(["workflow", "check", dir, "--json"]).exits(1).error();
        assert_eq!(error["message"], format!("cannot read {dir}: it is a directory"));
        assert_eq!(error["help"], format!("name a file in it; `flow validate {dir}` checks all of them"));
    }
    let cause = sandbox.flow(["workflow", "check", "/dev/null", "--json"]).exits(1).error();
    assert!(cause.to_string().contains("is not a regular file"), "{cause}");
    let missing = sandbox.flow(["start", "./own.yaml"]).exits(3).stderr;
    insta::assert_snapshot!(missing, @r"
    error: cannot read ./own.yaml
      cause: No such file or directory
      help: check the path
    ");
    std::fs::write(sandbox.path("own.yaml"), "x".repeat((1 << 20) + 1)).unwrap();
    let there = sandbox.flow(["start", "./own.yaml"]).exits(3).stderr;
    insta::assert_snapshot!(there, @r"
    error: there is no workflow `./own.yaml`
      help: to start it, put it into .flow/workflows/ and name it without its ending; `flow workflow check ./own.yaml` looks at a file anywhere; `flow workflow list` shows all
    ");
    let large = sandbox.flow(["workflow", "check", "own.yaml"]).exits(1).stdout;
    insta::assert_snapshot!(large, @r"
    error[too_large]: the file is larger than 1048576 bytes
     --> own.yaml:1:1
      |
    1 |
      | ^
    ");
    let told = sandbox.flow(["record-activity", "a.yaml"]).exits(2).stderr;
    insta::assert_snapshot!(told, @r"
    error: unexpected argument 'a.yaml' found

      tip: did you mean `--activity-file a.yaml`?

    Usage: flow record-activity [OPTIONS]

    For more information, try 'flow record-activity --help'.
    ");
}
