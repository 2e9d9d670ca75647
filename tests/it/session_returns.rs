//! Sessions of agents' hosts that come back, or that another one follows: which runs they get, and what is noted of them.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flowrun::codec::digest;
use flowrun::disk::Errno;
use proptest::prelude::*;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::hooks::{begins, ends, held, hold, hook, in_use, prompted, started, works};
use crate::support::shaky::{Ill, Shaky};
use crate::support::{HeldLock, HostProcess, Sandbox, alone, answered, can_inject, injecting, quick, run, scaled};

/// Starts so many runs that the session `s1` holds.
fn many_runs(sandbox: &Sandbox, count: usize) -> Vec<String> {
    let runs: Vec<_> = (0..count).map(|n| format!("r{}", n + 10)).collect();
    for run in &runs {
        sandbox.flow(["start", "debug", "--id", run, "--another", "--session", "s1"]).ok();
    }
    runs
}

/// The note about a session of Codex.
fn note(sandbox: &Sandbox, session: &str) -> Value {
    let notes = std::fs::read_dir(sandbox.path(".flow/.cache/hosts")).unwrap().map(|entry| entry.unwrap().path());
    let notes = notes.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let mut notes = notes.map(|path| serde_json::from_slice::<Value>(&std::fs::read(path).unwrap()).unwrap());
    notes.find(|note| note["session"] == session).unwrap()
}

#[test]
fn a_session_that_was_resumed_passes_its_runs_to_the_one_after_it_although_it_had_ended_before() {
    let sandbox = in_use();
    begins(&sandbox, "codex", "s1", "startup");
    let run = started(&sandbox);
    ends(&sandbox, "codex", "s1", "other");
    begins(&sandbox, "codex", "s1", "resume");
    assert_eq!(hold(&sandbox, &run), held("s1", 2));
    // Codex does not report that s1 is cleared.
    begins(&sandbox, "codex", "s2", "clear");
    assert_eq!(hold(&sandbox, &run), held("s2", 3));
}

#[test]
fn a_session_that_was_prompted_before_there_was_a_project_is_followed_like_any_other() {
    let sandbox = Sandbox::new();
    begins(&sandbox, "codex", "s1", "startup");
    let run = started(&sandbox);
    prompted(&sandbox, "codex", "s1");
    begins(&sandbox, "codex", "s2", "clear");
    assert_eq!(hold(&sandbox, &run), held("s2", 2));
}

#[test]
fn sessions_in_different_processes_do_not_follow_each_other() {
    let sandbox = in_use();
    let (one, two) = (HostProcess::new(&sandbox), HostProcess::new(&sandbox));
    one.hook(&sandbox, "session-start", &json!({ "session_id": "s1", "source": "startup" }));
    let run = started(&sandbox);
    two.hook(&sandbox, "session-start", &json!({ "session_id": "s2", "source": "clear" }));
    assert_eq!(hold(&sandbox, &run), held("s1", 1));
}

/// Codex calls its hook for the beginning or the end of a session. A command of strace has the hook in it.
fn calls_hook(host: &HostProcess, mut command: Command, payload: &Value) {
    if command.get_program() != "strace" {
        command.args(["hook", "codex", if payload["source"].is_null() { "session-end" } else { "session-start" }]);
    }
    run(host.runs(command), &payload.to_string()).ok();
}

