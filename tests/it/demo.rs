//! `flow demo`: what it shows is what the program does, wherever it runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::{Answer, Sandbox, answered, run, spawned};
use crate::tours::says;

/// The command in an environment in which `flow` is the program under test.
fn demo(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.flow_command();
    let program = Path::new(env!("CARGO_BIN_EXE_flow")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", program.display())).arg("demo").args(args);
    command
}

/// What the story prints, with `[..]` for what differs.
const STORY: &str = r#"
A project to throw away. In it are six rows, which an agent is to copy:

$ cd [..]
$ git init -q && printf 'row %s\n' 1 2 3 4 5 6 >old.txt && git add old.txt
$ git -c user.name=Demo -c user.email=demo@example.com commit -qm 'Six rows'

The agent starts a run and records its work; before a step that must not happen twice, it says so:

$ export FLOW_SESSION=monday FLOW_HOLDER_PID=$$
$ flow start start-issue --issue 42 --goal 'Copy the rows to the new table'
...
$ flow record-activity --id check-tree --type bash --exit-code 0 --summary 'The tree is clean'
recorded 001 check-tree (passed); [..]-issue-42 is in preflight, 1 completed
$ flow record-activity --phase explore --id find-rows --summary 'The rows are in old.txt'
recorded 002 find-rows (passed); [..]-issue-42 is in explore, 2 completed
$ flow record-activity --phase plan --id make-plan --summary 'Copy row by row' --advance
recorded 003 make-plan (passed); [..]-issue-42 is in code, 3 completed
$ flow record-activity --id copy-rows --status running --name 'Copy the rows'
recorded 004 copy-rows (running); [..]-issue-42 is in code, 3 completed
$ while read -r row; do echo "$row" >>new.txt; echo "copied $row"; sleep 1; done <old.txt
copied row 1
copied row 2
copied row 3
...
Elsewhere, something kills the agent. The number is that of this demonstration's shell; by hand, take your own:

$ kill -9 [..]
...
The next day a new session, which knows nothing of the first one, asks what is safe to do:

$ export FLOW_SESSION=tuesday
$ flow resume
reconcile  [..]-issue-42  start-issue
  why         004 copy-rows was begun and its outcome is unknown
  phase       code
...
  in doubt
    004  copy-rows  code  running
...
  uncommitted: 1 file outside flow's own files
    new.txt
  note        the process that held it is gone

flow does not guess whether the rows are there. The session looks, and goes on from what it finds:

$ export FLOW_SESSION=tuesday
$ wc -l old.txt new.txt
...
$ flow record-activity --id copy-rows --status failed --summary "$(grep -c . new.txt) of 6 rows were copied"
recorded 005 copy-rows (failed); [..]-issue-42 is in code, 3 completed
$ flow record-activity --id copy-rows --status running --name 'Copy the rows, from the start'
recorded 006 copy-rows (running); [..]-issue-42 is in code, 3 completed
$ cp old.txt new.txt
$ flow record-activity --id copy-rows --status passed --summary 'All 6 rows are copied'
recorded 007 copy-rows (passed); [..]-issue-42 is in code, 4 completed
$ flow log
...
   9  [..]  activity_recorded  007 copy-rows passed in code

So far the agent claims it. What flow runs itself is seen, and holds until a file changes:

$ export FLOW_SESSION=tuesday
$ flow exec --id compare -- cmp old.txt new.txt
...
$ flow verify --evidence
ok  [..]-issue-42
  009  compare  code  cmp old.txt new.txt  passed, seen  fresh
...
$ echo 'row 7' >>new.txt
$ flow verify --evidence
not fresh  [..]-issue-42
  009  compare  code  cmp old.txt new.txt  passed, seen  stale: the files changed since it was run
    changed since 009: new.txt
...
  files       [..]/.flow/runs
  look        flow -C [..] watch
  or          flow -C [..] serve
  remove      rm -rf [..]
"#;

#[track_caller]
fn tells_the_story(answer: Answer) {
    let answer = answer.ok();
    let printed: Vec<_> = answer.stdout.lines().collect();
    assert!(says(&STORY.lines().collect::<Vec<_>>(), &printed), "{}", answer.stdout);
    assert_eq!(answer.stderr, "");
}

#[test]
fn the_story_is_told_by_real_commands_also_twice_at_once_and_inside_of_an_agent() {
    let sandbox = Sandbox::new();
    let first = spawned(demo(&sandbox, &[]));
    let mut second = demo(&sandbox, &["../shown"]);
    // An agent that begins it, and what it told its commands, are no part of the story.
    second.env("CLAUDECODE", "1").env("FLOW_SESSION", "agent").env("FLOW_RUN", "other").env("GIT_DIR", "/nowhere");
    let second = spawned(second);
    tells_the_story(answered(first));
    tells_the_story(answered(second));
    // The files are where it says, and stay sound; nothing is made where it was begun.
    assert!(!sandbox.path(".flow").exists());
    let shown = sandbox.path("../shown");
    let resumed = sandbox.flow(["-C", shown.to_str().unwrap(), "resume", "--json"]).ok().json();
    assert_eq!((&resumed["verdict"], &resumed["completed"][3]["number"]), (&json!("continue"), &json!("007")));
    sandbox.flow(["-C", shown.to_str().unwrap(), "verify"]).ok();
    assert_eq!(std::fs::read_to_string(shown.join("new.txt")).unwrap().lines().count(), 7);
}

#[test]
fn the_board_has_runs_of_every_group() {
    let sandbox = Sandbox::new();
    let report = run(demo(&sandbox, &["../shown", "--board", "--json"]), "").ok().json();
    assert_eq!(report["runs"].as_array().unwrap().len(), 11);
    let shown = sandbox.path("../shown");
    let look = |command: &str| {
        let mut line = sandbox.flow_command();
        // They happened in the days before now.
        line.env_remove("__FLOW_NOW").args(["-C", shown.to_str().unwrap(), "--json", command]);
        line
    };
    let mut all = look("attention");
    all.arg("--all");
    let cards = run(all, "").ok().json();
    let cards = cards["runs"].as_array().unwrap();
    let groups: BTreeSet<_> = cards.iter().map(|card| card["group"].as_str().unwrap()).collect();
    assert_eq!(groups, BTreeSet::from(["waits", "in_doubt", "left_behind", "at_work", "can_go_on"]));
    let needs: BTreeSet<_> = cards.iter().filter_map(|card| card["need"].as_str()).collect();
    assert_eq!(needs, BTreeSet::from(["question", "blocked", "failing", "begun", "ended"]));
    let list = run(look("list"), "").ok().json();
    let statuses: BTreeSet<_> =
        list["runs"].as_array().unwrap().iter().map(|run| run["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, BTreeSet::from(["active", "blocked", "completed", "failed", "cancelled"]));
    run(look("doctor"), "").ok();
}

#[test]
fn a_directory_in_which_something_is_stays_as_it_is() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("mine.txt"), "").unwrap();
    let told = run(demo(&sandbox, &["."]), "").exits(1);
    assert_eq!(told.stdout, "");
    insta::assert_snapshot!(told.stderr, @r"
    error: the directory . is not empty
      help: name a new directory, or none for a temporary one
    ");
    assert!(!sandbox.path(".flow").exists());
}

#[test]
fn without_git_nothing_is_shown_or_made() {
    let sandbox = Sandbox::new();
    let programs = sandbox.path("../programs");
    std::fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink("/bin/sh", programs.join("sh")).unwrap();
    for args in [&["../shown"][..], &["../shown", "--board"]] {
        let mut command = sandbox.flow_command();
        command.env("PATH", &programs).arg("demo").args(args);
        let told = run(command, "").exits(3);
        assert_eq!(told.stdout, "");
        insta::allow_duplicates! {
            insta::assert_snapshot!(told.stderr, @r"
            error: the demonstration takes place in a git repository, and `git` is not on the PATH
              help: install git; in a project without git, all but what looks at commits and changes works
            ");
        }
        assert!(!sandbox.path("../shown").exists());
    }
}

#[test]
fn without_flow_on_the_path_the_commands_name_the_program() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.flow_command();
    command.env("PATH", "/usr/bin:/bin").args(["demo", "../shown", "--board"]);
    let told = run(command, "").ok().stdout;
    let named: Vec<_> = told.lines().filter(|line| line.starts_with("$ flow() { ")).collect();
    assert_eq!(named, [format!("$ flow() {{ {} \"$@\"; }}", env!("CARGO_BIN_EXE_flow"))]);
}
