//! Masks what looks like a secret in text that is kept.
//!
//! A known value is replaced wherever it stands; anything else by how it looks. What has no such looks, or was encoded or cut
//! into pieces by the program that wrote it, stays: see `docs/evidence.md`.

mod decoded;
mod headers;
mod known;
mod text;
mod tokens;
mod words;

use std::ops::Range;

use decoded::{DecodedText, of_json};
use known::KnownSecrets;
pub(super) use text::steps;
use text::{MASK, MASKED, Secret, Text, is_of_word};
use words::is_option_of_secret;

/// How deep strings of JSON may stand in strings of JSON.
const STRINGS: usize = 3;

/// What to mask.
#[derive(Debug, Default)]
pub(super) struct Mask {
    known: KnownSecrets,
}

impl Mask {
    /// Masks these values wherever they stand, and whatever looks like a secret.
    pub(super) fn of(values: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self { known: KnownSecrets::of(values) }
    }

    /// The text without secrets.
    pub(super) fn bytes(&self, text: &[u8]) -> Vec<u8> {
        let mut secrets = self.secrets(text);
        secrets.sort_by_key(|secret| secret.start);

        let mut masked = Vec::with_capacity(text.len());
        let mut from = 0;
        let mut secrets = secrets.into_iter().peekable();
        while let Some(secret) = secrets.next() {
            let mut end = secret.end;
            // A known value may be a part of another secret, or go on behind it.
            while let Some(next) = secrets.next_if(|next| next.start < end) {
                end = end.max(next.end);
            }
            masked.extend_from_slice(&text[from..secret.start]);
            masked.extend_from_slice(MASK);
            from = end;
        }
        masked.extend_from_slice(&text[from..]);
        masked
    }

    /// Where secrets are. A string of JSON is read as what it stands for as well, and so are those in it.
    fn secrets(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut secrets = Vec::new();
        let mut is_found = vec![false; text.len()];
        let mut layer = DecodedText::plain(text);
        for depth in 0..=STRINGS {
            let mut found = self.known.find(&layer.bytes);
            found.extend(secrets_by_looks(&layer.bytes));
            for range in found {
                let range = layer.places[range.start]..layer.places[range.end];
                // Where it ends is known best by the text in which it is found first.
                if !range.is_empty() && (depth == 0 || !is_found[range.start]) {
                    is_found[range.clone()].fill(true);
                    secrets.push(range);
                }
            }
            let Some(next) = layer.decoded(of_json) else { break };
            layer = next;
        }
        secrets
    }

    /// The text without secrets.
    pub(super) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// The words without secrets, as a recorded command has them.
    pub(super) fn words(&self, words: &[String]) -> Vec<String> {
        let mut masked: Vec<String> = Vec::with_capacity(words.len());
        let is_curl = words.iter().any(|word| word.ends_with("curl"));
        for (at, word) in words.iter().enumerate() {
            let option = at.checked_sub(1).map(|before| words[before].as_bytes());
            if word.len() >= words::BEHIND_WORD && !word.starts_with('-') && option.is_some_and(is_option_of_secret) {
                masked.push(MASKED.to_owned());
            } else if is_curl
                && let Some((user, _)) = word.split_once(':')
                && (option.is_some_and(tokens::takes_user) || tokens::user_in_option(user.as_bytes()).is_some())
            {
                masked.push(format!("{}:{MASKED}", self.text(user)));
            } else {
                masked.push(self.text(word));
            }
        }
        masked
    }
}

fn secrets_by_looks(text: &[u8]) -> Vec<Range<usize>> {
    let mut secrets = Vec::new();
    let looked_at = Text::new(text);
    let mut at = 0;
    while at < text.len() {
        let found = secrets_at(&looked_at, at);
        at = found.last().map_or(at + 1, |last| last.end);
        secrets.extend(found.iter().map(|secret| secret.kept..secret.end));
    }
    secrets
}

/// The secrets that what stands at `at` tells of.
fn secrets_at(text: &Text<'_>, at: usize) -> Vec<Secret> {
    steps::add(1);
    let byte = text.bytes[at];
    let mut found = tokens::private_key(text, at);
    // Some tokens begin with a sign, in the middle of a word.
    if found.is_none() && (!is_of_word(byte) || text.begins_word(at)) {
        found = tokens::token(text, at).or_else(|| headers::behind_scheme(text, at));
        if found.is_none() {
            let secrets = headers::behind_header(text, at);
            if !secrets.is_empty() {
                return secrets;
            }
        }
    }
    if found.is_none()
        && let Some(word) = words::word_at(text, at)
    {
        let secrets = words::behind_word(text, at, word);
        if !secrets.is_empty() {
            return secrets;
        }
        found = words::in_element(text, at, word);
    }
    if found.is_none() && byte == b':' {
        found = tokens::behind_user(text, at);
    }
    found.into_iter().collect()
}
