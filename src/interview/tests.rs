//! Scratch pads, gaps, the order of questions and the end, on the seed's own example and on what people make of it.

use serde_json::json;

use super::*;
use crate::catalog::read_script;

/// The pad of the seed's page, as it stands there.
const SEED: &str = "\
## Scratch Pad

<!-- Interview state - will be removed upon completion -->
<!-- Mode: CREATE -->
<!-- Started: 2025-12-27T10:30:00Z -->

### Q1: Brain Dump
**Asked**: Tell me everything about this project...
**Answer**: We're building a task management app for remote teams...

### Q2: Target Users
**Asked**: Who are the primary users?
**Answer**: Product managers and team leads in companies with 10-50 employees.
";

fn charter() -> Script {
    read_script(include_str!("../../workflows/charter.interview.yaml")).unwrap()
}

fn head(mode: Mode) -> Head {
    Head { mode: Some(mode), started: Some("2025-12-27T10:30:00Z".to_owned()), ..Head::default() }
}

fn question(topic: &str, asked: &str) -> Question {
    Question { topic: topic.to_owned(), asked: asked.to_owned() }
}

fn given(text: &str) -> Answer {
    Answer::Given(text.to_owned())
}

/// The answers of the only pad.
fn answers(text: &str) -> Vec<Answer> {
    Document::read(text).only_pad().unwrap().entries.iter().map(|entry| entry.answer.clone()).collect()
}

#[test]
fn the_pad_of_the_seed_is_written_letter_by_letter() {
    let dump = question("Brain Dump", "Tell me everything about this project...");
    let users = question("Target Users", "Who are the primary users?");
    let text = Document::read("").begin(&head(Mode::Create)).unwrap();
    let text = Document::read(&text).ask(&dump).unwrap();
    let text = Document::read(&text)
        .answer(1, None, given("We're building a task management app for remote teams..."))
        .unwrap();
    let last = given("Product managers and team leads in companies with 10-50 employees.");
    let text = Document::read(&text).answer(2, Some(&users), last.clone()).unwrap();
    assert_eq!(text, SEED);
    let read = Document::read(SEED);
    let pad = read.only_pad().unwrap();
    assert_eq!((pad.head.clone(), pad.next_number(), &pad.entries[1].answer), (head(Mode::Create), 3, &last));
    assert!(pad.faults.is_empty() && pad.open().is_none());
}

#[test]
fn an_answer_forges_nothing_and_comes_back_as_it_was() {
    for evil in [
        "## Next section",
        "yes\n\n### Q9: Forged\n**Asked**: x\n**Answer**: y",
        "yes\n<!-- End scratch pad -->\nafter",
        "yes\n\n```\nnever closed",
        "- a list\n\n  ```\n  code in it",
        "text\n---\ntext\n===\n",
        "<!-- never closed",
        "yes\n<script>\n\nstill",
        "yes\n\n<div>\n\n</div>\n\n<!--\n",
        "> quotation\n> ## in it\n\n1. one\n   ### two",
        "    indented\n    # code",
        "**Answer**: again\n**Skipped**: no",
        "a\u{0}b\u{1b}[31m\u{7f}\u{85}\u{2028}\u{202e}c",
        "tab\there\n\t# not a heading",
        "[x]: /url \"title\nunclosed",
        "&#7; &amp; &#38;#7;",
        "\\# \\\\# \\",
        "a\\\nb  \nc",
        "|a|b|\n|-|-|\n|c|d|",
        "$$\n## x\n$$",
        "[^1]: note\n\n    ### Q7: in a note",
        "+++\n## toml\n+++\n---\ntitle: x\n---",
    ] {
        for newline in ["\n", "\r\n"] {
            let before = "# Title\n\ntext\n\n".replace('\n', newline);
            let text = Document::read(&before).begin(&head(Mode::Update)).unwrap();
            let text = Document::read(&text).answer(1, Some(&question("One", "First?")), given(evil)).unwrap();
            let text = Document::read(&text).answer(2, Some(&question("Two", evil)), given("fine")).unwrap();
            let text =
                Document::read(&text).answer(3, Some(&question(evil, "Third?")), Answer::Skipped(evil.to_owned()));
            let text = text.unwrap();
            let read = Document::read(&text);
            let pad = read.only_pad().unwrap();
            assert_eq!(answers(&text)[..2], [given(evil.trim()), given("fine")], "{text}");
            assert_eq!(pad.entries[1].asked, evil.trim());
            assert!(pad.faults.is_empty(), "{:?}", pad.faults);
            assert_eq!(read.without_pad().unwrap(), before);
        }
    }
}

