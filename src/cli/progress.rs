//! Shows at a terminal that a command waits.

use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::ProgressBar;

/// From when on it is shown.
const AFTER: Duration = Duration::from_millis(500);
/// How often it moves.
const TICK: Duration = Duration::from_millis(120);

/// Does `work`. If that takes longer than half a second, and standard error is a terminal, says there what it waits for.
pub(super) fn while_waiting<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (end, ended) = mpsc::channel::<()>();
    let shower = thread::Builder::new().name("progress".to_owned()).spawn(move || {
        if ended.recv_timeout(AFTER) == Err(RecvTimeoutError::Timeout) {
            let bar = ProgressBar::new_spinner().with_message(what);
            bar.enable_steady_tick(TICK);
            let _ = ended.recv();
            bar.finish_and_clear();
        }
    });
    let done = work();
    drop(end);
    if let Ok(shower) = shower {
        // What follows must not be written over.
        let _ = shower.join();
    }
    done
}
