//! The answer of `resume`.

use serde::Serialize;

use crate::engine::{Action, Completed, InDoubt, Verdict};
use crate::model::{RunId, RunStatus, StateName, Timestamp, WorkflowId};
use crate::report::{ClaimReport, OtherWorktree, Unreadable};

/// The answer of `resume`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResumeReport {
    /// In one word.
    pub verdict: Verdict,
    /// The run; none when there is nothing to resume.
    pub run_id: Option<RunId>,
    /// Its workflow.
    pub workflow: Option<WorkflowId>,
    /// Its status.
    pub status: Option<RunStatus>,
    /// Where it stands.
    pub phase: Option<StateName>,
    /// Why this verdict.
    pub reason: String,
    /// What to do.
    pub next: NextReport,
    /// How many activities are completed.
    pub completed_activities: usize,
    /// The latest of them, in order; all when they were asked for.
    pub completed: Vec<Completed>,
    /// What was begun and has no known outcome.
    pub in_doubt: Vec<InDoubt>,
    /// Why the run is blocked.
    pub blocked_reason: Option<String>,
    /// Uncommitted changes outside flow's own files.
    pub working_tree: WorkingTreeReport,
    /// Other runs that could be resumed, newest first.
    pub candidates: Vec<Candidate>,
    /// Runs that could not be read.
    pub unreadable: Vec<Unreadable>,
    /// What else to know before going on.
    pub notes: Vec<String>,
    /// The claim, when one was asked for.
    pub claim: Option<ClaimReport>,
    /// Other worktrees of the repository in which runs are open.
    pub worktrees: Vec<OtherWorktree>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NextReport {
    /// What to do.
    pub action: Action,
    /// In which phase.
    pub phase: Option<StateName>,
    /// The valid next phases.
    pub choices: Vec<StateName>,
    /// What the workflow says about that phase.
    pub description: Option<String>,
    /// A command line that is safe to run without reading on: it begins work or looks at something, and never says that
    /// something is done. None where a judgement is needed; then [`Self::alternatives`] holds one command for each outcome.
    pub command: Option<String>,
    /// What can be done instead, or once the outcome is known.
    pub alternatives: Vec<Alternative>,
}

/// One way on, and when to take it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alternative {
    /// The outcome or decision for which the command is right, in words.
    pub when: String,
    /// The command line.
    pub command: String,
}

/// Uncommitted changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkingTreeReport {
    /// Whether there are any.
    pub state: TreeState,
    /// Which files.
    pub paths: Vec<String>,
    /// Why that is not known.
    pub reason: Option<String>,
}

/// Whether there are uncommitted changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeState {
    /// None outside flow's own files.
    Clean,
    /// Some.
    Dirty,
    /// Git could not tell.
    Unknown,
}

/// Another run that could be resumed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// Its status.
    pub status: RunStatus,
    /// Where it stands.
    pub phase: Option<StateName>,
    /// When it last changed.
    pub updated_at: Timestamp,
}
