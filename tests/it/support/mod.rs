//! What tests stand on.

mod calls;
mod sandbox;
mod tree;
mod witness;

pub use calls::{Call, calls, can_inject, injected, injecting, killed_at, skipped};
pub use sandbox::{Answer, Sandbox, run};
pub use tree::Tree;
pub use witness::essence;
