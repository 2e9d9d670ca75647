//! Sealed lines: one JSON object per line, which carries its own checksum.
//!
//! `{"v":1,"seq":18,…,"crc":"9f3c2a11"}`: `crc` is CRC-32C (Castagnoli) over all bytes before `,"crc"`. A line that
//! does not verify is torn, damaged or from another program; see `docs/format.md`.

use serde::Serialize;
use serde_json::{Map, Value};
use thiserror::Error;

/// How the line of an event begins. Its position is behind it.
pub const LINE_START: &str = r#"{"v":1,"seq":"#;
/// The length of `,"crc":"xxxxxxxx"}`.
pub const SEAL_BYTES: usize = r#","crc":"00000000"}"#.len();

/// Why a line is not a sealed event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LineFault {
    /// What git writes around two sides that it could not merge.
    #[error("a conflict marker of a merge")]
    Marker,
    /// Not JSON, or JSON that is not an object.
    #[error("not a JSON object")]
    Unparseable,
    /// An object without a checksum, from another program. It is shown, but is not state.
    #[error("unsealed: written by another program, not state")]
    Unsealed,
    /// The checksum does not match.
    #[error("the checksum does not match")]
    Damaged,
    /// Longer than [`crate::model::limits::LINE_BYTES`].
    #[error("longer than a line may be")]
    TooLong,
    /// The checksum matches, but a field that every event has is missing or wrong.
    #[error("sealed, but not an event")]
    NotAnEvent,
}

impl LineFault {
    /// Whether the line is damage: flow wrote it, or a merge left it. A line of another program is welcome in a log.
    #[must_use]
    pub fn is_damage(self) -> bool {
        self != Self::Unsealed
    }
}

/// Whether a line, without its line break, is one of another program.
#[must_use]
pub fn is_of_another_program(line: &[u8]) -> bool {
    unseal(line) == Err(LineFault::Unsealed)
}

/// Seals `object`, an event or another JSON object that is not empty, into one line that ends with a line break.
///
/// # Panics
/// If it is not such an object.
#[must_use]
pub fn seal(object: &impl Serialize) -> String {
    let mut line = serde_json::to_string(object).expect("BUG: it cannot be written as JSON");
    assert!(line.starts_with("{\""), "BUG: only an object that is not empty can be sealed");
    line.pop(); // the closing brace returns behind the checksum
    let crc = crc32c::crc32c(line.as_bytes());
    line.push_str(&format!(",\"crc\":\"{crc:08x}\"}}\n"));
    line
}

/// The line that flow wrote: without the carriage return or the byte order mark that an editor or git put at its ends.
pub(super) fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Opens one line, without its line break. A carriage return at its end and a byte order mark at its beginning are tolerated.
///
/// # Errors
/// [`LineFault`] if the line is not sealed.
pub fn unseal(line: &[u8]) -> Result<Map<String, Value>, LineFault> {
    if line.len() > crate::model::limits::LINE_BYTES {
        return Err(LineFault::TooLong);
    }
    let line = bare(line);
    let verified = verify(line);
    // Without parsing it, which takes far longer.
    if verified == Some(false) {
        return Err(LineFault::Damaged);
    }
    let mut object: Map<String, Value> = serde_json::from_slice(line).map_err(|_| match verified {
        None if is_marker(line) => LineFault::Marker,
        None => LineFault::Unparseable,
        Some(_) => LineFault::Damaged,
    })?;
    // A checksum at another place than the end is of another program, or of a line that was changed.
    match (verified, object.remove("crc")) {
        (Some(true), Some(_)) => Ok(object),
        (_, Some(_)) => Err(LineFault::Damaged),
        (_, None) => Err(LineFault::Unsealed),
    }
}

fn is_marker(line: &[u8]) -> bool {
    ["<<<<<<< ", "=======", ">>>>>>> ", "|||||||"].iter().any(|mark| line.starts_with(mark.as_bytes()))
}

/// Whether a line without its line break has a checksum that matches: a short look before [`unseal`].
pub(super) fn is_sealed(line: &[u8]) -> bool {
    line.len() <= crate::model::limits::LINE_BYTES && verify(bare(line)) == Some(true)
}

