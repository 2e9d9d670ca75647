//! An error as callers see it.

use std::error::Error;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::help::Help;

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
    /// Another process or session holds it, or a conflict: retry.
    Held,
    /// Data on disk is damaged.
    Damaged,
    /// Input or output failed, or could not be confirmed.
    Io,
    /// An unsafe path.
    Unsafe,
}

/// An error for people in trouble: what is wrong, where, and what to do now.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Problem {
    /// Stable and documented in `docs/errors.md`.
    pub code: &'static str,
    /// One sentence: what is wrong, and where.
    pub message: String,
    /// What to do now.
    pub help: Option<Help>,
    /// Underlying reasons, nearest first.
    pub causes: Vec<String>,
    /// What kind of trouble it is.
    #[serde(skip)]
    pub kind: Kind,
}

impl Problem {
    /// What `error` says, which has no help yet.
    #[must_use]
    pub fn new(kind: Kind, code: &'static str, error: &dyn Error) -> Self {
        Self::of_message(kind, code, error.to_string())
    }

    /// The same of a sentence.
    #[must_use]
    pub fn of_message(kind: Kind, code: &'static str, message: String) -> Self {
        Self { code, message, help: None, causes: Vec::new(), kind }
    }

    /// With what to do now.
    #[must_use]
    pub fn help(self, help: impl Into<Help>) -> Self {
        Self { help: Some(help.into()).filter(|help| !help.is_empty()), ..self }
    }

    /// The same for a caller who has to name the project in each command.
    #[must_use]
    pub fn in_project(self, project: Option<&str>) -> Self {
        Self { help: self.help.map(|help| help.in_project(project)), ..self }
    }

    /// With these reasons behind the others.
    #[must_use]
    pub fn because(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        self.causes.extend(causes);
        self
    }

    /// With `source` and what is behind it as reasons.
    #[must_use]
    pub fn caused_by(mut self, source: &dyn Error) -> Self {
        let mut cause = Some(source);
        while let Some(error) = cause {
            self.causes.push(error.to_string());
            cause = error.source();
        }
        self
    }
}

/// An error of any room. `Display` is the whole sentence; this adds what a program and a person in trouble need beside it.
/// Faces know errors by this trait alone.
pub trait Explain: Error {
    /// The error as callers see it; its message is what `Display` says.
    fn problem(&self) -> Problem;

    /// The error and its nearest cause in one line, for lists and warnings.
    fn one_line(&self) -> String {
        let problem = self.problem();
        let line = match problem.causes.first() {
            Some(cause) => format!("{}: {cause}", problem.message),
            None => problem.message,
        };
        line.replace(['\n', '\r'], " ")
    }
}
