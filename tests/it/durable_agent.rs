//! The example of an agent with a state written in Rust: killed anywhere, it goes on and repeats no finished state.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Answer, Sandbox, cargo, run};

/// The example, built as the program that is tested was.
fn example() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = Path::new(env!("CARGO_BIN_EXE_flow"));
        let profile = program.parent().unwrap();
        let mut cargo = cargo();
        cargo.args([
            "build",
            "--locked",
            "--offline",
            "--quiet",
            "--example",
            "durable_agent",
            "--no-default-features",
        ]);
        // The same features, so that the library need not be built again.
        let features = [
            ("default", cfg!(feature = "default")),
            ("mcp", cfg!(feature = "mcp")),
            ("network", cfg!(feature = "network")),
            ("serve", cfg!(feature = "serve")),
            ("watch", cfg!(feature = "watch")),
        ];
        let features: Vec<_> = features.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| *name).collect();
        cargo.arg("--features").arg(features.join(",")).current_dir(env!("CARGO_MANIFEST_DIR"));
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        let built = cargo.output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        profile.join("examples/durable_agent")
    })
}

fn agent(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.command(example());
    command.arg(sandbox.root());
    command
}

/// What the states noted, a line each.
fn noted(sandbox: &Sandbox) -> Vec<String> {
    let text = std::fs::read_to_string(sandbox.path("notes")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The states that the run has finished, in order.
fn finished(sandbox: &Sandbox) -> Vec<String> {
    let shown = sandbox.flow(["log", "answer-1", "--json"]);
    if shown.code == Some(3) {
        return Vec::new();
    }
    let mut states = Vec::new();
    for event in shown.ok().json()["events"].as_array().unwrap() {
        for report in event["reports"].as_array().into_iter().flatten() {
            if report["data"]["status"] == "completed" {
                states.push(report["step"].as_str().unwrap().to_owned());
            }
        }
    }
    states
}

/// Kills the agent as soon as its states have noted so many lines. False if it ended before.
fn killed_after(sandbox: &Sandbox, lines: usize) -> bool {
    let mut child = agent(sandbox).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let has_ended = loop {
        if child.try_wait().unwrap().is_some() {
            break true;
        }
        if noted(sandbox).len() >= lines {
            break false;
        }
        assert!(Instant::now() < until, "the agent does not get on: {:?}", noted(sandbox));
        thread::sleep(Duration::from_millis(1));
    };
    let _ = child.kill();
    child.wait().unwrap();
    !has_ended
}

const ROUND: [&str; 7] = ["gather", "draft", "judge", "draft", "judge", "publish", "end"];

#[test]
fn an_agent_with_a_state_of_its_own_goes_on_after_each_kill_and_repeats_no_finished_state() {
    // Killed once, after so many lines.
    for lines in 1..=8 {
        let sandbox = Sandbox::new();
        killed_after(&sandbox, lines);
        let (before, done) = (noted(&sandbox), finished(&sandbox));
        let ended = run(agent(&sandbox), "").ok();
        assert!(ended.stdout.starts_with("Ended") || ended.stdout.starts_with("ended: "), "{ended:?}");
        assert_eq!(finished(&sandbox), ROUND, "after {lines} lines");
        // What runs after the kill is what was not finished: what was finished stays so, in this order.
        let begun: Vec<_> = noted(&sandbox)[before.len()..].iter().filter_map(|line| begins(line)).collect();
        let rest: Vec<_> =
            ROUND[done.len()..].iter().copied().filter(|state| !["judge", "end"].contains(state)).collect();
        assert_eq!(begun, rest, "{done:?} were finished after {lines} lines");
        sandbox.assert_sound("answer-1");
    }
}

fn begins(line: &str) -> Option<String> {
    line.strip_suffix(" begins").map(str::to_owned)
}

#[test]
fn an_agent_that_is_killed_again_and_again_finishes_each_state_once() {
    let sandbox = Sandbox::new();
    // Each time a state gets a little further.
    for lines in 1..=40 {
        if !killed_after(&sandbox, lines) {
            break;
        }
    }
    let ended: Answer = run(agent(&sandbox), "").ok();
    assert!(ended.stdout.to_lowercase().starts_with("ended"), "{ended:?}");
    assert_eq!(finished(&sandbox), ROUND);
    let shown: Value = sandbox.flow(["show", "answer-1", "--json"]).ok().json();
    assert_eq!(shown["state"]["status"], "completed", "{shown}");
    assert_eq!(run(agent(&sandbox), "").ok().line(), "ended: the run is completed");
}

#[test]
fn an_agent_holds_its_run_while_it_lives() {
    let sandbox = Sandbox::new();
    let mut child = agent(&sandbox).stdout(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while noted(&sandbox).is_empty() {
        assert!(Instant::now() < until, "it does not begin");
        thread::sleep(Duration::from_millis(1));
    }
    // Stopped, it cannot end before the other one asks.
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let second = run(agent(&sandbox), "");
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stderr.contains("Held"), "{second:?}");
    assert!(child.wait().unwrap().success());
}
