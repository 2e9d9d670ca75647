//! Whoever ends a program at a terminal ends it, at any time, and what they were typing is no answer.

use std::hash::{BuildHasher, RandomState};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::support::{Person, Sandbox, has_terminals, run, scaled};

/// How often a program is ended, every day and by the campaign, and by how many people at once.
const TIMES: (u64, u64) = (16, 100);
const AT_ONCE: u64 = 4;
/// The longest that a program may take to end: it gives the command that it runs two seconds to end first.
const SOON: Duration = Duration::from_secs(8);

/// Works for a moment, asks, and begins again.
const GRAPH: &str = "\
initial: work
states:
  work: {type: tool, transition: {next: [ask]}}
  ask: {description: Which colour?, type: user, transition: {next: [work]}}
";

#[derive(Debug, Clone, Copy)]
enum How {
    Sent(Signal),
    /// Ctrl-C.
    Pressed,
}

impl How {
    /// The `nth` of `all`, and the number of the signal.
    fn nth(nth: u64, all: &[Self]) -> Self {
        all[usize::try_from(nth).unwrap() % all.len()]
    }

    fn number(self) -> i32 {
        match self {
            Self::Sent(signal) => signal.as_raw(),
            Self::Pressed => Signal::INT.as_raw(),
        }
    }

    fn ends(self, person: &mut Person) {
        match self {
            Self::Sent(signal) => kill_process(person.pid(), signal).unwrap(),
            Self::Pressed => drop(person.types("\u{3}")),
        }
    }
}

const SIGNALS: [How; 3] = [How::Sent(Signal::INT), How::Sent(Signal::TERM), How::Sent(Signal::HUP)];

/// A time within `most`, another one with each call.
fn some_time(most: Duration) -> Duration {
    let share = RandomState::new().hash_one(0) % 1000;
    most * u32::try_from(share).unwrap() / 1000
}

/// Does `once` for each number, some at once.
fn many(once: impl Fn(u64) + Sync) {
    let once = &once;
    thread::scope(|scope| {
        for first in 0..AT_ONCE {
            scope.spawn(move || {
                (first..scaled(TIMES.0, TIMES.1)).step_by(usize::try_from(AT_ONCE).unwrap()).for_each(once)
            });
        }
    });
}

fn driver(sandbox: &Sandbox, command: &str) -> Command {
    std::fs::write(sandbox.path("job.graph.yaml"), GRAPH).unwrap();
    let mut drive = sandbox.flow_command();
    drive.args(["drive", "job.graph.yaml", "--run-id", "r1", "--on", &format!("tool={command}")]);
    drive
}

#[track_caller]
fn ends_by(person: &mut Person, how: How) {
    let began = Instant::now();
    let status = person.ended();
    assert_eq!(status.signal(), Some(how.number()), "{how:?}: {status:?}, {:?}", person.seen());
    assert!(began.elapsed() < SOON, "{how:?} took {:?}", began.elapsed());
}

/// What the person answered, as the log tells.
fn answers(sandbox: &Sandbox) -> Vec<Value> {
    let reports = sandbox.events("r1").into_iter().filter_map(|event| event["reports"].as_array().cloned()).flatten();
    let asked = reports.filter(|report| report["step"] == "ask" && report["data"]["status"] == "completed");
    asked.map(|report| report["data"]["output"].clone()).collect()
}

#[test]
fn a_driver_ends_by_the_signal_at_any_time_and_what_was_being_typed_is_no_answer() {
    if !has_terminals("a_driver_ends_by_the_signal_at_any_time_and_what_was_being_typed_is_no_answer") {
        return;
    }
    many(|nth| {
        let sandbox = Sandbox::new();
        let how = How::nth(nth, &[&SIGNALS[..], &[How::Pressed]].concat());
        let mut person = Person::before(&driver(&sandbox, "sleep 0.05; echo done"));
        let answered = nth % 3;
        for time in 1..=answered {
            assert!(person.sees("Which colour?\r\n> ", usize::try_from(time).unwrap()), "{}", person.seen());
            person.types(&format!("given {time}\n"));
        }
        // Before Ctrl-C can be pressed, the program has to have the terminal.
        assert!(person.sees("work begins", 1), "{}", person.seen());
        let late = some_time(Duration::from_millis(200));
        thread::sleep(late);
        person.types("half an ans");
        thread::sleep(late / 4);
        how.ends(&mut person);
        ends_by(&mut person, how);
        sandbox.flow(["doctor", "--repair"]).ok();
        let given: Vec<_> = (1..=answered).map(|time| Value::from(format!("given {time}"))).collect();
        let kept = answers(&sandbox);
        // What was sent in the last moment may not have been taken up.
        let missing = given.len() - kept.len();
        assert!(missing <= 1 && kept == given[..kept.len()], "{how:?} after {late:?}: {kept:?}");
        // Nothing stands in the way of going on.
        let mut again = driver(&sandbox, "echo again");
        again.args(["--on", "user=echo from a command", "--max-iter", "2"]);
        run(again, "").exits(4);
        sandbox.assert_sound("r1");
        sandbox.flow(["verify", "r1"]).ok();
    });
}

