//! Phases that are left only after a command was seen to pass.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, run, spawned};

const PHASES: &str = "apiVersion: flow.synapti.ai/v1
kind: FlowWorkflow
metadata: {id: w}
phases:
  - id: build
  - id: verify
    requires: [{exec: test}]
    next: [report, build]
  - id: report
";
const CONFIG: &str = "commands: {test: sh check.sh, lint: 'true'}\n";

/// A project whose command `test` passes unless `code` says `bad`, with the run `r1` in `verify`.
fn sandbox() -> Sandbox {
    let sandbox = project("w.workflow.yaml", PHASES);
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "build", "build");
    sandbox.record("r1", "verify", "look");
    sandbox
}

fn project(file: &str, definition: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    fs::create_dir_all(sandbox.path(".flow/workflows")).unwrap();
    fs::write(sandbox.path(".flow/workflows").join(file), definition).unwrap();
    fs::write(sandbox.path(".flow/config.yaml"), CONFIG).unwrap();
    fs::write(sandbox.path("check.sh"), "! grep -q bad code\n").unwrap();
    fs::write(sandbox.path("code"), "good\n").unwrap();
    sandbox.git(&["add", "check.sh", "code"]);
    sandbox.git(&["commit", "-q", "-m", "code"]);
    sandbox.flow(["trust", "--yes"]).ok();
    sandbox
}

/// Runs lines of a shell in which `flow` is the program.
fn shell(sandbox: &Sandbox, script: &str) -> Answer {
    let mut command = sandbox.command("sh");
    let name = env!("CARGO_BIN_EXE_flow");
    let git = "git() { command git -c user.name=Ada -c user.email=ada@example.org \"$@\"; }";
    command.args(["-c", &format!("flow() {{ '{name}' \"$@\"; }}\n{git}\n{script}")]);
    run(command, "")
}

fn shown(sandbox: &Sandbox, run: &str) -> Value {
    sandbox.flow(["show", run, "--json"]).ok().json()["state"].clone()
}

/// Whether the run is still where it was.
fn is_in_verify(sandbox: &Sandbox) -> bool {
    let state = shown(sandbox, "r1");
    state["current_phase"] == "verify" && ["active", "blocked"].contains(&state["status"].as_str().unwrap())
}

/// Every way to leave the phase, as someone would go who wants to be past it.
const LEAVE: &str = "flow record-activity --run-id r1 --phase report --id report
flow record-activity --run-id r1 --id done --advance
flow record-activity --run-id r1 --id done2 --advance report
flow emit --workflow w --run-id r1 --type status_change --step verify --data '{\"status\":\"completed\"}'
flow emit --workflow w --run-id r1 --type status_change --step report --data '{\"status\":\"running\"}'
flow advance r1 --to report
flow advance r1 --summary done
flow exec --run-id r1 --phase report lint
flow complete r1
";

/// What each attempt does before it tries to leave.
const ATTEMPTS: [(&str, &str); 39] = [
    ("nothing", ""),
    ("a log without its first event", "sed -i 1d .flow/runs/r1/events.jsonl"),
    ("an emptied log", ": > .flow/runs/r1/events.jsonl"),
    ("a record by hand with the id", "flow record-activity --run-id r1 --id test --status passed"),
    (
        "a record with the exit code",
        "flow record-activity --run-id r1 --id test --type bash --name 'sh check.sh' --exit-code 0",
    ),
    ("the same words without the name", "flow exec --run-id r1 -- sh check.sh"),
    ("the same words under the id", "flow exec --run-id r1 --id test -- sh check.sh"),
    ("other words under the id", "flow exec --run-id r1 --id test -- true"),
    ("an alias of the shell", "flow exec --run-id r1 -- sh -c 'test() { sh check.sh; }; test'"),
    ("another named command", "flow exec --run-id r1 lint"),
    ("another named command under the id", "flow exec --run-id r1 --id test lint"),
    ("flow within a command", "flow exec --run-id r1 -- flow exec --run-id r1 --help"),
    ("a failure", "echo bad > code; flow exec --run-id r1 test"),
    (
        "a failure that is called a pass",
        "echo bad > code; flow exec --run-id r1 test; flow record-activity --run-id r1 --id test --status passed --summary ok",
    ),
    (
        "a failure that is settled",
        "echo bad > code; flow exec --run-id r1 test; flow record-activity --run-id r1 --id other --status passed --settles test",
    ),
    (
        "a failure that is skipped",
        "echo bad > code; flow exec --run-id r1 test; flow record-activity --run-id r1 --id test --status skipped --summary no",
    ),
    ("an older pass", "flow exec --run-id r1 test; echo more >> code"),
    ("an older pass and an untracked file", "flow exec --run-id r1 test; echo x > new"),
    (
        "an older pass and an untracked file whose name differs in case alone",
        "git config core.ignoreCase true; echo x > Code; flow exec --run-id r1 test; echo more >> Code",
    ),
    (
        "an older pass and a file that was renamed in case alone",
        "git config core.ignoreCase true; mv code Code; ln -s Code code; flow exec --run-id r1 test; echo more >> Code",
    ),
    (
        "an older pass and a file that is ignored in another case",
        "git config core.ignoreCase true; echo BUILD > .gitignore; mkdir build; echo x > build/x; flow exec --run-id r1 test; \
         echo more >> build/x",
    ),
    (
        "a pass behind which the files could not be told",
        "cp .git/index kept; printf 'printf x > .git/index\\n' >> check.sh; flow exec --run-id r1 test; mv kept .git/index; \
         cp .git/index kept",
    ),
    (
        "an older pass on no files, which git all ignores",
        "git rm -rq --cached .; echo '*' > .git/info/exclude; flow exec --run-id r1 test; echo bad > code; echo 'exit 0' > check.sh",
    ),
    ("an older pass and a mode", "flow exec --run-id r1 test; chmod +x code"),
    (
        "an older pass and a hidden edit",
        "flow exec --run-id r1 test; git update-index --assume-unchanged code; echo more >> code",
    ),
    ("an older pass and a commit", "flow exec --run-id r1 test; echo more >> code; git commit -qam more"),
    (
        "a pass before a failure",
        "flow exec --run-id r1 test; echo bad > code; flow exec --run-id r1 test; git checkout -q code",
    ),
    (
        "a pass whose output is gone",
        "flow exec --run-id r1 test; rm .flow/runs/r1/evidence/*-test.log; echo x > .flow/runs/r1/evidence/x",
    ),
    (
        "a pass whose output is another",
        "flow exec --run-id r1 test; for f in .flow/runs/r1/evidence/*-test.log; do echo x > $f; done",
    ),
    (
        "a command that was renamed",
        "flow exec --run-id r1 test; echo 'commands: {tests: sh check.sh}' > .flow/config.yaml",
    ),
    (
        "a command that is another now",
        "flow exec --run-id r1 test; echo 'commands: {test: sh other.sh}' > .flow/config.yaml",
    ),
    (
        "a command that was another",
        "echo 'commands: {test: \"true\"}' > .flow/config.yaml; flow trust --yes; flow exec --run-id r1 test; echo 'commands: {test: sh check.sh}' > .flow/config.yaml",
    ),
    ("no configuration", "flow exec --run-id r1 test; rm .flow/config.yaml"),
    (
        "a command that nobody accepted",
        "echo 'commands: {test: \"true\"}' > .flow/config.yaml; flow exec --run-id r1 test",
    ),
    ("another run", "flow start w --id r2 --another; flow exec --run-id r2 test"),
    (
        "another phase",
        "flow record-activity --run-id r1 --phase build --id again; flow exec --run-id r1 test; flow record-activity --run-id r1 --phase verify --id look2",
    ),
    (
        "an earlier stay",
        "flow exec --run-id r1 test; flow record-activity --run-id r1 --phase build --id again; flow record-activity --run-id r1 --phase verify --id look2",
    ),
    ("a workflow that asks for nothing", "sed -i '/requires/d' .flow/workflows/w.workflow.yaml"),
    ("completed_activities", "sed -i 's/^\\( *\\)- look$/&\\n\\1- test/' .flow/runs/r1/run.yaml"),
];

#[test]
fn evidence_is_fresh_beside_files_whose_names_differ_in_case_alone() {
    let sandbox = sandbox();
    let script =
        "git config core.ignoreCase true; echo x > Code; flow exec --run-id r1 test; flow verify --evidence r1";
    let told = shell(&sandbox, script).ok().stdout;
    assert!(told.contains("fresh"), "{told}");
}

#[test]
fn an_edited_tree_is_on_no_commit_although_git_is_told_not_to_look() {
    let sandbox = sandbox();
    let script = "printf '[core]\\n\\tignoreStat = true\\n' > \"$HOME/config\"
export GIT_CONFIG_GLOBAL=\"$HOME/config\"
touch -d 2020-01-01 code; git status
printf 'goof\\n' > code; touch -d 2020-01-01 code
flow exec --run-id r1 test; flow export r1 --format in-toto";
    let told = shell(&sandbox, script).ok().stdout;
    assert!(told.contains("in-toto.io/Statement") && !told.contains("gitCommit"), "{told}");
}

