//! What a fork takes over of the past of its parent, so that it needs the parent no more.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::past::history::LeftOut;
use crate::engine::past::phases::Phases;
use crate::engine::past::workers::Workers;
use crate::engine::{Attempt, History, RunState};
use crate::model::{
    Event, EventId, EventKind, RunDocument, RunId, SESSION_ENDED, Seq, SessionId, StatusChange, StepReport, Timestamp,
};

/// The version of the form. A log is read for ever, so the forms of all versions are.
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
}

impl History {
    /// What a fork takes over of this history of the run `parent`.
    #[must_use]
    pub fn inheritance(mut self, parent: &RunId) -> Value {
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
        let past = Inheritance { v: VERSION, attempts, phases, reports, workers, left_out };
        serde_json::to_value(past).unwrap_or_default()
    }

    /// The history with which a fork in `state` begins. A past that only a newer flow reads counts as one that another program
    /// recorded.
    pub(super) fn inherited(state: RunState, past: &Value) -> Self {
        let mut history = Self::without_log(state);
        if let Ok(Inheritance { v: VERSION, attempts, phases, reports, workers, left_out }) =
            Inheritance::deserialize(past)
        {
            (history.attempts, history.phases, history.reports) = (attempts, phases, reports);
            (history.workers, history.left_out) = (workers, left_out);
        }
        history
    }
}

impl History {
    /// The run `id` that goes on from here, as it begins at `at`. Nothing of it is over: a fork of a run that has ended is open
    /// again, and what a person decided at a gate where it ended counts no more, as when a run is reopened.
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
