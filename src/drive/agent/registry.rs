//! The types under which a graph names its states.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::drive::agent::built_in::built_in;
use crate::drive::agent::state::{Maker, State, StateConfig};
use crate::machine::State as Declared;
use crate::model::StateName;

/// The types of states that an agent can run. The built-in ones are there from the start: `user` (a person answers),
/// `decision` and `terminal` (nothing to do). A program may register its own states under these names.
pub struct Registry<'m> {
    makers: BTreeMap<String, Maker<'m>>,
    built_in: BTreeMap<String, Maker<'m>>,
}

impl Default for Registry<'_> {
    fn default() -> Self {
        let built_in = built_in().map(|(kind, make)| (kind.to_owned(), make));
        Self { makers: BTreeMap::new(), built_in: built_in.into() }
    }
}

/// The registered types do not fit the graph, or each other.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegistryError {
    /// A type was registered before.
    #[error("the type `{kind}` of states is registered already")]
    Twice {
        /// The type.
        kind: String,
    },
    /// The type of a state is not registered.
    #[error("state `{state}` has the type `{kind}`, which is not registered; registered are {}", known.join(", "))]
    Missing {
        /// The first state of the graph that nothing can run.
        state: StateName,
        /// Its type.
        kind: String,
        /// The types that are registered.
        known: Vec<String>,
    },
}

impl<'m> Registry<'m> {
    /// A registry with the built-in types.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a type: `make` is called for every state that has it. It replaces a built-in type of this name.
    ///
    /// # Errors
    /// [`RegistryError::Twice`] if it was registered before; the earlier registration stays.
    pub fn register<S: State + 'm>(
        &mut self,
        kind: &str,
        make: impl Fn(StateConfig<'_>) -> S + 'm,
    ) -> Result<(), RegistryError> {
        if self.makers.contains_key(kind) {
            return Err(RegistryError::Twice { kind: kind.to_owned() });
        }
        self.makers.insert(kind.to_owned(), Box::new(move |config| Box::new(make(config))));
        Ok(())
    }

    /// Whether a type is registered.
    #[must_use]
    pub fn knows(&self, kind: &str) -> bool {
        self.makers.contains_key(kind) || self.built_in.contains_key(kind)
    }

    /// The names of all types, sorted.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let kinds: BTreeSet<_> = self.makers.keys().chain(self.built_in.keys()).cloned().collect();
        kinds.into_iter().collect()
    }

    /// Makes the state that `config` declares.
    pub(super) fn make(&self, config: StateConfig<'_>) -> Result<Box<dyn State + 'm>, RegistryError> {
        let kind = config.declared.kind.as_deref().unwrap_or(Declared::USUAL);
        match self.makers.get(kind).or_else(|| self.built_in.get(kind)) {
            Some(make) => Ok(make(config)),
            None => Err(RegistryError::Missing {
                state: config.declared.name.clone(),
                kind: kind.to_owned(),
                known: self.kinds(),
            }),
        }
    }
}

impl std::fmt::Debug for Registry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.kinds()).finish()
    }
}
