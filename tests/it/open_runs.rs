//! The caches of open runs and of summaries: they save reading runs that have not changed, never hide a run, and never show
//! what reading it would not show.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::support::storm::Dice;
use crate::support::{Sandbox, calls, can_inject, scaled};

const CACHE: &str = ".flow/.cache";

/// A project with so many finished runs and one that is open.
fn busy(finished: usize) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    for _ in 0..finished {
        let run = sandbox.start("debug");
        sandbox.flow(["cancel", &run, "--reason", "enough"]).ok();
    }
    let open = sandbox.start("debug");
    (sandbox, open)
}

fn resumed(sandbox: &Sandbox) -> String {
    sandbox.flow(["resume", "--json"]).json()["run_id"].as_str().unwrap_or("none").to_owned()
}

/// How many runs' documents a command opens.
fn opened(sandbox: &Sandbox, command: &[&str]) -> usize {
    let (answer, calls) = calls(sandbox, command);
    answer.ok();
    calls.iter().filter(|call| call.name == "openat" && call.shown.contains("\"run.yaml\"")).count()
}

#[test]
fn resume_reads_only_open_runs() {
    if !can_inject("resume_reads_only_open_runs") {
        return;
    }
    let (few, _) = busy(1);
    let (many, open) = busy(25);
    assert_eq!(opened(&many, &["resume"]), opened(&few, &["resume"]));
    assert_eq!(resumed(&many), open);
}

#[test]
fn a_run_that_was_copied_into_the_project_is_found() {
    let (sandbox, open) = busy(2);
    sandbox.flow(["cancel", &open, "--reason", "enough"]).ok();
    assert_eq!(resumed(&sandbox), "none");
    let (other, theirs) = busy(0);
    crate::support::hostile::copy(&other.run_dir(&theirs), &sandbox.run_dir("theirs"));
    let text = sandbox.read("theirs", "run.yaml").replace(&theirs, "theirs");
    std::fs::write(sandbox.run_dir("theirs").join("run.yaml"), text).unwrap();
    let answer = sandbox.flow(["resume", "--json"]).json();
    let named = answer["run_id"] == "theirs" || answer["unreadable"][0]["run_id"] == "theirs";
    assert!(named, "{answer}");
}

#[test]
fn a_finished_run_that_git_puts_back_is_found() {
    let (sandbox, open) = busy(20);
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "open"]);
    sandbox.flow(["cancel", &open, "--reason", "enough"]).ok();
    for _ in 0..20 {
        // So many ended later that this one is not looked at for being recent.
        let run = sandbox.start("debug");
        sandbox.flow(["cancel", &run, "--reason", "enough"]).ok();
    }
    assert_eq!(resumed(&sandbox), "none");
    sandbox.git(&["checkout", "-q", "HEAD", "--", "."]);
    assert_eq!(resumed(&sandbox), open);
}

#[test]
fn a_run_that_a_person_opens_again_is_found() {
    let (sandbox, open) = busy(3);
    sandbox.flow(["cancel", &open, "--reason", "enough"]).ok();
    assert_eq!(resumed(&sandbox), "none");
    sandbox.edit(&open, "status: cancelled", "status: active");
    assert_eq!(resumed(&sandbox), open);
}

#[test]
fn a_cache_that_is_lost_or_damaged_is_made_anew() {
    let (sandbox, open) = busy(3);
    let names: Vec<PathBuf> = ["open-runs.json", "finished-runs"].map(|name| sandbox.path(CACHE).join(name)).into();
    for damage in ["", "\0\0\0\0", "{\"v\":1", "{\"v\":9,\"world\":\"\",\"open\":[],\"recent\":[]}", "a b c\n\n-"] {
        names.iter().for_each(|name| std::fs::write(name, damage).unwrap());
        assert_eq!(resumed(&sandbox), open, "{damage:?}");
    }
    std::fs::remove_dir_all(sandbox.path(CACHE)).unwrap();
    assert_eq!(resumed(&sandbox), open);
    sandbox.flow(["cancel", &open, "--reason", "enough"]).ok();
    assert!(sandbox.path(CACHE).join("open-runs.json").exists());
    assert_eq!(resumed(&sandbox), "none");
}