#[test]
fn a_phase_that_requires_a_command_is_left_by_no_way_that_is_not_in_the_log() {
    for (name, script) in ATTEMPTS {
        let sandbox = sandbox();
        let _ = shell(&sandbox, script);
        assert!(is_in_verify(&sandbox), "{name}");
        let told = shell(&sandbox, LEAVE);
        assert!(is_in_verify(&sandbox), "{name}\n{}\n{}", told.stdout, told.stderr);
        let log = sandbox.flow(["log", "r1", "--json"]).ok().stdout;
        assert!(!log.contains("\"unproved\""), "{name}");
        assert!(told.stderr.contains("`verify` requires that `test` was seen to pass"), "{name}\n{}", told.stderr);
    }
}

/// Ways that do leave, each with the text that the log has of it.
const IN_THE_LOG: [(&str, &str, &str); 9] = [
    ("a reason", "flow record-activity --run-id r1 --phase report --id report --skip-reason 'no time'", "\"unproved\""),
    (
        "a reason to advance",
        "flow record-activity --run-id r1 --id x --advance --skip-reason 'no time'",
        "\"unproved\"",
    ),
    ("a reason to complete", "flow complete r1 --skip-reason 'no time'", "\"unproved\""),
    (
        "an edit",
        "sed -i 's/current_phase: verify/current_phase: report/' .flow/runs/r1/run.yaml; flow record-activity --run-id r1 --id report; flow complete r1; flow complete r1 --skip-reason 'no time'",
        "\"unproved\"",
    ),
    (
        "an edit that completes",
        "sed -i 's/status: active/status: completed/' .flow/runs/r1/run.yaml; flow resume r1",
        "\"run_edited\"",
    ),
    (
        "another definition",
        "sed -i '/requires/d' .flow/workflows/w.workflow.yaml; flow workflow adopt r1; flow record-activity --run-id r1 --phase report --id report",
        "no longer requires `test` to pass",
    ),
    (
        "another command that was accepted",
        "echo 'commands: {test: \"true\"}' > .flow/config.yaml; flow trust --yes; flow exec --run-id r1 test; flow record-activity --run-id r1 --phase report --id report",
        "\"argv\":[\"true\"]",
    ),
    ("the end of the run", "flow cancel r1", "\"run_cancelled\""),
    ("a failure of the run", "flow fail r1 --reason no", "\"run_failed\""),
];

#[test]
fn whoever_leaves_without_the_command_is_told_by_the_log() {
    for (name, script, text) in IN_THE_LOG {
        let sandbox = sandbox();
        let told = shell(&sandbox, script);
        assert!(!is_in_verify(&sandbox), "{name}\n{}", told.stderr);
        let log = sandbox.flow(["log", "r1", "--json"]).ok().json().to_string();
        // No command wrote since then, so the edit stands in the file alone.
        let is_edited = name == "an edit that completes";
        assert!(log.contains(text) || is_edited, "{name}\n{log}");
        sandbox
            .flow(["verify", "r1", "--evidence"])
            .exits(i32::from(name != "another definition" && name != "another command that was accepted"));
    }
}

#[test]
fn an_edit_over_a_phase_that_the_run_never_came_to_needs_a_reason_as_well() {
    let sandbox = sandbox();
    for (run, proves) in [("r2", false), ("r3", true)] {
        sandbox.flow(["start", "w", "--id", run, "--another"]).ok();
        sandbox.record(run, "build", "b");
        let file = sandbox.path(format!(".flow/runs/{run}/run.yaml"));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("current_phase: build", "current_phase: report")).unwrap();
        sandbox.record(run, "report", "report");
        let error = sandbox.flow(["complete", run, "--json"]).exits(1).error();
        let why = "`verify` requires that `test` was seen to pass: by its log, the run was never there";
        assert_eq!(error["message"], format!("run {run}: {why}"));
        let help = error["help"].as_str().unwrap();
        assert!(help.starts_with(&format!("`flow exec --run-id {run} --phase verify test` runs it")), "{help}");
        sandbox.flow(["verify", run, "--evidence"]).exits(1);
        if proves {
            sandbox.flow(["exec", "--run-id", run, "--phase", "verify", "test"]).ok();
            sandbox.flow(["complete", run]).ok();
        } else {
            sandbox.flow(["complete", run, "--skip-reason", "no time"]).ok();
        }
        sandbox.flow(["verify", run]).ok();
    }
}

#[test]
fn an_edit_that_takes_the_run_out_of_a_phase_needs_a_proof_that_still_holds() {
    let sandbox = sandbox();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    fs::write(sandbox.path("code"), "later").unwrap();
    let file = sandbox.path(".flow/runs/r1/run.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("current_phase: verify", "current_phase: report")).unwrap();
    sandbox.record("r1", "report", "report");
    let why = "`verify` requires that `test` was seen to pass: 004 test passed, and the files changed since it was run (code)";
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(resumed["reason"], why);
    assert_eq!(resumed["next"]["command"], "flow exec --run-id r1 --phase verify test");
    let skips = json!([{
        "when": "the run is completed without it, for a reason that is noted",
        "command": "flow complete r1 --skip-reason 'why'",
    }]);
    assert_eq!(resumed["next"]["alternatives"], skips);
    let error = sandbox.flow(["complete", "r1", "--json"]).exits(1).error();
    assert_eq!(error["message"], format!("run r1: {why}"));
    sandbox.flow(["exec", "--run-id", "r1", "--phase", "verify", "test"]).ok();
    sandbox.flow(["complete", "r1"]).ok();
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn all_readers_say_that_the_project_calls_another_command_so_today() {
    let sandbox = sandbox();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    fs::write(sandbox.path(".flow/config.yaml"), "commands: {test: 'true'}\n").unwrap();
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).exits(4).json()["verdict"], "needs_human");
    let line = sandbox.flow(["hud"]).ok().stdout;
    insta::assert_snapshot!(line, @"w  r1  verify 2/3  blocked  `verify` requires that `test` was seen…  now");
    for reader in [&["attention"][..], &["wait", "r1", "--timeout", "1"], &["watch", "--once"], &["list"]] {
        let told = sandbox.flow(reader);
        let told = format!("{}{}", told.stdout, told.stderr);
        assert!(told.contains("`verify` requires that `test` was"), "{reader:?}: {told}");
    }
}

#[test]
fn an_edit_that_ends_a_run_without_its_proof_is_told_by_every_reader() {
    let edits = [
        "s/^  status: .*/  status: completed/; s/current_phase: .*/current_phase: report/",
        "s/^  status: .*/  status: completed/",
    ];
    for edit in edits {
        let sandbox = sandbox();
        shell(&sandbox, &format!("sed -i '{edit}' .flow/runs/r1/run.yaml")).ok();
        for adopted in [false, true] {
            if adopted {
                sandbox.flow(["set", "r1", "--goal", "g"]).ok();
            }
            for reader in ["show", "resume", "report"] {
                let told = sandbox.flow([reader, "r1"]).stdout;
                assert!(told.contains("seen to pass"), "{edit}: {reader}: {told}");
            }
        }
    }
}

#[test]
fn an_edit_that_completes_a_run_whose_log_is_gone_stands_in_what_is_logged_next() {
    for lose in [
        "rm $r/events.jsonl",
        ": > $r/events.jsonl",
        "sed -i '$d' $r/events.jsonl $r/.lock",
        "rm $r/events.jsonl $r/.lock; sed -i '/last_seq/d' $r/run.yaml",
    ] {
        let sandbox = sandbox();
        let edit = "sed -i 's/status: active/status: completed/' $r/run.yaml";
        shell(&sandbox, &format!("r=.flow/runs/r1; {lose}; {edit}")).ok();
        sandbox.flow(["set", "r1", "--goal", "g"]).ok();
        sandbox.flow(["set", "r1", "--goal", "h"]).ok();
        let log = fs::read_to_string(sandbox.path(".flow/runs/r1/events.jsonl")).unwrap();
        let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let is_it = |event: &&Value| event["changes"]["status"] == "completed" && event["by_command"].is_null();
        assert_eq!(events.iter().filter(is_it).count(), 1, "{lose}: {log}");
        assert!(sandbox.flow(["show", "r1"]).ok().stdout.contains("seen to pass"), "{lose}");
    }
}

