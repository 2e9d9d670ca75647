//! Calls a program of the user's, without a shell.
#![expect(clippy::disallowed_methods, reason = "the program that the user names on the command line is called here")]

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::process::{Command, ExitStatus, Stdio};

/// Calls `argv` with these variables added to this program's, and waits until it has ended. It reads nothing, and writes where
/// this program does.
///
/// # Errors
/// If there is no such program, or it cannot be called.
pub(crate) fn call(argv: &[OsString], variables: &[(&str, &str)]) -> io::Result<ExitStatus> {
    let (program, arguments) = argv.split_first().ok_or(ErrorKind::InvalidInput)?;
    Command::new(program).args(arguments).envs(variables.iter().copied()).stdin(Stdio::null()).status()
}
