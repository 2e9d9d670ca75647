//! `wait`.

use std::time::{Duration, Instant};

use crate::cli::args::WaitArgs;
use crate::cli::cmd::meant::meant;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::brief;
use crate::engine::Verdict;
use crate::model::{Help, Kind, Problem, RunStatus, Suggestion};
use crate::runs::{self, Card, Context, Need, StoreAsker, reader_left};

/// How often it looks.
const PAUSE: Duration = Duration::from_millis(250);

/// Waits until the run is over or needs a person; or until its commands have ended, whatever else the run needs.
pub(in crate::cli::cmd) fn run(cx: &Context, args: WaitArgs, out: &mut Out) -> CliResult {
    // It says nothing more for long, so at once for which run it waits.
    let run = meant(cx, args.run, out, false)?;
    let begun = Instant::now();
    let asker = StoreAsker::begin(cx);
    let mut was_unsure = false;
    loop {
        // Before the look: what is asked for meanwhile may come after it.
        let has_asked = asker.has_asked();
        let card = runs::card_of(cx, &run);
        let is_unsure = card.as_ref().map_or(true, |card| card.need.is_some_and(Need::may_pass));
        // Git or a person may be in the middle of changing its files: only two such answers in a row are more than that.
        if is_unsure && !was_unsure {
            was_unsure = true;
            if reader_left(PAUSE) {
                return Ok(Exit::Done);
            }
            continue;
        }
        was_unsure = false;
        let card = card?;
        let left = args.timeout.map_or(PAUSE, |timeout| timeout.saturating_sub(begun.elapsed()).min(PAUSE));
        out.warnings(&asker.news());
        let end = if args.commands { end_of_commands(cx, &card)? } else { end(&card) };
        // Another machine may have reopened the run, or answered it.
        if let Some(exit) = end
            && (has_asked || left.is_zero())
        {
            return Ok(out.answer(&card, |page| page.line(&line(&card))).then(exit));
        }
        if left.is_zero() {
            let seconds = begun.elapsed().as_secs();
            let message = format!("run {run} is still open after {seconds} s: {}", card.reason);
            let help = Help::from("wait longer with --timeout, or see ") + Suggestion::flow("resume").value(run);
            return Err(Problem::new(Kind::Held, "time_over", message).help(help).into());
        }
        if reader_left(left) {
            return Ok(Exit::Done);
        }
    }
}

/// How the wait ends; `None` if it goes on.
fn end(card: &Card) -> Option<Exit> {
    if card.group.needs_a_person() {
        return Some(match card.verdict {
            Verdict::Corrupt | Verdict::Conflict => Exit::Damaged,
            _ => Exit::NeedsHuman,
        });
    }
    match card.run.head.status {
        RunStatus::Completed => Some(Exit::Done),
        RunStatus::Failed | RunStatus::Cancelled => Some(Exit::Refused),
        RunStatus::Active | RunStatus::Blocked => None,
    }
}

/// As [`end`], for those who wait for the commands alone.
fn end_of_commands(cx: &Context, card: &Card) -> Result<Option<Exit>, runs::Error> {
    let is_at_work = runs::runs_command(cx, card.run.head.run_id.as_str())?;
    Ok(if is_at_work { None } else { Some(Exit::Done) })
}

fn line(card: &Card) -> String {
    let word = card.need.map_or(card.run.head.status.as_str(), Need::as_str);
    format!("{word}  {}  {}", card.run.head.run_id, brief(&card.reason))
}
