//! Modes: which may be active together, how they end, and how a prompt requests them (RCS). Pure; the rules themselves
//! are data (`workflows/modes.yaml`).

mod admit;
mod document;
mod lifecycle;
mod phase;
mod prompt;
mod table;
mod words;

pub use admit::{Admission, Denial, DenialKind};
pub use document::PolicyDocument;
pub use lifecycle::{LifecycleFault, Outcome, OutcomeSource, Reading, clear_audit, drop_stale, read_outcome, settle};
pub use phase::PhaseFault;
pub(crate) use phase::{CANCELLED, CLEARED, COMPLETED};
pub use prompt::{Named, Plan, Skill, Skills, Why, find_skills, names_skills, plan};
pub use table::{Condition, Kind, Mode, Policy, Relation};
