//! What the screen shows, and what a key does. Pure: no terminal, no files.

use crate::model::RunId;
use crate::runs::{CardFilter, CardGroup};
use crate::watch::acts::{self, RunAct};
use crate::watch::screen::key::Key;
use crate::watch::screen::page::ScreenPage;
use crate::watch::screen::pending::{PendingAct, PendingStep};

/// The longest text to search for.
const SEARCH: usize = 200;

/// What the screen's owner has to do after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScreenAction {
    /// Nothing but drawing.
    Draw,
    /// Read what the screen shows now.
    Read,
    /// Copy this text.
    Copy(String),
    /// Do this for the person, who gave this text with it.
    Act(RunAct, String),
    /// Stop the program until it is continued.
    Suspend,
    /// Leave.
    Quit,
}

/// What is shown of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunPart {
    Overview,
    Log,
    Diagram,
}

/// What is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum View {
    #[default]
    Runs,
    Sessions,
    Questions,
    Run(RunId, RunPart),
}

impl View {
    /// Whether its lines are about runs, of which one is chosen.
    pub(super) fn is_list(&self) -> bool {
        !matches!(self, Self::Run(..))
    }
}

/// The state of the screen.
#[derive(Debug, Clone, Default)]
pub(super) struct Screen {
    pub(super) view: View,
    /// Which runs the list has.
    pub(super) filter: CardFilter,
    /// Only events with this text are in a log.
    pub(super) log_search: String,
    /// The text to search for that is being typed.
    pub(super) typed: Option<String>,
    /// Whether the keys are explained.
    pub(super) help: bool,
    /// What to say once.
    pub(super) notice: Option<String>,
    /// What the person is about to do.
    pub(super) pending: Option<PendingAct>,
    /// The key of an act that was pressed in a list, for the page of the run that is opened by it.
    pub(super) wanted: Option<char>,
    /// The list from which the run was opened.
    home: View,
    /// How many commands were copied one after the other.
    copies: usize,
    /// The chosen run of the list, and its place among the runs.
    pub(super) chosen: Option<RunId>,
    at: usize,
    /// The first line that is shown.
    pub(super) top: usize,
    /// Whether the end of the log is shown, also when it grows.
    follows: bool,
    /// How many lines there is room for.
    height: usize,
}

impl Screen {
    pub(super) fn new(filter: CardFilter, run: Option<RunId>) -> Self {
        Self {
            view: match run {
                Some(run) => View::Run(run, RunPart::Overview),
                None => View::Runs,
            },
            filter,
            height: 1,
            ..Self::default()
        }
    }

    /// Fits what is chosen and what is seen to a page that may have changed, with room for this many lines.
    pub(super) fn settle(&mut self, page: &ScreenPage, height: usize) {
        self.height = height.max(1);
        if self.view.is_list() {
            let runs = page.runs();
            // The next run takes the place of one that is gone.
            let place = runs.iter().position(|(_, run)| Some(*run) == self.chosen.as_ref());
            self.choose(&runs, place.unwrap_or(self.at));
            if let Some((line, _)) = runs.get(self.at) {
                // The first run is seen with what stands above it.
                let first = if self.at == 0 { 0 } else { line.saturating_sub(1) };
                let least = (line + 1).saturating_sub(self.height);
                self.top = self.top.clamp(least, first.max(least));
            }
        }
        let last = page.lines.len().saturating_sub(self.height);
        self.top = if self.follows { last } else { self.top.min(last) };
    }

    /// Chooses the run at this place, or the last one.
    fn choose(&mut self, runs: &[(usize, &RunId)], at: usize) {
        self.at = at.min(runs.len().saturating_sub(1));
        self.chosen = runs.get(self.at).map(|(_, run)| (*run).clone());
    }

