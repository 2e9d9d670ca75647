use super::*;
use crate::machine::{Form, StateTypes, compile_text};
use proptest::prelude::*;

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
    let mermaid = write(&machine, Notation::Mermaid);
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
    let graph = write(&machine, Notation::Graph);
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
    lost: the labels of 2 transitions; `agent` is the type of 3 states without one; runs cannot end in `verify` any more: something follows it
    ");
    let phases = write(&machine, Notation::Phases);
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
    let written = write(&machine(Form::Phases, text), Notation::Mermaid);
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
            let Written { text, losses } = write(&machine, notation);
            let again = read(&text, notation);
            prop_assert_eq!(again.states().len(), machine.states().len());
            let harmless = |loss: &String| loss.contains("labels of") || loss.contains("without one");
            if losses.iter().all(harmless) {
                prop_assert_eq!(again.differences(&machine), [""; 0], "{}", text);
            }
        }
        let drawn = picture(&machine);
        for one in machine.transitions() {
            prop_assert!(drawn.contains(one.to.as_str()));
        }
    }
}
