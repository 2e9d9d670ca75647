//! Who calls: every known agent is an agent, whether its host names its session or not.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, answered, run};

/// What the commands of an agent have in their environment, by host.
const SIGNS: &[(&str, &str)] = &[
    ("CLAUDE_CODE_SESSION_ID", "c2"),
    ("CODEX_SESSION_ID", "x1"),
    ("CODEX_THREAD_ID", "x1"),
    ("COPILOT_AGENT_SESSION_ID", "p1"),
    ("COPILOT_CLI", "1"),
    ("QWEN_CODE_SESSION_ID", "q1"),
    ("QWEN_CODE", "1"),
    ("AMP_CURRENT_THREAD_ID", "T-1"),
    ("GEMINI_CLI", "1"),
    ("OPENCODE", "1"),
    ("CURSOR_AGENT", "1"),
    ("AUGMENT_AGENT", "1"),
    ("ANTIGRAVITY_AGENT", "1"),
    ("PI_CODING_AGENT", "true"),
    ("CRUSH", "1"),
    ("AI_AGENT", "some"),
    ("AGENT", "amp"),
];

fn with(sandbox: &Sandbox, variables: &[(&str, &str)], args: &[&str]) -> Answer {
    let mut command = sandbox.flow_command();
    command.args(args).envs(variables.iter().copied());
    run(command, "")
}

/// A run that a living session holds.
fn held() -> Sandbox {
    let sandbox = Sandbox::new();
    let own = std::process::id().to_string();
    with(&sandbox, &[("CLAUDE_CODE_SESSION_ID", "c1"), ("FLOW_HOLDER_PID", &own)], &["start", "debug", "--id", "r1"])
        .ok();
    sandbox
}

#[test]
fn no_agent_of_any_host_writes_in_a_run_that_another_one_holds() {
    let sandbox = held();
    for sign in SIGNS {
        let refused = with(&sandbox, &[*sign], &["record-activity", "--id", "a", "--json"]).exits(5);
        let error = refused.error();
        assert_eq!(error["code"], "run_held", "{sign:?}");
        let message = format!("run r1: session c1 holds the run, and {} shows another agent", sign.0);
        assert_eq!(error["message"], message, "{sign:?}");
        for args in [&["block", "--reason", "x"][..], &["set", "--goal", "x"], &["resume", "--claim"]] {
            with(&sandbox, &[*sign], args).exits(5);
        }
        assert_eq!(with(&sandbox, &[*sign], &["resume", "--json"]).json()["verdict"], "held", "{sign:?}");
    }
    // Neither a setting that people export nor an editor's terminal makes an agent.
    for nobody in [("COPILOT_MODEL", "x"), ("COPILOT_ALLOW_ALL", "1"), ("TERM_PROGRAM", "vscode"), ("REPL_ID", "x")] {
        with(&sandbox, &[nobody], &["set", "--goal", nobody.0]).ok();
    }
}

#[test]
fn a_session_that_its_host_names_is_its_session_and_flows_own_variable_comes_first() {
    for (variable, id) in SIGNS.iter().filter(|(variable, _)| variable.ends_with("_ID")) {
        let sandbox = Sandbox::new();
        let session = |more: &[(&str, &str)], run: &str| {
            with(&sandbox, &[&[(*variable, *id)], more].concat(), &["start", "debug", "--id", run, "--another"]).ok();
            sandbox.flow(["show", run, "--json"]).ok().json()["state"]["session"].clone()
        };
        assert_eq!(session(&[], "r1"), **id, "{variable}");
        assert_eq!(session(&[("FLOW_SESSION", "mine")], "r2"), "mine", "{variable}");
    }
}

