//! Text for people: short, aligned, coloured only where colours are shown. Control characters are stripped here from
//! every value that comes from a file, so that no file can send commands to a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::iter::repeat_n;

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::model::is_terminal_control;
use crate::picture::cut;
use crate::runs::columns;

/// How many columns a text takes on a terminal.
pub(super) fn width(text: &str) -> usize {
    // A fast path: lists of many runs are ASCII.
    if text.is_ascii() { text.len() } else { text.width() }
}

/// A page that is being written.
#[derive(Debug, Default)]
pub(super) struct TextPage {
    text: String,
    /// Whether very long values are cut.
    clips: bool,
    /// How many columns prose may take, if that matters.
    room: Option<usize>,
    /// Whether the last columns of tables are cut where they have some room.
    cuts_tables: bool,
}

/// The words of a text. A command in backticks is one.
fn words(text: &str) -> Vec<&str> {
    let (mut words, mut from, mut is_quoted) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        if c == ' ' && !is_quoted {
            words.push(&text[from..at]);
            from = at + 1;
        }
        is_quoted ^= c == '`';
    }
    words.push(&text[from..]);
    words
}

/// A text with line breaks, so that it fits into this many columns, all but the first line behind `indent` blanks. A command in
/// backticks stays whole.
pub(super) fn in_lines(text: &str, columns: usize, indent: usize) -> String {
    lines_from(text, columns, indent, indent)
}

