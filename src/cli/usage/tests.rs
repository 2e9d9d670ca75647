use clap::Parser as _;

use super::*;

fn told(words: &[&str]) -> String {
    let args: Vec<OsString> = words.iter().map(OsString::from).collect();
    explained(&Cli::try_parse_from(&args).unwrap_err(), &args).text
}

/// Lines that the parser refuses, the guess, and the command whose help is named.
const GUESSES: &[(&[&str], &str, &str)] = &[
    (&["flow", "new", "debug"], "did you mean `flow start`?", "flow --help"),
    (&["flow", "answer", "yes"], "did you mean `flow interview answer`?", "flow --help"),
    (&["flow", "archive"], "did you mean `flow prune`?", "flow --help"),
    (&["flow", "tail"], "did you mean `flow log --follow`?", "flow --help"),
    (&["flow", "undo"], "did you mean `flow reopen`?", "flow --help"),
    (&["flow", "finish"], "did you mean `flow complete`?", "flow --help"),
    (&["flow", "start", "start-issue", "42"], "did you mean `--issue 42`?", "flow start --help"),
    (&["flow", "start", "start-issue", "#42"], "did you mean `--issue 42`?", "flow start --help"),
    (&["flow", "start", "start-issue", "PROJ-1"], "did you mean `--issue PROJ-1`?", "flow start --help"),
    (
        &["flow", "start", "start-issue", "https://example.com/issues/7"],
        "did you mean `--issue https://example.com/issues/7`?",
        "flow start --help",
    ),
    (&["flow", "record-activity", "r1"], "did you mean `--run-id r1`?", "flow record-activity --help"),
    (
        &["flow", "record-activity", "all", "is", "green"],
        "did you mean `--summary 'all is green'`?",
        "flow record-activity --help",
    ),
    (&["flow", "emit", "r1"], "did you mean `--run-id r1`?", "flow emit --help"),
    (&["flow", "start", "debug", "fix", "the", "crash"], "did you mean `--goal 'fix the crash'`?", "flow start --help"),
    (
        &["flow", "block", "--reason", "waiting", "for", "access"],
        "quote the text: `--reason 'waiting for access'`",
        "flow block --help",
    ),
    (
        &["flow", "record-activity", "--id", "a", "--summary", "all", "is", "green", "--json"],
        "quote the text: `--summary 'all is green'`",
        "flow record-activity --help",
    ),
    (&["flow", "exec", "echo", "hi"], "did you mean `flow exec -- echo hi`?", "flow exec --help"),
    (&["flow", "fork", "r1", "r2"], "did you mean `--id r2`?", "flow fork --help"),
    (
        &["flow", "record-activity", "--id", "a", "--status", "done"],
        "did you mean `passed`?",
        "flow record-activity --help",
    ),
    (
        &["flow", "record-activity", "--id", "a", "--status", "success"],
        "did you mean `passed`?",
        "flow record-activity --help",
    ),
    (&["flow", "start", "debug", "issue", "42"], "did you mean `--issue 42`?", "flow start --help"),
    (
        &["flow", "record-activity", "43", "--summary", "s"],
        "did you mean `--run-id 43`?",
        "flow record-activity --help",
    ),
    (&["flow", "block", "r1", "no", "access"], "did you mean `--reason 'no access'`?", "flow block --help"),
    (&["flow", "advance", "r1", "fix"], "did you mean `--to fix`?", "flow advance --help"),
    (&["flow", "list", "crash"], "did you mean `--search crash`?", "flow list --help"),
    (&["flow", "hooks", "install", "claude-code"], "did you mean `--host claude-code`?", "flow hooks install --help"),
    (&["flow", "hooks", "status", "codex"], "did you mean `--host codex`?", "flow hooks status --help"),
    (
        &["flow", "setup", "codex", "--undo"],
        "`flow setup --undo` takes it out of all hosts; `flow hooks uninstall --host codex --scope project` takes \
         the hooks out of one",
        "flow setup --help",
    ),
    (&["flow", "hooks", "list"], "did you mean `flow hooks status`?", "flow hooks --help"),
    (&["flow", "exec", "ls", "-l"], "did you mean `flow exec -- ls -l`?", "flow exec --help"),
    (&["flow", "doctor", "--fix"], "did you mean `--repair`?", "flow doctor --help"),
    (&["flow", "log", "-n", "3"], "did you mean `--limit`?", "flow log --help"),
    (&["flow", "help", "strt"], "did you mean `flow help start`?", "flow --help"),
    (&["flow", "help", "beads"], "did you mean `flow help todo`?", "flow --help"),
    (&["flow", "help", "just"], "did you mean `flow help make`?", "flow --help"),
    (&["flow", "schema", "rn"], "did you mean `run`?", "flow schema --help"),
    (&["flow", "setup", "claud"], "did you mean `claude-code`?", "flow setup --help"),
    (
        &["flow", "export"],
        "--format <FORMAT> is one of mermaid, gantt, svg, html, chrome-trace, cloudevents, otlp-json, in-toto",
        "flow export --help",
    ),
    (
        &["flow", "schema"],
        "<DOCUMENT> is one of run, activity, workflow, modes, interview, interview-reply, event",
        "flow schema --help",
    ),
    (&["flow", "list", "--status", "open"], "did you mean `active`?", "flow list --help"),
    (&["flow", "list", "--status", "running"], "did you mean `active`?", "flow list --help"),
    (&["flow", "list", "--format", "json"], "did you mean `--json`?", "flow list --help"),
    (&["flow", "version"], "did you mean `flow --version`?", "flow --help"),
    (&["flow", "comment", "done"], "did you mean `flow record-activity`?", "flow --help"),
    (&["flow", "upgrade"], "install the new version as this one was; `flow --version` says which it is", "flow --help"),
    (&["flow", "list", "--status", "done"], "did you mean `completed`?", "flow list --help"),
    (&["flow", "-C", "x", "lsit"], "did you mean `flow list`?", "flow --help"),
    (&["flow", "workflow", "lst"], "did you mean `flow workflow list`?", "flow workflow --help"),
];

