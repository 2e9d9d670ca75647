//! Runs that are over leave the project: whole, into one place, and their ids are never given again.

use std::fs;
use std::sync::Arc;

use flowrun::disk::{Os, Trust};
use flowrun::model::RunId;
use flowrun::store::{Project, StoreError, StoredRun, WriteRequest};
use serde_json::{Value, json};

use crate::support::scene::Files;
use crate::support::shaky::{Ill, Shaky};
use crate::support::{
    Answer, Lack, Person, Sandbox, alone, answered, has_terminals, run, scaled, skipped, spawned, try_all,
};

/// One run that is open, and two that are over, `r2` before `r3`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    for run in ["r2", "r3"] {
        sandbox.flow(["start", "debug", "--another", "--id", run]).ok();
        let made = ["exec", "--run-id", run, "--id", "made", "--", "echo", "made"];
        sandbox.flow(made).ok();
        sandbox.flow(["cancel", run, "--reason", "not needed"]).ok();
    }
    sandbox
}

fn prune(sandbox: &Sandbox, options: &[&str]) -> Answer {
    sandbox.flow(["prune", "--older-than", "0d"].iter().chain(options))
}

/// Reads what was moved to `archive`, as users do.
fn in_archive(sandbox: &Sandbox, args: &[&str]) -> Answer {
    let mut command = sandbox.flow_command();
    command.env("FLOW_DIR", sandbox.path("archive")).args(args);
    run(command, "")
}

/// The runs of a report, and why the others stay.
fn told(report: &Value) -> (Vec<String>, Vec<String>) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let pruned = report["pruned"].as_array().unwrap().iter().map(|run| text(&run["run_id"])).collect();
    let kept = report["kept"].as_array().unwrap().iter();
    (pruned, kept.map(|run| format!("{}: {}", text(&run["run_id"]), text(&run["why"]))).collect())
}

/// A text without the sizes in it.
fn without_sizes(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    for at in 1..words.len() {
        if words[at].starts_with("KiB") {
            words[at - 1] = "N";
        }
    }
    words.join(" ")
}

#[test]
fn runs_that_are_over_are_moved_and_can_be_read_where_they_are() {
    let sandbox = sandbox();
    let before = sandbox.flow(["show", "r2", "--json"]).ok().json();
    let log = sandbox.read("r2", "events.jsonl");
    let answer = prune(&sandbox, &["--to", "archive"]).ok();
    insta::assert_snapshot!(without_sizes(&answer.stdout), @"
    r2  cancelled  2026-05-20  N KiB
    r3  cancelled  2026-05-20  N KiB
    2 runs, N KiB, moved to archive; 1 other stays
    ");
    let warning = "archive is in the checkout: unless git ignores it, what is moved there makes evidence stale";
    assert_eq!(answer.stderr, format!("warning: {warning}\n"));
    assert_eq!(sandbox.runs(), ["r1"]);
    let shown = in_archive(&sandbox, &["show", "r2", "--json"]).ok().json();
    assert_eq!(shown["state"], before["state"]);
    assert_eq!(shown["activities"][1]["exit_code"], 0);
    assert_eq!(fs::read_to_string(sandbox.path("archive/runs/r2/events.jsonl")).unwrap(), log);
    assert_eq!(fs::read_to_string(sandbox.path("archive/runs/r2/evidence/002-made.log")).unwrap(), "made\n");
    for run in ["r2", "r3"] {
        in_archive(&sandbox, &["log", run]).ok();
        in_archive(&sandbox, &["verify", run]).ok();
    }
    in_archive(&sandbox, &["doctor", "--strict"]).ok();
    sandbox.flow(["doctor", "--strict"]).ok();
    let again = prune(&sandbox, &["--to", "archive", "--json"]).ok().json();
    assert_eq!(told(&again), (vec![], vec!["r1: it is open".to_owned()]));
    // It goes on as any other run, where it is.
    in_archive(&sandbox, &["reopen", "r2", "--reason", "more"]).ok();
}

#[test]
fn where_runs_were_moved_is_named_as_the_caller_names_it() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.path("sub")).unwrap();
    let mut command = sandbox.flow_command();
    command.current_dir(sandbox.path("sub")).args(["prune", "--older-than", "0d", "--to", "old"]);
    let answer = run(command, "").ok();
    assert!(answer.stdout.contains("moved to old;"), "{}", answer.stdout);
    assert!(answer.stderr.starts_with("warning: old is in the checkout"), "{}", answer.stderr);
    assert!(sandbox.path("sub/old/runs/r2").is_dir());
}

