use serde_json::json;

use super::*;
use crate::codec::{RunText, parse, parse_value, seal};

/// FlowRun's template as a shell would have filled it in, timestamps unquoted, `current_activity` null.
const SEED_RUN: &str = "\
apiVersion: flow.synapti.ai/v1
kind: FlowRun
metadata:
  id: 2026-05-20T143000Z-issue-42
  workflow: start-issue
  workflow_version: 1
  goal: null
  created_at: 2026-05-20T14:30:00Z
context:
  repo: acme/rocket
  branch: fix/issue-42
  issue: 42
  pr: null
  journal: .decisions/issue-42.md
state:
  status: active
  current_phase: preflight
  current_activity: null
  completed_activities: []
  blocked_reason: null
limits:
  max_iterations: 10
  max_runtime_minutes: null
events:
  - at: 2026-05-20T14:30:00Z
    type: run_started
";

const SEED_ACTIVITY: &str = "\
apiVersion: flow.synapti.ai/v1
kind: FlowActivity
metadata:
  id: preflight-checks
  run_id: 2026-05-20T143000Z-issue-42
  workflow: start-issue
  phase: preflight
activity:
  type: bash              # bash | skill | agent | task | gate | evaluation
  name: 'Check the tree'
  status: passed
  started_at: 2026-05-20T14:30:00Z
  completed_at: 2026-05-20T14:31:00Z
outputs:
  evidence_refs: []
  files_changed: [a.rs, b.rs]
  command_exit_code: 0
result:
  summary: 'Clean'
  confidence: high
";

const WORKFLOW: &str = "\
apiVersion: flow.synapti.ai/v1
kind: FlowWorkflow
metadata:
  id: review-pr
  command: /flow:review
  version: 1
  description: Review a pull request — in parallel.
inputs:
  pr_number:
    type: integer
    required: true
required_skills:
  - capability-discovery
required_agents:
  - code-reviewer
phases:
  - id: preflight
    type: bash
    gate: blocking
    activities:
      - id: fetch_pr
        type: bash
        evidence: none
  - id: fan-out
    type: parallel_then_judge
    activities:
      - id: dispatch
        type: agent
        agent: code-reviewer
  - id: code
    type: loop
    loop_over: goal.acceptance_criteria
    activities:
      - id: spec_gate
        type: gate
        gate: spec_validation
completion_gate:
  requires:
    - findings_consolidated
tier_classification:
  merge: confirm
";

fn with(text: &str, from: &str, to: &str) -> Value {
    assert!(text.contains(from), "{from}");
    parse_value(&text.replace(from, to)).unwrap()
}

fn messages(kind: DocumentKind, value: &Value) -> Vec<String> {
    validate(kind, value, None).into_iter().map(|v| v.message).collect()
}

#[track_caller]
fn accepts(kind: DocumentKind, value: &Value) {
    assert_eq!(messages(kind, value), [""; 0]);
}

#[test]
fn every_schema_is_valid_and_describes_every_property() {
    fn walk(schema: &Value, at: &str) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let at = format!("{at}/{name}");
            let described = property["title"].is_string() && property["description"].is_string();
            assert!(described || property["$ref"].is_string(), "{at}");
            walk(property, &at);
        }
        for key in ["items", "additionalProperties"] {
            if schema[key].is_object() {
                walk(&schema[key], &format!("{at}/{key}"));
            }
        }
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            walk(definition, &format!("{at}/$defs/{name}"));
        }
        if let (Some(options), Some(texts)) = (schema["enum"].as_array(), schema["enumDescriptions"].as_array()) {
            assert_eq!(options.len(), texts.len(), "{at}");
        }
    }
    for kind in DocumentKind::ALL {
        let schema: Value = serde_json::from_str(schema_text(kind)).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{kind:?}");
        assert!(schema["$id"].as_str().unwrap().starts_with("https://flow.synapti.ai/schemas/v1/"));
        assert!(!schema_text(kind).contains("\"format\""), "{kind:?} asserts a format");
        walk(&schema, "");
    }
}

#[test]
fn the_enums_are_those_of_the_model() {
    let names = |kind, pointer: &str| {
        let schema: Value = serde_json::from_str(schema_text(kind)).unwrap();
        schema.pointer(pointer).unwrap().clone()
    };
    let status = crate::model::RunStatus::ALL.map(crate::model::RunStatus::as_str);
    assert_eq!(names(DocumentKind::Run, "/properties/state/properties/status/enum"), json!(status));
    assert_eq!(names(DocumentKind::Event, "/$defs/status/enum"), json!(status));
    let status = crate::model::ActivityStatus::ALL.map(crate::model::ActivityStatus::as_str);
    let kinds = crate::model::ActivityType::ALL.map(crate::model::ActivityType::as_str);
    let activity = "/properties/activity/properties";
    assert_eq!(names(DocumentKind::Activity, &format!("{activity}/status/enum")), json!(status));
    assert_eq!(names(DocumentKind::Activity, &format!("{activity}/type/enum")), json!(kinds));
}

