//! The statements of a diagram, some of which take several lines.

use crate::machine::Diagnostic;
use crate::machine::lines::SourceLine;
use crate::machine::mermaid::grammar::{ParseResult, Statement, Until, statement};
use crate::machine::mermaid::lexer::{Kind, Tokens};

/// The end of a setting, `%%{init: …}%%`.
pub(super) const END_OF_SETTING: &str = "}%%";

/// Iterates over the statements below the header of a diagram, each with its first line.
pub(super) struct Statements<'l, 'a> {
    lines: &'l [SourceLine<'a>],
    /// The index of the next line.
    at: usize,
    /// What stands in the line of a statement's end behind that end.
    rest: Option<SourceLine<'a>>,
    /// If one setting has no end, the others have none either: to search again would take quadratic time.
    settings_end: bool,
}

impl<'l, 'a> Statements<'l, 'a> {
    pub(super) fn new(lines: &'l [SourceLine<'a>]) -> Self {
        Self { lines, at: 0, rest: None, settings_end: true }
    }

    fn line(&mut self) -> Option<SourceLine<'a>> {
        if let Some(rest) = self.rest.take() {
            return Some(rest);
        }
        let line = *self.lines.get(self.at)?;
        self.at += 1;
        Some(line)
    }

    /// Whether `line` begins a setting over several lines, which is then left behind.
    fn skip_setting(&mut self, line: SourceLine<'_>) -> bool {
        if !self.settings_end || !line.text.trim_start().starts_with("%%{") || line.text.contains(END_OF_SETTING) {
            return false;
        }
        if let Some(end) = self.lines[self.at..].iter().position(|line| line.text.contains(END_OF_SETTING)) {
            self.at += end + 1;
            return true;
        }
        self.settings_end = false;
        false
    }

    /// Leaves the lines of a statement behind. Returns whether its end was found.
    fn skip(&mut self, line: SourceLine<'a>, until: Until) -> bool {
        match until {
            Until::HereAlready => true,
            Until::EndNote => self.skip_note(),
            Until::Quote => self.skip_quoted(),
            Until::Close(from) => self.skip_description(line, from),
            Until::Brace => {
                self.skip_composite();
                // It is an error anyway.
                true
            }
        }
    }

    /// A note ends at a line `end note`, or with its first line if that begins with a colon.
    fn skip_note(&mut self) -> bool {
        let mut first = true;
        while let Some(line) = self.line() {
            let text = line.text.trim_start();
            if first && text.starts_with(':') {
                return true;
            }
            if let Some(behind) = behind_end_note(text) {
                // Mermaid reads on in the same line.
                let behind = line.text.len() - behind.len();
                self.rest = Some(line.from(behind));
                return true;
            }
            first = first && text.is_empty();
        }
        false
    }

    /// A quoted text: `text" as id`, from the middle of the text on.
    fn skip_quoted(&mut self) -> bool {
        while let Some(line) = self.line() {
            if let Some((_, behind)) = line.text.split_once('"') {
                return behind.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("as"));
            }
        }
        false
    }

    /// A description for screen readers ends at the first `}`.
    fn skip_description(&mut self, line: SourceLine<'a>, from: usize) -> bool {
        let mut next = Some(line.from(from));
        while let Some(line) = next {
            if let Some(end) = line.text.find('}') {
                self.rest = Some(line.from(end + 1));
                return true;
            }
            next = self.line();
        }
        false
    }

    fn skip_composite(&mut self) {
        let mut open = 1_usize;
        while let Some(line) = self.line() {
            match statement(line) {
                Ok(Statement::Skipped(_, Until::Brace)) => open += 1,
                // What stands in a note or a description is text, whatever it looks like.
                Ok(Statement::Skipped(_, until)) => drop(self.skip(line, until)),
                // So is a label.
                Ok(_) => {}
                Err(_) => open = braces_behind(line.text, open),
            }
            if open == 0 {
                return;
            }
        }
    }
}

impl<'a> Iterator for Statements<'_, 'a> {
    type Item = (SourceLine<'a>, ParseResult<Statement>);

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.line()?;
        if self.skip_setting(line) {
            return Some((line, Ok(Statement::Skipped(None, Until::HereAlready))));
        }
        let found = statement(line);
        if let Ok(Statement::Skipped(_, until)) = &found
            && !self.skip(line, *until)
        {
            return Some((line, Err(Box::new(unclosed(line, *until)))));
        }
        Some((line, found))
    }
}

/// How many braces are open after a line that is not a statement, with `open` before it.
fn braces_behind(line: &str, open: usize) -> usize {
    let mut open = open;
    for token in Tokens::new(line) {
        match token.kind {
            Kind::Open => open += 1,
            Kind::Close => open -= 1,
            _ => {}
        }
        if open == 0 {
            break;
        }
    }
    open
}

fn unclosed(line: SourceLine<'_>, until: Until) -> Diagnostic {
    let (what, help) = match until {
        Until::Quote => ("quoted text", "close it with `\"`, and write `as` and an id behind it"),
        Until::Close(_) => ("description", "close it with `}`"),
        _ => ("note", "write `end note` on a line of its own below it, or `note right of STATE : text` on one line"),
    };
    Diagnostic::error("mermaid_syntax", &line.whole(), format!("this {what} has no end")).with_help(help)
}

/// What stands behind `end note`, if `text` begins with that.
fn behind_end_note(text: &str) -> Option<&str> {
    const END: &str = "end note";
    let (begin, behind) = text.split_at_checked(END.len())?;
    // `end notes` is text of the note.
    let is_longer = behind.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (begin.eq_ignore_ascii_case(END) && !is_longer).then_some(behind)
}
