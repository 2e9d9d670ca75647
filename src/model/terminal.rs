//! Characters that must not reach a terminal.

/// Whether a terminal would act on this character instead of showing it: control characters (C0, C1) and marks that
/// change the direction of text.
#[must_use]
pub fn is_terminal_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