/// A program `name`, which runs flow with the arguments in each line that it reads.
fn host(sandbox: &Sandbox, name: &str) -> Command {
    let program = sandbox.path(name);
    std::fs::write(&program, "#!/bin/sh\nwhile read -r line; do sh -c \"$line\"; done\n").unwrap();
    sandbox.command("chmod").args(["+x", name]).status().unwrap();
    let flow = sandbox.flow_command();
    let mut command = sandbox.command(program.to_str().unwrap());
    command.env("FLOW", flow.get_program());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Lets a living host run this, and waits until it has.
fn tell(host: &mut Child, sandbox: &Sandbox, line: &str) -> String {
    let done = sandbox.path("done");
    let text = format!("{line} > said 2>&1; echo $? >> said; mv said done\n");
    host.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !done.exists() {
        assert!(std::time::Instant::now() < deadline, "{line}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let said = std::fs::read_to_string(&done).unwrap();
    std::fs::remove_file(done).unwrap();
    said
}

#[test]
fn an_agent_whose_host_names_no_session_is_known_by_the_process_of_its_host() {
    let sandbox = Sandbox::new();
    let mut one = host(&sandbox, "gemini").env("GEMINI_CLI", "1").spawn().unwrap();
    tell(&mut one, &sandbox, "$FLOW start debug --id r1");
    let session = sandbox.flow(["show", "r1", "--json"]).ok().json()["state"]["session"].clone();
    assert!(session.as_str().unwrap().starts_with(&format!("gemini-{}-", one.id())), "{session}");
    // Each of its commands is its own, also behind other programs.
    assert!(tell(&mut one, &sandbox, "timeout 60 env X=1 $FLOW record-activity --id a").ends_with("\n0\n"));
    // Another one of the same host is another session, and a third host as well.
    with(&sandbox, &[("GEMINI_CLI", "1")], &["record-activity", "--id", "b"]).exits(5);
    with(&sandbox, &[("OPENCODE", "1")], &["record-activity", "--id", "b"]).exits(5);
    sandbox.flow(["record-activity", "--id", "by-a-person"]).ok();
    // The end of its process ends what it holds.
    drop(one.stdin.take());
    answered(one);
    with(&sandbox, &[("GEMINI_CLI", "1")], &["record-activity", "--id", "b"]).ok();
    let log = sandbox.flow(["log", "r1", "--json"]).ok().json();
    let types: Vec<_> = log["events"].as_array().unwrap().iter().map(|event| event["type"].clone()).collect();
    let expected = ["run_started", "activity_recorded", "activity_recorded", "run_claimed", "activity_recorded"]
        .map(|one| json!(one));
    assert_eq!(types, expected);
}

/// What flow says to a host that reports this event from `cwd`, in the environment that it gives its hooks.
fn reported(sandbox: &Sandbox, event: &str, cwd: &Path, more: &Value) -> String {
    let mut payload = json!({ "session_id": "s1", "cwd": cwd });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut command = sandbox.flow_command();
    let verb: &[&str] = if event == "hud" { &["hud"] } else { &["hook", "claude-code", event] };
    command.args(verb).current_dir(cwd);
    run(command, &payload.to_string()).ok().stdout
}

/// Places to which an agent's commands change: they have no runs of the session, or runs of others.
fn places(sandbox: &Sandbox) -> Vec<PathBuf> {
    std::fs::create_dir_all(sandbox.path("src/deep")).unwrap();
    for place in ["nested", "own", "../other", "../mine"] {
        sandbox.git(&["init", "-q", place]);
    }
    sandbox.git(&["worktree", "add", "-q", "--detach", "../tree"]);
    std::fs::create_dir_all(sandbox.path("../bare/deep")).unwrap();
    for place in ["own", "../mine"] {
        sandbox.flow(["-C", place, "start", "debug", "--id", "theirs"]).ok();
    }
    ["src/deep", "nested", "own", "../other", "../mine", "../tree", "../bare/deep", "..", ".git"]
        .map(|place| sandbox.path(place))
        .to_vec()
}

#[test]
fn where_no_project_is_a_session_of_the_environment_has_its_own() {
    let sandbox = Sandbox::new();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    sandbox.flow(["init"]).ok();
    reported(&sandbox, "session-start", &sandbox.root(), &json!({ "source": "startup" }));
    let own = std::process::id().to_string();
    with(&sandbox, &[("FLOW_SESSION", "s1"), ("FLOW_HOLDER_PID", &own)], &["start", "debug", "--id", "r1"]).ok();
    let bare = sandbox.path("../bare");
    std::fs::create_dir_all(&bare).unwrap();
    for (variable, verb) in
        [("FLOW_SESSION", "hud"), ("CLAUDE_CODE_SESSION_ID", "hud"), ("FLOW_SESSION", "session-end")]
    {
        let mut command = sandbox.flow_command();
        command.arg(verb).env(variable, "s1").current_dir(&bare);
        let said = run(command, "").ok().stdout;
        assert!(said.contains("r1"), "{variable} {verb}: {said:?}");
    }
}

#[test]
fn a_conversation_has_one_project_wherever_its_agent_goes() {
    let sandbox = Sandbox::new();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    sandbox.flow(["init"]).ok();
    reported(&sandbox, "session-start", &sandbox.root(), &json!({ "source": "startup" }));
    let own = std::process::id().to_string();
    with(&sandbox, &[("CLAUDE_CODE_SESSION_ID", "s1"), ("FLOW_HOLDER_PID", &own)], &["start", "debug", "--id", "r1"])
        .ok();
    let text = |place: &Path, event: &str, more: Value| {
        let said = reported(&sandbox, event, place, &more);
        assert!(said.contains("r1"), "{event} in {}: {said:?}", place.display());
    };
    for (nth, place) in places(&sandbox).into_iter().enumerate() {
        text(&place, "hud", json!({}));
        text(&place, "session-start", json!({ "source": "compact" }));
        text(&place, "pre-compact", json!({}));
        sandbox.flow(["record-activity", "--run-id", "r1", "--id", &format!("look-{nth}")]).ok();
        text(&place, "user-prompt-submit", json!({ "prompt": "go on" }));
        // Its commands find the project above them, or that of the session.
        let mut command = sandbox.flow_command();
        command.args(["resume"]).current_dir(&place).env("CLAUDE_CODE_SESSION_ID", "s1");
        let answer = run(command, "");
        let is_of_others = answer.stdout.contains("theirs");
        assert_eq!(is_of_others, place.ends_with("own") || place.ends_with("mine"), "{answer:?}");
        if answer.stderr.contains("the project of the session") {
            assert!(
                answer.stdout.contains("r1") && answer.stderr.contains(sandbox.root().to_str().unwrap()),
                "{answer:?}"
            );
        }
    }
    let ends = |place: &Path| {
        reported(&sandbox, "session-end", place, &json!({ "reason": "other" }));
        assert!(sandbox.read("r1", "run.yaml").contains("session ended"), "{}", place.display());
        reported(&sandbox, "session-start", place, &json!({ "source": "resume" }));
        assert_eq!(sandbox.flow(["show", "r1", "--json"]).ok().json()["state"]["session"], "s1", "{}", place.display());
    };
    [sandbox.path("nested"), sandbox.path("own"), sandbox.path("../tree")].iter().for_each(|place| ends(place));
}

#[test]
fn what_the_host_or_the_caller_names_comes_before_the_noted_project() {
    let sandbox = Sandbox::new();
    sandbox.command("git").args(["init", "-q", "../other"]).status().unwrap();
    for (project, run_id) in [(".", "r1"), ("../other", "r2")] {
        sandbox.flow(["-C", project, "start", "debug", "--id", run_id, "--session", "s1"]).ok();
    }
    reported(&sandbox, "session-start", &sandbox.root(), &json!({ "source": "startup" }));
    let hud = |variable: Option<&str>, payload: Value| {
        let mut command = sandbox.flow_command();
        command.arg("hud").envs(variable.map(|name| (name, sandbox.path("../other"))));
        run(command, &payload.to_string()).ok().stdout
    };
    let payload = json!({ "session_id": "s1" });
    assert!(hud(None, payload.clone()).starts_with("debug  r1"));
    for variable in ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "QWEN_PROJECT_DIR", "COPILOT_PROJECT_DIR"] {
        assert!(hud(Some(variable), payload.clone()).starts_with("debug  r2"), "{variable}");
    }
    let workspace = json!({ "project_dir": sandbox.path("../other") });
    assert!(hud(None, json!({ "session_id": "s1", "workspace": workspace })).starts_with("debug  r2"));
    // A project that is gone is none, and a caller who names one is right.
    assert!(
        hud(None, json!({ "session_id": "s1", "workspace": { "project_dir": "/nowhere" } })).starts_with("debug  r1")
    );
    let mut command = sandbox.flow_command();
    command.args(["hud", "-C", "."]).env("CLAUDE_PROJECT_DIR", sandbox.path("../other"));
    assert!(run(command, &payload.to_string()).ok().stdout.starts_with("debug  r1"));
}
