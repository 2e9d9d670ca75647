//! Decides whether a mode may begin while others are active.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::ModeName;
use crate::modes::policy::{Condition, ModeKind, Policy, Relation};

/// The decision (RCS, "Transition rule categories").
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// It begins; no mode is active.
    Start,
    /// It is active already.
    NoChange,
    /// It begins beside all active modes.
    Overlap,
    /// It begins, and these modes are completed.
    AutoComplete(Vec<ModeName>),
    /// It does not begin, and nothing changes.
    Deny(Denial),
}

/// Why a mode may not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The kind of conflict.
    pub kind: DenialKind,
    /// All active modes.
    pub active: Vec<ModeName>,
    /// The active modes that prevent it.
    pub blockers: Vec<ModeName>,
}

/// The kind of conflict because of which a mode may not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DenialKind {
    /// From execution back to planning: that never completes a mode automatically.
    Rollback,
    /// Two modes that may not be active together.
    Overlap,
}

impl Policy {
    /// Decides whether `requested` may begin while `active` are active, in this order. Unknown names and duplicates are
    /// ignored. `holds` tells whether a condition holds for an active mode.
    #[must_use]
    pub fn admit(
        &self,
        active: &[ModeName],
        requested: &ModeName,
        holds: &dyn Fn(&ModeName, Condition) -> bool,
    ) -> Admission {
        let mut known: Vec<&ModeName> = Vec::new();
        for name in active {
            if self.mode(name).is_some() && !known.contains(&name) {
                known.push(name);
            }
        }
        if known.contains(&requested) {
            return Admission::NoChange;
        }
        if known.is_empty() {
            return Admission::Start;
        }
        let (mut sources, mut blockers) = (Vec::new(), Vec::new());
        for &name in &known {
            match self.relation(name, requested) {
                Some(Relation::Beside) => {}
                // A hand-over that its condition closes is a conflict.
                Some(Relation::HandsOff(Some(unless))) if holds(name, unless) => blockers.push(name.clone()),
                Some(Relation::HandsOff(_)) => sources.push(name.clone()),
                Some(Relation::Apart) | None => blockers.push(name.clone()),
            }
        }
        if blockers.is_empty() {
            return if sources.is_empty() { Admission::Overlap } else { Admission::AutoComplete(sources) };
        }
        // An active execution mode makes it a rollback, even if it is not one of those that prevent the mode.
        let is_rollback = self.has_kind(requested, ModeKind::Planning)
            && known.iter().any(|name| self.has_kind(name, ModeKind::Execution));
        let kind = if is_rollback { DenialKind::Rollback } else { DenialKind::Overlap };
        Admission::Deny(Denial { kind, active: known.into_iter().cloned().collect(), blockers })
    }
}
