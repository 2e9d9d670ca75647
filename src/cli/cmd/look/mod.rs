//! Commands that show runs and change nothing.

pub(in crate::cli::cmd) mod attention;
pub(in crate::cli::cmd) mod evidence;
pub(in crate::cli::cmd) mod export;
pub(in crate::cli::cmd) mod log;
pub(in crate::cli::cmd) mod report;
pub(in crate::cli::cmd) mod seen;
pub(in crate::cli::cmd) mod serve;
pub(in crate::cli::cmd) mod show;
pub(in crate::cli::cmd) mod usage;
pub(in crate::cli::cmd) mod wait;
pub(in crate::cli::cmd) mod watch;
