//! Open questions: nothing but an answer, another question of the same asker or the end of the run closes one, and
//! nothing passes one in silence.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Answer, Person, Sandbox, has_terminals, run};

fn report(sandbox: &Sandbox, workflow: &str, kind: &str, data: Value, more: &[&str]) -> Answer {
    let data = data.to_string();
    let args = ["emit", "--workflow", workflow, "--run-id", "r1", "--type", kind, "--data", &data];
    sandbox.flow(args.iter().chain(more))
}

fn status(sandbox: &Sandbox, step: &str, status: &str) -> Value {
    report(sandbox, "build", "status_change", json!({ "status": status }), &["--step", step]).ok().json()["data"]
        .clone()
}

/// A run of `build` whose first step asks a person.
fn asking() -> Sandbox {
    let sandbox = Sandbox::new();
    status(&sandbox, "requirements", "running");
    report(&sandbox, "build", "waiting_for_user", json!({ "prompt": "Which DB?" }), &[]).ok();
    sandbox
}

/// The questions that `show` lists.
fn open(sandbox: &Sandbox) -> Vec<String> {
    let shown = sandbox.flow(["show", "r1", "--json"]).ok().json();
    let questions = shown["state"]["questions"].as_object().cloned().unwrap_or_default();
    questions.values().map(|prompt| prompt.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_open_question_is_told_and_whose_it_is() {
    let sandbox = Sandbox::new();
    status(&sandbox, "requirements", "running");
    for unit in ["T1", "T2"] {
        let prompt = json!({ "prompt": format!("question of {unit}") });
        report(&sandbox, "build", "waiting_for_user", prompt, &["--step", "requirements", "--unit", unit]).ok();
    }
    let resumed = sandbox.flow(["resume", "r1", "--json"]).json();
    let last = "`requirements` (T2) waits for an answer (and 1 more question): question of T2";
    assert_eq!(resumed["reason"], last);
    let asked = |unit: &str| json!({ "step": "requirements", "unit": unit, "prompt": format!("question of {unit}") });
    assert_eq!(resumed["questions"], json!([asked("T1"), asked("T2")]));
    let page = sandbox.flow(["resume", "r1"]).stdout;
    insta::assert_snapshot!(page, @r#"
    needs_human  r1  build
      why         `requirements` (T2) waits for an answer (and 1 more question): question of T2
      phase       requirements
      if the question of `requirements` (T1) is answered (write the answer where … stands):
        flow emit --workflow build --run-id r1 --type user_answered --step requirements --data '{"answer":"…"}' --unit T1
      if the question of `requirements` (T2) is answered (write the answer where … stands):
        flow emit --workflow build --run-id r1 --type user_answered --step requirements --data '{"answer":"…"}' --unit T2
      questions
        requirements  T2  question of T2
        requirements  T1  question of T1
      in doubt
        -  requirements  requirements  running
    "#);
    for line in [&["hud"][..], &["attention"], &["list"]] {
        let told = sandbox.flow(line).stdout;
        assert!(told.contains("1 of 2 questions: question of T2"), "{line:?}: {told}");
    }
    let told = sandbox.flow(["report", "r1"]).ok().stdout;
    for unit in ["T1", "T2"] {
        assert!(told.contains(&format!("`requirements` (`{unit}`): `question of {unit}`")), "{told}");
    }
}

#[test]
fn the_end_of_an_interview_whose_document_is_gone_is_what_resume_says() {
    let sandbox = interviewing();
    std::fs::rename(sandbox.path("docs/p.md"), sandbox.path("docs/q.md")).unwrap();
    let note = sandbox.flow(["resume", "r1", "--json"]).json()["notes"].to_string();
    let told = "end the interview with `flow interview abandon docs/p.md`";
    assert!(note.contains(told), "{note}");
    for end in [&["complete", "r1", "--json"][..], &["complete", "r1", "--skip-reason", "why", "--json"]] {
        let error = sandbox.flow(end).exits(1).error();
        assert!(!error["help"].to_string().contains("interview finish"), "{error}");
        assert!(error["code"] != "interview_open" || error["help"].as_str().unwrap().contains(told), "{error}");
    }
}

const PASSED: &str = "the work goes on, and `requirements` got no answer to: Which DB?";

#[test]
fn a_question_that_work_goes_past_stays_and_is_told() {
    for (step, reported) in [
        ("design", "running"),
        ("requirements", "running"),
        ("requirements", "completed"),
        ("requirements", "failed"),
        ("requirements", "skipped"),
        ("task-builder:building", "running"),
    ] {
        let sandbox = asking();
        let answer = status(&sandbox, step, reported);
        assert!(answer["warnings"].as_array().unwrap().contains(&json!(PASSED)), "{step} {reported}: {answer}");
        assert_eq!(answer["runStatus"], "waiting", "{step} {reported}");
        assert_eq!(open(&sandbox), ["Which DB?"], "{step} {reported}");
        let resumed = sandbox.flow(["resume", "r1", "--json"]).exits(4).json();
        assert_eq!(resumed["reason"], "`requirements` waits for an answer: Which DB?", "{step} {reported}");
        let told = resumed["next"]["alternatives"][0]["command"].as_str().unwrap();
        assert!(told.contains("--type user_answered --step requirements"), "{told}");
        report(&sandbox, "build", "user_answered", json!({ "answer": "SQLite" }), &[]).ok();
        assert_eq!(open(&sandbox), [""; 0], "{step} {reported}");
        sandbox.assert_sound("r1");
    }
    // A step that only waits goes past nothing, and another unit goes on beside it.
    let sandbox = asking();
    assert_eq!(status(&sandbox, "requirements", "waiting")["warnings"], json!([]));
    let beside = ["--step", "requirements", "--unit", "T1"];
    let beside = report(&sandbox, "build", "status_change", json!({ "status": "running" }), &beside).ok().json();
    assert_eq!(beside["data"]["warnings"], json!([]));
    assert_eq!(open(&sandbox), ["Which DB?"]);
}

#[test]
fn a_batch_goes_past_no_question_in_silence() {
    let sandbox = Sandbox::new();
    let running = |step: &str| json!({ "type": "status_change", "step": step, "data": { "status": "running" } });
    let ask = json!({ "type": "waiting_for_user", "data": { "prompt": "Which DB?" } });
    let batch = json!([running("requirements"), ask, running("design")]).to_string();
    let args = ["emit", "--workflow", "build", "--run-id", "r1", "--batch", &batch];
    assert_eq!(sandbox.flow(args).ok().json()["data"]["warnings"], json!([PASSED]));
    assert_eq!(open(&sandbox), ["Which DB?"]);
    sandbox.assert_sound("r1");
}

#[test]
fn a_record_that_leaves_a_question_behind_says_so() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "start-issue", "--id", "r1"]).ok();
    report(&sandbox, "start-issue", "waiting_for_user", json!({ "prompt": "Whose?" }), &[]).ok();
    let record = ["record-activity", "--run-id", "r1", "--id", "look", "--advance", "--json"];
    let warnings = sandbox.flow(record).ok().json()["warnings"].clone();
    assert_eq!(warnings, json!(["the work goes on, and `preflight` got no answer to: Whose?"]));
    assert_eq!(open(&sandbox), ["Whose?"]);
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "more"]).ok();
    assert_eq!(open(&sandbox), ["Whose?"]);
    sandbox.assert_sound("r1");
}

