//! Screens as they are drawn.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use crate::runs::{CardFilter, ShortNames};
use crate::watch::pages::cards;
use crate::watch::screen::draw::{Drawing, draw, room};
use crate::watch::screen::key::Key;
use crate::watch::screen::state::{Screen, ScreenAction};
use crate::watch::screen::view::{ScreenContent, page};

fn shown(filter: &CardFilter) -> ScreenContent {
    let (cards, facts) = cards(filter);
    ScreenContent {
        project: "demo".to_owned(),
        cards,
        names: ShortNames::default(),
        run: Some(Ok(facts)),
        sessions: None,
        questions: None,
        session: Some("s1".parse().unwrap()),
        now: "2026-05-20T14:43:00Z".parse().unwrap(),
    }
}

struct Looker {
    terminal: Terminal<TestBackend>,
    screen: Screen,
    shown: ScreenContent,
    drawing: Drawing,
}

impl Looker {
    fn at(width: u16, height: u16) -> Self {
        let filter = CardFilter::default();
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        Self {
            terminal,
            shown: shown(&filter),
            screen: Screen::new(filter, None),
            drawing: Drawing { colour: true, ascii: false },
        }
    }

    fn press(&mut self, keys: &[Key]) -> String {
        let size = self.terminal.size().unwrap();
        let width = usize::from(size.width);
        for key in keys {
            let now = page(&self.screen, &self.shown, width);
            self.screen.settle(&now, room(size.height));
            self.screen.press(*key, &now);
            if let Some(wanted) = self.screen.wanted.take() {
                let opened = page(&self.screen, &self.shown, width);
                self.screen.press(Key::Char(wanted), &opened);
            }
        }
        let now = page(&self.screen, &self.shown, width);
        self.screen.settle(&now, room(size.height));
        self.terminal.draw(|frame| draw(frame, &self.screen, &now, self.drawing)).unwrap();
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
    assert!(run.contains("debug  ▲ blocked  waiting") && run.contains("$ flow unblock waiting"), "{run}");
    let log = looker.press(&[Key::Char('l')]);
    assert!(log.contains("started") && log.contains("run blocked"), "{log}");
    let found = looker.press(&[Key::Char('/'), Key::Char('b'), Key::Char('l'), Key::Char('o'), Key::Char('c')]);
    assert!(
        !found.contains("debug in preflight") && found.contains("run blocked") && found.contains("/bloc▏"),
        "{found}"
    );
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
    assert!(drawn.contains("› ▲ blocked  debug            waiting"), "{drawn}");
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
    looker.drawing.colour = false;
    assert_eq!(looker.press(&[]), with);
    assert_eq!(colours(&looker), 0);
}

#[test]
fn what_a_person_does_is_typed_and_asked_for_once_more() {
    let mut looker = Looker::at(110, 30);
    let keys = |text: &str| text.chars().map(Key::Char).collect::<Vec<_>>();
    // From the list the run is opened first.
    let typing = looker.press(&keys("uhere"));
    assert!(typing.contains("debug  ▲ blocked  waiting") && typing.contains("what was resolved: here▏"), "{typing}");
    let asked = looker.press(&[Key::Enter]);
    assert!(asked.contains("y/n  Unblock waiting: here"), "{asked}");
    let dropped = looker.press(&[Key::Char('n')]);
    assert!(dropped.contains("nothing was done"), "{dropped}");
    let none = looker.press(&[Key::Char('A')]);
    assert!(none.contains("that cannot be done about this run now"), "{none}");
    let footer = looker.press(&[Key::Up]);
    assert!(footer.contains("y copy  u unblock  c claim  x cancel"), "{footer}");
    looker.shown.session = None;
    let alone = looker.press(&[Key::Char('c')]);
    assert!(alone.contains("there is nothing to claim: it takes a session (FLOW_SESSION)"), "{alone}");
    let footer = looker.press(&[Key::Up]);
    assert!(footer.contains("y copy  u unblock  x cancel"), "{footer}");
    looker.press(&keys("u"));
    let now = page(&looker.screen, &looker.shown, 110);
    looker.screen.press(Key::Enter, &now);
    let done = looker.screen.press(Key::Char('y'), &now);
    assert!(matches!(done, ScreenAction::Act(act, text) if act.shown().word == "unblock" && text.is_empty()));
    // A decision that needs a reason is not asked for without one.
    assert_eq!(looker.screen.pending, None);
}

#[test]
fn a_narrow_screen_has_whole_words_in_its_help_and_whole_keys_below() {
    let mut looker = Looker::at(40, 60);
    let help = looker.press(&[Key::Char('?')]);
    assert!(help.contains("  y          copy the command to run\n             next; again, the next one\n"), "{help}");
    assert!(!help.contains('…'), "{help}");
    for width in [40, 50, 60, 80] {
        let mut looker = Looker::at(width, 40);
        let run = looker.press(&[Key::Enter]);
        let footer = run.lines().last().unwrap();
        assert!(footer.starts_with("q back  ? keys") && !footer.contains('…'), "{footer}");
    }
}

#[test]
fn signs_are_those_of_ascii_where_the_locale_has_no_others() {
    let mut looker = Looker::at(90, 16);
    looker.drawing.ascii = true;
    let drawn = looker.press(&[]);
    assert!(drawn.is_ascii() || drawn.contains('\u{fffd}'), "{drawn}");
    assert!(drawn.contains("> ! blocked  debug"), "{drawn}");
}
