//! `resume` answers with exactly one verdict, and its exit status says the same.

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox};

fn resume(sandbox: &Sandbox, args: &[&str]) -> (Value, i32) {
    let mut all = vec!["resume", "--json"];
    all.extend(args);
    let answer: Answer = sandbox.flow(all);
    let code = answer.code.unwrap();
    (answer.json(), code)
}

#[track_caller]
fn verdict(sandbox: &Sandbox, args: &[&str], wanted: &str, status: i32) -> Value {
    let (report, code) = resume(sandbox, args);
    assert_eq!((report["verdict"].as_str(), code), (Some(wanted), status), "{report:#}");
    report
}

/// The command, when there is one, and those of the alternatives.
fn commands(report: &Value) -> Vec<String> {
    let next = &report["next"];
    let ways = next["alternatives"].as_array().unwrap().iter().map(|way| &way["command"]);
    let all = std::iter::once(&next["command"]).chain(ways);
    all.filter_map(|command| command.as_str().map(str::to_owned)).collect()
}

#[test]
fn nothing_to_resume_is_said_with_and_without_a_project() {
    let sandbox = Sandbox::new();
    let report = verdict(&sandbox, &[], "none", 3);
    assert_eq!(report["next"]["action"], "start");
    assert_eq!(report["completed"], Value::Array(Vec::new()));
    sandbox.flow(["init"]).ok();
    verdict(&sandbox, &[], "none", 3);
}

#[test]
fn a_fresh_run_continues_in_its_first_phase() {
    let sandbox = Sandbox::new();
    sandbox.start("debug");
    let report = verdict(&sandbox, &[], "continue", 0);
    assert_eq!(report["next"]["action"], "work_phase");
    assert_eq!(report["next"]["phase"], "preflight");
    assert_eq!(report["next"]["choices"], json!(["reproduce"]));
}

#[test]
fn begun_work_with_unknown_outcome_is_to_be_reconciled() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.flow(["record-activity", "--id", "try", "--status", "running"]).ok();
    let report = verdict(&sandbox, &[], "reconcile", 0);
    assert_eq!(report["in_doubt"][0]["id"], "try");
    assert_eq!(report["in_doubt"][0]["number"], "001");
    // A run with work in doubt is not complete.
    let refused = sandbox.flow(["complete", &run, "--json"]).exits(1);
    assert_eq!(refused.error()["code"], "outcome_unknown");
    // Its end is another record of the same work, also under the same id.
    let settled = sandbox.flow(["record-activity", "--id", "try", "--status", "passed", "--json"]).ok().json();
    assert_eq!((settled["number"].as_str(), settled["repeated"].as_bool()), (Some("002"), Some(false)));
    let report = verdict(&sandbox, &[], "continue", 0);
    assert_eq!(report["next"]["phase"], "reproduce");
    assert_eq!(report["completed"].as_array().unwrap().len(), 1);
}

#[test]
fn failed_work_is_to_be_done_again_and_does_not_count() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.flow(["record-activity", "--id", "try", "--status", "failed"]).ok();
    let report = verdict(&sandbox, &[&run], "continue", 0);
    assert_eq!(report["next"]["action"], "retry_phase");
    assert_eq!(report["completed"], Value::Array(Vec::new()));
}

#[test]
fn a_limit_that_is_reached_needs_a_person() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.edit(&run, "max_iterations: 10", "max_iterations: 2");
    for n in ["1", "2"] {
        sandbox.flow(["record-activity", "--id", &format!("try-{n}"), "--status", "failed"]).ok();
    }
    let report = verdict(&sandbox, &[], "needs_human", 4);
    assert_eq!(report["reason"], "`preflight` failed 2 times; the run's limit is 2 (max_iterations)");
    let raise = format!("flow set {run} --limit max_iterations=4");
    assert_eq!(
        (&report["next"]["command"], &report["next"]["alternatives"][0]["command"]),
        (&json!(null), &json!(raise))
    );
    sandbox.edit(&run, "max_iterations: 2", "max_iterations: 9");
    sandbox.edit(&run, "max_runtime_minutes: null", "max_runtime_minutes: 1");
    // A sandbox's commands are a second apart.
    (0..60).for_each(|_| drop(sandbox.command("true")));
    let report = verdict(&sandbox, &[], "needs_human", 4);
    assert_eq!(report["reason"], "the run is 1 minutes old; its limit is 1 (max_runtime_minutes)");
}