#[test]
fn runs_are_removed_only_after_they_were_shown_and_a_person_agreed() {
    let sandbox = sandbox();
    let shown = prune(&sandbox, &[]).exits(2);
    insta::assert_snapshot!(without_sizes(&shown.stdout), @"
    r2  cancelled  2026-05-20  N KiB
    r3  cancelled  2026-05-20  N KiB
    2 runs, N KiB, to be removed; 1 other stays
    ");
    insta::assert_snapshot!(shown.stderr, @"nothing is removed; --yes removes these runs");
    let report = prune(&sandbox, &["--json"]).exits(2).json();
    assert_eq!((&report["dry_run"], told(&report).0), (&json!(true), vec!["r2".to_owned(), "r3".to_owned()]));
    prune(&sandbox, &["--dry-run", "--yes"]).ok();
    assert_eq!(sandbox.runs(), ["r1", "r2", "r3"]);
    if has_terminals("runs_are_removed_only_after_they_were_shown_and_a_person_agreed") {
        for (answer, left) in [("no\n", 3), ("yes\n", 1)] {
            let mut command = sandbox.flow_command();
            command.args(["prune", "--older-than", "0d"]);
            let mut person = Person::before(&command);
            person.shows("2 runs").shows("Remove these runs for good? (y/N) ").types(answer);
            person.ended();
            assert_eq!(sandbox.runs().len(), left, "{answer}");
        }
    } else {
        prune(&sandbox, &["--yes"]).ok();
    }
    assert_eq!(sandbox.find(".flow", ".prune.tmp"), None);
    sandbox.flow(["doctor", "--strict"]).ok();
    let error = sandbox.flow(["show", "r2", "--json"]).exits(3).error();
    assert_eq!(error["message"], "run r2 was pruned on 2026-05-20 and removed");
}

#[test]
fn a_run_that_only_a_hand_edit_ended_stays_until_its_log_says_so() {
    let sandbox = sandbox();
    sandbox.edit("r1", "status: active", "status: cancelled");
    let (pruned, kept) = told(&prune(&sandbox, &["--yes", "--json"]).ok().json());
    assert_eq!(pruned, ["r2", "r3"]);
    assert_eq!(
        kept,
        ["r1: only an edit of run.yaml by hand ended it; the next command that writes the run records that"]
    );
    sandbox.flow(["cancel", "r1"]).ok();
    assert_eq!(told(&prune(&sandbox, &["--yes", "--json"]).ok().json()).0, ["r1"]);
}

/// How many lines say that a run was pruned.
fn lines_about(sandbox: &Sandbox, run: &str) -> usize {
    let text = fs::read_to_string(sandbox.path(".flow/pruned.jsonl")).unwrap();
    text.matches(&format!("\"run_id\":\"{run}\"")).count()
}

#[test]
fn what_is_young_open_kept_damaged_or_held_stays() {
    let sandbox = sandbox();
    assert_eq!(told(&sandbox.flow(["prune", "--yes", "--json"]).ok().json()).0, Vec::<String>::new());
    let kept = told(&prune(&sandbox, &["--keep", "1", "--json", "--dry-run"]).ok().json());
    assert_eq!(kept.0, ["r2"]);
    assert_eq!(kept.1, ["r3: it is among those that ended last", "r1: it is open"]);
    for id in ["r4", "r5"] {
        let mut command = sandbox.flow_command();
        command.args(["start", "debug", "--another", "--id", id, "--session", "s1"]);
        command.env("FLOW_HOLDER_PID", std::process::id().to_string());
        run(command, "").ok();
    }
    sandbox.flow(["cancel", "r4", "--session", "s1"]).ok();
    // Ended by hand, while a session works in it.
    sandbox.edit("r5", "status: active", "status: cancelled");
    let log = sandbox.read("r2", "events.jsonl");
    fs::write(sandbox.run_dir("r2").join("events.jsonl"), log.replacen("run_started", "run_stopped", 1)).unwrap();
    fs::write(sandbox.run_dir("r4").join("run.yaml"), "state: [").unwrap();
    let (pruned, kept) = told(&prune(&sandbox, &["--yes", "--json"]).ok().json());
    assert_eq!(pruned, ["r3"]);
    let whys =
        ["r5: session s1 holds it and is alive", "r2: it is damaged: ", "r1: it is open", "r4: it cannot be read: "];
    assert_eq!(kept.len(), whys.len(), "{kept:?}");
    for why in whys {
        assert!(kept.iter().any(|kept| kept.starts_with(why)), "{why}: {kept:?}");
    }
    assert_eq!(["r1", "r2", "r3", "r4", "r5"].map(|run| lines_about(&sandbox, run)), [0, 0, 1, 0, 0]);
    let (stays, stderr) = (prune(&sandbox, &["--yes"]).ok().stdout, prune(&sandbox, &["--yes"]).ok().stderr);
    assert!(stays.contains("stays  r4: it cannot be read: ") && stderr.is_empty(), "{stays}{stderr}");
}

#[test]
fn a_late_report_is_refused_with_where_the_run_went_and_its_id_is_never_given_again() {
    let sandbox = sandbox();
    prune(&sandbox, &["--to", "archive"]).ok();
    let archive = sandbox.path("archive").display().to_string();
    let emit =
        ["emit", "--run-id", "r2", "--workflow", "build", "--type", "btw_update", "--data", r#"{"message":"more"}"#];
    let lines: [&[&str]; 11] = [
        &["record-activity", "--run-id", "r2", "--id", "late"],
        &emit,
        &["start", "debug", "--id", "r2"],
        &["start", "debug", "--id", "r2", "--another", "--local"],
        &["exec", "--run-id", "r2", "--", "touch", "ran"],
        &["set", "r2", "--pr", "7"],
        &["block", "r2", "--reason", "why?"],
        &["reopen", "r2", "--reason", "more"],
        &["advance", "r2"],
        &["show", "r2"],
        &["resume", "r2", "--claim", "--session", "s1"],
    ];
    for line in lines {
        let answer = sandbox.flow(line.iter().chain(&["--json"]));
        // What stands behind the dashes is the command's.
        let error = if line[0] == "exec" { answer.exits(3).stderr } else { answer.exits(3).error().to_string() };
        assert!(error.contains("run r2 was pruned on 2026-05-20, and is in "), "{line:?}: {error}");
        assert!(error.contains(&archive), "{line:?}: {error}");
    }
    assert!(!sandbox.path("ran").exists());
    assert_eq!(sandbox.runs(), ["r1"]);
    let help = sandbox.flow(["show", "r2", "--json"]).exits(3).error()["help"].to_string();
    assert!(help.contains(&format!("FLOW_DIR={archive} flow show r2")), "{help}");
    // A name that begins another run's is not that run.
    sandbox.flow(["start", "debug", "--another", "--id", "r2-later"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r2", "--id", "late"]).exits(3);
    // An id that flow makes is another one.
    fs::rename(sandbox.run_dir("r1"), sandbox.path("r1")).unwrap();
    let clock = sandbox.now();
    let made = sandbox.flow(["start", "debug", "--slug", "x", "--another"]).ok().line().to_owned();
    sandbox.flow(["cancel", &made]).ok();
    prune(&sandbox, &["--yes"]).ok();
    sandbox.put_clock(clock);
    let second = sandbox.flow(["start", "debug", "--slug", "x", "--another"]).ok().line().to_owned();
    assert_eq!(second, format!("{made}-2"));
    // The name by which people knew it names it still.
    let error = sandbox.flow(["show", "x", "--json"]).exits(3).error();
    assert_eq!(error["code"], "run_pruned");
    assert_eq!(error["help"], "`flow list` shows the runs that are here; another run needs another id");
    assert!(error["message"].as_str().unwrap().starts_with(&format!("run {made} was pruned on ")), "{error}");
}

#[test]
fn git_shows_deletions_and_what_it_brings_back_counts_as_not_pruned() {
    let sandbox = sandbox();
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "runs"]);
    prune(&sandbox, &["--yes"]).ok();
    let mut git = sandbox.command("git");
    git.args(["status", "--porcelain", "--no-renames"]);
    let status = run(git, "").ok().stdout;
    assert!(status.contains(" D .flow/runs/r2/run.yaml") && status.contains("?? .flow/pruned.jsonl"), "{status}");
    assert!(!status.contains(".prune.tmp"), "{status}");
    sandbox.flow(["doctor", "--strict"]).ok();
    let resumed = sandbox.flow(["resume", "--json"]).ok().json();
    assert_eq!(resumed["run_id"], "r1");
    assert_eq!(sandbox.flow(["list", "--json"]).ok().json()["unreadable"], json!([]));
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "pruned"]);
    sandbox.flow(["doctor", "--strict"]).ok();
    // A branch from before brings the runs back.
    sandbox.git(&["switch", "-q", "-c", "old", "HEAD~1"]);
    sandbox.flow(["show", "r2"]).ok();
    sandbox.flow(["verify", "r2"]).ok();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.flow(["record-activity", "--run-id", "r2", "--id", "late"]).exits(3);
    sandbox.git(&["checkout", "-q", "HEAD~1", "--", ".flow/runs/r2"]);
    sandbox.flow(["show", "r2"]).ok();
    let (pruned, _) = told(&prune(&sandbox, &["--to", "archive", "--json"]).ok().json());
    assert_eq!(pruned, ["r2"]);
    sandbox.flow(["doctor", "--strict"]).ok();
    let error = sandbox.flow(["show", "r2", "--json"]).exits(3).error()["message"].to_string();
    assert!(error.contains("archive now"), "{error}");
}

