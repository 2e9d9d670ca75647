//! `flow exec --input`: evidence that covers ignored files, and files outside of git.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox};

/// A project in git that ignores `out/` and `.env`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path(".gitignore"), "out/\n.env\n").unwrap();
    fs::write(sandbox.path("a"), "1").unwrap();
    sandbox.git(&["add", ".gitignore", "a"]);
    sandbox.git(&["commit", "-q", "-m", "a"]);
    fs::create_dir(sandbox.path("out")).unwrap();
    fs::write(sandbox.path("out/app"), "one").unwrap();
    fs::write(sandbox.path("out/log.txt"), "log").unwrap();
    fs::write(sandbox.path(".env"), "KEY=1").unwrap();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox
}

/// The same outside of git.
fn without_git() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::remove_dir_all(sandbox.path(".git")).unwrap();
    fs::write(sandbox.path("a"), "1").unwrap();
    fs::write(sandbox.path("b"), "1").unwrap();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox
}

fn exec(sandbox: &Sandbox, options: &[&str]) -> Answer {
    sandbox.flow(["exec", "--run-id", "r1", "--id", "t"].iter().chain(options).chain(&["--", "true"]))
}

/// The freshness of the last command, and what changed since.
fn held(sandbox: &Sandbox) -> Value {
    let report = sandbox.flow(["verify", "r1", "--evidence", "--json"]).json();
    let seen = report["evidence"].as_array().unwrap().last().unwrap();
    json!([seen["freshness"], seen["changed"]])
}

fn changed(paths: &[&str]) -> Value {
    json!(["stale", paths])
}

