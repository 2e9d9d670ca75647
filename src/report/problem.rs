//! An error as callers see it.

use serde::Serialize;

/// What kind of trouble it is; decides the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A rule refuses it.
    Refused,
    /// The command line or a name is wrong.
    Usage,
    /// There is no such thing.
    NotFound,
    /// A person is needed.
    NeedsHuman,
    /// Somebody else holds it, or a conflict: retry.
    Held,
    /// Data on disk is damaged.
    Damaged,
    /// Input or output failed, or could not be confirmed.
    Io,
    /// An unsafe path.
    Unsafe,
}

/// An error for people in trouble: what is wrong, where, and what to do now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// Stable and documented in `docs/errors.md`.
    pub code: &'static str,
    /// One sentence: what is wrong, and where.
    pub message: String,
    /// What to do now.
    pub help: Option<String>,
    /// Underlying reasons, nearest first.
    pub causes: Vec<String>,
    /// What kind of trouble it is.
    #[serde(skip)]
    pub kind: Kind,
}
