//! What flow proposes where a phase requires a command, where work failed or was only planned, and where a person decides:
//! following it leads to the end.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Answer, Sandbox, run, spawned};

const PHASES: &str = "apiVersion: flow.synapti.ai/v1
kind: FlowWorkflow
metadata: {id: w}
phases:
  - id: verify
    requires: [{exec: test}]
  - id: ship
";

const BRANCHES: &str = "---
name: p
flow: {requires: {verify: [{exec: test}]}}
---
## STATE-MACHINE

```mermaid
stateDiagram-v2
  [*] --> code
  code --> verify
  code --> docs
  verify --> done
  docs --> done
  done --> [*]
```
";

/// A repository with this definition, and a command `test` that the user accepted.
fn project(file: &str, definition: &str, test: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    fs::create_dir_all(sandbox.path(".flow/workflows")).unwrap();
    fs::write(sandbox.path(".flow/workflows").join(file), definition).unwrap();
    fs::write(sandbox.path(".flow/config.yaml"), format!("commands: {{test: {test}}}\n")).unwrap();
    fs::write(sandbox.path(".gitignore"), ".env\n").unwrap();
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "code"]);
    sandbox.flow(["trust", "--yes"]).ok();
    sandbox
}

fn resumed(sandbox: &Sandbox, run: &str) -> Value {
    sandbox.flow(["resume", run, "--json"]).json()
}

fn command(report: &Value) -> String {
    report["next"]["command"].as_str().unwrap_or_default().to_owned()
}

fn alternatives(report: &Value) -> Vec<String> {
    let ways = report["next"]["alternatives"].as_array().unwrap().iter();
    ways.map(|way| way["command"].as_str().unwrap().to_owned()).collect()
}

/// Runs a command as it was printed.
fn follow(sandbox: &Sandbox, line: &str) -> Answer {
    let mut shell = sandbox.command("sh");
    shell.args(["-c", &format!("flow() {{ '{}' \"$@\"; }}\n{line}", env!("CARGO_BIN_EXE_flow"))]);
    run(shell, "")
}

fn report(sandbox: &Sandbox, workflow: &str, step: &str, status: &str) -> Answer {
    let data = format!("{{\"status\":\"{status}\"}}");
    sandbox.flow([
        "emit", "--workflow", workflow, "--run-id", "r1", "--type", "status_change", "--step", step, "--data", &data,
    ])
}

#[test]
fn a_command_that_is_proposed_again_looks_at_the_same_inputs() {
    let sandbox = project("w.workflow.yaml", PHASES, "grep -q good .env");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    fs::write(sandbox.path(".env"), "good\n").unwrap();
    sandbox.flow(["exec", "--input", ".env", "--no-output", "--timeout", "60", "test"]).ok();
    fs::write(sandbox.path(".env"), "good too\n").unwrap();
    let wanted = "flow exec --run-id r1 --input .env --timeout 60 --no-output test";
    let refused = sandbox.flow(["record-activity", "--phase", "ship", "--id", "s", "--json"]).exits(1).error();
    assert!(refused["help"].as_str().unwrap().starts_with(&format!("`{wanted}` runs it")), "{refused}");
    assert_eq!(command(&resumed(&sandbox, "r1")), wanted);
    follow(&sandbox, wanted).ok();
    fs::write(sandbox.path(".env"), "bad\n").unwrap();
    sandbox.flow(["record-activity", "--phase", "ship", "--id", "s"]).exits(1);
    // It fails now, and is proposed once more in the same way.
    follow(&sandbox, wanted).exits(1);
    let again = "flow exec --run-id r1 --id test --again --input .env --timeout 60 --no-output test";
    assert_eq!(command(&resumed(&sandbox, "r1")), again);
    fs::write(sandbox.path(".env"), "good\n").unwrap();
    follow(&sandbox, again).ok();
    sandbox.flow(["record-activity", "--phase", "ship", "--id", "s"]).ok();
    let kept = fs::read_dir(sandbox.run_dir("r1").join("evidence")).map_or(0, Iterator::count);
    assert_eq!(kept, 0);
}

#[test]
fn a_replay_ends_a_command_at_the_limit_that_it_had() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["exec", "--id", "s", "--timeout", "0.2", "--", "sleep", "30"]).exits(143);
    fs::write(sandbox.path(".flow/config.yaml"), "commands: {nap: sleep 30}\n").unwrap();
    sandbox.flow(["trust", "--yes"]).ok();
    sandbox.flow(["exec", "--id", "n", "--timeout", "0.2", "nap"]).exits(143);
    let begun = std::time::Instant::now();
    sandbox.flow(["replay", "r1", "n", "--yes"]).ok();
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn what_a_branch_requires_is_proposed_in_its_phase() {
    let sandbox = project("p.md", BRANCHES, "'true'");
    for (step, status) in [
        ("code", "running"),
        ("verify", "running"),
        ("docs", "running"),
        ("verify", "completed"),
        ("docs", "completed"),
    ] {
        report(&sandbox, "p", step, status);
    }
    let proposed = command(&resumed(&sandbox, "r1"));
    assert_eq!(proposed, "flow exec --run-id r1 --phase verify test");
    follow(&sandbox, &proposed).ok();
    let then = resumed(&sandbox, "r1");
    assert_ne!(command(&then), proposed, "{then}");
    report(&sandbox, "p", "done", "running").ok();
}

