//! When work happened: the steps and units of a run as lanes over time.
//!
//! A log has points in time, not durations. A lane's attempt begins when the run enters the step, or when a report says
//! that it runs, and ends when the run leaves the step, or when a record or a report says how it went. What is recorded
//! after a failure is another attempt. Stretches in which nothing was logged are folded, because a run may rest for days.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::RunState;
use crate::engine::phases::skip_of;
use crate::model::{
    ActivityRecorded, ActivityStatus, Emitted, Event, EventKind, ReportType, RunStatus, Seq, SessionId, StateName,
    StepReport, StepStatus, Timestamp, Unit,
};

/// A stretch without events that is longer than this is folded: an hour, in milliseconds.
const FOLDED_MS: u64 = 60 * 60 * 1000;
/// The most folds of a timeline: the longest ones.
const FOLDS: usize = 24;

/// A run over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Timeline {
    /// The time of the first event.
    pub from: Timestamp,
    /// The end of the run; for an open run the time of the report.
    pub to: Timestamp,
    /// How long the run was worked on, in milliseconds: without the stretches of more than an hour in which nothing was
    /// logged.
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
    /// In order; empty for a step that was never entered.
    pub spans: Vec<Span>,
}

/// A part of an attempt in which its state did not change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Span {
    /// Which attempt it belongs to, from 1.
    pub attempt: u32,
    /// What the lane was doing.
    pub state: SpanState,
    /// Its beginning.
    pub from: Timestamp,
    /// Its end; none if it goes on.
    pub to: Option<Timestamp>,
    /// How the attempt ended; none while it goes on, and if the run was cancelled.
    pub outcome: Option<StepStatus>,
    /// The position of the event with which it began.
    pub first: Seq,
    /// The position of the event with which it ended, or of the latest event.
    pub last: Seq,
}

/// What a step or unit was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpanState {
    /// Work went on, as far as the log can say.
    Running,
    /// It waited for an answer or for something else.
    Waiting,
    /// It was blocked.
    Blocked,
    /// Work was begun and its session ended, so the outcome was unknown.
    InDoubt,
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

/// A stretch in which nothing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fold {
    /// The time of the event before.
    pub from: Timestamp,
    /// The time of the event after.
    pub to: Timestamp,
}

/// A point of the log.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    at: Timestamp,
    seq: Seq,
}

/// Who works: a step of the workflow, or a unit or sub-agent. A unit is the same unit, whichever agent works on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Worker {
    Step(StateName),
    Unit(Unit),
    Agent(String),
}

/// A lane in the making.
#[derive(Debug, Clone)]
struct Track {
    lane: Lane,
    attempts: u32,
    /// The state of the current attempt; `None` between attempts.
    open: Option<SpanState>,
    /// The status of the latest record of an activity in this attempt.
    latest: Option<ActivityStatus>,
    /// Activities that were begun.
    begun: BTreeSet<String>,
    /// Whether a report says that it runs.
    runs: bool,
    /// Whether its session ended while something was begun.
    in_doubt: bool,
    /// Where the last attempt failed. The run is still there, and the next record belongs to another attempt.
    failed: Option<Point>,
}

/// Follows a log and knows when work happened.
#[derive(Debug, Clone, Default)]
pub struct Timekeeper {
    tracks: Vec<Track>,
    index: HashMap<Worker, usize>,
    /// The step below which work of sub-agents is shown.
    place: Option<StateName>,
    here: Vec<StateName>,
    first: Option<Timestamp>,
    last: Option<Point>,
    gaps: Vec<Fold>,
    sessions: Vec<SessionSpan>,
    is_over: bool,
}

impl Track {
    fn new(lane: Lane) -> Self {
        Self {
            lane,
            attempts: 0,
            open: None,
            latest: None,
            begun: BTreeSet::new(),
            runs: false,
            in_doubt: false,
            failed: None,
        }
    }

    /// Goes on in `state`, in a new attempt if none is open.
    fn turn(&mut self, state: SpanState, point: Point) {
        match self.open {
            Some(before) if before == state => return,
            Some(_) => self.end_span(point),
            None => {
                self.attempts += 1;
                (self.latest, self.failed) = (None, None);
            }
        }
        self.open = Some(state);
        let Point { at: from, seq: first } = point;
        let attempt = self.attempts;
        self.lane.spans.push(Span { attempt, state, from, to: None, outcome: None, first, last: first });
    }

    fn end_span(&mut self, point: Point) {
        if let Some(span) = self.lane.spans.last_mut() {
            (span.to, span.last) = (Some(point.at.max(span.from)), point.seq.max(span.first));
        }
    }