#[test]
fn an_interview_with_an_agent_ends_by_the_signal_at_any_time_and_keeps_what_was_answered() {
    if !has_terminals("an_interview_with_an_agent_ends_by_the_signal_at_any_time_and_keeps_what_was_answered") {
        return;
    }
    let agent = "n=$(grep -o '\"asked\"' | wc -l); sleep 0.05; \
                 echo \"{\\\"type\\\":\\\"next_question\\\",\\\"next_question\\\":\\\"What about $n?\\\"}\"";
    many(|nth| {
        let sandbox = Sandbox::new();
        let how = How::nth(nth, &SIGNALS);
        std::fs::write(sandbox.path("agent.sh"), agent).unwrap();
        let mut talk = sandbox.flow_command();
        talk.args(["interview", "run", "doc.md", "--agent", "sh agent.sh"]);
        let mut person = Person::before(&talk);
        let answered = nth % 3;
        for time in 0..answered {
            assert!(person.sees(&format!("What about {time}?"), 1), "{}", person.seen());
            person.types(&format!("given {time}\r"));
        }
        let late = some_time(Duration::from_millis(200));
        thread::sleep(late);
        person.types("half an ans");
        thread::sleep(late / 4);
        how.ends(&mut person);
        ends_by(&mut person, how);
        if !sandbox.path("doc.md").exists() {
            assert_eq!(answered, 0);
            return;
        }
        let status = sandbox.flow(["interview", "status", "doc.md", "--json"]).ok().json();
        assert_eq!(status["problems"], serde_json::json!([]), "{status}");
        let entries = status["entries"].as_array().unwrap();
        let kept: Vec<_> = entries.iter().filter_map(|entry| entry["answer"].as_str()).collect();
        let given: Vec<_> = (0..answered).map(|time| format!("given {time}")).collect();
        assert!(given.len() - kept.len() <= 1 && given[..kept.len()] == kept[..], "{how:?} after {late:?}: {status}");
    });
}

#[test]
fn a_line_that_was_not_sent_is_no_answer() {
    if !has_terminals("a_line_that_was_not_sent_is_no_answer") {
        return;
    }
    let sandbox = Sandbox::new();
    let mut person = Person::before(&driver(&sandbox, "true"));
    assert!(person.sees("Which colour?\r\n> ", 1), "{}", person.seen());
    // Ctrl-D sends what was typed without a line break, and at the beginning of a line it is the end.
    person.types("half an ans\u{4}\u{4}");
    assert_eq!(person.ended().code(), Some(4), "{}", person.seen());
    assert_eq!(answers(&sandbox), [Value::Null; 0]);
}

#[test]
fn a_signal_that_is_ignored_stays_so() {
    let sandbox = Sandbox::new();
    let mut drive = driver(&sandbox, "kill -HUP $PPID; sleep 0.2; echo on");
    drive.args(["--max-iter", "1"]);
    let mut ignoring = sandbox.command("sh");
    ignoring.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(drive.get_program()).args(drive.get_args());
    run(ignoring, "").exits(4);
    assert_eq!(sandbox.activity_files("r1"), ["001-work.yaml"]);
}

#[test]
fn an_interview_that_a_signal_ends_while_an_answer_is_typed_gives_the_terminal_back() {
    if !has_terminals("an_interview_that_a_signal_ends_while_an_answer_is_typed_gives_the_terminal_back") {
        return;
    }
    for how in SIGNALS {
        let sandbox = Sandbox::new();
        let mut interview = sandbox.flow_command();
        interview.args(["interview", "run", "p.md"]);
        let mut person = Person::before(&interview);
        person.shows("> ").types("half an ans").shows("half an ans");
        how.ends(&mut person);
        ends_by(&mut person, how);
        assert!(person.has_usual_modes(), "{how:?}");
    }
}
