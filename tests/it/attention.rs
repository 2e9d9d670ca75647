//! `attention`: what the open runs need.

use flowrun::host::{Clock, Env, Git, Ids};
use flowrun::runs::{Context, Needs, Options};
use serde_json::{Value, json};

use crate::support::{Answer, HostProcess, Sandbox, answered, run, spawned};

fn emit(sandbox: &Sandbox, run: &str, kind: &str, more: &[&str], data: &str) {
    let args =
        ["emit", "--workflow", "build", "--run-id", run, "--type", kind, "--step", "requirements", "--data", data];
    sandbox.flow([&args[..], more].concat()).ok();
}

const RUNNING: &str = r#"{"status":"running"}"#;

/// The group, the need and the holder of each run, by its id.
fn judged(sandbox: &Sandbox) -> Value {
    let report = sandbox.flow(["attention", "--all", "--json"]).ok().json();
    let cards = report["runs"].as_array().unwrap().iter();
    cards
        .map(|card| (card["run_id"].as_str().unwrap().to_owned(), json!([card["group"], card["need"], card["holder"]])))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn a_status_line_names_runs_that_cannot_be_read() {
    let sandbox = Sandbox::new();
    for run in ["r1", "r2"] {
        sandbox.flow(["start", "debug", "--id", run]).ok();
    }
    std::fs::write(sandbox.run_dir("r1").join("run.yaml"), "x: [").unwrap();
    let line = sandbox.flow(["hud"]).ok().stdout;
    assert!(line.starts_with("debug  r2  ") && line.ends_with("r1  unreadable\n"), "{line}");
    std::fs::write(sandbox.run_dir("r2").join("run.yaml"), "x: [").unwrap();
    assert_eq!(sandbox.flow(["hud"]).ok().stdout, "r1 and 1 more  unreadable\n");
    let report = sandbox.flow(["hud", "--json"]).ok().json();
    assert_eq!((&report["run"], &report["unreadable"][1]["run_id"]), (&Value::Null, &json!("r2")));
}

#[test]
fn attention_tells_what_each_open_run_needs() {
    let sandbox = Sandbox::new();
    let (living, mut dying) = (HostProcess::new(&sandbox), HostProcess::new(&sandbox));
    for run in ["blocked", "ended", "limited", "asked"] {
        living.flow(&sandbox, run, &["start", "debug", "--id", run]);
    }
    living.flow(&sandbox, "busy", &["start", "debug", "--id", "busy"]);
    living.flow(&sandbox, "busy", &["record-activity", "--run-id", "busy", "--id", "try", "--status", "running"]);
    for (run, status) in [("dead", "passed"), ("begun", "running"), ("failed", "failed")] {
        dying.flow(&sandbox, run, &["start", "debug", "--id", run]);
        dying.flow(&sandbox, run, &["record-activity", "--run-id", run, "--id", "try", "--status", status]);
    }
    sandbox.flow(["start", "debug", "--id", "free"]).ok();
    sandbox.flow(["start", "debug", "--id", "over"]).ok();
    sandbox.flow(["cancel", "over", "--reason", "enough"]).ok();
    sandbox.flow(["block", "blocked", "--reason", "no access"]).ok();
    sandbox.flow(["session-end", "--session", "ended"]).ok();
    sandbox.flow(["set", "limited", "--limit", "max_iterations=1", "--session", "limited"]).ok();
    let failed = ["record-activity", "--run-id", "limited", "--id", "try", "--status", "failed"];
    living.flow(&sandbox, "limited", &failed);
    emit(&sandbox, "question", "status_change", &[], RUNNING);
    emit(&sandbox, "question", "waiting_for_user", &[], r#"{"prompt":"Drop the old table?"}"#);
    emit(&sandbox, "units", "status_change", &[], r#"{"status":"completed"}"#);
    emit(&sandbox, "units", "status_change", &["--unit", "T1"], RUNNING);
    dying.kill();
    assert_eq!(
        judged(&sandbox),
        json!({
            "asked": ["at_work", null, "alive"],
            "begun": ["in_doubt", "begun", "dead"],
            "blocked": ["waits", "blocked", "alive"],
            "busy": ["at_work", null, "alive"],
            "dead": ["left_behind", "dead", "dead"],
            "ended": ["left_behind", "ended", null],
            "failed": ["waits", "failing", "dead"],
            "free": ["can_go_on", null, null],
            "limited": ["waits", "limit", "alive"],
            "question": ["waits", "question", null],
            "units": ["in_doubt", "units", null],
        })
    );
}

#[test]
fn a_question_waits_although_the_session_that_asks_is_alive() {
    let sandbox = Sandbox::new();
    let host = HostProcess::new(&sandbox);
    let emit = |kind: &str, data: &str| {
        let args = ["emit", "--workflow", "build", "--run-id", "r1", "--type", kind, "--step", "requirements"];
        host.flow(&sandbox, "s1", &[&args[..], &["--data", data]].concat());
    };
    emit("status_change", RUNNING);
    assert_eq!(judged(&sandbox), json!({ "r1": ["at_work", null, "alive"] }));
    emit("waiting_for_user", r#"{"prompt":"Which?"}"#);
    assert_eq!(judged(&sandbox), json!({ "r1": ["waits", "question", "alive"] }));
    let card = sandbox.flow(["attention", "--json"]).ok().json()["runs"][0].clone();
    assert_eq!((&card["verdict"], &card["next"]["action"]), (&json!("needs_human"), &json!("answer")));
    // A person gets the question and its command, and another session that the run is held.
    let resumed = sandbox.flow(["resume", "r1", "--json"]).exits(4).json();
    assert_eq!((&resumed["verdict"], &resumed["next"]["action"]), (&json!("needs_human"), &json!("answer")));
    assert_eq!(resumed["notes"], json!(["session s1 holds the run"]));
    assert_eq!(sandbox.flow(["resume", "r1", "--session", "s2", "--json"]).exits(5).json()["verdict"], "held");
    emit("user_answered", r#"{"answer":"That one."}"#);
    assert_eq!(judged(&sandbox), json!({ "r1": ["at_work", null, "alive"] }));
    sandbox.flow(["resume", "r1"]).exits(5);
}

#[test]
fn the_most_urgent_runs_come_first_and_those_that_need_no_person_are_left_out() {
    let sandbox = Sandbox::new();
    let none = format!("no runs here: there is no .flow in {} or above", sandbox.root().display());
    assert_eq!(sandbox.flow(["attention"]).ok().stderr, format!("{none}\n"));
    assert_eq!(sandbox.flow(["list"]).ok().stderr, format!("{none}\n"));
    assert_eq!(sandbox.flow(["sessions"]).ok().stderr, format!("{none}\n"));
    assert_eq!(sandbox.flow(["resume", "--json"]).exits(3).json()["reason"], none);
    let host = HostProcess::new(&sandbox);
    for run in ["first", "second", "third"] {
        host.flow(&sandbox, run, &["start", "debug", "--id", run]);
    }
    sandbox.flow(["session-end", "--session", "first"]).ok();
    sandbox.flow(["block", "third", "--reason", "waits for access\nto staging"]).ok();
    sandbox.flow(["start", "debug", "--id", "broken"]).ok();
    std::fs::write(sandbox.run_dir("broken").join("run.yaml"), "state: [").unwrap();
    let shown = sandbox.flow(["attention"]).ok();
    let broken = sandbox.run_dir("broken").join("run.yaml");
    assert_eq!(
        shown.stdout,
        format!(
            "Waits for you  1\n  blocked  debug  third  preflight 1/5  5 s  waits for access to staging\n\
             Left behind  1\n  ended  debug  first  preflight 1/5  6 s  the session that held it has ended\n\
             Unreadable  1\n  broken  {}:1:8 is not valid YAML: unclosed bracket '['\n",
            broken.display()
        )
    );
    assert_eq!(shown.stderr, "`flow resume RUN` says what to do about a run\n");
    let all = sandbox.flow(["attention", "--all"]).ok().stdout;
    insta::assert_snapshot!(sandbox.masked(&all), @r"
    Waits for you  1
      blocked  debug  third  preflight 1/5  6 s  waits for access to staging
    Left behind  1
      ended  debug  first  preflight 1/5  7 s  the session that held it has ended
    At work  1
      debug  second  preflight 1/5  9 s  session second holds the run
    Unreadable  1
      broken  ROOT/.flow/runs/broken/run.yaml:1:8 is not valid YAML: unclosed bracket '['
    ");
    let ids = |args: &[&str]| {
        let list = sandbox.flow(["list", "--json"].iter().chain(args)).ok().json();
        list["runs"].as_array().unwrap().iter().map(|run| run["run_id"].clone()).collect::<Value>()
    };
    assert_eq!(ids(&["--attention"]), json!(["third", "first"]));
    // A list, and what a session sees, say the same of it in the same keys.
    let said = |report: &Value| {
        let runs = report["runs"].as_array().unwrap().iter();
        let mut said: Vec<_> = runs.map(|run| json!([run["run_id"], run["group"], run["need"]])).collect();
        said.sort_by_key(Value::to_string);
        said
    };
    let list = sandbox.flow(["list", "--json"]).ok().json();
    assert_eq!(said(&list), said(&sandbox.flow(["attention", "--all", "--json"]).ok().json()));
    for session in sandbox.flow(["sessions", "--json"]).ok().json()["sessions"].as_array().unwrap() {
        assert!(said(&list).contains(&said(session)[0]), "{session}");
    }
    let hud = sandbox.flow(["hud", "--session", "third", "--json"]).ok().json()["run"].clone();
    assert_eq!(json!([hud["run_id"], hud["group"], hud["need"]]), json!(["third", "waits", "blocked"]));
    assert_eq!(ids(&["--attention", "--search", "staging"]), json!(["third"]));
    assert_eq!(ids(&["--search", "STAGING"]), json!(["third"]));
    assert_eq!(ids(&["--search", "has ended"]), json!(["first"]));
}

#[test]
fn a_search_finds_the_text_of_the_last_column() {
    let sandbox = Sandbox::new();
    let begin = |id: &str, workflow: &str| sandbox.flow(["start", workflow, "--id", id]).ok();
    begin("failing", "debug");
    let failed = ["--phase", "preflight", "--status", "failed", "--summary", "the linker ran out of memory"];
    sandbox.flow(["record-activity", "--run-id", "failing", "--id", "try"].iter().chain(&failed)).ok();
    begin("blocked", "debug");
    let blocked = ["--phase", "preflight", "--status", "blocked", "--summary", "no key for the vault"];
    sandbox.flow(["record-activity", "--run-id", "blocked", "--id", "try"].iter().chain(&blocked)).ok();
    begin("other", "debug");
    let listed = sandbox.flow(["list"]).ok().stdout;
    for (text, run) in [("LINKER", "failing"), ("the vault", "blocked")] {
        assert!(listed.contains(&text.to_lowercase()), "{listed}");
        let found = sandbox.flow(["list", "--search", text, "--json"]).ok().json()["runs"].clone();
        assert_eq!((found.as_array().unwrap().len(), &found[0]["run_id"]), (1, &json!(run)), "{text}");
        let watched = sandbox.flow(["watch", "--once", "--search", text]).ok().stdout;
        assert!(watched.contains(run) && !watched.contains("other"), "{watched}");
    }
}

#[test]
fn damage_and_another_workflow_need_a_person() {
    let sandbox = Sandbox::new();
    let write = |phases: &str| {
        let text =
            format!("apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: own\nphases: {phases}\n");
        std::fs::write(sandbox.path(".flow/workflows/own.workflow.yaml"), text).unwrap();
    };
    sandbox.flow(["init"]).ok();
    write("[{id: one}, {id: two}, {id: three}]");
    sandbox.flow(["start", "own", "--id", "drifted"]).ok();
    sandbox.flow(["start", "debug", "--id", "damaged"]).ok();
    for id in ["one", "two"] {
        sandbox.flow(["record-activity", "--run-id", "damaged", "--id", id]).ok();
    }
    write("[{id: one}, {id: three}]");
    let log = sandbox.run_dir("damaged").join("events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<_> = text.lines().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| line).collect();
    std::fs::write(&log, lines.join("\n") + "\n").unwrap();
    let judged = judged(&sandbox);
    assert_eq!(judged["damaged"], json!(["waits", "damaged", null]));
    assert_eq!(judged["drifted"], json!(["waits", "drifted", null]));
}

#[test]
fn what_waits_is_not_hidden_by_other_work_of_a_living_session() {
    let sandbox = Sandbox::new();
    let host = HostProcess::new(&sandbox);
    sandbox.flow(["init"]).ok();
    let diagram = "stateDiagram-v2\n[*] --> s\ns --> p\ns --> q\np --> [*]\nq --> [*]\n";
    std::fs::write(sandbox.path(".flow/workflows/own.mmd"), diagram).unwrap();
    let emit = |run: &str, step: &[&str], data: &str| {
        let args = ["emit", "--workflow", "own", "--run-id", run, "--type", "status_change", "--data", data, "--step"];
        host.flow(&sandbox, run, &[&args[..], step].concat());
    };
    emit("parallel", &["s"], r#"{"status":"completed"}"#);
    emit("parallel", &["p"], r#"{"status":"waiting","message":"a signature"}"#);
    emit("parallel", &["q"], RUNNING);
    emit("unit", &["s"], RUNNING);
    emit("unit", &["s", "--unit", "T1"], r#"{"status":"waiting","message":"a key"}"#);
    host.flow(&sandbox, "activity", &["start", "own", "--id", "activity"]);
    for (id, status) in [("x", "blocked"), ("y", "running")] {
        host.flow(&sandbox, "activity", &["record-activity", "--run-id", "activity", "--id", id, "--status", status]);
    }
    let cards = sandbox.flow(["attention", "--json"]).ok().json();
    let mut waiting: Vec<_> = cards["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|card| (&card["run_id"], &card["need"], &card["reason"]))
        .collect();
    waiting.sort_by_key(|(run, ..)| run.as_str());
    assert_eq!(
        json!(waiting),
        json!([
            ["activity", "blocked", "activity x is blocked"],
            ["parallel", "blocked", "`p` waits: a signature"],
            ["unit", "blocked", "unit T1 of `s` waits: a key"],
        ])
    );
}

#[test]
fn a_question_counts_although_the_workflow_changed_under_a_living_session() {
    let sandbox = Sandbox::new();
    let host = HostProcess::new(&sandbox);
    sandbox.flow(["init"]).ok();
    let write = |phases: &str| {
        let text =
            format!("apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: own\nphases: {phases}\n");
        std::fs::write(sandbox.path(".flow/workflows/own.workflow.yaml"), text).unwrap();
    };
    write("[{id: one}, {id: two}]");
    for (kind, data) in [("status_change", RUNNING), ("waiting_for_user", r#"{"prompt":"Which?"}"#)] {
        let args = ["emit", "--workflow", "own", "--run-id", "r1", "--type", kind, "--step", "one", "--data", data];
        host.flow(&sandbox, "s1", &args);
    }
    write("[{id: one}]");
    assert_eq!(judged(&sandbox), json!({ "r1": ["waits", "question", "alive"] }));
}

#[test]
fn a_run_that_is_over_needs_no_person_whatever_its_log_lost() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["record-activity", "--id", "one"]).ok();
    sandbox.flow(["cancel", "r1", "--reason", "enough"]).ok();
    let log = sandbox.run_dir("r1").join("events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<_> = text.lines().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| line).collect();
    std::fs::write(&log, lines.join("\n") + "\n").unwrap();
    assert_eq!(judged(&sandbox), json!({}));
    std::fs::remove_dir_all(sandbox.path(".flow/.cache")).unwrap();
    assert_eq!(judged(&sandbox), json!({}));
}

/// `flow wait`, which is answered at once or given up soon.
fn wait(sandbox: &Sandbox, args: &[&str]) -> Answer {
    sandbox.flow([&["wait", "--timeout", "0.1"], args].concat())
}

#[test]
fn a_wait_ends_when_the_run_is_over_or_needs_a_person_and_says_so_by_its_status() {
    let sandbox = Sandbox::new();
    for run in ["r1", "r2", "r3"] {
        sandbox.flow(["start", "debug", "--id", run, "--another"]).ok();
    }
    let late = wait(&sandbox, &["r1", "--json"]).exits(5).error();
    assert_eq!(late["code"], "time_over");
    assert!(late["message"].as_str().unwrap().starts_with("run r1 is still open after 0 s: "), "{late}");
    sandbox.flow(["block", "r1", "--reason", "which one?"]).ok();
    assert_eq!(wait(&sandbox, &["r1"]).exits(4).stdout, "blocked  r1  blocked: which one?\n");
    sandbox.flow(["cancel", "r1"]).ok();
    assert_eq!(wait(&sandbox, &["r1"]).exits(1).stdout, "cancelled  r1  the run is cancelled\n");
    sandbox.flow(["fail", "r2", "--reason", "no"]).ok();
    assert_eq!(wait(&sandbox, &["r2", "--json"]).exits(1).json()["status"], "failed");
    sandbox.flow(["record-activity", "--run-id", "r3", "--id", "all"]).ok();
    sandbox.flow(["complete", "r3", "--skip-reason", "done elsewhere"]).ok();
    assert_eq!(wait(&sandbox, &["r3"]).ok().stdout, "completed  r3  the run is completed\n");
    assert_eq!(wait(&sandbox, &["nosuch", "--json"]).exits(3).error()["code"], "run_not_found");
    sandbox.flow(["start", "debug", "--id", "r4", "--another"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r4", "--id", "a"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r4", "--id", "b"]).ok();
    let log = sandbox.read("r4", "events.jsonl").replace("\"a\"", "\"z\"");
    std::fs::write(sandbox.path(".flow/runs/r4/events.jsonl"), log).unwrap();
    wait(&sandbox, &["r4"]).exits(65);
    std::fs::write(sandbox.path(".flow/runs/r3/run.yaml"), "").unwrap();
    std::fs::write(sandbox.path(".flow/runs/r3/events.jsonl"), "").unwrap();
    wait(&sandbox, &["r3"]).exits(65);
}

#[test]
fn a_wait_that_goes_on_sees_the_end_of_its_run_and_that_it_is_gone() {
    let sandbox = Sandbox::new();
    for run in ["r1", "r2"] {
        sandbox.flow(["start", "debug", "--id", run, "--another"]).ok();
    }
    let waiting = |run: &str| {
        let mut command = sandbox.flow_command();
        command.args(["wait", run, "--timeout", "60"]);
        spawned(command)
    };
    let (one, two) = (waiting("r1"), waiting("r2"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "all"]).ok();
    sandbox.flow(["complete", "r1", "--skip-reason", "done elsewhere"]).ok();
    assert_eq!(answered(one).ok().stdout, "completed  r1  the run is completed\n");
    // At once: removed file by file it may look damaged for as long as a busy machine takes.
    std::fs::rename(sandbox.run_dir("r2"), sandbox.path("r2")).unwrap();
    answered(two).exits(3);
}

#[test]
fn damage_that_is_gone_at_the_next_look_was_a_change_in_progress() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["block", "r1", "--reason", "which one?"]).ok();
    let log = sandbox.run_dir("r1").join("events.jsonl");
    let text = std::fs::read(&log).unwrap();
    let options = Options { project: Some(sandbox.root()), ..Options::default() };
    let clock = Clock::fixed("2026-05-20T15:00:00Z".parse().unwrap());
    let cx = Context::new(clock, Ids::seeded("ids"), Env::default(), Git::new("no\0git"), options);
    let mut needs = Needs::default();
    let mut news = || needs.look(&cx).unwrap().1;
    let none = Vec::<String>::new();
    assert_eq!(news(), ["r1"]);
    std::fs::remove_file(&log).unwrap();
    assert_eq!(news(), none);
    std::fs::write(&log, &text).unwrap();
    assert_eq!(news(), none);
    std::fs::remove_file(&log).unwrap();
    assert_eq!(news(), none);
    assert_eq!(news(), ["r1"]);
    assert_eq!(news(), none, "it is told once");
    assert!(wait(&sandbox, &["r1"]).exits(65).stdout.starts_with("damaged  r1  "));
}

#[test]
fn whoever_waits_for_a_need_is_told_of_the_first_and_a_program_is_called_once_for_each() {
    let sandbox = Sandbox::new();
    for run in ["r1", "r2"] {
        sandbox.flow(["start", "debug", "--id", run, "--another"]).ok();
    }
    let mut command = sandbox.flow_command();
    command.args(["attention", "--wait", "--json"]);
    let waiting = spawned(command);
    let mut command = sandbox.flow_command();
    let script = "echo \"$FLOW_RUN $1\" >> calls";
    command.args(["attention", "--wait", "--exec", "sh", "-c", script, "-", "a b"]).current_dir(sandbox.root());
    let mut calling = spawned(command);
    sandbox.flow(["block", "r1", "--reason", "which one?"]).ok();
    let report = answered(waiting).ok().json();
    assert_eq!(report["runs"][0]["run_id"], "r1");
    let calls = || std::fs::read_to_string(sandbox.path("calls")).unwrap_or_default();
    let until = |wanted: &str| {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while calls() != wanted {
            assert!(std::time::Instant::now() < deadline, "{}", calls());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    until("r1 a b\n");
    sandbox.flow(["block", "r2", "--reason", "and this?"]).ok();
    until("r1 a b\nr2 a b\n");
    sandbox.flow(["unblock", "r1"]).ok();
    sandbox.flow(["block", "r1", "--reason", "again"]).ok();
    until("r1 a b\nr2 a b\nr1 a b\n");
    calling.kill().unwrap();
    answered(calling);
}

#[test]
fn what_is_told_of_one_run_fits_into_the_terminal_and_its_commands_stay_whole() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1", "--goal", "a goal that is rather long for a narrow terminal"]).ok();
    sandbox
        .flow(["record-activity", "--run-id", "r1", "--id", "look", "--summary", "the server did not answer in time"])
        .ok();
    sandbox
        .flow([
            "block",
            "r1",
            "--reason",
            "the credentials have expired, `flow resume r1 --take-over` or a person helps",
        ])
        .ok();
    for reader in ["resume", "show"] {
        let whole = sandbox.flow([reader, "r1"]).stdout;
        let mut narrow = sandbox.flow_command();
        narrow.args([reader, "r1"]).env("COLUMNS", "44");
        let narrow = run(narrow, "").stdout;
        for line in narrow.lines() {
            assert!(line.chars().count() <= 44 || line.contains("flow "), "{reader}: {line}");
        }
        assert!(narrow.contains("`flow resume r1 --take-over`"), "{narrow}");
        for line in whole.lines().filter(|line| line.starts_with("    flow ")) {
            assert!(narrow.lines().any(|shown| shown == line), "{reader}: {line}: {narrow}");
        }
    }
}

#[test]
fn a_row_says_what_a_run_is_first_and_fits_into_the_terminal() {
    let sandbox = Sandbox::new();
    let goal = "The importer loses the last row of every file that it reads";
    sandbox.flow(["start", "debug", "--goal", goal, "--slug", "importer"]).ok();
    sandbox.flow(["block", "--reason", "Which of the two formats is meant, the old one or the new one?"]).ok();
    sandbox.flow(["start", "start-issue", "--issue", "42"]).ok();
    sandbox.flow(["start", "review-pr", "--pr", "7", "--id", "7"]).ok();
    let shown = |columns: Option<&str>, args: &[&str]| {
        let clock = sandbox.now();
        let mut command = sandbox.flow_command();
        command.args(args);
        if let Some(columns) = columns {
            command.env("COLUMNS", columns);
        }
        let page = run(command, "").ok().stdout;
        sandbox.put_clock(clock);
        page
    };
    let pages = [
        shown(None, &["list"]),
        shown(Some("72"), &["list"]),
        shown(Some("40"), &["list"]),
        shown(None, &["attention", "--all"]),
        shown(Some("60"), &["attention", "--all"]),
        shown(Some("40"), &["attention"]),
    ];
    insta::assert_snapshot!(pages.join("\n"), @r"
    PR 7 review-pr                                               7                ready    preflight 1/4  1 s  nothing is completed in `preflight` yet
    issue 42 start-issue                                         issue-42         ready    preflight 1/5  2 s  nothing is completed in `preflight` yet
    The importer loses the last row of every file that it reads  importer  debug  blocked  preflight 1/5  3 s  Which of the two formats is meant, the old one or the new one?

    PR 7 review-pr    7         ready    pref… 1/4  1 s  nothing is complet…
    issue 42 start-…  issue-42  ready    pref… 1/5  2 s  nothing is complet…
    The importer lo…  importer  blocked  pref… 1/5  3 s  Which of the two f…

    PR 7 review-pr         7         ready
    issue 42 start-issue   issue-42  ready
    The importer loses t…  importer  blocked

    Waits for you  1
      blocked  The importer loses the last row of every file that it reads  importer  preflight 1/5  6 s  Which of the two formats is meant, the old one or the new one?
    Can go on  2
      PR 7 review-pr        7         preflight 1/4  4 s  nothing is completed in `preflight` yet
      issue 42 start-issue  issue-42  preflight 1/5  5 s  nothing is completed in `preflight` yet

    Waits for you  1
      blocked  The importer lo…  importer  6 s  Which of the tw…
    Can go on  2
      PR 7 review-pr        7         4 s  nothing is completed…
      issue 42 start-issue  issue-42  5 s  nothing is completed…

    Waits for you  1
      blocked  The importer loses…  importer
    ");
    for args in [&["list"][..], &["attention", "--all"]] {
        for columns in ["40", "60", "80", "100"] {
            let page = shown(Some(columns), args);
            let widest = page.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= columns.parse().unwrap(), "{columns}: {page}");
        }
    }
}

#[test]
fn a_list_shows_twenty_runs_says_how_to_see_all_and_sorts_by_change() {
    let sandbox = Sandbox::new();
    for at in 0..22 {
        sandbox.flow(["start", "debug", "--id", &format!("r{at:02}")]).ok();
    }
    let page = sandbox.flow(["list"]).ok();
    assert_eq!((page.stdout.lines().count(), page.stderr.as_str()), (20, "2 more; `flow list --limit 22` shows all\n"));
    assert_eq!(sandbox.flow(["list", "--limit", "22"]).ok().stdout.lines().count(), 22);
    let programs = sandbox.flow(["list", "--json"]).ok();
    assert_eq!((programs.json()["runs"].as_array().unwrap().len(), programs.stderr.as_str()), (22, ""));
    sandbox.record("r03", "preflight", "look");
    let first = |args: &[&str]| sandbox.flow(args).ok().json()["runs"][0]["run_id"].clone();
    assert_eq!(first(&["list", "--json"]), "r21");
    assert_eq!(first(&["list", "--sort", "changed", "--json"]), "r03");
}

#[test]
fn a_list_says_what_open_runs_wait_for_in_the_words_that_were_recorded() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "failing"]).ok();
    let failed = ["record-activity", "--run-id", "failing", "--id", "suite", "--exit-code", "101"];
    sandbox.flow([&failed[..], &["--summary", "2 tests fail"]].concat()).ok();
    let report = sandbox.flow(["attention", "--json"]).ok().json();
    let cause = json!({ "text": "2 tests fail", "exit_code": 101, "number": "001", "activity": "suite" });
    assert_eq!(report["runs"][0]["cause"], cause);
    let list = sandbox.flow(["list"]).ok().stdout;
    insta::assert_snapshot!(list, @"debug  failing  failing  preflight 1/5  2 s  2 tests fail · exit 101");
    let hud = sandbox.flow(["hud"]).ok().stdout;
    insta::assert_snapshot!(hud, @"debug  failing  preflight 1/5  failing  2 tests fail · exit 101  now");
    assert_eq!(sandbox.flow(["hud", "--format", "{waits}"]).ok().stdout, "2 tests fail · exit 101\n");
}

#[test]
fn a_long_name_takes_no_reason_from_the_rows() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "a-run-with-a-really-quite-long-name-here"]).ok();
    sandbox.flow(["start", "debug", "--id", "r2", "--goal", "The importer loses the last row"]).ok();
    sandbox.flow(["block", "r2", "--reason", "needs a key"]).ok();
    for args in [&["list"][..], &["attention"], &["watch", "--once"]] {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_flow"));
        command.args(args).env("COLUMNS", "80");
        let told = crate::support::run(command, "").ok().stdout;
        let line = told.lines().find(|line| line.contains("r2")).unwrap();
        assert!(line.contains("The importer") && line.contains("needs a key"), "{told}");
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    }
}
