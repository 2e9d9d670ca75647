//! `drive` and people: what they are asked, when, and how long their answers count.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Answer, Person, Sandbox, has_terminals, run};

/// Asks a person whatever it does, and can go back to it.
const CALL: &str = "\
initial: auth
states:
  auth: {type: tool, description: Log in, transition: {next: [work]}}
  work: {type: agent, transition: {next: [auth, done]}}
  done: {type: terminal}
";

const COLOUR: &str = "\
initial: think
states:
  think: {type: agent, transition: {next: [ask]}}
  ask: {type: user, description: Which colour?, transition: {next: [done]}}
  done: {type: terminal}
";

fn project(graph: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("job.graph.yaml"), graph).unwrap();
    sandbox
}

fn driver(sandbox: &Sandbox, more: &[&str]) -> Command {
    let mut command = sandbox.flow_command();
    command.args(["drive", "job.graph.yaml", "--run-id", "r1"]).args(more);
    command
}

fn drive(sandbox: &Sandbox, more: &[&str]) -> Answer {
    run(driver(sandbox, more), "")
}

fn answer(sandbox: &Sandbox, data: &str) {
    let answer = ["emit", "--workflow", "job", "--run-id", "r1", "--type", "user_answered", "--data", data];
    sandbox.flow(answer).ok();
}

fn told(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&std::fs::read_to_string(sandbox.path("told")).unwrap()).unwrap()
}

