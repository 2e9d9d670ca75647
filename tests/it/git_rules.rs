//! What git's own rules and layouts do to runs: filters, line ends, sparse checkouts, files that were removed.

use serde_json::Value;

use crate::support::{Sandbox, run};

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

fn codes(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
}

fn commit(sandbox: &Sandbox) {
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
}

#[test]
fn runs_stay_out_of_git_lfs_where_the_project_gives_such_files_to_it() {
    let lfs = "*.jsonl filter=lfs diff=lfs merge=lfs -text\n*.yaml filter=lfs diff=lfs merge=lfs -text\n";
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path(".gitattributes"), lfs).unwrap();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let filter = || {
        let mut command = sandbox.command("git");
        command.args(["check-attr", "filter", "merge", "--", ".flow/runs/r1/events.jsonl", ".flow/runs/r1/run.yaml"]);
        run(command, "").ok().stdout
    };
    insta::assert_snapshot!(filter(), @r"
    .flow/runs/r1/events.jsonl: filter: unset
    .flow/runs/r1/events.jsonl: merge: union
    .flow/runs/r1/run.yaml: filter: unset
    .flow/runs/r1/run.yaml: merge: lfs
    ");
    assert_eq!(codes(&sandbox.flow(["doctor", "--json"]).ok().json()), Vec::<&str>::new());

    // A project from before.
    let rules = sandbox.path(".flow/.gitattributes");
    let text = std::fs::read_to_string(&rules).unwrap();
    let older: Vec<_> =
        text.lines().filter(|line| !line.ends_with(" -filter")).map(|line| line.to_owned() + "\n").collect();
    std::fs::write(&rules, older.concat()).unwrap();
    let report = sandbox.flow(["doctor", "--json"]).ok().json();
    assert_eq!(codes(&report), ["gitattributes_incomplete"], "{report}");
    sandbox.flow(["doctor", "--repair"]).ok();
    assert_eq!(std::fs::read_to_string(&rules).unwrap(), text);
    sandbox.flow(["cancel", "r1", "--reason", "x"]).ok();
    sandbox.flow(["prune", "--older-than", "0d", "--yes"]).ok();
}

