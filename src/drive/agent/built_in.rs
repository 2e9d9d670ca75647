//! The types of states that every registry has.

use crate::drive::agent::state::{Context, Maker, Outcome, State, StateConfig, StateError};
use crate::machine::State as Declared;

/// The built-in types, each with the maker of its states.
pub(super) fn built_in<'m>() -> [(&'static str, Maker<'m>); 3] {
    let user: Maker<'m> = Box::new(|config: StateConfig<'_>| Box::new(UserState::of(config.declared)));
    let decision: Maker<'m> = Box::new(|_: StateConfig<'_>| Box::new(QuietState));
    let terminal: Maker<'m> = Box::new(|_: StateConfig<'_>| Box::new(QuietState));
    [("user", user), ("decision", decision), ("terminal", terminal)]
}

/// A state in which a person answers: the answer is its output.
pub(crate) struct UserState {
    prompt: String,
}

impl UserState {
    /// The state with this declaration. It asks for what its description says, otherwise for its name.
    pub(crate) fn of(declared: &Declared) -> Self {
        let prompt = match &declared.description {
            Some(words) if !words.trim().is_empty() => words.clone(),
            _ => declared.name.to_string(),
        };
        Self { prompt }
    }
}

impl State for UserState {
    fn run(&mut self, context: &Context) -> Result<Outcome, StateError> {
        Ok(match &context.answer {
            Some(answer) => Outcome::said(answer),
            None => Outcome::asks(&self.prompt),
        })
    }
}

/// A state without work: a decision, or the end.
struct QuietState;

impl State for QuietState {
    fn run(&mut self, _: &Context) -> Result<Outcome, StateError> {
        Ok(Outcome::quiet())
    }
}
