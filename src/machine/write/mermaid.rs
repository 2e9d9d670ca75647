//! Writes a machine as a Mermaid diagram.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::json;

use crate::machine::mermaid::{is_id, is_keyword, written};
use crate::machine::write::written::{Written, counted};
use crate::machine::{Machine, State};
use crate::model::StateName;

pub(super) fn write(machine: &Machine) -> Written {
    let mut written = write_with(machine, &HashMap::new());
    if !machine.gates().is_empty() {
        let gates = machine.gates().iter().map(|gate| json!(gate).to_string()).collect::<Vec<_>>().join(", ");
        written.text.insert_str(0, &format!("---\nflow: {{gates: [{gates}]}}\n---\n"));
    }
    written
}

/// As [`write`], with the names of classes of states. A state has its class where a transition first names it: the
/// statement `class` accepts ASCII names only.
pub(super) fn write_with(machine: &Machine, classes: &HashMap<StateName, &str>) -> Written {
    let mut losses = Vec::new();
    let ids = ids(machine, &mut losses);
    let mut left: HashMap<&StateName, &str> = classes.iter().map(|(name, class)| (name, *class)).collect();
    let mut named = |name: &StateName| match left.remove(name) {
        Some(class) => format!("{}:::{class}", ids[name]),
        None => ids[name].clone(),
    };
    let mut text = "stateDiagram-v2\n".to_owned();
    let ends = machine.initial().iter().chain(machine.terminal());
    let used: HashSet<_> = machine.transitions().iter().flat_map(|one| [&one.from, &one.to]).chain(ends).collect();
    for state in machine.states() {
        describe(state, &ids[&state.name], used.contains(&state.name), &mut text, &mut losses);
    }
    for name in machine.initial() {
        let _ = writeln!(text, "    [*] --> {}", named(name));
    }
    for one in machine.transitions() {
        let _ = write!(text, "    {} --> {}", named(&one.from), named(&one.to));
        if let Some(label) = one.label.as_deref().map(written).filter(|label| !label.is_empty()) {
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
    Written { text, losses }
}

/// An id for each state: its name, or a similar one if Mermaid does not accept the name.
fn ids(machine: &Machine, losses: &mut Vec<String>) -> HashMap<StateName, String> {
    let is_taken = |name: &str| name.chars().all(is_id) && !is_keyword(name);
    let mut used: HashSet<String> =
        machine.states().iter().map(|state| state.name.to_string()).filter(|name| is_taken(name)).collect();
    let mut ids = HashMap::new();
    for state in machine.states() {
        let mut id = state.name.to_string();
        if !is_taken(&id) {
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

/// Writes the text of a state, of which a diagram has only one. Declares a state that is not `used` elsewhere.
fn describe(state: &State, id: &str, used: bool, text: &mut String, losses: &mut Vec<String>) {
    if state.kind.as_deref() == Some("choice") {
        let _ = writeln!(text, "    state {id} <<choice>>");
    } else if !used {
        let _ = writeln!(text, "    state {id}");
    }
    let renamed = (id != state.name.as_str()).then(|| state.name.as_str());
    let words = state.label.as_deref().or(state.description.as_deref()).or(renamed).map(written);
    if let Some(words) = words.filter(|words| !words.is_empty()) {
        let _ = writeln!(text, "    {id} : {words}");
    }
    if state.label.is_some() && state.description.is_some() {
        losses.push(format!("the description of `{}`", state.name));
    }
}