#[test]
fn a_cache_behind_a_symbolic_link_is_neither_read_nor_written() {
    let (sandbox, open) = busy(1);
    let elsewhere = sandbox.root().with_file_name("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::remove_dir_all(sandbox.path(CACHE)).unwrap();
    std::os::unix::fs::symlink(&elsewhere, sandbox.path(CACHE)).unwrap();
    assert_eq!(resumed(&sandbox), open);
    sandbox.flow(["cancel", &open, "--reason", "enough"]).ok();
    sandbox.start("debug");
    assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 0);
}

#[test]
fn the_cache_stays_out_of_version_control() {
    let (sandbox, _) = busy(1);
    sandbox.git(&["add", "."]);
    let mut command = sandbox.command("git");
    command.args(["ls-files", CACHE]);
    assert_eq!(crate::support::run(command, "").ok().stdout, "");
}

const FINISHED: &str = ".flow/.cache/finished-runs";

/// A project with so many finished runs, all of them known to the cache, and one that is open.
fn known(finished: usize) -> (Sandbox, Vec<String>) {
    let (sandbox, _) = busy(finished);
    let mut runs: Vec<_> = cached(&sandbox).lines().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(runs.len(), finished);
    runs.sort();
    // Where the file system's clock is coarse, what changes a file within a tick does not show.
    std::thread::sleep(Duration::from_millis(20));
    (sandbox, runs)
}

fn cached(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.path(FINISHED)).unwrap()
}

/// What `flow list` answers, which is the same without the cache.
#[track_caller]
fn listed(sandbox: &Sandbox) -> Value {
    let list = || sandbox.flow(["list", "--json"]).ok().json();
    let with = list();
    let away = sandbox.root().with_file_name("cache-away");
    std::fs::rename(sandbox.path(CACHE), &away).unwrap();
    assert_eq!(with, list());
    // That of many runs has made another one.
    let _ = std::fs::remove_dir_all(sandbox.path(CACHE));
    std::fs::rename(away, sandbox.path(CACHE)).unwrap();
    with
}

/// What `flow list` says about a run.
#[track_caller]
fn listed_run(sandbox: &Sandbox, run: &str) -> Value {
    let list = listed(sandbox);
    let runs = list["runs"].as_array().unwrap();
    let mut said = runs.iter().find(|listed| listed["run_id"] == run).cloned().unwrap_or_default();
    // What it needs is not in its summary.
    if let Some(keys) = said.as_object_mut() {
        keys.retain(|key, _| key != "group" && key != "need");
    }
    said
}

#[test]
fn list_reads_only_runs_that_are_not_known_to_be_over() {
    if !can_inject("list_reads_only_runs_that_are_not_known_to_be_over") {
        return;
    }
    let (sandbox, runs) = known(5);
    assert_eq!(opened(&sandbox, &["list", "--limit", "0"]), 1);
    assert_eq!(listed(&sandbox)["runs"].as_array().unwrap().len(), 6);
    sandbox.edit(&runs[2], "issue: 42", "issue: 43");
    assert_eq!(opened(&sandbox, &["list", "--limit", "0"]), 2);
}

#[test]
fn a_finished_run_that_a_person_edits_is_listed_as_it_is() {
    let (sandbox, runs) = known(2);
    sandbox.edit(&runs[0], "status: cancelled", "status: completed");
    assert_eq!(listed_run(&sandbox, &runs[0])["status"], "completed");
    sandbox.edit(&runs[0], "status: completed", "status: [");
    assert_eq!(listed(&sandbox)["unreadable"][0]["run_id"], runs[0].as_str());
    sandbox.edit(&runs[1], "status: cancelled", "status: active");
    assert_eq!(listed_run(&sandbox, &runs[1])["status"], "active");
}

