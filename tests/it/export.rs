//! `export`: a run in forms that other programs read.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::{HostProcess, Sandbox};

const FORMATS: [&str; 7] = ["mermaid", "gantt", "svg", "html", "chrome-trace", "cloudevents", "otlp-json"];

/// What ends a script, a comment, a text or a line, begins a directive, or turns the direction of text.
const HOSTILE: &str = "</script>--> \"x\" 'y' ;#: %%{init: {}}%% --- <!-- ]]> \u{202e}\u{ffff} & \\";

const WORKFLOW: &str = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: own\nphases:\n  \
    - id: plan\n    next: [build]\n  - id: build\n    next: [review, plan]\n  - id: review\n    next: []\n";

/// A project with the workflow `own`.
fn project(workflow: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    std::fs::write(sandbox.path(".flow/workflows/own.workflow.yaml"), workflow).unwrap();
    sandbox
}

fn emit(sandbox: &Sandbox, kind: &str, step: &[&str], data: &Value) {
    let args = ["emit", "--workflow", "own", "--run-id", "r1", "--type", kind];
    let data = data.to_string();
    sandbox.flow([&args[..], &["--data", &data, "--step"], step].concat()).ok();
}

fn report(sandbox: &Sandbox, step: &[&str], status: &str) {
    emit(sandbox, "status_change", step, &json!({ "status": status }));
}

/// The run `r1`: a step is done, the next one failed once, and goes on with a unit and an open question.
fn run() -> Sandbox {
    let sandbox = project(WORKFLOW);
    report(&sandbox, &["plan"], "running");
    report(&sandbox, &["plan"], "completed");
    report(&sandbox, &["build"], "running");
    report(&sandbox, &["build"], "failed");
    report(&sandbox, &["build"], "running");
    report(&sandbox, &["build", "--unit", "T1"], "running");
    report(&sandbox, &["build", "--unit", "T1"], "completed");
    emit(&sandbox, "waiting_for_user", &["build"], &json!({ "prompt": "Which\none?" }));
    sandbox
}

/// A run in which every text is hostile.
fn hostile_run() -> Sandbox {
    let label = serde_json::to_string(HOSTILE).unwrap().replace("\u{ffff}", "");
    let sandbox = project(&WORKFLOW.replace("id: build\n", &format!("id: build\n    description: {label}\n")));
    let goal = format!("{HOSTILE}\nnext line");
    sandbox.flow(["start", "own", "--id", "r1", "--goal", &goal, "--branch", HOSTILE]).ok();
    report(&sandbox, &["plan", "--unit", HOSTILE], "running");
    report(&sandbox, &["plan", "--unit", "title section: x"], "failed");
    emit(
        &sandbox,
        "artifact_registered",
        &["plan"],
        &json!({ "url": "https://x.example/?a=1&b=2", "label": goal, "relationship": "about" }),
    );
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "a", "--summary", &goal]).ok();
    sandbox.flow(["block", "r1", "--reason", &goal]).ok();
    sandbox
}

#[track_caller]
fn export(sandbox: &Sandbox, format: &str) -> String {
    let text = sandbox.flow(["export", "r1", "--format", format]).ok().stdout;
    assert!(text.ends_with('\n'), "{format}");
    text
}

fn json_of(sandbox: &Sandbox, format: &str) -> Value {
    serde_json::from_str(&export(sandbox, format)).unwrap()
}

