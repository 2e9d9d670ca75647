//! The FlowRun document in `run.yaml`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::named::named;
use crate::model::{
    Gate, GateStatus, IdList, Issue, Number, Question, RunId, Seq, SessionId, StateName, StepStatus, Steps, Timestamp,
    UnsettledActivity, WorkflowId,
};

named! {
    /// The status of a run.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
    pub enum RunStatus {
        /// In progress.
        #[default]
        Active = "active",
        /// Waiting for a person; `blocked_reason` says why.
        Blocked = "blocked",
        /// The run was completed.
        Completed = "completed",
        /// The run failed.
        Failed = "failed",
        /// The run was cancelled.
        Cancelled = "cancelled",
    }
}

impl RunStatus {
    /// Whether the run has ended and accepts no more records.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// An event of a run, after which another run goes on as its fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkPoint {
    /// The run.
    pub run_id: RunId,
    /// The position of the event.
    pub seq: Seq,
}

impl FromStr for ForkPoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // No id of a run has this character.
        if let Some((run, seq)) = text.split_once('@')
            && let (Ok(run_id), Ok(seq)) = (RunId::new(run), seq.parse())
        {
            return Ok(Self { run_id, seq: Seq(seq) });
        }
        Err("it is not the id of a run, `@` and the position of an event".to_owned())
    }
}

impl fmt::Display for ForkPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.run_id, self.seq)
    }
}

/// The contents of `run.yaml`, without keys that flow does not know (they stay in the text).
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
    /// The keys of `state` that flow writes.
    pub state: OwnedState,
}

/// The keys of `run.yaml`'s `state` that flow writes. A person may edit the first five; flow restores the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnedState {
    /// `status`.
    pub status: RunStatus,
    /// `current_phase`: the phase that the run is in.
    pub current_phase: Option<StateName>,
    /// `current_activity`: the id of the latest record.
    pub current_activity: Option<String>,
    /// `completed_activities`: ids of activities with the status `passed` or `skipped`, in order.
    pub completed_activities: IdList,
    /// `blocked_reason`.
    pub blocked_reason: Option<String>,
    /// `open_activities`: ids whose latest record is neither `passed` nor `skipped`.
    pub open_activities: IdList,
    /// `session`: the session that holds the run.
    pub session: Option<SessionId>,
    /// `epoch`: increases with every change of the holder.
    pub epoch: u64,
    /// `last_number`: the highest activity number used.
    pub last_number: Number,
    /// `workflow_seq`: the position of the event that pins the workflow, if it is not the first event.
    pub workflow_seq: Option<Seq>,
    /// `steps`: the reported statuses of the workflow's steps.
    #[serde(skip_serializing_if = "Steps::is_empty", default)]
    pub steps: Steps,
    /// `other_phases`: further phases that the run is in, in parallel branches.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub other_phases: Vec<StateName>,
    /// `questions`: open questions to the user.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub questions: Vec<Question>,
    /// `unsettled`: the activities whose latest record failed or is blocked, in the phases where the run is, and those of
    /// other phases whose outcome came after the run had left.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unsettled: Vec<UnsettledActivity>,
    /// `gates`: the phases that only a person lets the run leave.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub gates: Vec<Gate>,
    /// `forked_from`: the event of another run after which this one goes on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub forked_from: Option<ForkPoint>,
    /// `last_seq`: the position of the last event that this document includes; absent if flow did not write the
    /// document.
    pub last_seq: Option<Seq>,
    /// `updated_at`: the time of that event.
    pub updated_at: Option<Timestamp>,
}

impl OwnedState {
    /// Whether the run may be completed past a gate, or in it, without a person's decision: only an edit or a repair does that.
    /// For a gate on a way that the run did not take, only its workflow tells.
    #[must_use]
    pub fn may_be_undecided(&self) -> bool {
        let mut gates = self.gates.iter();
        self.status == RunStatus::Completed
            && gates
                .any(|gate| gate.status.is_doubtful() || gate.status != GateStatus::Approved && self.is_in(&gate.phase))
    }

    /// A copy with another list of completed activities. Does not copy the old list, which may be long.
    #[must_use]
    pub fn with_completed(&self, completed_activities: IdList) -> Self {
        // Field by field, because `..self.clone()` would copy the list.
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
            unsettled: self.unsettled.clone(),
            gates: self.gates.clone(),
            forked_from: self.forked_from.clone(),
            last_seq: self.last_seq,
            updated_at: self.updated_at,
        }
    }

    /// All phases that the run is in, `current_phase` first.
    pub fn positions(&self) -> impl Iterator<Item = &StateName> {
        self.current_phase.iter().chain(&self.other_phases)
    }

    /// Whether the run is in `phase`.
    #[must_use]
    pub fn is_in(&self, phase: &StateName) -> bool {
        self.positions().any(|here| here == phase)
    }

    /// Steps whose latest reported status is running, including those that the run has left.
    pub fn running_steps(&self) -> impl Iterator<Item = &StateName> {
        self.steps.iter().filter(|(_, status)| *status == StepStatus::Running).map(|(step, _)| step)
    }
}

