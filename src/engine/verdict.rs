//! The answer of `resume` in one word, and what to do next in another.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::named;

named! {
    /// The answer of `resume` in one word.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema)]
    pub enum Verdict {
        /// The next phase, or the phases to choose from, are known.
        Continue = "continue",
        /// Work began and its outcome is unknown: check before repeating it.
        Reconcile = "reconcile",
        /// The run is blocked, waits for an answer, has reached a limit, or is not in its store as it is here.
        NeedsHuman = "needs_human",
        /// Another session holds the run and is not known to be dead.
        Held = "held",
        /// The workflow's definition changed at the run's current phase.
        Drifted = "drifted",
        /// Sealed events are missing from the log.
        Corrupt = "corrupt",
        /// A merge joined two histories of the run.
        Conflict = "conflict",
        /// An older version of the run was put back; the newer events are elsewhere.
        Rewound = "rewound",
        /// A run cannot be read, and no other run can be resumed.
        Unreadable = "unreadable",
        /// The run has ended.
        Done = "done",
        /// There is nothing to resume.
        #[default]
        None = "none",
    }
}

impl Verdict {
    /// Whether it says that the log cannot be trusted.
    #[must_use]
    pub fn is_damage(self) -> bool {
        matches!(self, Self::Corrupt | Self::Conflict | Self::Rewound)
    }
}

/// What to do next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Begin the next phase.
    StartPhase,
    /// Begin one of several next phases.
    ChoosePhase,
    /// Work in the current phase; nothing is completed in it yet.
    WorkPhase,
    /// Retry the failed work of the current phase.
    RetryPhase,
    /// Run a command that the current phase requires: its work is done otherwise.
    RunCommand,
    /// Complete the run: its last phase is done.
    Complete,
    /// Find out how work that began ended, and record it.
    Reconcile,
    /// Resolve what blocks the run.
    ResolveBlocker,
    /// Resolve what blocks an activity, and record its outcome.
    ResolveActivity,
    /// Approve or reject what was done before a gate.
    Decide,
    /// Answer the open question.
    Answer,
    /// Raise the limit, or end the run.
    RaiseLimit,
    /// Ask the holder, or take the run over.
    TakeOver,
    /// Compare the run with the changed workflow.
    ReviewWorkflow,
    /// Repair the log.
    Repair,
    /// Join the histories that a merge put into one log.
    Join,
    /// Bring back the version with the newer events, or continue without them.
    BringBack,
    /// Put the run into the store that machines share, or decide which of two runs of its id counts.
    Share,
    /// Start a run.
    Start,
    /// Nothing.
    #[default]
    Nothing,
}