#[test]
fn what_a_phase_requires_to_which_the_run_has_not_come_is_proposed_in_it() {
    let sandbox = project("w.workflow.yaml", &PHASES.replace("phases:\n", "phases:\n  - id: code\n"), "'true'");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "code", "c");
    let through = ["record-activity", "--phase", "verify", "--id", "v", "--advance", "ship"];
    let refused = sandbox.flow(through).exits(1);
    let wanted = "flow exec --run-id r1 --phase verify test";
    assert!(refused.stderr.contains(wanted), "{}", refused.stderr);
    follow(&sandbox, wanted).ok();
    sandbox.flow(through).ok();
}

#[test]
fn a_last_state_that_requires_a_command_has_a_way_to_the_end() {
    let last =
        BRANCHES.replace("{verify: [", "{done: [").replace("  code --> docs\n", "").replace("  docs --> done\n", "");
    let sandbox = project("p.md", &last, "'true'");
    for (step, status) in [("code", "running"), ("verify", "running"), ("done", "running")] {
        report(&sandbox, "p", step, status).ok();
    }
    let found = resumed(&sandbox, "r1");
    let ways = alternatives(&found);
    assert_eq!(ways[0], "flow exec --run-id r1 test", "{found}");
    let ended = ways.iter().find(|way| way.contains("completed")).unwrap();
    follow(&sandbox, ended).exits(1);
    follow(&sandbox, &ways[0]).ok();
    follow(&sandbox, ended).ok();
}

#[test]
fn a_command_that_passed_and_failed_later_is_settled_by_what_is_proposed() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("a"), "good\n").unwrap();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["exec", "--", "grep", "-q", "good", "a"]).ok();
    fs::write(sandbox.path("a"), "bad\n").unwrap();
    sandbox.flow(["exec", "--", "grep", "-q", "good", "a"]).exits(1);
    let found = resumed(&sandbox, "r1");
    assert!(found["reason"].as_str().unwrap().ends_with("grep-q-good-a failed in `preflight`"), "{found}");
    follow(&sandbox, &command(&found)).ok();
    let begun = resumed(&sandbox, "r1");
    let passed = alternatives(&begun).into_iter().find(|way| way.contains("--status passed")).unwrap();
    follow(&sandbox, &passed).ok();
    let done = resumed(&sandbox, "r1");
    assert!(done["reason"].as_str().unwrap().starts_with("`preflight` is done"), "{done}");
}

#[test]
fn work_that_is_only_planned_is_named_and_settled_by_what_is_proposed() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["record-activity", "--id", "c", "--status", "pending"]).ok();
    sandbox.flow(["record-activity", "--id", "other"]).ok();
    let found = resumed(&sandbox, "r1");
    assert_eq!(found["reason"], "001 c is planned in `preflight`, and was not begun");
    let passed = alternatives(&found).into_iter().find(|way| way.contains("--status passed")).unwrap();
    assert!(passed.contains("--id c "), "{passed}");
    let refused = sandbox.flow(["record-activity", "--phase", "reproduce", "--id", "x"]).exits(1).stderr;
    insta::assert_snapshot!(refused, @r"
    error: run r1: `preflight` is not done: 001 c is pending
      help: begin it: `flow record-activity --run-id r1 --phase preflight --id c --status running --name 'c, after 001'`, with --status skipped if it is given up; `flow record-activity --run-id r1 --phase reproduce --id reproduce --status running --skip-reason 'TEXT'` goes on without it; `flow resume r1` shows the commands
    ");
    follow(&sandbox, &passed).ok();
    let done = resumed(&sandbox, "r1");
    assert!(done["reason"].as_str().unwrap().starts_with("`preflight` is done"), "{done}");
}

#[test]
fn what_a_gate_s_phase_requires_comes_before_a_person_is_asked() {
    let gated = PHASES.replace("    requires", "    gate: person\n    requires");
    let sandbox = project("w.workflow.yaml", &gated, "'true'");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "verify", "v");
    let found = resumed(&sandbox, "r1");
    assert_eq!((found["verdict"].as_str(), &*command(&found)), (Some("continue"), "flow exec --run-id r1 test"));
    follow(&sandbox, &command(&found)).ok();
    let asked = resumed(&sandbox, "r1");
    assert_eq!((asked["verdict"].as_str(), asked["next"]["action"].as_str()), (Some("needs_human"), Some("decide")));
}

