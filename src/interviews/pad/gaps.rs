//! The sections of a document, and which of them are gaps.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use schemars::JsonSchema;

use crate::interviews::pad::document::InterviewDocument;
use crate::interviews::pad::outline::{Outline, lines};
use crate::interviews::pad::question::folded;
use crate::interviews::pad::script::{Script, SectionEntry};
use crate::model::named;

named! {
    /// How complete a section is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    pub enum Fill {
        /// It does not exist, or is empty.
        Empty = "empty",
        /// It contains the placeholder.
        Placeholder = "placeholder",
        /// It has fewer sentences than the script requires.
        Short = "short",
        /// It is complete.
        Filled = "filled",
    }
}

impl Fill {
    /// Whether the section is a gap, which a question can fill.
    #[must_use]
    pub fn is_gap(self) -> bool {
        self != Self::Filled
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

impl InterviewDocument<'_> {
    /// The sections of `script` in this document, outside of its scratch pad.
    #[must_use]
    pub fn sections(&self, script: &Script) -> Vec<SectionView> {
        script.sections().iter().map(|section| self.section(section, script)).collect()
    }

    fn section(&self, section: &SectionEntry, script: &Script) -> SectionView {
        let mut headings = self.outline.headings.iter();
        let own =
            headings.find(|heading| !self.is_in_pad(heading.range.start) && section.is_headed(&folded(&heading.title)));
        let Some(heading) = own else {
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
        let next = headings.find(|next| next.level <= heading.level || script.has_section(&next.title));
        let mut end = next.map_or(self.text.len(), |next| next.range.start);
        // So does the pad, whose heading can be deeper than the section's.
        for pad in &self.pads {
            if pad.range.start >= heading.range.end {
                end = end.min(pad.range.start);
            }
        }
        let range = heading.range.end..end;
        let text = without_blanks(&self.text[range.clone()]).to_owned();
        SectionView {
            id: section.id.clone(),
            heading: heading.title.clone(),
            fill: fill_of(&text, script),
            line: Some(self.outline.line_of(heading.range.start)),
            text,
            kept: self.kept(&range, script.placeholder()),
            range: Some(range),
            level: Some(heading.level),
        }
    }

    /// The text of `range`, which consists of whole lines, without lines that are only the placeholder.
    fn kept(&self, range: &Range<usize>, placeholder: &str) -> String {
        let mut kept = String::new();
        let mut was_dropped = false;
        for line in lines(self.text, range) {
            let text = &self.text[line.clone()];
            // A blank line after a placeholder is dropped too.
            let is_dropped = self.is_placeholder(&line, placeholder) || (was_dropped && text.trim().is_empty());
            if !is_dropped {
                kept.push_str(text);
            }
            was_dropped = is_dropped && !text.trim().is_empty();
        }
        kept
    }

    fn is_placeholder(&self, line: &Range<usize>, placeholder: &str) -> bool {
        let text = &self.text[line.clone()];
        let wanted = words(placeholder);
        if wanted.is_empty() || words(text) != wanted {
            return false;
        }
        // The line may have other emphasis than the placeholder, but no other marks: an item of a list is not a
        // placeholder.
        !self.outline.is_code(line.start)
            && !self.outline.is_html(line.start)
            && text
                .chars()
                .all(|c| c.is_alphanumeric() || c.is_whitespace() || "*_".contains(c) || placeholder.contains(c))
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
pub(super) fn fill_of(text: &str, script: &Script) -> Fill {
    let placeholder = words(script.placeholder());
    let blocks = blocks(text);
    if blocks.is_empty() {
        return Fill::Empty;
    }
    let mut count = 0;
    for block in &blocks {
        // `windows` panics without any words.
        if !placeholder.is_empty() && words(block).windows(placeholder.len()).any(|some| some == placeholder) {
            return Fill::Placeholder;
        }
        count += sentences(block);
    }
    // A person who was asked for more and answered briefly is not asked again.
    if count >= script.min_sentences() || is_complete(text) { Fill::Filled } else { Fill::Short }
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
        // A full stop inside of `1.5` ends nothing; Japanese and Chinese have no blank after one.
        let ends = match c {
            _ if is_wide => true,
            '.' | '!' | '?' | '…' => {
                chars.peek().is_none_or(|next| next.is_whitespace() || "\"'”’»)".contains(*next))
            }
            _ => false,
        };
        if ends && open {
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
