//! Recorded commands that run again, and statements about them for others.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Lack, Person, Sandbox, answered, has_terminals, run, skipped, spawned};

/// A project with the named command `test`, which counts how often it ran, and the run `r1` in which it was seen to pass.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "merge-pr", "--id", "r1"]).ok();
    fs::write(sandbox.path(".flow/config.yaml"), "commands: {test: sh check.sh}\n").unwrap();
    fs::write(sandbox.path("check.sh"), "echo ran; ! grep -q bad code\n").unwrap();
    fs::write(sandbox.path("code"), "good\n").unwrap();
    sandbox.git(&["add", "check.sh", "code"]);
    sandbox.git(&["commit", "-q", "-m", "code"]);
    fs::write(sandbox.path(".git/info/exclude"), ".flow\n").unwrap();
    sandbox.flow(["trust", "--yes"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    sandbox
}

/// What is said of the first command.
fn replayed(sandbox: &Sandbox, options: &[&str], code: i32) -> Value {
    let report = sandbox.flow(["replay", "r1", "--json"].iter().chain(options)).exits(code).json();
    report["commands"][0].clone()
}

#[test]
fn a_command_that_runs_again_is_compared_and_the_comparison_is_recorded() {
    let sandbox = sandbox();
    assert_eq!(replayed(&sandbox, &[], 2)["again"], Value::Null, "it is only shown");
    let again = replayed(&sandbox, &["--yes"], 0)["again"].clone();
    let same = json!({ "exit_code": 0, "same_status": true, "same_output": true, "same_tree": true, "number": "003" });
    assert_eq!(again, same);
    fs::write(sandbox.path("code"), "bad\n").unwrap();
    let again = replayed(&sandbox, &["--yes", "test"], 1)["again"].clone();
    let other =
        json!({ "exit_code": 1, "same_status": false, "same_output": true, "same_tree": false, "number": "004" });
    assert_eq!(again, other);
    // The commit alone, whatever the checkout has.
    let again = replayed(&sandbox, &["--yes", "--clean", "002"], 0)["again"].clone();
    assert_eq!((&again["same_status"], &again["same_tree"]), (&json!(true), &json!(true)));
    let shown = sandbox.flow(["show", "r1", "--json"]).ok().json();
    let summaries: Vec<_> = shown["activities"].as_array().unwrap()[2..].iter().map(|one| &one["summary"]).collect();
    let told = [
        "002 test once more: same exit status (0), same output, same files",
        "002 test once more: other exit status (1), same output, other files",
        "002 test once more on its commit alone: same exit status (0), same output, same files",
    ];
    assert_eq!(summaries, told);
    sandbox.flow(["replay", "r1", "nosuch"]).exits(3);
}

#[test]
fn how_a_replay_compared_is_seen_and_after_a_difference_resume_proposes_another_one() {
    let sandbox = sandbox();
    replayed(&sandbox, &["--yes"], 0);
    let report = sandbox.flow(["verify", "r1", "--evidence", "--json"]).ok().json();
    assert_eq!(report["claimed"], json!([]));
    let resumed = sandbox.flow(["resume", "r1"]).ok().stdout;
    insta::assert_snapshot!(resumed, @r"
    continue  r1  merge-pr
      why         `preflight` is done; `verify` comes next
      phase       preflight
      next        verify: All required checks of the noted head commit have passed, and no finding of severity one is open.
      command     flow record-activity --run-id r1 --phase verify --id verify --status running
      if the work of `verify` is done:
        flow record-activity --run-id r1 --phase verify --id verify --status passed
      evidence (fresh: the tracked and untracked files are the same)
        002  test  preflight  test = sh check.sh  passed, seen  fresh
      completed
        002  test            preflight  passed, seen
        003  replay-of-test  preflight  passed, seen
    ");
    let report = sandbox.flow(["report", "r1"]).ok().stdout;
    insta::assert_snapshot!(sandbox.masked(&report), @r"
    ## `r1` active

    Workflow `merge-pr`, in `preflight`.
    Branch: `main`
    Used: 2s (1 of 2 reported)

    ### Seen

    - 002 `test` passed, on commit `ID`: `test = sh check.sh`
    - 003 `replay-of-test` passed in `preflight`: `002 test once more: same exit status (0), same output, same files`
    ");
    fs::write(sandbox.path("code"), "bad\n").unwrap();
    replayed(&sandbox, &["--yes", "test"], 1);
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    let ways = resumed["next"]["alternatives"].as_array().unwrap();
    let again =
        json!({ "when": "the command of 002 is to be run and compared again", "command": "flow replay r1 002" });
    assert!(ways.contains(&again), "{resumed:#}");
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn a_damaged_log_proves_nothing() {
    let sandbox = sandbox();
    sandbox.record("r1", "preflight", "more");
    sandbox.flow(["verify", "r1", "--evidence"]).ok();
    let log = sandbox.path(".flow/runs/r1/events.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    lines.remove(1);
    fs::write(&log, lines.join("\n") + "\n").unwrap();
    let report = sandbox.flow(["verify", "r1", "--evidence", "--json"]).exits(65).json();
    assert_eq!(report["ok"], false);
    assert_eq!(report["damage"], "event 2 is missing from the log");
    assert!(sandbox.flow(["verify", "r1", "--evidence"]).exits(65).stdout.starts_with("damaged  r1\n  why "));
    let error = sandbox.flow(["export", "r1", "--format", "in-toto", "--json"]).exits(65).error();
    assert_eq!(error["message"], "run r1: event 2 is missing from the log; its log proves nothing");
    let report = sandbox.flow(["report", "r1"]).ok().stdout;
    insta::assert_snapshot!(sandbox.masked(&report), @r"
    ## `r1` active

    Workflow `merge-pr`, in `preflight`.
    Branch: `main`
    Used: 2s (1 of 2 reported)
    Note: `the log cannot be trusted: event 2 is missing from the log`

    ### Seen

    - 002 `test` passed, on commit `ID`: `test = sh check.sh`

    ### Claimed

    - 003 `more` passed in `preflight`
    ");
}

/// A repaired run has no requirement of a workflow that was lost with its log, so who reads on has to know.
#[test]
fn what_proves_or_reports_work_says_that_events_were_lost() {
    let sandbox = sandbox();
    fs::remove_file(sandbox.path(".flow/runs/r1/events.jsonl")).unwrap();
    sandbox.flow(["doctor", "r1", "--repair"]).ok();
    let proved = sandbox.flow(["verify", "r1", "--evidence"]).ok().stdout;
    insta::assert_snapshot!(proved, @r"
    nothing seen  r1
      claimed     002 test
      fresh means: the tracked and untracked files are the same; ignored ones are not looked at
      note        events 1 to 3 lost, as the repair of the log at event 4 says; 2 records were found again in their activity files
    ");
    let report = sandbox.flow(["report", "r1"]).ok().stdout;
    insta::assert_snapshot!(sandbox.masked(&report), @r"
    ## `r1` active

    Workflow `merge-pr`, in `preflight`.
    Branch: `main`
    Used: 2s
    Note: `events 1 to 3 lost, as the repair of the log at event 4 says; 2 records were found again in their activity files`

    ### Claimed

    - 002 `test` passed in `preflight`: `sh check.sh`
    ");
}

#[test]
fn a_command_with_several_lines_is_shown_whole() {
    let sandbox = sandbox();
    let command = ["sh", "-c", "echo  `true`\nfalse"];
    sandbox.flow(["exec", "--run-id", "r1", "--id", "lines", "--"].iter().chain(&command)).exits(1);
    let resumed = sandbox.flow(["resume", "r1"]).ok().stdout;
    insta::assert_snapshot!(resumed, @r"
    continue  r1  merge-pr
      why         004 lines failed in `preflight`
      phase       preflight
      next        preflight: The pull request is open, approved and free of conflicts, and its head commit is noted.
      command     flow record-activity --run-id r1 --phase preflight --id lines --status running --name 'lines, after 004'
      if the command is to be run again:
        flow exec --run-id r1 --id lines --again -- sh -c $'echo  `true`\nfalse'
      if the work of `preflight` is done:
        flow record-activity --run-id r1 --phase preflight --id lines --status passed --name 'lines, after 004'
      if `preflight` needs no work in this run:
        flow record-activity --run-id r1 --phase preflight --id lines --status skipped --name 'lines, after 004' --summary 'why'
      if a person decides to go on to `verify` without it:
        flow record-activity --run-id r1 --phase verify --id verify --status running --skip-reason 'why'
      if the run has failed:
        flow fail r1 --reason 'why'
      evidence (fresh: the tracked and untracked files are the same)
        002  test   preflight  test = sh check.sh            passed, seen          fresh
        004  lines  preflight  sh -c $'echo  `true`\nfalse'  failed, exit 1, seen  fresh
      completed
        002  test  preflight  passed, seen
    ");
    let report = sandbox.flow(["report", "r1"]).ok().stdout;
    insta::assert_snapshot!(sandbox.masked(&report), @r"
    ## `r1` failing

    Workflow `merge-pr`, in `preflight`.
    Branch: `main`
    Used: 4s

    ### Seen

    - 002 `test` passed, on commit `ID`: `test = sh check.sh`
    - 004 `lines` failed, exit 1, on commit `ID`: `` sh -c $'echo  `true`\nfalse' ``

    ### Open

    - 004 `lines` failed, exit 1 in `preflight`: `` sh -c $'echo  `true`\nfalse' ``
    ");
}

/// A record may come from a clone, so it leads no command to another place.
#[test]
fn no_record_leads_a_command_out_of_the_checkout() {
    if !has_terminals("no_record_leads_a_command_out_of_the_checkout") {
        return;
    }
    let sandbox = sandbox();
    let outside = tempfile::tempdir().unwrap();
    let mut command = sandbox.flow_command();
    command.current_dir(outside.path()).arg("-C").arg(sandbox.root());
    command.args(["exec", "--run-id", "r1", "--id", "out", "--", "sh", "-c", "echo ran > here"]);
    run(command, "").ok();
    fs::remove_file(outside.path().join("here")).unwrap();
    let mut command = sandbox.flow_command();
    command.args(["replay", "r1", "out"]);
    let mut person = Person::before(&command);
    person.shows("Run these commands").types("yes\n");
    let _ = person.ended();
    assert!(person.seen().contains("it ran outside of this checkout"), "{}", person.seen());
    assert!(!outside.path().join("here").exists());
}

#[test]
fn what_nobody_accepted_runs_only_after_a_person_agreed() {
    let sandbox = sandbox();
    sandbox.flow(["exec", "--run-id", "r1", "--id", "t", "--", "sh", "-c", "echo x >> .flow/count"]).ok();
    let why = replayed(&sandbox, &["--yes", "t"], 1)["why_not"].clone();
    assert_eq!(why, "the project does not name it, so it runs only after a person saw it and agreed");
    assert_eq!(fs::read_to_string(sandbox.path(".flow/count")).unwrap(), "x\n");
    fs::write(sandbox.path(".flow/config.yaml"), "commands: {test: sh other.sh}\n").unwrap();
    let why = replayed(&sandbox, &["--yes", "test"], 1)["why_not"].clone();
    assert_eq!(why, "the command test was not accepted on this machine: sh other.sh");
    if !has_terminals("what_nobody_accepted_runs_only_after_a_person_agreed") {
        return;
    }
    for (answer, count) in [("no\n", "x\n"), ("yes\n", "x\nx\n")] {
        let mut command = sandbox.flow_command();
        command.args(["replay", "r1", "t"]);
        let mut person = Person::before(&command);
        person.shows("Run these commands").types(answer);
        let _ = person.ended();
        assert_eq!(fs::read_to_string(sandbox.path(".flow/count")).unwrap(), count, "{}", person.seen());
    }
}

#[test]
fn nothing_is_asked_where_no_command_can_run() {
    let sandbox = sandbox();
    fs::write(sandbox.path(".flow/config.yaml"), "commands: {test: sh other.sh}\n").unwrap();
    let told = sandbox.flow(["replay", "r1"]).exits(1);
    assert!(told.stdout.contains("why         the command test was not accepted"), "{}", told.stdout);
    assert_eq!(told.stderr, "nothing was run: none of these commands can run here\n");
    if has_terminals("nothing_is_asked_where_no_command_can_run") {
        let mut command = sandbox.flow_command();
        command.args(["replay", "r1"]);
        let mut person = Person::before(&command);
        let _ = person.ended();
        let seen = person.seen();
        assert!(seen.contains("none of these commands can run here") && !seen.contains("Run these"), "{seen}");
    }
    // With one that can, it is asked.
    sandbox.flow(["exec", "--run-id", "r1", "--id", "t", "--", "true"]).ok();
    assert!(sandbox.flow(["replay", "r1"]).exits(2).stderr.contains("--yes"));
    assert_eq!(sandbox.flow(["replay", "r1", "test", "--json"]).exits(1).json()["ok"], false);
}

#[test]
fn the_clean_copy_of_a_replay_is_private_and_what_a_killed_one_left_is_removed() {
    let sandbox = sandbox();
    // Where the copies are made. No process has the first number.
    let temporary = sandbox.path("..");
    let names = ["flow-replay-999999999-abc".to_owned(), format!("flow-replay-{}-abc", std::process::id())];
    for name in &names {
        fs::create_dir_all(temporary.join(name).join("sub")).unwrap();
    }
    let script = "case $PWD in *flow-replay-*) ls -ld . > \"${PWD%/*}/rights\";; esac\n";
    fs::write(sandbox.path("check.sh"), script).unwrap();
    sandbox.git(&["commit", "-q", "-am", "rights"]);
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    replayed(&sandbox, &["--yes", "--clean", "test"], 0);
    let rights = fs::read_to_string(temporary.join("rights")).unwrap();
    assert!(rights.starts_with("drwx------"), "{rights}");
    let mut left = Vec::new();
    for entry in fs::read_dir(&temporary).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("flow-replay-") {
            left.push(name);
        }
    }
    assert_eq!(left, names[1..]);
}

#[test]
fn a_replay_on_a_clean_copy_needs_all_files_of_the_commit() {
    let sandbox = sandbox();
    let script = "b=$(git rev-parse HEAD:code); rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-)";
    let mut shell = sandbox.command("sh");
    shell.args(["-ec", script]);
    run(shell, "").ok();
    let replayed = replayed(&sandbox, &["--yes", "--clean", "test"], 1);
    assert_eq!(replayed["again"], Value::Null);
    assert_eq!(replayed["why_not"], "the commit's files are not all here: code");
}

#[test]
fn a_replay_on_a_commit_that_git_removed_names_it() {
    let sandbox = sandbox();
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "side"]);
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    sandbox.git(&["checkout", "-q", "-"]);
    sandbox.git(&["branch", "-q", "-D", "side"]);
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    let replayed = replayed(&sandbox, &["--yes", "--clean", "test"], 1);
    let commit = replayed["commit"].as_str().unwrap();
    let why = "git removes commits that no branch has; fetch it from where it was pushed";
    assert_eq!(replayed["why_not"], format!("the commit {commit} is not in the repository: {why}"));
}

#[test]
fn a_replay_on_a_clean_copy_has_the_submodules_as_they_were() {
    let sandbox = sandbox();
    let script = "for one in inner deep; do git init -q ../$one; done\n\
                  cd ../deep; echo deep > file; git add file; git commit -qm deep\n\
                  cd ../inner; echo inner > file; git add file; git submodule add -q $PWD/../deep deep; git commit -qm inner\n\
                  cd ../demo; git submodule add -q $PWD/../inner inner; git submodule update -q --init --recursive\n\
                  git commit -qm modules";
    fs::write(sandbox.path(".flow/config.yaml"), "commands: {modules: cat inner/file inner/deep/file}\n").unwrap();
    let mut shell = sandbox.command("sh");
    shell.args(["-ec", script]).env("GIT_CONFIG_COUNT", "3");
    let settings = [("protocol.file.allow", "always"), ("user.name", "A"), ("user.email", "a@example.com")];
    for (nth, (key, value)) in settings.iter().enumerate() {
        shell.env(format!("GIT_CONFIG_KEY_{nth}"), key).env(format!("GIT_CONFIG_VALUE_{nth}"), value);
    }
    run(shell, "").ok();
    sandbox.flow(["trust", "--yes"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "modules"]).ok();
    fs::write(sandbox.path("inner/file"), "changed\n").unwrap();
    let again = replayed(&sandbox, &["--yes", "--clean", "modules"], 0)["again"].clone();
    assert_eq!((&again["same_output"], &again["same_tree"]), (&json!(true), &json!(true)), "{again}");
}

/// The statements about the commands of the run.
fn statements(sandbox: &Sandbox) -> (String, Vec<Value>) {
    let text = sandbox.flow(["export", "r1", "--format", "in-toto"]).ok().stdout;
    let all = text.lines().map(|line| line.parse().unwrap()).collect();
    (text, all)
}

#[test]
fn a_command_without_files_has_no_statement_and_one_without_an_end_is_named() {
    let sandbox = Sandbox::new();
    sandbox.git(&["init", "-q", "empty"]);
    let flow = |args: &[&str]| sandbox.flow(["-C", "empty"].iter().chain(args));
    flow(&["start", "debug", "--id", "e1"]).ok();
    flow(&["exec", "--run-id", "e1", "--", "true"]).ok();
    assert!(flow(&["export", "e1", "--format", "in-toto"]).exits(1).stderr.contains("nothing to state"));
    flow(&["start", "debug", "--id", "e2"]).ok();
    let kills = "kill -9 $PPID";
    let _ = flow(&["exec", "--run-id", "e2", "--id", "z", "--", "sh", "-c", kills]);
    let replayed = flow(&["replay", "e2"]).ok();
    assert_eq!(replayed.stdout, "");
    assert!(replayed.stderr.contains("the end of 001 z was not seen, so there is nothing to compare"), "{replayed:?}");
}

#[test]
fn statements_of_in_toto_name_the_commit_or_the_files_and_have_the_same_bytes_each_time() {
    let sandbox = sandbox();
    fs::write(sandbox.path("code"), "bad\n").unwrap();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).exits(1);
    let (text, all) = statements(&sandbox);
    assert_eq!(statements(&sandbox).0, text);
    assert_eq!(all.len(), 2);
    let commit = all[0]["subject"][0]["digest"]["gitCommit"].as_str().unwrap();
    let mut git = sandbox.command("git");
    git.args(["rev-parse", "HEAD"]);
    assert_eq!(run(git, "").stdout.trim(), commit);
    assert_eq!(all[1]["subject"][0]["name"], "worktree");
    assert_eq!(all[1]["subject"][0]["digest"]["sha256"].as_str().unwrap().len(), 64);
    let results: Vec<_> = all.iter().map(|one| &one["predicate"]["result"]).collect();
    assert_eq!(results, ["PASSED", "FAILED"]);
    assert_eq!(all[0]["predicate"]["configuration"][0]["annotations"]["argv"], json!(["sh", "check.sh"]));
    for statement in &all {
        is_statement(statement);
    }
    sandbox.flow(["exec", "--run-id", "r1", "--id", "secret", "--", "true", "--token=hunter2000"]).ok();
    let annotations = statements(&sandbox).1[2]["predicate"]["configuration"][0]["annotations"].clone();
    assert_eq!(annotations["masked"], json!(true), "{annotations}");
    assert_eq!((&annotations["changedWhileItRan"], &annotations["filesAfter"]), (&Value::Null, &Value::Null));
    // Others are not to take a command that changed its files for one that ran on the commit alone.
    sandbox.flow(["exec", "--run-id", "r1", "--id", "edits", "--", "sh", "-c", "echo x >> code"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "--id", "breaks", "--", "sh", "-c", "mv .git git"]).ok();
    fs::rename(sandbox.path("git"), sandbox.path(".git")).unwrap();
    let told = |at: usize| statements(&sandbox).1[at]["predicate"]["configuration"][0]["annotations"].clone();
    assert_eq!(told(3)["changedWhileItRan"], json!(["code"]));
    assert_eq!(told(4)["filesAfter"], json!("unknown"));
    let report = sandbox.flow(["report", "r1"]).ok().stdout;
    for why in ["`files changed while it ran (code)`", "`the files were not known any longer when it had ended`"] {
        assert!(report.contains(why), "{report}");
    }
}

/// Checks a statement by the rules of in-toto's attestation framework: the layout of a Statement v1, and of its
/// predicate `test-result` v0.1.
fn is_statement(statement: &Value) {
    let descriptor = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "uri": { "type": "string" },
            "digest": { "type": "object", "minProperties": 1, "additionalProperties": { "type": "string", "pattern": "^[0-9a-f]+$" } },
            "annotations": { "type": "object" },
        },
        "anyOf": [{ "required": ["uri"] }, { "required": ["digest"] }, { "required": ["content"] }],
    });
    let names = json!({ "type": "array", "items": { "type": "string" } });
    let schema = json!({
        "type": "object",
        "required": ["_type", "subject", "predicateType", "predicate"],
        "additionalProperties": false,
        "properties": {
            "_type": { "const": "https://in-toto.io/Statement/v1" },
            "subject": { "type": "array", "minItems": 1, "items": { "allOf": [descriptor, { "required": ["digest"] }] } },
            "predicateType": { "const": "https://in-toto.io/attestation/test-result/v0.1" },
            "predicate": {
                "type": "object",
                "required": ["result", "configuration"],
                "properties": {
                    "result": { "enum": ["PASSED", "WARNED", "FAILED"] },
                    "configuration": { "type": "array", "items": descriptor },
                    "passedTests": names, "warnedTests": names, "failedTests": names,
                },
            },
        },
    });
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<_> = validator.iter_errors(statement).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}\n{statement:#}");
}

#[test]
fn a_statement_can_be_signed_with_ssh_keygen_and_a_change_is_noticed() {
    if Command::new("ssh-keygen").arg("-?").output().is_err() {
        let lack = Lack::of("ssh-keygen", "it is not installed");
        skipped("a_statement_can_be_signed_with_ssh_keygen_and_a_change_is_noticed", &lack);
        return;
    }
    let sandbox = sandbox();
    let script = "set -e
flow export r1 --format in-toto -o statements.jsonl
ssh-keygen -q -t ed25519 -N '' -f key -C ada@example.org
ssh-keygen -q -Y sign -f key -n in-toto statements.jsonl
echo \"ada@example.org $(cat key.pub)\" > signers
ssh-keygen -q -Y verify -f signers -I ada@example.org -n in-toto -s statements.jsonl.sig < statements.jsonl
sed -i s/PASSED/FAILED/ statements.jsonl
! ssh-keygen -q -Y verify -f signers -I ada@example.org -n in-toto -s statements.jsonl.sig < statements.jsonl
";
    let mut command = sandbox.command("sh");
    command.args(["-c", &format!("flow() {{ '{}' \"$@\"; }}\n{script}", env!("CARGO_BIN_EXE_flow"))]);
    run(command, "").ok();
}

#[test]
fn a_report_tells_what_was_seen_and_claimed_and_what_is_open_in_the_same_bytes_each_time() {
    let sandbox = sandbox();
    let record = |more: &[&str]| drop(sandbox.flow(["record-activity", "--run-id", "r1"].iter().chain(more)).ok());
    record(&["--id", "said", "--summary", "all `good` <b>@ada</b>\n# not a heading"]);
    record(&["--id", "broke", "--status", "failed", "--summary", "no network"]);
    let report = sandbox.flow(["report", "r1"]).ok().stdout;
    sandbox.put_clock(sandbox.now() + 600);
    fs::write(sandbox.path("code"), "bad\n").unwrap();
    assert_eq!(sandbox.flow(["report", "r1"]).ok().stdout, report);
    let mut git = sandbox.command("git");
    git.args(["rev-parse", "HEAD"]);
    let commit = run(git, "").stdout;
    let shown = report.replace(&commit[..12], "COMMIT");
    insta::assert_snapshot!(shown, @r"
    ## `r1` failing

    Workflow `merge-pr`, in `preflight`.
    Branch: `main`
    Used: 2s (1 of 3 reported)

    ### Seen

    - 002 `test` passed, on commit `COMMIT`: `test = sh check.sh`

    ### Claimed

    - 003 `said` passed in `preflight`: `` all `good` <b>@ada</b> # not a heading ``

    ### Open

    - 004 `broke` failed in `preflight`: `no network`
    ");
    for nth in 0..300 {
        sandbox.inside(["record-activity", "--run-id", "r1", "--id", &format!("more-{nth}")]).ok();
    }
    let long = sandbox.flow(["report", "r1"]).ok().stdout;
    assert!(
        long.lines().count() <= 200 && long.contains("- 279 earlier ones") && long.contains("`more-299`"),
        "{long}"
    );
    let odd =
        ["record-activity", "--run-id", "r1", "--id", "odd", "--status", "passed", "--exit-code", "101", "--summary"];
    sandbox.flow(odd.iter().chain(&["expected"])).ok();
    sandbox.flow(["set", "r1", "--pr", "7"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "--id", "bad", "--", "sh", "-c", "exit 3"]).exits(3);
    let told = sandbox.flow(["report", "r1"]).ok().stdout;
    assert!(told.contains("`odd` passed, exit 101 in"), "{told}");
    assert!(told.contains("Pull request: `#7`"), "{told}");
    let open = told.split("### Open").nth(1).unwrap();
    assert!(open.contains("`bad` failed, exit 3 in"), "{told}");
    let json = sandbox.flow(["report", "r1", "--format", "json"]).ok().json();
    assert_eq!((&json["seen"][0]["id"], &json["open"][0]["id"]), (&json!("test"), &json!("broke")));
}

#[test]
fn a_replay_that_a_signal_ends_says_nothing_about_the_commands() {
    let sandbox = sandbox();
    sandbox.flow(["exec", "--run-id", "r1", "--id", "other", "--", "true"]).ok();
    fs::write(sandbox.path("check.sh"), "touch .flow/begun; sleep 60\n").unwrap();
    let mut command = sandbox.flow_command();
    command.args(["replay", "r1", "--yes", "--json"]);
    let child = spawned(command);
    let until = Instant::now() + Duration::from_secs(60);
    while !sandbox.path(".flow/begun").exists() {
        assert!(Instant::now() < until, "it does not begin");
        sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let report = answered(child).exits(1).json();
    let told: Vec<_> = report["commands"].as_array().unwrap().iter().map(|one| &one["why_not"]).collect();
    assert_eq!(told[0], "signal 15 came, which ends a replay", "{report:#}");
    let shown = sandbox.flow(["show", "r1", "--json"]).ok().json();
    assert_eq!(shown["activities"].as_array().unwrap().len(), 4, "nothing is recorded of it: {shown:#}");
}

#[test]
fn a_failure_that_a_later_record_settles_is_open_for_no_reader() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "b", "--status", "failed", "--summary", "bad"]).ok();
    let report = || sandbox.flow(["report", "r1"]).ok().stdout;
    assert!(report().contains("### Open\n\n- 001 `b` failed"), "{}", report());
    let settle =
        ["record-activity", "--run-id", "r1", "--id", "c", "--status", "passed", "--settles", "b", "--advance"];
    sandbox.flow(settle).ok();
    assert!(!report().contains("### Open"), "{}", report());
    assert!(report().contains("- 002 `c` passed in `preflight` (settles `b`)"), "{}", report());
    assert_eq!(sandbox.flow(["report", "r1", "--format", "json"]).ok().json()["open"], json!([]));
    assert!(sandbox.flow(["show", "r1"]).ok().stdout.contains("passed, claimed, settles b"));
}
