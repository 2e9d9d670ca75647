//! A death before every call of a repair that changes something, and failing calls: no line is lost, and the next repair ends
//! what this one began. The deaths are this process's own; some are real ones, of the real program by SIGKILL.

use std::path::PathBuf;
use std::sync::Arc;

use flowrun::disk::Errno;

use crate::support::clinic::{assert_nothing_lost, files, troubles};
use crate::support::shaky::{DiskCall, Ill, Shaky};
use crate::support::{Past, Tree, alone, calls, can_inject, injected, killed_at, scaled, try_all};

const REPAIR: [&str; 3] = ["doctor", "--repair", "--json"];
/// Kills the repair before every second call, each time beginning with the same damage; the campaign kills it before every one.
/// Of the deaths of the real program, one of so many is tried.
fn dies_everywhere(past: &Past, least: usize, test: &str) {
    let flow = past.sandbox.path(".flow");
    let base = Tree::of(&flow);
    let before = files(&past.sandbox);
    let repair_on = |ills: &[Ill]| {
        let disk = Shaky::new(alone(), ills);
        (past.sandbox.inside_on(Arc::new(disk.clone()), &[], REPAIR), disk.calls())
    };
    let (answer, asked) = repair_on(&[]);
    assert!(troubles(&answer.ok().json()).is_empty());
    let deaths: Vec<(usize, DiskCall)> = (1..).zip(asked).filter(|(_, call)| call.changes).collect();
    assert!(deaths.len() > least, "only {} calls were found", deaths.len());
    let some: Vec<_> = deaths.into_iter().step_by(scaled(2, 1)).collect();
    try_all(&some, |(at, _)| {
        base.restore(&flow);
        assert_eq!(repair_on(&[Ill::Death(*at)]).0.code, None, "it did not die");
        assert_made_good(past, &before);
    });
    base.restore(&flow);
    if !can_inject(test) {
        return;
    }
    let (answer, calls) = calls(&past.sandbox, &REPAIR);
    answer.ok();
    let calls: Vec<_> = calls.into_iter().filter(|call| call.changes_something()).step_by(scaled(17, 9)).collect();
    try_all(&calls, |call| {
        base.restore(&flow);
        killed_at(&past.sandbox, call, &REPAIR);
        assert_made_good(past, &before);
    });
}

/// Nothing is lost, and the next repair ends what a dead one began.
#[track_caller]
fn assert_made_good(past: &Past, before: &[(PathBuf, Vec<u8>)]) {
    assert_nothing_lost(before, &past.sandbox);
    let (report, code) = past.doctor_inside(&["--repair"]);
    assert_eq!((code, troubles(&report)), (0, Vec::new()), "{report:#}");
    assert_nothing_lost(before, &past.sandbox);
    past.go_on();
    past.sandbox.inside(["verify", &past.run]).ok();
    let completed = past.completed();
    for id in ["preflight-done", "explore-done", "plan-done", "code-done"] {
        assert!(completed.iter().any(|one| one == id), "{id} is gone");
    }
    past.sandbox.assert_nothing_left(&past.run);
}

#[test]
fn a_killed_repair_of_a_merged_log_loses_nothing_and_can_be_repeated() {
    let past = Past::new();
    past.sandbox.edit(&past.run, "state:", "# ask Ada first\nstate:");
    past.merge_branches(2);
    dies_everywhere(&past, 40, "a_killed_repair_of_a_merged_log_loses_nothing_and_can_be_repeated");
    assert!(past.read("run.yaml").contains("# ask Ada first\n"));
}

#[test]
fn a_killed_repair_of_everything_at_once_loses_nothing_and_can_be_repeated() {
    let past = Past::new();
    let log = past.read("events.jsonl");
    let lines: Vec<_> = log.lines().collect();
    past.put("events.jsonl", format!("{}\n{}\n<<<<<<< HEAD\n{}\n{{\"v\":1,\"se", lines[0], lines[1], lines[3]));
    past.put("run.yaml", past.read("run.yaml").replacen("state:", "<<<<<<< HEAD\n# ask Ada first\nstate:", 1));
    past.put(".run.tmp", "only here: call Ada\n");
    past.put("activities/001-preflight-done.yaml", "");
    past.put("activities/003-plan-done.yaml", "[ # Ada\n");
    past.put("activities/009-mine.yaml", "mine: true\n");
    past.put("../notes.txt", "call Ada\n");
    past.put("../../.gitignore", "# Written by flow\nmine/\n");
    std::fs::remove_file(past.real_path("/.gitattributes")).unwrap();
    dies_everywhere(&past, 60, "a_killed_repair_of_everything_at_once_loses_nothing_and_can_be_repeated");
}

#[test]
fn a_killed_repair_of_a_lost_log_loses_nothing_and_can_be_repeated() {
    let past = Past::new();
    past.remove("events.jsonl");
    dies_everywhere(&past, 20, "a_killed_repair_of_a_lost_log_loses_nothing_and_can_be_repeated");
}

