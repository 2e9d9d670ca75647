//! The table of commands that write. A new one is a row.

use super::scene::{Case, Order, Retry};
use super::{Sandbox, Tree};

/// Every command that writes, in the ways that differ in what they write.
pub const CASES: [Case; 44] = [
    Case { name: "init", prepare: init },
    Case { name: "start, first in a project", prepare: first_start },
    Case { name: "start, further", prepare: further_start },
    Case { name: "fork", prepare: fork },
    Case { name: "record-activity", prepare: record },
    Case { name: "record-activity, from a file", prepare: record_file },
    Case { name: "record-activity --advance", prepare: record_and_advance },
    Case { name: "record-activity, of a phase that was left", prepare: record_late },
    Case { name: "record-activity over a hand edit", prepare: record_over_an_edit },
    Case { name: "record-activity after a dead writer", prepare: record_after_a_death },
    Case { name: "emit, first of a run", prepare: first_emit },
    Case { name: "emit", prepare: emit },
    Case { name: "emit --batch", prepare: emit_batch },
    Case { name: "advance", prepare: advance },
    Case { name: "block", prepare: block },
    Case { name: "unblock", prepare: unblock },
    Case { name: "complete", prepare: complete },
    Case { name: "fail", prepare: fail },
    Case { name: "cancel", prepare: cancel },
    Case { name: "reopen", prepare: reopen },
    Case { name: "set", prepare: set },
    Case { name: "resume --claim", prepare: claim },
    Case { name: "resume --take-over", prepare: take_over },
    Case { name: "session-end", prepare: session_end },
    Case { name: "session-end, from a hook", prepare: session_end_of_a_holder },
    Case { name: "workflow adopt", prepare: adopt },
    Case { name: "mode request, first in a project", prepare: first_mode },
    Case { name: "mode request, handing over", prepare: hand_over },
    Case { name: "mode write", prepare: write_mode },
    Case { name: "mode clear, of a broken file", prepare: clear_mode },
    Case { name: "mode cancel", prepare: cancel_modes },
    Case { name: "mode prompt", prepare: prompt },
    Case { name: "interview start", prepare: first_interview },
    Case { name: "interview start, of a document and a run", prepare: interview_of_a_document },
    Case { name: "interview answer", prepare: answer },
    Case { name: "interview answer, of a run", prepare: answer_of_a_run },
    Case { name: "interview skip", prepare: skip },
    Case { name: "interview finish, of a run", prepare: finish },
    Case { name: "interview abandon", prepare: abandon },
    Case { name: "doctor --repair", prepare: repair },
    Case { name: "exec", prepare: exec },
    Case { name: "replay", prepare: replay },
    Case { name: "prune", prepare: prune },
    Case { name: "prune --to", prepare: prune_to },
];

/// The row of this name.
#[track_caller]
pub fn case(name: &str) -> Case {
    *CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"))
}

const START: [&str; 9] =
    ["start", "start-issue", "--issue", "42", "--another", "--branch", "main", "--repo", "acme/widgets"];
const EXPLORE: [&str; 7] = ["record-activity", "--run-id", "r1", "--phase", "explore", "--id", "explore-done"];
const PLAN: [&str; 7] = ["record-activity", "--run-id", "r1", "--phase", "plan", "--id", "plan-done"];

fn start(sandbox: &Sandbox, id: &str) {
    sandbox.flow(START.iter().chain(&["--id", id])).ok();
}

/// The run `r1` with one record.
fn begin(sandbox: &Sandbox) {
    start(sandbox, "r1");
    sandbox.record("r1", "preflight", "preflight-done");
}

fn init(_: &Sandbox) -> Order {
    Order::new(&["init", "--schemas"], (&START, 0))
}

fn first_start(_: &Sandbox) -> Order {
    Order { retry: Retry::Another, ..Order::new(&START, (&["start", "debug", "--id", "last"], 0)) }
}

fn further_start(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    let args = [&START[..], &["--id", "r2"]].concat();
    Order { retry: Retry::Taken, ..Order::new(&args, (&EXPLORE, 0)) }
}

