//! The verbs over runs and workflows: load, decide, commit. One file for each verb, with its request, its function and
//! its report.

mod accepted;
pub(crate) mod advice;
pub(crate) mod alternative;
mod budget;
pub(crate) mod commands;
pub(crate) mod context;
pub(crate) mod driver;
mod error;
mod here;
mod holder;
mod host_note;
pub(crate) mod init;
mod left_out;
mod live;
mod look;
mod mask;
#[cfg(test)]
mod mask_tests;
mod new_project;
mod new_workflow;
pub(crate) mod open;
mod path;
mod person;
pub(crate) mod processes;
mod refused;
mod sessions;
mod user_state;
pub(crate) mod workflow;
pub(crate) mod write;

#[cfg(feature = "mcp")]
pub(crate) use crate::codec::parse_foreign_json;
pub use crate::codec::{DocumentKind, schema_text};
#[cfg(any(feature = "mcp", feature = "serve"))]
pub use crate::codec::{field_names, read_request, request_schema};
#[doc(hidden)]
pub(crate) use crate::codec::{is_typing_error, similar};
pub use crate::engine::Advance;
pub use crate::host::{AgentHost, PassOn};
pub(crate) use crate::host::{SignalWatch, columns, completed_word, end_by, signal_that_came, wants_ascii};
pub(crate) use accepted::{Thing, accept, accept_in, is_accepted, is_accepted_in, is_store_accepted_elsewhere};
pub use alternative::{Alternative, Who};
pub use budget::Budget;
pub use context::{ChoosesStore, Context, Observer, OpenedProject, Options};
pub use driver::CommandSource;
pub use error::{Error, Result};
#[cfg(feature = "mcp")]
pub(crate) use here::places_to_look;
pub(crate) use here::{flow_dir_of_caller, named_in, place_of_caller, place_of_project};
pub(crate) use here::{interview_command, moved_document};
pub(crate) use init::remove_unused;
pub use init::{InitReport, InitRequest, init};
pub use live::asking::StoreAsker;
pub use live::cards::{CardFilter, CardSort, CardsOfGroup, CardsReport};
pub use live::export::{ExportFormat, ExportReport, save_export};
pub use live::feed::Feed;
pub use live::feed_run::{Cursor, EventsAfter, FeedRun, run_report, whole_run};
pub use live::keeper::Keeper;
pub use live::observe::{DriftReport, ObservedRun, RunReport, RunRequest, ShownDifference, ShownQuestion, WholeRun};
pub use live::phases::phase_uses;
pub use live::stats::{PhaseUse, PhaseUses, WorkflowUse};
pub use look::attention::{AttentionReport, AttentionRequest, attention};
pub use look::brief::{BriefReport, BriefRequest, RunPosition, brief};
pub(crate) use look::brief::{Overview, brief_with_files, overview};
pub(crate) use look::card::session_life;
pub use look::card::{Card, CardGroup, HolderLife, PhasePlace};
pub use look::cause::{BegunWork, Cause, Need, UnitCounts};
pub(crate) use look::evidence::bring_evidence;
pub use look::evidence::{
    EvidenceFile, EvidenceItem, EvidenceKind, EvidenceOrigin, EvidenceReport, EvidenceRequest, FileContent, evidence,
};
pub use look::gate::{GateReport, gate};
pub use look::in_time::SeenCommands;
pub(crate) use look::in_time::seen_commands;
pub(crate) use look::list::list_looking_at;
pub(crate) use look::list::parse_since;
pub use look::list::{ListFilter, ListOrder, ListReport, ListStatus, RunInList, list};
pub(crate) use look::log::reader_left;
pub use look::log::{Follow, LogReport, LogRequest, SkippedLine, follow, log};
pub use look::needs::{Needs, call_about};
pub use look::outlook::NextReport;
pub use look::report::{ReportedQuestion, ReportedWork, WorkReport, WorkReportRequest, work_report};
pub use look::resume::{ResumeReport, ResumeRequest, TreeState, WorkingTreeReport, resume};
pub use look::seen::{ClaimedWork, SeenEvidence, VerifyEvidenceReport, VerifyEvidenceRequest, verify_evidence};
pub use look::show::{
    ArtifactKind, ShowReport, ShowRequest, ShownApproval, ShownArtifact, ShownSkip, ShownStep, ShownUnit, show,
};
pub use look::tries::{ShownActivity, Try, shown_activities};
pub use look::used::{ListUsage, ListedUsage, WorkflowUsage};
pub use look::wait::{card_of, cards_in_worktrees, cards_of, runs_command};
pub use new_project::{MadePlace, MadeProject};
pub use new_workflow::{WorkflowNewReport, WorkflowNewRequest, workflow_new};
pub use open::copies::show_events;
pub use open::listed::ListedRun;
pub(crate) use open::listed::ShortNames;
pub use open::reading::Unreadable;
pub(crate) use open::reading::passed_over_in_words;
pub(crate) use open::same_work::work_of;
#[cfg(feature = "mcp")]
pub(crate) use open::select::heeding_own_run_only;
#[doc(hidden)]
pub use open::select::meant_run;
pub(crate) use open::select::run_in_environment;
pub use open::shared::{SharedAsOf, Sharing, UnseenStore};
pub(crate) use open::work::OpenWork;
pub use open::worktrees::OtherWorktree;
pub(crate) use open::worktrees::{in_other_worktrees, other_worktrees, place_name};
pub(crate) use path::path_argument;
pub use person::refuse_agents;
pub(crate) use sessions::begin::{Beginning, begin_session, give_runs, prompt_session};
pub(crate) use sessions::conversation::{note_project, note_told_of_init, noted_project};
pub(crate) use sessions::end::end_in;
pub use sessions::end::{EndedRun, HookInput, SessionEndReport, SessionEndRequest, session_end};
pub use sessions::going_on::StopOptions;
pub(crate) use sessions::going_on::{GoingOn, going_on};
#[cfg(feature = "mcp")]
pub(crate) use sessions::hosts::session_of_host;
pub(crate) use sessions::hosts::{has_begun, is_elsewhere, last_call, log_hook, note_call, note_end, note_shown};
#[cfg(feature = "serve")]
pub(crate) use user_state::make_user_state;
pub(crate) use user_state::{UserNote, git_state};
pub use workflow::{
    WorkflowConvertReport, WorkflowConvertRequest, WorkflowEntry, WorkflowListReport, WorkflowReport, WorkflowRequest,
    workflow_check, workflow_convert, workflow_list, workflow_machine, workflow_named, workflow_show,
};
pub use write::adopt::{AdoptRequest, WorkflowAdoptReport, workflow_adopt};
pub use write::approve::{ApproveReport, ApproveRequest, approve};
#[doc(hidden)]
pub use write::batch::{Batch, BatchPlaces, parse_batch};
pub use write::claim::{ClaimReport, ClaimRequest};
pub(crate) use write::claim::{claim, hold_state};
pub use write::emit::{EmitData, EmitReport, EmitRequest, EmittedActivity, EmittedReport, emit};
pub(crate) use write::emit::{MissingRun, Reporter, emit_by};
pub use write::exec::{
    ExecReport, ExecRequest, ReplayComparison, ReplayConsent, ReplayReport, ReplayRequest, ReplayedCommand,
    TrustReport, TrustRequest, TrustedCommand, exec, replay, trust,
};
pub use write::fork::{ForkReport, ForkRequest, fork};
pub use write::next::{AdvanceReport, AdvanceRequest, NextStatesReport, NextStatesRequest, advance, next_states};
pub use write::payload::ReportRequest;
pub use write::prune::{KeptRun, ListedPrune, PruneReport, PruneRequest, prune};
pub(crate) use write::record::record_interview;
pub use write::record::{RecordReport, RecordRequest, Source, record_activity};
pub(crate) use write::set::change_context;
pub use write::set::{SetReport, SetRequest, set};
pub(crate) use write::source::read_source;
pub use write::start::{StartReport, StartRequest, start};
pub use write::status::{StatusReport, StatusRequest, StatusVerb, change_status};
pub(crate) use write::transaction::attempts::adopt_edits;
pub use write::transaction::moved_on::refuse_moved_on;
