//! Shared runs after commands that were killed, and with a store or a cache that is not as it should be.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::mcp::client::{Client, call};
use crate::remote::{Team, accept, found, ids, log, name_store, record};
use crate::support::server::Server;
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
        let lines = format!("case \"$*\" in *\" push \"*) {sends} touch {}; exec sleep 20;; esac", pushing.display());
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
    // From the push on the server is silent.
    let silent = laptop.path("../silent").display().to_string();
    let lost = format!(
        "case \"$*\" in *\" push \"*) \"$git\" \"$@\" > /dev/null 2>&1; : > {silent}; exec sleep 20;;
            *\" fetch \"*) if [ -e {silent} ]; then exec sleep 20; fi;; esac"
    );
    let answer = run(with_git(laptop, command, &lost), "").exits(74);
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

#[test]
fn a_repository_of_another_format_is_used_whatever_the_user_prefers() {
    for (format, preferred) in [("sha256", "sha1"), ("sha1", "sha256")] {
        let team = Team::new();
        let Team { laptop, server, hub } = &team;
        fs::remove_dir_all(team.hub()).unwrap();
        laptop.git(&["init", "-q", "--bare", "--object-format", format, team.hub().to_str().unwrap()]);
        let settings = laptop.path("../gitconfig");
        // Push options are the user's own affair as well.
        let text = format!("[init]\n\tdefaultObjectFormat = {preferred}\n[push]\n\tpushOption = ci.skip\n");
        fs::write(&settings, text).unwrap();
        for machine in [laptop, server] {
            name_store(machine, "git:origin");
            for args in [&["remote", "use", "git:origin"][..], &["start", "build", "--issue", "7"], &["list"]] {
                let mut command = machine.flow_command();
                command.args(args).args(["--lock-timeout", "60"]).env("GIT_CONFIG_GLOBAL", &settings);
                run(command, "").exits(i32::from(args[0] == "start" && machine.root() == server.root()));
            }
        }
        let refs = run(laptop.command_in_hub(hub, &["for-each-ref", "--format=%(objectname)"]), "").ok().stdout;
        assert!(
            refs.lines().all(|id| id.len() == if format == "sha1" { 40 } else { 64 }) && !refs.is_empty(),
            "{refs}"
        );
    }
}

/// What `git gc`, a power cut or a full disk may leave of the repository beside the copies.
#[test]
fn a_repository_beside_the_copies_that_is_damaged_is_made_again() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    let bare = laptop.path(".flow/shared/.cache/remote.git");
    let damages = [
        "rm -rf objects",
        "rm -rf refs",
        "echo garbage > HEAD",
        "echo garbage > packed-refs",
        "find objects -type f -exec rm -f {} +",
        "echo 1111111111111111111111111111111111111111 > refs/flow/open/r1",
        "touch -d '2 minutes ago' refs/flow/open/r1.lock",
    ];
    for (nth, damage) in damages.into_iter().enumerate() {
        record(server, "r1", &format!("one-{nth}")).ok();
        let mut shell = laptop.command("sh");
        shell.args(["-c", &format!("mkdir -p refs/flow/open; {damage}")]).current_dir(&bare);
        run(shell, "").ok();
        if nth % 2 == 0 {
            let told = laptop.flow(["list"]).ok();
            assert_eq!(told.stderr, "", "{damage}");
        }
        let told = record(laptop, "r1", &format!("two-{nth}")).ok();
        assert!(!told.stderr.contains("warning"), "{damage}: {told:?}");
    }
    let shown = server.flow(["show", "r1", "--json"]).ok().json();
    assert_eq!(shown["state"]["completed_activities"].as_array().unwrap().len(), 2 * damages.len());
}

#[test]
fn a_repository_that_refuses_some_references_is_not_used() {
    for (refused, why) in
        [("work", "it does not note what a run is about"), ("over", "it does not take the end of a run")]
    {
        let team = Team::new();
        let Team { laptop, hub, .. } = &team;
        let hide = ["config", "receive.hideRefs", &format!("refs/flow/{refused}")];
        run(laptop.command_in_hub(hub, &hide), "").ok();
        let error = laptop.flow(["remote", "use", "git:origin", "--json"]).exits(1).error();
        assert_eq!(error["code"], "store_broken");
        let message =
            format!("git:origin cannot keep shared runs: {why}: [remote rejected] (deny updating a hidden ref)");
        assert_eq!(error["message"], message);
        assert_eq!(run(laptop.command_in_hub(hub, &["for-each-ref"]), "").ok().stdout, "");
    }
}

