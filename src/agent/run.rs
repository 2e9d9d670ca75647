//! The loop: run a state, note it, choose the next one.

use thiserror::Error;

use crate::agent::choice::{Choices, Forced};
use crate::agent::handler::StateHandler;
use crate::agent::state::{Context, Done, Outcome, StateError};
use crate::model::StateName;

/// Who chooses among several states.
pub trait Chooser {
    /// A reply as [`Choices::schema`] asks for it. `problem` says what was wrong with the reply before.
    ///
    /// # Errors
    /// [`StateError`] when there is none to be had.
    fn choose(&mut self, choices: &Choices, context: &Context, problem: Option<&str>) -> Result<String, StateError>;
}

/// Where an agent notes what it does. What is noted is not done again.
pub trait Notebook {
    /// What keeps it from being noted.
    type Error: std::error::Error;

    /// A state begins.
    ///
    /// # Errors
    /// When it cannot be noted: then it does not begin.
    fn begin(&mut self, state: &StateName) -> Result<(), Self::Error>;

    /// A state is done; `ends` says that the agent is as well.
    ///
    /// # Errors
    /// When it cannot be noted: then it is not done.
    fn finish(&mut self, done: &Done, ends: bool) -> Result<(), Self::Error>;

    /// A state failed.
    ///
    /// # Errors
    /// When it cannot be noted.
    fn fail(&mut self, state: &StateName, why: &str) -> Result<(), Self::Error>;

    /// A person is asked.
    ///
    /// # Errors
    /// When it cannot be noted.
    fn ask(&mut self, state: &StateName, prompt: &str) -> Result<(), Self::Error>;
}

/// Where an agent is.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// Nowhere yet.
    New,
    /// In a state that begins, or that was begun and has to be done again.
    In(StateName),
    /// Behind a state that is done; the next one is to be chosen.
    Behind {
        /// The state.
        state: StateName,
        /// The one that it wants next.
        named: Option<String>,
    },
}

/// Why an agent stopped.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// In a state where it can end.
    Ended {
        /// The state.
        state: StateName,
    },
    /// A person has to answer, or to choose.
    NeedsHuman {
        /// The state.
        state: StateName,
        /// What is asked.
        why: String,
    },
    /// A state failed.
    Failed {
        /// The state.
        state: StateName,
        /// Why.
        why: String,
    },
    /// A state does not let it go on yet.
    NotReady {
        /// The state.
        state: StateName,
    },
    /// It ran as many states as it was allowed to.
    Limit {
        /// The state that would be next.
        state: StateName,
    },
}

/// What keeps an agent from going on.
#[derive(Debug, Error)]
pub enum AgentError<E: std::error::Error> {
    /// It could not note what it did.
    #[error(transparent)]
    Notebook(#[from] E),
    /// A state named a next one to which no transition leads.
    #[error("`{state}` names `{named}` as the next state, and no transition leads there")]
    UndeclaredEdge {
        /// The state.
        state: StateName,
        /// What it named.
        named: String,
    },
    /// A state that is not terminal has no successor.
    #[error("nothing follows `{state}`, and it is not terminal")]
    DeadEnd {
        /// The state.
        state: StateName,
    },
    /// The graph has no such state.
    #[error("the graph has no state `{state}`")]
    Unknown {
        /// The state.
        state: StateName,
    },
}

/// How often a choice is put to the chooser.
const TRIES: usize = 3;

/// An agent that goes through a graph.
pub struct Agent<'m, N: Notebook> {
    handler: StateHandler<'m>,
    chooser: Box<dyn Chooser + 'm>,
    /// Where it notes what it does.
    pub notebook: N,
    context: Context,
    standing: Standing,
}

impl<'m, N: Notebook> Agent<'m, N> {
    /// An agent that has done nothing yet.
    pub fn new(handler: StateHandler<'m>, chooser: impl Chooser + 'm, notebook: N) -> Self {
        Self { handler, chooser: Box::new(chooser), notebook, context: Context::default(), standing: Standing::New }
    }

    /// The same, going on where another one was.
    #[must_use]
    pub fn going_on(self, standing: Standing, context: Context) -> Self {
        Self { standing, context, ..self }
    }

