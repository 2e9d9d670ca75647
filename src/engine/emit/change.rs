//! What follows when a step changes: what the run leaves, what is recorded, and whether the run ends.

use serde_json::{Map, Value, json};

use crate::engine::doubt::in_doubt;
use crate::engine::emit::draft::EmitDraft;
use crate::engine::emit::entry::StepEntry;
use crate::engine::gates::gate_of;
use crate::engine::leave::{has_transition, is_strict, refuse_at_work, undone};
use crate::engine::proof::{Leaving, requires};
use crate::engine::step_id::recorded_step_id;
use crate::engine::{History, Refusal};
use crate::model::{
    Activity, ActivityId, ActivityRecorded, ActivityStatus, ActivityType, GateStatus, ReportType, RunStatus, StateName,
    StepReport, StepStatus, Usage,
};

impl EmitDraft<'_> {
    /// Changes the status of a step of the run's own workflow. Returns the state from which it was entered.
    pub(super) fn change(
        &mut self,
        step: &StateName,
        status: StepStatus,
        entry: StepEntry,
        data: &Map<String, Value>,
    ) -> Result<Option<StateName>, Refusal> {
        let outside = matches!(entry, StepEntry::Left);
        let enters = !outside && !matches!(entry, StepEntry::Here);
        if let (RunStatus::Blocked, true, Some(here)) = (self.state.status(), enters, self.here.first()) {
            let reason = self.state.document().state.blocked_reason.clone();
            return Err(Refusal::BlockedRun { phase: here.clone(), reason });
        }
        if let StepEntry::From(left) = &entry {
            self.check_leaving(left, step)?;
        }
        if status == StepStatus::Running && !outside {
            self.complete_predecessors(step, &entry);
        }
        let said = self.steps.get(step);
        let from = match entry {
            StepEntry::Here => {
                self.here.retain(|here| here != step);
                None
            }
            StepEntry::From(left) => {
                self.here.retain(|here| !left.contains(here));
                left.first().cloned()
            }
            StepEntry::Beside(branch) => Some(branch),
            StepEntry::Left => None,
        };
        if !outside {
            self.here.insert(0, step.clone());
            self.moved = true;
        }
        self.steps.set(step, status);
        let repeats = !enters && said == Some(status);
        let begins = status == StepStatus::Running || status == StepStatus::NotStarted && !enters;
        // The beginning of a step is not recorded, because its end will be.
        let usage = data.get("usage").map(Usage::of_document);
        // What was used once more was used, also if the step ended before.
        if !begins && (!repeats || usage.is_some()) {
            let message = data.get("message").and_then(Value::as_str);
            let summary = message.or_else(|| data.get("output")?.as_str());
            self.record(step, status, summary.map(str::to_owned), usage);
        }
        self.ends = self.may_end && status.is_done() && self.is_at_the_end() && self.is_settled(step, from.as_ref());
        if self.ends {
            refuse_at_work(&self.state.document().state, &self.here, self.trail)?;
        }
        if self.ends && self.here.iter().any(|here| requires(self.machine, here)) {
            let history = self.history_now();
            let history = history.as_deref().ok_or(Refusal::NothingRecorded)?;
            self.refuse_unproved(&self.here, None, Some(history))?;
        }
        Ok(from)
    }

    /// Checks that the run may leave these states for `step`: that a gate among them was opened, and in a workflow written
    /// as phases that their work is done.
    fn check_leaving(&self, left: &[StateName], step: &StateName) -> Result<(), Refusal> {
        refuse_at_work(&self.state.document().state, left, self.trail)?;
        // Only these rules need the history, and for it the whole log may have to be read.
        let asks = left.iter().any(|from| requires(self.machine, from));
        if !is_strict(self.machine) && !asks && !left.iter().any(|from| gate_of(&self.gates, from).is_some()) {
            return Ok(());
        }
        // A log without its beginning has none, and shows nothing of what is required.
        let history = self.history_now();
        let history = history.as_deref();
        for from in left {
            Leaving { machine: self.machine, from, to: Some(step), history, trail: self.trail }.refuse(&self.gates)?;
        }
        self.refuse_unproved(left, Some(step), history)?;
        let Some(history) = history else { return Ok(()) };
        if !is_strict(self.machine) {
            return Ok(());
        }
        let undone: Vec<_> = left.iter().filter_map(|from| undone(self.machine, from, step, history)).collect();
        if undone.is_empty() { Ok(()) } else { Err(Refusal::NotDone(undone)) }
    }

    /// Refuses to leave these states for `to`, or to end the run in them, before what they require was seen to pass.
    fn refuse_unproved(
        &self,
        left: &[StateName],
        to: Option<&StateName>,
        history: Option<&History>,
    ) -> Result<(), Refusal> {
        let mut missing = Vec::new();
        for from in left {
            missing.extend(Leaving { machine: self.machine, from, to, history, trail: self.trail }.unproved()?);
        }
        if missing.is_empty() { Ok(()) } else { Err(Refusal::NotProved { missing, looked: true }) }
    }

    /// Whether the run has ended: all current steps are terminal and done, and at least one of them is completed.
    fn is_at_the_end(&self) -> bool {
        let Some(machine) = self.machine else { return false };
        let statuses: Vec<_> = self.here.iter().filter_map(|here| self.steps.get(here)).collect();
        self.here.iter().all(|here| machine.is_terminal(here))
            && statuses.len() == self.here.len()
            && statuses.iter().all(|status| status.is_done())
            && statuses.contains(&StepStatus::Completed)
    }

    /// Whether nothing keeps the run open after this report on `step`, which it entered from `from`: no gate waits, no outcome
    /// of recorded work is unknown, and in a workflow written as phases nothing is left undone.
    fn is_settled(&self, step: &StateName, from: Option<&StateName>) -> bool {
        for gate in &self.gates {
            // This report is newer than any decision about its own step.
            let is_passed = gate.status == GateStatus::Approved && gate.phase != *step;
            if self.here.contains(&gate.phase) && !is_passed {
                return false;
            }
        }
        if !is_strict(self.machine) && self.state.document().state.open_activities.is_empty() {
            return true;
        }
        let Some(history) = self.history_now() else { return true };
        if !is_strict(self.machine) {
            // Reports complete steps, and not the work that was recorded as running beside them.
            let own = recorded_step_id(step);
            return in_doubt(&history).iter().all(|doubt| doubt.number.is_none() || doubt.id == own);
        }
        // The history is that of before this report, which settles its step and the one that it leaves.
        let is_settled = history.unsettled().iter().all(|(phase, _)| *phase == step || Some(*phase) == from);
        let is_certain = in_doubt(&history).iter().all(|doubt| doubt.id == step.as_str());
        is_settled && is_certain && history.work(step).open.is_empty()
    }

    /// Completes the direct predecessors of `step` that are still running or waiting, because `step` begins (rp1). In
    /// phases these are only those that the run leaves, whose work is done.
    fn complete_predecessors(&mut self, step: &StateName, entry: &StepEntry) {
        let Some(machine) = self.machine else { return };
        let left: &[StateName] = if let StepEntry::From(left) = entry { left } else { &[] };
        let mut done = Vec::new();
        for state in machine.states() {
            let name = &state.name;
            if name == step || !has_transition(machine, name, step) || machine.is_phases() && !left.contains(name) {
                continue;
            }
            // A step entered over without a report is reported as left undone instead.
            if self.steps.get(name).is_some_and(StepStatus::is_open) {
                done.push(name.clone());
            }
        }
        for name in done {
            self.steps.set(&name, StepStatus::Completed);
            self.record(&name, StepStatus::Completed, Some(format!("completed when {step} began")), None);
            self.reports.push(StepReport {
                id: self.supply.event_id(),
                // It ended before the next step began, and both have the time of this command.
                at: self.now.just_before(),
                kind: ReportType::StatusChange.as_str().to_owned(),
                step: Some(name),
                unit: None,
                data: Map::from_iter([("status".to_owned(), StepStatus::Completed.as_str().into())]),
                auto: true,
                from: None,
            });
        }
    }

    /// Adds the activity of a reported step.
    fn record(&mut self, step: &StateName, status: StepStatus, summary: Option<String>, usage: Option<Usage>) {
        let run = self.state.document();
        let id = ActivityId::new(recorded_step_id(step)).expect("BUG: a slug is an activity id");
        let status = ActivityStatus::from(status);
        let declared = self.machine.and_then(|machine| machine.state(step)?.kind.as_deref());
        // The type of a state is free text, and that of an activity is not.
        let kind = declared.and_then(|kind| kind.parse().ok()).unwrap_or(ActivityType::Task);
        let time = if status.is_settled() { "completed_at" } else { "started_at" };
        let mut activity = Activity::of_work(&id, kind, None, status);
        activity.fill_place(&run.id, &run.workflow, step);
        activity.fill("activity", time, self.now.to_string());
        if let Some(summary) = summary {
            activity.fill("result", "summary", summary);
        }
        if let Some(usage) = usage {
            activity.fill("outputs", "usage", json!(usage));
        }
        let number = self.supply.number(&id);
        self.records.push(ActivityRecorded::new(number, step.clone(), activity));
    }
}
