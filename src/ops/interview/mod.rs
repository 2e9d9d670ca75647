//! Interviews that resume (seed 004): the document that is written holds the questions and answers, so every verb reads it,
//! decides, and replaces it on stable storage before it answers.

mod agent;
mod close;
mod link;
mod paper;
mod talk;

use std::path::{Path, PathBuf};

use crate::interview::{
    Answer, Document, EditError, Entry, Head, Metadata, Mode, Outlook, Pad, Question, Script, Step,
};
use crate::model::{RunId, limits};
use crate::ops::error::{Error, InterviewFault, Result};
use crate::ops::flow::Flow;
use crate::ops::interview::link::{Ending, LateEnd};
use crate::ops::interview::paper::{CHARTER, Paper, pad};
use crate::report::{
    EntryStatus, InterviewAnswerReport, InterviewEntry, InterviewNext, InterviewSection, InterviewStartReport,
    InterviewStatusReport, InterviewStep,
};

pub use close::{FinishRequest, read_content};
pub(crate) use link::{CUT, UNIT};
pub use talk::{Asked, Clash, Interviewee, Review, Said, Settled, TalkRequest};

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
    /// Which other answer it takes the place of.
    pub replaces: Replaces,
}

/// Which answer another one takes the place of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Replaces {
    /// None.
    #[default]
    Nothing,
    /// Whichever stands there.
    Anything,
    /// This one, which somebody saw.
    Seen(Answer),
}

impl Replaces {
    /// Whether it takes the place of `there`.
    fn allows(&self, there: &Answer) -> bool {
        match self {
            Self::Nothing => false,
            Self::Anything => true,
            Self::Seen(seen) => seen == there,
        }
    }
}

/// What is known about a document in one moment.
struct Standing<'d> {
    document: &'d Document<'d>,
    pad: &'d Pad,
    script: &'d Script,
    outlook: Outlook,
}

impl<'d> Standing<'d> {
    fn of(paper: &Paper, document: &'d Document<'_>, script: &'d Script) -> Result<Self> {
        let pad = pad(document).map_err(|fault| paper.fault(fault))?;
        Ok(Self { document, pad, script, outlook: script.outlook(document, pad) })
    }
}

impl Flow {
    /// Begins an interview, or finds the one that is there. A document that does not exist is made, with its sections and
    /// the scratch pad at once.
    ///
    /// # Errors
    /// [`Error::Catalog`] for a script that cannot be used, [`Error::Document`] and [`Error::Interview`] when the document
    /// cannot. Nothing is written then.
    pub fn interview_start(&self, request: &InterviewRequest) -> Result<InterviewStartReport> {
        let paper = Paper::at(self, &request.document)?;
        let run = request.run.as_ref().map(|run| self.run_beside(&paper, run)).transpose()?;
        let named = request.script.as_deref();
        if let Some(named) = named {
            self.script(&paper, named)?;
        }
        let there = whole(&paper, &paper.read()?.unwrap_or_default(), named).map_err(|fault| paper.fault(fault))?;
        let before = paper.document(&there);
        let noted = before.pad().and_then(|pad| pad.head.script.as_deref());
        let script = self.script(&paper, named.or(noted).unwrap_or(CHARTER))?;
        let head = |mode| self.head(mode, &script, run.as_ref().map(RunId::to_string));
        before.settled().map_err(|error| paper.fault(error.into()))?;
        let is_plain = before.is_without_pad() && !there.trim().is_empty();
        let late = if is_plain { self.tell_late_end(&paper, &Ending::Finished) } else { LateEnd::default() };
        let mut warnings = late.warnings();
        if late.was_open {
            let next = nothing(&paper, "it is finished, which its run knows now", Metadata::default());
            let (document, script) = (paper.named, script.id().to_owned());
            let (mode, begun) = (Mode::Update, false);
            return Ok(InterviewStartReport { document, mode, script, run_id: None, begun, next, warnings });
        }
        let mut found = Mode::Create;
        let mut now = String::new();
        // What would come next, when that is nothing and so nothing is begun.
        let mut unasked = None;
        let mut mended = false;
        paper.update(&mut |old| {
            let text = whole(&paper, old.unwrap_or_default(), named)?;
            mended = old.is_some_and(|old| paper.document(old).lost().is_some());
            unasked = None;
            let new = match paper.document(&text) {
                document if document.pad().is_some() => {
                    found = Mode::Resume;
                    same_script(pad(&document)?, named)?;
                    same_run(document.only_pad()?, run.as_ref())?;
                    text.clone()
                }
                _ if text.trim().is_empty() => {
                    found = Mode::Create;
                    paper.document(&script.skeleton()).begin(&head(Mode::Create))?
                }
                document => {
                    found = Mode::Update;
                    let begun = document.begin(&head(Mode::Update))?;
                    let fresh = paper.document(&begun);
                    let outlook = script.outlook(&fresh, fresh.only_pad()?);
                    unasked = Some(outlook).filter(|outlook| outlook.step == Step::Nothing);
                    if unasked.is_some() { text.clone() } else { begun }
                }
            };
            now.clone_from(&new);
            Ok(new)
        })?;
        let document = paper.document(&now);
        let begun = found != Mode::Resume && unasked.is_none();
        warnings.extend(document.pad().filter(|_| mended).map(put_back));
        let (next, script, run_id) = match unasked {
            Some(outlook) => (nothing(&paper, why_nothing(&outlook), outlook.metadata), script.id().to_owned(), run),
            None => {
                let script = self.script_of(&paper, &document)?;
                let standing = Standing::of(&paper, &document, &script)?;
                warnings.extend(faults(standing.pad));
                let linked = standing.pad.head.run.as_deref().and_then(|run| RunId::new(run).ok());
                (next(&paper, &standing), script.id().to_owned(), linked)
            }
        };
        warnings.extend(self.tell_run(&paper, &document));
        Ok(InterviewStartReport { document: paper.named, mode: found, script, run_id, begun, next, warnings })
    }

