//! Interviews that resume (seed 004): the document that is written holds the questions and answers, so every verb reads it,
//! decides, and replaces it on stable storage before it answers.

mod agent;
mod close;
mod link;
mod paper;
mod talk;

use std::path::{Path, PathBuf};

use serde_json::Map;

use crate::interview::{Answer, Document, EditError, Entry, Head, Metadata, Mode, Pad, Question, Script, Step};
use crate::model::{RunId, limits};
use crate::ops::error::{Error, InterviewFault, Result};
use crate::ops::flow::Flow;
use crate::ops::interview::paper::{CHARTER, Paper, mode_of, pad};
use crate::report::{
    EntryStatus, InterviewAnswerReport, InterviewEntry, InterviewNext, InterviewSection, InterviewStartReport,
    InterviewStatusReport, InterviewStep,
};

pub use close::{FinishRequest, read_content};
pub(crate) use link::UNIT;
pub use talk::{Asked, Interviewee, Said, TalkRequest};

/// Where to begin an interview.
#[derive(Debug, Clone, Default)]
pub struct InterviewRequest {
    /// The document.
    pub document: PathBuf,
    /// The script; otherwise the one that the document names, or the charter's.
    pub script: Option<String>,
    /// The run that it belongs to.
    pub run: Option<String>,
}

/// What to say to a question.
#[derive(Debug, Clone)]
pub struct AnswerRequest {
    /// The document.
    pub document: PathBuf,
    /// The number of the question; otherwise the one that is next.
    pub question: Option<u32>,
    /// A question of the caller's own, when it is not in the document yet.
    pub asked: Option<Question>,
    /// The answer, or why there is none.
    pub answer: Answer,
    /// Whether it takes the place of another answer.
    pub replaces: bool,
}

/// What is known about a document in one moment.
struct Standing<'d> {
    pad: &'d Pad,
    script: Script,
    step: Step,
    metadata: Metadata,
}

impl Flow {
    fn standing<'d>(&self, paper: &Paper, document: &'d Document<'_>) -> Result<Standing<'d>> {
        let pad = pad(document).map_err(|fault| paper.fault(fault))?;
        let script = self.script_of(&pad.head)?;
        let (step, metadata) = script.step(document, pad);
        Ok(Standing { pad, script, step, metadata })
    }

    /// Begins an interview, or finds the one that is there. A document that does not exist is made, with its sections and
    /// the scratch pad at once.
    ///
    /// # Errors
    /// [`Error::Catalog`] for a script that cannot be used, [`Error::Document`] and [`Error::Interview`] when the document
    /// cannot. Nothing is written then.
    pub fn interview_start(&self, request: &InterviewRequest) -> Result<InterviewStartReport> {
        let paper = Paper::at(self, &request.document)?;
        let run = match &request.run {
            Some(run) => Some(self.run(&self.project()?, run)?.id().clone()),
            None => None,
        };
        let there = paper.read()?.unwrap_or_default();
        let before = Document::read(&there);
        let named = request.script.as_deref();
        let noted = before.pad().and_then(|pad| pad.head.script.as_deref());
        let script = self.script(named.or(noted).unwrap_or(CHARTER))?.0;
        let head = |mode| Head {
            mode: Some(mode),
            started: Some(self.now().in_seconds()),
            script: (script.id() != CHARTER).then(|| script.id().to_owned()),
            run: run.as_ref().map(RunId::to_string),
        };
        let is_plain = before.pad().is_none() && !there.trim().is_empty();
        let (was_open, mut warnings) = if is_plain { self.tell_late_end(&paper) } else { (false, Vec::new()) };
        if was_open {
            let next = nothing(&paper, "it is finished, which its run knows now");
            let (document, script) = (paper.named, script.id().to_owned());
            let (mode, begun) = (Mode::Update, false);
            return Ok(InterviewStartReport { document, mode, script, run_id: None, begun, next, warnings });
        }
        let mut found = Mode::Create;
        let mut begun = false;
        let mut now = String::new();
        paper.update(&mut |old| {
            let text = old.unwrap_or_default();
            begun = false;
            let new = match Document::read(text) {
                document if document.pad().is_some() => {
                    found = Mode::Resume;
                    same_script(pad(&document)?, named)?;
                    same_run(document.only_pad()?, run.as_ref())?;
                    text.to_owned()
                }
                _ if text.trim().is_empty() => {
                    (found, begun) = (Mode::Create, true);
                    Document::read(&script.skeleton()).begin(&head(Mode::Create))?
                }
                document => {
                    found = Mode::Update;
                    let with_pad = document.begin(&head(Mode::Update))?;
                    begun = has_questions(&script, &with_pad);
                    if begun { with_pad } else { text.to_owned() }
                }
            };
            now.clone_from(&new);
            Ok(new)
        })?;
        let document = Document::read(&now);
        let (next, script, run_id) = match document.pad() {
            Some(_) => {
                let standing = self.standing(&paper, &document)?;
                warnings.extend(faults(standing.pad));
                let linked = standing.pad.head.run.as_deref().and_then(|run| RunId::new(run).ok());
                (next(&paper, &standing), standing.script.id().to_owned(), linked)
            }
            None => (nothing(&paper, FILLED), script.id().to_owned(), run),
        };
        warnings.extend(self.tell_run(&paper, &document));
        Ok(InterviewStartReport { document: paper.named, mode: found, script, run_id, begun, next, warnings })
    }

