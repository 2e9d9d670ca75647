//! A log that ends in far too much without an event, as anyone can put into a repository: no command looks for its end for
//! long, and none changes it.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use flowrun::disk::{Os, Trust};
use flowrun::model::RunId;
use flowrun::store::{LogScan, Project, StoredRun as _};
use serde_json::{Map, Value, json};

use crate::support::hostile::{confined, limited, sane};
use crate::support::shaky::Shaky;
use crate::support::{Answer, Sandbox, alone, run, scaled};

/// What a command may have for its data (design, section 9).
const MEMORY: u64 = 64 << 20;

/// How many seconds of a processor a command may take: the design says 100 ms; a build without optimisation is many times slower.
/// Time on the clock would say how busy the machine is.
const SOON: u64 = if cfg!(debug_assertions) { 25 } else { 1 };

#[track_caller]
fn soon_answered(sandbox: &Sandbox, what: &str, args: &[&str], stdin: &str) -> Answer {
    let mut command = sandbox.flow_command();
    command.args(args);
    let command = confined(&format!("-d {}", MEMORY >> 10), &command);
    let answer = run(limited(&confined(&format!("-t {SOON}"), &command)), stdin);
    // A signal ends a command that takes longer.
    assert!(answer.code.is_some_and(|code| code < 124), "{what}: {args:?}: {answer:?}");
    sane(answer)
}

/// A line with a checksum that is not an event.
fn sealed_note() -> String {
    flowrun::codec::seal(json!({ "a": 1 }).as_object().unwrap())
}

/// What is appended to the log, and how long the hole behind it is.
type End = (&'static str, Vec<u8>, u64);

fn ends() -> Vec<End> {
    let none = Vec::new;
    vec![
        ("a hole of 3 GB", none(), 3 << 30),
        ("a hole behind a line break", b"x\n".to_vec(), 300 << 20),
        ("zeros and line breaks", b"\0\n".repeat(1_000_000), 0),
        ("short lines", b"x\n".repeat(5_000_000), 0),
        ("objects", b"{}\n".repeat(5_000_000), 0),
        ("line breaks", b"\n".repeat(20 << 20), 0),
        ("long lines", format!("{}\n", "x".repeat(1000)).repeat(16_000).into_bytes(), 0),
        ("a long line", "x".repeat(16 << 20).into_bytes(), 0),
        ("a long line and a note", format!("{}\n{{}}\n", "x".repeat(16 << 20)).into_bytes(), 0),
        ("sealed lines that are not events", sealed_note().repeat(300_000).into_bytes(), 0),
        (
            "a line that claims a position",
            ["x\n".repeat(5_000_000), "{\"v\":1,\"seq\":99}\n".to_owned()].concat().into(),
            0,
        ),
    ]
}

fn append(log: &Path, (_, bytes, hole): &End) {
    let mut file = OpenOptions::new().append(true).open(log).unwrap();
    file.write_all(bytes).unwrap();
    let len = file.metadata().unwrap().len();
    file.set_len(len + hole).unwrap();
}

fn in_one_project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox
}

#[test]
fn a_run_whose_log_ends_without_an_event_is_unreadable_soon_and_in_little_memory() {
    for end in ends() {
        let (sandbox, what) = (in_one_project(), end.0);
        let log = sandbox.run_dir("r1").join("events.jsonl");
        append(&log, &end);
        let of = |args: &[&str]| soon_answered(&sandbox, what, args, "");
        for list in ["list", "attention"] {
            let answer = of(&[list, "--json"]).json();
            let reason = answer["unreadable"][0]["reason"].as_str().unwrap_or_default().to_owned();
            let much = match what {
                "long lines" => "4 MB",
                "a hole of 3 GB" | "a hole behind a line break" | "a long line" | "a long line and a note" => "9 MB",
                _ => "65536 lines",
            };
            let expected = format!("cannot be read: its log ends in {much} without an event");
            assert!(reason.ends_with(&expected), "{what}: {answer}");
        }
        let resumed = of(&["resume", "--json"]);
        assert_eq!((&resumed.json()["verdict"], resumed.code), (&json!("unreadable"), Some(65)), "{what}: {resumed:?}");
        let error = of(&["show", "r1", "--json"]).exits(65).error();
        assert_eq!(error["code"], "log_without_events", "{what}: {error}");
    }
}

