//! The person who is interviewed: what is asked, and what comes back.

use crate::interviews::error::Result;
use crate::interviews::next::InterviewEntry;
use crate::interviews::pad::InterviewAnswer;

/// A question to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedQuestion {
    /// Its number in the document, from 1.
    pub number: u32,
    /// The number of questions, as far as it is known.
    pub total: u32,
    /// What it is about, in a word or two.
    pub topic: String,
    /// The text of the question.
    pub question: String,
    /// The previous answers, oldest first.
    pub before: Vec<String>,
    /// Its current answer, if the person went back to it.
    pub now: Option<InterviewAnswer>,
    /// Whether the person can go back to a previous question.
    pub has_before: bool,
}

/// Two answers to one question: the person's, and one that was written while the person typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerConflict {
    /// The number of the question.
    pub number: u32,
    /// The answer in the document.
    pub theirs: InterviewAnswer,
    /// The person's answer.
    pub mine: String,
}

/// Which of two answers to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// The one in the document.
    Theirs,
    /// The person's.
    Mine,
    /// Both, the person's below the other one.
    Both,
    /// No decision: the person is not there, or has stopped.
    Later,
}

/// The person's decision about all answers, before they are written into the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Review {
    /// Write them.
    Finish,
    /// Change the answer to this question first.
    Back(u32),
    /// Stop for now.
    Stop,
}

/// The person's response to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// An answer.
    Answer(String),
    /// Skip the question, for this reason.
    Skip(String),
    /// Go back to the previous question.
    Back,
    /// Keep the current answer.
    Keep,
    /// Stop for now, or the person is not there.
    Stop,
}

/// The person who is interviewed.
pub trait Interviewee {
    /// Asks a question.
    ///
    /// # Errors
    /// If the response cannot be read.
    fn ask(&mut self, question: &AskedQuestion) -> Result<Response>;
    /// Asks which of two answers to keep.
    ///
    /// # Errors
    /// If the response cannot be read.
    fn settle(&mut self, clash: &AnswerConflict) -> Result<Resolution>;
    /// Shows all answers before they are written into the document.
    ///
    /// # Errors
    /// If the response cannot be read.
    fn review(&mut self, entries: &[InterviewEntry]) -> Result<Review>;
    /// Shows a line about the progress.
    fn tell(&mut self, line: &str);
}
