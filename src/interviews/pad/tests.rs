//! Scratch pads, gaps, the order of questions and the end, on rp1's own example and on what people make of it.

use serde_json::json;

use super::*;
use crate::interviews::read_script;

/// The pad of rp1's page, as it stands there.
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
    read_script(include_str!("../../../workflows/charter.interview.yaml")).unwrap()
}

fn head(mode: PadMode) -> PadHead {
    PadHead { mode: Some(mode), started: Some("2025-12-27T10:30:00Z".to_owned()), ..PadHead::default() }
}

fn question(topic: &str, asked: &str) -> InterviewQuestion {
    InterviewQuestion { topic: topic.to_owned(), asked: asked.to_owned() }
}

fn given(text: &str) -> InterviewAnswer {
    InterviewAnswer::Given(text.to_owned())
}

/// The answers of the only pad.
fn answers(text: &str) -> Vec<InterviewAnswer> {
    InterviewDocument::read(text).only_pad().unwrap().entries.iter().map(|entry| entry.answer.clone()).collect()
}

#[test]
fn the_pad_of_rp1_is_written_letter_by_letter() {
    let dump = question("Brain Dump", "Tell me everything about this project...");
    let users = question("Target Users", "Who are the primary users?");
    let text = InterviewDocument::read("").begin(&head(PadMode::Create)).unwrap();
    let text = InterviewDocument::read(&text).ask(&dump).unwrap();
    let text = InterviewDocument::read(&text)
        .answer(1, None, given("We're building a task management app for remote teams..."))
        .unwrap();
    let last = given("Product managers and team leads in companies with 10-50 employees.");
    let text = InterviewDocument::read(&text).answer(2, Some(&users), last.clone()).unwrap();
    assert_eq!(text, SEED);
    let read = InterviewDocument::read(SEED);
    let pad = read.only_pad().unwrap();
    assert_eq!((pad.head.clone(), pad.next_number(), &pad.entries[1].answer), (head(PadMode::Create), 3, &last));
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
            let text = InterviewDocument::read(&before).begin(&head(PadMode::Update)).unwrap();
            let text = InterviewDocument::read(&text).answer(1, Some(&question("One", "First?")), given(evil)).unwrap();
            let text = InterviewDocument::read(&text).answer(2, Some(&question("Two", evil)), given("fine")).unwrap();
            let text = InterviewDocument::read(&text).answer(
                3,
                Some(&question(evil, "Third?")),
                InterviewAnswer::Skipped(evil.to_owned()),
            );
            let text = text.unwrap();
            let read = InterviewDocument::read(&text);
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
    let read = InterviewDocument::read(&text);
    let pad = read.only_pad().unwrap();
    assert!(pad.faults.is_empty(), "{:?}", pad.faults);
    let InterviewAnswer::Given(users) = &pad.entries[1].answer else { panic!() };
    assert!(users.ends_with("- and founders\n\n```sh\n# no heading\n## nor this\n```\n#### Small"), "{users}");
    assert_eq!((pad.open().unwrap().number, &pad.entries[3].answer), (3, &InterviewAnswer::Open));
    let answered = read.answer(3, None, given("All of it")).unwrap();
    assert!(answered.contains("**Asked**: What?\n**Answer**: All of it\n\n### Q4"), "{answered}");
    let skipped =
        InterviewDocument::read(&answered).answer(4, None, InterviewAnswer::Skipped("later".to_owned())).unwrap();
    assert!(skipped.ends_with("**Asked**: When?\n**Skipped**: later\n"), "{skipped}");
}

