//! What a definition says that no [`Machine`](crate::machine::Machine) holds, so that a copy in another notation lacks it.

use crate::codec::{self, Node};
use crate::machine::Notation;
use crate::machine::write::counted;

/// What of `text` is lost when its machine is written down again, a sentence fragment each.
#[must_use]
pub fn unsaid(notation: Notation, text: &str) -> Vec<String> {
    let Ok(root) = codec::parse_with_repeats(text) else { return Vec::new() };
    match notation {
        // What is drawn is all that a diagram says; the prose around it belongs to its document.
        Notation::Mermaid => Vec::new(),
        Notation::Phases => {
            let mut lost = keys("", &root, &["apiVersion", "kind", "metadata", "phases"]);
            if let Some(metadata) = root.get("metadata") {
                lost.extend(keys("metadata.", metadata, &["id", "version"]));
            }
            let phases = root.get("phases").map(Node::items).unwrap_or_default();
            let known = ["id", "label", "type", "description", "next", "terminal"];
            lost.extend(shared(&phases.iter().collect::<Vec<_>>(), &known, "phase"));
            lost
        }
        Notation::Graph => {
            let Some(states) = root.get("states") else { return Vec::new() };
            let mut lost = keys("", &root, &["initial", "states", "types"]);
            let states: Vec<_> = states.entries().iter().map(|(_, body)| body).collect();
            lost.extend(shared(&states, &["type", "description", "transition"], "state"));
            lost
        }
    }
}

/// Keys of one mapping.
fn keys(path: &str, mapping: &Node, known: &[&str]) -> Vec<String> {
    let keys = mapping.entries().iter().filter_map(|(key, _)| key.text()).filter(|key| !known.contains(key));
    keys.map(|key| format!("`{path}{key}`")).collect()
}

/// Keys of many mappings, each with the number of those that have it.
fn shared(mappings: &[&Node], known: &[&str], what: &str) -> Vec<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for key in mappings.iter().flat_map(|mapping| mapping.entries()).filter_map(|(key, _)| key.text()) {
        match counts.iter().position(|(name, _)| *name == key) {
            Some(at) => counts[at].1 += 1,
            None if known.contains(&key) || counts.len() == MOST => {}
            None => counts.push((key, 1)),
        }
    }
    let line = |(key, count): (&str, usize)| format!("`{key}` of {}", counted(count, what));
    counts.into_iter().map(line).collect()
}

/// How many kinds of keys are told about.
const MOST: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_the_text_says_is_told() {
        let phases = "kind: FlowWorkflow\nmetadata: {id: w, command: /x}\ninputs: {}\nphases: [{id: a, gate: blocking}, {id: b, gate: x, loop_over: y}]\n";
        let lost = ["`inputs`", "`metadata.command`", "`gate` of 2 phases", "`loop_over` of 1 phase"];
        assert_eq!(unsaid(Notation::Phases, phases), lost);
        let graph = "initial: a\ndescription: d\nstates: {a: {type: agent, model: m, transition: {next: [b]}}, b: {type: terminal}}\n";
        assert_eq!(unsaid(Notation::Graph, graph), ["`description`", "`model` of 1 state"]);
        assert!(unsaid(Notation::Mermaid, "stateDiagram-v2\n[*] --> a\n").is_empty());
    }
}