#[test]
fn references_that_flow_did_not_make_disturb_nothing_and_a_trial_removes_what_a_dead_one_left() {
    let team = Team::sharing();
    let Team { laptop, server, hub } = &team;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    let git = |args: &[&str]| run(laptop.command_in_hub(hub, args), "").ok().stdout;
    let trial = "refs/flow/open/flow-probe-0123456789abcdef";
    for name in ["refs/flow/open/a/b", "refs/flow/other", trial] {
        git(&["update-ref", name, "refs/flow/open/r1"]);
    }
    git(&["update-ref", "refs/flow/open/tree", "refs/flow/open/r1^{tree}"]);
    let as_ada = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    let other = git(&[&as_ada[..], &["commit-tree", "-m", "no run", "refs/flow/open/r1^{tree}"]].concat());
    git(&["update-ref", "refs/flow/open/no-run", other.trim()]);
    let told = server.flow(["list"]).ok();
    let sentence = "warning: run no-run in git:origin has a line after event 0 that is not an event\n";
    assert_eq!((told.stderr.as_str(), ids(server)), (sentence, vec!["r1".to_owned()]));
    record(server, "r1", "one").ok();
    laptop.flow(["remote", "probe"]).ok();
    // Its clock is that of the tests, by which it is not an hour old.
    assert!(git(&["for-each-ref"]).contains(trial));
    laptop.put_clock(laptop.now() + 4000);
    laptop.flow(["remote", "probe"]).ok();
    assert!(!git(&["for-each-ref"]).contains("flow-probe"));
}

#[test]
fn a_store_that_lost_all_runs_gets_them_back_from_the_copies() {
    let team = Team::sharing();
    let Team { laptop, server, hub } = &team;
    for (id, issue) in [("r1", "7"), ("r2", "8"), ("r3", "9")] {
        laptop.flow(["start", "build", "--id", id, "--issue", issue]).ok();
    }
    laptop.flow(["cancel", "r3"]).ok();
    server.flow(["list"]).ok();
    let git = |args: &[&str]| run(laptop.command_in_hub(hub, args), "").ok().stdout;
    let refs = || git(&["for-each-ref", "--format=%(refname)"]);
    let delete = |part: &str| {
        for name in refs().lines().filter(|name| name.contains(part)) {
            git(&["update-ref", "-d", name]);
        }
    };
    let whole = refs();
    delete("refs/flow");
    // A reader keeps what it has, and says so.
    let told = laptop.flow(["list"]).ok().stderr;
    insta::assert_snapshot!(told, @r"
    warning: git:origin has lost run r1, or the end of it, of which a copy is here
    warning: git:origin has lost run r2, or the end of it, of which a copy is here
    ");
    assert_eq!(codes(laptop), ["store_emptied", "store_lost_run", "store_lost_run", "store_lost_run"]);
    laptop.flow(["doctor", "--repair"]).ok();
    assert_eq!((codes(laptop).len(), codes(server).len(), refs()), (0, 0, whole.clone()));
    // The marks alone.
    delete("refs/flow/work");
    assert_eq!(codes(laptop), ["store_unmarked", "store_unmarked"]);
    let notes = server.flow(["verify", "r1", "--json"]).ok().json()["notes"].clone();
    let note = "git:origin does not know that the run is about issue 7; `flow doctor --repair` tells it";
    assert_eq!(notes, json!([note]));
    server.flow(["doctor", "--repair"]).ok();
    assert_eq!(refs(), whole);
    // A run beside another one takes over what both are about.
    laptop.flow(["start", "build", "--id", "r4", "--issue", "7", "--another"]).ok();
    laptop.flow(["fork", "r4", "--id", "r5"]).ok();
    assert!(codes(laptop).is_empty());
    for ended in ["r1", "r4"] {
        laptop.flow(["cancel", ended]).ok();
        assert!(codes(laptop).is_empty(), "{ended}: {:?}", codes(laptop));
    }
    fs::remove_dir_all(server.path(".flow/shared")).unwrap();
    server.flow(["start", "build", "--issue", "7"]).exits(1);
}

#[test]
fn no_copy_of_another_run_is_the_reason_of_a_refusal() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "build", "--id", "ended", "--issue", "7"]).ok();
    laptop.flow(["cancel", "ended"]).ok();
    for command in [
        &["reopen", "ended", "--reason", "again"][..],
        &["set", "free", "--issue", "7"],
        &["start", "build", "--id", "here", "--issue", "7", "--local"],
    ] {
        let name = command[0];
        laptop.flow(["start", "build", "--id", "free"]).ok();
        laptop.flow(["start", "build", "--id", name, "--issue", "7"]).ok();
        // What is refused by a run that is open stays refused.
        laptop.flow(command).exits(1);
        server.flow(["cancel", name]).ok();
        laptop.flow(command).ok();
        for used in ["ended", "here"] {
            laptop.flow(["cancel", used]);
        }
        laptop.flow(["set", "free", "--issue", "8"]).ok();
    }
}

