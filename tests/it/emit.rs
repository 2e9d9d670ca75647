//! Reports on steps (rp1): what is accepted, what follows, and where it leaves the run.

use std::thread;

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox};

const SIX: &str = "requirements design tasks build verify archive";

/// A diagram: `a > b` is a transition, `*` stands for begin and end.
fn diagram(ways: &str) -> String {
    let arrows = ways.split(',').map(|way| way.trim().replace('*', "[*]").replace('>', "-->"));
    format!("stateDiagram-v2\n{}\n", arrows.collect::<Vec<_>>().join("\n"))
}

/// The workflows of the tables below.
fn machine(name: &str) -> String {
    diagram(match name {
        "six" => {
            "* > requirements, requirements > design, design > tasks, tasks > build, build > verify, verify > build, \
             verify > archive, archive > *"
        }
        "line" => "* > plan, plan > build, build > verify, verify > *",
        "one" => "* > only, only > *",
        "fork" => "* > detect, detect > charter, detect > prd, charter > prd, prd > *",
        "doors" => "* > a, * > b, a > c, b > c, c > *",
        "loop" => "* > plan, plan > plan, plan > done, done > *",
        "branches" => "* > plan, plan > code, plan > docs, code > join, docs > join, join > *",
        "forks" => "* > plan, plan > code, plan > docs, code > *, docs > end, end > *",
        "agent" => "* > building, building > completed, building > failed, completed > *, failed > *",
        "scripts" => "* > готово, готово > 完了, 完了 > *",
        other => panic!("no machine {other}"),
    })
}

struct Project(Sandbox);

impl Project {
    fn new(workflow: &str) -> Self {
        let sandbox = Sandbox::new();
        sandbox.flow(["init"]).ok();
        std::fs::write(sandbox.path(format!(".flow/workflows/{workflow}.mmd")), machine(workflow)).unwrap();
        Self(sandbox)
    }

    fn emit(&self, workflow: &str, more: &[&str]) -> Answer {
        let args = ["emit", "--workflow", workflow, "--run-id", "r1"];
        self.0.flow(args.iter().chain(more))
    }

    /// `step@unit status`.
    fn status(&self, workflow: &str, report: &str) -> Answer {
        let (step, status) = report.rsplit_once(' ').expect("a step and a status");
        let data = json!({ "status": status }).to_string();
        let (step, unit) = step.split_once('@').map_or((step, None), |(step, unit)| (step, Some(unit)));
        let mut more = vec!["--type", "status_change", "--step", step, "--data", &data];
        more.extend(unit.iter().flat_map(|unit| ["--unit", unit]));
        self.emit(workflow, &more)
    }
}

/// A line is a report and what comes of it: the status of the run with the steps completed by it, or `!` and words of the
/// refusal.
fn holds(workflow: &str, lines: &str) {
    let project = Project::new(workflow);
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (report, wanted) = line.split_once("=>").expect("a report and an outcome");
        let answer = project.status(workflow, report.trim());
        if let Some(words) = wanted.trim().strip_prefix('!') {
            assert_eq!(answer.code, Some(1), "{workflow}: {line}: {answer:?}");
            for word in words.split_whitespace() {
                assert!(answer.stderr.contains(word), "{workflow}: {line}: no {word} in {}", answer.stderr);
            }
            continue;
        }
        let data = answer.ok().json()["data"].clone();
        let mut wanted = wanted.split_whitespace();
        assert_eq!(data["runStatus"], wanted.next().unwrap(), "{workflow}: {line}");
        assert_eq!(data["completedPredecessors"], json!(wanted.collect::<Vec<_>>()), "{workflow}: {line}");
    }
    if project.0.runs().is_empty() {
        return;
    }
    project.0.assert_sound("r1");
    project.0.flow(["verify", "r1"]).ok();
    let findings = project.0.flow(["doctor", "--json"]).ok().json()["findings"].clone();
    assert_eq!(findings, json!([]), "{workflow}: {lines}");
}

#[test]
fn a_run_follows_the_transitions_of_its_workflow() {
    holds(
        "six",
        "design running => ! design cannot start requirements
         requirements running => running
         tasks running => ! tasks requirements design
         design running => running requirements
         biulding running => ! biulding build
         Design running => ! Design did you mean `design`?
         tasks running => running design
         build running => running tasks
         verify running => running build
         verify failed => failed
         build running => running
         verify running => running build
         archive completed => completed
         archive completed => completed
         requirements running => ! requirements archive",
    );
    holds("doors", "c running => ! c a, b\nb running => running\na running => ! a c\nc running => running b");
    holds("fork", "detect running => running\nprd running => running detect\nprd completed => completed");
    holds(
        "scripts",
        "готово running => running\nготово@задача\u{a0}1 completed => running\n完了 running => running готово",
    );
}

#[test]
fn a_step_may_be_reported_again_and_go_back_and_forth() {
    holds("one", "only running => running\nonly running => running\nonly completed => completed");
    holds(
        "loop",
        "plan running => running\nplan running => running\nplan completed => running\ndone running => running\ndone completed => completed",
    );
    holds(
        "line",
        "plan running => running\nplan completed => running\nplan running => running\nplan not_started => running",
    );
    holds("line", "plan running => running\nplan not_started => not_started\nplan running => running");
    holds(
        "line",
        "plan waiting => waiting\nbuild running => running plan\nverify running => running build\nverify failed => failed\nverify running => running\nverify completed => completed",
    );
}

