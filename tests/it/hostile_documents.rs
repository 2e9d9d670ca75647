//! Documents and logs that are broken, hostile, or edited by hand.

use std::time::Instant;

use serde_json::Value;

use crate::support::hostile::{Odd, clear, confined, error_object, limited, picture, sane};
use crate::support::{Sandbox, run};

fn with_run() -> (Sandbox, String) {
    begun(Sandbox::new())
}

fn begun(sandbox: Sandbox) -> (Sandbox, String) {
    let run = sandbox.start("start-issue");
    sandbox.record(&run, "preflight", "first");
    (sandbox, run)
}

/// A limit of address space for `ulimit`, in KiB: a bomb must not unfold.
const ADDRESSES: &str = "-v 196608";

/// `text` as `run.yaml` is refused by writers and readers with 65 and stays as it is.
#[track_caller]
fn refused_run(sandbox: &Sandbox, id: &str, text: &[u8], place: bool) -> String {
    let file = sandbox.run_dir(id).join("run.yaml");
    std::fs::write(&file, text).unwrap();
    let before = picture(&sandbox.path(".flow/runs"));
    let mut messages = Vec::new();
    for args in [
        ["record-activity", "--run-id", id, "--id", "next"].as_slice(),
        &["cancel", id, "--reason", "x"],
        &["show", id],
        &["resume", id],
    ] {
        let shown = String::from_utf8_lossy(&text[..text.len().min(300)]).into_owned();
        let mut command = sandbox.flow_command();
        command.args(args).arg("--json");
        // A build without optimisation on a busy machine is many times slower.
        let limit = if cfg!(debug_assertions) { 30 } else { 1 };
        let started = Instant::now();
        let answer = sane(run(limited(&confined(ADDRESSES, &command)), ""));
        assert_eq!(answer.code, Some(65), "{args:?}: {answer:?} for {shown}");
        assert!(started.elapsed().as_secs() < limit, "{args:?} took {:?}", started.elapsed());
        let error = error_object(&answer);
        let message = error["message"].as_str().unwrap().to_owned();
        assert!(message.contains("run.yaml"), "{args:?}: {message}");
        assert!(error["help"].is_string(), "{error}");
        assert!(message.len() < 2000, "{message}");
        if place {
            let rest = message.split("run.yaml:").nth(1).unwrap_or_default();
            let mut numbers = rest.split([':', ' ']);
            let is_number = |part: Option<&str>| part.is_some_and(|part| part.parse::<u32>().is_ok_and(|n| n > 0));
            assert!(is_number(numbers.next()) && is_number(numbers.next()), "no line and column: {message}");
        }
        assert_eq!(picture(&sandbox.path(".flow/runs")), before, "{args:?}: {shown}");
        messages.push(message);
    }
    let list = sandbox.attack(["list", "--json"]).ok().json();
    assert_eq!(list["unreadable"].as_array().unwrap().len(), 1, "{list}");
    messages.swap_remove(0)
}

#[test]
fn a_run_file_that_is_not_one_yaml_document_is_refused_with_its_place() {
    let (sandbox, id) = with_run();
    let good = sandbox.read(&id, "run.yaml");
    for (text, place) in [
        (good.replace("  status: active", "\tstatus: active"), true),
        (good.replace("  status: active", "  status: active\n  status: blocked"), true),
        (format!("{good}state: {{status: active}}\n"), true),
        (format!("{good}---\n{good}"), false),
        (good.replace("goal: null", "goal: \"a\0b\""), true),
        (good.replace("goal: null", "goal: *nowhere"), true),
        (good.replace("goal: null", "goal: &a x\n  other: *a"), true),
        (good.replace("goal: null", "<<: {goal: x}"), true),
        (good.replace("goal: null", "goal: [unclosed"), true),
        (good.replace("goal: null", "goal: \"unclosed"), true),
        (good.replace("goal: null", "? [a, b]\n  : c"), false),
        (String::new(), false),
        ("\n\n# nothing\n".to_owned(), false),
        ("null\n".to_owned(), false),
        ("- a\n- list\n".to_owned(), false),
        ("text\n".to_owned(), false),
        ("42\n".to_owned(), false),
        ("{}\n".to_owned(), false),
        (good[..good.len() / 2].to_owned(), false),
    ] {
        refused_run(&sandbox, &id, text.as_bytes(), place);
    }
    for bytes in [b"\xff\xfe".as_slice(), &[0; 512], b"a: \xc3\x28\n"] {
        refused_run(&sandbox, &id, bytes, false);
    }
}

