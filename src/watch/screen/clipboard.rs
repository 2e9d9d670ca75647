//! Copies text by OSC 52: the terminal puts it into the clipboard of the machine at which the person sits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What to write to a terminal to copy `text`.
pub(super) fn osc52(text: &str) -> String {
    format!("\u{1b}]52;c;{}\u{7}", STANDARD.encode(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_sent_to_the_clipboard_in_base64() {
        assert_eq!(osc52("foob"), "\u{1b}]52;c;Zm9vYg==\u{7}");
    }
}
