//! The sections of a document, and which of them are gaps.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use schemars::JsonSchema;
use serde::Serialize;

use crate::interviews::pad::document::Document;
use crate::interviews::pad::outline::{Heading, Outline, lines};
use crate::interviews::pad::script::{Script, folded};

/// How complete a section is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// It does not exist, or is empty.
    Empty,
    /// It contains the placeholder.
    Placeholder,
    /// It has fewer sentences than the script requires.
    Short,
    /// It is complete.
    Filled,
}

impl Fill {
    /// Whether the section is a gap, which a question can fill.
    #[must_use]
    pub fn is_gap(self) -> bool {
        self != Self::Filled
    }

    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Placeholder => "placeholder",
            Self::Short => "short",
            Self::Filled => "filled",
        }
    }
}

/// A section of the script, as it is in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionView {
    /// Its id in the script.
    pub id: String,
    /// Its heading in the document; the script's heading if the document does not have it.
    pub heading: String,
    /// How complete it is.
    pub fill: Fill,
    /// The line of its heading, from 1; none if the document does not have it.
    pub line: Option<usize>,
    /// Its text, without blank lines around it.
    pub text: String,
    /// Everything below its heading except placeholders, byte for byte: the part that stays when it is written.
    pub(super) kept: String,
    /// The range below its heading; none if the document does not have it.
    pub(super) range: Option<Range<usize>>,
    /// The level of its heading, from 1; none if the document does not have it.
    pub(super) level: Option<u8>,
}

impl Document<'_> {
    /// The sections of `script` in this document, outside of its scratch pad.
    #[must_use]
    pub fn sections(&self, script: &Script) -> Vec<SectionView> {
        script
            .sections()
            .iter()
            .map(|section| {
                let body = self
                    .outline
                    .headings
                    .iter()
                    .enumerate()
                    .filter(|(_, heading)| !self.is_in_pad(heading.range.start));
                let found = body.into_iter().find(|(_, heading)| section.is_headed(&folded(&heading.title)));
                let Some((nth, heading)) = found else {
                    return SectionView {
                        id: section.id.clone(),
                        heading: section.heading.clone(),
                        fill: Fill::Empty,
                        line: None,
                        text: String::new(),
                        kept: String::new(),
                        range: None,
                        level: None,
                    };
                };
                // A heading of another section of the script also ends it, whatever its level.
                let ends = |next: &&Heading| next.level <= heading.level || script.has_section(&next.title);
                let next = self.outline.headings[nth + 1..].iter().find(ends);
                let pad = self.pads.iter().map(|pad| pad.range.start).find(|at| *at >= heading.range.end);
                let end = next.map_or(self.text.len(), |next| next.range.start).min(pad.unwrap_or(usize::MAX));
                let range = heading.range.end..end;
                let text = without_blanks(&self.text[range.clone()]).to_owned();
                SectionView {
                    id: section.id.clone(),
                    heading: heading.title.clone(),
                    fill: judge(&text, script),
                    line: Some(self.outline.line_of(heading.range.start)),
                    text,
                    kept: self.kept(&range, script.placeholder()),
                    range: Some(range),
                    level: Some(heading.level),
                }
            })
            .collect()
    }

    /// The text of `range`, which consists of whole lines, without lines that are only the placeholder.
    fn kept(&self, range: &Range<usize>, placeholder: &str) -> String {
        let wanted = words(placeholder);
        let is_placeholder = |line: &Range<usize>| {
            let text = &self.text[line.clone()];
            // The line may have other emphasis than the placeholder, but no other marks: an item of a list is not a
            // placeholder.
            let is_mark =
                |c: char| c.is_alphanumeric() || c.is_whitespace() || "*_".contains(c) || placeholder.contains(c);
            let is_text = !self.outline.is_code(line.start) && !self.outline.is_html(line.start);
            is_text && !wanted.is_empty() && words(text) == wanted && text.chars().all(is_mark)
        };
        let mut kept = String::new();
        let mut was_dropped = false;
        for line in lines(self.text, range) {
            let text = &self.text[line.clone()];
            // A blank line after a placeholder is dropped too.
            let is_dropped = is_placeholder(&line) || (was_dropped && text.trim().is_empty());
            if !is_dropped {
                kept.push_str(text);
            }
            was_dropped = is_dropped && !text.trim().is_empty();
        }
        kept
    }

    fn is_in_pad(&self, at: usize) -> bool {
        self.pads.iter().any(|pad| pad.range.contains(&at))
    }
}