#[test]
fn a_file_of_a_run_that_is_a_pointer_of_git_lfs_is_left_alone() {
    for (file, text) in [
        ("events.jsonl", POINTER.to_owned()),
        ("events.jsonl", [POINTER, POINTER].concat()),
        ("run.yaml", POINTER.to_owned()),
        ("activities/001-a.yaml", POINTER.to_owned()),
    ] {
        let sandbox = Sandbox::new();
        sandbox.flow(["start", "debug", "--id", "r1"]).ok();
        sandbox.flow(["record-activity", "--id", "a"]).ok();
        let path = sandbox.run_dir("r1").join(file);
        std::fs::write(&path, &text).unwrap();
        if !file.starts_with("activities") {
            for args in [&["record-activity", "--run-id", "r1", "--id", "b"][..], &["resume", "r1"], &["show", "r1"]] {
                let refused = sandbox.flow([args, &["--json"]].concat()).exits(65).error();
                assert_eq!(refused["code"], "lfs_pointer", "{file} {args:?}: {refused}");
            }
        }
        for args in
            [&["doctor", "--json"][..], &["doctor", "--repair", "--json"], &["doctor", "r1", "--repair", "--json"]]
        {
            let report = sandbox.flow(args).json();
            assert_eq!(codes(&report), ["unreadable"], "{file} {args:?}: {report}");
            let message = report["findings"][0]["message"].as_str().unwrap();
            assert_eq!(message, "the file is a pointer of Git LFS; `git lfs pull` brings its contents");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

/// Does what the help of a refusal says first.
fn obey(sandbox: &Sandbox, refused: &Value) {
    let help = refused["help"].as_str().unwrap();
    let mut command = sandbox.command("sh");
    command.args(["-c", help.split('`').nth(1).unwrap()]);
    run(command, "").ok();
}

#[test]
fn a_run_that_was_removed_from_the_checkout_is_brought_back_and_not_begun_again() {
    for how in [
        "rm -r .flow/runs/r3",
        "git rm -rq .flow/runs/r3",
        "git update-index --skip-worktree $(git ls-files .flow/runs/r3); rm -r .flow/runs/r3",
    ] {
        let sandbox = Sandbox::new();
        sandbox.flow(["start", "debug", "--id", "r3", "--issue", "9"]).ok();
        sandbox.flow(["record-activity", "--id", "a"]).ok();
        sandbox.flow(["start", "debug", "--id", "r4", "--issue", "4"]).ok();
        commit(&sandbox);
        for args in [
            &["resume", "r3"][..],
            &["show", "r3"],
            &["block", "r3", "--reason", "x"],
            &["start", "debug", "--issue", "9"],
            &["set", "r4", "--issue", "9"],
            &["start", "debug", "--id", "r3"],
        ] {
            let mut remove = sandbox.command("sh");
            remove.args(["-c", how]);
            run(remove, "").ok();
            let refused = sandbox.flow([args, &["--json"]].concat()).exits(3).error();
            assert_eq!(refused["code"], "run_elsewhere", "{how} {args:?}: {refused}");
            assert_eq!(refused["message"], "git has run r3, whose files were removed from this checkout");
            obey(&sandbox, &refused);
            sandbox.flow(["resume", "r3"]).ok();
        }
        // What was pruned is not there any longer.
        sandbox.flow(["cancel", "r3", "--reason", "x"]).ok();
        sandbox.flow(["prune", "--older-than", "0d", "--yes"]).ok();
        sandbox.flow(["start", "debug", "--issue", "9"]).ok();
    }
}

#[test]
fn a_flow_directory_that_git_has_is_named_with_what_brings_it_back() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r3", "--issue", "9"]).ok();
    commit(&sandbox);
    for args in [&["resume"][..], &["resume", "r3"], &["doctor"], &["record-activity", "--id", "x"]] {
        std::fs::remove_dir_all(sandbox.path(".flow")).unwrap();
        let refused = sandbox.flow([args, &["--json"]].concat()).exits(3).error();
        assert_eq!(refused["code"], "flow_elsewhere", "{args:?}: {refused}");
        obey(&sandbox, &refused);
        sandbox.flow(["resume", "r3"]).ok();
    }
    std::fs::remove_dir_all(sandbox.path(".flow")).unwrap();
    let refused = sandbox.flow(["start", "debug", "--issue", "9", "--json"]).exits(3).error();
    assert_eq!(refused["code"], "run_elsewhere", "{refused}");
    assert!(!sandbox.path(".flow").exists(), "nothing was made");
    sandbox.git(&["restore", "--", "."]);

    sandbox.git(&["switch", "-q", "--orphan", "other"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "other"]);
    let _ = std::fs::remove_dir_all(sandbox.path(".flow"));
    for args in [&["show", "r3"][..], &["resume", "r3"], &["doctor"]] {
        let refused = sandbox.flow([args, &["--json"]].concat()).exits(3).error();
        assert_eq!(refused["code"], "flow_elsewhere", "{args:?}: {refused}");
        assert_eq!(refused["help"], "they are on branch main; `flow start WORKFLOW` begins a run here");
    }
    sandbox.flow(["resume"]).exits(3);
    sandbox.flow(["start", "debug", "--issue", "9"]).ok();
}

#[test]
fn a_flow_directory_below_the_top_is_brought_into_a_sparse_checkout_from_the_top() {
    for cones in ["--cone", "--no-cone"] {
        let sandbox = Sandbox::new();
        std::fs::create_dir_all(sandbox.path("apps/web/src")).unwrap();
        std::fs::write(sandbox.path("apps/web/src/a"), "").unwrap();
        std::fs::create_dir(sandbox.path("apps/web/.flow")).unwrap();
        let flow = |args: &[&str]| {
            let mut command = sandbox.flow_command();
            command.args(args).current_dir(sandbox.path("apps/web"));
            run(command, "")
        };
        flow(&["start", "debug", "--id", "r1", "--issue", "9"]).ok();
        assert!(sandbox.path("apps/web/.flow/runs/r1").exists());
        commit(&sandbox);
        let only = if cones == "--cone" { "apps/web/src" } else { "/apps/web/src/" };
        for args in
            [&["resume", "r1"][..], &["show", "r1"], &["resume"], &["start", "debug", "--issue", "9"], &["doctor"]]
        {
            sandbox.git(&["sparse-checkout", "set", cones, only]);
            let _ = std::fs::remove_dir_all(sandbox.path("apps/web/.flow"));
            let refused = flow(&[args, &["--json"]].concat()).exits(3).error();
            assert_eq!(refused["code"], "left_out", "{cones} {args:?}: {refused}");
            obey(&sandbox, &refused);
            flow(&["resume", "r1"]).ok();
        }
    }
}

#[test]
fn the_first_start_says_what_git_does_with_the_new_directory() {
    let made = |prepare: &str, within: &str| {
        let sandbox = Sandbox::new();
        let mut shell = sandbox.command("sh");
        shell.args(["-c", prepare]);
        run(shell, "").ok();
        let mut command = sandbox.flow_command();
        command.args(["start", "debug"]).current_dir(sandbox.path(within));
        let told = run(command, "").ok().stderr;
        let line = told.lines().find(|line| line.starts_with("made ")).unwrap_or_default().to_owned();
        line.rsplit_once(".flow").unwrap().1.to_owned()
    };
    assert_eq!(made("mkdir -p a/b", "a/b"), "/` in the .gitignore beside it");
    assert_eq!(made("printf target >.gitignore", "."), "/` in the .gitignore beside it");
    for ignored in ["echo .flow/ >.gitignore", "echo .flow/runs/ >.git/info/exclude"] {
        assert_eq!(made(ignored, "."), ", which git ignores: its runs stay in this checkout", "{ignored}");
    }
    let bare = "rm -rf .git; git init -q --bare .bare; echo 'gitdir: ./.bare' >.git";
    assert_eq!(made(bare, "."), ", in a bare repository: its clones will not have it");
}

#[test]
fn a_run_stays_that_of_its_branch_in_a_rebase_and_is_told_after_its_branch_was_renamed() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path(".gitignore"), ".flow\n").unwrap();
    std::fs::write(sandbox.path("file"), "one\n").unwrap();
    commit(&sandbox);
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.git(&["switch", "-qc", "topic"]);
    sandbox.flow(["start", "debug", "--id", "r2"]).ok();
    std::fs::write(sandbox.path("file"), "topic\n").unwrap();
    commit(&sandbox);
    sandbox.git(&["switch", "-q", "main"]);
    std::fs::write(sandbox.path("file"), "main\n").unwrap();
    commit(&sandbox);
    sandbox.git(&["switch", "-q", "topic"]);
    for how in ["--merge", "--apply"] {
        let mut rebase = sandbox.command("git");
        rebase.args(["-c", "user.name=A", "-c", "user.email=a@example.com", "rebase", "-q", how, "main"]);
        assert_ne!(run(rebase, "").code, Some(0), "{how}");
        let recorded = sandbox.flow(["record-activity", "--id", how.trim_start_matches('-'), "--json"]).ok().json();
        assert_eq!(recorded["run_id"], "r2", "{how}");
        sandbox.git(&["rebase", "--abort"]);
    }
    sandbox.git(&["branch", "-m", "topic", "renamed"]);
    let refused = sandbox.flow(["record-activity", "--id", "b", "--json"]).exits(2).error();
    assert_eq!(
        refused["help"],
        "name one of them with --run-id or in FLOW_RUN; `flow list` shows all runs; if branch topic is renamed now: `flow set r2 --branch renamed`"
    );
    sandbox.flow(["set", "r2", "--branch", "renamed"]).ok();
    assert_eq!(sandbox.flow(["record-activity", "--id", "b", "--json"]).ok().json()["run_id"], "r2");
}

