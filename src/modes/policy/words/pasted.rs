//! Lines of code in a prompt that nobody fenced.

use std::ops::Range;

use super::lists::{ALONE, INSTRUCTIONS, PROGRAMS, STATEMENTS};

/// The lines of a prompt.
#[derive(Debug)]
pub(in crate::modes::policy) struct Lines {
    lines: Vec<Line>,
}

/// A line of a prompt.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) range: Range<usize>,
    /// Where the first sign stands that makes code of it.
    sign: Option<usize>,
    /// Whether something in it is code.
    has_signs: bool,
    /// Whether it ends as only code does.
    pub(super) ends_as_code: bool,
    /// Whether it belongs to something pasted.
    pub(super) is_pasted: bool,
    /// Whether nothing but blank lines stand before it.
    pub(super) is_first: bool,
}

impl Line {
    pub(super) fn is_code(&self) -> bool {
        self.has_signs || self.sign.is_some() || self.ends_as_code
    }

    /// Whether code begins before `at`.
    pub(super) fn is_code_at(&self, at: usize) -> bool {
        self.ends_as_code || self.sign.is_some_and(|sign| sign < at)
    }
}

/// The beginnings of a file that was pasted, and how its last line ends. A file without an end goes on to that of the prompt.
const FILES: &[(&str, Option<&str>)] = &[
    ("#!", None),
    ("use strict;", None),
    ("=head1 ", None),
    ("<?php", Some("?>")),
    ("<?xml", None),
    ("<!doctype", Some("</html>")),
    ("<html", Some("</html>")),
];

/// The highest number of lines without a sign of code between two with one.
const GAP: usize = 4;

impl Lines {
    pub(in crate::modes::policy) fn of(text: &str) -> Self {
        let mut lines = Vec::new();
        let (mut at, mut is_first) = (0, true);
        for line in text.split_inclusive('\n') {
            let body = line.trim_end();
            lines.push(Line {
                range: at..at + body.len(),
                sign: first_sign(body).map(|sign| at + sign),
                has_signs: has_signs(body),
                ends_as_code: ends_as_code(body),
                is_pasted: false,
                is_first,
            });
            is_first &= body.is_empty();
            at += line.len();
        }
        let mut lines = Self { lines };
        lines.mark_code();
        lines.mark_files(text);
        lines.mark_wrapped(text);
        lines.mark_diffs(text);
        lines
    }

    /// The line of a byte.
    pub(super) fn at(&self, at: usize) -> &Line {
        let next = self.lines.partition_point(|line| line.range.start <= at);
        &self.lines[next.saturating_sub(1)]
    }

    /// Two lines of code near each other are a paste, up to the end of the paragraph.
    fn mark_code(&mut self) {
        let mut last: Option<usize> = None;
        let mut is_open = false;
        for at in 0..self.lines.len() {
            let line = &self.lines[at];
            if line.is_code() {
                if let Some(last) = last.filter(|last| at - last <= GAP + 1) {
                    self.lines[last..=at].iter_mut().for_each(|line| line.is_pasted = true);
                    is_open = true;
                }
                last = Some(at);
            } else if line.range.is_empty() {
                is_open = false;
            } else if is_open {
                self.lines[at].is_pasted = true;
            }
        }
    }

    fn mark_files(&mut self, text: &str) {
        let mut open = None;
        for line in &mut self.lines {
            let body = text[line.range.clone()].trim_start();
            let begins = |mark: &str| body.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark));
            open = open.or_else(|| FILES.iter().find(|(mark, _)| begins(mark)));
            line.is_pasted |= open.is_some();
            open = open.filter(|(_, end)| !end.is_some_and(|end| body.ends_with(end)));
        }
    }

    /// What stands between lines with a mark: `<log>` and `</log>`, two lines with `"""`.
    fn mark_wrapped(&mut self, text: &str) {
        let mut open: Option<(usize, String)> = None;
        for at in 0..self.lines.len() {
            let line = text[self.lines[at].range.clone()].trim();
            match &open {
                Some((from, close)) if line.starts_with(close.as_str()) => {
                    self.lines[*from..=at].iter_mut().for_each(|line| line.is_pasted = true);
                    open = None;
                }
                Some(_) => {}
                None => open = closing(line).map(|close| (at, close)),
            }
        }
    }

    fn mark_diffs(&mut self, text: &str) {
        let mut is_open = false;
        for line in &mut self.lines {
            let line_text = &text[line.range.clone()];
            is_open = match line_text.as_bytes().first() {
                _ if line_text.starts_with("diff --git ") || line_text.starts_with("@@ ") => true,
                _ if line_text.starts_with("--- a/") || line_text.starts_with("+++ b/") => true,
                None | Some(b'+' | b'-' | b' ' | b'\\' | b'@') => is_open,
                Some(_) => is_open && (line_text.starts_with("index ") || line_text.starts_with("new file ")),
            };
            line.is_pasted |= is_open;
        }
    }
}

