//! The verbs over runs and workflows: load, decide, commit. One file for each verb, with its request, its function and
//! its report.

mod adopt;
pub(crate) mod advice;
pub(crate) mod answer;
mod attention;
mod brief;
mod card;
pub(crate) mod checkout;
mod claim;
pub(crate) mod context;

mod emit;
mod error;
mod evidence;
mod explain;
mod export;
mod fault;
mod feed;
mod feed_run;
mod going_on;
mod here;
mod hosts;
pub(crate) mod init;
mod journal;
mod keeper;
mod list;

mod log;
mod next;
mod observe;
mod outlook;
mod payload;
pub(crate) mod pinned;
mod record;
mod refused;
mod resume;
pub(crate) mod select;
mod session_begin;
mod session_end;
mod set;
mod show;
mod source;
mod start;
mod status;
mod token;
pub(crate) mod transaction;
pub(crate) mod view;
pub(crate) mod workflow;
mod worktrees;

#[doc(hidden)]
pub use crate::codec::{DocumentKind, schema_text};
pub use crate::engine::Advance;
pub use adopt::{AdoptRequest, WorkflowAdoptReport, workflow_adopt};
pub use advice::Alternative;
pub use attention::{AttentionReport, AttentionRequest, attention};
pub use brief::{BriefReport, BriefRequest, RunPosition, brief};
pub(crate) use card::session_life;
pub use card::{Card, CardGroup, HolderLife, Need};
pub use claim::{ClaimReport, ClaimRequest};
pub(crate) use claim::{claim, presence};
pub use context::{Context, Observer, Options};
pub(crate) use emit::emit_by;
pub use emit::{EmitData, EmitReport, EmitRequest, EmittedActivity, EmittedReport, emit};
pub use error::{Error, Result};
pub use evidence::{
    EvidenceFile, EvidenceItem, EvidenceKind, EvidenceOrigin, EvidenceReport, EvidenceRequest, FileContent, evidence,
};
pub use export::{ExportFormat, ExportReport, WholeRun, save_export, whole_run};
pub use feed::{CardFilter, CardsOfGroup, CardsReport, Feed, WorkflowUse};
pub use feed_run::{Cursor, EventsAfter, FeedRun};
pub(crate) use going_on::going_on;
#[cfg(feature = "mcp")]
pub(crate) use here::places_to_look;
pub(crate) use here::{named_in, place_of_caller, place_of_project};
pub use hosts::AgentHost;
#[cfg(feature = "mcp")]
pub(crate) use hosts::session_of_host;
pub(crate) use hosts::{is_elsewhere, last_call, log_hook, note_call, note_end, note_prompt, note_shown};
pub use init::{InitReport, init};
pub use keeper::Keeper;
pub(crate) use list::parse_since;
pub use list::{ListFilter, ListReport, ListStatus, ListedRun, list};
pub(crate) use log::reader_left;
pub use log::{Follow, LogReport, LogRequest, SkippedLine, follow, log};
pub use next::{AdvanceReport, AdvanceRequest, NextStatesReport, NextStatesRequest, advance, next_states};
pub use observe::{DriftReport, Observed, RunReport, RunRequest, ShownDifference, ShownQuestion, run_report};
pub use outlook::NextReport;
pub use payload::ReportRequest;
#[doc(hidden)]
pub use payload::parse_batch;
pub use record::{RecordReport, RecordRequest, Source, record_activity};
pub use resume::{Candidate, ResumeReport, ResumeRequest, TreeState, WorkingTreeReport, resume};
#[doc(hidden)]
pub use select::meant_run;
pub(crate) use session_begin::{Beginning, begin_session};
pub(crate) use session_end::end_in;
pub use session_end::{EndedRun, HookInput, SessionEndReport, SessionEndRequest, session_end};
pub(crate) use set::change_context;
pub use set::{SetReport, SetRequest, set};
pub use show::{ArtifactKind, ShowReport, ShowRequest, ShownArtifact, ShownSkip, ShownStep, ShownUnit, show};
pub(crate) use source::read_source;
pub use start::{StartReport, StartRequest, start};
pub use status::{StatusReport, StatusRequest, StatusVerb, change_status};
pub use workflow::{
    WorkflowConvertReport, WorkflowConvertRequest, WorkflowEntry, WorkflowListReport, WorkflowReport, WorkflowRequest,
    workflow_check, workflow_convert, workflow_list, workflow_machine, workflow_named, workflow_show,
};
pub use worktrees::OtherWorktree;
pub(crate) use worktrees::{in_other_worktrees, other_worktrees};

/// A path as an argument of a command: a path that begins with a hyphen must not look like an option.
pub(crate) fn path_argument(path: &std::path::Path) -> String {
    let path = path.to_string_lossy();
    if path.starts_with('-') { format!("./{path}") } else { path.into_owned() }
}

/// As [`path_argument`], quoted for a shell.
pub(crate) fn quoted_path(path: &std::path::Path) -> String {
    crate::model::quoted(&path_argument(path))
}
