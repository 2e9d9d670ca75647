//! Drives a run through a graph (ARKOS). [`agent`] is the loop, which knows neither runs nor processes. Around it, a
//! run serves as the notebook, commands as the states, and a person, a command or a model as the chooser.
//!
//! The output of a state is recorded before the next state is chosen, so repeating the command continues where it
//! stopped, and runs no state again that is done. Only this room uses the network, and only with the feature `network`.

pub mod agent;
mod check;
mod chooser;
mod command;
mod commands;
mod directory;
#[expect(clippy::module_inception, reason = "the verb is called like its room")]
mod drive;
mod driven;
mod error;
mod graph_file;
#[cfg_attr(not(feature = "network"), path = "no_http.rs")]
mod http;
mod known;
mod notebook;
mod report;

pub use drive::{drive, endpoint};
pub use driven::{Given, Person};
pub use error::{Error, Result};
pub use graph_file::GraphFileError;
pub use notebook::{NotebookRequest, Opened, RunNotebook};
pub use report::{Choose, DriveReport, DriveRequest, DriveStop, Endpoint};