#[test]
fn bombs_end_in_an_error_soon_and_in_little_memory() {
    let (sandbox, id) = with_run();
    let good = sandbox.read(&id, "run.yaml");
    let mut laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (one, next) in ('a'..'j').zip('b'..'k') {
        laughs.push_str(&format!("{next}: &{next} [{}]\n", format!("*{one}, ").repeat(9)));
    }
    let quadratic = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(200_000), "*a, ".repeat(5000));
    let keys: String = (0..300_000).map(|n| format!("k{n}: 1\n")).collect();
    for text in [
        format!("{good}{laughs}"),
        format!("{good}{quadratic}"),
        format!("{good}x: &x [*x]\n"),
        format!("{good}x: {}\n", "[".repeat(100_000)),
        format!("{good}x: {}\n", "{a: ".repeat(100_000)),
        format!("{good}x:\n  {}\n", "- ".repeat(50_000)),
        format!("{good}x:\n  {}\n", "? ".repeat(20_000)),
        format!("{good}{keys}"),
        format!("{good}x: {}\n", "y".repeat(5 << 20)),
        format!("{good}#{}\n", " ".repeat(5 << 20)),
        "\n".repeat(5 << 20),
    ] {
        refused_run(&sandbox, &id, text.as_bytes(), false);
    }
}

#[test]
fn a_wrong_type_in_any_key_is_refused_where_it_stands() {
    let (sandbox, id) = with_run();
    let good = sandbox.read(&id, "run.yaml");
    for line in
        good.lines().filter(|line| line.starts_with("  ") && line.contains(": ") && !line.trim().starts_with('-'))
    {
        let key = line.trim().split(": ").next().unwrap();
        if ["journal", "head"].contains(&key) {
            continue;
        }
        let text = good.replace(line, &format!("  {key}: {{odd: [1]}}"));
        let message = refused_run(&sandbox, &id, text.as_bytes(), true);
        assert!(message.contains(key), "{key}: {message}");
    }
    for (from, to) in [
        ("status: active", "status: wat"),
        ("status: active", "status: 1"),
        ("status: active", "status: ~"),
        ("current_phase: preflight", "current_phase: 5"),
        ("last_seq: 2", "last_seq: -1"),
        ("last_seq: 2", "last_seq: 1.5"),
        ("last_seq: 2", "last_seq: \"2\""),
        ("last_seq: 2", "last_seq: 18446744073709551615"),
        ("last_seq: 2", "last_seq: 9223372036854775807"),
        ("last_number: 1", "last_number: 9223372036854775807"),
        ("epoch: 0", "epoch: -1"),
        ("    - first", "    - 5"),
        ("    - first", "    - ../x"),
        ("    - first", "    - {a: b}"),
        ("completed_activities:\n    - first", "completed_activities: first"),
        ("completed_activities:\n    - first", "completed_activities: {a: b}"),
        ("kind: FlowRun", "kind: FlowActivity"),
        ("apiVersion: flow.synapti.ai/v1", "apiVersion: flow.synapti.ai/v9"),
        ("workflow: start-issue", "workflow: debug"),
    ] {
        assert!(good.contains(from), "{from}");
        refused_run(&sandbox, &id, good.replacen(from, to, 1).as_bytes(), true);
    }
    let other = good.replace(&format!("id: {id}"), "id: another");
    refused_run(&sandbox, &id, other.as_bytes(), true);
}