/// Whether the checksum at the end of `line` matches; `None` without one.
fn verify(line: &[u8]) -> Option<bool> {
    let at = line.len().checked_sub(SEAL_BYTES)?;
    let hex = line[at..].strip_prefix(b",\"crc\":\"")?.strip_suffix(b"\"}")?;
    // Compare as text, because `0F` and `+f` would be the same number although bytes were changed.
    Some(hex == format!("{:08x}", crc32c::crc32c(&line[..at])).as_bytes())
}

/// A short digest of a text, to notice changes: length and CRC-32C.
#[must_use]
pub fn digest(text: &[u8]) -> String {
    Checksum::of(text).digest()
}

/// The checksum of the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Checksum {
    crc: u32,
    len: usize,
}

impl Checksum {
    pub(super) fn of(part: &[u8]) -> Self {
        Self { crc: crc32c::crc32c(part), len: part.len() }
    }

    /// The checksum of this part followed by these bytes.
    pub(super) fn and(self, next: &[u8]) -> Self {
        Self { crc: crc32c::crc32c_append(self.crc, next), len: self.len + next.len() }
    }

    /// The [`digest`] of the text.
    pub(super) fn digest(self) -> String {
        format!("{}-{:08x}", self.len, self.crc)
    }
}

/// A long part of a text that many beginnings are followed by. To add it to a checksum takes as long as reading a few bytes.
#[derive(Debug, Clone)]
pub(super) struct LongPart {
    own: Checksum,
    /// What the length of the part makes of each bit of the checksum before it. A CRC is linear, so these tell what it makes
    /// of all of them.
    bits: [u32; 32],
}

impl LongPart {
    pub(super) fn of(part: &[u8]) -> Self {
        let own = Checksum::of(part);
        Self { own, bits: std::array::from_fn(|bit| crc32c::crc32c_combine(1 << bit, 0, own.len)) }
    }

    pub(super) fn len(&self) -> usize {
        self.own.len
    }

    /// The checksum of a beginning followed by this part.
    pub(super) fn after(&self, beginning: Checksum) -> Checksum {
        let mut crc = self.own.crc;
        for (bit, changed) in self.bits.iter().enumerate() {
            if beginning.crc >> bit & 1 == 1 {
                crc ^= changed;
            }
        }
        Checksum { crc, len: beginning.len + self.own.len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> Map<String, Value> {
        serde_json::json!({"v": 1, "seq": 7, "text": "a \"quoted\" é\n"}).as_object().unwrap().clone()
    }

    #[test]
    fn a_sealed_line_opens_again() {
        let line = seal(&object());
        assert_eq!(unseal(line.trim_end().as_bytes()), Ok(object()));
        assert_eq!(unseal(format!("{}\r", line.trim_end()).as_bytes()), Ok(object()));
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_noticed() {
        let line = seal(&object());
        let line = line.trim_end().as_bytes();
        for at in 0..line.len() {
            for byte in (0..=u8::MAX).filter(|byte| *byte != line[at]) {
                let mut torn = line.to_vec();
                torn[at] = byte;
                assert!(unseal(&torn).is_err(), "byte {at} is {byte:#x}");
            }
            assert!(unseal(&line[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn foreign_lines_are_told_from_damaged_ones() {
        assert_eq!(unseal(br#"{"type":"note"}"#), Err(LineFault::Unsealed));
        assert_eq!(unseal(br#"{"type":"note","crc":"00000000"}"#), Err(LineFault::Damaged));
        assert_eq!(unseal(b"<<<<<<< HEAD"), Err(LineFault::Marker));
        assert_eq!(unseal(b"[1]"), Err(LineFault::Unparseable));
    }
    #[test]
    fn a_long_part_has_the_checksum_of_its_bytes_after_every_beginning() {
        let long: Vec<u8> = (0..70_000).map(|byte: u32| (byte * 7 % 251) as u8).collect();
        for (beginning, part) in [(&b""[..], &b""[..]), (b"a", b""), (b"", b"b"), (b"state:\n", &long), (&long, &long)]
        {
            let whole = [beginning, part, b"end"].concat();
            let checksum = LongPart::of(part).after(Checksum::of(beginning)).and(b"end");
            assert_eq!(checksum.digest(), digest(&whole));
        }
    }
}
