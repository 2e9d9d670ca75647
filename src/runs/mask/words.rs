//! What stands behind a word for a secret: `password=SECRET`, `"apiKey": "SECRET"`, `--token SECRET`, `<password>SECRET`.

use super::text::{ByteClass, MASK, Quote, Secret, Text, is_of_token, is_of_word, is_quote, steps};

/// Words behind which a secret follows.
const WORDS: [&str; 18] = [
    "password", "passwd", "passphrase", "secret", "token", "api_key", "apikey", "api-key", "access_key", "private_key",
    "secret_key", "credential", "accountkey", "account_key", "sharedaccesskey", "client-key-data", "pwd", "_auth",
];
/// Those of them that are whole: a longer name means something else.
const WHOLE: [&str; 2] = ["pwd", "_auth"];
/// The shortest text that is masked behind a word for a secret.
pub(super) const BEHIND_WORD: usize = 6;
/// The shortest text of letters alone that is masked behind a key and a colon, where a message could have a word.
const BEHIND_KEY: usize = 8;
/// Text of letters alone that is longer than words are.
const LONG: usize = 16;
/// How much of a longer name is looked at behind a word for a secret, in bytes.
const NAME: usize = 64;
/// How far before a password it is looked for what it belongs to, in bytes.
const BEFORE: usize = 512;

