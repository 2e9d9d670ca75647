//! What git does to committed runs: whatever it puts back, joins or takes away is named, and nothing that was
//! acknowledged is lost.

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, run};

/// A repository with a committed run in which `preflight` is done.
struct Repo {
    sandbox: Sandbox,
    run: String,
}

impl Repo {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let run = sandbox.start("start-issue");
        let repo = Self { sandbox, run };
        repo.record("preflight", "pre");
        repo.commit();
        repo
    }

    fn record(&self, phase: &str, id: &str) {
        self.sandbox.record(&self.run, phase, id);
    }

    fn commit(&self) {
        self.sandbox.git(&["add", "-A"]);
        self.sandbox.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
    }

    fn switch(&self, branch: &str) {
        self.sandbox.git(&["switch", "-q", branch]);
    }

    /// Runs git and says whether it succeeded.
    fn try_git(&self, args: &[&str]) -> bool {
        let mut command = self.sandbox.command("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "core.editor=true"]).args(args);
        command.output().unwrap().status.success()
    }

    fn flow(&self, args: &[&str]) -> Answer {
        self.sandbox.flow(args)
    }

    fn verdict(&self) -> String {
        let answer = self.flow(&["resume", &self.run, "--json"]);
        answer.json()["verdict"].as_str().unwrap().to_owned()
    }

    fn completed(&self) -> Vec<String> {
        let shown = self.flow(&["show", &self.run, "--json"]).ok().json();
        let list = shown["state"]["completed_activities"].as_array().unwrap();
        list.iter().map(|id| id.as_str().unwrap().to_owned()).collect()
    }

    fn repair(&self) {
        self.flow(&["doctor", &self.run, "--repair"]).ok();
    }

    /// Both branches record on top of the same beginning: `side` in `theirs`, `main` in `ours`.
    fn diverge(&self, ours: &[(&str, &str)], theirs: &[(&str, &str)]) {
        self.sandbox.git(&["switch", "-q", "-c", "side"]);
        theirs.iter().for_each(|(phase, id)| self.record(phase, id));
        self.commit();
        self.switch("main");
        // As in another clone, which knows nothing of what was recorded here.
        std::fs::remove_file(self.sandbox.run_dir(&self.run).join(".lock")).unwrap();
        ours.iter().for_each(|(phase, id)| self.record(phase, id));
        self.commit();
    }

    /// The files are the fold of the log, and the doctor finds nothing.
    #[track_caller]
    fn assert_sound(&self) {
        self.flow(&["verify", &self.run]).ok();
        let report = self.flow(&["doctor", &self.run, "--json"]).ok().json();
        let bad = report["findings"].as_array().unwrap().iter().filter(|one| one["severity"] != "info");
        assert_eq!(bad.collect::<Vec<_>>(), Vec::<&Value>::new());
    }
}

#[test]
fn a_log_that_git_put_back_is_named_before_anything_is_written() {
    let repo = Repo::new();
    repo.sandbox.git(&["switch", "-q", "-c", "side"]);
    repo.record("explore", "look");
    repo.commit();
    repo.switch("main");
    let before = repo.sandbox.read(&repo.run, "events.jsonl");
    let answer = repo.flow(&["resume", "--json"]).exits(4).json();
    assert_eq!(answer["verdict"], "rewound");
    assert_eq!(answer["next"]["command"], Value::Null);
    let ways: Vec<_> = answer["next"]["alternatives"].as_array().unwrap().iter().map(|way| &way["command"]).collect();
    assert_eq!(ways, [&json!("git switch side"), &json!(format!("flow doctor {} --repair", repo.run))]);
    for writer in [vec!["record-activity", "--id", "x"], vec!["advance", "--to", "plan"]] {
        let error = repo.flow(&[&writer[..], &["--json"]].concat()).exits(4).error();
        assert_eq!(error["code"], "log_rewound", "{writer:?}");
        assert!(error["help"].as_str().unwrap().contains("branch side"), "{error}");
    }
    let listed = repo.flow(&["list"]).ok().stdout;
    insta::assert_snapshot!(listed, @"issue 42 start-issue  issue-42  rewound  preflight 1/5  11 s  an older version of the run was put back: its log ends at event 2, and event 3 was written");
    for reader in ["show", "next", "report"] {
        let told = repo.flow(&[reader]);
        assert!(
            format!("{}{}", told.stdout, told.stderr).contains("an older version of the run was put back"),
            "{told:?}"
        );
    }
    // A repair of everything leaves the decision to a person.
    repo.flow(&["doctor", "--repair"]).ok();
    assert_eq!(repo.sandbox.read(&repo.run, "events.jsonl"), before);
    repo.switch("side");
    assert_eq!(repo.verdict(), "continue");
    repo.record("explore", "look-more");
    repo.assert_sound();
}

#[test]
fn a_run_goes_on_from_an_older_log_when_a_person_says_so_and_notes_the_gap() {
    let repo = Repo::new();
    repo.sandbox.git(&["switch", "-q", "-c", "side"]);
    repo.record("explore", "look");
    repo.commit();
    repo.switch("main");
    repo.repair();
    let answer = repo.flow(&["resume", "--json"]).ok().json();
    assert_eq!(answer["notes"], json!(["event 3 lost, as the repair of the log at event 4 says"]));
    repo.record("explore", "other");
    repo.commit();
    repo.assert_sound();
    // What the other branch has comes back with it.
    repo.try_git(&["merge", "-q", "side"]);
    let report = repo.flow(&["doctor", &repo.run, "--json"]).exits(65).json();
    assert!(report["findings"].as_array().unwrap().iter().any(|one| one["code"] == "log_joined"), "{report:#}");
    repo.repair();
    assert_eq!(repo.completed(), ["pre", "other", "look"]);
    assert_eq!(repo.flow(&["resume", "--json"]).ok().json()["notes"], json!([]));
    repo.assert_sound();
}

#[test]
fn a_stash_and_a_reset_put_a_log_back_too() {
    let repo = Repo::new();
    repo.record("explore", "look");
    repo.sandbox.git(&["stash", "-q", "-u"]);
    let answer = repo.flow(&["resume", "--json"]).exits(4).json();
    assert_eq!(answer["next"]["alternatives"][0]["command"], "git stash pop");
    repo.sandbox.git(&["stash", "pop", "-q"]);
    assert_eq!(repo.verdict(), "continue");
    repo.commit();
    repo.sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(repo.verdict(), "rewound");
    repo.sandbox.git(&["reset", "-q", "--hard", "HEAD@{1}"]);
    assert_eq!(repo.completed(), ["pre", "look"]);
    repo.assert_sound();
}

#[test]
fn a_run_that_git_never_had_is_found_in_the_stash_that_took_it() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.record("r1", "preflight", "look");
    sandbox.git(&["stash", "-q", "-u"]);
    let refused = sandbox.flow(["resume", "r1", "--json"]).exits(3).error();
    assert!(refused["help"].as_str().unwrap().contains("they are in the stash (`git stash pop`)"), "{refused}");
    sandbox.git(&["stash", "pop", "-q"]);
    sandbox.flow(["resume", "r1"]).ok();
}

#[test]
fn a_damaged_line_that_was_committed_is_damage_and_not_an_older_version() {
    let repo = Repo::new();
    repo.record("explore", "look");
    let log = repo.sandbox.read(&repo.run, "events.jsonl").replace("\"look\"", "\"lxxk\"");
    let path = repo.sandbox.path(format!(".flow/runs/{}/events.jsonl", repo.run));
    std::fs::write(&path, &log).unwrap();
    assert_eq!(repo.verdict(), "corrupt");
    repo.commit();
    assert_eq!(repo.verdict(), "corrupt");
    // Where a commit has the whole line as well, that is named.
    repo.sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    repo.repair();
    repo.record("explore", "more");
    repo.commit();
    let log = repo.sandbox.read(&repo.run, "events.jsonl").replace("\"more\"", "\"mxre\"");
    std::fs::write(&path, &log).unwrap();
    repo.commit();
    assert_eq!(repo.verdict(), "rewound");
}

#[test]
fn a_run_of_which_nothing_is_left_here_is_named_with_the_stash_or_the_branch_that_has_it() {
    let sandbox = Sandbox::new();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.git(&["stash", "-q", "-u"]);
    assert!(!sandbox.path(".flow/runs/r1").exists(), "a run without a record leaves nothing behind");
    let refused = sandbox.flow(["resume", "r1", "--json"]).exits(3).error();
    assert_eq!(refused["code"], "run_elsewhere");
    assert!(refused["help"].as_str().unwrap().contains("they are in the stash (`git stash pop`)"), "{refused}");
    for begins in [
        &["start", "debug", "--id", "r1", "--json"][..],
        &[
            "emit",
            "--workflow",
            "build-fast",
            "--run-id",
            "r1",
            "--type",
            "status_change",
            "--step",
            "plan",
            "--data",
            "{\"status\":\"running\"}",
            "--json",
        ],
    ] {
        let refused = sandbox.flow(begins).exits(3).error();
        assert_eq!(refused["help"], "bring it back with `git stash pop`, or use another id; nothing was written");
        assert!(!sandbox.path(".flow/runs/r1").exists());
    }
    sandbox.git(&["stash", "pop", "-q"]);
    sandbox.flow(["resume", "r1"]).ok();
    sandbox.git(&["switch", "-q", "-c", "side"]);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "run"]);
    sandbox.git(&["switch", "-q", "-"]);
    let refused = sandbox.flow(["record-activity", "--run-id", "r1", "--id", "a", "--json"]).exits(3).error();
    assert!(refused["help"].as_str().unwrap().contains("they are on branch side"), "{refused}");
    assert_eq!(sandbox.flow(["resume", "other", "--json"]).exits(3).error()["code"], "run_not_found");
}