    /// What comes next. Writes nothing.
    ///
    /// # Errors
    /// [`Error::Interview`] when there is no interview in the document, or it cannot be read.
    pub fn interview_next(&self, document: &Path) -> Result<InterviewNext> {
        let paper = Paper::at(self, document)?;
        let text = paper.text()?;
        let document = Document::read(&text);
        Ok(next(&paper, &self.standing(&paper, &document)?))
    }

    /// How an interview stands. Writes nothing.
    ///
    /// # Errors
    /// As [`Self::interview_next`].
    pub fn interview_status(&self, document: &Path) -> Result<InterviewStatusReport> {
        let paper = Paper::at(self, document)?;
        let text = paper.text()?;
        let document = Document::read(&text);
        let standing = self.standing(&paper, &document)?;
        let Head { started, run, .. } = standing.pad.head.clone();
        let sections = document.sections(&standing.script).into_iter().map(|section| InterviewSection {
            id: section.id,
            heading: section.heading,
            fill: section.fill,
            line: section.line,
        });
        Ok(InterviewStatusReport {
            mode: mode_of(standing.pad),
            script: standing.script.id().to_owned(),
            started,
            run_id: run,
            entries: standing.pad.entries.iter().map(entry).collect(),
            sections: sections.collect(),
            problems: standing.pad.faults.clone(),
            next: next(&paper, &standing),
            document: paper.named.clone(),
            warnings: Vec::new(),
        })
    }

    /// Puts an answer, or why there is none, into the scratch pad; on stable storage when this returns.
    ///
    /// # Errors
    /// [`Error::Interview`]: another answer stands there, there is no such question, or nothing is asked any more.
    pub fn interview_answer(&self, request: &AnswerRequest) -> Result<InterviewAnswerReport> {
        let paper = Paper::at(self, &request.document)?;
        if matches!(&request.answer, Answer::Given(text) | Answer::Skipped(text) if text.len() > limits::ANSWER_BYTES) {
            return Err(paper.fault(InterviewFault::AnswerTooLong));
        }
        // Which question is meant is decided before the lock is taken: somebody else may answer it meanwhile.
        let seen = paper.text()?;
        let seen = Document::read(&seen);
        let standing = self.standing(&paper, &seen)?;
        let (number, question) = meant(request, &standing).map_err(|fault| paper.fault(fault))?;
        let mut now = String::new();
        let mut repeated = false;
        paper.update(&mut |old| {
            let text = old.ok_or(InterviewFault::Missing)?;
            let document = Document::read(text);
            let entry = document.only_pad()?.entry(number);
            if let (Some(entry), Some(question)) = (entry, &question)
                && !entry.asks(question)
            {
                return Err(InterviewFault::OtherQuestion { number, asked: entry.asked.clone() });
            }
            let new = match (&request.answer, request.replaces && entry.is_some()) {
                (Answer::Given(answer), true) => document.correct(number, answer)?,
                (answer, _) => document
                    .answer(number, question.as_ref(), answer.clone())
                    .map_err(|error| InterviewFault::of_answer(error, &request.answer))?,
            };
            repeated = new == text;
            now.clone_from(&new);
            Ok(new)
        })?;
        let document = Document::read(&now);
        let standing = self.standing(&paper, &document)?;
        let entry = standing.pad.entry(number).map(entry).expect("BUG: an answered question is not there");
        let mut warnings = faults(standing.pad);
        warnings.extend(self.tell_run(&paper, &document));
        Ok(InterviewAnswerReport {
            question: number,
            topic: entry.topic,
            status: entry.status,
            repeated,
            next: next(&paper, &standing),
            document: paper.named.clone(),
            warnings,
        })
    }
}

/// Whether the script has anything to ask about a text with a fresh pad.
fn has_questions(script: &Script, text: &str) -> bool {
    let document = Document::read(text);
    document.pad().is_some_and(|pad| script.step(&document, pad).0 != Step::Nothing)
}

/// An interview goes on by the script with which it began.
fn same_script(pad: &Pad, named: Option<&str>) -> std::result::Result<(), InterviewFault> {
    let script = pad.head.script.as_deref().unwrap_or(CHARTER);
    match named {
        Some(named) if named != script => Err(InterviewFault::OtherScript { script: script.to_owned() }),
        _ => Ok(()),
    }
}

fn same_run(pad: &Pad, named: Option<&RunId>) -> std::result::Result<(), InterviewFault> {
    match (named, pad.head.run.as_deref()) {
        (Some(named), run) if run != Some(named.as_str()) => {
            Err(InterviewFault::OtherRun { run: run.map(str::to_owned) })
        }
        _ => Ok(()),
    }
}