#[test]
fn a_required_command_that_may_not_run_here_waits_for_a_person() {
    let sandbox = project("w.workflow.yaml", PHASES, "'true'");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "verify", "v");
    let first_skip = "flow record-activity --run-id r1 --phase ship --id ship --status running --skip-reason 'why'";
    for (config, why, first) in [
        ("commands: {test: 'false'}\n", "the command test was not accepted on this machine: false", "flow trust"),
        (
            "commands: {lint: 'true'}\n",
            "the project names no command test: a person names it under `commands` in .flow/config.yaml",
            first_skip,
        ),
        ("commands: [\n", "config.yaml", first_skip),
    ] {
        fs::write(sandbox.path(".flow/config.yaml"), config).unwrap();
        let found = resumed(&sandbox, "r1");
        assert_eq!((found["verdict"].as_str(), &*command(&found)), (Some("needs_human"), ""), "{found}");
        assert!(found["reason"].as_str().unwrap().contains(why), "{found}");
        assert_eq!(alternatives(&found)[0], first);
        let refused = sandbox.flow(["record-activity", "--phase", "ship", "--id", "s", "--json"]).exits(1).error();
        let told = refused.to_string();
        assert!(told.contains(why) && !told.contains("flow exec"), "{told}");
        let told = sandbox.flow(["attention", "--json"]).json().to_string();
        assert!(told.contains("needs_human"), "{told}");
    }
    fs::write(sandbox.path(".flow/config.yaml"), "commands: {}\n").unwrap();
    let refused = sandbox.flow(["advance", "r1", "--json"]).exits(1).error();
    let help = "the project names no command test: a person names it under `commands` in .flow/config.yaml; \
                `flow record-activity --run-id r1 --phase ship --id ship --status running --skip-reason 'TEXT'` goes on without it, and notes why";
    assert_eq!(refused["help"], help);
}

#[test]
fn a_run_in_which_only_units_report_goes_on_where_its_workflow_asks_for_more() {
    let sandbox = project("p.md", BRANCHES, "'true'");
    for (workflow, run, first) in [("debug", "u1", "preflight"), ("p", "u2", "code")] {
        let data = r#"{"status":"completed"}"#;
        let unit = ["--type", "status_change", "--step", first, "--unit", "T1", "--data", data];
        sandbox.flow(["emit", "--workflow", workflow, "--run-id", run].iter().chain(&unit)).ok();
        let found = resumed(&sandbox, run);
        assert_eq!(found["next"]["action"], "start_phase", "{found}");
        assert!(found["reason"].as_str().unwrap().ends_with("the phases are still to come"), "{found}");
        sandbox.flow(["complete", run]).exits(1);
    }
}

#[test]
fn a_command_with_a_secret_is_not_offered_to_be_run_again() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["exec", "--id", "s", "--", "sh", "-c", "echo password=hunter22222; exit 1"]).exits(1);
    let found = resumed(&sandbox, "r1").to_string();
    assert!(!found.contains("flow exec"), "{found}");
}

#[test]
fn a_command_that_failed_in_a_phase_which_was_left_is_run_again_in_it() {
    let phases = PHASES.replace("    requires: [{exec: test}]\n", "");
    let waits = "\"sh -c 'while ! test -f go; do sleep 0.02; done; test -f fixed'\"";
    let sandbox = project("w.workflow.yaml", &phases, waits);
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    let mut exec = sandbox.flow_command();
    let mut exec = exec.args(["exec", "--run-id", "r1", "test"]).spawn().unwrap();
    let began =
        || sandbox.flow(["resume", "r1", "--json"]).json()["in_doubt"].as_array().is_some_and(|all| !all.is_empty());
    while !began() {}
    sandbox.record("r1", "verify", "look");
    // While it runs, only an edit leaves the phase.
    let file = sandbox.run_dir("r1").join("run.yaml");
    let edited = fs::read_to_string(&file).unwrap().replace("current_phase: verify", "current_phase: ship");
    fs::write(&file, edited).unwrap();
    sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "ship", "--id", "ship"]).ok();
    fs::write(sandbox.path("go"), "").unwrap();
    assert!(!exec.wait().unwrap().success());
    fs::write(sandbox.path("fixed"), "").unwrap();
    let again = command(&resumed(&sandbox, "r1"));
    assert_eq!(again, "flow exec --run-id r1 --phase verify --id test --again test");
    follow(&sandbox, &again).ok();
    let log = sandbox.flow(["log", "r1"]).ok().stdout;
    assert!(log.contains("test running in verify\n") && log.contains("test passed in verify\n"), "{log}");
    assert_eq!(resumed(&sandbox, "r1")["next"]["action"], "complete");
}

