//! The schemas of requests and reports say what is read and what is printed, no more and no less.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::CommandFactory;
use flowrun::cli::Cli;
use flowrun::demo::{DemoReport, DemoRequest};
use flowrun::doctor::{DoctorReport, DoctorRequest, ValidateReport, VerifyReport, VerifyRequest};
use flowrun::drive::{DriveReport, DriveRequest, Endpoint};
use flowrun::hooks::settings::{
    HooksChangeReport, HooksDoctorReport, HooksDoctorRequest, HooksFilesReport, HooksInstallRequest,
    HooksPluginRequest, HooksSkillRequest, HooksStatusReport, HooksStatusRequest, HooksUninstallRequest, SetupReport,
    SetupRequest,
};
use flowrun::hooks::{HudReport, HudRequest};
use flowrun::interviews::{
    AnswerRequest, FinishRequest, InterviewAbandonReport, InterviewAnswerReport, InterviewFinishReport,
    InterviewListReport, InterviewNext, InterviewRequest, InterviewRunReport, InterviewStartReport,
    InterviewStatusReport, TalkRequest,
};
use flowrun::model::{
    ActivityId, ActivityStatus, ActivityType, Confidence, EventId, ModeName, Number, Problem, ReportType, RunHead,
    RunId, RunStatus, SessionId, StateName, StepStatus, Timestamp, Unit, WorkflowId,
};
use flowrun::modes::{
    HeldRun, ModeEndReport, ModeEndRequest, ModeListReport, ModeListRequest, ModePromptReport, ModePromptRequest,
    ModeRequest, ModeRequestReport, ModeScope, ModeShowReport, ModeShowRequest, ModeWriteReport, ModeWriteRequest,
    OutcomeReport, PolicyReport, SessionsReport,
};
use flowrun::picture::WorkflowGraphReport;
use flowrun::runs::{
    AdoptRequest, AdvanceReport, AdvanceRequest, ApproveReport, AttentionReport, AttentionRequest, BriefRequest, Card,
    CardFilter, ClaimRequest, DocumentKind, EmitReport, EmitRequest, EvidenceReport, EvidenceRequest, ExecReport,
    ExportReport, ForkReport, ForkRequest, HookInput, InitReport, InitRequest, ListFilter, ListReport, ListStatus,
    LogReport, LogRequest, NextStatesReport, NextStatesRequest, PruneReport, PruneRequest, RecordReport, RecordRequest,
    ReplayReport, ReportRequest, ResumeReport, ResumeRequest, RunInList, RunPosition, RunRequest, SessionEndReport,
    SessionEndRequest, SetReport, SetRequest, ShowReport, ShowRequest, Source, StartReport, StartRequest, StatusReport,
    StatusRequest, TrustReport, VerifyEvidenceReport, WorkReport, WorkflowAdoptReport, WorkflowConvertReport,
    WorkflowConvertRequest, WorkflowListReport, WorkflowNewReport, WorkflowNewRequest, WorkflowReport, WorkflowRequest,
    schema_text,
};
use flowrun::sharing::{
    FetchReport, FetchRequest, ProbeReport, PushReport, PushRequest, StoreStatusReport, UseReport, UseRequest,
};
use flowrun::watch::WatchMessage;
use flowrun::web::ServeReport;
use jsonschema::Validator;
use proptest::prelude::*;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::cases::CASES;
use crate::support::server::Server;
use crate::support::{Answer, Sandbox, alone, quick, run};

/// The schema of what is printed.
fn printed<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().into()
}

/// The schema of what is read.
fn read<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().into()
}

/// What `flow show` prints: its document is open, so that its keys are taken from the schema of `run.yaml`.
fn shown() -> Value {
    let mut schema = printed::<ShowReport>();
    let document: Value = serde_json::from_str(schema_text(DocumentKind::Run)).unwrap();
    for key in document["properties"].as_object().unwrap().keys() {
        schema["properties"][key] = json!(true);
    }
    schema.as_object_mut().unwrap().shift_remove("additionalProperties").expect("the document is open");
    schema
}

type Form = fn() -> Value;

