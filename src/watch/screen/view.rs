//! The page for a state of the screen.

use crate::model::RunId;
use crate::model::Timestamp;
use crate::picture::{look_of, why_no_command};
use crate::runs::{CardsReport, NextReport};
use crate::watch::line::{Line, Look};
use crate::watch::pages;
use crate::watch::screen::state::{Part, Screen, View};
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

/// A page for the screen.
#[derive(Debug)]
pub(super) struct Page {
    /// The line above.
    pub(super) head: Line,
    pub(super) lines: Vec<Line>,
    /// The commands to copy from here, the one to run next first.
    pub(super) commands: Vec<String>,
    /// Why there are none.
    pub(super) no_command: &'static str,
}

impl Page {
    /// The lines with runs to open.
    pub(super) fn runs(&self) -> Vec<(usize, &RunId)> {
        self.lines.iter().enumerate().filter_map(|(at, line)| Some((at, line.run.as_ref()?))).collect()
    }
}

/// The page that the screen shows, in at most this many columns where lines can be broken.
pub(super) fn page(screen: &Screen, shown: &Shown, width: usize) -> Page {
    if screen.help {
        let (commands, no_command) = without_run();
        return Page { head: Line::new().with(Look::Strong, "Keys"), lines: help(), commands, no_command };
    }
    match (&screen.view, &shown.run) {
        (View::Runs, _) | (_, None) => runs(screen, shown, width),
        (View::Run(id, _), Some(Err(reason))) => {
            let lines = vec![Line::new(), Line::new().with(Look::Bad, "✕ ").plain(reason)];
            let (commands, no_command) = without_run();
            Page { head: Line::new().with(Look::Strong, id.as_str()), lines, commands, no_command }
        }
        (View::Run(_, part), Some(Ok(facts))) => run(screen, *part, facts, shown.now, width),
    }
}

fn runs(screen: &Screen, shown: &Shown, width: usize) -> Page {
    let chosen = screen.chosen.as_ref();
    let cards = shown.cards.groups.iter().flat_map(|group| &group.cards);
    let card = cards.into_iter().find(|card| Some(&card.run.head.run_id) == chosen);
    let mut head = pages::list_title(&shown.cards).dim(format!("  {}", shown.project));
    head = match &screen.filter.search {
        Some(text) => head.plain(format!("  /{text}")),
        None => head,
    };
    let lines = pages::list(&shown.cards, &screen.filter, shown.now, width);
    let (commands, no_command) = card.map_or_else(without_run, |card| commands(&card.next));
    Page { head, lines, commands, no_command }
}

/// The commands to copy for a run: the one that is safe to run unread, then those for other decisions. Without such a one
/// there is none to copy, and why: a key must not take the first of several decisions.
fn commands(next: &NextReport) -> (Vec<String>, &'static str) {
    let why = why_no_command(next);
    let Some(command) = &next.command else { return (Vec::new(), why) };
    let ways = next.alternatives.iter().map(|way| &way.command);
    (std::iter::once(command).chain(ways).map(ToString::to_string).collect(), why)
}

fn without_run() -> (Vec<String>, &'static str) {
    (Vec::new(), "no run is chosen")
}

fn run(screen: &Screen, part: Part, facts: &RunFacts, now: Timestamp, width: usize) -> Page {
    let id = facts.report.card.run.head.run_id.as_str();
    let (symbol, class, word) = look_of(&facts.report.card);
    let head = Line::new().with(Look::Strong, id).with(Look::of_class(class), format!("  {symbol} {word}"));
    let head = match part {
        Part::Overview => head,
        Part::Log if !screen.log_search.is_empty() => head.dim("  log").plain(format!("  /{}", screen.log_search)),
        Part::Log => head.dim("  log, times in UTC"),
        Part::Diagram => head.dim("  workflow ").dim(facts.report.card.run.head.workflow.as_str()),
    };
    let lines = match (part, &facts.diagram) {
        (Part::Overview, _) => pages::run(facts, now, width),
        (Part::Log, _) => pages::log(id, &facts.log, &screen.log_search),
        (Part::Diagram, Some(diagram)) => pages::diagram(&facts.report, diagram),
        (Part::Diagram, None) => vec![Line::new(), Line::new().dim("  its workflow has no state machine")],
    };
    let (commands, no_command) = commands(&facts.report.card.next);
    Page { head, lines, commands, no_command }
}

/// The keys that work now, for the last line: the most useful ones first, since the line may be short.
pub(super) fn footer(screen: &Screen) -> Line {
    if let Some(typed) = &screen.typed {
        return Line::new().with(Look::Strong, format!("/{typed}▏")).dim("  Enter keeps, Esc ends the search");
    }
    if let Some(notice) = &screen.notice {
        return Line::new().plain(notice);
    }
    let keys: &[(&str, &str)] = match &screen.view {
        _ if screen.help => &[("any key", "back")],
        View::Runs => {
            let other = if screen.filter.group.is_none() { "over" } else { "open" };
            let group = ("g", other);
            return keys(&[("q", "quit"), ("?", "keys"), ("Enter", "open"), ("/", "search"), group, ("y", "copy")]);
        }
        View::Run(_, Part::Overview) => &[("q", "back"), ("?", "keys"), ("l", "log"), ("d", "diagram"), ("y", "copy")],
        View::Run(_, Part::Log) => &[("q", "back"), ("?", "keys"), ("/", "search"), ("G", "end"), ("d", "diagram")],
        View::Run(_, Part::Diagram) => &[("q", "back"), ("?", "keys"), ("l", "log"), ("y", "copy")],
    };
    self::keys(keys)
}

fn keys(keys: &[(&str, &str)]) -> Line {
    let add = |line: Line, (key, what): &(&str, &str)| line.with(Look::Strong, key).dim(format!(" {what}  "));
    keys.iter().fold(Line::new(), add)
}

fn help() -> Vec<Line> {
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
    let line = |(key, what): (&str, &str)| Line::new().with(Look::Strong, format!("  {key:<10} ")).plain(what);
    let keys = KEYS.into_iter().map(line);
    let note =
        "  Text is selected with the mouse as usual. Commands are copied by OSC 52, which some terminals ignore.";
    keys.chain([Line::new(), Line::new().dim(note)]).collect()
}
