//! `interview answer` and `interview skip`: answer or skip a question.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interviews::document_file::{DocumentFile, script_of};
use crate::interviews::error::{Error, Result};
use crate::interviews::fault::InterviewFault;
use crate::interviews::gone::text_of;
use crate::interviews::link::update_run;
use crate::interviews::next::{EntryStatus, InterviewNext, InterviewState, entry, faults, next_of};
use crate::interviews::pad::{EditError, InterviewAnswer, InterviewQuestion, Pad, Step};
use crate::model::{Help, Kind, Problem, limits};
use crate::runs::context::Context;

/// An answer to a question, or the decision to skip it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// The document.
    pub document: PathBuf,
    /// The number of the question; otherwise the next one.
    pub question: Option<u32>,
    /// A question of the caller's own, if it is not in the document yet.
    pub asked: Option<InterviewQuestion>,
    /// The answer, or the reason to skip the question.
    pub answer: InterviewAnswer,
    /// Which existing answer may be replaced.
    #[serde(default)]
    pub replaces: Replaces,
}

/// Which existing answer may be replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Replaces {
    /// None.
    #[default]
    Nothing,
    /// Any.
    Anything,
    /// Only this one, which the caller has seen.
    Seen(InterviewAnswer),
}

impl Replaces {
    /// Whether `there` may be replaced.
    fn allows(&self, there: &InterviewAnswer) -> bool {
        match self {
            Self::Nothing => false,
            Self::Anything => true,
            Self::Seen(seen) => seen == there,
        }
    }
}

/// The report of `interview answer` and `interview skip`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterviewAnswerReport {
    /// The document, as it was named.
    pub document: PathBuf,
    /// The number of the question.
    pub question: u32,
    /// Its topic.
    pub topic: String,
    /// The status of the question now.
    pub status: EntryStatus,
    /// Whether the document already had this answer.
    pub repeated: bool,
    /// The next step.
    pub next: InterviewNext,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Writes an answer, or the reason to skip the question, into the scratch pad. It is on stable storage when this
/// returns.
///
/// # Errors
/// [`Error::Stopped`](crate::interviews::Error::Stopped): the question has another answer, there is no such question,
/// or all questions are answered.
pub fn answer(cx: &Context, request: &AnswerRequest) -> Result<InterviewAnswerReport> {
    let file = DocumentFile::at(cx, &request.document)?;
    if matches!(&request.answer, InterviewAnswer::Given(text) | InterviewAnswer::Skipped(text) if text.len() > limits::ANSWER_BYTES)
    {
        let document = file.named.display();
        let message = format!("the answer for {document} is longer than {} bytes", limits::ANSWER_BYTES);
        return Err(Problem::new(Kind::Refused, "answer_too_long", message)
            .help("put it into a file, and name that file in the answer")
            .into());
    }
    // Decide which question is meant before taking the lock: meanwhile someone may answer it, and then another one
    // would be the next.
    let seen = text_of(&file)?;
    let seen = file.document(&seen);
    let script = script_of(&file, &seen)?;
    let meant = question_meant(&file, request, &InterviewState::of(&file, &seen, &script)?)?;
    let normal = request.answer.clone().normal();
    let (mut now, mut number, mut repeated) = (String::new(), 0, false);
    file.update(&mut |old| {
        let text = old.ok_or_else(InterviewFault::missing)?;
        let document = file.document(text);
        let pad = document.only_pad()?;
        number = meant.number(pad);
        let question = meant.question();
        let entry = pad.entry(number);
        // Someone may have given that number to another question meanwhile.
        if let (Some(entry), Some(question)) = (entry, question)
            && !entry.asks(question)
        {
            let (asked, given) = (entry.asked.clone(), request.answer.given().map(str::to_owned));
            return Err(InterviewFault::OtherQuestion { number, asked, given });
        }
        let new = match entry {
            Some(entry) if entry.answer != normal && request.replaces.allows(&entry.answer) => {
                document.correct(number, request.answer.clone())?
            }
            _ => document
                .answer(number, question, request.answer.clone())
                .map_err(|error| InterviewFault::of_answer(error, &request.answer))?,
        };
        repeated = new == text;
        now.clone_from(&new);
        Ok(new)
    })?;
    let document = file.document(&now);
    let standing = InterviewState::of(&file, &document, &script)?;
    let entry = standing.pad.entry(number).map(entry).expect("BUG: an answered question is not there");
    let mut warnings = faults(standing.pad);
    warnings.extend(update_run(&file, &document, None));
    Ok(InterviewAnswerReport {
        question: number,
        topic: entry.topic,
        status: entry.status,
        repeated,
        next: next_of(&file, &standing),
        document: file.named.clone(),
        warnings,
    })
}

