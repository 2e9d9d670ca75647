//! What is in the files: identifiers, the run document, activities, events. Plain data without I/O.
//!
//! Constructors keep the invariants: a [`RunId`] that exists is a safe file name, a [`Seq`] that exists came from a
//! sealed line or is the next one. Bytes become documents in [`crate::codec`] and nowhere else.

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
pub use fence::without_fence;
pub use flaw::Flaw;
pub use front_matter::behind_front_matter;
pub use help::Help;
pub use idlist::IdList;
pub use ids::{
    ActivityId, BadName, EventId, ModeName, Number, RunId, Seq, SessionId, StateName, Unit, WorkflowId, slug,
};
pub use mode::{MODE_FILE, ModeFile, ModesChanged, Scope, VISIBLE, mode_file};
pub use problem::{Explain, Kind, Problem};
pub use repair::{LogRepaired, LostRange, Renumbered};
pub use run::{Doing, LIMITS, Owned, RunDocument, RunStatus, RunSummary, SESSION_ENDED};
pub use step::{Emitted, Question, ReportType, StepReport, StepStatus, Steps, answer_in};
pub use suggestion::{Argument, Invocation, Suggestion, quoted};
pub use terminal::is_terminal_control;
pub use time::{BadTime, Timestamp};
pub use written::{pairs, seconds};
