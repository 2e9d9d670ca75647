//! Disks that are full, read-only, or not ours to write.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::cases::{CASES, case};
use crate::support::hostile::{as_user, can_become_others};
use crate::support::mount::{FileSystem, Image};
use crate::support::trouble::Disk;
use crate::support::{Answer, Lack, Scene, Tally, Tree, Trouble, can_inject, run, scaled, skipped, temporary};

/// The case on a tmpfs of its own; says loudly when there can be none.
fn on_a_disk(row: &str, test: &str) -> Option<Scene> {
    if !can_inject(test) {
        return None;
    }
    Scene::on_a_disk(case(row)).map_err(|why| skipped(test, &why)).ok()
}

#[test]
fn a_disk_that_fills_up_ends_in_a_clean_failure_and_all_acknowledged_records() {
    let test = "a_disk_that_fills_up_ends_in_a_clean_failure_and_all_acknowledged_records";
    for pages in [6, 8, 10] {
        let Some(scene) = on_a_disk("record-activity", test) else { return };
        let sandbox = &scene.sandbox;
        scene.restore();
        let disk = scene.troubled(Disk::Pages(pages));
        let record = |n: u32| sandbox.flow(["record-activity", "--run-id", "r1", "--id", &format!("look-{n}")]);
        let mut acknowledged = 0;
        let failed = loop {
            let answer = record(acknowledged);
            if answer.code != Some(0) {
                break answer;
            }
            acknowledged += 1;
            assert!(acknowledged < 60, "the disk is never full");
        };
        let failed = failed.exits(74);
        // The last write fails, or the last but one is short.
        let told = ["No space", "only a part was written"].iter().any(|why| failed.stderr.contains(why));
        assert!(acknowledged > 0 && told, "{failed:?}");
        sandbox.flow(["resume", "r1", "--json"]).ok();
        assert_eq!(sandbox.records("r1").len(), 1 + acknowledged as usize, "{pages} pages");
        // Room again.
        drop(disk);
        record(acknowledged).ok();
        sandbox.assert_sound("r1");
        assert_eq!(sandbox.records("r1").len(), 2 + acknowledged as usize);
    }
}

#[test]
fn a_disk_with_too_little_room_for_a_command_loses_nothing() {
    let test = "a_disk_with_too_little_room_for_a_command_loses_nothing";
    let mut tally = Tally::default();
    for (at, row) in CASES.into_iter().enumerate() {
        let Some(scene) = on_a_disk(row.name, test) else { return };
        // A record in every state, the others in every so manieth.
        let step = if row.name == "record-activity" { 1 } else { scaled(11, 6) };
        let states: Vec<_> = Trouble::Room.states(&scene).into_iter().skip(at % step).step_by(step).collect();
        tally.add(Tally::of_scene(&scene, &states));
    }
    tally.assert_clean();
}

#[test]
fn on_a_read_only_disk_readers_answer_and_writers_fail_cleanly() {
    let test = "on_a_read_only_disk_readers_answer_and_writers_fail_cleanly";
    let mut tally = Tally::default();
    for row in CASES {
        let Some(scene) = on_a_disk(row.name, test) else { return };
        tally.add(Tally::of_scene(&scene, &Trouble::ReadOnly.states(&scene)));
    }
    tally.assert_clean();
    let Some(scene) = on_a_disk("record-activity", test) else { return };
    scene.restore();
    let before = Tree::of(&scene.sandbox.path(".flow"));
    let disk = scene.troubled(Disk::ReadOnly);
    for reader in [&["resume", "r1"][..], &["list"], &["show", "r1"], &["log", "r1"], &["validate", "r1"]] {
        scene.sandbox.flow(reader.iter().chain(&["--json"])).ok();
    }
    let answer = scene.sandbox.flow(&scene.order.args).exits(74);
    assert!(answer.stderr.contains("Read-only"), "{answer:?}");
    scene.sandbox.flow(["session-end", "--unowned"]).ok();
    assert_eq!(Tree::of(&scene.sandbox.path(".flow")), before);
    drop(disk);
    scene.again_as_a_process().ok();
}

