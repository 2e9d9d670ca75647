//! Projects in which several users work: root in a container and the user of the host.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::path::Path;

use crate::support::hostile::{as_user, can_become_others};
use crate::support::{Answer, Sandbox, run, skipped, temporary};

/// The user of the host.
const USER: u32 = 12345;

/// A repository of the host's user, which root can enter as well; none where this process cannot become others.
fn repository(test: &str) -> Option<Sandbox> {
    if !can_become_others(test) {
        return None;
    }
    let sandbox = Sandbox::within(&temporary());
    std::fs::set_permissions(sandbox.path(".."), std::fs::Permissions::from_mode(0o755)).unwrap();
    give(&sandbox.path(".."), USER);
    if user(&sandbox, &["--version"]).code != Some(0) {
        skipped(test, &crate::support::Lack::of("open-target", "another user cannot reach the program"));
        return None;
    }
    Some(sandbox)
}

fn give(root: &Path, to: u32) {
    for entry in walkdir::WalkDir::new(root) {
        lchown(entry.unwrap().path(), Some(to), Some(to)).unwrap();
    }
}

/// A command of the host's user.
fn user(sandbox: &Sandbox, args: &[&str]) -> Answer {
    let mut command = sandbox.flow_command();
    command.args(args);
    run(as_user(USER, command), "")
}

/// A command of root, who trusts the files of others.
fn trusting_root(sandbox: &Sandbox, args: &[&str]) -> Answer {
    let mut command = sandbox.flow_command();
    command.args(args).env("FLOW_TRUST_OWNER", "1");
    run(command, "")
}

/// Files and directories of the user's home, in which the project is, that belong to root.
fn left_by_root(sandbox: &Sandbox) -> Vec<String> {
    let entries = walkdir::WalkDir::new(sandbox.path("..")).into_iter().map(Result::unwrap);
    let of_root = entries.filter(|entry| entry.path().symlink_metadata().unwrap().uid() == 0);
    of_root.map(|entry| entry.path().display().to_string()).collect()
}

#[test]
fn root_that_trusts_the_user_of_the_host_leaves_nothing_behind_that_is_roots() {
    let Some(sandbox) = repository("root_that_trusts_the_user_of_the_host_leaves_nothing_behind_that_is_roots") else {
        return;
    };
    user(&sandbox, &["start", "debug", "--id", "r1", "--issue", "7"]).ok();
    let refused = sandbox.flow(["record-activity", "--id", "a"]).exits(77);
    assert!(refused.stderr.contains(".flow belongs to user 12345"), "{refused:?}");
    assert!(refused.stderr.contains("FLOW_TRUST_OWNER=1"), "{refused:?}");
    trusting_root(&sandbox, &["record-activity", "--id", "a", "--advance"]).ok();
    trusting_root(&sandbox, &["block", "--reason", "x"]).ok();
    trusting_root(&sandbox, &["unblock"]).ok();
    trusting_root(&sandbox, &["mode", "request", "forge"]).ok();
    trusting_root(&sandbox, &["start", "debug", "--id", "r2", "--issue", "8"]).ok();
    assert_eq!(left_by_root(&sandbox), Vec::<String>::new());
    user(&sandbox, &["record-activity", "--run-id", "r1", "--id", "b"]).ok();
    user(&sandbox, &["cancel", "r2"]).ok();
    user(&sandbox, &["verify", "r1"]).ok();
}

#[test]
fn root_that_begins_with_trust_gives_everything_to_the_user_of_the_host() {
    let test = "root_that_begins_with_trust_gives_everything_to_the_user_of_the_host";
    let Some(sandbox) = repository(test) else { return };
    trusting_root(&sandbox, &["start", "debug", "--id", "r1", "--issue", "7"]).ok();
    assert_eq!(left_by_root(&sandbox), Vec::<String>::new());
    let context = user(&sandbox, &["show", "r1", "--json"]).ok().json()["context"].clone();
    assert_eq!((&context["repo"], &context["branch"]), (&"acme/widgets".into(), &"main".into()));
    user(&sandbox, &["record-activity", "--id", "a"]).ok();
    trusting_root(&sandbox, &["record-activity", "--id", "b"]).ok();
    assert_eq!(left_by_root(&sandbox), Vec::<String>::new());
}

