//! Interviews: the verbs, the conversation, agents, hand edits, two people at once, and the run that an interview belongs to.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::thread;

use serde_json::{Value, json};

use crate::support::{Answer, Person, Sandbox, calls_of, can_inject, has_terminals, run, scaled, try_all};

const DOC: &str = "docs/charter.md";

/// What a section says that was answered in few words.
const COMPLETE: &str = "\n\n<!-- Interview: complete -->";

fn text(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path(DOC)).unwrap()
}

fn put(sandbox: &Sandbox, name: &str, text: &str) {
    fs::create_dir_all(sandbox.path(name).parent().unwrap()).unwrap();
    fs::write(sandbox.path(name), text).unwrap();
}

fn interview(sandbox: &Sandbox, args: &[&str]) -> Answer {
    sandbox.flow([&["interview"], args].concat())
}

fn json_of(sandbox: &Sandbox, args: &[&str]) -> Value {
    interview(sandbox, &[args, &["--json"]].concat()).ok().json()
}

/// What stands in the pad: numbers, topics and answers.
fn entries(sandbox: &Sandbox) -> Vec<(u64, String, Option<String>)> {
    let status = json_of(sandbox, &["status", DOC]);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let entry =
        |entry: &Value| (entry["number"].as_u64().unwrap(), text(&entry["topic"]).unwrap(), text(&entry["answer"]));
    status["entries"].as_array().unwrap().iter().map(entry).collect()
}

#[test]
fn an_interview_that_began_before_the_project_is_listed() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("docs")).unwrap();
    sandbox.flow(["interview", "list"]).exits(3);
    sandbox.flow(["interview", "start", "docs/a.md"]).ok();
    assert!(!sandbox.path(".flow").exists());
    for is_made in [false, true] {
        if is_made {
            sandbox.flow(["start", "debug", "--id", "r1"]).ok();
        }
        let listed = sandbox.flow(["interview", "list", "--json"]).ok().json()["documents"].clone();
        assert_eq!((listed.as_array().unwrap().len(), &listed[0]["document"]), (1, &json!("docs/a.md")), "{listed}");
    }
    // What another project has is none of this one's.
    let other = sandbox.path("../other");
    std::fs::create_dir(&other).unwrap();
    sandbox.flow(["-C", other.to_str().unwrap(), "init"]).ok();
    let listed = sandbox.flow(["-C", other.to_str().unwrap(), "interview", "list", "--json"]).ok().json();
    assert_eq!(listed["documents"], json!([]));
}

