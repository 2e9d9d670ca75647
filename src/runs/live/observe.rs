//! A run with everything that a page about it shows, now or after an earlier event; and a run that is observed, of which
//! only new events are read.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::codec::{LogEnd, digest};
use crate::engine::{Attempt, Drift, History, Lives, RunUsage, Timekeeper, Timeline, is_free, pinned};
use crate::machine::{Difference, Machine};
use crate::model::{Event, EventKind, LastSeen, Question, Seq, SessionId, StateName, Timestamp};
use crate::runs::context::OpenedProject;
use crate::runs::error::{Error, Result};
use crate::runs::look::card::{Assessment, Card, HolderLife};
use crate::runs::look::evidence::EvidenceItem;
use crate::runs::look::life::noted_lives;
use crate::runs::look::log::LogReport;
use crate::runs::look::show::{
    ShownApproval, ShownArtifact, ShownSkip, ShownStep, approvals, artifacts, features, skipped, steps,
};
use crate::runs::open::view::{View, for_reading};
use crate::store::{LogScan, StoredRun};

/// Which run to look at, and as of when.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// The state after the event at this position; otherwise the current state.
    pub at: Option<Seq>,
    /// The session of the caller.
    pub session: Option<SessionId>,
}

/// A run with everything that a page about it shows, without its activities and events, which may be many.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunReport {
    /// Where it is, what it needs, and what to do next.
    #[serde(flatten)]
    pub card: Card,
    /// The event after which the run is shown; none for the current state. The verdict is then that of that time, as far
    /// as the log knows.
    pub at: Option<Seq>,
    /// The position of the latest event in the log.
    pub last: Seq,
    /// How far who sees this has seen the run, for `seen` of a command about it.
    pub seen: LastSeen,
    /// The time of the event that is shown last.
    pub shown_at: Timestamp,
    /// The git branch that it works on.
    pub branch: Option<String>,
    /// The phases of its workflow in order, then other steps that were reported.
    pub steps: Vec<ShownStep>,
    /// Since when the run is in its current phase.
    pub phase_since: Option<Timestamp>,
    /// The open questions.
    pub questions: Vec<ShownQuestion>,
    /// How many records of activities there are.
    pub activities: usize,
    /// What its work used, as it was reported.
    pub usage: RunUsage,
    /// The registered artifacts, the latest for each place.
    pub artifacts: Vec<ShownArtifact>,
    /// Phases that were left although their work was not done.
    pub skipped: Vec<ShownSkip>,
    /// The decisions of people at gates, oldest first.
    pub approvals: Vec<ShownApproval>,
    /// The features that its artifacts belong to.
    pub features: BTreeSet<String>,
    /// How today's definition of the workflow differs from the one that the run follows; none if it does not.
    pub drift: Option<DriftReport>,
    /// When work happened.
    pub timeline: Timeline,
    /// Notes for people.
    pub notes: Vec<String>,
}

/// An open question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownQuestion {
    /// Who asks what.
    #[serde(flatten)]
    pub question: Question,
    /// The document in which it has to be answered, as a path in the project; none if it is answered directly.
    pub document: Option<String>,
    /// Its number in that document.
    pub number: Option<u32>,
}

impl ShownQuestion {
    fn of(history: &History, question: &Question) -> Self {
        let document = history.document_of(question).map(str::to_owned);
        Self { question: question.clone(), document, number: history.number_of(question) }
    }
}

/// How today's definition of a workflow differs from the one that a run follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DriftReport {
    /// Whether it differs where the run is.
    pub at_position: bool,
    /// The differences.
    pub differences: Vec<ShownDifference>,
}

/// A difference between two definitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownDifference {
    /// What differs.
    #[serde(flatten)]
    pub difference: Difference,
    /// The same for people.
    pub message: String,
}

impl From<Difference> for ShownDifference {
    fn from(difference: Difference) -> Self {
        Self { message: difference.to_string(), difference }
    }
}

impl RunReport {
    /// The steps in which the run is.
    pub(crate) fn here(&self) -> Vec<StateName> {
        self.steps.iter().filter(|step| step.current).map(|step| step.step.clone()).collect()
    }

    /// How often the run entered a step.
    pub(crate) fn visits(&self, step: &StateName) -> u32 {
        self.timeline.lane_of(step).map_or(0, |lane| u32::try_from(lane.stays.len()).unwrap_or(u32::MAX))
    }
}

