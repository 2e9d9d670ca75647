//! What differs between two versions of a definition.

use std::collections::HashSet;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::machine::Machine;
use crate::model::StateName;

/// A difference between a definition and a newer one. `Display` is a short line for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Difference {
    /// A state is gone.
    StateRemoved {
        /// The state.
        state: StateName,
    },
    /// A state is new.
    StateAdded {
        /// The state.
        state: StateName,
    },
    /// A transition is gone.
    TransitionRemoved {
        /// The state that it left.
        from: StateName,
        /// The state that it entered.
        to: StateName,
    },
    /// A transition is new.
    TransitionAdded {
        /// The state that it leaves.
        from: StateName,
        /// The state that it enters.
        to: StateName,
    },
    /// Runs begin elsewhere.
    Initial {
        /// The initial states before.
        was: Vec<StateName>,
        /// The initial states now.
        is: Vec<StateName>,
    },
    /// Runs can end in a state, or cannot any more.
    Terminal {
        /// The state.
        state: StateName,
        /// Whether it is terminal now.
        is: bool,
    },
    /// A state waits for a person now, or does not any more.
    Gate {
        /// The state.
        state: StateName,
        /// Whether it waits for a person now.
        is: bool,
    },
    /// Transitions of a state have another order; the first one is proposed.
    Order,
    /// A state has another type.
    Type {
        /// The state.
        state: StateName,
        /// The type before.
        was: Option<String>,
        /// The type now.
        is: Option<String>,
    },
    /// A state has another label.
    Label {
        /// The state.
        state: StateName,
        /// The label before.
        was: Option<String>,
        /// The label now.
        is: Option<String>,
    },
    /// A state has another description.
    Description {
        /// The state.
        state: StateName,
    },
    /// A state has other settings.
    Settings {
        /// The state.
        state: StateName,
    },
    /// Transitions have other labels.
    TransitionLabels,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &Option<String>| text.as_deref().map_or("none".to_owned(), |text| format!("`{text}`"));
        match self {
            Self::StateRemoved { state } => write!(f, "state `{state}` removed"),
            Self::StateAdded { state } => write!(f, "state `{state}` added"),
            Self::TransitionRemoved { from, to } => write!(f, "transition `{from}` → `{to}` removed"),
            Self::TransitionAdded { from, to } => write!(f, "transition `{from}` → `{to}` added"),
            Self::Initial { was, is } => write!(f, "initial state was {} and is {}", names(was), names(is)),
            Self::Terminal { state, is: true } => write!(f, "state `{state}` is now terminal"),
            Self::Terminal { state, is: false } => write!(f, "state `{state}` is no longer terminal"),
            Self::Gate { state, is: true } => write!(f, "state `{state}` now waits for a person"),
            Self::Gate { state, is: false } => write!(f, "state `{state}` no longer waits for a person"),
            Self::Order => f.write_str("the order of transitions changed"),
            Self::Type { state, was, is } => {
                write!(f, "the type of `{state}` was {} and is {}", shown(was), shown(is))
            }
            Self::Label { state, was, is } => {
                write!(f, "the label of `{state}` was {} and is {}", shown(was), shown(is))
            }
            Self::Description { state } => write!(f, "the description of `{state}` changed"),
            Self::Settings { state } => write!(f, "the settings of `{state}` changed"),
            Self::TransitionLabels => f.write_str("the labels of transitions changed"),
        }
    }
}

/// Differences as one text for people.
#[must_use]
pub fn in_words(differences: &[Difference]) -> String {
    differences.iter().map(Difference::to_string).collect::<Vec<_>>().join("; ")
}

fn names(names: &[StateName]) -> String {
    let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    names.join(", ")
}

impl Machine {
    /// The differences from this machine to `newer` that matter to a run.
    #[must_use]
    pub fn differences(&self, newer: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        let states = |one: &Self, other: &Self| {
            let states = one.states().iter().map(|state| state.name.clone());
            states.filter(|name| !other.contains(name)).collect::<Vec<_>>()
        };
        found.extend(states(self, newer).into_iter().map(|state| Difference::StateRemoved { state }));
        found.extend(states(newer, self).into_iter().map(|state| Difference::StateAdded { state }));
        let (old, new) = (self.edges(), newer.edges());
        found.extend(minus(&old, &new).map(|(from, to)| Difference::TransitionRemoved { from, to }));
        found.extend(minus(&new, &old).map(|(from, to)| Difference::TransitionAdded { from, to }));
        if self.initial() != newer.initial() {
            found.push(Difference::Initial { was: self.initial().to_vec(), is: newer.initial().to_vec() });
        }
        for state in newer.states() {
            let (was, is) = (self.is_terminal(&state.name), newer.is_terminal(&state.name));
            if was != is && self.contains(&state.name) {
                found.push(Difference::Terminal { state: state.name.clone(), is });
            }
        }
        for state in newer.states().iter().filter(|state| self.contains(&state.name)) {
            let is = newer.gates().contains(&state.name);
            if is != self.gates().contains(&state.name) {
                found.push(Difference::Gate { state: state.name.clone(), is });
            }
        }
        if found.is_empty() && self.digest() != newer.digest() {
            found.push(Difference::Order);
        }
        found
    }

    /// As [`Self::differences`], including types, labels, descriptions and settings.
    #[must_use]
    pub fn changes(&self, newer: &Self) -> Vec<Difference> {
        let mut found = self.differences(newer);
        for now in newer.states() {
            let Some(old) = self.state(&now.name) else { continue };
            let state = || now.name.clone();
            if old.kind != now.kind {
                found.push(Difference::Type { state: state(), was: old.kind.clone(), is: now.kind.clone() });
            }
            if old.label != now.label {
                found.push(Difference::Label { state: state(), was: old.label.clone(), is: now.label.clone() });
            }
            if old.description != now.description {
                found.push(Difference::Description { state: state() });
            }
            if old.config != now.config {
                found.push(Difference::Settings { state: state() });
            }
        }
        let labels = |machine: &Self| -> Vec<_> {
            machine.transitions().iter().map(|one| (one.from.clone(), one.to.clone(), one.label.clone())).collect()
        };
        if self.edges() == newer.edges() && labels(self) != labels(newer) {
            found.push(Difference::TransitionLabels);
        }
        found
    }
}

type Edge<'a> = (&'a StateName, &'a StateName);

fn minus<'a>(edges: &[Edge<'a>], others: &[Edge<'a>]) -> impl Iterator<Item = (StateName, StateName)> {
    let others = others.iter().copied().collect::<HashSet<_>>();
    let left = edges.iter().copied().filter(move |edge| !others.contains(edge));
    left.map(|(from, to)| (from.clone(), to.clone()))
}
