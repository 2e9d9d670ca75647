//! A mode of a policy, and its phases.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::ModeName;

/// The kind of a mode. Planning comes before execution; the way back is never automatic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The name that published schemas have for it.
#[schemars(rename = "Kind")]
pub enum ModeKind {
    /// It investigates and plans.
    Planning,
    /// It changes things.
    Execution,
}

/// A condition under which a hand-over is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The review of the source had no findings, so there is nothing to plan again.
    ReviewClean,
}

/// What happens when a mode is requested while another one is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// They may not be active together.
    Apart,
    /// They may be active together.
    Beside,
    /// The active mode hands over and is completed, unless the condition holds.
    HandsOff(Option<Condition>),
}

/// A mode of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Mode {
    /// The canonical name, which its file has, too.
    pub name: ModeName,
    /// Planning or execution.
    pub kind: ModeKind,
    /// Other names, in lower case.
    pub aliases: Vec<String>,
    /// Fields of its file when it begins.
    pub start: Map<String, Value>,
    /// The phases while it is active; if there are none, any text is valid.
    pub phases: Vec<String>,
    /// The phases in which it has ended.
    pub terminal_phases: Vec<String>,
    /// Other names for phases, in lower case.
    pub phase_aliases: BTreeMap<String, String>,
}

impl Mode {
    /// A mode without rules. It counts as execution, so no plan puts it before others.
    pub(super) fn unruled(name: ModeName) -> Self {
        Self {
            name,
            kind: ModeKind::Execution,
            aliases: Vec::new(),
            start: Map::new(),
            phases: Vec::new(),
            terminal_phases: Vec::new(),
            phase_aliases: BTreeMap::new(),
        }
    }

    /// The phases at work and those of the end.
    pub(super) fn all_phases(&self) -> impl Iterator<Item = &String> {
        self.phases.iter().chain(&self.terminal_phases)
    }

    /// The phase with this name or alias, in any case.
    pub(super) fn phase_named(&self, word: &str) -> Option<&String> {
        let word = word.trim().to_ascii_lowercase();
        if let Some(phase) = self.phase_aliases.get(&word) {
            return Some(phase);
        }
        self.all_phases().find(|phase| phase.eq_ignore_ascii_case(&word))
    }

    /// Whether the mode has ended in this phase.
    #[must_use]
    pub fn ends_in(&self, word: &str) -> bool {
        matches!(self.phase_named(word), Some(phase) if self.terminal_phases.contains(phase))
    }
}

/// The phase of a mode that handed over to another.
pub(crate) const COMPLETED: &str = "completed";
/// The phase of a mode that was cancelled.
pub(crate) const CANCELLED: &str = "cancelled";
/// The phase in a session's file that only hides the file in the root scope.
pub(crate) const CLEARED: &str = "cleared";