#[test]
fn the_workflow_is_drawn_with_the_position_of_the_run() {
    let sandbox = run();
    insta::assert_snapshot!(export(&sandbox, "mermaid"), @r"
    stateDiagram-v2
        [*] --> plan:::done
        plan --> build:::waits
        build --> review
        build --> plan
        review --> [*]
        classDef done fill:#e3f3e8,stroke:#17663a,color:#1c2126
        classDef waits fill:#fdeee2,stroke:#96380e,color:#1c2126,stroke-width:3px
    ");
    std::fs::write(
        sandbox.path("drawn.md"),
        format!("## STATE-MACHINE\n\n```mermaid\n{}```\n", export(&sandbox, "mermaid")),
    )
    .unwrap();
    let read = sandbox.flow(["workflow", "check", "drawn.md", "--json"]).ok().json();
    assert_eq!((read["states"].as_array().unwrap().len(), &read["diagnostics"]), (3, &json!([])));
}

#[test]
fn a_gantt_diagram_has_a_section_for_each_step_and_a_task_for_each_span_and_wait() {
    insta::assert_snapshot!(export(&run(), "gantt"), @r"
    gantt
        title r1 (times in UTC)
        dateFormat YYYY-MM-DDTHH:mm:ss.SSS
        axisFormat %d %b %H:%M
        section plan
        1 · plan :done, 2026-05-20T14:30:04.000, 2026-05-20T14:30:05.000
        section build
        1 · build failed :crit, done, 2026-05-20T14:30:06.000, 2026-05-20T14:30:07.000
        2 · build :done, 2026-05-20T14:30:08.000, 2026-05-20T14:30:11.000
        ▲ build waits :crit, active, 2026-05-20T14:30:11.000, 2026-05-20T14:30:13.000
        1 · T1 :done, 2026-05-20T14:30:09.000, 2026-05-20T14:30:10.000
    ");
}

#[test]
fn an_attempt_that_nobody_recorded_is_in_no_export() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "preflight"]).ok();
    let failed = ["--phase", "reproduce", "--id", "reproduce", "--status", "failed"];
    sandbox.flow([&["record-activity", "--run-id", "r1"][..], &failed].concat()).ok();
    insta::assert_snapshot!(export(&sandbox, "gantt"), @r"
    gantt
        title r1 (times in UTC)
        dateFormat YYYY-MM-DDTHH:mm:ss.SSS
        axisFormat %d %b %H:%M
        section preflight
        1 · preflight :milestone, done, 2026-05-20T14:30:05.000, 2026-05-20T14:30:05.000
        section reproduce
        1 · reproduce failed :milestone, crit, done, 2026-05-20T14:30:06.000, 2026-05-20T14:30:06.000
    ");
    let spans = json_of(&sandbox, "otlp-json")["resourceSpans"][0]["scopeSpans"][0]["spans"].clone();
    let names: Vec<_> = spans.as_array().unwrap().iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["debug r1", "preflight", "reproduce"]);
    for format in ["svg", "html"] {
        let picture = export(&sandbox, format);
        assert!(!picture.contains("bar running") && !picture.contains("×2"), "{format}: {picture}");
        assert!(!picture.contains("worked on for"), "{format}: {picture}");
    }
}

#[test]
fn work_goes_on_until_now_while_the_process_of_its_session_lives() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let mut host = HostProcess::new(&sandbox);
    host.flow(&sandbox, "s1", &["start", "debug", "--id", "r1"]);
    host.flow(&sandbox, "s1", &["record-activity", "--run-id", "r1", "--id", "look", "--status", "running"]);
    let spans = |at: &[&str]| {
        let export = [&["export", "r1", "--format", "chrome-trace"][..], at].concat();
        let trace: Value = serde_json::from_str(&sandbox.flow(export).ok().stdout).unwrap();
        let slices = trace["traceEvents"].as_array().unwrap().iter();
        let slices = slices.filter(|event| event["ph"] == "X" && event["tid"] != 0);
        slices.map(|slice| json!([slice["name"], slice["args"]["open"], slice["dur"] != 0])).collect::<Vec<_>>()
    };
    assert_eq!(spans(&[]), [json!(["look", true, true])]);
    // Whether it was alive then is not known any more.
    assert_eq!(spans(&["--at", "2"]), [json!(["look: in_doubt", false, false])]);
    host.kill();
    assert_eq!(spans(&[]), [json!(["look: in_doubt", false, false])]);
}

#[test]
fn a_phase_whose_work_is_done_looks_done_where_the_run_is() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "preflight", "--status", "running"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "preflight"]).ok();
    let page = export(&sandbox, "html");
    assert!(page.contains("class=\"node here done\"") && page.contains("✓ preflight"), "{page}");
    assert!(page.contains("bar done") && !page.contains("bar running"), "{page}");
    assert!(page.contains("worked on for 1 s"), "{page}");
    assert!(export(&sandbox, "mermaid").contains("preflight:::doneHere"));
}

#[test]
fn the_picture_of_the_timeline_is_a_file_of_its_own() {
    let svg = export(&run(), "svg");
    assert!(svg.starts_with("<svg class=\"timeline\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "), "{svg}");
    assert!(svg.contains("@media (prefers-color-scheme: dark)") && !svg.contains("var("), "{svg}");
    for word in ["plan", "build", "T1", "review", "not started"] {
        assert!(svg.contains(word), "{word}: {svg}");
    }
}

