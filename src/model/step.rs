//! What agents report of a workflow's steps while they work on them (rp1).

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::{ActivityRecorded, ActivityStatus, EventId, SessionId, StateName, TextDigest, Timestamp, Unit};

/// What is going on in a step; where in the workflow that is, its name says (the two layers of rp1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Nothing yet.
    NotStarted,
    /// Somebody works on it.
    Running,
    /// It waits for something.
    Waiting,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Left out on purpose.
    Skipped,
}

impl StepStatus {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::NotStarted, Self::Running, Self::Waiting, Self::Completed, Self::Failed, Self::Skipped];

    /// As in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// Whether the step goes on.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Waiting)
    }

    /// Whether the step is done with.
    #[must_use]
    pub fn is_done(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped)
    }
}

impl fmt::Display for StepStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for StepStatus {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or(())
    }
}

impl From<ActivityStatus> for StepStatus {
    fn from(status: ActivityStatus) -> Self {
        match status {
            ActivityStatus::Pending => Self::NotStarted,
            ActivityStatus::Running => Self::Running,
            ActivityStatus::Blocked => Self::Waiting,
            ActivityStatus::Passed => Self::Completed,
            ActivityStatus::Failed => Self::Failed,
            ActivityStatus::Skipped => Self::Skipped,
        }
    }
}

impl From<StepStatus> for ActivityStatus {
    fn from(status: StepStatus) -> Self {
        match status {
            StepStatus::NotStarted => Self::Pending,
            StepStatus::Running => Self::Running,
            StepStatus::Waiting => Self::Blocked,
            StepStatus::Completed => Self::Passed,
            StepStatus::Failed => Self::Failed,
            StepStatus::Skipped => Self::Skipped,
        }
    }
}

/// The latest status of each step that was reported, in the order in which they were first reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Steps(Vec<(StateName, StepStatus)>);

impl Steps {
    /// The latest status of `step`; none when it was never reported.
    #[must_use]
    pub fn get(&self, step: &StateName) -> Option<StepStatus> {
        self.0.iter().find(|(name, _)| name == step).map(|(_, status)| *status)
    }

    /// Notes a report.
    pub fn set(&mut self, step: &StateName, status: StepStatus) {
        match self.0.iter_mut().find(|(name, _)| name == step) {
            Some((_, latest)) => *latest = status,
            None => self.0.push((step.clone(), status)),
        }
    }

    /// Whether no step was ever reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each step with its latest status.
    pub fn iter(&self) -> impl Iterator<Item = (&StateName, StepStatus)> {
        self.0.iter().map(|(name, status)| (name, *status))
    }
}

impl FromIterator<(StateName, StepStatus)> for Steps {
    fn from_iter<I: IntoIterator<Item = (StateName, StepStatus)>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

/// A question to the user that nobody has answered yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The step that asks.
    pub step: StateName,
    /// The unit that asks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unit: Option<Unit>,
    /// What is asked.
    pub prompt: String,
}

impl Question {
    /// Who asks, as on the command line: `--step build --unit T1`.
    #[must_use]
    pub fn who(&self) -> String {
        let unit = self.unit.as_ref().map(|unit| format!(" --unit {unit}")).unwrap_or_default();
        format!("--step {}{unit}", self.step)
    }

    /// Whether it is this step and unit that asks.
    #[must_use]
    pub fn is_of(&self, step: &StateName, unit: Option<&Unit>) -> bool {
        self.step == *step && self.unit.as_ref() == unit
    }

    /// Whether it asks `prompt`, of which it may hold only the beginning.
    #[must_use]
    pub fn asks(&self, prompt: &str) -> bool {
        self.prompt == prompt || self.prompt.strip_suffix('…').is_some_and(|begin| prompt.starts_with(begin))
    }
}

/// What a report is about (`--type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum ReportType {
    /// A step changed its status.
    StatusChange,
    /// A file or link came into being.
    ArtifactRegistered,
    /// A remark on an artifact.
    AnnotationUpdated,
    /// The user is asked something.
    WaitingForUser,
    /// The user answered.
    UserAnswered,
    /// Something worth knowing.
    BtwUpdate,
    /// A step has steps of its own.
    SubflowRegistered,
}

