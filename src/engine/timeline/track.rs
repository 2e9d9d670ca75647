//! A lane in the making: what is recorded and reported of one step, unit or sub-agent.

use std::collections::{BTreeSet, HashMap};

use crate::engine::timeline::{Lane, OpenWork, Span, SpanState, Stay, Wait, WaitState};
use crate::model::{ReportType, Seq, SessionId, StepReport, StepStatus, Timestamp};

/// A point of the log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) at: Timestamp,
    pub(super) seq: Seq,
}

/// What is worked on in a lane: an activity, or with `None` the step or unit itself, as it is reported.
pub(super) type Subject = Option<String>;

/// The attempts at one subject.
#[derive(Debug, Clone, Default)]
struct Work {
    attempts: u32,
    /// The spans of the latest attempt in the lane.
    parts: Vec<usize>,
    stage: Stage,
    /// How the latest attempt ended, unless the step was entered again since.
    outcome: Option<StepStatus>,
    /// The last event that shows the work which goes on.
    seen: Option<Point>,
    /// Who began it.
    by: Option<SessionId>,
}

/// How far the latest attempt is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// There is none, or it is over.
    #[default]
    Over,
    /// Its last part goes on.
    Running,
    /// It was interrupted, and may go on.
    Paused,
    /// It does not go on, as far as is known, and no outcome is recorded.
    Unknown,
}

/// A lane in the making.
#[derive(Debug, Clone)]
pub(super) struct Track {
    pub(super) lane: Lane,
    works: HashMap<Subject, Work>,
    /// The activities whose latest record says that they are blocked.
    blocked: BTreeSet<String>,
}

impl Track {
    pub(super) fn new(lane: Lane) -> Self {
        Self { lane, works: HashMap::new(), blocked: BTreeSet::new() }
    }

    /// The run enters the step, if it is not there.
    pub(super) fn arrive(&mut self, at: Timestamp) {
        if matches!(self.lane.stays.last(), Some(Stay { to: None, .. })) {
            return;
        }
        self.lane.stays.push(Stay { from: at, to: None });
        self.blocked.clear();
        if let Some(reported) = self.works.get_mut(&None) {
            reported.outcome = None;
        }
    }

    /// The run leaves the step, if it is there.
    pub(super) fn depart(&mut self, at: Timestamp) {
        if let Some(stay @ Stay { to: None, .. }) = self.lane.stays.last_mut() {
            stay.to = Some(at.max(stay.from));
        }
    }

    /// It waits, or no longer does.
    pub(super) fn wait(&mut self, state: Option<WaitState>, point: Point) {
        if let Some(wait @ Wait { to: None, .. }) = self.lane.waits.last_mut() {
            if Some(wait.state) == state {
                return;
            }
            (wait.to, wait.last) = (Some(point.at.max(wait.from)), point.seq);
        }
        let Point { at: from, seq: first } = point;
        self.lane.waits.extend(state.map(|state| Wait { state, from, to: None, first, last: first }));
    }

    /// Whether the latest record of an activity says that it is blocked.
    pub(super) fn is_blocked(&self) -> bool {
        !self.blocked.is_empty()
    }

    pub(super) fn note_blocked(&mut self, activity: &str, is_blocked: bool) {
        if is_blocked {
            self.blocked.insert(activity.to_owned());
        } else {
            self.blocked.remove(activity);
        }
    }

    /// Adds a span to the latest attempt at `subject`.
    fn add(&mut self, subject: &Subject, from: Timestamp, to: Option<Point>, point: Point) {
        let work = self.works.entry(subject.clone()).or_default();
        work.parts.push(self.lane.spans.len());
        work.seen = Some(point);
        self.lane.spans.push(Span {
            activity: subject.clone(),
            attempt: work.attempts,
            state: SpanState::Running,
            from,
            to: to.map(|to| to.at.max(from)),
            outcome: None,
            first: point.seq,
            last: point.seq,
        });
    }

    fn work(&mut self, subject: &Subject) -> &mut Work {
        self.works.entry(subject.clone()).or_default()
    }