#[test]
fn a_record_whose_file_a_stash_left_is_there_once_after_the_stash_is_back() {
    let repo = Repo::new();
    repo.record("explore", "look");
    // Without -u the new activity file stays, and the log goes.
    repo.sandbox.git(&["stash", "-q"]);
    assert_eq!(repo.verdict(), "rewound");
    repo.repair();
    assert_eq!(repo.completed(), ["pre", "look"], "found again in its file");
    repo.record("explore", "more");
    repo.commit();
    repo.assert_sound();
    repo.try_git(&["stash", "pop", "-q"]);
    repo.repair();
    assert_eq!(repo.completed(), ["pre", "look", "more"]);
    repo.assert_sound();
}

#[test]
fn two_histories_that_a_merge_joined_become_one_with_every_record() {
    for rebase in [false, true] {
        let repo = Repo::new();
        repo.diverge(&[("explore", "ours"), ("plan", "ours-plan")], &[("explore", "theirs")]);
        assert!(!repo.try_git(&if rebase { ["rebase", "side"] } else { ["merge", "side"] }), "run.yaml conflicts");
        let answer = repo.flow(&["resume", "--json"]).exits(65).json();
        assert_eq!((answer["verdict"].as_str(), answer["run_id"].as_str()), (Some("conflict"), Some(&*repo.run)));
        let error = repo.flow(&["record-activity", "--run-id", &repo.run, "--id", "x", "--json"]).exits(65).error();
        assert_eq!(error["code"], "run_conflict");
        repo.flow(&["doctor", "--repair"]).ok();
        repo.sandbox.git(&["add", "-A"]);
        repo.try_git(if rebase { &["rebase", "--continue"] } else { &["commit", "-qm", "merged"] });
        let mut completed = repo.completed();
        completed.sort();
        assert_eq!(completed, ["ours", "ours-plan", "pre", "theirs"], "rebase: {rebase}");
        // The branch that was further on says where the run is.
        let answer = repo.flow(&["resume", "--json"]).ok().json();
        assert_eq!((answer["verdict"].as_str(), answer["phase"].as_str()), (Some("continue"), Some("plan")));
        repo.assert_sound();
        let repair = repo.sandbox.events(&repo.run).into_iter().find(|event| event["type"] == "log_repaired").unwrap();
        assert_eq!(repair["lost"], json!([]), "{repair:#}");
    }
}

#[test]
fn events_keep_their_ids_and_times_when_they_are_put_behind_another_history() {
    let repo = Repo::new();
    repo.diverge(&[("explore", "ours")], &[("explore", "theirs")]);
    let path = format!("side:.flow/runs/{}/events.jsonl", repo.run);
    let log = repo.sandbox.command("git").args(["show", &path]).output().unwrap().stdout;
    let theirs: Value = serde_json::from_slice(log.split(|&byte| byte == b'\n').nth(2).unwrap()).unwrap();
    repo.try_git(&["merge", "side"]);
    repo.repair();
    let now = repo.sandbox.events(&repo.run).into_iter().find(|event| event["id"] == theirs["id"]).unwrap();
    assert_eq!((&now["at"], &now["activity"]["id"]), (&theirs["at"], &theirs["activity"]["id"]));
    assert_eq!((theirs["seq"].as_u64(), now["seq"].as_u64()), (Some(3), Some(4)));
    assert_eq!((theirs["number"].as_str(), now["number"].as_str()), (Some("002"), Some("003")));
}

#[test]
fn what_both_branches_changed_is_settled_and_said() {
    let repo = Repo::new();
    repo.sandbox.git(&["switch", "-q", "-c", "side"]);
    repo.flow(&["set", &repo.run, "--goal", "their goal", "--pr", "7"]).ok();
    repo.commit();
    repo.switch("main");
    std::fs::remove_file(repo.sandbox.run_dir(&repo.run).join(".lock")).unwrap();
    repo.flow(&["set", &repo.run, "--goal", "our goal"]).ok();
    repo.flow(&["block", &repo.run, "--reason", "the key is missing"]).ok();
    repo.commit();
    repo.try_git(&["merge", "side"]);
    repo.repair();
    let shown = repo.flow(&["show", &repo.run, "--json"]).ok().json();
    assert_eq!(shown["metadata"]["goal"], "our goal");
    assert_eq!(shown["context"]["pr"], 7);
    assert_eq!(shown["state"]["status"], "blocked");
    let repair = repo.sandbox.events(&repo.run).into_iter().find(|event| event["type"] == "log_repaired").unwrap();
    assert_eq!(repair["settled"], json!(["goal was \"our goal\" and \"their goal\": it is \"our goal\""]));
    repo.assert_sound();
}

#[test]
fn the_same_id_recorded_on_both_branches_is_there_twice() {
    let repo = Repo::new();
    repo.diverge(&[("explore", "look")], &[("explore", "look")]);
    repo.try_git(&["merge", "side"]);
    repo.repair();
    assert_eq!(repo.completed(), ["pre", "look", "look"]);
    repo.assert_sound();
}

#[test]
fn a_run_yaml_that_was_settled_by_hand_hides_no_history() {
    for side in ["--ours", "--theirs"] {
        let repo = Repo::new();
        repo.diverge(&[("explore", "ours")], &[("explore", "theirs"), ("plan", "their-plan")]);
        repo.try_git(&["merge", "side"]);
        let run_yaml = format!(".flow/runs/{}/run.yaml", repo.run);
        repo.sandbox.git(&["checkout", "-q", side, "--", &run_yaml]);
        repo.commit();
        assert_eq!(repo.verdict(), "conflict", "{side}");
        let differs = repo.flow(&["verify", &repo.run]).exits(65).stdout;
        assert!(differs.contains("a merge joined two histories of the run"), "{side}: {differs}");
        let listed = repo.flow(&["list", "--json"]).ok().json();
        assert_eq!(listed["runs"][0]["doing"], "conflict", "{side}: {listed}");
        let error = repo.flow(&["record-activity", "--id", "next", "--json"]).exits(65).error();
        assert_eq!(error["code"], "run_conflict", "{side}");
        repo.repair();
        assert_eq!(repo.completed(), ["pre", "ours", "theirs", "their-plan"], "{side}");
        repo.assert_sound();
        repo.record("plan", "next");
        repo.assert_sound();
    }
}

#[test]
fn conflict_markers_in_a_log_are_taken_out() {
    let repo = Repo::new();
    std::fs::write(repo.sandbox.path(".flow/.gitattributes"), "# none\n").unwrap();
    repo.commit();
    repo.diverge(&[("explore", "ours")], &[("explore", "theirs")]);
    repo.try_git(&["merge", "side"]);
    assert!(repo.sandbox.read(&repo.run, "events.jsonl").contains("<<<<<<< "));
    assert_eq!(repo.verdict(), "conflict");
    repo.repair();
    assert_eq!(repo.completed(), ["pre", "ours", "theirs"]);
    repo.assert_sound();
}

#[test]
fn branches_that_are_merged_again_and_again_repeat_nothing() {
    let repo = Repo::new();
    repo.diverge(&[("explore", "ours-1")], &[("explore", "theirs-1")]);
    for round in 2..5 {
        for (here, other) in [("main", "side"), ("side", "main")] {
            repo.switch(here);
            repo.try_git(&["merge", "-q", "-m", "merge", other]);
            repo.repair();
            repo.record("explore", &format!("{here}-{round}"));
            repo.commit();
        }
    }
    let mut completed = repo.completed();
    completed.sort();
    let all = ["main-2", "main-3", "main-4", "ours-1", "pre", "side-2", "side-3", "side-4", "theirs-1"];
    assert_eq!(completed, all);
    repo.assert_sound();
}

#[test]
fn a_branch_without_flow_leaves_nothing_that_belongs_to_another_program() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "plain"]);
    let run = sandbox.start("start-issue");
    sandbox.record(&run, "preflight", "pre");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "work"]);
    sandbox.git(&["switch", "-q", "plain"]);
    assert!(sandbox.path(".flow/runs").is_dir(), "git leaves what it ignores");
    assert_eq!(sandbox.flow(["list"]).ok().stderr, "no runs here\n");
    assert_eq!(sandbox.flow(["resume", "--json"]).exits(3).json()["verdict"], "none");
    let error = sandbox.flow(["show", &run, "--json"]).exits(3).error();
    assert_eq!(
        (error["code"].as_str(), error["help"].as_str()),
        (Some("run_elsewhere"), Some("they are on branch main; `flow list` shows the runs that are here"),)
    );
    for command in ["log", "verify"] {
        assert_eq!(sandbox.flow([command, &run, "--json"]).exits(3).error()["code"], "run_elsewhere", "{command}");
    }
    let error = sandbox.flow(["record-activity", "--run-id", &run, "--id", "x", "--json"]).exits(3).error();
    assert_eq!(error["code"], "run_elsewhere");
    let report = sandbox.flow(["doctor", "--json"]).ok().json();
    let codes: Vec<_> = report["findings"].as_array().unwrap().iter().map(|one| &one["code"]).collect();
    assert_eq!(codes, ["flow_elsewhere", "run_elsewhere"]);
    sandbox.git(&["add", "-A"]);
    let staged = sandbox.command("git").args(["status", "--porcelain"]).output().unwrap().stdout;
    assert_eq!(String::from_utf8(staged).unwrap(), "", "nothing of flow's is committed by accident");
    let other = sandbox.start("start-issue");
    sandbox.record(&other, "preflight", "pre");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "work here"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.flow(["resume", &run]).ok();
}

