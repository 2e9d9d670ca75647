//! The run itself: events in, decisions out. Pure: no files, no clock, no environment, no randomness.
//!
//! [`RunState::apply`] is the only way a state changes, live and in recovery: the state *is* the fold of the events.
//! [`decide`] turns a command into an event or a [`Refusal`]; [`resume`] turns a history into a [`Plan`].

mod apply;
mod choices;
mod command;
mod decide;
mod edit;
mod emit;
mod history;
mod join;
mod leave;
mod phases;
mod pinned;
mod reconcile;
mod refusal;
mod resume;
mod state;

pub use choices::{BadReply, Choices, Forced};
pub use command::{Advance, Caller, Claim, Command, Decision, Record};
pub(crate) use decide::refuse_other_session;
pub use decide::{Retry, asks_workflow, decide, retry};
pub(crate) use edit::with_edit;
pub use edit::{EditFault, edited, rebase};
pub use emit::{Emit, Progress, Report, Supply, decide_emit, progress};
pub use history::{Attempt, History, Hold, NoTrail, Trail, UnitWork};
pub use join::{Histories, Join, Side, join};
pub(crate) use leave::complete_by_leaving;
pub use phases::{PhaseWork, SkippedPhase};
pub(crate) use pinned::{is_free, machine_of, pinned};
pub use reconcile::{Current, Fault, Reconciled, Repair, reconcile};
pub(crate) use reconcile::{
    Replay, blind_spots, caught_up, histories, joined, merge_save, read_run, rebuilt, reconcile_end,
};
pub use refusal::{Refusal, StepFault, Unanswered, Undone};
pub use resume::{Action, Completed, Damage, Drift, InDoubt, Limit, Next, Outlook, Plan, Presence, Verdict, resume};
pub use state::RunState;
