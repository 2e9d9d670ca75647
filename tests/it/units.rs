//! Units and sub-agents: one state each, shown where they belong, and reported by whoever works on them.

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, run};

const FORK: &str =
    "stateDiagram-v2\n[*] --> detect\ndetect --> charter\ndetect --> prd\ncharter --> [*]\nprd --> [*]\n";

fn emit(sandbox: &Sandbox, workflow: &str, step: &str, status: &str, more: &[&str]) -> Answer {
    let data = json!({ "status": status }).to_string();
    let args = ["emit", "--workflow", workflow, "--run-id", "r1", "--type", "status_change", "--step", step];
    sandbox.flow(args.iter().chain(&["--data", &data]).chain(more))
}

fn units(sandbox: &Sandbox) -> Vec<(String, String, String, String)> {
    let shown = sandbox.flow(["show", "r1", "--json"]).ok().json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all = Vec::new();
    for step in shown["steps"].as_array().unwrap() {
        for unit in step["units"].as_array().unwrap() {
            all.push((text(&step["step"]), text(&unit["unit"]), text(&unit["step"]), text(&unit["status"])));
        }
    }
    all
}

fn row(below: &str, unit: &str, step: &str, status: &str) -> (String, String, String, String) {
    (below.to_owned(), unit.to_owned(), step.to_owned(), status.to_owned())
}

#[test]
fn a_unit_is_in_one_state_and_what_comes_before_the_first_phase_is_shown() {
    let sandbox = Sandbox::new();
    emit(&sandbox, "build", "task-builder:building", "running", &["--unit", "T1"]).ok();
    assert_eq!(units(&sandbox), [row("task-builder:building", "T1", "task-builder:building", "running")]);
    emit(&sandbox, "build", "requirements", "running", &[]).ok();
    assert_eq!(units(&sandbox), [row("requirements", "T1", "task-builder:building", "running")]);
    emit(&sandbox, "build", "task-builder:completed", "completed", &["--unit", "T1"]).ok();
    emit(&sandbox, "build", "design", "running", &["--unit", "T2"]).ok();
    assert_eq!(
        units(&sandbox),
        [row("requirements", "T1", "task-builder:completed", "completed"), row("design", "T2", "design", "running")]
    );
}