#[test]
fn only_the_begin_of_a_step_completes_its_direct_predecessors() {
    holds("line", "plan running => running\nbuild completed => running\nverify running => running");
    holds("line", "plan running => running\nbuild waiting => running\nverify running => running build");
    holds("line", "plan running => running\nbuild failed => failed");
    holds("line", "plan running => running\nbuild skipped => running\nverify running => running");
    holds("line", "plan running => running\nplan completed => running\nbuild running => running");
    holds("line", "plan running => running\nbuild@T1 running => running\nbuild running => running plan");
}

#[test]
fn parallel_branches_need_no_fork() {
    holds(
        "branches",
        "plan running => running
         code running => running plan
         docs running => running
         join running => running code docs
         join completed => completed",
    );
    // The branch that nobody entered yet may follow when the other one is done, and a way back is no branch.
    holds(
        "branches",
        "plan running => running\ncode completed => running\ndocs running => running plan\njoin running => running docs\ncode running => ! code join",
    );
    holds(
        "six",
        "requirements running => running\ndesign running => running requirements\nrequirements running => ! requirements design tasks",
    );
    // A branch that failed keeps the run from being completed.
    holds(
        "forks",
        "plan running => running\ncode running => running plan\ndocs running => running\ncode completed => running
         docs failed => failed\ndocs completed => running\nend running => running\nend completed => completed",
    );
    let project = Project::new("branches");
    for report in ["plan running", "code running", "docs running", "docs completed"] {
        project.status("branches", report).ok();
    }
    let run = project.0.read("r1", "run.yaml");
    assert!(run.contains("  current_phase: docs\n") && run.contains("  other_phases:\n    - code\n"), "{run}");
    let answer = project.0.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!((&answer["verdict"], &answer["in_doubt"][0]["id"]), (&json!("reconcile"), &json!("code")));
}