fn fork(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    Order::new(&["fork", "r1", "--id", "r2"], (&EXPLORE, 0))
}

fn record(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    Order::new(&EXPLORE, (&PLAN, 0))
}

fn record_file(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    let document = "apiVersion: flow.synapti.ai/v1\nkind: FlowActivity\nmetadata:\n  id: explore-done\n  run_id: r1\n  \
                    workflow: start-issue\n  phase: explore\nactivity:\n  type: skill\n  name: Explore\n  \
                    status: passed\nresult:\n  summary: found both callers\n  confidence: high\n";
    let file = sandbox.path("explore.yaml");
    std::fs::write(&file, document).unwrap();
    let file = file.to_str().unwrap();
    Order::new(&["record-activity", "--run-id", "r1", "--activity-file", file, "--id", "explore-done"], (&PLAN, 0))
}

fn record_and_advance(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    Order::new(&[&EXPLORE[..], &["--advance"]].concat(), (&PLAN, 0))
}

fn record_over_an_edit(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    sandbox.edit("r1", "state:", "# ask Ada first\nstate:");
    let may_put_aside = Some(sandbox.read("r1", "run.yaml"));
    Order { keeps: Some("# ask Ada first"), may_put_aside, ..Order::new(&EXPLORE, (&PLAN, 0)) }
}

/// The log is ahead of everything and torn, files are missing or empty, and a person's text lies where a swap left it.
fn record_after_a_death(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    let dir = sandbox.run_dir("r1");
    let older = Tree::of(&dir).text("run.yaml");
    for phase in ["explore", "plan"] {
        sandbox.record("r1", phase, &format!("{phase}-done"));
    }
    let torn = "{\"v\":1,\"seq\":5,\"id\":\"torn";
    let theirs = "only here: call Ada\n";
    std::fs::write(dir.join("run.yaml"), older).unwrap();
    std::fs::remove_file(dir.join("activities/003-plan-done.yaml")).unwrap();
    std::fs::write(dir.join("activities/002-explore-done.yaml"), "").unwrap();
    std::fs::write(dir.join("events.jsonl"), sandbox.read("r1", "events.jsonl") + torn).unwrap();
    std::fs::write(dir.join(".run.tmp"), theirs).unwrap();
    let args = ["record-activity", "--run-id", "r1", "--phase", "code", "--id", "code-done"];
    let then = ["record-activity", "--run-id", "r1", "--phase", "verify", "--id", "verify-done"];
    Order { puts_aside: vec![theirs.to_owned(), torn.to_owned()], ..Order::new(&args, (&then, 0)) }
}

const EMIT: [&str; 7] = ["emit", "--workflow", "build", "--run-id", "r1", "--type", "status_change"];

/// A report on a step of the run `r1`, with a key of its own.
fn report<'a>(step: &'a str, data: &'a str) -> Vec<&'a str> {
    [&EMIT[..], &["--step", step, "--data", data, "--id", step]].concat()
}

const RUNNING: &str = r#"{"status":"running"}"#;

fn first_emit(_: &Sandbox) -> Order {
    Order::new(&report("requirements", RUNNING), (&report("design", RUNNING), 0))
}

fn emit(sandbox: &Sandbox) -> Order {
    sandbox.flow(report("requirements", RUNNING)).ok();
    Order::new(&report("design", RUNNING), (&report("tasks", RUNNING), 0))
}

fn advance(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    let args = ["advance", "r1", "--to", "explore", "--summary", "the tree is clean", "--id", "k1"];
    Order::new(&args, (&["advance", "r1", "--to", "plan", "--summary", "read"], 0))
}