#[test]
fn a_finished_run_that_git_replaces_is_listed_as_it_is() {
    let (sandbox, open) = busy(2);
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "open"]);
    sandbox.flow(["cancel", &open, "--reason", "enough"]).ok();
    assert_eq!(listed_run(&sandbox, &open)["status"], "cancelled");
    sandbox.git(&["checkout", "-q", "HEAD", "--", "."]);
    assert_eq!(listed_run(&sandbox, &open)["status"], "active");
}

#[test]
fn a_run_that_goes_on_or_goes_away_is_listed_as_it_is() {
    let (sandbox, runs) = known(2);
    sandbox.flow(["reopen", &runs[0], "--reason", "more", "--another"]).ok();
    assert_eq!(listed_run(&sandbox, &runs[0])["status"], "active");
    sandbox.flow(["fail", &runs[0], "--reason", "enough"]).ok();
    assert_eq!(listed_run(&sandbox, &runs[0])["status"], "failed");
    std::fs::remove_dir_all(sandbox.run_dir(&runs[1])).unwrap();
    assert_eq!(listed_run(&sandbox, &runs[1]), Value::Null);
}

#[test]
fn a_finished_run_behind_a_symbolic_link_is_not_shown() {
    let (sandbox, runs) = known(2);
    let elsewhere = sandbox.root().with_file_name("elsewhere");
    std::fs::rename(sandbox.run_dir(&runs[0]), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, sandbox.run_dir(&runs[0])).unwrap();
    let list = listed(&sandbox);
    assert_eq!(list["unreadable"][0]["run_id"], runs[0].as_str(), "{list}");
    std::fs::remove_file(sandbox.run_dir(&runs[0])).unwrap();
    std::fs::rename(&elsewhere, sandbox.run_dir(&runs[0])).unwrap();
    let file = sandbox.run_dir(&runs[0]).join("run.yaml");
    std::fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    assert_eq!(listed(&sandbox)["unreadable"][0]["run_id"], runs[0].as_str());
}

#[test]
fn summaries_that_are_damaged_foreign_or_of_another_version_are_not_believed() {
    let (sandbox, runs) = known(3);
    let (whole, list) = (cached(&sandbox), listed(&sandbox));
    let stamp = |line: &str| line.split(' ').nth(2).unwrap().to_owned();
    let (one, other) = (whole.lines().next().unwrap(), whole.lines().nth(1).unwrap());
    let summary = |line: &str| line.splitn(4, ' ').nth(3).unwrap().to_owned();
    let cut = |at: usize| whole[..at].to_owned();
    let version = &whole[..=whole.find(' ').unwrap()];
    let damages = [
        whole.replace(version, "v4 "),
        whole.replace(version, ""),
        whole.replace(version, "v99 "),
        // The summary of another run, and that of another one under the name of this one.
        whole.replace(&summary(one), &summary(other)),
        whole.replace(&summary(one), &summary(one).replace("cancelled", "active")),
        whole.replace(&summary(one), "null"),
        whole.replace(&summary(one), "{}"),
        whole.replace(&summary(one), &summary(one)[1..]),
        // What another machine saw.
        whole.replace(&stamp(one), &stamp(other)),
        whole.replace(&stamp(one), &format!("9{}", stamp(one))),
        // As an earlier version of flow wrote it.
        runs.iter().map(|run| format!("{run} {}\n", stamp(one))).collect(),
        format!("{whole}{}\n", one.replace("preflight", "\0\0")),
        cut(1),
        cut(one.len() / 2),
        cut(one.len() - 1),
        cut(one.len() + other.len() / 2),
        String::new(),
    ];
    for damage in damages {
        assert_ne!(damage, whole);
        std::fs::write(sandbox.path(FINISHED), &damage).unwrap();
        assert_eq!(listed(&sandbox), list, "{damage}");
    }
    std::fs::write(sandbox.path(FINISHED), [&whole.as_bytes()[..20], b"\xff\xfe\n", whole.as_bytes()].concat())
        .unwrap();
    assert_eq!(listed(&sandbox), list);
    // The next line is written behind one that was cut off.
    std::fs::write(sandbox.path(FINISHED), cut(one.len() / 2)).unwrap();
    for _ in 0..2 {
        let run = sandbox.start("debug");
        sandbox.flow(["cancel", &run, "--reason", "enough"]).ok();
        assert_eq!(listed_run(&sandbox, &run)["status"], "cancelled");
    }
}

