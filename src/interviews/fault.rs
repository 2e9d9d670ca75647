//! Why an interview cannot continue.

use std::path::Path;

use thiserror::Error;

use crate::codec::similar;
use crate::interviews::pad::{EditError, Fault, InterviewAnswer};
use crate::model::{Explain as _, Help, Kind, Problem, Suggestion, beginning, did_you_mean};
use crate::runs::path_argument;

/// Why an interview cannot continue.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("the interview does not go on")]
pub enum InterviewFault {
    /// The edit of the scratch pad was refused.
    Edit(#[from] EditError),
    /// The document does not exist.
    Missing {
        /// What is told by a run that waits for the answers in it: where they are, and what can be done.
        notes: Vec<String>,
    },
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
        /// The number that the caller named.
        number: u32,
        /// The question with this number.
        asked: String,
        /// The answer that was not written.
        given: Option<String>,
    },
    /// Another program saved the document at the same time.
    ChangedMeanwhile,
    /// Any other reason; its code says which one.
    Problem(Box<Problem>),
}

impl From<Problem> for InterviewFault {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

fn interview(verb: &str, document: &Path) -> Suggestion {
    Suggestion::flow(format!("interview {verb}")).value(path_argument(document))
}

/// The end of a help text after a refused edit.
const NOTHING: &str = "; nothing was written";

impl InterviewFault {
    /// The document does not exist, and no run waits for it.
    pub(super) fn missing() -> Self {
        Self::Missing { notes: Vec::new() }
    }

    /// The fault in the document at `path`, as callers see it.
    pub(super) fn problem(&self, path: &Path) -> Problem {
        let document = path.display();
        match self {
            Self::Edit(error) => of_edit(path, error),
            Self::Problem(problem) => problem.problem(),
            Self::Missing { notes } => {
                let help = if notes.is_empty() {
                    Help::from("begin it with ") + interview("start", path)
                } else {
                    notes.join("; ").into()
                };
                Problem::new(Kind::NotFound, "document_not_found", format!("there is no document {document}"))
                    .help(help)
            }
            Self::Unreadable { fault: Fault { line, message, .. } } => {
                let message = format!("{document}:{line} the scratch pad has no question that can be read: {message}");
                Problem::new(Kind::Damaged, "unreadable_pad", message).help("correct it by hand; nothing was written")
            }
            Self::AnsweredMeanwhile { number, there, given } => {
                let answered = match there {
                    InterviewAnswer::Skipped(why) if why.is_empty() => "was skipped already".to_owned(),
                    InterviewAnswer::Skipped(why) => format!("was skipped already: {}", short(why)),
                    InterviewAnswer::Given(text) => format!("has another answer already: {}", short(text)),
                    InterviewAnswer::Open => "is open".to_owned(),
                };
                let instead = if given.is_some() { "with --replace yours takes its place; " } else { "" };
                let message = format!("question {number} of {document} {answered}");
                Problem::new(Kind::Held, "already_answered", message)
                    .help(interview("status", path) + " shows all answers; " + instead + "nothing was written")
                    .because(given.as_deref().map(unwritten))
            }
            Self::OtherQuestion { number, asked, given } => {
                let message = format!("question {number} of {document} is another one by now: {}", short(asked));
                Problem::new(Kind::Held, "other_question", message)
                    // The question may have moved on since the caller read it.
                    .help(interview("next", path) + " shows what is asked; nothing was written")
                    .because(given.as_deref().map(unwritten))
            }
            Self::ChangedMeanwhile => {
                let message = format!("{document} was changed by another program in the meantime");
                Problem::new(Kind::Held, "document_changed", message).help("try again; nothing of it was removed")
            }
        }
    }
}

/// The answer that was not written, as a cause, so that it is not lost.
pub(super) fn unwritten(given: &str) -> String {
    format!("the answer that was not written: {given}")
}

/// The problem of an edit of the scratch pad that was refused.
fn of_edit(path: &Path, error: &EditError) -> Problem {
    let document = path.display();
    let new = |kind, code| Problem::new(kind, code, format!("{document}: {error}"));
    match error {
        EditError::NoPad => {
            let help = Help::from("begin one with ") + interview("start", path);
            Problem::new(Kind::NotFound, "no_interview", format!("there is no interview in {document}"))
                .help(help + "; one that is finished left no scratch pad")
        }
        EditError::HeadingLost { line } => {
            let message =
                format!("{document}:{line} the heading of this scratch pad is gone; its questions are still here");
            let help =
                interview("start", path) + " puts the heading back and goes on, or write `## Scratch Pad` above ";
            Problem::new(Kind::Damaged, "pad_heading_lost", message).help(help + "them" + NOTHING)
        }
        EditError::PadExists { .. } | EditError::SecondPad { .. } => {
            new(Kind::Damaged, "two_scratch_pads").help(format!("put the questions of both into one by hand{NOTHING}"))
        }
        EditError::Conflict { line } => {
            let message = format!("{document}:{line} a merge of two versions is not settled");
            Problem::new(Kind::Damaged, "merge_conflict", message)
                .help(format!("keep of both what is right, and remove the marks{NOTHING}"))
        }
        EditError::NoQuestion { number, next } => {
            let yet = if number >= next { " yet" } else { "" };
            let message = format!("there is no question {number} in {document}{yet}");
            Problem::new(Kind::NotFound, "no_such_question", message)
                .help(interview("next", path) + " shows what is asked" + NOTHING)
        }
        // With the answer that was not written, it is `AnsweredMeanwhile`.
        EditError::Answered { .. } => new(Kind::Held, "already_answered"),
        EditError::EmptyAnswer => new(Kind::Usage, "empty_answer").help(interview("skip", path) + " skips a question"),
        EditError::Empty { .. } => new(Kind::Usage, "empty_answer").help(format!("say it in some words{NOTHING}")),
        EditError::Reserved => new(Kind::Usage, "reserved_topic").help(format!("call it something else{NOTHING}")),
        EditError::NoNumberLeft => new(Kind::Refused, "no_number_left")
            .help(format!("give the questions in it other numbers by hand{NOTHING}")),
        EditError::UnknownSection { id, known } => {
            let meant = did_you_mean(similar(id, known.iter().map(String::as_str)));
            let message =
                format!("there is a text for `{id}`, which is neither a section of {document} nor a topic in it");
            Problem::new(Kind::Refused, "unknown_section", message)
                .help(format!("{meant}There are {}{NOTHING}", known.join(", ")))
        }
        EditError::Unfit { .. } => new(Kind::Refused, "unsound_document")
            .help(format!("use deeper headings, and close code blocks and comments{NOTHING}")),
        EditError::Faults { faults } => {
            let first = faults.first().map(|fault| format!(":{} {}", fault.line, fault.message)).unwrap_or_default();
            Problem::new(Kind::Refused, "unreadable_entries", format!("{document}{first}"))
                .help(format!("correct it by hand, or it would be lost with the scratch pad{NOTHING}"))
                .because(faults.iter().skip(1).map(|fault| format!("line {} {}", fault.line, fault.message)))
        }
        EditError::Unsound { line, why } => {
            let at = line.map(|line| format!(":{line}")).unwrap_or_default();
            let message = format!("{document}{at} the result could not be read back: {why}");
            Problem::new(Kind::Refused, "unsound_document", message)
                .help(format!("correct the document by hand{NOTHING}"))
        }
        EditError::TooLarge { .. } => {
            new(Kind::Refused, "document_too_large").help(format!("put long texts into files of their own{NOTHING}"))
        }
    }
}

/// The beginning of a text, in one line.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    beginning(&line, 80).into_owned()
}
