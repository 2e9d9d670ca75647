//! Runs as lines of a list: what each is first, in columns that fit the terminal.

use crate::cli::page::{CARE, TextPage, brief, or_empty};
use crate::model::{Doing, RunHead, RunId, Timestamp};
use crate::picture::{age, columns as width_of, cut, cut_front, waits_for};
use crate::runs::{Card, Context, Error, ListedRun, Need, ShortNames, Unreadable, columns};

/// The gap between columns.
const GAP: usize = 2;

/// What happens to a column for which a line has no room.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shrink {
    /// It loses its end, down to this width.
    End(usize),
    /// It loses its front, down to this width: ids differ at their ends.
    Front(usize),
    /// It is left out.
    Whole,
}

/// The names of runs of the caller's project.
pub(super) fn short_names<'r>(cx: &Context, shown: impl IntoIterator<Item = &'r RunId>) -> ShortNames {
    cx.project().map(|project| ShortNames::of(&project, shown)).unwrap_or_default()
}

/// The sentence of all commands for a directory without a project; none in a project.
pub(super) fn no_project(cx: &Context) -> Option<String> {
    match cx.project() {
        Err(error @ Error::NoProject { .. }) => Some(error.to_string()),
        _ => None,
    }
}

/// The runs of a list that were looked at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Looked<'a> {
    /// All that could be: the file of another one tells how it stands.
    All(&'a [Card]),
    /// Some: of another one that is open it is not known how it stands, and its file could contradict what its own worktree
    /// says.
    Some(&'a [Card]),
}

impl<'a> Looked<'a> {
    fn card(self, run: &ListedRun) -> Option<&'a Card> {
        let (Self::All(cards) | Self::Some(cards)) = self;
        cards.iter().find(|card| card.run.head.run_id == run.head.run_id)
    }
}

/// One line for each run of a list. What it waits for is that of its card, if that was read.
pub(super) fn rows(
    runs: &[ListedRun],
    names: &ShortNames,
    looked: Looked<'_>,
    now: Timestamp,
    indent: usize,
    page: &mut TextPage,
) {
    const TITLE: usize = 0;
    const NAME: usize = 1;
    const WORKFLOW: usize = 2;
    const PHASE: usize = 4;
    const REASON: usize = 6;
    let mut table = Vec::new();
    for run in runs {
        let card = looked.card(run);
        let reason = match card {
            Some(card) if card.need.is_some() || card.work.is_some() => waits_for(card, now),
            _ => or_empty(run.head.blocked_reason.as_ref().or(run.feature.as_ref())),
        };
        table.push([
            brief(&run.title()).into_owned(),
            names.of_run(&run.head.run_id).to_owned(),
            run.head.workflow.to_string(),
            word(run, card, looked).to_owned(),
            place_of(run, card),
            age(run.head.updated_at, now),
            brief(&reason).into_owned(),
        ]);
    }
    let steps = [
        (REASON, Shrink::End(16)),
        (TITLE, Shrink::End(24)),
        (WORKFLOW, Shrink::Whole),
        // One long name must not take the phase and the reason from all rows.
        (NAME, Shrink::Front(20)),
        (TITLE, Shrink::End(18)),
        (REASON, Shrink::End(12)),
        (PHASE, Shrink::Whole),
        (REASON, Shrink::Whole),
        (TITLE, Shrink::End(10)),
        (NAME, Shrink::Front(8)),
    ];
    fitted(table, &steps, indent, page);
}

/// How a run stands, in the word that every list has for it. Without a card it is as near to that as the file of the run.
fn word(run: &ListedRun, card: Option<&Card>, looked: Looked<'_>) -> &'static str {
    match (card, looked) {
        (Some(card), _) => card.word(),
        (None, Looked::Some(_)) if !run.head.is_over() => "open",
        (None, _) => word_by_file(&run.head),
    }
}

/// The word for how a run stands, as far as its file tells.
pub(super) fn word_by_file(head: &RunHead) -> &'static str {
    match head.doing {
        Some(Doing::Asking) => Need::Question.as_str(),
        Some(Doing::Failing) => Need::Failing.as_str(),
        Some(Doing::Conflict) => Need::Joined.as_str(),
        Some(Doing::Waiting) | None => head.word(),
    }
}

/// The phase of a run and its place in the workflow: `code 4/5`.
pub(super) fn place_of(run: &ListedRun, card: Option<&Card>) -> String {
    let phase = or_empty(run.head.phase.as_ref());
    match card.and_then(|card| card.place) {
        Some(place) => format!("{phase} {}/{}", place.number, place.of),
        None => phase,
    }
}

/// Adds a table whose columns are narrowed in these steps, as far as that is needed for the width of the output.
pub(super) fn fitted<const N: usize>(
    mut table: Vec<[String; N]>,
    steps: &[(usize, Shrink)],
    indent: usize,
    page: &mut TextPage,
) {
    let mut widths = [0; N];
    for row in &table {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(width_of(cell));
        }
    }
    let natural = widths;
    let room = columns().unwrap_or(usize::MAX);
    for (column, shrink) in steps {
        let over = taken(&widths, indent).saturating_sub(room);
        if over == 0 {
            break;
        }
        widths[*column] = match shrink {
            Shrink::End(least) | Shrink::Front(least) => {
                widths[*column].min((*least).max(widths[*column].saturating_sub(over)))
            }
            Shrink::Whole => 0,
        };
    }
    let freed = room.saturating_sub(taken(&widths, indent));
    give_back(&mut widths, &natural, steps, freed);
    for (column, shrink) in steps {
        if widths[*column] < natural[*column] {
            for row in &mut table {
                row[*column] = narrowed(&row[*column], *shrink, widths[*column]);
            }
        }
    }
    let mut shown = Vec::new();
    for row in table {
        let cells = row.into_iter().zip(widths).filter(|(_, width)| *width > 0);
        shown.push(cells.map(|(cell, _)| cell).collect::<Vec<_>>());
    }
    page.table_within(None, indent, shown);
}

/// How much of a line these columns take.
fn taken(widths: &[usize], indent: usize) -> usize {
    let shown = widths.iter().filter(|width| **width > 0).count();
    indent + widths.iter().sum::<usize>() + GAP * shown.saturating_sub(1)
}

/// Lets the columns that lost something grow again into the room that one which was left out has freed.
fn give_back(widths: &mut [usize], natural: &[usize], steps: &[(usize, Shrink)], mut room: usize) {
    let mut grows = true;
    while grows {
        grows = false;
        for (column, _) in steps {
            if room > 0 && widths[*column] > 0 && widths[*column] < natural[*column] {
                widths[*column] += 1;
                room -= 1;
                grows = true;
            }
        }
    }
}

fn narrowed(text: &str, shrink: Shrink, width: usize) -> String {
    match shrink {
        Shrink::End(_) => cut(text, width),
        Shrink::Front(_) => cut_front(text, width),
        Shrink::Whole if width == 0 => String::new(),
        Shrink::Whole => text.to_owned(),
    }
}

/// The runs that cannot be read, and why.
pub(super) fn unreadable(runs: &[Unreadable], page: &mut TextPage) {
    if !runs.is_empty() {
        page.head(CARE, "Unreadable", &runs.len().to_string());
        page.table(2, runs.iter().map(|run| [run.run_id.as_str(), run.reason.as_str()]));
    }
}
