//! `log`: the events of a run, and following them as they are logged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use crate::host::reader_left;
use crate::model::{Event, Seq, SessionId, Suggestion};
use crate::runs::context::Context;
use crate::runs::error::{Result, ends_at};
use crate::runs::open::checkout::{elsewhere, may_be_elsewhere};
use crate::runs::open::listing::for_listing;
use crate::runs::open::name::open_run_exactly;
use crate::runs::open::select::select_run;
use crate::runs::open::shared::StoreAnswer;
use crate::store::{LogScan, ReadPosition, RefreshScope, StoredRun};

/// Which events to read.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LogRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// Only events after this position.
    pub after: Seq,
    /// The highest number of events; otherwise all.
    pub limit: Option<usize>,
    /// The session that calls.
    pub session: Option<SessionId>,
}

/// The report of `log`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LogReport {
    /// The sealed events in order, as on disk without their checksum; `flow schema event` describes them.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub events: Vec<Event>,
    /// The position after which to go on, if `limit` left out events.
    pub next: Option<Seq>,
    /// Lines that are not events of flow; the first ten thousand.
    pub skipped: Vec<SkippedLine>,
    /// How many more such lines there are.
    pub more_skipped: usize,
    /// What a reader should know of a run that machines share.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub warnings: Vec<String>,
}

/// A line that is not an event of flow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SkippedLine {
    /// Its number in the file, from 1.
    pub line: usize,
    /// Why it is not an event.
    pub why: String,
    /// Its beginning.
    pub text: String,
}

/// The events of a run.
///
/// # Errors
/// [`crate::runs::Error::NoSuchRun`], and [`crate::runs::Error::Store`] when the log cannot be read.
pub fn log(cx: &Context, request: &LogRequest) -> Result<LogReport> {
    let (run, warnings) = logged_run(cx, request)?;
    // A reader who goes on needs the end of the log alone, if flow wrote all of it in order.
    if request.after > Seq(0)
        && let Some(end) = run.orderly_end(request.after)?
        && end.at.is_some()
        && !end.has_others
    {
        return Ok(LogReport { warnings, ..part(end.newer, request.after, request.limit) });
    }
    // Numbers of lines count from the beginning, and only all of a log shows what a merge brought.
    Ok(LogReport { warnings, ..page(run.log()?, request.after, request.limit) })
}

/// Starts to follow a run's log.
///
/// # Errors
/// As [`log`].
pub fn follow(cx: &Context, request: &LogRequest) -> Result<Follow> {
    let (run, warnings) = logged_run(cx, request)?;
    Ok(Follow { cx: cx.clone(), run, after: request.after, position: ReadPosition::default(), warnings })
}

/// The run, and what a reader should know if machines share it.
fn logged_run(cx: &Context, request: &LogRequest) -> Result<(Box<dyn StoredRun>, Vec<String>)> {
    let project = cx.project()?;
    let asked = StoreAnswer::now(&project, RefreshScope::All);
    let run = select_run(&project, request.run.as_deref(), request.session.clone())?;
    let mut warnings = asked.about(&project, &*run);
    // Its directory is here, but git has its log on another branch: no log would look like an empty one.
    if may_be_elsewhere(&project, &*run) {
        return Err(elsewhere(&project, &*run));
    }
    let (last, noted) = (run.end(Seq(u64::MAX))?.map_or(Seq(0), |end| end.last), run.noted());
    if noted > last {
        let resume = Suggestion::flow("resume").value(run.id());
        warnings.push(format!(
            "the log was put back: it {}, and event {noted} was written; `{resume}` says how to go on",
            ends_at(last)
        ));
    }
    Ok((run, warnings))
}

/// A part of a log: at most `limit` events after the position `after`.
fn page(scan: LogScan, after: Seq, limit: Option<usize>) -> LogReport {
    let (skipped, more_skipped) = (skipped_lines(&scan), scan.more_skipped);
    let newer = scan.lines.into_iter().map(|line| line.event).filter(|event| event.seq > after);
    LogReport { skipped, more_skipped, ..part(newer, after, limit) }
}

/// The same of a log that is used further.
pub(in crate::runs) fn page_of(scan: &LogScan, after: Seq, limit: Option<usize>) -> LogReport {
    let newer = scan.events().filter(|event| event.seq > after).cloned();
    LogReport { skipped: skipped_lines(scan), more_skipped: scan.more_skipped, ..part(newer, after, limit) }
}

fn skipped_lines(scan: &LogScan) -> Vec<SkippedLine> {
    let mut lines = Vec::with_capacity(scan.skipped.len());
    for line in &scan.skipped {
        lines.push(SkippedLine { line: line.line, why: line.fault.to_string(), text: line.text.clone() });
    }
    lines
}

/// At most `limit` of these events, which come after the position `after`.
fn part(newer: impl IntoIterator<Item = Event>, after: Seq, limit: Option<usize>) -> LogReport {
    let mut newer = newer.into_iter();
    let events: Vec<_> = newer.by_ref().take(limit.unwrap_or(usize::MAX)).collect();
    let last = events.last().map_or(after, |event| event.seq);
    let next = if newer.next().is_some() { Some(last) } else { None };
    LogReport { next, events, skipped: Vec::new(), more_skipped: 0, warnings: Vec::new() }
}

/// A log that is followed.
pub struct Follow {
    cx: Context,
    run: Box<dyn StoredRun>,
    after: Seq,
    position: ReadPosition,
    /// What a reader should know of a run that machines share.
    pub warnings: Vec<String>,
}

impl Follow {
    /// Whether the run is over, so that no more events are expected: it is completed, failed or cancelled.
    ///
    /// # Errors
    /// [`crate::runs::Error::NoSuchRun`] when it was removed, and as [`log()`].
    pub fn is_over(&self) -> Result<bool> {
        let project = self.cx.project()?;
        let run = open_run_exactly(&project, self.run.id().as_str())?;
        Ok(for_listing(&project, &*run)?.summary.head.status.is_terminal())
    }

    /// The events since the last call. A line without a line break is not complete yet.
    ///
    /// # Errors
    /// [`crate::runs::Error::Store`] when the log cannot be read.
    pub fn poll(&mut self) -> Result<LogReport> {
        let scan = self.run.log_from(&mut self.position, self.after)?;
        let last = self.after.max(scan.last_seq());
        let report = page(scan, self.after, None);
        self.after = last;
        Ok(report)
    }
}