#[test]
fn root_makes_no_project_in_the_directory_of_a_user_whom_it_does_not_trust() {
    let test = "root_makes_no_project_in_the_directory_of_a_user_whom_it_does_not_trust";
    let Some(sandbox) = repository(test) else { return };
    for begin in [&["start", "debug", "--id", "r1"][..], &["init"], &["mode", "request", "forge"]] {
        let refused = sandbox.flow(begin).exits(77).stderr;
        assert!(refused.contains(&format!("{} belongs to user {USER}", sandbox.root().display())), "{refused}");
        assert!(refused.contains("FLOW_TRUST_OWNER=1"), "{refused}");
    }
    assert!(!sandbox.path(".flow").exists());
    user(&sandbox, &["start", "debug", "--id", "r1"]).ok();
}

#[test]
fn what_root_left_in_ones_own_project_can_be_read_and_the_command_that_gives_it_back_is_named() {
    let test = "what_root_left_in_ones_own_project_can_be_read_and_the_command_that_gives_it_back_is_named";
    let Some(sandbox) = repository(test) else { return };
    user(&sandbox, &["start", "debug", "--id", "r1"]).ok();
    give(&sandbox.path(".flow"), 0);
    for reader in [&["resume"][..], &["list"], &["show", "r1"], &["log", "r1"], &["hud"]] {
        user(&sandbox, reader).ok();
    }
    let refused = user(&sandbox, &["record-activity", "--id", "a"]).exits(74);
    assert!(refused.stderr.contains("which belongs to root"), "{refused:?}");
    let flow = sandbox.path(".flow");
    let command = format!("sudo chown -R {USER}:{USER} {}", flow.display());
    assert!(refused.stderr.contains(&command), "{refused:?}");
    let refused = user(&sandbox, &["workflow", "new", "hello"]).exits(74);
    assert!(refused.stderr.contains("/workflows, which belongs to root"), "{refused:?}");
    assert!(refused.stderr.contains(&command), "{refused:?}");
    let told = user(&sandbox, &["doctor"]).ok().stdout;
    assert_eq!(told.matches(&command).count(), 3, "{told}");
    give(&flow, USER);
    user(&sandbox, &["record-activity", "--id", "a"]).ok();
}

#[test]
fn a_file_that_another_user_keeps_unreadable_is_told_with_the_command_that_gives_it_back() {
    let test = "a_file_that_another_user_keeps_unreadable_is_told_with_the_command_that_gives_it_back";
    let Some(sandbox) = repository(test) else { return };
    user(&sandbox, &["start", "debug", "--id", "r1"]).ok();
    user(&sandbox, &["record-activity", "--id", "first"]).ok();
    let command = format!("sudo chown -R {USER}:{USER} {}", sandbox.path(".flow").display());
    for (file, line) in
        [(".lock", &["record-activity", "--run-id", "r1", "--id", "a"][..]), ("events.jsonl", &["show", "r1"])]
    {
        let path = sandbox.run_dir("r1").join(file);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        lchown(&path, Some(0), Some(0)).unwrap();
        let refused = user(&sandbox, line).exits(74).stderr;
        assert!(refused.contains("which belongs to root") && refused.contains(&command), "{file}: {refused}");
        lchown(&path, Some(USER), Some(USER)).unwrap();
    }
    user(&sandbox, &["verify", "r1"]).ok();
}

#[test]
fn a_journal_in_a_directory_of_root_is_told_with_its_owner() {
    let Some(sandbox) = repository("a_journal_in_a_directory_of_root_is_told_with_its_owner") else { return };
    give(&sandbox.path(".decisions"), 0);
    let started = user(&sandbox, &["start", "debug", "--id", "r1", "--issue", "4"]).ok().stderr;
    let told = format!("{}, which belongs to root", sandbox.path(".decisions").display());
    assert!(started.contains(&told), "{started}");
}