#[test]
fn a_run_in_which_this_checkout_recorded_nothing_is_elsewhere_as_well() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-q", "-c", "work"]);
    sandbox.start("debug");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "flow"]);
    sandbox.git(&["switch", "-q", "-c", "side"]);
    let run = sandbox.start("start-issue");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "a run without a record"]);
    sandbox.git(&["switch", "-q", "work"]);
    assert!(!sandbox.run_dir(&run).join(".lock").exists(), "nothing was recorded");
    let error = sandbox.flow(["record-activity", "--run-id", &run, "--id", "x", "--json"]).exits(3).error();
    assert_eq!(error["code"], "run_elsewhere");
    assert_eq!(sandbox.flow(["resume", "--json"]).ok().json()["unreadable"], json!([]));
    sandbox.git(&["switch", "-q", "side"]);
    sandbox.record(&run, "preflight", "pre");
    sandbox.flow(["verify", &run]).ok();
}

/// What is not committed when a branch is left stays: the last record of a run, its evidence, a note of people's.
#[test]
fn a_run_of_which_something_was_not_committed_is_elsewhere_as_well() {
    let moves: [&[&[&str]]; 2] =
        [&[&["commit", "-q", "-a", "--allow-empty", "-m", "work"], &["switch", "-q", "plain"]], &[&["stash", "-q"]]];
    for (nth, moved) in moves.iter().enumerate() {
        for left in ["activities/002-more.yaml", "evidence/shot.png", "note.txt"] {
            let sandbox = Sandbox::new();
            sandbox.git(&["commit", "-q", "--allow-empty", "-m", "start"]);
            sandbox.git(&["branch", "plain"]);
            sandbox.flow(["start", "debug", "--id", "r1", "--issue", "7"]).ok();
            sandbox.record("r1", "preflight", "first");
            sandbox.git(&["add", "-A"]);
            if nth == 0 {
                sandbox.git(&["commit", "-qm", "a run"]);
            }
            if left.starts_with("activities") {
                sandbox.record("r1", "preflight", "more");
            } else {
                std::fs::create_dir_all(sandbox.run_dir("r1").join("evidence")).unwrap();
                std::fs::write(sandbox.run_dir("r1").join(left), "kept").unwrap();
            }
            moved.iter().for_each(|args| sandbox.git(args));
            assert!(sandbox.run_dir("r1").join(left).exists() && !sandbox.run_dir("r1").join("run.yaml").exists());
            let place = if nth == 0 { "they are on branch main" } else { "they are in the stash" };
            let named: [&[&str]; 4] = [
                &["resume", "r1", "--json"],
                &["record-activity", "--run-id", "r1", "--id", "x", "--json"],
                &["verify", "r1", "--json"],
                &["start", "debug", "--id", "r1", "--json"],
            ];
            for args in named {
                let error = sandbox.flow(args).exits(3).error();
                assert_eq!(error["code"], "run_elsewhere", "{left}: {error}");
                assert!(error["help"].as_str().unwrap().starts_with(place), "{left}: {error}");
            }
            let resumed = sandbox.flow(["resume", "--json"]).exits(3).json();
            assert_eq!((&resumed["verdict"], &resumed["unreadable"]), (&json!("none"), &json!([])), "{left}");
            assert_eq!(sandbox.flow(["hud"]).ok().stdout, "", "{left}");
            let report = sandbox.flow(["doctor", "--repair", "--json"]).ok().json();
            let findings = report["findings"].as_array().unwrap();
            assert!(findings.iter().any(|one| one["code"] == "run_elsewhere"), "{left}: {report}");
            assert!(!sandbox.path(".flow/.gitattributes").exists(), "{left}: git could not switch back");
            // Nothing of it keeps from other work, or from going back.
            sandbox.flow(["start", "debug", "--id", "r2", "--issue", "7"]).ok();
            std::fs::remove_file(sandbox.path(".flow/.gitattributes")).unwrap();
            let back: &[&str] = if nth == 0 { &["switch", "-q", "main"] } else { &["stash", "pop", "-q"] };
            sandbox.git(back);
            sandbox.record("r1", "preflight", "afterwards");
            sandbox.assert_sound("r1");
        }
    }
}

#[test]
fn a_directory_with_neither_a_log_nor_a_place_in_git_is_damage() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.record("r1", "preflight", "first");
    for name in ["run.yaml", "events.jsonl"] {
        std::fs::remove_file(sandbox.run_dir("r1").join(name)).unwrap();
    }
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).exits(65).error()["code"], "run_empty");
    let report = sandbox.flow(["doctor", "--json"]).exits(65).json();
    assert!(report["findings"].as_array().unwrap().iter().any(|one| one["code"] == "run_empty"), "{report}");
}

#[test]
fn a_clone_keeps_locks_out_of_git_from_its_first_record_on() {
    let repo = Repo::new();
    let from = format!("file://{}", repo.sandbox.root().display());
    repo.sandbox.git(&["clone", "-q", &from, "../clone"]);
    assert!(!repo.sandbox.path("../clone/.flow/.gitignore").exists());
    let report = repo.sandbox.flow(["-C", "../clone", "doctor", "--json"]).ok().json();
    let codes: Vec<_> = report["findings"].as_array().unwrap().iter().map(|one| &one["code"]).collect();
    assert!(!codes.contains(&&json!("gitignore_incomplete")), "{codes:?}");
    repo.sandbox.flow(["-C", "../clone", "record-activity", "--id", "more"]).ok();
    let mut git = repo.sandbox.command("git");
    let others = git.args(["-C", "../clone", "ls-files", "--others", "--exclude-standard"]).output().unwrap().stdout;
    let others = String::from_utf8(others).unwrap();
    assert_eq!(others, format!(".flow/runs/{}/activities/002-more.yaml\n", repo.run));
}

#[test]
fn a_branch_without_flow_is_no_dead_end_when_what_git_ignores_is_gone_as_well() {
    for forget in ["git clean -fdXq", "rm .flow/runs/*/.lock"] {
        let repo = Repo::new();
        repo.sandbox.git(&["branch", "plain", "HEAD~1"]);
        let mut shell = repo.sandbox.command("sh");
        assert!(shell.args(["-c", forget]).status().unwrap().success());
        repo.switch("plain");
        for args in [&["list"][..], &["mode", "list"]] {
            repo.flow(args).ok();
        }
        assert_eq!(repo.flow(&["show", &repo.run, "--json"]).exits(3).error()["code"], "run_elsewhere", "{forget}");
        let taken = repo.flow(&["start", "debug", "--id", &repo.run, "--json"]).exits(3).error();
        assert_eq!(taken["code"], "run_elsewhere", "{forget}");
        repo.switch("main");
        repo.record("explore", "look");
        repo.assert_sound();
    }
}

#[test]
fn a_log_that_git_took_away_is_put_back_and_not_declared_lost() {
    let repo = Repo::new();
    repo.sandbox.git(&["branch", "plain", "HEAD~1"]);
    repo.sandbox.edit(&repo.run, "goal: null", "goal: by hand");
    repo.sandbox.git(&["stash", "-q"]);
    repo.switch("plain");
    repo.try_git(&["stash", "pop", "-q"]);
    assert!(!repo.sandbox.run_dir(&repo.run).join("events.jsonl").exists());
    let report = repo.flow(&["resume", &repo.run, "--json"]).exits(4).json();
    assert_eq!(report["verdict"], "rewound");
    let ways: Vec<_> = report["next"]["alternatives"].as_array().unwrap().iter().map(|way| &way["command"]).collect();
    assert!(ways.contains(&&json!("git switch main")), "{ways:?}");
    let refused = repo.flow(&["record-activity", "--run-id", &repo.run, "--id", "x", "--json"]).exits(4).error();
    assert_eq!(refused["code"], "log_rewound");
    assert!(!repo.sandbox.run_dir(&repo.run).join("events.jsonl").exists(), "nothing was written");
    let findings = repo.flow(&["doctor", "--repair", "--json"]).json()["findings"].to_string();
    assert!(findings.contains("log_put_back"), "{findings}");
    assert!(!repo.sandbox.run_dir(&repo.run).join("events.jsonl").exists(), "only a person decides this");
}

#[test]
fn events_that_git_has_are_never_declared_lost_by_a_repair_that_names_no_run() {
    for (damage, gone) in [
        ("its end was cut off", "event 4 is missing from the end of the log"),
        ("it was emptied", "events 1 to 4 are missing from the end of the log"),
        ("a line was removed", "event 2 is missing before this line"),
        ("a line was changed", "event 2 is missing before this line"),
    ] {
        let repo = Repo::new();
        repo.record("explore", "one");
        repo.record("explore", "two");
        repo.sandbox.git(&["add", "-A"]);
        repo.sandbox.git(&["commit", "-qm", "all of it"]);
        let log = repo.sandbox.run_dir(&repo.run).join("events.jsonl");
        let text = std::fs::read_to_string(&log).unwrap();
        let lines: Vec<_> = text.lines().collect();
        let damaged = match damage {
            "its end was cut off" => lines[..lines.len() - 1].join("\n") + "\n",
            "it was emptied" => String::new(),
            "a line was removed" => [&lines[..1], &lines[2..]].concat().join("\n") + "\n",
            _ => text.replacen("\"seq\":2", "\"seq\":8", 1),
        };
        std::fs::write(&log, &damaged).unwrap();
        let report = repo.flow(&["resume", &repo.run, "--json"]).exits(4).json();
        assert_eq!(report["verdict"], "rewound", "{damage}");
        let way = report["next"]["alternatives"][0]["command"].as_str().unwrap().to_owned();
        let repaired = repo.flow(&["doctor", "--repair", "--json"]).json().to_string();
        assert!(repaired.contains(gone) && repaired.contains("git keeps it"), "{damage}: {repaired}");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), damaged, "{damage}");
        if damage.starts_with("it") {
            let refused = repo.flow(&["record-activity", "--run-id", &repo.run, "--id", "x", "--json"]).exits(4);
            assert_eq!(refused.error()["code"], "log_rewound", "{damage}");
        }
        let words: Vec<_> = way.split(' ').skip(1).collect();
        repo.sandbox.git(&words);
        assert_eq!(std::fs::read_to_string(&log).unwrap(), text, "{damage}");
        repo.assert_sound();
    }
}

