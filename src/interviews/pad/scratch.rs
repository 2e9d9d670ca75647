//! The scratch pad: questions, answers, and what in it cannot be read.

use std::collections::HashSet;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use crate::interviews::pad::entry::{InterviewAnswer, PadEntry, number_in};
use crate::interviews::pad::outline::{Heading, Outline, lines};
use crate::interviews::pad::question::folded;
use crate::model::named;

/// The text of the pad's heading.
pub(super) const HEADING: &str = "Scratch Pad";
/// The text of the pad's first comment.
pub(super) const NOTICE: &str = "Interview state - will be removed upon completion";
/// The text of the comment that ends a pad before the end of the document.
const END: &str = "End scratch pad";

named! {
    /// How an interview began.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    pub enum PadMode {
        /// The document did not exist.
        Create = "CREATE",
        /// The document existed, with gaps.
        Update = "UPDATE",
        /// The document already had a scratch pad.
        Resume = "RESUME",
    }
}

/// The comments at the beginning of a pad.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PadHead {
    /// How the interview began.
    pub mode: Option<PadMode>,
    /// When it began, as it is written there.
    pub started: Option<String>,
    /// The script, if it is not the charter's.
    pub script: Option<String>,
    /// The run that it belongs to.
    pub run: Option<String>,
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
    pub head: PadHead,
    /// Its entries, in the order of the text.
    pub entries: Vec<PadEntry>,
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
    pub fn mode(&self) -> PadMode {
        self.head.mode.unwrap_or(PadMode::Update)
    }

    /// The first question without an answer.
    #[must_use]
    pub fn open(&self) -> Option<&PadEntry> {
        self.entries.iter().find(|entry| entry.answer == InterviewAnswer::Open)
    }

    /// The question with this number.
    #[must_use]
    pub fn entry(&self, number: u32) -> Option<&PadEntry> {
        self.entries.iter().find(|entry| entry.number == number)
    }

    /// All pads in a text. Questions outside of them are not in them yet.
    pub(super) fn all(text: &str, outline: &Outline) -> Vec<Self> {
        let mut pads = Vec::new();
        for heading in &outline.headings {
            if heading.hashes && heading.level == 2 && folded(&heading.title) == folded(HEADING) {
                pads.push(Self::read(text, outline, heading));
            }
        }
        pads
    }

    /// Takes the questions at these places, which are in no pad, for problems of this one.
    pub(super) fn take_strays(&mut self, text: &str, outline: &Outline, strays: &[usize]) {
        for at in strays.iter().copied() {
            let number = number_in(text[at..].lines().next().unwrap_or_default());
            self.highest = self.highest.max(number);
            self.fault(outline, at, format!("question {number} stands outside of it; put it below its heading"));
        }
    }

    fn read(text: &str, outline: &Outline, heading: &Heading) -> Self {
        let body = heading.range.end;
        let mut section = text.len();
        let mut headings = Vec::new();
        for other in &outline.headings {
            // An underlined line in an answer is a heading as well, but must not cut off the entries below it.
            if !other.hashes || other.range.start < body {
                continue;
            }
            if other.level <= 2 {
                section = other.range.start;
                break;
            }
            if other.level == 3 {
                headings.push(other);
            }
        }
        // flow writes no end marker, but respects one that is there.
        let marker = outline.comments.iter().find(|comment| {
            (body..section).contains(&comment.start) && Outline::comment(text, comment).eq_ignore_ascii_case(END)
        });
        let end = marker.map_or(section, |marker| marker.start);
        headings.retain(|inside| inside.range.start < end);
        let mut pad = Self {
            head: PadHead::default(),
            entries: Vec::new(),
            faults: Vec::new(),
            line: outline.line_of(heading.range.start),
            range: heading.range.start..marker.map_or(section, |marker| marker.end),
            end,
            highest: 0,
        };
        pad.read_head(text, outline, body..headings.first().map_or(end, |first| first.range.start));
        // An answer names its question by number, so the first of two keeps it.
        let mut numbers = HashSet::new();
        for (nth, heading) in headings.iter().enumerate() {
            let until = headings.get(nth + 1).map_or(end, |next| next.range.start);
            let number = number_in(&text[heading.range.clone()]);
            // Counted even if the entry cannot be read, so that repairing it does not make a duplicate.
            pad.highest = pad.highest.max(number);
            match PadEntry::read(text, outline, heading, until) {
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
            // A person may have written between the comments; that is kept, and reported.
            if !outline.comments.contains(&line) {
                // One problem for all lines of the text.
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
