//! The run as the reports of one command leave it, one after the other.

use std::borrow::Cow;

use crate::engine::{History, RunState, StepFault, Supply, Trail};
use crate::machine::Machine;
use crate::model::{ActivityRecorded, Emitted, EventKind, Gate, Question, StateName, StepReport, Steps, Timestamp};

/// The run after the reports taken so far.
pub(super) struct EmitDraft<'a> {
    pub(super) state: &'a RunState,
    pub(super) machine: Option<&'a Machine>,
    pub(super) now: Timestamp,
    pub(super) answers_documents: bool,
    pub(super) trail: &'a dyn Trail,
    pub(super) supply: &'a mut dyn Supply,
    pub(super) steps: Steps,
    pub(super) questions: Vec<Question>,
    pub(super) gates: Vec<Gate>,
    /// All steps that the run is in; that of the last report comes first.
    pub(super) here: Vec<StateName>,
    pub(super) moved: bool,
    pub(super) reports: Vec<StepReport>,
    pub(super) records: Vec<ActivityRecorded>,
    /// Whether the report that is taken now may end the run.
    pub(super) may_end: bool,
    pub(super) ends: bool,
}

impl EmitDraft<'_> {
    /// The reports taken so far, and their consequences.
    pub(super) fn emitted(&self) -> Emitted {
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
            ..Emitted::default()
        }
    }

    /// The history as if the reports taken so far had been committed.
    pub(super) fn history_now(&self) -> Option<Cow<'_, History>> {
        let history = self.trail.history()?;
        let Some(first) = self.reports.first() else { return Some(Cow::Borrowed(history)) };
        let emitted = EventKind::Emitted(Box::new(self.emitted()));
        Some(Cow::Owned(history.with(emitted, &first.id, self.now)))
    }

    pub(super) fn fault(&self, machine: &Machine, step: &StateName, known: Vec<StateName>) -> Box<StepFault> {
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
}
