//! Escapes text of people and agents in a scratch pad: it can neither begin an entry nor end the pad, and stays
//! readable.
//!
//! A line that would have a meaning in the pad, or would open a block of code or HTML, gets a backslash, which Markdown
//! does not show. A control character becomes a numeric character reference, which Markdown shows as that character.
//! Reading reverses both exactly, so a text comes back as it was given, except for blanks around it and for line
//! breaks, which become `\n`.

use std::borrow::Cow;

use crate::interviews::pad::outline::Outline;
use crate::model::is_terminal_control;

/// The labels of the parts of an entry.
pub(super) const LABELS: [&str; 3] = ["Asked", "Answer", "Skipped"];

/// The normal form of a text: without blanks around it, and with `\n` between its lines.
pub(super) fn normal(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if !text.contains("\r\n") {
        return Cow::Borrowed(text);
    }
    let lines: Vec<_> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    Cow::Owned(lines.join("\n"))
}

/// Escapes `text`, to be written after a label. Lines end in `newline`.
pub(super) fn write(text: &str, newline: &str) -> String {
    let text = normal(text);
    let mut written = String::with_capacity(text.len() + 16);
    for (nth, line) in text.split('\n').enumerate() {
        // The first line follows a label, so nothing at its beginning has a meaning.
        if nth > 0 {
            written.push_str(newline);
            if let Some(at) = guarded(line) {
                written.push_str(&line[..at]);
                written.push('\\');
                write_line(&line[at..], &mut written);
                continue;
            }
        }
        write_line(line, &mut written);
    }
    written
}

fn write_line(line: &str, written: &mut String) {
    for (at, c) in line.char_indices() {
        if is_referenced(c) {
            written.push_str(&format!("&#{};", u32::from(c)));
        } else if c == '&' && reference(&line[at..]).is_some() {
            written.push_str("&#38;");
        } else {
            written.push(c);
        }
    }
}

/// Reverses [`write`].
pub(super) fn read(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    for (nth, line) in written.trim().split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if nth > 0 {
            text.push('\n');
            if let Some((indent, rest)) = guarded_by_backslash(line) {
                text.push_str(indent);
                read_line(rest, &mut text);
                continue;
            }
        }
        read_line(line, &mut text);
    }
    text
}

fn read_line(line: &str, text: &mut String) {
    let mut rest = line;
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        match reference(&rest[at..]) {
            Some((c, len)) => {
                text.push(c);
                rest = &rest[at + len..];
            }
            None => {
                text.push('&');
                rest = &rest[at + 1..];
            }
        }
    }
    text.push_str(rest);
}

/// Converts an escaped answer to Markdown for a section. The first line needed no backslash after its label, but needs
/// one in the section. Fences that come in pairs become code blocks again.
pub(super) fn moved(written: &str, is_behind_label: bool) -> String {
    let mut lines: Vec<Cow<'_, str>> =
        written.split('\n').map(|line| Cow::Borrowed(line.trim_end_matches('\r'))).collect();
    if is_behind_label && let Some(at) = guarded(&lines[0]) {
        lines[0] = format!("{}\\{}", &lines[0][..at], &lines[0][at..]).into();
    }
    let plain = lines.join("\n");
    let mut at = 0;
    while at < lines.len() {
        let Some(length) = block_length(&lines[at..]) else {
            at += 1;
            continue;
        };
        for line in &mut lines[at..at + length] {
            *line = code_line(line).into();
        }
        at += length;
    }
    let with_code = lines.join("\n");
    // In a list or a quotation a fence can mean something else; then keep the backslashes.
    let headings = headings_before_another(&with_code);
    if headings.is_some() && headings == headings_before_another(&plain) { with_code } else { plain }
}

