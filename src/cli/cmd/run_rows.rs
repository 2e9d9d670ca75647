//! Runs as lines of a list: what each is first, in columns that fit the terminal.

use crate::cli::page::{CARE, TextPage, brief, or_empty};
use crate::model::{Doing, RunHead, RunId, Timestamp};
use crate::picture::{FittedColumns, RunColumns, Shrink, age, took, waits_for};
use crate::runs::{Card, Context, Error, ListedRun, Need, ShortNames, Unreadable, columns};

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
pub(super) fn rows<'r>(
    runs: impl IntoIterator<Item = &'r ListedRun>,
    names: &ShortNames,
    looked: Looked<'_>,
    now: Timestamp,
    indent: usize,
    page: &mut TextPage,
) {
    const WORKFLOW: usize = 2;
    const COLUMNS: RunColumns = RunColumns { title: 0, name: 1, phase: 4, age: 5, reason: 6 };
    let mut table = Vec::new();
    for run in runs {
        let card = looked.card(run);
        let reason = match card {
            Some(card) => waits_for(card, now),
            None if run.head.is_over() => took(run),
            None => or_empty(run.head.blocked_reason.as_ref()),
        };
        table.push([
            brief(&run.title()).into_owned(),
            names.of_run(&run.head.run_id).to_owned(),
            beside(&run.title(), run.head.workflow.as_str()),
            word(run, card, looked).to_owned(),
            place_of(&run.head, card),
            age(run.head.updated_at, now),
            brief(&reason).into_owned(),
        ]);
    }
    let steps: Vec<_> = [(WORKFLOW, Shrink::Whole)].into_iter().chain(COLUMNS.steps()).collect();
    fitted(&table, &steps, indent, page);
}

/// The workflow of a run beside its title; nothing if the title has it, because the run has no goal.
pub(super) fn beside(title: &str, workflow: &str) -> String {
    if title.strip_suffix(workflow).is_some_and(|before| before.is_empty() || before.ends_with(' ')) {
        return String::new();
    }
    workflow.to_owned()
}

/// How a run stands, in the word that every list has for it. Without a card it is as near to that as the file of the run.
fn word(run: &ListedRun, card: Option<&Card>, looked: Looked<'_>) -> &'static str {
    match (card, looked) {
        (Some(card), _) => card.word(),
        (None, Looked::Some(_)) if !run.head.is_over() => "open",
        (None, _) => word_by_file(&run.head),
    }
}

/// The word for how a run stands, as far as its file shows.
pub(super) fn word_by_file(head: &RunHead) -> &'static str {
    match head.doing {
        Some(Doing::Asking) => Need::Question.as_str(),
        Some(Doing::Failing) => Need::Failing.as_str(),
        Some(Doing::Conflict) => Need::Joined.as_str(),
        Some(Doing::Waiting) | None => head.word(),
    }
}

/// The phase of a run and its place in the workflow: `code 4/5`.
pub(super) fn place_of(run: &RunHead, card: Option<&Card>) -> String {
    let phase = or_empty(run.phase.as_ref());
    match card.and_then(|card| card.place) {
        Some(place) => format!("{phase} {}/{}", place.number, place.of),
        None => phase,
    }
}

/// Adds a table whose columns are narrowed in these steps, as far as that is needed for the width of the output.
pub(super) fn fitted<const N: usize>(
    table: &[[String; N]],
    steps: &[(usize, Shrink)],
    indent: usize,
    page: &mut TextPage,
) {
    let fitted = FittedColumns::of(table, steps, indent, columns().unwrap_or(usize::MAX));
    let mut shown = Vec::new();
    for row in table {
        shown.push(fitted.cells(row).into_iter().map(|(_, text, _)| text).collect::<Vec<_>>());
    }
    page.table_within(None, indent, shown);
}

/// The runs that cannot be read, and why.
pub(super) fn unreadable(runs: &[Unreadable], page: &mut TextPage) {
    if !runs.is_empty() {
        page.head(CARE, "Unreadable", &runs.len().to_string());
        page.table(2, runs.iter().map(|run| [run.run_id.as_str(), run.reason.as_str()]));
    }
}
