//! Checks the phase and the counters in a mode's file.

use serde_json::{Map, Value};

use crate::modes::policy::{Mode, Outcome, OutcomeSource, read_outcome};

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
        /// The field.
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
        let is_count = |value: &Value, least: u64| value.is_null() || value.as_u64().is_some_and(|n| n >= least);
        let counts = [("iteration", 0, "a whole number from 0 on"), ("max_iterations", 1, "a whole number from 1 on")];
        for (field, least, takes) in counts {
            if state.get(field).is_some_and(|value| !is_count(value, least)) {
                return Err(PhaseFault::Value { field, takes });
            }
        }
        for field in ["current_phase", "run_id", "session_id"] {
            if state.get(field).is_some_and(|value| !value.is_null() && !value.is_string()) {
                return Err(PhaseFault::Value { field, takes: "a text" });
            }
        }
        if state.get("active").is_some_and(|value| !value.is_boolean()) {
            return Err(PhaseFault::Value { field: "active", takes: "true or false" });
        }
        if self.phases.is_empty() {
            return Ok(());
        }
        let Some(phase) = state.get("current_phase").and_then(Value::as_str) else { return Ok(()) };
        if self.has_phase(phase) {
            return Ok(());
        }
        let Some(meant) = self.meant(phase).cloned() else {
            // flow's own phases for an end are valid in every mode.
            if matches!(phase, COMPLETED | CANCELLED | CLEARED) {
                return Ok(());
            }
            let known = self.phases.iter().chain(&self.terminal_phases).cloned().collect();
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
        let phase = state.get("current_phase").and_then(Value::as_str);
        let ended = phase.is_some_and(|phase| self.terminal_phases.iter().any(|known| known == phase));
        let told = read_outcome(state)
            .source
            .is_some_and(|said| !matches!(said, OutcomeSource::Active | OutcomeSource::CompletedAt));
        if ended && !told {
            state.insert("lifecycle_outcome".into(), Outcome::Finished.as_str().into());
            if !given.contains_key("active") {
                state.shift_remove("active");
            }
        }
    }

    /// The phase with this name or alias, in any case.
    fn meant(&self, word: &str) -> Option<&String> {
        let word = word.trim().to_ascii_lowercase();
        let mut phases = self.phases.iter().chain(&self.terminal_phases);
        self.phase_aliases.get(&word).or_else(|| phases.find(|phase| phase.to_ascii_lowercase() == word))
    }

    /// Whether the mode has ended in this phase.
    #[must_use]
    pub fn ends_in(&self, word: &str) -> bool {
        self.meant(word).is_some_and(|phase| self.terminal_phases.contains(phase))
    }

    fn has_phase(&self, phase: &str) -> bool {
        self.phases.iter().chain(&self.terminal_phases).any(|known| known == phase)
    }
}

/// The phase of a mode that handed over to another.
pub(crate) const COMPLETED: &str = "completed";
/// The phase of a mode that was cancelled.
pub(crate) const CANCELLED: &str = "cancelled";
/// The phase in a session's file that only hides the file in the root scope.
pub(crate) const CLEARED: &str = "cleared";