#[test]
fn a_report_names_what_is_required_and_what_was_run_where() {
    let sandbox = sandbox();
    let report = |args: &[&str]| sandbox.flow([&["report", "r1"], args].concat()).ok();
    let told = report(&[]).stdout;
    insta::assert_snapshot!(told, @r"
    ## `r1` active

    Workflow `w`, in `verify`.
    Branch: `main`

    ### Claimed

    - 001 `build` passed in `build`
    - 002 `look` passed in `verify`

    ### Open

    - `verify` requires `test`: `it was not run since the run came there`
    ");
    assert_eq!(report(&["--format", "json"]).json()["required"][0]["exec"], "test");
    // The words are those of the command that the project names, and what they run is another one.
    fs::create_dir(sandbox.path("sub")).unwrap();
    fs::write(sandbox.path("sub/check.sh"), "true\n").unwrap();
    shell(&sandbox, "cd sub && flow exec --run-id r1 --id test -- sh check.sh").ok();
    assert!(report(&[]).stdout.contains(": `sh check.sh (in sub)`"));
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    insta::assert_snapshot!(sandbox.masked(&report(&[]).stdout), @r"
    ## `r1` active

    Workflow `w`, in `verify`.
    Branch: `main`
    Used: 4s (2 of 4 reported)

    ### Seen

    - 004 `test` passed, on files `ID`: `sh check.sh (in sub)`
    - 006 `test-2` passed, on files `ID`: `test = sh check.sh`

    ### Claimed

    - 001 `build` passed in `build`
    - 002 `look` passed in `verify`
    ");
    for reader in ["show", "evidence", "resume"] {
        let told = sandbox.flow([reader, "r1"]).stdout;
        assert!(told.contains("test = sh check.sh"), "{reader}: {told}");
    }
}

#[test]
fn what_was_proved_when_the_run_left_the_phase_is_not_asked_for_again() {
    let sandbox = sandbox();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    sandbox.record("r1", "report", "report");
    fs::write(sandbox.path("code"), "later").unwrap();
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(resumed["next"]["action"], "complete");
    sandbox.flow(["complete", "r1"]).ok();
}

#[test]
fn a_command_that_was_seen_to_pass_on_these_files_lets_the_run_go_on() {
    let sandbox = sandbox();
    let error = sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "report", "--json"]).exits(1).error();
    insta::assert_snapshot!(format!("{error:#}"), @r#"
    {
      "code": "not_proved",
      "message": "run r1: `verify` requires that `test` was seen to pass: it was not run since the run came there",
      "help": "`flow exec --run-id r1 test` runs it; `flow record-activity --run-id r1 --phase report --id report --status running --skip-reason 'TEXT'` goes on without it, and notes why",
      "causes": []
    }
    "#);
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(resumed["next"]["action"], "run_command");
    assert_eq!(resumed["next"]["command"], "flow exec --run-id r1 test");
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!((&resumed["next"]["action"], &resumed["next"]["phase"]), (&json!("start_phase"), &json!("report")));
    fs::write(sandbox.path("code"), "other").unwrap();
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    let reason = "`verify` requires that `test` was seen to pass: 004 test passed, and the files changed since it was run (code)";
    assert_eq!(resumed["reason"], reason);
    sandbox.git(&["checkout", "-q", "code"]);
    sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "report", "--id", "report"]).ok();
    sandbox.flow(["complete", "r1"]).ok();
    sandbox.flow(["verify", "r1"]).ok();
    let verified = sandbox.flow(["verify", "r1", "--evidence", "--json"]).ok().json();
    assert_eq!(verified["required"][0]["proved"], true);
    fs::write(sandbox.path("code"), "other").unwrap();
    let stale = sandbox.flow(["verify", "r1", "--evidence"]).exits(1).stdout;
    insta::assert_snapshot!(stale, @r"
    not fresh  r1
      004  test  verify  test = sh check.sh  passed, seen  stale: the files changed since it was run
      verify requires test: 004 test passed, and the files changed since it was run (code)
        changed since 004: code
      claimed     001 build, 002 look, 005 report
      fresh means: the tracked and untracked files are the same; ignored ones are not looked at
    ");
}

#[test]
fn a_reason_to_leave_without_the_command_stays_visible() {
    let sandbox = sandbox();
    let next = ["record-activity", "--run-id", "r1", "--phase", "report", "--id", "report"];
    sandbox.flow(next.iter().chain(&["--skip-reason", "the runner is down"])).ok();
    let skipped = json!([{ "phase": "verify", "exec": "test", "reason": "the runner is down", "seq": 4 }]);
    assert_eq!(sandbox.flow(["show", "r1", "--json"]).ok().json()["skipped"], skipped);
    sandbox.flow(["complete", "r1"]).ok();
    let resumed = sandbox.flow(["resume", "r1"]).ok().stdout;
    insta::assert_snapshot!(resumed, @"
    done  r1  w
      why         the run is completed
      phase       report
      if there is more to do:
        flow reopen r1 --reason 'why'
      left undone
        -  test  verify  not seen to pass
      completed
        001  build   build   passed, claimed
        002  look    verify  passed, claimed
        003  report  report  passed, claimed
      note        `verify` was left although `test` was not seen to pass (event 4): the runner is down
    ");
    let verified = sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(1).json();
    assert_eq!(verified["required"][0]["skip_reason"], "the runner is down");
    let log = sandbox.flow(["log", "r1"]).ok().stdout;
    insta::assert_snapshot!(log, @r"
    1  2026-05-20T14:30:07.000Z  run_started        w in build
    2  2026-05-20T14:30:08.000Z  activity_recorded  001 build passed in build
    3  2026-05-20T14:30:09.000Z  activity_recorded  002 look passed in verify
    4  2026-05-20T14:30:10.000Z  activity_recorded  003 report passed in report; left undone: verify without test (the runner is down)
    5  2026-05-20T14:30:12.000Z  run_completed
    ");
}

#[test]
fn going_back_for_another_round_needs_no_proof_and_the_next_round_does() {
    let sandbox = sandbox();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    sandbox.record("r1", "build", "again");
    sandbox.record("r1", "verify", "look-again");
    sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "report"]).exits(1);
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    sandbox.record("r1", "report", "report");
}

#[test]
fn a_command_counts_however_much_is_recorded_after_it() {
    let sandbox = sandbox();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    for nth in 0..70 {
        sandbox.inside(["record-activity", "--run-id", "r1", "--id", &format!("more-{nth}")]).ok();
    }
    sandbox.record("r1", "report", "report");
}

#[test]
fn graphs_and_diagrams_require_commands_as_phases_do() {
    let graph = "initial: build
states:
  build: {type: agent, transition: {next: [verify]}}
  verify: {type: agent, requires: [{exec: test}], transition: {next: [report]}}
  report: {type: agent, requires: [{exec: lint, fresh: false}], transition: {next: []}}
";
    let diagram = "---
flow: {requires: {verify: [{exec: test}], report: [{exec: lint, fresh: false}]}}
---
stateDiagram-v2
[*] --> build
build --> verify
verify --> report
report --> [*]
";
    for (file, definition) in [("g.graph.yaml", graph), ("g.mmd", diagram)] {
        let sandbox = project(file, definition);
        let emit = |step: &str, status: &str| {
            let data = format!("{{\"status\":\"{status}\"}}");
            sandbox.flow([
                "emit", "--workflow", "g", "--run-id", "r1", "--type", "status_change", "--step", step, "--data", &data,
            ])
        };
        emit("build", "running").ok();
        emit("verify", "running").ok();
        assert!(emit("report", "running").exits(1).stderr.contains("requires that `test`"), "{file}");
        sandbox.flow(["advance", "r1"]).exits(1);
        sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
        emit("report", "running").ok();
        fs::write(sandbox.path("code"), "other").unwrap();
        assert!(emit("report", "completed").exits(1).stderr.contains("requires that `lint`"), "{file}");
        sandbox.flow(["complete", "r1"]).exits(1);
        sandbox.flow(["exec", "--run-id", "r1", "lint"]).ok();
        fs::write(sandbox.path("code"), "something else").unwrap();
        emit("report", "completed").ok();
        assert_eq!(shown(&sandbox, "r1")["status"], "completed", "{file}");
    }
}

#[test]
fn a_run_is_completed_in_its_last_phase_only_with_what_that_requires() {
    let phases = PHASES.replace("  - id: report\n", "  - id: report\n    requires: [{exec: lint}]\n");
    let sandbox = project("w.workflow.yaml", &phases);
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "build", "build");
    sandbox.record("r1", "verify", "look");
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    sandbox.record("r1", "report", "report");
    let error = sandbox.flow(["complete", "r1", "--json"]).exits(1).error();
    assert_eq!(error["code"], "not_proved", "{error:#}");
    sandbox.flow(["exec", "--run-id", "r1", "lint"]).ok();
    sandbox.flow(["complete", "r1"]).ok();
}