#[test]
fn what_only_the_log_says_of_an_end_is_not_remembered() {
    let (sandbox, open) = busy(1);
    let run = sandbox.run_dir(&open);
    let (text, log) = (sandbox.read(&open, "run.yaml"), sandbox.read(&open, "events.jsonl"));
    sandbox.flow(["cancel", &open, "--reason", "enough"]).ok();
    // As after a power cut between the commit and the new document.
    std::fs::write(run.join("run.yaml"), text).unwrap();
    std::fs::remove_dir_all(sandbox.path(CACHE)).unwrap();
    let other = sandbox.start("debug");
    sandbox.flow(["cancel", &other, "--reason", "enough"]).ok();
    assert_eq!(listed_run(&sandbox, &open)["status"], "cancelled");
    assert!(cached(&sandbox).contains(&other) && !cached(&sandbox).contains(&open), "{}", cached(&sandbox));
    // An older log, as a checkout brings it.
    std::fs::write(run.join("events.jsonl"), log).unwrap();
    assert_eq!(listed_run(&sandbox, &open)["status"], "active");
}

const OPEN: &str = ".flow/.cache/open-runs.json";

/// How many summaries of open runs the cache has: a line each, behind the first one.
fn known_open(sandbox: &Sandbox) -> usize {
    std::fs::read_to_string(sandbox.path(OPEN)).unwrap().lines().count() - 1
}

/// A project with so many open runs, all of them known to the cache.
fn many_open(runs: usize) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let ids: Vec<_> = (0..runs).map(|_| sandbox.start("debug")).collect();
    std::thread::sleep(Duration::from_millis(20));
    sandbox.flow(["hud"]).ok();
    (sandbox, ids)
}

#[test]
fn readers_read_only_the_open_runs_that_have_changed() {
    if !can_inject("readers_read_only_the_open_runs_that_have_changed") {
        return;
    }
    let (sandbox, ids) = many_open(40);
    // `resume` reads the run that it is about as well.
    assert_eq!(opened(&sandbox, &["list", "--limit", "0"]), 0);
    // Of those that people are shown, it reads what they wait for, whatever the number of the others.
    assert_eq!(opened(&sandbox, &["list", "--limit", "3"]), 3 * 2);
    // So does `resume` of the ten others that it shows, beside its own.
    assert_eq!(opened(&sandbox, &["resume"]), 1 + 10 * 2);
    sandbox.record(&ids[3], "preflight", "a");
    sandbox.record(&ids[4], "preflight", "a");
    assert_eq!(opened(&sandbox, &["list", "--limit", "0"]), 2);
}

#[test]
fn a_reader_remembers_a_long_run_and_leaves_nothing_beside_a_short_one() {
    if !can_inject("a_reader_remembers_a_long_run_and_leaves_nothing_beside_a_short_one") {
        return;
    }
    let (sandbox, open) = busy(1);
    sandbox.flow(["hud"]).ok();
    assert_eq!(known_open(&sandbox), 0);
    let ids: String = (0..3000).map(|nth| format!("    - another-activity-{nth}\n")).collect();
    sandbox.edit(&open, "  completed_activities: []\n", &format!("  completed_activities:\n{ids}"));
    sandbox.record(&open, "preflight", "a");
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(opened(&sandbox, &["list", "--limit", "0"]), 1);
    sandbox.flow(["hud"]).ok();
    assert_eq!(known_open(&sandbox), 1);
    assert_eq!(opened(&sandbox, &["list", "--limit", "0"]), 0);
    sandbox.record(&open, "preflight", "b");
    assert_eq!(listed_run(&sandbox, &open)["completed_activities"], 3002);
}

