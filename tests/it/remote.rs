//! Runs that several machines share in a git remote, as users meet them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::server::Server;
use crate::support::{Answer, Sandbox, quick, run};

/// Two machines, and the repository that is `origin` of both.
pub struct Team {
    pub hub: tempfile::TempDir,
    pub laptop: Sandbox,
    pub server: Sandbox,
}

impl Team {
    /// Neither has accepted anything.
    pub fn new() -> Self {
        let hub = tempfile::tempdir_in(quick()).unwrap();
        let (laptop, server) = (Sandbox::new(), Sandbox::new());
        // The ids of events follow from the count of commands, and two machines never make the same one.
        server.put_clock(server.now() + 1000);
        let team = Self { hub, laptop, server };
        team.laptop.git(&["init", "-q", "--bare", team.hub().to_str().unwrap()]);
        for machine in [&team.laptop, &team.server] {
            machine.git(&["remote", "set-url", "origin", team.hub().to_str().unwrap()]);
        }
        team
    }

    /// Both use the store.
    pub fn sharing() -> Self {
        let team = Self::new();
        for machine in [&team.laptop, &team.server] {
            accept(machine);
        }
        team
    }

    pub fn hub(&self) -> PathBuf {
        self.hub.path().join("hub.git")
    }

    /// The repository is away while `meanwhile` runs.
    pub fn without_hub<T>(&self, meanwhile: impl FnOnce() -> T) -> T {
        let away = self.hub.path().join("away.git");
        fs::rename(self.hub(), &away).unwrap();
        let answer = meanwhile();
        fs::rename(&away, self.hub()).unwrap();
        answer
    }
}

/// What a repository says of SSH is another matter.
#[test]
fn the_program_for_ssh_that_a_user_configured_is_used() {
    let team = Team::new();
    let script = team.laptop.path("../ssh");
    fs::write(&script, "#!/bin/sh\nfor word; do line=$word; done\nexec sh -c \"$line\"\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let settings = team.laptop.path("../gitconfig");
    fs::write(&settings, format!("[core]\n\tsshCommand = {}\n", script.display())).unwrap();
    let address = format!("ssh://no-such-host{}", team.hub().display());
    team.laptop.git(&["remote", "set-url", "origin", &address]);
    name_store(&team.laptop, "git:origin");
    for args in [&["remote", "use", "git:origin"][..], &["start", "debug", "--id", "r1"]] {
        let mut command = team.laptop.flow_command();
        command.args(args).env("GIT_CONFIG_GLOBAL", &settings);
        run(command, "").ok();
    }
    accept(&team.server);
    assert_eq!(ids(&team.server), ["r1"]);
}

/// Accepts a store that is named already, so that it is not tried again.
pub fn accept(machine: &Sandbox) {
    name_store(machine, "git:origin");
    machine.flow(["remote", "use", "git:origin"]).ok();
}

/// Names the store as a clone finds it.
pub fn name_store(machine: &Sandbox, store: &str) {
    machine.flow(["init"]).ok();
    fs::write(machine.path(".flow/config.yaml"), format!("store: {store}\n")).unwrap();
}

pub fn ids(machine: &Sandbox) -> Vec<String> {
    let listed = machine.flow(["list", "--json"]).ok().json();
    let runs = listed["runs"].as_array().unwrap();
    let mut ids: Vec<_> = runs.iter().map(|run| run["run_id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

pub fn record(machine: &Sandbox, run: &str, id: &str) -> Answer {
    machine.flow(["record-activity", "--run-id", run, "--id", id, "--status", "passed"])
}

pub fn log(machine: &Sandbox, run: &str) -> String {
    fs::read_to_string(machine.path(".flow/shared/runs").join(run).join("events.jsonl")).unwrap()
}

#[test]
fn a_run_that_begins_on_one_machine_goes_on_at_another() {
    let Team { laptop, server, hub } = &Team::sharing();
    laptop.flow(["start", "build", "--issue", "42", "--id", "r1"]).ok();
    record(laptop, "r1", "one").ok();
    assert!(!laptop.path(".flow/runs/r1").exists());
    assert_eq!(ids(server), ["r1"]);
    // A shell offers what was seen last.
    for (words, first) in [(["show", ""], "r1\tbuild active"), (["advance", "r"], "r1\tbuild active")] {
        let mut shell = server.flow_command();
        shell.args(["--", "flow"]).args(words).env("FLOW_COMPLETE", "fish");
        assert!(run(shell, "").ok().stdout.starts_with(first), "{words:?}");
    }
    let resumed = server.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(resumed["completed"][0]["id"], "one");
    record(server, "r1", "two").ok();
    // A record says what is taken, and a name that is not known here is looked up there.
    server.flow(["start", "debug", "--id", "2026-01-01T000000Z-hunt"]).ok();
    record(laptop, "hunt", "three").ok();
    let shown = laptop.flow(["show", "r1", "--json"]).ok().json();
    assert_eq!(shown["state"]["completed_activities"], json!(["one", "two"]));
    assert_eq!((&shown["store"], &shown["as_of"]["seq"]), (&json!("git:origin"), &json!(3)));
    assert_eq!(shown["as_of"]["reached"], true);
    assert_eq!(log(laptop, "r1"), log(server, "r1"));
    for machine in [laptop, server] {
        machine.flow(["verify", "r1"]).ok();
    }
    // `git log` reads the run.
    let git = run(laptop.command_in_hub(hub, &["log", "--format=%B", "refs/flow/open/r1"]), "").ok().stdout;
    assert_eq!(git.lines().filter(|line| line.contains("\"seq\":")).count(), 3, "{git}");
}

impl Sandbox {
    pub fn command_in_hub(&self, hub: &tempfile::TempDir, args: &[&str]) -> std::process::Command {
        let mut command = self.command("git");
        command.arg("--git-dir").arg(hub.path().join("hub.git")).args(args);
        command
    }
}

#[test]
fn a_record_that_another_machine_has_made_already_is_taken_over_as_it_is() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    record(server, "r1", "same").ok();
    // The copy is behind, so the same id is put at the same place once more, with another time.
    let again = record(laptop, "r1", "same").ok();
    assert!(again.stdout.starts_with("already recorded: 001 same"), "{}", again.stdout);
    assert_eq!(log(laptop, "r1"), log(server, "r1"));
    record(laptop, "r1", "other").ok();
    server.flow(["remote", "fetch", "r1"]).ok();
    assert_eq!(log(laptop, "r1"), log(server, "r1"));
}

#[test]
fn one_issue_has_one_open_run_on_all_machines() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--issue", "42", "--id", "r1"]).ok();
    let refused = server.flow(["start", "build", "--issue", "42", "--id", "r2", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "run_open");
    assert!(refused["message"].as_str().unwrap().contains("r1"), "{refused}");
    server.flow(["cancel", "r1"]).ok();
    server.flow(["start", "build", "--issue", "42", "--id", "r2"]).ok();
    assert_eq!(ids(laptop), ["r1", "r2"]);
}

#[test]
fn a_store_that_was_not_accepted_is_neither_read_nor_written() {
    let Team { laptop, server, .. } = &Team::new();
    accept(laptop);
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    // As a clone finds it.
    name_store(server, "git:origin");
    for args in [vec!["show", "r1"], vec!["start", "build"], vec!["log", "r1"], vec!["cancel", "r1"]] {
        let refused = server.flow(args.iter().chain(&["--json"])).exits(1).error();
        assert_eq!(refused["code"], "store_not_accepted", "{args:?}");
        let help = refused["help"].as_str().unwrap();
        assert!(help.contains("`flow remote use git:origin`"), "{refused}");
        // Only of what can begin in this checkout alone.
        assert_eq!(help.contains("--local"), args[0] == "start", "{refused}");
    }
    for args in [["fetch", "r1"], ["push", "r1"]] {
        let refused = server.flow(["remote"].iter().chain(&args).chain(&["--json"])).exits(1).error();
        assert!(!refused["help"].as_str().unwrap().contains("--local"), "{args:?}: {refused}");
    }
    let listed = server.flow(["list", "--json"]).ok().json();
    assert_eq!(listed["runs"], json!([]));
    assert!(listed["notes"][0].as_str().unwrap().contains("`flow remote use git:origin` accepts it"), "{listed}");
    assert!(!server.path(".flow/shared").exists() && !server.path(".flow/runs").join("r1").exists());
    // A run of this checkout alone begins only where that is asked for.
    server.flow(["start", "build", "--id", "l1", "--local"]).ok();
    record(server, "l1", "one").ok();
    let report = json!({ "status": "running" }).to_string();
    let emit = ["emit", "--workflow", "build", "--type", "status_change", "--step", "requirements", "--data", &report];
    server.flow(emit.iter().chain(&["--run-id", "l2"])).exits(1);
    server.flow(emit.iter().chain(&["--run-id", "l2", "--local"])).ok();
    assert_eq!(ids(server), ["l1", "l2"]);
    let status = server.flow(["remote", "status", "--json"]).ok().json();
    assert_eq!((&status["accepted"], &status["local"]), (&json!(false), &json!(2)));
    let status = server.flow(["remote", "status"]).ok().stdout;
    assert!(status.contains("shared      not seen: it was not accepted on this machine"), "{status}");
}

#[test]
fn every_face_says_that_a_store_was_not_accepted() {
    let team = Team::new();
    let server = &team.server;
    name_store(server, "git:origin");
    let hub = team.hub();
    let why = format!(
        "the runs of this project are shared in git:origin ({}), which was not accepted on this machine",
        hub.display()
    );
    let begun =
        json!({ "session_id": "s1", "cwd": server.root(), "hook_event_name": "SessionStart", "source": "startup" });
    let told = server.flow_with(["hook", "claude-code", "session-start"], &begun.to_string()).ok().json();
    let told = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(told.contains(&format!("\"{why}; `flow remote use git:origin` accepts it\"")), "{told}");
    let finding = format!("{why}, so shared runs are not seen; `flow remote use git:origin` accepts it");
    assert_eq!(found(server), [json!(["store_not_accepted", finding])]);
    assert_eq!(server.flow(["hud"]).ok().stdout, "git:origin not accepted\n");
    let page = Server::of(server).get("/").body;
    let unseen = "The shared runs in git:origin are not seen here: <code>flow remote use git:origin</code> accepts it.";
    assert!(page.contains(unseen), "{page}");
    let resumed = server.flow(["resume", "--json"]).exits(3).json();
    let mut ways = resumed["next"]["alternatives"].as_array().unwrap().iter().map(|way| &way["command"]);
    assert_eq!(ways.next(), Some(&json!("flow remote use git:origin")));
    assert_eq!((ways.next(), ways.next()), (Some(&json!("flow start WORKFLOW --local")), None));
    let watched = server.flow(["watch", "--once"]).ok().stdout;
    assert!(watched.contains("`flow start WORKFLOW --local` begins one"), "{watched}");
    for args in [["list"], ["attention"], ["resume"]] {
        let answer = server.flow(args);
        assert!(format!("{}{}", answer.stdout, answer.stderr).contains(&why), "{args:?}: {answer:?}");
    }
}

#[test]
fn a_session_that_knows_no_open_run_is_told_that_others_may_have_some() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "debug", "--id", "r1"]).ok();
    let begun =
        json!({ "session_id": "s1", "cwd": server.root(), "hook_event_name": "SessionStart", "source": "startup" });
    let told = server.flow_with(["hook", "claude-code", "session-start"], &begun.to_string()).ok().json();
    let told = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let what =
        "no open run is known here, and hooks do not ask \"git:origin\", where runs are shared: `flow resume` does";
    assert!(told.contains(what), "{told}");
    assert_eq!(server.flow(["resume", "--json"]).ok().json()["run_id"], "r1");
}

