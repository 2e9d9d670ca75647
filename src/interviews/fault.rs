//! Why an interview cannot continue.

use thiserror::Error;

use crate::codec::Violation;
use crate::interviews::pad::{EditError, Fault, InterviewAnswer};

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
        there: InterviewAnswer,
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

impl From<EditError> for InterviewFault {
    fn from(error: EditError) -> Self {
        Self::Edit(error)
    }
}
