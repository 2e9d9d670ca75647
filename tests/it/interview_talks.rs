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
    talk_at("xterm", sandbox, &[])
}

fn talk_at(kind: &str, sandbox: &Sandbox, more: &[&str]) -> Person {
    let mut command = sandbox.flow_command();
    command.args(["interview", "run", DOC]).args(more);
    Person::at(kind, &command)
}

/// A terminal that can be steered, and one that cannot.
const KINDS: [&str; 2] = ["xterm", "dumb"];

/// An interviewer that asks three things, and thinks until it may go on.
const THINKER: &str = r#"
n=$(grep -o '"answer":\|"skipped":' | wc -l)
echo "thinks of $n" >&2
while [ ! -e "go$n" ]; do sleep 0.02; done
case $n in
2) echo '{"type":"success"}' ;;
*) echo "{\"type\":\"next_question\",\"topic\":\"T$n\",\"next_question\":\"What of $n?\"}" ;;
esac
"#;

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
    for typed in ["Tasxs\u{1b}[D\u{7f}k\u{5}.\r", "\u{1b}[A\\\r", "and more\r", "/skip no idea\r", "\u{4}"] {
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
        person.shows(READY).types("/quti\r").shows("`/quti` is not a command").shows(READY).types("/back\r");
        person.shows("no question before this one").shows(READY).types(" /usr is full\r");
        person.shows(READY).types(&format!("{leaves}\r"));
        assert_eq!(person.ended().code(), Some(4));
        assert_eq!(entries(&sandbox), ["/usr is full"]);
    }
    // Through a pipe nobody can be told, and what follows would be answers to other questions.
    let sandbox = Sandbox::new();
    let piped = sandbox.flow_with(["interview", "run", DOC], "One.\n/quti\nTwo.\n").exits(2);
    insta::assert_snapshot!(piped.stderr.trim(), @r"
    Question 1 of 5: Brain Dump
    Tell me everything about this project: what you are building, for whom, which problem it solves, and why now. Order does not matter.

    Question 2 of 5: Target Users
    Who are the primary users? What are they trying to get done?
    error: `/quti` is not a command here; an answer that begins with a slash needs a space before it
      help: see `flow help interview`
    ");
    assert_eq!(entries(&sandbox), ["One."]);
    let piped = sandbox.flow_with(["interview", "run", DOC], "Two.\n/back\nThe second.\n/exit\nThree.\n").exits(4);
    insta::assert_snapshot!(piped.stderr.trim(), @r"
    Question 2 of 5: Target Users
    Who are the primary users? What are they trying to get done?

    Question 3 of 5: Value Proposition
    What do users gain here that they do not get from what they use today?

    Question 2 of 5: Target Users
    Who are the primary users? What are they trying to get done?
    (it was answered: Two.)

    Question 3 of 5: Value Proposition
    What do users gain here that they do not get from what they use today?
    ");
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
    // What was answered is brought back to be changed.
    person.shows("First?\r\n(it was answered: Onne)").shows(READY).types("\u{1b}[A\u{7f}\u{7f}e\r");
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
    for (mine, given) in [("Mine", "Mine"), ("--mine", "-- --mine")] {
        let sandbox = short();
        let mut person = talk(&sandbox);
        person.shows(READY).types("One\r").shows("Second?").shows(READY);
        sandbox.flow(["interview", "answer", DOC, "--question", "2", "Theirs"]).ok();
        person.types(&format!("{mine}\r")).shows("mine, theirs or both").shows(READY).types("\u{4}");
        let (code, seen) = (person.ended().code(), person.seen());
        assert_eq!(code, Some(4));
        let command = format!("interview answer docs/charter.md --question 2 --replace {given}");
        assert!(seen.contains(&format!("flow {command}` puts it in its place")), "{seen}");
        assert_eq!(entries(&sandbox), ["One", "Theirs"]);
        sandbox.flow(command.split(' ')).ok();
        assert_eq!(entries(&sandbox), ["One", mine]);
    }
    // Nor is it lost when the interview ended meanwhile.
    let sandbox = short();
    let mut person = talk(&sandbox);
    person.shows("First?").shows(READY);
    sandbox.flow(["interview", "abandon", DOC, "--yes"]).ok();
    person.types("Precious\r").shows("the answer that was not written: Precious");
    assert_eq!(person.ended().code(), Some(3));
}

#[test]
fn a_command_at_a_question_that_has_an_answer_is_a_command() {
    if !has_terminals("a_command_at_a_question_that_has_an_answer_is_a_command") {
        return;
    }
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let mut person = talk_at(kind, &sandbox, &[]);
        for (shown, typed) in [
            ("Question 1", "alpha\r"),
            ("Question 2", "beta\r"),
            ("Question 3", "/back\r"),
            ("(it was answered: beta)", "/back\r"),
            ("(it was answered: alpha)", "/back\r"),
            ("(there is no question before this one)", "\r"),
            ("Question 3", "/back\r"),
            ("(it was answered: beta)", "/skip not now\r"),
            ("Question 3", "/back\r"),
            ("(it was skipped: not now)", "\r"),
            ("Question 3", "/back\r"),
            ("(it was skipped: not now)", "/quit\r"),
        ] {
            person.shows(shown).shows("> ").types(typed);
        }
        assert_eq!(person.ended().code(), Some(4), "{kind}");
        assert_eq!(entries(&sandbox), ["alpha", "not now"], "{kind}");
        // Ctrl-D ends there as it does anywhere.
        let mut person = talk_at(kind, &sandbox, &[]);
        person.shows("Question 3").shows("> ").types("/back\r").shows("(it was skipped: not now)").shows("> ");
        person.types("\u{4}");
        assert_eq!(person.ended().code(), Some(4), "{kind}");
    }
}