#[test]
fn a_block_comes_first_with_its_reason_until_somebody_resolves_it() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.record(&run, "preflight", "look");
    sandbox.flow(["block"]).exits(2);
    sandbox.flow(["block", &run, "--reason", "which database?"]).ok();
    let report = verdict(&sandbox, &[], "needs_human", 4);
    assert_eq!(report["reason"], "blocked: which database?");
    assert_eq!(report["blocked_reason"], "which database?");
    // It stays in its phase, but work there can be noted.
    let refused = sandbox.flow(["record-activity", "--phase", "reproduce", "--id", "x", "--json"]).exits(4);
    assert_eq!(refused.error()["code"], "run_blocked");
    sandbox.flow(["record-activity", "--phase", "preflight", "--id", "y"]).ok();
    // The end of a session does not cover the reason up.
    sandbox.flow(["session-end", "--unowned"]).ok();
    verdict(&sandbox, &[], "needs_human", 4);
    sandbox.flow(["unblock", &run, "--reason", "postgres"]).ok();
    assert_eq!(verdict(&sandbox, &[], "continue", 0)["next"]["phase"], "reproduce");
}

#[test]
fn a_live_holder_keeps_others_away_until_taken_over() {
    let sandbox = Sandbox::new();
    let run = sandbox.flow(["start", "debug", "--session", "alice"]).ok().line().to_owned();
    verdict(&sandbox, &["--session", "alice"], "continue", 0);
    let report = verdict(&sandbox, &["--session", "bob"], "held", 5);
    assert_eq!(report["reason"], "session alice holds the run");
    let refused =
        sandbox.flow(["record-activity", "--id", "x", "--run-id", &run, "--session", "bob", "--json"]).exits(5);
    assert_eq!(refused.error()["code"], "run_held");
    sandbox.flow(["resume", &run, "--claim", "--session", "bob"]).exits(5);

    let (taken, code) = resume(&sandbox, &[&run, "--take-over", "--session", "bob"]);
    assert_eq!((code, taken["claim"]["epoch"].as_u64()), (0, Some(2)));
    // The old holder's records, late or by epoch, are refused; a cancel always works.
    sandbox.flow(["record-activity", "--id", "x", "--run-id", &run, "--session", "alice"]).exits(5);
    let stale = sandbox.flow(["record-activity", "--id", "x", "--run-id", &run, "--epoch", "1", "--json"]).exits(5);
    assert_eq!(stale.error()["code"], "stale_epoch");
    sandbox.flow(["record-activity", "--id", "x", "--run-id", &run, "--session", "bob", "--epoch", "2"]).ok();
    sandbox.flow(["cancel", &run, "--session", "alice", "--reason", "enough"]).ok();
    verdict(&sandbox, &[&run], "done", 0);
}

#[test]
fn without_a_session_a_run_is_taken_from_its_holder_and_a_free_one_from_nobody() {
    let sandbox = Sandbox::new();
    let run = sandbox.flow(["start", "debug", "--session", "alice"]).ok().line().to_owned();
    let (taken, code) = resume(&sandbox, &[&run, "--take-over"]);
    assert_eq!((code, &taken["claim"]["session"], &taken["claim"]["changed"]), (0, &Value::Null, &true.into()));
    let told = sandbox.flow(["log", &run]).ok().stdout;
    insta::assert_snapshot!(told, @r"
    1  2026-05-20T14:30:03.000Z  run_started        debug in preflight
    2  2026-05-20T14:30:04.000Z  run_claimed        for no session, from alice, epoch 2
    ");
    let (again, _) = resume(&sandbox, &[&run, "--take-over"]);
    assert_eq!(again["claim"]["changed"], false, "{again}");
    assert_eq!(sandbox.events(&run).len(), 2);
}

#[test]
fn a_dead_holder_keeps_nobody_away() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.command("sleep").arg("60").spawn().unwrap();
    let mut start = sandbox.flow_command();
    start.args(["start", "debug", "--session", "alice"]).env("FLOW_HOLDER_PID", child.id().to_string());
    let run = crate::support::run(start, "").ok().line().to_owned();
    verdict(&sandbox, &["--session", "bob"], "held", 5);
    child.kill().unwrap();
    child.wait().unwrap();
    let report = verdict(&sandbox, &["--session", "bob"], "continue", 0);
    assert_eq!(report["notes"][0], "the process that held it is gone");
    let (claimed, _) = resume(&sandbox, &[&run, "--claim", "--session", "bob"]);
    assert_eq!(claimed["claim"]["session"], "bob");
    verdict(&sandbox, &["--session", "carol"], "held", 5);
}

