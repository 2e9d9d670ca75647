//! The events of a run as callers see them.

use serde::Serialize;
use serde_json::{Map, Value};

/// Events of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogReport {
    /// The sealed events in order, as on disk without their checksum.
    pub events: Vec<Map<String, Value>>,
    /// Lines that are not state; the first ten thousand.
    pub skipped: Vec<SkippedLine>,
    /// How many more there are.
    pub more_skipped: usize,
}

/// A line that is not state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SkippedLine {
    /// Its number in the file, from 1.
    pub line: usize,
    /// What it is instead.
    pub why: String,
    /// Its beginning.
    pub text: String,
}
