//! May a mode begin while others are active?

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::ModeName;
use crate::modes::policy::{Condition, Kind, Policy, Relation};

/// The answer (RCS, "Transition rule categories").
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// Nothing is active.
    Start,
    /// It is active already.
    NoChange,
    /// It begins beside all others.
    Overlap,
    /// It begins, and these are completed.
    AutoComplete(Vec<ModeName>),
    /// It does not begin, and nothing changes.
    Deny(Denial),
}

/// Why a mode cannot begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// By which rule.
    pub kind: DenialKind,
    /// All that are active.
    pub active: Vec<ModeName>,
    /// Those among them that are in the way.
    pub blockers: Vec<ModeName>,
}

/// By which rule a mode cannot begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DenialKind {
    /// From execution back to planning, which never completes anything by itself.
    Rollback,
    /// Two modes that cannot be active together.
    Overlap,
}

impl Policy {
    /// Whether `requested` may begin while `active` are active, in this order. Names that the policy does not know, and
    /// repeats, do not count. `holds` tells whether a condition holds for an active mode.
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
                Some(Relation::HandsOff(unless)) if !unless.is_some_and(|condition| holds(name, condition)) => {
                    sources.push(name.clone());
                }
                _ => blockers.push(name.clone()),
            }
        }
        if blockers.is_empty() {
            return if sources.is_empty() { Admission::Overlap } else { Admission::AutoComplete(sources) };
        }
        let is = |name: &ModeName, kind: Kind| self.mode(name).is_some_and(|mode| mode.kind == kind);
        let back = is(requested, Kind::Planning) && known.iter().any(|name| is(name, Kind::Execution));
        let kind = if back { DenialKind::Rollback } else { DenialKind::Overlap };
        Admission::Deny(Denial { kind, active: known.into_iter().cloned().collect(), blockers })
    }
}
