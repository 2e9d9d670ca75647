//! An entry of the scratch pad: a question with its answer.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interviews::pad::escape;
use crate::interviews::pad::outline::{Heading, Outline, lines};
use crate::interviews::pad::question::{InterviewQuestion, folded};

/// The highest question number that is accepted.
pub(super) const MOST: u32 = 9_999;

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Answer")]
pub enum InterviewAnswer {
    /// Not answered yet.
    Open,
    /// It was answered.
    #[serde(rename = "answered")]
    Given(String),
    /// Skipped, for this reason.
    Skipped(String),
}

impl InterviewAnswer {
    /// The normal form: without blanks around the text, and with `\n` between its lines.
    #[must_use]
    pub fn normal(self) -> Self {
        match self {
            Self::Given(text) => Self::Given(escape::normal(&text).into_owned()),
            Self::Skipped(text) => Self::Skipped(escape::normal(&text).into_owned()),
            Self::Open => Self::Open,
        }
    }

    /// The text of an answer; none if the question is open or skipped.
    #[must_use]
    pub fn given(&self) -> Option<&str> {
        match self {
            Self::Given(text) => Some(text),
            Self::Skipped(_) | Self::Open => None,
        }
    }
}

/// A question in a pad, with its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PadEntry {
    /// The number in its heading.
    pub number: u32,
    /// The topic in its heading.
    pub topic: String,
    /// The text of the question.
    pub asked: String,
    /// The answer, as it was given.
    pub answer: InterviewAnswer,
    /// The line of its heading, from 1.
    pub line: usize,
    /// The whole entry, with its heading.
    pub(super) range: Range<usize>,
    /// The range of the answer's text, without blanks around it.
    pub(super) words: Range<usize>,
    /// The range that a new answer with its label replaces.
    pub(super) place: Range<usize>,
}

/// The place in an entry that cannot be read, and why.
type Unread = (usize, String);

/// A part of an entry: its label, its beginning, and the beginning of its text.
struct EntryPart {
    label: &'static str,
    start: usize,
    words: usize,
}

impl PadEntry {
    /// Whether it asks exactly this question.
    #[must_use]
    pub fn asks(&self, question: &InterviewQuestion) -> bool {
        escape::normal(&question.asked) == self.asked
    }

    /// Whether it asks this question, or has the same topic.
    #[must_use]
    pub fn is_like(&self, question: &InterviewQuestion) -> bool {
        self.asks(question) || folded(&self.topic) == folded(&question.topic)
    }

    /// Reads the entry between `heading` and `until`.
    pub(super) fn read(text: &str, outline: &Outline, heading: &Heading, until: usize) -> Result<Self, Unread> {
        let start = heading.range.start;
        let body = heading.range.end..until;
        let (number, topic) = title(&text[heading.range.clone()]).map_err(|why| (start, why))?;
        if let Some(at) = outline.unclosed
            && body.contains(&at)
        {
            let why = "what begins in this line is never closed, so no question below it can be read";
            return Err((at, why.to_owned()));
        }
        let parts = parts(text, outline, &body, number)?;
        let Some((asked, others)) = parts.split_first() else { return Err(not_asked(start, number)) };
        if asked.label != "Asked" {
            return Err(not_asked(asked.start, number));
        }
        let answer = match others {
            [] => None,
            [answer] if answer.label != "Asked" => Some(answer),
            [.., last] => return Err((last.start, format!("question {number} has two parts where one belongs"))),
        };
        let question = escape::read(&text[asked.words..answer.map_or(until, |answer| answer.start)]);
        if question.is_empty() {
            return Err(not_asked(asked.start, number));
        }
        let (answer, words, place) = match answer {
            Some(answer) => read_answer(text, answer, until),
            None => {
                let end = trimmed(text, asked.words..until).end;
                (InterviewAnswer::Open, end..end, end..end)
            }
        };
        let line = outline.line_of(start);
        Ok(Self { number, topic, asked: question, answer, line, range: start..until, words, place })
    }
}

/// The labelled parts in the body of an entry.
fn parts(text: &str, outline: &Outline, body: &Range<usize>, number: u32) -> Result<Vec<EntryPart>, Unread> {
    let mut parts: Vec<EntryPart> = Vec::new();
    for line in lines(text, body) {
        let words = text[line.clone()].trim_start_matches(' ');
        let indent = line.len() - words.len();
        // With a deeper indentation, or between fences, a label is code: text of the part above it.
        if let Some((label, len)) = escape::label(words)
            && indent <= 3
            && !outline.is_code(line.start)
        {
            parts.push(EntryPart { label, start: line.start, words: line.start + indent + len });
        } else if parts.is_empty() && !words.trim().is_empty() {
            return Err((line.start, format!("question {number} does not begin with **Asked**:")));
        }
    }
    Ok(parts)
}

fn not_asked(at: usize, number: u32) -> Unread {
    (at, format!("question {number} does not say what was asked"))
}

/// An answer, the range of its text, and the range that a new answer replaces.
fn read_answer(text: &str, part: &EntryPart, until: usize) -> (InterviewAnswer, Range<usize>, Range<usize>) {
    let said = escape::read(&text[part.words..until]);
    // A label without a text is followed by blank lines, which stay when the answer is written.
    let words = if said.is_empty() { part.words..part.words } else { trimmed(text, part.words..until) };
    let place = part.start..words.end;
    let answer = match part.label {
        "Skipped" => InterviewAnswer::Skipped(said),
        _ if said.is_empty() => InterviewAnswer::Open,
        _ => InterviewAnswer::Given(said),
    };
    (answer, words, place)
}

/// `range` without the blank lines before its text, and without the blanks after it.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let words = &text[range.clone()];
    let end = range.start + words.trim_end().len();
    let start = range.start + (words.len() - words.trim_start().len());
    // Blanks before the first word of a line can have a meaning in Markdown, so keep them.
    match text[range.start..start].rfind(['\n', '\r']) {
        Some(at) => range.start + at + 1..end,
        None => start..end,
    }
}

/// The number and topic in a heading such as `### Q3: Scope`.
pub(super) fn title(heading: &str) -> Result<(u32, String), String> {
    let words = heading.trim().trim_start_matches('#').trim();
    // Closing hashes are not part of a heading.
    let bare = words.trim_end_matches('#');
    let words = if bare.ends_with([' ', '\t']) { bare.trim() } else { words };
    let Some((digits, topic)) = words.strip_prefix('Q').and_then(|rest| rest.split_once(':')) else {
        return Err(no_entry(words));
    };
    let number = match digits.trim().parse() {
        Ok(number) if (1..=MOST).contains(&number) => number,
        _ => return Err(no_entry(words)),
    };
    let topic = escape::read_topic(topic);
    if topic.is_empty() {
        return Err(format!("question {number} has no topic"));
    }
    Ok((number, topic))
}

/// The number of the question in a heading; 0 if it cannot be read.
pub(super) fn number_in(heading: &str) -> u32 {
    title(heading).map_or(0, |(number, _)| number)
}

fn no_entry(words: &str) -> String {
    let shown: String = words.chars().take(60).collect();
    format!("`### {shown}` is not a question (`### Q3: topic`); a heading inside an answer takes four hashes")
}
