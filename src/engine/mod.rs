//! The run itself: events in, decisions out. Pure: no files, no clock, no environment, no randomness.
//!
//! [`RunState::apply`] is the only way a state changes, live and in recovery: the state *is* the fold of the events.
//! [`decide`] turns a command into an event or a [`Refusal`]; [`resume`] turns a history into a [`Plan`].

mod apply;
mod approve;
mod choices;
mod command;
mod decide;
mod doubt;
mod edit;
mod emit;
mod fresh;
mod gate_rules;
mod gates;
mod join;
mod leave;
mod past;
mod pinned;
mod proof;
mod reconcile;
mod refusal;
mod report;
mod resume;
mod retry;
mod state;
mod step_id;
mod timeline;
mod unsettled;
mod verdict;

pub(crate) use apply::{ask_or_answer, concerns, goes_on};
pub(crate) use approve::{approval_title, gate_to_decide};
pub(crate) use choices::ForcedMove;
pub use choices::{BadReply, Choice, Choices, END};
pub use command::{Advance, Caller, Claim, Command, Decide, Decision, Record};
#[doc(hidden)]
pub use decide::asks_workflow;
pub use decide::decide;
pub(crate) use decide::decider::refuse_other_session;
pub use doubt::InDoubt;
pub(crate) use doubt::in_doubt;
pub(crate) use edit::with_edit;
#[doc(hidden)]
pub use edit::{EditFault, drops_edit, edited, rebase};
pub use emit::decide_emit;
pub(crate) use fresh::files_before;
pub use fresh::{CheckoutFiles, EvidenceState, Freshness, evidence_state};
pub(crate) use gate_rules::held_by;
pub(crate) use gates::unprove;
#[doc(hidden)]
pub use join::{Histories, join};
pub(crate) use leave::{complete_by_leaving, refuse_held};
pub(crate) use past::attempt::Attempt;
pub use past::fork::requests_of;
pub(crate) use past::fork::taken_over;
pub use past::history::{History, NoTrail, ProofCheck, Trail};
pub(crate) use past::history::{Hold, UnitWork};
pub(crate) use past::interviews::{
    BegunInterview, all_asked, begun_about, interview_activity, interview_unit, is_all_asked, may_be_interview,
};
pub(crate) use past::phases::SkippedPhase;
pub use past::progress::{Progress, progress};
pub use past::recap::{RECENT, Recap};
pub(crate) use past::usage::{RunUsage, worker_usage};
pub use past::work::LeftUndone;
pub(crate) use past::work::PhaseWork;
pub(crate) use past::workers::Beginning;
pub use past::workers::Lives;
pub(crate) use pinned::{is_free, machine_of, pinned};
pub(crate) use proof::{files_in_doubt, in_brackets};
pub(crate) use reconcile::has_other_line_ends;
pub use reconcile::{Current, Fault, Reconciled, Repair, reconcile};
pub(crate) use reconcile::{
    Replay, blind_spots, caught_up, histories, is_repair, joined, merge_save, read_run, rebuilt, reconcile_end, text_of,
};
pub(crate) use refusal::{Elsewhere, StepFault, UnansweredQuestion, Undone, state_names};
pub use refusal::{GateTurn, Refusal, ReportRefusal};
pub use report::{Emit, MayEnd, Report, Supply};
pub(crate) use resume::undecided;
#[doc(hidden)]
pub use resume::{CompletedActivity, Damage, Drift};
pub use resume::{HoldState, Limit, Next, Outlook, Plan, resume};
#[doc(hidden)]
pub use retry::{Retry, is_retry_of, retry};
pub use state::RunState;
pub use timeline::{Fold, Lane, OpenWork, SessionSpan, Span, SpanState, Stay, Timekeeper, Timeline, Wait, WaitState};
pub use verdict::{Action, Verdict};
