//! `exec`: runs a command, and records what was seen: that it began, how it ended, and on which files.

mod begin;
mod finish;
pub(in crate::runs) mod obstacle;
mod replay;
mod request;
pub(in crate::runs) mod trust;
mod verb;

pub use replay::{ReplayComparison, ReplayConsent, ReplayReport, ReplayRequest, ReplayedCommand, replay};
pub use request::{ExecReport, ExecRequest};
pub use trust::{TrustReport, TrustRequest, TrustedCommand, trust};
pub use verb::exec;
