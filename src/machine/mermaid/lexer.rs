//! The tokens of a line, up to the text of a label or description.

use std::ops::Range;

/// The type of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `[*]`: a beginning or an end.
    Star,
    /// `-->`.
    Arrow,
    /// Another arrow, or only dashes.
    OtherArrow,
    /// `:`. The rest of the line is text.
    Colon,
    /// `:::class`, which is only about drawing.
    Class,
    /// `"text"`. Ends with the line if the second quotation mark is missing.
    Quoted,
    /// `<<choice>>` or `[[choice]]`.
    Stereotype,
    /// `{`.
    Open,
    /// `}`.
    Close,
    /// Anything else, up to a blank.
    Word,
}

/// A token of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
}

/// Iterates over the tokens of a line.
#[derive(Debug, Clone)]
pub(super) struct Tokens<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self { line, at: 0 }
    }

    /// The range that has not been read yet, without blanks at its ends.
    pub(super) fn rest(&self) -> Range<usize> {
        let tail = &self.line[self.at..];
        let start = self.line.len() - tail.trim_start().len();
        start..start.max(self.line.trim_end().len())
    }

    /// The next token; `None` at the end of the line or before a comment.
    pub(super) fn peek(&self) -> Option<Token> {
        self.clone().next()
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let start = self.rest().start;
        let rest = &self.line[start..];
        let (kind, len) = token(rest)?;
        self.at = start + len;
        Some(Token { kind, range: start..self.at })
    }
}

/// The token at the beginning of `text`, and its length.
fn token(text: &str) -> Option<(Kind, usize)> {
    if is_comment(text) {
        return None;
    }
    let len = arrow(text);
    if len > 0 {
        return Some((if &text[..len] == "-->" { Kind::Arrow } else { Kind::OtherArrow }, len));
    }
    if let Some(len) = enclosed(text, "<<", ">>").or_else(|| enclosed(text, "[[", "]]")) {
        return Some((Kind::Stereotype, len));
    }
    if text.starts_with("[*]") {
        return Some((Kind::Star, 3));
    }
    if let Some(class) = text.strip_prefix(":::") {
        let end = class.find(|c: char| c.is_whitespace() || c == ':');
        return Some((Kind::Class, 3 + end.unwrap_or(class.len())));
    }
    match text.as_bytes().first()? {
        b':' => Some((Kind::Colon, 1)),
        b'{' => Some((Kind::Open, 1)),
        b'}' => Some((Kind::Close, 1)),
        b'"' => Some((Kind::Quoted, text[1..].find('"').map_or(text.len(), |at| at + 2))),
        _ => Some((Kind::Word, word(text))),
    }
}

/// The length of what begins with `open` and ends with `close`, if `text` begins with that.
fn enclosed(text: &str, open: &str, close: &str) -> Option<usize> {
    let inside = text.strip_prefix(open)?;
    Some(open.len() + inside.find(close)? + close.len())
}

/// Whether `text` begins with a comment: `%%`, or `#` as in Mermaid's own grammar.
pub(super) fn is_comment(text: &str) -> bool {
    text.starts_with("%%") || text.starts_with('#')
}

/// The characters of arrows.
const SHAFT: &str = "-=<>";

/// The length of the arrow at the beginning of `text`, 0 if there is none: a sequence of `-`, `=`, `<`, `>` and dots
/// between them that has a point or at least two dashes. `-->` ends right there: `-->-a` is an arrow and a word.
fn arrow(text: &str) -> usize {
    let mut len = shaft(text);
    if len == 0 {
        return 0;
    }
    // `-.->`
    while text[len..].starts_with('.') && shaft(&text[len + 1..]) > 0 {
        len += 1 + shaft(&text[len + 1..]);
    }
    let run = &text[..len];
    // `<<` begins `<<choice>>`, even without its end.
    let is_stereotype = run.starts_with("<<") && !run.contains('-') && !run.contains('=');
    let has_point = run.contains("->") || run.contains("<-") || run.contains("=>") || run.contains("<=");
    if !is_stereotype && (has_point || run.len() > 1 && !run.contains(['<', '>'])) { len } else { 0 }
}

/// How many bytes at the beginning of `text` can be those of an arrow.
fn shaft(text: &str) -> usize {
    text.len() - text.trim_start_matches(|c: char| SHAFT.contains(c)).len()
}

/// The length of the word at the beginning of `text`, at least one character.
fn word(text: &str) -> usize {
    let mut at = text.chars().next().map_or(0, char::len_utf8);
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() || ":\"{}".contains(c) {
            break;
        }
        if !SHAFT.contains(c) {
            at += c.len_utf8();
            continue;
        }
        if arrow(&text[at..]) > 0 {
            break;
        }
        // Not an arrow, so the whole sequence belongs to the word.
        at += shaft(&text[at..]);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(line: &str) -> Vec<(Kind, &str)> {
        Tokens::new(line).map(|token| (token.kind, &line[token.range])).collect()
    }

    #[test]
    fn a_line_is_cut_where_mermaid_cuts_it() {
        use Kind::{Arrow, Class, Close, Colon, Open, OtherArrow, Quoted, Star, Stereotype, Word};
        let cases: &[(&str, &[(Kind, &str)])] = &[
            ("", &[]),
            ("  %% note", &[]),
            ("[*]-->a", &[(Star, "[*]"), (Arrow, "-->"), (Word, "a")]),
            ("a --> b # why", &[(Word, "a"), (Arrow, "-->"), (Word, "b")]),
            ("v1.2-->完了:go", &[(Word, "v1.2"), (Arrow, "-->"), (Word, "完了"), (Colon, ":"), (Word, "go")]),
            ("a:::bad --> b", &[(Word, "a"), (Class, ":::bad"), (Arrow, "-->"), (Word, "b")]),
            ("task-builder --> b", &[(Word, "task-builder"), (Arrow, "-->"), (Word, "b")]),
            ("a ---> b", &[(Word, "a"), (OtherArrow, "--->"), (Word, "b")]),
            ("a<--b", &[(Word, "a"), (OtherArrow, "<--"), (Word, "b")]),
            ("a ==> b", &[(Word, "a"), (OtherArrow, "==>"), (Word, "b")]),
            ("a -.-> b", &[(Word, "a"), (OtherArrow, "-.->"), (Word, "b")]),
            ("--", &[(OtherArrow, "--")]),
            ("state \"a b\" as c {", &[(Word, "state"), (Quoted, "\"a b\""), (Word, "as"), (Word, "c"), (Open, "{")]),
            ("state c <<choice>>", &[(Word, "state"), (Word, "c"), (Stereotype, "<<choice>>")]),
            ("}}", &[(Close, "}"), (Close, "}")]),
            ("a(b)", &[(Word, "a(b)")]),
            ("\"open", &[(Quoted, "\"open")]),
        ];
        for (line, expected) in cases {
            assert_eq!(tokens(line), *expected, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn tokens_are_in_order_and_leave_only_blanks_and_comments(line in "[-a-z.<>=:*\\[\\]{}\"%# é]{0,40}") {
            let mut all = Tokens::new(&line);
            let mut end = 0;
            for token in all.by_ref() {
                proptest::prop_assert!(token.range.start >= end && token.range.end > token.range.start);
                proptest::prop_assert!(line[end..token.range.start].trim().is_empty());
                end = token.range.end;
            }
            let rest = line[end..].trim();
            proptest::prop_assert!(rest.is_empty() || is_comment(rest), "{rest:?}");
        }
    }
}