#[test]
fn a_report_that_is_meant_for_this_checkout_alone_does_not_go_into_a_shared_run() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    let report = json!({ "status": "running" }).to_string();
    let emit =
        ["emit", "--local", "--run-id", "r1", "--type", "status_change", "--step", "requirements", "--data", &report];
    for machine in [laptop, server] {
        let refused = machine.flow(emit.iter().chain(&["--workflow", "build", "--json"])).exits(1).error();
        assert_eq!(refused["message"], "run r1 in git:origin exists already");
    }
    assert_eq!(log(laptop, "r1").lines().count(), 1);
}

#[test]
fn a_run_of_this_checkout_alone_does_not_begin_under_the_id_of_a_shared_one() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    server.flow(["list"]).ok();
    server.flow(["start", "debug", "--id", "other", "--local"]).ok();
    server.flow(["fork", "other", "--id", "r1", "--local"]).exits(1);
    let refused = server.flow(["start", "debug", "--id", "r1", "--local", "--json"]).exits(1).error();
    assert_eq!(refused["message"], "run r1 in git:origin exists already");
    assert!(!server.run_dir("r1").exists());
    record(server, "r1", "one").ok();
    assert_eq!(log(server, "r1").lines().count(), 2);
}

#[test]
fn another_address_of_the_same_name_is_accepted_anew() {
    let team = Team::sharing();
    let Team { laptop, .. } = &team;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    let other = team.hub.path().join("other.git");
    laptop.git(&["init", "-q", "--bare", other.to_str().unwrap()]);
    laptop.git(&["remote", "set-url", "origin", other.to_str().unwrap()]);
    let refused = record(laptop, "r1", "one").exits(1);
    let moved = format!("which is {} now, and another address of it was accepted on this machine", other.display());
    assert!(refused.stderr.contains(&moved), "{}", refused.stderr);
    // What was copied from the other store is kept apart.
    laptop.flow(["remote", "use", "git:origin"]).ok();
    assert_eq!(ids(laptop), Vec::<String>::new());
    let kept = fs::read_dir(laptop.path(".flow/.quarantine")).unwrap().count();
    assert_eq!(kept, 1);
}