#[test]
fn a_way_back_works_in_a_directory_below_and_where_a_remote_is_merged_already() {
    let repo = Repo::new();
    repo.record("explore", "one");
    repo.sandbox.git(&["add", "-A"]);
    repo.sandbox.git(&["commit", "-qm", "one"]);
    repo.sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    repo.sandbox.git(&["rm", "-q", &format!(".flow/runs/{}/events.jsonl", repo.run)]);
    repo.sandbox.git(&["commit", "-qm", "without its log"]);
    std::fs::create_dir(repo.sandbox.path("below")).unwrap();
    let mut command = repo.sandbox.flow_command();
    command.current_dir(repo.sandbox.path("below")).args(["resume", &repo.run, "--json"]);
    let report = run(command, "").exits(4).json();
    let way = report["next"]["alternatives"][0]["command"].as_str().unwrap().to_owned();
    let mut shell = repo.sandbox.command("sh");
    shell.current_dir(repo.sandbox.path("below")).args(["-c", &way]);
    run(shell, "").ok();
    assert_eq!(repo.verdict(), "continue", "{way}");
    repo.assert_sound();
}

#[test]
fn a_log_whose_removal_is_staged_comes_back_by_the_proposed_command() {
    let repo = Repo::new();
    let log = format!(".flow/runs/{}/events.jsonl", repo.run);
    repo.sandbox.git(&["rm", "-q", &log]);
    let report = repo.flow(&["resume", &repo.run, "--json"]).exits(4).json();
    let way = report["next"]["alternatives"][0]["command"].as_str().unwrap().to_owned();
    let words: Vec<_> = way.split(' ').skip(1).collect();
    repo.sandbox.git(&words);
    assert_eq!(repo.verdict(), "continue");
    repo.assert_sound();
}

#[test]
fn the_rest_of_a_run_is_found_on_remotes_and_under_tags() {
    let repo = Repo::new();
    let from = format!("file://{}", repo.sandbox.root().display());
    repo.sandbox.git(&["clone", "-q", "--bare", &from, "../origin.git"]);
    repo.sandbox.git(&["remote", "add", "backup", "../origin.git"]);
    repo.sandbox.git(&["switch", "-q", "-c", "side"]);
    repo.record("explore", "look");
    repo.commit();
    repo.sandbox.git(&["push", "-q", "backup", "side"]);
    repo.sandbox.git(&["tag", "looked"]);
    repo.switch("main");
    repo.sandbox.git(&["branch", "-q", "-D", "side"]);
    let report = repo.flow(&["resume", "--json"]).exits(4).json();
    let ways: Vec<_> = report["next"]["alternatives"].as_array().unwrap().iter().map(|way| &way["command"]).collect();
    assert_eq!(ways[..2], [&json!("git merge backup/side"), &json!("git merge looked")]);
    let proof = repo.flow(&["verify", &repo.run, "--json"]).ok().json();
    assert!(proof["notes"].to_string().contains("an older version of the run was put back"), "{proof}");
    repo.try_git(&["merge", "-q", "backup/side"]);
    assert_eq!(repo.verdict(), "continue");
}

#[test]
fn an_id_of_a_run_that_git_has_is_not_used_again_when_its_files_were_removed() {
    for is_committed in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.git(&["init", "-q"]);
        sandbox.flow(["start", "debug", "--id", "r1"]).ok();
        sandbox.flow(["start", "debug", "--id", "other"]).ok();
        sandbox.git(&["add", "-A"]);
        if is_committed {
            sandbox.git(&["commit", "-qm", "runs"]);
        }
        std::fs::remove_dir_all(sandbox.run_dir("r1")).unwrap();
        for args in [
            &["start", "debug", "--id", "r1", "--json"][..],
            &["fork", "other", "--id", "r1", "--json"],
            &[
                "emit",
                "--workflow",
                "debug",
                "--run-id",
                "r1",
                "--type",
                "btw_update",
                "--data",
                "{\"message\":\"a\"}",
                "--json",
            ],
        ] {
            let error = sandbox.flow(args).exits(3).error();
            assert_eq!(error["code"], "run_elsewhere", "{error}");
            let help = error["help"].as_str().unwrap();
            assert!(help.contains("git restore -- .flow/runs/r1`"), "{help}");
        }
        sandbox.git(&["restore", "--", ".flow/runs/r1"]);
        sandbox.record("r1", "preflight", "afterwards");
        sandbox.assert_sound("r1");
        if is_committed {
            sandbox.git(&["rm", "-rqf", ".flow/runs/r1"]);
            std::fs::remove_dir_all(sandbox.run_dir("r1")).unwrap();
            let help = sandbox.flow(["start", "debug", "--id", "r1", "--json"]).exits(3).error()["help"].clone();
            let restore = "git restore --source=HEAD --staged --worktree -- .flow/runs/r1`";
            assert!(help.as_str().unwrap().contains(restore), "{help}");
        }
    }
}

#[test]
fn a_run_of_another_worktree_is_found_by_its_name() {
    let sandbox = Sandbox::new();
    sandbox.git(&["worktree", "add", "-q", "../tree", "-b", "tree"]);
    let tree = std::fs::canonicalize(sandbox.path("../tree")).unwrap();
    let run = sandbox.start("start-issue");
    let root = std::fs::canonicalize(sandbox.root()).unwrap();
    let there = |args: &[&str]| sandbox.flow(["-C", "../tree"].iter().chain(args));
    let told = format!("name it with -C {}", root.display());
    let refused = there(&["resume", &run, "--json"]).exits(3).error();
    assert!(refused["help"].as_str().unwrap().contains(&told), "{refused}");
    there(&["init"]).ok();
    let refused = there(&["resume", &run, "--json"]).exits(3).error();
    let told = format!("it is in another worktree: name that with -C {}", root.display());
    assert_eq!(refused["help"], told);
    for name in ["42", "#42", "issue-42", &run[..12]] {
        let refused = there(&["resume", name, "--json"]).exits(3).error();
        assert_eq!(refused["help"], told, "{name}");
    }
    // A run there that cannot be read is told of as well.
    std::fs::write(sandbox.run_dir(&run).join("run.yaml"), "state: [\n").unwrap();
    let listed = there(&["list", "--worktrees"]).ok().stdout;
    assert!(listed.contains(&format!("{run} cannot be read")), "{listed}");
    assert!(tree.join(".flow").is_dir());
}

#[test]
fn a_fresh_clone_a_shallow_one_and_a_worktree_go_on_without_a_word() {
    let repo = Repo::new();
    repo.record("explore", "look");
    repo.commit();
    let from = format!("file://{}", repo.sandbox.root().display());
    let copies: [&[&str]; 3] = [
        &["clone", "-q", &from, "../clone"],
        &["clone", "-q", "--depth", "1", &from, "../shallow"],
        &["worktree", "add", "-q", "../tree", "-b", "tree"],
    ];
    for args in copies {
        repo.sandbox.git(args);
        let place = args.iter().find(|arg| arg.starts_with("../")).unwrap();
        let within = |rest: &[&str]| repo.sandbox.flow(["-C", place].iter().chain(rest));
        assert_eq!(within(&["resume", "--json"]).ok().json()["verdict"], "continue", "{place}");
        within(&["record-activity", "--id", "more"]).ok();
        within(&["verify"]).ok();
    }
}

#[test]
fn a_clone_that_never_wrote_a_run_does_not_go_on_from_a_log_older_than_its_commit() {
    let repo = Repo::new();
    repo.record("explore", "look");
    repo.record("explore", "think");
    repo.commit();
    let from = format!("file://{}", repo.sandbox.root().display());
    // Paths stand in the index in several ways.
    let indexes: [(&str, &[&str]); 4] = [
        ("as-it-is", &["status"]),
        ("short-paths", &["update-index", "--index-version", "4"]),
        ("split", &["update-index", "--split-index"]),
        ("worktree", &["worktree", "add", "-q", "../clone-worktree-inner", "-b", "inner"]),
    ];
    for (n, (name, index)) in indexes.into_iter().enumerate() {
        let go_on = n % 2 == 1;
        let mut place = format!("../clone-{name}");
        repo.sandbox.git(&["clone", "-q", &from, &place]);
        repo.sandbox.git(&[&["-C", &place], index].concat());
        if name == "worktree" {
            place.push_str("-inner");
        }
        let log = repo.sandbox.root().join(&place).join(".flow/runs").join(&repo.run).join("events.jsonl");
        let committed = std::fs::read(&log).unwrap();
        repo.sandbox.git(&["-C", &place, "checkout", "-q", "HEAD~1", "--", ".flow/runs"]);
        assert_ne!(std::fs::read(&log).unwrap(), committed);
        let within = |rest: &[&str]| repo.sandbox.flow(["-C", &place].iter().chain(rest));
        let answer = within(&["resume", "--json"]).exits(4).json();
        assert_eq!(answer["verdict"], "rewound", "{answer}");
        let refused = within(&["record-activity", "--id", "more", "--json"]).exits(4).error();
        assert_eq!(refused["code"], "log_rewound");
        let found = within(&["doctor", &repo.run, "--json"]).json();
        assert_eq!(found["findings"][0]["code"], "log_put_back", "{found}");
        if go_on {
            within(&["doctor", &repo.run, "--repair"]).ok();
            within(&["record-activity", "--id", "more"]).ok();
            let shown = within(&["show", &repo.run, "--json"]).ok().json();
            assert!(shown["state"]["completed_activities"].as_array().unwrap().contains(&"more".into()), "{shown}");
        } else {
            let command = answer["next"]["alternatives"][0]["command"].as_str().unwrap();
            let words: Vec<_> = command.split(' ').skip(1).collect();
            repo.sandbox.git(&[&["-C", &place][..], &words].concat());
            assert_eq!(std::fs::read(&log).unwrap(), committed, "{command}");
            within(&["record-activity", "--id", "more"]).ok();
        }
        within(&["verify", &repo.run]).ok();
        assert_ne!(within(&["resume", "--json"]).json()["verdict"], "rewound");
    }
}