#[test]
fn an_answer_takes_the_place_of_none_that_was_not_shown() {
    if !has_terminals("an_answer_takes_the_place_of_none_that_was_not_shown") {
        return;
    }
    for (kind, help) in [
        ("xterm", "(Enter keeps your answer, typing replaces it; arrow up brings it back to edit)"),
        ("dumb", "(Enter keeps your answer, typing replaces it)"),
    ] {
        let sandbox = short();
        let mut person = talk_at(kind, &sandbox, &[]);
        person.shows("First?").shows("> ").types("first\r").shows("Second?").shows("> ").types("second\r");
        person.shows("All questions are asked.").shows("> ").types("1\r");
        person.shows("First?\r\n(it was answered: first)\r\n").shows(help).shows("> ").types("added\r");
        person.shows("One: added").shows("> ").types("/quit\r");
        assert_eq!(person.ended().code(), Some(4), "{kind}");
        assert_eq!(entries(&sandbox), ["added", "second"], "{kind}");
    }
}

#[test]
fn what_comes_at_once_is_one_answer() {
    if !has_terminals("what_comes_at_once_is_one_answer") {
        return;
    }
    let long: String = (1..=400).map(|n| format!("line {n} of many\n")).collect();
    for kind in KINDS {
        for (typed, lines) in [("line one\nline two\n\nline three\n", 4), (long.as_str(), 400)] {
            let sandbox = short();
            let mut person = talk_at(kind, &sandbox, &[]);
            person.shows("First?").shows("> ").types(typed);
            person.shows(&format!("({lines} lines came at once, so they are one answer)"));
            person.shows("Second?").shows("> ").types("/quit\r");
            assert_eq!(person.ended().code(), Some(4), "{kind}");
            assert_eq!(entries(&sandbox), [typed.trim()], "{kind}");
        }
        // Who leaves at once has answered.
        let sandbox = short();
        let mut person = talk_at(kind, &sandbox, &[]);
        person.shows("First?").shows("> ").types("one\r\u{4}").shows("question 2 of 2 waits");
        assert_eq!(person.ended().code(), Some(4), "{kind}");
        assert_eq!(entries(&sandbox), ["one"], "{kind}");
        // What was not sent yet waits for Enter.
        let sandbox = short();
        let mut person = talk_at(kind, &sandbox, &[]);
        person.shows("First?").shows("> ").types("one\rtw").shows("w");
        std::thread::sleep(std::time::Duration::from_millis(200));
        person.types("o\r").shows("(2 lines came at once").shows("Second?").shows("> ").types("/quit\r");
        assert_eq!(person.ended().code(), Some(4), "{kind}");
        assert_eq!(entries(&sandbox), ["one\ntwo"], "{kind}");
    }
}

#[test]
fn what_was_typed_before_a_question_is_told_and_is_not_its_answer() {
    if !has_terminals("what_was_typed_before_a_question_is_told_and_is_not_its_answer") {
        return;
    }
    for kind in KINDS {
        let sandbox = Sandbox::new();
        fs::write(sandbox.path("agent.sh"), THINKER).unwrap();
        let go = |n: u8| fs::write(sandbox.path(format!("go{n}")), "").unwrap();
        let mut person = talk_at(kind, &sandbox, &["--agent", "sh agent.sh"]);
        person.shows("thinks of 0").types("early bird\r/quit\rworm").shows("worm");
        go(0);
        let told = "(typed before the question was shown, so it is not taken for an answer: early bird /quit worm)";
        person.shows(told).shows("What of 0?").shows("> ").types("mine\r").shows("thinks of 1");
        go(1);
        person.shows("What of 1?").shows("> ").types("too\r").shows("thinks of 2").types("\r1\r").shows("1");
        go(2);
        // Nor does it finish the document.
        person.shows("not taken for an answer: 1)").shows("All questions are asked.").shows("> ").types("/quit\r");
        assert_eq!(person.ended().code(), Some(4), "{kind}");
        assert_eq!(entries(&sandbox), ["mine", "too"], "{kind}");
    }
}