#[test]
fn branches_that_prune_are_merged_line_by_line() {
    let sandbox = sandbox();
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "runs"]);
    sandbox.git(&["branch", "other"]);
    prune(&sandbox, &["--keep", "1", "--yes"]).ok();
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "pruned r2"]);
    sandbox.git(&["switch", "-q", "other"]);
    sandbox.flow(["reopen", "r2", "--reason", "more"]).ok();
    prune(&sandbox, &["--yes"]).ok();
    sandbox.git(&["checkout", "-q", "--", ".flow/runs/r2"]);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "pruned r3"]);
    sandbox.git(&["merge", "-q", "-m", "both", "main"]);
    for run in ["r2", "r3"] {
        let error = sandbox.flow(["start", "debug", "--id", run, "--json"]).exits(3).error();
        assert_eq!(error["code"], "run_pruned");
        // git leaves the lock of the run, which it ignores.
        sandbox.flow(["record-activity", "--run-id", run, "--id", "late"]).exits(3);
        sandbox.flow(["verify", run]).exits(3);
    }
    assert!(sandbox.run_dir("r2").join(".lock").exists());
    let report = sandbox.flow(["doctor", "--strict", "--json"]).ok().json();
    assert_eq!(report["findings"], json!([]));
}

#[test]
fn what_a_killed_prune_left_is_told_by_the_doctor_and_goes_with_the_next_one() {
    let sandbox = sandbox();
    let aside = sandbox.path(".flow/.prune.tmp");
    fs::create_dir(&aside).unwrap();
    fs::rename(sandbox.run_dir("r2"), aside.join("r2")).unwrap();
    let report = sandbox.flow(["doctor", "--json"]).ok().json();
    let codes: Vec<_> = report["findings"].as_array().unwrap().iter().map(|one| one["code"].clone()).collect();
    assert_eq!(codes, [json!("leftover_file")]);
    sandbox.flow(["doctor", "--repair"]).ok();
    assert!(aside.exists());
    // Also if there is nothing else to do.
    sandbox.flow(["prune", "--yes"]).ok();
    assert!(!aside.exists());
    sandbox.flow(["doctor", "--strict"]).ok();
}

