//! The loop of the screen: waits for keys, hints and signals, and draws what changed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event};

use crate::host::{SignalWatch, end_by, note_stops, stop};
use crate::interviews;
use crate::model::Explain as _;
use crate::modes;
use crate::runs::{CardFilter, Context, Error, Keeper, Result};
use crate::watch::Watching;
use crate::watch::screen::draw::{Drawing, draw, room};
use crate::watch::screen::key::Key;
use crate::watch::screen::notifier::Notifier;
use crate::watch::screen::page::ScreenPage;
use crate::watch::screen::state::{RunPart, Screen, ScreenAction, View};
use crate::watch::screen::terminal::{TakenTerminal, key};
use crate::watch::screen::view::{ScreenContent, page};
use crate::watch::shown::{EVENTS, LATEST, ShownRun, list_filter};

/// How soon a signal is noticed.
const SIGNALS: Duration = Duration::from_millis(100);
/// How often ages are shown again.
const AGES: Duration = Duration::from_secs(20);

/// What the loop waits for.
enum Wakeup {
    Input(Event),
    /// The terminal is gone.
    NoInput,
    Hint(PathBuf),
}

/// Shows the runs on the terminal until the user quits.
///
/// # Errors
/// Those of reading the project or the run, and `io_error`.
pub fn screen(cx: &Context, watching: &Watching) -> Result<()> {
    let cx = watching.context(cx);
    let run = watching.run_id(&cx)?;
    let (send, wakeups) = mpsc::channel();
    // Input and hints come through one channel, so that one wait serves both.
    let hints = send.clone();
    let keeper = Keeper::open(&cx, watching.poll, move |path| drop(hints.send(Wakeup::Hint(path))))?;
    let signals = at_terminal(SignalWatch::begin())?;
    let stops = at_terminal(note_stops())?;
    let taken = at_terminal(TakenTerminal::take())?;
    at_terminal(read_input(send))?;
    let screen = Screen::new(list_filter(watching), run);
    let notifier = watching.notify.then(Notifier::default);
    let mut shower = Shower {
        cx,
        keeper,
        screen,
        taken,
        drawing: Drawing { colour: watching.colour, ascii: watching.ascii },
        notifier,
        stops,
    };
    let ended = shower.run(&wakeups, &signals);
    // The terminal is given back before a signal ends the program.
    drop(shower);
    if let Some(signal) = signals.end() {
        end_by(signal);
    }
    ended
}

/// Passes on the error of a system call for the terminal.
fn at_terminal<T>(done: io::Result<T>) -> Result<T> {
    done.map_err(|error| Error::io("cannot use the terminal", &error))
}

/// Reads input on a thread, which ends with the process.
fn read_input(send: Sender<Wakeup>) -> io::Result<()> {
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        while let Ok(event) = event::read() {
            if send.send(Wakeup::Input(event)).is_err() {
                return;
            }
        }
        let _ = send.send(Wakeup::NoInput);
    })?;
    Ok(())
}

struct Shower {
    cx: Context,
    keeper: Keeper,
    screen: Screen,
    taken: TakenTerminal,
    drawing: Drawing,
    /// Calls the person, if that was asked for.
    notifier: Option<Notifier>,
    /// Whether another process asked this one to stop.
    stops: Arc<AtomicBool>,
}