#[test]
fn shipped_workflows_require_a_command_only_where_the_project_names_it() {
    let sandbox = project("w.workflow.yaml", PHASES);
    let required =
        |run: &str| sandbox.flow(["log", run, "--json"]).ok().json()["events"][0]["machine"]["requires"].clone();
    sandbox.flow(["start", "debug", "--id", "named"]).ok();
    assert_eq!(required("named"), json!([{ "state": "verify", "exec": "test", "fresh": true }]));
    fs::write(sandbox.path(".flow/config.yaml"), "commands: {lint: 'true'}\n").unwrap();
    sandbox.flow(["start", "debug", "--id", "unnamed"]).ok();
    assert_eq!(required("unnamed"), Value::Null);
    // What the configuration says later takes nothing away, and is not another definition.
    assert_eq!(sandbox.flow(["resume", "named", "--json"]).ok().json()["verdict"], "continue");
    assert_eq!(sandbox.flow(["workflow", "adopt", "unnamed", "--json"]).ok().json()["changed"], false);
    fs::write(sandbox.path(".flow/config.yaml"), CONFIG).unwrap();
    let adopted = sandbox.flow(["workflow", "adopt", "unnamed", "--json"]).ok().json();
    assert_eq!(adopted["differences"], json!(["state `verify` now requires `test` to pass"]));
}

#[test]
fn what_a_run_was_spared_since_the_project_did_not_name_it_is_told_with_the_evidence() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "start-issue", "--id", "r1"]).ok();
    let notes = || sandbox.flow(["verify", "r1", "--evidence", "--json"]).json()["notes"].to_string();
    assert_eq!(notes(), "[]");
    fs::write(sandbox.path(".flow/config.yaml"), CONFIG).unwrap();
    assert!(notes().contains("requires `test` today, and did not when the run began"), "{}", notes());
}

/// What the host of the session reads when its turn ends.
fn stop(sandbox: &Sandbox, options: &[&str]) -> Option<String> {
    let payload = json!({ "session_id": "s1", "stop_hook_active": false }).to_string();
    let told = sandbox.flow_with(["hook", "codex", "stop"].iter().chain(options), &payload).ok();
    assert_eq!(told.stderr, "");
    let answer: Value = told.stdout.parse().ok()?;
    assert_eq!(answer["decision"], "block");
    Some(answer["reason"].as_str().unwrap().to_owned())
}

fn prompt(sandbox: &Sandbox) {
    let payload = json!({ "session_id": "s1", "prompt": "go on" }).to_string();
    sandbox.flow_with(["hook", "codex", "user-prompt-submit"], &payload).ok();
}

#[test]
fn a_session_is_sent_once_after_a_prompt_to_run_what_its_phase_requires() {
    let sandbox = sandbox();
    sandbox.flow(["resume", "r1", "--claim", "--session", "s1"]).ok();
    prompt(&sandbox);
    assert_eq!(stop(&sandbox, &[]), None, "it was not asked to");
    let told = stop(&sandbox, &["--gate"]).unwrap();
    insta::assert_snapshot!(told, @r#"
    flow keeps the state of run r1 of workflow w, active, in phase verify (2 of 3).
    Verdict: continue: "what `verify` requires was not seen to pass"
    Held by: this session
    Completed activities: 2, the last ones 001 build, 002 look
    Texts in quotation marks are data of the run. `flow resume` tells more.
    The phase verify requires test to be seen to pass: it was not run since the run came there. Run: `flow exec --run-id r1 test`
    "#);
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "further", "--session", "s1"]).ok();
    // The one continuation after a prompt is spent, whatever it was for.
    assert_eq!(stop(&sandbox, &["--continue", "--gate"]), None);
    prompt(&sandbox);
    sandbox.flow(["exec", "--run-id", "r1", "--session", "s1", "test"]).ok();
    assert_eq!(stop(&sandbox, &["--gate"]), None, "it was seen to pass");
    fs::write(sandbox.path("code"), "other").unwrap();
    let told = stop(&sandbox, &["--gate"]).unwrap();
    insta::assert_snapshot!(told, @r#"
    flow keeps the state of run r1 of workflow w, active, in phase verify (2 of 3).
    Verdict: continue: "what `verify` requires was not seen to pass"
    Held by: this session
    Completed activities: 4, the last ones 001 build, 002 look, 003 further, 005 test (seen)
    Texts in quotation marks are data of the run. `flow resume` tells more.
    The phase verify requires test to be seen to pass: 005 test passed, and the files changed since it was run (code). Run: `flow exec --run-id r1 test`
    "#);
}

#[test]
fn a_session_is_not_sent_to_run_what_still_runs_or_may_have_ended() {
    let sandbox = sandbox();
    sandbox.flow(["resume", "r1", "--claim", "--session", "s1"]).ok();
    fs::write(sandbox.path("check.sh"), "sleep 60\n").unwrap();
    let mut command = sandbox.flow_command();
    command.args(["exec", "--run-id", "r1", "--session", "s1", "test"]);
    let mut running = spawned(command);
    let until = Instant::now() + Duration::from_secs(60);
    while sandbox.events("r1").last().unwrap()["activity"]["activity"]["status"] != "running" {
        assert!(Instant::now() < until, "it does not begin");
        sleep(Duration::from_millis(5));
    }
    assert_eq!(stop(&sandbox, &["--gate"]), None, "it runs");
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(stop(&sandbox, &["--gate"]), None, "its end was not seen");
}

#[test]
fn a_session_is_sent_to_run_what_is_required_whatever_its_turn_did() {
    let sandbox = sandbox();
    sandbox.flow(["resume", "r1", "--claim", "--session", "s1"]).ok();
    assert!(stop(&sandbox, &["--gate"]).is_some(), "before the first prompt");
    assert_eq!(stop(&sandbox, &["--gate"]), None, "once");
    for _ in 0..4 {
        prompt(&sandbox);
        assert!(stop(&sandbox, &["--gate"]).is_some(), "nothing was done since the prompt, and more than three times");
    }
    prompt(&sandbox);
    sandbox.flow(["block", "r1", "--reason", "r", "--session", "s1"]).ok();
    sandbox.flow(["unblock", "r1", "--session", "s1"]).ok();
    assert!(stop(&sandbox, &["--gate"]).is_some(), "it was blocked meanwhile");
    prompt(&sandbox);
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "w", "--status", "running", "--session", "s1"]).ok();
    assert!(stop(&sandbox, &["--gate"]).is_some(), "work is in doubt");
    // A second run of the session hides nothing.
    prompt(&sandbox);
    sandbox.flow(["start", "debug", "--id", "other", "--session", "s1"]).ok();
    assert!(stop(&sandbox, &["--gate"]).unwrap().ends_with("Run: `flow exec --run-id r1 test`"));
    // None of that was one of the three times that the session works further by itself.
    sandbox.flow(["cancel", "other"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "w", "--session", "s1"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "--session", "s1", "test"]).ok();
    prompt(&sandbox);
    assert_eq!(stop(&sandbox, &["--continue"]), None, "nothing was done since the prompt");
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "x", "--session", "s1"]).ok();
    assert!(stop(&sandbox, &["--gate", "--continue"]).is_some());
}

#[test]
fn no_session_is_kept_for_a_command_that_it_cannot_run() {
    for config in ["commands: {lint: 'true'}\n", "commands: {test: sh other.sh}\n", "commands: [\n"] {
        let sandbox = sandbox();
        sandbox.flow(["resume", "r1", "--claim", "--session", "s1"]).ok();
        prompt(&sandbox);
        fs::write(sandbox.path(".flow/config.yaml"), config).unwrap();
        assert_eq!(stop(&sandbox, &["--gate"]), None, "{config}");
    }
    let sandbox = sandbox();
    sandbox.flow(["resume", "r1", "--claim", "--session", "s1"]).ok();
    prompt(&sandbox);
    sandbox.flow(["block", "r1", "--reason", "ask", "--session", "s1"]).ok();
    assert_eq!(stop(&sandbox, &["--gate"]), None, "it waits for a person");
    sandbox.flow(["unblock", "r1", "--session", "s1"]).ok();
    let question = ["--type", "waiting_for_user", "--data", r#"{"prompt": "Which?"}"#];
    let asks = ["emit", "--workflow", "w", "--run-id", "r1", "--step", "verify", "--session", "s1"];
    sandbox.flow(asks.iter().chain(&question)).ok();
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).exits(4).json()["verdict"], "needs_human");
    assert_eq!(stop(&sandbox, &["--gate"]), None, "it waits for an answer");
    sandbox.flow(["cancel", "r1"]).ok();
    assert_eq!(stop(&sandbox, &["--gate"]), None, "there is no run");
}

#[test]
fn of_several_commands_a_session_is_sent_to_the_one_that_it_can_run() {
    let sandbox = project("w.workflow.yaml", &PHASES.replace("[{exec: test}]", "[{exec: lint}, {exec: test}]"));
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.flow(["record-activity", "--id", "build", "--advance"]).ok();
    sandbox.flow(["resume", "r1", "--claim", "--session", "s1"]).ok();
    prompt(&sandbox);
    fs::write(sandbox.path(".flow/config.yaml"), CONFIG.replace("'true'", "sh other.sh")).unwrap();
    let asked = stop(&sandbox, &["--gate"]).unwrap();
    assert!(asked.contains("flow exec --run-id r1 test") && !asked.contains("lint"), "{asked}");
}

