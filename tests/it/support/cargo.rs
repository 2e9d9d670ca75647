//! cargo, called by a test.

use std::process::Command;

/// cargo as a person calls it. The cargo that runs the tests tells them about their package in variables that build scripts
/// read as well. With them these scripts would run again, and half of the build with them, here and in the next build.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}
