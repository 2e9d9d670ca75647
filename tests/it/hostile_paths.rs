//! A tree that somebody else prepared: links, pipes, devices, foreign owners, foreign programs.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::hostile::{Odd, as_user, can_become_others, clear, copy, limited, lock_bytes, picture, sane};
use crate::support::{Sandbox, run};

/// A sandbox with a run and one record.
fn with_run() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    sandbox.record(&run, "preflight", "first");
    (sandbox, run)
}

/// Where a tree can be tampered with, from the top.
fn spots(run: &str) -> Vec<PathBuf> {
    let dir = PathBuf::from(".flow/runs").join(run);
    let mut spots = vec![".flow".into(), ".flow/runs".into(), dir.clone()];
    spots.extend(["activities", "run.yaml", "events.jsonl", ".lock"].map(|name| dir.join(name)));
    spots
}

/// Every command that writes to a run.
fn writers(run: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["record-activity", "--run-id", run, "--id", "next"],
        vec!["block", run, "--reason", "why"],
        vec!["complete", run],
        vec!["cancel", run, "--reason", "why"],
        vec!["resume", run, "--claim", "--session", "s9"],
    ]
}

/// Every command that only looks.
fn readers(run: &str) -> Vec<Vec<&str>> {
    vec![vec!["list"], vec!["resume"], vec!["resume", run], vec!["show", run], vec!["log", run], vec!["validate"]]
}

/// Puts a symbolic link in the place of `spot`. Its target would serve: whoever follows the link changes it.
fn led_away(sandbox: &Sandbox, spot: &Path) -> PathBuf {
    let target = sandbox.path("../victim");
    if spot.is_dir() {
        copy(spot, &target);
    } else {
        std::fs::copy(spot, &target).unwrap();
    }
    clear(spot);
    symlink(&target, spot).unwrap();
    target
}

#[test]
fn no_symbolic_link_below_the_project_is_followed_by_a_writer() {
    for at in 0..spots("x").len() {
        let (sandbox, run) = with_run();
        let spot = sandbox.path(&spots(&run)[at]);
        let target = led_away(&sandbox, &spot);
        let (theirs, ours) = (picture(&target), picture(&sandbox.root()));
        let lock = std::fs::read(&target).ok();
        for command in writers(&run) {
            let error = sandbox.refused(&command, 77);
            let message = error["message"].as_str().unwrap();
            assert_eq!(error["code"], "unsafe_path", "{spot:?} {command:?}");
            assert!(message.ends_with(" is a symbolic link"), "{spot:?} {command:?}: {message}");
            assert!(message.contains(spot.file_name().unwrap().to_str().unwrap()), "{spot:?}: {message}");
            assert!(error["help"].is_string());
            assert_eq!(picture(&target), theirs, "{spot:?} {command:?}");
            assert_eq!(std::fs::read(&target).ok(), lock, "{spot:?} {command:?}");
            assert_eq!(picture(&sandbox.root()), ours, "{spot:?} {command:?}");
        }
    }
}

#[test]
fn a_reader_neither_follows_a_link_nor_writes_through_one() {
    for at in 0..spots("x").len() {
        let (sandbox, run) = with_run();
        let spot = sandbox.path(&spots(&run)[at]);
        let target = led_away(&sandbox, &spot);
        let before = (picture(&target), picture(&sandbox.root()));
        for command in readers(&run) {
            let answer = sandbox.attack(&command);
            let said = format!("{}{}", answer.stdout, answer.stderr);
            let unneeded = spot.ends_with("run.yaml") && command[0] == "log";
            if !spot.ends_with(".lock") && !spot.ends_with("activities") && !unneeded {
                assert!(said.contains("a symbolic link"), "{spot:?} {command:?}: {answer:?}");
            }
            assert_eq!((picture(&target), picture(&sandbox.root())), before, "{spot:?} {command:?}");
        }
    }
}

