//! Writes a machine as a graph.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::codec;
use crate::machine::write::written::{WrittenDefinition, labels, requires_of, several_initial};
use crate::machine::{Machine, State, StateTypes};
use crate::model::counted;

/// The type for a state that has none.
const USUAL: &str = "agent";

pub(super) fn write(machine: &Machine, description: Option<&str>) -> WrittenDefinition {
    let mut losses = Vec::new();
    several_initial(machine, &mut losses);
    labels(machine, &mut losses);
    let untyped = machine.states().iter().filter(|state| kind(machine, state).is_none()).count();
    if untyped > 0 {
        losses.push(format!("`{USUAL}` is the type of {} without one", counted(untyped, "state")));
    }
    let end = new_end(machine);
    let mut states = Map::new();
    for state in machine.states() {
        states.insert(state.name.to_string(), body(machine, state, end.as_deref(), &mut losses));
    }
    if let Some(end) = end {
        states.insert(end, json!({ "type": "terminal", "description": "The run ends here" }));
    }
    let mut graph = Map::new();
    if let Some(words) = description {
        graph.insert("description".into(), words.into());
    }
    graph.insert("initial".into(), json!(machine.initial()[0]));
    let kinds: BTreeSet<_> = machine.states().iter().filter_map(|state| state.kind.as_deref()).collect();
    let own: Vec<_> = kinds.into_iter().filter(|kind| !StateTypes::BUILT_IN.contains(kind)).collect();
    // Without this list, each of these types would be reported as unknown.
    if !own.is_empty() {
        graph.insert("types".into(), json!(own));
    }
    graph.insert("states".into(), Value::Object(states));
    WrittenDefinition { text: codec::emit(&graph), losses }
}

/// The name of a new terminal state, to follow states in which a run can end or move on. In a graph a run can only end
/// where nothing follows. `None` if there are no such states.
fn new_end(machine: &Machine) -> Option<String> {
    if !machine.states().iter().any(|state| ends_or_goes_on(machine, state)) {
        return None;
    }
    let mut name = "done".to_owned();
    let mut number = 2;
    while machine.states().iter().any(|state| state.name.as_str() == name) {
        name = format!("done-{number}");
        number += 1;
    }
    Some(name)
}

fn ends_or_goes_on(machine: &Machine, state: &State) -> bool {
    machine.is_terminal(&state.name) && machine.successors(&state.name).next().is_some()
}

/// The type of a state in a graph. A state in which a run can end does not become `terminal`: in a graph that type
/// means that there is nothing to do.
fn kind<'a>(machine: &Machine, state: &'a State) -> Option<&'a str> {
    let is_end = machine.is_terminal(&state.name) && machine.successors(&state.name).next().is_none();
    match state.kind.as_deref() {
        Some("terminal") if !is_end => None,
        kind => kind,
    }
}

fn body(machine: &Machine, state: &State, end: Option<&str>, losses: &mut Vec<String>) -> Value {
    let kind = kind(machine, state).unwrap_or(USUAL);
    let mut next: Vec<_> = machine.next_of(&state.name).iter().map(ToString::to_string).collect();
    if let Some(end) = end
        && ends_or_goes_on(machine, state)
    {
        let name = &state.name;
        losses.push(format!("runs end in the new state `{end}` behind `{name}`, which leads elsewhere as well"));
        next.push(end.to_owned());
    } else if next.is_empty() && !machine.is_terminal(&state.name) {
        losses.push(format!("runs end in `{}`: nothing follows it", state.name));
    }
    let mut body = Map::new();
    body.insert("type".into(), kind.into());
    if let Some(words) = state.description.as_deref().or(state.label.as_deref()) {
        body.insert("description".into(), words.into());
    }
    // A state of a graph has one text. If it has only a label, that is written as its description.
    if state.label.is_some() && state.description.is_some() {
        losses.push(format!("the label of `{}`", state.name));
    }
    if machine.gates().contains(&state.name) {
        body.insert("gate".into(), "person".into());
    }
    if let Some(requires) = requires_of(machine, &state.name) {
        body.insert("requires".into(), requires);
    }
    if kind != "terminal" {
        body.insert("transition".into(), json!({ "next": next }));
    }
    // Last: the settings of a state are written behind what flow itself reads.
    body.extend(state.config.clone());
    Value::Object(body)
}
