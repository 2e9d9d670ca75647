use std::fmt::Write as _;

use crate::machine::{CompiledText, Diagnostic, Form, StateTypes, compile_text, render};
use crate::model::limits;

fn check(text: &str) -> CompiledText {
    compile_text(Form::Mermaid, text, "w", &StateTypes::default())
}

/// A machine in one line: its states with their labels, `^` behind initial and `$` behind terminal ones, and its
/// transitions.
fn shape(text: &str) -> String {
    let checked = check(text);
    let Some(machine) = checked.machine else { panic!("{text}\n{:?}", checked.diagnostics) };
    let mut shape = String::new();
    for state in machine.states() {
        let _ = write!(shape, "{}", state.name);
        if machine.initial().contains(&state.name) {
            shape.push('^');
        }
        if machine.is_terminal(&state.name) {
            shape.push('$');
        }
        if let Some(label) = &state.label {
            let _ = write!(shape, "({label})");
        }
        shape.push(' ');
    }
    for one in machine.transitions() {
        let label = one.label.as_ref().map(|label| format!("({label})")).unwrap_or_default();
        let _ = write!(shape, "{}>{}{label} ", one.from, one.to);
    }
    shape.trim_end().to_owned()
}

/// The codes and places of a text's errors.
fn errors(text: &str) -> Vec<(&'static str, usize, usize)> {
    let checked = check(text);
    assert_eq!(checked.machine, None, "{text}");
    let errors = checked.diagnostics.iter().filter(|one| one.is_error());
    errors.map(|one| (one.code, one.place.line, one.place.column)).collect()
}

/// The warnings of a text that gives a machine.
fn warnings(text: &str) -> Vec<(&'static str, usize)> {
    let checked = check(text);
    assert!(checked.machine.is_some(), "{:?}", checked.diagnostics);
    checked.diagnostics.iter().map(|one| (one.code, one.place.line)).collect()
}

fn diagram(lines: &str) -> String {
    format!("stateDiagram-v2\n{lines}\n")
}

#[test]
fn every_form_of_rp1s_table_is_read() {
    for (lines, expected) in [
        ("[*] --> scan\nscan --> [*]", "scan^$"),
        ("  [*]-->scan\n\tscan-->report:done\n  report-->[*]", "scan^ report$ scan>report(done)"),
        ("[*] --> a\na --> b : it is ready\nb --> [*] : never kept", "a^ b$ a>b(it is ready)"),
        ("state a : First step\n[*] --> a\na --> [*]", "a^$(First step)"),
        ("%% about it\n[*] --> a %% here\n# and there\na --> [*] # end", "a^$"),
        ("[*] --> a\n[*] --> b\n[*] --> a\na --> [*]\nb --> [*]\na --> [*]", "a^$ b^$"),
        ("[*] --> a\na --> a : again\na --> [*]", "a^$ a>a(again)"),
    ] {
        assert_eq!(shape(&diagram(lines)), expected, "{lines}");
    }
}

#[test]
fn a_state_is_declared_in_every_way_of_mermaid() {
    for (lines, expected) in [
        ("a : With words\n[*] --> a\na --> [*]", "a^$(With words)"),
        ("state \"With words\" as a\n[*] --> a\na --> [*]", "a^$(With words)"),
        ("state a\n[*] --> a\na --> [*]", "a^$"),
        ("a\n[*] --> a\na --> [*]", "a^$"),
        ("a:::loud\n[*] --> a:::loud\na:::loud --> [*]", "a^$"),
        (
            "state c <<choice>>\n[*] --> c\nc --> a : yes\nc --> b : no\na --> [*]\nb --> [*]",
            "c^ a$ b$ c>a(yes) c>b(no)",
        ),
        // A label that comes later counts, and one that is taken back does not.
        ("[*] --> a\na --> [*]\na : Later\na :", "a^$(Later)"),
    ] {
        assert_eq!(shape(&diagram(lines)), expected, "{lines}");
    }
}

#[test]
fn states_stand_in_the_order_in_which_they_are_used() {
    assert_eq!(shape(&diagram("state b\nstate lonely\n[*] --> a\na --> b\nb --> [*]")), "lonely a^ b$ a>b");
    assert_eq!(shape(&diagram("b : Second\n[*] --> a\na --> b\nb --> [*]")), "b$(Second) a^ a>b");
}