#[test]
fn a_lock_that_only_its_owner_may_write_can_be_taken() {
    let Some(sandbox) = repository("a_lock_that_only_its_owner_may_write_can_be_taken") else { return };
    user(&sandbox, &["start", "debug", "--id", "r1"]).ok();
    user(&sandbox, &["record-activity", "--id", "first"]).ok();
    lchown(sandbox.path(".flow/runs/r1/.lock"), Some(0), Some(0)).unwrap();
    user(&sandbox, &["record-activity", "--id", "a"]).ok();
    user(&sandbox, &["record-activity", "--id", "b"]).ok();
    user(&sandbox, &["verify", "r1"]).ok();
}

#[test]
fn a_directory_in_which_everyone_may_write_gives_no_trust() {
    let Some(sandbox) = repository("a_directory_in_which_everyone_may_write_gives_no_trust") else { return };
    user(&sandbox, &["start", "debug", "--id", "r1"]).ok();
    give(&sandbox.path(".flow"), 23456);
    user(&sandbox, &["resume"]).ok();
    std::fs::set_permissions(sandbox.root(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let refused = user(&sandbox, &["resume"]).exits(77);
    assert!(refused.stderr.contains("belongs to user 23456"), "{refused:?}");
}

#[test]
fn where_others_may_write_a_log_of_another_user_is_not_continued() {
    let Some(sandbox) = repository("where_others_may_write_a_log_of_another_user_is_not_continued") else { return };
    user(&sandbox, &["start", "debug", "--id", "r1"]).ok();
    user(&sandbox, &["record-activity", "--id", "a"]).ok();
    let log = sandbox.path(".flow/runs/r1/events.jsonl");
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o666)).unwrap();
    std::fs::set_permissions(sandbox.root(), std::fs::Permissions::from_mode(0o777)).unwrap();
    lchown(&log, Some(23456), Some(23456)).unwrap();
    let refused = user(&sandbox, &["record-activity", "--id", "b"]).exits(77);
    assert!(refused.stderr.contains("belongs to user 23456"), "{refused:?}");
}

#[test]
fn the_doctor_of_hooks_says_why_they_are_silent() {
    let Some(sandbox) = repository("the_doctor_of_hooks_says_why_they_are_silent") else { return };
    user(&sandbox, &["start", "debug", "--id", "r1"]).ok();
    let call = r#"{"session_id":"s","source":"startup"}"#;
    let answer = sandbox.flow_with(["hook", "claude-code", "session-start"], call).ok();
    assert_eq!(answer.stdout, "");
    let report = sandbox.flow(["hooks", "doctor", "--json"]).exits(1).json();
    let found = report["findings"].as_array().unwrap().iter().find(|found| found["code"] == "project_refused");
    assert!(found.unwrap()["message"].as_str().unwrap().contains("belongs to user 12345"), "{report}");
}

#[test]
fn a_document_whose_group_cannot_be_kept_gives_nobody_more_than_before() {
    let test = "a_document_whose_group_cannot_be_kept_gives_nobody_more_than_before";
    let Some(sandbox) = repository(test) else { return };
    let settings = sandbox.path("../.claude/settings.json");
    std::fs::create_dir(settings.parent().unwrap()).unwrap();
    lchown(settings.parent().unwrap(), Some(USER), Some(USER)).unwrap();
    // A group in which the user is not, and the user's own.
    for (group, mode) in [(23456, 0o644), (USER, 0o664)] {
        std::fs::write(&settings, "{}\n").unwrap();
        std::fs::set_permissions(&settings, std::fs::Permissions::from_mode(0o664)).unwrap();
        lchown(&settings, Some(USER), Some(group)).unwrap();
        user(&sandbox, &["hooks", "install", "--host", "claude-code"]).ok();
        assert!(std::fs::read_to_string(&settings).unwrap().contains("flow hook claude-code"));
        let meta = std::fs::metadata(&settings).unwrap();
        assert_eq!((meta.uid(), meta.gid(), meta.mode() & 0o777), (USER, USER, mode), "group {group}");
    }
}

