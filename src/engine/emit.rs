//! Reports on steps: whether they are allowed, and where they move the run (rules of rp1).

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::engine::apply::{ask_or_answer, concerns};
use crate::engine::doubt::in_doubt;
use crate::engine::gate_rules::refuse_leaving;
use crate::engine::gates::{gate_of, void_by_reports};
use crate::engine::leave::{has_transition, is_strict, refuse_at_work, refuse_held, undone};
use crate::engine::past::work::has_phase;
use crate::engine::proof::{requires, unproved};
use crate::engine::refusal::phases_of;
use crate::engine::step_id::recorded_step_id;
use crate::engine::{
    Caller, Decision, Elsewhere, Emit, History, Refusal, Report, ReportRefusal, RunState, StepFault, Supply, Trail,
};
use crate::machine::Machine;
use crate::model::{
    Activity, ActivityId, ActivityRecorded, ActivityStatus, ActivityType, Emitted, EventKind, Gate, GateStatus, Number,
    Question, ReportType, RunStatus, StateName, StepReport, StepStatus, Steps, Timestamp, Unit, Usage,
};

/// Decides on `emit`. Each report is checked against the run as the reports before it leave it.
///
/// # Errors
/// A [`Refusal`] that names the rule; then none of the reports happens.
pub fn decide_emit(
    state: &RunState,
    machine: Option<&Machine>,
    caller: &Caller,
    emit: Emit,
    trail: &dyn Trail,
    supply: &mut dyn Supply,
) -> Result<Decision, Refusal> {
    let status = state.status();
    if status.is_terminal() && emit.reports.iter().all(|report| is_said_already(state, report)) {
        return Ok(Decision::Already);
    }
    // Artifacts of a run may be reported after its end.
    let late = status.is_terminal() && emit.reports.iter().all(|report| report.kind.is_of_artifact());
    // Only work has to wait for a person's decision.
    if emit.reports.iter().any(|report| !report.kind.is_of_artifact()) {
        refuse_held(state, machine)?;
    }
    let run = &state.document().state;
    let mut draft = EmitDraft {
        state,
        machine,
        now: emit.now,
        answers_documents: emit.answers_documents,
        trail,
        supply,
        steps: run.steps.clone(),
        questions: run.questions.clone(),
        gates: run.gates.clone(),
        here: run.positions().cloned().collect(),
        moved: false,
        reports: Vec::new(),
        records: Vec::new(),
        ends: false,
    };
    for (nth, report) in emit.reports.into_iter().enumerate() {
        draft.supply.reaches(nth);
        draft.take(report)?;
    }
    // Only now: a report that is wrong in itself is refused for that.
    if status.is_terminal() && !late {
        return Err(Refusal::Terminal { status });
    }
    let emitted = Emitted { session: caller.session.clone(), request: emit.request, ..draft.emitted() };
    Ok(Decision::Commit(EventKind::Emitted(Box::new(emitted))))
}

/// Whether a report only repeats, after the end of the run, the status of its last step.
fn is_said_already(state: &RunState, report: &Report) -> bool {
    let Some(step) = &report.step else { return false };
    let said = state.document().state.steps.get(step);
    report.unit.is_none() && said.is_some() && said == report.status() && Some(step) == state.phase()
}

/// The run after the reports taken so far.
struct EmitDraft<'a> {
    state: &'a RunState,
    machine: Option<&'a Machine>,
    now: Timestamp,
    answers_documents: bool,
    trail: &'a dyn Trail,
    supply: &'a mut dyn Supply,
    steps: Steps,
    questions: Vec<Question>,
    gates: Vec<Gate>,
    /// All steps that the run is in; that of the last report comes first.
    here: Vec<StateName>,
    moved: bool,
    reports: Vec<StepReport>,
    records: Vec<ActivityRecorded>,
    ends: bool,
}

