//! The tests of every day, with all the states and histories of which they try a few.

use std::process::Stdio;

use crate::section::{Plan, Row};
use crate::support::cargo;

/// Runs them as `cargo test` does.
pub fn all_tests(plan: &Plan) -> Result<Vec<Row>, String> {
    plan.kept.job("tests", run)
}

fn run() -> Result<Vec<Row>, String> {
    let mut tests = cargo();
    tests
        .args(["test", "--locked", "--no-fail-fast", "--test", "it", "--test", "conformance"])
        .env("FLOW_TEST_WHOLE", "1");
    let output = tests.stderr(Stdio::null()).output().map_err(|error| format!("cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let ended = |how: &str| text.lines().filter(|line| line.starts_with("test ") && line.ends_with(how)).count();
    let failed = text.lines().filter(|line| line.starts_with("test ") && line.ends_with("FAILED"));
    let mut violations: Vec<_> = failed.map(str::to_owned).collect();
    if violations.is_empty() && !output.status.success() {
        violations.push("the tests came to no end".to_owned());
    }
    if !violations.is_empty() {
        // A case of a property is not seen a second time so easily: its failure is told whole.
        println!("{text}");
    }
    let states = ended("ok") + ended("FAILED");
    let [place, what, trouble] = ["tests", "all tests", "whole"].map(str::to_owned);
    Ok(vec![Row { power: false, place, what, trouble, states, violations }])
}
