//! Errors of the verbs over interviews.

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
    /// The document cannot be read or written.
    #[error(transparent)]
    Document(#[from] DocumentFault),
    /// The interview cannot continue.
    #[error("{}", explained(document, fault).message)]
    Stopped {
        /// The document, as it was named.
        document: PathBuf,
        /// Why.
        fault: InterviewFault,
    },
    /// A person's answer could not be written.
    #[error("{source}")]
    Unwritten {
        /// The reason.
        source: Box<Error>,
        /// The answer.
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

/// Why an interview cannot continue.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the interview does not go on")]
pub enum InterviewFault {
    /// The edit of the scratch pad was refused.
    Edit(EditError),
    /// No interview begins in such a file, unless the caller insists.
    NotHere {
        /// Why.
        why: &'static str,
    },
    /// The document does not exist.
    Missing,
    /// Nothing in the scratch pad can be read.
    Unreadable {
        /// The first problem in it.
        fault: Fault,
    },
    /// The question has another answer.
    AnsweredMeanwhile {
        /// The question.
        number: u32,
        /// The answer in the document.
        there: Answer,
        /// The answer that was not written.
        given: Option<String>,
    },
    /// The number belongs to another question.
    OtherQuestion {
        /// The number.
        number: u32,
        /// The question with this number.
        asked: String,
        /// The answer that was not written.
        given: Option<String>,
    },
    /// The script cannot be told from what is left of the scratch pad.
    ScriptLost {
        /// The line in which the questions begin.
        line: usize,
        /// The names of all scripts.
        known: Vec<String>,
    },
    /// The interview has another script.
    OtherScript {
        /// The script of the interview.
        script: String,
    },
    /// The interview belongs to another run, or to no run.
    OtherRun {
        /// The run of the interview.
        run: Option<String>,
    },
    /// No question is open.
    NothingToAsk,
    /// The previous question has exactly this answer.
    SameAnswer {
        /// The number of the previous question.
        last: u32,
        /// The number of the next question.
        next: u32,
    },
    /// The answer is too long.
    AnswerTooLong,
    /// Questions are open.
    StillOpen {
        /// The number of the next question.
        number: u32,
        /// The number of questions.
        total: u32,
        /// The topic of the next question.
        topic: String,
    },
    /// Another program saved the document at the same time.
    ChangedMeanwhile,
    /// The person did not confirm.
    NoConsent,
    /// The agent did not reply.
    Agent {
        /// The reason.
        why: String,
    },
    /// The agent's reply does not match its schema.
    Reply {
        /// All violations.
        violations: Vec<Violation>,
    },
    /// The agent asks too many questions.
    TooManyQuestions {
        /// The highest number of questions.
        most: u32,
    },
    /// The agent repeats a question.
    AskedAgain {
        /// The number of that question.
        number: u32,
        /// The topic of that question.
        topic: String,
    },
    /// The recording has no reply for this state.
    NotRecorded,
}