#[test]
fn a_message_never_shows_what_only_a_programmer_understands() {
    let (sandbox, id) = with_run();
    let good = sandbox.read(&id, "run.yaml");
    let updated = good.lines().find(|line| line.contains("updated_at")).unwrap();
    for (from, to) in [
        ("goal: null", "goal: &a x"),
        (updated, "  updated_at: yesterday"),
        ("last_seq: 2", "last_seq: x"),
        ("  status: active", "\tstatus: active"),
    ] {
        let message = refused_run(&sandbox, &id, good.replacen(from, to, 1).as_bytes(), true);
        for jargon in [" { ", "premature end", "Anchors", "scanning a plain scalar"] {
            assert!(!message.contains(jargon), "{to}: {message}");
        }
    }
}

#[test]
fn a_misspelt_phase_is_refused_by_every_command_with_its_place_and_the_near_one() {
    let (sandbox, id) = with_run();
    let text = sandbox.read(&id, "run.yaml").replace("current_phase: preflight", "current_phase: exlpore");
    refused_run(&sandbox, &id, text.as_bytes(), true);
    let error = sandbox.refused(["block", &id, "--reason", "x"], 65);
    assert!(error["help"].as_str().unwrap().starts_with("did you mean `explore`?"), "{error}");
}

#[test]
fn a_byte_order_mark_and_carriage_returns_are_kept() {
    for (what, change) in [
        ("BOM", (|text: &str| format!("\u{feff}{text}")) as fn(&str) -> String),
        ("CRLF", |text| text.replace('\n', "\r\n")),
    ] {
        let (sandbox, id) = with_run();
        let file = sandbox.run_dir(&id).join("run.yaml");
        std::fs::write(&file, change(&sandbox.read(&id, "run.yaml"))).unwrap();
        sandbox.attack(["resume", &id]).ok();
        sandbox.attack(["record-activity", "--run-id", &id, "--id", "next"]).ok();
        let text = sandbox.read(&id, "run.yaml");
        assert!(text.contains("- next"), "{what}: {text}");
        if what == "BOM" {
            assert!(text.starts_with('\u{feff}'), "{text:?}");
        } else {
            let bare = text.lines().filter(|line| !line.is_empty()).count();
            assert_eq!(text.matches("\r\n").count(), bare, "mixed line ends: {text:?}");
        }
    }
}

#[test]
fn a_hand_edit_is_adopted_as_an_event_and_every_other_byte_survives() {
    for (from, to, change) in [
        ("goal: null", "goal: \"more\" # mine", "goal"),
        ("  repo: acme/widgets", "  repo: other", "repo"),
        ("max_iterations: 10", "max_iterations: 3", "max_iterations"),
        ("issue: 42", "issue: 43", "issue"),
        ("current_phase: preflight", "current_phase: explore", "current_phase"),
        ("blocked_reason: null", "blocked_reason: ask Ann", "blocked_reason"),
        ("completed_activities:\n    - first", "completed_activities: []", "completed_activities"),
        ("    - first", "    - first\n    - by-hand", "completed_activities"),
        ("kind: FlowRun", "kind: FlowRun # only a comment", ""),
        ("goal: null", "goal: null\n  mine: {z: 1, a: [x]} # kept", ""),
    ] {
        let (sandbox, id) = with_run();
        sandbox.edit(&id, from, to);
        let edited = sandbox.read(&id, "run.yaml");
        let skip = ["--skip-reason", "the edit took the work of the first phase back"];
        let record = ["record-activity", "--run-id", &id, "--id", "next", "--phase", "explore"];
        sandbox.attack(record.into_iter().chain(skip)).ok();
        let log = sandbox.attack(["log", &id, "--json"]).ok().json();
        let events = log["events"].as_array().unwrap();
        let edits: Vec<_> = events.iter().filter(|event| event["type"] == "run_edited").collect();
        assert_eq!(
            edits.len(),
            1,
            "{to:?} was not adopted: {:?}",
            events.iter().map(|e| &e["type"]).collect::<Vec<_>>()
        );
        assert!(edits[0]["changes"].to_string().contains(change), "{to:?}: {}", edits[0]["changes"]);
        let text = sandbox.read(&id, "run.yaml");
        for line in edited.lines() {
            let own = ["current_", "completed_", "last_", "updated_at", "    - "];
            if !own.iter().any(|key| line.trim_start().starts_with(key.trim_start())) {
                assert!(text.contains(line), "{line:?} was lost in\n{text}");
            }
        }
        if to.contains("by-hand") {
            assert!(text.contains("- by-hand"), "{text}");
        }
        // What was adopted comes back when the file is lost.
        clear(&sandbox.run_dir(&id).join("run.yaml"));
        sandbox.attack(["record-activity", "--run-id", &id, "--id", "later"]).ok();
        let rebuilt = sandbox.read(&id, "run.yaml");
        if let Some(comment) = to.split('#').nth(1) {
            assert!(rebuilt.contains(comment), "{rebuilt}");
        }
        sandbox.attack(["validate"]).ok();
    }
}

