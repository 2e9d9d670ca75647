//! Work that was begun without a session: it goes on while a process lives that was noted with it, and is in doubt then.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use flowrun::host::{Clock, Env, Git, Ids};
use flowrun::runs::{CardGroup, Context, Feed, Options};
use serde_json::{Value, json};

use crate::support::server::Server;
use crate::support::{Sandbox, run};

const RUNNING: &str = r#"{"status":"running"}"#;

/// A process that stands for a script. It is killed at the end.
struct Script(Child);

impl Script {
    fn sleeping(sandbox: &Sandbox) -> Self {
        Self(sandbox.command("sleep").arg("60").spawn().unwrap())
    }

    /// Runs `flow` as this process would.
    fn flow(&self, sandbox: &Sandbox, args: &[&str]) -> Value {
        let mut command = sandbox.flow_command();
        command.args(args).env("FLOW_HOLDER_PID", self.0.id().to_string());
        run(command, "").ok().json()
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `attention` says of a run.
#[track_caller]
fn card(sandbox: &Sandbox, id: &str) -> Value {
    let report = sandbox.flow(["attention", "--all", "--json"]).ok().json();
    report["runs"].as_array().unwrap().iter().find(|card| card["run_id"] == id).unwrap().clone()
}

#[test]
fn begun_work_goes_on_while_its_process_lives_and_is_in_doubt_then() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let mut script = Script::sleeping(&sandbox);
    script.flow(&sandbox, &["record-activity", "--run-id", "r1", "--id", "work", "--status", "running", "--json"]);
    sandbox.put_clock(sandbox.now() + 18);
    let text = sandbox.flow(["attention", "--all"]).ok().stdout;
    let row =
        "At work  1\n  debug  r1  preflight 1/5  20 s  begun 20 s ago; the process that began 001 work still runs\n";
    assert_eq!(text, row);
    assert_eq!(sandbox.flow(["attention"]).ok().stdout, "");
    let at_work = card(&sandbox, "r1");
    assert_eq!(
        (&at_work["group"], &at_work["need"], &at_work["verdict"]),
        (&json!("at_work"), &json!(null), &json!("reconcile"))
    );
    assert_eq!(at_work["begun_at"], "2026-05-20T14:30:05.000Z");
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!((&resumed["verdict"], &resumed["next"]["action"]), (&json!("reconcile"), &json!("reconcile")));
    assert_eq!(
        (&resumed["reason"], &resumed["in_doubt"][0]["alive"]),
        (&json!("the process that began 001 work still runs"), &json!(true))
    );
    insta::assert_snapshot!(sandbox.flow(["resume", "r1"]).ok().stdout, @r"
    reconcile  r1  debug
      why         begun 24 s ago; the process that began 001 work still runs
      phase       preflight
      next        preflight: The report of the fault is at hand, the working tree is clean, and the branch for the work exists.
      first       look whether `work` was done: in the working tree, and at what `flow evidence r1` lists; then say how it ended
      if it ended well:
        flow record-activity --run-id r1 --phase preflight --id work --status passed
      if it failed:
        flow record-activity --run-id r1 --phase preflight --id work --status failed
      if it cannot go on without a person:
        flow record-activity --run-id r1 --phase preflight --id work --status blocked --summary 'what is needed'
      in doubt
        001  work  preflight  running
    ");
    insta::assert_snapshot!(sandbox.flow(["watch", "--once"]).ok().stdout, @r"
    No run needs you

    ▲ Waits for you 0

    ● At work 1
      ● at work  debug  r1  preflight 1/5  25 s  begun 25 s ago; the process that began 001 work still runs
    ");
    let mut server = Server::of(&sandbox);
    for page in ["/", "/demo/runs/r1"] {
        let shown = server.get(page).body;
        assert!(
            shown.contains("At work") && shown.contains("s ago; the process that began 001 work still runs"),
            "{page}"
        );
    }
    server.kill();
    script.kill();
    sandbox.flow(["verify", "r1"]).ok();
    sandbox.flow(["validate", "r1"]).ok();
    assert_eq!(card(&sandbox, "r1")["group"], "in_doubt");
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(resumed["reason"], "001 work was begun and its outcome is unknown");
    assert_eq!((&resumed["in_doubt"][0]["alive"], &resumed["begun_at"]), (&json!(false), &json!(null)));
}

#[test]
fn steps_and_units_that_are_reported_go_on_in_the_same_way() {
    let sandbox = Sandbox::new();
    let (mut of_step, mut of_unit) = (Script::sleeping(&sandbox), Script::sleeping(&sandbox));
    let emit = |run: &str, more: &[&str]| {
        let args =
            ["emit", "--workflow", "build", "--run-id", run, "--type", "status_change", "--step", "requirements"];
        [&args[..], more].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let report = |script: &Script, run: &str, more: &[&str]| {
        let args = emit(run, more);
        script.flow(&sandbox, &args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // The first report begins the run, the second one is in a run that exists.
    report(&of_step, "new", &["--data", RUNNING]);
    report(&of_unit, "units", &["--data", r#"{"status":"completed"}"#]);
    report(&of_unit, "units", &["--unit", "T1", "--data", RUNNING]);
    for (run, reason) in [
        ("new", "the process that began `requirements` still runs"),
        ("units", "the process that began unit T1 of `requirements` still runs"),
    ] {
        let card = card(&sandbox, run);
        assert_eq!((&card["group"], &card["reason"]), (&json!("at_work"), &json!(reason)));
        assert!(card["begun_at"].is_string() && card["next"]["command"].is_null(), "{card:#}");
    }
    // Where several pieces of work were begun, the one is told of which nothing shows that it goes on.
    sandbox.flow(emit("units", &["--unit", "T2", "--data", RUNNING])).ok();
    assert_eq!(card(&sandbox, "units")["reason"], "unit T2 of `requirements` was begun and its outcome is unknown");
    of_step.kill();
    of_unit.kill();
    assert_eq!(
        (card(&sandbox, "new")["group"].clone(), card(&sandbox, "units")["group"].clone()),
        (json!("in_doubt"), json!("in_doubt"))
    );
}

#[test]
fn work_of_a_session_and_work_without_a_note_are_judged_as_before() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let script = Script::sleeping(&sandbox);
    let begin = ["record-activity", "--run-id", "r1", "--status", "running", "--json"];
    sandbox.flow(begin.iter().chain(&["--id", "plain"])).ok();
    assert_eq!(card(&sandbox, "r1")["group"], "in_doubt");
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!((&resumed["in_doubt"][0]["alive"], &resumed["verdict"]), (&json!(null), &json!("reconcile")));
    script.flow(&sandbox, &[&begin[..], &["--id", "held", "--session", "s1"]].concat());
    let log = sandbox.flow(["log", "r1", "--json"]).ok().json();
    assert!(log["events"].as_array().unwrap().iter().all(|event| event.get("by").is_none()), "{log:#}");
    // An outcome is noted with nobody.
    script.flow(&sandbox, &["record-activity", "--run-id", "r1", "--id", "done", "--json"]);
    assert!(!sandbox.read("r1", "events.jsonl").contains("\"by\""));
}

#[test]
fn a_list_that_is_kept_up_to_date_notices_that_the_process_is_gone() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let mut script = Script::sleeping(&sandbox);
    script.flow(&sandbox, &["record-activity", "--run-id", "r1", "--id", "work", "--status", "running", "--json"]);
    let options = Options { project: Some(sandbox.root()), ..Options::default() };
    let clock = Clock::fixed("2026-05-20T15:00:00Z".parse().unwrap());
    let cx = Context::new(clock, Ids::seeded("ids"), Env::default(), Git::new("no\0git"), options);
    let mut feed = Feed::open(&cx).unwrap();
    let id = "r1".parse().unwrap();
    assert_eq!(feed.card(&id).unwrap().group, CardGroup::AtWork);
    assert_eq!(feed.look().unwrap(), []);
    script.kill();
    assert_eq!(feed.look().unwrap(), std::slice::from_ref(&id));
    assert_eq!(feed.card(&id).unwrap().group, CardGroup::InDoubt);
}

#[test]
fn a_list_that_is_kept_up_to_date_notices_that_the_whole_directory_is_gone() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let options = Options { project: Some(sandbox.root()), ..Options::default() };
    let clock = Clock::fixed("2026-05-20T15:00:00Z".parse().unwrap());
    let cx = Context::new(clock, Ids::seeded("ids"), Env::default(), Git::new("no\0git"), options);
    let mut feed = Feed::open(&cx).unwrap();
    let id = "r1".parse().unwrap();
    std::fs::rename(sandbox.path(".flow"), sandbox.path("away")).unwrap();
    assert_eq!(feed.look().unwrap(), std::slice::from_ref(&id));
    assert!(feed.card(&id).is_none());
    std::fs::rename(sandbox.path("away"), sandbox.path(".flow")).unwrap();
    assert_eq!(feed.look().unwrap(), std::slice::from_ref(&id));
    assert!(feed.card(&id).is_some());
}

/// A command that runs `flow` as on any other day: with the machine's clock, and without what tests tell it.
fn real(sandbox: &Sandbox, program: impl AsRef<Path>) -> Command {
    let mut command = sandbox.command(program.as_ref());
    let flow = Path::new(env!("CARGO_BIN_EXE_flow")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env_remove("__FLOW_NOW").env("PATH", format!("{}:{path}", flow.display()));
    command
}

/// A shell that the kernel calls `name`. What runs it, the test for one, is above it.
fn shell_named(sandbox: &Sandbox, name: &str) -> std::path::PathBuf {
    let place = sandbox.path(format!("../{name}"));
    symlink("/bin/sh", &place).unwrap();
    place
}

const BEGIN: &str = "flow record-activity --run-id r1 --id work --status running";

/// How many processes are noted with the latest record.
fn noted(sandbox: &Sandbox) -> usize {
    let log = sandbox.flow(["log", "r1", "--json"]).ok().json();
    let event = log["events"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(event["type"], "activity_recorded");
    event["by"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_script_is_at_work_until_it_is_killed() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    // Its subshells end before it does, and a multiplexer lives on.
    std::fs::write(sandbox.path("work.sh"), format!("({BEGIN}; true)\necho begun $$\nsleep 60\n")).unwrap();
    let mut command = real(&sandbox, shell_named(&sandbox, "tmux"));
    command.args(["-c", "sh work.sh; sleep 60"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut multiplexer = Script(command.spawn().unwrap());
    let mut lines = BufReader::new(multiplexer.0.stdout.take().unwrap()).lines();
    let pid = lines.find_map(|line| line.unwrap().strip_prefix("begun ").map(str::to_owned)).unwrap();
    let now = |args: &[&str]| {
        let mut command = real(&sandbox, env!("CARGO_BIN_EXE_flow"));
        command.args(args);
        run(command, "").ok()
    };
    let shown = now(&["attention", "--all"]).stdout;
    assert!(
        shown.starts_with("At work  1\n") && shown.contains(" s ago; the process that began 001 work still runs"),
        "{shown}"
    );
    assert_eq!(noted(&sandbox), 2, "the subshell and the script");
    run(
        {
            let mut kill = sandbox.command("kill");
            kill.arg("-9").arg(&pid);
            kill
        },
        "",
    )
    .ok();
    while Path::new(&format!("/proc/{pid}")).exists() {
        std::thread::yield_now();
    }
    assert!(multiplexer.0.try_wait().unwrap().is_none(), "it lives on");
    assert_eq!(now(&["attention", "--json"]).json()["runs"][0]["group"], "in_doubt");
    assert_eq!(now(&["resume", "r1", "--json"]).json()["in_doubt"][0]["alive"], false);
}

#[test]
fn a_multiplexer_and_a_shell_in_which_a_person_types_prove_nothing() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let of = |name: &str, args: &[&str], input: &str| {
        let mut command = real(&sandbox, shell_named(&sandbox, name));
        command.args(args);
        run(command, input);
        noted(&sandbox)
    };
    assert_eq!(of("screen", &["-c", &format!("{BEGIN}; true")], ""), 0);
    assert_eq!(of("bash", &["-i"], &format!("{}\n", BEGIN.replace("work", "typed"))), 0);
    // A script in such a shell is another matter, and what is above the shell is not looked at.
    std::fs::write(sandbox.path("work.sh"), format!("{}; true\n", BEGIN.replace("work", "script"))).unwrap();
    assert_eq!(of("dash", &["-i"], "sh work.sh\n"), 1);
    // A build, and what runs it: this test.
    std::fs::write(sandbox.path("work.sh"), format!("{}; true\n", BEGIN.replace("work", "build"))).unwrap();
    assert_eq!(of("make", &["-c", "sh work.sh; true"], ""), 3);
}
