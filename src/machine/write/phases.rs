//! Writes a machine as phases.

use serde_json::{Map, Value, json};

use crate::codec::{self, DocumentKind};
use crate::machine::write::written::{WrittenDefinition, labels, requires_of, several_initial};
use crate::machine::{Machine, State};

pub(super) fn write(machine: &Machine, description: Option<&str>) -> WrittenDefinition {
    let mut losses = Vec::new();
    several_initial(machine, &mut losses);
    labels(machine, &mut losses);
    // A run begins in the first phase.
    let first = &machine.initial()[0];
    let mut states: Vec<_> = machine.states().iter().collect();
    states.sort_by_key(|state| state.name != *first);
    let mut phases = Vec::with_capacity(states.len());
    for (at, state) in states.iter().enumerate() {
        phases.push(phase(machine, state, states.get(at + 1).copied(), &mut losses));
    }
    let mut metadata = json!({ "id": machine.id(), "version": machine.version() });
    if let Some(words) = description {
        metadata["description"] = words.into();
    }
    let document = json!({
        "apiVersion": "flow.synapti.ai/v1",
        "kind": "FlowWorkflow",
        "metadata": metadata,
        "phases": phases,
    });
    WrittenDefinition { text: codec::emit(&document), losses }
}

/// Writes a phase; `below` is the next phase in the list.
fn phase(machine: &Machine, state: &State, below: Option<&State>, losses: &mut Vec<String>) -> Value {
    let mut phase = Map::new();
    phase.insert("id".into(), json!(state.name));
    if let Some(label) = &state.label {
        phase.insert("label".into(), json!(label));
    }
    if let Some(kind) = state.kind.as_deref() {
        if is_known(kind) {
            phase.insert("type".into(), kind.into());
        } else {
            losses.push(format!("`{kind}`, the type of `{}`", state.name));
        }
    }
    if let Some(description) = &state.description {
        phase.insert("description".into(), json!(description));
    }
    if machine.gates().contains(&state.name) {
        phase.insert("gate".into(), "person".into());
    }
    if let Some(requires) = requires_of(machine, &state.name) {
        phase.insert("requires".into(), requires);
    }
    let next = machine.next_of(&state.name);
    let is_usual = next.iter().eq(below.map(|below| &below.name));
    let is_terminal = machine.is_terminal(&state.name);
    // A phase that says `terminal: true` leads nowhere unless it names what follows.
    if !is_usual || (is_terminal && !next.is_empty()) {
        phase.insert("next".into(), json!(next));
    }
    if is_terminal != next.is_empty() {
        phase.insert("terminal".into(), is_terminal.into());
    }
    Value::Object(phase)
}

/// Whether the schema of phases has this type.
fn is_known(kind: &str) -> bool {
    let document = json!({
        "apiVersion": "flow.synapti.ai/v1",
        "kind": "FlowWorkflow",
        "metadata": { "id": "w" },
        "phases": [{ "id": "a", "type": kind }],
    });
    codec::validate(DocumentKind::Workflow, &document, None).is_empty()
}
