//! The lines of a text, with their places.

use std::ops::Range;

use crate::codec::Place;
use crate::machine::Name;

/// A line of a definition, without its line break. It may be only a part of the file's line, after text that is not
/// part of the definition (the indentation of a code block).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SourceLine<'a> {
    pub(super) text: &'a str,
    /// The offset of its beginning in the whole text, in bytes.
    pub(super) offset: usize,
    /// The place of its beginning.
    pub(super) place: Place,
}

impl<'a> SourceLine<'a> {
    /// The lines of a whole text, without a byte order mark.
    pub(super) fn all(text: &'a str) -> Vec<Self> {
        // Some editors write the mark; it belongs to no line, but its bytes count.
        let mut offset = text.len() - text.trim_start_matches('\u{feff}').len();
        let mut lines = Vec::new();
        for (at, line) in text[offset..].split_inclusive('\n').enumerate() {
            let place = Place { line: at + 1, column: 1 };
            lines.push(Self { text: line.trim_end_matches(['\n', '\r']), offset, place });
            offset += line.len();
        }
        lines
    }

    /// The bytes `range` of the line, with their place.
    pub(super) fn name(&self, range: Range<usize>) -> Name {
        let column = self.place.column + self.text[..range.start].chars().count();
        Name {
            text: self.text[range.clone()].into(),
            span: self.offset + range.start..self.offset + range.end,
            place: Place { line: self.place.line, column },
        }
    }

    /// The line from byte `at` on.
    pub(super) fn from(&self, at: usize) -> Self {
        let column = self.place.column + self.text[..at].chars().count();
        Self { text: &self.text[at..], offset: self.offset + at, place: Place { line: self.place.line, column } }
    }

    /// The whole line, without blanks at its ends.
    pub(super) fn whole(&self) -> Name {
        let start = self.text.len() - self.text.trim_start().len();
        self.name(start..start.max(self.text.trim_end().len()))
    }
}