named! {
    /// What a run is doing, if that says more than its status. One that is over does nothing.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
    pub enum Doing {
        /// A question is open.
        Asking = "asking",
        /// A step that the run is in, or an activity, failed.
        Failing = "failing",
        /// A step that the run is in waits, an activity is blocked, or a gate waits for a person.
        Waiting = "waiting",
        /// A merge joined two histories of the run.
        Conflict = "conflict",
    }
}

impl Doing {
    /// Derives it from what `run.yaml` says.
    #[must_use]
    pub fn of(run: &OwnedState) -> Option<Self> {
        if run.may_be_undecided() {
            return Some(Self::Waiting);
        }
        if run.status != RunStatus::Active {
            return None;
        }
        // The order is that of a run's progress: a question, then a failure, then what waits.
        if !run.questions.is_empty() {
            return Some(Self::Asking);
        }
        let is_here = |status| run.positions().any(|step| run.steps.get(step) == Some(status));
        if is_here(StepStatus::Failed) || run.unsettled.iter().any(UnsettledActivity::is_failure) {
            return Some(Self::Failing);
        }
        if is_here(StepStatus::Waiting) || run.unsettled.iter().any(|one| one.blocked) {
            return Some(Self::Waiting);
        }
        None
    }
}

/// Which run it is, where it is and what it waits for: what every list says of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunHead {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// Its status.
    pub status: RunStatus,
    /// The current phase.
    pub phase: Option<StateName>,
    /// What the run is doing, if that says more than its status.
    pub doing: Option<Doing>,
    /// Why it is blocked, or that its session ended.
    pub blocked_reason: Option<String>,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What a list can say of a run without its log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Which run it is, and where it is.
    pub head: RunHead,
    /// The number of completed activities.
    pub completed_activities: usize,
    /// What is to be reached, in the words of `start`.
    pub goal: Option<String>,
    /// The issue that it is about.
    pub issue: Option<Issue>,
    /// The pull request that it is about.
    pub pr: Option<u64>,
    /// The branch, or the short id of the commit, that was checked out when it began.
    pub branch: Option<String>,
    /// The feature that it is about.
    pub feature: Option<String>,
    /// Its decision journal.
    pub journal: Option<String>,
    /// The session that holds it.
    pub session: Option<SessionId>,
    /// The event of another run after which this one goes on.
    pub forked_from: Option<ForkPoint>,
    /// The position of the last event that this includes.
    pub last_seq: Option<Seq>,
}

impl RunHead {
    /// Whether the run is over. One that was completed past a gate without a person's decision still waits for that, and
    /// one whose log a merge joined may go on in the other history.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.status.is_terminal() && !matches!(self.doing, Some(Doing::Waiting | Doing::Conflict))
    }

    /// Whether the run is open, or may be: which of two joined histories counts is not settled.
    #[must_use]
    pub fn may_be_open(&self) -> bool {
        !self.status.is_terminal() || self.doing == Some(Doing::Conflict)
    }

    /// The run's status in one word: what it is doing, if that says more than its own status.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.doing.map_or(self.status.as_str(), Doing::as_str)
    }
}

impl From<&RunDocument> for RunHead {
    fn from(run: &RunDocument) -> Self {
        Self {
            run_id: run.id.clone(),
            workflow: run.workflow.clone(),
            status: run.state.status,
            phase: run.state.current_phase.clone(),
            doing: Doing::of(&run.state),
            blocked_reason: run.state.blocked_reason.clone(),
            created_at: run.created_at,
            // Absent in a run of another program.
            updated_at: run.state.updated_at.unwrap_or(run.created_at),
        }
    }
}

impl From<&RunDocument> for RunSummary {
    fn from(run: &RunDocument) -> Self {
        Self {
            head: run.into(),
            completed_activities: run.state.completed_activities.len(),
            goal: run.goal.clone(),
            issue: run.issue(),
            pr: run.context_number("pr"),
            branch: run.context_text("branch").map(str::to_owned),
            feature: run.context.get("feature").and_then(Value::as_str).map(str::to_owned),
            journal: run.context_text("journal").map(str::to_owned),
            session: run.state.session.clone(),
            forked_from: run.state.forked_from.clone(),
            last_seq: run.state.last_seq,
        }
    }
}

/// The keys of `limits` that flow knows: how often a phase may fail, and how old the run may get, in minutes.
pub const LIMITS: [&str; 2] = ["max_iterations", "max_runtime_minutes"];

/// The `blocked_reason` of an active run whose session ended (FlowRun, step 5).
pub const SESSION_ENDED: &str = "session ended";

impl RunDocument {
    /// The issue that it is about.
    #[must_use]
    pub fn issue(&self) -> Option<Issue> {
        Issue::from_value(self.context.get("issue")?)
    }

    /// A number in `context`, such as `pr`.
    #[must_use]
    pub fn context_number(&self, key: &str) -> Option<u64> {
        self.context.get(key)?.as_u64()
    }

    /// A text in `context`; `None` if it is empty.
    #[must_use]
    pub fn context_text(&self, key: &str) -> Option<&str> {
        self.context.get(key)?.as_str().filter(|text| !text.is_empty())
    }

    /// A number in `limits`.
    #[must_use]
    pub fn limit(&self, key: &str) -> Option<u64> {
        self.limits.get(key)?.as_u64()
    }
}
