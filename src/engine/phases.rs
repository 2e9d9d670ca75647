//! How far the work in each phase is. What `resume` and `show` say, and whether a phase may be left or a run completed,
//! all follow from this computation.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::apply::STEP_ID;
use crate::engine::{Attempt, History};
use crate::model::{
    ActivityRecorded, ActivityStatus, Emitted, Event, EventKind, IdList, Number, Owned, Seq, Skip, StateName,
    StepStatus, slug,
};

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
    /// Its id.
    pub id: Option<String>,
    /// How the work stands.
    pub status: StepStatus,
}

impl std::fmt::Display for LeftUndone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.phase)?;
        match (self.number, &self.id, self.status) {
            (Some(number), Some(id), status) => write!(f, "{number} {id} {status}"),
            (.., StepStatus::NotStarted) => f.write_str("nothing was done"),
            (.., status) => write!(f, "{status}"),
        }
    }
}

impl LeftUndone {
    fn nothing(phase: &StateName, status: StepStatus) -> Self {
        Self { phase: phase.clone(), number: None, id: None, status }
    }

    /// One entry for each attempt that is open; one for the phase if there is none.
    fn of(phase: &StateName, work: &PhaseWork<'_>) -> Vec<Self> {
        let open = work.open.iter().map(|attempt| Self {
            phase: phase.clone(),
            number: Some(attempt.number),
            id: Some(attempt.id.clone()),
            status: if attempt.status.is_completed() { StepStatus::NotStarted } else { attempt.status.into() },
        });
        let open: Vec<_> = open.collect();
        match work.status {
            _ if !open.is_empty() => open,
            // The reason is told apart; what is not done is that nothing was.
            StepStatus::Skipped => vec![Self::nothing(phase, StepStatus::NotStarted)],
            status => vec![Self::nothing(phase, status)],
        }
    }
}

/// A phase that was left, or completed with its run, although its work was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedPhase {
    /// The phase.
    pub phase: StateName,
    /// Why.
    pub reason: String,
    /// The position of the event that skipped it.
    pub seq: Seq,
    /// The number of the latest record at that time.
    after: Number,
}

/// The run's latest stay in a phase. Its records are identified by their numbers, which only rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stay {
    /// The number of the latest record before the stay.
    entered: Number,
    /// The number of the latest record when the run left; `None` while it stays.
    left: Option<Number>,
    /// Whether the stay began before the log.
    older: bool,
    /// Whether the run has since gone back to an earlier phase.
    overtaken: bool,
}

/// The phases that the run has been in, and the records that count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Phases {
    here: Vec<StateName>,
    /// The phases that led to the current one, without earlier rounds.
    path: Vec<StateName>,
    stays: BTreeMap<StateName, Stay>,
    /// The entries of `completed_activities` with the number of their record; `None` for an entry that a person wrote.
    completed: Vec<(String, Option<Number>)>,
    skips: Vec<SkippedPhase>,
}

impl Phases {
    /// Follows the run to where it is after `event`. `before` and `after` are the numbers of the latest records before
    /// and after the event; `attempts` are all records.
    pub(super) fn note(&mut self, event: &Event, state: &Owned, before: Number, after: Number, attempts: &[Attempt]) {
        match &event.kind {
            EventKind::RunStarted(_) | EventKind::RunAdopted(_) | EventKind::LogRepaired(_) => {
                self.completed = aligned(&[], &state.completed_activities, attempts);
            }
            EventKind::RunEdited(_) => self.edit(state, attempts),
            _ => {}
        }
        for record in event.kind.records().iter().filter(|record| record.activity.status().is_completed()) {
            self.completed.push((record.id().to_string(), Some(record.number)));
        }
        let again = match &event.kind {
            EventKind::Emitted(emitted) => {
                self.go_through(emitted, state, before, after);
                None
            }
            EventKind::ActivityRecorded(record) => self.pass_through(record, state, before),
            EventKind::RunEdited(edit) => edit.changes.current_phase.clone().flatten(),
            _ => None,
        };
        let older = matches!(event.kind, EventKind::RunAdopted(_) | EventKind::LogRepaired(_));
        // The activity that a report records for its step belongs to this stay.
        let entered = if matches!(event.kind, EventKind::Emitted(_)) { before } else { after };
        self.arrive(state, again.as_ref(), after, Stay { entered, left: None, older, overtaken: false });
        if let Some(skip) = skip_of(&event.kind) {
            let skipped = |phase: &StateName| SkippedPhase {
                phase: phase.clone(),
                reason: skip.reason.clone(),
                seq: event.seq,
                after,
            };
            self.skips.extend(skip.phases.iter().map(skipped));
        }
    }

