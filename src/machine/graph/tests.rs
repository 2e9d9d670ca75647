use std::fmt::Write as _;

use super::*;
use crate::machine::{CompiledText, Form, compile_text, render};
use crate::model::limits;

fn check(text: &str) -> CompiledText {
    compile_text(Form::Graph, text, "w", &StateTypes::with(["planner"]))
}

/// A machine in one line, and the codes and lines of what is reported about it.
fn shape(text: &str) -> (String, Vec<(&'static str, usize)>) {
    let checked = check(text);
    let told = checked.diagnostics.iter().map(|one| (one.code, one.place.line)).collect();
    let Some(machine) = checked.machine else { return (String::new(), told) };
    let mut shape = format!("{}:", machine.initial()[0]);
    for state in machine.states() {
        let end = if machine.is_terminal(&state.name) { "$" } else { "" };
        let next: Vec<_> = machine.successors(&state.name).map(|one| one.to.as_str()).collect();
        let _ = write!(shape, " {}{end}/{}>{}", state.name, state.kind.as_deref().unwrap_or("-"), next.join(","));
    }
    (shape, told)
}

#[test]
fn both_forms_of_a_graph_are_read() {
    let states = "a: {type: agent, description: Thinks, transition: {next: [b, c]}}\n  b: {type: user, transition: {next: a}}\n  c: {type: terminal}\n";
    let nested = format!("initial: b\nstates:\n  {states}");
    assert_eq!(shape(&nested), ("b: a/agent>b,c b/user>a c$/terminal>".to_owned(), vec![]));
    let flat = states.replace("\n  ", "\n");
    assert_eq!(shape(&flat), ("a: a/agent>b,c b/user>a c$/terminal>".to_owned(), vec![("initial_defaulted", 1)]));
    let machine = check(&nested).machine.unwrap();
    assert_eq!(machine.states()[0].description.as_deref(), Some("Thinks"));
}

#[test]
fn arkos_example_is_read_with_its_own_types() {
    let text = "\
initial: agent_reply

states:
  # === Core States ===
  ask_user:
    description: \"Waiting for user input\"
    type: user
    transition:
      next: [agent_reply]

  agent_reply:
    description: \"AI reasoning and response generation\"
    type: agent
    transition:
      next: [agent_reply, ask_user, autonomous_plan]

  autonomous_plan:
    description: \"Create multi-step execution plan for complex tasks\"
    type: planner
    transition:
      next: [ask_user]  # ask_user if permission needed
";
    let expected = "agent_reply: ask_user/user>agent_reply agent_reply/agent>agent_reply,ask_user,autonomous_plan \
                    autonomous_plan/planner>ask_user";
    assert_eq!(shape(text), (expected.to_owned(), vec![("no_path_to_terminal", 1)]));
    let unknown = compile_text(Form::Graph, text, "w", &StateTypes::default());
    let told: Vec<_> = unknown.diagnostics.iter().map(|one| (one.code, one.place.line, one.is_error())).collect();
    assert_eq!(told, [("no_path_to_terminal", 1, false), ("unknown_type", 19, false)]);
    assert!(unknown.machine.is_some(), "it can be followed without knowing who does its states");
    let declared = format!("types: [planner]\n{text}");
    assert!(compile_text(Form::Graph, &declared, "w", &StateTypes::default()).machine.is_some());
}

#[test]
fn names_are_text_however_yaml_takes_them() {
    let text = "initial: 1\nstates:\n  1: {type: agent, transition: {next: [2]}}\n  2: {type: terminal}\n";
    assert_eq!(shape(text), ("1: 1/agent>2 2$/terminal>".to_owned(), vec![]));
    let text = "initial: on\nstates:\n  on: {type: agent, transition: {next: [true, 1.50]}}\n  true: {type: terminal}\n  \"1.50\": {type: terminal}\n";
    let ambiguous = |line| ("ambiguous_scalar", line);
    let told = vec![ambiguous(1), ambiguous(3), ambiguous(3), ambiguous(3), ambiguous(4)];
    assert_eq!(shape(text), ("on: on/agent>true,1.50 true$/terminal> 1.50$/terminal>".to_owned(), told));
}

#[test]
fn odd_graphs_are_read_with_a_warning() {
    let head = "initial: a\nstates:\n";
    for (states, code, line) in [
        ("  a: {type: agent}\n", "implicit_terminal", 3),
        ("  a:\n    type: agent\n    transition:\n", "implicit_terminal", 3),
        ("  a: {type: agent, transition: {next: }}\n", "implicit_terminal", 3),
        ("  a: {type: agent, transition: {next: []}}\n  b: {type: terminal}\n", "unreachable_state", 4),
        ("  a: {type: terminal, transition: {next: [a]}}\n", "terminal_has_next", 3),
        ("  a: {type: agent, transition: {next: [b, b]}}\n  b: {type: terminal}\n", "duplicate_target", 3),
        ("  a: {type: terminal}\n  b: {type: agent, transition: {next: a}}\n", "unreachable_state", 4),
        ("  a: {type: agent, transition: {next: a}}\n", "no_path_to_terminal", 1),
        (
            "  a: {type: tool, transition: {next: [b, c]}}\n  b: {type: terminal}\n  c: {type: tool, transition: {next: c}}\n",
            "no_path_to_terminal",
            5,
        ),
        ("  a: {type: terminal, colour: red}\n", "unknown_key", 3),
        ("  a: {type: Agent, transition: {next: b}}\n  b: {type: terminal}\n", "unknown_type", 3),
        ("  a: {type: terminal}\nowner: me\n", "unknown_key", 4),
    ] {
        let (shape, told) = shape(&format!("{head}{states}"));
        assert!(!shape.is_empty(), "{states}");
        assert_eq!(told, [(code, line)], "{states}");
    }
    // A state with a type may have settings of its own.
    for kind in ["planner", "agent"] {
        let text = format!(
            "initial: a\nstates:\n  a: {{type: {kind}, greeting: Hi, retries: {{most: 3}}, transition: {{next: b}}}}\n  \
             b: {{type: terminal}}\n"
        );
        assert_eq!(shape(&text).1, []);
        let machine = check(&text).machine.unwrap();
        let config = serde_json::json!({ "greeting": "Hi", "retries": { "most": 3 } });
        assert_eq!(serde_json::Value::Object(machine.states()[0].config.clone()), config);
        let pinned = crate::machine::Machine::from_value(&machine.to_value()).unwrap();
        assert_eq!(pinned, machine);
        let written = crate::machine::write(&machine, crate::machine::Notation::Graph, None);
        assert_eq!(check(&written.text).machine.unwrap().states()[0].config, machine.states()[0].config);
    }
}

#[test]
fn broken_graphs_are_refused_where_they_are_broken() {
    let head = "initial: a\nstates:\n";
    for (text, code, line, column) in [
        (String::new(), "empty_document", 1, 1),
        ("# moved\n".to_owned(), "empty_document", 2, 1),
        ("- a\n".to_owned(), "not_a_workflow", 1, 1),
        ("initial: a\nstates:\n  - a\n".to_owned(), "states_not_mapping", 3, 3),
        ("initial: a\nstates: hello\n".to_owned(), "states_not_mapping", 2, 9),
        ("initial: a\nstates: {}\n".to_owned(), "states_empty", 2, 9),
        ("initial: a\n".to_owned(), "states_empty", 1, 1),
        ("initial: [a]\nstates:\n  a: {type: terminal}\n".to_owned(), "initial_invalid", 1, 10),
        ("initial: b\nstates:\n  a: {type: terminal}\n".to_owned(), "initial_unknown", 1, 10),
        (format!("{head}  a:\n"), "state_not_mapping", 3, 3),
        (format!("{head}  a: agent\n"), "state_not_mapping", 3, 3),
        (format!("{head}  a: {{}}\n"), "missing_type", 3, 3),
        (format!("{head}  a: {{type: }}\n"), "missing_type", 3, 3),
        (format!("{head}  a: {{type: [agent]}}\n"), "type_invalid", 3, 13),
        (format!("{head}  a: {{type: agent, next: [a]}}\n"), "misplaced_next", 3, 20),
        (format!("{head}  a: {{type: agent, transition: [a]}}\n"), "transition_invalid", 3, 32),
        (format!("{head}  a: {{type: agent, transition: {{nxt: [a]}}}}\n"), "transition_unknown_key", 3, 33),
        (format!("{head}  a: {{type: agent, transition: {{next: {{a: loop}}}}}}\n"), "next_invalid", 3, 39),
        (format!("{head}  a: {{type: agent, transition: {{next: [[a]]}}}}\n"), "next_invalid", 3, 40),
        (format!("{head}  a: {{type: agent, transition: {{next: [b]}}}}\n"), "next_unknown", 3, 40),
        (format!("{head}  a: {{type: terminal}}\n  a: {{type: terminal}}\n"), "duplicate_state", 4, 3),
        (format!("{head}  \"a:b\": {{type: terminal}}\n  a: {{type: terminal}}\n"), "bad_state_name", 3, 3),
        (format!("{head}\ta: {{}}\n"), "yaml_syntax", 3, 2),
        (format!("{head}  a: !!python/object:os.system [x]\n"), "unsafe_tag", 3, 32),
        (format!("{head}  a: {{type: terminal}}\n---\nb: 1\n"), "multiple_documents", 4, 1),
    ] {
        let checked = check(&text);
        assert_eq!(checked.machine, None, "{text}");
        let errors = checked.diagnostics.iter().filter(|one| one.is_error());
        let errors: Vec<_> = errors.map(|one| (one.code, one.place.line, one.place.column)).collect();
        assert_eq!(errors, [(code, line, column)], "{text}");
    }
}

#[test]
fn all_problems_of_a_graph_come_at_once() {
    let text = "initial: agnt\nstates:\n  agent_reply:\n    type: agnet\n    transition: {next: [use_tol]}\n  use_tool:\n    type: tool\n    transitions: {next: agent_reply}\n  use_tool: {type: terminal}\n";
    let checked = check(text);
    let told: Vec<_> = checked.diagnostics.iter().map(|one| (one.code, one.place.line)).collect();
    assert_eq!(
        told,
        [
            ("initial_unknown", 1),
            ("unknown_type", 4),
            ("next_unknown", 5),
            ("implicit_terminal", 6),
            ("misspelt_key", 8),
            ("duplicate_state", 9),
        ]
    );
    insta::assert_snapshot!(render("g.yaml", text, &checked.diagnostics[1], false), @r"
    warning[unknown_type]: `agnet`, the type of the state `agent_reply`, is not known
     --> g.yaml:4:11
      |
    4 |     type: agnet
      |           ^^^^^
      |
      = help: did you mean `agent`? known types are agent, decision, planner, terminal, tool, user
    ");
}

#[test]
fn a_key_that_is_like_a_known_one_is_told_and_kept() {
    let (keys, end) = ("transition: {next: b}", "  b: {type: terminal}\n");
    for (state, more, told, kept) in [
        (
            "type: agent, trasition: {next: [b]}",
            "",
            vec!["implicit_terminal", "misspelt_key", "unreachable_state"],
            "trasition",
        ),
        (&format!("type: agent, {keys}, typ: x"), "", vec!["misspelt_key"], "typ"),
        (&format!("type: agent, {keys}, terminal: true"), "", vec!["misplaced_terminal"], "terminal"),
        (&format!("type: user, {keys}, is_terminal: true"), "", vec!["misplaced_terminal"], "is_terminal"),
        (&format!("type: agent, {keys}, terminal: false"), "", vec![], "terminal"),
        (&format!("type: agent, {keys}"), "inital: b\n", vec!["misspelt_key"], ""),
    ] {
        let checked = check(&format!("initial: a\nstates:\n  a: {{{state}}}\n{end}{more}"));
        let mut codes: Vec<_> = checked.diagnostics.iter().map(|one| one.code).collect();
        codes.sort_unstable();
        assert_eq!(codes, told, "{state}");
        let machine = checked.machine.unwrap();
        let settings = machine.states()[0].config.keys().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(settings.join(","), kept, "{state}");
    }
}

#[test]
fn settings_that_look_like_states_or_transitions_are_told() {
    for (setting, told) in [
        ("states: {c: {type: agent}}", vec!["states_unread"]),
        ("initial: c, states: {c: {type: agent}}", vec!["states_unread"]),
        ("on: {GO: b}", vec!["states_unread"]),
        ("on: {GO: {target: b}}", vec!["states_unread"]),
        ("on: {GO: [{target: b}]}", vec!["states_unread"]),
        ("on: {push: main}", vec![]),
        ("on: [b]", vec![]),
        ("states: 3", vec![]),
    ] {
        let text = format!(
            "initial: a\nstates:\n  a: {{type: agent, {setting}, transition: {{next: b}}}}\n  b: {{type: terminal}}\n"
        );
        let checked = check(&text);
        assert!(checked.machine.is_some(), "{text}");
        assert_eq!(checked.diagnostics.iter().map(|one| one.code).collect::<Vec<_>>(), told, "{text}");
    }
}

#[test]
fn a_gate_that_is_not_a_word_is_told_as_it_is_written() {
    for (gate, message) in [
        ("true", "`true` is not a gate of a state"),
        ("3", "`3` is not a gate of a state"),
        ("[person]", "`gate` is one word"),
        ("{by: person}", "`gate` is one word"),
    ] {
        let checked =
            check(&format!("initial: a\nstates:\n  a: {{type: agent, gate: {gate}, transition: {{next: []}}}}\n"));
        assert_eq!(checked.diagnostics.iter().map(|one| one.message.as_str()).collect::<Vec<_>>(), [message]);
        assert!(checked.machine.is_none());
    }
    for key in ["Gate", "gates"] {
        let text = format!("initial: a\nstates:\n  a: {{type: agent, {key}: person, transition: {{next: []}}}}\n");
        assert!(check(&text).diagnostics[0].is_of_unread_gate(), "{text}");
    }
}

#[test]
fn many_warnings_push_no_error_out() {
    let keys: String =
        (0..3 * limits::VIOLATIONS).map(|at| format!("  a{at}: {{type: odd, transition: {{next: a0}}}}\n")).collect();
    let checked = check(&format!("initial: a0\nstates:\n{keys}  z: {{type: tool, next: [a0]}}\n"));
    assert!(checked.machine.is_none() && checked.diagnostics.iter().any(|one| one.code == "misplaced_next"));
}

proptest::proptest! {
    #[test]
    fn any_text_ends_in_a_machine_or_an_error(text in "(initial|states|a|b|type|agent|terminal|transition|next|: |\\[|\\]|\\{|\\}|,|\n|  |- |~|1|\"|é){0,40}") {
        let checked = check(&text);
        proptest::prop_assert_eq!(checked.machine.is_some(), !checked.diagnostics.iter().any(Diagnostic::is_error));
        for one in &checked.diagnostics {
            proptest::prop_assert!(render("x", &text, one, false).contains(one.code));
            proptest::prop_assert!(text.get(one.span.clone()).is_some(), "{:?}", one);
        }
    }
}

#[test]
fn names_that_readers_disagree_on_and_descriptions_that_are_none_are_told() {
    let graph = |name: &str| format!("initial: \"{name}\"\nstates:\n  {name}: {{type: terminal}}\n");
    for name in ["0x10", "1_000", "2024-01-01", "1:30", "1e3", "007", "off"] {
        let checked = compile_text(Form::Graph, &graph(name), "w", &StateTypes::default());
        assert!(
            checked.diagnostics.iter().any(|one| one.code == "ambiguous_scalar"),
            "{name}: {:?}",
            checked.diagnostics
        );
    }
    for name in ["7", "v1", "a-b", "v1-2", "step_1"] {
        let checked = compile_text(Form::Graph, &graph(name), "w", &StateTypes::default());
        assert!(checked.machine.is_some() && checked.diagnostics.is_empty(), "{name}: {:?}", checked.diagnostics);
    }
    let text = "initial: a\nstates:\n  a: {type: terminal, description: [x]}\n";
    let checked = compile_text(Form::Graph, text, "w", &StateTypes::default());
    let found: Vec<_> = checked.diagnostics.iter().map(|one| (one.code, one.place.line)).collect();
    assert_eq!(found, [("description_invalid", 3)]);
}

#[test]
fn keys_that_are_there_twice_are_errors() {
    let text = "\
initial: a
initial: b
states:
  a:
    type: agent
    type: tool
    transition:
      next: [b]
      next: [a]
  b: {type: terminal, description: x, description: y}
states: {}
";
    let checked = compile_text(Form::Graph, text, "w", &StateTypes::default());
    let found: Vec<_> = checked.diagnostics.iter().map(|one| (one.code, one.place.line)).collect();
    assert_eq!(found, [2, 6, 9, 10, 11].map(|line| ("duplicate_key", line)));
}
