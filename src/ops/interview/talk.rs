//! `interview run`: the loop of seed 004. The interviewer says what to ask, the person answers, the answer goes into the
//! document; only then comes the next question. Nothing is remembered between two rounds but what the document holds.

use std::path::PathBuf;
use std::time::Duration;

use crate::interview::{Answer, Document, Mode, Pad, Question, Reply, Script};
use crate::ops::error::{Error, InterviewFault, Result};
use crate::ops::flow::Flow;
use crate::ops::interview::agent::{Agent, state};
use crate::ops::interview::link::Ending;
use crate::ops::interview::paper::Paper;
use crate::ops::interview::{AnswerRequest, FinishRequest, InterviewRequest, Standing, next};
use crate::ops::problem::one_line;
use crate::report::{InterviewNext, InterviewRunReport, InterviewStep, InterviewStop};

/// Which conversation to hold.
#[derive(Debug, Clone, Default)]
pub struct TalkRequest {
    /// Where.
    pub interview: InterviewRequest,
    /// The command that says what to ask; otherwise the script does.
    pub agent: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// A file to which its answers are added.
    pub record: Option<PathBuf>,
    /// A file with its answers of before.
    pub replay: Option<PathBuf>,
}

/// A question, as a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Its number.
    pub number: u32,
    /// How many there are, as far as is known.
    pub total: u32,
    /// What it is about.
    pub topic: String,
    /// The question.
    pub question: String,
    /// The answers given so far, in their order.
    pub before: Vec<String>,
}

/// What a person says to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// This.
    Answer(String),
    /// Nothing, for this reason.
    Skip(String),
    /// That it is enough for now, or nobody is there.
    Stop,
}

/// The person who is interviewed.
pub trait Interviewee {
    /// Answers a question.
    ///
    /// # Errors
    /// When what was said cannot be read.
    fn ask(&mut self, question: &Asked) -> Result<Said>;
    /// Learns something on the way.
    fn tell(&mut self, line: &str);
}

/// What one round came to.
enum Round {
    /// A question was answered or passed over.
    Answered,
    /// Somebody else was faster; the next round sees it.
    Again,
    /// It is over.
    Over(InterviewRunReport),
}

impl Flow {
    /// Holds the conversation until the document is finished, a person leaves, or the interviewer cannot go on. Whatever
    /// was answered is in the document before the next question comes.
    ///
    /// # Errors
    /// As [`Flow::interview_start`], and [`Error::Interview`] when the agent answers nothing of use. What was answered stays.
    pub fn interview_run(&self, request: &TalkRequest, person: &mut dyn Interviewee) -> Result<InterviewRunReport> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| self.absolute(path)).transpose();
        let has_agent = request.agent.is_some() || request.replay.is_some();
        let (record, replay) = (path(&request.record)?, path(&request.replay)?);
        let agent = Agent::new(request.agent.as_deref(), request.timeout, record, replay)?;
        let started = self.interview_start(&request.interview)?;
        for warning in &started.warnings {
            person.tell(&format!("warning: {warning}"));
        }
        let paper = Paper::at(self, &request.interview.document)?;
        let script = self.script(&paper, &started.script)?;
        if !has_agent && started.next.kind == InterviewStep::Skip && !started.begun {
            return Ok(over(&paper, InterviewStop::Nothing, started.next.message.unwrap_or_default(), 0));
        }
        let run = started.run_id.map(|run| run.to_string());
        let talk = Talk { flow: self, paper, script, agent: has_agent.then_some(agent), run };
        let mut answered = 0;
        loop {
            match talk.round(person)? {
                Round::Answered => answered += 1,
                Round::Again => {}
                Round::Over(report) => return Ok(InterviewRunReport { answered, ..report }),
            }
        }
    }
}

/// A conversation about one document.
struct Talk<'f> {
    flow: &'f Flow,
    paper: Paper,
    script: Script,
    agent: Option<Agent<'f>>,
    /// The run that it belongs to.
    run: Option<String>,
}

