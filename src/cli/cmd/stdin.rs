//! Standard input of a hook.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::cli::terminal::is_null_device;
use crate::model::limits;

/// How long to wait for the payload: a hook must not hang when its host opens a pipe and writes nothing.
const STDIN_WAIT: Duration = Duration::from_millis(200);

/// What is on standard input.
pub(super) enum Input {
    /// No host wrote anything: it is a terminal, or the null device.
    Nobody,
    /// What the host wrote; empty when nothing comes in time.
    Text(String),
}

/// The payload that the host wrote; empty for a terminal, and when nothing comes in time.
pub(super) fn payload() -> String {
    match input() {
        Input::Nobody => String::new(),
        Input::Text(text) => text,
    }
}

/// What is on standard input.
pub(super) fn input() -> Input {
    if io::stdin().is_terminal() || is_null_device(io::stdin()) {
        return Input::Nobody;
    }
    let (read, wait) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = io::stdin().lock().take(limits::HOOK_BYTES as u64).read_to_end(&mut bytes);
        let _ = read.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    Input::Text(wait.recv_timeout(STDIN_WAIT).unwrap_or_default())
}