/// The question that an answer is for.
enum AnsweredQuestion {
    /// The question with this number; with its text if the script asks it and it is not in the pad yet.
    Numbered(u32, Option<InterviewQuestion>),
    /// The caller's own question, with this number or the next free one.
    Own(InterviewQuestion, Option<u32>),
}

impl AnsweredQuestion {
    /// Its number in `pad`. A question of the caller's own is found by its text, so that a repeated command means the
    /// same question.
    fn number(&self, pad: &Pad) -> u32 {
        match self {
            Self::Numbered(number, _) | Self::Own(_, Some(number)) => *number,
            Self::Own(own, None) => match pad.entries.iter().find(|entry| entry.asks(own)) {
                Some(asked) => asked.number,
                None => pad.next_number(),
            },
        }
    }

    fn question(&self) -> Option<&InterviewQuestion> {
        match self {
            Self::Numbered(_, question) => question.as_ref(),
            Self::Own(own, _) => Some(own),
        }
    }
}

fn question_meant(
    file: &DocumentFile,
    request: &AnswerRequest,
    state: &InterviewState<'_>,
) -> Result<AnsweredQuestion> {
    if let Some(own) = &request.asked {
        return Ok(AnsweredQuestion::Own(own.clone(), request.question));
    }
    let (next, words) = match &state.outlook.step {
        Step::Open { number, .. } => (Some(*number), None),
        Step::Ask { number, question } => (Some(*number), Some(question.clone())),
        Step::Complete | Step::Nothing => (None, None),
    };
    if let Some(number) = request.question {
        if next.is_none() && number == state.pad.next_number() {
            return Err(nothing_to_ask(file));
        }
        return Ok(AnsweredQuestion::Numbered(number, if next == Some(number) { words } else { None }));
    }
    let Some(next) = next else { return Err(nothing_to_ask(file)) };
    // The same words again are more likely a retry than an answer to the next question.
    let given = request.answer.clone().normal();
    if let Some(last) = state.pad.entries.iter().rfind(|entry| entry.answer != InterviewAnswer::Open)
        && matches!(given, InterviewAnswer::Given(_))
        && last.answer == given
    {
        let message = format!(
            "question {} of {} has this very answer, so it is not taken for question {next}",
            last.number,
            file.named.display()
        );
        return Err(Problem::new(Kind::Refused, "answer_repeated", message)
            .help(format!("when it is meant for both, say --question {next}"))
            .into());
    }
    Ok(AnsweredQuestion::Numbered(next, words))
}

fn nothing_to_ask(file: &DocumentFile) -> Error {
    let message = format!("nothing is asked in {} now", file.named.display());
    Problem::new(Kind::Refused, "nothing_asked", message)
        .help(Help::from("write the answers into it with ") + file.suggest("interview finish"))
        .into()
}

impl InterviewFault {
    /// Adds the answer to the error, so that it is not lost.
    fn of_answer(error: EditError, given: &InterviewAnswer) -> Self {
        match error {
            EditError::Answered { number, answer } => {
                Self::AnsweredMeanwhile { number, there: answer, given: given.given().map(str::to_owned) }
            }
            error => Self::Edit(error),
        }
    }
}
