//! Sixteen sessions of a host at once, each with a run: they begin, are prompted, record, are cleared and end.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::hooks::{held, hold, in_use};
use crate::support::{HostProcess, Sandbox, scaled};

const SESSIONS: usize = 16;

/// What a conversation was told and has done when it is over.
struct Told {
    run: String,
    /// Its sessions, one after the other, each with a mode.
    sessions: Vec<String>,
    records: Vec<String>,
}

/// A conversation that is cleared twice at least, and again until its time is over.
fn converse(sandbox: &Sandbox, nth: usize, until: Instant) -> Told {
    let host = HostProcess::new(sandbox);
    let run = format!("r{}", nth + 10);
    let mut told = Told { run: run.clone(), sessions: Vec::new(), records: Vec::new() };
    loop {
        let session = format!("c{nth}-{}", told.sessions.len());
        let (is_first, is_last) = (told.sessions.is_empty(), told.sessions.len() >= 2 && Instant::now() >= until);
        let source = if is_first { "startup" } else { "clear" };
        host.hook(sandbox, "session-start", &json!({ "session_id": session, "source": source }));
        if is_first {
            host.flow(sandbox, &session, &["start", "debug", "--id", &run, "--another"]);
        }
        let prompt = || {
            let payload = json!({ "session_id": session, "prompt": "$team go on" });
            host.hook(sandbox, "user-prompt-submit", &payload)
        };
        // Who is told that the modes are busy says it again.
        let mut answer = prompt();
        while answer.contains("flow did not do what the prompt asks of its modes") {
            answer = prompt();
        }
        assert!(answer.contains("skill: team activated"), "{session}: {answer}\n{}", trouble(sandbox));
        // What a session had no time to get when it began, it gets when it is prompted.
        assert_eq!(hold(sandbox, &run), held(&session, told.sessions.len() as u64 + 1), "{}", trouble(sandbox));
        for part in 0..2 {
            let id = format!("w{}-{part}", told.sessions.len());
            host.flow(sandbox, &session, &["record-activity", "--run-id", &run, "--id", &id]);
            told.records.push(id);
        }
        let reason = if is_last { "other" } else { "clear" };
        host.hook(sandbox, "session-end", &json!({ "session_id": session, "reason": reason }));
        told.sessions.push(session);
        if is_last {
            return told;
        }
    }
}

/// What hooks noted that they could not do.
fn trouble(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.path(".flow/.cache/hooks.log")).unwrap_or_default()
}

#[test]
fn sixteen_sessions_at_once_lose_no_record_no_run_and_no_end_of_a_mode() {
    let sandbox = in_use();
    let until = Instant::now() + scaled(Duration::ZERO, Duration::from_secs(60));
    let all: Vec<Told> = thread::scope(|scope| {
        let sandbox = &sandbox;
        let lanes: Vec<_> = (0..SESSIONS).map(|nth| scope.spawn(move || converse(sandbox, nth, until))).collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).collect()
    });
    // The next writer of modes writes the ends for which there was no lock.
    sandbox.flow(["mode", "request", "deep-interview", "--session", "after"]).ok();
    let list = sandbox.flow(["mode", "list", "--all", "--json"]).ok().json();
    let is_over = |session: &str| {
        let scope = format!("session {session}");
        let mode = list["modes"].as_array().unwrap().iter().find(|mode| mode["scope"] == scope.as_str());
        mode.is_some_and(|mode| mode["session_over"] == true)
    };
    let trouble = trouble(&sandbox);
    for Told { run, sessions, records } in &all {
        let shown = sandbox.flow(["show", run, "--json"]).ok().json();
        // The end of a session has a second; what it could not do in that time, it says.
        let is_free = shown["state"]["session"] == Value::Null;
        assert!(is_free || trouble.contains("session-end: "), "{run} is held by a session that has ended: {trouble}");
        let kept: Vec<_> = shown["activities"].as_array().unwrap().iter().map(|kept| kept["id"].clone()).collect();
        assert_eq!(kept, *records, "{run}");
        for session in sessions {
            assert!(is_over(session), "{session}: {list}");
        }
        sandbox.assert_sound(run);
    }
    let notes = std::fs::read_dir(sandbox.path(".flow/.cache/hosts")).unwrap().count();
    assert!(notes < 150, "{notes} notes are kept of the sessions");
}
