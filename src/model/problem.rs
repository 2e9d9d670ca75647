//! Errors, as callers see them.

use std::error::Error;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::help::Help;

/// The kind of an error, which determines the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A rule forbids it.
    Refused,
    /// The command line or a name is wrong.
    Usage,
    /// It does not exist.
    NotFound,
    /// A person is needed.
    NeedsHuman,
    /// Another process or session holds it, or there was a conflict: retry.
    Held,
    /// Data on disk is damaged.
    Damaged,
    /// Input or output failed, or could not be confirmed.
    Io,
    /// The path is unsafe.
    Unsafe,
}

/// An error for callers: what is wrong, where, and what to do now.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, JsonSchema)]
#[error("{message}")]
pub struct Problem {
    /// A stable code, documented in `docs/errors.md`.
    pub code: &'static str,
    /// One sentence: what is wrong, and where.
    pub message: String,
    /// What to do now.
    pub help: Option<Help>,
    /// The underlying errors, nearest first.
    pub causes: Vec<String>,
    /// The kind of the error.
    #[serde(skip)]
    pub kind: Kind,
}

impl Problem {
    /// A problem without help. The message is a sentence, or the error that has it.
    #[must_use]
    pub fn new(kind: Kind, code: &'static str, message: impl ToString) -> Self {
        Self { code, message: message.to_string(), help: None, causes: Vec::new(), kind }
    }

    /// The message and the nearest cause as one line, for lists and warnings.
    #[must_use]
    pub fn one_line(&self) -> String {
        let line = match self.causes.first() {
            Some(cause) => format!("{}: {cause}", self.message),
            None => self.message.clone(),
        };
        // A cause may have several lines, such as the message of a parser.
        line.replace(['\n', '\r'], " ")
    }

    /// Adds help: what to do now.
    #[must_use]
    pub fn help(self, help: impl Into<Help>) -> Self {
        Self { help: Some(help.into()).filter(|help| !help.is_empty()), ..self }
    }

    /// The same for a caller who has to name the project in each command.
    #[must_use]
    pub fn in_project(self, project: Option<&str>) -> Self {
        Self { help: self.help.map(|help| help.in_project(project)), ..self }
    }

    /// Adds causes after the existing ones.
    #[must_use]
    pub fn because(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        self.causes.extend(causes);
        self
    }

    /// Adds `source` and its own sources as causes.
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

/// An error of any module. `Display` is the whole message; this trait adds what callers need besides. User interfaces
/// use errors only through this trait.
pub trait Explain: Error {
    /// The error as callers see it. Its message is the one of `Display`.
    fn problem(&self) -> Problem;

    /// The error and its nearest cause as one line, for lists and warnings.
    fn one_line(&self) -> String {
        self.problem().one_line()
    }
}

impl Explain for Problem {
    fn problem(&self) -> Problem {
        self.clone()
    }
}
