//! Standard input of a hook.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;

use crate::cli::terminal::is_null_device;
use crate::hooks::HostInput;
use crate::model::limits;

/// How long to wait for a payload: hosts write it in pieces, and some leave the pipe open.
pub(super) const WAIT: Duration = Duration::from_secs(2);
/// The same at the end of a session and for a status line, for which hosts wait less long.
pub(super) const SHORT_WAIT: Duration = Duration::from_millis(500);

/// What a host writes on standard input: one JSON object, after which nothing more is waited for, or all of something else.
pub(super) fn given(wait: Duration) -> HostInput {
    if io::stdin().is_terminal() || is_null_device(io::stdin()) {
        return HostInput::Absent;
    }
    let deadline = Instant::now() + wait;
    let (read, pieces) = mpsc::channel();
    thread::spawn(move || {
        let mut piece = vec![0; 64 << 10];
        let mut stdin = io::stdin().lock();
        while let Ok(len) = stdin.read(&mut piece) {
            if len == 0 || read.send(piece[..len].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut bytes = Vec::new();
    loop {
        match pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(piece) => bytes.extend(piece),
            Err(RecvTimeoutError::Disconnected) => return HostInput::Text(text(&bytes)),
            Err(RecvTimeoutError::Timeout) => return HostInput::Late,
        }
        if bytes.len() > limits::HOOK_BYTES {
            return HostInput::TooLong;
        }
        if let Some(object) = first_object(&bytes) {
            return HostInput::Text(text(object));
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(without_mark(bytes)).into_owned()
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// The JSON object with which the bytes begin, if all of it is there.
fn first_object(bytes: &[u8]) -> Option<&[u8]> {
    let bytes = without_mark(bytes).trim_ascii_start();
    if !bytes.starts_with(b"{") {
        return None;
    }
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(&bytes[..values.byte_offset()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_whole_with_its_last_brace_whatever_follows() {
        let first = |text: &str| first_object(text.as_bytes()).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        for whole in ["{}", " {}", "\u{feff}{}", "{}\n{}", "{} x"] {
            assert_eq!(first(whole).as_deref(), Some("{}"), "{whole}");
        }
        for part in ["", "{", r#"{"a": "}"#, "3", "[]", "x{}"] {
            assert_eq!(first(part), None, "{part}");
        }
    }
}