#[test]
fn a_document_of_another_user_keeps_its_group_and_mode() {
    let Some(sandbox) = repository("a_document_of_another_user_keeps_its_group_and_mode") else { return };
    let settings = sandbox.path("../.claude/settings.json");
    std::fs::create_dir(settings.parent().unwrap()).unwrap();
    lchown(settings.parent().unwrap(), Some(USER), Some(USER)).unwrap();
    std::fs::write(&settings, "{}\n").unwrap();
    std::fs::set_permissions(&settings, std::fs::Permissions::from_mode(0o664)).unwrap();
    lchown(&settings, Some(23456), Some(USER)).unwrap();
    user(&sandbox, &["hooks", "install", "--host", "claude-code"]).ok();
    let meta = std::fs::metadata(&settings).unwrap();
    assert_eq!((meta.uid(), meta.gid(), meta.mode() & 0o777), (USER, USER, 0o664));
}

#[test]
fn a_directory_that_cannot_be_read_is_told_as_unreadable_and_nothing_in_it_as_missing() {
    let test = "a_directory_that_cannot_be_read_is_told_as_unreadable_and_nothing_in_it_as_missing";
    let Some(sandbox) = repository(test) else { return };
    user(&sandbox, &["start", "debug", "--id", "r1", "--issue", "7"]).ok();
    std::fs::write(sandbox.run_dir("r1").join("evidence/seen.txt"), "seen\n").unwrap();
    give(&sandbox.run_dir("r1"), USER);
    user(&sandbox, &["record-activity", "--id", "a", "--evidence", "evidence/seen.txt"]).ok();
    for closed in ["runs/r1/activities", "runs/r1/evidence", "runs/r1", "runs"] {
        let dir = sandbox.root().join(".flow").join(closed);
        let allow = |mode| std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(mode)).unwrap();
        allow(0o000);
        let report = user(&sandbox, &["doctor", "--json"]).json();
        user(&sandbox, &["doctor", "--repair"]);
        allow(0o755);
        let findings = report["findings"].as_array().unwrap();
        let is_of = |code: &str| findings.iter().any(|one| one["code"] == code);
        assert!(is_of("unreadable"), "{closed}: {report}");
        for missing in ["activity_missing", "evidence_missing", "run_yaml_missing", "lock_missing", "flow_incomplete"] {
            assert!(!is_of(missing), "{closed}: {report}");
        }
        user(&sandbox, &["verify", "r1"]).ok();
    }
}

#[test]
fn a_log_of_modes_that_another_user_owns_is_named_by_the_doctor() {
    let Some(sandbox) = repository("a_log_of_modes_that_another_user_owns_is_named_by_the_doctor") else { return };
    user(&sandbox, &["start", "debug", "--id", "r1"]).ok();
    user(&sandbox, &["mode", "request", "forge"]).ok();
    let log = sandbox.path(".flow/state/events.jsonl");
    lchown(&log, Some(0), Some(0)).unwrap();
    let told = user(&sandbox, &["doctor"]).ok().stdout;
    assert!(told.contains("warning  not_writable  .flow/state/events.jsonl"), "{told}");
    assert!(told.contains(&format!("sudo chown -R {USER}:{USER} {}", sandbox.path(".flow").display())), "{told}");
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o000)).unwrap();
    let told = user(&sandbox, &["doctor"]).exits(65).stdout;
    assert!(told.contains("error  unreadable  .flow/state/events.jsonl"), "{told}");
    user(&sandbox, &["mode", "list"]).exits(74);
}

#[test]
fn a_new_directory_of_a_document_has_the_permissions_of_the_one_around_it() {
    let sandbox = Sandbox::new();
    let parent = sandbox.path("shared");
    std::fs::create_dir(&parent).unwrap();
    for mode in [0o775, 0o700] {
        std::fs::set_permissions(&parent, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut command = sandbox.command("sh");
        let flow = sandbox.flow_command();
        let line = format!("umask 002; '{}' interview start shared/{mode}/p.md", flow.get_program().display());
        command.args(["-c", &line]);
        run(command, "").ok();
        assert_eq!(std::fs::metadata(parent.join(mode.to_string())).unwrap().mode() & 0o777, mode);
    }
}
