//! What tests stand on.

mod calls;
pub mod hostile;
#[allow(dead_code, reason = "a toolbox: not every test binary uses all of it")]
pub mod mount;
mod sandbox;
mod sweep;
mod tree;
mod witness;

pub use calls::{Call, calls, can_inject, injected, injecting, killed_at, skipped};
pub use sandbox::{Answer, Sandbox, run};
pub use sweep::try_all;
pub use tree::Tree;
pub use witness::essence;
