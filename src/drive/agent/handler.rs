//! The states of a graph, each made by its type, and the transitions between them.

use std::collections::HashMap;

use crate::drive::agent::registry::{Registry, RegistryError};
use crate::drive::agent::state::{State, StateConfig};
use crate::engine::Choices;
use crate::machine::Machine;
use crate::model::StateName;

/// A graph with a [`State`] for each of its states.
pub struct StateHandler<'m> {
    machine: Machine,
    states: HashMap<StateName, Box<dyn State + 'm>>,
}

impl<'m> StateHandler<'m> {
    /// Makes all states of the graph at once, so that a missing type is found before anything runs.
    ///
    /// # Errors
    /// [`RegistryError::Missing`] if the type of a state is not registered.
    pub fn new(machine: Machine, registry: &Registry<'m>) -> Result<Self, RegistryError> {
        let mut states = HashMap::new();
        for declared in machine.states() {
            let config = StateConfig { declared, is_terminal: machine.is_terminal(&declared.name) };
            states.insert(declared.name.clone(), registry.make(config)?);
        }
        Ok(Self { machine, states })
    }

    /// The graph.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The state in which an agent begins.
    #[must_use]
    pub fn initial_state(&self) -> &StateName {
        &self.machine.initial()[0]
    }

    /// The state called `name`; none if the graph does not have it.
    pub fn state(&mut self, name: &StateName) -> Option<&mut (dyn State + 'm)> {
        self.states.get_mut(name).map(|state| &mut **state)
    }

    /// The states that can follow `name`, and whether the agent can end there.
    #[must_use]
    pub fn transitions(&self, name: &StateName) -> Choices {
        Choices::with_end(&self.machine, name)
    }
}

impl std::fmt::Debug for StateHandler<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateHandler").field("machine", &self.machine.id()).finish_non_exhaustive()
    }
}
