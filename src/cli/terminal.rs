//! The terminal of the person who answers: what was typed there and not read yet.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::runs::{SignalWatch, end_by, signal_that_came};

/// A terminal whose unread input can be examined.
#[derive(Debug)]
pub(super) struct Terminal(File);

impl Terminal {
    /// The terminal that the line editor reads; none if standard input is not a terminal.
    pub(super) fn here() -> Option<Self> {
        if !io::IsTerminal::is_terminal(&io::stdin()) {
            return None;
        }
        let own = OpenOptions::new().read(true).write(true).open("/dev/tty");
        let file = own.or_else(|_| io::stdin().as_fd().try_clone_to_owned().map(File::from));
        file.ok().map(Self)
    }

    /// All input that was typed and not read, including a line that was not sent. Reads until nothing arrives for
    /// `gap`.
    pub(super) fn typed(&self, gap: Duration) -> Vec<u8> {
        let Ok(before) = tcgetattr(&self.0) else { return Vec::new() };
        let mut modes = before.clone();
        // In canonical mode the terminal keeps a line back until it is sent.
        modes.local_modes.remove(LocalModes::ICANON);
        let mut typed = Vec::new();
        at_once(&mut modes, true);
        if set(&self.0, &modes).is_ok() {
            let mut bytes = [0; 1024];
            while self.comes(gap)
                && let Ok(len @ 1..) = rustix::io::read(&self.0, &mut bytes)
            {
                typed.extend_from_slice(&bytes[..len]);
            }
        }
        let _ = set(&self.0, &before);
        typed
    }

    /// Whether input arrives within `gap`.
    pub(super) fn comes(&self, gap: Duration) -> bool {
        let gap = Timespec::try_from(gap).ok();
        poll(&mut [PollFd::new(&self.0, PollFlags::IN)], gap.as_ref()).is_ok_and(|ready| ready > 0)
    }

    /// Erases `text`, which was shown last and ended with a line break, if each of its lines surely fits into one row.
    pub(super) fn erase(&self, text: &str) {
        let columns = tcgetwinsize(&self.0).map_or(0, |size| usize::from(size.ws_col));
        let mut rows = 0;
        for line in text.split('\n') {
            // How wide a terminal shows a tab or an unusual character is not known.
            if line.contains(char::is_control) || 2 * line.chars().count() - ascii(line) >= columns {
                return;
            }
            rows += 1;
        }
        let _ = (&self.0).write_all(format!("\u{1b}[{rows}A\r\u{1b}[J").as_bytes());
    }

    /// Sets whether a read without a pending key returns at once or waits for the next key.
    pub(super) fn answers_at_once(&self, answers: bool) {
        if let Ok(mut modes) = tcgetattr(&self.0) {
            at_once(&mut modes, answers);
            let _ = set(&self.0, &modes);
        }
    }
}

/// While a line is edited, a signal that ends this program ends it only after the terminal is as it was before: the editor
/// has put it into another mode.
#[derive(Debug)]
pub(super) struct EditedLine {
    is_over: Arc<AtomicBool>,
    watching: Option<JoinHandle<()>>,
    watch: Option<SignalWatch>,
}

/// How soon a signal is noticed.
const NOTICED: Duration = Duration::from_millis(50);
/// Ends the mode in which a terminal says what was pasted, and begins a new line.
const AS_BEFORE: &[u8] = b"\x1b[?2004l\r\n";

impl EditedLine {
    /// Without a terminal whose mode is known, signals have their default effect.
    pub(super) fn begin(terminal: &Arc<Terminal>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut line = Self { is_over: Arc::clone(&is_over), watching: None, watch: None };
        let Ok(before) = tcgetattr(&terminal.0) else { return line };
        let Ok(watch) = SignalWatch::begin() else { return line };
        let terminal = Arc::clone(terminal);
        let watched = thread::Builder::new().name("signals".to_owned()).spawn(move || {
            while !is_over.load(Ordering::SeqCst) {
                if let Some(number) = signal_that_came() {
                    let _ = set(&terminal.0, &before);
                    let _ = (&terminal.0).write_all(AS_BEFORE);
                    end_by(number);
                }
                thread::park_timeout(NOTICED);
            }
        });
        if let Ok(watching) = watched {
            (line.watching, line.watch) = (Some(watching), Some(watch));
        }
        line
    }
}

impl Drop for EditedLine {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(watching) = self.watching.take() {
            watching.thread().unpark();
            let _ = watching.join();
        }
        // The editor has put the terminal back by now.
        if let Some(watch) = self.watch.take() {
            watch.end_program();
        }
    }
}

/// The number of ASCII characters.
fn ascii(line: &str) -> usize {
    line.bytes().filter(u8::is_ascii).count()
}

fn at_once(modes: &mut Termios, answers: bool) {
    modes.special_codes[SpecialCodeIndex::VMIN] = u8::from(!answers);
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
}

fn set(terminal: &File, modes: &Termios) -> io::Result<()> {
    Ok(tcsetattr(terminal, OptionalActions::Now, modes)?)
}

/// Whether a stream is the null device.
pub(super) fn is_null_device(stream: impl AsFd) -> bool {
    let (Ok(stream), Ok(null)) = (rustix::fs::fstat(stream), rustix::fs::stat("/dev/null")) else { return false };
    (stream.st_mode, stream.st_rdev) == (null.st_mode, null.st_rdev)
}
