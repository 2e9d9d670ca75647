//! The message, code, help and causes for each reason why an interview cannot continue.

use std::path::Path;

use crate::codec::violations::all;
use crate::interviews::fault::InterviewFault;
use crate::interviews::pad::{EditError, InterviewAnswer};
use crate::model::{Help, Kind, Problem, Suggestion};
use crate::runs::path_argument;

fn new(kind: Kind, code: &'static str, message: String, help: impl Into<Help>) -> Problem {
    Problem::new(kind, code, message).help(help)
}

fn interview(verb: &str, document: &Path) -> Suggestion {
    Suggestion::flow(format!("interview {verb}")).value(path_argument(document))
}

/// The end of a help text after a refused edit.
const NOTHING: &str = "; nothing was written";

/// Code, message and help for a fault.
pub(super) fn explained(path: &Path, fault: &InterviewFault) -> Problem {
    let document = path.display();
    match fault {
        InterviewFault::Edit(error) => edit(path, error),
        InterviewFault::NotHere { why } => {
            let message = format!("no interview begins in {document}: it {why}");
            new(Kind::Refused, "not_a_document", message, "--force begins one there all the same; nothing was written")
        }
        InterviewFault::Missing => {
            let message = format!("there is no document {document}");
            new(Kind::NotFound, "document_not_found", message, Help::from("begin it with ") + interview("start", path))
        }
        InterviewFault::Unreadable { fault } => {
            let message = format!(
                "{document}:{} the scratch pad has no question that can be read: {}",
                fault.line, fault.message
            );
            new(Kind::Damaged, "unreadable_pad", message, "correct it by hand; nothing was written")
        }
        InterviewFault::ScriptLost { line, known } => {
            let message =
                format!("{document}:{line} this scratch pad does not say to which script its questions belong");
            let help = Help::from("name it with ")
                + interview("start", path).option("script", "NAME")
                + format!(": {}{NOTHING}", known.join(", "));
            new(Kind::Damaged, "pad_script_lost", message, help)
        }
        InterviewFault::OtherScript { script } => {
            let message = format!("the interview in {document} uses the script `{script}`");
            new(Kind::Refused, "wrong_interview", message, "leave --script out, or abandon that interview first")
        }
        InterviewFault::OtherRun { run } => {
            let message = match run {
                Some(run) => format!("the interview in {document} belongs to the run {run}"),
                None => format!("the interview in {document} belongs to no run"),
            };
            new(
                Kind::Refused,
                "wrong_run",
                message,
                "leave --run-id out, or write `<!-- Run: ID -->` below the heading of the scratch pad",
            )
        }
        InterviewFault::StillOpen { number, total, topic } => {
            let message = format!("question {number} of {total} in {document} is open: {topic}");
            let help =
                Help::from("answer or skip it, or finish with --early; ") + interview("next", path) + " shows it";
            new(Kind::Refused, "questions_left", message, help)
        }
        InterviewFault::ChangedMeanwhile => {
            let message = format!("{document} was changed by another program in the meantime");
            new(Kind::Held, "document_changed", message, "try again; nothing of it was removed")
        }
        InterviewFault::NoConsent => {
            let message = format!("abandoning the interview in {document} needs a confirmation");
            new(Kind::NeedsHuman, "not_confirmed", message, "confirm with --yes; a copy with all answers is kept")
        }
        other => of_answer(path, other),
    }
}

/// The same for an answer that was not taken.
fn of_answer(path: &Path, fault: &InterviewFault) -> Problem {
    let document = path.display();
    match fault {
        InterviewFault::AnsweredMeanwhile { number, there, given } => {
            let message = match there {
                InterviewAnswer::Skipped(why) if why.is_empty() => {
                    format!("question {number} of {document} was skipped already")
                }
                InterviewAnswer::Skipped(why) => {
                    format!("question {number} of {document} was skipped already: {}", short(why))
                }
                InterviewAnswer::Given(text) => {
                    format!("question {number} of {document} has another answer already: {}", short(text))
                }
                InterviewAnswer::Open => format!("question {number} of {document} is open"),
            };
            let instead = if given.is_some() { "with --replace yours takes its place; " } else { "" };
            let help = interview("status", path) + " shows all answers; " + instead + "nothing was written";
            unwritten(new(Kind::Held, "already_answered", message, help), given.as_deref())
        }
        InterviewFault::OtherQuestion { number, asked, given } => {
            let message = format!("question {number} of {document} is another one by now: {}", short(asked));
            // The question may have moved on since the caller read it.
            let help = interview("next", path) + " shows what is asked; nothing was written";
            unwritten(new(Kind::Held, "other_question", message, help), given.as_deref())
        }
        InterviewFault::NothingToAsk => {
            let message = format!("nothing is asked in {document} any more");
            new(
                Kind::Refused,
                "nothing_asked",
                message,
                Help::from("write the answers into it with ") + interview("finish", path),
            )
        }
        InterviewFault::SameAnswer { last, next } => {
            let message =
                format!("question {last} of {document} has this very answer, so it is not taken for question {next}");
            new(Kind::Refused, "answer_repeated", message, format!("when it is meant for both, say --question {next}"))
        }
        InterviewFault::AnswerTooLong => {
            let message =
                format!("the answer for {document} is longer than {} bytes", crate::model::limits::ANSWER_BYTES);
            new(Kind::Refused, "answer_too_long", message, "put it into a file, and name that file in the answer")
        }
        other => of_agent(path, other),
    }
}

