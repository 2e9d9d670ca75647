//! `exec`, `replay`, `trust`: commands that flow runs.

pub(in crate::cli::cmd) mod exec;
pub(in crate::cli::cmd) mod replay;
pub(in crate::cli::cmd) mod trust;
