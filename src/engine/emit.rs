//! Reports on steps: whether they are allowed, and where they move the run (rules of rp1).

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::engine::apply::{STEP_ID, ask_or_answer, concerns};
use crate::engine::gates::{refuse_leaving, void_by_reports};
use crate::engine::leave::{is_strict, refuse_held, undone};
use crate::engine::resume::in_doubt;
use crate::engine::{Caller, Decision, Elsewhere, History, InDoubt, Refusal, RunState, StepFault, Trail};
use crate::machine::Machine;
use crate::model::{
    Activity, ActivityRecorded, ActivityStatus, ActivityType, Emitted, EventId, EventKind, Gate, GateStatus, Number,
    Question, ReportType, RunStatus, StateName, StepReport, StepStatus, Steps, TextDigest, Timestamp, Unit, slug,
};

/// A batch of reports: either all of them happen or none.
#[derive(Debug, Clone, PartialEq)]
pub struct Emit {
    /// The reports, in order.
    pub reports: Vec<Report>,
    /// The digest of the caller's request, if it has an operation id.
    pub request: Option<TextDigest>,
    /// The time of the reports.
    pub now: Timestamp,
    /// Whether the caller writes documents of interviews, so that it may answer their questions.
    pub answers_documents: bool,
}

/// A report from a caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Its id, which is unique.
    pub id: EventId,
    /// Its type.
    pub kind: ReportType,
    /// The step.
    pub step: Option<StateName>,
    /// The unit of work in the step.
    pub unit: Option<Unit>,
    /// Its data; for a change of status, this includes `status`.
    pub data: Map<String, Value>,
}

/// Supplies ids for reports that flow makes, and numbers for activities.
pub trait Supply {
    /// A new, unused id.
    fn event_id(&mut self) -> EventId;
    /// The number for the next activity, which has this id.
    fn number(&mut self, id: &crate::model::ActivityId) -> Number;
}

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
    if emit.reports.iter().any(|report| !report.kind.is_of_artifact()) {
        refuse_held(state, machine)?;
    }
    let mut draft = Draft::new(state, machine, emit.now, trail, supply);
    draft.answers_documents = emit.answers_documents;
    for report in emit.reports {
        draft.take(report)?;
    }
    if status.is_terminal() && !late {
        return Err(Refusal::Terminal { status });
    }
    let emitted = Emitted { session: caller.session.clone(), request: emit.request, ..draft.emitted() };
    Ok(Decision::Commit(EventKind::Emitted(Box::new(emitted))))
}

/// Whether a report only repeats, after the end of the run, the status of its last step.
fn is_said_already(state: &RunState, report: &Report) -> bool {
    let said = report.step.as_ref().and_then(|step| state.document().state.steps.get(step));
    report.unit.is_none() && said.is_some() && said == report.status() && report.step.as_ref() == state.phase()
}

impl Report {
    /// The report as it is logged if it does not move the run.
    #[must_use]
    pub fn at(self, now: Timestamp) -> StepReport {
        let Self { id, kind, step, unit, data } = self;
        StepReport { id, at: now, kind: kind.as_str().to_owned(), step, unit, data, auto: false, from: None }
    }

    fn status(&self) -> Option<StepStatus> {
        (self.kind == ReportType::StatusChange).then(|| self.data.get("status")?.as_str()?.parse().ok())?
    }

    /// The step of the run's own workflow that a registered subflow belongs to.
    fn parent(&self) -> Option<StateName> {
        self.named_parent().filter(|parent| parent.agent().is_none())
    }

    /// The step of a sub-agent that a registered subflow belongs to.
    pub(crate) fn parent_of_agent(&self) -> Option<StateName> {
        self.named_parent().filter(|parent| parent.agent().is_some())
    }

    fn named_parent(&self) -> Option<StateName> {
        let named = self.data.get("parentStepId").filter(|_| self.kind == ReportType::SubflowRegistered)?;
        StateName::new(named.as_str()?).ok()
    }
}

