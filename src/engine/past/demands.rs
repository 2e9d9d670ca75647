//! What the definition that a run follows demands of it, and what one that it adopted demands no longer.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::Machine;
use crate::model::{Seq, StateName};

/// What a definition demands about a command, from the most on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::engine) enum Demand {
    /// That it was seen to pass in the phase.
    #[default]
    Pass,
    /// That it holds for the files as they are.
    Fresh,
    /// That every run comes to the phase before it ends.
    Always,
}

impl Demand {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a definition demanded until the run adopted another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct DroppedRequirement {
    pub(in crate::engine) phase: StateName,
    pub(in crate::engine) exec: String,
    /// The position of the event that dropped it.
    pub(in crate::engine) seq: Seq,
    #[serde(skip_serializing_if = "Demand::is_default", default)]
    pub(in crate::engine) demand: Demand,
}

/// A phase, a command, and what is demanded of it.
pub(super) type Demands = BTreeSet<(StateName, String, Demand)>;

/// What this definition demands.
pub(super) fn demands_of(machine: &Value) -> Demands {
    let mut demands = Demands::new();
    // Most require nothing, and every log has one.
    if machine["requires"].as_array().is_none_or(Vec::is_empty) {
        return demands;
    }
    let Ok(machine) = Machine::from_value(machine) else { return demands };
    for one in machine.requires() {
        let demand = |demand| (one.state.clone(), one.exec.clone(), demand);
        demands.insert(demand(Demand::Pass));
        if one.fresh {
            demands.insert(demand(Demand::Fresh));
        }
        if machine.is_on_every_way(&one.state) {
            demands.insert(demand(Demand::Always));
        }
    }
    demands
}
