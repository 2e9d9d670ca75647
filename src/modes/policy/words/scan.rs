//! The `$word` tokens of a paragraph.

use std::ops::Range;

use super::behind::sense_behind;
use super::pasted::{PromptLine, PromptLines};
use super::quoted::Quotations;
use super::sentence::{Sense, Sentence};

/// A `$word` in the author's own words.
#[derive(Debug)]
pub(in crate::modes::policy) struct SkillToken<'a> {
    /// Its range, with the `$`.
    pub(in crate::modes::policy) at: Range<usize>,
    /// How it is meant if it does not follow another one.
    pub(in crate::modes::policy) sense: Sense<'a>,
}

/// Finds the tokens of one paragraph.
pub(in crate::modes::policy) struct Scan<'a> {
    text: &'a str,
    lines: &'a PromptLines,
    pieces: &'a [Range<usize>],
    /// The next byte to read, in the first of `pieces`.
    at: usize,
    sentence: Sentence<'a>,
    /// The last word or token.
    last: Range<usize>,
    /// The end of the current quotation.
    quoted_to: usize,
    quotations: Quotations<'a>,
}

impl<'a> Scan<'a> {
    pub(in crate::modes::policy) fn new(text: &'a str, lines: &'a PromptLines, pieces: &'a [Range<usize>]) -> Self {
        let at = pieces.first().map_or(0, |piece| piece.start);
        let end = pieces.last().map_or(at, |piece| piece.end);
        let quotations = Quotations::new(text, at, end);
        Self { text, lines, pieces, at, sentence: Sentence::default(), last: 0..0, quoted_to: 0, quotations }
    }

    /// The next character. Between two pieces there is code, a mark of Markdown or the end of a line.
    fn next_char(&mut self) -> Option<char> {
        loop {
            let piece = self.pieces.first()?;
            if let Some(rest) = self.text.get(self.at..piece.end)
                && let Some(c) = rest.chars().next()
            {
                return Some(c);
            }
            self.pieces = &self.pieces[1..];
            let next = self.at.max(self.pieces.first()?.start);
            if self.text[self.at..next].contains('\n') {
                self.sentence.end_line();
            }
            self.at = next;
        }
    }

    fn word(&mut self) {
        let at = self.at;
        let rest = &self.text[at..self.pieces[0].end];
        let mut chars = rest.char_indices().peekable();
        let mut end = rest.len();
        while let Some((offset, c)) = chars.next() {
            // A hyphen is in a word if the word goes on after it.
            let is_inside = match c {
                '\'' | '’' | '_' => true,
                '-' => matches!(chars.peek(), Some((_, next)) if next.is_alphanumeric()),
                c => c.is_alphanumeric(),
            };
            if !is_inside {
                end = offset;
                break;
            }
        }
        self.at = at + end;
        // Quoted words say nothing.
        if at >= self.quoted_to {
            self.sentence.hear(&self.text[at..self.at]);
            self.last = at..self.at;
        }
    }

    /// The end of the token whose `$` is at `at`; none if it is not a token.
    fn token(&self, at: usize) -> Option<usize> {
        match self.text[..at].chars().next_back() {
            Some('_' | '\\' | '$') => return None,
            // `US$team` is one word; scripts without blanks put a token directly after a letter.
            Some(c) if c.is_alphanumeric() && !is_unspaced(c) => return None,
            _ => {}
        }
        let bytes = self.text.as_bytes();
        let mut end = at + 1;
        loop {
            if !bytes.get(end)?.is_ascii_alphabetic() {
                return None;
            }
            end += bytes[end..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
            if bytes.get(end) != Some(&b':') || !bytes.get(end + 1).is_some_and(u8::is_ascii_alphabetic) {
                break;
            }
            end += 1;
        }
        // `$team_x` is a variable.
        if bytes.get(end) == Some(&b'_') { None } else { Some(end) }
    }

    /// How the token at `at` is meant, by what stands before and behind it.
    fn sense_with_rest(&mut self, at: &Range<usize>) -> Sense<'a> {
        let sense = self.sense(at);
        if sense != Sense::Request {
            return sense;
        }
        let text = self.text;
        let ends_modes = text[at.start + 1..at.end].to_ascii_lowercase().ends_with("cancel");
        match sense_behind(&text[at.end..]) {
            // "$cancel, stop" asks for the same twice.
            Some(Sense::Ending) if ends_modes => sense,
            behind => behind.unwrap_or(sense),
        }
    }