impl DriftReport {
    fn of(drift: Drift) -> Option<Self> {
        let (at_position, differences) = match drift {
            Drift::None => return None,
            Drift::Elsewhere(differences) => (false, differences),
            Drift::AtPosition(differences) => (true, differences),
        };
        Some(Self { at_position, differences: differences.into_iter().map(ShownDifference::from).collect() })
    }
}

/// A run that is observed: what was read of it is kept, and only new events are read.
#[derive(Debug)]
pub struct ObservedRun {
    pub(super) run: Box<dyn StoredRun>,
    pub(super) view: View,
    pub(super) timekeeper: Timekeeper,
    /// The stamp of its files before they were read; `None` if they have to be read each time.
    stamp: Option<u64>,
    /// Whether the last refresh read only new events, so that a change of the log before them was not noticed.
    pub(super) is_read_in_part: bool,
}

impl ObservedRun {
    /// Reads a run. `stamp` is the stamp of its files, taken before this call.
    ///
    /// # Errors
    /// Those of reading a run.
    pub(super) fn open(project: &OpenedProject, run: Box<dyn StoredRun>, stamp: Option<u64>) -> Result<Self> {
        let view = for_reading(project, &*run)?;
        let timekeeper = Timekeeper::of(view.log.events());
        Ok(Self { run, view, timekeeper, stamp, is_read_in_part: false })
    }

    /// Reads what is new since the files had another stamp, from `run`, which was opened just now: another directory may
    /// have taken the place of the one before. Reads the whole run again if its log or its `run.yaml` was changed by
    /// another hand.
    ///
    /// # Errors
    /// Those of reading a run; after that it must not be used.
    pub(super) fn refresh(
        &mut self,
        project: &OpenedProject,
        run: Box<dyn StoredRun>,
        stamp: Option<u64>,
    ) -> Result<()> {
        self.run = run;
        // In the same order as `for_reading`: a writer at work must not look like one that was ahead of its log.
        let noted = self.run.noted();
        let text = self.run.text()?;
        let end = self.run.orderly_end(self.view.log.last_seq())?;
        if let (Some(text), Some(end)) = (text, end)
            && noted <= end.last
            && self.is_continued_by(&text, &end)
        {
            self.view.noted = noted;
            self.view.text = Arc::new(text);
            for event in end.newer {
                self.take(event);
            }
            self.is_read_in_part = true;
        } else {
            self.read_again(project)?;
        }
        self.stamp = stamp;
        Ok(())
    }

    /// Whether the files of the run have had this stamp since they were read.
    pub(super) fn is_of(&self, stamp: Option<u64>) -> bool {
        stamp.is_some() && self.stamp == stamp
    }

    fn read_again(&mut self, project: &OpenedProject) -> Result<()> {
        // The largest part of a long run is its log, which must not be there twice.
        self.view.log = LogScan::default();
        self.view = for_reading(project, &*self.run)?;
        self.timekeeper = Timekeeper::of(self.view.log.events());
        self.is_read_in_part = false;
        Ok(())
    }

    /// Whether the log has what was read of it, followed by plain events, and `run.yaml` is as flow wrote it.
    fn is_continued_by(&self, text: &str, end: &LogEnd) -> bool {
        let known = self.view.log.events().next_back();
        if !self.view.faults.is_empty() || end.at.as_ref() != known {
            return false;
        }
        // The stamp is another one. Where nothing is new, something that was read has changed.
        if end.newer.is_empty() && *text == **self.view.text {
            return false;
        }
        let written = digest(text.as_bytes());
        let mut is_written = end.at.as_ref().is_some_and(|event| wrote(event, &written));
        let mut last = known.map_or(Seq(0), |event| event.seq);
        for event in &end.newer {
            if event.seq != last.next() || !is_plain(event) {
                return false;
            }
            last = event.seq;
            // Any of these events: a writer that was killed leaves an older `run.yaml`.
            is_written |= wrote(event, &written);
        }
        is_written
    }

    fn take(&mut self, event: Event) {
        self.view.history.take(&event);
        self.timekeeper.take(&event, self.view.history.state());
        self.view.log.push(event);
    }

