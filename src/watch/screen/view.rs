//! The page for a state of the screen.

use crate::interviews::InterviewListReport;
use crate::model::{SessionId, Timestamp};
use crate::modes::SessionsReport;
use crate::picture::{columns, cut, look_of, why_no_command};
use crate::runs::{CardsReport, NextReport, ShortNames};
use crate::watch::acts::{RunAct, acts_on};
use crate::watch::line::{Look, PageLine, wrapped};
use crate::watch::pages;
use crate::watch::screen::page::ScreenPage;
use crate::watch::screen::pending::PendingAct;
use crate::watch::screen::state::{RunPart, Screen, View};
use crate::watch::shown::ShownRun;

/// What was read for the screen.
#[derive(Debug)]
pub(super) struct ScreenContent {
    pub(super) project: String,
    pub(super) cards: CardsReport,
    pub(super) names: ShortNames,
    /// The run that is shown, or why it cannot be.
    pub(super) run: Option<Result<ShownRun, String>>,
    /// The sessions or the questions, if they are shown, or why they cannot be.
    pub(super) sessions: Option<Result<SessionsReport, String>>,
    pub(super) questions: Option<Result<InterviewListReport, String>>,
    /// The session of this terminal.
    pub(super) session: Option<SessionId>,
    pub(super) now: Timestamp,
}

/// The page that the screen shows, in at most this many columns where lines can be broken.
pub(super) fn page(screen: &Screen, shown: &ScreenContent, width: usize) -> ScreenPage {
    if screen.help {
        return without_run("Keys", help(width));
    }
    match (&screen.view, &shown.run) {
        (View::Sessions, _) => {
            let lines = read(shown.sessions.as_ref(), |report| pages::sessions(report, shown.now));
            of_list(screen, shown, without_run("Sessions", lines))
        }
        (View::Questions, _) => {
            let lines = read(shown.questions.as_ref(), |report| pages::questions(report, shown.now, width));
            of_list(screen, shown, without_run("Questions", lines))
        }
        (View::Runs, _) | (_, None) => runs(screen, shown, width),
        (View::Run(id, _), Some(Err(reason))) => without_run(id.as_str(), trouble(reason)),
        (View::Run(_, part), Some(Ok(facts))) => run(screen, *part, facts, shown, width),
    }
}

fn read<T>(found: Option<&Result<T, String>>, lines: impl FnOnce(&T) -> Vec<PageLine>) -> Vec<PageLine> {
    match found {
        Some(Ok(report)) => lines(report),
        Some(Err(reason)) => trouble(reason),
        None => Vec::new(),
    }
}

fn trouble(reason: &str) -> Vec<PageLine> {
    vec![PageLine::new(), PageLine::new().with(Look::Bad, "✕ ").plain(reason)]
}

/// The page of a list with the commands of the run that is chosen in it.
fn of_list(screen: &Screen, shown: &ScreenContent, page: ScreenPage) -> ScreenPage {
    let mut cards = shown.cards.groups.iter().flat_map(|group| &group.cards);
    match cards.find(|card| Some(&card.run.head.run_id) == screen.chosen.as_ref()) {
        Some(card) => {
            let (commands, no_command) = commands(&card.next);
            ScreenPage { commands, no_command, ..page }
        }
        None => page,
    }
}

fn runs(screen: &Screen, shown: &ScreenContent, width: usize) -> ScreenPage {
    let mut head = pages::list_title(&shown.cards, &screen.filter).dim(format!("  {}", shown.project));
    if let Some(text) = &screen.filter.search {
        head = head.plain(format!("  /{text}"));
    }
    let lines = pages::list(&shown.cards, &shown.names, &screen.filter, shown.now, width);
    of_list(screen, shown, ScreenPage { head, ..without_run("", lines) })
}

/// The commands to copy for a run: the one that is safe to run unread, then those for other decisions. Without such a one
/// there is none to copy, and why: a key must not take the first of several decisions.
fn commands(next: &NextReport) -> (Vec<String>, &'static str) {
    let mut commands = Vec::new();
    if let Some(command) = &next.command {
        commands.push(format!("{command:#}"));
        commands.extend(next.alternatives.iter().map(|way| format!("{:#}", way.command)));
    }
    (commands, why_no_command(next))
}

fn without_run(title: &str, lines: Vec<PageLine>) -> ScreenPage {
    let head = PageLine::new().with(Look::Strong, title);
    ScreenPage { head, lines, commands: Vec::new(), no_command: "no run is chosen", acts: Vec::new() }
}

