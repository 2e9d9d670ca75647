//! The cache of open runs: it saves reading finished ones, and never hides a run.

use std::path::PathBuf;

use crate::support::{Sandbox, calls, can_inject};

const CACHE: &str = ".flow/.cache";

/// A project with so many finished runs and one that is open.
fn busy(finished: usize) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    for _ in 0..finished {
        let run = sandbox.start("debug");
        sandbox.flow(["cancel", &run, "--reason", "enough"]).ok();
    }
    let open = sandbox.start("debug");
    (sandbox, open)
}

fn resumed(sandbox: &Sandbox) -> String {
    sandbox.flow(["resume", "--json"]).json()["run_id"].as_str().unwrap_or("none").to_owned()
}

/// Which runs' documents `flow resume` opens.
fn opened(sandbox: &Sandbox) -> usize {
    let (answer, calls) = calls(sandbox, &["resume"]);
    answer.ok();
    calls.iter().filter(|call| call.name == "openat" && call.shown.contains("\"run.yaml\"")).count()
}

#[test]
fn resume_reads_only_open_runs() {
    if !can_inject("resume_reads_only_open_runs") {
        return;
    }
    let (few, _) = busy(1);
    let (many, open) = busy(25);
    assert_eq!(opened(&many), opened(&few));
    assert_eq!(resumed(&many), open);
}

#[test]
fn a_run_that_was_copied_into_the_project_is_found() {
    let (sandbox, open) = busy(2);
    sandbox.flow(["cancel", &open, "--reason", "enough"]).ok();
    assert_eq!(resumed(&sandbox), "none");
    let (other, theirs) = busy(0);
    crate::support::hostile::copy(&other.run_dir(&theirs), &sandbox.run_dir("theirs"));
    let text = sandbox.read("theirs", "run.yaml").replace(&theirs, "theirs");
    std::fs::write(sandbox.run_dir("theirs").join("run.yaml"), text).unwrap();
    let answer = sandbox.flow(["resume", "--json"]).json();
    let named = answer["run_id"] == "theirs" || answer["unreadable"][0]["run_id"] == "theirs";
    assert!(named, "{answer}");
}

#[test]
fn a_finished_run_that_git_puts_back_is_found() {
    let (sandbox, open) = busy(20);
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "open"]);
    sandbox.flow(["cancel", &open, "--reason", "enough"]).ok();
    for _ in 0..20 {
        // So many ended later that this one is not looked at for being recent.
        let run = sandbox.start("debug");
        sandbox.flow(["cancel", &run, "--reason", "enough"]).ok();
    }
    assert_eq!(resumed(&sandbox), "none");
    sandbox.git(&["checkout", "-q", "HEAD", "--", "."]);
    assert_eq!(resumed(&sandbox), open);
}

#[test]
fn a_run_that_a_person_opens_again_is_found() {
    let (sandbox, open) = busy(3);
    sandbox.flow(["cancel", &open, "--reason", "enough"]).ok();
    assert_eq!(resumed(&sandbox), "none");
    sandbox.edit(&open, "status: cancelled", "status: active");
    assert_eq!(resumed(&sandbox), open);
}

#[test]
fn a_cache_that_is_lost_or_damaged_is_made_anew() {
    let (sandbox, open) = busy(3);
    let names: Vec<PathBuf> = ["open-runs.json", "finished-runs"].map(|name| sandbox.path(CACHE).join(name)).into();
    for damage in ["", "\0\0\0\0", "{\"v\":1", "{\"v\":9,\"world\":\"\",\"open\":[],\"recent\":[]}", "a b c\n\n-"] {
        names.iter().for_each(|name| std::fs::write(name, damage).unwrap());
        assert_eq!(resumed(&sandbox), open, "{damage:?}");
    }
    std::fs::remove_dir_all(sandbox.path(CACHE)).unwrap();
    assert_eq!(resumed(&sandbox), open);
    sandbox.flow(["cancel", &open, "--reason", "enough"]).ok();
    assert!(sandbox.path(CACHE).join("open-runs.json").exists());
    assert_eq!(resumed(&sandbox), "none");
}

#[test]
fn a_cache_behind_a_symbolic_link_is_neither_read_nor_written() {
    let (sandbox, open) = busy(1);
    let elsewhere = sandbox.root().with_file_name("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::remove_dir_all(sandbox.path(CACHE)).unwrap();
    std::os::unix::fs::symlink(&elsewhere, sandbox.path(CACHE)).unwrap();
    assert_eq!(resumed(&sandbox), open);
    sandbox.flow(["cancel", &open, "--reason", "enough"]).ok();
    sandbox.start("debug");
    assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 0);
}

#[test]
fn the_cache_stays_out_of_version_control() {
    let (sandbox, _) = busy(1);
    sandbox.git(&["add", "."]);
    let mut command = sandbox.command("git");
    command.args(["ls-files", CACHE]);
    assert_eq!(crate::support::run(command, "").ok().stdout, "");
}
