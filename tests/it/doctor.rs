//! Every finding of the doctor: the damage is made, found by its code and path, explained in one sentence, and mended
//! without losing a line, or left to a person.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use crate::support::clinic::{Damage, assert_nothing_lost, files, findings, troubles, whole};
use crate::support::hostile::{Odd, as_user, can_become_others, is_root};
use crate::support::{HeldLock, Past, Sandbox, run, try_all};

/// Rewrites the log line by line.
fn relog(past: &Past, change: impl Fn(usize, &str) -> Option<String>) {
    let log = past.read("events.jsonl");
    let lines = log.lines().enumerate().filter_map(|(at, line)| change(at + 1, line));
    let text: String = lines.map(|line| line + "\n").collect();
    past.put("events.jsonl", text);
}

/// Seals `event` after a change.
fn resealed(line: &str, change: impl FnOnce(&mut serde_json::Map<String, serde_json::Value>)) -> String {
    let mut object = flowrun::codec::unseal(line.as_bytes()).unwrap();
    change(&mut object);
    flowrun::codec::seal(&object).trim_end().to_owned()
}

/// What `--repair` mends, in the project and between the runs.
const OF_THE_PROJECT: &[Damage] = &[
    Damage { code: "gitignore_incomplete", path: "/.gitignore", hurt: |past| gone(past, "/.gitignore") },
    Damage {
        code: "gitignore_incomplete",
        path: "/.gitignore",
        hurt: |past| past.put("../../.gitignore", "# Written by flow, and by us\nmine/\n.lock"),
    },
    Damage { code: "gitattributes_incomplete", path: "/.gitattributes", hurt: |past| gone(past, "/.gitattributes") },
    Damage {
        code: "schema_outdated",
        path: "/schemas/run.schema.json",
        hurt: |past| past.put("../../schemas/run.schema.json", "{}"),
    },
    Damage {
        code: "schema_outdated",
        path: "/schemas/event.schema.json",
        hurt: |past| gone(past, "/schemas/event.schema.json"),
    },
    Damage {
        code: "flow_incomplete",
        path: "/workflows",
        hurt: |past| std::fs::remove_dir(past.real_path("/workflows")).unwrap(),
    },
    Damage {
        code: "half_made_run",
        path: "/.new-2026-x",
        hurt: |past| past.put("../../.new-2026-x/run.yaml", "half: 1\n"),
    },
    Damage { code: "leftover_file", path: "/.init.tmp", hurt: |past| past.put("../../.init.tmp", "# half a rule\n") },
    Damage { code: "wrong_kind", path: "/.cache", hurt: |past| odd_cache(past, Odd::File) },
    Damage { code: "special_file", path: "/.cache", hurt: |past| odd_cache(past, Odd::Fifo) },
    Damage { code: "stray_file", path: "/runs/notes.txt", hurt: |past| past.put("../notes.txt", "call Ada\n") },
    Damage { code: "bad_run_name", path: "/runs/a b", hurt: |past| past.put("../a b/run.yaml", "kind: FlowRun\n") },
    Damage {
        code: "special_file",
        path: "/runs/pipe",
        hurt: |past| assert!(Odd::Fifo.put(&past.real_path("/runs/pipe"))),
    },
    Damage {
        code: "symbolic_link",
        path: "/.gitattributes",
        hurt: |past| {
            gone(past, "/.gitattributes");
            assert!(Odd::Dangling.put(&past.real_path("/.gitattributes")));
        },
    },
];

fn odd_cache(past: &Past, odd: Odd) {
    let cache = past.real_path("/.cache");
    let _ = std::fs::remove_dir_all(&cache);
    assert!(odd.put(&cache));
}

fn gone(past: &Past, path: &str) {
    std::fs::remove_file(past.real_path(path)).unwrap();
}

fn instead(past: &Past, path: &str, odd: Odd) {
    let path = past.real_path(path);
    crate::support::hostile::clear(&path);
    assert!(odd.put(&path));
}

/// What `--repair` mends in a run's `run.yaml` and around it.
const OF_THE_DOCUMENT: &[Damage] = &[
    Damage { code: "run_yaml_missing", path: "run.yaml", hurt: |past| past.remove("run.yaml") },
    Damage {
        code: "run_yaml_invalid",
        path: "run.yaml",
        hurt: |past| past.put("run.yaml", "# Ada: 1\nkind: [FlowRun\n"),
    },
    Damage { code: "run_yaml_schema", path: "run.yaml", hurt: |past| past.put("run.yaml", "") },
    Damage {
        code: "run_yaml_conflict",
        path: "run.yaml",
        hurt: |past| {
            let text = past.read("run.yaml");
            past.put(
                "run.yaml",
                text.replacen("state:", "<<<<<<< HEAD\n# ours\nstate:\n=======\n# theirs\n>>>>>>> b", 1),
            );
        },
    },
    Damage {
        code: "run_yaml_schema",
        path: "run.yaml",
        hurt: |past| past.sandbox.edit(&past.run, "max_iterations: 10", "max_iterations: many # Ada"),
    },
    Damage {
        code: "run_yaml_schema",
        path: "run.yaml",
        hurt: |past| past.sandbox.edit(&past.run, "status: active", "status: actve"),
    },
    Damage {
        code: "run_yaml_invalid",
        path: "run.yaml",
        hurt: |past| {
            let text = past.read("run.yaml");
            past.put("run.yaml", text.replace('\n', "\r"));
        },
    },
    Damage {
        code: "run_yaml_refused",
        path: "run.yaml",
        hurt: |past| past.sandbox.edit(&past.run, "id: 2026", "id: 2027"),
    },
    Damage {
        code: "run_yaml_refused",
        path: "run.yaml",
        hurt: |past| past.sandbox.edit(&past.run, "current_phase: plan", "current_phase: paln"),
    },
    Damage { code: "run_yaml_unreadable", path: "run.yaml", hurt: |past| past.put("run.yaml", b"a: \xff\n") },
    Damage { code: "run_yaml_behind", path: "run.yaml", hurt: |past| past.put_back("run.yaml", 1) },
    Damage { code: "symbolic_link", path: "run.yaml", hurt: |past| instead(past, "run.yaml", Odd::Dangling) },
    Damage { code: "wrong_kind", path: "run.yaml", hurt: |past| instead(past, "run.yaml", Odd::Directory) },
    Damage { code: "special_file", path: "run.yaml", hurt: |past| instead(past, "run.yaml", Odd::Fifo) },
    Damage { code: "leftover_file", path: ".run.tmp", hurt: |past| past.put(".run.tmp", "only here: call Ada\n") },
    Damage {
        code: "leftover_file",
        path: ".run.merge.tmp",
        hurt: |past| past.put(".run.merge.tmp", "only here: call Ada\n"),
    },
    Damage { code: "wrong_kind", path: ".events.tmp", hurt: |past| instead(past, ".events.tmp", Odd::Directory) },
    Damage {
        code: "leftover_file",
        path: "activities/.act.tmp",
        hurt: |past| past.put("activities/.act.tmp", "apiVersion: flow"),
    },
];