    /// Ends the part that goes on.
    fn end_part(&mut self, subject: &Subject, point: Point, state: SpanState) {
        if let Some(&part) = self.work(subject).parts.last() {
            let span = &mut self.lane.spans[part];
            (span.to, span.last, span.state) = (Some(point.at.max(span.from)), point.seq, state);
        }
    }

    /// Work on `subject` runs since `began`, otherwise since this event.
    pub(super) fn begin(&mut self, subject: &Subject, began: Option<Timestamp>, by: Option<&SessionId>, point: Point) {
        let work = self.work(subject);
        // A report changes a status, so a repeated one changes nothing. A record that comes again may be that of another
        // process, unless one session made both.
        let goes_on = subject.is_none() || by.is_some() && work.by.as_ref() == by;
        match work.stage {
            Stage::Running if goes_on => {
                work.seen = Some(point);
                return;
            }
            Stage::Running => self.doubt_of(subject, None),
            Stage::Paused | Stage::Over | Stage::Unknown => {}
        }
        let work = self.work(subject);
        if work.stage != Stage::Paused {
            work.attempts += 1;
            work.parts.clear();
        }
        (work.stage, work.outcome, work.by) = (Stage::Running, None, by.cloned());
        self.add(subject, began.unwrap_or(point.at), None, point);
    }

    fn stage(&self, subject: &Subject) -> Option<Stage> {
        Some(self.works.get(subject)?.stage)
    }

    /// Work on `subject` is interrupted, if it runs.
    fn pause(&mut self, subject: &Subject, point: Point) {
        if self.stage(subject) == Some(Stage::Running) {
            self.end_part(subject, point, SpanState::Running);
            self.work(subject).stage = Stage::Paused;
        }
    }

    /// Work on `subject` goes on, if it was interrupted.
    fn resume(&mut self, subject: &Subject, point: Point) {
        if self.stage(subject) == Some(Stage::Paused) {
            self.work(subject).stage = Stage::Running;
            self.add(subject, point.at, None, point);
        }
    }

    /// An event says how work on `subject` ended; without an outcome, that it was interrupted. `began`: the beginning
    /// that the same record gives.
    pub(super) fn settle(
        &mut self,
        subject: &Subject,
        outcome: Option<StepStatus>,
        began: Option<Timestamp>,
        point: Point,
    ) {
        let work = self.works.entry(subject.clone()).or_default();
        let ended = work.parts.last().and_then(|&part| self.lane.spans[part].to);
        if work.stage == Stage::Unknown && ended.is_some() && ended <= began {
            // It was begun again, and the record itself says when.
            work.stage = Stage::Over;
        }
        match work.stage {
            Stage::Running => self.end_part(subject, point, SpanState::Running),
            // Since when it went on is not recorded.
            Stage::Paused | Stage::Unknown => self.add(subject, point.at, Some(point), point),
            Stage::Over => {
                work.attempts += 1;
                work.parts.clear();
                self.add(subject, began.unwrap_or(point.at), Some(point), point);
            }
        }
        match outcome {
            Some(outcome) => self.conclude(subject, outcome),
            None => self.work(subject).stage = Stage::Paused,
        }
    }

    /// The latest attempt at `subject` ended so.
    fn conclude(&mut self, subject: &Subject, outcome: StepStatus) {
        let work = self.works.entry(subject.clone()).or_default();
        (work.stage, work.outcome) = (Stage::Over, Some(outcome));
        for &part in &work.parts {
            let span = &mut self.lane.spans[part];
            (span.outcome, span.state) = (Some(outcome), SpanState::Running);
        }
    }

    /// Takes a report on the step or unit itself, which perhaps has a new `status`.
    pub(super) fn take(
        &mut self,
        report: &StepReport,
        status: Option<StepStatus>,
        by: Option<&SessionId>,
        point: Point,
    ) {
        match (status, report.kind()) {
            (Some(StepStatus::NotStarted), _) => self.abandon(&None, by, point),
            (Some(StepStatus::Running), _) => self.begin(&None, None, by, point),
            (Some(StepStatus::Waiting), _) | (None, Some(ReportType::WaitingForUser)) => self.pause(&None, point),
            (Some(status), _) => self.settle_reported(status, !report.auto, point),
            (None, Some(ReportType::UserAnswered)) => self.resume(&None, point),
            (None, _) => {}
        }
    }