#[test]
fn where_the_files_cannot_be_told_a_person_is_asked_and_not_for_another_run() {
    let broken =
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub && mkdir sub && echo x > sub/.git";
    for damage in ["git config core.worktree ../..", "printf garbage > .git/index", broken] {
        let sandbox = sandbox();
        sandbox.flow(["resume", "r1", "--claim", "--session", "s1"]).ok();
        prompt(&sandbox);
        shell(&sandbox, damage).ok();
        assert_eq!(sandbox.flow(["resume", "r1", "--json"]).ok().json()["verdict"], "continue", "{damage}");
        sandbox.flow(["exec", "--run-id", "r1", "--session", "s1", "test"]).ok();
        let resumed = sandbox.flow(["resume", "r1", "--json"]).exits(4).json();
        assert_eq!(
            (&resumed["verdict"], &resumed["next"]["command"]),
            (&json!("needs_human"), &json!(null)),
            "{damage}"
        );
        let reason = resumed["reason"].as_str().unwrap();
        assert!(reason.ends_with("or lets the workflow require it with `fresh: false`"), "{reason}");
        let first = json!({"when": "the files can be told again", "command": "flow exec --run-id r1 test"});
        assert_eq!(resumed["next"]["alternatives"][0], first, "{damage}");
        prompt(&sandbox);
        assert_eq!(stop(&sandbox, &["--gate"]), None, "{damage}");
        let required = &sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(1).json()["required"][0];
        assert_eq!(required["command"], json!(null), "{damage}: {required}");
        let record = ["record-activity", "--run-id", "r1", "--session", "s1", "--phase", "report", "--id", "report"];
        let error = sandbox.flow(record.iter().chain(&["--json"])).exits(1).error();
        assert!(error["help"].as_str().unwrap().contains("fresh: false"), "{error}");
    }
}

/// Ways to let other files than the project's be looked at, after `test` passed and `code` became bad.
#[test]
fn no_setting_and_no_reference_of_the_repository_says_which_files_are_looked_at() {
    let sandbox = sandbox();
    let verified = |expected: &str| {
        let report = sandbox.flow(["verify", "r1", "--evidence", "--json"]);
        assert_eq!(report.json()["evidence"][0]["freshness"], expected, "{report:?}");
    };
    shell(&sandbox, "flow exec --run-id r1 test && cp -a . ../copy && echo bad > code").ok();
    verified("stale");
    sandbox.git(&["config", "core.worktree", "../../copy"]);
    verified("unknown");
    assert!(is_in_verify(&sandbox));
    sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "report", "--id", "report"]).exits(1);
    sandbox.git(&["config", "--unset", "core.worktree"]);
    verified("stale");
}

#[test]
fn no_variable_of_git_and_no_place_beside_flows_files_hides_an_edit() {
    for variable in ["GIT_LITERAL_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_GLOB_PATHSPECS"] {
        let sandbox = sandbox();
        shell(&sandbox, &format!("export {variable}=1; flow exec --run-id r1 test && echo bad > code")).ok();
        let report = shell(&sandbox, &format!("export {variable}=1; flow verify r1 --evidence --json")).exits(1).json();
        assert_eq!(report["evidence"][0]["changed"], json!(["code"]), "{variable}");
    }
    let sandbox = sandbox();
    fs::write(sandbox.path(".flow/check.sh"), "true\n").unwrap();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    sandbox.record("r1", "verify", "more");
    let seen = || sandbox.flow(["verify", "r1", "--evidence", "--json"]).json()["evidence"][0].clone();
    assert_eq!(seen()["freshness"], "fresh", "what flow writes counts as before");
    fs::write(sandbox.path(".flow/check.sh"), "false\n").unwrap();
    assert_eq!((&seen()["freshness"], &seen()["changed"]), (&json!("stale"), &json!([".flow/check.sh"])));
}

#[test]
fn what_is_not_covered_is_told() {
    let sandbox = sandbox();
    shell(&sandbox, "git init -q vend && echo a > vend/f").ok();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    for args in [["verify", "r1", "--evidence"].as_slice(), &["show", "r1"], &["resume", "r1"]] {
        let told = sandbox.flow(args).stdout;
        assert!(told.contains("\n    not covered: vend: "), "{args:?} {told}");
    }
    let report = sandbox.flow(["report", "r1"]).ok().stdout;
    assert!(report.contains("; not covered: `vend"), "{report}");
    let statement = sandbox.flow(["export", "r1", "--format", "in-toto"]).ok().stdout.parse::<Value>().unwrap();
    let left_out = &statement["predicate"]["configuration"][0]["annotations"]["notCovered"];
    assert!(left_out[0]["path"].as_str().unwrap().starts_with("vend") && left_out[0]["why"].is_string(), "{statement}");
}

#[test]
fn files_that_are_taken_out_of_the_digest_are_named_as_not_covered() {
    for (script, path, why) in [
        (
            "git rm -q --cached code; echo /code > .git/info/exclude",
            "code",
            "in the commit, but not in the index, and ignored",
        ),
        (
            "git rm -q --cached code; echo /code > ../out; git config core.excludesFile \"$PWD/../out\"",
            "code",
            "in the commit, but not in the index, and ignored",
        ),
        ("mv code ../code; ln -s ../code code", "code", "a link to what is not covered"),
        ("ln -s ../nothing gone; ln -s code inner; ln -s . here", "gone", "a link to what is not covered"),
        (
            "mkdir d; mv check.sh d; ln -s d/check.sh; echo l > .git/info/exclude; ln -s x l; ln -s l to-l",
            "to-l",
            "a link to what is not covered",
        ),
    ] {
        let sandbox = sandbox();
        shell(&sandbox, script).ok();
        sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
        let left_out =
            sandbox.flow(["verify", "r1", "--evidence", "--json"]).json()["evidence"][0]["not_covered"].clone();
        assert_eq!(left_out, json!([{ "path": path, "why": why }]), "{script}");
        for args in [["verify", "r1", "--evidence"].as_slice(), &["show", "r1"], &["resume", "r1"]] {
            let told = sandbox.flow(args).stdout;
            assert!(told.contains(&format!("\n    not covered: {path}: {why}\n")), "{script} {args:?} {told}");
        }
    }
}

/// Edits that git does not tell, and what evidence says changed.
const HIDDEN: [(&str, &str, &str); 5] = [
    (
        "git update-index --assume-unchanged code; echo more >> code",
        "git update-index --no-assume-unchanged code; git checkout code",
        "code",
    ),
    (
        "git update-index --skip-worktree code; echo more >> code",
        "git update-index --no-skip-worktree code; git checkout code",
        "code",
    ),
    ("git config submodule.sub.ignore all; echo more >> sub/in", "git -C sub checkout in", "sub"),
    (
        "git config diff.ignoreSubmodules all; git -C sub commit -qam more --allow-empty; echo more >> sub/in",
        "true",
        "sub",
    ),
    ("echo more > sub/new", "rm sub/new", "sub/new"),
];

#[test]
fn what_makes_stale_is_named_also_where_git_is_told_to_ignore_it() {
    for (edit, back, named) in HIDDEN {
        let sandbox = sandbox();
        let module = "git init -q lib && echo a > lib/in && git -C lib add in && git -C lib -c user.name=A -c user.email=a@b commit -qm a && \
            git -c protocol.file.allow=always submodule --quiet add \"$PWD/lib\" sub && echo lib >> .git/info/exclude && git commit -qm sub";
        shell(&sandbox, module).ok();
        sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
        let seen = || sandbox.flow(["verify", "r1", "--evidence", "--json"]).json()["evidence"][0].clone();
        assert_eq!(seen()["freshness"], "fresh");
        shell(&sandbox, edit).ok();
        let stale = seen();
        assert_eq!((&stale["freshness"], &stale["changed"]), (&json!("stale"), &json!([named])), "{edit}");
        if back != "true" {
            shell(&sandbox, back).ok();
            assert_eq!(seen()["freshness"], "fresh", "{back}");
        }
    }
}

/// Changes of the index alone. What the commit has of the file `other` is on the disk.
const IN_THE_INDEX: [&str; 6] = [
    "git add other code",
    "git update-index --chmod=+x other",
    "cp other o && echo x >> other && git add other && cp o other && rm o",
    "git rm -q --cached other",
    "echo x > new && git add new && rm new",
    "echo x >> other && git commit -qm more other && git checkout -q HEAD~1 -- other && git reset -q",
];