#[test]
fn a_directory_that_cannot_get_runs_is_refused_and_nothing_is_made_there() {
    let sandbox = sandbox();
    for inside in [".flow", ".flow/old", ".flow/runs"] {
        let error = prune(&sandbox, &["--to", inside, "--json"]).exits(2).error();
        assert!(error["message"].to_string().contains("inside of the .flow"), "{error}");
    }
    for inside in [".git", ".git/old", ".git/refs/heads", ".GIT/old"] {
        let told = prune(&sandbox, &["--to", inside]).exits(2).stderr;
        assert!(told.contains("is inside of .git") || inside == ".GIT/old", "{told}");
    }
    prune(&sandbox, &["--to", "no/such/place"]).exits(2);
    let refused = prune(&sandbox, &["--to", "one\ntwo"]).exits(2).stderr;
    assert!(refused.contains(r"--to: one\ntwo has a control character in its name"), "{refused}");
    assert!(!sandbox.path("one\ntwo").exists());
    fs::create_dir(sandbox.path("theirs")).unwrap();
    fs::write(sandbox.path("theirs/notes"), "mine").unwrap();
    let error = prune(&sandbox, &["--to", "theirs", "--json"]).exits(77).error();
    assert_eq!(error["code"], "foreign_flow_directory");
    fs::write(sandbox.path("file"), "mine").unwrap();
    for options in [&["--to", "file"][..], &["--to", "file", "--dry-run"]] {
        prune(&sandbox, options).exits(2);
    }
    prune(&sandbox, &["--older-than", "old"]).exits(2);
    assert_eq!(sandbox.runs(), ["r1", "r2", "r3"]);
    assert_eq!(fs::read_dir(sandbox.path("theirs")).unwrap().count(), 1);
    assert!(!sandbox.path(".flow/pruned.jsonl").exists());
    // One with a run of the same name keeps it, and this one stays.
    prune(&sandbox, &["--keep", "1", "--to", "archive"]).ok();
    let copied = |from: &str, to: &str| {
        let mut command = sandbox.command("cp");
        command.args(["-r", from, to]);
        run(command, "").ok();
    };
    copied("archive/runs/r2", "archive/runs/r3");
    let (pruned, kept) = told(&prune(&sandbox, &["--to", "archive", "--json"]).ok().json());
    assert_eq!((pruned, kept.last().unwrap().as_str()), (vec![], "r3: archive has another run of this id"));
    assert_eq!(lines_about(&sandbox, "r3"), 0);
}