/// What `--repair` mends in a log.
const OF_THE_LOG: &[Damage] = &[
    Damage { code: "log_missing", path: "events.jsonl", hurt: |past| past.remove("events.jsonl") },
    Damage { code: "log_end_missing", path: "events.jsonl", hurt: |past| past.put_back("events.jsonl", 1) },
    Damage { code: "log_end_missing", path: "events.jsonl", hurt: |past| past.put("events.jsonl", "") },
    Damage {
        code: "log_put_back",
        path: "events.jsonl",
        hurt: |past| ["events.jsonl", "run.yaml"].iter().for_each(|file| past.put_back(file, 2)),
    },
    Damage {
        code: "log_gap",
        path: "events.jsonl",
        hurt: |past| relog(past, |at, line| (at != 3).then(|| line.to_owned())),
    },
    Damage {
        code: "log_gap",
        path: "events.jsonl",
        hurt: |past| relog(past, |at, line| (at != 1).then(|| line.to_owned())),
    },
    Damage {
        code: "log_no_start",
        path: "events.jsonl",
        hurt: |past| relog(past, |at, line| (at > 2).then(|| line.to_owned())),
    },
    Damage {
        code: "log_line_damaged",
        path: "events.jsonl",
        hurt: |past| relog(past, |at, line| Some(line.replacen(if at == 2 { "passed" } else { "~" }, "pissed", 1))),
    },
    Damage {
        code: "log_line_unreadable",
        path: "events.jsonl",
        hurt: |past| {
            relog(past, |at, line| Some(if at == 3 { format!("what is this\n{line}") } else { line.to_owned() }))
        },
    },
    Damage {
        code: "log_line_unreadable",
        path: "events.jsonl",
        hurt: |past| {
            relog(past, |at, line| {
                Some(if at == 3 {
                    resealed(line, |object| drop(object.insert("seq".into(), 0.into()))) + "\n" + line
                } else {
                    line.to_owned()
                })
            })
        },
    },
    Damage {
        code: "log_merge_markers",
        path: "events.jsonl",
        hurt: |past| {
            relog(past, |at, line| {
                Some(if at == 3 { format!("<<<<<<< HEAD\n{line}\n=======\n>>>>>>> theirs") } else { line.to_owned() })
            })
        },
    },
    Damage {
        code: "log_unordered",
        path: "events.jsonl",
        hurt: |past| {
            let log = past.read("events.jsonl");
            let lines: Vec<_> = log.lines().collect();
            past.put("events.jsonl", [lines[0], lines[2], lines[1], lines[3]].join("\n") + "\n");
        },
    },
    Damage { code: "log_double", path: "events.jsonl", hurt: |past| past.merge_branches(2) },
    Damage {
        code: "log_torn_tail",
        path: "events.jsonl",
        hurt: |past| past.put("events.jsonl", past.read("events.jsonl") + "{\"v\":1,\"seq\":5,\"id\":\"to"),
    },
    Damage {
        code: "log_nul_tail",
        path: "events.jsonl",
        hurt: |past| past.put("events.jsonl", past.read("events.jsonl") + "{\"v\":1,\"seq\":5\0\0\0\0"),
    },
    Damage {
        code: "hard_link",
        path: "events.jsonl",
        hurt: |past| std::fs::hard_link(past.real_path("events.jsonl"), past.sandbox.path("elsewhere")).unwrap(),
    },
    Damage { code: "symbolic_link", path: "events.jsonl", hurt: |past| instead(past, "events.jsonl", Odd::Dangling) },
    Damage { code: "wrong_kind", path: "events.jsonl", hurt: |past| instead(past, "events.jsonl", Odd::Directory) },
];

/// What `--repair` mends among activity files.
const OF_ACTIVITIES: &[Damage] = &[
    Damage {
        code: "activity_missing",
        path: "activities/001-preflight-done.yaml",
        hurt: |past| past.remove("activities/001-preflight-done.yaml"),
    },
    Damage {
        code: "activity_cut_off",
        path: "activities/001-preflight-done.yaml",
        hurt: |past| past.put("activities/001-preflight-done.yaml", ""),
    },
    Damage {
        code: "activity_cut_off",
        path: "activities/002-explore-done.yaml",
        hurt: |past| past.put("activities/002-explore-done.yaml", "\0".repeat(60)),
    },
    Damage {
        code: "activity_cut_off",
        path: "activities/003-plan-done.yaml",
        hurt: |past| past.put("activities/003-plan-done.yaml", &past.read("activities/003-plan-done.yaml")[..60]),
    },
    Damage {
        code: "activity_unreadable",
        path: "activities/001-preflight-done.yaml",
        hurt: |past| past.put("activities/001-preflight-done.yaml", "call Ada: [\n"),
    },
    Damage {
        code: "activity_unknown",
        path: "activities/009-mine.yaml",
        hurt: |past| past.put("activities/009-mine.yaml", "mine: true\n"),
    },
    Damage {
        code: "activity_unknown",
        path: "activities/notes.txt",
        hurt: |past| past.put("activities/notes.txt", "call Ada\n"),
    },
    Damage {
        code: "activity_number_twice",
        path: "activities/002-mine.yaml",
        hurt: |past| past.put("activities/002-mine.yaml", "mine: true\n"),
    },
    Damage {
        code: "symbolic_link",
        path: "activities/001-preflight-done.yaml",
        hurt: |past| instead(past, "activities/001-preflight-done.yaml", Odd::Dangling),
    },
    Damage {
        code: "special_file",
        path: "activities/007-pipe.yaml",
        hurt: |past| assert!(Odd::Fifo.put(&past.real_path("activities/007-pipe.yaml"))),
    },
    Damage {
        code: "symbolic_link",
        path: "activities",
        hurt: |past| {
            let dir = past.real_path("activities");
            let elsewhere = past.sandbox.path("elsewhere");
            std::fs::rename(&dir, &elsewhere).unwrap();
            symlink(&elsewhere, &dir).unwrap();
        },
    },
];