    /// How the token at `at` is meant by what stands before it.
    fn sense(&mut self, at: &Range<usize>) -> Sense<'a> {
        let line = self.lines.line_at(at.start);
        let before = &self.text[line.range.start..at.start];
        if is_glued(before) || is_code_after(&self.text[at.end..]) {
            return Sense::Code;
        }
        if is_lead(before) {
            // A line that begins with a token is a new request.
            self.sentence.end();
            let sense = lead(line, before);
            return if sense == Sense::Request && has_suffix(&self.text[at.end..]) { Sense::Mention } else { sense };
        }
        let sense = self.sense_in_sentence(line, at.start);
        match sense {
            // It may be meant, so it is reported.
            Sense::Request if line.is_pasted || line.is_code_at(at.start) || has_suffix(&self.text[at.end..]) => {
                Sense::Mention
            }
            Sense::Ending if !line.is_pasted => Sense::Ending,
            _ if line.is_pasted || line.is_code_at(at.start) => Sense::Code,
            _ => sense,
        }
    }

    /// How a token is meant by what stands before it in its line and its sentence.
    fn sense_in_sentence(&self, line: &PromptLine, at: usize) -> Sense<'a> {
        let gap = self.text[self.last.end.max(line.range.start)..at].trim().trim_end_matches('*').trim_end();
        if gap.ends_with(|c| "=([{|<>&+/\\@#%^~".contains(c)) {
            return Sense::Code;
        }
        let head = self.text.get(line.range.start..self.last.start).unwrap_or_default();
        if self.sentence.begins() && is_code_before(head) {
            return Sense::Code;
        }
        // A heading, or a comment.
        let is_apart = !matches!(gap, "" | ",") || self.last.start < line.range.start || head.trim_end().ends_with('#');
        match self.sentence.sense() {
            Sense::Request if is_apart => Sense::Mention,
            sense => sense,
        }
    }
}

/// A letter of a script that has no blanks between words, or whose words begin where a foreign one ends.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3005..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// Whether a line with nothing but `before` before a token begins with it.
fn is_lead(before: &str) -> bool {
    let mut rest = before.trim_start();
    // "1. - $team"
    for _ in 0..2 {
        rest = list_sign(rest).unwrap_or(rest).trim_start();
    }
    rest.trim_start_matches('*').is_empty()
}

