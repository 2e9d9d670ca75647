//! What tests stand on.

mod calls;
pub mod clinic;
pub mod hostile;
mod past;
mod sandbox;
mod sweep;
mod tree;
mod witness;

pub use calls::{Call, calls, can_inject, injected, injecting, killed_at, skipped};
pub use past::{PHASES, Past};
pub use sandbox::{Answer, Sandbox, run};
pub use sweep::try_all;
pub use tree::Tree;
pub use witness::essence;
