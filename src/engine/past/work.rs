//! How far the work in each phase is. What `resume` and `show` say, and whether a phase may be left or a run completed,
//! all follow from this computation.

use std::collections::{BTreeSet, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::step_id::step_id;
use crate::engine::{Attempt, History, SkippedPhase};
use crate::machine::Machine;
use crate::model::{ActivityStatus, MissingProof, Number, StateName, StepStatus, UnsettledActivity};

/// The work in one phase since the run last entered it.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseWork<'h> {
    /// The status of the work.
    pub status: StepStatus,
    /// The record that determines the status: the last one in `open`, otherwise the latest. `None` if nothing is
    /// recorded.
    pub latest: Option<&'h Attempt>,
    /// The ids whose latest attempt did not pass and was not skipped: these attempts, in order.
    pub open: Vec<&'h Attempt>,
    /// Whether a person removed the entry of the latest record from `completed_activities`, so that the work has to be
    /// done again.
    pub withdrawn: bool,
    /// Why the phase was left although its work was not done.
    pub skipped: Option<&'h str>,
    /// Whether the status was reported for the step.
    pub reported: bool,
    /// Whether the work was done in an earlier round of the run, and has to be done again when the run gets there.
    pub again: bool,
    /// Whether the run entered the phase before its log began, so that work in it may be unknown.
    pub older: bool,
}

impl PhaseWork<'_> {
    /// Whether the phase may be left as done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.status.is_done()
    }

    /// Whether the step is reported as begun, and everything that was recorded in it is settled. Its reports say no more
    /// than that it began, so its records say how far it is.
    #[must_use]
    pub fn is_worked(&self) -> bool {
        self.reported
            && self.status == StepStatus::Running
            && self.open.is_empty()
            && self.latest.is_some_and(|latest| latest.status.is_completed())
    }

    /// Whether nothing is recorded or reported in the phase.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        self.latest.is_none() && self.status == StepStatus::NotStarted
    }
}

/// Work that the run left behind without settling it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftUndone {
    /// The phase.
    pub phase: StateName,
    /// The number of the record that is not settled; none if nothing is recorded.
    pub number: Option<Number>,
    /// Its id; without a number, the command that the phase requires and that was not seen to pass.
    pub id: Option<String>,
    /// How the work stands.
    pub status: StepStatus,
}

impl std::fmt::Display for LeftUndone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.phase)?;
        match (self.number, &self.id, self.status) {
            (None, Some(exec), _) => write!(f, "{exec} was {}", self.in_words()),
            (Some(number), Some(id), _) => write!(f, "{number} {id} {}", self.in_words()),
            (.., StepStatus::NotStarted) => f.write_str("nothing was done"),
            (..) => f.write_str(self.in_words()),
        }
    }
}

impl LeftUndone {
    /// Whether it is a command that the phase requires.
    #[must_use]
    pub fn is_requirement(&self) -> bool {
        self.number.is_none() && self.id.is_some()
    }

    /// The status in words, as sentences about work that is left undone name it.
    #[must_use]
    pub fn in_words(&self) -> &'static str {
        if self.is_requirement() { "not seen to pass" } else { self.status.as_str() }
    }

    fn requirement(phase: &StateName, exec: &str, status: StepStatus) -> Self {
        Self { phase: phase.clone(), number: None, id: Some(exec.to_owned()), status }
    }

    fn nothing(phase: &StateName, status: StepStatus) -> Self {
        Self { phase: phase.clone(), number: None, id: None, status }
    }

    /// One entry for each attempt that is open; one for the phase if there is none.
    fn of(phase: &StateName, work: &PhaseWork<'_>) -> Vec<Self> {
        if work.open.is_empty() {
            // The reason is told apart; what is not done is that nothing was.
            let is_skipped = work.status == StepStatus::Skipped;
            return vec![Self::nothing(phase, if is_skipped { StepStatus::NotStarted } else { work.status })];
        }
        let open = work.open.iter().map(|attempt| Self {
            phase: phase.clone(),
            number: Some(attempt.number),
            id: Some(attempt.id.clone()),
            // A record that ended well is open only because a person took it off `completed_activities`.
            status: if attempt.status.is_completed() { StepStatus::NotStarted } else { attempt.status.into() },
        });
        open.collect()
    }
}