#[test]
fn evidence_that_is_too_large_for_the_store_stays_here_when_its_run_is_moved() {
    let team = Team::sharing();
    let Team { laptop, server, hub } = &team;
    laptop.flow(["start", "build", "--local", "--id", "r1"]).ok();
    let evidence = laptop.run_dir("r1").join("evidence");
    fs::write(evidence.join("small.log"), "3 passed\n").unwrap();
    fs::write(evidence.join("large.bin"), vec![7; (1 << 20) + 1]).unwrap();
    let args = ["record-activity", "--id", "test", "--evidence", "small.log", "--evidence", "large.bin"];
    assert_eq!(laptop.flow(args).ok().stderr, "");
    let pushed = laptop.flow(["remote", "push", "r1"]).ok().stderr;
    let warning =
        "warning: evidence/large.bin stays here: it is 1048577 bytes long, and git:origin keeps up to 1048576\n";
    assert_eq!(pushed, warning);
    let files = run(laptop.command_in_hub(hub, &["ls-tree", "refs/flow/open/r1"]), "").ok().stdout;
    assert_eq!(files.lines().count(), 1, "{files}");
    let fetched = server.flow(["remote", "fetch", "r1", "--json"]).ok().json();
    assert_eq!(fetched["evidence"], json!(["small.log"]));
    assert_eq!(fetched["warnings"], json!(["git:origin does not have evidence/large.bin"]));
}

#[test]
fn a_run_that_is_open_by_its_copy_and_not_in_the_store_is_asked_about() {
    let team = Team::sharing();
    let Team { laptop, server, hub } = &team;
    laptop.flow(["start", "debug", "--id", "r1"]).ok();
    server.flow(["cancel", "r1", "--reason", "x"]).ok();
    // The laptop began it, and has listed nothing since.
    let resumed = laptop.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!((&resumed["status"], &resumed["as_of"]["reached"]), (&json!("cancelled"), &json!(true)), "{resumed}");
    laptop.flow(["reopen", "r1", "--reason", "y"]).ok();
    server.flow(["cancel", "r1", "--reason", "z"]).ok();
    assert_eq!(laptop.flow(["next", "r1", "--json"]).ok().json()["notes"], json!(["the run is cancelled"]));
    // As a forced push does.
    laptop.flow(["start", "debug", "--id", "r2"]).ok();
    run(laptop.command_in_hub(hub, &["update-ref", "-d", "refs/flow/open/r2"]), "").ok();
    let lost = "git:origin has lost run r2, or the end of it, of which a copy is here";
    for args in [["list", "--json"], ["resume", "--json"], ["attention", "--json"]] {
        let answer = laptop.flow(args).json();
        let told = [&answer["notes"], &answer["reason"]].map(ToString::to_string).concat();
        assert_eq!(told.matches(lost).count(), 1, "{args:?}: {answer}");
    }
    laptop.flow(["verify", "r2"]).exits(65);
    let found = laptop.flow(["doctor", "r2", "--json"]).exits(65).json();
    assert_eq!(found["findings"][0]["code"], "store_lost_run", "{found}");
    laptop.flow(["doctor", "r2", "--repair"]).ok();
    assert_eq!(codes(laptop), [] as [&str; 0]);
    laptop.flow(["doctor", "r2"]).ok();
    assert_eq!(laptop.flow(["list", "--json"]).ok().json()["notes"], json!(null));
}

#[test]
fn of_two_machines_that_begin_one_run_with_a_report_both_record_in_it() {
    let Team { laptop, server, hub } = &Team::sharing();
    let report = json!({ "status": "running" }).to_string();
    let emit = ["emit", "--workflow", "build", "--type", "status_change", "--step", "requirements", "--data", &report];
    let named: Vec<_> = emit.iter().chain(&["--run-id", "r1"]).collect();
    laptop.flow(&named).ok();
    // It comes into the store when the server has seen that it is not there.
    let git = |args: &[&str]| run(laptop.command_in_hub(hub, args), "").ok();
    git(&["update-ref", "refs/kept/r1", "refs/flow/open/r1"]);
    git(&["update-ref", "-d", "refs/flow/open/r1"]);
    let mut command = server.flow_command();
    command.args(&named).args(["--id", "mine", "--json"]);
    let there = hub.path().join("hub.git").display().to_string();
    let meanwhile = format!(
        "case \"$*\" in *\" push \"*) \"$git\" --git-dir {there} update-ref refs/flow/open/r1 refs/kept/r1;; esac"
    );
    let once = format!(
        "if ! [ -e {there}/once ]; then {meanwhile}; fi; case \"$*\" in *\" push \"*) touch {there}/once;; esac"
    );
    let report = run(with_git(server, command, &once), "").ok().json();
    assert_eq!((&report["data"]["runId"], &report["data"]["created"]), (&json!("r1"), &json!(false)), "{report}");
    assert_eq!(ids(server), ["r1"]);
}

