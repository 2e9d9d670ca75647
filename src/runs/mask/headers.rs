//! Headers whose value is a secret: `Authorization: SCHEME SECRET`, `Cookie: SECRET`, also as members of JSON.

use super::text::{ByteClass, MASK, Quote, Secret, Text, is_of_word, is_quote, steps};
use super::words::{BEHIND_WORD, secrets_in_list};

/// How the value of a header begins whose rest is a secret, also where the name of the header is missing.
const SCHEMES: [&str; 3] = ["bearer ", "basic ", "digest "];
/// Those that are words elsewhere.
const SCHEMES_OF_HEADERS: [&str; 2] = ["token ", "hawk "];
const AUTHORIZATION: &str = "authorization";
/// Headers whose value is a secret.
const HEADERS: [&str; 3] = [AUTHORIZATION, "set-cookie", "cookie"];
/// A word of letters alone that is longer than words are.
const LONG: usize = 16;
/// The shortest text with a digit that is masked behind the name of a scheme.
const BEHIND_SCHEME: usize = 8;

/// `Bearer SECRET`.
pub(super) fn behind_scheme(text: &Text<'_>, at: usize) -> Option<Secret> {
    // Most bytes begin none.
    if !text.is_byte(at, |byte| b"bd".contains(&byte.to_ascii_lowercase())) {
        return None;
    }
    let scheme = SCHEMES.into_iter().find(|scheme| text.is_word_at(at, scheme))?;
    let kept = at + scheme.len();
    let end = text.end(ByteClass::Token, kept);
    let value = &text.bytes[kept..end];
    steps::add(value.len());
    // A word of a sentence may be long, but has no capitals within.
    let is_mixed = value.iter().skip(1).any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase);
    let has_digit = value.iter().any(u8::is_ascii_digit);
    let is_secret = value.len() >= BEHIND_SCHEME && has_digit || value.len() >= LONG && is_mixed;
    is_secret.then_some(Secret { kept, end })
}

/// The rest of a header at `at`: several if it is a list of them.
pub(super) fn behind_header(text: &Text<'_>, at: usize) -> Vec<Secret> {
    // Most bytes begin none.
    if !text.is_byte(at, |byte| b"asc".contains(&byte.to_ascii_lowercase())) {
        return Vec::new();
    }
    let Some(name) = HEADERS.into_iter().find(|name| text.is_word_at(at, name)) else { return Vec::new() };
    let (behind, is_quoted) = text.behind_name(at + name.len());
    let sign = text.behind_blanks(behind);
    let is_sign = match text.byte(sign) {
        Some(b':') => true,
        // Programs have variables for cookies.
        Some(b'=') => name == AUTHORIZATION || text.byte(sign + 1) == Some(b'>'),
        _ => false,
    };
    if !is_sign {
        return Vec::new();
    }
    let mut from = text.behind_blanks(text.end(ByteClass::Sign, sign + 1));
    if text.byte(from) == Some(b'[') {
        let entry = text.behind_blanks(text.end(ByteClass::White, from + 1));
        if Quote::at(text, entry).is_some() {
            let secrets =
                secrets_in_list(text, from, |from, end, _| end >= from + BEHIND_WORD && &text.bytes[from..end] != MASK);
            return secrets.unwrap_or_default();
        }
        // Go shows lists without quotes.
        from = entry;
    }
    let (from, quote) = match Quote::at(text, from) {
        Some((quote, from)) => (from, Some(quote)),
        // That of an argument, before the name.
        None => (from, Quote::before(text, at).filter(|_| !is_quoted)),
    };
    // What is quoted may be quoted again; a backslash that ends a line in a string of JSON is none of that.
    let again = text.end(ByteClass::QuoteOrBlank, from);
    let is_line_end =
        text.is_byte_before(again, |byte| byte == b'\\') && text.is_byte(again, |byte| b"nr".contains(&byte));
    let from = if is_line_end { from } else { again };
    let mut schemes = SCHEMES.into_iter().chain(SCHEMES_OF_HEADERS);
    let scheme = schemes.find(|scheme| text.is_word_at(from, scheme));
    let kept = from + scheme.map_or(0, str::len);
    if !is_secret(text, kept, name, scheme) {
        return Vec::new();
    }
    let line = text.end(ByteClass::Line, kept);
    let end = match quote {
        Some(quote) => end_of_value(text, kept, quote.end(text, kept, line), true),
        // A parameter in the middle of a line ends with its word.
        None if text.byte(sign) == Some(b'=') && scheme.is_none() => text.end(ByteClass::Argument, kept),
        None => end_of_value(text, kept, line, false),
    };
    vec![Secret { kept, end }]
}

/// Whether what begins at `from` is the value of a header, and not words about it.
fn is_secret(text: &Text<'_>, from: usize, name: &str, scheme: Option<&str>) -> bool {
    let end = text.end(ByteClass::Header, from);
    let first = text.end(ByteClass::HeaderWord, from);
    let second = text.end(ByteClass::HeaderWord, (first + 1).min(end));
    let name_of_pair = text.end(ByteClass::HeaderName, from);
    let has_pair = name_of_pair < end;
    // A cookie has pairs, and schemes have them or a token.
    if has_pair && name_of_pair < second {
        // What is quoted in a pair goes on behind the quote.
        return text.end(ByteClass::Line, from) - from >= BEHIND_WORD;
    }
    let is_sentence = second < end && !has_pair;
    if is_sentence || &text.bytes[from..end] == MASK {
        return false;
    }
    // `Authorization: required`.
    let is_word = first == end && end - from < LONG && text.end(ByteClass::SmallLetter, from) == end;
    if is_word && name == AUTHORIZATION && scheme.is_none_or(|scheme| SCHEMES_OF_HEADERS.contains(&scheme)) {
        return false;
    }
    if first - from >= BEHIND_WORD {
        return true;
    }
    // A short name of a scheme that is not known, and a token.
    let token = (first + 1).min(second);
    second - token >= BEHIND_SCHEME && text.end(ByteClass::NotRandom, token) < second
}

/// Where the value of a header ends that begins at `from`, at most at `to`, where what quotes it ends if it `is_quoted`.
fn end_of_value(text: &Text<'_>, from: usize, to: usize, is_quoted: bool) -> usize {
    let mut at = from;
    while at < to {
        steps::add(1);
        let byte = text.bytes[at];
        // The end of a line in a string of JSON.
        if byte == b'\\' && text.is_byte(at + 1, |byte| byte == b'n' || byte == b'r') {
            return at;
        }
        if is_quoted || !is_quote(byte) {
            at += 1;
            continue;
        }
        let escapes = text.begin(ByteClass::Escape, at).max(from);
        if text.is_byte_before(escapes, |byte| byte == b'=')
            && let Some((quote, value)) = Quote::at(text, escapes)
        {
            // `username="admin"`.
            at = quote.behind(quote.end(text, value, to)).min(to);
        } else if text.is_byte_before(at, is_of_word) && text.is_byte(at + 1, is_of_word) {
            // An apostrophe.
            at += 1;
        } else {
            return escapes;
        }
    }
    to
}
