//! What tests stand on.

mod sandbox;

pub use sandbox::{Answer, Sandbox, run};