#[test]
fn the_end_of_a_run_says_which_units_are_open() {
    let sandbox = Sandbox::new();
    for step in ["plan", "build"] {
        emit(&sandbox, "build-fast", step, "running", &[]).ok();
    }
    emit(&sandbox, "build-fast", "build", "failed", &["--unit", "T1"]).ok();
    let answer = emit(&sandbox, "build-fast", "review", "completed", &[]).ok().json();
    let warnings = answer["data"]["warnings"].to_string();
    insta::assert_snapshot!(warnings, @r#"["the run is completed without a report that `build` is done","the run is completed while these are not done: T1 (failed in build)"]"#);
    let started = sandbox.start("debug");
    sandbox.record(&started, "preflight", "x");
    let report = ["emit", "--workflow", "debug", "--type", "status_change", "--run-id", &started, "--unit", "T2"];
    sandbox.flow(report.iter().chain(&["--step", "preflight", "--data", r#"{"status":"running"}"#])).ok();
    let done = sandbox.flow(["complete", &started, "--skip-reason", "enough", "--json"]).ok().json();
    assert!(done["warnings"].to_string().contains("T2 (running in preflight)"), "{done}");
}

#[test]
fn a_sub_agent_with_a_session_of_its_own_reports_its_units_but_not_the_steps() {
    let sandbox = Sandbox::new();
    let mut holder = sandbox.command("sleep").arg("60").spawn().unwrap();
    let as_session = |session: &str, token: &str, pid: u32, args: &[&str]| {
        let mut command = sandbox.flow_command();
        command.env("FLOW_SESSION", session).env("FLOW_RUN_TOKEN", token).env("FLOW_HOLDER_PID", pid.to_string());
        command.args(args);
        run(command, "")
    };
    let base = ["emit", "--workflow", "build", "--run-id", "r1", "--type", "status_change"];
    let step = |step: &'static str| [&base[..], &["--step", step, "--data", r#"{"status":"running"}"#]].concat();
    // The holder is not an ancestor of the reporter: only the token tells that they belong together.
    let first = as_session("boss", "", holder.id(), &step("requirements")).ok().json();
    let token = first["data"]["runToken"].as_str().unwrap().to_owned();
    let refused = as_session("helper", "", holder.id(), &step("task-builder:building")).exits(5);
    insta::assert_snapshot!(refused.stderr, @r"
    Error: run r1: session boss holds the run
      help: a sub-agent reports its own work, with --unit or --step AGENT:STATE, from a process of that session or with its FLOW_RUN_TOKEN; the steps of the run are reported by the session itself
    ");
    as_session("helper", "wrong", holder.id(), &step("task-builder:building")).exits(5);
    as_session("helper", &token, holder.id(), &step("task-builder:building")).ok();
    as_session("helper", &token, holder.id(), &step("design")).exits(5);
    assert!(!sandbox.read("r1", "events.jsonl").contains(&token), "the log keeps a digest");
    assert_eq!(sandbox.flow(["show", "r1", "--json"]).ok().json()["state"]["session"], "boss");
    holder.kill().unwrap();
    holder.wait().unwrap();
    // Below the holder's process no token is needed: here that is the process of this test.
    let own = std::process::id();
    as_session("lead", "", own, &["start", "debug", "--id", "r2"]).ok();
    let of_r2 = ["emit", "--workflow", "debug", "--run-id", "r2", "--type", "status_change", "--step", "preflight"];
    let unit = [&of_r2[..], &["--unit", "T1", "--data", r#"{"status":"running"}"#]].concat();
    as_session("helper", "", own, &unit).ok();
    as_session("helper", "", own, &[&of_r2[..], &["--data", r#"{"status":"running"}"#]].concat()).exits(5);
    // A run that no session holds needs no token.
    assert_eq!(sandbox.flow(["start", "debug", "--json"]).ok().json().get("token"), None);
}

#[test]
fn a_second_alternative_warns_and_the_end_says_what_keeps_the_run_open() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    std::fs::write(sandbox.path(".flow/workflows/either.mmd"), FORK).unwrap();
    let warnings = |answer: Answer| answer.ok().json()["data"]["warnings"].clone();
    for step in ["detect", "charter"] {
        assert_eq!(warnings(emit(&sandbox, "either", step, "running", &[])), json!([]));
    }
    let told = warnings(emit(&sandbox, "either", "prd", "running", &[]));
    let told = told[0].as_str().unwrap();
    assert!(told.starts_with("`prd` was entered beside `charter`, which is not done."), "{told}");
    let told = warnings(emit(&sandbox, "either", "prd", "completed", &[]));
    assert_eq!(told, json!(["the run stays open, since these steps are not at an end: `charter` (running)"]));
    let end = emit(&sandbox, "either", "charter", "skipped", &[]).ok().json();
    assert_eq!(end["data"]["runStatus"], "completed", "{end}");
}

#[test]
fn an_artifact_is_registered_after_the_end_and_nothing_else_is() {
    let sandbox = Sandbox::new();
    for (step, status) in [("plan", "running"), ("build", "running"), ("review", "completed")] {
        emit(&sandbox, "build-fast", step, status, &[]).ok();
    }
    let late = ["emit", "--workflow", "build-fast", "--run-id", "r1", "--step", "review", "--type"];
    let artifact = ["artifact_registered", "--data", r#"{"path":"out/report.md"}"#];
    sandbox.flow(late.iter().chain(&artifact)).ok();
    let shown = sandbox.flow(["show", "r1", "--json"]).ok().json();
    assert_eq!(
        (&shown["artifacts"][0]["path"], &shown["state"]["status"]),
        (&json!("out/report.md"), &json!("completed"))
    );
    sandbox.flow(late.iter().chain(&["waiting_for_user", "--data", r#"{"prompt":"more?"}"#])).exits(1);
    emit(&sandbox, "build-fast", "review", "running", &[]).exits(1);
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn runs_are_found_by_what_they_do_and_what_they_are_about() {
    let sandbox = Sandbox::new();
    let emit = |id: &str, status: &str, feature: &str| {
        let data = json!({ "status": status, "feature": feature }).to_string();
        let args = ["emit", "--workflow", "build-fast", "--run-id", id, "--type", "status_change", "--step", "plan"];
        sandbox.flow(args.iter().chain(&["--data", &data])).ok();
    };
    emit("failing", "failed", "checkout");
    emit("resting", "waiting", "search");
    emit("asking", "running", "");
    // What is said later counts as well, once.
    emit("asking", "running", "search");
    emit("asking", "running", "other");
    let ask = ["emit", "--workflow", "build-fast", "--run-id", "asking", "--type", "waiting_for_user"];
    sandbox.flow(ask.iter().chain(&["--data", r#"{"prompt":"which?"}"#])).ok();
    let ids = |args: &[&str]| -> Vec<String> {
        let report = sandbox.flow(["list", "--json"].iter().chain(args)).ok().json();
        report["runs"].as_array().unwrap().iter().map(|run| run["run_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&["--status", "failing"]), ["failing"]);
    assert_eq!(ids(&["--status", "waiting"]), ["resting"]);
    assert_eq!(ids(&["--status", "question"]), ["asking"]);
    assert_eq!(ids(&["--status", "asking"]), ["asking"]);
    assert_eq!(ids(&["--status", "active"]).len(), 3);
    assert_eq!(ids(&["--feature", "search"]), ["asking", "resting"]);
    assert_eq!(ids(&["--search", "CHECK"]), ["failing"]);
    sandbox.flow(["start", "debug", "--issue", "77"]).ok();
    assert_eq!(ids(&["--search", "#77"]).len(), 1);
    let page = sandbox.flow(["list", "--feature", "checkout"]).ok().stdout;
    assert_eq!(page, "build-fast  failing  failing  plan 1/3  15 s  plan failed\n");
    let none = sandbox.flow(["list", "--feature", "nothing"]).ok();
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "no run matches\n"));
    for (option, typed, meant) in [("workflow", "debgu", "debug"), ("feature", "checkuot", "checkout")] {
        let none = sandbox.flow(["list", &format!("--{option}"), typed]).ok();
        assert_eq!(none.stderr, format!("no run matches; did you mean `--{option} {meant}`?\n"));
    }
    // The name is there, and has no such run.
    assert_eq!(sandbox.flow(["list", "--workflow", "debug", "--status", "failed"]).ok().stderr, "no run matches\n");
    for id in ["failing", "resting", "asking"] {
        sandbox.flow(["verify", id]).ok();
    }
}

#[test]
fn of_two_open_questions_an_answer_names_one() {
    let sandbox = Sandbox::new();
    emit(&sandbox, "build-fast", "plan", "running", &[]).ok();
    let base = ["emit", "--workflow", "build-fast", "--run-id", "r1", "--type"];
    for unit in ["T1", "T2"] {
        sandbox.flow(base.iter().chain(&["waiting_for_user", "--unit", unit, "--data", r#"{"prompt":"go?"}"#])).ok();
    }
    let resumed = sandbox.flow(["resume", "r1", "--json"]).exits(4).json();
    assert_eq!(resumed["next"]["alternatives"].as_array().unwrap().len(), 2, "one for each question");
    let answer = ["user_answered", "--data", r#"{"answer":"yes"}"#];
    let refused = sandbox.flow(base.iter().chain(&answer)).exits(1);
    insta::assert_snapshot!(refused.stderr, @r"
    Error: run r1: 2 questions are open: --step plan --unit T1, --step plan --unit T2
      help: say which one is answered with --step and --unit
    ");
    sandbox.flow(base.iter().chain(&answer).chain(&["--unit", "T1"])).ok();
    sandbox.flow(base.iter().chain(&answer)).ok();
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).json()["verdict"], "reconcile");
}

#[test]
fn a_refusal_that_rests_on_an_older_definition_says_so() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let file = sandbox.path(".flow/workflows/either.mmd");
    std::fs::write(&file, FORK).unwrap();
    emit(&sandbox, "either", "detect", "running", &[]).ok();
    std::fs::write(&file, FORK.replace("prd", "brief")).unwrap();
    let refused = emit(&sandbox, "either", "brief", "running", &[]).exits(1).stderr;
    insta::assert_snapshot!(refused, @r#"
    Error: step "brief" is not a valid state in the "either" state machine. Valid states: [detect, charter, prd]. Current state: "detect". Valid transitions from "detect": [charter, prd].
      help: from here: charter, prd; the run follows the definition that it started with, and today's is another one: `flow workflow adopt r1` moves it over
    "#);
    sandbox.flow(["start", "either", "--id", "r2"]).ok();
    std::fs::write(&file, FORK).unwrap();
    let record = ["record-activity", "--run-id", "r2", "--phase", "prd", "--id", "x"];
    insta::assert_snapshot!(sandbox.flow(record).exits(1).stderr, @r"
    error: run r2: the workflow has no phase `prd`
      help: The phases are detect, charter, brief; the run follows the definition that it started with, and today's is another one: `flow workflow adopt r2` moves it over
    ");
}

#[test]
fn an_answer_that_fits_the_questions_of_two_units_is_refused_and_the_unit_decides() {
    let sandbox = Sandbox::new();
    for step in ["plan", "build"] {
        emit(&sandbox, "build-fast", step, "running", &[]).ok();
    }
    let report = |kind: &str, data: Value, more: &[&str]| {
        let (kind, data) = (kind.to_owned(), data.to_string());
        let args = ["emit", "--workflow", "build-fast", "--run-id", "r1", "--step", "build", "--type", &kind];
        sandbox.flow(args.iter().chain(&["--data", &data]).chain(more))
    };
    for unit in ["T1", "T2"] {
        report("waiting_for_user", json!({ "prompt": format!("may {unit}?") }), &["--unit", unit]).ok();
    }
    let refused = report("user_answered", json!({ "answer": "yes" }), &[]).exits(1).stderr;
    insta::assert_snapshot!(refused, @r"
    Error: run r1: 2 questions are open: --step build --unit T1, --step build --unit T2
      help: say which one is answered with --step and --unit
    ");
    report("user_answered", json!({ "answer": "yes" }), &["--unit", "T1"]).ok();
    // The only question that is left is meant.
    report("user_answered", json!({ "answer": "no" }), &[]).ok();
    let last = sandbox.events("r1").pop().unwrap();
    assert_eq!((&last["reports"][0]["unit"], &last["reports"][0]["data"]["answer"]), (&json!("T2"), &json!("no")));
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).ok().json()["verdict"], "reconcile");
}

#[test]
fn a_unit_that_an_agent_and_the_step_report_is_one_unit() {
    let sandbox = Sandbox::new();
    for step in ["requirements", "design", "tasks", "build"] {
        emit(&sandbox, "build", step, "running", &[]).ok();
    }
    emit(&sandbox, "build", "task-builder:building", "running", &["--unit", "T1"]).ok();
    emit(&sandbox, "build", "build", "completed", &["--unit", "T1"]).ok();
    assert_eq!(units(&sandbox), [row("build", "T1", "build", "completed")]);
}

#[test]
fn a_report_that_leaves_work_undone_is_taken_with_a_warning_that_says_what() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let diagram = "stateDiagram-v2\n[*] --> preflight\npreflight --> confirm\nconfirm --> merge\nmerge --> [*]\n";
    std::fs::write(sandbox.path(".flow/workflows/own.mmd"), diagram).unwrap();
    let id = sandbox.start("own");
    sandbox.record(&id, "preflight", "preflight");
    let blocked = ["record-activity", "--phase", "confirm", "--id", "ask", "--status", "blocked", "--summary", "who?"];
    sandbox.flow(blocked).ok();
    let report = |status: &str| {
        let data = json!({ "status": status }).to_string();
        let args = ["emit", "--workflow", "own", "--run-id", &id, "--type", "status_change", "--step", "merge"];
        sandbox.flow(args.iter().chain(&["--data", &data])).ok().json()["data"]["warnings"].clone()
    };
    assert_eq!(report("running"), json!(["the run goes on, and `confirm` is not done: 002 ask is blocked"]));
    assert_eq!(report("completed"), json!(["the run is completed, and `confirm` is not done: 002 ask is blocked"]));
    let notes = sandbox.flow(["resume", &id, "--json"]).ok().json()["notes"].to_string();
    insta::assert_snapshot!(notes, @r#"["`confirm` is not done: 002 ask is blocked"]"#);
}

#[test]
fn an_answer_from_a_unit_that_asked_nothing_is_refused() {
    let sandbox = Sandbox::new();
    emit(&sandbox, "build", "requirements", "running", &[]).ok();
    let report = |kind: &str, data: &str, unit: &str| {
        let args = ["emit", "--workflow", "build", "--run-id", "r1", "--type", kind, "--data", data, "--unit", unit];
        sandbox.flow(args)
    };
    report("waiting_for_user", r#"{"prompt":"may I?"}"#, "T1").ok();
    report("user_answered", r#"{"answer":"x"}"#, "T9").exits(1);
    report("user_answered", r#"{"answer":"x"}"#, "T1").ok();
}

#[test]
fn alternatives_end_the_run_in_whatever_order_they_are_settled() {
    for (first, second) in [("charter completed", "prd skipped"), ("prd skipped", "charter completed")] {
        let sandbox = Sandbox::new();
        sandbox.flow(["init"]).ok();
        std::fs::write(sandbox.path(".flow/workflows/either.mmd"), FORK).unwrap();
        let report = |report: &str| {
            let (step, status) = report.split_once(' ').unwrap();
            emit(&sandbox, "either", step, status, &[]).ok().json()["data"]["runStatus"].clone()
        };
        for step in ["detect running", "prd running", "charter running"] {
            report(step);
        }
        assert_eq!(report(first), "running", "{first}");
        assert_eq!(report(second), "completed", "{second}");
    }
}

#[test]
fn units_that_are_not_done_are_told_of_and_their_questions_are_not_closed_in_silence() {
    let sandbox = Sandbox::new();
    for step in ["plan", "build"] {
        emit(&sandbox, "build-fast", step, "running", &[]).ok();
    }
    emit(&sandbox, "build-fast", "build", "waiting", &["--unit", "T1"]).ok();
    emit(&sandbox, "build-fast", "build", "failed", &["--unit", "T2"]).ok();
    let notes = sandbox.flow(["resume", "r1", "--json"]).exits(4).json()["notes"].clone();
    assert_eq!(notes, json!(["not finished: T1 (waiting in build), T2 (failed in build)"]));
    let asks = ["emit", "--workflow", "build-fast", "--run-id", "r1", "--type", "waiting_for_user", "--step", "build"];
    sandbox.flow(asks.iter().chain(&["--unit", "T1", "--data", r#"{"prompt":"may I?"}"#])).ok();
    let failed = emit(&sandbox, "build-fast", "build", "failed", &[]).ok().json();
    assert_eq!(failed["data"]["warnings"], json!(["the work goes on, and `build` (T1) got no answer to: may I?"]));
    emit(&sandbox, "build-fast", "review", "completed", &[]).ok();
    let done = sandbox.flow(["resume", "r1", "--json"]).ok().json()["notes"].to_string();
    insta::assert_snapshot!(done, @r#"["`build` is not done: 002 build failed","not finished when the run ended: T1 (waiting in build), T2 (failed in build)"]"#);
    let late = emit(&sandbox, "build-fast", "build", "completed", &["--unit", "T1"]).exits(1).stderr;
    insta::assert_snapshot!(late, @r#"
    Error: step "build" is not a valid transition in the "build-fast" state machine. Current state: "review". Valid transitions from "review": [].
      help: run r1 is over; `flow reopen r1 --reason 'TEXT'` lets it go on, and another --run-id begins another run
    "#);
}

#[test]
fn a_run_in_which_only_units_report_is_completed_when_all_of_them_are() {
    let sandbox = Sandbox::new();
    let report = |step: &str, status: &str, unit: &str| {
        emit(&sandbox, "task-builder", step, status, &["--unit", unit]).ok();
    };
    let resume = || sandbox.flow(["resume", "r1", "--json"]).ok().json();
    report("building", "running", "T1");
    report("building", "running", "T2");
    report("completed", "completed", "T1");
    let units = json!([
        { "step": "completed", "unit": "T1", "status": "completed" },
        { "step": "building", "unit": "T2", "status": "running" },
    ]);
    let open = resume();
    assert_eq!((&open["units"], &open["next"]["action"]), (&units, &json!("start_phase")), "{open}");
    assert_eq!(open["reason"], "only units report; not done: T2 (running in building)");
    let refused = sandbox.flow(["complete", "r1", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "units_not_done", "{refused}");
    assert_eq!(refused["message"], "run r1: these are not done: T2 (running in building)");
    report("failed", "skipped", "T2");
    let done = resume();
    assert_eq!(done["next"]["action"], "complete", "{done}");
    assert_eq!(done["next"]["command"], Value::Null, "completing a run is a decision");
    assert_eq!(done["next"]["alternatives"][0]["command"], "flow complete r1");
    assert_eq!(sandbox.flow(["complete", "r1", "--json"]).ok().json()["warnings"], json!([]));
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).ok().json()["verdict"], "done");
    sandbox.assert_sound("r1");
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn a_run_in_which_only_a_sub_agent_reports_ends_with_its_work() {
    let sandbox = Sandbox::new();
    emit(&sandbox, "build", "task-builder:building", "running", &[]).ok();
    assert_eq!(sandbox.flow(["complete", "r1", "--json"]).exits(1).error()["code"], "units_not_done");
    emit(&sandbox, "build", "task-builder:completed", "completed", &[]).ok();
    sandbox.flow(["complete", "r1"]).ok();
    // Where nothing is done, there is nothing to complete.
    let idle =
        ["emit", "--workflow", "build", "--run-id", "r2", "--type", "btw_update", "--data", r#"{"message":"m"}"#];
    sandbox.flow(idle).ok();
    assert_eq!(sandbox.flow(["complete", "r2", "--json"]).exits(1).error()["code"], "nothing_recorded");
}

#[test]
fn resume_shows_the_units_of_a_run_those_that_are_open_first() {
    let sandbox = Sandbox::new();
    for step in ["plan", "build"] {
        emit(&sandbox, "build-fast", step, "running", &[]).ok();
    }
    for nth in 1..=21 {
        emit(&sandbox, "build-fast", "build", "completed", &["--unit", &format!("T{nth:02}")]).ok();
    }
    emit(&sandbox, "build-fast", "task-builder:building", "running", &["--unit", "T99"]).ok();
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(resumed["units"].as_array().unwrap().len(), 22);
    let page = sandbox.flow(["resume", "r1"]).ok().stdout;
    let units = page.lines().skip_while(|line| *line != "  units").skip(1);
    let units: Vec<_> = units.take_while(|line| line.starts_with("    ")).collect();
    assert_eq!(units[0], "    T99  task-builder:building  running", "{page}");
    assert_eq!(units[1], "    T01  build                  completed", "{page}");
    assert_eq!(units[20], "    … and 2 more; `flow show` has every one", "{page}");
    // A run without units has none, and says nothing of them.
    sandbox.flow(["start", "debug", "--id", "r2"]).ok();
    assert_eq!(sandbox.flow(["resume", "r2", "--json"]).ok().json()["units"], json!([]));
    assert!(!sandbox.flow(["resume", "r2"]).ok().stdout.contains("units"));
}

#[test]
fn a_step_of_an_agent_without_its_name_is_told_with_it() {
    let sandbox = Sandbox::new();
    let help = |workflow: &str, run: &str, step: &str| {
        let args = ["emit", "--workflow", workflow, "--run-id", run, "--type", "status_change", "--step", step];
        let more = ["--unit", "T1", "--data", r#"{"status":"running"}"#, "--json"];
        sandbox.flow(args.iter().chain(&more)).exits(1).error()["help"].as_str().unwrap().to_owned()
    };
    // Before the run exists, and when it does.
    assert!(help("build", "r1", "building").starts_with("did you mean `task-builder:building`? "));
    emit(&sandbox, "build", "requirements", "running", &[]).ok();
    assert!(help("build", "r1", "building").starts_with("did you mean `task-builder:building`? "));
    assert!(help("build", "r1", "verifying").starts_with("did you mean `feature-verifier:verifying`? "));
    // A state of another skill is not an agent's, and what several agents have is not guessed.
    assert!(!help("build", "r1", "clarify").contains("clarify"));
    let agents = sandbox.path(".claude/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let agent = |state: &str| {
        format!("# A\n\n## STATE-MACHINE\n\n```mermaid\nstateDiagram-v2\n[*] --> {state}\n{state} --> [*]\n```\n")
    };
    for name in ["painter", "drawer"] {
        std::fs::write(agents.join(format!("{name}.md")), agent(if name == "painter" { "paints" } else { "draws" }))
            .unwrap();
    }
    assert!(help("build", "r1", "paints").starts_with("did you mean `painter:paints`? "));
    std::fs::write(agents.join("drawer.md"), agent("paints")).unwrap();
    assert!(!help("build", "r1", "paints").contains("painter:paints"));
}

#[test]
fn an_unknown_state_of_a_known_agent_is_refused_like_any_other() {
    let sandbox = Sandbox::new();
    emit(&sandbox, "build", "requirements", "running", &[]).ok();
    let events = sandbox.events("r1").len();
    let refused = emit(&sandbox, "build", "task-builder:bilding", "running", &["--unit", "T1", "--json"]);
    let refused = refused.exits(1).error();
    assert_eq!(refused["code"], "unknown_step");
    let message = "step \"task-builder:bilding\" is not a valid state in the \"task-builder\" state machine. Valid states: \
                   [building, completed, failed].";
    assert_eq!(refused["message"], message);
    let help = "did you mean `task-builder:building`? `flow workflow show task-builder` shows the states";
    assert_eq!(refused["help"], help);
    // In a batch, for a parent step, and as the first report of a run as well.
    let unknown = json!({ "type": "status_change", "step": "task-builder:nonsense", "data": { "status": "running" } });
    let parent = json!({ "type": "subflow_registered", "step": "requirements",
        "data": { "parentStepId": "task-builder:nonsense", "subflowName": "x" } });
    for report in [&unknown, &parent] {
        for run in ["r1", "r2"] {
            let batch = json!([report]).to_string();
            let batch = ["emit", "--workflow", "build", "--run-id", run, "--batch", &batch, "--json"];
            assert_eq!(sandbox.flow(batch).exits(1).error()["code"], "unknown_step", "{run}: {report}");
        }
    }
    assert_eq!(sandbox.events("r1").len(), events, "something was written");
    assert!(!sandbox.run_dir("r2").exists());
    // Of an agent that nobody defined nothing is known.
    let stranger = emit(&sandbox, "build", "stranger:at-work", "running", &[]).ok().json();
    assert_eq!(stranger["data"]["warnings"], json!([]));
}

#[test]
fn a_unit_that_waits_is_what_resume_and_attention_answer_in_its_own_words() {
    for step in ["preflight", "task-builder:building"] {
        let sandbox = Sandbox::new();
        sandbox.flow(["start", "debug", "--id", "r1"]).ok();
        emit(&sandbox, "debug", "preflight", "running", &[]).ok();
        let waits = r#"{"status":"waiting","message":"need the key of staging"}"#;
        let report = ["emit", "--workflow", "debug", "--run-id", "r1", "--type", "status_change", "--data", waits];
        sandbox.flow(report.iter().chain(&["--step", step, "--unit", "T1"])).ok();
        let reason = format!("unit T1 of `{step}` waits: need the key of staging");
        let resumed = sandbox.flow(["resume", "r1", "--json"]).exits(4).json();
        assert_eq!((&resumed["verdict"], &resumed["reason"]), (&json!("needs_human"), &json!(reason)));
        assert_eq!(resumed["units"][0]["message"], "need the key of staging");
        let card = sandbox.flow(["attention", "--json"]).ok().json()["runs"][0].clone();
        let told = (&card["group"], &card["need"], &card["verdict"], &card["reason"], &card["cause"]["text"]);
        let wanted = (&json!("waits"), &json!("blocked"), &resumed["verdict"], &json!(reason));
        assert_eq!((told.0, told.1, told.2, told.3), wanted, "{card}");
        assert_eq!(told.4, "need the key of staging");
        for shows in
            [&["resume", "r1"][..], &["attention"], &["wait", "--timeout", "0"], &["hud"], &["list"], &["show"]]
        {
            let said = sandbox.flow(shows).stdout;
            assert!(said.contains("need the key of staging"), "{shows:?}: {said}");
        }
        let report = sandbox.flow(["report", "r1"]).ok().stdout;
        assert!(report.contains(&format!("- unit `T1` in `{step}` waiting: `need the key of staging`\n")), "{report}");
        // Each way that it proposes settles the unit, and then the step is what is to be done.
        let ways = resumed["next"]["alternatives"].as_array().unwrap();
        let line = ways[1]["command"].as_str().unwrap().replacen("flow", env!("CARGO_BIN_EXE_flow"), 1);
        let mut shell = sandbox.command("sh");
        shell.args(["-c", &line]);
        run(shell, "").ok();
        let after = sandbox.flow(["resume", "r1", "--json"]).ok().json();
        assert_eq!((&after["verdict"], &after["units"][0]["status"]), (&json!("reconcile"), &json!("completed")));
    }
}
