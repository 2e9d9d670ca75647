//! Edits of a scratch pad. Everything outside of the edited place stays byte for byte. The result is parsed again, and
//! refused unless it has exactly the old content plus the change.

use std::ops::Range;

use thiserror::Error;

use crate::interviews::pad::document::InterviewDocument;
use crate::interviews::pad::entry::{InterviewAnswer, MOST, PadEntry};
use crate::interviews::pad::escape;
use crate::interviews::pad::outline::Outline;
use crate::interviews::pad::question::{InterviewQuestion, folded};
use crate::interviews::pad::scratch::{Fault, HEADING, NOTICE, Pad, PadHead, PadMode};
use crate::model::limits;

/// The result of an edit: the new text.
pub(super) type Result<T = String> = std::result::Result<T, EditError>;

/// Why an edit was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// The document has no scratch pad.
    #[error("it has no scratch pad")]
    NoPad,
    /// The heading of the scratch pad was lost.
    #[error("the heading of the scratch pad is gone; its questions are in line {line}")]
    HeadingLost {
        /// The line in which its questions begin.
        line: usize,
    },
    /// The document already has a scratch pad.
    #[error("it has a scratch pad already, in line {line}")]
    PadExists {
        /// The line of its heading.
        line: usize,
    },
    /// The document has several scratch pads.
    #[error("it has two scratch pads, in lines {first} and {second}")]
    SecondPad {
        /// The line of one of them.
        first: usize,
        /// The line of another one.
        second: usize,
    },
    /// The document has the conflict markers of a merge.
    #[error("a merge of two versions is not settled in line {line}")]
    Conflict {
        /// The line of the first marker.
        line: usize,
    },
    /// The highest question number is used.
    #[error("it has a question {} already, and there is no higher number", MOST)]
    NoNumberLeft,
    /// No section has this id, and no question this topic.
    #[error("there is no section `{id}`")]
    UnknownSection {
        /// The id or topic as given.
        id: String,
        /// All ids and topics.
        known: Vec<String>,
    },
    /// There is no such question.
    #[error("there is no question {number}; the next one is {next}")]
    NoQuestion {
        /// The number as given.
        number: u32,
        /// The number that comes next.
        next: u32,
    },
    /// The question has another answer.
    #[error("question {number} has another answer already")]
    Answered {
        /// The number of the question.
        number: u32,
        /// The answer in the document.
        answer: InterviewAnswer,
    },
    /// The answer is empty.
    #[error("the answer is empty")]
    EmptyAnswer,
    /// The topic or text of a caller's own question is empty.
    #[error("the {what} is empty")]
    Empty {
        /// `question` or `topic`.
        what: &'static str,
    },
    /// The topic is the heading of the scratch pad itself.
    #[error("no question can be about `{HEADING}`, which is the heading of the pad itself")]
    Reserved,
    /// The result would be too large.
    #[error("it would have {len} bytes; the most is {}", limits::INTERVIEW_BYTES)]
    TooLarge {
        /// The size of the result, in bytes.
        len: usize,
    },
    /// Something in the pad cannot be read, and would be lost with the pad.
    #[error("{} in its scratch pad cannot be read", if .faults.len() == 1 { "one place" } else { "some places" })]
    Faults {
        /// All problems in the pad.
        faults: Vec<Fault>,
    },
    /// A text for a section would end the section or hide what follows.
    #[error("{what} would end its section early, or swallow what follows")]
    Unfit {
        /// Which text.
        what: String,
    },
    /// The new text would not be parsed as intended.
    #[error("the result would not be read back: {why}")]
    Unsound {
        /// The line of the document that is at fault, from 1, if one is.
        line: Option<usize>,
        /// What keeps it from being read, in words.
        why: String,
    },
}

/// The content of a pad's entries, without their places.
type PadAnswers = Vec<(u32, String, String, InterviewAnswer)>;

