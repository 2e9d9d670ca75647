//! Where two commands look at the same file: what one refuses, the other does not promise.

use crate::support::{Sandbox, Tree};

/// A run as the original scripts write one, with another line in its `context`.
const FOREIGN: &str = "\
apiVersion: flow.synapti.ai/v1
kind: FlowRun
metadata:
  id: r1
  workflow: debug
  created_at: 2026-05-20T14:30:00Z
CONTEXT
state:
  status: active
  current_phase: preflight
  completed_activities: []
";

fn foreign(context: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    std::fs::create_dir_all(sandbox.run_dir("r1").join("activities")).unwrap();
    let text = FOREIGN.replace("CONTEXT\n", context);
    std::fs::write(sandbox.run_dir("r1").join("run.yaml"), text).unwrap();
    sandbox
}

#[test]
fn a_first_record_that_is_refused_leaves_nothing_behind() {
    let context = "context:\n  repo: a/b\n";
    let usable = FOREIGN.replace("CONTEXT\n", context);
    for text in [
        Some("{{{".to_owned()),
        Some(FOREIGN.replace("CONTEXT\n", "")),
        Some(usable.replace("id: r1", "id: r2")),
        Some(usable.replace("status: active", "status: weird")),
        Some(format!("<<<<<<< HEAD\n{usable}=======\n{usable}>>>>>>> other\n")),
        // An empty directory.
        None,
    ] {
        let sandbox = Sandbox::new();
        sandbox.flow(["init"]).ok();
        std::fs::create_dir_all(sandbox.run_dir("r1")).unwrap();
        if let Some(text) = &text {
            std::fs::write(sandbox.run_dir("r1").join("run.yaml"), text).unwrap();
        }
        let before = Tree::of(&sandbox.run_dir("r1"));
        let emit = ["emit", "--workflow", "debug", "--run-id", "r1", "--type", "status_change", "--step", "preflight"];
        for args in [
            &["record-activity", "--run-id", "r1", "--id", "look"][..],
            &[&emit[..], &["--data", "{\"status\":\"running\"}"]].concat(),
            &["cancel", "r1"],
            &["set", "r1", "--goal", "x"],
        ] {
            let refused = sandbox.flow(args.iter().copied());
            assert_ne!(refused.code, Some(0), "{text:?} {args:?}");
            assert!(Tree::of(&sandbox.run_dir("r1")) == before, "{text:?} {args:?}: {refused:?}");
        }
    }
}

#[test]
fn readers_and_writers_agree_whether_a_run_of_another_program_can_be_used() {
    for (context, is_usable) in [
        ("context:\n  repo: a/b\n  issue: \"42\"\n", true),
        ("context:\n  issue: null\n", true),
        ("context:\n  issue: true\n", false),
        ("context:\n  pr: -1\n", false),
        ("", false),
        ("context: []\n", false),
    ] {
        let sandbox = foreign(context);
        let read = ["resume", "show"].map(|verb| sandbox.flow([verb, "r1", "--json"]));
        let verified = sandbox.flow(["verify", "r1", "--json"]);
        let listed = sandbox.flow(["list", "--json"]).ok().json();
        let needs = sandbox.flow(["attention", "--all", "--json"]).ok().json();
        let write = sandbox.flow(["record-activity", "--run-id", "r1", "--id", "look", "--json"]);
        assert_eq!(write.code == Some(0), is_usable, "{context:?}: {write:?}");
        assert_eq!(verified.code == Some(0), is_usable, "{context:?}: {verified:?}");
        for answer in read {
            assert_eq!(answer.code == Some(0), is_usable, "{context:?}: {answer:?}");
            if !is_usable {
                assert_eq!(answer.error()["message"], write.error()["message"], "{context:?}");
            }
        }
        for list in [listed, needs] {
            assert_eq!(list["runs"].as_array().unwrap().len(), usize::from(is_usable), "{context:?}: {list}");
            assert_eq!(list["unreadable"].as_array().unwrap().len(), usize::from(!is_usable), "{context:?}: {list}");
        }
    }
}

