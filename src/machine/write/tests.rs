use super::*;
use crate::machine::{Form, Machine, Notation, StateTypes, compile_text};
use crate::model::StateName;
use proptest::prelude::*;
use std::fmt::Write as _;

fn machine(form: Form, text: &str) -> Machine {
    let checked = compile_text(form, text, "w", &StateTypes::default());
    checked.machine.unwrap_or_else(|| panic!("{text}\n{:?}", checked.diagnostics))
}

fn read(text: &str, notation: Notation) -> Machine {
    let form = match notation {
        Notation::Phases => Form::Phases,
        Notation::Mermaid => Form::Mermaid,
        Notation::Graph => Form::Graph,
    };
    machine(form, text)
}

const BUILD: &str = "\
stateDiagram-v2
[*] --> plan
plan --> build : ready
build --> verify
verify --> build : failed
verify --> [*]
build : All of it
";

#[test]
fn a_diagram_becomes_every_notation() {
    let machine = machine(Form::Mermaid, BUILD);
    let mermaid = write(&machine, Notation::Mermaid, None);
    assert_eq!(mermaid.losses, [""; 0]);
    insta::assert_snapshot!(mermaid.text, @r"
    stateDiagram-v2
        build : All of it
        [*] --> plan
        plan --> build : ready
        build --> verify
        verify --> build : failed
        verify --> [*]
    ");
    let graph = write(&machine, Notation::Graph, None);
    insta::assert_snapshot!(format!("{}lost: {}", graph.text, graph.losses.join("; ")), @r"
    initial: plan
    states:
      plan:
        type: agent
        transition:
          next:
          - build
      build:
        type: agent
        description: All of it
        transition:
          next:
          - verify
      verify:
        type: agent
        transition:
          next:
          - build
          - done
      done:
        type: terminal
        description: The run ends here
    lost: the labels of 2 transitions; `agent` is the type of 3 states without one; runs end in the new state `done` behind `verify`, which leads elsewhere as well
    ");
    let phases = write(&machine, Notation::Phases, None);
    insta::assert_snapshot!(format!("{}lost: {}", phases.text, phases.losses.join("; ")), @r"
    apiVersion: flow.synapti.ai/v1
    kind: FlowWorkflow
    metadata:
      id: w
      version: 1
    phases:
    - id: plan
    - id: build
      label: All of it
    - id: verify
      next:
      - build
      terminal: true
    lost: the labels of 2 transitions
    ");
}

#[test]
fn names_that_mermaid_does_not_take_are_told() {
    let text = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata: {id: w}\nphases:\n  - {id: fan-out, label: Fan, description: All, type: bash}\n  - id: fan_out\n  - id: class\n";
    let written = write(&machine(Form::Phases, text), Notation::Mermaid, None);
    assert_eq!(
        written.losses,
        [
            "the state `fan-out` is called `fan_out_`",
            "the state `class` is called `class_`",
            "the description of `fan-out`",
            "the types of 1 state",
        ]
    );
    assert_eq!(read(&written.text, Notation::Mermaid).states().len(), 3);
}

/// Names and texts that Mermaid reads as something else.
fn awkward() -> Machine {
    let names = [
        "fan-out", "class", "Scale", "href", "accTitle", "root_start", "stateDiagram", "stateDiagram-v2", "note",
        "end", "classDef", "default_", "direction", "完了",
    ];
    let texts = [
        "stop; then \"go\"", "see http://x/y", "a --> b", "direction LR", "#quot; # %% x", "<b>x</b> & `y`",
        "style x:#a;", "[*]", "{ }", "note: end note", "it's", "é, (x) 100% = $1", "\\n", "x -- y",
    ];
    let mut text = "initial: fan-out\nstates:\n".to_owned();
    for (at, (name, words)) in names.iter().zip(texts).enumerate() {
        let next = names.get(at + 1).map(|next| format!("{next:?}")).unwrap_or_default();
        let _ = writeln!(text, "  {name:?}: {{type: agent, description: {words:?}, transition: {{next: [{next}]}}}}");
    }
    machine(Form::Graph, &text)
}

#[test]
fn a_diagram_says_what_the_machine_said_whatever_its_names_and_texts_are() {
    let machine = awkward();
    let WrittenDefinition { text, losses } = write(&machine, Notation::Mermaid, None);
    insta::assert_snapshot!(format!("{text}lost: {}", losses.join("\n      ")), @r"
    stateDiagram-v2
        fan_out : stop#59; then #quot;go#quot;
        class_ : see http#58;//x/y
        Scale_ : a --#62; b
        href_ : #100;irection LR
        accTitle_ : #35;quot#59; #35; %% x
        root_start_ : #60;b>x#60;/b> #38; #96;y#96;
        _stateDiagram : style x#58;#35;a#59;
        _stateDiagram_v2 : [*]
        note_ : { }
        end : note#58; end note
        classDef_ : it's
        default_ : é, (x) 100% = $1
        direction : \n
        完了 : x -- y
        [*] --> fan_out
        fan_out --> class_
        class_ --> Scale_
        Scale_ --> href_
        href_ --> accTitle_
        accTitle_ --> root_start_
        root_start_ --> _stateDiagram
        _stateDiagram --> _stateDiagram_v2
        _stateDiagram_v2 --> note_
        note_ --> end
        end --> classDef_
        classDef_ --> default_
        default_ --> direction
        direction --> 完了
        完了 --> [*]
    lost: the state `fan-out` is called `fan_out`
          the state `class` is called `class_`
          the state `Scale` is called `Scale_`
          the state `href` is called `href_`
          the state `accTitle` is called `accTitle_`
          the state `root_start` is called `root_start_`
          the state `stateDiagram` is called `_stateDiagram`
          the state `stateDiagram-v2` is called `_stateDiagram_v2`
          the state `note` is called `note_`
          the state `classDef` is called `classDef_`
          the types of 14 states
    ");
    let again = read(&text, Notation::Mermaid);
    assert_eq!(again.states().len(), machine.states().len());
    for (was, is) in machine.states().iter().zip(again.states()) {
        assert_eq!(is.label, was.description, "{}", was.name);
    }
}

#[test]
fn a_state_with_work_is_not_made_one_without() {
    let machine = machine(Form::Mermaid, "stateDiagram-v2\n[*] --> work\nwork --> ship\nship --> [*]\n");
    let WrittenDefinition { text, losses } = write(&machine, Notation::Graph, None);
    insta::assert_snapshot!(format!("{text}lost: {}", losses.join("; ")), @r"
    initial: work
    states:
      work:
        type: agent
        transition:
          next:
          - ship
      ship:
        type: agent
        transition:
          next: []
    lost: `agent` is the type of 2 states without one
    ");
    let checked = compile_text(Form::Graph, &text, "w", &StateTypes::default());
    assert_eq!(checked.diagnostics, []);
    assert_eq!(checked.machine.unwrap().terminal(), machine.terminal());
}

#[test]
fn one_end_is_made_for_all_states_that_end_or_go_on_and_its_name_is_new() {
    let diagram = "stateDiagram-v2\n[*] --> done\ndone --> end\ndone --> [*]\nend --> done\nend --> [*]\n";
    let machine = machine(Form::Mermaid, diagram);
    let WrittenDefinition { text, losses } = write(&machine, Notation::Graph, None);
    let told = [
        "`agent` is the type of 2 states without one",
        "runs end in the new state `done-2` behind `done`, which leads elsewhere as well",
        "runs end in the new state `done-2` behind `end`, which leads elsewhere as well",
    ];
    assert_eq!(losses, told);
    let checked = compile_text(Form::Graph, &text, "w", &StateTypes::default());
    assert_eq!(checked.diagnostics, []);
    let graph = checked.machine.unwrap();
    assert_eq!(graph.terminal().iter().map(StateName::as_str).collect::<Vec<_>>(), ["done-2"]);
    // Once more, nothing is added.
    for notation in [Notation::Phases, Notation::Mermaid] {
        let between = read(&write(&graph, notation, None).text, notation);
        let again = read(&write(&between, Notation::Graph, None).text, Notation::Graph);
        assert_eq!(again.states().len(), 3, "{notation}");
        assert_eq!(again.terminal().len(), 1, "{notation}");
    }
}

#[test]
fn a_picture_shows_every_transition_once() {
    insta::assert_snapshot!(picture(&machine(Form::Mermaid, BUILD)), @r"
      ●
      ▼
      plan
      │ ready
      ▼
      build   All of it
      │
      ▼
      verify
      ├─▶ build ↑  (failed)
      ◉
    ");
    let branching = "stateDiagram-v2\n[*] --> detect\ndetect --> charter : none\ndetect --> prd\ncharter --> prd\ncharter --> [*]\nprd --> [*]\n[*] --> late\nlate --> detect\n";
    insta::assert_snapshot!(picture(&machine(Form::Mermaid, branching)), @r"
      ●
      ▼
      detect
      ├─▶ prd ↓
      │ none
      ▼
      charter
      ├─▶ ◉
      │
      ▼
      prd
      ◉

      ● begins here as well
      ▼
      late
      ├─▶ detect ↑
    ");
}

proptest! {
    #[test]
    fn what_is_written_without_loss_reads_back_the_same(
        edges in proptest::collection::vec((0..6_u8, 0..6_u8), 0..14),
        initial in proptest::collection::vec(0..6_u8, 1..3),
        terminal in proptest::collection::vec(0..6_u8, 0..3),
        label in proptest::option::of("[a-z:;#%\"' -]{0,8}"),
    ) {
        let mut text = "stateDiagram-v2\n".to_owned();
        let mut line = |one: String| { text.push_str(&one); text.push('\n'); };
        (0..6).for_each(|at| line(format!("s{at}")));
        initial.iter().for_each(|at| line(format!("[*] --> s{at}")));
        terminal.iter().for_each(|at| line(format!("s{at} --> [*]")));
        let label = label.filter(|label| !label.contains("--")).map(|label| format!(" : {label}")).unwrap_or_default();
        edges.iter().for_each(|(from, to)| line(format!("s{from} --> s{to}{label}")));
        let machine = machine(Form::Mermaid, &text);
        for notation in [Notation::Mermaid, Notation::Graph, Notation::Phases] {
            let WrittenDefinition { text, losses } = write(&machine, notation, None);
            let again = read(&text, notation);
            let added = usize::from(losses.iter().any(|loss| loss.contains("new state")));
            prop_assert_eq!(again.states().len(), machine.states().len() + added);
            let harmless = |loss: &String| loss.contains("labels of") || loss.contains("without one");
            if losses.iter().all(harmless) {
                prop_assert_eq!(again.differences(&machine), [], "{}", text);
            }
        }
        let drawn = picture(&machine);
        for one in machine.transitions() {
            prop_assert!(drawn.contains(one.to.as_str()));
        }
    }
}
