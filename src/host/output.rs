//! Whether standard output still has a reader, how wide it is, and which characters it takes.
#![expect(clippy::disallowed_methods, reason = "the environment says what the output is like")]

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

/// Which word of a command line a shell completes, as the script of bash and zsh says it.
pub fn completed_word() -> Option<usize> {
    std::env::var("_CLAP_COMPLETE_INDEX").ok()?.parse().ok()
}

/// Whether the user's locale has no characters but those of ASCII: `C`, `POSIX`, or one of another character set than UTF-8.
pub fn wants_ascii() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].map(|name| std::env::var(name).unwrap_or_default());
    names.iter().find(|name| !name.is_empty()).is_some_and(|name| is_ascii(name))
}

fn is_ascii(locale: &str) -> bool {
    match locale.split_once('.') {
        Some((_, set)) => !set.to_ascii_lowercase().replace('-', "").starts_with("utf8"),
        // Systems give a language without a character set the one that they like best, which is UTF-8 nearly everywhere.
        None => ["C", "POSIX"].contains(&locale),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_without_utf_8_is_told() {
        let plain = ["C", "POSIX", "de_DE.ISO-8859-1"].map(is_ascii);
        let full = ["C.UTF-8", "en_US.utf8", "de_DE", "en_US.UTF-8@euro"].map(is_ascii);
        assert_eq!((plain, full), ([true; 3], [false; 4]));
    }
}
