//! The words of an activity: its status, its kind, how sure its author is.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::named::named;

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
