//! Names and numbers that nobody should use, and arguments that are no text.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::support::Sandbox;
use crate::support::hostile::{error_object, picture};

/// Names that are unsafe as file names whatever they are for.
fn evil() -> Vec<String> {
    let long = "x".repeat(300);
    let mut names: Vec<String> =
        ["../x", "a/b", "/abs", "a\\b", ".", "..", ".x", "", " ", "a b", "a\nb", "a\r", "a\tb"]
            .map(str::to_owned)
            .to_vec();
    names.extend(
        ["a\u{1b}[31m", "a\u{202e}b", "a\u{200b}b", "a\u{7f}", "~", "$(id)", "a;b", "*", long.as_str()]
            .map(str::to_owned),
    );
    names
}

#[test]
fn evil_ids_are_refused_before_any_file_is_touched() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let before = picture(&sandbox.root());
    for name in evil() {
        for command in [
            vec!["start".to_owned(), "debug".to_owned(), format!("--id={name}")],
            vec!["start".to_owned(), "debug".to_owned(), format!("--session={name}")],
            vec!["start".to_owned(), "debug".to_owned(), format!("--phase={name}")],
            vec!["record-activity".to_owned(), format!("--run-id={run}"), format!("--id={name}")],
            vec!["record-activity".to_owned(), format!("--run-id={run}"), format!("--phase={name}")],
            vec!["record-activity".to_owned(), "--id=x".to_owned(), format!("--advance={name}")],
            vec!["record-activity".to_owned(), "--id=x".to_owned(), format!("--session={name}")],
            vec!["session-end".to_owned(), format!("--session={name}")],
        ] {
            let error = sandbox.refused(&command, 2);
            let message = error["message"].as_str().unwrap();
            let whole = [" id ", "phase "].iter().any(|part| message.contains(part));
            assert!(whole, "{command:?} is cut off: {message:?}");
            assert!(message.len() < 600, "{command:?}: {message}");
        }
        for command in [
            vec!["show".to_owned(), "--".to_owned(), name.clone()],
            vec!["log".to_owned(), "--".to_owned(), name.clone()],
            vec!["resume".to_owned(), format!("--run-id={name}")],
            vec!["record-activity".to_owned(), format!("--run-id={name}"), "--id=x".to_owned()],
            vec!["cancel".to_owned(), format!("--run-id={name}"), "--reason=x".to_owned()],
        ] {
            let answer = sandbox.attack(&command);
            assert!(matches!(answer.code, Some(2 | 3)), "{command:?}: {answer:?}");
            assert!(!answer.stderr.contains(['\u{1b}', '\u{202e}', '\r']), "{command:?}: {answer:?}");
        }
        for command in [["start", "--"], ["list", "--workflow"]] {
            let answer = sandbox.attack(command.map(str::to_owned).into_iter().chain([name.clone()]));
            assert!(matches!(answer.code, Some(0 | 2 | 3)), "{command:?} {name:?}: {answer:?}");
        }
        assert_eq!(picture(&sandbox.root()), before, "{name:?}");
    }
}

#[test]
fn device_names_trailing_dots_and_leading_dashes_are_no_run_ids() {
    let sandbox = Sandbox::new();
    for name in
        ["CON", "con", "aux.yaml", "NUL", "COM1", "lpt9.txt", "run.", "-run", "--", "é", "a".repeat(129).as_str()]
    {
        let error = sandbox.refused(["start".to_owned(), "debug".to_owned(), format!("--id={name}")], 2);
        assert!(error["message"].as_str().unwrap().contains("run id"), "{name}: {error}");
    }
    assert!(!sandbox.path(".flow").exists());
    for name in ["Foo", "foo.bar", "_x", "-x", "a".repeat(201).as_str(), "é"] {
        sandbox.refused(["record-activity".to_owned(), format!("--id={name}")], 2);
    }
    sandbox.attack(["start", "debug", "--id", &"a".repeat(128)]).ok();
    sandbox.attack(["record-activity", "--id", &"a".repeat(200)]).ok();
}

#[test]
fn two_run_ids_that_differ_only_in_case_cannot_both_exist() {
    let sandbox = Sandbox::new();
    sandbox.attack(["start", "debug", "--id", "run-A"]).ok();
    let before = picture(&sandbox.path(".flow/runs"));
    for (twin, code) in [("run-a", 1), ("RUN-A", 1), ("run-A", 1)] {
        let error = sandbox.refused(["start", "debug", "--id", twin], code);
        assert!(error["message"].as_str().unwrap().contains("run-A"), "names the one that is there: {error}");
        assert_eq!(picture(&sandbox.path(".flow/runs")), before);
    }
    let error = sandbox.refused(["show", "run-a"], 3);
    assert_eq!(error["help"], "did you mean run-A? `flow list` shows all runs");
}

