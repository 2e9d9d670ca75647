//! Why a verb over interviews failed.

use std::path::PathBuf;

use thiserror::Error;

use crate::catalog::shown;
use crate::codec::Violation;
use crate::codec::violations::first_with_line;
use crate::disk::DocumentFault;
use crate::interviews::explain::explained;
use crate::interviews::pad::{Answer, EditError, Fault};
use crate::runs;

/// Why a verb over interviews failed.
#[derive(Debug, Error)]
pub enum Error {
    /// What keeps verbs over runs from their work as well: the project, files, settings.
    #[error(transparent)]
    Run(runs::Error),
    /// No script has this name.
    #[error("there is no interview `{}`", shown(.name))]
    UnknownScript {
        /// The name as given.
        name: String,
        /// All names there are, sorted.
        known: Vec<String>,
        /// The one that was probably meant.
        suggestion: Option<String>,
    },
    /// The script is there and breaks the rules.
    #[error("the interview in {} cannot be used: {}", .path.display(), first_with_line(.violations))]
    Script {
        /// Its file.
        path: PathBuf,
        /// All problems.
        violations: Vec<Violation>,
    },
    /// The document cannot be read or written.
    #[error(transparent)]
    Document(#[from] DocumentFault),
    /// The interview does not go on.
    #[error("{}", explained(document, fault).message)]
    Stopped {
        /// The document, as it was named.
        document: PathBuf,
        /// Why.
        fault: InterviewFault,
    },
    /// What a person said could not be written.
    #[error("{source}")]
    Unwritten {
        /// Why it was not.
        source: Box<Error>,
        /// What was to be written.
        given: String,
    },
}

/// The result of a verb over interviews.
pub type Result<T> = std::result::Result<T, Error>;

impl<E: Into<runs::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Run(error.into())
    }
}

/// Why an interview does not go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the interview does not go on")]
pub enum InterviewFault {
    /// Its scratch pad does not allow it.
    Edit(EditError),
    /// There is no document.
    Missing,
    /// Nothing in the pad can be read.
    Unreadable {
        /// What is there.
        fault: Fault,
    },
    /// Another answer stands there.
    AnsweredMeanwhile {
        /// The question.
        number: u32,
        /// What stands there.
        there: Answer,
        /// What was to be written.
        given: Option<String>,
    },
    /// Another question has the number.
    OtherQuestion {
        /// The number.
        number: u32,
        /// What is asked under it.
        asked: String,
        /// What was to be written.
        given: Option<String>,
    },
    /// What is left of its scratch pad does not say by which script it goes.
    ScriptLost {
        /// Where the questions begin.
        line: usize,
        /// The scripts that there are.
        known: Vec<String>,
    },
    /// It goes by another script.
    OtherScript {
        /// Which.
        script: String,
    },
    /// It belongs to another run, or to none.
    OtherRun {
        /// Which.
        run: Option<String>,
    },
    /// No question waits.
    NothingToAsk,
    /// The question before has this very answer.
    SameAnswer {
        /// The question before.
        last: u32,
        /// The next one.
        next: u32,
    },
    /// The answer is longer than answers may be.
    AnswerTooLong,
    /// Questions are left.
    StillOpen {
        /// The next one.
        number: u32,
        /// How many there are.
        total: u32,
        /// What it is about.
        topic: String,
    },
    /// Somebody else saved the document.
    ChangedMeanwhile,
    /// Nobody agreed.
    NoConsent,
    /// The agent gave no answer.
    Agent {
        /// Why.
        why: String,
    },
    /// The agent's answer breaks its schema.
    Reply {
        /// All violations.
        violations: Vec<Violation>,
    },
    /// The agent asks too much.
    TooManyQuestions {
        /// The most there may be.
        most: u32,
    },
    /// The agent asks what was asked already.
    AskedAgain {
        /// The question that it repeats.
        number: u32,
        /// What that was about.
        topic: String,
    },
    /// What the agent would answer was not recorded.
    NotRecorded,
}
