//! Errors of the verbs over interviews, with their codes, help and causes.

use std::path::PathBuf;

use thiserror::Error;

use crate::catalog::{known_names, shown};
use crate::codec::Violation;
use crate::codec::violations::{all, first_with_line};
use crate::interviews::fault::InterviewFault;
use crate::model::{Explain, Kind, Problem, Suggestion};
use crate::runs;

/// Why a verb over interviews failed.
#[derive(Debug, Error)]
pub enum Error {
    /// An error that verbs over runs have too: the project, files, settings.
    #[error(transparent)]
    Run(runs::Error),
    /// No script has this name.
    #[error("there is no interview `{}`", shown(.name))]
    UnknownScript {
        /// The name as given.
        name: String,
        /// All names, sorted.
        known: Vec<String>,
        /// The similar name that was probably meant.
        suggestion: Option<String>,
    },
    /// The script is invalid.
    #[error("the interview in {} cannot be used: {}", .path.display(), first_with_line(.violations))]
    Script {
        /// The file of the script.
        path: PathBuf,
        /// All problems.
        violations: Vec<Violation>,
    },
    /// The interview cannot continue.
    #[error("{}", fault.problem(document).message)]
    Stopped {
        /// The document, as it was named.
        document: PathBuf,
        /// Why.
        fault: InterviewFault,
    },
}

/// The result of a verb over interviews.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl<E: Into<runs::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Run(error.into())
    }
}

impl Explain for Error {
    fn problem(&self) -> Problem {
        let new = |kind, code| Problem::new(kind, code, self);
        match self {
            Self::Run(error) => error.problem(),
            Self::UnknownScript { known, suggestion, .. } => {
                new(Kind::NotFound, "unknown_interview").help(known_names(known, suggestion.as_deref()))
            }
            Self::Script { path, violations } => new(Kind::Refused, "invalid_interview")
                .help(Suggestion::flow("validate").value(path.display()) + " shows everything that is wrong")
                .because(all(violations)),
            Self::Stopped { document, fault } => fault.problem(document),
        }
    }
}
