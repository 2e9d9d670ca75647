//! Paths that need not be UTF-8, as text.

use std::fmt::Write as _;

/// The path as text. Bytes that are not UTF-8 are shown as `\xff`, so that no two paths look the same.
pub(crate) fn shown_path(path: &[u8]) -> String {
    let mut shown = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing into a string does not fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}