    /// What a key does on this page.
    pub(super) fn press(&mut self, key: Key, page: &ScreenPage) -> ScreenAction {
        self.notice = None;
        // Another key in between begins with the first command again.
        self.copies = if key == Key::Char('y') { self.copies + 1 } else { 0 };
        // Before everything else: they work while a text is typed, too.
        match key {
            Key::Interrupt => return ScreenAction::Quit,
            Key::Suspend => return ScreenAction::Suspend,
            _ => {}
        }
        if let Some(pending) = self.pending.take() {
            return self.decide(pending, key);
        }
        if let Some(typed) = self.typed.take() {
            return self.type_on(typed, key);
        }
        if self.help {
            self.help = false;
            return ScreenAction::Draw;
        }
        match key {
            Key::Up | Key::Char('k') => self.go(page, -1),
            Key::Down | Key::Char('j') => self.go(page, 1),
            Key::PageUp => self.go(page, -self.whole_page()),
            Key::PageDown | Key::Char(' ') => self.go(page, self.whole_page()),
            Key::Home => self.go(page, isize::MIN),
            Key::End | Key::Char('G') => self.go(page, isize::MAX),
            Key::Escape | Key::Char('q') => self.back(key),
            Key::Enter => self.enter(),
            Key::Char('?') => {
                self.help = true;
                ScreenAction::Draw
            }
            Key::Char('y') => self.copy(page),
            Key::Char('/') => self.search(),
            Key::Char('g') if self.view == View::Runs => self.other_group(),
            Key::Char('l') => self.part(RunPart::Log),
            Key::Char('d') => self.part(RunPart::Diagram),
            Key::Char('s') => self.other_list(View::Sessions),
            Key::Char('i') => self.other_list(View::Questions),
            Key::Char(key) if acts::KEYS.contains(&key) => self.act(key, page),
            _ => ScreenAction::Draw,
        }
    }

    /// Begins the act of this key. From a list the run is opened first: who decides has seen it.
    fn act(&mut self, key: char, page: &ScreenPage) -> ScreenAction {
        if self.view.is_list() {
            let opened = self.enter();
            self.wanted = self.chosen.is_some().then_some(key);
            return opened;
        }
        match page.acts.iter().find(|act| act.shown().key == key) {
            Some(act) => {
                self.pending = Some(PendingAct::new(act.clone()));
                ScreenAction::Draw
            }
            None => self.say(acts::why_not(key)),
        }
    }

    fn decide(&mut self, pending: PendingAct, key: Key) -> ScreenAction {
        match pending.press(key) {
            PendingStep::GoesOn(pending) => {
                self.pending = Some(pending);
                ScreenAction::Draw
            }
            PendingStep::Do(act, text) => ScreenAction::Act(act, text),
            PendingStep::Dropped => self.say("nothing was done"),
        }
    }

    /// Shows another list, or the runs again.
    fn other_list(&mut self, list: View) -> ScreenAction {
        let view = if self.view == list { View::Runs } else { list };
        (self.at, self.chosen) = (0, None);
        self.show(view)
    }

    /// Copies the first command; pressed again, the next one.
    fn copy(&mut self, page: &ScreenPage) -> ScreenAction {
        let all = page.commands.len();
        let Some(at) = self.copies.saturating_sub(1).checked_rem(all) else {
            return self.say(&format!("nothing copied: {}", page.no_command));
        };
        let which = if all > 1 { format!(" {} of {all}", at + 1) } else { String::new() };
        let command = page.commands[at].clone();
        self.notice = Some(format!("copied{which}: {command}"));
        ScreenAction::Copy(command)
    }

    fn say(&mut self, notice: &str) -> ScreenAction {
        self.notice = Some(notice.to_owned());
        ScreenAction::Draw
    }

    fn whole_page(&self) -> isize {
        // One line stays in sight, by which the reader finds the place again.
        isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(isize::MAX)
    }

    /// Moves by this many runs in the list, otherwise by lines.
    fn go(&mut self, page: &ScreenPage, by: isize) -> ScreenAction {
        if self.view.is_list() {
            let runs = page.runs();
            self.choose(&runs, self.at.saturating_add_signed(by));
            return ScreenAction::Draw;
        }
        let last = page.lines.len().saturating_sub(self.height);
        self.top = self.top.saturating_add_signed(by).min(last);
        // A person who scrolls back reads; at the end the log is followed again.
        self.follows = matches!(self.view, View::Run(_, RunPart::Log)) && self.top == last;
        ScreenAction::Draw
    }

    fn enter(&mut self) -> ScreenAction {
        match (&self.view, &self.chosen) {
            (View::Run(..), _) | (_, None) => ScreenAction::Draw,
            (list, Some(run)) => {
                let run = View::Run(run.clone(), RunPart::Overview);
                self.home = list.clone();
                self.show(run)
            }
        }
    }