/// Found with its code and path and one sentence; neither looking nor the dry run changes a byte; mended, with nothing
/// lost; sound afterwards, and ready for the next record.
fn is_mended(damage: &Damage) {
    let past = Past::new();
    (damage.hurt)(&past);
    let before = files(&past.sandbox);
    let untouched = whole(&past.sandbox);
    let path = past.shown_path(damage.path);

    let (report, code) = past.doctor(&[]);
    let found = findings(&report, damage.code, &path);
    let first = found.first().unwrap_or_else(|| panic!("not found: {report:#}"));
    let error = report["findings"].as_array().unwrap().iter().any(|one| one["severity"] == "error");
    assert_eq!((report["ok"].as_bool(), code), (Some(!error), if error { 65 } else { 0 }), "{report:#}");
    assert_eq!(first["state"], "found", "{report:#}");
    let message = first["message"].as_str().unwrap();
    assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
    assert!(report["plan"].as_array().unwrap().is_empty(), "{report:#}");

    // Whether a run goes on without what an older version lacks is decided for that run by name.
    let named = (damage.code == "log_put_back").then_some(past.run.as_str());
    let asked = |options: &[&'static str]| past.doctor(&named.iter().chain(options).copied().collect::<Vec<_>>());
    let (dry, _) = asked(&["--dry-run"]);
    let (both, _) = asked(&["--repair", "--dry-run"]);
    assert_eq!(dry, both);
    assert!(whole(&past.sandbox) == untouched, "looking changed something");

    let (report, code) = asked(&["--repair"]);
    assert_eq!((report["ok"].as_bool(), code), (Some(true), 0), "{report:#}");
    assert!(troubles(&report).is_empty(), "{report:#}");
    assert_eq!(findings(&report, damage.code, &path)[0]["state"], "mended", "{report:#}");
    assert!(!dry["plan"].as_array().unwrap().is_empty(), "{dry:#}");
    assert_nothing_lost(&before, &past.sandbox);
    let (again, code) = past.doctor(&[]);
    assert_eq!((code, troubles(&again)), (0, Vec::new()), "{again:#}");

    let verified = past.sandbox.flow(["verify", &past.run, "--json"]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    past.sandbox.flow(["resume", &past.run, "--json"]).ok();
    past.go_on();
    past.sandbox.flow(["resume", &past.run, "--json"]).ok();
    past.sandbox.flow(["verify", &past.run]).ok();
    assert_eq!(troubles(&past.doctor(&[]).0), Vec::<&str>::new());
}

#[test]
fn damage_of_the_project_is_found_and_mended() {
    try_all(OF_THE_PROJECT, is_mended);
}

#[test]
fn damage_of_run_yaml_is_found_and_mended() {
    try_all(OF_THE_DOCUMENT, is_mended);
}

#[test]
fn damage_of_a_log_is_found_and_mended() {
    try_all(OF_THE_LOG, is_mended);
}

#[test]
fn damage_of_activity_files_is_found_and_mended() {
    try_all(OF_ACTIVITIES, is_mended);
}

/// What a person has to decide, or to know: it is found, and no repair touches it.
const LEFT: &[Damage] = &[
    Damage {
        code: "prune_note_damaged",
        path: "/pruned.jsonl",
        hurt: |past| past.put("../../pruned.jsonl", "<<<<<<< ours\n{\"run_id\":\"old\",\"at\":\"2026-05-20T14"),
    },
    Damage {
        code: "workflow_invalid",
        path: "/workflows/own.workflow.yaml",
        hurt: |past| past.put("../../workflows/own.workflow.yaml", "phases: [\n"),
    },
    Damage {
        code: "config_invalid",
        path: "/config.yaml",
        hurt: |past| past.put("../../config.yaml", "definitions: flows\n"),
    },
    Damage {
        code: "config_unknown_key",
        path: "/config.yaml",
        hurt: |past| past.put("../../config.yaml", "definition: [flows]\n"),
    },
    Damage {
        code: "definitions_missing",
        path: "/config.yaml",
        hurt: |past| past.put("../../config.yaml", "definitions: [flows]\n"),
    },
    Damage {
        code: "workflow_unread",
        path: "/workflows/own.yml",
        hurt: |past| past.put("../../workflows/own.yml", "initial: a\nstates: {a: {type: terminal}}\n"),
    },
    Damage {
        code: "gate_unread",
        path: "/workflows/own.yaml",
        hurt: |past| {
            past.put(
                "../../workflows/own.yaml",
                "initial: a\nstates: {a: {type: agent, Gate: person, transition: {next: []}}}\n",
            );
        },
    },
    Damage {
        code: "policy_invalid",
        path: "/modes.yaml",
        hurt: |past| past.put("../../modes.yaml", "kind: FlowModes\n"),
    },
    Damage {
        code: "script_invalid",
        path: "/interviews/own.interview.yaml",
        hurt: |past| past.put("../../interviews/own.interview.yaml", "kind: FlowInterview\n"),
    },
    Damage {
        code: "mode_unreadable",
        path: "/state/forge-state.json",
        hurt: |past| past.put("../../state/forge-state.json", "{ \"active\": tr"),
    },
    Damage {
        code: "mode_unreadable",
        path: "/state/sessions/s1/team-state.json",
        hurt: |past| past.put("../../state/sessions/s1/team-state.json", "[]"),
    },
    Damage {
        code: "mode_unknown",
        path: "/state/dance-state.json",
        hurt: |past| past.put("../../state/dance-state.json", r#"{"mode":"dance","active":true}"#),
    },
    Damage {
        code: "mode_log_damaged",
        path: "/state/events.jsonl",
        hurt: |past| past.put("../../state/events.jsonl", "<<<<<<< HEAD\n"),
    },
    Damage {
        code: "unreadable",
        path: "/state/events.jsonl",
        hurt: |past| past.put("../../state/events.jsonl", "\n".repeat(1 << 17)),
    },
    Damage {
        code: "unreadable",
        path: "/state/events.jsonl",
        hurt: |past| past.put("../../state/events.jsonl", "\0\n".repeat(1 << 17)),
    },
    Damage {
        code: "twin_runs",
        path: "/runs/RUN-a",
        hurt: |past| {
            past.sandbox.flow(["start", "debug", "--id", "run-A"]).ok();
            std::fs::create_dir(past.real_path("/runs/RUN-a")).unwrap();
        },
    },
    Damage {
        code: "run_misplaced",
        path: "/runs/copied",
        hurt: |past| {
            let (run, copied) = (past.sandbox.run_dir(&past.run), past.real_path("/runs/copied"));
            crate::support::hostile::copy(&run, &copied);
        },
    },
    Damage {
        code: "run_empty",
        path: "/runs/empty",
        hurt: |past| std::fs::create_dir(past.real_path("/runs/empty")).unwrap(),
    },
    Damage {
        code: "symbolic_link",
        path: "/runs/linked",
        hurt: |past| symlink(past.sandbox.root(), past.real_path("/runs/linked")).unwrap(),
    },
    Damage { code: "wrong_kind", path: ".lock", hurt: |past| instead(past, ".lock", Odd::Directory) },
    Damage {
        code: "hard_link",
        path: ".lock",
        hurt: |past| std::fs::hard_link(past.real_path(".lock"), past.sandbox.path("elsewhere")).unwrap(),
    },
    Damage {
        code: "odd_file",
        path: "evidence/deep/link",
        hurt: |past| {
            std::fs::create_dir(past.real_path("evidence/deep")).unwrap();
            symlink("/etc/passwd", past.real_path("evidence/deep/link")).unwrap();
        },
    },
    Damage {
        code: "unreadable",
        path: "/.gitattributes",
        hurt: |past| {
            let file = std::fs::File::options().write(true).open(past.real_path("/.gitattributes")).unwrap();
            file.set_len(5 << 20).unwrap();
        },
    },
    Damage {
        code: "evidence_changed",
        path: "evidence/trace.txt",
        hurt: |past| {
            std::fs::write(past.real_path("evidence/trace.txt"), "12 passed").unwrap();
            past.sandbox.flow(["record-activity", "--id", "look", "--evidence", "trace.txt"]).ok();
            std::fs::write(past.real_path("evidence/trace.txt"), "13 passed").unwrap();
        },
    },
    Damage {
        code: "evidence_missing",
        path: "evidence/trace.txt",
        hurt: |past| {
            let record = ["record-activity", "--id", "look", "--evidence", "evidence/trace.txt", "--evidence", "ci/17"];
            past.sandbox.flow(record).ok();
        },
    },
    Damage {
        code: "pinned_workflow_unreadable",
        path: "events.jsonl",
        hurt: |past| {
            relog(past, |at, line| {
                Some(if at == 1 {
                    resealed(line, |object| drop(object.insert("machine".into(), json!({}))))
                } else {
                    line.to_owned()
                })
            })
        },
    },
];

/// What is no damage at all.
const NOTES: &[Damage] = &[
    Damage { code: "unknown_file", path: "notes.md", hurt: |past| past.put("notes.md", "call Ada\n") },
    Damage { code: "unknown_file", path: "/other", hurt: |past| past.put("../../other", "") },
    Damage { code: "unknown_file", path: "activities/.x.swp", hurt: |past| past.put("activities/.x.swp", "") },
    Damage { code: "quarantine", path: ".quarantine", hurt: |past| past.put(".quarantine/run-x.yaml", "a: 1\n") },
    Damage { code: "quarantine", path: "/.quarantine", hurt: |past| past.put("../../.quarantine/x", "") },
    Damage {
        code: "run_yaml_edited",
        path: "run.yaml",
        hurt: |past| past.sandbox.edit(&past.run, "goal: null", "goal: more"),
    },
    Damage {
        code: "run_yaml_edited",
        path: "run.yaml",
        hurt: |past| past.sandbox.edit(&past.run, "last_seq: 4", "last_seq: 40"),
    },
    Damage {
        code: "run_yaml_edited",
        path: "run.yaml",
        hurt: |past| past.sandbox.edit(&past.run, "  last_seq: 4\n", ""),
    },
    Damage {
        code: "activity_edited",
        path: "activities/002-explore-done.yaml",
        hurt: |past| {
            let name = "activities/002-explore-done.yaml";
            past.put(name, past.read(name) + "# Ada: not so sure\n");
        },
    },
    Damage {
        code: "log_line_unsealed",
        path: "events.jsonl",
        hurt: |past| past.put("events.jsonl", past.read("events.jsonl") + "{\"type\":\"note\"}\n{\"a\":1}"),
    },
    Damage { code: "lock_missing", path: ".lock", hurt: |past| past.remove(".lock") },
];

fn is_found_and_left(damage: &Damage, severities: &[&str]) {
    let past = Past::new();
    (damage.hurt)(&past);
    let before = files(&past.sandbox);
    let path = past.shown_path(damage.path);
    for options in [&[][..], &["--repair"]] {
        let (report, code) = past.doctor(options);
        let found = findings(&report, damage.code, &path);
        let first = found.first().unwrap_or_else(|| panic!("not found: {report:#}"));
        let severity = first["severity"].as_str().unwrap();
        assert!(severities.contains(&severity) && first["repair"].is_null(), "{first:#}");
        let error = report["findings"].as_array().unwrap().iter().any(|one| one["severity"] == "error");
        assert_eq!((report["ok"].as_bool(), code), (Some(!error), if error { 65 } else { 0 }), "{report:#}");
    }
    assert_nothing_lost(&before, &past.sandbox);
    assert_eq!(files(&past.sandbox), before, "something was changed");
}

#[test]
fn what_only_a_person_can_decide_is_found_and_left() {
    try_all(LEFT, |damage| is_found_and_left(damage, &["error", "warning"]));
}

#[test]
fn what_is_no_damage_is_told_and_left() {
    try_all(NOTES, |damage| is_found_and_left(damage, &["info"]));
}

#[test]
fn a_project_without_damage_is_ok_in_one_line() {
    let past = Past::new();
    let answer = past.sandbox.flow(["doctor"]).ok();
    insta::assert_snapshot!(answer.stdout, @"ok  1 run checked, 0 errors, 0 warnings");
    let (report, _) = past.doctor(&[]);
    assert_eq!(report, json!({"ok": true, "runs": 1, "findings": [], "plan": [], "repaired": false, "worktrees": []}));
    let before = whole(&past.sandbox);
    past.sandbox.flow(["doctor", "--repair"]).ok();
    assert!(whole(&past.sandbox) == before, "a repair without damage changed something");
}

#[test]
fn a_missing_or_foreign_flow_directory_is_a_finding() {
    let sandbox = Sandbox::new();
    let report = sandbox.flow(["doctor", "--json"]).exits(3).json();
    assert_eq!((&report["ok"], &report["findings"][0]["code"]), (&json!(false), &json!("flow_missing")));
    let shown = sandbox.flow(["doctor"]).exits(3).stdout;
    assert!(shown.ends_with("no runs here  nothing was checked\n"), "{shown}");
    std::fs::create_dir(sandbox.path(".flow")).unwrap();
    std::fs::write(sandbox.path(".flow/theirs.db"), "").unwrap();
    let report = sandbox.flow(["doctor", "--json", "--repair"]).exits(77).json();
    assert_eq!(report["findings"][0]["code"], "flow_foreign");
    crate::support::hostile::clear(&sandbox.path(".flow"));
    symlink("elsewhere", sandbox.path(".flow")).unwrap();
    let report = sandbox.flow(["doctor", "--json"]).exits(77).json();
    assert_eq!(report["findings"][0]["code"], "flow_unsafe");
    assert_eq!(sandbox.flow(["doctor", "nosuch", "--json"]).exits(77).error()["code"], "unsafe_path");
}

#[test]
fn the_pages_of_a_damaged_run_say_what_is_wrong_and_what_would_be_done() {
    let past = Past::new();
    relog(&past, |at, line| Some(if at == 3 { line.replacen("passed", "pissed", 1) } else { line.to_owned() }));
    past.put("../notes.txt", "call Ada\n");
    let page = |args: &[&str], code| past.sandbox.flow(args).exits(code).stdout;
    insta::assert_snapshot!(page(&["doctor"], 65), @r"
    warning  stray_file  .flow/runs/notes.txt
      only runs belong here
      repair: move runs/notes.txt to .flow/.quarantine
    error  log_line_damaged  .flow/runs/2026-05-20T143003Z-issue-42/events.jsonl:3:1
      the checksum of the line does not match
    error  log_gap  .flow/runs/2026-05-20T143003Z-issue-42/events.jsonl:4:1
      event 3 is missing before this line
      repair: keep the log in the run's .quarantine, and go on with its sound lines and a log_repaired event
    damaged  1 run checked, 2 errors, 1 warning
    `flow doctor --dry-run` shows what a repair would do, `flow doctor --repair` does it
    ");
    insta::assert_snapshot!(page(&["doctor", "--dry-run"], 65), @r"
    warning  stray_file  .flow/runs/notes.txt
      only runs belong here
      repair: move runs/notes.txt to .flow/.quarantine
    error  log_line_damaged  .flow/runs/2026-05-20T143003Z-issue-42/events.jsonl:3:1
      the checksum of the line does not match
    error  log_gap  .flow/runs/2026-05-20T143003Z-issue-42/events.jsonl:4:1
      event 3 is missing before this line
      repair: keep the log in the run's .quarantine, and go on with its sound lines and a log_repaired event
    to do:
      move runs/notes.txt to .flow/.quarantine
      2026-05-20T143003Z-issue-42: keep the log in the run's .quarantine, and go on with its sound lines and a log_repaired event
    damaged  1 run checked, 2 errors, 1 warning
    ");
}

#[test]
fn the_pages_of_a_repaired_run_say_what_was_done_and_what_is_lost() {
    let past = Past::new();
    relog(&past, |at, line| Some(if at == 3 { line.replacen("passed", "pissed", 1) } else { line.to_owned() }));
    past.put("../notes.txt", "call Ada\n");
    let page = |args: &[&str], code| past.sandbox.flow(args).exits(code).stdout;
    insta::assert_snapshot!(page(&["doctor", "--repair"], 0), @r"
    mended  stray_file  .flow/runs/notes.txt
      only runs belong here
    mended  log_line_damaged  .flow/runs/2026-05-20T143003Z-issue-42/events.jsonl:3:1
      the checksum of the line does not match
    mended  log_gap  .flow/runs/2026-05-20T143003Z-issue-42/events.jsonl:4:1
      event 3 is missing before this line
    info  quarantine  .flow/.quarantine
      1 name put aside for a person to look at
    info  quarantine  .flow/runs/2026-05-20T143003Z-issue-42/.quarantine
      1 file put aside for a person to look at
    info  log_repaired  .flow/runs/2026-05-20T143003Z-issue-42/events.jsonl
      event 5 repaired the log; lost: event 3; why: line 3: the checksum does not match
    done:
      move runs/notes.txt to .flow/.quarantine
      2026-05-20T143003Z-issue-42: keep the log in the run's .quarantine, and go on with its sound lines and a log_repaired event
    ok  1 run checked, 3 mended, 0 errors, 0 warnings
    ");
    insta::assert_snapshot!(page(&["doctor"], 0), @r"
    info  quarantine  .flow/.quarantine
      1 name put aside for a person to look at
    info  quarantine  .flow/runs/2026-05-20T143003Z-issue-42/.quarantine
      1 file put aside for a person to look at
    info  log_repaired  .flow/runs/2026-05-20T143003Z-issue-42/events.jsonl
      event 5 repaired the log; lost: event 3; why: line 3: the checksum does not match
    ok  1 run checked, 0 errors, 0 warnings
    ");
    insta::assert_snapshot!(page(&["resume", &past.run], 0), @"
    continue  2026-05-20T143003Z-issue-42  start-issue
      why         `plan` is done; `code` comes next
      phase       plan
      next        code: Every step of the plan is committed, with a test that failed before it and passes after it.
      command     flow record-activity --run-id 2026-05-20T143003Z-issue-42 --phase code --id code --status running
      if the work of `code` is done:
        flow record-activity --run-id 2026-05-20T143003Z-issue-42 --phase code --id code --status passed
      completed
        001  preflight-done  preflight  passed, claimed
        002  explore-done    explore    passed, claimed
        003  plan-done       plan       passed, claimed
      note        event 3 lost, as the repair of the log at event 5 says; 1 record was found again in its activity file
    ");
    insta::assert_snapshot!(page(&["log", &past.run], 0), @r"
       1  2026-05-20T14:30:03.000Z  run_started        start-issue in preflight
       2  2026-05-20T14:30:04.000Z  activity_recorded  001 preflight-done passed in preflight
       4  2026-05-20T14:30:06.000Z  activity_recorded  003 plan-done passed in plan
       5  2026-05-20T14:30:09.000Z  log_repaired       line 3: the checksum does not match (ranges lost: 1, lines renumbered: 0)
    ");
}

/// What the log itself has is no better than what is there, and a repair must not end without a `run.yaml`.
#[test]
fn a_value_of_the_log_that_the_schema_refuses_is_left_for_a_person_to_correct() {
    let past = Past::new();
    relog(&past, |number, line| match number {
        1 => Some(resealed(line, |event| event["context"]["issue"] = json!(0))),
        _ => Some(line.to_owned()),
    });
    past.remove("run.yaml");
    let (report, _) = past.doctor(&["--repair"]);
    assert_eq!(findings(&report, "run_yaml_missing", &past.shown_path("run.yaml"))[0]["state"], "mended", "{report:#}");
    assert!(past.read("run.yaml").contains("issue: 0\n"));
    let before = files(&past.sandbox);
    for options in [&[][..], &["--repair"]] {
        let (report, code) = past.doctor(options);
        assert_eq!((troubles(&report), code), (vec!["run_yaml_schema"], 65), "{report:#}");
        let found = findings(&report, "run_yaml_schema", &past.shown_path("run.yaml"))[0];
        assert_eq!(
            (&found["message"], &found["repair"]),
            (
                &json!(
                    "`context.issue` is 0; the least is 1; the log has it as well, so correct run.yaml by hand: the next \
                     command that writes the run adopts the change"
                ),
                &json!(null)
            )
        );
    }
    assert_eq!(files(&past.sandbox), before);
    past.sandbox.edit(&past.run, "issue: 0", "issue: 5");
    past.go_on();
    assert_eq!(troubles(&past.doctor(&[]).0), Vec::<&str>::new());
    assert_eq!(past.sandbox.flow(["show", &past.run, "--json"]).ok().json()["context"]["issue"], 5);
}

#[test]
fn a_run_yaml_stays_where_it_is_if_none_that_can_be_read_follows_from_the_log() {
    for is_there in [true, false] {
        let past = Past::new();
        let own = past.read("run.yaml");
        relog(&past, |number, line| match number {
            1 => Some(resealed(line, |event| event["workflow_version"] = json!(1_u64 << 60))),
            _ => Some(line.to_owned()),
        });
        match is_there {
            true => past.put("run.yaml", "# Ada\nkind: [FlowRun\n"),
            false => past.remove("run.yaml"),
        }
        let before = files(&past.sandbox);
        for options in [&[][..], &["--repair"]] {
            let (report, code) = past.doctor(options);
            assert_eq!((troubles(&report), code), (vec!["run_yaml_invalid"], 65), "{report:#}");
            let found = findings(&report, "run_yaml_invalid", &past.shown_path("run.yaml"))[0];
            let message = found["message"].as_str().unwrap();
            let why = match is_there {
                true => {
                    "; the log gives no other that can be read, so correct run.yaml by hand: the next command that \
                         writes the run adopts the change"
                }
                false => {
                    "run.yaml is missing, and the one that follows from the log is not a FlowRun document: \
                          workflow_version is larger than any run can count; bring it back with git, or write it by hand"
                }
            };
            assert!(message.ends_with(why) && found["repair"].is_null(), "{found:#}");
        }
        let mut after = files(&past.sandbox);
        after.retain(|(path, _)| path.file_name().is_some_and(|name| name != ".lock"));
        let mut expected = before;
        expected.retain(|(path, _)| path.file_name().is_some_and(|name| name != ".lock"));
        assert_eq!(after, expected);
        past.put("run.yaml", own);
        past.go_on();
        assert_eq!(troubles(&past.doctor(&[]).0), Vec::<&str>::new());
    }
}

#[test]
fn resume_leads_to_the_doctor() {
    let past = Past::new();
    relog(&past, |at, line| (at != 3).then(|| line.to_owned()));
    let answer = past.sandbox.flow(["resume", &past.run, "--json"]).exits(65).json();
    assert_eq!(answer["next"]["command"], format!("flow doctor {}", past.run));
    past.sandbox.flow(["doctor", &past.run, "--repair"]).ok();
    let answer = past.sandbox.flow(["resume", &past.run, "--json"]).ok().json();
    let note = "event 3 lost, as the repair of the log at event 5 says; 1 record was found again in its activity file";
    assert_eq!((answer["verdict"].as_str(), &answer["notes"]), (Some("continue"), &json!([note])));
    // What was lost is there again, with its number and phase.
    insta::assert_snapshot!(answer["completed"][1], @r#"{"number":"002","id":"explore-done","phase":"explore","status":"passed","exit_code":null,"claimed":true}"#);
    // Another gap is damage again.
    past.go_on();
    relog(&past, |at, line| (at != 3).then(|| line.to_owned()));
    past.sandbox.flow(["resume", &past.run]).exits(65);
}

#[test]
fn lines_of_two_branches_are_put_in_order_with_positions_and_numbers_of_their_own() {
    for (records, conflict) in [(1, false), (2, false), (2, true)] {
        let past = Past::new();
        past.merge_branches(records);
        if conflict {
            let text = past.read("run.yaml");
            past.put("run.yaml", text.replacen("state:", "<<<<<<< HEAD\nstate:\n=======\n>>>>>>> theirs", 1));
        }
        past.sandbox.flow(["resume", &past.run]).exits(65);
        past.sandbox.flow(["doctor", "--repair"]).ok();
        // Where the run stands says the last line, which may be the other branch's.
        past.sandbox.record(&past.run, "plan", "plan-again");
        past.go_on();
        // The repair is an event too; positions, numbers and files are without gap or double.
        past.sandbox.assert_sound(&past.run);
        for id in ["plan-done", "their-first", "their-second", "code-done"] {
            assert_eq!(past.sandbox.records_of(&past.run, id), 1, "{id}");
            assert!(past.completed().contains(&id.to_owned()), "{id}");
        }
        let repair = past.sandbox.events(&past.run).into_iter().find(|event| event["type"] == "log_repaired").unwrap();
        assert!(!repair["renumbered"].as_array().unwrap().is_empty(), "{repair:#}");
        assert_eq!(repair["lost"], json!([]));
    }
}

#[test]
fn comments_and_own_keys_of_run_yaml_survive_the_repair_of_a_log() {
    let past = Past::new();
    past.sandbox.edit(&past.run, "state:", "# ask Ada first\nstate:\n  x-team: blue");
    past.merge_branches(2);
    past.sandbox.flow(["doctor", "--repair"]).ok();
    past.go_on();
    let text = past.read("run.yaml");
    assert!(text.contains("# ask Ada first\nstate:\n  x-team: blue\n"), "{text}");
    past.remove("run.yaml");
    past.sandbox.flow(["unblock", &past.run]).ok();
    assert_eq!(past.read("run.yaml"), text, "they are in the log");
}

#[test]
fn without_run_yaml_lost_records_come_back_from_their_files() {
    let past = Past::new();
    past.remove("run.yaml");
    relog(&past, |at, line| (at != 3).then(|| line.to_owned()));
    past.sandbox.flow(["doctor", "--repair"]).ok();
    assert_eq!(past.completed(), ["preflight-done", "explore-done", "plan-done"]);
    past.remove("activities/002-explore-done.yaml");
    past.sandbox.flow(["doctor", "--repair"]).ok();
    assert!(past.read("activities/002-explore-done.yaml").contains("id: explore-done"));
}

#[test]
fn a_repaired_run_is_validated_read_and_shown_like_any_other() {
    let past = Past::new();
    past.remove("events.jsonl");
    past.sandbox.flow(["doctor", "--repair"]).ok();
    past.sandbox.flow(["validate", &past.run]).ok();
    past.sandbox.flow(["list"]).ok();
    past.sandbox.flow(["show", &past.run, "--at", "5"]).ok();
    // Without the pinned workflow, phases are checked against the one that the repair pinned.
    past.sandbox.flow(["record-activity", "--run-id", &past.run, "--phase", "verify", "--id", "x"]).exits(1);
    let every = past.read("events.jsonl");
    for line in every.lines() {
        let value = serde_json::from_str(line).unwrap();
        let broken = flowrun::codec::validate(flowrun::codec::DocumentKind::Event, &value, None);
        assert_eq!(broken, []);
    }
}

#[test]
fn whoever_held_a_run_still_holds_it_after_the_repair() {
    let past = Past::new();
    past.sandbox.flow(["resume", &past.run, "--claim", "--session", "s1"]).ok();
    relog(&past, |at, line| (at != 5).then(|| line.to_owned()));
    past.sandbox.flow(["doctor", "--repair"]).ok();
    past.sandbox.flow(["resume", &past.run, "--session", "s2"]).exits(5);
    past.sandbox.flow(["record-activity", "--run-id", &past.run, "--id", "x", "--session", "s2"]).exits(5);
    past.sandbox.flow(["record-activity", "--run-id", &past.run, "--id", "x", "--session", "s1"]).ok();
}

#[test]
fn warnings_count_as_errors_when_asked() {
    let past = Past::new();
    past.put("../notes.txt", "call Ada\n");
    let (report, code) = past.doctor(&[]);
    assert_eq!((report["ok"].as_bool(), code), (Some(true), 0));
    let (report, code) = past.doctor(&["--strict"]);
    assert_eq!((report["ok"].as_bool(), code), (Some(false), 65));
}

#[test]
fn a_named_run_is_looked_at_alone() {
    let past = Past::new();
    past.put("../notes.txt", "call Ada\n");
    let other = past.sandbox.flow(["start", "debug", "--slug", "other"]).ok().line().to_owned();
    std::fs::write(past.sandbox.run_dir(&other).join("run.yaml"), "[").unwrap();
    assert_eq!(past.doctor(&[&past.run]).0["findings"], json!([]));
    past.doctor(&[&past.run, "--repair"]);
    assert_eq!(past.sandbox.read(&other, "run.yaml"), "[");
    assert_eq!(past.doctor(&[&other]).1, 65);
}

#[test]
fn what_a_living_writer_is_doing_is_no_damage() {
    let past = Past::new();
    let lock = HeldLock::take(past.real_path(".lock"));
    past.put(".run.tmp", "half\n");
    past.put_back("run.yaml", 2);
    past.remove("activities/003-plan-done.yaml");
    let (report, code) = past.doctor(&[]);
    assert_eq!((code, troubles(&report)), (0, Vec::new()), "{report:#}");
    assert_eq!(findings(&report, "lock_held", &past.shown_path(".lock")).len(), 1, "{report:#}");
    drop(lock);
    assert_eq!(troubles(&past.doctor(&[]).0), ["leftover_file", "run_yaml_behind", "activity_missing"]);
}

#[test]
fn a_repair_waits_for_a_living_writer_and_says_whom_it_waited_for() {
    let past = Past::new();
    past.put("run.yaml", "[");
    let before = whole(&past.sandbox);
    let _lock = HeldLock::take(past.real_path(".lock"));
    let (report, code) = past.doctor(&["--repair", "--lock-timeout", "0.1"]);
    assert_eq!(code, 65);
    let left = findings(&report, "run_yaml_invalid", &past.shown_path("run.yaml"))[0];
    assert_eq!(left["state"], "left");
    assert!(left["why"].as_str().unwrap().contains("is held by another process"), "{left:#}");
    assert!(whole(&past.sandbox).0 == before.0);
}

#[test]
fn files_of_another_user_are_found_unless_they_are_trusted() {
    if !can_become_others("files_of_another_user_are_found_unless_they_are_trusted") {
        return;
    }
    let past = Past::new();
    for path in [past.sandbox.root(), past.real_path("events.jsonl")] {
        std::os::unix::fs::chown(path, Some(12345), None).unwrap();
    }
    let (report, code) = past.doctor(&[]);
    assert_eq!((code, troubles(&report)), (65, vec!["foreign_owner"]));
    let mut trusting = past.sandbox.flow_command();
    trusting.args(["doctor"]).env("FLOW_TRUST_OWNER", "1");
    run(trusting, "").ok();
}

#[test]
fn a_run_that_cannot_be_written_is_found() {
    let past = Past::new();
    let dir = past.real_path("");
    std::fs::write(past.sandbox.path(".flow/config.yaml"), "journal: true\n").unwrap();
    // Root may write everything, and looks as somebody else.
    let give_to = |user: u32| {
        for entry in walkdir::WalkDir::new(past.sandbox.path("..")) {
            std::os::unix::fs::lchown(entry.unwrap().path(), Some(user), Some(user)).unwrap();
        }
    };
    for (name, mode, usual, code) in [
        ("", 0o555, 0o755, "not_writable"),
        ("activities", 0o555, 0o755, "not_writable"),
        ("events.jsonl", 0o444, 0o644, "not_writable"),
        (".lock", 0o000, 0o644, "not_writable"),
        (".lock", 0o444, 0o644, "not_writable"),
        ("../../.lock", 0o444, 0o644, "not_writable"),
        ("../../config.yaml", 0o000, 0o644, "unreadable"),
    ] {
        let mut look = past.sandbox.flow_command();
        look.args(["doctor", "--json"]);
        if is_root() {
            give_to(12345);
            look = as_user(12345, look);
        }
        let path = dir.join(name);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let answer = run(look, "");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(usual)).unwrap();
        if is_root() {
            give_to(0);
        }
        assert_eq!(troubles(&answer.json()), [code], "{name}");
    }
}

#[test]
fn a_run_of_the_original_scripts_is_no_damage_before_and_after_it_is_adopted() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    sandbox.record(&run, "preflight", "one");
    let text = sandbox.read(&run, "run.yaml");
    let foreign: String = text.lines().filter(|line| !line.contains("last_")).map(|line| format!("{line}\n")).collect();
    std::fs::write(sandbox.run_dir(&run).join("run.yaml"), foreign).unwrap();
    std::fs::remove_file(sandbox.run_dir(&run).join("events.jsonl")).unwrap();
    std::fs::remove_file(sandbox.run_dir(&run).join(".lock")).unwrap();
    let report = sandbox.flow(["doctor", "--json"]).ok().json();
    let codes: Vec<_> = report["findings"].as_array().unwrap().iter().map(|one| one["code"].clone()).collect();
    assert_eq!(codes, ["run_not_adopted"]);
    sandbox.record(&run, "preflight", "two");
    assert_eq!(sandbox.flow(["doctor", "--json"]).ok().json()["findings"], json!([]));
    sandbox.flow(["verify", &run]).ok();
    for line in sandbox.read(&run, "events.jsonl").lines() {
        let value = serde_json::from_str(line).unwrap();
        let broken = flowrun::codec::validate(flowrun::codec::DocumentKind::Event, &value, None);
        assert_eq!(broken, [], "{line}");
    }
}

#[test]
fn looking_at_a_run_that_others_are_writing_finds_no_damage() {
    let past = Past::new();
    let script =
        r#"for n in $(seq 1 40); do "$0" record-activity --run-id "$1" --phase plan --id "more-$n" || exit 1; done"#;
    let mut command = past.sandbox.command("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_flow"), &past.run]).stdout(std::process::Stdio::null());
    let mut recorder = command.spawn().unwrap();
    let mut looks = 0;
    while recorder.try_wait().unwrap().is_none() {
        let (report, code) = past.doctor(&[]);
        assert_eq!((code, troubles(&report)), (0, Vec::new()), "{report:#}");
        past.sandbox.flow(["verify", &past.run]).ok();
        looks += 1;
    }
    assert!(recorder.wait().unwrap().success());
    assert!(looks > 0);
}

#[test]
fn a_file_in_the_place_of_the_runs_is_told_with_what_to_do() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    std::fs::rename(sandbox.path(".flow/runs"), sandbox.path("runs")).unwrap();
    std::fs::write(sandbox.path(".flow/runs"), "x").unwrap();
    let listed = sandbox.flow(["list"]).exits(77).stderr;
    insta::assert_snapshot!(sandbox.masked(&listed), @r"
    error: ROOT/.flow/runs is a file, not a directory
      help: a directory belongs there: move the file away, and bring the directory back with git if it was committed
    ");
    let found = sandbox.flow(["doctor"]).exits(65).stdout;
    insta::assert_snapshot!(found, @r"
    error  wrong_kind  .flow/runs
      runs is a file, not a directory; move it away, and bring the directory back with git if it was committed
    damaged  0 runs checked, 1 error, 0 warnings
    ");
    std::fs::remove_file(sandbox.path(".flow/runs")).unwrap();
    std::fs::rename(sandbox.path("runs"), sandbox.path(".flow/runs")).unwrap();
    std::fs::rename(sandbox.run_dir("r1").join("run.yaml"), sandbox.path("kept")).unwrap();
    std::fs::create_dir(sandbox.run_dir("r1").join("run.yaml")).unwrap();
    let shown = sandbox.flow(["show", "r1"]).exits(77).stderr;
    insta::assert_snapshot!(sandbox.masked(&shown), @r"
    error: ROOT/.flow/runs/r1/run.yaml is a directory
      help: a file belongs there: move the directory away, or run `flow doctor --repair`
    ");
    sandbox.flow(["doctor", "--repair"]).ok();
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn files_that_are_not_text_are_found_and_stop_nothing_that_does_not_need_them() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let put = |file: &str| {
        let path = sandbox.path(".flow").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, b"a: \xff\n").unwrap();
    };
    put("pruned.jsonl");
    sandbox.flow(["start", "debug", "--another", "--id", "r2"]).ok();
    sandbox.flow(["cancel", "r2", "--reason", "not needed"]).ok();
    sandbox.flow(["prune", "--older-than", "0d", "--yes"]).ok();
    assert!(std::fs::read(sandbox.path(".flow/pruned.jsonl")).unwrap().starts_with(b"a: \xff\n{"));
    assert_eq!(sandbox.flow(["show", "r2", "--json"]).exits(3).error()["code"], "run_pruned");
    sandbox.flow(["doctor"]).ok();
    put("modes.yaml");
    put("interviews/own.interview.yaml");
    let report = sandbox.flow(["doctor", "--json"]).exits(65).json();
    let codes: Vec<_> = report["findings"].as_array().unwrap().iter().map(|one| one["code"].clone()).collect();
    assert_eq!(codes, ["script_invalid", "policy_invalid", "prune_note_damaged"], "{report}");
    assert_eq!(sandbox.flow(["mode", "list", "--json"]).exits(1).error()["code"], "invalid_policy");
    let asked = sandbox.flow(["interview", "start", "x.md", "--script", "own", "--json"]).exits(1).error();
    assert!(asked["message"].as_str().unwrap().starts_with("the interview in "), "{asked}");
}

#[test]
fn a_directory_in_place_of_the_notes_of_pruned_runs_is_moved_away() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    std::fs::create_dir(sandbox.path(".flow/pruned.jsonl")).unwrap();
    sandbox.flow(["start", "debug"]).exits(77);
    sandbox.flow(["doctor", "--repair"]).ok();
    sandbox.flow(["start", "debug"]).ok();
}
