//! Whether standard output still has a reader.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

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
