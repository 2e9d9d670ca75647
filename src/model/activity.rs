//! Activities: records of bounded pieces of work.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::named::named;
use crate::model::{ActivityId, BadName, StateName, Timestamp, Usage};

named! {
    /// The status of an activity. `passed` and `skipped` count as completed; the others do not.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
    pub enum ActivityStatus {
        /// Planned, not begun.
        Pending = "pending",
        /// Begun. Until another record has its outcome, the outcome is in doubt.
        Running = "running",
        /// Done successfully.
        Passed = "passed",
        /// Done without success.
        Failed = "failed",
        /// Left out on purpose.
        Skipped = "skipped",
        /// Cannot continue without a person.
        Blocked = "blocked",
    }
}

impl ActivityStatus {
    /// Whether an activity with this status counts as completed.
    #[must_use]
    pub fn is_completed(self) -> bool {
        matches!(self, Self::Passed | Self::Skipped)
    }

    /// Whether the work has ended or stopped: it is neither pending nor running.
    #[must_use]
    pub fn is_settled(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }

    /// The status of work whose caller names none: the exit code decides.
    #[must_use]
    pub fn by_exit_code(exit_code: Option<i64>) -> Self {
        if exit_code.is_some_and(|code| code != 0) { Self::Failed } else { Self::Passed }
    }

    /// Whether the exit code of a command says the opposite. `skipped` says nothing about a command that was tried.
    #[must_use]
    pub fn contradicts(self, exit_code: i64) -> bool {
        match self {
            Self::Passed => exit_code != 0,
            Self::Failed | Self::Blocked => exit_code == 0,
            Self::Pending | Self::Running | Self::Skipped => false,
        }
    }

    /// The status with the exit code of its command, as every face shows it: `passed, exit 101`.
    #[must_use]
    pub fn with_exit_code(self, exit_code: Option<i64>) -> String {
        self.word_with_exit_code(self.as_str(), exit_code)
    }

    /// The same for a face that has a word of its own for the status. An exit code that only repeats the word is left out.
    #[must_use]
    pub(crate) fn word_with_exit_code(self, word: &str, exit_code: Option<i64>) -> String {
        match exit_code {
            Some(code) if code != 0 || self.contradicts(code) => format!("{word}, exit {code}"),
            _ => word.to_owned(),
        }
    }
}

named! {
    /// The status of a step (rp1 separates it from the step's name, which says where in the workflow a run is).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
    pub enum StepStatus {
        /// Not begun.
        NotStarted = "not_started",
        /// In progress.
        Running = "running",
        /// Waiting for something.
        Waiting = "waiting",
        /// Done successfully.
        Completed = "completed",
        /// Ended without success.
        Failed = "failed",
        /// Left out on purpose.
        Skipped = "skipped",
    }
}

impl StepStatus {
    /// Whether the step is running or waiting.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Waiting)
    }

    /// Whether the step is completed or skipped.
    #[must_use]
    pub fn is_done(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped)
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

named! {
    /// The kind of work of an activity (FlowRun).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
    pub enum ActivityType {
        /// A shell command.
        Bash = "bash",
        /// A skill of an agent.
        Skill = "skill",
        /// Another agent's work.
        Agent = "agent",
        /// Anything that a person or agent did.
        Task = "task",
        /// A check that decides whether the work may continue.
        Gate = "gate",
        /// A judgement of results.
        Evaluation = "evaluation",
        /// Work that flow does not see.
        External = "external",
    }
}

named! {
    /// How sure the author of a result is (FlowRun).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
    pub enum Confidence {
        /// Checked, with evidence.
        High = "high",
        /// Likely, but not fully checked.
        Medium = "medium",
        /// A guess; check it before relying on it.
        Low = "low",
    }
}

/// A FlowActivity document: the whole mapping as it was given, including keys that flow does not know.
///
/// It always has a valid `metadata.id` and a valid `activity.status`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Activity {
    document: Map<String, Value>,
}

impl Activity {
    /// Wraps a document that was checked against its schema.
    ///
    /// # Errors
    /// [`BadName`] if the id, the phase or the status is not valid.
    pub fn new(document: Map<String, Value>) -> Result<Self, BadName> {
        let activity = Self { document };
        ActivityId::new(activity.text("metadata", "id").unwrap_or_default())?;
        // Without one the record belongs to the current phase.
        if let Some(phase) = activity.text("metadata", "phase") {
            StateName::new(phase)?;
        }
        let status = activity.text("activity", "status").unwrap_or_default();
        if ActivityStatus::from_str(status).is_err() {
            return Err(BadName { what: "activity status", name: status.to_owned(), reason: "is unknown".into() });
        }
        Ok(activity)
    }

    /// An activity of flow's own. The rest of its document is [filled](Self::fill) in.
    #[must_use]
    pub fn of_work(id: &ActivityId, kind: ActivityType, name: Option<&str>, status: ActivityStatus) -> Self {
        let mut activity = Self { document: begun_document() };
        activity.fill("metadata", "id", id.as_str());
        activity.fill("activity", "type", kind.as_str());
        if let Some(name) = name {
            activity.fill("activity", "name", name);
        }
        activity.fill("activity", "status", status.as_str());
        activity
    }

    fn text(&self, section: &str, key: &str) -> Option<&str> {
        self.document.get(section)?.get(key)?.as_str()
    }

