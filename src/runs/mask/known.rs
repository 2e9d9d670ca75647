//! Known values, also as programs write them in JSON, in addresses and in forms.

use std::ops::Range;

use super::text::steps;

/// The shortest value of a variable that is masked: shorter ones stand everywhere by chance.
const VALUE: usize = 6;

/// Known secrets.
#[derive(Debug, Default)]
pub(super) struct Known {
    values: Vec<Vec<u8>>,
}

impl Known {
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
        self.find_in(text, None, &mut found);
        // What to escape is up to each program, so the text is read as it was before.
        for decode in [of_json, of_address, of_form] {
            if let Some(decoded) = decoded(text, decode) {
                self.find_in(&decoded.bytes, Some(&decoded.places), &mut found);
            }
        }
        found
    }

    /// `places` says where each byte of the text was.
    fn find_in(&self, text: &[u8], places: Option<&[usize]>, found: &mut Vec<Range<usize>>) {
        for value in &self.values {
            steps::add(text.len());
            for at in memchr::memmem::find_iter(text, value) {
                let range = at..at + value.len();
                found.push(match places {
                    Some(places) => places[range.start]..places[range.end],
                    None => range,
                });
            }
        }
    }
}

/// A text as it was before it was encoded.
struct Decoded {
    bytes: Vec<u8>,
    /// Where each byte, and the end, was in the encoded text.
    places: Vec<usize>,
}

/// What is encoded at the beginning of a text: what it stands for, and how long it is.
type Decode = fn(&[u8]) -> Option<(Vec<u8>, usize)>;

/// Nothing if nothing in it is encoded.
fn decoded(text: &[u8], decode: Decode) -> Option<Decoded> {
    let mut decoded = Decoded { bytes: Vec::with_capacity(text.len()), places: Vec::with_capacity(text.len() + 1) };
    let mut at = 0;
    while at < text.len() {
        steps::add(1);
        let Some((bytes, len)) = decode(&text[at..]) else {
            decoded.bytes.push(text[at]);
            decoded.places.push(at);
            at += 1;
            continue;
        };
        for byte in bytes {
            decoded.bytes.push(byte);
            decoded.places.push(at);
        }
        at += len;
    }
    decoded.places.push(text.len());
    (decoded.bytes != text).then_some(decoded)
}

fn of_json(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let [b'\\', letter, rest @ ..] = text else { return None };
    let byte = match letter {
        b'"' | b'\\' | b'/' => *letter,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return of_units(rest),
        _ => return None,
    };
    Some((vec![byte], 2))
}

/// The character of `\uXXXX`, or of two of them, behind the first `\u`.
fn of_units(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let first = of_hex(text.get(..4)?)?;
    let second = text.get(4..10).and_then(|text| of_hex(text.strip_prefix(b"\\u")?));
    let both = char::decode_utf16([Some(first), second].into_iter().flatten()).next()?.ok()?;
    let len = if both.len_utf16() == 2 { 12 } else { 6 };
    Some((both.to_string().into_bytes(), len))
}

fn of_hex(digits: &[u8]) -> Option<u16> {
    // A sign would be read as part of the number.
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

fn of_address(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let code = of_hex(text.strip_prefix(b"%")?.get(..2)?)?;
    Some((vec![u8::try_from(code).ok()?], 3))
}

fn of_form(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    if text.first() == Some(&b'+') { Some((vec![b' '], 1)) } else { of_address(text) }
}
