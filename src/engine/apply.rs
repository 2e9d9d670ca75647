//! How an event changes a state. Total: every event can follow every state, since a log is never refused afterwards.

use crate::engine::RunState;
use crate::model::{ActivityRecorded, Event, EventKind, RunChanges, RunStatus, SESSION_ENDED};

impl RunState {
    /// Changes the state as `event` says.
    pub fn apply(&mut self, event: &Event) {
        let state = &mut self.run.state;
        match &event.kind {
            EventKind::RunStarted(_) | EventKind::RunAdopted(_) | EventKind::LogRepaired(_) => {
                if let Some(fresh) = Self::begin(event) {
                    *self = fresh;
                }
            }
            EventKind::ActivityRecorded(record) => self.record(record),
            EventKind::RunBlocked(change) => {
                state.status = RunStatus::Blocked;
                state.blocked_reason.clone_from(&change.reason);
            }
            EventKind::RunUnblocked(_) => {
                state.status = RunStatus::Active;
                state.blocked_reason = None;
            }
            EventKind::RunCompleted(_) => self.end(RunStatus::Completed),
            EventKind::RunFailed(_) => self.end(RunStatus::Failed),
            EventKind::RunCancelled(_) => self.end(RunStatus::Cancelled),
            EventKind::SessionEnded(_) => {
                state.session = None;
                // The reason for which a blocked run waits must not be covered up.
                if state.status == RunStatus::Active {
                    state.blocked_reason = Some(SESSION_ENDED.to_owned());
                }
            }
            EventKind::RunClaimed(claim) => {
                state.session.clone_from(&claim.session);
                state.epoch = claim.epoch;
                self.session_goes_on();
            }
            EventKind::RunEdited(edit) => self.change(&edit.changes),
            EventKind::WorkflowAdopted(_) => state.workflow_seq = Some(event.seq),
            EventKind::Unknown(_) => {}
        }
        self.advance(event);
    }

    /// Only moves on to the position of `event`.
    pub fn advance(&mut self, event: &Event) {
        self.run.state.last_seq = Some(event.seq);
        self.run.state.updated_at = Some(event.at);
    }

    fn record(&mut self, record: &ActivityRecorded) {
        let state = &mut self.run.state;
        let id = record.id();
        let id = id.as_str();
        state.current_phase = Some(record.advanced_to.as_ref().unwrap_or(&record.phase).clone());
        state.current_activity = Some(id.to_owned());
        state.last_number = state.last_number.max(record.number);
        if record.activity.status().is_completed() {
            state.completed_activities.push(id);
            state.open_activities.remove(id);
        } else if !state.open_activities.contains(id) {
            state.open_activities.push(id);
        }
        self.session_goes_on();
    }

    fn end(&mut self, status: RunStatus) {
        let state = &mut self.run.state;
        state.status = status;
        state.blocked_reason = None;
        state.session = None;
    }

    /// The mark of an ended session goes when work goes on.
    fn session_goes_on(&mut self) {
        let state = &mut self.run.state;
        if state.status == RunStatus::Active && state.blocked_reason.as_deref() == Some(SESSION_ENDED) {
            state.blocked_reason = None;
        }
    }

    fn change(&mut self, changes: &RunChanges) {
        fn set<T: Clone>(slot: &mut T, value: &Option<T>) {
            if let Some(value) = value {
                slot.clone_from(value);
            }
        }
        let run = &mut self.run;
        set(&mut run.goal, &changes.goal);
        set(&mut run.context, &changes.context);
        set(&mut run.limits, &changes.limits);
        set(&mut run.state.status, &changes.status);
        set(&mut run.state.current_phase, &changes.current_phase);
        set(&mut run.state.current_activity, &changes.current_activity);
        set(&mut run.state.completed_activities, &changes.completed_activities);
        set(&mut run.state.blocked_reason, &changes.blocked_reason);
    }
}