    /// `metadata.id`.
    ///
    /// # Panics
    /// Never: the constructor has checked it.
    #[must_use]
    pub fn id(&self) -> ActivityId {
        ActivityId::new(self.text("metadata", "id").unwrap_or_default()).expect("checked by the constructor")
    }

    /// `metadata.run_id`.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        self.text("metadata", "run_id")
    }

    /// `metadata.workflow`.
    #[must_use]
    pub fn workflow(&self) -> Option<&str> {
        self.text("metadata", "workflow")
    }

    /// `metadata.phase`.
    #[must_use]
    pub fn phase(&self) -> Option<StateName> {
        self.text("metadata", "phase").and_then(|name| StateName::new(name).ok())
    }

    /// `activity.status`.
    ///
    /// # Panics
    /// Never: the constructor has checked it.
    #[must_use]
    pub fn status(&self) -> ActivityStatus {
        self.text("activity", "status").unwrap_or_default().parse().expect("checked by the constructor")
    }

    /// `activity.type`.
    #[must_use]
    pub fn kind(&self) -> Option<ActivityType> {
        self.text("activity", "type")?.parse().ok()
    }

    /// `activity.name`, the title for people.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.text("activity", "name")
    }

    /// `activity.started_at`, if it is a time.
    #[must_use]
    pub fn started_at(&self) -> Option<Timestamp> {
        self.text("activity", "started_at")?.parse().ok()
    }

    /// `activity.completed_at`, if it is a time.
    #[must_use]
    pub fn completed_at(&self) -> Option<Timestamp> {
        self.text("activity", "completed_at")?.parse().ok()
    }

    /// `result.confidence`.
    #[must_use]
    pub fn confidence(&self) -> Option<Confidence> {
        self.text("result", "confidence")?.parse().ok()
    }

    /// The end of the output: `outputs.stderr_tail`, otherwise `outputs.stdout_tail`.
    #[must_use]
    pub fn output(&self) -> Option<&str> {
        let [errors, output] = ["stderr_tail", "stdout_tail"].map(|key| self.text("outputs", key).unwrap_or_default());
        let tail = if errors.is_empty() { output } else { errors };
        if tail.is_empty() { None } else { Some(tail) }
    }

    /// `result.summary`.
    #[must_use]
    pub fn summary(&self) -> Option<&str> {
        self.text("result", "summary")
    }

    /// `outputs.evidence_refs`: files in the run's `evidence/`, addresses, or other text.
    pub fn evidence(&self) -> impl Iterator<Item = &str> {
        let refs = self.document.get("outputs").and_then(|outputs| outputs.get("evidence_refs"));
        refs.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// `outputs.files_changed`.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let files = self.document.get("outputs").and_then(|outputs| outputs.get("files_changed"));
        files.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// `outputs.command_exit_code`.
    #[must_use]
    pub fn exit_code(&self) -> Option<i64> {
        self.document.get("outputs")?.get("command_exit_code")?.as_i64()
    }

    /// `outputs.usage`, as far as it is valid; none if nothing is known.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        let usage = Usage::of_document(self.document.get("outputs")?.get("usage")?);
        if usage.is_unknown() { None } else { Some(usage) }
    }

    /// `activity.started_at` and `activity.completed_at`, if both are there and the work ends before it began.
    #[must_use]
    pub fn ends_before_it_began(&self) -> Option<(&str, &str)> {
        let (started, completed) = (self.text("activity", "started_at")?, self.text("activity", "completed_at")?);
        // As times, because their texts may have different offsets.
        let is_before = completed.parse::<Timestamp>().ok()? < started.parse().ok()?;
        is_before.then_some((started, completed))
    }

    /// What the document has in the place of a time and is none, with its key.
    #[must_use]
    pub fn mistyped_times(&self) -> Vec<(&'static str, &str)> {
        let mut mistyped = Vec::new();
        for key in ["started_at", "completed_at"] {
            if let Some(text) = self.text("activity", key)
                && text.parse::<Timestamp>().is_err()
            {
                mistyped.push((key, text));
            }
        }
        mistyped
    }

    /// The whole document.
    #[must_use]
    pub fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// Sets `section.key` if it is absent or null. Values that the caller wrote stay.
    pub fn fill(&mut self, section: &str, key: &str, value: impl Into<Value>) {
        fill(&mut self.document, section, key, value);
    }
}

/// The document of an activity of which nothing is known yet.
#[must_use]
pub fn begun_document() -> Map<String, Value> {
    let mut document = Map::new();
    document.insert("apiVersion".to_owned(), "flow.synapti.ai/v1".into());
    document.insert("kind".to_owned(), "FlowActivity".into());
    for section in ["metadata", "activity"] {
        document.insert(section.to_owned(), Value::Object(Map::new()));
    }
    document
}

/// Sets `section.key` of a document if it is absent or null.
pub fn fill(document: &mut Map<String, Value>, section: &str, key: &str, value: impl Into<Value>) {
    let section = document.entry(section).or_insert_with(|| Value::Object(Map::new()));
    if let Some(section) = section.as_object_mut() {
        let slot = section.entry(key).or_insert(Value::Null);
        if slot.is_null() {
            *slot = value.into();
        }
    }
}

impl<'de> Deserialize<'de> for Activity {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Anyone can seal a line, so what is read is checked as well.
        Self::new(Map::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}