#[test]
fn a_label_is_whatever_stands_behind_the_colon() {
    for label in
        ["x: y", "see http://x/y", "x; y", "direction LR chosen", "go %% on # now", "{x}", "\"hi\"", "état", "x --> y"]
    {
        let text = diagram(&format!("[*] --> a\na --> b : {label}\nb --> [*]"));
        assert_eq!(shape(&text), format!("a^ b$ a>b({label})"));
    }
    assert_eq!(shape(&diagram("[*] --> a\na --> b :\nb --> [*]")), "a^ b$ a>b");
    // Characters that Mermaid reads as something else are written as entities.
    let text =
        diagram("[*] --> a\na --> b : say #quot;x#quot;#59; then#colon; #nope;\nstate \"b#35;\" as b\nb --> [*]");
    assert_eq!(shape(&text), "a^ b$(b#) a>b(say \"x\"; then: #nope;)");
}

#[test]
fn an_arrow_behind_the_colon_of_a_state_is_part_of_its_description() {
    for (lines, expected) in [
        ("a : t --> u\n[*] --> a\na --> [*]", "a^$(t --> u)"),
        ("a: t --> u\n[*] --> a\na --> [*]", "a^$(t --> u)"),
        ("state a : t --> u\n[*] --> a\na --> [*]", "a^$(t --> u)"),
    ] {
        assert_eq!(shape(&diagram(lines)), expected, "{lines}");
    }
}