#[test]
fn what_lies_beside_the_copies_is_no_run_that_the_store_has_lost() {
    let Team { laptop, server, .. } = &Team::sharing();
    let runs = laptop.path(".flow/shared/runs");
    laptop.flow(["start", "debug", "--id", "r1"]).ok();
    fs::write(runs.join("notes"), "").unwrap();
    fs::create_dir(runs.join("empty")).unwrap();
    let found = laptop.flow(["doctor", "--json"]).json();
    assert!(!found.to_string().contains("store_"), "{found}");
    assert_eq!(laptop.flow(["remote", "status", "--json"]).ok().json()["runs"].as_array().unwrap().len(), 1);
    // A file in the place of a copy hides no other run.
    server.flow(["start", "debug", "--id", "notes"]).ok();
    server.flow(["start", "debug", "--id", "r2"]).ok();
    let listed = laptop.flow(["list", "--json"]).ok().json();
    let notes = listed["notes"].to_string();
    assert!(notes.contains("shared/runs/notes") && !notes.contains("not reached"), "{notes}");
    assert!(ids(laptop).contains(&"r2".to_owned()), "{listed}");
    let codes = codes(laptop);
    assert!(!codes.contains(&"store_not_reached".to_owned()) && codes.contains(&"unreadable".to_owned()), "{codes:?}");
    fs::remove_file(runs.join("notes")).unwrap();
    record(laptop, "notes", "one").ok();
}

/// A rule refuses again what it has refused: to repeat the command cannot help.
#[test]
fn a_store_that_refuses_what_is_sent_is_told_with_its_words() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    server.flow(["start", "build", "--id", "l1", "--local", "--another"]).ok();
    let hook = team.hub().join("hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho 'no runs on Fridays'\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let why = "git:origin refuses the request: [remote rejected] (pre-receive hook declined); no runs on Fridays";
    let record = ["record-activity", "--run-id", "r1", "--id", "one", "--status", "passed"];
    for args in [&["start", "build", "--id", "r2"][..], &record, &["cancel", "r1"]] {
        let refused = laptop.flow(args.iter().chain(&["--json"])).exits(1).error();
        assert_eq!((&refused["code"], &refused["message"]), (&json!("store_refused"), &json!(why)), "{args:?}");
        assert!(!refused["help"].as_str().unwrap().contains("try again"), "{refused}");
    }
    assert_eq!(server.flow(["remote", "push", "l1", "--json"]).exits(1).error()["code"], "store_refused");
    assert!(server.run_dir("l1").exists());
    assert_eq!(server.flow(["remote", "probe", "--json"]).exits(1).error()["code"], "store_broken");
    fs::remove_file(hook).unwrap();
    assert_eq!(ids(server), ["l1", "r1"]);
    server.flow(["remote", "push", "l1"]).ok();
    assert_eq!(log(laptop, "r1").lines().count(), 1);
}

