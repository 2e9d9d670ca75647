//! Pieces of texts that people read.

use std::borrow::Cow;

/// Whether a terminal would act on this character instead of showing it: control characters (C0, C1) and marks that
/// change the direction of text.
#[must_use]
pub fn is_terminal_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What stands behind the beginning of a text that goes on.
const MORE: char = '…';

/// The first `limit` characters of a text, with a mark if it goes on.
pub(crate) fn beginning(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}{MORE}", &text[..end]).into(),
        None => text.into(),
    }
}

/// Whether `shown` is the text `whole`, or its [`beginning`].
pub(crate) fn is_beginning(shown: &str, whole: &str) -> bool {
    shown == whole || shown.strip_suffix(MORE).is_some_and(|begin| whole.starts_with(begin))
}

/// A number with its noun: `1 line`, `2 lines`.
pub(crate) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The first few of several things, and the number of the others.
pub(crate) fn first_few(all: &[impl ToString], few: usize) -> String {
    let more = all.len().saturating_sub(few);
    let shown: Vec<_> = all.iter().take(few).map(ToString::to_string).collect();
    let shown = shown.join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// A value in the query of an address, or in a form.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
