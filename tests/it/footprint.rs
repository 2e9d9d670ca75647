//! What a first run leaves in a repository: little, and told.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use flowrun::disk::Errno;
use serde_json::json;

use crate::support::shaky::{DiskCall, Ill, Shaky};
use crate::support::{Answer, Sandbox, alone, run};

/// The files below a directory, with their sizes.
fn files(root: &Path) -> Vec<(String, u64)> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let name = entry.path().strip_prefix(root).unwrap().display().to_string();
            files.push((name, entry.metadata().unwrap().len()));
        }
    }
    files
}

/// A project that keeps no decisions, as most do.
fn plain() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::remove_dir(sandbox.path(".decisions")).unwrap();
    sandbox
}

/// What the program answers in this directory.
fn flow_in(sandbox: &Sandbox, dir: impl AsRef<Path>, args: &[&str]) -> Answer {
    let mut command = sandbox.flow_command();
    command.args(args).current_dir(dir);
    run(command, "")
}

#[test]
fn a_first_run_leaves_at_most_eight_files_and_twenty_kilobytes() {
    let sandbox = plain();
    let run = sandbox.flow(["start", "start-issue", "--issue", "42"]).ok().line().to_owned();
    let left = files(&sandbox.path(".flow"));
    assert!(left.len() <= 8, "{left:?}");
    let names: Vec<_> = left.iter().map(|(name, _)| name.replace(&run, "RUN")).collect();
    insta::assert_snapshot!(names.join("\n"), @r"
    .cache/.gitignore
    .cache/open-runs.json
    .gitattributes
    .gitignore
    .lock
    runs/RUN/events.jsonl
    runs/RUN/run.yaml
    ");
    sandbox.record(&run, "preflight", "check-tree");
    sandbox.record(&run, "explore", "read-parser");
    let with_records = files(&sandbox.path(".flow"));
    let bytes: u64 = with_records.iter().map(|(_, bytes)| bytes).sum();
    assert!(bytes <= 20 << 10, "{bytes} bytes");
    // Five are the project's, as above; a run has three, and one more for each record.
    let of_run = |run: &str| files(&sandbox.run_dir(run)).len();
    assert_eq!((with_records.len(), of_run(&run)), (10, 5));
    // Nothing is made beside it, and git sees what is worth keeping alone.
    let seen = sandbox.command("git").args(["status", "--porcelain", "-uall"]).output().unwrap();
    insta::assert_snapshot!(String::from_utf8(seen.stdout).unwrap().replace(&run, "RUN"), @r"
    ?? .flow/.gitattributes
    ?? .flow/runs/RUN/activities/001-check-tree.yaml
    ?? .flow/runs/RUN/activities/002-read-parser.yaml
    ?? .flow/runs/RUN/events.jsonl
    ?? .flow/runs/RUN/run.yaml
    ");
    // Another run adds nothing outside of its directory.
    sandbox.flow(["start", "debug", "--id", "other"]).ok();
    assert_eq!(files(&sandbox.path(".flow")).len(), 10 + of_run("other"));
    sandbox.record("other", "preflight", "look");
    assert_eq!(of_run("other"), 4);
    sandbox.flow(["doctor"]).ok();
}

#[test]
fn schemas_come_when_asked_for_and_runs_from_then_on_name_theirs() {
    let sandbox = plain();
    let first = |run: &str| sandbox.read(run, "run.yaml").lines().next().unwrap().to_owned();
    sandbox.flow(["start", "debug", "--id", "older"]).ok();
    assert!(!first("older").contains("$schema"));
    let made = sandbox.flow(["init", "--schemas"]).ok();
    assert!(made.stdout.contains("schemas/run.schema.json"), "{made:?}");
    assert_eq!(made.stderr, "run.yaml of new runs names its schema; in older ones the first line for it is missing\n");
    sandbox.flow(["start", "debug", "--id", "newer"]).ok();
    assert_eq!(first("newer"), "# yaml-language-server: $schema=../../schemas/run.schema.json");
    // Both are rebuilt from their logs as they were written.
    for run in ["older", "newer"] {
        sandbox.record(run, "preflight", "a");
        let text = sandbox.read(run, "run.yaml");
        fs::remove_file(sandbox.run_dir(run).join("run.yaml")).unwrap();
        sandbox.flow(["doctor", "--repair"]).ok();
        assert_eq!(sandbox.read(run, "run.yaml"), text);
        sandbox.flow(["verify", run]).ok();
    }
    // A schema that is lost comes back with the others.
    fs::remove_file(sandbox.path(".flow/schemas/run.schema.json")).unwrap();
    assert!(sandbox.flow(["doctor"]).stdout.contains("schema_outdated"));
    sandbox.flow(["init"]).ok();
    sandbox.flow(["doctor"]).ok();
}

#[test]
fn a_journal_is_kept_where_the_project_or_the_run_or_the_configuration_says_so() {
    let has_journal = |prepare: fn(&Sandbox), more: &[&str]| {
        let sandbox = plain();
        prepare(&sandbox);
        let line = ["start", "start-issue", "--issue", "42", "--json"];
        let run = sandbox.flow(line.iter().chain(more)).ok().json()["run_id"].as_str().unwrap().to_owned();
        let shown = sandbox.flow(["show", &run, "--json"]).ok().json();
        sandbox.flow(["fail", &run, "--reason", "enough"]).ok();
        let named = shown["context"]["journal"].as_str().map(str::to_owned);
        let notes = named.as_ref().map(|path| fs::read_to_string(sandbox.path(path)).unwrap());
        assert_eq!(sandbox.path(".decisions/issue-42.md").exists(), named.as_deref() == Some(".decisions/issue-42.md"));
        (named, notes.map(|notes| notes.matches("workflow-run").count()))
    };
    let of_issue = (Some(".decisions/issue-42.md".to_owned()), Some(2));
    let nothing: fn(&Sandbox) = |_| {};
    let directory: fn(&Sandbox) = |sandbox| fs::create_dir(sandbox.path(".decisions")).unwrap();
    let configured: fn(&Sandbox) = |sandbox| {
        sandbox.flow(["init"]).ok();
        fs::write(sandbox.path(".flow/config.yaml"), "journal: true\n").unwrap();
    };
    assert_eq!(has_journal(nothing, &[]), (None, None));
    assert_eq!(has_journal(directory, &[]), of_issue);
    assert_eq!(has_journal(configured, &[]), of_issue);
    assert_eq!(has_journal(nothing, &["--journal", "log.md"]), (Some("log.md".to_owned()), Some(2)));
}

/// A run that silently lacks its journal would look like one of a project that keeps none.
#[test]
fn a_run_names_its_journal_even_where_the_directory_of_journals_cannot_be_looked_at() {
    let start = |ills: &[Ill]| {
        let sandbox = Sandbox::new();
        let disk = Shaky::new(alone(), ills);
        let answer = sandbox.inside_on(Arc::new(disk.clone()), &[], ["start", "debug", "--issue", "42"]);
        (sandbox, answer.ok(), disk.calls())
    };
    let (.., calls) = start(&[]);
    let is_look = |call: &DiskCall| call.name == "newfstatat" && call.files[0].ends_with("/demo/.decisions");
    let at = 1 + calls.iter().position(is_look).unwrap();
    for errno in [Errno::IO, Errno::ACCESS] {
        let (sandbox, answer, _) = start(&[Ill::Failure(at, errno)]);
        let run = sandbox.read(answer.line(), "run.yaml");
        assert!(run.contains("journal: .decisions/issue-42.md"), "{errno:?}: {run}");
    }
}

#[test]
fn the_first_start_says_what_it_made_and_where() {
    let sandbox = plain();
    let home = sandbox.root().parent().unwrap().to_owned();
    let first_line = |answer: Answer| answer.stderr.lines().next().unwrap().replace(home.to_str().unwrap(), "HOME");
    let told = first_line(sandbox.flow(["start", "debug"]).ok());
    assert_eq!(
        told,
        "made HOME/demo/.flow: commit it to keep runs with the code, or ignore it with a line `.flow/` in the .gitignore beside it"
    );
    let again = first_line(sandbox.flow(["start", "debug"]).ok());
    assert!(again.starts_with("in phase preflight"), "{again}");

    fs::create_dir(home.join("plain")).unwrap();
    let told = first_line(flow_in(&sandbox, home.join("plain"), &["start", "debug"]).ok());
    assert_eq!(told, "made HOME/plain/.flow, which is in no git repository");

    assert!(Command::new("git").args(["init", "-q", "--bare"]).arg(home.join("bare.git")).status().unwrap().success());
    let told = first_line(flow_in(&sandbox, home.join("bare.git"), &["start", "debug"]).ok());
    assert_eq!(told, "made HOME/bare.git/.flow, in a bare repository: its clones will not have it");
    let made = flow_in(&sandbox, home.join("bare.git"), &["start", "debug", "--json"]).ok().json();
    assert_eq!(made["made"], json!(null));
    let resumed = flow_in(&sandbox, home.join("bare.git"), &["resume", "--json"]).ok().json();
    assert_eq!(resumed["working_tree"]["reason"], "a bare repository, which has no checkout");

    fs::create_dir(home.join("broken")).unwrap();
    fs::write(home.join("broken/.git"), "gitdir: /nowhere\n").unwrap();
    let told = first_line(flow_in(&sandbox, home.join("broken"), &["start", "debug"]).ok());
    assert_eq!(told, "made HOME/broken/.flow, beside a .git that leads to no repository");
}

#[test]
fn the_home_directory_becomes_a_project_only_when_it_is_meant() {
    let sandbox = plain();
    let home = sandbox.root().parent().unwrap().to_owned();
    let report = r#"{"status":"running"}"#;
    let emit = ["emit", "--workflow", "build", "--run-id", "r1", "--type", "status_change", "--step", "requirements"];
    for args in
        [&["start", "debug"][..], &["init"], &[&emit[..], &["--data", report]].concat(), &["mode", "request", "forge"]]
    {
        let told = flow_in(&sandbox, &home, args).exits(1).stderr;
        assert!(told.contains("is your home directory, and not a project"), "{told}");
        assert!(told.contains("make one here with `flow init --here`"), "{told}");
        assert!(!home.join(".flow").exists());
    }
    let told = flow_in(&sandbox, &home, &["start", "debug", "--here"]).ok().stderr;
    assert!(told.contains("every directory below that is in no repository belongs to this project"), "{told}");
    // What is there already is used as anywhere.
    flow_in(&sandbox, &home, &["start", "debug"]).ok();
}

#[test]
fn a_refused_start_makes_nothing_in_a_project_that_is_there() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--issue", "1", "--id", "r1"]).ok();
    fs::remove_file(sandbox.path(".flow/.gitattributes")).unwrap();
    let report =
        ["emit", "--workflow", "debug", "--run-id", "R1", "--type", "btw_update", "--data", r#"{"message":"a"}"#];
    for args in [&["start", "debug", "--issue", "1"][..], &["start", "debug", "--id", "R1"], &report] {
        sandbox.flow(args).exits(1);
        assert!(!sandbox.path(".flow/.gitattributes").exists(), "{args:?}");
    }
    sandbox.flow(["start", "debug", "--id", "r2"]).ok();
    assert!(sandbox.path(".flow/.gitattributes").exists());
}