#[test]
fn a_remote_that_was_renamed_is_named_and_not_offered_to_be_accepted() {
    let Team { laptop, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    laptop.git(&["remote", "rename", "origin", "hub"]);
    let why =
        "the runs of this project are shared in git:origin, and git:origin cannot be used: git has no remote origin";
    for args in [&["show", "r1"][..], &["start", "build"]] {
        let refused = laptop.flow(args.iter().chain(&["--json"])).exits(3).error();
        assert_eq!((&refused["code"], &refused["message"]), (&json!("no_remote"), &json!(why)), "{args:?}");
        assert!(refused["help"].as_str().unwrap().starts_with("`git remote -v` lists"), "{refused}");
    }
    insta::assert_snapshot!(laptop.flow(["list"]).stderr, @r"
    warning: the runs of this project are shared in git:origin, and git:origin cannot be used: git has no remote origin; `git remote -v` lists the remotes of this repository; correct that, or `store` in .flow/config.yaml
    no runs here
    ");
    let checked = found(laptop)[0].to_string();
    assert!(checked.contains("git has no remote origin") && !checked.contains("accepts it"), "{checked}");
    assert_eq!(laptop.flow(["hud"]).ok().stdout, "git:origin cannot be used\n");
    let page = Server::of(laptop).get("/").body;
    let unseen = "The shared runs in git:origin are not seen here: git:origin cannot be used: git has no remote origin; \
                  <code>git remote -v</code> lists";
    assert!(page.contains(unseen) && !page.contains("remote use"), "{page}");
    laptop.git(&["remote", "rename", "hub", "origin"]);
    record(laptop, "r1", "one").ok();
}

#[test]
fn a_store_that_is_named_by_a_relative_path_is_accepted_for_all_worktrees() {
    let team = Team::new();
    let Team { laptop, .. } = &team;
    let (top, hub) = (laptop.root(), team.hub());
    std::os::unix::fs::symlink(hub.parent().unwrap(), top.parent().unwrap().join("hub")).unwrap();
    laptop.git(&["remote", "set-url", "origin", "../hub/hub.git"]);
    accept(laptop);
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    laptop.git(&["add", "-A"]);
    laptop.git(&["commit", "-q", "-m", "share"]);
    laptop.git(&["worktree", "add", "-q", "../beside"]);
    let mut command = laptop.flow_command();
    command.current_dir(laptop.path("../beside")).args(["list", "--json"]);
    let listed = run(command, "").ok().json();
    assert_eq!((listed["runs"].as_array().unwrap().len(), &listed["notes"]), (1, &json!(null)), "{listed}");
}

#[test]
fn the_only_copy_of_a_run_is_not_put_aside_for_another_store_without_a_word() {
    let Team { laptop, hub, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    let other = hub.path().join("other.git");
    laptop.git(&["init", "-q", "--bare", other.to_str().unwrap()]);
    laptop.git(&["remote", "add", "other", other.to_str().unwrap()]);
    run(laptop.command_in_hub(hub, &["update-ref", "-d", "refs/flow/open/r1"]), "").ok();
    let refused = laptop.flow(["remote", "use", "git:other", "--json"]).exits(3).error();
    assert_eq!(refused["code"], "run_lost");
    assert!(refused["help"].as_str().unwrap().starts_with("`flow remote push r1` puts it there again"), "{refused}");
    assert!(laptop.path(".flow/shared/runs/r1/events.jsonl").exists());
    // Another address of the same name: the former one is not known any longer.
    laptop.git(&["remote", "set-url", "origin", other.to_str().unwrap()]);
    let used = laptop.flow(["remote", "use", "git:origin"]).ok().stderr;
    let aside = fs::read_dir(laptop.path(".flow/.quarantine")).unwrap().next().unwrap().unwrap().path();
    insta::assert_snapshot!(used.replace(aside.to_str().unwrap(), "ASIDE"), @"warning: the copies of another store are in ASIDE now (r1); where one is the only copy of its run, move it from runs/RUN there to .flow/runs/RUN, and `flow remote push RUN` shares it");
    // As the warning says.
    fs::rename(aside.join("runs/r1"), laptop.run_dir("r1")).unwrap();
    laptop.flow(["remote", "push", "r1"]).ok();
    record(laptop, "r1", "one").ok();
}

#[test]
fn a_pulled_configuration_that_names_another_store_does_not_move_copies_without_a_word() {
    let Team { laptop, hub, .. } = &Team::sharing();
    let other = hub.path().join("other.git");
    laptop.git(&["init", "-q", "--bare", other.to_str().unwrap()]);
    laptop.git(&["remote", "add", "other", other.to_str().unwrap()]);
    laptop.flow(["remote", "use", "git:other"]).ok();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    let config = fs::read_to_string(laptop.path(".flow/config.yaml")).unwrap();
    fs::write(laptop.path(".flow/config.yaml"), config.replace("git:other", "git:origin")).unwrap();
    let told = laptop.flow(["list"]).ok().stderr;
    assert!(told.contains("the copies of another store are in ") && told.contains("(r1)"), "{told}");
    assert_eq!(laptop.flow(["list"]).ok().stderr, "no runs here\n");
}

#[test]
fn an_issue_that_was_edited_by_hand_is_taken_and_the_one_before_is_free() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--issue", "17", "--id", "r1"]).ok();
    let copy = laptop.path(".flow/shared/runs/r1/run.yaml");
    let edit = |from: &str, to: &str| {
        let text = fs::read_to_string(&copy).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&copy, text.replace(from, to)).unwrap();
    };
    edit("issue: 17", "issue: 19");
    record(laptop, "r1", "one").ok();
    server.flow(["start", "build", "--issue", "19", "--id", "r2"]).exits(1);
    server.flow(["start", "build", "--issue", "17", "--id", "r2"]).ok();
    for machine in [laptop, server] {
        assert_eq!(codes(machine), [] as [&str; 0]);
    }
    // What a person wrote counts, whatever other runs are about.
    edit("issue: 19", "issue: 17");
    record(laptop, "r1", "two").ok();
    server.flow(["start", "build", "--issue", "19", "--id", "r3"]).ok();
}

#[test]
fn what_a_run_that_is_over_was_about_is_free_whatever_its_mark_says() {
    let Team { laptop, server, hub } = &Team::sharing();
    laptop.flow(["start", "build", "--issue", "17", "--id", "r1"]).ok();
    let git = |args: &[&str]| run(laptop.command_in_hub(hub, args), "").ok().stdout;
    let mark = git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/flow/work"]);
    let (name, commit) = mark.trim().split_once(' ').unwrap();
    laptop.flow(["cancel", "r1"]).ok();
    // As an earlier version left it.
    git(&["update-ref", name, commit]);
    server.flow(["start", "build", "--issue", "17", "--id", "r2"]).ok();
    laptop.flow(["start", "build", "--issue", "17"]).exits(1);
    assert_eq!(codes(server), [] as [&str; 0]);
}

#[test]
fn a_reference_in_the_way_is_told_at_once_with_the_words_of_the_server() {
    let Team { laptop, .. } = &Team::sharing();
    laptop.git(&["push", "-q", "origin", "HEAD:refs/heads/flow"]);
    let refused = laptop.flow(["remote", "use", "git:origin#refs/heads/flow/", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "store_broken", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("'refs/heads/flow' exists; cannot create"), "{refused}");
}

#[test]
fn a_login_in_the_name_of_a_store_is_not_shown() {
    let Team { laptop, .. } = &Team::new();
    name_store(laptop, "git:https://ada:hunter2@example.org/x");
    for args in [
        &["list"][..],
        &["start", "build"],
        &["doctor"],
        &["hud"],
        &["remote", "status"],
        &["remote", "status", "--json"],
    ] {
        let answer = laptop.flow(args);
        assert!(!format!("{answer:?}").contains("hunter2"), "{args:?}: {answer:?}");
    }
    let used = laptop.flow(["remote", "use", "s3://KEY:hunter2@bucket/p"]).exits(2).stderr;
    insta::assert_snapshot!(used, @r"
    error: `s3://bucket/p` is not a store: it has a login, and credentials come from the environment or a profile
      help: a git remote is named `git:origin`, and a bucket `s3://bucket/prefix`
    ");
}

#[test]
fn a_store_that_cannot_be_used_is_not_offered_to_be_accepted_by_its_status() {
    let Team { laptop, .. } = &Team::new();
    for named in ["foo", "git:nosuch", "s3://bucket/../x", "''"] {
        name_store(laptop, named);
        let status = laptop.flow(["remote", "status"]).ok();
        assert!(!status.stdout.contains("remote use"), "{status:?}");
        assert!(status.stdout.contains("not seen: it cannot be used"), "{status:?}");
        assert!(status.stderr.contains("correct that, or `store` in .flow/config.yaml"), "{status:?}");
    }
    let listed = laptop.flow(["list"]).ok().stderr;
    insta::assert_snapshot!(listed, @r"
    warning: the runs of this project are shared in a store without a name, and the name of the store is empty; a git remote is named `git:origin`, and a bucket `s3://bucket/prefix`; correct that, or `store` in .flow/config.yaml
    no runs here
    ");
}

#[test]
fn readers_without_a_run_say_that_the_store_was_not_reached_and_not_that_no_run_is_open() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "debug", "--id", "r1"]).ok();
    fs::remove_dir_all(server.path(".flow/shared")).unwrap();
    let readers: [&[&str]; 8] = [
        &["show"],
        &["log"],
        &["next"],
        &["wait"],
        &["evidence"],
        &["report"],
        &["verify"],
        &["export", "--format", "mermaid"],
    ];
    team.without_hub(|| {
        for args in readers {
            let refused = server.flow(args.iter().chain(&["--json"])).exits(74).error();
            assert_eq!(refused["code"], "store_not_reached", "{args:?}");
        }
        let listed = server.flow(["list"]).ok().stderr;
        assert!(listed.contains("shared runs are not shown, since it was never reached from here"), "{listed}");
    });
    server.flow(["show"]).ok();
    let other = &Team::new().server;
    name_store(other, "git:origin");
    for args in readers {
        let refused = other.flow(args.iter().chain(&["--json"])).exits(1).error();
        assert_eq!(refused["code"], "store_not_accepted", "{args:?}");
    }
}

#[test]
fn faces_that_go_on_showing_say_that_the_store_is_away_and_as_of_when_a_run_is_shown() {
    let team = Team::sharing();
    let laptop = &team.laptop;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    record(laptop, "r1", "one").ok();
    laptop.flow(["list"]).ok();
    let server = Server::of(laptop);
    let get = |server: &Server, path: &str| serde_json::from_str::<serde_json::Value>(&server.get(path).body).unwrap();
    let project = laptop.root().file_name().unwrap().to_str().unwrap().to_owned();
    let run = get(&server, &format!("/api/v1/{project}/runs/r1"));
    assert_eq!((&run["store"], &run["as_of"]["seq"]), (&json!("git:origin"), &json!(2)), "{run}");
    record(laptop, "r1", "two").ok();
    drop(server);
    team.without_hub(|| {
        laptop.flow(["list"]).ok();
        let server = Server::of(laptop);
        let away = "git:origin was not reached when it was asked last; shared runs are shown as they were seen last";
        assert!(server.get("/").body.contains(away));
        let run = get(&server, &format!("/api/v1/{project}/runs/r1"));
        assert_eq!((&run["as_of"]["seq"], &run["as_of"]["reached"]), (&json!(3), &json!(false)), "{run}");
        assert!(run["notes"].to_string().contains(away), "{run}");
        assert!(laptop.flow(["watch", "--once"]).ok().stdout.contains(away));
    });
}

#[test]
fn a_push_of_a_run_about_an_issue_that_is_taken_proposes_what_it_has() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "debug", "--issue", "5", "--local", "--id", "l"]).ok();
    server.flow(["start", "debug", "--issue", "5", "--id", "s"]).ok();
    let refused = laptop.flow(["remote", "push", "l", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "run_open", "{refused}");
    let help = "`flow resume s` goes on with it; end one of both, and try again, or have two with --another";
    assert_eq!(refused["help"], help);
}