#[test]
fn the_commands_name_the_begun_work_that_the_reason_names() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let mut lives = sandbox.command("sleep").arg("60").spawn().unwrap();
    let mut dead = sandbox.command("true").spawn().unwrap();
    dead.wait().unwrap();
    for (id, process) in [("first", lives.id()), ("second", dead.id())] {
        let mut command = sandbox.flow_command();
        command.args(["record-activity", "--run-id", "r1", "--id", id, "--status", "running"]);
        command.env("FLOW_HOLDER_PID", process.to_string());
        crate::support::run(command, "").ok();
    }
    let report = verdict(&sandbox, &[], "reconcile", 0);
    lives.kill().unwrap();
    lives.wait().unwrap();
    assert!(report["reason"].as_str().unwrap().starts_with("002 second was begun"), "{report:#}");
    assert!(report["next"]["first"].as_str().unwrap().contains("`second`"), "{report:#}");
    let ways = report["next"]["alternatives"].as_array().unwrap();
    assert_eq!(ways.len(), 3, "{report:#}");
    for way in ways {
        assert!(way["command"].as_str().unwrap().contains("--id second"), "{way}");
    }
}

#[test]
fn a_record_in_the_place_of_a_dead_holder_takes_the_run() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.command("sleep").arg("60").spawn().unwrap();
    let mut start = sandbox.flow_command();
    start.args(["start", "debug", "--session", "alice"]).env("FLOW_HOLDER_PID", child.id().to_string());
    let run = crate::support::run(start, "").ok().line().to_owned();
    child.kill().unwrap();
    child.wait().unwrap();
    sandbox.flow(["record-activity", "--run-id", &run, "--id", "x", "--session", "bob"]).ok();
    let ended = sandbox.flow(["session-end", "--session", "bob"]).ok();
    assert_eq!(ended.line(), format!("Active FlowRun {run} persisted; use /flow:resume to continue"));
}

#[test]
fn a_workflow_that_changed_under_the_run_is_drift_only_where_the_run_stands() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    sandbox.define_own(&["one", "two", "three", "four"]);
    let run = sandbox.start("own");
    sandbox.record(&run, "one", "first");
    sandbox.define_own(&["one", "two", "three", "five"]);
    let report = verdict(&sandbox, &[], "continue", 0);
    assert!(report["notes"][0].as_str().unwrap().starts_with("the workflow changed elsewhere"), "{report:#}");
    sandbox.define_own(&["one", "three", "four"]);
    let report = verdict(&sandbox, &[], "drifted", 4);
    assert!(report["reason"].as_str().unwrap().starts_with("the workflow changed where the run stands"));
    // Its position is in today's definition as well.
    let ways = commands(&report);
    assert_eq!(ways[0], format!("flow workflow adopt {run}"), "{report:#}");
    assert!(ways[1].contains("--phase two"), "{report:#}");
    // The run itself goes on with what it pinned.
    sandbox.record(&run, "two", "second");
}