#[test]
fn a_run_that_cannot_be_read_is_never_nothing() {
    let repo = Repo::new();
    std::fs::write(repo.sandbox.run_dir(&repo.run).join("run.yaml"), "state: [\n").unwrap();
    let answer = repo.flow(&["resume", "--json"]).exits(65).json();
    assert_eq!(
        (answer["verdict"].as_str(), answer["next"]["command"].as_str()),
        (Some("unreadable"), Some("flow doctor"))
    );
    assert_eq!(answer["unreadable"][0]["run_id"], *repo.run);
    repo.flow(&["record-activity", "--id", "x"]).exits(65);
}

#[test]
fn open_runs_of_other_worktrees_are_named_or_counted() {
    let repo = Repo::new();
    repo.sandbox.git(&["worktree", "add", "-q", "../tree", "-b", "tree"]);
    repo.flow(&["complete", &repo.run, "--skip-reason", "enough"]).exits(0);
    let tree = std::fs::canonicalize(repo.sandbox.path("../tree")).unwrap();
    let told = "1 run is open in other worktrees; --worktrees shows them\n";
    assert_eq!(repo.flow(&["doctor"]).ok().stderr, told);
    let answer = repo.flow(&["resume"]).exits(3);
    assert_eq!(answer.stderr, told);
    let command = format!("flow -C {} resume", tree.display());
    assert!(answer.stdout.contains(&command), "{}", answer.stdout);
    for more in 1..=5 {
        repo.flow(&["-C", "../tree", "start", "debug", "--id", &format!("more-{more}")]).ok();
    }
    let listed = repo.flow(&["list"]).ok();
    assert!(listed.stdout.contains(&format!("  in worktree {}\n    debug  more-5", tree.display())), "{listed:?}");
    assert_eq!(listed.stderr, "1 more run is open in other worktrees; --worktrees shows them\n");
    let named = repo.flow(&["list", "--json"]).ok().json()["worktrees"][0].clone();
    assert_eq!((&named["path"], &named["open_runs"]), (&json!(tree), &json!(6)));
    assert_eq!(named["runs"].as_array().unwrap().len(), 5);
    assert!(repo.flow(&["attention"]).ok().stderr.starts_with("no run of this worktree needs you\n"));
    assert!(repo.flow(&["attention", "--all"]).ok().stderr.starts_with("no run is open in this worktree\n"));
    let list = repo.flow(&["list", "--worktrees"]).ok().stdout;
    assert!(list.contains("  issue-42  "), "{list}");
    let report = repo.flow(&["doctor", "--worktrees", "--json"]).ok().json();
    assert_eq!(
        (report["runs"].as_u64(), report["worktrees"][0]["runs"][5]["run_id"].as_str()),
        (Some(7), Some(&*repo.run))
    );
    // From there nothing is open elsewhere.
    let there = repo.flow(&["-C", "../tree", "resume", "--json"]).ok().json();
    assert_eq!(there["worktrees"], json!([]));
}

#[test]
fn a_bare_repository_names_the_runs_of_its_worktrees() {
    let repo = Repo::new();
    repo.sandbox.git(&["clone", "-q", "--bare", ".", "../hub.git"]);
    repo.sandbox.git(&["-C", "../hub.git", "worktree", "add", "-q", "../tree", "-b", "tree"]);
    let (hub, tree) = (repo.sandbox.path("../hub.git"), repo.sandbox.path("../tree").canonicalize().unwrap());
    let flow = |args: &[&str]| {
        let mut command = repo.sandbox.flow_command();
        command.args(args).current_dir(&hub);
        run(command, "")
    };
    for own in [false, true] {
        if own {
            flow(&["start", "debug", "--id", "own"]).ok();
        }
        for args in [&["list", "--json"][..], &["attention", "--json"], &["resume", "--worktrees", "--json"]] {
            let told = flow(args).json();
            assert_eq!(told["worktrees"][0]["path"], tree.to_str().unwrap(), "{args:?}: {told}");
            assert_eq!(told["worktrees"][0]["runs"][0]["run_id"], repo.run.as_str(), "{args:?}: {told}");
        }
        let list = flow(&["list", "--worktrees"]).ok().stdout;
        assert!(list.contains(&format!("in worktree {}", tree.display())), "{list}");
    }
}

#[test]
fn a_worktree_without_flow_tells_of_the_work_in_the_others() {
    let sandbox = Sandbox::new();
    sandbox.git(&["worktree", "add", "-q", "../tree", "-b", "tree"]);
    let run = sandbox.start("start-issue");
    let answer = sandbox.flow(["-C", "../tree", "resume", "--worktrees", "--json"]).exits(3).json();
    assert_eq!(answer["verdict"], "none");
    assert_eq!(answer["worktrees"][0]["runs"][0]["run_id"], *run);
    let way = answer["next"]["alternatives"][0]["command"].as_str().unwrap();
    let words: Vec<_> = way.split(' ').skip(1).collect();
    assert_eq!(sandbox.flow(words).ok().stdout.lines().next().unwrap().split_whitespace().nth(1), Some(&*run));
}

#[test]
fn a_submodule_is_told_of_the_project_around_it() {
    let sandbox = Sandbox::new();
    sandbox.start("start-issue");
    std::fs::create_dir_all(sandbox.path("sub")).unwrap();
    sandbox.git(&["init", "-q", "sub"]);
    let error = sandbox.flow(["-C", "sub", "show", "--json"]).exits(3).error();
    let root = std::fs::canonicalize(sandbox.root()).unwrap();
    let help = error["help"].as_str().unwrap();
    assert!(help.contains(&format!("-C {};", root.display())), "{help}");
    let report = sandbox.flow(["-C", "sub", "resume", "--json"]).exits(3).json();
    assert_eq!(report["next"]["alternatives"][0]["command"], format!("flow -C {} resume", root.display()));
    for verb in ["list", "attention"] {
        let report = sandbox.flow(["-C", "sub", verb, "--json"]).ok().json();
        let there =
            format!("the repository around this one has a .flow; `flow -C {} {verb}` looks there", root.display());
        assert_eq!(report["notes"], json!([there]));
    }
    let report = sandbox.flow(["-C", "sub", "doctor", "--json"]).exits(3).json();
    assert!(report["findings"][0]["message"].as_str().unwrap().contains(help), "{report}");
}

#[test]
fn a_run_yaml_of_the_other_side_lets_nothing_be_written_before_the_repair() {
    let repo = Repo::new();
    repo.sandbox.git(&["branch", "side"]);
    repo.record("explore", "ours");
    repo.commit();
    repo.switch("side");
    repo.repair();
    repo.record("preflight", "theirs");
    repo.commit();
    repo.switch("main");
    repo.try_git(&["merge", "side"]);
    let run_yaml = format!(".flow/runs/{}/run.yaml", repo.run);
    repo.sandbox.git(&["checkout", "-q", "--theirs", "--", &run_yaml]);
    assert_eq!(repo.verdict(), "conflict");
    let before = repo.sandbox.read(&repo.run, "events.jsonl");
    for args in [&["--id", "x"][..], &["--id", "x", "--phase", "explore"]] {
        let record = ["record-activity", "--run-id", &repo.run, "--json"];
        let error = repo.flow(&[&record[..], args].concat()).exits(65).error();
        assert_eq!(error["code"], "run_conflict", "{args:?}");
    }
    assert_eq!(repo.sandbox.read(&repo.run, "events.jsonl"), before);
    repo.repair();
    repo.assert_sound();
    assert!(repo.completed().contains(&"theirs".to_owned()) && repo.completed().contains(&"ours".to_owned()));
}

#[test]
fn a_clone_with_other_line_ends_is_no_damage_and_goes_on() {
    let repo = Repo::new();
    let evidence = repo.sandbox.run_dir(&repo.run).join("evidence");
    std::fs::create_dir_all(&evidence).unwrap();
    std::fs::write(evidence.join("seen.txt"), "one\ntwo\n").unwrap();
    repo.flow(&["record-activity", "--id", "ours", "--summary", "one", "--evidence", "evidence/seen.txt"]).ok();
    repo.sandbox.git(&["rm", "-q", "--cached", ".flow/.gitattributes", "--ignore-unmatch"]);
    std::fs::remove_file(repo.sandbox.path(".flow/.gitattributes")).unwrap();
    repo.sandbox.git(&["add", "--all"]);
    repo.sandbox.git(&["commit", "-qm", "runs"]);
    repo.sandbox.git(&["-c", "core.autocrlf=true", "clone", "-q", ".", "../clone"]);
    let text =
        std::fs::read_to_string(repo.sandbox.path(format!("../clone/.flow/runs/{}/run.yaml", repo.run))).unwrap();
    assert!(text.contains("\r\n"));
    let there = |args: &[&str]| repo.flow(&[&["-C", "../clone"], args].concat());
    assert_eq!(there(&["resume", "--json"]).ok().json()["verdict"], "continue");
    there(&["verify", &repo.run]).ok();
    let report = there(&["doctor", "--json"]).ok().json();
    let codes: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["gitattributes_incomplete", "line_ends", "line_ends"], "{report}");
    let recorded = there(&["record-activity", "--id", "theirs", "--json"]).ok().json();
    assert_eq!(recorded["warnings"], json!([]));
    there(&["verify", &repo.run]).ok();
    there(&["resume", &repo.run]).ok();
}