#[test]
fn a_status_changed_by_hand_counts() {
    let (sandbox, id) = with_run();
    sandbox.edit(&id, "status: active", "status: blocked");
    sandbox.attack(["resume", &id]).exits(4);
    sandbox.refused(["record-activity", "--run-id", &id, "--id", "next", "--phase", "explore"], 4);
    let (sandbox, id) = with_run();
    sandbox.edit(&id, "status: active", "status: completed");
    sandbox.refused(["record-activity", "--run-id", &id, "--id", "next"], 1);
    assert_eq!(sandbox.attack(["resume", &id, "--json"]).ok().json()["verdict"], "done");
}

#[test]
fn an_absent_or_empty_list_of_completed_activities_is_an_empty_one() {
    for list in ["", "  completed_activities:\n", "  completed_activities: ~\n", "  completed_activities: []\n"] {
        let (sandbox, id) = with_run();
        sandbox.edit(&id, "  completed_activities:\n    - first\n", list);
        assert_eq!(
            sandbox.attack(["resume", &id, "--json"]).ok().json()["completed"],
            Value::Array(vec![]),
            "{list:?}"
        );
        sandbox.attack(["record-activity", "--run-id", &id, "--id", "next"]).ok();
        let shown = sandbox.attack(["show", &id, "--json"]).ok().json();
        assert_eq!(shown["state"]["completed_activities"], serde_json::json!(["next"]), "{list:?}");
    }
    let (sandbox, id) = with_run();
    sandbox.edit(&id, "completed_activities:\n    - first", "completed_activities: [first] # mine");
    sandbox.attack(["record-activity", "--run-id", &id, "--id", "next"]).ok();
    let text = sandbox.read(&id, "run.yaml");
    assert!(text.contains("completed_activities: [first, next] # mine"), "{text}");
}

#[test]
fn flows_own_counters_are_set_right_again_and_never_damage_a_run() {
    for (key, was, is) in [
        ("last_seq", "2", "1"),
        ("last_seq", "2", "0"),
        ("last_seq", "2", "7"),
        ("last_seq", "2", "9223372036854775806"),
        ("last_number", "1", "0"),
        ("last_number", "1", "9223372036854775806"),
        ("epoch", "0", "9223372036854775806"),
    ] {
        let (sandbox, id) = with_run();
        sandbox.edit(&id, &format!("{key}: {was}"), &format!("{key}: {is}"));
        for name in ["second", "third", "fourth"] {
            let answer = sandbox.attack(["record-activity", "--run-id", &id, "--id", name]);
            assert!(matches!(answer.code, Some(0 | 65)), "{key}: {is}: {answer:?}");
            if answer.code == Some(65) {
                break;
            }
            let answer = sandbox.attack(["resume", &id, "--json"]);
            assert_eq!(answer.code, Some(0), "{key}: {is}, after {name}: {answer:?}");
            let done: Vec<_> =
                answer.json()["completed"].as_array().unwrap().iter().map(|one| one["id"].to_string()).collect();
            let mut once = done.clone();
            once.dedup();
            assert!(
                !done.iter().enumerate().any(|(at, id)| done[..at].contains(id)),
                "{key}: {is}: counted twice {done:?}"
            );
        }
    }
}