#[test]
fn open_runs_that_the_cache_knows_are_open_on_every_page() {
    let (sandbox, ids) = many_open(40);
    assert_eq!(known_open(&sandbox), ids.len());
    let told = sandbox.flow(["watch", "--once"]).ok().stdout;
    assert!(told.contains("Can go on 40") && !told.contains("Over"), "{told}");
}

#[test]
fn a_list_of_open_runs_that_is_cut_off_hides_none() {
    let (sandbox, ids) = many_open(40);
    let (whole, newest) = (std::fs::read_to_string(sandbox.path(OPEN)).unwrap(), resumed(&sandbox));
    let ends = whole.match_indices('\n').map(|(at, _)| at + 1).chain([whole.len() - 7]);
    for end in ends.step_by(9) {
        std::fs::write(sandbox.path(OPEN), &whole[..end]).unwrap();
        let listed = sandbox.flow(["list", "--json", "--limit", "100"]).ok().json();
        assert_eq!(listed["runs"].as_array().unwrap().len(), ids.len(), "cut off at {end}");
        assert_eq!(resumed(&sandbox), newest, "cut off at {end}");
    }
}

#[test]
fn an_open_run_whose_log_alone_has_changed_is_read() {
    let (sandbox, ids) = many_open(40);
    let (run, before) = (&ids[3], listed_run(&sandbox, &ids[3]));
    let (text, log) = (sandbox.read(run, "run.yaml"), sandbox.read(run, "events.jsonl"));
    sandbox.record(run, "preflight", "a");
    let put = |name: &str, text: &str| std::fs::write(sandbox.run_dir(run).join(name), text).unwrap();
    let recorded = sandbox.read(run, "events.jsonl");
    put("run.yaml", &text);
    put("events.jsonl", &log);
    std::thread::sleep(Duration::from_millis(20));
    // A reader that has to look at all runs remembers this one as it was.
    std::fs::remove_file(sandbox.path(OPEN)).unwrap();
    sandbox.flow(["hud"]).ok();
    assert_eq!(listed_run(&sandbox, run), before);
    // A writer was killed after its line was in the log.
    put("events.jsonl", &recorded);
    assert_ne!(listed_run(&sandbox, run), before);
}

#[test]
fn after_a_commit_or_a_clone_the_first_reader_looks_at_all_runs_and_the_next_one_at_few() {
    if !can_inject("after_a_commit_or_a_clone_the_first_reader_looks_at_all_runs") {
        return;
    }
    let looks = |sandbox: &Sandbox| {
        let (answer, calls) = calls(sandbox, &["resume"]);
        answer.ok();
        calls.iter().filter(|call| call.shown.contains("run.yaml\"")).count()
    };
    let (sandbox, _) = busy(40);
    std::fs::remove_dir_all(sandbox.path(CACHE)).unwrap();
    let first = looks(&sandbox);
    let next = looks(&sandbox);
    assert!(first > 80 && next < 40, "{first}, then {next}");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "runs"]);
    let first = looks(&sandbox);
    assert!(first > 40 && first < 80 && looks(&sandbox) == next, "{first}, then {next}");
}

#[test]
fn readers_of_few_runs_write_no_cache() {
    let (sandbox, open) = busy(3);
    std::fs::remove_dir_all(sandbox.path(CACHE)).unwrap();
    for verb in ["resume", "list", "attention", "hud", "next"] {
        sandbox.flow([verb]).ok();
    }
    assert!(!sandbox.path(CACHE).exists());
    assert_eq!(resumed(&sandbox), open);
}