#[test]
fn the_end_of_a_session_is_quiet_whatever_the_tree_looks_like() {
    for at in 0..spots("x").len() {
        let (sandbox, run) = with_run();
        let spot = sandbox.path(&spots(&run)[at]);
        clear(&spot);
        symlink(sandbox.path("../victim"), &spot).unwrap();
        let before = picture(&sandbox.root());
        sandbox.attack_with(["session-end"], r#"{"session_id":"s1"}"#).ok();
        assert_eq!(picture(&sandbox.root()), before, "{spot:?}");
        assert!(!sandbox.path("../victim").exists());
    }
}

#[test]
fn planted_temporary_files_and_activity_files_lead_nowhere() {
    for name in [".run.tmp", ".run.merge.tmp", ".events.tmp", "activities/.act.tmp", "activities/002-next.yaml"] {
        let (sandbox, run) = with_run();
        let victim = sandbox.path("../victim");
        std::fs::write(&victim, "secret\n").unwrap();
        symlink(&victim, sandbox.run_dir(&run).join(name)).unwrap();
        let answer = sandbox.attack(["record-activity", "--run-id", &run, "--id", "next"]);
        assert!(matches!(answer.code, Some(0 | 5 | 77)), "{name}: {answer:?}");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "secret\n", "{name}");
        // Whatever it decided, the log and the answer agree.
        let records = sandbox.read(&run, "events.jsonl").matches(r#""type":"activity_recorded""#).count();
        assert_eq!(records, if answer.code == Some(0) { 2 } else { 1 }, "{name}: {answer:?}");
    }
}

#[test]
fn planted_links_are_not_followed_when_a_project_is_made() {
    for name in [".gitignore", ".gitattributes", "schemas", "workflows", "runs", ".lock", "schemas/run.schema.json"] {
        let sandbox = Sandbox::new();
        let victim = sandbox.path("../victim");
        std::fs::create_dir_all(sandbox.path(".flow/runs")).unwrap();
        std::fs::create_dir_all(sandbox.path(".flow/schemas")).unwrap();
        std::fs::create_dir(&victim).unwrap();
        std::fs::write(victim.join("file"), "secret\n").unwrap();
        let is_dir = matches!(name, "schemas" | "workflows" | "runs");
        clear(&sandbox.path(".flow").join(name));
        let target = if is_dir { victim.clone() } else { victim.join("file") };
        symlink(target, sandbox.path(".flow").join(name)).unwrap();
        let before = picture(&victim);
        for command in [vec!["init"], vec!["start", "debug"]] {
            let answer = sandbox.attack(&command);
            assert!(matches!(answer.code, Some(0 | 77)), "{name} {command:?}: {answer:?}");
            assert_eq!(picture(&victim), before, "{name} {command:?}");
        }
    }
}

#[test]
fn a_hard_linked_log_or_lock_is_refused_and_its_other_name_untouched() {
    for name in ["events.jsonl", ".lock"] {
        let (sandbox, run) = with_run();
        let file = sandbox.run_dir(&run).join(name);
        let victim = sandbox.path("../victim");
        std::fs::copy(&file, &victim).unwrap();
        clear(&file);
        std::fs::hard_link(&victim, &file).unwrap();
        let theirs = std::fs::read(&victim).unwrap();
        for command in writers(&run) {
            let error = sandbox.refused(&command, 77);
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(name) && message.contains("hard link"), "{message}");
            assert_eq!(std::fs::read(&victim).unwrap(), theirs, "{name} {command:?}");
        }
        for command in readers(&run) {
            sandbox.attack(&command);
            assert_eq!(std::fs::read(&victim).unwrap(), theirs, "{name} {command:?}");
        }
    }
}

#[test]
fn the_help_for_a_hard_link_speaks_of_hard_links() {
    let (sandbox, run) = with_run();
    std::fs::hard_link(sandbox.run_dir(&run).join("events.jsonl"), sandbox.path("../backup")).unwrap();
    let error = sandbox.refused(["record-activity", "--run-id", &run, "--id", "next"], 77);
    let help = error["help"].as_str().unwrap();
    assert!(help.contains("copy") || help.contains("hard link"), "a link is not what stands there: {help}");
}