/// Whether `phase` is among these.
pub(in crate::engine) fn has_phase(works: &[(&StateName, PhaseWork<'_>)], phase: &StateName) -> bool {
    works.iter().any(|(one, _)| *one == phase)
}

impl History {
    /// The work in `phase`.
    #[must_use]
    pub fn work(&self, phase: &StateName) -> PhaseWork<'_> {
        let stay = self.phases.stays.get(phase);
        let since = stay.map_or(Number(0), |stay| stay.entered);
        let step_status = self.state().document().state.steps.get(phase);
        let (open, withdrawn) = self.open_attempts(phase, since, step_status.is_some());
        let newest = self.attempts().iter().rfind(|attempt| attempt.is_in(phase, since));
        let latest = open.last().copied().or(newest);
        let mut skipped = None;
        if let Some(skip) = self.phases.standing_skip(phase, None)
            && latest.is_none_or(|latest| latest.number <= skip.after)
        {
            skipped = Some(skip.reason.as_str());
        }
        let mut reported = step_status;
        if let Some(status) = step_status
            && !open.is_empty()
            && (status.is_done() || status == StepStatus::NotStarted)
        {
            // A report that the step is done does not settle what failed in it beside the reports.
            reported = None;
        }
        let mut status = if withdrawn {
            StepStatus::NotStarted
        } else if skipped.is_some() {
            StepStatus::Skipped
        } else if let Some(status) = reported {
            status
        } else {
            latest.map_or(StepStatus::NotStarted, |latest| latest.status.into())
        };
        // The run went back to an earlier phase, so what was done here has to be done again.
        let again = stay.is_some_and(|stay| stay.overtaken) && status.is_done() && skipped.is_none();
        if again {
            status = StepStatus::NotStarted;
        }
        let older = stay.is_some_and(|stay| stay.older);
        PhaseWork { status, latest, open, withdrawn, skipped, reported: reported.is_some(), again, older }
    }

    /// The records that failed or are blocked and that nothing in their phase settles, where the run is and behind it: what
    /// keeps it from its end. Oldest first.
    pub(crate) fn open_records(&self) -> Vec<&Attempt> {
        let mut open = Vec::new();
        for phase in &self.phases.here {
            open.extend(self.work(phase).open);
        }
        for (_, work) in self.unsettled() {
            open.extend(work.open);
        }
        open.retain(|attempt| !attempt.status.is_completed());
        open.sort_by_key(|attempt| attempt.number);
        open
    }

    /// The numbers of the records to which entries of `completed_activities` belong.
    pub(in crate::engine) fn counted(&self) -> BTreeSet<Number> {
        let kept = self.phases.completed.iter().filter_map(|(_, number)| *number);
        kept.chain(self.left_out.counted.iter().copied()).collect()
    }

    /// The ids whose latest attempt in `phase` after the number `since` did not pass and was not skipped: these
    /// attempts, and whether the last one was removed from `completed_activities`.
    fn open_attempts(&self, phase: &StateName, since: Number, is_reported: bool) -> (Vec<&Attempt>, bool) {
        let counted_records = self.counted();
        // An id counts if any of its records here does: that need not be the latest one.
        let mut counted_ids = HashSet::new();
        for attempt in self.attempts() {
            if attempt.is_in(phase, since) && counted_records.contains(&attempt.number) {
                counted_ids.insert(attempt.id.as_str());
            }
        }
        let activity_of_step = if is_reported { step_id(phase) } else { None };
        let mut open = Vec::new();
        let mut is_last_withdrawn = false;
        let mut seen = HashSet::new();
        let mut settled_later = HashSet::new();
        for attempt in self.attempts().iter().rev() {
            if !attempt.is_in(phase, since) {
                continue;
            }
            // Asked before this record's own list is added: a record settles only what came before it.
            let is_settled = settled_later.contains(attempt.id.as_str());
            settled_later.extend(attempt.settles.iter().map(String::as_str));
            // Newest first, so the first one of an id is its latest attempt.
            if !seen.insert(attempt.id.as_str()) || is_settled {
                continue;
            }
            // Running work is in doubt: it keeps the run from its end, not from leaving the phase.
            if attempt.status == ActivityStatus::Running {
                continue;
            }
            // The step's own status says how its activity stands.
            if activity_of_step.as_deref() == Some(attempt.id.as_str()) {
                continue;
            }
            if attempt.status.is_completed() && counted_ids.contains(attempt.id.as_str()) {
                continue;
            }
            if open.is_empty() {
                // What ended well and does not count was taken off `completed_activities`.
                is_last_withdrawn = attempt.status.is_completed();
            }
            open.push(attempt);
        }
        open.reverse();
        (open, is_last_withdrawn)
    }

    /// The records of the run's latest stay in `phase`, oldest first.
    pub(in crate::engine) fn records_here(&self, phase: &StateName) -> Vec<&Attempt> {
        let since = self.phases.stays.get(phase).map_or(Number(0), |stay| stay.entered);
        self.attempts().iter().filter(|attempt| attempt.is_in(phase, since)).collect()
    }

    /// Whether a record of `phase` belongs to an earlier round of the run, so that the phase has to be done again.
    #[must_use]
    pub fn is_of_earlier_round(&self, phase: &StateName, number: Number) -> bool {
        self.phases.stays.get(phase).is_some_and(|stay| stay.overtaken || number <= stay.entered)
    }

    /// The phases that the run has left and in which work has to be done again, because a person withdrew it or a later
    /// outcome was not good. In the order in which the run entered them.
    #[must_use]
    pub fn undone_behind(&self) -> Vec<(&StateName, PhaseWork<'_>)> {
        let mut undone = Vec::new();
        for phase in &self.phases.path {
            if self.phases.here.contains(phase) {
                continue;
            }
            let work = self.work(phase);
            let left = self.phases.stays.get(phase).and_then(|stay| stay.left);
            let is_later = matches!((work.latest, left), (Some(latest), Some(left)) if latest.number > left);
            // Running work is in doubt, wherever it began.
            let is_undone = !work.is_done() && work.status != StepStatus::Running;
            if work.withdrawn || is_later && is_undone {
                undone.push((phase, work));
            }
        }
        undone
    }

    /// The phases, except where the run is, whose work is not done: an attempt did not end well, or the run went through
    /// the phase without a report or record. This includes phases from which the run went back for another round and to
    /// which it has not returned, if something was recorded there.
    #[must_use]
    pub fn unsettled(&self) -> Vec<(&StateName, PhaseWork<'_>)> {
        let mut unsettled = self.undone_behind();
        for (phase, stay) in &self.phases.stays {
            if self.phases.here.contains(phase) || has_phase(&unsettled, phase) {
                continue;
            }
            let work = self.work(phase);
            // What was done before the log began is not known, so nothing shows that it was passed through.
            let is_passed_through = work.is_untouched() && !stay.overtaken && !stay.older;
            if work.latest.is_some() && !work.is_done() && !work.again || is_passed_through {
                unsettled.push((phase, work));
            }
        }
        unsettled
    }

    /// Takes over what another program recorded and left open, as the adoption of its run will.
    pub(crate) fn foresee_open_work(&mut self) {
        let mut unsettled = Vec::new();
        for phase in self.state().document().state.positions() {
            for attempt in self.work(phase).open {
                unsettled.extend(UnsettledActivity::of(&attempt.id, phase, attempt.status));
            }
        }
        let mut open = Vec::new();
        for attempt in self.latest() {
            if !attempt.status.is_completed() {
                open.push(attempt.id.clone());
            }
        }
        self.change_state(|state| {
            state.unsettled = unsettled;
            open.retain(|id| !state.open_activities.contains(id));
            for id in &open {
                state.open_activities.push(id);
            }
        });
    }

    /// What the run left behind without settling it, in the order in which it came to the phases: what failed, is blocked
    /// or was never done there, also where a person or an agent gave a reason to pass over it. So is what `machine` requires
    /// of phases that an edit left, or with which an edit ended the run.
    #[must_use]
    pub fn left_undone(&self, machine: Option<&Machine>) -> Vec<LeftUndone> {
        let unsettled = self.unsettled();
        let is_over = self.state().status().is_terminal();
        let mut found = Vec::new();
        let gone = self.phases.stays.keys().filter(|phase| !self.phases.path.contains(phase));
        for phase in self.phases.path.iter().chain(gone) {
            // A phase to which the run comes again in this round is not passed over.
            let is_overtaken = self.phases.stays.get(phase).is_some_and(|stay| stay.overtaken);
            let is_ahead = is_overtaken && machine.is_none_or(|machine| !self.went_around(machine, phase));
            if !is_over && (is_ahead || self.phases.here.contains(phase)) {
                continue;
            }
            let work = self.work(phase);
            if work.skipped.is_some() || has_phase(&unsettled, phase) {
                found.extend(LeftUndone::of(phase, &work));
            }
        }
        for skip in self.skips() {
            if let Some(exec) = &skip.exec {
                if self.reason_to_skip(&skip.phase, exec) == Some(&skip.reason) {
                    found.push(LeftUndone::requirement(&skip.phase, exec, StepStatus::Skipped));
                }
                continue;
            }
            if skip.is_taken_back() {
                continue;
            }
            // A phase that the run did not come to in this round was skipped when it was completed.
            let is_left = !self.phases.stays.contains_key(&skip.phase) || is_over && skip.after >= self.latest_number();
            if is_left && found.iter().all(|one| one.phase != skip.phase) {
                found.push(LeftUndone::nothing(&skip.phase, StepStatus::NotStarted));
            }
        }
        let missing = machine.map(|machine| self.left_without(machine)).unwrap_or_default();
        for MissingProof { phase, exec, is_behind, .. } in missing {
            if is_behind || is_over {
                found.push(LeftUndone::requirement(&phase, &exec, StepStatus::NotStarted));
            }
        }
        found
    }

    /// The phases that were left, or completed with the run, although their work was not done.
    #[must_use]
    pub fn skips(&self) -> &[SkippedPhase] {
        &self.phases.skips
    }
}
