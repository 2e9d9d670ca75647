//! A run over time, as it is shown.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::timeline::quiet::{Fold, length, union};
use crate::model::{Seq, SessionId, StateName, StepStatus, Timestamp, Unit, named};

/// A run over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Timeline {
    /// The time of the first event, or of the work that a record says began earlier.
    pub from: Timestamp,
    /// The end of the run; for an open run the time of the report.
    pub to: Timestamp,
    /// How long recorded work went on, in milliseconds. Work at the same time counts once; being in a step, waiting and
    /// records without a beginning do not count.
    pub worked_ms: u64,
    /// The steps in the order of the workflow, each followed by its units.
    pub lanes: Vec<Lane>,
    /// The sessions that held the run.
    pub sessions: Vec<SessionSpan>,
    /// Stretches in which nothing happened, to be drawn short.
    pub folds: Vec<Fold>,
}

/// A step, a unit or a sub-agent over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Lane {
    /// The step; `agent:step` for a sub-agent.
    pub step: StateName,
    /// The unit.
    pub unit: Option<Unit>,
    /// The step of the workflow below which to show a unit or a sub-agent.
    pub below: Option<StateName>,
    /// When the run was in the step, whether or not anyone worked; in order. None for a unit or a sub-agent.
    pub stays: Vec<Stay>,
    /// When it waited; in order.
    pub waits: Vec<Wait>,
    /// Recorded work, in the order of its beginnings; empty where none was recorded. Spans of different activities may
    /// be at the same time.
    pub spans: Vec<Span>,
}

/// A stretch in which the run was in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stay {
    /// When the run entered the step.
    pub from: Timestamp,
    /// When it left the step or ended; none if it is there.
    pub to: Option<Timestamp>,
}

/// A stretch in which a step or unit waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Wait {
    /// For what.
    pub state: WaitState,
    /// Since when.
    pub from: Timestamp,
    /// Until when; none if it still waits.
    pub to: Option<Timestamp>,
    /// The position of the event with which it began.
    pub first: Seq,
    /// The position of the event with which it ended, or of the latest event.
    pub last: Seq,
}

named! {
    /// What a step or unit waited for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    pub enum WaitState {
        /// For an answer or for something else.
        Waiting = "waiting",
        /// The run or an activity was blocked.
        Blocked = "blocked",
    }
}

/// Recorded work, without interruption. Its beginning and end are the same where only one event is about it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Span {
    /// The activity that was recorded; none for work that was reported of the step or unit itself.
    pub activity: Option<String>,
    /// Which recorded attempt at the activity, step or unit it belongs to, from 1.
    pub attempt: u32,
    /// What is known of it.
    pub state: SpanState,
    /// Its beginning.
    pub from: Timestamp,
    /// Its end; none if it goes on now.
    pub to: Option<Timestamp>,
    /// How the attempt ended; none if that is not recorded.
    pub outcome: Option<StepStatus>,
    /// The position of the event with which it began.
    pub first: Seq,
    /// The position of the event with which it ended, or of the last one that shows it.
    pub last: Seq,
}

named! {
    /// What is known of work.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    pub enum SpanState {
        /// It went on from the beginning to the end.
        Running = "running",
        /// It was begun, and neither its end nor its outcome is known. The end that is given is that of the last event
        /// which shows it.
        InDoubt = "in_doubt",
    }
}

/// A session that held the run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionSpan {
    /// The session.
    pub session: SessionId,
    /// Since when.
    pub from: Timestamp,
    /// Until when; none if it still holds the run.
    pub to: Option<Timestamp>,
}

/// Work that was begun and whose outcome is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenWork<'t> {
    /// The step; `agent:step` for a sub-agent.
    pub step: &'t StateName,
    /// The unit.
    pub unit: Option<&'t Unit>,
    /// The activity; none for work that was reported of the step or unit itself.
    pub activity: Option<&'t str>,
    /// The position of the event with which it began.
    pub begun: Seq,
    /// The session that began it, or that held the run then.
    pub session: Option<&'t SessionId>,
}

impl Timeline {
    /// The lane of a step of the workflow.
    #[must_use]
    pub fn lane_of(&self, step: &StateName) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.below.is_none() && lane.step == *step)
    }
}

impl Lane {
    /// The empty lane of a step.
    pub(super) fn of_step(step: &StateName) -> Self {
        let (stays, waits, spans) = (Vec::new(), Vec::new(), Vec::new());
        Self { step: step.clone(), unit: None, below: None, stays, waits, spans }
    }

    /// The name of the unit, otherwise that of the step.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.unit {
            Some(unit) => unit.as_str(),
            None => self.step.as_str(),
        }
    }

    /// What a span of this lane is work on: the activity, otherwise the unit or the step.
    #[must_use]
    pub fn work_of<'l>(&'l self, span: &'l Span) -> &'l str {
        span.activity.as_deref().unwrap_or_else(|| self.name())
    }

    /// Whether the run was never here, and nothing is recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stays.is_empty() && self.waits.is_empty() && self.spans.is_empty()
    }

    /// When the run entered the step the last time.
    #[must_use]
    pub fn entered(&self) -> Option<Timestamp> {
        Some(self.stays.last()?.from)
    }

    /// How long the work in it went on, in milliseconds. Work at the same time counts once.
    #[must_use]
    pub fn worked_ms(&self, now: Timestamp) -> u64 {
        length(&union(self.spans.iter().map(|span| span.stretch(now))))
    }

    /// How the work in it stands: the latest span of all, unless the latest attempt at something failed.
    #[must_use]
    pub fn decisive(&self) -> Option<&Span> {
        let mut latest: BTreeMap<Option<&str>, &Span> = BTreeMap::new();
        for span in &self.spans {
            latest.insert(span.activity.as_deref(), span);
        }
        if let Some(goes_on) = self.spans.iter().rfind(|span| span.to.is_none()) {
            return Some(goes_on);
        }
        let failed = latest.into_values().filter(|span| span.outcome == Some(StepStatus::Failed));
        failed.max_by_key(|span| span.last).or(self.spans.iter().max_by_key(|span| span.last))
    }
}

impl Wait {
    /// From when to when it is drawn.
    #[must_use]
    pub fn stretch(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        (self.from, self.to.unwrap_or(now))
    }
}

impl Span {
    /// From when to when it is drawn.
    #[must_use]
    pub fn stretch(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        (self.from, self.to.unwrap_or(now).max(self.from))
    }

    /// Whether only one event is about it, so that it has no length.
    #[must_use]
    pub fn is_point(&self) -> bool {
        self.to == Some(self.from)
    }
}