#[test]
fn the_page_is_whole_and_asks_no_server() {
    let sandbox = run();
    let page = export(&sandbox, "html");
    for there in ["Which\none?", "events 1 to 9 of 9", "Timeline", "Workflow", "flow emit"] {
        assert!(page.contains(there), "{there}: {page}");
    }
    for not_there in ["<script", "<link", "<button", "<form", "href=\"/", "style="] {
        assert!(!page.contains(not_there), "{not_there}: {page}");
    }
}

#[test]
fn the_page_of_a_long_run_has_all_activities() {
    let sandbox = project(WORKFLOW);
    sandbox.flow(["start", "own", "--id", "r1"]).ok();
    for number in 1..=60 {
        sandbox.inside(["record-activity", "--run-id", "r1", "--id", &format!("a{number}")]).ok();
    }
    let page = export(&sandbox, "html");
    assert_eq!(page.matches("<details class=\"activity\"").count(), 60);
    assert!(page.contains(">a1<") && page.contains(">a60<") && page.contains("events 1 to 61 of 61"));
}

#[test]
fn a_trace_for_chrome_has_a_thread_for_each_lane() {
    let trace = json_of(&run(), "chrome-trace");
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    let threads: BTreeMap<u64, &str> = of("M")
        .into_iter()
        .filter(|event| event["name"] == "thread_name")
        .map(|event| (event["tid"].as_u64().unwrap(), event["args"]["name"].as_str().unwrap()))
        .collect();
    assert_eq!(threads.into_values().collect::<Vec<_>>(), ["sessions", "plan", "build", "T1", "review"]);
    let slices: Vec<_> = of("X")
        .into_iter()
        .map(|event| {
            json!([event["tid"], event["name"], event["dur"], event["args"]["outcome"], event["args"]["open"]])
        })
        .collect();
    assert_eq!(
        json!(slices),
        json!([
            [1, "plan", 1_000_000, "completed", false],
            [2, "build", 1_000_000, "failed", false],
            [2, "build", 3_000_000, null, false],
            [2, "build: waiting", 2_000_000, null, true],
            [3, "T1", 1_000_000, "completed", false],
        ])
    );
    let begun = of("X")[0]["ts"].as_i64().unwrap();
    assert_eq!(begun, "2026-05-20T14:30:04Z".parse::<chrono::DateTime<chrono::Utc>>().unwrap().timestamp_micros());
    let asked = of("i");
    assert_eq!((asked.len(), &asked[0]["name"], &asked[0]["s"]), (1, &json!("question"), &json!("p")));
}