#[test]
fn a_slug_keeps_only_what_an_id_may_hold() {
    let sandbox = Sandbox::new();
    for (slug, end) in [("../../etc", "etc"), ("A b\nc", "a-b-c"), ("CON", "con"), ("\u{202e}x", "x")] {
        let run = sandbox.attack(["start", "debug", "--slug", slug]).ok().line().to_owned();
        assert!(run.ends_with(&format!("Z-{end}")), "{slug:?}: {run}");
    }
    let run = sandbox.attack(["start", "debug", "--slug", &"x".repeat(1000)]).ok().line().to_owned();
    assert!(run.len() <= 128, "{run}");
    sandbox.refused(["start", "debug", "--slug", "日本"], 2);
    sandbox.refused(["start", "debug", "--slug", ""], 2);
    // A goal without letters is no reason to refuse a run.
    sandbox.attack(["start", "debug", "--goal", "日本"]).ok();
}

#[test]
fn arguments_that_are_no_text_are_a_usage_error_on_every_option() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let before = picture(&sandbox.root());
    let bad = OsString::from_vec(vec![b'x', 0xff, 0xfe]);
    let joined = |option: &str| {
        let mut arg = OsString::from(option);
        arg.push("=");
        arg.push(&bad);
        arg
    };
    let table: [(&[&str], &[&str]); 7] = [
        (
            &["start", "debug"],
            &["--issue", "--pr", "--goal", "--branch", "--repo", "--journal", "--slug", "--phase", "--session", "--id"],
        ),
        (
            &["record-activity"],
            &[
                "--run-id", "--id", "--phase", "--type", "--status", "--name", "--summary", "--confidence",
                "--evidence", "--file", "--exit-code", "--started-at", "--advance", "--session", "--epoch",
                "--lock-timeout",
            ],
        ),
        (&["cancel", &run], &["--reason", "--session", "--epoch"]),
        (&["resume"], &["--run-id", "--session"]),
        (&["list"], &["--status", "--workflow", "--session", "--since", "--limit"]),
        (&["show", &run], &["--at"]),
        (&["log", &run], &["--after"]),
    ];
    for (command, options) in table {
        for option in options {
            let mut args: Vec<OsString> = command.iter().map(Into::into).collect();
            args.push(joined(option));
            sandbox.refused(&args, 2);
        }
    }
    for command in ["start", "show", "log", "resume", "validate", "complete", "frobnicate"] {
        sandbox.refused([OsStr::new(command), &bad], 2);
    }
    sandbox.refused([&bad], 2);
    // Paths may be any bytes.
    let answer = sandbox.attack([OsStr::new("record-activity"), &joined("--activity-file")]);
    assert!(matches!(answer.code, Some(2 | 3)), "{answer:?}");
    let strange = sandbox.path("..").canonicalize().unwrap().join(OsStr::from_bytes(b"strange-\xff"));
    std::fs::create_dir(&strange).unwrap();
    sandbox.attack([OsStr::new("-C"), strange.as_os_str(), OsStr::new("start"), OsStr::new("debug")]).ok();
    assert!(strange.join(".flow/runs").is_dir());
    assert_eq!(picture(&sandbox.root()), before);
}

#[test]
fn numbers_out_of_range_are_usage_errors_in_words() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let before = picture(&sandbox.root());
    let huge = "99999999999999999999999999";
    for args in [
        ["start", "debug", "--issue", huge],
        ["start", "debug", "--issue", "0"],
        ["start", "debug", "--issue=-1", "--json"],
        ["start", "debug", "--pr", "1e3"],
        ["record-activity", "--id=x", "--epoch", huge],
        ["record-activity", "--id=x", "--epoch=-1", "--json"],
        ["record-activity", "--id=x", "--exit-code", huge],
        ["record-activity", "--id=x", "--exit-code", "1.5"],
        ["show", &run, "--at", huge],
        ["show", &run, "--at=-1", "--json"],
        ["log", &run, "--after", huge],
        ["list", "--limit", "-1", "--json"],
        ["list", "--json", "--lock-timeout", "nan"],
        ["list", "--json", "--lock-timeout", "-1"],
        ["list", "--json", "--lock-timeout", "1e400"],
        ["list", "--json", "--since", "99999999999999999999w"],
        ["list", "--json", "--since", "9999999999999w"],
        ["list", "--json", "--since", "2026-02-30"],
    ] {
        let args: Vec<_> = args.into_iter().filter(|arg| *arg != "--json").collect();
        let error = sandbox.refused(&args, 2);
        let message = error["message"].as_str().unwrap();
        for jargon in ["target type", "digit found in string", "u64", "i64", "premature"] {
            assert!(!message.contains(jargon), "a person cannot know what this means: {message}");
        }
    }
    assert_eq!(picture(&sandbox.root()), before);
}