#[test]
fn an_error_of_the_parser_says_what_was_probably_meant_and_where_the_help_is() {
    for (line, tip, help) in GUESSES {
        let text = told(line);
        assert!(text.contains(&format!("\n\n  tip: {tip}\n\n")), "{text}");
        assert_eq!(text.matches("tip:").count(), 1, "{text}");
        assert!(text.ends_with(&format!("For more information, try '{help}'.\n")), "{text}");
    }
}

#[test]
fn of_a_wrong_command_the_right_one_is_known_below_another_too() {
    for (names, meant) in [
        (&["strat"][..], Some("start")),
        (&["workflow", "chek"], Some("workflow check")),
        (&["archive"], Some("prune")),
        (&["workflow", "create"], Some("workflow new")),
        (&["zzz"], None),
        (&["start"], None),
    ] {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(command_meant(&names).as_deref(), meant, "{names:?}");
    }
}

#[test]
fn an_error_without_a_guess_keeps_the_parsers_words() {
    for (line, words) in [
        (&["flow", "list", "--limit", "abc"][..], "give a whole number\n"),
        (&["flow", "log", "--limit", "abc"], "give a whole number\n"),
        (&["flow", "serve", "--port", "80x"], "give a port from 1 to 65535\n"),
        (&["flow", "serve", "--port", "70000"], "give a port from 1 to 65535\n"),
        (&["flow", "workflow", "check"], "try 'flow workflow check --help'"),
        (&["flow", "show", "--bogus"], "try 'flow show --help'"),
        (&["flow", "complete", "--force"], "try 'flow complete --help'"),
        (&["flow", "unlink"], "try 'flow --help'"),
    ] {
        let text = told(line);
        assert!(text.contains(words) && !text.contains("as a value") && !text.contains("subcommand exists"), "{text}");
    }
}