#[test]
fn what_people_write_by_hand_is_read() {
    let by_hand = SEED
        .replace(
            "10-50 employees.",
            "10-50 employees.\n\n- and founders\n\n```sh\n# no heading\n## nor this\n```\n#### Small",
        )
        .replace("**Asked**: Who", "**Asked:** Who");
    let text =
        format!("{by_hand}\n\n### Q3: Scope\n**Asked**: What?\n**Answer**:\n\n### Q4: Later\n**Asked**: When?\n");
    let read = Document::read(&text);
    let pad = read.only_pad().unwrap();
    assert!(pad.faults.is_empty(), "{:?}", pad.faults);
    let Answer::Given(users) = &pad.entries[1].answer else { panic!() };
    assert!(users.ends_with("- and founders\n\n```sh\n# no heading\n## nor this\n```\n#### Small"), "{users}");
    assert_eq!((pad.open().unwrap().number, &pad.entries[3].answer), (3, &Answer::Open));
    let answered = read.answer(3, None, given("All of it")).unwrap();
    assert!(answered.contains("**Asked**: What?\n**Answer**: All of it\n\n### Q4"), "{answered}");
    let skipped = Document::read(&answered).answer(4, None, Answer::Skipped("later".to_owned())).unwrap();
    assert!(skipped.ends_with("**Asked**: When?\n**Skipped**: later\n"), "{skipped}");
}