#[test]
fn readers_answer_from_the_copy_when_the_store_is_not_reached_and_writers_refuse() {
    let team = Team::sharing();
    let Team { laptop, .. } = &team;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    record(laptop, "r1", "one").ok();
    let before = log(laptop, "r1");
    team.without_hub(|| {
        let shown = laptop.flow(["show", "r1", "--json"]).ok().json();
        assert_eq!(shown["as_of"]["reached"], false);
        assert_eq!(shown["as_of"]["seq"], 2);
        assert!(shown["notes"][0].as_str().unwrap().starts_with("git:origin was not reached: "), "{shown}");
        let resumed = laptop.flow(["resume", "--json"]).ok().json();
        assert_eq!((&resumed["run_id"], &resumed["store"]), (&json!("r1"), &json!("git:origin")));
        for args in [["show", "r1"], ["resume", "r1"]] {
            let told = laptop.flow(args).ok().stdout;
            let is_told = told.lines().any(|line| line.trim().starts_with("as of") && line.contains("event 2 (2026-"));
            assert!(is_told, "{told}");
        }
        for args in [
            vec!["record-activity", "--run-id", "r1", "--id", "two", "--status", "passed"],
            vec!["complete", "r1"],
            vec!["start", "build", "--id", "r2"],
        ] {
            let refused = laptop.flow(args.iter().chain(&["--json"])).exits(74).error();
            assert_eq!(refused["code"], "store_not_reached", "{args:?}");
        }
    });
    assert_eq!(log(laptop, "r1"), before);
    assert!(!laptop.path(".flow/runs/r2").exists() && !laptop.path(".flow/shared/runs/r2").exists());
    // The same command later records once.
    record(laptop, "r1", "two").ok();
    record(laptop, "r1", "two").ok();
    assert_eq!(log(laptop, "r1").lines().count(), 3);
}

/// What each machine does has to be told by the log: an answer that there is nothing to do leaves it as it was.
#[test]
fn that_there_is_nothing_to_do_is_said_only_after_the_store_was_asked() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    record(laptop, "r1", "one").ok();
    server.flow(["list"]).ok();
    let mut events = 2;
    let turns: &[(&Sandbox, &[&str])] = &[
        (laptop, &["cancel", "r1", "--reason", "not now"]),
        (server, &["reopen", "r1", "--reason", "back"]),
        (laptop, &["cancel", "r1", "--reason", "not now"]),
        (server, &["reopen", "r1", "--reason", "back"]),
        (server, &["fail", "r1", "--reason", "broken"]),
        (laptop, &["reopen", "r1", "--reason", "back"]),
        (server, &["block", "r1", "--reason", "which one?"]),
        (laptop, &["unblock", "r1", "--reason", "this one"]),
        (server, &["block", "r1", "--reason", "which one?"]),
        (laptop, &["unblock", "r1", "--reason", "this one"]),
        (server, &["complete", "r1", "--skip-reason", "all is said"]),
        (laptop, &["reopen", "r1", "--reason", "back"]),
        (server, &["complete", "r1", "--skip-reason", "all is said"]),
        (laptop, &["reopen", "r1", "--reason", "back"]),
        (laptop, &["set", "--run-id", "r1", "--goal", "fast"]),
        (server, &["set", "--run-id", "r1", "--goal", "small"]),
        (laptop, &["set", "--run-id", "r1", "--goal", "fast"]),
        (laptop, &["resume", "r1", "--claim", "--session", "s1"]),
        (server, &["resume", "r1", "--take-over", "--session", "s2"]),
    ];
    for (machine, args) in turns {
        machine.flow(*args).ok();
        events += 1;
        assert_eq!(log(machine, "r1").lines().count(), events, "{args:?}");
    }
    team.without_hub(|| {
        // What the copy here says, and the log does not say any longer.
        for args in [
            vec!["resume", "r1", "--claim", "--session", "s1"],
            vec!["set", "--run-id", "r1", "--goal", "fast", "--session", "s1"],
            vec!["reopen", "r1", "--reason", "back"],
        ] {
            let refused = laptop.flow(args.iter().chain(&["--json"])).exits(74).error();
            assert_eq!(refused["code"], "store_not_reached", "{args:?}");
        }
    });
}

#[test]
fn a_run_advances_from_where_the_log_has_it() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    let graph = "initial: a\nstates:\n  a:\n    type: agent\n    transition:\n      next: [b]\n  b:\n    type: agent\n    transition:\n      next: [c]\n  c:\n    type: terminal\n";
    for machine in [laptop, server] {
        fs::create_dir_all(machine.path(".flow/workflows")).unwrap();
        fs::write(machine.path(".flow/workflows/line.graph.yaml"), graph).unwrap();
    }
    laptop.flow(["start", "line", "--id", "r1"]).ok();
    server.flow(["list"]).ok();
    laptop.flow(["advance", "r1", "--to", "b"]).ok();
    // The copy has the run in `a`, from where nothing leads to `c`.
    server.flow(["advance", "r1", "--to", "c"]).ok();
    team.without_hub(|| {
        let refused = laptop.flow(["advance", "r1", "--to", "a", "--json"]).exits(74).error();
        assert_eq!(refused["code"], "store_not_reached");
    });
}

#[test]
fn a_request_that_the_copy_has_is_repeated_without_the_store() {
    let team = Team::sharing();
    let Team { laptop, .. } = &team;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    let report = json!({ "status": "running" }).to_string();
    let emit = ["emit", "--run-id", "r1", "--workflow", "build", "--type", "status_change", "--step", "requirements"];
    let requests: [Vec<&str>; 4] = [
        emit.iter().chain(&["--data", &report, "--id", "e1"]).copied().collect(),
        vec!["record-activity", "--run-id", "r1", "--id", "one", "--status", "passed"],
        vec!["exec", "--run-id", "r1", "--id", "two", "--", "true"],
        vec!["block", "r1", "--reason", "which one?", "--id", "b1"],
    ];
    for args in &requests {
        laptop.flow(args).ok();
    }
    let before = log(laptop, "r1");
    team.without_hub(|| {
        for args in &requests {
            laptop.flow(args).ok();
        }
    });
    assert_eq!(log(laptop, "r1"), before);
}

