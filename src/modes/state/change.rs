//! What is asked of a draft, and what comes of it.

use serde_json::{Map, Value};

use crate::model::{ModeName, RunId, Scope};
use crate::modes::policy::Admission;

/// The details of a request for a mode.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestDetails {
    /// Whether the review of the mode that would hand over is clean; otherwise its file says so.
    pub review_clean: Option<bool>,
    /// The run that the mode works on.
    pub run: Option<RunId>,
}

/// The result of a request that was not denied.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestResult {
    /// The rule; never a denial.
    pub admission: Admission,
    /// The modes that are active afterwards, in the order in which they began.
    pub active: Vec<ModeName>,
}

/// A mode that was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeEnd {
    /// Which mode it was.
    pub mode: ModeName,
    /// The scope of its file.
    pub scope: Scope,
    /// The run that it worked on.
    pub run: Option<String>,
    /// Why its old file goes to quarantine; none if it could be read.
    pub broken: Option<String>,
}

/// The new content of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedFile {
    /// The scope of the file.
    pub scope: Scope,
    /// The name below the scope's directory.
    pub name: String,
    /// The content; none if the file is removed.
    pub value: Option<Map<String, Value>>,
    /// Whether the old file is kept in quarantine.
    pub aside: bool,
}