/// Every command that answers with JSON, and the schema of its answer.
const ANSWERS: [(&str, Form); 76] = [
    ("init", printed::<InitReport>),
    ("start", printed::<StartReport>),
    ("record-activity", printed::<RecordReport>),
    ("emit", printed::<EmitReport>),
    ("next", printed::<NextStatesReport>),
    ("advance", printed::<AdvanceReport>),
    ("drive", printed::<DriveReport>),
    ("approve", printed::<ApproveReport>),
    ("reject", printed::<ApproveReport>),
    ("block", printed::<StatusReport>),
    ("unblock", printed::<StatusReport>),
    ("complete", printed::<StatusReport>),
    ("fail", printed::<StatusReport>),
    ("cancel", printed::<StatusReport>),
    ("reopen", printed::<StatusReport>),
    ("fork", printed::<ForkReport>),
    ("set", printed::<SetReport>),
    ("trust", printed::<TrustReport>),
    ("session-end", printed::<SessionEndReport>),
    ("hud", printed::<HudReport>),
    ("resume", printed::<ResumeReport>),
    ("attention", printed::<AttentionReport>),
    ("wait", printed::<Card>),
    ("sessions", printed::<SessionsReport>),
    ("evidence", printed::<EvidenceReport>),
    ("exec", printed::<ExecReport>),
    ("replay", printed::<ReplayReport>),
    ("serve", printed::<ServeReport>),
    ("watch", printed::<WatchMessage>),
    ("list", printed::<ListReport>),
    ("show", shown),
    ("log", printed::<LogReport>),
    ("export", printed::<ExportReport>),
    ("report", printed::<WorkReport>),
    ("validate", printed::<ValidateReport>),
    ("doctor", printed::<DoctorReport>),
    ("prune", printed::<PruneReport>),
    ("verify", printed::<VerifyReport>),
    ("remote use", printed::<UseReport>),
    ("remote status", printed::<StoreStatusReport>),
    ("remote probe", printed::<ProbeReport>),
    ("remote push", printed::<PushReport>),
    ("remote fetch", printed::<FetchReport>),
    ("workflow list", printed::<WorkflowListReport>),
    ("workflow new", printed::<WorkflowNewReport>),
    ("workflow show", printed::<WorkflowReport>),
    ("workflow check", printed::<WorkflowReport>),
    ("workflow graph", printed::<WorkflowGraphReport>),
    ("workflow adopt", printed::<WorkflowAdoptReport>),
    ("workflow convert", printed::<WorkflowConvertReport>),
    ("demo", printed::<DemoReport>),
    ("setup", printed::<SetupReport>),
    ("hooks install", printed::<HooksChangeReport>),
    ("hooks uninstall", printed::<HooksChangeReport>),
    ("hooks status", printed::<HooksStatusReport>),
    ("hooks doctor", printed::<HooksDoctorReport>),
    ("hooks plugin", printed::<HooksFilesReport>),
    ("hooks skill", printed::<HooksFilesReport>),
    ("mode request", printed::<ModeRequestReport>),
    ("mode list", printed::<ModeListReport>),
    ("mode show", printed::<ModeShowReport>),
    ("mode write", printed::<ModeWriteReport>),
    ("mode clear", printed::<ModeEndReport>),
    ("mode cancel", printed::<ModeEndReport>),
    ("mode outcome", printed::<OutcomeReport>),
    ("mode prompt", printed::<ModePromptReport>),
    ("mode policy", printed::<PolicyReport>),
    ("interview start", printed::<InterviewStartReport>),
    ("interview next", printed::<InterviewNext>),
    ("interview answer", printed::<InterviewAnswerReport>),
    ("interview skip", printed::<InterviewAnswerReport>),
    ("interview list", printed::<InterviewListReport>),
    ("interview status", printed::<InterviewStatusReport>),
    ("interview finish", printed::<InterviewFinishReport>),
    ("interview abandon", printed::<InterviewAbandonReport>),
    ("interview run", printed::<InterviewRunReport>),
];

/// Commands that print a text of their own, whatever was asked for.
const TEXTS: [&str; 5] = ["schema", "completions", "man", "hook", "mcp"];

/// Lets no object have a property that its schema does not name.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(close);
            if object.contains_key("properties") && !object.contains_key("additionalProperties") {
                object.insert("unevaluatedProperties".to_owned(), json!(false));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        _ => {}
    }
}

fn validator(mut schema: Value) -> Validator {
    // Who reads a schema knows no paths of modules.
    assert!(!schema.to_string().contains("[`"), "a link in a description: {schema:#}");
    close(&mut schema);
    jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap()
}

#[track_caller]
fn assert_valid(validator: &Validator, value: &Value, what: &str) {
    let errors: Vec<_> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{what}:\n{}\n{value:#}", errors.join("\n"));
}

/// The schemas of all answers, and which commands gave one that fits.
struct Forms {
    answers: BTreeMap<&'static str, Validator>,
    problem: Validator,
    seen: RefCell<BTreeSet<&'static str>>,
}

impl Forms {
    fn new() -> Self {
        Self {
            answers: ANSWERS.iter().map(|(command, form)| (*command, validator(form()))).collect(),
            problem: validator(printed::<Problem>()),
            seen: RefCell::default(),
        }
    }

    /// Holds what a command printed against its schema.
    #[track_caller]
    fn check(&self, args: &[impl AsRef<str>], answer: &Answer) {
        let line = args.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" ");
        let is_called = |command: &&&str| line == **command || line.starts_with(&format!("{command} "));
        let command = *self.answers.keys().find(is_called).unwrap_or_else(|| panic!("no schema for flow {line}"));
        if answer.stdout.is_empty() {
            let error = answer.error();
            return assert_valid(&self.problem, &error, &line);
        }
        assert_valid(&self.answers[command], &answer.json(), &line);
        self.seen.borrow_mut().insert(command);
    }

    /// What commands that only look print of a project.
    fn look(&self, sandbox: &Sandbox) {
        for line in LOOKS {
            let args: Vec<_> = line.split(' ').chain(["--json"]).collect();
            self.check(&args, &sandbox.inside(&args));
        }
        for run in sandbox.runs() {
            for line in LOOKS_AT_A_RUN {
                let (command, more) = line.split_once(' ').unwrap_or((line, ""));
                let args: Vec<_> =
                    [command, &run].into_iter().chain(more.split_whitespace()).chain(["--json"]).collect();
                self.check(&args, &sandbox.inside(&args));
            }
        }
    }

    /// A command of the real program, which answers.
    #[track_caller]
    fn ask(&self, sandbox: &Sandbox, args: &[&str]) {
        self.ask_in(&sandbox.root(), sandbox, args);
    }

    /// The same in another directory.
    #[track_caller]
    fn ask_in(&self, dir: &Path, sandbox: &Sandbox, args: &[&str]) {
        let args: Vec<_> = args.iter().chain(&["--json"]).copied().collect();
        let mut command = sandbox.flow_command();
        command.args(&args).current_dir(dir);
        let answer = run(command, "");
        assert!(!answer.stdout.is_empty(), "{args:?}: {answer:?}");
        self.check(&args, &answer);
    }
}

