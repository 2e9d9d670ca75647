//! What pages are made of, read from a feed.

use crate::model::{RunId, Seq};
use crate::picture::{Diagram, diagram};
use crate::runs::{CardFilter, Feed, LogReport, Result, RunReport, ShownActivity};
use crate::watch::Watching;

/// The most runs of a group in a list on the screen.
pub(super) const RUNS: usize = 500;
/// The most events of a log, and those that the page of a run shows of it.
pub(super) const EVENTS: u64 = 5_000;
pub(super) const LATEST: u64 = 12;
/// The most activities.
pub(super) const ACTIVITIES: usize = 200;

/// The filter with which a list begins.
pub(super) fn list_filter(watching: &Watching) -> CardFilter {
    CardFilter { limit: RUNS, ..watching.filter() }
}

/// A run with what its pages show.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShownRun {
    pub(super) report: RunReport,
    /// The one that changed last comes first.
    pub(super) activities: Vec<ShownActivity>,
    /// The end of its log.
    pub(super) log: LogReport,
    /// Its workflow; none if it has no state machine or is not to be drawn.
    pub(super) diagram: Option<Diagram>,
}

impl ShownRun {
    /// Reads a run with its latest `events`, which may be many, and with its diagram if that `is_drawn`.
    pub(super) fn read(feed: &mut Feed, id: &RunId, events: u64, is_drawn: bool) -> Result<Self> {
        let run = feed.run(id)?;
        let report = run.report(None)?;
        let (activities, _) = run.shown_activities(None, ACTIVITIES);
        let log = run.log(Seq(report.last.0.saturating_sub(events)), usize::MAX);
        let diagram = match run.machine() {
            Some(machine) if is_drawn => Some(diagram(machine, &report.here())),
            _ => None,
        };
        Ok(Self { activities, log, diagram, report })
    }
}
