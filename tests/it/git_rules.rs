//! What git's own rules and layouts do to runs: filters, line ends, sparse checkouts, files that were removed.

use serde_json::Value;

use crate::support::{Sandbox, run};

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

fn codes(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
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