#[test]
fn an_interview_goes_from_nothing_to_a_finished_document() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(interview(&sandbox, &["start", DOC]).ok().stdout, @r"
    begun  docs/charter.md  CREATE  charter
    question 1 of 5  Brain Dump
      Tell me everything about this project: what you are building, for whom, which problem it solves, and why now. Order does not matter.
      next        flow interview answer docs/charter.md --question 1 'TEXT'
    ");
    assert!(text(&sandbox).starts_with("# Project Charter\n\n## Problem & Context\n\n_TBD_\n\n## Target Users\n"));
    insta::assert_snapshot!(interview(&sandbox, &["answer", DOC, "Tasks for teams.\n\n## Why\n- it is slow"]).ok().stdout, @r"
    answered  1 Brain Dump
    question 2 of 5  Target Users
      Who are the primary users? What are they trying to get done?
      next        flow interview answer docs/charter.md --question 2 'TEXT'
    ");
    sandbox.flow_with(["interview", "answer", DOC, "--question", "2"], "Managers.\nLeads.\n").ok();
    insta::assert_snapshot!(interview(&sandbox, &["skip", DOC, "--reason", "ask Ada"]).ok().stdout, @r"
    skipped  3 Value Proposition
    question 4 of 5  Scope
      What belongs into the first version, and what is left out on purpose?
      next        flow interview answer docs/charter.md --question 4 'TEXT'
    ");
    interview(&sandbox, &["answer", DOC, "--question", "4", "Tasks, no chat."]).ok();
    insta::assert_snapshot!(interview(&sandbox, &["answer", DOC, "--question", "5", "Ten teams."]).ok().stdout, @r"
    answered  5 Success Criteria
    all questions are asked
      next        flow interview finish docs/charter.md
    ");
    insta::assert_snapshot!(interview(&sandbox, &["status", DOC]).ok().stdout, @r"
    CREATE  docs/charter.md  charter
      started     2026-05-20T14:30:03Z
      Q1  answered  Brain Dump         Tasks for teams.
      Q2  answered  Target Users       Managers.
      Q3  skipped   Value Proposition  ask Ada
      Q4  answered  Scope              Tasks, no chat.
      Q5  answered  Success Criteria   Ten teams.
    sections
      placeholder  Problem & Context  line 3
      placeholder  Target Users       line 7
      placeholder  Value Proposition  line 11
      placeholder  Scope              line 15
      placeholder  Success Criteria   line 19
    all questions are asked
      next        flow interview finish docs/charter.md
    ");
    insta::assert_snapshot!(interview(&sandbox, &["finish", DOC]).ok().stdout, @r"
    finished  docs/charter.md  4 answered, 1 skipped
      written  Problem & Context
      written  Target Users
      kept     Value Proposition
      written  Scope
      written  Success Criteria
    ");
    insta::assert_snapshot!(text(&sandbox).replace(COMPLETE, ""), @r"
    # Project Charter

    ## Problem & Context

    Tasks for teams.

    \## Why
    - it is slow

    ## Target Users

    Managers.
    Leads.

    ## Value Proposition

    _TBD_

    ## Scope

    Tasks, no chat.

    ## Success Criteria

    Ten teams.
    ");
    assert_eq!(fs::read_dir(sandbox.path("docs")).unwrap().count(), 1, "nothing lies beside it");
}

#[test]
fn the_answers_for_programs_have_the_shape_of_the_design() {
    let sandbox = Sandbox::new();
    let started = json_of(&sandbox, &["start", DOC]);
    assert_eq!((&started["mode"], &started["begun"]), (&json!("CREATE"), &json!(true)));
    let next = json_of(&sandbox, &["next", DOC]);
    assert_eq!(next["type"], "next_question");
    assert_eq!(next["metadata"], json!({ "question_number": 1, "total_questions": 5, "gaps_remaining": 5 }));
    let before = text(&sandbox);
    assert_eq!(json_of(&sandbox, &["start", DOC])["mode"], "RESUME");
    assert_eq!(text(&sandbox), before, "beginning again changes nothing");
    for number in 1..=5 {
        let answer = json_of(&sandbox, &["answer", DOC, "--question", &number.to_string(), "One. Two."]);
        assert_eq!((&answer["question"], &answer["repeated"]), (&json!(number), &json!(false)));
    }
    let done = json_of(&sandbox, &["next", DOC]);
    assert_eq!((&done["type"], &done["complete"]), (&json!("success"), &json!(true)));
    assert_eq!(done["content"]["users"], "One. Two.");
    let finished = json_of(&sandbox, &["finish", DOC]);
    assert_eq!(finished["sections"][4], json!({ "heading": "Success Criteria", "how": "written" }));
    // Nothing is left to ask: the document stays as it is.
    let before = text(&sandbox);
    let again = json_of(&sandbox, &["start", DOC]);
    assert_eq!(
        (&again["next"]["type"], &again["begun"], &again["mode"]),
        (&json!("skip"), &json!(false), &json!("UPDATE"))
    );
    assert_eq!(text(&sandbox), before);
}

#[test]
fn only_gaps_of_a_document_are_asked_about_and_its_bytes_stay() {
    let sandbox = Sandbox::new();
    let own = "---\r\ntitle: Ours\r\n---\r\n# Ours\r\n\r\n## Users\r\n\r\nManagers. And leads.\r\n\r\n## Scope\r\n\r\nTBD\r\n\r\n## Notes\r\n\tkept";
    put(&sandbox, DOC, own);
    let started = json_of(&sandbox, &["start", DOC]);
    assert_eq!((&started["mode"], &started["next"]["topic"]), (&json!("UPDATE"), &json!("Problem")));
    assert_eq!(started["next"]["metadata"]["total_questions"], 4);
    assert!(text(&sandbox).starts_with(own));
    for (topic, answer) in
        [("Problem", "Slow."), ("Value Proposition", "Speed."), ("Scope", "Tasks."), ("Success Criteria", "Ten.")]
    {
        assert_eq!(json_of(&sandbox, &["answer", DOC, answer])["topic"], topic);
    }
    interview(&sandbox, &["finish", DOC]).ok();
    let finished = text(&sandbox).replace(&COMPLETE.replace('\n', "\r\n"), "");
    assert!(finished.starts_with(own.split("TBD").next().unwrap()), "{finished}");
    assert!(
        finished
            .contains("## Scope\r\n\r\nTasks.\r\n\r\n## Notes\r\n\tkept\r\n\r\n## Problem & Context\r\n\r\nSlow.\r\n"),
        "{finished}"
    );
}

#[test]
fn of_two_people_who_answer_at_once_one_wins_and_the_other_is_told() {
    let sandbox = Sandbox::new();
    interview(&sandbox, &["start", DOC]).ok();
    for number in 1..=5 {
        let number = number.to_string();
        let answers: Vec<(String, Answer)> = thread::scope(|scope| {
            let people: Vec<_> = (0..6)
                .map(|person| {
                    let said = format!("What person {person} says about {number}.");
                    let mut command = sandbox.flow_command();
                    command.args(["interview", "answer", DOC, "--question", &number, &said, "--json"]);
                    scope.spawn(move || (said, run(command, "")))
                })
                .collect();
            people.into_iter().map(|person| person.join().unwrap()).collect()
        });
        let winners: Vec<_> = answers.iter().filter(|(_, answer)| answer.code == Some(0)).collect();
        let [(said, _)] = winners.as_slice() else { panic!("{answers:?}") };
        assert_eq!(entries(&sandbox).last().unwrap().2.as_ref(), Some(said));
        for (own, answer) in answers.iter().filter(|(_, answer)| answer.code != Some(0)) {
            assert_eq!((answer.code, &answer.error()["code"]), (Some(5), &json!("already_answered")));
            assert!(answer.stderr.contains(said.as_str()) && answer.stderr.contains(own.as_str()), "{answer:?}");
        }
    }
    interview(&sandbox, &["finish", DOC]).ok();
}

#[test]
fn an_answer_goes_under_no_other_question_than_was_read() {
    let sandbox = Sandbox::new();
    interview(&sandbox, &["start", DOC]).ok();
    interview(&sandbox, &["answer", DOC, "Tasks."]).ok();
    let before = text(&sandbox);
    let refused = |args: &[&str], code: i32, name: &str| {
        let answer = interview(&sandbox, &[args, &["--json"]].concat());
        assert_eq!((answer.code, &answer.error()["code"]), (Some(code), &json!(name)), "{args:?}");
        assert_eq!(text(&sandbox), before, "{args:?}");
    };
    refused(&["answer", DOC, "Tasks."], 1, "answer_repeated");
    refused(&["answer", DOC, "--question", "1", "Other."], 5, "already_answered");
    refused(&["skip", DOC, "--question", "1"], 5, "already_answered");
    refused(&["answer", DOC, "--question", "3", "Early."], 3, "no_such_question");
    refused(&["answer", DOC, "--question", "2", " \n"], 2, "empty_answer");
    let own = ["answer", DOC, "--topic", "Budget", "--asked", "How much?", "Little."];
    assert_eq!(json_of(&sandbox, &own)["question"], 2);
    let before = text(&sandbox);
    assert_eq!(json_of(&sandbox, &own)["repeated"], true, "asked and answered once");
    assert_eq!(interview(&sandbox, &[&own[..6], &["Much."]].concat()).code, Some(5));
    let next = interview(&sandbox, &["start", "--", "-odd name.md"]).ok().stdout;
    assert!(next.ends_with("flow interview answer './-odd name.md' --question 1 'TEXT'\n"), "{next}");
    let long = sandbox.flow_with(["interview", "answer", DOC, "--json"], &"x".repeat((256 << 10) + 1));
    assert_eq!((long.code, &long.error()["code"]), (Some(1), &json!("answer_too_long")));
    assert_eq!(text(&sandbox), before);
}

#[test]
fn a_refused_answer_says_what_to_do_and_is_not_lost() {
    let sandbox = Sandbox::new();
    interview(&sandbox, &["start", DOC]).ok();
    interview(&sandbox, &["skip", DOC]).ok();
    interview(&sandbox, &["answer", DOC, "--topic", "Budget", "--asked", "How much?", "Little."]).ok();
    let said = |args: &[&str], code: i32| interview(&sandbox, args).exits(code).stderr;
    insta::assert_snapshot!(said(&["answer", DOC, "--question", "1", "Late."], 5), @r"
    error: question 1 of docs/charter.md was skipped already
      cause: the answer that was not written: Late.
      help: `flow interview status docs/charter.md` shows all answers; with --replace yours takes its place; nothing was written
    ");
    insta::assert_snapshot!(said(&["skip", DOC, "--question", "2"], 5), @r"
    error: question 2 of docs/charter.md has another answer already: Little.
      help: `flow interview status docs/charter.md` shows all answers; nothing was written
    ");
    insta::assert_snapshot!(said(&["answer", DOC, "--question", "2", "--asked", "How long?", "--topic", "Time", "A week."], 5), @r"
    error: question 2 of docs/charter.md is another one by now: How much?
      cause: the answer that was not written: A week.
      help: `flow interview next docs/charter.md` shows what is asked; nothing was written
    ");
    insta::assert_snapshot!(said(&["answer", DOC, "--question", "7", "Early."], 3), @r"
    error: there is no question 7 in docs/charter.md yet
      help: `flow interview next docs/charter.md` shows what is asked; nothing was written
    ");
    for _ in 3..=5 {
        interview(&sandbox, &["answer", DOC, &format!("{}.", entries(&sandbox).len())]).ok();
    }
    insta::assert_snapshot!(said(&["answer", DOC, "--question", "6", "More."], 1), @r"
    error: nothing is asked in docs/charter.md now
      help: write the answers into it with `flow interview finish docs/charter.md`
    ");
    put(&sandbox, "content.json", "{\"user\":\"All.\"}");
    insta::assert_snapshot!(said(&["finish", DOC, "--early", "--content", "content.json"], 1), @r"
    error: there is a text for `user`, which is neither a section of docs/charter.md nor a topic in it
      help: did you mean `users`? There are problem, users, value_prop, scope, success, Budget; nothing was written
    ");
    put(&sandbox, "content.json", "{\"users\":\"## All\"}");
    insta::assert_snapshot!(said(&["finish", DOC, "--early", "--content", "content.json"], 1), @r"
    error: docs/charter.md: the text for the section `Target Users` would end its section early, or swallow what follows
      help: use deeper headings, and close code blocks and comments; nothing was written
    ");
}

#[test]
fn behind_two_hyphens_anything_is_the_answer() {
    let sandbox = Sandbox::new();
    interview(&sandbox, &["start", DOC]).ok();
    interview(&sandbox, &["answer", DOC, "--question", "1", "--hlep"]).exits(2);
    interview(&sandbox, &["answer", DOC, "--question", "1", "--", "--help"]).ok();
    interview(&sandbox, &["answer", "--question", "2", "--", DOC, "-x"]).ok();
    interview(&sandbox, &["answer", DOC, "--question", "3", "--", "-"]).ok();
    interview(&sandbox, &["answer", DOC, "--question", "4", "--", "plain"]).ok();
    let given: Vec<_> = entries(&sandbox).into_iter().filter_map(|entry| entry.2).collect();
    assert_eq!(given, ["--help", "-x", "-", "plain"]);
    let two = interview(&sandbox, &["answer", DOC, "--question", "5", "--", "two", "words"]).exits(2);
    insta::assert_snapshot!(two.stderr, @r"
    error: more than one answer was given; put quotes around it
      help: see `flow help interview`
    ");
    sandbox.flow_with(["interview", "answer", DOC, "--question", "5", "--"], "read\n").ok();
    assert_eq!(entries(&sandbox)[4].2.as_deref(), Some("read"));
}

#[test]
fn a_retry_is_one_however_its_lines_end() {
    let sandbox = Sandbox::new();
    interview(&sandbox, &["start", DOC]).ok();
    sandbox.flow_with(["interview", "answer", DOC], "a\r\nb\r\n").ok();
    let again = sandbox.flow_with(["interview", "answer", DOC, "--json"], "a\r\nb\r\n").exits(1);
    assert_eq!(again.error()["code"], "answer_repeated");
}

#[test]
fn questions_of_ones_own_that_are_asked_at_once_are_all_kept() {
    let sandbox = Sandbox::new();
    interview(&sandbox, &["start", DOC]).ok();
    thread::scope(|scope| {
        for person in 0..8 {
            let mut command = sandbox.flow_command();
            let (topic, asked) = (format!("Topic {person}"), format!("What does {person} want?"));
            command.args(["interview", "answer", DOC, "--topic", &topic, "--asked", &asked, &format!("{person}.")]);
            scope.spawn(move || run(command, "").ok());
        }
    });
    let seen = entries(&sandbox);
    assert_eq!(seen.iter().map(|entry| entry.0).collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
    for (_, topic, answer) in seen {
        assert_eq!(answer.map(|answer| format!("Topic {answer}")), Some(topic + "."));
    }
    let finished = json_of(&sandbox, &["finish", DOC, "--early"]);
    assert_eq!(finished["answered"], 8);
    assert_eq!(text(&sandbox).matches("## Topic ").count(), 8);
}

#[test]
fn a_script_has_one_name() {
    let sandbox = Sandbox::new();
    put(&sandbox, ".flow/interviews/mine.interview.yaml", OWN_SCRIPT);
    let refused = interview(&sandbox, &["start", DOC, "--script", "mine", "--json"]).exits(1);
    assert_eq!(refused.error()["code"], "invalid_interview");
    assert!(refused.stderr.contains("the id is `retro`, but the file's name makes it `mine`"), "{refused:?}");
    assert!(!sandbox.path(DOC).exists());
    put(&sandbox, ".flow/interviews/Bad name.interview.yaml", OWN_SCRIPT);
    let found = sandbox.flow(["doctor", "--json"]);
    assert_eq!(found.stdout.matches("\"script_invalid\"").count(), 2, "{found:?}");
    let unknown = interview(&sandbox, &["start", DOC, "--script", "Bad name"]).exits(3);
    insta::assert_snapshot!(unknown.stderr, @r"
    error: there is no interview `Bad name`
      help: Known are charter, mine
    ");
}

#[test]
fn all_that_is_needed_is_enough() {
    let sandbox = Sandbox::new();
    put(&sandbox, ".flow/interviews/retro.interview.yaml", OWN_SCRIPT);
    interview(&sandbox, &["start", DOC, "--script", "retro"]).ok();
    interview(&sandbox, &["answer", DOC, "Much."]).ok();
    let next = json_of(&sandbox, &["next", DOC]);
    assert_eq!((&next["type"], &next["complete"]), (&json!("success"), &json!(true)));
    assert_eq!((&next["content"], &next["metadata"]["gaps_remaining"]), (&json!({ "well": "Much." }), &json!(1)));
    interview(&sandbox, &["finish", DOC]).ok();
    let again = interview(&sandbox, &["start", DOC, "--script", "retro"]).ok().stdout;
    assert_eq!(
        again,
        "nothing to ask  docs/charter.md  UPDATE  retro\nall that is needed is there, so there is nothing to ask\n"
    );
}

#[test]
fn scripts_and_runs_are_those_of_the_project_in_which_the_document_lies() {
    let sandbox = Sandbox::new();
    put(&sandbox, "other/.flow/interviews/retro.interview.yaml", OWN_SCRIPT);
    sandbox.flow(["-C", "other", "start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["start", "debug", "--id", "r2"]).ok();
    let document = "other/docs/retro.md";
    interview(&sandbox, &["start", document, "--script", "retro", "--run-id", "r1"]).ok();
    let link = interview(&sandbox, &["answer", "other/.././other/docs/../docs/retro.md", "Much."]).ok();
    assert_eq!(link.stderr, "");
    let resumed = sandbox.flow(["-C", "other", "resume", "--json"]).exits(4).json();
    let command = resumed["next"]["alternatives"][0]["command"].as_str().unwrap();
    assert_eq!(command, format!("flow interview finish {document}"), "its only question has an answer");
    let named = sandbox.flow(["-C", "other", "interview", "next", document, "--json"]).ok().json();
    assert_eq!(named["type"], "success");
    let elsewhere = sandbox.flow(["-C", ".", "interview", "next", document, "--json"]).exits(3);
    assert_eq!(elsewhere.error()["code"], "unknown_interview");
    interview(&sandbox, &["finish", document]).ok();
    let activities = sandbox.flow(["-C", "other", "show", "r1", "--json"]).ok().json();
    assert_eq!(activities["activities"].as_array().unwrap().last().unwrap()["status"], "passed");
}

#[test]
fn bytes_that_are_no_text_are_no_answer() {
    let sandbox = Sandbox::new();
    interview(&sandbox, &["start", DOC]).ok();
    let mut command = sandbox.flow_command();
    command.args(["interview", "run", DOC]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"/help\nTasks.\ncaf\xe9\nMore.\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    insta::assert_snapshot!(said, @r#"
    Question 1 of 5: Brain Dump
    Tell me everything about this project: what you are building, for whom, which problem it solves, and why now. Order does not matter.
    (Enter sends, \ at the end goes on in the next line, /back, /skip REASON, /help, /quit or Ctrl-D)

    Question 2 of 5: Target Users
    Who are the primary users? What are they trying to get done?
    error: cannot read standard input
      cause: it is not UTF-8 text
      help: give UTF-8 text; nothing of it was written
    "#);
    assert_eq!(entries(&sandbox).len(), 1, "what came before stays, and nothing else");
    assert_eq!(sandbox.flow_with(["interview", "run", DOC], "Managers.\\").exits(4).code, Some(4));
    assert_eq!(sandbox.flow_with(["interview", "run", DOC], "/quit\nno\n").exits(4).code, Some(4));
    assert_eq!(entries(&sandbox)[1..], [(2, "Target Users".to_owned(), Some("Managers.".to_owned()))]);
}

#[test]
fn what_people_write_into_the_pad_counts() {
    let sandbox = Sandbox::new();
    interview(&sandbox, &["start", DOC]).ok();
    interview(&sandbox, &["answer", DOC, "Taskz."]).ok();
    let by_hand = text(&sandbox).replace("Taskz.", "Tasks.\n\n```sh\n# no heading\n```\n\n- for teams")
        + "\n### Q2: Budget\n**Asked**: How much?\n**Answer**: Little.\n\n### Q3: Scope\n**Asked**: What is in?\n";
    put(&sandbox, DOC, &by_hand);
    let next = json_of(&sandbox, &["next", DOC]);
    assert_eq!((&next["next_question"], &next["metadata"]["question_number"]), (&json!("What is in?"), &json!(3)));
    interview(&sandbox, &["answer", DOC, "--question", "3", "Tasks."]).ok();
    interview(&sandbox, &["answer", DOC, "--question", "1", "--replace", "Tasks, for teams."]).ok();
    let seen = entries(&sandbox);
    assert_eq!(seen[0], (1, "Brain Dump".to_owned(), Some("Tasks, for teams.".to_owned())));
    assert_eq!(seen[2].2.as_deref(), Some("Tasks."));
    // The scope is answered, so it is not asked about again; four sections and five questions are enough for the rest.
    assert_eq!(json_of(&sandbox, &["next", DOC])["topic"], "Target Users");
    interview(&sandbox, &["finish", DOC, "--early"]).ok();
    assert!(text(&sandbox).ends_with("## Budget\n\nLittle.\n"), "{}", text(&sandbox));
}

#[test]
fn what_cannot_be_read_is_told_and_never_lost() {
    let sandbox = Sandbox::new();
    interview(&sandbox, &["start", DOC]).ok();
    interview(&sandbox, &["answer", DOC, "Tasks."]).ok();
    put(&sandbox, DOC, &(text(&sandbox) + "\n### Ideas\nAsk Ada.\n"));
    let line = text(&sandbox).lines().position(|line| line == "### Ideas").unwrap() + 1;
    let status = json_of(&sandbox, &["status", DOC]);
    assert_eq!(status["problems"][0]["line"], line);
    let answered = interview(&sandbox, &["answer", DOC, "--question", "2", "Managers."]).ok();
    assert!(answered.stderr.starts_with(&format!("warning: line {line} of the scratch pad")), "{answered:?}");
    let before = text(&sandbox);
    let refused = interview(&sandbox, &["finish", DOC, "--early", "--json"]).exits(1);
    assert_eq!(refused.error()["code"], "unreadable_entries");
    assert_eq!(text(&sandbox), before);
    put(&sandbox, DOC, &before.replace("### Ideas", "#### Ideas"));
    interview(&sandbox, &["finish", DOC, "--early"]).ok();
    assert!(text(&sandbox).contains("Tasks.\n\n#### Ideas\nAsk Ada.\n"), "{}", text(&sandbox));
}

#[test]
fn a_scratch_pad_that_lost_its_heading_goes_on() {
    let sandbox = Sandbox::new();
    interview(&sandbox, &["start", DOC]).ok();
    interview(&sandbox, &["answer", DOC, "Tasks."]).ok();
    let whole = text(&sandbox);
    for (heading, is_read) in [("## scratch pad\n\n", true), ("", false), ("Scratch Pad\n\n", false)] {
        put(&sandbox, DOC, &whole.replace("## Scratch Pad\n\n", heading));
        let before = text(&sandbox);
        let next = interview(&sandbox, &["next", DOC, "--json"]);
        if is_read {
            assert_eq!(next.ok().json()["metadata"]["question_number"], 2);
            assert!(json_of(&sandbox, &["start", DOC])["mode"] == "RESUME" && text(&sandbox) == before);
            continue;
        }
        assert_eq!(next.exits(65).error()["code"], "pad_heading_lost");
        for refused in [["answer", DOC, "Managers."], ["finish", DOC, "--early"], ["abandon", DOC, "--yes"]] {
            interview(&sandbox, &refused).exits(65);
            assert_eq!(text(&sandbox), before);
        }
        let again = json_of(&sandbox, &["start", DOC]);
        assert_eq!((&again["mode"], &again["next"]["metadata"]["question_number"]), (&json!("RESUME"), &json!(2)));
        let warning = again["warnings"][0].as_str().unwrap();
        assert!(warning.starts_with("the heading of the scratch pad was gone; it is back in line "), "{warning}");
        assert_eq!(text(&sandbox), whole);
    }
}

/// What `sed '/^## Scratch Pad/,/^<!-- Script/d'` leaves of a document.
fn without_head(text: &str) -> String {
    let (own, pad) = text.split_once("## Scratch Pad\n").unwrap();
    format!("{own}{}", pad.split_once("<!-- Script: retro -->\n").unwrap().1)
}

#[test]
fn a_scratch_pad_that_lost_its_comments_as_well_goes_on_by_its_script() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    put(&sandbox, ".flow/interviews/retro.interview.yaml", &OWN_SCRIPT.replace("complete_when: [well]\n", ""));
    interview(&sandbox, &["start", DOC, "--script", "retro"]).ok();
    interview(&sandbox, &["answer", DOC, "Much."]).ok();
    let cut = without_head(&text(&sandbox));
    let mended =
        "## Scratch Pad\n\n<!-- Script: retro -->\n\n### Q1: Well\n**Asked**: What went well?\n**Answer**: Much.\n";
    for script in [&[][..], &["--script", "retro"]] {
        put(&sandbox, DOC, &cut);
        let again = interview(&sandbox, &[&["start", DOC], script].concat()).ok();
        assert_eq!(
            again.stdout,
            "goes on  docs/charter.md  RESUME  retro\nquestion 2 of 2  Badly\n  What went badly?\n  next        \
             flow interview answer docs/charter.md --question 2 'TEXT'\n"
        );
        assert_eq!(
            again.stderr,
            "warning: the heading of the scratch pad was gone; it is back in line 12, and the script is `retro`\n"
        );
        assert!(text(&sandbox).ends_with(mended), "{}", text(&sandbox));
    }
    // Where two scripts ask this, a person says which one is meant, also after the heading was put back by hand.
    let twin = OWN_SCRIPT.replace("id: retro", "id: twin").replace("complete_when: [well]\n", "");
    put(&sandbox, ".flow/interviews/twin.interview.yaml", &twin);
    put(&sandbox, DOC, &cut);
    let asked = interview(&sandbox, &["start", DOC]).exits(65);
    insta::assert_snapshot!(asked.stderr, @r"
    error: docs/charter.md:12 this scratch pad does not say to which script its questions belong
      help: name it with `flow interview start docs/charter.md --script NAME`: charter, retro, twin; nothing was written
    ");
    assert_eq!(text(&sandbox), cut);
    for heading in ["", "## Scratch Pad\n\n"] {
        put(&sandbox, DOC, &cut.replace("### Q1", &format!("{heading}### Q1")));
        assert_eq!(json_of(&sandbox, &["start", DOC, "--script", "twin"])["script"], "twin");
        assert!(text(&sandbox).contains("\n## Scratch Pad\n\n<!-- Script: twin -->\n\n### Q1"), "{}", text(&sandbox));
    }
    let other = interview(&sandbox, &["start", DOC, "--script", "retro", "--json"]).exits(1);
    assert_eq!(other.error()["code"], "wrong_interview");
}

#[test]
fn questions_of_a_document_itself_are_no_scratch_pad() {
    let sandbox = Sandbox::new();
    let one = "# FAQ\n\n### Q1: What is it?\n\n**Answer**: A task app.\n";
    let two = format!("{one}\n### Q2: For whom?\n\n**Answer**: For teams.\n");
    let asked = "# FAQ\n\n### Q1: What is it?\n**Asked**: What is it?\n**Answer**: A task app.\n";
    for own in [one, &two, asked] {
        put(&sandbox, DOC, own);
        assert_eq!(interview(&sandbox, &["status", DOC, "--json"]).exits(3).error()["code"], "no_interview");
        let begun = json_of(&sandbox, &["start", DOC]);
        assert_eq!((&begun["mode"], &begun["warnings"]), (&json!("UPDATE"), &json!([])));
        interview(&sandbox, &["answer", DOC, "--question", "1", "Slow. It costs."]).ok();
        interview(&sandbox, &["finish", DOC, "--early"]).ok();
        assert_eq!(text(&sandbox), format!("{own}\n## Problem & Context\n\nSlow. It costs.\n"));
    }
}

#[test]
fn who_gives_up_an_interview_is_told_how_many_answers_leave_the_document() {
    if !has_terminals("who_gives_up_an_interview_is_told_how_many_answers_leave_the_document") {
        return;
    }
    let sandbox = Sandbox::new();
    interview(&sandbox, &["start", DOC]).ok();
    for (answer, told) in [("Slow.", "1 answer leaves the document"), ("All.", "2 answers leave the document")] {
        interview(&sandbox, &["answer", DOC, answer]).ok();
        let mut command = sandbox.flow_command();
        command.args(["interview", "abandon", DOC]);
        let asked =
            format!("Give up the interview in docs/charter.md? {told}; a copy with all answers is kept. (y/N) ");
        Person::alone(&command).shows(&asked).types("n\r").shows("it ended: 4");
    }
}

#[test]
fn giving_up_is_asked_for_and_keeps_a_copy() {
    let sandbox = Sandbox::new();
    let own = "# Ours\n\n## Scope\n\nTBD\n";
    put(&sandbox, DOC, own);
    interview(&sandbox, &["start", DOC]).ok();
    interview(&sandbox, &["answer", DOC, "It is slow."]).ok();
    let before = text(&sandbox);
    let refused = interview(&sandbox, &["abandon", DOC, "--json"]).exits(4);
    assert_eq!(refused.error()["code"], "not_confirmed");
    assert_eq!(text(&sandbox), before);
    let unreadable = "## Scratch Pad\n\nwords\n";
    put(&sandbox, "bad.md", unreadable);
    assert_eq!(interview(&sandbox, &["abandon", "bad.md", "--json"]).exits(4).error()["code"], "not_confirmed");
    interview(&sandbox, &["abandon", "bad.md", "--yes"]).ok();
    fs::set_permissions(sandbox.path(DOC), fs::Permissions::from_mode(0o600)).unwrap();
    let gone = json_of(&sandbox, &["abandon", DOC, "--yes"]);
    let mode = fs::metadata(sandbox.path(gone["copy"].as_str().unwrap())).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "a copy is as private as its original");
    assert_eq!(text(&sandbox), own);
    assert_eq!(fs::read_to_string(sandbox.path(gone["copy"].as_str().unwrap())).unwrap(), before);
    assert_eq!(interview(&sandbox, &["abandon", DOC, "--yes", "--json"]).exits(3).error()["code"], "no_interview");
}

#[test]
fn documents_that_are_none_are_refused_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    put(&sandbox, "real.md", "# Real\n");
    put(&sandbox, "binary.md", "x");
    fs::write(sandbox.path("binary.md"), b"\xff\xfe").unwrap();
    put(&sandbox, "open.md", "# T\n\n```\nnever closed\n");
    put(&sandbox, "two.md", "## Scratch Pad\n\n### Q1: a\n**Asked**: b\n\n## Scratch Pad\n");
    put(&sandbox, "bad.md", "## Scratch Pad\n\nwords\n");
    put(&sandbox, "large.md", &"word ".repeat(300_000));
    put(&sandbox, "merged.md", "# T\n\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n");
    put(&sandbox, "named.md", "# Twice\n");
    fs::hard_link(sandbox.path("named.md"), sandbox.path("twice.md")).unwrap();
    fs::create_dir(sandbox.path("folder.md")).unwrap();
    std::os::unix::fs::symlink("real.md", sandbox.path("link.md")).unwrap();
    for (name, code, word) in [
        ("link.md", 77, "unsafe_path"),
        ("folder.md", 77, "unsafe_path"),
        ("new/", 77, "unsafe_path"),
        ("new/.", 77, "unsafe_path"),
        ("twice.md", 77, "unsafe_path"),
        ("merged.md", 65, "merge_conflict"),
        (".flow/charter.md", 77, "unsafe_path"),
        ("real.md/charter.md", 77, "unsafe_path"),
        ("binary.md", 65, "not_utf8"),
        ("large.md", 1, "document_too_large"),
        ("open.md", 1, "unsound_document"),
        ("two.md", 65, "two_scratch_pads"),
        ("bad.md", 65, "unreadable_pad"),
    ] {
        let before = fs::read(sandbox.path(name)).ok();
        let answer = interview(&sandbox, &["start", name, "--json"]).exits(code);
        assert_eq!(answer.error()["code"], word, "{name}");
        assert_eq!(fs::read(sandbox.path(name)).ok(), before);
    }
    assert_eq!(interview(&sandbox, &["next", "no.md", "--json"]).exits(3).error()["code"], "document_not_found");
    assert_eq!(interview(&sandbox, &["next", "real.md", "--json"]).exits(3).error()["code"], "no_interview");
    assert!(!sandbox.path(".flow").exists(), "an interview of no run needs no project");
    assert!(!sandbox.path("new").exists());
}

const OWN_SCRIPT: &str = "\
apiVersion: flow.synapti.ai/v1
kind: FlowInterview
metadata: { id: retro }
document: { title: Retrospective, placeholder: (nothing yet) }
complete_when: [well]
sections:
  - { id: well, heading: What went well }
  - { id: badly, heading: What went badly }
questions:
  - { topic: Well, fills: well, ask: What went well? }
  - { topic: Badly, fills: badly, ask: What went badly? }
";

#[test]
fn a_project_has_scripts_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    put(&sandbox, ".flow/interviews/retro.interview.yaml", OWN_SCRIPT);
    let started = json_of(&sandbox, &["start", DOC, "--script", "retro"]);
    assert_eq!((&started["script"], &started["next"]["metadata"]["total_questions"]), (&json!("retro"), &json!(2)));
    assert!(
        text(&sandbox).starts_with("# Retrospective\n\n## What went well\n\n(nothing yet)\n"),
        "{}",
        text(&sandbox)
    );
    assert!(text(&sandbox).contains("\n<!-- Script: retro -->\n"));
    // What is enough is asked; what else there is stays as it is.
    assert_eq!(json_of(&sandbox, &["answer", DOC, "The tests."])["next"]["type"], "success");
    let other = interview(&sandbox, &["start", DOC, "--script", "charter", "--json"]).exits(1);
    assert_eq!(other.error()["code"], "wrong_interview");
    interview(&sandbox, &["finish", DOC]).ok();
    assert!(
        text(&sandbox).contains("What went well\n\nThe tests.\n\n## What went badly\n\n(nothing yet)\n"),
        "{}",
        text(&sandbox)
    );
    let unknown = interview(&sandbox, &["start", DOC, "--script", "retr0", "--json"]).exits(3);
    assert_eq!(unknown.error()["code"], "unknown_interview");
    insta::assert_snapshot!(unknown.stderr, @r#"{"error":{"code":"unknown_interview","message":"there is no interview `retr0`","help":"did you mean `retro`? Known are charter, retro","causes":[]}}"#);
    // To the schema it is a whole number.
    put(&sandbox, ".flow/interviews/retro.interview.yaml", &format!("{OWN_SCRIPT}max_questions: 5.0\n"));
    sandbox.flow(["validate", ".flow/interviews/retro.interview.yaml"]).ok();
    put(&sandbox, ".flow/interviews/retro.interview.yaml", &OWN_SCRIPT.replace("fills: badly", "fills: bad"));
    let broken = interview(&sandbox, &["start", DOC, "--script", "retro", "--json"]).exits(1);
    assert_eq!(broken.error()["code"], "invalid_interview");
    let told = sandbox.flow(["validate", ".flow/interviews/retro.interview.yaml"]).exits(1).stdout;
    insta::assert_snapshot!(told, @r"
    .flow/interviews/retro.interview.yaml:8:5: no question fills the section `badly`
    .flow/interviews/retro.interview.yaml:11:28: there is no section `bad`
    1 file checked, 1 not valid
    ");
    assert!(sandbox.flow(["schema", "interview"]).ok().stdout.contains("\"FlowInterview\""));
}

/// An interviewer that asks rp1's two questions and one more, and then writes what was answered.
const AGENT: &str = r#"#!/bin/sh
cat >state.json
echo call >>calls
case $(grep -o '"answer":\|"skipped":' state.json | wc -l) in
0) echo '{"type":"next_question","topic":"Brain Dump","next_question":"Tell me everything about this project...","metadata":{"question_number":1}}' ;;
1) echo '{"type":"next_question","topic":"Target Users","next_question":"Who are the primary users?"}' ;;
2) echo '{"type":"next_question","topic":"Scope","next_question":"What is left out?"}' ;;
*) echo '{"type":"success","message":"done","charter_complete":false,"charter_content":{"problem":"Teams lose tasks.","users":"Managers.","scope":null}}' ;;
esac
"#;

fn with_agent(script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    put(&sandbox, "agent.sh", script);
    sandbox
}

const TALK: [&str; 5] = ["interview", "run", DOC, "--agent", "sh agent.sh"];
const SAID: [&str; 3] = ["We build a task app\\\nfor remote teams.", "Managers and leads.", "/skip later"];

/// The lines of a pipe in which these answers stand.
fn lines(said: &[&str]) -> String {
    said.iter().map(|said| format!("{said}\n")).collect()
}

#[test]
fn an_agent_without_memory_holds_the_conversation() {
    let sandbox = with_agent(AGENT);
    let talked = sandbox.flow_with(TALK, &lines(&SAID)).ok();
    insta::assert_snapshot!(talked.stderr, @r"

    Question 1 of 5: Brain Dump
    Tell me everything about this project...

    Question 2 of 5: Target Users
    Who are the primary users?

    Question 3 of 5: Scope
    What is left out?
    ");
    insta::assert_snapshot!(talked.stdout, @r"
    finished  docs/charter.md  2 answered, 1 skipped; the scratch pad is gone
      written  Problem & Context
      written  Target Users
      kept     Value Proposition
      kept     Scope
      kept     Success Criteria
    ");
    let finished = text(&sandbox);
    assert!(
        finished
            .replace(COMPLETE, "")
            .contains("## Problem & Context\n\nTeams lose tasks.\n\n## Target Users\n\nManagers.\n\n"),
        "{finished}"
    );
    assert!(finished.ends_with("## Success Criteria\n\n_TBD_\n"), "{finished}");
    assert_eq!(fs::read_to_string(sandbox.path("calls")).unwrap().lines().count(), 4, "one call for each question");
    let state: Value = serde_json::from_str(&fs::read_to_string(sandbox.path("state.json")).unwrap()).unwrap();
    assert_eq!(state["entries"][0]["answer"], "We build a task app\nfor remote teams.");
    assert_eq!((&state["entries"][2]["skipped"], &state["document"]), (&json!("later"), &json!("charter.md")));
    assert!(!state["text"].as_str().unwrap().contains("Scratch Pad"));
}

#[test]
fn a_conversation_goes_on_where_it_was_left() {
    let sandbox = with_agent(AGENT);
    let left = sandbox.flow_with(TALK, &lines(&SAID[..1])).exits(4);
    assert_eq!(left.stdout, "stopped  docs/charter.md  question 2 of 5 waits; the same command goes on with it\n");
    let seen = entries(&sandbox);
    assert_eq!(seen[1], (2, "Target Users".to_owned(), None), "what was asked is noted before anybody is asked");
    let calls = || fs::read_to_string(sandbox.path("calls")).unwrap().lines().count();
    assert_eq!(calls(), 2);
    sandbox.flow_with(TALK, "").exits(4);
    assert_eq!(calls(), 2, "an open question needs no agent");
    // Somebody answers it in an editor.
    put(&sandbox, DOC, &text(&sandbox).replace("primary users?\n", "primary users?\n**Answer**: Managers.\n"));
    sandbox.flow_with(TALK, &lines(&SAID[2..])).ok();
    assert_eq!(calls(), 4);
}

#[test]
fn recorded_calls_are_played_again() {
    let sandbox = with_agent(AGENT);
    let recorded = [&TALK[..], &["--record", "calls.jsonl"]].concat();
    sandbox.flow_with(&recorded, &lines(&SAID)).ok();
    let (first, calls) = (text(&sandbox), fs::read_to_string(sandbox.path("calls.jsonl")).unwrap());
    assert_eq!(calls.lines().count(), 4);
    fs::remove_file(sandbox.path(DOC)).unwrap();
    fs::remove_file(sandbox.path("agent.sh")).unwrap();
    // A power cut may have torn the last line of it.
    put(&sandbox, "calls.jsonl", &(calls.clone() + "{\"state\":{\"torn"));
    let replayed = ["interview", "run", DOC, "--replay", "calls.jsonl"];
    sandbox.flow_with(replayed, &lines(&SAID)).ok();
    assert_eq!(text(&sandbox), first, "the same answers make the same document, at another time");
    fs::remove_file(sandbox.path(DOC)).unwrap();
    let other = sandbox.flow_with([&replayed[..], &["--json"]].concat(), "Something else.\n").exits(3);
    assert_eq!(other.stderr.lines().last().map(|line| line.contains("\"not_recorded\"")), Some(true), "{other:?}");
    assert_eq!(entries(&sandbox).len(), 1, "what was answered stays");
}

#[test]
fn an_agent_that_answers_nothing_of_use_loses_nothing() {
    for (agent, code, word) in [
        ("exit 3", 1, "agent_failed"),
        ("echo 'I would ask about the users'", 1, "agent_failed"),
        ("echo '{\"type\":\"next_question\"}'", 1, "invalid_reply"),
        (
            "echo '{\"type\":\"success\",\"complete\":true,\"charter_complete\":true}'",
            1,
            "its reply has `complete` and `charter_complete`, which are the same; it can have one of them",
        ),
        ("echo '{\"type\":\"question\",\"next_question\":\"x\"}'", 1, "invalid_reply"),
        ("echo '{\"type\":\"next_question\",\"topic\":\"brain dump\",\"next_question\":\"Again?\"}'", 1, "asked_again"),
        (
            "printf '%s' '{\"type\":\"success\",\"content\":{\"users\":\"a\\n\\n## Own section\"}}'",
            1,
            "unsound_document",
        ),
    ] {
        let sandbox = with_agent(agent);
        interview(&sandbox, &["start", DOC]).ok();
        interview(&sandbox, &["answer", DOC, "Tasks."]).ok();
        let before = text(&sandbox);
        let answer = sandbox.flow_with([&TALK[..], &["--json"]].concat(), "x\n").exits(code);
        assert!(answer.stderr.contains(word), "{agent}: {answer:?}");
        assert_eq!(text(&sandbox), before, "{agent}");
    }
    let sandbox = with_agent("echo '{\"type\":\"error\",\"message\":\"no idea\"}'");
    let failed = sandbox.flow_with(TALK, "").exits(1);
    assert_eq!(failed.stdout, "failed  docs/charter.md  no idea\n");
    let sandbox = with_agent(
        "cat >/dev/null; echo \"{\\\"type\\\":\\\"next_question\\\",\\\"next_question\\\":\\\"$(date +%N)?\\\"}\"",
    );
    let answer = sandbox.flow_with([&TALK[..], &["--json"]].concat(), &"x\n".repeat(9)).exits(1);
    assert!(answer.stderr.contains("\"code\":\"too_many_questions\""), "{answer:?}");
    assert_eq!(entries(&sandbox).len(), 5);
}

#[test]
fn an_agent_decides_about_nothing_that_it_has_not_seen() {
    let skip = "{\"type\":\"skip\",\"message\":\"all is said\"}";
    let success = "{\"type\":\"success\",\"content\":{\"problem\":\"Mine.\"}}";
    for first in [skip, success] {
        // While the agent thinks, somebody answers; then it is asked again, and sees that.
        let flow = env!("CARGO_BIN_EXE_flow");
        let script = format!(
            "if grep -q Precious; then echo '{{\"type\":\"success\"}}'; else \
             {flow} interview answer {DOC} --question 1 Precious. >/dev/null && echo '{first}'; fi"
        );
        let sandbox = with_agent(&script);
        put(&sandbox, DOC, "# T\n");
        interview(&sandbox, &["start", DOC]).ok();
        let talked = sandbox.flow_with(TALK, "").ok();
        assert!(talked.stdout.starts_with("finished  docs/charter.md  1 answered"), "{talked:?}");
        assert_eq!(text(&sandbox), format!("# T\n\n## Problem & Context\n\nPrecious.{COMPLETE}\n"));
    }
    let sandbox = with_agent(&format!("echo '{skip}'"));
    let bad = "# T\n\n## Scratch Pad\n\n<!-- Mode: UPDATE -->\n\n### Q1 Budget\n**Asked**: ?\n**Answer**: Precious.\n";
    put(&sandbox, DOC, bad);
    sandbox.flow_with(TALK, "").exits(4);
    assert_eq!(text(&sandbox), bad, "what cannot be read is nobody's to remove");
    let sandbox = with_agent(&format!("echo '{skip}'"));
    sandbox.flow(["start", "start-issue", "--issue", "42", "--id", "r1"]).ok();
    put(&sandbox, DOC, "# T\n");
    sandbox.flow_with([&TALK[..], &["--run-id", "r1"]].concat(), "").ok();
    assert_eq!(text(&sandbox), "# T\n");
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).ok().json()["in_doubt"], json!([]));
}

#[test]
fn an_agent_without_topics_gets_numbers_for_them() {
    let sandbox =
        with_agent("echo \"{\\\"type\\\":\\\"next_question\\\",\\\"next_question\\\":\\\"$(date +%N)?\\\"}\"");
    put(&sandbox, DOC, "# T\n\n## Scratch Pad\n\n### Q2: Question 2\n**Asked**: a\n**Answer**: b\n");
    sandbox.flow_with(TALK, "").exits(4);
    assert_eq!(entries(&sandbox)[1].1, "Question 3");
}

#[test]
fn an_agent_that_is_done_finishes_with_what_was_answered() {
    let ask = "{\"type\":\"next_question\",\"topic\":\"Budget\",\"next_question\":\"How much?\"}";
    // Models like to put a fence around what they say, and some programs a byte order mark before it.
    for said in [
        format!("Sure:\n```json\n{ask}\n```"),
        format!("~~~json\n{ask}\n~~~"),
        format!("````json\n{ask}\n````"),
        format!("```json {ask} ```"),
        format!("\u{feff}{ask}"),
        format!("\u{feff}```json\n{ask}\n```\n"),
    ] {
        for success in ["{\"type\":\"success\"}", "{\"type\":\"success\",\"content\":{}}"] {
            let sandbox = with_agent(&format!("if grep -q Little; then echo '{success}'; else echo '{said}'; fi"));
            let talked = sandbox.flow_with(TALK, "Little.\n").ok();
            assert!(talked.stdout.starts_with("finished  docs/charter.md  1 answered"), "{said:?}: {talked:?}");
            assert!(text(&sandbox).ends_with("\n## Budget\n\nLittle.\n"), "{}", text(&sandbox));
        }
    }
}

#[test]
fn an_agent_that_has_nothing_to_ask_leaves_the_document_alone() {
    let sandbox = with_agent("echo '{\"type\":\"skip\",\"message\":\"all is said\"}'");
    let own = "# Ours\n\n## Scope\n\nTBD\n";
    put(&sandbox, DOC, own);
    let talked = sandbox.flow_with(TALK, "").ok();
    assert_eq!(talked.stdout, "nothing to ask  docs/charter.md  all is said\n");
    assert_eq!(text(&sandbox), own);
}

#[test]
fn a_killed_conversation_loses_no_answer_and_repeats_no_question() {
    let test = "a_killed_conversation_loses_no_answer_and_repeats_no_question";
    if !can_inject(test) {
        return;
    }
    let clean = |sandbox: &Sandbox| {
        let _ = fs::remove_dir_all(sandbox.path("docs"));
        let _ = fs::remove_file(sandbox.path("calls"));
    };
    let sandbox = with_agent(AGENT);
    sandbox.flow_with(TALK, &lines(&SAID)).ok();
    let finished = text(&sandbox);
    clean(&sandbox);
    // What strace runs reads its answers from a file.
    put(&sandbox, "said", &lines(&SAID));
    let shell = |command: &mut std::process::Command| {
        command.args(["sh", "-c", "exec \"$0\" \"$@\" <said", env!("CARGO_BIN_EXE_flow")]).args(TALK);
    };
    let (answer, calls) = calls_of(&sandbox, &[], shell);
    answer.ok();
    let changing: Vec<_> = calls.iter().filter(|call| call.changes_something()).collect();
    assert!(changing.len() > 40, "only {} calls were found", changing.len());
    // Every death of a single answer is tried in `kill.rs`.
    let some: Vec<_> = changing.into_iter().step_by(scaled(3, 1)).collect();
    try_all(&some, |call| {
        clean(&sandbox);
        let inject = format!("{}:signal=KILL:when={}", call.name, call.nth);
        calls_killed(&sandbox, &inject);
        let there = match sandbox.path(DOC).exists() {
            true if text(&sandbox).contains("## Scratch Pad") => entries(&sandbox),
            true => return assert_eq!(text(&sandbox), finished, "after {call:?}"),
            false => Vec::new(),
        };
        let given: Vec<_> = there.iter().filter_map(|(.., answer)| answer.clone()).collect();
        let wanted = ["We build a task app\nfor remote teams.", "Managers and leads.", "later"];
        assert_eq!(given, wanted[..given.len()], "after {call:?}");
        sandbox.flow_with(TALK, &lines(&SAID[given.len()..])).ok();
        assert_eq!(text(&sandbox), finished, "after {call:?}");
        let left: Vec<_> = fs::read_dir(sandbox.path("docs")).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, ["charter.md"], "after {call:?}");
    });
}

/// Holds the conversation with answers from a file, and does `inject` to it.
fn calls_killed(sandbox: &Sandbox, inject: &str) {
    let mut command = sandbox.command("strace");
    command.args(["-qq", "-o", "/dev/null", "-e"]).arg(format!("inject={inject}")).arg("--");
    command.args(["sh", "-c", "exec \"$0\" \"$@\" <said", env!("CARGO_BIN_EXE_flow")]).args(TALK);
    run(command, "");
}

#[test]
fn the_run_of_an_interview_knows_what_is_open() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "start-issue", "--issue", "42", "--id", "r1"]).ok();
    interview(&sandbox, &["start", DOC, "--run-id", "r1"]).ok();
    interview(&sandbox, &["answer", DOC, "Tasks."]).ok();
    interview(&sandbox, &["answer", DOC, "Managers."]).ok();
    let resumed = sandbox.flow(["resume", "r1", "--json"]).exits(4).json();
    let reason = resumed["reason"].as_str().unwrap();
    insta::assert_snapshot!(reason, @"`preflight` (interview docs/charter.md) waits for an answer: What do users gain here that they do not get from what they use today? (question 3 of 5 in docs/charter.md)");
    assert_eq!(resumed["next"]["alternatives"][0]["command"], "flow interview run docs/charter.md --run-id r1");
    // What the log was not told, since somebody wrote it by hand or a kill came between, it is told by the next command.
    let by_hand = text(&sandbox) + "\n### Q3: Value Proposition\n**Asked**: What is it worth?\n**Answer**: Speed.\n";
    put(&sandbox, DOC, &by_hand);
    interview(&sandbox, &["skip", DOC, "--question", "4", "--reason", "ask Ada"]).ok();
    interview(&sandbox, &["start", DOC]).ok();
    let told: Vec<_> = answers(&sandbox, "r1");
    assert_eq!(told, ["Tasks.", "Managers.", "Speed.", "(skipped) ask Ada"]);
    interview(&sandbox, &["answer", DOC, "--question", "5", "Ten teams."]).ok();
    let resumed = sandbox.flow(["resume", "r1", "--json"]).exits(4).json();
    let reason = resumed["reason"].as_str().unwrap();
    insta::assert_snapshot!(reason, @"`preflight` (interview docs/charter.md) has its answers: all questions about docs/charter.md are asked; it is to be finished");
    let ways = resumed["next"]["alternatives"].as_array().unwrap();
    assert_eq!((ways.len(), &ways[0]["command"]), (1, &json!("flow interview finish docs/charter.md")));
    interview(&sandbox, &["finish", DOC]).ok();
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(resumed["completed"][0]["status"], "passed");
    assert_eq!(resumed["in_doubt"], json!([]));
    let shown = sandbox.flow(["show", "r1", "--json"]).ok().json();
    let activity = &shown["activities"][0];
    assert!(activity["id"] == "interview-docs-charter", "{activity}");
}

#[test]
fn a_run_that_cannot_be_told_keeps_nobody_from_an_interview() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "start-issue", "--issue", "42", "--id", "r1"]).ok();
    interview(&sandbox, &["start", DOC, "--run-id", "r1"]).ok();
    put(&sandbox, DOC, "# Ours\n\n## Scope\n\nTBD\n");
    let mut claim = sandbox.flow_command();
    claim.args(["resume", "r1", "--claim", "--session", "s1"]).env("FLOW_HOLDER_PID", std::process::id().to_string());
    run(claim, "");
    let mut start = sandbox.flow_command();
    start.args(["interview", "start", DOC]).env("FLOW_SESSION", "s2");
    let started = run(start, "").ok();
    assert!(started.stderr.starts_with("warning: could not update run r1: "), "{started:?}");
    assert!(started.stdout.starts_with("begun  docs/charter.md  UPDATE"), "{started:?}");
}

#[test]
fn a_document_that_was_moved_is_found_before_an_interview_begins_again() {
    for moved in ["docs/plan.md", "charter.md", "notes/charter.md"] {
        let sandbox = Sandbox::new();
        sandbox.flow(["start", "start-issue", "--issue", "42", "--id", "r1"]).ok();
        interview(&sandbox, &["start", DOC, "--run-id", "r1"]).ok();
        interview(&sandbox, &["answer", DOC, "Tasks."]).ok();
        fs::create_dir_all(sandbox.path("notes")).unwrap();
        fs::rename(sandbox.path(DOC), sandbox.path(moved)).unwrap();
        let notes = sandbox.flow(["resume", "r1", "--json"]).exits(4).json()["notes"].clone();
        let told = format!("{moved} has the answers that {DOC} had: move it back before anything else");
        assert_eq!(notes[0], told, "{notes}");
        let way = "docs/charter.md is gone: put it back, begin again with `flow interview run docs/charter.md --run-id r1`, or end the interview with `flow interview abandon docs/charter.md`";
        for args in [
            &["start", DOC][..],
            &["start", DOC, "--run-id", "r1"],
            &["next", DOC],
            &["answer", DOC, "x"],
            &["status", DOC],
            &["finish", DOC],
        ] {
            let error = interview(&sandbox, &[args, &["--json"]].concat()).exits(3).error();
            assert_eq!(
                (&error["code"], &error["help"]),
                (&json!("document_not_found"), &json!(format!("{told}; {way}"))),
                "{args:?}"
            );
            assert!(!sandbox.path(DOC).exists());
        }
        fs::rename(sandbox.path(moved), sandbox.path(DOC)).unwrap();
        let notes = sandbox.flow(["resume", "r1", "--json"]).exits(4).json()["notes"].clone();
        assert!(!notes.to_string().contains("move it back"), "{notes}");
    }
}

#[test]
fn git_restores_the_document_of_an_interview_that_it_has() {
    let sandbox = Sandbox::new();
    sandbox.git(&["init", "-q", "-b", "main"]);
    sandbox.flow(["start", "start-issue", "--issue", "42", "--id", "r1"]).ok();
    interview(&sandbox, &["start", DOC, "--run-id", "r1"]).ok();
    sandbox.git(&["add", "-A"]);
    fs::remove_file(sandbox.path(DOC)).unwrap();
    let help = interview(&sandbox, &["answer", DOC, "Tasks.", "--json"]).exits(3).error()["help"].clone();
    let put_back = "docs/charter.md is gone: put it back with `git restore -- docs/charter.md`, begin again with ";
    assert!(help.as_str().unwrap().starts_with(put_back), "{help}");
    sandbox.git(&["restore", "--", DOC]);
    interview(&sandbox, &["answer", DOC, "Tasks."]).ok();
}

#[test]
fn of_an_interview_whose_document_is_gone_a_person_decides() {
    let gone = |run: &str| {
        let sandbox = Sandbox::new();
        sandbox.flow(["start", "start-issue", "--issue", "42", "--id", run]).ok();
        interview(&sandbox, &["start", DOC, "--run-id", run]).ok();
        fs::remove_dir_all(sandbox.path("docs")).unwrap();
        let resumed = sandbox.flow(["resume", run, "--json"]).exits(4).json();
        assert_eq!(resumed["next"]["command"], Value::Null);
        let notes = [
            "docs/charter.md is gone: put it back, begin again with `flow interview run docs/charter.md --run-id r1`, or end the interview with `flow interview abandon docs/charter.md`",
        ];
        assert_eq!(resumed["notes"], json!(notes));
        for args in [&["start", DOC, "--json"][..], &["next", DOC, "--json"]] {
            assert_eq!(interview(&sandbox, args).exits(3).error()["help"], notes[0]);
        }
        sandbox
    };
    let sandbox = gone("r1");
    sandbox.flow_with(["interview", "run", DOC, "--run-id", "r1"], "Tasks.\n").exits(4);
    assert!(text(&sandbox).contains("<!-- Run: r1 -->"));
    assert_eq!(answers(&sandbox, "r1"), ["Tasks."]);
    let sandbox = gone("r1");
    let held = |session: &str, args: &[&str]| {
        let mut command = sandbox.flow_command();
        command.args(args).env("FLOW_SESSION", session).env("FLOW_HOLDER_PID", std::process::id().to_string());
        run(command, "")
    };
    held("s1", &["resume", "r1", "--claim"]);
    assert_eq!(held("s2", &["interview", "abandon", DOC, "--json"]).exits(5).error()["code"], "run_held");
    let sandbox = gone("r1");
    let abandoned = interview(&sandbox, &["abandon", DOC]).ok();
    assert_eq!(abandoned.stdout, "abandoned  docs/charter.md\n  its document is gone, which its run knows now\n");
    assert_eq!(answers(&sandbox, "r1"), ["the interview was abandoned, since docs/charter.md is gone"]);
    let shown = sandbox.flow(["show", "r1", "--json"]).ok().json();
    assert_eq!(shown["activities"].as_array().unwrap().last().unwrap()["status"], "failed");
    assert_eq!(interview(&sandbox, &["abandon", DOC, "--json"]).exits(3).error()["code"], "document_not_found");
    assert!(!sandbox.path("docs").exists());
}

#[test]
fn a_run_takes_no_document_for_another_and_none_for_finished_that_is_not() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "start-issue", "--issue", "42", "--id", "r1"]).ok();
    for document in ["plan.md", "plan.txt", "日本.md", "中国.md"] {
        put(&sandbox, document, "# T\n");
    }
    interview(&sandbox, &["start", "plan.md", "--run-id", "r1"]).ok();
    interview(&sandbox, &["start", "日本.md", "--run-id", "r1"]).ok();
    let other = interview(&sandbox, &["start", "plan.txt", "--force"]).ok();
    assert!(other.stdout.starts_with("begun  plan.txt"), "{other:?}");
    assert_eq!(
        interview(&sandbox, &["abandon", "plan.rst", "--yes", "--json"]).exits(3).error()["code"],
        "document_not_found"
    );
    interview(&sandbox, &["start", "中国.md", "--run-id", "r1"]).ok();
    interview(&sandbox, &["abandon", "中国.md", "--yes"]).ok();
    assert_eq!(answers(&sandbox, "r1").len(), 1);
    // A pad that is only hidden is there all the same.
    let whole = fs::read_to_string(sandbox.path("plan.md")).unwrap();
    let hidden = [(whole.replace("# T\n", "# T\n\n```\n"), 3), (whole.replace("## Scratch", "    ## Scratch"), 65)];
    for (hidden, code) in hidden {
        put(&sandbox, "plan.md", &hidden);
        interview(&sandbox, &["finish", "plan.md"]).exits(code);
        let _ = interview(&sandbox, &["start", "plan.md", "--json"]);
    }
    put(&sandbox, "plan.md", "# T\n\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n");
    assert_eq!(interview(&sandbox, &["start", "plan.md", "--json"]).exits(65).error()["code"], "merge_conflict");
    assert_eq!(answers(&sandbox, "r1").len(), 1, "the run still waits");
}

#[test]
fn a_document_in_another_project_is_found_by_the_command_of_its_run() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["-C", "docs", "init"]);
    put(&sandbox, "docs/.flow/interviews/readme", "");
    interview(&sandbox, &["start", DOC]).ok();
    put(&sandbox, DOC, &text(&sandbox).replace("<!-- Mode", "<!-- Run: r1 -->\n<!-- Mode"));
    sandbox.flow(["-C", ".", "interview", "answer", DOC, "Tasks."]).ok();
    let resumed = sandbox.flow(["resume", "r1", "--json"]).exits(4).json();
    let root = sandbox.path("");
    let command = format!(
        "flow -C {} interview run docs/charter.md --run-id r1",
        root.display().to_string().trim_end_matches('/')
    );
    assert_eq!(resumed["next"]["alternatives"][0]["command"], command);
    sandbox.flow_with(command.split(' ').skip(1), "Managers.\n").exits(4);
    assert_eq!(answers(&sandbox, "r1"), ["Tasks.", "Managers."]);
}

/// What the log of a run knows as answers.
fn answers(sandbox: &Sandbox, run: &str) -> Vec<String> {
    let mut answers = Vec::new();
    for event in sandbox.events(run) {
        for report in event["reports"].as_array().into_iter().flatten() {
            if report["type"] == "user_answered" {
                answers.push(report["data"]["answer"].as_str().unwrap().to_owned());
            }
        }
    }
    answers
}

#[test]
fn a_run_that_is_over_keeps_no_answer_out_of_the_document() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "start-issue", "--issue", "42", "--id", "r1"]).ok();
    interview(&sandbox, &["start", DOC, "--run-id", "r1"]).ok();
    sandbox.flow(["cancel", "r1", "--reason", "not needed"]).ok();
    let answered = interview(&sandbox, &["answer", DOC, "Tasks."]).ok();
    assert!(answered.stderr.starts_with("warning: could not update run r1: "), "{answered:?}");
    assert_eq!(entries(&sandbox)[0].2.as_deref(), Some("Tasks."));
    let other = interview(&sandbox, &["start", DOC, "--run-id", "r2", "--json"]).exits(3);
    assert_eq!(other.error()["code"], "run_not_found");
    sandbox.flow(["start", "debug", "--id", "r2"]).ok();
    let other = interview(&sandbox, &["start", DOC, "--run-id", "r2", "--json"]).exits(1);
    assert_eq!(other.error()["code"], "wrong_run");
}

