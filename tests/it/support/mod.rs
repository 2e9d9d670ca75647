//! What tests stand on.

mod calls;
pub mod hostile;
mod onlooker;
mod sandbox;
pub mod storm;
mod sweep;
mod tree;
mod witness;

pub use calls::{Call, calls, can_inject, injected, injecting, killed_at, skipped};
pub use sandbox::{Answer, Sandbox, run};
pub use sweep::try_all;
pub use tree::Tree;
pub use witness::essence;
