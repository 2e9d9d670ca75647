//! The parts of a definition that no [`Machine`](crate::machine::Machine) represents, so that a conversion to another
//! notation loses them.

use crate::codec::{self, Node};
use crate::machine::lines::SourceLine;
use crate::machine::requires::REQUIRES;
use crate::machine::source::PERSON;
use crate::machine::{Notation, gates, markdown, mermaid};
use crate::model::counted;

/// The description in a definition: from its metadata, its front matter, or its top level.
#[must_use]
pub fn description(text: &str) -> Option<String> {
    let text = text.trim_start_matches('\u{feff}');
    let lines = SourceLine::all(text);
    let matter = gates::front_matter(&lines);
    let yaml = match matter {
        Some([first, .., last]) => &text[first.offset..last.offset + last.text.len()],
        Some([only]) => only.text,
        Some([]) => return None,
        None => text,
    };
    match codec::parse_value(yaml) {
        Ok(value) => {
            let described = value["metadata"]["description"].as_str().or(value["description"].as_str());
            described.map(str::to_owned)
        }
        // Hosts read front matter that is not valid YAML, such as an unquoted text with a colon.
        Err(_) => {
            let line = matter?.iter().find_map(|line| line.text.strip_prefix("description:"))?;
            Some(line.trim().to_owned())
        }
    }
}

/// What a conversion of `text` to the notation `to` loses, a sentence fragment for each.
#[must_use]
pub fn unsaid(notation: Notation, text: &str, to: Notation) -> Vec<String> {
    if notation == Notation::Mermaid {
        return unsaid_of_diagram(text);
    }
    let Ok(root) = codec::parse_with_repeats(text) else { return Vec::new() };
    // A diagram has no description. A description that is not a text is lost in every notation.
    let kept = usize::from(to != Notation::Mermaid && description(text).is_some());
    let mut lost = Vec::new();
    match notation {
        Notation::Mermaid => {}
        Notation::Phases => {
            keys("", &root, &["apiVersion", "kind", "metadata", "phases"], &mut lost);
            if let Some(metadata) = root.get("metadata") {
                keys("metadata.", metadata, &["id", "version", "description"][..2 + kept], &mut lost);
            }
            let phases = root.get("phases").map(Node::items).unwrap_or_default();
            let known = ["id", "label", "type", "description", "next", "terminal"];
            shared(phases.iter(), &known, "phase", &mut lost);
        }
        Notation::Graph => {
            // In the flat form, all keys are states.
            let Some(states) = root.get("states") else { return Vec::new() };
            keys("", &root, &["initial", "states", "types", "description"][..3 + kept], &mut lost);
            let states = states.entries().iter().map(|(_, body)| body);
            shared(states, &["type", "description", "transition"], "state", &mut lost);
        }
    }
    lost
}

/// A machine represents nearly everything in a diagram. The prose around it belongs to its document.
fn unsaid_of_diagram(text: &str) -> Vec<String> {
    let lines = markdown::find(text).0.unwrap_or_else(|| SourceLine::all(text));
    match mermaid::labels_of_stars(&lines) {
        0 => Vec::new(),
        1 => vec!["the label of 1 beginning or end (`[*]`)".to_owned()],
        count => vec![format!("the labels of {count} beginnings and ends (`[*]`)")],
    }
}

/// The unknown keys of one mapping.
fn keys(path: &str, mapping: &Node, known: &[&str], lost: &mut Vec<String>) {
    for (key, _) in mapping.entries() {
        if let Some(key) = key.text()
            && !known.contains(&key)
        {
            lost.push(format!("`{path}{key}`"));
        }
    }
}

/// The unknown keys of many mappings, each with the number of mappings that have it.
fn shared<'n>(mappings: impl Iterator<Item = &'n Node>, known: &[&str], what: &str, lost: &mut Vec<String>) {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for (key, value) in mappings.flat_map(Node::entries) {
        let Some(key) = key.text() else { continue };
        // A gate for a person is kept; other values describe the state.
        if key == "gate" && value.text() == Some(PERSON) || key == REQUIRES {
            continue;
        }
        match counts.iter().position(|(name, _)| *name == key) {
            Some(at) => counts[at].1 += 1,
            None if known.contains(&key) || counts.len() == MOST => {}
            None => counts.push((key, 1)),
        }
    }
    for (key, count) in counts {
        lost.push(format!("`{key}` of {}", counted(count, what)));
    }
}

/// How many different keys to list.
const MOST: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_found_in_any_front_matter() {
        for matter in [
            "---\nname: x\ndescription: Does it\n---\n",
            "---\r\nname: x\r\ndescription: Does it\r\n---\r\n",
            "--- \ndescription: Does it\n---\n",
            "\u{feff}---\nmetadata: {description: Does it}\n---\n",
        ] {
            assert_eq!(description(&format!("{matter}# X\n")).as_deref(), Some("Does it"), "{matter:?}");
        }
        let loose = "---\nname: x\ndescription: Use when: it is late\n---\n# X\n";
        assert_eq!(description(loose).as_deref(), Some("Use when: it is late"));
        assert_eq!(description("---\n---\n# description: none\n"), None);
    }

    #[test]
    fn what_only_the_text_says_is_told() {
        let phases = "kind: FlowWorkflow\nmetadata: {id: w, command: /x}\ninputs: {}\nphases: [{id: a, gate: blocking}, {id: b, gate: x, loop_over: y}]\n";
        let lost = ["`inputs`", "`metadata.command`", "`gate` of 2 phases", "`loop_over` of 1 phase"];
        assert_eq!(unsaid(Notation::Phases, phases, Notation::Graph), lost);
        let graph = "initial: a\ndescription: d\nstates: {a: {type: agent, model: m, transition: {next: [b]}}, b: {type: terminal}}\n";
        assert_eq!(unsaid(Notation::Graph, graph, Notation::Mermaid), ["`description`", "`model` of 1 state"]);
        assert_eq!(unsaid(Notation::Graph, graph, Notation::Phases), ["`model` of 1 state"]);
        let diagram = "stateDiagram-v2\n[*] --> a\na --> [*]";
        assert!(unsaid(Notation::Mermaid, diagram, Notation::Graph).is_empty());
        let labelled = format!("{diagram} : done\n");
        assert_eq!(
            unsaid(Notation::Mermaid, &labelled, Notation::Mermaid),
            ["the label of 1 beginning or end (`[*]`)"]
        );
    }
}
