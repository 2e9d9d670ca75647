//! Addresses of runs and their documents, for messages.

use std::fmt;
use std::path::Path;

use crate::model::RunId;

/// A document of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document<'a> {
    /// The run itself.
    Run,
    /// `run.yaml`.
    Text,
    /// `events.jsonl`.
    Log,
    /// An activity file.
    Activity(&'a str),
}

/// Where something is, for messages: a path, or the name that its store gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// An address from the text that messages show.
    #[must_use]
    pub fn new(called: impl Into<String>) -> Self {
        Self(called.into())
    }

    /// The address of a run in the store that this is the address of.
    #[must_use]
    pub fn of_run(&self, run: &RunId) -> Self {
        Self(format!("run {run} in {self}"))
    }

    /// The text for messages: relative to `root` when it is a path below it.
    #[must_use]
    pub fn from(&self, root: &Path) -> String {
        let path = Path::new(&self.0);
        path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
    }
}

impl<P: AsRef<Path>> From<P> for Address {
    fn from(path: P) -> Self {
        Self::new(path.as_ref().to_string_lossy())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