/// Gives everything in the sandbox to this user.
fn give_to(scene: &Scene, user: u32) {
    let mut chown = scene.sandbox.command("chown");
    chown.args(["-R", &format!("{user}:{user}"), "."]);
    run(chown, "").ok();
}

#[test]
fn a_quota_that_is_used_up_ends_in_a_clean_failure_and_all_acknowledged_records() {
    let test = "a_quota_that_is_used_up_ends_in_a_clean_failure_and_all_acknowledged_records";
    if !can_inject(test) {
        return;
    }
    let mut image = match Image::new(FileSystem::Xfs, 0, &[]) {
        Ok(image) => image,
        Err(lack) => return skipped(test, &lack),
    };
    image.unmount().unwrap();
    if let Err(lack) = image.mount("uquota") {
        return skipped(test, &Lack { need: "quota".to_owned(), ..lack });
    }
    let limit = |kilobytes: u32| {
        let limit = format!("limit -u bhard={kilobytes}k 65534");
        Command::new("xfs_quota").args(["-x", "-c", &limit]).arg(image.path()).output()
    };
    if !limit(0).is_ok_and(|output| output.status.success()) {
        return skipped(test, &Lack::of("xfs_quota", "xfs_quota is missing or cannot set a quota"));
    }
    let scene = Scene::new(case("record-activity"), &image.path());
    scene.restore();
    let home = scene.sandbox.root().parent().unwrap().to_owned();
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o755)).unwrap();
    give_to(&scene, 65534);
    if as_nobody(&scene, &["--version"]).code != Some(0) {
        return skipped(test, &unreachable());
    }
    limit(QUOTA).unwrap();
    let record = |n: u32| as_nobody(&scene, &["record-activity", "--run-id", "r1", "--id", &format!("look-{n}")]);
    let failed = (0..500).map(|n| (n, record(n))).find(|(_, answer)| answer.code != Some(0));
    let (acknowledged, failed) = failed.expect("the quota is never used up");
    let failed = failed.exits(74);
    assert!(acknowledged > 0 && failed.stderr.contains("uota exceeded"), "{failed:?}");
    assert_eq!(scene.sandbox.records("r1").len(), 1 + acknowledged as usize);
    limit(0).unwrap();
    record(acknowledged).ok();
    give_to(&scene, 0);
    scene.sandbox.assert_sound("r1");
    assert_eq!(scene.sandbox.records("r1").len(), 2 + acknowledged as usize);
}

/// KiB that a project with a few records needs, and no more.
const QUOTA: u32 = 400;

/// The program is in a directory that only its owner may enter.
fn unreachable() -> Lack {
    Lack::of("open-target", "another user cannot reach the program")
}

/// Another user's program, who owns the sandbox's files.
fn as_nobody(scene: &Scene, args: &[&str]) -> Answer {
    let mut command = scene.sandbox.flow_command();
    command.args(args);
    run(as_user(65534, command), "")
}

/// A scene that belongs to a user with no rights, unless this machine cannot do that.
fn scene_of_nobody(test: &str) -> Option<Scene> {
    if !can_become_others(test) || !can_inject(test) {
        return None;
    }
    let scene = Scene::new(case("record-activity"), &temporary());
    scene.restore();
    let home = scene.sandbox.root().parent().unwrap().to_owned();
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o755)).unwrap();
    if as_nobody(&scene, &["--version"]).code != Some(0) {
        skipped(test, &unreachable());
        return None;
    }
    give_to(&scene, 65534);
    Some(scene)
}