#[test]
fn the_largest_numbers_that_fit_are_kept_or_refused_but_never_make_a_run_unreadable() {
    let max = u64::MAX.to_string();
    for option in ["--issue", "--pr"] {
        let sandbox = Sandbox::new();
        let answer = sandbox.attack(["start", "debug", option, &max]);
        assert!(matches!(answer.code, Some(0 | 2)), "{option}: {answer:?}");
        if answer.code == Some(0) {
            let run = answer.line().to_owned();
            sandbox.attack(["show", &run]).ok();
            sandbox.attack(["record-activity", "--run-id", &run, "--id", "x"]).ok();
            sandbox.attack(["validate"]).ok();
        }
    }
    for code in [i64::MAX, i64::MIN, -1, 0] {
        let sandbox = Sandbox::new();
        sandbox.start("debug");
        sandbox.attack(["record-activity", "--id", "x", "--exit-code", &code.to_string()]).ok();
        let shown = sandbox.attack(["show", "--json"]).ok().stdout;
        assert!(shown.contains(&code.to_string()) || sandbox.attack(["validate"]).code == Some(0), "{code}: {shown}");
        sandbox.attack(["validate"]).ok();
    }
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.refused(["show", &run, "--at", &max], 3);
    sandbox.refused(["show", &run, "--at", "0"], 3);
    assert_eq!(sandbox.attack(["log", &run, "--after", &max]).ok().stdout, "");
}

#[test]
fn every_form_of_advance_does_what_it_says() {
    let forms: [(&[&str], &str); 4] = [
        (&["--phase", "preflight", "--advance"], "explore"),
        (&["--phase", "preflight", "--advance=explore"], "explore"),
        (&["--advance", "--phase", "preflight"], "explore"),
        (&["--advance", "explore", "--phase", "preflight"], "explore"),
    ];
    for (form, phase) in forms {
        let sandbox = Sandbox::new();
        let run = sandbox.start("start-issue");
        let mut args = vec!["record-activity", "--run-id", &run, "--id", "x", "--json"];
        args.extend(form);
        assert_eq!(sandbox.attack(&args).ok().json()["phase"], phase, "{form:?}");
    }
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let before = picture(&sandbox.root());
    for (to, code) in [("verify", "invalid_transition"), ("explroe", "unknown_phase")] {
        let error = sandbox.refused(["record-activity", "--run-id", &run, "--id", "x", "--advance", to], 1);
        assert_eq!(error["code"], code, "{error}");
    }
    sandbox.refused(["record-activity", "--id=x", "--advance="], 2);
    sandbox.refused(["record-activity", "--id=x", "--advance", "explore", "--advance", "plan"], 2);
    assert_eq!(picture(&sandbox.root()), before);
}

#[test]
fn options_that_exclude_each_other_are_refused_and_missing_ones_are_named() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let before = picture(&sandbox.root());
    for args in [
        ["resume", &run, "--run-id", "other"].as_slice(),
        &["resume", "--claim", "--take-over"],
        &["complete", &run, "--run-id", &run],
        &["list", "--status", "wat"],
        &["list", "-n", "1", "-n", "2"],
        &["start", "debug", "--id", "a", "--id", "b"],
        &["show", &run, &run],
        &["schema", "wat"],
        &["record-activity", "--activity-file"],
        &["record-activity"],
        &["workflow"],
    ] {
        let error = sandbox.refused(args, 2);
        assert_eq!(error["code"], "usage", "{args:?}: {error}");
        assert!(!error["message"].as_str().unwrap().ends_with(':'), "half a sentence: {error}");
    }
    for (args, missing) in
        [(["start"].as_slice(), "WORKFLOW"), (&["workflow", "show"], "NAME"), (&["schema"], "DOCUMENT")]
    {
        let error = sandbox.refused(args, 2);
        assert!(error.to_string().contains(missing), "{args:?} does not say what is missing: {error}");
    }
    assert_eq!(picture(&sandbox.root()), before);
}

#[test]
fn an_error_is_one_json_object_also_when_the_arguments_are_wrong_before_json_is_seen() {
    let sandbox = Sandbox::new();
    for args in [["--wat", "--json"], ["--json", "--wat"], ["show", "--json"], ["--json", "nothing"]] {
        error_object(&sandbox.attack(args));
    }
    // A value that looks like the option is a value.
    let answer = sandbox.attack(["start", "debug", "--goal", "--json"]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
}

#[test]
fn the_environment_is_checked_like_arguments() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let before = picture(&sandbox.root());
    for (name, value) in [
        ("FLOW_SESSION", OsString::from("../x")),
        ("FLOW_SESSION", OsString::from_vec(vec![0xff])),
        ("FLOW_EPOCH", "-1".into()),
        ("FLOW_EPOCH", "99999999999999999999999".into()),
        ("FLOW_LOCK_TIMEOUT", "soon".into()),
        ("FLOW_LOCK_TIMEOUT", "nan".into()),
    ] {
        let mut command = sandbox.flow_command();
        command.args(["record-activity", "--run-id", &run, "--id", "x", "--json"]).env(name, &value);
        let answer = crate::support::hostile::sane(crate::support::run(command, "")).exits(2);
        assert!(error_object(&answer)["message"].as_str().unwrap().contains(name), "{name} {value:?}: {answer:?}");
        assert_eq!(picture(&sandbox.root()), before, "{name} {value:?}");
    }
}
