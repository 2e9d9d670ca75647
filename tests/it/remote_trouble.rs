//! Shared runs after commands that were killed, and with a store or a cache that is not as it should be.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::remote::{Team, accept, found, ids, log, record};
use crate::support::{Sandbox, answered, run, spawned};

/// The command with a git for it that runs these lines of shell first, with the arguments of git as `$*`.
fn with_git(machine: &Sandbox, mut command: Command, lines: &str) -> Command {
    let place = machine.path("../git-in-trouble");
    fs::create_dir_all(&place).unwrap();
    let git = run(machine.command("sh"), "command -v git").ok().stdout;
    let script = format!("#!/bin/sh\ngit={}\n{lines}\nexec \"$git\" \"$@\"\n", git.trim());
    fs::write(place.join("git"), script).unwrap();
    fs::set_permissions(place.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", place.display()));
    command
}

/// The codes of what `flow doctor` finds.
fn codes(machine: &Sandbox) -> Vec<String> {
    found(machine).into_iter().map(|finding| finding[0].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_push_of_a_run_that_was_killed_is_finished_by_whatever_comes_next() {
    for sends in ["", "\"$git\" \"$@\" > /dev/null 2>&1;"] {
        let team = Team::sharing();
        let Team { laptop, server, .. } = &team;
        laptop.flow(["start", "build", "--local", "--issue", "7", "--id", "r1"]).ok();
        record(laptop, "r1", "one").ok();
        let pushing = laptop.path("../pushing");
        let lines = format!("case \"$*\" in *push*) {sends} touch {}; exec sleep 20;; esac", pushing.display());
        let mut command = laptop.flow_command();
        command.args(["remote", "push", "r1"]);
        let mut child = spawned(with_git(laptop, command, &lines));
        let begin = Instant::now();
        while !pushing.exists() && begin.elapsed() < Duration::from_secs(30) {
            thread::sleep(Duration::from_millis(10));
        }
        child.kill().unwrap();
        answered(child);
        assert_eq!(
            found(laptop),
            [json!([
                "store_push_unfinished",
                "the run is being moved into git:origin, and may not be there yet; `flow remote push r1` goes on, as does the next command that writes it"
            ])]
        );
        let proof = laptop.flow(["verify", "r1", "--json"]).ok().json();
        assert_eq!(
            proof["notes"],
            json!([
                "the run is being moved into git:origin, so that only the copy here was proven; `flow remote push r1` goes on"
            ])
        );
        assert_eq!(ids(laptop), ["r1"]);
        record(laptop, "r1", "two").ok();
        assert!(!laptop.run_dir("r1").exists());
        server.flow(["remote", "fetch", "r1"]).ok();
        assert_eq!(log(laptop, "r1"), log(server, "r1"));
        // What was here is put aside.
        assert_eq!(codes(laptop), ["quarantine"]);
        server.flow(["start", "build", "--issue", "7"]).exits(1);
    }
}

#[test]
fn a_start_whose_answer_was_lost_is_repeated_with_its_id() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    let args = ["start", "build", "--issue", "7", "--goal", "no crash", "--id", "r1", "--json"];
    let mut command = laptop.flow_command();
    command.args(args).args(["--lock-timeout", "2"]);
    let lost = "case \"$*\" in *push*) \"$git\" \"$@\" > /dev/null 2>&1; exec sleep 20;; esac";
    let answer = run(with_git(laptop, command, lost), "").exits(74);
    assert_eq!(answer.error()["code"], "unconfirmed");
    let report = laptop.flow(args).ok().json();
    assert_eq!((&report["run_id"], &report["created"]), (&json!("r1"), &json!(false)), "{report}");
    // As it is by now, also on a machine that never saw it open.
    server.flow(["cancel", "r1", "--reason", "not needed"]).ok();
    let told = laptop.flow(&args[..8]).ok();
    assert!(told.stdout == "r1\n" && told.stderr.starts_with("begun already, and in phase "), "{told:?}");
    fs::remove_dir_all(laptop.path(".flow/shared")).unwrap();
    assert_eq!(laptop.flow(args).ok().json()["created"], false);
    // Another request is another run.
    for other in [&["start", "build", "--issue", "8", "--id", "r1"][..], &["fork", "r1", "--id", "r1"]] {
        laptop.flow(other).exits(1);
    }
}

#[test]
fn an_edit_by_hand_that_another_machine_made_otherwise_is_kept_and_told() {
    for reads_first in [false, true] {
        let team = Team::sharing();
        let Team { laptop, server, .. } = &team;
        laptop.flow(["start", "build", "--id", "r1", "--goal", "a"]).ok();
        server.flow(["list"]).ok();
        for (machine, goal) in [(laptop, "one"), (server, "two")] {
            let file = machine.path(".flow/shared/runs/r1/run.yaml");
            let text = fs::read_to_string(&file).unwrap().replace("goal: a", &format!("goal: {goal}"));
            fs::write(file, text.replace("state:", "# by a person\nstate:")).unwrap();
        }
        record(laptop, "r1", "one").ok();
        let told = if reads_first { server.flow(["list"]).ok() } else { record(server, "r1", "two").ok() };
        let sentence = "a run.yaml with a change that a newer event had made otherwise was put into ";
        assert!(told.stderr.contains(sentence), "{told:?}");
        let kept = server.path(".flow/shared/runs/r1/.quarantine");
        let kept: Vec<_> = fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(kept.len() == 1 && fs::read_to_string(&kept[0]).unwrap().contains("goal: two\n"), "{kept:?}");
        record(server, "r1", "three").ok();
        laptop.flow(["list"]).ok();
        for machine in [laptop, server] {
            let shown = machine.flow(["show", "r1", "--json"]).ok().json();
            assert_eq!(shown["metadata"]["goal"], "one");
            machine.flow(["verify", "r1"]).ok();
        }
    }
}
