//! Waiting for the lock: bounded, fair, and with the name of who holds it.

use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Answer, HeldLock, Lack, Sandbox, answered, can_inject, injecting, run, skipped, spawned};

fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: it never came to that");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A recorder that was stopped while it holds the lock.
struct Stopped {
    recorder: Option<Child>,
    pid: Pid,
}

impl Stopped {
    /// `record-activity` as `held`, stopped before its first flush.
    fn in_the_middle(sandbox: &Sandbox, run: &str) -> Self {
        let args = ["record-activity", "--run-id", run, "--phase", "preflight", "--id", "held", "--json"];
        let recorder = spawned(injecting(sandbox, &["fdatasync:signal=STOP:when=1"], &args));
        let log = sandbox.run_dir(run).join("events.jsonl");
        // The line is in the log, and the flush comes next.
        until("the line of the holder", || {
            std::fs::read_to_string(&log).ok().filter(|log| log.contains(r#""id":"held""#))
        });
        let note: Value = serde_json::from_str(sandbox.read(run, ".lock").trim()).unwrap();
        let pid = i32::try_from(note["pid"].as_i64().unwrap()).ok().and_then(Pid::from_raw).unwrap();
        let status = format!("/proc/{}/status", pid.as_raw_nonzero());
        // Under strace a stopped process counts as traced.
        until("the stop", || {
            std::fs::read_to_string(&status)
                .ok()
                .filter(|text| text.contains("State:\tT") || text.contains("State:\tt"))
        });
        Self { recorder: Some(recorder), pid }
    }

    /// Lets it go on, and gives its answer.
    fn goes_on(mut self) -> Answer {
        let recorder = self.recorder.take().unwrap();
        kill_process(self.pid, Signal::CONT).unwrap();
        answered(recorder)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        if self.recorder.is_some() {
            // Nothing is left behind, also by a test that fails.
            let _ = kill_process(self.pid, Signal::CONT);
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }
}

#[test]
fn a_stopped_holder_is_named_waited_for_within_bounds_and_never_robbed() {
    if !can_inject("a_stopped_holder_is_named_waited_for_within_bounds_and_never_robbed") {
        return;
    }
    let sandbox = Sandbox::new();
    let run_id = sandbox.start("start-issue");
    sandbox.record(&run_id, "preflight", "before");
    let stopped = Stopped::in_the_middle(&sandbox, &run_id);
    for (timeout, args) in [
        ("0", vec!["record-activity", "--run-id", &run_id, "--id", "next"]),
        ("0.3", vec!["record-activity", "--run-id", &run_id, "--id", "next"]),
        ("0.1", vec!["block", &run_id, "--reason", "x"]),
        ("0.1", vec!["cancel", &run_id]),
        ("0.1", vec!["resume", &run_id, "--claim", "--session", "s9"]),
        // Nothing is written, but what differs now is not finished.
        ("0.1", vec!["verify", &run_id]),
    ] {
        let log = sandbox.read(&run_id, "events.jsonl");
        let begun = Instant::now();
        let all = args.iter().copied().chain(["--lock-timeout", timeout, "--json"]);
        let error = sandbox.flow(all).exits(5).error();
        let waited = begun.elapsed();
        assert!(waited >= Duration::from_secs_f64(timeout.parse().unwrap()), "{args:?} waited only {waited:?}");
        assert!(waited < Duration::from_secs(10), "{args:?} waited {waited:?}");
        assert_eq!(error["code"], "lock_timeout", "{args:?}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&stopped.pid.to_string()), "{args:?} does not name the process: {error}");
        assert!(message.contains("flow record-activity"), "{args:?} does not name the command: {error}");
        assert_eq!(sandbox.read(&run_id, "events.jsonl"), log, "{args:?} wrote");
    }
    // Who only looks does not wait, and another run has a lock of its own.
    for args in [["show", &run_id], ["log", &run_id], ["resume", &run_id]] {
        sandbox.flow(args).ok();
    }
    sandbox.flow(["list"]).ok();
    let begun = Instant::now();
    sandbox.flow_with(["session-end"], r#"{"session_id":"s1"}"#).ok();
    assert!(begun.elapsed() < Duration::from_secs(5), "a hook waits for nobody: {:?}", begun.elapsed());
    let other = sandbox.start("debug");
    sandbox.record(&other, "preflight", "meanwhile");
    // A patient writer gets its turn.
    let mut patient = sandbox.flow_command();
    patient.args(["record-activity", "--run-id", &run_id, "--phase", "preflight", "--id", "patient", "--json"]);
    let patient = spawned(patient);
    let held = stopped.goes_on().ok().json();
    let patient = answered(patient).ok().json();
    assert_eq!((held["number"].as_str(), patient["number"].as_str()), (Some("002"), Some("003")));
    sandbox.record(&run_id, "preflight", "next");
    sandbox.assert_sound(&run_id);
    sandbox.assert_sound(&other);
}

#[test]
fn a_holder_that_is_killed_while_stopped_blocks_nobody() {
    if !can_inject("a_holder_that_is_killed_while_stopped_blocks_nobody") {
        return;
    }
    let sandbox = Sandbox::new();
    let run_id = sandbox.start("start-issue");
    let stopped = Stopped::in_the_middle(&sandbox, &run_id);
    let mut waiting = sandbox.flow_command();
    waiting.args(["record-activity", "--run-id", &run_id, "--phase", "preflight", "--id", "waiting", "--json"]);
    let waiting = spawned(waiting);
    kill_process(stopped.pid, Signal::KILL).unwrap();
    let waited = answered(waiting).ok().json();
    // The dead one's line was in the log, so it counts.
    assert_eq!(waited["number"], "002", "{waited}");
    sandbox.assert_sound(&run_id);
}

/// The longest that anybody may wait among this many writers (design, section 9 with a reserve).
const LONGEST_WAIT: Duration = Duration::from_secs(2);
const WRITERS: u32 = 64;
/// Each writer comes again, so that one who is always passed over can be seen.
const TURNS: usize = 2;

#[test]
fn none_of_many_writers_waits_much_longer_than_its_turn() {
    let sandbox = Sandbox::new();
    let run_id = sandbox.start("start-issue");
    let writers: Vec<Vec<Command>> = (0..WRITERS)
        .map(|writer| {
            let record = |turn| {
                let mut command = sandbox.flow_command();
                let id = format!("turn-{writer}-{turn}");
                command.args(["record-activity", "--run-id", &run_id, "--phase", "preflight", "--id", &id, "--json"]);
                command
            };
            (0..TURNS).map(record).collect()
        })
        .collect();
    let begun = Instant::now();
    let mut waits: Vec<Duration> = std::thread::scope(|scope| {
        let one_after_the_other = |commands: Vec<Command>| {
            let timed = |command| {
                let begun = Instant::now();
                run(command, "").ok();
                begun.elapsed()
            };
            commands.into_iter().map(timed).collect::<Vec<_>>()
        };
        let writers: Vec<_> =
            writers.into_iter().map(|commands| scope.spawn(move || one_after_the_other(commands))).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    waits.sort_unstable();
    let total = begun.elapsed();
    // What everybody would wait if all took turns at the pace that this machine has now.
    let turn = total / u32::try_from(TURNS).unwrap();
    let (median, longest) = (waits[waits.len() / 2], waits[waits.len() - 1]);
    let told = format!("{WRITERS} writers: {total:?} in all, one waits {median:?}, the longest {longest:?}");
    assert!(longest <= LONGEST_WAIT.max(turn * 2), "somebody was passed over again and again: {told}");
    if longest > LONGEST_WAIT {
        skipped(
            "none_of_many_writers_waits_much_longer_than_its_turn",
            &Lack::of("speed", format!("the machine is too slow now: {told}")),
        );
    }
    sandbox.assert_sound(&run_id);
}

/// A call of a hook by Codex.
fn hook(sandbox: &Sandbox, event: &str, payload: &Value) -> Duration {
    let begun = Instant::now();
    sandbox.flow_with(["hook", "codex", event], &payload.to_string()).ok();
    begun.elapsed()
}

#[test]
fn a_hook_waits_for_no_writer_for_long_and_leaves_the_run_to_the_next_time() {
    if !can_inject("a_hook_waits_for_no_writer_for_long_and_leaves_the_run_to_the_next_time") {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "start-issue", "--id", "r1", "--issue", "7", "--session", "s1"]).ok();
    sandbox.flow(["record-activity", "--id", "begin", "--session", "s1"]).ok();
    hook(&sandbox, "session-start", &json!({ "session_id": "s1", "source": "startup" }));
    hook(&sandbox, "session-end", &json!({ "session_id": "s1" }));
    let stopped = Stopped::in_the_middle(&sandbox, "r1");
    let resumed = json!({ "session_id": "s1", "source": "resume" });
    let waited = hook(&sandbox, "session-start", &resumed);
    assert!(waited < Duration::from_secs(15), "{waited:?}");
    let log = std::fs::read_to_string(sandbox.path(".flow/.cache/hooks.log")).unwrap();
    assert!(log.contains("session-start: run r1: "), "{log}");
    stopped.goes_on().ok();
    hook(&sandbox, "session-start", &resumed);
    assert_eq!(sandbox.flow(["show", "r1", "--json"]).ok().json()["state"]["session"], "s1");
}

#[test]
fn a_prompt_waits_a_little_for_the_modes_it_asks_for_and_says_when_it_does_not_get_them() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1", "--session", "s1"]).ok();
    sandbox.flow(["mode", "request", "forge", "--session", "s2"]).ok();
    let prompt = |text: &str| {
        let payload = json!({ "session_id": "s1", "prompt": text }).to_string();
        let begun = Instant::now();
        let answer = sandbox.flow_with(["hook", "codex", "user-prompt-submit"], &payload).ok();
        (answer.stdout, begun.elapsed())
    };
    let held = HeldLock::take(sandbox.path(".flow/state/.lock"));
    let (answer, waited) = prompt("$team fix the tests");
    assert!(answer.contains("flow did not do what the prompt asks of its modes: "), "{answer}");
    assert!(answer.contains("is held by another process"), "{answer}");
    assert!((Duration::from_secs(1)..Duration::from_secs(15)).contains(&waited), "{waited:?}");
    // Without a skill there is nothing to wait for.
    assert!(!prompt("fix the tests").0.contains("did not do"));
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            drop(held);
        });
        let (answer, waited) = prompt("$team fix the tests");
        assert!(answer.contains("skill: team activated"), "{answer}");
        assert!(waited >= Duration::from_millis(300), "{waited:?}");
    });
}

#[test]
fn the_end_of_a_session_waits_for_no_writer_for_long() {
    for lock in [".flow/state/.lock", ".flow/runs/r1/.lock"] {
        let sandbox = Sandbox::new();
        sandbox.flow(["start", "debug", "--id", "r1", "--session", "s1"]).ok();
        sandbox.flow(["record-activity", "--id", "begin", "--session", "s1"]).ok();
        sandbox.flow(["mode", "request", "forge", "--session", "s1"]).ok();
        let _held = HeldLock::take(sandbox.path(lock));
        let begun = Instant::now();
        let answer = sandbox.flow(["session-end", "--session", "s1"]).ok();
        assert!(begun.elapsed() < Duration::from_secs(15), "{lock}: {:?}", begun.elapsed());
        // What the modes do not say yet is noted.
        assert_eq!(answer.stderr.contains("warning: "), lock != ".flow/state/.lock", "{lock}: {answer:?}");
    }
}

#[test]
fn a_busy_lock_names_only_a_process_that_holds_it() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    // Its note stays in the lock.
    sandbox.flow(["record-activity", "--id", "a"]).ok();
    let _held = HeldLock::take(sandbox.run_dir("r1").join(".lock"));
    let refused = sandbox.flow(["record-activity", "--id", "b", "--lock-timeout", "0.1"]).exits(5).stderr;
    assert!(refused.contains(".lock is held by another process, which flow does not know; waited"), "{refused}");
}
