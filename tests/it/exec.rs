//! Commands that flow runs: what was seen of them, and on which files.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

use crate::support::{
    Answer, Call, Person, Sandbox, Tree, answered, calls, can_inject, has_terminals, killed_at, run, scaled, spawned,
    try_all,
};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox
}

fn exec(sandbox: &Sandbox, options: &[&str], command: &[&str]) -> Answer {
    sandbox.flow(["exec", "--run-id", "r1"].iter().chain(options).chain(&["--"]).chain(command))
}

/// What is recorded: number, id, status and exit code of each activity.
fn recorded(sandbox: &Sandbox) -> Vec<Value> {
    let shown = sandbox.flow(["show", "r1", "--json"]).ok().json();
    let activities = shown["activities"].as_array().unwrap().iter();
    activities.map(|one| json!([one["number"], one["id"], one["status"], one["exit_code"]])).collect()
}

/// The freshness of the last command under each id.
fn fresh(sandbox: &Sandbox) -> Value {
    let report = sandbox.flow(["verify", "r1", "--evidence", "--json"]).json();
    let evidence = report["evidence"].as_array().unwrap().iter().filter(|seen| seen["latest"] == true);
    let held: Vec<_> = evidence.map(|seen| json!([seen["id"], seen["freshness"], seen["changed"]])).collect();
    held.into()
}