#[test]
fn flowruns_templates_are_accepted_as_they_stand() {
    accepts(DocumentKind::Run, &parse_value(SEED_RUN).unwrap());
    accepts(DocumentKind::Activity, &parse_value(SEED_ACTIVITY).unwrap());
    accepts(DocumentKind::Workflow, &parse_value(WORKFLOW).unwrap());
}

#[test]
fn what_flowruns_text_shows_is_accepted_in_a_run() {
    for (from, to) in [
        ("status: active", "status: failed"),
        ("journal: .decisions/issue-42.md", "journal: null"),
        ("journal: .decisions/issue-42.md", "journal:"),
        ("current_phase: preflight", "current_phase: fan-out"),
        ("completed_activities: []", "completed_activities: null"),
        ("  completed_activities: []\n", ""),
        ("completed_activities: []", "completed_activities: [a, b, a]"),
        ("goal: null", "goal: issue-42"),
        ("issue: 42", "issue: 42.0"),
        ("issue: 42", "issue: null"),
        ("created_at: 2026-05-20T14:30:00Z", "created_at: '2026-05-20T14:30:00.123+02:00'"),
        ("created_at: 2026-05-20T14:30:00Z", "created_at: 2026-05-20 14:30:00+00:00"),
        ("repo: acme/rocket", "repo: acme/rocket\n  theme: x"),
        ("goal: null", "goal: null\n  trigger: nightly"),
        (
            "status: active",
            "status: active\n  open_activities: [x]\n  session: s-1\n  epoch: 0\n  last_number: 0\n  last_seq: 1\n  updated_at: 2026-05-20T14:30:00.000Z\n  mine: 1",
        ),
        ("id: 2026-05-20T143000Z-issue-42", "id: 550e8400-e29b-41d4-a716-446655440000"),
    ] {
        accepts(DocumentKind::Run, &with(SEED_RUN, from, to));
    }
}

#[test]
fn what_is_wrong_in_a_run_is_said_in_words() {
    for (from, to, pointer, message) in [
        (
            "issue: 42",
            "issue: true",
            "/context/issue",
            "`context.issue` must be a whole number or text or null, not `true`; put it in quotes",
        ),
        ("issue: 42", "issue: 0", "/context/issue", "`context.issue` is 0; the least is 1"),
        (
            "repo: acme/rocket",
            "repo: 7",
            "/context/repo",
            "`context.repo` must be text or null, not 7; put it in quotes",
        ),
        (
            "status: active",
            "status: Active",
            "/state/status",
            "`state.status` is `Active`; did you mean `active`? It can be `active`, `blocked`, `completed`, `failed`, `cancelled`",
        ),
        ("  status: active\n", "", "/state", "`state.status` is missing"),
        ("kind: FlowRun", "kind: FlowRum", "/kind", "`kind` must be `FlowRun`, not `FlowRum`"),
        ("limits:", "limit:", "/limit", "the key `limit` is not known here; did you mean `limits`?"),
        (
            "id: 2026-05-20T143000Z-issue-42",
            "id: ../bad",
            "/metadata/id",
            "`metadata.id` is `../bad`; a run id has 1 to 128 letters, digits, `.`, `_` and `-`, a letter or digit first",
        ),
        (
            "created_at: 2026-05-20T14:30:00Z",
            "created_at: yesterday",
            "/metadata/created_at",
            "`metadata.created_at` is `yesterday`; a time is written like `2026-05-20T14:30:00Z`",
        ),
        (
            "completed_activities: []",
            "completed_activities: [a, 7]",
            "/state/completed_activities/1",
            "`state.completed_activities[1]` must be text, not 7; put it in quotes",
        ),
        ("status: active", "status: active\n  last_seq: 0", "/state/last_seq", "`state.last_seq` is 0; the least is 1"),
        ("status: active", "status: active\n  epoch: -1", "/state/epoch", "`state.epoch` is -1; the least is 0"),
    ] {
        let violations = validate(DocumentKind::Run, &with(SEED_RUN, from, to), None);
        assert_eq!(violations.len(), 1, "{to}: {violations:?}");
        assert_eq!((violations[0].pointer.as_str(), violations[0].message.as_str()), (pointer, message));
    }
}