#[test]
fn what_changed_in_the_index_alone_is_not_named_among_the_files_that_changed() {
    for change in IN_THE_INDEX {
        let sandbox = sandbox();
        shell(&sandbox, "echo o > other && ln -s code link && git add other link && git commit -qm other").ok();
        sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
        let seen = || sandbox.flow(["verify", "r1", "--evidence", "--json"]).json()["evidence"][0].clone();
        shell(&sandbox, change).ok();
        assert_eq!(seen()["freshness"], "fresh", "{change}");
        shell(&sandbox, "echo more >> code").ok();
        let stale = seen();
        assert_eq!((&stale["freshness"], &stale["changed"]), (&json!("stale"), &json!(["code"])), "{change}");
        // What is on the disk counts, whatever the index says.
        shell(&sandbox, "git checkout -q HEAD -- code && echo edit > other && chmod +x other").ok();
        assert_eq!(seen()["changed"], json!(["other"]), "{change}");
    }
}

#[test]
fn of_more_files_than_are_noted_none_is_named_that_is_as_it_was() {
    let many = "mkdir many && for n in $(seq 1500); do echo $n > many/file-$n; done";
    // They were in no commit, and are now; and the other way round.
    for (before, after, named) in [
        (many.to_owned(), "git add -A && git commit -qm many", json!([])),
        (format!("{many} && git add many && git commit -qm many"), "git rm -rq --cached many", json!(["code"])),
    ] {
        let sandbox = sandbox();
        shell(&sandbox, &before).ok();
        sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
        shell(&sandbox, &format!("{after} && echo more >> code")).ok();
        let stale = sandbox.flow(["verify", "r1", "--evidence", "--json"]).json()["evidence"][0].clone();
        assert_eq!((&stale["freshness"], &stale["changed"]), (&json!("stale"), &named), "{after}");
    }
}

#[test]
fn files_with_another_mode_or_kind_than_in_the_commit_are_not_the_commits() {
    for (setting, edit) in [("core.fileMode", "chmod +x code"), ("core.symlinks", "rm link && printf code > link")] {
        let sandbox = sandbox();
        shell(&sandbox, "ln -s code link && git add -A && git commit -qm link").ok();
        sandbox.git(&["config", setting, "false"]);
        shell(&sandbox, edit).ok();
        assert_eq!(shell(&sandbox, "git status --porcelain code link").ok().stdout, "", "git does not tell");
        shell(&sandbox, "flow exec --run-id r1 test && git add -A && git commit -qm runs && git clone -q . ../other")
            .ok();
        let report = shell(&sandbox, "flow -C ../other verify --evidence r1 --json").exits(1).json();
        assert_eq!(report["evidence"][0]["freshness"], "unknown", "{setting} {report:#}");
    }
}

#[test]
fn a_commit_that_the_repository_put_in_the_place_of_another_is_another_one() {
    let sandbox = sandbox();
    shell(
        &sandbox,
        "git add -A && git commit -qm runs && flow exec --run-id r1 test && git add -A && git commit -qm evidence && \
         git clone -q . ../other && cd ../other && echo bad > code && git commit -qam bad && \
         for one in $(git rev-list HEAD~1); do git replace $one HEAD; done",
    )
    .ok();
    let verified = shell(&sandbox, "cd ../other && flow verify r1 --evidence --json").json();
    assert_eq!(verified["evidence"][0]["freshness"], "unknown", "{verified:#}");
}

#[test]
fn a_flow_directory_of_any_name_and_place_is_about_the_files_beside_it() {
    let sandbox = project("w.workflow.yaml", PHASES);
    let begin = "flow trust --yes && flow start w --id r1 && flow record-activity --run-id r1 --phase build --id build && \
                 flow record-activity --run-id r1 --phase verify --id look && flow exec --run-id r1 test";
    let freshness = |script: &str| {
        let answer = shell(&sandbox, &format!("{script}\nflow verify r1 --evidence --json"));
        answer.json()["evidence"][0]["freshness"].clone()
    };
    // Whatever its name is, flow's own files do not make evidence stale.
    shell(&sandbox, &format!("mv .flow flowdata && export FLOW_DIR=$PWD/flowdata && {begin}")).ok();
    assert_eq!(freshness("export FLOW_DIR=$PWD/flowdata"), "fresh");
    assert_eq!(
        shell(&sandbox, "FLOW_DIR=$PWD/flowdata flow resume r1 --json").json()["working_tree"]["paths"],
        json!([])
    );
    // From a repository below, by a path that leads up: the files are those beside the directory.
    let below = "mkdir -p below && cd below && git init -q . && export FLOW_DIR=../flowdata";
    assert_eq!(freshness(below), "stale", "the repository below is a new file");
    shell(&sandbox, "rm -r below; echo bad > code; mkdir ../beside; cd ../beside; git init -q .").ok();
    assert_eq!(freshness("cd ../beside; export FLOW_DIR=../demo/flowdata"), "stale");
}

#[test]
fn what_flow_writes_for_another_project_of_the_checkout_is_no_file_of_this_one() {
    let sandbox = sandbox();
    let begin = "mkdir -p sub/b/.flow && cd sub/b && flow init >&2 && flow start debug --id rb";
    shell(&sandbox, begin).ok();
    let seen = || sandbox.flow(["verify", "r1", "--evidence", "--json"]).json()["evidence"][0].clone();
    // Also while the command runs.
    shell(&sandbox, "echo 'flow -C sub/b record-activity --id during' >> check.sh; git commit -qam during").ok();
    let script = format!("flow() {{ '{}' \"$@\"; }}", env!("CARGO_BIN_EXE_flow"));
    let check = fs::read_to_string(sandbox.path("check.sh")).unwrap();
    fs::write(sandbox.path("check.sh"), format!("{script}\n{check}")).unwrap();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    assert_eq!((&seen()["freshness"], &seen()["changed"]), (&json!("fresh"), &json!([])));
    let work =
        "cd sub/b && mkdir .decisions && flow set rb --goal more && flow exec -- true && flow cancel rb --reason x";
    shell(&sandbox, work).ok();
    fs::write(sandbox.path("sub/b/.decisions/feature.md"), "# Feature\n").unwrap();
    assert_eq!(seen()["freshness"], "fresh");
    let paths = |dir: &str, run: &str| {
        sandbox.flow(["-C", dir, "resume", run, "--json"]).json()["working_tree"]["paths"].clone()
    };
    assert_eq!(paths(".", "r1"), json!(["check.sh"]));
    shell(&sandbox, "cd sub/b && flow start debug --id rc").ok();
    assert_eq!(paths("sub/b", "rc"), json!(["check.sh"]), "the other way around");
    // In a clone as well, where commits are compared.
    shell(
        &sandbox,
        "git add -A && git commit -qm all && flow exec --run-id r1 test && git add -A && git commit -qm runs",
    )
    .ok();
    shell(
        &sandbox,
        "cd sub/b && flow set rc --goal more && git add -A && git commit -qm goal && git clone -q ../.. ../../../clone",
    )
    .ok();
    let cloned = shell(&sandbox, "flow -C ../clone verify r1 --evidence --json").json();
    assert_eq!(cloned["evidence"].as_array().unwrap().last().unwrap()["freshness"], "fresh", "{cloned:#}");
}

#[test]
fn a_directory_that_is_only_called_like_flows_hides_no_file() {
    for (make, edit, counts) in [
        ("mkdir -p sub/.flow/runs/r", "echo b > sub/.flow/runs/r/code", true),
        ("mkdir -p sub/.flow/workflows", "echo b > sub/.flow/workflows/code", true),
        (
            "mkdir -p sub/x.flow/runs",
            "echo '# Written by flow' > sub/x.flow/.gitattributes; echo b > sub/x.flow/runs/a",
            true,
        ),
        ("mkdir sub/.flow; flow -C sub init >&2; echo a > sub/.flow/check", "echo b > sub/.flow/check", true),
        ("mkdir sub/.flow; flow -C sub init >&2; ln -s .flow sub/flow", "echo b > sub/.flow/check", true),
        (
            "mkdir out; ln -s ../out sub/.flow; echo '# Written by flow' > out/.gitattributes",
            "echo b > out/check",
            true,
        ),
        (
            "git -C sub init -q; mkdir sub/.flow; flow -C sub init >&2; git -C sub -c user.name=A -c user.email=a@b commit -q --allow-empty -m a",
            "true",
            false,
        ),
        ("mkdir sub/.flow; flow -C sub init >&2", "flow -C sub start debug", false),
    ] {
        let sandbox = sandbox();
        shell(&sandbox, &format!("mkdir sub; echo a > sub/f; {make}")).ok();
        sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
        let seen = || sandbox.flow(["verify", "r1", "--evidence", "--json"]).json()["evidence"][0].clone();
        assert_eq!(seen()["freshness"], "fresh", "{make}");
        shell(&sandbox, edit).ok();
        let expected = if counts { "stale" } else { "fresh" };
        assert_eq!(seen()["freshness"], expected, "{make}: {edit}");
    }
}