#[test]
fn a_run_that_another_worktree_has_from_the_same_commit_is_not_one_more() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    commit(&sandbox);
    sandbox.git(&["worktree", "add", "-q", "../side"]);
    let count = || {
        let report = sandbox.flow(["list", "--json"]).ok().json();
        report["worktrees"].as_array().unwrap().iter().map(|one| one["open_runs"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(count(), 0);
    assert!(!sandbox.flow(["resume"]).ok().stderr.contains("worktrees"));
    sandbox.flow(["-C", "../side", "start", "debug", "--id", "r2", "--another"]).ok();
    assert_eq!(count(), 1);
    sandbox.flow(["-C", "../side", "record-activity", "--run-id", "r1", "--id", "on"]).ok();
    assert_eq!(count(), 2);
}

#[test]
fn the_log_of_a_run_that_was_put_back_says_so() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    commit(&sandbox);
    assert_eq!(sandbox.flow(["log", "r1"]).ok().stderr, "");
    sandbox.flow(["record-activity", "--id", "a"]).ok();
    sandbox.git(&["restore", "--", ".flow"]);
    let told = sandbox.flow(["log", "r1"]).ok().stderr;
    insta::assert_snapshot!(told, @"warning: the log was put back: it ends at event 1, and event 2 was written; `flow resume r1` says how to go on");
}

#[test]
fn a_run_that_is_about_another_issue_now_keeps_its_journal_and_says_so() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path(".decisions")).unwrap();
    sandbox.flow(["start", "debug", "--id", "r1", "--issue", "7"]).ok();
    let told = sandbox.flow(["set", "r1", "--issue", "9"]).ok().stderr;
    insta::assert_snapshot!(told, @"warning: .decisions/issue-7.md stays the journal of the run");
    assert_eq!(sandbox.flow(["set", "r1", "--branch", "b"]).ok().stderr, "");
}
