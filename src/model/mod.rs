//! The contents of files as plain data: identifiers, the run document, activities, events. No I/O.
//!
//! Constructors keep the invariants: a [`RunId`] that exists is a safe file name. Only [`crate::codec`] turns bytes
//! into documents.

mod activity;
mod as_text;
mod digest;
mod event;
mod execution;
mod flaw;
mod gate;
mod help;
mod idlist;
mod ids;
mod issue;
#[doc(hidden)]
pub mod limits;
mod markdown;
mod mode;
mod named;
mod problem;
mod record;
mod remote;
mod repair;
mod run;
mod step;
mod suggestion;
mod text;
mod time;
mod usage;
mod written;

pub use activity::{Activity, ActivityStatus, ActivityType, Confidence, StepStatus};
#[doc(hidden)]
pub use activity::{begun_document, fill};
pub(crate) use digest::{TextDigest, sha256_hex};
pub(crate) use event::RunEdited;
pub use event::{
    Event, EventKind, FieldChange, RunAdopted, RunChanges, RunClaimed, RunForked, RunStarted, SessionEnded,
    StatusChange, UnknownEvent, WorkflowAdopted,
};
pub use execution::{Execution, ExecutionEnd, IgnoreRules, NotCovered, TreeSnapshot};
pub(crate) use flaw::Flaw;
pub use gate::{APPROVAL, Approval, DecidedAt, Gate, GateStatus, LastSeen, UnsettledActivity};
pub use help::Help;
pub(crate) use help::did_you_mean;
#[doc(hidden)]
pub use idlist::IdList;
pub(crate) use ids::hex;
#[doc(hidden)]
pub use ids::slug;
pub use ids::{ActivityId, BadName, EventId, ModeName, Number, RunId, Seq, SessionId, StateName, Unit, WorkflowId};
pub(crate) use issue::issue_file_part;
pub use issue::{BadIssue, Issue};
pub(crate) use markdown::fence::bare_reply;
pub(crate) use markdown::front_matter::behind_front_matter;
pub(crate) use mode::{MODE_FILE, VISIBLE, mode_file};
pub use mode::{ModeFile, ModesChanged, Scope};
pub(crate) use named::named;
pub use problem::{Explain, Kind, Problem};
pub use record::{ActivityRecorded, KeptEvidence, MissingProof, Obstacle, Skip, WayAround};
pub use remote::Remote;
pub(crate) use remote::{has_secrets, secrets_in, without_login, without_secrets};
pub use repair::LogRepaired;
pub(crate) use repair::{LostRange, RenumberedEvent};
#[doc(hidden)]
pub use run::OwnedState;
pub use run::{Doing, ForkPoint, RunDocument, RunHead, RunStatus, RunSummary};
pub(crate) use run::{LIMITS, SESSION_ENDED};
pub(crate) use step::answer_in;
pub use step::{Emitted, INTERVIEW, Question, ReportType, StepReport, Steps};
pub use suggestion::{Argument, Invocation, Suggestion};
#[doc(hidden)]
pub use suggestion::{command_line, quoted};
pub(crate) use text::{beginning, counted, first_few, is_beginning, is_terminal_control, percent_encoded};
pub(crate) use time::FileTime;
pub use time::{BadTime, DiskTime, Timestamp};
pub use usage::{Amount, Cost, CostSum, Currency, ModelUsage, PartialSum, TimeUsed, Usage, UsageSum, UsageTotals};
#[doc(hidden)]
pub use written::{pairs, seconds};
