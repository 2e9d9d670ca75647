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
mod timeline;

pub(crate) use choices::Forced;
pub use choices::{BadReply, Choices};
pub use command::{Advance, Caller, Claim, Command, Decision, Record};
pub use decide::decide;
pub(crate) use decide::refuse_other_session;
#[doc(hidden)]
pub use decide::{Retry, asks_workflow, retry};
pub(crate) use edit::with_edit;
#[doc(hidden)]
pub use edit::{EditFault, edited, rebase};
pub use emit::{Emit, Progress, Report, Supply, decide_emit, progress};
pub(crate) use history::{Attempt, Hold};
pub use history::{History, NoTrail, Trail};
#[doc(hidden)]
pub use join::{Histories, join};
pub(crate) use leave::complete_by_leaving;
pub(crate) use phases::{PhaseWork, SkippedPhase};
pub(crate) use pinned::{is_free, machine_of, pinned};
pub use reconcile::{Current, Fault, Reconciled, Repair, reconcile};
pub(crate) use reconcile::{
    Replay, blind_spots, caught_up, histories, joined, merge_save, read_run, rebuilt, reconcile_end,
};
pub use refusal::Refusal;
pub(crate) use refusal::{StepFault, Unanswered, Undone};
pub use resume::{Action, InDoubt, Limit, Next, Outlook, Plan, Presence, Verdict, resume};
#[doc(hidden)]
pub use resume::{Completed, Damage, Drift};
pub use state::RunState;
pub use timeline::{Fold, Lane, OpenWork, SessionSpan, Span, SpanState, Stay, Timekeeper, Timeline, Wait, WaitState};