/// How many of these lines are a code block between a pair of escaped fences, if they begin with one.
fn block_length(lines: &[Cow<'_, str>]) -> Option<usize> {
    let (opening_mark, opening, _) = fence(&lines[0])?;
    for (nth, line) in lines.iter().enumerate().skip(1) {
        if let Some((mark, long, rest)) = fence(line)
            && mark == opening_mark
            && long >= opening
            && rest.trim().is_empty()
        {
            return Some(nth + 1);
        }
    }
    None
}

/// The number of headings in `text`; none if a heading after it would not be recognised.
fn headings_before_another(text: &str) -> Option<usize> {
    let outline = Outline::read(&format!("{text}\n\n## Next\n"));
    let last = outline.headings.last()?;
    // An open block at the end of the text would swallow it.
    if last.hashes && last.range.start == text.len() + 2 { Some(outline.headings.len()) } else { None }
}

/// The character of an escaped fence, its length, and the text after it.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let (_, words) = guarded_by_backslash(line)?;
    let mark = words.chars().next()?;
    let rest = words.trim_start_matches(mark);
    let long = words.len() - rest.len();
    // Backticks after backticks make a code span, not a fence.
    let is_fence = long >= 3 && (mark == '~' || (mark == '`' && !rest.contains('`')));
    is_fence.then_some((mark, long, rest))
}

/// A line inside a code block, where backslashes and references are literal: reverses the escaping, except for control
/// characters.
fn code_line(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let (indent, rest) = guarded_by_backslash(line).unwrap_or(("", line));
    text.push_str(indent);
    text.push_str(&rest.replace("&#38;", "&"));
    text
}

