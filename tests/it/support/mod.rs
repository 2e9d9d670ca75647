//! What tests stand on.

pub mod hostile;
mod sandbox;

pub use sandbox::{Answer, Sandbox, run};
