//! No run can talk to a terminal: what files and arguments say is shown without anything that a terminal obeys.

use crate::support::hostile::sane;
use crate::support::{Sandbox, run};

/// Title, clipboard, colour, a C1 control, text turned around, a line that hides what was before it.
const EVIL: &str =
    "a\u{1b}]0;owned\u{7}b\u{1b}]52;c;eA==\u{1b}\\c\u{1b}[31md\u{9b}2Je\u{202e}f\u{2066}g\rh\u{8}i\u{85}j\u{200f}k";

/// Marks that a terminal obeys.
fn obeyed(text: &str) -> Option<char> {
    let marks = ['\u{200e}', '\u{200f}', '\u{061c}'];
    text.chars().find(|&c| {
        (c.is_control() && c != '\n')
            || marks.contains(&c)
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    })
}

#[track_caller]
fn silent(sandbox: &Sandbox, args: &[&str]) -> String {
    let answer = sandbox.attack(args);
    let said = format!("{}{}", answer.stdout, answer.stderr);
    assert_eq!(obeyed(&said), None, "{args:?}: {said:?}");
    said
}

#[test]
fn text_of_a_run_reaches_people_without_control_characters_and_programs_unchanged() {
    let sandbox = Sandbox::new();
    let run =
        sandbox.attack(["start", "debug", "--goal", EVIL, "--branch", EVIL, "--repo", EVIL]).ok().line().to_owned();
    silent(
        &sandbox,
        &[
            "record-activity", "--run-id", &run, "--id", "x", "--name", EVIL, "--summary", EVIL, "--file", EVIL,
            "--evidence", EVIL,
        ],
    );
    silent(&sandbox, &["block", &run, "--reason", EVIL]);
    for args in [
        ["list"].as_slice(),
        &["resume"],
        &["resume", &run],
        &["show", &run],
        &["show", &run, "--at", "1"],
        &["log", &run],
        &["validate"],
        &["record-activity", "--id", "y"],
    ] {
        silent(&sandbox, args);
    }
    let shown = sandbox.attack(["show", &run, "--json"]).ok().json();
    assert_eq!(shown["metadata"]["goal"], EVIL);
    assert_eq!(shown["context"]["branch"], EVIL);
    assert_eq!(shown["state"]["blocked_reason"], EVIL);
    assert_eq!(sandbox.attack(["resume", &run, "--json"]).exits(4).json()["blocked_reason"], EVIL);
    let log = sandbox.attack(["log", &run, "--json"]).ok().json();
    assert_eq!(log["events"][1]["activity"]["result"]["summary"], EVIL, "{log}");
    silent(&sandbox, &["complete", &run, "--skip-reason", EVIL]);
    // The answer to programs is safe to print as well: JSON escapes what is below 0x20.
    let raw = sandbox.attack(["show", &run, "--json"]).ok().stdout;
    assert!(!raw.contains(['\u{1b}', '\u{7}']));
}

#[test]
fn arguments_come_back_in_errors_without_control_characters() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    for args in [
        ["show", EVIL].as_slice(),
        &["start", EVIL],
        &[EVIL],
        &["start", "debug", "--id", EVIL],
        &["start", "debug", "--phase", EVIL],
        &["record-activity", "--run-id", &run, "--id", EVIL],
        &["record-activity", "--run-id", &run, "--started-at", EVIL, "--id", "x"],
        &["record-activity", "--activity-file", EVIL],
        &["list", "--since", EVIL],
        &["list", "--status", EVIL],
        &["validate", EVIL],
        &["workflow", "show", EVIL],
        &["workflow", "check", EVIL],
        &["-C", EVIL, "show"],
        &["--wat\u{1b}[31m"],
    ] {
        let said = silent(&sandbox, args);
        assert!(said.starts_with("error: ") || said.is_empty(), "{args:?}: {said}");
    }
}

#[test]
fn a_projects_own_workflow_and_file_names_cannot_colour_the_screen() {
    let sandbox = Sandbox::new();
    sandbox.attack(["init"]).ok();
    let text = format!(
        "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: mine\n  description: {0}\nphases:\n  - id: one\n    description: {0}\n  - id: two\n",
        serde_json::to_string(EVIL).unwrap()
    );
    std::fs::write(sandbox.path(".flow/workflows/mine.workflow.yaml"), &text).unwrap();
    std::fs::write(sandbox.path(".flow/workflows").join("e\u{1b}[31mvil.workflow.yaml"), &text).unwrap();
    std::fs::write(sandbox.path(".flow/workflows/broken.workflow.yaml"), format!("{text}\u{1b}[31m: [\n")).unwrap();
    std::fs::write(sandbox.path("evil.mmd"), "stateDiagram-v2\n  [*] --> a\u{1b}[31m\n  a\u{202e} --> [*]\n").unwrap();
    for args in [
        ["workflow", "list"].as_slice(),
        &["workflow", "show", "mine"],
        &["workflow", "check", "mine"],
        &["workflow", "check", "broken"],
        &["workflow", "check", "evil.mmd"],
        &["start", "broken"],
        &["start", "mine"],
        &["resume"],
        &["show"],
        &["validate"],
    ] {
        silent(&sandbox, args);
    }
}

#[test]
fn odd_file_names_and_foreign_lines_are_shown_without_control_characters() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    sandbox.record(&id, "preflight", "first");
    std::fs::write(sandbox.path("b\u{1b}[31m\u{202e}.rs"), "x").unwrap();
    std::fs::write(sandbox.run_dir(&id).join("activities").join("9-\u{1b}]0;x\u{7}.yaml"), EVIL).unwrap();
    let log = sandbox.run_dir(&id).join("events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let foreign = format!("{{\"type\":{0},\"note\":{0}}}\n{EVIL}\n", serde_json::to_string(EVIL).unwrap());
    std::fs::write(&log, text + &foreign).unwrap();
    for args in [["resume"].as_slice(), &["log"], &["show"], &["list"], &["validate"]] {
        silent(&sandbox, args);
    }
    // A run.yaml that cannot be used is quoted in the error.
    let file = sandbox.run_dir(&id).join("run.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    for (from, to) in [
        ("status: active", "status: \"\\e[31mx\\u202e\""),
        ("  status: active", "  \"sta\\etus\": active\n  \"sta\\etus\": active"),
        ("current_phase: preflight", "current_phase: \"\\e[31m\""),
        ("id: 2026", "id: \"\\e[31m\" #"),
        ("kind: FlowRun", "kind: \"\\e[31m\""),
        ("last_seq: 2", "last_seq: \"\\e]0;x\\a\""),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
        for args in [["resume"].as_slice(), &["list"], &["show", &id], &["validate"], &["record-activity", "--id", "y"]]
        {
            silent(&sandbox, args);
        }
    }
}

#[test]
fn a_path_with_escapes_is_named_without_them() {
    let sandbox = Sandbox::new();
    let dir = sandbox.path("sub\u{1b}[31m");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join(".flow"), "").unwrap();
    let mut command = sandbox.flow_command();
    command.args(["start", "debug"]).current_dir(&dir);
    let answer = sane(run(command, "")).exits(77);
    assert_eq!(obeyed(&answer.stderr), None, "{answer:?}");
}
