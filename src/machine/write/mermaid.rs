//! Writes a machine as a Mermaid diagram.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::json;

use crate::machine::mermaid::{is_id, is_keyword, written};
use crate::machine::write::written::{WrittenDefinition, requires_of};
use crate::machine::{Machine, State};
use crate::model::{StateName, counted};

pub(super) fn write(machine: &Machine) -> WrittenDefinition {
    let mut written = write_with(machine, &HashMap::new());
    // JSON in one line is YAML, whatever the names are. A diagram itself has no gates.
    let mut keys = Vec::new();
    if !machine.gates().is_empty() {
        let gates: Vec<_> = machine.gates().iter().map(|gate| json!(gate).to_string()).collect();
        keys.push(format!("gates: [{}]", gates.join(", ")));
    }
    let mut required = Vec::new();
    for state in machine.states() {
        if let Some(requires) = requires_of(machine, &state.name) {
            required.push(format!("{}: {requires}", json!(state.name)));
        }
    }
    if !required.is_empty() {
        keys.push(format!("requires: {{{}}}", required.join(", ")));
    }
    if !keys.is_empty() {
        written.text.insert_str(0, &format!("---\nflow: {{{}}}\n---\n", keys.join(", ")));
    }
    written
}

/// As [`write`], with the names of classes of states. A state has its class where a transition first names it: the
/// statement `class` accepts ASCII names only.
pub(super) fn write_with(machine: &Machine, classes: &HashMap<StateName, &str>) -> WrittenDefinition {
    let mut losses = Vec::new();
    let ids = ids(machine, &mut losses);
    let mut left: HashMap<_, _> = classes.iter().collect();
    let mut named = |name: &StateName| match left.remove(name) {
        Some(class) => format!("{}:::{class}", ids[name]),
        None => ids[name].clone(),
    };
    let mut text = "stateDiagram-v2\n".to_owned();
    let mut used: HashSet<_> = machine.initial().iter().chain(machine.terminal()).collect();
    for one in machine.transitions() {
        used.extend([&one.from, &one.to]);
    }
    for state in machine.states() {
        describe(state, &ids[&state.name], used.contains(&state.name), &mut text, &mut losses);
    }
    for name in machine.initial() {
        let _ = writeln!(text, "    [*] --> {}", named(name));
    }
    for one in machine.transitions() {
        let _ = write!(text, "    {} --> {}", named(&one.from), named(&one.to));
        let label = written(one.label.as_deref().unwrap_or_default());
        if !label.is_empty() {
            let _ = write!(text, " : {label}");
        }
        text.push('\n');
    }
    for name in machine.terminal() {
        let _ = writeln!(text, "    {} --> [*]", named(name));
    }
    let typed = machine.states().iter().filter(|state| !matches!(state.kind.as_deref(), None | Some("choice"))).count();
    if typed > 0 {
        losses.push(format!("the types of {}", counted(typed, "state")));
    }
    WrittenDefinition { text, losses }
}

/// An id for each state: its name, or a similar one if Mermaid does not accept the name.
fn ids(machine: &Machine, losses: &mut Vec<String>) -> HashMap<StateName, String> {
    // All names that stay are taken before the first one is replaced.
    let names = machine.states().iter().map(|state| state.name.to_string());
    let mut used: HashSet<String> = names.filter(|name| is_accepted(name)).collect();
    let mut ids = HashMap::new();
    for state in machine.states() {
        let mut id = state.name.to_string();
        if !is_accepted(&id) {
            id = id.chars().map(|c| if is_id(c) { c } else { '_' }).collect();
            // A suffix does not help here, because Mermaid reserves all words with this beginning.
            if id.to_lowercase().starts_with("statediagram") {
                id.insert(0, '_');
            }
            while is_keyword(&id) || !used.insert(id.clone()) {
                id.push('_');
            }
            losses.push(format!("the state `{}` is called `{id}`", state.name));
        }
        ids.insert(state.name.clone(), id);
    }
    ids
}

/// Whether Mermaid accepts a name as an id.
fn is_accepted(name: &str) -> bool {
    name.chars().all(is_id) && !is_keyword(name)
}

/// Writes the text of a state, of which a diagram has only one. Declares a state that is not `used` elsewhere.
fn describe(state: &State, id: &str, used: bool, text: &mut String, losses: &mut Vec<String>) {
    if state.kind.as_deref() == Some("choice") {
        let _ = writeln!(text, "    state {id} <<choice>>");
    } else if !used {
        let _ = writeln!(text, "    state {id}");
    }
    // A replaced name is still what people see.
    let fallback = if id == state.name.as_str() { "" } else { state.name.as_str() };
    let words = written(state.label.as_deref().or(state.description.as_deref()).unwrap_or(fallback));
    if !words.is_empty() {
        let _ = writeln!(text, "    {id} : {words}");
    }
    if state.label.is_some() && state.description.is_some() {
        losses.push(format!("the description of `{}`", state.name));
    }
}
