//! The terminal at which a person types.

use rustix::io::ioctl_fionread;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

/// Throws away what was typed at the terminal and not read yet. Gives whether there was anything.
#[must_use]
pub fn discard_typed() -> bool {
    let stdin = std::io::stdin();
    let Ok(usual) = tcgetattr(&stdin) else { return false };
    // A terminal that hands out lines does not count one that was not sent yet.
    let mut counting = usual.clone();
    counting.local_modes.remove(LocalModes::ICANON);
    let _ = tcsetattr(&stdin, OptionalActions::Now, &counting);
    let typed = ioctl_fionread(&stdin).unwrap_or_default();
    let _ = tcsetattr(&stdin, OptionalActions::Flush, &usual);
    typed > 0
}