#[test]
fn the_end_of_a_run_tells_of_the_questions_that_it_closes() {
    for (verb, ended) in [("cancel", "cancelled"), ("fail", "failed")] {
        let sandbox = asking();
        let warnings = sandbox.flow([verb, "r1", "--reason", "why", "--json"]).ok().json()["warnings"].to_string();
        let told = format!("the run is {ended}, and `requirements` got no answer to: Which DB?");
        assert!(warnings.contains(&told), "{verb}: {warnings}");
    }
    let sandbox = asking();
    for step in ["design", "tasks", "build", "verify"] {
        status(&sandbox, step, "running");
    }
    let warnings = status(&sandbox, "archive", "completed")["warnings"].to_string();
    insta::assert_snapshot!(warnings, @r#"["the run is completed, and `requirements` got no answer to: Which DB?","the run is completed without a report that `verify` is done"]"#);
}

#[test]
fn questions_that_an_earlier_version_closed_stay_closed() {
    // There a move closed the question, and so did work that went on.
    for step in ["design", "requirements"] {
        closed_by(step);
    }
}

/// A log of an earlier version, in which a report about this step closed the question, which is still closed.
#[track_caller]
fn closed_by(step: &str) {
    let sandbox = asking();
    status(&sandbox, step, "running");
    assert_ne!(open(&sandbox), [""; 0], "today it stays open");
    // Such a log lacks the mark.
    let log = sandbox.read("r1", "events.jsonl");
    let lines = log.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        let mut event = event.as_object().unwrap().clone();
        for key in ["crc", "keeps_questions", "run"] {
            event.shift_remove(key);
        }
        flowrun::codec::seal(&event)
    });
    std::fs::write(sandbox.run_dir("r1").join("events.jsonl"), lines.collect::<String>()).unwrap();
    std::fs::remove_file(sandbox.run_dir("r1").join("run.yaml")).unwrap();
    sandbox.flow(["doctor", "--repair"]).ok();
    assert_eq!(open(&sandbox), [""; 0], "{step}");
}

