//! `interview run`: the loop of rp1. The interviewer chooses a question, the person answers, and the answer is written
//! into the document before the next question. All state between two rounds is in the document.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interviews::agent::{Agent, state};
use crate::interviews::answer::{self, AnswerRequest, Replaces};
use crate::interviews::close::{FinishRequest, finish};
use crate::interviews::document_file::{DocumentFile, head_of, script};
use crate::interviews::error::{Error, InterviewFault, Result};
use crate::interviews::link::{Ending, tell_end, tell_run};
use crate::interviews::next::{InterviewEntry, InterviewNext, InterviewState, InterviewStep, entry, next_of};
use crate::interviews::pad::{Answer, Document, Entry, Metadata, Mode, Pad, Question, Reply, Script, SectionChange};
use crate::interviews::start::{InterviewRequest, start};
use crate::model::{quoted, seconds};
use crate::runs::context::Context;

/// How to hold a conversation.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TalkRequest {
    /// The document, the script and the run.
    pub interview: InterviewRequest,
    /// The command that chooses the questions; without it, the script does.
    pub agent: Option<String>,
    /// The time limit for one reply of the agent, in seconds.
    #[serde(with = "seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub timeout: Duration,
    /// A file to which the agent's replies are appended.
    pub record: Option<PathBuf>,
    /// A file with recorded replies.
    pub replay: Option<PathBuf>,
}

/// A question to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedQuestion {
    /// Its number.
    pub number: u32,
    /// The number of questions, as far as it is known.
    pub total: u32,
    /// Its topic.
    pub topic: String,
    /// The text of the question.
    pub question: String,
    /// The previous answers, oldest first.
    pub before: Vec<String>,
    /// Its current answer, if the person went back to it.
    pub now: Option<Answer>,
    /// Whether the person can go back to a previous question.
    pub has_before: bool,
}

/// Two answers to one question: the person's, and one that was written while the person typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerConflict {
    /// The number of the question.
    pub number: u32,
    /// The answer in the document.
    pub theirs: Answer,
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
    /// Stop for now, or nobody is there.
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

/// The result of one round.
enum Round {
    /// A question was answered or skipped.
    Answered,
    /// The document changed, or the person went on: read it again.
    Again,
    /// Ask the question with this number again.
    Back(u32),
    /// The conversation is over.
    Over(InterviewRunReport),
}

/// Why a conversation stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterviewStop {
    /// The document is finished.
    Finished,
    /// There was nothing to ask.
    Nothing,
    /// A question is open, and nobody is there to answer it.
    NeedsHuman,
    /// The interviewer cannot continue.
    Failed,
}

impl InterviewStop {
    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Nothing => "nothing",
            Self::NeedsHuman => "needs_human",
            Self::Failed => "failed",
        }
    }
}

/// The report of `interview run`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterviewRunReport {
    /// The document, as it was named.
    pub document: PathBuf,
    /// Why the conversation stopped, as a code.
    pub stop: InterviewStop,
    /// Why it stopped, as a sentence.
    pub reason: String,
    /// How many questions were answered or skipped in this conversation.
    pub answered: usize,
    /// The sections, if the document is finished.
    pub sections: Vec<SectionChange>,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Holds a conversation until the document is finished, the person stops, or the interviewer cannot continue. Every
/// answer is in the document before the next question is asked.
///
/// # Errors
/// As [`crate::interviews::start`], and [`Error::Stopped`](crate::interviews::Error::Stopped) when a reply of the agent
/// cannot be used. Answers that were given stay in the document.
pub fn run(cx: &Context, request: &TalkRequest, person: &mut dyn Interviewee) -> Result<InterviewRunReport> {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| cx.absolute(path)).transpose();
    let has_agent = request.agent.is_some() || request.replay.is_some();
    let (record, replay) = (path(&request.record)?, path(&request.replay)?);
    let agent = Agent::new(&*cx.disk, request.agent.as_deref(), request.timeout, record, replay)?;
    let started = start(cx, &request.interview)?;
    for warning in &started.warnings {
        person.tell(&format!("warning: {warning}"));
    }
    let file = DocumentFile::at(cx, &request.interview.document)?;
    let script = script(cx, &file, &started.script)?;
    if !has_agent && started.next.kind == InterviewStep::Skip && !started.begun {
        return Ok(over(&file, InterviewStop::Nothing, started.next.message.unwrap_or_default(), 0));
    }
    let run = started.run_id.map(|run| run.to_string());
    let talk = Talk { cx, file, script, agent: has_agent.then_some(agent), run };
    let mut answered = 0;
    let mut back = None;
    loop {
        match talk.round(back.take(), person)? {
            Round::Answered => answered += 1,
            Round::Again => {}
            Round::Back(number) => back = Some(number),
            Round::Over(report) => return Ok(InterviewRunReport { answered, ..report }),
        }
    }
}