/// What follows a list sign or a number.
fn list_sign(text: &str) -> Option<&str> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match digits {
        0 => text.strip_prefix(['-', '*', '+', '•', '–'])?,
        1..=9 => text[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    if rest.starts_with(char::is_whitespace) { Some(rest) } else { None }
}

/// How a token at the beginning of a line is meant.
fn lead<'a>(line: &PromptLine, before: &str) -> Sense<'a> {
    if line.ends_as_code || line.is_pasted && !line.is_first && line.is_code() {
        return Sense::Code;
    }
    let is_indented = before.trim().is_empty() && (before.len() > 3 || before.contains('\t'));
    if !line.is_first && (line.is_pasted || is_indented) { Sense::Mention } else { Sense::Request }
}

/// Whether the token is a noun: "$team's plan".
fn has_suffix(rest: &str) -> bool {
    matches!(rest.strip_prefix(['\'', '’']), Some(rest) if rest.starts_with(char::is_alphabetic))
}

/// Whether something sticks to the token from the left.
fn is_glued(before: &str) -> bool {
    // Emphasis.
    let word = before.trim_end_matches('*');
    let is_emphasis = word.is_empty() || word.ends_with(char::is_whitespace);
    !is_emphasis && before.ends_with(|c: char| c.is_ascii_punctuation())
}

/// Whether the word of starting after `head` is a part of code.
fn is_code_before(head: &str) -> bool {
    head.ends_with(|c| "-/.\\=@$_+#%><|&![{~^:".contains(c))
        || head.trim_end().ends_with(|c| "&|=<>{[/\\@%^~$".contains(c))
}

/// Operators of shells and of PowerShell, behind a hyphen.
const COMPARISONS: &[&str] = &[
    "eq", "ne", "gt", "ge", "lt", "le", "join", "split", "replace", "match", "like", "contains", "is", "in", "notin",
    "notlike", "notmatch", "and", "or", "as", "f",
];

/// Whether the token is what a shell complains of: "$team: command not found".
fn is_shell_error(rest: &str) -> bool {
    let errors = [
        "command not found", "not found", "no such file", "permission denied", "unbound variable", "parameter not set",
    ];
    let Some(told) = rest.strip_prefix(':').map(str::trim_start) else { return false };
    errors.iter().any(|error| told.get(..error.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(error)))
}

/// Whether what follows the token makes code of it.
fn is_code_after(rest: &str) -> bool {
    let mut chars = rest.chars();
    let Some(first) = chars.next() else { return false };
    // The end of the text counts as a blank.
    let second = chars.next().unwrap_or(' ');
    let glued = match first {
        '.' | ':' => second.is_ascii_alphanumeric() || second == ':',
        '?' => matches!(second, '-' | '.' | ':' | '['),
        '!' => second == '=',
        '*' => second.is_ascii_alphanumeric() || matches!(second, '$' | '='),
        ',' | ')' => second.is_ascii_alphanumeric() || matches!(second, '$' | '{' | ';'),
        '\'' => !has_suffix(rest),
        first => first.is_ascii_punctuation(),
    };
    if glued {
        return true;
    }
    if is_shell_error(rest) {
        return true;
    }
    let next = rest.trim_start();
    let blanks = &rest[..rest.len() - next.len()];
    // With blanks around it, an arrow is prose.
    let is_arrow = matches!(next.strip_prefix("->"), Some(rest) if !rest.starts_with(char::is_whitespace));
    let is_operator = is_arrow || ["?->", "|", "=", "&&"].iter().any(|mark| next.starts_with(mark));
    let is_member = next.starts_with('.') && next[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '=');
    if blanks.is_empty() || blanks.contains('\n') {
        return !blanks.is_empty() && (is_operator || is_member);
    }
    let word = next.split_whitespace().next().unwrap_or_default();
    let operators = [
        "+", ".", "<", ">", "<=", ">=", "<<", ">>", "*", "/", "%", "??", "!=", "!~", "!==", "<=>", "+=", "-=", ".=",
        "*=", "/=", "??=", ":=", "&", "^", "++", "--", "x=", "%=", "?:", "**", "instanceof",
    ];
    let is_ternary = word == "?" && next.contains(" : ");
    is_operator
        || is_member
        || is_ternary
        || next.starts_with(['{', ';'])
        || operators.contains(&word)
        || word.strip_prefix('-').is_some_and(|name| COMPARISONS.contains(&name))
}

impl<'a> Iterator for Scan<'a> {
    type Item = SkillToken<'a>;

    fn next(&mut self) -> Option<SkillToken<'a>> {
        while let Some(c) = self.next_char() {
            if c.is_alphabetic() {
                self.word();
                continue;
            }
            let at = self.at;
            self.at = at + c.len_utf8();
            if at < self.quoted_to {
                continue;
            }
            match c {
                '.' | '!' | '?' if self.text[self.at..].starts_with(char::is_alphanumeric) => {}
                '.' | ';' | '!' | '?' | '—' | '。' | '！' | '？' => self.sentence.end(),
                ',' => self.sentence.comma(),
                ':' | '(' | '，' | '：' => self.sentence.pause(),
                '$' => {
                    if let Some(end) = self.token(at) {
                        self.at = end;
                        let sense = self.sense_with_rest(&(at..end));
                        self.sentence.name(sense);
                        self.last = at..end;
                        return Some(SkillToken { at: at..end, sense });
                    }
                }
                open => {
                    if let Some(end) = self.quotations.end(at, open) {
                        self.quoted_to = end;
                        self.sentence.skip();
                    }
                }
            }
        }
        None
    }
}
