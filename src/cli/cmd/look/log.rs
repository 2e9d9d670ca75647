//! `log`.

use std::time::Duration;

use crate::cli::args::LogArgs;
use crate::cli::cmd::meant::meant;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::TextPage;
use crate::model::{Event, Seq};
use crate::picture::{columns as width_of, event_in_words};
use crate::runs::{self, Context, LogReport, LogRequest, columns, reader_left};

/// How often `log --follow` reads the log.
const PAUSE: Duration = Duration::from_millis(200);

pub(in crate::cli::cmd) fn run(cx: &Context, args: LogArgs, out: &mut Out) -> CliResult {
    let run = Some(meant(cx, args.run, out, false)?);
    let request = LogRequest {
        run,
        after: Seq(args.after),
        limit: args.limit.and_then(|limit| usize::try_from(limit).ok()),
        session: None,
    };
    if args.follow {
        return follow(cx, &request, out);
    }
    let report = runs::log(cx, &request)?;
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| fill(&report, page)))
}

/// Prints events until the run is over or removed, or until the reader of standard output is gone.
fn follow(cx: &Context, request: &LogRequest, out: &mut Out) -> CliResult {
    let mut follow = runs::follow(cx, request)?;
    out.warnings(&follow.warnings);
    let mut day = None;
    loop {
        // Ask before polling: events that were logged before the run ended are printed then.
        let over = follow.is_over();
        let report = follow.poll()?;
        for event in &report.events {
            let exit = out.answer(event, |page| {
                page.cut_long_values();
                told(event, &mut day, page);
            });
            // A reader that closes the pipe ends the command; that is not an error.
            if exit != Exit::Done || reader_left(Duration::ZERO) {
                return Ok(exit);
            }
        }
        if over? || reader_left(PAUSE) {
            return Ok(Exit::Done);
        }
    }
}

fn fill(report: &LogReport, page: &mut TextPage) {
    page.cut_long_values();
    let mut day = None;
    for event in &report.events {
        told(event, &mut day, page);
    }
    for skipped in &report.skipped {
        page.line(&format!("line {}  {}  {}", skipped.line, skipped.why, skipped.text));
    }
    if report.more_skipped > 0 {
        page.line(&format!("{} more lines are not events", report.more_skipped));
    }
}

/// An event in one line: position, time, type, and what matters for its type. Where that has no room, it stands below, and the
/// time is that of the day, which stands above where it is not that of the event before, `day`.
fn told(event: &Event, day: &mut Option<String>, page: &mut TextPage) {
    let Event { seq, at, kind, .. } = event;
    let words = event_in_words(event);
    let line = format!("{:>4}  {at}  {:<18} {words}", seq.0, kind.name());
    let this_day = at.as_datetime().format("%Y-%m-%d").to_string();
    let room = columns().unwrap_or(usize::MAX);
    if width_of(line.trim_end()) <= room {
        page.line(line.trim_end());
        *day = Some(this_day);
        return;
    }
    let whole = format!("{:>4}  {at}  {}", seq.0, kind.name());
    let time = at.as_datetime().format("%H:%M:%S");
    if width_of(&whole) <= room {
        page.line(&whole);
    } else {
        if day.as_ref() != Some(&this_day) {
            page.line(&this_day);
        }
        page.line(&format!("{:>4}  {time}  {}", seq.0, kind.name()));
    }
    *day = Some(this_day);
    page.fit_to_columns();
    if !words.is_empty() {
        page.below(&words);
    }
}
