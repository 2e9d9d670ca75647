//! `run.yaml`: a FlowRun document as data.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::{
    IdList, Number, Question, RunId, Seq, SessionId, StateName, StepStatus, Steps, Timestamp, WorkflowId,
};

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Work goes on.
    Active,
    /// Work waits for a person; `blocked_reason` says why.
    Blocked,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Given up.
    Cancelled,
}

impl RunStatus {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Active, Self::Blocked, Self::Completed, Self::Failed, Self::Cancelled];

    /// As in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Blocked => "blocked",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the run is over: it accepts no more records.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for RunStatus {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or(())
    }
}

/// What `run.yaml` says, apart from the keys that flow does not know (those stay in the text).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunDocument {
    /// `metadata.id`: the name of the run's directory.
    pub id: RunId,
    /// `metadata.workflow`.
    pub workflow: WorkflowId,
    /// `metadata.workflow_version`, from 1.
    pub workflow_version: u64,
    /// `metadata.goal`.
    pub goal: Option<String>,
    /// `metadata.created_at`.
    pub created_at: Timestamp,
    /// `context`: repo, branch, issue, pr, journal and whatever a person added.
    pub context: Map<String, Value>,
    /// `limits`: `max_iterations`, `max_runtime_minutes`.
    pub limits: Map<String, Value>,
    /// The keys of `state` that flow keeps.
    pub state: Owned,
}

/// The keys of `run.yaml`'s `state` that flow writes. A person may change the first five; the rest is bookkeeping that
/// flow sets right again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Owned {
    /// `status`.
    pub status: RunStatus,
    /// `current_phase`: where the run is.
    pub current_phase: Option<StateName>,
    /// `current_activity`: the id of the latest record.
    pub current_activity: Option<String>,
    /// `completed_activities`: ids of activities that ended `passed` or `skipped`, in order.
    pub completed_activities: IdList,
    /// `blocked_reason`.
    pub blocked_reason: Option<String>,
    /// `open_activities`: ids whose latest record is neither `passed` nor `skipped`.
    pub open_activities: IdList,
    /// `session`: who holds the run.
    pub session: Option<SessionId>,
    /// `epoch`: rises with every change of holder.
    pub epoch: u64,
    /// `last_number`: the highest activity number given.
    pub last_number: Number,
    /// `workflow_seq`: the event that pins the workflow, when it is not the first one.
    pub workflow_seq: Option<Seq>,
    /// `steps`: what was reported of the workflow's steps.
    #[serde(skip_serializing_if = "Steps::is_empty", default)]
    pub steps: Steps,
    /// `other_phases`: where the run stands beside `current_phase`, in parallel branches.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub other_phases: Vec<StateName>,
    /// `questions`: what the user is asked and has not answered.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub questions: Vec<Question>,
    /// `last_seq`: the event up to which this document shows the run; absent in documents that flow did not write.
    pub last_seq: Option<Seq>,
    /// `updated_at`: when that event happened.
    pub updated_at: Option<Timestamp>,
}

impl Owned {
    /// The same with another list of completed activities. The long one is not copied.
    #[must_use]
    pub fn with_completed(&self, completed_activities: IdList) -> Self {
        Self {
            status: self.status,
            current_phase: self.current_phase.clone(),
            current_activity: self.current_activity.clone(),
            completed_activities,
            blocked_reason: self.blocked_reason.clone(),
            open_activities: self.open_activities.clone(),
            session: self.session.clone(),
            epoch: self.epoch,
            last_number: self.last_number,
            workflow_seq: self.workflow_seq,
            steps: self.steps.clone(),
            other_phases: self.other_phases.clone(),
            questions: self.questions.clone(),
            last_seq: self.last_seq,
            updated_at: self.updated_at,
        }
    }

    /// Everywhere the run stands, `current_phase` first.
    pub fn positions(&self) -> impl Iterator<Item = &StateName> {
        self.current_phase.iter().chain(&self.other_phases)
    }

    /// Steps that were reported as running and as nothing since, also where the run does not stand any more.
    pub fn running_steps(&self) -> impl Iterator<Item = &StateName> {
        self.steps.iter().filter(|(_, status)| *status == StepStatus::Running).map(|(step, _)| step)
    }
}

/// What an active run is doing, where its steps are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// A question is open.
    Asking,
    /// A step where the run stands failed.
    Failed,
    /// A step where the run stands waits.
    Waiting,
    /// A merge joined two histories of the run.
    Conflict,
}

impl Doing {
    /// From a run's status, whether a question is open, and what was reported of the steps where it stands.
    #[must_use]
    pub fn of(status: RunStatus, asks: bool, here: impl Iterator<Item = StepStatus>) -> Option<Self> {
        if status != RunStatus::Active {
            return None;
        }
        if asks {
            return Some(Self::Asking);
        }
        let here: Vec<_> = here.collect();
        match () {
            () if here.contains(&StepStatus::Failed) => Some(Self::Failed),
            () if here.contains(&StepStatus::Waiting) => Some(Self::Waiting),
            () => None,
        }
    }

    /// As in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asking => "asking",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
            Self::Conflict => "conflict",
        }
    }
}

/// What is told about a run among many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSummary {
    /// The run.
    pub id: RunId,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// When it was started.
    pub created_at: Timestamp,
    /// What it is doing.
    pub status: RunStatus,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_phase: Option<StateName>,
    /// How many activities are completed.
    pub completed_activities: usize,
    /// What it is doing, when that says more than its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<Doing>,
    /// Why it is blocked, or that its session ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The issue that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<u64>,
    /// The pull request that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pr: Option<u64>,
    /// The feature that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// Its decision journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<String>,
    /// Who holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The event up to which this shows the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<Seq>,
    /// When that event happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

impl From<&RunDocument> for RunSummary {
    fn from(run: &RunDocument) -> Self {
        Self {
            id: run.id.clone(),
            workflow: run.workflow.clone(),
            created_at: run.created_at,
            status: run.state.status,
            current_phase: run.state.current_phase.clone(),
            completed_activities: run.state.completed_activities.len(),
            doing: Doing::of(
                run.state.status,
                !run.state.questions.is_empty(),
                run.state.positions().filter_map(|step| run.state.steps.get(step)),
            ),
            blocked_reason: run.state.blocked_reason.clone(),
            goal: run.goal.clone(),
            issue: run.context_number("issue"),
            pr: run.context_number("pr"),
            feature: run.context.get("feature").and_then(Value::as_str).map(str::to_owned),
            journal: run.context_text("journal").map(str::to_owned),
            session: run.state.session.clone(),
            last_seq: run.state.last_seq,
            updated_at: run.state.updated_at,
        }
    }
}

/// The limits of a run that flow knows: how often a phase may fail, and how old the run may get.
pub const LIMITS: [&str; 2] = ["max_iterations", "max_runtime_minutes"];

/// The text that marks an active run whose session ended (FlowRun, step 5).
pub const SESSION_ENDED: &str = "session ended";

impl RunDocument {
    /// An issue, pull request or other number of the context.
    #[must_use]
    pub fn context_number(&self, key: &str) -> Option<u64> {
        self.context.get(key)?.as_u64()
    }

    /// A text of the context.
    #[must_use]
    pub fn context_text(&self, key: &str) -> Option<&str> {
        self.context.get(key)?.as_str().filter(|text| !text.is_empty())
    }

    /// A positive number of the limits.
    #[must_use]
    pub fn limit(&self, key: &str) -> Option<u64> {
        self.limits.get(key)?.as_u64()
    }
}
