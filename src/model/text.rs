//! Pieces of texts that people read.

/// Whether a terminal would act on this character instead of showing it: control characters (C0, C1) and marks that
/// change the direction of text.
#[must_use]
pub fn is_terminal_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A number with its noun: `1 line`, `2 lines`.
pub(crate) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The words of a text, which stand between single blanks, for lists that are written as a text.
///
/// # Panics
/// When there are not exactly `N`; in a constant, that is an error of the build.
pub(crate) const fn listed<const N: usize>(text: &'static str) -> [&'static str; N] {
    let mut words = [""; N];
    let mut rest = text;
    let mut at = 0;
    while at < N {
        let mut end = 0;
        while end < rest.len() && rest.as_bytes()[end] != b' ' {
            end += 1;
        }
        assert!(end > 0, "a word is missing");
        (words[at], rest) = rest.split_at(end);
        rest = if rest.is_empty() { rest } else { rest.split_at(1).1 };
        at += 1;
    }
    assert!(rest.is_empty(), "there are more words");
    words
}
