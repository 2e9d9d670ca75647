//! The states of a graph, each of its type, and what follows them.

use std::collections::HashMap;

use crate::drive::agent::state::{Registry, RegistryError, State, StateConfig};
use crate::engine::Choices;
use crate::machine::Machine;
use crate::model::StateName;

/// A graph whose states can be run.
pub struct StateHandler<'m> {
    machine: Machine,
    states: HashMap<StateName, Box<dyn State + 'm>>,
}

impl<'m> StateHandler<'m> {
    /// Makes every state of the graph at once, so that a type that is missing is found before anything runs.
    ///
    /// # Errors
    /// [`RegistryError::Missing`].
    pub fn new(machine: Machine, registry: &Registry<'m>) -> Result<Self, RegistryError> {
        let make = |declared: &crate::machine::State| {
            let is_terminal = machine.is_terminal(&declared.name);
            Ok((declared.name.clone(), registry.make(StateConfig { declared, is_terminal })?))
        };
        let states = machine.states().iter().map(make).collect::<Result<_, _>>()?;
        Ok(Self { machine, states })
    }

    /// The graph.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Where an agent begins.
    #[must_use]
    pub fn initial_state(&self) -> &StateName {
        &self.machine.initial()[0]
    }

    /// A state; none when the graph has no such.
    pub fn state(&mut self, name: &StateName) -> Option<&mut (dyn State + 'm)> {
        self.states.get_mut(name).map(|state| &mut **state)
    }

    /// What can follow a state.
    #[must_use]
    pub fn transitions(&self, name: &StateName) -> Choices {
        Choices::of(&self.machine, Some(name))
    }
}

impl std::fmt::Debug for StateHandler<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateHandler").field("machine", &self.machine.id()).finish_non_exhaustive()
    }
}
