//! Commands that check a project and repair it, and the manual.

pub(in crate::cli::cmd) mod doctor;
pub(in crate::cli::cmd) mod man;
pub(in crate::cli::cmd) mod prune;
pub(in crate::cli::cmd) mod validate;
pub(in crate::cli::cmd) mod verify;
