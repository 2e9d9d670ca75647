//! Modes: which may be active together, how they end, and how a prompt requests them (RCS). Pure; the rules themselves
//! are data (`workflows/modes.yaml`).

mod admit;
mod document;
mod fields;
mod lifecycle;
mod mode;
mod phase;
mod prompt;
mod table;
mod words;

pub use admit::{Admission, Denial, DenialKind};
pub use document::PolicyDocument;
pub(crate) use fields::{says_active, says_inactive, text_of};
pub use lifecycle::{
    LifecycleFault, ModeOutcome, OutcomeSource, Reading, clear_audit, drop_stale, read_outcome, settle,
};
pub(crate) use mode::{CANCELLED, CLEARED, COMPLETED};
pub use mode::{Condition, Mode, ModeKind, Relation};
pub use phase::PhaseFault;
pub use prompt::{NamedSkill, Plan, Skill, Skills, Why, find_skills, names_skills, plan};
pub use table::Policy;
