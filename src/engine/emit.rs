//! Reports on steps: whether they are allowed, and where they move the run (rules of rp1).

mod change;
mod draft;
mod entry;

use crate::engine::apply::{ask_or_answer, concerns};
use crate::engine::emit::draft::EmitDraft;
use crate::engine::emit::entry::StepEntry;
use crate::engine::gates::void_by_reports;
use crate::engine::leave::refuse_held;
use crate::engine::refusal::phases_of;
use crate::engine::{
    Caller, Decision, Elsewhere, Emit, MayEnd, Refusal, Report, ReportRefusal, RunState, Supply, Trail,
};
use crate::machine::Machine;
use crate::model::{Emitted, EventKind, Question, ReportType, RunStatus, StateName, StepReport};

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
        may_end: false,
        ends: false,
    };
    let last = emit.reports.len().saturating_sub(1);
    for (nth, report) in emit.reports.into_iter().enumerate() {
        draft.supply.reaches(nth);
        draft.may_end = match emit.may_end {
            MayEnd::Each => true,
            MayEnd::Last => nth == last,
            MayEnd::Never => false,
        };
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

impl EmitDraft<'_> {
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
}
