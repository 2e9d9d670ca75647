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