    /// Enters the phase of a record if the run was not in it. Returns the phase that the run enters again after the
    /// record.
    fn pass_through(&mut self, record: &ActivityRecorded, state: &Owned, before: Number) -> Option<StateName> {
        let phase = &record.phase;
        let to = record.advanced_to.clone().filter(|_| !record.late);
        if record.late || self.here.contains(phase) {
            return to.filter(|to| to == phase || !self.here.contains(to));
        }
        self.enter(phase, Stay { entered: before, left: None, older: false, overtaken: false }, state);
        self.here.push(phase.clone());
        to
    }

    /// Enters the phases that the run entered and left within one batch of reports.
    fn go_through(&mut self, emitted: &Emitted, state: &Owned, before: Number, after: Number) {
        for report in emitted.reports.iter().filter(|report| !report.auto) {
            let Some((step, _)) = report.own_step() else { continue };
            // A report on a step that the run is in, or that it left earlier, has no `from`.
            let enters = report.from.is_some() || self.here.is_empty();
            if !enters || self.here.contains(step) {
                continue;
            }
            if let Some(from) = report.from.as_ref().filter(|from| self.here.contains(from)) {
                self.here.retain(|here| here != from);
                if let Some(stay) = self.stays.get_mut(from) {
                    stay.left = Some(after);
                }
            }
            self.enter(step, Stay { entered: before, left: None, older: false, overtaken: false }, state);
            self.here.push(step.clone());
        }
    }

    /// Leaves and enters phases to match `state`, after the record `latest`. Enters `again` even if the run is in it.
    fn arrive(&mut self, state: &Owned, again: Option<&StateName>, latest: Number, stay: Stay) {
        let now: Vec<_> = state.positions().cloned().collect();
        for left in self.here.iter().filter(|phase| !now.contains(phase)) {
            if let Some(old) = self.stays.get_mut(left) {
                old.left = Some(latest);
            }
        }
        for phase in &now {
            if again == Some(phase) || !self.here.contains(phase) {
                self.enter(phase, stay, state);
            }
        }
        self.here = now;
    }

    fn enter(&mut self, phase: &StateName, stay: Stay, state: &Owned) {
        if let Some(at) = self.path.iter().position(|passed| passed == phase) {
            // The run starts another round: the phases after the first visit have to be done again, except for parallel
            // branches in which the run still is.
            let round = self.path.split_off(at).into_iter().filter(|passed| passed != phase);
            let (kept, gone): (Vec<_>, Vec<_>) = round.partition(|passed| state.positions().any(|here| here == passed));
            for passed in &gone {
                if let Some(stay) = self.stays.get_mut(passed) {
                    stay.overtaken = true;
                }
            }
            self.path.extend(kept);
        }
        self.path.push(phase.clone());
        self.stays.insert(phase.clone(), stay);
    }

    /// Follows a person's edit of the state: removed entries of `completed_activities` no longer count.
    pub(super) fn edit(&mut self, state: &Owned, attempts: &[Attempt]) {
        let same = self.completed.iter().map(|(id, _)| id.as_str()).eq(state.completed_activities.iter());
        if !same {
            self.completed = aligned(&self.completed, &state.completed_activities, attempts);
        }
    }

    /// As [`Self::edit`], for a document that is not in the log yet.
    pub(super) fn show(&mut self, state: &Owned, latest: Number, attempts: &[Attempt]) {
        self.edit(state, attempts);
        let moved = self.here.first() != state.current_phase.as_ref();
        let again = state.current_phase.as_ref().filter(|_| moved);
        self.arrive(state, again, latest, Stay { entered: latest, left: None, older: false, overtaken: false });
    }

    /// Takes over records that another program made before the log began.
    pub(super) fn add_earlier(&mut self, state: &Owned, attempts: &[Attempt]) {
        self.completed = aligned(&[], &state.completed_activities, attempts);
    }

    pub(super) fn completed(&self) -> &[(String, Option<Number>)] {
        &self.completed
    }

    /// Forgets all entries but the last `most`, and returns them.
    pub(super) fn forget_completed(&mut self, most: usize) -> Vec<(String, Option<Number>)> {
        self.completed.drain(..self.completed.len().saturating_sub(most)).collect()
    }

    pub(super) fn skips(&self) -> &[SkippedPhase] {
        &self.skips
    }
}