/// Adds the answer that was not written, so that it is not lost.
pub(super) fn unwritten(mut problem: Problem, given: Option<&str>) -> Problem {
    problem.causes.extend(given.map(|given| format!("the answer that was not written: {given}")));
    problem
}

/// The same for mistakes of an agent.
fn of_agent(path: &Path, fault: &InterviewFault) -> Problem {
    let help = "correct the agent and repeat the command; all answers so far are in the document";
    let document = path.display();
    match fault {
        InterviewFault::Agent { why } => {
            new(Kind::Refused, "agent_failed", format!("the interviewer gave no answer: {why}"), help)
        }
        InterviewFault::Reply { violations } => {
            let first = violations.first().map(|violation| violation.message.clone()).unwrap_or_default();
            let help = Suggestion::flow("schema interview-reply")
                + " prints the schema of a reply; all answers so far are in the document";
            let message = format!("the interviewer's reply is not valid: {first}");
            new(Kind::Refused, "invalid_reply", message, help).because(all(violations))
        }
        InterviewFault::TooManyQuestions { most } => new(
            Kind::Refused,
            "too_many_questions",
            format!("the interviewer asks more than {most} questions about {document}"),
            help,
        ),
        InterviewFault::AskedAgain { number, topic } => {
            let message =
                format!("the interviewer asks about `{topic}` again, which was question {number} of {document}");
            new(Kind::Refused, "asked_again", message, help)
        }
        _ => {
            let message = format!("no recorded call fits the state of {document}");
            new(
                Kind::NotFound,
                "not_recorded",
                message,
                "give the agent with --agent as well, and --record to keep what it answers",
            )
        }
    }
}

/// The same for an edit of the scratch pad that was refused.
fn edit(path: &Path, error: &EditError) -> Problem {
    let document = path.display();
    let message = format!("{document}: {error}");
    match error {
        EditError::NoPad => {
            let message = format!("there is no interview in {document}");
            let help =
                Help::from("begin one with ") + interview("start", path) + "; one that is finished left no scratch pad";
            new(Kind::NotFound, "no_interview", message, help)
        }
        EditError::HeadingLost { line } => {
            let message =
                format!("{document}:{line} the heading of this scratch pad is gone; its questions are still here");
            let help = interview("start", path)
                + " puts the heading back and goes on, or write `## Scratch Pad` above them"
                + NOTHING;
            new(Kind::Damaged, "pad_heading_lost", message, help)
        }
        EditError::PadExists { .. } | EditError::SecondPad { .. } => new(
            Kind::Damaged,
            "two_scratch_pads",
            message,
            format!("put the questions of both into one by hand{NOTHING}"),
        ),
        EditError::Conflict { line } => new(
            Kind::Damaged,
            "merge_conflict",
            format!("{document}:{line} a merge of two versions is not settled"),
            format!("keep of both what is right, and remove the marks{NOTHING}"),
        ),
        EditError::NoQuestion { number, next } => {
            let yet = if number >= next { " yet" } else { "" };
            let message = format!("there is no question {number} in {document}{yet}");
            let help = interview("next", path) + " shows what is asked" + NOTHING;
            new(Kind::NotFound, "no_such_question", message, help)
        }
        // With the answer that was not written, it is `AnsweredMeanwhile`.
        EditError::Answered { .. } => new(Kind::Held, "already_answered", message, ""),
        EditError::EmptyAnswer => {
            new(Kind::Usage, "empty_answer", message, interview("skip", path) + " skips a question")
        }
        EditError::Empty { .. } => new(Kind::Usage, "empty_answer", message, format!("say it in some words{NOTHING}")),
        EditError::Reserved => new(Kind::Usage, "reserved_topic", message, format!("call it something else{NOTHING}")),
        EditError::NoNumberLeft => new(
            Kind::Refused,
            "no_number_left",
            message,
            format!("give the questions in it other numbers by hand{NOTHING}"),
        ),
        other => of_text(path, other),
    }
}

/// The same for an edit whose result was refused.
fn of_text(path: &Path, error: &EditError) -> Problem {
    let document = path.display();
    match error {
        EditError::UnknownSection { id, known } => {
            let near = crate::codec::similar(id, known.iter().map(String::as_str));
            let meant = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let message =
                format!("there is a text for `{id}`, which is neither a section of {document} nor a topic in it");
            let help = format!("{meant}There are {}{NOTHING}", known.join(", "));
            new(Kind::Refused, "unknown_section", message, help)
        }
        EditError::Unfit { .. } => new(
            Kind::Refused,
            "unsound_document",
            format!("{document}: {error}"),
            format!("use deeper headings, and close code blocks and comments{NOTHING}"),
        ),
        EditError::Faults { faults } => {
            let first = faults.first().map(|fault| format!(":{} {}", fault.line, fault.message)).unwrap_or_default();
            let help = format!("correct it by hand, or it would be lost with the scratch pad{NOTHING}");
            let mut problem = new(Kind::Refused, "unreadable_entries", format!("{document}{first}"), help);
            problem.causes =
                faults.iter().skip(1).map(|fault| format!("line {} {}", fault.line, fault.message)).collect();
            problem
        }
        EditError::Unsound { line, why } => new(
            Kind::Refused,
            "unsound_document",
            format!("{document}:{line} the result could not be read back: {why}"),
            format!("correct the document by hand{NOTHING}"),
        ),
        other => new(
            Kind::Refused,
            "document_too_large",
            format!("{document}: {other}"),
            format!("put long texts into files of their own{NOTHING}"),
        ),
    }
}

/// The beginning of a text, in one line.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