#[test]
fn a_command_is_run_again_by_its_name_only_if_the_name_still_means_it() {
    let phases = PHASES.replace("    requires: [{exec: test}]\n", "");
    let sandbox = project("w.workflow.yaml", &phases, "'false'");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).exits(1);
    let (named, as_it_was) =
        ("flow exec --run-id r1 --id test --again test", "flow exec --run-id r1 --id test --again -- false");
    assert_eq!(command(&resumed(&sandbox, "r1")), named);
    for (config, accepted) in
        [("commands: {}\n", false), ("commands: {test: 'true'}\n", false), ("commands: {test: 'true'}\n", true)]
    {
        fs::write(sandbox.path(".flow/config.yaml"), config).unwrap();
        if accepted {
            sandbox.flow(["trust", "--yes"]).ok();
        }
        let report = resumed(&sandbox, "r1");
        assert!(!command(&report).contains("exec"), "{config}: {report}");
        let ways = alternatives(&report);
        assert!(ways.contains(&as_it_was.to_owned()), "{config}: {ways:?}");
        assert_eq!(ways.contains(&named.to_owned()), accepted, "{config}: {ways:?}");
    }
}

#[test]
fn what_is_to_be_shown_of_a_phase_behind_does_not_end_the_run_on_its_way() {
    let phases = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata: {id: w}\nphases:\n  - id: plan\n  - id: code\n  - id: ship\n";
    let sandbox = project("w.workflow.yaml", phases, "'true'");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "plan", "p");
    sandbox.record("r1", "code", "c");
    let asks = phases.replace("  - id: plan\n", "  - id: plan\n    requires: [{exec: test}]\n");
    fs::write(sandbox.path(".flow/workflows/w.workflow.yaml"), asks).unwrap();
    sandbox.flow(["workflow", "adopt", "r1"]).ok();
    let report = resumed(&sandbox, "r1");
    assert_eq!(command(&report), "flow exec --run-id r1 --phase plan test");
    let ways = alternatives(&report);
    assert_eq!(ways, ["flow record-activity --run-id r1 --phase ship --id ship --status running"]);
    follow(&sandbox, &ways[0]).ok();
}

#[test]
fn a_requirement_that_was_passed_over_stays_when_the_run_goes_around_its_state() {
    let definition = BRANCHES.replace("verify: [", "b: [").replace(
        "  [*] --> code\n  code --> verify\n  code --> docs\n  verify --> done\n  docs --> done\n  done --> [*]\n",
        "  [*] --> s\n  s --> a\n  s --> b\n  a --> b\n  a --> t\n  b --> a\n  b --> t\n  t --> [*]\n",
    );
    let sandbox = project("p.md", &definition, "'true'");
    sandbox.flow(["start", "p", "--id", "r1"]).ok();
    let record = |phase: &str, id: &str, more: &[&str]| {
        let args = ["record-activity", "--run-id", "r1", "--phase", phase, "--id", id];
        sandbox.flow(args.iter().chain(more)).ok();
    };
    record("s", "s1", &[]);
    record("a", "a1", &[]);
    record("b", "b1", &[]);
    record("a", "a2", &["--skip-reason", "the runner is down"]);
    record("t", "t1", &[]);
    sandbox.flow(["complete", "r1"]).ok();
    let verified = sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(1).json();
    assert_eq!(verified["required"][0]["skip_reason"], "the runner is down", "{verified:#}");
}

#[test]
fn a_command_with_a_secret_in_its_words_is_proposed_once_and_then_waits_for_a_person() {
    let sandbox = project("w.workflow.yaml", PHASES, "[sh, -c, 'true', --token=hunter2hunter2]");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "verify", "v");
    follow(&sandbox, &command(&resumed(&sandbox, "r1"))).ok();
    let found = resumed(&sandbox, "r1");
    assert_eq!((found["verdict"].as_str(), &*command(&found)), (Some("needs_human"), ""), "{found}");
    let why = "a person takes the secret out of `test` in .flow/config.yaml";
    assert!(found["reason"].as_str().unwrap().contains(why), "{found}");
    assert!(!alternatives(&found).iter().any(|way| way.contains("flow exec")), "{found}");
    fs::write(sandbox.path(".flow/config.yaml"), "commands: {test: 'true'}\n").unwrap();
    sandbox.flow(["trust", "--yes"]).ok();
    follow(&sandbox, &command(&resumed(&sandbox, "r1"))).ok();
    assert_eq!(resumed(&sandbox, "r1")["next"]["action"], "start_phase");
}

#[test]
fn a_command_that_writes_a_file_is_not_proposed_again_until_git_ignores_it() {
    let sandbox = project("w.workflow.yaml", PHASES, "[sh, -c, 'echo x >> out.txt']");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "verify", "v");
    follow(&sandbox, &command(&resumed(&sandbox, "r1"))).ok();
    let found = resumed(&sandbox, "r1");
    assert_eq!((found["verdict"].as_str(), &*command(&found)), (Some("needs_human"), ""), "{found}");
    let reason = found["reason"].as_str().unwrap();
    assert!(
        reason.contains("files changed while it ran (out.txt); if it changes them each time, let git ignore them"),
        "{reason}"
    );
    assert_eq!(alternatives(&found)[0], "flow exec --run-id r1 test");
    let waited = sandbox.flow(["wait", "r1", "--json"]).json();
    assert!(waited["reason"].as_str().unwrap().contains("let git ignore them"), "{waited}");
    let refused = sandbox.flow(["record-activity", "--phase", "ship", "--id", "s"]).exits(1).stderr;
    insta::assert_snapshot!(refused, @r"
    error: run r1: `verify` requires that `test` was seen to pass: 003 test passed, and files changed while it ran (out.txt)
      help: if it changes them each time, let git ignore them, or let it write elsewhere; `flow record-activity --run-id r1 --phase ship --id ship --status running --skip-reason 'TEXT'` goes on without it, and notes why
    ");
    fs::write(sandbox.path(".gitignore"), "out.txt\n").unwrap();
    follow(&sandbox, &command(&resumed(&sandbox, "r1"))).ok();
    assert_eq!(resumed(&sandbox, "r1")["next"]["action"], "start_phase");
    sandbox.flow(["record-activity", "--phase", "ship", "--id", "s"]).ok();
}