#[test]
fn a_backslash_at_the_end_of_a_paste_stays() {
    if !has_terminals("a_backslash_at_the_end_of_a_paste_stays") {
        return;
    }
    let sandbox = Sandbox::new();
    let mut person = talk(&sandbox);
    person.shows("Question 1").shows(READY).pastes("C:\\dir\\").types("\r");
    person.shows("Question 2").shows(READY).types("\u{1b}[A\r");
    // Words are mended before it, and typed behind it.
    person.shows("Question 3").shows(READY).pastes("dri\\").types("\u{1b}[D\u{7f}\u{1b}[Di\r");
    person.shows("Question 4").shows(READY).pastes("a\\").types("b\\\r").shows(READY).types("c\r");
    person.shows("Question 5").shows(READY).types("\u{4}");
    assert_eq!(person.ended().code(), Some(4));
    assert_eq!(entries(&sandbox), ["C:\\dir\\", "C:\\dir\\", "dir\\", "a\\b\nc"]);
}

#[test]
fn who_stops_at_an_answered_question_learns_what_is_left() {
    if !has_terminals("who_stops_at_an_answered_question_learns_what_is_left") {
        return;
    }
    let sandbox = short();
    let mut person = talk(&sandbox);
    person.shows("First?").shows(READY).types("first\r").shows("Second?").shows(READY).types("/back\r");
    person.shows("(it was answered: first)").shows(READY).types("\u{3}");
    person.shows("question 2 of 2 waits; the same command goes on with it");
    assert_eq!(person.ended().code(), Some(4));
    let mut person = talk(&sandbox);
    person.shows("Second?").shows(READY).types("second\r").shows("All questions are asked.").shows(READY).types("2\r");
    person.shows("(it was answered: second)").shows(READY).types("\u{3}");
    person.shows("all questions are asked; the same command finishes the document");
    assert_eq!(person.ended().code(), Some(4));
    assert_eq!(entries(&sandbox), ["first", "second"]);
}

#[test]
fn a_paste_keeps_its_backslashes_where_a_terminal_does_not_say_that_it_is_one() {
    if !has_terminals("a_paste_keeps_its_backslashes_where_a_terminal_does_not_say_that_it_is_one") {
        return;
    }
    for (kind, ready) in KINDS.into_iter().zip([READY, "> "]) {
        let sandbox = Sandbox::new();
        let mut person = talk_at(kind, &sandbox, &[]);
        person.shows("Question 1").shows(ready).types("cargo build \\\r  --locked \\\rend\\\r");
        // A backslash that was typed continues, and what comes at once behind it is text again.
        person.shows("Question 2").shows(ready).types("one\\\r").shows(ready).types("two \\\rthree\r");
        person.shows("Question 3").shows(ready).types("\\\\\r");
        person.shows("Question 4").shows(ready).types("a\\\r").shows(ready).types("b\\\r").shows(ready).types("c\r");
        person.shows("Question 5").shows(ready).types("\u{4}");
        assert_eq!(person.ended().code(), Some(4), "{kind}");
        let expected = ["cargo build \\\n  --locked \\\nend\\", "one\ntwo \\\nthree", "\\\\", "a\nb\nc"];
        assert_eq!(entries(&sandbox), expected, "{kind}");
    }
    // Through a pipe each line is an answer, or goes on in the next one.
    let sandbox = Sandbox::new();
    sandbox.flow_with(["interview", "run", DOC], "one\\\ntwo\n").exits(4);
    assert_eq!(entries(&sandbox), ["one\ntwo"]);
}

#[test]
fn an_answer_that_continues_is_shown_once_and_can_be_edited() {
    if !has_terminals("an_answer_that_continues_is_shown_once_and_can_be_edited") {
        return;
    }
    let sandbox = Sandbox::new();
    let mut person = talk(&sandbox);
    person.resizes(80, 24);
    person.shows("Question 1").shows(READY).types("xone\\\r");
    // The first line is taken off the screen before it is shown again.
    person.shows("\u{1b}[1A\r\u{1b}[J").shows(READY).types("two\u{1b}[A\u{7f}\r");
    person.shows("Question 2").shows(READY).types("\u{4}");
    assert_eq!(person.ended().code(), Some(4));
    assert_eq!(entries(&sandbox), ["one\ntwo"]);
}
