//! The command that drives a run, as the run stores it for the next session.
//!
//! It is text in files that git carries from one machine to another, so anyone may have written it. Advice names the commands in it
//! that this machine never ran.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{RunDocument, Suggestion};

/// The key in a run's context with the command that drives it.
pub(crate) const DRIVER: &str = "drive";
/// The key in a run's context with the directory in which the driver's commands run, relative to the project.
pub(crate) const DRIVER_DIR: &str = "drive_dir";
/// The longest driver command that is stored, in bytes.
const DRIVER_BYTES: usize = 4000;
/// The beginning of a driver command.
pub(crate) const DRIVES: &str = "flow drive ";
/// Stored instead of a command that is too long: the command of an earlier driver would do something else.
pub(crate) const UNKNOWN_DRIVER: &str = "unknown";

/// A file of the checkout that names a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum CommandSource {
    /// The log.
    #[serde(rename = "log")]
    Log,
    /// `run.yaml`, which a person edited.
    #[serde(rename = "run.yaml")]
    RunYaml,
}

/// The command that drives a run, as the caller can give it.
#[derive(Debug)]
pub(in crate::runs) struct Driver {
    pub(in crate::runs) command: Suggestion,
    /// Where it comes from, if this machine never ran its commands in this project.
    pub(in crate::runs) never_run_here: Option<CommandSource>,
    /// Whether it chooses where several states can follow; otherwise it stops there for a person.
    pub(in crate::runs) chooses: bool,
}

impl Driver {
    /// The case in which to give the command.
    pub(in crate::runs) fn when(&self) -> &'static str {
        match self.never_run_here {
            None => "you drive it further, with the same commands",
            Some(CommandSource::Log) => "you drive it further, with these commands (from the log, never run here)",
            Some(CommandSource::RunYaml) => "you drive it further, with these commands (from run.yaml, never run here)",
        }
    }
}

/// Whether a text is a driver command: people and other programs may edit `run.yaml`.
pub(crate) fn is_driver(command: &str) -> bool {
    // A control character could hide a part of the command from the person who reads it before it runs.
    command.starts_with(DRIVES) && command.len() <= DRIVER_BYTES && !command.chars().any(char::is_control)
}

/// Whether the run was driven by a command that it does not store.
pub(in crate::runs) fn is_unknown_driver(run: &RunDocument) -> bool {
    run.context_text(DRIVER) == Some(UNKNOWN_DRIVER)
}