#[test]
fn a_run_without_state_is_refused() {
    let mut run = parse_value(SEED_RUN).unwrap();
    run.as_object_mut().unwrap().shift_remove("state");
    assert_eq!(messages(DocumentKind::Run, &run), ["`state` is missing"]);
    assert_eq!(messages(DocumentKind::Run, &json!([1])), ["the document must be a mapping, not a list"]);
}

#[test]
fn run_ids_have_128_characters_at_most() {
    let run = |len: usize| with(SEED_RUN, "id: 2026-05-20T143000Z-issue-42", &format!("id: r{}", "x".repeat(len - 1)));
    accepts(DocumentKind::Run, &run(128));
    assert_eq!(messages(DocumentKind::Run, &run(129)).len(), 1);
    let mut newline = run(5);
    newline["metadata"]["id"] = "run-1\n".into();
    assert_eq!(messages(DocumentKind::Run, &newline).len(), 1, "a trailing newline must not pass");
}

#[test]
fn activities_follow_flowrun_and_its_quirks() {
    for (from, to) in [
        ("command_exit_code: 0", "command_exit_code: null"),
        ("completed_at: 2026-05-20T14:31:00Z", "completed_at: null"),
        ("started_at: 2026-05-20T14:30:00Z", "started_at: null"),
        ("confidence: high", "confidence: null"),
        ("status: passed", "status: running"),
        ("type: bash ", "type: external "),
        ("evidence_refs: []", "evidence_refs: []\n  extra: [1]"),
    ] {
        accepts(DocumentKind::Activity, &with(SEED_ACTIVITY, from, to));
    }
    for (from, to, message) in [
        (
            "status: passed",
            "status: done",
            "`activity.status` is `done`; it can be `pending`, `running`, `passed`, `failed`, `skipped`, `blocked`",
        ),
        ("  run_id: 2026-05-20T143000Z-issue-42\n", "", "`metadata.run_id` is missing"),
        (
            "id: preflight-checks",
            "id: Preflight",
            "`metadata.id` is `Preflight`; an activity id has lower-case letters, digits, `_` and `-`, a letter or digit first",
        ),
        ("result:", "results:", "the key `results` is not known here; did you mean `result`?"),
    ] {
        assert_eq!(messages(DocumentKind::Activity, &with(SEED_ACTIVITY, from, to)), [message]);
    }
}

#[test]
fn an_activity_without_its_work_is_refused_and_ids_have_200_characters_at_most() {
    let mut activity = parse_value(SEED_ACTIVITY).unwrap();
    activity.as_object_mut().unwrap().shift_remove("activity");
    assert_eq!(messages(DocumentKind::Activity, &activity), ["`activity` is missing"]);
    let named = |len: usize| with(SEED_ACTIVITY, "id: preflight-checks", &format!("id: {}", "a".repeat(len)));
    accepts(DocumentKind::Activity, &named(200));
    assert_eq!(messages(DocumentKind::Activity, &named(201)), ["`metadata.id` is longer than 200 characters"]);
}

#[test]
fn workflows_need_little_and_tell_what_is_missing() {
    let least = json!({"apiVersion": "flow.synapti.ai/v1", "kind": "FlowWorkflow", "metadata": {"id": "x"}, "phases": [{"id": "a"}]});
    accepts(DocumentKind::Workflow, &least);
    for (phase, message) in [
        (json!({"id": "a", "next": ["b"], "terminal": true, "label": "A", "description": "d", "mine": 1}), None),
        (json!({"id": "a", "next": "b"}), None),
        (json!({"label": "a"}), Some("`phases[0].id` is missing")),
        (json!({"id": "a", "next": 7}), Some("`phases[0].next` must be text or a list, not 7; put it in quotes")),
        (json!({"id": ""}), Some("`phases[0].id` is empty")),
        (json!({"id": "a", "activities": [{"type": "bash"}]}), Some("`phases[0].activities[0].id` is missing")),
    ] {
        let mut workflow = least.clone();
        workflow["phases"] = json!([phase]);
        assert_eq!(messages(DocumentKind::Workflow, &workflow), Vec::from_iter(message));
    }
    let mut workflow = least;
    workflow["phases"] = json!([]);
    assert_eq!(messages(DocumentKind::Workflow, &workflow), ["`phases` is empty"]);
}