#[test]
fn a_run_file_with_a_second_name_is_replaced_and_the_other_name_keeps_its_text() {
    let (sandbox, run) = with_run();
    let victim = sandbox.path("../victim");
    std::fs::hard_link(sandbox.run_dir(&run).join("run.yaml"), &victim).unwrap();
    let before = std::fs::read(&victim).unwrap();
    sandbox.attack(["record-activity", "--run-id", &run, "--id", "next"]).ok();
    assert_eq!(std::fs::read(&victim).unwrap(), before);
}

#[test]
fn a_pipe_a_socket_a_device_or_a_directory_in_place_of_a_file_never_hangs() {
    for odd in [Odd::Fifo, Odd::Socket, Odd::Directory, Odd::Device, Odd::Dangling, Odd::Loop] {
        for name in ["run.yaml", "events.jsonl", ".lock"] {
            let (sandbox, run) = with_run();
            let path = sandbox.run_dir(&run).join(name);
            clear(&path);
            if !odd.put(&path) {
                continue;
            }
            let before = picture(&sandbox.root());
            let error = sandbox.refused(["record-activity", "--run-id", &run, "--id", "next"], 77);
            assert!(error["message"].as_str().unwrap().contains(name), "{odd:?} {name}: {error}");
            for command in readers(&run) {
                sandbox.attack(&command);
            }
            assert_eq!(picture(&sandbox.root()), before, "{odd:?} {name}");
        }
    }
}

#[test]
fn a_pipe_a_socket_a_device_or_a_file_in_place_of_a_directory_never_hangs() {
    for odd in [Odd::Fifo, Odd::Socket, Odd::File, Odd::Device, Odd::Dangling, Odd::Loop] {
        for at in 0..4 {
            let (sandbox, run) = with_run();
            let spot = spots(&run)[at].clone();
            clear(&sandbox.path(&spot));
            if !odd.put(&sandbox.path(&spot)) {
                continue;
            }
            let before = picture(&sandbox.root());
            let error = sandbox.refused(["record-activity", "--run-id", &run, "--id", "next"], 77);
            assert!(error["message"].as_str().unwrap().contains(spot.to_str().unwrap()), "{odd:?} {spot:?}: {error}");
            for command in readers(&run) {
                sandbox.attack(&command);
            }
            assert_eq!(picture(&sandbox.root()), before, "{odd:?} {spot:?}");
        }
    }
}

#[test]
fn odd_files_among_the_activities_and_runs_disturb_nobody() {
    for odd in [Odd::Fifo, Odd::Socket, Odd::Directory, Odd::Device, Odd::Dangling, Odd::Loop] {
        let (sandbox, run) = with_run();
        let activity = sandbox.run_dir(&run).join("activities/001-first.yaml");
        clear(&activity);
        if !odd.put(&activity) {
            continue;
        }
        odd.put(&sandbox.run_dir(&run).join("activities/002-next.yaml"));
        odd.put(&sandbox.path(".flow/runs/another"));
        odd.put(&sandbox.path(".flow/workflows/mine.workflow.yaml"));
        odd.put(&sandbox.path(".flow/config.yaml"));
        for command in readers(&run) {
            sandbox.attack(&command);
        }
        sandbox.attack(["workflow", "list"]);
        sandbox.attack(["workflow", "show", "mine"]);
        sandbox.attack(["start", "mine"]);
        sandbox.attack(["list"]).ok();
        let answer = sandbox.attack(["record-activity", "--run-id", &run, "--id", "next"]);
        assert!(matches!(answer.code, Some(0 | 77)), "{odd:?}: {answer:?}");
        sandbox.attack(["show", &run]).ok();
    }
}