impl Shower {
    fn run(&mut self, wakeups: &Receiver<Wakeup>, signals: &SignalWatch) -> Result<()> {
        let mut shown = self.read();
        let mut page = self.draw(&shown)?;
        self.notify()?;
        let mut read_at = Instant::now();
        while signals.came().is_none() {
            let mut action = None;
            // A signal wakes no channel, so the wait is short enough to notice one.
            match wakeups.recv_timeout(self.keeper.wait().min(SIGNALS)) {
                // Nothing can be drawn on a terminal that is gone.
                Ok(Wakeup::NoInput) => return Ok(()),
                Ok(Wakeup::Hint(path)) => self.keeper.hint(&path),
                Ok(Wakeup::Input(event)) => {
                    // Other input may be a new size, to which the page is fitted.
                    action = Some(match key(&event) {
                        Some(key) => self.screen.press(key, &page),
                        None => ScreenAction::Draw,
                    });
                }
                Err(_) => {}
            }
            if self.stops.swap(false, Ordering::SeqCst) {
                action = Some(ScreenAction::Suspend);
            }
            let is_changed = !self.keeper.look().is_empty();
            if is_changed {
                self.notify()?;
            }
            let is_old = is_changed || read_at.elapsed() >= AGES;
            if is_old && matches!(action, None | Some(ScreenAction::Draw)) {
                action = Some(ScreenAction::Read);
            }
            match action {
                None => continue,
                Some(ScreenAction::Quit) => return Ok(()),
                Some(ScreenAction::Draw) => {}
                Some(ScreenAction::Read) => {
                    shown = self.read();
                    read_at = Instant::now();
                }
                Some(ScreenAction::Copy(text)) => at_terminal(self.taken.copy(&text))?,
                Some(ScreenAction::Act(act, text)) => {
                    self.screen.notice = Some(act.perform(&self.cx, &text));
                    // What was done is read at once, without waiting for the hint.
                    self.keeper.look();
                    shown = self.read();
                    read_at = Instant::now();
                }
                Some(ScreenAction::Suspend) => at_terminal(self.taken.without(stop))?,
            }
            page = self.draw(&shown)?;
            if let Some(key) = self.screen.wanted.take() {
                self.screen.press(Key::Char(key), &page);
                page = self.draw(&shown)?;
            }
        }
        Ok(())
    }

    /// Calls the person to runs that need one now, whatever the screen shows.
    fn notify(&mut self) -> Result<()> {
        let Some(notifier) = &mut self.notifier else { return Ok(()) };
        let cards = self.keeper.feed.cards(&CardFilter { limit: usize::MAX, ..CardFilter::default() });
        let calls = notifier.calls(cards.groups.iter().flat_map(|group| &group.cards));
        if calls.is_empty() { Ok(()) } else { at_terminal(self.taken.write(&calls)) }
    }

    fn read(&mut self) -> ScreenContent {
        let feed = &mut self.keeper.feed;
        let project = feed.root().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let run = match &self.screen.view {
            View::Runs | View::Sessions | View::Questions => None,
            View::Run(id, part) => {
                let events = if *part == RunPart::Log { EVENTS } else { LATEST };
                let facts = ShownRun::read(feed, id, events, *part == RunPart::Diagram);
                Some(facts.map_err(|error| error.one_line()))
            }
        };
        let open = feed.open_cards();
        let is_shown = |view: View| self.screen.view == view;
        let sessions = is_shown(View::Sessions).then(|| modes::sessions_of(&self.cx, &open));
        let questions = is_shown(View::Questions).then(|| interviews::list(&self.cx));
        let cards = feed.cards(&self.screen.filter);
        ScreenContent {
            project,
            names: feed.short_names(&cards),
            cards,
            run,
            sessions: sessions.map(|found| found.map_err(|error| error.one_line())),
            questions: questions.map(|found| found.map_err(|error| error.one_line())),
            // One that cannot be told claims nothing, and the act itself says why.
            session: self.cx.session().unwrap_or_default(),
            now: self.cx.now(),
        }
    }

    /// Draws what was read, and returns the page, to which the next key applies.
    fn draw(&mut self, shown: &ScreenContent) -> Result<ScreenPage> {
        let size = at_terminal(self.taken.terminal.size())?;
        let width = usize::from(size.width);
        let before = page(&self.screen, shown, width);
        self.screen.settle(&before, room(size.height));
        // The command is that of the run that is chosen now.
        let page = page(&self.screen, shown, width);
        let (screen, drawing) = (&self.screen, self.drawing);
        at_terminal(self.taken.terminal.draw(|frame| draw(frame, screen, &page, drawing)))?;
        Ok(page)
    }
}
