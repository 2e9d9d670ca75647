//! The terminal while the screen has it: raw mode, the alternate screen, and everything as it was afterwards.

use std::io::{self, Stdout, Write as _};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::layout::{Position, Rect};

use crate::watch::screen::clipboard::osc52;
use crate::watch::screen::key::Key;

/// Whether the terminal is taken.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// A terminal that is taken. It is given back when this is dropped, and before a panic is reported.
#[derive(Debug)]
pub(super) struct TakenTerminal {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl TakenTerminal {
    pub(super) fn take() -> io::Result<Self> {
        // Before the terminal is taken: a panic right after that has to give it back, too.
        give_back_before_panics(thread::current().id());
        enter()?;
        match Terminal::new(CrosstermBackend::new(io::stdout())) {
            Ok(terminal) => Ok(Self { terminal }),
            // Nothing is there yet that gives it back when it is dropped.
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Gives the terminal back while `stop` runs.
    pub(super) fn without(&mut self, stop: impl FnOnce()) -> io::Result<()> {
        give_back();
        stop();
        enter()?;
        // Others drew on it. `clear` would ask the terminal where its cursor is, and the thread that reads keys would get
        // the answer.
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }

    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        self.write(&osc52(text))
    }

    /// Writes a text to the terminal that draws nothing.
    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        backend.write_all(text.as_bytes())?;
        io::Write::flush(backend)
    }
}

impl Drop for TakenTerminal {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    // Before it is true: what fails half-way has to be given back as well.
    TAKEN.store(true, Ordering::SeqCst);
    let entered = enable_raw_mode().and_then(|()| execute!(io::stdout(), EnterAlternateScreen));
    if entered.is_err() {
        give_back();
    }
    entered
}

/// Gives the terminal back, once. What fails here can be reported nowhere.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// Without this the message of a panic would be drawn on the alternate screen, and be gone with it.
fn give_back_before_panics(owner: ThreadId) {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |told| {
            if thread::current().id() == owner {
                give_back();
            }
            before(told);
        }));
    });
}

/// The key of an event; none if it means nothing here.
pub(super) fn key(event: &Event) -> Option<Key> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    // Some terminals report a key twice, when it is pressed and when it is let go.
    if *kind == KeyEventKind::Release {
        return None;
    }
    let is_control = modifiers.contains(KeyModifiers::CONTROL);
    Some(match code {
        KeyCode::Char('c') if is_control => Key::Interrupt,
        KeyCode::Char('z') if is_control => Key::Suspend,
        KeyCode::Char(_) if is_control || modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Char(c) => Key::Char(*c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_is_reported_and_one_elsewhere_leaves_it() {
        let was_taken = std::sync::Arc::new(AtomicBool::new(true));
        let reported = std::sync::Arc::clone(&was_taken);
        panic::set_hook(Box::new(move |_| reported.store(TAKEN.load(Ordering::SeqCst), Ordering::SeqCst)));
        TAKEN.store(true, Ordering::SeqCst);
        give_back_before_panics(thread::current().id());
        thread::spawn(|| panic!("elsewhere")).join().unwrap_err();
        assert!(was_taken.load(Ordering::SeqCst), "another thread does not have the terminal");
        panic::catch_unwind(|| panic!("on the screen")).unwrap_err();
        assert!(!was_taken.load(Ordering::SeqCst), "the report would be drawn on the alternate screen");
        drop(panic::take_hook());
    }
}
