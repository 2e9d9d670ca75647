//! `interview run`: the loop of rp1. The interviewer chooses a question, the person answers, and the answer is written
//! into the document before the next question. All state between two rounds is in the document.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::disk::Links;
use crate::interviews::agent::{CORRECT_AGENT, Interviewer, state};
use crate::interviews::answer::{self, AnswerRequest, Replaces};
use crate::interviews::close::{FinishRequest, finish};
use crate::interviews::document_file::{DocumentFile, head_of, script};
use crate::interviews::error::{Error, Result};
use crate::interviews::fault::{InterviewFault, unwritten};
use crate::interviews::gone::text_of;
use crate::interviews::interviewee::{AnswerConflict, AskedQuestion, Interviewee, Resolution, Response, Review};
use crate::interviews::link::{InterviewEnd, update_run};
use crate::interviews::next::{InterviewNext, InterviewState, InterviewStep, entry, next_of};
use crate::interviews::pad::{
    EditError, InterviewAnswer, InterviewDocument, InterviewQuestion, Metadata, Pad, PadEntry, PadMode, Reply, Script,
    SectionChange,
};
use crate::interviews::start::{InterviewRequest, start};
use crate::model::{Explain as _, Kind, Problem, RunId, quoted, seconds};
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
    /// A question is open, and no person is there to answer it.
    NeedsHuman,
    /// The interviewer cannot continue.
    Failed,
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
    let has_agent = request.agent.is_some() || request.replay.is_some();
    let record = request.record.as_ref().map(|path| cx.absolute(path)).transpose()?;
    let replay = request.replay.as_ref().map(|path| cx.absolute(path)).transpose()?;
    // Before anything is written: a file of recorded calls may be missing, or a sparse checkout leaves it out.
    for path in record.iter().chain(&replay) {
        if cx.disk.look(path, Links::Follow).is_err() {
            cx.refuse_left_out_path(path)?;
        }
    }
    let agent = Interviewer::new(&*cx.disk, request.agent.as_deref(), request.timeout, record, replay)?;
    let started = start(cx, &request.interview)?;
    for warning in &started.warnings {
        person.tell(&format!("warning: {warning}"));
    }
    let file = DocumentFile::at(cx, &request.interview.document)?;
    let script = script(&file, &started.script)?;
    if !has_agent && started.next.kind == InterviewStep::Skip && !started.begun {
        return Ok(over(&file, InterviewStop::Nothing, started.next.message.unwrap_or_default()));
    }
    let agent = if has_agent { Some(agent) } else { None };
    let talk = Dialogue { cx, file, script, agent, run: started.run_id };
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
struct Dialogue<'f> {
    cx: &'f Context,
    file: DocumentFile,
    script: Script,
    agent: Option<Interviewer<'f>>,
    /// The run that the interview belongs to.
    run: Option<RunId>,
}

