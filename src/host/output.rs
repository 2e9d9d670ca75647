//! Whether standard output still has a reader, and how wide it is.
#![expect(clippy::disallowed_methods, reason = "the environment says how wide the output is")]

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::tcgetwinsize;

/// How many columns a line of standard output has: those of its terminal, otherwise what `COLUMNS` says. `None` if neither
/// tells.
pub fn columns() -> Option<usize> {
    if let Ok(size) = tcgetwinsize(std::io::stdout())
        && size.ws_col > 0
    {
        return Some(usize::from(size.ws_col));
    }
    let given = std::env::var("COLUMNS").ok()?;
    given.parse().ok().filter(|&columns| columns > 0)
}

/// Waits for `pause`, or until standard output has lost its reader; returns whether that happened. A file always has
/// a reader.
#[must_use]
pub fn reader_left(pause: Duration) -> bool {
    let stdout = std::io::stdout();
    // `poll` reports a closed pipe without being asked for it.
    let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
    let limit = Timespec::try_from(pause).ok();
    let _ = poll(&mut watched, limit.as_ref());
    watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
}