#[test]
fn the_output_passes_through_and_the_end_is_recorded() {
    let sandbox = sandbox();
    let answer = exec(&sandbox, &["--id", "t"], &["sh", "-c", "printf out; printf err >&2; exit 3"]).exits(3);
    assert_eq!(answer.stdout, "out");
    insta::assert_snapshot!(answer.stderr, @"errflow: recorded 002 t (failed, exit 3) in preflight of r1");
    assert_eq!(recorded(&sandbox), [json!(["001", "t", "running", null]), json!(["002", "t", "failed", 3])]);
    assert_eq!(sandbox.read("r1", "evidence/002-t.log"), "outerr");
    let events = sandbox.flow(["log", "r1", "--json"]).ok().json();
    let exec = events["events"].as_array().unwrap().last().unwrap()["exec"].clone();
    assert_eq!(exec["argv"], json!(["sh", "-c", "printf out; printf err >&2; exit 3"]));
    assert_eq!(
        (&exec["dir"], &exec["end"]["status"], &exec["end"]["output_bytes"]),
        (&json!("."), &json!(3), &json!(6))
    );
    assert_eq!(exec["before"]["sha256"], exec["end"]["after"]);
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn signals_and_programs_that_cannot_be_run_are_told_as_shells_tell_them() {
    let sandbox = sandbox();
    exec(&sandbox, &["--id", "a"], &["sh", "-c", "kill -9 $$"]).exits(137);
    exec(&sandbox, &["--id", "b"], &["/nowhere/to/be/found"]).exits(127);
    fs::write(sandbox.path("data"), "no program").unwrap();
    exec(&sandbox, &["--id", "c"], &["./data"]).exits(126);
    exec(&sandbox, &["--id", "d", "--timeout", "0.2"], &["sleep", "60"]).exits(143);
    let calm = "trap 'exit 0' TERM; sleep 60 & wait";
    exec(&sandbox, &["--id", "e", "--timeout", "0.5"], &["sh", "-c", calm]).exits(124);
    let ends: Vec<_> = recorded(&sandbox).into_iter().filter(|one| one[2] != "running").collect();
    let expected = [("002", "a", 137), ("004", "b", 127), ("006", "c", 126), ("008", "d", 143), ("010", "e", 124)];
    assert_eq!(ends, expected.map(|(number, id, code)| json!([number, id, "failed", code])));
}

#[test]
fn a_program_that_is_not_there_is_named_with_what_was_probably_meant() {
    let sandbox = sandbox();
    fs::write(sandbox.path("old.sh"), "#!/no/such/shell\n").unwrap();
    sandbox.command("chmod").args(["+x", "old.sh"]).status().unwrap();
    for (command, why) in [
        (&["no-such-program"][..], "the program `no-such-program` is not on the PATH"),
        (&["./here.sh"], "the file `./here.sh` does not exist"),
        (&["./old.sh"], "the interpreter that the first line of `./old.sh` names is not there"),
        (&["echo hi"], "`echo hi` is not a program; write the command and its arguments as separate words"),
        (&["N=1", "true"], "`N=1` is not a program; to set a variable, write `env N=1` before the program"),
    ] {
        let report = exec(&sandbox, &["--json"], command).exits(127).json();
        assert_eq!(report["exec"]["end"]["not_started"], why, "{command:?}");
    }
    fs::create_dir(sandbox.path("dir")).unwrap();
    fs::write(sandbox.path("check.sh"), "exit 0\n").unwrap();
    std::os::unix::fs::symlink("loop", sandbox.path("loop")).unwrap();
    for (program, why) in [
        ("./dir", "`./dir` is a directory; name a program in it"),
        (
            "./check.sh",
            "the file `./check.sh` is not executable; `chmod +x` makes it so, or name the program that runs it first, \
             as in `sh ./check.sh`",
        ),
        ("./loop", "the program `./loop` cannot be run: Too many levels of symbolic links (os error 40)"),
        ("./check.sh/x", "the program `./check.sh/x` cannot be run: Not a directory (os error 20)"),
    ] {
        let report = exec(&sandbox, &["--json"], &[program]).exits(126).json();
        assert_eq!(report["exec"]["end"]["not_started"], why);
    }
}

#[test]
fn a_command_that_removes_its_own_run_is_told_that_the_run_is_gone() {
    for removed in [".flow/runs/r1", ".flow/runs", ".flow"] {
        let sandbox = sandbox();
        let told = exec(&sandbox, &["--id", "rm", "--json"], &["rm", "-rf", removed]).exits(74).stderr;
        let error = told.lines().last().unwrap().parse::<Value>().unwrap()["error"].clone();
        assert_eq!(error["code"], "end_not_recorded", "{error}");
        let help = error["help"].as_str().unwrap();
        assert!(
            help.starts_with("the files of the run were removed while it ran; bring them back with git"),
            "{error}"
        );
    }
}

#[test]
fn a_command_runs_once_for_an_id_and_once_more_only_on_demand() {
    let sandbox = sandbox();
    let count = ["sh", "-c", "echo x >> .git/count; exit 7"];
    exec(&sandbox, &["--id", "t"], &count).exits(7);
    let again = exec(&sandbox, &["--id", "t"], &count).exits(7);
    insta::assert_snapshot!(again.stderr, @"flow: already run: 002 t (failed, exit 7) in preflight of r1");
    let error = exec(&sandbox, &["--id", "t", "--json"], &["true"]).exits(1).error();
    assert_eq!(error["code"], "id_reused");
    assert_eq!(fs::read_to_string(sandbox.path(".git/count")).unwrap(), "x\n");
    exec(&sandbox, &["--id", "t", "--again"], &count).exits(7);
    assert_eq!(fs::read_to_string(sandbox.path(".git/count")).unwrap(), "x\nx\n");
    assert_eq!(recorded(&sandbox).len(), 4);
    // Without an id each call runs, and the last one counts.
    exec(&sandbox, &[], &["test", "-e", "there"]).exits(1);
    fs::write(sandbox.path("there"), "").unwrap();
    exec(&sandbox, &[], &["test", "-e", "there"]).ok();
    assert_eq!(recorded(&sandbox).last().unwrap(), &json!(["008", "test-e-there", "passed", 0]));
}

#[test]
fn what_is_refused_before_it_begins_is_not_run() {
    let sandbox = sandbox();
    let touch = ["touch", "ran"];
    exec(&sandbox, &["--phase", "nosuch"], &touch).exits(1);
    sandbox.flow(["exec", "--run-id", "nosuch", "--"].iter().chain(&touch)).exits(3);
    exec(&sandbox, &[], &[]).exits(2);
    sandbox.flow(["resume", "r1", "--claim", "--session", "other"]).ok();
    exec(&sandbox, &["--session", "mine"], &touch).exits(5);
    sandbox.flow(["cancel", "r1"]).ok();
    exec(&sandbox, &[], &touch).exits(1);
    assert_eq!(recorded(&sandbox), Vec::<Value>::new());
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn the_run_is_free_while_a_command_runs_and_its_late_end_is_told() {
    let sandbox = sandbox();
    let flow = env!("CARGO_BIN_EXE_flow");
    let inner = [flow, "record-activity", "--run-id", "r1", "--id", "inner"];
    exec(&sandbox, &["--id", "outer"], &inner).ok();
    let ids: Vec<_> = recorded(&sandbox).into_iter().map(|one| json!([one[1], one[2]])).collect();
    assert_eq!(ids, [json!(["outer", "running"]), json!(["inner", "passed"]), json!(["outer", "passed"])]);
    let error = exec(&sandbox, &["--id", "end", "--json"], &[flow, "cancel", "r1"]).exits(74);
    let error = error.stderr.lines().last().unwrap().parse::<Value>().unwrap()["error"].clone();
    assert_eq!(error["code"], "end_not_recorded", "{error}");
    assert!(error["help"].as_str().unwrap().starts_with("`flow reopen r1 --reason"), "{error}");
    assert_eq!(recorded(&sandbox).last().unwrap()[2], "running", "never passed without an end in the log");
}

/// A command that goes on until it is told to end, and its process once it runs and did `before`.
fn waiting(sandbox: &Sandbox, before: &str, script: &str) -> (Child, Pid) {
    let mut command = sandbox.flow_command();
    let script = format!("{before}; echo $$ > .flow/pid.new; mv .flow/pid.new .flow/pid; {script}");
    command.args(["exec", "--run-id", "r1", "--id", "t", "--", "sh", "-c", &script]).process_group(0);
    let child = spawned(command);
    let until = Instant::now() + Duration::from_secs(60);
    let file = sandbox.path(".flow/pid");
    while !file.exists() {
        assert!(Instant::now() < until, "it does not begin");
        sleep(Duration::from_millis(5));
    }
    let pid = fs::read_to_string(file).unwrap();
    (child, Pid::from_raw(pid.trim().parse().unwrap()).unwrap())
}

#[test]
fn a_command_at_work_is_waited_for_in_a_fork_as_in_its_run() {
    let sandbox = sandbox();
    let (flow, command) = waiting(&sandbox, ":", "sleep 60");
    sandbox.flow(["fork", "r1", "--id", "r2"]).ok();
    let by_hand = ["record-activity", "--run-id", "r2", "--id", "t", "--status", "failed", "--summary", "x", "--json"];
    let again = ["exec", "--run-id", "r2", "--id", "t", "--again", "--json", "--", "true"];
    assert_eq!(sandbox.flow(by_hand).exits(5).error()["code"], "exec_runs");
    assert_eq!(sandbox.flow(again).exits(5).error()["code"], "exec_runs");
    kill_process(pid(&flow), Signal::KILL).unwrap();
    let _ = answered(flow);
    let left = sandbox.flow(["resume", "r2", "--json"]).ok().json();
    assert_eq!(left["reason"], format!("process {} still works on 001 t", command.as_raw_pid()));
    assert_eq!(left["next"]["alternatives"][0]["command"], "flow wait r2 --commands", "{left}");
    assert_eq!(sandbox.flow(by_hand).exits(5).error()["code"], "exec_runs");
    assert_eq!(sandbox.flow(again).exits(5).error()["code"], "exec_runs");
    let _ = kill_process_group(command, Signal::KILL);
    sandbox.flow(["wait", "r2", "--commands"]).ok();
    // Without --again it is not run, since its outcome is not known there either.
    let unasked = ["exec", "--run-id", "r2", "--id", "t", "--json", "--", "true"];
    assert_eq!(sandbox.flow(unasked).exits(1).error()["code"], "exec_in_doubt");
    sandbox.flow(again).ok();
}

#[test]
fn no_verb_leaves_a_phase_in_which_a_command_runs() {
    let sandbox = sandbox();
    let (flow, command) = waiting(&sandbox, ":", "sleep 60");
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "other"]).ok();
    let running = r#"{"status":"running"}"#;
    let emit = ["emit", "--workflow", "debug", "--run-id", "r1", "--type", "status_change", "--step", "reproduce"];
    let emit = [&emit[..], &["--data", running]].concat();
    let leave = [
        &["record-activity", "--run-id", "r1", "--id", "v", "--advance"][..],
        &["record-activity", "--run-id", "r1", "--id", "v", "--advance", "--skip-reason", "no time"],
        &["record-activity", "--run-id", "r1", "--id", "v", "--phase", "reproduce"],
        &["exec", "--run-id", "r1", "--phase", "reproduce", "--", "true"],
        &["advance", "r1", "--to", "reproduce"],
        &["complete", "r1", "--skip-reason", "no time"],
        &emit,
    ];
    for verb in leave {
        let mut line = verb.to_vec();
        line.insert(1, "--json");
        let told = sandbox.flow(&line).exits(5).error();
        assert_eq!(told["code"], "exec_runs", "{verb:?}: {told}");
        assert!(told["help"].as_str().unwrap().contains("flow wait r1 --commands"), "{verb:?}: {told}");
    }
    kill_process(pid(&flow), Signal::KILL).unwrap();
    let _ = answered(flow);
    let _ = kill_process_group(command, Signal::KILL);
    sandbox.flow(["wait", "r1", "--commands"]).ok();
    // What is in doubt may be left behind.
    sandbox.flow(leave[0]).ok();
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

#[test]
fn a_command_whose_end_was_not_seen_is_in_doubt_and_never_run_by_itself() {
    let sandbox = sandbox();
    let (flow, command) = waiting(&sandbox, ":", "sleep 60");
    let waits = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!((&waits["verdict"], &waits["in_doubt"][0]["alive"]), (&json!("reconcile"), &json!(true)));
    assert_eq!(waits["next"]["alternatives"][0]["command"], "flow wait r1 --commands", "{waits}");
    assert_eq!(waits["next"]["alternatives"].as_array().unwrap().len(), 1, "{waits}");
    let error = exec(&sandbox, &["--id", "t", "--again", "--json"], &["true"]).exits(5).error();
    assert_eq!(error["code"], "exec_runs");
    // Its end is flow's to record, also under another id.
    for by_hand in [&["--id", "t"][..], &["--id", "other", "--settles", "t"]] {
        let record = ["record-activity", "--run-id", "r1", "--status", "passed", "--summary", "fine", "--json"];
        let error = sandbox.flow(record.iter().chain(by_hand)).exits(5).error();
        assert_eq!(error["code"], "exec_runs", "{by_hand:?}");
    }
    kill_process(pid(&flow), Signal::KILL).unwrap();
    let _ = answered(flow);
    // The command goes on without the flow that would see its end.
    let left = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(left["in_doubt"][0]["process"], command.as_raw_pid());
    assert_eq!(left["reason"], format!("process {} still works on 001 t", command.as_raw_pid()));
    assert_eq!(left["next"]["alternatives"], waits["next"]["alternatives"]);
    for by_hand in [
        &["exec", "--run-id", "r1", "--id", "t", "--again", "--json", "--", "true"][..],
        &["record-activity", "--run-id", "r1", "--id", "t", "--status", "failed", "--summary", "it failed", "--json"],
        &["complete", "r1", "--json"],
    ] {
        let error = sandbox.flow(by_hand).exits(5).error();
        assert_eq!(error["code"], "exec_runs", "{by_hand:?}");
        assert!(error["help"].as_str().unwrap().contains(&format!("kill {}", command.as_raw_pid())), "{error}");
    }
    let _ = kill_process_group(command, Signal::KILL);
    sandbox.flow(["wait", "r1", "--commands"]).ok();
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(resumed["verdict"], "reconcile");
    assert_eq!(resumed["next"]["command"], Value::Null);
    let ways: Vec<_> = resumed["next"]["alternatives"].as_array().unwrap().iter().map(|way| &way["command"]).collect();
    let begins = [
        "flow exec --run-id r1 --id t --again -- sh -c ",
        "flow record-activity --run-id r1 --phase preflight --id t --status skipped",
        "flow record-activity --run-id r1 --phase preflight --id t --status passed",
        "flow record-activity --run-id r1 --phase preflight --id t --status failed",
        "flow record-activity --run-id r1 --phase preflight --id t --status blocked",
    ];
    assert_eq!(ways.len(), begins.len(), "{ways:?}");
    for (way, begin) in ways.iter().zip(begins) {
        assert!(way.as_str().unwrap().starts_with(begin), "{way}");
    }
    assert_eq!(recorded(&sandbox), [json!(["001", "t", "running", null])]);
    let verified = sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(1).json();
    assert_eq!(verified["notes"], json!(["the end of 001 t was not seen"]));
    let error = exec(&sandbox, &["--id", "t", "--json"], &["true"]).exits(1).error();
    assert_eq!(error["code"], "exec_in_doubt");
    exec(&sandbox, &["--id", "t", "--again"], &["true"]).ok();
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).ok().json()["in_doubt"], json!([]));
}