/// A run with an interview whose first question is open.
fn interviewing() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "start-issue", "--id", "r1"]).ok();
    sandbox.flow(["interview", "start", "docs/p.md", "--run-id", "r1"]).ok();
    sandbox
}

#[test]
fn the_question_of_an_interview_is_answered_in_its_document_alone() {
    let sandbox = interviewing();
    let events = sandbox.events("r1").len();
    let unit = ["--unit", "interview docs/p.md"];
    for more in [&[][..], &["--step", "preflight"], &unit] {
        let answer = json!({ "answer": "via emit" });
        let refused = report(&sandbox, "start-issue", "user_answered", answer, &[more, &["--json"]].concat());
        let refused = refused.exits(1).error();
        assert_eq!(refused["code"], "answer_in_document", "{refused}");
        let help = "answer with `flow interview answer docs/p.md --question 1 'TEXT'`";
        assert_eq!(refused["help"], help, "{refused}");
    }
    let batch = json!([{ "type": "btw_update", "data": { "message": "so" } },
        { "type": "user_answered", "data": { "answer": "via a batch" } }]);
    let batch = ["emit", "--workflow", "start-issue", "--run-id", "r1", "--batch", &batch.to_string(), "--json"];
    assert_eq!(sandbox.flow(batch).exits(1).error()["code"], "answer_in_document");
    assert_eq!(sandbox.events("r1").len(), events, "something was written");
    sandbox.flow(["interview", "answer", "docs/p.md", "--question", "1", "We build a task app."]).ok();
    let refused = report(&sandbox, "start-issue", "user_answered", json!({ "answer": "x" }), &["--json"]);
    assert!(refused.exits(1).error()["help"].as_str().unwrap().contains("--question 2"));
    // A command is one for the directory in which it is given.
    let mut below = sandbox.flow_command();
    below.args(["emit", "--workflow", "start-issue", "--run-id", "r1", "--type", "user_answered", "--data", "{}"]);
    let help = run(
        {
            below.current_dir(sandbox.path("docs"));
            below
        },
        "",
    )
    .exits(1)
    .stderr;
    insta::assert_snapshot!(help, @r"
    Error: run r1: `preflight` asks for an interview; the answer belongs into p.md
      help: answer with `flow interview answer p.md --question 2 'TEXT'`
    ");
    // When everything is asked, the interview itself says how it ends.
    for number in ["2", "3", "4", "5"] {
        sandbox.flow(["interview", "skip", "docs/p.md", "--question", number]).ok();
    }
    let refused = report(&sandbox, "start-issue", "user_answered", json!({ "answer": "x" }), &["--json"]);
    let help = refused.exits(1).error()["help"].clone();
    assert_eq!(help, "`flow interview next docs/p.md` says what is asked, or how it ends");
    sandbox.flow(["interview", "finish", "docs/p.md"]).ok();
    assert_eq!(open(&sandbox), [""; 0]);
    sandbox.assert_sound("r1");
}

#[test]
fn a_question_about_a_document_without_an_interview_takes_an_answer() {
    let sandbox = asking();
    let asks = json!({ "prompt": "Is it right?", "document": "docs/plan.md" });
    report(&sandbox, "build", "waiting_for_user", asks, &[]).ok();
    report(&sandbox, "build", "user_answered", json!({ "answer": "yes" }), &[]).ok();
    assert_eq!(open(&sandbox), [""; 0]);
}

const GRAPH: &str = "initial: ask\nstates:\n  ask: {type: user, description: Which colour?, transition: {next: [end]}}\n  \
                     end: {type: terminal}\n";

#[test]
fn a_question_at_a_terminal_is_known_before_it_is_answered() {
    if !has_terminals("a_question_at_a_terminal_is_known_before_it_is_answered") {
        return;
    }
    // Ctrl-C, a window that is closed, and a death without a last word.
    for closes in [None, Some(Signal::HUP), Some(Signal::KILL)] {
        let sandbox = Sandbox::new();
        std::fs::write(sandbox.path("job.graph.yaml"), GRAPH).unwrap();
        let driver = || {
            let mut command = sandbox.flow_command();
            command.args(["drive", "job.graph.yaml", "--run-id", "r1"]);
            command
        };
        let mut person = Person::before(&driver());
        person.shows("Which colour?").shows("> ");
        match closes {
            Some(signal) => kill_process(person.pid(), signal).unwrap(),
            None => drop(person.types("\u{3}")),
        }
        person.ended();
        let resumed = sandbox.flow(["resume", "r1", "--json"]).exits(4).json();
        assert_eq!(resumed["verdict"], "needs_human", "{resumed}");
        assert_eq!(resumed["reason"], "`ask` waits for an answer: Which colour?");
        let attention = sandbox.flow(["attention"]).ok().stdout;
        assert!(attention.contains("Which colour?"), "{attention}");
        // The same command asks again, and the question is recorded once.
        let mut person = Person::before(&driver());
        person.shows("Which colour?").shows("> ").types("\u{3}");
        person.ended();
        let asked = |event: &&Value| event["reports"][0]["type"] == "waiting_for_user";
        assert_eq!(sandbox.events("r1").iter().filter(asked).count(), 1);
        report(&sandbox, "job", "user_answered", json!({ "answer": "red" }), &[]).ok();
        sandbox.flow(["drive", "job.graph.yaml", "--run-id", "r1"]).ok();
        assert!(sandbox.read("r1", "activities/001-ask.yaml").contains("summary: red"));
        sandbox.assert_sound("r1");
    }
}

#[test]
fn what_a_person_types_at_a_terminal_is_the_answer_in_the_log() {
    if !has_terminals("what_a_person_types_at_a_terminal_is_the_answer_in_the_log") {
        return;
    }
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("job.graph.yaml"), GRAPH).unwrap();
    let mut command = sandbox.flow_command();
    command.args(["drive", "job.graph.yaml", "--run-id", "r1"]);
    let mut person = Person::before(&command);
    person.shows("> ").types("red\n");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
    let log = sandbox.flow(["log", "r1"]).ok().stdout;
    insta::assert_snapshot!(log, @r"
    1  2026-05-20T14:30:04.000Z  run_started        job
    2  2026-05-20T14:30:04.000Z  emitted            ask running
    3  2026-05-20T14:30:06.000Z  run_edited         context, by a command
    4  2026-05-20T14:30:07.000Z  emitted            ask asks: Which colour?
    5  2026-05-20T14:30:08.000Z  emitted            ask answer: red; ask completed
    6  2026-05-20T14:30:09.000Z  emitted            end running
    7  2026-05-20T14:30:10.000Z  emitted            end completed; the run is completed
    ");
    assert!(!person.seen().contains("got no answer"), "{}", person.seen());
    sandbox.assert_sound("r1");
}

#[test]
fn a_command_that_needs_its_answer_no_more_closes_its_question() {
    let sandbox = Sandbox::new();
    let graph = "initial: call\nstates:\n  call: {type: tool, transition: {next: [end]}}\n  end: {type: terminal}\n";
    std::fs::write(sandbox.path("job.graph.yaml"), graph).unwrap();
    let tool = "tool=[ -e allowed ] && echo went || echo '{\"needs_human\": \"Allow it\"}'";
    let drive = ["drive", "job.graph.yaml", "--run-id", "r1", "--on", tool];
    sandbox.flow(drive).exits(4);
    assert_eq!(open(&sandbox), ["Allow it"]);
    std::fs::write(sandbox.path("allowed"), "").unwrap();
    let driven = sandbox.flow(drive).ok();
    assert!(!driven.stderr.contains("got no answer"), "{driven:?}");
    let log = sandbox.flow(["log", "r1"]).ok().stdout;
    assert!(log.contains("call answer: went"), "{log}");
    sandbox.assert_sound("r1");
}