const SEED: &str = "apiVersion: flow.synapti.ai/v1
kind: FlowActivity
metadata:
  id: seed-like
  run_id: RUN
  workflow: start-issue
  phase: preflight
activity:
  type: task              # bash | skill | agent | task | gate | evaluation
  name: 'Look around'
  status: passed             # or running | failed | skipped | blocked
  started_at: 2026-05-20T14:30:00Z
  completed_at: 2026-05-20T14:31:00Z
outputs:
  evidence_refs: []
  files_changed: [src/a.rs, b]
  command_exit_code:
result:
  summary: 'It is quiet'
  confidence: high
";

#[test]
fn flowruns_own_template_is_accepted_as_a_file_and_on_standard_input() {
    let (sandbox, id) = with_run();
    let text = SEED.replace("RUN", &id);
    std::fs::write(sandbox.path("act.yaml"), &text).unwrap();
    sandbox.attack(["record-activity", "--run-id", &id, "--activity-file", "act.yaml"]).ok();
    for (name, text) in
        [("on-stdin", text.clone()), ("with-bom", format!("\u{feff}{text}")), ("with-crlf", text.replace('\n', "\r\n"))]
    {
        sandbox.attack_with(["record-activity", "--activity-file", "-", "--id", name], &text).ok();
    }
    let json = serde_json::json!({
        "apiVersion": "flow.synapti.ai/v1", "kind": "FlowActivity",
        "metadata": {"id": "as-json", "run_id": id, "workflow": "start-issue", "phase": "preflight"},
        "activity": {"type": "task", "status": "passed"},
    });
    sandbox.attack_with(["record-activity", "--activity-file", "-"], &json.to_string()).ok();
    sandbox.attack(["validate"]).ok();
}

#[test]
fn keys_that_flow_does_not_know_are_kept_in_the_activity_file() {
    for before in ["activity:", "outputs:", "result:"] {
        let (sandbox, id) = with_run();
        let mine = format!("{before}\n  mine: {{deep: [1, {{a: b}}]}}");
        let text = SEED.replace("RUN", &id).replacen(before, &mine, 1);
        sandbox.attack_with(["record-activity", "--activity-file", "-"], &text).ok();
        let kept = sandbox.read(&id, "activities/002-seed-like.yaml");
        assert!(kept.contains("mine:") && kept.contains("deep:"), "{kept}");
    }
}

#[test]
fn a_bad_activity_document_is_refused_and_nothing_is_recorded() {
    let (sandbox, id) = with_run();
    let good = SEED.replace("RUN", &id);
    let before = picture(&sandbox.root());
    let record = |text: &str| {
        let answer =
            sandbox.attack_with(["record-activity", "--run-id", &id, "--activity-file", "-", "--json"], text).exits(1);
        assert_eq!(picture(&sandbox.root()), before, "{text:.200}");
        let error = error_object(&answer);
        assert!(error["help"].is_string(), "{error}");
        let about_the_run = error["code"] == "wrong_run";
        assert!(about_the_run || error["message"].as_str().unwrap().contains("standard input"), "{error}");
        error
    };
    for text in ["", "\n", "a: [", "- a", "just text", "\0", "a: 1\na: 2\n", "a: &x 1\nb: *x\n", "<<<<<<< HEAD\n", "{}"]
    {
        record(text);
    }
    record(&format!("{good}---\n{good}"));
    record(&format!("{good}x: {}\n", "[".repeat(100_000)));
    record(&format!("{good}x: {}\n", "y".repeat(1 << 20)));
    record(&good.replace(&format!("run_id: {id}"), "run_id: another"));
    let error = record(
        &good
            .replace("type: task", "type: wat")
            .replace("status: passed", "status: wat")
            .replace("id: seed-like", "id: ../x"),
    );
    let all = error["causes"].as_array().unwrap();
    assert_eq!(all.len(), 3, "every violation at once: {error}");
    for cause in all {
        let place = cause.as_str().unwrap().split(' ').next().unwrap();
        assert!(place.split(':').all(|part| part.parse::<u32>().is_ok()), "line:column first: {cause}");
    }
}

