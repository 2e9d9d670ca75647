//! Why modes do not change.

use crate::model::{ModeName, Scope};
use crate::modes::policy::{Denial, LifecycleFault, PhaseFault};

/// Why a change is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum ModeRefusal {
    /// The policy forbids it.
    Denied {
        /// The mode that was to begin.
        requested: ModeName,
        /// The scope in which there is a conflict.
        scope: Scope,
        /// The reason.
        denial: Denial,
    },
    /// The file of a mode cannot be read, so it is unknown whether the mode is active.
    Unreadable {
        /// The mode whose file it is.
        mode: ModeName,
        /// The scope of the file.
        scope: Scope,
        /// The reason.
        why: String,
    },
    /// The fields contradict each other.
    Lifecycle {
        /// The mode that was to be written.
        mode: ModeName,
        /// The contradiction.
        fault: LifecycleFault,
    },
    /// A field has an invalid value.
    Field {
        /// The mode that has the field.
        mode: ModeName,
        /// The field, and what it takes.
        fault: PhaseFault,
    },
}