#[test]
fn an_ignored_file_counts_only_if_an_input_names_it() {
    let sandbox = sandbox();
    exec(&sandbox, &[]).ok();
    fs::write(sandbox.path("out/app"), "two").unwrap();
    assert_eq!(held(&sandbox), json!(["fresh", []]));
    exec(&sandbox, &["--again", "--input", "out/app", "--input", "*.env"]).ok();
    assert_eq!(held(&sandbox), json!(["fresh", []]));
    fs::write(sandbox.path("out/log.txt"), "more").unwrap();
    assert_eq!(held(&sandbox), json!(["fresh", []]), "no input names it");
    fs::write(sandbox.path("out/app"), "three").unwrap();
    fs::write(sandbox.path(".env"), "KEY=2").unwrap();
    fs::write(sandbox.path("a"), "2").unwrap();
    assert_eq!(held(&sandbox), changed(&[".env", "a", "out/app"]));
    let told = sandbox.flow(["verify", "r1", "--evidence"]).exits(1).stdout;
    insta::assert_snapshot!(told, @"
    not fresh  r1
      002  t  preflight  true  passed, seen  followed by a later record
      004  t  preflight  true  passed, seen  stale: the files changed since it was run; inputs: out/app, *.env
        changed since 004: .env
        changed since 004: a
        changed since 004: out/app
      fresh means: the tracked and untracked files are the same; of ignored ones, only inputs are looked at
    ");
    let logged = sandbox.flow(["log", "r1", "--json"]).ok().json();
    assert_eq!(logged["events"].as_array().unwrap().last().unwrap()["exec"]["inputs"], json!(["out/app", "*.env"]));
    sandbox.flow(["verify", "r1"]).ok();
    sandbox.flow(["validate", "r1"]).ok();
}

#[test]
fn every_kind_of_change_of_an_input_is_seen() {
    let sandbox = sandbox();
    let app = sandbox.path("out/app");
    let fresh = |sandbox: &Sandbox| exec(sandbox, &["--again", "--input", "out"]).ok();
    fresh(&sandbox);
    // The same size and the same time.
    let modified = fs::metadata(&app).unwrap().modified().unwrap();
    fs::write(&app, "eno").unwrap();
    fs::File::options().write(true).open(&app).unwrap().set_modified(modified).unwrap();
    assert_eq!(held(&sandbox), changed(&["out/app"]));
    fs::write(&app, "one").unwrap();
    fs::File::options().write(true).open(&app).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(held(&sandbox), json!(["fresh", []]), "times do not count");
    fs::rename(&app, sandbox.path("out/other")).unwrap();
    assert_eq!(held(&sandbox), changed(&["out/app", "out/other"]));
    fs::rename(sandbox.path("out/other"), &app).unwrap();
    assert_eq!(held(&sandbox), json!(["fresh", []]));
    fs::set_permissions(&app, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(held(&sandbox), changed(&["out/app"]));
    fs::set_permissions(&app, fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(&app).unwrap();
    symlink("log.txt", &app).unwrap();
    assert_eq!(held(&sandbox), changed(&["out/app"]));
    fs::remove_file(&app).unwrap();
    assert_eq!(held(&sandbox), changed(&["out/app"]));
    fs::write(&app, "one").unwrap();
    fs::write(sandbox.path("out/new"), "").unwrap();
    assert_eq!(held(&sandbox), changed(&["out/new"]));
    fs::remove_file(sandbox.path("out/new")).unwrap();
    assert_eq!(held(&sandbox), json!(["fresh", []]));
}

#[test]
fn no_input_leads_out_of_the_project_or_through_a_link() {
    let sandbox = sandbox();
    for glob in ["../x", "/etc/passwd", "a/../../x", "", "[", "out/../.."] {
        let refused = exec(&sandbox, &["--input", glob]).exits(2);
        assert!(refused.stderr.contains("--input"), "{}", refused.stderr);
    }
    assert_eq!(sandbox.flow(["show", "r1", "--json"]).ok().json()["activities"], json!([]), "nothing was recorded");
    let outside = sandbox.path("../outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "1").unwrap();
    symlink("../../outside", sandbox.path("out/link")).unwrap();
    let told = exec(&sandbox, &["--input", "out/link/*", "--input", "out/**"]).ok();
    insta::assert_snapshot!(told.stderr, @r#"
    warning: --input "out/link/*" names no file of the project now
    flow: recorded 002 t (passed) in preflight of r1
    "#);
    fs::write(outside.join("x"), "2").unwrap();
    assert_eq!(held(&sandbox), json!(["fresh", []]), "a link is its target's name");
    fs::remove_file(sandbox.path("out/link")).unwrap();
    // With the same file behind it.
    fs::create_dir(sandbox.path("../elsewhere")).unwrap();
    fs::write(sandbox.path("../elsewhere/x"), "2").unwrap();
    symlink("../../elsewhere", sandbox.path("out/link")).unwrap();
    assert_eq!(held(&sandbox), changed(&["out/link"]));
}

#[test]
fn definitions_of_flow_count_only_if_an_input_names_them() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.path(".flow/workflows")).unwrap();
    fs::write(sandbox.path(".flow/workflows/w.mmd"), "1").unwrap();
    exec(&sandbox, &[]).ok();
    fs::write(sandbox.path(".flow/workflows/w.mmd"), "2").unwrap();
    assert_eq!(held(&sandbox), json!(["fresh", []]));
    exec(&sandbox, &["--again", "--input", ".flow/workflows/**"]).ok();
    assert_eq!(held(&sandbox), json!(["fresh", []]), "a record changes none of them");
    fs::write(sandbox.path(".flow/workflows/w.mmd"), "3").unwrap();
    assert_eq!(held(&sandbox), changed(&[".flow/workflows/w.mmd"]));
}

#[test]
fn outside_of_git_evidence_is_bound_to_the_inputs_alone() {
    let sandbox = without_git();
    exec(&sandbox, &[]).ok();
    assert_eq!(held(&sandbox)[0], "unknown");
    exec(&sandbox, &["--again", "--input", "a"]).ok();
    assert_eq!(held(&sandbox), json!(["fresh", []]));
    fs::write(sandbox.path("b"), "2").unwrap();
    assert_eq!(held(&sandbox), json!(["fresh", []]));
    fs::write(sandbox.path("a"), "2").unwrap();
    assert_eq!(held(&sandbox), changed(&["a"]));
    fs::write(sandbox.path("a"), "1").unwrap();
    assert_eq!(held(&sandbox), json!(["fresh", []]));
    let same = "the inputs are the same; outside of git nothing else is looked at";
    for reader in [&["verify", "r1", "--evidence"][..], &["show", "r1"], &["resume", "r1"]] {
        let told = sandbox.flow(reader).stdout;
        assert!(told.contains(same) && !told.contains("tracked and untracked"), "{reader:?}: {told}");
    }
}

#[test]
fn a_command_that_makes_its_input_holds_for_the_files_before() {
    let sandbox = sandbox();
    let make = ["exec", "--run-id", "r1", "--id", "t", "--input", "out/made", "--", "sh", "-c", "echo x > out/made"];
    let told = sandbox.flow(make).ok();
    insta::assert_snapshot!(told.stderr, @r#"
    warning: --input "out/made" names no file of the project now
    flow: recorded 002 t (passed) in preflight of r1; 1 file changed while it ran, and it holds for the files as they were before
    "#);
    assert_eq!(held(&sandbox), changed(&["out/made"]));
}

#[test]
fn looks_with_inputs_and_without_them_do_not_forget_each_others_files() {
    let sandbox = sandbox();
    let cache = |name: &str| fs::read(sandbox.path(".flow/.cache").join(name)).unwrap_or_default();
    exec(&sandbox, &["--input", "out"]).ok();
    // What was made within the same tick of the clock is in no cache, so the file system's clock has to go on.
    std::thread::sleep(std::time::Duration::from_millis(50));
    exec(&sandbox, &["--again", "--input", "out"]).ok();
    let known = cache("inputs");
    let has = |cache: &[u8], name: &str| cache.windows(name.len()).any(|part| part == name.as_bytes());
    assert!(has(&known, "out/app"));
    exec(&sandbox, &["--again"]).ok();
    assert!(has(&cache("tree"), ".gitignore") && !has(&cache("tree"), "out/app"));
    assert_eq!(cache("inputs"), known);
}

#[test]
fn in_another_clone_only_the_same_files_are_fresh() {
    let sandbox = sandbox();
    fs::write(sandbox.path(".git/info/exclude"), ".flow\n").unwrap();
    exec(&sandbox, &["--input", "out/app"]).ok();
    let clone = sandbox.path("../clone");
    sandbox.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    fs::write(clone.join(".git/info/exclude"), ".flow\n").unwrap();
    assert_eq!(sandbox.freshness_in(&clone), "unknown", "the input is in no commit");
    fs::create_dir(clone.join("out")).unwrap();
    fs::write(clone.join("out/app"), "one").unwrap();
    assert_eq!(sandbox.freshness_in(&clone), "fresh");
    fs::write(clone.join("out/app"), "two").unwrap();
    assert_eq!(sandbox.freshness_in(&clone), "unknown");
}

#[test]
fn outside_of_git_inputs_that_name_no_file_claim_nothing() {
    let sandbox = without_git();
    exec(&sandbox, &["--input", "nothing/**"]).ok();
    assert_eq!(held(&sandbox), json!(["unknown", []]));
    // A file that comes to be among them was not there when it was run.
    fs::create_dir(sandbox.path("nothing")).unwrap();
    fs::write(sandbox.path("nothing/x"), "1").unwrap();
    assert_eq!(held(&sandbox), json!(["unknown", []]));
}

/// What is said of files beyond the number that is named.
#[test]
fn more_changed_files_than_are_named_are_told_as_more() {
    let sandbox = sandbox();
    let make = |range: std::ops::Range<usize>| {
        range.for_each(|n| fs::write(sandbox.path(format!("many{n}")), "1").unwrap());
    };
    let seen = || sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(1).json()["evidence"][0].clone();
    exec(&sandbox, &[]).ok();
    make(1000..2500);
    let after = seen();
    assert_eq!((after["changed"].as_array().unwrap().len(), &after["more_changed"]), (1000, &json!(true)));
    // They were there when the command ran again, so only one differs, and it is not among those that were noted.
    exec(&sandbox, &["--again"]).ok();
    fs::write(sandbox.path("many2400"), "2").unwrap();
    let report = sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(1).json();
    let after = report["evidence"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&after["changed"], &after["more_changed"]), (&json!([]), &json!(true)), "{after}");
}
