//! Checks the phase and the counters in a mode's file.

use serde_json::{Map, Value};

use crate::modes::policy::mode::{CANCELLED, CLEARED, COMPLETED};
use crate::modes::policy::{Mode, ModeOutcome, read_outcome, text_of};

/// A field of a mode's file that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhaseFault {
    /// The mode has phases, and this is not one of them.
    Unknown {
        /// The word.
        phase: String,
        /// The phases.
        known: Vec<String>,
    },
    /// A field with a value that it cannot have.
    Value {
        /// The field that has the value.
        field: &'static str,
        /// The values that it takes, in words.
        takes: &'static str,
    },
}

impl Mode {
    /// Replaces the phase in `state` by the mode's own name for it, and checks the counters. The original word is kept
    /// in `phase_normalized_from`.
    ///
    /// # Errors
    /// [`PhaseFault`]; then the caller must discard `state`.
    pub fn check_fields(&self, state: &mut Map<String, Value>) -> Result<(), PhaseFault> {
        let counts = [("iteration", 0, "a whole number from 0 on"), ("max_iterations", 1, "a whole number from 1 on")];
        for (field, least, takes) in counts {
            match state.get(field) {
                None | Some(Value::Null) => {}
                Some(value) if value.as_u64().is_some_and(|count| count >= least) => {}
                Some(_) => return Err(PhaseFault::Value { field, takes }),
            }
        }
        for field in ["current_phase", "run_id", "session_id"] {
            if !matches!(state.get(field), None | Some(Value::Null | Value::String(_))) {
                return Err(PhaseFault::Value { field, takes: "a text" });
            }
        }
        if !matches!(state.get("active"), None | Some(Value::Bool(_))) {
            return Err(PhaseFault::Value { field: "active", takes: "true or false" });
        }
        if self.phases.is_empty() {
            return Ok(());
        }
        let Some(phase) = text_of(state, "current_phase") else { return Ok(()) };
        if self.all_phases().any(|known| known == phase) {
            return Ok(());
        }
        let Some(meant) = self.phase_named(phase).cloned() else {
            // flow's own phases for an end are valid in every mode.
            if matches!(phase, COMPLETED | CANCELLED | CLEARED) {
                return Ok(());
            }
            let known = self.all_phases().cloned().collect();
            return Err(PhaseFault::Unknown { phase: phase.to_owned(), known });
        };
        let written = phase.to_owned();
        state.insert("current_phase".into(), meant.into());
        state.insert("phase_normalized_from".into(), written.into());
        Ok(())
    }

    /// If the phase means that the mode has ended, and no other field says how, sets the outcome `finished`. `active`
    /// changes too, unless `given`, the fields that are being written, contains it.
    pub fn end_by_phase(&self, state: &mut Map<String, Value>, given: &Map<String, Value>) {
        let Some(phase) = text_of(state, "current_phase") else { return };
        let is_end = self.terminal_phases.iter().any(|known| known == phase);
        let reading = read_outcome(state);
        if is_end && (reading.source.is_none() || reading.is_bare()) {
            state.insert("lifecycle_outcome".into(), ModeOutcome::Finished.as_str().into());
            if !given.contains_key("active") {
                state.shift_remove("active");
            }
        }
    }
}
