//! Input of any size ends in an answer, soon and in little memory, whichever parser it reaches.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::hostile::{confined, limited, sane};
use crate::support::{Answer, Sandbox, run};

/// What a command may have for its data (design, section 9).
const MEMORY: u64 = 64 << 20;

/// How long it may take. The design says 100 ms; a build without optimisation on a busy machine is many times slower.
fn soon() -> Duration {
    Duration::from_secs(if cfg!(debug_assertions) { 25 } else { 1 })
}

/// The answer to a bomb: within bounds, and short.
#[track_caller]
fn defused(sandbox: &Sandbox, what: &str, args: &[&str], stdin: &str) -> Answer {
    let mut command = sandbox.flow_command();
    command.args(args);
    let begun = Instant::now();
    let answer = sane(run(limited(&confined(&format!("-d {}", MEMORY >> 10), &command)), stdin));
    let took = begun.elapsed();
    measured(what, args, took);
    assert!(took < soon(), "{what}: {args:?} took {took:?}");
    assert!(answer.stdout.len() + answer.stderr.len() < 1 << 20, "{what}: {args:?} said {}", answer.stdout.len());
    answer
}

#[expect(clippy::print_stdout, reason = "shown with --nocapture, for a build with optimisation")]
fn measured(what: &str, args: &[&str], took: Duration) {
    println!("{took:>12.1?} {} {what}", args[0]);
}

/// The classic bombs for a parser of YAML, each behind `head`.
fn yaml_bombs(head: &str) -> Vec<(&'static str, String)> {
    let mut laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (one, next) in ('a'..'j').zip('b'..'k') {
        laughs.push_str(&format!("{next}: &{next} [{}]\n", format!("*{one}, ").repeat(9)));
    }
    let bombs = [
        ("billion laughs", laughs),
        ("one anchor often", format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(200_000), "*a, ".repeat(5000))),
        ("an anchor in itself", "x: &x [*x]\n".to_owned()),
        ("merge keys", format!("x: &x {{a: 1}}\n{}", "y: {<<: *x}\n".repeat(1000))),
        ("brackets", format!("x: {}\n", "[".repeat(100_000))),
        ("braces", format!("x: {}\n", "{a: ".repeat(100_000))),
        ("dashes", format!("x:\n  {}\n", "- ".repeat(50_000))),
        ("questions", format!("x:\n  {}\n", "? ".repeat(20_000))),
        ("keys", (0..80_000).map(|n| format!("k{n}: 1\n")).collect()),
        ("the same key", "k: 1\n".repeat(100_000)),
        ("entries", format!("x: [{}]\n", "1,".repeat(400_000))),
        ("a long text", format!("x: {}\n", "y".repeat(900_000))),
        ("a long text in quotes", format!("x: \"{}\"\n", "\\u0041".repeat(150_000))),
        ("a long comment", format!("#{}\n", " ".repeat(900_000))),
        ("line breaks", "\n".repeat(900_000)),
        ("a block of blank lines", format!("x: |\n{}", " \n".repeat(400_000))),
        ("tabs", format!("x:\n{}y\n", "\t".repeat(500_000))),
        ("tags", format!("x: {}a\n", "!!str ".repeat(100_000))),
        ("an open quotation mark", format!("x: \"{}\n", "y\n".repeat(400_000))),
        ("documents", "---\n".repeat(200_000)),
        ("directives", "%YAML 1.2\n".repeat(90_000)),
        ("larger than allowed", format!("x: {}\n", "y".repeat(5 << 20))),
    ];
    bombs.map(|(what, bomb)| (what, format!("{head}{bomb}"))).into()
}

#[test]
fn a_workflow_definition_is_refused_soon_and_in_little_memory() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let head = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: bomb\n";
    let file = sandbox.path(".flow/workflows/bomb.workflow.yaml");
    let mut bombs = yaml_bombs(head);
    bombs.push(("phases with bad names", format!("{head}phases:\n{}", "  - id: a b\n".repeat(15_000))));
    bombs.push(("the same phase", format!("{head}phases:\n{}", "  - id: a\n".repeat(15_000))));
    bombs.push(("unknown phases", format!("{head}phases:\n  - id: a\n    next: [{}]\n", "ab, ".repeat(40_000))));
    let phases: String = (0..2000).map(|n| format!("  - id: p{n}\n    next: [q{n}, r{n}]\n")).collect();
    bombs.push(("misspelt phases", format!("{head}phases:\n{phases}")));
    let wrong: String = (0..8000).map(|n| format!("  - id: p{n}\n    next: 1\n")).collect();
    bombs.push(("wrong types", format!("{head}phases:\n{wrong}")));
    for (what, text) in &bombs {
        std::fs::write(&file, text).unwrap();
        let check = ["workflow", "check", ".flow/workflows/bomb.workflow.yaml"];
        assert_eq!(defused(&sandbox, what, &check, "").code, Some(1), "{what}");
    }
    for (what, text) in bombs.iter().step_by(5) {
        std::fs::write(&file, text).unwrap();
        assert_eq!(defused(&sandbox, what, &["start", "bomb"], "").code, Some(1), "{what}");
        assert_eq!(defused(&sandbox, what, &["validate", ".flow/workflows"], "").code, Some(1), "{what}");
        defused(&sandbox, what, &["workflow", "list"], "").ok();
    }
    assert!(sandbox.runs().is_empty());
}