    /// Ends the attempt.
    fn close(&mut self, outcome: Option<StepStatus>, point: Point) {
        if self.open.take().is_none() {
            return;
        }
        self.end_span(point);
        let of_attempt = |span: &&mut Span| span.attempt == self.attempts;
        self.lane.spans.iter_mut().rev().take_while(of_attempt).for_each(|span| span.outcome = outcome);
        self.failed = (outcome == Some(StepStatus::Failed)).then_some(point);
        (self.runs, self.in_doubt) = (false, false);
        self.begun.clear();
    }

    /// Takes a reported status.
    fn report(&mut self, status: StepStatus, point: Point) {
        self.in_doubt = false;
        self.runs = status == StepStatus::Running;
        match status {
            StepStatus::NotStarted => {}
            StepStatus::Running => self.turn(SpanState::Running, point),
            StepStatus::Waiting => self.turn(SpanState::Waiting, point),
            StepStatus::Completed | StepStatus::Failed | StepStatus::Skipped => {
                if self.open.is_none() && self.lane.spans.is_empty() {
                    self.turn(SpanState::Running, point);
                }
                self.close(Some(status), point);
            }
        }
    }

    /// Takes a record of an activity in this step.
    fn record(&mut self, record: &ActivityRecorded, point: Point) {
        if let Some(failed) = self.failed.filter(|_| self.open.is_none()) {
            self.turn(SpanState::Running, failed);
        }
        let (id, status) = (record.id().to_string(), record.activity.status());
        self.in_doubt = false;
        self.latest = Some(status);
        if status == ActivityStatus::Running {
            self.begun.insert(id);
        } else {
            self.begun.remove(&id);
        }
        if status == ActivityStatus::Failed {
            self.close(Some(StepStatus::Failed), point);
        }
    }

    fn is_begun(&self) -> bool {
        self.open.is_some() && (self.runs || !self.begun.is_empty())
    }

    /// What the step is doing if the run is in it; `None` if its work is over.
    fn state_in(&self, state: &RunState) -> Option<SpanState> {
        let run = &state.document().state;
        let step = &self.lane.step;
        let reported = run.steps.get(step);
        if run.status == RunStatus::Blocked {
            Some(SpanState::Blocked)
        } else if reported == Some(StepStatus::Waiting) || run.questions.iter().any(|asks| asks.is_of(step, None)) {
            Some(SpanState::Waiting)
        } else if self.failed.is_some() || reported.is_some_and(|it| it.is_done() || it == StepStatus::Failed) {
            None
        } else if self.latest == Some(ActivityStatus::Blocked) {
            Some(SpanState::Blocked)
        } else if self.in_doubt {
            Some(SpanState::InDoubt)
        } else {
            Some(SpanState::Running)
        }
    }
}

