//! The report of the doctor.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{RunId, named};
use crate::runs::OtherWorktree;

/// The report of `doctor`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DoctorReport {
    /// Whether no error is left, and no repair that was requested failed.
    pub ok: bool,
    /// How many runs were examined.
    pub runs: usize,
    /// All findings; after a repair also those that it repaired.
    pub findings: Vec<FindingReport>,
    /// The steps of the repair: carried out, or with `--dry-run` only planned.
    pub plan: Vec<PlanStep>,
    /// Whether the steps were carried out.
    pub repaired: bool,
    /// Other worktrees of the repository in which runs are open; with `worktrees`, these were examined too.
    pub worktrees: Vec<OtherWorktree>,
}

named! {
    /// The severity of a finding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
    pub enum Severity {
        /// flow cannot recover by itself, or acknowledged data is gone.
        Error = "error",
        /// flow recovers by itself.
        Warning = "warning",
        /// Nothing needs to be done.
        Info = "info",
    }
}

/// The state of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// It is there; no repair was tried.
    Found,
    /// It was repaired.
    Mended,
    /// It is still there, or appeared, after the repair.
    Left,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindingReport {
    /// Stable code, documented in `docs/doctor.md`.
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The file, relative to the project.
    pub path: PathBuf,
    /// Line, from 1, when it is known.
    pub line: Option<usize>,
    /// Column in characters, from 1, when it is known.
    pub column: Option<usize>,
    /// The run that it belongs to; none for the project.
    pub run_id: Option<RunId>,
    /// One sentence: what is wrong.
    pub message: String,
    /// What `--repair` does about it; none when a person has to act.
    pub repair: Option<String>,
    /// The state.
    pub state: FindingState,
    /// Why it is left, or what failed before it was repaired.
    pub why: Option<String>,
}

/// One step of a repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanStep {
    /// The run; none for the project.
    pub run_id: Option<RunId>,
    /// What the step does, in words.
    pub step: String,
}
