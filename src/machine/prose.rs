//! The prose of a Markdown text, without code and quotations.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The byte ranges of the prose in `text`: one list for each paragraph, heading or item.
#[must_use]
pub fn prose(text: &str) -> Vec<Vec<Range<usize>>> {
    let mut blocks: Vec<Vec<Range<usize>>> = vec![Vec::new()];
    let (mut quoted, mut code) = (0_usize, false);
    let mut line = LineStart { text, marked: is_marked(text), seen: 0 };
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_)) => quoted += 1,
            Event::End(TagEnd::BlockQuote(_)) => quoted -= 1,
            Event::Start(Tag::CodeBlock(_)) => code = true,
            Event::End(TagEnd::CodeBlock) => code = false,
            // In Markdown, an unmarked line continues a quotation; people do not read it like that.
            Event::Text(_) if !code && (quoted == 0 || !line.is_marked(range.start)) => {
                blocks.last_mut().expect("BUG: there is no block").push(range);
            }
            // Behind an item, too: what follows it is not a part of it.
            Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::Item) | Event::End(TagEnd::Item) => {
                blocks.push(Vec::new());
            }
            _ => {}
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Finds the beginning of a position's line. Positions only rise, so the text is searched once.
struct LineStart<'a> {
    text: &'a str,
    marked: bool,
    seen: usize,
}

impl LineStart<'_> {
    /// Whether the line at `at` begins with the mark of a quotation.
    fn is_marked(&mut self, at: usize) -> bool {
        if let Some(new) = self.text.get(self.seen..at)
            && let Some(end) = new.rfind('\n')
        {
            self.marked = is_marked(&self.text[self.seen + end + 1..]);
        }
        self.seen = at;
        self.marked
    }
}

fn is_marked(line: &str) -> bool {
    line.trim_start_matches([' ', '\t']).starts_with('>')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        prose(text).iter().map(|block| block.iter().map(|range| &text[range.clone()]).collect()).collect()
    }

    #[test]
    fn code_and_quotations_are_not_said() {
        assert_eq!(said("`a` b"), [" b"]);
        assert_eq!(said("```\na\n```\nb"), ["b"]);
        assert_eq!(said("    a\n\nb"), ["b"]);
        assert_eq!(said("> a\nb"), ["b"]);
        assert_eq!(said("> a\n> b\n\nc <!-- d -->"), ["c "]);
    }

    #[test]
    fn items_and_paragraphs_are_apart() {
        assert_eq!(said("- a\n- b\n\nc\n\n12) d"), ["a", "b", "c", "d"]);
    }
}
