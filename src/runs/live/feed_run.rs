//! A run of a feed, and places in its log.

use std::fmt;
use std::str::FromStr;

use crate::engine::{Attempt, RunUsage, Timekeeper, Timeline};
use crate::machine::Machine;
use crate::model::{Event, EventId, RunId, Seq, StateName, WorkflowId};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;
use crate::runs::live::observe::{ObservedRun, RunReport, RunRequest, WholeRun};
use crate::runs::look::card::{assess, assess_past};
use crate::runs::look::evidence::{EvidenceFile, EvidenceItem, EvidenceOrigin, FileContent, content, evidence_of};
use crate::runs::look::in_time::SeenCommands;
use crate::runs::look::log::{LogReport, page_of};
use crate::runs::look::outlook::{Definitions, OpenedRun};
use crate::runs::look::tries::{ShownActivity, shown_activities};
use crate::runs::open::select::select_run;
use crate::runs::open::shared::{ask_store, store_away};
use crate::runs::open::view::View;
use crate::store::RefreshScope;

/// A run with everything that a page about it shows. Writes nothing.
///
/// # Errors
/// [`Error::NoSuchRun`](crate::runs::Error::NoSuchRun), `event_not_found`, and those of reading a run.
pub fn run_report(cx: &Context, request: &RunRequest) -> Result<RunReport> {
    with_run(&cx.project()?, request, |run| run.report(request.at))
}

/// Reads a run with all that was recorded of it, now or after an earlier event, and what a reader should know of that.
///
/// # Errors
/// As [`run_report`].
pub fn whole_run(cx: &Context, request: &RunRequest) -> Result<(WholeRun, Vec<String>)> {
    let project = cx.project()?;
    let notes = ask_store(&project, RefreshScope::All);
    Ok((with_run(&project, request, |run| run.whole(request.at))?, notes))
}

fn with_run<T>(
    project: &OpenedProject,
    request: &RunRequest,
    report: impl FnOnce(FeedRun<'_>) -> Result<T>,
) -> Result<T> {
    let run = select_run(project, request.run.as_deref(), request.session.clone())?;
    let observed = ObservedRun::open(project, run, None)?;
    report(FeedRun { project, definitions: &Definitions::default(), observed: &observed })
}

/// A run that was read, of a feed or for one report, with what reports about it need. All that it says is of one moment.
#[derive(Debug, Clone, Copy)]
pub struct FeedRun<'f> {
    pub(in crate::runs) project: &'f OpenedProject,
    pub(in crate::runs) definitions: &'f Definitions,
    pub(in crate::runs) observed: &'f ObservedRun,
}