/// One line completes four steps, and the run with them.
fn emit_batch(sandbox: &Sandbox) -> Order {
    for step in ["requirements", "design", "tasks"] {
        sandbox.flow(report(step, RUNNING)).ok();
    }
    let batch = r#"[{"type":"status_change","step":"build","data":{"status":"running"}},
        {"type":"status_change","step":"verify","data":{"status":"running"}},
        {"type":"btw_update","data":{"message":"nothing left"}},
        {"type":"status_change","step":"archive","data":{"status":"running"}},
        {"type":"status_change","step":"archive","data":{"status":"completed"}}]"#;
    let args = ["emit", "--workflow", "build", "--run-id", "r1", "--batch", batch, "--id", "all"];
    Order::new(&args, (&report("build", RUNNING), 1))
}

fn block(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    Order::new(&["block", "r1", "--reason", "which region?"], (&["unblock", "r1"], 0))
}

fn unblock(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    sandbox.flow(["block", "r1", "--reason", "which region?"]).ok();
    Order::new(&["unblock", "r1", "--reason", "the near one"], (&EXPLORE, 0))
}

fn complete(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    Order::new(&["complete", "r1", "--skip-reason", "enough"], (&EXPLORE, 1))
}

fn fail(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    Order::new(&["fail", "r1", "--reason", "out of time"], (&EXPLORE, 1))
}

fn cancel(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    Order::new(&["cancel", "r1", "--reason", "not needed"], (&EXPLORE, 1))
}

fn reopen(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    sandbox.flow(["complete", "r1", "--skip-reason", "enough"]).ok();
    Order::new(&["reopen", "r1", "--reason", "more to do"], (&EXPLORE, 0))
}

fn set(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    Order::new(&["set", "r1", "--pr", "7", "--limit", "max_iterations=20"], (&EXPLORE, 0))
}

fn record_late(sandbox: &Sandbox) -> Order {
    start(sandbox, "r1");
    sandbox.flow(["record-activity", "--run-id", "r1", "--name", "scan", "--status", "running"]).ok();
    sandbox.record("r1", "preflight", "preflight-done");
    sandbox.record("r1", "explore", "explore-done");
    Order::new(&["record-activity", "--run-id", "r1", "--id", "scan", "--status", "passed"], (&PLAN, 0))
}

/// The workflow of `r1` got another phase since.
fn adopt(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    let text = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: start-issue\nphases:\n  - id: preflight\n  \
                - id: explore\n  - id: measure\n  - id: code\n";
    std::fs::write(sandbox.path(".flow/workflows/start-issue.workflow.yaml"), text).unwrap();
    Order::new(&["workflow", "adopt", "r1"], (&EXPLORE, 0))
}

/// A holder that lives as long as the test does.
fn alive() -> (&'static str, String) {
    ("FLOW_HOLDER_PID", std::process::id().to_string())
}

fn claim(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    let then = [&EXPLORE[..], &["--session", "s1"]].concat();
    Order { env: vec![alive()], ..Order::new(&["resume", "r1", "--claim", "--session", "s1"], (&then, 0)) }
}

/// Gives the run to a session.
fn held(sandbox: &Sandbox, session: &str) {
    let mut command = sandbox.flow_command();
    command.args(["resume", "r1", "--claim", "--session", session]).envs([alive()]);
    super::run(command, "").ok();
}

fn take_over(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    held(sandbox, "s1");
    let then = [&EXPLORE[..], &["--session", "s2"]].concat();
    let order = Order::new(&["resume", "r1", "--take-over", "--session", "s2"], (&then, 0));
    Order { env: vec![alive()], retry: Retry::Again, ..order }
}

fn session_end(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    start(sandbox, "r2");
    let order = Order::new(&["session-end", "--unowned"], (&EXPLORE, 0));
    Order { is_a_hook: true, ..order.and(&["record-activity", "--run-id", "r2", "--id", "begun"]) }
}

fn session_end_of_a_holder(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    held(sandbox, "s1");
    Order { is_a_hook: true, ..Order::new(&["session-end", "--session", "s1"], (&EXPLORE, 0)) }
}

const ULTRAWORK: [&str; 5] = ["mode", "request", "ultrawork", "--session", "s2"];

fn first_mode(_: &Sandbox) -> Order {
    Order::new(&["mode", "request", "blueprint"], (&ULTRAWORK, 0))
}

