//! Whether a run's files are what its log says.

use std::path::PathBuf;

use serde::Serialize;

use crate::model::RunId;

/// The answer of `verify`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifyReport {
    /// Whether nothing differs.
    pub ok: bool,
    /// The run.
    pub run_id: RunId,
    /// What was compared.
    pub checked: Checked,
    /// What differs.
    pub differences: Vec<Difference>,
    /// What cannot be proven any more, and why.
    pub notes: Vec<String>,
}

/// How much was compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Lines of the log that are sealed events.
    pub events: usize,
    /// Versions of `run.yaml` whose digest is in the log and was computed again.
    pub run_digests: usize,
    /// Bytes of `run.yaml` as it is.
    pub run_bytes: usize,
    /// Activity files.
    pub activity_files: usize,
}

/// A place where a file and the log differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The file, relative to the project.
    pub path: PathBuf,
    /// The first line that differs.
    pub line: Option<usize>,
    /// What the log demands there.
    pub expected: String,
    /// What is there.
    pub found: String,
    /// What that means, in words.
    pub why: String,
}
