//! Text of people and agents inside a scratch pad: whatever it holds, it begins no entry, ends no pad, and still reads
//! naturally.
//!
//! A line that would mean something to the pad or would open a block of code or HTML gets a backslash in front, which
//! Markdown does not show; a character that a terminal would obey becomes a numeric character reference, which Markdown
//! shows as that character. Both are taken back exactly on reading, so every text comes back as it was given, apart from
//! blanks around it and line ends, which are all `\n`.

use std::borrow::Cow;

use crate::model::is_obeyed;

/// What begins the parts of an entry.
pub(super) const LABELS: [&str; 3] = ["Asked", "Answer", "Skipped"];

/// The text as it is kept: without blanks around it, with `\n` between its lines.
pub(super) fn normal(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if !text.contains("\r\n") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(|line| line.trim_end_matches('\r')).collect::<Vec<_>>().join("\n"))
}

/// `text` as it is written behind a label. Its lines end in `newline`.
pub(super) fn write(text: &str, newline: &str) -> String {
    let text = normal(text);
    let mut written = String::with_capacity(text.len() + 16);
    for (nth, line) in text.split('\n').enumerate() {
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

/// Takes back what [`write`] did.
pub(super) fn read(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    for (nth, line) in written.trim().split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if nth > 0 {
            text.push('\n');
            if let Some(at) = guarded(line).filter(|at| line[*at..].starts_with('\\')) {
                text.push_str(&line[..at]);
                read_line(&line[at + 1..], &mut text);
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

/// Whether a character is written as a reference: what a terminal obeys, and what may be a line end to somebody.
fn is_referenced(c: char) -> bool {
    (is_obeyed(c) && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// The character that the reference at the beginning of `text` stands for, and the reference's length; only for those
/// that [`write`] makes.
fn reference(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix("&#")?;
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    if !(1..=7).contains(&end) || !digits[end..].starts_with(';') || (end > 1 && digits.starts_with('0')) {
        return None;
    }
    let c = char::from_u32(digits[..end].parse().ok()?)?;
    (is_referenced(c) || c == '&' || c == '#').then_some((c, end + 3))
}

/// Where the backslash of a line belongs or stands: behind at most three blanks, before something that would mean more
/// than it says. Lines further in are not looked at: they begin nothing but code.
fn guarded(line: &str) -> Option<usize> {
    let at = line.len() - line.trim_start_matches(' ').len();
    let mark = line[at..].trim_start_matches('\\');
    (at <= 3 && means_more(mark)).then_some(at)
}

fn means_more(line: &str) -> bool {
    let underline = || {
        let line = line.trim_end_matches([' ', '\t']);
        !line.is_empty() && (line.bytes().all(|byte| byte == b'=') || line.bytes().all(|byte| byte == b'-'))
    };
    line.starts_with('#')
        || line.starts_with('<')
        || line.starts_with("```")
        || line.starts_with("~~~")
        // A definition of a link, which Markdown would not show.
        || (line.starts_with('[') && line.contains("]:"))
        || label(line).is_some()
        || underline()
}

/// The label at the beginning of a line without blanks before it, and its length.
pub(super) fn label(line: &str) -> Option<(&'static str, usize)> {
    let words = line.strip_prefix("**")?;
    LABELS.into_iter().find_map(|label| {
        let rest = words.strip_prefix(label)?;
        let end = rest.starts_with("**:") || rest.starts_with(":**");
        end.then_some((label, label.len() + 5))
    })
}

/// `topic` as it stands in a heading: one line, and no hashes at its end, which a heading would drop.
pub(super) fn write_topic(topic: &str) -> String {
    let words = topic.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut written = String::new();
    write_line(&words, &mut written);
    if let Some(rest) = written.strip_suffix('#') {
        written = format!("{rest}&#35;");
    }
    written
}

/// Takes back what [`write_topic`] did.
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
    fn topics_are_one_line() {
        for (topic, written) in [("a\n b", "a b"), ("C #", "C &#35;"), ("#", "&#35;"), ("a\u{1b}[1m", "a&#27;[1m")] {
            assert_eq!(write_topic(topic), written);
        }
        assert_eq!(read_topic(&write_topic("C ##")), "C ##");
    }
}