pub(super) fn skip_of(kind: &EventKind) -> Option<&Skip> {
    match kind {
        EventKind::ActivityRecorded(record) => record.skipped.as_ref(),
        EventKind::RunCompleted(change) => change.skipped.as_ref(),
        _ => None,
    }
}

/// The record for each entry of `ids`. An entry that was in `before` keeps its record; a new one gets the first
/// completed record with its id that no other entry has.
fn aligned(before: &[(String, Option<Number>)], ids: &IdList, attempts: &[Attempt]) -> Vec<(String, Option<Number>)> {
    let mut rest = before.iter();
    let mut kept: Vec<(String, Option<Option<Number>>)> = Vec::new();
    for id in ids.iter() {
        let mut ahead = rest.clone();
        let found = ahead.find(|(known, _)| known == id);
        if found.is_some() {
            rest = ahead;
        }
        kept.push((id.to_owned(), found.map(|(_, number)| *number)));
    }
    let mut free: BTreeMap<&str, VecDeque<Number>> = BTreeMap::new();
    let taken = |number: Number| kept.iter().any(|(_, found)| *found == Some(Some(number)));
    if kept.iter().any(|(_, found)| found.is_none()) {
        for attempt in attempts.iter().filter(|attempt| attempt.status.is_completed() && !taken(attempt.number)) {
            free.entry(&attempt.id).or_default().push_back(attempt.number);
        }
    }
    let number = |(id, found): &(String, Option<Option<Number>>)| {
        let number = found.unwrap_or_else(|| free.get_mut(id.as_str()).and_then(VecDeque::pop_front));
        (id.clone(), number)
    };
    kept.iter().map(number).collect()
}

/// Whether an attempt was recorded in `phase` after the number `since`.
fn is_in(attempt: &Attempt, phase: &StateName, since: Number) -> bool {
    attempt.phase.as_ref() == Some(phase) && attempt.number > since
}

