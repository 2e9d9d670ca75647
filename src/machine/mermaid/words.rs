//! Texts and ids as Mermaid's own parser reads them. Characters with another meaning are written as entities.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::machine::check::shown;

/// Words that begin another statement even where an id is expected, in upper or lower case. The last two are ids that
/// Mermaid uses itself.
const KEYWORDS: [&str; 13] = [
    "acctitle", "accdescr", "class", "classdef", "click", "default", "href", "note", "scale", "state", "style",
    "root_end", "root_start",
];

/// Named entities.
const NAMED: [(&str, char); 9] = [
    ("amp", '&'),
    ("apos", '\''),
    ("colon", ':'),
    ("gt", '>'),
    ("lt", '<'),
    ("nbsp", ' '),
    ("num", '#'),
    ("quot", '"'),
    ("semi", ';'),
];

/// Whether Mermaid does not accept `word` as an id.
pub(in crate::machine) fn is_keyword(word: &str) -> bool {
    let word = word.to_lowercase();
    KEYWORDS.contains(&word.as_str()) || word.starts_with("statediagram")
}

/// `text` as it has to be written after a colon: on one line, with entities for characters that would end it.
pub(in crate::machine) fn written(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut written = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        match c {
            '"' => written.push_str("#quot;"),
            ';' | '#' | ':' | '<' | '&' | '`' => drop(write!(written, "#{};", u32::from(c))),
            // `%%{` begins a directive, which Mermaid removes before it parses anything.
            '%' if line[at..].starts_with("%%{") => drop(write!(written, "#{};", u32::from(c))),
            // Mermaid reads this as a statement in every place.
            'd' | 'D' if is_direction(&line[at..]) => drop(write!(written, "#{};", u32::from(c))),
            c => written.push(c),
        }
    }
    // A second arrow in a line is allowed, but looks like a second transition.
    written.replace("-->", "--#62;")
}

/// `text` as it has to be written in `state "…" as id`: a quotation mark inside would end it.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", shown(text).replace('"', "#quot;"))
}

fn is_direction(text: &str) -> bool {
    let mut words = text.split(' ');
    let (Some(first), Some(second)) = (words.next(), words.next()) else { return false };
    let Some(way) = second.get(..2) else { return false };
    first.eq_ignore_ascii_case("direction") && ["TB", "BT", "LR", "RL"].iter().any(|one| way.eq_ignore_ascii_case(one))
}

/// Replaces the entities in a text by their characters.
pub(super) fn read(text: &str) -> Cow<'_, str> {
    if !text.contains('#') {
        return text.into();
    }
    let (mut read, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('#') {
        let (before, from) = rest.split_at(at);
        read.push_str(before);
        if let Some((name, behind)) = from[1..].split_once(';')
            && let Some(c) = entity(name)
        {
            read.push(c);
            rest = behind;
        } else {
            read.push('#');
            rest = &from[1..];
        }
    }
    read.push_str(rest);
    read.into()
}

/// Whether the `;` behind `text` is the end of an entity. Mermaid keeps whatever looks like its own; of HTML's, only those
/// that are known: in `R&D; a --> b` none is meant.
pub(super) fn ends_entity(text: &str) -> bool {
    let begin = text.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let name = &text[begin.len()..];
    !name.is_empty() && (begin.ends_with('#') || begin.ends_with('&') && entity(name).is_some())
}

fn entity(name: &str) -> Option<char> {
    if let Some((_, c)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Some(*c);
    }
    char::from_u32(name.parse().ok()?).filter(|c| !c.is_control())
}

/// A character in a message: as it is, or by its number if it cannot be seen or changes the one before it.
pub(super) fn named(c: char) -> String {
    if is_mark(c) { format!("U+{:04X}", u32::from(c)) } else { format!("`{c}`") }
}

/// Whether `c` cannot be seen, or belongs to the character before it.
pub(super) fn is_mark(c: char) -> bool {
    c.escape_debug().to_string().starts_with("\\u")
}

/// Whether `c` cannot be seen and means nothing in a word of any script, as editors and web pages leave it behind.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Whether `c` may be in an id.
pub(in crate::machine) fn is_id(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// A valid id that is similar to `text`.
pub(super) fn suggested_id(text: &str) -> String {
    let id: String = text.chars().take(40).map(|c| if is_id(c) { c } else { '_' }).collect();
    let id = id.trim_matches('_');
    // Without its marks a word is another one.
    if id.is_empty() || text.chars().any(|c| !is_id(c) && is_mark(c)) { "name".to_owned() } else { id.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mermaid_would_read_as_something_else_is_an_entity() {
        for (text, line) in [
            ("say \"x\"; then: y", "say #quot;x#quot;#59; then#58; y"),
            ("a --> b", "a --#62; b"),
            ("the direction LR, direction", "the #100;irection LR, direction"),
            ("C# & <b>", "C#35; #38; #60;b>"),
            ("two\n lines", "two lines"),
            ("50 %% {x} %%{init}%% %%%{y}%%", "50 %% {x} #37;%{init}%% %#37;%{y}%%"),
        ] {
            assert_eq!(written(text), line);
        }
        assert_eq!(read("#35;59; #quot;C#quot; #nope; # #1; #"), "#59; \"C\" #nope; # #1; #");
        assert!(is_keyword("Scale") && is_keyword("stateDiagram-v2") && !is_keyword("scales"));
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_reads_back_the_same(text in "[-a-z;:#<>&`\"%{} 0-9é]{0,30}") {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let written = written(&text);
            proptest::prop_assert_eq!(read(&written), line);
        }
    }
}
