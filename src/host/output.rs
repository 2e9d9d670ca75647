//! Standard output: whether somebody still reads it.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Waits for so long, or until nobody reads standard output any more, which is what it answers. A file always has a reader.
#[must_use]
pub fn reader_left(pause: Duration) -> bool {
    let stdout = std::io::stdout();
    // The end of a reader is told without being asked for.
    let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
    let limit = Timespec::try_from(pause).ok();
    let _ = poll(&mut watched, limit.as_ref());
    watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
}