#[test]
fn an_answer_stays_with_its_state_until_that_is_completed() {
    for trouble in ["sleep 20", "exit 1", "echo '{\"not_ready\": \"it sleeps\"}'"] {
        let sandbox = project(CALL);
        let tool = format!(
            "tool=cat > told; if grep -q '\"answer\":null' told; then echo '{{\"needs_human\": \"Which?\"}}'; \
             elif [ -e fine ]; then echo went; else {trouble}; fi"
        );
        let agent = "agent=[ -e again ] && echo '{\"next_state\": \"done\"}' || { touch again; echo '{\"next_state\": \"auth\"}'; }";
        let args = ["--on", &tool, "--on", agent, "--timeout", "1", "--json"];
        assert_eq!(drive(&sandbox, &args).exits(4).json()["reason"], "Which?", "{trouble}");
        answer(&sandbox, r#"{"answer":"red"}"#);
        for _ in 0..2 {
            let stopped = drive(&sandbox, &args).json();
            assert!(["failed", "not_ready"].contains(&stopped["stop"].as_str().unwrap()), "{trouble}: {stopped}");
            assert_eq!(told(&sandbox)["answer"], "red", "{trouble}");
        }
        std::fs::write(sandbox.path("fine"), "").unwrap();
        // Another round is another question.
        let asked = drive(&sandbox, &args).exits(4).json();
        assert_eq!((&asked["reason"], &asked["state"]), (&json!("Which?"), &json!("auth")), "{trouble}");
        assert_eq!(told(&sandbox)["answer"], json!(null), "{trouble}");
        answer(&sandbox, r#"{"answer":"blue"}"#);
        assert_eq!(drive(&sandbox, &args).ok().json()["stop"], "ended", "{trouble}");
        assert_eq!(told(&sandbox)["answer"], "blue", "{trouble}");
        sandbox.assert_sound("r1");
    }
}

#[test]
fn another_question_of_a_state_waits_for_an_answer_of_its_own() {
    let sandbox = project(CALL);
    let asks = |question: &str| format!("tool=cat > told; echo '{{\"needs_human\": \"{question}\"}}'");
    let ask = |question: &str| drive(&sandbox, &["--on", &asks(question), "--on", "agent=true"]).exits(4);
    ask("Which?");
    answer(&sandbox, r#"{"answer":"red"}"#);
    ask("How much?");
    assert_eq!(told(&sandbox)["answer"], "red");
    ask("How much?");
    assert_eq!(told(&sandbox)["answer"], json!(null));
}

#[test]
fn what_was_typed_before_a_question_and_an_empty_line_answer_nothing() {
    if !has_terminals("what_was_typed_before_a_question_and_an_empty_line_answer_nothing") {
        return;
    }
    // A line that was sent, and one that was not.
    for ahead in ["ahead\n", "ahea"] {
        let sandbox = project(COLOUR);
        let agent = "agent=until [ -e typed ]; do sleep 0.05; done; echo thought";
        let mut person = Person::before(&driver(&sandbox, &["--on", agent]));
        person.shows("think begins").types(ahead).shows(ahead.trim_end());
        std::fs::write(sandbox.path("typed"), "").unwrap();
        let told = format!("so it is not taken for an answer: {})", ahead.trim_end());
        person.shows(&told).shows("Which colour?").shows("> ");
        person.types("\n").shows("> ").types("  \n").shows("> ").types("red\n");
        assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
        assert!(sandbox.read("r1", "activities/002-ask.yaml").contains("summary: red"), "{}", person.seen());
    }
    // Where nothing was typed, nothing is said of it.
    let sandbox = project(COLOUR);
    let mut person = Person::before(&driver(&sandbox, &["--on", "agent=true"]));
    person.shows("> ").types("red\n");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
    assert!(!person.seen().contains("typed before"), "{}", person.seen());
}

#[test]
fn a_question_or_a_reason_without_words_fails_its_state() {
    let sandbox = project(CALL);
    for (says, why) in [
        (r#"{"needs_human":""}"#, "its answer has an empty text as `needs_human`"),
        (r#"{"needs_human":" \n"}"#, "its answer has an empty text as `needs_human`"),
        (r#"{"not_ready":""}"#, "its answer has an empty text as `not_ready`"),
        (r#"{"next_state":""}"#, "its answer has an empty text as `next_state`"),
    ] {
        let tool = format!("tool=printf %s '{says}'");
        let failed = drive(&sandbox, &["--on", &tool, "--on", "agent=true", "--json"]).exits(1).json();
        let reason = format!("`auth` failed: {why}; the same command tries it again");
        assert_eq!((&failed["stop"], &failed["reason"]), (&json!("failed"), &json!(reason)), "{says}");
        let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
        assert_eq!(resumed["next"]["action"], "retry_phase", "{says}");
    }
    let tool = r#"tool=echo '{"needs_human":"Go?","link":""}'"#;
    assert_eq!(drive(&sandbox, &["--on", tool, "--on", "agent=true", "--json"]).exits(4).json()["reason"], "Go?");
}

#[test]
fn a_user_state_without_words_asks_by_its_name() {
    let sandbox = project(&COLOUR.replace("Which colour?", "''"));
    assert_eq!(drive(&sandbox, &["--on", "agent=true", "--json"]).exits(4).json()["reason"], "ask");
}

#[test]
fn a_type_that_is_declared_without_a_command_is_done_by_a_person() {
    let graph = "initial: plan\nstates:\n  plan: {type: planner, description: Make a plan, transition: {next: [work]}}\n  \
                 work: {type: agent, transition: {next: [done]}}\n  done: {type: terminal}\n";
    let sandbox = project(graph);
    let refused = drive(&sandbox, &["--on", "agent=true", "--json"]).exits(2).error();
    let help = "give one for each with --on planner='COMMAND', or leave a type to a person with --type TYPE";
    assert!(refused["message"].as_str().unwrap().ends_with(help), "{refused}");
    let args = ["--type", "planner", "--on", "agent=cat > told", "--json"];
    let stopped = drive(&sandbox, &args).exits(4).json();
    assert_eq!((&stopped["stop"], &stopped["reason"]), (&json!("needs_human"), &json!("Make a plan")));
    answer(&sandbox, r#"{"answer":"first this"}"#);
    drive(&sandbox, &args).ok();
    assert_eq!(told(&sandbox)["done"], json!([{ "state": "plan", "output": "first this" }]));
}

#[test]
fn the_log_shows_answers_that_are_not_texts() {
    for (data, shown) in [
        (r#"{"answer":"red"}"#, "ask answer: red"),
        (r#"{"answer":{"a":[1,true]}}"#, r#"ask answer: {"a":[1,true]}"#),
        (r#"{"answer":5}"#, "ask answer: 5"),
        (r#"{"colour":"red"}"#, r#"ask answer: {"colour":"red"}"#),
    ] {
        let sandbox = project(COLOUR);
        drive(&sandbox, &["--on", "agent=true"]).exits(4);
        answer(&sandbox, data);
        let log = sandbox.flow(["log", "r1"]).ok().stdout;
        assert!(log.lines().any(|line| line.ends_with(shown)), "{data}: {log}");
    }
}