    /// The events up to `at`.
    pub(super) fn events_until(&self, at: Seq) -> impl DoubleEndedIterator<Item = &Event> + Clone {
        self.view.log.events().filter(move |event| event.seq <= at)
    }

    /// The run after the event `at`, and the time of that event.
    pub(super) fn view_at(&self, at: Seq) -> Result<(View, Timestamp)> {
        let last = self.view.log.last_seq().0;
        let missing = || Error::no_such_event(self.run.id(), at.0, last);
        if at.0 > last {
            return Err(missing());
        }
        let latest = self.events_until(at).next_back();
        let (Some(latest), Some(history)) = (latest, History::fold(self.events_until(at))) else {
            return Err(missing());
        };
        let mut notes = Vec::new();
        let mut machine = pinned(self.events_until(at), &mut notes);
        // A run that began without a state machine may have got one later than `at`.
        if machine.is_none() && !self.view.log.events().any(is_free) {
            machine.clone_from(&self.view.machine);
        }
        let view = View {
            history,
            text: Arc::default(),
            machine,
            log: LogScan::default(),
            notes,
            unlogged_text: None,
            has_unlogged_status: false,
            faults: Vec::new(),
            noted: Seq(0),
            follows_from_files: false,
        };
        Ok((view, latest.at))
    }

    /// The report about `view`, which is this run now or at an earlier time.
    pub(super) fn report_of(
        &self,
        view: &View,
        assessment: Assessment,
        timekeeper: &Timekeeper,
        at: Option<Seq>,
        now: Timestamp,
    ) -> RunReport {
        let Assessment { card, notes, drift } = assessment;
        let history = &view.history;
        let run = history.state().document();
        let steps = steps(view);
        let order: Vec<StateName> = steps.iter().map(|step| step.step.clone()).collect();
        // Of earlier times no holder is known to be alive.
        let holder = if card.holder == Some(HolderLife::Alive) { card.run.session.as_ref() } else { None };
        let lives = if at.is_none() { noted_lives(history) } else { Lives::default() };
        let timeline = timekeeper.timeline(&order, now, &|work| {
            holder.is_some() && work.session == holder || lives.of(self.began_by(work.begun)) == Some(true)
        });
        RunReport {
            at,
            last: self.view.log.last_seq(),
            seen: self.view.last_seen(),
            shown_at: run.state.updated_at.unwrap_or(run.created_at),
            branch: run.context.get("branch").and_then(|branch| branch.as_str()).map(str::to_owned),
            phase_since: run.state.current_phase.as_ref().and_then(|phase| timeline.lane_of(phase)?.entered()),
            questions: run.state.questions.iter().map(|question| ShownQuestion::of(history, question)).collect(),
            activities: history.attempts().len(),
            usage: history.usage(),
            artifacts: artifacts(view),
            skipped: skipped(history),
            approvals: approvals(history),
            features: features(history),
            drift: DriftReport::of(drift),
            notes,
            card,
            steps,
            timeline,
        }
    }

    /// The processes that were noted with the event at which work began.
    fn began_by(&self, begun: Seq) -> &[String] {
        let Some(event) = self.view.log.events().find(|event| event.seq == begun) else { return &[] };
        match &event.kind {
            EventKind::ActivityRecorded(record) => &record.by,
            EventKind::Emitted(emitted) => &emitted.by,
            _ => &[],
        }
    }
}

/// Whether `run.yaml` with this digest was written with the event.
fn wrote(event: &Event, text: &str) -> bool {
    event.run.as_ref().is_some_and(|run| run.0 == text)
}

/// Whether an event changes a run only in ways that follow from the event alone.
fn is_plain(event: &Event) -> bool {
    !event.kind.changes_the_past() && !matches!(event.kind, EventKind::WorkflowAdopted(_))
}

/// A run with all that was recorded of it.
#[derive(Debug)]
pub struct WholeRun {
    /// The run as its page shows it.
    pub run: RunReport,
    /// All records of activities, in the order of their numbers.
    pub activities: Vec<Attempt>,
    /// What it refers to as evidence and artifacts.
    pub evidence: Vec<EvidenceItem>,
    /// All events.
    pub log: LogReport,
    /// The workflow that it follows; none if it has no state machine.
    pub machine: Option<Machine>,
    /// The time of the report.
    pub now: Timestamp,
}
