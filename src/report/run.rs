//! Reports about runs.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::{
    ActivityStatus, Doing, Number, RunId, RunStatus, RunSummary, Seq, SessionId, StateName, Timestamp, WorkflowId,
};

/// What `init` did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InitReport {
    /// The `.flow` directory.
    pub path: PathBuf,
    /// What was created in it; empty when everything was there.
    pub created: Vec<String>,
}

/// A run that was started.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StartReport {
    /// Its id.
    pub run_id: RunId,
    /// Its directory, relative to the project.
    pub path: PathBuf,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// Where it stands.
    pub phase: StateName,
    /// Its first event.
    pub seq: Seq,
    /// Who holds it.
    pub session: Option<SessionId>,
    /// For `FLOW_RUN_TOKEN` in the environment of sub-agents with sessions of their own; none when no session holds the
    /// run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Under which epoch.
    pub epoch: u64,
    /// What went wrong beside the work itself.
    pub warnings: Vec<String>,
}

/// An activity that was recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordReport {
    /// The run.
    pub run_id: RunId,
    /// The event.
    pub seq: Seq,
    /// Its number in the run.
    pub number: Number,
    /// Its id.
    pub activity: String,
    /// Its file, relative to the project.
    pub path: PathBuf,
    /// Where the run stands now.
    pub phase: StateName,
    /// How the activity stands.
    pub status: ActivityStatus,
    /// How many activities of the run are completed.
    pub completed_activities: usize,
    /// Whether the same request was recorded before, so that nothing was written now.
    pub repeated: bool,
    /// What went wrong beside the work itself.
    pub warnings: Vec<String>,
}

/// A run whose status was to change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusReport {
    /// The run.
    pub run_id: RunId,
    /// Its status now.
    pub status: RunStatus,
    /// Where it stands.
    pub phase: Option<StateName>,
    /// Its latest event.
    pub seq: Seq,
    /// Whether anything was written; `false` when it was so already.
    pub changed: bool,
    /// Why it is blocked.
    pub blocked_reason: Option<String>,
    /// What went wrong beside the work itself.
    pub warnings: Vec<String>,
}

/// A run of which something was to change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetReport {
    /// The run.
    pub run_id: RunId,
    /// Its latest event.
    pub seq: Seq,
    /// Whether anything was written; `false` when it was so already.
    pub changed: bool,
    /// Its goal now.
    pub goal: Option<String>,
    /// What it is about now.
    pub context: Map<String, Value>,
    /// Its limits now.
    pub limits: Map<String, Value>,
    /// What went wrong beside the work itself.
    pub warnings: Vec<String>,
}

/// A run that was claimed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimReport {
    /// Who holds it now.
    pub session: Option<SessionId>,
    /// Under which epoch: records that carry an older one are refused.
    pub epoch: u64,
    /// Whether anything changed.
    pub changed: bool,
}

/// The end of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionEndReport {
    /// The session, when it is known.
    pub session: Option<SessionId>,
    /// The runs that were marked.
    pub persisted: Vec<EndedRun>,
    /// Runs that could not be read or marked.
    pub warnings: Vec<String>,
}

/// A run that outlives its session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EndedRun {
    /// The run.
    pub run_id: RunId,
    /// The event that says so.
    pub seq: Seq,
}

/// All runs that were asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListReport {
    /// Newest first.
    pub runs: Vec<ListedRun>,
    /// Runs that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// Other worktrees of the repository in which runs are open.
    pub worktrees: Vec<OtherWorktree>,
}

/// Another worktree of the repository, with a `.flow` of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtherWorktree {
    /// Where its project is.
    pub path: PathBuf,
    /// How many runs are open there.
    pub open_runs: usize,
    /// Those runs, newest first; empty unless they were asked for.
    pub runs: Vec<ListedRun>,
    /// Why they cannot be read.
    pub error: Option<String>,
}

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListedRun {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// Its status.
    pub status: RunStatus,
    /// Where it stands.
    pub phase: Option<StateName>,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// How many activities are completed.
    pub completed_activities: usize,
    /// What an active run is doing, when that says more than its status: `asking`, `waiting` or `failed`.
    pub doing: Option<Doing>,
    /// Who holds it.
    pub session: Option<SessionId>,
    /// Why it is blocked.
    pub blocked_reason: Option<String>,
    /// What it is for.
    pub goal: Option<String>,
    /// The issue that it is about.
    pub issue: Option<u64>,
    /// The pull request that it is about.
    pub pr: Option<u64>,
    /// The feature that it is about.
    pub feature: Option<String>,
}

impl From<RunSummary> for ListedRun {
    fn from(run: RunSummary) -> Self {
        Self {
            run_id: run.id,
            workflow: run.workflow,
            status: run.status,
            phase: run.current_phase,
            created_at: run.created_at,
            updated_at: run.updated_at.unwrap_or(run.created_at),
            completed_activities: run.completed_activities,
            doing: run.doing,
            session: run.session,
            blocked_reason: run.blocked_reason,
            goal: run.goal,
            issue: run.issue,
            pr: run.pr,
            feature: run.feature,
        }
    }
}

/// A run that cannot be read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unreadable {
    /// The name of its directory.
    pub run_id: String,
    /// Why.
    pub reason: String,
}