#[test]
fn a_source_that_is_no_file_or_has_no_end_is_refused_in_time() {
    let (sandbox, id) = begun(Sandbox::new());
    std::fs::create_dir(sandbox.path("dir")).unwrap();
    std::fs::write(sandbox.path("latin.yaml"), b"a: \xe9\n").unwrap();
    Odd::Fifo.put(&sandbox.path("fifo"));
    Odd::Socket.put(&sandbox.path("socket"));
    let before = picture(&sandbox.root());
    for (file, code) in
        [("dir", 1), ("latin.yaml", 1), ("fifo", 1), ("socket", 1), ("/dev/zero", 1), ("missing.yaml", 3), ("", 2)]
    {
        let file = format!("--activity-file={file}");
        let error = sandbox.refused(["record-activity", "--run-id", &id, &file], code);
        assert!(error["help"].is_string(), "{file} does not say what to do: {error}");
        assert_eq!(picture(&sandbox.root()), before, "{file}");
    }
    // Standard input without end, and closed.
    for redirection in ["</dev/zero", "<&-", "</dev/null", "<dir"] {
        let mut command = sandbox.command("sh");
        let script = format!("exec \"$0\" record-activity --run-id {id} --activity-file - --json {redirection}");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_flow")]);
        let answer = sane(run(limited(&confined(ADDRESSES, &command)), ""));
        assert!(matches!(answer.code, Some(1 | 74)), "{redirection}: {answer:?}");
        assert_eq!(picture(&sandbox.root()), before, "{redirection}");
    }
}

#[test]
fn a_log_with_foreign_or_broken_lines_is_read_around_them_and_never_rewritten() {
    let (sandbox, id) = with_run();
    let good = sandbox.read(&id, "events.jsonl");
    let lines: Vec<_> = good.lines().collect();
    let long = "x".repeat(9 << 20);
    for (what, log, harmless) in [
        ("blank lines", format!("\n\n{}\n\n{}\n\n", lines[0], lines[1]), true),
        ("CRLF", good.replace('\n', "\r\n"), true),
        ("a foreign line", format!("{good}{{\"type\":\"note\"}}\n"), true),
        ("not JSON", format!("{}\nnot json\n{}\n", lines[0], lines[1]), true),
        ("NUL bytes at the end", format!("{good}{}", "\0".repeat(4096)), true),
        ("a torn line", format!("{good}{}", &lines[1][..40]), true),
        ("9 MB without a line break", format!("{good}{long}"), true),
        ("deep JSON", format!("{good}{}\n", "[".repeat(100_000)), true),
        ("merge markers", format!("{}\n<<<<<<< HEAD\n{}\n=======\n>>>>>>> side\n", lines[0], lines[1]), true),
        ("the same line twice", format!("{good}{}\n", lines[1]), true),
        ("descending", format!("{}\n{}\n", lines[1], lines[0]), true),
        ("a changed middle", format!("{}\n{}\n", lines[0].replace("preflight", "explore"), lines[1]), false),
        ("nothing", String::new(), false),
    ] {
        let path = sandbox.run_dir(&id).join("events.jsonl");
        std::fs::write(&path, &log).unwrap();
        for args in [["log", &id], ["show", &id], ["resume", &id], ["validate", &id]] {
            let mut command = sandbox.flow_command();
            command.args(args).arg("--json");
            let answer = sane(run(limited(&confined(ADDRESSES, &command)), ""));
            assert!(answer.stderr.len() + answer.stdout.len() < 1 << 20, "{what} {args:?}");
            if harmless && args[0] != "validate" {
                assert_eq!(answer.code, Some(0), "{what} {args:?}: {answer:?}");
            }
            if !harmless && args[0] == "resume" {
                assert_eq!(answer.code, Some(65), "{what}: {answer:?}");
            }
        }
        assert!(std::fs::read_to_string(&path).unwrap() == log, "{what}: a reader wrote");
    }
}