impl InterviewDocument<'_> {
    /// The only scratch pad.
    ///
    /// # Errors
    /// [`EditError::NoPad`], [`EditError::HeadingLost`], [`EditError::SecondPad`] and [`EditError::Conflict`].
    pub fn only_pad(&self) -> Result<&Pad> {
        self.settled()?;
        match self.pads.as_slice() {
            [] => Err(self.lost().map_or(EditError::NoPad, |line| EditError::HeadingLost { line })),
            [only] => Ok(only),
            [first, second, ..] => Err(EditError::SecondPad { first: first.line, second: second.line }),
        }
    }

    /// Checks that there are no conflict markers: a text with markers cannot be judged otherwise.
    ///
    /// # Errors
    /// [`EditError::Conflict`].
    pub fn settled(&self) -> Result<()> {
        match self.outline.conflict {
            Some(at) => Err(EditError::Conflict { line: self.outline.line_of(at) }),
            None => Ok(()),
        }
    }

    /// Adds a scratch pad at the end; gives the new text.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn begin(&self, head: &PadHead) -> Result {
        self.settled()?;
        if let Some(pad) = self.pad() {
            return Err(EditError::PadExists { line: pad.line });
        }
        if let Some(line) = self.lost() {
            return Err(EditError::HeadingLost { line });
        }
        let newline = self.newline();
        let mut new = String::new();
        if !self.text.is_empty() {
            new.push_str(newline);
            if !self.text.ends_with('\n') {
                new.push_str(newline);
            }
        }
        let mut lines = vec![format!("## {HEADING}"), String::new(), format!("<!-- {NOTICE} -->")];
        let said = [
            ("Mode", head.mode.map(PadMode::as_str)),
            ("Started", head.started.as_deref()),
            ("Script", head.script.as_deref()),
            ("Run", head.run.as_deref()),
        ];
        for (key, value) in said {
            if let Some(value) = value {
                lines.push(format!("<!-- {key}: {value} -->"));
            }
        }
        for line in lines {
            new.push_str(&line);
            new.push_str(newline);
        }
        // At the end: everything that stands after the heading would belong to the pad.
        let end = self.text.len();
        let made = self.splice(end..end, &new, Vec::new())?;
        let read = InterviewDocument::among(self.known, &made);
        match read.pad() {
            Some(pad) if pad.head == *head && pad.faults.is_empty() => Ok(made),
            _ => Err(self.unsound()),
        }
    }

    /// Adds the name of the script to the head of the pad; gives the new text.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn with_script(&self, script: &str) -> Result {
        let pad = self.only_pad()?;
        let heading = self.text[pad.range.clone()].find('\n').map_or(pad.end, |end| pad.range.start + end + 1);
        let first = pad.entries.first().map_or(pad.end, |entry| entry.range.start);
        // The place that `begin` would have given to it.
        let mut last = None;
        for comment in &self.outline.comments {
            let said = Outline::comment(self.text, comment);
            let key = said.split_once(':').map(|(key, _)| key.trim());
            let is_before = said == NOTICE || matches!(key, Some("Mode" | "Started"));
            if is_before && (heading..first).contains(&comment.start) {
                last = Some(comment.end);
            }
        }
        let (at, newline) = (last.unwrap_or(heading), self.newline());
        let gap = if last.is_some() && self.text[..at].ends_with('\n') { "" } else { newline };
        let made = self.splice(at..at, &format!("{gap}<!-- Script: {script} -->{newline}"), entries_of(pad))?;
        let read = InterviewDocument::among(self.known, &made);
        match read.pad() {
            Some(pad) if pad.head.script.as_deref() == Some(script) => Ok(made),
            _ => Err(self.unsound()),
        }
    }

    /// Adds a question without an answer; gives the new text.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn ask(&self, question: &InterviewQuestion) -> Result {
        let number = self.only_pad()?.next_number();
        self.append(number, question, InterviewAnswer::Open)
    }

    /// Adds an answer to the question with this number; gives the new text. A question that is not in the pad yet needs
    /// its text, and its number must be the next one. The same answer again changes nothing.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn answer(&self, number: u32, question: Option<&InterviewQuestion>, answer: InterviewAnswer) -> Result {
        let answer = said_something(answer)?;
        let pad = self.only_pad()?;
        let Some(entry) = pad.entry(number) else {
            let next = pad.next_number();
            return match question {
                Some(question) if number == next => self.append(number, question, answer),
                _ => Err(EditError::NoQuestion { number, next }),
            };
        };
        if entry.answer == answer {
            return Ok(self.text.to_owned());
        }
        if entry.answer != InterviewAnswer::Open {
            return Err(EditError::Answered { number, answer: entry.answer.clone() });
        }
        self.reply(pad, entry, answer)
    }

    /// Replaces the answer to a question, whatever it is; gives the new text.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn correct(&self, number: u32, answer: InterviewAnswer) -> Result {
        let pad = self.only_pad()?;
        let next = pad.next_number();
        let entry = pad.entry(number).ok_or(EditError::NoQuestion { number, next })?;
        self.reply(pad, entry, said_something(answer)?)
    }

    /// Removes the scratch pad; gives the new text. The blank line before the pad is removed too, unless it has to
    /// separate what follows.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn without_pad(&self) -> Result {
        let pad = self.only_pad()?;
        let (before, after) = (&self.text[..pad.range.start], &self.text[pad.range.end..]);
        let line = before.strip_suffix("\r\n").or(before.strip_suffix('\n'));
        let has_blank = line.is_some_and(|line| line.is_empty() || line.ends_with('\n'));
        // Without a blank line, a paragraph above the pad would swallow what follows.
        let is_needed = !after.is_empty() && !after.starts_with(['\n', '\r']);
        let kept = match line {
            Some(line) if has_blank && !is_needed => line,
            _ => before,
        };
        let newline = if is_needed && !has_blank && !before.is_empty() { self.newline() } else { "" };
        Ok(format!("{kept}{newline}{after}"))
    }

    fn append(&self, number: u32, question: &InterviewQuestion, answer: InterviewAnswer) -> Result {
        let pad = self.only_pad()?;
        // The next number would not be read as a question.
        if number > MOST {
            return Err(EditError::NoNumberLeft);
        }
        let newline = self.newline();
        let (topic, asked) = (escape::write_topic(&question.topic), escape::write(&question.asked, newline));
        for (what, text) in [("topic", &topic), ("question", &asked)] {
            if text.is_empty() {
                return Err(EditError::Empty { what });
            }
        }
        // The finished document could have a section about it, whose heading would begin a pad.
        if folded(&question.topic) == folded(HEADING) {
            return Err(EditError::Reserved);
        }
        // The new entry goes before the blank lines at the end of the pad.
        let kept = self.text[..pad.end].trim_end_matches(['\n', '\r', ' ', '\t']).len();
        let at = self.text[kept..pad.end].find('\n').map_or(pad.end, |end| kept + end + 1);
        let mut new = String::new();
        if !self.text[..at].ends_with('\n') {
            new.push_str(newline);
        }
        new.push_str(&format!("{newline}### Q{number}: {topic}{newline}**Asked**: {asked}{newline}"));
        if answer != InterviewAnswer::Open {
            new.push_str(&labelled(&answer, newline));
            new.push_str(newline);
        }
        let mut said = entries_of(pad);
        said.push((number, escape::read_topic(&topic), escape::normal(&question.asked).into_owned(), answer));
        self.splice(at..at, &new, said)
    }

    fn reply(&self, pad: &Pad, entry: &PadEntry, answer: InterviewAnswer) -> Result {
        let newline = self.newline();
        let mut new = String::new();
        if entry.place.is_empty() {
            new.push_str(newline);
        }
        new.push_str(&labelled(&answer, newline));
        let mut said = entries_of(pad);
        for (number, _, _, there) in &mut said {
            if *number == entry.number {
                there.clone_from(&answer);
            }
        }
        self.splice(entry.place.clone(), &new, said)
    }

    /// Replaces `range` by `new`. Refuses the result unless the pad then has exactly the entries `said`, and nothing
    /// else changed.
    fn splice(&self, range: Range<usize>, new: &str, said: PadAnswers) -> Result {
        let made = format!("{}{new}{}", &self.text[..range.start], &self.text[range.end..]);
        if made.len() > limits::INTERVIEW_BYTES {
            return Err(EditError::TooLarge { len: made.len() });
        }
        let read = InterviewDocument::among(self.known, &made);
        let is_sound = matches!(read.pads.as_slice(), [only] if entries_of(only) == said)
            && read.fault_messages() == self.fault_messages()
            && read.headings_outside() == self.headings_outside();
        if is_sound { Ok(made) } else { Err(self.unsound()) }
    }

    /// Why the result of an edit was not parsed as intended: what the document has. That of the result is not written.
    fn unsound(&self) -> EditError {
        let line = self.outline.unclosed.map(|open| self.outline.line_of(open));
        let why = match line {
            Some(line) => format!("what begins in line {line} is never closed"),
            None => "something in it is not closed, or a heading is written in another way".to_owned(),
        };
        EditError::Unsound { line, why }
    }

    /// The problems in all pads, without their lines, which an edit above them moves.
    fn fault_messages(&self) -> Vec<&str> {
        self.pads.iter().flat_map(|pad| &pad.faults).map(|fault| fault.message.as_str()).collect()
    }

    /// The headings outside of the pad.
    fn headings_outside(&self) -> Vec<&str> {
        let pad = self.pad().map_or(0..0, |pad| pad.range.clone());
        let mut headings = Vec::new();
        for heading in &self.outline.headings {
            if !pad.contains(&heading.range.start) {
                // As they are written: a new link definition can change how they are parsed.
                headings.push(self.text[heading.range.clone()].trim_end());
            }
        }
        headings
    }
}

/// The answer in its normal form; an error if it is empty.
fn said_something(answer: InterviewAnswer) -> Result<InterviewAnswer> {
    match answer.normal() {
        InterviewAnswer::Open => Err(EditError::EmptyAnswer),
        InterviewAnswer::Given(text) if text.is_empty() => Err(EditError::EmptyAnswer),
        answer => Ok(answer),
    }
}

fn entries_of(pad: &Pad) -> PadAnswers {
    let mut entries = Vec::with_capacity(pad.entries.len() + 1);
    for PadEntry { number, topic, asked, answer, .. } in &pad.entries {
        entries.push((*number, topic.clone(), asked.clone(), answer.clone()));
    }
    entries
}

fn labelled(answer: &InterviewAnswer, newline: &str) -> String {
    match answer {
        InterviewAnswer::Given(text) => format!("**Answer**: {}", escape::write(text, newline)),
        InterviewAnswer::Skipped(why) => format!("**Skipped**: {}", escape::write(why, newline)).trim_end().to_owned(),
        InterviewAnswer::Open => String::new(),
    }
}
