//! Modes: long-lived skills that are active in a session, admitted by a policy (RCS).
//!
//! [`policy`] says which modes may be active together, and [`state`] decides what begins and ends; both are pure.
//! `state_dir` reads and writes the files below `.flow/state`, and the verbs connect the three.

mod change;
mod definition;
mod end;
mod error;
mod late;
mod load;
#[doc(hidden)]
pub mod policy;
mod prompt;
mod say;
mod sessions;
#[doc(hidden)]
pub mod state;
mod state_dir;
mod table;
mod view;

pub use change::{ModeDecision, ModeRequest, ModeRequestReport, ModeWriteReport, ModeWriteRequest, request, write};
#[doc(hidden)]
pub use definition::policy_of;
pub(crate) use definition::{POLICY_FILE, read_policy};
pub use end::{EndedMode, ModeEndReport, ModeEndRequest, ModesObserver, cancel, clear};
pub use error::{Error, Result};
pub(crate) use load::read_state;
pub use load::{ModeScope, ScopeReport};
pub use prompt::{ModePromptReport, ModePromptRequest, PromptError, prompt};
pub(crate) use prompt::{asks_for_modes, concerns_modes, names_skill};
pub(crate) use say::{clear_command, stranger};
pub use sessions::{HeldRun, SessionsReport, ShownSession, sessions, sessions_of};
pub(crate) use state::MERGE;
pub use table::{PolicyMode, PolicyReport, PolicyRow, table};
pub(crate) use view::list_here;
pub use view::{
    DecidedBy, ListedMode, ModeListReport, ModeListRequest, ModeShowReport, ModeShowRequest, OutcomeReport, list,
    outcome, show,
};