#[test]
fn outside_of_git_a_required_command_is_to_name_its_files() {
    let sandbox = project("w.workflow.yaml", PHASES, "'true'");
    fs::remove_dir_all(sandbox.path(".git")).unwrap();
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "verify", "v");
    for _ in 0..2 {
        let found = resumed(&sandbox, "r1");
        assert_eq!((found["verdict"].as_str(), &*command(&found)), (Some("needs_human"), ""), "{found}");
        assert!(found["reason"].as_str().unwrap().contains("name the files that count with --input GLOB"), "{found}");
        assert_eq!(alternatives(&found)[0], "flow exec --run-id r1 --input 'GLOB' test");
        sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    }
    sandbox.flow(["exec", "--run-id", "r1", "--input", ".gitignore", "test"]).ok();
    assert_eq!(resumed(&sandbox, "r1")["next"]["action"], "start_phase");
}

#[test]
fn a_refusal_names_a_way_around_that_there_is() {
    let sandbox = project("w.workflow.yaml", PHASES, "'true'");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "verify", "v");
    let around = "`flow record-activity --run-id r1 --phase ship --id ship --status running --skip-reason 'TEXT'` goes on without it";
    let exec = ["exec", "--run-id", "r1", "--phase", "ship", "--", "true"];
    for way in [&["advance", "r1"][..], &exec] {
        let told = sandbox.flow(way).exits(1).stderr;
        assert!(told.contains(around) && !told.contains("; --skip-reason"), "{told}");
    }
    insta::assert_snapshot!(report(&sandbox, "w", "ship", "running").exits(1).stderr, @r"
    Error: run r1: `verify` requires that `test` was seen to pass: it was not run since the run came there
      help: `flow exec --run-id r1 test` runs it; `flow record-activity --run-id r1 --phase ship --id ship --status running --skip-reason 'TEXT'` goes on without it, and notes why
    ");
    let empty = ["record-activity", "--run-id", "r1", "--phase", "verify", "--advance", "--skip-reason", " "];
    insta::assert_snapshot!(sandbox.flow(empty).exits(2).stderr, @r"
    error: run r1: the reason to go on without it is empty
      help: say why with --skip-reason TEXT
    ");
    follow(&sandbox, "flow record-activity --run-id r1 --phase verify --advance --skip-reason 'TEXT'").ok();
    assert_eq!(resumed(&sandbox, "r1")["phase"], "ship");
    sandbox.flow(["complete", "r1", "--skip-reason", ""]).exits(2);
    // A run that the reports would begin cannot be named by another command.
    let step = |step: &str, status: &str| serde_json::json!({"type": "status_change", "step": step, "data": {"status": status}});
    let reports = serde_json::json!([step("verify", "completed"), step("ship", "running")]).to_string();
    let batch = ["emit", "--workflow", "w", "--run-id", "nb", "--batch", &reports];
    insta::assert_snapshot!(sandbox.flow(batch).exits(1).stderr, @r"
    Error: event 2 of the batch: run nb: `verify` requires that `test` was seen to pass: it was not run since the run came there; nothing of the batch was recorded
      help: report only up to `verify` first, which begins the run; then `test` can be run
    ");
}

#[test]
fn at_a_gate_no_reason_is_offered_to_go_on_without_what_it_requires() {
    let gated = PHASES.replace("    requires", "    gate: person\n    requires");
    let sandbox = project("w.workflow.yaml", &gated, "'true'");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "verify", "v");
    let found = resumed(&sandbox, "r1");
    assert!(!alternatives(&found).iter().any(|way| way.contains("--skip-reason")), "{found}");
}

#[test]
fn a_run_whose_sub_agents_are_done_is_not_called_completed() {
    let sandbox = project("w.workflow.yaml", PHASES, "'true'");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "verify", "v");
    let told = report(&sandbox, "w", "verify:ship", "completed").ok().json();
    assert_eq!(told["data"]["runStatus"], "running", "{told}");
}

