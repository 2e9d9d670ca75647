//! Commands for agents' hosts.

pub(in crate::cli::cmd) mod hook;
pub(in crate::cli::cmd) mod hooks;
pub(in crate::cli::cmd) mod hud;
pub(in crate::cli::cmd) mod mcp;
pub(in crate::cli::cmd) mod session_end;
pub(in crate::cli::cmd) mod sessions;
pub(in crate::cli::cmd) mod setup;