#[test]
fn the_decision_journal_leads_nowhere_and_its_loss_is_a_warning() {
    for odd in [Odd::Fifo, Odd::Socket, Odd::File, Odd::Directory, Odd::Device, Odd::Dangling, Odd::Loop] {
        for place in [".decisions", ".decisions/issue-42.md", ".decisions/issue-42.md.lock"] {
            let sandbox = Sandbox::new();
            if place == ".decisions" {
                std::fs::remove_dir(sandbox.path(".decisions")).unwrap();
            }
            if (odd == Odd::Directory && place == ".decisions") || (odd == Odd::File && place != ".decisions") {
                continue;
            }
            if !odd.put(&sandbox.path(place)) {
                continue;
            }
            let answer = sandbox.attack(["start", "start-issue", "--issue", "42"]).ok();
            assert!(answer.stderr.starts_with("warning: "), "{odd:?} {place}: {answer:?}");
        }
    }
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("../victim")).unwrap();
    std::fs::remove_dir(sandbox.path(".decisions")).unwrap();
    symlink(sandbox.path("../victim"), sandbox.path(".decisions")).unwrap();
    sandbox.attack(["start", "start-issue", "--issue", "42"]).ok();
    assert_eq!(picture(&sandbox.path("../victim")).len(), 1);
    for path in ["../victim/x.md", "/tmp/x.md"] {
        let journal = format!("--journal={path}");
        let answer = sandbox.attack(["start", "debug", &journal]);
        assert!(matches!(answer.code, Some(0 | 2 | 77)), "{path}: {answer:?}");
        assert!(!answer.stderr.is_empty(), "{path} is not silently accepted: {answer:?}");
        assert_eq!(picture(&sandbox.path("../victim")).len(), 1);
    }
}

#[test]
fn files_of_another_user_are_refused_unless_that_user_is_trusted() {
    if !can_become_others("files_of_another_user_are_refused_unless_that_user_is_trusted") {
        return;
    }
    for at in 0..spots("x").len() {
        let (sandbox, run_id) = with_run();
        let spot = spots(&run_id)[at].clone();
        if spot.ends_with("run.yaml") {
            continue; // It is replaced, never written to.
        }
        for path in [sandbox.root(), sandbox.path(&spot)] {
            std::os::unix::fs::chown(path, Some(12345), Some(12345)).unwrap();
        }
        let before = picture(&sandbox.root());
        let error = sandbox.refused(["record-activity", "--run-id", &run_id, "--id", "next"], 77);
        assert!(error["message"].as_str().unwrap().ends_with("belongs to user 12345"), "{spot:?}: {error}");
        assert!(error["help"].as_str().unwrap().contains("FLOW_TRUST_OWNER=1"), "{spot:?}: {error}");
        assert_eq!(picture(&sandbox.root()), before, "{spot:?}");
        let mut trusting = sandbox.flow_command();
        trusting.env("FLOW_TRUST_OWNER", "1").args(["record-activity", "--run-id", &run_id, "--id", "next"]);
        sane(run(limited(&trusting), "")).ok();
    }
}

/// A command as a user without rights, ended after a while.
fn as_nobody(sandbox: &Sandbox, args: &[&str]) -> std::process::Command {
    let mut command = sandbox.flow_command();
    command.args(args);
    as_user(12345, limited(&command))
}