#[test]
fn readers_in_a_linked_worktree_use_the_cache_as_well() {
    if !can_inject("readers_in_a_linked_worktree_use_the_cache_as_well") {
        return;
    }
    let (sandbox, _) = busy(40);
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "runs"]);
    let there = sandbox.root().with_file_name("there");
    sandbox.git(&["worktree", "add", "-q", there.to_str().unwrap()]);
    let args = ["-C", there.to_str().unwrap(), "resume"];
    let opened = || {
        let (answer, calls) = calls(&sandbox, &args);
        answer.ok();
        calls.iter().filter(|call| call.name == "openat" && call.shown.contains("\"run.yaml\"")).count()
    };
    assert!(opened() > 40);
    assert!(opened() < 5);
}

#[test]
fn a_list_of_open_runs_from_before_a_reopening_does_not_hide_the_run() {
    let (sandbox, runs) = known(40);
    let run = sandbox.flow(["list", "--json"]).ok().json()["runs"][39]["run_id"].as_str().unwrap().to_owned();
    assert!(runs.contains(&run));
    // A reader that was slow writes what it saw before the run was reopened.
    let before = std::fs::read(sandbox.path(OPEN)).unwrap();
    sandbox.flow(["reopen", &run, "--reason", "more", "--another"]).ok();
    std::fs::write(sandbox.path(OPEN), before).unwrap();
    let answer = sandbox.flow(["resume", "--json"]).ok().json();
    let open: Vec<_> = answer["candidates"].as_array().unwrap().iter().map(|run| &run["run_id"]).collect();
    assert!(answer["run_id"] == run.as_str() || open.iter().any(|open| **open == run.as_str()), "{answer}");
    assert_eq!(std::fs::read_to_string(sandbox.path(".flow/.cache/reopening")).unwrap(), "[]");
}

#[test]
fn a_list_of_runs_and_of_those_in_need_updates_the_cache() {
    let (sandbox, _) = busy(40);
    for args in [&["list"][..], &["list", "--json"], &["attention"], &["interview", "list"]] {
        let _ = std::fs::remove_dir_all(sandbox.path(CACHE));
        sandbox.flow(args).ok();
        assert_eq!(cached(&sandbox).lines().count(), 40, "{args:?}");
        assert_eq!(known_open(&sandbox), 1, "{args:?}");
    }
}

#[test]
fn a_cache_that_is_put_back_hides_no_reopened_run() {
    let (sandbox, runs) = known(40);
    sandbox.flow(["hud"]).ok();
    let (cache, aside) = (sandbox.path(CACHE), sandbox.path("aside"));
    std::fs::rename(&cache, &aside).unwrap();
    let run = &runs[0];
    sandbox.flow(["reopen", run, "--reason", "more", "--another"]).ok();
    let _ = std::fs::remove_dir_all(&cache);
    std::fs::rename(&aside, &cache).unwrap();
    let answer = sandbox.flow(["resume", "--json"]).json();
    assert!(answer.to_string().contains(run.as_str()), "{answer}");
}

#[test]
fn a_run_whose_reopening_was_killed_is_found() {
    let (sandbox, runs) = known(20);
    let run = &runs[0];
    sandbox.flow(["reopen", run, "--reason", "more", "--another"]).ok();
    sandbox.flow(["cancel", run, "--reason", "enough"]).ok();
    for _ in 0..20 {
        let run = sandbox.start("debug");
        sandbox.flow(["cancel", &run, "--reason", "enough"]).ok();
    }
    // A writer was killed between the first note and the second one, and a reader made the list in between.
    std::fs::write(sandbox.path(".flow/.cache/reopening"), format!("[{run:?}]")).unwrap();
    std::fs::remove_file(sandbox.path(OPEN)).unwrap();
    sandbox.flow(["hud"]).ok();
    assert!(!std::fs::read_to_string(sandbox.path(OPEN)).unwrap().contains(&format!("[{run:?},")));
    sandbox.edit(run, "status: cancelled", "status: active");
    let answer = sandbox.flow(["resume", "--json"]).json();
    assert!(answer.to_string().contains(run.as_str()), "{answer}");
}

