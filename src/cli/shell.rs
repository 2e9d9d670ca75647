//! Completion in a shell: the script that asks flow, and the answer to it.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use crate::cli::args::Cli;

/// The variable with which a script asks flow to complete a command line. Its value is the name of the shell.
const VARIABLE: &str = "FLOW_COMPLETE";

/// Completes the command line `args`, if a script asks for it. Returns whether it did.
pub(super) fn complete(args: &[OsString]) -> bool {
    let env = CompleteEnv::with_factory(Cli::command).var(VARIABLE).bin("flow");
    // The variable may be set for something else; then the command runs.
    env.try_complete(args, Some(Path::new("."))).unwrap_or(false)
}

/// Writes the script that makes `shell` ask flow.
pub(super) fn write_script(shell: Shell, to: &mut Vec<u8>) -> io::Result<()> {
    let shells = Shells::builtins();
    let known = shells.completer(&shell.to_string()).ok_or(io::ErrorKind::Unsupported)?;
    known.write_registration(VARIABLE, "flow", "flow", "flow", to)
}