#[test]
fn a_transition_behind_a_semicolon_is_not_swallowed_by_the_text_before_it() {
    for line in [
        "review --> fix : changes requested; review --> merge : approved",
        "a : text; a --> b",
        "state a : hello;a --> b",
        "state \"hi\" as a : hello; a --> b",
        "note right of a : hi; a --> b",
        "[*] --> a : go; b --> c",
        "a --> b:::x : t; b --> c",
        "a:::x;b --> c",
        "[*] --> a;a --> b",
        "scale 350 width; a --> b",
        "a --> b : R&D; b --> c",
        "a --> b : #59;; b --> c",
        "a --> b : go; then b--> c",
        "a --> b : go %% on; b --> c",
    ] {
        let checked = check(&diagram(&format!("[*] --> a\n{line}\na --> [*]")));
        let told: Vec<_> = checked.diagnostics.iter().map(|one| &*one.message).collect();
        assert_eq!(told, ["a line has one statement, and no `;` between two"], "{line}");
    }
    let text = diagram("[*] --> a\na --> b : go; b --> c");
    insta::assert_snapshot!(render("build.mmd", &text, &check(&text).diagnostics[0], false), @r"
    error[mermaid_syntax]: a line has one statement, and no `;` between two
     --> build.mmd:3:13
      |
    3 | a --> b : go; b --> c
      |             ^
      |
      = help: write each statement on a line of its own; in a text, write `;` as `#59;`
    ");
    for (label, read) in [
        ("x; y", "x; y"),
        ("ask twice; then go on : slowly;", "ask twice; then go on : slowly;"),
        ("x --> y; z", "x --> y; z"),
        ("x#59; y --> z", "x; y --> z"),
        ("x #amp; y --> z", "x & y --> z"),
        ("x &amp; y --> z", "x &amp; y --> z"),
        ("x &#59; y --> z", "x &; y --> z"),
        ("#nope; y --> z", "#nope; y --> z"),
    ] {
        let text = diagram(&format!("[*] --> a\na --> b : {label}\nb --> [*]"));
        assert_eq!(shape(&text), format!("a^ b$ a>b({read})"));
    }
    for drawn in ["state \"x; y --> z\" as a", "[*] --> a %% x; y --> z", "%% x; y --> z", "accDescr { x; y --> z }"] {
        let checked = check(&diagram(&format!("{drawn}\n[*] --> a\na --> [*]")));
        assert_eq!(checked.diagnostics, [], "{drawn}");
    }
}

#[test]
fn ids_are_letters_of_any_script_digits_underscores_and_dots() {
    for id in ["v1.2", "in_review", "3", "完了", "café", "__proto__", "end", "direction", "scale", "hide", "As"] {
        assert_eq!(shape(&diagram(&format!("[*] --> {id}\n{id} --> [*]"))), format!("{id}^$"));
    }
    for (id, hint) in [
        ("task-builder", "state \"task-builder\" as task_builder"),
        ("a(b)", "state \"a(b)\" as a_b"),
        ("a;", "leave out the `;`"),
        ("\"a b\"", "state \"a b\" as a_b"),
        ("in review", "state \"in review\" as in_review"),
        ("class", "state \"class\" as class_"),
    ] {
        let checked = check(&diagram(&format!("[*] --> {id}")));
        let help = checked.diagnostics[0].help.clone().unwrap_or_default();
        assert!(checked.machine.is_none() && help.contains(hint), "{id}: {help}");
    }
    assert_eq!(errors(&diagram(&format!("[*] --> {}", "x".repeat(201)))), [("bad_state_name", 2, 9)]);
}

#[test]
fn an_id_with_marks_is_told_without_an_id_that_splits_its_letters() {
    for (id, mark) in [("cafe\u{301}s", "U+0301"), ("क्षेत्र", "U+094D"), ("می\u{200c}خواهم", "U+200C")]
    {
        let checked = check(&diagram(&format!("[*] --> {id}")));
        let help = format!(
            "ids are letters, digits, `_` and `.`, without combining marks and joiners; write `state \"{id}\" as name` and use `name`"
        );
        let told = &checked.diagnostics[0];
        assert!(told.message.ends_with(&format!("it has {mark}")), "{}", told.message);
        assert_eq!(told.help.as_deref(), Some(&*help));
    }
}

#[test]
fn what_is_not_supported_is_named() {
    for (lines, feature) in [
        ("state f <<fork>>", "fork state"),
        ("state j <<join>>", "join state"),
        ("state j [[join]]", "join state"),
        ("state Outer {\n[*] --> inner\nstate Deep {\nx --> y\n}\n}", "composite state"),
        ("Outer {\n[*] --> inner\n--\n[*] --> other\n}", "composite state"),
        ("--", "concurrent region"),
        ("state b\n{\nc --> d\n}", "nested/composite state"),
        ("b\n{\nc --> d\n}", "nested/composite state"),
        ("b {\nc --> d\n}", "nested/composite state"),
        ("b:::loud {\nc --> d\n}", "nested/composite state"),
        ("state b:::loud {\nc --> d\n}", "nested/composite state"),
        ("state \"Some text\" as b {\nc --> d\n}", "nested/composite state"),
        ("state \"Some text\" {\nc --> d\n}", "nested/composite state"),
        ("state b : text {\nstate d { %% deeper\nc --> d\n}\n}", "nested/composite state"),
        ("state long name {\nc --> d\n}", "nested/composite state"),
        ("direction TD", "direction"),
        ("a --> [H]", "history"),
    ] {
        let checked = check(&diagram(&format!("[*] --> a\n{lines}\na --> [*]")));
        let messages: Vec<_> = checked.diagnostics.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(messages.len(), 1, "{lines}: {messages:?}");
        assert!(messages[0].starts_with("unsupported state diagram feature: ") && messages[0].contains(feature));
        assert_eq!(checked.machine, None);
    }
}

#[test]
fn what_does_not_belong_into_a_line_is_told_with_the_line_to_write() {
    for (lines, help) in [
        ("[*] --> a;", "leave out the `;`"),
        ("[*] --> a\na --> [*];", "leave out the `;`"),
        ("[*] --> a\na --> [*] ;", "leave out the `;`"),
        ("[*] --> a\na --> b; %% so\nb --> [*]", "leave out the `;`"),
        ("[*] --> a; a --> b; b --> [*]", "write each statement on a line of its own"),
        ("[*] --> a <<choice>>", "write `state a <<choice>>` on a line of its own, and `a` alone here"),
        ("[*] --> a\na <<choice>>", "write `state a <<choice>>`"),
    ] {
        let checked = check(&diagram(lines));
        assert_eq!(checked.diagnostics[0].help.as_deref(), Some(help), "{lines}");
    }
    let fenced = check(&format!("```mermaid\n{}```\n", diagram("[*] --> a")));
    let help = "this file holds only the diagram; remove the lines with the fence";
    assert_eq!(fenced.diagnostics[0].help.as_deref(), Some(help));
    let checked = check(&diagram("[*] --> a\na <<fork>>"));
    assert_eq!(checked.diagnostics[0].message, "unsupported state diagram feature: fork state (`<<fork>>`)");
}

#[test]
fn mermaids_own_words_are_read_in_any_case() {
    // As the library `transitions` writes diagrams.
    let drawn = "Direction LR\n  ClassDef s_default fill:white\n  State \"x y\" AS a\n  state b <<Choice>>\n  Class a s_default\n\
                 STYLE a fill:#f9f\nHide Empty description\nScale 2\nAccTitle: t\nACCDESCR { d }\nNote \"n\" AS N\n\
                 note \"n\nm\" As M\n[*] --> a\na --> b\nb --> [*]";
    assert_eq!(shape(&diagram(drawn)), "a^(x y) b$ a>b");
    let told = warnings(&diagram(drawn));
    assert_eq!(told, [("direction_ignored", 2), ("note_ignored", 12), ("note_ignored", 13)]);
    // Where no statement of Mermaid's begins with it, a word is an id.
    assert_eq!(
        shape(&diagram("[*] --> State\nState : Words\nState --> Class\nClass --> [*]")),
        "State^(Words) Class$ State>Class"
    );
}

#[test]
fn a_colon_ends_the_name_of_a_class() {
    let text = diagram("[*] --> a\na --> b:::hot: done\nb:::hot:Words\nb --> [*]");
    assert_eq!(shape(&text), "a^ b$(Words) a>b(done)");
}

#[test]
fn what_other_notations_write_is_told_with_the_line_to_write() {
    for (line, message, help) in [
        ("a -->|it is ok| b", "the label of a transition stands behind its target", "write `a --> b : it is ok`"),
        ("a -->|ok|b", "the label of a transition stands behind its target", "write `a --> b : ok`"),
        ("a -- it is ok --> b", "the label of a transition stands behind its target", "write `a --> b : it is ok`"),
        ("a -- b", "`--` is not an arrow of a state diagram", "write `-->`"),
        (
            "state a as \"Some words\"",
            "a quoted text stands before `as` and the id",
            "write `state \"Some words\" as a`",
        ),
        ("// why", "`//` does not begin a comment", "a comment begins with `%%`"),
        ("a --> b // why", "`//` does not begin a comment", "a comment begins with `%%`"),
        (
            "a --> [*]Note over a: hi",
            "`Note` does not belong behind `[*]`",
            "write each statement on a line of its own",
        ),
        ("state c <<choice>> : why", "this line has no text of the state", "write `c : why` on a line of its own"),
    ] {
        let checked = check(&diagram(&format!("[*] --> a\n{line}")));
        let told: Vec<_> = checked.diagnostics.iter().map(|one| (&*one.message, one.help.as_deref())).collect();
        assert_eq!(told, [(message, Some(help))], "{line}");
    }
    for (line, message) in [
        ("a-- : text", "`a--` cannot be a state's id: it has `-`"),
        ("a -- : text", "the transition leads nowhere: a state is missing"),
        ("a --> : text", "the transition leads nowhere: a state is missing"),
        ("a@{ shape: rect }", "unsupported state diagram feature: shape of a state (`@{ … }`)"),
        ("a@{\nshape: rect\n}", "unsupported state diagram feature: shape of a state (`@{ … }`)"),
        ("a --> Don't", "`Don't` cannot be a state's id: it has `'`"),
        ("a --> b\"", "`b\"` cannot be a state's id: it has `\"`"),
        ("a --> b\\c", "`b\\c` cannot be a state's id: it has `\\`"),
        ("a --> b\u{200c}c", "`b\u{200c}c` cannot be a state's id: it has U+200C"),
        (
            "state \"one\ntwo\" as a",
            "unsupported state diagram feature: a quoted text over several lines; write it on one",
        ),
        ("state \"one\ntwo", "this quoted text has no end"),
    ] {
        let checked = check(&diagram(&format!("[*] --> a\n{line}\na --> [*]")));
        let told: Vec<_> = checked.diagnostics.iter().map(|one| &*one.message).collect();
        assert_eq!(told, [message], "{line}");
    }
}

#[test]
fn what_is_meant_is_told_where_no_state_was_meant() {
    for (line, message, help) in [
        (
            "a --> b, c",
            "a transition leads from one state to one other",
            "write each on a line of its own: `a --> b`, `a --> c`",
        ),
        (
            "a --> b & c : go",
            "a transition leads from one state to one other",
            "write each on a line of its own: `a --> b`, `a --> c`",
        ),
        (
            "a & b --> [*]",
            "a transition leads from one state to one other",
            "write each on a line of its own: `a --> [*]`, `b --> [*]`",
        ),
        ("(*) --> b", "a beginning or an end is not written like this", "write `[*]`"),
        ("* --> b", "a beginning or an end is not written like this", "write `[*]`"),
        ("a --> [ * ]", "a beginning or an end is not written like this", "write `[*]`"),
        ("[ * ] --> a", "a beginning or an end is not written like this", "write `[*]`"),
        ("a --> [end]", "a beginning or an end is not written like this", "write `[*]`"),
        ("[start] --> a", "a beginning or an end is not written like this", "write `[*]`"),
        ("a --> ((*))", "a beginning or an end is not written like this", "write `[*]`"),
        ("end note", "this `end note` ends no note", "remove it, or begin the note above with `note right of STATE`"),
        ("linkStyle 0 stroke:#f00", "`linkStyle` belongs to flowcharts", "leave the line out"),
        ("title My title", "a state diagram has no line with a title", "write `%% My title`"),
        (
            "link a \"https://x\"",
            "`link` belongs to other diagrams",
            "leave the line out, or write `click STATE href \"URL\"`",
        ),
        (
            "a\u{200b} --> b",
            "`a\u{200b}` cannot be a state's id: it has U+200B",
            "remove this character, which cannot be seen",
        ),
    ] {
        let checked = check(&diagram(&format!("[*] --> a\n{line}")));
        let told: Vec<_> = checked.diagnostics.iter().map(|one| (&*one.message, one.help.as_deref())).collect();
        assert_eq!(told, [(message, Some(help))], "{line}");
    }
}

#[test]
fn what_only_concerns_the_drawing_is_left_out() {
    let drawn = "accTitle: hi\naccDescr: there\naccDescr {\na --> lost\n}\nscale 350 width\nhide empty description\n\
                 classDef bad fill:#f00\nclass a bad\nstyle a fill:#0f0\n[*] --> a\na --> [*]";
    assert_eq!(shape(&diagram(drawn)), "a^$");
    assert_eq!(warnings(&diagram(drawn)), []);
    for direction in ["direction LR", "direction LR # or TB", "direction LR %% left"] {
        assert_eq!(warnings(&diagram(&format!("{direction}\n[*] --> a\na --> [*]"))), [("direction_ignored", 2)]);
    }
    for drawn in [
        "accDescr { on one line }\n[*] --> a",
        "accDescr{\n with { braces\n a --> lost } [*] --> a",
        "%%{init: {\n'theme': 'dark'\n}}%%\n[*] --> a",
        "%%{init: {'theme': 'dark'}}%%\n%%{ never closed\n[*] --> a",
        "state b : text {in braces}\n[*] --> a",
        "click a href \"http://x\" \"tip\"\nclassDef default fill:#f9f\nstyle a,b fill:#f9f\n[*] --> a",
    ] {
        let text = diagram(&format!("{drawn}\na --> c\nc --> [*]"));
        let described = if drawn.contains("in braces") { "b(text {in braces}) " } else { "" };
        assert_eq!(shape(&text), format!("{described}a^ c$ a>c"), "{drawn}");
    }
    assert_eq!(errors(&diagram("[*] --> a\naccDescr {\na --> [*]")), [("mermaid_syntax", 3, 1)]);
}

#[test]
fn notes_are_left_out_with_a_warning_and_nothing_in_them_is_read() {
    for (note, lines) in [
        ("note right of a : hello", 1),
        ("note left of a: b --> c; d", 1),
        ("Note Right Of a : hello", 1),
        ("note right of a:x", 1),
        ("note left of a\nfree --> text\nstate b {\nend note", 4),
        ("note left of a\nfree --> text\n  End Note", 3),
        ("note left of a\nend notes\n[*] --> b\nend note", 4),
        ("note left of a\nend note", 2),
        ("note left of a\n\n  : below\n", 3),
        ("note right of a %% told\nnote left of b\nend note", 3),
        ("note \"floating --> text\" as N1", 1),
        ("note \"over\nb --> c\nlines\" as N1", 3),
    ] {
        let text = diagram(&format!("[*] --> a\n{note}\na --> z\nz --> [*]"));
        assert_eq!(shape(&text), "a^ z$ a>z", "{note}");
        assert_eq!(warnings(&text), [("note_ignored", 3)], "{note}");
        assert_eq!(note.trim_end().lines().count(), lines);
    }
    assert_eq!(shape(&diagram("[*] --> a\nnote left of a\nx\nend note a --> z\nz --> [*]")), "a^ z$ a>z");
    // A note may be a state, as long as no statement of Mermaid's begins with it.
    assert_eq!(shape(&diagram("[*] --> Note\nNote --> [*]")), "Note^$");
    for (lines, line) in [
        ("note right of a\n text\na --> z", 3),
        ("note \"text\na --> z", 3),
        ("note \"text\nb\" a --> z", 3),
        ("note \"text\" a --> z", 3),
        ("note over a : text", 3),
        ("note right a : text", 3),
    ] {
        assert_eq!(errors(&diagram(&format!("[*] --> a\n{lines}"))), [("mermaid_syntax", line, 1)], "{lines}");
    }
}

#[test]
fn braces_in_texts_and_notes_end_no_composite_state() {
    for inside in [
        "note right of d\n}\nend note",
        "note right of d\n text } more\n } \n {\nend note",
        "note right of d : }",
        "note right of d : {",
        "note \"a }\" as n",
        "note \"over\n}\nlines\" as n",
        "state \"{\" as d",
        "state \"}\" as d",
        "d : {",
        "d --> e : }",
        "accDescr {\n}",
        "%% }",
        "state e {\nf\n}",
        "state e { f }",
        "state e {\nstate f {\ng\n}}",
        "state e {\nf }",
    ] {
        let text = diagram(&format!("[*] --> a\nstate c {{\n{inside}\nd --> e\n}}\na --> [*]\na ==> b"));
        let line = text.lines().count();
        assert_eq!(errors(&text), [("unsupported_feature", 3, 7), ("bad_arrow", line, 3)], "{inside}");
    }
}

#[test]
fn what_a_help_says_to_write_is_read() {
    for line in [
        "a\"b\" --> z",
        "z --> a\"",
        "a\"b\" : text",
        "state a\"b\"",
        "state \"l\" as \"b\"",
        "state \"l\" as \"{\"",
        "state \"l {\" as \"x: y\"",
        "state \"l\" as b c",
        "state \"{\" as b c",
        "state a as b",
        "state {x} as b",
        "state a--",
        "\"{\" --> z",
        "z --> \"}\"",
        "z --> a--b",
        "z --> [[a]]",
        "z --> a<<b",
        "z --> {",
        "a\u{2011}b --> z",
        "a\u{ad}b --> z",
        "a\u{a0}b --> z",
    ] {
        let checked = check(&diagram(&format!("[*] --> z\n{line}\nz --> [*]")));
        let helps = checked.diagnostics.iter().filter_map(|one| one.help.as_deref());
        for help in helps.filter(|help| help.contains("write `state ")) {
            let written = help.split('`').find(|part| part.starts_with("state ")).unwrap();
            let id = written.rsplit(' ').next().unwrap();
            let followed = diagram(&format!("[*] --> z\n{written}\nz --> {id}\n{id} --> [*]"));
            assert_eq!(warnings(&followed), [], "{line}: {help}");
        }
    }
    let help =
        |line: &str| check(&diagram(&format!("[*] --> z\n{line}\nz --> [*]"))).diagnostics[0].help.clone().unwrap();
    assert_eq!(help("state \"l\" as b c"), "write `state \"l\" as b_c`");
    assert_eq!(help("state \"l\" as \"b\""), "write `state \"l\" as b`");
    assert_eq!(help("state a as b"), "write `state \"a\" as b`");
    assert!(help("z --> a\"b\"").contains("write `state \"a#quot;b#quot;\" as a_b`"));
}

#[test]
fn many_warnings_push_no_error_out() {
    let notes = "note right of a : x\n".repeat(2 * limits::VIOLATIONS);
    let found = errors(&diagram(&format!("[*] --> a\n{notes}a ==> b\na --> [*]")));
    assert_eq!(found, [("bad_arrow", 2 * limits::VIOLATIONS + 3, 3)]);
}

#[test]
fn lines_that_mermaid_misreads_are_errors() {
    for (lines, expected) in [
        ("[*] --> in review", ("bad_state_name", 2, 12)),
        ("[*] --> ns:step\nns:step --> b", ("bad_state_name", 3, 1)),
        ("[*] --> a  a --> b", ("mermaid_syntax", 2, 12)),
        ("[*] --> a --> b", ("mermaid_syntax", 2, 11)),
        ("[*] ---> a", ("bad_arrow", 2, 5)),
        ("[*] --> a\na <-- b", ("bad_arrow", 3, 3)),
        ("[*] --> a\na ==> b", ("bad_arrow", 3, 3)),
        ("[*] --> a\na → b", ("bad_arrow", 3, 3)),
        ("[*] –> a", ("bad_arrow", 2, 5)),
        ("sate a : x", ("bad_state_name", 2, 6)),
        ("[*] --> a\na-.->b", ("bad_arrow", 3, 2)),
        ("[*] --> a\n}", ("mermaid_syntax", 3, 1)),
        ("[*] -->", ("mermaid_syntax", 2, 5)),
        ("[*]", ("mermaid_syntax", 2, 1)),
        ("[*] : begin", ("mermaid_syntax", 2, 5)),
        ("state", ("mermaid_syntax", 2, 1)),
        ("state \"no id\"", ("mermaid_syntax", 2, 7)),
        ("state a b", ("bad_state_name", 2, 9)),
        ("default --> b", ("reserved_word", 2, 1)),
        ("state --> b", ("reserved_word", 2, 1)),
        ("a <<choice>>", ("mermaid_syntax", 2, 3)),
        (": a", ("mermaid_syntax", 2, 1)),
        ("stateDiagram-v2", ("second_header", 2, 1)),
    ] {
        assert_eq!(errors(&diagram(lines)), [expected], "{lines}");
    }
}

#[test]
fn all_problems_of_a_diagram_come_at_once() {
    let text = diagram("[*] --> a b\na ==> c\na --> [H]\nstate d-e\n[*] --> [*]");
    let checked = check(&text);
    let found: Vec<_> = checked.diagnostics.iter().map(|one| (one.code, one.place.line)).collect();
    assert_eq!(
        found,
        [
            ("bad_state_name", 2),
            ("bad_arrow", 3),
            ("unsupported_feature", 4),
            ("bad_state_name", 5),
            ("direct_end_ignored", 6),
        ]
    );
    insta::assert_snapshot!(render("build.mmd", &text, &checked.diagnostics[3], false), @r#"
    error[bad_state_name]: `d-e` cannot be a state's id: it has `-`
     --> build.mmd:5:7
      |
    5 | state d-e
      |       ^^^
      |
      = help: ids are letters, digits, `_` and `.`; write `state "d-e" as d_e` and use `d_e`
    "#);
    assert_eq!(check(&diagram(&"a ==> b\n".repeat(1000))).diagnostics.len(), limits::VIOLATIONS);
}

#[test]
fn the_header_may_stand_below_comments_and_settings() {
    let body = "[*] --> a\na --> [*]\n";
    for head in [
        "stateDiagram-v2\n",
        "stateDiagram\n",
        "\u{feff}stateDiagram-v2\n",
        "\n%% c\n\n  stateDiagram-v2  \n",
        "stateDiagram-v2 %% c\r\n",
        "%%{init: {\"theme\": \"dark\"}}%%\nstateDiagram-v2\n",
        "%%{init: {\n  \"theme\": \"dark\"\n}}%%\nstateDiagram-v2\n",
        "---\ntitle: T\n---\nstateDiagram-v2\n",
    ] {
        assert_eq!(shape(&format!("{head}{body}")), "a^$", "{head}");
    }
    for (head, line) in [("", 1), ("graph TD\n", 1), ("\n%%{ open\nflowchart\n", 3), ("statediagramm\n", 1)] {
        assert_eq!(errors(&format!("{head}{body}")), [("not_a_state_diagram", line, 1)], "{head}");
    }
    assert_eq!(errors(&format!("stateDiagram-v2 {body}")), [("mermaid_syntax", 1, 17)]);
    assert_eq!(errors("stateDiagram-v2"), [("no_state", 1, 1)]);
    let help = |text: &str| check(text).diagnostics[0].help.clone().unwrap_or_default();
    for (head, told) in [
        ("StateDiagram-v2\n", "write `stateDiagram-v2`, with these letters"),
        (
            "flowchart TD\n",
            "write `stateDiagram-v2` in place of `flowchart TD`, and each edge as `a --> b` or `a --> b : label`",
        ),
        ("---\ntitle: T\nstateDiagram-v2\n", "the front matter has no end: write a second line `---` below it"),
        ("", "write `stateDiagram-v2` on a line above this one"),
    ] {
        assert_eq!(help(&format!("{head}{body}")), told, "{head}");
    }
    assert_eq!(help("stateDiagram-v2"), "begin with `[*] --> STATE`, and end with `STATE --> [*]`");
    assert_eq!(
        help("stateDiagram-v2\n[*] --> a\na --> b"),
        "write `STATE --> [*]` for a state in which a run can end, and a transition to it"
    );
    assert_eq!(
        help("stateDiagram-v2\n[*] --> a\na --> [*]\nb --> a"),
        "write `STATE --> b`, or `[*] --> b` if a run may begin there"
    );
}

#[test]
fn a_replaced_description_is_told() {
    let text = diagram("a : One\na : Two\n[*] --> a\na --> [*]");
    assert_eq!((shape(&text).as_str(), warnings(&text)), ("a^$(Two)", vec![("description_replaced", 3)]));
    let text = diagram("state \"One\" as a : Two\n[*] --> a\na --> [*]");
    assert_eq!((shape(&text).as_str(), warnings(&text)), ("a^$(Two)", vec![("description_replaced", 2)]));
    assert_eq!(check(&text).diagnostics[0].help.as_deref(), Some("the other one is \"One\""));
    let text = diagram("state \"One\" as a :\n[*] --> a\na --> [*]");
    assert_eq!((shape(&text).as_str(), warnings(&text)), ("a^$(One)", vec![]));
}

proptest::proptest! {
    #[test]
    fn any_lines_end_in_a_machine_or_an_error(
        lines in "((\\[\\*\\]|state|note|[a-c]|[a-c]-|-->|->|:|\"|as|<<choice>>|\\{|\\}|%%|é|--| ){0,8}\n){0,6}"
    ) {
        let text = diagram(&lines);
        let checked = check(&text);
        proptest::prop_assert_eq!(checked.machine.is_some(), !checked.diagnostics.iter().any(Diagnostic::is_error));
        for one in &checked.diagnostics {
            proptest::prop_assert!(text.get(one.span.clone()).is_some());
            let shown = render("x", &text, one, false);
            proptest::prop_assert!(shown.contains(one.code), "{}", shown);
        }
    }

    #[test]
    fn no_transition_is_lost(edges in proptest::collection::vec((0..9_u8, 0..9_u8), 1..30)) {
        let lines: Vec<_> = edges.iter().map(|(from, to)| format!("s{from} --> s{to}")).collect();
        let checked = check(&diagram(&format!("[*] --> s{}\n{}", edges[0].0, lines.join("\n"))));
        let machine = checked.machine.unwrap();
        for (from, to) in edges {
            let (from, to) = (format!("s{from}"), format!("s{to}"));
            let is_this = |one: &crate::machine::Transition| one.from.as_str() == from && one.to.as_str() == to;
            proptest::prop_assert_eq!(machine.transitions().iter().filter(|one| is_this(one)).count(), 1);
        }
    }
}

#[test]
fn a_diagram_that_never_ends_is_left_at_the_limit() {
    let chain = |states: usize| {
        (1..states).fold("stateDiagram-v2\n[*] --> s1\n".to_owned(), |mut text, nth| {
            let _ = writeln!(text, "s{nth} --> s{}", nth + 1);
            text
        })
    };
    assert_eq!(check(&chain(limits::STATES)).machine.map(|machine| machine.states().len()), Some(limits::STATES));
    let (code, line, _) = errors(&chain(limits::STATES + 500))[0];
    assert_eq!((code, line), ("too_large", limits::STATES + 2));
    let many = "a --> b\n".repeat(limits::TRANSITIONS + 500);
    let found = errors(&format!("stateDiagram-v2\n[*] --> a\n{many}"));
    assert!(found.iter().any(|(code, ..)| *code == "too_large"), "{found:?}");
}