#[test]
fn an_agent_accepts_no_command() {
    let sandbox = project("w.workflow.yaml", PHASES, "'true'");
    fs::write(sandbox.path(".flow/config.yaml"), "commands: {test: 'false'}\n").unwrap();
    let agent = |args: &[&str]| {
        let mut command = sandbox.flow_command();
        command.args(args).env("CLAUDECODE", "1");
        run(command, "")
    };
    let told = agent(&["trust", "--yes"]).exits(4).stderr;
    insta::assert_snapshot!(told, @r"
    error: a person decides, and CLAUDECODE shows that an agent began this
      help: the person decides in a terminal of their own, or on the page of a `flow serve --allow-actions` that they began
    ");
    assert!(agent(&["trust"]).ok().stdout.contains("not accepted"));
    sandbox.flow(["trust", "--yes"]).ok();
}

#[test]
fn a_later_run_of_the_command_shows_what_a_phase_required_that_was_left() {
    let sandbox = project("w.workflow.yaml", PHASES, "grep -q good code");
    fs::write(sandbox.path("code"), "good\n").unwrap();
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "verify", "v");
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    sandbox.record("r1", "ship", "s");
    fs::write(sandbox.path("code"), "good too\n").unwrap();
    let stale = sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(1).json();
    let command_of = |report: &Value| report["required"][0]["command"].as_str().unwrap_or_default().to_owned();
    assert_eq!(command_of(&stale), "flow exec --run-id r1 test", "{stale:#}");
    let notes = resumed(&sandbox, "r1")["notes"].to_string();
    assert!(notes.contains("`flow exec --run-id r1 test` shows whether it holds now"), "{notes}");
    follow(&sandbox, &command_of(&stale)).ok();
    let proved = sandbox.flow(["verify", "r1", "--evidence", "--json"]).ok().json();
    assert_eq!((&proved["required"][0]["proved"], &proved["required"][0]["number"]), (&true.into(), &"006".into()));
    fs::write(sandbox.path("code"), "bad\n").unwrap();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).exits(1);
    sandbox.flow(["verify", "r1", "--evidence"]).exits(1);
}

#[test]
fn a_requirement_that_an_adopted_definition_drops_stays_visible() {
    let sandbox = project("w.workflow.yaml", PHASES, "'true'");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "verify", "v");
    let file = sandbox.path(".flow/workflows/w.workflow.yaml");
    fs::write(&file, PHASES.replace("{exec: test}", "{exec: test, fresh: false}")).unwrap();
    let weaker = sandbox.flow(["workflow", "adopt", "r1", "--json"]).ok().json();
    let differences = serde_json::json!(["state `verify` now requires `test` to pass also where files changed since"]);
    assert_eq!(weaker["differences"], differences);
    fs::write(&file, PHASES.replace("    requires: [{exec: test}]\n", "")).unwrap();
    sandbox.flow(["workflow", "adopt", "r1"]).ok();
    sandbox.record("r1", "ship", "s");
    let note = "`verify` required `test` until event 4 (another definition), and it was not seen to pass there";
    for reader in [&["show"][..], &["report"], &["resume"], &["verify", "--evidence"]] {
        let told = sandbox.flow([reader, &["r1"]].concat()).stdout;
        assert!(told.contains(note) || told.contains("required `test` until event 4"), "{reader:?}: {told}");
    }
    fs::write(&file, PHASES).unwrap();
    sandbox.flow(["workflow", "adopt", "r1"]).ok();
    assert!(!sandbox.flow(["show", "r1"]).stdout.contains("until event"));
}

#[test]
fn a_definition_that_is_adopted_on_the_way_and_asks_for_less_says_so_to_every_reader() {
    let whole = PHASES.replace("phases:\n", "phases:\n  - id: code\n");
    let weaker = [
        (
            whole.replace("{exec: test}", "{exec: test, fresh: false}"),
            "`verify` required `test` to pass on the files as they are until event 6 (another definition); now an earlier pass is \
             enough",
        ),
        (
            whole.replace("  - id: code\n", "  - id: code\n    next: [verify, ship]\n"),
            "no run ended without `verify`, which requires `test`, until event 3 (another definition); now there is a way round it",
        ),
    ];
    for (definition, note) in weaker {
        let sandbox = project("w.workflow.yaml", &whole, "'true'");
        sandbox.flow(["start", "w", "--id", "r1"]).ok();
        sandbox.record("r1", "code", "c");
        if definition.contains("fresh") {
            sandbox.record("r1", "verify", "v");
            sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
        }
        let file = sandbox.path(".flow/workflows/w.workflow.yaml");
        fs::write(&file, &definition).unwrap();
        sandbox.flow(["workflow", "adopt", "r1"]).ok();
        fs::write(sandbox.path("code"), "bad\n").unwrap();
        let told = |reader: &[&str]| {
            let told = sandbox.flow([reader, &["r1"]].concat()).stdout;
            let told = told.replace("<code>", "").replace("</code>", "");
            assert!(told.contains(note) || told.contains(&note.replace('`', "")), "{reader:?}: {told}");
        };
        told(&["resume"]);
        sandbox.record("r1", "ship", "s");
        sandbox.flow(["complete", "r1"]).ok();
        for reader in
            [&["show"][..], &["report"], &["resume"], &["verify", "--evidence"], &["export", "--format", "html"]]
        {
            told(reader);
        }
        fs::write(&file, &whole).unwrap();
        sandbox.flow(["reopen", "r1", "--reason", "more"]).ok();
        sandbox.flow(["workflow", "adopt", "r1"]).ok();
        assert!(!sandbox.flow(["show", "r1"]).stdout.contains("another definition"));
    }
}