#[test]
fn the_log_of_a_shared_run_says_that_its_store_was_not_reached() {
    let team = Team::sharing();
    let laptop = &team.laptop;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    assert_eq!(laptop.flow(["log", "r1"]).ok().stderr, "");
    fs::rename(team.hub(), team.hub().with_extension("gone")).unwrap();
    let told = laptop.flow(["log", "r1"]).ok().stderr;
    insta::assert_snapshot!(told.replace(team.hub().to_str().unwrap(), "HUB"), @"warning: git:origin was not reached: 'HUB' does not appear to be a git repository; r1 is shown as of event 1 (2026-05-20T14:30:10.000Z)");
}

#[test]
fn every_face_says_that_a_configuration_which_cannot_be_read_may_name_a_store() {
    let Team { laptop, .. } = &Team::sharing();
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    fs::write(laptop.path(".flow/config.yaml"), "<<<<<<< ours\nstore: git:origin\n=======\n>>>>>>> theirs\n").unwrap();
    let seen = laptop.flow(["hud"]).ok().stdout;
    assert_eq!(seen, "a store that .flow/config.yaml may name cannot be used\n");
    let page = Server::of(laptop).get("/").body;
    assert!(page.contains("The shared runs in a store that .flow/config.yaml may name are not seen here: "), "{page}");
}

