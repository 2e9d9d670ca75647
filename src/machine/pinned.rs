//! A machine as JSON, as a run pins it in its first event.

use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::machine::check::compile;
use crate::machine::machine::{Machine, MachineError};
use crate::machine::source::MachineSource;

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
        if !self.requires().is_empty() {
            value["requires"] = json!(self.requires());
        }
        value
    }

    /// Reads a pinned machine. It comes from a file, so it is checked like any other definition.
    ///
    /// # Errors
    /// [`MachineError`] if it is not the value of a valid machine.
    pub fn from_value(value: &Value) -> Result<Self, MachineError> {
        let compiled = compile(&MachineSource::deserialize(value)?).map_err(MachineError::Invalid)?;
        Ok(compiled.machine)
    }
}
