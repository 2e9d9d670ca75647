//! The verbs over runs and workflows: load, decide, commit. One file a verb: its request, its function, its report.

mod adopt;
pub(crate) mod advice;
pub(crate) mod answer;
pub(crate) mod checkout;
mod claim;
pub(crate) mod context;
mod decide;
mod emit;
mod error;
mod explain;
mod fault;
mod here;
pub(crate) mod init;
mod journal;
mod list;
pub(crate) mod load;
mod log;
mod next;
mod payload;
pub(crate) mod pinned;
mod record;
mod refused;
mod resume;
pub(crate) mod select;
mod session_end;
mod set;
mod show;
mod source;
mod start;
mod status;
mod token;
pub(crate) mod view;
pub(crate) mod workflow;
mod worktrees;

pub use crate::codec::{DocumentKind, schema_text};
pub use crate::engine::Advance;
pub use adopt::{AdoptRequest, WorkflowAdoptReport};
pub use advice::Alternative;
pub use claim::{ClaimReport, ClaimRequest};
pub use context::{Flow, LOCK_WAIT, Observer, Options};
pub use emit::{EmitData, EmitReport, EmitRequest, EmittedActivity, EmittedReport};
pub use error::{Error, Result};
pub use init::InitReport;
pub use list::{ListFilter, ListReport, ListStatus, ListedRun, parse_since};
pub use log::{Follow, LogReport, LogRequest, SkippedLine, reader_left};
pub use next::{AdvanceReport, AdvanceRequest, NextStatesReport};
pub use payload::{ReportRequest, parse_batch};
pub use record::{RecordReport, RecordRequest, Source};
pub use resume::{Candidate, NextReport, ResumeReport, ResumeRequest, TreeState, WorkingTreeReport};
pub use select::Unreadable;
pub use session_end::{EndedRun, HookInput, SessionEndReport, SessionEndRequest};
pub use set::{SetReport, SetRequest};
pub use show::{ArtifactKind, ShowReport, ShownArtifact, ShownSkip, ShownStep, ShownUnit};
pub use start::{StartReport, StartRequest};
pub use status::{StatusReport, StatusRequest, StatusVerb};
pub use workflow::{WorkflowConvertReport, WorkflowEntry, WorkflowGraphReport, WorkflowListReport, WorkflowReport};
pub use worktrees::OtherWorktree;

/// A path as an argument: one that begins with a hyphen is not an option.
pub(crate) fn path_argument(path: &std::path::Path) -> String {
    let path = path.to_string_lossy();
    if path.starts_with('-') { format!("./{path}") } else { path.into_owned() }
}

/// The same as a shell takes it.
pub(crate) fn quoted_path(path: &std::path::Path) -> String {
    crate::model::quoted(&path_argument(path))
}