#[test]
fn lists_and_resume_agree_that_a_merge_joined_two_histories() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let begun = sandbox.read("r1", "events.jsonl");
    sandbox.record("r1", "preflight", "ours");
    let ours = sandbox.read("r1", "events.jsonl");
    // The other branch's history: the same start, other records.
    let other = Sandbox::new();
    other.flow(["start", "debug", "--id", "r1"]).ok();
    for n in 1..=40 {
        other.record("r1", "preflight", &format!("theirs-{n}"));
    }
    let theirs = other.read("r1", "events.jsonl");
    let theirs = theirs.strip_prefix(&begun).unwrap_or(theirs.split_once('\n').unwrap().1);
    std::fs::write(sandbox.run_dir("r1").join("events.jsonl"), ours + theirs).unwrap();
    std::fs::write(sandbox.run_dir("r1").join("run.yaml"), other.read("r1", "run.yaml")).unwrap();
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).exits(65).json()["verdict"], "conflict");
    let listed = sandbox.flow(["list", "--json"]).ok().json();
    assert_eq!(listed["runs"][0]["doing"], "conflict", "{listed}");
    let needs = sandbox.flow(["attention", "--json"]).ok().json();
    assert_eq!(needs["runs"][0]["need"], "joined", "{needs}");
}

#[test]
fn a_run_that_ended_in_one_of_two_joined_histories_is_joined_for_every_reader() {
    for here_was_written in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.flow(["start", "debug", "--id", "r1"]).ok();
        let other = Sandbox::new();
        std::fs::create_dir_all(other.path(".flow/runs/r1")).unwrap();
        for name in ["run.yaml", "events.jsonl"] {
            std::fs::copy(sandbox.run_dir("r1").join(name), other.run_dir("r1").join(name)).unwrap();
        }
        let begun = sandbox.read("r1", "events.jsonl");
        sandbox.flow(["cancel", "r1", "--reason", "enough"]).ok();
        other.record("r1", "preflight", "theirs");
        // As git's union joins them, and with this side's run.yaml kept.
        let theirs = other.read("r1", "events.jsonl");
        let (ours, ended) = (sandbox.read("r1", "events.jsonl"), sandbox.read("r1", "run.yaml"));
        let theirs = theirs.strip_prefix(&begun).unwrap().to_owned();
        std::fs::write(sandbox.run_dir("r1").join("events.jsonl"), format!("{begun}{theirs}{}", &ours[begun.len()..]))
            .unwrap();
        std::fs::write(sandbox.run_dir("r1").join("run.yaml"), ended).unwrap();
        if !here_was_written {
            // As in a clone.
            std::fs::remove_file(sandbox.run_dir("r1").join(".lock")).unwrap();
            std::fs::remove_dir_all(sandbox.path(".flow/.cache")).unwrap();
        }
        for resume in [&["resume", "r1", "--json"][..], &["resume", "--json"]] {
            assert_eq!(sandbox.flow(resume).exits(65).json()["verdict"], "conflict");
        }
        for _ in 0..2 {
            let listed = sandbox.flow(["list", "--json"]).ok().json();
            assert_eq!(listed["runs"][0]["doing"], "conflict", "{listed}");
            let needs = sandbox.flow(["attention", "--json"]).ok().json();
            assert_eq!(needs["runs"][0]["need"], "joined", "{needs}");
            let shown = sandbox.flow(["hud"]).ok().stdout;
            assert!(shown.contains("joined"), "{shown}");
        }
        // A command that writes does not take it for one that is over.
        let refused = sandbox.flow(["record-activity", "--id", "more"]).exits(65);
        assert!(refused.stderr.contains("r1"), "{refused:?}");
        sandbox.flow(["doctor", "r1", "--repair"]).ok();
        let listed = sandbox.flow(["list", "--json"]).ok().json();
        assert_eq!(listed["runs"][0]["doing"], serde_json::Value::Null, "{listed}");
    }
}

#[test]
fn lists_and_resume_agree_about_conflict_markers() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let text = sandbox.read("r1", "run.yaml");
    let marked = text.replacen("state:", "<<<<<<< HEAD\nstate:\n=======\n>>>>>>> side\nstate:", 1);
    std::fs::write(sandbox.run_dir("r1").join("run.yaml"), marked).unwrap();
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).exits(65).json()["verdict"], "conflict");
    for verb in ["list", "attention"] {
        let report = sandbox.flow([verb, "--json"]).ok().json();
        let why = report["unreadable"][0]["reason"].as_str().unwrap_or_default().to_owned();
        assert!(why.starts_with("a merge joined two histories of run r1"), "{report}");
    }
}

#[test]
fn a_key_of_the_configuration_that_means_nothing_stops_no_command() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    std::fs::write(sandbox.path(".flow/config.yaml"), "definition: [flows]\n").unwrap();
    let warning = "config.yaml: the key `definition` means nothing to flow; did you mean `definitions`?";
    for args in [&["start", "debug", "--id", "r1"][..], &["workflow", "list"]] {
        let answer = sandbox.flow(args).ok();
        assert!(answer.stderr.contains(warning), "{answer:?}");
    }
    sandbox.flow(["resume"]).ok();
}