#[test]
fn a_repair_whose_system_calls_fail_says_so_and_can_be_repeated() {
    if !can_inject("a_repair_whose_system_calls_fail_says_so_and_can_be_repeated") {
        return;
    }
    let past = Past::new();
    let log = past.read("events.jsonl");
    let lines: Vec<_> = log.lines().collect();
    past.put("events.jsonl", format!("{}\n{}\n# what is this\n{}\n", lines[0], lines[1], lines[3]));
    past.put("run.yaml", "[ # Ada\n");
    past.put("activities/001-preflight-done.yaml", "");
    let flow = past.sandbox.path(".flow");
    let base = Tree::of(&flow);
    let before = files(&past.sandbox);
    let (answer, calls) = calls(&past.sandbox, &REPAIR);
    answer.ok();
    let failing = ["write", "fsync", "fdatasync", "renameat", "renameat2", "mkdirat", "unlinkat", "ftruncate"];
    let calls: Vec<_> = calls.into_iter().filter(|call| failing.contains(&call.name.as_str())).collect();
    assert!(calls.len() > 15, "only {} calls were found", calls.len());
    try_all(&calls, |call| {
        base.restore(&flow);
        let error = if call.name.contains("sync") { "EIO" } else { "ENOSPC" };
        let answer = injected(&past.sandbox, &format!("{}:error={error}:when={}", call.name, call.nth), &REPAIR);
        assert!([Some(0), Some(65), Some(74)].contains(&answer.code), "{answer:?}");
        assert!(!answer.stderr.contains("panicked"), "{answer:?}");
        assert_nothing_lost(&before, &past.sandbox);
        if answer.code == Some(0) {
            assert_eq!(past.doctor_inside(&[]).1, 0, "it said that all is well after {call:?}");
        }
        let (report, code) = past.doctor_inside(&["--repair"]);
        assert_eq!((code, troubles(&report)), (0, Vec::new()), "after {call:?}: {report:#}");
        past.go_on();
        past.sandbox.inside(["verify", &past.run]).ok();
    });
}

#[test]
fn a_repair_calls_nothing_mended_that_it_could_not_look_at() {
    let past = Past::new();
    past.put("events.jsonl", past.read("events.jsonl") + "{\"v\":1,\"se");
    past.put(".run.tmp", "only here: call Ada\n");
    past.remove("activities/002-explore-done.yaml");
    let flow = past.sandbox.path(".flow");
    let base = Tree::of(&flow);
    let repair_on = |ills: &[Ill]| {
        let disk = Shaky::new(alone(), ills);
        (past.sandbox.inside_on(Arc::new(disk.clone()), &[], REPAIR), disk.calls())
    };
    let (answer, asked) = repair_on(&[]);
    assert_eq!(answer.ok().json()["findings"].as_array().unwrap().len(), 4);
    let opens: Vec<usize> = (1..).zip(asked).filter(|(_, call)| call.name == "openat").map(|(at, _)| at).collect();
    assert!(opens.len() > 40, "only {} were found", opens.len());
    // Every one fails in one of these ways, in the campaign in all of them.
    let ways = [Errno::IO, Errno::MFILE, Errno::INTR, Errno::ACCESS];
    for (nth, errno) in ways.into_iter().enumerate() {
        let step = scaled(ways.len(), 1);
        let some: Vec<_> = opens.iter().skip(nth % step).step_by(step).collect();
        try_all(&some, |&&at| {
            base.restore(&flow);
            let (answer, _) = repair_on(&[Ill::Failure(at, errno)]);
            let unreadable = answer.stdout.contains("\"code\":\"unreadable\"");
            let called_mended = answer.stdout.contains("\"state\":\"mended\"") && unreadable;
            assert!(!called_mended || answer.code != Some(0), "{answer:?}");
            let (report, _) = past.doctor_inside(&[]);
            let is_whole = troubles(&report).is_empty();
            assert!(is_whole || answer.code != Some(0), "{at} {errno:?}: {answer:?}\n{report:#}");
        });
    }
}

#[test]
fn a_repair_of_what_stays_unreadable_fails_and_says_so() {
    let past = Past::new();
    past.put("events.jsonl", past.read("events.jsonl") + "{\"v\":1,\"se");
    // As long as it lasts: every look of the repair fails.
    let disk = Shaky::new(alone(), &[]);
    let answer = past.sandbox.inside_on(Arc::new(disk.clone()), &[], REPAIR);
    assert_eq!(answer.ok().json()["findings"][0]["state"], "mended");
    let first = (1..).zip(disk.calls()).find(|(_, call)| call.name == "openat" && call.files[0] == past.run).unwrap().0;
    past.put("events.jsonl", past.read("events.jsonl") + "{\"v\":1,\"se");
    let disk = Shaky::new(alone(), &[Ill::Failures(first, "openat", Errno::IO)]);
    let answer = past.sandbox.inside_on(Arc::new(disk), &[], REPAIR);
    assert_ne!(answer.code, Some(0), "{answer:?}");
    assert!(!answer.stdout.contains("\"mended\""), "{answer:?}");
}