#[test]
fn a_wait_ends_by_what_the_store_has_and_not_by_what_was_seen_last() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    laptop.flow(["block", "r1", "--reason", "which one?"]).ok();
    server.flow(["list"]).ok();
    laptop.flow(["unblock", "r1", "--reason", "this one"]).ok();
    // The copy has a question that was answered.
    let late = server.flow(["wait", "r1", "--timeout", "5", "--json"]).exits(5).error();
    assert_eq!(late["code"], "time_over");
    laptop.flow(["block", "r1", "--reason", "which one?"]).ok();
    server.flow(["list"]).ok();
    laptop.flow(["cancel", "r1"]).ok();
    laptop.flow(["start", "build", "--id", "r2"]).ok();
    laptop.flow(["block", "r2", "--reason", "now what?"]).ok();
    let needs = server.flow(["attention", "--wait", "--json"]).ok().json();
    assert_eq!((needs["runs"].as_array().unwrap().len(), &needs["runs"][0]["run_id"]), (1, &json!("r2")), "{needs}");
    team.without_hub(|| {
        // What is known is the answer then, and that it may be old is said.
        let answers = [
            laptop.flow(["wait", "r1"]).exits(1),
            laptop.flow(["wait", "r2"]).exits(4),
            laptop.flow(["attention", "--wait"]).ok(),
            laptop.flow(["watch", "--once"]).ok(),
            laptop.flow(["sessions"]).ok(),
        ];
        for answer in answers {
            assert!(answer.stderr.contains("git:origin was not reached"), "{answer:?}");
        }
    });
    laptop.flow(["unblock", "r2", "--reason", "this"]).ok();
    let page = server.flow(["watch", "--once", "--run-id", "r2"]).ok().stdout;
    assert!(!page.contains("blocked: now what?"), "{page}");
}

#[test]
fn what_is_given_to_others_is_what_the_store_has() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "debug", "--id", "r1"]).ok();
    let readers: [&[&str]; 4] = [
        &["evidence", "r1"],
        &["report", "r1"],
        &["export", "r1", "--format", "cloudevents"],
        &["verify", "r1", "--evidence"],
    ];
    server.flow(["list"]).ok();
    for (nth, args) in readers.iter().enumerate() {
        let id = format!("work-{nth}");
        laptop.flow(["exec", "--id", &id, "--", "true"]).ok();
        let answer = server.flow(*args);
        assert!(answer.stdout.contains(&id), "{args:?}: {answer:?}");
        assert_eq!(log(server, "r1"), log(laptop, "r1"), "{args:?}");
    }
    team.without_hub(|| {
        for args in readers {
            let answer = server.flow(args);
            let all = answer.stdout.clone() + &answer.stderr;
            assert!(all.contains("git:origin was not reached"), "{args:?}: {answer:?}");
        }
    });
}

#[test]
fn readers_say_that_the_configuration_cannot_be_read_which_names_the_store() {
    let Team { laptop, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    fs::write(laptop.path(".flow/config.yaml"), "<<<<<<< ours\nstore: git:origin\n=======\n>>>>>>> theirs\n").unwrap();
    for args in [vec!["list"], vec!["resume"], vec!["show", "r1"], vec!["attention"]] {
        let answer = laptop.flow(&args);
        let all = answer.stdout.clone() + &answer.stderr;
        assert!(all.contains("config.yaml"), "{args:?}: {answer:?}");
    }
}

#[test]
fn hooks_and_the_status_line_never_ask_the_network() {
    let team = Team::sharing();
    let Team { laptop, .. } = &team;
    laptop.flow(["start", "build", "--id", "r1", "--session", "s1"]).ok();
    team.without_hub(|| {
        // Asked for, it would be named as not reached.
        let hud = laptop.flow(["hud", "--session", "s1", "--json"]).ok();
        assert!(hud.stdout.contains("r1") && hud.stderr.is_empty(), "{hud:?}");
        let begun =
            json!({ "session_id": "s1", "cwd": laptop.root(), "hook_event_name": "SessionStart", "source": "startup" });
        let told = laptop.flow_with(["hook", "claude-code", "session-start"], &begun.to_string()).ok();
        assert!(!told.stdout.contains("not reached"), "{told:?}");
        let context = told.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
        let shared = context.lines().find(|line| line.starts_with("Shared in ")).unwrap_or(&context);
        assert!(shared.starts_with("Shared in \"git:origin\", as of event 1 (2026-"), "{shared}");
        assert!(shared.ends_with("Z); `flow resume` asks the store."), "{shared}");
    });
    let shown = laptop.flow(["show", "r1", "--json"]).ok().json();
    assert_eq!(shown["as_of"]["reached"], true);
}

#[test]
fn a_session_that_ends_marks_its_shared_run_in_the_time_that_a_host_waits() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "build", "--id", "r1", "--session", "s1"]).ok();
    let ended = laptop.flow(["session-end", "--session", "s1", "--json"]).ok().json();
    assert_eq!(ended["persisted"][0]["run_id"], "r1");
    assert_eq!(server.flow(["show", "r1", "--json"]).ok().json()["state"]["last_seq"], 2);
    // A host that answers nothing.
    let deaf = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/hub.git", deaf.local_addr().unwrap());
    laptop.flow(["resume", "r1", "--claim", "--session", "s1"]).ok();
    laptop.git(&["config", "url.unused.insteadOf", "unused"]);
    let config = laptop.path("user.gitconfig");
    fs::write(&config, format!("[url \"{address}\"]\n\tinsteadOf = {}\n", team.hub().display())).unwrap();
    let mut command = laptop.flow_command();
    command.env("GIT_CONFIG_GLOBAL", &config).args(["session-end", "--session", "s1", "--json"]);
    let begun = Instant::now();
    let ended = run(command, "").ok().json();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(ended["persisted"], json!([]));
    let told = ended["warnings"][0].as_str().unwrap();
    let way = "the session still holds it, and `flow resume r1 --take-over` takes it over";
    assert!(told.starts_with("run r1: ") && told.ends_with(way), "{told}");
}