/// The run after the reports taken so far.
struct Draft<'a> {
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
enum Entry {
    /// The run is in the step already.
    Here,
    /// The run moves from these states to the step; empty if the run begins there.
    From(Vec<StateName>),
    /// The step becomes a parallel branch: it and another current step both follow this state.
    Beside(StateName),
    /// Not at all: the run had left the step before and stays where it is.
    Left,
}

impl<'a> Draft<'a> {
    fn new(
        state: &'a RunState,
        machine: Option<&'a Machine>,
        now: Timestamp,
        trail: &'a dyn Trail,
        supply: &'a mut dyn Supply,
    ) -> Self {
        let owned = &state.document().state;
        Self {
            state,
            machine,
            now,
            answers_documents: false,
            trail,
            supply,
            steps: owned.steps.clone(),
            questions: owned.questions.clone(),
            gates: owned.gates.clone(),
            here: owned.positions().cloned().collect(),
            moved: false,
            reports: Vec::new(),
            records: Vec::new(),
            ends: false,
        }
    }

    /// The reports taken so far, and their consequences.
    fn emitted(&self) -> Emitted {
        Emitted {
            phase: self.moved.then(|| self.here[0].clone()),
            beside: if self.moved { self.here[1..].to_vec() } else { Vec::new() },
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
        let own = report.step.as_ref().filter(|step| step.agent().is_none());
        let mut from = None;
        if let Some(step) = own {
            self.check_member(step)?;
            if let Some(status) = status {
                let entry = self.check_transition(step);
                match &report.unit {
                    None => {
                        let step = step.clone();
                        let entry = entry.or_else(|fault| self.check_left(&step, status).ok_or(fault))?;
                        from = self.change(&step, status, entry, &report.data)?;
                    }
                    // A unit moves on its own, from where it was last or along with the run.
                    Some(unit) => drop(entry.or_else(|fault| self.check_unit(unit, step).ok_or(fault))?),
                }
            }
        }
        let report = StepReport { from, ..report.at(self.now) };
        ask_or_answer(&mut self.questions, &report);
        // A later report of this batch must not leave a gate by a decision that this one voids.
        void_by_reports(&mut self.gates, std::slice::from_ref(&report));
        self.reports.push(report);
        Ok(())
    }

    /// Completes the step and unit of a question or an answer: by default a question belongs to the current step, and
    /// an answer to the open question.
    fn place(&self, report: &mut Report) -> Result<(), Refusal> {
        if report.step.is_some() {
            if report.kind != ReportType::UserAnswered {
                return Ok(());
            }
            let said = report.clone().at(self.now);
            let asked: Vec<_> = self.questions.iter().filter(|question| concerns(&said, question)).collect();
            return match asked.as_slice() {
                [] => Err(Refusal::NoQuestion { step: report.step.clone() }),
                [only] => {
                    report.unit = report.unit.take().or_else(|| only.unit.clone());
                    Ok(())
                }
                several => Err(Refusal::WhichQuestion(several.iter().map(|question| question.who()).collect())),
            };
        }
        match report.kind {
            ReportType::WaitingForUser => {
                let first = || self.machine.map(|machine| &machine.initial()[0]);
                let step = self.here.first().or_else(first).ok_or(Refusal::Nowhere)?;
                report.step = Some(step.clone());
            }
            ReportType::UserAnswered => {
                let question = match self.questions.as_slice() {
                    [] => return Err(Refusal::NoQuestion { step: None }),
                    [only] if report.unit.is_none() || report.unit == only.unit => only,
                    [_] => return Err(Refusal::NoQuestion { step: None }),
                    // The unit alone may tell.
                    several => {
                        let mut of_unit = several.iter().filter(|question| question.unit == report.unit);
                        match (of_unit.next(), of_unit.next(), &report.unit) {
                            (Some(only), None, Some(_)) => only,
                            _ => return Err(Refusal::WhichQuestion(several.iter().map(Question::who).collect())),
                        }
                    }
                };
                report.step = Some(question.step.clone());
                report.unit = report.unit.take().or_else(|| question.unit.clone());
            }
            _ => {}
        }
        Ok(())
    }

    /// Refuses an answer to a question of an interview: it would be in the log, and the document would still ask.
    fn check_answered_in_place(&self, report: &Report) -> Result<(), Refusal> {
        if self.answers_documents || report.kind != ReportType::UserAnswered {
            return Ok(());
        }
        let said = report.clone().at(self.now);
        let asked = self.questions.iter().find(|question| question.is_of_interview() && concerns(&said, question));
        let Some((question, history)) = asked.zip(self.trail.history()) else { return Ok(()) };
        let Some(document) = history.document_of(question) else { return Ok(()) };
        let number = history.number_of(question);
        let (question, document) = (question.clone(), document.to_owned());
        Err(Refusal::AnsweredElsewhere(Box::new(Elsewhere { question, document, number })))
    }

    /// Checks that the machine has the step, whatever the report says about it.
    fn check_member(&self, step: &StateName) -> Result<(), Refusal> {
        let Some(machine) = self.machine.filter(|machine| !machine.contains(step)) else { return Ok(()) };
        let known = machine.states().iter().map(|state| state.name.clone()).collect();
        Err(Refusal::UnknownStep(self.fault(machine, step, known)))
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
        let next = match self.state.status().is_terminal() {
            true => Vec::new(),
            false => machine.next_of(here),
        };
        Some((here.clone(), next))
    }

    /// Whether and how the run can enter `step`.
    fn check_transition(&self, step: &StateName) -> Result<Entry, Refusal> {
        let over = self.state.status().is_terminal();
        let Some(machine) = self.machine else {
            return Ok(if self.here.contains(step) { Entry::Here } else { Entry::From(self.here.clone()) });
        };
        if self.here.contains(step) && !over {
            return Ok(Entry::Here);
        }
        if self.here.is_empty() {
            let initial = machine.initial();
            return match initial.contains(step) {
                true => Ok(Entry::From(Vec::new())),
                false => Err(Refusal::CannotStart(self.fault(machine, step, initial.to_vec()))),
            };
        }
        // A run that begins with its reports begins in an initial state, also if `flow start` put it there already.
        let initial = machine.initial();
        if self.is_untouched() && !is_strict(Some(machine)) && !initial.contains(step) {
            return Err(Refusal::CannotStart(self.fault(machine, step, initial.to_vec())));
        }
        let leads = |from: &StateName| machine.successors(from).any(|transition| transition.to == *step);
        let from: Vec<_> = self.here.iter().filter(|here| leads(here)).cloned().collect();
        if !from.is_empty() && !over {
            return Ok(Entry::From(from));
        }
        if let Some(branch) = self.branch_of(machine, step).filter(|_| !over && !is_strict(Some(machine))) {
            return Ok(Entry::Beside(branch));
        }
        Err(Refusal::InvalidStep(self.fault(machine, step, Vec::new())))
    }

    /// Whether nothing was reported or recorded in the run.
    fn is_untouched(&self) -> bool {
        self.steps.is_empty() && self.state.document().state.last_number == Number(0)
    }

    /// Checks that the run may leave these states for `step`: that a gate among them was opened, and in a workflow written
    /// as phases that their work is done.
    fn check_leaving(&self, left: &[StateName], step: &StateName) -> Result<(), Refusal> {
        let is_gate = |from: &StateName| self.gates.iter().any(|gate| gate.phase == *from);
        if !is_strict(self.machine) && !left.iter().any(is_gate) {
            return Ok(());
        }
        let Some(history) = self.history_now() else { return Ok(()) };
        for from in left {
            refuse_leaving(&self.gates, self.machine, from, Some(step), Some(&history))?;
        }
        if !is_strict(self.machine) {
            return Ok(());
        }
        let undone: Vec<_> = left.iter().filter_map(|from| undone(self.machine, from, step, &*history)).collect();
        if undone.is_empty() { Ok(()) } else { Err(Refusal::NotDone(undone)) }
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
    fn check_left(&self, step: &StateName, status: StepStatus) -> Option<Entry> {
        if self.state.status().is_terminal() {
            return None;
        }
        let ends = !matches!(status, StepStatus::NotStarted | StepStatus::Running);
        let runs = self.steps.get(step) == Some(StepStatus::Running);
        if runs && ends {
            return Some(Entry::Left);
        }
        let history = self.history_now()?;
        history.unsettled().iter().any(|(phase, _)| *phase == step).then_some(Entry::Left)
    }

    /// Whether a unit can enter `step` from the step in which it was last.
    fn check_unit(&self, unit: &Unit, step: &StateName) -> Option<Entry> {
        let machine = self.machine.filter(|_| !self.state.status().is_terminal())?;
        let here = self.reports.iter().rev().find_map(|report| report.step_of(unit)).cloned();
        let here = here.or_else(|| self.trail.history()?.unit_at(unit))?;
        let leads = here == *step || machine.successors(&here).any(|transition| transition.to == *step);
        leads.then_some(Entry::Here)
    }

    /// The state from which `step` branches off in parallel: the one from which another current step was first entered.
    /// A step in which the run has been before is reached only by transitions, so going back is not a branch.
    fn branch_of(&self, machine: &Machine, step: &StateName) -> Option<StateName> {
        if self.steps.get(step).is_some() {
            return None;
        }
        let leads = |from: &StateName| machine.successors(from).any(|transition| transition.to == *step);
        // Most states have only one successor; then the history is not needed.
        let before = |here: &StateName| machine.transitions().iter().any(|way| way.to == *here && leads(&way.from));
        self.here.iter().filter(|here| before(here)).find_map(|here| self.first_from(here).filter(|from| leads(from)))
    }

    fn first_from(&self, step: &StateName) -> Option<StateName> {
        let reported = self.reports.iter().find(|report| report.from.is_some() && report.step.as_ref() == Some(step));
        let known = self.trail.history().and_then(|history| history.entered_from(step));
        known.or_else(|| reported.and_then(|report| report.from.clone()))
    }

    /// Changes the status of a step of the run's own workflow. Returns the state from which it was entered.
    fn change(
        &mut self,
        step: &StateName,
        status: StepStatus,
        entry: Entry,
        data: &Map<String, Value>,
    ) -> Result<Option<StateName>, Refusal> {
        let outside = matches!(entry, Entry::Left);
        let enters = !outside && !matches!(entry, Entry::Here);
        if let (RunStatus::Blocked, true, Some(here)) = (self.state.status(), enters, self.here.first()) {
            let reason = self.state.document().state.blocked_reason.clone();
            return Err(Refusal::BlockedRun { phase: here.clone(), reason });
        }
        if let Entry::From(left) = &entry {
            self.check_leaving(left, step)?;
        }
        if status == StepStatus::Running && !outside {
            self.complete_predecessors(step, &entry);
        }
        let said = self.steps.get(step);
        let from = match entry {
            Entry::Here => {
                self.here.retain(|here| here != step);
                None
            }
            Entry::From(left) => {
                self.here.retain(|here| !left.contains(here));
                left.first().cloned()
            }
            Entry::Beside(branch) => Some(branch),
            Entry::Left => None,
        };
        if !outside {
            self.here.insert(0, step.clone());
            self.moved = true;
        }
        self.steps.set(step, status);
        let repeats = !enters && said == Some(status);
        let begins = status == StepStatus::Running || status == StepStatus::NotStarted && !enters;
        if !begins && !repeats {
            let text = |key: &str| data.get(key).and_then(Value::as_str);
            let summary = text("message").or_else(|| text("output")).map(str::to_owned);
            self.record(step, status, summary);
        }
        self.ends = status.is_done() && self.is_at_the_end() && self.may_end(step, from.as_ref());
        Ok(from)
    }

    /// Whether the run has ended: all current steps are terminal and done, and at least one of them is completed.
    fn is_at_the_end(&self) -> bool {
        let Some(machine) = self.machine else { return false };
        let status = |here: &StateName| self.steps.get(here).filter(|_| machine.is_terminal(here));
        let completed = |here: &StateName| status(here) == Some(StepStatus::Completed);
        self.here.iter().all(|here| status(here).is_some_and(StepStatus::is_done)) && self.here.iter().any(completed)
    }

    /// Whether the run may end with this report on `step`, which it entered from `from`: no gate waits, and in a workflow
    /// written as phases nothing is left undone or in doubt.
    fn may_end(&self, step: &StateName, from: Option<&StateName>) -> bool {
        let is_open = |gate: &Gate| gate.status == GateStatus::Approved && gate.phase != *step;
        if self.gates.iter().any(|gate| self.here.contains(&gate.phase) && !is_open(gate)) {
            return false;
        }
        if !is_strict(self.machine) {
            return true;
        }
        let Some(history) = self.history_now() else { return true };
        let behind = history.unsettled();
        let is_left = |doubt: &InDoubt| doubt.id != step.as_str();
        behind.iter().all(|(phase, _)| *phase == step || Some(*phase) == from)
            && !in_doubt(&history).iter().any(is_left)
            && history.work(step).open.is_empty()
    }

    /// Completes the direct predecessors of `step` that are still running or waiting, because `step` begins (rp1). In
    /// phases these are only those that the run leaves, whose work is done.
    fn complete_predecessors(&mut self, step: &StateName, entry: &Entry) {
        let Some(machine) = self.machine else { return };
        let left: &[StateName] = if let Entry::From(left) = entry { left } else { &[] };
        let mut done = Vec::new();
        for state in machine.states() {
            let name = &state.name;
            let leads = machine.successors(name).any(|transition| transition.to == *step);
            if name == step || !leads || is_strict(Some(machine)) && !left.contains(name) {
                continue;
            }
            if self.steps.get(name).is_some_and(StepStatus::is_open) {
                done.push(name.clone());
            }
        }
        for name in done {
            self.steps.set(&name, StepStatus::Completed);
            self.record(&name, StepStatus::Completed, Some(format!("completed when {step} began")));
            self.reports.push(StepReport {
                id: self.supply.event_id(),
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
    fn record(&mut self, step: &StateName, status: StepStatus, summary: Option<String>) {
        let run = self.state.document();
        let id = slug(step.as_str(), STEP_ID).unwrap_or_else(|| "step".to_owned());
        let status = ActivityStatus::from(status);
        let declared = self.machine.and_then(|machine| machine.state(step)?.kind.as_deref());
        let kind = declared.and_then(|kind| kind.parse().ok()).unwrap_or(ActivityType::Task);
        let time = if status.is_settled() { "completed_at" } else { "started_at" };
        let document = json!({
            "apiVersion": "flow.synapti.ai/v1",
            "kind": "FlowActivity",
            "metadata": { "id": id, "run_id": run.id, "workflow": run.workflow, "phase": step },
            "activity": { "type": kind.as_str(), "status": status.as_str(), time: self.now.to_string() },
        });
        let Value::Object(mut document) = document else { unreachable!("BUG: an object is no object") };
        if let Some(summary) = summary {
            document.insert("result".to_owned(), json!({ "summary": summary }));
        }
        let activity = Activity::new(document).expect("BUG: a slug is an activity id");
        let number = self.supply.number(&activity.id());
        self.records.push(ActivityRecorded::new(number, step.clone(), activity));
    }
}