impl FeedRun<'_> {
    /// The run with everything that a page about it shows, now or after the event `at`.
    ///
    /// # Errors
    /// `event_not_found`.
    pub fn report(&self, at: Option<Seq>) -> Result<RunReport> {
        if let Some(at) = at {
            return Ok(self.report_at(at)?.0);
        }
        let ObservedRun { view, timekeeper, .. } = self.observed;
        let mut assessment = assess(self.opened(view), self.definitions);
        if assessment.card.run.sharing.is_some() {
            assessment.notes.extend(store_away(self.project));
        }
        Ok(self.observed.report_of(view, assessment, timekeeper, None, self.project.cx.now()))
    }

    fn opened<'a>(&'a self, view: &'a View) -> OpenedRun<'a> {
        OpenedRun { project: self.project, run: &*self.observed.run, view }
    }

    /// The run after the event `at`, and what was known of it then.
    fn report_at(&self, at: Seq) -> Result<(RunReport, View)> {
        let (then, now) = self.observed.view_at(at)?;
        let timekeeper = Timekeeper::of(self.observed.events_until(at));
        let assessment = assess_past(self.opened(&then), now);
        Ok((self.observed.report_of(&then, assessment, &timekeeper, Some(at), now), then))
    }

    /// The run with all that was recorded of it, now or after the event `at`.
    ///
    /// # Errors
    /// `event_not_found`.
    fn whole(&self, at: Option<Seq>) -> Result<WholeRun> {
        let View { log, history, machine, .. } = &self.observed.view;
        let (run, log, activities, machine) = match at {
            Some(at) => {
                let (run, then) = self.report_at(at)?;
                (run, page_of(&log.until(at), Seq(0), None), then.history.attempts().to_vec(), then.machine)
            }
            None => (self.report(None)?, page_of(log, Seq(0), None), history.attempts().to_vec(), machine.clone()),
        };
        let evidence = self.evidence(&run)?;
        Ok(WholeRun { run, activities, evidence, log, machine, now: self.project.cx.now() })
    }

    /// When work happened in it, as if no worker were known to be alive.
    pub(in crate::runs) fn timeline(&self) -> Timeline {
        let order: Vec<StateName> = match self.machine() {
            Some(machine) => machine.states().iter().map(|state| state.name.clone()).collect(),
            None => Vec::new(),
        };
        self.observed.timekeeper.timeline(&order, self.project.cx.now(), &|_| false)
    }

    /// What its work used, as it was reported.
    pub(in crate::runs) fn usage(&self) -> RunUsage {
        self.observed.view.history.usage()
    }

    /// The id of the run.
    #[must_use]
    pub fn id(&self) -> &RunId {
        self.observed.run.id()
    }

    /// The name of the workflow that it follows.
    #[must_use]
    pub fn workflow(&self) -> &WorkflowId {
        &self.observed.view.history.state().document().workflow
    }

    /// The workflow that it follows; none if it has no state machine.
    #[must_use]
    pub fn machine(&self) -> Option<&Machine> {
        self.observed.view.machine.as_ref()
    }

    /// Records of activities up to the event `until`, the latest first, without the first `skip`, at most `limit`.
    #[must_use]
    pub fn activities(&self, until: Option<Seq>, skip: usize, limit: usize) -> Vec<Attempt> {
        let latest_first = self.observed.view.history.attempts().iter().rev();
        let known = latest_first.filter(|attempt| is_known_at(attempt, until));
        known.skip(skip).take(limit).cloned().collect()
    }

    /// Its activities up to the event `until`, the one that changed last first, at most `limit`; and how many there are.
    #[must_use]
    pub fn shown_activities(&self, until: Option<Seq>, limit: usize) -> (Vec<ShownActivity>, usize) {
        let mut known = self.observed.view.history.attempts().to_vec();
        known.retain(|attempt| is_known_at(attempt, until));
        shown_activities(&known, self.observed.view.log.events(), limit)
    }

    /// What it refers to as evidence and artifacts, as of the time of `report`.
    ///
    /// # Errors
    /// [`Error::Store`](crate::runs::Error::Store) when its evidence cannot be listed.
    pub fn evidence(&self, report: &RunReport) -> Result<Vec<EvidenceItem>> {
        let ObservedRun { run, view, .. } = self.observed;
        let known = view.history.attempts().iter().filter(|attempt| is_known_at(attempt, report.at));
        let mut found = evidence_of(self.project, &**run, known, &report.artifacts)?;
        if report.at.is_some() {
            // When a file came that nothing refers to is not known.
            found.retain(|item| item.origin != EvidenceOrigin::Directory);
        }
        Ok(found)
    }

    /// At most `limit` bytes of a file that it refers to, from `offset` on.
    ///
    /// # Errors
    /// `file_not_found` if it does not refer to this file, or if the file is not there.
    pub fn content(&self, file: &EvidenceFile, offset: u64, limit: usize) -> Result<FileContent> {
        content(self.opened(&self.observed.view), file, offset, limit)
    }

    /// Its last commands of which flow saw the end. Whether they hold is looked at without the feed, which others wait for.
    #[must_use]
    pub fn last_seen_commands(&self) -> SeenCommands {
        SeenCommands::last(&self.project.cx, self.id(), &self.observed.view.history)
    }

    /// As [`Self::last_seen_commands`], all of them.
    #[must_use]
    pub fn seen_commands(&self) -> SeenCommands {
        SeenCommands::all(&self.project.cx, self.id(), &self.observed.view.history)
    }

    /// A part of its log: at most `limit` events after the position `after`.
    #[must_use]
    pub fn log(&self, after: Seq, limit: usize) -> LogReport {
        page_of(&self.observed.view.log, after, Some(limit))
    }

    /// The latest events of its log up to `until` that `takes` takes, at most `limit`; and whether there are earlier ones.
    #[must_use]
    pub fn log_until(&self, until: Seq, limit: usize, takes: impl Fn(&Event) -> bool) -> (LogReport, bool) {
        let log = &self.observed.view.log;
        // By position and not by number: after a merge two events may have the same position.
        let mut found = log.events().rev().filter(|event| event.seq <= until && takes(event));
        let mut events: Vec<Event> = found.by_ref().take(limit).cloned().collect();
        let earlier = found.next().is_some();
        events.reverse();
        (LogReport { events, ..page_of(log, log.last_seq(), Some(0)) }, earlier)
    }

    /// The events after a cursor, at most `limit`.
    #[must_use]
    pub fn events_after(&self, cursor: &Cursor, limit: usize) -> EventsAfter {
        let log = &self.observed.view.log;
        let is_there = log.events().any(|event| event.seq == cursor.seq && Some(&event.id) == cursor.id.as_ref());
        // An event with another id at this position: the log was repaired or replaced.
        let reset = cursor.seq != Seq(0) && !is_there;
        let start = if reset { Cursor::default() } else { cursor.clone() };
        let mut newer = log.events().filter(|event| event.seq > start.seq);
        let shown: Vec<Event> = newer.by_ref().take(limit).cloned().collect();
        let more = newer.next().is_some();
        let cursor = match shown.last() {
            Some(event) => Cursor { seq: event.seq, id: Some(event.id.clone()) },
            None => start,
        };
        EventsAfter { events: shown, cursor, reset, more }
    }
}

/// Whether the record of an activity was there at the event `at`; none: now. One without a position was there from the
/// beginning.
fn is_known_at(attempt: &Attempt, at: Option<Seq>) -> bool {
    match (attempt.seq, at) {
        (Some(seq), Some(at)) => seq <= at,
        _ => true,
    }
}

/// A place in the log of a run: an event, by its position and its id, so that a log that was repaired or replaced is
/// noticed. As a text, `SEQ:ID`. The default is before the first event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The position.
    pub seq: Seq,
    /// The id; none before the first event.
    pub id: Option<EventId>,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.id.as_ref().map_or("", |id| id.as_str()))
    }
}

impl FromStr for Cursor {
    type Err = ();
    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let (seq, id) = text.split_once(':').ok_or(())?;
        Ok(Self { seq: Seq(seq.parse().map_err(|_| ())?), id: Some(id.parse().map_err(|_| ())?) })
    }
}

/// Events of a run after a cursor.
#[derive(Debug, Clone, PartialEq)]
pub struct EventsAfter {
    /// The events, as `log` reports them.
    pub events: Vec<Event>,
    /// Where they end.
    pub cursor: Cursor,
    /// Whether the event at the given cursor is no longer in the log. Then these are the events from the beginning.
    pub reset: bool,
    /// Whether there are more.
    pub more: bool,
}