#[test]
fn an_interview_whose_document_is_on_another_machine_ends_only_if_that_is_confirmed() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "start-issue", "--issue", "42", "--id", "r1"]).ok();
    laptop.flow(["interview", "start", "docs/p.md", "--run-id", "r1"]).ok();
    server.flow(["list"]).ok();
    let before = log(server, "r1");
    let refused = server.flow(["interview", "abandon", "docs/p.md", "--json"]).exits(4).error();
    let help = "confirm with --yes; the document is not in this checkout, and if it is in another one, that one still has the interview";
    assert_eq!((&refused["code"], &refused["help"]), (&json!("not_confirmed"), &json!(help)));
    assert_eq!(log(server, "r1"), before);
    laptop.flow(["interview", "answer", "docs/p.md", "--question", "1", "Tasks."]).ok();
    server.flow(["list"]).ok();
    server.flow(["interview", "abandon", "docs/p.md", "--yes"]).ok();
    let last = server.flow(["show", "r1", "--json"]).ok().json()["activities"].as_array().unwrap().last().cloned();
    assert_eq!(last.unwrap()["status"], "failed");
}

#[test]
fn events_that_a_store_lost_when_it_was_put_back_are_told_until_a_person_has_moved_them_away() {
    let team = Team::sharing();
    let Team { laptop, server, hub } = &team;
    laptop.flow(["start", "build", "--id", "r1", "--goal", "g"]).ok();
    record(laptop, "r1", "one").ok();
    record(laptop, "r1", "two").ok();
    run(laptop.command_in_hub(hub, &["update-ref", "refs/flow/open/r1", "refs/flow/open/r1~2"]), "").ok();
    record(server, "r1", "other").ok();
    laptop.flow(["list"]).ok();
    let aside = laptop.path(".flow/shared/runs/r1/.quarantine");
    let file = fs::read_dir(&aside).unwrap().map(|entry| entry.unwrap().path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "jsonl")).unwrap();
    let why = format!(
        "git:origin was put back to an older state and has another history of run r1: it lacks 2 acknowledged events (records one, two), kept in {}",
        file.display()
    );
    let help = "look whether what they say still counts, record that again, and move the file elsewhere";
    let resumed = laptop.flow(["resume", "r1", "--json"]).exits(4).json();
    assert_eq!((&resumed["verdict"], &resumed["reason"]), (&json!("needs_human"), &json!(why)), "{resumed}");
    assert_eq!(resumed["next"]["alternatives"], json!([]));
    for args in [&["resume", "r1"][..], &["show", "r1"], &["verify", "r1"], &["remote", "status"]] {
        let answer = laptop.flow(args);
        assert!((answer.stdout.clone() + &answer.stderr).contains(help), "{args:?}: {answer:?}");
    }
    for args in [&["attention"][..], &["hud"], &["list", "--attention"], &["watch", "--once"]] {
        let told = laptop.flow(args).stdout;
        assert!(told.contains("put back") || told.contains("needs"), "{args:?}: {told}");
    }
    assert!(found(laptop).contains(&json!(["store_lost_events", format!("{why}; {help}")])), "{:?}", found(laptop));
    // A copy that has lost lines itself says nothing of the store.
    let copy = laptop.path(".flow/shared/runs/r1/events.jsonl");
    let log = fs::read_to_string(&copy).unwrap();
    for kept in [log.lines().skip(1).collect::<Vec<_>>(), log.lines().take(1).collect()] {
        fs::write(&copy, kept.join("\n") + "\n").unwrap();
        let proved = laptop.flow(["verify", "r1", "--json"]).stdout;
        assert!(!proved.contains("put back"), "{kept:?}: {proved}");
        fs::write(&copy, &log).unwrap();
    }
    assert!(codes(laptop).contains(&"store_lost_events".to_owned()));
    // The other machine had none of them.
    server.flow(["resume", "r1"]).ok();
    record(laptop, "r1", "two").ok();
    fs::rename(&file, laptop.path("looked-at.jsonl")).unwrap();
    laptop.flow(["resume", "r1"]).ok();
    assert!(!codes(laptop).contains(&"store_lost_events".to_owned()));
}

