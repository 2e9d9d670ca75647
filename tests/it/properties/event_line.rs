//! A line of `events.jsonl`: sealed, it says the same again, and no byte of it can change unnoticed.

use flowrun::codec::{LineFault, digest, seal, unseal};
use flowrun::model::Event;

/// The input is a JSON object, which is sealed here: no fuzzer guesses a checksum. It is also tried as it is.
pub fn holds(bytes: &[u8]) {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let _ = event(line);
    let Some(sealed) = sealed(line) else { return };
    assert_every_change_is_noticed(&sealed);
    let Ok(event) = event(&sealed) else { return };
    let again = seal(&event);
    let again = again.strip_suffix('\n').expect("a line ends in a line break");
    assert!(!again.contains('\n'), "two lines: {again}");
    let back = self::event(again.as_bytes());
    assert_eq!(back, Ok(event), "{again}");
}

pub(super) fn event(line: &[u8]) -> Result<Event, LineFault> {
    Event::from_object(&unseal(line)?).map_err(|_| LineFault::NotAnEvent)
}

/// The object with a checksum as its last member, otherwise byte for byte.
pub(super) fn sealed(object: &[u8]) -> Option<Vec<u8>> {
    let mut line = object.strip_suffix(b"}")?.to_vec();
    let digest = digest(&line);
    let (_, crc) = digest.split_once('-').expect("a digest is a length and a checksum");
    line.extend(format!(",\"crc\":\"{crc}\"}}").bytes());
    Some(line)
}

/// How many bytes are changed at either end of a line; the longer the line, the fewer in between.
const ENDS: usize = 48;

fn assert_every_change_is_noticed(line: &[u8]) {
    if unseal(line).is_err() {
        return;
    }
    let step = (line.len() / 64).max(1);
    let mut changed = line.to_vec();
    for at in (0..line.len()).filter(|at| *at < ENDS || *at + ENDS >= line.len() || at % step == 0) {
        for byte in [line[at] ^ 1, line[at] ^ 0x20, line[at] ^ 0x80, b'+', b' ', b'\r', 0] {
            changed[at] = byte;
            let noticed = byte == line[at] || unseal(&changed).is_err();
            assert!(noticed, "byte {at} can be {byte:#x}: {}", String::from_utf8_lossy(&changed));
        }
        changed[at] = line[at];
        assert!(unseal(&line[..at]).is_err(), "cut off at {at}: {}", String::from_utf8_lossy(line));
    }
}