impl Dialogue<'_> {
    /// Asks one question, or ends the conversation. `back` is the number of an answered question to ask again.
    fn round(&self, back: Option<u32>, person: &mut dyn Interviewee) -> Result<Round> {
        let Self { file, script, .. } = self;
        let text = text_of(file)?;
        let document = file.document(&text);
        if document.pad().is_none() {
            // An agent may begin the interview; a script's was begun before the first round.
            return match &self.agent {
                Some(agent) => self.ask_agent(agent, &document, Metadata::default(), person),
                None => Err(file.fault(InterviewFault::Edit(EditError::NoPad))),
            };
        }
        let next = next_of(file, &InterviewState::of(file, &document, script)?);
        if let Some(number) = back
            && let Some(again) = document.entries().iter().find(|entry| entry.number == number)
        {
            return self.ask_person(&document, &next, Some(again), person);
        }
        match &self.agent {
            // A question that is in the document is asked first, so that none is asked twice after a kill.
            Some(agent) if !has_open_question(&document) => self.ask_agent(agent, &document, next.metadata, person),
            _ if next.kind == InterviewStep::NextQuestion => self.ask_person(&document, &next, None, person),
            _ => self.close(&document, FinishRequest::default(), person),
        }
    }

    /// Gets the reply of an agent, and carries it out.
    fn ask_agent(
        &self,
        agent: &Interviewer<'_>,
        document: &InterviewDocument<'_>,
        metadata: Metadata,
        person: &mut dyn Interviewee,
    ) -> Result<Round> {
        let Self { file, script, .. } = self;
        let reply = agent.ask(file, &state(file, script, document, metadata), &mut |line| person.tell(line))?;
        let entries = document.entries();
        match reply {
            Reply::NextQuestion { next_question, topic, .. } => {
                let named = file.named.display();
                let number = document.pad().map_or(1, Pad::next_number);
                let topic = topic.unwrap_or_else(|| format!("Question {number}"));
                let question = InterviewQuestion { topic, asked: next_question };
                // An agent without memory could otherwise ask the same question without end.
                if let Some(again) = entries.iter().find(|entry| entry.is_like(&question)) {
                    let message = format!(
                        "the interviewer asks about `{}` again, which was question {} of {named}",
                        again.topic, again.number
                    );
                    return Err(Problem::new(Kind::Refused, "asked_again", message).help(CORRECT_AGENT).into());
                }
                if entries.len() >= usize::try_from(script.max_questions()).unwrap_or(usize::MAX) {
                    let most = script.max_questions();
                    let message = format!("the interviewer asks more than {most} questions about {named}");
                    return Err(Problem::new(Kind::Refused, "too_many_questions", message).help(CORRECT_AGENT).into());
                }
                self.write_question(&question, document.text())?;
                Ok(Round::Again)
            }
            Reply::Skip { message, .. } if document.pad().is_none_or(Pad::is_empty) => self.leave(document, message),
            Reply::Skip { message, .. } => {
                let reason =
                    format!("the interviewer has nothing more to ask ({message}), and answers wait in the document");
                Ok(Round::Over(over(file, InterviewStop::NeedsHuman, reason)))
            }
            // The agent decides when the answers are enough, so `early` is set.
            Reply::Success { content, .. } => {
                let request = FinishRequest { content: Some(content), early: true, ..FinishRequest::default() };
                self.close(document, request, person)
            }
            Reply::Error { message, .. } => Ok(Round::Over(over(file, InterviewStop::Failed, message))),
        }
    }

    /// Ends an interview in which nothing was asked, and restores the document.
    fn leave(&self, document: &InterviewDocument<'_>, message: String) -> Result<Round> {
        let file = &self.file;
        let mut report = over(file, InterviewStop::Nothing, message);
        if document.pad().is_some() {
            // The reply is about the document that the agent saw; an answer that came since would go with the pad.
            let removed = file.update(&mut |old| match old {
                Some(text) if text == document.text() => Ok(document.without_pad()?),
                _ => Err(InterviewFault::ChangedMeanwhile),
            });
            if let Err(error) = removed {
                return if is_about_change(&error) { Ok(Round::Again) } else { Err(error) };
            }
            report.warnings = update_run(file, document, Some(&InterviewEnd::Finished));
        }
        Ok(Round::Over(report))
    }

    /// Writes an agent's question into the document before the person sees it: after a kill, the agent cannot ask
    /// another question under that number.
    fn write_question(&self, question: &InterviewQuestion, seen: &str) -> Result<()> {
        let Self { file, script, run, .. } = self;
        let head = head_of(file, PadMode::Update, script, run.as_ref());
        let mut now = String::new();
        file.update(&mut |old| {
            let text = old.ok_or_else(InterviewFault::missing)?;
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
        // A failure is reported with the answer, which updates the run again.
        let _ = update_run(file, &file.document(&now), None);
        Ok(())
    }

    /// Asks the person the next question, or with `again` one that has an answer.
    fn ask_person(
        &self,
        document: &InterviewDocument<'_>,
        next: &InterviewNext,
        again: Option<&PadEntry>,
        person: &mut dyn Interviewee,
    ) -> Result<Round> {
        let mut asked = AskedQuestion {
            number: next.metadata.question_number,
            total: next.metadata.total_questions,
            topic: next.topic.clone().unwrap_or_default(),
            question: next.next_question.clone().unwrap_or_default(),
            before: Vec::new(),
            now: None,
            has_before: false,
        };
        if let Some(entry) = again {
            asked.number = entry.number;
            asked.topic.clone_from(&entry.topic);
            asked.question.clone_from(&entry.asked);
            asked.now = Some(entry.answer.clone());
        }
        for entry in document.entries() {
            asked.before.extend(entry.answer.given().map(str::to_owned));
        }
        // The last question above it that has an answer or was skipped.
        let above = document.entries().iter().take_while(|entry| entry.number != asked.number);
        let previous = above.filter(|entry| entry.answer != InterviewAnswer::Open).last();
        asked.has_before = previous.is_some();
        let response = person.ask(&asked)?;
        let answer = match response {
            Response::Answer(text) => InterviewAnswer::Given(text),
            Response::Skip(why) => InterviewAnswer::Skipped(why),
            Response::Keep => return Ok(Round::Again),
            Response::Back => return Ok(previous.map_or(Round::Again, |entry| Round::Back(entry.number))),
            Response::Stop => {
                return Ok(Round::Over(over(&self.file, InterviewStop::NeedsHuman, self.left(document, next))));
            }
        };
        let is_correction = asked.now.is_some();
        let replaces = asked.now.map_or(Replaces::Nothing, Replaces::Seen);
        let round = self.write(asked.number, answer, replaces, person)?;
        // A correction is not one more answer in the report.
        Ok(if is_correction && matches!(round, Round::Answered) { Round::Again } else { round })
    }

    /// The reason in the report when the person stops: what is left to do.
    fn left(&self, document: &InterviewDocument<'_>, next: &InterviewNext) -> String {
        match next.kind {
            // The agent chooses the next question.
            _ if self.agent.is_some() && !has_open_question(document) => {
                "no question waits; the same command goes on".to_owned()
            }
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
        mut answer: InterviewAnswer,
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
            let written = answer::answer(self.cx, &request);
            let mine = answer.given().map(str::to_owned);
            let theirs = match written {
                Ok(report) => {
                    for warning in report.warnings {
                        person.tell(&format!("warning: {warning}"));
                    }
                    return Ok(Round::Answered);
                }
                Err(Error::Stopped { fault: InterviewFault::AnsweredMeanwhile { there, .. }, .. }) => there,
                Err(error @ Error::Stopped { fault: InterviewFault::OtherQuestion { .. }, .. }) => return Err(error),
                Err(error) => {
                    // The person typed it once, so the message has it.
                    return Err(match mine {
                        Some(given) => error.problem().because([unwritten(&given)]).into(),
                        None => error,
                    });
                }
            };
            let Some(mine) = mine else {
                person.tell(&format!("question {number} has an answer by now, which stays"));
                return Ok(Round::Again);
            };
            let clash = AnswerConflict { number, theirs, mine };
            let resolution = person.settle(&clash)?;
            let text = match resolution {
                Resolution::Theirs => return Ok(Round::Again),
                Resolution::Later => return Ok(Round::Over(self.unsettled(&clash))),
                Resolution::Mine => clash.mine,
                Resolution::Both => match clash.theirs.given() {
                    Some(theirs) => format!("{theirs}\n\n{}", clash.mine),
                    None => clash.mine,
                },
            };
            answer = InterviewAnswer::Given(text);
            // Only what the person has seen: if another answer came in between, they choose again.
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
        over(&self.file, InterviewStop::NeedsHuman, reason)
    }

    /// Finishes the document after the person has reviewed the answers.
    fn close(
        &self,
        document: &InterviewDocument<'_>,
        request: FinishRequest,
        person: &mut dyn Interviewee,
    ) -> Result<Round> {
        let Self { cx, file, .. } = self;
        let answers: Vec<_> = document.entries().iter().map(entry).collect();
        let review = person.review(&answers)?;
        match review {
            Review::Finish => {}
            Review::Back(number) => return Ok(Round::Back(number)),
            Review::Stop => {
                return Ok(Round::Over(over(file, InterviewStop::NeedsHuman, ALL_ASKED.to_owned())));
            }
        }
        let seen = Some(document.text().to_owned());
        let finished = match finish(cx, &FinishRequest { document: file.named.clone(), seen, ..request }) {
            Err(error) if is_about_change(&error) => return Ok(Round::Again),
            finished => finished?,
        };
        let reason = format!("{} answered, {} skipped; the scratch pad is gone", finished.answered, finished.skipped);
        let mut report = over(file, InterviewStop::Finished, reason);
        report.sections = finished.sections;
        report.warnings = finished.warnings;
        Ok(Round::Over(report))
    }
}

/// The reason in the report when only finishing is left to do.
const ALL_ASKED: &str = "all questions are asked; the same command finishes the document";

/// Whether another program saved the document; then the next round reads it again.
fn is_about_change(error: &Error) -> bool {
    matches!(error, Error::Stopped { fault: InterviewFault::ChangedMeanwhile, .. })
}

/// A report without what only some ends have: `run` counts the answers.
fn over(file: &DocumentFile, stop: InterviewStop, reason: String) -> InterviewRunReport {
    let (sections, warnings) = (Vec::new(), Vec::new());
    InterviewRunReport { document: file.named.clone(), stop, reason, answered: 0, sections, warnings }
}

fn has_open_question(document: &InterviewDocument<'_>) -> bool {
    document.entries().iter().any(|entry| entry.answer == InterviewAnswer::Open)
}