    /// A report says how the step or unit itself ended. One that flow made tells only of what was begun, and one that
    /// repeats what is known tells of nothing.
    fn settle_reported(&mut self, status: StepStatus, is_own: bool, point: Point) {
        let Work { stage, outcome, .. } = self.work(&None);
        let (is_open, is_known) = (*stage != Stage::Over, *outcome == Some(status));
        if is_open || is_own && !is_known {
            self.settle(&None, Some(status), None, point);
        }
    }

    /// A report is about the step or unit itself, without a change of its status.
    pub(super) fn see(&mut self, point: Point) {
        if let Some(work @ Work { stage: Stage::Running, .. }) = self.works.get_mut(&None) {
            work.seen = Some(point);
        }
    }

    /// From here on it is not known how the work goes on. It ends at `end`, otherwise with the last event that shows it.
    fn doubt_of(&mut self, subject: &Subject, end: Option<Point>) {
        let seen = self.work(subject).seen;
        if let Some(end) = end.or(seen) {
            self.end_part(subject, end, SpanState::InDoubt);
        }
        self.work(subject).stage = Stage::Unknown;
    }

    /// The session ended, and what it had begun is in doubt; without a session, everything that was begun.
    pub(super) fn doubt(&mut self, session: Option<&SessionId>, point: Point) {
        let subjects: Vec<Subject> = self.works.keys().cloned().collect();
        for subject in subjects {
            let work = self.work(&subject);
            let is_concerned = work.by.is_none() || session.is_none() || work.by.as_ref() == session;
            if work.stage == Stage::Running && is_concerned {
                self.doubt_of(&subject, Some(point));
            }
        }
    }

    /// The event ends work on `subject` without an outcome. If the session that began it did so, work ended then; otherwise
    /// it may have ended long before.
    fn abandon(&mut self, subject: &Subject, session: Option<&SessionId>, point: Point) {
        let work = self.work(subject);
        match work.stage {
            Stage::Running if session.is_some() && work.by.as_ref() == session => {
                self.end_part(subject, point, SpanState::Running);
            }
            Stage::Running => self.doubt_of(subject, None),
            Stage::Paused => {}
            Stage::Over | Stage::Unknown => return,
        }
        self.work(subject).stage = Stage::Unknown;
    }

    /// The run left the step, of which `outcome` is known then.
    pub(super) fn leave(&mut self, outcome: Option<StepStatus>, session: Option<&SessionId>, point: Point) {
        match (self.stage(&None), outcome) {
            (Some(Stage::Running), Some(outcome)) => {
                self.end_part(&None, point, SpanState::Running);
                self.conclude(&None, outcome);
            }
            (Some(Stage::Paused), Some(outcome)) => self.conclude(&None, outcome),
            (Some(_), _) => self.abandon(&None, session, point),
            (None, _) => {}
        }
    }

    /// The run ended.
    pub(super) fn end(&mut self, session: Option<&SessionId>, point: Point) {
        let subjects: Vec<Subject> = self.works.keys().cloned().collect();
        for subject in subjects {
            self.abandon(&subject, session, point);
        }
        self.wait(None, point);
        self.depart(point.at);
    }

    /// The lane as of now, after the event `last`.
    pub(super) fn lane_at(&self, last: Point, is_alive: &dyn Fn(&OpenWork<'_>) -> bool) -> Lane {
        let mut lane = self.lane.clone();
        if let Some(wait @ Wait { to: None, .. }) = lane.waits.last_mut() {
            wait.last = last.seq;
        }
        for (subject, work) in &self.works {
            let (Stage::Running, Some(&part), Some(seen)) = (work.stage, work.parts.last(), work.seen) else {
                continue;
            };
            let span = &mut lane.spans[part];
            span.last = seen.seq;
            let open = OpenWork {
                step: &self.lane.step,
                unit: self.lane.unit.as_ref(),
                activity: subject.as_deref(),
                begun: span.first,
                session: work.by.as_ref(),
            };
            if !is_alive(&open) {
                (span.to, span.state) = (Some(seen.at.max(span.from)), SpanState::InDoubt);
            }
        }
        // A record may say that its work began before that of an earlier record.
        lane.spans.sort_by_key(|span| (span.from, span.first));
        lane
    }
}
