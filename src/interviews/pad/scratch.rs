//! The scratch pad: questions, answers, and what in it cannot be read.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interviews::pad::edit::Question;
use crate::interviews::pad::outline::{Heading, Outline, lines};
use crate::interviews::pad::script::{Script, folded};
use crate::interviews::pad::{escape, stray};

/// The text of the pad's heading.
pub(super) const HEADING: &str = "Scratch Pad";
/// The text of the pad's first comment.
pub(super) const NOTICE: &str = "Interview state - will be removed upon completion";
/// The text of the comment that ends a pad before the end of the document.
const END: &str = "End scratch pad";
/// The highest question number that is accepted.
pub(super) const MOST: u32 = 9_999;

/// How an interview began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Mode {
    /// The document did not exist.
    Create,
    /// The document existed, with gaps.
    Update,
    /// The document already had a scratch pad.
    Resume,
}

impl Mode {
    /// The name in a scratch pad.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Resume => "RESUME",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Create, Self::Update, Self::Resume].into_iter().find(|mode| mode.as_str() == text).ok_or(())
    }
}

/// The comments at the beginning of a pad.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// How the interview began.
    pub mode: Option<Mode>,
    /// When it began, as it is written there.
    pub started: Option<String>,
    /// The script, if it is not the charter's.
    pub script: Option<String>,
    /// The run that it belongs to.
    pub run: Option<String>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Not answered yet.
    Open,
    /// It was answered.
    #[serde(rename = "answered")]
    Given(String),
    /// Skipped, for this reason.
    Skipped(String),
}

impl Answer {
    /// The normal form: without blanks around the text, and with `\n` between its lines.
    #[must_use]
    pub fn normal(self) -> Self {
        match self {
            Self::Given(text) => Self::Given(escape::normal(&text).into_owned()),
            Self::Skipped(text) => Self::Skipped(escape::normal(&text).into_owned()),
            Self::Open => Self::Open,
        }
    }
}

/// A question in a pad, with its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub number: u32,
    /// Its topic.
    pub topic: String,
    /// The text of the question.
    pub asked: String,
    /// The answer.
    pub answer: Answer,
    /// The line of its heading, from 1.
    pub line: usize,
    /// The whole entry, with its heading.
    pub(super) range: Range<usize>,
    /// The range of the answer's text, without blanks around it.
    pub(super) words: Range<usize>,
    /// The range that a new answer with its label replaces.
    pub(super) place: Range<usize>,
}

/// Something in a pad that cannot be read. Edits keep it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fault {
    /// Its line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// A scratch pad.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pad {
    /// The comments at its beginning.
    pub head: Head,
    /// Its entries, in the order of the text.
    pub entries: Vec<Entry>,
    /// Problems in it.
    pub faults: Vec<Fault>,
    /// The line of its heading, from 1.
    pub line: usize,
    /// The whole pad: from the heading to the end marker, the next section or the end of the document.
    pub(super) range: Range<usize>,
    /// The place for the next entry.
    pub(super) end: usize,
    /// The highest question number, including that of an entry that cannot be read.
    highest: u32,
}