impl Timekeeper {
    /// Follows a whole log.
    #[must_use]
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut keeper = Self::default();
        let mut state: Option<RunState> = None;
        for event in events {
            match (&mut state, RunState::begin(event)) {
                (Some(state), None) => state.apply(event),
                (slot, Some(begun)) => *slot = Some(begun),
                (None, None) => continue,
            }
            if let Some(state) = &state {
                keeper.take(event, state);
            }
        }
        keeper
    }

    /// Takes the next event; `state` is the state after it.
    pub fn take(&mut self, event: &Event, state: &RunState) {
        // Clocks may go backwards.
        let at = self.last.map_or(event.at, |last| last.at.max(event.at));
        let before = self.last.unwrap_or(Point { at, seq: event.seq });
        let point = Point { at, seq: event.seq };
        self.first.get_or_insert(at);
        if before.at.milliseconds_until(at) > FOLDED_MS {
            self.gaps.push(Fold { from: before.at, to: at });
        }
        match &event.kind {
            EventKind::Emitted(emitted) => self.emitted(emitted, before, point),
            EventKind::ActivityRecorded(record) => self.recorded(record, state, before, point),
            EventKind::SessionEnded(_) => self.doubt(),
            EventKind::RunClaimed(claim) if claim.from.is_some() && claim.from != claim.session => self.doubt(),
            _ => {}
        }
        self.settle(event, state, point);
        self.follow_session(state, at);
        self.last = Some(point);
    }

    /// The timeline at `now`. `in_doubt` says that begun work has no living session. Steps in `order` come first, whether
    /// or not the run was there.
    #[must_use]
    pub fn timeline(&self, order: &[StateName], now: Timestamp, in_doubt: bool) -> Timeline {
        let last = self.last.unwrap_or(Point { at: now, seq: Seq(0) });
        let from = self.first.unwrap_or(last.at);
        let to = if self.is_over { last.at } else { last.at.max(now) };
        let rest = Fold { from: last.at, to };
        let resting = (last.at.milliseconds_until(to) > FOLDED_MS).then_some(rest);
        let mut folds: Vec<Fold> = self.gaps.iter().copied().chain(resting).collect();
        let idle: u64 = folds.iter().map(|fold| fold.from.milliseconds_until(fold.to)).sum();
        folds.sort_by_key(|fold| std::cmp::Reverse(fold.from.milliseconds_until(fold.to)));
        folds.truncate(FOLDS);
        folds.sort_by_key(|fold| fold.from);
        let worked_ms = from.milliseconds_until(to).saturating_sub(idle);
        Timeline {
            from,
            to,
            worked_ms,
            lanes: self.lanes(order, last, in_doubt),
            sessions: self.sessions.clone(),
            folds,
        }
    }

    fn lanes(&self, order: &[StateName], last: Point, in_doubt: bool) -> Vec<Lane> {
        let own = |track: &&Track| track.lane.below.is_none();
        let visited = self.tracks.iter().filter(own).map(|track| &track.lane.step);
        let mut steps: Vec<&StateName> = order.iter().collect();
        steps.extend(visited.filter(|step| !order.contains(step)));
        let mut lanes = Vec::new();
        for step in steps {
            let track = self.index.get(&Worker::Step(step.clone())).map(|&at| &self.tracks[at]);
            lanes.push(track.map_or_else(|| Lane::of_step(step), |track| track.lane_at(last, in_doubt)));
            let below = self.tracks.iter().filter(|track| track.lane.below.as_ref() == Some(step));
            lanes.extend(below.map(|track| track.lane_at(last, in_doubt)));
        }
        lanes
    }

    fn track(&mut self, worker: Worker, lane: impl FnOnce() -> Lane) -> &mut Track {
        let at = *self.index.entry(worker).or_insert_with(|| {
            self.tracks.push(Track::new(lane()));
            self.tracks.len() - 1
        });
        &mut self.tracks[at]
    }

    fn step(&mut self, step: &StateName) -> &mut Track {
        self.track(Worker::Step(step.clone()), || Lane::of_step(step))
    }

    fn emitted(&mut self, emitted: &Emitted, before: Point, point: Point) {
        for report in &emitted.reports {
            let point = Point { at: report.at.clamp(before.at, point.at), ..point };
            if let Some((step, status)) = report.own_step() {
                if !report.auto {
                    self.place = Some(step.clone());
                }
                self.step(step).report(status, point);
            } else {
                self.reported_by_worker(report, point);
            }
        }
    }

    /// Takes a report on a unit or a sub-agent.
    fn reported_by_worker(&mut self, report: &StepReport, point: Point) {
        let Some(step) = &report.step else { return };
        let worker = match (&report.unit, step.agent()) {
            (Some(unit), _) => Worker::Unit(unit.clone()),
            (None, Some(agent)) => Worker::Agent(agent.to_owned()),
            (None, None) => return,
        };
        let status = match report.kind() {
            Some(ReportType::StatusChange) => report.status(),
            Some(ReportType::WaitingForUser) => Some(StepStatus::Waiting),
            Some(ReportType::UserAnswered) => Some(StepStatus::Running),
            _ => None,
        };
        let Some(status) = status else { return };
        let below = if step.agent().is_some() { self.place.clone().or(self.here.first().cloned()) } else { None };
        let below = below.unwrap_or_else(|| step.clone());
        let lane = || Lane { step: step.clone(), unit: report.unit.clone(), below: None, spans: Vec::new() };
        let track = self.track(worker, lane);
        (track.lane.step, track.lane.below) = (step.clone(), Some(below));
        track.report(status, point);
    }

    /// Takes a record. One that enters its phase with an outcome tells of work since the event before.
    fn recorded(&mut self, record: &ActivityRecorded, state: &RunState, before: Point, point: Point) {
        let enters = !self.here.contains(&record.phase) && !record.late;
        if enters && record.activity.status().is_settled() {
            let after: Vec<_> = state.document().state.positions().cloned().collect();
            let left: Vec<_> = self.here.iter().filter(|step| !after.contains(step)).cloned().collect();
            let skipped = record.skipped.as_ref().map_or(&[][..], |skip| &skip.phases);
            for step in left {
                let is_skipped = skipped.contains(&step);
                let track = self.step(&step);
                track.close(Some(if is_skipped { StepStatus::Skipped } else { outcome(track.latest) }), before);
                track.failed = None;
            }
            self.step(&record.phase).turn(SpanState::Running, before);
        }
        let track = self.step(&record.phase);
        if enters {
            track.turn(SpanState::Running, point);
        }
        track.record(record, point);
    }

    /// The session ended, so the outcome of begun work may be unknown.
    fn doubt(&mut self) {
        self.tracks.iter_mut().filter(|track| track.is_begun()).for_each(|track| track.in_doubt = true);
    }

    /// Brings the lanes to where the run is after `event`.
    fn settle(&mut self, event: &Event, state: &RunState, point: Point) {
        let run = &state.document().state;
        self.is_over = run.status.is_terminal();
        let here: Vec<StateName> = if self.is_over { Vec::new() } else { run.positions().cloned().collect() };
        let skipped = skip_of(&event.kind).map_or(&[][..], |skip| &skip.phases);
        for track in &mut self.tracks {
            let is_here = here.contains(&track.lane.step);
            let is_step = track.lane.below.is_none();
            if self.is_over || is_step && !is_here {
                let ended = match &event.kind {
                    EventKind::RunFailed(_) => Some(StepStatus::Failed),
                    EventKind::RunCancelled(_) => None,
                    _ if skipped.contains(&track.lane.step) => Some(StepStatus::Skipped),
                    _ => Some(outcome(track.latest)),
                };
                track.close(ended, point);
                track.failed = None;
            } else if !is_step && track.in_doubt && track.open == Some(SpanState::Running) {
                track.turn(SpanState::InDoubt, point);
            }
        }
        for step in &here {
            let entered = !self.here.contains(step);
            let track = self.step(step);
            if entered {
                track.failed = None;
            }
            match track.state_in(state) {
                Some(state) => track.turn(state, point),
                None => {
                    let reported = run.steps.get(step).filter(|status| !status.is_open());
                    track.close(reported.or(Some(outcome(track.latest))), point);
                }
            }
        }
        self.here = here;
    }

    fn follow_session(&mut self, state: &RunState, at: Timestamp) {
        let holds = state.document().state.session.as_ref();
        let open = self.sessions.last_mut().filter(|span| span.to.is_none());
        let holder = open.as_ref().map(|span| &span.session);
        if holder == holds {
            return;
        }
        if let Some(open) = open {
            open.to = Some(at);
        }
        self.sessions.extend(holds.map(|session| SessionSpan { session: session.clone(), from: at, to: None }));
    }
}

