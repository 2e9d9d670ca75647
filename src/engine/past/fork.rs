//! What a fork takes over of the past of its parent, so that it no longer needs the parent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::past::failures::SeenFailures;
use crate::engine::past::history::LeftOut;
use crate::engine::past::phases::Phases;
use crate::engine::past::workers::Workers;
use crate::engine::{Attempt, History, RunState};
use crate::model::{
    Activity, ActivityId, ActivityRecorded, ActivityStatus, ActivityType, Event, EventId, EventKind, Number,
    RunDocument, RunForked, RunId, SESSION_ENDED, Seq, SessionId, StatusChange, StepReport, TextDigest, Timestamp,
};

/// The version of the form. Old logs stay readable, so every version's form must be.
const VERSION: u64 = 1;

/// The form in which the first event of a fork has it. The list of what is completed is whole, since a person may edit it; of
/// the records and reports there is what a [`Recap`](crate::engine::Recap) keeps.
#[derive(Serialize, Deserialize)]
struct Inheritance {
    v: u64,
    attempts: Vec<Attempt>,
    phases: Phases,
    reports: Vec<StepReport>,
    workers: Workers,
    left_out: LeftOut,
    /// The beginnings of the digests of the requests that were recorded, so that the fork knows a retry. A fork of an earlier
    /// flow has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    requests: BTreeMap<Number, TextDigest>,
}

/// The digests of the requests that these events recorded, and that a fork among them took over, by the numbers of the records.
pub fn requests_of<'a>(events: impl IntoIterator<Item = &'a Event>) -> BTreeMap<Number, TextDigest> {
    let mut requests = BTreeMap::new();
    for event in events {
        if let EventKind::RunForked(forked) = &event.kind
            && let Ok(past) = Inheritance::deserialize(&forked.past)
        {
            requests.extend(past.requests);
        }
        for record in event.kind.records() {
            requests.extend(record.request.as_ref().map(|request| (record.number, request.beginning())));
        }
    }
    requests
}

/// The records with this id that a fork took over, latest first, each with the run in which it was made. Of work that ended
/// well and of which no record was taken over, only that it did is known.
pub(crate) fn taken_over(forked: &RunForked, id: &ActivityId) -> Vec<(ActivityRecorded, RunId)> {
    let Ok(past @ Inheritance { v: VERSION, .. }) = Inheritance::deserialize(&forked.past) else { return Vec::new() };
    let here = forked.document.state.current_phase.as_ref();
    let mut found = Vec::new();
    for attempt in past.attempts.iter().rev().filter(|attempt| attempt.id == id.as_str()) {
        let Some(phase) = attempt.phase.as_ref().or(here) else { continue };
        let kind = if attempt.exec.is_some() { ActivityType::Bash } else { ActivityType::Task };
        let mut activity = Activity::of_work(id, kind, attempt.summary.as_deref(), attempt.status);
        if let Some(code) = attempt.exit_code {
            activity.fill("outputs", "command_exit_code", code);
        }
        let mut record = ActivityRecorded::new(attempt.number, phase.clone(), activity);
        record.request = past.requests.get(&attempt.number).cloned();
        record.by = past.workers.of_activity(attempt.number).to_vec();
        (record.evidence, record.exec) = (attempt.kept.clone(), attempt.exec.clone());
        found.push((record, attempt.of.clone().unwrap_or_else(|| forked.parent.run_id.clone())));
    }
    let mut completed = past.phases.completed.iter().rev();
    if found.is_empty()
        && let Some((_, Some(number))) = completed.find(|(completed, _)| completed == id.as_str())
        && let Some(phase) = here
    {
        let activity = Activity::of_work(id, ActivityType::Task, None, ActivityStatus::Passed);
        let request = past.requests.get(number).cloned();
        let record = ActivityRecorded { request, ..ActivityRecorded::new(*number, phase.clone(), activity) };
        found.push((record, forked.parent.run_id.clone()));
    }
    found
}

impl History {
    /// What a fork takes over of this history of the run `parent`, in which these requests were recorded.
    #[must_use]
    pub fn inheritance(mut self, parent: &RunId, mut requests: BTreeMap<Number, TextDigest>) -> Value {
        let (counted, recent) = (self.counted(), self.recent());
        self.condense_work(&counted, &recent);
        self.phases.take_back_end();
        // In the fork's log all of this is in the first event.
        for attempt in &mut self.attempts {
            attempt.seq = Some(Seq(1));
            attempt.of.get_or_insert_with(|| parent.clone());
        }
        for report in &mut self.reports {
            // It counts in the parent.
            report.data.shift_remove("usage");
        }
        for skip in &mut self.phases.skips {
            skip.seq = Seq(1);
        }
        let Self { attempts, phases, reports, workers, left_out, .. } = self;
        requests.retain(|number, _| counted.contains(number) || attempts.iter().any(|one| one.number == *number));
        let past = Inheritance { v: VERSION, attempts, phases, reports, workers, left_out, requests };
        serde_json::to_value(past).unwrap_or_default()
    }

    /// The history with which a fork in `state` begins. A past that only a newer flow reads counts as one that another program
    /// recorded.
    pub(super) fn inherited(state: RunState, past: &Value) -> Self {
        let mut history = Self::without_log(state);
        if let Ok(Inheritance { v: VERSION, attempts, phases, reports, workers, left_out, .. }) =
            Inheritance::deserialize(past)
        {
            (history.attempts, history.phases, history.reports) = (attempts, phases, reports);
            (history.workers, history.left_out) = (workers, left_out);
            history.seen_to_fail = SeenFailures::of(&mut history.attempts);
        }
        history
    }
}

impl History {
    /// The run `id` that goes on from here, as it begins at `at`. Nothing of it is over: a fork of a run that has ended is open
    /// again, and what a person decided at a gate where it ended no longer counts, as when a run is reopened.
    #[must_use]
    pub fn forked(&self, id: RunId, at: Timestamp, session: Option<SessionId>) -> RunDocument {
        let mut state = self.state.clone();
        let from = state.status();
        if from.is_terminal() {
            let change = StatusChange { from, reason: None, skipped: None, session: None };
            let event_id = EventId::new("fork").expect("BUG: an id is none");
            let kind = EventKind::RunReopened(change);
            state.apply(&Event { seq: Seq(0), id: event_id, at, kind, run: None, recap: None });
        }
        let mut run = RunDocument { id, created_at: at, ..state.into_document() };
        let owned = &mut run.state;
        if owned.blocked_reason.as_deref() == Some(SESSION_ENDED) {
            owned.blocked_reason = None;
        }
        owned.epoch = u64::from(session.is_some());
        owned.session = session;
        // What the fork follows stands in its first event.
        (owned.workflow_seq, owned.last_seq, owned.updated_at) = (None, None, None);
        run
    }
}