/// Gives a tree to user 12345, with these rights for its owner.
fn hand_over(root: &Path, dirs: u32, files: u32) {
    for entry in walkdir::WalkDir::new(root).contents_first(true) {
        let entry = entry.unwrap();
        std::os::unix::fs::lchown(entry.path(), Some(12345), Some(12345)).unwrap();
        let mode = if entry.file_type().is_dir() { dirs } else { files };
        std::fs::set_permissions(entry.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn a_tree_that_cannot_be_written_can_be_read() {
    if !can_become_others("a_tree_that_cannot_be_written_can_be_read") {
        return;
    }
    let (sandbox, run_id) = with_run();
    hand_over(&sandbox.path(".."), 0o555, 0o444);
    let before = (picture(&sandbox.root()), lock_bytes(&sandbox.root()));
    for command in [["list"].as_slice(), &["resume"], &["show", &run_id], &["log", &run_id], &["validate"]] {
        let answer = sane(run(as_nobody(&sandbox, command), ""));
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{command:?}: {answer:?}");
    }
    for command in writers(&run_id) {
        let answer = sane(run(as_nobody(&sandbox, &command), "")).exits(74);
        assert!(answer.stderr.contains("Permission denied") && answer.stderr.contains("help: "), "{answer:?}");
    }
    let answer = sane(run(as_nobody(&sandbox, &["start", "debug"]), "")).exits(74);
    assert!(answer.stderr.contains("Permission denied"), "{answer:?}");
    assert_eq!((picture(&sandbox.root()), lock_bytes(&sandbox.root())), before);
    hand_over(&sandbox.path(".."), 0o755, 0o644);
}

#[test]
fn what_may_not_be_read_is_said_to_be_so() {
    if !can_become_others("what_may_not_be_read_is_said_to_be_so") {
        return;
    }
    for name in ["run.yaml", "events.jsonl"] {
        let (sandbox, run_id) = with_run();
        hand_over(&sandbox.path(".."), 0o755, 0o644);
        let file = sandbox.run_dir(&run_id).join(name);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
        let before = picture(&sandbox.root());
        for command in [["show", &run_id], ["log", &run_id], ["resume", &run_id]] {
            let answer = sane(run(as_nobody(&sandbox, &command), ""));
            if !(name == "run.yaml" && command[0] == "log") {
                assert_eq!(answer.code, Some(74), "{name} {command:?}: {answer:?}");
                assert!(answer.stderr.contains(name) && answer.stderr.contains("Permission denied"), "{answer:?}");
                assert!(!answer.stderr.contains("nothing was recorded"), "a reader records nothing: {answer:?}");
            }
        }
        let answer = sane(run(as_nobody(&sandbox, &["list"]), ""));
        if name == "run.yaml" {
            assert!(format!("{}{}", answer.stdout, answer.stderr).contains("Permission denied"), "{answer:?}");
        }
        assert_eq!(picture(&sandbox.root()), before);
    }
}

#[test]
fn another_programs_directory_is_refused_and_left_alone() {
    let cases: [&[(&str, &str)]; 6] = [
        &[("config.json", "{}")],
        &[("cache/blob", "x"), ("runs/today/result.txt", "x")],
        &[("runs/2024-01-01/output.log", "x")],
        &[("runs/notes.txt", "x")],
        &[("config.yaml", "theirs: yes\n"), ("db.sqlite", "x")],
        &[(".gitignore", "*\n"), ("tasks.json", "[]")],
    ];
    for files in cases {
        let sandbox = Sandbox::new();
        for (name, text) in files {
            let path = sandbox.path(".flow").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let before = picture(&sandbox.root());
        for command in [
            ["init"].as_slice(),
            &["start", "debug"],
            &["record-activity", "--id", "x"],
            &["list"],
            &["resume"],
            &["cancel", "--reason", "x"],
            &["validate"],
        ] {
            let error = sandbox.refused(command, 77);
            assert_eq!(error["code"], "foreign_flow_directory", "{files:?} {command:?}: {error}");
            assert!(error["help"].as_str().unwrap().contains("FLOW_DIR"), "{error}");
            assert_eq!(picture(&sandbox.root()), before, "{files:?} {command:?}");
        }
        sandbox.attack_with(["session-end"], r#"{"session_id":"s1"}"#).ok();
        assert_eq!(picture(&sandbox.root()), before, "{files:?}");
        for args in [&["init"][..], &["start", "debug"]] {
            let mut elsewhere = sandbox.flow_command();
            elsewhere.env("FLOW_DIR", ".ours").args(args);
            run(elsewhere, "").ok();
        }
        let name = files[0].0.split('/').next().unwrap();
        assert!(sandbox.path(".ours/runs").is_dir() && sandbox.path(".flow").join(name).exists());
    }
}

#[test]
fn a_file_of_someones_beside_the_runs_of_a_clone_makes_them_no_other_programs() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    std::fs::write(sandbox.path(".flow/note"), "mine").unwrap();
    std::fs::remove_file(sandbox.path(".flow/.gitignore")).unwrap();
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "a"]).ok();
    sandbox.flow(["verify", "r1"]).ok();
    assert_eq!(std::fs::read_to_string(sandbox.path(".flow/note")).unwrap(), "mine");
    assert!(sandbox.path(".flow/.gitignore").exists());
}

#[test]
fn an_empty_directory_and_the_original_scripts_directory_are_ours() {
    for dirs in [[].as_slice(), &["runs"], &["goals", "triggers"], &["state/sessions"], &["workflows"]] {
        let sandbox = Sandbox::new();
        std::fs::create_dir(sandbox.path(".flow")).unwrap();
        for dir in dirs {
            std::fs::create_dir_all(sandbox.path(".flow").join(dir)).unwrap();
        }
        sandbox.attack(["start", "debug"]).ok();
    }
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path(".flow/runs/run-1/activities")).unwrap();
    let answer = sandbox.attack(["list", "--json"]).ok();
    assert_eq!(answer.json()["unreadable"].as_array().unwrap().len(), 1, "{answer:?}");
}

#[test]
fn the_project_is_found_from_below_but_never_above_the_top_of_the_repository() {
    let (sandbox, run_id) = with_run();
    let deep = sandbox.path("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    let from = |dir: &Path, args: &[&str]| {
        let mut command = sandbox.flow_command();
        command.args(args).current_dir(dir);
        sane(run(limited(&command), ""))
    };
    assert!(from(&deep, &["list", "--json"]).ok().stdout.contains(&run_id));
    from(&deep, &["record-activity", "--id", "deep"]).ok();
    from(&deep, &["start", "debug"]).ok();
    from(&deep, &["init"]).ok();
    assert!(!deep.join(".flow").exists() && !sandbox.path("a/.flow").exists(), "no second tree grows");

    // A repository inside the repository has a project of its own.
    let inner = sandbox.path("a/inner");
    std::fs::create_dir_all(inner.join("src")).unwrap();
    sandbox.git(&["init", "-q", "a/inner"]);
    assert_eq!(from(&inner.join("src"), &["list"]).ok().stdout, "");
    from(&inner.join("src"), &["resume"]).exits(3);
    from(&inner.join("src"), &["start", "debug"]).ok();
    assert!(inner.join(".flow/runs").is_dir() && !inner.join("src/.flow").exists());
    assert!(!from(&inner, &["list", "--json"]).ok().stdout.contains(&run_id));

    // A .flow above the top is not ours.
    let lonely = Sandbox::new();
    std::fs::create_dir_all(lonely.path("../.flow/runs")).unwrap();
    lonely.attack(["resume"]).exits(3);
    lonely.attack(["start", "debug"]).ok();
    assert_eq!(picture(&lonely.path("../.flow")).len(), 2);
}

#[test]
fn a_worktree_has_its_own_project_and_its_link_file_is_no_obstacle() {
    let (sandbox, run_id) = with_run();
    sandbox.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = sandbox.path("../side").canonicalize().unwrap();
    let mut command = sandbox.flow_command();
    command.args(["start", "debug"]).current_dir(&side);
    run(limited(&command), "").ok();
    assert!(side.join(".flow/runs").is_dir());
    let own = sandbox.attack(["list", "--json"]).ok().json()["runs"].as_array().unwrap().len();
    assert_eq!(own, 1, "{run_id}");
}

#[test]
fn the_project_option_and_the_environment_lead_to_one_place() {
    let (sandbox, run_id) = with_run();
    let elsewhere = sandbox.path("../elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let from = |args: &[&str], flow_dir: Option<&str>| {
        let mut command = sandbox.flow_command();
        command.args(args).current_dir(&elsewhere);
        command.envs(flow_dir.map(|dir| ("FLOW_DIR", dir)));
        sane(run(limited(&command), ""))
    };
    from(&["resume"], None).exits(3);
    assert!(from(&["-C", "../demo", "list", "--json"], None).ok().stdout.contains(&run_id));
    assert!(from(&["list", "--json", "--project=../demo/./"], None).ok().stdout.contains(&run_id));
    for dir in ["../demo/.flow", "../demo/.flow/", "../demo/.flow/.", "../demo//.flow//"] {
        assert!(from(&["list", "--json"], Some(dir)).ok().stdout.contains(&run_id), "{dir}");
    }
    // The option is nearer than the environment.
    assert!(from(&["-C", "../demo", "list", "--json"], Some("/nonexistent")).ok().stdout.contains(&run_id));
    // A file is no project.
    std::fs::write(elsewhere.join("file"), "mine\n").unwrap();
    assert!(matches!(from(&["start", "debug"], Some("file")).code, Some(74 | 77)));
    assert!(matches!(from(&["-C", "file", "start", "debug"], None).code, Some(2 | 3 | 74 | 77)));
    assert_eq!(std::fs::read_to_string(elsewhere.join("file")).unwrap(), "mine\n");
}

#[test]
fn a_directory_that_flips_to_a_link_never_leads_a_record_outside() {
    let (sandbox, run_id) = with_run();
    let dir = sandbox.run_dir(&run_id);
    let victim = sandbox.path("../victim");
    std::fs::create_dir(&victim).unwrap();
    symlink(&victim, dir.join("evil")).unwrap();
    let stop = AtomicBool::new(false);
    let (mut done, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let (one, other) = (dir.join("activities"), dir.join("evil"));
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                std::thread::yield_now();
            }
        });
        for at in 0..100 {
            let id = format!("swap-{at}");
            let mut command = sandbox.flow_command();
            command.args(["record-activity", "--run-id", &run_id, "--id", &id]);
            let answer = run(limited(&command), "");
            match answer.code {
                Some(0) => done += 1,
                Some(77) => refused += 1,
                _ => {
                    stop.store(true, Ordering::Relaxed);
                    panic!("{answer:?}");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(done + refused, 100);
    assert_eq!(picture(&victim).len(), 1, "a file came into the link's target");
    // What was acknowledged is in the log, and nothing else.
    let log = sandbox.read(&run_id, "events.jsonl");
    assert_eq!(log.matches(r#""type":"activity_recorded""#).count(), done + 1);
}

#[test]
fn a_project_that_was_named_and_is_not_there_is_not_an_empty_one() {
    let sandbox = Sandbox::new();
    let error = sandbox.refused(["-C", "/nonexistent", "list"], 3);
    assert!(error["message"].as_str().unwrap().contains("/nonexistent"), "{error}");
    assert!(error["help"].is_string(), "{error}");
}

#[test]
fn a_flow_dir_without_a_name_is_a_wrong_setting_and_not_a_missing_file() {
    for dir in ["/", ".."] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.flow_command();
        command.args(["start", "debug", "--json"]).env("FLOW_DIR", dir);
        let error = sane(run(limited(&command), "")).exits(2).error();
        assert!(error["message"].as_str().unwrap().contains("FLOW_DIR"), "{dir}: {error}");
    }
}

#[test]
fn the_journal_is_never_a_file_of_git_or_of_flow_or_a_program() {
    for path in [".git/config", ".git/new", ".flow/.gitignore", ".flow/runs/x", "main.rs"] {
        let sandbox = Sandbox::new();
        sandbox.attack(["init"]).ok();
        std::fs::write(sandbox.path("main.rs"), "fn main() {}\n").unwrap();
        let before = std::fs::read(sandbox.path(path)).ok();
        sandbox.attack(["start", "debug", "--journal", path]);
        assert_eq!(std::fs::read(sandbox.path(path)).ok(), before, "{path} got front matter");
        sandbox.git(&["status"]);
    }
}

#[test]
fn a_project_named_by_a_path_with_dots_is_not_the_one_around_the_caller() {
    let (sandbox, _) = with_run();
    let before = picture(&sandbox.root());
    std::fs::create_dir(sandbox.path("../other")).unwrap();
    sandbox.attack(["-C", "../other", "start", "debug"]).ok();
    assert_eq!(picture(&sandbox.root()), before, "the caller's own project was written to");
    assert!(sandbox.path("../other/.flow/runs").is_dir());
}
