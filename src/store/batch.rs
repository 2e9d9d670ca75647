//! What an operation writes, and what comes of it.

use crate::model::{Event, Seq};

/// An activity file.
#[derive(Debug, Clone, PartialEq)]
pub struct ActivityFile {
    /// Its name, `NNN-id.yaml`.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// All that one operation writes, built before anything is written.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The event. Its position must be the next one.
    pub event: &'a Event,
    /// The `run.yaml` on which the decision was made.
    pub old_text: &'a str,
    /// The `run.yaml` that shows the event.
    pub new_text: &'a str,
    /// The files of the activities that the event records.
    pub activities: Vec<ActivityFile>,
}

/// An operation that is on stable storage.
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    /// Its position.
    pub seq: Seq,
    /// Why a projection could not be brought up to it; the next command will.
    pub lagging: Option<String>,
}

/// Makes the new text from one that a person saved meanwhile; `None` when that has to wait for the next command.
pub type Merge<'a> = &'a mut dyn FnMut(&str) -> Option<String>;