#[test]
fn what_evidence_proposes_is_what_resume_proposes_where_something_comes_first() {
    let sandbox = project("w.workflow.yaml", PHASES, "sleep 600");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "verify", "v");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "one"]);
    let proposed = || {
        let required = sandbox.flow(["verify", "r1", "--evidence", "--json"]).json()["required"][0].clone();
        required["command"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(proposed(), "flow exec --run-id r1 test");
    let mut exec = sandbox.flow_command();
    exec.args(["exec", "--run-id", "r1", "test"]);
    let mut exec = spawned(exec);
    while resumed(&sandbox, "r1")["verdict"] != "reconcile" {
        sleep(Duration::from_millis(20));
    }
    assert_eq!(proposed(), "flow wait r1 --commands");
    exec.kill().unwrap();
    exec.wait().unwrap();
    let report = resumed(&sandbox, "r1");
    assert_eq!(alternatives(&report), ["flow wait r1 --commands"], "{report:#}");
    assert_eq!(proposed(), "flow wait r1 --commands");
    let process = report["in_doubt"][0]["process"].as_i64().unwrap();
    let mut kill = sandbox.command("kill");
    kill.arg(process.to_string());
    run(kill, "").ok();
    while resumed(&sandbox, "r1")["next"]["alternatives"].as_array().unwrap().len() < 2 {
        sleep(Duration::from_millis(20));
    }
    assert_eq!(proposed(), "flow resume r1", "a judgement is needed");
    // Put back by git, and no writer of this clone knows it.
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "two"]);
    sandbox.git(&["restore", "--source=HEAD~1", "--", ".flow/runs"]);
    fs::remove_file(sandbox.path(".flow/runs/r1/.lock")).unwrap();
    let report = resumed(&sandbox, "r1");
    assert_eq!(report["verdict"], "rewound", "{report:#}");
    let told = sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(65).json();
    assert_eq!(told["damage"], report["reason"], "{told:#}");
    assert_eq!(proposed(), "flow resume r1");
}

#[test]
fn what_units_alone_went_past_without_a_required_command_does_not_pass_silently() {
    let whole = PHASES.replace("phases:\n", "phases:\n  - id: code\n");
    for (step, ok) in [("code", true), ("verify", false), ("ship", false)] {
        let sandbox = project("w.workflow.yaml", &whole, "'true'");
        sandbox.flow(["start", "w", "--id", "r1"]).ok();
        let unit = |step: &str, status: &str| {
            let data = format!("{{\"status\":\"{status}\"}}");
            let ids = ["emit", "--workflow", "w", "--run-id", "r1", "--type", "status_change", "--unit", "u"];
            sandbox.flow([&ids[..], &["--step", step, "--data", &data]].concat()).ok();
        };
        for before in ["code", "verify"].into_iter().take_while(|before| *before != step) {
            unit(before, "completed");
        }
        unit(step, "running");
        let told = sandbox.flow(["verify", "r1", "--evidence", "--json"]).json();
        assert_eq!(told["ok"], ok, "{step}: {told:#}");
        if !ok {
            let why = "units came there, and it was not run there; bring the run itself there, which is in `code`";
            assert_eq!(
                (&told["required"][0]["why"], &told["required"][0]["command"]),
                (&why.into(), &Value::Null),
                "{told:#}"
            );
            sandbox.flow(["verify", "r1", "--evidence"]).exits(1);
        }
    }
}

/// Whether `verify --evidence` takes the first requirement as proved, with its reason to be left without.
fn first_required(sandbox: &Sandbox, exits: i32) -> (bool, Value) {
    let report = sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(exits).json();
    let one = &report["required"][0];
    (one["proved"] == true, one["skip_reason"].clone())
}

#[test]
fn what_was_skipped_or_jumped_over_is_not_proved_by_a_run_in_a_later_phase() {
    for is_jumped in [false, true] {
        let sandbox = project("w.workflow.yaml", PHASES, "'true'");
        sandbox.flow(["start", "w", "--id", "r1"]).ok();
        sandbox.record("r1", "verify", "v");
        let reason = if is_jumped {
            sandbox.edit("r1", "current_phase: verify", "current_phase: ship");
            Value::Null
        } else {
            let left =
                ["record-activity", "--run-id", "r1", "--phase", "ship", "--id", "s", "--skip-reason", "no time"];
            sandbox.flow(left).ok();
            "no time".into()
        };
        sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
        assert_eq!(first_required(&sandbox, 1), (false, reason.clone()));
        let proposed = sandbox.flow(["verify", "r1", "--evidence", "--json"]).json()["required"][0]["command"].clone();
        follow(&sandbox, proposed.as_str().unwrap()).ok();
        assert_eq!(first_required(&sandbox, 0), (true, reason));
        let told = sandbox.flow(["verify", "r1", "--evidence"]).ok().stdout;
        assert_eq!(
            told.contains("verify requires test: seen to pass since; left without it: no time"),
            !is_jumped,
            "{told}"
        );
        sandbox.flow(["complete", "r1"]).ok();
    }
}