#[test]
fn every_reader_of_such_a_run_ends_soon_and_says_so() {
    for end in ends().into_iter().filter(|end| ["a hole of 3 GB", "objects", "long lines"].contains(&end.0)) {
        let (sandbox, what) = (in_one_project(), end.0);
        append(&sandbox.run_dir("r1").join("events.jsonl"), &end);
        let of = |args: &[&str]| soon_answered(&sandbox, what, args, "");
        for command in ["resume", "log", "next", "evidence"] {
            let error = of(&[command, "r1", "--json"]).exits(65).error();
            assert_eq!(error["code"], "log_without_events", "{what}: {command}");
        }
        of(&["verify", "r1", "--json"]).exits(65);
        let start = json!({ "session_id": "s", "source": "startup" }).to_string();
        soon_answered(&sandbox, what, &["hook", "claude-code", "session-start"], &start).ok();
        soon_answered(&sandbox, what, &["hook", "claude-code", "user-prompt-submit"], &start).ok();
        soon_answered(&sandbox, what, &["hud"], &start);
        let doctor = of(&["doctor", "--json"]);
        let findings = doctor.json()["findings"].clone();
        let found =
            findings.as_array().unwrap().iter().find(|one| one["path"].as_str().unwrap().ends_with("events.jsonl"));
        let found = found.unwrap_or_else(|| panic!("{what}: {findings}"));
        assert_eq!((&found["severity"], &found["code"]), (&json!("error"), &json!("unreadable")), "{what}");
        assert!(found["message"].as_str().unwrap().contains("bring an earlier version of"), "{what}: {found}");
    }
}

#[test]
fn no_command_that_writes_changes_a_log_that_ends_without_an_event_and_none_waits() {
    for end in [("a hole", Vec::new(), 1 << 30), ("zeros", b"\0\n".repeat(1_000_000), 0)] {
        let (sandbox, what) = (in_one_project(), end.0);
        let run = sandbox.run_dir("r1");
        let log = run.join("events.jsonl");
        append(&log, &end);
        let state = || {
            let files = ["run.yaml", "activities", "evidence"].map(|name| run.join(name).exists());
            (
                fs::metadata(&log).unwrap().len(),
                fs::read(run.join("run.yaml")).unwrap(),
                files,
                run.join(".quarantine").exists(),
            )
        };
        let before = state();
        for args in [
            &["record-activity", "--run-id", "r1", "--phase", "preflight", "--id", "a", "--status", "passed", "--json"]
                [..],
            &["block", "r1", "--reason", "x", "--json"],
            &["cancel", "r1", "--reason", "x", "--json"],
            &["resume", "r1", "--claim", "--session", "s", "--json"],
            &["emit", "--workflow", "debug", "--run-id", "r1", "--type", "btw_update", "--data", "{\"message\":\"a\"}"],
        ] {
            let answer = soon_answered(&sandbox, what, args, "").exits(65);
            assert!(answer.stderr.contains("without an event"), "{what}: {args:?} {answer:?}");
        }
        soon_answered(&sandbox, what, &["doctor", "--repair", "--json"], "");
        soon_answered(&sandbox, what, &["session-end"], "{\"session_id\":\"s\"}").ok();
        assert_eq!(state(), before, "{what}");
        // The way out that the message names.
        let good = fs::read(&log).unwrap_or_default();
        let end_of_good = good.iter().position(|&byte| byte == b'\n').unwrap() as u64 + 1;
        OpenOptions::new().write(true).open(&log).unwrap().set_len(end_of_good).unwrap();
        sandbox.record("r1", "preflight", "afterwards");
        sandbox.assert_sound("r1");
    }
}

#[test]
fn a_log_whose_last_lines_only_claim_to_be_events_is_not_read_more_often_than_its_events_are_needed() {
    let sandbox = in_one_project();
    let log = sandbox.run_dir("r1").join("events.jsonl");
    let claims = (2..60_000).map(|seq| format!("{{\"v\":1,\"seq\":{seq},\"id\":\"x{seq}\",\"crc\":\"00000000\"}}\n"));
    append(&log, &("claims", claims.collect::<String>().into_bytes(), 0));
    // A block of the end shows that all is needed; two threads, each with its part of a block, read it.
    let blocks = usize::try_from(fs::metadata(&log).unwrap().len() >> 16).unwrap();
    let start = json!({ "session_id": "s", "source": "startup" });
    let reads = |what: &str, times: usize, call: &dyn Fn(Arc<Shaky>)| {
        let disk = Arc::new(Shaky::new(alone(), &[]));
        call(Arc::clone(&disk));
        let reads = disk.calls().iter().filter(|call| call.name == "pread64").count();
        assert!(reads <= times * (blocks + 12), "{what}: {reads} reads, and the log has {blocks} blocks");
    };
    for (command, times) in [("list", 2), ("attention", 1), ("resume", 2)] {
        reads(command, times, &|disk| drop(sandbox.inside_on(disk, &[], [command]).ok()));
    }
    for (event, times) in [("session-start", 3), ("user-prompt-submit", 2)] {
        reads(event, times, &|disk| drop(sandbox.hooked(disk, &[], ("claude-code", event), &start).unwrap()));
    }
}

