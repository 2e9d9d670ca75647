//! `attention`.

use std::ffi::OsString;
use std::time::Duration;

use crate::cli::args::AttentionArgs;
use crate::cli::cmd::run_rows::{fitted, no_project, place_of, short_names, unreadable};
use crate::cli::cmd::worktrees;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{CARE, FAINT, TextPage, brief};
use crate::model::Timestamp;
use crate::picture::{RunColumns, age, waits_for};
use crate::runs::{
    self, AttentionReport, AttentionRequest, Card, CardGroup, Context, Need, Needs, ShortNames, StoreAsker, reader_left,
};

/// How often `--wait` looks.
const PAUSE: Duration = Duration::from_secs(1);
/// How often it looks whether the store has answered.
const SHORT: Duration = Duration::from_millis(20);

pub(in crate::cli::cmd) fn run(cx: &Context, args: &AttentionArgs, out: &mut Out) -> CliResult {
    if args.wait {
        return wait(cx, &args.exec, out);
    }
    let report = runs::attention(cx, &AttentionRequest { all: args.all })?;
    out.warnings(&report.notes);
    let exit = out.answer(&report, |page| fill(cx, &report, cx.now(), page));
    // Behind the answer, and not in it: a program reads that.
    if !report.runs.is_empty() || !report.unreadable.is_empty() {
        out.aside("`flow resume RUN` says what to do about a run\n");
        return Ok(exit);
    }
    let none = match (args.all, report.worktrees.is_empty()) {
        (true, true) => "no run is open",
        (true, false) => "no run is open in this worktree",
        (false, true) => "no run needs you",
        (false, false) => "no run of this worktree needs you",
    };
    out.aside(&format!("{}\n", no_project(cx).unwrap_or_else(|| none.to_owned())));
    Ok(exit)
}

/// Waits until a run needs a person, or calls a program for each that comes to need one.
fn wait(cx: &Context, exec: &[OsString], out: &mut Out) -> CliResult {
    let mut needs = Needs::default();
    let asker = StoreAsker::begin(cx);
    let cx = &cx.offline();
    // Another machine may have answered what a run asked when it was seen last.
    while !asker.has_asked() {
        if reader_left(SHORT) {
            return Ok(Exit::Done);
        }
    }
    loop {
        out.warnings(&asker.news());
        let (report, news) = needs.look(cx)?;
        if exec.is_empty() && !news.is_empty() {
            return Ok(out.answer(&report, |page| fill(cx, &report, cx.now(), page)));
        }
        for run in &news {
            out.warnings(&runs::call_about(run, exec).into_iter().collect::<Vec<_>>());
        }
        if reader_left(PAUSE) {
            return Ok(Exit::Done);
        }
    }
}

/// A table for each group.
fn fill(cx: &Context, report: &AttentionReport, now: Timestamp, page: &mut TextPage) {
    page.cut_long_values();
    let names = short_names(cx, report.runs.iter().map(|card| &card.run.head.run_id));
    for cards in report.runs.chunk_by(|a, b| a.group == b.group) {
        let Some(first) = cards.first() else { continue };
        heading(page, first.group, cards.len());
        let rows: Vec<_> = cards.iter().map(|card| row(card, &names, now)).collect();
        fitted(&rows, &COLUMNS.steps(), 2, page);
    }
    unreadable(&report.unreadable, page);
    worktrees::show(&report.worktrees, &runs::cards_in_worktrees(cx, &report.worktrees), now, page);
}

fn heading(page: &mut TextPage, group: CardGroup, runs: usize) {
    let style = if group.needs_a_person() { CARE } else { FAINT };
    page.head(style, group.title(), &runs.to_string());
}

/// The columns of [`row`] behind the first.
const COLUMNS: RunColumns = RunColumns { title: 1, name: 2, phase: 3, age: 4, reason: 5 };

/// What is needed, what the run is, its name, where it is, since when, and what it waits for.
fn row(card: &Card, names: &ShortNames, now: Timestamp) -> [String; 6] {
    [
        card.need.map_or("", Need::as_str).to_owned(),
        brief(&card.run.title()).into_owned(),
        names.of_run(&card.run.head.run_id).to_owned(),
        place_of(&card.run.head, Some(card)),
        age(card.run.head.updated_at, now),
        brief(&waits_for(card, now)).into_owned(),
    ]
}