#[test]
fn the_journal_shows_every_change_of_a_runs_status_and_the_first_row_of_an_adopted_run() {
    let rows = |sandbox: &Sandbox| {
        let text = std::fs::read_to_string(sandbox.path(".decisions/issue-7.md")).unwrap();
        let rows = text.lines().filter_map(|line| line.trim().strip_prefix("status: ").map(str::to_owned));
        rows.collect::<Vec<_>>()
    };
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1", "--issue", "7"]).ok();
    sandbox.flow(["block", "--reason", "x"]).ok();
    sandbox.flow(["block", "--reason", "x"]).ok();
    sandbox.flow(["unblock"]).ok();
    sandbox.flow(["cancel"]).ok();
    assert_eq!(rows(&sandbox), ["active", "blocked", "active", "cancelled"]);

    let sandbox = foreign("context:\n  issue: 7\n");
    sandbox.flow(["record-activity", "--id", "look"]).ok();
    sandbox.flow(["record-activity", "--id", "more"]).ok();
    assert_eq!(rows(&sandbox), ["active"]);
    // The program that began the run has noted it already.
    let sandbox = foreign("context:\n  issue: 7\n");
    let row = "- type: workflow-run\n  run_id: r1\n  status: active\n";
    std::fs::write(sandbox.path(".decisions/issue-7.md"), format!("---\nissue: 7\nartifacts:\n{row}---\n")).unwrap();
    sandbox.flow(["record-activity", "--id", "look"]).ok();
    assert_eq!(rows(&sandbox), ["active"]);
}

#[test]
fn an_activity_of_another_program_whose_file_vanished_is_named() {
    let sandbox = foreign("context:\n  issue: null\n");
    let run = sandbox.run_dir("r1");
    let text = std::fs::read_to_string(run.join("run.yaml")).unwrap();
    std::fs::write(run.join("run.yaml"), text.replace("activities: []", "activities: [look, see]")).unwrap();
    let files = [("001-look.yaml", "look"), ("002-see.yaml", "see")];
    for (name, id) in files {
        let text = format!("kind: FlowActivity\nmetadata:\n  id: {id}\nstate:\n  status: completed\n");
        std::fs::write(run.join("activities").join(name), text).unwrap();
    }
    let named = |is_named: bool| {
        let why = "completed_activities names look, and no file or event has it";
        for verb in ["doctor", "verify"] {
            let told = sandbox.flow([verb, "r1"]).ok().stdout;
            assert_eq!(told.contains(why), is_named, "{verb}: {told}");
            assert!(!told.contains("names see"), "{verb}: {told}");
        }
    };
    named(false);
    let look = std::fs::read(run.join("activities/001-look.yaml")).unwrap();
    std::fs::remove_file(run.join("activities/001-look.yaml")).unwrap();
    named(true);
    let found = sandbox.flow(["doctor", "--json"]).ok().json();
    assert!(found["findings"].as_array().unwrap().iter().any(|one| one["code"] == "activity_vanished"), "{found}");
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "more"]).ok();
    named(true);
    std::fs::write(run.join("activities/001-look.yaml"), look).unwrap();
    named(false);
}

#[test]
fn conflict_markers_are_called_what_they_are_in_modes_and_interviews() {
    let sandbox = Sandbox::new();
    sandbox.flow(["mode", "request", "forge"]).ok();
    let file = sandbox.path(".flow/state/forge-state.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> side\n")).unwrap();
    let refused = sandbox.flow(["mode", "show", "forge"]).exits(65).stderr;
    insta::assert_snapshot!(sandbox.masked(&refused), @r"
    error: ROOT/.flow/state/forge-state.json cannot be read, so flow cannot tell whether forge is active: it has the conflict markers of a merge, which a person has to settle
      help: settle the merge in it, or clear it: `flow mode clear forge --root`; its bytes are kept in quarantine
    ");
    let told = sandbox.flow(["doctor"]).exits(65).stdout;
    insta::assert_snapshot!(told, @r"
    error  mode_unreadable  .flow/state/forge-state.json
      cannot tell whether this mode is active: it has the conflict markers of a merge, which a person has to settle
    damaged  0 runs checked, 1 error, 0 warnings
    ");
}
