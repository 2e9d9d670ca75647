//! Follows a log and knows when work happened.

use std::collections::HashMap;

use crate::engine::RunState;
use crate::engine::timeline::quiet::{folds, is_long, length, union};
use crate::engine::timeline::track::{Point, Track};
use crate::engine::timeline::{Fold, Lane, OpenWork, SessionSpan, Timeline, WaitState};
use crate::model::{
    ActivityRecorded, ActivityStatus, Emitted, Event, EventKind, ReportType, RunStatus, Seq, SessionId, StateName,
    StepReport, StepStatus, Timestamp, Unit,
};

/// Who works: a step of the workflow, or a unit or sub-agent. A unit is the same unit, whichever agent works on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Worker {
    Step(StateName),
    Unit(Unit),
    Agent(String),
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
        let before = self.last.unwrap_or(Point { at: event.at, seq: event.seq });
        // Clocks may go backwards.
        let at = before.at.max(event.at);
        let point = Point { at, seq: event.seq };
        self.first.get_or_insert(at);
        if is_long(before.at, at) {
            self.gaps.push(Fold { from: before.at, to: at });
        }
        let holder = state.document().state.session.as_ref();
        match &event.kind {
            EventKind::Emitted(emitted) => self.emitted(emitted, emitted.session.as_ref().or(holder), before, point),
            EventKind::ActivityRecorded(record) => {
                self.recorded(record, record.session.as_ref().or(holder), point);
            }
            EventKind::SessionEnded(ended) => self.doubt(ended.session.as_ref(), point),
            EventKind::RunClaimed(claim) if claim.from.is_some() && claim.from != claim.session => {
                self.doubt(claim.from.as_ref(), point);
            }
            _ => {}
        }
        self.settle(event, state, point);
        self.follow_session(state, at);
        self.last = Some(point);
    }

    /// The timeline at `now`. `is_alive` says whether the worker that began this work is known to be alive, so that it goes
    /// on. Steps in `order` come first, whether or not the run was there.
    #[must_use]
    pub fn timeline(&self, order: &[StateName], now: Timestamp, is_alive: &dyn Fn(&OpenWork<'_>) -> bool) -> Timeline {
        let last = self.last.unwrap_or(Point { at: now, seq: Seq(0) });
        let to = if self.is_over { last.at } else { last.at.max(now) };
        let lanes = self.lanes(order, last, is_alive);
        let worked = union(lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.stretch(to)));
        let mut from = self.first.unwrap_or(last.at);
        // A record may say that its work began before the run's first event.
        if let Some((begun, _)) = worked.first() {
            from = from.min(*begun);
        }
        let rest = Fold { from: last.at, to };
        let folds = folds(self.gaps.iter().copied().chain([rest]), &worked);
        Timeline { from, to, worked_ms: length(&worked), lanes, sessions: self.sessions.clone(), folds }
    }

    fn lanes(&self, order: &[StateName], last: Point, is_alive: &dyn Fn(&OpenWork<'_>) -> bool) -> Vec<Lane> {
        let mut steps: Vec<&StateName> = order.iter().collect();
        for Track { lane, .. } in &self.tracks {
            if lane.below.is_none() && !order.contains(&lane.step) {
                steps.push(&lane.step);
            }
        }
        let mut lanes = Vec::new();
        for step in steps {
            lanes.push(match self.index.get(&Worker::Step(step.clone())) {
                Some(&at) => self.tracks[at].lane_at(last, is_alive),
                None => Lane::of_step(step),
            });
            for track in &self.tracks {
                if track.lane.below.as_ref() == Some(step) {
                    lanes.push(track.lane_at(last, is_alive));
                }
            }
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

    fn emitted(&mut self, emitted: &Emitted, by: Option<&SessionId>, before: Point, point: Point) {
        // The records of these reports tell the same again.
        for report in &emitted.reports {
            let point = Point { at: report.at.clamp(before.at, point.at), ..point };
            match &report.step {
                Some(step) if report.unit.is_none() && step.agent().is_none() => self.reported(step, report, by, point),
                _ => self.reported_by_worker(report, by, point),
            }
        }
    }

    /// Takes a report on a step of the workflow itself.
    fn reported(&mut self, step: &StateName, report: &StepReport, by: Option<&SessionId>, point: Point) {
        let status = report.status();
        if !is_of_work(report) {
            self.see(&Worker::Step(step.clone()), point);
            return;
        }
        if status.is_some() && !report.auto {
            self.place = Some(step.clone());
            // A batch of reports may go through several steps.
            if report.from.is_some() || self.here.is_empty() {
                self.step(step).arrive(point.at);
            }
        }
        self.step(step).take(report, status, by, point);
    }

    /// Takes a report on a unit or a sub-agent.
    fn reported_by_worker(&mut self, report: &StepReport, by: Option<&SessionId>, point: Point) {
        let Some(step) = &report.step else { return };
        let worker = match (&report.unit, step.agent()) {
            (Some(unit), _) => Worker::Unit(unit.clone()),
            (None, Some(agent)) => Worker::Agent(agent.to_owned()),
            (None, None) => return,
        };
        let status = report.status();
        if !is_of_work(report) {
            self.see(&worker, point);
            return;
        }
        // A sub-agent works for the step that was reported last.
        let place = if step.agent().is_some() { self.place.as_ref().or(self.here.first()) } else { None };
        let below = place.unwrap_or(step).clone();
        let track = self.track(worker, || Lane { unit: report.unit.clone(), ..Lane::of_step(step) });
        (track.lane.step, track.lane.below) = (step.clone(), Some(below));
        track.take(report, status, by, point);
        // Where a step waits follows from the state of the run.
        let waits = status == Some(StepStatus::Waiting) || report.kind() == Some(ReportType::WaitingForUser);
        track.wait(waits.then_some(WaitState::Waiting), point);
    }

    /// Takes a report that changes nothing.
    fn see(&mut self, worker: &Worker, point: Point) {
        if let Some(&known) = self.index.get(worker) {
            self.tracks[known].see(point);
        }
    }

    /// Takes a record.
    fn recorded(&mut self, record: &ActivityRecorded, by: Option<&SessionId>, point: Point) {
        let enters = !self.here.contains(&record.phase) && !record.late;
        let began = record.activity.started_at().filter(|began| *began <= point.at);
        let (id, status) = (record.id().to_string(), record.activity.status());
        let track = self.step(&record.phase);
        if enters {
            track.arrive(point.at);
        }
        track.note_blocked(&id, status == ActivityStatus::Blocked);
        let subject = Some(id);
        match status {
            ActivityStatus::Pending => {}
            ActivityStatus::Running => track.begin(&subject, began, by, point),
            ActivityStatus::Blocked => track.settle(&subject, None, began, point),
            ActivityStatus::Passed => track.settle(&subject, Some(StepStatus::Completed), began, point),
            ActivityStatus::Failed => track.settle(&subject, Some(StepStatus::Failed), began, point),
            ActivityStatus::Skipped => track.settle(&subject, Some(StepStatus::Skipped), began, point),
        }
    }

    /// The session ended, so the outcome of what it had begun may be unknown.
    fn doubt(&mut self, session: Option<&SessionId>, point: Point) {
        for track in &mut self.tracks {
            track.doubt(session, point);
        }
    }

    /// Brings the lanes to where the run is after `event`.
    fn settle(&mut self, event: &Event, state: &RunState, point: Point) {
        let run = &state.document().state;
        let session = session_of(&event.kind);
        let was_over = std::mem::replace(&mut self.is_over, run.status.is_terminal());
        let here: Vec<StateName> = if self.is_over { Vec::new() } else { run.positions().cloned().collect() };
        for track in &mut self.tracks {
            if self.is_over {
                if !was_over {
                    track.end(session, point);
                }
                continue;
            }
            if track.lane.below.is_some() || here.contains(&track.lane.step) {
                continue;
            }
            track.wait(None, point);
            track.depart(point.at);
            if self.here.contains(&track.lane.step) {
                let outcome = run.steps.get(&track.lane.step).filter(|status| status.is_done());
                track.leave(outcome, session, point);
            }
        }
        for step in &here {
            let comes_again = is_entered_again(&event.kind, step, &self.here);
            let track = self.step(step);
            if comes_again {
                track.depart(point.at);
            }
            track.arrive(point.at);
            let asks = run.questions.iter().any(|question| question.is_of(step, None));
            let waits = if run.status == RunStatus::Blocked {
                Some(WaitState::Blocked)
            } else if asks || run.steps.get(step) == Some(StepStatus::Waiting) {
                Some(WaitState::Waiting)
            } else {
                track.is_blocked().then_some(WaitState::Blocked)
            };
            track.wait(waits, point);
        }
        self.here = here;
    }

    fn follow_session(&mut self, state: &RunState, at: Timestamp) {
        let holds = state.document().state.session.as_ref();
        if let Some(open @ SessionSpan { to: None, .. }) = self.sessions.last_mut() {
            if Some(&open.session) == holds {
                return;
            }
            open.to = Some(at);
        }
        self.sessions.extend(holds.map(|session| SessionSpan { session: session.clone(), from: at, to: None }));
    }
}

/// Whether a report says that work begins, waits, goes on or ends.
fn is_of_work(report: &StepReport) -> bool {
    let is_question = matches!(report.kind(), Some(ReportType::WaitingForUser | ReportType::UserAnswered));
    is_question || report.status().is_some()
}

/// The session that made an event which may end work.
fn session_of(kind: &EventKind) -> Option<&SessionId> {
    match kind {
        EventKind::ActivityRecorded(record) => record.session.as_ref(),
        EventKind::Emitted(emitted) => emitted.session.as_ref(),
        EventKind::RunCompleted(change) | EventKind::RunFailed(change) | EventKind::RunCancelled(change) => {
            change.session.as_ref()
        }
        _ => None,
    }
}

/// Whether the run, which was in these steps, left `step` with this record and entered it again.
fn is_entered_again(kind: &EventKind, step: &StateName, here: &[StateName]) -> bool {
    let EventKind::ActivityRecorded(record) = kind else { return false };
    let to_it = record.advanced_to.as_ref() == Some(step) && !record.late;
    to_it && (record.phase == *step || here.contains(step))
}
