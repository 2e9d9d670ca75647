//! Calls programs of the user's, without a shell.
#![expect(clippy::disallowed_methods, reason = "the program that the user names on the command line is called here")]

use std::ffi::OsString;
use std::io::{self, ErrorKind};
#[cfg(feature = "serve")]
use std::path::Path;
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

/// Asks the system to show `file` in a browser, and does not wait for it: `$BROWSER`, otherwise the system's own way.
///
/// # Errors
/// When no such program can be begun.
#[cfg(feature = "serve")]
pub(crate) fn open_in_browser(file: &Path) -> io::Result<()> {
    let opener = match std::env::var_os("BROWSER") {
        Some(named) if !named.is_empty() => named,
        _ => OsString::from(OPENER),
    };
    let mut command = Command::new(opener);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    // It ends soon, and nothing else waits for it.
    std::thread::spawn(move || child.wait());
    Ok(())
}

#[cfg(all(feature = "serve", target_os = "macos"))]
const OPENER: &str = "open";
#[cfg(all(feature = "serve", windows))]
const OPENER: &str = "explorer";
#[cfg(all(feature = "serve", not(any(target_os = "macos", windows))))]
const OPENER: &str = "xdg-open";