#[test]
fn rules_that_were_committed_are_taken_out_of_git_with_the_command_that_the_doctor_names() {
    let repo = Repo::new();
    repo.commit();
    let findings = || repo.flow(&["doctor", "--json"]).json()["findings"].clone();
    let tracked = || findings().as_array().unwrap().iter().find(|one| one["code"] == "gitignore_tracked").cloned();
    assert_eq!(tracked(), None);
    repo.sandbox.git(&["add", "--force", ".flow/.gitignore"]);
    repo.commit();
    let message = tracked().unwrap()["message"].as_str().unwrap().to_owned();
    let command = message.split('`').nth(1).unwrap();
    assert_eq!(command, "git rm --cached .flow/.gitignore");
    repo.sandbox.git(&command.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(tracked(), None);
    assert!(repo.sandbox.path(".flow/.gitignore").exists());
}

#[test]
fn a_log_that_a_commit_removed_is_named_with_the_commit_that_has_it() {
    let repo = Repo::new();
    let log = format!(".flow/runs/{}/events.jsonl", repo.run);
    repo.sandbox.git(&["rm", "-q", &log]);
    repo.commit();
    assert_eq!(repo.verdict(), "rewound");
    let answer = repo.flow(&["resume", &repo.run, "--json"]).exits(4).json();
    let command = answer["next"]["alternatives"][0]["command"].as_str().unwrap().to_owned();
    assert!(command.starts_with("git restore --source="), "{answer}");
    repo.flow(&["record-activity", "--run-id", &repo.run, "--id", "x"]).exits(4);
    // A repair that names no run does not decide that it is lost.
    repo.flow(&["doctor", "--repair"]);
    assert!(!repo.sandbox.path(&log).exists(), "the log was made anew");
    assert_eq!(repo.verdict(), "rewound");
    let words: Vec<_> = command.split(' ').skip(1).collect();
    repo.sandbox.git(&words);
    assert_eq!(repo.verdict(), "continue");
    repo.flow(&["verify", &repo.run]).ok();
}

#[test]
fn a_log_that_git_passes_over_is_brought_back_by_the_command_that_is_named() {
    let repo = Repo::new();
    let log = format!(".flow/runs/{}/events.jsonl", repo.run);
    repo.commit();
    repo.sandbox.git(&["update-index", "--skip-worktree", &log]);
    std::fs::remove_file(repo.sandbox.path(&log)).unwrap();
    let answer = repo.flow(&["resume", &repo.run, "--json"]).exits(4).json();
    let command = answer["next"]["alternatives"][0]["command"].as_str().unwrap().to_owned();
    repo.sandbox.git(&command.split(' ').skip(1).collect::<Vec<_>>());
    assert!(repo.sandbox.path(&log).exists(), "{command}");
    repo.flow(&["verify", &repo.run]).ok();
}

#[test]
fn a_record_that_a_revert_or_a_reset_took_away_is_named_with_the_commit_that_has_it() {
    for undo in [&["revert", "--no-edit", "HEAD"][..], &["reset", "-q", "--hard", "HEAD~1"]] {
        let repo = Repo::new();
        repo.record("explore", "look");
        repo.commit();
        let text = repo.sandbox.read(&repo.run, "events.jsonl");
        assert!(repo.try_git(undo));
        assert_ne!(repo.sandbox.read(&repo.run, "events.jsonl"), text);
        let answer = repo.flow(&["resume", &repo.run, "--json"]).exits(4).json();
        assert_eq!(answer["verdict"], "rewound", "{answer}");
        let command = answer["next"]["alternatives"][0]["command"].as_str().unwrap().to_owned();
        let refused = repo.flow(&["record-activity", "--run-id", &repo.run, "--id", "x", "--json"]).exits(4).error();
        assert!(refused["help"].as_str().unwrap().starts_with("the rest is on commit "), "{refused}");
        repo.sandbox.git(&command.split(' ').skip(1).collect::<Vec<_>>());
        assert_eq!(repo.sandbox.read(&repo.run, "events.jsonl"), text);
        repo.assert_sound();
    }
}

#[test]
fn events_that_only_another_version_has_are_put_beside_those_that_are_only_here() {
    let repo = Repo::new();
    repo.record("explore", "two");
    repo.commit();
    repo.record("explore", "three");
    let (log, file) = (repo.sandbox.run_dir(&repo.run).join("events.jsonl"), "activities/001-pre.yaml");
    let text = std::fs::read_to_string(&log).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    lines.remove(1);
    std::fs::write(&log, lines.join("\n") + "\n").unwrap();
    std::fs::remove_file(repo.sandbox.run_dir(&repo.run).join(file)).unwrap();
    let damaged = std::fs::read_to_string(&log).unwrap();

    let report = repo.flow(&["resume", &repo.run, "--json"]).exits(4).json();
    assert_eq!(report["verdict"], "rewound", "{report}");
    let refused = repo.flow(&["record-activity", "--run-id", &repo.run, "--id", "x", "--json"]).exits(4).error();
    assert_eq!(refused["code"], "log_rewound", "{refused}");
    assert_eq!(refused["message"], format!("event 2 is missing from the log of run {}, and git has it", repo.run));
    repo.flow(&["doctor", "--repair"]).exits(65);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), damaged, "only a person decides that it is lost");

    let way = report["next"]["alternatives"][0]["command"].as_str().unwrap();
    let mut shell = repo.sandbox.command("sh");
    shell.args(["-c", way]);
    run(shell, "").ok();
    assert_eq!(repo.verdict(), "continue", "{way}");
    assert_eq!(repo.completed(), ["pre", "two", "three"]);
    repo.flow(&["doctor", "--repair"]).ok();
    repo.assert_sound();
}