impl ReportType {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::StatusChange,
        Self::ArtifactRegistered,
        Self::AnnotationUpdated,
        Self::WaitingForUser,
        Self::UserAnswered,
        Self::BtwUpdate,
        Self::SubflowRegistered,
    ];

    /// Whether it tells of what came out of a run: it changes no step, and is of use after the end as well.
    #[must_use]
    pub fn is_of_artifact(self) -> bool {
        matches!(self, Self::ArtifactRegistered | Self::AnnotationUpdated)
    }

    /// As on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StatusChange => "status_change",
            Self::ArtifactRegistered => "artifact_registered",
            Self::AnnotationUpdated => "annotation_updated",
            Self::WaitingForUser => "waiting_for_user",
            Self::UserAnswered => "user_answered",
            Self::BtwUpdate => "btw_update",
            Self::SubflowRegistered => "subflow_registered",
        }
    }
}

impl FromStr for ReportType {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}

/// The answer in the data of a report that says that the user answered: a text as it is, anything else as JSON. Without
/// the key `answer`, all of the data is the answer.
#[must_use]
pub fn answer_in(data: &Map<String, Value>) -> String {
    match data.get("answer") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => Value::Object(data.clone()).to_string(),
    }
}

/// Reports of one `flow emit`, with everything that follows from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Emitted {
    /// The reports in order; a step that was completed by another one's begin stands before that one.
    pub reports: Vec<StepReport>,
    /// Where the run stands after them, when a report moved it or confirmed where it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phase: Option<StateName>,
    /// Where it stands as well: parallel branches.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub beside: Vec<StateName>,
    /// The activities of the steps that were reported.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub records: Vec<ActivityRecorded>,
    /// Whether the run is completed with them: a terminal state is.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub ends: bool,
    /// The session that reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    /// Digest of what the caller asked for, when it gave an operation id.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request: Option<TextDigest>,
}

/// One report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// What makes it recognisable.
    pub id: EventId,
    /// When it happened.
    pub at: Timestamp,
    /// Its [`ReportType`]; a text, since a newer flow may know more of them.
    #[serde(rename = "type")]
    pub kind: String,
    /// The step it is about; `agent:step` for a step of a sub-agent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<StateName>,
    /// The unit of work in that step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unit: Option<Unit>,
    /// What it says.
    pub data: Map<String, Value>,
    /// Whether flow made it because another step began.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub auto: bool,
    /// From which state the run entered the step with it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<StateName>,
}

impl StepReport {
    /// Its type, when this program knows it.
    #[must_use]
    pub fn kind(&self) -> Option<ReportType> {
        self.kind.parse().ok()
    }

    /// The status it reports.
    #[must_use]
    pub fn status(&self) -> Option<StepStatus> {
        (self.kind() == Some(ReportType::StatusChange)).then(|| self.text("status")?.parse().ok())?
    }

    /// A text of its data.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.data.get(key)?.as_str()
    }

    /// What the user answered, as a text.
    #[must_use]
    pub fn answer(&self) -> Option<String> {
        (self.kind() == Some(ReportType::UserAnswered)).then(|| answer_in(&self.data))
    }

    /// The step of the workflow itself in which it says that `unit` is.
    #[must_use]
    pub fn step_of(&self, unit: &Unit) -> Option<&StateName> {
        let step = self.step.as_ref().filter(|step| step.agent().is_none())?;
        (self.unit.as_ref() == Some(unit) && self.status().is_some()).then_some(step)
    }

    /// The step of the workflow itself whose status it reports: not of a unit, not of a sub-agent.
    #[must_use]
    pub fn own_step(&self) -> Option<(&StateName, StepStatus)> {
        let step = self.step.as_ref().filter(|step| self.unit.is_none() && step.agent().is_none())?;
        Some((step, self.status()?))
    }
}