#[test]
fn evidence_goes_with_the_record_that_names_it() {
    let team = Team::sharing();
    team.laptop.flow(["start", "debug", "--id", "r1"]).ok();
    let evidence = |machine: &Sandbox| machine.path(".flow/shared/runs/r1/evidence");
    fs::write(evidence(&team.laptop).join("test.log"), "3 passed\n").unwrap();
    fs::write(evidence(&team.laptop).join("large.bin"), vec![7; (1 << 20) + 1]).unwrap();
    let args = ["record-activity", "--id", "test", "--evidence", "test.log", "--evidence", "evidence/large.bin"];
    let told = team.laptop.flow(args).ok().stderr;
    insta::assert_snapshot!(told, @"warning: evidence/large.bin is 1048577 bytes long, and up to 1048576 are kept with a record: its content can change unseen, and other machines do not get it");
    // The other machine knows of it, and gets it when it asks.
    team.server.flow(["resume", "r1"]).ok();
    let listed = team.server.flow(["evidence", "r1"]).ok().stdout;
    insta::assert_snapshot!(listed, @r"
    test.log            9 bytes  001 test
    evidence/large.bin  missing  001 test
    ");
    assert!(!evidence(&team.server).join("test.log").exists());
    assert_eq!(team.server.flow(["doctor", "r1", "--json"]).json()["findings"][0]["code"], "evidence_missing");
    let fetched = team.server.flow(["remote", "fetch", "r1"]).ok().stdout;
    insta::assert_snapshot!(fetched, @r"
    r1 is here up to event 2
    and its evidence/test.log
    ");
    assert_eq!(fs::read_to_string(evidence(&team.server).join("test.log")).unwrap(), "3 passed\n");
    // What was changed since is told.
    fs::write(evidence(&team.server).join("test.log"), "4 passed\n").unwrap();
    let found = team.server.flow(["doctor", "r1", "--json"]).json();
    let codes: Vec<_> = found["findings"].as_array().unwrap().iter().map(|found| found["code"].clone()).collect();
    assert!(codes.contains(&json!("evidence_changed")), "{codes:?}");
}

#[test]
fn a_local_run_is_moved_into_the_store_with_all_that_it_has() {
    let team = Team::new();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "build", "--issue", "7", "--id", "r1"]).ok();
    record(laptop, "r1", "one").ok();
    fs::write(laptop.run_dir("r1").join("evidence/out.log"), "all green").unwrap();
    laptop.edit("r1", "goal: null", "goal: typed by a person");
    let refused = laptop.flow(["remote", "push", "r1", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "no_store");
    for machine in [laptop, server] {
        accept(machine);
    }
    assert_eq!(ids(laptop), ["r1"]);
    team.without_hub(|| {
        laptop.flow(["remote", "push", "r1"]).exits(74);
        assert!(laptop.run_dir("r1").exists() && !laptop.path(".flow/shared/runs/r1").exists());
    });
    record(laptop, "r1", "two").ok();
    let pushed = laptop.flow(["remote", "push", "r1", "--json"]).ok().json();
    assert_eq!(pushed, json!({ "run_id": "r1", "store": "git:origin", "seq": 4, "warnings": [] }));
    assert!(!laptop.run_dir("r1").exists());
    assert_eq!(fs::read(laptop.path(".flow/shared/runs/r1/evidence/out.log")).unwrap(), b"all green");
    server.flow(["remote", "fetch", "r1"]).ok();
    let shown = server.flow(["show", "r1", "--json"]).ok().json();
    assert_eq!(shown["metadata"]["goal"], "typed by a person");
    assert_eq!(shown["state"]["completed_activities"], json!(["one", "two"]));
    // It is about its issue there as well.
    server.flow(["start", "build", "--issue", "7"]).exits(1);
    // Once more changes nothing.
    laptop.flow(["remote", "push", "r1"]).ok();
    assert_eq!(log(laptop, "r1"), log(server, "r1"));
    laptop.flow(["verify", "r1"]).ok();
}

#[test]
fn a_run_that_the_store_has_lost_is_put_there_again_from_a_copy() {
    let team = Team::sharing();
    let Team { laptop, server, hub } = &team;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    record(laptop, "r1", "one").ok();
    // As `git push --mirror` of another clone does.
    run(laptop.command_in_hub(hub, &["update-ref", "-d", "refs/flow/open/r1"]), "").ok();
    let lost = record(laptop, "r1", "two").exits(3);
    assert!(lost.stderr.contains("`flow remote push r1` puts it there again"), "{lost:?}");
    let why = "git:origin has lost run r1, or the end of it, of which a copy is here";
    let resumed = laptop.flow(["resume", "r1", "--json"]).exits(4).json();
    assert_eq!((&resumed["verdict"], &resumed["reason"]), (&json!("needs_human"), &json!(why)));
    assert_eq!((&resumed["next"]["action"], &resumed["next"]["command"]), (&json!("share"), &json!(null)));
    assert_eq!(resumed["next"]["alternatives"][0]["command"], "flow remote push r1");
    // Also where nothing asks the network.
    for args in [&["attention"][..], &["watch", "--once"], &["hud"], &["list"]] {
        let told = laptop.flow(args);
        let needs = ["unshared", "needs_human", why].iter().any(|words| told.stdout.contains(words));
        assert!(told.stdout.contains("r1") && needs, "{told:?}");
    }
    let status = laptop.flow(["remote", "status", "--json"]).ok().json();
    assert_eq!(status["runs"][0]["lost"], true, "{status}");
    let status = laptop.flow(["remote", "status"]).ok().stdout;
    insta::assert_snapshot!(status.replace(team.hub().to_str().unwrap(), "HUB"), @r"
    store       git:origin
    address     HUB
    here alone  0 runs
    shared      0 runs
    reached     just now
    r1  active  event 2, which the store has lost
    ");
    let used = laptop.flow(["remote", "use", "git:origin", "--json"]).ok().json();
    assert_eq!(used["runs"], 0);
    laptop.flow(["remote", "push", "r1"]).ok();
    assert!(!laptop.flow(["hud"]).ok().stdout.contains("unshared"));
    record(laptop, "r1", "two").ok();
    assert_eq!(
        server.flow(["show", "r1", "--json"]).ok().json()["state"]["completed_activities"],
        json!(["one", "two"])
    );
}

#[test]
fn a_local_log_that_is_damaged_is_repaired_before_it_is_shared() {
    for damage in ["a line is gone", "the last line is gone"] {
        let team = Team::new();
        let Team { laptop, server, hub } = &team;
        laptop.flow(["start", "build", "--id", "r1"]).ok();
        for id in ["one", "two", "three"] {
            record(laptop, "r1", id).ok();
        }
        let file = laptop.run_dir("r1").join("events.jsonl");
        let text = fs::read_to_string(&file).unwrap();
        let mut lines: Vec<_> = text.lines().collect();
        lines.remove(if damage == "a line is gone" { 2 } else { 3 });
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        for machine in [laptop, server] {
            accept(machine);
        }
        let refused = laptop.flow(["remote", "push", "r1", "--json"]).exits(65).error();
        assert_eq!(refused["code"], "log_damaged", "{damage}: {refused}");
        assert!(refused["message"].as_str().unwrap().contains(".flow/runs/r1/events.jsonl"), "{refused}");
        assert!(refused["help"].as_str().unwrap().contains("`flow doctor r1 --repair`"), "{refused}");
        let refs = run(laptop.command_in_hub(hub, &["for-each-ref"]), "").ok().stdout;
        assert_eq!((refs.as_str(), laptop.path(".flow/shared/runs/r1").exists()), ("", false), "{damage}");
        laptop.flow(["doctor", "r1", "--repair"]).ok();
        laptop.flow(["remote", "push", "r1"]).ok();
        record(server, "r1", "four").ok();
        for machine in [laptop, server] {
            machine.flow(["verify", "r1"]).ok();
            // A gap that a repair has named is not damage.
            assert!(!format!("{:?}", found(machine)).contains("store_"), "{damage}");
        }
    }
}

/// The findings of `flow doctor`, each as its code and message.
pub fn found(machine: &Sandbox) -> Vec<Value> {
    let report = machine.flow(["doctor", "--json"]).json();
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|finding| json!([finding["code"], finding["message"]])).collect()
}

#[test]
fn what_the_store_has_lost_is_found_and_put_there_again() {
    let team = Team::sharing();
    let Team { laptop, hub, .. } = &team;
    laptop.flow(["start", "build", "--issue", "7", "--id", "r1"]).ok();
    record(laptop, "r1", "one").ok();
    record(laptop, "r1", "two").ok();
    assert_eq!(found(laptop), [json!(null); 0]);
    let whole = log(laptop, "r1");
    let git = |args: &[&str]| run(laptop.command_in_hub(hub, args), "").ok().stdout;
    // The end of a run, as a forced push takes it.
    git(&["update-ref", "refs/flow/open/r1", "refs/flow/open/r1~1"]);
    let lost = json!([
        "store_lost_run",
        "git:origin has lost the run, or the end of it; `flow remote push r1` puts it there again"
    ]);
    assert_eq!(found(laptop), std::slice::from_ref(&lost));
    let differs = laptop.flow(["verify", "r1", "--json"]).exits(65).json();
    assert_eq!(differs["differences"][0]["why"], "the store lost what it had acknowledged");
    let refused = record(laptop, "r1", "three").exits(3).stderr;
    insta::assert_snapshot!(refused, @r"
    error: git:origin has lost run r1, or the end of it, of which a copy is here
      help: `flow remote push r1` puts it there again, or remove the copy; nothing was written
    ");
    // A reader keeps what it has.
    laptop.flow(["resume", "r1"]).exits(4);
    assert_eq!(log(laptop, "r1"), whole);
    laptop.flow(["remote", "push", "r1"]).ok();
    assert_eq!(found(laptop), [json!(null); 0]);
    laptop.flow(["verify", "r1"]).ok();
    // A line that flow did not write.
    let other = git(&[
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.com",
        "commit-tree",
        "-p",
        "refs/flow/open/r1",
        "-m",
        "{}",
        "refs/flow/open/r1^{tree}",
    ]);
    git(&["update-ref", "refs/flow/open/r1", other.trim()]);
    let damaged = "the log that git:origin has is damaged: line 4 is not a sealed event";
    assert_eq!(found(laptop), [json!(["store_log_damaged", damaged])]);
    git(&["update-ref", "refs/flow/open/r1", "refs/flow/open/r1~1"]);
    // Everything.
    for name in git(&["for-each-ref", "--format=%(refname)"]).lines() {
        git(&["update-ref", "-d", name]);
    }
    assert_eq!(found(laptop), [lost]);
    team.without_hub(|| {
        let [code, told] = [0, 1].map(|at| found(laptop)[0][at].as_str().unwrap().to_owned());
        assert_eq!(code, "store_not_reached");
        assert!(told.ends_with("; put that right, and `flow remote status` says whether it answers"), "{told}");
        let notes = laptop.flow(["verify", "r1", "--json"]).ok().json()["notes"].clone();
        assert!(notes[0].as_str().unwrap().ends_with("; only the copy here was proven"), "{notes}");
    });
    laptop.flow(["remote", "push", "r1"]).ok();
    assert_eq!(found(laptop), [json!(null); 0]);
}

#[test]
fn a_proof_of_a_copy_that_is_behind_says_so() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    server.flow(["remote", "fetch", "r1"]).ok();
    assert_eq!(server.flow(["verify", "r1", "--json"]).ok().json()["notes"], json!([]));
    record(laptop, "r1", "one").ok();
    record(laptop, "r1", "two").ok();
    let behind = "the copy that was proven lacks 2 events that git:origin has; `flow remote fetch r1` brings them";
    assert_eq!(server.flow(["verify", "r1", "--json"]).ok().json()["notes"], json!([behind]));
    assert_eq!(log(server, "r1").lines().count(), 1);
    assert_eq!(found(server), [json!(null); 0]);
}

#[test]
fn a_run_of_this_checkout_that_a_shared_one_hides_is_found() {
    let Team { laptop, server, .. } = &Team::new();
    accept(laptop);
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    server.flow(["start", "debug", "--id", "r1"]).ok();
    accept(server);
    let here = server.run_dir("r1");
    let hidden = format!(
        "git:origin has another run r1, which is shown instead of the one in {}; move this directory to OTHER/runs/r1, and \
         `FLOW_DIR=OTHER flow show r1` shows it",
        here.display()
    );
    assert_eq!(found(server), [json!(["run_hidden", hidden])]);
    std::fs::create_dir_all(server.path("other/runs")).unwrap();
    fs::rename(server.run_dir("r1"), server.path("other/runs/r1")).unwrap();
    let mut show = server.flow_command();
    show.args(["show", "r1", "--json"]).env("FLOW_DIR", server.path("other"));
    assert_eq!(run(show, "").ok().json()["metadata"]["workflow"], "debug");
    assert_eq!(server.flow(["show", "r1", "--json"]).ok().json()["metadata"]["workflow"], "build");
    assert_eq!(found(server), [json!(null); 0]);
}

#[test]
fn what_a_trial_left_that_was_killed_is_no_run() {
    let Team { laptop, server, hub } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    for (name, of) in [("flow-probe-00000000000000aa", "r1"), ("flow-probe-of-mine", "r1")] {
        let (new, old) = (format!("refs/flow/open/{name}"), format!("refs/flow/open/{of}"));
        run(laptop.command_in_hub(hub, &["update-ref", &new, &old]), "").ok();
    }
    assert_eq!(server.flow(["remote", "status", "--json"]).ok().json()["runs"].as_array().unwrap().len(), 2);
    assert!(!server.path(".flow/shared/runs/flow-probe-00000000000000aa").exists());
}

#[test]
fn a_run_that_the_store_does_not_know_to_be_about_its_issue_is_found() {
    let Team { laptop, hub, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--issue", "7", "--id", "r1"]).ok();
    let git = |args: &[&str]| run(laptop.command_in_hub(hub, args), "").ok().stdout;
    for name in git(&["for-each-ref", "--format=%(refname)", "refs/flow/work"]).lines() {
        git(&["update-ref", "-d", name]);
    }
    let unmarked = "git:origin does not know that the run is about issue 7, so that a second one can begin";
    assert_eq!(found(laptop), [json!(["store_unmarked", unmarked])]);
}

#[test]
fn a_run_that_comes_back_with_a_branch_does_not_hide_the_shared_one() {
    let team = Team::new();
    let Team { laptop, .. } = &team;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    laptop.git(&["add", "-A"]);
    laptop.git(&["commit", "-q", "-m", "a run"]);
    accept(laptop);
    laptop.flow(["remote", "push", "r1"]).ok();
    laptop.git(&["checkout", "-q", "HEAD", "--", ".flow/runs"]);
    assert!(laptop.run_dir("r1").exists());
    record(laptop, "r1", "one").ok();
    assert_eq!(log(laptop, "r1").lines().count(), 2);
    assert_eq!(ids(laptop), ["r1"]);
    // It is a part of the shared one, and goes where a push that was interrupted would have put it.
    laptop.flow(["remote", "push", "r1"]).ok();
    assert!(!laptop.run_dir("r1").exists());
    assert_eq!(ids(laptop), ["r1"]);
}

#[test]
fn nothing_that_a_clone_brings_is_run() {
    let team = Team::new();
    let Team { laptop, .. } = &team;
    let ran = team.hub.path().join("ran");
    let command = format!("touch {}", ran.display());
    for name in ["pre-push", "reference-transaction", "post-update"] {
        let hook = laptop.path(".git/hooks").join(name);
        fs::write(&hook, format!("#!/bin/sh\n{command}\n")).unwrap();
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let included = laptop.path("included");
    let keys = format!(
        "[core]\n\tsshCommand = {command}\n\tfsmonitor = {command}\n\tgitProxy = {command}\n[credential]\n\thelper = \"!{command}\"\n"
    );
    fs::write(&included, keys).unwrap();
    laptop.git(&["config", "include.path", included.to_str().unwrap()]);
    laptop.git(&["remote", "add", "--", "evil", &format!("ext::sh -c {command}% ")]);
    laptop.flow(["remote", "use", "git:evil"]).exits(3);
    laptop.git(&["remote", "add", "far", "ssh://nobody@localhost:1/x.git"]);
    laptop.flow(["--lock-timeout", "5", "remote", "use", "git:far"]).exits(74);
    for name in ["git:--upload-pack=touch", "git:ext::sh", "git:$(touch x)"] {
        laptop.flow(["remote", "use", name]).exits(2);
    }
    laptop.flow(["remote", "use", "git:origin"]).ok();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    record(laptop, "r1", "one").ok();
    assert!(!ran.exists(), "a command of the repository ran");
}

#[test]
fn a_password_in_the_address_is_never_shown() {
    let team = Team::new();
    let Team { laptop, .. } = &team;
    for address in ["http://me:hunter2@127.0.0.1:9/x.git", "http://127.0.0.1:9/x.git?token=hunter2"] {
        laptop.git(&["remote", "set-url", "origin", address]);
        let used = laptop.flow(["--lock-timeout", "5", "remote", "use", "git:origin"]).exits(74);
        name_store(laptop, "git:origin");
        let status = laptop.flow(["remote", "status", "--json"]).ok();
        let listed = laptop.flow(["list"]).ok();
        let refused = laptop.flow(["start", "build"]).exits(1);
        for answer in [used, status, listed, refused] {
            assert!(!format!("{answer:?}").contains("hunter2"), "{answer:?}");
        }
        fs::remove_file(laptop.path(".flow/config.yaml")).unwrap();
    }
}

#[test]
fn nothing_is_decided_on_a_copy_that_is_damaged_further_up() {
    for (nth, damage) in ["changed", "removed", "zeros"].into_iter().enumerate() {
        let Team { laptop, server, .. } = &Team::sharing();
        let run = format!("r{nth}");
        laptop.flow(["start", "build", "--id", &run]).ok();
        for id in ["one", "two", "three"] {
            record(laptop, &run, id).ok();
        }
        let file = laptop.path(".flow/shared/runs").join(&run).join("events.jsonl");
        let whole = fs::read_to_string(&file).unwrap();
        let mut lines: Vec<_> = whole.lines().map(str::to_owned).collect();
        match damage {
            "changed" => lines[1] = lines[1].replace("\"one\"", "\"onE\""),
            "removed" => drop(lines.remove(1)),
            _ => lines[1] = "\0".repeat(lines[1].len()),
        }
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        let again = record(laptop, &run, "one").ok();
        assert!(again.stdout.starts_with("already recorded: 001 one"), "{damage}: {}", again.stdout);
        record(laptop, &run, "four").ok();
        server.flow(["verify", &run]).ok();
        assert_eq!((log(laptop, &run), log(server, &run)).0.lines().count(), 5);
        assert_eq!(log(laptop, &run), log(server, &run), "{damage}");
        assert!(log(laptop, &run).starts_with(&whole), "{damage}");
    }
}

#[test]
fn a_store_that_cannot_be_reached_is_not_used_and_the_copies_of_the_present_one_stay() {
    let Team { laptop, hub, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    let elsewhere = hub.path().join("elsewhere.git");
    laptop.git(&["remote", "set-url", "origin", elsewhere.to_str().unwrap()]);
    let refused = laptop.flow(["remote", "use", "git:origin", "--json"]).exits(74).error();
    assert_eq!(refused["code"], "store_not_reached");
    assert!(laptop.path(".flow/shared/runs/r1/events.jsonl").exists());
    laptop.git(&["remote", "set-url", "origin", hub.path().join("hub.git").to_str().unwrap()]);
    assert_eq!(ids(laptop), ["r1"]);
    record(laptop, "r1", "one").ok();
}

/// What a commit can bring into the checkout.
#[test]
fn no_configuration_beside_the_copies_sends_a_run_elsewhere() {
    let Team { laptop, server, hub } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    let evil = hub.path().join("evil.git");
    laptop.git(&["init", "-q", "--bare", evil.to_str().unwrap()]);
    let redirect = format!("[url \"{}\"]\n\tinsteadOf = {}\n", evil.display(), hub.path().join("hub.git").display());
    let own = laptop.path(".flow/shared/.cache/remote.git");
    let whole = fs::read_to_string(own.join("config")).unwrap() + &redirect;
    for (nth, (file, text)) in
        [("config", whole.as_str()), ("config", "[include]\n\tpath = ../more\n"), ("commondir", "../../../common\n")]
            .into_iter()
            .enumerate()
    {
        fs::create_dir_all(laptop.path("common")).unwrap();
        fs::write(laptop.path("common/config"), &whole).unwrap();
        fs::write(own.join("../more"), &redirect).unwrap();
        fs::write(own.join(file), text).unwrap();
        record(laptop, "r1", &format!("work-{nth}")).ok();
        assert!(!own.join("commondir").exists());
    }
    let mut sent = laptop.command("git");
    sent.arg("--git-dir").arg(&evil).arg("for-each-ref");
    assert_eq!(run(sent, "").ok().stdout, "");
    let shown = server.flow(["show", "r1", "--json"]).ok().json();
    assert_eq!(shown["state"]["completed_activities"], json!(["work-0", "work-1", "work-2"]));
}

#[test]
fn the_configuration_keeps_what_people_wrote() {
    let Team { laptop, .. } = &Team::new();
    laptop.flow(["init"]).ok();
    let config = laptop.path(".flow/config.yaml");
    fs::write(&config, "# Ours.\nstate_types: [reviewed]\n").unwrap();
    let used: Value = laptop.flow(["remote", "use", "git:origin", "--json"]).ok().json();
    assert_eq!((&used["named"], &used["runs"]), (&json!(true), &json!(0)));
    assert_eq!(fs::read_to_string(&config).unwrap(), "# Ours.\nstate_types: [reviewed]\nstore: git:origin\n");
    let again = laptop.flow(["remote", "use", "git:origin", "--json"]).ok().json();
    assert_eq!(again["named"], false);
}

#[test]
fn all_worktrees_of_a_repository_share_what_was_accepted() {
    let Team { laptop, .. } = &Team::sharing();
    laptop.git(&["add", "-A"]);
    laptop.git(&["commit", "-q", "-m", "share"]);
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    laptop.git(&["worktree", "add", "-q", "../beside"]);
    let mut command = laptop.flow_command();
    command.current_dir(laptop.path("../beside")).args(["list", "--json"]);
    // The other worktree has a copy as well, and it is one run.
    let listed = run(command, "").ok().json();
    assert_eq!((listed["runs"].as_array().unwrap().len(), &listed["worktrees"]), (1, &json!([])));
    let mut command = laptop.flow_command();
    command.current_dir(laptop.path("../beside")).args(["record-activity", "--run-id", "r1", "--id", "one"]);
    run(command, "").ok();
    assert_eq!(laptop.flow(["show", "r1", "--json"]).ok().json()["state"]["completed_activities"], json!(["one"]));
}

#[test]
fn where_a_host_takes_only_branches_the_runs_are_branches_that_start_no_pipeline() {
    let Team { laptop, server, hub } = &Team::new();
    for machine in [laptop, server] {
        name_store(machine, "git:origin#refs/heads/flow/");
        machine.flow(["remote", "use", "git:origin#refs/heads/flow/"]).ok();
    }
    laptop.flow(["start", "build", "--issue", "42", "--id", "r1"]).ok();
    record(server, "r1", "one").ok();
    record(laptop, "r1", "two").ok();
    server.flow(["start", "build", "--issue", "42"]).exits(1);
    let refs = run(laptop.command_in_hub(hub, &["for-each-ref", "--format=%(refname)"]), "").ok().stdout;
    assert!(refs.lines().all(|name| name.starts_with("refs/heads/flow/")), "{refs}");
    let told = run(laptop.command_in_hub(hub, &["log", "--format=%B%x00", "refs/heads/flow/open/r1"]), "").ok().stdout;
    let messages: Vec<_> = told.split('\0').map(str::trim).filter(|message| !message.is_empty()).collect();
    assert_eq!(messages.len(), 3);
    assert!(messages.iter().all(|message| message.ends_with("[skip ci]")), "{messages:?}");
    server.flow(["verify", "r1"]).ok();
    assert_eq!(server.flow(["show", "r1", "--json"]).ok().json()["as_of"]["seq"], 3);
}

#[test]
fn the_doctor_looks_at_the_copies_and_rewrites_the_log_of_none_of_them() {
    let Team { laptop, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    record(laptop, "r1", "one").ok();
    let report = laptop.flow(["doctor", "--json"]).ok().json();
    assert_eq!((&report["runs"], &report["findings"]), (&json!(1), &json!([])));
    let log = laptop.path(".flow/shared/runs/r1/events.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replace("\"one\"", "\"two\"")).unwrap();
    laptop.flow(["doctor", "--json"]).exits(65);
    assert_eq!(laptop.flow(["doctor", "r1", "--repair", "--json"]).exits(1).error()["code"], "shared_copy");
    fs::remove_dir_all(laptop.path(".flow/shared/runs/r1")).unwrap();
    laptop.flow(["remote", "fetch", "r1"]).ok();
    assert_eq!(fs::read_to_string(&log).unwrap(), text);
}

#[test]
fn a_copy_that_lacks_files_or_has_a_broken_one_is_mended_from_its_log() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    record(laptop, "r1", "one").ok();
    record(server, "r1", "two").ok();
    laptop.flow(["list"]).ok();
    let copy = laptop.path(".flow/shared/runs/r1");
    let (text, activity) = (copy.join("run.yaml"), copy.join("activities/001-one.yaml"));
    let whole = (fs::read(&text).unwrap(), fs::read(&activity).unwrap());
    for args in [vec!["doctor", "r1", "--repair"], vec!["doctor", "--repair"]] {
        fs::write(&text, "<<<<<<< ours\nid: [\n").unwrap();
        fs::remove_file(&activity).unwrap();
        record(laptop, "r1", "three").exits(65);
        laptop.flow(&args).ok();
        assert_eq!((fs::read(&text).unwrap(), fs::read(&activity).unwrap()), whole, "{args:?}");
        laptop.flow(["verify", "r1"]).ok();
    }
    assert_eq!(log(laptop, "r1"), log(server, "r1"));
    record(laptop, "r1", "three").ok();
}

#[test]
fn a_copy_that_was_longer_than_the_shared_log_is_written_again_once_it_was_exchanged() {
    let Team { laptop, server, hub } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    server.flow(["list"]).ok();
    for id in ["one", "two", "three"] {
        record(laptop, "r1", id).ok();
    }
    // As a forced push does, and then another machine goes on.
    run(laptop.command_in_hub(hub, &["update-ref", "refs/flow/open/r1", "refs/flow/open/r1~3"]), "").ok();
    record(server, "r1", "other").ok();
    let told = laptop.flow(["show", "r1", "--json"]).ok().json();
    assert!(told["notes"].to_string().contains("a copy of r1 that differed from the shared run"), "{told}");
    record(laptop, "r1", "four").ok();
    server.flow(["list"]).ok();
    for machine in [laptop, server] {
        let shown = machine.flow(["show", "r1", "--json"]).ok().json();
        assert_eq!(shown["state"]["completed_activities"], json!(["other", "four"]));
        machine.flow(["verify", "r1"]).ok();
    }
}

#[test]
fn a_prune_leaves_shared_runs_and_the_id_of_a_local_one_is_not_shared_later() {
    let Team { laptop, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    laptop.flow(["start", "build", "--id", "r2", "--local", "--another"]).ok();
    for run in ["r1", "r2"] {
        laptop.flow(["cancel", run]).ok();
    }
    let report = laptop.flow(["prune", "--older-than", "0d", "--yes", "--json"]).ok().json();
    assert_eq!(report["pruned"][0]["run_id"], "r2");
    assert_eq!(report["kept"], json!([{ "run_id": "r1", "why": "several machines share it" }]));
    assert_eq!(ids(laptop), ["r1"]);
    let error = laptop.flow(["start", "build", "--id", "r2", "--json"]).exits(3).error();
    assert_eq!(error["code"], "run_pruned");
}

#[test]
fn lines_of_other_programs_do_not_go_into_the_store() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1", "--local"]).ok();
    let line = "{\"type\":\"note\"}\n";
    let file = laptop.run_dir("r1").join("events.jsonl");
    fs::write(&file, fs::read_to_string(&file).unwrap() + line).unwrap();
    record(laptop, "r1", "one").ok();
    laptop.flow(["remote", "push", "r1"]).ok();
    assert!(!log(laptop, "r1").contains("note") && !laptop.run_dir("r1").exists());
    // As it was, it is beside the project's other files that a person may look at.
    let mut grep = laptop.command("grep");
    grep.args(["-rl", "note", ".flow/.quarantine"]);
    assert!(run(grep, "").ok().stdout.ends_with(".jsonl\n"));
    // One in the log of a copy goes into its quarantine with the next command that writes the run.
    let copy = laptop.path(".flow/shared/runs/r1/events.jsonl");
    fs::write(&copy, log(laptop, "r1") + line).unwrap();
    record(laptop, "r1", "two").ok();
    record(server, "r1", "three").ok();
    for machine in [laptop, server] {
        machine.flow(["verify", "r1"]).ok();
        assert!(!log(machine, "r1").contains("note"));
    }
}
