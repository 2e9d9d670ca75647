//! What people type and write who know other tools, and what flow answers.

use serde_json::json;

use crate::support::Sandbox;

/// A row of a report in a batch.
fn row(step: &str, status: &str) -> String {
    json!({ "type": "status_change", "step": step, "data": { "status": status } }).to_string()
}

#[test]
fn a_batch_is_read_from_a_file_from_standard_input_or_from_the_command_line() {
    let sandbox = Sandbox::new();
    let lines = format!("{}\n{}\n", row("requirements", "running"), row("requirements", "completed"));
    std::fs::write(sandbox.path("reports.jsonl"), &lines).unwrap();
    let emit = |run: &str, batch: &str, input: &str| {
        sandbox.flow_with(["emit", "--workflow", "build", "--run-id", run, "--batch", batch], input)
    };
    for (run, batch, input) in [
        ("r1", "reports.jsonl", ""),
        ("r2", "-", lines.as_str()),
        ("r3", lines.as_str(), ""),
        ("r4", &format!(" [{}]", row("requirements", "running")), ""),
    ] {
        let report = emit(run, batch, input).ok().json();
        assert_eq!(report["data"]["phase"], "requirements", "{batch}");
    }
    let missing = emit("r5", "nope.jsonl", "").exits(3).stderr;
    assert_eq!(missing, "Error: cannot read nope.jsonl\n  cause: No such file or directory\n  help: check the path\n");
    assert!(!sandbox.path(".flow/runs/r5").exists());
}