/// The run was in `verify`, went back, and came to `done` by the other way.
fn gone_around(status: &str) -> Sandbox {
    let definition = BRANCHES.replace("  code --> docs\n", "  code --> docs\n  verify --> code\n");
    let sandbox = project("p.md", &definition, "'true'");
    sandbox.flow(["start", "p", "--id", "r1"]).ok();
    sandbox.record("r1", "code", "c");
    let verify = ["record-activity", "--run-id", "r1", "--phase", "verify", "--id", "v", "--status", status];
    sandbox.flow(verify).ok();
    for (phase, id) in [("code", "c2"), ("docs", "d"), ("done", "e")] {
        sandbox.record("r1", phase, id);
    }
    sandbox
}

#[test]
fn a_phase_around_which_a_run_went_after_it_was_there_is_told_as_left_without_its_requirement() {
    let sandbox = gone_around("passed");
    let undone = "verify: test was not seen to pass";
    assert!(sandbox.flow(["report", "r1"]).ok().stdout.contains(undone));
    assert_eq!(first_required(&sandbox, 1), (false, Value::Null));
    let shown = sandbox.flow(["show", "r1", "--json"]).ok().json();
    let verify = shown["steps"].as_array().unwrap().iter().find(|step| step["step"] == "verify").unwrap();
    assert_eq!(verify["status"], "completed");
    // The way around it is the author's choice.
    sandbox.flow(["complete", "r1"]).ok();
    assert!(sandbox.flow(["report", "r1"]).ok().stdout.contains(undone));
    assert_eq!(first_required(&sandbox, 1), (false, Value::Null));
}

#[test]
fn what_failed_in_a_phase_around_which_a_run_went_stays_open_until_a_record_there_settles_it() {
    let sandbox = gone_around("failed");
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "v", "--status", "skipped"]).ok();
    let told = sandbox.flow(["report", "r1"]).ok().stdout;
    assert!(told.contains("### Open\n\n- 002 `v` failed in `verify`\n"), "{told}");
    let shown = sandbox.flow(["show", "r1"]).ok().stdout;
    assert!(shown.contains("    002  v     verify  failed\n"), "{shown}");
    let help = sandbox.flow(["complete", "r1", "--json"]).exits(1).error()["help"].as_str().unwrap().to_owned();
    let begin = "`flow record-activity --run-id r1 --phase verify --id v --status running --name 'v, after 002'`";
    assert!(help.starts_with(&format!("begin another attempt: {begin}, with --status skipped if it is")), "{help}");
    follow(&sandbox, begin.trim_matches('`')).ok();
    sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "verify", "--id", "v"]).ok();
    sandbox.flow(["complete", "r1"]).ok();
    assert_eq!(first_required(&sandbox, 1), (false, Value::Null));
}

#[test]
fn what_was_passed_over_and_done_afterwards_is_not_told_as_left_undone() {
    let sandbox = project("w.workflow.yaml", &format!("{PHASES}    next: [verify]\n    terminal: true\n"), "'true'");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "verify", "v");
    sandbox.flow(["complete", "r1", "--skip-reason", "no time"]).ok();
    sandbox.flow(["reopen", "r1", "--reason", "time"]).ok();
    let shown = sandbox.flow(["show", "r1"]).ok().stdout;
    assert!(shown.contains("\n    verify  test  event 3  no time\n"), "{shown}");
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    sandbox.record("r1", "ship", "s");
    sandbox.flow(["complete", "r1"]).ok();
    let told = sandbox.flow(["report", "r1"]).ok().stdout;
    assert!(
        told.contains(
            "### Passed over\n\n- `ship` (event 3): `no time`\n- `verify` without `test` (event 3): `no time`\n"
        ),
        "{told}"
    );
    assert!(!told.contains("Left undone"), "{told}");
}

#[test]
fn a_list_of_evidence_that_is_cut_has_what_does_not_hold_first() {
    let sandbox = project("w.workflow.yaml", PHASES, "'true'");
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "--id", "bad", "--", "false"]).exits(1);
    for nth in 0..11 {
        sandbox.flow(["exec", "--run-id", "r1", "--id", &format!("good-{nth}"), "--", "true"]).ok();
    }
    let shown = sandbox.flow(["show", "r1"]).ok().stdout;
    let rows: Vec<_> = shown.lines().skip_while(|line| !line.contains("and 2 more;")).collect();
    assert!(rows[1].contains("bad") && rows[2].contains("good-2") && rows[10].contains("good-10"), "{shown}");
}