#[test]
fn runs_that_wait_for_a_person_are_known_by_the_workflow_that_they_pin() {
    let sandbox = Sandbox::new();
    let ids: Vec<_> = (0..40).map(|_| sandbox.start("release")).collect();
    for id in &ids[..10] {
        for phase in ["preflight", "bump", "tag"] {
            sandbox.record(id, phase, phase);
        }
    }
    sandbox.flow(["hud"]).ok();
    let with = sandbox.flow(["list", "--json"]).ok().json();
    assert_eq!(with.to_string().matches(r#""doing":"waiting""#).count(), 10);
    sandbox.without_gates();
    // The runs pin their workflow, so the file of today says nothing about them.
    assert_eq!(sandbox.flow(["list", "--json"]).ok().json(), with);
    std::fs::remove_dir_all(sandbox.path(CACHE)).unwrap();
    assert_eq!(sandbox.flow(["list", "--json"]).ok().json(), with);
}

/// Random commands, edits by hand and moves of git on some dozens of runs. After each, what readers say with the caches is
/// what they say without them.
#[test]
fn what_the_caches_know_is_what_reading_says() {
    let (sandbox, mut ids) = many_open(34);
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "runs"]);
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    let mut dice = Dice::new(u64::from(seed));
    for step in 0..scaled(24, 2000) {
        let run = dice.pick(&ids).clone();
        let log = sandbox.run_dir(&run).join("events.jsonl");
        let deed = dice.below(12);
        match deed {
            0 | 1 => drop(sandbox.flow(["record-activity", "--run-id", &run, "--id", &format!("a{step}")])),
            2 => drop(sandbox.flow(["cancel", &run, "--reason", "enough"])),
            3 => drop(sandbox.flow(["reopen", &run, "--reason", "more", "--another"])),
            4 => drop(sandbox.flow(["block", &run, "--reason", "wait"])),
            5 => drop(sandbox.flow(["unblock", &run])),
            6 => ids.push(sandbox.start("debug")),
            7 => {
                let text = sandbox.read(&run, "run.yaml");
                let edited = text.replace("issue: 42", "issue: 43").replace("status: blocked", "status: active");
                std::fs::write(sandbox.run_dir(&run).join("run.yaml"), edited).unwrap();
            }
            8 => {
                // A record whose process was killed before it wrote run.yaml.
                let text = sandbox.read(&run, "run.yaml");
                sandbox.flow(["record-activity", "--run-id", &run, "--id", &format!("b{step}")]);
                std::fs::write(sandbox.run_dir(&run).join("run.yaml"), text).unwrap();
            }
            9 => {
                let text = std::fs::read_to_string(&log).unwrap();
                let cut = text.len() - text.lines().next_back().unwrap().len() - 1;
                if cut > 0 {
                    std::fs::write(&log, &text[..cut]).unwrap();
                }
            }
            10 => {
                sandbox.git(&["add", "."]);
                sandbox.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
            }
            _ => {
                sandbox.git(&["stash", "-q"]);
                sandbox.git(&["checkout", "-q", "HEAD", "--", "."]);
            }
        }
        let readers: [&[&str]; 4] = [&["resume"], &["attention", "--all"], &["watch", "--once"], &["hud"]];
        let answers = || readers.map(|args| sandbox.flow([args, &["--json"]].concat()).stdout);
        let with = (answers(), listed(&sandbox));
        let away = sandbox.root().with_file_name("cache-away");
        std::fs::rename(sandbox.path(CACHE), &away).unwrap();
        let without = answers();
        let _ = std::fs::remove_dir_all(sandbox.path(CACHE));
        std::fs::rename(&away, sandbox.path(CACHE)).unwrap();
        assert_eq!(with.0, without, "seed {seed}, step {step}, deed {deed} to {run}");
        assert_eq!(sandbox.flow(["list", "--json"]).ok().json(), with.1);
    }
}
