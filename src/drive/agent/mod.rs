//! An agent that goes through a state graph (ARKOS): states that run, a choice of the next state, and a loop that notes
//! every step. Pure: the caller provides what a state does, how a choice is made and where steps are noted.
//!
//! `flow drive` is this loop with commands as states and a run as the notebook. Other programs bring their own
//! [`State`]s, registered under the types that their graph names; `examples/custom_state.rs` has one.
//! [`Choices`](crate::engine::Choices) are the states that can follow.

mod built_in;
mod handler;
mod registry;
mod run;
mod state;

pub(super) use built_in::UserState;
pub use handler::StateHandler;
pub use registry::{Registry, RegistryError};
pub use run::{Agent, AgentError, Chooser, GraphPosition, Memory, Notebook, Stop};
pub use state::{Context, FinishedState, Outcome, State, StateConfig, StateError};