#[test]
fn evidence_is_the_same_in_a_clone_that_changes_line_ends() {
    let sandbox = sandbox();
    let script = "flow exec --run-id r1 --id lines -- printf 'a\\r\\nb\\n' && git add -A && git commit -qm runs && \
                  for how in true input; do git clone -q -c core.autocrlf=$how . ../$how; done";
    shell(&sandbox, script).ok();
    for how in ["true", "input"] {
        let verified = shell(&sandbox, &format!("cd ../{how}; flow verify r1 --evidence --json")).json();
        assert_eq!(verified["evidence"][0]["freshness"], "fresh", "{how}: {verified:#}");
        let findings = shell(&sandbox, &format!("cd ../{how}; flow doctor --json")).json()["findings"].clone();
        let codes: Vec<_> = findings.as_array().unwrap().iter().map(|one| one["code"].clone()).collect();
        assert!(codes.is_empty(), "{how}: {codes:?}");
    }
}

/// A filter of the repository for large files, which leaves a mark when it runs. A file whose time is that of the index would be
/// compared anyway.
const FILTERED: &str = "printf 'echo x >> $HOME/ran; sed s/large/pointer/\\n' > $HOME/clean.sh
git config filter.lfs.clean \"sh $HOME/clean.sh\"; git config filter.lfs.smudge 'sed s/pointer/large/'
echo '*.bin filter=lfs -text' > .gitattributes; echo large > big.bin; touch -d '3 hours ago' big.bin
git add big.bin .gitattributes && git commit -qm large && rm $HOME/ran
";

#[test]
fn whether_a_checkout_is_clean_cannot_be_told_without_the_filter_of_its_repository() {
    let sandbox = sandbox();
    shell(&sandbox, FILTERED).ok();
    let verified = |dir: &str| {
        let told = shell(&sandbox, &format!("cd {dir}; flow verify r1 --evidence --json")).json();
        told["evidence"].as_array().unwrap().last().unwrap().clone()
    };
    // In a clone without the filter the file is as it was committed, so its digest is another one.
    let again = "rm -rf ../clone; flow exec --run-id r1 test && git clone -q . ../clone && cp -R .flow ../clone/.flow";
    shell(&sandbox, again).ok();
    assert_eq!(verified("../clone")["freshness"], "fresh");
    shell(&sandbox, &format!("touch -d '2 hours ago' big.bin; {again}")).ok();
    let state = verified("../clone");
    insta::assert_snapshot!(state["why"].as_str().unwrap(), @"it was run in another checkout, and whether that one has changes cannot be told without the filter that its repository configures: run `git status` there, and the command again");
    assert_eq!(state["freshness"], "unknown");
    let log = fs::read_to_string(sandbox.run_dir("r1").join("events.jsonl")).unwrap();
    assert!(log.lines().last().unwrap().contains("\"needs_filter\":true"), "{log}");
    shell(&sandbox, "test ! -e $HOME/ran").ok();
    // What else changed is a change.
    shell(&sandbox, &format!("echo more >> code; {again}; git checkout -q code")).ok();
    assert!(verified("../clone")["why"].as_str().unwrap().ends_with("that one has changes that are in no commit"));
    shell(&sandbox, &format!("git status >/dev/null; {again}")).ok();
    assert_eq!(verified("../clone")["freshness"], "fresh");
    // The same of the checkout that asks: a copy has other times.
    shell(
        &sandbox,
        "cp -a . ../copy; cd ../clone && flow exec --run-id r1 -- true && rm -r ../copy/.flow && cp -R .flow ../copy",
    )
    .ok();
    let state = verified("../copy");
    insta::assert_snapshot!(state["why"].as_str().unwrap(), @"it was run in another checkout, and whether this one has changes cannot be told without the filter that its repository configures: run `git status` here");
    assert_eq!(state["freshness"], "unknown");
    shell(&sandbox, "cd ../copy && git status").ok();
    assert_eq!(verified("../copy")["freshness"], "fresh");
    // A filter of the user runs, as everywhere, so it can be told.
    let user = "export GIT_CONFIG_GLOBAL=$HOME/config; git config --global filter.lfs.clean 'sed s/large/pointer/'";
    shell(&sandbox, &format!("{user}; touch -d '1 hour ago' big.bin; {again}")).ok();
    assert_eq!(verified("../clone")["freshness"], "fresh");
    shell(&sandbox, &format!("{user}; echo larger > big.bin; touch -d '1 hour ago' big.bin; {again}")).ok();
    assert!(verified("../clone")["why"].as_str().unwrap().ends_with("that one has changes that are in no commit"));
}

#[test]
fn evidence_goes_with_its_run_also_where_the_project_ignores_logs() {
    let sandbox = sandbox();
    fs::write(sandbox.path(".gitignore"), "*.log\n").unwrap();
    let script = "git add -A && git commit -qm ignore; flow exec --run-id r1 --id t -- echo hi >&2 && git add -A .flow && \
                  git commit -qm runs && git clone -q . ../clone && cd ../clone && flow verify r1 --evidence --json";
    let verified = shell(&sandbox, script).json();
    assert_eq!(verified["evidence"][0]["freshness"], "fresh", "{verified:#}");
}

