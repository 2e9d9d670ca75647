//! What the doctor found, and what it did.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::RunId;
use crate::runs::OtherWorktree;

/// The answer of `doctor`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DoctorReport {
    /// Whether no error is left, and nothing that was to be mended.
    pub ok: bool,
    /// How many runs were looked at.
    pub runs: usize,
    /// All findings; after a repair those that it mended too.
    pub findings: Vec<FindingReport>,
    /// The steps of the repair: done, or with `--dry-run` to be done.
    pub plan: Vec<PlanStep>,
    /// Whether the steps were carried out.
    pub repaired: bool,
    /// Other worktrees of the repository in which runs are open; when they were asked for, those that were looked at too.
    pub worktrees: Vec<OtherWorktree>,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// flow cannot get over it by itself, or acknowledged data is gone.
    Error,
    /// flow gets over it.
    Warning,
    /// Nothing needs to be done.
    Info,
}

impl Severity {
    /// As in the report.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// What became of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// It is there; nothing was tried.
    Found,
    /// It is gone.
    Mended,
    /// It is still there after the repair.
    Left,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindingReport {
    /// Stable and documented in `docs/doctor.md`.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The file, relative to the project.
    pub path: PathBuf,
    /// Line, from 1, when it is known.
    pub line: Option<usize>,
    /// Column in characters, from 1, when it is known.
    pub column: Option<usize>,
    /// The run, when it is one's.
    pub run_id: Option<RunId>,
    /// One sentence: what is wrong.
    pub message: String,
    /// What `--repair` does about it; none when a person has to.
    pub repair: Option<String>,
    /// What became of it.
    pub state: FindingState,
    /// Why it is left, or what went wrong before it was mended.
    pub why: Option<String>,
}

/// One step of a repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanStep {
    /// The run; none for the project.
    pub run_id: Option<RunId>,
    /// What is done.
    pub step: String,
}