/// As [`in_lines`], for a text whose first line begins in the column `first`.
fn lines_from(text: &str, columns: usize, first: usize, indent: usize) -> String {
    let (mut lines, mut used) = (String::new(), 0);
    let mut room = columns.saturating_sub(first).max(LEAST);
    for word in words(text) {
        if used > 0 && used + 1 + width(word) > room {
            lines.push('\n');
            lines.extend(repeat_n(' ', indent));
            room = columns.saturating_sub(indent).max(LEAST);
            used = 0;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += width(word);
    }
    lines
}

/// The highest number of characters that are shown of one value; `--json` has all of them.
const CLIPPED: usize = 500;

/// The same for a cell of a list.
const BRIEF: usize = 100;

/// Bold.
pub(super) const STRONG: Style = Style::new().bold();
/// Less important.
pub(super) const FAINT: Style = Style::new().dimmed();
/// All is well.
pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Attention.
pub(super) const CARE: Style = AnsiColor::Yellow.on_default().bold();
/// Trouble.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();

/// Width of the column with labels.
const LABEL: usize = 11;
/// What prose keeps, however narrow the terminal is, and the last column of a table beside the others.
const LEAST: usize = 12;
/// The label of a command, which is not broken: it is to be pasted.
pub(super) const COMMAND: &str = "command";

impl TextPage {
    /// The page that `fill` writes.
    pub(super) fn of(fill: impl FnOnce(&mut Self)) -> String {
        let mut page = Self::default();
        fill(&mut page);
        page.text
    }

    /// Breaks prose at this many columns from now on. Commands stay whole.
    pub(super) fn within(&mut self, columns: Option<usize>) {
        self.room = columns;
    }

    /// Cuts very long values from now on, for text that others wrote. (Commands are never cut.)
    pub(super) fn cut_long_values(&mut self) {
        self.clips = true;
    }

    /// Breaks prose and cuts the last columns of tables from now on, as the columns of the output ask for. Commands stay whole.
    pub(super) fn fit_to_columns(&mut self) {
        self.room = columns();
        self.cuts_tables = true;
    }

    fn fit<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.clips { clip(text) } else { text.into() }
    }

    /// Adds a line whose first word is styled.
    pub(super) fn head(&mut self, style: Style, word: &str, rest: &str) {
        let rest = self.fit(rest);
        let rest = clean(&rest);
        let gap = if rest.is_empty() { "" } else { "  " };
        let word = clean(word);
        let rest = self.broken_from(&rest, width(&word) + 2, 2);
        let _ = writeln!(self.text, "{style}{word}{style:#}{gap}{rest}");
    }

    /// Adds a sentence of a kind, such as a warning.
    pub(super) fn told(&mut self, style: Style, kind: &str, sentence: &str) {
        let sentence = self.broken_from(&clean(sentence), width(kind) + 2, 2);
        let _ = writeln!(self.text, "{style}{kind}{style:#}: {sentence}");
    }

    /// Adds a label and its value.
    pub(super) fn field(&mut self, label: &str, value: &str) {
        let value = self.fit(value);
        let value = clean(&value);
        let value = if label == COMMAND { value } else { self.broken(&value, LABEL + 3).into() };
        let _ = writeln!(self.text, "  {FAINT}{label:<LABEL$}{FAINT:#} {value}");
    }

    /// Adds a label and its value for each value, if there is one.
    pub(super) fn each(&mut self, label: &str, values: impl IntoIterator<Item: ToString>) {
        for value in values {
            self.field(label, &value.to_string());
        }
    }

    /// Adds labels and their values below each other, the values in one column.
    pub(super) fn fields(&mut self, fields: &[(&str, String)]) {
        let width = fields.iter().map(|(label, _)| label.len()).max().unwrap_or_default().max(LABEL);
        for (label, value) in fields {
            let value = self.broken(&clean(&self.fit(value)), width + 3);
            let _ = writeln!(self.text, "  {FAINT}{label:<width$}{FAINT:#} {value}");
        }
    }

    /// Adds a sentence, behind the blanks with which it begins.
    pub(super) fn line(&mut self, line: &str) {
        let line = self.fit(line);
        let line = clean(&line);
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        let text = self.broken_from(text, indent, if indent > 0 { indent + 2 } else { 0 });
        let _ = writeln!(self.text, "{:indent$}{text}", "");
    }

    /// Adds a command behind blanks. It stays whole: it is to be copied.
    pub(super) fn command(&mut self, command: &str) {
        let _ = writeln!(self.text, "    {}", clean(&self.fit(command)));
    }

    /// Adds a sentence behind two blanks.
    pub(super) fn prose(&mut self, text: &str) {
        let text = self.fit(text);
        let text = self.broken(&clean(&text), 4);
        let _ = writeln!(self.text, "  {text}");
    }

    /// Adds a text below a line of a list.
    pub(super) fn below(&mut self, text: &str) {
        const INDENT: usize = 6;
        let text = self.fit(text);
        let text = self.broken(&clean(&text), INDENT);
        let _ = writeln!(self.text, "{:INDENT$}{text}", "");
    }

    /// This text with line breaks, so that its lines fit behind `indent` blanks.
    fn broken(&self, text: &str, indent: usize) -> String {
        self.broken_from(text, indent, indent)
    }

    /// As [`Self::broken`], for a text whose first line begins in the column `first`.
    fn broken_from(&self, text: &str, first: usize, indent: usize) -> String {
        match self.room {
            Some(room) => lines_from(text, room, first, indent),
            None => text.to_owned(),
        }
    }

    /// Adds several lines, none of which is broken or cut.
    pub(super) fn lines(&mut self, text: &str) {
        for line in text.lines() {
            self.raw(&clean(line));
        }
    }

    /// Adds a text and a line break as they are: the caller has cleaned it.
    pub(super) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Adds a table whose columns are as wide as their widest cell; the last column is not padded. Columns that have no room stand
    /// below the others.
    pub(super) fn table<C: AsRef<str>>(&mut self, indent: usize, rows: impl IntoIterator<Item: AsRef<[C]>>) {
        self.table_within(self.room, indent, rows);
    }

    /// As [`Self::table`], in so many columns; none for rows that are as wide as they should be.
    pub(super) fn table_within<C: AsRef<str>>(
        &mut self,
        room: Option<usize>,
        indent: usize,
        rows: impl IntoIterator<Item: AsRef<[C]>>,
    ) {
        let rows: Vec<_> = rows.into_iter().collect();
        // Cells are looked at twice rather than stored: allocating memory for ten thousand rows costs more.
        let mut widths: Vec<usize> = Vec::new();
        for row in &rows {
            widths.resize(widths.len().max(row.as_ref().len()), 0);
            for (widest, text) in widths.iter_mut().zip(row.as_ref()) {
                *widest = (*widest).max(width(&self.cell(text.as_ref())));
            }
        }
        let mut above = widths.len();
        if let (Some(room), Some((last, before))) = (room, widths.split_last_mut()) {
            let taken = |columns: &[usize]| indent + columns.iter().map(|width| width + 2).sum::<usize>();
            let left = room.saturating_sub(taken(before));
            if self.cuts_tables && left >= LEAST {
                *last = (*last).min(left);
            } else if left < *last {
                above = before.len().max(1);
                while above > 1 && taken(&before[..above]) > room + 2 {
                    above -= 1;
                }
            }
        }
        let blanks = " ".repeat(widths.iter().max().map_or(0, |widest| widest + 2));
        let mut line = String::new();
        for row in &rows {
            line.clear();
            line.extend(repeat_n(' ', indent));
            for (text, widest) in row.as_ref().iter().zip(&widths[..above]) {
                let text = self.cell(text.as_ref());
                let text = if width(&text) > *widest { cut(&text, *widest).into() } else { text };
                line.push_str(&text);
                line.push_str(&blanks[..widest - width(&text) + 2]);
            }
            self.raw(line.trim_end());
            let below: Vec<_> = row.as_ref().iter().skip(above).map(|text| self.cell(text.as_ref())).collect();
            let below = below.join("  ");
            if !below.trim().is_empty() {
                let below = self.broken(below.trim_end(), indent + 2);
                let _ = writeln!(self.text, "{:1$}{below}", "", indent + 2);
            }
        }
    }

    fn cell<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if is_plain(text) { text.into() } else { clean(&self.fit(text)).into_owned().into() }
    }
}