#[test]
fn places_point_at_the_value_or_the_unknown_key() {
    let text = SEED_RUN.replace("status: active", "status: Active").replace("limits:", "limitations:");
    let root = parse(&text).unwrap();
    let places = validate(DocumentKind::Run, &root.to_value(), Some(&root))
        .into_iter()
        .map(|violation| (violation.pointer, violation.place))
        .collect::<Vec<_>>();
    let at = |line, column| Some(Place { line, column });
    assert_eq!(places, [("/state/status".to_owned(), at(16, 11)), ("/limitations".to_owned(), at(21, 1))]);
}

#[test]
fn long_and_hostile_values_are_cut_and_the_number_of_violations_is_bounded() {
    let mut run = parse_value(SEED_RUN).unwrap();
    run["state"]["status"] = "\u{1b}[31m".repeat(1000).into();
    run["kind"] = "é".repeat(10_000).into();
    run["k".repeat(5000)] = 1.into();
    run["state"]["completed_activities"] = vec![1; 500].into();
    let violations = validate(DocumentKind::Run, &run, None);
    assert_eq!(violations.len(), limits::VIOLATIONS);
    for violation in violations {
        assert!(violation.message.chars().count() < 260, "{}", violation.message);
        assert!(!violation.message.contains('\u{1b}'));
    }
}

#[test]
fn sealed_lines_are_events_and_unknown_types_are_kept() {
    let line = |body: Value| {
        let sealed = seal(body.as_object().unwrap());
        serde_json::from_str::<Value>(&sealed).unwrap()
    };
    let head = json!({"v": 1, "seq": 3, "id": "01J", "at": "2026-05-20T14:30:00.000Z"});
    let event = |extra: Value| {
        let mut event = head.clone();
        event.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        line(event)
    };
    let activity = parse_value(SEED_ACTIVITY).unwrap();
    let document = serde_json::to_value(RunText::parse(SEED_RUN).unwrap().document()).unwrap();
    let lost = json!([{"from": 3, "to": 4}]);
    let moved = json!([{"id": "x", "seq_before": 5, "seq": 6, "number_before": "004", "number": "005"}]);
    let salvaged = json!([{"number": "003", "phase": "plan", "activity": activity}]);
    for good in [
        json!({"type": "from_the_future", "number": 7}),
        json!({"v": 2, "type": "run_blocked"}),
        json!({"type": "run_blocked", "from": "active", "reason": "why", "run": "10-0123abcd"}),
        json!({"type": "session_end"}),
        json!({"type": "run_claimed", "session": null, "epoch": 2, "took_over": false}),
        json!({"type": "run_edited", "changes": {"current_phase": null}, "text": "x"}),
        json!({"type": "workflow_adopted", "differences": ["state `a` added"], "machine": {}}),
        json!({"type": "run_adopted", "document": document, "text": "x"}),
        json!({"type": "log_repaired", "lost": lost, "renumbered": moved, "salvaged": salvaged, "reason": "a gap", "settled": ["goal was 1 and 2: it is 1"],
            "quarantined": null, "document": document, "text": "x"}),
        json!({"type": "activity_recorded", "number": "001", "phase": "plan", "activity": activity}),
        json!({"type": "run_started", "run_id": "r", "workflow": "w", "workflow_version": 1, "phase": "p", "goal": null, "context": {}, "limits": {}, "machine": {}}),
    ] {
        accepts(DocumentKind::Event, &event(good));
    }
    let mut broken = activity;
    broken["activity"]["status"] = "done".into();
    let broken = event(json!({"type": "activity_recorded", "number": "1", "phase": "plan", "activity": broken}));
    assert_eq!(
        messages(DocumentKind::Event, &broken),
        [
            "`activity.activity.status` is `done`; it can be `pending`, `running`, `passed`, `failed`, `skipped`, `blocked`",
            "`number` is `1`; an activity number has at least three digits",
        ]
    );
    assert_eq!(messages(DocumentKind::Event, &event(json!({"type": "run_blocked"}))), ["`from` is missing"]);
    assert_eq!(
        messages(DocumentKind::Event, &json!({"v": 1, "seq": 1, "id": "x", "at": "2026-05-20T14:30:00Z", "type": "x"})),
        ["`crc` is missing"]
    );
}

#[test]
fn a_hostile_document_is_refused_quickly() {
    let keys = (0..10_000).map(|at| format!("key{at}: 1\n")).collect::<String>();
    let items = format!("phases: [{}]\n", "{i: 1},".repeat(10_000));
    for text in [keys, items] {
        let root = parse(&text).unwrap();
        let value = root.to_value();
        let begin = std::time::Instant::now();
        assert_eq!(validate(DocumentKind::Workflow, &value, Some(&root)).len(), limits::VIOLATIONS);
        // Generous for a slow machine and an unoptimised build; quadratic work takes minutes.
        assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
    }
}