/// Which question an answer is meant for, and its words when it is not in the pad yet.
fn meant(
    request: &AnswerRequest,
    standing: &Standing<'_>,
) -> std::result::Result<(u32, Option<Question>), InterviewFault> {
    let (next, words) = match &standing.step {
        Step::Open { number, .. } => (Some(*number), None),
        Step::Ask { number, question } => (Some(*number), Some(question.clone())),
        Step::Complete | Step::Nothing => (None, None),
    };
    if let Some(own) = &request.asked {
        // A command that is given once more is meant for the question that it asked before.
        let asked = standing.pad.entries.iter().find(|entry| entry.asks(own)).or(standing.pad.open());
        let number = asked.map_or(standing.pad.next_number(), |entry| entry.number);
        return Ok((request.question.unwrap_or(number), Some(own.clone())));
    }
    let Some(number) = request.question else {
        let number = next.ok_or(InterviewFault::NothingToAsk)?;
        // A command that is given once more after it did its work is meant for the question before.
        let last = standing.pad.entries.iter().rfind(|entry| entry.answer != Answer::Open);
        let is_same = |entry: &&Entry| match (&entry.answer, &request.answer) {
            (Answer::Given(there), Answer::Given(given)) => there == given.trim(),
            _ => false,
        };
        return match last.filter(is_same) {
            Some(last) => Err(InterviewFault::SameAnswer { last: last.number, next: number }),
            None => Ok((number, words)),
        };
    };
    Ok((number, words.filter(|_| next == Some(number))))
}

fn entry(entry: &Entry) -> InterviewEntry {
    let (status, answer) = match &entry.answer {
        Answer::Open => (EntryStatus::Open, None),
        Answer::Given(text) => (EntryStatus::Answered, Some(text.clone())),
        Answer::Skipped(why) => (EntryStatus::Skipped, Some(why.clone())),
    };
    let Entry { number, topic, asked, line, .. } = entry.clone();
    InterviewEntry { number, topic, asked, status, answer, line }
}

/// What in a pad cannot be read, a warning each.
fn faults(pad: &Pad) -> Vec<String> {
    pad.faults.iter().map(|fault| format!("line {} of the scratch pad: {}", fault.line, fault.message)).collect()
}

/// What comes next, as callers see it.
fn next(paper: &Paper, standing: &Standing<'_>) -> InterviewNext {
    let Standing { pad, script, step, metadata } = standing;
    let document = paper.quoted();
    let blank = InterviewNext {
        kind: InterviewStep::NextQuestion,
        document: paper.named.clone(),
        mode: mode_of(pad),
        next_question: None,
        topic: None,
        message: None,
        complete: None,
        content: None,
        metadata: *metadata,
        command: None,
    };
    match step {
        Step::Open { number, question } | Step::Ask { number, question } => InterviewNext {
            next_question: Some(question.asked.clone()),
            topic: Some(question.topic.clone()),
            command: Some(format!("flow interview answer {document} --question {number} 'TEXT'")),
            ..blank
        },
        Step::Complete => {
            let subjects = script.subjects(pad);
            let content = script.sections().iter().filter_map(|section| {
                let about = pad.entries.iter().zip(&subjects).filter(|(_, subject)| **subject == Some(&section.id));
                let given = about.filter_map(|(entry, _)| match &entry.answer {
                    Answer::Given(text) => Some(text.as_str()),
                    _ => None,
                });
                let text = given.collect::<Vec<_>>().join("\n\n");
                (!text.is_empty()).then(|| (section.id.clone(), text.into()))
            });
            InterviewNext {
                kind: InterviewStep::Success,
                message: Some("all questions are asked".to_owned()),
                complete: Some(metadata.gaps_remaining == 0),
                content: Some(Map::from_iter(content)),
                command: Some(format!("flow interview finish {document}")),
                ..blank
            }
        }
        Step::Nothing => InterviewNext {
            kind: InterviewStep::Skip,
            message: Some(FILLED.to_owned()),
            command: Some(format!("flow interview finish {document}")),
            ..blank
        },
    }
}

/// Why nothing is asked.
const FILLED: &str = "every section is filled, so there is nothing to ask";

/// A document in which no interview is begun.
fn nothing(paper: &Paper, why: &str) -> InterviewNext {
    InterviewNext {
        kind: InterviewStep::Skip,
        document: paper.named.clone(),
        mode: Mode::Update,
        next_question: None,
        topic: None,
        message: Some(why.to_owned()),
        complete: None,
        content: None,
        metadata: Metadata::default(),
        command: None,
    }
}

impl InterviewFault {
    /// Why an answer was not taken; the answer itself goes with it, so that it is not lost.
    fn of_answer(error: EditError, given: &Answer) -> Self {
        match (error, given) {
            (EditError::Answered { number, answer }, Answer::Given(text)) => {
                Self::AnsweredMeanwhile { number, there: answer, given: Some(text.clone()) }
            }
            (EditError::Answered { number, answer }, _) => {
                Self::AnsweredMeanwhile { number, there: answer, given: None }
            }
            (error, _) => Self::Edit(error),
        }
    }
}

impl From<crate::store::DocumentFault> for Error {
    fn from(fault: crate::store::DocumentFault) -> Self {
        Self::Document(fault)
    }
}