/// The beginning of a very long text, and the number of characters that are left out.
pub(super) fn clip(text: &str) -> Cow<'_, str> {
    // A fast path: most texts are short, and lists of many runs are full of them.
    if text.len() <= CLIPPED {
        return text.into();
    }
    match text.char_indices().nth(CLIPPED) {
        None => text.into(),
        Some((end, _)) => format!("{}… ({} more characters)", &text[..end], text[end..].chars().count()).into(),
    }
}

/// The beginning of a text, for a cell of a list.
pub(super) fn brief(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(BRIEF) {
        None => text.into(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()).into(),
    }
}

/// A value as text; empty if there is none.
pub(super) fn or_empty(value: Option<impl ToString>) -> String {
    match value {
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

/// A value as text; `-` if there is none.
pub(super) fn or_dash(value: Option<impl ToString>) -> String {
    match value {
        Some(value) => value.to_string(),
        None => "-".to_owned(),
    }
}

/// A value of JSON: a text without its quotation marks.
pub(super) fn unquoted(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The place behind the path of a file: `:3:14`, as far as it is known.
pub(super) fn place(line: Option<usize>, column: Option<usize>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!(":{line}:{column}"),
        (Some(line), None) => format!(":{line}"),
        (None, Some(column)) => format!(":{column}"),
        (None, None) => String::new(),
    }
}

/// Whether a text is shown as it is: short, and nothing but visible ASCII and blanks.
fn is_plain(text: &str) -> bool {
    text.len() <= CLIPPED && is_visible(text)
}

fn is_visible(text: &str) -> bool {
    // Without a way out of the loop the compiler looks at many bytes at once.
    text.bytes().fold(true, |so_far, byte| so_far & (byte == b' ' || byte.is_ascii_graphic()))
}

/// One line without terminal control: no control characters, and no marks that change the direction of text.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if is_visible(text) {
        return text.into();
    }
    text.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).filter(|&c| !is_terminal_control(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        assert_eq!(clean("a\u{1b}]52;c;eA==\u{7}b\u{202e}c\nd\u{9b}31m"), "a]52;c;eA==bc d31m");
    }

    #[test]
    fn what_is_long_beyond_reading_is_cut_and_says_by_how_much() {
        assert_eq!(clip(&"é".repeat(500)), "é".repeat(500));
        assert_eq!(clip(&"é".repeat(900_000)), format!("{}… (899500 more characters)", "é".repeat(500)));
        let page = TextPage::of(|page| page.line(&"x".repeat(1000)));
        assert_eq!(page.len(), 1001, "only pages that say so are cut");
    }

    #[test]
    fn columns_are_straight_in_every_script() {
        let page = TextPage::of(|page| page.table(0, &[["a", "x"], ["尋ねる", "x"]]));
        assert_eq!(page, "a       x\n尋ねる  x\n");
    }
}