impl History {
    /// The work in `phase`.
    #[must_use]
    pub fn work(&self, phase: &StateName) -> PhaseWork<'_> {
        let stay = self.phases.stays.get(phase);
        let since = stay.map_or(Number(0), |stay| stay.entered);
        let newest = self.attempts().iter().rev().find(|attempt| is_in(attempt, phase, since));
        let reported = self.state().document().state.steps.get(phase);
        let (open, withdrawn) = self.open_attempts(phase, since, reported.is_some());
        let latest = open.last().copied().or(newest);
        let passed_over = self.phases.skips.iter().rev().find(|skip| skip.phase == *phase);
        let still =
            |skip: &&SkippedPhase| skip.after >= since && latest.is_none_or(|latest| latest.number <= skip.after);
        let skipped = passed_over.filter(still).map(|skip| skip.reason.as_str());
        let reported =
            reported.filter(|status| open.is_empty() || !status.is_done() && *status != StepStatus::NotStarted);
        let status = if withdrawn {
            StepStatus::NotStarted
        } else if skipped.is_some() {
            StepStatus::Skipped
        } else if let Some(status) = reported {
            status
        } else {
            latest.map_or(StepStatus::NotStarted, |latest| latest.status.into())
        };
        let again = stay.is_some_and(|stay| stay.overtaken) && status.is_done() && skipped.is_none();
        PhaseWork {
            status: if again { StepStatus::NotStarted } else { status },
            latest,
            open,
            withdrawn,
            skipped,
            reported: reported.is_some(),
            again,
            older: stay.is_some_and(|stay| stay.older),
        }
    }

    /// The numbers of the records to which entries of `completed_activities` belong.
    pub(super) fn counted(&self) -> BTreeSet<Number> {
        let kept = self.phases.completed.iter().filter_map(|(_, number)| *number);
        kept.chain(self.left_out.counted.iter().copied()).collect()
    }

    /// The ids whose latest attempt in `phase` after the number `since` did not pass and was not skipped: these
    /// attempts, and whether the last one was removed from `completed_activities`.
    fn open_attempts(&self, phase: &StateName, since: Number, is_reported: bool) -> (Vec<&Attempt>, bool) {
        let own = is_reported.then(|| slug(phase.as_str(), STEP_ID)).flatten();
        let counted = self.counted();
        let attempts = self.attempts().iter().filter(|attempt| is_in(attempt, phase, since));
        // Another record with the same id may be the one that counts.
        let counts: HashSet<_> =
            attempts.filter(|one| counted.contains(&one.number)).map(|one| one.id.as_str()).collect();
        let (mut open, mut withdrawn) = (Vec::new(), false);
        let (mut seen, mut settled) = (HashSet::new(), HashSet::new());
        for attempt in self.attempts().iter().rev() {
            if !is_in(attempt, phase, since) {
                continue;
            }
            // Only what came before a record can be settled by it.
            let is_settled = settled.contains(attempt.id.as_str());
            settled.extend(attempt.settles.iter().map(String::as_str));
            // Newest first, so the first one of an id is its latest attempt.
            if !seen.insert(attempt.id.as_str()) || is_settled {
                continue;
            }
            // Running work is in doubt: it keeps the run from its end, not from leaving the phase.
            if attempt.status == ActivityStatus::Running {
                continue;
            }
            // The step's own status says how its activity stands.
            if own.as_deref() == Some(attempt.id.as_str()) {
                continue;
            }
            let taken_off = attempt.status.is_completed() && !counts.contains(attempt.id.as_str());
            if attempt.status.is_completed() && !taken_off {
                continue;
            }
            if open.is_empty() {
                withdrawn = taken_off;
            }
            open.push(attempt);
        }
        open.reverse();
        (open, withdrawn)
    }

    /// The records of the run's latest stay in `phase`, oldest first.
    pub(super) fn records_here(&self, phase: &StateName) -> Vec<&Attempt> {
        let since = self.phases.stays.get(phase).map_or(Number(0), |stay| stay.entered);
        self.attempts().iter().filter(|attempt| is_in(attempt, phase, since)).collect()
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
        let here = |phase: &&StateName| self.phases.here.contains(phase);
        let behind = self.phases.path.iter().filter(|phase| !here(phase)).map(|phase| (phase, self.work(phase)));
        let undone = behind.filter(|(phase, work)| {
            let left = self.phases.stays.get(*phase).and_then(|stay| stay.left);
            let later = work.latest.is_some_and(|latest| left.is_some_and(|left| latest.number > left));
            // Running work is in doubt, wherever it began.
            work.withdrawn || later && !work.is_done() && work.status != StepStatus::Running
        });
        undone.collect()
    }

    /// The phases, except where the run is, whose work is not done: an attempt did not end well, or the run went through
    /// the phase without a report or record. This includes phases from which the run went back for another round and to
    /// which it has not returned, if something was recorded there.
    #[must_use]
    pub fn unsettled(&self) -> Vec<(&StateName, PhaseWork<'_>)> {
        let mut unsettled = self.undone_behind();
        for (phase, stay) in &self.phases.stays {
            if self.phases.here.contains(phase) || unsettled.iter().any(|(one, _)| *one == phase) {
                continue;
            }
            let work = self.work(phase);
            let is_passed_through = work.is_untouched() && !stay.overtaken && !stay.older;
            if work.latest.is_some() && !work.is_done() && !work.again || is_passed_through {
                unsettled.push((phase, work));
            }
        }
        unsettled
    }

    /// What the run left behind without settling it, in the order in which it came to the phases: what failed, is blocked
    /// or was never done there, also where a person or an agent gave a reason to pass over it.
    #[must_use]
    pub fn left_undone(&self) -> Vec<LeftUndone> {
        let unsettled = self.unsettled();
        let is_over = self.state().status().is_terminal();
        let mut found = Vec::new();
        let gone: Vec<&StateName> =
            self.phases.stays.keys().filter(|phase| !self.phases.path.contains(phase)).collect();
        for phase in self.phases.path.iter().chain(gone) {
            // A phase to which the run comes again in this round is not passed over.
            let is_ahead = self.phases.stays.get(phase).is_some_and(|stay| stay.overtaken);
            if !is_over && (is_ahead || self.phases.here.contains(phase)) {
                continue;
            }
            let work = self.work(phase);
            if work.skipped.is_none() && !unsettled.iter().any(|(one, _)| *one == phase) {
                continue;
            }
            found.extend(LeftUndone::of(phase, &work));
        }
        for skip in self.skips() {
            // A phase that the run did not come to in this round was skipped when it was completed.
            let is_left = !self.phases.stays.contains_key(&skip.phase) || is_over && skip.after >= self.latest_number();
            if is_left && found.iter().all(|one| one.phase != skip.phase) {
                found.push(LeftUndone::nothing(&skip.phase, StepStatus::NotStarted));
            }
        }
        found
    }

    /// The phases that were left, or completed with the run, although their work was not done.
    #[must_use]
    pub fn skips(&self) -> &[SkippedPhase] {
        self.phases.skips()
    }
}