    fn back(&mut self, key: Key) -> ScreenAction {
        match &self.view {
            View::Run(run, RunPart::Log | RunPart::Diagram) => self.show(View::Run(run.clone(), RunPart::Overview)),
            View::Run(run, RunPart::Overview) => {
                // The list comes back with the run that was open, wherever it stands by now.
                self.chosen = Some(run.clone());
                let home = self.home.clone();
                self.show(home)
            }
            View::Sessions | View::Questions => {
                (self.at, self.chosen) = (0, None);
                self.show(View::Runs)
            }
            View::Runs if key == Key::Escape && self.filter.search.is_some() => {
                self.filter.search = None;
                ScreenAction::Read
            }
            View::Runs if key == Key::Escape => self.say("`q` leaves"),
            View::Runs => ScreenAction::Quit,
        }
    }

    /// Shows a part of the run that is shown or chosen, or its overview again.
    fn part(&mut self, part: RunPart) -> ScreenAction {
        let run = match &self.view {
            View::Run(run, now) if *now == part => return self.show(View::Run(run.clone(), RunPart::Overview)),
            View::Run(run, _) => Some(run),
            View::Runs | View::Sessions | View::Questions => self.chosen.as_ref(),
        };
        match run.cloned() {
            Some(run) => self.show(View::Run(run, part)),
            None => ScreenAction::Draw,
        }
    }

    fn show(&mut self, view: View) -> ScreenAction {
        // A log begins at its end, which is what happens now.
        self.follows = matches!(view, View::Run(_, RunPart::Log));
        self.log_search.clear();
        self.view = view;
        self.top = 0;
        ScreenAction::Read
    }

    fn other_group(&mut self) -> ScreenAction {
        self.filter.group = if self.filter.group.is_none() { Some(CardGroup::Over) } else { None };
        // The chosen run is in the other list.
        (self.at, self.top, self.chosen) = (0, 0, None);
        ScreenAction::Read
    }

    fn search(&mut self) -> ScreenAction {
        match &self.view {
            View::Runs => self.typed = Some(self.filter.search.clone().unwrap_or_default()),
            View::Run(_, RunPart::Log) => self.typed = Some(self.log_search.clone()),
            _ => return self.say("`/` searches in the list of runs and in a log"),
        }
        ScreenAction::Draw
    }

    /// A key while a text to search for is typed: each one narrows the list at once.
    fn type_on(&mut self, mut typed: String, key: Key) -> ScreenAction {
        match key {
            Key::Char(c) if typed.chars().count() < SEARCH => typed.push(c),
            Key::Backspace => drop(typed.pop()),
            Key::Escape => {
                self.find("");
                return ScreenAction::Read;
            }
            Key::Enter => return ScreenAction::Draw,
            _ => {}
        }
        self.find(&typed);
        self.typed = Some(typed);
        ScreenAction::Read
    }