#[test]
fn a_session_that_had_no_time_for_all_runs_gets_the_others_the_next_time() {
    if !can_inject("a_session_that_had_no_time_for_all_runs_gets_the_others_the_next_time") {
        return;
    }
    let sandbox = in_use();
    let host = HostProcess::new(&sandbox);
    let report = |command: Command, payload: Value| calls_hook(&host, command, &payload);
    report(sandbox.flow_command(), json!({ "session_id": "s1", "source": "startup" }));
    let runs = many_runs(&sandbox, 12);
    report(sandbox.flow_command(), json!({ "session_id": "s1", "reason": "clear" }));
    let follow = json!({ "session_id": "s2", "source": "clear" });
    // Each claim waits for its flush; all of them would take twice the time that a host gives.
    let slow = injecting(&sandbox, &["fdatasync:delay_enter=100000"], &["hook", "codex", "session-start"]);
    report(slow, follow.clone());
    let is_followed = |run: &String| hold(&sandbox, run).0.as_deref() == Some("s2");
    let log = std::fs::read_to_string(sandbox.path(".flow/.cache/hooks.log")).unwrap();
    let told = |run: &String| log.contains(&format!("no time was left to give run {run} to session s2\n"));
    assert!(!runs.iter().all(is_followed), "{log}");
    for run in &runs {
        assert_eq!(told(run), !is_followed(run), "{run}: {log}");
    }
    let mut tries = 0;
    while !runs.iter().all(is_followed) {
        tries += 1;
        assert!(tries < 20, "some runs stay behind");
        report(sandbox.flow_command(), follow.clone());
    }
    assert_eq!(note(&sandbox, "s1")["over"], "followed");
}

#[test]
fn a_session_that_is_cleared_before_it_got_all_runs_passes_the_others_on_as_well() {
    if !can_inject("a_session_that_is_cleared_before_it_got_all_runs_passes_the_others_on_as_well") {
        return;
    }
    let sandbox = in_use();
    let host = HostProcess::new(&sandbox);
    let begins = |command: Command, session: &str, source: &str| {
        calls_hook(&host, command, &json!({ "session_id": session, "source": source }));
    };
    begins(sandbox.flow_command(), "s1", "startup");
    let runs = many_runs(&sandbox, 12);
    let slow = injecting(&sandbox, &["fdatasync:delay_enter=100000"], &["hook", "codex", "session-start"]);
    begins(slow, "s2", "clear");
    let is_at = |session: &str, run: &String| hold(&sandbox, run).0.as_deref() == Some(session);
    assert!(runs.iter().any(|run| is_at("s1", run)), "there was time for all");
    let mut tries = 0;
    while !runs.iter().all(|run| is_at("s3", run)) {
        tries += 1;
        assert!(tries < 20, "some runs stay behind");
        begins(sandbox.flow_command(), "s3", "clear");
    }
}

#[test]
fn a_note_names_no_more_than_sixteen_runs() {
    let sandbox = in_use();
    begins(&sandbox, "codex", "s1", "startup");
    many_runs(&sandbox, 16);
    prompted(&sandbox, "codex", "s1");
    assert_eq!(note(&sandbox, "s1")["prompt"].as_object().map(serde_json::Map::len), Some(16));
    for run in ["more", "most"] {
        sandbox.flow(["start", "debug", "--id", run, "--another", "--session", "s1"]).ok();
    }
    prompted(&sandbox, "codex", "s1");
    assert_eq!(note(&sandbox, "s1")["prompt"], Value::Null);
    ends(&sandbox, "codex", "s1", "other");
    let left = note(&sandbox, "s1")["left"].as_array().unwrap().len();
    assert!(left <= 16, "{left}");
}

/// Waits until `text` is in the file.
fn wait_for(path: &std::path::Path, text: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string(path).is_ok_and(|found| found.contains(text)) {
        assert!(Instant::now() < until, "there is no {text:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_session_does_not_go_on_by_itself_when_it_was_prompted_meanwhile() {
    if !can_inject("a_session_does_not_go_on_by_itself_when_it_was_prompted_meanwhile") {
        return;
    }
    let sandbox = Sandbox::new();
    let id = started(&sandbox);
    prompted(&sandbox, "codex", "s1");
    works(&sandbox, &id, "work");
    // It has read its note, and stops before it takes the lock to change it.
    let trace = sandbox.path("../trace");
    let mut stop = sandbox.command("strace");
    stop.args(["-q", "-o"]).arg(&trace).args(["-e", "trace=flock", "-e", "inject=flock:signal=STOP:when=1", "--"]);
    stop.arg(env!("CARGO_BIN_EXE_flow")).args(["hook", "codex", "stop", "--continue"]);
    let mut child = stop.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let payload = json!({ "session_id": "s1", "stop_hook_active": false }).to_string();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes()).unwrap();
    wait_for(&trace, "stopped by SIGSTOP");
    prompted(&sandbox, "codex", "s1");
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    kill_process(Pid::from_raw(children.trim().parse().unwrap()).unwrap(), Signal::CONT).unwrap();
    assert_eq!(answered(child).ok().stdout, "");
    // The turn of the new prompt has its own budget.
    assert_eq!((&note(&sandbox, "s1")["times"], &note(&sandbox, "s1")["went_on"]), (&json!(0), &json!(false)));
    hook(&sandbox, "codex", "session-end", &json!({ "session_id": "s1" }));
}

/// What befalls a hook.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    None,
    /// Other writers have all locks.
    Busy,
    /// It is killed before this call.
    Killed(usize),
}

