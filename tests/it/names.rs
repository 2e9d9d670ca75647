//! Which run is meant: by the name that people use, or without one.

use serde_json::json;

use crate::support::{Sandbox, run};

/// A repository with its own history, in which runs are ignored by git.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path(".gitignore"), ".flow/\n.decisions/\n.claude/\n").unwrap();
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "begin"]);
    sandbox
}

fn start(sandbox: &Sandbox, more: &[&str]) -> String {
    let answer = sandbox.flow(["start", "start-issue", "--json"].iter().chain(more)).ok();
    answer.json()["run_id"].as_str().unwrap().to_owned()
}

/// The run that `flow show` shows under a name.
fn shown(sandbox: &Sandbox, name: &str) -> String {
    sandbox.flow(["show", name, "--json"]).ok().json()["metadata"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn an_issue_whose_key_is_the_short_name_of_another_run_names_neither() {
    let sandbox = repository();
    start(&sandbox, &["--issue", "ISSUE-7", "--id", "other"]);
    let seventh = start(&sandbox, &["--issue", "7"]);
    for args in [&["cancel", "issue-7"][..], &["resume", "issue-7"]] {
        let refused = sandbox.flow(args.iter().chain(&["--json"])).exits(2).error();
        assert_eq!(refused["message"], format!("issue-7 fits several runs: {seventh}, other"));
    }
    assert_eq!(shown(&sandbox, "7"), seventh);
}

#[test]
fn a_run_is_named_by_its_issue_by_the_beginning_or_the_end_of_its_id() {
    let sandbox = repository();
    let (a, b) = (start(&sandbox, &["--issue", "42"]), start(&sandbox, &["--issue", "proj-7"]));
    start(&sandbox, &["--goal", "other", "--id", "other-1"]);
    for name in ["42", "#42", "issue-42", a.as_str()] {
        assert_eq!(shown(&sandbox, name), a, "{name}");
    }
    for name in ["PROJ-7", "proj-7", "issue-PROJ-7"] {
        assert_eq!(shown(&sandbox, name), b, "{name}");
    }
    assert_eq!(shown(&sandbox, "other"), "other-1");
    for name in ["43", "#43", "sue-42", "issue-4", "-42", "#", ""] {
        sandbox.flow(["show", "--run-id", name]).exits(if name == "#" || name.is_empty() || name == "-42" {
            2
        } else {
            3
        });
    }
}

#[test]
fn a_pull_request_names_its_run_and_two_hits_are_refused_by_name() {
    let sandbox = repository();
    let pr = start(&sandbox, &["--pr", "#7", "--id", "a"]);
    assert_eq!(shown(&sandbox, "7"), pr);
    start(&sandbox, &["--issue", "7", "--id", "b"]);
    let refused = sandbox.flow(["show", "7", "--json"]).exits(2);
    assert_eq!(refused.error()["code"], "ambiguous_run");
    assert_eq!(refused.error()["message"], "7 fits several runs: a, b");
    // The id comes first, whatever the number of its issue is.
    start(&sandbox, &["--id", "7"]);
    assert_eq!(shown(&sandbox, "7"), "7");
}

#[test]
fn an_open_run_comes_before_those_that_are_over_but_a_writer_takes_no_end_that_fits_both() {
    let sandbox = repository();
    start(&sandbox, &["--issue", "42", "--id", "2025-01-01T000000Z-issue-42"]);
    sandbox.flow(["cancel", "42", "--reason", "begun again"]).ok();
    let open = start(&sandbox, &["--issue", "42", "--id", "2025-02-01T000000Z-issue-42"]);
    for name in ["42", "issue-42", "2025"] {
        assert_eq!(shown(&sandbox, name), open, "{name}");
    }
    let refused = sandbox.flow(["block", "issue-42", "--reason", "x", "--json"]).exits(2);
    assert_eq!(refused.error()["code"], "ambiguous_run");
    sandbox.flow(["block", "42", "--reason", "the number is that of the open one"]).ok();
    sandbox.flow(["unblock", "2025-02"]).ok();
    sandbox.flow(["cancel", open.as_str()]).ok();
    let refused = sandbox.flow(["show", "issue-42"]).exits(2);
    insta::assert_snapshot!(refused.stderr, @r"
    error: issue-42 fits several runs: 2025-01-01T000000Z-issue-42, 2025-02-01T000000Z-issue-42
      help: name one of them by its whole id
    ");
    assert_eq!(shown(&sandbox, "@latest"), open);
}

#[test]
fn a_report_to_a_name_of_an_open_run_begins_no_other_one() {
    let sandbox = Sandbox::new();
    let run = sandbox.flow(["start", "debug", "--issue", "42", "--json"]).ok().json()["run_id"].clone();
    sandbox.flow(["start", "debug", "--issue", "PROJ-9", "--id", "p"]).ok();
    let data = json!({ "status": "running" }).to_string();
    let emit = ["emit", "--workflow", "debug", "--type", "status_change", "--step", "preflight", "--data", &data];
    for (name, open) in [("issue-42", run.as_str().unwrap()), ("42", run.as_str().unwrap()), ("PROJ-9", "p")] {
        let refused = sandbox.flow([&emit[..], &["--run-id", name, "--json"]].concat()).exits(1).error();
        assert_eq!(refused["code"], "run_exists", "{name}");
        assert!(refused["message"].as_str().unwrap().contains(open), "{refused}");
    }
    // The name of a run that is over is free, and a run that has it as its id is meant by it.
    sandbox.flow(["cancel", run.as_str().unwrap()]).ok();
    sandbox.flow([&emit[..], &["--run-id", "issue-42"]].concat()).ok();
    sandbox.flow(["start", "debug", "--issue", "PROJ-7", "--id", "p7"]).ok();
    sandbox.flow([&emit[..], &["--run-id", "issue-42"]].concat()).ok();
    assert_eq!(sandbox.flow(["list", "--json"]).ok().json()["runs"].as_array().unwrap().len(), 4);
}

#[test]
fn all_names_of_an_issue_are_one_issue() {
    let sandbox = repository();
    let url = "https://example.com/acme/widgets/issues/42";
    let run = start(&sandbox, &["--issue", url]);
    assert!(run.ends_with("-issue-42"), "{run}");
    let context = sandbox.flow(["show", &run, "--json"]).ok().json()["context"].clone();
    assert_eq!((&context["issue"], &context["journal"]), (&json!(url), &json!(".decisions/issue-42.md")));
    for same in ["42", "#42", url, "https://Example.com/Acme/Widgets/issues/42/"] {
        let refused = sandbox.flow(["start", "start-issue", "--issue", same, "--json"]).exits(1);
        assert_eq!(refused.error()["message"], format!("{run} is open and is about issue 42 as well"), "{same}");
        assert_eq!(shown(&sandbox, same), run, "{same}");
    }
    sandbox.flow(["start", "debug", "--id", "nine", "--issue", "9"]).ok();
    let address = "https://example.com/acme/widgets/issues/9";
    for (searched, found) in [("#42", &*run), ("42", &run), ("#9", "nine"), (address, "nine")] {
        let listed = sandbox.flow(["list", "--search", searched, "--json"]).ok().json()["runs"].clone();
        assert_eq!((listed.as_array().unwrap().len(), &listed[0]["run_id"]), (1, &json!(found)), "{searched}");
        let watched = sandbox.flow(["watch", "--once", "--search", searched]).ok().stdout;
        assert!(watched.contains(if found == "nine" { "nine" } else { "issue-42" }), "{searched}: {watched}");
    }
    sandbox.flow(["cancel", "nine"]).ok();
    let other = "https://github.com/else/where/issues/42";
    let there = start(&sandbox, &["--issue", other]);
    assert!(there.ends_with("-issue-github-com-else-where-issues-42"), "{there}");
    assert_eq!(shown(&sandbox, other), there);
    for number in ["#43", "43"] {
        let run = start(&sandbox, &["--issue", number]);
        assert_eq!(sandbox.flow(["show", &run, "--json"]).ok().json()["context"]["issue"], 43);
        sandbox.flow(["cancel", &run]).ok();
    }
    for nothing in ["0", "042", "the crash", "", "http://"] {
        let refused = sandbox.flow(["start", "start-issue", "--issue", nothing]).exits(2);
        assert!(refused.stderr.contains("give a number (42), a key (PROJ-123) or a URL"), "{refused:?}");
    }
}

#[test]
#[cfg(feature = "mcp")]
fn the_number_of_an_issue_is_one_issue_for_every_face_however_it_is_written() {
    let sandbox = repository();
    let client = crate::mcp::client::Client::of(&sandbox);
    let begin = |issue: &str| client.answer("flow_start", json!({ "workflow": "debug", "issue": issue }));
    let run = begin(" #50 ")["data"]["run_id"].as_str().unwrap().to_owned();
    assert!(run.ends_with("-issue-50"), "{run}");
    let file = sandbox.path(format!(".flow/runs/{run}/run.yaml"));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("issue: 50\n"), "{text}");
    // As an earlier version wrote it.
    std::fs::write(&file, text.replace("issue: 50\n", "issue: \"#50\"\n")).unwrap();
    for same in ["#50", "50", "#50 ", "https://example.com/acme/widgets/issues/50"] {
        assert_eq!(begin(same)["error"]["code"], "run_open", "{same}");
        sandbox.flow(["start", "debug", "--issue", same]).exits(1);
    }
    let other = start(&sandbox, &["--issue", "51"]);
    sandbox.flow(["set", &other, "--issue", "#50"]).exits(1);
}

#[test]
fn an_issue_that_is_a_text_can_be_written_by_hand_and_set() {
    let sandbox = repository();
    let run = start(&sandbox, &["--issue", "41"]);
    let file = sandbox.path(format!(".flow/runs/{run}/run.yaml"));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("issue: 41", "issue: the crash of May")).unwrap();
    sandbox.flow(["record-activity", "--id", "look"]).ok();
    sandbox.assert_sound(&run);
    assert_eq!(sandbox.flow(["list", "--json"]).ok().json()["runs"][0]["issue"], "the crash of May");
    sandbox.flow(["set", &run, "--issue", "PROJ-9"]).ok();
    assert_eq!(shown(&sandbox, "proj-9"), run);
    let found = sandbox.flow(["list", "--search", "proj-9", "--json"]).ok().json();
    assert_eq!(found["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn setting_what_a_run_is_about_already_makes_no_second_run() {
    let sandbox = repository();
    let run = start(&sandbox, &["--issue", "42", "--id", "a"]);
    start(&sandbox, &["--issue", "42", "--id", "b", "--another"]);
    let answer = sandbox.flow(["set", &run, "--issue", "42", "--json"]).ok().json();
    assert_eq!(answer["changed"], false);
    start(&sandbox, &["--issue", "43", "--id", "c"]);
    sandbox.flow(["set", &run, "--issue", "43"]).exits(1);
}

#[test]
fn without_a_name_the_run_of_the_branch_is_meant_and_then_the_only_one() {
    let sandbox = repository();
    sandbox.git(&["switch", "-qc", "a"]);
    start(&sandbox, &["--issue", "1", "--id", "i1"]);
    let resumed = |args: &[&str]| sandbox.flow(["resume", "--json"].iter().chain(args)).ok().json();
    sandbox.git(&["switch", "-qc", "b"]);
    // The only open run, although it is about another branch: that is in the reason.
    let report = resumed(&[]);
    assert_eq!((&report["run_id"], &report["other_branch"]), (&json!("i1"), &json!("a")));
    let why = report["reason"].as_str().unwrap();
    assert!(why.starts_with("the run is about branch a, and b is checked out; "), "{why}");
    sandbox.flow(["record-activity", "--id", "look"]).ok();

    start(&sandbox, &["--issue", "2", "--id", "i2"]);
    for (branch, run) in [("a", "i1"), ("b", "i2")] {
        sandbox.git(&["switch", "-q", branch]);
        let report = resumed(&[]);
        assert_eq!((&report["run_id"], &report["other_branch"]), (&json!(run), &json!(null)));
        let recorded = sandbox.flow(["record-activity", "--id", &format!("in-{branch}"), "--json"]).ok().json();
        assert_eq!(recorded["run_id"], run);
    }
    // No run of this branch: a reader takes the newest and says so, a writer refuses.
    sandbox.git(&["switch", "-q", "-c", "c"]);
    let report = resumed(&[]);
    assert_eq!((&report["run_id"], &report["other_branch"]), (&json!("i2"), &json!("b")));
    assert!(
        report["notes"]
            .to_string()
            .contains("2 runs are open; i2 is the one that changed last; name another one to resume it"),
        "{report}"
    );
    let shown = sandbox.flow(["show"]).ok();
    insta::assert_snapshot!(shown.stderr, @"i2 (2 runs are open; i2 is the one that changed last)");
    // Another one may have changed since, and not be the one to go on with.
    sandbox.flow(["block", "i1", "--reason", "a question"]).ok();
    assert_eq!(sandbox.flow(["show"]).ok().stderr, "i2 (2 runs are open; i2 is the only one that is not blocked)\n");
    sandbox.flow(["unblock", "i1", "--reason", "answered"]).ok();
    let refused = sandbox.flow(["record-activity", "--id", "where"]).exits(2);
    insta::assert_snapshot!(refused.stderr, @r"
    error: several runs are open: i2, i1
      help: name one of them with --run-id or in FLOW_RUN; `flow list` shows all runs
    ");
}

#[test]
fn at_most_five_runs_are_named_that_may_be_meant() {
    let sandbox = repository();
    for n in 1..=8 {
        start(&sandbox, &["--id", &format!("r{n}")]);
    }
    let refused = sandbox.flow(["block", "--reason", "x", "--json"]).exits(2).error();
    let message = refused["message"].as_str().unwrap();
    assert!(message.ends_with("and 3 more"), "{message}");
    sandbox.flow(["export", "--format", "svg"]).ok();
    sandbox.flow(["next"]).ok();
}

#[test]
fn a_commit_without_a_branch_has_its_own_run() {
    let sandbox = repository();
    start(&sandbox, &["--id", "on-branch"]);
    sandbox.git(&["switch", "-q", "--detach"]);
    start(&sandbox, &["--id", "detached"]);
    assert_eq!(sandbox.flow(["resume", "--json"]).ok().json()["run_id"], "detached");
    // Another commit, as the next job of CI checks it out, is not another branch.
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "next"]);
    let resumed = sandbox.flow(["resume", "detached", "--json"]).ok().json();
    assert!(resumed["other_branch"].is_null(), "{resumed}");
    sandbox.git(&["switch", "-q", "main"]);
    assert_eq!(sandbox.flow(["resume", "--json"]).ok().json()["run_id"], "on-branch");
}

#[test]
fn flow_run_names_the_run_or_is_an_error() {
    let sandbox = repository();
    start(&sandbox, &["--id", "i1", "--issue", "1"]);
    start(&sandbox, &["--id", "i2", "--issue", "2"]);
    let with = |named: &str, args: &[&str]| {
        let mut command = sandbox.flow_command();
        command.args(args).env("FLOW_RUN", named);
        run(command, "")
    };
    for name in ["i1", "#1", "1"] {
        assert_eq!(with(name, &["resume", "--json"]).ok().json()["run_id"], "i1", "{name}");
        assert_eq!(with(name, &["show", "--json"]).ok().json()["metadata"]["id"], "i1", "{name}");
    }
    let recorded = with("i1", &["record-activity", "--id", "look", "--json"]).ok().json();
    assert_eq!(recorded["run_id"], "i1");
    let data = r#"{"status":"running"}"#;
    let report =
        ["emit", "--workflow", "start-issue", "--type", "status_change", "--step", "preflight", "--data", data];
    assert_eq!(with("#2", &report).ok().json()["data"]["runId"], "i2");
    // A name on the command line comes first.
    assert_eq!(with("i1", &["resume", "i2", "--json"]).ok().json()["run_id"], "i2");
    for args in [&["resume"][..], &["show"], &["record-activity", "--id", "x"], &["hud", "--json"]] {
        let answer = with("nothing", args);
        if args[0] == "hud" {
            // Hosts start it in an environment that may be about another project.
            assert!(answer.ok().json()["run"]["run_id"].is_string());
            continue;
        }
        let refused = answer.exits(3);
        assert!(refused.stderr.contains("FLOW_RUN names the run: there is no run nothing"), "{refused:?}");
    }
}

#[test]
fn every_reader_takes_flow_run_for_the_same_run() {
    let sandbox = repository();
    let over = start(&sandbox, &["--issue", "42"]);
    sandbox.flow(["cancel", &over, "--reason", "again"]).ok();
    let open = start(&sandbox, &["--issue", "42"]);
    start(&sandbox, &["--id", "other"]);
    let with = |named: &str, args: &[&str], input: &str| {
        let mut command = sandbox.flow_command();
        command.args(args).env("FLOW_RUN", named);
        run(command, input)
    };
    // Its end fits a run that is over as well, which is enough to read.
    assert_eq!(with("issue-42", &["resume", "--json"], "").ok().json()["run_id"], open.as_str());
    assert_eq!(with("issue-42", &["hud", "--json"], "").ok().json()["run"]["run_id"], open.as_str());
    let payload = json!({ "session_id": "z", "cwd": sandbox.root() }).to_string();
    let told = with("issue-42", &["hook", "claude-code", "session-start"], &payload).ok().stdout;
    assert!(told.contains(&open) && !told.contains("run other"), "{told}");
    // Of two that it may be, none is taken.
    start(&sandbox, &["--issue", "42", "--another"]);
    for args in [["resume", "--json"], ["hud", "--json"]] {
        assert_eq!(with("issue-42", &args, "").exits(2).error()["code"], "ambiguous_run", "{args:?}");
    }
}

/// GitLab numbers issues and merge requests apart.
#[test]
fn an_address_names_what_it_is_about_and_not_the_other_thing_of_its_number() {
    let sandbox = Sandbox::new();
    sandbox.git(&["remote", "set-url", "origin", "https://gitlab.com/acme/widgets.git"]);
    sandbox.flow(["start", "review-pr", "--pr", "42", "--id", "review"]).ok();
    let at = |kind: &str| format!("https://gitlab.com/acme/widgets/-/{kind}/42");
    assert!(sandbox.flow(["show", &at("merge_requests")]).ok().stdout.starts_with("active  review\n"));
    sandbox.flow(["block", &at("issues"), "--reason", "x"]).exits(3);
    sandbox.flow(["start", "debug", "--issue", &at("issues"), "--id", "fix"]).ok();
    assert!(sandbox.flow(["show", &at("issues")]).ok().stdout.starts_with("active  fix\n"));
}

#[test]
fn reopen_without_a_name_offers_the_run_that_ended_last() {
    let sandbox = repository();
    sandbox.flow(["init"]).ok();
    let none = sandbox.flow(["reopen"]).exits(3);
    insta::assert_snapshot!(none.stderr, @r"
    error: name the run to reopen
      help: no run has ended
    ");
    start(&sandbox, &["--id", "i1", "--issue", "1"]);
    sandbox.flow(["cancel", "i1"]).ok();
    let offered = sandbox.flow(["reopen"]).exits(2);
    insta::assert_snapshot!(offered.stderr, @r"
    error: name the run to reopen
      help: the one that ended last: `flow reopen i1 --reason 'TEXT'`
    ");
    start(&sandbox, &["--id", "i2", "--issue", "1"]);
    let offered = sandbox.flow(["reopen"]).exits(2);
    insta::assert_snapshot!(offered.stderr, @r"
    error: name the run to reopen
      help: the one that ended last: `flow reopen i1 --another --reason 'TEXT'`
    ");
    let done = sandbox.flow(["resume", "i1", "--json"]).ok().json();
    let command = done["next"]["alternatives"][0]["command"].as_str().unwrap();
    assert_eq!(command, "flow reopen i1 --another --reason 'why'");
    let words = command.replace('\'', "");
    sandbox.flow(words.split(' ').skip(1)).ok();
}

#[test]
fn a_short_name_with_a_wrong_letter_leads_to_the_run() {
    let sandbox = repository();
    let id = start(&sandbox, &["--issue", "142"]);
    for given in ["isue-142", "Issue-124", &id.replace("issue", "isue")] {
        let refused = sandbox.flow(["show", given]).exits(3).stderr;
        assert!(refused.contains(&id), "{given}: {refused}");
    }
}

#[test]
fn the_status_line_prints_a_name_that_works() {
    let sandbox = repository();
    let name = || sandbox.flow(["hud", "--format", "{name}"]).ok().stdout.trim_end().to_owned();
    let first = start(&sandbox, &["--issue", "7"]);
    assert_eq!(name(), "issue-7");
    assert_eq!(shown(&sandbox, &name()), first);
    sandbox.flow(["block", &name(), "--reason", "x"]).ok();
    sandbox.flow(["cancel", &name()]).ok();
    // A second run about the same issue: the end of its id fits both.
    let second = start(&sandbox, &["--issue", "7", "--id", "2031-01-01T000000Z-issue-7"]);
    assert_eq!(name(), second);
    sandbox.flow(["block", &name(), "--reason", "x"]).ok();
}

#[test]
fn every_name_that_a_list_prints_is_taken_by_every_command_for_that_run() {
    let sandbox = repository();
    // The second of each pair makes the short name of the first one useless: as the beginning of its id, as its end, as another
    // run of the same name that is over, and as the name of a run that is not open here.
    let first = start(&sandbox, &["--goal", "fix"]);
    start(&sandbox, &["--id", "fix-two"]);
    let second = start(&sandbox, &["--goal", "cache"]);
    start(&sandbox, &["--id", "hot-cache"]);
    let over = start(&sandbox, &["--issue", "42"]);
    sandbox.flow(["cancel", &over, "--reason", "again"]).ok();
    let third = start(&sandbox, &["--issue", "42"]);
    let alone = start(&sandbox, &["--goal", "alone"]);
    for id in [&first, &second, &third, &alone] {
        sandbox.flow(["block", id, "--reason", "wait"]).ok();
    }
    for face in [&["list"][..], &["list", "--status", "blocked"], &["attention"], &["watch", "--once"]] {
        let text = sandbox.flow(face).ok().stdout;
        for id in [&first, &second, &third] {
            assert!(text.contains(id.as_str()), "{face:?}: {text}");
        }
        assert!(text.contains(" alone ") && !text.contains(&alone), "{face:?}: {text}");
    }
    sandbox.flow(["unblock", "alone", "--reason", "go"]).ok();
    // A beginning is not meant for sure where another open run ends so.
    let refused = sandbox.flow(["cancel", "fix", "--reason", "x", "--json"]).exits(2).error();
    assert_eq!(refused["message"], format!("fix fits several runs: {first}, fix-two"));
    assert_eq!(shown(&sandbox, "fix"), "fix-two");
    sandbox.flow(["cancel", "fix-t", "--reason", "x"]).ok();
}

#[test]
fn a_status_line_tells_of_a_run_that_is_only_a_link() {
    let sandbox = repository();
    sandbox.flow(["init"]).ok();
    std::os::unix::fs::symlink("/nowhere", sandbox.path(".flow/runs/bad")).unwrap();
    assert_eq!(sandbox.flow(["hud"]).ok().stdout, "bad  unreadable\n");
    let told = sandbox.flow(["hud", "--json"]).ok().json();
    assert_eq!(told["unreadable"][0]["run_id"], "bad");
}

#[test]
fn the_status_line_says_when_another_branch_is_checked_out() {
    let sandbox = repository();
    sandbox.git(&["switch", "-qc", "a"]);
    start(&sandbox, &["--issue", "7"]);
    sandbox.git(&["switch", "-qc", "b"]);
    let line = sandbox.flow(["hud"]).ok().stdout;
    assert!(line.starts_with("issue 7 start-issue  issue-7  preflight 1/5  branch a  "), "{line}");
    let brief = sandbox
        .flow_with(["hook", "claude-code", "session-start"], r#"{"session_id":"s","source":"startup"}"#)
        .ok()
        .stdout;
    assert!(brief.contains("the run is about branch a, and b is checked out"), "{brief}");
}

#[test]
fn runs_of_other_worktrees_are_named_and_no_suggestion_is_made_twice() {
    let sandbox = repository();
    start(&sandbox, &["--issue", "7"]);
    sandbox.git(&["worktree", "add", "-q", "-b", "side", ".claude/worktrees/side"]);
    let side = sandbox.root().join(".claude/worktrees/side");
    let there = side.to_str().unwrap();
    let resumed = sandbox.flow(["-C", there, "resume", "--json"]);
    let alternatives = resumed.json()["next"]["alternatives"].clone();
    assert_eq!(alternatives.as_array().unwrap().len(), 1, "{alternatives}");
    sandbox.flow(["-C", there, "start", "debug", "--id", "beside"]).ok();
    for verb in ["list", "attention"] {
        let answer = sandbox.flow([verb]).ok();
        assert!(answer.stdout.contains("in worktree") && answer.stdout.contains("debug  beside"), "{answer:?}");
        assert_eq!(sandbox.flow([verb, "--json"]).ok().json()["worktrees"][0]["runs"][0]["run_id"], "beside");
    }
    let line = sandbox.flow(["hud"]).ok().stdout;
    assert!(line.trim_end().ends_with("+ beside@side"), "{line}");
    for command in [&["show"][..], &["cancel"], &["resume"]] {
        let refused = sandbox.flow([command, &["beside@side", "--json"]].concat()).exits(3).error();
        assert_eq!(refused["code"], "run_not_found");
        let help = refused["help"].as_str().unwrap();
        let way = help.split('`').nth(1).unwrap();
        let words: Vec<_> = way.split(' ').skip(1).collect();
        sandbox.flow(words).ok();
    }
    let broken = start(&sandbox, &["--issue", "8"]);
    std::fs::write(sandbox.run_dir(&broken).join("run.yaml"), "state: [").unwrap();
    let line = sandbox.flow(["hud"]).ok().stdout;
    assert!(line.contains("issue-8  unreadable") && !line.contains(&broken), "{line}");
}

#[test]
fn a_run_of_another_worktree_is_told_and_filtered_as_its_own_worktree_does() {
    let sandbox = repository();
    start(&sandbox, &["--issue", "7", "--id", "own"]);
    sandbox.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let there = |args: &[&str]| sandbox.flow([&["-C", "../side"][..], args].concat()).ok();
    for id in ["asks", "blocked", "failing", "a", "b", "c", "d"] {
        there(&["start", "debug", "--id", id, "--session", id]);
    }
    let asks = ["emit", "--workflow", "debug", "--run-id", "asks", "--type", "waiting_for_user", "--step", "preflight"];
    there(&[&asks[..], &["--data", r#"{"prompt":"Which one?"}"#]].concat());
    let failed = ["--phase", "preflight", "--status", "failed", "--summary", "no memory"];
    there(&[&["record-activity", "--run-id", "failing", "--id", "try", "--session", "failing"], &failed[..]].concat());
    there(&["session-end", "--session", "failing"]);
    let waits = ["--phase", "preflight", "--status", "blocked", "--summary", "no key"];
    there(&[&["record-activity", "--run-id", "blocked", "--id", "try", "--session", "blocked"], &waits[..]].concat());
    // The rows of other worktrees are further to the right, and each command is a second later.
    let rows = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.contains("debug"));
        let words = rows.map(|line| line.split_whitespace().filter(|word| word.parse::<u64>().is_err()));
        words.map(|words| words.collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(rows(&sandbox.flow(["list", "--worktrees"]).ok().stdout), rows(&there(&["list"]).stdout));
    let shown = rows(&sandbox.flow(["attention"]).ok().stdout);
    assert_eq!(shown.len(), 5, "{shown:?}");
    for (row, (id, word)) in shown.iter().zip([("failing", "failing"), ("blocked", "blocked"), ("asks", "question")]) {
        assert!(row.contains(id) && row.contains(word), "{shown:?}");
    }
    for (filter, wanted) in [
        (&["--workflow", "debug", "--search", "no key"][..], &["blocked"][..]),
        (&["--search", "which one"], &["asks"]),
        (&["--status", "failing"], &["failing"]),
        (&["--session", "b"], &["b"]),
        (&["--attention"], &["failing", "blocked", "asks"]),
        (&["--status", "completed"], &[]),
        (&["--workflow", "start-issue"], &[]),
        (&["--limit", "3"], &["d", "c"]),
        (&["--limit", "1"], &[]),
        (&["--limit", "0"], &[]),
    ] {
        let report = sandbox.flow([&["list", "--json"][..], filter].concat()).ok().json();
        let runs = report["worktrees"][0]["runs"].as_array().cloned().unwrap_or_default();
        let named: Vec<_> = runs.iter().map(|run| run["run_id"].as_str().unwrap()).collect();
        assert_eq!(named, wanted, "{filter:?}");
    }
}

#[test]
fn what_flow_prints_has_no_bare_number_sign() {
    let sandbox = repository();
    start(&sandbox, &["--issue", "42", "--goal", "the # of things"]);
    for args in [&["resume"][..], &["attention", "--all"], &["list"], &["hud"], &["cancel", "#43"], &["show", "#43"]] {
        let answer = sandbox.flow(args);
        for line in answer.stdout.lines().chain(answer.stderr.lines()) {
            assert!(!line.contains("flow ") || !line.contains(" #"), "{line}");
        }
    }
}
