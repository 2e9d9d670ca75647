//! How an event changes a state. This never fails: an event that is in a log cannot be refused afterwards.

use crate::engine::step_id::step_id;
use crate::engine::{RunState, gates, unsettled};
use crate::model::{
    ActivityRecorded, Emitted, Event, EventKind, IdList, Question, ReportType, RunChanges, RunStatus, SESSION_ENDED,
    StateName, StepReport, StepStatus, beginning,
};

impl RunState {
    /// Applies `event` to the state.
    pub fn apply(&mut self, event: &Event) {
        let before: Vec<StateName> = self.run.state.positions().cloned().collect();
        let state = &mut self.run.state;
        match &event.kind {
            EventKind::RunStarted(_) | EventKind::RunForked(_) | EventKind::RunAdopted(_) => {
                if let Some(fresh) = Self::begin(event) {
                    *self = fresh;
                }
            }
            EventKind::LogRepaired(_) => {
                if let Some(mut fresh) = Self::begin(event) {
                    // The repair knows the gates of its document; the log before it may have known more.
                    gates::unprove(&mut fresh.run.state, None, &state.gates);
                    *self = fresh;
                }
            }
            EventKind::ActivityRecorded(record) => {
                // First the steps, since they ask where the run was before the record.
                self.report_steps(record);
                self.record(record);
                let state = &mut self.run.state;
                state.current_phase = Some(record.advanced_to.as_ref().unwrap_or(&record.phase).clone());
                state.other_phases.clone_from(&record.beside);
            }
            EventKind::Emitted(emitted) => self.emit(emitted),
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
            EventKind::RunReopened(_) => state.status = RunStatus::Active,
            EventKind::SessionEnded(_) => {
                state.session = None;
                // A blocked run keeps its reason, so that people still see what it waits for.
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
            // Modes are not part of a run.
            EventKind::ModesChanged(_) | EventKind::Unknown(_) => {}
        }
        // Both compare where the run is now with where it was, so they come after the move.
        unsettled::follow(&mut self.run.state, event, &before);
        gates::follow(&mut self.run.state, event, &before);
        self.advance(event);
    }

    /// Only updates the position and time to those of `event`.
    pub fn advance(&mut self, event: &Event) {
        self.run.state.last_seq = Some(event.seq);
        self.run.state.updated_at = Some(event.at);
    }

    /// Notes an activity. The caller moves the run to where the event says.
    fn record(&mut self, record: &ActivityRecorded) {
        let state = &mut self.run.state;
        let id = record.id();
        let id = id.as_str();
        state.current_activity = Some(id.to_owned());
        state.last_number = state.last_number.max(record.number);
        if record.activity.status().is_completed() {
            state.completed_activities.push(id);
            state.open_activities.remove(id);
            for settled in &record.settles {
                state.open_activities.remove(settled.as_str());
            }
        } else if !state.open_activities.contains(id) {
            state.open_activities.push(id);
        }
        self.session_goes_on();
    }

    /// Updates the reported steps of a run from a record, if it has any.
    fn report_steps(&mut self, record: &ActivityRecorded) {
        let state = &mut self.run.state;
        if state.steps.is_empty() {
            return;
        }
        let phase = &record.phase;
        // Without a word about the step, it is as in logs of earlier versions: only within a running one work changes nothing.
        let goes_on = !record.late && state.is_in(phase) && state.steps.get(phase) == Some(StepStatus::Running);
        if record.step.is_some() || !goes_on {
            let step = record.step.unwrap_or_else(|| record.activity.status().into());
            state.steps.set(phase, step);
        }
        if record.late {
            return;
        }
        let after = record.advanced_to.as_ref().unwrap_or(phase);
        let places: Vec<_> = state.positions().chain([phase]).cloned().collect();
        for here in &places {
            let is_left = here != after && !record.beside.contains(here);
            if is_left && state.steps.get(here).is_some_and(StepStatus::is_open) {
                state.steps.set(here, StepStatus::Completed);
            }
        }
        if record.advanced_to.is_some() && state.steps.get(after).is_some() {
            state.steps.set(after, StepStatus::NotStarted);
        }
    }

    fn emit(&mut self, emitted: &Emitted) {
        let mut here: Vec<_> = self.run.state.positions().cloned().collect();
        for report in &emitted.reports {
            self.enter_step(report, emitted, &mut here);
            self.report(report, emitted.keeps_questions);
        }
        for record in &emitted.records {
            self.record(record);
        }
        let state = &mut self.run.state;
        if let Some(phase) = &emitted.phase {
            state.current_phase = Some(phase.clone());
            state.other_phases.clone_from(&emitted.beside);
        }
        self.session_goes_on();
        if emitted.ends {
            self.end(RunStatus::Completed);
        }
    }

    /// Follows a report into its step. `here` is where the run was before this report. In events of earlier versions the
    /// questions of places that the run leaves are closed.
    fn enter_step(&mut self, report: &StepReport, emitted: &Emitted, here: &mut Vec<StateName>) {
        let Some((step, _)) = report.own_step() else { return };
        // A step that flow completes is one that the run leaves.
        if report.auto || here.contains(step) {
            return;
        }
        let left = report.from.as_ref().filter(|from| here.contains(from));
        here.push(step.clone());
        let Some(left) = left else { return };
        here.retain(|place| {
            let stays = emitted.phase.as_ref() == Some(place) || emitted.beside.contains(place);
            place == step || place != left && stays
        });
        if !emitted.keeps_questions {
            self.run.state.questions.retain(|question| here.contains(&question.step));
        }
    }

    fn report(&mut self, report: &StepReport, keeps_questions: bool) {
        let state = &mut self.run.state;
        if let Some((step, status)) = report.own_step() {
            state.steps.set(step, status);
        }
        if !keeps_questions && goes_on(report) {
            state.questions.retain(|question| !concerns(report, question));
        }
        ask_or_answer(&mut state.questions, report);
    }

    fn end(&mut self, status: RunStatus) {
        let state = &mut self.run.state;
        state.status = status;
        state.blocked_reason = None;
        state.session = None;
        state.questions.clear();
    }

    /// Clears the note that a session ended, because work continues.
    fn session_goes_on(&mut self) {
        let state = &mut self.run.state;
        if state.status == RunStatus::Active && state.blocked_reason.as_deref() == Some(SESSION_ENDED) {
            state.blocked_reason = None;
        }
    }

    /// Applies what a person changed in `run.yaml`.
    pub(super) fn change(&mut self, changes: &RunChanges) {
        let completed = self.run.state.completed_activities.clone();
        let before: Vec<StateName> = self.run.state.positions().cloned().collect();
        fn set<T: Clone>(slot: &mut T, value: &Option<T>) {
            if let Some(value) = value {
                slot.clone_from(value);
            }
        }
        let run = &mut self.run;
        changes.goal.apply(&mut run.goal);
        set(&mut run.created_at, &changes.created_at);
        set(&mut run.workflow_version, &changes.workflow_version);
        set(&mut run.context, &changes.context);
        set(&mut run.limits, &changes.limits);
        set(&mut run.state.status, &changes.status);
        changes.current_phase.apply(&mut run.state.current_phase);
        if !changes.current_phase.is_unchanged() {
            // A person sets one phase, so the run leaves its parallel branches.
            run.state.other_phases.clear();
            gates::moved_by_hand(&mut run.state.gates, &before);
        }
        changes.current_activity.apply(&mut run.state.current_activity);
        set(&mut run.state.completed_activities, &changes.completed_activities);
        changes.blocked_reason.apply(&mut run.state.blocked_reason);
        self.reset_steps(&completed, changes);
    }

    /// Resets steps that a person wants to be done again: those whose activity was removed from the completed ones, and
    /// the step into which the run was set back.
    fn reset_steps(&mut self, completed: &IdList, changes: &RunChanges) {
        let state = &mut self.run.state;
        let set_back = changes.current_phase.value();
        for (step, status) in state.steps.iter_mut() {
            let id = step_id(step).unwrap_or_default();
            let is_taken_off = completed.contains(&id) && !state.completed_activities.contains(&id);
            if status.is_done() && (is_taken_off || set_back == Some(step)) {
                *status = StepStatus::NotStarted;
            }
        }
    }
}

/// Opens or closes questions according to a report. Only an answer closes a question, and another question of the same
/// asker.
pub(crate) fn ask_or_answer(questions: &mut Vec<Question>, report: &StepReport) {
    let Some(step) = &report.step else { return };
    match report.kind() {
        Some(ReportType::UserAnswered) => questions.retain(|question| !concerns(report, question)),
        Some(ReportType::WaitingForUser) => {
            // An asker asks one thing at a time, so another question of it replaces the first.
            let prompt = beginning(report.text("prompt").unwrap_or_default(), PROMPT).into_owned();
            questions.retain(|question| !question.is_of(step, report.unit.as_ref()));
            questions.push(Question { step: step.clone(), unit: report.unit.clone(), prompt });
        }
        _ => {}
    }
}

/// Whether the report says that work goes on. A step that is reported as waiting still waits for its answer.
pub(crate) fn goes_on(report: &StepReport) -> bool {
    !matches!(report.status(), None | Some(StepStatus::Waiting))
}

/// The longest question in `run.yaml`, in characters; the log has the whole text.
const PROMPT: usize = 500;

/// Whether `report` is about the work that asks `question`, so that an answer in it is the answer to that. A sub-agent
/// speaks for the step that it works for, and a step for its units, but no unit for another one.
pub(crate) fn concerns(report: &StepReport, question: &Question) -> bool {
    let Some(step) = &report.step else { return false };
    match (step.agent(), question.step.agent()) {
        (Some(_), None) => question.unit.is_none(),
        (agent, asker) if agent == asker && report.unit == question.unit => agent.is_some() || *step == question.step,
        _ => report.unit.is_none() && *step == question.step,
    }
}
