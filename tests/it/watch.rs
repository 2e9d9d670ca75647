//! `watch`: what is printed and drawn, and that the terminal is given back.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Person, Sandbox, has_terminals};

/// A project with a run that waits and one that can go on.
fn demo() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1", "--goal", "find it"]).ok();
    sandbox.record("r1", "preflight", "look");
    sandbox.flow(["block", "r1", "--reason", "no \u{1b}[31maccess"]).ok();
    sandbox.flow(["start", "debug", "--id", "r2"]).ok();
    sandbox
}

fn watch(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.flow_command();
    command.arg("watch").args(args);
    command
}

/// A program that is killed at the end, and the lines that it prints.
struct Printer {
    child: Child,
    lines: Option<BufReader<std::process::ChildStdout>>,
}

impl Printer {
    fn of(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = watch(sandbox, args);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = child.stdout.take().map(BufReader::new);
        Self { child, lines }
    }

    fn line(&mut self) -> Value {
        let mut text = String::new();
        self.lines.as_mut().unwrap().read_line(&mut text).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_runs_are_printed_once_as_plain_text() {
    let sandbox = demo();
    let page = sandbox.flow(["watch", "--once"]).ok().stdout;
    let lines: Vec<_> = page.lines().collect();
    assert_eq!(lines[..3], ["1 run needs you", "", "▲ Waits for you 1"], "{page}");
    assert!(lines[3].starts_with("  ▲ blocked  find it  r1  preflight 1/5  "), "{page}");
    assert!(lines[3].ends_with("  no \u{fffd}[31maccess"), "{page}");
    insta::assert_snapshot!(page, @r"
    1 run needs you

    ▲ Waits for you 1
      ▲ blocked  find it  r1  preflight 1/5  4 s  no �[31maccess

    ◦ Can go on 1
      ◦ ready    debug    r2  preflight 1/5  3 s  nothing is completed in `preflight` yet
    ");
    assert!(!page.contains('\u{1b}'), "{page:?}");
    let found = sandbox.flow(["watch", "--once", "--search", "access"]).ok().stdout;
    insta::assert_snapshot!(found, @r"
    1 run that matches needs you

    ▲ Waits for you 1
      ▲ blocked  find it  r1  preflight 1/5  5 s  no �[31maccess
    ");
    let none = sandbox.flow(["watch", "--once", "--workflow", "build"]).ok().stdout;
    insta::assert_snapshot!(none, @r"
    No run that matches needs you

    ▲ Waits for you 0
      No run here matches the search. `flow start WORKFLOW` begins one.
    ");
    let run = sandbox.flow(["watch", "--once", "--run-id", "r1"]).ok().stdout;
    for part in
        ["▲ Waits for you\n", "  $ flow unblock r1 ", "Timeline", " 001  ✓ passed", "passed           001 look passed"]
    {
        assert!(run.contains(part), "{part}: {run}");
    }
    assert!(!run.contains('\u{1b}'), "{run:?}");
    let name = sandbox.root().file_name().unwrap().to_owned();
    let mut there = sandbox.flow_command();
    there.arg("watch").arg(name).arg("--once").current_dir(sandbox.path(".."));
    let there = crate::support::run(there, "").ok().stdout;
    assert!(there.starts_with("1 run needs you\n"), "{there}");
}

#[test]
fn signs_are_those_of_ascii_in_a_locale_without_utf_8() {
    let sandbox = demo();
    let mut plain = sandbox.flow_command();
    plain.args(["watch", "--once"]).env("LC_ALL", "C");
    let page = crate::support::run(plain, "").ok().stdout;
    insta::assert_snapshot!(page, @r"
    1 run needs you

    ! Waits for you 1
      ! blocked  find it  r1  preflight 1/5  4 s  no �[31maccess

    - Can go on 1
      - ready    debug    r2  preflight 1/5  3 s  nothing is completed in `preflight` yet
    ");
}

#[test]
fn a_printed_page_has_the_columns_that_the_environment_names() {
    let sandbox = demo();
    let mut narrow = sandbox.flow_command();
    narrow.args(["watch", "--once"]).env("COLUMNS", "40");
    let page = crate::support::run(narrow, "").ok().stdout;
    assert!(page.lines().all(|line| line.chars().count() <= 40), "{page}");
    // Lists take the locale's characters as well, also where a program reads them.
    sandbox.flow(["start", "debug", "--id", "r9", "--goal", "wait → go on"]).ok();
    for args in [&["attention", "--all"][..], &["list"]] {
        let mut plain = sandbox.flow_command();
        plain.args(args).env("LC_ALL", "C");
        let page = crate::support::run(plain, "").ok().stdout;
        assert!(page.is_ascii() && page.contains("wait > go on"), "{page}");
    }
}

#[test]
fn a_reader_is_told_of_every_change_and_its_end_ends_the_program() {
    for poll in [&[][..], &["--poll"]] {
        let sandbox = demo();
        let mut printer = Printer::of(&sandbox, &[&["--json"], poll].concat());
        let snapshot = printer.line();
        assert_eq!((&snapshot["type"], snapshot["cards"]["groups"].as_array().unwrap().len()), (&json!("snapshot"), 6));
        assert_eq!(snapshot["cards"]["groups"][0]["cards"][0]["run_id"], "r1");
        let once = sandbox.flow(["watch", "--once", "--json"]).ok().json();
        assert_eq!(once["type"], "snapshot");
        sandbox.flow(["unblock", "r1"]).ok();
        let change = printer.line();
        assert_eq!((&change["type"], &change["card"]["run_id"]), (&json!("run"), &json!("r1")));
        assert_eq!(change["card"]["group"], "can_go_on");
        std::fs::remove_dir_all(sandbox.run_dir("r2")).unwrap();
        let mut gone = printer.line();
        // One whose files go one after the other is still there for a moment, and another one than it was.
        while gone["card"]["run_id"] == "r2" {
            gone = printer.line();
        }
        assert_eq!(gone, json!({ "type": "gone", "run": "r2" }));
        printer.lines = None;
        let until = Instant::now() + Duration::from_secs(30);
        let status = loop {
            if let Some(status) = printer.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "it goes on without a reader");
            thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(status.code(), Some(0));
    }
}

#[test]
fn only_the_runs_that_were_asked_for_are_told() {
    let sandbox = demo();
    let mut printer = Printer::of(&sandbox, &["--json", "--run-id", "r1"]);
    let snapshot = printer.line();
    let totals = snapshot["cards"]["groups"].as_array().unwrap().iter().map(|group| group["total"].as_u64().unwrap());
    assert_eq!(totals.sum::<u64>(), 1);
    sandbox.flow(["block", "r2", "--reason", "too"]).ok();
    sandbox.flow(["cancel", "r1", "--reason", "enough"]).ok();
    let change = printer.line();
    assert_eq!((&change["card"]["run_id"], &change["card"]["group"]), (&json!("r1"), &json!("over")));
    let mut printer = Printer::of(&sandbox, &["--json", "--search", "too"]);
    assert_eq!(printer.line()["cards"]["groups"][0]["cards"][0]["run_id"], "r2");
    sandbox.flow(["unblock", "r2"]).ok();
    assert_eq!(printer.line(), json!({ "type": "gone", "run": "r2" }));
}

#[test]
fn where_no_terminal_is_the_screen_is_refused_in_one_sentence() {
    let sandbox = demo();
    let answer = sandbox.flow(["watch"]).exits(2);
    assert_eq!(answer.stdout, "");
    insta::assert_snapshot!(answer.stderr, @r"
    error: `flow watch` draws on a terminal, and standard output is not one: use `--once` or `--json`
      help: `--once` prints the runs as they are, `--json` a line for each change
    ");
    let none = sandbox.flow(["watch", "--once", "--run-id", "nothing", "--json"]).exits(3);
    assert_eq!(none.error()["code"], "run_not_found");
}

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

#[test]
fn keys_open_a_run_copy_its_command_and_leave_the_terminal_as_it_was() {
    if !has_terminals("watch") {
        return;
    }
    let sandbox = demo();
    sandbox.flow(["start", "debug", "--id", "r3"]).ok();
    let mut person = Person::before(&watch(&sandbox, &[]));
    person.resizes(90, 24).shows(ENTER);
    person.types("k").shows("Waits for you").shows("r1");
    assert!(!person.has_usual_modes());
    sandbox.flow(["block", "r2", "--reason", "also"]).ok();
    person.shows("also");
    person.types("\r").shows("Timeline");
    // Whether to unblock it or to give it up is for the person to decide.
    person.types("y").shows("nothing copied: which command is right depends");
    // `flow record-activity --run-id r3…`
    person.types("qGy").shows("\u{1b}]52;c;ZmxvdyByZWNvcmQtYWN0aXZpdHkgLS1ydW4taWQgcjM").shows("copied 1 of ");
    assert_eq!(person.seen().matches("\u{1b}]52;c;").count(), 1);
    person.types("q");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
    let seen = person.seen();
    let shown = seen.rfind(LEAVE).expect("the alternate screen is left");
    assert!(seen[shown..].contains("\u{1b}[?25h"), "the cursor is shown: {:?}", &seen[shown..]);
    assert!(!seen.contains("\u{1b}[?1000h") && !seen.contains("\u{1b}[31maccess"), "{seen:?}");
    assert!(person.has_usual_modes());
}

#[test]
fn a_person_unblocks_a_run_with_a_key_and_a_confirmation() {
    if !has_terminals("watch") {
        return;
    }
    let sandbox = demo();
    let mut person = Person::before(&watch(&sandbox, &[]));
    person.resizes(100, 60).shows(ENTER).shows("Waits for you").shows("r1");
    person.types("u").shows("what was resolved");
    person.types("here it is\r").shows("Unblock r1");
    // Any other key than the one that is named.
    person.types("n").shows("nothing was done");
    assert_eq!(sandbox.flow(["show", "r1", "--json"]).ok().json()["state"]["status"], "blocked");
    person.types("u").shows("resolved");
    person.types("here it is\ry").shows("done: unblock");
    let log = sandbox.flow(["log", "r1", "--json"]).ok().json();
    let last = log["events"].as_array().unwrap().last().unwrap();
    assert_eq!([&last["type"], &last["reason"]], ["run_unblocked", "here it is"]);
    person.types("qq");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
}

#[test]
fn a_claim_is_told_as_done_only_if_it_was_written_and_only_about_what_was_seen() {
    if !has_terminals("watch") {
        return;
    }
    let sandbox = demo();
    let log = |run: &str| sandbox.flow(["log", run, "--json"]).ok().json()["events"].as_array().unwrap().clone();
    // Without a session there is none for which a run could be claimed.
    let mut person = Person::before(&watch(&sandbox, &["--run-id", "r2"]));
    person.resizes(160, 60).shows(ENTER).shows("cancel");
    person.types("c").shows("session (FLOW_SESSION),");
    person.types("qq");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
    assert_eq!(log("r2").len(), 1);
    let mut command = watch(&sandbox, &["--run-id", "r2"]);
    command.env("FLOW_SESSION", "tuesday");
    let mut person = Person::before(&command);
    person.resizes(160, 60).shows(ENTER).shows(" claim  ");
    person.types("c").shows("Claim r2?");
    // Another one moves the run between the key and the confirmation.
    sandbox.record("r2", "preflight", "look");
    // The screen draws words that changed, and no blanks.
    person.types("y").shows("nothing was done:").shows("moved");
    assert_eq!(log("r2").len(), 2);
    person.types("cy").shows("done:").shows("claim");
    assert_eq!(log("r2")[2]["type"], "run_claimed");
    person.types("c").shows("is nothing");
    person.types("qq");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
    // From the session that holds it the run is taken, also while that is at work.
    let mut command = watch(&sandbox, &["--run-id", "r2"]);
    command.env("FLOW_SESSION", "wednesday");
    let mut person = Person::before(&command);
    person.resizes(160, 60).shows(ENTER).shows(" take over  ");
    person.types("c").shows("Take r2 over from session tuesday?");
    person.types("y").shows("done:");
    assert_eq!(log("r2")[3]["session"], "wednesday");
    person.types("qq");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
}

#[test]
fn an_answer_to_an_interview_is_refused_when_the_run_has_moved_on() {
    if !has_terminals("watch") {
        return;
    }
    let sandbox = demo();
    sandbox.flow(["interview", "start", "docs/plan.md", "--run-id", "r2"]).ok();
    let mut person = Person::before(&watch(&sandbox, &["--run-id", "r2"]));
    person.resizes(160, 60).shows(ENTER).shows(" answer  ");
    person.types("aA task app\r").shows("Write this answer to question 1 into docs/plan.md,");
    sandbox.flow(["set", "r2", "--goal", "another"]).ok();
    person.types("y").shows("nothing was done:").shows("moved");
    let status = sandbox.flow(["interview", "status", "docs/plan.md", "--json"]).ok().json();
    assert_eq!(status["entries"], json!([]));
    person.types("qq");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
}

#[test]
fn a_person_answers_a_question_of_an_interview_with_a_key() {
    if !has_terminals("watch") {
        return;
    }
    let sandbox = demo();
    sandbox.flow(["interview", "start", "docs/plan.md", "--run-id", "r2"]).ok();
    let mut person = Person::before(&watch(&sandbox, &["--run-id", "r2"]));
    person.resizes(120, 60).shows(ENTER).shows(" answer  ");
    person.types("a").shows("answer");
    person.types("A task app\r").shows("Write this answer to question 1 into docs/plan.md,");
    person.types("y").shows("done: answer r2");
    let status = sandbox.flow(["interview", "status", "docs/plan.md", "--json"]).ok().json();
    assert_eq!(status["entries"][0]["answer"], "A task app");
    assert_eq!(status["next"]["metadata"]["question_number"], 2);
    person.types("qq");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
    sandbox.flow(["verify", "r2"]).ok();
}

#[test]
fn a_run_that_begins_to_need_a_person_rings_once() {
    if !has_terminals("watch") {
        return;
    }
    let sandbox = demo();
    let call = "\u{7}\u{1b}]9;flow: r2 needs you: ";
    let mut person = Person::before(&watch(&sandbox, &["--notify"]));
    person.resizes(90, 24).shows(ENTER).shows("Waits for you").shows("r1");
    sandbox.flow(["block", "r2", "--reason", "Which\u{1b} port?"]).ok();
    person.shows(call).shows("Which  port?").shows("\u{7}");
    sandbox.flow(["unblock", "r2", "--reason", "8080"]).ok();
    sandbox.flow(["block", "r2", "--reason", "again"]).ok();
    person.shows(call).shows("again").shows("\u{7}");
    person.types("q");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
    assert_eq!(person.seen().matches("\u{1b}]9;").count(), 2, "r1 waited before: {:?}", person.seen());
}

#[test]
fn a_signal_ends_the_screen_with_its_usual_effect_after_the_terminal_was_given_back() {
    if !has_terminals("watch") {
        return;
    }
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let sandbox = demo();
        let mut person = Person::before(&watch(&sandbox, &["--run-id", "r1"]));
        person.resizes(60, 20).shows(ENTER);
        person.types("j").shows("Waits for you");
        kill_process(person.pid(), signal).unwrap();
        assert_eq!(person.ended().signal(), Some(signal.as_raw()), "{}", person.seen());
        assert!(person.seen().contains(LEAVE), "{}", person.seen());
        assert!(person.has_usual_modes());
    }
}

/// The screen of `r1` in a shell with jobs, as people have it: it goes on when the program stops.
fn in_shell_with_jobs(sandbox: &Sandbox) -> Person {
    let watching = watch(sandbox, &["--run-id", "r1"]);
    let mut shell = sandbox.command("sh");
    let line = format!("{} watch --run-id r1; echo stopped; fg; echo over", watching.get_program().display());
    shell.args(["-mc", &line]);
    let mut person = Person::before(&shell);
    person.resizes(60, 20).shows(ENTER).shows("Waits for you");
    person
}

#[test]
fn a_stopped_screen_gives_the_terminal_back_and_takes_it_again() {
    if !has_terminals("watch") {
        return;
    }
    let sandbox = demo();
    let mut person = in_shell_with_jobs(&sandbox);
    person.types("\u{1a}").shows(LEAVE).shows("stopped").shows(ENTER).shows("Waits for you");
    person.types("qq").shows(LEAVE).shows("over");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
    assert!(person.has_usual_modes());
}

#[test]
fn a_screen_that_another_process_stops_gives_the_terminal_back_and_takes_it_again() {
    if !has_terminals("watch") {
        return;
    }
    let sandbox = demo();
    let mut person = in_shell_with_jobs(&sandbox);
    let of_shell = person.pid().as_raw_nonzero();
    let children = std::fs::read_to_string(format!("/proc/{of_shell}/task/{of_shell}/children")).unwrap();
    let child = rustix::process::Pid::from_raw(children.trim().parse().unwrap()).unwrap();
    kill_process(child, Signal::TSTP).unwrap();
    person.shows(LEAVE).shows("stopped").shows(ENTER).shows("Waits for you");
    person.types("qq").shows(LEAVE).shows("over");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
    assert!(person.has_usual_modes());
}