#[test]
fn json_without_its_quotation_marks_is_answered_with_how_to_write_it() {
    let sandbox = Sandbox::new();
    let emit = |data: &str| {
        let line =
            ["emit", "--workflow", "build", "--run-id", "r1", "--type", "status_change", "--step", "requirements"];
        sandbox.flow(line.into_iter().chain(["--data", data])).exits(2).stderr
    };
    let help = r#"write it in single quotes: --data '{"status":"running"}'"#;
    for (data, why) in [
        ("{status:running}", "the quotation marks around keys and texts are missing; "),
        ("{'status': 'running'}", "JSON has double quotation marks around keys and texts; "),
        (r#"{"status":"#, ""),
    ] {
        let told = format!("Error: --data must be valid JSON. Received: {data}\n  help: {why}{help}\n");
        assert_eq!(emit(data), told);
    }
}

#[test]
fn a_step_that_only_an_agent_has_is_answered_with_the_agents_name() {
    let sandbox = Sandbox::new();
    let emit = |step: &str| {
        let line = ["emit", "--workflow", "build", "--run-id", "r1", "--type", "status_change", "--unit", "T1"];
        sandbox.flow(line.into_iter().chain(["--data", r#"{"status":"running"}"#, "--step", step]))
    };
    for (step, meant) in [("building", "task-builder:building"), ("reviewing", "task-reviewer:reviewing")] {
        let told = emit(step).exits(1).stderr;
        assert!(told.contains(&format!("\n  help: did you mean `{meant}`?")), "{told}");
        emit(meant).ok();
    }
}

#[test]
fn short_forms_of_commands_are_understood_and_never_shown() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    // The lines of people have an age, and the clock goes on.
    assert_eq!(sandbox.flow(["ls", "--json"]).ok().stdout, sandbox.flow(["list", "--json"]).ok().stdout);
    assert_eq!(sandbox.flow(["status", &run]).ok().stdout, sandbox.flow(["resume", &run]).ok().stdout);
    assert_eq!(sandbox.flow(["help", "ls"]).ok().stdout, sandbox.flow(["list", "--help"]).ok().stdout);
    sandbox.flow(["record", "--id", "a", "--summary", "done"]).ok();
    let unknown = sandbox.flow(["record", "--id", "b", "--bogus"]).exits(2).stderr;
    assert!(unknown.ends_with("try 'flow record-activity --help'.\n"), "{unknown}");
    let near = sandbox.flow(["lss"]).exits(2).stderr;
    insta::assert_snapshot!(near, @r"
    error: unrecognized subcommand 'lss'

      tip: did you mean `flow list`?

    Usage: flow [OPTIONS] <COMMAND>

    For more information, try 'flow --help'.
    ");
    let help = sandbox.flow(["help"]).ok().stdout;
    for short in ["  ls ", "  record ", "  status "] {
        assert!(!help.contains(short), "{short}");
    }
}

#[test]
fn a_tip_names_the_option_for_a_word_and_none_that_is_given() {
    let sandbox = Sandbox::new();
    for (line, meant) in [
        (&["fork", "r", "5"][..], "did you mean `--at 5`?"),
        (&["fork", "r", "other"], "did you mean `--id other`?"),
        (&["fork", "r", "5", "--at", "4"], ""),
        (&["emit", "--run-id", "q", "--step", "s", "{\"a\":1}"], "did you mean `--data '{\"a\":1}'`?"),
        (&["emit", "--run-id", "q", "x"], ""),
        (&["record-activity", "x"], "did you mean `--run-id x`?"),
        (&["record-activity", "--run-id", "r", "x"], "did you mean `--id x`?"),
        (&["record-activity", "--run-id=r", "--id=x", "y"], "did you mean `--summary y`?"),
        (&["list", "--search", "a", "b"], ""),
        (&["mode", "end", "team"], "did you mean `flow mode cancel`?"),
    ] {
        let told = sandbox.flow(line).exits(2).stderr;
        match meant {
            "" => assert!(!told.contains("did you mean"), "{line:?}: {told}"),
            meant => assert!(told.contains(meant), "{line:?}: {told}"),
        }
    }
}

#[test]
fn words_of_other_tools_are_told_and_not_carried_out() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    for (line, meant) in [
        (["new", "debug"], "did you mean `flow start`?"),
        (["run", "debug"], "did you mean `flow start`?"),
        (["begin", "debug"], "did you mean `flow start`?"),
        (["done", &run], "did you mean `flow complete`?"),
        (["finish", &run], "did you mean `flow complete`?"),
    ] {
        let told = sandbox.flow(line).exits(2).stderr;
        assert!(told.contains(&format!("\n  tip: {meant}\n")) && told.ends_with("try 'flow --help'.\n"), "{told}");
        let error = sandbox.flow(["--json"].into_iter().chain(line)).exits(2).error();
        assert!(error["help"].as_str().unwrap().starts_with(meant), "{error}");
    }
    let listed = sandbox.flow(["list", "--json"]).ok().json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1);
    assert_eq!(listed["runs"][0]["status"], "active");
    let told = sandbox.flow(["block", "--reason", "needs", "review"]).exits(3).stderr;
    assert!(told.ends_with("help: quote the text if it is a part of it: `--reason 'needs review'`\n"), "{told}");
    let told = sandbox.flow(["block", "no access"]).exits(2).stderr;
    assert!(told.ends_with("help: did you mean `flow block --reason 'no access'`?\n"), "{told}");
    let told = sandbox.flow(["advance", "fix"]).exits(3).stderr;
    let meant = "help: `flow list` shows all runs; or did you mean `flow advance --to fix`?\n";
    assert!(told.ends_with(meant), "{told}");
}

#[test]
fn a_file_that_is_not_there_is_told_once_and_in_plain_words() {
    let sandbox = Sandbox::new();
    let cause = "  cause: No such file or directory\n  help: check the path\n";
    for (line, message) in [
        (vec!["workflow", "check", "nope.yaml"], "cannot read nope.yaml"),
        (vec!["-C", "/no-such-place", "list"], "cannot read /no-such-place"),
        (vec!["serve", "/no-such-place"], "cannot read /no-such-place"),
    ] {
        assert_eq!(sandbox.flow(&line).exits(3).stderr, format!("error: {message}\n{cause}"), "{line:?}");
    }
}

#[test]
fn what_set_changed_stands_in_one_column() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    let shown = sandbox.flow(["set", &run, "--goal", "no crash", "--limit", "max_iterations=3"]).ok().stdout;
    let columns: Vec<usize> = shown
        .lines()
        .skip(1)
        .map(|line| line.len() - line.trim_start().split_once(' ').unwrap().1.trim_start().len())
        .collect();
    assert!(columns.len() > 2 && columns.windows(2).all(|pair| pair[0] == pair[1]), "{shown}");
}

#[test]
fn an_everyday_heading_disables_no_workflow_and_damages_no_project() {
    let sandbox = Sandbox::new();
    sandbox.start("start-issue");
    let skill = |name: &str, text: &str| {
        let dir = sandbox.path(format!(".claude/skills/{name}"));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("SKILL.md"), text).unwrap();
    };
    skill("debug", "---\nname: debug\n---\n# D\n\n## State Tracking\n\nNote progress in notes.md.\n");
    skill("release", "# R\n\n## State Machine\n\n```\n[idle] --> [busy]\n```\n");
    sandbox.flow(["start", "debug"]).ok();
    sandbox.flow(["start", "release"]).ok();
    sandbox.flow(["doctor"]).ok();
    skill("merge-pr", "# M\n\n## State machine\n\n```mermaid\nstateDiagram-v2\n[*] --> a\na --> [*]\n```\n");
    let told = sandbox.flow(["start", "merge-pr"]).exits(1).stderr;
    insta::assert_snapshot!(sandbox.masked(&told), @r"
    error: the workflow in ROOT/.claude/skills/merge-pr/SKILL.md cannot be used: line 3: `## State machine` is not the heading of a state machine
      help: `flow workflow check ROOT/.claude/skills/merge-pr/SKILL.md` shows where
    ");
}

#[test]
fn a_workflow_of_another_system_is_told_in_one_sentence() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path(".flow/workflows")).unwrap();
    let text = "name: CI\non: [push]\njobs:\n  build:\n    runs-on: ubuntu-latest\n";
    std::fs::write(sandbox.path(".flow/workflows/ci.yaml"), text).unwrap();
    let sentence = "this looks like a GitHub Actions workflow, not a workflow of flow: that has `phases:`, or `initial:` and `states:`";
    let checked = sandbox.flow(["workflow", "check", ".flow/workflows/ci.yaml", "--json"]).exits(1).json();
    let told = checked["diagnostics"].as_array().unwrap();
    assert_eq!((told.len(), &told[0]["code"], &told[0]["message"]), (1, &json!("foreign_workflow"), &json!(sentence)));
    let how = |shipped: &str| {
        format!(
            "  help: `flow help workflows` shows how to write one, and `flow workflow show {shipped} --source` prints one\n"
        )
    };
    for args in [&["start", "ci"][..], &["workflow", "show", "ci"]] {
        let told = sandbox.flow(args).exits(1).stderr;
        assert!(told.contains(sentence) && told.ends_with(&how("debug")), "{told}");
    }
    // The one that it names is another one than the one that is at fault.
    std::fs::write(sandbox.path(".flow/workflows/debug.workflow.yaml"), text).unwrap();
    assert!(sandbox.flow(["workflow", "show", "debug", "--source"]).exits(1).stderr.ends_with(&how("release")));
    sandbox.flow(["workflow", "show", "release", "--source"]).ok();
    std::fs::remove_file(sandbox.path(".flow/workflows/debug.workflow.yaml")).unwrap();
    let listed = sandbox.flow(["workflow", "list"]).ok().stdout;
    assert!(listed.contains(sentence), "{listed}");
}

