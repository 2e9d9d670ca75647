//! A graph of states made of a machine.

use serde_json::{Map, Value, json};

use crate::codec;
use crate::machine::write::{Written, counted, labels, several_initial};
use crate::machine::{Machine, State, StateTypes};

/// The type of a state that has none.
const USUAL: &str = "agent";

pub(super) fn write(machine: &Machine) -> Written {
    let mut losses = Vec::new();
    several_initial(machine, &mut losses);
    labels(machine, &mut losses);
    let untyped = machine.states().iter().filter(|state| kind(machine, state).is_none()).count();
    if untyped > 0 {
        losses.push(format!("`{USUAL}` is the type of {} without one", counted(untyped, "state")));
    }
    let mut states = Map::new();
    for state in machine.states() {
        states.insert(state.name.to_string(), body(machine, state, &mut losses));
    }
    let mut graph = Map::new();
    graph.insert("initial".into(), json!(machine.initial()[0]));
    let kinds = machine.states().iter().filter_map(|state| state.kind.as_deref());
    let mut own: Vec<_> = kinds.filter(|kind| !StateTypes::BUILT_IN.contains(kind)).collect();
    own.sort_unstable();
    own.dedup();
    if !own.is_empty() {
        graph.insert("types".into(), json!(own));
    }
    graph.insert("states".into(), Value::Object(states));
    Written { text: codec::emit(&graph), losses }
}

/// The type that a graph gives a state. A state is not made `terminal` because a run ends in it: in a graph that says that
/// there is nothing to do.
fn kind<'a>(machine: &Machine, state: &'a State) -> Option<&'a str> {
    let leads_nowhere = machine.successors(&state.name).next().is_none();
    let ends = machine.is_terminal(&state.name) && leads_nowhere;
    state.kind.as_deref().filter(|kind| *kind != "terminal" || ends)
}

fn body(machine: &Machine, state: &State, losses: &mut Vec<String>) -> Value {
    let kind = kind(machine, state).unwrap_or(USUAL);
    let next = machine.next_of(&state.name);
    match (machine.is_terminal(&state.name), next.is_empty()) {
        (true, false) => losses.push(format!("runs cannot end in `{}` any more: something follows it", state.name)),
        (false, true) => losses.push(format!("runs end in `{}`: nothing follows it", state.name)),
        _ => {}
    }
    let mut body = Map::new();
    body.insert("type".into(), kind.into());
    if let Some(words) = state.description.as_deref().or(state.label.as_deref()) {
        body.insert("description".into(), words.into());
    }
    if state.label.is_some() && state.description.is_some() {
        losses.push(format!("the label of `{}`", state.name));
    }
    if kind != "terminal" {
        body.insert("transition".into(), json!({ "next": next }));
    }
    body.extend(state.config.clone());
    Value::Object(body)
}