impl Pad {
    /// The number of the next question: one more than the highest in any heading.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        self.highest + 1
    }

    /// Whether the pad has neither entries nor problems.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.faults.is_empty()
    }

    /// How the interview began; if the pad does not say it, `Update`.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.head.mode.unwrap_or(Mode::Update)
    }

    /// The first question without an answer.
    #[must_use]
    pub fn open(&self) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.answer == Answer::Open)
    }

    /// The question with this number.
    #[must_use]
    pub fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.number == number)
    }

    /// All pads in a text.
    pub(super) fn all(text: &str, outline: &Outline, known: &[Script]) -> Vec<Self> {
        let is_pad =
            |heading: &&Heading| heading.hashes && heading.level == 2 && folded(&heading.title) == folded(HEADING);
        let mut pads: Vec<Self> =
            outline.headings.iter().filter(is_pad).map(|heading| Self::read(text, outline, heading)).collect();
        let outside = stray::questions(text, outline, &pads, known);
        if let Some(pad) = pads.first_mut() {
            for at in outside {
                let number = title(text[at..].lines().next().unwrap_or_default()).map_or(0, |(number, _)| number);
                pad.highest = pad.highest.max(number);
                pad.fault(outline, at, format!("question {number} stands outside of it; put it below its heading"));
            }
        }
        pads
    }

    fn read(text: &str, outline: &Outline, heading: &Heading) -> Self {
        let body = heading.range.end;
        let ends = |other: &&Heading| other.range.start >= body && other.hashes && other.level <= 2;
        let section = outline.headings.iter().find(ends).map_or(text.len(), |next| next.range.start);
        let is_end = |comment: &&Range<usize>| {
            (body..section).contains(&comment.start) && Outline::comment(text, comment).eq_ignore_ascii_case(END)
        };
        let marker = outline.comments.iter().find(is_end);
        let end = marker.map_or(section, |marker| marker.start);
        let mut pad = Self {
            head: Head::default(),
            entries: Vec::new(),
            faults: Vec::new(),
            line: outline.line_of(heading.range.start),
            range: heading.range.start..marker.map_or(section, |marker| marker.end),
            end,
            highest: 0,
        };
        let inside = |other: &&Heading| (body..end).contains(&other.range.start) && other.hashes && other.level == 3;
        let headings: Vec<&Heading> = outline.headings.iter().filter(inside).collect();
        pad.read_head(text, outline, body..headings.first().map_or(end, |first| first.range.start));
        let mut numbers = HashSet::new();
        for (nth, heading) in headings.iter().enumerate() {
            let until = headings.get(nth + 1).map_or(end, |next| next.range.start);
            let number = title(&text[heading.range.clone()]).map_or(0, |(number, _)| number);
            pad.highest = pad.highest.max(number);
            match Entry::read(text, outline, heading, until) {
                Ok(entry) if !numbers.insert(entry.number) => {
                    pad.fault(outline, heading.range.start, format!("there is a question {} already", entry.number));
                }
                Ok(entry) => pad.entries.push(entry),
                Err((at, message)) => pad.fault(outline, at, message),
            }
        }
        pad
    }

    fn fault(&mut self, outline: &Outline, at: usize, message: String) {
        self.faults.push(Fault { line: outline.line_of(at), message });
    }

    fn read_head(&mut self, text: &str, outline: &Outline, range: Range<usize>) {
        let mut has_words = false;
        for line in lines(text, &range) {
            if text[line.clone()].trim().is_empty() {
                continue;
            }
            if !outline.comments.contains(&line) {
                if !has_words {
                    self.fault(outline, line.start, "this text belongs to no question".to_owned());
                }
                has_words = true;
                continue;
            }
            let said = Outline::comment(text, &line);
            let Some((key, value)) = said.split_once(':') else { continue };
            let value = value.trim().to_owned();
            match key.trim() {
                "Mode" => match value.parse() {
                    Ok(mode) => self.head.mode = Some(mode),
                    Err(()) => self.fault(outline, line.start, "the mode can be CREATE, UPDATE or RESUME".to_owned()),
                },
                "Started" => self.head.started = Some(value),
                "Script" => self.head.script = Some(value),
                "Run" => self.head.run = Some(value),
                // Other programs may add comments of their own.
                _ => {}
            }
        }
    }
}

/// A part of an entry: its label, its beginning, and the beginning of its text.
struct Part {
    label: &'static str,
    start: usize,
    words: usize,
}

impl Entry {
    /// Whether it asks exactly this question.
    #[must_use]
    pub fn asks(&self, question: &Question) -> bool {
        escape::normal(&question.asked) == self.asked
    }

    /// Whether it asks this question, or has the same topic.
    #[must_use]
    pub fn is_like(&self, question: &Question) -> bool {
        self.asks(question) || folded(&self.topic) == folded(&question.topic)
    }