#[test]
fn cloud_events_are_the_events_of_the_log() {
    let sandbox = hostile_run();
    let batch = json_of(&sandbox, "cloudevents");
    let log = sandbox.flow(["log", "r1", "--json"]).ok().json();
    let (batch, log) = (batch.as_array().unwrap(), log["events"].as_array().unwrap());
    assert_eq!(batch.len(), log.len());
    for (cloud, event) in batch.iter().zip(log) {
        let kind = event["type"].as_str().unwrap();
        assert_eq!(cloud["specversion"], "1.0");
        assert_eq!(cloud["source"], "urn:flow:run:r1");
        assert_eq!(cloud["type"], format!("ai.synapti.flow.{kind}"));
        assert_eq!((&cloud["id"], &cloud["time"]), (&event["id"], &event["at"]));
        assert_eq!(cloud["sequence"], format!("{:015}", event["seq"].as_u64().unwrap()));
        for (key, value) in cloud["data"].as_object().unwrap() {
            assert_eq!(*value, event[key], "{kind}: {key}");
        }
        assert!(cloud["data"].get("seq").is_none());
    }
    let ids: BTreeSet<_> = batch.iter().map(|event| event["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), batch.len());
    let subjects: Vec<_> = batch.iter().map(|event| event.get("subject").cloned().unwrap_or_default()).collect();
    assert_eq!(json!(subjects), json!(["plan", "plan", "plan", "plan", "a", null]));
}

#[test]
fn a_trace_of_open_telemetry_has_the_run_as_its_root() {
    let sandbox = run();
    let request = json_of(&sandbox, "otlp-json");
    let spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let attribute = |span: &Value, key: &str| {
        let all = span["attributes"].as_array().unwrap();
        all.iter().find(|one| one["key"] == key).map(|one| one["value"].clone()).unwrap_or_default()
    };
    let ids: BTreeSet<_> = spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), spans.len());
    assert!(ids.iter().all(|id| id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
    let root = &spans[0];
    assert_eq!(root["traceId"].as_str().unwrap().len(), 32);
    assert!(spans.iter().all(|span| span["traceId"] == root["traceId"]));
    assert_eq!((root.get("parentSpanId"), root["events"].as_array().unwrap().len()), (None, 9));
    let named = |id: &Value| spans.iter().find(|span| span["spanId"] == *id).map(|span| span["name"].clone());
    let shown: Vec<_> = spans
        .iter()
        .map(|span| {
            json!([
                span["name"],
                named(&span["parentSpanId"]),
                span["status"]["code"],
                attribute(span, "flow.attempt")["intValue"],
                attribute(span, "flow.open")["boolValue"],
            ])
        })
        .collect();
    assert_eq!(
        json!(shown),
        json!([
            ["own r1", null, null, null, true],
            ["plan", "own r1", 1, "1", null],
            ["build", "own r1", 2, "1", null],
            ["build", "own r1", null, "2", null],
            ["T1", "build", 1, "1", null],
        ])
    );
    let ends = |span: &Value| span["endTimeUnixNano"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(spans.iter().all(|span| ends(span) >= span["startTimeUnixNano"].as_str().unwrap().parse().unwrap()));
    // The same run gives the same ids at any time.
    let later = json_of(&sandbox, "otlp-json");
    let later = &later["resourceSpans"][0]["scopeSpans"][0]["spans"];
    assert_eq!((&later[0]["traceId"], &later[2]["spanId"]), (&root["traceId"], &spans[2]["spanId"]));
}

#[test]
fn a_run_is_exported_as_it_was_after_an_event() {
    let sandbox = run();
    let then = |format: &str| sandbox.flow(["export", "r1", "--format", format, "--at", "2"]).ok().stdout;
    assert_eq!(serde_json::from_str::<Value>(&then("cloudevents")).unwrap().as_array().unwrap().len(), 2);
    assert!(then("html").contains("events 1 to 2 of 2") && !then("html").contains("Which"));
    assert!(!then("gantt").contains("· T1"));
    assert_ne!(then("mermaid"), export(&sandbox, "mermaid"));
    // What was is over: a later export of it is the same to the byte.
    for format in FORMATS {
        assert_eq!(then(format), then(format), "{format}");
    }
    for at in ["0", "10"] {
        let refused = sandbox.flow(["export", "r1", "--format", "svg", "--at", at, "--json"]).exits(3);
        assert_eq!(refused.error()["code"], "event_not_found");
    }
}

#[test]
fn no_text_of_a_run_breaks_a_format() {
    let sandbox = hostile_run();
    for format in FORMATS {
        let text = export(&sandbox, format);
        if text.starts_with(['[', '{']) {
            serde_json::from_str::<Value>(&text).unwrap();
            continue;
        }
        let raw: &[&str] = if text.starts_with('<') { &["</script>", "<!--", "]]>"] } else { &["%%{", "<", "`"] };
        for raw in raw.iter().chain(&["\u{202e}", "\u{ffff}"]) {
            assert!(!text.contains(raw), "{format}: {raw}\n{text}");
        }
    }
    let gantt = export(&sandbox, "gantt");
    let tasks: Vec<_> = gantt.lines().filter(|line| line.contains(" :")).collect();
    assert!(tasks.len() >= 3 && tasks.iter().all(|line| line.matches(" :").count() == 1), "{gantt}");
    assert!(tasks.iter().all(|line| line.trim_start().starts_with(['1', '▲'])), "{gantt}");
}

#[test]
fn an_export_goes_to_a_file_and_replaces_what_is_there_in_one_step() {
    let sandbox = run();
    let file = sandbox.path("new/run.svg");
    let text = sandbox.flow(["export", "r1", "--format", "svg", "--at", "3"]).ok().stdout;
    let told = sandbox.flow(["export", "r1", "--format", "svg", "--at", "3", "-o", "new/run.svg"]).ok();
    assert_eq!(told.stdout, format!("{}\n", std::fs::canonicalize(&file).unwrap().display()));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let report =
        sandbox.flow(["export", "r1", "--format", "gantt", "-o", file.to_str().unwrap(), "--json"]).ok().json();
    let path = json!(std::fs::canonicalize(&file).unwrap());
    assert_eq!(report, json!({ "run_id": "r1", "format": "gantt", "at": null, "path": path, "text": null }));
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("gantt\n"));
    assert_eq!(std::fs::read_dir(sandbox.path("new")).unwrap().count(), 1);
    let report = sandbox.flow(["export", "r1", "--format", "svg", "--at", "3", "--json"]).ok().json();
    assert_eq!(report, json!({ "run_id": "r1", "format": "svg", "at": 3, "path": null, "text": text }));
}

#[test]
fn a_directory_that_is_made_for_an_export_is_named_and_an_empty_export_is_refused() {
    let sandbox = run();
    let made = |line: &str| format!("made {}\n", std::fs::canonicalize(sandbox.path(line)).unwrap().display());
    let export = |to: &str| sandbox.flow(["export", "r1", "--format", "svg", "-o", to]).ok().stderr;
    assert_eq!(export("reports/2026/run.svg"), made("reports"));
    assert_eq!(export("reports/2027/run.svg"), made("reports/2027"));
    assert_eq!(export("reports/run.svg"), "");
    let refused =
        sandbox.flow(["export", "r1", "--format", "in-toto", "-o", "more/run.jsonl", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "nothing_seen");
    assert!(!sandbox.path("more").exists());
}

#[test]
fn a_file_that_is_not_the_users_text_is_refused() {
    let sandbox = run();
    std::fs::create_dir(sandbox.path("dir")).unwrap();
    std::fs::write(sandbox.path("photo"), [0xff, 0xd8, 0x00]).unwrap();
    std::os::unix::fs::symlink("photo", sandbox.path("link")).unwrap();
    std::fs::write(sandbox.path("twice"), "text").unwrap();
    std::fs::hard_link(sandbox.path("twice"), sandbox.path("other")).unwrap();
    std::os::unix::fs::symlink(".flow", sandbox.path("way")).unwrap();
    for (file, code) in [
        ("dir", "unsafe_path"),
        ("dir/", "unsafe_path"),
        ("link", "unsafe_path"),
        ("twice", "unsafe_path"),
        ("photo/x.svg", "unsafe_path"),
        (".flow/x.svg", "unsafe_path"),
        (".flow/runs/r1/run.yaml", "unsafe_path"),
        ("way/x.svg", "unsafe_path"),
        (".git/config", "unsafe_path"),
        ("photo", "not_utf8"),
    ] {
        let refused = sandbox.flow(["export", "r1", "--format", "svg", "-o", file, "--json"]);
        assert_eq!(refused.error()["code"], code, "{file}: {refused:?}");
    }
    assert_eq!(std::fs::read(sandbox.path("photo")).unwrap(), [0xff, 0xd8, 0x00]);
    assert_eq!(std::fs::read_to_string(sandbox.path("other")).unwrap(), "text");
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn a_project_of_another_name_gets_no_export_either() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.root().join("../store");
    let flow = |args: &[&str]| {
        let mut command = sandbox.flow_command();
        command.args(args).env("FLOW_DIR", &elsewhere);
        crate::support::run(command, "")
    };
    flow(&["init"]).ok();
    flow(&["start", "debug", "--id", "r1"]).ok();
    let file = elsewhere.join("x.svg");
    let refused = flow(&["export", "r1", "--format", "svg", "-o", file.to_str().unwrap(), "--json"]).exits(77);
    assert_eq!(refused.error()["code"], "unsafe_path");
}

#[test]
fn what_cannot_be_exported_is_said() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let skill = sandbox.path(".claude/skills/free");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\nname: free\n---\n# Free\nNo machine here.\n").unwrap();
    let args = ["emit", "--workflow", "free", "--type", "status_change", "--run-id", "r1", "--step", "a"];
    sandbox.flow(args.iter().chain(&["--data", r#"{"status":"running"}"#])).ok();
    let refused = sandbox.flow(["export", "r1", "--format", "mermaid", "--json"]).exits(1);
    assert_eq!(refused.error()["code"], "no_diagram");
    for format in &FORMATS[1..] {
        export(&sandbox, format);
    }
    let refused = sandbox.flow(["export", "nosuch", "--format", "svg", "--json"]).exits(3);
    assert_eq!(refused.error()["code"], "run_not_found");
    sandbox.flow(["export", "--format", "pdf"]).exits(2);
    sandbox.flow(["export"]).exits(2);
}
