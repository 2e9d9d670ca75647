//! Known values, also as programs write them in addresses and in forms.

use std::ops::Range;

use super::decoded::{DecodedText, of_address, of_form};
use super::text::steps;

/// The shortest value of a variable that is masked: shorter ones stand everywhere by chance.
const VALUE: usize = 6;

/// Known secrets.
#[derive(Debug, Default)]
pub(super) struct KnownSecrets {
    values: Vec<Vec<u8>>,
}

impl KnownSecrets {
    pub(super) fn of(values: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut known = Vec::new();
        for value in values {
            // A value of several lines may be shown line by line.
            for line in value.split(|&byte| byte == b'\n') {
                let line = line.trim_ascii();
                if line.len() >= VALUE {
                    known.push(line.to_owned());
                }
            }
        }
        known.sort();
        known.dedup();
        Self { values: known }
    }

    /// Where they stand in a text.
    pub(super) fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if self.values.is_empty() {
            return found;
        }
        let plain = DecodedText::plain(text);
        // What to escape is up to each program, so the text is read as it was before.
        for decode in [of_address, of_form] {
            if let Some(decoded) = plain.decoded(decode) {
                self.find_in(&decoded, &mut found);
            }
        }
        self.find_in(&plain, &mut found);
        found
    }

    fn find_in(&self, text: &DecodedText, found: &mut Vec<Range<usize>>) {
        for value in &self.values {
            steps::add(text.bytes.len());
            for at in memchr::memmem::find_iter(&text.bytes, value) {
                found.push(text.places[at]..text.places[at + value.len()]);
            }
        }
    }
}
