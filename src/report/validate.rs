//! What is wrong with documents.

use std::path::PathBuf;

use serde::Serialize;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValidateReport {
    /// Whether everything is valid.
    pub ok: bool,
    /// How many files were checked.
    pub checked: usize,
    /// The files with something wrong.
    pub files: Vec<CheckedFile>,
}

/// A file and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedFile {
    /// The file.
    pub path: PathBuf,
    /// What it was checked as: `run`, `activity`, `workflow`, `events`.
    pub kind: &'static str,
    /// All violations.
    pub violations: Vec<ViolationReport>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ViolationReport {
    /// Line, from 1, when it is known.
    pub line: Option<usize>,
    /// Column in characters, from 1, when it is known.
    pub column: Option<usize>,
    /// JSON pointer to the value.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}