#[test]
fn another_file_system_is_refused_before_anything_is_made_there() {
    use std::os::unix::fs::MetadataExt as _;
    let sandbox = sandbox();
    let device = |path: &std::path::Path| fs::metadata(path).unwrap().dev();
    let places = [std::env::temp_dir(), "/dev/shm".into(), "/var/tmp".into(), "/run".into()];
    let here = device(&sandbox.root());
    let Some(other) =
        places.into_iter().find(|place| place.is_dir() && device(place) != here && tempfile::tempdir_in(place).is_ok())
    else {
        let lack = Lack::of("mount", "all directories for temporary files are on one file system");
        return skipped("another_file_system_is_refused_before_anything_is_made_there", &lack);
    };
    let other = tempfile::tempdir_in(other).unwrap();
    let to = other.path().join("archive");
    let error = prune(&sandbox, &["--to", to.to_str().unwrap(), "--json"]).exits(1).error();
    assert_eq!(error["code"], "other_file_system");
    assert!(!to.exists());
    assert_eq!(sandbox.runs(), ["r1", "r2", "r3"]);
}

/// Each run is in one place, whole; and once it left, the note says so.
#[track_caller]
fn assert_in_one_place(sandbox: &Sandbox, moved: bool) {
    let notes = fs::read_to_string(sandbox.path(".flow/pruned.jsonl")).unwrap_or_default();
    for run in ["r2", "r3"] {
        let here = sandbox.run_dir(run).exists();
        let there = sandbox.path("archive/runs").join(run).exists();
        assert!(!(here && there), "{run} is in two places");
        assert!(here || there || !moved, "{run} is nowhere");
        if here {
            sandbox.inside(["verify", run]).ok();
        } else {
            assert!(notes.contains(&format!("\"{run}\"")), "{run} left without a note");
            let error = sandbox.inside(["start", "debug", "--id", run, "--json"]).exits(3).error();
            assert_eq!(error["code"], "run_pruned");
        }
        if there {
            let env = [("FLOW_DIR", sandbox.path("archive").display().to_string())];
            sandbox.inside_on(alone(), &env, ["verify", run]).ok();
        }
    }
    assert_eq!(sandbox.inside(["list", "--json"]).ok().json()["unreadable"], json!([]));
}