/// The beginning of the line that ends what `line` opens.
fn closing(line: &str) -> Option<String> {
    if ["\"\"\"", "'''"].contains(&line) {
        return Some(line.to_owned());
    }
    let tag = line.strip_prefix('<')?.strip_suffix('>')?;
    let name: String = tag.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect();
    let is_tag = !name.is_empty() && !tag.ends_with('/') && !tag.contains('<');
    is_tag.then(|| format!("</{name}>"))
}

fn ends_as_code(line: &str) -> bool {
    let ends = [
        ";", "{", "}", "\\", "&&", "||", "(", "[", "},", "],", "):", "*/", "?>", "-->", "; do", "; then", "; fi",
        "; done",
    ];
    ends.iter().any(|end| line.ends_with(end))
}

/// Where the first sign stands that makes code of a line.
fn first_sign(line: &str) -> Option<usize> {
    let start = line.len() - line.trim_start().len();
    let body = &line[start..];
    let begins = [
        "#!",
        "<?",
        "//",
        "/*",
        "*/",
        "* @",
        "@@ ",
        "{",
        "}",
        "]",
        ")",
        "</",
        "|",
        "#include",
        ">>> ",
        "PS>",
        "PS C:",
        "#requires",
    ];
    let mut words = body.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_value = second.starts_with(|c: char| c.is_ascii_digit() || "$\"'-(@%".contains(c));
    let is_code = begins.iter().any(|mark| body.starts_with(mark))
        || second.is_empty() && ALONE.contains(&first)
        || is_value && STATEMENTS.contains(&first)
        || !second.is_empty() && PROGRAMS.contains(&first)
        || is_cmdlet(first)
        || is_rule(body);
    if is_code { Some(start) } else { assignment(body).map(|at| start + at) }
}

/// Whether something in the line is code. Prose has such signs too, and more words.
fn has_signs(line: &str) -> bool {
    let is_word = |word: &&str| word.len() > 1 && word.trim_end_matches([',', '.']).chars().all(char::is_alphabetic);
    if line.split_whitespace().filter(is_word).count() > 3 {
        return false;
    }
    let signs = [
        "==", "!=", "::", "&&", "||", "$(", "${", "[[", "]]", "+=", "-=", ":=", "=~", "=>", "->", "();", "]; then",
        "$_", "$@", "$?", "$1", "; fi", "; done",
    ];
    let first = line.split_whitespace().next().unwrap_or_default();
    signs.iter().any(|sign| line.contains(sign)) || INSTRUCTIONS.contains(&first) || has_call(line)
}

/// `Write-Host`, `Get-Team`
fn is_cmdlet(word: &str) -> bool {
    let capital = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_uppercase()) && word.contains(|c: char| c.is_ascii_lowercase())
    };
    let verbs = [
        "Add", "Get", "Set", "New", "Remove", "Write", "Start", "Stop", "Invoke", "Import", "Export", "Out", "Test",
        "Select", "Where", "Sort", "Read", "Join",
    ];
    word.split_once('-')
        .is_some_and(|(verb, noun)| verbs.contains(&verb) && capital(noun) && noun.chars().all(char::is_alphanumeric))
}

/// The line below the head of a table.
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.contains('|') && line.chars().all(|c| matches!(c, '-' | '|' | ':' | ' '))
}

/// `x=1`, `let x = 1`
fn assignment(line: &str) -> Option<usize> {
    let at = line.find('=')?;
    let words = line[..at].split_whitespace().count();
    let before = line[..at].trim_end_matches(['+', '-', '.', '*', '/', '|', '?', ' ']);
    let is_name = before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ']' | '}' | ')'));
    (words <= 2 && is_name).then_some(at)
}

/// Whether there is a call: `name(` with a variable or a quotation mark in the parentheses, or nothing.
fn has_call(line: &str) -> bool {
    let is_call = |at: usize| {
        let name = line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        name && line[at + 1..].starts_with(['$', '"', '\'', ')', '@', '['])
    };
    line.match_indices('(').any(|(at, _)| is_call(at))
}
