//! What tests stand on.

mod aftermath;
mod calls;
pub mod cases;
pub mod clinic;
#[allow(dead_code, reason = "a toolbox: not every test binary uses all of it")]
pub mod faulty;
pub mod hostile;
#[allow(dead_code, reason = "the program that lists what was skipped uses the rest")]
mod lack;
#[allow(dead_code, reason = "a toolbox: not every test binary uses all of it")]
pub mod mount;
mod onlooker;
mod past;
mod person;
mod sandbox;
pub mod scene;
pub mod storm;
mod sweep;
mod tree;
pub mod trouble;
mod witness;

pub use calls::{Call, calls, calls_of, can_inject, injected, injecting, killed_at};
pub use lack::{Lack, skipped};
pub use past::{PHASES, Past};
pub use person::{Person, has_terminals};
pub use sandbox::{Answer, Sandbox, answered, run, spawned, temporary};
pub use scene::Scene;
pub use sweep::{Tally, try_all};
pub use tree::Tree;
pub use trouble::Trouble;
pub use witness::{essence, modes_sound};
