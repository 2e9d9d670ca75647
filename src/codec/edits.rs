//! A text with edits.

use std::ops::Range;

/// A range of bytes and its replacement.
pub(super) type TextEdit = (Range<usize>, String);

/// The text with these edits; `None` if two of them share bytes.
pub(super) fn with_edits(text: &str, mut edits: Vec<TextEdit>) -> Option<String> {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut edited = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for (range, new) in edits {
        edited.push_str(text.get(at..range.start)?);
        edited.push_str(&new);
        at = range.end;
    }
    edited.push_str(&text[at..]);
    Some(edited)
}
