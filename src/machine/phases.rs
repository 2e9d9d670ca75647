//! The phases notation: a list of phases in YAML. Each leads to the next one in the list unless it says otherwise.

use std::collections::BTreeSet;

use serde_json::Map;

use crate::codec::{self, DocumentKind, Node, Tree};
use crate::machine::foreign;
use crate::machine::requires::{self, REQUIRES};
use crate::machine::source::PERSON;
use crate::machine::{Diagnostic, MachineSource, Name, Notation, SourceState, SourceTransition, unread};

/// Reads a definition; `fallback_id` is the workflow's id if the definition has none.
///
/// Returns a source whenever the phases can be read, so that their problems are reported together with those of the
/// rest of the document.
pub(super) fn parse(text: &str, fallback_id: &str) -> (Option<MachineSource>, Vec<Diagnostic>) {
    let root = match foreign::refuse_foreign(text, codec::parse(text), &BTreeSet::new(), fallback_id) {
        Ok(root) => root,
        Err(problem) => return (None, vec![*problem]),
    };
    if HEAD.iter().all(|key| root.get(key).is_none()) {
        let message = "the workflow has no `apiVersion`, `kind` and `metadata`";
        let at = root.entries().first().map_or(&root, |(key, _)| key);
        let help = format!(
            "begin it with `apiVersion: flow.synapti.ai/v1`, `kind: FlowWorkflow` and `metadata: {{id: {fallback_id}}}`"
        );
        return (None, vec![Diagnostic::error("schema", &Name::of_node(at), message).with_help(help)]);
    }
    let mut diagnostics = Vec::new();
    for violation in codec::validate(DocumentKind::Workflow, &root.to_value(), Some(&root)) {
        let node = root.nearest(&violation.pointer);
        let place = violation.place.unwrap_or(node.place);
        // If the violation has a place of its own, such as that of an unknown key, the node's span does not apply.
        let span = if place == node.place { node.span.clone() } else { 0..0 };
        let name = Name { span, place, ..Name::nowhere("") };
        diagnostics.push(Diagnostic::error("schema", &name, violation.message));
    }
    let phases = phases_of(&root);
    diagnostics.extend(root.entries().iter().filter_map(|(key, _)| unread::at_root(key)));
    for phase in phases {
        warn_of_misspelt_keys(phase, &mut diagnostics);
    }
    // One phase without an id would be missing between the others, and the transitions would skip it.
    let is_readable = !phases.is_empty() && phases.iter().all(|phase| text_of(phase, "id").is_some());
    let source = if is_readable { Some(read(&root, fallback_id)) } else { None };
    (source, diagnostics)
}

fn phases_of(root: &Node) -> &[Node] {
    match root.get("phases") {
        Some(phases) => phases.items(),
        None => &[],
    }
}

fn text_of<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key)?.text()
}

/// The keys that tell what a document is, and that each has.
const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The keys of a phase in the schema.
const KEYS: [&str; 10] =
    ["id", "label", "description", "type", "gate", REQUIRES, "loop_over", "next", "terminal", "activities"];

/// Warns about keys that are similar to a known one. A phase may have other keys, but these are probably misspelt.
fn warn_of_misspelt_keys(phase: &Node, diagnostics: &mut Vec<Diagnostic>) {
    for (key, _) in phase.entries() {
        let text = key.text().unwrap_or_default();
        if KEYS.contains(&text) {
            continue;
        }
        diagnostics.extend(requires::misspelt(key, &KEYS));
    }
}

/// Reads a document whose phases all have ids. Other problems of the phases are reported already.
fn read(root: &Node, fallback_id: &str) -> MachineSource {
    let phases = phases_of(root);
    let ids: Vec<_> = phases.iter().filter_map(|phase| phase.get("id")).map(Name::of_node).collect();
    let mut source = MachineSource::new(Name::nowhere(fallback_id), Notation::Phases);
    source.initial.extend(ids.first().cloned());
    if let Some(metadata) = root.get("metadata") {
        if let Some(id) = metadata.get("id").filter(|id| id.text().is_some()) {
            source.id = Name::of_node(id);
        }
        source.version = metadata.get("version").and_then(whole_number).unwrap_or(1);
    }
    for (at, (phase, id)) in phases.iter().zip(&ids).enumerate() {
        source.states.push(SourceState {
            name: id.clone(),
            label: text_of(phase, "label").map(str::to_owned),
            kind: text_of(phase, "type").map(str::to_owned),
            description: text_of(phase, "description").map(str::to_owned),
            config: Map::new(),
        });
        if text_of(phase, "gate") == Some(PERSON) {
            source.gates.push(id.clone());
        }
        if let Some(list) = phase.get(REQUIRES) {
            // The schema said what is wrong with it.
            let _ = requires::read(list, id, &mut source.requires);
        }
        let next = next(phase, ids.get(at + 1));
        // A phase may be both terminal and followed by others, if it says so.
        if is_marked(phase).unwrap_or(next.is_empty()) {
            source.terminal.push(id.clone());
        }
        for to in next {
            source.transitions.push(SourceTransition { from: id.clone(), to, label: None });
        }
    }
    source
}

