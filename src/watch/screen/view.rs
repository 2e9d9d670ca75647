//! The page for a state of the screen.

use crate::model::Timestamp;
use crate::picture::{look_of, why_no_command};
use crate::runs::{CardsReport, NextReport};
use crate::watch::line::{Look, PageLine};
use crate::watch::pages;
use crate::watch::screen::page::ScreenPage;
use crate::watch::screen::state::{RunPart, Screen, View};
use crate::watch::shown::RunFacts;

/// What was read for the screen.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) project: String,
    pub(super) cards: CardsReport,
    /// The run that is shown, or why it cannot be.
    pub(super) run: Option<Result<RunFacts, String>>,
    pub(super) now: Timestamp,
}

/// The page that the screen shows, in at most this many columns where lines can be broken.
pub(super) fn page(screen: &Screen, shown: &Shown, width: usize) -> ScreenPage {
    if screen.help {
        let (commands, no_command) = without_run();
        return ScreenPage { head: PageLine::new().with(Look::Strong, "Keys"), lines: help(), commands, no_command };
    }
    match (&screen.view, &shown.run) {
        (View::Runs, _) | (_, None) => runs(screen, shown, width),
        (View::Run(id, _), Some(Err(reason))) => {
            let lines = vec![PageLine::new(), PageLine::new().with(Look::Bad, "✕ ").plain(reason)];
            let (commands, no_command) = without_run();
            ScreenPage { head: PageLine::new().with(Look::Strong, id.as_str()), lines, commands, no_command }
        }
        (View::Run(_, part), Some(Ok(facts))) => run(screen, *part, facts, shown.now, width),
    }
}

fn runs(screen: &Screen, shown: &Shown, width: usize) -> ScreenPage {
    let mut cards = shown.cards.groups.iter().flat_map(|group| &group.cards);
    let chosen = cards.find(|card| Some(&card.run.head.run_id) == screen.chosen.as_ref());
    let mut head = pages::list_title(&shown.cards).dim(format!("  {}", shown.project));
    if let Some(text) = &screen.filter.search {
        head = head.plain(format!("  /{text}"));
    }
    let lines = pages::list(&shown.cards, &screen.filter, shown.now, width);
    let (commands, no_command) = match chosen {
        Some(card) => commands(&card.next),
        None => without_run(),
    };
    ScreenPage { head, lines, commands, no_command }
}

/// The commands to copy for a run: the one that is safe to run unread, then those for other decisions. Without such a one
/// there is none to copy, and why: a key must not take the first of several decisions.
fn commands(next: &NextReport) -> (Vec<String>, &'static str) {
    let mut commands = Vec::new();
    if let Some(command) = &next.command {
        commands.push(command.to_string());
        commands.extend(next.alternatives.iter().map(|way| way.command.to_string()));
    }
    (commands, why_no_command(next))
}

fn without_run() -> (Vec<String>, &'static str) {
    (Vec::new(), "no run is chosen")
}

fn run(screen: &Screen, part: RunPart, facts: &RunFacts, now: Timestamp, width: usize) -> ScreenPage {
    let id = facts.report.card.run.head.run_id.as_str();
    let (symbol, class, word) = look_of(&facts.report.card);
    let head = PageLine::new().with(Look::Strong, id).with(Look::of_class(class), format!("  {symbol} {word}"));
    let head = match part {
        RunPart::Overview => head,
        RunPart::Log if !screen.log_search.is_empty() => head.dim("  log").plain(format!("  /{}", screen.log_search)),
        RunPart::Log => head.dim("  log, times in UTC"),
        RunPart::Diagram => head.dim("  workflow ").dim(facts.report.card.run.head.workflow.as_str()),
    };
    let lines = match (part, &facts.diagram) {
        (RunPart::Overview, _) => pages::run(facts, now, width),
        (RunPart::Log, _) => pages::log(id, &facts.log, &screen.log_search),
        (RunPart::Diagram, Some(diagram)) => pages::diagram(&facts.report, diagram),
        (RunPart::Diagram, None) => vec![PageLine::new(), PageLine::new().dim("  its workflow has no state machine")],
    };
    let (commands, no_command) = commands(&facts.report.card.next);
    ScreenPage { head, lines, commands, no_command }
}

/// The keys that work now, for the last line: the most useful ones first, since the line may be short.
pub(super) fn footer(screen: &Screen) -> PageLine {
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
        View::Run(_, RunPart::Overview) => {
            &[("q", "back"), ("?", "keys"), ("l", "log"), ("d", "diagram"), ("y", "copy")]
        }
        View::Run(_, RunPart::Log) => &[("q", "back"), ("?", "keys"), ("/", "search"), ("G", "end"), ("d", "diagram")],
        View::Run(_, RunPart::Diagram) => &[("q", "back"), ("?", "keys"), ("l", "log"), ("y", "copy")],
    };
    let mut line = PageLine::new();
    for (key, what) in keys {
        line = line.with(Look::Strong, key).dim(format!(" {what}  "));
    }
    line
}

fn help() -> Vec<PageLine> {
    const KEYS: [(&str, &str); 14] = [
        ("j k ↓ ↑", "the next and the previous run, or a line"),
        ("PgDn PgUp", "a page on and back"),
        ("Home End", "the beginning and the end"),
        ("Enter", "open the run"),
        ("l", "the log"),
        ("d", "the diagram of the workflow"),
        ("/", "search in runs, or in the log"),
        ("g", "open runs, or those that are over"),
        ("y", "copy the command to run next; again, the next one of several"),
        ("q Esc", "back"),
        ("q", "quit, in the list"),
        ("Ctrl-C", "quit"),
        ("Ctrl-Z", "stop; `fg` goes on"),
        ("?", "these keys"),
    ];
    const NOTE: &str =
        "  Text is selected with the mouse as usual. Commands are copied by OSC 52, which some terminals ignore.";
    let mut lines = Vec::new();
    for (key, what) in KEYS {
        lines.push(PageLine::new().with(Look::Strong, format!("  {key:<10} ")).plain(what));
    }
    lines.extend([PageLine::new(), PageLine::new().dim(NOTE)]);
    lines
}