#[test]
fn a_run_that_adopts_a_definition_follows_it_from_then_on_also_when_its_files_are_rebuilt() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    sandbox.define_own(&["one", "two", "three"]);
    let run = sandbox.start("own");
    sandbox.record(&run, "one", "first");
    let same = sandbox.flow(["workflow", "adopt", &run]).ok();
    assert_eq!(same.stdout, format!("{run} follows today's own already\n"));
    sandbox.define_own(&["one", "between", "two"]);
    verdict(&sandbox, &[], "drifted", 4);
    let adopted = sandbox.flow(["workflow", "adopt", &run, "--json"]).ok().json();
    assert_eq!((&adopted["changed"], &adopted["seq"], &adopted["phase"]), (&json!(true), &json!(3), &json!("one")));
    assert_eq!(adopted["differences"][0], "state `three` removed");
    verdict(&sandbox, &[], "continue", 0);
    let log = sandbox.flow(["log", &run]).ok().stdout;
    insta::assert_snapshot!(log, @r"
    1  2026-05-20T14:30:04.000Z  run_started        own in one
    2  2026-05-20T14:30:05.000Z  activity_recorded  001 first passed in one
    3  2026-05-20T14:30:08.000Z  workflow_adopted   state `three` removed; state `between` added; transition `one` → `two` removed; transition `two` → `three` removed; transition `one` → `between` added; transition `between` → `two` added; state `two` is now terminal
    ");
    // Neither a lost run.yaml nor a hand edit brings the old definition back.
    std::fs::remove_file(sandbox.run_dir(&run).join("run.yaml")).unwrap();
    sandbox.record(&run, "between", "second");
    sandbox.edit(&run, "  workflow_seq: 3\n", "");
    sandbox.record(&run, "two", "third");
    assert!(sandbox.read(&run, "run.yaml").contains("workflow_seq: 3\n"));
    sandbox.flow(["verify", &run]).ok();
    // Where the run stands nothing may be missing.
    sandbox.define_own(&["one", "between"]);
    let refused = sandbox.flow(["workflow", "adopt", &run, "--json"]).exits(1).error();
    assert_eq!(refused["code"], "position_gone");
    sandbox.define_own(&["one", "twoo"]);
    let refused = sandbox.flow(["workflow", "adopt", &run]).exits(1);
    insta::assert_snapshot!(refused.stderr, @r"
    error: run 2026-05-20T143004Z-issue-42: the run is in `two`, which today's workflow does not have
      help: go on under the definition it started with until it has left `two`, or set current_phase in run.yaml to a phase that both have, perhaps `twoo`; today's are one, twoo
    ");
    std::fs::remove_file(sandbox.path(".flow/workflows/own.workflow.yaml")).unwrap();
    assert_eq!(sandbox.flow(["workflow", "adopt", &run, "--json"]).exits(3).error()["code"], "unknown_workflow");
    sandbox.flow(["complete", &run, "--skip-reason", "enough"]).ok();
    sandbox.define_own(&["one", "two"]);
    assert_eq!(sandbox.flow(["workflow", "adopt", &run, "--json"]).exits(1).error()["code"], "run_terminal");
}

#[test]
fn the_end_of_the_last_phase_is_to_be_completed_and_then_done() {
    let sandbox = Sandbox::new();
    sandbox.without_gates();
    let run = sandbox.start("merge-pr");
    let refused = sandbox.flow(["complete", &run, "--json"]).exits(1);
    assert_eq!(refused.error()["code"], "nothing_recorded");
    for phase in ["preflight", "verify", "confirm", "merge"] {
        sandbox.record(&run, phase, phase);
    }
    let report = verdict(&sandbox, &[], "continue", 0);
    assert_eq!(report["next"]["action"], "complete");
    assert_eq!(report["next"]["command"], json!(null), "nothing that is run unread completes a run");
    assert_eq!(commands(&report)[0], format!("flow complete {run}"));
    sandbox.flow(["complete", &run]).ok();
    sandbox.flow(["complete", &run]).ok();
    assert_eq!(verdict(&sandbox, &[&run], "done", 0)["next"]["action"], "nothing");
    verdict(&sandbox, &[], "none", 3);
    let refused = sandbox.flow(["record-activity", "--run-id", &run, "--id", "late", "--json"]).exits(1);
    assert_eq!(refused.error()["code"], "run_terminal");
}

#[test]
fn an_unreadable_run_is_never_passed_over_in_silence() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    std::fs::write(sandbox.run_dir(&run).join("run.yaml"), "a: [\n").unwrap();
    let report = verdict(&sandbox, &[], "unreadable", 65);
    assert_eq!(report["reason"], "no readable run is open, and 1 run cannot be read");
    assert_eq!(report["unreadable"][0]["run_id"], run.as_str());
    let refused = sandbox.flow(["resume", &run, "--json"]).exits(65);
    assert_eq!(refused.error()["code"], "run_file_invalid");
}