/// A session takes over from itself and from a survivor in the root's scope, while another session is at work.
fn hand_over(sandbox: &Sandbox) -> Order {
    sandbox.flow(["mode", "request", "blueprint"]).ok();
    sandbox.flow(["mode", "request", "ultrawork", "--session", "s1"]).ok();
    sandbox.flow(["mode", "write", "deep-interview", "--session", "s2", "--active", "false"]).ok();
    Order::new(&["mode", "request", "forge", "--session", "s1"], (&ULTRAWORK, 0))
}

fn write_mode(sandbox: &Sandbox) -> Order {
    sandbox.flow(["mode", "request", "forge"]).ok();
    let args =
        ["mode", "write", "forge", "--phase", "verify", "--iteration", "3", "--data", r#"{"task":"the callers"}"#];
    Order::new(&args, (&ULTRAWORK, 0))
}

/// The session's file hides the root's, so something stays in its place.
fn clear_mode(sandbox: &Sandbox) -> Order {
    sandbox.flow(["mode", "request", "forge"]).ok();
    sandbox.flow(["mode", "request", "team", "--session", "s1"]).ok();
    let broken = "{ \"mode\": \"forge\", call Ada";
    std::fs::write(sandbox.path(".flow/state/sessions/s1/forge-state.json"), broken).unwrap();
    let order = Order::new(&["mode", "clear", "forge", "--session", "s1"], (&ULTRAWORK, 0));
    Order { puts_aside: vec![broken.to_owned()], ..order }
}

fn cancel_modes(sandbox: &Sandbox) -> Order {
    for mode in ["team", "forge"] {
        sandbox.flow(["mode", "request", mode, "--session", "s1"]).ok();
    }
    Order::new(&["mode", "cancel", "--session", "s1"], (&ULTRAWORK, 0))
}

fn prompt(sandbox: &Sandbox) -> Order {
    sandbox.flow(["mode", "request", "blueprint", "--session", "s1"]).ok();
    Order::new(&["mode", "prompt", "$team $forge go", "--session", "s1"], (&ULTRAWORK, 0))
}

const CHARTER: &str = "docs/charter.md";
const SECOND: [&str; 6] = ["interview", "answer", CHARTER, "--question", "2", "Managers and leads.\n\n## and more"];
const THIRD: [&str; 6] = ["interview", "answer", CHARTER, "--question", "3", "Speed."];

fn first_interview(_: &Sandbox) -> Order {
    let first = ["interview", "answer", CHARTER, "--question", "1", "Tasks."];
    Order::new(&["interview", "start", CHARTER], (&first, 0))
}

fn interview_of_a_document(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    std::fs::create_dir(sandbox.path("docs")).unwrap();
    std::fs::write(sandbox.path(CHARTER), "# Ours\n\n## Scope\n\nTasks only. No chat.\n").unwrap();
    let first = ["interview", "answer", CHARTER, "--question", "1", "It is slow."];
    let order = Order::new(&["interview", "start", CHARTER, "--run-id", "r1"], (&first, 0));
    Order { is_told_in_steps: true, ..order }
}

/// An interview with one answer, of the run `r1` when there is one.
fn interview(sandbox: &Sandbox, of_a_run: bool) {
    let mut args = vec!["interview", "start", CHARTER];
    if of_a_run {
        begin(sandbox);
        args.extend(["--run-id", "r1"]);
    }
    sandbox.flow(&args).ok();
    sandbox.flow(["interview", "answer", CHARTER, "--question", "1", "Tasks for remote teams."]).ok();
}

fn answer(sandbox: &Sandbox) -> Order {
    interview(sandbox, false);
    Order::new(&SECOND, (&THIRD, 0))
}

fn answer_of_a_run(sandbox: &Sandbox) -> Order {
    interview(sandbox, true);
    Order::new(&SECOND, (&THIRD, 0))
}

fn skip(sandbox: &Sandbox) -> Order {
    interview(sandbox, false);
    let args = ["interview", "skip", CHARTER, "--question", "2", "--reason", "ask Ada"];
    Order::new(&args, (&THIRD, 0))
}

fn finish(sandbox: &Sandbox) -> Order {
    interview(sandbox, true);
    let args = ["interview", "finish", CHARTER, "--early"];
    let order = Order::new(&args, (&["interview", "start", CHARTER], 0)).and(&EXPLORE);
    Order { retry: Retry::Over, is_told_in_steps: true, ..order }
}

fn abandon(sandbox: &Sandbox) -> Order {
    interview(sandbox, false);
    let args = ["interview", "abandon", CHARTER, "--yes"];
    Order { retry: Retry::Over, ..Order::new(&args, (&["interview", "start", CHARTER], 0)) }
}

/// A merge of two branches left its marks in the log, and the file of a record is cut off.
fn repair(sandbox: &Sandbox) -> Order {
    begin(sandbox);
    sandbox.flow(EXPLORE).ok();
    let dir = sandbox.run_dir("r1");
    let log = sandbox.read("r1", "events.jsonl");
    let merged = log.replacen('\n', "\n<<<<<<< HEAD\n", 1);
    std::fs::write(dir.join("events.jsonl"), &merged).unwrap();
    std::fs::write(dir.join("activities/001-preflight-done.yaml"), "").unwrap();
    Order { puts_aside: vec![merged], is_a_doctor: true, ..Order::new(&["doctor", "--repair"], (&PLAN, 0)) }
}

/// Two runs that are over, and one that is open.
fn two_over(sandbox: &Sandbox) {
    begin(sandbox);
    for run in ["r2", "r3"] {
        start(sandbox, run);
        sandbox.flow(["cancel", run, "--reason", "not needed"]).ok();
    }
}

/// A late report on a run that was pruned.
const LATE: [&str; 5] = ["record-activity", "--run-id", "r2", "--id", "late"];

fn prune(sandbox: &Sandbox) -> Order {
    two_over(sandbox);
    let order = Order::new(&["prune", "--older-than", "0d", "--yes"], (&LATE, 3)).and(&EXPLORE);
    Order { is_a_prune: true, ..order }
}

/// The directory is one that is put back with the documents of interviews.
fn prune_to(sandbox: &Sandbox) -> Order {
    two_over(sandbox);
    std::fs::create_dir(sandbox.path("docs")).unwrap();
    let order = Order::new(&["prune", "--older-than", "0d", "--to", "docs/archive"], (&LATE, 3)).and(&EXPLORE);
    Order { is_a_prune: true, ..order }
}

/// A run of a project that no git knows, since the tree is told differently where git cannot be asked.
fn outside_of_git(sandbox: &Sandbox) {
    std::fs::remove_dir_all(sandbox.path(".git")).unwrap();
    begin(sandbox);
}

/// The command says nothing, so that the answer of flow stands alone.
fn exec(sandbox: &Sandbox) -> Order {
    outside_of_git(sandbox);
    let args = ["exec", "--json", "--run-id", "r1", "--", "sh", "-c", "exit 0"];
    // This process stands for the flow that died, and it lives: the phase of a command that seems to run is not left.
    let there = ["record-activity", "--run-id", "r1", "--id", "preflight-too"];
    Order { retry: Retry::OnceMore, is_told_in_steps: true, ..Order::new(&args, (&there, 0)) }
}

fn replay(sandbox: &Sandbox) -> Order {
    outside_of_git(sandbox);
    std::fs::write(sandbox.path(".flow/config.yaml"), "commands: {test: [sh, -c, exit 0]}\n").unwrap();
    sandbox.flow(["trust", "--yes"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    // What was accepted is in the user's state directory.
    let home = ("HOME", sandbox.root().parent().unwrap().display().to_string());
    let order = Order::new(&["replay", "r1", "--yes"], (&EXPLORE, 0));
    Order { env: vec![home], retry: Retry::Again, is_a_replay: true, ..order }
}