#[test]
fn a_prune_that_is_killed_before_any_call_leaves_each_run_in_one_place() {
    let sandbox = sandbox();
    let before = Files::of(&sandbox);
    let clock = sandbox.now();
    for to in [&["--to", "archive"][..], &["--yes"]] {
        let line = [&["prune", "--older-than", "0d"], to].concat();
        let restore = || {
            before.restore(&sandbox);
            let _ = fs::remove_dir_all(sandbox.path("archive"));
            sandbox.put_clock(clock);
        };
        let seen = Shaky::new(alone(), &[]);
        sandbox.inside_on(Arc::new(seen.clone()), &[], &line).ok();
        let calls = seen.calls();
        let deaths: Vec<_> = (1..=calls.len()).filter(|at| calls[at - 1].changes).collect();
        assert!(deaths.len() > 20, "only {} calls", deaths.len());
        try_all(&deaths, |&at| {
            restore();
            let killed = Shaky::new(alone(), &[Ill::Death(at)]);
            assert_eq!(sandbox.inside_on(Arc::new(killed), &[], &line).code, None);
            assert_in_one_place(&sandbox, to.len() == 2);
            // The same command goes on, and nothing is left of it.
            sandbox.inside(&line).ok();
            assert_in_one_place(&sandbox, to.len() == 2);
            assert_eq!(sandbox.runs(), ["r1"]);
            assert_eq!(sandbox.find(".flow", ".prune.tmp"), None);
            sandbox.inside(["doctor", "--strict"]).ok();
        });
        restore();
    }
}

#[test]
fn of_two_prunes_at_once_the_line_of_the_one_that_took_the_run_counts() {
    let sandbox = sandbox();
    let project = Project::open(&Os, &sandbox.root(), Trust::OwnFiles).unwrap();
    let ids: Vec<RunId> = ["r2", "r3"].map(|id| id.parse().unwrap()).into();
    // The other one takes a run while this one waits for the lock, with its list of both.
    prune(&sandbox, &["--keep", "1", "--yes"]).ok();
    let request = request();
    let archive = sandbox.path("archive");
    let place = project.prune_place(&Os, &archive, "archive".as_ref(), &request).unwrap();
    let pruning = project.prune(&ids, Some(&place), &request, &mut |_| None).unwrap();
    let stay: Vec<_> = pruning.stay.iter().map(|run| format!("{}: {}", run.run_id, run.why)).collect();
    assert_eq!(stay, ["r2: it is not here"]);
    let went = |run: &str| sandbox.flow(["show", run, "--json"]).exits(3).error()["message"].clone();
    assert_eq!(went("r2"), "run r2 was pruned on 2026-05-20 and removed");
    assert_eq!(went("r3"), format!("run r3 was pruned on 2026-05-20, and is in {} now", archive.display()));
    // All of them may be gone.
    project.prune(&ids, None, &request, &mut |_| None).unwrap();
    assert_eq!(went("r3"), format!("run r3 was pruned on 2026-05-20, and is in {} now", archive.display()));
}