    /// The run called `run` in the project of a document.
    fn run_beside(&self, paper: &Paper, run: &str) -> Result<RunId> {
        let flow = self.beside(paper);
        Ok(flow.run(&flow.project()?, run)?.id().clone())
    }

    /// What comes next. Writes nothing.
    ///
    /// # Errors
    /// [`Error::Interview`] when there is no interview in the document, or it cannot be read.
    pub fn interview_next(&self, document: &Path) -> Result<InterviewNext> {
        let paper = Paper::at(self, document)?;
        let text = paper.text()?;
        let document = paper.document(&text);
        let script = self.script_of(&paper, &document)?;
        Ok(next(&paper, &Standing::of(&paper, &document, &script)?))
    }

    /// How an interview stands. Writes nothing.
    ///
    /// # Errors
    /// As [`Self::interview_next`].
    pub fn interview_status(&self, document: &Path) -> Result<InterviewStatusReport> {
        let paper = Paper::at(self, document)?;
        let text = paper.text()?;
        let document = paper.document(&text);
        let script = self.script_of(&paper, &document)?;
        let standing = Standing::of(&paper, &document, &script)?;
        let Head { started, run, .. } = standing.pad.head.clone();
        let sections = document.sections(&script).into_iter().map(|section| InterviewSection {
            id: section.id,
            heading: section.heading,
            fill: section.fill,
            line: section.line,
        });
        Ok(InterviewStatusReport {
            mode: standing.pad.mode(),
            script: script.id().to_owned(),
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
        let seen = paper.document(&seen);
        let script = self.script_of(&paper, &seen)?;
        let meant = meant(request, &Standing::of(&paper, &seen, &script)?).map_err(|fault| paper.fault(fault))?;
        let (mut now, mut number, mut repeated) = (String::new(), 0, false);
        paper.update(&mut |old| {
            let text = old.ok_or(InterviewFault::Missing)?;
            let document = paper.document(text);
            let pad = document.only_pad()?;
            number = meant.number(pad);
            let question = meant.question();
            let entry = pad.entry(number);
            if let (Some(entry), Some(question)) = (entry, question)
                && !entry.asks(question)
            {
                let (asked, given) = (entry.asked.clone(), text_of(&request.answer));
                return Err(InterviewFault::OtherQuestion { number, asked, given });
            }
            let is_other = |entry: &Entry| entry.answer != request.answer.clone().normal();
            let new = match entry.is_some_and(|entry| is_other(entry) && request.replaces.allows(&entry.answer)) {
                true => document.correct(number, request.answer.clone())?,
                false => document
                    .answer(number, question, request.answer.clone())
                    .map_err(|error| InterviewFault::of_answer(error, &request.answer))?,
            };
            repeated = new == text;
            now.clone_from(&new);
            Ok(new)
        })?;
        let document = paper.document(&now);
        let standing = Standing::of(&paper, &document, &script)?;
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

/// The text of a document whose scratch pad has its heading again when that was lost, and says by which script it goes
/// when nothing of it says that any more: the one that is `named`, or the only one to which its questions belong.
fn whole(paper: &Paper, text: &str, named: Option<&str>) -> std::result::Result<String, InterviewFault> {
    let document = paper.document(text);
    let lost = document.settled().ok().and_then(|()| document.lost());
    let text = match lost {
        Some(_) => document.with_heading()?,
        None => text.to_owned(),
    };
    let read = paper.document(&text);
    let Some(pad) = read.only_pad().ok().filter(|pad| pad.head.script.is_none()) else { return Ok(text) };
    let script = match (named, lost) {
        (None, None) => return Ok(text),
        (Some(_), None) if pad.head.mode.is_some() => return Ok(text),
        (Some(named), _) => named,
        (None, Some(line)) => match paper.script_that_asks(pad) {
            Some(script) => script,
            None if pad.head.mode.is_some() => CHARTER,
            None => return Err(InterviewFault::ScriptLost { line, known: paper.scripts() }),
        },
    };
    if script == CHARTER { Ok(text) } else { Ok(read.with_script(script)?) }
}

/// What to know of a pad that has its heading again.
fn put_back(pad: &Pad) -> String {
    let by = pad.head.script.as_ref().map(|script| format!(", and the script is `{script}`")).unwrap_or_default();
    format!("the heading of the scratch pad was gone; it stands in line {} again{by}", pad.line)
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

/// Which question an answer is meant for.
enum Meant {
    /// The one of this number, with its words when the script asks it and it is not in the pad yet.
    Numbered(u32, Option<Question>),
    /// The caller's own, which has this number, or gets the next one.
    Own(Question, Option<u32>),
}

impl Meant {
    /// Its number in `pad`. One's own question is found by its words, so that a command that is given once more is meant for
    /// the question that it asked before.
    fn number(&self, pad: &Pad) -> u32 {
        match self {
            Self::Numbered(number, _) | Self::Own(_, Some(number)) => *number,
            Self::Own(own, None) => {
                let asked = pad.entries.iter().find(|entry| entry.asks(own));
                asked.map_or(pad.next_number(), |entry| entry.number)
            }
        }
    }

    fn question(&self) -> Option<&Question> {
        match self {
            Self::Numbered(_, question) => question.as_ref(),
            Self::Own(own, _) => Some(own),
        }
    }
}

fn meant(request: &AnswerRequest, standing: &Standing<'_>) -> std::result::Result<Meant, InterviewFault> {
    if let Some(own) = &request.asked {
        return Ok(Meant::Own(own.clone(), request.question));
    }
    let (next, words) = match &standing.outlook.step {
        Step::Open { number, .. } => (Some(*number), None),
        Step::Ask { number, question } => (Some(*number), Some(question.clone())),
        Step::Complete | Step::Nothing => (None, None),
    };
    match (request.question, next) {
        (Some(number), None) if number == standing.pad.next_number() => Err(InterviewFault::NothingToAsk),
        (None, None) => Err(InterviewFault::NothingToAsk),
        (Some(number), _) => Ok(Meant::Numbered(number, words.filter(|_| next == Some(number)))),
        (None, Some(number)) => {
            // A command that is given once more after it did its work is meant for the question before.
            let last = standing.pad.entries.iter().rfind(|entry| entry.answer != Answer::Open);
            let given = request.answer.clone().normal();
            let is_same = |entry: &&Entry| matches!(given, Answer::Given(_)) && entry.answer == given;
            match last.filter(is_same) {
                Some(last) => Err(InterviewFault::SameAnswer { last: last.number, next: number }),
                None => Ok(Meant::Numbered(number, words)),
            }
        }
    }
}

/// The words of an answer; none of one that is none.
fn text_of(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Given(text) => Some(text.clone()),
        Answer::Skipped(_) | Answer::Open => None,
    }
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
    let Standing { document, pad, script, outlook } = standing;
    let name = paper.quoted();
    let blank = InterviewNext {
        kind: InterviewStep::NextQuestion,
        document: paper.named.clone(),
        mode: pad.mode(),
        next_question: None,
        topic: None,
        message: None,
        complete: None,
        content: None,
        metadata: outlook.metadata,
        command: None,
    };
    match &outlook.step {
        Step::Open { number, question } | Step::Ask { number, question } => InterviewNext {
            next_question: Some(question.asked.clone()),
            topic: Some(question.topic.clone()),
            command: Some(format!("flow interview answer {name} --question {number} 'TEXT'")),
            ..blank
        },
        Step::Complete => InterviewNext {
            kind: InterviewStep::Success,
            message: Some("all questions are asked".to_owned()),
            complete: Some(outlook.is_enough),
            content: Some(document.content(script)),
            command: Some(format!("flow interview finish {name}")),
            ..blank
        },
        Step::Nothing => InterviewNext {
            kind: InterviewStep::Skip,
            message: Some(why_nothing(outlook).to_owned()),
            command: Some(format!("flow interview finish {name}")),
            ..blank
        },
    }
}

/// Why nothing is asked.
fn why_nothing(outlook: &Outlook) -> &'static str {
    match outlook {
        Outlook { metadata: Metadata { gaps_remaining: 0, .. }, .. } => {
            "every section is filled, so there is nothing to ask"
        }
        Outlook { is_enough: true, .. } => "all that is needed is there, so there is nothing to ask",
        _ => "the script has no question about what is missing",
    }
}

/// A document in which no interview is begun.
fn nothing(paper: &Paper, why: &str, metadata: Metadata) -> InterviewNext {
    InterviewNext {
        kind: InterviewStep::Skip,
        document: paper.named.clone(),
        mode: Mode::Update,
        next_question: None,
        topic: None,
        message: Some(why.to_owned()),
        complete: None,
        content: None,
        metadata,
        command: None,
    }
}

impl InterviewFault {
    /// Why an answer was not taken; the answer itself goes with it, so that it is not lost.
    fn of_answer(error: EditError, given: &Answer) -> Self {
        match error {
            EditError::Answered { number, answer } => {
                Self::AnsweredMeanwhile { number, there: answer, given: text_of(given) }
            }
            error => Self::Edit(error),
        }
    }
}

impl From<crate::store::DocumentFault> for Error {
    fn from(fault: crate::store::DocumentFault) -> Self {
        Self::Document(fault)
    }
}
