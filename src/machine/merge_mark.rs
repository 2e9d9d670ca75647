//! The marks of a merge in a Markdown document.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

use crate::codec::line_with;
use crate::model::behind_front_matter;

/// The line with which git begins two versions.
const MARK: &str = "<<<<<<< ";

/// Where the first mark of a merge that is not settled begins in a Markdown document. What stands in a code block is an
/// example for readers, and does not count.
pub(crate) fn merge_mark(text: &str) -> Option<usize> {
    // Few documents have such a line, and only those are parsed.
    let first = line_with(text, MARK)?;
    let from = behind_front_matter(text);
    let mut code: Vec<Range<usize>> = Vec::new();
    for (event, range) in Parser::new(&text[from..]).into_offset_iter() {
        if let Event::Start(Tag::CodeBlock(_)) = event {
            code.push(range.start + from..range.end + from);
        }
    }
    let mut at = first;
    loop {
        if !code.iter().any(|block| block.contains(&at)) {
            return Some(at);
        }
        let behind = at + MARK.len();
        at = behind + line_with(&text[behind..], MARK)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_of_a_merge_stands_at_the_beginning_of_a_line_outside_of_code() {
        for (text, at) in [
            ("", None),
            ("text <<<<<<< HEAD\n", None),
            ("<<<<<<<\n", None),
            ("<<<<<<< HEAD\n", Some(0)),
            ("# T\n\n<<<<<<< HEAD\n", Some(5)),
            ("```\n<<<<<<< HEAD\n```\n", None),
            ("~~~ sh\n<<<<<<< HEAD\n<<<<<<< a\n~~~\n\n<<<<<<< b\n", Some(35)),
            ("---\na: b\n<<<<<<< HEAD\n---\n", Some(9)),
            ("- item\n  ```\n  <<<<<<< HEAD\n  ```\n", None),
        ] {
            assert_eq!(merge_mark(text), at, "{text:?}");
        }
    }
}