#[test]
fn an_interview_begins_in_markdown_of_the_project_alone_unless_the_caller_insists() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let outside = sandbox.root().parent().unwrap().join("outside.md");
    std::fs::create_dir(sandbox.path(".notes")).unwrap();
    std::os::unix::fs::symlink(".notes", sandbox.path("linked")).unwrap();
    let outside = outside.to_str().unwrap();
    for (document, why) in [
        ("conf.toml", "it is not a Markdown file (.md, .markdown)"),
        ("main.rs", "it is not a Markdown file (.md, .markdown)"),
        ("README", "it is not a Markdown file (.md, .markdown)"),
        (".notes/a.md", "it is in a directory or has a name that begins with a dot"),
        ("linked/a.md", "it is in a directory or has a name that begins with a dot"),
        (outside, "it is outside of the project"),
    ] {
        let text = "x = 1\n";
        let file = sandbox.path(document);
        std::fs::write(&file, text).unwrap();
        for verb in ["start", "run"] {
            let refused = interview(&sandbox, &[verb, document, "--json"]).exits(1).error();
            assert_eq!(refused["code"], "not_a_document", "{refused}");
            assert_eq!(refused["message"], format!("no interview begins in {document}: {why}"));
            assert_eq!(refused["help"], "--force begins one there all the same; nothing was written");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "{document}");
        interview(&sandbox, &["start", document, "--force"]).ok();
        // One that was begun goes on without a word.
        assert!(interview(&sandbox, &["start", document]).ok().stdout.starts_with("goes on"), "{document}");
        interview(&sandbox, &["answer", document, "--question", "1", "We build a task app."]).ok();
    }
    for document in ["docs/a.md", "docs/a.MD", "b.markdown", "./c.md"] {
        interview(&sandbox, &["start", document]).ok();
    }
    // Where there is no project yet, its place is where `flow init` would put it.
    let sandbox = Sandbox::new();
    assert_eq!(interview(&sandbox, &["start", "a.txt", "--json"]).exits(1).error()["code"], "not_a_document");
    interview(&sandbox, &["start", "a.md"]).ok();
}