/// `text` without blank lines before it and blanks after it. The indentation of its first line stays.
pub(super) fn without_blanks(text: &str) -> &str {
    let words = text.trim_start();
    let start = text[..text.len() - words.len()].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    text[start..].trim_end()
}

/// The text of the comment that marks a short section as complete.
pub(super) const COMPLETE: &str = "Interview: complete";

/// Whether a section is marked as complete.
fn is_complete(text: &str) -> bool {
    let outline = Outline::read(text);
    outline.comments.iter().any(|comment| Outline::comment(text, comment).eq_ignore_ascii_case(COMPLETE))
}

/// How complete the text of a section is.
pub(super) fn judge(text: &str, script: &Script) -> Fill {
    let blocks = blocks(text);
    let placeholder = words(script.placeholder());
    let is_placeholder = |block: &String| {
        !placeholder.is_empty() && words(block).windows(placeholder.len()).any(|some| some == placeholder)
    };
    match blocks.as_slice() {
        [] => Fill::Empty,
        blocks if blocks.iter().any(is_placeholder) => Fill::Placeholder,
        blocks if blocks.iter().map(|block| sentences(block)).sum::<usize>() >= script.min_sentences() => Fill::Filled,
        _ if is_complete(text) => Fill::Filled,
        _ => Fill::Short,
    }
}

/// The texts of paragraphs, items, cells and code blocks, without headings and comments.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    let mut heading = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        let block = blocks.last_mut().expect("BUG: there is no block");
        match event {
            Event::Start(Tag::Heading { .. }) => heading = true,
            Event::End(TagEnd::Heading(_)) => heading = false,
            Event::Text(words) | Event::Code(words) if !heading => block.push_str(&words),
            Event::SoftBreak | Event::HardBreak => block.push(' '),
            Event::Html(html) if !html.trim_start().starts_with("<!--") => block.push_str(&html),
            Event::Start(Tag::Image { dest_url, .. }) => block.push_str(&dest_url),
            Event::Start(Tag::Paragraph | Tag::Item | Tag::TableCell | Tag::CodeBlock(_))
            | Event::End(TagEnd::Item) => {
                blocks.push(String::new());
            }
            _ => {}
        }
    }
    blocks.retain(|block| !block.trim().is_empty());
    blocks
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// The number of sentences in a block; an unfinished sentence counts.
fn sentences(block: &str) -> usize {
    let mut count = 0;
    let mut open = false;
    let mut chars = block.chars().peekable();
    while let Some(c) = chars.next() {
        let is_wide = matches!(c, '。' | '！' | '？');
        let ends = is_wide || matches!(c, '.' | '!' | '?' | '…');
        if ends
            && open
            && (is_wide || chars.peek().is_none_or(|next| next.is_whitespace() || "\"'”’»)".contains(*next)))
        {
            count += 1;
            open = false;
        } else if c.is_alphanumeric() {
            open = true;
        }
    }
    count + usize::from(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_counted_as_people_do() {
        for (text, count) in [
            ("", 0),
            ("One", 1),
            ("One. Two", 2),
            ("Version 1.5 is out.", 1),
            ("What?! Really...", 2),
            ("He said \"no.\" She left.", 2),
            ("日本語です。二つ目。", 2),
        ] {
            assert_eq!(sentences(text), count, "{text}");
        }
    }
}
