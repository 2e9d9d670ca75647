//! The screen, in builds with the feature `watch`.
//!
//! `state` says what a key does and `view` what is shown, without a terminal; `draw` puts a page on a frame. The loop
//! here waits for keys, hints and signals, and draws only when something changed.

mod clipboard;
mod draw;
mod notifier;
mod state;
mod terminal;
mod view;

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event};

use crate::host::{SignalWatch, end_by, stop};
use crate::model::{Explain as _, RunId};
use crate::runs::{CardFilter, Context, Keeper};
use crate::watch::screen::notifier::Notifier;
use crate::watch::screen::state::{Action, Part, Screen, View};
use crate::watch::screen::terminal::{Taken, key};
use crate::watch::screen::view::{Page, Shown, page};
use crate::watch::shown::{EVENTS, LATEST, RunFacts, list_filter};
use crate::watch::{Error, Result, Watching};

/// How soon a signal is noticed.
const SIGNALS: Duration = Duration::from_millis(100);
/// How often ages are shown anew.
const AGES: Duration = Duration::from_secs(20);

/// What the loop waits for.
enum Told {
    Input(Event),
    /// The terminal is gone.
    NoInput,
    Hint(PathBuf),
}

/// Shows the runs on the terminal until the user quits.
///
/// # Errors
/// Those of reading the project or the run, and [`Error::Terminal`].
pub fn screen(cx: &Context, watching: &Watching) -> Result<()> {
    let cx = watching.context(cx);
    let run = watching.run_id(&cx)?;
    let (send, told) = mpsc::channel();
    let hints = send.clone();
    let keeper = Keeper::open(&cx, watching.poll, move |path| drop(hints.send(Told::Hint(path))))?;
    let signals = SignalWatch::begin().map_err(Error::Terminal)?;
    let taken = Taken::take().map_err(Error::Terminal)?;
    read_input(send).map_err(Error::Terminal)?;
    let screen = Screen::new(list_filter(watching), run);
    let notifier = watching.notify.then(Notifier::default);
    let mut shower = Shower { cx, keeper, screen, taken, colour: watching.colour, notifier };
    let ended = shower.run(&told, &signals);
    // The terminal is given back before a signal ends the program.
    drop(shower);
    if let Some(signal) = signals.end() {
        end_by(signal);
    }
    ended
}

/// Reads input on a thread, which ends with the process.
fn read_input(send: Sender<Told>) -> std::io::Result<()> {
    let read = move || {
        loop {
            let told = event::read().map_or(Told::NoInput, Told::Input);
            let is_over = matches!(told, Told::NoInput);
            if send.send(told).is_err() || is_over {
                return;
            }
        }
    };
    thread::Builder::new().name("input".to_owned()).spawn(read)?;
    Ok(())
}

struct Shower {
    cx: Context,
    keeper: Keeper,
    screen: Screen,
    taken: Taken,
    colour: bool,
    /// Calls the person, if that was asked for.
    notifier: Option<Notifier>,
}

impl Shower {
    fn run(&mut self, told: &Receiver<Told>, signals: &SignalWatch) -> Result<()> {
        let mut shown = self.read();
        let mut page = self.draw(&shown)?;
        self.notify()?;
        let mut read_at = Instant::now();
        while signals.came().is_none() {
            let mut action = None;
            match told.recv_timeout(self.keeper.wait().min(SIGNALS)) {
                Ok(Told::NoInput) => return Ok(()),
                Ok(Told::Hint(path)) => self.keeper.hint(&path),
                Ok(Told::Input(event)) => {
                    let pressed = key(&event).map(|key| self.screen.press(key, &page));
                    action = pressed.or(Some(Action::Draw));
                }
                Err(_) => {}
            }
            let is_changed = !self.keeper.look().is_empty();
            if is_changed {
                self.notify()?;
            }
            if is_changed || read_at.elapsed() >= AGES {
                action = action
                    .or(Some(Action::Read))
                    .map(|action| if action == Action::Draw { Action::Read } else { action });
            }
            match action {
                None => continue,
                Some(Action::Quit) => return Ok(()),
                Some(Action::Draw) => {}
                Some(Action::Read) => {
                    shown = self.read();
                    read_at = Instant::now();
                }
                Some(Action::Copy(text)) => self.taken.copy(&text).map_err(Error::Terminal)?,
                Some(Action::Suspend) => self.taken.without(stop).map_err(Error::Terminal)?,
            }
            page = self.draw(&shown)?;
        }
        Ok(())
    }

    /// Calls the person to runs that need one now, whatever the screen shows.
    fn notify(&mut self) -> Result<()> {
        let Some(notifier) = &mut self.notifier else { return Ok(()) };
        let cards = self.keeper.feed.cards(&CardFilter { limit: usize::MAX, ..CardFilter::default() });
        let calls = notifier.calls(cards.groups.iter().flat_map(|group| &group.cards));
        if calls.is_empty() { Ok(()) } else { self.taken.write(&calls).map_err(Error::Terminal) }
    }

    fn read(&mut self) -> Shown {
        let feed = &mut self.keeper.feed;
        let project = feed.root().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let run = match &self.screen.view {
            View::Runs => None,
            View::Run(id, part) => Some((id.clone(), *part)),
        };
        let run = run.map(|(id, part): (RunId, Part)| {
            let events = if part == Part::Log { EVENTS } else { LATEST };
            RunFacts::read(feed, &id, events, part == Part::Diagram).map_err(|error| error.one_line())
        });
        Shown { project, cards: feed.cards(&self.screen.filter), run, now: self.cx.now() }
    }

    /// Draws what was read, and returns the page, to which the next key applies.
    fn draw(&mut self, shown: &Shown) -> Result<Page> {
        let size = self.taken.terminal.size().map_err(Error::Terminal)?;
        let width = usize::from(size.width);
        let before = page(&self.screen, shown, width);
        self.screen.settle(&before, draw::room(size.height));
        // The command is that of the run that is chosen now.
        let page = page(&self.screen, shown, width);
        let (screen, colour) = (&self.screen, self.colour);
        self.taken.terminal.draw(|frame| draw::draw(frame, screen, &page, colour)).map_err(Error::Terminal)?;
        Ok(page)
    }
}

#[cfg(test)]
mod tests;
