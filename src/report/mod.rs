//! What callers see: plain structs whose JSON shape is fixed by the design (section 7). Every list is `[]`, not absent.

mod emit;
mod interview;
mod log;
mod mode;
mod problem;
mod resume;
mod run;
mod workflow;

pub use emit::{AdvanceReport, EmitData, EmitReport, EmittedActivity, EmittedReport, NextStatesReport};
pub use interview::{
    EntryStatus, InterviewAbandonReport, InterviewAnswerReport, InterviewEntry, InterviewFinishReport, InterviewNext,
    InterviewRunReport, InterviewSection, InterviewStartReport, InterviewStatusReport, InterviewStep, InterviewStop,
};
pub use log::{LogReport, SkippedLine};
pub use mode::{
    DecidedBy, EndedMode, ListedMode, ModeDecision, ModeEndReport, ModeListReport, ModePromptReport, ModeRequestReport,
    ModeShowReport, ModeWriteReport, OutcomeReport, PolicyMode, PolicyReport, PolicyRow, PromptError, ScopeReport,
};
// Values of the engine and the machine that are part of reports.
pub use crate::engine::{Action, Attempt, Completed, InDoubt, Verdict};
pub use crate::interview::{
    Fault as InterviewFault, Fill, Filled, Metadata as InterviewMetadata, Mode as InterviewMode,
    SectionChange as InterviewChange,
};
pub use crate::machine::{Diagnostic, Notation, render};
pub use crate::policy::Kind as ModeKind;
pub use problem::{Kind, Problem};
pub use resume::{Alternative, Candidate, NextReport, ResumeReport, TreeState, WorkingTreeReport};
pub use run::{
    ClaimReport, EndedRun, InitReport, ListReport, ListedRun, OtherWorktree, RecordReport, SessionEndReport, SetReport,
    StartReport, StatusReport, Unreadable,
};
pub use workflow::{
    WorkflowAdoptReport, WorkflowConvertReport, WorkflowEntry, WorkflowGraphReport, WorkflowListReport, WorkflowReport,
};