fn run(screen: &Screen, part: RunPart, facts: &ShownRun, shown: &ScreenContent, width: usize) -> ScreenPage {
    let card = &facts.report.card;
    let id = card.run.head.run_id.as_str();
    let (symbol, class, word) = look_of(card);
    let (title, state, name) =
        (card.run.title(), format!("  {symbol} {word}"), shown.names.of_run(&card.run.head.run_id));
    let room = width.saturating_sub(columns(&state) + columns(name) + 2);
    let head = PageLine::new().with(Look::Strong, cut(&title, room)).with(Look::of_class(class), state);
    let head = head.plain("  ").plain(name);
    let head = match part {
        RunPart::Overview => head,
        RunPart::Log if !screen.log_search.is_empty() => head.dim("  log").plain(format!("  /{}", screen.log_search)),
        RunPart::Log => head.dim("  log, times in UTC"),
        RunPart::Diagram => head.dim("  workflow ").dim(card.run.head.workflow.as_str()),
    };
    let lines = match (part, &facts.diagram) {
        (RunPart::Overview, _) => {
            let mut lines = pages::run(facts, shown.now, width);
            // It stands in the head, unless that has no room for all of it.
            if columns(&title) <= room {
                lines.remove(0);
            }
            lines
        }
        (RunPart::Log, _) => pages::log(id, &facts.log, &screen.log_search),
        (RunPart::Diagram, Some(diagram)) => pages::diagram(&facts.report, diagram),
        (RunPart::Diagram, None) => vec![PageLine::new(), PageLine::new().dim("  its workflow has no state machine")],
    };
    let (commands, no_command) = commands(&card.next);
    let acts = acts_on(&facts.report, shown.session.as_ref());
    ScreenPage { head, lines, commands, no_command, acts }
}

/// The keys that work now, for the last line, as far as there is room: the most useful ones first.
pub(super) fn footer(screen: &Screen, acts: &[RunAct], room: usize) -> PageLine {
    if let Some(PendingAct { act, text, confirms }) = &screen.pending {
        if *confirms {
            // Short, so that what is asked is seen; every other key is a no.
            return PageLine::new().with(Look::Need, "y/n").plain("  ").plain(act.asks(text));
        }
        let label = act.shown().label.unwrap_or_default();
        // What is typed at the end of a long text is seen.
        let end: String = text.chars().skip(text.chars().count().saturating_sub(60)).collect();
        return PageLine::new().with(Look::Strong, format!("{label}: {end}▏")).dim("  Enter goes on, Esc goes back");
    }
    if let Some(typed) = &screen.typed {
        return PageLine::new().with(Look::Strong, format!("/{typed}▏")).dim("  Enter keeps, Esc ends the search");
    }
    if let Some(notice) = &screen.notice {
        return PageLine::new().plain(notice);
    }
    let group = ("g", if screen.filter.group.is_none() { "over" } else { "open" });
    let keys: &[(&str, &str)] = match &screen.view {
        _ if screen.help => &[("any key", "back")],
        View::Runs => &[("q", "quit"), ("?", "keys"), ("Enter", "open"), ("/", "search"), group, ("y", "copy")],
        View::Sessions | View::Questions => &[("q", "back"), ("?", "keys"), ("Enter", "open"), ("y", "copy")],
        View::Run(_, RunPart::Overview) => {
            &[("q", "back"), ("?", "keys"), ("l", "log"), ("d", "diagram"), ("y", "copy")]
        }
        View::Run(_, RunPart::Log) => &[("q", "back"), ("?", "keys"), ("/", "search"), ("G", "end"), ("d", "diagram")],
        View::Run(_, RunPart::Diagram) => &[("q", "back"), ("?", "keys"), ("l", "log"), ("y", "copy")],
    };
    let mut keys: Vec<_> = keys.iter().map(|(key, what)| ((*key).to_owned(), *what)).collect();
    if !screen.help && matches!(screen.view, View::Run(_, RunPart::Overview)) {
        keys.extend(acts.iter().map(|act| (act.shown().key.to_string(), act.shown().word)));
    }
    let mut line = PageLine::new();
    for (key, what) in keys {
        // The last one needs no gap behind it.
        let longer = |gap| line.clone().with(Look::Strong, &key).dim(format!(" {what}{gap}"));
        let fitting = ["  ", ""].map(longer).into_iter().find(|longer| columns(&longer.text()) <= room);
        let Some(longer) = fitting else { break };
        line = longer;
    }
    line
}

fn help(width: usize) -> Vec<PageLine> {
    const KEYS: [(&str, &str); 20] = [
        ("j k ↓ ↑", "the next and the previous run, or a line"),
        ("PgDn PgUp", "a page on and back"),
        ("Home End", "the beginning and the end"),
        ("Enter", "open the run"),
        ("l", "the log"),
        ("d", "the diagram of the workflow"),
        ("/", "search in runs, or in the log"),
        ("g", "open runs, or those that are over"),
        ("y", "copy the command to run next; again, the next one of several"),
        ("s", "sessions, with their runs and modes"),
        ("i", "questions and interviews"),
        ("a", "answer what the run asks"),
        ("u", "unblock the run"),
        ("A R", "approve or reject at a gate"),
        ("c x", "claim the run, or cancel it"),
        ("q Esc", "back"),
        ("q", "quit, in the list"),
        ("Ctrl-C", "quit"),
        ("Ctrl-Z", "stop; `fg` goes on"),
        ("?", "these keys"),
    ];
    /// The columns before what a key does.
    const KEY: usize = 13;
    const NOTE: &str = "Text is selected with the mouse as usual. Commands are copied by OSC 52, which some terminals ignore. Acts ask again.";
    let mut lines = Vec::new();
    for (key, what) in KEYS {
        let mut key = format!("  {key:<10} ");
        for line in wrapped(what, width.saturating_sub(KEY)) {
            lines.push(PageLine::new().with(Look::Strong, &key).plain(line));
            key = " ".repeat(KEY);
        }
    }
    lines.push(PageLine::new());
    for line in wrapped(NOTE, width.saturating_sub(4)) {
        lines.push(PageLine::new().dim(format!("  {line}")));
    }
    lines
}