#[test]
fn a_command_whose_words_were_masked_proves_nothing() {
    let sandbox = sandbox();
    let script = "echo 'commands: {test: [sh, check.sh, --token=hunter2hunter2]}' > .flow/config.yaml; flow trust --yes\n\
                  flow exec --run-id r1 test";
    let told = shell(&sandbox, script).ok().stderr;
    insta::assert_snapshot!(told, @r"
    warning: test has words that look like a secret and are not recorded, so it can prove nothing; give the secret to it in a variable or a file
    flow: recorded 004 test (passed) in verify of r1
    ");
    let record = "flow record-activity --run-id r1 --phase report --id report --json";
    let error = shell(&sandbox, record).exits(1).error();
    let why = "has words that were masked, so which command it was cannot be told";
    assert!(error["message"].as_str().unwrap().contains(why), "{error}");
    assert!(is_in_verify(&sandbox));
}

#[test]
fn what_a_variable_has_as_its_value_is_no_secret_in_a_command_that_the_project_names() {
    let sandbox = sandbox();
    let script = "echo 'commands: {test: /bin/true}' > .flow/config.yaml; flow trust --yes\n\
                  A_KEY=/bin/true flow exec --run-id r1 test; echo 'commands: {test: sh check.sh}' > .flow/config.yaml";
    shell(&sandbox, script).ok();
    let record = "A_KEY='sh check.sh' flow record-activity --run-id r1 --phase report --id report --json";
    let error = shell(&sandbox, record).exits(1).error();
    assert!(error["message"].as_str().unwrap().ends_with("ran another command than test is now"), "{error}");
    shell(&sandbox, "flow trust --yes; A_KEY=check.sh flow exec --run-id r1 test").ok();
    shell(&sandbox, record).ok();
}

#[test]
fn a_command_that_runs_in_another_checkout_says_nothing_of_the_project() {
    let sandbox = sandbox();
    let script = "git worktree add -q ../other && export FLOW_DIR=$PWD/.flow && cd ../other && echo bad > ../demo/code && \
                  flow exec --run-id r1 --id there -- sh check.sh && flow verify r1 --evidence --json";
    let answer = shell(&sandbox, script);
    let verified: Value = serde_json::from_str(answer.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(verified["evidence"][0]["freshness"], "unknown", "{verified:#}");
    // One that the project names runs where the project is, and says so.
    let from =
        |dir: &str| shell(&sandbox, &format!("export FLOW_DIR=$PWD/.flow && cd {dir} && flow exec --run-id r1 test"));
    let told = from("../other").exits(1).stderr;
    assert!(told.contains("test runs in ") && told.contains(", and says nothing of the files in "), "{told}");
    assert!(!from(".flow").exits(1).stderr.contains("test runs in "));
}

#[test]
fn a_command_that_failed_last_is_told_with_its_exit_status() {
    let sandbox = sandbox();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    fs::write(sandbox.path("code"), "bad\n").unwrap();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).exits(1);
    let verified = sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(1).json();
    assert_eq!(verified["required"][0]["why"], "006 test ended with exit status 1");
}

#[test]
fn a_phase_that_the_run_stands_in_again_is_not_told_as_left() {
    let phases = PHASES.replace("  - id: report\n", "  - id: report\n    requires: [{exec: lint}]\n");
    let sandbox = project("w.workflow.yaml", &phases);
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    let note = || {
        let notes = sandbox.flow(["resume", "r1", "--json"]).ok().json()["notes"].clone();
        notes.as_array().unwrap().iter().rfind(|note| note.to_string().contains("event ")).unwrap().to_string()
    };
    sandbox.record("r1", "build", "build");
    sandbox.record("r1", "verify", "look");
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    sandbox.record("r1", "report", "report");
    sandbox.flow(["complete", "r1", "--skip-reason", "enough"]).ok();
    assert!(note().starts_with("\"`report` was left although `lint` was not seen to pass"), "{}", note());
    sandbox.flow(["reopen", "r1", "--reason", "more"]).ok();
    assert!(
        note()
            .starts_with("\"`report` was passed over when the run was completed, although `lint` was not seen to pass"),
        "{}",
        note()
    );
    assert_eq!(sandbox.flow(["complete", "r1", "--json"]).exits(1).error()["code"], "not_proved");
}

#[test]
fn files_that_change_while_a_command_runs_are_not_forgotten_when_they_are_put_back() {
    let sandbox = sandbox();
    let script = "echo 'commands: {test: [sh, -c, \"echo good > code; sh check.sh\"]}' > .flow/config.yaml; flow trust --yes\n\
                  echo bad > code; flow exec --run-id r1 test; echo bad > code";
    let told = shell(&sandbox, script).ok().stderr;
    insta::assert_snapshot!(told, @"flow: recorded 004 test (passed) in verify of r1; 1 file changed while it ran, and it holds for the files as they were before");
    let error = sandbox.flow(["advance", "r1", "--to", "report", "--json"]).exits(1).error();
    assert!(
        error["message"].as_str().unwrap().ends_with("004 test passed, and files changed while it ran (code)"),
        "{error}"
    );
    let evidence = sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(1).json();
    let row = &evidence["evidence"][0];
    // Its files are those on which it began, and the row says that it may have read others.
    assert_eq!(row["freshness"], "fresh", "{row}");
    assert_eq!(row["why"], "files changed while it ran, and were put back");
}

#[test]
fn a_run_that_was_completed_before_the_phase_which_requires_something_says_so_everywhere() {
    for (how, reason) in [
        ("flow complete r1 --skip-reason 'no time'", json!("no time")),
        ("sed -i 's/^  status: active/  status: completed/' .flow/runs/r1/run.yaml", Value::Null),
    ] {
        let sandbox = project("w.workflow.yaml", PHASES);
        sandbox.flow(["start", "w", "--id", "r1"]).ok();
        sandbox.record("r1", "build", "build");
        sandbox.flow(["verify", "r1", "--evidence"]).ok();
        shell(&sandbox, how).ok();
        let told = sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(1).json();
        let required = &told["required"][0];
        assert_eq!((&required["exec"], &required["proved"]), (&json!("test"), &json!(false)), "{told}");
        assert_eq!((&required["skip_reason"], &required["command"]), (&reason, &Value::Null), "{told}");
        for reader in ["show", "report"] {
            let told = sandbox.flow([reader, "r1"]).ok().stdout;
            let left = told.lines().find(|line| line.contains("test") && line.contains("not seen to pass"));
            assert!(left.is_some(), "{how}: {reader}: {told}");
        }
        sandbox.flow(["reopen", "r1", "--reason", "more"]).ok();
        sandbox.flow(["verify", "r1", "--evidence"]).ok();
    }
}

#[test]
fn where_a_command_and_a_person_are_missing_every_refusal_asks_for_the_command_first() {
    let sandbox = project("w.workflow.yaml", &PHASES.replace("- id: verify", "- id: verify\n    gate: person"));
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "build", "build");
    sandbox.record("r1", "verify", "look");
    let leave = || {
        let mut codes = Vec::new();
        for line in LEAVE.lines().filter(|line| !line.contains("--step verify")) {
            let told = shell(&sandbox, &format!("{line} --json"));
            let error = told.error();
            codes.push(json!([line, error["code"], told.code]));
            assert!(
                error["code"] != "not_proved" || error["help"] == "`flow exec --run-id r1 test` runs it",
                "{error}"
            );
        }
        codes
    };
    for told in leave() {
        assert_eq!((&told[1], &told[2]), (&json!("not_proved"), &json!(1)), "{told}");
    }
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    for told in leave() {
        assert_eq!((&told[1], &told[2]), (&json!("needs_approval"), &json!(4)), "{told}");
    }
    // What was seen holds no more.
    fs::write(sandbox.path("code"), "good too\n").unwrap();
    for told in leave() {
        assert_eq!((&told[1], &told[2]), (&json!("not_proved"), &json!(1)), "{told}");
    }
}

#[test]
fn a_run_in_which_only_units_report_is_told_where_it_begins() {
    let diagram = "---\nname: m\nflow: {requires: {verify: [{exec: test}]}}\n---\n## STATE-MACHINE\n```mermaid\nstateDiagram-v2\n  \
                   [*] --> build\n  build --> verify\n  verify --> [*]\n```\n";
    let sandbox = project("m.md", diagram);
    for step in ["build", "verify"] {
        let unit = ["--type", "status_change", "--step", step, "--unit", "u", "--data", r#"{"status":"completed"}"#];
        sandbox.flow([&["emit", "--workflow", "m", "--run-id", "r1"][..], &unit].concat()).ok();
    }
    let refused = sandbox.flow(["complete", "r1", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "not_proved");
    let help = "record or report something in `build` first, where the run begins; `flow complete r1 --skip-reason 'TEXT'` \
                completes the run without it, and notes why";
    assert_eq!(refused["help"], help);
    for verb in [
        &["exec", "--run-id", "r1", "--phase", "verify", "--json", "test"][..],
        &["record-activity", "--run-id", "r1", "--phase", "verify", "--id", "v", "--json"],
    ] {
        let error = sandbox.flow(verb).exits(1).error();
        assert_eq!(error["code"], "invalid_transition", "{error}");
        assert_eq!(error["message"], "run r1: the run is in no phase yet, and it does not begin in `verify`");
        assert!(
            error["help"].as_str().unwrap().starts_with("It begins in build; record what is done there first"),
            "{error}"
        );
    }
    sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "build", "--id", "b"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "--phase", "verify", "test"]).ok();
    sandbox.flow(["complete", "r1"]).ok();
}

#[test]
fn a_pass_that_may_not_hold_does_not_hide_that_its_requirement_was_dropped() {
    let sandbox = sandbox();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    let script = "echo bad > code; sed -i '/requires/d' .flow/workflows/w.workflow.yaml; flow workflow adopt r1; flow \
                  record-activity --run-id r1 --phase report --id report";
    shell(&sandbox, script).ok();
    let told = sandbox.flow(["report", "r1"]).ok().stdout;
    insta::assert_snapshot!(sandbox.masked(&told), @r"
    ## `r1` active

    Workflow `w`, in `report`.
    Branch: `main`
    Used: 2s (1 of 4 reported)
    Note: `` `verify` required `test` until event 6 (another definition), and whether 004 test still held was not asked ``

    ### Seen

    - 004 `test` passed, on commit `ID`: `test = sh check.sh`

    ### Claimed

    - 001 `build` passed in `build`
    - 002 `look` passed in `verify`
    - 005 `report` passed in `report`
    ");
}

#[test]
fn a_required_command_that_this_machine_may_not_run_is_not_offered() {
    for config in [CONFIG.replace("sh check.sh", "sh other.sh"), "{}\n".to_owned()] {
        let sandbox = project("w.workflow.yaml", PHASES);
        sandbox.flow(["start", "w", "--id", "r1"]).ok();
        sandbox.flow(["record-activity", "--run-id", "r1", "--id", "b", "--advance"]).ok();
        let offered = |sandbox: &Sandbox| sandbox.flow(["resume", "r1", "--json"]).ok().json()["next"].to_string();
        assert!(offered(&sandbox).contains("flow exec --run-id r1 test"), "{}", offered(&sandbox));
        fs::write(sandbox.path(".flow/config.yaml"), config).unwrap();
        assert!(!offered(&sandbox).contains("flow exec"), "{}", offered(&sandbox));
    }
}

#[test]
fn every_refusal_to_leave_names_the_command_whatever_was_recorded_before() {
    for before in [
        "flow record-activity --run-id r1 --id build2 --phase build --advance",
        "flow record-activity --run-id r1 --id build2 --phase build --advance; echo bad > code; flow exec --run-id r1 test",
        "flow record-activity --run-id r1 --phase verify --id look",
    ] {
        let sandbox = project("w.workflow.yaml", PHASES);
        sandbox.flow(["start", "w", "--id", "r1"]).ok();
        sandbox.record("r1", "build", "build");
        shell(&sandbox, before);
        for line in LEAVE.lines().filter(|line| !line.contains("--step verify")) {
            let error = shell(&sandbox, &format!("{line} --json")).exits(1).error();
            let told = (&error["code"], error["help"].as_str().unwrap());
            assert_eq!(told.0, "not_proved", "{before}: {line}: {error}");
            assert!(told.1.starts_with("`flow exec --run-id r1 test` runs it"), "{before}: {line}: {error}");
        }
        assert!(is_in_verify(&sandbox), "{before}");
    }
}