#[test]
fn an_agents_reply_may_have_words_around_its_object() {
    let agent = r#"echo 'Sure! {"type": "next_question", "topic": "Who", "next_question": "Who is {it} for?"} Go on.'"#;
    let sandbox = Sandbox::new();
    let talked = sandbox.flow(["interview", "run", "a.md", "--agent", agent]).exits(4);
    assert!(talked.stdout.contains("Who is {it} for?") || talked.stderr.contains("Who is {it} for?"), "{talked:?}");
    let chooser = "echo 'I choose this: {\"next_state\": \"right\"}'";
    let graph = "initial: at\nstates:\n  at: {type: decision, transition: {next: [left, right]}}\n  \
                 left: {type: terminal}\n  right: {type: terminal}\n";
    std::fs::write(sandbox.path("job.graph.yaml"), graph).unwrap();
    let driven = sandbox.flow(["drive", "job.graph.yaml", "--choose", chooser, "--json"]).ok().json();
    assert_eq!((&driven["stop"], &driven["state"]), (&json!("ended"), &json!("right")));
}

#[test]
fn interviews_without_a_run_are_listed_while_their_documents_have_them() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let listed = || {
        let report = sandbox.flow(["interview", "list", "--json"]).ok().json();
        assert_eq!(report["interviews"], json!([]));
        let names =
            report["documents"].as_array().unwrap().iter().map(|one| one["document"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert!(listed().is_empty());
    sandbox.flow(["interview", "start", "docs/a.md"]).ok();
    sandbox.flow(["interview", "start", "docs/b.md"]).ok();
    assert_eq!(listed(), ["docs/b.md", "docs/a.md"]);
    sandbox.flow(["interview", "answer", "docs/a.md", "We build a task app."]).ok();
    assert_eq!(listed(), ["docs/a.md", "docs/b.md"]);
    let shown = sandbox.flow(["interview", "list"]).ok().stdout;
    insta::assert_snapshot!(shown, @r"
    Without an open run  2
      docs/a.md  Who are the primary users? What are they trying to get done?
      docs/b.md  Tell me everything about this project: what you are building, for whom, which problem it solves, and why now. Order does not matter.
    ");
    // What is begun in a directory below is found from anywhere in the project.
    let mut below = sandbox.flow_command();
    below.args(["interview", "start", "c.md"]).current_dir(sandbox.path("docs"));
    run(below, "").ok();
    assert_eq!(listed(), ["docs/c.md", "docs/a.md", "docs/b.md"]);
    // A document that is over, gone, or somebody's own again has no interview.
    fs::remove_file(sandbox.path("docs/b.md")).unwrap();
    sandbox.flow(["interview", "abandon", "docs/c.md", "--yes"]).ok();
    assert_eq!(listed(), ["docs/a.md"]);
    fs::write(sandbox.path("docs/a.md"), "# Mine\n").unwrap();
    assert!(listed().is_empty());
    // The note is a file like any other, and names nothing outside of the project.
    sandbox.flow(["interview", "start", "../out.md", "--force"]).ok();
    fs::write(sandbox.path(".flow/.cache/interviews.json"), r#"["../out.md","/etc/passwd","docs/../../out.md"]"#)
        .unwrap();
    assert!(listed().is_empty());
    for odd in ["{", "[1]", ""] {
        fs::write(sandbox.path(".flow/.cache/interviews.json"), odd).unwrap();
        assert!(listed().is_empty());
    }
}

#[test]
fn an_interview_of_a_run_is_listed_with_its_run_alone() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "start-issue", "--id", "r1"]).ok();
    sandbox.flow(["interview", "start", "docs/plan.md", "--run-id", "r1"]).ok();
    let report = sandbox.flow(["interview", "list", "--json"]).ok().json();
    assert_eq!((report["interviews"].as_array().unwrap().len(), &report["documents"]), (1, &json!([])));
    // When the run is over, the document still has its questions.
    sandbox.flow(["cancel", "r1", "--reason", "no"]).ok();
    let report = sandbox.flow(["interview", "list", "--json"]).ok().json();
    assert_eq!((&report["interviews"], &report["documents"][0]["run_id"]), (&json!([]), &json!("r1")));
}

#[test]
fn the_latest_hundred_documents_with_an_interview_are_noted() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    sandbox.flow(["interview", "start", "docs/first.md"]).ok();
    let names: Vec<_> = (0..120).map(|n| format!("docs/{n:03}.md")).collect();
    for name in &names {
        fs::copy(sandbox.path("docs/first.md"), sandbox.path(name)).unwrap();
    }
    let note = sandbox.path(".flow/.cache/interviews.json");
    fs::write(&note, serde_json::to_string(&names).unwrap()).unwrap();
    sandbox.flow(["interview", "start", "docs/last.md"]).ok();
    let noted: Vec<String> = serde_json::from_slice(&fs::read(&note).unwrap()).unwrap();
    assert_eq!(noted, [&names[21..], &["docs/last.md".to_owned()]].concat());
}

#[test]
fn a_document_that_is_gone_or_noted_already_takes_no_second_place() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let noted = || fs::read_to_string(sandbox.path(".flow/.cache/interviews.json")).unwrap();
    for name in ["docs/a.md", "docs/b.md", "docs/c.md"] {
        sandbox.flow(["interview", "start", name]).ok();
    }
    fs::remove_file(sandbox.path("docs/b.md")).unwrap();
    sandbox.flow(["interview", "answer", "docs/a.md", "We build a task app."]).ok();
    assert_eq!(noted(), r#"["docs/c.md","docs/a.md"]"#);
}
