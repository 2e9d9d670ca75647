//! The verbs over runs and workflows: load, decide, commit. One file for each verb, with its request, its function and
//! its report.

mod accepted;
mod adopt;
pub(crate) mod advice;
pub(crate) mod answer;
mod approve;
mod begun;
mod budget;
mod claim;
pub(crate) mod context;
mod conversation;

pub(crate) mod driver;
mod emit;
mod error;
mod explain;
mod export;
mod feed;
mod feed_run;
mod going_on;
mod here;
mod hosts;
pub(crate) mod init;
mod journal;
mod keeper;
mod look;
mod missing;

mod next;
mod observe;
pub(crate) mod open;
mod outcome;
mod payload;
mod questions;
mod record;
mod refused;
mod session_begin;
mod session_end;
mod set;
mod source;
mod start;
mod status;
mod token;
pub(crate) mod transaction;
mod user_state;
pub(crate) mod workflow;

#[doc(hidden)]
pub(crate) use crate::codec::similar;
pub use crate::codec::{DocumentKind, schema_text};
pub use crate::engine::Advance;
pub use crate::host::AgentHost;
pub(crate) use accepted::{Thing, accept, is_accepted};
pub use adopt::{AdoptRequest, WorkflowAdoptReport, workflow_adopt};
pub use advice::{Alternative, Who};
pub use approve::{ApproveReport, ApproveRequest, GateReport, approve, gate, refuse_agents};
pub use budget::Budget;
pub use claim::{ClaimReport, ClaimRequest};
pub(crate) use claim::{claim, presence};
pub use context::{Context, Observer, Options};
pub(crate) use conversation::{note_project, note_told_of_init, noted_project};
pub use driver::CommandSource;
pub use emit::{EmitData, EmitReport, EmitRequest, EmittedActivity, EmittedReport, emit};
pub(crate) use emit::{Reporter, emit_by};
pub use error::{Error, Result};
pub use export::{ExportFormat, ExportReport, WholeRun, save_export, whole_run};
pub use feed::{CardFilter, CardsOfGroup, CardsReport, Feed, WorkflowUse};
pub use feed_run::{Cursor, EventsAfter, FeedRun};
pub(crate) use going_on::going_on;
#[cfg(feature = "mcp")]
pub(crate) use here::places_to_look;
pub(crate) use here::{named_in, place_of_caller, place_of_project};
#[cfg(feature = "mcp")]
pub(crate) use hosts::session_of_host;
pub(crate) use hosts::{has_begun, is_elsewhere, last_call, log_hook, note_call, note_end, note_shown};
pub(crate) use init::remove_unused;
pub use init::{InitReport, init};
pub use keeper::Keeper;
pub use look::attention::{AttentionReport, AttentionRequest, attention};
pub use look::brief::{BriefReport, BriefRequest, RunPosition, brief};
pub(crate) use look::brief::{Overview, overview};
pub(crate) use look::card::session_life;
pub use look::card::{Card, CardGroup, HolderLife, Need};
pub use look::evidence::{
    EvidenceFile, EvidenceItem, EvidenceKind, EvidenceOrigin, EvidenceReport, EvidenceRequest, FileContent, evidence,
};
pub(crate) use look::list::parse_since;
pub use look::list::{ListFilter, ListReport, ListStatus, list};
pub(crate) use look::log::reader_left;
pub use look::log::{Follow, LogReport, LogRequest, SkippedLine, follow, log};
pub use look::needs::{Needs, call_about};
pub use look::outlook::NextReport;
pub use look::resume::{ResumeReport, ResumeRequest, TreeState, WorkingTreeReport, resume};
pub use look::show::{
    ArtifactKind, ShowReport, ShowRequest, ShownApproval, ShownArtifact, ShownSkip, ShownStep, ShownUnit, show,
};
pub use look::wait::card_of;
pub use next::{AdvanceReport, AdvanceRequest, NextStatesReport, NextStatesRequest, advance, next_states};
pub use observe::{DriftReport, Observed, RunReport, RunRequest, ShownDifference, ShownQuestion, run_report};
pub use open::listed::ListedRun;
pub(crate) use open::name::short_name;
pub(crate) use open::reading::passed_over_in_words;
#[cfg(feature = "mcp")]
pub(crate) use open::select::heeding_own_run_only;
#[doc(hidden)]
pub use open::select::meant_run;
pub(crate) use open::select::run_in_environment;
pub(crate) use open::work::OpenWork;
pub use open::worktrees::OtherWorktree;
pub(crate) use open::worktrees::{RUNS_NAMED, in_other_worktrees, other_worktrees};
pub use payload::ReportRequest;
#[doc(hidden)]
pub use payload::parse_batch;
pub use record::{RecordReport, RecordRequest, Source, record_activity};
pub(crate) use session_begin::{Beginning, begin_session, give_runs, prompt_session};
pub(crate) use session_end::end_in;
pub use session_end::{EndedRun, HookInput, SessionEndReport, SessionEndRequest, session_end};
pub(crate) use set::change_context;
pub use set::{SetReport, SetRequest, set};
pub(crate) use source::read_source;
pub use start::{StartReport, StartRequest, start};
pub use status::{StatusReport, StatusRequest, StatusVerb, change_status};
pub(crate) use user_state::UserNote;
#[cfg(feature = "serve")]
pub(crate) use user_state::make_user_state;
pub use workflow::{
    WorkflowConvertReport, WorkflowConvertRequest, WorkflowEntry, WorkflowListReport, WorkflowReport, WorkflowRequest,
    workflow_check, workflow_convert, workflow_list, workflow_machine, workflow_named, workflow_show,
};

/// A path as an argument of a command: a path that begins with a hyphen must not look like an option.
pub(crate) fn path_argument(path: &std::path::Path) -> String {
    let path = path.to_string_lossy();
    if path.starts_with('-') { format!("./{path}") } else { path.into_owned() }
}

/// As [`path_argument`], quoted for a shell.
pub(crate) fn quoted_path(path: &std::path::Path) -> String {
    crate::model::quoted(&path_argument(path))
}
