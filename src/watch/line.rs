//! A line of a page: text whose pieces have a look, and perhaps the run that it is about.

use crate::model::RunId;
use crate::picture::{clean, columns, cut};

/// How a piece of text looks. Words and shapes say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Plain,
    Strong,
    Dim,
    /// A person is needed.
    Need,
    /// The outcome of work is unknown.
    Doubt,
    /// Something failed, is damaged or was left.
    Bad,
    /// Work goes on.
    Work,
    /// Work ended well.
    Done,
}

impl Look {
    /// The look for a class of the style sheet of pages.
    pub(super) fn of_class(class: &str) -> Self {
        match class {
            "need" => Self::Need,
            "doubt" => Self::Doubt,
            "bad" => Self::Bad,
            "run" => Self::Work,
            "done" => Self::Done,
            "dim" => Self::Dim,
            _ => Self::Plain,
        }
    }
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) look: Look,
    pub(super) text: String,
}

/// A line of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PageLine {
    pub(super) pieces: Vec<Piece>,
    /// The run to open from here.
    pub(super) run: Option<RunId>,
}

impl PageLine {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds text without anything that a terminal obeys.
    #[must_use]
    pub(super) fn with(mut self, look: Look, text: impl AsRef<str>) -> Self {
        // A line break in a name must not make a second line of one.
        let text = clean(text.as_ref()).replace(['\n', '\t'], " ");
        if !text.is_empty() {
            self.pieces.push(Piece { look, text });
        }
        self
    }

    #[must_use]
    pub(super) fn plain(self, text: impl AsRef<str>) -> Self {
        self.with(Look::Plain, text)
    }

    #[must_use]
    pub(super) fn dim(self, text: impl AsRef<str>) -> Self {
        self.with(Look::Dim, text)
    }

    #[must_use]
    pub(super) fn about(mut self, run: RunId) -> Self {
        self.run = Some(run);
        self
    }

    pub(super) fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// The line in at most this many columns.
    pub(super) fn cut(&self, width: usize) -> Self {
        let mut left = width;
        let mut pieces = Vec::new();
        for piece in &self.pieces {
            let fitting = if left == 0 { String::new() } else { cut(&piece.text, left) };
            let is_whole = fitting == piece.text;
            left = left.saturating_sub(columns(&fitting));
            if !fitting.is_empty() {
                pieces.push(Piece { look: piece.look, text: fitting });
            }
            // What follows a piece that was cut would stand in the wrong column.
            if !is_whole {
                break;
            }
        }
        Self { pieces, run: self.run.clone() }
    }
}

/// A text of one column of a table: cut or filled up to this width.
pub(super) fn cell(text: &str, width: usize) -> String {
    let text = cut(&clean(text).replace(['\n', '\t'], " "), width);
    let missing = width.saturating_sub(columns(&text));
    format!("{text}{}", " ".repeat(missing))
}

/// A text in lines of at most this many columns, broken at blanks where that is possible.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in clean(text).lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let joined = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if columns(&joined) <= width {
                line = joined;
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line = broken(word, width, &mut lines);
        }
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

/// Breaks a word that is wider than a line; returns its end.
fn broken(word: &str, width: usize, lines: &mut Vec<String>) -> String {
    let mut line = String::new();
    for c in word.chars() {
        line.push(c);
        // A character that is wider than a line still gets one, or this would not end.
        if columns(&line) > width && line.chars().count() > 1 {
            line.pop();
            lines.push(std::mem::replace(&mut line, c.to_string()));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_wrapped_at_blanks_and_long_words_are_broken() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("尋ねる", 1), ["尋", "ね", "る"]);
        assert_eq!(wrapped("a\u{1b}[1m\nb", 10), ["a\u{fffd}[1m", "b"]);
        assert!(wrapped("", 10).is_empty());
    }

    #[test]
    fn a_line_is_cut_within_its_pieces() {
        let line = PageLine::new().plain("abc").dim(" def");
        assert_eq!(line.cut(7).text(), "abc def");
        assert_eq!(line.cut(5).text(), "abc…");
        assert_eq!(line.cut(0).text(), "");
        assert_eq!(cell("ab", 4), "ab  ");
        assert_eq!(cell("abcdef", 4), "abc…");
    }
}
