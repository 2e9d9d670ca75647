//! Reports of agents on a workflow's steps (rp1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::named::named;
use crate::model::{
    ActivityRecorded, EventId, SessionId, StateName, StepStatus, TextDigest, Timestamp, Unit, is_beginning,
};

/// The latest status of each reported step, in the order of their first reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Steps(Vec<(StateName, StepStatus)>);

impl Steps {
    /// The latest status of `step`; `None` if it was never reported.
    #[must_use]
    pub fn get(&self, step: &StateName) -> Option<StepStatus> {
        self.0.iter().find(|(name, _)| name == step).map(|(_, status)| *status)
    }

    /// Sets the status of a step.
    pub fn set(&mut self, step: &StateName, status: StepStatus) {
        // A list and no map: the order counts, and a run has few steps.
        match self.0.iter_mut().find(|(name, _)| name == step) {
            Some((_, latest)) => *latest = status,
            None => self.0.push((step.clone(), status)),
        }
    }

    /// Whether no step was reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All steps with their latest status, which may be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&StateName, &mut StepStatus)> {
        self.0.iter_mut().map(|(step, status)| (&*step, status))
    }

    /// All steps with their latest status.
    pub fn iter(&self) -> impl Iterator<Item = (&StateName, StepStatus)> {
        self.0.iter().map(|(name, status)| (name, *status))
    }
}

impl FromIterator<(StateName, StepStatus)> for Steps {
    fn from_iter<I: IntoIterator<Item = (StateName, StepStatus)>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

/// The prefix of the unit of an interview; the document's path in the project follows.
pub const INTERVIEW: &str = "interview ";

/// An open question to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The step that asks.
    pub step: StateName,
    /// The unit that asks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unit: Option<Unit>,
    /// The text of the question.
    pub prompt: String,
}

impl Question {
    /// The step and unit that ask, as options of the command line: `--step build --unit T1`.
    #[must_use]
    pub fn who(&self) -> String {
        let unit = self.unit.as_ref().map(|unit| format!(" --unit {unit}")).unwrap_or_default();
        format!("--step {}{unit}", self.step)
    }

    /// Whether this step and unit ask the question.
    #[must_use]
    pub fn is_of(&self, step: &StateName, unit: Option<&Unit>) -> bool {
        self.step == *step && self.unit.as_ref() == unit
    }

    /// Whether an interview asks it. Its answer belongs into the interview's document.
    #[must_use]
    pub fn is_of_interview(&self) -> bool {
        // A report that merely names a document is answered like any other.
        self.unit.as_ref().is_some_and(|unit| unit.as_str().starts_with(INTERVIEW))
    }

    /// Whether this is the question `prompt`. A long question may be stored only in part.
    #[must_use]
    pub fn asks(&self, prompt: &str) -> bool {
        is_beginning(&self.prompt, prompt)
    }
}

named! {
    /// The type of a report (`--type`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    pub enum ReportType {
        /// A step changed its status.
        StatusChange = "status_change",
        /// A file or link was created.
        ArtifactRegistered = "artifact_registered",
        /// A remark on an artifact was added or changed.
        AnnotationUpdated = "annotation_updated",
        /// The user is asked something.
        WaitingForUser = "waiting_for_user",
        /// The user answered.
        UserAnswered = "user_answered",
        /// A note.
        BtwUpdate = "btw_update",
        /// Another workflow was attached to a step.
        SubflowRegistered = "subflow_registered",
    }
}

impl ReportType {
    /// Whether the report is about an artifact. Such a report changes no step, and is accepted after the end of a run.
    #[must_use]
    pub fn is_of_artifact(self) -> bool {
        matches!(self, Self::ArtifactRegistered | Self::AnnotationUpdated)
    }
}

/// The answer in the data of a `user_answered` report: a text as it is, any other value as JSON. If the key `answer` is
/// missing, all of the data is the answer.
#[must_use]
pub fn answer_in(data: &Map<String, Value>) -> String {
    match data.get("answer") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => Value::Object(data.clone()).to_string(),
    }
}

/// The reports of one `flow emit`, with their consequences.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Emitted {
    /// The reports, in order. A step that was completed because another one began comes before that one.
    pub reports: Vec<StepReport>,
    /// The step that the run is in afterwards; absent if no report moved the run or confirmed its step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phase: Option<StateName>,
    /// Further steps that the run is in: parallel branches.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub beside: Vec<StateName>,
    /// The activities of the reported steps.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub records: Vec<ActivityRecorded>,
    /// Whether the run is completed, because it has reached a terminal state.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub ends: bool,
    /// Whether a question stays open until it is answered. Events of earlier versions lack it: there a question was
    /// closed by further work of its step, and when the run moved on, and their logs keep that meaning.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub keeps_questions: bool,
    /// The session that reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    /// If work begins without a session: the processes whose life shows that it goes on, as holders.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub by: Vec<String>,
    /// The digest of the caller's request, if it has an operation id.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request: Option<TextDigest>,
}

/// A report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Its id, which is unique.
    pub id: EventId,
    /// When it happened.
    pub at: Timestamp,
    /// The name of its [`ReportType`]. Stored as text, because a newer flow may have more types.
    #[serde(rename = "type")]
    pub kind: String,
    /// The step that it is about; `agent:step` for a step of a sub-agent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<StateName>,
    /// The unit of work in that step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unit: Option<Unit>,
    /// Its data.
    pub data: Map<String, Value>,
    /// Whether flow made the report, because another step began.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub auto: bool,
    /// The state from which the run entered the step with this report.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<StateName>,
}

impl StepReport {
    /// Its type; `None` if this program does not know it.
    #[must_use]
    pub fn kind(&self) -> Option<ReportType> {
        self.kind.parse().ok()
    }

    /// The status that it reports, if it is a change of status.
    #[must_use]
    pub fn status(&self) -> Option<StepStatus> {
        // What other types have in their data under this name is theirs.
        (self.kind() == Some(ReportType::StatusChange)).then(|| self.text("status")?.parse().ok())?
    }

    /// A text in its data.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.data.get(key)?.as_str()
    }

    /// The user's answer as a text, if this is one.
    #[must_use]
    pub fn answer(&self) -> Option<String> {
        (self.kind() == Some(ReportType::UserAnswered)).then(|| answer_in(&self.data))
    }

    /// The step of the run's own workflow that it reports for `unit`.
    #[must_use]
    pub fn step_of(&self, unit: &Unit) -> Option<&StateName> {
        // A sub-agent's steps are those of its own workflow.
        let step = self.step.as_ref().filter(|step| step.agent().is_none())?;
        (self.unit.as_ref() == Some(unit) && self.status().is_some()).then_some(step)
    }

    /// The step of the run's own workflow whose status it reports. `None` for a report on a unit or a sub-agent.
    #[must_use]
    pub fn own_step(&self) -> Option<(&StateName, StepStatus)> {
        let step = self.step.as_ref().filter(|step| self.unit.is_none() && step.agent().is_none())?;
        Some((step, self.status()?))
    }
}