/// The phases after `phase`: those in `next`, none if it is marked as terminal, otherwise the one `below`.
fn next(phase: &Node, below: Option<&Name>) -> Vec<Name> {
    match phase.get("next") {
        Some(one) if one.text().is_some() => vec![Name::of_node(one)],
        Some(many) => many.items().iter().filter(|one| one.text().is_some()).map(Name::of_node).collect(),
        None if is_marked(phase) == Some(true) => Vec::new(),
        None => below.cloned().into_iter().collect(),
    }
}

/// The value of `terminal`, if it is there.
fn is_marked(phase: &Node) -> Option<bool> {
    match phase.get("terminal")?.tree {
        Tree::Bool(yes) => Some(yes),
        _ => None,
    }
}

/// A version. JSON Schema accepts `2.0` as a whole number, too.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the schema accepts positive whole numbers"
)]
fn whole_number(node: &Node) -> Option<u64> {
    match &node.tree {
        Tree::Number(number) => number.as_u64().or(number.as_f64().map(|number| number as u64)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{CompiledText, Form, Machine, StateTypes, compile_text, render};
    use crate::model::limits;
    use proptest::prelude::*;

    const HEAD: &str = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: w\n  version: 2.0\n";

    fn check(phases: &str) -> CompiledText {
        compile_text(Form::Phases, &format!("{HEAD}{phases}"), "fallback", &StateTypes::default())
    }

    #[track_caller]
    fn machine(phases: &str) -> Machine {
        let checked = check(phases);
        assert_eq!(checked.diagnostics, []);
        checked.machine.unwrap()
    }

    fn edges(machine: &Machine) -> Vec<String> {
        let edges = machine.transitions().iter().map(|one| format!("{}>{}", one.from, one.to));
        edges.collect()
    }

    fn problems(checked: &CompiledText) -> Vec<(&'static str, usize, usize)> {
        let diagnostics = checked.diagnostics.iter();
        diagnostics.map(|one| (one.code, one.place.line, one.place.column)).collect()
    }

    #[test]
    fn phases_follow_each_other() {
        let machine = machine("phases: [{id: preflight, type: bash}, {id: fan-out, label: Fan out}, {id: report}]");
        assert_eq!(edges(&machine), ["preflight>fan-out", "fan-out>report"]);
        assert_eq!(machine.initial()[0].as_str(), "preflight");
        assert_eq!(machine.terminal()[0].as_str(), "report");
        assert_eq!((machine.id().as_str(), machine.version()), ("w", 2));
        assert_eq!(machine.states()[0].kind.as_deref(), Some("bash"));
        assert_eq!(machine.states()[1].label.as_deref(), Some("Fan out"));
    }

    #[test]
    fn all_problems_come_at_once_and_a_misspelt_key_is_told() {
        let checked =
            check("phases:\n- id: a\n  type: bsh\n- id: a\n  nexts: [c]\n  next: zz\n- id: c\n  descripton: x\n");
        let found = [
            ("schema", 8, 9),
            ("duplicate_state", 9, 7),
            ("misspelt_key", 10, 3),
            ("next_unknown", 11, 9),
            ("misspelt_key", 13, 3),
        ];
        assert_eq!(problems(&checked), found);
        let bare = compile_text(Form::Phases, "phases: [a, b]\n", "w", &StateTypes::default()).diagnostics;
        assert_eq!(bare.len(), 1, "{bare:?}");
        assert_eq!(bare[0].message, "the workflow has no `apiVersion`, `kind` and `metadata`");
        assert!(bare[0].help.as_ref().unwrap().ends_with("`metadata: {id: w}`"), "{bare:?}");
        let lost = check("phases: [{id: a, nexts: [c]}, {id: b}, {id: c}]");
        assert_eq!(problems(&lost), [("misspelt_key", 6, 18)]);
        assert!(lost.machine.is_some(), "a similarity is told, and decides nothing");
        assert_eq!(check("phases: [{id: a, owner: Ada}]").diagnostics, []);
    }

    #[test]
    fn terminal_phases_are_those_that_lead_nowhere_or_say_so() {
        let checked = check(
            "phases: [{id: a, next: [b, d, e]}, {id: b, next: c}, {id: c, next: []}, {id: d, terminal: true}, {id: e, next: [a], terminal: true}]",
        );
        let machine = checked.machine.unwrap();
        assert_eq!(edges(&machine), ["a>b", "a>d", "a>e", "b>c", "e>a"]);
        assert_eq!(machine.terminal().iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["c", "d", "e"]);
        assert_eq!(checked.diagnostics, []);
        assert_eq!(problems(&check("phases: [{id: a, terminal: false}]")), [("no_path_to_terminal", 4, 7)]);
    }

    #[test]
    fn every_problem_has_its_place() {
        let checked =
            check("phase: []\nphases:\n  - id: building\n    next: [bulding]\n  - id: building\n  - id: a b\n");
        assert_eq!(checked.machine, None);
        assert_eq!(
            problems(&checked),
            [("schema", 6, 1), ("next_unknown", 9, 12), ("duplicate_state", 10, 9), ("bad_state_name", 11, 9)]
        );
        let text = format!("{HEAD}phases:\n  - id: building\n    next: [bulding]\n");
        let checked = compile_text(Form::Phases, &text, "w", &StateTypes::default());
        let shown = render("w.workflow.yaml", &text, &checked.diagnostics[0], false);
        insta::assert_snapshot!(shown, @r"
        error[next_unknown]: there is no state `bulding`
         --> w.workflow.yaml:8:12
          |
        8 |     next: [bulding]
          |            ^^^^^^^
          |
          = help: did you mean `building`?
        ");
    }

    #[test]
    fn broken_phases_are_reported_once() {
        assert_eq!(problems(&check("phases:\n  - id: a\n    next: [b]\n  - label: b\n")), [("schema", 9, 5)]);
        assert_eq!(problems(&check("phases: []\n")), [("schema", 6, 9)]);
        assert_eq!(problems(&check("")), [("schema", 1, 1)]);
    }

    #[test]
    fn text_that_is_no_yaml_or_too_large_is_refused_with_a_place() {
        let bad = |text: &str| problems(&compile_text(Form::Phases, text, "w", &StateTypes::default()));
        assert_eq!(bad("a: 1\n\tb: 2\n")[0].0, "yaml_syntax");
        assert_eq!(bad("a: &x [1]\n")[0].0, "yaml_syntax");
        assert_eq!(bad(&" ".repeat(limits::WORKFLOW_BYTES + 1)), [("too_large", 1, 1)]);
        assert_eq!(bad(""), [("schema", 1, 1)]);
    }

    proptest! {
        #[test]
        fn any_text_ends_in_a_machine_or_an_error(text in "[a-z:\\-\\[\\]{}, \n\"#é]{0,200}") {
            let checked = check(&format!("phases:\n{text}"));
            prop_assert_eq!(checked.machine.is_some(), !checked.diagnostics.iter().any(Diagnostic::is_error));
            for diagnostic in &checked.diagnostics {
                prop_assert!(render("x", &text, diagnostic, true).contains(diagnostic.code));
            }
        }

        #[test]
        fn linear_phases_keep_their_order(names in proptest::collection::hash_set("[a-z][a-z0-9_-]{0,8}", 1..20)) {
            let names = names.into_iter().collect::<Vec<_>>();
            let text = names.iter().map(|name| format!("  - id: \"{name}\"\n")).collect::<String>();
            let machine = machine(&format!("phases:\n{text}"));
            let states = machine.states().iter().map(|state| state.name.to_string()).collect::<Vec<_>>();
            prop_assert_eq!(states, names.clone());
            prop_assert_eq!(machine.transitions().len(), names.len() - 1);
            prop_assert!(machine.successors(&machine.terminal()[0]).next().is_none());
        }
    }
}
