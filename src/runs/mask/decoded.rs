//! Text as it was before a program encoded it: as a string of JSON, in an address, in a form.

use super::text::steps;

/// A text as it was before it was encoded.
pub(super) struct DecodedText {
    pub(super) bytes: Vec<u8>,
    /// Where each byte, and the end, was in the encoded text.
    pub(super) places: Vec<usize>,
}

/// What is encoded at the beginning of a text: what it stands for, and how long it is.
pub(super) type Decode = fn(&[u8]) -> Option<(Vec<u8>, usize)>;

impl DecodedText {
    /// A text as it is.
    pub(super) fn plain(text: &[u8]) -> Self {
        Self { bytes: text.to_owned(), places: (0..=text.len()).collect() }
    }

    /// What is encoded in it as it was before; nothing if nothing is.
    pub(super) fn decoded(&self, decode: Decode) -> Option<Self> {
        let text = &self.bytes[..];
        let mut decoded = Self { bytes: Vec::with_capacity(text.len()), places: Vec::with_capacity(text.len() + 1) };
        let mut at = 0;
        while at < text.len() {
            steps::add(1);
            let Some((bytes, len)) = decode(&text[at..]) else {
                decoded.bytes.push(text[at]);
                decoded.places.push(self.places[at]);
                at += 1;
                continue;
            };
            for byte in bytes {
                decoded.bytes.push(byte);
                decoded.places.push(self.places[at]);
            }
            at += len;
        }
        decoded.places.push(self.places[text.len()]);
        (decoded.bytes != text).then_some(decoded)
    }
}

pub(super) fn of_json(text: &[u8]) -> Option<(Vec<u8>, usize)> {
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

pub(super) fn of_address(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let code = of_hex(text.strip_prefix(b"%")?.get(..2)?)?;
    Some((vec![u8::try_from(code).ok()?], 3))
}

pub(super) fn of_form(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    if text.first() == Some(&b'+') { Some((vec![b' '], 1)) } else { of_address(text) }
}