#[test]
fn units_and_sub_agents_do_not_move_the_run() {
    holds(
        "line",
        "plan running => running
         build@T1 running => running
         verify@T2 running => ! verify plan build
         verify@T1 running => running
         plan@T1 running => running
         verify@T1 running => ! verify plan build
         build running => running plan
         build@T1 failed => running
         task-builder:building@T1 running => running
         task-builder:failed@T1 failed => running
         task-builder:completed@T1 completed => running
         a:b:c running => running
         verify running => running build",
    );
    // Without any step of its own a run is what its sub-agents are.
    holds("agent", "task-builder:completed@T1 completed => completed\ntask-builder:failed@T2 failed => failed");
    holds("agent", "task-reviewer:failed@T1 failed => failed\ntask-reviewer:completed@T1 completed => completed");
    let project = Project::new("line");
    project.status("line", "plan running").ok();
    for name in [":building", "building:", ":", "a::b"] {
        project.status("line", &format!("{name} running")).exits(2);
    }
    project
        .emit("line", &["--type", "status_change", "--step", "plan", "--unit", "", "--data", r#"{"status":"running"}"#])
        .exits(2);
    let refused = project.status("line", "task-builder:flying running").exits(1).stderr;
    insta::assert_snapshot!(refused, @r#"
    Error: step "task-builder:flying" is not a valid state in the "task-builder" state machine. Valid states: [building, completed, failed].
      help: `flow workflow show task-builder` shows the states
    "#);
    let hang = |parent: &str| {
        let data = json!({ "parentStepId": parent, "subflowName": "s" }).to_string();
        project.emit("line", &["--type", "subflow_registered", "--step", "plan", "--data", &data])
    };
    hang("plan").ok();
    insta::assert_snapshot!(hang("plam").exits(1).stderr, @r#"
    Error: step "plam" is not a valid state in the "line" state machine. Valid states: [plan, build, verify]. Current state: "plan". Valid transitions from "plan": [build].
      help: did you mean `plan`? from here: build
    "#);
}

#[test]
fn a_unit_goes_its_own_way_through_the_workflow() {
    // rp1's example of tracking tasks, in which nothing but units is reported.
    holds(
        "agent",
        "building@T1 running => not_started
         completed@T1 completed => not_started
         building@T2 running => not_started
         completed@T3 running => ! cannot start",
    );
}

#[test]
fn refusals_are_rp1s_sentences_to_the_letter() {
    let sandbox = Sandbox::new();
    let emit = |step: &str| {
        let args = ["emit", "--workflow", "build", "--type", "status_change", "--run-id", "r1", "--step", step];
        sandbox.flow(args.iter().chain(&["--data", r#"{"status": "running"}"#]))
    };
    let states = "[requirements, design, tasks, build, verify, archive]";
    let unknown = format!(
        "Error: step \"biulding\" is not a valid state in the \"build\" state machine. Valid states: {states}."
    );
    assert_eq!(emit("biulding").exits(1).stderr.lines().next(), Some(unknown.as_str()));
    assert!(!sandbox.path(".flow").exists(), "a refused first report left something behind");
    for step in SIX.split(' ').take(3) {
        emit(step).ok();
    }
    let known = format!("{unknown} Current state: \"tasks\". Valid transitions from \"tasks\": [build].");
    assert_eq!(emit("biulding").exits(1).stderr.lines().next(), Some(known.as_str()));
    let jump = "Error: step \"verify\" is not a valid transition in the \"build\" state machine. Current state: \"tasks\". \
                Valid transitions from \"tasks\": [build].";
    assert_eq!(emit("verify").exits(1).stderr.lines().next(), Some(jump));
    assert_eq!(
        sandbox.flow(["emit", "--run-id", "r1", "--workflow", "build"]).exits(2).stderr.lines().next(),
        Some("Error: --type is required")
    );
    let other = sandbox.flow([
        "emit", "--workflow", "debug", "--type", "btw_update", "--run-id", "r1", "--data", r#"{"message":"x"}"#,
    ]);
    insta::assert_snapshot!(other.exits(1).stderr, @r"
    Error: run r1: the run follows the workflow build, not debug
      help: report it with --workflow build, or to another run with --run-id
    ");
}

/// The commands of rp1's page as they stand there, but for the name of the program.
#[test]
fn rp1s_commands_do_what_its_page_says() {
    let sandbox = Sandbox::new();
    let shell = |script: &str| {
        let mut command = sandbox.command("sh");
        command.arg("-c").arg(script.replace("rp1 agent-tools", env!("CARGO_BIN_EXE_flow")));
        crate::support::run(command, "")
    };
    for step in ["requirements", "design", "tasks", "build", "verify"] {
        let report = format!(
            "rp1 agent-tools emit --workflow build --type status_change --run-id run-A --step {step} --data '{{\"status\": \"running\"}}'"
        );
        shell(&report).ok();
        if ["requirements", "design"].contains(&step) {
            shell(&report.replace("run-A", "run-B")).ok();
        }
    }
    // Run isolation: each is where its own reports say.
    let phase = |run: &str| sandbox.flow(["resume", run, "--json"]).ok().json()["phase"].clone();
    assert_eq!((phase("run-A"), phase("run-B")), (json!("verify"), json!("design")));
    // Predecessor auto-completion: its example, and the retry loop.
    let report = "rp1 agent-tools emit --workflow build --type status_change --run-id run-A \\\n--step build --data '{\"status\": \"running\"}'";
    assert_eq!(shell(report).ok().json()["data"]["completedPredecessors"], json!(["verify"]));
    // A sub-agent reports below the step, a unit within it.
    let agent = "rp1 agent-tools emit \\\n--workflow build \\\n--type status_change \\\n--run-id run-A \\\n--step task-builder:building \\\n\
                 --unit T1 \\\n--data '{\"status\": \"running\", \"feature\": \"my-feature\"}'";
    assert_eq!(shell(agent).ok().json()["data"]["warnings"], json!([]));
    let artifact = "rp1 agent-tools emit \\\n--workflow build \\\n--type artifact_registered \\\n--run-id run-A \\\n--step build \\\n\
                    --data '{\"path\": \"work/features/my-feature/tasks.md\", \"feature\": \"my-feature\"}'";
    shell(artifact).ok();
    let shown = sandbox.flow(["show", "run-A", "--json"]).ok().json();
    assert_eq!(shown["artifacts"][0]["path"], "work/features/my-feature/tasks.md");
    let build = shown["steps"].as_array().unwrap().iter().find(|step| step["step"] == "build").unwrap();
    assert_eq!(build["units"], json!([{ "step": "task-builder:building", "unit": "T1", "status": "running" }]));
}

#[test]
fn a_report_creates_the_run_and_answers_in_rp1s_shape() {
    let sandbox = Sandbox::new();
    let uuid = "550e8400-e29b-41d4-a716-446655440000";
    let args = ["emit", "--workflow", "build", "--type", "status_change", "--run-id", uuid, "--step", "requirements"];
    let data = r#"{"status": "running", "feature": "my-feature"}"#;
    let answer = sandbox.flow(args.iter().chain(&["--data", data, "--name", "my feature"])).ok().json();
    assert_eq!((&answer["success"], &answer["tool"]), (&json!(true), &json!("emit")));
    let data = &answer["data"];
    assert_eq!(
        (&data["runId"], &data["type"], &data["runStatus"]),
        (&json!(uuid), &json!("status_change"), &json!("running"))
    );
    assert_eq!((&data["completedPredecessors"], &data["created"]), (&json!([]), &json!(true)));
    assert_eq!(data["eventId"], sandbox.events(uuid)[1]["id"]);
    let shown = sandbox.flow(["show", uuid, "--json"]).ok().json();
    assert_eq!(shown["metadata"]["goal"], "my feature");
    assert_eq!(shown["steps"][0], json!({ "step": "requirements", "status": "running", "current": true, "units": [] }));
    assert_eq!(sandbox.flow(["list", "--json"]).ok().json()["runs"][0]["phase"], "requirements");
    sandbox.assert_sound(uuid);
}

#[test]
fn completing_a_step_records_its_activity_and_completing_the_last_one_ends_the_run() {
    let project = Project::new("line");
    for report in ["plan running", "build running", "verify completed"] {
        project.status("line", report).ok();
    }
    assert_eq!(project.0.activity_files("r1"), ["001-plan.yaml", "002-verify.yaml"]);
    let shown = project.0.flow(["show", "r1", "--json"]).ok().json();
    let statuses: Vec<_> = shown["steps"].as_array().unwrap().iter().map(|step| step["status"].clone()).collect();
    assert_eq!(statuses, ["completed", "running", "completed"]);
    assert_eq!(shown["state"]["status"], "completed");
    assert_eq!(project.0.flow(["resume", "r1", "--json"]).ok().json()["verdict"], "done");
    let update = project.emit("line", &["--type", "btw_update", "--data", r#"{"message":"too late"}"#]);
    insta::assert_snapshot!(update.exits(1).stderr, @r"
    Error: run r1: the run is completed; it accepts no more records
      help: go on with it: `flow reopen r1 --reason 'TEXT'`; or start another run with `flow start WORKFLOW`
    ");
}

#[test]
fn a_batch_that_does_not_fit_is_told_in_the_words_of_its_fields() {
    let sandbox = Sandbox::new();
    for (batch, told) in [
        (r#"[{"type": 5}]"#, "event 1 of the batch: `type` must be one of status_change, artifact_registered"),
        (r#"[{"typ": "x"}]"#, "event 1 of the batch: unknown field `typ`; the fields are type, step, unit, data"),
    ] {
        let refused = sandbox.flow(["emit", "--run-id", "r1", "--batch", batch]);
        assert!(refused.stderr.contains(told), "{}", refused.stderr);
    }
}

#[test]
fn an_error_of_a_batch_names_the_file_and_the_line() {
    let project = Project::new("line");
    project.status("line", "plan running").ok();
    let file = project.0.path("reports.jsonl");
    let good = r#"{"type":"status_change","step":"plan","data":{"status":"completed"}}"#;
    let wanted = "is neither a JSON array of events nor one line of JSON for each event: expected value";
    for (lines, told) in [
        (format!("{good}\nnope\n"), format!("reports.jsonl:2:2 {wanted}").replace("expected value", "expected ident")),
        (
            format!("{good}\n\n{{\"typ\":1}}\n"),
            "event 2 of the batch (reports.jsonl:3): unknown field `typ`".to_owned(),
        ),
        // One event, and what only the run refuses.
        (good.replace("plan", "nowhere"), "event 1 of the batch (reports.jsonl:1): ".to_owned()),
        (good.replace("completed", "over"), "event 1 of the batch (reports.jsonl:1): Invalid status value".to_owned()),
        (
            format!("[\n{good},\n{}]", good.replace("plan", "nowhere")),
            "event 2 of the batch (reports.jsonl:3): ".to_owned(),
        ),
    ] {
        std::fs::write(&file, &lines).unwrap();
        let refused = project.emit("line", &["--batch", "reports.jsonl"]);
        assert!(refused.stderr.starts_with(&format!("Error: {told}")), "{lines}: {}", refused.stderr);
        let piped = project.0.flow_with(["emit", "--workflow", "line", "--run-id", "r1", "--batch", "-"], &lines);
        let told = told.replace("reports.jsonl", "standard input");
        assert!(piped.stderr.starts_with(&format!("Error: {told}")), "{lines}: {}", piped.stderr);
    }
    std::fs::write(&file, b"{}\n\xff\n").unwrap();
    let refused = project.emit("line", &["--batch", "reports.jsonl"]).exits(1);
    assert!(refused.stderr.contains("line 2 is not UTF-8 text"), "{}", refused.stderr);
}

#[test]
fn a_batch_happens_wholly_or_not_at_all() {
    let project = Project::new("line");
    project.status("line", "plan running").ok();
    let report =
        |step: &str, status: &str| json!({ "type": "status_change", "step": step, "data": { "status": status } });
    let good = [report("build", "running"), report("verify", "running")];
    let bad = [report("build", "running"), report("plan", "running")];
    let before = project.0.read("r1", "events.jsonl");
    let refused = project.emit("line", &["--batch", &json!(bad).to_string()]).exits(1).stderr;
    assert!(refused.starts_with("Error: event 2 of the batch: "), "{refused}");
    insta::assert_snapshot!(refused, @r#"
    Error: event 2 of the batch: step "plan" is not a valid transition in the "line" state machine. Current state: "build". Valid transitions from "build": [verify].; nothing of the batch was recorded
      help: report one of these next: verify, or `build` again
    "#);
    let refused = project.emit("line", &["--batch", ""]).exits(2).stderr;
    assert!(refused.starts_with("Error: the name of the file is empty"), "{refused}");
    for (wrong, why) in [
        (json!([good[0], 1]), "event 2 of the batch: 1 is not an object"),
        (json!([good[0], {}]), "event 2 of the batch: --type is required"),
    ] {
        let refused = project.emit("line", &["--batch", &wrong.to_string()]).exits(2);
        assert!(refused.stderr.contains(why), "{refused:?}");
    }
    assert_eq!(project.0.read("r1", "events.jsonl"), before);
    let batch = good.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let args = ["emit", "--workflow", "line", "--run-id", "r1", "--batch", "-", "--id", "k1"];
    let answer = project.0.flow_with(args, &batch).ok().json();
    assert_eq!(answer["data"]["completedPredecessors"], json!(["plan", "build"]));
    assert_eq!(answer["data"]["results"][1]["completedPredecessors"], json!(["build"]));
    assert_eq!(project.0.events("r1").len(), 3);
    // The same again is the same; other reports under the same key are refused.
    let again = project.0.flow_with(args, &batch).ok().json();
    assert_eq!((&again["data"]["repeated"], &again["data"]["seq"]), (&json!(true), &json!(3)));
    project.emit("line", &["--batch", &json!([report("verify", "failed")]).to_string(), "--id", "k1"]).exits(1);
    assert_eq!(project.0.events("r1").len(), 3);
    project.0.assert_sound("r1");
}

#[test]
fn a_question_waits_for_whoever_may_answer_it() {
    let project = Project::new("line");
    for report in ["plan running", "build running"] {
        project.status("line", report).ok();
    }
    let ask = |more: &[&str]| {
        let ask = ["--type", "waiting_for_user", "--data", r#"{"prompt":"Delete the table?"}"#];
        project.emit("line", &[&ask, more].concat()).ok().json()["data"]["runStatus"].clone()
    };
    let status = |report: &str| project.status("line", report).ok().json()["data"]["runStatus"].clone();
    assert_eq!(ask(&["--step", "build"]), "waiting");
    assert_eq!(status("build@T2 running"), "waiting", "another unit answered the question");
    let answer = project.0.flow(["resume", "r1", "--json"]).exits(4).json();
    assert_eq!((&answer["verdict"], &answer["next"]["action"]), (&json!("needs_human"), &json!("answer")));
    assert_eq!(answer["reason"], "`build` waits for an answer: Delete the table?");
    assert_eq!(answer["next"]["command"], json!(null), "only the person knows the answer");
    let command = answer["next"]["alternatives"][0]["command"].as_str().unwrap();
    insta::assert_snapshot!(command, @r#"flow emit --workflow line --run-id r1 --type user_answered --step build --data '{"answer":"…"}'"#);
    assert_eq!(status("task-builder:building@T1 running"), "waiting", "work below the step answered the question");
    assert_eq!(ask(&["--step", "build", "--unit", "T1"]), "waiting");
    assert_eq!(status("build@T2 completed"), "waiting");
    let answered = ["--type", "user_answered", "--data", r#"{"answer":"no"}"#];
    project.emit("line", &answered).exits(1);
    let of_unit = project.emit("line", &[&answered[..], &["--unit", "T1"]].concat()).ok().json();
    assert_eq!(of_unit["data"]["runStatus"], "waiting");
    assert_eq!(project.emit("line", &answered).ok().json()["data"]["runStatus"], "running");
    let nobody = project.emit("line", &answered).exits(1);
    insta::assert_snapshot!(nobody.stderr, @r"
    Error: run r1: no question is open, so there is nothing to answer
      help: `flow resume r1` says what is next
    ");
    assert_eq!(ask(&[]), "waiting");
    assert_eq!(status("verify running"), "waiting", "the move answered the question");
    assert_eq!(project.emit("line", &answered).ok().json()["data"]["runStatus"], "running");
    assert!(!project.0.read("r1", "run.yaml").contains("questions"));
    project.0.flow(["verify", "r1"]).ok();
}

#[test]
fn a_batch_asks_and_answers_as_its_reports_would_alone() {
    let project = Project::new("line");
    let status = |step: &str| json!({ "type": "status_change", "step": step, "data": { "status": "running" } });
    let ask = |more: Value| {
        let mut ask = json!({ "type": "waiting_for_user", "data": { "prompt": "Delete the table?" } });
        ask.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        ask
    };
    let batch = |reports: Value| {
        project.emit("line", &["--batch", &reports.to_string()]).ok().json()["data"]["runStatus"].clone()
    };
    let asked = json!([status("plan"), status("build"), ask(json!({ "step": "task-builder:building" }))]);
    assert_eq!(batch(asked), "waiting");
    let answer = json!({ "type": "user_answered", "data": { "answer": "no" } });
    assert_eq!(batch(json!([answer])), "running");
    // The run goes on before the answer, which finds the question of the same batch.
    assert_eq!(batch(json!([ask(json!({})), status("verify"), answer])), "running");
    project.0.assert_sound("r1");
}

#[test]
fn an_answer_that_finds_no_question_is_refused() {
    let project = Project::new("line");
    project.status("line", "plan running").ok();
    let ask = ["--type", "waiting_for_user", "--step", "plan", "--data", r#"{"prompt":"red?"}"#];
    project.emit("line", &ask).ok();
    let answer = ["--type", "user_answered", "--data", r#"{"answer":"no"}"#];
    for elsewhere in [["--step", "build"], ["--unit", "T1"]] {
        let more = if elsewhere[0] == "--unit" { vec!["--step", "plan"] } else { Vec::new() };
        let missed = project.emit("line", &[&answer[..], &more, &elsewhere].concat()).exits(1);
        assert!(missed.stderr.contains("no question is open in `"), "{missed:?}");
    }
    project.0.flow(["resume", "r1"]).exits(4);
    project.emit("line", &[&answer[..], &["--step", "plan"]].concat()).ok();
    project.0.flow(["resume", "r1"]).ok();
}

#[test]
fn work_that_a_person_takes_back_is_to_be_done_again() {
    for (from, to, reports) in [
        ("current_phase: build", "current_phase: plan", &["plan completed", "build running"][..]),
        ("    - plan\n", "", &["plan completed"][..]),
    ] {
        let project = Project::new("line");
        for report in reports {
            project.status("line", report).ok();
        }
        let resume = || project.0.flow(["resume", "r1", "--json"]).ok().json();
        project.0.edit("r1", from, to);
        assert_eq!(resume()["reason"], "nothing is completed in `plan` yet", "{from}");
        // The next writer adopts it, and then it is the same.
        project.emit("line", &["--type", "btw_update", "--data", r#"{"message":"m"}"#]).ok();
        let adopted = resume();
        assert_eq!((&adopted["verdict"], &adopted["next"]["phase"]), (&json!("continue"), &json!("plan")), "{from}");
        project.status("line", "plan completed").ok();
        assert_eq!(resume()["reason"], "`plan` is done; `build` comes next");
        project.0.assert_sound("r1");
    }
}

#[test]
fn what_flow_keeps_for_itself_in_run_yaml_is_the_logs_also_when_somebody_deletes_it() {
    let project = Project::new("branches");
    for report in ["plan running", "code running", "docs running"] {
        project.status("branches", report).ok();
    }
    let ask = ["--type", "waiting_for_user", "--step", "docs", "--data", r#"{"prompt":"red?"}"#];
    project.emit("branches", &ask).ok();
    let resume = || project.0.flow(["resume", "r1", "--json"]).exits(4).json();
    let before = resume();
    let whole = project.0.read("r1", "run.yaml");
    for key in ["steps:", "questions:", "other_phases:", "workflow_seq:", "open_activities:"] {
        let mut skip = false;
        let keeps = |line: &&str| {
            let inside = line.starts_with("    ");
            skip = (skip && inside) || line.trim_start().starts_with(key);
            !skip
        };
        let lines: Vec<_> = whole.lines().filter(keeps).collect();
        std::fs::write(project.0.run_dir("r1").join("run.yaml"), lines.join("\n") + "\n").unwrap();
        assert_eq!(resume(), before, "without {key}");
    }
}

#[test]
fn artifacts_are_shown_where_they_are_and_only_once() {
    let project = Project::new("line");
    let register = |data: Value| {
        project.emit("line", &["--type", "artifact_registered", "--step", "build", "--data", &data.to_string()])
    };
    let answer = register(json!({ "path": "./out/tasks.md", "feature": "f" })).ok().json();
    assert_eq!(answer["data"]["runStatus"], "not_started");
    register(json!({ "path": "out/tasks.md", "subflow": true })).ok();
    let link = json!({ "url": "https://example.org/pr/1/", "label": "the change", "relationship": "result" });
    register(link).ok();
    register(json!({ "path": "../outside.md" })).exits(2);
    std::os::unix::fs::symlink("/etc", project.0.path("etc")).unwrap();
    let escape = register(json!({ "path": "etc/passwd" })).exits(2);
    insta::assert_snapshot!(project.0.masked(&escape.stderr), @r#"
    Error: Artifact path "etc/passwd" escapes the canonical project root (ROOT). Use storageRoot "absolute" for external artifacts.
      help: see `flow help emit`
    "#);
    let shown = project.0.flow(["show", "r1", "--json"]).ok().json();
    let artifacts = shown["artifacts"].as_array().unwrap();
    assert_eq!(artifacts.len(), 2);
    assert_eq!(
        (&artifacts[0]["path"], &artifacts[0]["subflow"], &artifacts[0]["step"]),
        (&json!("out/tasks.md"), &json!(true), &json!("build"))
    );
    assert_eq!(artifacts[1]["kind"], "link");
    let answer = project.0.flow(["resume", "r1", "--json"]).ok().json();
    assert!(answer["next"]["command"].as_str().unwrap().contains("--step plan"), "{answer}");
}

#[test]
fn a_run_that_was_started_is_reported_on_like_any_other() {
    let project = Project::new("line");
    project.0.flow(["start", "line", "--id", "r1"]).ok();
    // Reports begin in an initial state, also if the run stands there already.
    let refused = project.status("line", "build running").exits(1);
    insta::assert_snapshot!(refused.stderr, @r#"
    Error: step "build" cannot start the "line" state machine. Initial states: [plan].
      help: report one of these first: plan
    "#);
    project.status("line", "plan running").ok();
    let answer = project.status("line", "build running").ok().json();
    assert_eq!(answer["data"]["completedPredecessors"], json!(["plan"]));
    project.0.record("r1", "build", "part-1");
    let answer = project.0.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!((&answer["verdict"], &answer["in_doubt"][0]["id"]), (&json!("reconcile"), &json!("build")));
    let early = ["record-activity", "--run-id", "r1", "--phase", "verify", "--id", "checked", "--json"];
    assert_eq!(project.0.flow(early).exits(1).error()["code"], "phase_not_done", "the step still runs");
    project.status("line", "build completed").ok();
    project.0.record("r1", "verify", "checked");
    let shown = project.0.flow(["show", "r1", "--json"]).ok().json();
    let statuses: Vec<_> = shown["steps"].as_array().unwrap().iter().map(|step| step["status"].clone()).collect();
    assert_eq!(statuses, ["completed", "completed", "completed"]);
    project.0.flow(["start", "line", "--id", "r2"]).ok();
    project.0.record("r2", "plan", "plan-done");
    let args = ["emit", "--workflow", "line", "--run-id", "r2", "--type", "status_change", "--step", "build"];
    let answer = project.0.flow(args.iter().chain(&["--data", r#"{"status":"running"}"#])).ok().json();
    assert_eq!(answer["data"]["completedPredecessors"], json!([]), "what is recorded is not recorded again");
    project.0.assert_sound("r1");
    project.0.assert_sound("r2");
}

#[test]
fn work_within_a_reported_step_leaves_nothing_in_doubt_that_has_ended() {
    for (reported, after) in [
        ("completed", "completed"),
        ("failed", "completed"),
        ("waiting", "completed"),
        ("not_started", "completed"),
        ("running", "running"),
    ] {
        let project = Project::new("line");
        let step = |place: usize| {
            let shown = project.0.flow(["show", "r1", "--json"]).ok().json();
            shown["steps"][place]["status"].as_str().unwrap().to_owned()
        };
        project.status("line", &format!("plan {reported}")).ok();
        let record = |phase: &str, id: &str, status: &str| {
            project
                .0
                .flow(["record-activity", "--run-id", "r1", "--phase", phase, "--id", id, "--status", status, "--json"])
        };
        record("plan", "part", "running").ok();
        let begun = if reported == "running" { "running" } else { reported };
        assert_eq!(step(0), begun, "what begins within a step says nothing about it");
        record("plan", "part", "passed").ok();
        assert_eq!(step(0), after);
        project.0.flow(["exec", "--run-id", "r1", "--id", "t", "--", "true"]).ok();
        assert_eq!(step(0), after);
        let resumed = project.0.flow(["resume", "r1", "--json"]).ok().json();
        assert_eq!(resumed["verdict"] == "reconcile", reported == "running", "{reported}: {resumed:#}");
        // The step's own record reports on it, and so does what enters it.
        record("plan", "plan", "passed").ok();
        project.0.flow(["exec", "--run-id", "r1", "--phase", "build", "--id", "b", "--", "true"]).ok();
        assert_eq!([step(0), step(1)], ["completed", "completed"]);
        for status in ["running", "passed"] {
            record("verify", "verify", status).ok();
            assert_eq!(step(2), status.replace("passed", "completed"));
        }
        assert_eq!(project.0.flow(["resume", "r1", "--json"]).ok().json()["in_doubt"], json!([]));
        project.0.flow(["verify", "r1"]).ok();
    }
}

#[test]
fn what_resume_proposes_for_a_reported_run_can_be_typed_as_it_stands() {
    let project = Project::new("line");
    project.status("line", "plan running").ok();
    let mut verdicts = Vec::new();
    loop {
        let answer = project.0.flow(["resume", "r1", "--json"]).ok().json();
        verdicts.push(answer["verdict"].as_str().unwrap().to_owned());
        if answer["verdict"] == "done" {
            break;
        }
        // Where only the caller knows how the work ended, the first way is the good one.
        let next = &answer["next"];
        let command = next["command"].as_str().or(next["alternatives"][0]["command"].as_str()).unwrap();
        let words = command.split(' ').skip(1).map(|word| word.trim_matches('\''));
        project.0.flow(words.collect::<Vec<_>>()).ok();
        assert!(verdicts.len() < 20, "it leads nowhere: {command}");
    }
    let once = ["reconcile", "continue"];
    assert_eq!(verdicts, [&once[..], &once, &["reconcile", "done"]].concat());
}

#[test]
fn a_failed_or_waiting_step_says_why() {
    let project = Project::new("line");
    let report = |status: &str, message: &str| {
        let data = json!({ "status": status, "message": message }).to_string();
        project.emit("line", &["--type", "status_change", "--step", "plan", "--data", &data]).ok();
        project.0.flow(["resume", "r1", "--json"]).json()
    };
    let answer = report("waiting", "for a key");
    assert_eq!((&answer["verdict"], &answer["reason"]), (&json!("needs_human"), &json!("`plan` waits: for a key")));
    let answer = report("failed", "no such key");
    assert_eq!((&answer["verdict"], &answer["reason"]), (&json!("continue"), &json!("`plan` failed: no such key")));
    assert_eq!(answer["next"]["action"], "retry_phase");
}

#[test]
fn a_key_that_is_there_twice_is_a_mistake() {
    let project = Project::new("line");
    let twice = r#"{"status":"running","status":"completed"}"#;
    let told = project.emit("line", &["--type", "status_change", "--step", "plan", "--data", twice]).exits(2).stderr;
    assert!(told.starts_with("Error: --data: the key \"status\" is there twice at line 1 column"), "{told}");
    let event = format!(r#"{{"type":"status_change","step":"plan","data":{twice}}}"#);
    for batch in [format!("[{event}]"), event] {
        let mut command = project.0.flow_command();
        command.args(["emit", "--workflow", "line", "--run-id", "r1", "--batch", "-"]);
        let told = crate::support::run(command, &batch).exits(2).stderr;
        assert!(told.contains("is there twice"), "{told}");
    }
    assert!(project.0.runs().is_empty());
}

#[test]
fn two_reports_at_once_never_both_pass_a_check_that_only_one_may() {
    let project = Project::new("fork");
    for round in 0..8 {
        let run = format!("race-{round}");
        let emit = |step: &str| {
            let args = ["emit", "--workflow", "fork", "--type", "status_change", "--run-id", &run, "--step", step];
            let mut command = project.0.flow_command();
            command.args(args).args(["--data", r#"{"status":"completed"}"#]);
            command
        };
        crate::support::run(emit("detect"), "").ok();
        // After `prd` the run is over, so the two exclude each other in one order; both orders leave a sound run.
        let (one, other) = (emit("prd"), emit("charter"));
        let codes = thread::scope(|scope| {
            let threads = [one, other].map(|command| scope.spawn(move || crate::support::run(command, "").code));
            threads.map(|thread| thread.join().unwrap())
        });
        let steps: Vec<_> =
            project.0.events(&run).iter().skip(2).map(|event| event["reports"][0]["step"].clone()).collect();
        let passed = codes.iter().filter(|code| **code == Some(0)).count();
        assert_eq!(steps.len(), passed, "{codes:?} {steps:?}");
        assert!(steps != [json!("prd"), json!("charter")], "a run that is over went on");
        project.0.assert_sound(&run);
    }
}

#[test]
fn the_first_reports_of_one_run_at_once_make_one_run() {
    let project = Project::new("line");
    let commands = (0..6).map(|_| {
        let mut command = project.0.flow_command();
        let args = ["emit", "--workflow", "line", "--type", "status_change", "--run-id", "r1", "--step", "plan"];
        command.args(args).args(["--data", r#"{"status":"running"}"#]);
        command
    });
    let commands: Vec<_> = commands.collect();
    thread::scope(|scope| {
        let threads: Vec<_> = commands
            .into_iter()
            .map(|command| scope.spawn(move || crate::support::run(command, "").ok().json()))
            .collect();
        let answers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(answers.iter().filter(|answer| answer["data"]["created"] == true).count(), 1, "{answers:?}");
    });
    assert_eq!(project.0.events("r1").len(), 7);
    project.0.assert_sound("r1");
}

#[test]
fn a_workflow_without_a_state_machine_has_free_steps() {
    let sandbox = Sandbox::new();
    let skill = sandbox.path(".claude/skills/free");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\nname: free\n---\n# Free\nNo machine here.\n").unwrap();
    for step in ["anything", "goes"] {
        let args = ["emit", "--workflow", "free", "--type", "status_change", "--run-id", "r1", "--step", step];
        let answer = sandbox.flow(args.iter().chain(&["--data", r#"{"status":"running"}"#])).ok().json();
        assert_eq!(answer["data"]["warnings"], json!([]));
    }
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).ok().json()["phase"], "goes");
    sandbox.assert_sound("r1");
}

#[test]
fn a_lost_run_yaml_comes_back_byte_for_byte() {
    let project = Project::new("branches");
    for report in ["plan running", "code running", "docs running"] {
        project.status("branches", report).ok();
    }
    let ask = ["--type", "waiting_for_user", "--unit", "T 1", "--data", r#"{"prompt":"two\nlines: yes?"}"#];
    project.emit("branches", &ask).ok();
    let with_question = project.0.read("r1", "run.yaml");
    std::fs::remove_file(project.0.run_dir("r1").join("run.yaml")).unwrap();
    project.0.flow(["doctor", "--repair"]).ok();
    assert_eq!(project.0.read("r1", "run.yaml"), with_question);
    project.emit("branches", &["--type", "user_answered", "--data", r#"{"answer":"yes"}"#]).ok();
    let without = project.0.read("r1", "run.yaml");
    assert!(!without.contains("questions") && without.contains("steps:"), "{without}");
    std::fs::remove_file(project.0.run_dir("r1").join("run.yaml")).unwrap();
    project.0.flow(["doctor", "--repair"]).ok();
    assert_eq!(project.0.read("r1", "run.yaml"), without);
    project.0.flow(["verify", "r1"]).ok();
}

#[test]
fn a_step_that_was_left_while_it_ran_is_told_and_keeps_the_run_from_being_completed() {
    let project = Project::new("line");
    for report in ["plan running", "build completed"] {
        project.status("line", report).ok();
    }
    let resumed = project.0.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(resumed["notes"][0], "`plan` was left without a report that it is done", "{resumed}");
    assert_eq!((resumed["verdict"].as_str(), &resumed["next"]["phase"]), (Some("continue"), &json!("verify")));
    project.status("line", "verify skipped").ok();
    let resumed = project.0.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!((resumed["verdict"].as_str(), &resumed["next"]["phase"]), (Some("reconcile"), &json!("plan")));
    let refused = project.0.flow(["complete", "r1", "--json"]).exits(1).error();
    assert_eq!(
        (refused["code"].as_str(), refused["message"].as_str().map(|said| said.contains("plan"))),
        (Some("outcome_unknown"), Some(true))
    );
    project.status("line", "plan completed").ok();
    project.0.flow(["complete", "r1"]).ok();
}

#[test]
fn a_unit_cannot_be_reported_in_a_step_that_the_run_left() {
    let project = Project::new("line");
    for report in ["plan running", "build completed"] {
        project.status("line", report).ok();
    }
    let refused = project.status("line", "plan@T1 completed").exits(1).stderr;
    insta::assert_snapshot!(refused, @r#"
    Error: step "plan" is not a valid transition in the "line" state machine. Current state: "build". Valid transitions from "build": [verify].
      help: report one of these next: verify, or `build` again
    "#);
}

#[test]
fn a_report_that_changes_nothing_names_the_event_that_says_so_already() {
    let project = Project::new("one");
    project.status("one", "only running").ok();
    let done = project.status("one", "only completed").ok().json();
    let again = project.status("one", "only completed").ok().json();
    assert_eq!(again["data"]["repeated"], true);
    assert_eq!(again["data"]["eventId"], done["data"]["eventId"]);
    assert_eq!(again["data"]["warnings"], json!(["nothing was recorded: the run says so already"]));
}

#[test]
fn a_question_in_the_place_of_another_one_tells_that_one() {
    let project = Project::new("line");
    project.status("line", "plan running").ok();
    let ask = |prompt: &str| {
        let data = json!({ "prompt": prompt }).to_string();
        project.emit("line", &["--type", "waiting_for_user", "--step", "plan", "--data", &data]).ok().json()
    };
    assert_eq!(ask("Delete it?")["data"]["warnings"], json!([]));
    assert_eq!(ask("Really?")["data"]["warnings"], json!(["`plan` asked before, and got no answer: Delete it?"]));
    let shown = project.0.flow(["show", "r1"]).ok().stdout;
    insta::assert_snapshot!(shown, @r"
    asking  r1
      workflow    line
      phase       plan
      started     2026-05-20T14:30:04.000Z
      changed     2026-05-20T14:30:06.000Z
      event       4
      repository  acme/widgets
      branch      main
      phases
        plan    running
        build   not_started
        verify  not_started
      question    plan: Really?
    ");
    project.emit("line", &["--type", "user_answered", "--step", "plan", "--data", r#"{"answer":"no"}"#]).ok();
    let log = project.0.flow(["log", "r1"]).ok().stdout;
    insta::assert_snapshot!(log, @r"
    1  2026-05-20T14:30:04.000Z  run_started        line
    2  2026-05-20T14:30:04.000Z  emitted            plan running
    3  2026-05-20T14:30:05.000Z  emitted            plan asks: Delete it?
    4  2026-05-20T14:30:06.000Z  emitted            plan asks: Really?
    5  2026-05-20T14:30:08.000Z  emitted            plan answer: no
    ");
}
