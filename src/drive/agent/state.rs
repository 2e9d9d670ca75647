//! The trait of states, and the types under which a graph names them.

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

use crate::machine::State as Declared;
use crate::model::StateName;

/// What a state sees: the task, and everything that was done before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context {
    /// What the agent works on, as its caller describes it.
    pub about: Value,
    /// The states that are done, oldest first.
    pub done: Vec<Done>,
}

/// A state that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// The state.
    pub state: StateName,
    /// Its output.
    pub output: Option<String>,
}

/// The outcome of running a state.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is done.
    Finished {
        /// Its output, for the states after it.
        output: Option<String>,
        /// The next state that it asks for; it is valid only if a transition leads there.
        next: Option<String>,
    },
    /// A person has to answer first.
    NeedsHuman {
        /// The question.
        prompt: String,
    },
    /// It is not done yet, and has to run again later.
    NotReady {
        /// What it waits for.
        why: String,
    },
}

impl Outcome {
    /// The outcome of a state that is done, with an output.
    #[must_use]
    pub fn said(output: impl Into<String>) -> Self {
        Self::Finished { output: Some(output.into()), next: None }
    }

    /// The outcome of a state that is done, without an output.
    #[must_use]
    pub fn quiet() -> Self {
        Self::Finished { output: None, next: None }
    }
}

/// Why a state failed, as a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct StateError(pub String);

/// The work of a state: an implementation of one type of states in a graph (ARKOS).
pub trait State {
    /// Whether the agent may move on after this state. True by default.
    fn check_transition_ready(&self, context: &Context) -> bool {
        let _ = context;
        true
    }

    /// Does the work.
    ///
    /// # Errors
    /// [`StateError`] when it failed; the agent stops, and can run the state again later.
    fn run(&mut self, context: &Context) -> Result<Outcome, StateError>;
}

/// The declaration of a state in its graph.
#[derive(Debug, Clone, Copy)]
pub struct StateConfig<'a> {
    /// Its name, label, type and description, and its own settings (`config`).
    pub declared: &'a Declared,
    /// Whether the agent can end in this state.
    pub is_terminal: bool,
}

/// Makes a state from its declaration.
type Maker<'m> = Box<dyn Fn(StateConfig<'_>) -> Box<dyn State + 'm> + 'm>;

/// The types of states that an agent can run.
#[derive(Default)]
pub struct Registry<'m> {
    makers: BTreeMap<String, Maker<'m>>,
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
        /// The state.
        state: StateName,
        /// Its type.
        kind: String,
        /// The types that are registered.
        known: Vec<String>,
    },
}

impl<'m> Registry<'m> {
    /// A registry without types.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a type: `make` is called for every state that has it.
    ///
    /// # Errors
    /// [`RegistryError::Twice`]; the earlier registration stays.
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

    /// Makes the state that `config` declares.
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