/// What a host reports of its conversation.
#[derive(Debug, Clone, Copy)]
enum Report {
    Startup,
    Resume,
    Prompt,
    Clear,
    End,
}

fn reports() -> impl Strategy<Value = Vec<(usize, Report, Trouble)>> {
    let report = prop_oneof![
        1 => Just(Report::Startup),
        2 => Just(Report::Resume),
        3 => Just(Report::Prompt),
        3 => Just(Report::Clear),
        3 => Just(Report::End),
    ];
    let trouble =
        prop_oneof![3 => Just(Trouble::None), 2 => Just(Trouble::Busy), 2 => (1..90usize).prop_map(Trouble::Killed)];
    proptest::collection::vec((0..3usize, report, trouble), 1..14)
}

/// A host with one conversation, which holds a run and has a mode.
struct Conversation {
    host: HostProcess,
    run: String,
    /// Its session, and how many it had.
    session: String,
    sessions: usize,
    /// What has to be reported once more, because the hook was killed before it could note it.
    again: Option<&'static str>,
    /// Whether its end was reported.
    is_over: bool,
}

impl Conversation {
    fn new(sandbox: &Sandbox, nth: usize) -> Self {
        let (run, session) = (format!("r{nth}"), format!("c{nth}-0"));
        let new = Self { host: HostProcess::new(sandbox), run, session, sessions: 1, again: None, is_over: false };
        new.hook(sandbox, "session-start", json!({ "source": "startup" }), Trouble::None);
        sandbox.inside(["start", "debug", "--id", &new.run, "--another", "--session", &new.session]).ok();
        new.hook(sandbox, "user-prompt-submit", json!({ "prompt": "$forge go" }), Trouble::None);
        new
    }

    /// Whether the hook lived to its end.
    fn hook(&self, sandbox: &Sandbox, event: &str, mut payload: Value, trouble: Trouble) -> bool {
        let ills = match trouble {
            Trouble::None => vec![],
            Trouble::Busy => vec![Ill::Failures(1, "flock", Errno::WOULDBLOCK)],
            Trouble::Killed(at) => vec![Ill::Death(at)],
        };
        payload["session_id"] = self.session.as_str().into();
        let env = [("FLOW_HOLDER_PID", self.host.id().to_string())];
        let disk = Arc::new(Shaky::new(alone(), &ills));
        sandbox.hooked(disk, &env, ("claude-code", event), &payload).is_some()
    }

    fn begins(&mut self, sandbox: &Sandbox, source: &'static str, trouble: Trouble) {
        let lives = self.hook(sandbox, "session-start", json!({ "source": source }), trouble);
        self.again = if lives { None } else { self.again.or(Some(source)) };
        self.is_over = false;
    }

    /// Begins once more what was killed or has ended: a host does that before anybody can prompt it.
    fn is_there(&mut self, sandbox: &Sandbox) {
        if let Some(source) = self.again.or(self.is_over.then_some("resume")) {
            self.begins(sandbox, source, Trouble::None);
        }
    }

