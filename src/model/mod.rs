//! The contents of files as plain data: identifiers, the run document, activities, events. No I/O.
//!
//! Constructors keep the invariants: a [`RunId`] that exists is a safe file name. Only [`crate::codec`] turns bytes
//! into documents.

mod activity;
mod event;
mod fence;
mod flaw;
mod front_matter;
mod help;
mod idlist;
mod ids;
pub mod limits;
mod mode;
mod problem;
mod repair;
mod run;
mod step;
mod suggestion;
mod terminal;
mod time;
mod written;

pub use activity::{Activity, ActivityStatus, ActivityType, Confidence, fill};
pub use event::{
    ActivityRecorded, Event, EventKind, RunAdopted, RunChanges, RunClaimed, RunEdited, RunStarted, SessionEnded, Skip,
    StatusChange, TextDigest, UnknownEvent, WorkflowAdopted,
};
pub(crate) use fence::without_fence;
pub use flaw::Flaw;
pub(crate) use front_matter::behind_front_matter;
pub use help::Help;
pub use idlist::IdList;
pub use ids::{
    ActivityId, BadName, EventId, ModeName, Number, RunId, Seq, SessionId, StateName, Unit, WorkflowId, slug,
};
pub(crate) use mode::{MODE_FILE, VISIBLE, mode_file};
pub use mode::{ModeFile, ModesChanged, Scope};
pub use problem::{Explain, Kind, Problem};
pub use repair::{LogRepaired, LostRange, Renumbered};
pub use run::{Doing, Owned, RunDocument, RunStatus, RunSummary};
pub(crate) use run::{LIMITS, SESSION_ENDED};
pub(crate) use step::answer_in;
pub use step::{Emitted, Question, ReportType, StepReport, StepStatus, Steps};
pub use suggestion::{Argument, Invocation, Suggestion, quoted};
pub(crate) use terminal::is_terminal_control;
pub use time::{BadTime, Timestamp};
pub use written::{pairs, seconds};