#[test]
fn a_writer_leaves_foreign_lines_and_keeps_a_torn_end_in_quarantine() {
    for (what, tail, kept) in [
        ("foreign", "{\"type\":\"note\"}\n", true),
        ("torn", "{\"v\":1,\"seq\":3,\"torn", false),
        ("garbage", "\u{1}\u{2}\0\0", false),
    ] {
        let (sandbox, id) = with_run();
        let path = sandbox.run_dir(&id).join("events.jsonl");
        let good = sandbox.read(&id, "events.jsonl");
        std::fs::write(&path, format!("{good}{tail}")).unwrap();
        sandbox.attack(["record-activity", "--run-id", &id, "--id", "next"]).ok();
        let log = sandbox.read(&id, "events.jsonl");
        assert!(log.starts_with(&good), "{what}");
        assert_eq!(log.contains(tail), kept, "{what}: {log}");
        assert_eq!(sandbox.run_dir(&id).join(".quarantine").exists(), !kept, "{what}");
        assert_eq!(sandbox.attack(["resume", &id, "--json"]).ok().json()["verdict"], "continue", "{what}");
    }
}

#[test]
fn conflict_markers_in_a_run_file_are_named_with_their_line_and_nothing_is_written() {
    let (sandbox, id) = with_run();
    let good = sandbox.read(&id, "run.yaml");
    let half = "<<<<<<< HEAD\n  status: active\n=======\n  status: failed\n>>>>>>> side";
    let line = good.lines().position(|line| line == "  status: active").unwrap() + 1;
    for (text, line) in [
        (format!("<<<<<<< HEAD\n{good}=======\n{good}>>>>>>> side\n"), 1),
        (good.replace("  status: active", half), line),
    ] {
        std::fs::write(sandbox.run_dir(&id).join("run.yaml"), text).unwrap();
        let before = picture(&sandbox.path(".flow/runs"));
        let report = sandbox.attack(["resume", &id, "--json"]).exits(65).json();
        assert_eq!(report["verdict"], "conflict");
        for args in [["show", &id].as_slice(), &["record-activity", "--run-id", &id, "--id", "next"]] {
            let error = sandbox.attack(args.iter().chain(&["--json"])).exits(65).error();
            assert_eq!(error["code"], "run_conflict");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(&format!("run.yaml:{line}:1 ")), "{message}");
        }
        assert_eq!(picture(&sandbox.path(".flow/runs")), before);
    }
}

#[test]
fn two_branches_that_recorded_the_same_position_are_called_a_conflict_and_both_stay() {
    let (sandbox, id) = with_run();
    let base = sandbox.path("../base");
    crate::support::hostile::copy(&sandbox.run_dir(&id), &base);
    sandbox.record(&id, "preflight", "ours");
    let ours = sandbox.read(&id, "events.jsonl");
    clear(&sandbox.run_dir(&id));
    crate::support::hostile::copy(&base, &sandbox.run_dir(&id));
    sandbox.record(&id, "preflight", "theirs");
    let theirs = sandbox.read(&id, "events.jsonl");
    let merged = format!("{ours}{}\n", theirs.lines().last().unwrap());
    std::fs::write(sandbox.run_dir(&id).join("events.jsonl"), &merged).unwrap();
    let answer = sandbox.attack(["resume", &id, "--json"]).exits(65);
    assert_eq!(answer.json()["verdict"], "conflict");
    assert!(answer.json()["reason"].as_str().unwrap().contains("event 3 "), "{answer:?}");
    let log = sandbox.attack(["log", &id, "--json"]).json().to_string();
    assert!(log.contains("ours") && log.contains("theirs"), "{log}");
    assert_eq!(sandbox.read(&id, "events.jsonl"), merged);
}
