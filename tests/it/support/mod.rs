//! What tests stand on.

mod aftermath;
mod calls;
mod cargo;
pub mod cases;
pub mod clinic;
#[allow(dead_code, reason = "a toolbox: not every test binary uses all of it")]
pub mod faulty;
mod held_lock;
mod host_process;
pub mod hostile;
mod inside;
#[allow(dead_code, reason = "the program that lists what was skipped uses the rest")]
mod lack;
#[allow(dead_code, reason = "a toolbox: not every test binary uses all of it")]
pub mod mount;
mod onlooker;
mod past;
mod person;
mod sandbox;
pub mod scene;
#[allow(dead_code, reason = "a toolbox: not every test binary uses all of it")]
pub mod server;
pub mod shaky;
pub mod storm;
mod sweep;
mod tree;
pub mod trouble;
mod witness;

use std::sync::atomic::{AtomicBool, Ordering};

/// The standard library uses it if the program has it, and nothing else brings it into a static one. Without it each child that
/// begins in another directory costs a copy of the page tables of all tests.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[used]
static BEGINS_ELSEWHERE: unsafe extern "C" fn(
    *mut libc::posix_spawn_file_actions_t,
    *const libc::c_char,
) -> libc::c_int = libc::posix_spawn_file_actions_addchdir_np;

/// What [`try_everything`] said.
static EVERYTHING: AtomicBool = AtomicBool::new(false);

/// Whether everything is to be tried that can be: `FLOW_TEST_WHOLE=1`, which the campaign sets.
pub fn whole() -> bool {
    EVERYTHING.load(Ordering::Relaxed) || std::env::var_os("FLOW_TEST_WHOLE").is_some()
}

/// From now on everything is tried that can be.
#[allow(dead_code, reason = "only the campaign says so of itself")]
pub fn try_everything() {
    EVERYTHING.store(true, Ordering::Relaxed);
}

/// So many for every day, and so many when [`whole`].
pub fn scaled<T>(daily: T, all: T) -> T {
    if whole() { all } else { daily }
}

pub use calls::{Call, calls, calls_of, can_inject, injected, injecting, killed_at};
pub use cargo::cargo;
pub use held_lock::HeldLock;
pub use host_process::HostProcess;
pub use inside::alone;
pub use lack::{Lack, skipped};
pub use past::{PHASES, Past};
pub use person::{Person, has_terminals};
pub use sandbox::{Answer, Sandbox, answered, quick, run, spawned, temporary};
pub use scene::Scene;
pub use sweep::{Tally, try_all};
pub use tree::Tree;
pub use trouble::Trouble;
pub use witness::{essence, modes_sound};