fn request() -> WriteRequest {
    WriteRequest {
        wait: std::time::Duration::from_secs(1),
        writer: flowrun::store::Writer {
            pid: 1,
            command: "flow reopen".to_owned(),
            since: "2026-05-20T14:30:00Z".parse().unwrap(),
        },
        boot: String::new(),
    }
}

#[test]
fn a_writer_that_waits_for_a_run_does_not_write_where_it_went() {
    let sandbox = sandbox();
    let project = Project::open(&Os, &sandbox.root(), Trust::OwnFiles).unwrap();
    let ids: Vec<RunId> = ["r2", "r3"].map(|id| id.parse().unwrap()).into();
    let opened = ids.iter().map(|id| project.run(id).unwrap()).collect::<Vec<_>>();
    prune(&sandbox, &["--keep", "1", "--to", "archive"]).ok();
    prune(&sandbox, &["--yes"]).ok();
    let log = fs::read_to_string(sandbox.path("archive/runs/r2/events.jsonl")).unwrap();
    let request = request();
    assert!(matches!(opened[0].begin(&request), Err(StoreError::Replaced { .. })));
    assert!(opened[1].begin(&request).is_err());
    assert_eq!(fs::read_to_string(sandbox.path("archive/runs/r2/events.jsonl")).unwrap(), log);
}

#[test]
fn runs_are_reopened_read_and_pruned_at_once_and_no_answer_is_lost() {
    let sandbox = Sandbox::new();
    let runs: Vec<String> = (0..scaled(8, 40)).map(|n| format!("r{n}")).collect();
    for run in &runs {
        sandbox.flow(["start", "debug", "--another", "--id", run]).ok();
        sandbox.flow(["cancel", run]).ok();
    }
    let mut reopening = Vec::new();
    for run in &runs {
        let mut command = sandbox.flow_command();
        command.args(["reopen", run, "--reason", "more", "--another", "--json"]);
        reopening.push(spawned(command));
        if reopening.len() == runs.len() / 2 {
            let mut command = sandbox.flow_command();
            command.args(["prune", "--older-than", "0d", "--yes", "--json"]);
            reopening.push(spawned(command));
        }
    }
    for _ in 0..4 {
        assert_eq!(sandbox.flow(["list", "--json"]).ok().json()["unreadable"], json!([]));
    }
    let answers: Vec<Answer> = reopening.into_iter().map(answered).collect();
    for (run, answer) in runs.iter().zip(answers.iter().filter(|answer| !answer.stdout.contains("\"pruned\""))) {
        let is_here = sandbox.run_dir(run).exists();
        // It was reopened before, or refused.
        assert_eq!(answer.code == Some(0), is_here, "{run}: {answer:?}");
        if is_here {
            assert_eq!(sandbox.flow(["show", run, "--json"]).ok().json()["state"]["status"], "active");
        }
    }
    sandbox.flow(["doctor", "--strict"]).ok();
}

#[test]
fn evidence_to_which_an_open_fork_refers_is_not_pruned() {
    let sandbox = sandbox();
    sandbox.flow(["fork", "r2", "--id", "r4"]).ok();
    sandbox.flow(["fork", "r4", "--id", "r5"]).ok();
    sandbox.flow(["cancel", "r4"]).ok();
    // The fork of the fork is open, and has its evidence from the first run. The one between has none of its own.
    let report = prune(&sandbox, &["--dry-run", "--json"]).ok().json();
    let (pruned, kept) = told(&report);
    assert_eq!(pruned, ["r3", "r4"]);
    assert!(kept.contains(&"r2: the open fork r5 refers to its evidence".to_owned()), "{kept:?}");
    sandbox.flow(["cancel", "r5"]).ok();
    assert_eq!(told(&prune(&sandbox, &["--dry-run", "--json"]).ok().json()).0, ["r2", "r3", "r4", "r5"]);
}

#[test]
fn the_id_of_a_pruned_run_is_spent_in_any_case_of_its_letters() {
    let sandbox = sandbox();
    prune(&sandbox, &["--yes"]).ok();
    let error = sandbox.flow(["start", "debug", "--id", "R2", "--json"]).exits(3).error();
    assert_eq!(error["code"], "run_pruned");
}