    /// What it knows.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Goes on until it has to stop, running at most `most` states.
    ///
    /// # Errors
    /// [`AgentError`]; what was noted stays.
    pub fn run(&mut self, most: usize) -> Result<Stop, AgentError<N::Error>> {
        let mut ran = 0;
        loop {
            let state = match self.standing.clone() {
                Standing::New => self.handler.initial_state().clone(),
                Standing::In(state) => state,
                Standing::Behind { state, named } => match self.next(&state, named.as_deref())? {
                    Ok(next) => next,
                    Err(stop) => return Ok(stop),
                },
            };
            if ran == most {
                return Ok(Stop::Limit { state });
            }
            ran += 1;
            if let Some(stop) = self.step(&state)? {
                return Ok(stop);
            }
        }
    }

    /// Runs one state. Gives the reason to stop there.
    fn step(&mut self, state: &StateName) -> Result<Option<Stop>, AgentError<N::Error>> {
        let unknown = || AgentError::Unknown { state: state.clone() };
        if self.handler.state(state).is_none() {
            return Err(unknown());
        }
        if self.standing != Standing::In(state.clone()) {
            self.notebook.begin(state)?;
            self.standing = Standing::In(state.clone());
        }
        let ran = self.handler.state(state).ok_or_else(unknown)?.run(&self.context);
        let (output, named) = match ran {
            Ok(Outcome::Finished { output, next }) => (output, next),
            Ok(Outcome::NeedsHuman { prompt }) => {
                self.notebook.ask(state, &prompt)?;
                return Ok(Some(Stop::NeedsHuman { state: state.clone(), why: prompt }));
            }
            Err(StateError(why)) => {
                self.notebook.fail(state, &why)?;
                return Ok(Some(Stop::Failed { state: state.clone(), why }));
            }
        };
        let ends = self.handler.machine().is_terminal(state) && named.is_none();
        let done = Done { state: state.clone(), output };
        self.notebook.finish(&done, ends)?;
        self.context.done.push(done);
        self.standing = Standing::Behind { state: state.clone(), named };
        if ends {
            return Ok(Some(Stop::Ended { state: state.clone() }));
        }
        let ready = self.handler.state(state).ok_or_else(unknown)?.check_transition_ready(&self.context);
        Ok((!ready).then(|| Stop::NotReady { state: state.clone() }))
    }

    /// The state behind `state`, or why nobody knows it.
    fn next(
        &mut self,
        state: &StateName,
        named: Option<&str>,
    ) -> Result<Result<StateName, Stop>, AgentError<N::Error>> {
        let choices = self.handler.transitions(state);
        match choices.forced(named) {
            Forced::Next(next) => return Ok(Ok(next)),
            Forced::DeadEnd => return Err(AgentError::DeadEnd { state: state.clone() }),
            Forced::Undeclared(named) => return Err(AgentError::UndeclaredEdge { state: state.clone(), named }),
            Forced::Open => {}
        }
        let mut problem: Option<String> = None;
        for _ in 0..TRIES {
            let reply = match self.chooser.choose(&choices, &self.context, problem.as_deref()) {
                Ok(reply) => reply,
                Err(StateError(why)) => return Ok(Err(Stop::NeedsHuman { state: state.clone(), why })),
            };
            match choices.read(&reply) {
                Ok(next) => return Ok(Ok(next)),
                Err(bad) => problem = Some(bad.to_string()),
            }
        }
        let names = choices.tt.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let why = format!(
            "no valid choice of what follows `{state}` in {TRIES} tries ({}); it can be {names}",
            problem.unwrap_or_default()
        );
        Ok(Err(Stop::NeedsHuman { state: state.clone(), why }))
    }
}

impl<N: Notebook> std::fmt::Debug for Agent<'_, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("standing", &self.standing).finish_non_exhaustive()
    }
}

/// A notebook that is gone with the process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// What was noted, a line each.
    pub lines: Vec<String>,
}

impl Notebook for Memory {
    type Error = std::convert::Infallible;

    fn begin(&mut self, state: &StateName) -> Result<(), Self::Error> {
        self.lines.push(format!("{state} begins"));
        Ok(())
    }

    fn finish(&mut self, done: &Done, ends: bool) -> Result<(), Self::Error> {
        let end = if ends { ", and the agent with it" } else { "" };
        self.lines.push(format!("{} is done{end}", done.state));
        Ok(())
    }

    fn fail(&mut self, state: &StateName, why: &str) -> Result<(), Self::Error> {
        self.lines.push(format!("{state} failed: {why}"));
        Ok(())
    }

    fn ask(&mut self, state: &StateName, prompt: &str) -> Result<(), Self::Error> {
        self.lines.push(format!("{state} asks: {prompt}"));
        Ok(())
    }
}