#[test]
fn other_runs_are_read_beside_many_such_logs() {
    let sandbox = in_one_project();
    for nth in 0..20 {
        let id = format!("odd-{nth}");
        sandbox.flow(["start", "debug", "--id", &id]).ok();
        append(&sandbox.run_dir(&id).join("events.jsonl"), &("a hole", Vec::new(), 1 << 30));
    }
    let list = soon_answered(&sandbox, "many", &["list", "--json"], "").json();
    assert_eq!(
        (list["runs"][0]["run_id"].as_str(), list["unreadable"].as_array().unwrap().len()),
        (Some("r1"), 20),
        "{list}"
    );
    soon_answered(
        &sandbox,
        "many",
        &["hook", "claude-code", "session-start"],
        "{\"session_id\":\"s\",\"source\":\"startup\"}",
    )
    .ok();
}

#[test]
fn events_with_far_too_much_between_them_are_not_looked_for() {
    let sandbox = in_one_project();
    let log = sandbox.run_dir("r1").join("events.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let mut later: Map<String, Value> = serde_json::from_str(text.trim_end()).unwrap();
    later.remove("crc");
    later.insert("seq".to_owned(), json!(2));
    later.insert("id".to_owned(), json!("later"));
    later.insert("type".to_owned(), json!("of_another_version"));
    let junk = "x\n".repeat(5_000_000);
    fs::write(&log, format!("{text}{junk}{}", flowrun::codec::seal(&later))).unwrap();
    let list = soon_answered(&sandbox, "between", &["list", "--json"], "").json();
    let reason = list["unreadable"][0]["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.contains("its log has in a row ") && reason.ends_with(" without an event"), "{list}");
    for command in ["resume", "show", "log"] {
        let error = soon_answered(&sandbox, "between", &[command, "r1", "--json"], "").exits(65).error();
        assert_eq!(error["code"], "log_without_events", "{command}");
    }
}

#[test]
fn a_log_that_repeats_its_events_without_end_is_not_read_to_its_end() {
    for (events, times) in [(1, 70_000), (2, 30_000)] {
        let sandbox = in_one_project();
        if events == 2 {
            sandbox.record("r1", "preflight", "a");
        }
        let log = sandbox.run_dir("r1").join("events.jsonl");
        fs::write(&log, fs::read_to_string(&log).unwrap().repeat(times)).unwrap();
        let list = soon_answered(&sandbox, "repeated", &["list", "--json"], "").json();
        let reason = list["unreadable"][0]["reason"].as_str().unwrap_or_default().to_owned();
        assert!(reason.contains("its log has in a row ") && reason.ends_with(" without an event"), "{list}");
        let hook = ["hook", "claude-code", "session-start"];
        let told = soon_answered(&sandbox, "repeated", &hook, r#"{"session_id":"s","source":"startup"}"#).ok();
        assert!(told.stdout.contains("r1"), "{told:?}");
        soon_answered(&sandbox, "repeated", &["hud"], "").ok();
        soon_answered(&sandbox, "repeated", &["doctor", "r1"], "").exits(65);
    }
}

#[test]
fn a_log_that_begins_with_far_too_much_keeps_no_other_run_from_the_reader() {
    let sandbox = in_one_project();
    sandbox.flow(["start", "debug", "--id", "r2", "--another"]).ok();
    let log = sandbox.run_dir("r2").join("events.jsonl");
    let junk = "\n".repeat(70_000);
    fs::write(&log, format!("{junk}{}", fs::read_to_string(&log).unwrap())).unwrap();
    let resumed = sandbox.flow(["resume", "--json"]).ok().json();
    assert_eq!((&resumed["run_id"], &resumed["unreadable"][0]["run_id"]), (&json!("r1"), &json!("r2")), "{resumed}");
    let told = sandbox.flow(["hud"]).ok().stdout;
    assert!(told.contains("r1"), "{told}");
    let hook = ["hook", "claude-code", "session-start"];
    let told = sandbox.flow_with(hook, r#"{"session_id":"s","source":"startup"}"#).ok().stdout;
    assert!(told.contains("r1") && told.contains("r2"), "{told}");
    let list = sandbox.flow(["list", "--json"]).ok().json();
    assert_eq!(list["unreadable"][0]["run_id"], "r2", "{list}");
}

#[test]
fn a_log_that_two_threads_read_is_what_one_reads() {
    let sandbox = in_one_project();
    let log = sandbox.run_dir("r1").join("events.jsonl");
    let first = fs::read_to_string(&log).unwrap();
    let mut event: Map<String, Value> = serde_json::from_str(first.trim_end()).unwrap();
    event.remove("crc");
    event.insert("type".to_owned(), json!("of_another_version"));
    let line = |seq: usize| {
        let mut event = event.clone();
        event.insert("seq".to_owned(), json!(seq));
        event.insert("id".to_owned(), json!(format!("e{seq}")));
        flowrun::codec::seal(&event)
    };
    let others = (2..2_000).map(|seq| line(seq) + if seq % 7 == 0 { "a note\n" } else { "" });
    let whole: String = std::iter::once(first).chain(others).collect();
    assert!(whole.len() > 2 << 20, "{}", whole.len());
    // The middle is in a line, between lines, in a line that is not an event; the end lacks its line break.
    let project = Project::open(&Os, &sandbox.root(), Trust::AnyOwner).unwrap();
    let run = project.run(&RunId::new("r1").unwrap()).unwrap();
    for cut in (0..40).step_by(scaled(4, 1)) {
        let end = whole.len() - cut * 97;
        fs::write(&log, &whole[..end]).unwrap();
        assert_eq!(run.log().unwrap(), LogScan::parse(&whole.as_bytes()[..end]), "{cut}");
    }
}

#[test]
fn a_torn_line_as_long_as_a_line_may_be_is_recovered_and_so_are_many_notes() {
    let longest = flowrun::model::limits::LINE_BYTES;
    for (what, end) in [
        ("a torn line", format!("{{\"v\":1,\"seq\":2,\"id\":\"{}", "x".repeat(longest - 100)).into_bytes()),
        ("a line that lost its blocks", [vec![b'x'; longest - 9000], vec![0; 8192], b"x\n".to_vec()].concat()),
        ("zeros", vec![0; longest]),
        (
            "notes",
            "{\"tool\":\"Bash\",\"at\":\"2026-05-20T14:40:00Z\",\"note\":\"done\"}\n".repeat(60_000).into_bytes(),
        ),
    ] {
        let sandbox = in_one_project();
        append(&sandbox.run_dir("r1").join("events.jsonl"), &(what, end, 0));
        let list = soon_answered(&sandbox, what, &["list", "--json"], "").json();
        assert_eq!((list["runs"].as_array().unwrap().len(), &list["unreadable"]), (1, &json!([])), "{what}: {list}");
        sandbox.record("r1", "preflight", "afterwards");
        if what != "notes" {
            sandbox.assert_sound("r1");
        }
    }
}

#[test]
fn a_part_of_a_log_is_what_the_whole_log_has_there() {
    let sandbox = Sandbox::new();
    sandbox.inside(["start", "debug", "--id", "r1"]).ok();
    let part = |after: u64, more: &[&str]| {
        let after = after.to_string();
        let report = sandbox.inside([&["log", "r1", "--json", "--after", &after], more].concat()).ok().json();
        let seqs: Vec<_> = report["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64()).collect();
        (seqs, report["next"].as_u64(), report["skipped"].as_array().unwrap().len())
    };
    let write = |text: &str| {
        let mut log = OpenOptions::new().append(true).open(sandbox.run_dir("r1").join("events.jsonl")).unwrap();
        log.write_all(text.as_bytes()).unwrap();
    };
    let record = |id: &str| drop(sandbox.inside(["record-activity", "--run-id", "r1", "--id", id]).ok());
    let seqs = |from: u64, to: u64| (from..=to).map(Some).collect::<Vec<_>>();
    record("one");
    write("{\"type\":\"note\"}\n");
    record("two");
    record("three");
    assert_eq!(part(0, &[]), (seqs(1, 4), None, 1));
    assert_eq!(part(1, &[]), (seqs(2, 4), None, 1));
    assert_eq!(part(3, &[]), (seqs(4, 4), None, 0));
    assert_eq!(part(2, &["--limit", "1"]), (seqs(3, 3), Some(3), 1));
    assert_eq!(part(4, &[]), (Vec::new(), None, 0));
    assert_eq!(part(99, &[]), (Vec::new(), None, 0));
    write("torn");
    assert_eq!(part(3, &[]).0, seqs(4, 4));
    record("four");
    assert_eq!(part(3, &[]).0, seqs(4, 5));
}
