//! An agent that goes through a state graph (ARKOS): states that run, a choice of the next state, and a loop that notes
//! every step. Pure: the caller provides what a state does, how a choice is made and where steps are noted.
//!
//! `flow drive` is this loop with commands as states and a run as the notebook. Other programs bring their own
//! [`State`]s, registered under the types that their graph names; `examples/custom_state.rs` has one.
//! [`Choices`](crate::engine::Choices) are the states that can follow.

mod handler;
mod run;
mod state;

pub use handler::StateHandler;
pub use run::{Agent, AgentError, Chooser, Memory, Notebook, Position, Stop};
pub use state::{Context, Done, Outcome, Registry, RegistryError, State, StateConfig, StateError};