#[test]
fn an_apostrophe_is_told_in_every_document() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    let told = "the apostrophe in `it's` ends a text in single quotes; write it twice (`it''s`)";
    std::fs::write(sandbox.path("a.yaml"), "result:\n  summary: 'it's done'\n").unwrap();
    let record = sandbox.flow(["record-activity", "--activity-file", "a.yaml"]).exits(1).stderr;
    insta::assert_snapshot!(record, @r"
    error: a.yaml:2:16 is not valid YAML: the apostrophe in `it's` ends a text in single quotes; write it twice (`it''s`)
      help: or give the text with --summary; nothing was recorded
    ");
    std::fs::write(sandbox.path("w.yaml"), "initial: a\nstates:\n  a: {type: terminal, description: 'it's done'}\n")
        .unwrap();
    assert!(sandbox.flow(["workflow", "check", "w.yaml"]).exits(1).stdout.contains(told));
    std::fs::write(sandbox.path(".flow/config.yaml"), "state_types: ['it's']\n").unwrap();
    assert!(sandbox.flow(["workflow", "list"]).exits(1).stderr.contains(told));
    std::fs::remove_file(sandbox.path(".flow/config.yaml")).unwrap();
    let text = sandbox.read(&run, "run.yaml").replace("branch: main", "branch: 'it's'");
    std::fs::write(sandbox.run_dir(&run).join("run.yaml"), text).unwrap();
    assert!(sandbox.flow(["validate"]).exits(1).stdout.contains(told));
}