#[test]
fn an_activity_document_is_refused_soon_and_in_little_memory() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("start-issue");
    let head = "apiVersion: flow.synapti.ai/v1\nkind: FlowActivity\nmetadata:\n  id: bomb\nactivity: {type: task, status: passed}\n";
    for (what, text) in &yaml_bombs(head) {
        let record = ["record-activity", "--run-id", &id, "--activity-file", "-"];
        let answer = defused(&sandbox, what, &record, text);
        let harmless = ["a long comment", "line breaks"].contains(what);
        assert_eq!(answer.code, Some(i32::from(!harmless)), "{what}: {answer:?}");
    }
    // Among the files of a run it is only looked at by those who look for damage.
    for (what, text) in yaml_bombs(head).iter().step_by(3) {
        std::fs::write(sandbox.run_dir(&id).join("activities/900-bomb.yaml"), text).unwrap();
        defused(&sandbox, what, &["validate", &id], "");
    }
}

#[test]
fn a_decision_journal_is_left_alone_soon_and_in_little_memory() {
    let sandbox = Sandbox::new();
    for (what, bomb) in &yaml_bombs("---\nissue: 42\n") {
        let text = format!("{bomb}\n---\n# Journal\n");
        let file = sandbox.path(".decisions/issue-42.md");
        std::fs::write(&file, &text).unwrap();
        let answer = defused(&sandbox, what, &["start", "debug", "--issue", "42", "--another"], "").ok();
        let after = std::fs::read_to_string(&file).unwrap();
        let taken = after != text;
        assert!(taken != answer.stderr.contains("warning: "), "{what}: {}", answer.stderr);
        assert!(after.ends_with("# Journal\n"), "{what}");
    }
}

#[test]
fn a_hooks_payload_never_keeps_the_hook() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    for (what, payload) in [
        ("brackets", "[".repeat(1 << 20)),
        ("braces", r#"{"a":"#.repeat(200_000)),
        ("a long session", format!(r#"{{"session_id":"{}"}}"#, "x".repeat(900_000))),
        ("a long reason", format!(r#"{{"reason":"{}"}}"#, "x".repeat(900_000))),
        ("members", format!("{{{}}}", (0..60_000).map(|n| format!(r#""k{n}":1,"#)).collect::<String>())),
        ("numbers", format!("[{}1]", "1e308,".repeat(150_000))),
        ("larger than is read", "x".repeat(4 << 20)),
        ("no text", "\u{0}".repeat(1 << 20)),
    ] {
        let answer = defused(&sandbox, what, &["session-end"], &payload).ok();
        assert!(answer.stderr.len() < 2000, "{what}: {}", answer.stderr.len());
    }
    sandbox.record(&id, "preflight", "afterwards");
    sandbox.assert_sound(&id);
}

/// Makes a file that looks this long and takes no room.
fn hollow(path: &Path, len: u64) {
    std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap().set_len(len).unwrap();
}

#[test]
fn a_log_with_an_endless_line_or_endlessly_many_is_read_in_bounded_memory() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("debug");
    sandbox.record(&id, "preflight", "before");
    let log = sandbox.run_dir(&id).join("events.jsonl");
    let good = std::fs::read_to_string(&log).unwrap();
    let seal = good.lines().next_back().unwrap();
    for (what, tail) in [
        ("a torn line", "x".repeat(9 << 20)),
        ("a torn object of 8 MB", format!("{{\"a\":\"{}", "x".repeat(8 << 20))),
        ("a deep line", format!("{}\n", "[".repeat(1 << 20))),
        ("short lines", "x\n".repeat(1 << 16)),
        ("blank lines", "\n".repeat(1 << 16)),
        ("notes", "{\"type\":\"note\"}\n".repeat(20_000)),
        ("the same line", format!("{seal}\n").repeat(500)),
        ("NUL bytes", "\0".repeat(8 << 20)),
        ("lines that say they are far ahead", "{\"v\":1,\"seq\":99999}\n".repeat(20_000)),
    ] {
        for args in [["list", "--json"], ["show", "--json"], ["block", "--reason=x"], ["unblock", "--json"]] {
            std::fs::write(&log, format!("{good}{tail}")).unwrap();
            let answer = defused(&sandbox, what, &args, "");
            assert!(matches!(answer.code, Some(0)), "{what}: {args:?} {answer:?}");
        }
    }
}

#[test]
fn a_file_that_is_larger_than_memory_is_refused_wherever_it_stands() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("start-issue");
    let huge = 40 << 30;
    for name in ["run.yaml", "activities/001-x.yaml", ".run.tmp"] {
        let path = sandbox.run_dir(&id).join(name);
        let before = std::fs::read(&path).ok();
        hollow(&path, huge);
        for args in [["show", &id], ["list", "--json"], ["resume", &id], ["validate", &id]] {
            defused(&sandbox, name, &args, "");
        }
        defused(&sandbox, name, &["block", &id, "--reason", "x"], "");
        match before {
            Some(bytes) => std::fs::write(&path, bytes).unwrap(),
            None => drop(std::fs::remove_file(&path)),
        }
    }
    std::fs::create_dir_all(sandbox.path(".decisions")).unwrap();
    let workflow = ".flow/workflows/huge.workflow.yaml";
    for path in [workflow, ".decisions/issue-7.md", "huge.yaml"] {
        hollow(&sandbox.path(path), huge);
    }
    assert_eq!(defused(&sandbox, "huge", &["workflow", "check", workflow], "").code, Some(1));
    assert_eq!(defused(&sandbox, "huge", &["start", "huge"], "").code, Some(1));
    assert_eq!(defused(&sandbox, "huge", &["record-activity", "--activity-file", "huge.yaml"], "").code, Some(1));
    assert_eq!(defused(&sandbox, "huge", &["validate", "huge.yaml"], "").code, Some(1));
    assert!(defused(&sandbox, "huge", &["start", "debug", "--issue", "7"], "").ok().stderr.contains("warning: "));
}