    fn find(&mut self, text: &str) {
        if self.view == View::Runs {
            self.filter.search = if text.is_empty() { None } else { Some(text.to_owned()) };
        } else {
            text.clone_into(&mut self.log_search);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::line::PageLine;

    /// A list of these runs with a heading, or a page of a run with this many lines.
    fn page(runs: &[&str]) -> ScreenPage {
        let lines = runs.iter().map(|run| PageLine::new().plain(run).about(run.parse().unwrap()));
        let lines = std::iter::once(PageLine::new()).chain(lines).collect();
        ScreenPage {
            head: PageLine::new(),
            lines,
            commands: vec!["flow resume r1".to_owned(), "flow show r1".to_owned()],
            no_command: "",
            acts: Vec::new(),
        }
    }

    fn text(lines: usize) -> ScreenPage {
        ScreenPage {
            head: PageLine::new(),
            lines: vec![PageLine::new(); lines],
            commands: Vec::new(),
            no_command: "the run is over",
            acts: Vec::new(),
        }
    }

    fn id(run: &str) -> RunId {
        run.parse().unwrap()
    }

    fn screen() -> Screen {
        Screen::new(CardFilter::default(), None)
    }

    #[test]
    fn keys_choose_a_run_open_it_and_come_back_to_it() {
        let (mut screen, list) = (screen(), page(&["a", "b", "c"]));
        screen.settle(&list, 10);
        assert_eq!(screen.chosen, Some(id("a")));
        screen.press(Key::Char('j'), &list);
        screen.press(Key::Down, &list);
        screen.press(Key::Down, &list);
        assert_eq!(screen.chosen, Some(id("c")));
        screen.press(Key::Char('k'), &list);
        assert_eq!(screen.press(Key::Enter, &list), ScreenAction::Read);
        assert_eq!(screen.view, View::Run(id("b"), RunPart::Overview));
        assert_eq!(screen.press(Key::Char('d'), &text(5)), ScreenAction::Read);
        assert_eq!(screen.view, View::Run(id("b"), RunPart::Diagram));
        screen.press(Key::Char('l'), &text(5));
        assert_eq!(screen.view, View::Run(id("b"), RunPart::Log));
        screen.press(Key::Escape, &text(5));
        assert_eq!(screen.view, View::Run(id("b"), RunPart::Overview));
        screen.press(Key::Char('q'), &text(5));
        screen.settle(&list, 10);
        assert_eq!((&screen.view, &screen.chosen), (&View::Runs, &Some(id("b"))));
        assert_eq!(screen.press(Key::Char('q'), &list), ScreenAction::Quit);
    }

    #[test]
    fn the_chosen_run_stays_chosen_and_in_sight_while_the_list_changes() {
        let mut screen = screen();
        let all: Vec<String> = (0..30).map(|n| format!("r{n}")).collect();
        let names: Vec<&str> = all.iter().map(String::as_str).collect();
        let list = page(&names);
        screen.settle(&list, 5);
        screen.press(Key::End, &list);
        screen.settle(&list, 5);
        assert_eq!((&screen.chosen, screen.top), (&Some(id("r29")), 26));
        screen.press(Key::PageUp, &list);
        screen.settle(&list, 5);
        assert_eq!(screen.chosen, Some(id("r25")));
        let fewer = page(&names[20..]);
        screen.settle(&fewer, 5);
        assert_eq!(screen.chosen, Some(id("r25")));
        let without = page(&names[..20]);
        screen.settle(&without, 5);
        assert_eq!(screen.chosen, Some(id("r5")));
        screen.settle(&page(&[]), 5);
        assert_eq!(screen.press(Key::Enter, &page(&[])), ScreenAction::Draw);
        assert_eq!(screen.chosen, None);
        screen.press(Key::Home, &list);
        screen.settle(&list, 5);
        assert_eq!((&screen.chosen, screen.top), (&Some(id("r0")), 0));
    }

    #[test]
    fn a_log_is_followed_until_somebody_scrolls_back() {
        let mut screen = Screen::new(CardFilter::default(), Some(id("a")));
        screen.press(Key::Char('l'), &text(1));
        screen.settle(&text(20), 5);
        assert_eq!(screen.top, 15);
        screen.settle(&text(30), 5);
        assert_eq!(screen.top, 25);
        screen.press(Key::Up, &text(30));
        screen.settle(&text(40), 5);
        assert_eq!(screen.top, 24);
        screen.press(Key::Char('G'), &text(40));
        screen.settle(&text(50), 5);
        assert_eq!(screen.top, 45);
    }

    #[test]
    fn what_is_typed_searches_at_once_and_escape_ends_the_search() {
        let (mut screen, list) = (screen(), page(&["a"]));
        screen.press(Key::Char('/'), &list);
        for c in "qy".chars() {
            assert_eq!(screen.press(Key::Char(c), &list), ScreenAction::Read);
        }
        assert_eq!(screen.filter.search.as_deref(), Some("qy"));
        screen.press(Key::Backspace, &list);
        screen.press(Key::Enter, &list);
        assert_eq!((screen.filter.search.as_deref(), &screen.typed), (Some("q"), &None));
        assert_eq!(screen.press(Key::Escape, &list), ScreenAction::Read);
        assert_eq!(screen.filter.search, None);
        assert_eq!(screen.press(Key::Escape, &list), ScreenAction::Draw);
    }

    #[test]
    fn a_command_is_copied_and_groups_are_switched() {
        let (mut screen, list) = (screen(), page(&["a"]));
        for command in ["flow resume r1", "flow show r1", "flow resume r1"] {
            assert_eq!(screen.press(Key::Char('y'), &list), ScreenAction::Copy(command.to_owned()));
        }
        assert_eq!(screen.press(Key::Char('y'), &text(1)), ScreenAction::Draw);
        assert_eq!(screen.notice.as_deref(), Some("nothing copied: the run is over"));
        assert_eq!(screen.press(Key::Char('g'), &list), ScreenAction::Read);
        assert_eq!(screen.filter.group, Some(CardGroup::Over));
        screen.press(Key::Char('g'), &list);
        assert_eq!(screen.filter.group, None);
        screen.press(Key::Char('?'), &list);
        assert!(screen.help);
        screen.press(Key::Char('x'), &list);
        assert!(!screen.help);
        assert_eq!(screen.press(Key::Interrupt, &list), ScreenAction::Quit);
        assert_eq!(screen.press(Key::Suspend, &list), ScreenAction::Suspend);
    }
}