const LOOKS: [&str; 26] = [
    "watch --once",
    "sessions",
    "evidence --all",
    "interview list",
    "attention",
    "attention --all",
    "list",
    "list --worktrees",
    "resume",
    "doctor",
    "doctor --repair --dry-run",
    "validate",
    "mode list --all",
    "mode list --session s1",
    "mode show forge",
    "mode show forge --session s1",
    "mode policy",
    "mode outcome .flow/state/forge-state.json",
    "interview next docs/charter.md",
    "interview status docs/charter.md",
    "workflow list",
    "workflow show start-issue",
    "workflow check build",
    "workflow graph debug",
    "workflow convert debug --to mermaid",
    "workflow show nothing",
];

const LOOKS_AT_A_RUN: [&str; 10] = [
    "wait --timeout 0",
    "evidence",
    "show",
    "show --at 1",
    "log",
    "export --format mermaid",
    "next",
    "resume --all",
    "verify",
    "doctor",
];

const BROKEN: &str = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: broken\nphases:\n  - id: one\n    \
                      next: [two]\n";

/// Hooks of every kind in the settings of hosts, the plugin and the skills.
fn hosts(forms: &Forms) {
    let sandbox = Sandbox::within(&quick());
    for dir in ["../.claude", "../.codex"] {
        std::fs::create_dir(sandbox.path(dir)).unwrap();
    }
    for args in [
        &["hooks", "doctor"][..],
        &["hooks", "install", "--scope", "project", "--dry-run", "--continue", "--statusline"],
        &["hooks", "install", "--statusline"],
        &["hooks", "install"],
        &["hooks", "status"],
        &["hooks", "doctor"],
        &["hooks", "uninstall"],
        &["hooks", "plugin", "plugin"],
        &["hooks", "skill"],
        &["setup", "claude-code", "gemini-cli"],
        &["setup", "claude-code", "gemini-cli", "--yes"],
        &["setup", "--undo", "--yes"],
    ] {
        forms.ask(&sandbox, args);
    }
}