impl Talk<'_> {
    /// One question, or the end.
    fn round(&self, person: &mut dyn Interviewee) -> Result<Round> {
        let Self { paper, script, .. } = self;
        let text = paper.text()?;
        let document = Document::read(&text);
        let next = match document.pad() {
            Some(_) => Some(next(paper, &Standing::of(paper, &document, script)?)),
            None => None,
        };
        let is_open = document.pad().is_some_and(|pad| pad.open().is_some());
        match (&self.agent, next) {
            (Some(agent), next) if !is_open => {
                let metadata = next.map(|next| next.metadata).unwrap_or_default();
                let told = state(paper, script, &document, metadata);
                let reply = agent.ask(paper, &told, &mut |line| person.tell(line))?;
                self.obey(&document, reply)
            }
            (_, Some(next)) if next.kind == InterviewStep::NextQuestion => self.put(&document, &next, person),
            (_, Some(_)) => self.close(FinishRequest::default()),
            (_, None) => Err(paper.fault(InterviewFault::Edit(crate::interview::EditError::NoPad))),
        }
    }

    /// Does what an agent says.
    fn obey(&self, document: &Document<'_>, reply: Reply) -> Result<Round> {
        let Self { paper, script, .. } = self;
        let entries = document.pad().map(|pad| pad.entries.as_slice()).unwrap_or_default();
        match reply {
            Reply::NextQuestion { next_question, topic, .. } => {
                let number = document.pad().map_or(1, Pad::next_number);
                let topic = topic.unwrap_or_else(|| format!("Question {number}"));
                let question = Question { topic, asked: next_question };
                if let Some(again) = entries.iter().find(|entry| entry.is_like(&question)) {
                    let (number, topic) = (again.number, again.topic.clone());
                    return Err(paper.fault(InterviewFault::AskedAgain { number, topic }));
                }
                if entries.len() >= usize::try_from(script.max_questions()).unwrap_or(usize::MAX) {
                    return Err(paper.fault(InterviewFault::TooManyQuestions { most: script.max_questions() }));
                }
                self.write_question(&question, document.text())?;
                Ok(Round::Again)
            }
            Reply::Skip { message, .. } if document.pad().is_none_or(Pad::is_empty) => self.leave(document, message),
            Reply::Skip { message, .. } => {
                let reason =
                    format!("the interviewer has nothing more to ask ({message}), and answers wait in the document");
                Ok(Round::Over(over(paper, InterviewStop::NeedsHuman, reason, 0)))
            }
            // An agent decides itself when it is enough.
            Reply::Success { content, .. } => {
                let seen = Some(document.text().to_owned());
                self.close(FinishRequest { content: Some(content), early: true, seen, ..FinishRequest::default() })
            }
            Reply::Error { message, .. } => Ok(Round::Over(over(paper, InterviewStop::Failed, message, 0))),
        }
    }

    /// Ends an interview in which nothing was asked; the document is as it was before it.
    fn leave(&self, document: &Document<'_>, message: String) -> Result<Round> {
        let Self { flow, paper, .. } = self;
        let mut report = over(paper, InterviewStop::Nothing, message, 0);
        if document.pad().is_some() {
            let removed = paper.update(&mut |old| match old {
                Some(text) if text == document.text() => Ok(document.without_pad()?),
                _ => Err(InterviewFault::ChangedMeanwhile),
            });
            match removed {
                Err(error) if is_about_change(&error) => return Ok(Round::Again),
                removed => removed?,
            }
            report.warnings = flow.tell_end(paper, document, &Ending::Finished);
        }
        Ok(Round::Over(report))
    }

    /// Notes what an agent asks before anybody is asked: a kill must not let it ask something else under that number.
    fn write_question(&self, question: &Question, seen: &str) -> Result<()> {
        let Self { flow, paper, script, run, .. } = self;
        let head = flow.head(Mode::Update, script, run.clone());
        let mut now = String::new();
        paper.update(&mut |old| {
            let text = old.ok_or(InterviewFault::Missing)?;
            now = text.to_owned();
            // Who saved meanwhile may have answered it already; the next round asks again what to ask.
            if text != seen {
                return Ok(text.to_owned());
            }
            let begun = match Document::read(text) {
                document if document.pad().is_some() => text.to_owned(),
                document => document.begin(&head)?,
            };
            now = Document::read(&begun).ask(question)?;
            Ok(now.clone())
        })?;
        let _ = flow.tell_run(paper, &Document::read(&now));
        Ok(())
    }

    /// Asks the person.
    fn put(&self, document: &Document<'_>, next: &InterviewNext, person: &mut dyn Interviewee) -> Result<Round> {
        let paper = &self.paper;
        let entries = document.pad().map(|pad| pad.entries.as_slice()).unwrap_or_default();
        let given = |entry: &crate::interview::Entry| match &entry.answer {
            Answer::Given(text) => Some(text.clone()),
            _ => None,
        };
        let asked = Asked {
            number: next.metadata.question_number,
            total: next.metadata.total_questions,
            topic: next.topic.clone().unwrap_or_default(),
            question: next.next_question.clone().unwrap_or_default(),
            before: entries.iter().filter_map(given).collect(),
        };
        let answer = match person.ask(&asked)? {
            Said::Answer(text) => Answer::Given(text),
            Said::Skip(why) => Answer::Skipped(why),
            Said::Stop => {
                let Asked { number, total, .. } = asked;
                let reason = format!("question {number} of {total} waits; the same command goes on with it");
                return Ok(Round::Over(over(paper, InterviewStop::NeedsHuman, reason, 0)));
            }
        };
        let request = AnswerRequest {
            document: paper.named.clone(),
            question: Some(asked.number),
            asked: None,
            answer,
            replaces: false,
        };
        match self.flow.interview_answer(&request) {
            Ok(report) => {
                for warning in report.warnings {
                    person.tell(&format!("warning: {warning}"));
                }
                Ok(Round::Answered)
            }
            Err(error @ Error::Interview { fault: InterviewFault::AnsweredMeanwhile { .. }, .. }) => {
                person.tell(&one_line(&error));
                Ok(Round::Again)
            }
            Err(error) => Err(error),
        }
    }

    fn close(&self, request: FinishRequest) -> Result<Round> {
        let Self { flow, paper, .. } = self;
        let finished = flow.interview_finish(&FinishRequest { document: paper.named.clone(), ..request });
        let finished = match finished {
            Err(error) if is_about_change(&error) => return Ok(Round::Again),
            finished => finished?,
        };
        let (answered, skipped) = (finished.answered, finished.skipped);
        let reason = format!("{answered} answered, {skipped} skipped; the scratch pad is gone");
        let mut report = over(paper, InterviewStop::Finished, reason, 0);
        (report.sections, report.warnings) = (finished.sections, finished.warnings);
        Ok(Round::Over(report))
    }
}

/// Whether somebody saved the document meanwhile; the next round sees what is there now.
fn is_about_change(error: &Error) -> bool {
    matches!(error, Error::Interview { fault: InterviewFault::ChangedMeanwhile, .. })
}

fn over(paper: &Paper, stop: InterviewStop, reason: String, answered: usize) -> InterviewRunReport {
    let (sections, warnings) = (Vec::new(), Vec::new());
    InterviewRunReport { document: paper.named.clone(), stop, reason, answered, sections, warnings }
}