#[test]
fn an_invalid_run_is_told_with_the_command_that_names_it() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.edit(&run, "context:\n", "contexts:\n");
    let help = sandbox.flow(["show", &run, "--json"]).exits(65).error()["help"].clone();
    assert!(help.as_str().unwrap().contains(&format!("`flow validate {run}`")), "{help}");
}

#[test]
fn the_session_comes_first_then_the_active_run_that_changed_last() {
    let sandbox = Sandbox::new();
    let mine = sandbox.flow(["start", "debug", "--session", "me", "--slug", "mine"]).ok().line().to_owned();
    let first = sandbox.flow(["start", "debug", "--slug", "first"]).ok().line().to_owned();
    let second = sandbox.flow(["start", "debug", "--slug", "second"]).ok().line().to_owned();
    let of = |args: &[&str]| resume(&sandbox, args).0["run_id"].as_str().unwrap().to_owned();
    assert_eq!(of(&["--session", "me"]), mine);
    assert_eq!(of(&[]), second);
    sandbox.record(&first, "preflight", "x");
    assert_eq!(of(&[]), first);
    sandbox.flow(["block", &first, "--reason", "x"]).ok();
    assert_eq!(of(&[]), second);
    let candidates = resume(&sandbox, &[]).0["candidates"].as_array().unwrap().len();
    assert_eq!(candidates, 2);
    // Without a name, recording into one of several runs would be a guess.
    let refused = sandbox.flow(["record-activity", "--id", "x", "--json"]).exits(2);
    assert_eq!(refused.error()["code"], "several_runs");
}

#[test]
fn what_a_person_takes_back_is_done_again() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.record(&run, "preflight", "look");
    sandbox.record(&run, "reproduce", "try");
    // An entry taken out of the list.
    sandbox.edit(&run, "    - try\n", "");
    let report = verdict(&sandbox, &[], "continue", 0);
    assert_eq!((&report["next"]["action"], &report["next"]["phase"]), (&"work_phase".into(), &"reproduce".into()));
    // The phase set back, seen before and after it is adopted.
    sandbox.edit(&run, "current_phase: reproduce", "current_phase: preflight");
    for _ in 0..2 {
        let report = verdict(&sandbox, &[], "continue", 0);
        assert_eq!((&report["next"]["action"], &report["next"]["phase"]), (&"work_phase".into(), &"preflight".into()));
        sandbox.flow(["block", &run, "--reason", "x"]).ok();
        sandbox.flow(["unblock", &run]).ok();
    }
    // The proposed command names an id of its own, and leads on.
    let command = verdict(&sandbox, &[], "continue", 0)["next"]["command"].as_str().unwrap().to_owned();
    assert!(command.ends_with("--id preflight --status running"), "{command}");
    sandbox.flow(command.split(' ').skip(1)).ok();
    let done = commands(&verdict(&sandbox, &[], "reconcile", 0))[0].clone();
    sandbox.flow(done.split(' ').skip(1)).ok();
    assert_eq!(verdict(&sandbox, &[], "continue", 0)["next"]["phase"], "reproduce");
}