/// Whether a character is written as a reference: control characters, and characters that some programs treat as line
/// breaks.
fn is_referenced(c: char) -> bool {
    (is_terminal_control(c) && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// The character of the reference at the beginning of `text`, and the length of the reference; none for references that
/// [`write`] does not make.
fn reference(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix("&#")?;
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    if !(1..=7).contains(&end) || !digits[end..].starts_with(';') || (end > 1 && digits.starts_with('0')) {
        return None;
    }
    let c = char::from_u32(digits[..end].parse().ok()?)?;
    (is_referenced(c) || c == '&' || c == '#').then_some((c, end + 3))
}

/// The place where a line has or needs a backslash: after at most three blanks, before something that has a meaning in
/// Markdown or in the pad. Lines that are indented further can only be code.
fn guarded(line: &str) -> Option<usize> {
    let at = line.len() - line.trim_start_matches(' ').len();
    let mark = line[at..].trim_start_matches('\\');
    (at <= 3 && means_more(mark)).then_some(at)
}

/// What is before and after the backslash at a guarded place.
fn guarded_by_backslash(line: &str) -> Option<(&str, &str)> {
    let (indent, rest) = line.split_at(guarded(line)?);
    Some((indent, rest.strip_prefix('\\')?))
}

fn means_more(line: &str) -> bool {
    line.starts_with('#')
        || line.starts_with('<')
        || line.starts_with("```")
        || line.starts_with("~~~")
        // A link definition, which Markdown would not show.
        || (line.starts_with('[') && line.contains("]:"))
        || label(line).is_some()
        || is_underline(line.trim_end_matches([' ', '\t']))
}

/// Whether a line makes the one above it a heading.
fn is_underline(line: &str) -> bool {
    !line.is_empty() && (line.trim_matches('=').is_empty() || line.trim_matches('-').is_empty())
}

/// The label at the beginning of a line, and its length.
pub(super) fn label(line: &str) -> Option<(&'static str, usize)> {
    let words = line.strip_prefix("**")?;
    for label in LABELS {
        // People write the colon inside of the emphasis as well.
        if let Some(rest) = words.strip_prefix(label)
            && (rest.starts_with("**:") || rest.starts_with(":**"))
        {
            return Some((label, label.len() + 5));
        }
    }
    None
}

/// Escapes `topic` for a heading: one line, without hashes at the end, which Markdown would drop.
pub(super) fn write_topic(topic: &str) -> String {
    let words = topic.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut written = String::new();
    write_line(&words, &mut written);
    if let Some(rest) = written.strip_suffix('#') {
        written = format!("{rest}&#35;");
    }
    written
}

/// A heading with the text `topic`, with all Markdown marks escaped.
pub(super) fn heading(level: u8, topic: &str) -> String {
    let hashes = "#".repeat(level.into());
    let plain = format!("{hashes} {}", write_topic(topic));
    let words = topic.split_whitespace().collect::<Vec<_>>().join(" ");
    match Outline::read(&plain).headings.as_slice() {
        [heading] if heading.title == words => plain,
        _ => {
            let mut text = hashes + " ";
            for c in words.chars() {
                match c {
                    _ if is_referenced(c) => text.push_str(&format!("&#{};", u32::from(c))),
                    _ if c.is_ascii_punctuation() => text.extend(['\\', c]),
                    _ => text.push(c),
                }
            }
            text
        }
    }
}

/// Reverses [`write_topic`].
pub(super) fn read_topic(written: &str) -> String {
    let mut topic = String::new();
    read_line(written.trim(), &mut topic);
    topic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_mean_more_is_written_with_a_backslash() {
        for (text, written) in [
            ("plain\ntext", "plain\ntext"),
            ("# first\n# second", "# first\n\\# second"),
            ("a\n   ### Q9: forged\n    #### code", "a\n   \\### Q9: forged\n    #### code"),
            ("a\n<!-- End scratch pad -->", "a\n\\<!-- End scratch pad -->"),
            ("a\n```sh\nrm\n```", "a\n\\```sh\nrm\n\\```"),
            (
                "a\n**Answer**: mine\n**Skipped:** x\n**Bold**: y",
                "a\n\\**Answer**: mine\n\\**Skipped:** x\n**Bold**: y",
            ),
            ("a\n---\n===\n--\t\n--- b", "a\n\\---\n\\===\n\\--\t\n--- b"),
            ("a\n\\# b\n\\\\# c\n\\d", "a\n\\\\# b\n\\\\\\# c\n\\d"),
            ("bell\u{7} and \u{202e}turned", "bell&#7; and &#8238;turned"),
            ("&#7; &#38; &#x7; &amp; &#65;", "&#38;#7; &#38;#38; &#x7; &amp; &#65;"),
            ("a\n[x]: /url\n[x](/url)", "a\n\\[x]: /url\n[x](/url)"),
            ("a\r\nb\rc", "a\nb&#13;c"),
            ("  \n around \n\n", "around"),
        ] {
            assert_eq!(write(text, "\n"), written, "{text:?}");
            assert_eq!(read(written), normal(text), "{written:?}");
        }
        assert_eq!(write("a\nb", "\r\n"), "a\r\nb");
        assert_eq!(read("a\r\nb\r\n"), "a\nb");
    }

    #[test]
    fn what_leaves_its_entry_means_no_more_and_its_code_is_code() {
        for (text, moved) in [
            ("plain\ntext", "plain\ntext"),
            ("# first\n# second", "\\# first\n\\# second"),
            ("<!-- never closed", "\\<!-- never closed"),
            ("\\# said so", "\\\\# said so"),
            ("---", "\\---"),
            ("- item", "- item"),
            ("```sh\n# comment\nrm &#38;\n```", "```sh\n# comment\nrm &#38;\n```"),
            ("so:\n\n~~~~\n```\n~~~\n~~~~\nand\n```", "so:\n\n~~~~\n```\n~~~\n~~~~\nand\n\\```"),
            ("```\nnever closed\n# x", "\\```\nnever closed\n\\# x"),
            ("``` a`b\nx\n```", "\\``` a`b\nx\n\\```"),
            ("- one\n  ```\n  # code\n  ```", "- one\n  ```\n  # code\n  ```"),
            ("- one\n  ```\nout\n  ```\n# x", "- one\n  \\```\nout\n  \\```\n\\# x"),
            ("```\nbell\u{7}\n```", "```\nbell&#7;\n```"),
        ] {
            assert_eq!(super::moved(&write(text, "\n"), true), moved, "{text:?}");
            assert_eq!(super::moved(&write(text, "\r\n"), true), moved, "{text:?}");
        }
        assert_eq!(moved("#### by hand\n\\# x", false), "#### by hand\n\\# x");
    }

    #[test]
    fn topics_are_one_line() {
        for (topic, written) in [("a\n b", "a b"), ("C #", "C &#35;"), ("#", "&#35;"), ("a\u{1b}[1m", "a&#27;[1m")] {
            assert_eq!(write_topic(topic), written);
        }
        assert_eq!(read_topic(&write_topic("C ##")), "C ##");
        for (topic, written) in [
            ("Costs & limits", "## Costs & limits"),
            ("snake_case", "## snake_case"),
            ("C #", "## C &#35;"),
            ("*all* of it", "## \\*all\\* of it"),
            ("A<!-- b -->", "## A\\<\\!\\-\\- b \\-\\-\\>"),
        ] {
            assert_eq!(heading(2, topic), written);
        }
    }
}
