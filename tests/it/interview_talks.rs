//! Interviews with somebody at a real terminal.

use std::fs;

use serde_json::Value;

use crate::support::{Person, Sandbox, has_terminals};

const DOC: &str = "docs/charter.md";

/// What the editor of answers shows when it is ready for the next one.
const READY: &str = "\u{1b}[?2004h";

fn entries(sandbox: &Sandbox) -> Vec<String> {
    let status = sandbox.flow(["interview", "status", DOC, "--json"]).ok().json();
    let answer = |entry: &Value| entry["answer"].as_str().map(str::to_owned);
    status["entries"].as_array().unwrap().iter().filter_map(answer).collect()
}

fn talk(sandbox: &Sandbox) -> Person {
    let mut command = sandbox.flow_command();
    command.args(["interview", "run", DOC]);
    Person::before(&command)
}

/// A project whose interview has two questions.
fn short() -> Sandbox {
    let sandbox = Sandbox::new();
    let script = "apiVersion: flow.synapti.ai/v1\nkind: FlowInterview\nmetadata: { id: charter }\nsections:\n  \
                  - { id: one, heading: One }\n  - { id: two, heading: Two }\nquestions:\n  \
                  - { topic: One, fills: one, ask: First? }\n  - { topic: Two, fills: two, ask: Second? }\n";
    sandbox.flow(["init"]).ok();
    fs::create_dir_all(sandbox.path(".flow/interviews")).unwrap();
    fs::write(sandbox.path(".flow/interviews/charter.interview.yaml"), script).unwrap();
    sandbox
}

fn text(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path(DOC)).unwrap()
}

#[test]
fn a_person_at_a_terminal_edits_what_is_answered() {
    if !has_terminals("a_person_at_a_terminal_edits_what_is_answered") {
        return;
    }
    let sandbox = Sandbox::new();
    let mut person = talk(&sandbox);
    // A word is mended with the arrows, a backslash goes on in the next line, an earlier answer comes back.
    for typed in ["Tasxs\u{1b}[D\u{7f}k\u{5}.\r", "\u{1b}[A\\\rand more\r", "/skip no idea\r", "\u{4}"] {
        person.shows(READY).types(typed);
    }
    assert_eq!(person.ended().code(), Some(4));
    assert_eq!(entries(&sandbox), ["Tasks.", "Tasks.\nand more", "no idea"]);
}

#[test]
fn a_paste_is_one_answer_and_keeps_its_backslashes() {
    if !has_terminals("a_paste_is_one_answer_and_keeps_its_backslashes") {
        return;
    }
    let sandbox = Sandbox::new();
    let mut person = talk(&sandbox);
    let pasted = "/exit\ncargo build \\\n  --locked\n\n## no heading\nend";
    person.shows(READY).pastes(pasted).types("\r");
    person.shows(READY).types("\u{3}");
    assert_eq!(person.ended().code(), Some(4));
    assert_eq!(entries(&sandbox), [pasted]);
}

#[test]
fn commands_are_no_answers() {
    if !has_terminals("commands_are_no_answers") {
        return;
    }
    for leaves in ["/exit", "/QUIT"] {
        let sandbox = Sandbox::new();
        let mut person = talk(&sandbox);
        person.shows(READY).types("/quti\r").shows("no command `/quti`").shows(READY).types("/back\r");
        person.shows("no question before this one").shows(READY).types(" /usr is full\r");
        person.shows(READY).types(&format!("{leaves}\r"));
        assert_eq!(person.ended().code(), Some(4));
        assert_eq!(entries(&sandbox), ["/usr is full"]);
    }
    // Through a pipe nobody can be told, and what follows would be answers to other questions.
    let sandbox = Sandbox::new();
    let piped = sandbox.flow_with(["interview", "run", DOC], "One.\n/quti\nTwo.\n").exits(2);
    assert!(piped.stderr.contains("no command `/quti`"), "{piped:?}");
    assert_eq!(entries(&sandbox), ["One."]);
    let piped = sandbox.flow_with(["interview", "run", DOC], "Two.\n/back\nThe second.\n/exit\nThree.\n").exits(4);
    assert!(piped.stderr.contains("(it was answered: Two.)"), "{piped:?}");
    assert_eq!(entries(&sandbox), ["One.", "The second."]);
}

#[test]
fn a_person_goes_back_and_looks_at_everything_before_the_end() {
    if !has_terminals("a_person_goes_back_and_looks_at_everything_before_the_end") {
        return;
    }
    let sandbox = short();
    let mut person = talk(&sandbox);
    person.shows("First?").shows(READY).types("Onne\r");
    person.shows("Second?").shows(READY).types("/back\r");
    // What was answered stands there, to be changed.
    person.shows("First?").shows("Onne").types("\u{7f}\u{7f}e\r");
    person.shows("Second?").shows(READY).types("/skip not yet\r");
    person.shows("All questions are asked.").shows("One: One").shows("(skipped) not yet").shows(READY).types("2\r");
    person.shows("Second?").shows("it was skipped: not yet").shows(READY).types("Two\r");
    person.shows("Two: Two").shows(READY).types("/quit\r");
    assert_eq!(person.ended().code(), Some(4));
    assert_eq!(entries(&sandbox), ["One", "Two"]);
    let mut person = talk(&sandbox);
    person.shows("All questions are asked.").shows(READY).types("1\r").shows("First?").shows(READY).types("\r");
    person.shows("One: One").shows(READY).types("\r");
    let (code, seen) = (person.ended().code(), person.seen());
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(text(&sandbox), "## One\n\nOne\n\n## Two\n\nTwo\n");
}

#[test]
fn an_answer_is_kept_when_another_one_came_while_it_was_typed() {
    if !has_terminals("an_answer_is_kept_when_another_one_came_while_it_was_typed") {
        return;
    }
    for (settled, stands) in [("mine", "Mine"), ("theirs", "Theirs"), ("both", "Theirs\n\nMine")] {
        let sandbox = short();
        let mut person = talk(&sandbox);
        person.shows(READY).types("One\r").shows("Second?").shows(READY);
        sandbox.flow(["interview", "answer", DOC, "--question", "2", "Theirs"]).ok();
        person.types("Mine\r").shows("Theirs").shows("Mine").shows("mine, theirs or both").shows(READY);
        person.types(&format!("{settled}\r")).shows("All questions are asked").shows(READY).types("\r");
        assert_eq!(person.ended().code(), Some(0));
        assert_eq!(text(&sandbox), format!("## One\n\nOne\n\n## Two\n\n{stands}\n"));
    }
    // Who leaves it open finishes nothing, and learns the command.
    let sandbox = short();
    let mut person = talk(&sandbox);
    person.shows(READY).types("One\r").shows("Second?").shows(READY);
    sandbox.flow(["interview", "answer", DOC, "--question", "2", "Theirs"]).ok();
    person.types("Mine\r").shows("mine, theirs or both").shows(READY).types("\u{4}");
    let (code, seen) = (person.ended().code(), person.seen());
    assert_eq!(code, Some(4));
    assert!(seen.contains("flow interview answer docs/charter.md --question 2 --replace Mine"), "{seen}");
    assert_eq!(entries(&sandbox), ["One", "Theirs"]);
    // Nor is it lost when the interview ended meanwhile.
    let sandbox = short();
    let mut person = talk(&sandbox);
    person.shows("First?").shows(READY);
    sandbox.flow(["interview", "abandon", DOC, "--yes"]).ok();
    person.types("Precious\r").shows("the answer that was not written: Precious");
    assert_eq!(person.ended().code(), Some(3));
}