#[test]
fn a_reader_waits_once_for_a_store_that_does_not_answer() {
    let team = Team::sharing();
    let Team { laptop, .. } = &team;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    let asked = laptop.path("../asked");
    let lines = format!("case \"$*\" in *\" fetch \"*) echo asked >> {}; exit 128;; esac", asked.display());
    for args in [
        &["show", "nosuch"][..],
        &["show", "r1"],
        &["log", "nosuch"],
        &["report", "nosuch"],
        &["evidence", "nosuch"],
        &["next", "nosuch"],
        &["resume", "nosuch"],
        &["export", "nosuch", "--format", "gantt"],
        &["fork", "r1"],
    ] {
        let _ = fs::remove_file(&asked);
        let mut command = laptop.flow_command();
        command.args(args);
        let answer = run(with_git(laptop, command, &lines), "");
        let times = fs::read_to_string(&asked).unwrap_or_default().lines().count();
        assert_eq!(times, 1, "{args:?}: {answer:?}");
    }
}

#[test]
fn what_a_client_of_mcp_is_told_of_a_store_names_no_directory_and_no_option_that_it_lacks() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "build", "--id", "r1"]).ok();
    let record = call("flow_record", json!({ "run_id": "r1", "id": "one", "status": "passed" }));
    let shown = call("flow_show", json!({ "run_id": "r1" }));
    let told = team.without_hub(|| Client::of(laptop).ask(&[record, shown]));
    let told = format!("{told:?}");
    assert!(told.contains("git:origin was not reached") && told.contains("FLOW_LOCK_TIMEOUT"), "{told}");
    fs::write(server.path(".flow/config.yaml"), "store: git:nosuch\n").unwrap();
    name_store(server, "git:other");
    server.git(&["remote", "add", "other", team.hub().to_str().unwrap()]);
    let unseen = format!("{:?}", Client::of(server).ask(&[call("flow_list", json!({}))]));
    assert!(unseen.contains("which was not accepted"), "{unseen}");
    for told in [told, unseen] {
        assert!(!told.contains("lock_timeout") && !told.contains(team.hub().to_str().unwrap()), "{told}");
    }
}