/// How a report enters its step.
enum StepEntry {
    /// The run is in the step already.
    Here,
    /// The run moves from these states to the step; empty if the run begins there.
    From(Vec<StateName>),
    /// The step becomes a parallel branch: it and another current step both follow this state.
    Beside(StateName),
    /// Not at all: the run had left the step before and stays where it is.
    Left,
}

impl EmitDraft<'_> {
    /// The reports taken so far, and their consequences.
    fn emitted(&self) -> Emitted {
        let (phase, beside) = match self.here.split_first() {
            Some((first, others)) if self.moved => (Some(first.clone()), others.to_vec()),
            _ => (None, Vec::new()),
        };
        Emitted {
            phase,
            beside,
            reports: self.reports.clone(),
            records: self.records.clone(),
            ends: self.ends,
            keeps_questions: !self.ends && !self.questions.is_empty(),
            session: None,
            by: Vec::new(),
            request: None,
        }
    }

    fn take(&mut self, mut report: Report) -> Result<(), Refusal> {
        self.place(&mut report)?;
        self.check_answered_in_place(&report)?;
        let status = report.status();
        if self.ends && status.is_some() {
            return Err(Refusal::Terminal { status: RunStatus::Completed });
        }
        if let Some(parent) = report.parent() {
            self.check_member(&parent)?;
        }
        let mut from = None;
        // The steps of a sub-agent are those of its own workflow, which does not move the run.
        if let Some(step) = &report.step
            && step.agent().is_none()
        {
            self.check_member(step)?;
            match (status, &report.unit) {
                (None, _) => {}
                (Some(status), None) => {
                    let entry = match self.check_transition(step) {
                        Ok(entry) => entry,
                        Err(_) if self.is_of_left(step, status) => StepEntry::Left,
                        Err(fault) => return Err(fault.into()),
                    };
                    from = self.change(step, status, entry, &report.data)?;
                }
                // A unit moves on its own, from where it was last or along with the run.
                (Some(_), Some(unit)) => {
                    if let Err(fault) = self.check_transition(step)
                        && !self.can_enter(unit, step)
                    {
                        return Err(fault.into());
                    }
                }
            }
        }
        let report = StepReport { from, ..report.logged_at(self.now) };
        ask_or_answer(&mut self.questions, &report);
        // A later report of this batch must not leave a gate by a decision that this one voids.
        void_by_reports(&mut self.gates, std::slice::from_ref(&report));
        self.reports.push(report);
        Ok(())
    }

    /// Completes the step and unit of a question or an answer: by default a question belongs to the current step, and
    /// an answer to the open question.
    fn place(&self, report: &mut Report) -> Result<(), ReportRefusal> {
        if report.kind == ReportType::UserAnswered {
            let question = self.question_answered_by(report)?;
            report.step.get_or_insert_with(|| question.step.clone());
            report.unit = report.unit.take().or_else(|| question.unit.clone());
        }
        if report.step.is_some() || report.kind != ReportType::WaitingForUser {
            return Ok(());
        }
        let step = match (self.here.first(), self.machine) {
            (Some(here), _) => here,
            (None, Some(machine)) => &machine.initial()[0],
            (None, None) => return Err(ReportRefusal::Nowhere),
        };
        report.step = Some(step.clone());
        Ok(())
    }

    /// The open question that a report answers. With a step, one that concerns it; otherwise the only one, or that of the
    /// report's unit.
    fn question_answered_by(&self, report: &Report) -> Result<&Question, ReportRefusal> {
        let mut asked: Vec<_> = self.questions.iter().collect();
        if report.step.is_some() {
            let said = report.clone().logged_at(self.now);
            asked.retain(|question| concerns(&said, question));
        } else if report.unit.is_some() {
            let open = asked.clone();
            asked.retain(|question| question.unit == report.unit);
            // With several questions the unit alone does not tell; a single one is of another unit.
            if asked.len() != 1 && open.len() > 1 {
                asked = open;
            }
        }
        match asked.as_slice() {
            [] => Err(ReportRefusal::NoQuestion { step: report.step.clone() }),
            [only] => Ok(only),
            several => Err(ReportRefusal::WhichQuestion(several.iter().map(|question| question.who()).collect())),
        }
    }

    /// Refuses an answer to a question of an interview: it would be in the log, and the document would still ask.
    fn check_answered_in_place(&self, report: &Report) -> Result<(), ReportRefusal> {
        if self.answers_documents || report.kind != ReportType::UserAnswered {
            return Ok(());
        }
        let said = report.clone().logged_at(self.now);
        let asked = self.questions.iter().find(|question| question.is_of_interview() && concerns(&said, question));
        if let (Some(question), Some(history)) = (asked, self.trail.history())
            && let Some(document) = history.document_of(question)
        {
            let number = history.number_of(question);
            let (question, document) = (question.clone(), document.to_owned());
            return Err(ReportRefusal::AnsweredElsewhere(Box::new(Elsewhere { question, document, number })));
        }
        Ok(())
    }

    /// Checks that the machine has the step, whatever the report says about it.
    fn check_member(&self, step: &StateName) -> Result<(), ReportRefusal> {
        match self.machine {
            Some(machine) if !machine.contains(step) => {
                Err(ReportRefusal::UnknownStep(self.fault(machine, step, phases_of(machine))))
            }
            _ => Ok(()),
        }
    }

    fn fault(&self, machine: &Machine, step: &StateName, known: Vec<StateName>) -> Box<StepFault> {
        Box::new(StepFault {
            step: step.clone(),
            workflow: machine.id().clone(),
            known,
            current: self.position(machine),
            suggestion: machine.suggest(step.as_str()).filter(|near| *near != step).cloned(),
            over: self.state.status().is_terminal(),
        })
    }

    /// The step that the run is in, and the steps to which it can go.
    fn position(&self, machine: &Machine) -> Option<(StateName, Vec<StateName>)> {
        let here = self.here.first()?;
        let next = if self.state.status().is_terminal() { Vec::new() } else { machine.next_of(here) };
        Some((here.clone(), next))
    }

    /// Whether and how the run can enter `step`.
    fn check_transition(&self, step: &StateName) -> Result<StepEntry, ReportRefusal> {
        let over = self.state.status().is_terminal();
        let Some(machine) = self.machine else {
            return Ok(if self.here.contains(step) { StepEntry::Here } else { StepEntry::From(self.here.clone()) });
        };
        if self.here.contains(step) && !over {
            return Ok(StepEntry::Here);
        }
        // A run that begins with its reports begins in an initial state, also if `flow start` put it there already.
        let begins = self.here.is_empty() || self.is_untouched() && !machine.is_phases();
        if begins && !machine.initial().contains(step) {
            return Err(ReportRefusal::CannotStart(self.fault(machine, step, machine.initial().to_vec())));
        }
        if self.here.is_empty() {
            return Ok(StepEntry::From(Vec::new()));
        }
        let mut from = self.here.clone();
        from.retain(|here| has_transition(machine, here, step));
        if !from.is_empty() && !over {
            return Ok(StepEntry::From(from));
        }
        // Beside a phase no other one is entered: a run would come around its work that way.
        if let Some(branch) = self.branch_of(machine, step)
            && !over
            && !machine.is_phases()
        {
            return Ok(StepEntry::Beside(branch));
        }
        Err(ReportRefusal::InvalidStep(self.fault(machine, step, Vec::new())))
    }

    /// Whether nothing was reported or recorded in the run.
    fn is_untouched(&self) -> bool {
        self.steps.is_empty() && self.state.document().state.last_number == Number(0)
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
            refuse_leaving(&self.gates, self.machine, from, Some(step), history, self.trail)?;
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
            missing.extend(unproved(self.machine, from, to, history, self.trail)?);
        }
        if missing.is_empty() { Ok(()) } else { Err(Refusal::NotProved { missing, looked: true }) }
    }

    /// The history as if the reports taken so far had been committed.
    fn history_now(&self) -> Option<Cow<'_, History>> {
        let history = self.trail.history()?;
        let Some(first) = self.reports.first() else { return Some(Cow::Borrowed(history)) };
        let emitted = EventKind::Emitted(Box::new(self.emitted()));
        Some(Cow::Owned(history.with(emitted, &first.id, self.now)))
    }

    /// Whether a report is about a step that the run left: the outcome of a step that was still running, or work there
    /// that is to be done again. Nothing else can report that.
    fn is_of_left(&self, step: &StateName, status: StepStatus) -> bool {
        if self.state.status().is_terminal() {
            return false;
        }
        let ends = !matches!(status, StepStatus::NotStarted | StepStatus::Running);
        let runs = self.steps.get(step) == Some(StepStatus::Running);
        if runs && ends {
            return true;
        }
        let Some(history) = self.history_now() else { return false };
        has_phase(&history.unsettled(), step)
    }

    /// Whether a unit can enter `step` from the step in which it was last.
    fn can_enter(&self, unit: &Unit, step: &StateName) -> bool {
        let Some(machine) = self.machine else { return false };
        if self.state.status().is_terminal() {
            return false;
        }
        let here = self.reports.iter().rev().find_map(|report| report.step_of(unit));
        // The whole log may have to be read for what was before.
        let before = || self.trail.history()?.reports().iter().rev().find_map(|report| report.step_of(unit));
        let Some(here) = here.or_else(before) else { return false };
        here == step || has_transition(machine, here, step)
    }

    /// The state from which `step` branches off in parallel: the one from which another current step was first entered.
    /// A step in which the run has been before is reached only by transitions, so going back is not a branch.
    fn branch_of(&self, machine: &Machine, step: &StateName) -> Option<StateName> {
        if self.steps.get(step).is_some() {
            return None;
        }
        for here in &self.here {
            let mut ways = machine.transitions().iter().filter(|way| way.to == *here);
            // Most states have only one successor; then the history is not needed.
            if !ways.any(|way| has_transition(machine, &way.from, step)) {
                continue;
            }
            if let Some(from) = self.first_from(here)
                && has_transition(machine, from, step)
            {
                return Some(from.clone());
            }
        }
        None
    }

    /// The state from which the run first entered `step`: an earlier one than any report of this batch names.
    fn first_from(&self, step: &StateName) -> Option<&StateName> {
        let before = self.trail.history().map(History::reports).unwrap_or_default();
        let mut entries = before.iter().chain(&self.reports).filter(|report| report.step.as_ref() == Some(step));
        entries.find_map(|report| report.from.as_ref())
    }

    /// Changes the status of a step of the run's own workflow. Returns the state from which it was entered.
    fn change(
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
        self.ends = status.is_done() && self.is_at_the_end() && self.may_end(step, from.as_ref());
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

    /// Whether the run has ended: all current steps are terminal and done, and at least one of them is completed.
    fn is_at_the_end(&self) -> bool {
        let Some(machine) = self.machine else { return false };
        let statuses: Vec<_> = self.here.iter().filter_map(|here| self.steps.get(here)).collect();
        self.here.iter().all(|here| machine.is_terminal(here))
            && statuses.len() == self.here.len()
            && statuses.iter().all(|status| status.is_done())
            && statuses.contains(&StepStatus::Completed)
    }

    /// Whether the run may end with this report on `step`, which it entered from `from`: no gate waits, and in a workflow
    /// written as phases nothing is left undone or in doubt.
    fn may_end(&self, step: &StateName, from: Option<&StateName>) -> bool {
        for gate in &self.gates {
            // This report is newer than any decision about its own step.
            let is_passed = gate.status == GateStatus::Approved && gate.phase != *step;
            if self.here.contains(&gate.phase) && !is_passed {
                return false;
            }
        }
        if !is_strict(self.machine) {
            return true;
        }
        let Some(history) = self.history_now() else { return true };
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
            // One that was entered over without a report is told as left undone instead.
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
        activity.fill("metadata", "run_id", run.id.as_str());
        activity.fill("metadata", "workflow", run.workflow.as_str());
        activity.fill("metadata", "phase", step.as_str());
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
