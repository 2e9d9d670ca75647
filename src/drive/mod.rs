//! Driving a run through a graph (ARKOS): [`agent`] is the loop, which knows no run and no process; around it a run for
//! a notebook, commands for states, and a person, a command or a model that chooses.
//!
//! What a state gave is recorded before the next one is chosen, so the same command goes on where it was, and repeats no
//! state that is done. The network is used here alone, and not at all without the feature `network`.

pub mod agent;
mod check;
mod chooser;
mod command;
mod commands;
#[expect(clippy::module_inception, reason = "the verb is called like its room")]
mod drive;
mod error;
#[cfg_attr(not(feature = "network"), path = "no_http.rs")]
mod http;
mod known;
mod notebook;

pub use chooser::{Choose, Endpoint};
pub use drive::{DriveReport, DriveRequest, DriveStop, Given, Person, drive, endpoint};
pub use error::{Error, Result};