#[test]
fn files_of_modes_that_may_not_be_read_can_be_given_up() {
    let Some(scene) = scene_of_nobody("files_of_modes_that_may_not_be_read_can_be_given_up") else { return };
    let state = scene.sandbox.path(".flow/state");
    let close =
        |name: &str| std::fs::set_permissions(state.join(name), std::fs::Permissions::from_mode(0o000)).unwrap();
    as_nobody(&scene, &["mode", "request", "forge"]).ok();
    close("forge-state.json");
    close("skill-active-state.json");
    as_nobody(&scene, &["mode", "request", "team"]).exits(65);
    let listed = as_nobody(&scene, &["mode", "list", "--json"]).ok().json();
    assert_eq!(listed["modes"][0]["error"], "its permissions do not allow it");
    as_nobody(&scene, &["mode", "cancel", "forge"]).ok();
    as_nobody(&scene, &["mode", "request", "team"]).ok();
    let listed = as_nobody(&scene, &["mode", "list", "--json"]).ok().json();
    assert_eq!(listed["active"], serde_json::json!(["team"]));
    let kept = std::fs::read_dir(state.join(".quarantine")).unwrap().count();
    assert_eq!(kept, 1, "the file that could not be read is kept");
    // One that hides the root's, and a session that nobody can look at.
    as_nobody(&scene, &["mode", "request", "forge", "--session", "s1"]).ok();
    as_nobody(&scene, &["mode", "request", "forge", "--session", "s2"]).ok();
    close("sessions/s1/forge-state.json");
    as_nobody(&scene, &["mode", "cancel", "forge", "--session", "s1"]).ok();
    as_nobody(&scene, &["mode", "request", "forge", "--session", "s1"]).ok();
    close("sessions/s1");
    as_nobody(&scene, &["mode", "cancel", "team", "--root"]).ok();
    let refused = as_nobody(&scene, &["mode", "request", "team", "--root"]).exits(74).stderr;
    assert!(refused.contains("sessions/s1"), "{refused}");
    let ended = as_nobody(&scene, &["mode", "cancel", "--all", "--json"]).ok().json();
    assert_eq!(ended["ended"].as_array().unwrap().len(), 1, "{ended}");
    assert!(ended["warnings"][0].as_str().unwrap().contains("session s1 cannot be read"), "{ended}");
    as_nobody(&scene, &["mode", "list", "--all"]).ok();
    let open = |mode: u32| {
        std::fs::set_permissions(state.join("sessions/s1"), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    // One that can be read and not be written.
    open(0o500);
    as_nobody(&scene, &["mode", "request", "forge", "--session", "s3"]).ok();
    let ended = as_nobody(&scene, &["mode", "cancel", "--all", "--json"]).ok().json();
    assert_eq!(ended["ended"].as_array().unwrap().len(), 1, "{ended}");
    assert!(ended["warnings"][0].as_str().unwrap().contains("session s1 stay as they are"), "{ended}");
    open(0o700);
}

#[test]
fn without_permission_to_write_readers_answer_and_writers_fail_cleanly() {
    let test = "without_permission_to_write_readers_answer_and_writers_fail_cleanly";
    let Some(scene) = scene_of_nobody(test) else { return };
    let args: Vec<&str> = scene.order.args.iter().map(String::as_str).collect();
    let dir = scene.sandbox.run_dir("r1");
    for closed in [dir.clone(), dir.join("activities"), dir.join("events.jsonl"), dir.join(".lock")] {
        let mode = std::fs::metadata(&closed).unwrap().permissions().mode();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode & 0o555)).unwrap();
        let before = Tree::of(&dir).text("events.jsonl");
        let seen = as_nobody(&scene, &["resume", "r1", "--json"]).ok().json();
        assert_eq!(seen["completed"].as_array().unwrap().len(), 1, "{}", closed.display());
        let answer = as_nobody(&scene, &args);
        assert!([Some(74), Some(77)].contains(&answer.code), "{}: {answer:?}", closed.display());
        assert!(answer.stderr.contains("ermission"), "{answer:?}");
        assert_eq!(Tree::of(&dir).text("events.jsonl"), before);
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    as_nobody(&scene, &args).ok();
    let seen = as_nobody(&scene, &["resume", "r1", "--json"]).ok().json();
    assert_eq!(seen["completed"][1]["id"], "explore-done");
}