#[test]
fn what_cannot_be_read_is_told_with_its_line_and_kept() {
    let bad = "\
\n### Notes\nmine\n
### Q4: No question\n**Answer**: to what?\n
### Q2: Twice\n**Asked**: a\n**Answer**: b\n
### Q5: Two answers\n**Asked**: a\n**Answer**: b\n**Answer**: c\n
### Q7: Stray\nwords\n**Asked**: a\n
### Q8:\n**Asked**: a\n";
    let text = format!("# Mine\n\n{SEED}{bad}");
    let read = InterviewDocument::read(&text);
    let pad = read.only_pad().unwrap();
    let faults: Vec<_> = pad.faults.iter().map(|fault| format!("{}: {}", fault.line, fault.message)).collect();
    insta::assert_snapshot!(faults.join("\n"), @r"
    17: `### Notes` is not a question (`### Q3: topic`); a heading inside an answer takes four hashes
    21: question 4 does not say what was asked
    23: there is a question 2 already
    30: question 5 has two parts where one belongs
    33: question 7 does not begin with **Asked**:
    36: question 8 has no topic
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
    assert!(InterviewDocument::read(&fenced).pad().is_none());
    let quoted = format!("> {}", SEED.replace('\n', "\n> "));
    assert!(InterviewDocument::read(&quoted).pad().is_none());
    let two = format!("{SEED}\n{SEED}");
    assert_eq!(InterviewDocument::read(&two).only_pad().unwrap_err(), EditError::SecondPad { first: 1, second: 15 });
    let marked = format!("{SEED}<!-- End scratch pad -->\n\nBelow.\n\n## After\n\nmore\n");
    let read = InterviewDocument::read(&marked);
    let answered = read.answer(3, Some(&question("Scope", "What?")), given("all")).unwrap();
    assert!(answered.contains("**Answer**: all\n<!-- End scratch pad -->\n\nBelow.\n"), "{answered}");
    assert_eq!(read.without_pad().unwrap(), "\nBelow.\n\n## After\n\nmore\n");
    let followed = format!("{SEED}\n\n## After\n\nmore\n");
    let answered =
        InterviewDocument::read(&followed).answer(3, Some(&question("Scope", "What?")), given("all")).unwrap();
    assert!(answered.ends_with("**Answer**: all\n\n\n## After\n\nmore\n"), "{answered}");
}

#[test]
fn what_would_not_be_read_back_is_not_written() {
    let open = "# T\n\n```\nnever closed\n";
    let refused = InterviewDocument::read(open).begin(&head(PadMode::Update)).unwrap_err();
    let EditError::Unsound { line, why } = refused else { panic!("{refused}") };
    assert_eq!((line, &*why), (Some(3), "what begins in line 3 is never closed"));
    let hand = format!("{SEED}\n~~~\nmine\n");
    let refused = InterviewDocument::read(&hand).answer(3, Some(&question("a", "b")), given("c")).unwrap_err();
    assert!(refused.to_string().contains("line 15 is never closed"), "{refused}");
}

#[test]
fn what_is_never_closed_hides_no_question_in_silence() {
    for open in
        ["```sh", "~~~", "<!-- note", "<pre>", "<?php", "<!DOCTYPE", "<![CDATA[", "<script>", "<style>", "<textarea>"]
    {
        let text = SEED.replace("remote teams...", &format!("remote teams...\n\n{open}\nmine"));
        let read = InterviewDocument::read(&text);
        let pad = read.only_pad().unwrap();
        let faults: Vec<_> = pad.faults.iter().map(|fault| (fault.line, fault.message.as_str())).collect();
        let why = "what begins in this line is never closed, so no question below it can be read";
        assert_eq!((pad.entries.len(), faults), (0, vec![(11, why)]), "{open}");
        assert!(matches!(read.finish(&charter(), None), Err(EditError::Faults { .. })));
    }
    let closed = SEED.replace("remote teams...", "remote teams...\n\n```\n### Q9: mine\n```\n<!--\n### Q8: out\n-->");
    let read = InterviewDocument::read(&closed);
    let pad = read.only_pad().unwrap();
    assert_eq!((pad.entries.len(), &pad.faults), (2, &Vec::new()));
}

#[test]
fn a_merge_that_is_not_settled_is_settled_by_a_person() {
    let marks = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n";
    let conflict = |line| Err(EditError::Conflict { line });
    let pads = format!("<<<<<<< HEAD\n{SEED}=======\n{SEED}>>>>>>> other\n");
    for (text, line) in [(format!("{SEED}{marks}"), 14), (format!("# T\n\n{marks}\n{SEED}"), 3), (pads, 1)] {
        let read = InterviewDocument::read(&text);
        assert_eq!(read.only_pad().map(|_| ()), conflict(line));
        assert_eq!(read.answer(2, None, given("x")).map(|_| ()), conflict(line));
    }
    assert_eq!(InterviewDocument::read(marks).begin(&head(PadMode::Update)).map(|_| ()), conflict(1));
    let code = format!("```\n{marks}```\n\n{SEED}");
    assert!(InterviewDocument::read(&code).only_pad().is_ok());
    let answered = InterviewDocument::read(SEED).answer(3, Some(&question("Merge", "?")), given(marks)).unwrap();
    let (finished, _) = InterviewDocument::read(&answered).finish(&charter(), None).unwrap();
    assert!(finished.contains("\n\\<<<<<<< HEAD\nours\n\\=======\n"), "{finished}");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_heading() {
    let text = format!("\u{feff}## Problem\n\nOne. Two.\n\n{SEED}");
    let read = InterviewDocument::read(&text);
    assert_eq!(read.sections(&charter())[0].fill, Fill::Filled);
    assert!(read.only_pad().unwrap().faults.is_empty());
    let text = format!("\u{feff}{SEED}");
    let read = InterviewDocument::read(&text);
    assert_eq!(read.only_pad().unwrap().entries.len(), 2);
    let answered = read.answer(3, Some(&question("Scope", "What?")), given("all")).unwrap();
    assert!(answered.starts_with(&text));
    assert!(read.finish(&charter(), None).unwrap().0.starts_with("\u{feff}## Problem"));
}

#[test]
fn no_number_is_given_that_would_not_be_read() {
    let text = SEED.replace("Q2", "Q9999");
    let read = InterviewDocument::read(&text);
    let further = question("Scope", "What?");
    assert_eq!(read.ask(&further), Err(EditError::NoNumberLeft));
    assert_eq!(read.answer(10_000, Some(&further), given("all")), Err(EditError::NoNumberLeft));
}

#[test]
fn only_one_answer_stands_for_a_question() {
    let read = InterviewDocument::read(SEED);
    let same = given("We're building a task management app for remote teams...");
    assert_eq!(read.answer(1, None, same).unwrap(), SEED, "a retry changes nothing");
    assert!(matches!(read.answer(1, None, given("another")), Err(EditError::Answered { number: 1, .. })));
    assert!(matches!(read.answer(3, None, given("x")), Err(EditError::NoQuestion { number: 3, next: 3 })));
    assert!(matches!(
        read.answer(4, Some(&question("a", "b")), given("x")),
        Err(EditError::NoQuestion { number: 4, next: 3 })
    ));
    assert!(matches!(read.answer(3, Some(&question("a", "b")), given(" \n")), Err(EditError::EmptyAnswer)));
    let corrected = read.correct(2, given("Only founders.")).unwrap();
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
    let views = InterviewDocument::read(text).sections(&charter());
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
fn asked(text: &str, mode: PadMode, script: &Script) -> Vec<(String, u32, u32, u32)> {
    let mut text = InterviewDocument::read(text).begin(&head(mode)).unwrap();
    let mut seen = Vec::new();
    loop {
        let read = InterviewDocument::read(&text);
        let InterviewProgress { step, metadata, .. } = script.outlook(&read, read.only_pad().unwrap());
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
        asked(&script.skeleton(), PadMode::Create, &script),
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
        asked(partly, PadMode::Update, &script),
        [row("Problem", 1, 2, 2), row("Value Proposition", 2, 2, 1), row("Complete", 2, 2, 0)]
    );
    let full = format!("{partly}\n## Value\n\nA. B.\n").replace("TBD", "A. B.");
    assert_eq!(asked(&full, PadMode::Update, &script), [row("Nothing", 0, 0, 0)]);
}

#[test]
fn the_answers_go_into_their_sections_and_the_pad_goes() {
    let script = charter();
    let text = InterviewDocument::read(&script.skeleton()).begin(&head(PadMode::Create)).unwrap();
    let text = InterviewDocument::read(&text)
        .answer(1, Some(&question("Brain Dump", "?")), given("Tasks.\n\n# and more"))
        .unwrap();
    let text = InterviewDocument::read(&text)
        .answer(2, Some(&question("Target Users", "?")), InterviewAnswer::Skipped(String::new()))
        .unwrap();
    let text =
        InterviewDocument::read(&text).answer(3, Some(&question("Budget", "How much?")), given("Little.")).unwrap();
    let (finished, changes) = InterviewDocument::read(&text).finish(&script, None).unwrap();
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
    let text = InterviewDocument::read(own).begin(&head(PadMode::Update)).unwrap();
    let text = InterviewDocument::read(&text).answer(1, Some(&question("Problem", "?")), given("It is slow.")).unwrap();
    let text = InterviewDocument::read(&text).answer(2, Some(&question("users", "?")), given("And leads.")).unwrap();
    let read = InterviewDocument::read(&text);
    let (finished, _) = read.finish(&script, None).unwrap();
    assert_eq!(
        finished,
        "## Users\n\nManagers.\n\nAnd leads.\n\n## Problem\n\nTBD: ask Ada.\n\nIt is slow.\n\n## Scope\n\nOne. Two.\n"
    );
    let content =
        json!({ "users": "Managers and leads.", "scope": "Mine instead.", "value_prop": "Speed.", "success": null });
    let (finished, _) = read.finish(&script, content.as_object()).unwrap();
    assert_eq!(
        plain(&finished),
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
fn what_a_person_wrote_in_a_section_stays_byte_for_byte() {
    for (section, stays) in [
        ("### Sub one\n\n### Sub two\n", "### Sub one\n\n### Sub two\n"),
        ("[survey]: https://example.org\n", "[survey]: https://example.org\n"),
        ("<!-- think of Ada -->\n", "<!-- think of Ada -->\n"),
        ("<!-- think of Ada -->\n\n_TBD_\n", "<!-- think of Ada -->\n"),
        ("*TBD*\n\nSome words.\n", "Some words.\n"),
        ("    code one\n    code two\n", "    code one\n    code two\n"),
        ("one\r\ntwo  \nthree\n", "one\r\ntwo  \nthree\n"),
        ("x\n- \u{2028}\n", "x\n- \u{2028}\n"),
        ("one \n", "one \n"),
        ("- TBD\n- TBD: ask\n", "- TBD\n- TBD: ask\n"),
        ("```\nTBD\n```\n", "```\nTBD\n```\n"),
        ("<!--\nTBD\n-->\n", "<!--\nTBD\n-->\n"),
        ("_TBD_\n", ""),
        ("TBD\n\n**TBD**\n", ""),
        ("", ""),
    ] {
        let before = format!("## Users\n\n{section}\n## Scope\n\nOne. Two.\n");
        let blank = if stays.is_empty() { "" } else { "\n" };
        let made = finished(&before, &[("users", "Managers.")], json!(null)).unwrap();
        assert_eq!(made, format!("## Users\n\n{stays}{blank}Managers.\n\n## Scope\n\nOne. Two.\n"));
    }
    let by_hand = "## Users\n\n## Scratch Pad\n\n### Q1: users\n**Asked**: ?\n**Answer**:\n\n  - one\n  - two\n";
    let (made, _) = InterviewDocument::read(by_hand).finish(&charter(), None).unwrap();
    assert_eq!(plain(&made), "## Users\n\n  - one\n  - two\n", "also in an answer on lines of its own");
}

#[test]
fn front_matter_is_at_the_beginning_and_rules_hide_no_section() {
    let text = "---\ntitle: x\n## Users\n---\n\n# T\n\n---\n## Users\n\nAll. Of us.\n\n---\n";
    let views = InterviewDocument::read(text).sections(&charter());
    assert_eq!((views[1].fill, views[1].line), (Fill::Filled, Some(9)));
}

#[test]
fn a_line_above_the_comments_of_a_pad_hides_none_of_them() {
    let text = SEED.replace("<!-- Mode", "A note of mine.\n\nAnd more.\n<!-- Script: retro -->\n<!-- Mode");
    let read = InterviewDocument::read(&text);
    let pad = read.only_pad().unwrap();
    assert_eq!(pad.head, PadHead { script: Some("retro".to_owned()), ..head(PadMode::Create) });
    assert_eq!((pad.entries.len(), pad.faults.len()), (2, 1));
}

#[test]
fn no_question_is_about_the_pad_itself() {
    for topic in ["Scratch Pad", "scratch  pad:"] {
        assert_eq!(InterviewDocument::read(SEED).ask(&question(topic, "?")), Err(EditError::Reserved));
    }
}

#[test]
fn only_a_document_in_which_no_pad_can_hide_is_without_one() {
    for (text, is_without) in [
        ("# T\n", true),
        (SEED, false),
        ("# T\n\n```\n## Scratch Pad\n", false),
        ("# T\n\n```\n", false),
        ("# T\n\n> ## Scratch Pad\n", true),
        ("# T\n\n## Scratch Padding\n", true),
    ] {
        assert_eq!(InterviewDocument::read(text).is_without_pad(), is_without, "{text}");
    }
}

/// A finished document that began as `before`, with these answers to questions of these topics.
fn finished(before: &str, said: &[(&str, &str)], content: serde_json::Value) -> Result<String, EditError> {
    let mut text = InterviewDocument::read(before).begin(&head(PadMode::Update)).unwrap();
    for (number, (topic, answer)) in (1..).zip(said) {
        text = InterviewDocument::read(&text).answer(number, Some(&question(topic, "?")), given(answer)).unwrap();
    }
    Ok(plain(&InterviewDocument::read(&text).finish(&charter(), content.as_object())?.0))
}

/// A finished document without what says that short sections are complete.
fn plain(finished: &str) -> String {
    finished.replace("\n\n<!-- Interview: complete -->", "")
}

#[test]
fn an_answer_means_no_more_in_its_section_than_in_its_entry() {
    let before = "## Users\n\n_TBD_\n\n## Scope\n\nOne. Two.\n";
    for (answer, stands) in [
        ("# All\nof them", "\\# All\nof them"),
        ("```sh\n# no heading\n```", "```sh\n# no heading\n```"),
        ("```\nnever closed", "\\```\nnever closed"),
        ("<!-- never closed", "\\<!-- never closed"),
        ("<div>", "\\<div>"),
        ("---\na: b\n---", "\\---\na: b\n\\---"),
        ("> said", "> said"),
    ] {
        let made = finished(before, &[("users", answer)], json!(null)).unwrap();
        assert_eq!(made, before.replace("_TBD_", stands));
        let own = finished(before, &[("Budget", answer)], json!(null)).unwrap();
        assert_eq!(own, format!("{before}\n## Budget\n\n{stands}\n"));
    }
    // What is written on lines of its own by hand is that person's Markdown.
    let by_hand = format!(
        "{before}\n## Scratch Pad\n\n### Q1: users\n**Asked**: ?\n**Answer**:\n\n```\n# code\n```\n#### Small\n"
    );
    let (made, _) = InterviewDocument::read(&by_hand).finish(&charter(), None).unwrap();
    assert_eq!(plain(&made), before.replace("_TBD_", "```\n# code\n```\n#### Small"));
}

#[test]
fn no_answer_is_lost_by_content() {
    let before = "## Users\n\n_TBD_\n";
    let said = [("users", "Managers."), ("Budget", "Little."), ("Team", "Three.")];
    let content = |content| finished(before, &said, content);
    let rest = "\n## Budget\n\nLittle.\n\n## Team\n\nThree.\n";
    assert_eq!(content(json!({})).unwrap(), format!("## Users\n\nManagers.\n{rest}"));
    assert_eq!(content(json!({ "users": "All." })).unwrap(), format!("## Users\n\nAll.\n{rest}"));
    assert_eq!(content(json!({ "users": " ", "problem": null })).unwrap(), format!("## Users\n\nManagers.\n{rest}"));
    let written = content(json!({ "budget": "1000 a month." })).unwrap();
    assert_eq!(written, format!("## Users\n\nManagers.\n{}", rest.replace("Little", "1000 a month")));
    let new = content(json!({ "problem": "It is slow." })).unwrap();
    assert_eq!(new, format!("## Users\n\nManagers.\n\n## Problem & Context\n\nIt is slow.\n{rest}"));
    for unknown in ["user", "Users", "Target Users", "notes"] {
        let Err(EditError::UnknownSection { id, known }) = content(json!({ unknown: "All." })) else {
            panic!("{unknown}")
        };
        assert_eq!(id, unknown);
        assert_eq!(known, ["problem", "users", "value_prop", "scope", "success", "Budget", "Team"]);
    }
    for evil in ["fine\n\n## Own", "# Own", "```\nopen", "<!--", "<<<<<<< HEAD", "fine\n\n### Scope\n\nx"] {
        for section in ["users", "problem", "Budget", "Team"] {
            let refused = content(json!({ section: evil })).unwrap_err();
            assert!(matches!(refused, EditError::Unfit { .. }), "{section} {evil}: {refused}");
        }
    }
    let evil = content(json!({ "users": "## Own" })).unwrap_err();
    assert_eq!(
        evil.to_string(),
        "the text for the section `Users` would end its section early, or swallow what follows"
    );
}

#[test]
fn what_stands_behind_a_pad_stays_and_new_sections_come_at_the_end() {
    let pad = "## Scratch Pad\n\n### Q1: Budget\n**Asked**: ?\n**Answer**: Little.\n";
    for (text, made) in [
        ("", "## Budget\n\nLittle.\n"),
        ("# T", "# T\n\n## Budget\n\nLittle.\n"),
        ("# Users\n\nAll.\n", "# Users\n\nAll.\n\n# Budget\n\nLittle.\n"),
        ("# T\n\n### Users\n\nAll.\n", "# T\n\n### Users\n\nAll.\n\n### Budget\n\nLittle.\n"),
        ("Users\n=====\n\nAll.\n", "Users\n=====\n\nAll.\n\n# Budget\n\nLittle.\n"),
    ] {
        let newlines = if text.is_empty() {
            ""
        } else if text.ends_with('\n') {
            "\n"
        } else {
            "\n\n"
        };
        let whole = format!("{text}{newlines}{pad}");
        assert_eq!(InterviewDocument::read(&whole).finish(&charter(), None).unwrap().0, made);
    }
    let users = "## Users\n\nAll.\n";
    for (end, rest) in [
        ("<!-- End scratch pad -->\nBelow.\n", "\nBelow.\n"),
        ("<!-- End scratch pad -->\n\nBelow.\n", "\nBelow.\n"),
        ("<!-- End scratch pad -->\n---\nBelow.\n", "\n---\nBelow.\n"),
        ("## After\n\nMore.\n", "\n## After\n\nMore.\n"),
        ("\n\n## After\n\nMore.\n", "\n## After\n\nMore.\n"),
        ("<!-- End scratch pad -->\n### Deeper\n\nMore.\n", "\n### Deeper\n\nMore.\n"),
    ] {
        let whole = format!("{users}\n{pad}{end}");
        let read = InterviewDocument::read(&whole);
        assert_eq!(read.without_pad().unwrap(), format!("{users}{rest}"));
        assert_eq!(read.finish(&charter(), None).unwrap().0, format!("{users}{rest}\n## Budget\n\nLittle.\n"));
    }
    let joined = format!("# T\n\npara\n{pad}<!-- End scratch pad -->\n---\nBelow.\n");
    assert_eq!(InterviewDocument::read(&joined).without_pad().unwrap(), "# T\n\npara\n\n---\nBelow.\n");
    let unclosed = format!("{users}\n{pad}\n## After\n\n```\n");
    let refused = InterviewDocument::read(&unclosed).finish(&charter(), None).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "what stands before the section `Budget` would end its section early, or swallow what follows"
    );
}

#[test]
fn the_answers_come_as_markdown_that_finish_takes() {
    let said = [("users", "# All\n\n```\n# x\n```"), ("Brain Dump", "Tasks.")];
    let mut text = InterviewDocument::read("# T\n").begin(&head(PadMode::Update)).unwrap();
    for (number, (topic, answer)) in (1..).zip(said) {
        text = InterviewDocument::read(&text).answer(number, Some(&question(topic, "?")), given(answer)).unwrap();
    }
    let read = InterviewDocument::read(&text);
    let content = read.content(&charter());
    assert_eq!(json!(content), json!({ "problem": "Tasks.", "users": "\\# All\n\n```\n# x\n```" }));
    assert_eq!(read.finish(&charter(), Some(&content)).unwrap(), read.finish(&charter(), None).unwrap());
}

#[test]
fn enough_is_what_the_script_says() {
    let script = include_str!("../../../workflows/charter.interview.yaml")
        .replace("sections:\n", "complete_when: [users]\nsections:\n");
    let script = read_script(&script).unwrap();
    let enough = |text: &str, answers: &[&str]| {
        let mut text = InterviewDocument::read(text).begin(&head(PadMode::Update)).unwrap();
        for (number, topic) in (1..).zip(answers) {
            text = InterviewDocument::read(&text)
                .answer(number, Some(&question(topic, "?")), given("All. Of them."))
                .unwrap();
        }
        let read = InterviewDocument::read(&text);
        let outlook = script.outlook(&read, read.only_pad().unwrap());
        (outlook.step, outlook.is_enough, outlook.metadata.gaps_remaining)
    };
    assert_eq!(enough("# T\n", &["Target Users"]), (Step::Complete, true, 4));
    assert_eq!(enough("## Users\n\nAll. Of them.\n", &[]), (Step::Nothing, true, 4));
    assert!(matches!(enough("# T\n", &["Scope"]), (Step::Ask { .. }, false, 4)));
}

#[test]
fn a_script_is_proved() {
    let broken = include_str!("../../../workflows/charter.interview.yaml")
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

#[test]
fn a_pad_is_found_whatever_the_case_of_its_heading() {
    for heading in ["## Scratch pad", "## SCRATCH PAD", "##  scratch  Pad:", "## Scratch Pad ##"] {
        let text = format!("# T\n\n{}", SEED.replace("## Scratch Pad", heading));
        let read = InterviewDocument::read(&text);
        assert_eq!(read.only_pad().unwrap().entries.len(), 2, "{heading}");
        let answered = read.answer(3, Some(&question("Scope", "What?")), given("all")).unwrap();
        assert!(answered.starts_with(&text), "{answered}");
        assert_eq!(read.without_pad().unwrap(), "# T\n");
    }
}

#[test]
fn a_pad_whose_heading_was_lost_gets_it_back_and_no_second_one_is_begun() {
    let own = "# T\n\n## Scope\n\nAll of it. And more.\n\n";
    for (left, line) in [
        ("", 7),
        ("Scratch Pad\n\n", 9),
        ("# Scratch pad\n\n", 9),
        ("###Scratch Pad\n", 8),
        ("Scratch Pad\n-----------\n\n", 10),
        ("## Scratchpad\n", 8),
    ] {
        let text = format!("{own}{}", SEED.replace("## Scratch Pad\n\n", left));
        let read = InterviewDocument::read(&text);
        let lost = EditError::HeadingLost { line };
        assert_eq!(read.only_pad().unwrap_err(), lost, "{text}");
        assert_eq!(read.begin(&head(PadMode::Update)).unwrap_err(), lost);
        assert!(!read.is_without_pad());
        assert_eq!(read.with_heading().unwrap(), format!("{own}{SEED}"), "{left:?}");
    }
    let (_, entries) = SEED.split_once("### Q1").unwrap();
    let bare = format!("# T\n\nwords\n### Q1{entries}");
    let known = [charter()];
    let mended = InterviewDocument::among(&known, &bare).with_heading().unwrap();
    assert_eq!(mended, format!("# T\n\nwords\n\n## Scratch Pad\n\n### Q1{entries}"));
    let windows = bare.replace('\n', "\r\n");
    assert_eq!(InterviewDocument::among(&known, &windows).with_heading().unwrap(), mended.replace('\n', "\r\n"));
    assert_eq!(InterviewDocument::read(&bare).lost(), None, "no script knows these questions");
    let own = bare.replace("### Q1: Brain Dump", "### Q1: Budget");
    assert_eq!(
        InterviewDocument::among(&known, &own).lost(),
        Some(4),
        "what an agent asked stands above what a script asks"
    );
    for own in [
        "### Q1: first quarter\n\nWe sold it.\n",
        "```\n### Q1: Scope\n**Asked**: b\n```\n",
        "## Scratchpad\n\nmine\n",
        "# FAQ\n\n### Q1: What is it?\n\n**Answer**: A task app.\n",
        "# FAQ\n\n### Q1: Scope\n\n**Answer**: A task app.\n",
        "# FAQ\n\n### Q1: What is it?\n**Asked**: What is it?\n**Answer**: A task app.\n",
    ] {
        let read = InterviewDocument::among(&known, own);
        assert_eq!((read.lost(), read.with_heading()), (None, Err(EditError::NoPad)), "{own}");
    }
}

#[test]
fn a_pad_says_by_which_script_it_goes_where_it_would_have_been_written() {
    let whole = SEED.replace("Z -->\n", "Z -->\n<!-- Script: retro -->\n");
    let bare =
        SEED.lines().filter(|line| !line.starts_with("<!--")).collect::<Vec<_>>().join("\n").replace("\n\n\n", "\n\n");
    let linked = SEED.replace("Z -->\n", "Z -->\n<!-- Run: r1 -->\n");
    for (text, made) in [
        (SEED, whole.clone()),
        (&linked, linked.replace("<!-- Run", "<!-- Script: retro -->\n<!-- Run")),
        (&bare, bare.replace("Pad\n\n", "Pad\n\n<!-- Script: retro -->\n\n")),
        (&SEED.replace('\n', "\r\n"), whole.replace('\n', "\r\n")),
        ("# T\n\n## Scratch Pad", "# T\n\n## Scratch Pad\n<!-- Script: retro -->\n".to_owned()),
    ] {
        assert_eq!(InterviewDocument::read(text).with_script("retro").unwrap(), made);
    }
}

#[test]
fn a_question_outside_of_the_pad_is_told_and_its_number_is_not_given_again() {
    let text = format!("{SEED}\n## My notes\n\n### Q3: Scope\n**Asked**: What?\n**Answer**: All.\n");
    let known = [charter()];
    let read = InterviewDocument::among(&known, &text);
    let pad = read.only_pad().unwrap();
    assert_eq!((pad.faults[0].line, pad.next_number()), (17, 4));
    assert_eq!(pad.faults[0].message, "question 3 stands outside of it; put it below its heading");
    let answered = read.answer(4, Some(&question("Scope", "What?")), given("all")).unwrap();
    assert!(answered.contains("\n### Q4: Scope\n"), "{answered}");
    assert!(matches!(read.finish(&charter(), None), Err(EditError::Faults { .. })));
}

#[test]
fn a_finished_document_stays_finished_however_short_its_answers_are() {
    let short =
        [("Problem", "Slow."), ("Users", "All."), ("Value", "Speed."), ("Scope", "- Tasks"), ("Success", "Ten.")];
    let mut text = InterviewDocument::read(&charter().skeleton()).begin(&head(PadMode::Create)).unwrap();
    for (number, (topic, answer)) in (1..).zip(short) {
        text = InterviewDocument::read(&text).answer(number, Some(&question(topic, "?")), given(answer)).unwrap();
    }
    let (finished, _) = InterviewDocument::read(&text).finish(&charter(), None).unwrap();
    assert!(finished.contains("## Scope\n\n- Tasks\n\n<!-- Interview: complete -->\n\n## Success"), "{finished}");
    let asked_again = |text: &str| asked(text, PadMode::Update, &charter());
    assert_eq!(asked_again(&finished), [("Nothing".to_owned(), 0, 0, 0)]);
    // What is put in doubt again is asked about, and so is what a person wrote in few words.
    let doubt = finished.replace("Speed.", "_TBD_");
    assert_eq!(asked_again(&doubt)[0].0, "Value Proposition");
    assert_eq!(asked_again(&plain(&finished)).len(), 6);
    assert_eq!(asked_again(&finished.replace("All.", ""))[0].0, "Target Users");
    let long = "## Users\n\nAll of them. And more.\n";
    let (made, _) = InterviewDocument::read(&InterviewDocument::read(long).begin(&head(PadMode::Update)).unwrap())
        .finish(&charter(), json!({ "problem": "It is slow. It costs." }).as_object())
        .unwrap();
    assert!(!made.contains("<!--"), "{made}");
}
