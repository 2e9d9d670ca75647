//! Handles the signals that end this program, while it runs a user's command or draws on a whole terminal.
//!
//! A command would outlive the program that started it, so the program ends the command first; a terminal has to be put
//! back as it was. At all other times a signal must have its default effect: a person who presses Ctrl-C at a prompt wants
//! to leave. Handlers cannot be removed again (the library leaves its own in place, which would swallow the signal), so
//! they are installed once and switched.

use std::io;
#[cfg(feature = "watch")]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM};
use signal_hook::flag;

/// The signals to handle.
const ENDING: [i32; 8] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM];

/// The last signal that came while it was watched for; 0 if none did.
static CAME: AtomicUsize = AtomicUsize::new(0);
/// Whether no command runs and no screen is shown.
static IDLE: AtomicBool = AtomicBool::new(true);
/// The signals, as bits, that end this program unless they are watched for.
static OURS: AtomicUsize = AtomicUsize::new(0);
/// Locked while one of the others changes.
static WATCHED: Mutex<Watched> = Mutex::new(Watched { installed: false, users: 0 });

struct Watched {
    installed: bool,
    /// The number of running commands and screens.
    users: usize,
}

/// While it exists, a signal is noted and does not end this program.
#[derive(Debug)]
pub(crate) struct SignalWatch(());

impl SignalWatch {
    pub(crate) fn begin() -> io::Result<Self> {
        let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.users == 0 {
            // A signal that came before and did not end this program was for another handler.
            CAME.store(0, Ordering::SeqCst);
        }
        // Before the handlers are installed: what comes while some of them are not there yet is noted as well.
        IDLE.store(false, Ordering::SeqCst);
        if !watched.installed {
            install().inspect_err(|_| IDLE.store(true, Ordering::SeqCst))?;
            watched.installed = true;
        }
        watched.users += 1;
        Ok(Self(()))
    }

    /// The signal that came, if any.
    pub(crate) fn came(&self) -> Option<i32> {
        signal_that_came()
    }

    /// The signal that came since the last call, if any.
    pub(crate) fn take(&self) -> Option<i32> {
        i32::try_from(CAME.swap(0, Ordering::SeqCst)).ok().filter(|&number| number != 0)
    }

    /// Stops watching. Ends this program by a signal that came, unless something else watches too, which has to see to it, or
    /// a program that uses this library handles the signal itself.
    pub(crate) fn end_program(self) {
        std::mem::forget(self);
        let Some(number) = leave() else { return };
        if IDLE.load(Ordering::SeqCst) && OURS.load(Ordering::SeqCst) >> number & 1 == 1 {
            end_by(number);
        }
    }

    /// Stops watching. Returns a signal that came before; a later one ends this program.
    pub(crate) fn end(self) -> Option<i32> {
        std::mem::forget(self);
        leave()
    }
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        leave();
    }
}

fn leave() -> Option<i32> {
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    watched.users -= 1;
    IDLE.store(watched.users == 0, Ordering::SeqCst);
    // Read it last, because a signal after this point ends the program.
    signal_that_came()
}

/// The signal that came while something watched, if any.
pub(crate) fn signal_that_came() -> Option<i32> {
    i32::try_from(CAME.load(Ordering::SeqCst)).ok().filter(|&number| number != 0)
}

fn install() -> io::Result<()> {
    let before = Dispositions::read();
    // A program that was started with `nohup` is to go on.
    for signal in ENDING.into_iter().filter(|&signal| !before.ignores(signal)) {
        // Register this first: a signal is then noted, or ends the program, even if a watch ends at the same time.
        flag::register_usize(signal, &CAME, usize::try_from(signal).unwrap_or_default())?;
        // A program that uses this library and handles the signal itself keeps its behaviour.
        if !before.catches(signal) {
            flag::register_conditional_default(signal, &IDLE)?;
            OURS.fetch_or(1 << signal, Ordering::SeqCst);
        }
    }
    Ok(())
}

/// Ends this program with the default effect of `signal`.
pub fn end_by(signal: i32) {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Has the signal that stops this program, from another process, noted and not followed.
#[cfg(feature = "watch")]
pub(crate) fn note_stops() -> io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    flag::register(signal_hook::consts::SIGTSTP, Arc::clone(&asked))?;
    Ok(asked)
}

/// Stops this program until it is continued, as Ctrl-Z does where a terminal makes a signal of it.
#[cfg(feature = "watch")]
pub(crate) fn stop() {
    end_by(signal_hook::consts::SIGTSTP);
}

/// What signals do without the handlers installed here.
#[derive(Debug, Default, Clone, Copy)]
struct Dispositions {
    ignored: u64,
    caught: u64,
}

impl Dispositions {
    /// Reads the kernel's masks. If they are not available, all signals count as default.
    fn read() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self::of(&status)
    }

    fn of(status: &str) -> Self {
        Self { ignored: mask(status, "SigIgn:"), caught: mask(status, "SigCgt:") }
    }

    fn ignores(self, signal: i32) -> bool {
        self.ignored >> (signal - 1) & 1 == 1
    }

    fn catches(self, signal: i32) -> bool {
        self.caught >> (signal - 1) & 1 == 1
    }
}

fn mask(status: &str, name: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_masks_say_what_is_ignored_and_caught() {
        let status = "Name:\tflow\nSigIgn:\t0000000000000001\nSigCgt:\t0000000000004002\n";
        let before = Dispositions::of(status);
        assert!(before.ignores(SIGHUP) && !before.ignores(SIGINT) && !before.ignores(SIGTERM));
        assert!(!before.catches(SIGHUP) && before.catches(SIGINT) && before.catches(SIGTERM));
        let unknown = Dispositions::of("");
        assert!(!unknown.ignores(SIGHUP) && !unknown.catches(SIGINT));
    }
}
