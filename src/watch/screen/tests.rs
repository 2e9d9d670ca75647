//! Screens as they are drawn.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use crate::runs::CardFilter;
use crate::watch::pages::cards;
use crate::watch::screen::draw::{draw, room};
use crate::watch::screen::state::{Key, Screen};
use crate::watch::screen::view::{Shown, page};

fn shown(filter: &CardFilter) -> Shown {
    let (cards, facts) = cards(filter);
    Shown { project: "demo".to_owned(), cards, run: Some(Ok(facts)), now: "2026-05-20T14:43:00Z".parse().unwrap() }
}

struct Looker {
    terminal: Terminal<TestBackend>,
    screen: Screen,
    shown: Shown,
    colour: bool,
}

impl Looker {
    fn at(width: u16, height: u16) -> Self {
        let filter = CardFilter::default();
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        Self { terminal, shown: shown(&filter), screen: Screen::new(filter, None), colour: true }
    }

    fn press(&mut self, keys: &[Key]) -> String {
        let size = self.terminal.size().unwrap();
        let width = usize::from(size.width);
        for key in keys {
            let now = page(&self.screen, &self.shown, width);
            self.screen.settle(&now, room(size.height));
            self.screen.press(*key, &now);
        }
        let now = page(&self.screen, &self.shown, width);
        self.screen.settle(&now, room(size.height));
        self.terminal.draw(|frame| draw(frame, &self.screen, &now, self.colour)).unwrap();
        let buffer = self.terminal.backend().buffer();
        let rows = buffer.content().chunks(width.max(1));
        rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned() + "\n").collect()
    }
}

#[test]
fn the_list_has_groups_marks_and_keys() {
    let mut looker = Looker::at(90, 16);
    let drawn = looker.press(&[]);
    for part in [
        "1 run needs you  demo\n",
        "▲ Waits for you 1\n",
        "› ▲ blocked  debug            waiting",
        "  evil     preflight 1/5",
        "✓ Over 1\n",
        "q quit  ? keys  Enter open  / search  g over  y copy\n",
    ] {
        assert!(drawn.contains(part), "{part}: {drawn}");
    }
    let next = looker.press(&[Key::Down]);
    assert!(next.contains("  ▲ blocked") && next.contains("› ◦ ready"), "{next}");
}

#[test]
fn a_run_its_log_and_its_diagram_are_drawn() {
    let mut looker = Looker::at(90, 40);
    let run = looker.press(&[Key::Enter]);
    assert!(run.contains("waiting  ▲ blocked") && run.contains("$ flow unblock waiting"), "{run}");
    let log = looker.press(&[Key::Char('l')]);
    assert!(log.contains("run_started") && log.contains("run_blocked"), "{log}");
    let found = looker.press(&[Key::Char('/'), Key::Char('b'), Key::Char('l'), Key::Char('o'), Key::Char('c')]);
    assert!(!found.contains("run_started") && found.contains("run_blocked") && found.contains("/bloc▏"), "{found}");
    let diagram = looker.press(&[Key::Enter, Key::Char('d')]);
    assert!(diagram.contains("▶ ✓ preflight  here: done, blocked") && diagram.contains("→ reproduce"), "{diagram}");
}

#[test]
fn no_screen_is_too_small_and_nothing_hostile_is_drawn() {
    for (width, height) in [(0, 0), (1, 1), (1, 5), (5, 2), (12, 3), (40, 10), (200, 60)] {
        let mut looker = Looker::at(width, height);
        for keys in
            [&[][..], &[Key::Char('?')], &[Key::Char('x'), Key::Enter], &[Key::Char('l'), Key::Up], &[Key::Char('d')]]
        {
            let drawn = looker.press(keys);
            assert!(!drawn.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}']), "{drawn}");
        }
    }
    let mut looker = Looker::at(40, 10);
    let drawn = looker.press(&[]);
    assert!(drawn.contains("› ▲ blocked  debug       waiting  12 min"), "{drawn}");
    assert!(drawn.ends_with("q quit  ? keys  Enter open  / sea…\n") || drawn.contains("q quit"), "{drawn}");
}

#[test]
fn without_colours_shapes_and_words_say_the_same() {
    let mut looker = Looker::at(90, 16);
    let colours = |looker: &Looker| {
        looker.terminal.backend().buffer().content().iter().filter(|cell| cell.fg != Color::Reset).count()
    };
    let with = looker.press(&[]);
    assert!(colours(&looker) > 0);
    looker.colour = false;
    assert_eq!(looker.press(&[]), with);
    assert_eq!(colours(&looker), 0);
}
