//! States that run, and the types under which a graph names them.

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

use crate::machine::State as Declared;
use crate::model::StateName;

/// What a state sees of everything before it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context {
    /// What the agent works on: whatever its caller put there.
    pub about: Value,
    /// What was done so far, oldest first.
    pub done: Vec<Done>,
}

/// A state that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// The state.
    pub state: StateName,
    /// What it gave.
    pub output: Option<String>,
}

/// What came of a state.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is done.
    Finished {
        /// What it gives to those after it.
        output: Option<String>,
        /// The state that it wants next; only one to which a transition leads is taken.
        next: Option<String>,
    },
    /// A person has to answer first.
    NeedsHuman {
        /// What is asked.
        prompt: String,
    },
    /// It is not done yet, and is to be run again later.
    NotReady {
        /// What it waits for.
        why: String,
    },
}

impl Outcome {
    /// Done, with this to say.
    #[must_use]
    pub fn said(output: impl Into<String>) -> Self {
        Self::Finished { output: Some(output.into()), next: None }
    }

    /// Done, with nothing to say.
    #[must_use]
    pub fn quiet() -> Self {
        Self::Finished { output: None, next: None }
    }
}

/// Why a state failed, in words for people.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct StateError(pub String);

/// Something that an agent does, a type of state in a graph (ARKOS).
pub trait State {
    /// Whether the agent may go on from here. By default as soon as it ran.
    fn check_transition_ready(&self, context: &Context) -> bool {
        let _ = context;
        true
    }

    /// Does it.
    ///
    /// # Errors
    /// [`StateError`] when it failed; the agent stops there, and can try it again.
    fn run(&mut self, context: &Context) -> Result<Outcome, StateError>;
}

/// A state as its graph declares it.
#[derive(Debug, Clone, Copy)]
pub struct StateConfig<'a> {
    /// Its name, label, type and description, and its own settings (`config`).
    pub declared: &'a Declared,
    /// Whether the agent can end there.
    pub is_terminal: bool,
}

/// Makes a state of one type.
type Maker<'m> = Box<dyn Fn(StateConfig<'_>) -> Box<dyn State + 'm> + 'm>;

/// The types of states that an agent knows.
#[derive(Default)]
pub struct Registry<'m> {
    makers: BTreeMap<String, Maker<'m>>,
}

/// Types and graph do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegistryError {
    /// A type was registered before.
    #[error("the type `{kind}` of states is registered already")]
    Twice {
        /// The type.
        kind: String,
    },
    /// Nobody registered the type of a state.
    #[error("state `{state}` has the type `{kind}`, which is not registered; registered are {}", known.join(", "))]
    Missing {
        /// The state.
        state: StateName,
        /// Its type.
        kind: String,
        /// The types that are registered.
        known: Vec<String>,
    },
}

impl<'m> Registry<'m> {
    /// Knows no type.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a type: `make` is called for every state that has it.
    ///
    /// # Errors
    /// [`RegistryError::Twice`]: the one that came first stays.
    pub fn register<S: State + 'm>(
        &mut self,
        kind: &str,
        make: impl Fn(StateConfig<'_>) -> S + 'm,
    ) -> Result<(), RegistryError> {
        if self.knows(kind) {
            return Err(RegistryError::Twice { kind: kind.to_owned() });
        }
        self.makers.insert(kind.to_owned(), Box::new(move |config| Box::new(make(config))));
        Ok(())
    }

    /// Whether a type is registered.
    #[must_use]
    pub fn knows(&self, kind: &str) -> bool {
        self.makers.contains_key(kind)
    }

    /// The state that `config` declares.
    pub(super) fn make(&self, config: StateConfig<'_>) -> Result<Box<dyn State + 'm>, RegistryError> {
        let kind = config.declared.kind.as_deref().unwrap_or(Declared::USUAL);
        match self.makers.get(kind) {
            Some(make) => Ok(make(config)),
            None => Err(RegistryError::Missing {
                state: config.declared.name.clone(),
                kind: kind.to_owned(),
                known: self.makers.keys().cloned().collect(),
            }),
        }
    }
}

impl std::fmt::Debug for Registry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.makers.keys()).finish()
    }
}