/// A run with artifacts, units, sub-agents, a question and a phase that was passed over; another one that cannot be read;
/// one in another worktree; a graph to drive.
fn varied(forms: &Forms) {
    let sandbox = Sandbox::within(&quick());
    forms.ask(&sandbox, &["workflow", "new", "own"]);
    forms.ask(&sandbox, &["demo", "../shown", "--board"]);
    forms.ask(&sandbox, &["init"]);
    let emit = |kind: &str, more: &[&str]| {
        let args = ["emit", "--workflow", "build", "--run-id", "r1", "--session", "s1", "--type", kind];
        forms.ask(&sandbox, &[&args[..], more].concat());
    };
    let running = r#"{"status":"running"}"#;
    emit("status_change", &["--step", "requirements", "--data", running]);
    std::fs::write(sandbox.path("a.md"), "a").unwrap();
    emit(
        "artifact_registered",
        &["--step", "requirements", "--data", r#"{"path":"a.md","feature":"f","kind":"mine"}"#],
    );
    let link = r#"{"url":"https://example.com/a","label":"A","relationship":"about"}"#;
    emit("artifact_registered", &["--unit", "T1", "--data", link]);
    emit("status_change", &["--step", "requirements", "--unit", "T1", "--data", running]);
    emit("status_change", &["--step", "helper:reading", "--data", running]);
    emit("waiting_for_user", &["--step", "requirements", "--data", r#"{"prompt":"Which?"}"#]);
    forms.ask(&sandbox, &["resume", "r1"]);
    forms.ask(&sandbox, &["export", "r1", "--format", "otlp-json", "--at", "2"]);
    forms.ask(&sandbox, &["export", "r1", "--format", "html", "-o", "r1.html"]);
    forms.ask(&sandbox, &["start", "debug", "--id", "r2", "--session", "s1"]);
    forms
        .ask(&sandbox, &["record-activity", "--run-id", "r2", "--session", "s1", "--status", "running", "--id", "try"]);
    let skip = ["--phase", "reproduce", "--id", "seen", "--skip-reason", "known"];
    forms.ask(&sandbox, &[&["record-activity", "--run-id", "r2", "--session", "s1"], &skip[..]].concat());
    forms.ask(&sandbox, &["resume", "r2", "--session", "s2"]);
    forms.ask(&sandbox, &["trust"]);
    // What stands behind the dashes is the command's.
    let exec = ["exec", "--json", "--run-id", "r2", "--session", "s1", "--id", "ran", "--", "true"];
    forms.check(&exec, &sandbox.flow(exec));
    forms.ask(&sandbox, &["fork", "r2", "--id", "r2-again", "--reason", "the other way"]);
    forms.ask(&sandbox, &["cancel", "r2-again"]);
    forms.ask(&sandbox, &["replay", "r2"]);
    forms.ask(&sandbox, &["report", "r2"]);
    forms.ask(&sandbox, &["prune", "--older-than", "0d", "--dry-run"]);
    let verified = sandbox.flow(["verify", "r2", "--evidence", "--json"]).json();
    assert_valid(&validator(printed::<VerifyEvidenceReport>()), &verified, "verify --evidence");
    forms.ask(&sandbox, &["show", "r2"]);
    forms.ask(&sandbox, &["resume", "r2", "--session", "s1"]);
    forms.ask(&sandbox, &["set", "r2", "--limit", "max_iterations=1", "--feature", "f", "--session", "s1"]);

    sandbox.git(&["worktree", "add", "-q", "../tree", "-b", "tree"]);
    forms.ask_in(&sandbox.root().join("../tree"), &sandbox, &["start", "debug", "--id", "r9"]);

    sandbox.flow(["start", "debug", "--id", "r3"]).ok();
    std::fs::write(sandbox.run_dir("r3").join("run.yaml"), "state: [").unwrap();
    std::fs::write(sandbox.run_dir("r3").join("events.jsonl"), "nothing\n").unwrap();
    std::fs::write(sandbox.path("broken.workflow.yaml"), BROKEN).unwrap();
    for args in [
        &["list", "--worktrees"][..],
        &["list", "--status", "failed"],
        &["doctor", "--worktrees"],
        &["resume", "--worktrees"],
        &["hud"],
        &["validate", ".flow"],
        &["validate", "broken.workflow.yaml"],
        &["workflow", "check", "broken.workflow.yaml"],
        &["doctor", "--repair"],
    ] {
        forms.ask(&sandbox, args);
    }
    forms.look(&sandbox);

    let graph = "initial: call\nstates:\n  call: {type: tool, transition: {next: [ask]}}\n  \
                 ask: {type: user, transition: {next: [end]}}\n  end: {type: terminal}\n";
    std::fs::write(sandbox.path("job.graph.yaml"), graph).unwrap();
    let drive = ["drive", "job.graph.yaml", "--run-id", "r4", "--on", "tool=echo done"];
    forms.ask(&sandbox, &drive);
    forms.ask(&sandbox, &[&drive[..], &["--on", "user=false"]].concat());
    forms.ask(&sandbox, &["workflow", "check", "job.graph.yaml"]);
    forms.ask(&sandbox, &["interview", "run", "docs/charter.md"]);
}

/// Runs that a git remote keeps, and one that it does not have yet.
fn shared(forms: &Forms) {
    let sandbox = Sandbox::within(&quick());
    sandbox.git(&["init", "-q", "--bare", "../hub.git"]);
    sandbox.git(&["remote", "set-url", "origin", "../hub.git"]);
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    forms.ask(&sandbox, &["remote", "status"]);
    std::fs::write(sandbox.path(".flow/config.yaml"), "store: git:origin\n").unwrap();
    forms.ask(&sandbox, &["list"]);
    forms.ask(&sandbox, &["remote", "status"]);
    for args in [
        &["remote", "use", "git:origin"][..],
        &["start", "debug", "--id", "r2", "--session", "s1"],
        &["remote", "push", "r1"],
        &["remote", "fetch", "r2"],
        &["remote", "status"],
        &["list"],
        &["attention", "--all"],
        &["show", "r1"],
        &["resume", "r2"],
        &["hud", "--session", "s1"],
    ] {
        forms.ask(&sandbox, args);
    }
}

#[test]
fn what_a_command_prints_is_what_the_schema_of_its_report_says() {
    let forms = Forms::new();
    for case in CASES {
        let sandbox = Sandbox::within(&quick());
        let order = (case.prepare)(&sandbox);
        forms.look(&sandbox);
        for args in std::iter::once(&order.args).chain(order.then.iter().map(|(args, _)| args)) {
            let args: Vec<_> = args.iter().map(String::as_str).chain(["--json"]).collect();
            forms.check(&args, &sandbox.inside_on(alone(), &order.env, &args));
        }
        forms.look(&sandbox);
    }
    varied(&forms);
    hosts(&forms);
    shared(&forms);
    let sandbox = Sandbox::within(&quick());
    sandbox.start("debug");
    let stdout = Server::of(&sandbox).report.to_string();
    forms.check(&["serve"], &Answer { stdout, stderr: String::new(), code: Some(0) });
    let seen = forms.seen.into_inner();
    // Two answer only a person, see `gates`; one takes long, see `remote`.
    let is_tried_elsewhere = |name: &&str| ["approve", "reject", "remote probe"].contains(name);
    let unseen: Vec<_> = ANSWERS
        .iter()
        .map(|(command, _)| *command)
        .filter(|name| !seen.contains(name) && !is_tried_elsewhere(name))
        .collect();
    assert!(unseen.is_empty(), "gave no answer: {unseen:?}");
}

#[test]
fn a_field_that_is_printed_and_not_in_the_schema_is_noticed() {
    let sandbox = Sandbox::within(&quick());
    let run = sandbox.start("debug");
    let forms = Forms::new();
    for args in [&["list"][..], &["show", &run], &["resume", &run], &["workflow", "show", "debug"]] {
        let answer = sandbox.inside(args.iter().chain(&["--json"])).json();
        let name = args.iter().take(if args[0] == "workflow" { 2 } else { 1 }).copied().collect::<Vec<_>>().join(" ");
        let validator = &forms.answers[name.as_str()];
        assert_valid(validator, &answer, &name);
        let objects = ["", "/runs/0", "/next", "/steps/0", "/states/0"];
        let there: Vec<_> = objects.iter().filter(|at| answer.pointer(at).is_some_and(Value::is_object)).collect();
        assert!(there.len() > 1, "{name}: {answer}");
        for at in there {
            let mut more = answer.clone();
            more.pointer_mut(at).unwrap()["unheard_of"] = json!(1);
            assert!(!validator.is_valid(&more), "{name}: `{at}` takes a field that it does not name");
        }
    }
}

/// The commands of the program that have no commands below them.
fn leaves(command: &clap::Command, above: &str, found: &mut BTreeSet<String>) {
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let name = format!("{above}{}", sub.get_name());
        match sub.has_subcommands() {
            true => leaves(sub, &format!("{name} "), found),
            false => drop(found.insert(name)),
        }
    }
}

#[test]
fn every_command_has_a_schema_of_its_answer_or_prints_a_text_of_its_own() {
    let mut tree = Cli::command();
    tree.build();
    let mut found = BTreeSet::new();
    leaves(&tree, "", &mut found);
    let known = ANSWERS.iter().map(|(command, _)| *command).chain(TEXTS);
    assert_eq!(found, known.map(str::to_owned).collect());
}

/// A request as JSON with a value for every field, and what it lacks when only what it needs is given.
fn holds<T: Serialize + DeserializeOwned + JsonSchema>(sample: &Value) {
    let name = std::any::type_name::<T>();
    let schema = read::<T>();
    let validator = validator(schema.clone());
    let parse = |value: &Value| serde_json::from_value::<T>(value.clone());
    let fields: BTreeSet<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
    let given: BTreeSet<_> = sample.as_object().unwrap().keys().cloned().collect();
    assert_eq!(given, fields, "{name}: the sample has every field");
    assert_valid(&validator, sample, name);
    let written = serde_json::to_value(parse(sample).unwrap_or_else(|error| panic!("{name}: {error}"))).unwrap();
    assert_eq!(written, *sample, "{name}");
    for (field, property) in schema["properties"].as_object().unwrap() {
        assert!(property.get("description").is_some(), "{name}: `{field}` is not described");
    }

    let needed = schema["required"].as_array().cloned().unwrap_or_default();
    let least: Value = needed
        .iter()
        .map(|field| (field.as_str().unwrap().to_owned(), sample[field.as_str().unwrap()].clone()))
        .collect();
    assert_valid(&validator, &least, name);
    let filled = parse(&least).unwrap_or_else(|error| panic!("{name}, only what is needed: {error}"));
    let filled = serde_json::to_value(filled).unwrap();
    assert_valid(&validator, &filled, name);
    assert_eq!(serde_json::to_value(parse(&filled).unwrap()).unwrap(), filled, "{name}");
    for field in needed {
        let mut less = sample.clone();
        less.as_object_mut().unwrap().shift_remove(field.as_str().unwrap());
        assert!(parse(&less).is_err() && !validator.is_valid(&less), "{name} is read without {field}");
    }

    let mut more = sample.clone();
    more["unheard_of"] = json!(1);
    assert!(parse(&more).is_err(), "{name} takes a field that it does not know");
    assert!(!validator.is_valid(&more), "the schema of {name} takes a field that it does not know");
}

#[test]
fn every_request_over_runs_reads_what_it_writes_and_refuses_unknown_fields() {
    let report = json!({ "type": "status_change", "step": "a", "unit": "T1", "data": { "status": "running" } });
    holds::<ReportRequest>(&report);
    holds::<AdoptRequest>(&json!({ "run_id": "r1", "from": "a.yaml", "session": "s1", "epoch": 2 }));
    holds::<EmitRequest>(&json!({
        "workflow": "build", "run_id": "r1", "reports": [report], "id": "k1", "seen": 4, "name": "N",
        "session": "s1", "epoch": 2, "local": true,
    }));
    holds::<ListFilter>(&json!({
        "status": ["active", "blocked", "question", "waiting", "joined", "failed", "completed", "cancelled"],
        "feature": "f", "search": "#42", "workflow": "debug", "session": "s1", "since": "2026-05-20T14:30:00.000Z",
        "sort": "changed", "limit": 3, "worktrees": true, "attention": true, "usage": true,
    }));
    holds::<AttentionRequest>(&json!({ "all": true }));
    holds::<EvidenceRequest>(&json!({ "run_id": "r1", "all": true, "feature": "f", "session": "s1" }));
    holds::<LogRequest>(&json!({ "run_id": "r1", "after": 3, "limit": 5, "session": "s1" }));
    holds::<RunRequest>(&json!({ "run_id": "r1", "at": 3, "session": "s1" }));
    let narrowed = json!({ "group": "over", "search": "#42", "workflow": "debug", "status": "failed", "sort": "longest", "skip": 1, "limit": 5 });
    holds::<CardFilter>(&narrowed);
    holds::<BriefRequest>(&json!({ "session": "s1" }));
    holds::<ShowRequest>(&json!({ "run_id": "r1", "at": 3, "session": "s1" }));
    holds::<NextStatesRequest>(&json!({ "run_id": "r1", "session": "s1" }));
    holds::<WorkflowRequest>(&json!({ "target": "job.graph.yaml", "types": ["t"] }));
    for to in ["phases", "graph", "mermaid"] {
        holds::<WorkflowConvertRequest>(&json!({ "target": "debug", "to": to, "types": ["t"] }));
    }
    holds::<AdvanceRequest>(&json!({
        "run_id": "r1", "to": "plan", "summary": "s", "id": "k1", "session": "s1", "epoch": 2,
    }));
    holds::<Source>(&json!({ "origin": "a.yaml", "text": "kind: FlowActivity" }));
    for advance in [json!("next"), json!({ "to": "plan" })] {
        holds::<RecordRequest>(&json!({
            "run_id": "r1", "source": { "origin": "a.yaml", "text": "" }, "id": "a", "phase": "plan", "type": "gate",
            "status": "passed", "name": "N", "summary": "s", "confidence": "high", "evidence": ["e"], "files": ["f"],
            "exit_code": -1, "usage": { "tokens_in": 1, "tokens_out": 2, "cost": { "amount": "0.40", "currency": "USD" },
            "model": "m", "duration": "12.5s" }, "started_at": "2026-05-20T14:30:00Z", "advance": advance, "settles": ["b"], "skip_reason": "w",
            "session": "s1", "epoch": 2,
        }));
    }
    for claim in ["claim", "take_over"] {
        assert!(serde_json::from_value::<ClaimRequest>(json!(claim)).is_ok());
        holds::<ResumeRequest>(&json!({
            "run_id": "r1", "claim": claim, "all": true, "seen": 3, "session": "s1", "worktrees": true,
        }));
    }
    let hook = json!({ "session_id": "s1", "reason": "exit", "cwd": "/tmp" });
    holds::<HookInput>(&hook);
    holds::<SessionEndRequest>(&json!({ "session": "s1", "hook": hook, "unowned": true }));
    holds::<HudRequest>(&json!({ "session": "s1", "cwd": "/tmp", "project": "/tmp" }));
    holds::<SetRequest>(&json!({
        "run_id": "r1", "issue": 1, "pr": 2, "branch": "b", "repo": "r", "feature": "f", "goal": "g",
        "limits": { "max_iterations": 20, "max_runtime_minutes": null }, "another": true, "session": "s1", "epoch": 2,
    }));
    holds::<StartRequest>(&json!({
        "workflow": "debug", "issue": 1, "pr": 2, "goal": "g", "branch": "b", "repo": "r", "journal": "j", "slug": "s",
        "phase": "fix", "session": "s1", "run_id": "r1", "another": true, "local": true,
    }));
    holds::<ForkRequest>(&json!({
        "run_id": "r1", "at": 3, "id": "r2", "reason": "w", "workflow_now": true, "session": "s1", "local": true,
    }));
    holds::<UseRequest>(&json!({ "store": "git:origin" }));
    holds::<FetchRequest>(&json!({ "run_id": "r1" }));
    holds::<PushRequest>(&json!({ "run_id": "r1", "another": true }));
    for verb in ["block", "unblock", "complete", "fail", "cancel", "reopen"] {
        holds::<StatusRequest>(&json!({
            "run_id": "r1", "verb": verb, "reason": "w", "skip_reason": "w", "another": true, "id": "k1",
            "seen": 4, "session": "s1", "epoch": 2,
        }));
    }
}

#[test]
fn every_other_request_reads_what_it_writes_and_refuses_unknown_fields() {
    let scope = json!({ "session": "s1", "root": false });
    holds::<ModeScope>(&scope);
    holds::<ModeRequest>(&json!({ "mode": "forge", "scope": scope, "review_clean": true, "run_id": "r1" }));
    holds::<ModeWriteRequest>(&json!({
        "mode": "forge", "scope": scope, "fields": { "task": "t", "gone": null }, "review_clean": false,
    }));
    holds::<ModePromptRequest>(&json!({ "text": "$forge go", "scope": scope }));
    holds::<ModeListRequest>(&json!({ "scope": scope, "all": true }));

    holds::<ModeShowRequest>(&json!({ "mode": "forge", "scope": scope }));
    holds::<ModeEndRequest>(&json!({ "mode": "forge", "scope": scope, "all": true }));

    holds::<VerifyRequest>(&json!({ "run_id": "r1", "session": "s1" }));
    holds::<DoctorRequest>(&json!({
        "run_id": "r1", "repair": true, "dry_run": true, "strict": true, "worktrees": true,
    }));

    holds::<PruneRequest>(&json!({
        "ended_before": "2026-05-20T14:30:00.000Z", "keep": 2, "to": "archive", "only": ["r1"], "dry_run": true,
    }));
    holds::<WorkflowNewRequest>(&json!({ "id": "own" }));
    holds::<InitRequest>(&json!({ "schemas": true }));
    holds::<DemoRequest>(&json!({ "dir": "there", "board": true }));
    holds::<SetupRequest>(&json!({ "hosts": ["codex"], "user": true, "undo": true }));
    holds::<HooksInstallRequest>(&json!({
        "host": "codex", "scope": "project", "dry_run": true, "continue": true, "gate": true, "statusline": true,
    }));
    holds::<HooksUninstallRequest>(&json!({ "host": "claude-code", "scope": "local", "dry_run": true }));
    holds::<HooksStatusRequest>(&json!({ "host": "all", "scope": "user" }));
    holds::<HooksDoctorRequest>(&json!({ "host": "codex" }));
    holds::<HooksPluginRequest>(&json!({ "dir": "plugin", "replace": true }));
    holds::<HooksSkillRequest>(&json!({ "dir": "there", "replace": true }));

    let endpoint = json!({ "url": "http://localhost/v1", "model": "m" });
    for choose in [json!("nobody"), json!({ "command": "choose" }), json!({ "endpoint": endpoint })] {
        holds::<DriveRequest>(&json!({
            "graph": "job.graph.yaml", "run_id": "r1", "on": { "tool": "echo", "agent": "cat" }, "types": ["t"],
            "choose": choose, "max_iter": 3, "timeout": 2.5, "goal": "g", "session": "s1", "dir": "sub",
        }));
    }

    let interview = json!({ "document": "docs/charter.md", "script": "charter", "run_id": "r1", "force": true });
    holds::<InterviewRequest>(&interview);
    holds::<TalkRequest>(&json!({
        "interview": interview, "agent": "ask", "timeout": 2.5, "record": "a.jsonl", "replay": "b.jsonl",
    }));
    for answer in [json!("open"), json!({ "answered": "Tasks." }), json!({ "skipped": "ask Ada" })] {
        for replaces in [json!("nothing"), json!("anything"), json!({ "seen": answer })] {
            holds::<AnswerRequest>(&json!({
                "document": "docs/charter.md", "question": 3, "asked": { "topic": "t", "asked": "Why?" },
                "answer": answer, "replaces": replaces,
            }));
        }
    }
    holds::<FinishRequest>(&json!({
        "document": "docs/charter.md", "content": { "scope": "Tasks." }, "early": true, "seen": "text",
    }));
}

#[test]
fn the_key_of_an_endpoint_is_read_and_never_written() {
    let endpoint: Endpoint = serde_json::from_value(json!({ "url": "u", "model": "m", "key": "secret" })).unwrap();
    assert_eq!(endpoint.key.as_deref(), Some("secret"));
    assert!(!serde_json::to_string(&endpoint).unwrap().contains("secret"));
}

#[test]
fn a_time_span_that_cannot_be_is_refused() {
    for timeout in [json!(-1), json!(1e300), json!("3")] {
        let request = json!({ "graph": "g", "max_iter": 1, "timeout": timeout });
        assert!(serde_json::from_value::<DriveRequest>(request).is_err(), "{timeout}");
    }
}

/// The words that a schema allows.
fn words(schema: &Value) -> Vec<String> {
    let listed = schema["enum"].as_array().into_iter().flatten();
    let alone = schema.get("const");
    let mut found: Vec<String> = listed.chain(alone).map(|word| word.as_str().unwrap().to_owned()).collect();
    found.extend(schema["oneOf"].as_array().into_iter().flatten().flat_map(words));
    found
}

#[test]
fn the_words_of_a_schema_are_those_of_files_and_command_lines() {
    fn same<T: JsonSchema + Copy, const N: usize>(all: [T; N], as_str: fn(T) -> &'static str) {
        assert_eq!(words(&read::<T>()), all.map(as_str));
    }
    same(ActivityStatus::ALL, ActivityStatus::as_str);
    same(ActivityType::ALL, ActivityType::as_str);
    same(Confidence::ALL, Confidence::as_str);
    same(ReportType::ALL, ReportType::as_str);
    same(RunStatus::ALL, RunStatus::as_str);
    same(StepStatus::ALL, StepStatus::as_str);
    let of_file = ListStatus::ALL.into_iter().filter(|status| status.is_by_file());
    assert_eq!(words(&read::<ListStatus>()), of_file.map(ListStatus::as_str).collect::<Vec<_>>());
    let mut tree = Cli::command();
    tree.build();
    let status = tree.find_subcommand("list").unwrap().get_arguments().find(|arg| arg.get_id() == "status").unwrap();
    let taken: Vec<_> = status.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
    assert_eq!(taken, ListStatus::ALL.map(ListStatus::as_str));
}

#[test]
fn the_keys_of_a_run_are_those_that_docs_json_md_has() {
    fn keys(schema: &Value) -> BTreeSet<String> {
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    }
    let asked = [
        ("list", keys(&printed::<RunInList>())),
        ("attention", keys(&printed::<Card>())),
        ("sessions", keys(&printed::<HeldRun>())),
        ("hud", keys(&printed::<RunPosition>())),
        ("resume", keys(&printed::<ResumeReport>())),
        ("candidates", keys(&printed::<RunHead>())),
    ];
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/json.md")).unwrap();
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        for place in cells[1].split(", ") {
            let places: &[&str] = match place {
                "all" => &["list", "attention", "sessions", "hud", "resume", "candidates"],
                one => &[one],
            };
            for place in places {
                let of_place = told.entry((*place).to_owned()).or_default();
                of_place.extend(cells[0].split(", ").map(|key| key.trim_matches('`').to_owned()));
            }
        }
    }
    for (place, keys) in asked {
        assert_eq!(told[place], keys, "{place}");
    }
}

/// Whether the schema of a name takes `text`, for each kind of name beside whether the name itself does.
fn takes(text: &str) -> Vec<(&'static str, bool, bool)> {
    thread_local! {
        static SCHEMAS: Vec<Validator> = [
            read::<RunId>(),
            read::<ModeName>(),
            read::<ActivityId>(),
            read::<SessionId>(),
            read::<WorkflowId>(),
            read::<StateName>(),
            read::<Unit>(),
            read::<EventId>(),
        ]
        .iter()
        .map(|schema| jsonschema::draft202012::new(schema).unwrap())
        .collect();
    }
    let names = [
        ("run id", RunId::new(text).is_ok()),
        ("mode", ModeName::new(text).is_ok()),
        ("activity id", ActivityId::new(text).is_ok()),
        ("session id", SessionId::new(text).is_ok()),
        ("workflow id", WorkflowId::new(text).is_ok()),
        ("phase", StateName::new(text).is_ok()),
        ("unit", Unit::new(text).is_ok()),
        ("operation id", EventId::new(text).is_ok()),
    ];
    SCHEMAS.with(|schemas| {
        let said = names.into_iter().zip(schemas);
        said.map(|((what, taken), schema)| (what, taken, schema.is_valid(&json!(text)))).collect()
    })
}

/// Whether the patterns of schemas know all characters of `text`. Programs may follow a newer Unicode than their
/// libraries for patterns do.
fn is_assigned(text: &str) -> bool {
    thread_local! {
        static ASSIGNED: Validator = jsonschema::draft202012::new(&json!({ "pattern": "^\\P{Cn}*$" })).unwrap();
    }
    ASSIGNED.with(|assigned| assigned.is_valid(&json!(text)))
}

proptest! {
    #[test]
    fn a_name_is_taken_when_its_schema_takes_it(
        text in prop_oneof!["[A-Za-z0-9._:-]{0,5}", "\\PC{0,8}", "(?s).{0,3}", "[a-z]{199,202}", "[a-z]{63,66}", "[a-z]{127,130}"],
    ) {
        prop_assume!(is_assigned(&text));
        for (what, taken, said) in takes(&text) {
            // Its description says so.
            let of_windows = what == "run id" && RunId::new(format!("{text}x")).is_ok();
            prop_assert!(taken == said || said && of_windows, "{what} {text:?}: {taken}, and the schema says {said}");
        }
    }
}

#[test]
fn numbers_and_times_are_written_as_their_schemas_say() {
    let numbers = validator(printed::<Number>());
    for number in [1, 42, 999, 1000, u64::MAX] {
        assert_valid(&numbers, &json!(Number(number)), "a number");
    }
    assert!(!numbers.is_valid(&json!("1")) && !numbers.is_valid(&json!(1)));
    let times = validator(printed::<Timestamp>());
    let time: Timestamp = "2026-05-20T16:30:00+02:00".parse().unwrap();
    assert_valid(&times, &json!(time), "a time");
    assert!(!times.is_valid(&json!("yesterday")));
}