    fn read(text: &str, outline: &Outline, heading: &Heading, until: usize) -> Result<Self, (usize, String)> {
        let start = heading.range.start;
        let (number, topic) = title(&text[heading.range.clone()]).map_err(|why| (start, why))?;
        if let Some(at) = outline.unclosed.filter(|at| (heading.range.end..until).contains(at)) {
            let why = "what begins in this line is never closed, so no question below it can be read";
            return Err((at, why.to_owned()));
        }
        let mut parts: Vec<Part> = Vec::new();
        for line in lines(text, &(heading.range.end..until)) {
            let words = text[line.clone()].trim_start_matches(' ');
            let indent = line.len() - words.len();
            match escape::label(words).filter(|_| indent <= 3 && !outline.is_code(line.start)) {
                Some((label, len)) => parts.push(Part { label, start: line.start, words: line.start + indent + len }),
                None if parts.is_empty() && !words.trim().is_empty() => {
                    return Err((line.start, format!("question {number} does not begin with **Asked**:")));
                }
                None => {}
            }
        }
        let (asked, answer) = match parts.as_slice() {
            [asked] if asked.label == "Asked" => (asked, None),
            [asked, answer] if asked.label == "Asked" && answer.label != "Asked" => (asked, Some(answer)),
            [] => return Err((start, format!("question {number} does not say what was asked"))),
            [first, ..] if first.label != "Asked" => {
                return Err((first.start, format!("question {number} does not say what was asked")));
            }
            [_, .., last] => return Err((last.start, format!("question {number} has two parts where one belongs"))),
            [_] => unreachable!("BUG: one part that is and is not the question"),
        };
        let said_in = |from: usize, to: usize| escape::read(&text[from..to]);
        let question = said_in(asked.words, answer.map_or(until, |answer| answer.start));
        if question.is_empty() {
            return Err((asked.start, format!("question {number} does not say what was asked")));
        }
        let said = answer.map(|answer| said_in(answer.words, until));
        let trimmed = |from: usize| {
            let words = &text[from..until];
            let end = from + words.trim_end().len();
            let start = from + (words.len() - words.trim_start().len());
            // Blanks before the first word of a line can have a meaning in Markdown, so keep them.
            let line = text[from..start].rfind(['\n', '\r']).map(|at| from + at + 1);
            line.unwrap_or(start)..end
        };
        let (words, place) = match answer {
            Some(part) if said.as_deref() == Some("") => (part.words..part.words, part.start..part.words),
            Some(part) => (trimmed(part.words), part.start..trimmed(part.words).end),
            None => {
                let end = trimmed(asked.words).end;
                (end..end, end..end)
            }
        };
        let answer = match (answer.map(|answer| answer.label), said) {
            (Some("Skipped"), Some(why)) => Answer::Skipped(why),
            (Some(_), Some(said)) if !said.is_empty() => Answer::Given(said),
            _ => Answer::Open,
        };
        Ok(Self {
            number,
            topic,
            asked: question,
            answer,
            line: outline.line_of(start),
            range: start..until,
            words,
            place,
        })
    }
}

/// The number and topic in a heading such as `### Q3: Scope`.
pub(super) fn title(heading: &str) -> Result<(u32, String), String> {
    let words = heading.trim().trim_start_matches('#').trim();
    // Closing hashes are not part of a heading.
    let bare = words.trim_end_matches('#');
    let words = if bare.ends_with([' ', '\t']) { bare.trim() } else { words };
    let shown: String = words.chars().take(60).collect();
    let no_entry =
        || format!("`### {shown}` is not a question (`### Q3: topic`); a heading inside an answer takes four hashes");
    let rest = words.strip_prefix('Q').ok_or_else(no_entry)?;
    let (digits, topic) = rest.split_once(':').ok_or_else(no_entry)?;
    let number = digits.trim().parse().ok().filter(|number| (1..=MOST).contains(number)).ok_or_else(no_entry)?;
    let topic = escape::read_topic(topic);
    if topic.is_empty() {
        return Err(format!("question {number} has no topic"));
    }
    Ok((number, topic))
}
