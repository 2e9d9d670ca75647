//! What differs between two versions of a definition.

use std::collections::HashSet;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::machine::{Machine, Requirement, State};
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
    /// Runs can end in a state, or no longer can.
    Terminal {
        /// The state.
        state: StateName,
        /// Whether it is terminal now.
        is: bool,
    },
    /// A state waits for a person now, or no longer does.
    Gate {
        /// The state.
        state: StateName,
        /// Whether it waits for a person now.
        is: bool,
    },
    /// A state requires a command to be seen to pass now, or no longer does.
    Requirement {
        /// The state.
        state: StateName,
        /// The command.
        exec: String,
        /// Whether it is required now.
        is: bool,
    },
    /// A command that a state requires has to hold for the present files now, or no longer has to.
    RequirementFresh {
        /// The state.
        state: StateName,
        /// The command.
        exec: String,
        /// Whether it has to hold for the present files now.
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
            Self::Requirement { state, exec, is: true } => write!(f, "state `{state}` now requires `{exec}` to pass"),
            Self::Requirement { state, exec, is: false } => {
                write!(f, "state `{state}` no longer requires `{exec}` to pass")
            }
            Self::RequirementFresh { state, exec, is: true } => {
                write!(f, "state `{state}` now requires `{exec}` to pass on the files as they are")
            }
            Self::RequirementFresh { state, exec, is: false } => {
                write!(f, "state `{state}` now requires `{exec}` to pass also where files changed since")
            }
            Self::Order => f.write_str("the order of transitions changed"),
            Self::Type { state, was, is } => {
                write!(f, "the type of `{state}` was {} and is {}", quoted(was), quoted(is))
            }
            Self::Label { state, was, is } => {
                write!(f, "the label of `{state}` was {} and is {}", quoted(was), quoted(is))
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
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn quoted(text: &Option<String>) -> String {
    match text {
        Some(text) => format!("`{text}`"),
        None => "none".to_owned(),
    }
}

impl Machine {
    /// The differences from this machine to `newer` that matter to a run.
    #[must_use]
    pub fn differences(&self, newer: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        for State { name, .. } in self.states().iter().filter(|state| !newer.contains(&state.name)) {
            found.push(Difference::StateRemoved { state: name.clone() });
        }
        for State { name, .. } in newer.states().iter().filter(|state| !self.contains(&state.name)) {
            found.push(Difference::StateAdded { state: name.clone() });
        }
        let (old, new) = (self.edges(), newer.edges());
        for (from, to) in edges_not_in(&old, &new) {
            found.push(Difference::TransitionRemoved { from, to });
        }
        for (from, to) in edges_not_in(&new, &old) {
            found.push(Difference::TransitionAdded { from, to });
        }
        if self.initial() != newer.initial() {
            found.push(Difference::Initial { was: self.initial().to_vec(), is: newer.initial().to_vec() });
        }
        for State { name, .. } in newer.states() {
            let is = newer.is_terminal(name);
            // A new state is reported as such, whatever it is.
            if is != self.is_terminal(name) && self.contains(name) {
                found.push(Difference::Terminal { state: name.clone(), is });
            }
        }
        for State { name, .. } in newer.states() {
            let is = newer.gates().contains(name);
            if is != self.gates().contains(name) && self.contains(name) {
                found.push(Difference::Gate { state: name.clone(), is });
            }
        }
        for (old, new, is) in [(self, newer, true), (newer, self, false)] {
            for one in new.requires() {
                if self.contains(&one.state) && newer.contains(&one.state) && !asks(old, one) {
                    found.push(Difference::Requirement { state: one.state.clone(), exec: one.exec.clone(), is });
                }
            }
        }
        for one in newer.requires() {
            let mut before =
                self.requires().iter().filter(|before| before.state == one.state && before.exec == one.exec);
            // Whether it asks where the project names the command depends on the project.
            if !one.if_named && before.clone().next().is_some() && before.all(|b| !b.if_named && b.fresh != one.fresh) {
                let (state, exec, is) = (one.state.clone(), one.exec.clone(), one.fresh);
                found.push(Difference::RequirementFresh { state, exec, is });
            }
        }
        // The digest sees the order of transitions, which nothing above compares: the first one is proposed.
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
            let state = &now.name;
            if old.kind != now.kind {
                found.push(Difference::Type { state: state.clone(), was: old.kind.clone(), is: now.kind.clone() });
            }
            if old.label != now.label {
                found.push(Difference::Label { state: state.clone(), was: old.label.clone(), is: now.label.clone() });
            }
            if old.description != now.description {
                found.push(Difference::Description { state: state.clone() });
            }
            if old.config != now.config {
                found.push(Difference::Settings { state: state.clone() });
            }
        }
        // Where edges differ, their labels do too, and that was reported.
        if self.edges() == newer.edges() && self.transitions() != newer.transitions() {
            found.push(Difference::TransitionLabels);
        }
        found
    }
}

/// Whether `machine` asks for this as well, on whichever files. Whether it does where the project names the command depends on the project.
fn asks(machine: &Machine, asked: &Requirement) -> bool {
    let mut same = machine.requires().iter().filter(|one| one.state == asked.state && one.exec == asked.exec);
    asked.if_named || same.next().is_some()
}

type Edge<'a> = (&'a StateName, &'a StateName);

fn edges_not_in(edges: &[Edge<'_>], others: &[Edge<'_>]) -> Vec<(StateName, StateName)> {
    let others: HashSet<_> = others.iter().copied().collect();
    let mut left = Vec::new();
    for &(from, to) in edges {
        if !others.contains(&(from, to)) {
            left.push((from.clone(), to.clone()));
        }
    }
    left
}
