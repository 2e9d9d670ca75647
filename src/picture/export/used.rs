//! Which stretch of recorded work used what: the records and reports in whose events usage stands, each for one stretch.

use std::collections::HashMap;

use crate::engine::{Lane, worker_usage};
use crate::model::{ActivityRecorded, EventKind, Seq, StepReport, UsageSum};
use crate::runs::WholeRun;

/// What stretches of work used, by the places of their lane and in it.
pub(super) struct UsedBySpan(HashMap<(usize, usize), UsageSum>);

impl UsedBySpan {
    /// What the stretches of a run's work used.
    pub(super) fn of(whole: &WholeRun) -> Self {
        let mut used = Self(HashMap::new());
        let lanes = &whole.run.timeline.lanes;
        for event in &whole.log.events {
            let is_emitted = matches!(event.kind, EventKind::Emitted(_));
            for record in event.kind.records() {
                if let Some(usage) = record.activity.usage() {
                    let at = span_of(lanes, event.seq, |lane, activity| is_of(lane, activity, record, is_emitted));
                    used.0.entry(at.unwrap_or(NOWHERE)).or_default().add(&usage);
                }
            }
            let EventKind::Emitted(emitted) = &event.kind else { continue };
            for report in &emitted.reports {
                if let Some(usage) = worker_usage(report) {
                    let at = span_of(lanes, event.seq, |lane, activity| activity.is_none() && is_worker(lane, report));
                    used.0.entry(at.unwrap_or(NOWHERE)).or_default().add(&usage);
                }
            }
        }
        used
    }

    /// What one stretch used, if any of it was reported.
    pub(super) fn by(&self, lane: usize, span: usize) -> Option<&UsageSum> {
        self.0.get(&(lane, span))
    }
}

/// The place of what belongs to no stretch: it counts for the run alone.
const NOWHERE: (usize, usize) = (usize::MAX, usize::MAX);

/// The last stretch that the event at `seq` tells of and that is `wanted` by its lane and activity.
fn span_of(lanes: &[Lane], seq: Seq, wanted: impl Fn(&Lane, Option<&str>) -> bool) -> Option<(usize, usize)> {
    let mut found = None;
    for (at, lane) in lanes.iter().enumerate() {
        for (nth, span) in lane.spans.iter().enumerate() {
            if span.first <= seq && seq <= span.last && wanted(lane, span.activity.as_deref()) {
                found = Some((at, nth));
            }
        }
    }
    found
}

/// Whether a stretch in a lane is the work that was recorded. That of a reported step has no activity.
fn is_of(lane: &Lane, activity: Option<&str>, record: &ActivityRecorded, is_emitted: bool) -> bool {
    let is_step = lane.below.is_none() && lane.step == record.phase;
    let is_same = if is_emitted { activity.is_none() } else { activity == Some(record.id().as_str()) };
    is_step && is_same
}

/// Whether a lane is that of the unit or sub-agent that reports.
fn is_worker(lane: &Lane, report: &StepReport) -> bool {
    let agent = report.step.as_ref().and_then(|step| step.agent());
    match &report.unit {
        Some(unit) => lane.unit.as_ref() == Some(unit),
        None => lane.below.is_some() && agent.is_some() && lane.step.agent() == agent,
    }
}