/// A word for a secret, which may be the end of a longer one.
pub(super) fn word_at(text: &Text<'_>, at: usize) -> Option<&'static str> {
    let byte = text.byte(at)?.to_ascii_lowercase();
    // Most bytes begin none.
    if !b"pstac_".contains(&byte) {
        return None;
    }
    WORDS.into_iter().find(|word| word.as_bytes()[0] == byte && text.is_word_at(at, word))
}

/// A word for a secret and the sign behind it.
struct SecretWord {
    word: &'static str,
    at: usize,
    sign: u8,
    /// Whether the word is the end of what is quoted, as a key of JSON is.
    is_quoted: bool,
    is_list: bool,
}

/// The secrets behind this word at `at`: several if a list follows.
pub(super) fn behind_word(text: &Text<'_>, at: usize, word: &'static str) -> Vec<Secret> {
    let name = at + word.len();
    // `password_2` and `tokens` are such words as well.
    let end = text.end(ByteClass::Identifier, name).min(name + NAME);
    if WHOLE.contains(&word) && (end > name || word == "_auth" && text.is_byte_before(at, is_of_word)) {
        return Vec::new();
    }
    let (behind, is_quoted) = text.behind_name(end);
    let mut from = text.behind_blanks(behind);
    let sign = match text.byte(from) {
        Some(sign @ (b'=' | b':')) => {
            // `:=` and `=>`.
            from = text.behind_blanks(text.end(ByteClass::Sign, from + 1));
            sign
        }
        Some(value) if from > behind && !is_quoted && value != b'-' => {
            if !is_in_option(text, at) && !is_behind_login(text, at) {
                return Vec::new();
            }
            b'='
        }
        _ => return Vec::new(),
    };
    let is_list = text.byte(from) == Some(b'[');
    let behind = SecretWord { word, at, sign, is_quoted, is_list };
    if is_list
        && let Some(secrets) =
            secrets_in_list(text, from, |from, end, is_quoted| behind.is_secret(text, from, end, is_quoted))
    {
        return secrets;
    }
    let (from, end, is_quoted) = match Quote::at(text, from) {
        Some((quote, from)) => (from, quote.end(text, from, text.end(ByteClass::Line, from)), true),
        None => (from, end_of_bare(text, from), false),
    };
    if behind.is_secret(text, from, end, is_quoted) { vec![Secret { kept: from, end }] } else { Vec::new() }
}

/// Where a value without quotes ends that begins at `from`. The backslashes of a quote that ends the string in which it stands are
/// not of it.
fn end_of_bare(text: &Text<'_>, from: usize) -> usize {
    let end = text.end(ByteClass::Bare, from);
    if text.is_byte(end, is_quote) { text.begin(ByteClass::Escape, end).max(from) } else { end }
}

/// The secrets among the entries of the list at `at`; `None` if it is not a list: a value may begin with a bracket as well.
pub(super) fn secrets_in_list(
    text: &Text<'_>,
    at: usize,
    is_secret: impl Fn(usize, usize, bool) -> bool,
) -> Option<Vec<Secret>> {
    let mut secrets = Vec::new();
    if at < text.listed.get() {
        return None;
    }
    let mut at = at + 1;
    loop {
        steps::add(1);
        let from = text.behind_blanks(text.end(ByteClass::White, at));
        let (from, end, is_quoted, behind) = match Quote::at(text, from) {
            Some((quote, from)) => {
                let end = quote.end(text, from, text.end(ByteClass::Line, from));
                (from, end, true, quote.behind(end))
            }
            None => {
                let end = text.end(ByteClass::Entry, from);
                (from, end, false, end)
            }
        };
        if is_secret(from, end, is_quoted) {
            secrets.push(Secret { kept: from, end });
        }
        at = text.end(ByteClass::White, text.behind_blanks(behind));
        if text.byte(at) != Some(b',') {
            break;
        }
        at += 1;
    }
    text.listed.set(at);
    // What is cut off is one as well, and so is what is over another line.
    let is_list = !secrets.is_empty() || text.byte(at) == Some(b']') && ends_entry(text, at + 1);
    is_list.then_some(secrets)
}

impl SecretWord {
    fn is_secret(&self, text: &Text<'_>, from: usize, end: usize, is_quoted: bool) -> bool {
        let value = &text.bytes[from.min(end)..end];
        if value.len() < BEHIND_WORD || value == MASK {
            return false;
        }
        // Messages of compilers say `unexpected token: identifier`, and `tokens: [Identifier, Semicolon]`.
        let may_be_key = !self.is_list || self.word != "token";
        let is_secret = self.sign == b'='
            || self.is_quoted
            || value.len() >= LONG
            || value.iter().any(u8::is_ascii_digit)
            || may_be_key && value.len() >= BEHIND_KEY && is_in_key(text, self.at) && ends_entry(text, end);
        let is_text = is_placeholder_or_call(text, from, end) || self.sign == b':' && is_path(text, from, end);
        // `max_tokens=4096000`.
        let is_number = self.word == "token" && text.end(ByteClass::Digit, from) >= end;
        let is_directory = self.word == "pwd" && (b"/~$.%".contains(&value[0]) || value[1] == b':');
        is_secret && !is_number && !is_directory && (is_quoted || !is_text)
    }
}

/// `<TOKEN>` in a text of help, `read_password()` in a program.
fn is_placeholder_or_call(text: &Text<'_>, from: usize, end: usize) -> bool {
    let name = text.end(ByteClass::Path, from);
    text.bytes[from] == b'<' && text.bytes[end - 1] == b'>' || name > from && name < end && text.is_at(name, b"()")
}

/// `src/lex/token.rs`.
fn is_path(text: &Text<'_>, from: usize, end: usize) -> bool {
    let value = &text.bytes[from..end];
    text.end(ByteClass::SmallPath, from) >= end
        && value.iter().rev().take(6).any(|byte| *byte == b'.')
        && memchr::memchr(b'/', value).is_some()
}

/// Whether a word at `at` is the end of a key, as in `  client_secret: …`: at the beginning of a line, of a string or of the
/// entry of a list.
fn is_in_key(text: &Text<'_>, at: usize) -> bool {
    let before = text.begin(ByteClass::Blank, text.begin(ByteClass::Key, at));
    before == 0 || text.is_byte_before(before, |byte| b"\r\n{[(,;\"'|-".contains(&byte))
}

/// Whether nothing of a sentence follows.
fn ends_entry(text: &Text<'_>, at: usize) -> bool {
    let at = text.end(ByteClass::QuoteOrBlank, at);
    text.byte(at).is_none_or(|byte| b"\r\n,;}])#".contains(&byte))
}

/// Whether the argument after `option` is a secret, as with `--password`.
pub(super) fn is_option_of_secret(option: &[u8]) -> bool {
    if !option.starts_with(b"--") {
        return false;
    }
    let text = Text::new(option);
    // Only what ends the name says what follows.
    let last = text.begin(ByteClass::Identifier, option.len());
    for at in 0..option.len() {
        if word_at(&text, at).is_some_and(|word| at + word.len() >= last) {
            return true;
        }
    }
    false
}

/// Whether a word at `at` is the end of the name of an option, as in `--db-password`.
fn is_in_option(text: &Text<'_>, at: usize) -> bool {
    let begin = text.begin(ByteClass::Option, at);
    text.is_at(begin, b"--") && begin + 2 <= at && !text.is_byte_before(begin, is_of_token)
}

/// Whether a word at `at` stands where a file of netrc has the password.
fn is_behind_login(text: &Text<'_>, at: usize) -> bool {
    let before = &text.bytes[at.saturating_sub(BEFORE)..at];
    let mut words = before.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().is_some()
        && words.next() == Some(b"login")
        && words.next().is_some()
        // A string of JSON may begin there.
        && words.next().is_some_and(|word| word.ends_with(b"machine"))
}

/// `<password>SECRET</password>`, where this word stands at `at`.
pub(super) fn in_element(text: &Text<'_>, at: usize, word: &'static str) -> Option<Secret> {
    if !text.is_byte_before(text.begin(ByteClass::Element, at), |byte| byte == b'<') {
        return None;
    }
    let name = text.end(ByteClass::Key, at + word.len());
    let tag = text.end(ByteClass::Tag, name);
    let attributes = &text.bytes[name..tag];
    steps::add(attributes.len());
    // A text of help has `<password of the user>`.
    let has_attributes =
        attributes.contains(&b'=') && attributes[0].is_ascii_whitespace() && !attributes.ends_with(b"/");
    if text.byte(tag) != Some(b'>') || tag > name && !has_attributes {
        return None;
    }
    let kept = text.end(ByteClass::White, tag + 1);
    let content = text.end(ByteClass::Content, kept);
    let is_closed = text.is_at(content, b"</");
    let end = if is_closed {
        text.begin(ByteClass::White, content).max(kept)
    } else {
        text.end(ByteClass::ContentWord, kept)
    };
    let value = &text.bytes[kept..end];
    if value.len() < BEHIND_WORD || value == MASK || has_attributes && !is_closed {
        return None;
    }
    // A dump of a compiler has elements for tokens as well.
    let is_secret = word != "token" || value.len() >= LONG || value.iter().any(u8::is_ascii_digit);
    is_secret.then_some(Secret { kept, end })
}
