//! Lines of code in a prompt that are not fenced.

use std::ops::{Range, RangeInclusive};

use super::lists::{ALONE, INSTRUCTIONS, PROGRAMS, STATEMENTS};

/// The lines of a prompt.
#[derive(Debug)]
pub(in crate::modes::policy) struct PromptLines {
    lines: Vec<PromptLine>,
}

/// A line of a prompt.
#[derive(Debug, Clone)]
pub(super) struct PromptLine {
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

impl PromptLine {
    pub(super) fn is_code(&self) -> bool {
        self.has_signs || self.sign.is_some() || self.ends_as_code
    }

    /// Whether code begins before `at`.
    pub(super) fn is_code_at(&self, at: usize) -> bool {
        self.ends_as_code || matches!(self.sign, Some(sign) if sign < at)
    }
}

/// The beginnings of a file that was pasted, in any case, and how its last line ends.
// A script's last line can look like a request, so a file without a mark at its end goes on to that of the prompt.
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

impl PromptLines {
    pub(in crate::modes::policy) fn of(text: &str) -> Self {
        let mut lines = Vec::new();
        let (mut at, mut is_first) = (0, true);
        for line in text.split_inclusive('\n') {
            let body = line.trim_end();
            let (range, sign) = (at..at + body.len(), first_sign(body).map(|sign| at + sign));
            let (has_signs, ends_as_code) = (has_signs(body), ends_as_code(body));
            lines.push(PromptLine { range, sign, has_signs, ends_as_code, is_pasted: false, is_first });
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
    pub(super) fn line_at(&self, at: usize) -> &PromptLine {
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
                // One line alone may be prose with a sign of code in it.
                if let Some(last) = last.filter(|last| at - last <= GAP + 1) {
                    self.mark(last..=at);
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

    fn mark(&mut self, lines: RangeInclusive<usize>) {
        for line in &mut self.lines[lines] {
            line.is_pasted = true;
        }
    }

    fn mark_files(&mut self, text: &str) {
        let mut open = None;
        for line in &mut self.lines {
            let body = text[line.range.clone()].trim_start();
            if open.is_none() {
                open = FILES.iter().find(|(first, _)| begins_with(body, first));
            }
            let Some((_, last)) = open else { continue };
            line.is_pasted = true;
            // One line may be the whole file.
            if last.is_some_and(|last| body.ends_with(last)) {
                open = None;
            }
        }
    }

    /// What stands between lines with a mark: `<log>` and `</log>`, two lines with `"""`.
    fn mark_wrapped(&mut self, text: &str) {
        let mut open: Option<(usize, String)> = None;
        for at in 0..self.lines.len() {
            let line = text[self.lines[at].range.clone()].trim();
            match &open {
                Some((from, close)) if line.starts_with(close.as_str()) => {
                    self.mark(*from..=at);
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
            if ["diff:", "patch:"].iter().any(|mark| line_text.to_ascii_lowercase().ends_with(mark)) {
                // The line itself is prose, what it announces is not.
                is_open = true;
                continue;
            }
            if ["diff --git ", "@@ ", "--- a/", "+++ b/"].iter().any(|mark| line_text.starts_with(mark)) {
                is_open = true;
            } else if !matches!(line_text.as_bytes().first(), None | Some(b'+' | b'-' | b' ' | b'\\' | b'@')) {
                // Prose ends the diff, the head of the next file does not.
                is_open &= line_text.starts_with("index ") || line_text.starts_with("new file ");
            }
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
    let name = tag.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_')).next()?;
    // `<br/>` opens nothing.
    if name.is_empty() || tag.ends_with('/') || tag.contains('<') {
        return None;
    }
    Some(format!("</{name}>"))
}

/// Whether `line` begins with `mark`, in any case.
fn begins_with(line: &str, mark: &str) -> bool {
    matches!(line.get(..mark.len()), Some(start) if start.eq_ignore_ascii_case(mark))
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
        "#!", "<?", "//", "/*", "*/", "* @", "@@ ", "{", "}", "]", ")", "</", "|", "#include", ">>> ", "PS>", "PS C:",
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
    if is_code {
        return Some(start);
    }
    Some(start + assignment(body)?)
}

/// Whether something in the line is code. Prose has such signs too, and more words.
fn has_signs(line: &str) -> bool {
    if line.split_whitespace().filter(|word| is_plain(word)).count() > 3 {
        return false;
    }
    let signs = [
        "==", "!=", "::", "&&", "||", "$(", "${", "[[", "]]", "+=", "-=", ":=", "=~", "=>", "->", "();", "]; then",
        "$_", "$@", "$?", "$1", "; fi", "; done",
    ];
    let first = line.split_whitespace().next().unwrap_or_default();
    signs.iter().any(|sign| line.contains(sign)) || INSTRUCTIONS.contains(&first) || has_call(line)
}

/// Whether a word of prose has letters only.
fn is_plain(word: &str) -> bool {
    word.len() > 1 && word.trim_end_matches([',', '.']).chars().all(char::is_alphabetic)
}

/// `Write-Host`, `Get-Team`
fn is_cmdlet(word: &str) -> bool {
    let verbs = [
        "Add", "Get", "Set", "New", "Remove", "Write", "Start", "Stop", "Invoke", "Import", "Export", "Out", "Test",
        "Select", "Where", "Sort", "Read", "Join",
    ];
    let Some((verb, noun)) = word.split_once('-') else { return false };
    let is_capital =
        noun.starts_with(|c: char| c.is_ascii_uppercase()) && noun.contains(|c: char| c.is_ascii_lowercase());
    verbs.contains(&verb) && is_capital && noun.chars().all(char::is_alphanumeric)
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
    // "x =" and "let x =". With more words before it, it is a sentence.
    if words <= 2 && is_name { Some(at) } else { None }
}

/// Whether there is a call: `name(` with a variable or a quotation mark in the parentheses, or nothing.
fn has_call(line: &str) -> bool {
    for (at, _) in line.match_indices('(') {
        let is_name = line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if is_name && line[at + 1..].starts_with(['$', '"', '\'', ')', '@', '[']) {
            return true;
        }
    }
    false
}
