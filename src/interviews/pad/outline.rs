//! The headings, code blocks, HTML and comments of a Markdown document, as CommonMark defines them.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::machine::{heading_text, merge_mark};
use crate::model::behind_front_matter;

/// A heading outside of lists and quotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    /// The level, 1 to 6.
    pub level: u8,
    /// Its lines, with line breaks.
    pub range: Range<usize>,
    /// Its text without marks.
    pub title: String,
    /// Whether it is written with hashes, not with an underline.
    pub hashes: bool,
}

/// The blocks of a document that matter for an interview.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub headings: Vec<Heading>,
    /// Code blocks, at any depth.
    pub code: Vec<Range<usize>>,
    /// Blocks of HTML and comments, outside of lists and quotations.
    pub html: Vec<Range<usize>>,
    /// Lines that consist of one comment, outside of lists and quotations.
    pub comments: Vec<Range<usize>>,
    /// The beginning of a code block or a piece of HTML that is not closed, and so extends to the end.
    pub unclosed: Option<usize>,
    /// The first conflict marker of a merge.
    pub conflict: Option<usize>,
    /// The ends of lines, as editors count them.
    breaks: Vec<usize>,
}

/// The beginnings of HTML blocks that extend to a certain end, with that end.
const HTML: [(&str, &str); 8] = [
    ("<!--", "-->"),
    ("<![cdata[", "]]>"),
    ("<!", ">"),
    ("<?", "?>"),
    ("<script", "</script>"),
    ("<pre", "</pre>"),
    ("<style", "</style>"),
    ("<textarea", "</textarea>"),
];

impl Outline {
    pub(super) fn read(text: &str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at).collect();
        let mut outline = Self { breaks, ..Self::default() };
        let mut nested = 0_usize;
        let from = behind_front_matter(text);
        let mut events = Parser::new(&text[from..]).into_offset_iter();
        while let Some((event, range)) = events.next() {
            let range = range.start + from..range.end + from;
            match event {
                Event::Start(Tag::BlockQuote(_) | Tag::List(_)) => nested += 1,
                Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_)) => nested -= 1,
                Event::Start(Tag::Heading { level, .. }) => {
                    let title = heading_text(&mut events);
                    if nested == 0 {
                        let hashes = text[range.clone()].trim_start_matches(' ').starts_with('#');
                        let range = whole_lines(text, &range);
                        let range = range.start.max(from)..range.end;
                        outline.headings.push(Heading { level: level as u8, range, title, hashes });
                    }
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    // The range of a block begins behind its indentation.
                    let range = whole_lines(text, &range);
                    let may_be_open = nested == 0 && kind.is_fenced() && range.end >= text.trim_end().len();
                    if may_be_open && !is_closed(&text[range.clone()]) {
                        outline.unclosed = Some(range.start);
                    }
                    outline.code.push(range);
                }
                Event::Start(Tag::HtmlBlock) if nested == 0 => {
                    // An unclosed block extends to the end of the text.
                    let may_be_open = range.end >= text.trim_end().len();
                    if may_be_open && is_open_html(&text[range.clone()]) {
                        outline.unclosed = Some(range.start);
                    }
                    outline.take_comments(text, &range);
                    outline.html.push(whole_lines(text, &range));
                }
                _ => {}
            }
        }
        outline.conflict = merge_mark(text);
        outline
    }

    fn take_comments(&mut self, text: &str, block: &Range<usize>) {
        let block = whole_lines(text, block);
        let mut open = false;
        for line in lines(text, &block) {
            let words = text[line.clone()].trim();
            if open {
                open = !words.contains("-->");
            } else if let Some(rest) = words.strip_prefix("<!--") {
                match rest.find("-->") {
                    Some(end) if end + 3 == rest.len() => self.comments.push(line),
                    // Words after a comment make the line a part of the text.
                    Some(_) => {}
                    None => open = true,
                }
            }
        }
    }

    /// The number of the line that contains `at`, from 1.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.breaks.partition_point(|end| *end < at) + 1
    }

    /// Whether `at` is in a code block.
    pub(super) fn is_code(&self, at: usize) -> bool {
        is_in(&self.code, at)
    }

    /// Whether `at` is in a block of HTML, or in a comment.
    pub(super) fn is_html(&self, at: usize) -> bool {
        is_in(&self.html, at)
    }

    /// The text inside the comment `range` of `text`.
    pub(super) fn comment<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
        let words = text[range.clone()].trim();
        words.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")).unwrap_or_default().trim()
    }
}

fn is_in(ranges: &[Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|range| range.start <= at);
    after > 0 && at < ranges[after - 1].end
}

/// Whether a block of HTML lacks the end that its beginning needs.
fn is_open_html(block: &str) -> bool {
    let html = block.trim_start().to_ascii_lowercase();
    for (begin, end) in HTML {
        if let Some(rest) = html.strip_prefix(begin) {
            return !rest.contains(end);
        }
    }
    false
}

/// Whether a fenced code block has its closing fence. `block` consists of whole lines.
fn is_closed(block: &str) -> bool {
    let mut lines = block.trim_end().lines();
    let opened = fence(lines.next().unwrap_or_default());
    let last = lines.next_back().unwrap_or_default();
    let (mark, long) = fence(last);
    // A closing fence may be longer than the opening one, but has nothing after it.
    mark == opened.0 && long >= opened.1 && last.trim().len() == long
}

/// The character of a fence, and how often it stands at the beginning of the line.
fn fence(line: &str) -> (char, usize) {
    let fence = line.trim_start();
    let mark = fence.chars().next().unwrap_or_default();
    (mark, fence.len() - fence.trim_start_matches(mark).len())
}

/// The end of the line that contains `at`, after its line break. A lone carriage return is a line break too, as in
/// CommonMark.
fn line_end(text: &str, at: usize) -> usize {
    match text[at..].find(['\n', '\r']) {
        Some(found) if text[at + found..].starts_with("\r\n") => at + found + 2,
        Some(found) => at + found + 1,
        None => text.len(),
    }
}

/// The lines that `range` touches, with their line breaks.
fn whole_lines(text: &str, range: &Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let words = text[range.clone()].trim_end_matches(['\n', '\r']).len();
    start..line_end(text, range.start + words)
}

/// Each line of `range`, with its line break. `range` begins at the start of a line.
pub(super) fn lines<'t>(text: &'t str, range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<'t> {
    let (mut at, end) = (range.start, range.end);
    std::iter::from_fn(move || {
        let line = (at < end).then(|| at..line_end(text, at).min(end))?;
        at = line.end;
        Some(line)
    })
}
