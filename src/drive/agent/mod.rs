//! An agent that goes through a state graph (ARKOS): states that run, a choice of the next one, and a loop that
//! notes every step. Pure: what a state does, how a choice is made and where steps are noted is given.
//!
//! `flow drive` is this loop with commands for states and a run for a notebook. A program of one's own brings its own
//! [`State`]s, registered under the types that its graph names; `examples/custom_state.rs` has one. What it may choose among is
//! [`Choices`](crate::engine::Choices).

mod handler;
mod run;
mod state;

pub use handler::StateHandler;
pub use run::{Agent, AgentError, Chooser, Memory, Notebook, Position, Stop};
pub use state::{Context, Done, Outcome, Registry, RegistryError, State, StateConfig, StateError};
