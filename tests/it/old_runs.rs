//! Runs that the first version of these files made open unchanged, and go on.

use std::path::Path;

use crate::support::{Sandbox, Tree};

/// A project with the runs as that version left them, hand edit and repaired log included.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/old_runs/runs");
    Tree::of(&runs).restore(&sandbox.path(".flow/runs"));
    sandbox
}

const RUNS: [(&str, &str, i32); 4] = [
    ("2026-05-20T143001Z-issue-42", "continue", 0),
    ("2026-05-20T143008Z-merge-pr-7", "needs_human", 4),
    ("2026-05-20T143010Z-debug", "done", 0),
    ("run-1", "needs_human", 4),
];

#[test]
fn runs_of_the_first_version_are_read_without_a_change() {
    let sandbox = project();
    let before = Tree::of(&sandbox.path(".flow/runs"));
    for (run, verdict, code) in RUNS {
        let answer = sandbox.flow(["resume", run, "--json"]).exits(code).json();
        assert_eq!(answer["verdict"], verdict, "{run}");
        for verb in ["show", "log", "verify", "validate"] {
            sandbox.flow([verb, run]).ok();
        }
    }
    assert_eq!(sandbox.flow(["list", "--json"]).ok().json()["runs"].as_array().unwrap().len(), RUNS.len());
    sandbox.flow(["doctor"]).ok();
    assert!(Tree::of(&sandbox.path(".flow/runs")) == before, "reading changed something");
}

#[test]
fn runs_of_the_first_version_go_on() {
    let sandbox = project();
    let [issue, merge, debug, reports] = RUNS.map(|(run, ..)| run);
    sandbox.record(issue, "verify", "verify");
    assert!(sandbox.read(issue, "run.yaml").contains("goal: by hand # mine"));
    sandbox.flow(["unblock", merge, "--reason", "it came"]).ok();
    sandbox.flow(["reopen", debug, "--reason", "more to do"]).ok();
    let answer = ["--type", "user_answered", "--step", "design", "--data", "{\"answer\":\"this\"}"];
    sandbox.flow(["emit", "--workflow", "build", "--run-id", reports].iter().chain(&answer)).ok();
    for (run, ..) in RUNS {
        sandbox.flow(["verify", run]).ok();
    }
}