/// How an attempt ended whose latest record has this status.
fn outcome(latest: Option<ActivityStatus>) -> StepStatus {
    match latest {
        Some(ActivityStatus::Failed) => StepStatus::Failed,
        Some(ActivityStatus::Skipped) => StepStatus::Skipped,
        _ => StepStatus::Completed,
    }
}

impl Timeline {
    /// The lane of a step of the workflow.
    #[must_use]
    pub fn lane_of(&self, step: &StateName) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.below.is_none() && lane.step == *step)
    }
}

impl Lane {
    fn of_step(step: &StateName) -> Self {
        Self { step: step.clone(), unit: None, below: None, spans: Vec::new() }
    }

    /// The name of the unit, otherwise that of the step.
    #[must_use]
    pub fn name(&self) -> &str {
        self.unit.as_ref().map_or(self.step.as_str(), |unit| unit.as_str())
    }

    /// When the latest attempt began; none if the step was never entered.
    #[must_use]
    pub fn latest_began(&self) -> Option<Timestamp> {
        let latest = self.spans.last()?.attempt;
        self.spans.iter().find(|span| span.attempt == latest).map(|span| span.from)
    }
}

impl SpanState {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::InDoubt => "in_doubt",
        }
    }
}

impl Track {
    /// The lane as of now; the span that goes on reaches the event `last`.
    fn lane_at(&self, last: Point, in_doubt: bool) -> Lane {
        let mut lane = self.lane.clone();
        let Some(span) = lane.spans.last_mut().filter(|_| self.open.is_some()) else { return lane };
        span.last = last.seq.max(span.first);
        if in_doubt && self.is_begun() && span.state == SpanState::Running {
            let doubt = Span { state: SpanState::InDoubt, from: last.at, first: last.seq, ..span.clone() };
            if span.from < last.at {
                span.to = Some(last.at);
                lane.spans.push(doubt);
            } else {
                *span = doubt;
            }
        }
        lane
    }
}

#[cfg(test)]
mod tests;