#[test]
fn a_killed_command_is_seen_and_a_signal_is_passed_on_to_it() {
    let sandbox = sandbox();
    let (flow, command) = waiting(&sandbox, ":", "sleep 60");
    kill_process_group(command, Signal::KILL).unwrap();
    assert_eq!(answered(flow).code, Some(137));
    assert_eq!(recorded(&sandbox)[1], json!(["002", "t", "failed", 137]));
    let ending =
        [(Signal::TERM, 143), (Signal::INT, 0), (Signal::QUIT, 131), (Signal::USR1, 138), (Signal::ALARM, 142)];
    for (signal, code) in ending {
        let sandbox = crate::exec::sandbox();
        let (flow, _) = waiting(&sandbox, "trap 'echo told; exit 0' INT", "sleep 60 & wait $!");
        kill_process(pid(&flow), signal).unwrap();
        assert_eq!(answered(flow).code, Some(code));
        let status = if code == 0 { "passed" } else { "failed" };
        assert_eq!(recorded(&sandbox)[1], json!(["002", "t", status, code]));
    }
}

#[test]
fn a_process_that_is_killed_at_any_moment_leaves_no_end_that_was_not_seen() {
    let sandbox = sandbox();
    let mut before = 0;
    for delay in 0..scaled(40, 400) {
        let id = format!("t{delay}");
        let mut command = sandbox.flow_command();
        command.args(["exec", "--run-id", "r1", "--id", &id, "--", "sh", "-c", "echo ran >> .flow/ran; exit 3"]);
        let mut flow = spawned(command);
        sleep(Duration::from_micros(delay * 2500));
        let _ = flow.kill();
        let code = flow.wait().unwrap().code();
        let records: Vec<_> = recorded(&sandbox).into_iter().filter(|one| one[1] == id.as_str()).collect();
        let statuses: Vec<_> = records.iter().map(|one| one[2].as_str().unwrap()).collect();
        assert!([&[][..], &["running"], &["running", "failed"]].contains(&&*statuses), "{id}: {statuses:?}");
        assert!(code.is_none() || code == Some(3) && statuses.len() == 2, "{id}: {code:?} {statuses:?}");
        let ran = fs::read_to_string(sandbox.path(".flow/ran")).unwrap_or_default().lines().count();
        assert!(ran - before <= statuses.len().min(1), "{id}: nothing runs before that is recorded");
        before = ran;
        // The same line once more runs nothing again of which something is recorded.
        if statuses.is_empty() {
            continue;
        }
        let again = exec(&sandbox, &["--id", &id], &["sh", "-c", "echo ran >> .flow/ran; exit 3"]);
        assert_eq!(again.code, Some(if statuses.len() == 2 { 3 } else { 1 }), "{again:?}");
    }
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn a_process_that_is_killed_before_any_of_its_calls_leaves_no_end_that_was_not_seen() {
    if !can_inject("a_process_that_is_killed_before_any_of_its_calls_leaves_no_end_that_was_not_seen") {
        return;
    }
    let sandbox = sandbox();
    let (flow, before) = (sandbox.path(".flow"), Tree::of(&sandbox.path(".flow")));
    // The command may go on when flow is dead, so each one has a file of its own, outside of the project.
    let script = |at: usize| format!("echo ran >> ../ran-{at}; exit 3");
    let line = |script: &str| ["exec", "--run-id", "r1", "--id", "t", "--", "sh", "-c", script].map(str::to_owned);
    let (answer, calls) = calls(&sandbox, &line(&script(0)).each_ref().map(String::as_str));
    answer.exits(3);
    let changing: Vec<_> = calls.into_iter().filter(Call::changes_something).collect();
    assert!(changing.len() > 30, "only {} calls were found", changing.len());
    let some: Vec<_> = (1..).zip(changing).step_by(scaled(3, 1)).collect();
    try_all(&some, |(at, call)| {
        before.restore(&flow);
        let line = line(&script(*at));
        let killed = killed_at(&sandbox, call, &line.each_ref().map(String::as_str)).code;
        let statuses: Vec<_> = recorded(&sandbox).into_iter().map(|one| one[2].clone()).collect();
        let possible = [json!([]), json!(["running"]), json!(["running", "failed"])];
        assert!(possible.contains(&json!(statuses)), "{statuses:?}");
        assert!(killed != Some(3) || statuses.len() == 2, "it answered, and recorded {statuses:?}");
        let file = sandbox.root().with_file_name(format!("ran-{at}"));
        let times = || fs::read_to_string(&file).unwrap_or_default().lines().count();
        assert!(times() == 0 || !statuses.is_empty(), "it ran before that was recorded");
        // The same line once more runs nothing again of which something is recorded.
        sandbox.flow(&line).exits(if statuses.len() == 1 { 1 } else { 3 });
        assert!(times() <= 1, "it ran twice");
        sandbox.flow(["verify", "r1"]).ok();
    });
}

#[test]
fn sixteen_commands_of_one_run_at_once_are_all_recorded() {
    let sandbox = sandbox();
    let mut running = Vec::new();
    for _ in 0..16 {
        let mut command = sandbox.flow_command();
        command.args(["exec", "--run-id", "r1", "--", "sleep", "0.3"]);
        running.push(spawned(command));
    }
    running.into_iter().for_each(|one| drop(answered(one).ok()));
    let passed = recorded(&sandbox).into_iter().filter(|one| one[2] == "passed");
    assert_eq!(passed.count(), 16);
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn evidence_has_no_secrets_and_a_command_that_had_one_is_not_offered() {
    let sandbox = sandbox();
    let token = "ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2";
    let mut command = sandbox.flow_command();
    command.env("MY_API_KEY", "open-sesame");
    let script = format!("printf 'ghp_a1B2c3D4e5'; sleep 0.05; echo {}; echo open-sesame", &token[14..]);
    command.args(["exec", "--run-id", "r1", "--id", "t", "--", "sh", "-c", &script, token]);
    let answer = run(command, "").ok();
    assert_eq!(answer.stdout, format!("{token}\nopen-sesame\n"), "what is shown is what the command wrote");
    assert_eq!(sandbox.read("r1", "evidence/002-t.log"), "ghp_***\n***\n");
    for file in ["events.jsonl", "run.yaml", "activities/002-t.yaml"] {
        assert!(!sandbox.read("r1", file).contains(token), "{file}");
    }
    exec(&sandbox, &["--id", "quiet", "--no-output"], &["echo", "hello"]).ok();
    assert!(!sandbox.run_dir("r1").join("evidence/004-quiet.log").exists());
}

#[test]
fn no_text_about_a_command_has_the_secrets_that_are_masked_in_its_words() {
    let sandbox = sandbox();
    let token = "ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2";
    let beginning = &token[..14];
    // Names of files are not words of the command.
    fs::write(sandbox.path(".git/info/exclude"), "ghp_*\n").unwrap();
    fs::create_dir(sandbox.path(token)).unwrap();
    fs::write(sandbox.path(token).join("script"), "#!/no/interpreter\n").unwrap();
    may_be_run(&sandbox, &format!("{token}/script"));
    let missing = format!("{token}/missing");
    let (script, variable, spaces) = (format!("{token}/script"), format!("A={token}"), format!("echo {token}"));
    for (program, code) in [(token, 127), (&missing, 127), (&script, 127), (&variable, 127), (&spaces, 127)] {
        let answer = exec(&sandbox, &["--json"], &[program]).exits(code);
        assert!(!format!("{answer:?}").contains(beginning), "{answer:?}");
        let told = exec(&sandbox, &[], &[program]).exits(code).stderr;
        assert!(told.contains("not started: ") && told.contains("***") && !told.contains(beginning), "{told}");
    }
    for reader in [&["show", "r1"][..], &["log", "r1"], &["report", "r1"], &["export", "r1", "--format", "md"]] {
        let told = sandbox.flow(reader);
        assert!(!format!("{told:?}").contains(beginning), "{reader:?}: {told:?}");
    }
    for file in ["events.jsonl", "run.yaml"] {
        assert!(!sandbox.read("r1", file).contains(beginning), "{file}");
    }
    for file in fs::read_dir(sandbox.run_dir("r1").join("activities")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains(beginning), "{text}");
    }
}

/// Makes a file one that may be run.
fn may_be_run(sandbox: &Sandbox, file: &str) {
    let path = sandbox.path(file);
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn at_a_terminal_a_command_writes_to_a_terminal_of_its_own() {
    if !has_terminals("at_a_terminal_a_command_writes_to_a_terminal_of_its_own") {
        return;
    }
    let sandbox = sandbox();
    let script = "test -t 1 && test -t 2 && echo one; echo two; test -t 0 || echo no-input";
    let mut command = sandbox.flow_command();
    command.args(["exec", "--run-id", "r1", "--id", "t", "--", "sh", "-c", script]);
    let mut person = Person::before(&command);
    person.shows("one\r\ntwo\r\nno-input\r\n").shows("recorded 002 t (passed)");
    assert!(person.ended().success());
    assert_eq!(sandbox.read("r1", "evidence/002-t.log"), "one\ntwo\nno-input\n");
    let mut command = sandbox.flow_command();
    command.args(["exec", "--run-id", "r1", "--id", "u", "--no-tty", "--", "sh", "-c", "test -t 1 || echo none"]);
    let mut person = Person::before(&command);
    person.shows("none\r\n");
    assert!(person.ended().success());
}

#[test]
fn the_terminal_of_a_command_has_the_size_of_the_one_that_a_person_looks_at() {
    if !has_terminals("the_terminal_of_a_command_has_the_size_of_the_one_that_a_person_looks_at") {
        return;
    }
    let sandbox = sandbox();
    let script = "trap 'stty size <&1; exit 0' WINCH; stty size <&1; while :; do sleep 0.02; done";
    let mut command = sandbox.flow_command();
    command.args(["exec", "--run-id", "r1", "--id", "t", "--", "sh", "-c", script]);
    let mut person = Person::before(&command);
    person.shows("0 0\r\n").resizes(101, 33).shows("33 101\r\n").shows("recorded 002 t (passed)");
    assert!(person.ended().success());
}

#[test]
fn evidence_is_fresh_exactly_as_long_as_the_files_are_the_same() {
    let sandbox = sandbox();
    fs::write(sandbox.path("a"), "1").unwrap();
    fs::write(sandbox.path("b"), "1").unwrap();
    sandbox.git(&["add", "a", "b"]);
    sandbox.git(&["commit", "-q", "-m", "files"]);
    fs::write(sandbox.path("b"), "2").unwrap();
    exec(&sandbox, &["--id", "t"], &["echo", "12345"]).ok();
    let held = |freshness: &str, changed: &[&str]| json!([["t", freshness, changed]]);
    assert_eq!(fresh(&sandbox), held("fresh", &[]));
    sandbox.flow(["verify", "r1", "--evidence"]).ok();
    // What was dirty is committed, with the files of flow; and so are the files of flow alone.
    sandbox.git(&["commit", "-q", "-a", "-m", "b"]);
    sandbox.git(&["add", "-f", ".flow/runs"]);
    sandbox.git(&["commit", "-q", "-m", "runs"]);
    assert_eq!(fresh(&sandbox), held("fresh", &[]));
    fs::write(sandbox.path("a"), "2").unwrap();
    fs::write(sandbox.path("new"), "").unwrap();
    assert_eq!(fresh(&sandbox), held("stale", &["a", "new"]));
    let stale = sandbox.flow(["verify", "r1", "--evidence"]).exits(1).stdout;
    insta::assert_snapshot!(stale, @r"
    not fresh  r1
      002  t  preflight  echo 12345  passed, seen  stale: the files changed since it was run
        changed since 002: a
        changed since 002: new
      fresh means: the tracked and untracked files are the same; ignored ones are not looked at
    ");
    sandbox.git(&["stash", "push", "-q", "-u", "--", "a", "new"]);
    assert_eq!(fresh(&sandbox), held("fresh", &[]));
    sandbox.git(&["stash", "pop", "-q"]);
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    sandbox.git(&["add", "a", "new"]);
    sandbox.git(&["commit", "-q", "-m", "other"]);
    assert_eq!(fresh(&sandbox), held("stale", &["a", "new"]));
    sandbox.git(&["checkout", "-q", "main"]);
    assert_eq!(fresh(&sandbox), held("fresh", &[]));
    // As long as before.
    let kept = sandbox.run_dir("r1").join("evidence/002-t.log");
    fs::write(&kept, "other\n").unwrap();
    assert_eq!(fresh(&sandbox), held("gone", &[]));
    let told = || sandbox.flow(["verify", "r1", "--evidence"]).exits(1).stdout;
    assert!(told().contains("gone: evidence/002-t.log is not what was recorded\n"), "{}", told());
    fs::remove_file(kept).unwrap();
    assert!(told().contains("gone: evidence/002-t.log is not there\n"), "{}", told());
}

#[test]
fn what_flow_notes_in_a_journal_makes_nothing_stale_and_a_rename_names_both_paths() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.path(".decisions")).unwrap();
    fs::write(sandbox.path("old"), "a file of some length\n").unwrap();
    sandbox.git(&["add", "old"]);
    sandbox.git(&["commit", "-q", "-m", "old"]);
    exec(&sandbox, &["--id", "t"], &["true"]).ok();
    fs::write(sandbox.path(".decisions/issue-1.md"), "noted\n").unwrap();
    assert_eq!(fresh(&sandbox), json!([["t", "fresh", []]]));
    sandbox.git(&["mv", "old", "new"]);
    assert_eq!(fresh(&sandbox), json!([["t", "stale", ["new", "old"]]]));
}

#[test]
fn a_command_that_changes_files_is_seen_to_have_run_on_those_before() {
    let sandbox = sandbox();
    let told = exec(&sandbox, &["--id", "t"], &["sh", "-c", "echo x > made"]).ok().stderr;
    insta::assert_snapshot!(told, @"flow: recorded 002 t (passed) in preflight of r1; 1 file changed while it ran, and it holds for the files as they were before");
    assert_eq!(fresh(&sandbox), json!([["t", "stale", ["made"]]]));
    fs::remove_file(sandbox.path("made")).unwrap();
    assert_eq!(fresh(&sandbox), json!([["t", "fresh", []]]));
    let told = sandbox.flow(["verify", "r1", "--evidence"]).ok().stdout;
    insta::assert_snapshot!(told, @r"
    ok  r1
      002  t  preflight  sh -c 'echo x > made'  passed, seen  fresh: files changed while it ran, and were put back
      fresh means: the tracked and untracked files are the same; ignored ones are not looked at
    ");
}

#[test]
fn another_checkout_compares_commits_and_never_says_stale() {
    let sandbox = sandbox();
    fs::write(sandbox.path("a"), "1").unwrap();
    sandbox.git(&["add", "a"]);
    sandbox.git(&["commit", "-q", "-m", "a"]);
    fs::write(sandbox.path(".git/info/exclude"), ".flow\n").unwrap();
    exec(&sandbox, &["--id", "t"], &["true"]).ok();
    let (clone, worktree) = (sandbox.path("../clone"), sandbox.path("../worktree"));
    sandbox.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    fs::write(clone.join(".git/info/exclude"), ".flow\n").unwrap();
    sandbox.git(&["worktree", "add", "-q", worktree.to_str().unwrap()]);
    for other in [&clone, &worktree] {
        assert_eq!(sandbox.freshness_in(other), "fresh");
        fs::write(other.join("a"), "2").unwrap();
        assert_eq!(sandbox.freshness_in(other), "unknown");
        fs::write(other.join("a"), "1").unwrap();
        assert_eq!(sandbox.freshness_in(other), "fresh");
    }
}

#[test]
fn output_that_cannot_be_written_is_told_and_the_end_is_recorded() {
    let sandbox = sandbox();
    let mut shell = sandbox.command("sh");
    let line = format!("'{}' exec --run-id r1 --id t -- echo lost >/dev/full", env!("CARGO_BIN_EXE_flow"));
    shell.args(["-c", &line]);
    insta::assert_snapshot!(run(shell, "").ok().stderr, @"
    warning: not all of the output could be written where it was sent: No space left on device (os error 28)
    flow: recorded 002 t (passed) in preflight of r1
    ");
    assert_eq!(recorded(&sandbox)[1], json!(["002", "t", "passed", 0]));
}

#[test]
fn no_record_by_hand_hides_that_a_command_was_seen_to_fail() {
    for status in ["skipped", "running", "blocked", "passed", "pending"] {
        let sandbox = sandbox();
        exec(&sandbox, &["--id", "t"], &["false"]).exits(1);
        let hand = ["record-activity", "--run-id", "r1", "--id", "t", "--status", status, "--summary", "ok"];
        sandbox.flow(hand).ok();
        sandbox.flow(["verify", "r1", "--evidence"]).exits(1);
        let report = sandbox.flow(["report", "r1"]).ok().stdout;
        assert!(report.contains("flow saw 002 fail"), "{status}: {report}");
        if ["passed", "skipped"].contains(&status) {
            for face in ["resume", "show"] {
                let told = sandbox.flow([face, "r1"]).ok().stdout;
                assert!(told.contains("; flow saw 002 fail"), "{status}: {told}");
            }
        }
        exec(&sandbox, &["--id", "t", "--again"], &["true"]).ok();
        sandbox.flow(["verify", "r1", "--evidence"]).ok();
    }
}

#[test]
fn claims_and_what_was_seen_are_told_apart() {
    let sandbox = sandbox();
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "said", "--summary", "all pass"]).ok();
    let resumed = sandbox.flow(["resume", "r1"]).ok().stdout;
    assert!(resumed.ends_with("  completed\n    001  said  preflight  passed, claimed\n"), "{resumed}");
    exec(&sandbox, &["--id", "ran"], &["true"]).ok();
    let shown = sandbox.flow(["show", "r1"]).ok().stdout;
    let activities: Vec<_> = shown.lines().skip_while(|line| !line.contains("activities")).collect();
    insta::assert_snapshot!(activities.join("\n"), @"
    activities
      001  said  preflight  passed, claimed      all pass
      002  ran   preflight  running              true
      003  ran   preflight  passed, seen     2s  true
    usage
      preflight  2s (1 of 2 reported)
    evidence (fresh: the tracked and untracked files are the same)
      003  ran  preflight  true  passed, seen  fresh
    ");
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(resumed["evidence"][0]["freshness"], "fresh");
    assert_eq!([&resumed["completed"][0]["claimed"], &resumed["completed"][1]["seen"]], [true, true]);
    let listed = sandbox.flow(["evidence", "r1", "--json"]).ok().json();
    assert_eq!(listed["seen"][0]["command"], "true");
    let verified = sandbox.flow(["verify", "r1", "--evidence", "--json"]).ok().json();
    assert_eq!(verified["claimed"][0]["id"], "said");
}

#[test]
fn a_named_command_runs_only_after_it_was_accepted_as_it_is() {
    let sandbox = sandbox();
    let config = |text: &str| fs::write(sandbox.path(".flow/config.yaml"), text).unwrap();
    let code = |answer: Answer| answer.error()["code"].clone();
    let named = |name: &str| sandbox.flow(["exec", "--run-id", "r1", "--json", name]);
    assert_eq!(code(named("test").exits(3)), "command_not_found");
    config("commands:\n  test: \"sh -c 'echo ran >> .flow/ran'\"\n  lint: [echo, a b]\n");
    assert_eq!(code(named("test").exits(4)), "command_not_trusted");
    insta::assert_snapshot!(sandbox.flow(["trust"]).ok().stdout, @r"
    test  not accepted  sh -c 'echo ran >> .flow/ran'
    lint  not accepted  echo 'a b'
    ");
    assert_eq!(code(named("test").exits(4)), "command_not_trusted", "showing accepts nothing");
    sandbox.flow(["trust", "--yes"]).ok();
    // At the top of the project, wherever the caller is.
    fs::create_dir(sandbox.path("sub")).unwrap();
    let mut command = sandbox.flow_command();
    command.args(["exec", "--run-id", "r1", "test"]).current_dir(sandbox.path("sub"));
    run(command, "").ok();
    assert_eq!(fs::read_to_string(sandbox.path(".flow/ran")).unwrap(), "ran\n");
    let report = named("lint").ok().json();
    assert_eq!((&report["activity"], &report["exec"]["name"]), (&json!("lint"), &json!("lint")));
    // Another command under the name is another one.
    config("commands:\n  test: \"sh -c 'echo other >> .flow/ran'\"\n");
    assert_eq!(code(named("test").exits(4)), "command_not_trusted");
    assert_eq!(fs::read_to_string(sandbox.path(".flow/ran")).unwrap(), "ran\n");
    for invalid in ["commands: [test]", "commands: {test: 1}", "commands: {test: ''}", "commands: {Te st: x}"] {
        config(invalid);
        assert_eq!(code(named("test").exits(1)), "invalid_config", "{invalid}");
        sandbox.flow(["resume", "r1"]).ok();
    }
    sandbox.flow(["exec", "--run-id", "r1", "test", "--", "true"]).exits(2);
    fs::write(sandbox.path(".flow/config.yaml"), b"commands: {test: '\xff'}\n").unwrap();
    let error = named("test").exits(1).error();
    assert!(
        error["message"].as_str().unwrap().ends_with("config.yaml cannot be used: line 1: the file is not UTF-8 text")
    );
    config("comands: {test: x}");
    let error = named("test").exits(3).error();
    let meant = "config.yaml: the key `comands` means nothing to flow; did you mean `commands`?";
    assert_eq!(error["help"], meant);
    assert_eq!(sandbox.flow(["trust", "--json"]).ok().json()["warnings"], json!([meant]));
}

#[test]
fn what_a_shell_would_act_on_is_refused_wherever_it_stands_in_a_line() {
    let sandbox = sandbox();
    let told = |line: &str| {
        let config = json!({ "commands": { "test": line } }).to_string();
        fs::write(sandbox.path(".flow/config.yaml"), config).unwrap();
        let answer = sandbox.flow(["trust", "--json"]);
        if answer.code == Some(0) { "taken".to_owned() } else { answer.error()["message"].as_str().unwrap().to_owned() }
    };
    let shell = |sign: &str| {
        let how = "no shell reads the line; write `[sh, -c, '…']` where one has to, or quote it";
        format!("`commands`: `test` has `{sign}` in it, and {how}")
    };
    for (line, why) in [
        ("make test && make lint", shell("&")),
        ("./t.sh unit; ./lint", shell(";")),
        ("./t.sh|tee log", shell("|")),
        ("./t.sh 2>/dev/null", shell(">")),
        ("./t.sh<in", shell("<")),
        ("./t.sh $(cat names)", shell("$")),
        ("./t.sh \"$NAME\"", shell("$")),
        ("./t.sh ${NAME}", shell("$")),
        ("./t.sh `cat names`", shell("`")),
        ("echo \"a", "`commands`: `test` has a quote that is not closed".to_owned()),
        ("", "`commands`: `test` names no program".to_owned()),
        ("'' a", "`commands`: `test` names no program".to_owned()),
        ("true\nsh t.sh\n", shell("").replace("has `` in it", "is more than one line")),
        ("N=1 true", "`commands`: `test` begins with `N=1`; write `env N=1` before the program".to_owned()),
    ] {
        let said = told(line);
        assert!(said.ends_with(&why), "{line}: {said}");
    }
    for line in [
        "sh -c 'a && b; c > d $N `e`'",
        "echo \"a; b | c\"",
        "echo a\\;b \\$N 5$",
        "grep -e '$(x)' f",
        "env N=1 true",
        "true \\\n  a\n",
    ] {
        assert_eq!(told(line), "taken", "{line}");
    }
}

#[test]
fn two_commands_of_which_the_same_id_would_be_made_have_an_outcome_each() {
    let sandbox = sandbox();
    let long = "a".repeat(100);
    // The ids that are made of them end before they differ.
    let script = "exit ${0##*-}";
    exec(&sandbox, &[], &["sh", "-c", script, &format!("{long}-1")]).exits(1);
    exec(&sandbox, &[], &["sh", "-c", script, &format!("{long}-0")]).ok();
    let ids: Vec<_> = recorded(&sandbox).iter().map(|one| one[1].clone()).collect();
    assert!(ids.len() == 4 && ids[1] != ids[3], "{ids:?}");
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).ok().json()["next"]["action"], "retry_phase");
    // The same command again replaces its outcome.
    exec(&sandbox, &[], &["sh", "-c", script, &format!("{long}-1")]).exits(1);
    let report = sandbox.flow(["report", "r1", "--format", "json"]).ok().json();
    assert_eq!(report["seen"].as_array().unwrap().len(), 2, "{report:#}");
}

#[test]
fn a_command_that_asks_the_terminal_is_ended_instead_of_waiting_for_ever() {
    if !has_terminals("a_command_that_asks_the_terminal_is_ended_instead_of_waiting_for_ever") {
        return;
    }
    let sandbox = sandbox();
    let mut command = sandbox.flow_command();
    command.args(["exec", "--run-id", "r1", "--id", "t", "--", "sh", "-c", "read word </dev/tty; echo got"]);
    let mut person = Person::before(&command);
    person.shows("asked the terminal");
    assert_eq!(person.ended().code(), Some(143));
    assert_eq!(recorded(&sandbox)[1], json!(["002", "t", "failed", 143]));
    let shown = sandbox.flow(["show", "r1"]).ok().stdout;
    assert!(shown.contains("asked the terminal, and was ended"), "{shown}");
    // One that stopped itself goes on to its end.
    let mut command = sandbox.flow_command();
    command.args(["exec", "--run-id", "r1", "--id", "s", "--timeout", "0.3", "--", "sh", "-c", "kill -STOP $$"]);
    assert_eq!(run(command, "").code, Some(143));
}

#[test]
fn output_that_no_one_reads_holds_up_neither_the_time_limit_nor_a_signal_nor_the_record() {
    let sandbox = sandbox();
    let until = Instant::now() + Duration::from_secs(60);
    let writes = |id: &str, options: &[&str], script: &str| {
        let mut command = sandbox.flow_command();
        let script = format!("touch .flow/begun; {script}");
        command.args(["exec", "--run-id", "r1", "--id", id]).args(options).args(["--", "sh", "-c", &script]);
        spawned(command)
    };
    let ended = |count: usize| {
        while recorded(&sandbox).len() < count {
            assert!(Instant::now() < until, "{:?}", recorded(&sandbox));
            sleep(Duration::from_millis(20));
        }
    };
    let slow = writes("slow", &["--timeout", "0.3"], "exec yes");
    ended(2);
    assert_eq!(recorded(&sandbox)[1], json!(["002", "slow", "failed", 143]));
    assert!(answered(slow).stdout.starts_with("y\ny\n"), "it is read after that");
    fs::remove_file(sandbox.path(".flow/begun")).unwrap();
    let told = writes("told", &[], "exec yes");
    while !sandbox.path(".flow/begun").exists() {
        assert!(Instant::now() < until, "it does not begin");
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_millis(300));
    kill_process(pid(&told), Signal::TERM).unwrap();
    ended(4);
    assert_eq!(recorded(&sandbox)[3], json!(["004", "told", "failed", 143]));
    // The end is on record, so that another signal ends the wait for the reader.
    sleep(Duration::from_millis(300));
    kill_process(pid(&told), Signal::TERM).unwrap();
    assert_eq!(answered(told).code, None);
    // What comes out is all of it, also for a reader who comes late.
    let late = writes("late", &[], "seq -f %0500.f 1 6000");
    sleep(Duration::from_millis(500));
    let lines = answered(late).stdout;
    assert_eq!((lines.len(), lines.lines().last().map(|line| line.ends_with("06000"))), (6000 * 501, Some(true)));
}

#[test]
fn what_is_proposed_while_a_command_runs_returns_when_the_command_ends() {
    for (script, session) in [("true", None), ("exit 3", None), ("true", Some("s1"))] {
        let sandbox = sandbox();
        let (flow, _command) =
            waiting(&sandbox, ":", &format!("while test ! -e .flow/go; do sleep 0.05; done; {script}"));
        if let Some(session) = session {
            sandbox.flow(["resume", "r1", "--claim", "--session", session]).ok();
        }
        let told = sandbox.flow(["resume", "r1", "--json"]).json();
        let way = if session.is_some() {
            "flow wait r1 --commands".into()
        } else {
            told["next"]["alternatives"][0]["command"].clone()
        };
        assert_eq!(way, "flow wait r1 --commands");
        let mut command = sandbox.flow_command();
        command.args(way.as_str().unwrap().split(' ').skip(1));
        let mut wait = spawned(command);
        // It waits as well while a person is needed.
        sandbox.flow(["record-activity", "--id", "q", "--status", "blocked", "--summary", "which?"]).ok();
        let still = sandbox.flow(["wait", "r1", "--commands", "--timeout", "0.6", "--json"]).exits(5).error();
        assert_eq!((&still["code"], wait.try_wait().unwrap()), (&json!("time_over"), None));
        fs::write(sandbox.path(".flow/go"), "").unwrap();
        answered(flow);
        let ended = answered(wait).ok();
        assert!(ended.stdout.ends_with('\n') && ended.stdout.contains("  r1  "), "{ended:?}");
        // Nothing runs, so that there is nothing to wait for.
        sandbox.flow(["wait", "r1", "--commands"]).ok();
    }
}

#[test]
fn what_would_end_or_leave_the_work_of_a_command_that_runs_says_to_wait_for_it() {
    let sandbox = sandbox();
    let (flow, _command) = waiting(&sandbox, ":", "sleep 60");
    let data = r#"{"status":"running"}"#;
    let emit = ["emit", "--workflow", "debug", "--run-id", "r1", "--type", "status_change", "--step", "reproduce"];
    for way in [
        &["complete", "r1"][..],
        &["complete", "r1", "--skip-reason", "enough"],
        &["fail", "r1", "--reason", "it does not work"],
        &["record-activity", "--run-id", "r1", "--phase", "reproduce", "--id", "d"],
        &["advance", "--run-id", "r1"],
        &[&emit[..], &["--data", data]].concat(),
    ] {
        let answer = sandbox.flow(way.iter().chain(&["--json"])).exits(5);
        let told = format!("{}{}", answer.stdout, answer.stderr);
        assert!(told.contains("001 t still runs") && told.contains("flow wait r1 --commands"), "{way:?}: {told}");
    }
    // Anyone may give it up, and is told what is lost. The command keeps its run.
    let told = sandbox.flow(["cancel", "r1", "--reason", "it hangs", "--json"]).ok().json();
    let warning = "001 t still runs; how it ends can be recorded only if the run is reopened before that";
    assert_eq!(told["warnings"], json!([warning]));
    let kept = sandbox.flow(["prune", "--older-than", "0d", "--yes", "--json"]).ok().json();
    assert_eq!((&kept["pruned"], &kept["kept"][0]["why"]), (&json!([]), &json!("a command of it runs")));
    kill_process(pid(&flow), Signal::TERM).unwrap();
    assert_eq!(answered(flow).code, Some(74));
}

#[test]
fn an_answer_that_cannot_be_written_ends_with_74_and_says_that_the_end_is_recorded() {
    for command in ["true", "false"] {
        let sandbox = sandbox();
        let mut shell = sandbox.command("sh");
        let line = format!("'{}' exec --run-id r1 --id t --json -- {command} >/dev/full", env!("CARGO_BIN_EXE_flow"));
        shell.args(["-c", &line]);
        let error = run(shell, "").exits(74).error();
        assert_eq!(error["code"], "io_error");
        assert!(error["message"].as_str().unwrap().ends_with("the end of the command is recorded as event 3 (002)"));
        assert_eq!(recorded(&sandbox).len(), 2);
    }
}

#[test]
fn a_run_stays_while_a_command_of_it_runs_and_goes_once_that_has_ended() {
    for to in ["", " --to ../gone"] {
        let sandbox = sandbox();
        let flow = env!("CARGO_BIN_EXE_flow");
        let prune = format!("prune --older-than 0m --yes{to}");
        let script = format!("'{flow}' cancel r1 && '{flow}' {prune}");
        exec(&sandbox, &["--id", "t", "--json"], &["sh", "-c", &script]).exits(74);
        assert_eq!(sandbox.runs(), ["r1"]);
        sandbox.flow(prune.split(' ')).ok();
        assert_eq!(sandbox.runs(), [""; 0]);
    }
}

#[test]
fn once_more_means_an_id_and_an_input_that_never_counts_is_told_as_such() {
    let sandbox = sandbox();
    let error = exec(&sandbox, &["--again", "--json"], &["true"]).exits(2).error();
    assert!(error["message"].as_str().unwrap().starts_with("--again needs the --id"), "{error}");
    assert_eq!(recorded(&sandbox), Vec::<Value>::new());
    let told = exec(&sandbox, &["--input", ".git/config", "--input", "no"], &["true"]).ok().stderr;
    insta::assert_snapshot!(told, @r#"
    warning: --input ".git/config" leads into `.git`, whose files never count
    warning: --input "no" names no file of the project now
    flow: recorded 002 true (passed) in preflight of r1
    "#);
}
