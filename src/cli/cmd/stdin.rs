//! Standard input of a hook.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::model::limits;

/// How long to wait for the payload: a hook must not hang when its host opens a pipe and writes nothing.
const STDIN_WAIT: Duration = Duration::from_millis(200);

/// The payload that the host wrote; empty for a terminal, and when nothing comes in time.
pub(super) fn payload() -> String {
    if io::stdin().is_terminal() {
        return String::new();
    }
    let (read, wait) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = io::stdin().lock().take(limits::HOOK_BYTES as u64).read_to_end(&mut bytes);
        let _ = read.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    wait.recv_timeout(STDIN_WAIT).unwrap_or_default()
}
