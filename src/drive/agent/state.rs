//! The trait of states: what they see, and how they end.

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
    pub done: Vec<FinishedState>,
    /// A person's answer to the question of the state that runs. It stays until that state is done or asks something
    /// else.
    pub answer: Option<String>,
}

/// A state that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedState {
    /// The state that has ended.
    pub state: StateName,
    /// What it gives to the states behind it; none if it says nothing.
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
        /// Where the person answers or does it, if that is a page.
        link: Option<String>,
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

    /// The outcome of a state that asks a person.
    #[must_use]
    pub fn asks(prompt: impl Into<String>) -> Self {
        Self::NeedsHuman { prompt: prompt.into(), link: None }
    }
}

/// Why a state failed, as a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct StateError(pub String);

/// The work of a state: an implementation of one type of states in a graph (ARKOS).
pub trait State {
    /// Whether the agent may move on after this state, which is done. Asked before every transition, until it is true:
    /// also by an agent that continues after a stop or a kill. True by default.
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
pub(super) type Maker<'m> = Box<dyn Fn(StateConfig<'_>) -> Box<dyn State + 'm> + 'm>;
