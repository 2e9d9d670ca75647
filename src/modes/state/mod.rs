//! Modes: what begins and ends, decided as a whole before anything is written (RCS). Pure.

mod board;
mod draft;
mod over;
mod visible;

pub use board::{Active, Board, ModeState};
pub use draft::{Changed, Draft, Ended, Requested, Wanted};
pub use over::{IsDead, why_over};
pub use visible::Visible;

use crate::model::{ModeName, Scope};
use crate::modes::policy::{Denial, LifecycleFault, PhaseFault};

/// Why nothing changes.
#[derive(Debug, Clone, PartialEq)]
pub enum ModeRefusal {
    /// The policy forbids it.
    Denied {
        /// What was asked for.
        requested: ModeName,
        /// Whose modes are in the way.
        scope: Scope,
        /// Why.
        denial: Denial,
    },
    /// A mode's file cannot be read, so nobody knows whether the mode is active.
    Unreadable {
        /// The mode.
        mode: ModeName,
        /// Whose file.
        scope: Scope,
        /// Why not.
        why: String,
    },
    /// The fields contradict each other.
    Lifecycle {
        /// The mode.
        mode: ModeName,
        /// How.
        fault: LifecycleFault,
    },
    /// A field has a value that it cannot have.
    Field {
        /// The mode.
        mode: ModeName,
        /// Which.
        fault: PhaseFault,
    },
}