#[test]
fn the_rest_of_a_run_is_found_in_an_older_stash() {
    let repo = Repo::new();
    repo.record("explore", "kept");
    repo.sandbox.git(&["stash", "-q"]);
    std::fs::write(repo.sandbox.path("other"), "x").unwrap();
    repo.sandbox.git(&["add", "other"]);
    repo.sandbox.git(&["stash", "-q"]);
    let report = repo.flow(&["resume", &repo.run, "--json"]).exits(4).json();
    let way = report["next"]["alternatives"][0]["command"].as_str().unwrap().to_owned();
    repo.sandbox.git(&way.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(repo.completed(), ["pre", "kept"], "{way}");
}

#[test]
fn a_branch_that_another_worktree_has_is_merged_and_not_checked_out() {
    let repo = Repo::new();
    repo.sandbox.git(&["switch", "-q", "-c", "side"]);
    repo.record("explore", "kept");
    repo.commit();
    repo.switch("main");
    repo.sandbox.git(&["worktree", "add", "-q", "../side", "side"]);
    let report = repo.flow(&["resume", &repo.run, "--json"]).exits(4).json();
    assert_eq!(report["next"]["alternatives"][0]["command"], "git merge side");
    repo.sandbox.git(&["merge", "-q", "side"]);
    repo.assert_sound();
}

#[test]
fn a_clone_gives_no_number_twice_whose_file_is_there() {
    let repo = Repo::new();
    let dir = repo.sandbox.run_dir(&repo.run);
    let file = dir.join("activities/002-two.yaml");
    repo.sandbox.git(&["switch", "-q", "-c", "later"]);
    repo.record("explore", "two");
    repo.commit();
    let text = std::fs::read(&file).unwrap();
    repo.switch("main");
    std::fs::write(&file, text).unwrap();
    std::fs::remove_file(dir.join(".lock")).unwrap();
    let report = repo.flow(&["doctor", "--repair", "--json"]).ok().json();
    let unknown = report["findings"].as_array().unwrap().iter().find(|one| one["code"] == "activity_unknown").unwrap();
    assert_eq!(unknown["message"], "the log here has no such activity, and branch later has a longer log");
    assert!(file.exists());
    let recorded = repo.flow(&["record-activity", "--run-id", &repo.run, "--id", "other", "--json"]).ok().json();
    assert_eq!(recorded["number"], "003");
}

/// A clone with only `src` in its working tree.
fn sparse(repo: &Repo, dirs: &[&str]) -> String {
    std::fs::create_dir_all(repo.sandbox.path("src")).unwrap();
    std::fs::write(repo.sandbox.path("src/a"), "x").unwrap();
    repo.commit();
    repo.sandbox.git(&["clone", "-q", "--no-checkout", ".", "../sparse"]);
    repo.sandbox.git(&[&["-C", "../sparse", "sparse-checkout", "set"], dirs].concat());
    repo.sandbox.git(&["-C", "../sparse", "checkout", "-q", "main"]);
    "../sparse".to_owned()
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_neither_missing_nor_written_over() {
    let repo = Repo::new();
    repo.flow(&["set", &repo.run, "--issue", "42"]).ok();
    let there = sparse(&repo, &["src"]);
    let place = std::fs::canonicalize(repo.sandbox.path(&there)).unwrap();
    let flow = |args: &[&str]| repo.flow(&[&["-C", &there], args].concat());
    assert!(!place.join(".flow").exists());
    let refused = flow(&["start", "debug", "--json"]).exits(3).error();
    assert_eq!(refused["code"], "left_out");
    let help = refused["help"].as_str().unwrap();
    assert!(help.contains("sparse-checkout add .flow`"), "{help}");
    assert!(!place.join(".flow").exists(), "nothing was made");
    for args in [&["resume"][..], &["show", "42"], &["doctor"], &["record-activity", "--id", "x"]] {
        let refused = flow(&[args, &["--json"]].concat()).exits(3).error();
        assert_eq!(refused["code"], "left_out", "{args:?}: {refused}");
    }
    flow(&["list"]).ok();
    flow(&["hud"]).ok();

    // Only one run is here.
    repo.flow(&["start", "debug", "--id", "here"]).ok();
    repo.commit();
    repo.sandbox.git(&["-C", &there, "pull", "-q"]);
    repo.sandbox.git(&["-C", &there, "sparse-checkout", "set", "src", ".flow/runs/here"]);
    assert!(place.join(".flow/runs/here/run.yaml").exists());
    let add = format!("sparse-checkout add .flow/runs/{}`", repo.run);
    for args in [
        &["resume", repo.run.as_str()][..],
        &["show", &repo.run],
        &["start", "debug", "--id", &repo.run],
        &["start", "debug", "--issue", "42"],
        &[
            "emit",
            "--workflow",
            "build",
            "--run-id",
            &repo.run,
            "--type",
            "status_change",
            "--step",
            "requirements",
            "--data",
            r#"{"status":"running"}"#,
        ],
    ] {
        let refused = flow(args).exits(3);
        assert!(refused.stderr.contains("is not in this sparse checkout"), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains(&add), "{args:?}: {refused:?}");
    }
    assert!(!place.join(".flow/runs").join(&repo.run).join("run.yaml").exists());
    let findings = flow(&["doctor", "--repair", "--json"]).ok().json();
    assert!(!place.join(".flow/schemas/run.schema.json").exists(), "{findings}");
    let told: Vec<_> =
        findings["findings"].as_array().unwrap().iter().filter(|one| one["code"] == "left_out").collect();
    assert!(told.len() == 1 && told[0]["message"].as_str().unwrap().contains(&add), "{findings}");
    // The run that is here goes on, and the journal that is not here is left alone.
    flow(&["set", "here", "--issue", "7", "--another"]).ok();
    flow(&["record-activity", "--run-id", "here", "--id", "x"]).ok();
    repo.sandbox.git(&["-C", &there, "sparse-checkout", "add", &format!(".flow/runs/{}", repo.run)]);
    flow(&["resume", &repo.run]).ok();
}

#[test]
fn a_file_of_a_run_that_a_sparse_checkout_leaves_out_alone_is_not_written_over() {
    let repo = Repo::new();
    repo.sandbox.edit(&repo.run, "goal: null", "goal: keep me # a comment");
    repo.flow(&["start", "debug", "--id", "k9", "--issue", "PROJ-9"]).ok();
    let there = sparse(&repo, &["src", ".flow"]);
    let place = std::fs::canonicalize(repo.sandbox.path(&there)).unwrap();
    let flow = |args: &[&str]| repo.flow(&[&["-C", &there], args].concat());
    for (file, id) in [("run.yaml", "one"), ("events.jsonl", "two")] {
        let path = format!(".flow/runs/{}/{file}", repo.run);
        repo.sandbox.git(&["-C", &there, "sparse-checkout", "set", "--no-cone", "/*", &format!("!/{path}")]);
        assert!(!place.join(&path).exists());
        let refused = flow(&["record-activity", "--run-id", &repo.run, "--id", "x", "--json"]).exits(3).error();
        assert_eq!(refused["code"], "left_out", "{refused}");
        assert!(!place.join(&path).exists(), "nothing was written");
        if file == "events.jsonl" {
            let refused = flow(&["resume", &repo.run, "--json"]).exits(3).error();
            assert_eq!(refused["code"], "left_out", "{refused}");
        }
        repo.sandbox.git(&["-C", &there, "sparse-checkout", "add", &path]);
        flow(&["record-activity", "--run-id", &repo.run, "--id", id]).ok();
        repo.sandbox.git(&["-C", &there, "add", "-A"]);
        repo.sandbox.git(&["-C", &there, "commit", "-qm", id]);
    }
    assert!(
        std::fs::read_to_string(place.join(format!(".flow/runs/{}/run.yaml", repo.run)))
            .unwrap()
            .contains("# a comment")
    );
    repo.sandbox.git(&["-C", &there, "sparse-checkout", "set", "--no-cone", "/*", "!/.flow/runs/k9"]);
    assert_eq!(flow(&["start", "debug", "--issue", "proj-9", "--json"]).exits(3).error()["code"], "left_out");
}

#[test]
fn what_stands_beside_the_runs_is_not_absent_where_a_sparse_checkout_leaves_it_out() {
    let repo = Repo::new();
    let diagram = "stateDiagram-v2\n[*] --> a\na --> [*]\n";
    for name in ["mine", "debug"] {
        std::fs::write(repo.sandbox.path(format!(".flow/workflows/{name}.mmd")), diagram).unwrap();
    }
    std::fs::write(repo.sandbox.path(".flow/config.yaml"), "journal: false\n").unwrap();
    repo.flow(&["start", "debug", "--id", "Run", "--issue", "77"]).ok();
    let there = sparse(&repo, &["src", ".flow"]);
    let git = |args: &[&str]| repo.sandbox.git(&[&["-C", &there], args].concat());
    let flow = |args: &[&str]| repo.flow(&[&["-C", &there], args].concat());
    let told = |args: &[&str], path: &str| {
        let refused = flow(&[args, &["--json"]].concat()).exits(3).error();
        assert_eq!(refused["code"], "left_out", "{args:?}: {refused}");
        assert!(
            refused["help"].as_str().unwrap().contains(&format!("sparse-checkout add {path}`")),
            "{args:?}: {refused}"
        );
    };
    git(&["sparse-checkout", "set", "--no-cone", "/*", "!/.flow/workflows"]);
    told(&["workflow", "show", "mine"], ".flow/workflows/mine.mmd");
    // The shipped one of this name is another one.
    told(&["start", "debug", "--another"], ".flow/workflows/debug.mmd");
    assert_eq!(flow(&["resume", "Run", "--json"]).ok().json()["verdict"], "continue");

    git(&["sparse-checkout", "set", "--no-cone", "/*", "!/.flow/config.yaml"]);
    told(&["start", "debug", "--another"], ".flow/config.yaml");
    git(&["sparse-checkout", "set", "--no-cone", "/*", "!/.flow/runs/Run"]);
    told(&["show", "77"], ".flow/runs/Run");
    assert_eq!(flow(&["start", "debug", "--id", "rUN", "--json"]).exits(1).error()["code"], "run_exists");
}

#[test]
fn a_flow_directory_below_the_top_that_a_sparse_checkout_leaves_out_is_not_absent() {
    let repo = Repo::new();
    std::fs::create_dir_all(repo.sandbox.path("app")).unwrap();
    std::fs::rename(repo.sandbox.path(".flow"), repo.sandbox.path("app/.flow")).unwrap();
    let there = sparse(&repo, &["src"]);
    std::fs::create_dir(repo.sandbox.path(&there).join("app")).unwrap();
    let refused = repo.flow(&["-C", &format!("{there}/app"), "start", "debug", "--json"]).exits(3).error();
    assert_eq!(refused["code"], "left_out", "{refused}");
    // By cones a directory is added, and not a file.
    let refused = repo.flow(&["-C", &there, "start", "mine", "--json"]).exits(3).error();
    assert_eq!(refused["code"], "unknown_workflow", "{refused}");
}

#[test]
fn a_sparse_checkout_of_which_git_tells_nothing_begins_no_second_run() {
    let repo = Repo::new();
    repo.flow(&["start", "debug", "--id", "k9", "--issue", "PROJ-9"]).ok();
    let there = sparse(&repo, &["src", ".flow"]);
    let git = |args: &[&str]| repo.sandbox.git(&[&["-C", &there], args].concat());
    git(&["sparse-checkout", "set", "--no-cone", "/*", "!/.flow/runs/k9"]);
    let start = |args: &[&str]| repo.flow(&[&["-C", &there, "start", "debug", "--json"], args].concat());

    // As a partial clone, which has not the file either.
    let mut command = repo.sandbox.command("git");
    command.args(["-C", &there, "rev-parse", "HEAD:.flow/runs/k9/run.yaml"]);
    let blob = run(command, "").ok().stdout;
    let object = format!("{there}/.git/objects/{}/{}", &blob[..2], blob[2..].trim());
    std::fs::remove_file(repo.sandbox.path(&object)).unwrap();
    let refused = start(&["--issue", "PROJ-9"]).exits(3).error();
    assert_eq!(refused["code"], "left_out", "{refused}");

    std::fs::write(repo.sandbox.path(&there).join(".git/index"), "not an index").unwrap();
    for args in [["--issue", "PROJ-9"], ["--id", "k9"]] {
        let refused = start(&args).exits(74).error();
        assert_eq!(refused["code"], "left_out_unknown", "{refused}");
    }
    assert!(!repo.sandbox.path(&there).join(".flow/runs/k9").exists());
}

#[test]
fn a_clone_in_which_every_run_lacks_run_yaml_is_no_other_programs() {
    for is_ruled in [true, false] {
        let repo = Repo::new();
        repo.sandbox.git(&["rm", "-q", "--cached", &format!(".flow/runs/{}/run.yaml", repo.run)]);
        if !is_ruled {
            repo.sandbox.git(&["rm", "-q", ".flow/.gitattributes"]);
            repo.sandbox.git(&["rm", "-rq", &format!(".flow/runs/{}/activities", repo.run)]);
        }
        repo.sandbox.git(&["commit", "-qm", "without it"]);
        repo.sandbox.git(&["clone", "-q", ".", "../clone"]);
        let there = |args: &[&str]| repo.flow(&[&["-C", "../clone"], args].concat());
        assert_eq!(there(&["resume", "--json"]).ok().json()["run_id"], *repo.run);
        there(&["doctor", "--repair"]).ok();
        there(&["record-activity", "--id", "on"]).ok();
        there(&["verify"]).ok();
    }
}

#[test]
fn a_repair_that_cannot_be_finished_leaves_run_yaml_where_it_is() {
    let repo = Repo::new();
    repo.record("explore", "look");
    let (run_yaml, log) =
        (repo.sandbox.read(&repo.run, "run.yaml"), repo.sandbox.run_dir(&repo.run).join("events.jsonl"));
    // An older log that git put back, and a run.yaml with the markers of a cherry-pick.
    let text = std::fs::read_to_string(&log).unwrap();
    let shorter: Vec<_> = text.lines().take(2).collect();
    std::fs::write(&log, shorter.join("\n") + "\n").unwrap();
    let marked = run_yaml.replacen("state:", "<<<<<<< HEAD\nstate:\n=======\n>>>>>>> b", 1);
    std::fs::write(repo.sandbox.run_dir(&repo.run).join("run.yaml"), &marked).unwrap();
    let report = repo.flow(&["doctor", "--repair", "--json"]).exits(65).json();
    let left: Vec<_> = report["findings"].as_array().unwrap().iter().filter(|one| one["state"] == "left").collect();
    let codes: Vec<_> = left.iter().map(|one| one["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["run_yaml_conflict", "log_put_back", "activity_unknown"], "{report:#}");
    assert_eq!(report["plan"], json!([]));
    assert_eq!(repo.sandbox.read(&repo.run, "run.yaml"), marked);
    // A repair that names the run goes on from the log that is here.
    repo.repair();
    repo.assert_sound();
}

/// A run that git does not have yet keeps `.flow` there.
#[test]
fn rules_for_git_that_a_sparse_checkout_leaves_out_are_not_written() {
    let repo = Repo::new();
    let there = sparse(&repo, &["src", ".flow"]);
    let place = std::fs::canonicalize(repo.sandbox.path(&there)).unwrap();
    let flow = |args: &[&str]| repo.flow(&[&["-C", &there], args].concat());
    flow(&["start", "debug", "--id", "new", "--another"]).ok();
    flow(&["cancel", "new", "--reason", "x"]).ok();
    repo.sandbox.git(&["-C", &there, "sparse-checkout", "set", "src"]);
    let rules = place.join(".flow/.gitattributes");
    assert!(!rules.exists() && place.join(".flow/runs/new").exists());
    let report = flow(&["doctor", "--repair", "--json"]).ok().json();
    let codes: Vec<_> = report["findings"].as_array().unwrap().iter().map(|one| one["code"].clone()).collect();
    assert_eq!(codes, ["left_out"], "{report}");
    flow(&["init"]).ok();
    flow(&["start", "debug", "--another"]).ok();
    std::fs::remove_file(place.join(".flow/.gitignore")).unwrap();
    flow(&["record-activity", "--id", "x"]).ok();
    let refused = flow(&["prune", "--older-than", "0d", "--yes", "--json"]).exits(3).error();
    assert!(refused["help"].as_str().unwrap().contains("sparse-checkout add .flow`"), "{refused}");
    assert!(!rules.exists());
}

#[test]
fn a_journal_that_a_sparse_checkout_leaves_out_is_left_alone() {
    let repo = Repo::new();
    repo.flow(&["start", "debug", "--id", "r7", "--issue", "7"]).ok();
    let there = sparse(&repo, &["src", ".flow"]);
    let flow = |args: &[&str]| repo.flow(&[&["-C", &there], args].concat());
    let answer = flow(&["cancel", "r7"]).ok();
    let warning = "warning: the journal .decisions/issue-7.md was not updated: .decisions/issue-7.md is not in this sparse checkout, and git has it; `git -C ";
    assert!(answer.stderr.starts_with(warning), "{answer:?}");
    let add = " sparse-checkout add .decisions` brings it for what is noted from then on\n";
    assert!(answer.stderr.ends_with(add), "{answer:?}");
    assert!(!repo.sandbox.path(&there).join(".decisions").exists());
}

/// Files outside of runs that flow reads or writes for people.
#[test]
fn what_a_sparse_checkout_leaves_out_beside_the_runs_is_not_written_over() {
    let repo = Repo::new();
    let committed = [
        ("docs/p.md", "# Ours\n"),
        (".claude/settings.json", "{}\n"),
        (".agents/skills/flow-resume/SKILL.md", "ours\n"),
        (".mcp.json", "{}\n"),
        (".cursor/mcp.json", "{}\n"),
        ("out/r.html", "ours\n"),
        ("kept/runs/r1/run.yaml", "ours\n"),
        (".flow/state/ralph-state.json", "{}\n"),
        (".flow/workflows/mine.workflow.yaml", "ours\n"),
        (".flow/interviews/charter.interview.yaml", "ours\n"),
        (".flow/modes.yaml", "ours\n"),
    ];
    for (path, text) in committed {
        let path = repo.sandbox.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    repo.sandbox.git(&["add", "-f", "."]);
    repo.sandbox.git(&["commit", "-qm", "ours"]);
    let there = sparse(&repo, &[".flow/runs"]);
    let place = std::fs::canonicalize(repo.sandbox.path(&there)).unwrap();
    let flow = |args: &[&str]| {
        let mut command = repo.sandbox.flow_command();
        command.args(args).current_dir(&place);
        run(command, "")
    };
    let status = || {
        let mut command = repo.sandbox.command("git");
        command.args(["status", "--porcelain", "--", ":!.flow/.lock"]).current_dir(&place);
        run(command, "").ok().stdout
    };
    for (args, add) in [
        (&["interview", "next", "docs/p.md"][..], "docs"),
        (&["interview", "start", "docs/p.md"], "docs"),
        (&["interview", "start", "new.md"], ".flow/interviews"),
        (&["interview", "run", "new.md", "--agent", "true", "--record", "out/r.html"], "out"),
        (&["interview", "run", "new.md", "--replay", "out/r.html"], "out"),
        (&["record-activity", "--run-id", repo.run.as_str(), "--activity-file", "out/r.html"], "out"),
        (&["emit", "--workflow", "debug", "--run-id", repo.run.as_str(), "--batch", "out/r.html"], "out"),
        (&["hooks", "install", "--scope", "project", "--host", "claude-code"], ".claude"),
        (&["setup", "claude-code", "--yes"], ".claude"),
        (&["hooks", "skill"], ".agents/skills/flow-resume"),
        (&["mode", "list"], ".flow/state"),
        (&["mode", "show", "ralph"], ".flow/state"),
        (&["mode", "request", "ralph"], ".flow/state"),
        (&["mode", "write", "ralph", "--data", "{}"], ".flow/state"),
        (&["mode", "clear", "ralph"], ".flow/state"),
        (&["mode", "policy"], ".flow/state"),
        (&["export", repo.run.as_str(), "--format", "html", "-o", "out/r.html"], "out"),
        (&["workflow", "new", "mine"], ".flow/workflows"),
        (&["prune", "--older-than", "0d", "--yes", "--to", "kept"], "kept"),
    ] {
        let refused = flow(args).exits(3);
        assert!(refused.stderr.contains("is not in this sparse checkout, and git has it"), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains(&format!("sparse-checkout add {add}`")), "{args:?}: {refused:?}");
        assert_eq!(status(), "", "{args:?}");
    }
    for (path, _) in committed {
        assert!([".mcp.json", ".flow/modes.yaml"].contains(&path) || !place.join(path).exists(), "{path}");
    }
    // What git has not can be made.
    flow(&["export", &repo.run, "--format", "html", "-o", "out/new.html"]).ok();
    flow(&["workflow", "new", "other"]).ok();
    repo.sandbox.git(&["-C", &there, "sparse-checkout", "set", "--no-cone", "/*", "!/.flow/modes.yaml"]);
    assert_eq!(flow(&["mode", "list", "--json"]).exits(3).error()["code"], "left_out");
}

#[test]
fn a_run_yaml_that_a_sparse_checkout_leaves_out_is_neither_missing_nor_to_be_rebuilt() {
    let repo = Repo::new();
    let there = sparse(&repo, &["src", ".flow"]);
    let path = format!(".flow/runs/{}/run.yaml", repo.run);
    repo.sandbox.git(&["-C", &there, "sparse-checkout", "set", "--no-cone", "/*", &format!("!/{path}")]);
    let flow = |args: &[&str]| repo.flow(&[&["-C", &there], args].concat());
    let refused = flow(&["verify", &repo.run, "--json"]).exits(3).error();
    assert_eq!(refused["code"], "left_out", "{refused}");
    for reader in ["resume", "show"] {
        let told = flow(&[reader, &repo.run]);
        let told = format!("{}{}", told.stdout, told.stderr);
        assert!(told.contains(&format!("sparse-checkout add {path}`")), "{reader}: {told}");
        assert!(!told.contains("rebuilds it"), "{reader}: {told}");
    }
}

#[test]
fn a_byte_order_mark_before_a_log_loses_no_event_and_a_changed_line_is_not_had_by_a_branch_that_has_it() {
    let repo = Repo::new();
    let log = repo.sandbox.run_dir(&repo.run).join("events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, format!("\u{feff}{text}")).unwrap();
    repo.assert_sound();
    repo.record("explore", "look");
    repo.commit();
    repo.assert_sound();
    // Exactly this line is in the commit.
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("\n{", "\n {", 1)).unwrap();
    repo.sandbox.git(&["commit", "-qam", "changed", "--amend"]);
    let resumed = repo.flow(&["resume", &repo.run, "--json"]);
    let answer = resumed.json();
    for way in answer["next"]["alternatives"].as_array().unwrap() {
        let command = way["command"].as_str().unwrap();
        assert!(!command.contains("--source=HEAD") && !command.contains("git switch main"), "{answer:#}");
    }
}

#[test]
fn a_run_that_git_took_away_is_offered_only_from_where_all_of_it_is() {
    let repo = Repo::new();
    repo.sandbox.git(&["branch", "older"]);
    repo.record("explore", "look");
    repo.sandbox.git(&["switch", "-q", "-c", "newer"]);
    repo.commit();
    repo.switch("main");
    repo.sandbox.git(&["rm", "-rq", ".flow/runs"]);
    repo.sandbox.git(&["commit", "-qm", "gone"]);
    let refused = repo.flow(&["resume", &repo.run, "--json"]).exits(3).error();
    let help = refused["help"].as_str().unwrap();
    insta::assert_snapshot!(help, @"they are on branch newer; `flow list` shows the runs that are here");
}