#[test]
fn a_loop_in_the_workflow_is_followed_by_the_proposed_commands() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let text = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: own\nphases:\n  - id: plan\n  \
                - id: code\n    next: [plan, done]\n  - id: done\n";
    std::fs::write(sandbox.path(".flow/workflows/own.workflow.yaml"), text).unwrap();
    let run = sandbox.start("own");
    for phase in ["plan", "code", "plan", "code", "plan"] {
        let report = verdict(&sandbox, &[&run], "continue", 0);
        let into = format!("--phase {phase} ");
        let command =
            commands(&report).into_iter().find(|way| way.contains(&into) && way.ends_with("running")).unwrap();
        let answer = sandbox.flow(command.split(' ').skip(1).chain(["--json"])).ok().json();
        let done = commands(&verdict(&sandbox, &[&run], "reconcile", 0))[0].clone();
        sandbox.flow(done.split(' ').skip(1)).ok();
        assert_eq!((answer["phase"].as_str(), answer["repeated"].as_bool()), (Some(phase), Some(false)), "{command}");
    }
}

#[test]
fn a_blocked_activity_is_resolved_under_its_own_id() {
    let sandbox = Sandbox::new();
    sandbox.start("debug");
    sandbox.flow(["record-activity", "--id", "wait", "--status", "blocked", "--summary", "no access"]).ok();
    let report = verdict(&sandbox, &[], "needs_human", 4);
    assert_eq!(report["reason"], "001 wait is blocked: no access");
    assert_eq!(report["next"]["command"], json!(null));
    let done = commands(&report)[1].clone();
    assert!(done.ends_with("--id wait --status passed --name 'wait, after 001'"), "{done}");
    sandbox.flow(shlex::split(&done).unwrap().into_iter().skip(1)).ok();
    assert_eq!(verdict(&sandbox, &[], "continue", 0)["next"]["phase"], "reproduce");
}

#[test]
fn a_late_retry_does_not_begin_finished_work_again() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    let record =
        |status: &str| sandbox.flow(["record-activity", "--id", "b", "--status", status, "--json"]).ok().json();
    assert_eq!(record("running")["number"], "001");
    assert_eq!(record("passed")["number"], "002");
    let late = record("running");
    assert_eq!((late["number"].as_str(), late["repeated"].as_bool()), (Some("001"), Some(true)));
    assert_eq!(record("passed")["number"], "002");
    sandbox.flow(["complete", &run, "--skip-reason", "enough"]).ok();
}

#[test]
fn no_record_goes_into_a_run_that_was_only_guessed() {
    let sandbox = Sandbox::new();
    let first = sandbox.start("debug");
    let second = sandbox.flow(["start", "debug", "--slug", "second"]).ok().line().to_owned();
    sandbox.edit(&first, "status: active", "status: [");
    let refused = sandbox.flow(["record-activity", "--id", "x", "--json"]).exits(2).error();
    assert_eq!(refused["code"], "several_runs");
    assert!(refused["message"].as_str().unwrap().contains(&second), "{refused}");
    sandbox.record(&second, "preflight", "x");
}

#[test]
fn resume_writes_nothing() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.record(&run, "preflight", "x");
    let before = snapshot(&sandbox);
    for args in [vec!["resume"], vec!["list"], vec!["show"], vec!["log"], vec!["validate"]] {
        sandbox.flow(args).ok();
    }
    assert_eq!(snapshot(&sandbox), before);
}

/// Every file below the repository with its bytes and its time of change.
fn snapshot(sandbox: &Sandbox) -> Vec<(String, Vec<u8>, std::time::SystemTime)> {
    let files = walkdir::WalkDir::new(sandbox.path(".flow")).sort_by_file_name();
    let files = files.into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let changed = entry.metadata().unwrap().modified().unwrap();
            (entry.path().display().to_string(), std::fs::read(entry.path()).unwrap(), changed)
        })
        .collect()
}

#[test]
fn a_run_that_is_over_says_why() {
    for (end, word) in [("fail", "failed"), ("cancel", "cancelled")] {
        let sandbox = Sandbox::new();
        let run = sandbox.start("debug");
        sandbox.flow([end, &run, "--reason", "out of time"]).ok();
        let answer = sandbox.flow(["resume", &run, "--json"]).ok().json();
        assert_eq!(answer["verdict"], "done");
        assert_eq!(answer["reason"], format!("the run is {word}: out of time"), "{answer}");
    }
}
