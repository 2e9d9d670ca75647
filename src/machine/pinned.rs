//! A machine as JSON, as a run pins it in its first event.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::machine::check::compile;
use crate::machine::machine::{Machine, MachineError};
use crate::machine::notation::Notation;
use crate::machine::source::{MachineSource, Name, SourceState, SourceTransition};

impl Machine {
    /// The machine as JSON, for reports and to pin it in a run's first event.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "id": self.id(),
            "version": self.version(),
            "notation": self.notation(),
            "states": self.states(),
            "initial": self.initial(),
            "terminal": self.terminal(),
            "transitions": self.transitions(),
        });
        // Left out if there are none, as in runs that were pinned before there were gates.
        if !self.gates().is_empty() {
            value["gates"] = json!(self.gates());
        }
        value
    }

    /// Reads a pinned machine. It comes from a file, so it is checked like any other definition.
    ///
    /// # Errors
    /// [`MachineError`] if it is not the value of a valid machine.
    pub fn from_value(value: &Value) -> Result<Self, MachineError> {
        let source = Pinned::deserialize(value)?.into_source();
        let compiled = compile(&source).map_err(MachineError::Invalid)?;
        Ok(compiled.machine)
    }
}

/// The format of [`Machine::to_value`].
#[derive(Deserialize)]
struct Pinned {
    id: String,
    version: u64,
    notation: Notation,
    states: Vec<PinnedState>,
    initial: Vec<String>,
    #[serde(default)]
    terminal: Vec<String>,
    #[serde(default)]
    gates: Vec<String>,
    #[serde(default)]
    transitions: Vec<PinnedTransition>,
}

#[derive(Deserialize)]
struct PinnedState {
    name: String,
    #[serde(default)]
    label: Option<String>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    config: Map<String, Value>,
}

#[derive(Deserialize)]
struct PinnedTransition {
    from: String,
    to: String,
    #[serde(default)]
    label: Option<String>,
}

impl Pinned {
    fn into_source(self) -> MachineSource {
        let mut source = MachineSource {
            id: Name::nowhere(self.id),
            version: self.version,
            notation: self.notation,
            states: Vec::with_capacity(self.states.len()),
            initial: names(self.initial),
            terminal: names(self.terminal),
            gates: names(self.gates),
            transitions: Vec::with_capacity(self.transitions.len()),
        };
        for PinnedState { name, label, kind, description, config } in self.states {
            source.states.push(SourceState { name: Name::nowhere(name), label, kind, description, config });
        }
        for PinnedTransition { from, to, label } in self.transitions {
            let (from, to) = (Name::nowhere(from), Name::nowhere(to));
            source.transitions.push(SourceTransition { from, to, label });
        }
        source
    }
}

fn names(names: Vec<String>) -> Vec<Name> {
    names.into_iter().map(Name::nowhere).collect()
}