#[test]
fn what_cannot_be_read_is_told_with_its_line_and_kept() {
    let bad = "\
\n### Notes\nmine\n
### Q4: No question\n**Answer**: to what?\n
### Q2: Twice\n**Asked**: a\n**Answer**: b\n
### Q5: Two answers\n**Asked**: a\n**Answer**: b\n**Answer**: c\n
### Q6: Merge\n**Asked**: a\n**Answer**: b\n<<<<<<< HEAD\n
### Q7: Stray\nwords\n**Asked**: a\n
### Q8:\n**Asked**: a\n";
    let text = format!("# Mine\n\n{SEED}{bad}");
    let read = Document::read(&text);
    let pad = read.only_pad().unwrap();
    let faults: Vec<_> = pad.faults.iter().map(|fault| format!("{}: {}", fault.line, fault.message)).collect();
    insta::assert_snapshot!(faults.join("\n"), @r"
    17: `### Notes` is no question: it would be `### Q3: topic`, and a heading inside an answer takes four hashes
    21: question 4 does not say what was asked
    23: there is a question 2 already
    30: question 5 has two parts where one belongs
    35: a merge of two versions is not settled here
    38: question 7 does not begin with **Asked**:
    41: question 8 has no topic
    ");
    assert_eq!(pad.entries.len(), 2);
    assert_eq!(pad.next_number(), 8, "no number is given twice");
    let answered = read.answer(8, Some(&question("Scope", "What?")), given("all")).unwrap();
    assert!(answered.starts_with(&text), "nothing of it is lost");
    assert!(matches!(read.finish(&charter(), None), Err(EditError::Faults { .. })));
}

#[test]
fn the_pad_is_where_markdown_has_it() {
    let fenced = format!("# T\n\n````markdown\n{SEED}````\n");
    assert!(Document::read(&fenced).pad().is_none());
    let quoted = format!("> {}", SEED.replace('\n', "\n> "));
    assert!(Document::read(&quoted).pad().is_none());
    let two = format!("{SEED}\n{SEED}");
    assert_eq!(Document::read(&two).only_pad().unwrap_err(), EditError::SecondPad { first: 1, second: 15 });
    let marked = format!("{SEED}<!-- End scratch pad -->\n\nBelow.\n\n## After\n\nmore\n");
    let read = Document::read(&marked);
    let answered = read.answer(3, Some(&question("Scope", "What?")), given("all")).unwrap();
    assert!(answered.contains("**Answer**: all\n<!-- End scratch pad -->\n\nBelow.\n"), "{answered}");
    assert_eq!(read.without_pad().unwrap(), "\nBelow.\n\n## After\n\nmore\n");
    let followed = format!("{SEED}\n\n## After\n\nmore\n");
    let answered = Document::read(&followed).answer(3, Some(&question("Scope", "What?")), given("all")).unwrap();
    assert!(answered.ends_with("**Answer**: all\n\n\n## After\n\nmore\n"), "{answered}");
}

#[test]
fn what_would_not_be_read_back_is_not_written() {
    let open = "# T\n\n```\nnever closed\n";
    let refused = Document::read(open).begin(&head(Mode::Update)).unwrap_err();
    let EditError::Unsound { why, .. } = refused else { panic!("{refused}") };
    assert_eq!(why, "the code block that begins in line 3 is not closed before it");
    let hand = format!("{SEED}\n~~~\nmine\n");
    let refused = Document::read(&hand).answer(3, Some(&question("a", "b")), given("c")).unwrap_err();
    assert!(refused.to_string().contains("line 15 is not closed"), "{refused}");
}

#[test]
fn only_one_answer_stands_for_a_question() {
    let read = Document::read(SEED);
    let same = given("We're building a task management app for remote teams...");
    assert_eq!(read.answer(1, None, same).unwrap(), SEED, "a retry changes nothing");
    assert!(matches!(read.answer(1, None, given("another")), Err(EditError::Answered { number: 1, .. })));
    assert!(matches!(read.answer(3, None, given("x")), Err(EditError::NoQuestion { number: 3, next: 3 })));
    assert!(matches!(
        read.answer(4, Some(&question("a", "b")), given("x")),
        Err(EditError::NoQuestion { number: 4, next: 3 })
    ));
    assert!(matches!(read.answer(3, Some(&question("a", "b")), given(" \n")), Err(EditError::Empty { .. })));
    let corrected = read.correct(2, "Only founders.").unwrap();
    assert_eq!(
        corrected,
        SEED.replace("Product managers and team leads in companies with 10-50 employees.", "Only founders.")
    );
}

#[test]
fn gaps_are_found_in_the_document_itself() {
    let text = "\
# Charter

## Problem & Context ##

<!-- think of the last survey -->

## target users:

Product managers. _TBD_

Value
-----

It is fast.

### Scope

- In: tasks.
- Out: chat.

# Success Criteria

```
sprint.velocity > 3
```

Nobody goes back.
";
    let views = Document::read(text).sections(&charter());
    let seen: Vec<_> = views.iter().map(|view| (view.id.as_str(), view.fill, view.line)).collect();
    assert_eq!(
        seen,
        [
            ("problem", Fill::Empty, Some(3)),
            ("users", Fill::Placeholder, Some(7)),
            ("value_prop", Fill::Short, Some(11)),
            ("scope", Fill::Filled, Some(16)),
            ("success", Fill::Filled, Some(21)),
        ]
    );
}

/// The topics that are asked one after the other, when everything is answered.
fn asked(text: &str, mode: Mode, script: &Script) -> Vec<(String, u32, u32, u32)> {
    let mut text = Document::read(text).begin(&head(mode)).unwrap();
    let mut seen = Vec::new();
    loop {
        let read = Document::read(&text);
        let (step, metadata) = script.step(&read, read.only_pad().unwrap());
        let Step::Ask { number, question } = step else {
            seen.push((
                format!("{step:?}"),
                metadata.question_number,
                metadata.total_questions,
                metadata.gaps_remaining,
            ));
            return seen;
        };
        seen.push((question.topic.clone(), number, metadata.total_questions, metadata.gaps_remaining));
        let answered = read.answer(number, Some(&question), given("One. Two."));
        text = answered.unwrap();
    }
}

#[test]
fn no_section_is_asked_about_twice_and_no_question_without_need() {
    let script = charter();
    let row = |topic: &str, number, total, gaps| (topic.to_owned(), number, total, gaps);
    assert_eq!(
        asked(&script.skeleton(), Mode::Create, &script),
        [
            row("Brain Dump", 1, 5, 5),
            row("Target Users", 2, 5, 4),
            row("Value Proposition", 3, 5, 3),
            row("Scope", 4, 5, 2),
            row("Success Criteria", 5, 5, 1),
            row("Complete", 5, 5, 0)
        ]
    );
    let partly = "## Problem\n\nTBD\n\n## Users\n\nAll. Of us.\n\n## Scope\n\nA. B.\n\n## Success\n\nA. B.\n";
    assert_eq!(
        asked(partly, Mode::Update, &script),
        [row("Problem", 1, 2, 2), row("Value Proposition", 2, 2, 1), row("Complete", 2, 2, 0)]
    );
    let full = format!("{partly}\n## Value\n\nA. B.\n").replace("TBD", "A. B.");
    assert_eq!(asked(&full, Mode::Update, &script), [row("Nothing", 0, 0, 0)]);
}

#[test]
fn the_answers_go_into_their_sections_and_the_pad_goes() {
    let script = charter();
    let text = Document::read(&script.skeleton()).begin(&head(Mode::Create)).unwrap();
    let text =
        Document::read(&text).answer(1, Some(&question("Brain Dump", "?")), given("Tasks.\n\n# and more")).unwrap();
    let text =
        Document::read(&text).answer(2, Some(&question("Target Users", "?")), Answer::Skipped(String::new())).unwrap();
    let text = Document::read(&text).answer(3, Some(&question("Budget", "How much?")), given("Little.")).unwrap();
    let (finished, changes) = Document::read(&text).finish(&script, None).unwrap();
    insta::assert_snapshot!(finished, @r"
    # Project Charter

    ## Problem & Context

    Tasks.

    \# and more

    ## Target Users

    _TBD_

    ## Value Proposition

    _TBD_

    ## Scope

    _TBD_

    ## Success Criteria

    _TBD_

    ## Budget

    Little.
    ");
    let changes: Vec<_> = changes.iter().map(|change| (change.heading.as_str(), change.how.as_str())).collect();
    assert_eq!(
        changes,
        [
            ("Problem & Context", "written"),
            ("Target Users", "kept"),
            ("Value Proposition", "kept"),
            ("Scope", "kept"),
            ("Success Criteria", "kept"),
            ("Budget", "written")
        ]
    );
}

#[test]
fn what_a_person_wrote_stays() {
    let script = charter();
    let own = "## Users\n\nManagers.\n\n## Problem\n\nTBD: ask Ada.\n\n## Scope\n\nOne. Two.\n";
    let text = Document::read(own).begin(&head(Mode::Update)).unwrap();
    let text = Document::read(&text).answer(1, Some(&question("Problem", "?")), given("It is slow.")).unwrap();
    let text = Document::read(&text).answer(2, Some(&question("users", "?")), given("And leads.")).unwrap();
    let read = Document::read(&text);
    let (finished, _) = read.finish(&script, None).unwrap();
    assert_eq!(
        finished,
        "## Users\n\nManagers.\n\nAnd leads.\n\n## Problem\n\nTBD: ask Ada.\n\nIt is slow.\n\n## Scope\n\nOne. Two.\n"
    );
    let content =
        json!({ "users": "Managers and leads.", "scope": "Mine instead.", "value_prop": "Speed.", "success": null });
    let (finished, _) = read.finish(&script, content.as_object()).unwrap();
    assert_eq!(
        finished,
        "## Users\n\nManagers and leads.\n\n## Problem\n\nTBD: ask Ada.\n\nIt is slow.\n\n## Scope\n\nOne. Two.\n\n## Value Proposition\n\nSpeed.\n",
        "what was answered and the agent left out is not lost"
    );
    for evil in ["fine\n\n## Own section\n\nx", "```\nopen", "## Scratch Pad\n", "<!--"] {
        let content = json!({ "users": evil });
        assert!(read.finish(&script, content.as_object()).is_err(), "{evil}");
    }
    let fine = json!({ "users": "### Leads\n\n```\nclosed\n```" });
    assert!(read.finish(&script, fine.as_object()).is_ok());
}

#[test]
fn a_script_is_proved() {
    let broken = include_str!("../../workflows/charter.interview.yaml")
        .replace("fills: scope", "fills: scoop")
        .replace("heading: Target Users", "heading: Scratch Pad")
        .replace("topic: Problem\n", "topic: brain  dump\n");
    let told = read_script(&broken).unwrap_err();
    let told: Vec<_> = told.iter().map(|one| format!("{} {}", one.place.unwrap(), one.message)).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    21:14 the heading `Scratch Pad` has another meaning already
    26:5 no question fills the section `scope`
    40:12 there is a question about `brain  dump` already
    50:12 there is no section `scoop`
    ");
}