    fn report(&mut self, sandbox: &Sandbox, report: Report, trouble: Trouble) {
        let again = self.again;
        match report {
            // Hosts begin a session that they had as one that is resumed.
            Report::Startup | Report::Resume => self.begins(sandbox, again.unwrap_or("resume"), trouble),
            Report::Prompt => {
                self.is_there(sandbox);
                self.hook(sandbox, "user-prompt-submit", json!({ "prompt": "go on" }), trouble);
                self.is_over = false;
            }
            Report::End => {
                let lives = self.hook(sandbox, "session-end", json!({ "reason": "other" }), trouble);
                self.is_over = lives;
                self.again = again.or((!lives).then_some("resume"));
            }
            Report::Clear => {
                self.is_there(sandbox);
                self.hook(sandbox, "session-end", json!({ "reason": "clear" }), trouble);
                self.session = format!("c{}-{}", &self.run[1..], self.sessions);
                self.sessions += 1;
                self.begins(sandbox, "clear", trouble);
            }
        }
    }
}

fn notes_are_of_their_sessions(sandbox: &Sandbox) {
    for entry in std::fs::read_dir(sandbox.path(".flow/.cache/hosts")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".json") {
            continue;
        }
        let text = std::fs::read(sandbox.path(".flow/.cache/hosts").join(&name)).unwrap();
        let session = serde_json::from_slice::<Value>(&text).unwrap()["session"].as_str().unwrap().to_owned();
        assert_eq!(name, format!("claude-code-{}.json", digest(session.as_bytes())));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: scaled(16, 400), failure_persistence: None, ..ProptestConfig::default() })]

    /// Hooks of several conversations one after the other, beside other writers and killed at any call.
    #[test]
    fn whatever_befalls_hooks_a_conversation_has_its_run_and_an_ended_session_no_live_mode(all in reports()) {
        let sandbox = Sandbox::within(&quick());
        sandbox.inside(["init"]).ok();
        let mut conversations: Vec<_> = (0..3).map(|nth| Conversation::new(&sandbox, nth)).collect();
        for (nth, report, trouble) in all {
            conversations[nth].report(&sandbox, report, trouble);
            notes_are_of_their_sessions(&sandbox);
        }
        let is_over = |session: &str| {
            let list = sandbox.inside(["mode", "list", "--all", "--json"]).ok().json();
            let scope = format!("session {session}");
            let modes = list["modes"].as_array().unwrap();
            modes.iter().find(|mode| mode["scope"] == scope.as_str()).map(|mode| mode["session_over"] == true)
        };
        for conversation in &mut conversations {
            if conversation.is_over {
                // Only the first session of a conversation has a mode.
                prop_assert_ne!(is_over(&conversation.session), Some(false));
            }
            conversation.report(&sandbox, Report::Prompt, Trouble::None);
            prop_assert_ne!(is_over(&conversation.session), Some(true));
            let shown = sandbox.inside(["show", &conversation.run, "--json"]).ok().json();
            prop_assert_eq!(&shown["state"]["session"], conversation.session.as_str());
        }
    }
}

#[test]
fn an_end_that_another_process_kept_out_of_the_log_frees_the_run_while_the_process_of_the_host_lives() {
    let sandbox = in_use();
    let host = HostProcess::new(&sandbox);
    host.hook(&sandbox, "session-start", &json!({ "session_id": "s1", "source": "startup" }));
    host.flow(&sandbox, "s1", &["start", "debug", "--id", "r1"]);
    host.flow(&sandbox, "s1", &["record-activity", "--run-id", "r1", "--id", "look"]);
    let verdict = || {
        let resumed = sandbox.flow(["resume", "r1", "--session", "s2", "--json"]).json();
        resumed["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(), "held");
    let lock = HeldLock::take(sandbox.run_dir("r1").join(".lock"));
    host.hook(&sandbox, "session-end", &json!({ "session_id": "s1", "reason": "other" }));
    drop(lock);
    assert_eq!(hold(&sandbox, "r1"), held("s1", 1));
    assert_eq!(verdict(), "continue");
    // It goes on after all.
    host.hook(&sandbox, "session-start", &json!({ "session_id": "s1", "source": "resume" }));
    assert_eq!(verdict(), "held");
    host.hook(&sandbox, "session-end", &json!({ "session_id": "s1", "reason": "other" }));
    sandbox.flow(["resume", "r1", "--session", "s2", "--claim"]).ok();
    assert_eq!(hold(&sandbox, "r1").0.as_deref(), Some("s2"));
}