/// A conversation about one document.
struct Talk<'f> {
    cx: &'f Context,
    file: DocumentFile,
    script: Script,
    agent: Option<Agent<'f>>,
    /// The run that the interview belongs to.
    run: Option<String>,
}

impl Talk<'_> {
    /// Asks one question, or ends the conversation. `back` is the number of an answered question to ask again.
    fn round(&self, back: Option<u32>, person: &mut dyn Interviewee) -> Result<Round> {
        let Self { file, script, .. } = self;
        let text = file.text()?;
        let document = file.document(&text);
        let next = match document.pad() {
            Some(_) => Some(next_of(file, &InterviewState::of(file, &document, script)?)),
            None => None,
        };
        let again = back.and_then(|number| document.pad()?.entry(number));
        let is_open = document.pad().is_some_and(|pad| pad.open().is_some());
        match (&self.agent, next) {
            (_, Some(next)) if again.is_some() => self.put(&document, &next, again, person),
            (Some(agent), next) if !is_open => {
                let metadata = next.map(|next| next.metadata).unwrap_or_default();
                let told = state(file, script, &document, metadata);
                let reply = agent.ask(file, &told, &mut |line| person.tell(line))?;
                self.obey(&document, reply, person)
            }
            (_, Some(next)) if next.kind == InterviewStep::NextQuestion => self.put(&document, &next, None, person),
            (_, Some(_)) => self.close(&document, FinishRequest::default(), person),
            (_, None) => Err(file.fault(InterviewFault::Edit(crate::interviews::pad::EditError::NoPad))),
        }
    }

    /// Carries out the reply of an agent.
    fn obey(&self, document: &Document<'_>, reply: Reply, person: &mut dyn Interviewee) -> Result<Round> {
        let Self { file, script, .. } = self;
        let entries = document.pad().map(|pad| pad.entries.as_slice()).unwrap_or_default();
        match reply {
            Reply::NextQuestion { next_question, topic, .. } => {
                let number = document.pad().map_or(1, Pad::next_number);
                let topic = topic.unwrap_or_else(|| format!("Question {number}"));
                let question = Question { topic, asked: next_question };
                if let Some(again) = entries.iter().find(|entry| entry.is_like(&question)) {
                    let (number, topic) = (again.number, again.topic.clone());
                    return Err(file.fault(InterviewFault::AskedAgain { number, topic }));
                }
                if entries.len() >= usize::try_from(script.max_questions()).unwrap_or(usize::MAX) {
                    return Err(file.fault(InterviewFault::TooManyQuestions { most: script.max_questions() }));
                }
                self.write_question(&question, document.text())?;
                Ok(Round::Again)
            }
            Reply::Skip { message, .. } if document.pad().is_none_or(Pad::is_empty) => self.leave(document, message),
            Reply::Skip { message, .. } => {
                let reason =
                    format!("the interviewer has nothing more to ask ({message}), and answers wait in the document");
                Ok(Round::Over(over(file, InterviewStop::NeedsHuman, reason, 0)))
            }
            // The agent decides when the answers are enough, so `early` is set.
            Reply::Success { content, .. } => {
                let request = FinishRequest { content: Some(content), early: true, ..FinishRequest::default() };
                self.close(document, request, person)
            }
            Reply::Error { message, .. } => Ok(Round::Over(over(file, InterviewStop::Failed, message, 0))),
        }
    }

    /// Ends an interview in which nothing was asked, and restores the document.
    fn leave(&self, document: &Document<'_>, message: String) -> Result<Round> {
        let Self { cx, file, .. } = self;
        let mut report = over(file, InterviewStop::Nothing, message, 0);
        if document.pad().is_some() {
            let removed = file.update(&mut |old| match old {
                Some(text) if text == document.text() => Ok(document.without_pad()?),
                _ => Err(InterviewFault::ChangedMeanwhile),
            });
            match removed {
                Err(error) if is_about_change(&error) => return Ok(Round::Again),
                removed => removed?,
            }
            report.warnings = tell_end(cx, file, document, &Ending::Finished);
        }
        Ok(Round::Over(report))
    }

    /// Writes an agent's question into the document before the person sees it: after a kill, the agent cannot ask
    /// another question under that number.
    fn write_question(&self, question: &Question, seen: &str) -> Result<()> {
        let Self { cx, file, script, run, .. } = self;
        let head = head_of(cx, Mode::Update, script, run.clone());
        let mut now = String::new();
        file.update(&mut |old| {
            let text = old.ok_or(InterviewFault::Missing)?;
            now = text.to_owned();
            // Another program saved the document, perhaps with an answer; the next round chooses a question again.
            if text != seen {
                return Ok(text.to_owned());
            }
            let begun = match file.document(text) {
                document if document.pad().is_some() => text.to_owned(),
                document => document.begin(&head)?,
            };
            now = file.document(&begun).ask(question)?;
            Ok(now.clone())
        })?;
        let _ = tell_run(cx, file, &file.document(&now));
        Ok(())
    }

    /// Asks the person the next question, or with `again` one that has an answer.
    fn put(
        &self,
        document: &Document<'_>,
        next: &InterviewNext,
        again: Option<&Entry>,
        person: &mut dyn Interviewee,
    ) -> Result<Round> {
        let file = &self.file;
        let entries = document.pad().map(|pad| pad.entries.as_slice()).unwrap_or_default();
        let given = |entry: &Entry| match &entry.answer {
            Answer::Given(text) => Some(text.clone()),
            _ => None,
        };
        let number = again.map_or(next.metadata.question_number, |entry| entry.number);
        let answered = entries.iter().take_while(|entry| entry.number != number);
        let before = answered.filter(|entry| entry.answer != Answer::Open).last().map(|entry| entry.number);
        let asked = AskedQuestion {
            number,
            total: next.metadata.total_questions,
            topic: again.map_or(next.topic.clone(), |entry| Some(entry.topic.clone())).unwrap_or_default(),
            question: again.map_or(next.next_question.clone(), |entry| Some(entry.asked.clone())).unwrap_or_default(),
            before: entries.iter().filter_map(given).collect(),
            now: again.map(|entry| entry.answer.clone()),
            has_before: before.is_some(),
        };
        let answer = match person.ask(&asked)? {
            Response::Answer(text) => Answer::Given(text),
            Response::Skip(why) => Answer::Skipped(why),
            Response::Keep => return Ok(Round::Again),
            Response::Back => return Ok(before.map_or(Round::Again, Round::Back)),
            Response::Stop => {
                return Ok(Round::Over(over(file, InterviewStop::NeedsHuman, self.left(document, next), 0)));
            }
        };
        let replaces = asked.now.map_or(Replaces::Nothing, Replaces::Seen);
        let is_new = replaces == Replaces::Nothing;
        match self.write(number, answer, replaces, person)? {
            Round::Answered if !is_new => Ok(Round::Again),
            round => Ok(round),
        }
    }

    /// The reason in the report when the person stops: what is left to do.
    fn left(&self, document: &Document<'_>, next: &InterviewNext) -> String {
        let is_open = document.pad().is_some_and(|pad| pad.open().is_some());
        match next.kind {
            // The agent chooses the next question.
            _ if self.agent.is_some() && !is_open => "no question waits; the same command goes on".to_owned(),
            InterviewStep::NextQuestion => {
                let Metadata { question_number, total_questions, .. } = next.metadata;
                format!("question {question_number} of {total_questions} waits; the same command goes on with it")
            }
            _ => ALL_ASKED.to_owned(),
        }
    }

    /// Writes the person's answer. If the document got another answer meanwhile, the person decides which one to keep.
    fn write(
        &self,
        number: u32,
        mut answer: Answer,
        mut replaces: Replaces,
        person: &mut dyn Interviewee,
    ) -> Result<Round> {
        let file = &self.file;
        loop {
            let request = AnswerRequest {
                document: file.named.clone(),
                question: Some(number),
                asked: None,
                answer: answer.clone(),
                replaces: replaces.clone(),
            };
            let error = match answer::answer(self.cx, &request) {
                Ok(report) => {
                    for warning in report.warnings {
                        person.tell(&format!("warning: {warning}"));
                    }
                    return Ok(Round::Answered);
                }
                Err(error) => error,
            };
            let mine = match answer {
                Answer::Given(text) => Some(text),
                Answer::Skipped(_) | Answer::Open => None,
            };
            let theirs = match error {
                Error::Stopped { fault: InterviewFault::AnsweredMeanwhile { there, .. }, .. } => there,
                error @ Error::Stopped { fault: InterviewFault::OtherQuestion { .. }, .. } => return Err(error),
                error => {
                    return Err(match mine {
                        Some(given) => Error::Unwritten { source: Box::new(error), given },
                        None => error,
                    });
                }
            };
            let Some(mine) = mine else {
                person.tell(&format!("question {number} has an answer by now, which stays"));
                return Ok(Round::Again);
            };
            let clash = AnswerConflict { number, theirs, mine };
            let both = match person.settle(&clash)? {
                Resolution::Theirs => return Ok(Round::Again),
                Resolution::Later => return Ok(Round::Over(self.unsettled(&clash))),
                Resolution::Mine => None,
                Resolution::Both => match &clash.theirs {
                    Answer::Given(theirs) => Some(format!("{theirs}\n\n{}", clash.mine)),
                    Answer::Skipped(_) | Answer::Open => None,
                },
            };
            answer = Answer::Given(both.unwrap_or(clash.mine));
            replaces = Replaces::Seen(clash.theirs);
        }
    }

    /// The report when a conflict between two answers is not resolved: the document must not be finished without the
    /// person's answer.
    fn unsettled(&self, clash: &AnswerConflict) -> InterviewRunReport {
        let AnswerConflict { number, mine, .. } = clash;
        let command = self.file.suggest("interview answer").option("question", number).flag("replace");
        let dashes = if mine.starts_with('-') { "-- " } else { "" };
        let reason = format!(
            "question {number} got another answer meanwhile; yours was not written, and `{command} {dashes}{}` puts it in its place",
            quoted(mine)
        );
        over(&self.file, InterviewStop::NeedsHuman, reason, 0)
    }

    /// Finishes the document after the person has reviewed the answers.
    fn close(&self, document: &Document<'_>, request: FinishRequest, person: &mut dyn Interviewee) -> Result<Round> {
        let Self { cx, file, .. } = self;
        let entries = document.pad().map(|pad| pad.entries.as_slice()).unwrap_or_default();
        match person.review(&entries.iter().map(entry).collect::<Vec<_>>())? {
            Review::Finish => {}
            Review::Back(number) => return Ok(Round::Back(number)),
            Review::Stop => {
                return Ok(Round::Over(over(file, InterviewStop::NeedsHuman, ALL_ASKED.to_owned(), 0)));
            }
        }
        let seen = Some(document.text().to_owned());
        let finished = finish(cx, &FinishRequest { document: file.named.clone(), seen, ..request });
        let finished = match finished {
            Err(error) if is_about_change(&error) => return Ok(Round::Again),
            finished => finished?,
        };
        let (answered, skipped) = (finished.answered, finished.skipped);
        let reason = format!("{answered} answered, {skipped} skipped; the scratch pad is gone");
        let mut report = over(file, InterviewStop::Finished, reason, 0);
        (report.sections, report.warnings) = (finished.sections, finished.warnings);
        Ok(Round::Over(report))
    }
}

/// The reason in the report when only finishing is left to do.
const ALL_ASKED: &str = "all questions are asked; the same command finishes the document";

/// Whether another program saved the document; then the next round reads it again.
fn is_about_change(error: &Error) -> bool {
    matches!(error, Error::Stopped { fault: InterviewFault::ChangedMeanwhile, .. })
}

fn over(file: &DocumentFile, stop: InterviewStop, reason: String, answered: usize) -> InterviewRunReport {
    let (sections, warnings) = (Vec::new(), Vec::new());
    InterviewRunReport { document: file.named.clone(), stop, reason, answered, sections, warnings }
}
